"""Beyond the paper: what answers are made of: named data, the estimator's methods, spreads, doubts, quantiles."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from dpbounds import DomainError
from dpbounds.arithmetic import balls
from dpbounds.ols import Comparison, Features, Gram, ScaledData, bounded_data, compare, features, hessian_mixing_scales
from dpbounds.ols.clipping.law import Law, risk_quantiles
from dpbounds.ols.risk.sketching import sketch_and_solve_law
from dpbounds.ols.sketch import epsilon, root, smallest_gamma
from dpbounds.privacy.covariance import excess
from dpbounds.private import LinearRegression
from dpbounds.values import Value
from simulators.engine import Streams
from simulators.ols import AveragedDescent, LeastSquares, averaged_descent, family
from simulators.ols.families import perceptron
from simulators.sources import GaussianSource
from verify.checks import Agreement, Fact, Holds, Times, Within, refused, taken
from verify.papers.ols.beyond.by_definition import first_releases, last_digits, made_up, of_newton, orders, sketches
from verify.papers.ols.beyond.counted import clipped_sums, counted_laws, enough
from verify.papers.ols.beyond.laws_by_hand import laws_by_hand
from verify.statements.claims import Claim

_OFF = {"1 % off": {"facts": Times(1.01)}}
RECORDS = 4000

# --- named data ---


_BOUNDS: tuple[dict[str, Any], ...] = ({}, {"row_bound": 2.0}, {"outcome_bound": 2.0})


def _families(rng: np.random.Generator) -> Iterator[Fact | Within | Holds]:
    """Each regime from the same draws; lengths within 1."""
    for name, made in _DRAWN.items():
        found, (X, Y) = family(name, n=RECORDS, seed=3), made(np.random.default_rng(3))  # type: ignore[arg-type]
        yield Fact(f"{name}: X", found.regressors, X, 1e-12)
        yield Fact(f"{name}: y", found.outcome, Y, 1e-12)
        yield Within(f"{name}: longest row", float(np.linalg.norm(X, axis=1).max()), 0.0, 1.0 + 1e-12)
    for seed in (387, 551):  # draws with an outcome of -1.04 and of 1.04 before they are cut
        found, (_, Y) = family("mixfriendly", n=RECORDS, seed=seed), _mixing(np.random.default_rng(seed))
        yield Fact(f"mixfriendly, cut, seed {seed}: y", found.outcome, Y, 1e-12)
    told = {LeastSquares(regressors=X, outcome=Y, **bounds).digest for bounds in _BOUNDS}
    yield Fact("digests of the same records within other bounds", len(told), len(_BOUNDS), 0.0)
    other = LeastSquares(regressors=X, outcome=np.roll(Y, 1)).digest
    yield Holds("and of other records", other not in told)
    acts = {"tanh": np.tanh, "relu": lambda z: np.where(z > 0, z, 0.0), "sigmoid": lambda z: (1 + np.tanh(z / 2)) / 2}
    for activation, act in acts.items():
        found = perceptron(n=200, width=8, seed=4, activation=activation, noise=0.3)  # type: ignore[arg-type]
        own = np.random.default_rng(4)
        latent, first, shift = own.standard_normal((200, 1)), own.standard_normal((1, 8)), own.standard_normal(8)
        second = own.standard_normal((8, 8)) / math.sqrt(8)
        features = act(act(latent * first + shift) @ second + own.standard_normal(8))
        theta, noise = own.standard_normal(8), own.standard_normal(200)
        Y = features @ theta / np.linalg.norm(theta) + 0.3 * noise
        longest = max(np.linalg.norm(row) for row in features)
        yield Fact(f"{activation}: features", found.regressors, features / longest, 1e-12)
        yield Fact(f"{activation}: outcome", found.outcome, Y / max(abs(Y)), 1e-12)


def _residual(own: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Four strong columns; residuals between 0.225 and 0.75 of either sign."""
    sizes = np.where(np.arange(16) < 4, 1.0, 0.03)
    X = own.uniform(-1, 1, (RECORDS, 16)) * sizes / math.sqrt(4 + 12 * 0.03**2)
    sign = np.where(own.integers(0, 2, RECORDS) == 1, 1, -1)
    Y = X[:, :4] @ [0.5, -0.5, 0.4, -0.3] + sign * own.uniform(0.3, 1, RECORDS) * 0.75
    return X, np.where(np.abs(Y) > 1, np.sign(Y), Y)


