"""Differentially private least squares: sketches, their privacy, exact risks (paper `ols`)."""

from dpbounds.ols import bounds as bounds
from dpbounds.ols import clipping as clipping
from dpbounds.ols import newton as newton
from dpbounds.ols import risk as risk
from dpbounds.ols import sketch as sketch
from dpbounds.ols import tail_averaged as tail_averaged
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
from dpbounds.ols.clips import NewtonClips, measured_clips, typical_clips
from dpbounds.ols.comparison import Comparison, compare
from dpbounds.ols.data import ScaledData, bounded_data
from dpbounds.ols.designs import AssumedDesign, geometric_spectrum
from dpbounds.ols.dynamic import DynamicMixing
from dpbounds.ols.features import Features, features
from dpbounds.ols.gram import Gram
from dpbounds.ols.methods import LABELS, Choices, Compared, Method, linear_sketch_size
from dpbounds.ols.ranges import Ranges, parsed_ranges, ranges_of
from dpbounds.ols.regimes import Guarantee, Regime, regime
from dpbounds.ols.scales import (
    AdasspScales,
    AveragedDescentScales,
    GradientDescentScales,
    HessianMixingScales,
    LinearMixingScales,
)

__all__ = [
    "LABELS",
    "Accounting",
    "AdasspScales",
    "AssumedDesign",
    "AveragedDescentScales",
    "Choices",
    "Compared",
    "Comparison",
    "DynamicMixing",
    "Features",
    "GradientDescentScales",
    "Gram",
    "Guarantee",
    "HessianMixingScales",
    "LinearMixingScales",
    "Method",
    "NewtonClips",
    "Ranges",
    "Regime",
    "ScaledData",
    "adassp_mu",
    "adassp_scales",
    "bounded_data",
    "bounds",
    "budget_mu",
    "clipping",
    "compare",
    "failure_probability",
    "features",
    "geometric_spectrum",
    "gradient_descent_mu",
    "gradient_descent_scales",
    "hessian_mixing_scales",
    "linear_mixing_scales",
    "linear_sketch_size",
    "measured_clips",
    "mixing_delta",
    "mixing_epsilon",
    "mixing_log_delta",
    "newton",
    "parsed_ranges",
    "ranges_of",
    "regime",
    "risk",
    "sketch",
    "tail_averaged",
    "typical_clips",
    "utility",
    "wishart",
]
