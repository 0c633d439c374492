"""Errors by term at reference values, any covariance against sampled moments, forecasts at their limits."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpbounds import DomainError
from dpbounds.glm import messages

# link, p, R, epsilon, n, m: sampling, noise, public, and the total with hemisphere noise, at delta = 1e-6.
REFERENCE = [
    ("logistic", 5, 0.0, 2.0, 10**6, 10**5, 3.4378e-5, 0.00360717, 5.2938e-5, 4.95522e-4),
    ("logistic", 5, 2.0, 2.0, 10**6, 10**5, 3.30997e-5, 0.00422702, 5.826e-5, 5.77159e-4),
    ("logistic", 10, 0.0, 4.0, 10**5, 10**4, 6.36991e-4, 0.0374078, 0.00105978, 0.0115964),
    ("boosting", 5, 0.0, 1.0, 10**6, 10**5, 3.943e-5, 0.014831, 5.49e-5, 0.0014363),
    ("poisson", 5, 0.0, 2.0, 10**6, 10**4, 1.38268e-5, 0.00250937, 8.49852e-4, 0.00115739),
    ("logistic", 1, 0.0, 0.5, 10**5, 10**3, 1.16461e-4, 0.0344593, 6.79584e-4, 0.00287538),
]


@pytest.mark.parametrize("row", REFERENCE, ids=lambda row: "-".join(map(str, row[:6])))
def test_reference_values(row):
    link, p, radius, epsilon, n, m, *expected = row
    w = np.full(p, 1 / math.sqrt(p))
    settings = {"n": n, "m": m, "epsilon": epsilon, "radius": radius}
    found = messages.error(link, w, np.eye(p), delta=1e-6, **settings)
    hemisphere = messages.error(link, w, np.eye(p), noise="hemisphere", **settings)
    assert [found.sampling, found.noise, found.public, hemisphere.total] == pytest.approx(expected, rel=1.5e-5)
    assert np.trace(found.covariance) == pytest.approx(found.total)


@pytest.mark.parametrize("link", ["logistic", "poisson"])
def test_any_covariance_against_sampled_records(link):
    """2e6 records: 6 standard errors, each about 7e-4 of the largest entry."""
    covariance, w = np.array([[1, 0.3, 0], [0.3, 0.5, 0.1], [0, 0.1, 0.2]]), np.array([0.5, -1.0, 1.0])
    law, labels = messages.message_law(link, w, covariance), messages.scored(link)
    x = np.random.default_rng(0).standard_normal((2_000_000, 3)) @ np.linalg.cholesky(covariance).T
    h = x @ messages.message_matrix(covariance).T
    h /= np.linalg.norm(h, axis=1)[:, None]
    mean, second, slope = labels.mean(x @ w), labels.second(x @ w), labels.slope(x @ w)
    first = h.T @ mean / len(x)
    assert law.first == pytest.approx(first, abs=3e-3)
    assert law.second == pytest.approx((h.T * second) @ h / len(x), abs=3e-3)
    assert law.public == pytest.approx((h.T * mean**2) @ h / len(x) - np.outer(first, first), abs=2e-3)
    assert law.directions == pytest.approx(h.T @ h / len(x), abs=2e-3)
    assert np.linalg.inv(law.back) == pytest.approx((h.T * slope) @ x / len(x), abs=2e-3)


def test_both_quadratures_agree_where_both_apply():
    covariance, w = np.diag([1.0, 0.3, 0.05]), np.array([0.5, -1.0, 2.0])
    white = messages.message_matrix(covariance, "prediction")
    settings = {"n": 1000, "m": math.inf, "epsilon": 2.0, "noise": "cap", "matrix": white}
    one, two = (messages.error("boosting", w, covariance, radius=radius, **settings) for radius in (0.0, 1e-9))
    assert one.total == pytest.approx(two.total, rel=1e-9) and one.public == 0.0


def test_arguments_that_do_not_fit():
    w = np.array([0.6, 0.8])
    with pytest.raises(DomainError, match="delta"):
        messages.error("logistic", w, np.eye(2), n=100, m=100, epsilon=1.0)
    with pytest.raises(DomainError, match="radius"):
        messages.error("logistic", w, np.diag([1.0, 0.1]), n=9, m=9, epsilon=1.0, noise="cap", radius=1.0)
    with pytest.raises(DomainError, match="w ="):
        messages.error("logistic", 0 * w, np.eye(2), n=100, m=100, epsilon=1.0, noise="cap")


def test_median_of_normal_vectors():
    rng = np.random.default_rng(1)
    for variances in ([1.0], [1.0, 0.2, 0.01], [1.0] * 10):
        squares = np.sum(rng.standard_normal((400_000, len(variances))) ** 2 * variances, axis=1)
        assert messages.gaussian_median(np.array(variances)) == pytest.approx(np.median(squares), rel=0.02)


def test_forecast_is_the_leading_order_for_many_records():
    w = np.array([0.6, 0.8])
    for n, limit in ((10**9, 1e-3), (10**5, 0.05)):
        found = messages.forecast("logistic", w, np.eye(2), n=n, m=n, epsilon=1.0, delta=1e-6)
        assert -2e-4 < found.excess < limit and found.no_root == 0.0
    few = messages.forecast("logistic", w, np.eye(2), n=300, m=300, epsilon=1.0, delta=1e-6)
    assert few.no_root > 0.3
