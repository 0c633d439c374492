"""The results file, written: what `verify` leaves and `report` reads.

`results.json` holds one entry per claim, the latest verdict on each, what the report needs to know of their papers, and
a checksum; nothing in it differs between two runs with the same inputs. `run.json` holds what does: the date, the
machine, the seconds. All text is plain; `typeset` repeats it as Typst markup for the report.
"""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from verify.checks.base import Level
from verify.checks.evidence import Evidence
from verify.running.entries import FORMAT, RESULTS, checksum, read_entries
from verify.running.registry import index_of, topics
from verify.running.runner import Decision
from verify.running.store import read_json, write_json
from verify.running.versions import code_version, library_versions
from verify.statements.clauses import whole
from verify.statements.plain import plain
from verify.statements.topics import Figure, Highlight, Topic
from verify.statements.wording import blank, literal

RUN = "run.json"


def write(folder: Path, decided: Sequence[Decision], *, level: Level, seed: int) -> Path:
    """Put the verdicts into the folder's results file; entries of claims not in this run stay."""
    entries = {entry["claim"]: entry for entry in read_entries(folder)}
    entries.update({item.claim.id: entry_of(item, level=level, seed=seed) for item in decided if not item.failure})
    used = [topic for name, topic in topics().items() if any(claim.startswith(f"{name}/") for claim in entries)]
    known = [entries[claim] for topic in used for claim in index_of(topic.name) if claim in entries]
    versions = {"dpbounds": version("dpbounds"), "python": platform.python_version(), **library_versions()}
    content = {"versions": versions, "topics": [_topic(topic) for topic in used], "claims": known}
    write_json(folder / RUN, _run(folder, decided))
    write_json(folder / RESULTS, {"format": FORMAT, "checksum": checksum(content), **content})
    return folder / RESULTS


def entry_of(item: Decision, *, level: Level, seed: int) -> dict[str, Any]:
    """A claim, its verdict and its evidence as JSON data."""
    claim, verdict = item.claim, item.verdict
    typeset = {
        "statement": claim.stated,
        "hypotheses": claim.hypotheses,
        "setting": claim.setting,
        "correction": verdict.correction or (blank(whole(claim.correction.statement)) if claim.correction else ""),
        "ground": verdict.ground,
        "derivation": verdict.derivation,
        "finding": verdict.finding,
        "consequence": verdict.consequence,
        "remark": verdict.remark,
    }
    return {
        "claim": claim.id,
        "topic": claim.topic,
        "where": claim.where,
        "page": claim.page,
        "equation": claim.equation,
        "kind": claim.kind,
        **{name: plain(text) for name, text in typeset.items()},
        "typeset": typeset,
        "verdict": verdict.word,
        "how": verdict.how,
        "slack": verdict.slack,
        "severity": verdict.severity,
        "touches": verdict.touches,
        "root": verdict.root,
        "open": bool(claim.open),
        "clauses": [{**asdict(item), "text": plain(item.text), "typeset": item.text} for item in verdict.clauses],
        "reviewed": claim.reviewed,
        "level": level,
        "seed": seed,
        "code": code_version(topics()[claim.topic]),
        "evidence": [_evidence(form, evidence) for form, found in item.evidence.items() for evidence in found],
    }


def _evidence(form: str, evidence: Evidence) -> dict[str, Any]:
    content = {"form": form, **asdict(evidence)}
    content |= {name: plain(literal(content[name])) for name in ("summary", "needed")}
    content["facts"] = [plain(literal(fact)) for fact in content["facts"]]
    if content["picture"] is not None:
        picture = content["picture"]
        picture["typeset"] = {axis: picture[axis] for axis in ("x", "y")}
        picture |= {axis: plain(picture[axis]) for axis in ("x", "y")}
        for part in (*picture["series"], *picture["slopes"]):
            part |= {"curve": plain(part["curve"]), "typeset": part["curve"]}
    return content


def _topic(topic: Topic) -> dict[str, Any]:
    """What the report needs to know of a paper."""
    return {
        **{name: getattr(topic, name) for name in ("name", "title", "authors", "venue", "version", "link")},
        "main_picture": topic.main_picture,
        "stands": [_highlight(item) for item in topic.stands],
        "sharper": [_highlight(item) for item in topic.sharper],
        "figures": [_figure(figure) for figure in topic.figures],
        "notation": [_symbol(symbol, meaning) for symbol, meaning in topic.notation],
    }


def _symbol(symbol: str, meaning: str) -> dict[str, Any]:
    texts = {"symbol": f"${symbol}$", "meaning": meaning}
    return {**{name: plain(text) for name, text in texts.items()}, "typeset": texts}


def _figure(figure: Figure) -> dict[str, Any]:
    panels = [{"claim": item.claim, "title": plain(item.title), "typeset": item.title} for item in figure.panels]
    return {"name": figure.name, "title": plain(figure.title), "typeset": figure.title, "panels": panels}


def _highlight(item: Highlight) -> dict[str, Any]:
    return {"sentence": plain(item.sentence), "typeset": item.sentence, "claims": list(item.claims)}


def _run(folder: Path, decided: Sequence[Decision]) -> dict[str, Any]:
    """Seconds per claim, with those of earlier runs; date and machine of this one."""
    before = read_json(folder / RUN)
    known = before.get("seconds") if isinstance(before, dict) else None
    seconds = known if isinstance(known, dict) else {}
    seconds |= {item.claim.id: round(item.seconds, 3) for item in decided}
    machine = f"{platform.system()} {platform.machine()}"
    return {"date": datetime.now(UTC).strftime("%Y-%m-%d"), "machine": machine, "seconds": seconds}
