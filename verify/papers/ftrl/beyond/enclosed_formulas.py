"""Beyond the paper: what is stated of errors on discs, term by term with a unit of rounding that is large enough to be
seen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from unittest import mock

import flint
import numpy as np
from flint import fmpq_poly

from dpbounds.circle import arcs
from dpbounds.circle import floats as circle_floats
from dpbounds.circle.arcs import Cells, Points
from dpbounds.circle.discs import Discs
from dpbounds.circle.polynomials import Fraction, exact, in_sine, over_sine
from dpbounds.ftrl.strongly_convex import floats
from verify.checks import Fact, Holds

# In place of 2^-53 and of 1 + 2^-47, and what is lost to second order: a factor for each step.
LARGE, SLACK, SECOND_ORDER = 2.0**-12, 1.25, 1.0 + 1e-6


def _recursions() -> Iterator[Fact]:
    """Errors of powers: A_1 = 3 e, K_1 = M_1 = e, and t from 1 on as the module says, e = 16 units of old."""
    e, A, K, M = 16 * 2.0**-53, [48 * 2.0**-53], [16 * 2.0**-53], [16 * 2.0**-53]
    for t in range(1, 9):
        A.append((A[-1] + A[0] + 30 * LARGE) * SECOND_ORDER)
        M.append((M[-1] + (2 * t**2 + 2 * t + 1) * e + 2 * K[-1] + 12 * (t + 1) ** 2 * LARGE) * SECOND_ORDER)
        K.append((K[-1] + (2 * t + 1) * e + A[-2] + 4 * (t + 1) * LARGE) * SECOND_ORDER)
    with mock.patch.object(arcs, "UNIT", LARGE):
        found = arcs._errors.__wrapped__(9)
    for name, told, stated in zip(("all", "sines", "versines"), found, (A, K, M), strict=True):
        yield Fact(f"errors of powers: {name}", told, stated)
    exact = arcs._errors.__wrapped__(9)
    yield Fact("first errors", [one[0] / 2.0**-53 for one in exact], [48, 16, 16])


def _variation(a: np.ndarray, errors: np.ndarray, points: Points, k: int) -> float:
    """How far sum_t a_t cos(t omega) moves in the disc: Taylor's terms up to the fourteenth, and the rest."""
    r, last, powers = float(points.radius[k]), len(a) - 1, points.powers
    if r == 0 or r * last > floats.REACH:
        return 0.0 if r == 0 else math.inf
    total, first = 0.0, float(powers.sines[k, 0])
    for order in range(1, 15):
        value, slips, near = 0.0, 0.0, 0.0
        for t in range(1, last + 1):
            scale, size = t**order / math.factorial(order), abs(a[t]) + errors[t]
            rounding = (last + 42 + 8) * LARGE * size + errors[t]
            wave = powers.sines[k, t - 1] if order % 2 else 1 - powers.versines[k, t - 1]
            value += a[t] * scale * wave
            slips += scale * (rounding + size * powers.error[t - 1])
            near += scale * (rounding * t + size * powers.sine_error[t - 1])
        total += r**order * (abs(value) + (min(slips, first * near) if order % 2 else slips))
    sizes = [(abs(a[t]) + errors[t]) * t**15 / math.factorial(15) for t in range(1, last + 1)]
    total += 2 * floats.GROWTH * r**15 * sum(sizes)
    return total * (1 + 64 * LARGE) * SECOND_ORDER


