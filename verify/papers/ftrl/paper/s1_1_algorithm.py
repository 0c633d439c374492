"""Section 1.1: Algorithm 1 as it runs, and Theorem 1.1: what it reveals, by exact output laws and to an adversary who
adapts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any, Literal

import numpy as np
import sympy

from dpbounds.ftrl import correlations
from dpbounds.privacy import gaussian_epsilon
from simulators.engine import Experiment
from simulators.ftrl import LinearRegression, MeanEstimation, Settings, linear_regression, mean_estimation
from simulators.ftrl.privacy_game import PrivacyGame, privacy_game
from simulators.ftrl.settings import clip
from simulators.noise import correlate, correlated_noise
from verify.checks import Agreement, Audit, Fact, GaussianPrivacy, Neighbours, Symbolic, Times, Within
from verify.statements.claims import Claim
from verify.statements.derivations import Derivation

# --- Algorithm 1 ---

STEPS, TRIALS = 20, 6


def _regression_runs(rng: np.random.Generator, *, clip_norm: float = 0.5, lag: int = 0) -> Iterator[Fact]:
    """Clipped regression by the simulator against Algorithm 1 written out trial by trial, on the same draws."""
    B = np.tril(rng.normal(size=(STEPS, STEPS)), -1) + 2 * np.eye(STEPS)
    beta = np.array([1.0, -0.6, 0.2, 0.1])
    toeplitz = sum((b * np.eye(STEPS, k=-k) for k, b in enumerate(beta)), np.zeros((STEPS, STEPS)))
    for label, correlation, matrix in (
        ("general B", correlations.from_matrix(B), B),
        ("Toeplitz B", correlations.from_coefficients(beta), toeplitz),
    ):
        problem = LinearRegression(eigenvalues=(1.0, 0.3), sigma_sgd=0.4, inputs="skewed", initial=(2.0, -1.0))
        settings = Settings(correlation=correlation, eta=0.2, rho=0.3, steps=STEPS, clip_norm=0.5)
        experiment = Experiment(algorithm=linear_regression, problem=problem, settings=settings, block_trials=TRIALS)
        streams = experiment.streams(0, seed=1)
        gamma = np.linalg.norm(np.linalg.inv(matrix), axis=0).max()
        draws = gamma / np.sqrt(0.6) * 0.5 * streams.noise.standard_normal((STEPS, TRIALS, 2))
        x = problem.draw(streams.data, (STEPS, TRIALS))
        xi = 0.4 * streams.data.standard_normal((STEPS, TRIALS))
        expected = np.zeros((TRIALS, 2))
        for trial in range(TRIALS):
            theta = np.array([2.0, -1.0])
            for t in range(STEPS):
                gradient = (theta @ x[t, trial] - xi[t, trial]) * x[t, trial]
                gradient = gradient * min(1.0, clip_norm / np.linalg.norm(gradient))
                noise = sum((matrix[t, s] * draws[max(s - lag, 0), trial] for s in range(t + 1)), np.zeros(2))
                theta = theta - 0.2 * (gradient + noise)
            expected[trial] = theta
        yield Fact(f"theta_T, {label}", experiment.run_block(0, seed=1)["theta"], expected, 1e-11)


def _without_correlation(rng: np.random.Generator) -> Iterator[Fact]:
    """B = I, as a sequence and as a matrix, against SGD with fresh noise in every step, to rounding."""
    problem = LinearRegression(eigenvalues=(1.0, 0.3), sigma_sgd=0.4)
    for name, clipping in (("DP-SGD", True), ("Noisy-SGD", False)):
        for made in (correlations.independent(), correlations.from_matrix(np.eye(STEPS))):
            settings = Settings(correlation=made, eta=0.2, rho=0.5, steps=STEPS, clip_norm=0.5, clipping=clipping)
            run = Experiment(algorithm=linear_regression, problem=problem, settings=settings, block_trials=TRIALS)
            streams = run.streams(0, seed=2)
            noise = streams.noise.standard_normal((STEPS, TRIALS, 2))
            inputs = problem.draw(streams.data, (STEPS, TRIALS))
            residuals = 0.4 * streams.data.standard_normal((STEPS, TRIALS))
            theta = np.zeros((TRIALS, 2))
            for w, x, xi in zip(noise, inputs, residuals, strict=True):
                gradient = (np.einsum("td,td->t", x, theta) - xi)[:, None] * x
                gradient = clip(gradient, 0.5)[0] if clipping else gradient
                theta = theta - 0.2 * (gradient + 0.5 * w)
            yield Fact(f"{name}, {made.name}", run.run_block(0, seed=2)["theta"], theta, 1e-14)


def _projection(rng: np.random.Generator, *, scale: float = 1.0) -> Iterator[Fact | Within]:
    """clip(g) is the point p of the ball nearest to g: g - p makes no acute angle with any q - p of the ball."""
    g = rng.normal(size=(50, 3))
    p = scale * clip(g, 1.3)[0]
    inside = rng.normal(size=(200, 3))
    inside *= 1.3 * rng.random((200, 1)) ** (1 / 3) / np.linalg.norm(inside, axis=1, keepdims=True)
    angles = np.einsum("gd,gqd->gq", g - p, inside[None] - p[:, None])
    yield Within("largest norm of a clipped gradient", np.linalg.norm(p, axis=1).max(), most=1.3 * (1 + 1e-12))
    yield Within("largest product of g - p with a direction into the ball", angles.max(), most=1e-12)
    outside = np.linalg.norm(g, axis=1) > 1.3
    yield Fact("how many were outside", int(clip(g, 1.3)[1].sum()), int(outside.sum()), 0)


def _regulariser(rng: np.random.Generator, *, clipped: bool = False) -> Iterator[Fact]:
    """Mean estimation with z = 1, clip norm 1/4 and theta_0 = 100: r's gradient theta passes unclipped."""
    problem = MeanEstimation(mean=1.0, initial=100.0)
    settings = Settings(correlation=correlations.nu(0.1), eta=0.5, rho=np.inf, steps=3, clip_norm=0.25)
    run = Experiment(algorithm=mean_estimation, problem=problem, settings=settings, block_trials=1)
    theta = 100.0
    for _ in range(3):
        theta -= 0.5 * (min(0.25, theta - 1.0) if clipped else -0.25 + theta)
    yield Fact("theta_3", run.run_block(0, seed=0)["deviation"][0] + 1.0, theta, 1e-12)


