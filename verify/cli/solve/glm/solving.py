"""`dpbounds solve glm`: read what is given, ask `dpbounds.glm.recommend`, simulate, save, draw and print the rows."""

from __future__ import annotations

import importlib
import json
import math
from argparse import Namespace
from typing import Any

from dpbounds import DomainError
from dpbounds.glm.prediction import Prediction
from dpbounds.glm.recommendation import Recommendation, recommend
from dpbounds.glm.surveys import MessagePrediction
from dpbounds.glm.tuned import TunedPrediction
from simulators.engine import Experiment
from simulators.glm.recommended import (
    message_experiments,
    recommendation_experiments,
    reference_experiments,
    share_without_root,
)
from verify.cli.console import print_json
from verify.cli.files import check_target, write
from verify.cli.solve.glm.problem import assumptions, settings
from verify.cli.solve.glm.show import show
from verify.cli.solve.simulating import Simulated, median_interval, simulate
from verify.running.store import strict

Key = tuple[str, str]


def run(arguments: Namespace) -> int:
    """A row for each estimator under each calibration."""
    if arguments.check is not None:
        raise DomainError("check", arguments.check, "given without a topic", "the file itself says what it bounds")
    check_target("save", arguments.save)
    check_target("plot", arguments.plot)
    recommendation = recommend(**settings(arguments))
    runs = _simulated(arguments, recommendation)
    rows = [_row(recommendation, row, runs.get((row.calibration, row.estimator), {})) for row in recommendation.rows]
    if arguments.estimator is None:
        references = recommendation.references
        rows += [_reference_row(row, runs.get(("best radius", row.estimator), {})) for row in references]
    rows += [_message_row(recommendation, row, runs.get(("message", row.name), {})) for row in recommendation.messages]
    rows.append(_nothing(recommendation))
    try:
        _write(arguments, recommendation, rows)
    finally:  # a full disk does not cost the numbers
        if arguments.json:
            print_json(rows)
        else:
            show(recommendation, rows, assumptions(arguments, recommendation.problem))
    return 0


def _simulated(arguments: Namespace, recommendation: Recommendation) -> dict[Key, dict[str, Any]]:
    """Medians of the relative error (the mean may be infinite), and the share of runs without a root."""
    if arguments.simulate is None:
        return {}
    experiments: dict[Key, Experiment] = {**recommendation_experiments(recommendation)}
    if arguments.estimator is None:
        experiments |= {("best radius", name): one for name, one in reference_experiments(recommendation).items()}
    experiments |= {("message", name): one for name, one in message_experiments(recommendation).items()}
    arrays = simulate(experiments, arguments.simulate, seed=arguments.seed, outputs=("relative_l2", "has_root"))
    return {
        key: {"median": median_interval(run["relative_l2"]), "no_root": share_without_root(run)}
        for key, run in arrays.items()
    }


def _row(recommendation: Recommendation, row: Prediction, run: dict[str, Any]) -> dict[str, Any]:
    """JSON data. Terms are relative to ||w*||²; sd_xx is null where x x^T is not released."""
    median: Simulated | None = run.get("median")
    return {
        "estimator": row.estimator,
        "calibration": row.calibration,
        "recommended": recommendation.recommends(row) and recommendation.recommended == row.estimator,
        "scale_constant": float(recommendation.constant),
        "radius": row.radius,
        "label_bound": row.label_bound,
        "sd_xx": row.scales.gram if math.isfinite(row.scales.gram) else None,
        "sd_xy": row.scales.cross,
        "delta_within_bounds": row.delta_within,
        "private_for_all": row.private,
        "error": float(row.relative),
        **row.relative_terms.sources,
        "convergence": row.terms.convergence,
        "excess": row.terms.excess,
        "reliable": row.reliable,
        **(median.columns("median") | {"no_root": run["no_root"]} if median is not None else {}),
    }


def _reference_row(row: TunedPrediction, run: dict[str, Any]) -> dict[str, Any]:
    """JSON data; never recommended, as it is tuned to what is to be found."""
    median: Simulated | None = run.get("median")
    return {
        "estimator": row.estimator,
        "calibration": "best radius",
        "recommended": False,
        "scale_constant": None,
        "radius": row.radius,
        "label_center": row.label_center,
        "label_bound": row.label_bound,
        "sd_xx": row.scales.gram if math.isfinite(row.scales.gram) else None,
        "sd_xy": row.scales.cross,
        "delta_within_bounds": row.delta,
        "private_for_all": True,
        "error": float(row.relative),
        "clipping": row.bias,
        **row.terms.sources,
        "convergence": row.terms.convergence,
        "excess": row.terms.excess,
        "reliable": row.reliable,
        **(median.columns("median") | {"no_root": run["no_root"]} if median is not None else {}),
    }


def _message_row(recommendation: Recommendation, row: MessagePrediction, run: dict[str, Any]) -> dict[str, Any]:
    """JSON data of a survey by messages: its noise is on the one message, and its public records are in one term."""
    median: Simulated | None = run.get("median")
    return {
        "estimator": row.name,
        "calibration": "message",
        "recommended": recommendation.recommended == row.name,
        "scale_constant": None,
        "radius": 0.0,
        "label_bound": row.label_bound,
        "sd_xx": None,
        "sd_xy": row.scale,
        "delta_within_bounds": row.delta,
        "private_for_all": True,
        "error": float(row.relative),
        "sampling": row.terms.sampling,
        "gram_noise": 0.0,
        "cross_noise": row.terms.noise,
        "public_covariance": row.terms.public,
        "public_scale": 0.0,
        "convergence": None,
        "excess": row.excess,
        "median_predicted": float(row.median),
        "reliable": row.reliable,
        **(median.columns("median") | {"no_root": run["no_root"]} if median is not None else {}),
    }


def _nothing(recommendation: Recommendation) -> dict[str, Any]:
    """JSON data of w = 0, which costs no privacy."""
    row: dict[str, Any] = dict.fromkeys(("scale_constant", "radius", "label_bound", "sd_xx", "sd_xy", "convergence"))
    terms = dict.fromkeys(("sampling", "gram_noise", "cross_noise", "public_covariance", "public_scale", "excess"), 0.0)
    own = {"estimator": "zero", "calibration": "nothing", "recommended": recommendation.recommended == "zero"}
    return own | row | {"delta_within_bounds": 0.0, "private_for_all": True, "error": 1.0} | terms | {"reliable": True}


def _write(arguments: Namespace, recommendation: Recommendation, rows: list[dict[str, Any]]) -> None:
    if arguments.save is not None:
        write("save", arguments.save, (json.dumps(strict(rows), indent=1, allow_nan=False) + "\n").encode())
    if arguments.plot is not None:
        importlib.import_module("verify.cli.solve.glm.plot").save(arguments.plot, recommendation)
