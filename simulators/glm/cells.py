"""Many Gaussian records in law: how many fall into each cell of t, in place of each one's t.

Sums over records need t, the coordinate along Sigma^{1/2} w*, and the label, whose law depends on t alone; the rest of
x enters by a Wishart matrix and normal vectors (`GaussianModel`). Counts in cells of t are multinomial and labels in a
cell are drawn by their sum, at the cell's mean of t. Cells are 1/240 wide, so that E[t y] loses 1.4e-6 of itself; a sum
over n records is uncertain by 1 / sqrt n. For messages the mean over public records of
h(x) M(<x, w>) is drawn at w* from its normal limit, with the slope in w of its expectation (`dpbounds.glm.messages.
solve_known`): the Hessian's own fluctuation is left out, which moves an estimate by about sqrt(p / m) of its error.

Where n is small, and where m is less than `public_in_law`, records are drawn as in `GaussianModel`.

>>> from dpbounds.glm.links import logistic
>>> model = GaussianInLaw(link=logistic, w=np.array([0.6, 0.8]), covariance=np.eye(2), n=10**7, m=10**7)
>>> sums = model.sums(np.random.default_rng(0))
>>> (sums.gram / sums.records).round(2).tolist(), (sums.cross / sums.records).round(2).tolist()
([[1.0, 0.0], [0.0, 1.0]], [0.12, 0.17])
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from scipy import special

from dpbounds.errors import AccuracyError
from simulators.glm.models import LARGEST_MEAN, GaussianModel, Public, Sums, wishart

# Records from which sums are drawn by cells, and public records per coordinate from which their messages are in law.
LEAST, LEAST_PUBLIC, PUBLIC_PER_COORDINATE = 65_536, 4000, 1000
# Cells of t in [-FARTHEST, FARTHEST], outside which there is 1e-16 of the mass.
CELLS, FARTHEST = 4096, 8.5
MOST_IN_LAW = 1 << 40


class GaussianInLaw(GaussianModel):
    """x ~ N(0, covariance), many records by how many there are of a kind."""

    @property
    def most_records(self) -> int:
        """Beyond, the width of cells would be seen."""
        return MOST_IN_LAW

    @property
    def public_in_law(self) -> bool:
        """Whether messages are solved with the mean over public records in law."""
        return self.m >= max(LEAST_PUBLIC, PUBLIC_PER_COORDINATE * self.p)

    def sums(self, generator: np.random.Generator) -> Sums:
        """From counts and labels' sums in cells."""
        if self.n < LEAST:
            return super().sums(generator)
        counts, t, squares = _drawn(self.n, generator)
        total, total_squares = self._totals(counts, math.sqrt(float(self.w @ self.covariance @ self.w)) * t, generator)
        return self.combined(float(counts @ squares), float(t @ total), total_squares, generator)

    def _totals(self, counts: np.ndarray, z: np.ndarray, generator: np.random.Generator) -> tuple[np.ndarray, float]:
        """Sums of labels in each cell, and that of their squares over all cells."""
        mean = self.link.mean(z)
        if self.link.labels == "binary":
            total = generator.binomial(counts, mean).astype(float)
            return total, float(total.sum())
        if self.link.labels == "real":
            signs = 2.0 * generator.binomial(counts, 0.5) - counts
            squares = counts * (mean**2 + self.noise**2) + 2.0 * self.noise * mean * signs
            return counts * mean + self.noise * signs, float(squares.sum())
        if not np.all(counts * mean < LARGEST_MEAN):
            raise AccuracyError(f"means of the {self.link.name} link leave the range of counts: take a smaller w")
        total = generator.poisson(counts * mean).astype(float)
        # y^2 given y is linear in it, Cov(y, y^2) = 2 mean^2 + mean, beside a remainder of variance 2 mean^2.
        beside = np.sqrt(2.0 * counts) * mean * generator.standard_normal(len(counts))
        squares = counts * (mean + mean**2) + (2.0 * mean + 1.0) * (total - counts * mean) + beside
        return total, max(float(squares.sum()), float(total.sum()))

    def public(self, generator: np.random.Generator) -> Public:
        """A Wishart matrix, and a uniform point of the sphere by how many of its coordinates are in a cell."""
        if self.m < LEAST:
            return super().public(generator)
        root = self.root
        gram = root @ wishart(self.p, self.m, generator) @ root.T
        counts, t, squares = _drawn(self.m, generator)
        spread = np.sqrt(np.maximum(squares - t**2, 0.0))
        points = np.concatenate([t - spread, t + spread]) / math.sqrt(float(counts @ squares))
        shares = np.tile(counts / (2.0 * self.m), 2)

        def average(w: np.ndarray) -> Callable[[Callable[[np.ndarray], np.ndarray]], float]:
            projections = math.sqrt(float(w @ gram @ w)) * points
            return lambda g: float(g(projections) @ shares)

        return Public(gram=gram, records=self.m, average=average)


def _drawn(size: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Counts, E[t | cell] and E[t^2 | cell] of the cells that `size` standard normals fall into."""
    shares, means, squares = _cells()
    counts = generator.multinomial(size, shares)
    used = counts > 0
    return counts[used], means[used], squares[used]


@lru_cache(maxsize=1)
def _cells() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """P(cell), E[t | cell], E[t^2 | cell]: by Gauss's rule over the left half, mirrored."""
    edges = np.linspace(-FARTHEST, 0.0, CELLS // 2 + 1)
    x, weights = special.roots_legendre(8)
    t = 0.5 * (edges[1:] + edges[:-1])[:, None] + 0.5 * np.diff(edges)[:, None] * x
    density = np.exp(-0.5 * t * t) * weights
    shares = density.sum(axis=1)
    means, squares = (density * t).sum(axis=1) / shares, (density * t * t).sum(axis=1) / shares
    both = np.concatenate([shares, shares[::-1]])
    return both / both.sum(), np.concatenate([means, -means[::-1]]), np.concatenate([squares, squares[::-1]])
