"""Beyond the paper: laws of a comparison in other units, sums of clipped gradients, how many records are enough."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from decimal import ROUND_CEILING, Context
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from dpbounds.ols import Comparison, Gram, ScaledData, clipping
from dpbounds.ols.clipping.law import Law
from dpbounds.ols.counted import Counted
from dpbounds.ols.newton import Newton
from dpbounds.ols.risk import released
from dpbounds.ols.scales import AveragedDescentScales, GradientDescentScales, HessianMixingScales
from dpbounds.ols.tail_averaged import TailAveraged
from simulators.ols import LeastSquares
from simulators.ols.clipping import ClippedSums
from verify.checks import Fact, Holds


def counted_laws(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Each law of a comparison is that of its settings, in units of the bounds; of X'X in those of the outcome's."""
    X, y = rng.uniform(-0.5, 0.5, (80, 3)) * [1.0, 0.7, 0.4], rng.uniform(-0.9, 0.9, 80)
    y = 0.3 * y + X @ [0.8, -0.6, 0.5]
    data = ScaledData(regressors=X, outcome=y, row_bound=1.0, outcome_bound=1.0, longest_row=1.0, largest_outcome=1.0)
    found, bound, largest = Counted.of_data(data), 1.6, float(np.linalg.eigvalsh(X.T @ X)[-1])
    eta = released(float(np.linalg.eigvalsh(X.T @ X)[0]), level=9.0, scale=0.8, tau=2.5)
    mixing = HessianMixingScales(k=40, steps=2, gamma=9.0, sigma=0.7, tau=2.5, clip=0.5)
    for keep in (False, True):
        told = found.hessian_mixing(mixing, eta, bound, keep_ridge=keep)
        settings: dict[str, Any] = {"steps": 2, "k": 40, "eta_squared": eta, "sigma": 0.7 / bound, "clip": 0.5 / bound}
        stated = clipping.hessian_mixing(X, y, **settings, keep_ridge=keep)
        yield from _same(f"IHM, ridge {'kept' if keep else 'left'}", told, stated)
    descent = GradientDescentScales(n=80, steps=3, sigma=0.03, clip=0.4)
    told = found.gradient_descent(descent, 2.1, bound)
    mu = 0.4 * math.sqrt(3) / (80 * 0.03)
    yield from _same(
        "DP-GD", told, clipping.gradient_descent(X, y, mu=mu, steps=3, rate=2.1 * largest / 80, clip=0.4 / bound)
    )
    averaged = AveragedDescentScales(mu=3.0, steps=7, rate=1.3, clip=0.2, average=0.5)
    stated = clipping.gradient_descent(X, y, mu=3.0, steps=7, rate=1.3, clip=0.2, average=0.5)
    for name, law in (("by its settings", found.descent(averaged, 3.0)), ("by its scales", found.law(averaged))):
        yield from _same(f"averaged DP-GD {name}", law, stated)
    yield from _same("TAP", found.law(TailAveraged(mu=7.0)), clipping.tail_averaged(X, y, mu=7.0, draws=16))
    yield from _same("PRN", found.law(Newton(mu=30.0)), clipping.newton(X, y, mu=30.0, draws=16))
    yield Holds("no law of others", found.law(mixing) is None)
    yield Holds("nothing of other records", not found.others and not found.typical and found.unit == 1.0)
    for part, rest in enumerate(found.parts()):
        kept = np.arange(80) % 16 != part
        yield Fact(f"without part {part}", rest.rows.X, X[kept], 0.0)
    gram = Gram.of_records(X, bound * y)
    typical = Counted.of_gram(gram, bound)
    stated = [bound**2, float(gram.b @ np.linalg.solve(gram.A, gram.b)) / bound**2, float(y @ y), 8]
    squares = typical.rows.weight * float(typical.rows.y @ typical.rows.y)
    told = [typical.unit, typical.rows.gap, squares, typical.draws]
    yield Fact("of X'X: unit, gap, squares, draws", told, stated, 1e-9)


def _same(label: str, told: Law | None, stated: Law) -> Iterator[Fact]:
    assert told is not None
    numbers = [[float(one.risk), one.relative, one.bias, one.share_clipped, *one.quantiles] for one in (told, stated)]
    yield Fact(label, numbers[0], numbers[1], 1e-10)


def clipped_sums(rng: np.random.Generator) -> Iterator[Fact]:
    """Sums of clipped gradients, record by record; estimates at which one more record is just clipped, or just not."""
    X, y = rng.uniform(-1.0, 1.0, (40, 3)) * [0.9, 0.5, 0.2], rng.uniform(-1.0, 1.0, 40)
    for columns in (X, X[:, :1], np.column_stack([X, X[:, 0] - 0.5 * X[:, 1]])):
        for clip, way in ((1.2, "entrywise"), (0.9, "norm"), (0.3, "entrywise"), (0.2, "norm"), (math.inf, "norm")):
            yield from _clipped(columns, y, clip, way, rng)


