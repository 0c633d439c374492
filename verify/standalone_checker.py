"""A second proof of the bounds in a file that `dpbounds solve ftrl --certify --save` wrote; it needs Python alone.

    python verify/standalone_checker.py bounds.json

It shares no code with dpbounds and uses integers and fractions alone: read it instead of trusting a library. Each bound

    lower <= sup of F_inf = lim E F(theta_t) - F* over all mu-strongly convex, L-smooth F <= upper

is proved from what the file stores. Noise has the spectrum S = d clip_norm^2 gamma^2 / (2 rho) |B|^2 + sigma_sgd^2, B
without zeros in the closed unit disc, gamma^2 the mean of 1 / |B|^2 over the circle. With w = e^{i omega}, z = 1 - w,
u = z - eta mu, v = z - eta L, a = L / 2, b = mu / 2 (programs f, causal) or L / 2 (program theta):

- upper, `value`: the mean of S eta^2 (|c|^2 - a b) / D, if D = 2 Re[c conj(u) v] - a |u|^2 - b |v|^2 > 0 on the whole
  circle, c = a + lambda_0 - sum_t (forward_t w^t + backward_t w^-t), multipliers (margin, forward, backward) >= 0 and
  lambda_0 = margin + sum_t (forward_t + backward_t);
- upper, `value` of program causal, where B = sum_k b_k w^-k filters draws that are independent of the past: for each of
  the two parts of S its level N times (mean of (2 m Re[X B w] + m^2) / D + 2 m b_0) / (L - mu)^2 more, B = 1 for the
  second, X = Lambda conj(u) + conj(Lambda v) + (a - b) conj(v), Lambda = c - a, m the number in shifts, of any sign;
- upper, without a program: eta^2 L N / (2 min(eta mu, 2 - eta L)^2), N the mean of S, and for white noise
  eta N max(1, 1 / (2 - eta L)) / 2;
- lower: the mean of S eta^2 h / 2 / |1 - eta h - w|^2, the error of F = h |theta|^2 / 2, mu <= h <= L.

All are functions of s = sin^2(omega / 2). With s = t^2 / (1 + t^2), and 1 - s likewise for the other half, the mean is
2 / pi times the integral over 0 <= t <= 1 of f / (1 + t^2) of both. On a cell of t the integrand's Taylor polynomial is
integrated, and its remainder is bounded by the next coefficient over the whole cell. Polynomials in s are exact
fractions; the rest are balls, pairs of integers (middle, radius) in units of 2^-BITS, rounded outwards. A denominator
whose ball on a cell has 0 in it splits the cell. Zeros of finitely many weights are decided by Schur-Cohn step-down.

What is printed was proved here, and is rounded outwards to 12 digits. It may be looser than what the file says, by
1e-9 at most: a file that says more than is true by less than that is accepted, with the number that is proved.
Adversarial losses and times in a file are no bounds and are not looked at.

Exit status: 0 every bound is proved, 2 the file or a bound is refused, 3 some bound cannot be decided here: more than
41 weights, degrees above 100, denominators that come too near to 0. A bound takes about a second.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from math import comb, isqrt
from typing import Any

Ball = tuple[int, int]
Series = list[Ball]
Polynomial = list[Fraction]

BITS, ORDER = 320, 12
ONE = 1 << BITS
# Relative radius of a cell's integral, and how much looser than the file a proof may be.
TOLERANCE_BITS, LOOSER = 36, Fraction(1, 10**9)
# What is looked at: bytes, bounds, multipliers; weights and degrees of correlations; cells of half a circle.
MOST_BYTES, MOST_BOUNDS, MOST_NUMBERS, MOST_WEIGHTS, MOST_DEGREE, MOST_CELLS = 4_000_000, 50, 201, 41, 101, 3000
SETTINGS = ("eta", "rho", "d", "clip_norm", "sigma_sgd")
PI = (Fraction(31415926535897932384626433832795, 10**31), Fraction(31415926535897932384626433832796, 10**31))


class Refused(Exception):
    """The file is no such file, or says what is not proved."""


class CannotDecide(Exception):
    """Neither proved nor refused."""


# --- balls and series: coefficients of powers of the variable scaled to [-1, 1] on the cell ---


def ball(number: Fraction) -> Ball:
    """A fraction, rounded."""
    return (number.numerator << BITS) // number.denominator, 1


def divided(x: Ball, y: Ball) -> Ball:
    """x / y; `ZeroDivisionError` if y may be 0."""
    least = abs(y[0]) - y[1]
    if least <= 0:
        raise ZeroDivisionError
    middle = (x[0] << BITS) // y[0]
    return middle, ((x[1] << BITS) + (abs(middle) + 1) * y[1]) // least + 2


def convolved(x: Series, y: Series, order: int, start: int = 0) -> Ball:
    """Sum of x_i y_(order - i) for start <= i <= order - start."""
    middle = radius = 0
    for i in range(start, order - start + 1):
        (a, r), (b, q) = x[i], y[order - i]
        middle += a * b
        radius += abs(a) * q + r * (abs(b) + q)
    return middle >> BITS, (radius >> BITS) + 2


def product(x: Series, y: Series) -> Series:
    """x y."""
    return [convolved(x, y, order) for order in range(min(len(x), len(y)))]


def quotient(x: Series, y: Series) -> Series:
    """x / y."""
    result: Series = []
    for order in range(len(x)):
        m, r = convolved([(0, 0), *y[1:]], [*result, (0, 0)], order)
        result.append(divided((x[order][0] - m, x[order][1] + r), y[0]))
    return result


def root(x: Series) -> Series:
    """Square root; `ZeroDivisionError` if x may be 0 or below."""
    low, high = x[0][0] - x[0][1], x[0][0] + x[0][1]
    if low <= 0:
        raise ZeroDivisionError
    low, high = isqrt(low << BITS), isqrt(high << BITS) + 1
    result: Series = [((low + high) // 2, (high - low) // 2 + 1)]
    for order in range(1, len(x)):
        m, r = convolved([*result, (0, 0)], [*result, (0, 0)], order, start=1)
        twice = (2 * result[0][0], 2 * result[0][1])
        result.append(divided((x[order][0] - m, x[order][1] + r), twice))
    return result


def summed(x: Series, y: Series, halvings: int = 0) -> Series:
    """(x + y) / 2^halvings."""
    return [((a + b) >> halvings, r + q + halvings) for (a, r), (b, q) in zip(x, y, strict=True)]


def scaled(x: Series, factor: Ball) -> Series:
    """A number times x."""
    return [((a * factor[0]) >> BITS, ((abs(a) + r) * factor[1] + r * abs(factor[0]) >> BITS) + 2) for a, r in x]


def shifted(polynomial: Sequence[Ball], centre: int) -> list[Ball]:
    """Coefficients of powers of s - centre."""
    middles, radii = ([x[part] for x in polynomial] for part in (0, 1))
    for lowest in range(len(polynomial) - 1):
        for k in range(len(polynomial) - 2, lowest - 1, -1):
            middles[k] += middles[k + 1] * centre >> BITS
            radii[k] += (radii[k + 1] * centre >> BITS) + 2
    return list(zip(middles, radii, strict=True))


def composed(local: Sequence[Ball], reach: int, steps: Series) -> Series:
    """The polynomial with these coefficients at s - centre = (a number of at most `reach`) + `steps`, whose first
    coefficient is 0.
    """
    powers = [ONE]
    for _ in local[1:]:
        powers.append((powers[-1] * reach >> BITS) + 1)
    sizes = [abs(m) + r for m, r in local]
    around = []
    for j in range(min(len(local), len(steps))):
        spread = sum(comb(k, j) * sizes[k] * powers[k - j] for k in range(j + 1, len(local)))
        around.append((local[j][0], local[j][1] + (spread >> BITS) + 1))
    # What is multiplied by the steps k times yet needs k coefficients less.
    result: Series = [around[-1]] + [(0, 0)] * (len(steps) - len(around))
    for coefficient in around[-2::-1]:
        result = product([*result, (0, 0)], steps)
        result[0] = (result[0][0] + coefficient[0], result[0][1] + coefficient[1])
    return result


# --- means over the circle ---

Integrands = Callable[[list[Series]], list[Series]]


def means(
    polynomials: Sequence[Polynomial], integrands: Integrands, signed: int = 0, least: Fraction = Fraction(0)
) -> list[tuple[Fraction, Fraction]]:
    """Lower and upper ends of the means of functions of polynomials in s over the circle, to a share of their sizes;
    of the last `signed` of them to that share of `least` where they are smaller.
    """
    smallest = int(least * ONE)
    totals: list[tuple[int, int]] = []
    for half in (list(polynomials), [reflected(p) for p in polynomials]):
        balls = [[ball(x) for x in p] for p in half]
        pending, tried = [(Fraction(0), Fraction(1))], 0
        while pending:
            low, high = pending.pop()
            tried += 1
            found = cell(balls, integrands, (low + high) / 2, (high - low) / 2, signed, smallest)
            if found is None:
                if tried > MOST_CELLS or (high - low).denominator > 1 << 60:
                    raise CannotDecide(f"next to t = {float(low):.3g}: a denominator is not shown to be positive")
                pending += [((low + high) / 2, high), (low, (low + high) / 2)]
                continue
            totals = [(x + m, y + r) for (x, y), (m, r) in zip(totals or [(0, 0)] * len(found), found, strict=True)]
    return [(Fraction(2 * (m - r), ONE) / PI[1], Fraction(2 * (m + r), ONE) / PI[0]) for m, r in totals]


def cell(
    polynomials: Sequence[list[Ball]],
    integrands: Integrands,
    middle: Fraction,
    half: Fraction,
    signed: int,
    smallest: int,
) -> Series | None:
    """The integrals over |t - middle| <= half, or None where they are not known well enough."""
    m, h = ball(middle)[0], ball(half)[0]  # exact: both are fractions of powers of two
    weights = weight_series((m, 0), h)
    centre = ONE - weights[0][0]
    local = [shifted(p, centre) for p in polynomials]
    known: list[list[Series]] = []
    try:
        for w in (weight_series((m, h), h), weights):
            reach, steps = abs(ONE - w[0][0] - centre) + w[0][1], [(0, 0), *((-x, r) for x, r in w[1:])]
            known.append(integrands([w, *(composed(p, reach, steps) for p in local)]))
    except ZeroDivisionError:
        return None
    found = []
    for over, series in zip(*known, strict=True):
        terms = [*series[:ORDER], over[ORDER]]
        value = sum(2 * terms[k][0] // (k + 1) for k in range(0, ORDER + 1, 2))
        radius = sum(2 * terms[k][1] // (k + 1) + 2 for k in range(0, ORDER + 1, 2))
        if radius << TOLERANCE_BITS > (max(abs(value), smallest) if len(found) >= len(known[0]) - signed else value):
            return None
        found.append(((value * h >> BITS), (radius * h >> BITS) + 2))
    return found


def weight_series(t: Ball, h: int) -> Series:
    """1 / (1 + t^2) = 1 - s around every t of a ball, in units of h."""
    below = (ONE + (t[0] * t[0] >> BITS), (t[1] * (2 * abs(t[0]) + t[1]) >> BITS) + 2)
    once, twice = (2 * t[0] * h >> BITS, (2 * t[1] * h >> BITS) + 2), (h * h >> BITS, 1)
    result = [divided((ONE, 0), below)]
    for order in range(1, ORDER + 1):
        m, r = convolved([(0, 0), once, twice], [result[-2] if order > 1 else (0, 0), result[-1], (0, 0)], 2)
        result.append(divided((-m, r), below))
    return result


def reflected(polynomial: Polynomial) -> Polynomial:
    """p(1 - s)."""
    size = len(polynomial)
    return [(-1) ** j * sum(comb(k, j) * polynomial[k] for k in range(j, size)) for j in range(size)]


def fields(place: str, data: Any, names: Sequence[str]) -> list[Any]:
    """The values of an object that has these keys and no others."""
    demand(isinstance(data, dict) and set(data) == set(names), f"{place} must have the entries {', '.join(names)}")
    return [data[name] for name in names]


def number(place: str, value: Any) -> Fraction:
    """A number of JSON, as the fraction that its double is."""
    demand(type(value) in (int, float), f"{place} is not a number")
    try:
        return Fraction(float(value))
    except (OverflowError, ValueError):
        raise Refused(f"{place} is not finite") from None


def numbers(place: str, values: Any) -> list[Fraction]:
    """A list of them."""
    demand(isinstance(values, list) and len(values) <= MOST_NUMBERS, f"{place} is not a list of at most {MOST_NUMBERS}")
    return [number(place, value) for value in values]


def demand(condition: bool, reason: str) -> None:
    """`Refused` for that reason where the condition does not hold."""
    if not condition:
        raise Refused(reason)


def times(x: Polynomial, y: Polynomial) -> Polynomial:
    """Coefficients of a product, of polynomials in w from -n to n too."""
    result = [Fraction(0)] * (len(x) + len(y) - 1)
    for i, a in enumerate(x):
        for j, b in enumerate(y):
            result[i + j] += a * b
    return result


def real_part(laurent: Polynomial) -> Polynomial:
    """Coefficients of w^-n to w^n to those of their real part on the circle in s: cos(k omega) = T_k(1 - 2 s)."""
    size = len(laurent) // 2
    result, before, now = [Fraction(0)] * (size + 1), [1], [1, -2]
    for k in range(size + 1):
        weight = laurent[size + k] + (laurent[size - k] if k else 0)
        for power, coefficient in enumerate(before):
            result[power] += weight * coefficient
        doubled = [2 * x - 4 * y for x, y in zip([*now, 0], [0, *now], strict=True)]
        before, now = now, [x - (before[k] if k < len(before) else 0) for k, x in enumerate(doubled)]
    return result


def turned_part(laurent: Polynomial) -> Polynomial:
    """The same of the imaginary part over sin(omega): sin(k omega) / sin(omega) = U_(k-1)(1 - 2 s)."""
    size = len(laurent) // 2
    result, before, now = [Fraction(0)] * max(size, 1), [0], [1]
    for k in range(1, size + 1):
        for power, coefficient in enumerate(now):
            result[power] += (laurent[size + k] - laurent[size - k]) * coefficient
        doubled = [2 * x - 4 * y for x, y in zip([*now, 0], [0, *now], strict=True)]
        before, now = now, [x - (before[k] if k < len(before) else 0) for k, x in enumerate(doubled)]
    return result


def distance(x: Fraction) -> Polynomial:
    """|1 - x - w|^2."""
    return [x * x, 4 * (1 - x)]


def program_polynomials(
    mu: Fraction, L: Fraction, eta: Fraction, b: Fraction, multipliers: list[Fraction]
) -> tuple[Polynomial, Polynomial]:
    """|c|^2 - a b and D; conjugates on the circle read backwards."""
    a, lags = L / 2, len(multipliers) // 2
    forward, backward = ([-x for x in multipliers[k : k + lags]] for k in (1, 1 + lags))
    c = [*backward[::-1], a + sum(multipliers), *forward]
    u, v = ([Fraction(0), 1 - eta * curvature, Fraction(-1)] for curvature in (mu, L))
    size, D = real_part(times(c, c[::-1])), [2 * x for x in real_part(times(c, times(u[::-1], v)))]
    size[0] -= a * b
    for k in range(2):
        D[k] -= a * distance(eta * mu)[k] + b * distance(eta * L)[k]
    return size, D


def inner_laurent(mu: Fraction, L: Fraction, eta: Fraction, multipliers: list[Fraction]) -> Polynomial:
    """X w = Lambda ((1 - eta mu) w - 1) + (conj(Lambda) + a - b) ((1 - eta L) w - 1) of program causal."""
    lags = len(multipliers) // 2
    forward, backward = ([-x for x in multipliers[k : k + lags]] for k in (1, 1 + lags))
    first = [*backward[::-1], sum(multipliers, Fraction(0)), *forward]
    second = first[::-1]
    second[lags] += (L - mu) / 2
    parts = [times(x, [Fraction(0), Fraction(-1), 1 - eta * h]) for x, h in ((first, mu), (second, L))]
    return [x + y for x, y in zip(*parts, strict=True)]


class Spectrum:
    """|B|^2 = above / below, or its square root; gamma^2 where it is known as a fraction; the mechanisms it can be.

    `factors`: B is the product of f^(1/2), or of f^(-1/2) where the last entry is false, for f = R + i sin(omega) V in
    the right half-plane; `wave` or Re B and Im B / sin(omega); `newest` b_0.
    """

    def __init__(self, data: Any) -> None:
        kind = data.get("kind") if isinstance(data, dict) else None
        self.below, self.rooted, self.white = [Fraction(1)], kind in ("nu", "half_powers"), False
        self.nu: Fraction | None = None
        self.gamma_squared: Fraction | None = None
        self.wave: list[Polynomial] = []
        self.factors: list[tuple[Polynomial, Polynomial, bool]] = []
        self.newest = Fraction(1)
        if kind in ("nu", "damped_anti_pgd"):
            self.nu = nu = number("nu", fields("correlation", data, ("kind", "nu"))[1])
            demand(0 < nu <= 1, "nu is not in (0, 1]")
            self.above, self.white = distance(nu), nu == 1
            linear = [nu, 2 * (1 - nu)], [1 - nu]
            self.factors, self.wave = ([(*linear, True)], []) if self.rooted else ([], [*linear])
            self.gamma_squared = 1 / (nu * (2 - nu)) if self.white or not self.rooted else None
            self.names = ("nu", "best-nu", "optimal") if self.rooted else ("damped-anti-pgd",)
        elif kind == "coefficients":
            beta = numbers("beta", fields("correlation", data, ("kind", "beta"))[1])
            demand(beta != [] and beta[0] != 0, "the first weight is 0")
            self.gamma_squared, self.white = squared_sensitivity(beta), not any(beta[1:])
            self.names = ("sgd", "nu", "best-nu", "optimal", "coefficients") if self.white else ("coefficients",)
            self.above = real_part(times(beta, beta[::-1]))
            laurent = [*beta[:0:-1], *beta[:1], *[Fraction(0)] * (len(beta) - 1)]
            self.newest, self.wave = beta[0], [real_part(laurent), turned_part(laurent)]
        elif kind == "half_powers":
            _, _, zeros, poles = fields("correlation", data, ("kind", "label", "zeros", "poles"))
            self.above, self.below = roots_polynomial("zeros", zeros), roots_polynomial("poles", poles)
            self.factors = [(*_waves(pair), pairs is zeros) for pairs in (zeros, poles) for pair in pairs]
            self.names = ("half-powers", "optimal")
        else:
            raise Refused("the correlation is of no known kind")

    def power(self, above: Series, below: Series) -> Series:
        """|B|^2 from the series of its polynomials."""
        ratio = above if len(self.below) == 1 else quotient(above, below)
        return root(ratio) if self.rooted else ratio

    def parts(self, series: list[Series], across: Series) -> tuple[Series, Series]:
        """Re B and Im B / sin(omega), from the series of `wave` and of `factors`, and that of sin(omega)^2."""
        if self.wave:
            return series[0], series[1]
        X, Z = [(ONE, 0)] + [(0, 0)] * ORDER, [(0, 0)] * (ORDER + 1)
        for (*_, up), real, turned in zip(self.factors, series[::2], series[1::2], strict=True):
            size = root(summed(product(real, real), product(across, product(turned, turned))))
            U = root(summed(size, real, 1))
            V = quotient(turned, summed(U, U))
            if not up:
                U, V = quotient(U, size), [(-m, r) for m, r in quotient(V, size)]
            minus = [(-m, r) for m, r in product(across, product(Z, V))]
            X, Z = summed(product(X, U), minus), summed(product(X, V), product(Z, U))
        return X, Z


def _waves(pair: Any) -> tuple[Polynomial, Polynomial]:
    """R and V of 1 - q / w, or for a q off the real line of that times its conjugate, cos(omega) = 1 - 2 s."""
    a, b = numbers("roots", pair)
    if not b:
        return [1 - a, 2 * a], [a]
    square = a * a + b * b
    return [1 - 2 * a + square, 4 * a - 8 * square, 8 * square], [2 * a - 2 * square, 4 * square]


def squared_sensitivity(beta: Sequence[Fraction]) -> Fraction:
    """gamma^2 = 1 / (beta_0^2 prod (1 - k^2)) by step-down: all |k| < 1 iff no zero lies in the closed unit disc."""
    if len(beta) > MOST_WEIGHTS:
        raise CannotDecide(f"{len(beta)} weights: at most {MOST_WEIGHTS} are decided here")
    energy, row = 1 / beta[0] ** 2, list(beta)
    while len(row) > 1:
        k = row[-1] / row[0]
        demand(abs(k) < 1, "the weights have a zero in the closed unit disc: their sensitivity has no limit")
        energy /= 1 - k * k
        row = [x - k * y for x, y in zip(row[:-1], row[:0:-1], strict=True)]
    return energy


def roots_polynomial(place: str, pairs: Any) -> Polynomial:
    """prod |1 - q w|^2 over numbers q inside the unit disc, those off the real line with their conjugates."""
    demand(isinstance(pairs, list), f"{place} is not a list")
    result = [Fraction(1)]
    for pair in pairs:
        demand(isinstance(pair, list) and len(pair) == 2, f"{place}: not a pair of numbers")
        x, y = numbers(place, pair)
        demand(x * x + y * y < 1 and y >= 0, f"{place}: a number outside the upper half of the unit disc")
        if y:  # |(1 - q)^2 + 4 q s|^2
            real, imaginary = [(1 - x) ** 2 - y * y, 4 * x], [2 * y * (x - 1), 4 * y]
            squares = times(real, real), times(imaginary, imaginary)
            result = times(result, [p + q for p, q in zip(*squares, strict=True)])
        else:
            result = times(result, distance(1 - x))
        if len(result) > MOST_DEGREE:
            raise CannotDecide(f"{place}: degrees of {MOST_DEGREE} and more are not decided here")
    return result


def rounded(value: Fraction, way: str = ROUND_CEILING) -> str:
    """To 12 digits."""
    with localcontext(prec=12, rounding=way):
        return f"{Decimal(value.numerator) / Decimal(value.denominator):.11e}"


class Bound:
    """What a certificate proves: `ends` by name, each (lower end, upper end) of the quantity in the docstring."""

    def __init__(self, data: Any) -> None:
        named = data.get("program") if isinstance(data, dict) else None
        extra = ["shifts"] if isinstance(named, dict) and named.get("name") == "causal" else []
        names = ["format", "program", "noise", "multipliers", "value", "lower", "curvature", *extra]
        form, program, noise, multipliers, value, lower, curvature, *shifts = fields("certificate", data, names)
        demand(form == "dpbounds-bound/1", "the certificate's format is not dpbounds-bound/1")
        self.stored = {"value": number("value", value), "lower": number("lower", lower)}
        self.program, *constants = fields("program", program, ("name", "mu", "L", "eta"))
        demand(self.program in ("causal", "f", "theta"), "only the programs causal, f and theta bound anything")
        self.mu, self.L, self.eta = mu, L, eta = [number("program", x) for x in constants]
        demand(0 < mu <= L and 0 < eta * L < 2, "not 0 < mu <= L and 0 < eta < 2 / L")
        correlation, *settings = fields("noise", noise, ("correlation", "rho", "d", "clip_norm", "sigma_sgd"))
        self.rho, self.d, self.clip_norm, self.sigma_sgd = (number("noise", x) for x in settings)
        demand(self.rho > 0 and self.d >= 1 and self.d.denominator == 1, "not rho > 0 and a whole d >= 1")
        demand(self.clip_norm > 0 and self.sigma_sgd >= 0, "not clip_norm > 0 and sigma_sgd >= 0")
        self.spectrum, weights = Spectrum(correlation), numbers("multipliers", multipliers)
        demand(len(weights) % 2 == 1 and min(weights) >= 0, "not an odd number of nonnegative multipliers")
        h = number("curvature", curvature)
        demand(mu <= h <= L, "the curvature is not between mu and L")
        known = numbers("shifts", shifts[0]) if shifts else []
        if extra:
            demand(len(known) == 1 + (self.sigma_sgd > 0), "not a shift for each kind of draws")
            demand(mu < L or not any(known), "shifts other than 0 where mu = L")
        self.ends = self._ends(weights, h, known if any(known) else [])

    def _ends(
        self, multipliers: list[Fraction], h: Fraction, shifts: list[Fraction]
    ) -> dict[str, tuple[Fraction, Fraction]]:
        spectrum, mu, L, eta, gap = self.spectrum, self.mu, self.L, self.eta, self.L - self.mu
        size, D = program_polynomials(mu, L, eta, (L if self.program == "theta" else mu) / 2, multipliers)
        ones = [(ONE, 0)] + [(0, 0)] * ORDER
        laurent = inner_laurent(mu, L, eta, multipliers)
        waves = [real_part(laurent), turned_part(laurent), [Fraction(0), Fraction(4), Fraction(-4)]]
        waves += spectrum.wave or [part for *parts, _ in spectrum.factors for part in parts]

        def integrands(series: list[Series]) -> list[Series]:
            weight, above, below, over, under, apart, *rest = series
            if under[0][0] <= under[0][1]:
                raise ZeroDivisionError  # D must be positive, not only other than 0
            psi, quadratic = quotient(product(over, weight), under), quotient(weight, apart)
            power = ones if spectrum.white else spectrum.power(above, below)
            found = [weight, quadratic, psi]
            found += [] if spectrum.white else [product(power, x) for x in found]
            found += [quotient(weight, power)] if spectrum.gamma_squared is None else []
            return found + [quotient(product(x, weight), under) for x in (told(rest) if shifts else [])]

        def told(series: list[Series]) -> list[Series]:
            """2 m Re[X B w] + m^2 for each kind of draws."""
            real, turned, across, *own = series
            X, Z = spectrum.parts(own, across)
            minus = [(-m, r) for m, r in product(across, product(turned, Z))]
            crossed = [summed(product(real, X), minus), real]
            constants = [[ball(m * m), *[(0, 0)] * ORDER] for m in shifts]
            pairs = zip(shifts, crossed, constants, strict=False)
            return [summed(scaled(cross, ball(2 * m)), constant) for m, cross, constant in pairs]

        polynomials = [spectrum.above, spectrum.below, size, D, distance(eta * h), *(waves if shifts else [])]
        least = (gap * eta * spectrum.newest) ** 2 * L / 8
        found = means(polynomials, integrands, len(shifts), least)
        added = found[len(found) - len(shifts) :]
        found = found[: len(found) - len(shifts)]
        gamma_squared = found[-1] if spectrum.gamma_squared is None else (spectrum.gamma_squared,) * 2
        level = spectrum.above[0] if spectrum.white else None  # |B|^2 where it is constant
        plain, coloured = found[:3], [(level * x, level * y) for x, y in found[:3]] if level else found[3:6]
        for place, (own, m, first) in enumerate(zip(added, shifts, (spectrum.newest, 1), strict=False)):
            ends = coloured if place == 0 else plain
            low, high = (x + (y + 2 * m * first) / (eta * gap) ** 2 for x, y in zip(ends[2], own, strict=True))
            demand(low > 0, "shifts with which nothing is bounded")
            ends[2] = low, high
        private = self.d * self.clip_norm**2 / (2 * self.rho)
        noise, quadratic, psi = (
            tuple(private * g * x + self.sigma_sgd**2 * y for g, x, y in zip(gamma_squared, *pair, strict=True))
            for pair in zip(coloured, plain, strict=True)
        )
        factors = {"value": (psi, eta**2), "lower": (quadratic, eta**2 * h / 2)}
        factors["contraction"] = noise, eta**2 * L / 2 / min(eta * mu, 2 - eta * L) ** 2
        if spectrum.white:
            factors["co_coercivity"] = noise, eta / 2 * max(Fraction(1), 1 / (2 - eta * L))
        return {name: (pair[0] * factor, pair[1] * factor) for name, (pair, factor) in factors.items()}

    def check(self, name: str, stored: Fraction) -> None:
        """Refuse a stored end that says more than is proved."""
        proved, sign = self.ends[name][name != "lower"], 1 if name == "lower" else -1
        fair = stored > 0 and sign * stored <= sign * proved * (1 + sign * LOOSER)
        demand(fair, f"{name} = {rounded(stored)} says more than is proved, {rounded(proved)}")


def proved(row: dict[str, Any]) -> Bound:
    """The bound of a row whose certificate proves what it says; `Refused` or `CannotDecide` otherwise."""
    found = Bound(row["certificate"])
    for name, stored in found.stored.items():
        found.check(name, stored)
    if len(row) == 1:
        return found
    demand(row.get("status") == "certified", f"the status is {row.get('status')!r}")
    demand(row.get("mechanism") in found.spectrum.names, f"mechanism {row.get('mechanism')!r} has other noise")
    demand(row.get("program") == found.program, "the row is of another program")
    for name in ("L", *SETTINGS):
        demand(number(name, row.get(name)) == getattr(found, name), f"{name} is not that of its certificate")
    kappa = number("kappa", row.get("kappa"))
    demand(kappa >= 1 and float(found.L) / float(kappa) == float(found.mu), "mu is not L / kappa")
    said = [None if row.get(name) is None else number(name, row[name]) for name in ("nu", "best_nu")]
    demand(said in ([found.spectrum.nu, None], [None, found.spectrum.nu]), "nu is not that of its certificate")
    for name in ("value", "lower", "contraction", "co_coercivity"):
        if name in found.ends or row.get(name) is not None:
            demand(name in found.ends, f"{name} does not hold for this noise")
            found.check(name, number(name, row.get(name)))
    tightest = "value" if row.get("tightest") == "program" else str(row.get("tightest"))
    demand(tightest in found.ends and tightest != "lower", "tightest names no bound")
    demand(row.get("upper") == row[tightest], "upper is not its tightest bound")
    demand(row.get("gap") == row["upper"] - row["lower"], "gap is not upper - lower")
    demand(row.get("ratio") == row["upper"] / row["lower"], "ratio is not upper / lower")
    return found


def read(path: str) -> list[dict[str, Any]]:
    """The rows of a file, each with its certificate; `Refused` for anything else."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            content = file.read(MOST_BYTES + 1)
        demand(len(content) <= MOST_BYTES, f"more than {MOST_BYTES} bytes")
        data = json.loads(content, object_pairs_hook=_once)
    except (OSError, ValueError, RecursionError) as error:
        raise Refused(" ".join(str(error).split())) from None
    rows = data["rows"] if isinstance(data, dict) and "rows" in data else data if isinstance(data, list) else [data]
    demand(isinstance(rows, list) and all(isinstance(row, dict) for row in rows), "it is not a list of rows")
    rows = [row if "certificate" in row else {"certificate": row} for row in rows]
    for place, row in enumerate(rows, 1):
        known = row["certificate"] is not None or row.get("status") in ("estimate", "failed", "not a bound")
        demand(known, f"row {place}: status {row.get('status')!r} without a certificate")
    found = [row for row in rows if row["certificate"] is not None]
    demand(found != [], "it holds no certified bound")
    demand(len(found) <= MOST_BOUNDS, f"more than {MOST_BOUNDS} bounds")
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    demand(len(dict(pairs)) == len(pairs), "a key stands twice")
    return dict(pairs)


