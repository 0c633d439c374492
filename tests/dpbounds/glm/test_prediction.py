"""Rows at equal true privacy, and how many records a target takes."""

from __future__ import annotations

import dataclasses

import pytest

from dpbounds.glm import LINKS, build_problem, predict, records_needed
from dpbounds.glm.prediction import ESTIMATORS
from tests.dpbounds.glm.test_problem import problem


def test_every_tight_row_spends_delta_and_the_printed_ones_less():
    for estimator in ESTIMATORS:
        tight, printed = (predict(problem(), estimator, calibration) for calibration in ("tight", "printed"))
        assert tight.private and tight.delta_within == pytest.approx(1e-6, rel=1e-6)
        assert not printed.private and printed.delta_within < 1e-6


def test_terms_are_told_in_units_of_the_weights():
    row = predict(problem(w=[0.3, 0.1, 0.2, 0.5]), "pooled")
    assert sum(row.relative_terms.sources.values()) == pytest.approx(float(row.relative), rel=1e-14)
    assert row.terms.total == pytest.approx(0.39 * float(row.relative), rel=1e-14)
    assert row.relative_terms.convergence == row.terms.convergence


def test_few_public_records_are_not_reliable():
    few, many = (
        predict(build_problem("logistic", n=3_000_000, m=m, epsilon=10.0, p=5), "public-covariance")
        for m in (330, 3300)
    )
    assert float(few.relative) < 0.05 and few.terms.excess > 0.25 and not few.reliable
    assert many.reliable and many.terms.excess == pytest.approx(few.terms.excess / 10, rel=0.1)


def test_counts_go_beyond_the_labels_that_the_printed_noise_is_made_for():
    row = predict(problem(link=LINKS["poisson"]), "paper", "printed")
    assert row.label_bound == 1.0 and row.delta_within > 0.5


def test_records_needed_is_least():
    few = problem()
    for fixed in (True, False):
        n = records_needed(few, "pooled", 0.01, fixed_m=fixed)
        assert n is not None
        for size, reached in ((n, True), (round(n / 1.002), False)):
            other = dataclasses.replace(few, n=size, m=few.m if fixed else size)
            assert (float(predict(other, "pooled").relative) <= 0.01) is reached
    assert records_needed(problem(m=4), "public-covariance", 0.01, fixed_m=True) is None
