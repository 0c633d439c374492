"""`dpbounds solve ols`: check what is asked, compute the rows, simulate, save, draw and print them."""

from __future__ import annotations

import importlib
import json
from argparse import Namespace
from dataclasses import asdict
from typing import Any

from dpbounds import DomainError
from dpbounds.ols import Compared, Comparison
from dpbounds.ols.sketch import MOST_ROWS
from simulators.ols import experiment_of
from verify.cli.console import print_json
from verify.cli.solve.files import check_target, write
from verify.cli.solve.ols.problem import Question, question
from verify.cli.solve.ols.show import show
from verify.cli.solve.simulating import Simulated, median_interval, simulate
from verify.running.store import strict

BLOCK = 250
# Fields of the scales that go by another name, or are said elsewhere.
NAMES, HIDDEN = {"steps": "T"}, ("shares", "n", "outcome_bound", "growth", "adjacency")
Key = tuple[str, str]


def run(arguments: Namespace) -> int:
    """A row for each method under each accounting."""
    if arguments.check is not None:
        raise DomainError("check", arguments.check, "given without a topic", "the file itself says what it bounds")
    check_target("save", arguments.save)
    check_target("plot", arguments.plot)
    asked = question(arguments)
    found = _answer(asked)
    medians = _simulated(arguments, asked, found)
    rows = [_row(asked, found, row, medians.get((row.method, row.accounting))) for row in found.rows]
    try:
        _write(arguments, asked, rows)
    finally:  # a full disk does not cost the numbers
        print_json(rows) if arguments.json else show(asked, found, rows)
    return 0


def _answer(asked: Question) -> Comparison:
    """Sketches too large for their accounting are refused with the k that would do."""
    steps = asked.options["steps"]
    for name, times in (("k", steps), ("linear_k", 1)):
        if asked.options.get(name, 0) * times > MOST_ROWS:
            allowed = f"at most {MOST_ROWS // times}, since all sketches together have at most {MOST_ROWS:g} rows"
            raise DomainError(name, asked.options[name], allowed)
    return asked.answer()


def _simulated(arguments: Namespace, asked: Question, found: Comparison) -> dict[Key, Simulated]:
    """Medians with their intervals: AdaSSP's mean is infinite."""
    if arguments.simulate is None:
        return {}
    records = asked.simulated_records(arguments.seed)
    experiments = {
        (row.method, row.accounting): experiment_of(
            row, records, failure=asked.failure, rate=asked.options["rate"], block_trials=BLOCK
        )
        for row in found.rows
        if row.scales is not None
    }
    runs = simulate(experiments, arguments.simulate, seed=arguments.seed, outputs=("risk",))
    return {key: median_interval(asked.units * arrays["risk"]) for key, arrays in runs.items()}


def _row(asked: Question, found: Comparison, row: Compared, median: Simulated | None) -> dict[str, Any]:
    """JSON data: method, accounting, noise, predicted risk in the data's units, what it is, the simulated median."""
    numbers = {} if row.scales is None else asdict(row.scales)
    noise = {NAMES.get(name, name): value for name, value in numbers.items() if name not in HIDDEN}
    risk = asked.units * float(row.risk)
    signal = asked.units * found.regime.features.signal
    return {
        "method": row.method,
        "accounting": row.accounting,
        "recommended": row.accounting == "tight" and row.method == found.recommended.method,
        **noise,
        "risk": risk,
        "risk_per_record": risk / asked.n,
        "over_zero": risk / signal if signal else None,
        "kind": row.risk.kind,
        "reliable": row.reliable,
        **(median.columns("median") if median is not None else {}),
    }


def _write(arguments: Namespace, asked: Question, rows: list[dict[str, Any]]) -> None:
    if arguments.save is not None:
        write("save", arguments.save, (json.dumps(strict(rows), indent=1, allow_nan=False) + "\n").encode())
    if arguments.plot is not None:
        importlib.import_module("verify.cli.solve.ols.plot").save(arguments.plot, asked)
