"""The transition density against quadratics, against its own refinement, and against long runs by hand."""

import numpy as np
import pytest

from simulators.ftrl.piecewise import PiecewiseQuadratic, kinked_quadratic
from verify.papers.ftrl.tools.stationary_densities import descent_error


@pytest.mark.parametrize(
    ("h", "eta", "deviation"), [(0.3, 0.5, 2.0), (1.0, 1.9, 0.1), (1.0, 1.0, 1.0), (0.05, 0.1, 3.0)]
)
def test_quadratics_in_closed_form(h, eta, deviation):
    loss = PiecewiseQuadratic(curvature=h, directions=((1.0,),), offsets=(0.5,), weights=(0.0,))
    wanted = deviation**2 * eta / (2 * (2 - eta * h))
    assert descent_error(loss, eta, deviation) == pytest.approx(wanted, rel=1e-10)


@pytest.mark.parametrize("offset", [0.0, 0.37, 50.0])
def test_kinks_converge_geometrically(offset):
    loss = PiecewiseQuadratic(curvature=1.0, directions=((2.0,), (-1.0,)), offsets=(offset, 0.1), weights=(-0.2, -0.5))
    fine = descent_error(loss, 0.7, 1.0, nodes=24)
    assert descent_error(loss, 0.7, 1.0) == pytest.approx(fine, rel=1e-10)
    assert abs(descent_error(loss, 0.7, 1.0, nodes=4) / fine - 1) > 1e-8  # the panels are no finer than they need be


def test_long_runs():
    loss, rng, eta = kinked_quadratic(0.1, 1.0), np.random.default_rng(5), 0.8
    theta, total, steps = np.zeros((20000, 1)), np.zeros(20000), 400
    for step in range(2 * steps):
        if step >= steps:
            total += loss.suboptimality(theta)
        theta = theta - eta * (loss.gradient(theta) + rng.standard_normal(theta.shape))
    means = total / steps
    error = means.std(ddof=1) / np.sqrt(len(means))
    assert abs(means.mean() - descent_error(loss, eta, 1.0)) < 7.5 * error < 0.02 * means.mean()
