"""Links, scales and Gaussian means against mpmath and closed forms."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from dpbounds import DomainError
from dpbounds.glm import LINKS, scale
from dpbounds.glm.gaussian import slope_means

MEANS = {
    "logistic": lambda z: 1 / (1 + mpmath.exp(-z)),
    "boosting": lambda z: mpmath.mpf("0.5") + z / (4 * mpmath.sqrt(1 + z * z / 4)),
    "poisson": mpmath.exp,
    "sigmoid": lambda z: 1 / (1 + mpmath.exp(-z)),
    "cubic": lambda z: z**3 / 3,
    "softplus": lambda z: mpmath.log1p(mpmath.exp(-z)),
}


@pytest.mark.parametrize("name", LINKS)
def test_derivatives_are_those_of_the_mean(name):
    link = LINKS[name]
    for z in (-2.3, 0.0, 0.7, 3.1):
        with mpmath.workdps(40):
            for order, shown in enumerate((link.mean(z), link.slope(z), link.curvature(z), link.third(z))):
                assert float(shown) == pytest.approx(float(mpmath.diff(MEANS[name], z, order)), rel=1e-11, abs=1e-13)


@pytest.mark.parametrize("name", LINKS)
@pytest.mark.parametrize("q", (1e-4, 1.3, 40.0))
def test_constants_are_those_of_quadrature_and_enclosed(name, q):
    """1 / E mu'(z) = t / E[W mu(t W)], by quadrature of 30 digits."""
    with mpmath.workdps(30):
        t = mpmath.sqrt(mpmath.mpf(q))
        pieces = [-25, -12, -6, -2, 0, 2, 6, 12, 25]
        left = mpmath.quad(lambda w: w * MEANS[name](t * w) * mpmath.npdf(w), pieces)
        expected = float(t / left)
    assert float(scale.constant(name, q)) == pytest.approx(expected, rel=1e-12)
    enclosed = scale.constant(name, q, certified=True).enclosure
    assert enclosed is not None and enclosed[1] - enclosed[0] <= 1e-12 * abs(expected)
    assert enclosed[0] - 1e-13 * abs(expected) <= expected <= enclosed[1] + 1e-13 * abs(expected)


def test_closed_forms():
    for q in (0.3, 5.0):
        assert float(scale.constant("poisson", q)) == pytest.approx(math.exp(-q / 2), rel=1e-14)
        assert float(scale.constant("cubic", q)) == pytest.approx(1 / q, rel=1e-13)
        assert float(scale.constant("softplus", q)) == pytest.approx(-2.0, rel=1e-13)
        assert slope_means(LINKS["cubic"], q)[1] == pytest.approx(2.0, rel=1e-13)


@pytest.mark.parametrize("name", LINKS)
def test_inverse_and_root_undo_stein(name):
    covariance = np.array([[2.0, 0.3], [0.3, 0.5]])
    w = np.array([0.8, -0.4])
    q = float(w @ covariance @ w)
    c = float(scale.constant(name, q))
    assert abs(scale.inverse(name, abs(scale.stein(name, math.sqrt(q))))) == pytest.approx(math.sqrt(q), rel=1e-10)
    assert float(scale.root(name, w / c, covariance)) == pytest.approx(c, rel=1e-10)


def test_no_root_beyond_the_supremum():
    for name in ("logistic", "boosting", "sigmoid"):
        edge = 1 / math.sqrt(2 * math.pi)
        assert scale.supremum(name) == pytest.approx(edge, rel=1e-14)
        with pytest.raises(DomainError, match="no root"):
            scale.inverse(name, edge)
        assert scale.inverse(name, 0.999 * edge) > 0
    assert math.isinf(scale.supremum("poisson"))


@pytest.mark.parametrize(
    "call",
    (
        lambda: scale.constant("probit", 1.0),
        lambda: scale.constant("logistic", 0.0),
        lambda: scale.constant("logistic", math.nan),
        lambda: scale.constant("logistic", 1e7),
        lambda: scale.inverse("logistic", -0.1),
        lambda: scale.root("logistic", np.array([0.1, 0.1, 0.2, 0.3]), np.eye(4) - 2),
        lambda: scale.root("logistic", np.array([0.1, 0.1]), np.array([[1.0, 2.0], [2.0, 4.0]])),
        lambda: scale.root("logistic", np.array([0.1, 0.1]), np.array([[1.0, 0.5], [0.1, 1.0]])),
        lambda: scale.root("logistic", np.array([9.0, 0.1]), np.eye(2)),
    ),
)
def test_refused(call):
    with pytest.raises(DomainError):
        call()
