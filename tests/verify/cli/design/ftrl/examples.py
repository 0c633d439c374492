"""Calls of `dpbounds design ftrl`, and records for its plans."""

from __future__ import annotations

import json

import numpy as np

RUN = "design ftrl --steps 24 --eta 0.2 --decay 1 --d 4 --buffers 2"
PLAN = "design ftrl --plan --n 64 --decay 1 --d 4 --initial 2 --sigma-sgd 0.5 --rho 0.5 --batch-sizes 4 --buffers 2"


def rows_of(run, words: str) -> list[dict]:
    status, out, err = run(f"{words} --json")
    assert status == 0, err
    return json.loads(out)


ON_RECORDS = "design ftrl --plan --features records.csv --rho 0.5 --batch-sizes 4 --buffers 2 --clip-norm 0.4"
ON_RECORDS += " --no-amplification"


def records_in(folder, name="records.csv"):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((64, 2))
    y = X @ np.array([1.0, -0.5]) + 0.3 * rng.standard_normal(64)
    lines = ["a,y,b", *(f"{float(row[0])!r},{float(out)!r},{float(row[1])!r}" for row, out in zip(X, y, strict=True))]
    (folder / name).write_text("\n".join(lines) + "\n")
    return X, y
