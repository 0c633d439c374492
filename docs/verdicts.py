"""What a results file says, as pages: one per paper, one per claim, the gallery, badges, citations and tables of data.

The words, the order and the pictures are those of the PDF (`reports.document.build`); only the layout is ours.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from docs import latex, tables
from docs.code import code_of
from docs.markup import as_html, markups, rich_filter
from reports.commands import again, commands
from reports.document import (
    BOUNDS,
    GROUND_MEANINGS,
    MEANINGS,
    SEVERITY_TITLES,
    build,
    place,
    said,
    slack,
)
from reports.figures import FONT, ROLE_NAMES
from reports.findings import FALSE, Finding, findings, grounds_of, numbers, on_clauses
from reports.pictures import panels
from reports.results import TEXTS, Clause, Entry, Figure, Paper, Picture, ReportError, Results, Series
from reports.rich import markup, rich
from reports.text import counted, number, one_line, typographic
from verify.checks import statistics
from verify.statements.derivations import LEMMAS

Data = dict[str, Any]
# Of each claim, the pictures that the PDF has of it.
Pictures = Mapping[str, list[Data]]

# Pages in a table of contents beside those of papers.
LISTED = ("verdicts/claims", "reference/names", "reference/commands", "reference/formats")
TEMPLATES = Path(__file__).with_name("templates")
# What a claim's id may be, since it becomes an address: no way out of the folder.
_CLAIM = re.compile(r"[a-z][a-z0-9_-]*/[A-Za-z0-9][A-Za-z0-9_.()+-]*")
_TEX = {character: f"\\{character}" for character in "&%$#_{}"} | {"\\": "", "~": " ", "^": ""}
# Width and height at the head of a drawing.
_SIZE = re.compile(r' (?:width|height)="([0-9]+)[0-9.]*pt"')
# The width there, with the frame, and what is added on either side, in points.
_WIDTH = re.compile(r' width="([0-9.]+)pt"( height="[0-9.]+pt") viewBox="0 0 [0-9.]+ ')
MARGIN = 8.0
# Widths of the badge's letters, in pixels.
LETTER, PADDING = 6.6, 12


@dataclass(kw_only=True)
class Site:
    """Pages by name, each with its title and its inside, files by path, what every template may show, and the claims
    whose code names a function or class, by the place of that.
    """

    environment: Environment
    shared: Data
    pages: dict[str, tuple[str, str]] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    users: dict[str, list[str]] = field(default_factory=dict)

    def add(self, name: str, title: str, template: str, **content: Any) -> None:
        """A page made by a template."""
        inside = self.environment.get_template(f"{template}.html").render(**self.at(name), **content)
        self.pages[name] = (one_line(title), inside)

    def at(self, name: str) -> Data:
        """What every template may show, with the way from this page to the root."""
        return {"root": "../" * name.count("/"), **self.shared}

    def stored(self, svg: str) -> str:
        """The path of a drawing; equal drawings are one file."""
        path = f"figures/{hashlib.sha256(svg.encode()).hexdigest()[:16]}.svg"
        self.files[path] = svg.encode()
        return path


def site_of(results: Results) -> Site:
    """All that comes from the results.

    Raises `ReportError` for markup that does not compile and for names that can be no address.
    """
    check_addresses(results)
    content = build(results)
    entries = {entry.claim: entry for entry in results.entries}
    papers = [paper for paper in results.papers if results.of(paper.name)]
    site = Site(environment=_environment(), shared={"results": results, "entries": entries, "sums": _sums(results)})
    site.shared |= {
        "rates": statistics,
        "meanings": MEANINGS,
        "ground_meanings": GROUND_MEANINGS,
        "severities": SEVERITY_TITLES,
    }
    html = as_html({*_texts(results), *markups(content)}, results.path)
    site.environment.filters |= {"rich": rich_filter(html), "file": site.stored}
    found = findings(results.entries)
    for paper, front, chapter in zip(papers, content["fronts"], content["chapters"], strict=True):
        drawn = _figures(site, chapter, entries)
        summary = _summary(paper, results, front, chapter, drawn)
        site.shared.setdefault("papers", []).append(summary)
        own = [item for item in found if item.entry.topic == paper.name]
        _add_paper(site, summary, own, drawn, numbers(found))
    site.add("verdicts/claims", "All claims", "claims")
    return site


def _add_paper(site: Site, paper: Data, found: Sequence[Finding], drawn: Pictures, of: Mapping[str, int]) -> None:
    """Its page, its gallery, its badge, and a page for each of its claims."""
    name = paper["name"]
    site.add(f"verdicts/{name}/index", f"{name}: {paper['title']}", "paper", paper=paper, found=found)
    site.add(f"gallery/{name}", f"Figures of {name}", "gallery", paper=paper)
    site.files[f"badges/{name}.svg"] = site.environment.get_template("badge.svg").render(_badge(paper)).encode()
    followers = {item.entry.claim: item.followers for item in found}
    entries = paper["entries"]
    for before, entry, after in zip((None, *entries), entries, (*entries[1:], None), strict=False):
        claim: Data = _claim(entry, of, site.shared["results"], drawn, paper) | {"before": before, "after": after}
        for module, names in claim["code"].uses.items():
            for used in names:
                site.users.setdefault(f"{module}.{used}", []).append(entry.claim)
        # The verdict is in the title: a search answers without a click.
        where = typographic(entry.where).replace("`", "")
        named = f"{where[:1].upper()}{where[1:]} ({entry.claim})" if where else entry.claim
        site.add(
            f"verdicts/{entry.claim}",
            f"{named}: {entry.verdict}",
            "claim",
            claim=claim,
            followers=followers.get(entry.claim, ()),
        )


def _texts(results: Results) -> set[str]:
    """The markup of claims and of papers that the report's data may not have."""
    texts = {text for entry in results.entries for text in (*entry.typeset.values(), *markups(said(entry)))}
    texts |= {clause.typeset for entry in results.entries for clause in entry.clauses}
    texts |= {item.typeset for paper in results.papers for item in (*paper.stands, *paper.sharper)} | {*LEMMAS.values()}
    return texts | {text for paper in results.papers for item in paper.notation for text in item.typeset.values()}


