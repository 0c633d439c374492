"""A chain of storage functions: its program, which is a banded one, and its proof in exact fractions.

Link t has variables v = (s_t, gradients) and asks for

    (following v)' P_{t+1} (following v) - s_t' P_t s_t + judged + sum lambda_ij I_ij <= 0,

with gamma_{t+1,k+1} - gamma_{t,k} + omega_t (at the point that is judged) + (lambda from the point - lambda to it) = 0
for each point; the last link has nothing that follows. Clarabel solves it, entries of P, gamma and lambda as unknowns.

>>> _rounded(np.array([0.25, 1.0 / 3.0]))[0]
1/4
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dpbounds.circle.polynomials import exact
from dpbounds.errors import AccuracyError
from dpbounds.ftrl.methods.fractions import in_fractions, positive_definite, product
from dpbounds.ftrl.methods.loops import Point, symmetric
from dpbounds.ftrl.methods.triangles import coefficients, quadratics, square, triangle, upper

# Accuracy asked of the solver, by how much the inequalities are strict in the units of the program (the first that
# leaves a proof is taken), and the grid of the multipliers.
TOLERANCE, MARGINS, GRID = 1e-10, (1e-8, 1e-7, 1e-6, 1e-5), 2.0**-42


@dataclass(frozen=True, eq=False)
class Link:
    """One step of the chain; rows are over v, `incoming` is the length of s_t; `before` and `after` are the units of v
    and of s_{t+1}.
    """

    following: np.ndarray
    draw: np.ndarray
    incoming: int
    points: tuple[Point, ...]
    judged: np.ndarray
    weight: float
    smoothness: Any
    before: np.ndarray
    after: np.ndarray

    @property
    def width(self) -> int:
        """Of v."""
        return len(self.judged)

    @cached_property
    def pairs(self) -> tuple[tuple[Point, Point], ...]:
        """All ordered pairs of points."""
        return tuple((i, j) for i in self.points for j in self.points if i is not j)

    @cached_property
    def forms(self) -> tuple[np.ndarray, ...]:
        """The quadratic parts of I_ij."""
        found = []
        for i, j in self.pairs:
            slopes = i.slope - j.slope
            found.append(-symmetric(j.slope, i.place - j.place) - np.outer(slopes, slopes) / (2 * self.smoothness))
        return tuple(found)

    @cached_property
    def balanced(self) -> tuple[Point, ...]:
        """The points whose phi's must cancel: all but theta*."""
        return tuple(point for point in self.points if point.kind)

    @property
    def held(self) -> int:
        """Past points whose phi's V_t has."""
        return max((point.lag for point in self.points), default=0)

    @property
    def at(self) -> Point | None:
        """The point that is judged: x where it has a gradient of its own, else y."""
        own = [point for point in self.points if point.kind == "x"]
        return own[0] if own else next((point for point in self.points if point.kind and point.lag == 0), None)


@dataclass(frozen=True, eq=False)
class Chain:
    """The links of all steps, and the end; `unit` is that of the value."""

    links: tuple[Link, ...]
    end: Link
    unit: float

    @property
    def all(self) -> tuple[Link, ...]:
        """With the end."""
        return (*self.links, self.end)


@dataclass(frozen=True, eq=False)
class LinkProof:
    """What a link is proved with: P_t, gamma_t and the multipliers."""

    P: np.ndarray
    gamma: np.ndarray
    multipliers: np.ndarray


@dataclass(frozen=True, eq=False)
class Found:
    """A `LinkProof` for each link, and the value."""

    parts: tuple[LinkProof, ...]
    value: float


@dataclass(frozen=True, eq=False)
class _Block:
    """Matrices of a link in its units, as columns of upper triangles: by P_{t+1}, P_t, lambda, and the constant."""

    following: np.ndarray
    incoming: np.ndarray
    multipliers: np.ndarray
    judged: np.ndarray


