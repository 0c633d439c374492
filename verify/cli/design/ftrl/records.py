"""`--features` of `dpbounds design ftrl`: public or proxy records, one column the outcome."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from dpbounds import DomainError
from dpbounds.ftrl.design import ProxyRecords
from simulators.tables import read_table


def records_of(arguments: Namespace) -> ProxyRecords | None:
    """The records of the file; None without one. `DomainError` names the line of what is no number."""
    if arguments.features is None:
        if arguments.outcome is not None:
            raise DomainError("outcome", arguments.outcome, "given with --features")
        return None
    path = Path(arguments.features)
    table = read_table(path, "features", drop_missing=False)
    if len(table.names) < 2:
        raise DomainError("features", path, "a CSV file with features and an outcome", "it has 1 column")
    outcome = table.names[-1] if arguments.outcome is None else arguments.outcome
    return ProxyRecords.of(*table.split(outcome, "outcome"))
