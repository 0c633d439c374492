"""The set-ups behind the claims on Theorem 3.1 and the figures: numbers by hand, predictions against runs."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from dpbounds.iv import Moments, TwoStageBudget, noise_scales
from simulators.engine import Experiment
from simulators.iv import FixedMoments, Settings, two_stage_descent
from verify.papers.iv.paper import s3_theorem
from verify.papers.iv.tools import real_data
from verify.papers.iv.tools.ideal import ALPHA, ETA, IdealSetup
from verify.papers.iv.tools.samples import isotropic_model
from verify.papers.iv.tools.setups import Setup, readings

SETUP = Setup(n=2000)


def test_step_sizes_clip_norm_and_noise_by_hand():
    h = np.linalg.svd(SETUP.model.theta, compute_uv=False) ** 2
    assert SETUP.step_sizes == pytest.approx((1.0, 2 / (2 * h[0] + h[-1])))
    gamma = 3.0 * (math.sqrt(5) + math.sqrt(5 + math.log(2000 * 20))) ** 2
    assert SETUP.clip_norm == pytest.approx(gamma)
    assert SETUP.noise == pytest.approx((2 * gamma / 2000 * 2, 2 * gamma / 2000 * 2))
    assert replace(SETUP, gamma=7.0).clip_norm == 7.0


def test_settings_of_the_variants():
    clipped, free, third = (s.settings() for s in (SETUP, replace(SETUP, clipped=False), replace(SETUP, unnoised=True)))
    assert clipped.gamma1 == clipped.gamma2 == SETUP.clip_norm
    assert free.gamma1 == free.gamma2 == math.inf
    assert free.noise_scales(2000) == pytest.approx(clipped.noise_scales(2000))
    assert third.gamma1 == math.inf
    assert third.noise_scales(2000) == pytest.approx((0.0, clipped.noise_scales(2000)[1]))


@pytest.mark.parametrize("changes", [{}, {"unnoised": True}, {"rho1": 9.0, "rho2": 1.0}, {"steps": 60, "c0": 1.0}])
def test_predicted_medians_against_runs_without_clipping(changes):
    """The population moments stand for data of 20000 records."""
    setup = replace(SETUP, n=20_000, **changes)
    run = replace(setup, clipped=False) if not setup.unnoised else replace(setup, gamma=setup.clip_norm)
    arrays = run.experiment(3000 if not setup.unnoised else 60).run_block(0, seed=5)
    spread = 0.05 if not setup.unnoised else 0.2
    assert np.median(arrays["error_hat"]) == pytest.approx(setup.error(), rel=spread)
    assert np.median(arrays["error_true"]) == pytest.approx(setup.error("error_true"), rel=spread)
    assert np.median(arrays["two_stage_error"]) == pytest.approx(setup.two_stage_error(), rel=spread)


def test_readings_share_a_run_and_are_named_after_the_error_only_where_there_are_two():
    both = readings(SETUP, "a", 3.0)
    assert [reading.label for reading in both] == ["a to $hat(beta)$, 3", "a to $beta$, 3"]
    assert len({reading.shared_run for reading in both}) == 1
    (one,) = readings(SETUP, "a", 3.0, kinds=("error_true",), theory=True)
    assert one.label == "a, 3"
    assert one.predicted is not None
    assert one.predicted() == pytest.approx(SETUP.error("error_true"))


@pytest.mark.parametrize(("steps", "rho2"), [(50, 5.0), (2000, 0.02)])
def test_the_lower_bound_on_the_median_holds_and_is_of_the_right_order(steps, rho2):
    """Without noise in the first stage; once with lambda_2 below gamma_2, once far above it."""
    gamma = 20.0
    lambda2 = float(noise_scales(TwoStageBudget(rho1=1.0, rho2=rho2, gamma1=gamma, gamma2=gamma), 100, steps).lambda2)
    settings = Settings(steps=steps, eta=1.0, alpha=s3_theorem.ALPHA, gamma2=gamma, rho2=rho2)
    model = isotropic_model(100, 1, 1, endogeneity=0.5)
    run = Experiment(algorithm=two_stage_descent, problem=model, settings=settings, block_trials=200)
    median = float(np.median(run.run_block(0, seed=3)["error_hat"]))
    bound = s3_theorem._least_median(steps, gamma, lambda2)
    assert bound < median < 15 * bound
    assert (lambda2 > gamma) == (rho2 < 1)


def test_the_ideal_setup_by_hand_and_against_runs():
    setup = IdealSetup(n=10_000, T=60, p=2, q=3, rho1=2.0, rho2=0.5)
    gamma = (math.sqrt(3) + math.sqrt(5 + math.log(600_000))) ** 2
    assert setup.noise == pytest.approx((2 * gamma / 10_000 * math.sqrt(30), 2 * gamma / 10_000 * math.sqrt(120)))
    assert setup.kappa == pytest.approx(2 / 3)
    lambda1, lambda2 = setup.noise
    moments = Moments(A=np.eye(3), G=np.eye(3, 2), b=np.array([1.0, 0.0, 0.0]), n=10_000)
    settings = Settings(steps=60, eta=ETA, alpha=ALPHA, lambda1=lambda1, lambda2=lambda2)
    problem = FixedMoments(given=moments)
    run = Experiment(algorithm=two_stage_descent, problem=problem, settings=settings, block_trials=20_000)
    errors = run.run_block(0, seed=1)["error_hat"]
    assert math.sqrt(np.mean(errors**2)) == pytest.approx(setup.root_mean_square, rel=0.05)
    assert np.mean(errors > setup.quantile) < math.exp(-5)


# --- data ---


def test_the_surrogate_has_the_papers_estimate(monkeypatch):
    monkeypatch.delenv(real_data.DATA_DIR, raising=False)
    study = real_data.angrist.__wrapped__()
    assert study.effect == pytest.approx(-4.3)
    assert study.records is None
    assert study.standard_error == pytest.approx(22 / (0.067 * 0.5 * math.sqrt(8065)), rel=0.02)


def test_a_data_folder_takes_the_place_of_the_surrogate(monkeypatch, tmp_path):
    rng, lines = np.random.default_rng(0), ["morekids,gender1,gender2,work"]
    for _ in range(9000):
        same = rng.random() < 0.5
        more = rng.random() < (0.5 if same else 0.3)
        first = "male" if rng.random() < 0.5 else "female"
        second = first if same else {"male": "female", "female": "male"}[first]
        lines.append(f"{'yes' if more else 'no'},{first},{second},{30 - 10 * more + rng.integers(-3, 4)}")
    (tmp_path / "angrist-evans-1980-sample.csv").write_text("\n".join(lines))
    monkeypatch.setenv(real_data.DATA_DIR, str(tmp_path))
    study = real_data.angrist.__wrapped__()
    assert study.records is not None
    assert study.moments.n == 8065
    assert abs(study.effect + 10) < 5 * study.standard_error


def test_means_and_spreads_of_a_run_to_leading_order():
    run = real_data.Run(study=real_data.card_study, rho=10.0, steps=15, c0=1.0)
    arrays = run.experiment(3000).run_block(0, seed=1)
    assert arrays["beta"].mean() == pytest.approx(run.mean_path()[-1], rel=0.05)
    assert arrays["beta"].std() == pytest.approx(run.deviations()[-1], rel=0.1)
    assert run.left(15) < 0.02 < run.left(3)