def _clipped(X: np.ndarray, y: np.ndarray, clip: float, way: Any, rng: np.random.Generator) -> Iterator[Fact]:
    data = LeastSquares(regressors=X, outcome=y, row_bound=2.0)
    sums = ClippedSums(problem=data, clip=clip, clipping=way)
    star, norms, inverse = np.linalg.pinv(X) @ y, np.linalg.norm(X, axis=1), np.linalg.pinv(X.T @ X)
    rest, limits = np.abs(y - X @ star), np.full(40, clip) if way == "entrywise" else clip / norms
    thetas = [star + scale * rng.standard_normal(X.shape[1]) for scale in (0.02, 0.1, 1.0, 30.0)]
    for i in np.flatnonzero(rest < limits)[::3] if math.isfinite(clip) else ():
        steepest = inverse @ X[i] * np.sign(X[i] @ star - y[i])
        least = (limits[i] - rest[i]) / abs(X[i] @ steepest)
        thetas += [star + least * (1 + off) * steepest for off in (-1e-6, 1e-6)]
    alone = [sums.at(theta[None] @ data.eigenvectors) for theta in thetas]
    label = f"{X.shape[1]} columns, clip {clip:g}, {way}"
    for place, (theta, (told, share)) in enumerate(zip(thetas, alone, strict=True)):
        residuals = [float(value - x @ theta) for x, value in zip(X, y, strict=True)]
        kept = [max(-most, min(value, most)) for value, most in zip(residuals, limits, strict=True)]
        yield Fact(f"{label}, estimate {place}: sums", data.eigenvectors @ told[0], np.array(kept) @ X, 1e-8)
        yield Fact(f"{label}, estimate {place}: share", share[0], np.mean(np.not_equal(kept, residuals)), 1e-12)
    many = sums.at(np.array(thetas) @ data.eigenvectors)
    for name, all_at_once, one in zip(("sums", "shares"), many, zip(*alone, strict=True), strict=True):
        yield Fact(f"{label}, all at once: {name}", all_at_once, np.concatenate(one), 1e-8)
    first, stated = sums.start(2), np.clip(y, -limits, limits)
    yield Fact(f"{label}: sums at 0", first[0] @ data.eigenvectors.T, np.tile(stated @ X, (2, 1)))
    yield Fact(f"{label}: shares at 0", first[1], np.full(2, np.mean(stated != y)), 1e-12)


def enough(found: Comparison) -> Iterator[Fact | Holds]:
    """How many records that stand in are asked for: by standard errors that are given, to two digits, rounded up."""
    features, records = found.regime.features, 400
    for private, most in ((200, 0.06), (201, 0.04)):
        there = replace(found, stand_in=True, regime=replace(found.regime, features=replace(features, n=private)))
        yield Fact(f"{records} stand in for {private}: the largest spread", there.largest_spread, most, 0.0)
    yield Fact("where nothing stands in", found.largest_spread, 0.04, 0.0)
    for drawn, chance, private in (
        (0.01, 0.13, 300),
        (0.03, 0.5, 300),
        (0.0, 0.07, 1234),
        (0.0, 0.048, 10),
        (0.0475, 0.09, 10),
        (0.0485, 0.09, 10),
        (0.0, 0.059, 30),
        (0.0, 0.061, 30),
        (0.02, 6.0, 30),
        (0.02, 8.0, 30),
        (0.05, 0.0, 30),
    ):
        there = replace(found, stand_in=True, regime=replace(found.regime, features=replace(features, n=private)))
        there = replace(there, counted=cast(Any, _given(drawn, chance)))
        spread, left = math.hypot(drawn, chance), 0.048**2 - drawn**2
        label = f"{drawn:g} by draws, {chance:g} by records, for {private}"
        yield Fact(f"{label}: spread", there.spread, spread, 1e-9)
        stated = None
        if spread > (0.06 if 2 * private <= records else 0.04) and left > 0 and chance:
            exact = max(records * chance**2 / left, 2 * private)
            stated = int(Context(prec=2, rounding=ROUND_CEILING).create_decimal(exact)) if exact <= 10**7 else None
        yield Holds(f"{label}: {stated}", there.enough_records == stated)
        words = f"About {stated} of them may be enough, for n = {private}."
        if stated:
            yield Holds(f"{label}: told", words in there.doubt or drawn > chance)
        else:
            yield Holds(f"{label}: nothing is told", "may be enough" not in there.doubt)


def _given(drawn: float, chance: float) -> SimpleNamespace:
    """Laws whose draws, and whose means without each of four parts, have these standard errors."""
    # Four numbers off by one, up and down, have variance 4/3 over 4 as they are counted, and 1 as parts are.
    draws = tuple(1 + drawn * math.sqrt(3) * off for off in (1, -1, 1, -1)) if drawn else ()
    logs = [chance / math.sqrt(3) * off for off in (1, -1, 1, -1)]
    parts = [SimpleNamespace(law=lambda scales, log=log: Law.of(math.exp(log), 0.0, 2.0, [0.0])) for log in logs]
    law = Law.of(1.0, 0.0, 2.0, [0.2], draws=draws, quantiles=(0.5, 1.0, 2.0))
    return SimpleNamespace(law=lambda scales: law, parts=lambda: parts)
