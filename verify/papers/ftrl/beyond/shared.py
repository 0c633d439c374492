"""Beyond the paper: what every formula asks of its arguments, numbers that say what they are, and their arithmetics."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Protocol

import flint
import mpmath
import numpy as np

from dpbounds import AccuracyError, DomainError, arithmetic, errors
from dpbounds.arguments import formula, typed
from dpbounds.ftrl.strongly_convex.programs import _product as product_of
from dpbounds.ftrl.strongly_convex.programs import squared_distance
from dpbounds.showing import html_table, rounded
from dpbounds.values import Value, weakest
from verify.checks import Fact, Holds, refused, taken

# Intervals as they are written: what is inside, and what is not.
INTERVALS: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "(0, 1]": ((1e-9, 1.0), (0.0, 1.0000001, -0.5)),
    "[0, 1)": ((0.0, 0.9999999), (1.0, -1e-9, 7.0)),
    "(0, 1)": ((0.5,), (0.0, 1.0)),
    "[12, 34]": ((12.0, 34.0), (11.9, 34.1, 1.0)),
    "[1, inf)": ((1.0, 1e300), (0.99,)),
    "(-inf, -2)": ((-2.1, -1e300), (-2.0, 0.0)),
}
NO_NUMBERS: dict[str, Any] = {
    "text": "1",
    "nothing": None,
    "a truth value": True,
    "a complex number": 1j,
    "infinity": math.inf,
    "not a number": math.nan,
    "a list of one": [1.0],
    "an integer beyond floats": 10**400,
}
HALVES = (0.5, np.float32(0.5), Fraction(1, 2), Decimal("0.5"), np.array(0.5))


def numbers(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Numbers and ranges: the ends that belong to them, and what is no number."""
    for interval, (inside, outside) in INTERVALS.items():
        for number in inside:
            yield Holds(f"{number:g} in {interval}", errors.within("x", number, interval) == number)
        for number in outside:
            yield refused(f"{number:g} in {interval}", "x", lambda x=number, of=interval: errors.within("x", x, of))
    yield Fact("halves of any kind", [errors.real("x", half) for half in HALVES], [0.5] * 5, 0)
    for label, thing in NO_NUMBERS.items():
        yield refused(label, "x", lambda x=thing: errors.real("x", x))
    checks: dict[str, tuple[Callable[..., Any], tuple[Any, ...], tuple[Any, ...]]] = {
        "positive": (errors.positive, (1e-300,), (0.0, -1.0)),
        "not negative": (errors.nonnegative, (0.0,), (-1e-300,)),
        "moderate": (errors.moderate, (1e-50, 1e50), (0.9e-50, 1.1e50, 0.0)),
        "moderate or 0": (errors.moderate_or_zero, (0.0, 1e-300, 1e50), (-1e-9, 1.1e50)),
        "a count": (errors.count, (1, 3.0, np.int64(2)), (0, 1.5, -1, True)),
    }
    for label, (check, inside, outside) in checks.items():
        for number in inside:
            yield Holds(f"{number:g} is {label}", check("x", number) == number)
        for number in outside:
            yield refused(f"{number:g} as {label}", "x", lambda x=number, of=check: of("x", x))
    yield refused("one and a half as a count from 0", "x", lambda: errors.count("x", 1.5, least=0))
    yield refused("half as a count from 1", "x", lambda: errors.count("x", 0.5))
    yield refused("6 of at most 5", "x", lambda: errors.count("x", 6, most=5))
    yield Holds("5 of at most 5, as an integer", type(errors.count("x", 5.0, most=5)) is int)
    yield refused("another name", "x", lambda: errors.choice("x", "c", ("a", "b")))
    yield refused("part of a name", "x", lambda: errors.choice("x", "", ("a", "b")))
    yield from _lists()


