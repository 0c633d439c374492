"""Plans that count clipping: the closure on records, and by direction, against exact small cases and runs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import integrate, stats

from dpbounds.ftrl.correlations import Correlation, independent, optimal_counting
from dpbounds.ftrl.design import Bands, Blt, Objective, learning_rates, unit_columns
from dpbounds.ftrl.design.clipped import ClippedForecast, ProxyRecords, by_direction, forecast
from simulators.engine import Experiment
from simulators.ftrl import (
    ClippedTraining,
    DesignedTraining,
    LeastSquaresData,
    clipped_least_squares,
    designed_training,
)
from simulators.ftrl.designed import problem_of
from verify.checks import Agreement, Fact, Times
from verify.papers.ftrl.beyond.exact import OURS
from verify.statements.claims import Claim

# --- the closure on records: exact where the iterate is Gaussian ---

MOMENTA = (0.0, 0.9)


@dataclass(frozen=True)
class _Case:
    """A small run; `loss` is what the closure says of it."""

    features: np.ndarray
    residuals: np.ndarray
    start: np.ndarray
    settings: dict[str, Any]

    def forecast(self, **other: Any) -> ClippedForecast:
        return forecast(self.features, self.residuals, initial=self.start, **self.settings | other)


def _two_steps() -> _Case:
    rng = np.random.default_rng(11)
    return _Case(
        features=rng.standard_normal((6, 2)) * [1.0, 0.4],
        residuals=rng.standard_t(3, 6),
        start=np.array([1.5, -1.0]),
        settings={
            "correlation": Blt((0.5,), (0.4,)),
            "schedule": np.array([0.7, 0.5]),
            "clip_norm": 0.9,
            "noise_multiplier": 3.0,
            "batch_size": 6,
            "order": "fixed",
        },
    )


def _gaussian_steps(rng: np.random.Generator, noise: float = 1.0, told: float = 1.0) -> Iterator[Fact]:
    """All records in every step, so that only the noise is drawn: after the first step the iterate is Gaussian. Means
    of the second gradient, and its covariances with the first draw, by quadrature over each record's residual.
    """
    for momentum in MOMENTA:
        yield from _second_step(momentum, noise, told * momentum)


def _second_step(momentum: float, noise: float, told: float) -> Iterator[Fact]:
    case = _two_steps()
    X, zeta, start = case.features, case.residuals, case.start
    eta, deviation = case.settings["schedule"], noise * 3.0 * 0.9 / 6
    decoder, hessian = Blt((0.5,), (0.4,)).matrix(2), X.T @ X / 6
    thresholds = 0.9 / np.linalg.norm(X, axis=1)
    gradient = X.T @ np.clip(X @ start - zeta, -thresholds, thresholds) / 6
    mean = start - eta[0] * gradient
    pushed = -eta[0] * deviation * decoder[0, 0]  # e_1 = mean + pushed w_0
    expected, slopes = np.zeros(2), np.zeros((2, 2))
    for x, residual, k in zip(X, zeta, thresholds, strict=True):
        a, s = x @ mean - residual, abs(pushed) * float(np.linalg.norm(x))
        ends = sorted({a - 12 * s, a + 12 * s, *(p for p in (-k, k) if abs(p - a) < 12 * s)})
        one, along = (
            sum(
                integrate.quad(lambda r, f=f, a=a, s=s: f(r) * stats.norm.pdf(r, a, s), low, high, epsabs=1e-12)[0]
                for low, high in itertools.pairwise(ends)
            )
            for f in (lambda r, k=k: min(max(r, -k), k), lambda r, k=k, a=a: min(max(r, -k), k) * (r - a))
        )
        expected += x * one / 6
        slopes += np.outer(x, x * pushed * along / s**2) / 6  # E g w_0', since w_0 given r is pushed x (r - a) / s^2
    found = case.forecast(momentum=told)
    last = mean - eta[1] * (momentum * gradient + expected)
    kept = momentum * decoder[0, 0] + decoder[1, 0]  # of the first draw in the second step's velocity
    first_draw = pushed * np.eye(2) - eta[1] * (slopes + deviation * kept * np.eye(2))
    second_draw = -eta[1] * deviation * decoder[1, 1] * np.eye(2)
    privacy = 0.5 * sum(np.trace(hessian @ each @ each.T) for each in (first_draw, second_draw))
    biases = [0.5 * each @ hessian @ each for each in (mean, last)]
    label = f"momentum {momentum:g}"
    yield Fact(f"loss of the mean iterate, {label}", found.biases, biases, 1e-9)
    yield Fact(f"part of the noise, {label}", found.privacies, [0.5 * pushed**2 * np.trace(hessian), privacy], 1e-9)
    yield Fact(f"its largest, {label}", found.excursion, max(0.5 * pushed**2 * np.trace(hessian), privacy), 1e-9)
    share = np.mean(abs(X @ start - zeta) > thresholds)
    yield Fact(f"share clipped in the first step, {label}", found.share_clipped[0], share)


def _linear_steps(rng: np.random.Generator, factor: float = 1.0, told: float = 1.0) -> Iterator[Fact]:
    """Nothing is clipped: the second moment of (e, v, 1) over all subsets and draws, step by step."""
    case = _two_steps()
    X, zeta = case.features[:4], case.residuals[:4]
    eta, hessian = np.array([0.7, 0.5, 0.4]), X.T @ X / 4
    theta = np.linalg.solve(hessian, X.T @ zeta / 4)
    zeta = zeta - X @ theta
    for (order, m), momentum in itertools.product(
        (("poisson", 2), ("poisson", 1), ("fresh", 1), ("fresh", 2)), MOMENTA
    ):
        found = forecast(
            X,
            zeta,
            initial=case.start,
            correlation=independent(),
            schedule=eta,
            clip_norm=1e4,
            noise_multiplier=m * 1e-5,
            batch_size=m,
            order=order,
            momentum=told * momentum,
        )
        subsets = list(
            itertools.product((0, 1), repeat=4) if order == "poisson" else itertools.product(range(4), repeat=m)
        )
        second, losses = np.outer(*[np.concatenate([case.start, np.zeros(2), [1.0]])] * 2), []
        for rate in eta:
            total, push = np.zeros((5, 5)), np.vstack([-rate * np.eye(2), np.eye(2), np.zeros((1, 2))])
            for subset in subsets:
                counts = np.array(subset) if order == "poisson" else np.bincount(subset, minlength=4)
                chance = (m / 4) ** counts.sum() * (1 - m / 4) ** (4 - counts.sum()) if order == "poisson" else 4.0**-m
                velocity = np.column_stack([(X.T * counts) @ X / m, momentum * np.eye(2), -(X.T * counts) @ zeta / m])
                step = np.diag([1.0, 1.0, 0.0, 0.0, 1.0]) + push @ velocity
                total += chance * step @ second @ step.T
            second = total + factor * 0.1**2 * push @ push.T
            losses.append(0.5 * np.trace(hessian @ second[:2, :2]))
        label = f"{order}, m = {m}, momentum {momentum:g}"
        yield Fact(f"losses, {label}", found.biases + found.privacies + found.samplings, losses, 1e-9)
        ends = [found.bias + found.privacy + found.sampling, found.weighted(np.full(3, 1 / 3))]
        yield Fact(f"last and mean loss, {label}", ends, [losses[-1], np.mean(losses)], 1e-9)


EXACT = Claim(
    id="ftrl/beyond-plan-closure",
    where=f"{OURS}: closure of clipped runs",
    kind="algorithm",
    statement=(
        "If iterate and noise are jointly Gaussian, the mean of the next iterate and its covariances with all draws "
        "are those of the closure: $EE g = 1\\/n sum x_i EE psi_i$ and $EE g w^top = 1\\/n sum x_i x_i^top P_i EE "
        "(theta - EE theta) w^top$, also for noise that is correlated over the steps, and with momentum.",
        "Without clipping its losses are exact for Poisson sampling and for fresh examples, with momentum too.",
    ),
    setting="6 records with heavy-tailed residuals, $d = 2$; two and three steps, without momentum and with 0.9.",
    checks=(
        Agreement(
            decides="a",
            facts=_gaussian_steps,
            impostors={"1 % more noise": {"facts": {"noise": 1.01}}, "1 % less momentum": {"facts": {"told": 0.99}}},
        ),
        Agreement(
            decides="b",
            facts=_linear_steps,
            impostors={"1 % more noise": {"facts": {"factor": 1.01}}, "1 % less momentum": {"facts": {"told": 0.99}}},
        ),
    ),
)


# --- forecasts against runs ---


def _records(kind: str) -> LeastSquaresData:
    """Drawn once, with heavy tails or with residuals that grow with the features; centred at their own minimiser."""
    rng = np.random.default_rng(2026)
    X = rng.standard_t(5, (240, 8)) / np.sqrt(np.arange(1, 9))
    noise = rng.standard_t(3, 240) * (0.4 if kind == "heavy tails" else 0.3 * np.linalg.norm(X, axis=1))
    at = ProxyRecords.of(X, noise)
    return LeastSquaresData(features=X, residuals=at.residuals, initial=np.full(8, 0.5))


def _training(
    correlation: Correlation, order: str, clip_norm: float, multiplier: float, epochs: int, momentum: float = 0.0
) -> ClippedTraining:
    rates = learning_rates("linear", 0.5 * (1.0 - momentum), 10 * epochs)
    return ClippedTraining(
        correlation=correlation,
        schedule=tuple(rates.tolist()),
        clip_norm=clip_norm,
        noise_multiplier=multiplier,
        batch_size=24,
        order=order,
        momentum=momentum,
    )


def _trainings() -> dict[str, tuple[LeastSquaresData, ClippedTraining]]:
    counting = optimal_counting()
    bands = unit_columns(Bands(tuple(counting.inverse_coefficients(10))), 40)
    heavy, growing = _records("heavy tails"), _records("growing")
    return {
        "Poisson sampling": (heavy, _training(independent(), "poisson", 2.0, 2.0, 4)),
        "ten bands, four passes": (growing, _training(bands, "fixed", 2.0, 10.0, 4)),
        "ten bands, four passes, momentum": (growing, _training(bands, "fixed", 2.0, 10.0, 4, 0.8)),
        "prefix sums, fresh examples": (heavy, _training(unit_columns(counting, 20), "fresh", 3.0, 3.0, 2)),
    }


def _runs(blocks: int, tolerance: float) -> Callable[[np.random.Generator], Iterator[Fact]]:
    """False alarms: 1500 runs have standard errors of 1.5 %, 30,000 of 0.33 %, 7 of which and the error of the closure
    (0.6 % to 1.1 % +- 0.4 % in 20,000 other runs) are allowed; the skewness of losses, 2, is counted.
    """

    def facts(rng: np.random.Generator) -> Iterator[Fact]:
        for name, (data, training) in _trainings().items():
            found = forecast(
                data.features,
                data.residuals,
                initial=data.initial,
                correlation=training.correlation,
                schedule=np.array(training.schedule),
                clip_norm=training.clip_norm,
                noise_multiplier=training.noise_multiplier,
                batch_size=training.batch_size,
                order=training.order,
                momentum=training.momentum,
            )
            runs = Experiment(algorithm=clipped_least_squares, problem=data, settings=training, block_trials=1500)
            arrays = runs.run(blocks, seed=int(rng.integers(2**31)))
            yield Fact(f"loss, {name}", float(found.loss), float(arrays["loss"].mean()), tolerance)
            share = float(found.share_clipped.mean())
            yield Fact(f"share clipped, {name}", share, float(arrays["clipped"].mean()), tolerance)

    return facts


FORECAST = Claim(
    id="ftrl/beyond-plan-forecast",
    where=f"{OURS}: forecasts of clipped runs on records",
    kind="mc-equality",
    statement=(
        "On records, the closure's loss and share of clipped gradients are within 12 % of those of runs,",
        "and in many runs, which can tell more, within 4 %.",
    ),
    setting=(
        "240 records in 8 dimensions with heavy tails, residuals apart or growing with the features; independent noise "
        "with Poisson sampling, bands in one fixed order, without momentum and with 0.8, prefix sums with fresh "
        "examples, 20 to 40 steps."
    ),
    remark="`python -m tests.power.plans` compares both on many more settings, real tables among them.",
    checks=(
        Agreement(decides="a", facts=_runs(1, 0.12), alpha=2e-11, impostors={"30 % off": {"facts": Times(1.3)}}),
        Agreement(
            decides="b", facts=_runs(20, 0.04), alpha=2e-11, level="full", impostors={"10 % off": {"facts": Times(1.1)}}
        ),
    ),
)


# --- the spectrum alone, on Gaussian inputs ---


def _gaussian_runs(rng: np.random.Generator) -> Iterator[Fact]:
    """False alarms: 1500 runs have a standard error of 0.6 %, of which 7 and an error of 0.5 % are allowed."""
    spectrum = 1.0 / np.arange(1, 9)
    rates, mechanism = learning_rates("linear", 0.5, 24), unit_columns(optimal_counting(), 24)
    start = np.full(8, 0.4)
    objective = Objective(spectrum, 24, schedule=rates, weights="final", batch_size=16, initial=start, sigma_sgd=0.5)
    training = DesignedTraining(objective=objective, mechanism=mechanism, rho=0.05, clip_norm=1.0, clipping=True)
    runs = Experiment(
        algorithm=designed_training, problem=problem_of(objective), settings=training, block_trials=1500
    ).run(1, seed=int(rng.integers(2**31)))
    found = by_direction(
        spectrum,
        correlation=mechanism,
        schedule=rates,
        clip_norm=1.0,
        noise_multiplier=training.noise_deviation * 16,
        batch_size=16,
        order="fresh",
        initial=start,
        sigma_sgd=0.5,
    )
    yield Fact("loss", float(found.loss), float(runs["loss"].mean()), 0.05)
    yield Fact("share clipped", float(found.share_clipped.mean()), float(runs["clipped"].mean()), 0.05)


SPECTRUM = Claim(
    id="ftrl/beyond-plan-spectrum",
    where=f"{OURS}: forecasts of clipped runs from a spectrum",
    kind="mc-equality",
    statement=(
        "On Gaussian inputs the closed form by direction, from the spectrum alone, gives loss and share of clipped "
        "gradients of runs to within 5 %."
    ),
    setting="Eigenvalues $1\\/k$, $d = 8$, $T = 24$, $m = 16$, noise for prefix sums, one pass.",
    remark="On real tables it does not: their residuals and lengths depend on each other.",
    checks=(Agreement(facts=_gaussian_runs, alpha=1e-11, impostors={"15 % off": {"facts": Times(1.15)}}),),
)
