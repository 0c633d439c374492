"""The exact cost of buffered noise: joint second moments of the buffers and the iterate.

With u = C^{-1} (w / r) from buffers b, b(t+1) = A b(t) + 1 w_t / r_t, noise w~_t = n_t u_t and the mean dynamics
x_{t+1} = M_{t+1} (x_t + d_t w~_t) of one eigendirection (`gram.Chains`),

    P(t+1) = A P A^T + 1 1^T / r_t^2,   K(t+1) = M_{t+1} (K A^T + n_t d_t a_t^T),   a_t = 1 / r_t^2 - A P omega,
    tr(G B B^T) = sum_t n_t sum_j g_tj^T (d_tj n_t E u_t^2 - 2 K_j omega),  E u_t^2 = 1 / r_t^2 + omega^T P omega,

P = E b b^T, K = E x b^T, g_t = Z_t d_t. Nothing is approximated.

>>> from dpbounds.ftrl.design.gram import descent_chains
>>> chains = descent_chains(np.array([1.0]), np.full(2, 0.5), np.full(2, 0.5), 0.0)
>>> alone = buffered_noise_power(np.zeros((0, 0)), np.zeros(0), chains, before=np.ones(2), after=np.ones(2))
>>> alone, float(np.trace(chains.gram()))  # without buffers noise is independent
(0.140625, 0.140625)
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from dpbounds.ftrl.design.gram import Chains


def buffered_noise_power(
    transition: Float[np.ndarray, "m m"],
    outlet: Float[np.ndarray, " m"],
    chains: Chains,
    *,
    before: Float[np.ndarray, " T"],
    after: Float[np.ndarray, " T"],
) -> float:
    """tr(G B B^T) for B = diag(after) L(beta) diag(before), in O(T d buffers).

    L(beta) is the BLT with the `transition` A of its buffers and the scales `outlet` omega.
    """
    T, d, p = chains.drive.shape
    A, omega, m = transition, outlet, len(outlet)
    P, variance, source = np.zeros((m, m)), np.empty(T), np.empty((T, m))
    for t in range(T):
        draw = before[t] ** 2
        seen = P @ omega
        variance[t], source[t] = draw + omega @ seen, draw - A @ seen
        P = A @ P @ A.T + draw
    own = np.einsum("tjp,tjp->t", chains.gain, chains.drive) @ (after**2 * variance)
    K, crossed, gain = np.zeros((d, p, m)), np.zeros(T), chains.gain
    for t in range(1, T):
        pushed = chains.drive[t - 1][..., None] * (after[t - 1] * source[t - 1])
        state = K @ A.T + pushed
        K = chains.transition[t] * state if p == 1 else chains.transition[t] @ state
        crossed[t] = np.vdot(gain[t], K @ omega)
    return float(own - 2.0 * (after @ crossed))
