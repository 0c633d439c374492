"""The estimate from messages solves (1 / m) sum_j s_j x_j M(<x_j, w>) = A^-1 (mean message): a convex problem.

s_j = 1 / max(R, ||A x_j||), so that the Hessian sum_j s_j M' x_j x_j^T is symmetric. Newton's steps are cut where some
|<x_j, step>| is above 2 and above half the largest |<x_j, w>|, and shortened until the function falls along them. A
root exists if and only if b = A^-1 (mean message) satisfies <b, v> < end * mean of s_j |<x_j, v>| for all v != 0; while
iterates run away, their direction is tried as a v that does not.

>>> public = np.array([[1.0, 0.2], [-0.3, 1.0], [0.5, -1.0], [-1.0, -0.4]])
>>> h = public / np.linalg.norm(public, axis=1)[:, None]
>>> mean = h.T @ (2 / (1 + np.exp(-public @ [1.0, -0.5])) - 1) / 4
>>> found = solve(mean, public, "logistic")
>>> found.w.round(6).tolist(), found.exists
([1.0, -0.5], True)
>>> solve(3 * mean, public, "logistic").exists
False
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.errors import AccuracyError, DomainError, nonnegative, real_array, vector
from dpbounds.glm.links import Link
from dpbounds.glm.messages.errors import coordinates
from dpbounds.glm.messages.labels import ScoredLabels, scored
from dpbounds.glm.messages.quadrature import DirectionMeans
from dpbounds.glm.scale import positive_definite

# Steps, the longest step in z, and how small the equation's residual must be relative to the length of b.
MOST_STEPS, LONGEST, TOLERANCE = 500, 2.0, 1e-9
# A part of many public records is solved first, one in SHARE while that leaves PART, and its Hessian serves as long as
# it divides the residual by 2.
PART, SHARE, GAIN = 4096, 8, 0.5


@dataclass(frozen=True, kw_only=True, eq=False)
class Solution:
    """What the mean message says of w.

    - `w`: (p,), nan where no root exists; `exists`: whether it does;
    - `witness`: where none does, a unit v with <b, v> >= end * mean of s |<x, v>|; `margin`: the least of (end * mean
      of s |<x, v>| - <b, v>) / ||b|| over the directions tried, at most 0 without a root;
    - `steps`: of Newton; `residual`: of the equation relative to b.
    """

    w: np.ndarray
    exists: bool
    witness: np.ndarray | None
    margin: float
    steps: int
    residual: float


@typed
def solve(
    mean_message: Any,
    public: Any,
    link: Link | str,
    *,
    matrix: Any = None,
    radius: float = 0.0,
    label_bound: float | None = None,
    weights: Any = None,
) -> Solution:
    """The root w for a mean message (p,) and public records (m, p).

    `matrix` A (default I), `radius` and `label_bound` as the messages were made; `weights` (m,): of the public records,
    such as those of a quadrature where the law of x is known. Records of length 0 say nothing. Raises `DomainError` for
    shapes that do not fit, public records that do not span R^p, a singular A, and `AccuracyError` where neither a root
    nor a proof that there is none was found.
    """
    labels = scored(link, label_bound)
    mean = vector("mean_message", mean_message)
    x = real_array("public", public)
    p = len(mean)
    if x.ndim != 2 or x.shape[1] != p or not len(x) or not np.all(np.isfinite(x)):
        raise DomainError("public", f"an array of shape {x.shape}", f"finite numbers of shape (m, {p})")
    a = np.eye(p) if matrix is None else real_array("matrix", matrix)
    if a.shape != (p, p) or not np.all(np.isfinite(a)) or not np.linalg.cond(a) < 1e12:
        raise DomainError("matrix", f"an array of shape {a.shape}", f"a regular matrix of shape {(p, p)}")
    shares = np.full(len(x), 1.0 / len(x)) if weights is None else vector("weights", weights)
    if shares.shape != (len(x),) or not np.all(shares >= 0) or not shares.sum() > 0:
        raise DomainError("weights", f"an array of shape {shares.shape}", f"{len(x)} numbers of at least 0, not all 0")
    lengths = np.linalg.norm(x if matrix is None else x @ a.T, axis=1)
    lengths = np.maximum(lengths, nonnegative("radius", radius))
    shares = np.where(lengths > 0, shares / np.where(lengths > 0, lengths, 1.0), 0.0) / (
        1.0 if weights is None else float(shares.sum())
    )
    equation = _Equation(x=x, shares=shares, b=np.linalg.solve(a, mean), labels=labels)
    return _solved(equation)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Equation:
    """Sum_j shares_j x_j M(<x_j, w>) = b."""

    x: np.ndarray
    shares: np.ndarray
    b: np.ndarray
    labels: ScoredLabels

    def gradient(self, z: np.ndarray) -> np.ndarray:
        return (self.shares * self.labels.mean(z)) @ self.x - self.b

    def hessian(self, z: np.ndarray) -> np.ndarray:
        return (self.x.T * (self.shares * self.labels.slope(z))) @ self.x

    def margin(self, w: np.ndarray, z: np.ndarray) -> float:
        """(end * mean of s |<x, v>| - <b, v>) / ||b|| for v = w / ||w||."""
        size = float(np.linalg.norm(w) * np.linalg.norm(self.b))
        return (self.labels.end * float(self.shares @ np.abs(z)) - float(self.b @ w)) / size if size else math.inf

    @property
    def spans(self) -> bool:
        """Whether the records span R^p."""
        values = np.linalg.eigvalsh((self.x.T * self.shares) @ self.x)
        return bool(values[0] > 1e-13 * values[-1])

    @property
    def part(self) -> _Equation:
        """The same with every k-th public record."""
        stride = min(-(-len(self.x) // PART), SHARE)
        shares = self.shares[::stride]
        total = float(shares.sum())
        scale = float(self.shares.sum()) / total if total else 1.0
        return _Equation(x=self.x[::stride], shares=shares * scale, b=self.b, labels=self.labels)


@typed
def solve_known(
    mean_message: Any,
    covariance: Float[np.ndarray, "p p"],
    link: Link | str,
    *,
    matrix: Any = None,
    label_bound: float | None = None,
) -> Solution:
    """The root w of E[h(x) M(<x, w>)] = mean message (p,) where x ~ N(0, `covariance`) is known: m = inf.

    Expectations by quadrature (`DirectionMeans`), in coordinates in which Sigma = I, as `margin` is. `matrix` A
    (default I) and `label_bound` as the messages were made, with R = 0. Raises as `solve`.
    """
    labels, mean = scored(link, label_bound), vector("mean_message", mean_message)
    covariance = positive_definite("covariance", covariance, len(mean))
    left, lengths, root = coordinates(covariance, np.eye(len(mean)) if matrix is None else matrix)
    equation = _Known(b=left.T @ mean / lengths, labels=labels, lengths=lengths)
    found = _newton(equation, np.zeros(len(mean)))
    w, witness = (None if v is None else np.linalg.solve(root.T, v) for v in (found.w, found.witness))
    return replace(found, w=w, witness=None if witness is None else witness / np.linalg.norm(witness))


class _Known:
    """E[y M(<y, v>) / r] = b at z = v, for standard normal y."""

    def __init__(self, *, b: np.ndarray, labels: ScoredLabels, lengths: np.ndarray) -> None:
        self.x, self.b, self._labels, self._lengths = np.eye(len(b)), b, labels, lengths
        self._last: tuple[np.ndarray, DirectionMeans] | None = None

    def _at(self, v: np.ndarray) -> DirectionMeans:
        if self._last is None or self._last[0] is not v:
            self._last = v, DirectionMeans(self._labels, v, self._lengths)
        return self._last[1]

    def gradient(self, z: np.ndarray) -> np.ndarray:
        return self._at(z).first - self.b

    def hessian(self, z: np.ndarray) -> np.ndarray:
        means = self._at(z)
        return means.squares(means.slope, means.once)

    def margin(self, w: np.ndarray, z: np.ndarray) -> float:
        size = float(np.linalg.norm(self.b))
        along = float(self.b @ w) / float(np.linalg.norm(w))
        return (self._labels.end * self._at(z).absolute - along) / size if size else math.inf


def _solved(equation: _Equation) -> Solution:
    if len(equation.x) > 2 * PART:
        part = equation.part
        if part.spans:
            first = _solved(part)
            if first.exists:
                return _newton(equation, first.w, part.hessian(part.x @ first.w))
    if not equation.spans:
        raise DomainError(
            "public", f"{len(equation.x)} records", f"records that span all {len(equation.b)} coordinates"
        )
    return _newton(equation, np.zeros(len(equation.b)))


def _newton(equation: _Equation | _Known, w: np.ndarray, hessian: np.ndarray | None = None) -> Solution:
    """Newton's method from w; a given Hessian is kept while it does."""
    size = float(np.linalg.norm(equation.b))
    target = TOLERANCE * max(size, 1e-30)
    z = equation.x @ w
    gradient = equation.gradient(z)
    margin = math.inf
    for step in range(MOST_STEPS):
        residual = float(np.linalg.norm(gradient))
        if residual <= target:
            return Solution(
                w=w, exists=True, witness=None, margin=margin, steps=step, residual=residual / max(size, 1e-30)
            )
        if np.any(w):
            here = equation.margin(w, z)
            margin = min(margin, here)
            if here <= 0:
                return _none(w, margin, step, residual / size)
        fresh = hessian is None
        direction = _direction(equation.hessian(z) if hessian is None else hessian, gradient)
        along = equation.x @ direction
        longest = float(np.max(np.abs(along)))
        length = min(1.0, max(LONGEST, 0.5 * float(np.max(np.abs(z)))) / longest)
        slope = float(gradient @ direction)
        while True:
            moved = z + length * along
            new = equation.gradient(moved)
            if float(new @ direction) <= -GAIN * slope or length < 1e-8:
                break
            length /= 2.0
        if not fresh and float(np.linalg.norm(new)) > GAIN * residual:
            hessian = None
            continue
        w, z, gradient = w + length * direction, moved, new
    raise AccuracyError(
        f"no root and no proof that there is none after {MOST_STEPS} steps: residual {residual / size:.3g}"
    )


def _direction(hessian: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """Newton's step; `AccuracyError` where far out slopes leave nothing of the Hessian in floats."""
    try:
        direction = -np.linalg.solve(hessian, gradient)
    except np.linalg.LinAlgError:
        direction = np.full(len(gradient), math.nan)
    if not np.all(np.isfinite(direction)):
        raise AccuracyError(
            "the Hessian of the messages' equation is singular in floats: the public records are too few, or the mean "
            "message is so near the longest possible that slopes vanish"
        )
    return direction


def _none(w: np.ndarray, margin: float, steps: int, residual: float) -> Solution:
    return Solution(
        w=np.full(len(w), math.nan),
        exists=False,
        witness=w / np.linalg.norm(w),
        margin=margin,
        steps=steps,
        residual=residual,
    )
