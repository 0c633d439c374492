"""Beyond the paper: runs on losses and games written out step by step, and how long rehearsals of the long run are."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np

from dpbounds import AccuracyError
from dpbounds.ftrl.correlations import independent, nu
from dpbounds.ftrl.linear_regression import Regression
from dpbounds.ftrl.methods import nesterov
from dpbounds.ftrl.methods.problem import Problem
from dpbounds.ftrl.strongly_convex import Noise, StronglyConvex, bound
from dpbounds.values import Value
from simulators.ftrl import (
    AdversarialLower,
    Huber,
    MethodOnLoss,
    NoiseProbe,
    StronglyConvexLoss,
    first_order,
    kinked_quadratic,
    mean_rehearsal,
    method_settings,
    noise_probe,
    quadratic_rehearsal,
    regression_rehearsal,
    rehearsals,
    stationary_settings,
    strongly_convex,
)
from simulators.ftrl.adversarial_methods import _Arena, _decoder
from simulators.ftrl.privacy_game import PrivacyGame, privacy_game
from verify.checks import Fact, Holds, refused
from verify.papers.ftrl.beyond.run_steps import (
    BLOCKS,
    CLIP,
    CORRELATION,
    DECODER,
    GAMMA,
    RHO,
    START,
    STEPS,
    TRIALS,
    noise_of,
    same_arrays,
    settings_of,
    shortened,
    streams,
)

CURVATURES = np.array([0.35, 1.6])
CENTRE = np.array([0.4, -0.9])
DEVIATION = GAMMA * CLIP / math.sqrt(2 * RHO)


# --- losses ---


class _Bowl:
    """A quadratic around a point that is not 0."""

    mu, L, dimension, minimiser = 0.35, 1.6, 2, CENTRE

    def suboptimality(self, theta: np.ndarray) -> np.ndarray:
        """(h / 2) |theta - theta*|^2."""
        return (theta - CENTRE) ** 2 @ CURVATURES / 2

    def gradient(self, theta: np.ndarray) -> np.ndarray:
        """h (theta - theta*)."""
        return (theta - CENTRE) * CURVATURES


def _errors(size: float) -> np.ndarray:
    """On the sphere, block by block."""
    data = streams().data
    draws = np.concatenate([data.standard_normal((block, TRIALS, 2)) for block in BLOCKS])
    return size * draws / np.sqrt((draws**2).sum(axis=-1, keepdims=True))


def _descended(clipping: bool) -> Iterator[Fact]:
    theta, noise, errors = np.tile(START, (TRIALS, 1)), noise_of((TRIALS, 2), DEVIATION), _errors(0.55)
    losses, outside = np.zeros(TRIALS), np.zeros(TRIALS)
    for t in range(STEPS):
        for k in range(TRIALS):
            gradient, cut = shortened(CURVATURES * theta[k] + errors[t, k], CLIP if clipping else math.inf)
            outside[k] += cut
            theta[k] = theta[k] - 0.3 * (gradient + noise[t, k])
            losses[k] += (t >= 3) * float(CURVATURES @ theta[k] ** 2) / 2
    stated = {"theta": theta, "loss": theta**2 @ CURVATURES / 2, "mean_loss": losses / 3, "clipped": outside}
    problem = StronglyConvexLoss(loss=_Bowl(), sigma_sgd=0.55, initial=tuple(START.tolist()))
    found = strongly_convex(problem, settings_of(clipping=clipping), streams(), TRIALS)
    yield from same_arrays(f"descent, {'' if clipping else 'not '}clipped", found, stated)


def _accelerated() -> Iterator[Fact]:
    """Nesterov's method from theta*: theta' = y - eta (grad F(y) + error + w), y = theta + b (theta - the last)."""
    eta, b = 0.45, 0.6
    noise, errors = noise_of((TRIALS, 2), DEVIATION), _errors(0.55)
    path = [np.zeros((TRIALS, 2))] * 2
    for t in range(STEPS):
        y = path[-1] + b * (path[-1] - path[-2])
        path.append(y - eta * (CURVATURES * y + errors[t] + noise[t]))
    judged = np.array(path[1 + 3 : 1 + STEPS])
    squares = {"mean_f": CURVATURES / 2, "mean_distance": np.ones(2), "mean_gradient": CURVATURES**2}
    stated = {name: (judged**2 @ weights).sum(axis=0) / 3 for name, weights in squares.items()}
    problem = MethodOnLoss(loss=_Bowl(), method=nesterov(eta=eta, momentum=b), sigma_sgd=0.55)
    found = first_order(problem, settings_of(clipping=False), streams(), TRIALS)
    yield from same_arrays("Nesterov's method", found, {**stated, "x": path[-1]})


def _lengths() -> Iterator[Fact | Holds]:
    """Steps of stationary runs, and those left out of averages."""
    loss = Huber(mu=0.2, L=1.5, dimension=2, scale=0.7)
    for eta, rate in ((0.4, 0.08), (1.31, 0.035)):  # eta mu, or 2 - eta L
        made = stationary_settings(loss, CORRELATION, eta, RHO, clip_norm=CLIP, forgotten=5.0, averaged=7.3)
        burn_in = math.ceil((5.0 + math.log(7.5) / 2) / rate)
        told = [made.burn_in, made.steps, made.eta, made.rho, made.clip_norm]
        yield Fact(f"eta = {eta:g}: steps", told, [burn_in, burn_in + math.ceil(7.3 / rate), eta, RHO, CLIP], 1e-15)
        limiting = float(CORRELATION.limiting_sensitivity()) / math.sqrt(2 * RHO)
        yield Fact("noise of the limit", made.noise_multiplier, limiting)
    eta, mu = 0.45, 0.35
    problem = MethodOnLoss(loss=_Bowl(), method=nesterov(eta=eta, momentum=0.3))
    # the slowest root of z^2 - (1 + b) (1 - eta h) z + b (1 - eta h)
    slow = max(abs(np.roots([1, -1.3 * (1 - eta * h), 0.3 * (1 - eta * h)])).max() for h in np.geomspace(mu, 1.6, 200))
    made = method_settings(problem, CORRELATION, RHO, clip_norm=CLIP, forgotten=5.0, averaged=7.3)
    burn_in = math.ceil(5.0 / (1 - slow))
    stated = [burn_in, burn_in + math.ceil(7.3 / (1 - slow)), 1.3 * eta, RHO, CLIP]
    yield Fact("Nesterov's method: steps", [made.burn_in, made.steps, made.eta, made.rho, made.clip_norm], stated)
    yield Holds("nothing is clipped in stationary runs", not made.clipping)


def on_losses(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Descent with and without clipping, Nesterov's method, how long their runs are; searches for bad losses."""
    for clipping in (True, False):
        yield from _descended(clipping)
    yield from _accelerated()
    yield from _lengths()
    yield from _in_arenas()
    yield from _of_quadratics()


