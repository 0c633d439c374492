"""DP-FTRL (ftrl Algorithm 1, with clipping) and Noisy-FTRL (without): mean estimation and linear regression."""

from simulators.ftrl.linear_regression import LinearRegression, linear_regression
from simulators.ftrl.mean_estimation import MeanEstimation, mean_estimation
from simulators.ftrl.noise_probe import NoiseProbe, noise_probe
from simulators.ftrl.settings import Settings

__all__ = [
    "LinearRegression",
    "MeanEstimation",
    "NoiseProbe",
    "Settings",
    "linear_regression",
    "mean_estimation",
    "noise_probe",
]