def check_addresses(results: Results) -> None:
    """Raise `ReportError` for a claim or topic whose name can be no address, or is that of another."""
    seen = Counter(entry.claim.lower() for entry in results.entries)
    for entry in results.entries:
        good = _CLAIM.fullmatch(entry.claim) and entry.claim.startswith(f"{entry.topic}/")
        if not good or entry.claim.endswith("/index") or seen[entry.claim.lower()] > 1:
            said = "topic/name of letters, digits and _.()+-, no two alike"
            raise ReportError(f"{results.path}: claim {one_line(entry.claim)!r} can be no address: it must be {said}")


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "markup": markup,
        "typographic": typographic,
        "number": number,
        "counted": counted,
        "said": said,
        "place": place,
        "latex": latex.text,
        "comparisons": tables.comparisons,
        "example": tables.example,
        "block": lambda text: Markup(re.sub(r"\s*\n\s*", "\n", text).strip()),
        "json": lambda value: json.dumps(value, indent=1, ensure_ascii=False, default=str),
    }
    return environment


# --- papers ---


def _summary(paper: Paper, results: Results, front: Data, chapter: Data, drawn: Pictures) -> Data:
    entries = results.of(paper.name)
    return {
        **front,
        "entries": entries,
        "count": Counter(entry.verdict for entry in entries),
        "severity": Counter(entry.severity for entry in entries if entry.verdict in FALSE and not entry.root),
        "command": "\n".join(commands(results, paper.name)),
        "grounds": {entry.claim: grounds_of(entry) for entry in entries},
        "slack": {entry.claim: slack(entry) for entry in entries},
        "notation": paper.notation,
        "figures": [_undecided(figure, drawn, results) for figure in paper.figures],
        "main": next(iter(drawn.get(paper.main_picture, ())), None),
        "pictures": {claim: shown for claim, shown in drawn.items() if claim not in _in_figures(paper)},
        "slopes": {figure["name"]: figure["slopes"] for figure in chapter["figures"]},
    }


def _in_figures(paper: Paper) -> set[str]:
    return {panel.claim for figure in paper.figures for panel in figure.panels}


def _undecided(figure: Figure, drawn: Pictures, results: Results) -> Data:
    """A figure of the paper with the pictures of its panels, and why those have none that have none."""
    entries = {entry.claim: entry for entry in results.entries}
    present = [panel.claim for panel in figure.panels if panel.claim in entries]
    return {
        "name": typographic(figure.name),
        "title": typographic(figure.title),
        "pictures": [picture for claim in present for picture in drawn.get(claim, ())],
        "open": [entries[claim] for claim in present if entries[claim].verdict in ("undecided", "not run")],
        "missing": [panel.claim for panel in figure.panels if panel.claim not in entries],
    }


def _badge(paper: Data) -> Data:
    """What the badge says: how many statements stand as printed."""
    left, right = "dpbounds", f"{paper['count']['confirmed']} of {len(paper['entries'])} statements stand as printed"
    widths = [round(LETTER * len(text) + PADDING) for text in (left, right)]
    return {"left": left, "right": right, "widths": widths, "title": paper["title"]}


# --- claims ---


def _claim(entry: Entry, of: Mapping[str, int], results: Results, drawn: Pictures, paper: Data) -> Data:
    at = place(entry)
    return {
        "entry": entry,
        "where": at["where"],
        "texts": {name: markup(entry.typeset[name]) for name in TEXTS},
        "said": said(entry),
        "grounds": grounds_of(entry),
        "slack": slack(entry) if entry.kind in BOUNDS else "",
        "finding": of.get(entry.claim, 0),
        "changed": entry.verdict not in (entry.reviewed, "not run"),
        "clauses": _clauses(entry),
        "evidence": [{"item": item, "ground": on_clauses(item, entry)} for item in entry.evidence],
        "pictures": drawn.get(entry.claim, ()),
        "command": again(entry),
        "citation": citation(entry, results, paper["title"]),
        "code": code_of(entry),
        "resting": _resting(entry, next(item for item in results.papers if item.name == entry.topic)),
    }


