"""`dpbounds fit ols`: read the records, release once, write and show the model."""

from __future__ import annotations

import json
import os
import warnings
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np

from dpbounds import DomainError
from dpbounds.errors import within
from dpbounds.ols import Ranges, parsed_ranges
from simulators.ols import LinearRegression
from simulators.tables import read_table
from verify.cli.console import print_json
from verify.cli.files import check_target, write
from verify.cli.fit.ols.show import show
from verify.running.store import strict


def run(arguments: Namespace) -> int:
    """Everything is checked before noise is drawn, since that spends the budget."""
    for option in ("out", "event"):
        _check_new(option, getattr(arguments, option))
    if arguments.event is not None and Path(arguments.event).resolve() == Path(arguments.out).resolve():
        raise DomainError("event", Path(arguments.event), "another file than --out")
    X, y, names = _records("csv", arguments.csv, arguments.target)
    ranges = parsed_ranges(arguments.ranges, names, arguments.target, intercept=arguments.intercept)
    within("level", arguments.level, "(0, 1)")
    model = _model(arguments, ranges)
    expected = None if arguments.stand_in is None else _expected(model, arguments, names)
    with warnings.catch_warnings():  # that floats have holes is shown below
        warnings.simplefilter("ignore", UserWarning)
        model.fit(X, y)
    content = model.content(arguments.level) | {
        "columns": names,
        "target": arguments.target,
        "expected_excess_stand_in": expected,
    }
    try:
        write("out", arguments.out, _text(content))
        if arguments.event is not None:
            write("event", arguments.event, _text(model.event_))
    finally:  # a full disk does not cost the release
        print_json(content) if arguments.json else show(content)
    return 0


def _check_new(option: str, file: str | None) -> None:
    """A file that is there may hold what another budget was spent on."""
    check_target(option, file)
    if file is not None and os.path.lexists(file):
        remedy = "a second release from the same records spends a second budget; name another file if that is meant"
        raise DomainError(option, Path(file), "a new file", remedy)


def _records(option: str, file: str, target: str) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Columns, outcome, and the names of the columns. How many records have gaps would be read off them: refused."""
    table = read_table(Path(file), option)
    table.column(target)
    if table.dropped:
        remedy = "fill the gaps by a public rule; how many records are left out would not be private"
        raise DomainError(option, Path(file), "without missing values", remedy)
    if len(table.names) < 2:
        raise DomainError(option, Path(file), "a table with an outcome and regressors")
    return *table.split(target), [name for name in table.names if name != target]


def _model(arguments: Namespace, ranges: Ranges) -> LinearRegression:
    return LinearRegression(
        epsilon=arguments.epsilon,
        delta=arguments.delta,
        ranges=ranges.columns,
        outcome_range=ranges.outcome,
        fit_intercept=arguments.intercept,
        beyond=arguments.beyond,
        adjacency=arguments.adjacency,
        noise=arguments.noise,
        seed=arguments.seed,
    )


def _expected(model: LinearRegression, arguments: Namespace, names: list[str]) -> float:
    X, y, own = _records("stand_in", arguments.stand_in, arguments.target)
    if sorted(own) != sorted(names):
        raise DomainError("stand_in", Path(arguments.stand_in), f"with the columns {', '.join(names)}")
    return model.expected_excess(X[:, [own.index(name) for name in names]], y)


def _text(content: Any) -> bytes:
    return (json.dumps(strict(content), indent=1, allow_nan=False) + "\n").encode()
