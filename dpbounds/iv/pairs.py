"""Worst pairs of neighbouring data sets for iv Algorithms 1 and 3.

Instruments are 0 or e_1; `magnitude` is K, and the costs of `dpbounds.iv.privacy` are reached as K grows (they are
suprema: a Gaussian iterate is in the range where clipping is not active with a probability that vanishes as K grows,
and is never 0 at finite K).

>>> first, second = joint_pair(3)
>>> [bool((a != b).any()) for a, b in zip(first, second, strict=True)]
[False, True, True]
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from dpbounds.errors import count, moderate
from dpbounds.privacy import Adjacency, sensitivity_factor


class Data(NamedTuple):
    """Instruments (n, q), regressors (n, p) and outcomes (n,), one record per row."""

    Z: Float[np.ndarray, "n q"]
    X: Float[np.ndarray, "n p"]
    Y: Float[np.ndarray, " n"]


class Pair(NamedTuple):
    """Two neighbouring data sets; for add-remove the second has one record fewer."""

    first: Data
    second: Data


def joint_pair(n: int, *, q: int = 1, p: int = 1, magnitude: float = 1e9, adjacency: Adjacency = "replace-one") -> Pair:
    """n - 1 records of zeros and one (z, x, y) = (e_1, K e_1, K), against (e_1, -K e_1, -K), zeros, or no record.

    For p = q = 1 the record's Theta-gradient is Theta - K, clipped -gamma_1; its beta-gradient Theta(Theta beta - K),
    clipped -gamma_2 in the direction of Theta. On the neighbour both have the other sign, or are 0: every release moves
    by the whole sensitivity, except the first of beta (Theta_0 = 0). Source: dpbounds, exact form of iv Prop. 3.1.
    """
    K, sizes = moderate("magnitude", magnitude), (count("q", q, most=1e6), count("p", p, most=1e6))
    return _pair([(0.0, 0.0, 0.0)] * (count("n", n) - 1), (1.0, K, K), (1.0, -K, -K), adjacency, sizes)


def beta_only_pair(n: int, *, shift: float, magnitude: float = 1e9, adjacency: Adjacency = "replace-one") -> Pair:
    """n records with outcome K whose first stage changes sign with one record: x = `shift` against -`shift`.

    Replace-one: n - 1 records (1, 0, K) and (1, ±shift, K). Zero-out and add-remove: one of the n - 1 records has x =
    -shift/2, so that theta_hat is shift/(2n) with the last record and negative without it. The sign of Theta_t decides
    the sign of all clipped beta-gradients (K >> n / shift). Un-noised, for 0 < eta < 2 (beyond, with smaller z), the
    beta-gradients move by the whole `privacy.unnoised_sensitivity` at every t >= 1; with Theta-gradients clipped at
    gamma_1 = shift and noise, Theta_1 moves by c eta gamma_1 / n (`privacy.beta_only_attack`). Counterexample to iv
    Lemma F.1.
    """
    K, x = moderate("magnitude", magnitude), moderate("shift", shift)
    others = [(1.0, 0.0, K)] * (count("n", n) - 1)
    if sensitivity_factor(adjacency) == 1 and others:
        others[0] = (1.0, -x / 2, K)
    return _pair(others, (1.0, x, K), (1.0, -x, K), adjacency)


def _pair(
    others: list, record: tuple, replacement: tuple, adjacency: Adjacency, sizes: tuple[int, int] = (1, 1)
) -> Pair:
    """`others` with the record, and with what stands in its place under this adjacency; `sizes` (q, p)."""
    sensitivity_factor(adjacency)
    instead = {"replace-one": [replacement], "zero-out": [(0.0, 0.0, 0.0)], "add-remove": []}[adjacency]
    return Pair(_data([*others, record], *sizes), _data([*others, *instead], *sizes))


def _data(records: list, q: int, p: int) -> Data:
    """Records of three numbers: the first coordinates of z and x, whose others are 0, and y."""
    z, x, y = np.array(records, dtype=float).reshape(-1, 3).T
    return Data(np.outer(z, np.eye(q)[0]), np.outer(x, np.eye(p)[0]), y)
