"""Beyond the paper: runs written out step by step in plain loops, from the same random numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import toeplitz

from dpbounds.ftrl.correlations import from_coefficients
from dpbounds.ftrl.design import Objective
from dpbounds.ftrl.design.from_data import LogisticTraining
from simulators.engine import Streams
from simulators.ftrl import (
    ClippedTraining,
    DesignedTraining,
    LeastSquaresData,
    LinearRegression,
    LogisticData,
    MeanEstimation,
    Settings,
    clipped_least_squares,
    clipped_logistic_regression,
    designed_training,
    linear_regression,
    logistic_regression,
    mean_estimation,
)
from simulators.ftrl.clipped import _thinned
from simulators.ftrl.designed import _average
from verify.checks import Fact, Holds

BETA, CLIP, RHO, TRIALS, STEPS = (1.0, -0.5, 0.2), 0.7, 0.8, 3, 6
CORRELATION = from_coefficients(BETA)
DECODER = toeplitz(np.append(BETA, np.zeros(STEPS))[:STEPS], np.zeros(STEPS))
GAMMA = float(np.linalg.norm(np.linalg.inv(DECODER), axis=0).max())
RATES = np.array([0.7, 0.4, 0.55, 0.3, 0.25, 0.6])
# Blocks in which a run of six steps gets its noise.
BLOCKS = (4, 2)


class _InBlocks(Settings):
    """The noise of a run in blocks, as long runs get it."""

    def noise(self, shape: tuple[int, ...], generator: np.random.Generator) -> Iterator[np.ndarray]:
        (whole,) = super().noise(shape, generator)
        for end, size in zip(np.cumsum(BLOCKS).tolist(), BLOCKS, strict=True):
            yield whole[end - size : end].copy()


def streams() -> Streams:
    """From fixed seeds, from their beginning."""
    return Streams(**{name: np.random.default_rng(seed) for seed, name in enumerate(("noise", "data", "initial"), 11)})


def settings_of(**other: Any) -> Settings:
    """Six steps in two blocks, the last three averaged."""
    given: dict[str, Any] = {"eta": 0.3, "rho": RHO, "steps": STEPS, "clip_norm": CLIP, "average_from": 3}
    return _InBlocks(correlation=CORRELATION, **{**given, **other})


def noise_of(shape: tuple[int, ...], deviation: float) -> np.ndarray:
    """B w times a deviation."""
    return deviation * np.tensordot(DECODER, streams().noise.standard_normal((STEPS, *shape)), 1)


def shortened(vector: np.ndarray, most: float) -> tuple[np.ndarray, bool]:
    """To this length at most, and whether it was longer."""
    size = float(np.linalg.norm(vector))
    return (vector * (most / size), True) if size > most else (vector, False)


def same_arrays(label: str, found: dict[str, np.ndarray], stated: dict[str, Any]) -> Iterator[Fact]:
    """Each array of a run."""
    for name, value in stated.items():
        yield Fact(f"{label}: {name}", found[name], np.array(value), 1e-10)


# --- records at hand ---

FEATURES = np.random.default_rng(12).standard_normal((7, 2)) * [1.3, 0.6]
RESIDUALS = np.array([0.9, -1.4, 0.2, 2.1, -0.3, 0.6, -0.8])
LABELS, START = np.array([1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0]), np.array([1.2, -0.7])


@dataclass(frozen=True)
class _Descent:
    """theta - eta_t v, v = momentum v + mean of clipped gradients + noise, over `batches[t][trial]`."""

    n: int
    batches: Sequence[Sequence[Sequence[int]]]
    batch_size: int
    deviation: float
    momentum: float
    logistic: bool

    def run(self, *, noisy: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """Last iterates, and shares that were clipped."""
        theta = np.tile(0 * START if self.logistic else START, (TRIALS, 1))
        noise, v = noise_of((TRIALS, 2), self.deviation if noisy else 0.0), np.zeros((TRIALS, 2))
        clipped, taken = np.zeros(TRIALS), np.zeros(TRIALS)
        for t, step in enumerate(self.batches):
            for trial, rows in enumerate(step):
                gradient = np.zeros(2)
                for row in rows:
                    margin = float(FEATURES[row] @ theta[trial])
                    error = 1 / (1 + np.exp(-margin)) - LABELS[row] if self.logistic else margin - RESIDUALS[row]
                    kept, outside = shortened(error * FEATURES[row], CLIP)
                    gradient += kept / self.batch_size
                    clipped[trial] += outside
                    taken[trial] += 1
                v[trial] = self.momentum * v[trial] + gradient + noise[t, trial]
                theta[trial] = theta[trial] - RATES[t] * v[trial]
        return theta, clipped / np.maximum(taken, 1)

    def loss(self, theta: np.ndarray) -> np.ndarray:
        """Over all records."""
        margins = theta @ FEATURES[: self.n].T
        if not self.logistic:
            return (margins**2).sum(axis=1) / (2 * self.n)
        return np.log(1 + np.exp(np.where(LABELS[: self.n] == 1, -margins, margins))).sum(axis=1) / self.n


def _batches(order: str, n: int, m: int) -> list[Any]:
    """What each step takes; one step of `poisson`, whose gaps are geometric."""
    data = streams().data
    if order == "fixed":
        orders, epoch = data.permuted(np.tile(np.arange(n), (TRIALS, 1)), axis=1), n // m
        return [[list(row[t % epoch * m : t % epoch * m + m]) for row in orders] for t in range(STEPS)]
    if order == "fresh":
        return [data.integers(0, n, size=(TRIALS, m)) for _ in range(STEPS)]
    places = np.cumsum(data.geometric(m / n, size=200)) - 1
    return [[[place % n for place in places.tolist() if place // n == trial] for trial in range(TRIALS)]]


def on_records(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Batches of every order, of which the last of a pass may end the records; squared errors and log loss."""
    for order, n, m in (("fixed", 7, 3), ("fixed", 6, 3), ("fixed", 6, 2), ("fresh", 7, 3), ("poisson", 7, 2)):
        batches = _batches(order, n, m)
        options: dict[str, Any] = {"batch_size": m, "momentum": 0.35}
        least = LeastSquaresData(features=FEATURES[:n], residuals=RESIDUALS[:n], initial=START)
        training = ClippedTraining(
            correlation=CORRELATION,
            schedule=tuple(RATES[: len(batches)].tolist()),
            clip_norm=CLIP,
            noise_multiplier=1.7,
            order=order,
            **options,
        )
        records = LogisticData(features=FEATURES[:n], labels=LABELS[:n])
        for logistic in (False, True):
            run = _Descent(n=n, batches=batches, deviation=1.7 * CLIP / m, logistic=logistic, **options)
            theta, clipped = run.run()
            if logistic:
                found = clipped_logistic_regression(records, training, streams(), TRIALS)
            else:
                found = clipped_least_squares(least, training, streams(), TRIALS)
            stated = {"loss": run.loss(theta), "clipped": clipped}
            yield from same_arrays(f"{'log loss' if logistic else 'squares'}, {order}, {m} of {n}", found, stated)
        if order == "fixed" and n // m == 2:
            plan = LogisticTraining(
                correlation=CORRELATION, steps=STEPS, rows=n, batch_size=m, rho=RHO, schedule=RATES, clip_norm=CLIP
            )
            run = _Descent(n, batches, m, plan.noise_deviation, 0.0, True)
            theta, clipped = run.run()
            stated = {"loss": run.loss(theta), "noiseless_loss": run.loss(run.run(noisy=False)[0]), "clipped": clipped}
            found = logistic_regression(records, plan, streams(), TRIALS)
            yield from same_arrays(f"logistic regression, {m} of {n}", found, stated)
    yield from _sampled_places()


