"""How good any one-round message can be: lower bounds on the squared error.

S is the score of (x, y), I_F = E S S^T. A Gaussian message is T(x, y) + N(0, sigma^2 I), ||T|| <= 1, sigma = 2 / mu.

1. I_message <= e^{mu^2 / 8} {(mu^2 / 4) J^T J + (e^{mu^2} - 1 - mu^2) / 4 I_F}, J = E[T S^T] (Jensen for the density,
   then the expansion of E[S S'^T e^{<T - ET, T' - ET>/sigma^2}], whose constant term is 0).
2. tr (J^T J)^-1 >= (tr A^{2/3})^3 / (E ||A S||)^2 for every A > 0 (the nuclear norm of J A is at most E ||A S||, and is
   at least tr P A with P = (J^T J)^{1/2}; minimise tr P^-2).
3. Equality at the A that maximises 2, by T = A S / ||A S||: for binary labels the direction message of A x.

So n times the squared error is at least (1 + o(1)) (4 / mu^2) `unit` as mu -> 0, for binary labels, and messages attain
that.

>>> best = lower_bound("logistic", 5, 1.0)
>>> f"{best.unit:.4f} at {best.stretch:.2f}; {pure_threshold(2.0) ** 2:.5f}"
'174.8958 at 1.35; 0.61855'
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from scipy import special
from scipy.optimize import brentq, minimize_scalar

from dpbounds.arguments import formula, typed
from dpbounds.arithmetic import Arithmetic
from dpbounds.errors import AccuracyError, DomainError, count, positive, within
from dpbounds.glm.links import Link
from dpbounds.glm.messages.labels import scored
from dpbounds.glm.messages.moments import LARGEST_NORM, MOST_P, stretched_slope
from dpbounds.glm.messages.noises import EPSILONS

# A = diag(a, 1, ..., 1) is searched for a in this range.
STRETCHES = (0.01, 1000.0)


@dataclass(frozen=True, kw_only=True)
class LowerBound:
    """The best `unit` of `dpbounds.glm.messages.Moments` that any message of bounded size can have.

    `stretch`: a of the A = diag(a, 1, ..., 1) that attains it, w* = |w| e_1.
    """

    unit: float
    stretch: float


@typed
def lower_bound(link: Link | str, p: int, norm: float) -> LowerBound:
    """sup over A of (tr A^{2/3})^3 / (E ||A S||)^2 for x ~ N(0, I_p), |w*| = `norm` in (0, 20], binary labels.

    By symmetry and as (tr A^{2/3})^{3/2} is concave, A = diag(a, 1, ..., 1). Any a gives a lower bound, so that an a
    found to a few digits only loses some of it. Raises `DomainError` for labels that are not binary: E ||A S|| then is
    not the direction message's.
    """
    labels = scored(link)
    if labels.link.labels != "binary":
        raise DomainError(
            "link", labels.link.name, "one of binary labels", "for others messages are not known to be best"
        )
    p, norm = count("p", p, most=MOST_P), within("norm", norm, f"(0, {LARGEST_NORM:g}]")

    def bound(log_stretch: float) -> float:
        a = math.exp(log_stretch)
        return (a ** (2.0 / 3.0) + p - 1.0) ** 3 / stretched_slope(labels, p, norm, a) ** 2

    if p == 1:
        return LowerBound(unit=bound(0.0), stretch=1.0)
    ends = (math.log(STRETCHES[0]), math.log(STRETCHES[1]))
    found: Any = minimize_scalar(lambda x: -bound(x), bounds=ends, method="bounded", options={"xatol": 1e-7})
    if not ends[0] + 0.01 < found.x < ends[1] - 0.01:
        raise AccuracyError(f"the best stretch at p = {p}, norm = {norm:g} is not within {STRETCHES}")
    return LowerBound(unit=bound(float(found.x)), stretch=math.exp(float(found.x)))


@formula
def information_bound(m: Arithmetic, mu: Any, cross: Any, fisher: Any) -> Any:
    """Statement 1 in one direction v: `cross` = ||E T S_v||^2, `fisher` = E S_v^2."""
    square = mu * mu
    return m.exp(square / 8) * (square / 4 * cross + (m.expm1(square) - square) / 4 * fisher)


@typed
def pure_threshold(epsilon: float) -> float:
    """t* with t (1 + (e^eps - 1) Q(t)) = (e^eps - 1) phi(t): any eps-local mechanism, interactive or not, has squared
    error of at least 4 p^2 / (n t*^2) for the logistic link at w* = 0, Sigma = I.

    tr I <= max over v, t of {(e^eps - 1) E[S_v; S_v > t] / (1 + (e^eps - 1) P(S_v > t))}^2, and S_v is N(0, 1/4) there.
    """
    gain = math.expm1(within("epsilon", epsilon, EPSILONS))

    def excess(t: float) -> float:
        density = math.exp(-0.5 * t * t) / math.sqrt(2.0 * math.pi)
        return gain * (density - t * float(special.ndtr(-t))) - t

    return cast(float, brentq(excess, 0.0, 1e3, xtol=1e-300, rtol=np.float64(8.9e-16)))


@typed
def pure_bound(p: int, n: int, epsilon: float) -> float:
    """4 p^2 / (n t*^2), see `pure_threshold`."""
    p, n = count("p", p), count("n", n)
    return positive("bound", 4.0 * p**2 / (n * pure_threshold(epsilon) ** 2))
