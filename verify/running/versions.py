"""Which code computed a result: a hash of the sources behind a topic's numbers, and the libraries' versions.

A topic's version covers its own packages and what all topics share, not the rooms of others and not the command line:
a change to one paper leaves the stored results of the others valid.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from verify.statements.topics import Topic, topics

LAYERS = ("dpbounds", "simulators", "verify")
# Where numbers come from besides our own code.
LIBRARIES = ("numpy", "scipy", "mpmath", "sympy", "python-flint")


@cache
def code_version(topic: Topic) -> str:
    """A hash of the sources that decide the topic's results, and of the numerical libraries' versions."""
    rooms = {folder for other in topics().values() for folder in _folders(other)}
    shared = [file for layer in LAYERS for file in _sources(_folder(layer)) if not _inside(file, rooms)]
    own = [file for folder in _folders(topic) for file in _sources(folder)]
    content = [(_named(file), _digest(file.read_bytes())) for file in sorted({*shared, *own})]
    return _digest(json.dumps([content, library_versions()]).encode())


def library_versions() -> dict[str, str]:
    """The versions of the numerical libraries."""
    return {name: importlib.metadata.version(name) for name in LIBRARIES}


def _sources(folder: Path) -> Iterable[Path]:
    return (file for file in folder.rglob("*.py") if "cli" not in file.relative_to(folder).parts)


def _folders(topic: Topic) -> list[Path]:
    return [_folder(package) for package in topic.sources]


def _folder(package: str) -> Path:
    """Where a package lies, without importing it."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(f"no package {package}, named among the sources of a topic")
    return Path(next(iter(spec.submodule_search_locations))).resolve()


def _inside(file: Path, folders: Iterable[Path]) -> bool:
    return any(folder in file.parents for folder in folders)


def _named(file: Path) -> str:
    """The file by its packages, the same on every machine."""
    root = file.parent
    while (root / "__init__.py").exists():
        root = root.parent
    return file.relative_to(root).as_posix()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]
