"""`dpbounds solve iv --confidence`: make the plan, answer it, draw, save and print."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path
from typing import Any

from dpbounds import DomainError
from dpbounds.iv.confidence import ReleasePlan
from simulators.iv.confidence.disclosing import private_answer
from verify.cli.console import print_json
from verify.cli.files import check_target, write
from verify.cli.solve.iv.confidence import planning, plot, records, show, signs
from verify.cli.solve.iv.confidence.settings import release_plan
from verify.cli.solve.pictures import drawn
from verify.running.store import strict

Row = dict[str, Any]


def run(arguments: Namespace) -> int:
    """A release and its set with --csv, what to expect without."""
    if arguments.check is not None:
        raise DomainError("check", arguments.check, "given without a topic", "the file itself says what it bounds")
    check_target("save", arguments.save)
    check_target("plot", arguments.plot)
    plan = release_plan(arguments)
    return _expect(arguments, plan) if arguments.csv is None else _release(arguments, plan)


def _expect(arguments: Namespace, plan: ReleasePlan) -> int:
    """A row for each of three budgets; no data are read."""
    prices = planning.prices(arguments, plan)
    rows = [price.row() for price in prices]
    _save(arguments, rows)
    print_json(rows) if arguments.json else planning.show(plan, rows, arguments.deviation)
    return 0


def _release(arguments: Namespace, plan: ReleasePlan) -> int:
    """One row."""
    for name in ("n", "deviation"):
        if getattr(arguments, name) is not None:
            raise DomainError(name, getattr(arguments, name), "left out with --csv")
    columns = records.load(plan, arguments.csv, drop_missing=arguments.drop_missing)
    by_name = dict(zip(plan.columns, columns.values.T, strict=True))
    answer = private_answer(plan, by_name, before=lambda: show.before(plan))
    rows = [answer.row(dropped=columns.dropped)]
    try:
        if arguments.plot is not None:
            write("plot", arguments.plot, drawn(plot.picture(answer), Path(arguments.plot).suffix.lower()))
        _save(arguments, rows)
    finally:  # a full disk does not cost the budget that was spent
        if arguments.json:
            print_json(rows)
        else:
            (signs if plan.design == "s" else show).show(answer, columns.dropped)
    return 0


def _save(arguments: Namespace, rows: list[Row]) -> None:
    if arguments.save is not None:
        write("save", arguments.save, (json.dumps(strict(rows), indent=1, allow_nan=False) + "\n").encode())
