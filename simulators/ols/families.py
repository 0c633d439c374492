"""Synthetic data in the regimes that the methods are said to like and dislike; rows and outcomes within 1.

>>> data = family("wellcond", n=200)
>>> data.n, data.d
(200, 8)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np

from dpbounds.errors import choice, count, moderate_or_zero
from simulators.ols.records import LeastSquares
from simulators.ols.sketches import room

Family = Literal["residual", "wellcond", "smalltheta", "mixfriendly", "clip"]
Activation = Literal["tanh", "relu", "sigmoid"]
MOST_RECORDS = 1_000_000


def family(name: Family, *, n: int = 4096, seed: int = 0) -> LeastSquares:
    """A data set of one regime:

    - `residual`: d = 16, four strong columns, a residual of the size of the bound;
    - `wellcond`: d = 8, signs, so that A is near (n/d) I, and a small residual;
    - `smalltheta`: the same rows, outcomes that hardly depend on them;
    - `mixfriendly`: d = 40, columns of geometric size down to 10⁻³, a small residual;
    - `clip`: d = 32, features of one lognormal latent through three sigmoid layers, outcomes +-1: residuals exceed 1.
    """
    choice("name", name, get_args(Family))
    X, Y = _FAMILIES[name](np.random.default_rng(count("seed", seed, least=0)), count("n", n, most=MOST_RECORDS))
    return LeastSquares(regressors=X, outcome=Y)


def perceptron(
    *, n: int, width: int = 128, seed: int = 0, activation: Activation = "tanh", noise: float = 0.1
) -> LeastSquares:
    """Features phi of one normal latent through two random layers (ols Appendix L, Figure 7): phi = a(W₂ a(W₁ x + c₁) +
    c₂) with normal weights of variance 1 / fan-in and biases of variance 1; y = phi'theta_0 + `noise` z, theta_0 a
    random unit vector; scaled to rows and outcomes within 1. The paper gives neither activation nor weights.
    """
    choice("activation", activation, get_args(Activation))
    n, width = count("n", n, most=MOST_RECORDS), count("width", width, most=4096)
    room(n, width)
    noise = moderate_or_zero("noise", noise)
    generator = np.random.default_rng(count("seed", seed, least=0))
    act = _ACTIVATIONS[activation]
    hidden = act(
        generator.standard_normal((n, 1)) @ generator.standard_normal((1, width)) + generator.standard_normal(width)
    )
    weights = generator.standard_normal((width, width)) / np.sqrt(width)
    features = act(hidden @ weights + generator.standard_normal(width))
    theta = _unit(generator, width)
    Y = features @ theta + noise * generator.standard_normal(n)
    return LeastSquares(regressors=features / np.linalg.norm(features, axis=1).max(), outcome=Y / np.abs(Y).max())


def _residual(generator: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    X = _scaled_uniform(generator, n, np.array([1.0] * 4 + [0.03] * 12))
    theta = np.concatenate([[0.5, -0.5, 0.4, -0.3], np.zeros(12)])
    signs = 2.0 * generator.integers(0, 2, n) - 1.0
    return X, np.clip(X @ theta + 0.75 * signs * generator.uniform(0.3, 1.0, n), -1.0, 1.0)


def _well_conditioned(generator: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    X = _signs(generator, n, 8)
    theta = np.linspace(1.0, -1.0, 8)
    theta *= 0.5 * np.sqrt(8.0) / np.abs(theta).sum()
    return X, X @ theta + 0.01 * generator.uniform(-1.0, 1.0, n)


def _small_theta(generator: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    X = _signs(generator, n, 8)
    return X, generator.uniform(-0.5, 0.5, n) + 0.01 * X.sum(axis=1)


def _mixing_friendly(generator: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    X = _scaled_uniform(generator, n, np.maximum(2.0 ** -np.arange(40.0), 1e-3))
    theta = np.concatenate([[0.9, 0.4, 0.2], np.zeros(37)])
    return X, np.clip(X @ theta + 0.02 * generator.standard_normal(n), -1.0, 1.0)


def _clipping(generator: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    H = generator.lognormal(1.0, 1.0, (n, 1))
    for _ in range(3):
        H = _sigmoid(H @ generator.standard_normal((H.shape[1], 32)))
    score = H @ _unit(generator, 32)
    margin = 2.0 * (score - score.mean()) / score.std() + generator.standard_normal(n)
    return H / np.linalg.norm(H, axis=1).max(), np.where(margin >= 0, 1.0, -1.0)


def _signs(generator: np.random.Generator, n: int, d: int) -> np.ndarray:
    return (2.0 * generator.integers(0, 2, (n, d)) - 1.0) / np.sqrt(d)


def _scaled_uniform(generator: np.random.Generator, n: int, sizes: np.ndarray) -> np.ndarray:
    return generator.uniform(-1.0, 1.0, (n, len(sizes))) * sizes / np.linalg.norm(sizes)


def _unit(generator: np.random.Generator, d: int) -> np.ndarray:
    vector = generator.standard_normal(d)
    return vector / np.linalg.norm(vector)


def _sigmoid(values: np.ndarray) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(-values))


_FAMILIES: dict[str, Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]] = {
    "residual": _residual,
    "wellcond": _well_conditioned,
    "smalltheta": _small_theta,
    "mixfriendly": _mixing_friendly,
    "clip": _clipping,
}
_ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "tanh": np.tanh,
    "relu": lambda values: np.maximum(values, 0.0),
    "sigmoid": _sigmoid,
}
