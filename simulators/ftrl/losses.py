"""Strongly convex losses with known curvature: quadratic, Huber, logistic and log-sum-exp.

A loss says the range [mu, L] of its curvature (infimum and supremum of the Hessian's eigenvalues over all theta), its
minimiser, its gradient and F - F*. Losses with kinks in the gradient are in `piecewise`.

>>> loss = Quadratic(eigenvalues=(1.0, 4.0))
>>> loss.mu, loss.L, loss.suboptimality(np.array([[1.0, 1.0]])).tolist()
(1.0, 4.0, [2.5])
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from jaxtyping import Float
from scipy import special

from dpbounds.errors import AccuracyError, DomainError, count, in_floats, positive, vector

# Largest last step of Newton's method, relative to 1 + |theta*|.
MINIMISER = 1e-12
# Largest dimension and most samples of random designs: Hessians and pairs of vertices are held in memory.
LARGEST_DESIGN = 300


class Loss(Protocol):
    """mu-strongly convex and L-smooth, both constants attained or approached."""

    @property
    def mu(self) -> float:
        """Smallest curvature."""
        ...

    @property
    def L(self) -> float:
        """Largest curvature."""
        ...

    @property
    def dimension(self) -> int:
        """d."""
        ...

    @property
    def minimiser(self) -> Float[np.ndarray, " d"]:
        """theta*."""
        ...

    def suboptimality(self, theta: Float[np.ndarray, "n *shape d"]) -> Float[np.ndarray, " n *shape"]:
        """F(theta) - F*."""
        ...

    def gradient(self, theta: Float[np.ndarray, "n *shape d"]) -> Float[np.ndarray, "n *shape d"]:
        """Gradient of F."""
        ...


@dataclass(frozen=True, kw_only=True)
class Quadratic:
    """F(theta) = 1/2 sum_i h_i theta_i^2 with h = `eigenvalues`; raises `DomainError` unless all are positive."""

    eigenvalues: tuple[float, ...]

    def __post_init__(self) -> None:
        eigenvalues = vector("eigenvalues", self.eigenvalues, above=0.0)
        if not isinstance(self.eigenvalues, tuple):
            object.__setattr__(self, "eigenvalues", tuple(eigenvalues.tolist()))

    @property
    def mu(self) -> float:
        """Smallest eigenvalue."""
        return min(self.eigenvalues)

    @property
    def L(self) -> float:
        """Largest eigenvalue."""
        return max(self.eigenvalues)

    @property
    def dimension(self) -> int:
        """d."""
        return len(self.eigenvalues)

    @property
    def minimiser(self) -> Float[np.ndarray, " d"]:
        """The origin."""
        return np.zeros(self.dimension)

    def suboptimality(self, theta: Float[np.ndarray, "n *shape d"]) -> Float[np.ndarray, " n *shape"]:
        """F - F*."""
        return 0.5 * squared_norm(theta * np.sqrt(self.eigenvalues))

    def gradient(self, theta: Float[np.ndarray, "n *shape d"]) -> Float[np.ndarray, "n *shape d"]:
        """h_i theta_i."""
        return theta * np.array(self.eigenvalues)


@dataclass(frozen=True, kw_only=True)
class _Ranged(ABC):
    """A loss given by its curvature range, its dimension and a length: F(theta) = scale^2 F_1(theta / scale)."""

    mu: float
    L: float
    dimension: int = 1
    scale: float = 1.0

    def __post_init__(self) -> None:
        check_range(self.mu, self.L)
        count("dimension", self.dimension)
        positive("scale", self.scale)
        in_floats(self, "mu", "L", "scale")


@dataclass(frozen=True, kw_only=True)
class Huber(_Ranged):
    """F(theta) = mu/2 |theta|^2 + (L - mu) H(|theta|), H(r) = r^2/2 up to `scale` and scale (r - scale/2) beyond.

    Curvature L up to |theta| = scale; beyond, mu along the radius and mu + (L - mu) scale / |theta| across. Raises
    `DomainError` unless 0 < mu <= L and `scale` > 0.
    """

    @property
    def minimiser(self) -> Float[np.ndarray, " d"]:
        """The origin."""
        return np.zeros(self.dimension)

    def suboptimality(self, theta: Float[np.ndarray, "n *shape d"]) -> Float[np.ndarray, " n *shape"]:
        """F - F*."""
        squares = squared_norm(theta)
        excess = np.maximum(np.sqrt(squares) - self.scale, 0.0)
        return 0.5 * self.L * squares - 0.5 * (self.L - self.mu) * excess**2

    def gradient(self, theta: Float[np.ndarray, "n *shape d"]) -> Float[np.ndarray, "n *shape d"]:
        """mu theta + (L - mu) theta min(1, scale / |theta|)."""
        norms = np.sqrt(squared_norm(theta))[..., None]
        return (self.mu + (self.L - self.mu) * self.scale / np.maximum(norms, self.scale)) * theta


@dataclass(frozen=True, kw_only=True)
class _Design(_Ranged):
    """F(theta) = L scale^2 F_1(theta / scale), F_1(x) = (1 - mu / L) phi(A x) + mu / (2 L) |x|^2, A drawn from `seed`.

    A is scaled so that the Hessian of phi(A x) has supremum 1 and infimum 0 over all x.
    """

    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        count("seed", self.seed, least=0)
        count("dimension", self.dimension, most=LARGEST_DESIGN)

    @abstractmethod
    def _drawn(self, generator: np.random.Generator) -> np.ndarray:
        """A."""

    @abstractmethod
    def _phi(self, margins: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def _phi_gradient(self, margins: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def _phi_hessian(self, margins: np.ndarray) -> np.ndarray:
        """For one vector of margins."""

    @cached_property
    def design(self) -> Float[np.ndarray, "rows d"]:
        """A."""
        return self._drawn(np.random.default_rng(self.seed))

    @property
    def minimiser(self) -> Float[np.ndarray, " d"]:
        """theta*, by Newton's method to 1e-12 of scale + |theta*|; raises `AccuracyError` if it stalls above."""
        return self.scale * self._unit_minimiser

    @cached_property
    def _unit_minimiser(self) -> np.ndarray:
        return _newton(self._unit, self._unit_gradient, self._unit_hessian, np.zeros(self.dimension))

    def suboptimality(self, theta: Float[np.ndarray, "n *shape d"]) -> Float[np.ndarray, " n *shape"]:
        """F - F*, to rounding of F."""
        return self.L * self.scale**2 * (self._unit(theta / self.scale) - self._unit(self._unit_minimiser))

    def gradient(self, theta: Float[np.ndarray, "n *shape d"]) -> Float[np.ndarray, "n *shape d"]:
        """L scale grad F_1(theta / scale)."""
        return self.L * self.scale * self._unit_gradient(theta / self.scale)

    @property
    def _ridge(self) -> float:
        return self.mu / self.L

    def _unit(self, x: np.ndarray) -> np.ndarray:
        return (1.0 - self._ridge) * self._phi(x @ self.design.T) + 0.5 * self._ridge * squared_norm(x)

    def _unit_gradient(self, x: np.ndarray) -> np.ndarray:
        return (1.0 - self._ridge) * (self._phi_gradient(x @ self.design.T) @ self.design) + self._ridge * x

    def _unit_hessian(self, x: np.ndarray) -> np.ndarray:
        inner = self.design.T @ self._phi_hessian(self.design @ x) @ self.design
        return (1.0 - self._ridge) * inner + self._ridge * np.eye(len(x))


