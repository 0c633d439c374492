"""What `dpbounds solve iv --csv` says of the data and of each coefficient."""

from __future__ import annotations

import math

from dpbounds.iv import Answer, DataSet
from dpbounds.iv.inference import WEAK
from dpbounds.iv.tables import SCALINGS
from verify.cli.solve.iv.text import note, table

COLUMNS = ("coefficient", "estimate", "se", "se_robust", "noise_sd", "bias", "noise_over_se", "first_stage_F")
MEDIANS = ("coefficient", "noise_median", "noise_median_simulated", "noise_median_low", "noise_median_high")


def show(answer: Answer, data: DataSet, file: str) -> None:
    """The warning first, then data, estimates and noise."""
    plan = answer.plan
    note(
        f"NOTHING PRINTED HERE IS PRIVATE: it is computed from {file}, taken as public or as a stand-in for "
        "private data. Private is one run of Algorithm 1 whose settings were chosen without the private data."
    )
    n, p, q = plan.design.n, plan.design.p, plan.design.q
    dropped = f" {data.dropped} records with a missing value are left out." if data.dropped else ""
    note(
        f"n = {n}, p = {p} ({', '.join(data.regressors)}), q = {q} ({', '.join(data.instruments)}), outcome "
        f"{data.outcome}.{dropped} Scaling for the run: {SCALINGS[data.scale]}. Coefficients are in the file's units, "
        "norms, gradients and noise scales in those of the run."
    )
    run, budget = plan.population, plan.budget
    note(
        f"rho1 = {budget.rho1:.4g}, rho2 = {budget.rho2:.4g} (zCDP, {budget.adjacency}, {budget.calibration}); "
        f"eta = {run.eta:.4g}, alpha = {run.alpha:.4g}; gamma1 = {budget.gamma1:.4g}, gamma2 = {budget.gamma2:.4g}."
    )
    steps = answer.best if answer.best in answer.shown else answer.shown[0]
    row = answer.row(steps)
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
