"""Rational functions in s against their values by fractions."""

from __future__ import annotations

import fractions

import flint
import numpy as np
import pytest
from flint import fmpq, fmpq_poly

from dpbounds.circle.polynomials import Fraction, exact, in_sine


def test_floats_are_the_rationals_that_they_are():
    for value in (0.1, -3.5, 2.0**-60):
        rational = exact(value)
        assert fractions.Fraction(int(rational.p), int(rational.q)) == fractions.Fraction(value)


def test_real_parts_on_the_circle():
    laurent = {-2: 0.25, 0: 3.0, 1: -1.5, 2: 0.5}
    polynomial = in_sine({k: exact(value) for k, value in laurent.items()})
    for omega in (0.0, 0.3, 2.0, np.pi):
        s = float(np.sin(omega / 2) ** 2)
        real_part = sum(value * np.cos(k * omega) for k, value in laurent.items())
        assert float(polynomial(exact(s)).p) / float(polynomial(exact(s)).q) == pytest.approx(real_part, abs=1e-12)


def test_a_wide_ball_holds_its_points_tightly():
    ratio = Fraction(numerator=fmpq_poly([1, 0, 2]), denominator=fmpq_poly([3, 1]))
    assert ratio.degree == 2
    with flint.ctx.workprec(100):
        wide = ratio.at(flint.arb(0.5, 0.1))
        for s in (0.4, 0.45, 0.6):
            assert wide.contains(
                flint.arb((1 + 2 * fmpq(*s.as_integer_ratio()) ** 2) / (3 + fmpq(*s.as_integer_ratio())))
            )
        assert float(wide.rad()) < 0.1
