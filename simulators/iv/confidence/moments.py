"""Release U: noisy first and second moments of u = v ⊗ z, v = (y / a_y, x_1 / a_1, ...), from records or in law.

>>> rng = np.random.default_rng(0)
>>> streams = Streams(noise=rng, data=rng, initial=rng)
>>> design = MomentDesign(mu=1.0, instrument_bound=1.0, outcome_bound=9.0, regressor_bounds=(9.0,))
>>> arrays = release_moments(WeakInstruments(n=50, strength=9.0), design, streams, 4)
>>> arrays["first"].shape, design.scales[0], next(moment_releases(arrays, design, 50)).n
((4, 2), 2.0, 50)
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtr

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, choice, in_floats, listed, moderate, real, within
from dpbounds.iv.confidence import ADJACENCIES, Adjacency, MomentRelease, block_scales, box_weights, noise_scales
from dpbounds.iv.confidence.plan import DEFAULT_RATIO
from simulators.engine import Arrays, Streams, trial_count
from simulators.iv.confidence.models import WeakInstruments
from simulators.iv.confidence.noise import symmetric_noise, wishart
from simulators.iv.problems import RecordProblem
from simulators.iv.samples import RecordSample, block_sizes, record_norms

# The law without clamping may differ from that of the release by this much in total variation, over all its records.
LARGEST_VARIATION = 1e-6
# 2^q strata of signs.
MOST_SIGNS = 10


@typed
@dataclass(frozen=True, kw_only=True)
class MomentDesign:
    """Public constants of releases U and H, each of which is `mu`-GDP.

    - `instrument_bound`: B_z, to which ||z|| is clipped; z is then divided by it.
    - `outcome_bound`, `regressor_bounds`: half-widths Y, X_j of the boxes around `outcome_centre` and
      `regressor_centres` (0 if not given) to which y and x_j are clamped.
    - `ratio`: the guess |beta| X / Y that the weights are made for; `share`: the part of the precision
      for the second moments (U), or for each of Z'Z and V'V (H); None for the defaults of the theory.
    """

    mu: float
    instrument_bound: float
    outcome_bound: float
    regressor_bounds: tuple[float, ...]
    outcome_centre: float = 0.0
    regressor_centres: tuple[float, ...] = ()
    ratio: float = DEFAULT_RATIO
    share: float | None = None
    adjacency: Adjacency = "replace-one"

    def __post_init__(self) -> None:
        for name in ("mu", "instrument_bound", "outcome_bound", "ratio"):
            moderate(name, getattr(self, name))
        bounds = listed("regressor_bounds", self.regressor_bounds)
        bounds = tuple(moderate(f"regressor_bounds[{j}]", bound) for j, bound in enumerate(bounds))
        given = listed("regressor_centres", self.regressor_centres) or (0.0,) * len(bounds)
        centres = tuple(real(f"regressor_centres[{j}]", centre) for j, centre in enumerate(given))
        if not bounds or len(centres) != len(bounds):
            raise DomainError("regressor_bounds", self.regressor_bounds, "one for every regressor and its centre")
        object.__setattr__(self, "regressor_bounds", bounds)
        object.__setattr__(self, "regressor_centres", centres)
        real("outcome_centre", self.outcome_centre)
        choice("adjacency", self.adjacency, ADJACENCIES)
        if self.share is not None:
            within("share", self.share, "(0, 1)")
        in_floats(self, "mu", "instrument_bound", "outcome_bound", "outcome_centre", "ratio")

    @cached_property
    def scales(self) -> tuple[float, float]:
        """Standard deviations s1 and s2 of the noise of release U."""
        first, second = noise_scales(self.mu, adjacency=self.adjacency, share=self.share)
        return float(first), float(second)

    @cached_property
    def block_scales(self) -> tuple[float, float, float]:
        """Standard deviations of the noise of Z'Z, Z'V and V'V in release H."""
        scales = block_scales(self.mu, adjacency=self.adjacency, share=self.share)
        return float(scales.instruments), float(scales.cross), float(scales.variables)

    @cached_property
    def weights(self) -> tuple[float, tuple[float, ...]]:
        """(a_y, (a_1, ...)): what the clamped y and x_j are divided by, so that ||v|| <= 1."""
        outcome, regressors = box_weights(self.outcome_bound, self.regressor_bounds, self.ratio)
        return float(outcome), tuple(float(weight) for weight in regressors)

    def variables(self, sample: RecordSample) -> np.ndarray:
        """v of every record, (trials, p + 1, n): y and x clamped to their boxes and divided by the weights."""
        outcome_weight, regressor_weights = self.weights
        y = np.clip(sample.outcome - self.outcome_centre, -self.outcome_bound, self.outcome_bound)
        bound, centre, weight = (
            np.array(values)[:, None] for values in (self.regressor_bounds, self.regressor_centres, regressor_weights)
        )
        x = np.clip(sample.regressors - centre, -bound, bound) / weight
        return np.concatenate([y[:, None] / outcome_weight, x], axis=1)

    def instruments(self, sample: RecordSample) -> np.ndarray:
        """z of every record, (trials, q, n): clipped to norm B_z and divided by it."""
        return sample.instruments / np.maximum(record_norms(sample.instruments), self.instrument_bound)[:, None]

    def vectors(self, sample: RecordSample) -> np.ndarray:
        """u of every record, (trials, q (p + 1), n): the block of y first, then those of the regressors."""
        Z, v = self.instruments(sample), self.variables(sample)
        return (v[:, :, None] * Z[:, None]).reshape(len(v), -1, v.shape[2])

    def release(self, first: np.ndarray, second: np.ndarray, n: int, *, noisy: bool = True) -> MomentRelease:
        """Release U of moments of n records, with the noise of this design, or `noisy` = False with none."""
        outcome_weight, regressor_weights = self.weights
        first_scale, second_scale = self.scales if noisy else (0.0, 0.0)
        return MomentRelease(
            first=first,
            second=second,
            first_scale=first_scale,
            second_scale=second_scale,
            outcome_weight=outcome_weight,
            regressor_weights=np.array(regressor_weights),
            n=n,
            adjacency=self.adjacency,
        )

    def thetas(self, coefficients: Any) -> np.ndarray:
        """beta a_x / a_y, the units in which `anderson_rubin_trials` takes coefficients."""
        return np.asarray(coefficients, dtype=float) * np.array(self.weights[1]) / self.weights[0]


