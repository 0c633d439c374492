"""Every public module of theory and algorithms shows how it is used, and what it shows is so."""

from __future__ import annotations

import doctest
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LAYERS = ("dpbounds", "simulators")
PUBLIC = re.compile(r"^(?:def|class) [^_]", re.MULTILINE)
# Modules with nothing that a user would call by itself, or that need a library that is not installed, with the reason.
WITHOUT: dict[str, str] = {
    "dpbounds.__main__": "runs the command",
    "dpbounds.private": "hands on what stands elsewhere",
    "simulators.opendp": "needs opendp",
}


def public_modules() -> list[str]:
    """Modules that define a public function or class: not the faces of packages, which hand on."""
    found = []
    for layer in LAYERS:
        for file in sorted((ROOT / layer).rglob("*.py")):
            name = ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            if PUBLIC.search(file.read_text(encoding="utf-8")) and not file.name.startswith("_"):
                found.append(name)
    return [name for name in found if name not in WITHOUT]


@pytest.mark.parametrize("name", public_modules())
def test_examples_of(name):
    module = importlib.import_module(name)
    tests = [test for test in doctest.DocTestFinder(exclude_empty=True).find(module) if test.examples]
    assert tests, f"no example in {name}"
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for test in tests:
        runner.run(test)
    assert runner.summarize(verbose=False).failed == 0
