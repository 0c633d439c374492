"""The results file, read: the latest verdict on each claim. Loads nothing that decides one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dpbounds import DomainError
from verify.running.store import REMEDY, read_json, strict
from verify.statements.verdicts import word_of

FORMAT = "dpbounds-results/5"
FORMS = ("printed", "corrected")
RESULTS = "results.json"


def read_entries(folder: Path) -> list[dict[str, Any]]:
    """The entries of the folder's results file; none if there is no file yet.

    Raises `DomainError` for a file that was changed: its checksum, or a word that its evidence does not bear out.
    """
    path, content = folder / RESULTS, read_json(folder / RESULTS)
    if content is None:
        return []
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise DomainError("store", str(path), f"a results file of format {FORMAT}", REMEDY)
    body = {key: value for key, value in content.items() if key not in ("format", "checksum")}
    if content.get("checksum") != checksum(body):
        raise DomainError("store", str(path), "a results file as dpbounds wrote it", REMEDY)
    try:
        for entry in body["claims"]:
            if entry["verdict"] != _word_again(entry):
                raise DomainError(f"verdict of {entry['claim']}", entry["verdict"], "what its evidence says", REMEDY)
    except (KeyError, TypeError):
        raise DomainError("store", str(path), "a results file as dpbounds wrote it", REMEDY) from None
    return body["claims"]


def checksum(content: Mapping[str, Any]) -> str:
    """Of everything in the file but its format and itself."""
    text = json.dumps(strict(content), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _word_again(entry: Mapping[str, Any]) -> str:
    outcomes = {form: [item["outcome"] for item in entry["evidence"] if item["form"] == form] for form in FORMS}
    return word_of(*outcomes.values(), correctable=bool(entry["correction"]), is_open=entry["open"])
