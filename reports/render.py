"""From a results file to a PDF: compiled by typst, offline, written whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

import typst

from reports.consistency import markup_texts
from reports.document import SUMMARIES, SUMMARY_PAGES, Data, build
from reports.reader import read
from reports.results import Entry, ReportError, Results
from reports.text import one_line, printable

TEMPLATE, PROBE = "template.typ", "probe.typ"


def report(
    results: Path,
    out: Path,
    names: Sequence[str] = (),
    *,
    summary: bool = False,
    proofs: Callable[[Entry], Sequence[str]] = lambda _: (),
) -> Results:
    """Write the PDF for a results file (all of it, or the topics and claims named) and return what it shows.

    A summary has at most four pages a paper; `proofs` gives the names of a claim's proof files. The same results give
    the same bytes. Raises `ReportError` for a file that
    cannot be read, an unknown name, markup that does not compile (naming the claim) and a target that cannot be
    written; then `out` is as it was.
    """
    check_target(out)
    chosen = select(read(results), names)
    chosen = replace(chosen, entries=tuple(replace(entry, proofs=tuple(proofs(entry))) for entry in chosen.entries))
    write(out, compile_summary(chosen) if summary else compile_pdf(chosen))
    return chosen


def select(results: Results, names: Sequence[str]) -> Results:
    """The same results with the named topics and claims only."""
    if not names:
        return results
    topics = {entry.topic for entry in results.entries}
    claims = {entry.claim for entry in results.entries}
    for name in names:
        if name not in topics | claims:
            near = get_close_matches(name, [*topics, *claims], n=3)
            known = f"did you mean {' or '.join(near)}?" if near else f"it has {', '.join(sorted(topics))}"
            raise ReportError(f"{name!r} has no results in {results.path}; {one_line(known)}")
    chosen = tuple(entry for entry in results.entries if entry.topic in names or entry.claim in names)
    return replace(results, entries=chosen, names=tuple(names))


def compile_pdf(results: Results) -> bytes:
    """The whole report."""
    return _compiled(results, build(results))


def compile_summary(results: Results) -> bytes:
    """The front and the findings, as fully as they fit."""
    most = SUMMARY_PAGES * len({entry.topic for entry in results.entries})
    for summary in SUMMARIES:
        content = build(results, summary)
        if summary == SUMMARIES[-1] or _pages(results, content) <= most:
            break
    return _compiled(results, content)


def _compiled(results: Results, content: Data) -> bytes:
    try:
        return compile_file(TEMPLATE, {"report": dumps(content)})
    except typst.TypstError as error:
        raise _blamed(results, error) from None


def _pages(results: Results, content: Data) -> int:
    template = Path(__file__).with_name(TEMPLATE)
    inputs = {"report": dumps(content)}
    try:
        found = typst.query(template, "<pages>", field="value", one=True, ignore_system_fonts=True, sys_inputs=inputs)
    except (typst.TypstError, RuntimeError) as error:  # a query raises the latter
        raise _blamed(results, error) from None
    return int(found)


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
    try:
        folder, taken = out.parent.is_dir(), out.exists() and not out.is_file()
    except OSError:  # a name that no file can have
        folder, taken = True, True
    if not folder:
        raise ReportError(f"out = {out} is not allowed: the folder {out.parent} must exist")
    if taken or not os.access(out.parent, os.W_OK):
        raise ReportError(f"out = {out} is not allowed: it must be a file that can be written")


def write(out: Path, content: bytes) -> None:
    """Write the whole file or leave the old one as it was."""
    try:
        file = out.resolve()  # what a link points to, not the link
    except (OSError, RuntimeError) as error:  # the latter for a link to itself
        raise ReportError(f"{out}: cannot be written ({one_line(str(error))})") from None
    partial = file.with_name(f".dpbounds-{os.getpid()}.partial")
    try:
        partial.write_bytes(content)
        partial.replace(file)
    except OSError as error:
        raise ReportError(f"{out}: cannot be written ({error.strerror})") from None
    finally:
        partial.unlink(missing_ok=True)


def _blamed(results: Results, error: Exception) -> ReportError:
    """Which text does not compile; that of the report itself, if all of them do."""
    for name, markup in markup_texts(results):
        try:
            compile_file(PROBE, {"markup": printable(markup)})
        except typst.TypstError as found:
            said = f"{results.path}: the {name} is not Typst markup ({one_line(str(found))})"
            return ReportError(f"{said}: {one_line(markup)!r}")
    return ReportError(f"{results.path}: the report does not compile ({one_line(str(error))})")
