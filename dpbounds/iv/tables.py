"""A data set as a table with named columns: scaled for a run, with 2SLS in the units of the table.

>>> rng = np.random.default_rng(0)
>>> z, u = rng.standard_normal(500), rng.standard_normal(500)
>>> table = {"z": z, "x": z + u, "y": 2 * (z + u) + u}
>>> data = scaled_data(table, instruments=["z"], regressors=["x"], outcome="y")
>>> round(float(data.inference.estimate[0]), 1), data.weak
(2.0, [])
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, choice, count
from dpbounds.gaussian_norm import norm_quantile
from dpbounds.iv.forecast import Forecast
from dpbounds.iv.inference import WEAK, StandardErrors, Strength, instrument_strength, two_stage_inference

# How columns are changed for a run.
Scaling = Literal["standard", "centre", "none"]
SCALINGS: dict[Scaling, str] = {
    "standard": "every column to mean 0 and variance 1 (divisor n)",
    "centre": "every column to mean 0",
    "none": "no column is changed, and there is no intercept",
}
# What a run is computed for in a few seconds.
MOST_INSTRUMENTS, MOST_REGRESSORS = 100, 30
# Deviations below this share of the largest entry are rounding.
CONSTANT = 1e-12
# Entries beyond this overflow in products of four.
LARGEST = 1e50

Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True, eq=False)
class DataSet:
    """Columns as a run sees them: `Z` (n, q), `X` (n, p), `Y` (n,), and `unit` (p,), a coefficient in the table's units
    over that of the run. `inference` is in the table's units; `dropped` counts records left out. Made by `scaled_data`.
    """

    instruments: tuple[str, ...]
    regressors: tuple[str, ...]
    outcome: str
    scale: Scaling
    Z: Float[np.ndarray, "n q"]
    X: Float[np.ndarray, "n p"]
    Y: Float[np.ndarray, " n"]
    unit: Float[np.ndarray, " p"]
    inference: StandardErrors
    strength: Strength
    dropped: int

    @property
    def weak(self) -> list[str]:
        """Regressors that the instruments hardly move."""
        pairs = zip(self.regressors, self.strength.partial_F, strict=True)
        return [name for name, statistic in pairs if statistic < WEAK]

    def coefficients(self, forecast: Forecast | None) -> list[Row]:
        """A row for each regressor in the table's units; what is predicted is None where the prediction is void.

        `noise_sd`, `bias`: deviation and mean of beta_T - beta_hat; `noise_median` the median of its absolute value;
        `noise_over_se` the root of noise_sd² + bias² over the robust standard error.
        """
        rows = []
        estimate, homoskedastic, robust = self.inference
        for j, name in enumerate(self.regressors):
            row: Row = {"coefficient": name, "estimate": float(estimate[j])}
            row |= {"se": float(homoskedastic[j]), "se_robust": float(robust[j])}
            row |= {"first_stage_F": float(self.strength.partial_F[j])}
            row |= dict.fromkeys(("noise_sd", "bias", "noise_median", "noise_over_se"))
            if forecast is not None and forecast.covariance is not None and forecast.offset is not None:
                unit = abs(float(self.unit[j]))
                bias = float(forecast.offset[j] * self.unit[j])
                variance = unit**2 * float(forecast.covariance[j, j])
                row["noise_sd"], row["bias"] = math.sqrt(variance), bias
                row["noise_median"] = norm_quantile(np.array([bias]), np.array([[variance]]))
                size = math.hypot(bias, row["noise_sd"])
                row["noise_over_se"] = size / row["se_robust"] if row["se_robust"] > 0 else None
            rows.append(row)
        return rows

    def in_units(self, differences: Float[np.ndarray, "trials p"]) -> Float[np.ndarray, "trials p"]:
        """Absolute differences of coefficients of the run, in the table's units."""
        return np.abs(differences) * np.abs(self.unit)