@dataclass(frozen=True, kw_only=True)
class Logistic(_Design):
    """Logistic regression on `samples` fixed examples, with a ridge.

    F(theta) = L scale^2 F_1(theta / scale), F_1(x) = (1 - mu / L) mean_i log(1 + exp(-y_i <a_i, x>)) + mu / (2 L)
    |x|^2. The rows y_i a_i are Gaussian, drawn from `seed`, scaled to lambda_max(A^T A / samples) = 4: L is the largest
    curvature at theta = 0 and, log(1 + exp) having none above 1/4, anywhere; mu is approached far away. Raises
    `DomainError` for values outside their ranges.
    """

    samples: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        count("samples", self.samples, most=LARGEST_DESIGN)

    def _drawn(self, generator: np.random.Generator) -> np.ndarray:
        rows = generator.standard_normal((self.samples, self.dimension))
        return rows * (2.0 * np.sqrt(self.samples) / np.linalg.norm(rows, 2))

    def _phi(self, margins: np.ndarray) -> np.ndarray:
        return np.logaddexp(0.0, -margins).mean(axis=-1)

    def _phi_gradient(self, margins: np.ndarray) -> np.ndarray:
        return -special.expit(-margins) / self.samples

    def _phi_hessian(self, margins: np.ndarray) -> np.ndarray:
        return np.diag(special.expit(margins) * special.expit(-margins) / self.samples)


