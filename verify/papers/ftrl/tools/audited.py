"""Audits in this process, and their numbers again from the seeds that they name."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import stats
from scipy.optimize import brentq

from dpbounds.audit import (
    Audit,
    Pair,
    evaluated,
    promise_of,
    rerun,
)
from dpbounds.audit.laws import law_of
from simulators.audit.order import decided
from simulators.audit.process import Outcome
from simulators.audit.shifts import Shift
from simulators.audit.work import Question, Work
from verify.papers.ftrl.tools.direct import Direct

Run = Callable[..., Any]
ALPHA = 1e-3
ON, OFF = np.ones(2), np.zeros(2)
PAIRS = [Pair(np.array([size, 0.5]), np.array([0.0, 0.5]), f"a record of {size:g}") for size in (0.5, 1.0, 0.25)]

PAIR = Pair(np.array([1.0, 0.5]), np.array([0.0, 0.5]), "a record of 1", 0)


def outcomes(rows: Sequence[Sequence[float]], kind: str = "float64") -> list[Outcome]:
    """As if a mechanism had returned these vectors."""
    return [Outcome("ran", np.array(row, dtype=float), (len(row),), (), kind) for row in rows]


def shift_by(
    difference: Sequence[float], values: Sequence[float] = (), *, additive: bool = True, tied: bool = False
) -> Shift:
    """A shift of this difference, of outputs of these values (zeros if none are given)."""
    moved = np.array(difference)
    start = np.array(values) if len(values) else np.zeros(len(moved))
    sides = outcomes([start.tolist()]), outcomes([(start + moved).tolist()])
    return Shift(PAIR, *sides, [9], float(np.linalg.norm(moved)), additive, tied, moved)


def audited(
    run: Run, claim: Any, law: Any, *, domain: Any = PAIRS, budget: float = 1e3, **more: Any
) -> tuple[Audit, Work]:
    """An audit by its routes, and the work that it did; `more`: adjacency and resolution."""
    asked = Question(
        promise_of(claim), law_of(law), more.pop("adjacency", "zero-out"), domain, 0, ALPHA, more.pop("resolution", 0.2)
    )
    work = Work(Direct(run, budget=budget), asked)
    return decided(work), work


def noise_drawn(seed: int, size: int, family: str = "gaussian") -> np.ndarray:
    """What a mechanism draws with this seed."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal(size) if family == "gaussian" else rng.laplace(size=size)


def rows_drawn(start: int, number: int, size: int, family: str = "gaussian") -> np.ndarray:
    """Differences of the noise of seeds start, start + 1, and so on in pairs."""
    return np.array(
        [noise_drawn(start + 2 * i, size, family) - noise_drawn(start + 2 * i + 1, size, family) for i in range(number)]
    )


def scale_ends(rows: np.ndarray, low: float, high: float) -> tuple[float, float]:
    """Of the scale, by the quantiles of chi-squared."""
    half = float((rows**2).sum()) / 2
    return math.sqrt(half / stats.chi2.isf(low, rows.size)), math.sqrt(half / stats.chi2.ppf(high, rows.size))


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Of the Gaussian mechanism, by its curve."""

    def excess(epsilon: float) -> float:
        moved = float(stats.norm.logcdf(-mu / 2 - epsilon / mu))
        return float(stats.norm.cdf(mu / 2 - epsilon / mu)) - math.exp(epsilon + moved) - delta

    return float(brentq(excess, 0.0, 200.0, xtol=1e-13))  # pyright: ignore


def holds_again(found: Audit, run: Run) -> bool:
    """Whether the witness refutes, before and after the mechanism is run anew in a process of its own."""
    content = json.loads(json.dumps(found.witness))
    anew = rerun(content, run, seconds=100.0)
    told = None if anew.content is None else evaluated(anew.content)
    return (
        evaluated(content).refuted
        and told is not None
        and told.refuted
        and abs(told.spent - evaluated(content).spent) <= 1e-9 * told.spent
    ) or (told is not None and told.refuted and math.isinf(told.spent))


def scaled_noise(weights: Any, scale: float, family: str = "gaussian") -> Run:
    """The first record times weights, with noise of this scale."""
    moved = np.asarray(weights, dtype=float)
    return lambda data, seed: data[0] * moved + scale * noise_drawn(seed, len(moved), family)
