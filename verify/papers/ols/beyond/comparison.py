"""Beyond the paper: all methods on one data set at equal true privacy, predicted and simulated."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
from scipy.special import erf

from dpbounds.ols import (
    LABELS,
    AssumedDesign,
    Choices,
    Comparison,
    Gram,
    NewtonClips,
    compare,
    features,
    linear_mixing_scales,
    linear_sketch_size,
    measured_clips,
    newton,
    typical_clips,
)
from dpbounds.privacy import gaussian_mu
from dpbounds.values import Value
from simulators.ols import LeastSquares, assumed_records, experiment_of, family
from simulators.ols.families import Family
from verify.checks import Agreement, Fact, Holds, Within
from verify.statements.claims import Claim

EPSILON, TRIALS = 1.0, 1000
EDGES = [2.0 ** (-j / 2) for j in range(15)]


@cache
def _problem(name: str) -> LeastSquares:
    if name == "half":  # outcomes in another unit, C_Y = 1/2
        data = family("residual", n=2000)
        return LeastSquares(regressors=data.regressors, outcome=0.5 * data.outcome, outcome_bound=0.5)
    return family("mixfriendly", n=1500) if name == "mixfriendly" else family("wellcond", n=1500)


@cache
def _compared(name: str) -> Comparison:
    data = _problem(name)
    delta = data.n**-2.0
    clips = _measured(data, float(gaussian_mu(EPSILON, delta)))
    choices = Choices(steps=2, k=90, clip=0.75, outcome_bound=0.5) if name == "half" else Choices()
    return compare(data.statistics, EPSILON, delta, choices, newton_clips=clips)


def _measured(data: LeastSquares, mu: float) -> NewtonClips:
    return measured_clips(data.regressors, data.outcome / data.outcome_bound, data.theta_star / data.outcome_bound, mu)


def _simulated(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact]:
    """Means of the exact rows, medians of AdaSSP within 15 %; TAP, whose runs are long, on one of the problems."""
    for name in ("half", "wellcond", "mixfriendly"):
        methods = {row.method for row in _compared(name).rows} - {"PRN"}
        yield from _means(name, methods if name == "half" else methods - {"TAP"}, factor)


def _tail_averaged(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact]:
    """TAP on the others."""
    for name in ("wellcond", "mixfriendly"):
        yield from _means(name, {"TAP"}, factor)


def _means(name: str, methods: Collection[str], factor: float) -> Iterator[Fact]:
    data, found = _problem(name), _compared(name)
    for row in found.rows:
        if row.method not in methods:
            continue
        runs = experiment_of(row, data, found.choices, block_trials=TRIALS).run_block(0, seed=1)
        risk = factor * float(row.risk)
        label = f"{name}, {row.method}, {row.accounting}"
        if row.method in ("AdaSSP", "AdaSSP-iso"):
            yield Fact(label, float(np.median(runs["risk"])), risk, 0.15)
        elif row.method != "LinMix":  # whose tail is too heavy for a mean of so few runs
            yield Fact(label, float(np.mean(runs["risk"])), risk, 0.15)
        else:
            trimmed = float(np.mean(np.minimum(runs["risk"], 20 * risk)))
            yield Fact(label, trimmed, risk, 0.25)


def _settings(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact]:
    """What is run of each row at C_Y = 1/2, from the definition of its calibration, in units of the records' bounds."""
    data, found = _problem("half"), _compared("half")
    n, mu, delta, T, k, clip = data.n, found.mu, data.n**-2.0, 2, 90, 0.75
    ratios: dict[str, float] = {}
    for row in found.rows:
        settings: Any = experiment_of(row, data, found.choices).settings
        label, tight = f"{row.method}, {row.accounting}", row.accounting == "tight"
        if row.method in ("AdaSSP", "AdaSSP-iso"):
            scale = math.sqrt(3) / mu if tight else 1 / float(gaussian_mu(EPSILON / 3, delta / 3))
            shift = math.sqrt(2 * math.log(6 / delta))
            ridge = scale * math.sqrt(data.d * math.log(2 * data.d**2 / found.failure) / (1 + settings.isotropic))
            numbers = [settings.eigenvalue_scale, settings.gram_scale, settings.cross_scale, settings.shift]
            yield Fact(f"noise, {label}", numbers, [factor * scale] * 3 + [shift], 1e-12)
            yield Fact(f"ridge, {label}", settings.ridge, factor * ridge, 1e-12)
            yield Fact(f"isotropic, {label}", int(settings.isotropic), int(row.method == "AdaSSP-iso"), 0)
        elif row.method == "DP-GD":
            root = math.sqrt(-math.log(delta))
            printed = math.sqrt(2 * T) * clip / (n * (math.sqrt(EPSILON - math.log(delta)) - root))
            sigma = math.sqrt(T) * clip / (n * mu) if tight else printed
            numbers = [settings.steps, settings.rate, settings.clip, settings.sigma]
            yield Fact(f"noise, {label}", numbers, [T, 0.25, clip, factor * sigma], 1e-12)
        elif row.method in ("IHM", "IHM-ridge"):
            printed = math.sqrt(T) * clip / float(gaussian_mu(EPSILON / 2, delta / 4))
            tau = math.sqrt(2 * math.log(max(4 / delta, 4 / found.failure)))
            numbers = [settings.steps, settings.k, settings.clip, settings.tau, int(settings.keep_ridge)]
            yield Fact(f"settings, {label}", numbers, [T, k, clip, factor * tau, int(row.method == "IHM-ridge")], 1e-12)
            ratios[row.accounting] = settings.gamma / settings.sigma
            if not tight:
                yield Fact(f"noise, {label}", settings.sigma, factor * printed, 1e-12)
            yield Fact(f"mixing, {label}", settings.gamma, getattr(row.scales, "gamma", math.nan), 0)
        elif row.method == "LinMix":
            options: Any = {"k": settings.k, "failure": found.failure, "accounting": row.accounting}
            gamma = linear_mixing_scales(EPSILON, delta, **options).gamma  # at C_Y = 1
            yield Fact(f"mixing, {label}", settings.gamma, factor * gamma, 1e-12)
        elif row.method == "PRN":
            yield Fact(f"mu, {label}", settings.mu, factor * mu, 1e-12)
    yield Fact("gamma over sigma, tight as in the experiments", ratios["tight"], ratios["experiments"], 1e-9)


