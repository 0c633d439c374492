"""The circle in cells, for enclosures of integrals in float64: Gauss nodes and discs with proved rounding errors.

Frequencies are omega = 2 arctan(e^y), s = sin^2(omega / 2) = p^2 / (1 + p^2) with p = e^y, cos omega = 1 - 2 s and
sin omega = 1 / cosh y = d omega / dy. Cells are intervals of y whose ends are exact in floats. The integral over a cell
is the Gauss-Legendre sum with the error bound of Bernstein's ellipse (`dpbounds.circle.balls`).

Powers w^t = e^{i t omega} are held as v_t = 1 - cos(t omega) and s_t = sin(t omega), by

    s_{t+1} = s_t (1 - v_1) + (1 - v_t) s_1,    v_{t+1} = v_t - v_t v_1 + v_1 + s_t s_1.

Let v_1 and s_1 be known to the relative error e, u the unit of rounding, and A_t bound the error of (v_t, s_t) as one
complex number. |w| = 1, so each step adds A_1 + 30 u, the second covering twenty roundings of numbers up to 6 in both
parts. Near frequency 0 more is true: |s_t| <= t s_1, 0 <= v_t <= t^2 v_1 and s_1^2 <= 2 v_1 give errors of at most
K_t s_1 and M_t v_1 with

    K_{t+1} = K_t + (2 t + 1) e + A_t + 4 (t + 1) u,
    M_{t+1} = M_t + (2 t^2 + 2 t + 1) e + 2 K_t + 12 (t + 1)^2 u

to first order; a factor 1 + 1e-6 a step covers products of errors, all below 1e-8.

>>> cells = first_cells(4, 4, 1)  # y from -1.5 to 1.5
>>> float(cells.middle[0] - cells.half[0]), float(cells.middle[-1] + cells.half[-1])
(-1.5, 1.5)
>>> first = powers(np.array([0.5]), np.array([1.0]), 2)  # omega = pi / 2
>>> first.versines.tolist(), first.sines.tolist()
([[1.0, 2.0]], [[1.0, 0.0]])
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from dpbounds.circle.discs import SLACK, TINY, UNIT, Discs

# Width of the widest cells, a power of two of it for the others; nodes in a cell and rho of its ellipse.
WIDTH, NODES, RHO = 0.375, 20, 2.6
# Relative error of s, 1 - s and sin(omega), from that of p.
EXPONENTIAL = 8 * UNIT
SECOND_ORDER = 1.0 + 1e-6


@dataclass(frozen=True, eq=False)
class Powers:
    """v_t and s_t at some frequencies, t = 1, ..., lags (rows: frequencies), and their error bounds."""

    versines: np.ndarray
    sines: np.ndarray
    error: np.ndarray
    sine_error: np.ndarray
    versine_error: np.ndarray

    def error_of_sines(self, sizes: np.ndarray, first: np.ndarray) -> np.ndarray:
        """Bound of |sum_t a_t s_t - computed| at the frequencies with s_1 = `first`, for |a_t| = `sizes`, whose own
        relative error is at most 4 u: in products of any order n terms cost n + 4 units of the sum of their sizes.
        """
        n, t = len(sizes), np.arange(1, len(sizes) + 1)
        rounding = (n + 8) * UNIT * sizes
        absolute = float(np.sum(sizes * self.error[:n] + rounding))
        relative = float(np.sum(sizes * self.sine_error[:n] + rounding * t))
        return np.minimum(absolute, relative * first) * SLACK + TINY

    def error_of_versines(self, sizes: np.ndarray, first: np.ndarray) -> np.ndarray:
        """The same of sum_t a_t v_t at the frequencies with v_1 = `first`."""
        n, t = len(sizes), np.arange(1, len(sizes) + 1)
        rounding = (n + 8) * UNIT * sizes
        absolute = float(np.sum(sizes * self.error[:n] + 2.0 * rounding))
        relative = float(np.sum(sizes * self.versine_error[:n] + rounding * t**2))
        return np.minimum(absolute, relative * first) * SLACK + TINY


def powers(s: np.ndarray, sine: np.ndarray, lags: int) -> Powers:
    """By the recursion of the module, from s and sin(omega) with relative errors of at most 2 `EXPONENTIAL`."""
    versines, sines = np.empty((lags, len(s))), np.empty((lags, len(s)))
    first = 2.0 * s
    cosine = 1.0 - first
    versines[0], sines[0] = first, sine
    for t in range(1, lags):
        np.multiply(versines[t - 1], cosine, out=versines[t])
        versines[t] += first
        versines[t] += sines[t - 1] * sine
        np.multiply(sines[t - 1], cosine, out=sines[t])
        sines[t] += (1.0 - versines[t - 1]) * sine
    return Powers(versines.T, sines.T, *_errors(lags))


@lru_cache(maxsize=16)
def _errors(lags: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A_t, K_t and M_t."""
    e = 2.0 * EXPONENTIAL
    absolute, sine, versine = [3.0 * e], [e], [e]
    for t in range(1, lags):
        A, K, M = absolute[-1], sine[-1], versine[-1]
        absolute.append((A + absolute[0] + 30.0 * UNIT) * SECOND_ORDER)
        sine.append((K + (2 * t + 1) * e + A + 4 * (t + 1) * UNIT) * SECOND_ORDER)
        versine.append((M + (2 * t * t + 2 * t + 1) * e + 2.0 * K + 12 * (t + 1) ** 2 * UNIT) * SECOND_ORDER)
    return np.array(absolute), np.array(sine), np.array(versine)


