"""Private releases: bounded vectors, laws from sufficient statistics, noise, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpbounds import DomainError
from simulators.engine import Experiment, Streams
from simulators.iv.confidence import (
    Compliers,
    MomentDesign,
    SignDesign,
    WeakInstruments,
    block_variation,
    clamping_variation,
    release_blocks,
    release_blocks_in_law,
    release_moments,
    release_moments_in_law,
    release_signs,
    step_curves,
)
from simulators.iv.confidence.noise import symmetric_noise, wishart
from simulators.iv.samples import RecordSample

# False-alarm probability of one statistical assertion.
ALPHA = 1e-9
TRIALS = 3_000


def design(**changed: Any) -> MomentDesign:
    given: dict[str, Any] = {"mu": 1.0, "instrument_bound": 1.5, "outcome_bound": 12.0, "regressor_bounds": (9.0,)}
    return MomentDesign(**{**given, **changed})


def same_law(left: np.ndarray, right: np.ndarray) -> bool:
    """Two samples of n each: P(sqrt(n / 2) D > x) <= 2 exp(-2 x^2) for n >= 458 (Wei and Dudley 2012, Thm 1).

    At 3000 each two normals whose means are .17 standard deviations apart, or deviations 15 % apart, are told apart.
    """
    assert len(left) == len(right) >= 458
    threshold = math.sqrt(math.log(2.0 / ALPHA) / len(left))
    found: Any = stats.ks_2samp(left, right, method="asymp")
    return bool(found.statistic <= threshold)


def run(algorithm: Any, problem: Any, settings: Any, seed: int = 0, trials: int = TRIALS) -> dict[str, np.ndarray]:
    experiment = Experiment(algorithm=algorithm, problem=problem, settings=settings, block_trials=trials)
    return experiment.run_block(0, seed=seed)


def scalars(arrays: dict[str, np.ndarray], names: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Every entry, and products of two arrays' first entries."""
    flat = {name: arrays[name].reshape(len(arrays[name]), -1) for name in names}
    found = {f"{name} {k}": column for name, values in flat.items() for k, column in enumerate(values.T)}
    first, *rest = flat.values()
    for k, other in enumerate(rest):
        found[f"product {k}"] = (first[:, 0] - first[:, 0].mean()) * (other[:, -1] - other[:, -1].mean())
    return found


@pytest.mark.parametrize("errors", ["normal", "heteroskedastic"])
def test_moments_in_law_are_those_of_records(errors: Any) -> None:
    problem = WeakInstruments(n=40, q=2, strength=5.0, endogeneity=-0.7, instruments="sign", errors=errors, slope=0.8)
    settings = design(outcome_centre=0.3, regressor_centres=(-0.2,), outcome_bound=14.0)
    assert clamping_variation(problem, settings) < 1e-6
    drawn, in_law = (
        scalars(run(algorithm, problem, settings, seed), ("exact_first", "exact_second"))
        for seed, algorithm in enumerate((release_moments, release_moments_in_law))
    )
    assert drawn.keys() == in_law.keys()
    assert all(same_law(drawn[name], in_law[name]) for name in drawn)
    # The same test sees errors of other deviation, and instruments of other strength.
    other = WeakInstruments(n=40, q=2, strength=9.0, endogeneity=-0.7, instruments="sign", errors=errors, slope=0.8)
    wrong = scalars(run(release_moments_in_law, other, settings, 1), ("exact_first", "exact_second"))
    assert not all(same_law(drawn[name], wrong[name]) for name in drawn)


def test_blocks_in_law_are_those_of_records() -> None:
    problem = WeakInstruments(n=30, q=3, strength=6.0, endogeneity=0.6, slope=-0.5)
    settings = design(mu=20.0, instrument_bound=7.5, outcome_bound=9.0)
    assert block_variation(problem, settings) < 1e-6
    names = ("cross", "instruments", "variables")
    drawn, in_law = (
        scalars(run(algorithm, problem, settings, seed), names)
        for seed, algorithm in enumerate((release_blocks, release_blocks_in_law))
    )
    assert all(same_law(drawn[name], in_law[name]) for name in drawn)


