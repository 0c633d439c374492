"""`dpbounds audit`: exit statuses, witnesses, coefficients, events, bad input."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dpbounds.ftrl.design import Blt, export
from dpbounds.ftrl.design.exports import archive
from tests.verify.cli.commands import dpbounds, fresh

MECHANISMS = """
import os, time
import numpy as np

def good(data, seed):
    return data.sum() + 2 * np.random.default_rng(seed).standard_normal(2000)

def bad(data, seed):
    return 30 * data.sum() + 2 * np.random.default_rng(seed).standard_normal(2000)

def little(data, seed):
    return 1e-3 * good(data, seed)[0] + np.random.default_rng(seed).standard_normal(2000)

def refuses(data, seed):
    raise ValueError("not today")

def dies(data, seed):
    os._exit(5)

def slow(data, seed):
    time.sleep(0.2)
    return data.sum() + np.random.default_rng(seed).standard_normal()
"""
WHERE = ("--adjacency", "replace-one", "--domain", "4,0,1", "--law", "gaussian")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "mine.py").write_text(MECHANISMS)
    return tmp_path


def test_verdicts_are_exit_statuses(folder):
    for name, mu, status, word in (
        ("good", "23", 0, "consistent"),
        ("good", "21", 1, "refuted"),
        ("refuses", "23", 3, "unclear"),
        ("dies", "23", 3, "exit status 5"),
        ("slow", "3", 4, "unclear"),
    ):
        shown = dpbounds("audit", f"mine.py:{name}", "--mu", mu, "--seconds", "3", *WHERE, cwd=folder)
        assert shown.returncode == status and word in shown.stdout, shown.stdout + shown.stderr


def test_a_witness_is_evaluated_again_and_is_data(folder):
    files = ("--save", "w.json", "--plot", "p.svg", "--report", "r.pdf")
    shown = fresh("audit", "mine.py:bad", "--epsilon", "1", "--delta", "1e-6", *WHERE, *files, "--json", cwd=folder)
    assert shown.returncode == 1 and json.loads(shown.stdout)["verdict"] == "refuted"
    assert (folder / "p.svg").stat().st_size > 1000 and (folder / "r.pdf").read_bytes().startswith(b"%PDF")
    again = dpbounds("audit", "--check", "w.json", cwd=folder)
    assert again.returncode == 1 and again.stdout.startswith("refuted: (1, 1e-06)-DP")
    content = json.loads((folder / "w.json").read_text())
    assert content["pair"]["label"] and content["pair"]["first"]["shape"] == [4]
    assert content["mechanism"] == "mine.py:bad" and "nothing was run" in again.stdout
    for name, status, word in (("bad", 1, "refuted: (1"), ("good", 1, "refuted: (1"), ("little", 0, "not refuted")):
        shown = dpbounds("audit", f"mine.py:{name}", "--check", "w.json", cwd=folder)
        assert shown.returncode == status and shown.stdout.startswith(word) and "was run again" in shown.stdout
    for name, status, word in (("refuses", 3, "not today"), ("dies", 3, "exit status 5"), ("slow", 4, "unclear")):
        line = ("audit", f"mine.py:{name}", "--check", "w.json", "--seconds", "3")
        shown = dpbounds(*line, cwd=folder)
        assert shown.returncode == status and word in shown.stdout, shown.stdout
    (folder / "weaker.json").write_text(
        json.dumps({**content, "claim": {"epsilon": 9000.0, "delta": 0.5}, "shift": [1]})
    )
    assert dpbounds("audit", "--check", "weaker.json", cwd=folder).returncode == 0
    for broken in (
        "[1, 2]",
        "{}",
        "nothing",
        json.dumps({**content, "sum": "x"}),
        json.dumps({**content, "kind": "run"}),
        json.dumps(content)[:-40],
        json.dumps({**content, "shift": [float("nan")]}),
        json.dumps({**content, "alpha": 0.5}),
        "[" * 100_000,
    ):
        (folder / "broken.json").write_text(broken)
        shown = dpbounds("audit", "--check", "broken.json", cwd=folder)
        assert shown.returncode == 2 and shown.stderr.count("\n") == 1 and "Traceback" not in shown.stderr


def test_exported_designs_are_proved(folder):
    (folder / "noise.npz").write_bytes(archive(export(Blt((0.9,), (0.25,)), 64, "npz", rho=0.5)))
    for rho, status, word in (("0.5", 0, "proved"), ("0.499", 1, "refuted")):
        shown = dpbounds("audit", "--coefficients", "noise.npz", "--rho", rho, cwd=folder)
        assert shown.returncode == status and shown.stdout.startswith(word)
    np.savez(folder / "plain.npz", coefficients=[1.0, 0.5], noise_multiplier=2.0, steps=10)
    plain = ("audit", "--coefficients", "plain.npz", "--mu", "0.56")
    assert dpbounds(*plain, "--adjacency", "zero-out", cwd=folder).returncode == 0
    assert dpbounds(*plain, cwd=folder).returncode == 2  # no adjacency


def test_events(folder):
    event = {"kind": "poisson", "noise_multiplier": 1.0, "sampling_probability": 0.01, "steps": 100}
    (folder / "event.json").write_text(json.dumps(event))
    for epsilon, status in (("0.8", 0), ("0.7", 1), ("0.718", 4)):
        line = ("--event", "event.json", "--epsilon", epsilon, "--delta", "1e-5", "--adjacency", "add-remove")
        assert dpbounds("audit", *line, cwd=folder).returncode == status
    (folder / "told.json").write_text(
        json.dumps({"event": event, "claim": {"epsilon": 0.7, "delta": 1e-5}, "adjacency": "zero-out"})
    )
    shown = dpbounds("audit", "--event", "told.json", "--save", "w.json", cwd=folder)
    assert shown.returncode == 1 and dpbounds("audit", "--check", "w.json", cwd=folder).returncode == 1


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", "FILE.py:NAME"),
        ("mine.py:good --event event.json", "one of"),
        ("mine.py:good --mu 1 --domain 4,0,1", "adjacency"),
        ("mine.py:good --mu 1 --adjacency zero-out", "domain"),
        ("mine.py:good --epsilon 1 --adjacency zero-out --domain 4,0,1 --law gaussian", "purely private"),
        ("mine.py:good --epsilon 1 --mu 2 --adjacency zero-out --domain 4,0,1", "claim"),
        ("mine.py:good --epsilon nan --adjacency zero-out --domain 4,0,1", "epsilon"),
        ("mine.py:good --mu 1 --adjacency zero-out --domain 4,1,0 --law gaussian", "low"),
        ("mine.py:good --mu 1 --adjacency zero-out --domain 4,0 --law gaussian", "domain"),
        ("mine.py:good --mu 1 --adjacency zero-out --domain none.npy --law gaussian", "domain"),
        ("mine.py:good --mu 1 --adjacency zero-out --domain 4,0,1 --law cauchy", "law"),
        ("mine.py:good --mu 1 --adjacency zero-out --domain 4,0,1 --law gaussian:x", "law"),
        ("mine.py:other --mu 1 --adjacency zero-out --domain 4,0,1", "binds no other"),
        ("none.py:good --mu 1 --adjacency zero-out --domain 4,0,1", "mechanism"),
        ("--coefficients none.npz --rho 1", "coefficients"),
        ("--coefficients mine.py --rho 1", "coefficients"),
        ("--event mine.py --rho 1", "event"),
        ("mine.py:good --mu 1 --adjacency zero-out --domain 4,0,1 --report r.txt", ".pdf"),
        ("mine.py:good --mu 1 --adjacency zero-out --domain 4,0,1 --report none/r.pdf", "folder"),
        ("--check none.json", "check"),
        ("mine.py:good --check none.json", "check"),
        ("mine.py:good --check none.json --event event.json", "one of"),
    ],
)
def test_bad_input_is_one_line(folder, line, words):
    shown = dpbounds("audit", *line.split(), cwd=folder)
    assert shown.returncode == 2 and words in shown.stderr and shown.stderr.count("\n") == 1, shown.stderr
