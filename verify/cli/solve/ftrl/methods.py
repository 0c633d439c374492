"""`dpbounds solve ftrl --method`: bounds for first-order methods, a row per method, noise and class.

What is asked is checked before the first row is computed. A row that solver or proof cannot do stays in the table
without numbers; the exit status is then 3.
"""

from __future__ import annotations

import importlib
import itertools
import json
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from typing import Any

from dpbounds import DomainError
from dpbounds.errors import positive
from dpbounds.ftrl.correlations import independent
from dpbounds.ftrl.mechanisms import search_of
from dpbounds.ftrl.methods import LinearMethod, MethodBound, best_noise, bound_method, check_converges, named_method
from dpbounds.ftrl.strongly_convex import Noise
from dpbounds.ftrl.strongly_convex.programs import least_curvature
from verify.cli.console import progress
from verify.cli.files import write
from verify.cli.solve.ftrl import methods_show
from verify.cli.solve.ftrl.arguments import METHOD_MECHANISMS
from verify.cli.solve.ftrl.budgets import budgets
from verify.cli.solve.ftrl.mechanisms import fixed_correlation
from verify.cli.solve.ftrl.methods_show import Row, found_row
from verify.running.store import strict

# What --rate and --horizon do not take, and why.
NOT_RATE = {
    "eta": "a rate says eta; give one of the two",
    "momentum": "a rate says momentum too",
    "output": "methods are compared at x",
    "average": "methods are compared at x",
    "horizon": "a rate is of the long run; give --eta",
}
NOT_HORIZON = {
    "measure": "it bounds F - F*",
    "save": "its proof is not stored; --json has the numbers",
    "adversarial": "the search is for the long run",
}
HORIZON = ("objective", "initial")


def run(arguments: Namespace) -> int:
    """Solve, save, draw and print; 3 if a row could not be computed."""
    _check(arguments)
    left_out: list[Row] = []
    found: list[MethodBound] = []
    if arguments.horizon is not None:
        rows = importlib.import_module("verify.cli.solve.ftrl.methods_horizon").solved(arguments)
    elif arguments.rate is not None:
        rows, found, left_out = importlib.import_module("verify.cli.solve.ftrl.methods_rated").solved(arguments)
    else:
        rows, found = _solved(arguments)
    if arguments.save is not None and found:
        content = [bound.data() for bound in found]
        write("save", arguments.save, (json.dumps(strict(content), indent=1, allow_nan=False) + "\n").encode())
    if arguments.plot is not None and any(row["upper"] is not None for row in rows):
        setting = "eta" if arguments.rate is None else "rate"
        importlib.import_module("verify.cli.solve.ftrl.plot").save_methods(arguments.plot, rows, setting)
    methods_show.show(rows, left_out, arguments)
    failures = [row["failure"] for row in rows if row["failure"]]
    for failure in failures:
        print(f"dpbounds: {failure}", file=sys.stderr)
    return 3 if failures else 0


def attempted(row: Row, label: str, work: Callable[[], Row]) -> Row:
    """The row with what was found, or with why nothing was; a range that only the theory knows ends the command."""
    started = time.perf_counter()
    try:
        row = row | work()
    except DomainError:  # exit status 2, not a row that failed
        raise
    except (ValueError, ArithmeticError, MemoryError) as error:
        row = row | {"status": "failed", "failure": f"{label}: {error}"}
    return {**row, "seconds": round(time.perf_counter() - started, 3)}


def adversary(bound: MethodBound) -> Row:
    """The error of the worst loss found, in runs that the search has not seen."""
    search = importlib.import_module("simulators.ftrl").adversarial_method_lower
    found = search(bound.noise, bound.method, mu=bound.mu, L=bound.L, measure=bound.measure)
    return {"adversarial": float(found.value), "standard_error": found.standard_error}


def method_of(arguments: Namespace, name: Any, eta: float, mu: float) -> LinearMethod:
    """The method by name, at the output that is judged."""
    taken = arguments.momentum if name in ("heavy-ball", "nesterov") else None
    method = named_method(name, eta=eta, mu=mu, momentum=taken).output(arguments.output or "x")
    return method if arguments.average is None else method.averaged(decay=arguments.average)


def dimension_of(arguments: Namespace) -> int:
    """As given, by default 1."""
    return 1 if arguments.dimension is None else arguments.dimension


def smoothness(arguments: Namespace) -> float:
    """L, by default 1."""
    return positive("L", 1.0 if arguments.L is None else arguments.L)


