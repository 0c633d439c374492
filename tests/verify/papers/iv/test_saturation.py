"""The exact law of beta under clipping: its kernel, its limits, and simulated runs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from simulators.engine import Experiment
from simulators.iv import Settings, two_stage_descent
from verify.papers.iv.tools.reference import Records, gradients
from verify.papers.iv.tools.saturation import Chain

SMALL = Chain(n=20, alpha=0.5, gamma2=3.0, lambda2=1.0)
LARGE = Chain(n=20, alpha=0.5, gamma2=1.0, lambda2=40.0)


def test_the_drift_is_the_average_of_clipped_gradients():
    data = Records(SMALL.data.instruments, SMALL.data.regressors, SMALL.data.outcome)
    for beta in (-7.0, 0.3, 2.0):
        _, stated = gradients(data, np.full((1, 1), SMALL.theta), np.array([beta]), None, SMALL.gamma2)
        assert SMALL.drift(np.array([beta])) == pytest.approx(stated, rel=1e-12)


def test_the_drift_stays_below_the_clip_norm():
    beta = np.array([-1e6, 1e6])
    assert SMALL.drift(beta) == pytest.approx([-3.0, 3.0])


def test_probabilities_are_kept():
    law = SMALL.after(30)
    assert law.sum() == pytest.approx(1.0, abs=1e-9)
    assert (law >= 0).all()


def test_the_first_release_is_noise_alone():
    law = SMALL.after(1)
    assert law @ SMALL.nodes == pytest.approx(0.0, abs=1e-9)
    assert law @ SMALL.nodes**2 == pytest.approx((0.5 * 1.0) ** 2, rel=1e-9)


@pytest.mark.parametrize("chain", [SMALL, Chain(n=20, alpha=0.3, gamma2=1.0, lambda2=4.0)])
def test_the_stationary_law_is_the_limit(chain):
    assert np.abs(chain.after(2000) - chain.stationary).sum() < 1e-7


def test_without_active_clipping_the_law_is_gaussian():
    chain = Chain(n=20, alpha=0.5, gamma2=1e3, lambda2=0.5)
    weights, contraction = chain.stationary, 1 - 0.5 * chain.theta**2
    variance = (0.5 * 0.5) ** 2 / (1 - contraction**2)
    assert weights @ chain.nodes == pytest.approx(chain.beta_hat, abs=1e-6)
    assert weights @ (chain.nodes - chain.beta_hat) ** 2 == pytest.approx(variance, rel=1e-6)
    assert chain.median_error(weights) == pytest.approx(0.67449 * math.sqrt(variance), rel=0.01)
    assert chain.mean_error(weights) == pytest.approx(math.sqrt(2 * variance / math.pi), rel=5e-3)


def test_under_large_noise_the_law_is_two_sided_exponential():
    """Mean alpha lambda^2 / (2 gamma), median log 2 times that, corrections of order gamma / lambda."""
    mean = 0.5 * 40.0**2 / 2
    assert LARGE.mean_error(LARGE.stationary) == pytest.approx(mean, rel=0.01)
    assert LARGE.median_error(LARGE.stationary) == pytest.approx(math.log(2) * mean, rel=0.01)


def test_simulated_runs():
    chain, T = Chain(n=20, alpha=0.5, gamma2=1.0, lambda2=3.0), 60
    settings = Settings(steps=T, eta=1.0, alpha=0.5, gamma2=1.0, lambda2=3.0)
    run = Experiment(algorithm=two_stage_descent, problem=chain.data, settings=settings, block_trials=4000)
    errors = run.run_block(0, seed=0)["error_hat"]
    deviation = errors.std() / math.sqrt(len(errors))
    assert errors.mean() == pytest.approx(chain.mean_error(chain.after(T)), abs=5 * deviation)
