"""Discs around real centres in float64, on whole arrays: proofs at the speed of numpy.

A disc stands for all complex numbers within its radius of its centre, and so for the real interval too. Each operation
gives a disc that holds the result for all points of its arguments, whatever their exponents. Its centre is rounded by
at most a `UNIT` of itself or by 2^-1074 (IEEE 754, to nearest), which is added to the radius; the radius, a sum of at
most ten products of nonnegative floats, is itself rounded by at most 20 `UNIT` of it, and by ten times 2^-1074 where a
product goes below the normal range: `SLACK` and `TINY` cover both. Nothing is divided by a product that may have left
the floats. A radius that is not finite means that nothing is known.

>>> sum_of_two = Discs(1.0, 0.25) + Discs(2.0, 0.5)
>>> sum_of_two.centre, sum_of_two.radius >= 0.75, Discs(1.0, 2.0).inverse().radius
(3.0, True, array(inf))
"""

from __future__ import annotations

from dataclasses import fields
from functools import lru_cache
from typing import Any

import numpy as np

from dpbounds.arithmetic import Arithmetic
from dpbounds.errors import LARGEST, DomainError

UNIT = 2.0**-53
SLACK, TINY = 1.0 + 2.0**-47, 1e-300


class Discs:
    """An array of discs, or a single one: centres and radii as floats of one shape. Floats beside them are exact, whole
    numbers are rounded to floats.
    """

    __slots__ = ("centre", "radius")
    # numpy leaves operations with its arrays to this class
    __array_ufunc__ = None

    def __init__(self, centre: Any, radius: Any = 0.0) -> None:
        self.centre, self.radius = centre, radius

    def __add__(self, other: Any) -> Discs:
        """Sum."""
        centre, radius = _parts(other)
        total = self.centre + centre
        return Discs(total, (self.radius + radius + UNIT * abs(total)) * SLACK + TINY)

    __radd__ = __add__

    def __neg__(self) -> Discs:
        """Exact."""
        return Discs(-self.centre, self.radius)

    def __sub__(self, other: Any) -> Discs:
        """Difference."""
        centre, radius = _parts(other)
        return self + Discs(-centre, radius)

    def __rsub__(self, other: Any) -> Discs:
        """Difference."""
        return -self + other

    def __mul__(self, other: Any) -> Discs:
        """Product: |x y - x0 y0| <= |x0| r_y + |y0| r_x + r_x r_y."""
        centre, radius = _parts(other)
        product, size = self.centre * centre, abs(self.centre)
        reach = size * radius + (abs(centre) + radius) * self.radius + UNIT * abs(product)
        return Discs(product, reach * SLACK + TINY)

    __rmul__ = __mul__

    def __pow__(self, exponent: int) -> Discs:
        """Square, the only power that is offered."""
        if exponent != 2:
            raise DomainError("exponent", exponent, "2 on discs")
        return self * self

    def inverse(self) -> Discs:
        """|1 / x - 1 / x0| <= r / (|x0| (|x0| - r)); not finite where the disc holds 0."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            centre = 1.0 / self.centre
            rest = (abs(self.centre) - self.radius) / SLACK
            # r / rest may go below the normal range, by far less than a unit of 1
            radius = (self.radius / rest + 2.0 * UNIT) * abs(centre) * SLACK + TINY
        return Discs(centre, np.where(rest > 0, radius, np.inf))

    def __truediv__(self, other: Any) -> Discs:
        """Quotient, also by an exact number."""
        return self * (other if isinstance(other, Discs) else Discs(other)).inverse()

    def __rtruediv__(self, other: Any) -> Discs:
        """Quotient."""
        return self.inverse() * other

    def sqrt(self) -> Discs:
        """|sqrt x - sqrt x0| = |x - x0| / |sqrt x + sqrt x0|, where Re sqrt x >= sqrt(x0 - r): the principal root is
        analytic on the disc if x0 > r; not finite elsewhere.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            centre = np.sqrt(self.centre)
            rest = (self.centre - self.radius) / SLACK
            # a unit of any root is so far above the least float that SLACK covers what goes below the normal range
            reach = self.radius / (centre + np.sqrt(rest)) + UNIT * centre
        return Discs(centre, np.where(rest > 0, reach * SLACK, np.inf))

    def widened(self, by: Any) -> Discs:
        """With `by` more to each radius."""
        return Discs(self.centre, (self.radius + by) * SLACK + TINY)

    def upper(self) -> Any:
        """Bound of the modulus from above."""
        return (abs(self.centre) + self.radius) * SLACK

    def lower(self) -> Any:
        """Bound of the modulus from below, 0 where the disc holds 0."""
        return np.maximum((abs(self.centre) - self.radius) / SLACK, 0.0)


def _parts(other: Any) -> tuple[Any, Any]:
    if isinstance(other, int):
        other = _number(other)
    return (other.centre, other.radius) if isinstance(other, Discs) else (other, 0.0)


def _number(value: Any) -> Discs:
    if isinstance(value, Discs):
        return value
    if not isinstance(value, int | float):
        raise DomainError("number", value, "a float", "discs take no fractions and no texts")
    if abs(value) > LARGEST and isinstance(value, int):
        raise DomainError("number", "a whole number", f"at most {LARGEST:g} in size", "discs are floats")
    centre = float(value)
    return Discs(centre, 0.0 if centre == value else UNIT * abs(centre))


def _refused(*_: Any) -> Any:
    raise DomainError("operation", "one that is not offered", "+, -, *, /, a square or sqrt on discs")


@lru_cache(maxsize=1)
def discs() -> Arithmetic:
    """The arithmetic of `Discs`: + - * /, squares and `sqrt`; `DomainError` for the others."""
    offered = {"name": "discs", "number": _number, "pi": Discs(np.pi, 1e-15), "sqrt": lambda x: _number(x).sqrt()}
    return Arithmetic(**{field.name: offered.get(field.name, _refused) for field in fields(Arithmetic)})
