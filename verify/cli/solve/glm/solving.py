"""`dpbounds solve glm`: check what is asked, compute the rows, simulate, save, draw and print them."""

from __future__ import annotations

import dataclasses
import importlib
import json
import math
from argparse import Namespace
from typing import Any

from dpbounds import DomainError
from dpbounds.glm.answers import Answer, Compared, answer
from simulators.engine import Experiment
from simulators.glm import GaussianModel, Settings, estimate
from verify.cli.console import print_json
from verify.cli.solve.files import check_target, write
from verify.cli.solve.glm.problem import Asked, asked
from verify.cli.solve.glm.show import show
from verify.cli.solve.simulating import Simulated, median_interval, simulate
from verify.running.store import strict

# Records of one simulated run.
MOST_SIMULATED = 20_000_000
BLOCK = 10
Key = tuple[str, str]


def run(arguments: Namespace) -> int:
    """A row for each estimator under each calibration."""
    if arguments.check is not None:
        raise DomainError("check", arguments.check, "given without a topic", "the file itself says what it bounds")
    check_target("save", arguments.save)
    check_target("plot", arguments.plot)
    problem = asked(arguments)
    found = answer(problem.question, estimators=None if arguments.estimator is None else (arguments.estimator,))
    runs = _simulated(arguments, problem, found)
    rows = [_row(problem, found, row, runs.get((row.calibration, row.estimator), {})) for row in found.rows]
    try:
        _write(arguments, problem, found, rows)
    finally:  # a full disk does not cost the numbers
        print_json(rows) if arguments.json else show(problem, found, rows, target=arguments.target)
    return 0


def _simulated(arguments: Namespace, problem: Asked, found: Answer) -> dict[Key, dict[str, Any]]:
    """Medians of the relative error (the mean may be infinite), and the share of runs without a root."""
    if arguments.simulate is None:
        return {}
    question = problem.question
    for name, size in (("n", question.n), ("m", question.m)):
        if size > MOST_SIMULATED:
            raise DomainError(name, size, f"at most {MOST_SIMULATED} with --simulate")
    model = GaussianModel(
        link=question.link,
        w=question.w,
        n=question.n,
        m=question.m,
        noise=question.noise,
        covariance=question.covariance,
    )
    experiments = {
        (row.calibration, row.estimator): Experiment(
            algorithm=estimate, problem=model, settings=_settings(row, problem.clipped), block_trials=BLOCK
        )
        for row in found.rows
    }
    arrays = simulate(experiments, arguments.simulate, seed=arguments.seed, outputs=("relative_l2", "found"))
    return {
        key: {"median": median_interval(run["relative_l2"]), "no_root": 1.0 - float(run["found"].mean())}
        for key, run in arrays.items()
    }


def _settings(row: Compared, clipped: bool) -> Settings:
    """Records beyond the bounds that follow from `failure` hardly occur: sums in law do."""
    gram = row.scales.gram if math.isfinite(row.scales.gram) else 0.0
    noise: dict[str, Any] = {"estimator": row.estimator, "gram_scale": gram, "cross_scale": row.scales.cross}
    if clipped and row.calibration == "tight":
        return Settings(**noise, beyond="clip", radius=row.radius, label_bound=row.label_bound)
    return Settings(**noise)


def _row(problem: Asked, found: Answer, row: Compared, run: dict[str, Any]) -> dict[str, Any]:
    """JSON data. Terms are relative to ||w*||²; sd_xx is null where x x^T is not released."""
    unit = float(problem.question.w @ problem.question.w)
    terms = {name: value / unit for name, value in dataclasses.asdict(row.terms).items() if name != "convergence"}
    median: Simulated | None = run.get("median")
    return {
        "estimator": row.estimator,
        "calibration": row.calibration,
        "recommended": row.calibration == "tight" and row.estimator == found.advice,
        "scale_constant": float(found.constant),
        "radius": row.radius,
        "label_bound": row.label_bound,
        "sd_xx": row.scales.gram if math.isfinite(row.scales.gram) else None,
        "sd_xy": row.scales.cross,
        "delta_within_bounds": row.delta_within,
        "private_for_all": row.private,
        "error": float(row.relative),
        **terms,
        "convergence": row.terms.convergence,
        "reliable": row.reliable,
        **(median.columns("median") | {"no_root": run["no_root"]} if median is not None else {}),
    }


def _write(arguments: Namespace, problem: Asked, found: Answer, rows: list[dict[str, Any]]) -> None:
    if arguments.save is not None:
        write("save", arguments.save, (json.dumps(strict(rows), indent=1, allow_nan=False) + "\n").encode())
    if arguments.plot is not None:
        importlib.import_module("verify.cli.solve.glm.plot").save(arguments.plot, problem.question, found)