def _streamed(rng: np.random.Generator) -> Iterator[Fact]:
    """The noise in blocks of steps, by every way that it is made, against all weights times all draws."""
    long = np.concatenate([[1.0], 0.1 * rng.standard_normal(199)])
    made: list[tuple[correlations.Correlation, int, int | None]] = [
        (correlations.independent(), 5, 2),
        (correlations.nu(0.01), 1, None),
        (correlations.nu(0.01), 400, None),
        (correlations.optimal_counting(), 500, 100),
        (correlations.damped_anti_pgd(0.1), 130, 48),
        (correlations.from_coefficients(long, allow_unstable_inverse=True), 900, None),
        (correlations.HalfPowers((0.99, 0.3 + 0.4j), (0.2,)), 600, None),
        (correlations.from_power_spectrum(lambda omega: 1.01 - np.cos(omega)), 600, 32),
        (correlations.tree_aggregation(50), 50, 7),
    ]
    for correlation, steps, block in made:
        noise = correlated_noise(correlation, steps, (2,), np.random.default_rng(5), block=block)
        B = correlation.matrix(steps)
        draws = np.random.default_rng(5).standard_normal((B.shape[1], 2))
        stated = B @ draws
        yield Fact(f"streamed, {correlation.name}, T = {steps}", np.concatenate(list(noise)), stated, 1e-9)
        yield Fact(f"at once, {correlation.name}, T = {steps}", correlate(correlation, draws), stated, 1e-11)


