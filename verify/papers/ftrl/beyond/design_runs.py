"""Beyond the paper: runs with designed noise whose gradients are clipped one by one, and what a plan hands to a run."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from dpbounds import privacy
from dpbounds.ftrl.design import Blt, Objective, Participation, Plan, plan, sensitivity
from dpbounds.ftrl.design.amplification import (
    installed,
    poisson_noise_multiplier,
    renyi_epsilon,
    renyi_noise_multiplier,
)
from simulators.engine import Arrays, Experiment
from simulators.ftrl import DesignedTraining, designed_training, planned_training
from simulators.ftrl.designed import problem_of
from verify.checks import Agreement, Fact, Times, Within
from verify.papers.ftrl.beyond.design_plans import SIGMA, scan, spectra
from verify.papers.ftrl.beyond.exact import OURS
from verify.papers.ftrl.tools.subsampled import poisson_delta
from verify.statements.claims import Claim

TRIALS, SEED = 4, 1
# Of the plans below.
CLIP_NORM = 0.5
BLT = Blt((0.9, 0.3), (0.1, 0.25))
# Kinds of runs: batch size m, clip norm, weights, participation.
RUNS: dict[str, tuple[int, float, str, Participation]] = {
    "m = 3": (3, 0.6, "mean", Participation.single()),
    "m = 4, the last iterate": (4, 1.1, "final", Participation.single()),
    "m = 2, three times in 8 steps": (2, 0.4, "tail", Participation.min_separation(3, 3)),
}


def _settings(m: int, clip_norm: float, weights: str, participation: Participation) -> DesignedTraining:
    """Eight steps with a schedule, start, residuals and noise of similar size."""
    rates = 0.3 * (1 - np.arange(8) / 12)
    spectrum = np.array([1.0, 0.4, 0.15])
    objective = Objective(spectrum, 8, schedule=rates, batch_size=m, weights=weights, initial=0.8, sigma_sgd=0.5)
    return DesignedTraining(
        objective=objective,
        mechanism=BLT,
        rho=2.0,
        clip_norm=clip_norm,
        clipping=True,
        participation=participation,
    )


def _by_hand(experiment: Experiment, average_first: bool) -> Arrays:
    """The same draws, example by example: each gradient is shortened to the clip norm, then they are averaged."""
    settings, problem, streams = experiment.settings, experiment.problem, experiment.streams(0, seed=SEED)
    objective, clip_norm = settings.objective, settings.clip_norm
    d, m, T = len(objective.eigenvalues), objective.batch_size, objective.steps
    gamma = float(sensitivity(settings.mechanism, T, settings.participation))
    deviation = gamma * clip_norm / (m * math.sqrt(2 * settings.rho))
    noise = np.tensordot(settings.mechanism.matrix(T), streams.noise.standard_normal((T, TRIALS, d)), axes=1)
    theta = np.tile(problem.initial, (TRIALS, 1))
    total, outside = np.zeros(TRIALS), np.zeros(TRIALS)
    for t in range(T):
        inputs = problem.draw(streams.data, (TRIALS, m))
        residuals = problem.sigma_sgd * streams.data.standard_normal((TRIALS, m))
        for trial in range(TRIALS):
            gradients = [x * (x @ theta[trial] - xi) for x, xi in zip(inputs[trial], residuals[trial], strict=True)]
            if average_first:
                gradients = [sum(gradients) / m]
            lengths = [float(np.linalg.norm(g)) for g in gradients]
            outside[trial] += np.mean([length > clip_norm for length in lengths]) / T
            clipped = [g * min(1.0, clip_norm / length) for g, length in zip(gradients, lengths, strict=True)]
            step = sum(clipped) / len(clipped) + deviation * noise[t, trial]
            theta[trial] = theta[trial] - objective.learning_rates[t] * step
        total += objective.omega[t] * 0.5 * (theta**2 @ objective.eigenvalues)
    return {"theta": theta, "weighted_loss": total, "clipped": outside}


def _clipped(rng: np.random.Generator, average_first: bool = False) -> Iterator[Fact | Within]:
    """Last iterate, weighted loss and share of clipped gradients, where some but not all of them are clipped."""
    for label, run in RUNS.items():
        settings = _settings(*run)
        experiment = Experiment(
            algorithm=designed_training,
            problem=problem_of(settings.objective),
            settings=settings,
            block_trials=TRIALS,
        )
        found, expected = experiment.run_block(0, seed=SEED), _by_hand(experiment, average_first)
        for name, value in expected.items():
            yield Fact(f"{name}, {label}", found[name], value, 1e-12)
        yield Within(f"share of clipped gradients, {label}", float(found["clipped"].mean()), least=0.2, most=0.8)
        yield Fact(f"loss, {label}", found["loss"], 0.5 * found["theta"] ** 2 @ settings.objective.eigenvalues, 1e-12)


CLIPPED = Claim(
    id="ftrl/beyond-design-clipped",
    where=f"{OURS}: runs with clipped gradients",
    kind="algorithm",
    statement=(
        (
            "With clipping a run with designed noise moves by the average of the gradients of single examples, each "
            "shortened to the clip norm, and noise of deviation $s(C) G \\/ (m sqrt(2 rho))$;"
        ),
        "it counts what is clipped.",
    ),
    setting="Eight steps, $m = 2, 3, 4$, between 20 and 80 % of the gradients clipped; by hand with the same draws.",
    checks=(
        Agreement(
            decides="ab",
            facts=_clipped,
            impostors={
                "averaged, then clipped": {"facts": {"average_first": True}},
                "1e-9 off": {"facts": Times(1 + 1e-9)},
            },
        ),
    ),
)


# --- Poisson amplification ---


def _amplified(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Within]:
    """Delta at the epsilon asked for, by an accountant of our own: at most the one asked for, and near it."""
    for epsilon, delta, rate, steps in ((4.0, 1e-5, 1 / 16, 64),):
        multiplier = factor * poisson_noise_multiplier(epsilon, delta, rate, steps)
        spent = poisson_delta(multiplier, epsilon, rate, steps)
        near = poisson_delta(multiplier, 0.99 * epsilon, rate, steps)
        label = f"epsilon = {epsilon:g}, q = {rate:g}, {steps} steps"
        yield Within(f"{label}: delta spent, over the one given", spent / delta, most=1 + 1e-3)
        yield Within(f"{label}: delta at .99 epsilon, over the one given", near / delta, least=1.0)


def _planned() -> Plan:
    """All kinds of noise, at a clip norm that is not 1."""
    settings = {"sigma_sgd": SIGMA, "clip_norm": CLIP_NORM, "buffers": 2, "batch_sizes": (8,)}
    return plan(spectra(24, 4)["1/k"], 128, epsilon=2.0, delta=1e-5, initial=1.0, **settings)


def _amplified_row(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact | Within]:
    """The row of a plan: its noise from its multiplier and a dense Gram matrix, its setting the best of a scan; then
    what is handed to runs.
    """
    found = _planned()
    row = found.row("amplified")
    m = row.setting.batch_size
    spent = poisson_delta(row.noise_multiplier, 2.0, m / 128, row.steps)
    yield Within("delta of the row", spent, least=0.95e-5, most=1.001e-5)
    variance = (row.noise_multiplier * CLIP_NORM / m) ** 2
    least = min(one.bias + one.sgd_noise + variance * one.diagonal().sum() for _, _, one in scan(found))
    yield Fact("its total over the least of a scan", row.loss.total / float(least), 1.0, 0.01)
    yield from _handed(found, factor)


def _handed(found: Plan, factor: float) -> Iterator[Fact]:
    """Gains by the totals of the rows, budgets by the definition of delta, and the noise of every run."""
    totals = {row.kind: row.loss.total for row in found.rows}
    for row in found.rows:
        yield Fact(f"gain of {row.label}", row.gain, totals["independent"] / row.loss.total, 1e-12)
    alone = min(totals["independent"], totals["amplified"])
    correlated = min(totals["prefix-sum"], totals["designed"])
    yield Fact("gain of the plan", found.gain, alone / correlated, 1e-12)
    yield Fact("amplified noise is the best without correlation", totals["amplified"], alone, 0)
    yield Fact("that correlated noise pays", int(found.pays), int(correlated / alone < 0.9), 0)
    mu = math.sqrt(2 * found.budget.rho)
    yield Fact("delta of the budget", float(privacy.gaussian_delta(mu, 2.0)), 1e-5, 1e-9)
    yield Fact("epsilon and delta of the budget", [found.budget.epsilon, found.budget.delta], [2.0, 1e-5], 0)
    for row in found.rows:
        run, m = planned_training(found, row.kind), row.setting.batch_size
        deviation = factor * row.noise_multiplier * CLIP_NORM / m
        yield Fact(f"deviation of a draw, {row.label}", run.noise_deviation, deviation, 1e-12)
        budget = 1 / (2 * row.noise_multiplier**2) if row.kind == "amplified" else found.budget.rho
        yield Fact(f"rho of the run, {row.label}", run.rho, budget, 1e-12)
        decoder = row.correlation.matrix(row.steps)
        noise = deviation**2 * float(np.sum(decoder * (run.objective.gram() @ decoder)))
        yield Fact(f"privacy noise, {row.label}", row.loss.privacy_noise, noise, 1e-9)
        parts = row.loss.bias + row.loss.sgd_noise + row.loss.privacy_noise
        yield Fact(f"total of {row.label}", row.loss.total, parts, 1e-12)


def _accountant() -> str:
    return "" if installed() else "the package dp-accounting (pip install 'dpbounds[accounting]')"


AMPLIFICATION = Claim(
    id="ftrl/beyond-design-amplification",
    where=f"{OURS}: amplification by Poisson sampling",
    kind="inequality",
    statement=(
        (
            "The noise multiplier for independent noise with Poisson sampling gives $(epsilon, delta)$-DP, and less "
            "than 1 % of $epsilon$ is left over;"
        ),
        "a run of a plan has the deviation that its row's noise multiplier says, for every kind of noise;",
        "gains, that of amplified noise too, are quotients of totals.",
    ),
    hypotheses="Add-remove adjacency.",
    missing=_accountant,
    checks=(
        Agreement(
            decides="a",
            facts=_amplified,
            impostors={"2 % less": {"facts": {"factor": 0.98}}, "2 % more": {"facts": {"factor": 1.02}}},
        ),
        Agreement(decides="bc", facts=_amplified_row, impostors={"1e-6 off": {"facts": {"factor": 1 + 1e-6}}}),
    ),
)


# --- the same without a package ---

# Budgets, sampling rates and steps: weak and strong amplification, none, one step.
ACCOUNTED = ((4.0, 1e-5, 1 / 16, 64), (0.7, 1e-6, 1 / 64, 200), (2.0, 1e-5, 1.0, 3), (8.0, 1e-6, 1 / 4, 1))


def _by_orders(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Within]:
    """Delta at the epsilon asked for, by an accountant of our own."""
    for epsilon, delta, rate, steps in ACCOUNTED:
        multiplier = factor * renyi_noise_multiplier(epsilon, delta, rate, steps)
        label = f"epsilon = {epsilon:g}, q = {rate:g}, {steps} steps"
        spent = poisson_delta(multiplier, epsilon, rate, steps)
        yield Within(f"{label}: delta spent, over the one given", spent / delta, most=1.0)
        near = poisson_delta(multiplier / 1.25, epsilon, rate, steps)
        yield Within(f"{label}: with noise 1.25 times smaller", near / delta, least=1.0)


def _orders(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact]:
    """Epsilon from the least over orders up to 199, each by quadrature of the mixture's density."""
    for sigma, rate, steps, delta in ((1.3, 1 / 16, 64, 1e-5), (0.8, 1 / 3, 2, 1e-3), (4.0, 1.0, 5, 1e-6)):
        found = []
        for order in range(2, 200):
            found.append(
                steps * _divergence(order, sigma, rate)
                + math.log(1 - 1 / order)
                - math.log(delta * order) / (order - 1)
            )
        label = f"sigma = {sigma:g}, q = {rate:g}, {steps} steps"
        yield Fact(label, factor * renyi_epsilon(sigma, delta, rate, steps), min(found), 1e-7)


