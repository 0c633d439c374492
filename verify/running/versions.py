"""Which code computed a result: a hash of the sources behind a topic's numbers, and the libraries' versions."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
from functools import cache
from pathlib import Path

from verify.running.registry import sources
from verify.statements.topics import Topic

# Where numbers come from besides our own code.
LIBRARIES = ("numpy", "scipy", "mpmath", "sympy", "python-flint")


@cache
def code_version(topic: Topic) -> str:
    """A hash of the sources that decide the topic's results, and of the numerical libraries' versions."""
    content = [(_name(file), _digest(file.read_bytes())) for file in sources(topic)]
    return _digest(json.dumps([content, library_versions()]).encode())


def library_versions() -> dict[str, str]:
    """The versions of the numerical libraries."""
    return {name: importlib.metadata.version(name) for name in LIBRARIES}


def _name(file: Path) -> str:
    """The file by its packages, the same on every machine."""
    root = file.parent
    while (root / "__init__.py").exists():
        root = root.parent
    return file.relative_to(root).as_posix()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]