def test_vectors_are_bounded_and_ordered() -> None:
    rng = np.random.default_rng(1)
    n, q = 50, 3
    sample = RecordSample(
        instruments=5 * rng.standard_normal((1, q, n)),
        regressors=8 * rng.standard_normal((1, 2, n)),
        outcome=20 * rng.standard_normal((1, n)),
    )
    settings = design(regressor_bounds=(2.0, 3.0), regressor_centres=(1.0, -1.0), outcome_centre=0.5, ratio=0.7)
    u = settings.vectors(sample)
    assert u.shape == (1, 9, n)
    assert np.linalg.norm(u, axis=1).max() <= 1 + 1e-12
    for i in range(5):
        z = sample.instruments[0, :, i]
        z = z * min(1.0, 1.5 / np.linalg.norm(z)) / 1.5
        y = min(max(sample.outcome[0, i] - 0.5, -12.0), 12.0)
        x = [min(max(sample.regressors[0, j, i] - c, -b), b) for j, (c, b) in enumerate(((1.0, 2.0), (-1.0, 3.0)))]
        a_y, (a_1, a_2) = settings.weights
        assert np.allclose(u[0, :, i], np.kron([y / a_y, x[0] / a_1, x[1] / a_2], z), rtol=1e-13)
    assert settings.thetas([2.0, -3.0]) == pytest.approx([2.0 * a_1 / a_y, -3.0 * a_2 / a_y])


def test_sums_and_noise_of_release_u() -> None:
    problem = WeakInstruments(n=25, q=2, strength=3.0)
    arrays = run(release_moments, problem, design(), trials=4)
    again = run(release_moments, problem, design(mu=0.5), trials=4)
    assert arrays["first"].shape == (4, 4) and arrays["second"].shape == (4, 4, 4)
    assert np.array_equal(arrays["second"], np.swapaxes(arrays["second"], 1, 2))
    assert not np.array_equal(arrays["exact_first"][0], arrays["exact_first"][1])
    # Streams are keyed by the settings, so the data differ; the ratio of scales is that of the budgets.
    assert design(mu=0.5).scales == pytest.approx([2 * scale for scale in design().scales])
    assert again["first"].std() > 0
    assert np.array_equal(run(release_moments, problem, design(), trials=4)["first"], arrays["first"])


def test_symmetric_noise_has_half_the_variance_off_the_diagonal() -> None:
    noise = symmetric_noise(np.random.default_rng(2), 20_000, 3, 2.0)
    assert np.array_equal(noise, np.swapaxes(noise, 1, 2))
    entries = [(noise[:, 1, 1], 4.0), (noise[:, 0, 2], 2.0)]
    for values, variance in entries:
        squares = float(values @ values) / variance
        low, high = stats.chi2(20_000).ppf([ALPHA / 2, 1 - ALPHA / 2])
        assert low <= squares <= high
    correlation = float(np.corrcoef(noise[:, 0, 0], noise[:, 0, 1])[0, 1])
    assert abs(correlation) < 6.2 / math.sqrt(20_000)


@pytest.mark.parametrize("degrees", [0, 1, 2, 5])
def test_wishart_of_few_degrees(degrees: int) -> None:
    W = wishart(np.random.default_rng(3), np.full(TRIALS, degrees), 3)
    rows = np.random.default_rng(4).standard_normal((TRIALS, 3, degrees))
    other = rows @ np.swapaxes(rows, 1, 2)
    assert np.linalg.matrix_rank(W[0]) == min(degrees, 3)
    if degrees:
        for i, j in ((0, 0), (2, 2), (0, 2), (1, 2)):
            assert same_law(W[:, i, j], other[:, i, j])


def test_sign_curves_by_brute_force() -> None:
    rng = np.random.default_rng(5)
    n = 40
    sample = RecordSample(
        instruments=rng.choice([-0.5, 0.5], size=(3, 1, n)),
        regressors=rng.standard_normal((3, 1, n)),
        outcome=2 * rng.standard_normal((3, n)),
    )
    settings = SignDesign(mu=1.0, low=-2.0, high=3.0, size=17, pi=0.3, outcome_centre=0.2, regressor_centre=-0.4)
    found = settings.curves(sample)
    for trial in range(3):
        for k, beta in enumerate(np.linspace(-2.0, 3.0, 17)):
            z = (sample.instruments[trial, 0] > 0).astype(float)
            residual = sample.outcome[trial] - 0.2 - beta * (sample.regressors[trial, 0] + 0.4)
            assert found[trial, k] == pytest.approx(float((z - 0.3) @ np.sign(residual)), abs=1e-12)


def test_a_constant_regressor_gives_a_flat_curve() -> None:
    sample = RecordSample(
        instruments=np.array([[[1.0, -1.0]]]), regressors=np.zeros((1, 1, 2)), outcome=np.array([[3.0, -2.0]])
    )
    assert np.allclose(SignDesign(mu=1.0, low=-1.0, high=1.0, size=5).curves(sample), 1.0)


