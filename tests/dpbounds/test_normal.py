"""The normal distribution in floats and balls against mpmath at 50 digits and more, far into both tails."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from dpbounds import AccuracyError
from dpbounds.arithmetic import FLOATS, balls, digits
from dpbounds.normal import inverse

POINTS = ["-1000", "-40", "-8.5", "-1", "-0.3", "0", "1e-20", "0.7", "1", "3", "40", "1000"]
PROBABILITIES = ["1e-300", "1e-20", "0.001", "0.3", "0.5", "0.9", "0.999999999999"]


def ball_of(number) -> arb:
    return arb(mpmath.nstr(number, 60))


def by_mpmath(x: str):
    """Φ, log Φ and M at x in 70 digits, through erfc."""
    with mpmath.workdps(70):
        t = mpmath.mpf(x)
        lower, upper = mpmath.erfc(-t / mpmath.sqrt(2)) / 2, mpmath.erfc(t / mpmath.sqrt(2)) / 2
        return {
            "ndtr": lower,
            "log_ndtr": mpmath.log(lower) if t <= 0 else mpmath.log1p(-upper),
            "mills": upper / mpmath.npdf(t),
        }


@pytest.mark.parametrize("x", POINTS)
def test_fifty_digits(x):
    truths = by_mpmath(x)
    with digits(50) as m:
        for name, truth in truths.items():
            value = getattr(m, name)(x)
            assert abs(value / ball_of(truth) - 1) < 1e-48, name


@pytest.mark.parametrize("x", POINTS)
def test_floats(x):
    for name, truth in by_mpmath(x).items():
        with np.errstate(all="ignore"):
            value = float(getattr(FLOATS, name)(float(x)))
        if 1e-300 < abs(truth) < 1e300:
            assert abs(value / truth - 1) < 1e-13, name


@pytest.mark.parametrize("p", PROBABILITIES)
def test_the_inverse_is_bracketed(p):
    with digits(50) as m:
        x = m.ndtri(p)
        assert m.ndtr(x).overlaps(m.number(p))
        with digits(80) as finer:
            assert finer.log_ndtr(x.lower()) < finer.log(p) < finer.log_ndtr(x.upper())
        assert float(x.rad()) < (1e-48 if float(p) <= 0.5 else 1e-40) * max(1.0, abs(float(x)))
        of_float = float(m.ndtri(float(p)))  # near 1 it is not that of the decimal
        assert float(FLOATS.ndtri(float(p))) == pytest.approx(of_float, rel=1e-12, abs=1e-16)


def test_the_inverse_by_the_roots_of_mpmath():
    with mpmath.workdps(60):
        root = mpmath.findroot(
            lambda x: mpmath.log(mpmath.erfc(-x / mpmath.sqrt(2)) / 2) - mpmath.log("1e-300"), -37.05
        )
        with digits(50) as m:
            assert abs(m.ndtri("1e-300") / ball_of(root) - 1) < 1e-48


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.floats(-45, 45), st.floats(1e-9, 3), st.lists(st.floats(0, 1), min_size=3))
def test_wide_balls_hold_their_points_and_no_more(x, width, shares):
    with balls(128) as m:
        low, high = m.number(x), m.number(x) + m.number(width)
        for function in (m.ndtr, m.log_ndtr, m.mills):
            wide = function(low.union(high))
            for share in shares:
                assert wide.contains(function((low + (high - low) * share).mid()).mid())
            ends = function(low).union(function(high))
            assert float((wide.rad() - ends.rad()).upper()) <= 1e-6 * float(ends.rad())


def test_wide_balls_of_the_inverse_and_what_is_not_finite():
    with balls(128) as m:
        wide = m.ndtri(m.number("0.1").union(m.number("0.4")))
        assert wide.contains(m.ndtri("0.2")) and not wide.contains(m.ndtri("0.41"))
        for p in (0, 1, -1, arb(0.01, 0.02), arb(0.99, 0.02)):
            assert not m.ndtri(p).is_finite()
        assert not m.ndtr(arb.nan()).is_finite()


def test_logarithms_beyond_every_exponent():
    with balls(128) as m:
        far = m.log_ndtr("-1e30")
        assert abs(far / arb("-5e59") - 1) < 1e-30
        assert m.log_ndtr("-1e-30") > m.log_ndtr("-1e-29")


def test_brackets_of_other_functions():
    before = ctx.prec
    with balls(100):
        root = inverse(lambda x: x * x * x, arb(2), 1.3)
        assert (root * root * root).contains(2) and float(root.rad()) < 1e-28
        with pytest.raises(AccuracyError, match="no bracket"):
            inverse(lambda x: x * 0, arb(2), 1.0)
    assert ctx.prec == before
