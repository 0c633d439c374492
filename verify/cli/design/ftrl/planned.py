"""`dpbounds design ftrl --plan`: each kind of noise tuned for itself."""

from __future__ import annotations

import time
from argparse import Namespace
from typing import Any

from dpbounds.ftrl.design import Plan, PlanRow, plan
from dpbounds.ftrl.design.amplification import installed
from verify.cli.console import progress
from verify.cli.design.ftrl import outputs, show, simulated
from verify.cli.design.ftrl.problem import budget_of, buffers_of, check, eigenvalues_of, start_of

Row = dict[str, Any]


def run(arguments: Namespace) -> int:
    """Plan, simulate, save, draw, export and print."""
    check(arguments)
    eigenvalues = eigenvalues_of(arguments)
    amplification = not arguments.no_amplification and installed()
    started = time.perf_counter()
    with progress("design") as show_progress:
        found = plan(
            eigenvalues,
            arguments.n,
            initial=start_of(arguments, eigenvalues),
            **budget_of(arguments),
            epochs=arguments.epochs,
            clip_norm=arguments.clip_norm,
            sigma_sgd=arguments.sigma_sgd,
            schedules=tuple(arguments.schedules or ("constant", "linear")),
            batch_sizes=tuple(arguments.batch_sizes or ()),
            weights=arguments.objective or "final",
            buffers=buffers_of(arguments),
            amplification=amplification,
            progress=show_progress,
        )
    rows = [row_of(row, found) for row in found.rows]
    if arguments.simulate is not None:
        simulated.add_plan(found, rows, arguments)
    outputs.write_plan(found, rows, arguments)
    show.show_plan(found, rows, arguments, time.perf_counter() - started, amplification)
    return 0


def row_of(row: PlanRow, found: Plan) -> Row:
    """The columns of a row."""
    return {
        "mechanism": row.label,
        "noise": row.correlation.name,
        "batch_size": row.setting.batch_size,
        "steps": row.steps,
        "schedule": row.setting.schedule,
        "eta": row.setting.eta,
        "bias": row.loss.bias,
        "sgd_noise": row.loss.sgd_noise,
        "privacy_noise": row.loss.privacy_noise,
        "total": row.loss.total,
        "bound": row.bound,
        "ratio": row.ratio,
        "gain": row.gain,
        "noise_multiplier": row.noise_multiplier,
        "rho": found.budget.rho,
        "epsilon": found.budget.epsilon,
        "delta": found.budget.delta,
    }
