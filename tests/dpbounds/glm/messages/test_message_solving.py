"""The root, its existence, and what cannot be solved."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, stats

from dpbounds import DomainError
from dpbounds.glm import messages


def equation(public, w, link, matrix, radius):
    h = public @ matrix.T
    h /= np.maximum(np.linalg.norm(h, axis=1), radius)[:, None]
    return h.T @ messages.scored(link).mean(public @ w) / len(public)


@pytest.mark.parametrize("link", ["logistic", "boosting", "sigmoid", "poisson"])
@pytest.mark.parametrize("size", [50, 30_000])
def test_the_root_is_found(link, size):
    rng = np.random.default_rng(2)
    public, matrix, w = (
        rng.standard_normal((size, 3)),
        rng.standard_normal((3, 3)) + 2 * np.eye(3),
        np.array([2, -1, 1]),
    )
    for radius in (0.0, 1.5):
        mean = equation(public, w, link, matrix, radius)
        found = messages.solve(mean, public, link, matrix=matrix, radius=radius)
        assert found.exists and found.w == pytest.approx(w, rel=1e-6)
        assert found.residual <= 1e-9 and found.margin > 0


def test_existence_is_that_of_the_zonotope():
    """For every v by linear programming: b = sum s_j x_j c_j with |c_j| <= 1 is inside."""
    rng = np.random.default_rng(3)
    public = rng.standard_normal((40, 2))
    units = public / np.linalg.norm(public, axis=1)[:, None]
    seen = set()
    for size in np.linspace(0.4, 0.8, 25):
        angle = rng.uniform(0, 2 * np.pi)
        mean = size * np.array([np.cos(angle), np.sin(angle)])
        inside = optimize.linprog(np.zeros(40), A_eq=units.T / 40, b_eq=mean, bounds=(-1, 1)).status == 0
        found = messages.solve(mean, public, "boosting")
        assert found.exists is inside
        seen.add(inside)
        if not inside:
            assert np.isnan(found.w).all() and found.witness is not None
            assert mean @ found.witness >= np.mean(np.abs(units @ found.witness))
    assert seen == {True, False}


def test_weights_are_records_counted_often():
    public, mean = np.array([[1.0, 0.3], [-0.2, 1.0], [0.5, -1.0]]), np.array([0.1, -0.05])
    often = np.repeat(public, [2, 1, 3], axis=0)
    one = messages.solve(mean, public, "logistic", weights=[2, 1, 3])
    assert one.w == pytest.approx(messages.solve(mean, often, "logistic").w, rel=1e-7)


def test_records_of_length_zero_say_nothing():
    public = np.array([[0.0, 0.0], [1.0, 0.3], [-0.2, 1.0]])
    assert messages.solve([0.05, 0.02], public, "logistic").exists


def test_what_cannot_be_solved_is_refused():
    public = np.random.default_rng(4).standard_normal((20, 2))
    for arguments, name in (
        (([0.1, np.nan], public), "mean_message"),
        (([0.1, 0.1, 0.1], public), "public"),
        (([0.1, 0.1], public[:1]), "public"),
        (([0.1, 0.1], np.full((5, 2), np.nan)), "public"),
    ):
        with pytest.raises(DomainError, match=name):
            messages.solve(*arguments, "logistic")
    with pytest.raises(DomainError, match="matrix"):
        messages.solve([0.1, 0.1], public, "logistic", matrix=np.ones((2, 2)))
    with pytest.raises(DomainError, match="weights"):
        messages.solve([0.1, 0.1], public, "logistic", weights=-np.ones(20))


def test_a_wrong_link_keeps_the_direction_where_x_is_whitened():
    """Labels of a probit link of 2 <x, w>, fitted as logistic: by reflections that fix w a multiple of w for A =
    Sigma^-1/2, nearly so for A = I, and of another length.
    """
    spectrum, w = np.array([1.0, 0.3, 0.05]), np.array([1.0, -1.0, 2.0])
    half = stats.norm.ppf(stats.qmc.Sobol(3, scramble=False).random_base2(15) + 2.0**-16)
    x = np.concatenate([half, -half]) * np.sqrt(spectrum)
    score = 2 * stats.norm.cdf(2 * x @ w) - 1
    for matrix, expected, error in ((np.diag(spectrum**-0.5), w, 2e-3), (np.eye(3), (1.0, -0.999, 1.993), 1.5e-3)):
        turned = x @ matrix
        sent = turned / np.linalg.norm(turned, axis=1)[:, None] * score[:, None]
        found = messages.solve(sent.mean(axis=0), x, "logistic", matrix=matrix).w
        assert found / found[0] == pytest.approx(np.array(expected), abs=error)
        assert found[0] > 2.0  # of w, 1: the length is that of the wrong link
