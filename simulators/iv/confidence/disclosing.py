"""The release of one data set under a plan: bounded numbers of each record, their sums with noise, and what they cost.

>>> import numpy as np
>>> from dpbounds.iv.confidence import PrivacyBudget, ReleasePlan
>>> plan = ReleasePlan(outcome="y", regressors=("x",), instruments=("z",), bounds={"y": (-1, 1), "x": (-1, 1)},
...                    instrument_means={"z": 0.5}, budget=PrivacyBudget(mu=50.0), seed=1)
>>> z = np.arange(1000) % 2
>>> answer = private_answer(plan, {"z": z, "x": z - 0.5, "y": 0.5 * z})
>>> round(answer.point, 2), answer.confidence_set.shape
(0.5, 'interval')
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dpbounds.arguments import typed
from dpbounds.iv.confidence import MomentRelease, ReleasePlan, count_sensitivity, start_sensitivity
from dpbounds.iv.confidence.answers import ConfidenceAnswer, confidence_answer
from dpbounds.iv.confidence.budget import BudgetLine, block_lines, moment_lines
from dpbounds.iv.confidence.disclosure import CellCount, Disclosure
from dpbounds.iv.confidence.signs import sign_sensitivity
from simulators.iv.confidence.blocks import block_release
from simulators.iv.confidence.clipping import ClippedDesign, release_clipped, without_clipping
from simulators.iv.confidence.moments import MomentDesign
from simulators.iv.confidence.records import BoundedRecords, bounded_records
from simulators.iv.confidence.signs import SignDesign, step_curves
from simulators.iv.confidence.sources import noise_source
from simulators.iv.confidence.staged import CellRecords, StagedDesign, release_staged, without_noise
from simulators.sources import GaussianSource


@typed
def private_answer(
    plan: ReleasePlan, columns: Mapping[str, Any], *, before: Callable[[], None] | None = None
) -> ConfidenceAnswer:
    """The answer to the plan from columns (n,) by name: records are bounded, disclosed once, and read off.

    Every call spends the budget again; `before` is called when the records are accepted and nothing is spent yet.
    Raises `DomainError` for columns that cannot be used, see `bounded_records`, and for releases that cannot be read:
    the budget is spent then too.
    """
    source = noise_source(plan)
    records = bounded_records(plan, columns)
    if before is not None:
        before()
    return confidence_answer(plan, disclose(plan, records, source))


@typed
def disclose(plan: ReleasePlan, records: BoundedRecords, source: GaussianSource) -> Disclosure:
    """One Gaussian release with all of the plan's budget; what has no noise beside it for public data alone."""
    return _released(plan, records, source, plan.budget.gdp)


def _released(plan: ReleasePlan, records: BoundedRecords, source: GaussianSource, mu: float) -> Disclosure:
    if plan.design == "s":
        return _signs(plan, records, source, mu)
    if plan.stretched:
        return _clipped(plan, records, source, mu)
    if plan.two_stage:
        return _two_stages(plan, records, source, mu)
    return (_blocks if plan.design == "h" else _moments)(plan, records, source, mu)


def moment_design(plan: ReleasePlan, mu: float) -> MomentDesign:
    """The public constants of a release of moments or blocks around public means, which is `mu`-GDP."""
    Y, X = plan.halves
    return MomentDesign(
        mu=mu,
        instrument_bound=plan.instrument_reach,
        outcome_bound=Y,
        regressor_bounds=(X,),
        ratio=plan.ratio,
        adjacency=plan.adjacency,
    )


def staged_design(plan: ReleasePlan, mu: float) -> StagedDesign:
    """The public constants of a release in two stages, which is `mu`-GDP."""
    return StagedDesign(mu=mu, instrument_bound=plan.instrument_reach, ratio=plan.ratio, adjacency=plan.adjacency)


def clipped_design(plan: ReleasePlan, mu: float) -> ClippedDesign:
    """The public constants of a release of clipped residuals, which is `mu`-GDP; columns are less their middles."""
    Y, X = plan.halves
    return ClippedDesign(
        mu=mu,
        outcome_bound=Y,
        regressor_bound=X,
        probability=plan.chance,
        regressor_clamped=plan.regressor_clamped,
        heterogeneity=plan.heterogeneity,
        adjacency=plan.adjacency,
    )


def sign_design(plan: ReleasePlan, mu: float) -> SignDesign:
    """The public constants of a sign curve, which is `mu`-GDP; columns are less the middles of their ranges already."""
    assert plan.grid is not None and plan.instrument_means is not None
    low, high, size = plan.grid
    (pi,) = plan.instrument_means.values()
    return SignDesign(mu=mu, low=low, high=high, size=int(size), pi=pi, adjacency=plan.adjacency)