def _harmonics() -> Iterator[Fact | Holds]:
    """D on discs: next to 0, between and next to pi; where its errors are all that matters, and where they are not."""
    own = np.random.default_rng(41)
    for lags, scale in ((3, 1e-3), (7, 0.1)):
        a, errors = own.uniform(-1, 1, lags + 1), scale * own.uniform(0.5, 1, lags + 1)
        cells = Cells(np.array([-9.0, -1.5, 0.1875, 2.0, 0.5, 5.0]), np.array([0, 3, 2, 1, 0, 6]), lags + 2)
        with mock.patch.object(floats, "UNIT", LARGE):
            told = floats._Harmonics(a, errors).variation(cells.discs)
            still = floats._Harmonics(a, errors).variation(cells.nodes)
            # powers with errors that are large too, on the widest discs, and a rest that counts
            found = cells.discs.powers
            rows = 1e-3 * own.uniform(0.5, 1, (3, lags + 2)) * (np.arange(lags + 2) + 1)
            powers = arcs.Powers(found.versines, found.sines, *rows)
            rough: Any = SimpleNamespace(radius=np.array([1.45, 1.2, 0.9, 0.5, 0.1, 1.6]) / lags, powers=powers)
            with mock.patch.object(floats, "GROWTH", 1e6):
                wide = floats._Harmonics(a, errors).variation(rough)
                by_hand = np.array([_variation(a, errors, rough, k) for k in range(6)])
        yield Fact(f"{lags} lags: with powers that are rough", wide[:5] / by_hand[:5], np.ones(5), 1e-11)
        yield Fact(f"{lags} lags: beyond the reach", [wide[5], by_hand[5]], [np.inf, np.inf], 0)
        stated = np.array([_variation(a, errors, cells.discs, k) for k in range(6)])
        known = np.isfinite(stated)
        yield Fact(f"{lags} lags: how far D moves", told[known], stated[known], 1e-11)
        yield Holds(f"{lags} lags: where it is known", np.array_equal(known, np.isfinite(told)))
        yield Fact(f"{lags} lags: at nodes", still, np.zeros(120), 0)


def _rounded() -> Iterator[Fact]:
    """Sums over cells, and over all rounds of them, with what is stated of their errors."""
    own, cells = np.random.default_rng(42), Cells(np.array([-3.0, 0.1875, 1.5]), np.array([1, 0, 2]), 1)
    values = Discs(own.uniform(-1, 2, 60), own.uniform(0, 0.1, 60))
    weights, slips = cells.measure.centre, cells.measure.radius
    for which in (np.array([True, True, True]), np.array([False, True, True])):
        with mock.patch.multiple(arcs, UNIT=LARGE, SLACK=SLACK):
            total, error = cells.rounded_sum(values, which)
        kept = np.flatnonzero(np.repeat(which, 20)).tolist()
        sizes = [abs(values.centre[k]) for k in kept]
        parts = [values.radius[k] * weights[k] + (abs(values.centre[k]) + values.radius[k]) * slips[k] for k in kept]
        products = sum(size * weights[k] for size, k in zip(sizes, kept, strict=True))
        n = len(kept)
        stated = (sum(parts) + (n + 8) * LARGE * products) * (1 + 4 * n * LARGE) * SLACK
        yield Fact(f"sum over {n} nodes", total, sum(values.centre[k] * weights[k] for k in kept))
        yield Fact(f"sum over {n} nodes: its error", error, stated)


WIDE, VALUES = 0.05, (1.75, 0.5)


def _constants(points: Points) -> list[Discs]:
    """Two constants, far from them on discs; nothing is known of the first where those are wide."""
    still, wide = np.where(points.radius == 0, 1e-9, 2e3), points.radius > WIDE
    return [Discs(np.where(wide, np.nan, VALUES[0]), still), Discs(0 * still - VALUES[1], still)]


def _rounds(cells: Cells) -> tuple[list[float], list[float], list[int]]:
    """Totals, their errors and the cells of each round: the narrow ones are added, the wide ones halved."""
    totals, errors, numbers = [0.0, 0.0], [0.0, 0.0], []
    while len(cells.middle):
        numbers.append(len(cells.middle))
        wide = cells.discs.radius > WIDE
        for k, told in enumerate(_constants(cells.nodes) if not wide.all() else ()):
            total, error = cells.rounded_sum(told, ~wide)
            suprema = (VALUES[k] + 2e3) * cells.discs.sine.upper() / cells.shrink * SLACK
            missed = circle_floats.gauss_error(cells.half, suprema, 20, circle_floats.RHO)[~wide]
            totals[k] += total
            errors[k] += error + float(missed.sum()) * SLACK + 1e-13 * abs(totals[k])
        cells = cells.halves(wide)
    return totals, [error * SLACK for error in errors], numbers


