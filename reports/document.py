"""The report as data: what `template.typ` lays out. Plain text is passed as strings and never becomes markup."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from math import isnan
from typing import Any

from reports import ftrl, iv, papers
from reports.figures import label_lines, svg
from reports.pictures import panels
from reports.results import GROUNDS, VERDICTS, Entry, Picture, Results, Slope
from reports.text import facts, fixed, number, plain, printable, typographic

Data = dict[str, Any]

TITLE = "Differentially private learning: theory decided claim by claim"
MEANINGS = {
    "confirmed": "every check of the statement as printed holds",
    "corrected": "false as printed; holds, with evidence, after the stated correction",
    "refuted": "false as printed, with no correction that was checked",
    "undecided": "the evidence does not suffice",
    "not run": "no check of it ran",
}
GROUND_MEANINGS = {
    "proved": "by computer algebra",
    "certified": "by ball arithmetic over the whole stated range",
    "numeric": "by computation in high or double precision at many points, or by a search that tries to break it",
    "statistical": "by simulation against exact values, at stated error rates",
}
# The papers that have a room here; a topic without one is reported under its own name.
PAPERS = {"ftrl": ftrl.PAPER, "iv": iv.PAPER}
DECIDED = ("confirmed", "refuted", "corrected")
# Inches between the margins of the template, and between its columns.
TEXT_WIDTH, GUTTER = 17 / 2.54, 9 / 72
GALLERY_COLUMNS = 3


def build(results: Results) -> Data:
    """Everything the template shows, in the order of the file."""
    entries = results.entries
    findings = [entry for entry in entries if entry.verdict in ("refuted", "corrected")]
    numbers = {entry.claim: str(index) for index, entry in enumerate(findings, 1)}
    return {
        "title": TITLE,
        "scope": _scope(results),
        "summary": _summary(results),
        "findings": [_finding(entry, numbers[entry.claim]) for entry in findings],
        "recompute": _command(findings[0], [findings[0].claim]) if findings else "",
        "papers": [_paper(topic, results.of(topic), numbers) for topic in results.topics],
        "appendix": _appendix(results),
    }


def _scope(results: Results) -> str:
    counts = ", ".join(f"{plain(topic)}: {_counted(len(results.of(topic)), 'claim')}" for topic in results.topics)
    return f"{counts}; {_run_of(results.entries)}"


def _run_of(entries: Sequence[Entry]) -> str:
    """Levels and seeds, most frequent first."""
    levels = Counter(entry.level for entry in entries).most_common()
    seeds = Counter(entry.seed for entry in entries).most_common()
    named = " and ".join(level for level, _ in levels)
    return f"{named} level, seed {' and '.join(str(seed) for seed, _ in seeds)}"


def _counted(count: int, noun: str) -> str:
    return f"{number(count)} {noun}{'' if count == 1 else 's'}"


# --- summary ---


def _summary(results: Results) -> Data:
    several = len(results.topics) > 1
    changed = [entry for entry in results.entries if entry.verdict in DECIDED and entry.verdict != entry.reviewed]
    return {
        "sentences": _sentences(results.entries),
        "tables": [_counts(results.of(topic), plain(topic) if several else "") for topic in results.topics],
        "grounds": list(GROUND_MEANINGS.items()),
        "changed": [
            {"claim": plain(entry.claim), "verdict": entry.verdict, "reviewed": entry.reviewed} for entry in changed
        ],
    }


def _sentences(entries: Sequence[Entry]) -> list[str]:
    count = Counter(entry.verdict for entry in entries)
    said = ", ".join(f"{count[word]} {word}" for word in VERDICTS if count[word])
    trials = sum(item.trials for entry in entries for item in entry.evidence)
    checks = sum(len(entry.evidence) for entry in entries)
    sentences = [
        f"{_counted(len(entries), 'numbered statement')}: {said}.",
        f"The verdicts follow from {_counted(checks, 'check')} with {_counted(trials, 'simulated run')}.",
    ]
    if len({entry.code for entry in entries}) > 1:
        sentences.append("Verdicts of several code versions are mixed in this file; the appendix lists them.")
    return sentences


def _counts(entries: Sequence[Entry], title: str) -> Data:
    words = [word for word in VERDICTS if any(entry.verdict == word for entry in entries)]
    cells = Counter((entry.verdict, entry.how) for entry in entries)
    grounds = Counter(entry.how for entry in entries)
    per_word = Counter(entry.verdict for entry in entries)
    return {
        "title": title,
        "columns": [*GROUNDS, "all"],
        "rows": [
            {
                "word": word,
                "meaning": MEANINGS[word],
                "counts": [_count(cells[word, how]) for how in GROUNDS] + [str(per_word[word])],
            }
            for word in words
        ],
        "totals": [_count(grounds[how]) for how in GROUNDS] + [str(len(entries))],
    }


def _count(value: int) -> str:
    return str(value) if value else "–"


# --- findings ---


def _finding(entry: Entry, index: str) -> Data:
    failure = next((item for item in entry.evidence if item.outcome == "fails" and item.summary in entry.finding), None)
    found = typographic(_found(entry))
    shown = facts(failure.counterexample) if failure and failure.counterexample else []
    return {
        **_heading(entry),
        "number": index,
        "verdict": entry.verdict,
        "how": entry.how or "",
        "found": found,
        "facts": [fact for fact in shown if " " not in fact[1] or fact[1] not in found],
        "correction": printable(entry.correction) if entry.verdict == "corrected" else "",
        "support": [
            {"how": item.how, "summary": typographic(item.summary)}
            for item in entry.evidence
            if item.form == "corrected" and entry.verdict == "corrected"
        ],
    }


def _found(entry: Entry) -> str:
    """What the evidence says against the statement, without the correction, which is markup and set by itself."""
    return entry.finding.removesuffix(entry.correction).rstrip().removesuffix("Holds when corrected:").rstrip()


def _heading(entry: Entry) -> Data:
    return {
        "claim": plain(entry.claim),
        "where": typographic(entry.where),
        "statement": printable(entry.statement),
        "hypotheses": printable(entry.hypotheses),
    }


# --- papers ---


def _paper(topic: str, entries: Sequence[Entry], numbers: dict[str, str]) -> Data:
    paper = PAPERS.get(topic) or papers.Paper(title=plain(topic))
    claims = {entry.claim: entry for entry in entries}
    in_figures = {panel.claim for figure in paper.figures for panel in figure.panels}
    figures = [_figure(figure, claims) for figure in paper.figures]
    gallery = [entry for entry in entries if entry.claim not in in_figures]
    return {
        "title": paper.title,
        "citation": paper.citation,
        "claims": [_claim(entry, numbers) for entry in entries if entry.verdict != "not run"],
        "figures": [figure for figure in figures if figure["panels"]],
        "gallery": _panels([("", entry) for entry in gallery], GALLERY_COLUMNS),
        "not_run": [
            {**_heading(entry), "reason": typographic(entry.finding)} for entry in entries if entry.verdict == "not run"
        ],
    }


def _claim(entry: Entry, numbers: dict[str, str]) -> Data:
    return {
        **_heading(entry),
        "verdict": entry.verdict,
        "how": entry.how or "",
        "slack": "" if entry.slack is None else number(entry.slack),
        "finding": numbers.get(entry.claim, ""),
        "evidence": typographic(_evidence(entry)),
    }


def _evidence(entry: Entry) -> str:
    """The check on which the verdict stands, and how many there are beside it."""
    if entry.verdict in ("refuted", "corrected"):
        return _found(entry)
    basis = next((item for item in entry.evidence if item.how == entry.how), None)
    others = Counter(item.how for item in entry.evidence if item is not basis)
    beside = ", ".join(f"{count} {how}" for how, count in others.items())
    said = entry.finding if entry.verdict == "undecided" else basis.summary if basis else ""
    return f"{said} Further checks: {beside}." if beside else said


# --- pictures ---


def _figure(figure: papers.Figure, claims: dict[str, Entry]) -> Data:
    columns = min(max(len(figure.panels), 2), GALLERY_COLUMNS)
    present = [(panel.title, claims[panel.claim]) for panel in figure.panels if panel.claim in claims]
    slopes = [[title, *_slope(slope)] for title, entry in present for item in panels(entry) for slope in item.slopes]
    drawn = [entry for _, entry in present if panels(entry)]
    return {
        "name": figure.name,
        "title": figure.title,
        "setup": f"Lines: theory; points: simulation with intervals; {_run_of(drawn)}." if drawn else "",
        "columns": columns,
        "panels": [{**panel, "slopes": []} for panel in _panels(present, columns)],
        "slopes": slopes,
    }


def _panels(titled: Sequence[tuple[str, Entry]], columns: int) -> list[Data]:
    """Every picture of the claims, for a grid of so many columns; a panel without a title is called by its place.

    The hypotheses stand under the first picture of a claim.
    """
    width = (TEXT_WIDTH - (columns - 1) * GUTTER) / columns
    pictures = [(title, entry, *found) for title, entry in titled for found in enumerate(panels(entry))]
    lines_above = max((label_lines(picture, width) for *_, picture in pictures), default=1)
    return [
        {
            **_heading(entry),
            "title": title or typographic(entry.where),
            "hypotheses": "" if index else printable(entry.hypotheses),
            "svg": svg(picture, width, lines_above),
            "alt": f"{plain(entry.claim)}: {typographic(picture.y)} against {typographic(picture.x)}",
            "setup": _setup(entry, picture),
            "slopes": [_slope_line(slope) for slope in picture.slopes],
        }
        for title, entry, index, picture in pictures
    ]


def _setup(entry: Entry, picture: Picture) -> str:
    """How the picture's numbers were made: simulated runs, rates of error, and the verdict they led to."""
    drawn = [item for item in entry.evidence if item.picture and _same_axes(item.picture, picture)]
    simulated = [item for item in drawn if item.trials]
    parts = [_counted(sum(item.trials for item in simulated), "run")] if simulated else []
    for name, sign in (("alpha", "α"), ("beta", "β"), ("resolution", "resolution")):
        values = [value for value in (getattr(item, name) for item in simulated) if value is not None]
        parts += [f"{sign}\u00a0=\u00a0{number(max(values), 2)}"] if values else []
    if entry.verdict in ("refuted", "corrected"):
        parts.append("as printed" if any(item.form == "printed" for item in drawn) else "as corrected")
    ground = f" ({entry.how})" if entry.how else ""
    return "; ".join([*parts, f"{entry.verdict}{ground}."])