class _Gaps:
    """Geometric numbers that are known: 1, 3, 2, 1, 3, 2, ..."""

    drawn = 0

    def geometric(self, share: float, size: int) -> np.ndarray:
        self.drawn += size
        return np.resize([1, 3, 2], self.drawn)[self.drawn - size :]


def _sampled_places() -> Iterator[Holds]:
    """Gaps are added up, however many it takes to come to the end."""
    gaps: Any = _Gaps()
    places = np.cumsum(np.resize([1, 3, 2], 400)) - 1
    found = _thinned(0.01, 400, gaps)
    yield Holds("places that are taken", found.tolist() == places[places < 400].tolist() and gaps.drawn >= len(found))


# --- fresh records ---


def _in_regression(inputs: Any, clipping: bool) -> Iterator[Fact]:
    """Algorithm 1 on one fresh record a step; the data of a block are drawn together."""
    eigenvalues, start, sigma = np.array([0.9, 0.4]), np.array([1.1, -0.8]), 0.45
    problem = LinearRegression(
        eigenvalues=tuple(eigenvalues.tolist()), sigma_sgd=sigma, inputs=inputs, initial=tuple(start.tolist())
    )
    data, noise = streams().data, noise_of((TRIALS, 2), GAMMA * CLIP / np.sqrt(2 * RHO))
    rows, errors = [], []
    for size in BLOCKS:
        shape = (size, TRIALS, 2)
        drawn = {
            "gaussian": lambda shape=shape: data.standard_normal(shape),
            "sign": lambda shape=shape: np.where(data.integers(0, 2, size=shape) == 1, 1.0, -1.0),
            "skewed": lambda shape=shape: np.where(data.random(shape) < 0.2, 2.0, -0.5),
        }[inputs]()
        rows += list(drawn * eigenvalues**0.5)
        errors += list(sigma * data.standard_normal((size, TRIALS)))
    theta, losses, largest, outside = np.tile(start, (TRIALS, 1)), np.zeros(TRIALS), np.zeros(TRIALS), np.zeros(TRIALS)
    for t in range(STEPS):
        for k in range(TRIALS):
            gradient = (rows[t][k] @ theta[k] - errors[t][k]) * rows[t][k]
            largest[k] = max(largest[k], float(np.linalg.norm(gradient)))
            if clipping:
                gradient, cut = shortened(gradient, CLIP)
                outside[k] += cut
            theta[k] = theta[k] - 0.3 * (gradient + noise[t, k])
            losses[k] += (t >= 3) * float(eigenvalues @ theta[k] ** 2) / 2
    stated = {"theta": theta, "loss": theta**2 @ eigenvalues / 2, "mean_loss": losses / 3}
    stated |= {"largest_gradient": largest, "clipped": outside}
    found = linear_regression(problem, settings_of(clipping=clipping), streams(), TRIALS)
    yield from same_arrays(f"regression, {inputs}, {'' if clipping else 'not '}clipped", found, stated)


