"""Two-stage gradient descent: record by record, in exact rationals and against its exact laws."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpbounds.iv import laws, noiseless
from dpbounds.iv.moments import Moments
from simulators.iv import (
    FixedData,
    FixedMoments,
    Settings,
    iterates,
    synthetic_model,
    two_stage,
)
from tests.simulators.iv.runs import ALPHA, data, experiment, is_standard_normal

INF = math.inf


def prescribed(steps: int, trials: int, q: int, p: int, scale: float = 0.3) -> list[tuple[np.ndarray, np.ndarray]]:
    generator = np.random.default_rng(steps)
    return [
        (scale * generator.standard_normal((trials, q, p)), scale * generator.standard_normal((trials, p)))
        for _ in range(steps)
    ]


def record_by_record(problem: FixedData, settings: Settings, noise, *, stale: bool = True) -> list[dict[str, Any]]:
    """Algorithm 1 as it is printed, one trial: outer products, Frobenius norms, one record at a time.

    `stale=False` is the wrong algorithm whose second stage sees the new Theta.
    """
    (q, p), n = problem.dimensions, problem.n
    theta, beta, steps = np.zeros((q, p)), np.zeros(p), []
    for Xi, nu in noise:
        norms: tuple[list, list] = ([], [])
        sum_theta, sum_beta = np.zeros((q, p)), np.zeros(p)
        for z, x in zip(problem.instruments, problem.regressors, strict=True):
            gradient = np.outer(z, z @ theta - x)
            norms[0].append(np.linalg.norm(gradient))
            sum_theta += gradient * min(1.0, settings.gamma1 / max(norms[0][-1], 1e-300))
        new_theta = theta - settings.eta * sum_theta / n + settings.eta * Xi
        used = theta if stale else new_theta
        for z, y in zip(problem.instruments, problem.outcome, strict=True):
            gradient = used.T @ z * (z @ used @ beta - y)
            norms[1].append(np.linalg.norm(gradient))
            sum_beta += gradient * min(1.0, settings.gamma2 / max(norms[1][-1], 1e-300))
        beta = beta - settings.alpha * sum_beta / n + settings.alpha * nu
        theta = new_theta
        shares = [
            np.mean(np.array(one) > gamma) for one, gamma in zip(norms, (settings.gamma1, settings.gamma2), strict=True)
        ]
        steps.append({"theta": theta, "beta": beta, "clipped": shares, "largest": [max(one) for one in norms]})
    return steps


# --- against the printed algorithm ---


@pytest.mark.parametrize(("q", "p"), [(1, 1), (3, 1), (2, 2), (4, 2)])
@pytest.mark.parametrize(("gamma1", "gamma2"), [(2.0, 1.5), (INF, 1.5), (2.0, INF), (INF, INF)])
def test_every_step_is_the_printed_one(q, p, gamma1, gamma2):
    problem = data(17, q, p)
    settings = Settings(
        steps=6, eta=0.2, alpha=0.1, gamma1=gamma1, gamma2=gamma2, lambda1=0.3, lambda2=0.3, record_norms=True
    )
    noise = prescribed(6, 3, q, p)
    found = list(iterates(problem.sample, settings, noise, 3))
    unrecorded = list(iterates(problem.sample, replace(settings, record_norms=False), noise, 3))
    for trial in range(3):
        own = [(Xi[trial], nu[trial]) for Xi, nu in noise]
        expected = record_by_record(problem, settings, own)
        for step, plain, want in zip(found, unrecorded, expected, strict=True):
            for seen in (step, plain):
                assert seen.theta[trial] == pytest.approx(want["theta"], rel=1e-12, abs=1e-13)
                assert seen.beta[trial] == pytest.approx(want["beta"], rel=1e-12, abs=1e-13)
                shares = [np.broadcast_to(stage.clipped, 3)[trial] for stage in (seen.first, seen.second)]
                assert shares == pytest.approx(want["clipped"])
            largest = [np.broadcast_to(stage.largest, 3)[trial] for stage in (step.first, step.second)]
            assert largest == pytest.approx(want["largest"], rel=1e-12)
        assert (expected[-1]["clipped"][0] > 0) == (gamma1 < INF)
        assert any(step["clipped"][1] > 0 for step in expected) == (gamma2 < INF)
        wrong = record_by_record(problem, settings, own, stale=False)
        assert np.linalg.norm(wrong[1]["beta"] - found[1].beta[trial]) > 1e-5


def test_a_run_replays_from_its_streams():
    """Fresh data and noise of every trial, errors and shares along the path."""
    model = synthetic_model(n=40, p=2, q=3, r=2, parameter_seed=1)
    settings = Settings(
        steps=5,
        eta=0.3,
        alpha=0.01,
        gamma1=20.0,
        gamma2=30.0,
        rho1=50.0,
        rho2=70.0,
        record_norms=True,
        record_paths=True,
    )
    run = experiment(model, settings, trials=3)
    found, streams = run.run_block(4, seed=8), run.streams(4, seed=8)
    records = model.records(streams.data, 3)
    noise = list(two_stage.gaussian_noise(settings, 40, (3, 3, 2), streams.noise))
    for trial in range(3):
        Z, X, Y = records.instruments[trial].T, records.regressors[trial].T, records.outcome[trial]
        moments = Moments.of(Z, X, Y)
        expected = record_by_record(
            FixedData(instruments=Z, regressors=X, outcome=Y), settings, [(Xi[trial], nu[trial]) for Xi, nu in noise]
        )
        betas = np.array([step["beta"] for step in expected])
        for name, values in {
            "theta_path": [step["theta"] for step in expected],
            "beta_path": betas,
            "error_hat_path": np.linalg.norm(betas - moments.beta_hat, axis=1),
            "error_true_path": np.linalg.norm(betas - model.beta, axis=1),
            "clipped_theta": [step["clipped"][0] for step in expected],
            "clipped_beta": [step["clipped"][1] for step in expected],
            "largest_theta_gradient": [step["largest"][0] for step in expected],
            "largest_beta_gradient": [step["largest"][1] for step in expected],
        }.items():
            assert found[name][trial] == pytest.approx(np.array(values), rel=1e-11, abs=1e-12), name
        assert found["beta_hat"][trial] == pytest.approx(moments.beta_hat, rel=1e-12)
        assert found["theta_hat"][trial] == pytest.approx(moments.theta_hat, rel=1e-12)
        assert found["two_stage_error"][trial] == pytest.approx(np.linalg.norm(moments.beta_hat - model.beta))
    for last, path in (("theta", "theta_path"), ("beta", "beta_path"), ("error_hat", "error_hat_path")):
        assert np.array_equal(found[last], found[path][:, -1])
    assert np.array_equal(found["error_true"], found["error_true_path"][:, -1])


# --- exact rationals ---


def rational_run(problem: FixedData, settings: Settings, noise) -> tuple[np.ndarray, np.ndarray]:
    """Algorithm 1 in fractions, norms only where they are rational (p = q = 1)."""
    (q, p), n = problem.dimensions, problem.n
    exact = np.vectorize(Fraction, otypes=[object])
    Z, X, Y = (exact(part) for part in (problem.instruments, problem.regressors, problem.outcome))
    eta, alpha = Fraction(settings.eta), Fraction(settings.alpha)

    def clip(gradient, gamma):
        if gamma == INF:
            return gradient
        norm = abs(gradient.item())
        return gradient * min(Fraction(1), Fraction(gamma) / norm) if norm else gradient

    theta, beta = exact(np.zeros((q, p))), exact(np.zeros(p))
    for Xi, nu in noise:
        first = sum(clip(np.outer(z, z @ theta - x), settings.gamma1) for z, x in zip(Z, X, strict=True))
        second = sum(clip(theta.T @ z * (z @ theta @ beta - y), settings.gamma2) for z, y in zip(Z, Y, strict=True))
        theta, beta = theta - eta * first / n + eta * exact(Xi), beta - alpha * second / n + alpha * exact(nu)
    return theta, beta


@pytest.mark.parametrize("steps", [2, 3, 5])
@pytest.mark.parametrize(("q", "p", "gamma"), [(3, 2, INF), (2, 2, INF), (1, 1, INF), (1, 1, 2.5)])
def test_runs_agree_with_exact_rationals(steps, q, p, gamma):
    problem = data(9, q, p, seed=3)
    noise = [(np.round(4 * Xi) / 4, np.round(4 * nu) / 4) for Xi, nu in prescribed(steps, 1, q, p, scale=1.0)]
    settings = Settings(steps=steps, eta=0.25, alpha=0.125, gamma1=gamma, gamma2=gamma, lambda1=1.0, lambda2=1.0)
    theta, beta = rational_run(problem, settings, [(Xi[0], nu[0]) for Xi, nu in noise])
    on_records = replace(settings, gamma1=min(gamma, 1e9), gamma2=min(gamma, 1e9))
    for one in (settings, on_records):
        *_, last = iterates(problem.sample, one, noise, 1)
        assert last.theta[0] == pytest.approx(theta.astype(float), rel=1e-14, abs=1e-14)
        assert last.beta[0] == pytest.approx(beta.astype(float), rel=1e-13, abs=1e-14)


def test_dyadic_runs_are_exact():
    """16 records, step sizes 1/4 and 1/8: three steps need fewer than 53 bits, and clip norms out of reach change
    nothing.
    """
    problem = data(16, 3, 2, seed=5)
    settings = Settings(steps=3, eta=0.25, alpha=0.125)
    theta, beta = rational_run(problem, settings, [(np.zeros((3, 2)), np.zeros(2))] * 3)
    for gamma in (INF, 1e9):
        run = experiment(problem, replace(settings, gamma1=gamma, gamma2=gamma), trials=2).run_block(0, seed=0)
        for trial in range(2):
            assert [Fraction(value) for value in run["theta"][trial].flat] == list(theta.flat)
            assert [Fraction(value) for value in run["beta"][trial].flat] == list(beta.flat)
        assert not run["clipped_theta"].any()
        assert not run["clipped_beta"].any()


# --- without clipping ---


def test_records_and_moments_give_the_same_runs():
    problem = data(30, 4, 2)
    settings = Settings(steps=40, eta=0.1, alpha=0.05, lambda1=0.1, lambda2=0.2)
    noise = prescribed(40, 5, 4, 2, scale=0.1)
    paths = [
        np.array([step.beta for step in iterates(problem.sample, one, noise, 5)])
        for one in (
            settings,
            replace(settings, record_norms=True),
            replace(settings, gamma1=1e9),
            replace(settings, gamma2=1e9),
            replace(settings, gamma1=1e9, gamma2=1e9),
        )
    ]
    for path in paths[1:]:
        assert path == pytest.approx(paths[0], rel=1e-10, abs=1e-12)


def test_without_noise_it_is_2sgd_and_ends_at_2sls():
    problem = data(50, 3, 2)
    moments = Moments.of(problem.instruments, problem.regressors, problem.outcome)
    limits = noiseless.step_size_limits(moments)
    eta, alpha = 0.5 * limits.eta, 0.5 * limits.alpha
    settings = Settings(steps=400, eta=eta, alpha=alpha, record_paths=True)
    run = experiment(problem, settings, trials=2).run_block(0, seed=1)
    path = noiseless.path(moments, eta, alpha, 400)
    for trial in range(2):
        assert run["theta_path"][trial] == pytest.approx(path.theta[1:], abs=1e-12)
        assert run["beta_path"][trial] == pytest.approx(path.beta[1:], abs=1e-11)
    assert not run["beta_path"][:, 0].any(), "the first gradient of beta has no data"
    assert run["error_hat_path"][0, 0] == pytest.approx(np.linalg.norm(moments.beta_hat))
    assert run["error_hat"] == pytest.approx(0.0, abs=1e-9)
    assert "error_true" not in run
    M = np.eye(3) - eta * moments.A
    power = np.linalg.matrix_power(M, 7)
    assert run["theta_path"][0, 6] == pytest.approx((np.eye(3) - power) @ moments.theta_hat)


def normal_coordinates(samples: np.ndarray, mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Independent standard normals if the law is the stated one."""
    return np.linalg.solve(np.linalg.cholesky(covariance), (samples - mean).T).ravel()


