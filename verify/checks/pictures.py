"""The arrays behind a figure: what each axis measures, and series that say which curve they are of, in what role."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from dpbounds import DomainError

Role = Literal["exact", "approximate", "upper", "lower", "printed", "simulated"]


@dataclass(frozen=True, kw_only=True)
class Series:
    """Points of the curve called `curve`, with the ends of their intervals where they are simulated.

    Roles: `exact` and `approximate` (leading order) values of theory, an `upper` or `lower` bound, what the paper has
    `printed`, what was `simulated`. Series of one curve share its colour.
    """

    curve: str
    role: Role
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()

    def __post_init__(self) -> None:
        if self.role not in get_args(Role):
            raise DomainError("role", self.role, f"one of {', '.join(get_args(Role))}")
        lengths = {len(self.x), len(self.y), *(len(ends) for ends in (self.low, self.high) if len(ends))}
        if len(lengths) > 1 or bool(len(self.low)) != bool(len(self.high)):
            raise DomainError(f"series {self.curve}", sorted(lengths), "columns of one length")


@dataclass(frozen=True, kw_only=True)
class Slope:
    """Exponents of a power law: printed in the paper, exact on the grid of the picture, simulated with its interval."""

    curve: str
    printed: float
    exact: float
    simulated: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Picture:
    """One set of axes. `x` and `y` name the quantities in Typst markup; `log` says which are logarithmic."""

    x: str
    y: str
    log: Sequence[Literal["x", "y"]] = ("x", "y")
    series: Sequence[Series]
    slopes: Sequence[Slope] = ()


def picture_of(data: Mapping[str, Any] | None) -> Picture | None:
    """The picture whose fields a task stored as JSON."""
    if data is None:
        return None
    series = tuple(Series(**item) for item in data["series"])
    return Picture(**{**data, "series": series, "slopes": tuple(Slope(**item) for item in data.get("slopes", ()))})
