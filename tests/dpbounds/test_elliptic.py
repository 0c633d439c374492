"""Oracles: quadrature (no elliptic functions), Arb's Carlson forms, scipy's and mpmath's Legendre forms."""

from __future__ import annotations

import subprocess
import sys
from itertools import product
from typing import Any

import flint
import mpmath
import numpy as np
import pytest
import scipy.special
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

from dpbounds import AccuracyError, DomainError, arithmetic, elliptic
from dpbounds.elliptic import balls, digits
from dpbounds.elliptic.quadrature import enclosed_integral

CORNERS = [1e-12, 1e-6, 0.01, 0.3, 0.9, 1 - 1e-6, 1 - 1e-12, 1.0]
# Log-spaced towards both ends of (0, 1).
SMALL = st.floats(-12, -0.302).map(lambda power: 10**power)
UNIT = SMALL | SMALL.map(lambda small: 1 - small)
NOT_INTEGRABLE = [lambda s: 1 / s, lambda s: s**-0.5]
NOT_FOR_TRAPEZOIDS = [lambda s: abs(s - 0.3), lambda s: (1e-100 + s) ** -2]


def unit_draws(rng: np.random.Generator, size: int) -> np.ndarray:
    small = 10 ** rng.uniform(-12, np.log10(0.5), size)
    return np.where(rng.random(size) < 0.5, small, 1 - small)


def relative_error(value: float, exact: Any) -> float:
    return float(abs(mpmath.mpf(value) / exact - 1))


def squared(a, s):
    """E_a² at s = sin²(ω/2)."""
    return a * a + 4 * (1 - a) * s


@pytest.fixture(autouse=True)
def fifty_digits():
    with mpmath.workdps(50), flint.ctx.workprec(200):
        yield


# Quadrature, against integrals known without elliptic functions.


@pytest.mark.parametrize("b", [1e-12, 1e-5, 0.3, 1.0])
def test_quadrature_of_elementary_integrals(b: float):
    assert abs(elliptic.integral(lambda s: 1 / squared(b, s)) * b * (2 - b) / (2 * np.pi) - 1) < 1e-14
    assert abs(elliptic.integral(lambda s: np.log(squared(b, s)))) < 1e-12
    assert abs(elliptic.integral(lambda s: 1 - 2 * s)) < 1e-14
    with mpmath.workdps(30):
        exact_b = mpmath.mpf(b)
        exact = 2 * mpmath.pi / (exact_b * (2 - exact_b))
        assert relative_error(digits.integral(lambda s: 1 / squared(exact_b, s)), exact) < 1e-29
        assert abs(digits.integral(lambda s: mpmath.log(squared(exact_b, s)))) < 1e-28


def test_quadrature_is_vectorised():
    b = np.array([[0.1, 0.2], [0.3, 1e-9]])
    values = elliptic.integral(lambda s: 1 / squared(b, s))
    np.testing.assert_allclose(values, 2 * np.pi / (b * (2 - b)), rtol=1e-14)


@pytest.mark.parametrize("f", NOT_INTEGRABLE + NOT_FOR_TRAPEZOIDS)
def test_quadrature_refuses_what_it_cannot_do(f):
    with pytest.raises(AccuracyError, match="integral"):
        elliptic.integral(f)
    with mpmath.workdps(8), pytest.raises(AccuracyError, match="integral"):
        digits.integral(f)


# The two integrals, floats and digits.


@pytest.mark.parametrize(("a", "b"), [(0.3, 1e-3), (1e-12, 0.7), (0.9, 1e-12), (1e-7, 1e-7), (1.0, 0.999)])
def test_digits_agree_with_quadrature(a: float, b: float):
    with mpmath.workdps(25):
        a, b = mpmath.mpf(a), mpmath.mpf(b)
        inverse = digits.integral(lambda s: squared(a, s) ** -0.5)
        ratio = digits.integral(lambda s: mpmath.sqrt(squared(a, s)) / squared(b, s))
        assert relative_error(inverse, digits.integral_inverse(a)) < 1e-24
        assert relative_error(ratio, digits.integral_ratio(a, b)) < 1e-24


