"""Differentially private least squares: sketches, their privacy, exact risks (paper `ols`)."""

from dpbounds.ols import bounds as bounds
from dpbounds.ols import newton as newton
from dpbounds.ols import risk as risk
from dpbounds.ols import sketch as sketch
from dpbounds.ols import utility as utility
from dpbounds.ols import wishart as wishart
from dpbounds.ols.accounting import (
    adassp_mu,
    budget_mu,
    failure_probability,
    gradient_descent_mu,
    mixing_delta,
    mixing_epsilon,
    mixing_log_delta,
)
from dpbounds.ols.calibration import (
    Accounting,
    adassp_scales,
    gradient_descent_scales,
    hessian_mixing_scales,
    linear_mixing_scales,
)
from dpbounds.ols.comparison import Compared, Comparison, NewtonClips, compare, linear_sketch_size, typical_clips
from dpbounds.ols.regimes import Features, Guarantee, Regime, features, regime
from dpbounds.ols.scales import AdasspScales, GradientDescentScales, HessianMixingScales, LinearMixingScales

__all__ = [
    "Accounting",
    "AdasspScales",
    "Compared",
    "Comparison",
    "Features",
    "GradientDescentScales",
    "Guarantee",
    "HessianMixingScales",
    "LinearMixingScales",
    "NewtonClips",
    "Regime",
    "adassp_mu",
    "adassp_scales",
    "bounds",
    "budget_mu",
    "compare",
    "failure_probability",
    "features",
    "gradient_descent_mu",
    "gradient_descent_scales",
    "hessian_mixing_scales",
    "linear_mixing_scales",
    "linear_sketch_size",
    "mixing_delta",
    "mixing_epsilon",
    "mixing_log_delta",
    "newton",
    "regime",
    "risk",
    "sketch",
    "typical_clips",
    "utility",
    "wishart",
]