def _of_a_mean(clip: float) -> Iterator[Fact]:
    data, noise = streams().data, noise_of((TRIALS, 1), GAMMA * clip / np.sqrt(2 * RHO))
    signs = np.concatenate([data.integers(0, 2, size=(size, TRIALS, 1)) for size in BLOCKS])
    theta, squares, outside = np.full(TRIALS, 1.9), np.zeros(TRIALS), np.zeros(TRIALS)
    for t in range(STEPS):
        for k in range(TRIALS):
            z = 0.15 + (0.6 if signs[t, k, 0] else -0.6)
            outside[k] += abs(z) > clip
            theta[k] -= 0.3 * (-np.clip(z, -clip, clip) + theta[k] + noise[t, k, 0])
            squares[k] += (t >= 3) * (theta[k] - 0.15) ** 2
    problem = MeanEstimation(mean=0.15, sigma_sgd=0.6, initial=1.9)
    found = mean_estimation(problem, settings_of(clip_norm=clip), streams(), TRIALS)
    stated = {"deviation": theta - 0.15, "mean_square": squares / 3, "clipped": outside}
    yield from same_arrays(f"a mean, clipped to {clip:g}", found, stated)


def _designed() -> Iterator[Fact]:
    """Batches of fresh records, clipped one by one; the law of a batch from its parts along theta and across."""
    eigenvalues, omega, m, sigma = np.array([0.8, 0.3]), np.array([0.0, 0.1, 0.3, 0.0, 0.2, 0.4]), 4, 0.35
    objective = Objective(
        eigenvalues, STEPS, schedule=RATES, weights=omega, batch_size=m, initial=START**2, sigma_sgd=sigma
    )
    problem = LinearRegression(
        eigenvalues=tuple(eigenvalues.tolist()), sigma_sgd=sigma, inputs="sign", initial=tuple(START.tolist())
    )
    for clipping in (True, False):
        training = DesignedTraining(
            objective=objective, mechanism=CORRELATION, rho=RHO, clip_norm=CLIP, clipping=clipping
        )
        data, noise = streams().data, noise_of((TRIALS, 2), GAMMA * CLIP / (m * np.sqrt(2 * RHO)))
        theta, weighted, outside = np.tile(START, (TRIALS, 1)), np.zeros(TRIALS), np.zeros(TRIALS)
        for t in range(STEPS):
            x = np.where(data.integers(0, 2, size=(TRIALS, m, 2)) == 1, 1.0, -1.0) * eigenvalues**0.5
            xi = sigma * data.standard_normal((TRIALS, m))
            for k in range(TRIALS):
                each = [((x[k, i] @ theta[k]) - xi[k, i]) * x[k, i] for i in range(m)]
                kept = [shortened(one, CLIP if clipping else np.inf) for one in each]
                outside[k] += sum(cut for _, cut in kept)
                theta[k] = theta[k] - RATES[t] * (sum(one for one, _ in kept) / m + noise[t, k])
                weighted[k] += omega[t] * float(eigenvalues @ theta[k] ** 2) / 2
        stated = {"weighted_loss": weighted, "loss": theta**2 @ eigenvalues / 2, "theta": theta}
        stated["clipped"] = outside / (m * STEPS)
        found = designed_training(problem, training, streams(), TRIALS)
        yield from same_arrays(f"batches, {'' if clipping else 'not '}clipped", found, stated)
    theta, data = np.array([[0.9, -1.6], [0.0, 0.0]]), streams().data
    along, xi, across = data.standard_normal((2, m)), sigma * data.standard_normal((2, m)), data.standard_normal((2, 2))
    a = theta[0] * eigenvalues**0.5
    unit = a / np.linalg.norm(a)
    errors, aside = np.linalg.norm(a) * along[0] - xi[0], across[0] - unit * (unit @ across[0])
    first = (along[0] @ errors * unit + np.linalg.norm(errors) * aside) * eigenvalues**0.5 / m
    second = np.linalg.norm(xi[1]) * across[1] * eigenvalues**0.5 / m
    yield Fact("a batch from its law", _average(problem, m, theta, streams().data), [first, second])


