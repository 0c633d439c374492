"""One-shot moments and DP-2S-GD side by side in the paper's synthetic settings: candidates, tuning, experiments.

Both spend exactly rho zCDP under replace-one for all that they release (DP-2S-GD: `joint_cost`, calibration `tight`).
Both may look at the population: step sizes, clip norms and bounds are chosen with it, and candidates are compared by
the median distance to 2SLS on the same data, on runs that are not those that are judged.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from simulators.engine import Experiment
from simulators.iv import LinearModel, Settings, synthetic_model, two_stage_descent
from simulators.iv.confidence import OneShot, one_shot
from simulators.iv.samples import record_norms

# Records from which population quantiles are read, and the seed that they have for themselves.
POPULATION, POPULATION_SEED = 20_000, 99
# Candidates of the private bounds: quantiles of ||z|| and ||v||, and multiples of the deviation of the residual.
INSTRUMENT_QUANTILES, ROW_QUANTILES, RESIDUALS = (0.5, 0.9, 0.99), (0.99, 0.9999), (2.0, 3.0, 4.0)
# Candidates of DP-2S-GD: steps T, clip norms, shares of rho for the first stage, whether the second step is the best
# for the population, 2 / (largest + least eigenvalue), or the safe one, 1 / largest.
STEPS, NORMS, SPLITS = (10, 20, 40, 80, 160), (2.5, 5.0, 10.0, 20.0, 40.0, 80.0), (0.2, 0.5, 0.8)


@dataclass(frozen=True, kw_only=True)
class Place:
    """A synthetic setting of the paper (Section 4.1, r = p) and a budget."""

    p: int
    q: int
    seed: int
    n: int
    rho: float

    @property
    def name(self) -> str:
        """As in tables."""
        return f"({self.p}, {self.q}, {self.seed}), n = {self.n}, rho = {self.rho:g}"

    @property
    def model(self) -> LinearModel:
        """Its data."""
        return _model(self.n, self.p, self.q, self.seed)

    def quantiles(self, instrument: float, row: float) -> tuple[float, float]:
        """Population quantiles of ||z|| and of ||(y, x)||."""
        lengths, rows = _norms(self.p, self.q, self.seed)
        return float(np.quantile(lengths, instrument)), float(np.quantile(rows, row))

    def one_shot(
        self, instrument: float = 0.99, row: float = 0.9999, residual: float | None = 4.0, scale: float = 1.0
    ) -> OneShot:
        """OS2 with bounds at these quantiles and this multiple of the residual's deviation, None for OS; the default
        is the untuned choice. `scale` multiplies all bounds.
        """
        lengths, rows = self.quantiles(instrument, row)
        deviation = float(np.sqrt(self.model.error_covariance[-1, -1]))
        bound = None if residual is None else scale * residual * deviation
        return OneShot(rho=self.rho, instrument_bound=scale * lengths, row_bound=scale * rows, residual_bound=bound)

    def descent(self, steps: int, gamma: float, split: float, best: bool) -> Settings:
        """DP-2S-GD: eta = 1, since E zz' = I."""
        least, *_, largest = np.linalg.eigvalsh(self.model.theta.T @ self.model.theta)[[0, -1]]
        return Settings(
            steps=steps,
            eta=1.0,
            alpha=2.0 / (least + largest) if best else 1.0 / largest,
            gamma1=gamma,
            gamma2=gamma,
            rho1=split * self.rho,
            rho2=(1.0 - split) * self.rho,
            calibration="tight",
            adjacency="replace-one",
        )

    def run(self, settings: OneShot | Settings, block: int = 40) -> Experiment:
        """Fresh data in every trial."""
        algorithm = one_shot if isinstance(settings, OneShot) else two_stage_descent
        return Experiment(algorithm=algorithm, problem=self.model, settings=settings, block_trials=block)


def tuned(place: Place, candidates: Sequence[OneShot | Settings], seed: int, first: int = 6) -> OneShot | Settings:
    """The candidate with the least median distance to 2SLS: all on `first` runs, the best eighth on 8 times as many."""

    def median(settings: OneShot | Settings, trials: int) -> float:
        return float(np.median(place.run(settings, trials).run_block(0, seed=seed)["error_hat"]))

    kept = sorted(candidates, key=lambda settings: median(settings, first))[: max(4, len(candidates) // 8)]
    return min(kept, key=lambda settings: median(settings, 8 * first))


def one_shot_candidates(place: Place) -> list[OneShot]:
    """OS2: 18 settings."""
    grid = itertools.product(INSTRUMENT_QUANTILES, ROW_QUANTILES, RESIDUALS)
    return [place.one_shot(*choice) for choice in grid]


def descent_candidates(place: Place, most: int = STEPS[-1]) -> list[Settings]:
    """DP-2S-GD: 36 settings for every T up to `most`."""
    grid = itertools.product([T for T in STEPS if most >= T], NORMS, SPLITS, (True, False))
    return [place.descent(*choice) for choice in grid]


@cache
def _model(n: int, p: int, q: int, seed: int) -> LinearModel:
    return synthetic_model(n=n, p=p, q=q, r=p, parameter_seed=seed)


@cache
def _norms(p: int, q: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """||z|| and ||(y, x)|| of a sample of the population."""
    records = _model(POPULATION, p, q, seed).records(np.random.default_rng(POPULATION_SEED), 1)
    rows = np.concatenate([records.outcome[:, None], records.regressors], axis=1)
    return records.lengths[0], record_norms(rows)[0]