@typed
def release_moments(problem: RecordProblem, settings: MomentDesign, streams: Streams, trials: int) -> Arrays:
    """`trials` releases from records: `first` (trials, d) and `second` (trials, d, d), d = q (p + 1).

    `exact_first` and `exact_second` are the same moments without noise, which are not private.
    """
    trials = trial_count(trials)
    q, p = problem.dimensions
    parts = []
    for size in block_sizes(problem.n * q * (p + 2), trials):
        u = settings.vectors(problem.draw(streams.data, size, records=True))
        exact = np.add.reduce(u, axis=2), u @ np.swapaxes(u, 1, 2)
        parts.append(tuple(np.broadcast_to(part, (size, *part.shape[1:])) for part in exact))
    first, second = (np.concatenate(column) for column in zip(*parts, strict=True))
    return noisy_moments(first, second, settings.scales, streams)


@typed
def release_moments_in_law(problem: WeakInstruments, settings: MomentDesign, streams: Streams, trials: int) -> Arrays:
    """The arrays of `release_moments` in law, in O(2^q) a trial whatever n: signs and normal errors given them.

    Given the 2^q patterns of signs, which are multinomial, (y, x) is Gaussian: sums are Gaussian and their scatter is
    Wishart. Nothing is clamped here; the laws differ by at most n P(a record leaves its box) in total variation.
    Raises `DomainError` where that exceeds 1e-6, for other instruments and errors, and for q above 10.
    """
    trials, variation = trial_count(trials), clamping_variation(problem, settings)
    if variation > LARGEST_VARIATION:
        remedy = "draw records, or take wider bounds"
        raise DomainError("n P(a record is clamped)", variation, f"at most {LARGEST_VARIATION:g}", remedy)
    signs, means, roots = _strata(problem, settings)
    counts = streams.data.multinomial(problem.n, np.full(len(signs), 1.0 / len(signs)), size=trials)
    normals = streams.data.standard_normal((trials, len(signs), 2))
    deviations = np.einsum("sij,tsj->tsi", roots, normals) * np.sqrt(counts)[..., None]
    sums = counts[..., None] * means + deviations
    scatter = roots @ wishart(streams.data, np.maximum(counts - 1, 0), 2) @ np.swapaxes(roots, 1, 2)
    squares = scatter + sums[..., None] * sums[..., None, :] / np.maximum(counts, 1)[..., None, None]
    bounded = signs / max(math.sqrt(problem.q), settings.instrument_bound)
    first = np.einsum("tsi,sk->tik", sums, bounded).reshape(trials, -1)
    second = np.einsum("tsij,sk,sl->tikjl", squares, bounded, bounded).reshape(trials, first.shape[1], -1)
    return noisy_moments(first, second, settings.scales, streams)