def _divergence(order: int, sigma: float, rate: float) -> float:
    """log E ((1 - q) + q e^{(2z - 1)/2 sigma^2})^order / (order - 1) for z ~ N(0, sigma^2), by the trapezoidal rule."""
    z, width = np.linspace(-12 * sigma, order + 12 * sigma, 4001, retstep=True)
    lost = math.log1p(-rate) if rate < 1 else -math.inf
    ratio = np.logaddexp(lost, math.log(rate) + (2 * z - 1) / (2 * sigma**2))
    density = order * ratio - z**2 / (2 * sigma**2) - math.log(sigma * math.sqrt(2 * math.pi))
    return float(np.logaddexp.reduce(density) + math.log(float(width))) / (order - 1)


ORDERS = Claim(
    id="ftrl/beyond-design-renyi",
    where=f"{OURS}: accounting by Rényi orders",
    kind="inequality",
    statement=(
        "The noise multiplier that integer Rényi orders find for Poisson sampling gives $(epsilon, delta)$-DP;",
        "with 1.25 times less noise it would not;",
        "each order's divergence is that of the mixture.",
    ),
    setting=(
        "Four budgets, $epsilon = 0.7$ to 8, $q = 1\\/64$ to 1, 1 to 200 steps; delta by convolution, divergences by "
        "quadrature."
    ),
    hypotheses="Add-remove adjacency.",
    checks=(
        Agreement(
            decides="ab",
            facts=_by_orders,
            impostors={"12 % less": {"facts": {"factor": 0.88}}, "1.3 times more": {"facts": {"factor": 1.3}}},
        ),
        Agreement(decides="c", facts=_orders, impostors={"1e-5 off": {"facts": {"factor": 1 + 1e-5}}}),
    ),
)
