"""Advice measured: the error of what is recommended over that of the best that the user could have run.

`python -m tests.power.regret TOPIC --count 200 --out FILE` draws settings, asks the public call, simulates it and every
alternative on fresh data, appends a line of JSON for each setting to FILE (a run that is broken off goes on there), and
prints regret and calibration. A topic is a module `tests.power.regret_TOPIC` with `judge(number) -> dict`: `regret`,
`reliable`, `ratio` (predicted over simulated median of what is recommended), and whatever else is worth keeping.
"""

from __future__ import annotations

import argparse
import importlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

# Settings below are kept for choosing constants; those that judge are numbered from here.
FIRST_JUDGED = 1000


def rows_of(judge: Callable[[int], dict[str, Any]], count: int, out: Path | None) -> list[dict[str, Any]]:
    """The first `count` judged settings; those that the file has are not run again."""
    known = [json.loads(line) for line in out.read_text().splitlines()] if out is not None and out.exists() else []
    rows = {row["number"]: row for row in known}
    for number in range(FIRST_JUDGED, FIRST_JUDGED + count):
        if number not in rows:
            rows[number] = {"number": number, **judge(number)}
            if out is not None:
                with out.open("a") as file:
                    file.write(json.dumps(rows[number]) + "\n")
    return [rows[number] for number in range(FIRST_JUDGED, FIRST_JUDGED + count)]


def summary(rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Median regret, shares of small ones, share called reliable, and of these the share predicted within 10 %."""
    regret = np.array([row["regret"] for row in rows], dtype=float)
    reliable = [row["ratio"] for row in rows if row["reliable"]]
    near = np.abs(np.array(reliable, dtype=float) - 1.0) <= 0.1
    return {
        "settings": float(len(rows)),
        "median regret": float(np.median(regret)),
        "regret at most 1.1": float(np.mean(regret <= 1.1)),
        "regret at most 1.5": float(np.mean(regret <= 1.5)),
        "reliable": len(reliable) / len(rows),
        "of these within 10 %": float(near.mean()) if reliable else float("nan"),
    }


def main() -> None:
    """Print the summary of a topic."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("topic")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    judge = importlib.import_module(f"tests.power.regret_{asked.topic}").judge
    for name, value in summary(rows_of(judge, asked.count, asked.out)).items():
        print(f"{name:<24} {value:.3g}")


if __name__ == "__main__":
    main()