def _all_cells() -> Iterator[Fact | Holds]:
    """Cells that are not proved are halved, both halves counted, up to so many times and so many cells."""
    cells = Cells(np.array([-3.0, 0.1875, 1.5]), np.array([1, 0, 2]), 1)
    with mock.patch.multiple(circle_floats, UNIT=1e-13, SLACK=SLACK):
        found, (totals, errors, numbers) = circle_floats._over_cells(_constants, cells), _rounds(cells)
    ends = [(y - h, y + h) for y, h in zip(cells.middle.tolist(), cells.half.tolist(), strict=True)]
    angle = sum(2 * math.atan(math.exp(high)) - 2 * math.atan(math.exp(low)) for low, high in ends)
    yield Holds("rounds in which cells are halved", len(numbers) > 2)
    yield Fact("constants over cells", totals, [VALUES[0] * angle, -VALUES[1] * angle], 1e-11)
    for k, (total, error) in enumerate(found or []):
        yield Fact(f"constant {k} over cells", total, totals[k])
        yield Fact(f"constant {k} over cells: its error", error, errors[k], 1e-9)
    most = max(numbers[1:])
    for name, number, proved in (
        ("DEEPEST", len(numbers), True),
        ("DEEPEST", len(numbers) - 1, False),
        ("MOST_CELLS", most, True),
        ("MOST_CELLS", most - 1, False),
    ):
        with mock.patch.object(circle_floats, name, number):
            told = circle_floats._over_cells(_constants, cells)
        yield Holds(f"{name} of {number}: {'proved' if proved else 'not proved'}", (told is not None) == proved)
    known = circle_floats._over_cells(lambda points: [Discs(points.radius * 0 + np.nan, points.radius)], cells)
    yield Holds("nowhere finite: not proved", known is None)


def _allowed() -> Iterator[Holds]:
    """A cell is halved where the rule may miss more than 2e-12 of its part, half of it by size, half by length."""
    cells = Cells(np.array([-3.0, 0.1875, 1.5]), np.array([1, 0, 2]), 1)
    centre, half, sine = np.array([0.9, -2.2, 0.4]), cells.half, cells.discs.sine
    sizes = np.abs(centre) * sine.centre
    allowed = 2e-12 * 2 * half * (sizes + 2 * float(sizes @ half) / (2 * float(half.sum())))
    per = circle_floats.gauss_error(half, sine.upper() / cells.shrink, 20, circle_floats.RHO)
    for share in ((0.999, 1.001, 0.999), (1.001, 0.999, 0.999), (0.999, 0.999, 1.001), (0.999, 0.999, 0.999)):
        asked: list[int] = []

        def values(points: Points, share: tuple[float, ...] = share, asked: list[int] = asked) -> list[Discs]:
            if points.radius.any():
                asked.append(len(points.radius))
            if len(points.radius) == 3:
                return [Discs(centre, np.array(share) * allowed / per - np.abs(centre))]
            return [Discs(np.ones(len(points.radius)), np.zeros(len(points.radius)))]

        circle_floats._over_cells(values, cells)
        yield Holds(f"missed over allowed {share}", asked == ([3] if max(share) < 1 else [3, 2]))


# --- ends, and all of the circle ---


def _joined() -> Iterator[Fact | Holds]:
    """Sums and ends as balls; which error is too large."""
    rows, ends = [(2.0, 7e-9), (0.7, 0.0)], [[3e-9, 0.2], [1e-9, 0.25]]
    with mock.patch.object(circle_floats, "SLACK", SLACK):
        balls = circle_floats._joined(rows, ends) or []
        values = circle_floats._end(lambda points: [Discs(np.array([-1.5]), np.array([0.3]))], 6, 1, low=False)
    for k, ((total, error), ball) in enumerate(zip(rows, balls, strict=True)):
        half = (ends[0][k] + ends[1][k]) * SLACK / 2
        yield Fact(f"ball {k}: middle", float(ball.mid()), (total + half) / math.pi, 1e-8 if k else 1e-12)
        yield Fact(f"ball {k}: radius", float(ball.rad()), (error + half) * SLACK / math.pi, 1e-4)
    radius = float(arcs.corner(6, 1, low=False).radius[0])
    yield Fact("an end", values, [1.8 * radius * SLACK])
    for error, end, known in ((0.99 * 4e-9 * 0.7, 0.1, True), (1.01 * 4e-9 * 0.7, 0.1, False), (0.0, math.inf, False)):
        told = circle_floats._joined([(0.7, error)], [[end], [0.2]])
        yield Holds(f"error {error:g}, end {end:g}: {'known' if known else 'not known'}", (told is not None) == known)


