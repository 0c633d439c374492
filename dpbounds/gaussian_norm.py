"""The length of a Gaussian vector: distribution function, quantiles and mean of ||x||, x ~ N(mean, covariance).

||x||² is a sum of independent scaled noncentral chi-square variables. Its Laplace transform is elementary, and is
inverted along a parabola through the saddle point, where the integrand is positive and largest; the trapezoidal rule
then converges geometrically. Leading axes of means (..., p) and covariances (..., p, p) are a batch: an equal mixture
is the average over it.

>>> mean, covariance = np.zeros(2), np.eye(2)  # P(||x|| <= r) = 1 - e^{-r^2 / 2}
>>> round(float(norm_cdf(mean, covariance, 1.0)), 6), round(norm_quantile(mean, covariance, 0.5), 6)
(0.393469, 1.17741)
"""

from __future__ import annotations

import math
from typing import NamedTuple, cast

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr

from dpbounds.errors import LARGEST, SMALLEST, AccuracyError, DomainError, moderate_or_zero, real_array, within

# Absolute error of a probability, and relative error of a quantile.
PROBABILITY_ERROR = 1e-9
QUANTILE_ERROR = 1e-9
# Where the contour ends, in u.
_LONGEST = 8.0


class _Spectrum(NamedTuple):
    """Variances and squared means along the eigenvectors, (batch, p)."""

    variances: np.ndarray
    squares: np.ndarray


def norm_cdf(
    mean: Float[np.ndarray, "*batch p"], covariance: Float[np.ndarray, "*batch p p"], radius: float
) -> Float[np.ndarray, "*batch"]:
    """P(||x|| <= radius) to an absolute error of 1e-9, for every member of the batch.

    p = 1 in closed form. Covariances may be singular, or 0 (a step function): for p > 1 variances of at most 1e-15
    E ||x||² count as 0. Raises `DomainError` for a negative radius or a matrix that is not a covariance,
    `AccuracyError` where the rule does not converge.
    """
    spectrum = _spectrum(mean, covariance)
    radius = moderate_or_zero("radius", radius)
    return _cdf(spectrum, radius if radius > SMALLEST else 0.0).reshape(np.shape(mean)[:-1])


def norm_quantile(
    mean: Float[np.ndarray, "*batch p"], covariance: Float[np.ndarray, "*batch p p"], probability: float = 0.5
) -> float:
    """The quantile of ||x||, of the equal mixture over the batch if there is one; relative error 1e-9.

    That error is of the root; the distribution function adds 1e-9 over its slope. Raises `DomainError` for a
    probability outside (0, 1).
    """
    from scipy.optimize import brentq

    spectrum, probability = _spectrum(mean, covariance), within("probability", probability, "(0, 1)")
    low, high = 0.0, math.sqrt(float((spectrum.variances + spectrum.squares).sum(axis=1).max()))
    if high == 0:
        return 0.0

    def excess(radius: float) -> float:
        return float(_cdf(spectrum, radius).mean()) - probability

    while excess(high) < 0:
        low, high = high, 2 * high
    if low == 0.0:
        low = high
        while excess(low) >= 0:
            low /= 2
            if low < 1e-12 * high:
                return low
    return cast(float, brentq(excess, low, high, xtol=QUANTILE_ERROR * low))


def norm_mean(
    mean: Float[np.ndarray, "*batch p"], covariance: Float[np.ndarray, "*batch p p"]
) -> Float[np.ndarray, "*batch"]:
    """E ||x|| to a relative error of 1e-10: (1 / 2 sqrt(pi)) int (1 - E exp(-s ||x||²)) s^{-3/2} ds.

    With s = exp(v) the integrand is analytic in |Im v| < pi / 2 and decays like exp(-|v| / 2): trapezoidal rule.
    """
    spectrum = _spectrum(mean, covariance)
    scale = (spectrum.variances + spectrum.squares).sum(axis=1, keepdims=True)
    safe = np.where(scale > 0, scale, 1.0)
    step = 0.2
    s = np.exp(step * np.arange(-400, 401))
    growth = 2 * (spectrum.variances / safe)[:, :, None] * s
    shifted = (spectrum.squares / safe)[:, :, None] * s / (1 + growth)
    exponent = -0.5 * np.log1p(growth).sum(axis=1) - shifted.sum(axis=1)
    integral = step * (-np.expm1(exponent) / np.sqrt(s)).sum(axis=1)
    values = np.sqrt(scale[:, 0]) * integral / (2 * math.sqrt(math.pi))
    return values.reshape(np.shape(mean)[:-1])


