"""Oracles of the privacy claims: against each other, closed forms and Monte Carlo."""

import math

import numpy as np
import pytest
from scipy.stats import chi2

from dpbounds.ols import hessian_mixing_scales
from simulators.engine import Experiment
from verify.papers.ols.tools.divergences import (
    gaussian_delta,
    joint_delta,
    renyi_of_gaussians,
    renyi_of_rows,
    rows_delta,
    two_sketches_delta,
)
from verify.papers.ols.tools.worst_pair import Neighbour, Run, releases


@pytest.mark.parametrize("record_first", [True, False])
@pytest.mark.parametrize(("rows", "leverage", "epsilon"), [(1, 0.3, 0.05), (8, 0.4, 0.5), (300, 0.01, 0.2)])
def test_rows_against_floats(rows, leverage, epsilon, record_first):
    offset, scale = rows / 2 * math.log1p(-leverage), 2 * (1 - leverage) / leverage
    if record_first:
        cut = scale * (epsilon - offset)
        direct = chi2.sf(cut, rows) - math.exp(epsilon) * chi2.sf(cut / (1 - leverage), rows)
    else:
        cut = max(scale * (-epsilon - offset), 0.0)
        direct = chi2.cdf(cut / (1 - leverage), rows) - math.exp(epsilon) * chi2.cdf(cut, rows)
    assert rows_delta(epsilon, rows, leverage, record_first=record_first) == pytest.approx(direct, rel=1e-8, abs=1e-16)


def test_two_sketches_are_one_of_twice_the_rows():
    assert two_sketches_delta(0.3, 6, 0.05) == pytest.approx(rows_delta(0.3, 12, 0.05, record_first=True), rel=1e-8)


def test_no_gaussian_leaves_the_rows_and_no_rows_the_gaussian():
    assert joint_delta(0.4, 9, 0.2, 1e-3, record_first=True) == pytest.approx(
        rows_delta(0.4, 9, 0.2, record_first=True), rel=1e-4
    )
    assert joint_delta(0.4, 9, 1e-9, 0.7, record_first=False) == pytest.approx(gaussian_delta(0.7, 0.4), rel=1e-7)
    assert gaussian_delta(0.7, -0.4) == pytest.approx(1 - math.exp(-0.4) * (1 - gaussian_delta(0.7, 0.4)), rel=1e-12)


def test_renyi_divergences():
    assert renyi_of_gaussians(3.0, 0.7) == pytest.approx(3 * 0.49 / 2, rel=1e-10)
    first, second = np.array([[1.0]]), np.array([[0.5]])
    order = 1.5
    closed = math.log(math.sqrt(0.5)) + math.log(0.5 / (order * 0.5 + 1 - order)) / (2 * (order - 1))
    assert renyi_of_rows(order, 1, first, second) == pytest.approx(closed, rel=1e-12)
    assert renyi_of_rows(2.0, 1, first, second) == math.inf


def test_releases_have_likelihood_ratios():
    """Without the record the ratio has mean 1, and with it the inverse; 6 standard errors, false alarms 4e-9."""
    scales = hessian_mixing_scales(2.0, 0.02, k=10, steps=2, failure=1.0, accounting="theorem")
    for present, sign in ((False, 1.0), (True, -1.0)):
        experiment = Experiment(
            algorithm=releases,
            problem=Neighbour(has_record=present),
            settings=Run(scales=scales),
            block_trials=20_000,
        )
        ratio = np.exp(sign * experiment.run_block(0, seed=3)["ratio"])
        assert abs(ratio.mean() - 1) < 6 * ratio.std() / math.sqrt(len(ratio))
        assert ratio.std() / math.sqrt(len(ratio)) < 0.01
