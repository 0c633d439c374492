"""Theory of DP two-stage gradient descent for instrumental variables (topic iv).

Data are fixed unless a docstring says otherwise. Gradients without the factor 2, both updates of a step from the old
iterates, Theta_0 = 0, beta_0 = 0; noise scales lambda are per entry of the averaged gradient, before the step size.
Neighbours: replace-one by default, n public.

- data: `Moments` (A, G, b, 2SLS); `population` (OLS limit, asymptotic covariance of 2SLS)
- `noiseless`: path, exact rates, step size limits
- `privacy`: noise scales, joint cost, cost of releasing beta alone; `pairs`: worst neighbouring data sets
- `laws`: law of Theta_t, law of beta_t given Theta, exact moments for A = I; `scalar`: exact law for p = q = 1
- `leading_order`: mean and covariance of beta_t, stationary law, best split; `isotropic`: the same for A = I, cheap;
  `prediction`: medians, means and quantiles of the error
- `quantities`: eq. (10), step sizes; `bound`: Theorem 3.1, its conditions, regimes, optimal T; `lemmas`: App. C and D;
  `friendly_core`: App. F.2
- `general`: the leading order on given moments; `clipping`: what clipping does; `forecast`: the error to expect with
  clipping, and whether it is reliable; `suggestions`: clip norms; `inference`: standard errors of 2SLS, first-stage F
- `budgets`: what the two stages may spend, and their noise, as one object for all that takes it; `populations` and
  `tables`: the problem, or the data; `plans`: one run; `rows`, `answers`: all of it, as `dpbounds solve iv` prints it
"""

from dpbounds.iv import friendly_core, isotropic, lemmas, noiseless, pairs, population
from dpbounds.iv.answers import Answer, answer, data_answer, population_answer
from dpbounds.iv.bound import (
    Condition,
    ErrorBound,
    Optimum,
    Regimes,
    clip_norm,
    conditions,
    error_bound,
    optimal_steps,
    regimes,
    scan_steps,
    stationary_steps,
    stationary_steps_of_squares,
)
from dpbounds.iv.budgets import Calibration, NoiseScales, TwoStageBudget, noise_scale, noise_scales
from dpbounds.iv.laws import (
    BetaLaw,
    BetaMoments,
    beta_law,
    last_beta_law,
    noise_variances,
    ridge_limit,
    theta_covariance,
    theta_mean,
    theta_path,
    whitened_moments,
)
from dpbounds.iv.leading_order import (
    GaussianLaw,
    LeadingOrder,
    best_split,
    isotropic_variances,
    noise_expansion,
    stationary_expansion,
)
from dpbounds.iv.moments import Moments
from dpbounds.iv.plans import Choices, Plan, data_plan, population_plan
from dpbounds.iv.populations import Population
from dpbounds.iv.prediction import (
    ErrorPrediction,
    MixtureQuantile,
    mixture_quantile,
    predicted_curve,
    predicted_error,
    predicted_quantile,
)
from dpbounds.iv.privacy import (
    Enforced,
    Epsilons,
    beta_only_attack,
    beta_only_cost,
    epsilons,
    joint_cost,
    joint_gdp,
    printed_beta_only_cost,
    printed_budget,
    printed_joint_cost,
    projected_noise_scale,
    projected_sensitivities,
    release_cost,
    unnoised_cost,
    unnoised_noise_scale,
    unnoised_sensitivity,
)
from dpbounds.iv.quantities import (
    Constants,
    Design,
    Spectrum,
    experiment_step_sizes,
    optimal_step_sizes,
    spectrum,
    theorem_rates,
    theorem_step_limits,
)
from dpbounds.iv.scalar import ScalarLaw, ScalarMoments, lyapunov_exponent, scalar_law, scalar_moments
from dpbounds.iv.tables import DataSet, scaled_data

__all__ = [
    "Answer",
    "BetaLaw",
    "BetaMoments",
    "Calibration",
    "Choices",
    "Condition",
    "Constants",
    "DataSet",
    "Design",
    "Enforced",
    "Epsilons",
    "ErrorBound",
    "ErrorPrediction",
    "GaussianLaw",
    "LeadingOrder",
    "MixtureQuantile",
    "Moments",
    "NoiseScales",
    "Optimum",
    "Plan",
    "Population",
    "Regimes",
    "ScalarLaw",
    "ScalarMoments",
    "Spectrum",
    "TwoStageBudget",
    "answer",
    "best_split",
    "beta_law",
    "beta_only_attack",
    "beta_only_cost",
    "clip_norm",
    "conditions",
    "data_answer",
    "data_plan",
    "epsilons",
    "error_bound",
    "experiment_step_sizes",
    "friendly_core",
    "isotropic",
    "isotropic_variances",
    "joint_cost",
    "joint_gdp",
    "last_beta_law",
    "lemmas",
    "lyapunov_exponent",
    "mixture_quantile",
    "noise_expansion",
    "noise_scale",
    "noise_scales",
    "noise_variances",
    "noiseless",
    "optimal_step_sizes",
    "optimal_steps",
    "pairs",
    "population",
    "population_answer",
    "population_plan",
    "predicted_curve",
    "predicted_error",
    "predicted_quantile",
    "printed_beta_only_cost",
    "printed_budget",
    "printed_joint_cost",
    "projected_noise_scale",
    "projected_sensitivities",
    "regimes",
    "release_cost",
    "ridge_limit",
    "scalar_law",
    "scalar_moments",
    "scaled_data",
    "scan_steps",
    "spectrum",
    "stationary_expansion",
    "stationary_steps",
    "stationary_steps_of_squares",
    "theorem_rates",
    "theorem_step_limits",
    "theta_covariance",
    "theta_mean",
    "theta_path",
    "unnoised_cost",
    "unnoised_noise_scale",
    "unnoised_sensitivity",
    "whitened_moments",
]
