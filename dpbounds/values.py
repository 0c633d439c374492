"""A number of the theory that says what kind of number it is.

>>> bound = Value(0.75, kind="upper", source="ftrl Thm C.18", convention="F with 1/2")
>>> bound
0.75 (upper, F with 1/2, ftrl Thm C.18)
>>> 2 * bound
1.5
"""

from __future__ import annotations

from html import escape
from typing import Any, Literal, get_args

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, choice
from dpbounds.showing import rounded

Kind = Literal["exact", "upper", "lower", "asymptotic", "estimate"]


def weakest(kind: Kind, *inputs: float) -> Kind:
    """`kind`, or `estimate` where one of the numbers that a value is made of is no better, or does not say."""
    known = all(getattr(number, "kind", "estimate") != "estimate" for number in inputs)
    return kind if known else "estimate"


class Value(float):
    """A float with its meaning: computes like any float, and carries `kind`, `source`, `convention`, `enclosure`.

    - `kind`: `exact` (equality in real arithmetic), `upper` or `lower` (one-sided), `asymptotic` (a rate whose
      constants are unknown), `estimate` (no proof). The float itself is the formula evaluated in double precision.
    - `source`: the statement it comes from (`ftrl Thm C.18`, or `dpbounds` for our own).
    - `convention`: what the number leaves to convention (`F with 1/2`).
    - `enclosure`: an interval from ball arithmetic that provably holds the number, or None.

    Arithmetic gives plain floats: a sum of bounds is a new statement and must say so itself.
    """

    kind: Kind
    source: str
    convention: str
    enclosure: tuple[float, float] | None

    @typed
    def __new__(
        cls,
        number: float,
        *,
        kind: Kind,
        source: str,
        convention: str = "",
        enclosure: tuple[float, float] | None = None,
    ) -> Value:
        """Raise `DomainError` for an unknown kind or an enclosure that misses the number."""
        choice("kind", kind, get_args(Kind))
        try:
            value = super().__new__(cls, number)
        except (TypeError, ValueError, OverflowError):
            raise DomainError("number", number, "a real number") from None
        if enclosure is not None and not _holds(enclosure, value):
            raise DomainError("enclosure", enclosure, f"an interval that holds {number!r}")
        value.kind, value.source, value.convention, value.enclosure = kind, source, convention, enclosure
        return value

    @property
    def certified(self) -> bool:
        """Whether ball arithmetic encloses the number."""
        return self.enclosure is not None

    def __getnewargs_ex__(self) -> tuple:
        meaning = {"kind": self.kind, "source": self.source, "convention": self.convention, "enclosure": self.enclosure}
        return (float(self),), meaning

    def __repr__(self) -> str:
        details = [self.kind, "certified" if self.certified else "", self.convention, self.source]
        return f"{float(self)!r} ({', '.join(filter(None, details))})"

    def _repr_html_(self) -> str:
        """The number to six digits, bounds rounded to their side, and what it is; the enclosure in full."""
        side = self.kind if self.kind in ("lower", "upper") else "nearest"
        details = [self.kind, "certified" if self.certified else "", self.convention, self.source]
        said = escape(" · ".join(filter(None, details)))
        enclosed = "" if self.enclosure is None else f"<br>in [{self.enclosure[0]!r}, {self.enclosure[1]!r}]"
        return f"<b>{rounded(self, side, 6):.6g}</b> {said}{enclosed}"


def _holds(enclosure: Any, number: float) -> bool:
    """Whether these are two ends with the number between them."""
    try:
        low, high = enclosure
        return bool(low <= float(number) <= high)
    except (TypeError, ValueError):
        return False
