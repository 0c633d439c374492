"""Losses whose gradient is piecewise linear, with the exact range of their curvature.

>>> loss = kinked_quadratic(mu=0.5, L=2.0)
>>> loss.mu, loss.L, loss.suboptimality(np.array([[-1.0], [1.0]])).tolist()
(0.5, 2.0, [1.0, 0.25])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, count, nonnegative, real, vector
from simulators.ftrl.losses import check_range, squared_norm

# Crossings of lines closer than this, relative to the largest distance, count as one.
COINCIDENT = 1e-9
# Of kinked quadratics, whose Hessians are held in memory.
LARGEST_DIMENSION = 300


@dataclass(frozen=True, kw_only=True)
class PiecewiseQuadratic:
    """F(theta) = curvature/2 |theta|^2 + 1/2 sum_j weight_j max(<direction_j, theta> - offset_j, 0)^2, minimal at 0.

    Weights of either sign; offsets of at least 0 keep the minimiser. On a line this is every loss with a
    piecewise-linear gradient (`piecewise_quadratic`). Raises `DomainError` for arrays that do not fit together, for
    oblique directions in more than two dimensions (there the range of the curvature is not computed), and for a loss
    that is not strongly convex.
    """

    curvature: float
    directions: tuple[tuple[float, ...], ...]
    offsets: tuple[float, ...]
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        real("curvature", self.curvature)
        a, b, c = self._arrays
        if a.ndim != 2 or len(a) == 0 or not np.all(np.isfinite(a)) or not np.all(a.any(axis=1)):
            raise DomainError("directions", self.directions, "nonzero vectors of one length, at least one")
        for name, values in (("offsets", b), ("weights", c)):
            if len(values) != len(a):
                raise DomainError(name, getattr(self, name), f"{len(a)} numbers, one per direction")
        nonnegative("offsets", b.min(), "else the minimiser is not the origin")
        if self.dimension > 2 and not _axis_parallel(a):
            raise DomainError("directions", self.directions, "multiples of unit vectors in more than two dimensions")
        if not self.mu > 0:
            raise DomainError("weights", self.weights, "such that the smallest curvature is positive")

    @property
    def mu(self) -> float:
        """Smallest curvature."""
        return self._range[0]

    @property
    def L(self) -> float:
        """Largest curvature."""
        return self._range[1]

    @property
    def dimension(self) -> int:
        """d."""
        return len(self.directions[0])

    @property
    def minimiser(self) -> Float[np.ndarray, " d"]:
        """The origin."""
        return np.zeros(self.dimension)

    def suboptimality(self, theta: Float[np.ndarray, "n *shape d"]) -> Float[np.ndarray, " n *shape"]:
        """F - F*."""
        result = self.curvature * squared_norm(theta)
        for a, b, c in zip(*self._arrays, strict=True):
            result += c * _excess(theta, a, b)[..., 0] ** 2
        return 0.5 * result

    def gradient(self, theta: Float[np.ndarray, "n *shape d"]) -> Float[np.ndarray, "n *shape d"]:
        """Gradient of F."""
        result = self.curvature * theta
        for a, b, c in zip(*self._arrays, strict=True):
            result += _excess(theta, a, b) * (c * a)
        return result

    @cached_property
    def _arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        try:
            directions = np.array(self.directions, dtype=float)
        except (TypeError, ValueError, OverflowError):
            raise DomainError("directions", self.directions, "vectors of one length") from None
        return directions, vector("offsets", self.offsets), vector("weights", self.weights)

    @cached_property
    def _range(self) -> tuple[float, float]:
        return curvature_range(self.curvature, *self._arrays)


def curvature_range(
    curvature: float,
    directions: Float[np.ndarray, "ridges d"],
    offsets: Float[np.ndarray, " ridges"],
    weights: Float[np.ndarray, " ridges"],
) -> tuple[float, float]:
    """Smallest and largest eigenvalue of the Hessian, constant on cells, from one point of every cell.

    For the fields of `PiecewiseQuadratic`; in the plane, cells narrower than 1e-9 of their distance count as empty.
    """
    points = _box_centres(directions, offsets) if _axis_parallel(directions) else _cell_points(directions, offsets)
    active = (points @ directions.T > offsets) * weights
    ridges = np.einsum("pj,ji,jk->pik", active, directions, directions)
    eigenvalues = np.linalg.eigvalsh(curvature * np.eye(directions.shape[1]) + ridges)
    return float(eigenvalues.min()), float(eigenvalues.max())


def kinked_quadratic(mu: float, L: float, dimension: int = 1) -> PiecewiseQuadratic:
    """F(theta) = sum_i f(theta_i) with f(x) = mu x^2 / 2 for x > 0 and L x^2 / 2 for x < 0."""
    check_range(mu, L)
    mu, L = float(mu), float(L)
    dimension = count("dimension", dimension, most=LARGEST_DIMENSION)
    axes = tuple(tuple(row) for row in np.eye(dimension).tolist())
    return PiecewiseQuadratic(curvature=L, directions=axes, offsets=(0.0,) * dimension, weights=(mu - L,) * dimension)


@typed
def piecewise_quadratic(breakpoints: Sequence[float], slopes: Sequence[float]) -> PiecewiseQuadratic:
    """The loss on the line with F'(0) = 0 and F'' = slopes[k] between the increasing breakpoints k - 1 and k.

    There is one slope more than breakpoints; raises `DomainError` otherwise, and for slopes that are not positive.
    """
    edges, h = vector("breakpoints", breakpoints), vector("slopes", slopes, above=0.0)
    if not np.all(np.diff(edges) > 0):
        raise DomainError("breakpoints", edges.tolist(), "increasing numbers")
    if len(h) != len(edges) + 1:
        raise DomainError("slopes", h.tolist(), f"{len(edges) + 1} numbers, one per interval between the breakpoints")
    signs = np.where(edges < 0, -1.0, 1.0)
    return PiecewiseQuadratic(
        curvature=float(h[np.count_nonzero(edges < 0)]),
        directions=tuple((sign,) for sign in signs.tolist()),
        offsets=tuple(np.abs(edges).tolist()),
        weights=tuple((signs * np.diff(h)).tolist()),
    )


def _excess(theta: np.ndarray, direction: np.ndarray, offset: float) -> np.ndarray:
    """max(<direction, theta> - offset, 0) of shape (..., 1): one ridge at a time, several times faster for few."""
    along = theta * direction if len(direction) == 1 else theta @ direction[:, None]
    return np.maximum(along - offset, 0.0)


def _axis_parallel(directions: np.ndarray) -> bool:
    return bool(np.all(np.count_nonzero(directions, axis=1) == 1))


def _box_centres(directions: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Axis-parallel kinks: points whose coordinates run through all intervals of their axis."""
    axes = [_between(offsets[column != 0] / column[column != 0]) for column in directions.T]
    count = max(len(axis) for axis in axes)
    return np.stack([np.resize(axis, count) for axis in axes], axis=1)


