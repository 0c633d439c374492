"""Instruments whose means are not public, and controls: the release in two stages, in the file's units."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dpbounds.iv.confidence import MomentRelease
from simulators.iv.confidence.sources import GaussianSource
from simulators.iv.confidence.staged import CellRecords, StagedDesign, release_staged, without_noise
from verify.cli.solve.iv.confidence.asked import CENTRING_SHARE, Asked
from verify.cli.solve.iv.confidence.records import Records
from verify.cli.solve.iv.confidence.releasing import Released, line, moment_lines, ratio_of


def two_stages(asked: Asked, records: Records, noise: GaussianSource, mu: float) -> Released:
    """Both stages, and the same without noise for public data."""
    design = StagedDesign(
        mu=mu,
        instrument_bound=asked.instrument_bound,
        ratio=ratio_of(asked),
        share=CENTRING_SHARE,
        adjacency=asked.adjacency,
    )
    halves = asked.boxes[asked.outcome].half, asked.boxes[asked.regressors[0]].half
    K = len(records.labels)
    unit = CellRecords(
        Z=records.instruments,
        x=records.regressors[:, 0] / halves[1],
        y=records.outcome / halves[0],
        cells=records.cells,
        K=K,
    )
    found = release_staged(unit, design, noise)
    q, scales = len(asked.instruments), (found.release.first_scale, found.release.second_scale)
    sums = line(
        "counts and sums in cells, totals", K * (q + 4) + 3, design.sensitivity, design.budgets[0], design.cell_scale
    )
    return Released(
        release=_in_file_units(found.release, halves),
        spent=[sums, *moment_lines(2 * q, *scales, design.budgets[1], asked)],
        shift=found.slope * halves[0] / halves[1],
        cells={"all": K, "dropped": int(K - found.means.kept.sum())},
        exact=_in_file_units(without_noise(unit, design, found.slope), halves) if asked.public else None,
    )


def _in_file_units(release: MomentRelease, halves: tuple[float, float]) -> MomentRelease:
    weights = {"outcome_weight": release.outcome_weight * halves[0]}
    return replace(release, **weights, regressor_weights=np.array(release.regressor_weights) * halves[1])