FAMILIES: dict[str, Any] = {
    "families": ("residual", "wellcond", "smalltheta", "mixfriendly", "clip"),
    "epsilons": (1.0, 10.0),
}


def _newton_share(name: Family, epsilon: float, draw: int) -> float:
    """The median risk of PRN over its estimate, 200 trials on a draw of a family with 1500 records."""
    data = family(name, n=1500, seed=draw)
    delta = data.n**-2.0
    found = compare(data.statistics, epsilon, delta, newton_clips=_measured(data, float(gaussian_mu(epsilon, delta))))
    (row,) = (row for row in found.rows if row.method == "PRN")
    runs = experiment_of(row, data, found.choices, block_trials=200).run_block(0, seed=1)
    return float(np.median(runs["risk"])) / float(row.risk)


def _newton_estimates(
    rng: np.random.Generator,
    families: tuple[Family, ...] = ("residual", "mixfriendly"),
    epsilons: tuple[float, ...] = (1.0,),
    factor: float = 1.0,
) -> Iterator[Within]:
    """On draws of the families that did not write the sentence; and where the estimate is far off, both ways."""
    for name in families:
        for epsilon in epsilons:
            share = _newton_share(name, epsilon, 3) / factor
            yield Within(f"{name}, PRN, epsilon = {epsilon:g}: share of its estimate", share, 1 / 3, 3.0)
    share, times = _newton_share("smalltheta", 0.1, 3), _newton_share("wellcond", 0.3, 3)
    numbers = {"share": share, "small": 0.1, "times": times, "middle": 0.3}
    yield Within("smalltheta, PRN, epsilon = 0.1: share of its estimate", share, most=1 / 3, numbers=numbers)
    yield Within("wellcond, PRN, epsilon = 0.3: share of its estimate", times, least=3.0)


