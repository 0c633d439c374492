"""The error E ||w_hat - w*||^2 for Gaussian inputs to leading order in 1/n and 1/m, by term.

Setting: x ~ N(0, Sigma), z = <x, w*>, q = w*^T Sigma w*, y with E[y | z] = mu(z); kappa_2 = E mu'(z), kappa_4 = E
mu'''(z), D = kappa_2 + q kappa_4, c = 1 / kappa_2, w_o = kappa_2 w* (least squares). Each user adds a symmetric matrix
with upper triangle, diagonal included, iid N(0, sigma_1^2), and a vector N(0, sigma_2^2 I).

Idea: w_hat_o - w_o is Sigma^{-1} (b - A w_o) to first order; differentiating c E mu'(c <x, w_o>) = 1 gives
w_hat - w* = c P (w_hat_o - w_o) - (w* / D) (mean of mu'(z) over the public data - kappa_2), P = I - (kappa_4 / D) w*
(Sigma w*)^T. Valid for 2 sqrt(p) sigma_1 / (lambda_min sqrt n) << 1: strictly, the mean is infinite (an inverse of a
noisy matrix), and medians are what simulations should compare.

>>> terms = error("logistic", np.array([0.6, 0.8]), np.eye(2), n=10_000, m=1000, gram_scale=10.0, cross_scale=4.0)
>>> f"{terms.sampling:.4f} + {terms.cross_noise:.4f} + ... = {terms.total:.4f}"
'0.0030 + 0.1144 + ... = 0.1529'
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Literal, get_args

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, choice, count, nonnegative, vector
from dpbounds.glm.gaussian import mean_of, slope_means
from dpbounds.glm.links import Link
from dpbounds.glm.scale import known, positive_definite

Estimator = Literal["paper", "pooled", "public-covariance", "no-public-data"]
# Of `ErrorTerms`, those that are not parts of the error: they must be small.
SMALL = ("convergence", "bending")


@dataclass(frozen=True, kw_only=True)
class ErrorTerms:
    """Leading-order E ||w_hat - w*||^2, summed over its sources.

    - `sampling`: of the private records; `gram_noise`, `cross_noise`: the privacy noise of x x^T and of x y;
    - `public_covariance`: of the public records in A; `public_scale`: of the public records in the scale;
    - `convergence`: 2 sqrt(p) sigma_1 / (lambda_min sqrt n), or what stands for it, which must be small (the excess is
      about 4 times its square);
    - `bending`: of the curve h(t) = E[W mu(t W)] by which the size t = sqrt(q) is found from that of w_ols: (t h'' /
      h')^2 times the relative variance of t, and the relative variance of h' over the public records (the excess is
      about 3 times it).
    """

    sampling: float
    gram_noise: float
    cross_noise: float
    public_covariance: float
    public_scale: float
    convergence: float
    bending: float

    @property
    def total(self) -> float:
        """Of all sources."""
        return sum(self.sources.values())

    @property
    def sources(self) -> dict[str, float]:
        """Each source by name."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name not in SMALL}

    @property
    def excess(self) -> float:
        """About how far the mean exceeds the leading order, relative to it, where both small parameters are."""
        return 4.0 * self.convergence**2 + 3.0 * self.bending

    def over(self, unit: float) -> ErrorTerms:
        """The sources divided by `unit`, such as ||w*||^2."""
        return replace(self, **{name: value / unit for name, value in self.sources.items()})


@dataclass(frozen=True, kw_only=True)
class _Model:
    """What the expansions have in common."""

    link: Link
    w: np.ndarray
    covariance: np.ndarray
    noise_variance: float
    q: float
    kappa2: float
    kappa4: float

    @property
    def D(self) -> float:
        """kappa_2 + q kappa_4, the derivative of c E mu'(c <x, w_o>) at its root."""
        return self.kappa2 + self.q * self.kappa4

    @property
    def c(self) -> float:
        """The scale."""
        return 1.0 / self.kappa2

    @property
    def w_ols(self) -> np.ndarray:
        """kappa_2 w*."""
        return self.kappa2 * self.w

    @property
    def inverse(self) -> np.ndarray:
        """Sigma^{-1}."""
        return np.linalg.inv(self.covariance)

    @property
    def norm(self) -> float:
        """||Sigma||."""
        return float(np.linalg.eigvalsh(self.covariance)[-1])

    @property
    def ray(self) -> np.ndarray:
        """Sigma w*."""
        return self.covariance @ self.w

    def weighted(self, g: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """E[g(z) x x^T] = Sigma E g + Sigma w w^T Sigma E[(z^2 / q - 1) g] / q for `g(z)`."""
        even, tilted = mean_of(lambda z: np.stack([g(z), (z * z / self.q - 1.0) * g(z)]), self.q)
        return self.covariance * even + np.outer(self.ray, self.ray) * tilted / self.q

    def spread(self, theta: float) -> np.ndarray:
        """V_theta: Cov of x (y - theta x^T w_o), the square of whose mean is (1 - theta)^2 B."""
        slope = theta * self.kappa2

        def g(z: np.ndarray) -> np.ndarray:
            second = self.link.second_moment(z, noise_variance=self.noise_variance)
            return second - 2.0 * slope * z * self.link.mean(z) + (slope * z) ** 2

        return self.weighted(g) - (1.0 - theta) ** 2 * self.signal

    @property
    def signal(self) -> np.ndarray:
        """B = Sigma w_o w_o^T Sigma."""
        return self.kappa2**2 * np.outer(self.ray, self.ray)

    @property
    def public(self) -> np.ndarray:
        """Q = s^2 Sigma + B: Cov of x x^T w_o."""
        return self.kappa2**2 * self.q * self.covariance + self.signal

    @property
    def gram(self) -> np.ndarray:
        """K = Cov(E_1 w_o) / sigma_1^2."""
        return self.w_ols @ self.w_ols * np.eye(len(self.w)) + np.outer(self.w_ols, self.w_ols) - np.diag(self.w_ols**2)

    def trace(self, covariance: np.ndarray) -> float:
        """T(M) = c^2 tr(P Sigma^{-1} M Sigma^{-1} P^T)."""
        left = (np.eye(len(self.w)) - self.kappa4 / self.D * np.outer(self.w, self.ray)) @ self.inverse
        return self.c**2 * float(np.sum((left @ covariance) * left))

    def bending(self, moved: np.ndarray, scale: float, m: float) -> float:
        """From the covariance of b - A w_o, or what moves t as that does, the scale's own squared error, and m.

        h' = D and h'' = E[W^3 mu''(t W)]; dt / t = w^T (b - A w_o) / (D q); h' is the mean of mu'(z) + z mu''(z).
        """

        def moments(z: np.ndarray) -> np.ndarray:
            bent = z * self.link.curvature(z)
            return np.stack([z * z * bent / self.q, (self.link.slope(z) + bent) ** 2])

        tilt, squares = mean_of(moments, self.q)
        variance = float(self.w @ moved @ self.w) / (self.D * self.q) ** 2 + scale / float(self.w @ self.w)
        return float((tilt / self.D) ** 2 * max(variance, 0.0) + (squares / self.D**2 - 1.0) / m)

    @property
    def scale_variance(self) -> float:
        """Pi = ||w||^2 Var mu'(z) / D^2."""
        squares = float(mean_of(lambda z: self.link.slope(z) ** 2, self.q))
        return float(self.w @ self.w) * (squares - self.kappa2**2) / self.D**2

    @property
    def scale_covariance(self) -> float:
        """chi = 2 q kappa_2 kappa_4 ||w||^2 / D^2, of the scale with the public covariance."""
        return 2.0 * self.q * self.kappa2 * self.kappa4 * float(self.w @ self.w) / self.D**2


@typed
def error(
    link: Link | str,
    w: Float[np.ndarray, " p"],
    covariance: Float[np.ndarray, "p p"],
    *,
    n: int,
    m: int = 0,
    gram_scale: float = 0.0,
    cross_scale: float = 0.0,
    noise_variance: float = 0.0,
    estimator: Estimator = "paper",
) -> ErrorTerms:
    """Leading-order E ||w_hat - w*||^2 of an estimator from n private and m public records, by source.

    - `paper`: glm Algorithms 1 and 3; `pooled`: Remark 11, the covariance of all n + m records;
    - `public-covariance`: that of the public records alone, so no x x^T is released;
    - `no-public-data`: the scale from s^2 = b^T A^{-1} b, for Gaussian x.

    `gram_scale`, `cross_scale`: standard deviations of one user's noise on an entry of x x^T and of x y;
    `noise_variance`: of y around a regression's mean. Source: ours. Raises `DomainError` for m = 0 where public data
    are needed, a singular covariance, or w = 0.
    """
    link, w = known(link), vector("w", w)
    model = _model(link, w, positive_definite("covariance", covariance, len(w)), noise_variance)
    choice("estimator", estimator, get_args(Estimator))
    n, m = count("n", n), count("m", m, least=0)
    if m == 0 and estimator != "no-public-data":
        raise DomainError("m", m, "at least 1", "public records set the scale; estimator no-public-data needs none")
    gram, cross = nonnegative("gram_scale", gram_scale) ** 2, nonnegative("cross_scale", cross_scale) ** 2
    if estimator == "no-public-data":
        return _without_public(model, n, gram, cross)
    if estimator == "paper":
        return _terms(model, 1.0, n, gram / n, cross, 0.0, model.scale_variance / m, math.sqrt(gram / n), m)
    scale = (model.scale_variance + model.scale_covariance) / m
    if estimator == "public-covariance":
        return _terms(model, 0.0, n, 0.0, cross, 1.0 / m, scale, model.norm / math.sqrt(m), m)
    pool = n + m
    scale = model.scale_variance / m + model.scale_covariance / pool
    return _terms(model, n / pool, n, n * gram / pool**2, cross, m / pool**2, scale, math.sqrt(n * gram) / pool, m)


def _model(link: Link, w: np.ndarray, covariance: np.ndarray, noise_variance: float) -> _Model:
    q = float(w @ covariance @ w)
    if not q > 0:
        raise DomainError("w", w, "a vector other than 0")
    kappa2, kappa4 = slope_means(link, q)
    variance = nonnegative("noise_variance", noise_variance)
    model = _Model(link=link, w=w, covariance=covariance, noise_variance=variance, q=q, kappa2=kappa2, kappa4=kappa4)
    if not abs(model.D) > 1e-12 * abs(kappa2):
        raise DomainError("w", f"q = {q:.6g}", "where the scale equation has a simple root", "rescale w")
    return model


def _terms(
    model: _Model, theta: float, n: int, gram: float, cross: float, public: float, scale: float, spread: float, m: int
) -> ErrorTerms:
    """From the weight of the private covariance, the variances per entry, and the size of one entry's error in A."""
    smallest, identity = float(np.linalg.eigvalsh(model.covariance)[0]), np.eye(len(model.w))
    sampled = model.spread(theta)
    moved = (sampled + cross * identity) / n + gram * model.gram + public * model.public
    return ErrorTerms(
        sampling=model.trace(sampled) / n,
        gram_noise=model.trace(model.gram) * gram,
        cross_noise=model.trace(identity) * cross / n,
        public_covariance=model.trace(model.public) * public,
        public_scale=scale,
        convergence=2.0 * math.sqrt(len(model.w)) * spread / smallest,
        bending=model.bending(moved, scale, m),
    )


def _without_public(model: _Model, n: int, gram: float, cross: float) -> ErrorTerms:
    """c = h^{-1}(s) / s with s^2 = b^T A^{-1} b: delta(s^2) = w_o^T (u_1 + u_2), u_2 = delta b, u_1 = u_2 - delta A
    w_o, and dc = gamma d(s^2), gamma = (1 / D - c) / (2 s^2).
    """
    identity = np.eye(len(model.w))
    size = model.kappa2**2 * model.q
    gamma = (1.0 / model.D - model.c) / (2.0 * size)
    second = gamma * np.outer(model.w_ols, model.w_ols)
    first = model.c * model.inverse + second

    def mixed(z: np.ndarray) -> np.ndarray:
        return model.link.second_moment(z, noise_variance=model.noise_variance) - model.kappa2 * z * model.link.mean(z)

    def total(one: np.ndarray, two: np.ndarray, both: np.ndarray) -> float:
        return float(np.trace(first @ one @ first.T + second @ two @ second.T + 2.0 * first @ both @ second.T))

    smallest = float(np.linalg.eigvalsh(model.covariance)[0])
    one, two, both = model.spread(1.0), model.spread(0.0), model.weighted(mixed)
    # u_1 + u_2, in which the noise of b is twice.
    moved = (one + two + 2.0 * both + 4.0 * cross * identity + gram * model.gram) / (4.0 * n)
    return ErrorTerms(
        sampling=total(one, two, both) / n,
        gram_noise=total(model.gram, 0.0 * identity, 0.0 * identity) * gram / n,
        cross_noise=total(identity, identity, identity) * cross / n,
        public_covariance=0.0,
        public_scale=0.0,
        convergence=2.0 * math.sqrt(len(model.w) * gram / n) / smallest,
        bending=model.bending(moved, 0.0, math.inf),
    )
