"""What `dpbounds solve iv --csv` says of the data and of each coefficient."""

from __future__ import annotations

import math

from dpbounds.iv.answers import Answer
from verify.cli.solve.iv.data import WEAK, DataSet
from verify.cli.solve.iv.text import note, table

SCALED = {
    "standard": "every column to mean 0 and variance 1 (divisor n)",
    "centre": "every column to mean 0",
    "none": "no column is changed, and there is no intercept",
}
COLUMNS = ("coefficient", "estimate", "se", "se_robust", "noise_sd", "bias", "noise_over_se", "first_stage_F")
MEDIANS = ("coefficient", "noise_median", "noise_median_simulated", "noise_median_low", "noise_median_high")


def show(found: Answer, data: DataSet) -> None:
    """The warning first, then data, estimates and noise."""
    question, problem = found.question, data.problem
    note(
        f"NOTHING PRINTED HERE IS PRIVATE: it is computed from {data.file}, taken as public or as a stand-in for "
        "private data. Private is one run of Algorithm 1 whose settings were chosen without the private data."
    )
    q, p = problem.dimensions
    dropped = f" {data.dropped} records with a missing value are left out." if data.dropped else ""
    note(
        f"n = {problem.n}, p = {p} ({', '.join(data.regressors)}), q = {q} ({', '.join(data.instruments)}), outcome "
        f"{data.outcome}.{dropped} Scaling for the run: {SCALED[data.scale]}. Coefficients are in the file's units, "
        "norms, gradients and noise scales in those of the run."
    )
    run = question.population
    note(
        f"rho1 = {question.rho1:.4g}, rho2 = {question.rho2:.4g} (zCDP, {question.adjacency}, {question.calibration}); "
        f"eta = {run.eta:.4g}, alpha = {run.alpha:.4g}; gamma1 = {question.gamma1:.4g}, gamma2 = {question.gamma2:.4g}."
    )
    steps = found.best if found.best in found.shown else found.shown[0]
    row = next(row for row in found.rows if row["T"] == steps)
    table(f"2SLS, and what the noise for privacy adds at T = {steps}", row["coefficients"], COLUMNS)
    note(
        "se: standard errors if the errors of the outcome have one variance; se_robust: if not (HC1). noise_sd, bias: "
        "deviation and mean of beta_T - beta_hat. noise_over_se: root mean square of beta_T - beta_hat over se_robust."
    )
    if all(one["noise_sd"] is None for one in row["coefficients"]):
        note("No noise_sd, bias: the prediction is void here.")
    elif not row["reliable"]:
        note("The prediction is not reliable here: see below.")
    _strength(data)
    if "trials" in row:
        table(f"Median of |beta_T - beta_hat| at T = {steps}, per coefficient", row["coefficients"], MEDIANS)


def _strength(data: DataSet) -> None:
    statistic = data.strength.cragg_donald
    if len(data.regressors) > 1 and math.isfinite(statistic):
        note(f"first_stage_F: of the instruments that are no controls; Cragg-Donald statistic of all: {statistic:.4g}.")
    if data.weak or statistic < WEAK:
        named = f" for {', '.join(data.weak)}" if data.weak else " together"
        note(
            f"WEAK INSTRUMENTS{named}: a statistic below {WEAK:g}. 2SLS is biased towards least squares, its standard "
            "errors are too small, and the noise for privacy is large."
        )
