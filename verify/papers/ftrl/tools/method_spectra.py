"""The bounds for first-order methods by spectra, without states: what the storage functions are held against.

A method is R and H, R Y = grad + W and X = H Y, as functions of the forward shift zeta, from its recursion. A
sum of weighted interpolation inequalities and what is judged is a
Hermitian form -D |Y|^2 + 2 Re[beta Y* W] + ww |W|^2 at each frequency. For W = B E, E white and Y_t a function of
draws before t, its largest mean over all Y is (Wiener and Hopf)

    mean(ww |B|^2 + |beta B|^2 / D) - sum_{k <= 0} kappa_k^2 - (kappa_1 - Delta_0 G_1 b_0)^2,

D = |Delta|^2 with Delta outer, kappa_k the coefficients of beta B / Delta*: E <y_t, e_{t-k}> is 0 for k <= 0, and
G_1 b_0 for k = 1 as the gradient at t - 1 does not know e_{t-1}. All by fast Fourier transforms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

NODES = 1 << 14
Response = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Spectral:
    """R, H and G_1 of a method."""

    R: Response
    H: Response
    gain: float


def two_steps(eta: float, b: float, g: float = 0.0, d: float = 0.0) -> Spectral:
    """xi' = (1 + b) xi - b xi_ - eta u, y = (1 + g) xi - g xi_, x = (1 + d) xi - d xi_, xi_ the xi before."""

    def R(zeta: np.ndarray) -> np.ndarray:
        return -(zeta - 1) * (zeta - b) / (eta * ((1 + g) * zeta - g))

    def H(zeta: np.ndarray) -> np.ndarray:
        return ((1 + d) * zeta - d) / ((1 + g) * zeta - g)

    return Spectral(R, H, -eta * (1 + g))


def averaged(method: Spectral, decay: float) -> Spectral:
    """The exponential average of the outputs."""
    return Spectral(method.R, lambda zeta: method.H(zeta) * (1 - decay) * zeta / (zeta - decay), method.gain)


# Weight of I_ij by the delays of the points i and j, None for theta*.
Weighted = Sequence[tuple[int | None, int | None, float]]


def value(
    method: Spectral,
    beta: Sequence[float] | np.ndarray,
    mu: float,
    L: float,
    measure: str,
    weighted: Weighted,
    *,
    latest: int = 1,
    known: float = 1.0,
    sign: float = 1.0,
) -> float:
    """The largest mean at these multipliers, per unit variance of the draws; inf where D is not positive.

    For impostors: `latest` is the last k of which E <y_t, e_{t-k}> is taken as known, 0 beyond 1; `known` a factor of
    G_1 b_0; `sign` one of the inner products in I_ij.
    """
    zeta = np.exp(2j * np.pi * np.arange(NODES) / NODES)
    R, B = method.R(zeta), np.fft.fft(beta, NODES)  # sum_k beta_k zeta^-k
    u, ell = R - mu, L - mu
    yy, cross, ww = np.zeros(NODES), np.zeros(NODES, dtype=complex), np.zeros(NODES)
    for first, second, weight in weighted:
        i, j = (0.0 * zeta if lag is None else zeta**-lag for lag in (first, second))
        turn, square = sign * np.conj(j) * (i - j), np.abs(i - j) ** 2 / (2 * ell)
        yy -= weight * (np.real(turn * np.conj(u)) + square * np.abs(u) ** 2)
        cross += weight * (np.conj(turn) / 2 + square * np.conj(u))
        ww -= weight * square
    if measure == "f":
        yy += mu / 2
    elif measure == "distance":
        yy += np.abs(method.H(zeta)) ** 2
    else:
        yy, cross, ww = yy + np.abs(R) ** 2, cross - np.conj(R), ww + 1
    D = -yy
    if D.min() <= 0:
        return np.inf
    cepstrum = np.fft.ifft(np.log(D)).real
    folded = np.concatenate([[cepstrum[0] / 2], cepstrum[1 : NODES // 2], np.zeros(NODES // 2)])
    delta = np.exp(np.fft.fft(folded))
    kappa = np.fft.ifft(cross * B / np.conj(delta)).real  # of zeta^-k at index k, of zeta^k at index -k
    constant = np.mean(ww * np.abs(B) ** 2) + np.sum(kappa**2)
    told = np.exp(cepstrum[0] / 2) * method.gain * beta[0] * known
    future = np.sum(kappa[NODES // 2 :] ** 2) + kappa[0] ** 2
    past = sum((kappa[k] - told * (k == 1)) ** 2 for k in range(1, latest + 1))
    return float(constant - future - past)
