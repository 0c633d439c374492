"""Privacy of Gaussian rows and Gaussian mechanisms, not by dpbounds: densities, determinants, chi² tails."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import mpmath
import numpy as np
from scipy.integrate import quad
from scipy.special import chdtrc, ndtr


def rows_delta(epsilon: float, rows: int, leverage: float, *, record_first: bool, digits: int = 60) -> float:
    """delta of `rows` rows as a difference of two chi² tails, in enough digits for the cancellation."""
    with mpmath.workdps(digits):
        r, half = mpmath.mpf(leverage), mpmath.mpf(rows) / 2
        offset, scale = half * mpmath.log1p(-r), (1 - r) / r
        if record_first:
            cut = scale * (epsilon - offset)
            tail, other = _upper(half, cut), _upper(half, cut / (1 - r))
        else:
            cut = max(scale * (-epsilon - offset), mpmath.mpf(0))
            tail, other = _lower(half, cut / (1 - r)), _lower(half, cut)
        return float(tail - mpmath.exp(epsilon) * other)


def _upper(half: Any, cut: Any) -> Any:
    return mpmath.gammainc(half, cut, mpmath.inf, regularized=True)


def _lower(half: Any, cut: Any) -> Any:
    return mpmath.gammainc(half, 0, cut, regularized=True)


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu), epsilon of either sign."""
    return float(ndtr(mu / 2 - epsilon / mu) - math.exp(min(epsilon, 700.0)) * ndtr(-mu / 2 - epsilon / mu))


def joint_delta(epsilon: float, rows: int, leverage: float, mu: float, *, record_first: bool) -> float:
    """E over q ~ chi²_rows of the Gaussian's delta at epsilon - loss: adaptive quadrature in the chi² probability."""
    offset, rate = rows / 2 * math.log1p(-leverage), leverage / 2

    def integrand(q: float) -> float:
        loss = offset + rate * q / (1 - leverage) if record_first else -offset - rate * q
        log_density = (rows / 2 - 1) * math.log(q) - q / 2 - math.lgamma(rows / 2) - rows / 2 * math.log(2)
        return math.exp(log_density) * gaussian_delta(mu, epsilon - loss)

    spread = math.sqrt(2 * rows)
    cuts = [rows + t * spread for t in (-6, -3, 0, 3, 6, 12, 25, 60)]
    ends = [1e-300, *(cut for cut in cuts if cut > 0.01 * rows)]
    return sum(quad(integrand, low, high, epsabs=1e-14, epsrel=1e-10, limit=200)[0] for low, high in pairwise(ends))


def renyi_of_rows(order: float, rows: int, first: np.ndarray, second: np.ndarray) -> float:
    """Rényi divergence of `rows` rows N(0, first) from rows N(0, second), by determinants; inf where it has no density.

    D = (k / 2(1 - a)) log(|order second + (1 - order) first| |first|^{order - 1} / |second|^order).
    """
    mixed = order * second + (1 - order) * first
    if np.linalg.eigvalsh(mixed)[0] <= 0:
        return math.inf
    log_det = [float(np.linalg.slogdet(matrix)[1]) for matrix in (mixed, first, second)]
    return rows / (2 * (1 - order)) * (log_det[0] + (order - 1) * log_det[1] - order * log_det[2])


def renyi_of_gaussians(order: float, shift: float) -> float:
    """Rényi divergence of N(shift, 1) from N(0, 1), by quadrature of the densities."""

    def integrand(x: float) -> float:
        return math.exp(-order * (x - shift) ** 2 / 2 - (1 - order) * x * x / 2) / math.sqrt(2 * math.pi)

    centre = order * shift
    moment = quad(integrand, centre - 40, centre + 40, epsabs=0, epsrel=1e-13, limit=200, points=[centre])[0]
    return math.log(moment) / (order - 1)


def two_sketches_delta(epsilon: float, rows: int, leverage: float) -> float:
    """delta of two sketches of `rows` rows one after the other, record in the first law: quadrature over the first
    sketch's loss of the second one's hockey stick at what is left of epsilon.
    """
    offset, rate = rows / 2 * math.log1p(-leverage), leverage / (2 * (1 - leverage))

    def second(left: float) -> float:
        cut = max((left - offset) / rate, 0.0)
        return float(chdtrc(rows, cut) - math.exp(left) * chdtrc(rows, cut / (1 - leverage)))

    def integrand(q: float) -> float:
        log_density = (rows / 2 - 1) * math.log(q) - q / 2 - math.lgamma(rows / 2) - rows / 2 * math.log(2)
        return math.exp(log_density) * second(epsilon - offset - rate * q)

    kink = (epsilon - 2 * offset) / rate
    ends = [1e-300, rows, kink, kink + 4 * rows + 100]
    return sum(quad(integrand, low, high, epsabs=1e-14, epsrel=1e-10, limit=200)[0] for low, high in pairwise(ends))
