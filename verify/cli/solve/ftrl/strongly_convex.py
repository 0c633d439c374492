"""`dpbounds solve ftrl` for strongly convex losses: bounds from both sides, a row per case.

What is asked is checked for all rows before the first is computed. A row that the solver or the certificate cannot do
stays in the table without numbers; the exit status is then 3.
"""

from __future__ import annotations

import importlib
import itertools
import sys
import time
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dpbounds import DomainError
from dpbounds.errors import positive
from dpbounds.ftrl import correlations
from dpbounds.ftrl.mechanisms import Mechanism, search_of
from dpbounds.ftrl.strongly_convex import ConvexBound, Noise, StronglyConvex, tightest
from dpbounds.ftrl.strongly_convex.bounds import MOST_MULTIPLIERS
from dpbounds.ftrl.strongly_convex.programs import ProgramName, least_curvature
from verify.cli.console import print_json, progress
from verify.cli.solve.ftrl import check
from verify.cli.solve.ftrl.budgets import budgets, epsilon_of
from verify.cli.solve.ftrl.mechanisms import fixed_correlation
from verify.cli.solve.ftrl.rows import Case, Row, failed_row, row_of, show

# Fewest and most of each; the Newton matrices of larger ones do not fit into memory.
RANGES = {"max_lag": (0, 1000), "nodes": (16, 100_000)}
MOST_SAVED = (MOST_MULTIPLIERS - 1) // 2
# Dimensions in which adversarial losses are searched.
MOST_SEARCHED = 2


def run(arguments: Namespace) -> int:
    """Solve, save, draw and print; 3 if a row could not be computed."""
    cases, options = _cases(arguments), _options(arguments)
    solved = _solved(cases, options, adversarial=arguments.adversarial)
    rows = [row for row, _ in solved]
    if arguments.simulate is not None:
        simulated = importlib.import_module("verify.cli.solve.ftrl.simulated")
        simulated.add_worst_quadratics(rows, [found for _, found in solved], arguments.simulate, arguments.seed)
    try:
        if any(found for _, found in solved):
            _write(arguments, solved)
    finally:  # a full disk does not cost the numbers
        _print(rows, arguments)
    failures = [row["failure"] for row in rows if row["failure"]]
    for failure in failures:
        print(f"dpbounds: {failure}", file=sys.stderr)
    return 3 if failures else 0


def _print(rows: Sequence[Row], arguments: Namespace) -> None:
    if arguments.json:
        delta = arguments.delta
        print_json([{**row, "epsilon": epsilon_of(row["rho"], delta), "delta": delta} for row in rows])
    else:
        show(rows, arguments.delta)


def _write(arguments: Namespace, solved: Sequence[tuple[Row, ConvexBound | None]]) -> None:
    if arguments.save is not None:
        check.save(arguments.save, solved)
    if arguments.plot is not None:
        plot = importlib.import_module("verify.cli.solve.ftrl.plot")
        plot.save(arguments.plot, [row for row, _ in solved])


def _options(arguments: Namespace) -> dict[str, Any]:
    """How to solve, where the theory's defaults are not wanted."""
    options: dict[str, Any] = {"certify": arguments.certify}
    for name, (least, most) in RANGES.items():
        given = getattr(arguments, name)
        if given is not None and not least <= given <= most:
            raise DomainError(name, given, f"from {least} to {most}")
        if given is not None:
            options[name] = given
    if arguments.certify and arguments.save and options.get("max_lag", 0) > MOST_SAVED:
        allowed = f"at most {MOST_SAVED} with --certify and --save"
        raise DomainError("max_lag", options["max_lag"], allowed, "more multipliers take too long to prove again")
    return options


def _cases(arguments: Namespace) -> list[Case]:
    """All rows to be, with every argument in its range."""
    if arguments.kappa is None:
        raise DomainError("kappa", None, "given with --problem strongly-convex", "mu = L / kappa")
    if arguments.adversarial and arguments.dimension is not None and arguments.dimension > MOST_SEARCHED:
        raise DomainError("dimension", arguments.dimension, f"at most {MOST_SEARCHED} with --adversarial", "drop one")
    programs: list[ProgramName] = arguments.program or ["causal"]
    return [
        _case(arguments, kappa, eta, budget.rho, mechanism, program)
        for kappa, eta, budget in itertools.product(arguments.kappa, arguments.eta, budgets(arguments))
        for mechanism in arguments.mechanism
        for program in programs
    ]


def _case(arguments: Namespace, kappa: float, eta: float, rho: float, mechanism: Mechanism, name: ProgramName) -> Case:
    """Where a correlation has to be searched for, the noise is independent until then."""
    L = positive("L", 1.0 if arguments.L is None else arguments.L)
    problem = StronglyConvex(
        mu=least_curvature(L, kappa),
        L=L,
        eta=eta,
        rho=rho,
        d=1 if arguments.dimension is None else arguments.dimension,
        clip_norm=arguments.clip_norm,
        sigma_sgd=arguments.sigma_sgd,
    )
    search = search_of(mechanism, arguments.nu)
    correlation = correlations.independent() if search else fixed_correlation(mechanism, arguments, eta * problem.mu)
    noise, program = problem.noise(correlation), problem.program(name)
    return Case(mechanism=mechanism, kappa=kappa, program=program, noise=noise, search=search)


def _solved(
    cases: Sequence[Case], options: Mapping[str, Any], *, adversarial: bool
) -> list[tuple[Row, ConvexBound | None]]:
    """Row by row; a failure ends its own row only."""
    solved, measured = [], {}
    with progress("solve") as show_progress:
        for done, case in enumerate(cases):
            show_progress(done, len(cases), case.label)
            found, failure = None, ""
            started = time.perf_counter()
            try:
                case, found = _bound(case, options)
            except (ValueError, ArithmeticError, MemoryError) as error:  # the arguments were in their ranges
                failure = f"{case.label}: {error}"
            seconds = time.perf_counter() - started
            row = row_of(case, found, seconds) if found else failed_row(case, failure, seconds)
            if adversarial and found:
                same = case.noise, case.program.mu, case.program.L, case.program.eta
                measured[same] = measured.get(same) or _adversary(case)
                row |= measured[same]
                row["failure"] = row["failure"] and f"{case.label}: {row['failure']}"
            solved.append((row, found))
    return solved


def _bound(case: Case, options: Mapping[str, Any]) -> tuple[Case, ConvexBound]:
    """The case with the noise that was found, and its bound."""
    found = tightest(case.noise, case.program, case.search, **options)
    return (replace(case, noise=found.noise) if isinstance(found.noise, Noise) else case), found


def _adversary(case: Case) -> Row:
    """The error of the worst loss found, in runs that the search has not seen."""
    try:
        adversarial_lower = importlib.import_module("simulators.ftrl").adversarial_lower
        found = adversarial_lower(case.noise.correlation, StronglyConvex.of(case.program, case.noise))
    except (ValueError, ArithmeticError, MemoryError) as error:
        return {"failure": f"adversarial search: {error}"}
    return {"adversarial": float(found.value), "standard_error": found.standard_error}
