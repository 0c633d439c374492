"""Privacy accounting for Gaussian noise: zCDP, Rényi DP, Gaussian DP and (epsilon, delta), both ways.

Vocabulary: `mu` = sensitivity / noise standard deviation of a Gaussian mechanism (its Gaussian DP parameter);
`rho` = zCDP parameter, mu²/2 for a Gaussian mechanism; `noise_multiplier` = noise standard deviation / clip norm.
Logarithms are natural. `mu`, `rho`, `epsilon` and `delta` are statements about a given pair of output laws; the
adjacency enters where noise becomes privacy: `noise_multiplier` and `budget`. Ranges: mu in [1e-50, 1e4], rho in
[1e-100, 5e7], epsilon in [0, 1e9], delta in [1e-300, 1), orders in (1, 1e100].
"""

from dpbounds.privacy.calibration import Adjacency, budget, noise_multiplier, sensitivity_factor
from dpbounds.privacy.gaussian import compose_gdp, gaussian_delta, gaussian_epsilon, gaussian_log_delta, gaussian_mu
from dpbounds.privacy.rdp import compose_rdp, rdp_delta, rdp_epsilon
from dpbounds.privacy.zcdp import (
    Conversion,
    compose_zcdp,
    gaussian_of_zcdp,
    rdp_of_zcdp,
    zcdp_delta,
    zcdp_epsilon,
    zcdp_of_gaussian,
    zcdp_rho,
)

__all__ = [
    "Adjacency",
    "Conversion",
    "budget",
    "compose_gdp",
    "compose_rdp",
    "compose_zcdp",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_log_delta",
    "gaussian_mu",
    "gaussian_of_zcdp",
    "noise_multiplier",
    "rdp_delta",
    "rdp_epsilon",
    "rdp_of_zcdp",
    "sensitivity_factor",
    "zcdp_delta",
    "zcdp_epsilon",
    "zcdp_of_gaussian",
    "zcdp_rho",
]
