"""Bounds for any linear first-order method with correlated noise on mu-strongly convex, L-smooth losses."""

from dpbounds.ftrl.methods.bounds import MethodBound, bound_method, recheck
from dpbounds.ftrl.methods.choosing import MethodTable, best_method, best_noise, method_of_rate, step_of_rate
from dpbounds.ftrl.methods.cycles import Cycle, find_cycle
from dpbounds.ftrl.methods.horizon import HorizonBound, bound_horizon
from dpbounds.ftrl.methods.linear import (
    LinearMethod,
    check_converges,
    gradient_descent,
    heavy_ball,
    named_method,
    nesterov,
    standard_triple_momentum,
    triple_momentum,
)
from dpbounds.ftrl.methods.momentum import MomentumGain, momentum_gain
from dpbounds.ftrl.methods.problem import GradientNoise, Stability
from dpbounds.ftrl.methods.runs import bound_run
from dpbounds.ftrl.methods.sampling import SampledGradients

__all__ = [
    "Cycle",
    "GradientNoise",
    "HorizonBound",
    "LinearMethod",
    "MethodBound",
    "MethodTable",
    "MomentumGain",
    "SampledGradients",
    "Stability",
    "best_method",
    "best_noise",
    "bound_horizon",
    "bound_method",
    "bound_run",
    "check_converges",
    "find_cycle",
    "gradient_descent",
    "heavy_ball",
    "method_of_rate",
    "momentum_gain",
    "named_method",
    "nesterov",
    "recheck",
    "standard_triple_momentum",
    "step_of_rate",
    "triple_momentum",
]
