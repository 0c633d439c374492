"""Algorithm 1 by bisection of Theorem 8, and every claim as reviewed, with its impostors."""

import pytest
from balle_wang.algorithms import calibrate
from scipy.stats import norm

from verify.cli import main


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 2.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-3, 0.4])
def test_the_noise_spends_delta_and_no_more(epsilon, delta):
    sigma = calibrate(epsilon, delta)
    mu = 1 / sigma
    spent = norm.cdf(mu / 2 - epsilon / mu) - norm.cdf(-mu / 2 - epsilon / mu) * 2.718281828459045**epsilon
    assert spent == pytest.approx(delta, rel=1e-5)


@pytest.mark.parametrize("options", [[], ["--impostors"]])
def test_the_verdicts_are_the_reviewed_ones(options, tmp_path):
    assert main(["verify", "balle_wang", "--jobs", "1", "--store", str(tmp_path), *options]) == 0