class _Even(np.random.Generator):
    """Chances that are evenly spaced."""

    def random(self, size: Any = None, dtype: Any = None, out: Any = None) -> Any:
        return np.linspace(5e-4, 1 - 5e-4, math.prod(size)).reshape(size)


def on_fresh_records(rng: np.random.Generator) -> Iterator[Fact]:
    """Regressions, means and batches; fourth moments of the entries."""
    laws: dict[Any, dict[float, float]] = {"sign": {1.0: 0.5, -1.0: 0.5}, "skewed": {2.0: 0.2, -0.5: 0.8}}
    for inputs, atoms in laws.items():
        kurtosis = LinearRegression(eigenvalues=(0.9,), inputs=inputs).kurtosis
        yield Fact(f"kurtosis, {inputs}", kurtosis, sum(weight * z**4 for z, weight in atoms.items()))
    drawn = LinearRegression(eigenvalues=(0.25,), inputs="skewed").draw(_Even(np.random.PCG64(0)), (200, 5)) / 0.5
    moments = [np.mean(drawn**k) for k in (1, 2, 4)]
    yield Fact("moments of skewed entries of even chances", moments, [0.0, 1.0, 3.25])
    yield Fact("kurtosis, Gaussian", LinearRegression(eigenvalues=(0.9,)).kurtosis, 3.0)
    for inputs, clipping in (("gaussian", True), ("sign", False), ("skewed", True)):
        yield from _in_regression(inputs, clipping)
    for clip in (0.5, 0.9):
        yield from _of_a_mean(clip)
    yield from _designed()
