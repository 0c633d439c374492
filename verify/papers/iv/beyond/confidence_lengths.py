"""Beyond the paper: how long private confidence sets are, against n*."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dpbounds.iv.confidence import (
    Adjacency,
    MomentRelease,
    PrivacyBudget,
    ReleasePlan,
    confidence_set,
    expected_prices,
)
from simulators.engine import Arrays, Experiment
from simulators.iv.confidence import MomentDesign, WeakInstruments, moment_releases, release_moments_in_law
from simulators.iv.confidence.disclosing import moment_design
from verify.checks import Level, Quantiles, Reading
from verify.statements.claims import Claim

MULTIPLE = 7.5


def _length(release: MomentRelease) -> float:
    """Of the set with the chi-square quantile; inf where it is not one interval."""
    found = confidence_set(release, correct=False)
    if found.shape != "interval":
        return math.inf
    ((low, high),) = found.pieces
    return float(high) - float(low)


def _ratios(design: MomentDesign, n: int) -> Callable[[Arrays], np.ndarray]:
    """Private length over the length without privacy on the same data."""

    def public(arrays: Arrays) -> Iterator[MomentRelease]:
        for first, second in zip(arrays["exact_first"], arrays["exact_second"], strict=True):
            yield design.release(first, second, n, noisy=False)

    def ratios(arrays: Arrays) -> np.ndarray:
        pairs = zip(moment_releases(arrays, design, n), public(arrays), strict=True)
        return np.array([_length(private) / _length(exact) for private, exact in pairs])

    return ratios


def _plan(problem: WeakInstruments, mu: float, adjacency: Adjacency) -> ReleasePlan:
    """Instruments -1 or 1 with public means 0; outcome and regressor in one range, the coefficient 1 guessed right."""
    names = tuple(f"z{k}" for k in range(problem.q))
    half = MULTIPLE * problem.deviations[0]
    return ReleasePlan(
        outcome="y",
        regressors=("x",),
        instruments=names,
        bounds={**dict.fromkeys(names, (-1, 1)), "y": (-half, half), "x": (-half, half)},
        instrument_means=dict.fromkeys(names, 0.0),
        budget=PrivacyBudget(mu=mu),
        adjacency=adjacency,
        beta=1.0,
        clamping="natural",
    )


def _readings() -> list[Reading]:
    """Signs, coefficient 1, weights for the ratio 1; Var(z_k e) = 1."""
    found = []
    cells: tuple[tuple[int, float, float, int, Any, Level], ...] = (
        (50_000, 0.1, 1e5, 1, "replace-one", "quick"),
        (20_000, 0.3, 1e5, 1, "zero-out", "full"),
        (10_000, 0.2, 5e4, 1, "replace-one", "full"),
        (100_000, 0.2, 1e5, 2, "replace-one", "full"),
    )
    for n, mu, strength, q, adjacency, level in cells:
        problem = WeakInstruments(n=n, q=q, strength=strength, endogeneity=0.5, instruments="sign")
        plan = _plan(problem, mu, adjacency)
        design, (_, price, _) = moment_design(plan, mu), expected_prices(plan, n, deviation=1.0)
        found.append(
            Reading(
                label=f"n = {n}, q = {q}, mu = {mu:g}, {adjacency}",
                experiment=Experiment(
                    algorithm=release_moments_in_law, problem=problem, settings=design, block_trials=80
                ),
                output=_ratios(design, n),
                predicted=lambda price=price: price.length_ratio,
                x=price.n_star / n,
                group="private over public length",
                level=level,
            )
        )
    return found


LENGTHS = Claim(
    id="iv/beyond-confidence-lengths",
    where="beyond the paper: lengths of private confidence sets",
    kind="mc-equality",
    statement=(
        "With strong instruments a private set is $sqrt(1 + n^* \\/ n)$ times as long as that without privacy on the "
        "same data, as is expected of its plan before records are read, $n^* = s_1^2 B_z^2 abs(b)^2 \\/ V(z epsilon)$."
    ),
    setting="Sign instruments, $F = 5 dot 10^4 ... 10^5$, $q = 1, 2$, $n^* \\/ n$ up to 9; medians.",
    checks=(
        Quantiles(
            readings=_readings,
            resolution={"quick": 0.05, "full": 0.03},
            trials={"quick": 80, "full": 640},
            axes=("$n^* \\/ n$", "length ratio"),
            theory="approximate",
            impostors={"10 % more": {"scale": 1.1}, "10 % less": {"scale": 0.9}},
        ),
    ),
)
