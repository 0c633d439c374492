"""`dpbounds solve iv`: check what is asked, compute the rows, simulate, save, draw and print them."""

from __future__ import annotations

import importlib
import json
from argparse import Namespace

from dpbounds import DomainError
from dpbounds.iv import Question
from dpbounds.iv.answers import Answer, answer
from simulators.iv import FixedData, LinearModel
from verify.cli.console import print_json
from verify.cli.solve.files import check_target, write
from verify.cli.solve.iv import budgets, data, problem
from verify.cli.solve.iv.coefficients import coefficients
from verify.cli.solve.iv.confidence.asked import require_without
from verify.cli.solve.iv.show import show
from verify.running.store import strict


def run(arguments: Namespace) -> int:
    """A row for each number of steps."""
    if arguments.check is not None:
        raise DomainError("check", arguments.check, "given without a topic", "the file itself says what it bounds")
    require_without(arguments)
    arguments.seed = arguments.seed or 0
    check_target("save", arguments.save)
    check_target("plot", arguments.plot)
    columns = data.load(arguments) if arguments.csv is not None else None
    asked = problem.question(arguments) if columns is None else data.question(arguments, columns)[0]
    found = answer(asked, arguments.T or [], curve=arguments.plot is not None)
    if budgets.is_total(arguments):
        found = _split(found, arguments, columns)
    if columns is not None:
        _add_coefficients(found, columns)
    if arguments.simulate is not None:
        _simulate(found, arguments, columns)
    try:
        _write(arguments, found)
    finally:  # a full disk does not cost the numbers
        print_json(found.rows) if arguments.json else show(found, columns)
    return 0


def _split(found: Answer, arguments: Namespace, columns: data.DataSet | None) -> Answer:
    """The answer with the budget in the shares that are best where it is in equal parts."""
    asked = budgets.split(found.question, found.share)
    if columns is not None:
        asked = data.with_clip_norms(asked, arguments)[0]
    return answer(asked, arguments.T or [], curve=arguments.plot is not None)


def _add_coefficients(found: Answer, columns: data.DataSet) -> None:
    for row in found.rows:
        row["coefficients"] = coefficients(columns, found.forecasts.get(row["T"]))
        row |= {"cragg_donald": columns.strength.cragg_donald, "dropped": columns.dropped, "scale": columns.scale}


def _simulate(found: Answer, arguments: Namespace, columns: data.DataSet | None) -> None:
    simulation = importlib.import_module("verify.cli.solve.iv.simulation")
    simulation.require_feasible(found.question, found.rows, arguments.simulate)
    model = _model(found.question, arguments) if columns is None else columns.problem
    simulation.add_simulated(found.question, found.rows, model, arguments, columns)


def _model(question: Question, arguments: Namespace) -> LinearModel | FixedData:
    simulation = importlib.import_module("verify.cli.solve.iv.simulation")
    theta, beta = problem.parameters(arguments)
    return simulation.problem_of(question, theta, beta)


def _write(arguments: Namespace, found: Answer) -> None:
    if arguments.save is not None:
        write("save", arguments.save, (json.dumps(strict(found.rows), indent=1, allow_nan=False) + "\n").encode())
    if arguments.plot is not None:
        importlib.import_module("verify.cli.solve.iv.plot").save(arguments.plot, found)
