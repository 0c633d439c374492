"""One formula on three arithmetics: they agree, and balls hold what points give."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction

import flint
import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

from dpbounds import AccuracyError, DomainError
from dpbounds.arithmetic import FLOATS, Arithmetic, balls, digits

REAL = st.floats(-20, 20)


def every_operation(m: Arithmetic, a, b):
    """A formula that uses every operation once, at 0 < a, b < 1."""
    k = m.sqrt(a / 2)
    elementary = m.exp(-a) + m.log(8 / a) + m.log1p(a) - m.expm1(-b) + m.sin(m.pi * a) * m.cos(b) + m.power(a, b)
    ordered = m.minimum(a, b) + 2 * m.maximum(a, b) + m.absolute(a - b) + m.power(a - b, 3) + m.number("1/3")
    complete = m.elliptic_k(k) + m.elliptic_e(k) + m.elliptic_pi(-b, k)
    return elementary + ordered + complete + m.integral_inverse(a) + m.integral_ratio(a, b)


def ends(ball) -> tuple[float, float]:
    return float(ball.lower()), float(ball.upper())


@pytest.mark.parametrize(("a", "b"), [("0.3", "0.001"), ("1e-9", "0.7"), ("0.99", "0.5")])
def test_three_arithmetics_agree(a: str, b: str):
    with digits(50) as m:
        precise = every_operation(m, m.number(a), m.number(b))
    floats = every_operation(FLOATS, FLOATS.number(a), FLOATS.number(b))
    assert floats == pytest.approx(float(precise), rel=1e-14)
    with balls(200) as m:
        ball = every_operation(m, m.number(a), m.number(b))
        assert ball.rel_accuracy_bits() > 160
        assert ball.overlaps(precise) and abs(precise / ball - 1) < 1e-48
        assert not ball.contains(ball.mid() * (1 + arb("1e-40")))


def test_elliptic_names_mean_what_they_say():
    with balls(128) as ball_arithmetic:
        for m, tolerance in ((FLOATS, 1e-15), (ball_arithmetic, 1e-36)):
            k, other = m.number("0.6"), m.number("0.8")
            K, E, K_other, E_other = m.elliptic_k(k), m.elliptic_e(k), m.elliptic_k(other), m.elliptic_e(other)
            # Legendre's relation for 0.6² + 0.8² = 1, and two definitions.
            assert m.absolute(E * K_other + E_other * K - K * K_other - m.pi / 2) <= 2 * tolerance
            assert m.absolute(m.elliptic_pi(0, k) - K) <= 2 * tolerance
            assert m.absolute(m.integral_inverse(m.number("0.4")) - 4 * K) <= 8 * tolerance


def test_floats_are_vectorised():
    a, b = np.array([[0.1], [0.2]]), np.array([0.3, 0.4, 0.5])
    table = every_operation(FLOATS, a, b)
    assert table.shape == (2, 3)
    assert table[1, 2] == pytest.approx(every_operation(FLOATS, 0.2, 0.5), rel=1e-15)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.floats(0.01, 0.9), st.floats(0.01, 0.9), st.floats(1e-9, 0.09), st.lists(st.floats(0, 1), min_size=8))
def test_a_box_encloses_its_points(a: float, b: float, width: float, weights: list[float]):
    with balls(128) as m:
        side = arb(width)
        ball = every_operation(m, arb(a).union(a + side), arb(b).union(b + side))
        assert ball.is_finite()
        for s, t in zip(weights[::2], weights[1::2], strict=False):
            assert ball.contains(every_operation(m, a + side * s, b + side * t).mid())


@settings(derandomize=True, deadline=None, max_examples=200)
@given(REAL, REAL, REAL, REAL, st.floats(0, 1), st.floats(0, 1), st.integers(0, 5))
def test_order_and_powers_of_balls_around_zero(x0, x1, y0, y1, s, t, n):
    with balls(64) as m:
        x, y = arb(x0).union(x1), arb(y0).union(y1)
        p, q = arb(x0) + (arb(x1) - x0) * s, arb(y0) + (arb(y1) - y0) * t
        assert m.minimum(x, y).contains(p.mid().min(q.mid()))
        assert m.maximum(x, y).contains(p.mid().max(q.mid()))
        assert m.absolute(x).contains(abs(p.mid()))
        assert m.power(x, n).contains(p.mid() ** n)


def test_order_of_balls_is_tight():
    with balls(64) as m:
        assert ends(m.absolute(arb(0.5, 1.5))) == pytest.approx((0, 2), abs=1e-8)
        assert ends(m.absolute(arb(-3, 1))) == pytest.approx((2, 4))
        assert ends(m.maximum(0, arb(0.5, 1.5))) == pytest.approx((0, 2), abs=1e-8)
        assert ends(m.minimum(arb(3, 1), arb(3, 2))) == pytest.approx((1, 4), abs=1e-8)
        assert ends(m.sqrt(arb(2, 2))) == pytest.approx((0, 2), abs=1e-8)
        assert not m.sqrt(-1).is_finite() and not m.log(arb(0, 1)).is_finite()


def test_numbers_are_exact_where_they_can_be():
    assert FLOATS.number("1/3") == FLOATS.number(Fraction(1, 3)) == 1 / 3
    assert FLOATS.number("1e-9") == 1e-9 and FLOATS.number([1, 2]).dtype == float
    with balls(128) as m:
        assert m.number(0.1).is_exact() and not m.number("0.1").is_exact()
        assert m.number("0.1").contains(arb("0.1").mid()) and not m.number("0.1").contains(m.number(0.1))
        assert m.number(arb(1, 2)).overlaps(arb(3)) and m.number(np.int64(7)) == 7


@pytest.mark.parametrize("bad", ["x", "1/0", float("nan"), float("inf"), ""])
def test_bad_numbers(bad):
    with balls() as ball_arithmetic:
        for m in (FLOATS, ball_arithmetic):
            with pytest.raises(DomainError, match=r"^number = "):
                m.number(bad)


def test_precisions_are_kept_apart():
    before = flint.ctx.prec
    with balls(64) as outer:
        with digits(100) as inner:
            assert inner.log(2).rel_accuracy_bits() > 332
            assert abs(inner.exp(inner.log(2)) - 2) < 1e-99
        assert 60 < outer.log(2).rel_accuracy_bits() < 70
        with pytest.raises(DomainError, match="precision"), balls(1):
            pass
    with pytest.raises(DomainError, match="precision"), digits(0):
        pass
    assert flint.ctx.prec == before


def test_balls_restore_the_precision_after_an_error():
    before = flint.ctx.prec
    with pytest.raises(DomainError, match=r"^b = "), balls(300) as m:
        m.integral_ratio(0.5, 2)
    assert flint.ctx.prec == before


def test_quadrature_is_an_oracle_for_floats_and_digits():
    with digits(40) as precise:
        for m, tolerance in ((FLOATS, 2e-14), (precise, 1e-38)):
            a, b = m.number("0.2"), m.number("1e-9")

            def ratio(s, m=m, a=a, b=b):
                return m.sqrt(a * a + 4 * (1 - a) * s) / (b * b + 4 * (1 - b) * s)

            exact = m.integral_ratio(a, b)
            assert abs(m.integral(ratio) / exact - 1) < tolerance
            assert abs(m.integral(ratio) / m.integral_ratio(a, 2 * b) - 1) > 0.1
        for m in (FLOATS, precise):
            with pytest.raises(AccuracyError):
                m.integral(lambda s, m=m: m.absolute(s - 0.3))
    with balls() as m, pytest.raises(DomainError, match="integral"):
        m.integral(lambda s: s)


def test_heavy_libraries_load_when_used():
    code = "import sys, dpbounds.arithmetic; print(*sorted({'mpmath', 'flint'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == ""


# What it is for: 4 K(1 − a) ≤ 2π / log 8 · log(8 / a), certified by bisection; with 1 % less it fails.


def margin(m: Arithmetic, a, constant="1"):
    return m.number(constant) * 2 * m.pi / m.log(8) * m.log(8 / a) - m.integral_inverse(a)


def certified(m: Arithmetic, low, high, constant: str, boxes: int = 2000) -> bool:
    pending = [(m.number(low), m.number(high))]
    for _ in range(boxes):
        if not pending:
            return True
        left, right = pending.pop()
        if not margin(m, left.union(right), constant) > 0:
            middle = m.sqrt(left * right).mid()
            pending += [(left, middle), (middle, right)]
    return False


def test_bisection_certifies_an_inequality_and_not_a_false_one():
    with balls(64) as m:
        assert certified(m, "1e-12", "0.99", "1")
        assert not certified(m, "1e-12", "0.99", "0.99")
        assert certified(m, "1e-12", "0.5", "0.99")
    assert np.all(margin(FLOATS, np.logspace(-12, 0, 1000)) > -1e-14)
    assert np.any(margin(FLOATS, np.logspace(-12, 0, 1000), "0.99") < 0)
    with digits(50) as m:
        assert abs(margin(m, m.number(1))) < 1e-48
