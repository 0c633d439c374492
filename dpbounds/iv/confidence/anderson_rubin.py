"""The Anderson-Rubin test of coefficients from a private release, its variance including the noise of privacy.

AR(beta) = g'V^{-1}g with the moment g and V of `release`; critical value c' = c_q (1 + tau² (q + c_q) / 4), c_q the
chi-square quantile and tau = s2 |b|² tr(V^{-1}) / q the relative noise of the variance: E F_q(c / (1 + xi)) to second
order in xi. Coverage is asymptotic in n, uniformly in the strength of the instruments and in the noise.

>>> import numpy as np
>>> from dpbounds.iv.confidence import MomentRelease
>>> release = MomentRelease(first=np.array([30.0, 25.0]), second=40.0 * np.eye(2), first_scale=2.0, second_scale=0.0,
...                         n=100, outcome_weight=1.0, regressor_weights=np.ones(1), adjacency="zero-out")
>>> test = anderson_rubin(release, [1.0])
>>> round(test.statistic, 4), round(test.critical, 2), round(first_stage(release).f, 1)
(0.2841, 3.84, 14.2)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import chdtri

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, moderate_or_zero, within
from dpbounds.iv.confidence.release import Release, finite_stack, with_noise

LEVELS = "[1e-6, 0.999999]"


class AndersonRubin(NamedTuple):
    """The statistic, what it is compared with, and the relative noise of its variance; rejected if the first is
    larger.
    """

    statistic: float
    critical: float
    tau: float


class Curve(NamedTuple):
    """The same along many coefficients, each of shape (m,)."""

    statistic: Float[np.ndarray, " m"]
    critical: Float[np.ndarray, " m"]
    tau: Float[np.ndarray, " m"]


class FirstStage(NamedTuple):
    """The private first stage of one regressor: c'(V of c)^{-1}c, that over q, the value below which the set is
    unbounded, and whether the set is bounded.
    """

    statistic: float
    f: float
    critical: float
    bounded: bool


def chi_square_quantile(q: int, level: float) -> float:
    """c_q: the `level` quantile of chi-square with q degrees of freedom."""
    return float(chdtri(q, 1 - within("level", level, LEVELS)))


def corrected(c: float, q: int, tau: Any) -> Any:
    """c' = c (1 + tau² (q + c) / 4): the critical value for a variance estimate with relative noise tau."""
    return c * (1 + tau**2 * (q + c) / 4)


@typed
def anderson_rubin(release: Release, coefficients: Any, level: float = 0.95, correct: bool = True) -> AndersonRubin:
    """The test that the coefficients (p,) are `coefficients`, at this level; `correct` takes c', not c_q.

    Raises `DomainError` for coefficients of another number, a level outside (0, 1), a singular release.
    """
    found = anderson_rubin_curve(release, np.reshape(coefficients, (1, -1)), level, correct)
    return AndersonRubin(*(float(part[0]) for part in found))


@typed
def anderson_rubin_curve(release: Release, coefficients: Any, level: float = 0.95, correct: bool = True) -> Curve:
    """The test at many coefficients, shape (m, p) or for one regressor (m,)."""
    thetas = release.thetas(coefficients)
    c = chi_square_quantile(release.q, level)
    statistic, tau = along(release, np.column_stack([np.ones(len(thetas)), -thetas]))
    critical = corrected(c, release.q, tau) if correct else np.full(len(tau), c)
    return Curve(statistic, critical, tau)


def along(release: Release, directions: Float[np.ndarray, "m blocks"]) -> tuple[np.ndarray, np.ndarray]:
    """Statistic and tau for b in the rows of `directions`; neither depends on the length of b."""
    return quadratic_form(directions, release.moments, release.covariance, release.variance_scale)


