"""Balls as numbers: exact while rational, certain or refused in comparisons, whatever is computed with them."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import ctx
from scipy import special

from verify.certain import Uncertain, Unsupported, numbers
from verify.certain.functions import BUILTINS, MATH, SPECIAL, bisected, divided, power, quotient
from verify.certain.making import array
from verify.certain.numbers import Ball, Work


@pytest.fixture(autouse=True)
def _precision():
    with ctx.workprec(numbers.PRECISION):
        yield


def test_rationals_stay_exact_and_a_written_number_is_what_is_written():
    assert Ball("0.1") + Ball("0.2") == Ball("0.3") and Ball(0.1) + Ball(0.2) != Ball(0.3)
    assert (Ball("0.1") / 3).exact.q == 30 and quotient(1, 3) * 3 == 1 and power(2, -3) * 8 == 1
    assert Ball(Fraction(9, 4)).sqrt().exact == Ball("1.5").exact


def test_numbers_that_the_balls_do_not_tell_apart_are_not_compared():
    root, again = Ball(2).sqrt(), Ball(8).sqrt() / 2
    for compare in (lambda: root < again, lambda: root == again, lambda: root >= again, lambda: bool(root - again)):
        with pytest.raises(Uncertain):
            compare()
    assert root == root and root < again + Ball("1e-40")
    assert BUILTINS["max"](root, again).value.overlaps(root.value)


@pytest.mark.parametrize("value", [Ball(2).sqrt(), Ball(3).exp()])
def test_what_would_lose_the_radius_is_refused(value):
    for use in (lambda: float(value), lambda: {value}, lambda: [1, 2][value]):
        with pytest.raises((Unsupported, TypeError)):
            use()


def test_whole_parts_and_rounding_are_certain():
    assert (int(Ball("2.5")), round(Ball("2.5")), round(Ball("3.5")), math.floor(Ball("-0.5"))) == (2, 2, 4, -1)
    assert round(Ball("2.345"), 2) == Ball("2.34") and math.ceil(Ball(2).sqrt()) == 2
    with pytest.raises(Uncertain):
        int((Ball(2).sqrt()) ** 2)


@pytest.mark.parametrize("use", [lambda x: x.sqrt(), lambda x: x.log(), lambda x: 1 / x, lambda x: x ** Ball("0.5")])
def test_a_ball_around_zero_has_no_root_logarithm_or_inverse(use):
    with pytest.raises(Uncertain):
        use(Ball(2).sqrt() - Ball(8).sqrt() / 2)


@pytest.mark.parametrize("name", ["exp", "log", "sqrt", "sin", "cos", "tanh", "expm1", "log1p", "erfc", "lgamma"])
def test_functions_hold_the_value(name):
    for text in ("1e-30", "0.3", "7.25", "41"):
        with mpmath.workdps(60):
            true = getattr(mpmath, {"lgamma": "loggamma"}.get(name, name))(mpmath.mpf(text))
            digits = mpmath.nstr(true, 55)
        error = Ball(Fraction(digits)) - getattr(MATH, name)(Ball(text))
        assert abs(error).value.lower() < 1e-50 * abs(true) and abs(error).value.upper() < 1e-40 * abs(true)


def test_a_root_lies_in_its_ball_and_a_bracket_without_a_change_of_sign_is_refused():
    root = bisected(lambda x: x * x - 2, 0, 2, xtol=1e-3)
    assert root > Ball("1.41421356237") and root < Ball("1.41421356238")
    with pytest.raises(Uncertain):
        bisected(lambda x: x * x + 1, 0, 2)


def test_division_in_place_changes_what_others_hold():
    rows = array([[2.0, 4.0], [1.0, 1.0]])
    first = rows[0]
    divided(first, 2)
    assert rows[0, 0] == 1 and rows[0, 1] == 2
    with pytest.raises(Unsupported):
        divided(np.array([1, 2]), 2)


def test_work_is_limited():
    with Work.limited(100), pytest.raises(Unsupported, match="more operations"):
        value = Ball(1)
        while True:
            value = value + 1
    assert Work.left == math.inf


@pytest.mark.parametrize("x", [0.05, 0.4, 0.9])
@pytest.mark.parametrize(
    "name",
    [
        "ndtr",
        "log_ndtr",
        "ndtri",
        "erf",
        "erfc",
        "erfcx",
        "erfinv",
        "ellipk",
        "gamma",
        "gammaln",
        "digamma",
        "expit",
        "gammainc",
        "gammaincc",
        "xlogy",
    ],
)
def test_special_functions_are_those_of_scipy(name, x):
    arguments = (2.5, x) if name in ("gammainc", "gammaincc", "xlogy") else (x,)
    ball = getattr(SPECIAL, name)(*arguments)
    assert ball.value.rad() < 1e-30 and math.isclose(ball.middle, getattr(special, name)(*arguments), rel_tol=1e-12)