@typed
def scaled_data(
    table: Any,
    *,
    instruments: Sequence[str],
    regressors: Sequence[str],
    outcome: str,
    scale: Scaling = "standard",
    dropped: int = 0,
) -> DataSet:
    """Named columns of a mapping or data frame, scaled, with 2SLS and the strength of the instruments.

    Controls stand among instruments and regressors. `dropped`: records with a missing value that the table no longer
    has; here every value must be a number. Raises `DomainError` for a column that is missing, named twice in a role,
    constant, too large or without a number, fewer instruments than regressors, too few records, and matrices without
    full rank.
    """
    instruments, regressors = tuple(instruments), tuple(regressors)
    check_roles(instruments, regressors, outcome)
    choice("scale", scale, get_args(Scaling))
    names = list(dict.fromkeys((*instruments, *regressors, outcome)))
    values = _columns(table, names)
    if len(values) <= len(instruments) + 1:
        raise DomainError("table", f"{len(values)} complete records", f"at least {len(instruments) + 2}")
    deviation = _deviations(names, values, scale)
    means = values.mean(axis=0) if scale != "none" else np.zeros(len(names))
    scaled = (values - means) / deviation
    Z, X = (scaled[:, [names.index(name) for name in part]] for part in (instruments, regressors))
    Y, at = scaled[:, names.index(outcome)], [names.index(name) for name in regressors]
    unit = deviation[names.index(outcome)] / deviation[at]
    intercept = scale != "none"
    inference = two_stage_inference(Z, X, Y, intercept=intercept)
    return DataSet(
        instruments=instruments,
        regressors=regressors,
        outcome=outcome,
        scale=scale,
        Z=Z,
        X=X,
        Y=Y,
        unit=unit,
        inference=StandardErrors(*(part * unit for part in inference)),
        strength=instrument_strength(Z, X, intercept=intercept),
        dropped=count("dropped", dropped, least=0),
    )


def check_roles(instruments: Sequence[str], regressors: Sequence[str], outcome: str) -> None:
    """`DomainError` for a column twice in one role, too many columns, and too few instruments."""
    for option, names, most in (
        ("instruments", instruments, MOST_INSTRUMENTS),
        ("regressors", regressors, MOST_REGRESSORS),
    ):
        twice = [name for name in names if list(names).count(name) > 1]
        if twice:
            raise DomainError(option, twice[0], "named once")
        if len(names) > most:
            raise DomainError(option, f"{len(names)} columns", f"at most {most}")
    if len(instruments) < len(regressors):
        found = f"{len(instruments)} columns"
        raise DomainError("instruments", found, f"at least as many as regressors, {len(regressors)}")
    if outcome in (*instruments, *regressors):
        raise DomainError("outcome", outcome, "a column that is neither instrument nor regressor")


def _columns(table: Any, names: Sequence[str]) -> np.ndarray:
    """(n, columns)."""
    columns = []
    for name in names:
        try:
            columns.append(np.asarray(table[name], dtype=float))
        except (KeyError, TypeError, ValueError) as error:
            raise DomainError(f"column {name}", type(error).__name__, "a column of numbers in the table") from None
    if any(column.shape != columns[0].shape or column.ndim != 1 for column in columns):
        raise DomainError("table", f"columns of shapes {[column.shape for column in columns]}", "of one length")
    return np.column_stack(columns)


def _deviations(names: Sequence[str], values: np.ndarray, scale: Scaling) -> np.ndarray:
    """What columns are divided by: their deviations (divisor n), or 1."""
    deviations = values.std(axis=0)
    sizes = np.abs(values).max(axis=0)
    if not np.isfinite(deviations).all() or (sizes > LARGEST).any():
        worst = int(np.argmax(sizes))
        raise DomainError(f"column {names[worst]}", float(sizes.max()), f"at most {LARGEST:g}", "change units")
    if scale != "none":
        for name, deviation, size in zip(names, deviations, sizes, strict=True):
            if deviation <= CONSTANT * size:
                raise DomainError(f"column {name}", "one value in all records", "a column that varies")
    return deviations if scale == "standard" else np.ones(len(names))