def _reached(first: int, second: int) -> tuple[list[tuple[int, int]], Any]:
    """How many cells are taken to the left and the right of the middle, where these would be enough."""
    asked: list[tuple[int, int]] = []

    def cells(left: int, right: int, lags: int) -> tuple[int, int]:
        asked.append((left, right))
        return left, right

    def end(values: Any, widths: int, lags: int, *, low: bool) -> list[float]:
        enough = widths >= (first if low else second)
        return [1.99e-12 * 0.5, 2e-12 * (0.99 if enough else 1.01)]

    made = {"first_cells": cells, "_over_cells": lambda *_: [(0.5, 0.0), (1.0, 0.0)], "_end": end}
    with mock.patch.multiple(circle_floats, **made):
        return asked, circle_floats._means(lambda _: [], 3)


def _means() -> Iterator[Fact | Holds]:
    """Cells are added on the side that matters, 24 at a time, as far as is allowed; the work of all evaluations."""
    for first, second, stated in (
        (92, 78, [(92, 78)]),
        (140, 78, [(92, 78), (116, 78), (140, 78)]),
        (93, 79, [(92, 78), (116, 102)]),
        (92, 500, [(92, 78), (92, 102)]),
        (500, 0, [(92 + 24 * k, 78) for k in range(7)] + [(240, 78)]),
    ):
        asked, found = _reached(first, second)
        yield Holds(f"cells that are taken, {first} and {second} enough", asked == stated and len(found or []) == 2)
    with mock.patch.object(circle_floats, "_over_cells", return_value=None):
        yield Holds("where cells are not proved", circle_floats._means(lambda _: [], 3) is None)
    spent: list[int] = []
    given: list[int] = []

    def ones(points: Points) -> list[Discs]:
        given.append(len(points.radius))
        return [Discs(np.ones(len(points.radius)))]

    with mock.patch.object(circle_floats, "work", lambda: SimpleNamespace(spend=spent.append)):
        (mean,) = circle_floats.means(ones, 1, 9) or [None]
    yield Fact("the mean of 1", float(mean.mid()), 1.0, 1e-10)
    yield Holds("four units of work an evaluation, degree 9", spent == [4 * number for number in given])


def _points() -> Iterator[Fact]:
    """Discs of cells, and the ends beyond them, from what cells of one width share."""
    cells = Cells(np.array([-3.0, 0.1875, 1.5, 6.0]), np.array([1, 0, 2, 0]), 1)
    still = Cells(cells.middle, cells.level, 1).discs
    s, c = still.s.upper(), still.complement.upper()
    growth = np.array([arcs._scale(level).growth for level in cells.level.tolist()])
    angle = np.array([arcs._scale(level).angle for level in cells.level.tolist()])
    spread = s * c * growth / (np.maximum(1 - s * growth * SLACK, 1 - c * growth * SLACK) / SLACK) * SLACK
    with mock.patch.object(arcs, "SLACK", SLACK):
        found, end = cells.discs, arcs.corner.__wrapped__(7, 1, low=True)
    yield Fact("discs of s", found.disc.radius, still.s.radius + spread)
    yield Fact("discs of 1 - s", found.far.radius, still.complement.radius + spread)
    yield Fact("discs of frequencies", found.radius, angle * still.sine.upper() * SLACK)
    p = np.exp(cells.middle)
    values = [p * p / (1 + p * p), 1 / (1 + p * p), 2 * p / (1 + p * p)]
    told = (found.s, found.complement, found.sine)
    yield Fact("s, 1 - s and the sine", [one.centre for one in told], values, 1e-14)
    yield Fact("their relative errors", [one.radius / one.centre / 2.0**-53 for one in told], np.full((3, 4), 16), 1e-9)
    reach = 2 * math.exp(-7 * arcs.WIDTH) * SLACK
    ends = [end.radius[0], end.disc.radius[0], end.far.radius[0], end.s.centre[0], end.complement.centre[0]]
    yield Fact("an end", ends, [reach, reach**2 / 2, reach**2 / 2, 0.0, 1.0])


