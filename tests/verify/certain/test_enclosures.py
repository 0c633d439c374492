"""What stands for theory that floats cut off holds what the floats approximate, by other ways."""

from __future__ import annotations

import math

import pytest
from flint import ctx

from dpbounds.glm import gaussian
from dpbounds.glm.links import LINKS
from dpbounds.ols import sketch
from dpbounds.privacy import covariance, curves
from verify.certain import numbers
from verify.certain.enclosures import ENCLOSURES
from verify.certain.numbers import Ball


@pytest.fixture(autouse=True)
def _precision():
    with ctx.workprec(numbers.PRECISION):
        yield


def near(ball: Ball, value: float, relative: float = 1e-9) -> bool:
    """Whether a narrow ball is where the floats are."""
    return ball.value.rad() < 1e-20 * abs(ball.value) and math.isclose(ball.middle, value, rel_tol=relative)


@pytest.mark.parametrize("link", ["logistic", "boosting", "poisson", "cubic"])
@pytest.mark.parametrize("q", [0.04, 1.0, 4.0])
def test_means_of_slopes(link, q):
    enclosed = ENCLOSURES["dpbounds.glm.gaussian"]["slope_means"](LINKS[link], q)
    for ball, value in zip(enclosed, gaussian.slope_means(LINKS[link], q), strict=True):
        assert math.isclose(ball.middle, value, rel_tol=1e-9, abs_tol=1e-9) and ball.value.rad() < 1e-20


@pytest.mark.parametrize("w", [-0.9, -1e-3, 0.02, 0.39, 3.0])
def test_the_excess(w):
    assert near(ENCLOSURES["dpbounds.privacy.covariance"]["excess"](Ball(w)), covariance.excess(w))


@pytest.mark.parametrize("record_first", [True, False])
@pytest.mark.parametrize(("epsilon", "rows", "leverage"), [(0.5, 100, 0.02), (2.0, 5, 0.3), (0.1, 1000, 0.01)])
def test_rows_alone_by_incomplete_gamma_functions(record_first, epsilon, rows, leverage):
    slope = leverage / (1 - leverage) if record_first else -leverage
    ball = ENCLOSURES["dpbounds.privacy.covariance"]["_alone"](epsilon, rows, Ball(slope))
    expected = covariance.one_way_log_delta(epsilon, rows, leverage, record_first=record_first)
    assert ball == -math.inf if expected == -math.inf else near(ball, expected)


def test_no_row_beyond_the_kink_costs_anything():
    assert ENCLOSURES["dpbounds.privacy.covariance"]["_alone"](50.0, 3, Ball(-0.1)) == -math.inf
    assert covariance.one_way_log_delta(50.0, 3, 0.1, record_first=False) == -math.inf


@pytest.mark.parametrize(("mu", "epsilon"), [(0.3, 1.0), (1.0, 0.01), (4.0, 12.0)])
def test_the_gaussian_curve_and_its_inverses(mu, epsilon):
    enclosed = ENCLOSURES["dpbounds.privacy.curves"]
    log_delta = float(curves.float_log_delta(mu, epsilon))
    delta = math.exp(log_delta)
    assert near(enclosed["float_log_delta"](mu, epsilon), log_delta)
    assert near(enclosed["float_epsilon"](mu, delta), epsilon, 1e-8)
    assert near(enclosed["float_mu"](epsilon, delta), mu, 1e-8)


def test_the_least_noise_of_a_budget():
    found = ENCLOSURES["dpbounds.ols.sketch"]["least"](lambda x: 7 / x - 1, Ball(2))
    assert near(found, 7.0) and sketch.least(lambda x: 7 / x - 1, 2.0) == pytest.approx(7.0)
    assert ENCLOSURES["dpbounds.ols.sketch"]["least"](lambda x: 7 / x - 1, Ball(9)) == 9


def test_what_is_named_as_cut_off_is_still_there():
    for module, names in ENCLOSURES.items():
        for name in names:
            assert hasattr(__import__(module, fromlist=["_"]), name), f"{module}.{name}"
