"""The law of the noise level that an algorithm releases, and averages over it.

Algorithms 2 to 6 of ols draw z ~ N(0, 1), release lambda = max(lambda_min - scale (tau - z), 0) and fill it up to a
level: max(level - lambda, 0) is the variance eta² of the sketch's noise, or AdaSSP's ridge.

>>> law = released(10.0, level=30.0, scale=2.0, tau=4.0)
>>> round(float(law.mean(law.values)), 2)
27.83
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import log_ndtr, ndtr

from dpbounds.errors import DomainError, count, moderate, moderate_or_zero, real, vector
from dpbounds.values import Kind, Value

# z beyond this has a probability below 1e-30, and is left out.
FARTHEST = 11.5
NODES = 48


class NoiseLaw(NamedTuple):
    """Values and their probabilities: the atoms 0 and `level`, and nodes of Gauss-Legendre between."""

    values: Float[np.ndarray, " n"]
    weights: Float[np.ndarray, " n"]

    def checked(self, parameter: str) -> NoiseLaw:
        """Itself, as arrays. Raises `DomainError` for what is not as many probabilities as values."""
        values, weights = vector(f"values of {parameter}", self.values), vector(f"weights of {parameter}", self.weights)
        if len(values) != len(weights) or weights.min() < 0 or not weights.sum() > 0:
            raise DomainError(parameter, self, "values and as many probabilities")
        return NoiseLaw(values, weights)

    def mean(self, risks: Float[np.ndarray, "*any n"]) -> np.ndarray:
        """The average of a function of the value, given at `values`; shape (...)."""
        return np.asarray(np.asarray(risks) @ self.weights)


def released(lambda_min: float, *, level: float, scale: float, tau: float, nodes: int = NODES) -> NoiseLaw:
    """The law of max(level - max(lambda_min - scale (tau - z), 0), 0), z ~ N(0, 1).

    Mixing noise (ols Alg. 2): level = gamma C_X², scale = gamma / sqrt(k) C_X². Alg. 4 and 5: lambda_min of (X,
    Y)'(X, Y), both times C_X² + C_Y². AdaSSP's ridge (Alg. 6): its regularisation level, the noise scale of the
    eigenvalue, tau = sqrt(2 log(6/delta)). Atom at `level`: Phi(tau - lambda_min / scale); at 0: 1 - Phi(tau -
    (lambda_min - level) / scale). Outcomes of a total probability below 1e-30 are left out. Raises `DomainError`
    unless level >= 0 and scale > 0.
    """
    lambda_min, level = moderate_or_zero("lambda_min", lambda_min), moderate_or_zero("level", level)
    scale, tau = moderate("scale", scale), real("tau", tau)
    low, high = tau - lambda_min / scale, tau - (lambda_min - level) / scale  # z at the two kinks
    ends = np.clip([low, high], -FARTHEST, FARTHEST)
    x, weights = _legendre(count("nodes", nodes, most=1000))
    # Panels of a standard deviation or two, so that the normal density is smooth on each.
    cuts = np.linspace(ends[0], ends[1], max(1, math.ceil((ends[1] - ends[0]) / 4)) + 1)
    middles, halves = (cuts[1:] + cuts[:-1]) / 2, (cuts[1:] - cuts[:-1]) / 2
    z = (middles[:, None] + halves[:, None] * x).ravel()
    density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    between = np.clip(level - lambda_min + scale * (tau - z), 0.0, level)
    full, empty = float(ndtr(low)), float(np.exp(log_ndtr(-high)))
    values = np.concatenate([[level], between, [0.0]])
    probabilities = np.concatenate([[full], (halves[:, None] * weights).ravel() * density, [empty]])
    kept = probabilities > 1e-30
    return NoiseLaw(values[kept], probabilities[kept] / probabilities[kept].sum())


@cache
def _legendre(nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights on [-1, 1], which take longer to find than to use."""
    return np.polynomial.legendre.leggauss(nodes)


def averaged(
    risk: Callable[[np.ndarray], np.ndarray],
    noise: float | NoiseLaw,
    *,
    kind: Kind,
    source: str,
    name: str = "eta_squared",
) -> Value:
    """A risk, a function of arrays of noise levels, at one level or averaged over their law; `name`: the level's."""
    if isinstance(noise, NoiseLaw):
        noise = noise.checked("noise")
        return Value(float(noise.mean(risk(noise.values))), kind=kind, source=source)
    return Value(float(risk(np.array([real(name, noise)]))[0]), kind=kind, source=source)