@dataclass(frozen=True, eq=False)
class Points:
    """Frequencies with a disc around each: s, 1 - s and sin(omega) of the frequency itself, the radius of the disc in
    omega, and s (`disc`) and 1 - s (`far`) on all of it. Nodes have discs of no more than rounding, and the radius 0.
    """

    s: Discs
    complement: Discs
    sine: Discs
    radius: np.ndarray
    disc: Discs
    far: Discs
    lags: int

    @cached_property
    def powers(self) -> Powers:
        """Of e^{i omega}, up to `lags`."""
        return powers(self.s.centre, self.sine.centre, self.lags)


@dataclass(frozen=True, eq=False)
class Cells:
    """Intervals of y, given by middle and level (half-width WIDTH / 2^(level + 1)), with Gauss nodes and discs."""

    middle: np.ndarray
    level: np.ndarray
    lags: int

    @cached_property
    def half(self) -> np.ndarray:
        """Half-widths, exact."""
        return np.ldexp(WIDTH / 2.0, -self.level)

    @cached_property
    def _exponential(self) -> np.ndarray:
        """e^middle, to 4 units."""
        import flint

        with flint.ctx.workprec(80):
            return np.array([float(flint.arb(y).exp()) for y in self.middle.tolist()])

    @cached_property
    def nodes(self) -> Points:
        """Gauss nodes, cell by cell."""
        offsets = np.array([_scale(int(level)).offsets for level in range(int(self.level.max(initial=0)) + 1)])
        p = (self._exponential[:, None] * offsets[self.level]).ravel()
        s, complement, sine = _frequencies(p)
        return Points(s, complement, sine, np.zeros(len(p)), s, complement, self.lags)

    @cached_property
    def weights(self) -> np.ndarray:
        """Gauss weights of the nodes, to 2 units."""
        return (self.half[:, None] * _gauss()[1]).ravel()

    @cached_property
    def discs(self) -> Points:
        """The middles, with the discs that hold the cells' ellipses."""
        scales = [_scale(int(level)) for level in range(int(self.level.max(initial=0)) + 1)]
        s, complement, sine = _frequencies(self._exponential)
        growth = np.array([scale.growth for scale in scales])[self.level]
        reach = s.upper() * complement.upper() * growth
        rest = np.maximum(1.0 - s.upper() * growth * SLACK, 1.0 - complement.upper() * growth * SLACK) / SLACK
        spread = np.where(rest > 0, reach / rest * SLACK, np.inf)
        radius = np.array([scale.angle for scale in scales])[self.level] * sine.upper() * SLACK
        return Points(s, complement, sine, radius, s.widened(spread), complement.widened(spread), self.lags)

    @cached_property
    def shrink(self) -> np.ndarray:
        """|cosh| on a disc is at least this times cosh at its middle."""
        scales = [_scale(int(level)) for level in range(int(self.level.max(initial=0)) + 1)]
        return np.array([scale.shrink for scale in scales])[self.level]

    @cached_property
    def measure(self) -> Discs:
        """Weight times sin(omega) of the nodes: their sum with values is the integral over omega."""
        sine = self.nodes.sine
        weighted = Discs(self.weights, 2.0 * UNIT * self.weights) * sine
        return Discs(weighted.centre, weighted.radius)

    def rounded_sum(self, values: Discs, which: np.ndarray) -> tuple[float, float]:
        """The Gauss sums over the cells `which` together, and a bound of the error: products and sums of n nonnegative
        terms in any order cost n + 2 units of their sum.
        """
        weights, slips = self.measure.centre, self.measure.radius
        centre, radius = np.broadcast_arrays(values.centre, values.radius)
        if not which.all():
            chosen = np.repeat(which, NODES)
            weights, slips, centre, radius = weights[chosen], slips[chosen], centre[chosen], radius[chosen]
        sizes = np.abs(centre)
        error = radius @ weights + (sizes + radius) @ slips + (len(weights) + 8) * UNIT * float(sizes @ weights)
        return float(centre @ weights), float(error) * (1.0 + len(weights) * 4.0 * UNIT) * SLACK + TINY

    def halves(self, which: np.ndarray) -> Cells:
        """Both halves of these cells."""
        middle, half, level = self.middle[which], self.half[which], self.level[which] + 1
        return Cells(np.concatenate([middle - half / 2, middle + half / 2]), np.concatenate([level, level]), self.lags)


