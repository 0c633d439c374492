"""Advice measured: the error of what is recommended over that of the best that the user could have run.

`python -m tests.power.regret TOPIC --count 200 --out FILE` draws settings, asks the public call, simulates it and every
alternative on fresh data, appends a line of JSON for each setting to FILE (a run that is broken off goes on there), and
prints regret and calibration. A topic is a module `tests.power.regret_TOPIC` with `judge(number) -> dict`: `regret`,
`reliable`, `ratio` (predicted over simulated median of what is recommended), and whatever else is worth keeping; of
these `regret_NAME`, `reliable_NAME` and `ratio_NAME` (another call), and `inside`, are summed up likewise. With
`--kinds` the same shares are printed for kinds of settings, `kinds(number) -> list[str]` of the topic.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

# Settings below are kept for choosing constants and have been looked at; those that judge are numbered from here.
FIRST_JUDGED = 2000


def rows_of(
    judge: Callable[[int], dict[str, Any]], count: int, out: Path | None, first: int = FIRST_JUDGED
) -> list[dict[str, Any]]:
    """The first `count` settings from `first` on; those that the file has are not run again."""
    known = [json.loads(line) for line in out.read_text().splitlines()] if out is not None and out.exists() else []
    rows = {row["number"]: row for row in known}
    for number in range(first, first + count):
        if number not in rows:
            rows[number] = {"number": number, **judge(number)}
            if out is not None:
                with out.open("a") as file:
                    file.write(json.dumps(rows[number]) + "\n")
    return [rows[number] for number in range(first, first + count)]


def summary(rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Median regret, shares of small ones, share called reliable, and of these the share predicted within 10 %."""
    found = {"settings": float(len(rows))}
    for key in (key for key in rows[0] if key.startswith("regret")):
        regret = np.array([row[key] for row in rows], dtype=float)
        found |= {
            f"median {key}": float(np.median(regret)),
            f"{key} at most 1.1": float(np.mean(regret <= 1.1)),
            f"{key} at most 1.5": float(np.mean(regret <= 1.5)),
        }
    for key in (key for key in rows[0] if key.startswith("reliable")):
        reliable = [row[key.replace("reliable", "ratio")] for row in rows if row[key]]
        near = np.abs(np.array(reliable, dtype=float) - 1.0) <= 0.1
        found |= {key: len(reliable) / len(rows), f"{key}, within 10 %": float(near.mean()) if reliable else math.nan}
    inside = [row["inside"] for row in rows if row.get("inside") is not None]
    return found | ({"inside": float(np.mean(inside))} if inside else {})


def by_kind(rows: Sequence[dict[str, Any]], kinds: Callable[[int], list[str]]) -> list[str]:
    """For each kind of setting and each regret: shares above 1.1 and 1.5, and the largest; for each forecast: the share
    called reliable, and how many of these were off by more than 10 %. The worst kinds first.
    """
    members: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        for kind in kinds(row["number"]):
            members.setdefault(kind, []).append(row)
    lines = []
    for key in (key for key in rows[0] if key.startswith("regret")):
        found = []
        for kind, group in members.items():
            regret = np.array([row[key] for row in group], dtype=float)
            above, far = np.mean(regret > 1.1), np.mean(regret > 1.5)
            text = f"{kind:<22} {len(group):>4} {above:>7.1%} {far:>7.1%} {regret.max():>7.3g}"
            found.append((above, text))
        lines += [f"{key}: settings, above 1.1, above 1.5, largest", *_worst(found)]
    for key in (key for key in rows[0] if key.startswith("reliable")):
        found = []
        for kind, group in members.items():
            off = [abs(row[key.replace("reliable", "ratio")] - 1.0) > 0.1 for row in group if row[key]]
            share = len(off) / len(group)
            found.append((sum(off) / max(len(off), 1), f"{kind:<22} {share:>7.1%} {sum(off):>4} of {len(off)}"))
        lines += [f"{key}: share called so, and off by more than 10 %", *_worst(found)]
    return lines


def _worst(found: list[tuple[float, str]]) -> list[str]:
    return [text for _, text in sorted(found, key=lambda pair: -pair[0])]


def main() -> None:
    """Print the summary of a topic."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("topic")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--first", type=int, default=FIRST_JUDGED, help="number of the first setting")
    parser.add_argument("--kinds", action="store_true", help="also by kind of setting")
    asked = parser.parse_args()
    topic = importlib.import_module(f"tests.power.regret_{asked.topic}")
    rows = rows_of(topic.judge, asked.count, asked.out, asked.first)
    for name, value in summary(rows).items():
        print(f"{name:<28} {value:.3g}")
    for line in by_kind(rows, topic.kinds) if asked.kinds else ():
        print(line)


if __name__ == "__main__":
    main()