ALG_1 = Claim(
    id="ftrl/alg-1",
    where="Algorithm 1, (2), (13)",
    page=2,
    equation="(2)",
    kind="algorithm",
    statement=(
        (
            '$theta_(t+1) = theta_t - eta ("clip"(nabla f(theta_t; z_t), G) + nabla r(theta_t) + sum_(tau <= t) B_(t, '
            "tau) w_tau)$, $w_t tilde.op cal(N)(0, sigma_(d p)^2 G^2 I)$;"
        ),
        "Toeplitz: $sum_(tau <= t) beta_tau w_(t - tau)$;",
        "$B = I$ is DP-SGD and, without clipping, Noisy-SGD.",
    ),
    setting=(
        'The simulators against the algorithm written out; $"clip"$ projects on the ball of radius $G$; noise is '
        "streamed "
        "in blocks of steps."
    ),
    checks=(
        Agreement(
            decides="ab",
            facts=_regression_runs,
            impostors={
                "clip norm 5 % off": {"facts": {"clip_norm": 0.525}},
                "noise one step late": {"facts": {"lag": 1}},
            },
        ),
        Agreement(decides="c", facts=_without_correlation),
        Agreement(decides="b", facts=_streamed, impostors={"1 % off": {"facts": Times(1.01)}}),
        Agreement(decides="a", facts=_projection, impostors={"1 % too long": {"facts": {"scale": 1.01}}}),
        Agreement(decides="a", facts=_regulariser, impostors={"r clipped too": {"facts": {"clipped": True}}}),
    ),
)

# --- Theorem 1.1: exact laws ---

Adjacency = Literal["zero-out", "replace-one"]


@cache
def _mechanisms(T: int) -> tuple[correlations.Correlation, ...]:
    """Every mechanism of the paper at this horizon, and a matrix without structure."""
    rng = np.random.default_rng(0)
    return (
        correlations.independent(),
        correlations.nu(0.1),
        correlations.optimal_counting(),
        correlations.anti_pgd(),
        correlations.damped_anti_pgd(0.2),
        correlations.from_coefficients([2.0, -1.0, 0.3]),
        correlations.HalfPowers((0.5, 0.3 + 0.4j), (0.2,)),
        correlations.from_matrix(np.tril(rng.normal(size=(T, T)), -1) + np.diag(1 + rng.random(T))),
        correlations.tree_aggregation(T),
        correlations.tree_aggregation(T, decoder="honaker"),
        correlations.full_honaker(T),
        correlations.fft_mechanism(T),
        correlations.optimal_prefix_sum(T),
        correlations.banded(T, min(T, 3)),
        correlations.restarted(correlations.optimal_counting(), T, min(T, 2)),
    )


def _pairs(*, adjacency: Adjacency = "zero-out", variance: float = 1.0, plain: bool = False) -> Iterator[Neighbours]:
    """The laws of theta_1 ... theta_T, read off the simulator: a run is an affine function of its draws. The noise is
    that of the settings, or (`plain`) that for gamma = 1.
    """
    for T in (1, 8):
        for correlation in _mechanisms(T):
            gamma = 1.0 if plain else correlation.sensitivity(T)
            sensitivity = "horizon" if variance == 1.0 and not plain else float(np.sqrt(variance) * gamma)
            settings = Settings(
                correlation=correlation, eta=0.3, rho=0.7, steps=T, clip_norm=2.0, sensitivity=sensitivity
            )
            for position in range(T):
                game = PrivacyGame(stream=0, position=position, length=5.0, adversary="constant", adjacency=adjacency)
                mean, factor = _law(game, settings)
                other, _ = _law(replace(game, stream=1), settings)
                label = f"{correlation.name}, T = {T}, position {position}"
                yield Neighbours(label=label, shift=other - mean, covariance=factor @ factor.T, claimed_rho=0.7)


