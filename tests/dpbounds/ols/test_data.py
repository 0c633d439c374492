"""Data sets, assumed designs and Gram matrices: what they refuse, and arrays, lists and frames alike."""

from __future__ import annotations

import numpy as np
import pytest

from dpbounds import DomainError
from dpbounds.ols import AssumedDesign, Gram, bounded_data, compare, measured_clips


def records(n: int = 60, d: int = 3):
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, d))
    return X, X @ np.ones(d) + 0.1 * rng.standard_normal(n)


def test_lists_are_arrays():
    X, Y = records()
    one, other = bounded_data(X, Y), bounded_data(X.tolist(), Y.tolist())
    np.testing.assert_array_equal(one.regressors, other.regressors)
    assert compare(one, 1.0).table() == compare(other, 1.0).table()


def test_measured_clips_are_within_their_ranges():
    data = bounded_data(*records())
    found = measured_clips(data.regressors, data.outcome, data.theta_star, 0.5)
    assert found == data.newton_clips(0.5)
    assert 0 < found.hessian <= 1 and len(found.gradients) == 10 and 0 < found.unclipped <= 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"row_bound": 0.5}, "row_bound = 0.5.*what the data reach"),
        ({"outcome_bound": 0.0}, "outcome_bound"),
        ({"beyond": "drop"}, "beyond"),
    ],
)
def test_bounds_that_do_not_fit_are_refused(options, words):
    with pytest.raises(DomainError, match=words):
        bounded_data(*records(), **options)


@pytest.mark.parametrize("wrong", [np.ones(3), np.full((60, 3), np.nan), np.ones((59, 3)), np.ones((60, 2001))])
def test_regressors_of_another_shape_are_refused(wrong):
    with pytest.raises(DomainError):
        bounded_data(wrong, records()[1])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n": 2}, "n = 2"),
        ({"n": 3000, "d": 2001}, "at most 2000"),
        ({"lambda_min": 900.0}, "n/\\(4d\\)"),
        ({"spectrum": (1.0, 2.0)}, "d = 3 positive"),
        ({"spectrum": (1.0, 2.0, 3000.0)}, "at most n"),
        ({"spectrum": (1.0, 2.0, 3.0), "lambda_min": 1.0}, "lambda_min"),
        ({"residual": 1.0}, "at most 1"),
    ],
)
def test_designs_out_of_range_are_refused(options, words):
    with pytest.raises(DomainError, match=words):
        AssumedDesign(**{"n": 2000, "d": 3} | options)


@pytest.mark.parametrize("wrong", [{"n": 1}, {"y_squared": 0.1}, {"A": -np.eye(2)}, {"A": np.diag([1.0, 0.0])}])
def test_what_is_no_gram_matrix_is_refused(wrong):
    with pytest.raises(DomainError):
        Gram(**{"A": np.eye(2), "b": np.ones(2), "y_squared": 3.0, "n": 10} | wrong)
