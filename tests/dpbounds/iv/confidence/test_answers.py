"""What is read off a release: what it says, what it refuses, and plain numbers."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpbounds import DomainError
from dpbounds.iv.confidence import (
    Disclosure,
    MomentRelease,
    PrivacyBudget,
    ReleasePlan,
    SignRelease,
    bounded_set_budget,
    bounded_set_records,
    confidence_answer,
    confidence_set,
    expected_prices,
    price_of_privacy,
    projection,
    sign_equivalent_sample,
    sign_p_value,
    sign_sensitivity,
    sign_set,
)

GRID = np.linspace(-3.0, 3.0, 61)
PLAN = ReleasePlan(
    outcome="y",
    regressors=("x",),
    instruments=("z",),
    bounds={"y": (-1, 1), "x": (-1, 1)},
    budget=PrivacyBudget(mu=1.0),
    clamping="natural",
)
SIGNS = replace(PLAN, design="s", instrument_means={"z": 0.5}, grid=(-3, 3, 61))


def moments(x: float = 25.0, s1: float = 2.0, s2: float = 3.0) -> MomentRelease:
    return MomentRelease(
        first=np.array([30.0, x]),
        second=40.0 * np.eye(2),
        first_scale=s1,
        second_scale=s2,
        outcome_weight=1.0,
        regressor_weights=np.ones(1),
        n=400,
        adjacency="replace-one",
    )


def signs(curve: Any, deviation: float = 5.0) -> SignRelease:
    return SignRelease(curve=curve, grid=GRID, n=200, deviation=deviation, probability=0.5)


def test_a_row_is_plain_numbers_that_json_can_hold():
    row = confidence_answer(PLAN, Disclosure(release=moments(), budget=())).row(dropped=3)
    assert json.loads(json.dumps(row)) == row
    assert row["dropped"] == 3 and row["clamping"] == "natural" and row["release"]["kind"] == "MomentRelease"


def test_the_whole_line_has_a_remedy_and_an_interval_a_bounded_first_stage():
    faint = replace(moments(s1=8.0), first=np.array([5.0, 14.0]), second=10 * np.eye(2))
    line = confidence_answer(PLAN, Disclosure(release=faint, budget=()))
    assert line.confidence_set.shape == "line"
    mu, epsilon, n = line.remedy()
    assert mu is not None and mu > 1 and epsilon is not None and n is not None and n > 400
    assert line.needed_f == pytest.approx(line.reading.first_stage.critical)  # one instrument
    weak = confidence_answer(PLAN, Disclosure(release=replace(moments(s1=8.0), first=np.array([3.0, 0.1])), budget=()))
    assert weak.remedy() == (None, None, None) and weak.measured_ratio is None


def test_a_shift_moves_set_and_point_and_leaves_the_price():
    plain, moved = (confidence_answer(PLAN, Disclosure(release=moments(), budget=(), shift=s)) for s in (0.0, 2.0))
    assert moved.point == plain.point + 2 and moved.price.ratio == pytest.approx(plain.price.ratio)
    assert moved.confidence_set.pieces[0][0] == plain.confidence_set.pieces[0][0] + 2


def test_without_noise_is_for_public_data():
    answer = confidence_answer(PLAN, Disclosure(release=moments(), budget=()))
    with pytest.raises(DomainError, match="not public"):
        answer.curve(noisy=False)
    assert len(answer.curve().coefficients) == 300 and answer.curve().near().statistic.max() <= 4 * 4.5
    singular = replace(moments(), second=np.zeros((2, 2)), first_scale=0.0)
    with pytest.raises(DomainError, match="without noise"):
        confidence_answer(PLAN, Disclosure(release=moments(), budget=(), exact=singular))


def test_a_curve_of_a_set_far_from_everything_shows_its_minimum():
    near = confidence_answer(PLAN, Disclosure(release=moments(), budget=())).curve()
    far = near._replace(critical=near.critical * 0)
    assert 0 < len(far.near().statistic) < 300


def test_a_grid_that_is_too_coarse_has_spent_the_budget():
    with pytest.raises(DomainError, match="budget of this release is spent"):
        confidence_answer(SIGNS, Disclosure(release=signs(np.full(61, 90.0)), budget=()))
    with pytest.raises(DomainError, match="no first stage"):
        confidence_answer(SIGNS, Disclosure(release=signs(40 * (GRID - 0.3)), budget=())).remedy()


@pytest.mark.parametrize(
    ("first", "last", "refused"), [(20, 23, True), (20, 24, False), (0, 1, False), (1, 2, True), (59, 60, False)]
)
def test_a_bounded_piece_of_few_cells_is_refused(first, last, refused):
    place = np.arange(61)
    curve = np.where((place >= first) & (place <= last), 0.0, 90.0)
    if refused:
        with pytest.raises(DomainError, match="fine enough"):
            sign_set(curve, GRID, n=200, deviation=5.0)
    else:
        assert sign_set(curve, GRID, n=200, deviation=5.0).pieces
    with pytest.raises(DomainError, match="none is accepted"):
        sign_set(np.full(61, 90.0), GRID, n=200, deviation=5.0)


def test_coverage_says_what_it_is():
    assert [sign_p_value(1.0, 9, 1.0, pi).kind for pi in (0.5, 0.3)] == ["exact", "upper"]
    assert sign_set(3 * np.sin(GRID), GRID, n=200, deviation=5.0).coverage.kind == "exact"
    assert signs(np.zeros(61)).confidence_set(0.9).shape == "line"
    assert confidence_set(moments(), honest=True).coverage.kind == "lower"
    assert confidence_set(moments()).coverage.kind == "asymptotic" and confidence_set(moments(), certify=True).certified
    two = replace(moments(), first=np.array([5.0, 3, 9, 1, 2, 9]), second=np.eye(6), regressor_weights=np.ones(2))
    assert projection(two).certified


def test_curves_that_are_no_release():
    with pytest.raises(DomainError, match="curve"):
        signs(np.zeros(5))
    for wrong in ({"deviation": -1.0}, {"probability": 1.0}, {"n": 0}):
        with pytest.raises(DomainError):
            replace(signs(np.zeros(61)), **wrong)
    assert signs(np.zeros(61), 0.0).known_deviation == pytest.approx(1e-3 * math.sqrt(200))


def test_prices_of_what_has_none():
    assert price_of_privacy(moments(), math.inf) == (1.0, True)
    with pytest.raises(DomainError, match="p = 2"):
        price_of_privacy(replace(moments(), first=np.ones(6), second=np.eye(6), regressor_weights=np.ones(2)), 1.0)
    for n, deviation in ((5, None), (10**9, None), (100, 3.0), (100, 0.0)):
        with pytest.raises(DomainError):
            expected_prices(PLAN, n, deviation=deviation)
    assert "n_for_ratio_1.1" in expected_prices(SIGNS, 100)[0].row()


def test_what_would_make_a_set_bounded_is_refused_without_a_budget():
    for mu in (0.0, -1.0, math.nan):
        with pytest.raises(DomainError, match="mu"):
            bounded_set_budget(moments(), mu)
    assert bounded_set_records(moments()) is not None


def test_what_signs_cost_is_refused_without_a_chance():
    with pytest.raises(DomainError, match="probability"):
        sign_sensitivity(1.0, "zero-out")
    with pytest.raises(DomainError, match="adjacency"):
        sign_sensitivity(0.5, "add-remove")  # pyright: ignore
    with pytest.raises(DomainError, match="deviation"):
        sign_equivalent_sample(0.0, 0.5)
