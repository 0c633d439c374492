"""Beyond the paper: closed forms of correlations against their power series, and where nothing is known of |B|^2."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
from scipy.special import binom

from dpbounds import DomainError, arithmetic
from dpbounds.arithmetic import FLOATS
from dpbounds.circle.arcs import Points
from dpbounds.circle.discs import Discs
from dpbounds.ftrl.correlations import (
    DampedHalfPowers,
    FiniteImpulse,
    HalfPowers,
    ToeplitzCorrelation,
    anti_pgd,
    damped_anti_pgd,
    half_powers,
    half_powers_from_roots,
    independent,
    nu,
    optimal_counting,
)
from verify.checks import Agreement, Fact, Holds, Times, Within, refused
from verify.papers.ftrl.beyond.exact import OURS
from verify.statements.claims import Claim

_OFF = {"1e-6 off": {"facts": Times(1 + 1e-6)}}
TERMS = 900
FREQUENCIES = np.array([0.05, 0.7, 1.9, 3.0])
RATES = np.array([0.02, 0.37, 1.0])
# Roots q of factors (1 - q z)^{1/2}; a slow one beside a fast one.
HALF_POWERS: dict[str, tuple[tuple[complex, ...], tuple[complex, ...]]] = {
    "a slow zero and a fast pole": ((0.96,), (-0.3,)),
    "a slow pole and a fast zero": ((0.12,), (-0.95, 0.4)),
    "a pair over a pole": ((0.3 + 0.85j,), (0.6,)),
    "a zero over a pair": ((-0.8, 0.5), (0.55 + 0.7j,)),
}


def _series(zeros: Sequence[complex], poles: Sequence[complex], power: float) -> np.ndarray:
    """Of prod (1 - q z)^power over prod (1 - p z)^power, conjugates included: binomial series, multiplied."""
    total, t = np.eye(TERMS)[0].astype(complex), np.arange(1, TERMS)
    for numbers, exponent in ((zeros, power), (poles, -power)):
        for q in map(complex, numbers):
            for number in (q, q.conjugate()) if q.imag else (q,):
                binomial = np.cumprod(np.concatenate([[1.0], (exponent - t + 1) / t * -number]))
                total = np.convolve(total, binomial)[:TERMS]
    return np.real(total)


def _closed_forms() -> Iterator[tuple[str, ToeplitzCorrelation, np.ndarray, np.ndarray]]:
    """With the series of B and of its inverse."""
    for x in (0.06, 0.35):
        for label, made, power in (("nu", nu(x), 0.5), ("damped anti-PGD", damped_anti_pgd(x), 1.0)):
            yield f"{label}, {x}", made, _series((1 - x,), (), power), _series((), (1 - x,), power)
    beta = np.array([0.8, -0.5, 0.3, 0.21])
    zeros = [1 / root for root in np.roots(beta[::-1]) if root.imag >= 0]
    padded = np.concatenate([beta, np.zeros(TERMS - len(beta))])
    yield "four weights", FiniteImpulse(tuple(beta)), padded, _series((), zeros, 1.0) / beta[0]
    for label, (above, below) in HALF_POWERS.items():
        yield label, HalfPowers(above, below), _series(above, below, 0.5), _series(below, above, 0.5)
    made = DampedHalfPowers((0.05, 1.4), (0.7,), gain=0.6)
    yield "interlaced", made, 0.6 * _series((0.95, -0.4), (0.3,), 0.5), _series((0.3,), (0.95, -0.4), 0.5) / 0.6


def _forms(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Weights for few and for many steps, |B|^2 in floats and in balls, gamma_T and its limit, c(x)."""
    s, z = np.sin(FREQUENCIES / 2) ** 2, np.exp(1j * np.outer(FREQUENCIES, np.arange(TERMS)))
    for label, made, beta, c in _closed_forms():
        for T in (1, 3, 17, 240):
            yield Fact(f"{label}: {T} weights", made.coefficients(T), beta[:T], 1e-11)
            yield Fact(f"{label}: {T} of the inverse", made.inverse_coefficients(T), c[:T], 1e-11)
            yield Fact(f"{label}: sensitivity in {T} steps", made.sensitivity(T), float(np.linalg.norm(c[:T])), 1e-11)
        prefix = sum(float(np.sum(np.cumsum(beta[: 7 - start]) ** 2)) for start in range(7))
        yield Fact(f"{label}: error of 7 prefix sums", made.prefix_error(7), prefix, 1e-11)
        lower = np.array([[beta[i - j] if i >= j else 0.0 for j in range(4)] for i in range(4)])
        yield Fact(f"{label}: matrix", made.matrix(4), lower, 1e-11)
        yield Fact(f"{label}: times its encoder", made.matrix(9) @ made.encoder(9), np.eye(9), 1e-10)
        power = np.abs(z @ beta) ** 2
        yield Fact(f"{label}: |B|^2 by frequency", made.power_spectrum(-FREQUENCIES), power)
        yield Fact(f"{label}: |B|^2 in floats", made.spectral_density(FLOATS, s), power)
        with arithmetic.balls(128) as m:
            balls = [float(made.spectral_density(m, m.number(point)).mid()) for point in s.tolist()]
        yield Fact(f"{label}: |B|^2 in balls", balls, power)
        limit = made.limiting_sensitivity()
        yield Fact(f"{label}: limit", float(limit), float(np.linalg.norm(c)), 1e-10)
        if limit.enclosure is not None:
            yield Fact(f"{label}: enclosed", limit.enclosure, [float(limit)] * 2, 1e-12)
        filtered = [np.convolve(beta, (1 - x) ** np.arange(TERMS)) for x in RATES]
        stated = [x * (2 - x) * float(row @ row) for x, row in zip(RATES, filtered, strict=True)]
        yield Fact(f"{label}: c(x)", made.filtered_power(RATES), stated, 1e-9)
    yield from _edges()


