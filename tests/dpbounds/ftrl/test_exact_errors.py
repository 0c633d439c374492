"""What is said of a run: the same numbers as the laws it is made of, and what takes too long is refused at once."""

from __future__ import annotations

import numpy as np
import pytest

from dpbounds import AccuracyError, DomainError
from dpbounds.ftrl import exact_errors, mean_estimation
from dpbounds.ftrl.correlations import independent

MEAN = exact_errors.private_mean(0.2, 0.5, clip_norm=2.0, sigma_sgd=0.3)


def test_a_mean_is_regression_on_signs():
    best = mean_estimation.optimal_correlation(0.2)
    assert exact_errors.mean_error(best, MEAN).over_optimum == pytest.approx(1.0)
    long = exact_errors.error_after(independent(), MEAN, steps=400, initial=3.0)
    assert long.suboptimality == pytest.approx(float(exact_errors.mean_error(independent(), MEAN).suboptimality))
    assert long.gamma == 1.0


def test_a_start_at_a_distance_is_refused_where_it_is_none():
    with pytest.raises(DomainError, match="initial"):
        exact_errors.error_after(independent(), MEAN, steps=3, initial=-1.0)


def test_weights_that_would_take_too_long_are_refused():
    with pytest.raises(AccuracyError, match="error alone"):
        exact_errors.optimal_weights(np.array([1.0, 1e-9]), 0.1)
