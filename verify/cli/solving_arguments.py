"""The arguments of `dpbounds solve`, apart from the computation so that `--help` stays fast."""

from __future__ import annotations

import argparse

PROBLEMS = ("mean-estimation", "linear-regression")
MECHANISMS = ("sgd", "nu", "best-nu", "optimal", "optimal-counting", "anti-pgd", "damped-anti-pgd")


def add_ftrl(topics: argparse._SubParsersAction) -> None:
    """`solve ftrl`: stationary error of DP-FTRL."""
    command = topics.add_parser("ftrl", help="correlated noise: exact stationary error, bounds and the optimum")
    command.set_defaults(module="solving_ftrl")
    command.add_argument("--problem", choices=PROBLEMS, default="linear-regression", help="default: %(default)s")
    command.add_argument(
        "--mechanism", nargs="+", choices=MECHANISMS, default=["sgd", "nu", "optimal"], help="default: sgd nu optimal"
    )
    command.add_argument("--eta", nargs="+", type=float, required=True, help="learning rates")
    command.add_argument(
        "--rho", nargs="+", type=float, default=[0.5], help="zCDP budgets, zero-out adjacency (default: 0.5)"
    )
    command.add_argument("--nu", type=float, help="damping of nu and damped-anti-pgd (default: eta * mu)")
    command.add_argument(
        "--kappa", nargs="+", type=float, help="condition numbers: eigenvalues from 1 down to 1/kappa, equal ratios"
    )
    command.add_argument(
        "--dimension", type=int, default=2, help="number of eigenvalues with --kappa or --decay (default: 2)"
    )
    command.add_argument("--decay", type=float, help="eigenvalues k^-decay, k = 1 ... dimension")
    command.add_argument(
        "--eigenvalues", nargs="+", type=float, help="the eigenvalues of the input covariance themselves"
    )
    command.add_argument("--clip-norm", type=float, default=1.0, help="default: 1")
    command.add_argument(
        "--sigma-sgd", type=float, default=0.0, help="standard deviation of the residuals (default: 0)"
    )
    command.add_argument("--save", metavar="FILE", help="write the rows as JSON")
    command.add_argument("--json", action="store_true", help="print JSON")