def _edges() -> Iterator[Fact | Holds]:
    """nu = 0 and 1: no limit, one weight; c(x) of prefix sums by lags, beta_0 beta_k summed to -1/2 of beta_t^2."""
    t = np.arange(60)
    counting, plain = optimal_counting(), anti_pgd()
    yield Fact("prefix sums: weights", counting.coefficients(60), binom(0.5, t) * (-1.0) ** t, 1e-13)
    yield Fact("prefix sums: the inverse", counting.inverse_coefficients(60), binom(-0.5, t) * (-1.0) ** t, 1e-13)
    yield Fact("anti-PGD: weights", plain.coefficients(5), [1, -1, 0, 0, 0], 0)
    yield Fact("anti-PGD: the inverse", plain.inverse_coefficients(5), np.ones(5), 0)
    for label, one in (("prefix sums", counting), ("anti-PGD", plain)):
        limit = one.limiting_sensitivity()
        yield Holds(f"{label}: no limit", limit.kind == "exact" and limit.enclosure == (np.inf, np.inf))
    # int |2 sin(omega / 2)| / |1 - x - e^{i omega}|^2, a mean of smooth values on half the circle
    nodes, weights = np.polynomial.legendre.leggauss(400)
    omega = np.pi * (nodes + 1) / 2
    for x in (0.3, 0.85, 1.0):
        integrand = 2 * np.sin(omega / 2) / np.abs(1 - x - np.exp(1j * omega)) ** 2
        stated = x * (2 - x) * float(weights @ integrand) / 2
        yield Fact(f"prefix sums: c({x:g})", counting.filtered_power(np.array([x])), [stated], 1e-10)
        yield Fact(f"anti-PGD: c({x:g})", plain.filtered_power(np.array([x])), [2 * x], 1e-14)
    names = {
        nu(0.25).name: "nu-DP-FTRL (nu=0.25)",
        damped_anti_pgd(0.25).name: "damped anti-PGD (nu=0.25)",
        counting.name: "optimal counting",
        plain.name: "anti-PGD",
    }
    yield Holds("names", all(found == stated for found, stated in names.items()))
    for one in (nu(1.0), damped_anti_pgd(1.0), independent()):
        found = [*one.coefficients(3), *one.inverse_coefficients(3), float(one.limiting_sensitivity())]
        yield Fact(f"{one.name}: one weight", found, [1, 0, 0, 1, 0, 0, 1], 0)
        yield Fact(f"{one.name}: c(x)", one.filtered_power(RATES), np.ones(3), 1e-14)
    with mock.patch.object(half_powers, "means", return_value=None):  # where floats have too few digits
        for label, (above, below) in HALF_POWERS.items():
            found = float(HalfPowers(above, below).limiting_sensitivity())
            yield Fact(f"{label}: norm, in balls", found, float(np.linalg.norm(_series(below, above, 0.5))), 1e-7)
    slow = HalfPowers((0.12,), (0.999,))
    for T in (1, 7, 300):  # few weights of many
        yield Fact(f"a pole of 0.999: {T} weights", slow.coefficients(T), _series((0.12,), (0.999,), 0.5)[:T], 1e-11)
    # of sum 1e-5 at decays of 1e-10: the last y cancels, and counts as much as all others
    weights, decays = (0.9, -0.6, -0.29999), [1e-10, 3e-11]
    found = FiniteImpulse(weights).filtered_power(np.array(decays))
    for decay, power in zip(decays, found.tolist(), strict=True):
        x, y, total = Fraction(decay), Fraction(0), Fraction(0)
        for weight in weights:
            y = (1 - x) * y + Fraction(weight)
            total += y * y
        yield Fact(f"weights that cancel: c({decay:g})", power, float(x * (2 - x) * total + ((1 - x) * y) ** 2))
    made: tuple[tuple[str, Callable[[float], Any]], ...] = (("nu", nu), ("damped anti-PGD", damped_anti_pgd))
    for label, call in made:
        for wrong in (0.0, -0.1, 1.01):
            yield refused(f"{label} = {wrong:g}", "nu", lambda call=call, wrong=wrong: call(wrong))


