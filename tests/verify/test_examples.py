"""The notebooks of `examples`, without outputs, and the README's Python: all runs as it stands."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


def cells(name):
    return json.loads((EXAMPLES / name).read_text(encoding="utf-8"))["cells"]


def run(name):
    """What the last expressions of the cells show, as a notebook would, and all names."""
    space, shown = {"__name__": "__main__"}, []
    for cell in cells(name):
        if cell["cell_type"] == "code":
            tree = ast.parse("".join(cell["source"]))
            last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
            exec(compile(tree, name, "exec"), space)
            if last is not None:
                shown.append(eval(compile(ast.Expression(last.value), name, "eval"), space))
    return shown, space


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.ipynb")), ids=lambda file: file.name)
def test_notebooks_hold_no_outputs(file):
    notebook = json.loads(file.read_text(encoding="utf-8"))
    assert notebook["nbformat"] == 4 and len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    for cell in cells(file.name):
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None


def test_the_theorist_gets_through(monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    shown, space = run("theorist.ipynb")
    found = space["found"]
    assert found.best.certified and found.lower < found.best
    assert space["best"].bound.best < found.best < 3 * space["best"].bound.best
    assert 0 < space["simulated"] < found.best
    html = [one._repr_html_() for one in shown if hasattr(one, "_repr_html_")]
    assert len(html) >= 6 and all("<b>" in one or "<table>" in one for one in html)


def test_the_readme_runs():
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    space: dict = {}
    exec(compile(code, "README.md", "exec"), space)
    assert space["found"].verdict == "consistent" and 4.5 < space["found"].epsilon[0] < 4.89 < space["found"].epsilon[1]
    assert space["model"].confidence_set_.shape == "interval" and space["model"].private_
