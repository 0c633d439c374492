"""Beyond the paper: parts of correlations, each by its definition: roots between rates, B itself on the circle."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
from numpy.polynomial.polynomial import polyval
from scipy.special import binom

from dpbounds import AccuracyError, arithmetic
from dpbounds.arithmetic import FLOATS
from dpbounds.ftrl.correlations import (
    DampedHalfPowers,
    HalfPowers,
    damped_anti_pgd,
    from_coefficients,
    from_power_spectrum,
    interlacing,
    nu,
    toeplitz,
)
from dpbounds.ftrl.correlations.interlacing import from_resonances, interlacing_roots
from dpbounds.ftrl.exact_errors import optimal_weights
from dpbounds.ftrl.strongly_convex.waves import newest, wave
from verify.checks import Agreement, Fact, Holds, Times, Within, refused, taken
from verify.papers.ftrl.beyond.exact import OURS
from verify.statements.claims import Claim

_OFF = {"1 % off": {"facts": Times(1.01)}}
FREQUENCIES = np.array([0.0, 0.05, 0.7, 1.9, 3.0])
# As near to a rate as the sum is looked at: a root may be nearer than a float.
BESIDE = Fraction(1, 10**400)
# Evaluations of the sum; by halving alone it would take some fifty.
MOST_EVALUATIONS = 12
# Weights and rates of resonances: slow ones, fast ones, neighbours that differ in the 12th digit, and many at once.
RESONANCES: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "two": ((0.3, 2.0), (0.15, 1.3)),
    "slow and fast": ((5.0, 0.02, 0.7, 3.0), (1e-9, 3e-4, 1.7, 1.97)),
    "near one another": ((1.0, 1e-6, 4.0), (0.4, 0.4 * (1 + 3e-12), 0.9)),
    "far apart in weight": ((3e160, 1e-160, 5e140), (0.02, 0.35, 1.1)),
    "twelve": (tuple(1.5 ** (-k * k / 9) for k in range(12)), tuple(0.011 * 1.6**k for k in range(12))),
}


# --- roots between rates ---


def _sum(weights: Sequence[float], rates: Sequence[float], xi: Fraction) -> Fraction:
    """sum_j w_j / ((x_j - xi) (x_j + xi - x_j xi)), in fractions."""
    pairs = zip(map(Fraction, weights), map(Fraction, rates), strict=True)
    return sum((w / ((x - xi) * (x + xi - x * xi)) for w, x in pairs), Fraction(0))


def _sign(weights: Sequence[float], rates: Sequence[float], xi: Fraction) -> int:
    total = _sum(weights, rates, xi)
    return (total > 0) - (total < 0)


def _roots(rng: np.random.Generator, off: float = 1.0) -> Iterator[Fact | Within | Holds]:
    """Roots by the change of sign beside them, in fractions; |B|^2 of resonances by their sum; equal rates are one."""
    for label, (weights, rates) in RESONANCES.items():
        turned = np.array(weights[::-1]), np.array(rates[::-1])
        roots = interlacing_roots(*turned).tolist()
        yield Holds(
            f"{label}: one in each gap", all(a < r < b for a, r, b in zip(rates, roots, rates[1:], strict=False))
        )
        for place, root in enumerate(roots):
            at = [Fraction(root) * Fraction(off) * (1 + Fraction(side, 10**13)) for side in (-1, 1)]
            inside = max(at[0], Fraction(rates[place]) + BESIDE), min(at[1], Fraction(rates[place + 1]) - BESIDE)
            signs = [_sign(weights, rates, xi) for xi in inside]
            yield Fact(f"{label}, root {place}: signs of the sum on both sides", signs, [-1, 1], 0)
        made, s = from_resonances(*turned, name="of these"), np.sin(FREQUENCIES / 2) ** 2
        x = np.array(rates)[:, None]
        g = (np.array(weights)[:, None] / (x * x + 4 * (1 - x) * s)).sum(axis=0)
        yield from _in_both(label, made, s, 1 / np.sqrt(g))
        yield Holds(f"{label}: zeros at the rates", made.zeros == rates and made.name == "of these")
    once, twice = (
        from_resonances(np.array(w), np.array(x))
        for w, x in (((3.0, 3.0), (0.1, 0.5)), ((1.0, 3.0, 2.0), (0.1, 0.5, 0.1)))
    )
    yield Holds("rates that are equal count as one", twice.zeros == once.zeros)
    yield Fact("with their weights together", [twice.gain, *twice.poles], [once.gain, *once.poles], 1e-15)
    for units, zeros in ((1, 2), (8, 3)):
        near = 0.011 * (1 + units * 2.0**-52)
        made = from_resonances(np.ones(3), np.array([0.011, near, 1.2]))
        yield Fact(f"zeros of two rates {units} units apart and one", len(made.zeros), zeros, 0)
    one, many = np.ones(2), np.array([0.2, 0.5])
    for label, parameter, given in (
        ("a weight of 0", "weights[1]", (np.array([1.0, 0.0]), many)),
        ("a rate of 2", "rates", (one, np.array([0.2, 2.0]))),
        ("a rate of 0", "rates[0]", (one, np.array([0.0, 0.5]))),
        ("one weight for two rates", "weights", (one[:1], many)),
    ):
        yield refused(label, parameter, lambda given=given: interlacing_roots(*given))


def _in_both(label: str, made: DampedHalfPowers, s: np.ndarray, stated: np.ndarray) -> Iterator[Fact]:
    yield Fact(f"{label}: |B|^2, in floats", made.spectral_density(FLOATS, s), stated)
    with arithmetic.balls(128) as m:
        balls = [float(made.spectral_density(m, point).mid()) for point in s.tolist()]
    yield Fact(f"{label}: |B|^2, in balls", balls, stated)


def _newton(rng: np.random.Generator) -> Iterator[Fact | Within]:
    """The sum without the poles beside a root, and its slope, in fractions; evaluations that roots are found in."""
    weights, rates, gaps = np.array([0.3, 2.0, 0.7, 1.1]), np.array([0.15, 0.4, 1.3, 1.9]), np.array([1, 0, 2])
    xi = np.array([0.93, 0.31, 1.47])
    value, slope = interlacing._cleared(weights, rates, gaps, xi)
    for place, (gap, at) in enumerate(zip(gaps.tolist(), map(Fraction, xi.tolist()), strict=True)):
        low, high = (Fraction(rate) for rate in rates[gap : gap + 2].tolist())
        step = Fraction(1, 10**12)
        near = [
            _sum(weights.tolist(), rates.tolist(), x) * (x - low) * (high - x) / x
            for x in (at, at * (1 - step), at * (1 + step))
        ]
        stated = [float(near[0]), float((near[2] - near[1]) / (2 * step))]
        yield Fact(f"the sum and its slope in gap {gap}", [value[place], slope[place]], stated, 1e-12)
    for label in ("two", "near one another"):
        given, x = RESONANCES[label]
        with mock.patch.object(interlacing, "_cleared", side_effect=interlacing._cleared) as counted:
            interlacing_roots(np.array(given), np.array(x))
        yield Within(f"{label}: evaluations of the sum", counted.call_count, least=2, most=MOST_EVALUATIONS)


def _binomial(dampings: Sequence[float], power: float, n: int) -> np.ndarray:
    """The series of prod (1 - (1 - a) z)^power, factor by factor."""
    total = np.eye(n)[0]
    for a in dampings:
        total = np.convolve(total, binom(power, np.arange(n)) * (-(1 - a)) ** np.arange(n))[:n]
    return total


def _half_powers(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Few weights of dampings near 0 and near 2 by binomial series; norms by series; what is interlaced."""
    for zeros, poles in (
        ((0.3, 1.9), (1.2,)),
        ((1.99,), ()),
        ((0.2,), (0.1, 1.95)),
        ((0.9, 0.2), (0.4, 1.3)),
        ((), ()),
        ((), (1.85,)),
    ):
        made, label = DampedHalfPowers(zeros, poles, gain=0.6), f"zeros {zeros}, poles {poles}"
        s, w = np.sin(FREQUENCIES / 2) ** 2, np.exp(1j * FREQUENCIES)
        density = 0.36 * abs(_b_of([1 - a for a in zeros], [1 - b for b in poles], w)) ** 2
        yield from _in_both(label, made, s, density)
        yield Fact(f"{label}: degree", made.degree, max(len(zeros), len(poles), 1), 0)
        for n in (1, 3, 13, 200):
            stated = 0.6 * np.convolve(_binomial(zeros, 0.5, n), _binomial(poles, -0.5, n))[:n]
            inverse = np.convolve(_binomial(zeros, -0.5, n), _binomial(poles, 0.5, n))[:n] / 0.6
            yield Fact(f"{label}: {n} weights", made.coefficients(n), stated, 1e-11)
            yield Fact(f"{label}: {n} of the inverse", made.inverse_coefficients(n), inverse, 1e-11)
    yield Fact("degree of three weights", from_coefficients((1.0, -0.5, 0.2)).degree, 2, 0)
    made = DampedHalfPowers((0.4, 1.5), (0.7,), gain=0.6)
    series, inverse = made.coefficients(400), made.inverse_coefficients(400)
    yield Fact("sensitivity", float(made.limiting_sensitivity()), float(np.linalg.norm(inverse)), 1e-10)
    kept = np.array([0.3, 0.85])
    # x (2 - x) |B / (1 - (1 - x) z)|^2 averaged: the norm of the filtered series
    filtered = [np.convolve(series, (1 - x) ** np.arange(400))[:400] for x in kept]
    stated = [x * (2 - x) * float(row @ row) for x, row in zip(kept, filtered, strict=True)]
    yield Fact("filtered power", made.filtered_power(kept), stated, 1e-10)
    for zeros, poles, fine in (
        ((0.2, 0.5), (0.3,), True),
        ((0.2, 0.5), (0.2,), True),
        ((0.2, 0.5), (0.5,), True),
        ((0.2, 0.5), (0.6,), False),
        ((0.2, 0.5), (0.1,), False),
        ((0.3,), (0.2, 0.5), True),
        ((0.6,), (0.2, 0.5), False),
        ((0.1, 0.5), (0.3, 0.7), True),
        ((0.3, 0.7), (0.1, 0.5), True),
        ((0.1, 0.5), (0.6, 0.7), False),
        ((0.3, 0.7), (0.1, 0.2), False),
        ((0.3, 0.7), (), False),
        ((0.3, 0.4, 0.7), (0.35, 0.36), False),
        ((0.3, 0.4, 0.7), (0.1, 0.5), False),
    ):
        label, call = (
            f"zeros {zeros} and poles {poles}",
            lambda zeros=zeros, poles=poles: DampedHalfPowers(zeros, poles),
        )
        yield taken(label, call) if fine else refused(label, "poles", call)
    many = np.linspace(0.1, 1.9, 301)
    long = DampedHalfPowers(tuple(many[::2]), tuple(many[1::2]))
    for label, weights in (
        ("of 301 factors for two million steps", lambda: long.coefficients(2_000_000)),
        ("that are optimal for one slow direction of two", lambda: optimal_weights(np.array([1.0, 1e-9]), 0.1)),
    ):
        try:
            weights()
            ended = True
        except AccuracyError:
            ended = False
        yield Holds(f"weights {label} take too long", not ended)
    for name, given in (("zeros", (0.2, 2.0)), ("zeros", (0.0,)), ("poles", (-0.1,)), ("poles", (2.5,))):
        yield refused(
            f"{name} {given}", name, lambda name=name, given=given: DampedHalfPowers(**{"zeros": (), name: given})
        )


