"""Algorithms of the papers and releases of this library with what they claim, and what is true of the claim."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.linalg import toeplitz

from dpbounds.audit import Box, Pair, gaussian
from dpbounds.ftrl import correlations
from dpbounds.glm import privacy as glm_privacy
from dpbounds.ols import (
    adassp_mu,
    adassp_scales,
    gradient_descent_scales,
    hessian_mixing_scales,
    linear_mixing_scales,
    newton,
    tail_averaged,
)
from dpbounds.ols.tail_averaged import TailAveraged
from dpbounds.privacy import gaussian_mu, noise_multiplier, zcdp_epsilon
from dpbounds.private import InstrumentalVariables, LinearRegression, LocalGLM
from simulators.audit.domains import neighbours
from simulators.engine import Streams
from simulators.ftrl.privacy_game import PrivacyGame, privacy_game
from simulators.ftrl.settings import Settings as Training
from simulators.glm.estimators import bounded
from simulators.glm.settings import Settings as UserSettings
from simulators.iv.confidence.disclosing import disclose
from simulators.iv.confidence.records import bounded_records
from simulators.iv.confidence.signs import SignDesign
from simulators.iv.confidence.sources import noise_source
from simulators.ols.adassp import AdaSSP, adassp, symmetric_noise
from simulators.ols.gradient_descent import GradientDescent, gradient_descent
from simulators.ols.hessian_mixing import HessianMixing, hessian_mixing, mixing_noise
from simulators.ols.linear_mixing import LinearMixing, linear_mixing
from simulators.ols.newton import recentred_newton
from simulators.ols.records import LeastSquares
from simulators.ols.tail_averaging import tail_release
from simulators.sources import GaussianSource
from tests.simulators.audit.examples import Row

TRUE, FALSE = 0.0, math.inf
Run = Callable[..., Any]


def streams(seed: int | None) -> Streams:
    rng = np.random.default_rng(seed)
    return Streams(noise=rng, data=rng, initial=rng)


def broken(row: Row) -> bool:
    """Whether the claim is false."""
    return row.true > TRUE


# --- ftrl: Algorithm 1 ---

STEPS = 8


def game(correlation: correlations.Correlation, sensitivity: Any = "horizon", **problem: Any) -> tuple[Run, Any]:
    """All iterates of Algorithm 1 with clipping, and the covariance of their noise."""
    settings = Training(correlation=correlation, eta=0.7, rho=0.5, steps=STEPS, sensitivity=sensitivity)

    def run(data, seed):
        one = PrivacyGame(stream=1 if data[0] else 0, length=5.0, **problem)
        return privacy_game(one, settings, streams(seed), 1)["theta"][0]

    sums = 0.7 * settings.noise_multiplier * np.tril(np.ones((STEPS, STEPS))) @ correlation.matrix(STEPS)
    return run, gaussian(sums @ sums.T)


def ftrl() -> Iterator[Row]:
    """rho-zCDP of every mechanism of Table 3; an adversary who looks; and noise as if the sensitivity were 1."""
    named = {
        "independent": correlations.independent(),
        "nu = 0, Optimal CC": correlations.optimal_counting(),
        "nu = 0.1": correlations.nu(0.1),
        "TreeAgg": correlations.tree_aggregation(STEPS),
        "Honaker": correlations.tree_aggregation(STEPS, decoder="honaker"),
        "Full Honaker": correlations.full_honaker(STEPS),
        "FFT": correlations.fft_mechanism(STEPS),
        "ME": correlations.optimal_prefix_sum(STEPS),
    }
    stream = [Pair(np.zeros(1), np.ones(1), "the first gradient is 0 in stream 1")]
    for name, one in named.items():
        run, law = game(one, adversary="constant", dimension=400)
        yield Row(f"ftrl Algorithm 1, {name}", run, {"rho": 0.5}, TRUE, domain=stream, law=law)
    run, law = game(correlations.optimal_counting(), 1.0, adversary="constant", dimension=400)
    yield Row("ftrl, sensitivity 1", run, {"rho": 0.5}, FALSE, domain=stream, law=law)
    run, _ = game(correlations.nu(0.1), dimension=2)
    yield Row("ftrl Algorithm 1, adaptive", run, (float(zcdp_epsilon(0.5, 0.01)), 0.01), TRUE, domain=stream)


# --- glm: Algorithms 2 and 4, Lemma 4, Remark 10, messages ---

P = 3


def user(beyond: str, label_bound: float) -> tuple[Run, Any]:
    """The message of Algorithms 2 and 4, in units of its noise."""
    scales = glm_privacy.noise_scales(0.9, 1e-3, radius=1.0, label_bound=label_bound, p=P)
    settings = UserSettings(beyond=beyond, radius=1.0, label_bound=label_bound)  # pyright: ignore[reportArgumentType]
    upper = np.triu_indices(P)

    def run(data, seed):
        x, y = bounded(data[:, :P], data[:, P], settings)
        noise = np.random.default_rng(seed).standard_normal(len(upper[0]) + P)
        return np.concatenate([np.outer(x[0], x[0])[upper] / scales.gram, x[0] * y[0] / scales.cross]) + noise

    return run, gaussian(scale=1.0)


def message(**settings: Any) -> Run:
    def run(data, seed):
        survey = LocalGLM(link="logistic", seed=seed, **settings)
        return survey.message(data[:, :P], np.sign(data[:, P]) > 0).ravel()

    return run


def classical(epsilon: float, delta: float) -> Run:
    """Lemma 4, for which the paper states no range of epsilon."""
    scale = math.sqrt(2 * math.log(1.25 / delta)) / epsilon

    def run(data, seed):
        total = (data / np.maximum(np.linalg.norm(data, axis=1, keepdims=True), 1.0)).sum(axis=0)
        return total + scale * np.random.default_rng(seed).standard_normal(total.shape)

    return run


def glm() -> Iterator[Row]:
    labels = Box(shape=(1, P + 1), low=[-0.5] * P + [0.0], high=[0.5] * P + [1.0])  # pyright: ignore
    wide = Box(shape=(1, P + 1), low=[-0.5] * P + [-np.inf], high=[0.5] * P + [np.inf])  # pyright: ignore
    for name, beyond, bound, domain, true in (
        ("glm Algorithm 2", "keep", 1.0, labels, TRUE),
        ("glm Algorithm 4, as printed", "keep", 2.0, wide, FALSE),
        ("glm Algorithm 4, labels clipped", "clip", 2.0, wide, TRUE),
    ):
        run, law = user(beyond, bound)
        yield Row(name, run, (0.9, 1e-3), true, "replace-one", domain, law)
    everything, plane = Box(shape=(1, P + 1), low=-1, high=1), Box(shape=(1, 2000))
    for noise in ("cap", "hemisphere"):
        run = message(epsilon=1.0, noise=noise)
        yield Row(f"LocalGLM, {noise}", run, 1.0, TRUE, "replace-one", everything, "unknown")
    run = message(epsilon=1.0, delta=1e-5, noise="gaussian", intercept=True)
    yield Row("LocalGLM, intercept", run, (1.0, 1e-5), TRUE, "replace-one", everything, gaussian())
    for epsilon, true in ((1.0, TRUE), (20.0, FALSE)):
        name = f"glm Lemma 4 at {epsilon:g}"
        yield Row(name, classical(epsilon, 1e-5), (epsilon, 1e-5), true, domain=plane, law=gaussian())


# --- ols ---

D, CLAIM = 3, (1.0, 1e-3)


def scaled(data: np.ndarray) -> LeastSquares:
    """Rows (x, y) of any numbers, shortened to their bounds."""
    return LeastSquares.bounded(data[:, :-1], data[:, -1], beyond="clip")


def estimate(algorithm: Any, settings: Any) -> Run:
    """theta, which is all that is released."""

    def run(data, seed):
        return algorithm(scaled(data), settings, streams(seed), 1)["theta"][0]

    return run


def moments(accounting: Any, iso: bool) -> Run:
    """What AdaSSP computes from: an eigenvalue, X'X and X'Y, in units of their noise."""
    scales = adassp_scales(*CLAIM, iso=iso, accounting=accounting)
    upper, root = np.triu_indices(D), math.sqrt(0.5) if iso else 1.0
    unit = np.where(upper[0] == upper[1], 1.0, root)

    def run(data, seed):
        problem, rng = scaled(data), np.random.default_rng(seed)
        gram = problem.gram + scales.gram * symmetric_noise(rng, 1, D, iso)[0]
        cross = problem.cross / scales.moment + rng.standard_normal(D)
        eigenvalue = problem.lambda_min / scales.eigenvalue + rng.standard_normal()
        return np.concatenate([[eigenvalue], gram[upper] / (scales.gram * unit), cross])

    return run


def mixed(power: int, bound: float, gamma: float) -> Run:
    """Algorithm 3, one column: S X + eta C_X^power xi; the level gamma C_X^2 is reached with power 0."""

    def run(data, seed):
        rng, rows = np.random.default_rng(seed), np.clip(data, -bound, bound)
        eta = math.sqrt(mixing_noise(float(rows @ rows), bound, gamma, 4.0, 50.0, rng.standard_normal(1))[0])
        return rng.standard_normal((40, len(rows))) @ rows + eta * bound**power * rng.standard_normal(40)

    return run


def telling() -> list[Pair]:
    """A record of leverage 1, one beside others and one with nothing but an outcome, each against none."""
    rest = np.tile([[0.3, 0.0, 0.0, 0.1], [0.0, 0.3, 0.0, -0.1], [0.0, 0.0, 0.3, 0.2]], (2, 1))
    first, second = np.zeros((6, D + 1)), rest.copy()
    first[0] = second[0] = [1.0, 0.0, 0.0, 1.0]
    return [Pair(one, np.vstack([np.zeros((1, D + 1)), one[1:]]), "the first record is 0") for one in (first, second)]


def axes(d: int = 60) -> list[Pair]:
    """Records on the axes, so that eigenvectors stay when one of them is 0: noise is drawn in their coordinates."""
    rows = np.hstack([np.diag(np.linspace(0.5, 0.3, d)), np.full((d, 1), 0.1)])
    whole = np.vstack([np.eye(1, d + 1), rows])
    whole[0, -1] = 1.0
    return [Pair(whole, np.vstack([np.zeros((1, d + 1)), rows]), "the first record is 0")]


def ols() -> Iterator[Row]:
    box, pairs = Box(shape=(6, D + 1), low=-1, high=1), telling()
    ihm = hessian_mixing_scales(*CLAIM, k=8, steps=2, failure=1e-2, accounting="theorem")
    tight = hessian_mixing_scales(*CLAIM, k=8, steps=2, failure=1e-2)
    for name, scales, ridge in (("Algorithm 1", ihm, True), ("IHM, tight", tight, False)):
        numbers = {one: getattr(scales, one) for one in ("steps", "k", "gamma", "tau", "sigma", "clip")}
        run = estimate(hessian_mixing, HessianMixing(keep_ridge=ridge, **numbers))
        yield Row(f"ols {name}", run, CLAIM, TRUE, domain=pairs)
    single = [Pair(np.array([0.1, 0.0]), np.zeros(2), "one record of length C_X")]
    for name, power, true in (("as printed", 1, FALSE), ("corrected", 0, TRUE)):
        yield Row(f"ols Algorithm 3, {name}", mixed(power, 0.1, 60.0), CLAIM, true, domain=single, law=gaussian())
    line = linear_mixing_scales(*CLAIM, k=8, failure=1e-2, accounting="theorem")
    run = estimate(linear_mixing, LinearMixing(k=line.k, gamma=line.gamma, tau=line.tau))
    yield Row("ols Algorithm 4", run, CLAIM, TRUE, domain=pairs)
    for accounting, iso in (("theorem", False), ("experiments", False), ("tight", False), ("tight", True)):
        name = f"ols Algorithm 6, {accounting}{', iso' if iso else ''}"
        yield Row(name, moments(accounting, iso), CLAIM, TRUE, domain=box, law=gaussian(scale=1.0))
    spent = {"mu": 0.8 * float(adassp_mu(adassp_scales(*CLAIM)))}
    yield Row("ols AdaSSP, a fifth less", moments("tight", False), spent, FALSE, domain=box, law=gaussian(scale=1.0))
    scales = adassp_scales(*CLAIM)
    own = AdaSSP.equal(scales.gram, d=D, delta=CLAIM[1], failure=1e-2)
    yield Row("ols AdaSSP, estimate", estimate(adassp, own), CLAIM, TRUE, domain=pairs)
    for accounting in ("theorem", "tight"):
        descent = gradient_descent_scales(*CLAIM, n=61, steps=1, accounting=accounting)
        settings = GradientDescent(steps=1, rate=0.25, sigma=descent.sigma, clip=descent.clip)
        run = estimate(gradient_descent, settings)
        law = gaussian(scale=0.25 * descent.sigma)
        yield Row(f"ols Algorithm 7, {accounting}", run, CLAIM, TRUE, domain=axes(), law=law)
    prn = newton.Newton(mu=float(gaussian_mu(*CLAIM)), steps=2)
    yield Row("ols PRN", estimate(recentred_newton, prn), CLAIM, TRUE, domain=pairs[:1])


# --- estimators of `dpbounds.private`, calibrated noise ---


def regression(data: np.ndarray, seed: int | None) -> np.ndarray:
    """What `LinearRegression` releases before its clip levels follow the releases, in units of its noise."""
    given = {"epsilon": CLAIM[0], "delta": CLAIM[1], "ranges": (-1, 1), "outcome_range": (-1, 1), "noise": "numpy"}
    release = LinearRegression(seed=seed, **given).fit(data[:, :2], data[:, 2]).release_
    scales = tail_averaged.noise_scales(release.settings)
    return np.concatenate([release.products / scales.products, halved(release.hessian) / scales.hessian])


def descent(data: np.ndarray, seed: int | None) -> np.ndarray:
    """The estimate, and all that is released, of its algorithm with few steps."""
    settings = TailAveraged(mu=float(gaussian_mu(*CLAIM)), steps=2)
    theta, release = tail_release(scaled(data), settings, GaussianSource(np.random.default_rng(seed)))
    parts = theta, release.products, halved(release.hessian), release.gradients, release.counts
    return np.concatenate([np.ravel(part) for part in parts])


def instruments(design: Any, **settings: Any) -> Run:
    """The release that `InstrumentalVariables` reads."""
    given = {"bounds": {"y": (-1, 1), "x": (-1, 1)}, "instrument_means": {"z": 0.5}, "mu": 1.0, "design": design}

    def run(data, seed):
        model = InstrumentalVariables(seed=seed, **given, **settings)
        plan = model.plan(outcome="y", regressors="x", instruments="z")
        release: Any = disclose(plan, bounded_records(plan, data), noise_source(plan)).release
        if design == "u":
            return np.concatenate([release.first / release.first_scale, halved(release.second) / release.second_scale])
        if design == "s":
            return release.curve
        parts = (release.instruments, release.instrument_scale), (release.variables, release.variable_scale)
        moments = [halved(matrix) / scale for matrix, scale in parts]
        return np.concatenate([*moments, release.cross.ravel() / release.cross_scale])

    return run


def curve_law(size: int) -> Any:
    """Of the noise of design s: stationary over the points of the grid."""
    spectrum, points = SignDesign(mu=1.0, low=-1.0, high=1.0, size=size).spectrum, np.arange(size)
    waves = np.cos(np.pi * np.outer(points, 2 * points + 1) / size)
    return gaussian(toeplitz(waves @ spectrum / size))


def halved(matrix: np.ndarray) -> np.ndarray:
    """Entries on and above the diagonal, those above times sqrt 2: their noise is smaller by it."""
    rows, columns = np.triu_indices(len(matrix))
    return matrix[rows, columns] * np.where(rows == columns, 1.0, math.sqrt(2.0))


def summed(adjacency: Any) -> Run:
    scale = float(noise_multiplier(epsilon=1.0, delta=1e-6, adjacency=adjacency))
    return classical(1.0, 1.25 * math.exp(-(scale**2) / 2))  # at which delta Lemma 4 has this scale


def estimators() -> Iterator[Row]:
    box, unit = Box(shape=(12, 3), low=-1, high=1), gaussian(scale=1.0)
    mu = float(gaussian_mu(*CLAIM))
    few = neighbours(box, "zero-out", np.random.default_rng(0))[:6]
    yield Row("LinearRegression, first releases", regression, CLAIM, TRUE, domain=few, law=unit)
    yield Row("LinearRegression, a fifth", regression, {"mu": mu / 5}, FALSE, domain=few, law=unit)
    yield Row("TAP, two steps", descent, CLAIM, TRUE, domain=telling())
    columns = {
        "z": Box(shape=(30,), low=0, high=1, integer=True),
        "x": Box(shape=(30,), low=-1, high=1),
        "y": Box(shape=(30,), low=-0.9, high=0.9),  # never the instrument again, which is refused in the open
    }
    drawn = neighbours(columns, "replace-one", np.random.default_rng(0))[:8]
    for design, claim, law, settings in (
        ("u", {"mu": 1.0}, unit, {"clamping": "natural"}),
        ("h", {"mu": 1.0}, unit, {"clamping": "natural"}),
        ("s", {"mu": 1.0}, curve_law(64), {"grid": (-1.0, 1.0, 64)}),
    ):
        run = instruments(design, **settings)
        yield Row(f"InstrumentalVariables, {design}", run, claim, TRUE, "replace-one", drawn, law)
    for adjacency in ("zero-out", "add-remove", "replace-one"):
        domain = Box(shape=(2, 2000))
        name, claim = f"noise_multiplier, {adjacency}", (1.0, 1e-6)
        yield Row(name, summed(adjacency), claim, TRUE, adjacency, domain, gaussian())
        yield Row(f"{name}, half", summed(adjacency), (0.5, 1e-6), FALSE, adjacency, domain, gaussian())
