"""One formula, three arithmetics.

A formula is a function of an arithmetic `m` and of numbers, written once:

    def upper(m, a, b):
        return m.log(8 / a) * m.integral_ratio(a, b)

- `upper(FLOATS, a, b)` runs on float64, vectorised over numpy arrays: for searches and plots;
- `upper(m, m.number("0.1"), m.number("1e-9"))` inside `with digits(50) as m:` gives 50 digits: for identities;
- the same inside `with balls(128) as m:` gives an interval that provably holds the value, also for wide balls (the
  arguments then stand for all numbers of a box): for certified inequalities.

Write constants so that all three keep them: whole numbers and fractions of powers of two as they are (`8`, `0.5`),
others as `m.number("1/3")` or by dividing an argument, and π as `m.pi`. Outside the domain of an elementary function
floats give nan with numpy's warning, digits and balls a ball that is not finite.

>>> def half_length(m, x):
...     return m.sqrt(1 + x * x) / 2
>>> float(half_length(FLOATS, 0.75))
0.625
>>> with digits(25) as m:
...     print(half_length(m, m.number(1)).str(25, radius=False))
0.7071067811865475244008444
>>> with balls() as m:  # all x in [0, 1]
...     print(half_length(m, m.number(0).union(m.number(1))) < m.number("0.7072"))
True
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from numbers import Rational
from typing import Any

import numpy as np
from scipy import special

from dpbounds import elliptic
from dpbounds.errors import DomainError, count

Unary = Callable[[Any], Any]
Binary = Callable[[Any, Any], Any]
# Functions with a branch cut.
CUT = ("sqrt", "log")
# Functions of the standard normal distribution, by the names that they have in scipy.special (`mills` is ours).
NORMAL = ("ndtr", "log_ndtr", "ndtri", "mills")
# Relative accuracy in bits above which a ball is as good as a number.
THIN = 40


@dataclass(frozen=True, kw_only=True)
class Arithmetic:
    """The operations a formula may use beside + − * / ** and comparison, all real.

    `number` takes an int, float, Fraction or string ("0.1", "1/3") to the nearest number (balls: to a ball that holds
    it) and leaves the arithmetic's own numbers as they are. Elliptic functions take the modulus k; their domains are
    those of `dpbounds.elliptic`. Of the standard normal distribution there are `ndtr` = Φ, `log_ndtr` = log Φ, `ndtri`,
    the inverse of Φ on (0, 1), and `mills`(x) = Φ(-x)/φ(x), right in the tails too, where Φ is not a float any more.
    `integral(f)` = ∫_{−π}^{π} f(sin²(ω/2)) dω is a quadrature, an oracle without elliptic functions: to 1e-13 in
    floats, to the precision in digits, a `DomainError` for balls.
    """

    name: str
    number: Unary
    pi: Any
    sqrt: Unary
    exp: Unary
    log: Unary
    log1p: Unary
    expm1: Unary
    sin: Unary
    cos: Unary
    power: Binary
    absolute: Unary
    minimum: Binary
    maximum: Binary
    elliptic_k: Unary
    elliptic_e: Unary
    elliptic_pi: Binary
    integral_inverse: Unary
    integral_ratio: Binary
    ndtr: Unary
    log_ndtr: Unary
    ndtri: Unary
    mills: Unary
    integral: Callable[[Unary], Any]


@contextmanager
def balls(precision: int = 128) -> Iterator[Arithmetic]:
    """The arithmetic of Arb balls with `precision` bits, set in `flint.ctx` for the `with` block.

    A wide ball is `flint.arb(midpoint, radius)` or `m.number(low).union(m.number(high))`. Comparisons are certain:
    `x < y` is true only if it holds for all points of both. `sqrt` is of the non-negative part of a ball that reaches
    below zero. A ball around zero has no `x ** n`: write `m.power(x, n)`, n an int, or a product.
    Raise `DomainError` for a precision below 2.
    """
    import flint

    from dpbounds import normal
    from dpbounds.elliptic import balls as rigorous

    def of_balls(function: Callable) -> Callable:
        return lambda *x: function(*map(_ball, x))

    with flint.ctx.workprec(count("precision", precision, 2)):
        yield Arithmetic(
            name=f"balls of {precision} bits",
            number=_ball,
            pi=flint.arb.pi(),
            power=_ball_power,
            absolute=lambda x: _ball(_ball(x).abs_lower()).union(_ball(x).abs_upper()),
            minimum=lambda x, y: _ball(x).min(_ball(y)),
            maximum=lambda x, y: _ball(x).max(_ball(y)),
            integral=_no_quadrature,
            **_elementary(lambda name: lambda x: getattr(_ball(x), name)()) | {"sqrt": _ball_sqrt},
            **_elliptic(rigorous, of_balls),
            **{name: of_balls(getattr(normal, name)) for name in NORMAL},
        )


@contextmanager
def digits(precision: int = 50) -> Iterator[Arithmetic]:
    """Numbers to `precision` decimal digits: balls with 20 bits to spare, whose radius says how many digits are right.

    Unlike `balls` it has `integral`, at the same number of digits: the quadrature's own error is not in the radius.
    Raise `DomainError` for a precision below 1.
    """
    from dpbounds.elliptic.quadrature import integral_of_balls

    count("precision", precision)
    with balls(math.ceil(precision * math.log2(10)) + 20) as m:
        yield replace(m, name=f"{precision} digits", integral=lambda f: integral_of_balls(f, precision))


@contextmanager
def complex_balls(precision: int = 128) -> Iterator[Arithmetic]:
    """Complex balls with `precision` bits, for analytic functions on discs: elementary operations only.

    `sqrt`, `log` and broken powers of a ball that meets their cut (-inf, 0] are not finite: the function is then not
    analytic on it.
    Raise `DomainError` for a precision below 2, and for operations that are not analytic or not offered.
    """
    import flint

    def analytic(name: str) -> Callable:
        return lambda x: getattr(flint.acb(_complex_ball(x)), name)(**({"analytic": True} if name in CUT else {}))

    def refused(*_: Any) -> Any:
        raise DomainError("operation", "one that is not elementary", "an elementary function on complex balls")

    with flint.ctx.workprec(count("precision", precision, 2)):
        offered = {"name": f"complex balls of {precision} bits", "number": _complex_ball, "pi": flint.arb.pi()}
        offered |= {"power": _analytic_power, **_elementary(analytic)}
        yield Arithmetic(**{field.name: offered.get(field.name, refused) for field in fields(Arithmetic)})


def _elementary(operation: Callable[[str], Callable]) -> dict[str, Callable]:
    """The elementary functions, which numpy and flint call by the same names."""
    return {name: operation(name) for name in ("sqrt", "exp", "log", "log1p", "expm1", "sin", "cos")}


def _elliptic(module: Any, adapted: Callable[[Callable], Callable]) -> dict[str, Callable]:
    """The elliptic functions of one module of `dpbounds.elliptic`."""
    legendre = {"elliptic_k": module.K, "elliptic_e": module.E, "elliptic_pi": module.Pi}
    own = {"integral_inverse": module.integral_inverse, "integral_ratio": module.integral_ratio}
    return {name: adapted(function) for name, function in (legendre | own).items()}


def _fraction(value: Any) -> Fraction | None:
    """The exact value of an int, float, Fraction or string; None for numbers of other kinds."""
    if not isinstance(value, (Rational, float, str)):
        return None
    try:
        fraction = Fraction(value)
    except (ValueError, OverflowError, ZeroDivisionError):
        raise DomainError("number", value, 'a finite number, or one in a string: "0.1", "1e-9", "1/3"') from None
    # numpy's integers would stay in the fraction and overflow.
    return Fraction(int(fraction.numerator), int(fraction.denominator))


def _float(value: Any) -> Any:
    fraction = _fraction(value)
    return np.asarray(value, dtype=float) if fraction is None else float(fraction)


def _ball(value: Any) -> Any:
    import flint

    if type(value) is flint.arb:
        return value
    if type(value) is int or (type(value) is float and math.isfinite(value)):
        return flint.arb(value)
    fraction = _fraction(value)
    return flint.arb(value if fraction is None else flint.fmpq(fraction.numerator, fraction.denominator))


def _complex_ball(value: Any) -> Any:
    import flint

    return flint.acb(value if _fraction(value) is None else _ball(value))


def _ball_power(base: Any, exponent: Any) -> Any:
    import flint

    # Real balls around zero have no powers in flint, complex ones have the whole ones.
    return (flint.acb(_ball(base)) ** exponent).real if isinstance(exponent, int) else _ball(base) ** exponent


def _analytic_power(base: Any, exponent: Any) -> Any:
    if isinstance(exponent, int):
        return _complex_ball(base) ** exponent
    return (_complex_ball(base).log(analytic=True) * _complex_ball(exponent)).exp()


def _ball_sqrt(value: Any) -> Any:
    ball = _ball(value)
    if ball.rel_accuracy_bits() > THIN:  # the shorter way, as tight for such a ball
        return ball.sqrt()
    return ball.sqrt() if ball < 0 else ball.lower().max(0).sqrt().union(ball.upper().sqrt())


def _no_quadrature(_: Callable) -> Any:
    raise DomainError("integral", "balls", "FLOATS or digits", "a quadrature is no proof: enclose the closed form")


FLOATS = Arithmetic(
    name="floats",
    number=_float,
    pi=np.pi,
    power=np.power,
    absolute=np.abs,
    minimum=np.minimum,
    maximum=np.maximum,
    integral=elliptic.integral,
    **_elementary(lambda name: getattr(np, name)),
    **_elliptic(elliptic, lambda function: function),
    **{name: getattr(special, name) for name in NORMAL if name != "mills"},
    mills=lambda x: math.sqrt(math.pi / 2) * special.erfcx(x / math.sqrt(2)),
)
