from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpbounds.ftrl import correlations
from verify.ftrl.claims import finite_time_moments as exact
from verify.ftrl.claims import moments
from verify.ftrl.claims.finite_time_runs import Scenario, components, iterates


def random_instances(n):
    rng = np.random.default_rng(3)
    return {
        "second": rng.uniform(0.05, 1.0, n),
        "atoms": rng.uniform(-1.0, 1.0, (n, 6)),
        "weights": rng.uniform(0.01, 1.0, (n, 5)),
        "fraction": rng.uniform(0.1, 1.0, n),
        "beta": rng.uniform(-1.5, 1.5, (n, 4)),
        "noise": rng.uniform(0.0, 1.0, n),
        "residual": rng.uniform(0.0, 1.0, n),
    }


def single(batch, i):
    """Instance i for the slow oracle."""
    eigenvalues = batch.laws.eigenvalues[i]
    scale = np.sqrt(np.einsum("i,j,k,l->ijkl", *[eigenvalues] * 4))
    return moments.InputLaw("one", np.diag(eigenvalues), batch.laws.fourth[i] * scale)


def test_batched_trajectories_agree_with_single_ones():
    batch, start = exact.systems(**random_instances(6)), np.tile([1.0, -2.0], (6, 1))
    batched = np.array(list(exact.second_moments(batch, start, 9)))
    for i in range(6):
        law = single(batch, i)
        assert batch.eta[i] * law.r_squared() <= 1 + 1e-12
        noise, residual = batch.noise[i], batch.residual[i]
        expected = moments.trajectory(law, batch.eta[i], batch.beta[i], noise, residual, 9, start[i])
        assert batched[:, i] == pytest.approx(expected, rel=1e-11, abs=1e-13)
        limit = moments.stationary(law, batch.eta[i], batch.beta[i], noise, residual)
        assert batch.second_moments()[i] == pytest.approx(limit, rel=1e-10, abs=1e-13)
        assert exact.gap(batch, batched[3])[i] == pytest.approx(moments.suboptimality(law, expected[3]))


def test_one_step_operator_agrees_with_the_fourth_moments():
    batch = exact.systems(**random_instances(4))
    M = np.tile([[2.0, 0.3], [0.3, 1.0]], (4, 1, 1))
    moved = exact.after_step(batch, M)
    for i in range(4):
        expected = single(batch, i).after_step(batch.eta[i]) @ M[i].reshape(-1)
        assert moved[i].reshape(-1) == pytest.approx(expected, rel=1e-12)
    assert exact.trace(moved) == pytest.approx(np.trace(moved, axis1=1, axis2=2))


def test_noise_responses_and_weighted_sums_by_their_definitions():
    rng = np.random.default_rng(5)
    Q, beta = rng.standard_normal((3, 3, 2, 2)), rng.standard_normal((3, 4))
    for i in range(3):
        for tau in range(4):
            V, product = beta[i, tau] * np.eye(2), np.eye(2)
            for k in range(1, tau + 1):
                product = product @ Q[i, 3 - k]  # Q_{t-1}, Q_{t-2}, ...
                V = V + beta[i, tau - k] * product
            assert exact.noise_responses(Q, beta)[i, tau] == pytest.approx(np.trace(V @ V.T))
            weighted = sum(abs(beta[i, k]) * 0.7 ** ((tau - k) / 2) for k in range(tau + 1))
            assert exact.weighted_sums(beta, np.full(3, 0.3))[i, tau] == pytest.approx(weighted)


