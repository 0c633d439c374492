"""The two-stage release with public controls, stage by stage."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpbounds import DomainError
from dpbounds.iv.confidence.cells import cell_sensitivity, cell_variance
from simulators.engine import Experiment
from simulators.iv.confidence import CellModel, TwoStageDesign, controlled_releases, release_controlled
from simulators.iv.confidence.controls import (
    StageZero,
    cell_means,
    extra_variance,
    residual_moments,
    stage_one,
    stage_zero,
)


class Silent:
    """A generator whose noise is 0."""

    @staticmethod
    def standard_normal(shape: Any) -> np.ndarray:
        return np.zeros(shape)


SILENT: Any = Silent()
MODEL = CellModel(n=600, cells=3)
DESIGN = TwoStageDesign(mu=2.0)


def test_stage_zero_sums_by_loops() -> None:
    sample = MODEL.draw_cells(np.random.default_rng(1), 2)
    released = stage_zero(sample, 3, DESIGN, SILENT)
    for trial in range(2):
        for cell in range(3):
            inside = sample.cells[trial] == cell
            columns = (sample.instruments, sample.regressors, sample.outcome)
            stated = [inside.sum(), inside.sum(), *(float(part[trial, inside].sum()) for part in columns)]
            assert released.cells[trial, cell] == pytest.approx(stated)
        x, y = sample.regressors[trial], sample.outcome[trial]
        assert released.totals[trial] == pytest.approx([x @ x, x @ y, y @ y])


def test_sensitivity_of_stage_zero_by_search() -> None:
    """Corners of the cube, the same cell and another: 8 and 14 are attained and never exceeded."""
    corners = [np.array(c) for c in np.ndindex(3, 3, 3)]
    rows = [(c - 1.0).tolist() for c in corners]

    def added(row: list[float], cell: int) -> np.ndarray:
        z, x, y = row
        sums = np.zeros((2, 5))
        sums[cell] = [1.0, 1.0, z, x, y]
        return np.concatenate([sums.ravel(), [x * x, x * y, y * y]])

    alone = max(float(np.sum(added(row, 0) ** 2)) for row in rows)
    apart = max(float(np.sum((added(one, 0) - added(two, c)) ** 2)) for one in rows for two in rows for c in (0, 1))
    stated = [float(cell_sensitivity(adjacency)) ** 2 for adjacency in ("zero-out", "replace-one")]
    assert [alone, apart] == pytest.approx(stated)


def test_budgets_compose() -> None:
    assert math.hypot(*DESIGN.budgets) == pytest.approx(2.0)
    assert DESIGN.cell_scale == pytest.approx(math.sqrt(8.0))
    assert replace(DESIGN, adjacency="replace-one").cell_scale == pytest.approx(math.sqrt(14.0))


def test_cells_with_small_counts_are_dropped() -> None:
    threshold = 4 * DESIGN.cell_scale
    cells = np.array([[[threshold + 1, 400, 40, 80, -80], [threshold - 1, 400, 40, 80, 80], [300, 200, -900, 20, 0]]])
    means, kept = cell_means(StageZero(cells, np.zeros((1, 3))), DESIGN)
    assert kept.tolist() == [[True, False, True]]
    # z over the first count, x and y over the second, and means stay in [-1, 1].
    assert means[0, 2] == pytest.approx([-1.0, 0.1, 0.0])
    assert means[0, 1] == pytest.approx([0.0, 0.0, 0.0])
    assert means[0, 0] == pytest.approx([1.0, 0.2, -0.2])


def test_squares_of_noisy_means_are_debiased() -> None:
    """The mean of 4000 noisy Sxx, Sxy, Syy is that without noise, to a tenth of what the correction takes off."""
    model = CellModel(n=900, cells=20, turns=0, outcome_shift=0.3, slope=0.4, noise=0.15)
    sample = model.draw_cells(np.random.default_rng(2), 1)
    exact = stage_zero(sample, 20, DESIGN, SILENT)
    rng, trials = np.random.default_rng(3), 4_000
    noisy = StageZero(
        exact.cells + DESIGN.cell_scale * rng.standard_normal((trials, 20, 5)),
        exact.totals + DESIGN.cell_scale * rng.standard_normal((trials, 3)),
    )
    means = noisy.cells[..., 2:] / noisy.cells[..., [0, 1, 1]]
    kept = np.ones((trials, 20), dtype=bool)
    found, plain = (residual_moments(noisy, means, kept, scale) for scale in (DESIGN.cell_scale, 0.0))
    truth = residual_moments(exact, exact.cells[..., 2:] / exact.cells[..., :1], kept[:1], 0.0)[0]
    spread = found.std(axis=0) / math.sqrt(trials)
    correction = (found - plain).mean(axis=0)
    assert (correction[[0, 2]] > 10 * spread[[0, 2]]).all()
    assert (np.abs(found.mean(axis=0) - truth) < 6.2 * spread + 0.1 * np.abs(correction)).all()


def test_stage_one_by_loops() -> None:
    sample = MODEL.draw_cells(np.random.default_rng(4), 1)
    released = stage_zero(sample, 3, DESIGN, np.random.default_rng(5))
    arrays = stage_one(sample, released, DESIGN, SILENT)
    means, kept = cell_means(released, DESIGN)
    assert kept.all()
    b0, a_y, a_x = (float(arrays[name][0]) for name in ("centre", "outcome_weight", "regressor_weight"))
    first, second = np.zeros(2), np.zeros((2, 2))
    for i in range(MODEL.n):
        z_bar, x_bar, y_bar = means[0, sample.cells[0, i]]
        z, x = (sample.instruments[0, i] - z_bar) / 2, sample.regressors[0, i] - x_bar
        y = sample.outcome[0, i] - y_bar - b0 * x
        u = z * np.array([y / a_y, x / a_x])
        assert np.linalg.norm(u) <= 1
        first, second = first + u, second + np.outer(u, u)
    assert arrays["first"][0] == pytest.approx(first)
    assert arrays["second"][0] - arrays["extra"][0] == pytest.approx(second)
    assert (2 * (1 + abs(b0)) / a_y) ** 2 + (2 / a_x) ** 2 == pytest.approx(1.0)


def test_extra_variance_is_that_of_the_theory() -> None:
    sample = MODEL.draw_cells(np.random.default_rng(6), 1)
    released = stage_zero(sample, 3, DESIGN, np.random.default_rng(7))
    means, kept = cell_means(released, DESIGN)
    kept = kept & np.array([[True, False, True]])
    form = extra_variance(released, means, kept, np.array([0.4]), DESIGN.cell_scale)[0]
    counts, columns = released.cells[0, kept[0], 0], means[0, kept[0]].T
    for beta in (-1.0, 0.4, 2.0):
        b = np.array([1.0, 0.4 - beta])
        stated = cell_variance(counts, *columns, scale=DESIGN.cell_scale, coefficients=beta)
        assert float(b @ form @ b) == pytest.approx(float(stated))


def test_releases_and_ranges() -> None:
    scale = TwoStageDesign(mu=4.0, ranges="scale")
    runs = {
        design: Experiment(algorithm=release_controlled, problem=MODEL, settings=design, block_trials=3).run_block(
            0, seed=1
        )
        for design in (DESIGN, scale, replace(scale, allowance=0.0))
    }
    wide, narrow, narrowest = (float(arrays["outcome_weight"].mean()) for arrays in runs.values())
    assert wide > 2 * narrow > 2 * narrowest
    releases = list(controlled_releases(runs[scale], scale, MODEL.n))
    assert len(releases) == 3 and releases[1][1] == float(runs[scale]["centre"][1])
    assert releases[2][0].first_scale == scale.scales[0]
    assert (runs[scale]["kept"] == 1.0).all()


def test_cells_model_stays_in_its_box() -> None:
    sample = CellModel(n=20_000, cells=7, first_stage=0.4, slope=-0.5).draw_cells(np.random.default_rng(8), 1)
    assert all(np.abs(part).max() <= 1 for part in (sample.instruments, sample.regressors, sample.outcome))


@pytest.mark.parametrize("changed", [{"slope": 0.9}, {"first_stage": 0.6}, {"instrument_shift": 0.6}, {"cells": 700}])
def test_cell_models_refuse(changed: dict[str, Any]) -> None:
    with pytest.raises(DomainError):
        CellModel(**{"n": 600, **changed})


@pytest.mark.parametrize("changed", [{"mu": 0.0}, {"share": 1.0}, {"ranges": "guess"}, {"adjacency": "add-remove"}])
def test_designs_refuse(changed: dict[str, Any]) -> None:
    with pytest.raises(DomainError, match=next(iter(changed))):
        TwoStageDesign(**{"mu": 1.0, **changed})
