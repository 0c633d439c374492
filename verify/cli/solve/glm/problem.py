"""What `dpbounds solve glm` is given: files read, everything else as it stands for `dpbounds.glm.recommend`."""

from __future__ import annotations

import csv
import math
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np

from dpbounds import DomainError
from dpbounds.glm.problem import MOST_P, Problem
from verify.cli.files import read

MOST_ENTRIES, MOST_BYTES = 10**8, 10**9
MATRIX = "a file with p lines of p numbers, separated by commas or spaces"
RECORDS = "a CSV file with a header and a column of numbers for each coordinate"
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
    lines = [line.replace(",", " ").split() for line in read("covariance", file, MATRIX).splitlines() if line.strip()]
    if len(lines) > MOST_P:
        raise DomainError("covariance", f"{len(lines)} lines", f"at most {MOST_P}")
    try:
        return np.array([[float(part) for part in line] for line in lines])
    except ValueError as error:
        raise DomainError("covariance", Path(file), MATRIX, " ".join(str(error).split())) from None


def _records(file: str) -> np.ndarray:
    rows: list[list[float]] = []
    try:
        if Path(file).exists() and not Path(file).is_file():
            raise DomainError("public", Path(file), "a regular file", "a device or a folder holds no records")
        if Path(file).stat().st_size > MOST_BYTES:
            raise DomainError("public", Path(file), f"{RECORDS}, of at most {MOST_BYTES} bytes")
        with Path(file).open(encoding="utf-8-sig", newline="") as opened:
            reader = csv.reader(opened, strict=True)
            names = [name.strip() for name in next(reader, [])]
            if not 0 < len(names) <= MOST_P:
                raise DomainError("public", f"{len(names)} columns", f"from 1 to {MOST_P}")
            for line in reader:
                if line:
                    rows.append(_numbers(line, names, reader.line_num))
                if len(rows) * len(names) > MOST_ENTRIES:
                    raise DomainError("public", Path(file), f"at most {MOST_ENTRIES // len(names)} records")
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DomainError("public", Path(file), RECORDS, " ".join(str(error).split())) from None
    except ValueError as error:  # a name with a null byte
        if isinstance(error, DomainError):
            raise
        raise DomainError("public", file.replace("\0", "\\0"), RECORDS) from None
    if not rows:
        raise DomainError("public", Path(file), "a CSV file with records", "it has none")
    return np.array(rows)


def _numbers(line: list[str], names: list[str], number: int) -> list[float]:
    if len(line) != len(names):
        raise DomainError(f"line {number} of --public", f"{len(line)} values", f"one for each of {len(names)} columns")
    values = []
    for text, name in zip(line, names, strict=True):
        try:
            values.append(float(text))
        except ValueError:
            values.append(math.nan)
        if not math.isfinite(values[-1]):
            remedy = "leave out records with missing values, code text as numbers"
            raise DomainError(
                f"column {name}, line {number} of --public", text.strip() or "nothing", "a number", remedy
            )
    return values
