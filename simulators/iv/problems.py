"""Where the data come from: linear models with fresh data for every trial, and fixed data sets.

>>> model = LinearModel(n=50, beta=np.ones(1), theta=np.ones((2, 1)), error_covariance=np.eye(2))
>>> model.fixed(data_seed=0).instruments.shape
(50, 2)
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, Protocol, get_args

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, choice, count
from dpbounds.iv.moments import Moments, finite_array
from simulators.iv.samples import MomentSample, RecordSample, Sample

# Laws of independent instruments of mean 0 and variance 1: standard normal, or +-1.
Instruments = Literal["gaussian", "sign"]


class Problem(Protocol):
    """What an algorithm asks of its data."""

    @property
    def n(self) -> int:
        """Records in a data set."""
        ...

    @property
    def dimensions(self) -> tuple[int, int]:
        """(q, p): instruments and regressors."""
        ...

    @property
    def beta(self) -> np.ndarray | None:
        """The data-generating coefficient, None where it is unknown."""
        ...

    def draw(self, generator: np.random.Generator, trials: int, *, records: bool) -> Sample:
        """The data of `trials` trials. Where no `records` are asked for, moments of the same law will do."""
        ...


class RecordProblem(Problem, Protocol):
    """A problem whose data are records always: what a release of its own moments asks for."""

    def draw(self, generator: np.random.Generator, trials: int, *, records: bool) -> RecordSample:
        """The records of `trials` data sets, or of one that they share."""
        ...


@typed
def standard_instruments(
    law: Instruments, generator: np.random.Generator, shape: tuple[int, int, int]
) -> Float[np.ndarray, "trials q n"]:
    """Independent instruments of mean 0 and variance 1, (trials, q, n). Raises `DomainError` for other laws."""
    if choice("instruments", law, get_args(Instruments)) == "gaussian":
        return generator.standard_normal(shape)
    return 2.0 * generator.integers(0, 2, size=shape) - 1.0


@dataclass(frozen=True, kw_only=True, eq=False)
class LinearModel:
    """x = Theta'z + e_2, y = beta'x + e_1 (iv eq. (1)) with (e_2, e_1) ~ N(0, error_covariance) independent of z.

    Instruments are z = C w with C C' = `instrument_covariance` (default I) and w of i.i.d. entries of mean 0 and
    variance 1: standard normal, or +-1 (`sign`). Shapes: beta (p,), theta (q, p), error_covariance (p + 1, p + 1) with
    e_1 last. Raises `DomainError` for other shapes, theta of rank below p, n < q, and covariances that are none.
    """

    n: int
    beta: np.ndarray
    theta: np.ndarray
    error_covariance: np.ndarray
    instrument_covariance: np.ndarray | None = None
    instruments: Instruments = "gaussian"

    def __post_init__(self) -> None:
        beta, theta = finite_array("beta", self.beta, 1), finite_array("theta", self.theta, 2)
        q, p = len(theta), len(beta)
        if theta.shape[1] != p or np.linalg.matrix_rank(theta) < p:
            raise DomainError(
                "theta", theta.tolist(), f"a (q, {p}) matrix of rank {p}", "2SLS needs relevant instruments"
            )
        object.__setattr__(self, "n", count("n", self.n, least=q, remedy=f"{q} instruments need as many records"))
        choice("instruments", self.instruments, get_args(Instruments))
        given = np.eye(q) if self.instrument_covariance is None else self.instrument_covariance
        covariances = {
            "instrument_covariance": _covariance("instrument_covariance", given, q, definite=True),
            "error_covariance": _covariance("error_covariance", self.error_covariance, p + 1, definite=False),
        }
        for name, value in {"beta": beta, "theta": theta, **covariances}.items():
            object.__setattr__(self, name, value)

    @property
    def dimensions(self) -> tuple[int, int]:
        """(q, p)."""
        q, p = self.theta.shape
        return q, p

    @typed
    def draw(self, generator: np.random.Generator, trials: int, *, records: bool) -> Sample:
        """Fresh records or fresh moments."""
        return self.records(generator, trials) if records else self.moments(generator, trials)

    @typed
    def records(self, generator: np.random.Generator, trials: int) -> RecordSample:
        """Fresh data sets."""
        q, p = self.dimensions
        w = standard_instruments(self.instruments, generator, (trials, q, self.n))
        e = self._error_root @ generator.standard_normal((trials, p + 1, self.n))
        Z = self._instrument_root @ w
        X = self.theta.T @ Z + e[:, :p]
        return RecordSample(instruments=Z, regressors=X, outcome=self.beta @ X + e[:, p])

    @typed
    def moments(self, generator: np.random.Generator, trials: int) -> MomentSample:
        """Fresh moments; for Gaussian instruments in O(q^2 (p + 1)) whatever n.

        W'W = LL' with Bartlett's L: independent entries, chi with n - i degrees of freedom on the diagonal and normals
        below it. Given W the columns of W'e are normal with covariance LL': L times white noise.
        """
        if self.instruments != "gaussian":
            return self.records(generator, trials).moments
        q, p = self.dimensions
        L = np.tril(generator.standard_normal((trials, q, q)), -1)
        L[:, np.arange(q), np.arange(q)] = np.sqrt(generator.chisquare(self.n - np.arange(q), size=(trials, q)))
        K = self._instrument_root @ L
        A = K @ np.swapaxes(K, 1, 2) / self.n
        E = K @ generator.standard_normal((trials, q, p + 1)) @ self._error_root / self.n
        G = A @ self.theta + E[..., :p]
        return MomentSample(A=A, G=G, b=G @ self.beta + E[..., p])

    def fixed(self, *, data_seed: int) -> FixedData:
        """One data set of this model, the same for every trial."""
        sample = self.records(np.random.default_rng(count("data_seed", data_seed, least=0)), 1)
        Z, X = sample.instruments[0].T, sample.regressors[0].T
        return FixedData(instruments=Z, regressors=X, outcome=sample.outcome[0], beta=self.beta)

    @cached_property
    def _instrument_root(self) -> np.ndarray:
        return np.linalg.cholesky(np.asarray(self.instrument_covariance))

    @cached_property
    def _error_root(self) -> np.ndarray:
        """The symmetric root: it exists for singular covariances too."""
        eigenvalues, vectors = np.linalg.eigh(self.error_covariance)
        return (vectors * np.sqrt(np.maximum(eigenvalues, 0.0))) @ vectors.T


@dataclass(frozen=True, kw_only=True, eq=False)
class FixedData:
    """One data set that all trials share: only the mechanism's noise is random.

    Rows of `instruments` (n, q), `regressors` (n, p) and `outcome` (n,) are records; `beta` is the true coefficient
    where it is known. Streams are keyed by `digest`, a hash of the arrays. Raises `DomainError` for shapes that do not
    match, entries that are not finite or above 1e50, and whatever leaves 2SLS undefined.
    """

    instruments: np.ndarray = field(repr=False)
    regressors: np.ndarray = field(repr=False)
    outcome: np.ndarray = field(repr=False)
    beta: np.ndarray | None = None
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        Z, X = finite_array("instruments", self.instruments, 2), finite_array("regressors", self.regressors, 2)
        Y = finite_array("outcome", self.outcome, 1)
        if not len(Z) == len(X) == len(Y):
            rows = f"{len(Z)}, {len(X)} and {len(Y)} rows"
            raise DomainError("instruments, regressors, outcome", rows, "as many rows in each", "one per record")
        object.__setattr__(self, "beta", _known(self.beta, Moments.of(Z, X, Y).p))
        for name, value in (("instruments", Z), ("regressors", X), ("outcome", Y)):
            object.__setattr__(self, name, value)
        shape = np.asarray([*Z.shape, X.shape[1]])
        content = b"".join(np.ascontiguousarray(part).tobytes() for part in (shape, Z, X, Y))
        object.__setattr__(self, "digest", hashlib.sha256(content).hexdigest())

    @property
    def n(self) -> int:
        """Records."""
        return len(self.outcome)

    @property
    def dimensions(self) -> tuple[int, int]:
        """(q, p)."""
        return self.instruments.shape[1], self.regressors.shape[1]

    @cached_property
    def sample(self) -> RecordSample:
        """The records, with a leading axis of length 1 that stands for all trials."""
        Z, X = (np.ascontiguousarray(rows.T)[None] for rows in (self.instruments, self.regressors))
        return RecordSample(instruments=Z, regressors=X, outcome=self.outcome[None])

    @typed
    def draw(self, generator: np.random.Generator, trials: int, *, records: bool) -> RecordSample:
        """The same records for all trials; nothing is drawn."""
        return self.sample


@typed
@dataclass(frozen=True, kw_only=True, eq=False)
class FixedMoments:
    """Moments that all trials share, for runs without clipping at any n; clipping needs records.

    `beta` is the true coefficient where it is known; raises `DomainError` if it has another length than p.
    """

    given: Moments
    beta: np.ndarray | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "beta", _known(self.beta, self.given.p))

    @property
    def n(self) -> int:
        """Records behind the moments."""
        return self.given.n

    @property
    def dimensions(self) -> tuple[int, int]:
        """(q, p)."""
        return self.given.q, self.given.p

    @typed
    def draw(self, generator: np.random.Generator, trials: int, *, records: bool) -> MomentSample:
        """The same moments for all trials; nothing is drawn."""
        return MomentSample(A=self.given.A[None], G=self.given.G[None], b=self.given.b[None])


def _known(beta: np.ndarray | None, p: int) -> np.ndarray | None:
    """The true coefficient of p regressors, if it is given."""
    if beta is None:
        return None
    array = finite_array("beta", beta, 1)
    if len(array) != p:
        raise DomainError("beta", f"an array of shape {array.shape}", f"of shape ({p},), or None if it is unknown")
    return array


def _covariance(name: str, value: np.ndarray, size: int, *, definite: bool) -> np.ndarray:
    """A symmetric positive (semi)definite matrix, up to rounding."""
    matrix = finite_array(name, value, 2)
    if matrix.shape != (size, size) or not np.array_equal(matrix, matrix.T):
        raise DomainError(name, matrix.tolist(), f"a symmetric ({size}, {size}) matrix")
    least, *_, largest = np.linalg.eigvalsh(matrix)[[0, -1]]
    if (definite and least <= 1e-13 * largest) or least < -1e-13 * abs(largest):
        kind = "definite" if definite else "semidefinite"
        raise DomainError(name, matrix.tolist(), f"positive {kind}", f"its least eigenvalue is {least:.3g}")
    return matrix