def _resting(entry: Entry, paper: Paper) -> Data:
    """The sentences about the paper that hold only while this claim's verdict is the reviewed one, and the figures in
    which its picture stands.
    """
    return {
        "sentences": [item for item in (*paper.stands, *paper.sharper) if entry.claim in item.claims],
        "figures": [item for item in paper.figures if entry.claim in {panel.claim for panel in item.panels}],
    }


def _clauses(entry: Entry) -> list[Clause]:
    """What is said of each; nothing where the verdict says all of it, since there is one of a kind."""
    shown = [clause for clause in entry.clauses if clause.form == "printed" or entry.verdict == "corrected"]
    return shown if len({clause.letter for clause in shown}) > 1 else []


def citation(entry: Entry, results: Results, title: str) -> str:
    """BibTeX: what was decided, of which paper, by which version and run."""

    def tex(text: str) -> str:
        return "".join(_TEX.get(character, character) for character in one_line(text))

    where = entry.where.replace("`", "") or entry.claim
    verdict = entry.verdict + (f" ({grounds_of(entry)})" if entry.how else "")
    run = f"claim {entry.claim}, {entry.level} level, seed {entry.seed}, code {entry.code[:12]}"
    fields = {
        "title": f"{{{tex(where)} of ``{tex(title)}'': {tex(verdict)}}}",
        "author": "{dpbounds developers}",
        "year": f"{{{results.date[:4]}}}" if results.date[:4].isdecimal() else "",
        "note": f"{{dpbounds {tex(results.versions.get('dpbounds', ''))}, {tex(run)}}}",
    }
    lines = [f"  {name} = {value}," for name, value in fields.items() if value]
    return "\n".join([f"@misc{{dpbounds:{entry.claim},", *lines, "}"])


# --- pictures ---


def _figures(site: Site, chapter: Data, entries: Mapping[str, Entry]) -> Pictures:
    """The pictures of each claim, as the PDF draws them, each with its legend whole and its numbers as a file."""
    found: dict[str, list[Data]] = {}
    for row in chapter["rows"]:
        for panel in row["panels"]:
            whole = panel | {"legend": panel["legend"] + row["legend"], "svg": _widened(panel["svg"])}
            found.setdefault(panel["claim"], []).append(whole)
    for claim, shown in found.items():
        pictures = panels(entries[claim])
        del shown[len(pictures) :]  # a claim may stand in two figures
        for index, (panel, picture) in enumerate(zip(shown, pictures, strict=True), 1):
            path = f"figures/{claim}-{index}"
            panel |= {"csv": f"{path}.csv", "image": f"{path}.svg" if panel["svg"] else "", "index": index}
            panel |= {"legend": _legend(panel, picture), "size": _SIZE.findall(panel["svg"])[:2]}
            site.files[panel["csv"]] = _table(picture.series)
            if panel["svg"]:
                site.files[panel["image"]] = panel["svg"].replace(FONT, "sans-serif").encode()
    return found


def _widened(svg: str) -> str:
    """With room left and right: a browser's letters are wider than those that the drawing was made for."""

    def frame(found: re.Match[str]) -> str:
        width = f"{float(found[1]) + 2 * MARGIN:g}"
        return f' width="{width}pt"{found[2]} viewBox="{-MARGIN:g} 0 {width} '

    return _WIDTH.sub(frame, svg, count=1)


def _legend(panel: Data, picture: Picture) -> list[Data]:
    """Of what a row of the PDF explains, the curves and the roles that this picture has; a table has its own words."""
    own = [rich(item.curve, item.typeset) for item in picture.series] + [
        ROLE_NAMES[item.role] for item in picture.series
    ]
    return [item for item in panel["legend"] if item["name"] in own or not item["svg"]] if panel["svg"] else []


def _table(series: Sequence[Series]) -> bytes:
    """A line per point."""
    target = io.StringIO()
    writer = csv.writer(target, lineterminator="\n")
    writer.writerow(("curve", "role", "x", "y", "low", "high"))
    for item in series:
        low, high = (ends or ("",) * len(item.x) for ends in (item.low, item.high))
        writer.writerows((item.curve, item.role, *values) for values in zip(item.x, item.y, low, high, strict=True))
    return target.getvalue().encode()


def _sums(results: Results) -> Data:
    """What the run spent: checks, runs, and the chance that any statistical check of it gives a false alarm."""
    found = [item for entry in results.entries for item in entry.evidence]
    return {
        "claims": len(results.entries),
        "checks": len(found),
        "trials": sum(item.trials for item in found),
        "statistical": sum(bool(item.alpha) for item in found),
        "alpha": sum(item.alpha or 0.0 for item in found),
        "roles": Counter(item.role for item in found),
    }


def pages_of(site: Site) -> Iterator[tuple[str, str]]:
    """Each page as the file that `docs.conf` reads."""
    for name, (title, inside) in site.pages.items():
        listed = name.startswith("gallery/") or name.endswith("/index") or name in LISTED
        yield f"{name}.page", json.dumps({"title": title, "html": str(inside), "listed": listed})
