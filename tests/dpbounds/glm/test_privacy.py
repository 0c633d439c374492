"""Exact privacy of a message against a search over pairs of records, and its calibration against the normal law."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm

from dpbounds import DomainError
from dpbounds.glm import privacy


def shift(v: np.ndarray, a1: float, a2: float, p: int) -> float:
    """Squared distance of two messages in units of their noise, records projected to the unit ball."""
    x, z = (part / max(1.0, float(np.linalg.norm(part))) for part in (v[:p], v[p : 2 * p]))
    y, u = np.clip(v[2 * p :], -1.0, 1.0)
    upper = np.triu_indices(p)
    moved = (np.outer(x, x) - np.outer(z, z))[upper] / a1
    return float(moved @ moved) + float(np.sum((x * y - z * u) ** 2)) / a2**2


@pytest.mark.parametrize("p", (1, 2, 3))
@pytest.mark.parametrize(("a1", "a2"), ((1.0, 1.0), (0.6, 1.0), (3.0, 1.0)))
def test_mu_is_the_largest_shift(p, a1, a2):
    rng = np.random.default_rng(0)
    found = max(
        -float(minimize(lambda v: -shift(v, a1, a2, p), rng.standard_normal(2 * p + 2) * 1.5, method="Powell",
                        options={"xtol": 1e-6, "ftol": 1e-10}).fun)
        for _ in range(6)
    )  # fmt: skip
    assert float(privacy.release_mu(a1, a2, radius=1.0, p=p)) ** 2 == pytest.approx(found, rel=1e-4)


def test_anchors():
    """Largest epsilon of the printed noise and of Lemma 4, and the variance that the printed noise wastes."""
    for delta, joint, lemma in ((1e-2, 50.7, 6.77), (1e-5, 98.1, 8.42), (1e-6, 113.7, 8.78)):
        assert float(privacy.printed_range(delta)) == pytest.approx(joint, abs=0.05)
        assert float(privacy.classical_range(delta)) == pytest.approx(lemma, abs=0.005)
    for epsilon, delta, waste in ((0.5, 1e-5, 7.15), (2.0, 1e-6, 5.26), (20.0, 1e-6, 2.74)):
        printed = privacy.noise_scales(epsilon, delta, radius=2.0)
        tight = privacy.noise_scales(epsilon, delta, radius=2.0, calibration="tight")
        assert (printed.gram / tight.gram) ** 2 == pytest.approx(waste, abs=0.005)
    assert float(privacy.release_mu(1.0, 1.0, radius=1.0)) == pytest.approx(math.sqrt(4.5))
    assert float(privacy.release_mu(1.0, 1.0, radius=1.0, inputs="l1")) == pytest.approx(2.0)


def test_tight_noise_spends_delta():
    for gram, ratio in ((True, 0.5), (True, 4.0), (False, 1.0)):
        scales = privacy.noise_scales(
            3.0, 1e-6, radius=2.0, label_bound=5.0, calibration="tight", p=4, release_gram=gram, ratio=ratio
        )
        mu = float(privacy.release_mu(scales.gram, scales.cross, radius=2.0, label_bound=5.0, p=4))
        spent = norm.cdf(mu / 2 - 3 / mu) - math.exp(3) * norm.cdf(-mu / 2 - 3 / mu)
        assert spent == pytest.approx(1e-6, rel=1e-6)
        shown = privacy.exact_delta(3.0, scales.gram, scales.cross, radius=2.0, label_bound=5.0, p=4)
        assert float(shown) == pytest.approx(1e-6, rel=1e-6)


def test_records_of_any_size_are_told_apart():
    assert float(privacy.exact_delta(1.0, 50.0, 50.0, radius=1.0, accepts="any")) == 1.0


@pytest.mark.parametrize(
    "call",
    (
        lambda: privacy.noise_scales(0.0, 1e-5, radius=1.0),
        lambda: privacy.noise_scales(1.0, 0.0, radius=1.0),
        lambda: privacy.noise_scales(1.0, 1.0, radius=1.0),
        lambda: privacy.noise_scales(1.0, 1e-5, radius=-1.0),
        lambda: privacy.noise_scales(1.0, 1e-5, radius=1.0, calibration="loose"),
        lambda: privacy.release_mu(0.0, 1.0, radius=1.0),
        lambda: privacy.release_mu(1.0, 1.0, radius=1.0, inputs="linf"),
        lambda: privacy.exact_delta(1.0, 1.0, 1.0, radius=1.0, accepts="some"),
        lambda: privacy.printed_range(2.0),
        lambda: privacy.radius(1.0, 3, 100, 1.5),
    ),
)
def test_refused(call):
    with pytest.raises(DomainError):
        call()
