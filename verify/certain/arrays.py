"""What NumPy means for arrays of balls."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from verify.certain.functions import MATH, Float, Library, each, is_finite, of_arb, power, quotient
from verify.certain.linear import LINALG
from verify.certain.making import LARGEST, array, balls, filled
from verify.certain.numbers import Ball, Unsupported, lift

# These take and give arrays of objects as they do arrays of floats.
_STRUCTURAL = """
    concatenate stack hstack vstack column_stack where outer dot trace diag diagonal tril triu transpose kron
    squeeze ravel reshape flip roll repeat tile broadcast_to atleast_1d atleast_2d diff cumsum cumprod sort take
    append delete expand_dims swapaxes moveaxis fliplr flipud abs absolute matmul inner tensordot vdot add subtract
    multiply negative sum prod max min amax amin argmax argmin flatnonzero nonzero count_nonzero any all shape ndim
    size maximum minimum triu_indices tril_indices diag_indices ix_ indices isscalar searchsorted split array_split
    broadcast_arrays einsum tri equal not_equal greater greater_equal less less_equal logical_and logical_or
    logical_not iscomplexobj conj real
"""


def _lifted(function: Callable[..., Any]) -> Callable[..., Any]:
    def applied(*values: Any, **options: Any) -> Any:
        if options.get("dtype") not in (None, Float, float, object):
            raise Unsupported(f"numbers as {options['dtype']}")
        kept = {name: value for name, value in options.items() if name != "dtype"}
        result = function(*map(_argument, values), **{name: _argument(value) for name, value in kept.items()})
        return result.item() if isinstance(result, np.ndarray) and result.ndim == 0 else result

    for method in ("outer", "reduce", "accumulate"):
        if isinstance(function, np.ufunc):
            setattr(applied, method, _lifted(getattr(function, method)))
    return applied


def _argument(value: Any) -> Any:
    """Lists of numbers become arrays of balls, for functions that would read them as floats."""
    if isinstance(value, list) and value and isinstance(value[0], (float, Ball)):
        return array(value)
    if isinstance(value, (list, tuple)):
        return type(value)(map(lift, value)) if type(value) in (list, tuple) else value
    return lift(value)


def _full(shape: Any, value: Any, dtype: Any = None) -> np.ndarray:
    if isinstance(value, np.ndarray):
        return np.array(np.broadcast_to(lift(value), shape))
    return np.full(shape, Ball(value) if isinstance(value, (int, float, Ball)) and dtype is not int else value)


def _linspace(low: Any, high: Any, num: int = 50, *, endpoint: bool = True, axis: int = 0) -> np.ndarray:
    if isinstance(low, np.ndarray) or isinstance(high, np.ndarray):
        ends = np.broadcast_arrays(array(low, dtype=Float), array(high, dtype=Float))
        return np.stack([ends[0] + (ends[1] - ends[0]) * Fraction(k, num - 1) for k in range(num)], axis=axis)
    if num > LARGEST:
        raise Unsupported(f"{num} numbers at a time")
    parts = num - 1 if endpoint else num
    low, high = Ball(low), Ball(high)
    values = [low + (high - low) * k / parts if parts else low for k in range(num)]
    return np.array(values, dtype=object)


def _geomspace(low: Any, high: Any, num: int = 50) -> np.ndarray:
    ends = (Ball(low).log(), Ball(high).log())
    return np.array([value.exp() for value in _linspace(*ends, num)], dtype=object)


def _arange(*values: Any, dtype: Any = None) -> np.ndarray:
    if all(isinstance(value, (int, np.integer)) for value in values):
        made = np.arange(*values)
        return balls(made) if dtype is not None and dtype is not int else made
    start, stop, step = {1: (0, *values, 1), 2: (*values, 1)}.get(len(values), values)
    number = math.ceil(quotient(stop - start, step))
    if number > LARGEST:
        raise Unsupported(f"{number} numbers at a time")
    return array([start + k * step for k in range(number)], dtype=Float)


def _mean(values: Any, axis: int | None = None) -> Any:
    made = array(values)
    return quotient(made.sum(axis=axis), made.size if axis is None else made.shape[axis])


def _variance(values: Any, axis: int | None = None, ddof: int = 0) -> Any:
    if axis is not None:
        raise Unsupported("a variance along an axis")
    made = array(values)
    return quotient(((made - _mean(made)) ** 2).sum(), made.size - ddof)


def _median(values: Any) -> Any:
    made = np.sort(np.ravel(array(values, dtype=Float)))
    half = len(made) // 2
    return made[half] if len(made) % 2 else (made[half - 1] + made[half]) / 2


def _grouped(values: Any, *, return_counts: bool = False) -> Any:
    """Equal numbers together, and numbers that share a ball: what is computed of it holds for each of them. Others stay
    apart, which a sum over groups allows, and a walk through them, but not their number.
    """
    groups: list[list[Any]] = []
    for value in np.ravel(array(values, dtype=Float)):
        same = next((group for group in groups if group[0] is value or _shared(group[0], value)), None)
        if same is None:
            groups.append([value, 1])
        else:
            same[1] += 1
    groups.sort(key=lambda group: group[0].middle)
    if not return_counts:
        return iter([value for value, _ in groups])
    return np.array([value for value, _ in groups], dtype=object), np.array([count for _, count in groups])


def _shared(first: Ball, second: Ball) -> bool:
    if first.exact is not None or second.exact is not None:
        return first.exact == second.exact
    return bool(first.value.mid() == second.value.mid() and first.value.rad() == second.value.rad())


def _clip(values: Any, low: Any, high: Any) -> Any:
    made = lift(values)
    if low is not None:
        made = np.maximum(made, lift(low))
    return made if high is None else np.minimum(made, lift(high))


def _truths(values: Any, is_so: Callable[[Any], bool]) -> Any:
    if not isinstance(values, (np.ndarray, list, tuple)):
        return np.bool_(is_so(values))
    return np.array([is_so(value) for value in np.ravel(np.asarray(values, dtype=object))]).reshape(np.shape(values))


def _unit(whole: np.ndarray, dtype: Any) -> np.ndarray:
    return whole if dtype in (int, bool, np.int64, object) else balls(whole)


class _Joined:
    """`np.r_` of numbers and arrays."""

    def __getitem__(self, parts: Any) -> np.ndarray:
        several = parts if isinstance(parts, tuple) else (parts,)
        if any(isinstance(part, (slice, str)) for part in several):
            raise Unsupported("np.r_ with slices")
        return np.concatenate([np.atleast_1d(array(part)) for part in several])


def _close(first: Any, second: Any, rtol: Any = 1e-5, atol: Any = 1e-8) -> Any:
    first, second = array(first, dtype=Float), array(second, dtype=Float)
    return np.abs(first - second) <= Ball(atol) + Ball(rtol) * np.abs(second)


def _array_equal(first: Any, second: Any) -> bool:
    first, second = array(first), array(second)
    return first.shape == second.shape and bool(np.all(first == second))


class Draws:
    """A generator of random numbers whose draws are the same numbers as balls."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def __getattr__(self, name: str) -> Any:
        drawn = getattr(self._rng, name)
        return lambda *values, **options: lift(drawn(*map(_plain, values), **options))


