"""`dpbounds new-paper NAME`: the skeleton of a paper, which is the example of CONTRIBUTING.md under another name."""

from __future__ import annotations

import keyword
import os
import shutil
import sys
from argparse import Namespace
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from pathlib import Path

from dpbounds import DomainError
from verify.running.registry import topics
from verify.statements.topics import TOPIC_NAME

TEMPLATES = files("verify.cli").joinpath("templates", "new_paper")
# Stands for the name in the templates and in their paths; each ends in `.txt`, which the files do not.
PLACEHOLDER, SUFFIX = "NAME", ".txt"
# The skeleton's other folder.
TESTS = "tests"


def run(arguments: Namespace) -> int:
    """Write the folder and say what to do with it."""
    name = arguments.name
    check_name(name)
    folder = Path(arguments.dir, name)
    write(folder, name)
    print(f"Written: {folder}. Next: pip install -e {folder} && dpbounds verify {name}")
    return 0


def check_name(name: str) -> None:
    """Raise `DomainError` for a name that cannot be that of a topic and of a package that Python imports."""
    if not TOPIC_NAME.fullmatch(name) or not name.isidentifier() or keyword.iskeyword(name):
        allowed = "the name of a Python package: small letters, digits and _, a letter first, no word of the language"
        raise DomainError("name", name, allowed)
    if name in topics():
        raise DomainError("name", name, "the name of a new topic", f"these there are: {', '.join(topics())}")
    if name == TESTS or name in sys.stdlib_module_names or find_spec(name) is not None:
        raise DomainError("name", name, "the name of a new package", "there is another one by this name")


def write(folder: Path, name: str) -> None:
    """All files of the skeleton in a new folder, or none. Raises `DomainError` where there is something already, and
    where nothing can be written.
    """
    partial = folder.with_name(f".{folder.name}-{os.getpid()}.partial")
    try:
        if os.path.lexists(folder):
            raise DomainError("dir", str(folder), "where there is nothing yet", "take another name or --dir")
        partial.mkdir()
        for path, text in skeleton(name):
            partial.joinpath(path).parent.mkdir(parents=True, exist_ok=True)
            partial.joinpath(path).write_text(text, encoding="utf-8")
        partial.rename(folder)
    except OSError as error:
        raise DomainError("dir", str(folder.parent), f"a folder that can be written ({error.strerror})") from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def skeleton(name: str) -> Iterator[tuple[str, str]]:
    """Every file of the paper called `name`: its path and its text."""
    for path, file in _templates(TEMPLATES, ""):
        text = file.read_text(encoding="utf-8")
        yield path.removesuffix(SUFFIX).replace(PLACEHOLDER, name), text.replace(PLACEHOLDER, name)


def _templates(folder: Traversable, above: str) -> Iterator[tuple[str, Traversable]]:
    for item in sorted(folder.iterdir(), key=lambda item: item.name):
        path = f"{above}{item.name}"
        if item.is_dir():
            yield from _templates(item, f"{path}/")
        elif path.endswith(SUFFIX):
            yield path, item
