"""A method, its noise and the last few gradients as one linear system, and the inequalities between them.

With theta* = 0, p = grad F(y) - mu y and phi = F - F* - (mu / 2) |.|^2, which is convex and (L - mu)-smooth and has the
gradient p, the state is s = (xi, z, q_1..q_T, p_1..p_T): q_k = y_{t-k} - y_t, p_k = p at y_{t-k}. Where F is judged at
x other than y, x_{t-k} - x_t and their p follow. The inputs are p at y_t and, there, p at x_t. Differences from step to
step, s_{t+1} - s_t, are what is stored: at small steps they are the small numbers.

Two points i, j of the trajectory, or a point and theta*, satisfy (interpolation of convex smooth functions)

    I_ij = phi_i - phi_j - <p_j, x_i - x_j> - |p_i - p_j|^2 / (2 (L - mu)) >= 0.

All is computed in floats or in exact fractions, by the same lines.

>>> from dpbounds.ftrl.methods.linear import gradient_descent
>>> from dpbounds.ftrl.methods.noises import noise_system
>>> from dpbounds.ftrl.correlations import independent
>>> loop = Loop.of(gradient_descent(eta=0.5), noise_system(independent(), float), 0.1, 1.0, 0, float)
>>> loop.step.tolist(), loop.draw.tolist()  # theta' - theta = -0.05 theta - 0.5 p - 0.5 e
([[-0.05, -0.5]], [-0.5])
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dpbounds.errors import DomainError
from dpbounds.ftrl.methods.fractions import product
from dpbounds.ftrl.methods.linear import LinearMethod
from dpbounds.ftrl.methods.noises import NoiseSystem, Number, array_of, zeros_of

Measure = Literal["f", "distance", "gradient"]

# Entries of the state: a second or two for the program.
LARGEST = 40


@dataclass(frozen=True, eq=False)
class Point:
    """A point of the trajectory: rows, over state and inputs, of its place and of p; its kind, "y" or "x", and lag."""

    place: np.ndarray
    slope: np.ndarray
    kind: str
    lag: int


@dataclass(frozen=True, eq=False)
class Loop:
    """s_{t+1} - s_t = `step` (s, inputs) + `draw` e + `error` n, e the newest draw, n an error of the gradient.

    `points` are those of the trajectory, and theta*, whose rows are 0 (kind ""); `y`, `x`, `slope` are rows: of y_t,
    of the output, of grad F(y_t); `smoothness` is L - mu.
    """

    step: np.ndarray
    draw: np.ndarray
    error: np.ndarray
    points: tuple[Point, ...]
    y: np.ndarray
    x: np.ndarray
    slope: np.ndarray
    mu: Any
    smoothness: Any
    number: Number

    @classmethod
    def of(
        cls,
        method: LinearMethod,
        noise: NoiseSystem,
        mu: float,
        L: float,
        memory: int,
        number: Number,
        *,
        own_slope: bool = False,
        following: LinearMethod | None = None,
    ) -> Loop:
        """The loop with `memory` past points; `own_slope` gives the output a gradient of its own. `following` is the
        method of the next step, whose points those of this step are held against, where it is another.
        """
        n, K, T = len(method.A), noise.memory, memory
        kinds = ("y", "x") if own_slope else ("y",)
        size = n + K + 2 * T * len(kinds)
        if size > LARGEST:
            allowed = f"a method, noise and memory with at most {LARGEST} numbers of state"
            raise DomainError("memory", f"{T}, with {size} numbers of state", allowed, "take a smaller memory")
        width = size + len(kinds)
        low, high = number(mu), number(L)
        after = following or method
        A, B, C, row, next_C, next_row = (
            array_of([number(float(x)) for x in part.ravel()], number).reshape(part.shape)
            for part in (method.A, method.B, method.C, method.row, after.C, after.row)
        )

        def unit(k: int) -> np.ndarray:
            found = zeros_of(width, number)
            found[k] = number(1.0)
            return found

        def on_state(values: np.ndarray, start: int = 0) -> np.ndarray:
            found = zeros_of(width, number)
            found[start : start + len(values)] = values
            return found

        y, x = on_state(C), on_state(row)
        slope = low * y + unit(size)
        pushed = slope + on_state(noise.c, n)
        step, draw, error = zeros_of((size, width), number), zeros_of(size, number), zeros_of(size, number)
        for i in range(n):
            step[i] = on_state(A[i]) - unit(i) + B[i] * pushed
            draw[i], error[i] = B[i] * noise.d, B[i]
        for k in range(K):
            step[n + k] = on_state(noise.A[k], n) - unit(n + k)
            draw[n + k] = noise.b[k]
        points = [Point(zeros_of(width, number), zeros_of(width, number), "", 0)]
        for index, (kind, place, ahead) in enumerate(zip(kinds, (y, x), (next_C, next_row), strict=False)):
            start = n + K + 2 * T * index
            moved = sum((ahead[i] * step[i] for i in range(n)), on_state(ahead) - place)
            points.append(Point(place, unit(size + index), kind, 0))
            for k in range(T):
                # q_1' = -(y_{t+1} - y_t) and q_{k+1}' = q_k - (y_{t+1} - y_t); p moves on
                now, before = start + k, start + k - 1
                step[now] = (unit(before) if k else zeros_of(width, number)) - moved - unit(now)
                draw[now], error[now] = -(ahead @ draw[:n]), -(ahead @ B)
                step[now + T] = (unit(before + T) if k else unit(size + index)) - unit(now + T)
                points.append(Point(place + unit(now), unit(now + T), kind, k + 1))
        return cls(step, draw, error, tuple(points), y, x, slope, low, high - low, number)

    @property
    def size(self) -> int:
        """Of the state."""
        return len(self.draw)

    @property
    def width(self) -> int:
        """Of state and inputs together."""
        return self.step.shape[1]

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of points beside theta*."""
        return ("y", "x") if self.width - self.size == 2 else ("y",)

    def pairs(self) -> list[tuple[Point, Point]]:
        """All ordered pairs of which one is at the present: the others are the same, a step before."""
        return [
            (i, j)
            for i in self.points
            for j in self.points
            if i is not j and min((point.lag for point in (i, j) if point.kind), default=1) == 0
        ]

    def past_pairs(self) -> list[tuple[Point, Point]]:
        """All ordered pairs of past points of y, and theta*."""
        known = [point for point in self.points if point.kind == "" or (point.kind == "y" and point.lag)]
        return [(i, j) for i in known for j in known if i is not j]

    def interpolation(self, i: Point, j: Point) -> np.ndarray:
        """The quadratic part of I_ij, without phi_i - phi_j."""
        apart, slopes = i.place - j.place, i.slope - j.slope
        return -symmetric(j.slope, apart) - np.outer(slopes, slopes) / (2 * self.smoothness)

    def interpolations(self, pairs: list[tuple[Point, Point]], weights: np.ndarray) -> np.ndarray:
        """The weighted sum of their quadratic parts, by points: far fewer products than one by one."""
        places, slopes = (np.array([getattr(point, name) for point in self.points]) for name in ("place", "slope"))
        at = {id(point): k for k, point in enumerate(self.points)}
        mixed, curved = (zeros_of((len(self.points),) * 2, self.number) for _ in range(2))
        for weight, (i, j) in zip(weights, pairs, strict=True):
            a, b = at[id(i)], at[id(j)]
            mixed[b, b] += weight
            mixed[b, a] -= weight
            for k in (a, b):
                curved[k, k] += weight
                curved[k, a + b - k] -= weight
        crossed = product(slopes.T, mixed, places)
        return (crossed + crossed.T) / 2 - product(slopes.T, curved, slopes) / (2 * self.smoothness)

    def measure(self, name: Measure) -> np.ndarray:
        """The quadratic part of what is judged: (mu / 2) |x|^2 of F, |x|^2, or |grad F|^2 at y, or at x with a gradient
        of its own.
        """
        if name == "gradient":
            own = self.mu * self.x + self.points[-1 - self.memory].slope
            slope = own if len(self.kinds) == 2 else self.slope
            return np.outer(slope, slope)
        return np.outer(self.x, self.x) * (self.mu / 2 if name == "f" else self.number(1.0))

    @property
    def memory(self) -> int:
        """Past points that are kept of each kind."""
        return (len(self.points) - 1) // len(self.kinds) - 1

    def growth(self, P: np.ndarray) -> np.ndarray:
        """The quadratic form of V(s_{t+1}) - V(s_t) for V = s' P s, without draws."""
        mixed = zeros_of((self.width, self.width), self.number)
        mixed[: self.size] = moved = product(P, self.step)
        return mixed + mixed.T + product(self.step.T, moved)


def symmetric(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The matrix of <a, v> <b, v>."""
    product = np.outer(a, b)
    return (product + product.T) / 2
