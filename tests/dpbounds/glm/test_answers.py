"""Bounds for clipping, rows at equal true privacy, and how many records a target takes."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from scipy import stats

from dpbounds import AccuracyError, DomainError
from dpbounds.glm import LINKS, clipping
from dpbounds.glm.answers import Question, answer, records_needed, tight_row


def question(**changes) -> Question:
    given = {
        "link": LINKS["logistic"],
        "w": np.full(4, 0.5),
        "covariance": np.eye(4),
        "n": 50_000,
        "m": 50_000,
        "epsilon": 10.0,
        "delta": 1e-6,
    }
    return Question(**{**given, **changes})


def test_anchors_of_gaussian_records():
    """p = 10, n = m = 2.9e5, epsilon = 10: .092 and .052 with tight noise, against a printed noise that swamps all."""
    n = 290_000
    asked = question(w=np.full(10, 10**-0.5), covariance=np.eye(10), n=n, m=n, delta=n**-1.1)
    errors = {(row.estimator, row.calibration): float(row.relative) for row in answer(asked).rows}
    assert errors["pooled", "tight"] == pytest.approx(0.092, abs=5e-4)
    assert errors["public-covariance", "tight"] == pytest.approx(0.052, abs=5e-4)
    assert errors["paper", "printed"] > 100


def test_every_tight_row_spends_delta_and_the_printed_ones_less():
    for row in answer(question()).rows:
        if row.calibration == "tight":
            assert row.private and row.delta_within == pytest.approx(1e-6, rel=1e-6)
        else:
            assert not row.private and row.delta_within < 1e-6


def test_counts_go_beyond_the_labels_that_the_printed_noise_is_made_for():
    (row, *_) = answer(question(link=LINKS["poisson"])).under("printed")
    assert row.label_bound == 1.0 and row.delta_within > 0.5


def test_records_needed_is_least():
    asked = question()
    for fixed in (True, False):
        n = records_needed(asked, "pooled", 0.01, fixed_m=fixed)
        assert n is not None
        few = round(n / 1.002)
        for size, reached in ((n, True), (few, False)):
            other = dataclasses.replace(asked, n=size, m=asked.m if fixed else size)
            assert (float(tight_row(other, "pooled").relative) <= 0.01) is reached
    assert records_needed(question(m=4), "public-covariance", 0.01, fixed_m=True) is None


def test_recommended_is_the_least_or_nothing():
    found = answer(question())
    assert (
        found.advice == min(found.under("tight"), key=lambda row: float(row.relative)).estimator == "public-covariance"
    )
    few = answer(question(n=50, m=10, epsilon=0.1))
    assert few.advice == "w = 0" and "beat w = 0" in few.reason
    alone = answer(question(m=0))
    assert [row.estimator for row in alone.rows] == ["no-public-data"] and "private records alone" in alone.reason
    assert [more.m for more in alone.more] == [0]


def test_clipping_bounds_hold_by_simulation():
    """P(some record beyond) <= failure, by 2000 samples: a binomial test at 1e-9."""
    rng = np.random.default_rng(1)
    covariance = np.diag([2.0, 0.5, 0.1])
    radius = float(clipping.radius(covariance, 20, 0.2))
    x = rng.standard_normal((2000, 20, 3)) * np.sqrt(np.diag(covariance))
    beyond = int(np.sum(np.max(np.linalg.norm(x, axis=2), axis=1) > radius))
    assert beyond <= stats.binom.isf(1e-9, 2000, 0.2)
    bound = float(clipping.label_bound("poisson", 0.8, 20, 0.2))
    y = rng.poisson(np.exp(math.sqrt(0.8) * rng.standard_normal((2000, 20))))
    assert np.sum(y.max(axis=1) > bound) <= stats.binom.isf(1e-9, 2000, 0.2)


def test_shrinkage_by_simulation():
    """E ||x||^2 of clipped normals, to 6 standard errors."""
    rng = np.random.default_rng(2)
    squares = np.minimum(0.7 * rng.chisquare(4, 200_000), 4.0)
    stated = 4 * 0.7 * (1 - float(clipping.shrinkage(4, 2.0, variance=0.7)))
    assert abs(squares.mean() - stated) < 6 * squares.std() / math.sqrt(len(squares))


@pytest.mark.parametrize(
    ("changes", "words"),
    (
        ({"n": 4}, "more records than coordinates"),
        ({"m": 3}, "at least p = 4"),
        ({"m": -1}, "m = -1"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"delta": 1.0}, "delta"),
        ({"failure": 0.0}, "failure"),
        ({"noise": 0.1}, "noise"),
        ({"radius": 0.0}, "radius"),
        ({"covariance": np.ones((4, 4))}, "covariance"),
        ({"covariance": np.eye(3)}, "covariance"),
        ({"w": np.zeros(4)}, "w"),
        ({"w": "text"}, "w"),
        ({"link": "probit"}, "link"),
    ),
)
def test_refused(changes, words):
    with pytest.raises(DomainError, match=words):
        question(**changes)


def test_estimators_that_need_public_records_are_refused_without():
    with pytest.raises(DomainError, match="m = 0"):
        answer(question(m=0), estimators=("pooled",))
    with pytest.raises(DomainError, match="estimators"):
        answer(question(), estimators=())
    with pytest.raises(AccuracyError, match="smaller q"):
        clipping.label_bound("poisson", 400.0, 10, 0.1)
