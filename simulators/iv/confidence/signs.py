"""Release S: the sign curve of a randomised instrument on a grid of coefficients, with the best Gaussian noise.

>>> from simulators.iv.confidence import WeakInstruments
>>> rng = np.random.default_rng(0)
>>> streams = Streams(noise=rng, data=rng, initial=rng)
>>> design = SignDesign(mu=1.0, low=-3.0, high=5.0, size=65)
>>> problem = WeakInstruments(n=200, strength=100.0, instruments="sign")
>>> release_signs(problem, design, streams, 4)["curve"].shape, round(design.deviation, 2)
((4, 65), 3.62)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, choice, count, in_floats, moderate, real, within
from dpbounds.iv.confidence import ADJACENCIES, Adjacency
from dpbounds.iv.confidence.signs import SignRelease, sign_deviation, sign_sensitivity
from dpbounds.iv.confidence.steps import step_noise
from simulators.engine import Arrays, Streams, trial_count
from simulators.iv.problems import RecordProblem
from simulators.iv.samples import RecordSample, block_sizes

LARGEST_GRID = 1 << 16


@typed
@dataclass(frozen=True, kw_only=True)
class SignDesign:
    """Public constants of release S, which is `mu`-GDP: D(b) = sum_i (z_i - pi) sign(y_i - m - b (x_i - x_0)).

    `low`, `high` and `size` make the grid of coefficients; z counts as 1 where the instrument is positive, which it is
    with the known probability `pi`; m = `outcome_centre`, x_0 = `regressor_centre`.
    """

    mu: float
    low: float
    high: float
    size: int
    pi: float = 0.5
    outcome_centre: float = 0.0
    regressor_centre: float = 0.0
    adjacency: Adjacency = "replace-one"

    def __post_init__(self) -> None:
        moderate("mu", self.mu)
        object.__setattr__(self, "size", count("size", self.size, least=2, most=LARGEST_GRID))
        if not real("low", self.low) < real("high", self.high):
            raise DomainError("low", self.low, f"below high = {self.high}", "exchange them")
        within("pi", self.pi, "(0, 1)")
        real("outcome_centre", self.outcome_centre)
        real("regressor_centre", self.regressor_centre)
        choice("adjacency", self.adjacency, ADJACENCIES)
        in_floats(self, "mu", "low", "high", "pi", "outcome_centre", "regressor_centre")

    @property
    def grid(self) -> np.ndarray:
        """The coefficients, (size,)."""
        return np.linspace(self.low, self.high, self.size)

    @property
    def height(self) -> float:
        """kappa max(pi, 1 - pi) / mu: the deviation of the noise of a record of height 1 on a single point, G = 1."""
        return sign_sensitivity(self.pi, self.adjacency) / self.mu

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise at every point of the grid."""
        return sign_deviation(self.mu, grid_size=self.size, probability=self.pi, adjacency=self.adjacency)

    @cached_property
    def spectrum(self) -> np.ndarray:
        """Eigenvalues of the covariance of the noise at the odd frequencies (2 j + 1) pi / G, (size,)."""
        return self.height**2 * step_noise(self.size).spectrum

    def release(self, curve: np.ndarray, n: int, *, noisy: bool = True) -> SignRelease:
        """Release S of a curve of n records, with the noise of this design, or `noisy` = False with none."""
        deviation = self.deviation if noisy else 0.0
        return SignRelease(curve=curve, grid=self.grid, n=n, deviation=deviation, probability=self.pi)

    def curves(self, sample: RecordSample) -> np.ndarray:
        """D without noise on the grid, (trials, size), in O(n + G): every record is plus or minus one step."""
        x, y = sample.regressors[:, 0] - self.regressor_centre, sample.outcome - self.outcome_centre
        step = (self.high - self.low) / (self.size - 1)
        height = np.where(sample.instruments[:, 0] > 0, 1.0 - self.pi, -self.pi)
        height = np.where(y >= self.low * x, height, -height)
        with np.errstate(divide="ignore", invalid="ignore"):
            crossing = np.ceil((y / x - self.low) / step)
        # The first point beyond the crossing; index `size` holds records that never cross on the grid.
        inside = (crossing >= 1) & (crossing < self.size)
        index = np.where(inside, crossing, self.size).astype(np.int64)
        trials = len(y)
        index += (self.size + 1) * np.arange(trials)[:, None]
        jumps = np.bincount(index.ravel(), weights=-2.0 * height.ravel(), minlength=trials * (self.size + 1))
        jumps = jumps.reshape(trials, self.size + 1)[:, : self.size]
        return height.sum(axis=1)[:, None] + np.cumsum(jumps, axis=1)


@typed
def release_signs(problem: RecordProblem, settings: SignDesign, streams: Streams, trials: int) -> Arrays:
    """`trials` releases: `curve` (trials, size), and `exact_curve` without noise, which is not private.

    Takes one instrument and one regressor; raises `DomainError` for more.
    """
    if problem.dimensions != (1, 1):
        raise DomainError("(q, p)", problem.dimensions, "(1, 1)", "design S has one instrument and one regressor")
    trials = trial_count(trials)
    parts = []
    for size in block_sizes(4 * problem.n, trials):
        exact = settings.curves(problem.draw(streams.data, size, records=True))
        parts.append(np.broadcast_to(exact, (size, settings.size)))
    exact = np.concatenate(parts)
    return {"curve": exact + step_curves(settings, streams.noise, trials), "exact_curve": exact}


@typed
def step_curves(settings: SignDesign, generator: np.random.Generator, trials: int) -> np.ndarray:
    """Noise of release S, (trials, size), in O(G log G): Gaussian with a negacirculant covariance.

    Re sum_j sqrt(lambda_j / G) zeta_j exp(i pi (2 j + 1) k / G) with zeta_j of i.i.d. N(0, 1) parts has covariance
    (1 / G) sum_j lambda_j cos(pi (2 j + 1)(k - l) / G).
    """
    size = settings.size
    zeta = generator.standard_normal((trials, size)) + 1j * generator.standard_normal((trials, size))
    turned = np.fft.ifft(np.sqrt(settings.spectrum * size) * zeta, axis=1)
    return (turned * np.exp(1j * math.pi * np.arange(size) / size)).real