def _as_printed() -> Iterator[Fact]:
    """psi / eta^2 with plus signs in Lambda, at nodes, from complex numbers."""
    mu, L, eta, multipliers = 0.2, 1.1, 0.7, (2.3, 0.1, 0.05, 0.3, 0.02)
    cells = Cells(np.array([-1.5, 0.1875, 2.0]), np.array([0, 1, 0]), 2)
    p = np.exp(cells.middle[:, None] + cells.half[:, None] * np.polynomial.legendre.leggauss(20)[0][::-1]).ravel()
    w = (1 + 1j * p) ** 2 / (1 + p * p)
    c = L / 2 + multipliers[0] + sum(multipliers[t] * (1 + w**t) + multipliers[2 + t] * (1 + w**-t) for t in (1, 2))
    u, v, a = 1 - w - eta * mu, 1 - w - eta * L, L / 2
    stated = (abs(c) ** 2 - a * a) / (2 * (c * u.conj() * v).real - a * abs(u) ** 2 - a * abs(v) ** 2)
    found = floats.Ratio(floats.Program(name="paper", mu=mu, L=L, eta=eta), np.array(multipliers)).at(cells.nodes)
    yield Fact("psi as printed", found.centre, stated, 1e-11)
    yield Fact("its sums, less the errors", np.abs(found.centre - stated) < found.radius + 1e-13, np.ones(60))


def formulas(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Powers, D on discs, sums over nodes and over cells."""
    yield from _recursions()
    yield from _harmonics()
    yield from _rounded()
    yield from _all_cells()
    yield from _allowed()
    yield from _points()
    yield from _as_printed()


def polynomials(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """On balls, s (1 - s) about m with radius r: m (1 - m) within |1 - 2m| r + r^2, less than what its factors reach;
    real and imaginary parts on the circle, in s.
    """
    ratio = Fraction(numerator=fmpq_poly([0, 1, -1]), denominator=fmpq_poly([1]))
    with flint.ctx.workprec(200):
        for m, r in ((0.5, 0.125), (0.25, 0.0625)):
            found = ratio.at(flint.arb(m, r))
            reach = abs(1 - 2 * m) * r + r**2
            yield Fact(f"s (1 - s) about {m:g}", [float(found.mid()), float(found.rad())], [m * (1 - m), reach], 1e-8)
        wide = ratio.at(flint.acb(flint.arb(0.3, 0.01), flint.arb(0.2, 0.01)))
        around = complex(0.3, 0.2) * complex(0.7, -0.2)
        yield Fact(
            "s (1 - s) about 0.3 + 0.2 i", [float(x.mid()) for x in (wide.real, wide.imag)], [around.real, around.imag]
        )
    laurent = {k: exact(value) for k, value in {-3: 0.7, -1: -0.4, 0: 1.5, 1: 0.9, 2: -1.3, 4: 0.6}.items()}
    for omega in (0.4, 1.9, -2.6):
        s = exact(math.sin(omega / 2) ** 2)
        parts = [_float(in_sine(laurent)(s)), math.sin(omega) * _float(over_sine(laurent)(s))]
        summed = sum(_float(value) * np.exp(1j * k * omega) for k, value in laurent.items())
        yield Fact(f"a sum of waves at {omega:g}", parts, [summed.real, summed.imag], 1e-12)


def _float(value: Any) -> float:
    return float(flint.arb(value).mid())


def circles(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Ends, balls, and how far cells reach."""
    yield from _joined()
    yield from _means()
