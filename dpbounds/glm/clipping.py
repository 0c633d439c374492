"""Records clipped to public bounds: how large these need to be for Gaussian x, and what clipping does to E x x^T.

x becomes x min(1, R / ||x||) and y is cut to [-B, B], so that the release is private for every record. With bounds that
no one of n records exceeds but with probability `failure`, clipping changes nothing: sums, and errors, are those of the
records themselves.

>>> f"{radius(np.eye(10), 290_000, 0.1) ** 2:.2f}, {shrinkage(10, 3.0):.4f}"
'49.39, 0.2240'
>>> float(label_bound("logistic", 1.0, 1000, 0.1))
1.0
"""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float
from scipy import special

from dpbounds.arguments import typed
from dpbounds.errors import AccuracyError, count, moderate, nonnegative, positive, within
from dpbounds.glm import bounds
from dpbounds.glm.links import Link
from dpbounds.glm.scale import known, positive_definite
from dpbounds.values import Value


@typed
def radius(covariance: Float[np.ndarray, "p p"], n: int, failure: float) -> Value:
    """R with P(||x_i|| > R for one of n records) <= failure, x ~ N(0, covariance): the smaller of glm Lemma 6 and of
    ||Sigma|| times the chi-square quantile, which is exact (but for the union over records) for Sigma a multiple of I.

    Raises `DomainError` for a covariance that is not positive definite, n < 1, or failure outside (0, 1).
    """
    matrix = positive_definite("covariance", covariance)
    share = within("failure", failure, "[1e-290, 1)") / count("n", n, most=10**15)
    spectrum = np.linalg.eigvalsh(matrix)
    sharp = spectrum[-1] * float(special.chdtri(len(spectrum), share))
    general = float(bounds.norm_quantile(spectrum, -math.log(share)))
    return Value(math.sqrt(min(sharp, general)), kind="upper", source="dpbounds")


@typed
def label_bound(link: Link | str, q: float, n: int, failure: float, *, noise: float = 0.0) -> Value:
    """B with P(|y_i| > B for one of n records) <= failure for z ~ N(0, q); `noise` bounds a regression's.

    1 for binary labels; |mu| at the quantile of |z|, plus the noise; for counts, half of `failure` for z and half for y
    given z. Raises `DomainError` for failure outside (0, 1), and `AccuracyError` beyond the range of floats.
    """
    link = known(link)
    share = within("failure", failure, "[1e-290, 1)") / count("n", n, most=10**15)
    if link.labels == "binary":
        return Value(1.0, kind="exact", source="dpbounds")
    halves = 2.0 if link.labels == "count" else 1.0
    far = math.sqrt(positive("q", q)) * float(-special.ndtri(share / halves / 2.0))
    largest = float(np.max(np.abs(link.mean(np.array([far, -far])))))
    if link.labels == "count":
        largest = float(_count_quantile(largest, share / halves)) if largest < 1e15 else math.inf
    if not math.isfinite(largest):
        raise AccuracyError(f"labels of the {link.name} link at q = {q:g} leave the range of floats; take a smaller q")
    return Value(largest + nonnegative("noise", noise), kind="upper", source="dpbounds")


def _count_quantile(mean: float, share: float) -> int:
    """The least k >= 1 with P(Poisson(mean) > k) <= share, by bisection on the incomplete gamma function."""
    low, high = 0, 1
    while special.pdtrc(high, mean) > share:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if special.pdtrc(middle, mean) > share else (low, middle)
    return high


@typed
def printed_label_bound(link: Link | str, radius: float, *, noise: float = 0.0) -> Value:
    """What the printed noise is made for: 1 in glm Algorithms 1 and 2, L R + |f(0)| + C in 3 and 4.

    L is the supremum of |f'|, over |z| <= R where it has none on the line.
    """
    link, radius = known(link), positive("radius", radius)
    if link.labels != "real":
        return Value(1.0, kind="exact", source="glm Algorithm 1")
    steepest = link.suprema[0]
    if not math.isfinite(steepest):
        steepest = float(np.max(np.abs(link.slope(np.array([radius, -radius])))))
    bound = steepest * radius + abs(float(link.mean(0.0))) + nonnegative("noise", noise)
    return Value(bound, kind="exact", source="glm Algorithm 3")


@typed
def shrinkage(p: int, radius: float, *, variance: float = 1.0) -> Value:
    """beta with E[x x^T] = (1 - beta) variance I for clipped x, x ~ N(0, variance I): the chi-square tail F_{p+2}(t) -
    (t / p) F_p(t) at t = R^2 / variance.
    """
    p, t = count("p", p), moderate("radius", radius) ** 2 / moderate("variance", variance)
    tails = [float(special.chdtrc(degrees, t)) for degrees in (p + 2, p)]
    return Value(max(tails[0] - t / p * tails[1], 0.0), kind="exact", source="dpbounds")
