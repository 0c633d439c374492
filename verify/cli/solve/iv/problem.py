"""The population that `dpbounds solve iv` is given, and what is chosen for the run."""

from __future__ import annotations

import json
from argparse import Namespace
from dataclasses import fields
from pathlib import Path

import numpy as np

from dpbounds import DomainError
from dpbounds.errors import within
from dpbounds.iv import Choices, Constants, Population
from dpbounds.iv.moments import finite_array
from dpbounds.iv.plans import MANY_RECORDS
from simulators.tables import number_rows
from verify.cli.files import read

MATRIX = "a file with {} rows of {} numbers, as JSON lists or as CSV without a header"


def population(arguments: Namespace) -> Population:
    """`DomainError` names the first argument that is out of its range, or that is missing or of no use."""
    for name in ("n", "p", "q"):
        if getattr(arguments, name) is None:
            raise DomainError(name, "nothing", "given", "or --csv FILE for a data set")
    for name in ("instruments", "regressors", "outcome", "scale"):
        if getattr(arguments, name):
            raise DomainError(name, getattr(arguments, name), "left out without --csv")
    sizes = {name: getattr(arguments, name) for name in ("n", "p", "q", "sigma_z", "sigma_1", "sigma_2", "tau")}
    Population(**sizes)  # before files of that size are read
    singular_values, p, q = arguments.singular_values, arguments.p, arguments.q
    if arguments.theta is not None and singular_values is not None:
        raise DomainError("singular_values", singular_values, "left out with --theta", "the matrix has its own")
    return Population(
        **sizes,
        theta=_matrix("theta", arguments.theta, q, p),
        singular_values=singular_values,
        beta=arguments.beta,
        instrument_covariance=_matrix("instrument_covariance", arguments.instrument_covariance, q, q),
    )


def choices(arguments: Namespace) -> Choices:
    """Step sizes, constants and delta."""
    return Choices(eta=arguments.eta, alpha=arguments.alpha, constants=_constants(arguments), delta=arguments.delta)


def _constants(arguments: Namespace) -> Constants:
    """delta = psi = 0 unless told otherwise."""
    names = [field.name for field in fields(Constants)]
    values = {name: getattr(MANY_RECORDS, name) for name in names}
    for text in arguments.constant or []:
        name, _, number = text.partition("=")
        if name not in names:
            raise DomainError("constant", text, f"NAME=VALUE with NAME one of {', '.join(names)}")
        try:
            value = float(number)
        except ValueError:
            raise DomainError(f"constant {name}", number, "a real number") from None
        values[name] = within(f"constant {name}", value, "[0, 1e12]")
    return Constants(**values)


def _matrix(option: str, file: str | None, rows: int, columns: int) -> np.ndarray | None:
    """The numbers of the file, all finite; None without a file."""
    if file is None:
        return None
    allowed = MATRIX.format(rows, columns)
    text = read(option, file, allowed)
    try:
        lists = _json_rows(text) if file.lower().endswith(".json") else number_rows(text)
        matrix = finite_array(option, lists, 2)
    except (ValueError, OverflowError, RecursionError) as error:
        raise DomainError(option, Path(file), allowed, " ".join(str(error).split())) from None
    if matrix.shape != (rows, columns):
        held = f"it holds {matrix.shape[0]} rows of {matrix.shape[1]}"
        raise DomainError(option, Path(file), allowed, held)
    return matrix


def _json_rows(text: str) -> list[list[float]]:
    rows = json.loads(text)
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise ValueError("no list of lists")
    if not all(type(entry) in (int, float) for row in rows for entry in row):
        raise ValueError("an entry is not a number")
    return [[float(entry) for entry in row] for row in rows]
