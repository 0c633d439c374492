"""The picture of losses over the learning rate."""

from __future__ import annotations

import numpy as np

from dpbounds.ftrl.design import Objective, best, run_curves
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
