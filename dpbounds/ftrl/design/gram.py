"""The Gram matrix G of a training run: what noise correlations cost in weighted loss.

The noise w~_t of step t moves the iterate, and N tr(G B B^T) is what all of it adds to sum_t omega_t E F(theta_t). G is
the covariance of d Markov chains that run backward in time,

    y_t = b_t^T xi_t,   Cov xi_t = Z_t,   xi_{t-1} = M_t^T xi_t + independent noise,

with M_t the mean of one step on (theta, velocity) in one eigendirection, b_t the push of the noise of step t, and Z_t
what a second moment after step t will cost. So G_st = sum_j b_s^T M_{s+1}^T ... M_t^T Z_t b_t for s <= t, and G v costs
O(d T). State dimension p = 1, and p = 2 with heavy ball.

>>> chains = descent_chains(np.array([1.0]), np.array([0.5, 0.5]), np.array([0.0, 1.0]), 0.0)  # final loss, noiseless
>>> chains.gram().tolist()
[[0.03125, 0.0625], [0.0625, 0.125]]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

# Steps between two products of matrices in `Chains.gram`.
BLOCK = 32


@dataclass(frozen=True, eq=False, kw_only=True)
class Chains:
    """M_t, b_t and Z_t for t = 0..T-1 and d eigendirections; `start` is the cost per unit of squared start distance."""

    transition: Float[np.ndarray, "T d p p"]
    drive: Float[np.ndarray, "T d p"]
    future: Float[np.ndarray, "T d p p"]
    start: Float[np.ndarray, " d"]

    @property
    def gain(self) -> Float[np.ndarray, "T d p"]:
        """Z_t b_t."""
        return _times(self.future, self.drive)

    def diagonal(self) -> Float[np.ndarray, " T"]:
        """G_tt."""
        return np.einsum("tjp,tjp->t", self.drive, self.gain)

    def gram(self) -> Float[np.ndarray, "T T"]:
        """G, dense, a block of columns at a time."""
        T, d, p = self.drive.shape
        gain, dense = self.gain, np.zeros((T, T))
        # reach[s] = M_{t0-1} ... M_{s+1} b_s: what is left of a push at step s when the block starts.
        reach = np.zeros((T, d, p))
        for t0 in range(0, T, BLOCK):
            block = slice(t0, min(t0 + BLOCK, T))
            across = np.broadcast_to(np.eye(p), (d, p, p))
            weights = np.empty((block.stop - t0, d, p))
            for t in range(t0, block.stop):
                across = _compose(self.transition[t], across)
                reach[t0:t] = _times(self.transition[t], reach[t0:t])
                reach[t] = self.drive[t]
                weights[t - t0] = _transposed_times(across, gain[t])
                dense[t0 : t + 1, t] = reach[t0 : t + 1].reshape(-1, d * p) @ gain[t].ravel()
            dense[:t0, block] = reach[:t0].reshape(-1, d * p) @ weights.reshape(-1, d * p).T
            reach[:t0] = _times(across, reach[:t0])
        return dense + np.triu(dense, 1).T

    def apply(self, vectors: Float[np.ndarray, "T ..."]) -> Float[np.ndarray, "T ..."]:
        """G v for one vector or for columns."""
        columns = vectors.reshape(len(vectors), -1)
        T, d, p = self.drive.shape
        gain, result = self.gain, np.empty_like(columns)
        state = np.zeros((d, p, columns.shape[1]))
        for t in range(T):
            state = _advance(self.transition[t], state) + self.drive[t][..., None] * columns[t]
            result[t] = np.einsum("jp,jpk->k", gain[t], state)
        state = np.zeros_like(state)
        for t in range(T - 1, 0, -1):
            state = _advance(self.transition[t].swapaxes(-1, -2), state + gain[t][..., None] * columns[t])
            result[t - 1] += np.einsum("jp,jpk->k", self.drive[t - 1], state)
        return result.reshape(vectors.shape)


def descent_chains(
    eigenvalues: Float[np.ndarray, " d"],
    rates: Float[np.ndarray, " T"],
    omega: Float[np.ndarray, " T"],
    noise_share: float,
) -> Chains:
    """Gradient descent on averages of m = 1 / `noise_share` Gaussian examples; 0 for noiseless gradients.

    Z is the z of z_j(t) = omega_{t+1} lambda_j / 2 + [R_{t+1} z(t+1)]_j with R_t z = ((1 - x_t)^2 + x_t^2 / m) z +
    (eta_t^2 / m) lambda <lambda, z>, x_tj = eta_t lambda_j: the exact recursion of second moments, transposed.
    """
    T, d = len(rates), len(eigenvalues)
    x = np.outer(rates, eigenvalues)
    kept = (1.0 - x) ** 2 + noise_share * x**2
    spread = noise_share * rates**2
    z, cost = np.zeros((T, d)), np.zeros(d)
    for t in range(T - 1, -1, -1):
        z[t] = 0.5 * omega[t] * eigenvalues + cost
        cost = kept[t] * z[t] + spread[t] * (eigenvalues @ z[t]) * eigenvalues
    return Chains(
        transition=(1.0 - x)[..., None, None],
        drive=np.repeat(rates[:, None, None], d, axis=1),
        future=z[..., None, None],
        start=cost,
    )


def momentum_chains(
    eigenvalues: Float[np.ndarray, " d"],
    rates: Float[np.ndarray, " T"],
    omega: Float[np.ndarray, " T"],
    momentum: float,
) -> Chains:
    """Heavy ball, noiseless gradients: v <- mu v + g + w~, theta <- theta - eta_t v, from v = 0. State (theta, v)."""
    T, d = len(rates), len(eigenvalues)
    transition = np.empty((T, d, 2, 2))
    transition[..., 0, 0] = 1.0 - np.outer(rates, eigenvalues)
    transition[..., 0, 1] = -momentum * rates[:, None]
    transition[..., 1, 0] = eigenvalues
    transition[..., 1, 1] = momentum
    future, cost = np.zeros((T, d, 2, 2)), np.zeros((d, 2, 2))
    for t in range(T - 1, -1, -1):
        future[t] = cost
        future[t, :, 0, 0] += 0.5 * omega[t] * eigenvalues
        cost = transition[t].swapaxes(-1, -2) @ future[t] @ transition[t]
    drive = np.empty((T, d, 2))
    drive[..., 0], drive[..., 1] = -rates[:, None], 1.0
    return Chains(transition=transition, drive=drive, future=future, start=cost[:, 0, 0])


def _times(matrices: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """M v in every direction."""
    if matrices.shape[-1] == 1:
        return matrices[..., 0] * vectors
    return np.einsum("...jpq,...jq->...jp", matrices, vectors)


def _transposed_times(matrices: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """M^T v in every direction."""
    return np.einsum("jqp,jq->jp", matrices, vectors)


def _compose(later: np.ndarray, earlier: np.ndarray) -> np.ndarray:
    """The product of two matrices in every direction."""
    return later * earlier if later.shape[-1] == 1 else later @ earlier


def _advance(matrices: np.ndarray, states: np.ndarray) -> np.ndarray:
    """M x for columns x, in every direction."""
    return matrices * states if matrices.shape[-1] == 1 else matrices @ states
