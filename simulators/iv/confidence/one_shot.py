"""One-shot private 2SLS: noisy moments released once (OS), and recentred once at the estimate they give (OS2).

>>> from simulators.iv import synthetic_model
>>> rng = np.random.default_rng(0)
>>> streams = Streams(noise=rng, data=rng, initial=rng)
>>> settings = OneShot(rho=10.0, instrument_bound=3.0, row_bound=9.0, residual_bound=3.0)
>>> one_shot(synthetic_model(n=500, p=2, q=3, r=2, parameter_seed=0), settings, streams, 4)["beta"].shape
(4, 2)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, choice, in_floats, moderate, within
from dpbounds.iv.confidence import ADJACENCIES, Adjacency, block_sensitivity
from dpbounds.privacy import sensitivity_factor
from simulators.engine import Arrays, Streams, trial_count
from simulators.iv.confidence.noise import symmetric_noise
from simulators.iv.problems import Problem
from simulators.iv.samples import RecordSample, average, block_sizes, record_norms


@typed
@dataclass(frozen=True, kw_only=True)
class OneShot:
    """Public constants of a release of `rho`-zCDP.

    - `instrument_bound`, `row_bound`: norms to which z and the row v = (y, x) of every record are clipped, each as a
      whole: the blocks Z'V and, where q > p, Z'Z are released. Under replace-one Z'Z then costs nothing.
    - `residual_bound`: R, for the second round: Z' clip(y - x'beta_0, R) is released, and one Newton step taken. None
      leaves it out (OS).
    - `share`: the part of rho for the first of two rounds.
    """

    rho: float
    instrument_bound: float
    row_bound: float
    residual_bound: float | None = None
    share: float = 0.5
    adjacency: Adjacency = "replace-one"

    def __post_init__(self) -> None:
        for name in ("rho", "instrument_bound", "row_bound"):
            moderate(name, getattr(self, name))
        if self.residual_bound is not None:
            moderate("residual_bound", self.residual_bound)
            in_floats(self, "residual_bound")
        within("share", self.share, "(0, 1)")
        choice("adjacency", self.adjacency, ADJACENCIES)
        in_floats(self, "rho", "instrument_bound", "row_bound", "share")

    @property
    def budgets(self) -> tuple[float, float]:
        """mu of the two rounds: their squares add to 2 rho."""
        share = 1.0 if self.residual_bound is None else self.share
        return math.sqrt(2.0 * self.rho * share), math.sqrt(2.0 * self.rho * (1.0 - share))

    def block_scales(self, *, just_identified: bool) -> tuple[float, float]:
        """Deviations of the noise in Z'V and Z'Z, both of clipped rows divided by their bounds (0: not released)."""
        precision = 0.0 if just_identified else 0.5
        cost = float(block_sensitivity(precision, 1.0, 0.0, self.adjacency))
        scale = math.sqrt(cost) / self.budgets[0]
        return scale, 0.0 if just_identified else scale / math.sqrt(precision)

    @property
    def residual_scale(self) -> float:
        """Deviation of the noise in the second round, residuals divided by R; inf without one."""
        if self.residual_bound is None:
            return math.inf
        return sensitivity_factor(self.adjacency) / self.budgets[1]


@typed
def one_shot(problem: Problem, settings: OneShot, streams: Streams, trials: int) -> Arrays:
    """`beta`, the estimate, and `first_beta`, that of the first round, (trials, p); `error_hat`, the distance of `beta`
    to 2SLS on the same data, and where the problem knows the true coefficient `error_true`, (trials,).

    An estimate that leaves floating-point range, or whose noisy moments are singular, has error inf.
    """
    trials = trial_count(trials)
    q, p = problem.dimensions
    parts = []
    for size in block_sizes(problem.n * (q + 2 * p + 2), trials):
        records = problem.draw(streams.data, size, records=True).records
        parts.append(_estimates(records, settings, streams.noise, size))
    beta, first, hat = (np.concatenate(column) for column in zip(*parts, strict=True))
    arrays = {"beta": beta, "first_beta": first, "error_hat": _distance(beta, hat)}
    return arrays if problem.beta is None else {**arrays, "error_true": _distance(beta, problem.beta)}


def first_round(records: RecordSample, settings: OneShot) -> tuple[np.ndarray | None, np.ndarray]:
    """What round one releases but for its noise, rows over their bounds: Z'Z (trials, q, q), None where q = p, and Z'V
    (trials, q, p + 1) with the column of y first.
    """
    q, n = records.instruments.shape[1:]
    Z = records.instruments / np.maximum(records.lengths, settings.instrument_bound)[:, None]
    rows = np.concatenate([records.outcome[:, None], records.regressors], axis=1)
    rows = rows / np.maximum(record_norms(rows), settings.row_bound)[:, None]
    return None if q == records.regressors.shape[1] else n * average(Z, Z), n * average(Z, rows)


def second_round(records: RecordSample, beta: np.ndarray, settings: OneShot) -> np.ndarray:
    """What round two releases but for its noise, (trials, q, 1): Z' clip(y - x'beta, R) / R with clipped z over B_z.

    Raises `DomainError` for settings of one round.
    """
    if settings.residual_bound is None:
        raise DomainError("residual_bound", None, "a number where there are two rounds")
    bound, n = settings.residual_bound, records.outcome.shape[1]
    Z = records.instruments / np.maximum(records.lengths, settings.instrument_bound)[:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        residual = records.outcome - np.einsum("...p,...pn->...n", beta, records.regressors)
    clipped = np.clip(np.nan_to_num(residual), -bound, bound) / bound
    return n * average(Z, clipped[:, None])


def _estimates(
    records: RecordSample, settings: OneShot, generator: np.random.Generator, trials: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Both rounds' estimates and 2SLS for one block of trials, (trials, p) each."""
    q, p = records.instruments.shape[1], records.regressors.shape[1]
    scale, square_scale = settings.block_scales(just_identified=q == p)
    square, cross = first_round(records, settings)
    cross = cross + scale * generator.standard_normal((trials, q, p + 1))
    if square is not None:
        square = square + symmetric_noise(generator, trials, q, square_scale)
    first = _solve(square, cross[..., 1:], cross[..., :1], square_scale)
    hat = np.broadcast_to(records.moments.beta_hat, (trials, p))
    if settings.residual_bound is None:
        return first, first, hat
    score = second_round(records, first, settings)
    score = score + settings.residual_scale * generator.standard_normal((trials, q, 1))
    G = cross[..., 1:] * settings.row_bound
    step = _solve(square, G, score * settings.residual_bound, square_scale)
    return first + step, first, hat


