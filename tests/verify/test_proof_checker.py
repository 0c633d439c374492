"""`verify/proof_checker.py` against mpmath, exact fractions, and files that were changed."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import mpmath
import pytest

from dpbounds.elliptic import digits
from verify import proof_checker as pc

M = pc.Intervals(112)
CHECKER = Path(pc.__file__)


def number(end):
    return mpmath.ldexp(mpmath.mpf(end[0]), end[1])


def drawn(rng, low, high, *, positive=False):
    """An end of 1 to 112 bits whose size is between 2^low and 2^high."""
    m = rng.getrandbits(rng.choice((1, 2, 20, 53, 112))) | 1
    sign = 1 if positive or rng.random() < 0.5 else -1
    return sign * m, rng.randint(low, high) - m.bit_length()


def mills(t):
    return mpmath.sqrt(mpmath.pi / 2) * mpmath.exp(t * t / 2) * mpmath.erfc(t / mpmath.sqrt(2))


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


# --- files ---


def common(kind, check=0, **rest):
    known = {"format": pc.FORMAT, "kind": kind, "claim": "a/b", "form": "printed", "check": check}
    return {**known, "code": "0", "statement": "a statement", **rest}


BOXES = common(
    "boxes", 0, variables=[["x", "1/1000", "1", "log"]], smaller=1, larger=3, bits=112, cuts="00v0v0vvv",
    steps=[["variable", 0], ["log", 0], ["number", "-9/10"], ["sub", 0, 2]],
)  # fmt: skip
TIED = common(
    "boxes", 1, variables=[["x", "1/8", "1", "linear"], ["n", "1", "9", "log"]], smaller=4, larger=5, bits=112,
    cuts="v", factor=6, certificate=7,
    steps=[
        ["variable", 0], ["variable", 1], ["number", "1"], ["power", 0, 1], ["mul", 0, 0], ["add", 4, 3], ["mul", 2, 2],
        ["power", 0, 1],
    ],
)  # fmt: skip
ZERO_CORNER = common(
    "boxes", 2, variables=[["x", "1/2", "1", "linear"]], smaller=1, larger=3, bits=112, cuts="z",
    steps=[["variable", 0], ["log", 0], ["number", "1"], ["sub", 0, 2]],
)  # fmt: skip
POINT = common(
    "point", 3, point=[["x", "2"]], bits=112, relations=[["<", 1, 0], ["!=", 1, 2]],
    steps=[["variable", 0], ["log", 0], ["number", "693/1000"]],
)  # fmt: skip
EXACT = common("exact", 4, point=[["x", "2/3"]], relations=[["=", 1, 2], ["<", 1, 0]],
               steps=[["variable", 0], ["mul", 0, 0], ["number", "4/9"]])  # fmt: skip
GENERIC = common(
    "generic", 5, variables=["x", "y"], equal=[[4, 7]],
    steps=[
        ["variable", 0], ["exp", 0], ["variable", 1], ["add", 1, 2], ["whole_power", 3, 2], ["mul", 1, 3],
        ["mul", 2, 3], ["add", 5, 6],
    ],
)  # fmt: skip
# (x - y)^2 + 3 x y = x^2 + y^2 + x y, and x - x = 0.
SIGN = common(
    "sign", 6, variables=["x", "y"], equal=[[12, 11]], nonnegative=[[8, 13]],
    steps=[
        ["variable", 0], ["variable", 1], ["sub", 0, 1], ["whole_power", 2, 2], ["mul", 0, 1], ["number", "3"],
        ["mul", 5, 4], ["mul", 0, 0], ["add", 3, 6], ["whole_power", 1, 2], ["add", 7, 9], ["number", "0"],
        ["sub", 0, 0], ["add", 10, 4],
    ],
)  # fmt: skip
# x^2 - 2 x y + 2 y^2 = (x - y)^2 + y^2 for all real x, y.
SQUARES = common(
    "squares", 7, variables=["x", "y"], squares=[[9, 12]],
    steps=[
        ["variable", 0], ["variable", 1], ["whole_power", 0, 2], ["mul", 0, 1], ["number", "2"], ["mul", 4, 3],
        ["whole_power", 1, 2], ["mul", 4, 6], ["sub", 2, 5], ["add", 8, 7], ["sub", 0, 1], ["whole_power", 10, 2],
        ["add", 11, 6],
    ],
)  # fmt: skip
# The integral of 1 / (1 + a u) over [0, 1] at a = 2 is log(3) / 2 = .549..., in four parts.
INTEGRAL = common(
    "integral", 8, point=[["a", "2"]], over="u", bits=112, relations=[["<", 6, 7], ["<", 8, 6], ["!=", 6, 0]],
    steps=[
        ["variable", 0], ["variable", 1], ["mul", 0, 1], ["number", "1"], ["add", 3, 2], ["div", 3, 4],
        ["integral", 5, "00dd0dd"], ["number", "3/5"], ["number", "1/2"],
    ],
)  # fmt: skip
ALL = (BOXES, TIED, ZERO_CORNER, POINT, EXACT, GENERIC, SIGN, SQUARES, INTEGRAL)


def put(folder, data):
    content = data if isinstance(data, bytes) else json.dumps(data).encode()
    name = pc.name_of(content)
    (folder / name).write_bytes(content)
    return name


def verdict_of(folder, data):
    name = put(folder, data)
    verdict = pc.Folder(folder).verdict(name)
    (folder / name).unlink()
    return verdict


@pytest.mark.parametrize("data", ALL, ids=lambda data: f"{data['kind']} {data['check']}")
def test_what_is_proved_is_accepted(tmp_path, data):
    verdict, said = verdict_of(tmp_path, data)
    assert verdict == "accepted", said


FALSE = (
    {**BOXES, "steps": [*BOXES["steps"][:2], ["number", "1000000001/1000000000"], BOXES["steps"][3]]},
    {**BOXES, "smaller": 3, "larger": 1},
    {**BOXES, "cuts": "00v0v0vv"},
    {**BOXES, "cuts": "00v0v0vvvv"},
    {**BOXES, "cuts": "v", "steps": [*BOXES["steps"][:2], ["number", "9/10"], BOXES["steps"][3]]},
    {**BOXES, "cuts": ""},
    {**BOXES, "cuts": "10vv"},
    {**BOXES, "cuts": "\u0660vv"},
    {**BOXES, "variables": [["x", "1", "1/1000", "log"]]},
    {**BOXES, "variables": [["x", "1/1000", "1", "log"]] * 2},
    {**BOXES, "variables": [["x", "0", "1", "log"]]},
    {**BOXES, "variables": [["x", 0.001, 1.0, "log"]]},
    {**BOXES, "bits": 10**9},
    {**BOXES, "bits": True},
    {**BOXES, "check": -1},
    {**BOXES, "extra": 1},
    {**BOXES, "format": "dpbounds-proof/1"},
    {**BOXES, "kind": "integral"},
    {**BOXES, "steps": [*BOXES["steps"][:1], ["integral", 0, "v"], *BOXES["steps"][2:]]},
    {**GENERIC, "steps": [["variable", 0], ["integral", 0, "v"], *GENERIC["steps"][2:]]},
    {**INTEGRAL, "relations": [["<", 7, 6]]},
    {**INTEGRAL, "relations": [["<=", 5, 7]]},
    {**INTEGRAL, "relations": [["<", 1, 7]]},
    {**INTEGRAL, "steps": [*INTEGRAL["steps"][:6], ["integral", 5, "v"], *INTEGRAL["steps"][7:]]},
    {**INTEGRAL, "steps": [*INTEGRAL["steps"][:6], ["integral", 5, "00dd"], *INTEGRAL["steps"][7:]]},
    {**INTEGRAL, "steps": [*INTEGRAL["steps"][:6], ["integral", 5, "00dd0ddd"], *INTEGRAL["steps"][7:]]},
    {**INTEGRAL, "steps": [*INTEGRAL["steps"][:6], ["integral", 5, "01dd0dd"], *INTEGRAL["steps"][7:]]},
    {**INTEGRAL, "steps": [*INTEGRAL["steps"][:6], ["integral", 5, 4], *INTEGRAL["steps"][7:]]},
    {**INTEGRAL, "steps": [*INTEGRAL["steps"][:6], ["integral", 6, "d"], *INTEGRAL["steps"][7:]]},
    {**INTEGRAL, "steps": [*INTEGRAL["steps"][:6], ["integral", 5, "d" * 6_000_000], *INTEGRAL["steps"][7:]]},
    {**INTEGRAL, "steps": [*INTEGRAL["steps"], ["integral", 5, "d"]]},
    {**INTEGRAL, "steps": [*INTEGRAL["steps"][:4], ["sub", 3, 2], *INTEGRAL["steps"][5:]]},
    {**INTEGRAL, "over": "a"},
    {**INTEGRAL, "over": ["u"]},
    {key: value for key, value in INTEGRAL.items() if key != "over"},
    {key: value for key, value in INTEGRAL.items() if key != "bits"},
    {**BOXES, "kind": ["boxes"]},
    {**BOXES, "steps": [["variable", 0], ["log", 1], *BOXES["steps"][2:]]},
    {**BOXES, "steps": [["variable", 0], ["log", True], *BOXES["steps"][2:]]},
    {**BOXES, "steps": [["variable", 0], ["_log", 0], *BOXES["steps"][2:]]},
    {**BOXES, "steps": [["variable", 0], ["least", 0], *BOXES["steps"][2:]]},
    {**BOXES, "steps": [["number", "1"]] * 6000},
    {**BOXES, "steps": [["variable", 0], ["whole_power", 0, 10**9], *BOXES["steps"][2:]]},
    {**BOXES, "steps": [["number", "nan"], *BOXES["steps"][1:]]},
    {**BOXES, "steps": [["number", "1/0"], *BOXES["steps"][1:]]},
    {**BOXES, "steps": [["number", "1/-3"], *BOXES["steps"][1:]]},
    {**BOXES, "steps": [["number", "9" * 5000], *BOXES["steps"][1:]]},
    {**TIED, "certificate": 3, "factor": 7},
    {**TIED, "factor": 2, "certificate": 5},
    {**ZERO_CORNER, "variables": [["x", "1/2", "9/8", "linear"]]},
    {**ZERO_CORNER, "steps": [*ZERO_CORNER["steps"][:2], ["number", f"{10**30 + 1}/{10**30}"], ["sub", 0, 2]]},
    {**POINT, "relations": [["<", 0, 1]]},
    {**POINT, "relations": [["=", 1, 2]]},
    {**POINT, "relations": [["<", 1, 1]]},
    {**POINT, "relations": []},
    {**POINT, "relations": [[["<"], 1, 0]]},
    {**EXACT, "relations": [["!=", 1, 2]]},
    {**EXACT, "steps": [["variable", 0], ["log", 0], ["number", "4/9"]]},
    {**GENERIC, "equal": [[4, 6]]},
    {**GENERIC, "equal": []},
    {**GENERIC, "equal": [[4, 7, 7]]},
    {**GENERIC, "equal": [[4, 8]]},
    {**SIGN, "nonnegative": [[12, 12]]},
    {**SIGN, "nonnegative": [[8, 10]]},
    {**SIGN, "nonnegative": [[2, 2]]},
    {**SIGN, "equal": [[8, 11]]},
    {**SIGN, "steps": [*SIGN["steps"][:5], ["number", "2"], *SIGN["steps"][6:]]},
    common("sign", 6, variables=["x"], nonnegative=[[1, 1]], steps=[["variable", 0], ["log", 0]]),
    common("sign", 6, variables=["x"], nonnegative=[[1, 1]], steps=[["variable", 0], ["number", "-1"]]),
    common("sign", 6, variables=["x"], nonnegative=[[2, 2]], steps=[["variable", 0], ["number", "0"], ["mul", 0, 1]]),
    common("sign", 6, variables=["x"], nonnegative=[[1, 1]], steps=[["variable", 0], ["neg", 0]]),
    {**SQUARES, "squares": [[9, 9]]},
    {**SQUARES, "squares": [[0, 0]]},
    {**SQUARES, "squares": [[5, 5]]},
    {**SQUARES, "squares": [[10, 10]]},
    {**SQUARES, "squares": [[9, 11]]},
    {**SQUARES, "squares": []},
    {**SQUARES, "steps": [*SQUARES["steps"][:11], ["whole_power", 10, 3], ["add", 11, 6]]},
    {**SQUARES, "steps": [*SQUARES["steps"][:11], ["whole_power", 10, 2], ["sub", 11, 6]]},
    {**SQUARES, "steps": [*SQUARES["steps"][:4], ["number", "-2"], *SQUARES["steps"][5:]]},
    common("squares", 7, variables=["x"], squares=[[1, 1]], steps=[["variable", 0], ["exp", 0]]),
    common("squares", 7, variables=["x"], squares=[[1, 1]], steps=[["variable", 0], ["whole_power", 0, -3]]),
    {**GENERIC, "steps": [*GENERIC["steps"][:4], ["whole_power", 3, 3], *GENERIC["steps"][5:]]},
    common("generic", 5, variables=["x"], equal=[[1, 0]], steps=[["variable", 0], ["absolute", 0]]),
    common("derivation", None, tree={"says": "it", "from": [{"lemma": "conjunction"}]}),
    common("derivation", None, tree={"says": "it", "from": [{"file": "0.json"}]}),
    common("derivation", None, tree={"says": "it", "from": [{"lemma": "it is plain"}]}),
)  # fmt: skip


@pytest.mark.parametrize("data", FALSE, ids=range(len(FALSE)))
def test_what_is_false_or_no_proof_is_refused(tmp_path, data):
    assert verdict_of(tmp_path, data)[0] == "refused"


def test_a_derivation_stands_and_falls_with_its_files(tmp_path, monkeypatch):
    files = [put(tmp_path, data) for data in (BOXES, GENERIC)]
    tree = {"says": "both", "from": [{"lemma": "conjunction"}, *({"file": name} for name in files)]}
    derivation = common("derivation", None, tree=tree)
    assert verdict_of(tmp_path, derivation)[0] == "accepted"
    false = put(tmp_path, {**BOXES, "check": 9, "smaller": 3, "larger": 1})
    bad = {**derivation, "tree": {"says": "both", "from": [{"file": false}]}}
    verdict, reason = verdict_of(tmp_path, bad)
    assert verdict == "refused" and false in reason
    deep = tree
    for _ in range(40):
        deep = {"says": "deeper", "from": [deep]}
    assert verdict_of(tmp_path, {**derivation, "tree": deep})[0] == "refused"
    # No file can name one that names it, as names are hashes: unless hashes are broken.
    monkeypatch.setattr(pc, "name_of", lambda content: f"{json.loads(content)['check']}.json")
    for check, other in ((1, 2), (2, 1)):
        rest = {"tree": {"says": "circle", "from": [{"file": f"{other}.json"}]}}
        (tmp_path / f"{check}.json").write_text(json.dumps(common("derivation", check, **rest)))
    verdict, reason = pc.Folder(tmp_path).verdict("1.json")
    assert verdict == "refused" and "itself" in reason


def floats(data, point):
    """The steps of a file in digits, None where they are not defined; an evaluation that shares nothing with it."""
    found = []
    plain = {
        "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "div": lambda x, y: x / y,
        "neg": lambda x: -x, "absolute": abs, "minimum": min, "maximum": max, "sqrt": mpmath.sqrt, "exp": mpmath.exp,
        "log": mpmath.log, "power": lambda x, y: x**y, "mills": mills,
        "integral_inverse": lambda a: 4 * mpmath.ellipk((1 - a) ** 2), "integral_ratio": digits.integral_ratio,
    }  # fmt: skip
    try:
        for name, *arguments in data["steps"]:
            if name == "number":
                found.append(mpmath.mpf(Fraction(arguments[0]).numerator) / Fraction(arguments[0]).denominator)
            elif name in ("variable", "pi"):
                found.append(point[arguments[0]] if arguments else mpmath.pi())
            elif name == "whole_power":
                found.append(found[arguments[0]] ** arguments[1])
            elif name == "integral":
                inside = {"steps": data["steps"][: arguments[0] + 1]}
                found.append(mpmath.quad(lambda u, inside=inside: floats(inside, [*point[:-1], u])[-1], [0, 1]))
            else:
                found.append(plain[name](*(found[k] for k in arguments)))
    except (ValueError, ZeroDivisionError, OverflowError):
        return None
    return None if any(mpmath.im(value) for value in found) else found


def is_false(data, rng):
    """Whether points in its box, or its point, show that what the file says is false."""
    with mpmath.workdps(40):
        if data["kind"] == "boxes":
            sides = [(Fraction(low), Fraction(high)) for _, low, high, _ in data["variables"]]
            for share in (*((Fraction(end),) * len(sides) for end in (0, 1)), *(None for _ in range(8))):
                shares = share or [Fraction(rng.random()) for _ in sides]
                point = [low + (high - low) * part for (low, high), part in zip(sides, shares, strict=True)]
                v = floats(data, [mpmath.mpf(x.numerator) / x.denominator for x in point])
                if v is None or v[data["smaller"]] > v[data["larger"]] + mpmath.mpf(10) ** -30:
                    return True
            return False
        if data["kind"] in ("generic", "sign", "squares"):
            lowest = 0 if "nonnegative" in data else -1  # a sign is of positive variables
            v = floats(data, [mpmath.mpf(rng.uniform(lowest, 1)) for _ in data["variables"]])
            signs = [*data.get("nonnegative", ()), *data.get("squares", ())]
            pairs = [*data.get("equal", ()), *signs]
            negative = v is not None and any(v[left] < -1e-30 for left, _ in signs)
            return negative or (v is not None and any(abs(v[left] - v[right]) > 1e-30 for left, right in pairs))
        point = [mpmath.mpf(Fraction(x).numerator) / Fraction(x).denominator for _, x in data["point"]]
        v = floats(data, [*point, *([mpmath.mpf(1) / 2] if "over" in data else [])])
        tiny = mpmath.mpf(10) ** -35
        holds = {"<": lambda x, y: x < y, "<=": lambda x, y: x <= y + tiny, "!=": lambda x, y: x != y,
                 "=": lambda x, y: abs(x - y) < tiny}  # fmt: skip
        return v is None or not all(holds[sign](v[i], v[j]) for sign, i, j in data["relations"])


def changed(data, rng):
    """A copy with one thing changed: a digit of a number, a step, an end of the box, the cuts, an index, a key."""
    data = json.loads(json.dumps(data))
    way, steps = rng.randrange(7), data["steps"]
    if way == 0:
        numbers = [step for step in steps if step[0] == "number"]
        for step in numbers[:1]:
            step[1] = str(Fraction(step[1]) + rng.choice((-1, 1)) * Fraction(1, 2 ** rng.randint(0, 60)))
    elif way == 1:
        rng.shuffle(steps)
    elif way == 2:
        step = rng.choice(steps)
        step[0] = rng.choice(("add", "sub", "mul", "div", "exp", "log", "neg", "sqrt", "minimum", "power", "mills"))
    elif way == 3 and data["kind"] == "boxes":
        side = rng.choice(data["variables"])
        side[rng.choice((1, 2))] = str(Fraction(rng.randint(-3, 40), rng.randint(1, 20)))
    elif way == 4 and "cuts" in data:
        place = rng.randrange(len(data["cuts"]) + 1)
        data["cuts"] = data["cuts"][:place] + rng.choice(("", "v", "d", "z", "0")) + data["cuts"][place + 1 :]
    elif way == 5:
        places = ("smaller", "larger", "equal", "nonnegative", "squares", "factor", "certificate", "bits")
        key = rng.choice([key for key in places if key in data] or ["check"])
        if isinstance(data[key], list):
            data[key][0][rng.randrange(2)] = rng.randrange(len(steps))
        else:
            data[key] = rng.randint(0, 130)
    else:
        del data[rng.choice(list(data))]
    return data


def test_of_2000_changed_files_none_that_is_false_is_accepted(tmp_path):
    rng, accepted = random.Random(3), 0
    for turn in range(2000):
        original = (*ALL, BOXES, POINT, SIGN)[turn % 12]
        if turn % 5 == 4:  # a byte of the file
            content = bytearray(json.dumps(original).encode())
            place = rng.randrange(len(content))
            content[place] ^= 1 << rng.randrange(7)
            data = bytes(content[: rng.choice((len(content), place))])
        else:
            data = changed(original, rng)
        verdict, _ = verdict_of(tmp_path, data)
        if verdict == "accepted":
            accepted += 1
            assert not is_false(json.loads(data) if isinstance(data, bytes) else data, rng), data
    assert 100 < accepted < 1000


def test_a_folder_names_what_it_refuses_and_exits_with_2(tmp_path):
    good = put(tmp_path, BOXES)

    def run(folder=tmp_path):
        return subprocess.run(
            [sys.executable, "-I", str(CHECKER), str(folder)], capture_output=True, text=True, check=False
        )

    accepted = run()
    assert accepted.returncode == 0 and f"{good}: accepted" in accepted.stdout and "log(x)" in accepted.stdout
    (tmp_path / "0123.json").write_bytes((tmp_path / good).read_bytes())
    (tmp_path / "link.json").symlink_to(tmp_path / good)
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "notes.txt").write_text("no proof")
    huge, twice = put(tmp_path, b" " * 4_000_001), put(tmp_path, {**BOXES, "code": "1"})
    nested, nan = put(tmp_path, b"[" * 100_000), put(tmp_path, json.dumps(BOXES).replace('"1"', "NaN").encode())
    double = put(tmp_path, json.dumps(BOXES)[:-1].encode() + b', "cuts": "v"}')
    refused = run()
    assert refused.returncode == 2 and not refused.stderr
    for name in ("0123.json", "link.json", "folder.json", "notes.txt", huge, nested, nan, double):
        assert f"{name}: refused" in refused.stdout
    assert min(refused.stdout.count(f"{name}: refused") for name in sorted((good, twice))[1:]) == 1
    assert run(tmp_path / "nowhere").returncode == 2 and run(tmp_path / "folder.json").returncode == 2
