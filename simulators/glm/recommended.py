"""The rows of a recommendation as experiments: real records, real noise, clipping where the user's bounds may clip.

>>> from dpbounds.glm import recommend
>>> rows = recommendation_experiments(recommend("logistic", n=1000, epsilon=5.0, p=3))
>>> rows["tight", "pooled"].settings.estimator, rows["printed", "paper"].problem.n
('pooled', 1000)
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import DomainError
from dpbounds.glm.asymptotics import Estimator
from dpbounds.glm.prediction import Prediction
from dpbounds.glm.privacy import Calibration
from dpbounds.glm.problem import Problem
from dpbounds.glm.recommendation import Recommendation
from dpbounds.glm.surveys import NAMES
from simulators.engine import Arrays, Experiment
from simulators.glm.cells import GaussianInLaw
from simulators.glm.estimators import estimate
from simulators.glm.messages import MessageSettings, estimate_from_messages
from simulators.glm.settings import Settings

# Records of one simulated run, and runs in a block.
MOST_SIMULATED, MOST_DRAWN, BLOCK_TRIALS = 20_000_000, 400_000, 10


@typed
def recommendation_experiments(recommendation: Recommendation) -> dict[tuple[Calibration, Estimator], Experiment]:
    """An experiment for each row, by calibration and estimator. Raises `DomainError` for more than 2e7 records."""
    problem = _few(recommendation.problem)
    model = _model(problem)
    return {
        (row.calibration, row.estimator): Experiment(
            algorithm=estimate, problem=model, settings=settings_of(row, problem), block_trials=BLOCK_TRIALS
        )
        for row in recommendation.rows
    }


@typed
def reference_experiments(recommendation: Recommendation) -> dict[str, Experiment]:
    """An experiment for each estimator at its best radius, by name; none for n > 400,000, as every record is drawn.

    Raises `DomainError` for more than 2e7 public records.
    """
    problem = recommendation.problem
    if problem.n > MOST_DRAWN:
        return {}
    problem = _few(problem)
    return {
        row.estimator: Experiment(
            algorithm=estimate,
            problem=_model(problem),
            settings=Settings(
                estimator=row.estimator,
                gram_scale=row.scales.gram if math.isfinite(row.scales.gram) else 0.0,
                cross_scale=row.scales.cross,
                beyond="clip",
                radius=row.radius,
                label_bound=row.label_bound,
                label_center=row.label_center,
            ),
            block_trials=BLOCK_TRIALS,
        )
        for row in recommendation.references
    }


def _few(problem: Problem) -> Problem:
    for name, size in (("n", problem.n), ("m", problem.m)):
        if size > MOST_SIMULATED:
            raise DomainError(name, size, f"at most {MOST_SIMULATED} for a simulation")
    return problem


@typed
def message_experiments(recommendation: Recommendation) -> dict[str, Experiment]:
    """An experiment for each kind of message, by name, in law. Raises `DomainError` for more than 2e7 records."""
    problem = _few(recommendation.problem)
    found = {}
    for row in recommendation.messages:
        noise = NAMES[row.name]
        settings = MessageSettings(
            noise=noise,
            epsilon=problem.epsilon,
            delta=problem.delta if noise == "gaussian" else None,
            label_bound=row.label_bound,
        )
        found[row.name] = Experiment(
            algorithm=estimate_from_messages, problem=_model(problem), settings=settings, block_trials=BLOCK_TRIALS
        )
    return found


def _model(problem: Problem) -> GaussianInLaw:
    return GaussianInLaw(
        link=problem.link,
        w=problem.w,
        n=problem.n,
        m=problem.m,
        noise=problem.noise,
        covariance=problem.covariance,
    )


@typed
def settings_of(row: Prediction, problem: Problem) -> Settings:
    """The settings of one row: clipped where bounds were chosen; those that follow from `failure` are hardly ever
    exceeded, so that sums in law do.
    """
    clips = bool(problem.chosen_bounds) and row.calibration == "tight"
    return Settings(
        estimator=row.estimator,
        gram_scale=row.scales.gram if math.isfinite(row.scales.gram) else 0.0,
        cross_scale=row.scales.cross,
        beyond="clip" if clips else "keep",
        radius=row.radius if clips else math.inf,
        label_bound=row.label_bound if clips else math.inf,
    )


def share_without_root(runs: Arrays) -> float:
    """The share of runs of `estimate` that found no scale, whose errors are infinite."""
    if not isinstance(runs, Mapping) or "has_root" not in runs:
        raise DomainError("runs", runs, "the arrays of `estimate`, with has_root")
    return 1.0 - float(np.mean(runs["has_root"]))
