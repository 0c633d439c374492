"""Computed facts against predicted ones, one by one: algorithms, matrices, small exact cases."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, final

import numpy as np

from dpbounds import DomainError
from verify.checks.base import Check, Level, Result, Seed, Task, ground_of
from verify.checks.evidence import Evidence, How, counted
from verify.checks.pictures import Picture, picture_of


@dataclass(frozen=True)
class Fact:
    """Something observed, something predicted independently, and the largest difference that counts as equal.

    Arrays are compared entry by entry. `tolerance` is relative to the largest predicted entry (absolute if that is 0);
    0 means equal bit for bit, or exactly for rationals and symbols. `numbers` are further numbers for the texts.
    """

    label: str
    observed: Any
    predicted: Any
    tolerance: float = 1e-12
    numbers: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if isinstance(self.predicted, (bool, np.bool_)):
            remedy = "a truth is stated by Holds(label, truth), a number's range by Within(label, number, least, most)"
            raise DomainError(f"predicted of {self.label!r}", self.predicted, "a number or something exact", remedy)

    def times(self, factor: float) -> Fact:
        """The same fact with its predicted value multiplied."""
        predicted = self.predicted
        several = isinstance(predicted, (list, tuple))
        return replace(self, predicted=factor * (np.asarray(predicted) if several else predicted))

    def row(self) -> dict[str, Any]:
        """What it says, how far apart the two are and how far they may be; both where that is too far."""
        difference = self._difference()
        row = {"fact": self.label, "difference": difference, "tolerance": self.tolerance}
        if difference > self.tolerance:
            row |= {"observed": _shown(self.observed), "predicted": _shown(self.predicted)}
        return _with_numbers(row, self.numbers)

    def _difference(self) -> float:
        """Largest relative difference; inf for different shapes or not-a-number."""
        if self.tolerance == 0:
            return 0.0 if np.array_equal(np.asarray(self.observed), np.asarray(self.predicted)) else np.inf
        observed, predicted = np.asarray(self.observed, dtype=float), np.asarray(self.predicted, dtype=float)
        if observed.shape != predicted.shape:
            return np.inf
        if np.array_equal(observed, predicted):
            return 0.0
        scale = np.abs(predicted).max() or 1.0
        difference = np.abs(observed - predicted).max() / scale
        return float(difference) if np.isfinite(difference) else np.inf


@dataclass(frozen=True)
class Within:
    """A number and the range that is stated for it, ends included; not-a-number is in no range."""

    label: str
    observed: float
    least: float = -math.inf
    most: float = math.inf
    numbers: Mapping[str, float] = field(default_factory=dict)

    def times(self, factor: float) -> Within:
        """The same fact with its stated range multiplied."""
        least, most = sorted((self.least * factor, self.most * factor))
        return replace(self, least=least, most=most)

    def row(self) -> dict[str, Any]:
        """What it says, with the number and the ends of the range that are finite."""
        observed = float(self.observed)
        ends = {"least": float(self.least), "most": float(self.most)}
        row = {"fact": self.label, "holds": bool(self.least <= observed <= self.most), "observed": observed}
        row |= {name: end for name, end in ends.items() if math.isfinite(end)}
        return _with_numbers(row, self.numbers)


@dataclass(frozen=True)
class Holds:
    """Something that is stated to be so, and whether it is: what no number can say. For one that should not be more
    than another there is `Within`.
    """

    label: str
    truth: bool
    numbers: Mapping[str, float] = field(default_factory=dict)

    def times(self, factor: float) -> Holds:
        """Itself: it states no number that could be multiplied, and no impostor of that kind is caught by it."""
        return self

    def row(self) -> dict[str, Any]:
        """What it says and whether it is so."""
        return _with_numbers({"fact": self.label, "holds": bool(self.truth)}, self.numbers)


def refused(label: str, parameter: str, call: Callable[[], Any]) -> Holds:
    """That a call is refused, and that its `DomainError` names this parameter."""
    return Holds(f"{label} is refused as {parameter}", _refusal(call) == parameter)


def taken(label: str, call: Callable[[], Any]) -> Holds:
    """That a call is not refused, such as one just inside of a limit."""
    return Holds(f"{label} is taken", _refusal(call) is None)


def _refusal(call: Callable[[], Any]) -> str | None:
    try:
        call()
    except DomainError as error:
        return error.parameter
    return None


# What the row of a fact says by itself; under another value these names would change what is read from it.
_OWN = ("fact", "holds", "difference", "tolerance", "observed", "predicted", "least", "most")


def _with_numbers(row: dict[str, Any], numbers: Mapping[str, float]) -> dict[str, Any]:
    for name in _OWN:
        if name in numbers and numbers[name] != row.get(name):
            raise DomainError(f"numbers of {row['fact']!r}", name, f"a name other than {', '.join(_OWN)}")
    return {**row, **numbers}


@final
@dataclass(frozen=True, kw_only=True)
class Agreement(Check):
    """All facts that `facts(rng)` computes agree. `alpha` is the rate of false alarms where chance decides some fact
    (not where it only chooses where to look). `closed` as for every check that has it (`Check`).
    """

    facts: Callable[[np.random.Generator], Iterable[Fact | Within | Holds]]
    picture: Callable[[], Picture] | None = None
    alpha: float = 0.0
    closed: bool = False

    def run(self, task: Task, seed: Seed) -> Result:
        """Every fact in a row, and the picture's arrays."""
        rows = [fact.row() for fact in self.facts(seed.generator())]
        return {"rows": rows, "picture": asdict(self.picture()) if self.picture else None}

    def false_alarms(self, level: Level) -> float:
        """As stated."""
        return self.alpha

    def broken_by(self, result: Result) -> Mapping[str, Any] | None:
        """The first fact that is not so."""
        return next((row for row in result["rows"] if not _is_so(row)), None)

    def conclude(self, results: Sequence[Result], level: Level) -> Evidence:
        """Fails at the first fact that is not so, certified where balls agree."""
        (result,) = results
        rows = result["rows"]
        how: How = "statistical" if self.alpha else ground_of(result)
        common: dict[str, Any] = {"rows": rows, "evaluations": len(rows), "facts": [fact_line(row) for row in rows]}
        common |= {"picture": picture_of(result["picture"]), "alpha": self.alpha}
        broken = self.broken_by(result)
        if broken is not None:
            return Evidence(outcome="fails", how=how, summary=_broken(broken), counterexample=broken, **common)
        resolution = max((row["tolerance"] for row in rows if "difference" in row), default=None)
        return Evidence(outcome="holds", how=how, summary=_summary(rows), resolution=resolution, **common)