@lru_cache(maxsize=32)
def first_cells(left: int, right: int, lags: int) -> Cells:
    """Cells from -left to right widths, halved where sums of `lags` harmonics turn within a cell."""
    middles, levels = [], []
    for k in range(-left, right):
        turns = lags * WIDTH / (2.0 * math.cosh(max(abs(k + 0.5) - 0.5, 0.0) * WIDTH)) * TURNS
        level = max(math.ceil(math.log2(turns)), 0) if turns > 0 else 0
        parts = 2**level
        middles += [(k + (2 * j + 1) / (2 * parts)) * WIDTH for j in range(parts)]
        levels += [level] * parts
    return Cells(np.array(middles), np.array(levels), lags)


# Cells are halved until `lags` times the half-width, as a frequency, is at most 1 / TURNS.
TURNS = 1.2


@lru_cache(maxsize=64)
def corner(widths: int, lags: int, *, low: bool) -> Points:
    """The frequencies beyond all cells as one disc around 0 or pi, of radius 2 e^{-|y|}, y = widths times `WIDTH`."""
    end = 2.0 * _outer(-widths * WIDTH)
    zero = Discs(np.zeros(1), np.zeros(1))
    one = Discs(np.ones(1), np.zeros(1))
    s, complement = (zero, one) if low else (one, zero)
    # s = sin^2(omega / 2) <= sinh^2(end / 2) on the disc
    reach = end * end / 2.0
    return Points(s, complement, zero, np.array([end]), s.widened(reach), complement.widened(reach), lags)


def _outer(y: float) -> float:
    """e^y, rounded up."""
    import flint

    with flint.ctx.workprec(80):
        return float(flint.arb(y).exp().upper()) * SLACK


def _frequencies(p: np.ndarray) -> tuple[Discs, Discs, Discs]:
    """s, 1 - s and sin(omega) from p = e^y with a relative error of `EXPONENTIAL` / 2: theirs is at most three times
    that and some roundings, since d log s / d log p <= 2.
    """
    square = p * p
    complement = 1.0 / (1.0 + square)
    s, sine = square * complement, 2.0 * p * complement
    error = 2.0 * EXPONENTIAL
    return Discs(s, error * s + TINY), Discs(complement, error * complement + TINY), Discs(sine, error * sine + TINY)


@dataclass(frozen=True, eq=False)
class _Scale:
    """What cells of one half-width share: e^{half x} at the Gauss nodes x, and for discs of radius
    R = half (RHO + 1 / RHO) / 2 in y: `growth` = e^{2R} - 1 bounds |s(y + h) / s(y) - 1| before division, `shrink` =
    2 - e^R bounds |cosh(y + h)| / cosh y from below, so that omega moves by at most `angle` = int_0^R dt / (2 - e^t) =
    (R - log(2 - e^R)) / 2 times sin(omega).
    """

    offsets: np.ndarray
    growth: float
    shrink: float
    angle: float


@lru_cache(maxsize=64)
def _scale(level: int) -> _Scale:
    import flint

    with flint.ctx.workprec(80):
        half = flint.arb(math.ldexp(WIDTH / 2.0, -level))
        offsets = np.array([float((half * node).exp()) for node in _gauss()[0]])
        rho = flint.arb(RHO)
        radius = half * (rho + 1 / rho) / 2
        shrink = 2 - radius.exp()
        growth, angle = (2 * radius).expm1(), (radius - shrink.log()) / 2
        return _Scale(
            offsets,
            float(growth.upper()) * SLACK,
            float(shrink.lower()) / SLACK,
            float(angle.upper()) * SLACK,
        )


@lru_cache(maxsize=1)
def _gauss() -> tuple[list[Any], np.ndarray]:
    """Nodes of the rule as balls, and its weights to one unit."""
    import flint

    with flint.ctx.workprec(128):
        pairs = [flint.arb.legendre_p_root(NODES, k, weight=True) for k in range(NODES)]
        return [node for node, _ in pairs], np.array([float(weight) for _, weight in pairs])
