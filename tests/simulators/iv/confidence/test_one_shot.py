"""One-shot private moments: exact without noise, and what each round pays for."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dpbounds import DomainError
from simulators.engine import Experiment
from simulators.iv import LinearModel, synthetic_model
from simulators.iv.confidence import OneShot, one_shot
from simulators.iv.confidence.one_shot import first_round, second_round


def model(p: int = 2, q: int = 3, n: int = 300) -> LinearModel:
    return synthetic_model(n=n, p=p, q=q, r=p, parameter_seed=4)


def settings(**changed: Any) -> OneShot:
    given: dict[str, Any] = {"rho": 1.0, "instrument_bound": 1e3, "row_bound": 1e3, "residual_bound": 1e3}
    return OneShot(**{**given, **changed})


def run(problem: Any, chosen: OneShot, trials: int = 4) -> dict[str, np.ndarray]:
    return Experiment(algorithm=one_shot, problem=problem, settings=chosen, block_trials=trials).run_block(0, seed=2)


@pytest.mark.parametrize(("p", "q"), [(1, 1), (2, 2), (2, 3), (1, 4)])
@pytest.mark.parametrize("bound", [None, 1e3])
def test_without_noise_and_clipping_it_is_two_stage_least_squares(p: int, q: int, bound: float | None) -> None:
    found = run(model(p, q), settings(rho=1e28, residual_bound=bound))
    assert found["beta"].shape == (4, p) and found["first_beta"].shape == (4, p)
    assert found["error_hat"].max() < 1e-6
    assert (found["error_true"] > 1e-4).all()


def test_recentring_undoes_the_clipping_of_rows() -> None:
    """Clipped rows bias the first round; the second sees residuals that are not clipped, and a slope Z'X that is too
    small by the share that was cut off: the error shrinks by about that share.
    """
    once = run(model(n=2000), settings(rho=1e20, row_bound=12.0, residual_bound=None))
    twice = run(model(n=2000), settings(rho=1e20, row_bound=12.0))
    assert np.allclose(once["beta"], twice["first_beta"], rtol=0.5)
    assert (twice["error_hat"] < 0.5 * np.median(once["error_hat"])).all()


def test_budgets_add_up() -> None:
    two, one = settings(rho=0.7, share=0.3), settings(rho=0.7, residual_bound=None)
    assert math.hypot(*two.budgets) == pytest.approx(math.sqrt(1.4))
    assert one.budgets == (pytest.approx(math.sqrt(1.4)), 0.0)
    # Opposite rows: 2 over the deviation is mu; Z'Z at sqrt 2 times the deviation is free under replace-one.
    scale, square = two.block_scales(just_identified=False)
    assert (2 / scale, square / scale) == pytest.approx((two.budgets[0], math.sqrt(2.0)))
    assert two.block_scales(just_identified=True) == pytest.approx((scale, 0.0))
    zero = settings(rho=0.7, share=0.3, adjacency="zero-out")
    scale, square = zero.block_scales(just_identified=False)
    assert scale**-2 + square**-2 == pytest.approx(zero.budgets[0] ** 2)
    assert 1 / zero.residual_scale == pytest.approx(zero.budgets[1])


def test_rounds_by_loops() -> None:
    records = model(n=20).records(np.random.default_rng(3), 1)
    chosen = settings(instrument_bound=1.5, row_bound=4.0, residual_bound=0.8)
    square, cross = first_round(records, chosen)
    beta = np.array([[0.3, -0.2]])
    score = second_round(records, beta, chosen)
    Z, X, Y = records.instruments[0].T, records.regressors[0].T, records.outcome[0]
    A, C, g = np.zeros((3, 3)), np.zeros((3, 3)), np.zeros(3)
    for z, x, y in zip(Z, X, Y, strict=True):
        z = z / max(1.5, float(np.linalg.norm(z)))
        row = np.array([y, *x])
        A, C = A + np.outer(z, z), C + np.outer(z, row / max(4.0, float(np.linalg.norm(row))))
        g = g + z * min(max(y - float(x @ beta[0]), -0.8), 0.8) / 0.8
    assert square is not None
    assert square[0] == pytest.approx(A) and cross[0] == pytest.approx(C) and score[0, :, 0] == pytest.approx(g)


def test_streams_repeat_and_more_budget_helps() -> None:
    chosen = settings(rho=5.0, instrument_bound=3.0, row_bound=20.0, residual_bound=6.0)
    assert np.array_equal(run(model(), chosen)["beta"], run(model(), chosen)["beta"])
    better = run(model(), settings(rho=500.0, instrument_bound=3.0, row_bound=20.0, residual_bound=6.0), 40)
    assert np.median(better["error_hat"]) < np.median(run(model(), chosen, 40)["error_hat"])


def test_hopeless_budgets_give_numbers_or_inf() -> None:
    found = run(model(), settings(rho=1e-20), 20)
    assert not np.isnan(found["error_hat"]).any()


@pytest.mark.parametrize("name", ["rho", "instrument_bound", "row_bound", "residual_bound"])
def test_settings_refuse(name: str) -> None:
    with pytest.raises(DomainError, match=name):
        settings(**{name: 0.0})
    with pytest.raises(DomainError, match="residual_bound"):
        second_round(model(n=20).records(np.random.default_rng(3), 1), np.zeros((1, 2)), settings(residual_bound=None))