def fact_line(row: Mapping[str, Any]) -> str:
    """What a fact says, and how: the difference and the largest allowed, the number and its range, or nothing more."""
    if not _is_so(row):
        return _broken(row)
    if "difference" in row:
        if row["tolerance"] == 0.0:
            return f"{row['fact']}: equal exactly."
        difference = f"difference {row['difference']:.1e}" if row["difference"] else "no difference"
        return f"{row['fact']}: {difference}, allowed {row['tolerance']:.1e}."
    return f"{row['fact']}: {row['observed']:.6g}, stated {_range(row)}." if "observed" in row else f"{row['fact']}."


def _summary(rows: Sequence[Mapping[str, Any]]) -> str:
    """How many facts of which kinds."""
    compared = [row for row in rows if "difference" in row]
    ranged = sum("difference" not in row and "observed" in row for row in rows)
    parts = []
    if compared:
        worst, coarsest = (max(row[key] for row in compared) for key in ("difference", "tolerance"))
        differ = f"worst difference {worst:.1e}, allowed up to {coarsest:.1e}" if coarsest else "exactly"
        parts.append(f"{counted(len(compared), 'comparison')} agree{'s' * (len(compared) == 1)} ({differ})")
    if ranged:
        parts.append(f"{counted(ranged, 'number')} in the range stated")
    if len(rows) > len(compared) + ranged:
        parts.append(f"{counted(len(rows) - len(compared) - ranged, 'statement')} true")
    return f"{', '.join(parts)}." if parts else "No facts."


def _is_so(row: Mapping[str, Any]) -> bool:
    return row["holds"] if "holds" in row else row["difference"] <= row["tolerance"]


def _broken(row: Mapping[str, Any]) -> str:
    """The fact that is not so, with its numbers."""
    if "difference" in row:
        return f"{row['fact']}: observed {row['observed']}, stated {row['predicted']}."
    if "observed" not in row:
        return f"Not so: {row['fact']}."
    return f"{row['fact']}: {row['observed']:.6g}, stated {_range(row)}."


def _range(row: Mapping[str, Any]) -> str:
    return " and ".join(f"at {name} {row[name]:.6g}" for name in ("least", "most") if name in row)


def _shown(value: Any) -> str:
    array = np.asarray(value)
    if array.ndim == 0:
        scalar = array.item()
        return f"{scalar:.6g}" if isinstance(scalar, float) else str(scalar)
    plain: Any = {"object": str} if array.dtype == object else None
    text = np.array2string(array, precision=4, threshold=8, edgeitems=3, separator=", ", formatter=plain)
    return " ".join(text.split())
