"""The scale c of glm Lemma 5 and Theorem 21: least squares gives the direction, w* = c w_ols.

For Gaussian x Stein's lemma gives Sigma^{-1} E[x y] = E mu'(z) w*, z = <x, w*> ~ N(0, q). With s^2 = w_ols^T Sigma
w_ols and h(t) = E[W mu(t W)] = t E mu'(t W), the equation c E mu'(c <x, w_ols>) = 1 reads h(c s) = s: h is strictly
monotone, so the root is unique, and exists iff |s| < sup |h| = |mu(inf) - mu(-inf)| / sqrt(2 pi).

>>> f"{constant('logistic', 1.0):.6f}, {inverse('cubic', 0.008):.3f}, {supremum('boosting'):.4f}"
'4.839780, 0.200, 0.3989'
"""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
from jaxtyping import Float
from scipy.optimize import brentq
from scipy.special import lambertw

from dpbounds import arithmetic
from dpbounds.arguments import formula, typed
from dpbounds.arithmetic import Arithmetic
from dpbounds.errors import LARGEST, DomainError, choice, count, positive, real, real_array, vector
from dpbounds.glm.gaussian import enclosed_mean, mean_of, slope_means
from dpbounds.glm.links import LINKS, Link
from dpbounds.values import Value

SOURCE = {"binary": "glm Lemma 5", "count": "glm Lemma 5", "real": "glm Theorem 21"}
# Where h is within 2e-6 of its supremum.
FARTHEST = 1000.0


@typed
def constant(link: Link | str, q: float, *, certified: bool = False, precision: int = 128) -> Value:
    """c = 1 / E mu'(z) for z ~ N(0, q): c_Phi of glm Lemma 5, c_f of Theorem 21.

    With `certified`, an enclosure by ball arithmetic at `precision` bits. Raises `DomainError` for an unknown link or q
    outside (0, 4e6].
    """
    link, precision = known(link), count("precision", precision, 2, most=10_000)
    value = 1.0 / slope_means(link, q)[0]
    enclosure = None
    if certified:
        import flint

        with arithmetic.balls(precision):
            ball = 1 / enclosed_mean(link, q, precision=precision)
            low, high = float(ball.lower()), float(ball.upper())
            if not (flint.arb(low) <= ball.lower() and flint.arb(high) >= ball.upper()):
                low, high = math.nextafter(low, -math.inf), math.nextafter(high, math.inf)
            value = float(ball.mid())
        enclosure = (min(low, value), max(high, value))
    return Value(value, kind="exact", source=SOURCE[link.labels], enclosure=enclosure)


@typed
def stein(link: Link | str, t: float) -> float:
    """h(t) = E[W mu(t W)] = t E mu'(t W), odd in t."""
    link = known(link)
    t = real("t", t)
    return t * slope_means(link, t * t)[0] if t else 0.0


def supremum(link: Link | str) -> float:
    """sup |h|: no root exists for s = |Sigma^{1/2} w_ols| at or above it."""
    low, high = known(link).ends
    return abs(high - low) / math.sqrt(2 * math.pi)


@typed
def inverse(link: Link | str, s: float) -> float:
    """t with h(t) = s: Poisson sqrt(W_0(s^2)), cubic s^{1/3}, softplus -2 s, else a bracketed root.

    Raises `DomainError` for |s| at or above the supremum.
    """
    link = known(link)
    size = positive("s", s)
    if not size < supremum(link):
        raise DomainError("s", s, f"below {supremum(link):.6g}", f"the {link.name} link has no root c beyond it")
    if link.name == "poisson":
        return math.sqrt(float(np.real(lambertw(size * size))))
    if link.name == "cubic":
        return math.cbrt(size)
    if link.name == "softplus":
        return -2.0 * size  # mu' = mu_logistic - 1 and E mu_logistic = 1/2 by symmetry
    far = 1.0
    while stein(link, far) < size:
        far *= 2.0
        if far > FARTHEST:
            raise DomainError("s", s, f"at most h({FARTHEST:g}) = {stein(link, FARTHEST):.9g}", "the root is beyond")
    return cast(float, brentq(lambda t: stein(link, t) - size, 0.0, far, xtol=1e-300, rtol=np.float64(1e-14)))


@typed
def root(link: Link | str, w_ols: Float[np.ndarray, " p"], covariance: Float[np.ndarray, "p p"]) -> Value:
    """c with c E mu'(c <x, w_ols>) = 1 for x ~ N(0, covariance): glm Algorithms 1 and 3 with all the data there are.

    Raises `DomainError` where there is none, or for a covariance that is not positive definite.
    """
    link, w_ols = known(link), vector("w_ols", w_ols)
    covariance = positive_definite("covariance", covariance, len(w_ols))
    s = math.sqrt(float(w_ols @ covariance @ w_ols))
    return Value(inverse(link, s) / s, kind="exact", source=SOURCE[link.labels])


def known(link: Link | str) -> Link:
    """A link, or the one of this name."""
    return link if isinstance(link, Link) else LINKS[choice("link", link, LINKS)]


def positive_definite(parameter: str, value: Any, dimension: int | None = None) -> np.ndarray:
    """A symmetric positive definite matrix, of this size if one is given."""
    matrix = real_array(parameter, value)
    dimension = len(np.atleast_1d(matrix)) if dimension is None else dimension
    if matrix.size == 0 or matrix.shape != (dimension, dimension) or not np.all(np.isfinite(matrix)):
        raise DomainError(parameter, f"an array of shape {matrix.shape}", f"finite numbers of shape {(dimension,) * 2}")
    if not np.allclose(matrix, matrix.T, rtol=1e-12, atol=0.0):
        raise DomainError(parameter, "a matrix that is not symmetric", "symmetric")
    if not np.abs(matrix).max() <= LARGEST:
        raise DomainError(parameter, "a matrix with larger entries", f"entries of at most {LARGEST:g}")
    smallest, largest = np.linalg.eigvalsh(matrix)[[0, -1]]
    if not smallest > 1e-14 * largest:
        raise DomainError(parameter, f"a matrix with eigenvalues from {smallest:.3g} to {largest:.3g}", "regular")
    return matrix


@formula
def scale_slope(m: Arithmetic, link: Link, t: Any) -> Any:
    """h'(t) = E[W^2 mu'(t W)], the derivative of c -> c E mu'(c <x, w_ols>) at t = c s; floats (arrays too) or balls.

    A wide ball of t is its midpoint's value and a Lipschitz bound, |h''| <= E|W|^3 sup |mu''|. Raises `DomainError` for
    balls and a mu'' that is not bounded.
    """
    if m.name == "floats":
        return np.array([_slope_at(link, float(value)) for value in np.ravel(t)]).reshape(np.shape(t))
    import flint

    middle, spread = t.mid(), (t - t.mid()).abs_upper()
    at_zero = middle == 0
    precision = flint.ctx.prec
    value = (
        link.derivative(m, m.number(0), 1) if at_zero else enclosed_mean(link, middle**2, weight=2, precision=precision)
    )
    lipschitz = 2 * m.sqrt(2 / m.pi) * m.number(link.suprema[1])
    return value + flint.arb(0, 1) * (lipschitz * spread).upper() * (1 + 1e-9)


def _slope_at(link: Link, t: float) -> float:
    return float(mean_of(lambda z: (z / t) ** 2 * link.slope(z), t * t)) if t else float(link.slope(0.0))
