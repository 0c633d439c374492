"""What a private estimate may cost in all, how that is shared among its releases, and what each part of them costs.

Releases on the same records compose exactly: each is Gaussian, and the squares of their mu add up.

>>> budget = PrivacyBudget(epsilon=1.0, delta=1e-6)
>>> round(budget.gdp, 3)
0.237
>>> shares = budget_shares(budget.gdp, centred=True)
>>> round(shares.centring**2 + shares.moments**2, 3) == round(budget.gdp**2, 3)
True
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, moderate, within
from dpbounds.iv.confidence.sensitivity import Adjacency, moment_sensitivity
from dpbounds.privacy import gaussian_epsilon, gaussian_mu

# Of the budget mu²: centring, where instruments' means are not public.
CENTRING_SHARE = 0.25
EPSILONS, MUS, RHOS, DELTAS = "[1e-6, 1e3]", "[1e-6, 1e3]", "[1e-12, 1e6]", "[1e-300, 1)"


@typed
@dataclass(frozen=True, kw_only=True)
class PrivacyBudget:
    """What all releases together may cost: exactly one of `epsilon` (with `delta`), `mu` (GDP) and `rho` (zCDP).

    Raises `DomainError` for none or several of them, and for numbers outside [1e-6, 1e3] (epsilon, mu), [1e-12, 1e6]
    (rho) and [1e-300, 1) (delta).
    """

    epsilon: float | None = None
    mu: float | None = None
    rho: float | None = None
    delta: float = 1e-5

    def __post_init__(self) -> None:
        stated = [name for name in ("epsilon", "mu", "rho") if getattr(self, name) is not None]
        if len(stated) != 1:
            raise DomainError("budget", ", ".join(stated) or "nothing", "one of epsilon with delta, mu, rho")
        within("delta", self.delta, DELTAS)
        for name, interval in (("epsilon", EPSILONS), ("mu", MUS), ("rho", RHOS)):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, within(name, getattr(self, name), interval))

    @cached_property
    def gdp(self) -> float:
        """The budget as mu of Gaussian DP: exact for epsilon at delta, since what is released is Gaussian."""
        return self.scaled(1.0)

    @cached_property
    def epsilon_at_delta(self) -> float:
        """The epsilon that was stated, or the one that follows from mu at `delta`."""
        return float(gaussian_epsilon(self.gdp, self.delta)) if self.epsilon is None else self.epsilon

    def scaled(self, factor: float) -> float:
        """The mu of `factor` times this budget: times epsilon where that was stated, else times mu."""
        factor = moderate("factor", factor)
        if self.epsilon is not None:
            return float(gaussian_mu(factor * self.epsilon, self.delta))
        return factor * (self.mu if self.mu is not None else math.sqrt(2 * (self.rho or 0.0)))


class BudgetShares(NamedTuple):
    """The mu of centring, 0 where there is none, and of the moments."""

    centring: float
    moments: float


@typed
def budget_shares(mu: float, *, centred: bool) -> BudgetShares:
    """How mu is shared: a quarter of mu² for centring, if any. Raises `DomainError` unless mu > 0."""
    mu, centring = moderate("mu", mu, "a budget is above 0"), CENTRING_SHARE * centred
    return BudgetShares(mu * math.sqrt(centring), mu * math.sqrt(1 - centring))


class BudgetLine(NamedTuple):
    """One part of a release: its name, how many numbers it has, how far one record moves it (l2) and the deviation of
    its noise, both in the units of what is released, and its mu; None where it shares that of the line above.
    """

    released: str
    numbers: int
    sensitivity: float
    noise_sd: float
    mu: float | None


def moment_lines(d: int, scales: tuple[float, float], mu: float, adjacency: Adjacency) -> list[BudgetLine]:
    """T1 of d numbers and T2, which cost `mu` together; each line says how far a record moves that part alone."""
    sums, products = _moves(adjacency)
    return [
        BudgetLine("first moments T1 and", d, sums, scales[0], mu),
        BudgetLine("second moments T2", d * (d + 1) // 2, products, scales[1], None),
    ]


def block_lines(
    q: int, blocks: int, scales: tuple[float, float, float], mu: float, adjacency: Adjacency
) -> list[BudgetLine]:
    """Z'V, Z'Z and V'V of q instruments and so many variables, with scales of Z'Z, Z'V, V'V; `mu` together."""
    sums, products = _moves(adjacency)
    instruments, cross, variables = scales
    return [
        BudgetLine("blocks Z'V and", q * blocks, sums, cross, mu),
        BudgetLine("Z'Z and", q * (q + 1) // 2, products, instruments, None),
        BudgetLine("V'V", blocks * (blocks + 1) // 2, products, variables, None),
    ]


def _moves(adjacency: Adjacency) -> tuple[float, float]:
    """How far one record moves a sum of vectors of norm 1, and a sum of their outer products."""
    squares = moment_sensitivity(1.0, 0.0, adjacency), moment_sensitivity(0.0, 1.0, adjacency)
    return math.sqrt(squares[0]), math.sqrt(squares[1])
