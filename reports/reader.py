"""The results file, read and validated: its fields, its checksum, and the verdicts that its evidence gives."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from reports.consistency import check_entry, check_texts
from reports.results import (
    CHECK_ROLES,
    CLAUSE_WORDS,
    FORMAT,
    FORMS,
    GROUNDS,
    LEVELS,
    OUTCOMES,
    ROLES,
    RUN,
    SEVERITIES,
    TEXTS,
    TOUCHES,
    VERDICTS,
    Clause,
    Entry,
    Evidence,
    Figure,
    Highlight,
    Panel,
    Paper,
    Picture,
    ReportError,
    Results,
    Series,
    Slope,
    Symbol,
)

_Item = TypeVar("_Item")
# Bytes: far more than all claims at all levels give.
LARGEST = 100_000_000


def read(path: Path) -> Results:
    """The content of a results file. Raises `ReportError` if it is missing, cut off, not of this format, or changed:
    what contradicts its evidence is named, anything else is seen by the checksum. Raises it for text that is a program.
    """
    content = _Fields(_parsed(path), str(path))
    found = content.data.get("format")
    if found != FORMAT:
        raise ReportError(f"{path}: format is {_brief(found)}, but this version of dpbounds reads {FORMAT}")
    versions = content.mapping("versions")
    entries = content.objects("claims", "claim", _entry)
    if not entries:
        raise ReportError(f"{path}: no claims in it; run `dpbounds verify` first")
    for entry in entries:
        check_entry(entry, path)
    papers = content.objects("topics", "topic", _paper)
    if content.text("checksum") != checksum(content.data):
        raise ReportError(f"{path}: checksum does not fit; the file was changed, run `dpbounds verify` again")
    known = {paper.name for paper in papers}
    for entry in entries:
        if entry.topic not in known:
            raise ReportError(f"{path}: topic {_brief(entry.topic)} of {_brief(entry.claim)} is not among its topics")
    run = _run(path.with_name(RUN))
    when_and_where: dict[str, Any] = {key: str(run.get(key, "")) for key in ("date", "machine")}
    found = Results(
        path=path,
        versions={name: str(version) for name, version in versions.items()},
        papers=papers,
        entries=entries,
        **when_and_where,
    )
    check_texts(found)
    return found


def checksum(content: Mapping[str, Any]) -> str:
    """Of everything in the file but its format and itself, as `dpbounds verify` computes it."""
    body = {key: value for key, value in content.items() if key not in ("format", "checksum")}
    return hashlib.sha256(json.dumps(body, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _parsed(path: Path) -> Any:
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except FileNotFoundError:
        raise ReportError(f"{path}: no such file; run `dpbounds verify` first, or name one with --results") from None
    except (OSError, ValueError) as error:  # a name with a null byte is a ValueError
        raise ReportError(f"{path}: cannot be read ({getattr(error, 'strerror', error)})") from None
    if len(content) > LARGEST:
        raise ReportError(f"{path}: larger than {LARGEST} bytes, which no results file is")
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ReportError(f"{path}: not a whole JSON file ({error}); run `dpbounds verify` again") from None


def _run(path: Path) -> Mapping[str, Any]:
    """Date and machine of the latest run; nothing without a file."""
    data = _parsed(path) if path.exists() else {}
    return data if isinstance(data, dict) else {}


def _entry(data: Any, place: str) -> Entry:
    claim = _Fields(data, place).text("claim")
    fields = _Fields(data, f"{place} ({_brief(claim)})")
    return Entry(
        typeset=_Fields(fields.get("typeset"), f"{fields.place}, typeset").texts(TEXTS),
        verdict=fields.choice("verdict", VERDICTS),
        reviewed=fields.choice("reviewed", VERDICTS),
        open=fields.flag("open"),
        how=fields.optional_choice("how", GROUNDS),
        severity=fields.optional_choice("severity", SEVERITIES),
        touches=fields.optional_choice("touches", TOUCHES),
        level=fields.choice("level", LEVELS),
        clauses=fields.objects("clauses", "clause", _clause),
        evidence=fields.objects("evidence", "evidence", _evidence),
        **_plain(Entry, fields, "verdict", "reviewed", "level"),
    )


def _evidence(data: Any, place: str) -> Evidence:
    fields = _Fields(data, place)
    counterexample, picture = fields.get("counterexample"), fields.get("picture")
    return Evidence(
        form=fields.choice("form", FORMS),
        outcome=fields.choice("outcome", OUTCOMES),
        how=fields.choice("how", GROUNDS),
        role=fields.choice("role", CHECK_ROLES),
        counterexample=None if counterexample is None else fields.mapping("counterexample"),
        picture=None if picture is None else _picture(picture, f"{place}, picture"),
        facts=fields.strings("facts"),
        rows=fields.objects("rows", "row", _row),
        **_plain(Evidence, fields, "form", "outcome", "how", "role"),
    )


def _row(data: Any, place: str) -> Mapping[str, Any]:
    return _Fields(data, place).data


def _clause(data: Any, place: str) -> Clause:
    fields = _Fields(data, place)
    return Clause(
        form=fields.choice("form", FORMS),
        word=fields.choice("word", CLAUSE_WORDS),
        how=fields.optional_choice("how", GROUNDS),
        **_plain(Clause, fields, "form", "word"),
    )


def _picture(data: Any, place: str) -> Picture:
    fields = _Fields(data, place)
    return Picture(
        typeset=_Fields(fields.get("typeset"), f"{place}, typeset").texts(("x", "y")),
        log=tuple(axis for axis in ("x", "y") if axis in fields.list("log")),
        series=fields.objects("series", "series", _series),
        slopes=fields.objects("slopes", "slope", _slope),
        **_plain(Picture, fields),
    )


def _series(data: Any, place: str) -> Series:
    fields = _Fields(data, place)
    columns: dict[str, Any] = {key: fields.numbers(key) for key in ("x", "y", "low", "high")}
    needed = {key: column for key, column in columns.items() if key in ("x", "y") or columns["low"] or columns["high"]}
    if len({len(column) for column in needed.values()}) > 1:
        lengths = ", ".join(f"{len(column)} {key}" for key, column in needed.items())
        raise ReportError(f"{place}: columns of different lengths ({lengths})")
    return Series(role=fields.choice("role", ROLES), **_plain(Series, fields, "role"), **columns)


def _slope(data: Any, place: str) -> Slope:
    return Slope(**_plain(Slope, _Fields(data, place)))


def _paper(data: Any, place: str) -> Paper:
    fields = _Fields(data, place)
    return Paper(
        **_plain(Paper, fields),
        stands=fields.objects("stands", "highlight", _highlight),
        sharper=fields.objects("sharper", "highlight", _highlight),
        figures=fields.objects("figures", "figure", _figure),
        notation=fields.objects("notation", "symbol", _symbol),
    )


def _symbol(data: Any, place: str) -> Symbol:
    fields = _Fields(data, place)
    typeset = _Fields(fields.get("typeset"), f"{place}, typeset").texts(("symbol", "meaning"))
    return Symbol(typeset=typeset, **_plain(Symbol, fields))


def _highlight(data: Any, place: str) -> Highlight:
    fields = _Fields(data, place)
    return Highlight(claims=fields.strings("claims"), **_plain(Highlight, fields))


def _figure(data: Any, place: str) -> Figure:
    fields = _Fields(data, place)
    return Figure(panels=fields.objects("panels", "panel", _panel), **_plain(Figure, fields))


def _panel(data: Any, place: str) -> Panel:
    return Panel(**_plain(Panel, _Fields(data, place)))


def _plain(record: type, fields: _Fields, *besides: str) -> dict[str, Any]:
    """The texts and numbers that a record declares, those named aside."""
    taken = {"str": fields.text, "int": fields.count, "float": fields.number, "float | None": fields.optional}
    declared = [item for item in dataclasses.fields(record) if item.name not in besides]
    return {item.name: taken[str(item.type)](item.name) for item in declared if item.type in taken}


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

    def texts(self, keys: Sequence[str]) -> dict[str, Any]:
        return {key: self.text(key) for key in keys}

    def choice(self, key: str, allowed: Sequence[str]) -> str:
        value = self.text(key)
        return value if value in allowed else self._refuse(key, f"one of {', '.join(allowed)}")

    def optional_choice(self, key: str, allowed: Sequence[str]) -> str | None:
        return None if self.get(key) is None else self.choice(key, allowed)

    def flag(self, key: str) -> bool:
        value = self.get(key)
        return value if isinstance(value, bool) else self._refuse(key, "true or false")

    def mapping(self, key: str) -> dict[str, Any]:
        value = self.get(key)
        return value if isinstance(value, dict) else self._refuse(key, "an object")

    def list(self, key: str) -> Sequence[Any]:
        value = self.get(key)
        return value if isinstance(value, list) else self._refuse(key, "a list")

    def objects(self, key: str, name: str, parse: Callable[[Any, str], _Item]) -> tuple[_Item, ...]:
        return tuple(parse(item, f"{self.place}, {name} {number}") for number, item in enumerate(self.list(key), 1))

    def strings(self, key: str) -> tuple[str, ...]:
        values = self.list(key)
        return tuple(values) if all(isinstance(value, str) for value in values) else self._refuse(key, "strings")

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
