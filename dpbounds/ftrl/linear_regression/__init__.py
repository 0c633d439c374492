"""Noisy-FTRL for linear regression: ftrl Section 2.2 and Appendix C.

Convention, here and nowhere else: F(theta) - F* = 1/2 ||theta - theta*||_H^2, with the 1/2 of ftrl eq. (8). The paper's
eq. (22) and part of its proofs drop the 1/2; twice the values here are in that convention. Spectra are the
eigenvalues of the input covariance H, budgets rho are zCDP under zero-out adjacency, and
N = clip_norm^2 sensitivity^2 / (2 rho) is the variance of one draw.
"""

from dpbounds.ftrl.linear_regression.bounds import (
    gaussian_r_squared,
    lower_bound,
    nu_upper_bound,
    paper_lower_bound,
    paper_lower_bound_any_correlation,
    paper_upper_bound,
    trace_bounds,
)
from dpbounds.ftrl.linear_regression.exact import (
    CONVENTION,
    stability_limit,
    suboptimality,
    trajectory,
)
from dpbounds.ftrl.linear_regression.optimal import (
    best_nu,
    optimal_correlation,
    optimal_spectrum,
    optimal_suboptimality,
)
from dpbounds.ftrl.linear_regression.rates import condition_number, effective_dimension, geometric, power_law, rate
from dpbounds.ftrl.linear_regression.settings import Regression

__all__ = [
    "CONVENTION",
    "Regression",
    "best_nu",
    "condition_number",
    "effective_dimension",
    "gaussian_r_squared",
    "geometric",
    "lower_bound",
    "nu_upper_bound",
    "optimal_correlation",
    "optimal_spectrum",
    "optimal_suboptimality",
    "paper_lower_bound",
    "paper_lower_bound_any_correlation",
    "paper_upper_bound",
    "power_law",
    "rate",
    "stability_limit",
    "suboptimality",
    "trace_bounds",
    "trajectory",
]
