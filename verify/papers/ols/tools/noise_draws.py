"""Draws of Algorithm 2 for many data sets at once, and the box in which searches take them."""

from __future__ import annotations

import numpy as np

from simulators.ols import mixing_noise
from verify.checks.domains import Real

DRAWS = {
    "gamma": Real(2.5, 100.0, "log"),
    "z": Real(-4.0, 4.0),
    "tau": Real(0.5, 5.0),
    "lam": Real(0.01, 1000.0, "log"),
}


def released_noise(lam, gamma, tau, scale, z):
    """Algorithm 2 for many data sets, each with one draw."""
    rows = zip(lam, gamma, tau, scale, z, strict=True)
    return np.array([mixing_noise(a, 1.0, g, t, s, np.array([draw]))[0] for a, g, t, s, draw in rows])
