"""Arguments of `dpbounds solve ftrl`."""

from __future__ import annotations

import argparse

from verify.cli.solve import simulating
from verify.cli.solve.pictures import SUFFIXES, picture_file

PROBLEMS = ("mean-estimation", "linear-regression", "strongly-convex")
# Those of `dpbounds.ftrl.mechanisms`, which takes longer to load than help may.
MECHANISMS = (
    "sgd",
    "nu",
    "best-nu",
    "optimal",
    "optimal-counting",
    "anti-pgd",
    "damped-anti-pgd",
    "coefficients",
)
# Searched for with --method alone: `dpbounds.ftrl.methods.best_noise`.
METHOD_MECHANISMS = ("arma",)
PROGRAMS = ("causal", "f", "theta", "paper")
# Those of `dpbounds.ftrl.methods`.
METHODS = ("gd", "heavy-ball", "nesterov", "triple")
MEASURES = ("f", "distance", "gradient")
OBJECTIVES = ("last", "mean")

ABOUT = (
    "Error F - F* of DP-FTRL in the long run, or with --T after so many steps. For mean estimation and linear "
    "regression: the exact value, bounds and the optimum. With --program or --certify, for every mu-strongly convex, "
    "L-smooth loss: bounds from below and above, with --certify proved, rounding included. Privacy is for one pass "
    "over the data: each record in one step. With --method the same for gradient descent, momentum and averages, where "
    "draws are independent of the past, and noise of finitely many weights."
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Error of DP-FTRL."""
    command.description = ABOUT
    command.add_argument(
        "--problem",
        choices=PROBLEMS,
        help="default: strongly-convex if --program or --certify is given, else linear-regression",
    )
    command.add_argument(
        "--eta", nargs="+", type=float, help="learning rates, absolute: not in units of 1 / L (or --rate)"
    )
    command.add_argument(
        "--kappa",
        nargs="+",
        type=float,
        help="condition numbers: mu = L / kappa; in linear regression the two eigenvalues 1 and 1/kappa alone, or with "
        "--d that many, from 1 down to 1/kappa at equal ratios",
    )
    _add_mechanisms(command)
    _add_privacy(command)
    _add_spectrum(command.add_argument_group("linear regression"))
    _add_finite_time(command.add_argument_group("mean estimation and linear regression"))
    _add_strongly_convex(command.add_argument_group("strongly convex losses"))
    _add_methods(command.add_argument_group("first-order methods on strongly convex losses"))
    _add_output(command.add_argument_group("simulation and output"))


def _add_mechanisms(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--mechanism",
        nargs="+",
        choices=(*MECHANISMS, *METHOD_MECHANISMS),
        metavar="NAME",
        help=f"{', '.join(MECHANISMS)} (default: sgd, which is independent noise, best-nu and optimal); with --method "
        "also arma, the best of one zero and one pole",
    )
    command.add_argument(
        "--nu",
        type=float,
        help="damping of nu and damped-anti-pgd (default: for nu the best, for damped-anti-pgd eta * mu)",
    )
    command.add_argument(
        "--coefficients",
        metavar="FILE",
        help="weights of the mechanism coefficients: a JSON list beta_0, beta_1, ..., or with --horizon a list of rows",
    )


def _add_privacy(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--rho", nargs="+", type=float, help="zCDP budgets, zero-out adjacency (default: 0.5, or --epsilon)"
    )
    command.add_argument("--epsilon", nargs="+", type=float, help="budgets (epsilon, delta) in place of --rho, exact")
    command.add_argument("--delta", type=float, default=1e-5, help="delta of epsilon (default: 1e-5)")
    command.add_argument("--clip-norm", type=float, default=1.0, help="l2 bound on a gradient (default: 1)")
    command.add_argument(
        "--sigma-sgd",
        type=float,
        default=0.0,
        help="standard deviation of the residuals; for strongly convex losses of the gradient noise (default: 0)",
    )


def _add_spectrum(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--spectrum",
        metavar="FILE",
        help="eigenvalues of the input covariance: CSV or text with one number a line, or NumPy's .npy",
    )
    group.add_argument("--eigenvalues", nargs="+", type=float, help="the same on the command line")
    group.add_argument("--decay", type=float, help="eigenvalues k^-decay, k = 1 ... d")
    group.add_argument(
        "--dimension",
        "--d",
        type=int,
        help="d, the number of eigenvalues with --decay or --kappa (default with --kappa: 2); for strongly convex "
        "losses the dimension (default: 1)",
    )


def _add_finite_time(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--T", nargs="+", type=int, help="numbers of steps: also the exact error after T steps, with noise for T steps"
    )
    group.add_argument(
        "--initial",
        type=float,
        help="length of theta_0 - theta*, in equal parts along the eigenvectors, for --T (default: 0); for --horizon "
        "at most so long, in any direction",
    )


def _add_strongly_convex(group: argparse._ArgumentGroup) -> None:
    """Their defaults are the theory's, so None here."""
    group.add_argument(
        "--program",
        nargs="+",
        choices=PROGRAMS,
        help="causal bounds F - F* for draws that are independent of the past (default), f for all noise of that "
        "spectrum (non-causal); theta bounds L/2 |theta - theta*|^2; paper is eq. (10) as printed, not a bound",
    )
    group.add_argument("--certify", action="store_true", help="prove the bounds; without, they are estimates")
    group.add_argument(
        "--adversarial",
        action="store_true",
        help="search for the worst loss by simulation too, an estimate (about 0.01 s / min(eta mu, 2 - eta L) a row)",
    )
    group.add_argument("--L", type=float, help="smoothness (default: 1); eta must be below 2 / L")
    group.add_argument("--max-lag", type=int, help="multipliers to each side (default: 20)")
    group.add_argument("--nodes", type=int, help="least number of graded frequencies (default: 400)")


def _add_methods(group: argparse._ArgumentGroup) -> None:
    """Their defaults are the theory's, so None here."""
    group.add_argument(
        "--method", nargs="+", choices=METHODS, help="with sgd, damped-anti-pgd, arma or coefficients (default: sgd)"
    )
    group.add_argument(
        "--rate",
        nargs="+",
        type=float,
        help="in place of --eta and --momentum: every method with 1 - RATE on the slowest quadratic, beside each other "
        "(default: sgd and arma)",
    )
    group.add_argument(
        "--horizon",
        nargs="+",
        type=int,
        metavar="T",
        help="bound F - F* after T steps from --initial, with noise for T",
    )
    group.add_argument("--objective", choices=OBJECTIVES, help="of --horizon: x_T or the mean (default: last)")
    group.add_argument("--momentum", type=float, help="of heavy-ball and nesterov (default: tuned to eta and mu)")
    group.add_argument(
        "--output", choices=("x", "y"), help="judge the iterate or where the gradient is taken (default: x)"
    )
    group.add_argument("--average", type=float, metavar="DECAY", help="judge a_t = DECAY a_{t-1} + (1 - DECAY) x_t")
    group.add_argument("--measure", choices=MEASURES, help="F - F*, |x - theta*|^2 or |grad F|^2 (default: f)")
    group.add_argument("--memory", type=int, help="past gradients that a proof may use (default: 2, horizon 1)")


def _add_output(group: argparse._ArgumentGroup) -> None:
    simulating.add_arguments(group, simulated="the exact laws, for strongly convex losses the worst quadratic")
    group.add_argument(
        "--save", metavar="FILE", help="write the rows as JSON, certified ones with the proof for solve --check"
    )
    group.add_argument(
        "--plot",
        metavar="FILE",
        type=picture_file,
        help=f"draw the errors over T, kappa, eta or the budget ({', '.join(SUFFIXES)})",
    )
    group.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")
