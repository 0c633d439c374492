"""Generalised linear models in non-interactive local differential privacy with public data (paper `glm`).

Conventions: x in R^p with covariance Sigma, z = <x, w*>, E[y | x] = mu(z); n private and m public records; budgets are
local, any two records within the bounds are neighbours.
"""

from dpbounds.glm import answers, asymptotics, bounds, clipping, links, privacy, scale
from dpbounds.glm.designs import Bias, TwoPointDesign, bias, least_squares, sign_design
from dpbounds.glm.links import LINKS, Link

__all__ = [
    "LINKS",
    "Bias",
    "Link",
    "TwoPointDesign",
    "answers",
    "asymptotics",
    "bias",
    "bounds",
    "clipping",
    "least_squares",
    "links",
    "privacy",
    "scale",
    "sign_design",
]