def _spectrum(mean: np.ndarray, covariance: np.ndarray) -> _Spectrum:
    mean, covariance = real_array("mean", mean), real_array("covariance", covariance)
    if not (mean.size and mean.ndim) or covariance.shape != (*mean.shape, mean.shape[-1]):
        shapes = f"arrays of shapes {mean.shape}, {covariance.shape}"
        raise DomainError("mean, covariance", shapes, "of shapes (..., p), (..., p, p)")
    p = mean.shape[-1]
    means, matrices = mean.reshape(-1, p), covariance.reshape(-1, p, p)
    if not (np.abs(means) <= LARGEST).all() or not (np.abs(matrices) <= LARGEST).all():
        allowed = f"finite, of a size of at most {LARGEST:g}"
        raise DomainError("mean, covariance", "an array with larger entries, inf or nan", allowed, "the run diverges")
    variances, basis = np.linalg.eigh(matrices)
    if (variances[:, 0] < -1e-9 * variances[:, -1] - 1e-300).any():
        raise DomainError(
            "covariance", f"a matrix with eigenvalue {variances[:, 0].min():.3g}", "positive semidefinite"
        )
    projected = (np.swapaxes(basis, 1, 2) @ means[:, :, None])[..., 0]
    return _Spectrum(np.maximum(variances, 0.0), projected**2)


def _cdf(spectrum: _Spectrum, radius: float) -> np.ndarray:
    variances, squares = spectrum
    if variances.shape[1] == 1:
        return _interval_probability(squares[:, 0] ** 0.5, variances[:, 0] ** 0.5, radius)
    # Coordinates without variance are not random: they use up part of the squared radius.
    scale = (variances + squares).sum(axis=1)
    fixed = variances <= 1e-15 * scale[:, None]
    left = radius**2 - np.where(fixed, squares, 0.0).sum(axis=1)
    values = np.where(left >= 0, 1.0, 0.0)
    inverted = (left > 0) & ~fixed.all(axis=1)
    if inverted.any():
        weights = left[inverted, None]
        random = ~fixed[inverted]
        parts = (np.where(random, part[inverted], 0.0) / weights for part in (variances, squares))
        values[inverted] = _inverted(_Spectrum(*parts))
    return values


def _interval_probability(centre: np.ndarray, deviation: np.ndarray, radius: float) -> np.ndarray:
    """P(|x| <= radius), x ~ N(centre, deviation²)."""
    safe = np.where(deviation > 0, deviation, 1.0)
    inside = ndtr((radius - centre) / safe) - ndtr((-radius - centre) / safe)
    return np.where(deviation > 0, inside, np.where(centre <= radius, 1.0, 0.0))


def _beyond(spectrum: _Spectrum) -> tuple[np.ndarray, np.ndarray]:
    """Where P(Q <= 1) is 0 and where it is 1, up to exp(-25): Birgé's tail bounds for noncentral chi-squares."""
    variances, squares = spectrum
    mean = (variances + squares).sum(axis=1)
    deviation = 2 * np.sqrt(25.0 * (variances**2 + 2 * variances * squares).sum(axis=1))
    return mean - deviation >= 1, mean + deviation + 50.0 * variances.max(axis=1) <= 1


def _inverted(spectrum: _Spectrum) -> np.ndarray:
    """P(Q <= 1), Q the squared length: (1 / 2 pi i) int exp(s) E exp(-s Q) ds / s.

    The parabola has the curvature of steepest descent at the saddle point; where that bends too much for the wider
    picture (one narrow noncentral coordinate beside wide ones), flatter ones are tried.
    """
    none, all_ = _beyond(spectrum)
    values, open_ = np.where(all_, 1.0, 0.0), ~(none | all_)
    for flattening in (1.0, 0.1, 0.01, 0.001, 0.0):
        if not open_.any():
            return values
        found, converged = _contour(_Spectrum(*(part[open_] for part in spectrum)), flattening)
        where = np.flatnonzero(open_)[converged]
        values[where], open_[where] = np.clip(found[converged], 0.0, 1.0), False
    if open_.any():
        raise AccuracyError(f"distribution of a Gaussian length: no convergence to {PROBABILITY_ERROR:g}")
    return values


