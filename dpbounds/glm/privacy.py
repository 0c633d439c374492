"""Privacy of one user's message (x x^T + E_1, x y + E_2): exact, as printed, and at the least noise.

E_1 is symmetric, its upper triangle with the diagonal iid N(0, sigma_1^2); E_2 is N(0, sigma_2^2 I). Local privacy: any
two records with ||x|| <= R (or ||x||_1 <= R) and |y| <= B are neighbours. A Gaussian location pair depends on the norm
of the shift alone: with x, x' on the sphere, t = <x, x'> / R^2 and both labels B, sigma_1 = a_1 R^2, sigma_2 = a_2 R B,
mu^2 = max over |t| <= 1 of (2 - 2 t^2) / a_1^2 + (2 - 2 t) / a_2^2 (the off-diagonal entries count once where the
Frobenius norm counts them twice: attained where the diagonals of x x^T and x' x'^T agree, which needs p >= 2).

>>> scales = noise_scales(1.0, 1e-5, radius=2.0, calibration="tight")
>>> f"{scales.gram:.2f}, {scales.cross:.2f}, {exact_delta(1.0, scales.gram, scales.cross, radius=2.0):.1e}"
'31.66, 15.83, 1.0e-05'
>>> round(float(release_mu(2.0, 2.0, radius=1.0)) ** 2, 12)  # 4.5 / 2^2
1.125
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, cast, get_args

from scipy.optimize import brentq

from dpbounds.arguments import formula, typed
from dpbounds.errors import DomainError, choice, count, moderate, positive, within
from dpbounds.privacy import gaussian_delta, gaussian_mu
from dpbounds.values import Value

Inputs = Literal["l2", "l1"]
Accepts = Literal["within", "any"]
Calibration = Literal["printed", "tight"]


# Of `gaussian_delta`.
LARGEST_MU = 1e4


@dataclass(frozen=True, kw_only=True)
class NoiseScales:
    """Standard deviations of one user's noise on an entry of x x^T (`gram`, inf if it is not released) and of x y
    (`cross`).
    """

    gram: float
    cross: float


@formula
def release_mu(
    gram: float, cross: float, *, radius: float, label_bound: float = 1.0, p: int = 2, inputs: Inputs = "l2"
) -> Value:
    """The Gaussian DP parameter mu of one message, exact over all pairs of records within the bounds.

    mu^2 = 2 / a_1^2 + 2 / a_2^2 + a_1^2 / (2 a_2^4) if a_1^2 <= 2 a_2^2, else 4 / a_2^2; in the l1 ball max{4 / a_2^2,
    2 / a_1^2 + 2 / a_2^2}, at opposite records or on two axes; p = 1 has its own form. `gram` may be inf (x x^T is not
    released). Source: ours. Raises `DomainError` for scales that are not above 0.
    """
    a1, a2 = _units(gram, cross, moderate("radius", radius), moderate("label_bound", label_bound))
    squared = _worst(1.0 / a1**2, 1.0 / a2**2, count("p", p), choice("inputs", inputs, get_args(Inputs)))
    return Value(math.sqrt(squared), kind="exact", source="dpbounds", convention="local, any two records")


@typed
def exact_delta(
    epsilon: float,
    gram: float,
    cross: float,
    *,
    radius: float,
    label_bound: float = 1.0,
    p: int = 2,
    inputs: Inputs = "l2",
    accepts: Accepts = "within",
) -> Value:
    """The least delta for which the message is (epsilon, delta)-locally private.

    `accepts="any"`: records of any norm and label, as glm Algorithms 1 and 3 take them: the message "outside the
    radius" tells such a record from others with certainty, and labels have no bound in Algorithm 3, so delta = 1.
    """
    if choice("accepts", accepts, get_args(Accepts)) == "any":
        return Value(1.0, kind="exact", source="dpbounds", convention="local, any two records")
    mu = float(release_mu(gram, cross, radius=radius, label_bound=label_bound, p=p, inputs=inputs))
    if mu > LARGEST_MU and 0 <= epsilon <= mu * mu / 4:  # 1 less Gaussian tails beyond mu / 4
        return Value(1.0, kind="exact", source="dpbounds")
    return gaussian_delta(mu, epsilon)


@typed
def noise_scales(
    epsilon: float,
    delta: float,
    *,
    radius: float,
    label_bound: float = 1.0,
    calibration: Calibration = "printed",
    p: int = 2,
    inputs: Inputs = "l2",
    release_gram: bool = True,
    ratio: float = 1.0,
) -> NoiseScales:
    """Noise for a budget.

    - `printed`: variances 32 R^4 log(2.5 / delta) / epsilon^2 and 32 R^2 B^2 log(2.5 / delta) / epsilon^2 of glm
      Algorithms 1 to 4 (B = 1 there for labels in [0, 1], L R + |f(0)| + C for a regression);
    - `tight`: a_1 = `ratio` a_2 at which `exact_delta` is `delta`; without `release_gram` only x y is released.

    Raises `DomainError` for budgets outside (0, inf) and (0, 1).
    """
    epsilon, delta = within("epsilon", epsilon, "(0, inf)"), within("delta", delta, "(0, 1)")
    radius, label_bound = moderate("radius", radius), moderate("label_bound", label_bound)
    choice("inputs", inputs, get_args(Inputs))
    ratio = moderate("ratio", ratio)
    if choice("calibration", calibration, get_args(Calibration)) == "printed":
        unit = math.sqrt(32.0 * math.log(2.5 / delta)) / epsilon
        return NoiseScales(gram=unit * radius**2 if release_gram else math.inf, cross=unit * radius * label_bound)
    share = 1.0 / ratio**2 if release_gram else 0.0
    unit = math.sqrt(_worst(share, 1.0, count("p", p), inputs)) / float(gaussian_mu(epsilon, delta))
    gram = unit * ratio * radius**2 if release_gram else math.inf
    return NoiseScales(gram=gram, cross=unit * radius * label_bound)


def printed_range(delta: float, *, p: int = 2) -> Value:
    """The largest epsilon at which the printed scales are (epsilon, delta)-private for every record within the bounds.

    They come from a calibration that is stated for epsilon < 1. Raises `DomainError` for delta outside (0, 1).
    """
    delta = within("delta", delta, "(0, 1)")

    def excess(log_epsilon: float) -> float:
        epsilon = math.exp(log_epsilon)
        scales = noise_scales(epsilon, delta, radius=1.0)
        return math.log(float(exact_delta(epsilon, scales.gram, scales.cross, radius=1.0, p=p)) / delta)

    largest = cast(float, brentq(excess, math.log(1.0), math.log(1e4), xtol=1e-13))
    return Value(math.exp(largest), kind="exact", source="dpbounds")


def classical_range(delta: float) -> Value:
    """The largest epsilon at which sigma = sqrt(2 log(1.25 / delta)) sensitivity / epsilon is (epsilon, delta)-private
    (glm Lemma 4, which states no range).
    """
    delta = within("delta", delta, "(0, 1)")

    def excess(log_epsilon: float) -> float:
        epsilon = math.exp(log_epsilon)
        return math.log(float(gaussian_delta(epsilon / math.sqrt(2.0 * math.log(1.25 / delta)), epsilon)) / delta)

    largest = cast(float, brentq(excess, math.log(1e-3), math.log(1e4), xtol=1e-13))
    return Value(math.exp(largest), kind="exact", source="dpbounds, glm Lemma 4")


def radius(spectral_norm: float, p: int, n: int, failure: float) -> float:
    """R = sqrt(5 p ||Sigma|| log(n / failure)), beyond which glm Algorithms 1 and 3 refuse a record (natural log)."""
    ratio = count("n", n) / within("failure", failure, "(0, 1)")
    return math.sqrt(5.0 * count("p", p) * positive("spectral_norm", spectral_norm) * math.log(ratio))


def _units(gram: float, cross: float, radius: float, label_bound: float) -> tuple[float, float]:
    if not (gram > 0 and cross > 0):
        raise DomainError("gram, cross", (gram, cross), "standard deviations above 0")
    gram, cross = float(gram), float(cross)
    return gram / radius**2, cross / (radius * label_bound)


def _worst(gram: float, cross: float, p: int, inputs: str) -> float:
    """Largest squared shift with weights 1 / a^2: on the line between x and -s x, on the axes of the l1 ball, or on the
    sphere over t = <x, x'>.
    """
    if p == 1:
        # (1 - s^2)^2 gram + (1 + s)^2 cross rises from s = 0 to the first root of s (1 - s) = cross / (2 gram).
        bend = 1.0 - 2.0 * cross / gram if gram > 0 else -1.0
        s = (1.0 - math.sqrt(bend)) / 2.0 if bend > 0 else 1.0
        return max(4.0 * cross, (1.0 - s * s) ** 2 * gram + (1.0 + s) ** 2 * cross)
    if inputs == "l1":
        return max(4.0 * cross, 2.0 * gram + 2.0 * cross)
    t = -cross / (2.0 * gram) if gram > 0 else -1.0
    return (2.0 - 2.0 * t * t) * gram + (2.0 - 2.0 * t) * cross if t > -1.0 else 4.0 * cross
