"""Data: x from a Gaussian or a two-point design, y from a link; as records, or as their sums in law.

Every estimator sees the private records through X^T X and X^T y, and the public ones through their Gram matrix and the
projections <x_j, w>. For Gaussian x, with x = Sigma^{1/2} Q (t, g) and t along Sigma^{1/2} w*, labels depend on t
alone: given (t, y), the sums over g are a Wishart matrix and normal vectors. The public projections are
||Gram^{1/2} w|| times a uniform point of the sphere, whatever the Gram matrix. For a two-point design the sums depend
on how often each of the 2^p patterns occurs.

>>> from dpbounds.glm.links import logistic
>>> model = GaussianModel(link=logistic, w=np.array([0.6, 0.8]), covariance=np.eye(2), n=1000, m=100)
>>> sums = model.sums(np.random.default_rng(0))
>>> sums.gram.shape, sums.cross.shape, sums.records
((2, 2), (2,), 1000)
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import AccuracyError, DomainError, count, nonnegative, vector
from dpbounds.glm.designs import TwoPointDesign
from dpbounds.glm.links import Link
from dpbounds.glm.scale import positive_definite
from simulators.glm.covariances import LARGEST_P

# Rows drawn at a time, and the largest number of patterns of a two-point design that are counted.
CHUNK, MOST_PATTERNS = 65_536, 2**16
# Cells in which many public projections are condensed.
CELLS = 2048
# Records that are drawn one by one fit into 4 GiB; means of counts into 64 bits.
MOST_RECORDS, MOST_COUNTS, LARGEST_MEAN = 1 << 26, 1 << 60, 9e18


@dataclass(frozen=True)
class Sums:
    """X^T X (p, p), X^T y (p,) and the number of records in them."""

    gram: np.ndarray
    cross: np.ndarray
    records: int


@dataclass(frozen=True)
class Public:
    """The Gram matrix of the public records, how many they are, and `average(w)(g)`, the mean of g(<x_j, w>)."""

    gram: np.ndarray
    records: int
    average: Callable[[np.ndarray], Callable[[Callable[[np.ndarray], np.ndarray]], float]]


@dataclass(frozen=True, kw_only=True, eq=False)
class Model(ABC):
    """E[y | x] = mu(<x, w>) with the link's law of labels; regressions add +-`noise` (a fair sign). `n` private and
    `m` public records, drawn afresh in every trial.
    """

    link: Link
    w: np.ndarray
    n: int
    m: int
    noise: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "w", vector("w", self.w))
        object.__setattr__(self, "n", count("n", self.n, least=self.p + 2, remedy="more records than coordinates"))
        object.__setattr__(self, "m", count("m", self.m, least=0))
        for name in ("n", "m"):
            count(name, getattr(self, name), least=0, most=self.most_records)
        nonnegative("noise", self.noise)
        if 0 < self.m < self.p:
            raise DomainError("m", self.m, f"0 or at least p = {self.p}")

    @property
    def p(self) -> int:
        """Coordinates."""
        return len(self.w)

    @property
    def most_records(self) -> int:
        """The largest n and m."""
        return MOST_RECORDS

    @abstractmethod
    def rows(self, size: int, generator: np.random.Generator) -> np.ndarray:
        """`size` records x, of shape (size, p)."""

    @abstractmethod
    def sums(self, generator: np.random.Generator) -> Sums:
        """The sums over the n private records, in law."""

    @abstractmethod
    def public(self, generator: np.random.Generator) -> Public:
        """The m public records, in law."""

    def records(self, size: int, generator: np.random.Generator) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Private records (x, y) in chunks."""
        for start in range(0, size, CHUNK):
            x = self.rows(min(CHUNK, size - start), generator)
            yield x, self.labels(x @ self.w, generator)

    def labels(self, z: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """y given z = <x, w>."""
        mean = self.link.mean(z)
        if self.link.labels == "binary":
            return (generator.random(z.shape) < mean).astype(float)
        if self.link.labels == "count":
            if not np.all(mean < LARGEST_MEAN):
                raise AccuracyError(f"means of the {self.link.name} link leave the range of counts: take a smaller w")
            return generator.poisson(mean).astype(float)
        return mean + self.noise * (2.0 * generator.integers(0, 2, z.shape) - 1.0) if self.noise else mean


@typed
@dataclass(frozen=True, kw_only=True, eq=False)
class GaussianModel(Model):
    """x ~ N(0, covariance)."""

    covariance: np.ndarray

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "covariance", positive_definite("covariance", self.covariance, self.p))

    @cached_property
    def root(self) -> np.ndarray:
        """C with C C^T = Sigma whose first column is along Sigma w*: coordinate t of (t, g) is z / sqrt q."""
        cholesky = np.linalg.cholesky(self.covariance)
        ray = cholesky.T @ self.w
        basis, _ = np.linalg.qr(np.column_stack([ray, np.eye(self.p)[:, : self.p - 1] + 1e-3]))
        basis = basis * np.where(basis[:, 0] @ ray < 0, -1.0, 1.0)
        return cholesky @ basis

    def rows(self, size: int, generator: np.random.Generator) -> np.ndarray:
        """Normal records."""
        return generator.standard_normal((size, self.p)) @ self.root.T

    def sums(self, generator: np.random.Generator) -> Sums:
        """Scalars (t, y) of every record; the rest by one Wishart matrix and two normal vectors."""
        t = generator.standard_normal(self.n)
        y = self.labels(math.sqrt(float(self.w @ self.covariance @ self.w)) * t, generator)
        return self.combined(float(t @ t), float(t @ y), float(y @ y), generator)

    def combined(self, squares: float, along: float, label_squares: float, generator: np.random.Generator) -> Sums:
        """The sums given those of t^2, t y and y^2 over the records."""
        # X^T (t, y) over the other coordinates is normal with the covariance of (t, y): its Cholesky factor.
        length = math.sqrt(squares)
        aside = math.sqrt(max(label_squares - (along / length) ** 2, 0.0))
        across = generator.standard_normal((2, self.p - 1))
        gram = np.empty((self.p, self.p))
        gram[0, 0] = length**2
        gram[0, 1:] = gram[1:, 0] = length * across[0]
        gram[1:, 1:] = across.T @ across + wishart(self.p - 1, self.n - 2, generator)
        cross = np.concatenate([[along], along / length * across[0] + aside * across[1]])
        root = self.root
        return Sums(gram=root @ gram @ root.T, cross=root @ cross, records=self.n)

    def public(self, generator: np.random.Generator) -> Public:
        """A Wishart matrix, and a uniform point of the sphere for the projections."""
        root = self.root
        gram = root @ wishart(self.p, self.m, generator) @ root.T
        direction = generator.standard_normal(self.m)
        points, shares = condensed(direction / np.linalg.norm(direction))

        def average(w: np.ndarray) -> Callable[[Callable[[np.ndarray], np.ndarray]], float]:
            projections = math.sqrt(float(w @ gram @ w)) * points
            return lambda g: float(g(projections) @ shares)

        return Public(gram=gram, records=self.m, average=average)


