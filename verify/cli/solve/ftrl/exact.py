"""`dpbounds solve ftrl`: which problem is meant, and the two that are solved exactly."""

from __future__ import annotations

import importlib
import json
import sys
from argparse import Namespace
from collections.abc import Sequence

from dpbounds import DomainError
from dpbounds.errors import within
from verify.cli.console import print_json, progress
from verify.cli.files import check_target, write
from verify.cli.solve.ftrl import show
from verify.cli.solve.ftrl.exact_cases import ExactCase, mean_cases, regression_cases
from verify.cli.solve.ftrl.mechanisms import check_coefficients
from verify.running.store import strict

# Options that mean nothing elsewhere.
SPECTRUM = ("spectrum", "eigenvalues", "decay")
FINITE_TIME = ("T", "initial")
STRONGLY_CONVEX = ("program", "certify", "adversarial", "L", "max_lag", "nodes", "method")
# With --method alone, and those that it does not take.
METHODS = ("momentum", "output", "average", "measure", "memory", "rate", "horizon", "objective")
NOT_METHODS = {
    "program": "draws are independent of the past",
    "max_lag": "--memory says what a proof may use",
    "nodes": "there is no grid of frequencies",
    "simulate": "simulators.ftrl.first_order runs methods from Python",
    "T": "--horizon T --initial D bounds the error after T steps",
}
# Where there is no --mechanism; for the mean the best nu is the optimum.
DEFAULTS = {
    "mean-estimation": ["sgd", "optimal"],
    "linear-regression": ["sgd", "best-nu", "optimal"],
    "strongly-convex": ["sgd", "best-nu", "optimal"],
}


def run(arguments: Namespace) -> int:
    """One row per problem, learning rate, budget and mechanism."""
    problem = _problem(arguments)
    default = ["sgd", *(["arma"] if arguments.rate else [])] if arguments.method else DEFAULTS[problem]
    arguments.mechanism = arguments.mechanism or default
    check_coefficients(arguments)
    check_target("save", arguments.save)
    check_target("plot", arguments.plot)
    if arguments.method:
        return importlib.import_module("verify.cli.solve.ftrl.methods").run(arguments)
    if problem == "strongly-convex":
        return importlib.import_module("verify.cli.solve.ftrl.strongly_convex").run(arguments)
    cases = list(mean_cases(arguments) if problem == "mean-estimation" else regression_cases(arguments))
    with progress("solve") as show_progress:
        for done, case in enumerate(cases):
            show_progress(done, len(cases), case.label)
            case.add_finite_time()
    if arguments.simulate is not None:
        importlib.import_module("verify.cli.solve.ftrl.simulated").add_exact(cases, arguments.simulate, arguments.seed)
    return _output(problem, cases, arguments)


def _output(problem: str, cases: Sequence[ExactCase], arguments: Namespace) -> int:
    """Save, draw, print; 3 if something of a row could not be computed."""
    rows = [case.row for case in cases]
    if arguments.save:
        write("save", arguments.save, (json.dumps(strict(rows), indent=1, allow_nan=False) + "\n").encode())
    if arguments.plot:
        importlib.import_module("verify.cli.solve.ftrl.plot").save_exact(arguments.plot, rows)
    if arguments.json:
        print_json(rows)
    else:
        show.show(problem, rows, arguments)
    failures = [case.failure for case in cases if case.failure]
    for failure in failures:
        print(f"dpbounds: {failure}", file=sys.stderr)
    return 3 if failures else 0


def _problem(arguments: Namespace) -> str:
    """As --problem says, else from the options that only bounds for strongly convex losses have."""
    if arguments.check is not None:
        raise DomainError("check", arguments.check, "given without a topic", "the file itself says what it bounds")
    _check_method(arguments)
    convex = arguments.program is not None or arguments.certify or arguments.method is not None
    problem = arguments.problem or ("strongly-convex" if convex else "linear-regression")
    homes = {
        "strongly-convex (which --program, --certify and --method choose)": STRONGLY_CONVEX,
        "linear-regression": SPECTRUM,
        "mean-estimation or linear-regression": FINITE_TIME if arguments.method is None else (),
        "linear-regression or strongly-convex": ("kappa", "dimension"),
    }
    for home, names in homes.items():
        for name in names:
            value = getattr(arguments, name)
            if problem not in home and value is not None and value is not False:
                raise DomainError(name, value, f"left out with --problem {problem}", f"it belongs to {home}")
    if arguments.initial is not None and arguments.T is None and arguments.method is None:
        raise DomainError("initial", arguments.initial, "left out without --T", "in the long run it is forgotten")
    if arguments.nu is not None:  # whether or not a mechanism takes it
        within("nu", arguments.nu, "[0, 1]")
    return problem


def _check_method(arguments: Namespace) -> None:
    """Options of --method come with it, those of programs without it; a step size or a rate."""
    with_method = arguments.method is not None
    for name in NOT_METHODS if with_method else METHODS:
        value = getattr(arguments, name)
        if value is not None and value is not False:
            allowed = "left out with --method" if with_method else "left out without --method"
            raise DomainError(name, value, allowed, NOT_METHODS.get(name, ""))
    if not with_method and "arma" in (arguments.mechanism or ()):
        raise DomainError("mechanism", "arma", "left out without --method", "optimal searches among half powers")
    if arguments.eta is None and arguments.rate is None:
        raise DomainError("eta", None, "given", "or --rate with --method")