@typed
def clamping_variation(problem: WeakInstruments, settings: MomentDesign) -> float:
    """n P(|y - m_y| > Y or |x - m_x| > X), at most (the two are added), for sign instruments and normal errors."""
    if problem.instruments != "sign" or problem.errors not in ("normal", "heteroskedastic") or problem.q > MOST_SIGNS:
        found = f"{problem.instruments} instruments, {problem.errors} errors, q = {problem.q}"
        raise DomainError("problem", found, f"signs, normal given them, q up to {MOST_SIGNS}", "draw records")
    _, means, roots = _strata(problem, settings)
    scales = np.array([settings.weights[0], *settings.weights[1]])
    bounds = np.array([settings.outcome_bound, *settings.regressor_bounds]) / scales
    deviations = np.sqrt(np.einsum("sij,sij->si", roots, roots))
    outside = ndtr((means - bounds) / deviations) + ndtr((-means - bounds) / deviations)
    return problem.n * float(outside.sum(axis=1).mean())


def noisy_moments(first: np.ndarray, second: np.ndarray, scales: tuple[float, float], streams: Streams) -> Arrays:
    """The arrays of a release from exact moments, (trials, d) and (trials, d, d)."""
    trials, size = first.shape
    noise = scales[0] * streams.noise.standard_normal(first.shape)
    symmetric = symmetric_noise(streams.noise, trials, size, scales[1])
    exact = {"exact_first": first, "exact_second": second}
    return {"first": first + noise, "second": second + symmetric, **exact}


@typed
def moment_releases(arrays: Mapping[str, np.ndarray], design: MomentDesign, n: int) -> Iterator[MomentRelease]:
    """The releases of all trials, one by one."""
    return (design.release(*pair, n) for pair in zip(arrays["first"], arrays["second"], strict=True))


def _strata(problem: WeakInstruments, design: MomentDesign) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Patterns of signs (2^q, q); mean (2^q, 2) and root of the covariance (2^q, 2, 2) of v given each."""
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=problem.q)))
    spread, slope, rho = problem.spread(signs[:, 0]), problem.slope, problem.endogeneity
    centres = np.array([design.outcome_centre, design.regressor_centres[0]])
    scales = np.array([design.weights[0], design.weights[1][0]])
    x = problem.first_stage * signs.sum(axis=1)
    means = (np.stack([slope * x, x], axis=1) - centres) / scales
    # Rows y and x, columns e_1 (of deviation `spread`) and w.
    loadings = np.empty((len(signs), 2, 2))
    loadings[:, 1] = np.stack([rho * spread, np.full(len(signs), math.sqrt(1.0 - rho**2))], axis=1)
    loadings[:, 0] = slope * loadings[:, 1]
    loadings[:, 0, 0] += spread
    return signs, means, loadings / scales[:, None]
