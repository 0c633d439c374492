"""The complete elliptic integral of the first kind near its logarithm, certified; identities at two levels."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from verify.checks import Identity


def at_both_levels(**fields: Any) -> tuple[Identity, Identity]:
    """An identity at corners, round numbers and 8 random points, at level full 150: a quadrature takes its time."""
    check = Identity(**fields, random_points=8)
    return check, replace(check, random_points=150, level="full", impostors={})


def as_controls(checks: tuple[Identity, ...]) -> tuple[Identity, ...]:
    """The same checks beside a proof."""
    return tuple(check.as_control() for check in checks)


def turned(r: Any, p: Any) -> tuple[Any, Any]:
    """sin^2 omega at tan^2 omega = r tan^2 psi, p = sin^2 psi, and (d omega / d psi)^2."""
    import sympy

    sine = r * p / (1 - (1 - r) * p)
    return sine, sympy.diff(sine, p) ** 2 * p * (1 - p) / (sine * (1 - sine))


# With k' = sqrt(1 - k^2) (`complement`) and l = log(4 / k').


def first_kind(m, complement):
    """K as a function of k'."""
    q = complement * complement
    return m.integral_inverse(q / (1 + m.sqrt(1 - q))) / 4


def logarithm(m, complement):
    """l."""
    return m.log(4 / complement)


def factor(m, complement):
    """K is at most this times l."""
    return 1 + complement * complement / 4


def certificate_factor(m, complement):
    """What the difference is divided by in both certificates."""
    return complement * complement if complement < 0.7 else m.number(1)


def lower_certificate(m, complement):
    """K - l, up to k' = 0.7 divided by k'^2: the first terms of K = sum_n c_n^2 k'^{2n} (l - d_n) (DLMF 19.12.1), all
    positive since d_n < log 4 <= l.
    """
    if not complement < 0.7:
        return first_kind(m, complement) - logarithm(m, complement)
    head, _ = _series(m, complement)
    return (logarithm(m, complement) - 1) / 4 + head


def upper_certificate(m, complement):
    """(1 + k'^2 / 4) l - K, up to k' = 0.7 divided by k'^2: there l/4 less the term (l - 1)/4 is 1/4 exactly, and the
    rest of the series is at most its first terms plus a geometric tail.
    """
    if not complement < 0.7:
        return factor(m, complement) * logarithm(m, complement) - first_kind(m, complement)
    head, tail = _series(m, complement)
    return m.number("1/4") - head - tail


def _series(m, complement, terms: int = 8) -> tuple[Any, Any]:
    """Terms n = 2 ... 8 of the series over k'^2, and a bound for the others: c_n and l - d_n decrease."""
    q, power, total, tail = complement * complement, 1, 0, 0
    central, harmonic = Fraction(1, 4), Fraction(1)
    for n in range(2, terms + 1):
        central *= Fraction(2 * n - 1, 2 * n) ** 2
        harmonic += Fraction(2, (2 * n - 1) * (2 * n))
        power = power * q
        term = m.number(central) * power * (logarithm(m, complement) - m.number(harmonic))
        total, tail = total + term, term * q / (1 - q)
    return total, tail
