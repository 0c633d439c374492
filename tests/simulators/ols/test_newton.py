"""PRN simulated: the algorithm by hand, equal trials in any split, units, what it clips, noise with the right laws."""

from __future__ import annotations

import numpy as np
import pytest

from dpbounds import DomainError
from dpbounds.ols import compare
from dpbounds.ols.newton import Newton, histogram
from simulators.engine import Experiment
from simulators.ols import (
    LeastSquares,
    NewtonDraws,
    experiment_of,
    newton,
    newton_runs,
    recentred_newton,
)
from verify.papers.ols.tools import newton_by_hand


def records(n: int = 60, d: int = 3, scale: float = 1.0) -> LeastSquares:
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, d))
    X *= scale / np.linalg.norm(X, axis=1).max()
    return LeastSquares(regressors=X, outcome=np.clip(X @ np.ones(d) + 0.1 * rng.standard_normal(n), -1, 1))


@pytest.mark.parametrize(("mu", "steps", "scale"), [(0.3, 3, 1.0), (4.0, 10, 0.4), (1.0, 1, 0.01)])
def test_the_algorithm_by_hand(mu, steps, scale):
    data = records(scale=scale)
    draws = NewtonDraws.fresh(np.random.default_rng(1), 4, data.d, steps)
    found = newton_runs(data, Newton(mu=mu, steps=steps), draws)["theta"]
    for trial in range(4):
        noise = newton_by_hand.Noise(*(values[trial] for values in vars(draws).values()))
        stated = newton_by_hand.run(data.regressors, data.outcome, mu, steps, 1.2, noise)
        np.testing.assert_allclose(found[trial], stated, rtol=1e-9, atol=1e-12)


def test_trials_do_not_depend_on_how_they_are_split(monkeypatch):
    data = records()
    draws = NewtonDraws.fresh(np.random.default_rng(2), 7, data.d, 10)
    whole = newton_runs(data, Newton(mu=1.0), draws)
    monkeypatch.setattr(newton, "MOST_NUMBERS", 2 * data.n)
    parts = newton_runs(data, Newton(mu=1.0), draws)
    for name, values in whole.items():
        np.testing.assert_allclose(parts[name], values, rtol=1e-9, err_msg=name)


def test_same_seed_same_numbers_and_risk_of_theta():
    data = records()
    run = Experiment(algorithm=recentred_newton, problem=data, settings=Newton(mu=1.0), block_trials=5)
    first, second = run.run_block(0, seed=3), run.run_block(0, seed=3)
    np.testing.assert_array_equal(first["theta"], second["theta"])
    np.testing.assert_allclose(first["risk"], data.risk(first["theta"]))


def test_rows_of_zeros_and_one_record_run():
    zero = LeastSquares(regressors=np.zeros((5, 2)), outcome=np.ones(5))
    runs = newton_runs(zero, Newton(mu=1.0), NewtonDraws.fresh(np.random.default_rng(0), 3, 2, 10))
    assert np.isfinite(runs["theta"]).all() and (runs["risk"] == 0).all()


def test_histogram_counts_by_the_edge_above():
    values = np.array([0.0, 1.0, 0.71, 0.7, 0.5, 1e-9, 1.0 + 1e-12])
    found = histogram(values)
    assert found.tolist() == [3.0, 1.0, 1.0] + [0.0] * 11 + [1.0]


def test_without_noise_it_is_least_squares():
    data = records(n=400)
    draws = NewtonDraws.fresh(np.random.default_rng(0), 1, data.d, 10)
    still = NewtonDraws(**{name: 0.0 * values for name, values in vars(draws).items()})
    runs = newton_runs(data, Newton(mu=1e4), still)
    np.testing.assert_allclose(runs["theta"][0], data.theta_star, rtol=1e-6)


def test_experiments_of_rows_are_in_units_of_the_row_bound():
    data = records()
    found = compare(data.statistics, 1.0, 1e-4, accountings=("tight",))
    for row in found.rows:
        assert experiment_of(row, data, found.choices, block_trials=4).run_block(0, seed=0)["risk"].shape == (4,)
    wide = LeastSquares(regressors=2 * data.regressors, outcome=data.outcome, row_bound=2.0)
    with pytest.raises(DomainError, match="row_bound"):
        experiment_of(found.rows[0], wide, found.choices)