def _solve(square: np.ndarray | None, G: np.ndarray, c: np.ndarray, scale: float) -> np.ndarray:
    """(G' A^{-1} G)^{-1} G' A^{-1} c, (trials, p), with the eigenvalues of A = `square` raised to what its noise has.

    The largest eigenvalue of q x q noise of this scale is near sqrt(2 q) scale. Without A, q = p and G is square.
    """
    if square is not None:
        values, vectors = np.linalg.eigh(square)
        floor = math.sqrt(2.0 * square.shape[-1]) * scale
        root = np.swapaxes(vectors, 1, 2) / np.sqrt(np.maximum(values, floor))[..., None]
        G, c = root @ G, root @ c
        G, c = np.swapaxes(G, 1, 2) @ G, np.swapaxes(G, 1, 2) @ c
    try:
        return np.linalg.solve(G, c)[..., 0]
    except np.linalg.LinAlgError:
        return np.stack([_solved_one(*pair) for pair in zip(G, c, strict=True)])


def _solved_one(G: np.ndarray, c: np.ndarray) -> np.ndarray:
    """The solution of one system, inf where there is none."""
    try:
        return np.linalg.solve(G, c)[:, 0]
    except np.linalg.LinAlgError:
        return np.full(len(G), np.inf)


def _distance(estimate: np.ndarray, target: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore", invalid="ignore"):
        distance = np.linalg.norm(estimate - target, axis=1)
    return np.where(np.isnan(distance), np.inf, distance)
