"""Arguments of `dpbounds solve glm`."""

from __future__ import annotations

import argparse

from verify.cli.solve import simulating
from verify.cli.solve.pictures import SUFFIXES, picture_file

LINKS = ("logistic", "boosting", "poisson", "sigmoid", "cubic", "softplus")
ESTIMATORS = ("paper", "pooled", "public-covariance", "no-public-data")
BEYOND = ("refuse", "clip")

ABOUT = (
    "GLMs and non-linear regressions in non-interactive local DP, one noisy message per user, x Gaussian: the scale "
    "constant, the noise as printed and what privacy really needs, the predicted error ||w - w*||² / ||w*||² by term, "
    "the estimator to take and what more public or private records would buy. The covariance is --variance I, or that "
    "of --covariance, or of the public records in --public."
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Model, budget, bounds, simulation and output."""
    command.description = ABOUT
    command.add_argument("--link", choices=LINKS, required=True, help="mean function: E[y | x] = mu(<x, w*>)")
    command.add_argument("--n", type=int, required=True, help="private records")
    command.add_argument("--m", type=int, help="public records without labels, 0 or at least p (default: n)")
    command.add_argument("--epsilon", type=float, required=True, help="budget of one user's message, above 0")
    command.add_argument("--delta", type=float, help="below 1 (default: n^-1.1)")
    _add_model(command.add_argument_group("model"))
    _add_bounds(command.add_argument_group("bounds and estimators"))
    output = command.add_argument_group("simulation and output")
    simulating.add_arguments(output, simulated="every estimator")
    output.add_argument(
        "--plot", metavar="FILE", type=picture_file, help=f"draw predicted errors over epsilon ({', '.join(SUFFIXES)})"
    )
    output.add_argument("--save", metavar="FILE", help="write the rows of the tables as JSON")
    output.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")


def _add_model(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--p", type=int, help="coordinates of x, where no file says it")
    group.add_argument("--variance", type=float, help="of every coordinate, where no file says it (default: 1)")
    group.add_argument(
        "--covariance", metavar="FILE", help="Sigma: p lines of p numbers, separated by commas or spaces"
    )
    group.add_argument(
        "--public", metavar="FILE", help="the public records: CSV with a header, one column a coordinate; gives p and m"
    )
    group.add_argument("--w-norm", type=float, help="||w*||, in equal parts (default: 1)")
    group.add_argument(
        "--ols-size", type=float, metavar="S", help="|Sigma^1/2 w_ols| of least squares, in place of --w-norm"
    )
    group.add_argument("--noise", type=float, default=0.0, metavar="C", help="of a regression, +-C (default: 0)")


def _add_bounds(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--failure",
        type=float,
        default=0.1,
        metavar="ZETA",
        help="chance that one of n records is beyond its bounds (default: 0.1)",
    )
    group.add_argument("--radius", type=float, metavar="R", help="public bound on ||x|| (default: from --failure)")
    group.add_argument("--label-bound", type=float, metavar="B", help="public bound on |y| (default: from --failure)")
    group.add_argument(
        "--beyond", choices=BEYOND, default="refuse", help="public records longer than --radius (default: refuse)"
    )
    group.add_argument("--estimator", choices=ESTIMATORS, help="this one alone (default: all)")
    group.add_argument(
        "--target", type=float, metavar="ERROR", help="relative error to reach: how many records it takes"
    )