@pytest.fixture(scope="module")
def replayed():
    """One run of the component simulator, and the same draws pushed through explicit matrices."""
    scenario = Scenario(label="", eigenvalues=(1.0, 0.3), sigma_sgd=0.5, initial=(1.0, -2.0), rho=0.7)
    beta, steps, eta = np.array([1.0, -0.5, 0.25, 0, 0, 0]), 6, 0.1
    settings = scenario.settings(eta, steps, clipping=False)
    settings = replace(settings, correlation=correlations.from_coefficients([1.0, -0.5, 0.25]), sensitivity=1.0)
    experiment = components(scenario.problem, settings)
    seen = experiment.run_block(0, seed=1)
    streams = experiment.streams(0, seed=1)
    noise = np.concatenate(list(settings.noise((experiment.block_trials, 2), streams.noise)))
    x = scenario.problem.draw(streams.data, noise.shape[:2])[:, 0]
    xi = 0.5 * streams.data.standard_normal(noise.shape[:2])[:, 0]
    return seen, noise[:, 0], x, xi, beta, eta, settings.noise_multiplier


def test_components_add_up_to_the_algorithm(replayed):
    seen, noise, x, xi, _, eta, _ = replayed
    theta, largest, gradient = np.array([1.0, -2.0]), 0.0, 0.0
    for w, row, residual in zip(noise, x, xi, strict=True):
        g = (row @ theta - residual) * row
        largest, gradient = max(largest, theta @ theta), max(gradient, float(np.linalg.norm(g)))
        theta = theta - eta * (g + w)
    assert seen["all"][0] == pytest.approx(largest)
    assert seen["gradients"][0] == pytest.approx(gradient)
    assert seen["inputs"][0] == pytest.approx(np.max(np.sum(x**2, axis=1)))


def test_ratios_by_their_definitions(replayed):
    seen, noise, x, xi, beta, eta, scale = replayed
    Q = [np.eye(2) - eta * np.outer(row, row) for row in x]
    ratios = {"W ratio": 0.0, "U ratio": 0.0, "U ratio squared": 0.0, "sgd ratio": 0.0, "dp ratio": 0.0}
    for t in range(1, len(x)):
        W, U = [], []
        sgd, dp = np.zeros(2), np.zeros(2)
        for tau in range(t):
            V, product = beta[tau] * np.eye(2), np.eye(2)
            for k in range(1, tau + 1):
                product = product @ Q[t - k]
                V = V + beta[tau - k] * product
            pushed = product @ x[t - 1 - tau]
            W.append(pushed @ pushed)
            U.append(np.trace(V @ V.T))
            sgd, dp = sgd + eta * pushed * xi[t - 1 - tau], dp - eta * product @ noise[t - 1 - tau]
            bound = sum(abs(beta[k]) * (1 - eta * 0.3) ** ((tau - k) / 2) for k in range(tau + 1))
            ratios["W ratio"] = max(ratios["W ratio"], W[-1] / (1 - eta * 0.3) ** tau)
            ratios["U ratio"] = max(ratios["U ratio"], U[-1] / bound)
            ratios["U ratio squared"] = max(ratios["U ratio squared"], U[-1] / bound**2)
        ratios["sgd ratio"] = max(ratios["sgd ratio"], sgd @ sgd / (eta**2 * 0.25 * sum(W)))
        ratios["dp ratio"] = max(ratios["dp ratio"], dp @ dp / (eta**2 * scale**2 * sum(U)))
    for name, ratio in ratios.items():
        assert seen[name][0] == pytest.approx(ratio), name


def test_scenarios_know_their_moments_and_light_runs_agree_with_heavy_ones():
    gaussian = Scenario(label="", eigenvalues=(1.0, 0.3), initial=(3.0, 4.0), correlated=True)
    assert gaussian.r_squared == pytest.approx(moments.gaussian((1.0, 0.3)).r_squared())
    assert replace(gaussian, inputs="sign").r_squared == pytest.approx(moments.signs((1.0, 0.3)).r_squared())
    assert gaussian.distance == 5.0
    settings = gaussian.settings(0.05, 4, clipping=False)
    assert settings.correlation.matrix(2)[1, 0] == pytest.approx(-0.5 * (1 - 0.05 * 0.3))
    heavy, light = (
        replace(kind(gaussian.problem, settings), block_trials=50).run_block(0, seed=0)
        for kind in (components, iterates)
    )
    assert set(light) < set(heavy)
    assert np.all(light["hat"] == 25.0)
    assert np.all(light["hat"] == heavy["hat"])
