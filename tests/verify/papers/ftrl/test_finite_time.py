from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpbounds.ftrl import correlations
from verify.papers.ftrl.paper.sd_2_2_recursions import noise_responses, weighted_sums
from verify.papers.ftrl.tools import input_laws
from verify.papers.ftrl.tools.component_runs import Scenario, components, iterates
from verify.papers.ftrl.tools.planar_systems import extremal, systems


def test_extremal_systems_have_the_stated_step_sizes_and_spectra():
    for point in extremal():
        batch = systems(**{name: np.asarray(value)[None] for name, value in point.items()})
        assert batch.eta * batch.laws.r_squared() == pytest.approx([1.0])
        assert batch.laws.eigenvalues[0] == pytest.approx([1.0, point["second"]])


def test_noise_responses_and_weighted_sums_by_their_definitions():
    rng = np.random.default_rng(5)
    Q, beta = rng.standard_normal((3, 3, 2, 2)), rng.standard_normal((3, 4))
    for i in range(3):
        for tau in range(4):
            V, product = beta[i, tau] * np.eye(2), np.eye(2)
            for k in range(1, tau + 1):
                product = product @ Q[i, 3 - k]  # Q_{t-1}, Q_{t-2}, ...
                V = V + beta[i, tau - k] * product
            assert noise_responses(Q, beta)[i, tau] == pytest.approx(np.trace(V @ V.T))
            weighted = sum(abs(beta[i, k]) * 0.7 ** ((tau - k) / 2) for k in range(tau + 1))
            assert weighted_sums(beta, np.full(3, 0.3))[i, tau] == pytest.approx(weighted)


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
    assert gaussian.r_squared == pytest.approx(float(input_laws.gaussian((1.0, 0.3)).r_squared()[0]))
    signs = replace(gaussian, inputs="sign")
    assert signs.r_squared == pytest.approx(float(input_laws.signs((1.0, 0.3)).r_squared()[0]))
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
