"""`verify/proof_checker.py`: its functions and slopes against mpmath and exact fractions."""

from __future__ import annotations

import random
from fractions import Fraction

import mpmath
import pytest

from dpbounds.elliptic import digits
from tests.verify.proof_files import mills
from verify import proof_checker as pc

M = pc.Intervals(112)


def number(end):
    return mpmath.ldexp(mpmath.mpf(end[0]), end[1])


def drawn(rng, low, high, *, positive=False):
    """An end of 1 to 112 bits whose size is between 2^low and 2^high."""
    m = rng.getrandbits(rng.choice((1, 2, 20, 53, 112))) | 1
    sign = 1 if positive or rng.random() < 0.5 else -1
    return sign * m, rng.randint(low, high) - m.bit_length()


# Function, its oracle, exponents of its operands, whether they are positive, how many; and units in the last place.
FUNCTIONS = (
    ("exp", mpmath.exp, (-300, 15), False, 2500, 8),
    ("log", mpmath.log, (-2000, 2000), True, 2500, 8),
    ("sqrt", mpmath.sqrt, (-2000, 2000), True, 2500, 4),
    ("mills", mills, (-200, 6), False, 1250, 64),
    ("integral_inverse", lambda a: 4 * mpmath.ellipk((1 - a) ** 2), (-150, 0), True, 1250, 100),
)
RIMS = {
    "exp": ((0, 0), (1, -100_000), (-1, -100_000), (-1, 40), (1, 20), (-1, 20)),
    "log": ((1, 0), ((1 << 112) - 1, -112), ((1 << 111) + 1, -111), (7, -3), (1, -(1 << 40)), (1, 1 << 40)),
    "sqrt": ((0, 0), (1, 0), (2, 0), (1, -(1 << 40)), ((1 << 112) - 1, 3)),
    "mills": ((0, 0), (1, -(1 << 20)), (-1, -(1 << 20)), (15, 0), (31, -1), (-15, 0), (63, 0)),
    "integral_inverse": ((1, 0), ((1 << 112) - 1, -112), (1, -5000)),
}


@pytest.mark.parametrize(("name", "oracle", "exponents", "positive", "count", "units"), FUNCTIONS)
def test_functions_at_all_exponents(name, oracle, exponents, positive, count, units):
    rng = random.Random(name)
    with mpmath.workdps(110):
        for _ in range(count):
            end = drawn(rng, *exponents, positive=positive)
            low, high = map(number, M.of(name, (end, end)))
            true = oracle(number(end))
            assert low <= true <= high and high - low <= units * abs(true) * mpmath.mpf(2) ** -112, end


@pytest.mark.parametrize("name", RIMS)
def test_functions_at_the_rims(name):
    oracles = {function: oracle for function, oracle, *_ in FUNCTIONS}
    oracles["mills"] = lambda t: mills(t) if abs(t) < 100 else 1 / t - 1 / t**3
    oracles["integral_inverse"] = lambda a: 2 * mpmath.pi / mpmath.agm(1, mpmath.sqrt(a * (2 - a)))
    for end in RIMS[name]:
        with mpmath.workdps(1600 if name == "integral_inverse" else 200):
            low, high = map(number, M.of(name, (end, end)))
            assert low <= oracles[name](number(end)) <= high, end


def test_what_is_outside_a_domain_is_refused():
    outside = (("log", (0, 0)), ("log", (-1, 0)), ("sqrt", (-1, -900)), ("exp", (1, 60)), ("integral_inverse", (0, 0)))
    for name, end in (*outside, ("mills", (1, 300)), ("integral_inverse", (5, -2)), ("inverse", (0, 0))):
        with pytest.raises(pc.Refused):
            M.of(name, (end, end))


def test_the_ratio_of_two_integrals():
    rng = random.Random(1)
    for _ in range(40):
        a, b = drawn(rng, -200, 0, positive=True), drawn(rng, -200, 0, positive=True)
        with mpmath.workdps(60):
            true = digits.integral_ratio(number(a), number(b))
            low, high = map(number, M.of("integral_ratio", (a, a), (b, b)))
            assert low <= true <= high and high - low <= true * 1e-30


def test_intervals_hold_their_points():
    """The value over an interval meets that at a point of it, for random intervals."""
    rng = random.Random(2)
    names = ("neg", "absolute", "sqrt", "exp", "log", "mills", "integral_inverse", "inverse")
    names += ("add", "sub", "mul", "div", "minimum", "maximum", "power", "whole_power")
    for turn in range(4000):
        name, n = names[turn % len(names)], rng.randint(-3, 6)
        wide, thin = [], []
        for _ in range(1 if turn % len(names) < 8 else 2):
            low, high = sorted(Fraction(rng.randint(-200, 200), 1 << rng.randint(0, 12)) for _ in range(2))
            wide.append((M.ratio(low)[0], M.ratio(high)[1]))
            thin.append(M.ratio(low + (high - low) * Fraction(rng.randint(0, 64), 64)))
        try:
            if name == "whole_power":
                (low, high), (least, most) = M.whole_power(wide[0], n), M.whole_power(thin[0], n)
            else:
                (low, high), (least, most) = M.of(name, *wide), M.of(name, *thin)
        except pc.Refused:
            continue
        assert number(low) <= number(most) and number(least) <= number(high)


STEPS = (
    [["variable", 0], ["variable", 1], ["log", 0], ["mul", 2, 1], ["sqrt", 1], ["div", 3, 4]],
    [["variable", 0], ["variable", 1], ["power", 0, 1], ["exp", 1], ["sub", 2, 3], ["absolute", 4], ["neg", 5]],
    [["variable", 0], ["variable", 1], ["mills", 0], ["integral_inverse", 1], ["maximum", 2, 3], ["minimum", 4, 2]],
    [["variable", 0], ["variable", 1], ["whole_power", 0, -3], ["integral_inverse", 1], ["mul", 2, 3], ["log", 4]],
    [["variable", 0], ["variable", 1], ["integral_ratio", 1, 0], ["whole_power", 2, 2], ["add", 3, 1]],
    [["variable", 0], ["variable", 1], ["integral_ratio", 0, 1], ["number", "1/3"], ["power", 2, 3]],
)


@pytest.mark.parametrize("steps", STEPS)
def test_slopes_hold_difference_quotients(steps):
    """Over a box the slope holds the quotient of any two of its points along a side."""
    rng, wide = random.Random(str(steps)), pc.Intervals(200)
    program = pc.Program([*steps, ["number", "0"]], ["x", "y"])
    top = len(steps) - 1
    for _ in range(40):
        corner = [Fraction(rng.randint(8, 56), 64) for _ in range(2)]
        width = Fraction(1, 1 << rng.randint(5, 40))
        box = [(wide.ratio(low)[0], wide.ratio(low + width)[1]) for low in corner]
        slopes = program.slopes(wide, program.values(wide, box, {}), top, top + 1)
        for k in range(2):
            ends = [[x + width * (j == k) * share for j, x in enumerate(corner)] for share in (0, 1)]
            values = [program.values(wide, [wide.ratio(x) for x in end], {})[top] for end in ends]
            low, high = map(number, wide.div(wide.sub(values[1], values[0]), wide.ratio(width)))
            assert number(slopes[k][0]) <= high and low <= number(slopes[k][1])
