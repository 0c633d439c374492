"""The second checker: what it proves is true, what is false it refuses, and it needs nothing but Python."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tests.fuzz.certificates import ends, saved_rows
from verify import standalone_checker as checker

FILE = Path(checker.__file__)
EXACT = {"lower": 0, "value": 1, "contraction": 1, "co_coercivity": 1}


@pytest.fixture(scope="module")
def rows():
    return saved_rows()


def run(file: Path) -> subprocess.CompletedProcess[str]:
    """Alone: in another folder, without site-packages."""
    return subprocess.run([sys.executable, "-I", "-S", FILE, file], capture_output=True, text=True, cwd=file.parent)


def test_it_is_one_small_file_of_the_standard_library():
    text = FILE.read_text()
    names = [node for node in ast.walk(ast.parse(text)) if isinstance(node, (ast.Import, ast.ImportFrom))]
    modules = {alias.name for node in names if isinstance(node, ast.Import) for alias in node.names}
    modules |= {node.module for node in names if isinstance(node, ast.ImportFrom) if node.module}
    assert {module.partition(".")[0] for module in modules} <= sys.stdlib_module_names
    assert len(text.splitlines()) <= 625


def test_every_kind_of_noise_is_proved_apart_from_the_package(rows, tmp_path):
    file = tmp_path / "bounds.json"
    file.write_text(json.dumps({"rows": [*rows, {"certificate": None, "status": "estimate"}]}))
    shown = run(file)
    lines = shown.stdout.splitlines()
    assert (shown.returncode, shown.stderr) == (0, "") and lines[-1].endswith("12 proved, 0 refused, 0 cannot decide")
    for line, row in zip(lines, rows, strict=False):
        low, high = (float(word) for word in line.split(": ")[2].split(" <= sup F_inf <= "))
        assert row["lower"] == pytest.approx(low, rel=1e-8) and row["upper"] == pytest.approx(high, rel=1e-8)
    said = [line.split(": ")[3].partition(",")[0] for line in lines[:-1]]
    assert said == ["sgd", "nu", "damped-anti-pgd", "coefficients", "half-powers", "nu"] * 2


def test_its_ends_hold_the_integrals(rows):
    """To 1e-9 by a quadrature that it does not use."""
    for row in rows:
        found, true = checker.Bound(row["certificate"]).ends, ends(row["certificate"])
        assert set(found) == set(true)
        for name, (low, high) in found.items():
            assert low < high < low * Fraction(1 + 1e-9)
            assert float(low) * (1 - 1e-8) <= true[name] <= float(high) * (1 + 1e-8)


def test_polynomials_are_those_of_the_circle():
    """At random frequencies, from the definitions in complex numbers."""
    rng = np.random.default_rng(0)
    multipliers = [Fraction(x) for x in rng.uniform(0, 1, 7)]
    mu, L, eta, b = Fraction(1, 10), Fraction(1), Fraction(1, 2), Fraction(1, 20)
    size, D = checker.program_polynomials(mu, L, eta, b, multipliers)
    for omega in rng.uniform(0, np.pi, 5):
        w, s = np.exp(1j * omega), np.sin(omega / 2) ** 2
        terms = [float(x) for x in multipliers]
        c = 0.5 + sum(terms) - sum(terms[t] * w**t + terms[3 + t] * w**-t for t in (1, 2, 3))
        u, v = 1 - w - float(eta * mu), 1 - w - float(eta * L)
        wanted = 2 * (c * np.conj(u) * v).real - 0.5 * abs(u) ** 2 - float(b) * abs(v) ** 2
        assert sum(float(x) * s**k for k, x in enumerate(D)) == pytest.approx(wanted, abs=1e-10)
        assert sum(float(x) * s**k for k, x in enumerate(size)) == pytest.approx(abs(c) ** 2 - 0.5 * float(b), abs=1e-9)


def test_series_enclose():
    """Against exact power series: 1 / (1 + t^2), a square root and a polynomial, on a cell."""
    m, h = checker.ball(Fraction(1, 4))[0], checker.ball(Fraction(1, 64))[0]
    weights = checker.weight_series((m, 0), h)
    square = checker.product(weights, weights)
    for series, power in ((checker.root(square), 1), (checker.quotient(square, weights), 1), (weights, 1)):
        exact = Fraction(1) / (1 + Fraction(1, 16))
        before = Fraction(0)
        for middle, radius in series:
            assert abs(Fraction(middle, checker.ONE) - exact) <= Fraction(radius, checker.ONE) and power
            # (1 + m^2) w_k = -(2 m h w_(k-1) + h^2 w_(k-2))
            step = -(Fraction(1, 128) * exact + Fraction(1, 64**2) * before) / (1 + Fraction(1, 16))
            before, exact = exact, step
    over = checker.weight_series((m, h), h)
    for t in (Fraction(15, 64), Fraction(1, 4), Fraction(17, 64)):
        value = 1 / (1 + t * t)
        assert abs(Fraction(over[0][0], checker.ONE) - value) <= Fraction(over[0][1], checker.ONE)


def test_ends_that_say_more_than_is_proved(rows):
    for name, factor in (("value", 1 - 1e-8), ("lower", 1 + 1e-8), ("contraction", 1 - 1e-8), ("upper", 1 - 1e-8)):
        row = {**rows[1], name: rows[1][name] * factor}
        with pytest.raises(checker.Refused):
            checker.proved(row)
    for name in ("value", "lower"):
        data = dict(rows[1]["certificate"])
        data[name] *= 1 + 1e-8 if name == "lower" else 1 - 1e-8
        with pytest.raises(checker.Refused, match=f"{name} = .*says more than is proved"):
            checker.proved({"certificate": data})


ILL_CONDITIONED = [
    1.0,
    -4.975555109194228,
    9.902444517018797,
    -9.854001982983592,
    4.90289085308228,
    -0.9757782779232572,
]


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (lambda data: data["noise"]["correlation"].update(beta=ILL_CONDITIONED), "zero in the closed unit disc"),
        (lambda data: data["noise"]["correlation"].update(beta=[1.0, -1.0]), "zero in the closed unit disc"),
        (lambda data: data["multipliers"].__setitem__(1, -1e-300), "nonnegative"),
        (lambda data: data["program"].update(name="paper"), "program"),
        (lambda data: data["program"].update(eta=2.0), "eta"),
        (lambda data: data["noise"].update(rho=True), "not a number"),
        (lambda data: data.update(curvature=1.5), "curvature"),
        (lambda data: data.update(comment="proved"), "entries"),
    ],
)
def test_certificates_that_prove_nothing(rows, change, word):
    data = json.loads(json.dumps(rows[3]["certificate"]))
    change(data)
    with pytest.raises(checker.Refused, match=word):
        checker.proved({"certificate": data})


def test_what_is_too_large_or_too_near_to_zero_is_not_decided(rows, tmp_path):
    data = json.loads(json.dumps(rows[3]["certificate"]))
    data["noise"]["correlation"]["beta"] = [1.0, *[0.0] * 49, 0.5]
    with pytest.raises(checker.CannotDecide, match="51 weights"):
        checker.proved({"certificate": data})
    infeasible = json.loads(json.dumps(rows[5]["certificate"]))
    infeasible["multipliers"] = [1e-6 * x for x in infeasible["multipliers"]]
    with pytest.raises(checker.CannotDecide, match="not shown to be positive"):
        checker.proved({"certificate": infeasible})
    file = tmp_path / "bounds.json"
    file.write_text(json.dumps([{**data, "value": 1e9}]))
    assert checker.main([str(file)]) == 3


@pytest.mark.parametrize(
    "content",
    ["", "[", "[]", "{}", "null", "[1]", "[" * 50_000, '{"rows": 1}', '[{"certificate": null, "status": "proved"}]'],
)
def test_foreign_files(tmp_path, capsys, content):
    file = tmp_path / "foreign.json"
    file.write_text(content)
    assert checker.main([str(file)]) == 2
    assert "refused" in "".join(capsys.readouterr())