# --- the search for bad losses ---


def _in_arenas() -> Iterator[Fact]:
    """Time averages of all three measures, of two losses at once, with the noise and then the errors of each block."""
    method, losses = nesterov(eta=0.45, momentum=0.6), [kinked_quadratic(0.35, 1.6, 2), kinked_quadratic(0.5, 1.2, 2)]
    own, shape = np.random.default_rng(21), (STEPS, TRIALS, 2)
    draws = DEVIATION * np.tensordot(DECODER, own.standard_normal(shape), 1)
    errors = np.concatenate([own.standard_normal((size, TRIALS, 2)) for size in BLOCKS])
    draws = draws + 0.55 * errors / np.linalg.norm(errors, axis=-1, keepdims=True)
    noise = Noise(correlation=CORRELATION, rho=RHO, d=2, clip_norm=CLIP, sigma_sgd=0.55)
    stated: dict[str, list[float]] = {}
    for loss in losses:
        last, theta, judged = np.zeros((TRIALS, 2)), np.zeros((TRIALS, 2)), []
        for t in range(STEPS):
            y = theta + 0.6 * (theta - last)
            judged += [(theta, y)] if t >= 3 else []
            last, theta = theta, y - 0.45 * (loss.gradient(y) + draws[t])
        for k, name in enumerate("xy"):
            points = [pair[k] for pair in judged]
            rows = {"f": [loss.suboptimality(x) for x in points], "distance": [(x**2).sum(axis=1) for x in points]}
            rows["gradient"] = [(loss.gradient(x) ** 2).sum(axis=1) for x in points]
            for measure, values in rows.items():
                stated.setdefault(f"{measure} {name}", []).append(float(np.mean(values)))
    for label, means in stated.items():
        measure, at = label.split()
        arena = _Arena(method.output(at), noise, settings_of(clipping=False), measure)  # pyright: ignore[reportArgumentType]
        found = arena.means(losses, TRIALS, np.random.default_rng(21))
        yield Fact(f"search, {label}", found, means, 1e-10)