def quadratic_form(
    directions: Float[np.ndarray, "... m blocks"],
    moments: Float[np.ndarray, "... blocks q"],
    covariance: Float[np.ndarray, "... d d"],
    variance_scale: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Statistic and tau, (..., m), of releases along the leading axes, which broadcast."""
    blocks, q = moments.shape[-2:]
    b = directions / np.linalg.norm(directions, axis=-1, keepdims=True)
    g = b @ moments
    sigma = covariance.reshape(*covariance.shape[:-2], blocks, q, blocks, q)
    V = np.einsum("...mi,...iajb,...mj->...mab", b, sigma, b, optimize=blocks > 2)
    # In correlation form, so that instruments of different scales do not cost digits.
    scale = np.sqrt(np.einsum("...maa->...ma", V))
    inverse = np.linalg.inv(V / scale[..., :, None] / scale[..., None, :])
    h = g / scale
    statistic = np.einsum("...ma,...mab,...mb->...m", h, inverse, h)
    tau = variance_scale * np.einsum("...maa,...ma->...m", inverse, 1 / scale**2) / q
    return np.maximum(statistic, 0.0), tau


@typed
def anderson_rubin_trials(
    thetas: Float[np.ndarray, "*trials p"],
    moments: Float[np.ndarray, "trials blocks q"],
    signal: Float[np.ndarray, "trials d d"],
    *,
    mean_scale: float,
    variance_scale: float,
    level: float = 0.95,
    correct: bool = True,
) -> Curve:
    """The test on many releases at once, one point each (or all the same, (p,)), every part of shape (trials,).

    Arguments are the attributes of a `Release`, stacked: theta = beta a_x / a_y; T1 or Z'V; the signal; s1; s2. Raises
    `DomainError` for arrays that do not fit.
    """
    thetas, moments, signal = finite_stack("thetas", thetas, 1), finite_stack("moments", moments, 3), _signal(signal)
    blocks, q = moments.shape[-2:]
    if thetas.shape[-1] != blocks - 1 or signal.shape != (len(moments), blocks * q, blocks * q):
        shapes = f"{thetas.shape}, {moments.shape}, {signal.shape}"
        raise DomainError(
            "shapes of thetas, moments, signal", shapes, "(trials, p), (trials, p + 1, q), (trials, d, d)"
        )
    mean_scale = moderate_or_zero("mean_scale", mean_scale)
    variance_scale = moderate_or_zero("variance_scale", variance_scale)
    directions = np.concatenate([np.ones((*thetas.shape[:-1], 1)), -thetas], axis=-1)[..., None, :]
    found = quadratic_form(directions, moments, with_noise(signal, mean_scale), variance_scale)
    statistic, tau = (part[..., 0] for part in found)
    c = chi_square_quantile(moments.shape[-1], level)
    critical = corrected(c, moments.shape[-1], tau) if correct else np.full(len(tau), c)
    return Curve(statistic, critical, tau)


def _signal(signal: np.ndarray) -> np.ndarray:
    stack = finite_stack("signal", signal, 3)
    if stack.shape[-1] != stack.shape[-2]:
        raise DomainError("signal", f"an array of shape {stack.shape}", "square matrices")
    return stack


@typed
def first_stage(release: Release, regressor: int = 0, level: float = 0.95, correct: bool = True) -> FirstStage:
    """How strong the instruments look under privacy: the test at an infinite coefficient of one regressor.

    With one regressor the set is unbounded if and only if this test does not reject. Raises `DomainError` for a
    regressor that is not there.
    """
    if regressor not in range(release.p):
        raise DomainError("regressor", regressor, f"a number from 0 to {release.p - 1}")
    direction = np.zeros((1, release.p + 1))
    direction[0, 1 + regressor] = 1.0
    statistic, tau = (float(part[0]) for part in along(release, direction))
    c = chi_square_quantile(release.q, level)
    critical = float(corrected(c, release.q, tau)) if correct else c
    return FirstStage(statistic, statistic / release.q, critical, statistic > critical)
