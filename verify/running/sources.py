"""The files on which a topic's claims and results depend: its own packages, and what all topics share.

The rooms of other topics and the command line decide nothing here: a change to one paper leaves what is stored of the
others valid.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path

from dpbounds import DomainError
from verify.statements.topics import Topic

LAYERS = ("dpbounds", "simulators", "verify")
# What decides a result: code, and the templates of code that is written for others.
COUNTED = (".py", ".txt")
# Folders without anything that decides a result.
SKIPPED = ("cli", "__pycache__")


def source_files(topic: Topic, others: Collection[Topic]) -> list[Path]:
    """The topic's own files of code and those of the layers, sorted; the rooms of the `others` are left out."""
    rooms = {str(folder) for other in others for folder in folders(other)}
    shared = (file for layer in LAYERS for file in _files(package_folder(layer), frozenset(rooms)))
    own = (file for folder in folders(topic) for file in _files(folder))
    return sorted({*shared, *own})


def folders(topic: Topic) -> list[Path]:
    """Where the topic's packages lie."""
    return [package_folder(package) for package in dict.fromkeys((topic.package, *topic.sources))]


@cache
def package_folder(package: str) -> Path:
    """Where a package lies, without importing it. Raises `DomainError` if there is none of this name."""
    try:
        spec = importlib.util.find_spec(package)
    except ModuleNotFoundError:  # of a package above it
        spec = None
    if spec is None or not spec.submodule_search_locations:
        remedy = "correct `package` or `sources` of its topic"
        raise DomainError("source", package, "the name of a package that is installed", remedy)
    return Path(next(iter(spec.submodule_search_locations))).resolve()


def _files(folder: Path, rooms: Collection[str] = ()) -> Iterator[Path]:
    """The files of code below a folder, the command line and these rooms left out."""
    for place, below, names in os.walk(folder):
        below[:] = [name for name in below if name not in SKIPPED and f"{place}{os.sep}{name}" not in rooms]
        yield from (Path(place, name) for name in names if name.endswith(COUNTED))
