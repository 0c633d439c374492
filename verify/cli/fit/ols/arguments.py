"""Arguments of `dpbounds fit ols`."""

from __future__ import annotations

import argparse

ABOUT = (
    "One differentially private release of least squares from a CSV file, by tail-averaged preconditioned descent "
    "(TAP): coefficients in the records' units, what they cost, and what error to expect. Ranges are public and never "
    "read off the records; settings are constants of the method."
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Records, ranges, budget, noise and output."""
    command.description = ABOUT
    records = command.add_argument_group("records")
    records.add_argument("--csv", metavar="FILE", required=True, help="private records: CSV with a header, or .gz")
    records.add_argument("--target", metavar="COLUMN", required=True, help="the outcome; all others are regressors")
    records.add_argument(
        "--ranges", required=True, help="public ranges of all columns and the outcome: 'age=18:90, income=0:2e5, y=0:1'"
    )
    records.add_argument("--intercept", action="store_true", help="with a column of ones, as large as one feature")
    records.add_argument(
        "--beyond",
        choices=("clip", "refuse"),
        default="clip",
        help="records beyond a range: taken to its end, or refused, which is not private (default: clip)",
    )
    budget = command.add_argument_group("budget and noise")
    budget.add_argument("--epsilon", type=float, required=True, help="of the whole release, above 0")
    budget.add_argument("--delta", type=float, required=True, help="below 1; far below 1/n")
    budget.add_argument(
        "--adjacency",
        choices=("zero-out", "replace-one"),
        default="zero-out",
        help="neighbours: a record contributes nothing, or is another one, for 1.9 times the noise (default: zero-out)",
    )
    budget.add_argument("--noise", choices=("opendp", "numpy"), help="default: opendp where it is installed")
    budget.add_argument("--seed", type=int, help="a study that can be repeated, and is not private")
    output = command.add_argument_group("forecast and output")
    output.add_argument(
        "--stand-in", metavar="FILE", help="public records of the same columns, about as many: a better forecast"
    )
    output.add_argument(
        "--level", type=float, default=0.95, help="of the intervals for what the noise alone does (default: 0.95)"
    )
    output.add_argument("--out", metavar="FILE.json", required=True, help="the model; a new file")
    output.add_argument(
        "--event", metavar="FILE.json", help="what an accountant is told, for dpbounds audit --event; a new file"
    )
    output.add_argument("--json", action="store_true", help="print the model as JSON")
