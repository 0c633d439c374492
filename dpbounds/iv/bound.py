"""iv Theorem 3.1: the error bound (7) term by term, its conditions (3)-(6), its regimes in T and its optimal T.

Bounds with unknown constants: kind `asymptotic`, constants from `Constants`. What is known against (7): the third term
does not exist for ||beta_T - beta_hat|| (`dpbounds.iv.noiseless`), the first is kappa^T with the true kappa, and the
dimension factor of the second is an artefact of its proof (`leading_order.isotropic_variances`).

>>> design = Design(n=2000, p=5, q=5, theta_norm=1.0, theta_least=1.0)
>>> bound = error_bound(design, TwoStageBudget(rho1=5.0, rho2=5.0), steps=18, kappa=2 / 3)
>>> bound.dominant, round(bound.total, 2)
('statistical', 1.13)
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, get_args

import numpy as np
from scipy.special import lambertw

from dpbounds.arguments import typed
from dpbounds.errors import count, moderate, positive, within
from dpbounds.iv.budgets import TwoStageBudget
from dpbounds.iv.lemmas import no_clipping_sample_size
from dpbounds.iv.quantities import UNIT, Constants, Design, Spectrum, theorem_step_limits
from dpbounds.values import Value

Term = Literal["optimisation", "privacy", "statistical"]


class ErrorBound(NamedTuple):
    """The three terms of iv eq. (7), each with its constant."""

    optimisation: Value
    privacy: Value
    statistical: Value

    @property
    def total(self) -> float:
        """Their sum."""
        return float(sum(self))

    @property
    def dominant(self) -> Term:
        """Name of the largest term."""
        return max(get_args(Term), key=lambda name: getattr(self, name))


@typed
def error_bound(
    design: Design,
    budget: TwoStageBudget,
    *,
    steps: int,
    kappa: float,
    constants: Constants = UNIT,
    logarithm: bool = False,
) -> ErrorBound:
    """iv eq. (7): kappa^{T/2}, sqrt(p) Q³ sqrt(T) / (n sqrt(min rho)), sqrt(pq) Lambda / sqrt(n).

    rho_1 = inf gives Theorem F.1, both inf Corollary 3.1. `logarithm` puts tau + log(nT) for tau in the second term, as
    the clip norms (4) demand. The paper leaves it out (footnote 4): the noise of beta alone then exceeds the term by a
    factor of order log(nT), and along T = n^s, 1 < s < 2, the whole bound. Of `budget` rho_1 and rho_2 count. Raises
    `DomainError` for steps < 1, kappa outside [0, 1).
    """
    steps, kappa = count("steps", steps), within("kappa", kappa, "[0, 1)", "the theorem needs a contraction")
    unit = _privacy_unit(design, budget, constants, design.Q_union(steps) if logarithm else design.Q)
    terms = (constants.optimisation * kappa ** (steps / 2), unit * math.sqrt(steps), _statistical(design, constants))
    convention = "constants as given"
    return ErrorBound(*(Value(term, kind="asymptotic", source="iv eq. (7)", convention=convention) for term in terms))


@typed
def clip_norm(design: Design, steps: int, constants: Constants = UNIT) -> Value:
    """gamma_1 = gamma_2 = c_0 (sqrt(q) + sqrt(tau + log(nT)))² of iv eq. (4)."""
    number = constants.clipping * design.Q_union(steps) ** 2
    return Value(number, kind="asymptotic", source="iv eq. (4)", convention="constants as given")


Hypothesis = Literal[
    "(3) eta", "(3) alpha", "(5)", "(6) dimension", "(6) privacy", "Lemma D.1", "Lemma D.2", "Lemma D.6"
]
# Those that the statement of the theorem does not list.
UNLISTED: tuple[Hypothesis, ...] = ("Lemma D.1", "Lemma D.2", "Lemma D.6")


class Condition(NamedTuple):
    """One hypothesis: `value` is to be at most (or, for lower limits, at least) `limit`."""

    name: Hypothesis
    statement: str
    value: float
    limit: float
    met: bool


@typed
def conditions(
    design: Design,
    bounds: Spectrum,
    budget: TwoStageBudget,
    *,
    eta: float,
    alpha: float,
    steps: int,
    constants: Constants = UNIT,
) -> tuple[Condition, ...]:
    """The hypotheses of iv Theorem 3.1, and those that its proof uses besides them, with the constants given.

    (3) twice, (5), (6) twice; Lemma D.1's n >= c_1 Q³ sqrt(T / min rho), which the statement of the theorem does not
    list; delta < 1 and psi < sigma_min(Theta), without which (10) is void.
    """
    eta, alpha, n = moderate("eta", eta), moderate("alpha", alpha), design.n
    limits, c1, longest = theorem_step_limits(bounds), constants.sample_size, _horizon(design, budget, constants)
    least = math.sqrt(budget.least)
    clipping = no_clipping_sample_size(design, budget, steps=steps, constants=constants)
    upper: list[tuple[Hypothesis, str, float, float, bool]] = [
        ("(3) eta", "eta < 2 / (1 + delta)²", eta, limits.eta, eta < limits.eta),
        ("(3) alpha", "alpha < 4 / (2 gamma-upper + gamma-lower)", alpha, limits.alpha, alpha < limits.alpha),
        ("(5)", "T <= C rho_1 n^{2-eps} / (p Q^6)", steps, longest, steps <= longest),
        ("Lemma D.2", "delta < 1", float(bounds.delta), 1.0, bounds.delta < 1),
        ("Lemma D.6", "psi < sigma_min(Theta)", float(bounds.psi), design.theta_least, bounds.psi < design.theta_least),
    ]
    lower: list[tuple[Hypothesis, str, float]] = [
        ("(6) dimension", "n >= c_1 pq Lambda²", c1 * design.p * design.q * design.Lambda**2),
        ("(6) privacy", "n >= c_1 Q³ / sqrt(min rho)", c1 * design.Q**3 / least),
        ("Lemma D.1", "n >= c_1 Q³ sqrt(T / min rho)", clipping),
    ]
    return (
        *(Condition(name, statement, float(value), limit, bool(met)) for name, statement, value, limit, met in upper),
        *(Condition(name, statement, float(n), limit, n >= limit) for name, statement, limit in lower),
    )


class Regimes(NamedTuple):
    """Where terms of (7) are equal, as real numbers of steps (iv Remark 3.7).

    `statistical_from` T_a: the optimisation term meets the statistical one; `privacy_from` T_b: the privacy term meets
    it; `valid_until` T_c: the end of (5). T_a < T_b or there is no plateau: `crossing` is where the optimisation and
    the privacy term meet, the only change of regime then.
    """

    statistical_from: Value
    privacy_from: Value
    valid_until: Value
    crossing: Value

    @property
    def has_plateau(self) -> bool:
        """Whether the statistical term dominates anywhere."""
        return self.statistical_from < self.privacy_from

    @property
    def has_privacy_regime(self) -> bool:
        """Whether (5) leaves room for the third range of Remark 3.7."""
        return max(self.privacy_from, self.crossing if not self.has_plateau else 0.0) < self.valid_until


@typed
def regimes(design: Design, budget: TwoStageBudget, *, kappa: float, constants: Constants = UNIT) -> Regimes:
    """The crossing points of iv Remark 3.7, constants included.

    With constants 1: T_a = log(n / (pq Lambda²)) / log(1 / kappa), T_b = n min(rho) q Lambda² / Q^6, T_c = rho_1
    n^{2-eps} / (p Q^6). T_b < T_c if and only if n^{1-eps} > pq Lambda² min(rho) / rho_1: with rho_1 <= rho_2, eps = 0
    the first half of (6) with c_1 = 1. `crossing`: a kappa^{T/2} = c sqrt(T), T = W_0(a² l / c²) / l, l =
    log(1 / kappa). Raises `DomainError` unless 0 < kappa < 1.
    """
    kappa, a = within("kappa", kappa, "(0, 1)"), constants.optimisation
    floor, unit = _statistical(design, constants), _privacy_unit(design, budget, constants, design.Q)
    rate = -math.log(kappa)
    crossing = float(lambertw(a**2 * rate / unit**2).real) / rate if unit else math.inf
    points = (
        2 * math.log(a / floor) / rate,
        (floor / unit) ** 2 if unit else math.inf,
        _horizon(design, budget, constants),
        crossing,
    )
    return Regimes(*(Value(point, kind="asymptotic", source="iv Remark 3.7") for point in points))


class Optimum(NamedTuple):
    """The best whole number of steps, the stationary point it comes from (or None), and the least value."""

    steps: int
    stationary: float | None
    value: Value


@typed
def optimal_steps(design: Design, budget: TwoStageBudget, *, kappa: float, constants: Constants = UNIT) -> Optimum:
    """T >= 1 that minimises (7): the Lambert W point of `stationary_steps`, its neighbours, and T = 1.

    Theta(log n) at fixed budgets: not super-logarithmic, as iv Remark 3.7 and its conclusion have it. Raises
    `DomainError` where no noise bounds T from above.
    """
    unit = _privacy_unit(design, budget, constants, design.Q)
    positive("min(rho)^{-1/2}", unit, "without noise more steps are always better")
    point = stationary_steps(constants.optimisation, -0.5 * math.log(within("kappa", kappa, "(0, 1)")), unit)
    candidates = {1} if point is None else {1, max(1, math.floor(point)), max(1, math.ceil(point))}

    def total(steps: int) -> float:
        return error_bound(design, budget, steps=steps, kappa=kappa, constants=constants).total

    best = min(sorted(candidates), key=total)
    return Optimum(best, point, Value(total(best), kind="asymptotic", source="iv eq. (7), minimised"))


def stationary_steps(start: float, rate: float, growth: float) -> float | None:
    """The local minimum of start e^{-rate T} + growth sqrt(T) in T > 0, None if the sum only grows.

    u e^{-u} = growth² / (2 start² rate) with u = 2 rate T: T = -W_{-1}(-growth² / (2 start² rate)) / (2 rate); W_0 is
    the local maximum. Exists if that number is below 1/e. T = 0 can still be better.
    """
    start, rate, growth = moderate("start", start), moderate("rate", rate), within("growth", growth, "[1e-150, 1e50]")
    level = growth**2 / (2 * start**2 * rate)
    return -float(lambertw(-level, -1).real) / (2 * rate) if level < math.exp(-1) else None


def stationary_steps_of_squares(start: float, rate: float, growth: float) -> float | None:
    """The minimum of start² e^{-2 rate T} + growth² T over T > 0: log(2 start² rate / growth²) / (2 rate), or None.

    For root mean squares, where the terms add in squares.
    """
    start, rate, growth = moderate("start", start), moderate("rate", rate), within("growth", growth, "[1e-150, 1e50]")
    ratio = 2 * start**2 * rate / growth**2
    return math.log(ratio) / (2 * rate) if ratio > 1 else None


@typed
def scan_steps(
    design: Design,
    budget: TwoStageBudget,
    *,
    kappa: float,
    longest: int,
    constants: Constants = UNIT,
    logarithm: bool = False,
) -> tuple[Optimum, np.ndarray]:
    """The least of (7) over T = 1 ... `longest` by evaluation, and the curve (`longest`,); any form of the bound."""
    curve = np.array(
        [
            error_bound(design, budget, steps=T, kappa=kappa, constants=constants, logarithm=logarithm).total
            for T in range(1, count("longest", longest) + 1)
        ]
    )
    best = int(np.argmin(curve))
    return Optimum(best + 1, None, Value(float(curve[best]), kind="asymptotic", source="iv eq. (7), minimised")), curve


def _privacy_unit(design: Design, budget: TwoStageBudget, constants: Constants, Q: float) -> float:
    """Coefficient of sqrt(T) in (7)."""
    return constants.privacy * math.sqrt(design.p) * Q**3 / (design.n * math.sqrt(budget.least))


def _statistical(design: Design, constants: Constants) -> float:
    return constants.statistical * math.sqrt(design.p * design.q / design.n) * design.Lambda


def _horizon(design: Design, budget: TwoStageBudget, constants: Constants) -> float:
    """Right-hand side of (5)."""
    power = design.n ** (2 - constants.epsilon)
    return constants.horizon * budget.rho1 * power / (design.p * design.Q**6)
