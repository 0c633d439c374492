"""A number that is known up to a radius, and behaves as a float does in code."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, fmpq

# Bits of every operation.
PRECISION = 160
# Bits up to which a rational number is kept as it is.
LONGEST = 2000


class Uncertain(ArithmeticError):
    """A comparison, or a whole part, that the balls leave open."""


class Unsupported(TypeError):
    """What has no meaning in this arithmetic."""


class Work:
    """Balls that an evaluation may still make: with the same code the same number, unlike seconds."""

    left = math.inf

    @classmethod
    @contextmanager
    def limited(cls, balls: int) -> Iterator[None]:
        """Within the block as many."""
        cls.left = balls
        try:
            yield
        finally:
            cls.left = math.inf

    @classmethod
    def spend(cls) -> None:
        """Raise `Unsupported` when nothing is left."""
        cls.left -= 1
        if cls.left < 0:
            raise Unsupported("more operations than are allowed")


class Ball:
    """A real number between two ends, as Arb keeps it, and while it is rational and short its exact value too.

    Comparisons are certain or raise `Uncertain`. Text shows the midpoint.
    """

    __slots__ = ("exact", "value")
    ndim, shape, size = 0, (), 1
    dtype = np.dtype(float)
    shown = False

    def __init__(self, value: Any) -> None:
        Work.spend()
        self.exact: fmpq | None = _rational(value)
        self.value: arb = _enclosed(value) if self.exact is None else arb(self.exact)

    def __add__(self, other: Any) -> Any:
        return _with(self, other, operator.add)

    def __radd__(self, other: Any) -> Any:
        return _with(self, other, operator.add, turned=True)

    def __sub__(self, other: Any) -> Any:
        return _with(self, other, operator.sub)

    def __rsub__(self, other: Any) -> Any:
        return _with(self, other, operator.sub, turned=True)

    def __mul__(self, other: Any) -> Any:
        return _with(self, other, operator.mul)

    def __rmul__(self, other: Any) -> Any:
        return _with(self, other, operator.mul, turned=True)

    def __truediv__(self, other: Any) -> Any:
        return _with(self, other, _quotient)

    def __rtruediv__(self, other: Any) -> Any:
        return _with(self, other, _quotient, turned=True)

    def __floordiv__(self, other: Any) -> Any:
        return _with(self, other, _floored)

    def __rfloordiv__(self, other: Any) -> Any:
        return _with(self, other, _floored, turned=True)

    def __mod__(self, other: Any) -> Any:
        return _with(self, other, lambda a, b: a - b * _floored(a, b))

    def __pow__(self, other: Any) -> Any:
        return _with(self, other, _power)

    def __rpow__(self, other: Any) -> Any:
        return _with(self, other, _power, turned=True)

    def __neg__(self) -> Ball:
        return Ball(-(self.value if self.exact is None else self.exact))

    def __pos__(self) -> Ball:
        return self

    def __abs__(self) -> Ball:
        return Ball(abs(self.value if self.exact is None else self.exact))

    def __lt__(self, other: Any) -> Any:
        return _compared(self, other, operator.lt, operator.ge)

    def __le__(self, other: Any) -> Any:
        return _compared(self, other, operator.le, operator.gt)

    def __gt__(self, other: Any) -> Any:
        return _compared(self, other, operator.gt, operator.le)

    def __ge__(self, other: Any) -> Any:
        return _compared(self, other, operator.ge, operator.lt)

    def __eq__(self, other: Any) -> Any:
        return _compared(self, other, _equal, _apart)

    def __ne__(self, other: Any) -> Any:
        return _compared(self, other, _apart, _equal)

    def __hash__(self) -> int:
        if self.exact is None:
            raise Unsupported(f"{self!r} in a set")  # equal numbers may have different balls
        return hash(self.exact)

    def __bool__(self) -> bool:
        return bool(self != 0)

    def __float__(self) -> float:
        """The midpoint while modules are read, for code that is not; else refused: it would be rounded."""
        if not Ball.shown:
            raise Unsupported("a ball as a float")
        return self.middle

    @property
    def middle(self) -> float:
        """For texts."""
        return float(self.value.mid())

    def __int__(self) -> int:
        whole = whole_part(abs(self.value if self.exact is None else self.exact))
        return whole if self >= 0 else -whole

    def __index__(self) -> int:
        if self.exact is None or self.exact.q != 1:
            raise Unsupported(f"{self!r} as a whole number")
        return int(self.exact.p)

    def __round__(self, digits: int | None = None) -> Any:
        if digits is not None:
            return Ball(Fraction(round(self * 10**digits), 10**digits))
        if self.exact is None:
            return whole_part(self.value + arb("0.5"))
        above = whole_part(self.exact + fmpq(1, 2))
        tied = self.exact + fmpq(1, 2) == above
        return above - 1 if tied and above % 2 else above  # halves go to the even neighbour

    def __floor__(self) -> int:
        return whole_part(self.value if self.exact is None else self.exact)

    def __ceil__(self) -> int:
        return -math.floor(-self)

    def __format__(self, spec: str) -> str:
        return format(self.middle, spec)

    def __repr__(self) -> str:
        return f"Ball({self.value})"

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Element by element, as an array of one object: arrays of floats become balls first."""
        lifted = [lift(value) for value in inputs]
        arrays = [np.array(value, dtype=object) if isinstance(value, Ball) else value for value in lifted]
        result = getattr(ufunc, method)(*arrays, **options)
        return result.item() if isinstance(result, np.ndarray) and result.ndim == 0 else result

    # NumPy's functions of object arrays call the methods of their name.
    @property
    def real(self) -> Ball:
        """Itself."""
        return self

    def as_integer_ratio(self) -> tuple[int, int]:
        """Of an exact number."""
        if self.exact is None:
            raise Unsupported(f"{self!r} as a fraction")
        return int(self.exact.p), int(self.exact.q)

    def item(self) -> Ball:
        """Itself, as an array of one number gives it."""
        return self

    def _of(self, name: str) -> Ball:
        return Ball(getattr(self.value, name)())

    def sqrt(self) -> Ball:
        """Of a ball that reaches below 0 nothing is known."""
        if not self >= 0:
            raise Uncertain(f"sqrt of {self!r}")
        root = None if self.exact is None else fmpq(self.exact.p.isqrt(), self.exact.q.isqrt())
        return Ball(root) if root is not None and root * root == self.exact else self._of("sqrt")

    def exp(self) -> Ball:
        """e to the power of it."""
        return self._of("exp")

    def log(self) -> Ball:
        """Its natural logarithm; of a ball that reaches 0 nothing is known."""
        if self.exact == 1:
            return Ball(0)
        if not self.value > 0:
            raise Uncertain(f"log of {self!r}")
        return self._of("log")

    def log1p(self) -> Ball:
        """log(1 + x)."""
        return (1 + self).log() if not abs(self.value) < 1 else self._of("log1p")

    def expm1(self) -> Ball:
        """e^x - 1."""
        return self._of("expm1")

    def sin(self) -> Ball:
        """Its sine."""
        return self._of("sin")

    def cos(self) -> Ball:
        """Its cosine."""
        return self._of("cos")

    def tan(self) -> Ball:
        """Its tangent."""
        return self._of("tan")

    def arctan(self) -> Ball:
        """Its arc tangent."""
        return self._of("atan")

    def sinh(self) -> Ball:
        """Its hyperbolic sine."""
        return self._of("sinh")

    def cosh(self) -> Ball:
        """Its hyperbolic cosine."""
        return self._of("cosh")

    def tanh(self) -> Ball:
        """Its hyperbolic tangent."""
        return self._of("tanh")

    def conjugate(self) -> Ball:
        """Itself."""
        return self


