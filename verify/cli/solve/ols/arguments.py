"""Arguments of `dpbounds solve ols`."""

from __future__ import annotations

import argparse

from verify.cli.solve import simulating
from verify.cli.solve.pictures import SUFFIXES, picture_file

BEYOND = ("refuse", "clip")

ABOUT = (
    "DP least squares: iterative Hessian mixing (IHM), linear mixing, AdaSSP, gradient descent (DP-GD), preconditioned "
    "recentred Newton (PRN) and tail-averaged preconditioned descent (TAP) on one problem: noise, predicted risk ||X "
    "(theta - theta*)||² and the method to take, at equal true privacy and under the paper's accounting. For an "
    "assumed design: --n, --d; for a data set: --csv, --target."
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Budget, problem, algorithms, simulation and output."""
    command.description = ABOUT
    command.add_argument("--epsilon", type=float, required=True, help="budget of the whole release, above 0")
    command.add_argument("--delta", type=float, help="below 1 (default: 1/n²)")
    _add_design(command.add_argument_group("assumed design, in place of a data set"))
    _add_csv(command.add_argument_group("data set"))
    _add_algorithms(command.add_argument_group("algorithms"))
    output = command.add_argument_group("simulation and output")
    simulating.add_arguments(output, simulated="every method")
    output.add_argument(
        "--plot", metavar="FILE", type=picture_file, help=f"draw predicted risks over epsilon ({', '.join(SUFFIXES)})"
    )
    output.add_argument("--save", metavar="FILE", help="write the rows of the tables as JSON")
    output.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")


def _add_design(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--n", type=int, help="records; with --stand-in, how many yours are (default: as many)")
    group.add_argument("--d", type=int, help="regressors, at most 300")
    group.add_argument("--spectrum", metavar="FILE", help="the d eigenvalues of X'X, one a line or separated by commas")
    group.add_argument(
        "--lambda-min",
        type=float,
        metavar="L",
        help="the least eigenvalue of X'X: a geometric spectrum from there, rows of length 1/2 (default: all alike)",
    )
    group.add_argument("--theta-norm", type=float, default=0.5, help="||theta*||, in equal parts (default: 0.5)")
    group.add_argument(
        "--residual", type=float, default=0.05, metavar="R", help="L(theta*)/n, mean squared residual (default: 0.05)"
    )


def _add_csv(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--csv",
        metavar="FILE",
        help="public data, or a stand-in for yours: nothing printed of it is private; CSV with a header, or .gz",
    )
    group.add_argument(
        "--stand-in",
        action="store_true",
        help="the records are public or made up, yours are others like them: settings read off them count as private",
    )
    group.add_argument("--target", metavar="COLUMN", help="the outcome; all other columns are regressors")
    group.add_argument("--drop-missing", action="store_true", help="leave records with a missing value out")
    group.add_argument(
        "--row-bound", type=float, metavar="C_X", help="public bound on ||x|| (default: the data's own, not private)"
    )
    group.add_argument(
        "--outcome-bound", type=float, metavar="C_Y", help="public bound on |y| (default: the data's own, not private)"
    )
    group.add_argument(
        "--ranges",
        metavar="RANGES",
        help="public ranges of all columns, 'age=18:90, income=0:2e5': each is mapped to [-1, 1] (no bounds then)",
    )
    group.add_argument(
        "--intercept", action="store_true", help="a column of ones, as large as one feature (needs --ranges)"
    )
    group.add_argument(
        "--beyond", choices=BEYOND, default="refuse", help="what to do with records beyond the bounds (default: refuse)"
    )


def _add_algorithms(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--failure", type=float, metavar="RHO", help="the paper's varrho (default: delta/10)")
    group.add_argument("--T", type=int, default=3, help="iterations of IHM and DP-GD (default: 3)")
    group.add_argument("--k", type=int, help="rows of a sketch of IHM (default: 6 max{d, log(4T/varrho)})")
    group.add_argument("--linear-k", type=int, help="of linear mixing (default: 2.5 max{d, log(2/varrho)})")
    group.add_argument("--clip", type=float, metavar="C", help="of IHM and DP-GD, in units of C_Y (default: 1)")
    group.add_argument("--rate", type=float, default=0.25, help="step size of DP-GD (default: 0.25)")