def test_floats_agree_with_quadrature():
    rng = np.random.default_rng(1)
    a, b = unit_draws(rng, 300), unit_draws(rng, 300)
    inverse = elliptic.integral(lambda s: 1 / np.sqrt(squared(a, s)))
    ratio = elliptic.integral(lambda s: np.sqrt(squared(a, s)) / squared(b, s))
    np.testing.assert_allclose(elliptic.integral_inverse(a), inverse, rtol=2e-14)
    np.testing.assert_allclose(elliptic.integral_ratio(a, b), ratio, rtol=2e-14)


@settings(derandomize=True, deadline=None, max_examples=300)
@given(UNIT, UNIT)
def test_floats_agree_with_50_digits(a: float, b: float):
    assert relative_error(elliptic.integral_ratio(a, b), digits.integral_ratio(a, b)) < 3e-15
    assert relative_error(elliptic.integral_inverse(a), digits.integral_inverse(a)) < 1e-15


def test_floats_lie_in_carlson_enclosures():
    rng = np.random.default_rng(2)
    a, b = unit_draws(rng, 1000), unit_draws(rng, 1000)
    b[:200] = a[:200] * (1 + 10 ** rng.uniform(-15, -1, 200))
    a, b = np.append(a, 2 * CORNERS), np.append(np.minimum(b, 1), CORNERS + CORNERS[::-1])
    for x, y, value in zip(a, b, elliptic.integral_ratio(a, b), strict=True):
        exact = balls.integral_ratio(float(x), float(y))
        assert abs(float((arb(float(value)) / exact - 1).mid())) < 3e-15
        assert not exact.overlaps(arb(float(value)) * (1 + arb("1e-12")))


@pytest.mark.parametrize("bits", [53, 700])
@pytest.mark.parametrize(("a", "b"), [("1e-60", "0.5"), ("0.5", "1e-60"), ("1e-60", "1e-30"), ("1e-300", "1e-300")])
def test_digits_and_balls_far_out_and_at_any_precision(a: str, b: str, bits: int):
    with flint.ctx.workprec(bits), mpmath.workprec(bits):
        for ours, ball in (
            (digits.integral_ratio(a, b), balls.integral_ratio(arb(a), arb(b))),
            (digits.integral_inverse(a), balls.integral_inverse(arb(a))),
        ):
            difference = (arb(mpmath.nstr(ours, 250)) / ball - 1).abs_upper()
            assert difference < arb(2) ** (10 - bits)


def test_extreme_ratios_and_equal_arguments():
    for a, b in product((1e-12, 1e-11, 0.1, 0.999), repeat=2):
        assert relative_error(elliptic.integral_ratio(a, b), digits.integral_ratio(a, b)) < 3e-15
    a = np.array(CORNERS)
    np.testing.assert_allclose(elliptic.integral_ratio(a, a), elliptic.integral_inverse(a), rtol=2e-15)


def test_limits():
    a = np.array(CORNERS)
    u = a / (2 - a)
    np.testing.assert_allclose(elliptic.integral_ratio(1, a), 2 * np.pi / (a * (2 - a)), rtol=2e-15)
    perimeter = 4 * (2 - a) * scipy.special.ellipe((1 - u) * (1 + u))
    np.testing.assert_allclose(elliptic.integral_ratio(a, 1), perimeter, rtol=2e-15)
    for module in (elliptic, digits):
        assert float(module.integral_ratio(1, 1)) == pytest.approx(2 * np.pi, rel=1e-15)
        assert float(module.integral_inverse(1)) == pytest.approx(2 * np.pi, rel=1e-15)
        assert float(module.integral_ratio(0, 1)) == pytest.approx(8, rel=1e-15)


