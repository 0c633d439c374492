"""Messages: their mean, their length, and that runs in law are runs record by record."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from scipy import stats

from dpbounds import DomainError
from dpbounds.glm import LINKS, messages, sign_design
from simulators.engine import Experiment
from simulators.glm import GaussianModel, InterceptModel, MessageSettings, TwoPointModel, estimate_from_messages
from simulators.glm.messages import directions, mean_covariance, on_sphere

W, SIGMA = np.array([0.5, -1.0, 1.0]), np.array([[1, 0.3, 0], [0.3, 0.5, 0.1], [0, 0.1, 0.2]])
NOISES = [("gaussian", 1e-3), ("hemisphere", None), ("cap", None)]


def runs(model, settings, trials, seed=0):
    experiment = Experiment(algorithm=estimate_from_messages, problem=model, settings=settings, block_trials=trials)
    return experiment.run_block(0, seed=seed)


@pytest.mark.parametrize(("noise", "delta"), NOISES)
@pytest.mark.parametrize("link", ["logistic", "poisson"])
def test_mean_message_in_law_and_by_record(link, noise, delta):
    """300 means of 1000 messages: 5 standard errors of each entry of mean and covariance, a chance of 1e-5 in all.

    A covariance 1.5 times too large in one entry of the diagonal would be seen (6 standard errors).
    """
    model = GaussianModel(link=LINKS[link], w=W, covariance=SIGMA, n=1000, m=30)
    settings = MessageSettings(noise=noise, epsilon=2.0, delta=delta)
    law = messages.message_law(link, W, SIGMA)
    covariance = mean_covariance(law, settings) / 1000
    for by_record in (True, False):
        found = runs(model, dataclasses.replace(settings, by_record=by_record), 300)["message"]
        scale = np.sqrt(np.diag(covariance))
        assert np.all(np.abs(found.mean(axis=0) - law.first) < 5 * scale / math.sqrt(300))
        spread = np.cov(found.T) / np.outer(scale, scale)
        assert np.all(np.abs(spread - covariance / np.outer(scale, scale)) < 5 * math.sqrt(2 / 300))


@pytest.mark.parametrize("p", [1, 2, 4])
@pytest.mark.parametrize("kind", ["hemisphere", "cap"])
def test_points_of_the_sphere(p, kind):
    """Length, mean, and the coordinate along t by a Kolmogorov-Smirnov test (p > 1e-6)."""
    rng, size = np.random.default_rng(0), 40_000
    shape = messages.sphere(kind, p, 1.5)
    t = rng.standard_normal(p)
    t *= 0.6 / np.linalg.norm(t)
    sent = on_sphere(np.tile(t, (size, 1)), shape, rng)
    assert np.linalg.norm(sent, axis=1) == pytest.approx(np.full(size, shape.scale))
    assert np.all(np.abs(sent.mean(axis=0) - t) < 5 * shape.scale / math.sqrt(size))
    if p > 1:
        unit = np.tile(np.eye(p)[0], (size, 1))
        along = on_sphere(unit, shape, rng)[:, 0] / shape.scale
        share = stats.beta.sf(shape.gamma**2, 0.5, (p - 1) / 2) / 2
        inside = along >= shape.gamma
        assert abs(inside.mean() - shape.probability) < 5 * math.sqrt(0.25 / size)

        def below(u):
            return np.where(
                u < 0, stats.beta.sf(u**2, 0.5, (p - 1) / 2) / 2, 1 - stats.beta.sf(u**2, 0.5, (p - 1) / 2) / 2
            )

        uniform = np.where(inside, (1 - below(along)) / share, below(along) / (1 - share))
        assert stats.kstest(uniform[inside], "uniform").pvalue > 1e-6
        assert stats.kstest(uniform[~inside], "uniform").pvalue > 1e-6


def test_intercepts_and_other_records_are_estimated_by_record():
    """Two-point records and an intercept: the mean error is below .02, doing nothing has 1."""
    settings = MessageSettings(noise="cap", epsilon=6.0, by_record=True)
    inner = GaussianModel(link=LINKS["logistic"], w=np.array([0.8, -0.5]), covariance=np.diag([1.0, 0.5]), n=9, m=9)
    model = InterceptModel(link=inner.link, w=np.array([0.7, 0.8, -0.5]), n=100_000, m=20_000, inner=inner)
    assert runs(model, settings, 3)["relative_l2"].mean() < 0.02
    signs = TwoPointModel(link=LINKS["poisson"], w=np.ones(3), n=100_000, m=20_000, design=sign_design(3))
    assert runs(signs, settings, 3)["relative_l2"].mean() < 0.02
    with pytest.raises(DomainError, match="by_record"):
        runs(signs, dataclasses.replace(settings, by_record=False), 1)


def test_directions_have_length_one_and_no_nan():
    x = np.array([[0.0, 0.0], [3.0, 4.0], [1e-200, 0.0]])
    assert np.linalg.norm(directions(x, np.eye(2)), axis=1) == pytest.approx(np.ones(3))
    assert directions(x, np.eye(2), 10.0)[1] == pytest.approx([0.3, 0.4])


def test_settings_that_do_not_fit():
    with pytest.raises(DomainError, match="delta"):
        MessageSettings(epsilon=1.0)
    with pytest.raises(DomainError, match="delta"):
        MessageSettings(epsilon=1.0, delta=1e-6, noise="cap")
    with pytest.raises(DomainError, match="rule"):
        MessageSettings(epsilon=1.0, noise="cap", rule="best")  # type: ignore[arg-type]
    model = GaussianModel(link=LINKS["sigmoid"], w=W, covariance=SIGMA, n=100, m=30, noise=0.2)
    with pytest.raises(DomainError, match="label_bound"):
        runs(model, MessageSettings(noise="cap", epsilon=1.0), 1)
    assert runs(model, MessageSettings(noise="cap", epsilon=1.0, label_bound=1.2), 2)["w"].shape == (2, 3)