@dataclass(frozen=True, kw_only=True)
class LogSumExp(_Design):
    """F(theta) = L scale^2 F_1(theta / scale), F_1(x) = (1 - mu / L) log sum_k exp(<a_k, x>) + mu / (2 L) |x|^2.

    The a_k are the d + 1 vertices of a random simplex, drawn from `seed`. The Hessian of the first term is (1 - mu / L)
    times the covariance of a_k under the softmax weights. All positive weights occur, the vertices being affinely
    independent, so the supremum of its eigenvalues is max_{k, l} |a_k - a_l|^2 / 4 (Popoviciu; two vertices at 1/2
    each), scaled to 1; it is approached far away, and so is the ridge mu. Raises `DomainError` for values outside their
    ranges.
    """

    def _drawn(self, generator: np.random.Generator) -> np.ndarray:
        vertices = generator.standard_normal((self.dimension + 1, self.dimension))
        squares = np.sum((vertices[:, None] - vertices) ** 2, axis=-1)
        return vertices * (2.0 / np.sqrt(squares.max()))

    def _phi(self, margins: np.ndarray) -> np.ndarray:
        return np.asarray(special.logsumexp(margins, axis=-1))

    def _phi_gradient(self, margins: np.ndarray) -> np.ndarray:
        return special.softmax(margins, axis=-1)

    def _phi_hessian(self, margins: np.ndarray) -> np.ndarray:
        weights = special.softmax(margins)
        return np.diag(weights) - np.outer(weights, weights)


def check_range(mu: float, L: float) -> None:
    """Raises `DomainError` unless 0 < mu <= L."""
    if positive("L", L) < positive("mu", mu):
        raise DomainError("mu", mu, f"at most L = {float(L):g}")


def squared_norm(theta: np.ndarray) -> np.ndarray:
    """|theta|^2 over the last axis; `np.sum` is several times slower on an axis of length 1."""
    return np.einsum("...d,...d->...", theta, theta)


def _newton(function, gradient, hessian, start: np.ndarray) -> np.ndarray:
    """A trust region finds the region of quadratic convergence, plain Newton steps the last digits."""
    from scipy import optimize

    x = optimize.minimize(function, start, jac=gradient, hess=hessian, method="trust-exact", options={"gtol": 1e-6}).x
    step = np.full_like(x, np.inf)
    for _ in range(4):
        step = np.linalg.solve(hessian(x), gradient(x))
        x = x - step
    if not np.linalg.norm(step) <= MINIMISER * (1.0 + np.linalg.norm(x)):
        raise AccuracyError(f"Newton's last step is {np.linalg.norm(step):.2g}: no minimiser to {MINIMISER:g}")
    return x
