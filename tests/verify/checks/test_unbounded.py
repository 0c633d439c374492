"""When a quotient is said to grow without bound, and when not."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tests.verify.judging import evidence_of
from verify.checks import Unbounded

HALF = Fraction(1, 2)


def root(m, s):
    return m.sqrt(s) + 1 / s


def reduced_root(m, x):
    """1 + x^(3/2) >= 1."""
    return m.number(1)


def test_growth_at_all_scales_refutes_for_certain_and_tells_the_numbers():
    found = evidence_of(Unbounded(quotient=root, reduced=reduced_root, power=HALF, shown={"small": 4, "large": 64}))
    assert (found.outcome, found.how) == ("fails", "certified")
    assert found.counterexample == pytest.approx({"small": 2.25, "large": 8 + 1 / 64, "power": 0.5, "constant": 1.0})
    assert Unbounded(quotient=root, reduced=reduced_root, shown={"small": 4}).counterexample_names() == {
        "small",
        "power",
        "constant",
    }


@pytest.mark.parametrize(
    ("quotient", "reduced", "power"),
    [
        (lambda m, s: 2 - 1 / s, lambda m, x: m.number(1), HALF),  # bounded: the form is above it
        (root, lambda m, x: m.number("1.0001") + x * m.sqrt(x), HALF),  # 0.01 % above at large scales
        (lambda m, s: m.log(s) + 1, lambda m, x: x, HALF),  # nothing is proved at x = 0
        (lambda m, s: s - 3, lambda m, x: 1 - 3 * x, Fraction(1)),  # negative at the scale 1
        (root, lambda m, x: m.number("0.1"), Fraction(2, 3)),  # a power too much
    ],
)
def test_what_is_not_proved_is_unclear(quotient, reduced, power):
    found = evidence_of(Unbounded(quotient=quotient, reduced=reduced, power=power))
    assert found.outcome == "unclear" and found.needed