def _lists() -> Iterator[Fact | Holds]:
    """Arrays, lists and spectra: which entry is wrong is said."""
    for label, parameter, given in (
        ("an entry below what can be computed with", "x[1]", [1.0, 0.9e-120]),
        ("an entry above it", "x[2]", [1.0, 2.0, 1.1e50]),
        ("a negative entry", "x[1]", [1.0, -1.0]),
        ("a million and one", "x", np.ones(1_000_001)),
        ("a matrix", "x", np.ones((2, 2))),
        ("no entry", "x", []),
    ):
        yield refused(label, parameter, lambda given=given: errors.all_moderate("x", given))
    yield taken("the smallest and the largest entry", lambda: errors.all_moderate("x", [1e-120, 1e50]))
    listed: tuple[tuple[str, str, dict[str, Any]], ...] = (
        ("an entry at the limit", "x[1]", {"values": [3.0, 2.0], "above": 2.0}),
        ("an entry that is none", "x[0]", {"values": [math.nan, 3.0]}),
        ("too few", "x", {"values": [3.0, 2.0], "length": 3}),
        ("text", "x", {"values": ["a"]}),
        ("rows of several lengths", "x", {"values": [[1.0], [1.0, 2.0]]}),
        ("an entry that is no number", "an entry of x", {"values": [Fraction(1, 2), None]}),
    )
    for label, parameter, given in listed:
        yield refused(label, parameter, lambda given=given: errors.vector("x", **given))
    yield Fact("a number as a list of one", errors.vector("x", 2.5, above=2.0), [2.5], 0)
    yield Fact("fractions as floats", errors.real_array("x", [[Fraction(1, 4), 2]]), [[0.25, 2.0]], 0)
    yield Fact("truths as floats", errors.real_array("x", [True, False]), [1.0, 0.0], 0)
    yield Holds("of floats", errors.real_array("x", [1, 2]).dtype == np.dtype(float))
    yield refused("not a number in an array", "b", lambda: errors.without_nan(a=1.0, b=np.array([1.0, math.nan])))
    yield refused("what is no list", "x", lambda: errors.listed("x", 3))
    told = DomainError("x", "a" * 90, "short", "cut it")
    yield Holds("a long value is cut", str(told) == f"x = {'a' * 77}... is not allowed: it must be short; cut it")
    yield Holds("one that is hardly short enough is not", "a" * 80 + " is" in str(DomainError("x", "a" * 80, "short")))
    yield Holds("one too many is", "a" * 78 not in str(DomainError("x", "a" * 81, "short")))
    again = pickle.loads(pickle.dumps(told))
    yield Holds("errors may be sent", (again.parameter, again.remedy, str(again)) == ("x", "cut it", str(told)))


class _Sized(Protocol):
    """What `_asked` takes."""

    size: int

    def grown(self) -> int:
        """Larger."""
        ...


@dataclass
class _Box:
    size: int

    def grown(self) -> int:
        return self.size + 1


@dataclass
class _Bare:
    size: int


@typed
def _asked(
    name: str | None,
    box: _Sized,
    sizes: Mapping[str, list],
    of: Sequence[float],
    *,
    call: Callable[[], int],
    any_of: Iterable[int] | bool = True,
    number: float = 0.0,
) -> str:
    return f"{name}"


@formula
def _ratio(x: Any, y: float, names: list | None = None) -> Any:
    return x / y


@formula
def _product(a: np.ndarray, b: np.ndarray) -> Any:
    return (a @ b).tolist()


