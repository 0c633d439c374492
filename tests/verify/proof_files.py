"""Proof files of every kind, an evaluation of their steps in digits, and ways to change one."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import mpmath

from dpbounds.elliptic import digits
from verify import proof_checker as pc

CHECKER = Path(pc.__file__)


def mills(t):
    return mpmath.sqrt(mpmath.pi / 2) * mpmath.exp(t * t / 2) * mpmath.erfc(t / mpmath.sqrt(2))


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
