"""The data set that `dpbounds solve iv --csv` is given."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from dpbounds import DomainError
from dpbounds.iv import DataSet, scaled_data
from dpbounds.iv.tables import check_roles
from simulators.tables import read_columns

# What the file says itself.
OF_A_POPULATION = ("n", "p", "q", "theta", "singular_values", "beta", "instrument_covariance")


def load(arguments: Namespace) -> DataSet:
    """`DomainError` names what cannot be used: an option, a column, a line, a matrix without full rank."""
    for name in OF_A_POPULATION:
        if getattr(arguments, name) is not None:
            raise DomainError(name, getattr(arguments, name), "left out with --csv", "the file says it")
    for name in ("instruments", "regressors", "outcome"):
        if not getattr(arguments, name):
            raise DomainError(name, "nothing", "given with --csv", "names of columns")
    instruments, regressors, outcome = arguments.instruments, arguments.regressors, arguments.outcome
    check_roles(instruments, regressors, outcome)  # before the file is read
    names = list(dict.fromkeys((*instruments, *regressors, outcome)))
    columns = read_columns(Path(arguments.csv), names, "csv", drop_missing=arguments.drop_missing)
    return scaled_data(
        dict(zip(names, columns.values.T, strict=True)),
        instruments=instruments,
        regressors=regressors,
        outcome=outcome,
        scale=arguments.scale or "standard",
        dropped=columns.dropped,
    )
