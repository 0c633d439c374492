"""Leading-order errors in one dimension against derivatives by hand, and what they refuse."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpbounds import DomainError
from dpbounds.glm import LINKS, asymptotics


def by_hand(estimator: str, *, v: float, w: float, n: int, m: int, gram: float, cross: float) -> float:
    """Poisson, p = 1, x ~ N(0, v): w_hat = c(a) b / a with E e^{z}-moments in closed form, q = v w^2.

    With a = mean x^2, b = mean x y: c solves c e^{(c w_o)^2 v / 2} = 1 where the public sample is large.
    """
    q = v * w * w
    kappa = math.exp(q / 2)

    # Moments of x with the weight e^{k z}: normal of mean k v w, variance v, times e^{k^2 q / 2}.
    def moment(power: int, k: int) -> float:
        nodes, weights = np.polynomial.hermite_e.hermegauss(40)
        x = k * v * w + math.sqrt(v) * nodes
        return float(weights / weights.sum() @ x**power) * math.exp(k * k * q / 2)

    a, b = v, moment(1, 1)
    var_a = 2 * v * v
    var_b = moment(2, 1) + moment(2, 2) - b * b  # E y^2 = mu + mu^2
    cov = moment(3, 1) - a * b
    o = b / a
    # d(c w_o) / d w_o with c e^{c^2 o^2 v / 2} = 1: log c = -c^2 o^2 v / 2.
    c = 1 / kappa
    slope = c - (c**3 * o * v) / (1 + c * c * o * o * v) * o
    if estimator == "no-public-data":
        step = 1e-5

        def value(a: float, b: float) -> float:
            s = b * b / a
            t = s  # Newton for t e^{t} = s, t = (c s)^2
            for _ in range(60):
                t -= (t * math.exp(t) - s) / (math.exp(t) * (1 + t))
            return math.sqrt(t / s) * b / a

        da = (value(a + step, b) - value(a - step, b)) / (2 * step)
        db = (value(a, b + step) - value(a, b - step)) / (2 * step)
    else:
        da, db = -slope * b / a**2, slope / a
    return (da * da * (var_a + gram**2) + db * db * (var_b + cross**2) + 2 * da * db * cov) / n


@pytest.mark.parametrize("estimator", ("paper", "no-public-data"))
def test_one_dimension_by_hand(estimator):
    setting = {"n": 1000, "m": 10**12, "gram": 0.7, "cross": 0.9}
    for v, w in ((1.3, 0.5), (0.4, -0.8)):
        shown = asymptotics.error(
            "poisson",
            np.array([w]),
            np.array([[v]]),
            n=1000,
            m=10**12,
            gram_scale=0.7,
            cross_scale=0.9,
            estimator=estimator,
        )
        assert shown.total == pytest.approx(by_hand(estimator, v=v, w=w, **setting), rel=1e-6)


def test_public_scale_by_hand():
    """||w||^2 Var mu' / (D^2 m): Poisson has Var e^z = e^{2 q} - e^q and D = (1 + q) e^{q / 2}."""
    shown = asymptotics.error("poisson", np.array([0.5, 0.2]), np.diag([1.0, 2.0]), n=10, m=100)
    q = 0.25 + 0.08
    expected = 0.29 * (math.exp(2 * q) - math.exp(q)) / ((1 + q) ** 2 * math.exp(q)) / 100
    assert shown.public_scale == pytest.approx(expected, rel=1e-11)


def test_noise_for_isotropic_inputs():
    """beyond the paper: noise of x x^T and of x y for Sigma = v I and equal weights, in closed form."""
    p, v, norm = 4, 1.7, 0.9
    w = np.full(p, norm / 2)
    shown = asymptotics.error("logistic", w, v * np.eye(p), n=50, m=10, gram_scale=0.3, cross_scale=0.6)
    z, weights = np.polynomial.hermite_e.hermegauss(120)
    q = v * norm**2
    slope, third = LINKS["logistic"].slope(math.sqrt(q) * z), LINKS["logistic"].third(math.sqrt(q) * z)
    kappa2, kappa4 = (float(weights / weights.sum() @ values) for values in (slope, third))
    ratio = (kappa2 / (kappa2 + q * kappa4)) ** 2
    cross = 0.36 / kappa2**2 * (p - 1 + ratio) / (50 * v**2)
    gram = 0.09 * norm**2 * ((1 - 1 / p) * (p - 1) + (2 - 1 / p) * ratio) / (50 * v**2)
    assert shown.cross_noise == pytest.approx(cross, rel=1e-9)
    assert shown.gram_noise == pytest.approx(gram, rel=1e-9)


def test_scaling_the_inputs_scales_the_estimate():
    """x -> a x with noise in its units gives w / a."""
    options = {"n": 300, "m": 200, "estimator": "pooled"}
    one = asymptotics.error("logistic", np.array([0.4, 0.7]), np.eye(2), gram_scale=0.4, cross_scale=0.5, **options)  # type: ignore[arg-type]
    two = asymptotics.error(
        "logistic",
        np.array([0.2, 0.35]),
        4 * np.eye(2),
        gram_scale=1.6,
        cross_scale=1.0,
        **options,  # type: ignore[arg-type]
    )
    assert two.total * 4 == pytest.approx(one.total, rel=1e-12)


@pytest.mark.parametrize(
    ("change", "words"),
    (
        ({"m": 0}, "m = 0"),
        ({"n": 0}, "n = 0"),
        ({"estimator": "best"}, "estimator"),
        ({"gram_scale": -1.0}, "gram_scale"),
        ({"noise_variance": math.nan}, "noise_variance"),
        ({"w": np.zeros(2)}, "w"),
        ({"covariance": np.ones((2, 2))}, "covariance"),
        ({"link": "probit"}, "link"),
    ),
)
def test_refused(change, words):
    given = {"link": "logistic", "w": np.array([0.4, 0.7]), "covariance": np.eye(2), "n": 10, "m": 10} | change
    with pytest.raises(DomainError, match=words):
        asymptotics.error(given.pop("link"), given.pop("w"), given.pop("covariance"), **given)
