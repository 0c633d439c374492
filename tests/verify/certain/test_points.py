"""Counterexamples that are called certified: those of the project are, and an opponent's are not."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest

from simulators.engine import seed_sequence
from verify.certain import agreed, refuted
from verify.certain.world import World
from verify.checks import Seed
from verify.running.registry import outlines

HEAD = """
import math
import numpy as np
from scipy.optimize import brentq
from verify.checks import Agreement, Fact, Search, Within
from verify.checks.domains import Real
from verify.statements.claims import Claim
"""


@pytest.fixture
def judge(tmp_path, monkeypatch):
    """Whether the check of a claim written in some module is refuted as found, or holds, for certain."""
    monkeypatch.setattr("verify.certain.points.world", World)
    monkeypatch.syspath_prepend(tmp_path)
    made = []

    def judged(code: str, check: str, **found) -> bool:
        name = f"opponent_{tmp_path.name}_{len(made)}"
        claim = f'CLAIM = Claim(id="ftrl/x", where="x", kind="number", statement="x.", checks=({check},))\n'
        (tmp_path / f"{name}.py").write_text(f"{HEAD}\n{textwrap.dedent(code)}\n{claim}")
        made.append(name)
        place = name, "ftrl/x", "printed", 0
        rng = np.random.default_rng(0)
        return refuted(*place, found, rng) if found else agreed(*place, rng)

    return judged


def test_a_difference_of_rounding_refutes_nothing(judge):
    sides = "def sides(x): return 0 * x + 0.1 + 0.2, 0.3"
    search = 'Search(sides=sides, box={"x": Real(0, 1)}, closed=True)'
    assert not judge(sides, search, x=0.1, smaller=0.30000000000000004, larger=0.3)
    assert judge(sides.replace("0.3", "0.29"), search, x=0.1, smaller=0.30000000000000004, larger=0.29)


def test_another_violation_than_the_one_found_is_none(judge):
    search = 'Search(sides=sides, box={"x": Real(0, 1)}, closed=True)'
    assert not judge("def sides(x): return x + 1, x", search, x=0.5, smaller=7.0, larger=0.5)


@pytest.mark.parametrize(
    "code",
    [
        "def value(): return float(np.polynomial.legendre.leggauss(3)[1].sum())",
        "def value(): return float(np.trapezoid(np.ones(3), dx=1.0))",
        "def value(): return float(np.fft.fft(np.ones(2)).real.sum())",
        "def value(): return float(np.linalg.eigvals(np.eye(2)).sum())",
        "def value(): return float(len({math.sqrt(2.0), math.sqrt(8.0) / 2}) + 1)",
        "def value(): return 2.0 if math.sqrt(2.0) == math.sqrt(8.0) / 2 else 3.0",
        "def value(): return 2.0 if math.sin(math.pi) > 0 else 1.0",
        "def value(): return float(np.sum([1.5, 0.5], dtype=int)) + 1",
        "from dpbounds.glm.gaussian import mean_of\ndef value(): return 2.0 * float(mean_of(np.ones_like, 1.0))",
        "from dpbounds.privacy.covariance import log_integral\ndef value(): return log_integral(np.cos, 0.0, 1.0)",
        "def value():\n    x = 0.0\n    while True:\n        x += 1.0",
    ],
)
def test_what_is_cut_off_undecided_or_endless_is_not_certain(judge, code):
    facts = 'Agreement(facts=lambda rng: [Fact("a", value(), 1.0)], closed=True)'
    assert not judge(code, facts, fact="a", difference=1.0)
    assert not judge(code, facts.replace("1.0)]", "2.0)]"))


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("def value(): return float(np.eye(2, 3).shape[1])", 3.0),
        ("def value(): return float(np.eye(3, k=-1)[1, 0]) + 1", 2.0),
        ("def value(): return 7 // 2 / 2", 1.5),
        (
            "def value():\n    a = np.ones(2)\n    b = a[:1]\n    b /= 0.5\n    b **= 2\n    return float(a.sum()) + 1",
            6.0,
        ),
        ("def value(): return float(brentq(lambda x: x**3 - 8, 0, 5))", 2.0),
        (
            "def value(): return float(np.linalg.norm(np.diag([3.0, 4.0]), axis=1, keepdims=True).shape[1] + 1)",
            2.0,
        ),
        ("def value(): return float(np.linalg.norm(np.diag([3.0, 4.0]), 1))", 4.0),
        ("def value(): return float(np.linalg.norm(np.diag([3.0, 4.0]), np.inf) - 2)", 2.0),
    ],
)
def test_what_is_decided_is_what_numpy_means(judge, code, value):
    facts = 'Agreement(facts=lambda rng: [Fact("a", value(), 1.0)], closed=True)'
    assert judge(code, facts, fact="a", difference=value - 1)
    right = facts.replace("1.0)]", f"{value})]")
    assert not judge(code, right, fact="a", difference=0.0)
    assert judge(code, right) and not judge(code, facts)


def test_every_closed_check_is_decided_for_certain():
    """A claim whose code leaves what balls can say would silently stand on floats again."""
    floats = []
    for outline in outlines([]):
        for form, checks in outline.load().forms():
            for number, check in enumerate(checks):
                if getattr(check, "closed", False) and not _certain(outline, form, number, check):
                    floats.append((outline.id, form, number))
    assert not floats


def _certain(outline, form, number, check) -> bool:
    (task,) = check.tasks("quick")
    seed = Seed(0, seed_sequence([number], seed=0))
    found = check.broken_by(check.run(task, seed))
    place = outline.module, outline.id, form, number
    return agreed(*place, seed.generator()) if found is None else refuted(*place, found, seed.generator())
