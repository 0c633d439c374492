"""`dpbounds design ftrl --plan`: each kind of noise tuned for itself."""

from __future__ import annotations

import time
from argparse import Namespace
from typing import Any

from dpbounds import DomainError
from dpbounds.ftrl.design import Plan, PlanRow, ProxyRecords, plan
from verify.cli.console import progress
from verify.cli.design.ftrl import outputs, show, simulated
from verify.cli.design.ftrl.problem import budget_of, buffers_of, check, eigenvalues_of, start_of
from verify.cli.design.ftrl.records import records_of

Row = dict[str, Any]


def run(arguments: Namespace) -> int:
    """Plan, simulate, save, draw, export and print."""
    check(arguments)
    records = records_of(arguments)
    if records is not None and arguments.simulate is not None and arguments.objective not in (None, "final"):
        raise DomainError("simulate", arguments.simulate, "left out", "runs on records give final losses only")
    if arguments.momentum and arguments.plot is not None:
        raise DomainError("plot", arguments.plot, "left out with --momentum", "curves are of runs without it")
    problem = problem_of(arguments, records)
    started = time.perf_counter()
    with progress("design") as show_progress:
        found = plan(
            **problem,
            **budget_of(arguments),
            epochs=arguments.epochs,
            work=arguments.work,
            clip_norm=arguments.clip_norm,
            clip_norms=tuple(arguments.clip_norms or ()),
            schedules=tuple(arguments.schedules or ("constant", "linear")),
            batch_sizes=tuple(arguments.batch_sizes or ()),
            weights=arguments.objective or "final",
            buffers=buffers_of(arguments),
            amplification=not arguments.no_amplification,
            records=records,
            momentum=arguments.momentum,
            progress=show_progress,
        )
    rows = [row_of(row, found) for row in found.rows]
    if arguments.simulate is not None:
        simulated.add_plan(found, rows, arguments, records)
    outputs.write_plan(found, rows, arguments)
    show.show_plan(found, rows, arguments, time.perf_counter() - started)
    return 0


def problem_of(arguments: Namespace, records: ProxyRecords | None) -> dict[str, Any]:
    """What is to be learned: from the records, or from the options."""
    if records is not None:
        n = records.rows if arguments.n is None else arguments.n
        known = {"eigenvalues": records.eigenvalues, "initial": records.start, "sigma_sgd": records.sigma_sgd}
        return {"n": n, **known}
    eigenvalues = eigenvalues_of(arguments)
    start = start_of(arguments, eigenvalues)
    return {"eigenvalues": eigenvalues, "n": arguments.n, "initial": start, "sigma_sgd": arguments.sigma_sgd}


def row_of(row: PlanRow, found: Plan) -> Row:
    """The columns of a row."""
    clipped = row.clipped
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
        "clipped_total": row.clipped_loss,
        "share_clipped": None if clipped is None else float(clipped.share_clipped.mean()),
        "excursion": None if clipped is None else clipped.excursion,
        "population": row.population,
        "epochs": found.training.epochs,
        "mean_weight": None if clipped is None else row.mean_weight,
        "momentum": row.momentum,
        "gain": row.gain,
        "clip_norm": row.clip_norm,
        "noise_multiplier": row.noise_multiplier,
        "rho": found.budget.rho,
        "epsilon": found.budget.epsilon,
        "delta": found.budget.delta,
        "verdict": found.verdict,
    }