def _of_quadratics() -> Iterator[Fact]:
    """How far y swings on quadratics, by its spectrum, and which of them is the worst; an interval for a mean."""
    method, w = nesterov(eta=0.45, momentum=0.6), np.exp(2j * np.pi * np.arange(1024) / 1024)
    noise = Noise(correlation=CORRELATION, rho=RHO, d=2, clip_norm=CLIP, sigma_sgd=0.55)
    limit = float(np.linalg.norm(CORRELATION.inverse_coefficients(400)))
    power = 2 * CLIP**2 * limit**2 / (2 * RHO) * abs(1 - 0.5 / w + 0.2 / w**2) ** 2 + 0.55**2
    sizes = []
    for h in np.geomspace(0.35, 1.6, 17):
        # y = (1 + b) theta - b (theta before), theta' = y - eta (h y + w)
        ahead = (1.6 - 0.6 / w) * 0.45 / (w - (1 - 0.45 * h) * (1.6 - 0.6 / w))
        sizes.append(float(np.sqrt(np.mean(abs(ahead) ** 2 * power) / 2)))
    for measure, worst in (("gradient", 1.0), ("distance", 0.0)):
        made = _decoder(Problem(method, noise, 0.35, 1.6, measure, None))  # pyright: ignore[reportArgumentType]
        told = [made.mu, made.L, made.d, *made.deviations, made.worst]
        yield Fact(f"search for {measure}", told, [0.35, 1.6, 2, min(sizes), max(sizes), worst], 1e-6)
    mean = Value(0.7, kind="estimate", source="a search", convention="F - F*")
    found = AdversarialLower(loss=kinked_quadratic(0.5, 2.0), value=mean, standard_error=0.03, trials=7)
    arm = 0.03 * 1.9431802805153022  # of Student's law with 6 degrees, 5 % above
    yield Fact("interval at 9 in 10", found.interval(0.1), [0.7 - arm, 0.7 + arm], 1e-10)


# --- the noise itself, and games ---


def _probed() -> Iterator[Fact]:
    draws, noise = streams().noise.standard_normal((STEPS, TRIALS)), noise_of((TRIALS,), 1.0)
    stated = {}
    for k, omega in enumerate((0.4, 2.3)):
        turned = [sum(noise[t, j] * np.exp(1j * omega * t) for t in range(STEPS)) for j in range(TRIALS)]
        stated[f"periodogram {k}"] = np.abs(turned) ** 2 / STEPS
    for k, lag in enumerate((0, 2)):
        pairs = [[noise[t, j] * draws[t - lag, j] for t in range(lag, STEPS)] for j in range(TRIALS)]
        stated[f"covariance {k}"] = np.mean(pairs, axis=1)
    found = noise_probe(NoiseProbe(frequencies=(0.4, 2.3), lags=(0, 2)), settings_of(), streams(), TRIALS)
    yield from same_arrays("noise", found, stated)


