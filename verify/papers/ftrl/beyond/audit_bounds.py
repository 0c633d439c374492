"""Beyond the paper: bounds of an audit for many outputs and shuffled steps, and its intervals, against plain sums."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import accumulate, repeat

import numpy as np
from scipy.signal import fftconvolve
from scipy.special import log_ndtr, ndtr

from dpbounds.audit import (
    gaussian_scale_interval,
    laplace_epsilon,
    laplace_scale_interval,
    shuffled_delta,
    shuffled_epsilon,
)
from verify.checks import Agreement, Fact, Within
from verify.statements.claims import Claim

# --- Laplace noise ---


def _losses(ratio: float) -> tuple[np.ndarray, np.ndarray]:
    """Losses of one output and their probabilities: the two ends, and midpoints between."""
    z = (np.arange(2000) + 0.5) / 2000 * ratio
    chances = np.concatenate([[math.exp(-ratio) / 2], np.exp(z - ratio) / 2 * ratio / 2000, [0.5]])
    return np.concatenate([[-ratio], 2 * z - ratio, [ratio]]), chances


def _laplace(rng: np.random.Generator, *, factor: float = 1.0) -> Iterator[Fact | Within]:
    """delta at the ends of `laplace_epsilon`, by the sum over pairs of losses of two outputs."""
    for ratios, delta in (((0.8, 0.5), 0.01), ((1.5, 1.5), 1e-3), ((0.3, 0.05), 0.05)):
        (one, p), (two, q) = (_losses(factor * ratio) for ratio in ratios)
        low, high = laplace_epsilon(delta, ratios)
        at_low, at_high = (
            float(p @ np.maximum(-np.expm1(np.minimum(epsilon - one[:, None] - two, 0.0)), 0.0) @ q)
            for epsilon in (low, high)
        )
        label = f"two Laplace outputs, {ratios[0]:g} and {ratios[1]:g}"
        yield Within(f"{label}: delta at the lower end over that asked for", at_low / delta, 1 - 1e-4, 1.01)
        yield Within(f"{label}: at the upper end", at_high / delta, 0.99, 1 + 1e-4)
    losses, chances = _losses(factor)
    (epsilon, _) = laplace_epsilon(0.1, [1.0])
    delta = float(chances @ np.maximum(-np.expm1(np.minimum(epsilon - losses, 0.0)), 0.0))
    yield Fact("one Laplace output: delta at epsilon", delta, 0.1, 1e-5)


# --- shuffled steps ---


def _true(epsilon: float, mu: float, steps: int) -> float:
    """The least delta of one pass, by a sum over the line (one step) or the plane (two), the larger direction."""
    line = np.linspace(-9.0, 11.0, 1201)
    mass = np.exp(-0.5 * line**2) / math.sqrt(2 * math.pi) * (line[1] - line[0])
    moved = np.exp(mu * line - 0.5 * mu**2)
    ratio = moved if steps == 1 else (moved[:, None] + moved) / 2
    base = mass if steps == 1 else np.outer(mass, mass)
    scale = math.exp(epsilon)
    return max(float(np.sum(base * np.maximum(gap, 0.0))) for gap in (ratio - scale, 1 - scale * ratio))


def _shuffled(rng: np.random.Generator, *, factor: float = 1.0) -> Iterator[Fact | Within]:
    """Bounds of one and two shuffled steps around the truth."""
    for mu, epsilon in ((1.5, 0.7), (0.8, 0.2)):
        low, high = shuffled_delta(epsilon, mu, 1)
        true = _true(epsilon, factor * mu, 1)
        yield Fact(f"one step, mu = {mu:g}: lower bound", low, true, 1e-3)
        yield Fact(f"one step, mu = {mu:g}: upper bound", high, true, 1e-3)
        low, high = shuffled_delta(epsilon, mu, 2)
        true = _true(epsilon, factor * mu, 2)
        yield Within(f"two steps, mu = {mu:g}: lower bound over the truth", low / true, 0.8, 1.0002)
        yield Within(f"two steps, mu = {mu:g}: upper bound over the truth", high / true, 0.9998)
    for mu, delta in ((1.5, 1e-3), (0.8, 0.02)):
        ends = shuffled_epsilon(mu, 2, delta)
        at_low, at_high = (_true(end, factor * mu, 2) / delta for end in ends)
        yield Within(f"two steps, mu = {mu:g}: delta at the lower epsilon over that asked for", at_low, 0.9998, 2.0)
        yield Within(f"two steps, mu = {mu:g}: at the upper epsilon", at_high, 0.0, 1.0002)
    yield from _largest_output(factor)


def _largest_output(factor: float) -> Iterator[Fact]:
    """The lower bound against all thresholds of the largest output, from either side; one step in closed form."""
    for epsilon, mu, steps in ((0.7, 1.5, 2), (0.02, 0.1, 5), (1.0, 6.0, 1000), (0.4, 2.5, 30)):
        c = np.linspace(-9.0, mu + 9, 200_001)
        used, unused = ndtr(c) ** (steps - 1) * ndtr(c - factor * mu), ndtr(c) ** steps
        best = max(
            float(((1 - used) - math.exp(epsilon) * (1 - unused)).max()),
            float((unused - math.exp(epsilon) * used).max()),
        )
        yield Fact(f"{steps} steps, mu = {mu:g}: lower bound", shuffled_delta(epsilon, mu, steps)[0], best, 1e-8)
    # Far out the largest of T outputs is over a threshold T times as often as one: as one step at epsilon + log T.
    for epsilon, mu, steps in ((0.7, 1.5, 1), (150.0, 20.0, 1), (5100.0, 100.0, 1), (5250.0, 100.0, 7)):
        level = epsilon + math.log(steps)
        x, moved = level / mu - factor * mu / 2, log_ndtr(-level / mu - factor * mu / 2)
        exact = float(ndtr(-x) - math.exp(level + float(moved)))
        found = shuffled_delta(epsilon, mu, steps)
        label = f"{steps} steps, mu = {mu:g}, epsilon = {epsilon:g}"
        yield Fact(label, found if steps == 1 else found[0], [exact] * 2 if steps == 1 else exact, 1e-9)


# --- intervals of scales ---

STEP = 0.005


def _gaussian_tail(squares: float, number: int, scale: float) -> float:
    """P(sum of d^2 > squares) of an even number of d ~ N(0, 2 scale^2): that of a Poisson count below number / 2."""
    x = squares / (4 * scale**2)
    return math.exp(-x) * math.fsum(x**k / math.factorial(k) for k in range(number // 2))


def _laplace_tail(t: float, number: int) -> float:
    """P(sum > t) of |differences| of density (1 + x) e^{-x} / 2, by convolutions of cells."""
    edges = np.arange(round(60 / STEP) + 1) * STEP
    one = np.diff(1 - np.exp(-edges) * (1 + edges / 2))
    *_, whole = accumulate(repeat(one, number), lambda a, b: fftconvolve(a, b)[: len(one)])
    ends = np.concatenate([[0.0], edges[1:] + (number - 1) * STEP / 2])
    return float(np.interp(t, ends, np.concatenate([[1.0], 1.0 - np.cumsum(whole)])))


def _intervals(rng: np.random.Generator, *, factor: float = 1.0) -> Iterator[Fact]:
    """The chance beyond what was seen, at each end of an interval."""
    alpha = 1e-3
    for number in (2, 8, 40):
        ends = gaussian_scale_interval(3.0 * number, number, alpha)
        above, below = (_gaussian_tail(3.0 * number, number, factor * end) for end in ends)
        yield Fact(f"Gaussian, {number}: above, at the lower end", above, alpha, 1e-9)
        yield Fact(f"Gaussian, {number}: below, at the upper end", 1.0 - below, alpha, 1e-9)
    for number in (1, 2, 6):
        total = 2.5 * number
        low, high = (factor * end for end in laplace_scale_interval(total, number, alpha))
        yield Fact(f"Laplace, {number}: above, at the lower end", _laplace_tail(total / low, number), alpha, 0.01)
        below = 1.0 - _laplace_tail(total / high, number)
        yield Fact(f"Laplace, {number}: below, at the upper end", below, alpha, 0.01)


BEYOND_AUDIT_BOUNDS = Claim(
    id="ftrl/beyond-audit-bounds",
    where="beyond the paper: audits of many outputs and shuffled steps",
    kind="privacy",
    statement=(
        "The bounds on epsilon of several Laplace outputs hold its true value, to 1 % of delta;",
        "those on delta and epsilon of shuffled Gaussian steps hold the true ones, are equal for one step, and below "
        "that of the largest output, over or under the best threshold;",
        "each end of an interval for the scale of Gaussian or Laplace noise fails with the probability stated.",
    ),
    setting="Two outputs and up to two steps by sums over line and plane; up to 40 Gaussian and 6 Laplace differences.",
    checks=(
        Agreement(
            decides="a",
            facts=_laplace,
            impostors={"5 % less noise": {"facts": {"factor": 1.05}}, "5 % more": {"facts": {"factor": 0.95}}},
        ),
        Agreement(
            decides="b",
            facts=_shuffled,
            impostors={"5 % less noise": {"facts": {"factor": 1.05}}, "5 % more": {"facts": {"factor": 0.95}}},
        ),
        Agreement(
            decides="c", facts=_intervals, impostors={"differences taken for draws": {"facts": {"factor": 2**0.5}}}
        ),
    ),
)
