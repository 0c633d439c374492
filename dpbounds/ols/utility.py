"""Utility of iterative Hessian mixing with all constants: Theorem 1 item 2 of ols, by Davidson and Szarek's bound.

With probability 1 - p a sketch of k rows has ||I - V^-1|| <= q = (1 - x)^-2 - 1, x = (sqrt d + sqrt(2 log(2/p))) /
sqrt k, and a standard Gaussian vector is at most sqrt d + sqrt(2 log(1/p)) long. All is about Algorithm 1 with its
ridge term and step 1; risks are the sum ||X (theta - theta*)||².

>>> theorem_sketch_size(10, 1e-7, 3)
4454
>>> round(theorem_clip(10.0, theta_norm=0.5), 2)
2.92
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import count, moderate, moderate_or_zero, positive, within
from dpbounds.ols.features import Features
from dpbounds.ols.gram import Gram
from dpbounds.values import Value

SOURCE = "ols Thm 1 with constants (Davidson & Szarek)"
# The theorem takes sketches with q <= 1/sqrt 8: twice its square, to the power T, is at most 4^-T / 2^(T-1).
CONTRACTION = 1 / math.sqrt(8)
LARGEST_X = 1 - 1 / math.sqrt(1 + CONTRACTION)
# What the noise of all steps together is multiplied by: (1 + q) / (1 - q).
NOISE_FACTOR = (1 + CONTRACTION) / (1 - CONTRACTION)


def theorem_sketch_size(d: int, failure: float, steps: int) -> int:
    """The least k for `theorem`: (sqrt d + sqrt(2 log(8T/failure)))² / 0.1405² <= 296 max{d, log(8T/failure)} + 1."""
    return math.ceil((_reach(d, 8 * count("steps", steps) / _failure(failure)) / LARGEST_X) ** 2)


def theorem_clip(condition: float, *, theta_norm: float, outcome_bound: float = 1.0) -> float:
    """1.42 (C_Y + (1 + sqrt(condition/8)) ||theta*||): from this C on nothing is clipped, with the noise of Theorem 1.

    `condition` bounds kappa^X(psi) = (lambda_max + psi) / (lambda_min + psi), psi = max{0, gamma - lambda_min}; the
    noise may be any with sigma / gamma <= C / sqrt k. No condition number is too large, and at T = 1 C_Y will do.
    """
    condition = within("condition", condition, "[1, inf)")
    spread = (1 + CONTRACTION * math.sqrt(condition)) * moderate_or_zero("theta_norm", theta_norm)
    return (moderate("outcome_bound", outcome_bound) + spread) / (1 - NOISE_FACTOR * LARGEST_X)


@typed
def theorem(features: Features, *, d: int, k: int, steps: int, failure: float, gamma: float, sigma: float) -> Value:
    """With probability 1 - failure: risk <= 4^-T ||X theta*||² + (17.54 sigma² w² + 4 gamma² ||theta*||²) / max{gamma,
    lambda_min}, w = sqrt d + sqrt(2 log(2T/failure)), where nothing is clipped (`theorem_clip`).

    For k >= `theorem_sketch_size` (inf below) and a released eigenvalue above lambda_min with probability failure/8 at
    most, as with tau of Theorem 1. The rest of `failure`: 2T sketch events of failure/(8T), T noise vectors of
    failure/(2T). Uses ||theta_R - theta*||²_M = eta^4 ||theta*||²_(M^-1), not Lemma 4. Read off the data: lambda^X,
    ||X theta*||² and ||theta*||².
    """
    steps, gamma, sigma = count("steps", steps), positive("gamma", gamma), moderate_or_zero("sigma", sigma)
    least = max(gamma, features.lambda_min)
    if count("k", k) < theorem_sketch_size(d, failure, steps):
        return Value(math.inf, kind="upper", source=SOURCE)
    noise = (NOISE_FACTOR * sigma * _reach(d, 2 * steps / failure)) ** 2
    number = 4.0**-steps * features.signal + 4 * (noise + gamma**2 * features.theta_squared) / least
    return Value(number, kind="upper", source=SOURCE)


@dataclass(frozen=True, kw_only=True)
class UtilityBound:
    """With probability 1 - failure at least: sqrt(risk) <= contraction^T start + noise + bias.

    `risk` is the square of the right side; `clip`: from this C on nothing is clipped on the same event.
    """

    contraction: float
    start: float
    noise: float
    bias: float
    steps: int
    clip: float

    @property
    def risk(self) -> Value:
        """The bound on ||X (theta_T - theta*)||²; inf where the sketch is too small for it."""
        if not math.isfinite(self.noise):
            return Value(math.inf, kind="upper", source=SOURCE)
        root = self.contraction**self.steps * self.start + self.noise + self.bias
        return Value(root**2, kind="upper", source=SOURCE)


@typed
def given_noise(
    problem: Gram,
    *,
    steps: int,
    k: int,
    eta_squared: float,
    sigma: float,
    failure: float,
    outcome_bound: float = 1.0,
) -> UtilityBound:
    """Theorem 1 item 2 with all constants, given eta² and with the ridge term kept; for any data.

    x = (sqrt d + sqrt(2 log(4T/failure))) / sqrt k < 1 - 1/sqrt 2, q = (1-x)^-2 - 1, l = lambda_min + eta² > 0, N =
    sigma (sqrt d + sqrt(2 log(2T/failure))) / ((1-q) (1-x)² sqrt l): sqrt(risk) <= q^T ||theta_R||_M + N + eta²
    ||theta*|| / sqrt l, and nothing is clipped if C >= C_Y + ||theta_R|| + (||theta_R||_M + N) / sqrt l. All are inf
    if x is too large (q >= 1) or M singular. Source: beyond the paper (ols, item 10).
    """
    spectrum, d, steps = problem.spectrum, problem.d, count("steps", steps)
    k = count("k", k, d, f"d = {d}: a smaller sketch cannot be inverted")
    eta_squared, sigma = moderate_or_zero("eta_squared", eta_squared), moderate_or_zero("sigma", sigma)
    failure, outcome_bound = _failure(failure), moderate("outcome_bound", outcome_bound)
    x = (math.sqrt(d) + math.sqrt(2 * math.log(4 * steps / failure))) / math.sqrt(k)
    q = (1 - x) ** -2 - 1 if x < 1 else math.inf
    mu = spectrum.eigenvalues + eta_squared
    if q >= 1 or mu.min() == 0:
        return UtilityBound(contraction=q, start=math.inf, noise=math.inf, bias=math.inf, steps=steps, clip=math.inf)
    ridge, least = spectrum.loads / mu, float(mu.min())
    start = float(np.sqrt((mu * ridge**2).sum()))
    reach = math.sqrt(d) + math.sqrt(2 * math.log(2 * steps / failure))
    noise = sigma * reach / ((1 - q) * (1 - x) ** 2 * math.sqrt(least))
    bias = eta_squared * float(np.linalg.norm(spectrum.theta)) / math.sqrt(least)
    clip = outcome_bound + float(np.linalg.norm(ridge)) + (start + noise) / math.sqrt(least)
    return UtilityBound(contraction=q, start=start, noise=noise, bias=bias, steps=steps, clip=clip)


def _reach(d: int, inverse_probability: float) -> float:
    """sqrt d + sqrt(2 log(1/p)): the length that a standard Gaussian vector exceeds with probability p at most."""
    return math.sqrt(count("d", d)) + math.sqrt(2 * math.log(inverse_probability))


def _failure(failure: float) -> float:
    return within("failure", failure, "(0, 1)")
