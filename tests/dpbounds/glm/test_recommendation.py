"""Which estimator to take, and that one call gives everything that the command prints."""

from __future__ import annotations

import numpy as np
import pytest

from dpbounds import DomainError
from dpbounds.glm import assess, error_curves, predict, recommend, records_needed
from tests.dpbounds.glm.test_problem import problem


def test_anchors_of_gaussian_records():
    """p = 10, n = m = 2.9e5, epsilon = 10: .092 and .052 with tight noise, against a printed noise that swamps all."""
    rows = recommend("logistic", p=10, n=290_000, epsilon=10.0).rows
    errors = {(row.estimator, row.calibration): float(row.relative) for row in rows}
    assert errors["pooled", "tight"] == pytest.approx(0.092, abs=5e-4)
    assert errors["public-covariance", "tight"] == pytest.approx(0.052, abs=5e-4)
    assert errors["paper", "printed"] > 100


def test_recommended_is_the_least_or_nothing():
    full = assess(problem())
    assert full.advice == min(full.under("tight"), key=lambda row: float(row.relative)).estimator == "public-covariance"
    assert [row.estimator for row in full.rows if full.recommends(row)] == ["public-covariance"]
    few = assess(problem(n=50, m=10, epsilon=0.1))
    assert few.advice == "zero" and "beat w = 0" in few.reason and not any(map(few.recommends, few.rows))
    alone = assess(problem(m=0))
    assert [row.estimator for row in alone.rows] == ["no-public-data"] and "private records alone" in alone.reason
    assert [more.m for more in alone.more] == [0]


def test_records_needed_for_a_target():
    target = assess(problem(), target=0.01)
    assert target.needed is not None and target.needed.target == 0.01
    expected = [records_needed(problem(), target.best.estimator, 0.01, fixed_m=fixed) for fixed in (False, True)]
    assert [target.needed.proportional, target.needed.fixed_m] == expected
    assert assess(problem()).needed is None


def test_curves_pass_through_the_rows_and_stay_in_range():
    recommendation = assess(problem(), estimators=("paper",))
    for curve, row in zip(error_curves(recommendation), recommendation.rows, strict=True):
        assert (curve.estimator, curve.calibration) == (row.estimator, row.calibration)
        assert curve.epsilons[0] == pytest.approx(1.0) and curve.epsilons[-1] == pytest.approx(100.0)
        assert curve.errors[4] == pytest.approx(float(row.relative), rel=1e-9)
        assert np.all(np.diff(curve.errors) < 0)
    faint = error_curves(assess(problem(epsilon=5e-6), estimators=("paper",)))[0].epsilons
    assert faint[0] == 1e-6


def test_one_call_is_both_steps():
    at_once = recommend("logistic", n=50_000, epsilon=10.0, delta=1e-6, p=4, estimators=("pooled",))
    assert [row.calibration for row in at_once.rows] == ["printed", "tight"]
    assert float(at_once.best.relative) == pytest.approx(float(predict(problem(), "pooled").relative), rel=1e-9)


def test_estimators_that_need_public_records_are_refused_without():
    with pytest.raises(DomainError, match="m = 0"):
        assess(problem(m=0), estimators=("pooled",))
    with pytest.raises(DomainError, match="estimators"):
        assess(problem(), estimators=())
    with pytest.raises(DomainError, match="target"):
        assess(problem(), target=2.0)


def test_doubts_of_a_survey_have_their_reason():
    settings = {"link": "logistic", "epsilon": 1.0, "delta": 1e-6, "p": 5}
    good = recommend(**settings, n=10**6, m=10**4)
    assert good.doubt == "" and good.median < good.messages[2].typical * 1.001 and good.useful
    assert "public records are fewer" in recommend(**settings, n=10**6, m=40).doubt
    few = recommend(**settings, n=2500, m=10**4)
    assert few.recommended != "zero" and "too small" in few.doubt
    nothing = recommend(**settings, n=50, m=10**4)
    assert (nothing.recommended, nothing.doubt, nothing.median, nothing.useful) == ("zero", "", 1.0, False)
    assert nothing.helps is not None


def test_what_half_of_the_runs_reach_decides_whether_a_survey_is_useful():
    """Of few records the mean is that of rare bad runs: above that of w = 0, where half of the runs are far below."""
    found = recommend("poisson", n=20_711, m=2_090, epsilon=0.587, delta=1e-6, p=7, w_norm=1.6)
    row = min(found.messages, key=lambda row: row.rank)
    assert row.typical < float(row.relative) and found.useful is (row.typical < 0.5)


def test_what_helps_is_said_where_no_message_is_defined():
    found = recommend("cubic", p=3, n=10**4, m=10**4, epsilon=1.0, delta=1e-6)
    assert not found.messages and not found.useful and found.helps is not None and found.helps.n is not None
    more = recommend("cubic", p=3, n=found.helps.n, m=found.helps.n, epsilon=1.0, delta=1e-6)
    assert float(more.best.relative) < 0.26


def test_references_are_tuned_and_never_recommended():
    found = assess(problem())
    tight = {row.estimator: row for row in found.under("tight")}
    assert [row.estimator for row in found.references] == list(tight)
    for row in found.references:
        assert row.radius < tight[row.estimator].radius and (row.label_center, row.label_bound) == (0.5, 0.5)
        assert float(row.relative) < 0.5 * float(tight[row.estimator].relative)
        assert row.bias + row.terms.total == pytest.approx(float(row.relative))
    assert found.recommended.endswith("-message") and found.advice == "public-covariance"


@pytest.mark.parametrize(
    "given",
    [
        {"link": "logistic", "p": 1},
        {"link": "logistic", "p": 3, "m": 0},
        {"link": "logistic", "p": 3, "m": 3},
        {"link": "logistic", "p": 2, "w_norm": 60.0},
        {"link": "logistic", "p": 2, "w_norm": 1e-6},
        {"link": "poisson", "p": 4, "w_norm": 2.0},
        {"link": "cubic", "p": 2},
        {"link": "softplus", "p": 3, "noise": 0.5},
        {"link": "sigmoid", "p": 3, "noise": 0.5, "label_bound": 0.4},
        {"link": "boosting", "spectrum": np.geomspace(1e-6, 1, 5)},
        {"link": "boosting", "p": 2, "radius": 1e-3, "variance": 1e6},
        {"link": "logistic", "p": 2, "n": 3, "epsilon": 1e-6},
        {"link": "logistic", "p": 2, "n": 10**15, "epsilon": 1e6},
        {"link": "logistic", "p": 50},
    ],
)
def test_references_where_an_opponent_looks(given):
    found = recommend(**{"n": 10**4, "epsilon": 1.0, **given})
    for row in found.references:
        assert row.bias >= 0 and np.isfinite(float(row.relative)) and row.radius <= found.problem.bounds[0]
        assert row.delta == pytest.approx(found.problem.delta, rel=1e-6) and row.label_bound > 0


def test_there_are_no_references_for_many_coordinates():
    assert recommend("logistic", n=10**4, epsilon=1.0, p=51).references == ()