def _check(arguments: Namespace) -> None:
    """Options that contradict each other."""
    if arguments.kappa is None:
        raise DomainError("kappa", None, "given with --method", "mu = L / kappa")
    for other, refused in (("rate", NOT_RATE), ("horizon", NOT_HORIZON)):
        for name in refused if getattr(arguments, other) is not None else ():
            value = getattr(arguments, name)
            if value is not None and value is not False:
                raise DomainError(name, value, f"left out with --{other}", refused[name])
    if arguments.horizon is None:
        for name in HORIZON:
            if getattr(arguments, name) is not None:
                raise DomainError(name, getattr(arguments, name), "left out without --horizon T")
    elif arguments.initial is None:
        raise DomainError("initial", None, "given with --horizon", "|theta_0 - theta*| is at most so much")
    if arguments.horizon is not None and arguments.sigma_sgd:
        raise DomainError("sigma_sgd", arguments.sigma_sgd, "0 with --horizon", "it knows the draws alone")
    if arguments.save is not None and not arguments.certify:
        raise DomainError("save", arguments.save, "given with --certify", "only bounds with a proof are saved")
    for mechanism in arguments.mechanism:
        _check_mechanism(mechanism, arguments)


def _check_mechanism(mechanism: Any, arguments: Namespace) -> None:
    """Noise that a search for one half power or more finds has no finite memory."""
    searched = search_of(mechanism, arguments.nu) is not None
    if arguments.rate is not None and mechanism not in ("sgd", *METHOD_MECHANISMS):
        raise DomainError("mechanism", mechanism, "sgd or arma with --rate", "arma is the best found for each method")
    if arguments.horizon is not None and (searched or mechanism in METHOD_MECHANISMS):
        allowed = "sgd, nu with --nu, damped-anti-pgd, anti-pgd, optimal-counting or coefficients with --horizon"
        raise DomainError("mechanism", mechanism, allowed, "the others are searched for the long run")
    if arguments.horizon is None and (searched or mechanism in ("nu", "optimal-counting")) and arguments.nu != 1:
        allowed = "sgd, damped-anti-pgd, arma or coefficients with --method"
        remedy = "the program needs noise of finite memory: take arma, or for gradient descent leave --method out"
        raise DomainError("mechanism", mechanism, allowed, remedy)


def _solved(arguments: Namespace) -> tuple[list[Row], list[MethodBound]]:
    """A row for each learning rate, and the bounds that were found."""
    cases = list(_cases(arguments))
    rows, found = [], []
    with progress("solve") as show_progress:
        for done, (row, noise, method, options) in enumerate(cases):
            label = f"{row['method']}, {row['mechanism']}, kappa = {row['kappa']:g}, eta = {row['eta']:g}"
            show_progress(done, len(cases), label)

            def work(
                row: Row = row, noise: Noise = noise, method: LinearMethod = method, options: Row = options
            ) -> Row:
                if row["mechanism"] == "arma":
                    searched = {name: options[name] for name in ("mu", "L", "measure")}
                    noise = best_noise(noise, method, **searched)
                bound = bound_method(noise, method, **options)
                found.append(bound)
                return found_row(bound) | (adversary(bound) if arguments.adversarial else {})

            rows.append(attempted(row, label, work))
    return rows, found


def _cases(arguments: Namespace) -> Iterator[tuple[Row, Noise, LinearMethod, dict[str, Any]]]:
    """What is asked for each row, every argument in its range."""
    L = smoothness(arguments)
    asked = itertools.product(arguments.kappa, arguments.eta, budgets(arguments), arguments.method, arguments.mechanism)
    for kappa, eta, budget, name, mechanism in asked:
        mu = least_curvature(L, kappa)
        method = method_of(arguments, name, eta, mu)
        check_converges(method, mu, L)
        noise = Noise(
            correlation=independent() if mechanism == "arma" else fixed_correlation(mechanism, arguments, eta * mu),
            rho=budget.rho,
            d=dimension_of(arguments),
            clip_norm=arguments.clip_norm,
            sigma_sgd=arguments.sigma_sgd,
        )
        row = {"method": name, "mechanism": mechanism, "kappa": kappa, "eta": eta, "rho": budget.rho}
        row |= methods_show.asked(arguments)
        options = {"mu": mu, "L": L, "measure": row["measure"], "certify": arguments.certify}
        if arguments.memory is not None:
            options["memory"] = arguments.memory
        yield row, noise, method, options