# --- roots ---


def _roots(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """|B|^2 in proportion to the root of a ratio of products, for roots in s off [0, 1]; roots on it are refused."""
    s = np.array([0.0, 0.13, 0.5, 0.92, 1.0])
    for label, zeros, poles in (
        ("real ones", [-0.3, 1.2], [-2.0]),
        ("pairs", [0.4 + 0.3j, 0.4 - 0.3j], [1.3, -0.01]),
        ("pairs below", [], [-0.7 + 1.1j, -0.7 - 1.1j]),
        ("beside the ends", [1.02], [-0.02]),
        ("far ones", [40.0, 0.5 + 30j, 0.5 - 30j], [1.0 + 1e-3j, 1.0 - 1e-3j]),
    ):
        made = half_powers_from_roots(np.array(zeros, complex), np.array(poles, complex), name=label)
        product = [np.prod(point - np.array(zeros)) / np.prod(point - np.array(poles)) for point in s]
        power = np.sqrt(np.abs(product))
        found = np.asarray(made.spectral_density(FLOATS, s))
        yield Fact(f"{label}: in proportion to |B|^2", found / found[1], power / power[1], 1e-10)
        yield Holds(f"{label}: name", made.name == label)
        yield Fact(f"{label}: degree", made.degree, max(len(zeros), len(poles)), 0)
    nothing = np.zeros(0, complex)
    for wrong in (0.0, 0.3, 1.0):
        for name, given in (("zeros", (np.array([wrong + 0j]), nothing)), ("poles", (nothing, np.array([wrong + 0j])))):
            yield refused(f"{name} at s = {wrong:g}", name, lambda given=given: half_powers_from_roots(*given))
    beside = np.array([0.7 - 1e-17j, 0.7 + 1e-17j])  # on [0, 1] but for rounding
    try:
        told = repr(half_powers_from_roots(beside, nothing))
    except DomainError as refusal:
        told = str(refusal)
    yield Holds("a pair next to s = 0.7 is refused as on the interval", "off the interval [0, 1]" in told)
    yield refused("a root of 1e200", "zeros", lambda: half_powers_from_roots(np.array([1e200 + 0j]), nothing))
    for name, given in (("zeros", (1.0,)), ("zeros", (0.8 + 0.6j,)), ("poles", (0.5 - 0.1j,)), ("poles", (-1.5,))):
        yield refused(f"{name} {given}", name, lambda name=name, given=given: HalfPowers(**{"zeros": (), name: given}))


# --- discs ---


def _disc(centre: float, radius: float) -> Points:
    """One disc in s."""
    point, zero = Discs(np.array([centre]), np.zeros(1)), np.zeros(1)
    rest = Discs(1 - point.centre, zero)
    sine = Discs(2 * np.sqrt(point.centre * rest.centre), zero)
    wide = np.array([radius])
    return Points(point, rest, sine, wide, point.widened(wide), rest.widened(wide), 1)


def _known(correlation: HalfPowers, centre: float, radius: float) -> list[bool]:
    """Whether |B|^2, and whether its inverse, has a disc of a radius of at least 0."""
    return [
        bool(np.isfinite(disc.centre[0]) and 0 <= disc.radius[0] < np.inf) for disc in _on(correlation, centre, radius)
    ]


def _on(correlation: HalfPowers, centre: float, radius: float) -> tuple[Discs, Discs]:
    return correlation.power_on(_disc(centre, radius))


def _discs(rng: np.random.Generator, moved: float = 1.0) -> Iterator[Fact | Holds | Within]:
    """1 - q z is 0 at s = -(1 - q)^2 / (4 q): discs around 0.3 that end before it and just beyond; products that leave
    the floats, and too many of them.
    """
    q, wide = 0.5, 0.3 + 0.125
    for label, made in (("a zero", HalfPowers((q,))), ("a pole", HalfPowers((), (q,)))):
        for share, known in ((0.96, True), (1.001, False), (1.03, False), (2.0, False)):
            yield Holds(
                f"{label} {share:g} of its distance away", _known(made, 0.3, moved * share * wide) == [known] * 2
            )
    # a factor 4 q s + (1 - q)^2 moves by rho of itself, a pair by rho (2 + rho), and the root of a product by
    # w = sum rho / (1 - rho) / 2 or, for wide discs, by prod (1 - rho)^(-1/2) - 1
    for share in (1e-3, 0.25):
        for label, made, rho in (
            ("a zero", HalfPowers((q,)), share),
            ("a pair of poles", HalfPowers((), (q + 2.0**-30 * 1j,)), share * (2 + share)),
        ):
            w = rho / (1 - rho) / 2
            stated = w * (1 + w) if share < 0.01 else (1 - rho) ** -0.5 - 1
            for told, disc in zip(("", ", inverse"), _on(made, 0.3, share * wide), strict=True):
                radius = float(disc.radius[0] / disc.centre[0])
                yield Fact(f"{label} moved by {share:g}{told}: radius", moved * radius, stated, 1e-8)
    # at one frequency all is rounding: of 4 q s + (1 - q)^2, which cancels for q near -1 and s near 1
    q, s, unit = -0.96, 0.997, 2.0**-53
    condition = (4 * abs(q) * s + 2 * (1 - q) ** 2) / (4 * q * s + (1 - q) ** 2)
    for label, made in (("a zero", HalfPowers((q,))), ("a pole", HalfPowers((), (q,)))):
        for told, disc in zip(("", ", inverse"), _on(made, s, 0.0), strict=True):
            share = float(disc.radius[0] / disc.centre[0]) / (6 * unit * condition)
            yield Within(f"{label}{told}: radius at one frequency over rounding", share * moved, 1.0, 1.02)
    # factors of 1: 12 units of terms of size 2, 8 of the modulus and 8 of its square, halved by the root; n + 8 of the
    # product of n, and 4 of the inverse
    for n in (1, 3):
        for disc, stated in zip(_on(HalfPowers((0.0,) * n), 0.3, 0.0), (21 * n + 8, 21 * n + 12), strict=True):
            yield Fact(f"{n} factors of 1: units", moved * float(disc.radius[0]) / unit, stated, 1e-6)
    # |B|^2 = 10^(-n) at s = 0, or 10^n
    for n, known in ((280, True), (300, False)):
        for label, made, sign in (("zeros", HalfPowers((0.9,) * n), -1), ("poles", HalfPowers((), (0.9,) * n), 1)):
            yield Holds(f"{n} {label}", _known(made, 0.0, 0.0) == [known] * 2)
            if known:
                for disc, side in zip(_on(made, 0.0, 0.0), (sign, -sign), strict=True):
                    yield Fact(f"{n} {label}: log |B|^2", side * np.log10(disc.centre), [n * moved], 1e-12)
    for n, known in ((1000, True), (1001, False)):
        yield Holds(f"{n} zeros and poles", _known(HalfPowers((0.2,) * n, (0.1,)), 0.3, 0.0) == [known] * 2)
        yield Holds(f"{n} poles and zeros", _known(HalfPowers((0.1,), (0.2,) * n), 0.3, 0.0) == [known] * 2)


SERIES = Claim(
    id="ftrl/beyond-correlation-series",
    where=f"{OURS}: closed forms of correlations",
    kind="identity",
    statement=(
        (
            "Named correlations and half powers have the weights, spectra, sensitivities and filtered power of their "
            "power series, prefix sums and anti-PGD no limit;"
        ),
        "half powers from roots have the spectrum of these roots, and roots on $[0, 1]$ are refused;",
        (
            "discs of $abs(B)^2$ are as wide as factors move and round, and nothing is said of it on discs that hold a "
            "zero or a pole, or where floats end."
        ),
    ),
    setting="Binomial series, multiplied.",
    checks=(
        Agreement(decides="a", facts=_forms, impostors=_OFF),
        Agreement(decides="b", facts=_roots, impostors=_OFF),
        Agreement(decides="c", facts=_discs, impostors={"discs 5 % wider": {"facts": {"moved": 1.05}}}),
    ),
)
