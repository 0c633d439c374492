"""Arguments of `dpbounds design ftrl`."""

from __future__ import annotations

import argparse

from verify.cli.solve import simulating
from verify.cli.solve.pictures import SUFFIXES, picture_file

OBJECTIVES = ("mean", "final", "tail")
SCHEDULES = ("constant", "linear", "cosine")
FORMATS = ("jax-privacy", "opacus", "npz")

ABOUT = (
    "Noise for a run of DP-FTRL, designed for its loss: each mechanism's exact loss by part, and a lower bound on what "
    "any mechanism could reach. For a given run: --steps and --eta. With --plan: batch size, schedule, eta and noise "
    "are chosen together for n records, beside independent noise (with and without Poisson amplification) and noise "
    "for prefix sums, each tuned for itself. The model is least squares with Gaussian inputs, and no gradient is "
    "clipped; with --plan --features the losses of runs that clip are forecast on records, public or proxy ones."
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Noise for a training run."""
    command.description = ABOUT
    _add_run(command.add_argument_group("a given run"))
    _add_plan(command.add_argument_group("a run to be planned"))
    _add_problem(command.add_argument_group("the problem"))
    _add_privacy(command.add_argument_group("privacy"))
    _add_output(command.add_argument_group("simulation and output"))


def _add_run(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--steps", type=int, help="T, the number of steps")
    group.add_argument("--eta", type=float, help="learning rate, absolute: not in units of 1 / L")
    group.add_argument(
        "--schedule",
        metavar="NAME|FILE",
        help="constant (default), linear: eta (1 - t/T), cosine: eta (1 + cos(pi t/T)) / 2, or a file with one "
        "learning rate a step, in place of --eta",
    )
    group.add_argument("--batch-size", type=int, help="examples in each gradient (default: 1)")
    group.add_argument("--noiseless", action="store_true", help="leave the noise of sampling out of the gradients")
    group.add_argument(
        "--momentum",
        type=float,
        default=0.0,
        help="heavy ball, with --noiseless or --features (default: 0); with --noiseless and --batch-size, what "
        "momentum is proved to gain counts gradients sampled in batches, with residuals --sigma-sgd",
    )
    group.add_argument(
        "--min-separation", type=int, help="steps between two uses of a record, at least (with --epochs)"
    )
    group.add_argument("--unknown-spectrum", action="store_true", help="design for a family of spectra: minimax")
    group.add_argument("--bound-seconds", type=float, help="time for the search of the lower bound (default: no limit)")
    group.add_argument("--certify", action="store_true", help="prove the lower bound by ball arithmetic (T <= 256)")


def _add_plan(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--plan", action="store_true", help="choose batch size, schedule, eta and noise together")
    group.add_argument("--n", type=int, help="number of records")
    group.add_argument("--batch-sizes", nargs="+", type=int, help="those to try (default: powers of 4)")
    group.add_argument(
        "--schedules", nargs="+", choices=SCHEDULES, metavar="NAME", help="those to try (default: constant linear)"
    )
    group.add_argument(
        "--clip-norms",
        nargs="+",
        type=float,
        metavar="C",
        help="tried for each kind of noise beside --clip-norm, at equal privacy, with --features; quantiles of private "
        "gradients are private themselves",
    )
    group.add_argument("--no-amplification", action="store_true", help="leave Poisson sampling out")
    group.add_argument(
        "--features",
        metavar="FILE",
        help="public or proxy records, CSV with a header, plain or .gz: spectrum, start (theta_0 = 0), residuals and "
        "what is clipped are then theirs; never the private records, whose plan would tell of them",
    )
    group.add_argument(
        "--outcome", metavar="COLUMN", help="what is to be predicted, with --features (default: the last)"
    )


def _add_problem(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--spectrum",
        metavar="FILE",
        help="eigenvalues of the input covariance: CSV or text with one number a line, or NumPy's .npy",
    )
    group.add_argument("--eigenvalues", nargs="+", type=float, help="the same on the command line")
    group.add_argument("--decay", type=float, help="eigenvalues k^-decay, k = 1 ... d")
    group.add_argument("--dimension", "--d", type=int, help="d, the number of eigenvalues with --decay")
    group.add_argument(
        "--objective",
        choices=OBJECTIVES,
        help="loss of which iterates: their mean, the final one, the last 10 %% (default: mean, with --plan final)",
    )
    group.add_argument("--weights", metavar="FILE", help="weights of theta_1 ... theta_T, in place of --objective")
    group.add_argument(
        "--initial",
        type=float,
        help="length of theta_0 - theta*, in equal parts along the eigenvectors, which real starts are not: with "
        "--features it is taken from the records (default: 0; --plan needs one of the two)",
    )
    group.add_argument("--sigma-sgd", type=float, default=0.0, help="standard deviation of the residuals (default: 0)")


def _add_privacy(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--rho", type=float, help="zCDP budget of the run, zero-out adjacency (default: 0.5)")
    group.add_argument("--epsilon", type=float, help="budget (epsilon, delta) in place of --rho, exact")
    group.add_argument("--delta", type=float, default=1e-5, help="delta of epsilon (default: 1e-5)")
    group.add_argument("--clip-norm", type=float, default=1.0, help="l2 bound on a gradient (default: 1)")
    group.add_argument(
        "--epochs",
        type=int,
        nargs="+",
        default=[1],
        help="passes over the data, in one fixed order (default: 1); with --plan several numbers to choose from",
    )
    group.add_argument("--work", type=float, help="gradients that a plan may take, n for each pass (default: no limit)")


def _add_output(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--buffers", type=int, help="vectors that the designed noise keeps (default: 4, fewer in short runs)"
    )
    simulating.add_arguments(group, simulated="every mechanism on Gaussian inputs")
    group.add_argument("--save", metavar="FILE", help="write the rows and the designed noise as JSON")
    group.add_argument(
        "--saved", metavar="FILE", help="what --save or --export wrote: export that design, without designing anew"
    )
    group.add_argument(
        "--plot",
        metavar="FILE",
        type=picture_file,
        help=f"draw total loss over eta, with the lower bound ({', '.join(SUFFIXES)})",
    )
    group.add_argument("--export", choices=FORMATS, help="write the designed noise for a training library, with --out")
    group.add_argument("--out", metavar="FILE", help="where to, with --export")
    group.add_argument("--json", action="store_true", help="print JSON")