# --- B on the circle ---


def _b_of(zeros: Sequence[complex], poles: Sequence[complex], w: Any) -> Any:
    """prod (1 - q w)^{1/2} over prod (1 - p w)^{1/2}, with the conjugates of those that are not real."""
    total = 1 + 0 * w
    for numbers, power in ((zeros, 0.5), (poles, -0.5)):
        for q in itertools.chain(numbers, (q.conjugate() for q in map(complex, numbers) if q.imag)):
            total = total * (1 - q * w) ** power
    return total


def _waves(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Real part, and imaginary part over the sine, of B as a complex number, in floats and in balls."""
    w, s = np.exp(-1j * FREQUENCIES[1:]), np.sin(FREQUENCIES / 2) ** 2
    weights = (0.8, -0.5, 0.3, 0.21)
    made: dict[str, tuple[Any, Callable[[Any], Any]]] = {
        "nu": (nu(0.35), lambda w: (1 - 0.65 * w) ** 0.5),
        "damped anti-PGD": (damped_anti_pgd(0.35), lambda w: 1 - 0.65 * w),
        "four weights": (from_coefficients(weights), lambda w: polyval(w, weights)),
        "one weight": (from_coefficients((0.7,)), lambda w: 0.7 + 0 * w),
    }
    for zeros, poles in (
        ((0.9, -0.4), (0.6,)),
        ((0.5 + 0.6j,), (0.7,)),
        ((-0.8,), (-0.3 + 0.8j, 0.2)),
        ((0.1 + 0.95j, 0.6 + 0.2j), (-0.7 + 0.1j,)),
        ((), ()),
    ):
        label = f"zeros {zeros}, poles {poles}"
        made[label] = HalfPowers(zeros, poles), lambda w, zeros=zeros, poles=poles: _b_of(zeros, poles, w)
    for label, (correlation, b_of) in made.items():
        B, (near, far) = b_of(w), (b_of(np.exp(-1j * h)).imag / np.sin(h) for h in (1e-4, 2e-4))
        at_zero = b_of(1 + 0j).real, (4 * near - far) / 3
        stated = np.array([B.real, B.imag / np.sin(FREQUENCIES[1:])])
        found = np.array(wave(FLOATS, correlation, s))
        yield Fact(f"{label}, at frequency 0", found[:, 0], at_zero, 1e-9)
        yield Fact(f"{label}, in floats", found[:, 1:], stated)
        with arithmetic.balls(128) as m:
            balls = [[float(part.mid()) for part in wave(m, correlation, m.number(point))] for point in s[1:].tolist()]
        yield Fact(f"{label}, in balls", np.transpose(balls), stated)
        yield Fact(f"{label}: weight of the newest draw", newest(correlation), correlation.coefficients(1)[0], 1e-11)
    given = from_power_spectrum(lambda omega: 1.25 - np.cos(omega))
    yield refused("noise by its spectrum alone", "correlation", lambda: wave(FLOATS, given, s))


# --- finitely many weights ---


def _weights(rng: np.random.Generator) -> Iterator[Fact | Within | Holds]:
    """Filtered power and what is said of its rounding, in fractions; norms by series; names as they are printed."""
    names = {
        (0.7,): "independent",
        (1.0, -0.5, 0.25, 0.125): "beta=(1, -0.5, 0.25, 0.125)",
        (2.0, -1.9, 1.1, -0.3, 0.05): "beta=(2, -1.9, 1.1, -0.3, ...)",
        (1.0, -0.9999, 3e-5): "beta=(1, -0.9999, 3e-05)",
    }
    rates = np.array([1e-4, 0.0031, 0.4, 1.0])
    for beta, name in names.items():
        made = from_coefficients(beta)
        yield Holds(f"{name}: its name", made.name == name)
        exact = []
        for x in map(Fraction, rates.tolist()):
            kept, y, total = 1 - x, Fraction(0), Fraction(0)
            for weight in beta:
                y = kept * y + Fraction(weight)
                total += y * y
            exact.append(x * (2 - x) * total + (kept * y) ** 2)  # what comes after them is geometric
        errors = [abs(Fraction(a) / b - 1) for a, b in zip(made.filtered_power(rates).tolist(), exact, strict=True)]
        yield Within(f"{name}: relative error of the filtered power", float(max(errors)), least=0.0, most=1e-12)
        rough, said = toeplitz._filtered_power(beta, rates)
        off = [float(abs(Fraction(a) - b)) for a, b in zip(rough.tolist(), exact, strict=True)]
        yield Within(f"{name}: what is said of rounding, less rounding", float(np.min(said - off)), least=0.0)
        inverse = made.inverse_coefficients(400)
        yield Fact(f"{name}: weights times those of the inverse", np.convolve(beta, inverse)[:400], np.eye(400)[0])
        if -0.9999 not in beta:  # whose series goes on for long
            yield Fact(f"{name}: sensitivity", float(made.limiting_sensitivity()), float(np.linalg.norm(inverse)))
    for power in (3, 6):  # zeros near 1, where the terms of a slow rate cancel
        beta = np.poly([0.9999] * power).tolist()
        for x in (1e-25, 1e-16, 1e-4, 0.9):
            kept, y, total = 1 - Fraction(x), Fraction(0), Fraction(0)
            for weight in beta:
                y = kept * y + Fraction(weight)
                total += y * y
            stated = float(Fraction(x) * (2 - Fraction(x)) * total + (kept * y) ** 2)
            found = float(from_coefficients(beta, allow_unstable_inverse=True).filtered_power(np.array([x]))[0])
            yield Fact(f"{power} zeros near 1, x = {x:g}: filtered power", found, stated)
    yield refused("a zero inside", "beta", lambda: from_coefficients((1.0, -1.01)))
    yield taken("a zero inside, on demand", lambda: from_coefficients((1.0, -1.01), allow_unstable_inverse=True))
    yield refused("a first weight of 0", "beta[0]", lambda: from_coefficients((0.0, 1.0)))


CORRELATION_PARTS = Claim(
    id="ftrl/beyond-correlation-parts",
    where=f"{OURS}: parts of correlations",
    kind="identity",
    statement=(
        (
            "Between neighbouring rates lies one root of the sum of resonances, found to $10^(-13)$ of itself, and the "
            "noise of resonances has the power that their sum states, rates near 2 included;"
        ),
        "interlaced half powers have the weights and norms of their series, and others are refused;",
        "real and imaginary part of $B$ on the circle are those of its definition;",
        "finitely many weights have the filtered power of their recursion, to $10^(-12)$, and norms of their series.",
    ),
    setting="Signs in fractions; binomial series; complex numbers.",
    checks=(
        Agreement(decides="a", facts=_newton, impostors=_OFF),
        Agreement(decides="a", facts=_roots, impostors={"a root moved by $10^(-12)$": {"facts": {"off": 1 + 1e-12}}}),
        Agreement(decides="b", facts=_half_powers, impostors=_OFF),
        Agreement(decides="c", facts=_waves, impostors=_OFF),
        Agreement(decides="d", facts=_weights, impostors=_OFF),
    ),
)