def _law(game: PrivacyGame, settings: Settings) -> tuple[np.ndarray, np.ndarray]:
    """Mean and factor of the released iterates, by regression on the draws of more runs than there are draws."""
    draws = settings.correlation.matrix(settings.steps).shape[1]
    experiment = Experiment(algorithm=privacy_game, problem=game, settings=settings, block_trials=2 * draws + 2)
    theta = experiment.run_block(0, seed=0)["theta"][:, :, 0]
    w = experiment.streams(0, seed=0).noise.standard_normal((draws, experiment.block_trials))
    design = np.vstack([np.ones(experiment.block_trials), w]).T
    coefficients = np.linalg.lstsq(design, theta, rcond=None)[0]
    return coefficients[0], coefficients[1:].T


def _spent(rng: np.random.Generator) -> Iterator[Fact]:
    """With B square the dearest gradient costs all of rho, with the noise that the settings give."""
    for T in (1, 8):
        for correlation in _mechanisms(T):
            B = correlation.matrix(T)
            if B.shape == (T, T):
                settings = Settings(correlation=correlation, eta=0.3, rho=0.7, steps=T)
                costs = np.sum(np.linalg.inv(B) ** 2, axis=0) / (2 * settings.noise_multiplier**2)
                yield Fact(f"dearest gradient, {correlation.name}, T = {T}", costs.max(), 0.7, 1e-9)


# --- Theorem 1.1: an adversary who adapts ---


def _conditioning(changed: int = 1) -> Iterator[tuple[Any, ...]]:
    """What a row y_t = (C g)_t + w_t reveals beyond those before it, T = 3, one gradient changed.

    Given the rows before, the gradients are fixed numbers, the same for both streams but one: the two conditional laws
    of y_t are Gaussians C_(t, p) (g_p - g'_p) apart, whatever the adversary does. int p^alpha q^(1 - alpha) is then
    exp(alpha (alpha - 1) shift^2 / (2 sigma^2)): integrating from the last row to the first leaves |g_p - g'_p|^2 times
    ||C_(:, p)||^2, at most G^2 gamma^2. For B that is not square and causal take the Cholesky factor of B B^T: the same
    output law, and its inverse's columns are no longer than those of C, since B C = I.
    """
    y, a, b, alpha = sympy.symbols("y a b alpha", real=True)
    tilted = alpha * (y - a) ** 2 + (1 - alpha) * (y - b) ** 2
    yield "a Gaussian integral", tilted - (y - alpha * a - (1 - alpha) * b) ** 2, alpha * (1 - alpha) * (a - b) ** 2
    g, h = sympy.symbols("g:3"), sympy.symbols("h:3")
    for t in range(3):
        row = sympy.symbols(f"c{t}_:3")[: t + 1]
        first = sympy.Add(*(c * g[s] for s, c in enumerate(row)))
        second = sympy.Add(*(c * (h[s] if 1 <= s <= changed else g[s]) for s, c in enumerate(row)))
        yield f"shift of row {t}", first - second, row[1] * (g[1] - h[1]) if t >= 1 else sympy.Integer(0)


