"""Sums of simple resonances, g(omega) = sum_j w_j / |1 - (1 - x_j) e^{i omega}|^2, and the correlation with |B|^2 =
g^{-1/2}.

g is a ratio of products of the same factors: between two neighbouring rates x_j lies exactly one xi with

    g(omega) = g(0) prod_i |1 - (1 - xi_i) e^{i omega}|^2 / xi_i^2 * prod_j x_j^2 / |1 - (1 - x_j) e^{i omega}|^2,

because in s = sin^2(omega / 2) every denominator is x_j^2 + 4 (1 - x_j) s and s g(s) is monotone between its poles
(source: dpbounds). Rates are kept as they are, never as 1 - x: they may be 1e-12.

>>> correlation = from_resonances(np.array([1.0, 2.0]), np.array([0.1, 0.5]))
>>> correlation.zeros, np.round(correlation.poles, 4).tolist()
((0.1, 0.5), [0.2889])
>>> np.round(correlation.power_spectrum(np.array([0.0])) ** -2, 6).tolist()  # g(0) = 1 / 0.1^2 + 2 / 0.5^2
[108.0]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.arithmetic import FLOATS, Arithmetic
from dpbounds.circle.quadrature import even_integral
from dpbounds.errors import AccuracyError, DomainError, count, listed, positive, vector
from dpbounds.ftrl.correlations.base import ToeplitzCorrelation, by_parts, decay_rates, filtered_by_quadrature
from dpbounds.ftrl.correlations.power_series import FINEST, power_series
from dpbounds.values import Value

# Steps whose weights one Fourier transform gives, and factors times points of the transform: half a minute.
LONGEST, MOST_FACTORS = 2_000_000, 2_000_000_000
# Numbers held at a time, and the iterations that every root is found in.
PART, ITERATIONS = 1 << 18, 200
# Rates nearer than this to their neighbour, relatively, count as one: the root between them would cancel both.
NEAR = 4e-16


@typed
@dataclass(frozen=True)
class DampedHalfPowers(ToeplitzCorrelation):
    """B(z) = `gain` prod_i (1 - (1 - a_i) z)^{1/2} / prod_i (1 - (1 - b_i) z)^{1/2}, a = `zeros`, b = `poles`.

    The dampings a, b in (0, 2) keep their relative accuracy near 0; `nu` is one zero. Between any two neighbouring
    zeros lies a pole or the other way round (`interlacing_roots`): the product of all factors stays in the right
    half-plane.
    Raises `DomainError` for dampings out of range or not interlaced.
    """

    zeros: tuple[float, ...]
    poles: tuple[float, ...] = ()
    label: str = "interlaced half powers"
    gain: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "gain", positive("gain", self.gain))
        for name in ("zeros", "poles"):
            given = listed(name, getattr(self, name))
            dampings = vector(name, given) if given else np.zeros(0)
            if not ((dampings > 0) & (dampings < 2)).all():
                raise DomainError(name, getattr(self, name), "numbers in (0, 2)")
            object.__setattr__(self, name, tuple(np.sort(dampings).tolist()))
        if not _interlaced(np.array(self.zeros), np.array(self.poles)):
            raise DomainError("poles", self.poles, "interlaced with the zeros", "see interlacing_roots")

    @property
    def name(self) -> str:
        """What tables and plots call it."""
        return self.label

    @property
    def degree(self) -> int:
        """Number of zeros or of poles, whichever is larger."""
        return max(len(self.zeros), len(self.poles), 1)

    def coefficients(self, T: int) -> Float[np.ndarray, " T"]:
        """The power series of B, absolute accuracy 1e-11 of the largest."""
        return self.gain * _series(np.array(self.zeros), np.array(self.poles), count("T", T, most=LONGEST))

    def inverse_coefficients(self, T: int) -> Float[np.ndarray, " T"]:
        """The power series of 1 / B, as accurate."""
        return _series(np.array(self.poles), np.array(self.zeros), count("T", T, most=LONGEST)) / self.gain

    @typed
    def spectral_density(self, m: Arithmetic, s: Any) -> Any:
        """The root of a ratio of products of a^2 + 4 (1 - a) s, without cancellation."""
        if m is FLOATS:
            return self.gain**2 * np.sqrt(_ratio(self.zeros, self.poles, s))
        product = m.number(self.gain) ** 4
        for zero in self.zeros:
            product = product * _factor(m.number(zero), s)
        for pole in self.poles:
            product = product / _factor(m.number(pole), s)
        return m.sqrt(product)

    def limiting_sensitivity(self) -> Value:
        """gamma_inf^2 = (1 / 2 pi) int |B|^{-2}, ftrl eq. (5), by quadrature: an estimate."""
        total = even_integral(lambda omega: 1.0 / self.power_spectrum(omega))
        return Value(float(np.sqrt(total / (2.0 * np.pi))), kind="estimate", source="ftrl eq. (5)")

    def filtered_power(self, decay: Float[np.ndarray, " d"]) -> Float[np.ndarray, " d"]:
        """c(x) = x (2 - x) / (2 pi) int |B|^2 / |1 - x - e^{i omega}|^2: ftrl Lemma C.4."""
        return by_parts(lambda x: filtered_by_quadrature(self, x), decay_rates(decay))


@typed
def from_resonances(
    weights: Float[np.ndarray, " d"], rates: Float[np.ndarray, " rates"], *, name: str = "optimal"
) -> DampedHalfPowers:
    """The outer B with |B|^2 = g^{-1/2}, g = sum_j weights_j / (rates_j^2 + 4 (1 - rates_j) s), s = sin^2(omega / 2).

    In closed form: zeros at the rates, poles at `interlacing_roots`; O(d^2) operations.
    """
    weights, rates = _merged(weights, rates)
    roots = _roots(weights, rates)
    # The factor from omega = pi, where all denominators are of one size.
    there = float(np.sum(weights / (2.0 - rates) ** 2))
    quotients = np.log(2.0 - rates).sum() - np.log(2.0 - roots).sum()
    gain = float(np.exp(-0.25 * np.log(there) - 0.5 * quotients))
    return DampedHalfPowers(tuple(rates.tolist()), tuple(roots.tolist()), name, gain)


def interlacing_roots(
    weights: Float[np.ndarray, " d"], rates: Float[np.ndarray, " rates"]
) -> Float[np.ndarray, " roots"]:
    """The xi in (0, 2) at which sum_j weights_j / ((x_j - xi) (x_j + xi - x_j xi)) = 0, ascending, for x = `rates`.

    One in each gap between different rates, to a relative accuracy of 1e-13. Raises `DomainError` for weights that
    are not positive, rates outside (0, 2) or lengths that differ.
    """
    return _roots(*_merged(weights, rates))


def _merged(weights: np.ndarray, rates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ascending different rates with their summed weights."""
    rates = vector("rates", rates, above=0.0)
    weights = vector("weights", weights, above=0.0, length=len(rates), per="rate")
    if not (rates < 2).all():
        raise DomainError("rates", float(rates.max()), "below 2")
    order = np.argsort(rates)
    rates, weights = rates[order], weights[order]
    first = np.concatenate([[True], np.diff(rates) > NEAR * rates[1:]])
    return np.add.reduceat(weights, np.flatnonzero(first)), rates[first]


