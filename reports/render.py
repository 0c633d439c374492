"""From a results file to a PDF: compiled by typst, offline, written whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import typst

from reports.document import Data, build
from reports.results import Entry, ReportError, Results, read
from reports.text import plain, printable

TEMPLATE, PROBE = "template.typ", "probe.typ"
MARKUP = ("statement", "hypotheses", "correction")


def report(results: Path, out: Path, topics: Sequence[str] | None = None) -> Results:
    """Write the PDF for a results file (all topics, or those named) and return what it shows.

    The same results give the same bytes. Raises `ReportError` for a file that cannot be read, an unknown topic, markup
    that does not compile (naming the claim) and a target that cannot be written; then `out` is as it was.
    """
    check_target(out)
    chosen = select(read(results), topics)
    write(out, compile_pdf(chosen))
    return chosen


def select(results: Results, topics: Sequence[str] | None) -> Results:
    """The same results with the named topics only."""
    if topics is None:
        return results
    for topic in topics:
        if topic not in results.topics:
            known = ", ".join(map(plain, results.topics))
            raise ReportError(f"topic {topic!r} has no results in {results.path}; it has {known}")
    return replace(results, entries=tuple(entry for entry in results.entries if entry.topic in topics))


def compile_pdf(results: Results) -> bytes:
    """The PDF."""
    try:
        return compile_file(TEMPLATE, {"report": dumps(build(results))})
    except typst.TypstError as error:
        for entry in results.entries:
            _try_markup(results, entry)
        raise ReportError(f"{results.path}: the report does not compile ({plain(str(error))})") from None


def compile_file(name: str, inputs: dict[str, str]) -> bytes:
    """The PDF of a Typst file of this package, with the fonts that typst brings along and no others.

    The folder of this package is all that markup can read.
    """
    return typst.compile(Path(__file__).with_name(name), ignore_system_fonts=True, sys_inputs=inputs)


def dumps(content: Data) -> str:
    """JSON for the template."""
    return json.dumps(content, allow_nan=False)


def check_target(out: Path) -> None:
    """Raise `ReportError` unless a PDF can be written there."""
    if out.suffix.lower() != ".pdf":
        raise ReportError(f"out = {out} is not allowed: it must be a file name that ends in .pdf")
    if not out.parent.is_dir():
        raise ReportError(f"out = {out} is not allowed: the folder {out.parent} must exist")
    if out.is_dir() or not os.access(out.parent, os.W_OK):
        raise ReportError(f"out = {out} is not allowed: it must be a file that can be written")


def write(out: Path, content: bytes) -> None:
    """Write the whole file or leave the old one as it was."""
    partial = out.with_name(f".{out.name}.{os.getpid()}.partial")
    try:
        partial.write_bytes(content)
        partial.replace(out)
    except OSError as error:
        raise ReportError(f"{out}: cannot be written ({error.strerror})") from None
    finally:
        partial.unlink(missing_ok=True)


def _try_markup(results: Results, entry: Entry) -> None:
    for name in MARKUP:
        markup = getattr(entry, name)
        try:
            compile_file(PROBE, {"markup": printable(markup)})
        except typst.TypstError as error:
            found = f"{results.path}: the {name} of {plain(entry.claim)} is not Typst markup ({plain(str(error))})"
            raise ReportError(f"{found}: {plain(markup)!r}") from None
