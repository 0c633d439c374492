"""glm Algorithms 1 to 4 and their variants: one noisy message per user, least squares, and a scale from public data.

>>> from dpbounds.glm.links import logistic
>>> from simulators.engine import Experiment
>>> from simulators.glm.models import GaussianModel
>>> model = GaussianModel(link=logistic, w=np.array([0.6, 0.8]), covariance=np.eye(2), n=20_000, m=20_000)
>>> runs = Experiment(algorithm=estimate, problem=model, settings=Settings(), block_trials=5).run_block(0, seed=0)
>>> runs["w"].shape, bool(runs["relative_l2"].max() < 0.1)
((5, 2), True)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import cast

import numpy as np
from scipy.optimize import brentq

from dpbounds.arguments import formula, typed
from dpbounds.errors import DomainError
from dpbounds.glm.links import Link
from dpbounds.glm.scale import inverse, supremum
from simulators.engine import Arrays, Streams, trial_count
from simulators.glm.models import Model, Public, Sums
from simulators.glm.settings import Settings

Average = Callable[[Callable[[np.ndarray], np.ndarray]], float]

# The scale is searched up to |c| sqrt(mean projection^2) = 50, by factors of 1.25 from 1e-6 of it.
FARTHEST, FACTOR, SHARE = 50.0, 1.25, 1e-6


@typed
def estimate(problem: Model, settings: Settings, streams: Streams, trials: int) -> Arrays:
    """Runs of one estimator on fresh data.

    Arrays over trials: `w` (trials, p), nan where the scale has no root; `w_ols` (trials, p); `scale`; `has_root`;
    `definite` (whether the noisy Gram matrix is positive definite); `relative_l2` = ||w - w*||^2 / ||w*||^2 and
    `relative_max` = ||w - w*||_inf^2 / ||w*||_inf^2, inf without a root; `refused`, the share of records left out.
    """
    if problem.m == 0 and settings.estimator not in ("no-public-data", "two-round"):
        raise DomainError("m", problem.m, "at least p for this estimator", "it needs public records")
    runs = [_run(problem, settings, streams) for _ in range(trial_count(trials))]
    result = {name: np.array([run[name] for run in runs]) for name in runs[0]}
    error = result["w"] - problem.w
    sizes = {"relative_l2": (np.sum(error**2, axis=1), problem.w @ problem.w)}
    sizes["relative_max"] = (np.max(np.abs(error), axis=1) ** 2, np.max(np.abs(problem.w)) ** 2)
    for name, (size, unit) in sizes.items():
        result[name] = np.where(result["has_root"], size / unit, np.inf)
    return result


def _run(problem: Model, settings: Settings, streams: Streams) -> dict:
    first = problem.n // 2 if settings.estimator == "two-round" else problem.n
    sums = _sums(problem, settings, streams, first)
    gram, cross = _noisy(sums, settings, streams.noise)
    public = problem.public(streams.data) if problem.m else None
    matrix, vector = _moments(settings, gram, cross, sums.records, public)
    w_ols = np.linalg.solve(matrix, vector)
    if settings.estimator == "no-public-data":
        scale = _own_scale(problem.link, float(vector @ w_ols))
    else:
        if public is None or settings.estimator == "two-round":
            average = _projections(problem, settings, streams, w_ols, first)
        else:
            average = public.average(w_ols)
        scale = find_scale(problem.link, average)
    return {
        "w": w_ols * scale if scale is not None else np.full(problem.p, np.nan),
        "w_ols": w_ols,
        "scale": scale if scale is not None else math.nan,
        "has_root": scale is not None,
        "definite": bool(np.linalg.eigvalsh(gram)[0] > 0),
        "refused": 1.0 - sums.records / first,
    }


def _sums(problem: Model, settings: Settings, streams: Streams, size: int) -> Sums:
    """Over the private records: in law, or record by record where single ones are looked at."""
    if not settings.needs_rows:
        return problem.sums(streams.data)
    gram, cross, kept = np.zeros((problem.p, problem.p)), np.zeros(problem.p), 0
    for x, y in problem.records(size, streams.data):
        x, y = bounded(x, y, settings)
        gram += x.T @ x
        cross += x.T @ y
        kept += len(x)
    return Sums(gram=gram, cross=cross, records=kept)


@formula
def bounded(x: np.ndarray, y: np.ndarray, settings: Settings) -> tuple[np.ndarray, np.ndarray]:
    """Records as they are sent: kept, without those outside the radius, or clipped to the bounds."""
    norms = np.linalg.norm(x, axis=1)
    if settings.beyond == "refuse":
        inside = norms <= settings.radius
        return x[inside], y[inside]
    if settings.beyond == "clip":
        shrink = np.minimum(1.0, settings.radius / np.maximum(norms, 1e-300))
        return x * shrink[:, None], np.clip(y - settings.label_center, -settings.label_bound, settings.label_bound)
    return x, y


def _noisy(sums: Sums, settings: Settings, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A and b with the noise of all users: one draw in law, or one per user."""
    p, users = len(sums.cross), sums.records
    draws = users if settings.per_user_noise else 1
    unit = 1.0 if settings.per_user_noise else math.sqrt(users)
    gram, cross = sums.gram.copy(), sums.cross.copy()
    upper = np.triu_indices(p)
    for _ in range(draws):
        entries = np.zeros((p, p))
        entries[upper] = settings.gram_scale * unit * generator.standard_normal(len(upper[0]))
        gram += entries + np.triu(entries, 1).T
        cross += settings.cross_scale * unit * generator.standard_normal(p)
    return gram, cross


