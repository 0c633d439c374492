"""The table of forecasts against runs on two problems: `python -m tests.power.plans` has many."""

from __future__ import annotations

import numpy as np
import pytest

from dpbounds import DomainError
from dpbounds.ftrl.correlations import independent
from dpbounds.ftrl.design.clipped import ProxyRecords, forecast
from dpbounds.ftrl.design.from_data import spectrum_of
from tests.power.plans import Problem, accuracy, groups, judge, ranking, rows_of


def test_forecasts_are_near_runs_and_a_broken_run_goes_on(tmp_path):
    """Mean losses of 80 runs have standard errors of 4 %; 25 % would be 6 of them."""
    out = tmp_path / "rows.jsonl"
    first = list(rows_of(2, None, 40, out))
    assert len(out.read_text().splitlines()) == 2
    assert list(rows_of(2, None, 40, out)) == first
    rows = [row for found in first for row in found]
    assert {row["kind"] for row in rows} >= {"independent", "prefix-sum", "designed"}
    for row in rows:
        assert abs(row["forecast"] - row["measured"]) < 0.05 * row["measured"] + 6 * row["error"], row
    assert accuracy(rows)["rows"] == len(rows)
    assert dict(groups(rows))["all"] == rows
    assert sum(total for _, total, _ in ranking(rows, "planned", "forecast")) == 2


def test_without_runs_nothing_is_measured_and_problems_are_the_same():
    assert "measured" not in judge(1, None, 0)[0]
    one, two = Problem.drawn(5, None), Problem.drawn(5, None)
    np.testing.assert_array_equal(one.records.residuals, two.records.residuals)
    share = one.records.share_clipped(one.clip_norm)
    assert share == pytest.approx(1 - one.quantile, abs=2 / one.records.rows)


def test_proxy_records_are_centred_at_their_own_minimiser():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 3)), rng.standard_normal(40)
    doubled = np.column_stack([X, X[:, 0]])  # a direction without features
    for table in (X, doubled):
        records = ProxyRecords.of(table, y, start=np.full(table.shape[1], 0.5))
        np.testing.assert_allclose(table.T @ records.residuals, 0.0, atol=1e-12)
        np.testing.assert_allclose(records.eigenvalues, spectrum_of(table))
        start = 0.5 * records.eigenvalues @ records.start
        assert start == pytest.approx(0.5 * np.mean((table @ records.initial) ** 2))
        gradients = table * records.residuals[:, None]
        mean_square = records.sigma_sgd**2 * records.eigenvalues.sum()
        assert mean_square == pytest.approx(np.mean(np.sum(gradients**2, axis=1)))
    for bad in ({"outcomes": y[:3]}, {"features": np.zeros((40, 2))}, {"start": np.ones(2)}):
        with pytest.raises(DomainError, match=next(iter(bad))):
            ProxyRecords.of(**({"features": X, "outcomes": y} | bad))


def test_records_may_stand_for_more_records():
    """Sampling from 4 times as many records is that from the same records repeated."""
    rng = np.random.default_rng(1)
    records = ProxyRecords.of(rng.standard_normal((30, 2)), rng.standard_normal(30))
    settings = {"correlation": independent(), "schedule": np.full(9, 0.3), "clip_norm": 0.8, "noise_multiplier": 1.0}
    for order in ("fixed", "poisson"):
        one = forecast(
            records.features, records.residuals, initial=records.initial, batch_size=20, order=order, n=120, **settings
        )
        X, residuals = np.tile(records.features, (4, 1)), np.tile(records.residuals, 4)
        two = forecast(X, residuals, initial=records.initial, batch_size=20, order=order, **settings)
        assert float(one.loss) == pytest.approx(float(two.loss), rel=1e-12)
