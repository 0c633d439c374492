"""E ||w_hat - w*||^2 of the estimate from messages to leading order, by source, for Gaussian x of any covariance.

The estimate solves E_public[h M(<x, w>)] = mean message, so that w_hat - w* is J^-1 times the error of the two means,
J = E[h M' x^T] (delta method). h = A x / ||A x||; its moments are those of `DirectionMeans`, exact for any A; where A
whitens x, `moments` gives the same.

>>> found = error("logistic", np.array([0.6, 0.8]), np.eye(2), n=100_000, m=10_000, epsilon=2.0, delta=1e-6)
>>> f"{found.sampling:.6f} {found.noise:.6f} {found.public:.6f}"
'0.000170 0.007438 0.000190'
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, choice, count, nonnegative, real_array, vector
from dpbounds.glm.links import Link
from dpbounds.glm.messages.labels import ScoredLabels, scored
from dpbounds.glm.messages.moments import MOST_P, moments
from dpbounds.glm.messages.noises import Noise, gaussian_scale, sphere
from dpbounds.glm.messages.quadrature import DirectionMeans
from dpbounds.glm.scale import positive_definite

Rule = Literal["coefficients", "prediction", "none"]
# A = Sigma^power, near the best for ||w_hat - w*||^2, and for the error of <x, w_hat>.
POWERS: dict[Rule, float] = {"coefficients": -0.75, "prediction": -0.5, "none": 0.0}


@dataclass(frozen=True, kw_only=True, eq=False)
class MessageError:
    """Leading-order E ||w_hat - w*||^2 by source.

    - `sampling`: of the private records; `noise`: what privacy adds; `public`: of the public records, 0 where the law
      of x is known (m = inf);
    - `covariance`: of w_hat, (p, p), whose trace is `total`.
    """

    sampling: float
    noise: float
    public: float
    covariance: np.ndarray

    @property
    def total(self) -> float:
        """Of all sources."""
        return self.sampling + self.noise + self.public


@dataclass(frozen=True, kw_only=True, eq=False)
class MessageLaw:
    """Moments of h = A x s(x): E[h psi], E[h h^T psi^2], Cov(h M), E[h h^T / ||h||^2], and J^-1 as `back`."""

    first: np.ndarray
    second: np.ndarray
    public: np.ndarray
    directions: np.ndarray
    back: np.ndarray


@typed
def message_matrix(covariance: Float[np.ndarray, "p p"], rule: Rule = "coefficients") -> np.ndarray:
    """A of the messages, from a covariance that is public: Sigma^-3/4 for the error of w, Sigma^-1/2 for that of
    predictions (and where the link is in doubt: the direction then is right for elliptical x), or I.
    """
    power = POWERS[choice("rule", rule, get_args(Rule))]  # type: ignore[index]
    values, vectors = np.linalg.eigh(positive_definite("covariance", covariance))
    return (vectors * values**power) @ vectors.T


@typed
def error(
    link: Link | str,
    w: Float[np.ndarray, " p"],
    covariance: Float[np.ndarray, "p p"],
    *,
    n: int,
    m: float,
    epsilon: float,
    delta: float | None = None,
    noise: Noise = "gaussian",
    radius: float = 0.0,
    label_bound: float | None = None,
    matrix: Any = None,
) -> MessageError:
    """The error from n messages and m public records (`math.inf`: the law of x is known), x ~ N(0, `covariance`).

    - `noise`: `gaussian` at (epsilon, delta), `hemisphere` or `cap` at epsilon alone, whatever `delta`;
    - `matrix`: A (p, p), by default `message_matrix(covariance)`; `radius` above 0 needs an A that whitens x;
    - `label_bound` as in `scored`.

    Derived here. Raises `DomainError` for Gaussian noise without `delta`, for w = 0 and for arguments outside their
    ranges.
    """
    labels, w = scored(link, label_bound), vector("w", w)
    covariance = positive_definite("covariance", covariance, len(w))
    if not np.any(w):
        raise DomainError("w", w, "a vector other than 0")
    law = _law(labels, w, covariance, matrix, nonnegative("radius", radius))
    return error_of(law, n=n, m=m, epsilon=epsilon, delta=delta, noise=noise)


@typed
def error_of(
    law: MessageLaw, *, n: int, m: float, epsilon: float, delta: float | None = None, noise: Noise = "gaussian"
) -> MessageError:
    """The error from the moments of the messages, which do not depend on the other arguments; these as in `error`."""
    n, m = count("n", n), math.inf if m == math.inf else count("m", m)
    sampled = law.second - np.outer(law.first, law.first)
    added = _noise(noise, epsilon, delta, law)
    parts = [law.back @ part @ law.back.T for part in (sampled / n, added / n, law.public / m)]
    return MessageError(
        sampling=float(np.trace(parts[0])),
        noise=float(np.trace(parts[1])),
        public=float(np.trace(parts[2])),
        covariance=parts[0] + parts[1] + parts[2],
    )


@typed
def message_law(
    link: Link | str,
    w: Float[np.ndarray, " p"],
    covariance: Float[np.ndarray, "p p"],
    *,
    radius: float = 0.0,
    label_bound: float | None = None,
    matrix: Any = None,
) -> MessageLaw:
    """Moments of messages before noise, arguments as in `error`; w = 0 is refused."""
    labels, w = scored(link, label_bound), vector("w", w)
    if not np.any(w):
        raise DomainError("w", w, "a vector other than 0")
    covariance = positive_definite("covariance", covariance, len(w))
    return _law(labels, w, covariance, matrix, nonnegative("radius", radius))


def _noise(noise: Noise, epsilon: float, delta: float | None, law: MessageLaw) -> np.ndarray:
    """E[Z Z^T] less E[t t^T]: what the noise adds."""
    p = len(law.first)
    if choice("noise", noise, get_args(Noise)) == "gaussian":
        if delta is None:
            raise DomainError("delta", None, "given with Gaussian noise", "hemisphere and cap need none")
        return gaussian_scale(epsilon, delta) ** 2 * np.eye(p)
    shape = sphere(noise, p, epsilon)
    return shape.across * (np.eye(p) - law.directions) + shape.along * law.directions - law.second


def _law(labels: ScoredLabels, w: np.ndarray, covariance: np.ndarray, matrix: Any, radius: float) -> MessageLaw:
    p = len(w)
    if p > MOST_P:
        raise DomainError("p", p, f"at most {MOST_P}")
    left, lengths, root = coordinates(covariance, matrix)
    v = root.T @ w
    if radius:
        if not lengths[-1] > (1.0 - 1e-9) * lengths[0]:
            raise DomainError("radius", radius, "0 unless A whitens x", "messages of length 1 have the least error")
        return _isotropic(labels, v, radius / lengths[0], left, root)
    return _direct(labels, v, lengths, left, root)


def coordinates(covariance: np.ndarray, matrix: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """U, delta and C of x = C y, y standard normal, and A C = U diag(delta), the largest delta first."""
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(values)
    a = message_matrix(covariance) if matrix is None else _square("matrix", matrix, len(covariance))
    left, lengths, right = np.linalg.svd(a @ root)
    if not lengths[-1] > 1e-12 * lengths[0]:
        raise DomainError("matrix", f"singular values {lengths[0]:.3g} to {lengths[-1]:.3g}", "regular")
    return left, lengths, root @ right.T


def _direct(labels: ScoredLabels, v: np.ndarray, lengths: np.ndarray, left: np.ndarray, root: np.ndarray) -> MessageLaw:
    """By quadrature; v = C^T w, h = U diag(delta) y / ||diag(delta) y||."""
    means = DirectionMeans(labels, v, lengths)
    mean, second = labels.mean(means.z), labels.second(means.z)
    around = left * lengths
    g = around @ means.first
    return MessageLaw(
        first=g,
        second=around @ means.squares(second, means.twice) @ around.T,
        public=around @ means.squares(mean**2, means.twice) @ around.T - np.outer(g, g),
        directions=around @ means.squares(np.ones_like(mean), means.twice) @ around.T,
        back=np.linalg.inv(around @ means.squares(means.slope, means.once) @ root.T),
    )


def _isotropic(labels: ScoredLabels, v: np.ndarray, radius: float, left: np.ndarray, root: np.ndarray) -> MessageLaw:
    """From `moments`, for messages shortened within a radius: h = U y / max(R, ||y||)."""
    p, norm = len(v), float(np.linalg.norm(v))
    found = moments(labels.link, p, norm, radius=radius, label_bound=labels.label_bound)
    along = np.outer(v, v) / norm**2
    across = np.eye(p) - along

    def turned(one: float, two: float) -> np.ndarray:
        return left @ (one * along + (two * across if p > 1 else 0.0)) @ left.T

    jacobian = (found.J1 * along + (found.J2 * across if p > 1 else 0.0)) @ root.T
    first = left @ v * (found.g1 / norm)
    return MessageLaw(
        first=first,
        second=turned(found.S1 + found.g1**2, found.S2),
        public=turned(found.P1, found.P2),
        directions=np.eye(p) / p,
        back=np.linalg.inv(left @ jacobian),
    )


def _square(parameter: str, value: Any, p: int) -> np.ndarray:
    matrix = real_array(parameter, value)
    if matrix.shape != (p, p) or not np.all(np.isfinite(matrix)):
        raise DomainError(parameter, f"an array of shape {matrix.shape}", f"finite numbers of shape {(p, p)}")
    return matrix