def _advice(rng: np.random.Generator, place: int = 0) -> Iterator[Fact | Holds]:
    """The ranking is by predicted risk, PRN's six-fold; the recommendation is its first."""
    for name in ("half", "wellcond"):
        found = _compared(name)
        scores = {row.method: float(row.risk) * (6 if row.method == "PRN" else 1) for row in found.under("tight")}
        order = sorted(scores, key=scores.__getitem__)
        yield Fact(f"ranking, {name}", str([row.method for row in found.ranking]), str(order), 0)
        yield Fact(f"recommended, {name}", found.recommended.method, order[place], 0)
        yield Holds(f"the reason names the second, {name}", LABELS[found.ranking[1].method] in found.reason)
        yield Fact(f"mu, {name}", found.mu, float(gaussian_mu(EPSILON, _problem(name).n ** -2.0)), 1e-12)
    tight = _compared("wellcond").under("tight")
    for times, first in ((5.95, "IHM"), (6.05, "PRN")):
        risks = {"IHM": Value(times, kind="estimate", source="given"), "PRN": Value(1, kind="estimate", source="given")}
        rows = tuple(replace(row, risk=risks[row.method]) for row in tight if row.method in risks)
        found = replace(_compared("wellcond"), rows=rows)
        yield Holds(f"{first} where IHM's risk is {times} times PRN's", found.recommended.method == first)
    experiments = Choices(steps=3, rate=0.25, outcome_bound=1.0)
    yield Holds("choices by default are those of the experiments", Choices() == experiments)
    for d, failure in ((3, 1e-7), (40, 1e-7), (1, 0.5)):
        stated = max(int(2.5 * max(d, math.log(2 / failure))), 1)
        yield Fact(f"rows of linear mixing, d = {d}", linear_sketch_size(d, failure), stated, 0)
    yield Fact("nothing beats theta = 0", _hopeless().recommended.method, "zero", 0)
    yield Holds("the reason says so", "No private estimate" in _hopeless().reason)


def _hopeless() -> Comparison:
    gram = Gram(A=5 * np.eye(2), b=np.ones(2), y_squared=10.0, n=20)
    return compare(gram, 0.01, 1e-6, accountings=("tight",))


def _clips(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact]:
    """What PRN clips at: on records by its own rules without noise; for rows of one length with normal residuals."""
    data, mu = _problem("half"), 0.5
    lengths = np.linalg.norm(data.regressors, axis=1)
    sizes = lengths * np.abs(data.outcome - data.regressors @ data.theta_star) / 0.5
    first = [level for level in EDGES if np.sum(lengths * np.abs(data.outcome) / 0.5 > level) <= 0.3 * data.n]
    found = _measured(data, mu)
    path = _path(min(min(first), 0.15), lambda c: float(np.mean(sizes <= c)), mu, data.n, data.d)
    yield Fact("c_u on records", list(found.gradients), [factor * value for value in path], 1e-9)
    yield Fact("share not clipped", found.unclipped, float(np.mean(sizes <= path[-1])), 1e-12)
    widest = [level for level in EDGES if np.sum(lengths > level) <= 0.15 * data.n]
    wanted = min(min(widest) * math.sqrt(max(1.0, 0.05 * mu * data.n / data.d**1.5)), 1.0)
    yield Fact("h on records", found.hessian, min(level for level in EDGES if level >= wanted - 1e-12), 1e-9)

    # Gradients at this theta are all longer than a budget that is next to nothing lets the clip grow.
    rows = np.full((50, 1), 1.0)
    none = measured_clips(rows, np.full(50, 0.01), np.full(1, 0.9), 1e-3)
    yield Fact("share not clipped where all are", none.unclipped, 1 / 50, 1e-12)

    short = AssumedDesign(n=2000, d=3, spectrum=(2.0, 2.0, 2.0), theta_norm=5.0, residual=1e-4).gram
    cases: tuple[tuple[str, Gram, dict[str, float]], ...] = (
        ("half", data.statistics, {"outcome_bound": 0.5}),
        ("half, C_Y = 1 by default", data.statistics, {}),
        ("a short fit", short, {}),
    )
    for name, gram, bounds in cases:
        typical, n = typical_clips(features(gram), float(np.trace(gram.A)), mu, **bounds), gram.n
        bound = bounds.get("outcome_bound", 1.0)
        residual = gram.y_squared - float(gram.b @ np.linalg.solve(gram.A, gram.b))
        length = math.sqrt(np.trace(gram.A) / n)
        spread, start = (length * math.sqrt(size / n) / bound for size in (residual, gram.y_squared))
        path = _path(
            min(min(level for level in EDGES if level >= start), 0.15),
            lambda c, spread=spread: float(erf(c / spread / math.sqrt(2))),
            mu,
            n,
            gram.d,
        )
        yield Fact(f"c_u, typical, {name}", list(typical.gradients), [factor * value for value in path], 1e-9)
        share = float(erf(path[-1] / spread / math.sqrt(2)))
        yield Fact(f"share, typical, {name}", typical.unclipped, share, 1e-9)