def _roots(weights: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """Newton's method in log xi on the sum times (xi - low) (high - xi) / xi, kept inside a shrinking bracket."""
    if len(rates) == 1:
        return np.zeros(0)
    weights = weights / weights.max()
    ends = np.log(rates)
    low, high = ends[:-1].copy(), ends[1:].copy()
    roots = 0.5 * (low + high)
    active = np.arange(len(low))
    before = high - low
    for _ in range(ITERATIONS):
        value, slope = _cleared(weights, rates, active, np.exp(roots[active]))
        rising = value < 0
        low[active[rising]], high[active[~rising]] = roots[active[rising]], roots[active[~rising]]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            step = roots[active] - value / slope
        # Where Newton leaves the bracket or does not halve its step: the middle.
        middle = 0.5 * (low[active] + high[active])
        good = (step > low[active]) & (step < high[active]) & (np.abs(step - roots[active]) < 0.5 * before[active])
        step = np.where(value == 0, roots[active], np.where(good, step, middle))
        before[active] = np.abs(step - roots[active])
        roots[active] = step
        active = active[(before[active] > 1e-15) & (value != 0)]
        if len(active) == 0:
            return np.clip(np.exp(roots), np.nextafter(rates[:-1], 2), np.nextafter(rates[1:], 0))
    raise AccuracyError(f"roots between {len(rates)} rates: {len(active)} not found in {ITERATIONS} iterations")


def _cleared(weights: np.ndarray, rates: np.ndarray, gaps: np.ndarray, xi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The sum without its two poles next to xi, negative below the root, and its derivative by log xi."""
    value, slope = np.empty_like(xi), np.empty_like(xi)
    rows = max(1, PART // len(rates))
    for start in range(0, len(xi), rows):
        part = np.s_[start : start + rows]
        at, below, above = xi[part, None], rates[gaps[part]], rates[gaps[part] + 1]
        distance, other = rates - at, rates + at - rates * at
        # At a rate, which rounding reaches where two are next to each other, both are not numbers: the bracket decides.
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = weights / (distance * other)
            # d/dxi of 1 / (distance other).
            slopes = terms * (1.0 / distance - (1.0 - rates) / other)
            total, derivative = terms.sum(axis=1), slopes.sum(axis=1)
            gap = (at[:, 0] - below) * (above - at[:, 0])
            gap_slope = (above - at[:, 0]) - (at[:, 0] - below)
            value[part] = total * gap / at[:, 0]
            slope[part] = (derivative * gap + total * gap_slope) - value[part]
    return value, slope


def _interlaced(zeros: np.ndarray, poles: np.ndarray) -> bool:
    """Whether zeros and poles alternate along (0, 2)."""
    if abs(len(zeros) - len(poles)) > 1:
        return False
    outer, inner = (zeros, poles) if len(zeros) >= len(poles) else (poles, zeros)
    if len(outer) == len(inner) and len(outer) and inner[0] < outer[0]:
        outer, inner = inner, outer
    return bool((inner >= outer[: len(inner)]).all() and (inner[: len(outer) - 1] <= outer[1:]).all())


def _factor(damping: Any, s: Any) -> Any:
    return damping**2 + 4 * (1 - damping) * s


def _ratio(above: tuple[float, ...], below: tuple[float, ...], s: Any) -> Any:
    """prod |1 - (1 - a) e^{i omega}|^2 / prod |1 - (1 - b) e^{i omega}|^2, in pairs so that it cannot overflow."""
    product = 1.0 + 0.0 * s
    for first, second in zip(above, below, strict=False):
        product = product * (_factor(first, s) / _factor(second, s))
    for rest in above[len(below) :]:
        product = product * _factor(rest, s)
    for rest in below[len(above) :]:
        product = product / _factor(rest, s)
    return product


def _series(above: np.ndarray, below: np.ndarray, T: int) -> np.ndarray:
    """Coefficients of the root of prod (1 - (1 - a) z) / prod (1 - (1 - b) z).

    The product of interlaced factors has an argument within +-pi / 2: its principal root is the analytic one.
    """
    factors = len(above) + len(below)
    if factors * (4 << (T - 1).bit_length()) > MOST_FACTORS:
        raise AccuracyError(f"weights of {factors} factors for {T} steps take too long")
    pairs = min(len(above), len(below))

    def values(exponent: np.ndarray) -> np.ndarray:
        z, from_one = np.exp(exponent), -np.expm1(exponent)
        product = np.ones_like(z)
        for first, second in zip(above[:pairs], below[:pairs], strict=True):
            product *= (from_one + first * z) / (from_one + second * z)
        for rest in above[pairs:]:
            product *= from_one + rest * z
        for rest in below[pairs:]:
            product /= from_one + rest * z
        return np.sqrt(product)

    slowest = min((min(damping, 2.0 - damping) for damping in (*above, *below)), default=1.0)
    return power_series(values, T, slowest=slowest, finest=min(FINEST, MOST_FACTORS // max(1, factors)))
