"""`dpbounds design ftrl` for a given run: mechanisms beside each other, with the bound that none can beat."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dpbounds import DomainError
from dpbounds.ftrl.correlations import Correlation, independent
from dpbounds.ftrl.design import LowerBound, best, lower_bound, prefix_sum, sensitivity
from dpbounds.ftrl.design.fitting import most_buffers
from dpbounds.ftrl.design.planner import quick_bound
from verify.cli.console import progress
from verify.cli.design.ftrl import outputs, show, simulated
from verify.cli.design.ftrl.problem import Run, buffers_of, check, run_of
from verify.cli.design.ftrl.tuned import tuned_independent

Row = dict[str, Any]

# Relative width to which lower bounds are computed.
TOLERANCE = 1e-4
PARTS = ("lower bound", "independent", "prefix sum", "designed")


@dataclass(frozen=True, kw_only=True, eq=False)
class Designed:
    """Rows, the mechanism of each, and the bound that they share."""

    rows: Sequence[Row]
    mechanisms: Sequence[Correlation]
    bound: LowerBound


def run(arguments: Namespace) -> int:
    """Compute, simulate, save, draw, export and print."""
    check(arguments)
    given = run_of(arguments)
    buffers = buffers_of(arguments, most_buffers(given.objective.steps))
    if arguments.simulate is not None:
        simulated.check_work(given, len(PARTS) - 1, arguments.simulate)
    found = _designed(given, arguments, buffers)
    if arguments.simulate is not None:
        simulated.add(given, found.rows, found.mechanisms, arguments.simulate, arguments.seed)
    outputs.write_run(given, found.rows, found.mechanisms, arguments)
    show.show_run(given, found, arguments)
    return 0


def _designed(given: Run, arguments: Namespace, buffers: int) -> Designed:
    with progress("design") as show_progress:
        show_progress(0, len(PARTS), PARTS[0])
        started = time.perf_counter()
        bound = _bound(given, certify=arguments.certify)
        seconds = time.perf_counter() - started
        alone = tuned_independent(given)
        rows, mechanisms = [], []
        for done, name in enumerate(PARTS[1:], 1):
            show_progress(done, len(PARTS), name)
            started = time.perf_counter()
            correlation, value = _mechanism(name, given, buffers, arguments.unknown_spectrum)
            row = _row(name, given, correlation, value, bound)
            row["gain"] = None if not rows else rows[0]["total"] / row["total"]
            row["gain_tuned"] = None if alone is None else alone / row["total"]
            row["seconds"] = time.perf_counter() - started
            rows.append(row)
            mechanisms.append(correlation)
        rows[0]["gain"] = 1.0
        show_progress(len(PARTS), len(PARTS), "")
    for row in rows:
        row["bound_seconds"] = seconds
    return Designed(rows=rows, mechanisms=mechanisms, bound=bound)


def _bound(given: Run, *, certify: bool) -> LowerBound:
    if certify:
        return lower_bound(given.objective, given.participation, certify=True)
    return quick_bound(given.objective, given.participation, TOLERANCE)


def _mechanism(name: str, given: Run, buffers: int, unknown: bool) -> tuple[Correlation, float]:
    """The mechanism of a row, and its value s^2 tr(G B B^T)."""
    objective, participation = given.objective, given.participation
    if name == "independent":
        correlation = independent()
        largest = float(sensitivity(correlation, objective.steps, participation))
        return correlation, largest**2 * float(objective.diagonal().sum())
    if name == "prefix sum":
        correlation = prefix_sum(objective.steps, participation)
        return correlation, float(objective.value(correlation, participation))
    found = best(objective, participation, buffers=buffers, unknown_spectrum=unknown)
    return found.mechanism, float(found.value)


def _row(name: str, given: Run, correlation: Correlation, value: float, bound: LowerBound) -> Row:
    objective, variance = given.objective, given.variance
    rest = objective.bias + objective.sgd_noise
    largest = sensitivity(correlation, objective.steps, given.participation)
    least = rest + variance * _proved(bound)
    total = rest + variance * value
    return {
        "mechanism": name,
        "noise": correlation.name,
        "bias": objective.bias,
        "sgd_noise": objective.sgd_noise,
        "privacy_noise": variance * value,
        "total": total,
        "bound": least,
        "ratio": total / least,
        "noise_ratio": value / _proved(bound),
        "value": value,
        "sensitivity": float(largest),
        "kind": largest.kind,
        "noise_multiplier": float(largest) / (2.0 * given.budget.rho) ** 0.5,
        **given.budget._asdict(),
    }


def _proved(bound: LowerBound) -> float:
    """The end that is proved, where there is one."""
    enclosure = bound.value.enclosure
    least = float(bound.value) if enclosure is None else enclosure[0]
    if least <= 0:
        raise DomainError("weights", least, "such that noise costs something", "every weighted iterate comes too early")
    return least
