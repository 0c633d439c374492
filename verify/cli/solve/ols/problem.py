"""What `dpbounds solve ols` is asked: an assumed design or a data set, and what is chosen for the methods."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from dpbounds import DomainError
from dpbounds.errors import count
from dpbounds.ols import AssumedDesign, Choices, ScaledData, bounded_data, parsed_ranges
from simulators.tables import Table, number_rows, read_table
from verify.cli.files import read

SPECTRUM = "a file with d positive numbers, one a line or separated by commas"
# Arguments of one kind of problem that the other has no use for.
OF_DESIGN, OF_DATA = ("n", "d", "spectrum", "lambda_min"), ("target", "row_bound", "outcome_bound", "ranges")


def choices(arguments: Namespace) -> Choices:
    """`DomainError` names the first argument that is out of its range."""
    return Choices(
        failure=arguments.failure,
        steps=count("T", arguments.T),
        rate=arguments.rate,
        clip=arguments.clip,
        k=arguments.k,
        linear_k=arguments.linear_k,
    )


def problem(arguments: Namespace) -> tuple[AssumedDesign | ScaledData, str]:
    """The design or the data, and what is assumed, or read off the data, in words."""
    return _design(arguments) if arguments.csv is None else _data(arguments)


def _design(arguments: Namespace) -> tuple[AssumedDesign, str]:
    for name in ("n", "d"):
        if getattr(arguments, name) is None:
            raise DomainError(name, None, "given without --csv", "--n and --d, or --csv and --target")
    for name in OF_DATA:
        if getattr(arguments, name) is not None:
            raise DomainError(name, getattr(arguments, name), "left out without --csv")
    if arguments.spectrum is not None and arguments.lambda_min is not None:
        raise DomainError("lambda_min", arguments.lambda_min, "left out with --spectrum", "the file has its own")
    design = AssumedDesign(
        n=arguments.n,
        d=arguments.d,
        spectrum=None if arguments.spectrum is None else _from_file(arguments.spectrum, arguments.d),
        lambda_min=arguments.lambda_min,
        theta_norm=arguments.theta_norm,
        residual=arguments.residual,
    )
    return design, _assumed(arguments)


def _from_file(file: str, d: int) -> tuple[float, ...]:
    text = read("spectrum", file, SPECTRUM)
    try:
        values = tuple(number for row in number_rows(text) for number in row)
    except ValueError as error:
        raise DomainError("spectrum", Path(file), SPECTRUM, str(error)) from None
    if len(values) != d or min(values, default=0.0) <= 0:
        raise DomainError("spectrum", Path(file), SPECTRUM, f"it holds {len(values)}, and d = {d}")
    return values


def _assumed(arguments: Namespace) -> str:
    """What stands in for data."""
    kind = "all eigenvalues of X'X alike" if arguments.lambda_min is None else "a geometric spectrum of X'X"
    spectrum = "the spectrum of X'X in the file" if arguments.spectrum else f"{kind}, rows of length 1/2"
    return (
        f"Assumed: {spectrum}; theta* of length {arguments.theta_norm:g} in equal parts along the eigenvectors; mean "
        f"squared residual {arguments.residual:g}; ||x|| <= 1, |y| <= 1."
    )


def _data(arguments: Namespace) -> tuple[ScaledData, str]:
    for name in OF_DESIGN:
        if getattr(arguments, name) is not None and not (name == "n" and arguments.stand_in):
            remedy = "the file says it" + (", but for n others: --stand-in" if name == "n" else "")
            raise DomainError(name, getattr(arguments, name), "left out with --csv", remedy)
    if arguments.target is None:
        raise DomainError("target", None, "the name of a column", "say which is the outcome")
    table = read_table(Path(arguments.csv), "csv")
    if table.dropped and not arguments.drop_missing:
        raise DomainError(
            "csv", Path(arguments.csv), "without missing values", f"{table.dropped} records have some: --drop-missing"
        )
    table.column(arguments.target)
    if len(table.names) < 2:
        raise DomainError("csv", Path(arguments.csv), "a table with an outcome and regressors")
    if arguments.ranges is not None:
        return _ranged(arguments, table)
    if arguments.intercept:
        raise DomainError("intercept", True, "given with --ranges", "a column of ones in units of the features")
    data = bounded_data(
        *table.split(arguments.target),
        row_bound=arguments.row_bound,
        outcome_bound=arguments.outcome_bound,
        beyond=arguments.beyond,
    )
    return data, _read_off(arguments, data, table.dropped)


def _ranged(arguments: Namespace, table: Table) -> tuple[ScaledData, str]:
    """Every column mapped from its public range to [-1, 1]."""
    for name in ("row_bound", "outcome_bound"):
        if getattr(arguments, name) is not None:
            raise DomainError(name, getattr(arguments, name), "left out with --ranges", "the ranges say it")
    names = [name for name in table.names if name != arguments.target]
    ranges = parsed_ranges(arguments.ranges, names, arguments.target, intercept=arguments.intercept)
    X, y = table.split(arguments.target)
    data = ranges.data(X, y, beyond=arguments.beyond)
    lines = [
        f"Everything below is computed from the records of {Path(arguments.csv).name} and is not private: public data, "
        "or a stand-in. Columns and outcome are mapped from their public ranges to [-1, 1], rows divided by the root "
        "of their number: nothing is read off the data for the scale. Risks are in units of half the outcome's range."
    ]
    if ranges.beyond(X, y):
        lines.append(f"{ranges.beyond(X, y)} records beyond a range were taken to its end (--beyond clip).")
    if table.dropped:
        lines.append(f"{table.dropped} records with a missing value were left out.")
    return data, " ".join(lines)


def _read_off(arguments: Namespace, data: ScaledData, dropped: int) -> str:
    """What was taken from the data, all of which a private answer would have to pay for."""
    name = Path(arguments.csv).name
    lines = [f"Everything below is computed from the records of {name} and is not private: public data, or a stand-in."]
    scaled = [
        label for label, key in (("||x||", "row_bound"), ("|y|", "outcome_bound")) if getattr(arguments, key) is None
    ]
    if scaled:
        lines.append(f"The bounds on {' and '.join(scaled)} are the data's own largest, as in the paper: not private.")
    if data.shortened:
        lines.append(f"Records beyond {' and '.join(data.shortened)} were shortened to it (--beyond clip).")
    if dropped:
        lines.append(f"{dropped} records with a missing value were left out.")
    return " ".join(lines)
