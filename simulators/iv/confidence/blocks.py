"""Release H: noisy blocks Z'Z, Z'V, V'V of bounded rows, for homoskedastic errors; from records or in law.

>>> rng = np.random.default_rng(0)
>>> streams = Streams(noise=rng, data=rng, initial=rng)
>>> design = MomentDesign(mu=1.0, instrument_bound=2.0, outcome_bound=9.0, regressor_bounds=(9.0,))
>>> arrays = release_blocks(WeakInstruments(n=50, q=3, strength=9.0), design, streams, 4)
>>> arrays["instruments"].shape, arrays["cross"].shape, next(block_releases(arrays, design, 50)).q
((4, 3, 3), (4, 3, 2), 3)
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from scipy.special import chdtrc, ndtr

from dpbounds.arguments import typed
from dpbounds.errors import DomainError
from dpbounds.iv.confidence import BlockRelease
from simulators.engine import Arrays, Streams, trial_count
from simulators.iv.confidence.models import WeakInstruments
from simulators.iv.confidence.moments import LARGEST_VARIATION, MomentDesign
from simulators.iv.confidence.noise import symmetric_noise, wishart
from simulators.iv.problems import RecordProblem
from simulators.iv.samples import block_sizes


@typed
def release_blocks(problem: RecordProblem, settings: MomentDesign, streams: Streams, trials: int) -> Arrays:
    """`trials` releases: `instruments` Z'Z (trials, q, q), `cross` Z'V (trials, q, p + 1), `variables` V'V."""
    trials = trial_count(trials)
    q, p = problem.dimensions
    parts = []
    for size in block_sizes(problem.n * (q + 2 * p + 2), trials):
        sample = problem.draw(streams.data, size, records=True)
        Z, v = settings.instruments(sample), settings.variables(sample)
        exact = [left @ np.swapaxes(right, 1, 2) for left, right in ((Z, Z), (Z, v), (v, v))]
        parts.append([np.broadcast_to(part, (size, *part.shape[1:])) for part in exact])
    return _noisy([np.concatenate(column) for column in zip(*parts, strict=True)], settings, streams)


@typed
def release_blocks_in_law(problem: WeakInstruments, settings: MomentDesign, streams: Streams, trials: int) -> Arrays:
    """The arrays of `release_blocks` in law, whatever n, for Gaussian instruments and normal errors: (z, w, e) has a
    Wishart matrix of moments.

    Nothing is clipped here; the laws differ by at most n P(a record leaves its bounds) in total variation. Raises
    `DomainError` where that exceeds 1e-6, and for other instruments and errors.
    """
    if problem.instruments != "gaussian" or problem.errors != "normal":
        found = f"{problem.instruments} instruments, {problem.errors} errors"
        raise DomainError("problem", found, "Gaussian instruments and normal errors", "draw records")
    centred = settings.outcome_centre == 0 and not any(settings.regressor_centres)
    if not centred:
        raise DomainError("outcome_centre, regressor_centres", "not 0", "0 in law", "draw records")
    variation = block_variation(problem, settings)
    if variation > LARGEST_VARIATION:
        remedy = "draw records, or take wider bounds"
        raise DomainError("n P(a record is clipped)", variation, f"at most {LARGEST_VARIATION:g}", remedy)
    q, rho = problem.q, problem.endogeneity
    # Rows: z over its bound, y, x; columns: z, e_1, w.
    loadings = np.zeros((q + 2, q + 2))
    loadings[:q, :q] = np.eye(q) / settings.instrument_bound
    loadings[q + 1] = [*([problem.first_stage] * q), rho, math.sqrt(1.0 - rho**2)]
    loadings[q] = problem.slope * loadings[q + 1]
    loadings[q, q] += 1.0
    loadings[q:] /= np.array([settings.weights[0], settings.weights[1][0]])[:, None]
    W = loadings @ wishart(streams.data, np.full(trial_count(trials), problem.n), q + 2) @ loadings.T
    return _noisy([W[:, :q, :q], W[:, :q, q:], W[:, q:, q:]], settings, streams)


@typed
def block_variation(problem: WeakInstruments, settings: MomentDesign) -> float:
    """n P(||z|| > B_z or |y| > Y or |x| > X), at most, for Gaussian instruments and normal errors."""
    bounds = np.array([settings.outcome_bound, settings.regressor_bounds[0]])
    outside = float(chdtrc(problem.q, settings.instrument_bound**2))
    return problem.n * (outside + 2.0 * float(ndtr(-bounds / np.array(problem.deviations)).sum()))


def block_release(design: MomentDesign, blocks: Sequence[np.ndarray], n: int, *, noisy: bool = True) -> BlockRelease:
    """Release H of Z'Z, Z'V and V'V of n records, with the noise of this design, or `noisy` = False with none."""
    outcome_weight, regressor_weights = design.weights
    instrument_scale, cross_scale, variable_scale = design.block_scales if noisy else (0.0, 0.0, 0.0)
    instruments, cross, variables = blocks
    return BlockRelease(
        instruments=instruments,
        cross=cross,
        variables=variables,
        instrument_scale=instrument_scale,
        cross_scale=cross_scale,
        variable_scale=variable_scale,
        outcome_weight=outcome_weight,
        regressor_weights=np.array(regressor_weights),
        n=n,
        adjacency=design.adjacency,
    )


@typed
def block_releases(arrays: Mapping[str, np.ndarray], design: MomentDesign, n: int) -> Iterator[BlockRelease]:
    """The releases of all trials, one by one."""
    names = ("instruments", "cross", "variables")
    return (block_release(design, parts, n) for parts in zip(*(arrays[name] for name in names), strict=True))


def _noisy(exact: list[np.ndarray], design: MomentDesign, streams: Streams) -> Arrays:
    A, C, Q = exact
    trials, (first, second, third) = len(A), design.block_scales
    return {
        "instruments": A + symmetric_noise(streams.noise, trials, A.shape[1], first),
        "cross": C + second * streams.noise.standard_normal(C.shape),
        "variables": Q + symmetric_noise(streams.noise, trials, Q.shape[1], third),
    }
