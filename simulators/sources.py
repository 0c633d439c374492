"""Where the Gaussian noise of one release comes from: floats of numpy, or OpenDP's measurement.

>>> source = GaussianSource(np.random.default_rng(0))
>>> bool(abs(source.vector(np.zeros(1000), 2.0).std() - 2) < 0.2)
True
"""

from __future__ import annotations

import math

import numpy as np

from simulators import opendp


class GaussianSource:
    """Adds independent normal floats to sums: the same generator state gives the same noise."""

    def __init__(self, generator: np.random.Generator) -> None:
        self.generator = generator

    def sums(self, rows: np.ndarray) -> np.ndarray:
        """Over records, (d, n) to (d,)."""
        return rows.sum(axis=1)

    def vector(self, values: np.ndarray, scale: float) -> np.ndarray:
        """`values`, of any shape, plus N(0, scale²) in each entry."""
        return values + scale * self.generator.standard_normal(np.shape(values))

    def symmetric(self, matrix: np.ndarray, scale: float) -> np.ndarray:
        """A symmetric matrix plus svec N(0, scale²): diagonal sd `scale`, off the diagonal scale / sqrt 2."""
        rows, columns = np.triu_indices(len(matrix))
        weight = np.where(rows == columns, 1.0, math.sqrt(2.0))
        noisy = np.empty(np.shape(matrix))
        noisy[rows, columns] = noisy[columns, rows] = self.vector(matrix[rows, columns] * weight, scale) / weight
        return noisy

    def gram(self, rows: np.ndarray) -> np.ndarray:
        """Sum of the outer products of the columns of (d, n)."""
        found = np.empty((len(rows), len(rows)))
        for left, right in zip(*np.triu_indices(len(rows)), strict=True):  # one product at a time, for long data sets
            found[left, right] = found[right, left] = self.sums((rows[left] * rows[right])[None])[0]
        return found


class OpenDPSource(GaussianSource):
    """The same law from OpenDP, which nobody can draw again; sums of records are correctly rounded."""

    def __init__(self) -> None:
        opendp.require()

    def sums(self, rows: np.ndarray) -> np.ndarray:
        """By exact partial sums."""
        return np.array([math.fsum(row) for row in rows])

    def vector(self, values: np.ndarray, scale: float) -> np.ndarray:
        """Through a measurement of all entries together."""
        flat = np.ravel(values)
        return opendp.measured(flat, scale).reshape(np.shape(values))
