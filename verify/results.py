"""The results file: what `verify` leaves and `report` reads.

`results.json` holds one entry per claim, the latest verdict on each, and nothing that differs between two runs with the
same inputs; `timings.json` holds the seconds. The format is described by `entry_of`.
"""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from dpbounds import DomainError
from verify.checks.base import Level
from verify.claims import registry
from verify.runner import Decided
from verify.store import REMEDY, code_version, library_versions, read_json, write_json

FORMAT = "dpbounds-results/1"
RESULTS, TIMINGS = "results.json", "timings.json"


def write(folder: Path, decided: Sequence[Decided], *, level: Level, seed: int) -> Path:
    """Put the verdicts into the folder's results file; entries of claims not in this run stay."""
    entries = {entry["claim"]: entry for entry in read_entries(folder)}
    entries.update({item.claim.id: entry_of(item, level=level, seed=seed) for item in decided if not item.failure})
    known = [entries[claim] for claim in registry() if claim in entries]
    timings = read_json(folder / TIMINGS) or {}
    timings.update({item.claim.id: round(item.seconds, 3) for item in decided})
    write_json(folder / TIMINGS, timings)
    versions = {"dpbounds": version("dpbounds"), "python": platform.python_version(), **library_versions()}
    write_json(folder / RESULTS, {"format": FORMAT, "versions": versions, "claims": known})
    return folder / RESULTS


def read_entries(folder: Path) -> list[dict[str, Any]]:
    """The entries of the folder's results file; none if there is no file yet."""
    content = read_json(folder / RESULTS)
    if content is None:
        return []
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise DomainError("store", str(folder / RESULTS), f"a results file of format {FORMAT}", REMEDY)
    return content["claims"]


def entry_of(item: Decided, *, level: Level, seed: int) -> dict[str, Any]:
    """A claim, its verdict and its evidence as JSON data."""
    claim, verdict = item.claim, item.verdict
    return {
        "claim": claim.id,
        "topic": claim.topic,
        "where": claim.where,
        "kind": claim.kind,
        "statement": claim.statement,
        "hypotheses": claim.hypotheses,
        "correction": claim.correction.statement if claim.correction else "",
        "verdict": verdict.word,
        "how": verdict.how,
        "slack": verdict.slack,
        "finding": verdict.finding,
        "reviewed": claim.reviewed,
        "level": level,
        "seed": seed,
        "code": code_version(),
        "evidence": [{"form": form, **asdict(evidence)} for form, found in item.evidence.items() for evidence in found],
    }
