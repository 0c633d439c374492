"""`dpbounds design ftrl` for a given run: mechanisms beside each other, with the bound that none can beat."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Callable
from typing import Any, TypeVar

from dpbounds.ftrl.design import Design, DesignRow, best
from dpbounds.ftrl.design.fitting import most_buffers
from dpbounds.ftrl.design.noise_kinds import OF_A_RUN
from verify.cli.console import progress
from verify.cli.design.ftrl import outputs, show, simulated
from verify.cli.design.ftrl.problem import budget_of, buffers_of, check, residuals_of, run_of

Row = dict[str, Any]
Result = TypeVar("Result")

# What is counted while it runs: one part for the design, one for its bound, one for each row.
PARTS = 2 + len(OF_A_RUN)


def run(arguments: Namespace) -> int:
    """Compute, simulate, save, draw, export and print."""
    check(arguments)
    given = run_of(arguments)
    settings = {
        "buffers": buffers_of(arguments, most_buffers(given.objective.steps)),
        "unknown_spectrum": arguments.unknown_spectrum,
        "residuals": residuals_of(arguments),
        "clip_norm": arguments.clip_norm,
        "certify": arguments.certify,
        **budget_of(arguments),
    }
    if arguments.simulate is not None:
        simulated.check_work(given.objective, len(OF_A_RUN), arguments.simulate)
    with progress("design") as show_progress:
        if arguments.bound_seconds is not None:
            settings["bound_seconds"] = arguments.bound_seconds
        settings["progress"] = lambda done, most, what: show_progress(1, PARTS, f"{what}, step {done} of {most}")
        show_progress(0, PARTS, "designed")
        design, designing = _timed(lambda: best(given.objective, given.participation, **settings))
        show_progress(1, PARTS, "lower bound")
        _, bounding = _timed(lambda: design.bound)
        rows = []
        for done, kind in enumerate(OF_A_RUN, 2):
            show_progress(done, PARTS, kind)
            row, seconds = _timed(lambda kind=kind: design.row(kind))
            spent = seconds + designing if kind == "designed" else seconds
            rows.append({**row_of(row, design), "seconds": spent, "bound_seconds": bounding})
        show_progress(PARTS, PARTS, "")
    if arguments.simulate is not None:
        simulated.add(design, rows, arguments.simulate, arguments.seed)
    outputs.write_run(design, rows, arguments)
    show.show_run(design, given.schedule, rows, arguments)
    return 0


def row_of(row: DesignRow, design: Design) -> Row:
    """The columns of a row."""
    return {
        "mechanism": row.label,
        "noise": row.correlation.name,
        "bias": row.loss.bias,
        "sgd_noise": row.loss.sgd_noise,
        "privacy_noise": row.loss.privacy_noise,
        "total": row.loss.total,
        "bound": row.bound,
        "ratio": row.ratio,
        "noise_ratio": row.noise_ratio,
        "value": row.value,
        "sensitivity": float(row.sensitivity),
        "kind": row.sensitivity.kind,
        "noise_multiplier": row.noise_multiplier,
        "rho": design.budget.rho,
        "epsilon": design.budget.epsilon,
        "delta": design.budget.delta,
        "gain": row.gain,
        "gain_tuned": row.gain_tuned,
    }


def _timed(work: Callable[[], Result]) -> tuple[Result, float]:
    """What the work gives, and the seconds it took."""
    started = time.perf_counter()
    return work(), time.perf_counter() - started