def _contour(spectrum: _Spectrum, flattening: float) -> tuple[np.ndarray, np.ndarray]:
    """Integrals along one family of parabolas, and which of them two steps agree on."""
    saddle = _saddle(spectrum)
    curvature, third = _derivatives(spectrum, saddle)
    # Without the pole at 0, which would bend the contour of a narrow Q too much.
    bend = flattening * third / (6 * curvature)
    unit = 1 / np.sqrt(curvature + 1 / saddle**2)
    step = 0.1
    finer = _trapezoid(spectrum, saddle, bend, unit, step, np.arange(round(_LONGEST / step) + 1))
    converged = np.zeros(len(saddle), dtype=bool)
    while step > 0.0125 and not converged.all():
        step, coarser = step / 2, finer
        between = np.arange(1, round(_LONGEST / step), 2)
        finer = coarser / 2 + _trapezoid(spectrum, saddle, bend, unit, step, between)
        converged = np.abs(finer - coarser) <= PROBABILITY_ERROR
    return finer, converged


def _trapezoid(
    spectrum: _Spectrum, saddle: np.ndarray, bend: np.ndarray, unit: np.ndarray, step: float, nodes: np.ndarray
) -> np.ndarray:
    """Along s = saddle + i y + bend y², y = unit sinh(u) with u = step * nodes; the integrand is even up to
    conjugation, and counts half at node 0.
    """
    u = step * nodes
    y = unit[:, None] * np.sinh(u)
    exponent = _exponent(spectrum, saddle[:, None] + bend[:, None] * y**2 + 1j * y)
    direction = (1 - 2j * bend[:, None] * y) * unit[:, None] * np.cosh(u)
    # At the saddle point the exponent is real and at most about 1; above, the contour is a wrong one.
    size = np.exp(np.clip(np.real(exponent), -700.0, 50.0))
    integrand = size * np.real(np.exp(1j * np.imag(exponent)) * direction)
    integrand[:, nodes == 0] *= 0.5
    return step * integrand.sum(axis=1) / math.pi


def _exponent(spectrum: _Spectrum, s: np.ndarray) -> np.ndarray:
    """s + log E exp(-s Q) - log s, shape (batch, nodes) or (batch,)."""
    flat = s.reshape(len(s), -1)
    total = flat - np.log(flat)
    for variances, squares in zip(spectrum.variances.T, spectrum.squares.T, strict=True):
        growth = 1 + 2 * variances[:, None] * flat
        total = total - 0.5 * np.log(growth) - squares[:, None] * flat / growth
    return total.reshape(s.shape)


def _saddle(spectrum: _Spectrum) -> np.ndarray:
    """The zero of the exponent's derivative, increasing and concave in s > 0: Newton from the left is monotone."""
    s = np.ones(len(spectrum.variances))
    for _ in range(200):
        growth = 1 + 2 * spectrum.variances * s[:, None]
        slope = 1 - 1 / s - (spectrum.variances / growth + spectrum.squares / growth**2).sum(axis=1)
        step = -slope / (_derivatives(spectrum, s)[0] + 1 / s**2)
        s = s + np.maximum(step, 0.0)
        if (step <= 1e-9 * s).all():
            return s
    raise AccuracyError("saddle point of a Gaussian length: Newton's method does not converge")


def _derivatives(spectrum: _Spectrum, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Second and third derivative of log E exp(-s Q)."""
    growth = 1 + 2 * spectrum.variances * s[:, None]
    ratio, weight = 2 * spectrum.variances / growth, spectrum.squares / growth**2
    second = (ratio**2 / 2 + 2 * weight * ratio).sum(axis=1)
    return second, -(ratio**3 + 6 * weight * ratio**2).sum(axis=1)
