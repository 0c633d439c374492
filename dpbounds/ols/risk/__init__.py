"""Risks of private least squares, the sum ||X (theta - theta*)||², the data fixed: exact, or sharp to leading order.

- `hessian_mixing`, `hessian_mixing_path`: expected risk of Algorithm 1, with and without its ridge term
- `sketch_and_solve`, `sketch_and_solve_law`: linear mixing; mean, law and quantiles
- `adassp`, `adassp_quantile`: leading order (the true mean is infinite)
- `gradient_descent`, `gradient_descent_path`, `gradient_descent_quantile`: DP-GD
- `released`: the law of the noise level that an algorithm releases; given as eta_squared or ridge, risks are averaged

A = X'X, b = X'Y, y_squared = ||Y||². Nothing may be clipped.
"""

from dpbounds.ols.risk.descent import gradient_descent, gradient_descent_path, gradient_descent_quantile
from dpbounds.ols.risk.mixing import MixingPath, hessian_mixing, hessian_mixing_path
from dpbounds.ols.risk.perturbation import adassp, adassp_quantile
from dpbounds.ols.risk.released import NoiseLaw, released
from dpbounds.ols.risk.sketching import SketchLaw, sketch_and_solve, sketch_and_solve_law

__all__ = [
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
]
