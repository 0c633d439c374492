"""Noise beside noise for a given run: rows, their bound, budgets, and losses over the learning rate."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pytest

from dpbounds import AccuracyError, DomainError, privacy
from dpbounds.ftrl.correlations import independent
from dpbounds.ftrl.design import Budget, Objective, Participation, best, loss_curve, lower_bound, run_curves
from dpbounds.ftrl.design.comparison import ratio_over
from dpbounds.ftrl.design.duality import spacing
from dpbounds.ftrl.design.objective import start_in_equal_parts

RUN = Objective(np.array([1.0, 0.3, 0.1]), 24, 0.4, batch_size=2, initial=0.5, sigma_sgd=0.5, weights="final")


@pytest.fixture(scope="module")
def design():
    return best(RUN, buffers=2, rho=0.3, clip_norm=2.0)


def test_rows_are_the_losses_of_their_noise(design):
    for row in design.rows:
        assert row.loss.total == pytest.approx(RUN.loss(row.correlation, 0.3, clip_norm=2.0).total, rel=1e-12)
        assert row.ratio == pytest.approx(row.loss.total / row.bound) and row.ratio >= 1
        assert row.gain == pytest.approx(design.rows[0].loss.total / row.loss.total)
        assert row is design.row(row.kind)
    assert design.row("designed").noise_ratio == pytest.approx(design.ratio)
    assert design.row("prefix-sum").label == "prefix sum"
    with pytest.raises(DomainError, match="kind"):
        design.row("amplified")


def test_what_must_be_known_is_said():
    assert best(RUN, buffers=1).sentences == ()
    (said,) = best(RUN, buffers=1, unknown_spectrum=True).sentences
    assert "family of spectra" in said
    apart = best(Objective(np.ones(2), 12, 0.2), Participation.min_separation(3, 2), buffers=1)
    kinds = {row.sensitivity.kind for row in apart.rows}
    assert ("upper" in kinds) == any("upper bound" in sentence for sentence in apart.sentences)


def test_nothing_to_tune_without_a_start():
    assert best(Objective(np.ones(2), 24, 0.2, batch_size=2), buffers=1).tuned_independent is None
    assert best(RUN, buffers=1).tuned_independent < best(RUN, buffers=1).rows[0].loss.total * (1 + 1e-9)


def test_fewer_participations_than_fit():
    """Twice in five steps: Q = I / c with c = 5/2, where c = 2 would be above noise that exists."""
    run = Objective(np.array([1.0, 0.4]), 5, 0.5, batch_size=1)
    design = best(run, Participation.min_separation(2, 2), certify=True)
    assert design.bound.value.certified
    assert all(row.ratio >= 1 and row.noise_ratio >= 1 for row in design.rows)
    assert float(design.bound) == pytest.approx(float(lower_bound(run, design.participation)), rel=1e-6)


@pytest.mark.parametrize(("T", "k", "b"), [(5, 2, 2), (7, 3, 2), (8, 2, 3), (9, 4, 2), (6, 6, 1), (4, 1, 3)])
def test_spacing_is_a_mixture_of_patterns_that_are_allowed(T, k, b):
    """floor(U + i c) for one U of every interval on which nothing changes: uses of each step, and what is allowed."""
    c = spacing(Participation.min_separation(k, b), T)
    ends = sorted({Fraction(0), c, *((t - i * c) % c for t in range(T + 1) for i in range(k + 1))})
    used = [Fraction(0)] * T
    for low, high in pairwise(ends):
        middle = (low + high) / 2
        steps = [int(middle + i * c) for i in range(T + 1) if int(middle + i * c) < T]
        assert len(steps) <= k and all(later - earlier >= b for earlier, later in combinations(steps, 2))
        for step in steps:
            used[step] += (high - low) / c
    assert used == [1 / c] * T


def test_a_bound_above_what_was_reached_is_an_error():
    assert ratio_over(1.0, 1.0 + 1e-12) == 1.0
    with pytest.raises(AccuracyError, match="above"):
        ratio_over(1.0, 1.001)
    with pytest.raises(AccuracyError):
        ratio_over(float("nan"), 1.0)
    with pytest.raises(DomainError, match="costs something"):
        ratio_over(1.0, 0.0)


def test_budgets():
    both = Budget.of(epsilon=2.0, delta=1e-6)
    assert both.epsilon == 2.0
    assert both.rho == pytest.approx(float(privacy.zcdp_of_gaussian(privacy.gaussian_mu(2.0, 1e-6))), rel=1e-12)
    assert Budget.of(rho=1e49).epsilon is None and "beyond its range" in Budget.of(rho=1e49).sentence(1)
    assert "all 3 passes" in both.sentence(3) and "one pass" in both.sentence(1)
    for options in ({}, {"rho": 1.0, "epsilon": 1.0}, {"rho": 0.0}, {"rho": 1.0, "delta": 0.0}, {"epsilon": -1.0}):
        with pytest.raises(DomainError):
            Budget.of(**options)


def test_passes_and_starts():
    assert Participation.of_epochs(1, 10) == Participation.single()
    assert Participation.of_epochs(3, 10) == Participation.cyclic(3, 4)
    assert Participation.of_epochs(3, 10, 2) == Participation.min_separation(3, 2)
    assert start_in_equal_parts(3.0, 2) == 4.5 and start_in_equal_parts(0.0, 2) == 0.0
    with pytest.raises(DomainError, match="initial"):
        start_in_equal_parts(-1.0, 2)


def test_curves_go_through_the_rows_and_end_where_runs_are_unstable(design):
    *lines, least = run_curves(design)
    for row, curve in zip(design.rows, lines, strict=True):
        own = np.argmin(np.abs(curve.eta - 0.4))
        assert curve.eta[own] == pytest.approx(0.4) and curve.total[own] == pytest.approx(row.loss.total, rel=1e-9)
        assert curve.role == "exact" and len(curve.eta) < 13 and curve.eta.min() == pytest.approx(0.1)
    assert least.role == "lower"
    with pytest.raises(DomainError):
        loss_curve(RUN, lambda run: 0.0, factors=(0.0, 1.0))


@pytest.mark.parametrize("steps", [24, 200])
def test_no_point_of_the_bound_is_above_a_loss_that_is_reached(steps):
    """Also where few points are drawn, and where the least loss bends: a design made for each point is above it."""
    start = start_in_equal_parts(2.0, 4)
    run = Objective(1 / np.arange(1.0, 5.0), steps, 0.3, batch_size=8, initial=start, weights="final", sigma_sgd=0.3)
    *_, least = run_curves(best(run, buffers=1, rho=0.5))
    for eta, bound in zip(least.eta, least.total, strict=True):
        again = best(run.faster(float(eta) / 0.3), buffers=2, rho=0.5)
        assert bound <= again.row("designed").loss.total * (1 + 1e-9)
        assert bound <= run.faster(float(eta) / 0.3).loss(independent(), 0.5).total
