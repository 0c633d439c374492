"""Exact bias against the sum over all patterns."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dpbounds import DomainError
from dpbounds.glm import LINKS, TwoPointDesign, bias, least_squares, sign_design

DESIGNS = (sign_design(6), TwoPointDesign(p=6, high=2 / 12, low=-0.5 / 12, probability=0.2))
W = np.array([1.0, -0.7, 0.4, 0.4, 0.4, 0.2])


def patterns(design: TwoPointDesign) -> tuple[np.ndarray, np.ndarray]:
    """All 2^p records and their probabilities."""
    x = np.array(list(itertools.product([design.high, design.low], repeat=design.p)))
    return x, np.prod(np.where(x == design.high, design.probability, 1 - design.probability), axis=1)


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("name", LINKS)
def test_bias_is_that_of_enumeration(name, design):
    link = LINKS[name]
    x, mass = patterns(design)
    w_ols = np.linalg.solve((x.T * mass) @ x, x.T @ (mass * link.mean(x @ W)))
    found = bias(name, W, design)
    assert least_squares(name, W, design) == pytest.approx(w_ols, rel=1e-10)
    assert found.constant == pytest.approx(1 / float(mass @ link.slope(x @ W)), rel=1e-12)
    assert found.root * float(mass @ link.slope(found.root * x @ w_ols)) == pytest.approx(1.0, rel=1e-9)
    assert found.stein == pytest.approx(W / found.constant - w_ols, abs=1e-12)
    assert found.limit == pytest.approx(found.root * w_ols - W, rel=1e-9, abs=1e-12)


def test_closed_forms():
    p = 6
    poisson = bias("poisson", W, sign_design(p))
    assert poisson.constant * poisson.w_ols == pytest.approx(p * np.tanh(W / p), rel=1e-12)
    squared = float(W @ W)
    cubic = W * squared / p**2 * (1 - 2 * W**2 / (3 * squared))
    assert least_squares("cubic", W, sign_design(p)) == pytest.approx(cubic, rel=1e-11)
    assert bias("softplus", W, sign_design(p)).limit == pytest.approx(np.zeros(p), abs=1e-10)


def test_equal_weights_reach_large_dimensions():
    limit = bias("cubic", np.ones(500), sign_design(500)).limit
    assert limit == pytest.approx(np.full(500, (1 - 2 / 1500) ** (1 / 3) - 1), rel=1e-7)


def test_refused():
    with pytest.raises(DomainError, match="mean 0"):
        TwoPointDesign(p=3, high=1.0, low=-0.5)
    with pytest.raises(DomainError, match="one per coordinate"):
        bias("logistic", np.array([1.0, 2.0]), sign_design(3))
    with pytest.raises(DomainError, match="terms"):
        bias("logistic", np.linspace(0.1, 1.0, 30), sign_design(30))
    with pytest.raises(DomainError):
        sign_design(0)