def things(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Arguments that are things: held against annotations; formulas take what their arithmetic takes."""
    wrongly: tuple[Any, ...] = _asked, _ratio, _product  # asked for what their annotations exclude
    asked, ratio, product = wrongly
    right: dict[str, Any] = {"name": "a", "box": _Box(1), "sizes": {"a": [1]}, "of": [1.0], "call": lambda: 1}
    yield Holds("as annotated", asked(**right) == "a" and asked(None, *list(right.values())[1:4], call=int) == "None")
    others: dict[str, tuple[Any, ...]] = {"name": (3,), "box": (3, _Bare(1)), "sizes": ([1], {"a": 3}), "of": ("ab", 3)}
    others |= {"call": (3,), "any_of": (3, "ab")}
    for parameter, given in others.items():
        for value in given:
            label = f"{type(value).__name__} for {parameter}"
            yield refused(label, parameter, lambda p=parameter, v=value: asked(**{**right, p: v}))
    yield refused("by place", "box", lambda: asked("a", 3, {}, [], call=int))
    several: tuple[Any, ...] = ([1], iter([1]), False, np.bool_(True))
    for value in several:
        yield taken(f"{type(value).__name__} for any_of", lambda v=value: asked(**right, any_of=v))
    yield taken("what is annotated as a number is not looked at", lambda: asked(**right, number="a"))
    yield Holds("a formula in fractions", ratio(Fraction(1, 3), 2) == Fraction(1, 6))
    yield Fact("of arrays", ratio(np.array([1.0, 2.0]), 4.0), [0.25, 0.5], 0)
    yield Fact("of lists as arrays", [product([1, 2], [3, 4]), product([1, 2], b=[3, 4])], [11.0, 11.0], 0)
    for label, parameter, call in (
        ("text in a formula", "x", lambda: ratio("a", 2.0)),
        ("by name", "y", lambda: ratio(1.0, y="a")),
        ("a list in a formula of numbers", "x", lambda: ratio([1.0], 2.0)),
        ("division by 0", "x, y", lambda: ratio(1, 0)),
        ("a thing beside them", "names", lambda: ratio(1, 2, names=3)),
        ("shapes that do not fit", "a, b", lambda: product([1, 2], [1, 2, 3])),
        ("text in an array", "b", lambda: product([1, 2], b=["a", "b"])),
    ):
        yield refused(label, parameter, call)
    for label, call in (
        ("too many", lambda: product([1], [1], [1])),
        ("too few", lambda: product([1])),
    ):
        yield Holds(f"{label} arguments are Python's own error", _raises(call, TypeError))


def _raises(call: Callable[[], Any], kind: type[Exception]) -> bool:
    try:
        call()
    except kind:
        return True
    return False


def meanings(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """What a value says of itself, the weakest of several, and how both are shown."""
    bound, guess = Value(0.75, kind="upper", source="a"), Value(0.5, kind="estimate", source="b")
    kinds = [weakest("exact", bound), weakest("exact", bound, guess), weakest("upper", bound, 0.5), weakest("lower")]
    yield Holds("the weakest of several", kinds == ["exact", "estimate", "estimate", "lower"])
    for ends, holds in (((0.7, 0.8), True), ((0.75, 0.75), True), ((0.8, 0.9), False), ((0.6, 0.7), False)):
        make = lambda ends=ends: Value(0.75, kind="exact", source="a", enclosure=ends)  # noqa: E731
        yield taken(f"0.75 in {ends}", make) if holds else refused(f"0.75 in {ends}", "enclosure", make)
    again = pickle.loads(pickle.dumps(Value(0.75, kind="lower", source="a", convention="c", enclosure=(0.5, 1.0))))
    yield Holds("it may be sent", (again, again.kind, again.convention, again.certified) == (0.75, "lower", "c", True))
    yield Fact("rounded to a side", [rounded(2 / 3, side, 3) for side in ("lower", "upper")], [0.666, 0.667], 0)
    yield Fact("to the nearest, and below 0", [rounded(2 / 3), rounded(-2 / 3, "lower", 2)], [0.66667, -0.67], 0)
    rows = [{"a<": 1 / 3, "b": "x&"}, {"a<": 2.0, "b": 7}]
    stated = (
        "<table><thead><tr><th>a&lt;</th><th>b</th></tr></thead><tbody>"
        '<tr><td style="text-align: right">0.333333</td><td>x&amp;</td></tr>'
        '<tr><td style="text-align: right">2</td><td>7</td></tr></tbody></table>'
    )
    yield Holds("a table", html_table(rows) == stated and html_table([]) == "")


def arithmetics(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Balls: the smaller and the larger, powers, sizes and roots of wide ones, by their ends."""
    with arithmetic.balls() as m:
        low, high = flint.arb(1.5, 0.5), flint.arb(3, 0.25)
        around, below = flint.arb(0.5, 1.0), flint.arb(-3, 1.0)
        for label, ball, ends in (
            ("the smaller", m.minimum(low, high), (1.0, 2.0)),
            ("the larger", m.maximum(low, high), (2.75, 3.25)),
            ("the smaller of numbers", m.minimum(2, 0.5), (0.5, 0.5)),
            ("the larger of numbers", m.maximum(2, 0.5), (2.0, 2.0)),
            ("the size around 0", m.absolute(around), (0.0, 1.5)),
            ("the size below 0", m.absolute(below), (2.0, 4.0)),
            ("the root of a wide ball", m.sqrt(flint.arb(5, 4.0)), (1.0, 3.0)),
            ("of one that reaches below 0", m.sqrt(around), (0.0, math.sqrt(1.5))),
            ("of a number", m.sqrt(2), (math.sqrt(2), math.sqrt(2))),
            ("a broken power", m.power(3, 1.5), (3**1.5, 3**1.5)),
        ):
            yield Fact(label, [float(ball.lower()), float(ball.upper())], ends, 1e-8)
        for exponent in (2, 3):
            cube = m.power(around, exponent)
            yield Holds(f"a power of a ball around 0 holds those of its points, {exponent}", _holds(cube, exponent))
        yield Fact("a whole power", float(m.power(-3, 3)), -27.0, 0)
        yield Holds("no root of what is below 0", not m.sqrt(below).is_finite())
        yield refused("a quadrature", "integral", lambda: m.integral(lambda s: s))
    with arithmetic.complex_balls() as m:
        z = complex(0.6, 0.3)
        for exponent in (-2, 5, 0.25):
            found, stated = complex(m.power(flint.acb(z.real, z.imag), exponent)), z**exponent
            yield Fact(f"z^{exponent}", [found.real, found.imag], [stated.real, stated.imag], 1e-14)
        yield Holds("no root across the cut", not m.sqrt(flint.acb(-1, flint.arb(0, 0.1))).is_finite())
    for text, number in (("1/3", 1 / 3), ("1e-9", 1e-9), ("0.1", 0.1)):
        with arithmetic.digits(30) as m:
            both = [float(arithmetic.FLOATS.number(text)), float(m.number(text))]
            yield Fact(f"{text} as a number", both, [number] * 2, 1e-15)
            exact = Fraction(text)
            gap = m.number(text) * exact.denominator - exact.numerator
            yield Fact(f"{text}, all digits", float(abs(gap).upper()), 0.0, 1e-28)
    yield Fact("Mills ratio in floats", arithmetic.FLOATS.mills(0.0), math.sqrt(math.pi / 2))
    yield refused("no number", "number", lambda: arithmetic.FLOATS.number("a"))
    yield Holds("that is no error of accuracy", not _raises(lambda: arithmetic.FLOATS.number("1"), AccuracyError))


def distances() -> Iterator[Fact]:
    """Re conj(z - x) (z - y), z = 1 - e^{i omega}, in digits: rates far apart, next to 0 at 0, and next to 2 at pi."""
    with mpmath.workdps(50):
        for x, y in ((1e-7, 3e-7), (0.3, 0.5), (0.3, 1.5), (0.7, 1.6), (1.2, 1.7), (1e-3, 1.9), (2 - 1e-7, 2 - 3e-7)):
            for omega in (1e-7, 0.4, 2.1, math.pi - 1e-7):
                z = 1 - mpmath.expj(omega)
                stated = float(((z.conjugate() - x) * (z - y)).real)
                scale = (abs(z - x) * abs(z - y)) if (x < 1) == (y < 1) else 1
                found = float(product_of(np.array([omega]), x, y)[0])
                label = f"x = {x:g}, y = {y:g}, omega = {omega:g}"
                yield Fact(f"{label}: product", found / float(scale), stated / float(scale), 1e-13)
                square = float(abs(z - x) ** 2)
                told = float(squared_distance(np.array([omega]), x)[0])
                column = float(squared_distance(np.array([omega]), np.array([[x]]))[0, 0])
                yield Fact(f"{label}: distances", [told, column], [square] * 2, 1e-13)


def _holds(ball: Any, exponent: int) -> bool:
    points = np.linspace(-0.5, 1.5, 9) ** exponent
    return bool(ball.lower() <= points.min() and points.max() <= ball.upper() and ball.upper() < 2 * points.max())