def test_zero_numerator_argument_is_elementary():
    for b in CORNERS[:-1]:
        exact_b = mpmath.mpf(b)
        q = mpmath.sqrt(1 - (exact_b / (2 - exact_b)) ** 2)
        exact = 8 / (2 - exact_b) ** 2 * mpmath.atanh(q) / q
        assert relative_error(elliptic.integral_ratio(0, b), exact) < 3e-15
        # artanh loses 24 digits at b = 1e-12.
        assert relative_error(digits.integral_ratio(0, b), exact) < 1e-25
        assert abs(float((balls.integral_ratio(0, b) / arb(mpmath.nstr(exact, 45)) - 1).mid())) < 1e-25


# Identities that tie the integrals to the Legendre forms, at 50 digits.


@settings(derandomize=True, deadline=None, max_examples=60)
@given(UNIT, UNIT)
def test_legendre_forms(a: float, b: float):
    inverse, ratio = digits.integral_inverse(a), digits.integral_ratio(a, b)
    # The modulus and characteristic lose 50 digits where a or b is 1e-12.
    with mpmath.workdps(105):
        a, b = mpmath.mpf(a), mpmath.mpf(b)
        k = mpmath.sqrt(1 - a) / (1 - a / 2)
        assert relative_error(4 * mpmath.ellipk((1 - a) ** 2), inverse) < 1e-49
        assert relative_error(4 / (2 - a) * mpmath.ellipk(k * k), inverse) < 1e-49  # Landen
        characteristic = 1 - (a * (1 - b / 2) / (b * (1 - a / 2))) ** 2
        third_kind = 2 * a**2 / (b**2 * (1 - a / 2)) * mpmath.ellippi(characteristic, k * k)
        assert relative_error(third_kind, ratio) < 1e-49


@settings(derandomize=True, deadline=None, max_examples=100)
@given(UNIT, UNIT)
def test_ratio_is_bounded_by_its_value_at_the_other_end(a: float, b: float):
    bound = ((2 - a) / (2 - b)) ** 2 * elliptic.integral_inverse(a)
    assert (elliptic.integral_ratio(a, b) - bound) * np.sign(a - b) >= -1e-14 * bound


# K, E, Pi.


def test_modulus_not_parameter():
    assert elliptic.K(0.5) == pytest.approx(scipy.special.ellipk(0.25), rel=1e-15)
    assert elliptic.E(0.5) == pytest.approx(scipy.special.ellipe(0.25), rel=1e-15)
    assert elliptic.Pi(0.3, 0.5) == pytest.approx(float(mpmath.ellippi(0.3, 0.25)), rel=1e-15)
    assert abs(elliptic.K(0.5) / scipy.special.ellipk(0.5) - 1) > 0.05


@pytest.mark.parametrize("k", [0.0, 1e-9, 0.3, 0.999, 1 - 1e-12])
def test_legendre_functions(k: float):
    m = mpmath.mpf(k) ** 2
    pairs = [(elliptic.K, digits.K, balls.K, mpmath.ellipk(m)), (elliptic.E, digits.E, balls.E, mpmath.ellipe(m))]
    for floats, precise, ball, exact in pairs:
        assert relative_error(floats(k), exact) < 2e-15
        assert relative_error(precise(k), exact) < 1e-45
        assert abs(float((ball(k) / arb(mpmath.nstr(exact, 50)) - 1).abs_upper())) < 1e-45
    for n in (-1e12, -3.0, 0.0, 0.5, 1 - 1e-9):
        exact = mpmath.ellippi(n, m)
        assert relative_error(elliptic.Pi(n, k), exact) < 2e-15
        assert relative_error(digits.Pi(n, k), exact) < 1e-38
        assert abs(float((balls.Pi(n, k) / arb(mpmath.nstr(exact, 50)) - 1).abs_upper())) < 1e-38