def test_theta_has_its_exact_law():
    """Columns are independent N((I - M^t) theta_hat, V_t): noise 5 % off is seen, and Theta one step earlier."""
    problem = data(25, 3, 2)
    moments = Moments.of(problem.instruments, problem.regressors, problem.outcome)
    settings = Settings(steps=4, eta=0.2, alpha=0.05, lambda1=0.4, lambda2=0.1)
    theta = experiment(problem, settings, trials=10_000).run_block(0, seed=3)["theta"]
    mean, covariance = laws.theta_mean(moments, 0.2, 4), laws.theta_covariance(moments, 0.2, 0.4, 4)

    def whitened(mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
        return np.concatenate([normal_coordinates(theta[:, :, k], mean[:, k], covariance) for k in range(2)])

    assert is_standard_normal(whitened(mean, covariance))
    assert not is_standard_normal(whitened(mean, 1.05**2 * covariance))
    assert not is_standard_normal(whitened(laws.theta_mean(moments, 0.2, 3), covariance))
    columns = np.corrcoef(theta[:, 0, 0], theta[:, 0, 1])[0, 1]
    assert abs(columns) < stats.norm.isf(ALPHA / 2) / math.sqrt(10_000)


@pytest.mark.parametrize("gamma1", [INF, 1e9])
def test_beta_given_theta_has_its_exact_law(gamma1):
    """Without first-stage noise beta_T is Gaussian; with it, whitened by its own path of Theta, it is so as well."""
    problem = data(25, 3, 2)
    moments = Moments.of(problem.instruments, problem.regressors, problem.outcome)
    settings = Settings(steps=6, eta=0.2, alpha=0.05, gamma1=gamma1, lambda1=0.0, lambda2=0.5, record_paths=True)
    for lambda1 in (0.0, 0.3):
        run = experiment(problem, replace(settings, lambda1=lambda1), trials=10_000).run_block(0, seed=2)
        thetas = np.concatenate([np.zeros((10_000, 1, 3, 2)), run["theta_path"][:, :-1]], axis=1)
        law = laws.beta_law(moments, thetas, 0.05, 0.5)

        def whitened(scale: float, law=law, run=run) -> np.ndarray:
            roots = scale * np.linalg.cholesky(law.covariance[:, -1])
            return np.linalg.solve(roots, (run["beta"] - law.mean[:, -1])[..., None]).ravel()

        assert is_standard_normal(whitened(1.0))
        assert not is_standard_normal(whitened(1.05))


def test_heavy_tails_have_the_exact_median_without_a_mean_to_see():
    """A = G = b = eta = 1, alpha = 1/2, T = 12, no second-stage noise: the exact mean square at lambda1 = 1 is 28.8,
    the median of (beta_T - 1)^2 0.18. Order statistics that hold the median with probability 1 - ALPHA, against an
    independent scalar run.
    """
    problem = FixedMoments(given=Moments(A=np.eye(1), G=np.eye(1), b=np.ones(1), n=10**12), beta=np.ones(1))
    settings = Settings(steps=12, eta=1.0, alpha=0.5, lambda1=1.0, lambda2=0.0)
    errors = np.sort(experiment(problem, settings, trials=100_000).run_block(0, seed=1)["error_true"] ** 2)
    below = int(stats.binom.ppf(ALPHA / 2, 100_000, 0.5))
    low, high = errors[below - 1], errors[100_000 - below]
    generator = np.random.default_rng(12)
    theta, beta = np.zeros(400_000), np.zeros(400_000)
    for _ in range(12):
        theta, beta = 1.0 + generator.standard_normal(400_000), beta - 0.5 * theta * (theta * beta - 1.0)
    median = np.median((beta - 1.0) ** 2)
    assert 0.85 * median < low < median < high < 1.15 * median
    assert median == pytest.approx(0.18, abs=0.01)
