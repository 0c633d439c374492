"""The results file as `dpbounds verify` writes it, read and validated.

A JSON object with `format` = "dpbounds-results/1", `versions` (name to version) and `claims`, a list of objects with

- `claim`, `topic`, `where`, `kind`: strings; `statement`, `hypotheses`, `correction`: Typst markup, maybe empty;
- `verdict`: confirmed, refuted, corrected, undecided or not run; `reviewed`: the verdict last agreed with;
- `how`: proved, certified, numeric, statistical or null; `slack`: bound / truth at its tightest, or null;
- `finding`: plain text; for a corrected claim it ends with "Holds when corrected: " and the correction;
- `level`, `seed`, `code`: how it was run, `code` a hash of the sources;
- `evidence`: a list of objects with `form` (printed or corrected), `outcome` (holds, fails, unclear), `how`, `summary`
  (plain text), `slack`, `counterexample` (an object or null), `resolution`, `alpha`, `beta`, `trials`, `evaluations`,
  `needed`, `picture` and `rows` (the single comparisons, not read here).

A picture is null or an object with the axis labels `x` and `y`, `log` (which of "x", "y" are logarithmic), `series`
and optionally `slopes`. A series has `label`, `role` (theory, bound, simulation or printed), the numbers `x` and `y`,
and optionally `low` and `high`, the ends of the intervals. A slope has `group`, and the exponents `printed`, `exact`
(on the same grid), `simulated` with its interval `low`, `high`. All text is plain, and numbers that JSON lacks are the
strings "inf", "-inf", "nan".
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FORMAT = "dpbounds-results/1"
VERDICTS = ("confirmed", "corrected", "refuted", "undecided", "not run")
GROUNDS = ("proved", "certified", "numeric", "statistical")
FORMS = ("printed", "corrected")
OUTCOMES = ("holds", "fails", "unclear")
ROLES = ("theory", "bound", "simulation", "printed")
LEVELS = ("quick", "full", "paper")


class ReportError(ValueError):
    """A report that cannot be made: one line that names the file and what is wrong with it."""


@dataclass(frozen=True, kw_only=True)
class Series:
    """Points of a curve; `low` and `high` are empty or the ends of their intervals."""

    label: str
    role: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Slope:
    """Exponents of a power law: printed in the paper, exact on the grid of the picture, simulated with its interval."""

    group: str
    printed: float
    exact: float
    simulated: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Picture:
    """What one set of axes shows."""

    x: str
    y: str
    log: tuple[str, ...]
    series: tuple[Series, ...]
    slopes: tuple[Slope, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What one check found."""

    form: str
    outcome: str
    how: str
    summary: str
    slack: float | None
    counterexample: Mapping[str, Any] | None
    resolution: float | None
    alpha: float | None
    beta: float | None
    trials: int
    evaluations: int
    needed: str
    picture: Picture | None


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One claim with its verdict and the evidence behind it."""

    claim: str
    topic: str
    where: str
    kind: str
    statement: str
    hypotheses: str
    correction: str
    verdict: str
    how: str | None
    slack: float | None
    finding: str
    reviewed: str
    level: str
    seed: int
    code: str
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, kw_only=True)
class Results:
    """A whole results file."""

    path: Path
    versions: Mapping[str, str]
    entries: tuple[Entry, ...] = field(default=())

    @property
    def topics(self) -> list[str]:
        """The topics in the order of the file."""
        return list(dict.fromkeys(entry.topic for entry in self.entries))

    def of(self, topic: str) -> list[Entry]:
        """The claims of one topic, in the order of the file."""
        return [entry for entry in self.entries if entry.topic == topic]


def read(path: Path) -> Results:
    """The content of a results file. Raises `ReportError` if it is missing, cut off or not of this format."""
    content = _Fields(_parsed(path), str(path))
    found = content.data.get("format")
    if found != FORMAT:
        raise ReportError(f"{path}: format is {_brief(found)}, but this version of dpbounds reads {FORMAT}")
    versions = content.mapping("versions")
    entries = tuple(_entry(item, f"{path}, claim {number}") for number, item in enumerate(content.list("claims"), 1))
    if not entries:
        raise ReportError(f"{path}: no claims in it; run `dpbounds verify` first")
    return Results(path=path, versions={name: str(version) for name, version in versions.items()}, entries=entries)


def _parsed(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ReportError(f"{path}: no such file; run `dpbounds verify` first, or name one with --results") from None
    except OSError as error:
        raise ReportError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise ReportError(f"{path}: not a whole JSON file ({error}); run `dpbounds verify` again") from None


def _entry(data: Any, place: str) -> Entry:
    fields = _Fields(data, place)
    claim = fields.text("claim")
    fields = _Fields(data, f"{place} ({_brief(claim)})")
    texts = ("topic", "where", "kind", "statement", "hypotheses", "correction", "finding", "code")
    evidence = enumerate(fields.list("evidence"), 1)
    return Entry(
        claim=claim,
        verdict=fields.choice("verdict", VERDICTS),
        reviewed=fields.choice("reviewed", VERDICTS),
        how=None if fields.get("how") is None else fields.choice("how", GROUNDS),
        slack=fields.optional("slack"),
        level=fields.choice("level", LEVELS),
        seed=fields.count("seed"),
        evidence=tuple(_evidence(item, f"{fields.place}, evidence {number}") for number, item in evidence),
        **{key: fields.text(key) for key in texts},
    )


def _evidence(data: Any, place: str) -> Evidence:
    fields = _Fields(data, place)
    counterexample, picture = fields.get("counterexample"), fields.get("picture")
    return Evidence(
        form=fields.choice("form", FORMS),
        outcome=fields.choice("outcome", OUTCOMES),
        how=fields.choice("how", GROUNDS),
        summary=fields.text("summary"),
        needed=fields.text("needed"),
        counterexample=None if counterexample is None else fields.mapping("counterexample"),
        trials=fields.count("trials"),
        evaluations=fields.count("evaluations"),
        picture=None if picture is None else _picture(picture, f"{place}, picture"),
        **{key: fields.optional(key) for key in ("slack", "resolution", "alpha", "beta")},
    )


def _picture(data: Any, place: str) -> Picture:
    fields = _Fields(data, place)
    series = enumerate(fields.list("series"), 1)
    slopes = enumerate(fields.list("slopes") if "slopes" in fields.data else (), 1)
    return Picture(
        x=fields.text("x"),
        y=fields.text("y"),
        log=tuple(axis for axis in ("x", "y") if axis in fields.list("log")),
        series=tuple(_series(item, f"{place}, series {number}") for number, item in series),
        slopes=tuple(_slope(item, f"{place}, slope {number}") for number, item in slopes),
    )


def _series(data: Any, place: str) -> Series:
    fields = _Fields(data, place)
    ends = ("low", "high") if "low" in fields.data or "high" in fields.data else ()
    columns = {key: fields.numbers(key) for key in ("x", "y", *ends)}
    if len({len(column) for column in columns.values()}) > 1:
        lengths = ", ".join(f"{len(column)} {key}" for key, column in columns.items())
        raise ReportError(f"{place}: columns of different lengths ({lengths})")
    return Series(label=fields.text("label"), role=fields.choice("role", ROLES), **columns)


def _slope(data: Any, place: str) -> Slope:
    fields = _Fields(data, place)
    numbers = {key: fields.number(key) for key in ("printed", "exact", "simulated", "low", "high")}
    return Slope(group=fields.text("group"), **numbers)


class _Fields:
    """A JSON object whose fields are checked as they are taken; errors name the place."""

    def __init__(self, data: Any, place: str) -> None:
        if not isinstance(data, dict):
            raise ReportError(f"{place}: must be an object, not {_brief(data)}")
        self.data, self.place = data, place

    def get(self, key: str) -> Any:
        if key not in self.data:
            raise ReportError(f"{self.place}: the key {key!r} is missing")
        return self.data[key]

    def text(self, key: str) -> str:
        value = self.get(key)
        return value if isinstance(value, str) else self._refuse(key, "a string")

    def choice(self, key: str, allowed: Sequence[str]) -> str:
        value = self.text(key)
        return value if value in allowed else self._refuse(key, f"one of {', '.join(allowed)}")

    def mapping(self, key: str) -> dict[str, Any]:
        value = self.get(key)
        return value if isinstance(value, dict) else self._refuse(key, "an object")

    def list(self, key: str) -> Sequence[Any]:
        value = self.get(key)
        return value if isinstance(value, list) else self._refuse(key, "a list")

    def count(self, key: str) -> int:
        value = self.get(key)
        whole = isinstance(value, int) and not isinstance(value, bool) and value >= 0
        return value if whole else self._refuse(key, "a whole number of at least 0")

    def number(self, key: str) -> float:
        value = as_number(self.get(key))
        return self._refuse(key, "a number") if value is None else value

    def optional(self, key: str) -> float | None:
        return None if self.get(key) is None else self.number(key)

    def numbers(self, key: str) -> tuple[float, ...]:
        values = tuple(number for number in map(as_number, self.list(key)) if number is not None)
        return values if len(values) == len(self.data[key]) else self._refuse(key, "a list of numbers")

    def _refuse(self, key: str, allowed: str) -> Any:
        raise ReportError(f"{self.place}: {key!r} must be {allowed}, not {_brief(self.data[key])}")


def as_number(value: Any) -> float | None:
    """A JSON number, or one of the strings that stand for those JSON lacks; None for anything else."""
    if isinstance(value, str):
        return float(value) if value in ("inf", "-inf", "nan") else None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