def test_second_kind_at_one():
    assert elliptic.E(1) == digits.E(1) == 1
    assert balls.E(1).overlaps(arb(1)) and float(balls.E(1).rad()) < 1e-50


# Enclosures.


def box(low: float, high: float) -> arb:
    return arb(low).union(arb(high))


@settings(derandomize=True, deadline=None, max_examples=150)
@given(UNIT, UNIT, UNIT, UNIT, st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=5, max_size=5))
def test_points_of_a_box_lie_in_the_enclosure(a0, a1, b0, b1, weights):
    ratio, inverse = balls.integral_ratio(box(a0, a1), box(b0, b1)), balls.integral_inverse(box(a0, a1))
    kind_one, kind_two, kind_three = balls.K(box(a0, a1)), balls.E(box(a0, a1)), balls.Pi(box(b0, b1), box(a0, a1))
    for s, t in [*weights, (0, 0), (0, 1), (1, 0), (1, 1)]:
        a, b = arb(a0) + (arb(a1) - a0) * s, arb(b0) + (arb(b1) - b0) * t
        assert ratio.contains(balls.integral_ratio(a, b).mid())
        assert inverse.contains(balls.integral_inverse(a).mid())
        assert kind_one.contains(balls.K(a).mid()) and kind_two.contains(balls.E(a).mid())
        assert kind_three.contains(balls.Pi(b, a).mid())


@settings(derandomize=True, deadline=None, max_examples=60)
@given(UNIT, UNIT, st.floats(-3, -0.5))
def test_enclosures_are_no_wider_than_stated(a: float, b: float, size: float):
    h = 10**size
    a1, b1 = min(a * (1 + h), 1), min(b * (1 + h), 1)
    values = elliptic.integral_ratio(np.linspace(a, a1, 30)[:, None], np.linspace(b, b1, 30))
    slack = (1 + a1 - a) * (1 + b1 - b) * (1 + 1e-6)
    enclosure = balls.integral_ratio(box(a, a1), box(b, b1))
    # Corners of the box are among the values, the extremes of the monotone part.
    assert float(enclosure.upper()) <= values.max() * slack
    assert float(enclosure.lower()) >= values.min() / slack
    thin = balls.integral_inverse(box(a, a1))
    # Arb keeps a radius to 30 bits.
    assert float(thin.upper()) == pytest.approx(elliptic.integral_inverse(a), rel=1e-8)
    assert float(thin.lower()) == pytest.approx(elliptic.integral_inverse(a1), rel=1e-8)


def test_a_box_of_many_decades_near_zero_is_enclosed_tightly():
    enclosure = balls.integral_ratio(box(1e-9, 1e-7), box(1e-8, 1e-7))
    values = elliptic.integral_ratio(np.logspace(-9, -7, 9)[:, None], np.logspace(-8, -7, 9))
    assert float(enclosure.lower()) == pytest.approx(values.min(), rel=1e-6)
    assert float(enclosure.upper()) == pytest.approx(values.max(), rel=1e-6)


def test_thin_enclosures_miss_wrong_values():
    with flint.ctx.workprec(128):
        for a, b in product(CORNERS, CORNERS):
            for ball in (balls.integral_ratio(a, b), balls.integral_inverse(a)):
                assert ball.rel_accuracy_bits() > 110
                assert not ball.contains(ball.mid() * (1 + arb("1e-12")))


def test_the_monotone_part_of_the_ratio():
    b = np.append(np.logspace(-8, -0.1, 60), np.linspace(0.8, 1, 60))
    for a in (0, 1e-6, 0.2, 0.9, 1):
        assert np.all(np.diff((2 - b) * elliptic.integral_ratio(a, b)) < 0)
        # One power less and it would be false: the integral itself turns near b = 1.
    assert np.any(np.diff(elliptic.integral_ratio(0.2, b)) > 0)


