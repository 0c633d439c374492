"""A mechanism as what draws its noise step by step: the noise of step t is after_t x_t, with L x = before * w.

So C = diag(1 / before) L diag(1 / after). L is Toeplitz with the coefficients of a BLT, c_0 = 1, c_k = sum_i omega_i
phi_i^{k-1} (buf_decay phi, output_scale omega), or with finitely many coefficients, or has its own band below each
column.

>>> from dpbounds.ftrl.design.mechanisms import Bands
>>> stream = noise_stream(Bands((1.0, 0.5)), 8)
>>> stream.form, stream.buffers, stream.scaled
('toeplitz', 1, False)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, choice, count, real_array
from dpbounds.ftrl.correlations import Correlation, ToeplitzCorrelation
from dpbounds.ftrl.correlations.base import LARGEST_HORIZON
from dpbounds.ftrl.design.mechanisms import Blt, ScaledToeplitz

Form = Literal["blt", "toeplitz", "columns"]
# Entries below this share of the largest one of a dense encoder are rounding, not bands.
NEGLIGIBLE = 1e-14
# Steps for which a dense matrix is looked at.
LARGEST_DENSE = 4096


@typed
@dataclass(frozen=True, kw_only=True, eq=False)
class NoiseStream:
    """What a training library needs to draw the noise of `steps` steps; one draw a step.

    - `form` "blt": `buf_decay` and `output_scale`, each (M,); "toeplitz": `coefficients` c_0..c_{b-1} of L; "columns":
      `coefficients` (T, b), L_{i+k,i} = coefficients[i, k], 0 where i + k >= T.
    - `before` (T,) multiplies the draws, `after` (T,) what comes out; ones where there is no scaling.

    Raises `DomainError` for scalings not above 0 or of the wrong length, and for parts that do not fit the form.
    """

    name: str
    steps: int
    form: Form
    before: Float[np.ndarray, " T"]
    after: Float[np.ndarray, " T"]
    buf_decay: Float[np.ndarray, " M"] | None = None
    output_scale: Float[np.ndarray, " M"] | None = None
    coefficients: np.ndarray | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", count("steps", self.steps, most=LARGEST_HORIZON))
        for name in ("before", "after", "buf_decay", "output_scale", "coefficients"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, real_array(name, getattr(self, name)))
        choice("form", self.form, ("blt", "toeplitz", "columns"))
        blt = self.buf_decay is not None and self.output_scale is not None
        if blt == (self.coefficients is not None) or blt != (self.form == "blt"):
            raise DomainError("form", self.form, '"blt" with buf_decay and output_scale, else coefficients')
        if self.coefficients is not None:
            _check_bands(self.coefficients, self.form, self.steps)
        if (
            self.buf_decay is not None
            and self.output_scale is not None
            and self.buf_decay.shape != self.output_scale.shape
        ):
            raise DomainError("output_scale", f"shape {self.output_scale.shape}", "as many numbers as buf_decay")
        for name in ("before", "after"):
            scale = getattr(self, name)
            if scale.shape != (self.steps,) or not (np.isfinite(scale).all() and scale.min() > 0):
                raise DomainError(name, f"an array of shape {scale.shape}", f"{self.steps} finite numbers above 0")

    @property
    def buffers(self) -> int:
        """Arrays like the parameters that are kept between steps."""
        return self.bands - 1 if self.buf_decay is None else len(self.buf_decay)

    @property
    def bands(self) -> int:
        """Diagonals of L: all T for a BLT."""
        return self.steps if self.coefficients is None else self.coefficients.shape[-1]

    @property
    def scaled(self) -> bool:
        """Whether there is a scaling before or after the filter."""
        return not (np.all(self.before == 1.0) and np.all(self.after == 1.0))

    def columns(self) -> Float[np.ndarray, "T b"]:
        """The bands of L below each column: entry (i, k) is L_{i+k,i}, 0 beyond the last row."""
        own = self.coefficients if self.form == "columns" else None
        bands = self.toeplitz_coefficients() if own is None else own
        rows = np.arange(self.steps)[:, None] + np.arange(self.bands)
        return np.where(rows < self.steps, bands, 0.0)

    def toeplitz_coefficients(self) -> Float[np.ndarray, " b"]:
        """c_0, ..., c_{b-1} of L, all T for a BLT. Raises `DomainError` where L is not Toeplitz."""
        if self.buf_decay is not None and self.output_scale is not None:
            powers = self.buf_decay ** np.arange(self.steps - 1)[:, None]
            return np.concatenate([[1.0], powers @ self.output_scale])
        if self.form == "columns" or self.coefficients is None:
            raise DomainError("form", self.form, "a Toeplitz filter")
        return self.coefficients

    def encoder(self) -> Float[np.ndarray, "T T"]:
        """C, dense, from what stands here and nothing else."""
        T = count("steps", self.steps, most=LARGEST_DENSE)
        dense = np.zeros((T, T))
        for i, band in enumerate(self.columns()):
            kept = min(len(band), T - i)
            dense[i : i + kept, i] = band[:kept]
        return dense / self.before[:, None] / self.after


@dataclass(frozen=True, eq=False)
class StateSpace:
    """w~_t = own_t w_t + <read_t, s_t>, s_{t+1} = P s_t + write_t w_t from s_0 = 0; without `transition`, P = I."""

    own: Float[np.ndarray, " T"]
    read: Float[np.ndarray, "T M"]
    write: Float[np.ndarray, "T M"]
    transition: Float[np.ndarray, "M M"] | None

    @property
    def size(self) -> int:
        """M."""
        return self.read.shape[1]

    def advanced(self, states: np.ndarray) -> np.ndarray:
        """P applied along the first axis, of M entries."""
        return states if self.transition is None else np.tensordot(self.transition, states, axes=1)


@typed
def noise_stream(correlation: Correlation, steps: int) -> NoiseStream:
    """What draws the noise of a mechanism: BLT, coefficients of C, or the bands of a dense C; with scalings, if any.

    Raises `DomainError` for a mechanism without one draw per step (tree aggregation), whose encoder is not lower
    triangular, or that is dense and too long.
    """
    T = count("steps", steps, most=LARGEST_HORIZON)
    before, after, core = np.ones(T), np.ones(T), correlation
    if isinstance(correlation, ScaledToeplitz):
        if correlation.steps != T:
            raise DomainError("steps", T, f"the horizon {correlation.steps} this mechanism was made for")
        before, after, core = correlation.before, correlation.column_scale, correlation.toeplitz
    if isinstance(core, Blt):
        return NoiseStream(
            name=correlation.name,
            steps=T,
            form="blt",
            before=before,
            after=after,
            buf_decay=np.array(core.buf_decay),
            output_scale=np.array(core.output_scale),
        )
    if isinstance(core, ToeplitzCorrelation):
        form, coefficients = "toeplitz", _shortened(np.asarray(core.inverse_coefficients(T)))
    else:
        form, coefficients = "columns", _bands(core, T)
    return NoiseStream(name=correlation.name, steps=T, form=form, before=before, after=after, coefficients=coefficients)


@typed
def state_space(correlation: Correlation, steps: int) -> StateSpace:
    """The noise as a recursion: M buffers for a BLT, b - 1 outputs for b bands, else all T draws.

    Raises `DomainError` like `noise_stream`.
    """
    core = correlation.toeplitz if isinstance(correlation, ScaledToeplitz) else correlation
    if isinstance(core, ToeplitzCorrelation):
        stream = noise_stream(correlation, steps)
        if stream.coefficients is not None and stream.bands <= steps // 2:
            return _banded(stream, stream.coefficients)
    if isinstance(core, Blt):
        stream = noise_stream(correlation, steps)
        # x_t = y_t - <omega, s_t>, s_{t+1} = phi s_t + x_t.
        return StateSpace(
            own=stream.before * stream.after,
            read=-np.outer(stream.after, core.output_scale),
            write=np.repeat(stream.before[:, None], core.buffers, axis=1),
            transition=core.transition,
        )
    decoder = correlation.matrix(count("steps", steps, most=LARGEST_DENSE))
    if decoder.shape != (steps, steps) or _above_diagonal(decoder):
        raise DomainError("correlation", correlation.name, "one draw per step: a square, lower-triangular decoder")
    return StateSpace(np.diag(decoder).copy(), np.tril(decoder, -1), np.eye(steps), None)


def _banded(stream: NoiseStream, coefficients: np.ndarray) -> StateSpace:
    """x_t = (y_t - sum_{0<k<b} c_k x_{t-k}) / c_0, with the state x_{t-1}, x_{t-2}, ..., x_{t-b+1}."""
    past, own = coefficients[1:] / coefficients[0], stream.before / coefficients[0]
    transition, write = np.eye(len(past), k=-1), np.zeros((stream.steps, len(past)))
    transition[:1] -= past
    write[:, :1] = own[:, None]
    return StateSpace(own=own * stream.after, read=-np.outer(stream.after, past), write=write, transition=transition)


def _bands(correlation: Correlation, T: int) -> np.ndarray:
    """C from the diagonal down, column by column, as far as anything but rounding stands there."""
    encoder = correlation.encoder(count("steps", T, most=LARGEST_DENSE))
    if encoder.shape != (T, T) or _above_diagonal(encoder):
        remedy = "take a Toeplitz mechanism, or a square matrix"
        allowed = "one draw per step: a square, lower-triangular encoder"
        raise DomainError("correlation", correlation.name, allowed, remedy)
    bands = np.zeros((T, T))
    for i in range(T):
        bands[i, : T - i] = encoder[i:, i]
    kept = np.abs(bands).max(axis=0) > NEGLIGIBLE * np.abs(bands).max()
    return bands[:, : np.flatnonzero(kept)[-1] + 1]


def _check_bands(coefficients: np.ndarray, form: Form, steps: int) -> None:
    rows = coefficients.shape[:-1]
    if coefficients.size == 0 or coefficients.ndim == 0 or rows != (() if form == "toeplitz" else (steps,)):
        raise DomainError("coefficients", f"shape {coefficients.shape}", '(b,), or (T, b) for "columns"')
    if not (np.isfinite(coefficients).all() and np.all(coefficients[..., 0] != 0)):
        raise DomainError("coefficients", "infinite, or 0 on the diagonal", "finite, c_0 not 0")


def _above_diagonal(matrix: np.ndarray) -> bool:
    return bool(np.abs(np.triu(matrix, 1)).max(initial=0.0) > NEGLIGIBLE * np.abs(matrix).max())


def _shortened(coefficients: np.ndarray) -> np.ndarray:
    """Without zeros at the end."""
    return coefficients[: np.flatnonzero(coefficients)[-1] + 1]
