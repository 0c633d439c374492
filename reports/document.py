"""The report as data: what `template.typ` lays out. Plain text is passed as strings and never becomes markup."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from math import isfinite
from textwrap import shorten
from typing import Any

from reports.commands import again, commands
from reports.facts import digest
from reports.findings import FALSE, Finding, by_clause, findings, grounds_of, index, numbers, on_clauses
from reports.panels import MOST_COLUMNS, pictures_of, rates_used, rows, slope_cells
from reports.pictures import panels
from reports.results import GROUNDS, VERDICTS, Entry, Figure, Highlight, Paper, Results
from reports.rich import Rich, markup, rich
from reports.text import counted, number, one_line, typographic

Data = dict[str, Any]

TITLE = "Differentially private learning: theory decided claim by claim"
MEANINGS = {
    "confirmed": "every check of the statement as printed holds",
    "corrected": "false as printed; holds, with evidence, after the stated correction",
    "refuted": "false as printed, with no correction that was checked",
    "undecided": "the evidence does not suffice; it says what would",
    "not run": "no check of it ran; it says why",
}
GROUND_MEANINGS = {
    "proved": "by computer algebra",
    "certified": "by ball arithmetic over the whole stated range",
    "certified at points": "by ball arithmetic at a point: a counterexample, decided again by the claim's own code",
    "numeric": "by computation in high or double precision at many points, or by a search that tries to break it",
    "statistical": "by simulation against exact values, at stated error rates",
}
# Of a finding: title, and what it means. The empty one has not been looked at yet.
SEVERITY_TITLES = {
    "": ("New", "differ from the last review and are not classified yet"),
    "substantive": ("Substantive", "a guarantee, rate or conclusion that readers rely on is wrong"),
    "hypothesis": ("Hypotheses and constants", "a hypothesis is missing, or a constant is wrong with consequences"),
    "slip": ("Slips", "a misprint, an inconsistency or a line of a proof, repaired at sight"),
}
# Kinds of claims whose slack, bound over truth, tells how tight a bound is.
BOUNDS = ("inequality", "privacy", "mc-rate", "number", "algorithm")
FRONT_PICTURE = 2.7
# Characters of a check's own words in the table of claims.
MOST_EVIDENCE = 150
# How a summary is shortened until it fits: the number of pages a paper may take, and the ways.
SUMMARY_PAGES = 4
SUMMARIES = ("corrections", "places", "substantive", "counts")


def build(results: Results, summary: str = "") -> Data:
    """Everything the template shows, in the order of the file; with one of `SUMMARIES`, only the front and the
    findings, ever shorter.
    """
    found = findings(results.entries)
    of, severities = numbers(found), {item.severity for item in found}
    papers = [paper for paper in results.papers if results.of(paper.name)]
    chapters = [] if summary else [_chapter(paper, results.of(paper.name), of) for paper in papers]
    return {
        "title": TITLE,
        "scope": _scope(results),
        "header": _header(results, papers),
        "summary": summary,
        "contents": not summary and len(results.entries) > MOST_COLUMNS,
        "notation": [] if summary else [_notation(paper) for paper in papers if paper.notation],
        "fronts": [_front(paper, results, found, of) for paper in papers],
        "counts": _counts(results, papers),
        "grounds": [[how, GROUND_MEANINGS[how]] for how in GROUNDS if any(e.how == how for e in results.entries)],
        "proofs": any(entry.proofs for entry in results.entries),
        "severities": [_severity(name, found, papers) for name in SEVERITY_TITLES if name in severities],
        "again": again(found[0].entry) if found else "",
        "rates": rates_used([row for chapter in chapters for row in chapter["rows"]]),
        "chapters": chapters,
        "appendix": _appendix(results, papers),
        "index": index(results.entries, of),
    }


def _scope(results: Results) -> str:
    run = [_run_of(results.entries), results.machine, results.date]
    return "; ".join(typographic(part) for part in run if part)


def _header(results: Results, papers: Sequence[Paper]) -> str:
    counts = ", ".join(f"{one_line(paper.name)}: {counted(len(results.of(paper.name)), 'claim')}" for paper in papers)
    return f"{counts}; {_run_of(results.entries)}"


def _run_of(entries: Sequence[Entry]) -> str:
    """Levels and seeds, most frequent first."""
    levels = Counter(entry.level for entry in entries).most_common()
    seeds = Counter(entry.seed for entry in entries).most_common()
    named = " and ".join(level for level, _ in levels)
    return f"{named} level, seed {' and '.join(str(seed) for seed, _ in seeds)}"


def _notation(paper: Paper) -> list[Any]:
    """Title, and what each symbol means."""
    lines = [[markup(item.typeset[part]) for part in ("symbol", "meaning")] for item in paper.notation]
    return [typographic(paper.title or paper.name), lines]


# --- front ---


def _front(paper: Paper, results: Results, found: Sequence[Finding], of: Mapping[str, int]) -> Data:
    """What stands, what does not, what is sharper here, and the picture of the main result; of single claims only how
    many there are.
    """
    entries = results.of(paper.name)
    whole = not results.names or paper.name in results.names
    own = [item for item in found if item.entry.topic == paper.name]
    serious = [item for item in own if whole and item.severity in ("", "substantive")]
    changed = [entry for entry in entries if entry.verdict not in (entry.reviewed, "not run")]
    return {
        **_paper(paper),
        "counts": _count_sentence(entries, own),
        "stands": _highlights(paper.stands, entries),
        "serious": [{**place(item.entry), "number": item.number, "finding": said(item.entry)} for item in serious],
        "others": _others(own) if whole else "",
        "decided": whole and any(entry.verdict in ("confirmed", *FALSE) for entry in entries),
        "sharper": _highlights(paper.sharper, entries),
        "picture": _main_picture(paper, entries, of) if whole else None,
        "changed": [
            {"claim": one_line(entry.claim), "verdict": entry.verdict, "reviewed": entry.reviewed} for entry in changed
        ],
    }


def _paper(paper: Paper) -> Data:
    cited = [typographic(part) for part in (paper.venue, paper.version) if part]
    return {
        "name": one_line(paper.name),
        "title": typographic(paper.title or paper.name),
        "authors": typographic(paper.authors),
        "cited": "; ".join(dict.fromkeys(cited)),
        "link": one_line(paper.link),
    }


def _highlights(items: Sequence[Highlight], entries: Sequence[Entry]) -> list[Rich]:
    """The sentences whose claims are all here and have the verdict they were reviewed with."""
    as_reviewed = {entry.claim for entry in entries if entry.verdict == entry.reviewed}
    return [markup(item.typeset) for item in items if set(item.claims) <= as_reviewed]


def _count_sentence(entries: Sequence[Entry], own: Sequence[Finding]) -> str:
    count = Counter(entry.verdict for entry in entries)
    said = ", ".join(f"{count[word]} {word}" for word in VERDICTS if count[word])
    total = f"{counted(len(entries), 'statement')}: {said}."
    partly = sum(bool(entry.open_clauses) for entry in entries)
    if partly:
        total += f" {number(partly)} of them but for a clause that no check decides."
    followers = sum(len(item.followers) for item in own)
    if not followers:
        return total
    return (
        f"{total} {counted(len(own), 'fault')} by root: {followers} of the false ones fall only because another does."
    )


def _others(own: Sequence[Finding]) -> str:
    """How many faults there are beside the substantive ones, and where they are told."""
    parts = []
    for severity, one, many in (
        ("hypothesis", "missing hypothesis or wrong constant", "missing hypotheses or wrong constants"),
        ("slip", "slip", "slips"),
    ):
        found = [item.number for item in own if item.severity == severity]
        if found:
            parts.append(f"{number(len(found))} {one if len(found) == 1 else many} ({_ranges(found)})")
    return " and ".join(parts)


def _ranges(found: Sequence[int]) -> str:
    """`Finding 3`, `Findings 3, 5 to 9`."""
    runs: list[list[int]] = []
    for value in found:
        if runs and runs[-1][-1] == value - 1:
            runs[-1].append(value)
        else:
            runs.append([value])
    shown = [str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs]
    return f"Finding{'s' * (len(found) > 1)} {', '.join(shown)}"


def _main_picture(paper: Paper, entries: Sequence[Entry], of: Mapping[str, int]) -> Data | None:
    entry = next((entry for entry in entries if entry.claim == paper.main_picture), None)
    titles = {panel.claim: rich(panel.title, panel.typeset) for figure in paper.figures for panel in figure.panels}
    items = pictures_of([(titles.get(entry.claim, ""), entry)])[:1] if entry else []
    if not items:
        return None
    (row,) = rows(items, 1, of, FRONT_PICTURE)
    row["panels"][0] |= {"setting": "", "slopes": []}  # its figure has them
    return row


def _counts(results: Results, papers: Sequence[Paper]) -> Data:
    """A column per paper: verdicts with their grounds, and faults by severity."""
    words = [word for word in VERDICTS if any(entry.verdict == word for entry in results.entries)]
    table = []
    for word in words:
        of_word = [[entry for entry in results.of(paper.name) if entry.verdict == word] for paper in papers]
        cells = [_with_grounds(entries) for entries in of_word]
        table.append({"word": word, "meaning": MEANINGS[word], "cells": cells})
    return {"papers": [one_line(paper.name) for paper in papers], "rows": table}


def _with_grounds(entries: Sequence[Entry]) -> list[str]:
    if not entries:
        return ["–", ""]
    grounds = Counter(entry.how for entry in entries if entry.how)
    return [str(len(entries)), ", ".join(f"{grounds[how]} {how}" for how in GROUNDS if grounds[how])]


# --- findings ---


def _severity(name: str, found: Sequence[Finding], papers: Sequence[Paper]) -> Data:
    title, meaning = SEVERITY_TITLES[name]
    of_papers = []
    for paper in papers:
        own = [item for item in found if item.severity == name and item.entry.topic == paper.name]
        if own:
            of_papers.append({"title": _paper(paper)["title"], "items": [_finding(item) for item in own]})
    return {"name": name, "title": title, "meaning": meaning, "papers": of_papers}


def _finding(item: Finding) -> Data:
    entry = item.entry
    texts = ("statement", "hypotheses", "setting", "consequence")
    corrected = ("correction", "ground")
    return {
        **place(entry),
        **{name: markup(entry.typeset[name]) for name in texts},
        **{name: markup(entry.typeset[name]) if entry.verdict == "corrected" else "" for name in corrected},
        "finding": said(entry),
        "number": item.number,
        "verdict": entry.verdict,
        "how": grounds_of(entry),
        "touches": entry.touches or "",
        "proofs": list(entry.proofs),
        "root": one_line(entry.root),
        "support": [
            {"how": on_clauses(evidence, entry), "summary": typographic(evidence.summary)}
            for evidence in entry.evidence
            if evidence.form == "corrected" and entry.verdict == "corrected"
        ],
        "followers": [{**place(follower), "finding": said(follower)} for follower in item.followers],
    }


def said(entry: Entry) -> Rich:
    """The finding: a sentence that somebody wrote, or what the check itself said."""
    written = entry.severity is not None or entry.verdict == "not run"
    return markup(entry.typeset["finding"]) if written else rich(entry.finding, entry.typeset["finding"])


def place(entry: Entry) -> Data:
    """The claim and where to look for it: as the paper names it, the equation, the page."""
    parts = [typographic(entry.where).replace("`", "")]
    if entry.equation and entry.equation not in entry.where:
        parts.append(typographic(entry.equation))
    if entry.page:
        parts.append(f"p.\u00a0{entry.page}")
    return {"claim": one_line(entry.claim), "where": ", ".join(part for part in parts if part)}


# --- papers ---


def _chapter(paper: Paper, entries: Sequence[Entry], of: Mapping[str, int]) -> Data:
    claims = {entry.claim: entry for entry in entries}
    in_figures = {panel.claim for figure in paper.figures for panel in figure.panels}
    figures = [_figure(figure, claims, of) for figure in paper.figures]
    figures = [figure for figure in figures if figure["rows"]]
    others = pictures_of([("", entry) for entry in entries if entry.claim not in in_figures])
    gallery = rows(others, min(len(others), MOST_COLUMNS) if len(others) > 1 else 2, of)
    settled = [entry for entry in entries if entry.verdict not in ("undecided", "not run")]
    return {
        **_paper(paper),
        "claims": [_claim(entry, of) for entry in settled],
        "figures": figures,
        "gallery": gallery,
        "rows": [*(row for figure in figures for row in figure["rows"]), *gallery],
        "open": [
            {**_stated(entry), "verdict": entry.verdict, "reason": said(entry)}
            for entry in entries
            if entry not in settled
        ],
    }


def _stated(entry: Entry) -> Data:
    texts = ("statement", "hypotheses", "setting", "remark")
    return {**place(entry), **{name: markup(entry.typeset[name]) for name in texts}}


def _claim(entry: Entry, of: Mapping[str, int]) -> Data:
    follows = entry.verdict == "corrected" and bool(entry.root)
    return {
        **_stated(entry),
        "verdict": entry.verdict,
        "how": grounds_of(entry),
        "slack": slack(entry),
        "finding": of.get(entry.claim, 0),
        "correction": markup(entry.typeset["correction"]) if follows else "",
        "evidence": typographic(f"{_evidence(entry)} {by_clause(entry)}".strip()),
        "derivation": markup(entry.typeset["derivation"]),
        "proofs": list(entry.proofs),
    }


def slack(entry: Entry) -> str:
    """Bound over truth, of bounds that hold."""
    shown = entry.verdict in ("confirmed", "corrected") and entry.kind in BOUNDS
    return number(entry.slack) if shown and entry.slack is not None and isfinite(entry.slack) else ""


def _evidence(entry: Entry) -> str:
    """The check on which the verdict stands, and how many there are beside it."""
    form = "corrected" if entry.verdict == "corrected" else "printed"
    found = [item for item in entry.evidence if item.form == form]
    if entry.verdict == "refuted":
        found = [item for item in entry.evidence if item.outcome == "fails"]
    basis = next((item for item in found if item.how == entry.how and item.role == "proof"), None)
    others = Counter(item.how for item in found if item is not basis)
    beside = ", ".join(f"{count} {how}" for how, count in others.items())
    said = shorten(basis.summary, MOST_EVIDENCE, placeholder=" …") if basis else ""
    return f"{said} Beside it: {beside}." if beside else said


def _figure(figure: Figure, claims: Mapping[str, Entry], of: Mapping[str, int]) -> Data:
    present = [
        (rich(panel.title, panel.typeset), claims[panel.claim]) for panel in figure.panels if panel.claim in claims
    ]
    items = pictures_of(present)
    slopes = [
        [title, *slope_cells(slope)] for title, entry in present for item in panels(entry) for slope in item.slopes
    ]
    drawn = rows(items, min(max(len(items), 2), MOST_COLUMNS), of)
    for row in drawn:
        for panel in row["panels"]:
            panel["slopes"] = []
    return {
        "name": typographic(figure.name),
        "title": rich(figure.title, figure.typeset),
        "rows": drawn,
        "slopes": slopes,
    }


# --- appendix ---


def _appendix(results: Results, papers: Sequence[Paper]) -> Data:
    runs = Counter((entry.topic, entry.level, entry.seed, entry.code) for entry in results.entries)
    trials = sum(item.trials for entry in results.entries for item in entry.evidence)
    checks = sum(len(entry.evidence) for entry in results.entries)
    return {
        "work": f"{counted(checks, 'check')} with {counted(trials, 'simulated run')}",
        "machine": typographic(results.machine),
        "date": typographic(results.date),
        "mixed": len({(entry.topic, entry.code) for entry in results.entries}) > len(papers),
        "runs": [
            [one_line(topic), level, str(seed), one_line(code), str(count)]
            for (topic, level, seed, code), count in runs.items()
        ],
        "facts": [
            [one_line(entry.claim), facts]
            for entry in results.entries
            if (facts := digest([fact for item in entry.evidence for fact in item.facts]))
        ],
        "versions": [[one_line(name), one_line(version)] for name, version in results.versions.items()],
        "commands": [command for paper in papers for command in commands(results, paper.name)]
        + [shlex.join(["dpbounds", "report", *map(one_line, _names(results, papers)), "--out", "report.pdf"])],
    }


def _names(results: Results, papers: Sequence[Paper]) -> Sequence[str]:
    """What the report was asked for; all topics where nothing was named."""
    return results.names or [paper.name for paper in papers]
