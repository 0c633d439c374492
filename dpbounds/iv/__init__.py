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
- `questions`, `answers`: all of it for one run, as `dpbounds solve iv` prints it
"""

from dpbounds.iv import friendly_core, isotropic, lemmas, noiseless, pairs, population
from dpbounds.iv.answers import Answer, answer
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
from dpbounds.iv.prediction import (
    ErrorPrediction,
    MixtureQuantile,
    mixture_quantile,
    predicted_curve,
    predicted_error,
    predicted_quantile,
)
from dpbounds.iv.privacy import (
    Calibration,
    Enforced,
    Epsilons,
    NoiseScales,
    beta_only_attack,
    beta_only_cost,
    epsilons,
    joint_cost,
    joint_gdp,
    noise_scale,
    noise_scales,
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
from dpbounds.iv.questions import Question
from dpbounds.iv.scalar import ScalarLaw, ScalarMoments, lyapunov_exponent, scalar_law, scalar_moments

__all__ = [
    "Answer",
    "BetaLaw",
    "BetaMoments",
    "Calibration",
    "Condition",
    "Constants",
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
    "Question",
    "Regimes",
    "ScalarLaw",
    "ScalarMoments",
    "Spectrum",
    "answer",
    "best_split",
    "beta_law",
    "beta_only_attack",
    "beta_only_cost",
    "clip_norm",
    "conditions",
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
