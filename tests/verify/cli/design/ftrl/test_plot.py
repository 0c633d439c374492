"""The picture of losses over the learning rate."""

from __future__ import annotations

import numpy as np
import pytest

from dpbounds.ftrl.design import Objective, Participation, best, run_curves
from verify.cli.design.ftrl import plot


def test_no_line_is_drawn_between_bounds():
    """A straight line between two of them would be above the least loss where that is convex; points are not."""
    run = Objective(np.array([1.0, 0.2]), 16, 0.3, batch_size=8, initial=1.0, weights="final")
    curves = run_curves(best(run, buffers=1))
    drawn = plot.picture_of(curves)
    lines = [one for one in drawn.series if one.role == "exact"]
    points = [one for one in drawn.series if one.role == "lower"]
    assert [len(one.x) for one in lines] == [len(curve.eta) for curve in curves[:-1]]
    assert [len(one.x) for one in points] == [1] * len(curves[-1].eta)
    assert [one.y[0] for one in points] == curves[-1].total.tolist()
    assert "lower bound" in drawn.y and "lower bound" not in plot.picture_of(curves[:-1]).y


@pytest.mark.parametrize(
    ("weights", "participation"),
    [
        ("final", Participation.single()),
        ("mean", Participation.cyclic(2, 8)),
        ("final", Participation.min_separation(3, 5)),
        ("final", Participation.min_separation(4, 1)),
    ],
)
def test_no_bound_is_above_a_loss_that_is_reached(weights, participation):
    run = Objective(np.array([1.0, 0.5, 0.1]), 16, 0.4, batch_size=8, initial=1.0, sigma_sgd=0.3, weights=weights)
    *reached, bounds = run_curves(best(run, participation, buffers=1))
    lowest = dict(zip(bounds.eta, bounds.total, strict=True))
    for curve in reached:
        for eta, total in zip(curve.eta, curve.total, strict=True):
            assert lowest[eta] <= total * (1 + 1e-12)
