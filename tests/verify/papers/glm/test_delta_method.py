"""The numerical delta method on an estimator that is linear: least squares of a linear model."""

from __future__ import annotations

import numpy as np
import pytest

from dpbounds.glm import LINKS
from verify.papers.glm.tools.delta_method import Expansion


def test_moments_and_sampling_error_of_public_records():
    """mean x^2 of N(0, v) has variance 2 v^2, x_1 x_2 has v_1 v_2 + v_12^2; without noise labels have none."""
    covariance = np.array([[1.2, 0.3], [0.3, 0.8]])
    found = Expansion(link=LINKS["cubic"], w=np.array([0.6, -0.4]), covariance=covariance)
    average, spread = found.moments
    assert average[:3] == pytest.approx([1.2, 0.3, 0.8])
    assert np.diag(spread)[:3] == pytest.approx([2 * 1.44, 1.2 * 0.8 + 0.09, 2 * 0.64])
    noisy = Expansion(link=LINKS["cubic"], w=np.array([0.6, -0.4]), covariance=covariance, noise_variance=0.25)
    assert noisy.moments[1][3:5, 3:5] - spread[3:5, 3:5] == pytest.approx(0.25 * covariance)


def test_the_estimate_at_the_averages_is_the_truth():
    """w, and t = |w| for Cov x = I."""
    w = np.array([0.6, -0.4])
    found = Expansion(link=LINKS["logistic"], w=w, covariance=np.eye(2))
    average, _ = found.moments
    for weight, own in ((1.0, False), (0.3, False), (1.0, True)):
        estimate = found.estimate(average, average, weight=weight, own_scale=own)
        assert estimate == pytest.approx([*w, np.linalg.norm(w)], rel=1e-9)
