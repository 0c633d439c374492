"""`dpbounds solve iv`: read what is given, answer, simulate, save, draw and print."""

from __future__ import annotations

import importlib
import json
from argparse import Namespace

from dpbounds import DomainError
from dpbounds.iv import Answer, DataSet, Population, data_answer, population_answer
from verify.cli.console import print_json
from verify.cli.files import check_target, write
from verify.cli.solve.iv import budgets, data, problem
from verify.cli.solve.iv.confidence.settings import require_without
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
    subject = problem.population(arguments) if arguments.csv is None else data.load(arguments)
    answer = answer_to(arguments, subject)
    if arguments.simulate is not None:
        importlib.import_module("verify.cli.solve.iv.simulation").add_simulated(answer, subject, arguments)
    try:
        _write(arguments, answer)
    finally:  # a full disk does not cost the numbers
        print_json(answer.rows) if arguments.json else show(answer, subject, file=arguments.csv)
    return 0


def answer_to(arguments: Namespace, subject: Population | DataSet) -> Answer:
    """The answer for the population or the data set."""
    wanted = {"choices": problem.choices(arguments), "split": budgets.is_total(arguments)}
    wanted |= {"curve": arguments.plot is not None}
    budget, steps = budgets.budget(arguments), arguments.T or []
    if isinstance(subject, DataSet):
        return data_answer(subject, budget, steps, **wanted)
    return population_answer(subject, budget, steps, **wanted)


def _write(arguments: Namespace, answer: Answer) -> None:
    if arguments.save is not None:
        write("save", arguments.save, (json.dumps(strict(answer.rows), indent=1, allow_nan=False) + "\n").encode())
    if arguments.plot is not None:
        importlib.import_module("verify.cli.solve.iv.plot").save(arguments.plot, answer)
