"""Noise designed for the learning loss: the mechanisms, what they cost, and how near to the least possible it is.

G is the Gram matrix of a training run, C = B^{-1}, V = s(C)^2 tr(G (C^T C)^{-1}), n the column norms.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import ellipk

from dpbounds.ftrl import correlations, design
from dpbounds.ftrl.design.fitting import fit_scales
from dpbounds.ftrl.design.mechanisms.spectral import gain_spectrum
from simulators.engine import Experiment
from simulators.ftrl import DesignedTraining, LinearRegression, designed_training
from verify.checks import Agreement, Case, Fact, Means, MonteCarlo, Search, Times, Within
from verify.checks.domains import Real, Whole
from verify.checks.pictures import Picture, Series
from verify.papers.ftrl.beyond.design_spectra import endings
from verify.papers.ftrl.beyond.exact import OURS
from verify.papers.ftrl.tools.design_problems import final_loss, least, mean_loss, spectra
from verify.statements.claims import Claim

Sides = tuple[float, float]
Options = dict[str, Any]


# --- the best Toeplitz mechanism of a long run ---


def _autocovariance(objective: design.Objective, lags: int) -> np.ndarray:
    """Of h, by a plain Riemann sum: it has no feature narrower than the slowest rate."""
    omega = 2.0 * np.pi * np.arange(1 << 14) / (1 << 14)
    return np.fft.ifft(gain_spectrum(objective, regularised=False)(omega)).real[:lags]


def _middle(rng: np.random.Generator) -> Iterator[Fact]:
    """h against G itself, in the middle of a long run: noiseless, single examples, batches, heavy ball."""
    spectrum = np.array([1.0, 0.4, 0.4, 0.15])
    cases: tuple[Options, ...] = (
        {"noiseless": True},
        {"batch_size": 1},
        {"batch_size": 5},
        {"noiseless": True, "momentum": 0.7},
    )
    for options in cases:
        objective = design.Objective(spectrum, 1201, 0.35, **options)
        gram = objective.apply(np.eye(1201)[600])[600:612]
        stated = _autocovariance(objective, 12)
        label = ", ".join(f"{name} {value}" for name, value in options.items())
        yield Fact(f"G over its diagonal, {label}", list(gram / gram[0]), list(stated / stated[0]), 1e-9)
        if "noiseless" in options:
            yield Fact(f"T times G, {label}", 1201 * gram[0], stated[0], 1e-9)


def _stationary(rng: np.random.Generator) -> Iterator[Fact]:
    """||c||^2 times the mean of h / |C|^2 from the coefficients of C, against (mean of h^{1/2})^2 and known values."""
    for name, rate, stated in (("1/k", 0.05, 0.0416829335), ("two levels", 0.5, 2.5434779496)):
        yield Fact(f"reference, {name}, {rate}", _limit(mean_loss(name, rate, 4096)), stated, 5e-9)
    flat = mean_loss("flat", 0.05, 4096)
    closed = 0.5 * 0.05**2 * 128 * (2.0 / np.pi * ellipk(0.95**2)) ** 2
    yield Fact("flat, by the elliptic integral of modulus 1 - eta", _limit(flat), closed, 1e-9)
    heavy = design.Objective(np.array([1.0, 0.3]), 4096, 0.3, momentum=0.6)
    omega = 2.0 * np.pi * np.arange(1 << 14) / (1 << 14)
    mean = np.sqrt(gain_spectrum(heavy, regularised=False)(omega)).mean()
    yield Fact("heavy ball", _limit(heavy), float(mean) ** 2, 1e-8)


def _limit(objective: design.Objective) -> float:
    toeplitz = design.spectral(objective, regularised=False)
    c, beta = toeplitz.inverse_coefficients(1 << 16), toeplitz.coefficients(1 << 16)
    power = np.abs(np.fft.fft(beta, 1 << 17)) ** 2
    omega = 2.0 * np.pi * np.arange(1 << 17) / (1 << 17)
    return float(c @ c) * float((power * gain_spectrum(objective, regularised=False)(omega)).mean())


def _references(rng: np.random.Generator) -> Iterator[Fact]:
    """T = 256, 1/k, eta L = 0.05; heavy ball at T = 64 against its dense bound."""
    objective = mean_loss("1/k", 0.05, 256)
    toeplitz = design.spectral(objective, regularised=False)
    yield Fact("spectral", float(objective.value(toeplitz)), 0.03489218, 2e-7)
    unit = design.unit_columns(toeplitz, 256)
    yield Fact("with unit columns", float(objective.value(unit)), 0.03312326, 2e-7)
    dense = correlations.from_matrix(unit.matrix(256))
    yield Fact("the same by its matrices", float(objective.value(dense)), 0.03312326, 2e-7)


def _aliases(rng: np.random.Generator) -> Iterator[Fact]:
    """b = 3: |C|^2 = h^{1/2} / f; X = C^T C sums to 0 over the aliases, that is vanishes at lags 3, 6, ..."""
    objective = design.Objective(np.array([1.0, 0.4]), 300, 0.4, noiseless=True)
    participation = design.Participation.cyclic(100, 3)
    toeplitz = design.cyclic(objective, participation, regularised=False)
    c = toeplitz.inverse_coefficients(300)
    lags = np.array([c[: 300 - lag] @ c[lag:] for lag in range(0, 60, 3)])
    yield Fact("lags that are multiples of b", list(lags / lags[0]), [1.0] + [0.0] * 19, 1e-7)
    omega = 2.0 * np.pi * np.arange(1 << 14) / (1 << 14)
    roots = np.sqrt(gain_spectrum(objective, regularised=False)(omega))
    aliased = np.mean([np.interp((omega + 2 * np.pi * j / 3) % (2 * np.pi), omega, roots) for j in range(3)], axis=0)
    power = np.abs(np.fft.fft(toeplitz.coefficients(2000), 1 << 14)) ** 2
    value = float(c @ c) * float((power * roots**2).mean())
    yield Fact("value per participation", value, float((aliased**2).mean()), 1e-6)


SPECTRAL = Claim(
    id="ftrl/beyond-design-spectral",
    where=f"{OURS}: designed noise for long runs",
    kind="identity",
    statement=(
        (
            r"For the mean loss of a long run $G$ is Toeplitz with spectrum $h = eta^2\/2 sum_j lambda_j \/ (x_j^2 + 4 "
            r"(1 - x_j) sin^2 omega\/2)$;"
        ),
        r"$abs(C)^2 = h^(1\/2)$ attains $(1/(2 pi) integral sqrt(h))^2$.",
        (
            r"With one participation every $b$ steps $abs(C)^2 = h^(1\/2) \/ f$, $f$ the mean of $h^(1\/2)$ over the "
            "$b$ aliases."
        ),
    ),
    checks=(
        Agreement(decides="a", facts=_middle, impostors={"1e-6 off": {"facts": Times(1 + 1e-6)}}),
        Agreement(decides="b", facts=_stationary, impostors={"1e-6 off": {"facts": Times(1 + 1e-6)}}),
        Agreement(decides="b", facts=_references, impostors={"1e-5 off": {"facts": Times(1 + 1e-5)}}),
        Agreement(decides="c", facts=_aliases, impostors={"1e-4 off": {"facts": Times(1 + 1e-4)}}),
        Agreement(decides="ac", facts=endings, impostors={"1e-4 off": {"facts": Times(1 + 1e-4)}}),
    ),
)


# --- unit columns ---


def _never(steps: float, logs: np.ndarray, eta: float, nu: float, weights: float, factor: float = 1.0) -> Sides:
    """V with unit columns against V without: nu-correlations and the spectral mechanism; all three weightings."""
    kind = ("mean", "tail", "final")[int(weights)]
    objective = design.Objective(np.exp(logs), int(steps), eta, weights=kind, noiseless=True)
    ratios = [
        float(objective.value(design.unit_columns(toeplitz, int(steps))) / objective.value(toeplitz))
        for toeplitz in (correlations.nu(nu), design.spectral(objective), design.spectral(objective, regularised=False))
    ]
    return factor * max(ratios), 1.0


def _seldom(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Within]:
    """24 problems of the same kind at random."""
    for _ in range(24):
        eta, nu = np.exp(rng.uniform([-4.6, -6.9], 0.0))
        ratio, _ = _never(float(rng.integers(1, 61)), rng.uniform(-6, 0, 3), eta, nu, float(rng.integers(3)), factor)
        yield Within("V with unit columns over V", ratio, most=1 + 1e-9)


UNIT_COLUMNS = Claim(
    id="ftrl/beyond-design-unit-columns",
    where=f"{OURS}: columns of equal norm",
    kind="inequality",
    statement=(
        "Dividing the columns of a Toeplitz $C$ by their norms $n_t$, that is multiplying the noise of step $t$ by "
        "$n_t$, makes the sensitivity 1 and never raises $V$."
    ),
    setting=(
        "$nu$-correlations and the spectral mechanism, three eigenvalues, $T <= 60$, mean, tail and final loss; by "
        "search, not by proof."
    ),
    checks=(
        Agreement(facts=_seldom, impostors={"5 % more": {"facts": {"factor": 1.05}}}),
        Search(
            sides=_never,
            level="full",
            box={
                "steps": Whole(1, 60),
                "logs": (Real(-6.0, 0.0), 3),
                "eta": Real(0.01, 1.0, "log"),
                "nu": Real(1e-3, 1.0, "log"),
                "weights": Whole(0, 2),
            },
            evaluations=1500,
            impostors={"1 % more": {"sides": {"factor": 1.01}}},
        ),
    ),
)


# --- how near to the least possible ---

SHORT = (16, 48, 144)


@lru_cache(maxsize=64)
def _ratio(objective: design.Objective, buffers: int) -> float:
    return float(design.best(objective, buffers=buffers).value) / least(objective)


def _short_runs(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Within]:
    """Mean loss, four spectra, three lengths: between the bound and 0.5 % above it."""
    for name in spectra():
        for steps in SHORT:
            ratio = factor * _ratio(mean_loss(name, 0.05, steps), 3)
            yield Within(f"value over the bound, {name}, T = {steps}", ratio, least=1 - 1e-9, most=1.005)


def _long_runs(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Within]:
    """Mean loss at T = 256 (four spectra, two rates) and T = 2049; final loss at T = 256, two schedules."""
    for steps, rates in ((256, (0.05, 0.5)), (2049, (0.05,))):
        for name in spectra():
            for rate in rates:
                ratio = factor * _ratio(mean_loss(name, rate, steps), 6)
                label = f"value over the bound, mean loss, {name}, eta L = {rate}, T = {steps}"
                yield Within(label, ratio, least=1 - 1e-9, most=1.005)
    for name in ("1/k", "two levels"):
        for schedule in ("constant", "linear"):
            ratio = factor * _ratio(final_loss(name, schedule, 256), 4)
            yield Within(f"value over the bound, final loss, {name}, {schedule}", ratio, least=1 - 1e-9, most=1.07)


def _repeated(steps: int, limits: dict[int, float]) -> list[Fact | Within]:
    facts: list[Fact | Within] = []
    for times, limit in limits.items():
        participation = design.Participation.min_separation(times, steps // times)
        for name in spectra():
            objective = mean_loss(name, 0.05, steps)
            made = design.best(objective, participation, buffers=4)
            ratio = float(made.value) / float(made.bound)
            facts.append(Within(f"value over the bound, {name}, k = {times}", ratio, least=1 - 1e-9, most=limit))
            facts.append(Fact("sensitivity", float(made.sensitivity), np.sqrt(times), 1e-9))
    return facts


def _several(rng: np.random.Generator, tighter: float = 0.0) -> Iterator[Fact | Within]:
    """T = 1024, k = 4 and 16."""
    yield from _repeated(1024, {4: 1.05 - tighter, 16: 1.135 - tighter})


def _several_short(rng: np.random.Generator, tighter: float = 0.0) -> Iterator[Fact | Within]:
    """T = 96, k = 4."""
    yield from _repeated(96, {4: 1.09 - tighter})


def _picture() -> Picture:
    """Designed noise, prefix-sum noise and independent noise over the bound."""
    series = []
    for name in spectra():
        problems = [mean_loss(name, 0.05, steps) for steps in SHORT]
        designed = [_ratio(one, 3) for one in problems]
        prefix = [
            float(one.value(design.unit_columns(correlations.optimal_counting(), one.steps))) / least(one)
            for one in problems
        ]
        series.append(Series(curve=f"designed, {name}", role="exact", x=SHORT, y=designed))
        series.append(Series(curve=f"prefix sums, {name}", role="exact", x=SHORT, y=prefix))
    return Picture(x="steps $T$", y="value over lower bound", series=tuple(series))


RATIOS = Claim(
    id="ftrl/beyond-design-ratios",
    where=f"{OURS}: designed noise against the least possible",
    kind="inequality",
    statement=(
        "A scaled BLT costs at most 1.005 times the least possible for the mean loss and 1.07 times for the final "
        "loss;",
        (
            "$b$ bands with unit columns at most 1.05 and 1.135 times for records that take part 4 and 16 times, $b$ "
            "steps apart."
        ),
    ),
    setting=(
        "$d = 128$; spectra $1\\/k$, $1\\/k^2$, flat, two levels. Mean loss: $T <= 144$ with 3 buffers; $T = 256$, "
        "$2049$ with 6. Final loss, $1\\/k$ and two levels: $T = 256$, $m = 32$, $eta = 0.05$ or $0.1 (1 - t\\/T)$, 4 "
        "buffers. Bands: $T = 1024$."
    ),
    checks=(
        Agreement(
            decides="a", facts=_short_runs, picture=_picture, impostors={"1 % more": {"facts": {"factor": 1.01}}}
        ),
        Agreement(decides="a", facts=_long_runs, level="full", impostors={"1 % more": {"facts": {"factor": 1.02}}}),
        Agreement(decides="b", facts=_several_short, impostors={"5 % less": {"facts": {"tighter": 0.05}}}),
        Agreement(decides="b", facts=_several, level="full", impostors={"5 % less": {"facts": {"tighter": 0.05}}}),
    ),
)


# --- the predicted loss of a run ---


@lru_cache(maxsize=1)
def _cases() -> tuple[Case, ...]:
    """Batches with a schedule, single examples, several participations, heavy ball; unclipped."""
    spectrum, rho = 1.0 / np.arange(1.0, 8.0), 0.05
    schedule = 0.2 * (1 - np.arange(25) / 25)
    repeated = design.Participation.min_separation(3, 8)
    one = design.Participation.single()
    runs: dict[str, tuple[Options, design.Participation]] = {
        "final, m = 4": ({"schedule": schedule, "batch_size": 4, "weights": "final"}, one),
        "mean, m = 1": ({"eta": 0.08, "batch_size": 1, "sigma_sgd": 0.5}, one),
        "mean, k = 3": ({"eta": 0.08, "batch_size": 2, "sigma_sgd": 0.5}, repeated),
        "heavy ball": ({"eta": 0.05, "noiseless": True, "batch_size": 3, "momentum": 0.8}, one),
    }
    cases = []
    for label, (options, participation) in runs.items():
        objective = design.Objective(spectrum, 25, initial=0.2, **options)
        mechanism = design.best(objective, participation, buffers=2).mechanism
        problem = LinearRegression(
            eigenvalues=tuple(spectrum), sigma_sgd=objective.sigma_sgd, initial=(np.sqrt(0.2),) * 7
        )
        settings = DesignedTraining(
            objective=objective, mechanism=mechanism, rho=rho, clip_norm=0.7, participation=participation
        )
        experiment = Experiment(algorithm=designed_training, problem=problem, settings=settings, block_trials=2500)
        predicted = objective.loss(mechanism, rho, clip_norm=0.7, participation=participation).total
        cases.append(
            Case(
                label=label,
                experiment=experiment,
                output="weighted_loss",
                predicted=lambda predicted=predicted: predicted,
                relative_std=0.3,
            )
        )
    return tuple(cases)


SIMULATED = Claim(
    id="ftrl/beyond-design-simulated",
    where=f"{OURS}: runs with designed noise",
    kind="identity",
    statement=(
        "A private run with designed noise ends at the predicted loss: start, gradient noise and $V G_c^2 \\/ (2 rho "
        "m^2)$."
    ),
    setting="Fresh Gaussian examples, no clipping; within 2 %.",
    checks=(
        MonteCarlo(
            means=Means(cases=_cases),
            resolution={"quick": 0.02, "full": 0.01},
            impostors={"4 % off": {"scale": 1.04}},
        ),
    ),
)


# --- records that take part in whatever steps: independent noise, scaled ---


def _scaled(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact | Within]:
    """Against all diagonal C near the one that is stated, the sensitivity by all patterns; all steps in closed form."""
    objective = design.Objective(np.array([1.0, 0.4]), 7, eta=0.4, weights="final")
    costs = np.diag(objective.gram())
    for times in (2, 4, 7):
        scales = np.diag(fit_scales(objective, times).encoder(7)) ** 2
        patterns = list(itertools.combinations(range(7), times))

        def value(v: np.ndarray, patterns=patterns) -> float:
            return max(v[list(steps)].sum() for steps in patterns) * np.sum(costs / v)

        stated = factor * value(scales)
        others = [value(scales * np.exp(rng.normal(size=7) * size)) for size in (0.01, 0.1, 0.5) for _ in range(100)]
        yield Within(f"value over the least of others, {times} uses", stated / min(others), most=1.0)
        own = objective.value(fit_scales(objective, times), design.Participation.min_separation(times, 1))
        yield Fact(f"value, {times} uses", factor * float(own), value(scales), 1e-9)
    every = design.Participation.min_separation(7, 1)
    yield Fact(
        "value, a use in every step", factor * float(design.best(objective, every).value), np.sqrt(costs).sum() ** 2
    )


SCALES = Claim(
    id="ftrl/beyond-design-scales",
    where=f"{OURS}: scales of independent noise",
    kind="algorithm",
    statement=(
        "Where a record may take part in any $k$ steps, independent noise is best with the scales $v_t^(-1\\/2)$, "
        "$v_t = max(sqrt(G_(t t)), u)$ for some $u$, and costs $(sum_t sqrt(G_(t t)))^2$ where it takes part in all."
    ),
    setting="$T = 7$, final loss, against 300 other scales for each $k$.",
    checks=(Agreement(facts=_scaled, impostors={"1 % off": {"facts": {"factor": 1.01}}}),),
)
