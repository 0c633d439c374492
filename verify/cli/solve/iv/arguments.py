"""Arguments of `dpbounds solve iv`."""

from __future__ import annotations

import argparse
import math

from verify.cli.solve import simulating
from verify.cli.solve.iv import confidence
from verify.cli.solve.pictures import SUFFIXES, picture_file

ADJACENCIES = ("replace-one", "zero-out", "add-remove")
CALIBRATIONS = ("paper", "tight")
SCALINGS = ("standard", "centre", "none")

ABOUT = (
    "DP two-stage gradient descent for instrumental variables (Algorithm 1): noise scales, privacy spent, the error "
    "bound (7) by term, the error to expect, the best number of steps T and clip norms. The expected error needs no "
    "unknown constants, and says where it is not reliable. For a population: --n, --p, --q; for a data set: --csv. "
    "With --confidence: a private estimate with a confidence set that holds."
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Noise, privacy, error and the best T."""
    command.description = ABOUT
    _add_problem(command)
    _add_privacy(command)
    _add_csv(command.add_argument_group("data set"))
    _add_data(command.add_argument_group("population, in place of a data set"))
    _add_algorithm(command.add_argument_group("algorithm"))
    confidence.add_arguments(command.add_argument_group("private confidence set, in place of the algorithm"))
    output = command.add_argument_group("simulation and output")
    simulating.add_arguments(output, simulated="Algorithm 1 at each T")
    output.add_argument("--save", metavar="FILE", help="write the rows of the table as JSON, one for each T")
    output.add_argument(
        "--plot", metavar="FILE", type=picture_file, help=f"draw bound and prediction over T ({', '.join(SUFFIXES)})"
    )
    command.set_defaults(seed=None)  # whether it is given decides whether a confidence set is a private release
    output.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")


def _add_problem(command: argparse.ArgumentParser) -> None:
    command.add_argument("--n", type=int, help="records")
    command.add_argument("--p", type=int, help="regressors")
    command.add_argument("--q", type=int, help="instruments, at least p")
    command.add_argument(
        "--T", nargs="+", type=int, help="numbers of steps to show in full (default: the best of prediction and bound)"
    )


def _add_privacy(command: argparse.ArgumentParser) -> None:
    command.add_argument("--rho1", type=_budget, help="zCDP budget of the first stage; inf: no noise")
    command.add_argument("--rho2", type=_budget, help="zCDP budget of the second stage; inf: no noise")
    command.add_argument(
        "--rho", type=_budget, help="in place of both: what all iterates cost together, split for the least error"
    )
    command.add_argument("--epsilon", type=float, help="in place of --rho: the budget (epsilon, delta), exact")
    command.add_argument("--delta", type=float, default=1e-5, help="delta of epsilon (default: 1e-5)")
    command.add_argument(
        "--adjacency", choices=ADJACENCIES, default="replace-one", help="what neighbours are (default: replace-one)"
    )
    command.add_argument(
        "--calibration",
        choices=CALIBRATIONS,
        help="paper: noise of eq. (4), costs half of rho1 + rho2 or less; tight: less noise, costs exactly rho1 + rho2 "
        "(default: paper with --rho1 and --rho2, tight with --rho and --epsilon)",
    )


def _add_csv(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--csv",
        metavar="FILE",
        help="public data, or a stand-in for yours: nothing printed of it is private; CSV with a header, or .gz",
    )
    group.add_argument(
        "--instruments", nargs="+", metavar="COLUMN", help="controls stand here and among the regressors"
    )
    group.add_argument("--regressors", nargs="+", metavar="COLUMN", help="at most as many as instruments")
    group.add_argument("--outcome", metavar="COLUMN")
    group.add_argument("--drop-missing", action="store_true", help="leave records with a missing value out")
    group.add_argument(
        "--scale",
        choices=SCALINGS,
        help="standard: all columns to mean 0 and variance 1; centre: to mean 0; none: as they are, no intercept "
        "(default: standard)",
    )


def _budget(text: str) -> float:
    """A number, or the word inf: a number beyond floats is a slip, not the wish for no noise."""
    value = float(text)
    if abs(value) == math.inf and text.strip().lower().lstrip("+") not in ("inf", "infinity"):
        raise argparse.ArgumentTypeError(f"{text!r} is beyond the range of floats: no noise is asked for by inf")
    return value


def _add_data(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--theta", metavar="FILE", help="Theta, q rows of p numbers: JSON lists, or CSV without header")
    group.add_argument(
        "--singular-values",
        nargs="+",
        type=float,
        metavar="S",
        help="of Theta: p numbers, or one for all (default without --theta: 1)",
    )
    group.add_argument(
        "--beta",
        nargs="+",
        type=float,
        metavar="B",
        help="p numbers (default: length 1, in equal parts along the singular directions of Theta)",
    )
    group.add_argument(
        "--instrument-covariance", metavar="FILE", help="Cov z, q rows of q numbers, as --theta (default: identity)"
    )
    group.add_argument("--sigma-z", type=float, default=1.0, help="variance proxy of the instruments (default: 1)")
    group.add_argument(
        "--sigma-1", type=float, default=1.0, help="standard deviation of the error of y, for 2SLS itself (default: 1)"
    )
    group.add_argument("--sigma-2", type=float, default=1.0, help="that of the first-stage errors (default: 1)")
    group.add_argument("--tau", type=float, default=5.0, help="confidence of (7): 1 - O(exp(-tau)) (default: 5)")


def _add_algorithm(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--eta", type=float, help="step size of the first stage (default: half the limit (3))")
    group.add_argument("--alpha", type=float, help="step size of the second stage (default: half the limit (3))")
    group.add_argument("--gamma1", type=float, help="clip norm of the first stage (default: as --gamma2)")
    group.add_argument(
        "--gamma2",
        type=float,
        help="clip norm of the second stage (default: eq. (4), which depends on T; with --csv those suggested)",
    )
    group.add_argument(
        "--constant",
        nargs="+",
        metavar="NAME=VALUE",
        help="constants that the paper leaves open: clipping (c_0 of (4)), sample_size, horizon, epsilon, "
        "optimisation, privacy, statistical (default: 1, epsilon 0); concentration (of delta), product (of psi) "
        "(default: 0, the limit of many records)",
    )
