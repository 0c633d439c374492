"""Noise of one message t, ||t|| <= 1: Gaussian, or a point of a sphere near t, which needs no delta.

Gaussian: two messages differ by 2 at most, and by 2 for some records, so sigma = 2 / mu is exactly mu-GDP. Cap: t is
first rounded to +-t / ||t|| (with probabilities (1 +- ||t||) / 2), then a point U of the sphere is drawn with density
e^eps on the cap <U, t> >= gamma over that elsewhere, and sent as U / m, m = E <U, t>: exactly eps-local DP, mean t.
With I = E[u_1; u_1 >= gamma] and P = P(u_1 >= gamma), m = (e^eps - 1) I / (1 + (e^eps - 1) P) is largest where gamma =
m (the best set is where u_1 exceeds the quotient itself). gamma = 0 is the hemisphere.

>>> best = cap(5, 2.0)
>>> f"{best.gamma:.3f} {best.trace:.4f} {hemisphere(5, 2.0).trace:.3f}"
'0.357 7.8571 12.260'
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, cast, get_args

import numpy as np
from scipy import special
from scipy.optimize import brentq

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, choice, count, within
from dpbounds.glm.messages.moments import MOST_P
from dpbounds.privacy import gaussian_mu

Noise = Literal["gaussian", "hemisphere", "cap"]
EPSILONS = "[1e-6, 50]"


@dataclass(frozen=True, kw_only=True)
class Cap:
    """A cap of the sphere in R^p and what is sent.

    - `gamma`: the cap is <U, t> >= gamma; `probability`: with which U is in it;
    - `scale`: 1 / m, the length of what is sent;
    - `along`, `across`: E <Z, t>^2, and E <Z, v>^2 for a unit v orthogonal to t (0 at p = 1).
    """

    p: int
    epsilon: float
    gamma: float
    probability: float
    scale: float
    along: float
    across: float

    @property
    def trace(self) -> float:
        """E ||Z||^2 = 1 / m^2."""
        return self.scale**2


@typed
def cap(p: int, epsilon: float) -> Cap:
    """The cap of least E ||Z||^2 among all of eps-local privacy. Derived here. Raises `DomainError` for epsilon outside
    [1e-6, 50].
    """
    p, epsilon = count("p", p, most=MOST_P), within("epsilon", epsilon, EPSILONS)
    gain = math.expm1(epsilon)

    def excess(gamma: float) -> float:
        share, first, _ = _partial(p, gamma)
        return gain * (first - gamma * share) - gamma

    gamma = (
        math.tanh(epsilon / 2.0)
        if p == 1
        else cast(float, brentq(excess, 0.0, 1.0, xtol=1e-300, rtol=np.float64(8.9e-16)))
    )
    return _of(p, epsilon, gamma)


@typed
def hemisphere(p: int, epsilon: float) -> Cap:
    """The half sphere: E Z Z^T = (B^2 / p) I for every t, B = coth(eps / 2) sqrt(pi) Gamma((p + 1) / 2) / Gamma(p / 2).

    Derived here. Raises `DomainError` for epsilon outside [1e-6, 50].
    """
    return _of(count("p", p, most=MOST_P), within("epsilon", epsilon, EPSILONS), 0.0)


@typed
def gaussian_scale(epsilon: float, delta: float) -> float:
    """sigma = 2 / mu of a message's noise, exactly (epsilon, delta)-private over all pairs of records."""
    return 2.0 / float(gaussian_mu(epsilon, delta))


@typed
def sphere(noise: Noise, p: int, epsilon: float) -> Cap:
    """The cap or the hemisphere by name. Raises `DomainError` for Gaussian noise."""
    if choice("noise", noise, get_args(Noise)) == "gaussian":
        raise DomainError("noise", noise, "hemisphere or cap", "Gaussian noise is on no sphere")
    return cap(p, epsilon) if noise == "cap" else hemisphere(p, epsilon)


def _of(p: int, epsilon: float, gamma: float) -> Cap:
    share, first, second = _partial(p, gamma)
    gain = math.expm1(epsilon)
    mass = 1.0 + gain * share
    mean, square = gain * first / mass, (1.0 / p + gain * second) / mass
    return Cap(
        p=p,
        epsilon=epsilon,
        gamma=gamma,
        probability=math.exp(epsilon) * share / mass,
        scale=1.0 / mean,
        along=square / mean**2,
        across=(1.0 - square) / (p - 1) / mean**2 if p > 1 else 0.0,
    )


def _partial(p: int, gamma: float) -> tuple[float, float, float]:
    """P(u >= gamma), E[u; u >= gamma], E[u^2; u >= gamma] of a coordinate u of a uniform point of the sphere."""
    if p == 1:
        return 0.5, 0.5, 0.5
    half, rest = (p - 1) / 2.0, (1.0 - gamma) * (1.0 + gamma)
    share = 0.5 * float(special.betainc(half, 0.5, rest))
    log_first = special.gammaln(p / 2.0) - special.gammaln(half) - 0.5 * math.log(math.pi) - math.log(p - 1.0)
    first = math.exp(log_first) * rest**half
    return share, first, float(special.betainc(half, 1.5, rest)) / (2.0 * p)
