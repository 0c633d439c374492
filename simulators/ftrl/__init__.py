"""DP-FTRL (ftrl Algorithm 1, with clipping) and Noisy-FTRL (without): mean estimation, linear regression, strongly
convex losses.
"""

from simulators.ftrl.adversarial import AdversarialLower, adversarial_lower
from simulators.ftrl.adversarial_methods import adversarial_method_lower
from simulators.ftrl.clipped import (
    ClippedTraining,
    LeastSquaresData,
    clipped_least_squares,
    clipped_logistic_regression,
    planned_on_records,
)
from simulators.ftrl.designed import (
    DesignedTraining,
    designed_noise,
    designed_training,
    experiment_of,
    planned_training,
)
from simulators.ftrl.first_order import MethodOnLoss, first_order, method_settings
from simulators.ftrl.linear_regression import LinearRegression, linear_regression
from simulators.ftrl.logistic import LogisticData, logistic_regression
from simulators.ftrl.losses import Huber, Logistic, LogSumExp, Loss, Quadratic
from simulators.ftrl.mean_estimation import MeanEstimation, mean_estimation
from simulators.ftrl.noise_probe import NoiseProbe, noise_probe
from simulators.ftrl.piecewise import PiecewiseQuadratic, kinked_quadratic, piecewise_quadratic
from simulators.ftrl.rehearsals import Rehearsal, mean_rehearsal, quadratic_rehearsal, regression_rehearsal
from simulators.ftrl.settings import Settings
from simulators.ftrl.strongly_convex import StronglyConvexLoss, stationary_settings, strongly_convex

__all__ = [
    "AdversarialLower",
    "ClippedTraining",
    "DesignedTraining",
    "Huber",
    "LeastSquaresData",
    "LinearRegression",
    "LogSumExp",
    "Logistic",
    "LogisticData",
    "Loss",
    "MeanEstimation",
    "MethodOnLoss",
    "NoiseProbe",
    "PiecewiseQuadratic",
    "Quadratic",
    "Rehearsal",
    "Settings",
    "StronglyConvexLoss",
    "adversarial_lower",
    "adversarial_method_lower",
    "clipped_least_squares",
    "clipped_logistic_regression",
    "designed_noise",
    "designed_training",
    "experiment_of",
    "first_order",
    "kinked_quadratic",
    "linear_regression",
    "logistic_regression",
    "mean_estimation",
    "mean_rehearsal",
    "method_settings",
    "noise_probe",
    "piecewise_quadratic",
    "planned_on_records",
    "planned_training",
    "quadratic_rehearsal",
    "regression_rehearsal",
    "stationary_settings",
    "strongly_convex",
]
