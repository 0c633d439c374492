"""The price of privacy: how much longer a private set is than one without noise, before and after the release.

Before it from public guesses alone (`expected_prices`), after it from the released moments (`price_of_privacy`). Both
are sqrt(1 + n* / n), for strong instruments.

>>> from dpbounds.iv.confidence.budget import PrivacyBudget
>>> plan = ReleasePlan(outcome="y", regressors=("x",), instruments=("z",), bounds={"y": (-1, 1), "x": (-1, 1)},
...                    instrument_means={"z": 0.5}, budget=PrivacyBudget(mu=0.5))
>>> [round(price.n_star, 6) for price in expected_prices(plan, 1000)][1]  # (2 / mu)² (Y + X / 2)² / (Y / 2)²
144.0
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, count, within
from dpbounds.iv.confidence.budget import budget_shares
from dpbounds.iv.confidence.plan import ReleaseDesign, ReleasePlan
from dpbounds.iv.confidence.release import Release
from dpbounds.iv.confidence.sensitivity import Adjacency, equivalent_sample, length_ratio
from dpbounds.iv.confidence.signs import sign_deviation, sign_equivalent_sample
from dpbounds.iv.confidence.stretched import CLIP, CLIPPED_RATIO, stretch_shares
from dpbounds.privacy import gaussian_epsilon

LEAST_RECORDS, MOST_RECORDS = 10, 100_000_000
# Two standard deviations of noise: what hides under it is not told apart from nothing.
HIDDEN = 2.0
# Budgets beside the one of the plan, as factors; the error's deviation without a guess, as a share of its range.
FACTORS, DEVIATION = (0.3, 1.0, 3.0), 0.25
# The length ratio that n is wanted to be large enough for.
WANTED = 1.1


class Price(NamedTuple):
    """Length of the set over that without privacy, at the point estimate; `least`: noise hides it, it is no less."""

    ratio: float
    least: bool

    def equivalent_sample(self, n: int) -> float:
        """n* of a release of n records: ratio = sqrt(1 + n* / n)."""
        return n * (self.ratio**2 - 1)


@typed
def price_of_privacy(release: Release, coefficient: float) -> Price:
    """sqrt(tr V / tr V0) at a coefficient, V0 the released variance of the moments less what the noise adds to it.

    Where V0 is below two standard deviations of the noise of its own estimate it is taken to be that far above its
    value: the ratio is then a least one. An infinite coefficient has the ratio 1, at least. Raises `DomainError` for
    more than one regressor.
    """
    if release.p != 1:
        raise DomainError("p", release.p, "1 regressor")
    if not math.isfinite(coefficient):
        return Price(1.0, True)
    q = release.q
    b = np.array([1.0, -float(release.thetas(coefficient)[0, 0])])
    length = float(b @ b)
    bare = float(np.einsum("i,iaja,j->", b, release.signal.reshape(2, q, 2, q), b)) / q
    noise, hidden = release.mean_scale**2 * length, HIDDEN * release.variance_scale * length / math.sqrt(q)
    if bare <= hidden:
        return Price(math.sqrt(1 + noise / (bare + hidden)), True)
    return Price(math.sqrt(1 + noise / bare), False)


class ExpectedPrice(NamedTuple):
    """What to expect at one budget: n*, the length ratio at n records, and the records at which it is 1.1."""

    epsilon: float
    delta: float
    mu: float
    adjacency: Adjacency
    design: ReleaseDesign
    n: int
    n_star: float
    length_ratio: float
    records_wanted: int

    def row(self) -> dict[str, Any]:
        """As `dpbounds solve iv --confidence` prints it: the last is named for the ratio."""
        row = self._asdict()
        row[f"n_for_ratio_{WANTED:g}"] = row.pop("records_wanted")
        return row


@typed
def expected_prices(plan: ReleasePlan, n: int, *, deviation: float | None = None) -> list[ExpectedPrice]:
    """What to expect of the plan at n records, with .3 of its budget, all of it, and 3 times it; no data are read.

    n* of the strongest case: instruments that are half of the time at either end of their ranges. `deviation` is that
    of the outcome's error, in its units, by default a quarter of its range. Raises `DomainError` for n outside [10,
    1e8] and a deviation beyond the outcome's range.
    """
    n = count("n", n, least=LEAST_RECORDS, most=MOST_RECORDS)
    spread = 1.0 if plan.design == "s" else expected_deviation(plan, deviation)
    return [_expected(plan, n, plan.budget.scaled(factor), spread) for factor in FACTORS]


def expected_deviation(plan: ReleasePlan, deviation: float | None = None) -> float:
    """The standard deviation of the outcome's error that is reckoned with: as stated, or a quarter of the range."""
    width = 2 * plan.halves[0]
    if deviation is None:
        return DEVIATION * width
    return within("deviation", deviation, f"(0, {width!r}]", "at most the outcome's range")


def expected_equivalent_sample(plan: ReleasePlan, mu: float, deviation: float) -> float:
    """n* of the plan at the budget `mu` for everything, with this deviation of the outcome's error."""
    if plan.design == "s":
        return _of_signs(plan, mu)
    if plan.stretched:
        return _of_clipped(plan, mu, deviation)
    mu = budget_shares(mu, centred=plan.two_stage).moments
    Y, X = plan.halves
    ratio, reach = plan.ratio, plan.instrument_reach
    # Instruments of norm sqrt q, each entry of deviation 1; within the bound they keep their length, longer ones are
    # cut to it. Around public means every record is within.
    kept = 1.0 if plan.instrument_means is not None else min(1.0, reach / math.sqrt(len(plan.instruments)))
    # After recentring what is left of the coefficient counts as 0, and the range of y - b0 x is wider for it.
    outcome, left = ((1 + ratio) * Y, 0.0) if plan.two_stage else (Y, ratio * Y / X)
    return float(
        equivalent_sample(
            mu,
            instrument_bound=reach,
            outcome_bound=outcome,
            regressor_bounds=[X],
            coefficients=[left],
            deviation=kept * deviation,
            ratio=ratio,
            adjacency=plan.adjacency,
        )
    )


def _of_clipped(plan: ReleasePlan, mu: float, deviation: float) -> float:
    """Residuals clipped at 3 deviations; the sums of two unknown arms have twice the noise of a coded instrument."""
    reach = plan.instrument_reach if plan.chance is not None else math.sqrt(2.0)
    return float(
        equivalent_sample(
            stretch_shares(mu).moments,
            instrument_bound=reach,
            outcome_bound=CLIP * deviation,
            regressor_bounds=[plan.halves[1]],
            coefficients=[0.0],
            deviation=deviation,
            ratio=CLIPPED_RATIO,
            adjacency=plan.adjacency,
        )
    )


def _of_signs(plan: ReleasePlan, mu: float) -> float:
    assert plan.instrument_means is not None
    (pi,), size = plan.instrument_means.values(), len(plan.sign_grid)
    deviation = sign_deviation(mu, grid_size=size, probability=pi, adjacency=plan.adjacency)
    return float(sign_equivalent_sample(deviation, pi))


def _expected(plan: ReleasePlan, n: int, mu: float, deviation: float) -> ExpectedPrice:
    equivalent = expected_equivalent_sample(plan, mu, deviation)
    return ExpectedPrice(
        epsilon=float(gaussian_epsilon(mu, plan.budget.delta)),
        delta=plan.budget.delta,
        mu=mu,
        adjacency=plan.adjacency,
        design=plan.design,
        n=n,
        n_star=equivalent,
        length_ratio=float(length_ratio(n, equivalent)),
        records_wanted=math.ceil(equivalent / (WANTED**2 - 1)),
    )