def _same_axes(one: Picture, other: Picture) -> bool:
    return (one.x, one.y, one.log) == (other.x, other.y, other.log)


def _slope(slope: Slope) -> list[str]:
    values = (slope.printed, slope.exact, slope.simulated)
    interval = f"[{fixed(slope.low)}, {fixed(slope.high)}]"
    return [typographic(slope.group), *(number(None) if isnan(value) else fixed(value) for value in values), interval]


def _slope_line(slope: Slope) -> str:
    group, printed, exact, simulated, interval = _slope(slope)
    return f"Slope of {group}: printed {printed}, exact {exact}, simulated {simulated} in {interval}."


# --- appendix ---


def _appendix(results: Results) -> Data:
    runs = Counter((entry.topic, entry.level, entry.seed, entry.code) for entry in results.entries)
    return {
        "runs": [
            [plain(topic), level, str(seed), plain(code), str(count)]
            for (topic, level, seed, code), count in runs.items()
        ],
        "versions": [[plain(name), plain(version)] for name, version in results.versions.items()],
        "commands": [command for topic in results.topics for command in _commands(topic, results.of(topic))]
        + [shlex.join(["dpbounds", "report", *_topic_options(results), "--out", "report.pdf"])],
    }


def _topic_options(results: Results) -> list[str]:
    return [part for topic in results.topics for part in ("--topic", plain(topic))]


def _commands(topic: str, entries: Sequence[Entry]) -> list[str]:
    """The whole topic at its most frequent level and seed, then the claims that were run otherwise."""
    runs: dict[tuple[str, int], list[Entry]] = {}
    for entry in entries:
        runs.setdefault((entry.level, entry.seed), []).append(entry)
    first, *others = sorted(runs.values(), key=len, reverse=True)
    return [_command(first[0], [topic]), *(_command(run[0], [entry.claim for entry in run]) for run in others)]


def _command(entry: Entry, names: Sequence[str]) -> str:
    options = ["--level", entry.level, "--seed", str(entry.seed)]
    return shlex.join(["dpbounds", "verify", *map(plain, names), *options])