def _shortened(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact]:
    """PRN where h is half the length of every row: its Hessian is that of the rows, shortened one by one."""
    data, h, c, unclipped = assumed_records(AssumedDesign(n=900, d=5, lambda_min=2.0), seed=3), 0.25, 0.1, 0.8
    clips = NewtonClips(hessian=h, gradients=(c,) * 10, unclipped=unclipped)
    found = compare(data.statistics, 10.0, 1e-6, newton_clips=clips)
    rows = np.array([x * min(1.0, h / float(np.linalg.norm(x))) for x in data.regressors])
    settings = newton.Newton(mu=found.mu)
    clipped = {"hessian_clip": h, "gradient_clip": c, "n": data.n, "unclipped": unclipped}
    law = newton.moments(data.gram, data.theta_star, rows.T @ rows, settings, **clipped)
    risk = law.bias @ data.gram @ law.bias + np.trace(data.gram @ law.covariance)
    (row,) = (row for row in found.rows if row.method == "PRN")
    yield Fact("PRN with rows that are shortened", float(row.risk), factor * float(risk), 1e-9)


def _path(c: float, share_below, mu: float, n: int, d: int) -> list[float]:
    """Ten rounds by hand."""
    noise, used = math.sqrt(9 / 0.04) / mu, []
    for _ in range(10):
        used.append(min(1.0, c * max(1.0, 0.3 * math.sqrt(n * mu / d))))
        trust = 1 / (1 + (noise / (0.15 * n)) ** 2)
        c = max(0.002, c * math.exp(-1.5 * trust * (share_below(c) - 0.7)))
    return used


BEYOND_COMPARISON = Claim(
    id="ols/beyond-comparison",
    where="Beyond the paper: all methods at equal true privacy",
    kind="mc-equality",
    statement=(
        (
            "For one data set and budget: noise and predicted risk of IHM (with and without its ridge term), linear "
            "mixing, AdaSSP (with its own and with isotropic noise) and DP-GD, at equal true privacy and under the "
            "experiments' accounting: the mean risk (of AdaSSP the median) of the simulated methods is the predicted "
            "one up to 15 % (of linear mixing, trimmed, up to 25 %);"
        ),
        "the median risk of PRN is within a factor of 3 of its estimate on five families at $epsilon = 1$ and 10.",
    ),
    setting=(
        "(a) Three synthetic data sets, $epsilon = 1$, $delta = n^(-2)$, one with $C_Y = 1\\/2$, $T = 2$ and $k = 90$; "
        "(b) $n = 1500$, on a draw that did not write the sentence; two of the families at quick level."
    ),
    remark=(
        "Exact for IHM, linear mixing and DP-GD where nothing is clipped; leading order for AdaSSP. PRN's is an "
        "estimate and no more: at $epsilon = {small}$ its median risk on the family `smalltheta` is ${share:2}$ of it, "
        "since PRN then answers 0, and at $epsilon = {middle}$ on `wellcond` ${times:2}$ times it."
    ),
    checks=(
        Agreement(decides="b", facts=_newton_estimates, alpha=1e-8, impostors={"5 times": {"facts": {"factor": 5.0}}}),
        Agreement(
            decides="b",
            facts=partial(_newton_estimates, **FAMILIES),
            level="full",
            alpha=1e-8,
            impostors={"5 times": {"facts": partial(_newton_estimates, factor=5.0, **FAMILIES)}},
        ),
        Agreement(decides="a", facts=_simulated, alpha=7e-9, impostors={"a third more": {"facts": {"factor": 1.35}}}),
        Agreement(decides="a", facts=_settings, impostors={"1e-9 more": {"facts": {"factor": 1 + 1e-9}}}),
        Agreement(decides="a", facts=_advice, impostors={"the second is recommended": {"facts": {"place": 1}}}),
        Agreement(decides="a", facts=_clips, impostors={"0.1 % more": {"facts": {"factor": 1.001}}}),
        Agreement(decides="a", facts=_shortened, impostors={"0.1 % more": {"facts": {"factor": 1.001}}}),
        Agreement(
            decides="a",
            facts=_tail_averaged,
            level="full",
            alpha=3e-9,
            impostors={"a third more": {"facts": {"factor": 1.35}}},
        ),
    ),
)
