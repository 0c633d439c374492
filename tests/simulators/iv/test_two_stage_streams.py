"""Two-stage descent: its noise, its blocks and streams, and settings outside their ranges."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest

from dpbounds import DomainError
from dpbounds.iv import TwoStageBudget, noiseless
from dpbounds.iv.moments import Moments
from dpbounds.iv.privacy import joint_cost
from simulators.iv import (
    FixedData,
    FixedMoments,
    Settings,
    compare_descents,
    iterates,
    samples,
    synthetic_model,
    two_stage,
)
from tests.simulators.iv.runs import data, experiment, is_standard_normal

INF = math.inf


# --- noise ---


def test_budgets_become_the_noise_of_equation_4():
    settings = Settings(steps=20, eta=0.1, alpha=0.1, gamma1=3.0, gamma2=5.0, rho1=2.0, rho2=8.0)
    paper = (2 * 3.0 / 100 * math.sqrt(20 / 2), 2 * 5.0 / 100 * math.sqrt(20 / 8))
    assert settings.noise_scales(100) == pytest.approx(paper)
    tight = replace(settings, calibration="tight").noise_scales(100)
    names = ("lambda1", "lambda2")
    cost = joint_cost(TwoStageBudget(gamma1=3.0, gamma2=5.0, **dict(zip(names, tight, strict=True))), 100, 20)
    assert float(cost) == pytest.approx(10.0)
    assert replace(settings, adjacency="zero-out").noise_scales(100) == pytest.approx((paper[0] / 2, paper[1] / 2))
    assert replace(settings, lambda1=0.5).noise_scales(100) == pytest.approx((0.5, paper[1]))
    assert replace(settings, rho1=INF, gamma1=INF).noise_scales(100) == pytest.approx((0.0, paper[1]))
    assert Settings(steps=20, eta=0.1, alpha=0.1).noise_scales(7) == (0.0, 0.0)


def test_noise_has_the_stated_scales():
    settings = Settings(steps=200, eta=0.1, alpha=0.1, gamma1=3.0, gamma2=5.0, rho1=2.0, rho2=8.0)
    lambda1, lambda2 = settings.noise_scales(50)
    drawn = list(two_stage.gaussian_noise(settings, 50, (20, 3, 2), np.random.default_rng(0)))
    assert len(drawn) == 200
    Xi, nu = (np.array(parts) for parts in zip(*drawn, strict=True))
    assert (Xi.shape, nu.shape) == ((200, 20, 3, 2), (200, 20, 2))
    assert is_standard_normal(Xi.ravel() / lambda1)
    assert is_standard_normal(nu.ravel() / lambda2)
    assert not is_standard_normal(nu.ravel() / (1.1 * lambda2))
    assert abs(np.mean(Xi[:, :, 0, 0] * nu[:, :, 0])) < 6.2 * lambda1 * lambda2 / math.sqrt(4000)


def test_algorithm_3_has_a_first_stage_without_noise():
    problem = data(30, 2, 1)
    settings = Settings(steps=10, eta=0.2, alpha=0.1, gamma2=1.0, rho2=4.0, record_paths=True)
    run = experiment(problem, settings, trials=6).run_block(0, seed=4)
    path = noiseless.path(Moments.of(problem.instruments, problem.regressors, problem.outcome), 0.2, 0.1, 10)
    for trial in range(6):
        assert run["theta_path"][trial] == pytest.approx(path.theta[1:], abs=1e-13)
    assert run["clipped_beta"].any()
    assert not run["clipped_theta"].any()
    assert len(set(run["beta"].ravel())) == 6


# --- blocks and streams ---


def test_blocks_bound_memory_and_change_no_law(monkeypatch):
    """Without noise the same data give the same runs in blocks of one trial as in one block."""
    problem = data(30, 3, 2)
    settings = Settings(steps=5, eta=0.1, alpha=0.1, gamma1=2.0, gamma2=2.0)
    whole = experiment(problem, settings, trials=7).run_block(0, seed=0)
    monkeypatch.setattr(samples, "_CELLS", 1)
    split = experiment(problem, settings, trials=7).run_block(0, seed=0)
    for name, values in whole.items():
        assert split[name].shape == values.shape
        assert split[name] == pytest.approx(values, rel=1e-13, abs=1e-14)
    model = synthetic_model(n=30, p=2, q=3, r=1, parameter_seed=0)
    fresh = experiment(model, replace(settings, lambda1=0.1), trials=7).run_block(0, seed=0)
    assert len(np.unique(fresh["beta_hat"][:, 0])) == 7
    assert len(np.unique(fresh["theta"][:, 0, 0])) == 7


def test_same_seed_same_numbers_and_other_content_other_numbers():
    problem, settings = data(20, 2, 1), Settings(steps=3, eta=0.1, alpha=0.1, lambda1=1.0, lambda2=1.0)
    other = FixedData(instruments=problem.instruments, regressors=problem.regressors, outcome=problem.outcome + 1e-9)

    def first(problem, settings, seed: int = 5) -> float:
        return float(experiment(problem, settings).run_block(0, seed=seed)["theta"].flat[0])

    assert first(problem, settings) == first(data(20, 2, 1), replace(settings))
    numbers = [
        first(problem, settings),
        first(problem, settings, seed=6),
        first(other, settings),
        first(problem, replace(settings, gamma2=1e9)),
        first(problem, replace(settings, eta=np.nextafter(0.1, 1.0))),
    ]
    assert len(set(numbers)) == len(numbers)


def test_compared_runs_share_their_data_and_nothing_else():
    model = synthetic_model(n=60, p=2, q=3, r=2, parameter_seed=0)
    noisy = Settings(steps=8, eta=0.3, alpha=0.01, gamma1=20.0, gamma2=20.0, rho1=5.0, rho2=5.0)
    quiet = replace(noisy, rho1=INF, rho2=INF)
    runs = experiment(
        model,
        {"one": noisy, "two": noisy, "quiet": quiet, "free": Settings(steps=8, eta=0.3, alpha=0.01)},
        5,
        compare_descents,
    )
    found = runs.run_block(0, seed=2)
    for name in ("two", "quiet", "free"):
        assert np.array_equal(found["one/beta_hat"], found[f"{name}/beta_hat"])
    assert not np.any(found["one/beta"] == found["two/beta"])
    records = model.records(runs.streams(0, seed=2).data, 5)
    *_, last = iterates(records, quiet, [(0.0, 0.0)] * 8, 5)
    assert found["quiet/beta"] == pytest.approx(last.beta, rel=1e-13)
    *_, last = iterates(records.moments, Settings(steps=8, eta=0.3, alpha=0.01), [(0.0, 0.0)] * 8, 5)
    assert found["free/beta"] == pytest.approx(last.beta, rel=1e-13)


def test_a_diverging_run_ends_with_infinite_errors_and_no_warning():
    problem = data(20, 2, 1)
    run = experiment(problem, Settings(steps=2000, eta=50.0, alpha=50.0)).run_block(0, seed=0)
    assert np.isposinf(run["error_hat"]).all()
    assert np.isfinite(run["error_hat_path"][:, 0]).all()


# --- bad input ---


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"steps": 0}, "^steps = "),
        ({"eta": 0.0}, "^eta = "),
        ({"alpha": -1.0}, "^alpha = "),
        ({"gamma1": 0.0}, "^gamma1 = .*inf does not clip"),
        ({"gamma2": math.nan}, "^gamma2 = "),
        ({"rho1": 0.0}, "^rho1 = .*inf"),
        ({"rho2": -1.0}, "^rho2 = .*inf"),
        ({"rho1": 1.0}, "^gamma1 = inf .*lambda1"),
        ({"rho2": 1.0}, "^gamma2 = inf .*lambda2"),
        ({"lambda1": -1.0}, "^lambda1 = "),
        ({"lambda2": math.inf}, "^lambda2 = "),
        ({"calibration": cast(Any, "loose")}, "^calibration = "),
        ({"adjacency": cast(Any, "remove")}, "^adjacency = "),
        ({"gamma2": 1.0, "rho2": 1.0, "calibration": "tight"}, "^calibration = tight .*unnoised_noise_scale"),
    ],
)
def test_settings_outside_their_ranges_are_refused(changed, message):
    with pytest.raises(DomainError, match=message):
        Settings(**{"steps": 5, "eta": 0.1, "alpha": 0.1, **changed})


def test_moments_cannot_be_clipped():
    problem = FixedMoments(given=Moments(A=np.eye(1), G=np.eye(1), b=np.ones(1), n=10))
    with pytest.raises(DomainError, match="gamma1 = gamma2 = inf"):
        experiment(problem, Settings(steps=2, eta=0.1, alpha=0.1, gamma1=1.0)).run_block(0, seed=0)
