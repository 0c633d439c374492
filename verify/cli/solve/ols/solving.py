"""`dpbounds solve ols`: read what is given, compare, simulate, save, draw and print."""

from __future__ import annotations

import importlib
import json
from argparse import Namespace
from typing import Any

from dpbounds import DomainError
from dpbounds.ols import AssumedDesign, Comparison, ScaledData, compare
from simulators.ols import assumed_records, rehearsals, scaled_records
from verify.cli.console import print_json
from verify.cli.files import check_target, write
from verify.cli.solve.ols.problem import choices, problem
from verify.cli.solve.ols.show import show
from verify.cli.solve.simulating import median_interval, simulate
from verify.running.store import strict


def run(arguments: Namespace) -> int:
    """A row for each method under each accounting."""
    if arguments.check is not None:
        raise DomainError("check", arguments.check, "given without a topic", "the file itself says what it bounds")
    check_target("save", arguments.save)
    check_target("plot", arguments.plot)
    subject, setting = problem(arguments)
    gram_or_data = subject if isinstance(subject, ScaledData) else subject.gram
    found = compare(
        gram_or_data,
        arguments.epsilon,
        arguments.delta,
        choices(arguments),
        references=True,
        stand_in=arguments.stand_in,
        n=arguments.n if isinstance(subject, ScaledData) else None,
    )
    rows = found.table()
    if arguments.simulate is not None:
        if isinstance(subject, ScaledData) and arguments.n not in (None, subject.gram.n):
            raise DomainError(
                "simulate", arguments.simulate, "left out with --n", "runs are on the records of the file"
            )
        _add_medians(rows, found, subject, arguments)
    try:
        _write(arguments, found, rows)
    finally:  # a full disk does not cost the numbers
        print_json(rows) if arguments.json else show(found, setting, rows)
    return 0


def _add_medians(
    rows: list[dict[str, Any]], found: Comparison, subject: AssumedDesign | ScaledData, arguments: Namespace
) -> None:
    """Medians with their intervals: AdaSSP's mean is infinite."""
    if isinstance(subject, ScaledData):
        records = scaled_records(subject)
    else:
        records = assumed_records(subject, seed=arguments.seed)
    runs = simulate(rehearsals(found, records), arguments.simulate, seed=arguments.seed, outputs=("risk",))
    for row, compared in zip(rows, found.rows, strict=True):
        key = (compared.method, compared.accounting)
        if key in runs:
            row |= median_interval(found.units * runs[key]["risk"]).columns("median")


def _write(arguments: Namespace, found: Comparison, rows: list[dict[str, Any]]) -> None:
    if arguments.save is not None:
        write("save", arguments.save, (json.dumps(strict(rows), indent=1, allow_nan=False) + "\n").encode())
    if arguments.plot is not None:
        importlib.import_module("verify.cli.solve.ols.plot").save(arguments.plot, found)
