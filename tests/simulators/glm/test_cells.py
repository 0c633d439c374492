"""Many records in law: where that begins, what it refuses, and how it is the law of records."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from dpbounds import AccuracyError, DomainError
from dpbounds.glm import LINKS
from simulators.engine import Experiment
from simulators.glm import GaussianInLaw, GaussianModel, MessageSettings, Settings, estimate, estimate_from_messages
from simulators.glm.cells import LEAST, _cells

W, SIGMA = np.array([0.5, -1.0, 1.0]), np.array([[1, 0.3, 0], [0.3, 0.5, 0.1], [0, 0.1, 0.2]])


def runs(kind, settings, *, link="logistic", w=W, n=LEAST, m=LEAST, trials=20, seed=0):
    model = kind(link=LINKS[link], w=w, covariance=SIGMA, n=n, m=m, noise=0.2 if link == "softplus" else 0.0)
    algorithm = estimate_from_messages if isinstance(settings, MessageSettings) else estimate
    one = Experiment(algorithm=algorithm, problem=model, settings=settings, block_trials=trials)
    return one.run_block(0, seed=seed)


def test_cells_are_a_standard_normal():
    shares, means, squares = _cells()
    assert shares.sum() == pytest.approx(1.0, abs=1e-15)
    assert shares @ means == pytest.approx(0.0, abs=1e-15)
    assert shares @ squares == pytest.approx(1.0, abs=1e-13)
    assert shares @ (squares - means**2) == pytest.approx((17 / 4096) ** 2 / 12, rel=0.02)
    assert np.all(np.diff(means) > 0)


def test_few_records_are_drawn():
    """Below the bounds sums and public means are those of `GaussianModel`, number by number."""
    few, generators = {"n": LEAST - 1, "m": 2900}, [np.random.default_rng(3) for _ in range(2)]
    models = [kind(link=LINKS["poisson"], w=W, covariance=SIGMA, **few) for kind in (GaussianInLaw, GaussianModel)]
    first, second = (model.sums(generator) for model, generator in zip(models, generators, strict=True))
    assert np.array_equal(first.gram, second.gram)
    assert np.array_equal(first.cross, second.cross)
    assert not models[0].public_in_law
    assert dataclasses.replace(models[0], m=4000).public_in_law


@pytest.mark.parametrize("settings", [Settings(), MessageSettings(noise="cap", epsilon=2.0)])
def test_same_seed_same_numbers(settings):
    one, two = (runs(GaussianInLaw, settings, n=10**6, m=10**6)["w"] for _ in range(2))
    assert np.array_equal(one, two)


@pytest.mark.parametrize("link", ["logistic", "boosting", "poisson", "softplus", "cubic"])
def test_least_squares_has_the_error_of_records(link):
    """400 and 400 runs without noise: the medians' ratio has a standard error of a tenth."""
    w = 0.6 * W
    one, two = (
        float(np.median(runs(kind, Settings(estimator="pooled"), link=link, w=w, trials=400)["relative_l2"]))
        for kind in (GaussianInLaw, GaussianModel)
    )
    assert 0.6 < one / two < 1.6


def test_many_records_and_far_means():
    model = GaussianInLaw(link=LINKS["poisson"], w=30 * W, covariance=SIGMA, n=10**6, m=10**6)
    with pytest.raises(AccuracyError, match="smaller w"):
        model.sums(np.random.default_rng(0))
    model = GaussianInLaw(link=LINKS["logistic"], w=30 * W, covariance=SIGMA, n=10**12, m=10**12)
    assert model.sums(np.random.default_rng(0)).records == 10**12
    with pytest.raises(DomainError):
        GaussianInLaw(link=LINKS["logistic"], w=W, covariance=SIGMA, n=10**13, m=10)


def test_messages_without_a_root_and_shortened_ones():
    none = runs(GaussianInLaw, MessageSettings(noise="cap", epsilon=0.5), n=30, m=10**6)
    assert not none["has_root"].all()
    assert np.all(np.isnan(none["w"][~none["has_root"]]))
    radius = MessageSettings(noise="cap", epsilon=5.0, radius=1.0, rule="prediction")  # public records are drawn
    one, two = (runs(kind, radius, n=10**6, m=5000, trials=5)["relative_l2"] for kind in (GaussianInLaw, GaussianModel))
    assert 0.1 < np.mean(one) / np.mean(two) < 10
