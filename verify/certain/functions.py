"""What `math`, SciPy and the built-in functions mean for balls."""

from __future__ import annotations

import builtins
import functools
import math
import operator
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
from flint import arb

from verify.certain.numbers import Ball, Uncertain, Unsupported, lift

# Bisections of a root.
BISECTIONS = 80


class Missing:
    """A library, or a part of it, that has no meaning for balls: fails when it is used, not when it is named."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Missing:
        if name.startswith("__"):
            raise AttributeError(name)
        return Missing(f"{self._name}.{name}")

    def __call__(self, *_: Any, **__: Any) -> Any:
        """Raise `Unsupported`."""
        raise Unsupported(self._name)

    def __mro_entries__(self, _: Any) -> tuple:
        return ()

    def __or__(self, _: Any) -> Missing:
        return self

    __ror__ = __or__


class Library(SimpleNamespace):
    """The parts of a library that have a meaning; the others are `Missing`."""

    def __init__(self, name: str, **parts: Any) -> None:
        super().__init__(**parts)
        self.__dict__["_library"] = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Missing(f"{self.__dict__['_library']}.{name}")


def each(function: Callable[..., Ball]) -> Callable[..., Any]:
    """A function of numbers, for arrays element by element."""

    def applied(*values: Any) -> Any:
        if any(isinstance(value, (np.ndarray, list, tuple)) for value in values):
            arrays = np.broadcast_arrays(*(np.asarray(value, dtype=object) for value in values))
            result = np.frompyfunc(lambda *row: function(*map(Ball, row)), len(arrays), 1)(*arrays)
            return result if isinstance(result, np.ndarray) else np.array(result, dtype=object)
        return function(*map(Ball, values))

    return applied


def of_arb(name: str) -> Callable[..., Any]:
    """The function that Arb has under a name."""
    return each(lambda x: Ball(getattr(x.value, name)()))


def quotient(first: Any, second: Any) -> Any:
    """first / second without rounding: whole numbers too, beside symbols as they are."""
    first, second = lift(first), lift(second)
    if all(isinstance(value, (int, Ball, np.ndarray)) for value in (first, second)):
        return _whole_as_ball(first) / _whole_as_ball(second)
    return first / second


def power(base: Any, exponent: Any) -> Any:
    """base ** exponent without rounding."""
    if isinstance(base, int) and isinstance(exponent, int) and exponent >= 0:
        return base**exponent
    return _whole_as_ball(lift(base)) ** lift(exponent)


def divided(target: Any, value: Any) -> Any:
    """target /= value: an array keeps its place, as whoever else holds it expects."""
    return _in_place(target, quotient(target, value))


def raised(target: Any, value: Any) -> Any:
    """target **= value."""
    return _in_place(target, power(target, value))


def _in_place(target: Any, result: Any) -> Any:
    if not isinstance(target, np.ndarray):
        return result
    if target.dtype != object:
        raise Unsupported("whole numbers divided in place")
    target[...] = result
    return target


def _whole_as_ball(value: Any) -> Any:
    if isinstance(value, (bool, int)):
        return Ball(value)
    if isinstance(value, np.ndarray) and value.dtype == object:
        return np.frompyfunc(lambda x: Ball(x) if isinstance(x, int) else x, 1, 1)(value)
    return value


def _logarithm(x: Any, base: Any = None) -> Any:
    value = Ball(x).log()
    return value if base is None else value / Ball(base).log()


def _extreme(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    """max or min: of numbers that the balls do not tell apart a ball that holds it."""

    def applied(*values: Any, **options: Any) -> Any:
        items = list(values[0]) if len(values) == 1 else list(values)
        try:
            return plain(items, **options)
        except Uncertain:
            if options:
                raise
            best = Ball(items[0]).value
            for item in items[1:]:
                best = getattr(best, name)(Ball(item).value)
            return Ball(best)

    return applied


class _FloatType(type):
    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, (builtins.float, Ball))


class Float(metaclass=_FloatType):
    """`float`, as a class and as a conversion."""

    def __new__(cls, value: Any = 0) -> Any:
        """A ball that holds it, infinities as floats."""
        if isinstance(value, str):
            return builtins.float(value) if "inf" in value or "nan" in value else Ball(value)
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = value.item()
        if isinstance(value, builtins.float) and not math.isfinite(value):
            return value
        return Ball(value)


def is_finite(value: Any) -> bool:
    """Of a number; what a ball without a bound holds may be finite or not."""
    if not isinstance(value, Ball):
        return math.isfinite(value)
    if not value.value.is_finite():
        raise Uncertain(f"whether {value!r} is finite")
    return True


def _ndtr(x: Ball) -> Ball:
    return Ball((-x.value / arb(2).sqrt()).erfc() / 2)


def _log_ndtr(x: Ball) -> Ball:
    return _ndtr(x).log()


def _regularized_gamma(s: Ball, x: Ball, *, upper: bool) -> Ball:
    """Q(s, x), or P(s, x) = 1 - Q(s, x)."""
    value = x.value.gamma_upper(s.value, regularized=1)
    return Ball(value) if upper else Ball(1 - value)


def bisected(
    function: Callable[..., Any], low: Any, high: Any, xtol: Any = None, rtol: Any = None, maxiter: Any = None
) -> Ball:
    """A ball that holds a root between two points at which the signs differ for certain, in place of `brentq`, whatever
    its tolerances.
    """
    low, high = Ball(low), Ball(high)
    below = Ball(function(low)) < 0
    if (Ball(function(high)) < 0) == below:
        raise Uncertain("the signs at the ends of a bracket")
    for _step in range(BISECTIONS):
        middle = Ball(((low + high) / 2).value.mid())
        try:
            if (Ball(function(middle)) < 0) == below:
                low = middle
            else:
                high = middle
        except Uncertain:
            break
    return Ball(low.value.union(high.value))


def _least_float(x: Any) -> Ball:
    """`ulp` of 0, the least float above it."""
    if not Ball(x) == 0:
        raise Unsupported("math.ulp")
    return Ball(math.ulp(0.0))


def _iterated(values: Any) -> Iterator[Any]:
    return iter(values)


_METHODS = ("exp", "sin", "cos", "tan", "sinh", "cosh", "tanh", "expm1", "log1p", "sqrt")
_SCALAR = {name: (lambda x, name=name: getattr(Ball(x), name)()) for name in _METHODS}
MATH = Library(
    "math",
    **_SCALAR,
    log=_logarithm,
    log2=lambda x: _logarithm(x, 2),
    log10=lambda x: _logarithm(x, 10),
    atan=lambda x: Ball(x).arctan(),
    erf=of_arb("erf"),
    erfc=of_arb("erfc"),
    gamma=of_arb("gamma"),
    lgamma=of_arb("lgamma"),
    pow=power,
    hypot=lambda *x: builtins.sum((Ball(value) ** 2 for value in x), Ball(0)).sqrt(),
    fsum=lambda values: builtins.sum(_iterated(values), Ball(0)),
    fabs=abs,
    floor=math.floor,
    ceil=math.ceil,
    prod=lambda values, start=1: _product(values, start),
    isfinite=is_finite,
    isnan=lambda x: not isinstance(x, Ball) and math.isnan(x),
    isinf=lambda x: not isinstance(x, Ball) and math.isinf(x),
    ulp=_least_float,
    comb=math.comb,
    factorial=math.factorial,
    gcd=math.gcd,
    isqrt=math.isqrt,
    inf=math.inf,
    nan=math.nan,
    pi=Ball(arb.pi()),
    tau=Ball(2 * arb.pi()),
    e=Ball(arb(1).exp()),
)


def _product(values: Any, start: Any) -> Any:
    for value in values:
        start = start * value
    return start


_gammaincc = each(lambda s, x: _regularized_gamma(s, x, upper=True))
_gammainc = each(lambda s, x: _regularized_gamma(s, x, upper=False))
SPECIAL = Library(
    "scipy.special",
    ndtr=each(_ndtr),
    log_ndtr=each(_log_ndtr),
    erf=of_arb("erf"),
    erfc=of_arb("erfc"),
    erfcx=each(lambda x: (x * x).exp() * Ball(x.value.erfc())),
    ndtri=each(lambda p: Ball(-arb(2).sqrt() * (2 * p.value).erfcinv()) if p.value > 0 else p.sqrt().log()),
    ellipk=each(lambda m: Ball(arb.pi() / (2 * (1 - m.value).sqrt().agm()))),
    gamma=of_arb("gamma"),
    gammaln=of_arb("lgamma"),
    digamma=of_arb("digamma"),
    erfinv=of_arb("erfinv"),
    lambertw=lambda x, k=0: Ball(Ball(x).value.lambertw(int(k))),
    expit=each(lambda x: 1 / (1 + (-x).exp())),
    gammaincc=_gammaincc,
    gammainc=_gammainc,
    xlogy=each(lambda x, y: x * y.log() if x != 0 else Ball(0)),
    comb=lambda n, k, exact=False: math.comb(int(n), int(k)),
)
_NORM = Library(
    "scipy.stats.norm",
    cdf=each(_ndtr),
    sf=each(lambda x: _ndtr(-x)),
    pdf=each(lambda x: (-x * x / 2).exp() / Ball(2 * arb.pi()).sqrt()),
    logcdf=each(_log_ndtr),
)
_CHI2 = Library(
    "scipy.stats.chi2",
    sf=lambda x, df: _gammaincc(quotient(df, 2), quotient(x, 2)),
    cdf=lambda x, df: _gammainc(quotient(df, 2), quotient(x, 2)),
)
STATS = Library("scipy.stats", norm=_NORM, chi2=_CHI2)
OPTIMIZE = Library("scipy.optimize", brentq=bisected, bisect=bisected)
SCIPY = Library("scipy", special=SPECIAL, stats=STATS, optimize=OPTIMIZE)


def _is_instance(value: Any, kinds: Any) -> bool:
    """`isinstance`, to which what is missing is no kind."""
    several = kinds if isinstance(kinds, tuple) else (kinds,)
    known = tuple(kind for kind in several if not isinstance(kind, Missing))
    return isinstance(value, known) or (isinstance(value, Ball) and builtins.float in known)


def remembered(function: Any = None, **_: Any) -> Any:
    """`functools.cache`, where the same ball is the same argument."""
    if function is None:
        return remembered
    known: dict[Any, Any] = {}

    @functools.wraps(function)
    def asked(*values: Any, **options: Any) -> Any:
        key = (tuple(map(_key, values)), tuple((name, _key(value)) for name, value in sorted(options.items())))
        if key not in known:
            known[key] = function(*values, **options)
        return known[key]

    return asked


def _key(value: Any) -> Any:
    if isinstance(value, Ball):
        return ("ball", str(value.value.mid()), str(value.value.rad()))
    return tuple(map(_key, value)) if isinstance(value, (tuple, list)) else value


FUNCTOOLS = Library(
    "functools",
    cache=remembered,
    lru_cache=lambda maxsize=None, **_: remembered(maxsize) if callable(maxsize) else remembered,
    cached_property=functools.cached_property,
    partial=functools.partial,
    reduce=functools.reduce,
    wraps=functools.wraps,
    singledispatch=functools.singledispatch,
    total_ordering=functools.total_ordering,
)
_PLAIN = "add sub mul neg lt le gt ge eq ne and_ or_ not_ itemgetter attrgetter methodcaller index getitem contains"
OPERATOR = Library(
    "operator", truediv=quotient, pow=power, **{name: getattr(operator, name) for name in _PLAIN.split()}
)
BUILTINS = {
    "isinstance": _is_instance,
    "float": Float,
    "max": _extreme("max", builtins.max),
    "min": _extreme("min", builtins.min),
    "pow": power,
}