def printed(found: Bound) -> str:
    """What a bound proves, rounded outwards."""
    ends = found.ends["lower"][0], min(high for name, (_, high) in found.ends.items() if name != "lower")
    texts = [rounded(end, way) for end, way in zip(ends, (ROUND_FLOOR, ROUND_CEILING), strict=True)]
    constants = ", ".join(f"{name} = {float(getattr(found, name)):.9g}" for name in ("mu", "L", *SETTINGS))
    return f"{texts[0]} <= sup F_inf <= {texts[1]}: {found.spectrum.names[0]}, program {found.program}, {constants}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Prove every bound of the file and print what is proved."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="what dpbounds solve ftrl --certify --save wrote")
    path, found = parser.parse_args(arguments).file, {"proved": 0, "refused": 0, "cannot decide": 0}
    try:
        rows = read(path)
    except Refused as refusal:
        print(f"{path}: refused: {refusal}", file=sys.stderr)
        return 2
    for place, row in enumerate(rows, 1):
        try:
            verdict, reason = "proved", printed(proved(row))
        except (Refused, CannotDecide) as error:
            verdict, reason = "refused" if isinstance(error, Refused) else "cannot decide", str(error)
        found[verdict] += 1
        print(f"bound {place}: {verdict}: {reason}", flush=True)
    print(f"{path}: {', '.join(f'{count} {verdict}' for verdict, count in found.items())}")
    return 2 if found["refused"] else 3 if found["cannot decide"] else 0


if __name__ == "__main__":
    sys.exit(main())
