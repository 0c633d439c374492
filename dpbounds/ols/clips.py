"""The clip levels that PRN takes: for rows of one length with normal residuals, or on given records.

Both are what its own rules give without the noise of its histograms and counts.

>>> levels = measured_clips(np.full((400, 1), 0.5), np.tile([0.5, -0.3], 200), np.array([0.2]), mu=1.0)
>>> levels.hessian, len(levels.gradients), levels.unclipped
(1.0, 10, 1.0)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import erf

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, count, listed, moderate, moderate_or_zero, real_array, within
from dpbounds.ols import newton
from dpbounds.ols.features import Features

# Levels at least, so that none is 0; the share at least where no record is seen below the last level.
LEAST_LEVEL, LEAST_SHARE = 1e-12, 1e-6


@dataclass(frozen=True, kw_only=True)
class NewtonClips:
    """What PRN will clip at, rows and outcomes in units of their bounds: h, c_u round by round, and the share of rows
    whose gradients at the least squares fit the last c_u does not clip.
    """

    hessian: float
    gradients: tuple[float, ...]
    unclipped: float

    def __post_init__(self) -> None:
        for name in ("hessian", "unclipped"):
            within(name, getattr(self, name), "(0, 1]")
        for value in listed("gradients", self.gradients):
            within("gradients", value, "(0, 1]")


@typed
def typical_clips(data: Features, trace: float, mu: float, outcome_bound: float = 1.0) -> NewtonClips:
    """For rows of one length sqrt(tr A / n) and normal residuals of variance L(theta*)/n; `trace` = tr A."""
    trace, outcome_bound = moderate_or_zero("trace", trace), moderate("outcome_bound", outcome_bound)
    length = min(math.sqrt(trace / data.n), 1.0)
    spread = max(length * math.sqrt(data.residual / data.n) / outcome_bound, LEAST_LEVEL)
    start = min(max(length * math.sqrt((data.residual + data.signal) / data.n) / outcome_bound, LEAST_LEVEL), 1.0)

    def share_below(c: float) -> float:
        return float(erf(c / spread / math.sqrt(2)))

    return _clips(
        _one_bin(length, data.n),
        _one_bin(start, data.n),
        share_below,
        n=data.n,
        d=data.d,
        mu=mu,
        least_share=LEAST_SHARE,
    )


@typed
def measured_clips(
    regressors: Float[np.ndarray, "m d"],
    outcome: Float[np.ndarray, " m"],
    theta: Float[np.ndarray, " d"],
    mu: float,
    n: int | None = None,
) -> NewtonClips:
    """On records in units of their bounds, ||x|| <= 1 and |y| <= 1, the gradients' norms taken at `theta`; on n others
    like them if n is not None.

    Computed from the data, and not private. Raises `DomainError` for arrays of other shapes, or not finite.
    """
    X, Y, fit = (
        real_array(name, array) for name, array in (("regressors", regressors), ("outcome", outcome), ("theta", theta))
    )
    if X.ndim != 2 or not X.size or Y.shape != X.shape[:1] or fit.shape != X.shape[1:]:
        shapes = f"arrays of shapes {X.shape}, {Y.shape}, {fit.shape}"
        raise DomainError("regressors, outcome, theta", shapes, "of shapes (m, d), (m,), (d,)")
    if not all(np.isfinite(array).all() for array in (X, Y, fit)):
        raise DomainError("regressors, outcome, theta", "arrays with inf or nan", "finite numbers")
    n, d = len(X) if n is None else count("n", n), X.shape[1]
    each = n / len(X)
    lengths = np.linalg.norm(X, axis=1)
    sizes = lengths * np.abs(Y - X @ fit)
    return _clips(
        each * newton.histogram(lengths),
        each * newton.histogram(lengths * np.abs(Y)),
        lambda level: float(np.mean(sizes <= level)),
        n=n,
        d=d,
        mu=mu,
        least_share=1.0 / len(X),
    )


def _clips(
    lengths: np.ndarray,
    starts: np.ndarray,
    share_below: Callable[[float], float],
    *,
    n: int,
    d: int,
    mu: float,
    least_share: float,
) -> NewtonClips:
    """From the histograms of ||x|| and of ||x|| |y|, and the share of gradients at the fit below a level."""
    c = float(newton.gradient_clip(starts, 0.0, n=n))
    path = newton.clip_path(c, share_below, newton.Newton(mu=mu), n=n, d=d)
    return NewtonClips(
        hessian=float(newton.hessian_clip(lengths, 0.0, n=n, d=d, mu=mu)),
        gradients=tuple(path),
        unclipped=max(share_below(float(path[-1])), least_share),
    )


def _one_bin(value: float, n: int) -> np.ndarray:
    """The histogram of n rows with this value."""
    counts = np.zeros(len(newton.EDGES))
    counts[max(int(np.sum(value <= newton.EDGES)) - 1, 0)] = n
    return counts