def _adaptive(rng: np.random.Generator, *, exposed: bool = False) -> Iterator[Fact]:
    """Two rounds on a grid: D_alpha of (y_0, y_1), C = ((1, 0), (1/2, 1)), G = 1, rho = 0.7; the second gradient is
    written after y_0. If `exposed`, it also depends on the stream.
    """
    rho, gamma_squared = 0.7, 1.25
    variance = gamma_squared / (2 * rho)
    y = np.linspace(-22, 22, 441)
    y0, y1 = y[:, None], y[None, :]

    def log_density(first: float, second: np.ndarray) -> np.ndarray:
        return -((y0 - first) ** 2 + (y1 - first / 2 - second) ** 2) / (2 * variance) - np.log(2 * np.pi * variance)

    smooth, largest = np.tanh(y0), np.where(y0 < 0, -1.0, 1.0)
    games = {
        "first gradient zeroed": (1.0, smooth, 0.0, -smooth if exposed else smooth, rho),
        "second gradient zeroed": (0.4, largest, 0.4, 0 * largest, rho / gamma_squared),
    }
    for label, (first, second, other_first, other_second, cost) in games.items():
        laws = log_density(first, second), log_density(other_first, other_second)
        for p, q in (laws, laws[::-1]):
            for alpha in (1.5, 2.0, 6.0):
                total = np.sum(np.exp(alpha * p + (1 - alpha) * q)) * (y[1] - y[0]) ** 2
                yield Fact(f"D_alpha, {label}, alpha = {alpha}", np.log(total) / (alpha - 1), alpha * cost, 1e-8)


AUDIT_RHO, AUDIT_DELTA = 0.5, 0.05
AUDIT_EPSILON = float(gaussian_epsilon(np.sqrt(2 * AUDIT_RHO), AUDIT_DELTA))
# The event where the density ratio exceeds e^epsilon: Neyman-Pearson, fixed before any run.
AUDIT_THRESHOLD = AUDIT_EPSILON / np.sqrt(2 * AUDIT_RHO) + np.sqrt(AUDIT_RHO / 2)


def _games(
    correlation: correlations.Correlation, position: int, *, adjacency: Adjacency = "zero-out", **changes: Any
) -> tuple[Experiment, Experiment]:
    """Runs on both streams against gradients along the iterate just released, three clip norms long."""
    settings = Settings(**{"correlation": correlation, "eta": 0.4, "rho": AUDIT_RHO, "steps": 12, **changes})
    game = PrivacyGame(stream=0, position=position, dimension=2, length=3.0, adjacency=adjacency)
    first = Experiment(algorithm=privacy_game, problem=game, settings=settings, block_trials=10_000)
    return first, replace(first, problem=replace(game, stream=1))


def _audit(correlation: correlations.Correlation, position: int) -> Audit:
    """Against the exact epsilon of a Gaussian mechanism with mu = sqrt(2 rho)."""
    return Audit(
        experiments=_games(correlation, position),
        output="statistic",
        threshold=AUDIT_THRESHOLD,
        claimed_epsilon=AUDIT_EPSILON,
        delta=AUDIT_DELTA,
        impostors={
            "replace-one adjacency": {"experiments": _games(correlation, position, adjacency="replace-one")},
            "no clipping": {"experiments": _games(correlation, position, clipping=False)},
            "half the sensitivity": {
                "experiments": _games(correlation, position, sensitivity=correlation.sensitivity(12) / 2)
            },
        },
    )


def _game(rng: np.random.Generator) -> Iterator[Fact]:
    """The audit's adversary points along the iterate, and its statistic is the best: N(0, 1) under stream 0, apart by
    sqrt(2 rho) times the share of the budget that the exact laws give.
    """
    theta = np.array([[0.3, -0.4], [0.0, 0.0], [6.0, 8.0]])
    seen = PrivacyGame(stream=0, dimension=2, length=3.0).gradients(theta)
    yield Fact("gradients", seen, np.array([[1.8, -2.4], [3.0, 0.0], [1.8, 2.4]]), 1e-14)
    T, position = 8, 3
    for correlation in (correlations.nu(0.1), correlations.anti_pgd(), correlations.tree_aggregation(T)):
        settings = Settings(correlation=correlation, eta=0.3, rho=0.7, steps=T, clip_norm=2.0)
        laws = []
        for stream in (0, 1):
            game = PrivacyGame(stream=stream, position=position, length=5.0, adversary="constant")
            draws = correlation.matrix(T).shape[1]
            run = Experiment(algorithm=privacy_game, problem=game, settings=settings, block_trials=2 * draws + 2)
            w = run.streams(0, seed=0).noise.standard_normal((draws, run.block_trials))
            design = np.vstack([np.ones(run.block_trials), w]).T
            laws.append(np.linalg.lstsq(design, run.run_block(0, seed=0)["statistic"], rcond=None)[0])
        covariance = correlation.matrix(T) @ correlation.matrix(T).T * settings.noise_multiplier**2
        apart = np.sqrt(np.linalg.inv(covariance)[position, position])
        yield Fact(f"standard deviation, {correlation.name}", np.linalg.norm(laws[0][1:]), 1.0, 1e-10)
        yield Fact(f"mean under stream 0, {correlation.name}", laws[0][0], 0.0, 1e-10)
        yield Fact(f"mean under stream 1, {correlation.name}", laws[1][0], apart, 1e-10)


