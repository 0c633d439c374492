"""Records of a made-up study, and calls of `dpbounds solve iv --confidence` on them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tests.verify.cli.solve.examples import Shown, call

N, EFFECT = 3000, -6.0
NAMES = ("A", "B", "C", "D", "W")
COLUMNS = ("--outcome", "D", "--regressors", "C", "--instruments", "A", "B", "--bounds", "D=0:52", "C=0:1")
BUDGET = ("--epsilon", 1, "--delta", "1e-6")
MEANS = ("--instrument-means", "A=0.5", "B=0.4")
STRETCH = ("--instruments", "A", "--clamping", "stretch", "--heterogeneity", 3)
SIGNS = ("--instruments", "A", "--instrument-means", "A=0.5", "--design", "s", "--grid=-20:10:200")
RANGES = {"D": (0, 52), "C": (0, 1)}


def data(n: int = N) -> np.ndarray:
    """Two randomised 0/1 instruments, a 0/1 regressor, a confounded outcome in weeks, a control of three values."""
    rng = np.random.default_rng(0)
    A, B, W, u = rng.random(n) < 0.5, rng.random(n) < 0.4, rng.integers(0, 3, n), rng.standard_normal(n)
    C = 0.6 * A + 0.3 * B + 0.4 * u + 0.3 * rng.standard_normal(n) > 0.5
    D = np.clip(np.round(20 + EFFECT * C + 8 * u + 3 * W + 6 * rng.standard_normal(n)), 0, 52)
    return np.column_stack([A, B, C, D, W]).astype(int)


def written(folder: Path, values: Any, name: str = "data.csv") -> Path:
    lines = [",".join(NAMES), *(",".join(map(str, row)) for row in values)]
    (folder / name).write_text("\n".join(lines))
    return folder / name


def solve(capsys, file: Path | None, *options: object) -> Shown:
    given = () if file is None else ("--csv", file)
    return call(capsys, "solve", "iv", "--confidence", *given, *COLUMNS, *BUDGET, *options)


def row_of(capsys, file: Path, *options: object) -> dict[str, Any]:
    (row,) = solve(capsys, file, *options, "--json").rows
    return row
