"""Moments of direction messages for Gaussian x with covariance I, by quadrature over the sphere.

h(x) = x / max(R, ||x||), w* = |w| e_1, x = rho u, k = min(1, rho / R) (1 at R = 0). By symmetry J = E[h M' x^T] is
diag(J_1, J_2, ..., J_2), and so are the covariances of h psi and of h M. Gauss-Jacobi in u_1, Gauss-Legendre in rho
with a break at R: Cartesian rules lose digits to the kink of h at 0. J_2 = g_1 / |w| (rotate w) is held against the
result.

>>> found = moments("logistic", 5, 1.0)
>>> f"{found.J1:.7f} {found.J2:.7f} {found.unit:.4f}"
'0.1314802 0.1800289 181.2640'
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import special

from dpbounds.arguments import typed
from dpbounds.errors import AccuracyError, count, nonnegative, within
from dpbounds.glm.links import Link
from dpbounds.glm.messages.labels import ScoredLabels, scored

MOST_P, LARGEST_NORM = 500, 20.0
# rho is within TAIL of sqrt p but for 1e-30 of the mass; J_2 |w| = g_1 must hold to ACCURACY.
TAIL, ACCURACY = 12.0, 1e-9
# The largest p of Gauss-Jacobi rules, and the coarsest step of the other.
MOST_JACOBI, FINEST = 40, 0.25


@dataclass(frozen=True, kw_only=True)
class Moments:
    """Of a message along w* (1) and across (2; nan at p = 1, where there is no such coordinate).

    - `J1`, `J2`: of the derivative of the moment equation; `g1`: of E[h psi], which is along w*;
    - `S1`, `S2`: variances of h psi; `P1`, `P2`: of h M;
    - `unit` = 1 / J1^2 + (p - 1) / J2^2: n times the squared error that noise of variance 1 makes.
    """

    p: int
    J1: float
    J2: float
    g1: float
    S1: float
    S2: float
    P1: float
    P2: float

    @property
    def unit(self) -> float:
        """tr J^-1 J^-T."""
        return self.over(1.0, 1.0)

    def over(self, along: float, across: float) -> float:
        """tr J^-1 diag(along, across, ..., across) J^-T."""
        return along / self.J1**2 + ((self.p - 1) * across / self.J2**2 if self.p > 1 else 0.0)


@typed
def moments(link: Link | str, p: int, norm: float, *, radius: float = 0.0, label_bound: float | None = None) -> Moments:
    """Moments of a message for x ~ N(0, I_p), |w*| = `norm` in [0, 20], messages shortened within `radius` (0: never).

    `label_bound` as in `scored`. Derived here. Raises `DomainError` for p outside 1 to 500, and `AccuracyError` where
    the quadrature contradicts J2 |w| = g1.
    """
    labels = scored(link, label_bound)
    p, norm = count("p", p, most=MOST_P), within("norm", norm, f"[0, {LARGEST_NORM:g}]")
    rho, shares = _lengths(p, nonnegative("radius", radius), norm)
    u, weights = _directions(p, norm)
    z = norm * rho[:, None] * u
    means, slopes, seconds = labels.mean(z), labels.slope(z), labels.second(z)
    k = np.minimum(1.0, rho / radius) if radius else np.ones_like(rho)
    along = u**2
    across = (1.0 - along) / (p - 1) if p > 1 else np.full_like(u, math.nan)
    g1 = _sum(shares * k, means, weights * u)
    J1, J2 = (_sum(shares * k * rho, slopes, weights * part) for part in (along, across))
    found = {
        f"{name}{place}": _sum(shares * k**2, values, weights * part)
        for name, values in (("S", seconds), ("P", means**2))
        for place, part in ((1, along), (2, across))
    }
    if p > 1 and not abs(J2 * norm - g1) <= ACCURACY * max(J2 * norm, 1e-3):
        raise AccuracyError(f"moments at p = {p}, norm = {norm:g}: J2 |w| = {J2 * norm:.10g}, g1 = {g1:.10g}")
    found["S1"] -= g1**2
    found["P1"] -= g1**2
    return Moments(p=p, J1=J1, J2=J2, g1=g1, **found)


def stretched_slope(labels: ScoredLabels, p: int, norm: float, stretch: float) -> float:
    """E[M'(z) ||A x||] for A = diag(`stretch`, 1, ..., 1), x ~ N(0, I_p)."""
    rho, shares = _lengths(p, 0.0, norm)
    u, weights = _directions(p, norm)
    slopes = labels.slope(norm * rho[:, None] * u)
    return _sum(shares * rho, slopes, weights * np.sqrt(1.0 + (stretch**2 - 1.0) * u**2))


def _sum(left: np.ndarray, values: np.ndarray, right: np.ndarray) -> float:
    return float(left @ values @ right)


def _lengths(p: int, radius: float, norm: float) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights for rho = ||x||, of the chi distribution, with a break at `radius`."""
    low, high = max(math.sqrt(p) - TAIL, 0.0), math.sqrt(p) + TAIL
    middle = min(max(radius, low), high)
    x, share = np.polynomial.legendre.leggauss(64 + 8 * math.ceil(norm))
    points, weights = [], []
    for start, end in ((low, middle), (middle, high)):
        if end > start:
            points.append(start + (end - start) * (x + 1.0) / 2.0)
            weights.append((end - start) * share / 2.0)
    rho = np.concatenate(points)
    density = (p - 1) * np.log(rho) - rho**2 / 2.0 - (p / 2.0 - 1.0) * math.log(2.0) - special.gammaln(p / 2.0)
    return rho, np.concatenate(weights) * np.exp(density)


@lru_cache(maxsize=64)
def _rule(p: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    u, weights = special.roots_jacobi(size, (p - 3) / 2.0, (p - 3) / 2.0)
    return u, weights / weights.sum()


def _directions(p: int, norm: float) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights for u_1, of density proportional to (1 - u^2)^((p - 3) / 2).

    z varies on the scale of the link where sqrt(p) u does on that of 1 / |w|. In high dimension u = sin(v / sqrt p) and
    the trapezoidal rule in v, whose density cos(v / sqrt p)^(p - 2) has no ends to speak of.
    """
    if p == 1:
        return np.array([-1.0, 1.0]), np.array([0.5, 0.5])
    if p <= MOST_JACOBI:
        return _rule(p, 64 + 16 * math.ceil(norm * min(norm, math.sqrt(p))))
    step = min(FINEST, 0.3 / max(norm, 1e-300))
    reach = min(TAIL, 0.5 * math.pi * math.sqrt(p) - step)
    v = step * np.arange(-math.floor(reach / step), math.floor(reach / step) + 1)
    weights = np.cos(v / math.sqrt(p)) ** (p - 2)
    return np.sin(v / math.sqrt(p)), weights / weights.sum()