def lift(value: Any) -> Any:
    """Numbers as balls, arrays of numbers as arrays of balls; whole numbers, truths and other things as they are."""
    if isinstance(value, (float, np.floating, Fraction)):
        return Ball(value)
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiu":
        return np.frompyfunc(_lifted, 1, 1)(value) if value.size else value.astype(object)
    return value


def _lifted(value: Any) -> Any:
    return int(value) if isinstance(value, (int, np.integer)) else Ball(value)


def whole_part(value: Any) -> int:
    """The largest whole number that is not above it."""
    if isinstance(value, fmpq):
        return int(value.p // value.q)
    whole = value.floor().unique_fmpz()
    if whole is None:
        raise Uncertain(f"the whole part of {value}")
    return int(whole)


def _rational(value: Any) -> fmpq | None:
    """The value where it is exact and has at most `LONGEST` bits."""
    if isinstance(value, Ball):
        return value.exact
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (str, float)):
        value = Fraction(value) if isinstance(value, str) or math.isfinite(value) else None
    if getattr(value, "is_Rational", False):  # of SymPy
        value = Fraction(int(value.p), int(value.q))
    if isinstance(value, (bool, int, Fraction)):
        value = fmpq(int(value.numerator), int(value.denominator))
    if not isinstance(value, fmpq) or max(value.p.bit_length(), value.q.bit_length()) > LONGEST:
        return None
    return value


