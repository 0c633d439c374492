"""The notebooks of `examples`, without outputs, run; so does the README, whose first screen is what commands print."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

from verify.cli import main

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
README = (ROOT / "README.md").read_text(encoding="utf-8")


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
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    space: dict = {}
    exec(compile(code, "README.md", "exec"), space)
    assert space["found"].verdict == "consistent" and 4.5 < space["found"].epsilon[0] < 4.89 < space["found"].epsilon[1]
    assert space["model"].confidence_set_.shape == "interval" and space["model"].private_


def first_screen():
    """The blocks of output before the first heading but the title."""
    return re.findall(r"```\n(.*?)```", README.partition("\n## ")[0], re.DOTALL)


def words(text):
    return " ".join(text.split())


def test_the_readme_begins_with_what_commands_print(tmp_path, monkeypatch, capsys):
    """Word by word, `...` aside."""
    monkeypatch.chdir(tmp_path)
    shown = re.findall(r"\$ dpbounds ([^\n]*)\n(.*?)(?=\n\$|\Z)", first_screen()[0], re.DOTALL)
    assert [line.split()[0] for line, _ in shown] == ["verify", "solve"]
    for line, output in shown:
        main([*line.split(), *(["--jobs", "1"] if line.startswith("verify") else [])])
        printed = words(capsys.readouterr().out)
        parts = [words(part) for part in output.split("...") if part.strip()]
        assert len(parts) >= 2 and all(part in printed for part in parts), line


def test_the_picture_of_the_readme_is_that_of_its_command(capsys):
    header, *bars = first_screen()[1].splitlines()
    main([*header.partition("dpbounds ")[2].split(), "--json"])
    rows = [row for row in json.loads(capsys.readouterr().out) if row["mechanism"] == "sgd"]
    drawn = [(row["eta"], f"{row['over_optimum']:.5g}", "■" * round(row["over_optimum"])) for row in rows]
    assert [(float(eta), value, bar) for eta, value, bar in map(str.split, bars)] == drawn


def test_the_links_of_the_readme_lead_somewhere():
    links = [link for link in re.findall(r"\]\(([^)]+)\)", README) if not link.startswith("http")]
    assert len(links) >= 8 and all((ROOT / link).exists() for link in links)