def _well(own: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Signs over sqrt 8; sum |theta_j| = sqrt 8 / 2, so that fits stay within 1/2."""
    X = np.where(own.integers(0, 2, (RECORDS, 8)) == 1, 1, -1) / math.sqrt(8)
    theta = np.array([7, 5, 3, 1, -1, -3, -5, -7]) / 32 * math.sqrt(8) / 2
    return X, X @ theta + own.uniform(-0.01, 0.01, RECORDS)


def _small(own: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    X = np.where(own.integers(0, 2, (RECORDS, 8)) == 1, 1, -1) / math.sqrt(8)
    return X, own.uniform(-0.5, 0.5, RECORDS) + X @ np.full(8, 0.01)


def _mixing(own: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    sizes = np.array([max(0.5**j, 1e-3) for j in range(40)])
    X = own.uniform(-1, 1, (RECORDS, 40)) * sizes / math.sqrt(sum(sizes**2))
    Y = X[:, :3] @ [0.9, 0.4, 0.2] + 0.02 * own.standard_normal(RECORDS)
    return X, np.where(np.abs(Y) > 1, np.sign(Y), Y)


def _clip(own: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    H = np.exp(1 + own.standard_normal((RECORDS, 1)))
    for width in (1, 32, 32):
        H = (1 + np.tanh(H @ own.standard_normal((width, 32)) / 2)) / 2
    score = H @ own.standard_normal(32)
    margin = 2 * (score - np.mean(score)) / np.std(score) + own.standard_normal(RECORDS)
    return H / max(np.linalg.norm(row) for row in H), np.sign(margin)


_DRAWN = {"residual": _residual, "wellcond": _well, "smalltheta": _small, "mixfriendly": _mixing, "clip": _clip}


def _estimator(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Predictions and R² by their definitions; where noise comes from, and what is warned of."""
    X = rng.uniform(-1, 1, (400, 3))
    y = 0.4 + X @ [0.5, -0.3, 0.2] + rng.uniform(-0.1, 0.1, 400)
    budget: dict[str, Any] = {"epsilon": 20.0, "delta": 1e-6, "ranges": (-1.0, 1.0), "outcome_range": (-1.0, 2.0)}
    made = LinearRegression(**budget, seed=0).fit(X, y)
    predicted = [made.intercept_ + sum(a * c for a, c in zip(row, made.coef_, strict=True)) for row in X]
    yield Fact("predictions", made.predict(X), predicted)
    share = np.mean((y - predicted) ** 2) / np.var(y)
    yield Fact("R²", made.score(X, y), 1 - share)
    yield Holds("R² of one outcome", math.isnan(made.score(X[:5], np.ones(5))))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        plain = LinearRegression(**budget, noise="numpy").source(400, 4)
    yield Holds("noise of floats, with a warning", isinstance(plain, GaussianSource) and len(said) == 1)


# --- spreads and doubts ---


def _scaled(X: np.ndarray, Y: np.ndarray) -> ScaledData:
    return ScaledData(regressors=X, outcome=Y, row_bound=1.0, outcome_bound=1.0, longest_row=1.0, largest_outcome=1.0)


@cache
def _compared() -> Comparison:
    data = family("wellcond", n=400)
    return compare(_scaled(data.regressors, data.outcome), 50.0, 1e-6, accountings=("tight",))


def _law(risk: float, median: float, draws: tuple[float, ...] = ()) -> Law:
    return Law.of(risk, 0.0, 2.0, [0.0], draws=draws, quantiles=(median / 2, median, 2 * median))


def _spreads(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Standard errors over draws, and by leaving parts out; each reason for a doubt."""
    found, draws = _compared(), (0.2, 0.26, 0.19, 0.23, 0.3)
    medians = np.array([0.3, 0.35, 0.33, 0.45])
    parts = [SimpleNamespace(law=lambda scales, m=m: _law(0.5 + m, m)) for m in medians]
    counted = SimpleNamespace(law=lambda scales: _law(0.8, 0.4, draws), parts=lambda: parts)
    here = replace(found, counted=cast(Any, counted))
    spread = math.sqrt(sum((d - 0.236) ** 2 for d in draws) / 4 / 5) / 0.236
    yield Fact("over draws", here.spread, spread)
    there = replace(here, stand_in=True)
    logs = np.log(0.5 + medians)  # of means
    parted = math.sqrt(3 / 4 * sum((x - np.mean(logs)) ** 2 for x in logs))
    yield Fact("over draws and without a part", there.spread, math.hypot(spread, parted))
    unknown = replace(found, counted=None)
    yield Fact("no law of a known median", unknown.spread, 0.0)
    bare = replace(unknown, rows=tuple(replace(row, median=None) for row in found.rows))
    yield Holds("no median", bare.spread is None and "no law of" in bare.doubt)
    yield Holds("draws are named", "depends on a few draws" in here.doubt)
    for clipped, words in ((0.2, "of the gradients are clipped"), (0.01, "records that stand in are too few")):
        rows = tuple(replace(row, clipped=clipped) for row in there.rows)
        yield Holds(f"a share of {clipped:g} clipped: {words}", words in replace(there, rows=rows).doubt)
    still = SimpleNamespace(law=lambda scales: _law(0.8, 0.4, (0.2, 0.2001)), parts=lambda: parts)
    yield Holds("nothing is doubted", replace(here, counted=cast(Any, still)).doubt == "")
    alone = compare(cast(ScaledData, found.problem).gram, 50.0, 1e-6, accountings=("tight",))
    yield Holds("of moments alone", "of X'X alone" in alone.doubt)
    kinds = [one.counted is not None and one.counted.typical for one in (found, alone)]
    yield Holds("records stand for themselves, and typical ones for moments", kinds == [False, True])
    yield from enough(found)
    by_method = {row.method: row for row in found.rows}
    for risks, words in (
        ((2.0, 3.0), "0.667 of that of the next, AdaSSP."),
        ((2.0, 1.0), "Least predicted risk but for PRN's"),
        ((7.0, 1.0), "0.143 of that of the next, IHM."),
    ):
        second = "AdaSSP" if risks == (2.0, 3.0) else "PRN"
        rows = [
            replace(by_method[name], risk=Value(risk, kind="estimate", source=""), clipped=None)
            for name, risk in zip(("IHM", second), risks, strict=True)
        ]
        told = replace(found, rows=tuple(rows))
        yield Holds(f"IHM's risk {risks[0]:g}, {second}'s {risks[1]:g}: {words}", words in told.reason)
        signal = found.regime.features.signal
        for share in (0.49, 0.51):
            other = replace(rows[0], risk=Value(share * signal, kind="estimate", source=""))
            yield Holds(f"{share:g} of the risk of zero", replace(told, rows=(other,)).useful is (share < 0.5))
    nothing = compare(found.problem, 1e-3, 1e-6, accountings=("tight",))
    yield Holds("zero is not doubted", nothing.recommended.method == "zero" and nothing.doubt == "")
    yield Holds("nor useful, as the other is", found.useful and not nothing.useful)


def _numbers(rng: np.random.Generator) -> Iterator[Fact | Within | Holds]:
    """Quantiles by their probabilities, small roots, typical rows, and the number of rows that a refusal names."""
    w = np.array([-0.9, -0.39, -1e-5, 1e-12, 1e-3, 0.2, 0.41, 3.0, 1e6])
    with balls(200) as m:
        stated = np.array([float((m.number(one) - (1 + m.number(one)).log()).mid()) for one in w.tolist()])
    yield Fact("w - log(1 + w), of arrays", excess(w) / stated, np.ones(9), 1e-11)
    yield Fact("w - log(1 + w), of floats", [excess(float(one)) for one in w] / stated, np.ones(9), 1e-11)
    A = np.array([[2.0, 0.3], [0.3, 0.5]])
    problem = Gram(A=A, b=A @ [0.5, -1.0], y_squared=900.0, n=100)
    law = sketch_and_solve_law(problem, k=6, eta_squared=0.1)
    for probability in (0.1, 0.5, 0.9):
        level = law.risk_quantile(probability)
        yield Fact(f"risk at {probability:g}", law.risk_cdf(level), probability, 1e-5)
    yield Within("a quantile far from 1", law.risk_quantile(0.9), 4.0)
    infinite = risk_quantiles(problem.spectrum, np.array([math.inf, 0.0]), np.eye(2))
    yield Holds("quantiles of what left floats", len(infinite) == 3 and all(map(math.isnan, infinite)))
    yield Holds("no quantiles, no median", Law.of(1.0, 0.0, 2.0, [0.0]).median is None)
    yield Fact("the median", _law(0.8, 0.4).median, 0.2)
    for end in (0.0, 1.0):
        found = root(lambda x, end=end: (x - end) ** 2 + 1e-30, 0.0, 1.0)
        yield Fact(f"a root that rounding leaves at {end:g}", found, end)
    X = np.array([[0.6, 0.0], [0.0, 0.3], [0.3, 0.4], [0.0, 0.1]])
    yield Fact("a typical row", _scaled(X, np.array([0.5, 0.1, -0.2, 0.3])).typical_row, (0.5 + 0.3) / 2)
    budget: dict[str, Any] = {"epsilon": 100.0, "delta": 1e-6, "failure": 0.1, "accounting": "theorem", "steps": 1}
    needed = 0
    try:
        hessian_mixing_scales(k=10, **budget)
    except DomainError as refusal:
        needed = int(re.findall(r"\d+", refusal.allowed)[0])
    yield taken("the number of rows that it asks for", lambda: hessian_mixing_scales(k=needed, **budget))
    yield refused("one row fewer", "k * steps", lambda: hessian_mixing_scales(k=needed - 1, **budget))
    few = hessian_mixing_scales(k=needed, **budget).gamma
    yield Within("gamma there over the least", few / 2.5, 1.0, 1.0 + 1.0 / needed)
    try:
        smallest_gamma(1e-320, 1e-300, 1000, 2)
    except DomainError as refusal:
        reached = float(epsilon(1e50, 1000, 1e-300, 2))
        yield Fact("the least epsilon that it asks for", float(refusal.allowed.split()[-1]), reached, 2e-3)


def _last_step(rng: np.random.Generator) -> Iterator[Fact]:
    """Descent by hand, without noise to speak of and with: the mean of the iterates kept, what its last step clips."""
    X, y = rng.uniform(-0.5, 0.5, (60, 3)), rng.uniform(-1.0, 1.0, 60)
    data = LeastSquares(regressors=3.0 * X, outcome=0.7 * y, row_bound=3.0, outcome_bound=0.7)
    star = np.linalg.lstsq(3.0 * X, 0.7 * y, rcond=None)[0]
    for steps, average, momentum, mu in ((1, 0.0, 0.0, 1e12), (4, 0.5, 0.0, 1e12), (5, 0.4, 0.6, 40.0)):
        settings = AveragedDescent(mu=mu, steps=steps, rate=0.7, clip=0.2, average=average, momentum=momentum)
        noise, none = np.random.default_rng(1), np.random.default_rng(2)
        runs = averaged_descent(data, settings, Streams(noise=noise, data=none, initial=none), 2)
        draws = np.random.default_rng(1).standard_normal((2, steps, 3))
        eta, norms = 0.7 / float(np.linalg.eigvalsh(X.T @ X)[-1]), np.linalg.norm(X, axis=1)
        for trial in range(2):
            theta, velocity, path, clipped = np.zeros(3), np.zeros(3), [], []
            for t in range(steps):
                gradients = (y - X @ theta)[:, None] * X
                lengths = norms * abs(y - X @ theta)
                clipped.append(np.mean(lengths > 0.2))
                kept = (gradients * np.minimum(1.0, 0.2 / lengths)[:, None]).sum(axis=0)
                velocity = momentum * velocity + kept + 0.2 * math.sqrt(steps) / mu * draws[trial, t]
                theta = theta + eta * velocity
                path.append(theta)
            tail = max(1, round(average * steps))
            label = f"{steps} steps, average {average:g}, momentum {momentum:g}, run {trial}"
            mean = np.mean(path[-tail:], axis=0) * 0.7 / 3.0
            yield Fact(f"{label}: theta", runs["theta"][trial], mean, 1e-9)
            risk = float(np.sum((3.0 * X @ (mean - star)) ** 2))
            yield Fact(f"{label}: risk", runs["risk"][trial], risk, 1e-9)
            yield Fact(f"{label}: share clipped in the last step", runs["clipped"][trial], clipped[-1])


# --- limits and units ---


def _limits(rng: np.random.Generator) -> Iterator[Fact | Within | Holds]:
    """Records at their bounds but for rounding, lambda^XY at what Proposition 3 allows."""
    X, y = np.array([[0.6, 0.8], [0.0, 1.0], [0.3, 0.1]]), np.array([1.0, 0.5, -0.25])
    for name, factors in (("row_bound", (2.5, 1.0)), ("outcome_bound", (1.0, 2.5))):
        for beyond, inside in ((9e-10, True), (2e-9, False)):
            own, other = (array * f * (1 + beyond * (f > 1)) for array, f in zip((X, y), factors, strict=True))
            bounds: dict[str, Any] = {"row_bound": factors[0], "outcome_bound": factors[1]}
            label = f"{name}, beyond by {beyond:g} of it"
            check = taken if inside else partial(refused, parameter=name)
            yield check(label, call=lambda own=own, other=other, bounds=bounds: bounded_data(own, other, **bounds))
            told = bounded_data(own, other, **bounds, beyond="clip")
            yield Holds(f"{label}: {'not ' if inside else ''}told", told.shortened == (() if inside else (name,)))
            yield Fact(f"{label}: rows", told.regressors, X, 1e-8)
            yield Fact(f"{label}: outcomes", told.outcome, y, 1e-8)
    X, y = 20 * rng.standard_normal((500, 3)), rng.standard_normal(500)
    told = bounded_data(X, y, row_bound=3.7, outcome_bound=0.3, beyond="clip")
    lengths = np.linalg.norm(told.regressors, axis=1)
    yield Within("shortened rows: rounding beyond 1", float(lengths.max()), 0.99, 1.0)
    yield Fact("shortened rows: directions", told.regressors / lengths[:, None], X / np.linalg.norm(X, axis=1)[:, None])
    yield Fact("shortened outcomes", told.outcome, np.where(np.abs(y) > 0.3, np.sign(y), y / 0.3))
    own = np.column_stack([1e-9 * X[:, 0], X[:, 1], 0 * y])
    fit = np.linalg.lstsq(X[:, :2], y, rcond=None)[0]
    star = bounded_data(own, y, row_bound=200.0, outcome_bound=9.0).theta_star * (9.0 / 200.0)
    yield Fact("the fit by a small column, and by one of zeros", star * [1e-9, 1.0, 1.0], [*fit, 0.0], 1e-9)
    for beyond, inside in ((0.0, True), (9e-10, True), (2e-9, False), (0.5, False)):
        values: dict[str, Any] = {"residual": 6.0, "theta_squared": 2.0, "joint_lambda_min": 2.0 * (1 + beyond)}
        check = taken if inside else partial(refused, parameter="joint_lambda_min")
        yield check(f"lambda^XY beyond by {beyond:g}", call=lambda values=values: Features(**values))


def _features(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """By singular values and the fit; columns of two sizes, as lambda^XY is near its bound for long ones alone."""
    for size in (1.0, 10.0):
        X = size * rng.uniform(-1, 1, (40, 3)) * [1.0, 0.5, 0.2]
        y = X @ [0.5, -0.3, 2.0] / size**1.5 + rng.uniform(-0.4, 0.4, 40)
        data, fit = features(Gram.of_records(X, y)), np.linalg.lstsq(X, y, rcond=None)[0]
        least = [np.linalg.svd(matrix, compute_uv=False)[-1] ** 2 for matrix in (X, np.column_stack([X, y]))]
        lost = float(np.sum((y - X @ fit) ** 2))
        for name, stated in zip(("lambda_min", "joint_lambda_min"), least, strict=True):
            yield Fact(f"{name}, size {size:g}", getattr(data, name), stated, 1e-9)
        told = [data.residual, data.signal, data.theta_squared]
        yield Fact(f"squares, size {size:g}", told, [lost, float(np.sum((X @ fit) ** 2)), float(fit @ fit)], 1e-10)
        yield Fact(f"per record, size {size:g}", [data.mean_residual, data.n, data.d], [lost / 40, 40, 3], 1e-10)
    for seed in range(30):
        own = np.random.default_rng(seed).uniform(-1, 1, (40, 4))
        exact = Gram.of_records(own, own @ [3.0, -20.0, 0.4, 8.0])
        yield taken(f"an outcome without residual, seed {seed}", lambda exact=exact: features(exact))


def _units(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """A table for outcomes within 3: risks 9 times those within 1."""
    found = _compared()
    scaled = replace(cast(ScaledData, found.problem), outcome_bound=3.0)
    n, units = found.regime.features.n, 9.0
    rows = (*found.rows, replace(found.recommended, accounting="theorem"))
    for row, told in zip(rows, replace(found, problem=scaled, rows=rows).table(), strict=True):
        label = f"{row.label}, {row.accounting}: "
        yield Holds(f"{label}recommended or not", told["recommended"] is (row is found.recommended))
        yield Fact(f"{label}risk", told["risk"], units * float(row.risk))
        yield Fact(f"{label}risk per record", told["risk_per_record"], units * float(row.risk) / n)
        yield Fact(f"{label}over zero", told["over_zero"], float(row.risk) / found.regime.features.signal)
        if row.median is not None:
            yield Fact(f"{label}median", told["median"], units * float(row.median))
    curves = replace(found, problem=scaled).curves(2)
    yield Fact("curves: budgets", [budgets for budgets, _ in curves.values()], [[5.0, 500.0]] * len(curves))
    yield Fact("curves: zero", curves["zero"][1], [units * found.regime.features.signal] * 2)


BEYOND_PARTS = Claim(
    id="ols/beyond-parts",
    where="what answers are made of",
    kind="number",
    statement=(
        (
            "Named families of data are those of their documentation, draw by draw, and records that are made up for a "
            "design have its moments;"
        ),
        "predictions and $R^2$ of the private estimator are those of its coefficients;",
        (
            "the spread of a forecast is the standard error over draws and, of records that stand in, that of leaving "
            "parts of them out, an answer is doubted for the reason that it has, and as many records are asked for as "
            "that error falls with the root of their number;"
        ),
        (
            "quantiles have their probabilities, a refusal names the least number of rows or epsilon that is taken, "
            "noise is the least that keeps a budget, epsilons of sketches are the least over orders, and eigenvalues "
            "that are 0 but for rounding are, in any unit;"
        ),
        (
            "averaged descent is the mean of its last iterates, it tells the share of gradients that its last step "
            "clips, and sums of clipped gradients are those of the records one by one;"
        ),
        "what is beyond a bound by more than rounding is refused, or shortened and told;",
        (
            "what bounds read off records is theirs, laws of a comparison are those of its settings in units of the "
            "bounds, and its risks are told in the data's units;"
        ),
        (
            "laws of PRN and TAP start from histograms and Hessians with their own noise, draw by draw, their clip "
            "levels and preconditioners are those of their definitions, and where hardly any gradient is clipped they "
            "are those of linear steps."
        ),
    ),
    checks=(
        Agreement(decides="a", facts=_families, impostors=_OFF),
        Agreement(decides="a", facts=made_up, impostors=_OFF),
        Agreement(decides="b", facts=_estimator, impostors=_OFF),
        Agreement(decides="c", facts=_spreads, impostors=_OFF),
        Agreement(decides="d", facts=_numbers, impostors=_OFF),
        Agreement(decides="d", facts=last_digits, impostors=_OFF),
        Agreement(decides="d", facts=sketches, impostors=_OFF),
        Agreement(decides="d", facts=orders, impostors=_OFF),
        Agreement(decides="e", facts=_last_step, impostors=_OFF),
        Agreement(decides="e", facts=clipped_sums, impostors=_OFF),
        Agreement(decides="f", facts=_limits, impostors=_OFF),
        Agreement(decides="g", facts=_features, impostors=_OFF),
        Agreement(decides="g", facts=_units, impostors=_OFF),
        Agreement(decides="g", facts=counted_laws, impostors=_OFF),
        Agreement(decides="h", facts=first_releases, impostors=_OFF),
        Agreement(decides="h", facts=of_newton, impostors=_OFF),
        Agreement(decides="h", facts=laws_by_hand, impostors=_OFF),
    ),
)