def _moments(
    settings: Settings, gram: np.ndarray, cross: np.ndarray, users: int, public: Public | None
) -> tuple[np.ndarray, np.ndarray]:
    """The matrix and the vector of the least squares step, per record."""
    if settings.estimator in ("paper", "no-public-data", "two-round") or public is None:
        return gram / users, cross / users
    if settings.estimator == "public-covariance":
        return public.gram / public.records, cross / users
    return (gram + public.gram) / (users + public.records), cross / users


def _projections(problem: Model, settings: Settings, streams: Streams, w_ols: np.ndarray, first: int) -> Average:
    """The second round of Remark 10: noisy <x, w_ols> from the other half of the users."""
    scale = settings.projection_scale * float(np.linalg.norm(w_ols))
    values = np.concatenate(
        [bounded(x, y, settings)[0] @ w_ols for x, y in problem.records(problem.n - first, streams.data)]
    )
    values = values + scale * streams.noise.standard_normal(len(values))
    return lambda g: float(np.mean(g(values)))


def _own_scale(link: Link, squared: float) -> float | None:
    """c = h^{-1}(s) / s from s^2 = b^T A^{-1} b, None where s^2 is negative or beyond the supremum."""
    if not 0 < squared < supremum(link) ** 2:
        return None
    s = math.sqrt(squared)
    try:
        return inverse(link, s) / s
    except DomainError:  # s within rounding of the supremum
        return None


@formula
def find_scale(link: Link, average: Average) -> float | None:
    """The root of c average(mu'(c y~)) = 1, None if there is none with |c| sqrt(mean y~^2) up to 50.

    Bracketed around the root that Gaussian projections of this size would have; where that bracket fails, the first
    sign change from 0 in steps of a factor 1.25: the smallest root but for pairs closer than that.
    """
    size = math.sqrt(average(np.square))
    if not 0 < size < math.inf:
        return None

    @cache
    def excess(c: float) -> float:
        return link.sign * c * average(lambda z: link.slope(link.sign * c * z)) - 1.0

    bracket = _near(link, excess, size) or _first(excess, SHARE * FARTHEST / size, FARTHEST / size)
    if bracket is None:
        return None
    root = brentq(excess, *bracket, xtol=1e-300, rtol=np.float64(1e-12))
    return link.sign * cast(float, root)


def _near(link: Link, excess: Callable[[float], float], size: float) -> tuple[float, float] | None:
    if not size < 0.95 * supremum(link):
        return None
    guess = abs(inverse(link, size)) / size
    for spread in (1.02, 1.2):
        low, high = guess / spread, guess * spread
        if excess(low) < 0 <= excess(high):
            return low, high
    return None


def _first(excess: Callable[[float], float], least: float, largest: float) -> tuple[float, float] | None:
    with np.errstate(over="ignore"):
        low = least
        while low < largest:
            high = min(low * FACTOR, largest)
            if excess(high) >= 0:
                return low, high
            low = high
    return None
