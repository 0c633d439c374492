"""Laws on a few points, and their divergences: weights along the last axis."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

ORDERS = 1.0 + np.geomspace(1e-3, 1e3, 40)


def laws(logits: np.ndarray, count: int) -> np.ndarray:
    """`count` laws on three points from 3 * count logits a row: (n, count, 3)."""
    weights = np.exp(logits.reshape(len(logits), count, 3))
    return weights / weights.sum(axis=-1, keepdims=True)


def divergences(p: np.ndarray, q: np.ndarray, orders: np.ndarray) -> np.ndarray:
    """D_alpha(p || q) at every order, along a new last axis."""
    exponents = np.log(q)[..., None, :] + orders[:, None] * np.log(p / q)[..., None, :]
    return log_sum(exponents) / (orders - 1)


def log_sum(exponents: np.ndarray) -> np.ndarray:
    """log of the sum of exponentials along the last axis."""
    return np.asarray(logsumexp(exponents, axis=-1))


def relative_entropy(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """KL along the last axis."""
    return np.sum(p * np.log(p / q), axis=-1)


def zcdp(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Upper bound on sup_{alpha > 1} D_alpha / alpha both ways: D grows with alpha, so D at the next order over this
    one.
    """
    below, worst = np.concatenate([[1.0], ORDERS[:-1]]), np.zeros(p.shape[:-1])
    for first, second in ((p, q), (q, p)):
        beyond = np.log(first / second).max(axis=-1) / ORDERS[-1]
        worst = np.maximum(worst, np.maximum((divergences(first, second, ORDERS) / below).max(axis=-1), beyond))
    return worst