CONDITIONED = Symbolic(residuals=_conditioning, impostors={"two gradients changed": {"residuals": {"changed": 2}}})
PRIVATE = (
    "The iterates are a function of $y = C G + W$, row by row. Given the rows before, the gradients are fixed, the "
    "same for both streams but for $g_s$, zero in one: row $t$ costs $C_(t s)^2 norm(g_s)^2\\/(2 sigma^2)$, at most "
    "$C_(t s)^2 G^2\\/(2 sigma^2)$ whatever came before (check), and all rows $norm(C_(:, s))^2 G^2\\/(2 sigma^2) <= "
    "gamma_T^2 G^2\\/(2 sigma^2)$, which is $rho$ for $sigma^2 = sigma_(d p)^2 G^2 = gamma_T^2 G^2\\/(2 rho)$. "
)
PRIVATE_BY = ("Rényi divergence of normal laws", "zCDP of a sum", "data processing")

THM_1_1 = Claim(
    id="ftrl/thm-1.1",
    where="Theorem 1.1",
    page=2,
    kind="privacy",
    statement=(
        "DP-FTRL with clipping and $sigma_(d p)^2 = gamma_T (B)^2 \\/ (2 rho)$ is $rho$-zCDP, also against an "
        "adversary who writes each gradient after seeing the iterates."
    ),
    hypotheses="Zero-out adjacency, $C = B^(-1)$.",
    setting=(
        "Exact laws of 15 mechanisms at $T = 1$ and $T = 8$, every position; the adversary by conditional Rényi "
        "divergences, on a grid for two rounds, and by sampled audits of 12 rounds."
    ),
    remark=(
        "Exact: some gradient costs all of $rho$. An adversary who adapts gains nothing, since given the past both "
        "streams hold fixed gradients, the same but for one. Where $B$ is not square, $C$ is the encoder with $B C = "
        "I$."
    ),
    checks=(
        GaussianPrivacy(
            pairs=_pairs,
            impostors={
                "5 % less noise variance": {"pairs": {"variance": 0.95}},
                "noise for gamma = 1": {"pairs": {"plain": True}},
                "replace-one adjacency": {"pairs": {"adjacency": "replace-one"}},
            },
            role="control",
        ),
        Agreement(facts=_spent, impostors={"1 % off": {"facts": Times(1.01)}}, role="control"),
        CONDITIONED,
        Agreement(
            facts=_adaptive,
            impostors={
                "the adversary sees the stream": {"facts": {"exposed": True}},
                "1 % off": {"facts": Times(1.01)},
            },
            role="control",
        ),
        Agreement(facts=_game, impostors={"1 % off": {"facts": Times(1.01)}}, role="control"),
        _audit(correlations.optimal_counting(), 1).as_control(),
        _audit(correlations.optimal_prefix_sum(12), 5).as_control(),
    ),
    derivation=Derivation(
        text=PRIVATE + "The adversary, who sees the iterates, is part of what came before. Where $B$ is not square and "
        "causal, the Cholesky factor of $B B^top$ has the same output law, and its inverse no longer columns than $C$, "
        "since $B C = I$.",
        lemmas=PRIVATE_BY,
    ),
)
