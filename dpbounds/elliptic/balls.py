"""Elliptic integrals as Arb enclosures, with python-flint, at the current `flint.ctx.prec` bits.

Arguments are balls (or ints, floats, decimal strings: whatever `flint.arb` takes). A result holds the value at every
point of the argument balls that lies in the stated domain, so a ball may stick out of it by rounding (the sum that
should be 1 and may be a little more); a ball wholly outside raises `DomainError`, and one that reaches a point where
the integral diverges gives a ball without finite ends. `dpbounds.arithmetic.balls` sets the precision.

All functions are monotone in each argument, up to a rational factor for `integral_ratio`, so wide balls are served
by Carlson's forms at two corners, where the arguments are exact: the enclosure is that of the range, not of an
interval run through the formula.

>>> with ctx.workprec(80):
...     print(K(arb("0.6")).str(15, radius=False))
1.75075380291575
"""

from __future__ import annotations

import math
from contextlib import AbstractContextManager
from typing import Any

from flint import acb, arb, ctx

from dpbounds.errors import DomainError


def K(k: Any) -> arb:
    """Complete elliptic integral of the first kind, k the modulus in [0, 1); increasing."""
    low, high = _ends("k", k, 0, 1)
    return _K(low).union(_K(high))


def E(k: Any) -> arb:
    """Complete elliptic integral of the second kind, k the modulus in [0, 1]; decreasing."""
    low, high = _ends("k", k, 0, 1)
    return acb(low * low).elliptic_e().real.union(acb(high * high).elliptic_e().real)


def Pi(alpha_squared: Any, k: Any) -> arb:
    """Complete elliptic integral of the third kind, α² < 1 the characteristic, k the modulus in [0, 1).

    The integrand 1 / ((1 − α² sin²) √(1 − k² sin²)) increases in both.
    """
    n_low, n_high = _ends("alpha_squared", alpha_squared, None, 1)
    k_low, k_high = _ends("k", k, 0, 1)
    return _Pi(n_low, k_low).union(_Pi(n_high, k_high))


def integral_inverse(a: Any) -> arb:
    """∫_{−π}^{π} dω / |1 − a − e^{iω}| for a in (0, 1].

    2π / agm(1, √(a(2 − a))) decreases: a(2 − a) increases on (0, 1], and the mean increases in both its arguments.
    """
    low, high = _ends("a", a, 0, 1)
    return _inverse(high).union(_inverse(low))


def integral_ratio(a: Any, b: Any) -> arb:
    """∫_{−π}^{π} |1 − a − e^{iω}| / |1 − b − e^{iω}|² dω for a in [0, 1], b in (0, 1].

    (2 − b) / (2 − a) times the integral increases in a and decreases in b, which leaves two corners to evaluate. Each
    end is a value of the range times the quotient of the factor's ends: looser by at most 1 + width of a, 1 + width
    of b, and not at all for boxes near 0, however many decades they span.

    In a: E_a / (2 − a) = √(u² cos² + sin²) at ω/2, and u = a / (2 − a) increases. In b: with r = 1 − b and the Poisson
    kernel, (1 + r) ∫ E_a / E_b² = 2π Σ_j S_j r^j, S_j the partial sums of the cosine series of E_a at ω = 0. E_a is
    the root of A − B cos ω with 0 ≤ B ≤ A: its binomial series in cos ω, and so its cosine series, has no positive
    coefficient after the first. Hence S_j decreases to E_a(0) = a ≥ 0, is not negative, and the sum increases in r.
    """
    a_low, a_high = _ends("a", a, 0, 1)
    b_low, b_high = _ends("b", b, 0, 1)
    factor = (2 - a_high) / (2 - a_low) * (2 - b_high) / (2 - b_low)
    return (_ratio(a_low, b_high) * factor).union(_ratio(a_high, b_low) / factor)


def _K(k: arb) -> arb:
    """K at an exact modulus."""
    return arb.pi() / (2 * arb(1).agm(((1 - k) * (1 + k)).sqrt()))


def _Pi(n: arb, k: arb) -> arb:
    """Π at an exact characteristic and modulus."""
    with _guarded(1 - n):
        return acb.elliptic_pi(acb(n), acb(k * k)).real


def _inverse(a: arb) -> arb:
    """4 K(1 − a) at an exact a."""
    return 2 * arb.pi() / arb(1).agm((a * (2 - a)).sqrt())


def _ratio(a: arb, b: arb) -> arb:
    """The ratio at exact a and b: the normal form of the package in Carlson's R_J.

    From the numerator of J, u² cos² + sin², take the multiple of the denominator that agrees with it at ω = π (for
    u ≥ v) or at ω = 0 (for u < v). What is left is a positive R_J, and the multiple gives a mean:

        u ≥ v:  J = 2π / agm(1, u) + 4/3 (u² − v²) R_J(0, 1, u², v²)
        u < v:  J = w² (2π / agm(1, u) + 4/3 (1 − w²) R_J(0, u², 1, w²)),  w = u / v
        u = 0:  J = 4 R_C(1, v²)
    """
    if not a > 0:
        return 4 * (2 - a) / (2 - b) ** 2 * acb.elliptic_rc(1, acb((b / (2 - b)) ** 2)).real
    with _guarded(a):
        u, v = a / (2 - a), b / (2 - b)
        factor, mean = (2 - a) / (2 - b) ** 2, 2 * arb.pi() / arb(1).agm(u)
        if a >= b:
            return factor * (mean + 4 * (u - v) * (u + v) / 3 * acb.elliptic_rj(0, 1, acb(u * u), acb(v * v)).real)
        w = u / v
        rest = 4 * (1 - w) * (1 + w) / 3 * acb.elliptic_rj(0, acb(u * u), 1, acb(w * w)).real
        return factor * w * w * (mean + rest)


def _guarded(x: arb) -> AbstractContextManager:
    """A higher precision for R_J, whose sum in Arb loses up to half of log2 x bits."""
    nepers = float(abs(x.log().mid()))
    return ctx.extraprec(10 + (math.ceil(nepers) if math.isfinite(nepers) else 0))


def _ends(parameter: str, value: Any, low: int | None, high: int) -> tuple[arb, arb]:
    """Exact lower and upper end of the part of the ball that lies in [low, high]."""
    ball = arb(value)
    if ball > high or (low is not None and ball < low):
        allowed = f"a ball that meets [{low}, {high}]" if low is not None else f"a ball that reaches below {high}"
        raise DomainError(parameter, ball, allowed)
    lower = ball.lower() if low is None else ball.lower().max(low)
    return lower, ball.upper().min(high)
