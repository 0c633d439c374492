"""Problems from numbers, arrays and data frames: each way says the same, and two ways at once are refused."""

from __future__ import annotations

import numpy as np
import pytest

from dpbounds import DomainError
from dpbounds.glm import LINKS, Problem, build_problem


def problem(**changes) -> Problem:
    settings = {
        "link": LINKS["logistic"],
        "w": np.full(4, 0.5),
        "covariance": np.eye(4),
        "n": 50_000,
        "m": 50_000,
        "epsilon": 10.0,
        "delta": 1e-6,
    }
    return Problem(**{**settings, **changes})


class Frame:
    """As much of a data frame as numpy asks for."""

    def __init__(self, rows):
        self.rows = rows

    def __array__(self, dtype=None, copy=None):
        return np.array(self.rows, dtype=dtype)


def test_defaults():
    made = build_problem("logistic", n=1000, epsilon=2.0, p=4)
    assert (made.m, made.delta, made.failure, made.noise) == (1000, pytest.approx(1000**-1.1), 0.1, 0.0)
    assert made.covariance == pytest.approx(np.eye(4)) and made.w == pytest.approx(np.full(4, 0.5))
    assert made.chosen_bounds == () and made.w_norm == pytest.approx(1.0)


def test_each_source_of_the_covariance():
    rows = np.random.default_rng(0).standard_normal((50, 3))
    spectrum = (1.0, 0.5, 0.25)
    sources = {
        "covariance": {"covariance": np.diag(spectrum).tolist()},
        "spectrum": {"spectrum": spectrum},
        "public": {"public": Frame(rows)},
        "variance": {"variance": 0.3, "p": 3},
    }
    made = {name: build_problem("cubic", n=100, epsilon=1.0, **source) for name, source in sources.items()}
    assert made["covariance"].covariance == pytest.approx(made["spectrum"].covariance)
    assert made["public"].covariance == pytest.approx(rows.T @ rows / 50) and made["public"].m == 50
    assert made["variance"].covariance == pytest.approx(0.3 * np.eye(3))


def test_the_size_of_the_weights():
    covariance = np.array([[1.0, 0.3], [0.3, 0.5]])
    by_size = build_problem("logistic", n=100, epsilon=1.0, covariance=covariance, ols_size=0.2)
    assert by_size.size == pytest.approx(0.2, rel=1e-12) and by_size.w[0] == by_size.w[1]
    given = build_problem("logistic", n=100, epsilon=1.0, covariance=covariance, w=[0.6, -0.8])
    assert given.w.tolist() == [0.6, -0.8] and given.q == pytest.approx(0.36 - 0.96 * 0.3 + 0.64 * 0.5)


def test_long_public_records_are_refused_or_clipped():
    rows = np.diag([3.0, 1.0, 1.0]).repeat(4, axis=0)
    with pytest.raises(DomainError, match="at least 3, what the public records reach"):
        build_problem("logistic", n=100, epsilon=1.0, public=rows, radius=2.0)
    made = build_problem("logistic", n=100, epsilon=1.0, public=rows, radius=2.0, beyond="clip")
    assert made.bounds[0] == 2.0 and made.chosen_bounds == ("radius",)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"covariance": np.eye(2)}, "left out with public"),
        ({"spectrum": [1.0, 2.0]}, "left out with public"),
        ({"variance": 1.0}, "left out with public"),
        ({"p": 3}, "2 or left out"),
        ({"m": 4}, "5 or left out"),
        ({"public": None}, "p = None"),
        ({"public": np.ones((5, 2))}, "regular"),
        ({"public": np.ones((1, 2))}, "m = 1"),
        ({"public": np.ones(5)}, "public"),
        ({"public": [["a", "b"]]}, "public"),
        ({"w": [1.0, 1.0], "w_norm": 1.0}, "left out with w"),
        ({"w_norm": 1.0, "ols_size": 0.1}, "left out with w_norm"),
        ({"ols_size": 0.4}, "ols_size = 0.4"),
        ({"label_bound": 0.5}, "label_bound = 0.5"),
        ({"beyond": "keep"}, "beyond"),
        ({"link": "probit"}, "link"),
        ({"epsilon": 0.0}, "epsilon = 0.0"),
    ],
)
def test_refused_settings(changes, words):
    settings = {"link": "logistic", "n": 100, "epsilon": 1.0, "public": np.random.default_rng(1).normal(size=(5, 2))}
    with pytest.raises(DomainError, match=words):
        build_problem(**{**settings, **changes})


@pytest.mark.parametrize(
    ("changes", "words"),
    (
        ({"n": 4}, "more records than coordinates"),
        ({"m": 3}, "at least p = 4"),
        ({"m": -1}, "m = -1"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"delta": 1.0}, "delta"),
        ({"failure": 0.0}, "failure"),
        ({"noise": 0.1}, "noise"),
        ({"radius": 0.0}, "radius"),
        ({"covariance": np.ones((4, 4))}, "covariance"),
        ({"covariance": np.eye(3)}, "covariance"),
        ({"w": np.zeros(4)}, "w"),
        ({"w": "text"}, "w"),
        ({"link": "probit"}, "link"),
    ),
)
def test_refused_problems(changes, words):
    with pytest.raises(DomainError, match=words):
        problem(**changes)
