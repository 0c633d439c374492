"""What no correlation beats: a lower bound over all noises with a given privacy, for a given method.

With N_0 = d clip_norm^2 / (2 rho), noise of spectrum N_0 gamma^2 |B|^2 has gamma^2 >= mean of |B|^{-2} over the
circle, and on F = (h / 2) |theta|^2 the error N_0 gamma^2 mean(|B|^2 Psi_h), Psi_h = (h / 2) |X / W|^2. For every
probability pi on [mu, L] the worst h has at least the mean over pi, and by Cauchy and Schwarz

    max_h error >= N_0 (mean of Psi_pi^{1/2})^2,   Psi_pi = mean over pi of Psi_h,

which is concave in pi. It is attained at the best pi by |B|^2 proportional to Psi_pi^{-1/2}.

>>> from dpbounds.ftrl.methods.linear import gradient_descent
>>> round(least_over_noises(gradient_descent(eta=0.1), 0.1, 1.0, "f"), 7)
0.0105392
"""

from __future__ import annotations

import numpy as np

from dpbounds.circle.quadrature import circle_nodes
from dpbounds.ftrl.methods.linear import LinearMethod
from dpbounds.ftrl.methods.loops import Measure

# Curvatures of pi, equally far apart in the logarithm; the exponent of its updates, how many at most, and the relative
# gap between the mean over pi and the worst curvature at which they end.
CURVATURES, POWER, STEPS, GAP = 41, 1.5, 3000, 1e-5
STEP = 0.125


def least_over_noises(method: LinearMethod, mu: float, L: float, measure: Measure) -> float:
    """The bound at N_0 = 1, in floats: pi is searched by multiplicative updates, and any pi bounds from below.

    The mean over the circle is a trapezoid sum whose error is far below the digits that are printed.
    """
    omega, weights = circle_nodes(STEP)
    mean = weights / (2.0 * np.pi)
    curvatures = np.geomspace(mu, L, CURVATURES) if mu < L else np.array([mu])
    curvatures[-1] = L
    factor = {"f": curvatures / 2.0, "distance": np.ones_like(curvatures), "gradient": curvatures**2}[measure]
    gains = np.array([_squared_gain(method, h, omega) for h in curvatures]) * factor[:, None]
    pi = np.full(len(curvatures), 1.0 / len(curvatures))
    best = float(np.max((np.sqrt(gains) @ mean) ** 2))  # one curvature alone
    for _ in range(STEPS):
        root = np.sqrt(pi @ gains)
        total = float(root @ mean)
        best = max(best, total**2)
        # mean of Psi_h / root over the mean of root: 1 on average over pi, and at most 1 for every h at the best pi
        slopes = (gains / root) @ mean / total
        if slopes.max() - 1.0 <= GAP:
            break
        pi = pi * slopes**POWER
        pi /= pi.sum()
    return best


def _squared_gain(method: LinearMethod, h: float, omega: np.ndarray) -> np.ndarray:
    """|X / W|^2 at frequencies, by (zeta - 1) - (A - 1) - h B C, which keeps its digits at low ones."""
    n = len(method.A)
    z = 2j * np.sin(omega / 2.0) * np.exp(0.5j * omega)
    matrices = z[:, None, None] * np.eye(n) - (method.A - np.eye(n) + h * np.outer(method.B, method.C))
    solved = np.linalg.solve(matrices, np.broadcast_to(method.B[:, None], (len(z), n, 1)))[..., 0]
    return np.abs(solved @ method.row) ** 2
