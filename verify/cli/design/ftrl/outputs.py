"""Files of `dpbounds design ftrl`: all contents are made before the first is written."""

from __future__ import annotations

import importlib
import json
from argparse import Namespace
from collections.abc import Mapping, Sequence
from typing import Any

from dpbounds.ftrl.correlations import Correlation
from dpbounds.ftrl.design import Objective, Participation, Plan
from dpbounds.ftrl.design.exports import export
from dpbounds.ftrl.design.streams import noise_stream
from dpbounds.ftrl.design.tuning import Setting
from verify.cli.design.exporting import files_of
from verify.cli.design.ftrl.problem import Run
from verify.cli.solve.files import write
from verify.running.store import strict

Row = Mapping[str, Any]

FORMAT = "dpbounds-design/1"


def write_run(given: Run, rows: Sequence[Row], mechanisms: Sequence[Correlation], arguments: Namespace) -> None:
    """What --save, --plot and --export ask for; the designed mechanism is that of the last row."""
    contents = _contents(rows, mechanisms[-1], given.objective, given.participation, given.budget.rho, arguments)
    if arguments.plot is not None:
        plot = importlib.import_module("verify.cli.design.ftrl.plot")
        contents["plot", arguments.plot] = plot.run_picture(given, rows, mechanisms, arguments.plot)
    _write(contents)


def write_plan(found: Plan, rows: Sequence[Row], arguments: Namespace) -> None:
    """The same for a plan."""
    row = found.rows[-1]
    setting = Setting(batch_size=row.batch_size, schedule=row.schedule, eta=row.eta)
    objective = found.training.objective(setting)
    participation = found.training.participation(row.batch_size)
    contents = _contents(rows, row.correlation, objective, participation, found.rho, arguments)
    if arguments.plot is not None:
        plot = importlib.import_module("verify.cli.design.ftrl.plot")
        contents["plot", arguments.plot] = plot.plan_picture(found, arguments.plot)
    _write(contents)


def _contents(
    rows: Sequence[Row],
    correlation: Correlation,
    objective: Objective,
    participation: Participation,
    rho: float,
    arguments: Namespace,
) -> dict[tuple[str, str], bytes]:
    """What is to be written, by option and file."""
    contents: dict[tuple[str, str], bytes] = {}
    if arguments.save is not None:
        saved = {"format": FORMAT, "rows": list(rows), "designed": _parameters(correlation, objective)}
        contents["save", arguments.save] = (json.dumps(strict(saved), indent=1, allow_nan=False) + "\n").encode()
    if arguments.out is not None:
        made = export(
            correlation, objective.steps, arguments.export, participation=participation, rho=rho, objective=objective
        )
        contents |= {("out", str(file)): content for file, content in files_of(made, arguments.out).items()}
    return contents


def _parameters(correlation: Correlation, objective: Objective) -> dict[str, Any]:
    """What draws the noise, in JSON: the filter, the scalings before and after it, and the learning rates."""
    stream = noise_stream(correlation, objective.steps)
    arrays = {
        "buf_decay": stream.buf_decay,
        "output_scale": stream.output_scale,
        "coefficients": stream.coefficients,
        "before": stream.before,
        "after": stream.after,
        "learning_rates": objective.learning_rates,
    }
    given = {name: array.tolist() for name, array in arrays.items() if array is not None}
    return {"name": stream.name, "form": stream.form, "steps": stream.steps, **given}


def _write(contents: Mapping[tuple[str, str], bytes]) -> None:
    for (option, file), content in contents.items():
        write(option, file, content)