def _played() -> Iterator[Fact]:
    """Iterates, and the draw that is seen along the difference of the streams: C times what is beside stream 0."""
    encoder = np.linalg.inv(DECODER)
    for stream, adversary, adjacency, clipping in (
        (1, "adaptive", "zero-out", True),
        (1, "constant", "replace-one", False),
        (0, "adaptive", "replace-one", False),
    ):
        length = min(1.3, CLIP) if clipping else 1.3
        theta, noise = np.zeros((TRIALS, 2)), noise_of((TRIALS, 2), DEVIATION)
        released, beside, differences = [], [], []
        for t in range(STEPS):
            sizes = np.linalg.norm(theta, axis=1, keepdims=True)
            ahead = theta / sizes if t and adversary == "adaptive" else np.tile([1.0, 0.0], (TRIALS, 1))
            gradient = length * ahead
            other = -gradient if adjacency == "replace-one" else 0 * gradient
            taken = other if stream == 1 and t == 2 else gradient
            differences.append(other - gradient)
            beside.append(taken - gradient + noise[t])
            theta = theta - 0.3 * (taken + noise[t])
            released.append(theta)
        drawn = np.tensordot(encoder, np.array(beside), 1) / DEVIATION
        seen, answer = encoder[:, 2], differences[2] / np.linalg.norm(differences[2], axis=1, keepdims=True)
        statistic = np.einsum("t,tkd,kd->k", seen, drawn, answer) / np.linalg.norm(seen)
        setting: dict[str, Any] = {"stream": stream, "adversary": adversary, "adjacency": adjacency}
        game = PrivacyGame(position=2, dimension=2, length=1.3, **setting)
        found = privacy_game(game, settings_of(clipping=clipping), streams(), TRIALS)
        stated = {"theta": np.stack(released, axis=1), "statistic": statistic}
        yield from same_arrays(f"stream {stream}, {adversary}, {adjacency}", found, stated)


def of_noise(rng: np.random.Generator) -> Iterator[Fact]:
    """What an observer sees of the noise, and an adversary of a run."""
    yield from _probed()
    yield from _played()


# --- rehearsals ---


def _stationary() -> Iterator[Fact]:
    """One eigenvalue, white noise, Gaussian inputs: the error is 1 - r^t of its limit, r = 1 - 2 x + 3 x^2."""
    for x in (0.15, 0.6):  # r^t is below a thousandth within 2 / x steps, and after them
        problem = Regression(eigenvalues=np.array([0.8]), eta=x / 0.8, rho=RHO, clip_norm=CLIP, sigma_sgd=0.4)
        made = regression_rehearsal(independent(), problem, initial=0.9)
        settled, window = math.ceil(math.log(1e-3) / math.log(1 - 2 * x + 3 * x * x)), math.ceil(8 / x)
        settings = made.experiment.settings
        told = [settings.average_from, settings.steps, settings.eta, settings.rho, settings.clip_norm]
        yield Fact(f"x = {x:g}: steps", told, [settled, settled + window, x / 0.8, RHO, CLIP])
        limiting = [settings.noise_multiplier, made.experiment.problem.initial[0], made.unit]
        yield Fact(f"x = {x:g}: noise of the limit and start", limiting, [1 / math.sqrt(2 * RHO), 0.9, 1.0])
    # an error that comes near to its limit, 0.7, and leaves it again after the 108 steps that are looked at first
    path = 0.7 * (1 + np.select([np.arange(433) <= 60, np.arange(433) <= 120, np.arange(433) <= 150], [1, 5e-4, -2e-3]))
    made = {"suboptimality": lambda *_: 0.7, "trajectory": lambda *_, steps, **__: path[: steps + 1]}
    with mock.patch.multiple(rehearsals, **made):
        problem = Regression(eigenvalues=np.array([0.8]), eta=0.15 / 0.8, rho=RHO)
        settings = regression_rehearsal(independent(), problem).experiment.settings
    yield Fact("an error that leaves its limit again", [settings.average_from, settings.steps], [151, 151 + 54], 0)


