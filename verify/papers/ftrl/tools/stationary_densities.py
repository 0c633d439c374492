"""The stationary error of gradient descent on a loss on the line, by its transition density: no simulation.

theta' = theta - eta (F'(theta) + w), w normal and independent, has the stationary density p with p(x) = int k(x - g(t))
p(t) dt, g = theta - eta F', k normal. p is analytic, and so is the integrand between the kinks of F': Gauss-Legendre on
panels that end there converges geometrically.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from simulators.ftrl.piecewise import PiecewiseQuadratic

# Half the range in standard deviations of the softest quadratic, and the longest panel in those of one step.
REACH, LONGEST = 12.0, 2.0


def descent_error(loss: PiecewiseQuadratic, eta: float, deviation: float, nodes: int = 16) -> float:
    """E F - F* for draws of that standard deviation, eta L < 2, `nodes` to a panel."""
    step, slowest = eta * deviation, max(abs(1.0 - eta * h) for h in (loss.mu, loss.L))
    reach = REACH * step / np.sqrt(1.0 - slowest**2)
    kinks = np.array(loss.offsets) / np.array(loss.directions)[:, 0]
    ends = np.unique(np.concatenate([[-reach, reach], kinks[np.abs(kinks) < reach]]))
    panels = [np.linspace(a, b, 1 + int(np.ceil((b - a) / (LONGEST * step)))) for a, b in pairwise(ends)]
    edges = np.unique(np.concatenate(panels))
    places, weights = np.polynomial.legendre.leggauss(nodes)
    half = np.diff(edges)[:, None] / 2.0
    t, w = (edges[:-1, None] + half * (1.0 + places)).ravel(), (half * weights).ravel()
    ahead = t - eta * loss.gradient(t[:, None])[:, 0]
    kernel = np.exp(-(((t[:, None] - ahead) / step) ** 2) / 2.0) / (step * np.sqrt(2.0 * np.pi))
    density = np.linalg.solve(np.eye(len(t)) - kernel * w + w, np.ones(len(t)))  # of integral 1
    return float(w @ (density * loss.suboptimality(t[:, None])))