def test_balls_at_the_ends_of_the_domain():
    around_one = arb(1, 1e-30)
    assert balls.integral_inverse(around_one).contains(2 * arb.pi())
    assert balls.integral_ratio(around_one, around_one).contains(2 * arb.pi())
    assert not balls.integral_inverse(arb(0.1, 0.1)).is_finite()
    assert not balls.integral_ratio(arb(0.5), arb(0.1, 0.1)).is_finite()
    assert balls.integral_ratio(arb(0.1, 0.1), arb(0.5)).is_finite()
    assert not balls.K(arb(0.9, 0.2)).is_finite()
    assert not balls.Pi(arb(0.9, 0.2), arb(0.5)).is_finite()
    for nothing in (balls.integral_ratio(arb.nan(), 0.5), balls.integral_inverse(arb.nan()), balls.Pi(arb.nan(), 0.5)):
        assert not nothing.is_finite()


# Domains, shapes, imports.


@pytest.mark.parametrize("module", [elliptic, digits, balls])
@pytest.mark.parametrize(
    ("name", "arguments", "parameter"),
    [
        ("integral_inverse", (-0.1,), "a"),
        ("integral_inverse", (1.5,), "a"),
        ("integral_ratio", (1.5, 0.5), "a"),
        ("integral_ratio", (0.5, -1e-9), "b"),
        ("integral_ratio", (0.5, 1.5), "b"),
        ("K", (1.5,), "k"),
        ("K", (-0.5,), "k"),
        ("E", (1.5,), "k"),
        ("Pi", (1.5, 0.5), "alpha_squared"),
        ("Pi", (0.5, 1.5), "k"),
    ],
)
def test_outside_the_domain(module, name: str, arguments: tuple, parameter: str):
    with pytest.raises(DomainError, match=f"^{parameter} = "):
        getattr(module, name)(*arguments)


def test_singular_ends_and_bad_entries():
    for call in (
        lambda: elliptic.integral_inverse(0),
        lambda: elliptic.integral_ratio(0.5, 0),
        lambda: elliptic.K(1),
        lambda: elliptic.Pi(1, 0.5),
        lambda: elliptic.integral_ratio(float("nan"), 0.5),
        lambda: elliptic.integral_inverse("half"),
        lambda: elliptic.integral_ratio(0.5, 0.5j),
        lambda: digits.integral_inverse(0),
        lambda: digits.integral_ratio(0.5, 0),
        lambda: digits.K(1),
        lambda: digits.integral_ratio(mpmath.nan, 0.5),
    ):
        with pytest.raises(DomainError):
            call()
    with pytest.raises(DomainError, match=r"^b = 7\.0 "):
        elliptic.integral_ratio(np.full((2, 1), 0.5), [0.1, 7, 8])


def test_shapes():
    assert type(elliptic.integral_ratio(0.1, 0.2)) is float
    assert type(elliptic.integral_inverse(np.float64(0.1))) is float
    a, b = np.full((3, 1), 0.1), [0.2, 0.3]
    assert elliptic.integral_ratio(a, b).shape == elliptic.Pi(a, b).shape == (3, 2)
    assert elliptic.integral_ratio(a, b)[2, 1] == elliptic.integral_ratio(0.1, 0.3)
    assert elliptic.integral_inverse([]).shape == (0,)


def test_import_is_light():
    code = "import sys, dpbounds.elliptic; print(*sorted({'mpmath', 'flint', 'scipy'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == ""


@pytest.mark.parametrize("b", [0.1, 3.0, 400.0])
def test_the_enclosed_integral_holds_the_closed_form(b):
    """int 1 / (1 + b sin^2(omega / 2)) = 2 pi / sqrt(1 + b)."""
    with arithmetic.balls(100) as m:
        held = enclosed_integral(lambda s: 1 / (1 + m.number(b) * s))
        closed = 2 * m.pi / m.sqrt(1 + m.number(b))
        assert held.overlaps(closed) and held.contains(closed.mid())
        assert float(held.rad() / held.mid()) < 0.02
