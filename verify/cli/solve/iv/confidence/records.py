"""The columns of a CSV file. What is read here is private: a refusal that depends on the records says so."""

from __future__ import annotations

from pathlib import Path

from dpbounds import DomainError
from dpbounds.iv.confidence import ReleasePlan
from simulators.iv.confidence.records import NOT_PRIVATE
from simulators.tables import Columns, read_columns
from verify.cli.console import progress


def load(plan: ReleasePlan, file: str, *, drop_missing: bool) -> Columns:
    """Columns in the order of the plan. `DomainError` names what cannot be used: an option, a column, a line."""
    try:
        with progress("csv", "bytes") as report:
            return read_columns(Path(file), plan.columns, "csv", drop_missing=drop_missing, report=report)
    except DomainError as error:
        if ", line " not in error.parameter:
            raise
        remedy = f"{error.remedy}; {NOT_PRIVATE}" if error.remedy else NOT_PRIVATE
        raise DomainError(error.parameter, error.value, error.allowed, remedy) from None
