"""Beyond the paper: what is stated of |B|^2 of half powers on discs, root by root, with units of rounding that are
large enough to be seen; and where nothing is stated.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from unittest import mock

import numpy as np

from dpbounds.circle.arcs import Points
from dpbounds.circle.discs import Discs
from dpbounds.ftrl.correlations import HalfPowers, half_powers
from verify.checks import Fact, Holds

Roots = tuple[complex, ...]
# Pairs, both signs, one of them near 1, where the factors are small next to their terms.
MANY: tuple[Roots, Roots] = ((0.7, -0.4, 0.3 + 0.6j), (0.9, -0.2 + 0.5j))
ONE: tuple[Roots, Roots] = ((0.6,), ())


def _around(s: list[float], spreads: list[float]) -> Points:
    """Discs in s around frequencies."""
    centre, radius = np.array(s), np.array(spreads)
    middle, rest, sine = (Discs(x) for x in (centre, 1.0 - centre, 2.0 * np.sqrt(centre * (1.0 - centre))))
    return Points(middle, rest, sine, radius, Discs(centre, radius), Discs(1.0 - centre, radius), 1)


def _moved(q: complex, s: float, spread: float, unit: float, slack: float) -> float:
    """How far |1 - q e^{i omega}|^2, with its conjugate for a pair, may be from its middle, relatively."""
    a, b = q.real, q.imag
    modulus = abs((1 - q) ** 2 + 4 * q * s)
    terms = 4 * abs(q) * s + 2 * ((1 - a) ** 2 + b**2) + 2 * abs(b * (1 - a))
    share = (unit * (12 * terms + 8 * modulus) + 4 * abs(q) * spread) * slack / modulus
    return (share * (2 + share) if b else share) * slack + 8 * unit


def _stated(roots: tuple[Roots, Roots], s: float, spread: float, unit: float, slack: float) -> tuple[float, ...]:
    """|B|^2, its radius and that of its inverse."""
    w, numbers = 1 - 2 * s + 2j * math.sqrt(s * (1 - s)), [*roots[0], *roots[1]]
    power, total, product, rounding = 1.0, 0.0, 1.0, (len(numbers) + 8) * unit
    for q, sign in [(q, 1) for q in roots[0]] + [(q, -1) for q in roots[1]]:
        power *= (abs(1 - q * w) * (abs(1 - q.conjugate() * w) if q.imag else 1)) ** sign
        rho = _moved(q, s, spread, unit, slack)
        if not rho < 1:
            return power, math.nan, math.nan
        total += rho * slack / (1 - rho)
        product *= slack / (1 - rho)
    w = (total / 2 + rounding) * (1 + rounding)
    far = math.sqrt(product) * (1 + 4 * len(numbers) * unit) * slack - 1 + w * 1e-9
    reach = w * (1 + w) * slack if w < 0.01 else far
    return power, reach * power * slack, (reach + 4 * unit) * slack / power


def _in_small_units(roots: tuple[Roots, Roots], unit: float, slack: float, spreads: list[float]) -> Iterator[Fact]:
    """Middles and radii on discs in s, next to 0, between and next to 1."""
    places = [1e-3, 0.2, 0.55, 0.97]
    points = _around([s for s in places for _ in spreads], [x for _ in places for x in spreads])
    with mock.patch.multiple(half_powers, UNIT=unit, SLACK=slack):
        found, inverse = HalfPowers(*roots).power_on(points)
    stated = np.array([_stated(roots, s, x, unit, slack) for s in places for x in spreads])
    label, known = f"{len(roots[0])} zeros, unit {unit:.2g}", np.isfinite(stated[:, 1])
    told = np.transpose([found.centre, found.radius, inverse.radius])
    yield Fact(
        f"{label}: |B|^2 and both radii, over what is stated", told[known] / stated[known], 1 + 0 * stated[known]
    )
    yield Fact(f"{label}: where radii are known", np.isfinite(told[:, 1:]).all(axis=1), known + 0.0, 0)


def powers_of_roots(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Radii in units of rounding that are large, or in none; both forms of the reach; factors that may vanish."""
    wide = [1e-4, 3e-3, 0.02, 0.2]
    yield from _in_small_units(MANY, 2.0**-12, 1.25, wide)
    yield from _in_small_units(MANY, 2.0**-12, 1.0, wide)
    yield from _in_small_units(MANY, 2.0**-17, 1.0 + 2.0**-8, [1e-7, *wide])
    yield from _in_small_units(MANY, 0.0, 1.0, [1e-7, *wide])
    # reaches beside the one at which the form changes; a factor that vanishes just outside the disc, and just inside
    s = 0.2
    modulus = 0.4**2 + 4 * 0.6 * s
    spreads = [share * modulus / (4 * 0.6) for share in (0.0195, 0.0197, 0.0199, 0.0202, 0.0205, 0.99, 1.01, 1.04)]
    found, inverse = HalfPowers(*ONE).power_on(_around([s] * 8, spreads))
    stated = np.array([_stated(ONE, s, x, 0.0, 1.0) for x in spreads])
    told = np.transpose([found.radius, inverse.radius])
    yield Fact("one zero: radii", told[:6] / stated[:6, 1:], np.ones((6, 2)), 1e-11)
    yield Holds("one zero that may be in the disc: nothing is known", bool(np.isnan(told[6:]).all()))
    # beyond 1e290 and below 1e-290 nothing is said: 290 factors of a tenth, and one beside 1
    many, at = (0.9,) * 290, _around([1e-300], [0.0])
    for beside, known in ((0.02, True), (-0.02, False)):
        for inverted in (False, True):
            (disc, other) = HalfPowers(*((beside,), many) if inverted else (many, (beside,))).power_on(at)
            name = f"a factor of 1 + {beside:g} {'above' if inverted else 'below'}"
            told = bool(np.isfinite([disc.radius, other.radius]).all())
            yield Holds(f"next to the ends of floats, {name}: {'known' if known else 'not known'}", told == known)
