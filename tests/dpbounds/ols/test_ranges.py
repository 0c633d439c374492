"""Public ranges: rows of length 1 at most, a fit back in its own units, and what is refused; when nothing is useful."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpbounds import DomainError
from dpbounds.ols import Ranges, bounded_data, compare, parsed_ranges

RANGES = Ranges(columns=((0.0, 10.0), (-2.0, 2.0)), outcome=(-5.0, 15.0))


def records(n: int = 500) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(0, 10, n), rng.uniform(-2, 2, n)])
    return X, 3 + 0.7 * X[:, 0] - 1.5 * X[:, 1]


@pytest.mark.parametrize("intercept", [True, False])
def test_a_fit_of_scaled_records_is_one_in_their_own_units(intercept):
    X, y = records()
    ranges = Ranges(columns=RANGES.columns, outcome=RANGES.outcome, intercept=intercept)
    rows, outcome = ranges.rows(X), ranges.scaled_outcome(y)
    assert np.linalg.norm(rows, axis=1).max() <= 1 + 1e-12 and rows.shape[1] == ranges.d
    theta = np.linalg.lstsq(rows, outcome, rcond=None)[0]
    slopes, constant = ranges.in_units(theta)
    np.testing.assert_allclose((X @ slopes + constant + 5) / 10 - 1, rows @ theta, atol=1e-12)
    if intercept:
        np.testing.assert_allclose([*slopes, constant], (0.7, -1.5, 3.0))


def test_records_beyond_a_range_are_counted_and_refused_or_taken_to_its_end():
    X, y = records()
    X[0, 0], y[3] = 40.0, -90.0
    assert RANGES.beyond(X, y) == 2
    with pytest.raises(DomainError, match="2 records"):
        RANGES.data(X, y)
    data = RANGES.data(X, y, beyond="clip")
    assert data.regressors[0, 0] == pytest.approx(1 / math.sqrt(3)) and data.outcome[3] == -1.0


def test_ranges_as_text():
    found = parsed_ranges("b=-2:2, a=0:1e1\n y=-5:15", ["a", "b"], "y")
    assert found == RANGES
    for text in ("a=0:10", "a=0:10, b=2:-2, y=0:1", "a=0:10, a=0:9, b=0:1, y=0:1", "a=0:nan, b=0:1, y=0:1", "a 0 10"):
        with pytest.raises(DomainError):
            parsed_ranges(text, ["a", "b"], "y")


def test_rows_that_read_the_data_are_references_and_never_recommended():
    X, y = records(2000)
    found = compare(RANGES.data(X, y), 1.0, 1e-6, references=True)
    references = [row.method for row in found.rows if row.reference]
    assert references == ["DP-GD-moments", "DP-GD-tuned"]
    assert found.recommended.method not in references and found.useful and not found.remedy
    assert {row.method for row in found.rows if row.clipped is not None} >= {"PRN", "TAP", "IHM", "DP-GD"}


def test_short_rows_are_told_to_be_scaled():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 3)) * (1000.0, 1.0, 1.0)
    X[0, 0] = 1e6
    found = compare(bounded_data(X, X[:, 1] + rng.standard_normal(400)), 0.1)
    assert not found.useful
    assert "None of these is useful here" in found.remedy and "scale the columns" in found.remedy


def test_settings_read_off_records_that_stand_in_count():
    """Rows without clipping counted are the same; curves keep the choice."""
    X, y = records(400)
    data = RANGES.data(X, y)
    found = compare(data, 0.5, 1e-6, accountings=("tight",), stand_in=True)
    other = compare(data, 0.5, 1e-6, accountings=("tight",), references=True)
    assert [row for row in found.rows if row.clipped is None] == [row for row in other.rows if row.clipped is None]
    assert found.recommended.method == "DP-GD-tuned" != other.recommended.method
    assert found.recommended.risk < other.recommended.risk and "stand in" in found.reason
    assert "DP-GD-tuned" in found.curves(2) and "DP-GD-tuned" not in other.curves(2)
    assert (
        found.spread is not None
        and found.spread > 0.01
        and all(row.risk.kind == "estimate" for row in found.rows if row.clipped is not None)
    )


def test_what_is_recommended_says_its_median_and_whether_it_is_reliable():
    X, y = records(60)
    few = compare(RANGES.data(X, y), 5.0, 1e-6, accountings=("tight",), stand_in=True)
    taken = few.recommended
    assert taken.median is not None and taken.interval is not None
    assert taken.interval[0] < float(taken.median) < float(taken.risk) < taken.interval[1]
    assert "standard error" in few.doubt
    (row,) = [row for row in few.table() if row["recommended"]]
    assert not row["reliable"] and row["median"] == few.units * float(taken.median)
    own = compare(RANGES.data(*records(3000)), 5.0, 1e-6, accountings=("tight",))
    assert own.doubt == "" and own.spread is not None and own.spread < 0.05
    assert "X'X alone" in compare(own.problem.gram, 5.0, 1e-6, accountings=("tight",)).doubt
    nothing = compare(RANGES.data(*records(30)), 1e-3, 1e-6, accountings=("tight",), stand_in=True)
    assert not nothing.useful and "None of these is useful" in nothing.remedy


def test_records_that_stand_in_may_be_more_than_the_private_ones():
    """Four times the same records stand for n as the records themselves do."""
    X, y = records(100)
    y = np.clip(y + np.random.default_rng(1).standard_normal(100), -5, 15)
    once = compare(RANGES.data(X, y), 1.0, accountings=("tight",), stand_in=True)
    data = RANGES.data(np.tile(X, (4, 1)), np.tile(y, 4))
    more = compare(data, 1.0, accountings=("tight",), stand_in=True, n=100)
    assert more.regime.features.n == 100 and more.delta == once.delta == 1e-4 and more.clips == once.clips
    for one, other in zip(once.rows, more.rows, strict=True):
        # With clipping counted, what repeated records share counts as no chance.
        error = 1e-9 if one.clipped is None else 0.5
        assert float(one.risk) == pytest.approx(float(other.risk), rel=error), one.method
    assert more.at(2.0).regime.features.n == 100
    as_many = compare(data, 1.0, accountings=("tight",), stand_in=True)
    assert as_many.recommended.risk != more.recommended.risk
    for problem, stand_in, n in ((data, False, 100), (data.gram, True, 100), (data, True, 1), (data, True, 0)):
        with pytest.raises(DomainError, match=f"n = {n}"):
            compare(problem, 1.0, stand_in=stand_in, n=n)


def test_as_many_records_as_it_asks_for_make_a_forecast_reliable():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(0, 10, 3000), rng.uniform(-2, 2, 3000)])
    y = 3 + 0.7 * X[:, 0] - 1.5 * X[:, 1] + rng.uniform(-1, 1, 3000)
    few = compare(RANGES.data(X[:300], y[:300]), 1.0, 1e-6, accountings=("tight",), stand_in=True)
    assert few.doubt and few.enough_records is not None and 300 < few.enough_records <= 3000
    assert f"About {few.enough_records} of them may be enough, for n = 300." in few.doubt
    kept = slice(few.enough_records)
    enough = compare(RANGES.data(X[kept], y[kept]), 1.0, 1e-6, accountings=("tight",), stand_in=True, n=300)
    assert enough.doubt == "" and enough.enough_records is None
    own = compare(RANGES.data(X[:300], y[:300]), 1.0, 1e-6, accountings=("tight",))
    assert own.enough_records is None


def test_a_budget_at_which_iterates_run_away_has_advice_all_the_same():
    X, y = records(60)
    for stand_in in (False, True):
        found = compare(RANGES.data(X, y), 0.001, 1e-6, accountings=("tight",), stand_in=stand_in)
        away = [row for row in found.rows if row.method == "PRN"]
        assert [float(row.risk) for row in away] == [math.inf] and not away[0].reliable
        assert not found.useful and "None of these is useful" in found.remedy and math.isfinite(found.recommended.risk)
