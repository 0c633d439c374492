"""What a topic's claims say, known without loading the modules that decide them.

The index of a topic is written when all its claims are loaded, into the user's cache folder, and taken from there while
the sources are what they were: the same files of the same size and time, or else of the same content. A file that is
damaged, of another version, or of other sources counts as none; where nothing can be written the claims are loaded each
time.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpbounds import DomainError, __version__
from verify.running.store import write_whole
from verify.statements.markup import check_compiled
from verify.statements.topics import Topic, claims_of
from verify.statements.wording import blank

if TYPE_CHECKING:  # loaded with the claims
    from verify.statements.claims import Claim

# Changes with the fields of `Outline`.
FORMAT = 2
FOLDER = "dpbounds"


@dataclass(frozen=True, kw_only=True)
class Outline:
    """A claim without what decides it: the texts of `Claim` of the same names, its lowest level, its reviewed verdict,
    and the module that holds it.
    """

    id: str
    module: str
    where: str
    equation: str
    kind: str
    level: str
    reviewed: str
    statement: str
    hypotheses: str
    setting: str
    remark: str
    not_run: str

    @property
    def topic(self) -> str:
        """The paper it belongs to."""
        return self.id.partition("/")[0]

    def load(self) -> Claim:
        """The claim itself; imports its module and no other that this one does not import."""
        for claim in claims_of(importlib.import_module(self.module)):
            if claim.id == self.id:
                return claim
        raise DomainError("claim", self.id, f"in {self.module}", "the source was changed in between: run it again")


def read_index(topic: Topic, files: Sequence[Path]) -> Mapping[str, Outline]:
    """All claims of a topic by id, in the order of the paper; `files` are the sources on which they depend.

    Raises `DomainError` for claims that contradict each other or whose texts Typst does not compile.
    """
    place, times = _place(topic), _times(files)
    found = _read(place, files, times) if place else None
    if found is None:
        content = _content(files)  # before they are loaded: a change meanwhile is then noticed
        found = _outlined(topic)
        if place:
            _write(place, times, content, found)
    return {item.id: item for item in found}


def cache_folder() -> Path | None:
    """The folder for what can be computed again: `XDG_CACHE_HOME`, else that of the system; None without a home."""
    chosen = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if chosen.is_absolute():
        return chosen / FOLDER
    try:
        home = Path.home()
    except RuntimeError:  # the user has none
        return None
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local", FOLDER)
    return home / ("Library/Caches" if sys.platform == "darwin" else ".cache") / FOLDER


def _outlined(topic: Topic) -> list[Outline]:
    """Loads all claims, and has all texts compiled."""
    texts = [(claim.id, name, text) for claim in topic.claims.values() for name, text in claim.texts().items()]
    check_compiled([*topic.texts(), *texts])
    names = ("id", "where", "equation", "kind", "level", "reviewed")
    names += ("hypotheses", "setting", "not_run")
    return [
        Outline(
            module=topic.homes[claim.id],
            statement=claim.stated,
            remark=blank(claim.remark),
            **{name: getattr(claim, name) for name in names},
        )
        for claim in topic.claims.values()
    ]


def _place(topic: Topic) -> Path | None:
    """The file of the topic's index, another for another interpreter, release or copy of its package."""
    folder = cache_folder()
    package = importlib.import_module(topic.package).__file__
    return folder and folder / f"{topic.name}-{_digest([FORMAT, __version__, sys.version, package])[:16]}.json"


def _read(place: Path, files: Sequence[Path], times: str) -> list[Outline] | None:
    """The claims, None for a file that does not fit the sources or is none of ours."""
    try:
        stored = json.loads(place.read_bytes())
        body = stored["body"]
        if stored["digest"] != _digest(body):
            return None
        found = [Outline(**item) for item in body["claims"]]
        if body["times"] == times:
            return found
        if body["content"] != _content(files):
            return None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    _write(place, times, body["content"], found)
    return found


def _write(place: Path, times: str, content: str, claims: Sequence[Outline]) -> None:
    body = {"times": times, "content": content, "claims": [asdict(item) for item in claims]}
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        write_whole(place, json.dumps({"digest": _digest(body), "body": body}).encode())
    except OSError:  # a full disk, a folder that cannot be written: it works without
        return


def _times(files: Sequence[Path]) -> str:
    """Of names, sizes and times of change: quick to compute."""
    stats = [(str(file), file.stat()) for file in files]
    return _digest([[name, stat.st_size, stat.st_mtime_ns] for name, stat in stats])


def _content(files: Sequence[Path]) -> str:
    """Of names and contents: sure."""
    return _digest([[str(file), hashlib.sha256(file.read_bytes()).hexdigest()] for file in files])


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
