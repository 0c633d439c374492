"""Sketches as the lemmas of Appendix C see them: their spectra, and worst cases within the events of Definition 2."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simulators.engine import Arrays, Experiment, Streams
from simulators.ols import bartlett


@dataclass(frozen=True, kw_only=True)
class Size:
    """k rows of a sketch of d dimensions."""

    k: int
    d: int


def spectra(problem: Size, settings: None, streams: Streams, trials: int) -> Arrays:
    """Least and largest eigenvalue of U'B'BU / k, U an orthonormal basis of col(A); (trials,)."""
    triangles = bartlett(streams.noise, trials, problem.d, problem.k)
    values = np.linalg.svd(triangles, compute_uv=False) ** 2 / problem.k
    return {"least": values[:, -1], "largest": values[:, 0]}


def spectra_runs(k: int, d: int) -> Experiment:
    """In blocks of a thousand."""
    return Experiment(algorithm=spectra, problem=Size(k=k, d=d), settings=None, block_trials=1_000)


def rotation(angle: np.ndarray) -> np.ndarray:
    """Planar rotations, shape (..., 2, 2)."""
    c, s = np.cos(angle), np.sin(angle)
    return np.stack([np.stack([c, -s], axis=-1), np.stack([s, c], axis=-1)], axis=-2)


def inside(chi: np.ndarray, places: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """Symmetric matrices V (n, 2, 2) with eigenvalues 1 + (chi/2) places, places (n, 2) in [-1, 1]."""
    turned = rotation(angle)
    values = 1 + chi[:, None] / 2 * places
    return turned * values[:, None, :] @ np.swapaxes(turned, -1, -2)