def _plain(value: Any) -> Any:
    """Parameters of a law as floats: they say only which numbers are drawn."""
    return value.middle if isinstance(value, Ball) else value


NUMPY = Library(
    "numpy",
    **{name: _lifted(getattr(np, name)) for name in _STRUCTURAL.split()},
    **{name: of_arb(name) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "expm1")},
    array=array,
    asarray=array,
    ascontiguousarray=array,
    zeros=filled(0),
    ones=filled(1),
    empty=filled(0),
    full=_full,
    zeros_like=lambda like: np.full(np.shape(like), Ball(0), dtype=object),
    ones_like=lambda like: np.full(np.shape(like), Ball(1), dtype=object),
    full_like=lambda like, value: _full(np.shape(like), value),
    eye=lambda n, m=None, k=0, dtype=None: _unit(np.eye(n, m, k, dtype=int), dtype),
    identity=lambda n: balls(np.eye(n, dtype=int)),
    linspace=_linspace,
    geomspace=_geomspace,
    arange=_arange,
    sqrt=each(lambda x: x.sqrt()),
    log=each(lambda x: x.log()),
    log1p=each(lambda x: x.log1p()),
    log2=each(lambda x: x.log() / Ball(2).log()),
    log10=each(lambda x: x.log() / Ball(10).log()),
    arctan=each(lambda x: x.arctan()),
    square=each(lambda x: x * x),
    power=power,
    divide=quotient,
    true_divide=quotient,
    hypot=each(lambda x, y: (x * x + y * y).sqrt()),
    sign=each(lambda x: Ball(1 if x > 0 else -1 if x < 0 else 0)),
    floor=each(lambda x: Ball(math.floor(x))),
    ceil=each(lambda x: Ball(math.ceil(x))),
    median=_median,
    unique=_grouped,
    vectorize=lambda function, otypes=None: _lifted(np.frompyfunc(function, 1, 1)),
    random=Library("numpy.random", default_rng=lambda *seeds: Draws(np.random.default_rng(*seeds)), Generator=Draws),
    mean=_mean,
    average=_mean,
    var=_variance,
    std=lambda values, axis=None, ddof=0: _variance(values, axis, ddof).sqrt(),
    clip=_clip,
    isfinite=lambda values: _truths(values, is_finite),
    isnan=lambda values: _truths(values, lambda x: isinstance(x, float) and math.isnan(x)),
    array_equal=_array_equal,
    isclose=_close,
    allclose=lambda *values, **options: bool(np.all(_close(*values, **options))),
    trapezoid=lambda y, x: (((y[1:] + y[:-1]) * (x[1:] - x[:-1])).sum()) / 2,
    r_=_Joined(),
    linalg=LINALG,
    errstate=lambda **_: contextlib.nullcontext(),
    ndarray=np.ndarray,
    generic=np.generic,
    integer=np.integer,
    floating=np.floating,
    float64=Float,
    int64=np.int64,
    intp=np.intp,
    bool_=np.bool_,
    newaxis=None,
    inf=math.inf,
    nan=math.nan,
    pi=MATH.pi,
    e=MATH.e,
)
