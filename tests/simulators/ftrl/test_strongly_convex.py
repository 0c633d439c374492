"""DP-FTRL on strongly convex losses: paths by hand, exact errors of quadratics, stationary laws by quadrature.

Monte Carlo comparisons, 41 in all: Student's interval at a rate of false alarms of 1e-9, at most ten times that where
the samples are skewed, so below 1e-6 for one run of the file. `mean_test` answers `holds` only if that interval is also
within the stated resolution: an error of twice the resolution cannot pass.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpbounds import DomainError
from dpbounds.ftrl import correlations
from simulators.engine import Experiment, Streams
from simulators.ftrl import (
    Huber,
    Logistic,
    Quadratic,
    Settings,
    StronglyConvexLoss,
    kinked_quadratic,
    piecewise_quadratic,
    stationary_settings,
    strongly_convex,
)
from tests.simulators.ftrl.strongly_convex_oracles import coloured_error, quadratic_error, white_error
from verify.checks.statistics import Moments, mean_test

ALPHA = 1e-9
SPECTRA = {
    "independent": correlations.independent(),
    "nu": correlations.nu(0.1),
    "damped anti-PGD": correlations.damped_anti_pgd(0.2),
    "finite": correlations.from_coefficients((1.0, 0.6, -0.2)),
}


def runs(loss, settings, trials: int = 1000, sigma_sgd: float = 0.0, seed: int = 0):
    problem = StronglyConvexLoss(loss=loss, sigma_sgd=sigma_sgd)
    experiment = Experiment(algorithm=strongly_convex, problem=problem, settings=settings, block_trials=trials)
    return experiment.run_block(0, seed=seed)


def expect(samples: np.ndarray, mean: float, resolution: float) -> None:
    """Holds at this resolution; an expectation twice the resolution off is refuted by the same samples."""
    moments = Moments.of(samples)
    assert mean_test(moments, mean, resolution=resolution, alpha=ALPHA).outcome == "holds"
    for wrong in (1.0 + 2.0 * resolution, 1.0 - 2.0 * resolution):
        assert mean_test(moments, wrong * mean, resolution=resolution, alpha=ALPHA).outcome == "fails"


# --- paths ---


@pytest.mark.parametrize("correlation", [*SPECTRA.values(), correlations.tree_aggregation(60)], ids=lambda c: c.name)
@pytest.mark.parametrize("clipping", [True, False])
@pytest.mark.parametrize(
    "loss", [kinked_quadratic(0.2, 1.0, 2), Logistic(mu=0.2, L=1.0, dimension=2)], ids=lambda loss: type(loss).__name__
)
def test_every_step_by_hand(loss, clipping, correlation):
    """From the streams' own draws, over more than one block of noise, the average starting inside a block."""
    settings = Settings(
        correlation=correlation, eta=0.5, rho=3.0, steps=60, clip_norm=0.4, clipping=clipping, average_from=51
    )
    problem = StronglyConvexLoss(loss=loss, sigma_sgd=0.3, initial=(1.0, -2.0))
    run = Experiment(algorithm=strongly_convex, problem=problem, settings=settings, block_trials=3)
    found, streams = run.run_block(1, seed=4), run.streams(1, seed=4)
    theta, averaged, clipped = np.tile(loss.minimiser + np.array([1.0, -2.0]), (3, 1)), [], np.zeros(3, dtype=int)
    noise = [w for block in settings.noise((3, 2), streams.noise) for w in block]
    draws = streams.data.standard_normal((60, 3, 2))
    for t in range(60):
        for trial in range(3):
            gradient = loss.gradient(theta[None, trial])[0] + 0.3 * draws[t, trial] / np.linalg.norm(draws[t, trial])
            if clipping and np.linalg.norm(gradient) > 0.4:
                gradient, clipped[trial] = 0.4 * gradient / np.linalg.norm(gradient), clipped[trial] + 1
            theta[trial] -= 0.5 * (gradient + noise[t][trial])
        averaged += [loss.suboptimality(theta)] if t >= 51 else []
    assert found["theta"] == pytest.approx(theta - loss.minimiser, abs=1e-12)
    assert found["loss"] == pytest.approx(averaged[-1])
    assert found["mean_loss"] == pytest.approx(np.mean(averaged, axis=0))
    assert found["clipped"].tolist() == clipped.tolist()
    assert clipped.any() == clipping


