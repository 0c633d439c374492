"""Per coefficient, in the units of the file: 2SLS, its standard errors, and what the noise for privacy adds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpbounds.gaussian_norm import norm_quantile
from dpbounds.iv.forecast import Forecast
from verify.cli.solve.iv.data import DataSet

Row = dict[str, Any]


def coefficients(data: DataSet, found: Forecast | None) -> list[Row]:
    """A row for each regressor; what is predicted is None where the prediction is void.

    `noise_sd`, `bias`: deviation and mean of beta_T - beta_hat; `noise_median` the median of its absolute value;
    `noise_over_se` the root of noise_sd² + bias² over the robust standard error.
    """
    rows = []
    estimate, homoskedastic, robust = data.inference
    for j, name in enumerate(data.regressors):
        row: Row = {"coefficient": name, "estimate": float(estimate[j])}
        row |= {"se": float(homoskedastic[j]), "se_robust": float(robust[j])}
        row |= {"first_stage_F": float(data.strength.partial_F[j])}
        row |= dict.fromkeys(("noise_sd", "bias", "noise_median", "noise_over_se"))
        if found is not None and found.covariance is not None and found.offset is not None:
            unit = abs(float(data.unit[j]))
            bias, variance = float(found.offset[j] * data.unit[j]), unit**2 * float(found.covariance[j, j])
            row["noise_sd"], row["bias"] = math.sqrt(variance), bias
            row["noise_median"] = norm_quantile(np.array([bias]), np.array([[variance]]))
            size = math.hypot(bias, row["noise_sd"])
            row["noise_over_se"] = size / row["se_robust"] if row["se_robust"] > 0 else None
        rows.append(row)
    return rows
