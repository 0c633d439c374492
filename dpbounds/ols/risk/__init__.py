"""Risks of private least squares, the sum ||X (theta - theta*)||², the data fixed: exact, or sharp to leading order.

- `hessian_mixing`, `hessian_mixing_path`: expected risk of Algorithm 1, with and without its ridge term
- `sketch_and_solve`, `sketch_and_solve_law`: linear mixing; mean, law and quantiles
- `adassp`, `adassp_quantile`: leading order (the true mean is infinite); `within_leading_order`: where it holds
- `gradient_descent`, `gradient_descent_path`, `gradient_descent_quantile`: DP-GD
- `released`: the law of the noise level that an algorithm releases; given as eta_squared or ridge, risks are averaged

All take a `Gram`: A = X'X, b = X'Y, ||Y||² and n. Nothing may be clipped.
"""

from dpbounds.ols.risk.descent import gradient_descent, gradient_descent_path, gradient_descent_quantile
from dpbounds.ols.risk.mixing import MixingPath, hessian_mixing, hessian_mixing_path
from dpbounds.ols.risk.perturbation import LARGEST_NOISE, adassp, adassp_quantile, within_leading_order
from dpbounds.ols.risk.released import NoiseLaw, released
from dpbounds.ols.risk.sketching import SketchLaw, sketch_and_solve, sketch_and_solve_law

__all__ = [
    "LARGEST_NOISE",
    "MixingPath",
    "NoiseLaw",
    "SketchLaw",
    "adassp",
    "adassp_quantile",
    "gradient_descent",
    "gradient_descent_path",
    "gradient_descent_quantile",
    "hessian_mixing",
    "hessian_mixing_path",
    "released",
    "sketch_and_solve",
    "sketch_and_solve_law",
    "within_leading_order",
]
