"""Arguments of `dpbounds solve iv`."""

from __future__ import annotations

import argparse

from verify.cli.solve.pictures import SUFFIXES, picture_file

ADJACENCIES = ("replace-one", "zero-out", "add-remove")
CALIBRATIONS = ("paper", "tight")

ABOUT = (
    "DP two-stage gradient descent for instrumental variables (Algorithm 1): noise scales, privacy spent, the error "
    "bound (7) by term, the error to expect, and the best number of steps T. The expected error needs no unknown "
    "constants; it takes instruments with identity covariance, many records and clip norms that no gradient reaches."
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Noise, privacy, error and the best T."""
    command.description = ABOUT
    _add_problem(command)
    _add_privacy(command)
    _add_data(command.add_argument_group("data"))
    _add_algorithm(command.add_argument_group("algorithm"))
    command.add_argument("--save", metavar="FILE", help="write the rows of the table as JSON, one for each T")
    command.add_argument(
        "--plot", metavar="FILE", type=picture_file, help=f"draw bound and prediction over T ({', '.join(SUFFIXES)})"
    )
    command.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")


def _add_problem(command: argparse.ArgumentParser) -> None:
    command.add_argument("--n", type=int, required=True, help="records")
    command.add_argument("--p", type=int, required=True, help="regressors")
    command.add_argument("--q", type=int, required=True, help="instruments, at least p")
    command.add_argument(
        "--T", nargs="+", type=int, help="numbers of steps to show in full (default: the best of prediction and bound)"
    )


def _add_privacy(command: argparse.ArgumentParser) -> None:
    command.add_argument("--rho1", type=float, required=True, help="zCDP budget of the first stage; inf: no noise")
    command.add_argument("--rho2", type=float, required=True, help="zCDP budget of the second stage; inf: no noise")
    command.add_argument("--delta", type=float, default=1e-5, help="delta at which epsilon is shown (default: 1e-5)")
    command.add_argument(
        "--adjacency", choices=ADJACENCIES, default="replace-one", help="what neighbours are (default: replace-one)"
    )
    command.add_argument(
        "--calibration",
        choices=CALIBRATIONS,
        default="paper",
        help="paper: noise of eq. (4); tight: less, costs exactly rho1 + rho2 (default: paper)",
    )


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
    group.add_argument("--sigma-z", type=float, default=1.0, help="variance proxy of the instruments (default: 1)")
    group.add_argument(
        "--sigma-1", type=float, default=1.0, help="standard deviation of the error of y, for 2SLS itself (default: 1)"
    )
    group.add_argument("--sigma-2", type=float, default=1.0, help="that of the first-stage errors (default: 1)")
    group.add_argument("--tau", type=float, default=5.0, help="confidence of (7): 1 - O(exp(-tau)) (default: 5)")


def _add_algorithm(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--eta", type=float, help="step size of the first stage (default: half the limit (3))")
    group.add_argument("--alpha", type=float, help="step size of the second stage (default: half the limit (3))")
    group.add_argument("--gamma1", type=float, help="clip norm of the first stage (default: eq. (4), depends on T)")
    group.add_argument("--gamma2", type=float, help="clip norm of the second stage (default: eq. (4), depends on T)")
    group.add_argument(
        "--constant",
        nargs="+",
        metavar="NAME=VALUE",
        help="constants that the paper leaves open: clipping (c_0 of (4)), sample_size, horizon, epsilon, "
        "optimisation, privacy, statistical (default: 1, epsilon 0); concentration (of delta), product (of psi) "
        "(default: 0, the limit of many records)",
    )
