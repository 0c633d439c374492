"""The picture of `dpbounds design ftrl`: total loss over eta, each mechanism held fixed, with the lower bound."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dpbounds import DomainError
from dpbounds.ftrl.correlations import Correlation
from dpbounds.ftrl.design import Objective, Plan
from dpbounds.ftrl.design.planner import quick_bound
from dpbounds.ftrl.design.tuning import Setting
from reports.results import Picture, Series
from verify.cli.design.ftrl.problem import Run
from verify.cli.solve.pictures import drawn

# Factors of the learning rate; those of the lower bound in long runs.
FACTORS = tuple(np.geomspace(0.25, 4.0, 13).tolist())
LONG, FEW = 128, (0.25, 0.5, 1.0, 2.0, 4.0)
TOLERANCE = 1e-3


def run_picture(given: Run, rows: Sequence[Mapping[str, Any]], mechanisms: Sequence[Correlation], file: str) -> bytes:
    """A curve per row, and what no mechanism is below."""
    eta = float(given.objective.learning_rates[0])
    series = []
    for row, correlation in zip(rows, mechanisms, strict=True):
        size = row["sensitivity"] ** 2 * given.variance

        def total(objective: Objective, correlation=correlation, size=size) -> float:
            return objective.bias + objective.sgd_noise + size * _power(objective, correlation)

        series.append(_curve(row["mechanism"], "exact", given.faster, total, eta, FACTORS))

    def least(objective: Objective) -> float:
        bound = float(quick_bound(objective, given.participation, TOLERANCE))
        return objective.bias + objective.sgd_noise + given.variance * bound

    factors = FACTORS if given.objective.steps <= LONG else FEW
    series.append(_curve("any noise", "lower", given.faster, least, eta, factors))
    return _drawn(series, file)


def plan_picture(found: Plan, file: str) -> bytes:
    """A curve per row around its own eta, in its own batch size and schedule."""
    series = []
    for row in found.rows:
        variance = found.training.variance(row.batch_size, row.noise_multiplier)

        def faster(factor: float, row=row) -> Objective:
            setting = Setting(batch_size=row.batch_size, schedule=row.schedule, eta=factor * row.eta)
            return found.training.objective(setting)

        def total(objective: Objective, row=row, variance=variance) -> float:
            return objective.bias + objective.sgd_noise + variance * _power(objective, row.correlation)

        label = f"{row.mechanism}, batch size {row.batch_size}"
        series.append(_curve(label, "exact", faster, total, row.eta, FACTORS))
    return _drawn(series, file)


def _power(objective: Objective, correlation: Correlation) -> float:
    """tr(G B B^T); of independent noise without a dense matrix."""
    if correlation.name == "independent":
        return float(objective.diagonal().sum())
    return objective.noise_power(correlation)


def _curve(
    label: str,
    role: str,
    faster: Callable[[float], Objective],
    total: Callable[[Objective], float],
    eta: float,
    factors: Sequence[float],
) -> Series:
    points = [(factor * eta, total(objective)) for factor, objective in _stable(faster, factors)]
    return Series(curve=label, role=role, x=tuple(x for x, _ in points), y=tuple(y for _, y in points))


def _stable(faster: Callable[[float], Objective], factors: Sequence[float]) -> Iterator[tuple[float, Objective]]:
    """Runs at the factors at which they are stable; at 1 they are."""
    for factor in factors:
        try:
            yield factor, faster(factor)
        except DomainError:
            if factor <= 1.0:
                raise


def _drawn(series: Sequence[Series], file: str) -> bytes:
    picture = Picture(x="eta", y="total loss, exact, and a lower bound", log=("x", "y"), series=tuple(series))
    return drawn(picture, Path(file).suffix.lower())
