"""DP-FTRL on mu-strongly convex, L-smooth losses: certified bounds on F_inf = lim E F(theta_t) - F*, ftrl Section 3 and
App. E.
"""

from dpbounds.ftrl.strongly_convex.answers import bound_row, tightest
from dpbounds.ftrl.strongly_convex.bounds import ConvexBound, bound, bound_density, bound_program, recertify
from dpbounds.ftrl.strongly_convex.causal import least_error
from dpbounds.ftrl.strongly_convex.noise import Noise
from dpbounds.ftrl.strongly_convex.optimise import (
    BestNu,
    Optimised,
    alternation,
    best_nu,
    optimize_correlation,
    spectral_root,
)
from dpbounds.ftrl.strongly_convex.programs import Program, ProgramName
from dpbounds.ftrl.strongly_convex.settings import StronglyConvex

__all__ = [
    "BestNu",
    "ConvexBound",
    "Noise",
    "Optimised",
    "Program",
    "ProgramName",
    "StronglyConvex",
    "alternation",
    "best_nu",
    "bound",
    "bound_density",
    "bound_program",
    "bound_row",
    "least_error",
    "optimize_correlation",
    "recertify",
    "spectral_root",
    "tightest",
]