def _moments(plan: ReleasePlan, records: BoundedRecords, source: GaussianSource, mu: float) -> Disclosure:
    """T1 and T2."""
    design, n = moment_design(plan, mu), records.n
    u = design.vectors(records.sample)[0]
    s1, s2 = design.scales
    private = source.vector(source.sums(u), s1), source.symmetric(source.gram(u), s2)
    return Disclosure(
        release=design.release(*private, n),
        budget=moment_lines(len(u), design.scales, mu, plan.adjacency),
        exact=design.release(u.sum(axis=1), u @ u.T, n, noisy=False) if plan.public else None,
    )


def _blocks(plan: ReleasePlan, records: BoundedRecords, source: GaussianSource, mu: float) -> Disclosure:
    """Z'Z, Z'V and V'V."""
    design, n = moment_design(plan, mu), records.n
    Z, V = design.instruments(records.sample)[0], design.variables(records.sample)[0]
    q, blocks = len(Z), len(V)
    cross = source.sums((Z[:, None] * V[None]).reshape(-1, n)).reshape(q, blocks)
    s_A, s_C, s_Q = design.block_scales
    private = source.symmetric(source.gram(Z), s_A), source.vector(cross, s_C), source.symmetric(source.gram(V), s_Q)
    exact = (Z @ Z.T, Z @ V.T, V @ V.T)
    return Disclosure(
        release=block_release(design, private, n),
        budget=block_lines(q, blocks, design.block_scales, mu, plan.adjacency),
        exact=block_release(design, exact, n, noisy=False) if plan.public else None,
    )


def _two_stages(plan: ReleasePlan, records: BoundedRecords, source: GaussianSource, mu: float) -> Disclosure:
    """Means within cells, then T1 and T2 of what they leave."""
    design, halves = staged_design(plan, mu), plan.halves
    unit = CellRecords(
        Z=records.instruments,
        x=records.regressors[:, 0] / halves[1],
        y=records.outcome / halves[0],
        cells=records.cells,
        K=records.K,
    )
    staged = release_staged(unit, design, source)
    q, scales = len(plan.instruments), (staged.release.first_scale, staged.release.second_scale)
    # Per cell two counts and the sums of z, x, y; three totals.
    numbers = records.K * (q + 4) + 3
    sums = BudgetLine(
        "counts and sums in cells, totals", numbers, design.sensitivity, design.cell_scale, design.budgets[0]
    )
    return Disclosure(
        release=_in_column_units(staged.release, halves),
        budget=[sums, *moment_lines(2 * q, scales, design.budgets[1], plan.adjacency)],
        shift=staged.slope * halves[0] / halves[1],
        exact_shift=staged.slope * halves[0] / halves[1],
        cells=CellCount(records.K, int(records.K - staged.means.kept.sum())),
        exact=_in_column_units(without_noise(unit, design, staged.slope), halves) if plan.public else None,
    )


def _clipped(plan: ReleasePlan, records: BoundedRecords, source: GaussianSource, mu: float) -> Disclosure:
    """A line, then counts of clipped residuals, T1 and T2 of them."""
    design = clipped_design(plan, mu)
    z, x, y = records.instruments[:, 0], records.regressors[:, 0], records.outcome
    found = release_clipped(z, x, y, design, source)
    return Disclosure(
        release=found.release,
        budget=clipped_lines(design),
        shift=found.slope,
        counts=found.counts,
        clip=found.clip,
        exact=without_clipping(z, x, y, plan.adjacency) if plan.public else None,
    )


def clipped_lines(design: ClippedDesign) -> list[BudgetLine]:
    """What each part of a release of clipped residuals costs."""
    start, counts = (
        float(start_sensitivity(design.adjacency)),
        float(count_sensitivity(design.adjacency, design.tables)),
    )
    shares, d = design.shares, 4 if design.probability is None else 2
    return [
        BudgetLine("records with z = 1, sums for a line", 6, start, design.start_scale, shares.start),
        BudgetLine("clipped records", 4 * design.tables, counts, design.count_scale, shares.counts),
        *moment_lines(d, design.moment_scales, shares.moments, design.adjacency),
    ]


def _in_column_units(release: MomentRelease, halves: tuple[float, float]) -> MomentRelease:
    return replace(
        release,
        outcome_weight=release.outcome_weight * halves[0],
        regressor_weights=np.array(release.regressor_weights) * halves[1],
    )


def _signs(plan: ReleasePlan, records: BoundedRecords, source: GaussianSource, mu: float) -> Disclosure:
    """The curve of a randomised instrument on the plan's grid."""
    design = sign_design(plan, mu)
    exact = design.curves(records.sample)[0]
    curve = exact + step_curves(design, source.generator, 1)[0]
    moved = sign_sensitivity(design.pi, plan.adjacency)
    return Disclosure(
        release=design.release(curve, records.n),
        budget=[BudgetLine("sign curve", design.size, moved, design.deviation, mu)],
        exact=design.release(exact, records.n, noisy=False) if plan.public else None,
    )
