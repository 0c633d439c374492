"""Files of `dpbounds design ftrl`: all contents are made before the first is written."""

from __future__ import annotations

import importlib
import json
from argparse import Namespace
from collections.abc import Mapping, Sequence
from typing import Any

from dpbounds.ftrl.correlations import Correlation
from dpbounds.ftrl.design import Design, LossCurve, Objective, Participation, Plan, plan_curves, run_curves
from dpbounds.ftrl.design.exports import export, exported_files
from dpbounds.ftrl.design.streams import noise_stream
from verify.cli.files import write
from verify.running.store import strict

Row = Mapping[str, Any]

FORMAT = "dpbounds-design/1"


def write_run(design: Design, rows: Sequence[Row], arguments: Namespace) -> None:
    """What --save, --plot and --export name, for a given run."""
    contents = _contents(rows, design.mechanism, design.objective, design.participation, design.budget.rho, arguments)
    if arguments.plot is not None:
        contents["plot", arguments.plot] = _picture(run_curves(design), arguments.plot)
    _write(contents)


def write_plan(found: Plan, rows: Sequence[Row], arguments: Namespace) -> None:
    """The same for a plan."""
    row = found.row("designed")
    objective = found.training.objective(row.setting)
    participation = found.training.participation(row.setting.batch_size)
    contents = _contents(rows, row.correlation, objective, participation, found.budget.rho, arguments)
    if arguments.plot is not None:
        contents["plot", arguments.plot] = _picture(plan_curves(found), arguments.plot)
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
            correlation,
            objective.steps,
            arguments.export,
            participation=participation,
            rho=rho,
            objective=objective,
            clip_norm=arguments.clip_norm,
        )
        contents |= {("out", file): content for file, content in exported_files(made, arguments.out).items()}
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
    known = {name: array.tolist() for name, array in arrays.items() if array is not None}
    return {"name": stream.name, "form": stream.form, "steps": stream.steps, **known}


def _picture(curves: Sequence[LossCurve], file: str) -> bytes:
    plot = importlib.import_module("verify.cli.design.ftrl.plot")
    return plot.picture(curves, file)


def _write(contents: Mapping[tuple[str, str], bytes]) -> None:
    for (option, file), content in contents.items():
        write(option, file, content)