def _made() -> Iterator[Fact | Holds]:
    """What is run, in which units, and how many at once: 3 million numbers, or 20 million if those are 16 runs."""
    spectrum, values = np.array([0.8, 0.3, 0.1]), np.array([0.7, 1.9])
    for d, steps, block in ((3, 40, 1024), (3, 5000, 85), (3, 180_000, 15), (3, 40_000, 16), (40, 290_000, 1)):
        problem = Regression(eigenvalues=np.resize(spectrum, d) / d, eta=0.3, rho=RHO, clip_norm=CLIP, sigma_sgd=0.4)
        made = regression_rehearsal(independent(), problem, steps=steps, initial=0.9)
        run, settings = made.experiment.problem, made.experiment.settings
        yield Fact(f"runs at once, {d} eigenvalues, {steps} steps", made.experiment.block_trials, block, 0)
        told = [*run.eigenvalues, run.sigma_sgd, *run.initial, settings.steps, settings.clip_norm, made.unit]
        yield Fact(
            f"{d} eigenvalues, {steps} steps",
            told,
            [*np.resize(spectrum, d) / d, 0.4, *np.full(d, 0.9 / d**0.5), steps, CLIP, 1],
        )
    yield Fact("losses of a regression", made.losses({"loss": values, "mean_loss": 0 * values}), values)
    problem = Regression(eigenvalues=np.ones(1), eta=0.3, rho=RHO, clip_norm=CLIP, sigma_sgd=0.4, kurtosis=1.0)
    for steps, output, stated in (
        (5000, "deviation", CLIP**2 * values**2 / 2),
        (None, "mean_square", CLIP**2 * values / 2),
    ):
        made = mean_rehearsal(nu(0.4), problem, steps=steps, initial=0.9)
        run, settings = made.experiment.problem, made.experiment.settings
        told = [run.mean, run.sigma_sgd, run.initial, settings.clip_norm, settings.eta]
        yield Fact(f"a mean, {output}", told, [0.0, 0.4 / CLIP, 0.9 / CLIP, 1.0, 0.3])
        yield Fact(f"means at once, {output}", made.experiment.block_trials, 200 if steps else 1024, 0)
        yield Fact(f"losses of a mean, {output}", made.losses({output: values}), stated)
        weights = nu(0.4).inverse_coefficients(steps or 400)
        multiplier = float(np.linalg.norm(weights)) / math.sqrt(2 * RHO)
        yield Fact(f"noise of a mean, {output}", settings.noise_multiplier, multiplier)
        yield Holds(f"a mean is clipped, {output}", settings.clipping and made.output == output)
    large = Regression(eigenvalues=np.ones(1), eta=0.3, rho=RHO, clip_norm=CLIP, sigma_sgd=1.01 * CLIP, kurtosis=1.0)
    yield refused("residuals above the clip norm", "sigma_sgd", lambda: mean_rehearsal(nu(0.4), large, steps=6))


def _worst() -> Iterator[Fact | Holds]:
    """One coordinate of the worst quadratic, counted d times; a start that is not forgotten in 300 000 steps."""
    problem = StronglyConvex(mu=0.3, L=1.2, eta=0.5, rho=RHO, d=3, clip_norm=CLIP, sigma_sgd=0.4)
    held = bound(CORRELATION, problem, max_lag=0, certify=False)
    made = quadratic_rehearsal(held)
    run, settings = made.experiment.problem, made.experiment.settings
    told = [*run.loss.eigenvalues, run.sigma_sgd, settings.eta, settings.rho, settings.clip_norm]
    yield Fact("a worst quadratic", told, [held.curvature, 0.4 / math.sqrt(3), 0.5, RHO, CLIP])
    yield Fact("its losses", made.losses({"mean_loss": np.array([0.3, 0.7])}), [0.9, 2.1])
    # 14 / eta steps of the quadratic, and at least 16 / eta of a regression
    for eta, quadratic, regression in ((5.5e-5, True, True), (5e-5, True, False), (4e-5, False, False)):
        slow = replace(held, program=replace(held.program, mu=1.0, L=1.0, eta=eta), curvature=1.0)
        one = Regression(eigenvalues=np.ones(1), eta=eta, rho=RHO)
        ended = [_ended(quadratic_rehearsal, slow), _ended(regression_rehearsal, independent(), one)]
        yield Holds(f"what is not too slow at a rate of {eta:g}", ended == [quadratic, regression])


def _ended(call: Callable[..., Any], *given: Any) -> bool:
    try:
        call(*given)
    except AccuracyError:
        return False
    return True


def of_rehearsals(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Runs beside predictions: regressions, means and worst quadratics."""
    yield from _stationary()
    yield from _made()
    yield from _worst()
