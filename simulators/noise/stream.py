"""The noise sum_k beta_k w_{t-k}, or B w, of a correlation in blocks of steps.

>>> from dpbounds.ftrl.correlations import nu
>>> blocks = correlated_noise(nu(0.1), 100, (3, 2), np.random.default_rng(0), block=64)
>>> [block.shape for block in blocks]
[(64, 3, 2), (36, 3, 2)]
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from jaxtyping import Float
from scipy import fft

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, count, real_array, within
from dpbounds.ftrl.correlations import (
    Correlation,
    DampedAntiPGD,
    DampedHalfPowers,
    FiniteImpulse,
    HalfPowers,
    MatrixCorrelation,
    NuCorrelation,
    PowerSpectrum,
    ToeplitzCorrelation,
)
from simulators.noise.recursions import Recursion, exponentials, fast_length, short_recursion

# Measured with 10 to 43 exponentials and 128 to 20480 entries per draw: the cheapest, 32 and 64 come close.
BLOCK = 48
LARGEST_BLOCK = 1024
# Numbers along one axis of the noise of a step.
LARGEST_LENGTH = 100_000_000
# Measured: up to here a matrix product takes no longer than the draws and beats the FFT.
SHORT = 128
# Columns transformed at a time: measured, the transforms then stay in cache.
COLUMNS = 16
# Weights looked at beyond the steps asked for, so that they end where they have died out.
MOST_WEIGHTS = 2**17
# Trailing weights that sum to less than this fraction of the root sum of squares are dropped.
NEGLIGIBLE = 1e-11
# Power of the largest root below which the weights of half powers are not computed.
FORGOTTEN = 1e-18
# Weights that reach beyond this fraction of those looked at have not died out there.
DIED_OUT = 0.9


@typed
def correlated_noise(
    correlation: Correlation,
    steps: int,
    shape: int | tuple[int, ...],
    generator: np.random.Generator,
    *,
    block: int | None = None,
) -> Iterator[Float[np.ndarray, " n *shape"]]:
    """Blocks of the noise of `steps` steps, each entry of `shape` an independent copy.

    The noise of step t is sum_{k <= t} beta_k w_{t-k}, or row t of B w, with w_t standard normal: scale it by
    noise_multiplier * clip_norm (ftrl Algorithm 1). The draws are `generator.standard_normal((n, *shape))` in order
    of time, whatever the correlation and the block length; a matrix correlation takes all of its draws first, one per
    column of B. Memory does not grow with `steps`, except that a matrix correlation keeps its own B and draws:

    - nu and optimal counting: a recursion of at most 45 exponentials up to 1e7 steps (`exponentials`);
    - up to 128 weights: one product with a band matrix per block;
    - more weights: a recursion where one exists (`short_recursion`), else FFT with the last len(beta) draws in memory;
      weights that go on beyond the run have one that is good for its steps.

    Inside a block of a recursion the weights are exact; across blocks, and where negligible last weights are dropped,
    their summed error is at most 1e-10 of their root sum of squares (else `AccuracyError`): a step is off by at most
    1e-10 of the stationary standard deviation times the largest |w_t| so far.

    `block` is the number of steps in each array but the last, at most 1024; the default is the fastest. Equal arguments
    give equal bits on one machine; another block length, machine or number of BLAS threads changes the rounding only.

    Raises `DomainError` for bad arguments, at the call and not at the first block.
    """
    steps, shape = count("steps", steps), array_shape(shape)
    length = None if block is None else count("block", within("block", block, f"[1, {LARGEST_BLOCK}]"))
    check_generator(generator)
    if isinstance(correlation, MatrixCorrelation):
        blocks = _rows(correlation.matrix(steps), shape, generator, length or BLOCK)
    else:
        beta, recursion = _filter(_toeplitz(correlation), steps)
        if recursion is None:
            blocks = _finite(beta, steps, shape, generator, length)
        else:
            blocks = _recursive(beta, recursion, steps, shape, generator, length or _cheapest(recursion))
    return blocks


@typed
def correlate(correlation: Correlation, draws: Float[np.ndarray, " draws *shape"]) -> Float[np.ndarray, " T *shape"]:
    """The noise made of given draws, all T steps at once: one FFT convolution, or B w. No weight is approximated."""
    draws = real_array("draws", draws)
    if draws.ndim == 0 or len(draws) == 0 or not np.all(np.isfinite(draws)):
        raise DomainError("draws", f"an array of shape {draws.shape}", "finite draws with one row per step")
    if isinstance(correlation, MatrixCorrelation):
        decoder = correlation.matrix(correlation.steps)
        if decoder.shape[1] != len(draws):
            raise DomainError("len(draws)", len(draws), f"{decoder.shape[1]}, the draws of this correlation")
        return np.tensordot(decoder, draws, axes=1)
    beta = _toeplitz(correlation).coefficients(len(draws))
    return _convolve(beta, draws.reshape(len(draws), -1), 2 * len(draws)).reshape(draws.shape)


def _filter(correlation: ToeplitzCorrelation, steps: int) -> tuple[np.ndarray, Recursion | None]:
    """All weights and no recursion; or the weights that a block can need, and the recursion for the older draws."""
    if isinstance(correlation, NuCorrelation) and steps > SHORT:
        return correlation.coefficients(min(steps, LARGEST_BLOCK)), exponentials(correlation.nu, steps)
    beta, recursion = _stored(correlation, _support(correlation, steps), steps)
    return beta[:steps], recursion if steps > SHORT else None


@lru_cache(maxsize=32)
def _stored(correlation: ToeplitzCorrelation, support: int, steps: int) -> tuple[np.ndarray, Recursion | None]:
    """The weights as far as they have not died out, or, where they go on beyond the run, those of all its steps."""
    weights = correlation.coefficients(support)
    beta = _trimmed(weights)
    while len(beta) > DIED_OUT * support and support < min(steps, MOST_WEIGHTS):
        # Many equal poles make a power of t grow before q^t wins.
        support = min(2 * support, steps, MOST_WEIGHTS)
        weights = correlation.coefficients(support)
        beta = _trimmed(weights)
    finite = isinstance(correlation, FiniteImpulse | PowerSpectrum)
    ends = finite or support < steps or len(beta) <= DIED_OUT * support
    beta = beta if ends else weights
    return beta, short_recursion(beta, ends=ends) if len(beta) > SHORT else None


def _support(correlation: ToeplitzCorrelation, steps: int) -> int:
    """How many weights the correlation has; `steps` where it does not say."""
    if isinstance(correlation, DampedAntiPGD):
        return 2
    if isinstance(correlation, HalfPowers | DampedHalfPowers):
        # They fall as q^t, soon below what the transform that computes them resolves.
        slowest = _slowest(correlation)
        forgotten = max(1.0, math.log(FORGOTTEN) / math.log1p(-slowest)) + 1 if slowest < 1 else 1
        return math.ceil(forgotten) if steps > SHORT and forgotten <= MOST_WEIGHTS else min(steps, math.ceil(forgotten))
    return len(correlation.beta) if isinstance(correlation, FiniteImpulse | PowerSpectrum) else steps


def _slowest(correlation: HalfPowers | DampedHalfPowers) -> float:
    """1 - q for the root of largest size q."""
    if isinstance(correlation, HalfPowers):
        return 1.0 - max(map(abs, (*correlation.zeros, *correlation.poles)), default=0.0)
    return min((min(damping, 2.0 - damping) for damping in (*correlation.zeros, *correlation.poles)), default=1.0)


def _trimmed(beta: np.ndarray) -> np.ndarray:
    remaining = np.cumsum(np.abs(beta[::-1]))  # of the last weight, the last two, and so on
    return beta[: max(1, np.count_nonzero(remaining > NEGLIGIBLE * np.linalg.norm(beta)))]


def _recursive(
    beta: np.ndarray,
    recursion: Recursion,
    steps: int,
    shape: tuple[int, ...],
    generator: np.random.Generator,
    block: int,
) -> Iterator[np.ndarray]:
    """One matrix takes the draws of a block and the state: its Toeplitz corner is exact, the state holds the past."""
    block = min(block, steps)
    lifted = _lifted(beta, recursion, block)
    joint = np.zeros((len(lifted), _size(shape)))
    for start in range(0, steps, block):
        length = min(block, steps - start)
        generator.standard_normal(out=joint[:length])
        result = lifted @ joint
        joint[block:] = result[block:]
        yield result[:length].reshape(length, *shape)


def _cheapest(recursion: Recursion) -> int:
    """A block of n draws and s states costs (n + s)^2 per n steps: least at n = s."""
    return max(BLOCK, 16 * -(-len(recursion.inlet) // 16))


def _lifted(beta: np.ndarray, recursion: Recursion, block: int) -> np.ndarray:
    """(draws, state) of a block -> (noise, next state)."""
    return np.block(
        [
            [_band(beta[:block], block, block), recursion.observability(block)],
            [recursion.controllability(block), np.linalg.matrix_power(recursion.transition, block)],
        ]
    )


def _finite(
    beta: np.ndarray, steps: int, shape: tuple[int, ...], generator: np.random.Generator, block: int | None
) -> Iterator[np.ndarray]:
    """Each block from itself and the len(beta) - 1 draws before it: a band matrix for few weights, else FFT."""
    memory = len(beta) - 1
    if memory == 0:
        for start in range(0, steps, block or BLOCK):
            draws = generator.standard_normal((min(block or BLOCK, steps - start), *shape))
            draws *= beta[0]
            yield draws
        return
    short = len(beta) <= SHORT
    block = min(steps, block or (BLOCK if short else _even_part(steps, 2 * len(beta))))
    band = _band(beta, block, memory + block) if short else None
    window = np.zeros((memory + block, _size(shape)))
    for start in range(0, steps, block):
        rows = min(block, steps - start)
        generator.standard_normal(out=window[memory : memory + rows])
        result = _convolve(beta, window, len(window))[memory:] if band is None else band @ window
        window[:memory] = window[block:].copy()
        yield result[:rows].reshape(rows, *shape)


def _rows(
    decoder: np.ndarray, shape: tuple[int, ...], generator: np.random.Generator, block: int
) -> Iterator[np.ndarray]:
    draws = generator.standard_normal((decoder.shape[1], _size(shape)))
    for start in range(0, len(decoder), block):
        rows = decoder[start : start + block]
        yield (rows @ draws).reshape(len(rows), *shape)


def _band(beta: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """Row i weighs the draws up to column columns - rows + i: beta_0 there, beta_1 to its left, and so on."""
    lags = np.arange(rows)[:, None] + (columns - rows) - np.arange(columns)
    inside = (lags >= 0) & (lags < len(beta))
    return np.where(inside, beta[np.where(inside, lags, 0)], 0.0)


def _convolve(beta: np.ndarray, window: np.ndarray, least: int) -> np.ndarray:
    """Circular convolution of length at least `least` along the first axis; only its head feels that it is circular."""
    length, result = fast_length(least), np.empty_like(window)
    gain = np.asarray(fft.rfft(beta, length))[:, None]
    for first in range(0, window.shape[1], COLUMNS):
        part = np.s_[:, first : first + COLUMNS]
        product = gain * np.asarray(fft.rfft(window[part], length, axis=0))
        result[part] = np.asarray(fft.irfft(product, length, axis=0))[: len(window)]
    return result


def _even_part(steps: int, largest: int) -> int:
    """The length of equal parts of `steps` that are at most `largest`."""
    return -(-steps // -(-steps // largest))


def _toeplitz(correlation: Correlation) -> ToeplitzCorrelation:
    if not isinstance(correlation, ToeplitzCorrelation):
        raise DomainError(
            "correlation", correlation, "a correlation of dpbounds.ftrl", "see dpbounds.ftrl.correlations"
        )
    return correlation


def array_shape(shape: int | tuple[int, ...]) -> tuple[int, ...]:
    """`shape` as a tuple of positive integers; raises `DomainError` for any other."""
    lengths = shape if isinstance(shape, tuple) else (shape,)
    return tuple(count("shape", length, most=LARGEST_LENGTH) for length in lengths)


def check_generator(generator: np.random.Generator) -> None:
    """Raises `DomainError` for a seed or a legacy RandomState."""
    if not isinstance(generator, np.random.Generator):
        raise DomainError(
            "generator", generator, "a numpy.random.Generator", "make one by numpy.random.default_rng(seed)"
        )


def _size(shape: tuple[int, ...]) -> int:
    return int(np.prod(shape))
