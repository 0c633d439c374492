"""What `dpbounds solve glm` is given: files read, everything else as it stands for `dpbounds.glm.recommend`."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np

from dpbounds import DomainError
from dpbounds.glm.problem import MOST_P, Problem
from simulators.tables import number_rows, read_table
from verify.cli.files import read

MATRIX = "a file with p lines of p numbers, separated by commas or spaces"
# Arguments that the Python call has by the same names.
SAME = (
    "link",
    "n",
    "m",
    "epsilon",
    "delta",
    "p",
    "variance",
    "w_norm",
    "ols_size",
    "noise",
    "failure",
    "radius",
    "label_bound",
    "beyond",
    "target",
)


def settings(arguments: Namespace) -> dict[str, Any]:
    """Arguments of `dpbounds.glm.recommend`."""
    if arguments.covariance is not None and arguments.public is not None:
        raise DomainError("covariance", arguments.covariance, "left out with --public", "its records say it")
    return {
        **{name: getattr(arguments, name) for name in SAME},
        "covariance": None if arguments.covariance is None else _matrix(arguments.covariance),
        "public": None if arguments.public is None else _records(arguments.public),
        "estimators": None if arguments.estimator is None else (arguments.estimator,),
    }


def assumptions(arguments: Namespace, problem: Problem) -> tuple[str, ...]:
    """What was assumed or read off, and what the prediction leaves out."""
    if arguments.covariance is not None:
        design = f"of the covariance in {Path(arguments.covariance).name}"
    elif arguments.public is not None:
        design = f"of the second moments of the {problem.m} records in {Path(arguments.public).name}"
    else:
        design = f"of covariance {1.0 if arguments.variance is None else arguments.variance:g} I"
    size = f"||w*|| = {1.0 if arguments.w_norm is None else arguments.w_norm:g}"
    if arguments.ols_size is not None:
        size = f"||w*|| = {problem.w_norm:.6g} as |Sigma^1/2 w_ols| = {arguments.ols_size:g}"
    sentences = [f"Assumed: x Gaussian, {design}; w* in equal parts, {size}."]
    if problem.chosen_bounds:
        bounds = " and ".join(problem.chosen_bounds)
        sentences.append(f"The prediction leaves out what clipping to {bounds} does to the records; --simulate clips.")
    return tuple(sentences)


# --- files ---


def _matrix(file: str) -> np.ndarray:
    try:
        rows = number_rows(read("covariance", file, MATRIX))
        if len(rows) > MOST_P:
            raise DomainError("covariance", f"{len(rows)} lines", f"at most {MOST_P}")
        return np.array(rows)
    except DomainError:
        raise
    except ValueError as error:
        raise DomainError("covariance", Path(file), MATRIX, " ".join(str(error).split())) from None


def _records(file: str) -> np.ndarray:
    """All of them: where some have gaps, the covariance would be that of the others."""
    table = read_table(Path(file), "public", drop_missing=False)
    if len(table.names) > MOST_P:
        raise DomainError("public", f"{len(table.names)} columns", f"from 1 to {MOST_P}")
    return table.rows