def _cell_points(directions: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Lines in the plane: a point on either side of every piece of every line, so at least one in every cell."""
    lengths = np.linalg.norm(directions, axis=1)
    normals, distances = directions / lengths[:, None], offsets / lengths
    points = []
    for normal, distance in zip(normals, distances, strict=True):
        foot, tangent = distance * normal, np.array([-normal[1], normal[0]])
        slopes = normals @ tangent
        crossing = np.abs(slopes) > COINCIDENT
        middles = _between((distances - normals @ foot)[crossing] / slopes[crossing])
        on_line = foot + middles[:, None] * tangent
        gaps = np.abs(on_line @ normals.T - distances)
        nearest = np.where(gaps > COINCIDENT * (1.0 + np.abs(on_line).max()), gaps, np.inf).min(axis=1)
        steps = np.where(np.isfinite(nearest), nearest / 2.0, 1.0)[:, None] * normal
        points += [on_line + steps, on_line - steps]
    return np.concatenate(points)


def _between(edges: np.ndarray) -> np.ndarray:
    """A point in each interval that the edges cut the line into."""
    if len(edges) == 0:
        return np.zeros(1)
    ordered = np.unique(edges)
    return np.concatenate([[ordered[0] - 1.0], (ordered[1:] + ordered[:-1]) / 2.0, [ordered[-1] + 1.0]])