@pytest.mark.parametrize("dimension", [1, 3])
def test_gradient_errors_lie_on_the_sphere_and_have_mean_zero(dimension):
    problem = StronglyConvexLoss(loss=Quadratic(eigenvalues=(1.0,) * dimension), sigma_sgd=0.7)
    errors = problem.gradient_errors(np.random.default_rng(0), (20, 2000)).reshape(-1, dimension)
    assert np.linalg.norm(errors, axis=1) == pytest.approx(np.full(len(errors), 0.7))
    covariance = errors.T @ errors / len(errors)
    tolerance = 6.2 / np.sqrt(len(errors))
    assert errors.mean(axis=0) == pytest.approx(np.zeros(dimension), abs=0.7 * tolerance)
    assert covariance == pytest.approx(0.49 / dimension * np.eye(dimension), abs=0.49 * tolerance)


def test_the_start_is_forgotten_at_the_stated_rate():
    """Two runs on the same noise, ten units apart: within exp(-forgotten) / kappa^{1/2} of that after the burn-in."""
    for loss in (kinked_quadratic(0.2, 1.0), Huber(mu=0.2, L=1.0), Quadratic(eigenvalues=(0.2, 1.0))):
        for eta in (0.1, 1.9):
            settings = stationary_settings(loss, SPECTRA["nu"], eta, 0.5, forgotten=6.0, averaged=1.0)
            settings = replace(settings, steps=settings.burn_in, average_from=0)
            near = run_on(loss, settings, seed=1)["theta"]
            far = run_on(loss, settings, seed=1, initial=(10.0,) + (0.0,) * (loss.dimension - 1))["theta"]
            assert np.abs(far - near).max() <= 10.0 * np.exp(-6.0) * np.sqrt(loss.mu / loss.L)


def run_on(loss, settings, *, seed: int, initial: tuple[float, ...] | None = None):
    """20 runs on the noise of a seed, whatever the loss: the engine would give each its own."""
    noise, data, start = (np.random.default_rng([seed, role]) for role in range(3))
    streams = Streams(noise=noise, data=data, initial=start)
    return strongly_convex(StronglyConvexLoss(loss=loss, initial=initial), settings, streams, 20)


# --- exact errors ---


@pytest.mark.parametrize("correlation", SPECTRA.values(), ids=SPECTRA.keys())
@pytest.mark.parametrize(("eta", "h"), [(0.1, 0.5), (0.4, 1.0), (1.7, 1.0)])
def test_quadratics_have_the_exact_stationary_error(correlation, eta, h):
    """Time average and last iterate; 3 % and 15 % seen with certainty."""
    loss = Quadratic(eigenvalues=(h,))
    settings = stationary_settings(loss, correlation, eta, 0.8, averaged=30.0)
    found = runs(loss, settings, trials=8000, sigma_sgd=0.5)
    expected = quadratic_error(correlation, h, eta, 0.8, sigma_sgd=0.5)
    expect(found["mean_loss"], expected, 0.03)
    expect(found["loss"], expected, 0.15)


def test_each_coordinate_has_the_privacy_noise_and_its_share_of_the_gradient_noise():
    loss = Quadratic(eigenvalues=(0.2, 0.5, 1.0))
    settings = stationary_settings(loss, SPECTRA["nu"], 0.5, 0.5, averaged=30.0, clip_norm=2.0)
    expected = sum(quadratic_error(SPECTRA["nu"], h, 0.5, 0.125, sigma_sgd=2.0 / np.sqrt(3)) for h in loss.eigenvalues)
    expect(runs(loss, settings, trials=4000, sigma_sgd=2.0)["mean_loss"], expected, 0.03)


# --- stationary laws ---


