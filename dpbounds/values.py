"""A number of the theory that says what kind of number it is."""

from __future__ import annotations

from typing import Literal, get_args

from dpbounds.errors import DomainError

Kind = Literal["exact", "upper", "lower", "asymptotic", "estimate"]


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
        if kind not in get_args(Kind):
            raise DomainError("kind", kind, f"one of {', '.join(get_args(Kind))}")
        if enclosure is not None and not enclosure[0] <= number <= enclosure[1]:
            raise DomainError("enclosure", enclosure, f"an interval that holds {number!r}")
        value = super().__new__(cls, number)
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
