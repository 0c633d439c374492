"""Noise for a training run, designed for its loss, with a proof of how far it is from the best."""

from dpbounds.ftrl.design.best import Design, best
from dpbounds.ftrl.design.bounds import lower_bound, optimum
from dpbounds.ftrl.design.budget import Budget
from dpbounds.ftrl.design.clipped import ClippedForecast, ProxyRecords
from dpbounds.ftrl.design.comparison import DesignRow
from dpbounds.ftrl.design.curves import LossCurve, loss_curve, plan_curves, run_curves
from dpbounds.ftrl.design.duality import LowerBound, Optimum
from dpbounds.ftrl.design.exports import Export, export
from dpbounds.ftrl.design.fitting import fit_bands, fit_coefficients, fit_monotone_blt, fit_scaled_blt
from dpbounds.ftrl.design.from_data import Forecast, LogisticTraining, predict_logistic, spectrum_of
from dpbounds.ftrl.design.judged import verdict
from dpbounds.ftrl.design.mechanisms import (
    Bands,
    Blt,
    ScaledBlt,
    ScaledToeplitz,
    cyclic,
    spectral,
    truncated,
    unit_columns,
)
from dpbounds.ftrl.design.objective import Loss, Objective
from dpbounds.ftrl.design.participation import Participation, sensitivity
from dpbounds.ftrl.design.planner import PlanRow
from dpbounds.ftrl.design.planning import Plan, plan
from dpbounds.ftrl.design.prefix_sums import prefix_sum
from dpbounds.ftrl.design.robust import Robust, default_family, robust
from dpbounds.ftrl.design.schedules import learning_rates
from dpbounds.ftrl.design.streams import NoiseStream, noise_stream

__all__ = [
    "Bands",
    "Blt",
    "Budget",
    "ClippedForecast",
    "Design",
    "DesignRow",
    "Export",
    "Forecast",
    "LogisticTraining",
    "Loss",
    "LossCurve",
    "LowerBound",
    "NoiseStream",
    "Objective",
    "Optimum",
    "Participation",
    "Plan",
    "PlanRow",
    "ProxyRecords",
    "Robust",
    "ScaledBlt",
    "ScaledToeplitz",
    "best",
    "cyclic",
    "default_family",
    "export",
    "fit_bands",
    "fit_coefficients",
    "fit_monotone_blt",
    "fit_scaled_blt",
    "learning_rates",
    "loss_curve",
    "lower_bound",
    "noise_stream",
    "optimum",
    "plan",
    "plan_curves",
    "predict_logistic",
    "prefix_sum",
    "robust",
    "run_curves",
    "sensitivity",
    "spectral",
    "spectrum_of",
    "truncated",
    "unit_columns",
    "verdict",
]
