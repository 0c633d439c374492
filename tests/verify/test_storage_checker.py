"""The second checker of bounds for methods: it proves what dpbounds does, refuses what is false, needs Python."""

from __future__ import annotations

import ast
import copy
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dpbounds.ftrl.correlations import HalfPowers, damped_anti_pgd, from_coefficients, independent
from dpbounds.ftrl.methods import (
    GradientNoise,
    bound_method,
    gradient_descent,
    heavy_ball,
    nesterov,
    standard_triple_momentum,
)
from dpbounds.ftrl.strongly_convex import Noise
from verify import storage_checker as checker

FILE = Path(checker.__file__)
OPTIONS = {"mu": 0.1, "L": 1.0}


@pytest.fixture(scope="module")
def bounds():
    """Every kind of noise, measure, output and stability."""
    fast = heavy_ball(eta=0.1, momentum=0.9)
    asked = [
        (gradient_descent(eta=0.1), independent(), {}),
        (gradient_descent(eta=0.1), damped_anti_pgd(0.3), {"memory": 0}),
        (fast, from_coefficients([1.0, -0.95]), {}),
        (fast, HalfPowers((0.8, 0.8), (0.3, 0.3)), {"measure": "gradient"}),
        (nesterov(eta=1.0, momentum=0.5), from_coefficients([1.0, -0.7]), {"memory": 1}),
        (nesterov(eta=1.0, momentum=0.5), independent(), {"measure": "gradient", "memory": 1}),
        (gradient_descent(eta=0.1).averaged(decay=0.9), independent(), {"measure": "distance"}),
        (standard_triple_momentum(0.1, 1.0), independent(), {"memory": 1}),
        (
            gradient_descent(eta=0.1),
            independent(),
            {"gradient_noise": GradientNoise(co=3.0, gradient=-1.0, variance=0.1)},
        ),
    ]
    return [
        bound_method(Noise(correlation=noise, rho=0.5, sigma_sgd=0.3), method, **OPTIONS, **options)
        for method, noise, options in asked
    ]


def test_it_is_one_small_file_of_the_standard_library():
    text = FILE.read_text()
    names = [node for node in ast.walk(ast.parse(text)) if isinstance(node, (ast.Import, ast.ImportFrom))]
    modules = {alias.name for node in names if isinstance(node, ast.Import) for alias in node.names}
    modules |= {node.module for node in names if isinstance(node, ast.ImportFrom) if node.module}
    assert {module.partition(".")[0] for module in modules} <= sys.stdlib_module_names
    assert len(text.splitlines()) <= 450


def test_all_are_proved_apart_from_the_package(bounds, tmp_path):
    file = tmp_path / "bounds.json"
    file.write_text(json.dumps([found.data() for found in bounds]))
    shown = subprocess.run([sys.executable, "-I", "-S", FILE, file], capture_output=True, text=True, cwd=tmp_path)
    assert (shown.returncode, shown.stderr) == (0, "")
    for line, found in zip(shown.stdout.splitlines(), bounds, strict=True):
        assert ": proved: " in line and f"({found.statement})" in line
        low, high = (float(word) for word in line.split(": ")[2].split(" (")[0].split(" <= worst mean <= "))
        assert (low, high) == pytest.approx((float(found.lower), float(found.value)), rel=1e-8)


def test_one_number_more_or_less_is_refused(bounds):
    for found in bounds[2:5]:
        data = found.data()
        changes = [
            ("value", data["value"] * (1 - 1e-6)),
            ("lower", data["lower"] * (1 + 1e-6)),
            ("mu", 0.05),
            ("L", 1.2),
            ("P", (0.999 * np.array(data["P"])).tolist()),
            ("multipliers", [1.001 * x for x in data["multipliers"]]),
            ("measure", "distance" if data["measure"] != "distance" else "f"),
            ("statement", "limit" if data["statement"] != "limit" else "time average"),
            ("method", {**data["method"], "B": [1.05 * x for x in data["method"]["B"]]}),
            ("stability", {**data["stability"], "P": (-np.array(data["stability"]["P"])).tolist()}),
            ("noise", {**data["noise"], "rho": 0.49}),
            ("curvature", 1.5),
            ("format", "dpbounds-bound/1"),
        ]
        for name, value in changes:
            with pytest.raises(checker.Refused):
                checker.Bound({**copy.deepcopy(data), name: value})


def test_a_free_function_of_a_loop_that_diverges_is_refused(bounds):
    """P < 0 satisfies the first inequality for descent with eta mu > 2; nothing shows stability."""
    data = bounds[1].data()
    data["method"] = {**data["method"], "B": [-25.0]}
    with pytest.raises(checker.Refused):
        checker.Bound(data)


@pytest.mark.parametrize("content", ["", "[]", "{}", "[1]", '{"format": 1, "format": 2}', "NaN", "null"])
def test_other_files_are_refused(content, tmp_path):
    file = tmp_path / "other.json"
    file.write_text(content)
    assert checker.main([str(file)]) == 2