ON_THE_LINE = {
    "kinked": kinked_quadratic(0.1, 1.0),
    "Huber": piecewise_quadratic((-0.2, 0.2), (0.1, 1.0, 0.1)),
    "opposite": piecewise_quadratic((-0.2, 0.2), (1.0, 0.1, 1.0)),
    "lopsided": piecewise_quadratic((-0.5, 0.0, 0.1), (0.1, 0.7, 1.0, 0.2)),
}


def test_the_laws_by_quadrature_are_right_for_quadratics():
    quadratic = piecewise_quadratic((0.0,), (0.3, 0.3))
    for eta in (0.3, 1.0):
        white = quadratic_error(SPECTRA["independent"], 0.3, eta, 0.5)
        assert white_error(quadratic, eta, 1.0) == pytest.approx(white, rel=1e-9)
        assert white_error(quadratic, eta, 1.0, 0.5) == pytest.approx(1.25 * white, rel=1e-9)
    damped = SPECTRA["damped anti-PGD"]
    deviation = float(damped.limiting_sensitivity())
    assert coloured_error(quadratic, 0.2, 0.5, deviation) == pytest.approx(
        quadratic_error(damped, 0.3, 0.5, 0.5), rel=1e-4
    )


@pytest.mark.parametrize("loss", ON_THE_LINE.values(), ids=ON_THE_LINE.keys())
def test_the_two_laws_by_quadrature_agree_on_white_noise(loss):
    """Damped anti-PGD with nu = 1, from another chain by another rule."""
    assert coloured_error(loss, 1.0, 0.5, 1.0) == pytest.approx(white_error(loss, 0.5, 1.0), rel=1e-4)


@pytest.mark.parametrize("loss", ON_THE_LINE.values(), ids=ON_THE_LINE.keys())
@pytest.mark.parametrize(("eta", "sigma_sgd"), [(0.3, 0.0), (1.0, 1.0), (1.8, 0.0)])
def test_white_noise_gives_the_stationary_law(loss, eta, sigma_sgd):
    """5 % seen with certainty."""
    settings = stationary_settings(loss, SPECTRA["independent"], eta, 0.5, averaged=30.0)
    found = runs(loss, settings, trials=3000, sigma_sgd=sigma_sgd)["mean_loss"]
    expect(found, white_error(loss, eta, 1.0, sigma_sgd), 0.05)


@pytest.mark.parametrize("loss", ON_THE_LINE.values(), ids=ON_THE_LINE.keys())
def test_anti_correlated_noise_gives_the_stationary_law(loss):
    """5 % seen with certainty."""
    damped = SPECTRA["damped anti-PGD"]
    found = runs(loss, stationary_settings(loss, damped, 0.5, 0.5, averaged=30.0), trials=3000)["mean_loss"]
    expect(found, coloured_error(loss, 0.2, 0.5, float(damped.limiting_sensitivity())), 0.05)


def test_a_huber_loss_and_its_two_ridges_agree():
    settings = stationary_settings(ON_THE_LINE["Huber"], SPECTRA["nu"], 0.5, 0.5)
    ridges, radial = (
        run_on(loss, settings, seed=2) for loss in (ON_THE_LINE["Huber"], Huber(mu=0.1, L=1.0, scale=0.2))
    )
    assert ridges["mean_loss"] == pytest.approx(radial["mean_loss"])


# --- refusals ---


def test_problems_and_settings_outside_their_ranges_are_refused():
    loss = kinked_quadratic(0.1, 1.0)
    with pytest.raises(DomainError, match=r"^sigma_sgd = "):
        StronglyConvexLoss(loss=loss, sigma_sgd=-1.0)
    with pytest.raises(DomainError, match=r"^initial = .*1 numbers"):
        StronglyConvexLoss(loss=loss, initial=(1.0, 2.0))
    with pytest.raises(DomainError, match=r"^eta = 2\.0 .*below 2 / L"):
        stationary_settings(loss, SPECTRA["nu"], 2.0, 0.5)
    with pytest.raises(DomainError, match=r"^forgotten = "):
        stationary_settings(loss, SPECTRA["nu"], 0.5, 0.5, forgotten=0.0)
    with pytest.raises(DomainError, match=r"^sensitivity = .*horizon"):
        stationary_settings(loss, correlations.anti_pgd(), 0.5, 0.5)