@typed
@dataclass(frozen=True, kw_only=True, eq=False)
class TwoPointModel(Model):
    """Coordinates from a two-point design (glm Section 6: +-1 / p)."""

    design: TwoPointDesign

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.design.p != self.p:
            raise DomainError("design", f"{self.design.p} coordinates", f"as many as w has, {self.p}")

    @property
    def most_records(self) -> int:
        """Patterns are counted, in 64 bits, where there are not too many."""
        return MOST_COUNTS if 2**self.p <= MOST_PATTERNS else MOST_RECORDS

    @property
    def covariance(self) -> np.ndarray:
        """variance I."""
        return self.design.variance * np.eye(self.p)

    def rows(self, size: int, generator: np.random.Generator) -> np.ndarray:
        """Records of the design."""
        up = generator.random((size, self.p)) < self.design.probability
        return np.where(up, self.design.high, self.design.low)

    def sums(self, generator: np.random.Generator) -> Sums:
        """Counts of the patterns, and the labels' sums over each."""
        patterns, counts = self._counts(self.n, generator)
        mean = self.link.mean(patterns @ self.w)
        if self.link.labels == "binary":
            totals = generator.binomial(counts, mean).astype(float)
        elif self.link.labels == "count":
            totals = generator.poisson(counts * mean).astype(float)
        else:
            totals = counts * mean + self.noise * (2.0 * generator.binomial(counts, 0.5) - counts)
        return Sums(gram=(patterns.T * counts) @ patterns, cross=patterns.T @ totals, records=self.n)

    def public(self, generator: np.random.Generator) -> Public:
        """Counts of the patterns."""
        patterns, counts = self._counts(self.m, generator)
        shares = counts / max(self.m, 1)

        def average(w: np.ndarray) -> Callable[[Callable[[np.ndarray], np.ndarray]], float]:
            projections = patterns @ w
            return lambda g: float(g(projections) @ shares)

        return Public(gram=(patterns.T * counts) @ patterns, records=self.m, average=average)

    def _counts(self, size: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """The patterns that occur, (k, p), and how often."""
        if 2**self.p > MOST_PATTERNS:
            x = self.rows(size, generator)
            return x, np.ones(size, dtype=int)
        patterns, weights = _patterns(self.design)
        counts = generator.multinomial(size, weights)
        return patterns[counts > 0], counts[counts > 0]


@typed
@dataclass(frozen=True, kw_only=True, eq=False)
class InterceptModel(Model):
    """Records of `inner`, a model of p - 1 coordinates, after a coordinate that is 1; `w` is of all p."""

    inner: Model

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.inner.p != self.p - 1:
            raise DomainError("inner", f"{self.inner.p} coordinates", f"{self.p - 1}, one fewer than w")

    @property
    def covariance(self) -> np.ndarray:
        """Second moments of the records, as A takes them, for an inner mean of 0."""
        moments = np.eye(self.p)
        moments[1:, 1:] = second_moments(self.inner)
        return moments

    def rows(self, size: int, generator: np.random.Generator) -> np.ndarray:
        """Records of the model after a 1."""
        return np.column_stack([np.ones(size), self.inner.rows(size, generator)])

    def sums(self, generator: np.random.Generator) -> Sums:
        """Refused: least squares takes records of mean 0."""
        raise DomainError("problem", "InterceptModel", "a model without an intercept")

    def public(self, generator: np.random.Generator) -> Public:
        """Refused: least squares takes records of mean 0."""
        raise DomainError("problem", "InterceptModel", "a model without an intercept")


@typed
def second_moments(problem: Model) -> np.ndarray:
    """E x x^T of a model's records. Raises `DomainError` for a model that does not say it."""
    if isinstance(problem, (GaussianModel, InterceptModel, TwoPointModel)):
        return problem.covariance
    raise DomainError("problem", type(problem).__name__, "a model that says its covariance")


@lru_cache(maxsize=8)
def _patterns(design: TwoPointDesign) -> tuple[np.ndarray, np.ndarray]:
    """All 2^p records of a design and their probabilities."""
    patterns = np.array(list(itertools.product([design.high, design.low], repeat=design.p)))
    ups = (patterns == design.high).sum(axis=1)
    weights = design.probability**ups * (1.0 - design.probability) ** (design.p - ups)
    return patterns, weights / weights.sum()


def condensed(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights whose averages of smooth functions are those over `values`: two points in each of `CELLS`
    cells, with the mean and the variance of what lies in it. Few values are kept as they are.
    """
    values = vector("values", values)
    if len(values) < 8 * CELLS:
        return values, np.full(len(values), 1.0 / len(values))
    low, width = values.min(), np.ptp(values) / CELLS
    sums = np.zeros((3, CELLS))
    for piece in np.array_split(values, len(values) // (8 * CELLS)):
        place = (piece - low) / width
        cell = np.minimum(place.astype(np.intp), CELLS - 1)
        place -= cell
        for row, weights in zip(sums, (None, place, place * place), strict=True):
            row += np.bincount(cell, weights, CELLS)
    used = np.flatnonzero(sums[0])
    counts, means = sums[0, used], sums[1, used] / sums[0, used]
    spread = width * np.sqrt(np.maximum(sums[2, used] / counts - means**2, 0.0))
    centres = low + (used + means) * width
    return np.concatenate([centres - spread, centres + spread]), np.tile(counts / (2.0 * len(values)), 2)


@typed
def wishart(p: int, degrees: int, generator: np.random.Generator) -> np.ndarray:
    """W_p(I, degrees) by Bartlett's decomposition; degrees >= p."""
    p = count("p", p, 0, most=LARGEST_P)
    degrees = count("degrees", degrees, p, most=10**15)
    factor = np.tril(generator.standard_normal((p, p)), -1)
    factor[np.diag_indices(p)] = np.sqrt(generator.chisquare(degrees - np.arange(p)))
    return factor @ factor.T