def test_noise_of_the_curve_has_its_covariance() -> None:
    settings = SignDesign(mu=2.0, low=0.0, high=1.0, size=4, pi=0.4)
    noise = step_curves(settings, np.random.default_rng(6), 40_000)
    angles = math.pi * (2 * np.arange(4) + 1) / 4
    for k, m in ((0, 0), (3, 3), (0, 1), (0, 3), (1, 3)):
        stated = float(settings.spectrum @ np.cos(angles * (k - m))) / 4
        spread = math.sqrt(2.0) * settings.deviation**2 / math.sqrt(len(noise))
        assert abs(float(noise[:, k] @ noise[:, m]) / len(noise) - stated) < 6.3 * spread
    assert settings.deviation**2 == pytest.approx(float(settings.spectrum.mean()))


def test_late_is_what_the_instrument_identifies() -> None:
    problem = Compliers(n=200_000, compliers=0.3, effect=1.5)
    sample = problem.draw(np.random.default_rng(7), 1)
    z, x, y = sample.instruments[0, 0], sample.regressors[0, 0], sample.outcome[0]
    error = (z @ (y - 1.5 * x)) / math.sqrt(len(z) * float(np.mean((z * (y - 1.5 * x)) ** 2)))
    assert abs(error) < 6.2
    assert abs(float(x.mean()) - 0.45) < 6.2 * 0.5 / math.sqrt(len(z))
    # Least squares answers another question.
    assert abs(float(np.polyfit(x, y, 1)[0]) - 1.5) > 0.3


@pytest.mark.parametrize("errors", ["normal", "t3", "exponential", "heteroskedastic"])
def test_errors_have_mean_0_and_variance_1(errors: Any) -> None:
    problem = WeakInstruments(n=100_000, strength=1.0, endogeneity=0.5, errors=errors, slope=0.0)
    sample = problem.draw(np.random.default_rng(8), 1)
    for values in (sample.outcome[0], sample.regressors[0, 0]):
        assert abs(float(values.mean())) < 6.2 / math.sqrt(len(values))
        # The fourth moment of t3 is infinite: quartiles then.
        if errors != "t3":
            assert abs(float(values.var()) - 1.0) < 6.2 * 3.5 / math.sqrt(len(values))
    if errors == "t3":
        quartile = float(np.quantile(np.abs(sample.outcome[0]), 0.5))
        assert quartile == pytest.approx(float(stats.t(3).ppf(0.75)) / math.sqrt(3.0), rel=0.03)


@pytest.mark.parametrize(
    ("name", "value"),
    [("mu", 0.0), ("instrument_bound", -1.0), ("outcome_bound", math.nan), ("regressor_bounds", ()), ("share", 1.0)],
)
def test_designs_refuse(name: str, value: Any) -> None:
    with pytest.raises(DomainError, match=name):
        _ = design(**{name: value}).scales


def test_more_is_refused() -> None:
    with pytest.raises(DomainError, match="regressor_bounds"):
        design(regressor_centres=(0.0, 1.0))
    with pytest.raises(DomainError, match="adjacency"):
        design(adjacency="neighbours")
    with pytest.raises(DomainError, match="low"):
        SignDesign(mu=1.0, low=1.0, high=0.0, size=9)
    with pytest.raises(DomainError, match="strength"):
        WeakInstruments(n=10, strength=0.9)
    with pytest.raises(DomainError, match="endogeneity"):
        WeakInstruments(n=10, strength=2.0, endogeneity=1.1)
    with pytest.raises(DomainError, match="compliers"):
        Compliers(n=10, compliers=0.8)
    streams = Streams(**{role: np.random.default_rng(0) for role in ("noise", "data", "initial")})
    wide, narrow = design(outcome_bound=60.0, regressor_bounds=(60.0,)), design(outcome_bound=3.0)
    signs = WeakInstruments(n=1000, strength=2.0, instruments="sign")
    with pytest.raises(DomainError, match="clamped"):
        release_moments_in_law(signs, narrow, streams, 2)
    with pytest.raises(DomainError, match="Gaussian"):
        release_blocks_in_law(signs, wide, streams, 2)
    with pytest.raises(DomainError, match="signs"):
        release_moments_in_law(WeakInstruments(n=100, strength=2.0), wide, streams, 2)
    with pytest.raises(DomainError, match="clipped"):
        release_blocks_in_law(WeakInstruments(n=100, strength=2.0), wide, streams, 2)
    with pytest.raises(DomainError, match="one instrument"):
        release_signs(WeakInstruments(n=100, q=2, strength=2.0), SignDesign(mu=1, low=0, high=1, size=3), streams, 2)