def solved(chain: Chain, squared: float, variance: float, margin: float = MARGINS[0]) -> Found:
    """The least V_0 + N sum draw' P draw, V_0 = tau `squared`; the inequalities strict by `margin`.

    `AccuracyError` where the solver finds none.
    """
    import clarabel as solvers
    from scipy.sparse import csc_matrix

    clarabel: Any = solvers  # a compiled module without types
    links, blocks = chain.all, {id(link): _block(link, chain.unit) for link in chain.all}
    sizes = [(triangle(link.incoming), link.held, len(link.pairs)) for link in links]
    starts = np.concatenate([[0], np.cumsum([sum(size) for size in sizes])])
    triplets, right, cones = _Triplets(), [], []
    for t, (link, (squares, _, _)) in enumerate(zip(links, sizes, strict=True)):  # the phi's
        for point in link.balanced:
            row = len(right)
            signs = [float((i is point) - (j is point)) for i, j in link.pairs]
            triplets.add(row, starts[t] + squares + sizes[t][1], np.array([signs]))
            if point.lag:
                triplets.add(row, starts[t] + squares + point.lag - 1, np.array([[-1.0]]))
            if point.kind == "y" and t + 1 < len(links) and point.lag < sizes[t + 1][1]:
                triplets.add(row, starts[t + 1] + sizes[t + 1][0] + point.lag, np.array([[1.0]]))
            right.append(-link.weight if point is link.at else 0.0)
    cones.append(clarabel.ZeroConeT(len(right)))
    signed = len(right)
    for t, (squares, held, pairs) in enumerate(sizes):
        triplets.add(len(right), starts[t] + squares + held, -np.eye(pairs))
        right += [0.0] * pairs
    triplets.add(len(right), 0, np.array([[-1.0]]))  # tau
    right.append(0.0)
    cones.append(clarabel.NonnegativeConeT(len(right) - signed))
    for t, (link, (squares, held, _)) in enumerate(zip(links, sizes, strict=True)):
        block, row = blocks[id(link)], len(right)
        triplets.add(row, starts[t], block.incoming)
        triplets.add(row, starts[t] + squares + held, block.multipliers)
        triplets.add(row, starts[t + 1], block.following)  # of the end nothing
        right += (-block.judged - margin * upper(np.eye(link.width))).tolist()
        cones.append(clarabel.PSDTriangleConeT(link.width))
    cost = np.zeros(starts[-1])
    cost[0] = squared / links[0].before[0] ** 2
    for t, link in enumerate(chain.links):
        draw = link.draw / link.after
        cost[starts[t + 1] : starts[t + 1] + sizes[t + 1][0]] += variance * coefficients(draw)
    height = float(np.abs(cost).max())
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.max_threads = False, 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = TOLERANCE
    shape = (len(right), int(starts[-1]))
    A = csc_matrix((triplets.values, (triplets.rows, triplets.columns)), shape=shape)
    nothing = csc_matrix((shape[1], shape[1]))
    answer = clarabel.DefaultSolver(nothing, cost / height, A, np.array(right), cones, settings).solve()
    if str(answer.status) not in ("Solved", "AlmostSolved"):
        raise AccuracyError(
            f"chain of storage functions: the solver ended with {answer.status}; the method may diverge on the class: "
            "take smaller steps, fewer of them, or another window"
        )
    x, parts = np.array(answer.x), []
    for start, (squares, held, _), end, link in zip(starts, sizes, starts[1:], links, strict=False):
        P = square(x[start : start + squares], link.incoming)
        scale = link.before[: link.incoming]
        gamma = x[start + squares : start + squares + held]
        multipliers = np.maximum(x[start + squares + held : end], 0.0)
        parts.append(LinkProof(P * chain.unit / np.outer(scale, scale), gamma, multipliers))
    return Found(tuple(parts), float(cost @ x) * chain.unit)


def proved(chain: Chain, found: Found, squared: Any, variance: Any) -> Any:
    """The value of what was found, as a fraction, with the phi's balanced exactly; `chain` is in fractions.

    `AccuracyError` where an inequality is not shown.
    """
    links, total = chain.all, exact(0.0)
    squares = [in_fractions(part.P) for part in found.parts]
    gammas = [_rounded(part.gamma) for part in found.parts]
    for t, (link, part) in enumerate(zip(links, found.parts, strict=True)):
        ahead = gammas[t + 1] if t + 1 < len(links) else []
        weights = _balanced(link, _rounded(part.multipliers), gammas[t], ahead)
        form = link.judged.copy()
        form[: link.incoming, : link.incoming] -= squares[t]
        for weight, interpolation in zip(weights, link.forms, strict=True):
            if weight != 0:
                form = form + weight * interpolation
        if t + 1 < len(links):
            form = form + product(link.following.T, squares[t + 1], link.following)
            total = total + variance * (link.draw @ squares[t + 1] @ link.draw)
        if not positive_definite(-form):
            raise AccuracyError(
                f"chain of storage functions: its inequality at step {t} is not shown; try another window"
            )
    tau = squares[0][0, 0]
    if tau < 0:
        raise AccuracyError("chain of storage functions: nothing is bounded, V_0 falls with the distance")
    return total + squared * tau


def _balanced(link: Link, weights: list[Any], gamma: list[Any], ahead: list[Any]) -> list[Any]:
    """What is missing at each point is added to its pair with theta*."""
    places = {(id(i), id(j)): k for k, (i, j) in enumerate(link.pairs)}
    star = next(point for point in link.points if not point.kind)
    given = list(weights)
    for point in link.balanced:
        total = exact(link.weight if point is link.at else 0.0) - (gamma[point.lag - 1] if point.lag else 0)
        if point.kind == "y" and point.lag < len(ahead):
            total += ahead[point.lag]
        for (i, j), weight in zip(link.pairs, given, strict=True):
            total += weight * ((i is point) - (j is point))
        weights[places[(id(star), id(point)) if total > 0 else (id(point), id(star))]] += abs(total)
    return weights


def _rounded(values: np.ndarray) -> list[Any]:
    return [exact(float(x)) for x in np.round(values / GRID) * GRID]


def _block(link: Link, unit: float) -> _Block:
    scale = link.before
    rows = link.following * scale / link.after[:, None]
    state = np.eye(link.incoming, link.width)
    forms = [upper(form * np.outer(scale, scale) / unit) for form in link.forms]
    return _Block(
        following=quadratics(rows),
        incoming=-quadratics(state),
        multipliers=np.array(forms).T,
        judged=upper(link.judged * np.outer(scale, scale) / unit),
    )


class _Triplets:
    """Entries of a sparse matrix."""

    def __init__(self) -> None:
        self.rows: list[int] = []
        self.columns: list[int] = []
        self.values: list[float] = []

    def add(self, row: int, column: int, block: np.ndarray) -> None:
        """A dense block whose first entry is there."""
        down, across = np.nonzero(block)
        self.rows += (down + row).tolist()
        self.columns += (across + column).tolist()
        self.values += block[down, across].tolist()