def _enclosed(value: Any) -> arb:
    if isinstance(value, arb):
        return value
    if isinstance(value, Ball):
        return value.value
    if isinstance(value, fmpq):
        return arb(value)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        value = Fraction(value)
    if isinstance(value, Fraction):
        return arb(fmpq(value.numerator, value.denominator))
    if isinstance(value, (bool, int, float)):
        return arb(value)
    raise Unsupported(f"{type(value).__name__} as a number")


def _with(own: Ball, other: Any, operation: Any, *, turned: bool = False) -> Any:
    """The operation with the other number, exactly where both are exact; on arrays element by element, by NumPy."""
    if isinstance(other, np.ndarray):
        return NotImplemented
    try:
        other = other if isinstance(other, Ball) else Ball(other)
    except Unsupported:
        return NotImplemented
    first, second = (other, own) if turned else (own, other)
    if first.exact is not None and second.exact is not None:
        result = operation(first.exact, second.exact)
        if result is not None:
            return Ball(result)
    return Ball(operation(first.value, second.value))


def _quotient(first: Any, second: Any) -> Any:
    if (isinstance(second, arb) and second.contains(0)) or (isinstance(second, fmpq) and second == 0):
        raise Uncertain(f"division by {second}")
    return first / second


def _floored(first: Any, second: Any) -> Any:
    return type(first)(whole_part(_quotient(first, second)))


def _power(base: Any, exponent: Any) -> Any:
    if isinstance(base, fmpq):
        short = exponent.q == 1 and abs(exponent.p) * max(base.p.bit_length(), base.q.bit_length()) <= LONGEST
        if base == 0 and exponent < 0:
            raise Uncertain(f"{base} to the power {exponent}")
        return base ** int(exponent.p) if short else None
    whole = exponent.unique_fmpz() if exponent.is_exact() else None
    if whole is not None:
        if whole < 0 and base.contains(0):
            raise Uncertain(f"{base} to the power {whole}")
        return base ** int(whole)
    if not base >= 0:
        raise Uncertain(f"{base} to the power {exponent}")
    if base.is_zero() and exponent > 0:
        return arb(0)
    return base.sqrt() if exponent.is_exact() and exponent == arb("0.5") else base**exponent


def _equal(first: Any, second: Any) -> bool:
    if isinstance(first, arb):
        return first.is_exact() and second.is_exact() and bool(first == second)
    return bool(first == second)


def _apart(first: Any, second: Any) -> bool:
    return not first.overlaps(second) if isinstance(first, arb) else bool(first != second)


def _compared(own: Ball, other: Any, is_so: Any, is_not: Any) -> Any:
    if isinstance(other, np.ndarray):
        return NotImplemented
    if isinstance(other, float) and math.isinf(other):
        return bool(is_so(0.0, other)) if own.value.is_finite() else NotImplemented
    try:
        other = other if isinstance(other, Ball) else Ball(other)
    except Unsupported:
        return NotImplemented
    if own.exact is not None and other.exact is not None:
        return bool(is_so(own.exact, other.exact))
    if own is other:
        return bool(is_so(fmpq(0), fmpq(0)))
    if is_so(own.value, other.value):
        return True
    if is_not(own.value, other.value):
        return False
    raise Uncertain(f"whether {own!r} is above, at or below {other!r}")
