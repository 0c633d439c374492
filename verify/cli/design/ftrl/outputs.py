"""Files of `dpbounds design ftrl`: all contents are made before the first is written."""

from __future__ import annotations

import importlib
import json
from argparse import Namespace
from collections.abc import Mapping, Sequence
from typing import Any

from dpbounds.ftrl.correlations import Correlation
from dpbounds.ftrl.design import Design, LossCurve, Objective, Participation, Plan, plan_curves, run_curves
from dpbounds.ftrl.design.exports import SAVED, Export, export, exported_files, saved
from verify.cli.files import write
from verify.running.store import strict

Row = Mapping[str, Any]


def write_run(design: Design, rows: Sequence[Row], arguments: Namespace) -> None:
    """What --save, --plot and --export name, for a given run."""
    contents = _contents(
        rows, design.mechanism, design.objective, design.participation, design.budget.rho, design.clip_norm, arguments
    )
    if arguments.plot is not None:
        contents["plot", arguments.plot] = _picture(run_curves(design), arguments.plot)
    _write(contents)


def write_plan(found: Plan, rows: Sequence[Row], arguments: Namespace) -> None:
    """The same for a plan."""
    row = found.row("designed")
    objective = found.objective("designed")
    participation = found.training.participation(row.setting.batch_size)
    contents = _contents(rows, row.correlation, objective, participation, found.budget.rho, row.clip_norm, arguments)
    if arguments.plot is not None:
        contents["plot", arguments.plot] = _picture(plan_curves(found), arguments.plot)
    _write(contents)


def write_export(design: Export, arguments: Namespace) -> None:
    """The files of a design that was saved."""
    _write(_exported(design, arguments))


def _contents(
    rows: Sequence[Row],
    correlation: Correlation,
    objective: Objective,
    participation: Participation,
    rho: float,
    clip_norm: float,
    arguments: Namespace,
) -> dict[tuple[str, str], bytes]:
    """What is to be written, by option and file."""
    contents: dict[tuple[str, str], bytes] = {}
    if arguments.save is None and arguments.out is None:
        return contents
    made = export(
        correlation,
        objective.steps,
        arguments.export or "npz",
        participation=participation,
        rho=rho,
        objective=objective,
        clip_norm=clip_norm,
    )
    if arguments.save is not None:
        whole = {"format": SAVED, "rows": list(rows), "designed": saved(made)}
        contents["save", arguments.save] = (json.dumps(strict(whole), indent=1, allow_nan=False) + "\n").encode()
    return contents | _exported(made, arguments)


def _exported(made: Export, arguments: Namespace) -> dict[tuple[str, str], bytes]:
    if arguments.out is None:
        return {}
    return {("out", file): content for file, content in exported_files(made, arguments.out).items()}


def _picture(curves: Sequence[LossCurve], file: str) -> bytes:
    plot = importlib.import_module("verify.cli.design.ftrl.plot")
    return plot.picture(curves, file)


def _write(contents: Mapping[tuple[str, str], bytes]) -> None:
    for (option, file), content in contents.items():
        write(option, file, content)
