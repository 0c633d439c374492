"""`dpbounds solve ftrl --method --horizon`: the error after T steps from a start of known distance."""

from __future__ import annotations

import itertools
from argparse import Namespace
from collections.abc import Iterator
from functools import partial

from dpbounds.errors import count, nonnegative
from dpbounds.ftrl.correlations import Correlation
from dpbounds.ftrl.methods import HorizonBound, LinearMethod, bound_run, check_converges
from dpbounds.ftrl.methods.horizon import MOST_STEPS
from dpbounds.ftrl.strongly_convex.programs import least_curvature
from verify.cli.console import progress
from verify.cli.solve.ftrl.budgets import budgets
from verify.cli.solve.ftrl.mechanisms import finite_correlation
from verify.cli.solve.ftrl.methods import attempted, dimension_of, method_of, smoothness
from verify.cli.solve.ftrl.methods_show import Row, asked


def solved(arguments: Namespace) -> list[Row]:
    """A row for each number of steps."""
    cases = list(_cases(arguments))
    rows = []
    with progress("solve") as show_progress:
        for done, (row, correlation, method, options) in enumerate(cases):
            label = f"{row['method']}, {row['mechanism']}, kappa = {row['kappa']:g}, eta = {row['eta']:g}, "
            label += f"T = {row['T']}"
            show_progress(done, len(cases), label)

            run = partial(bound_run, correlation, method, row["T"], **options)
            rows.append(attempted(row, label, lambda run=run: _found(run())))
    return rows


def _cases(arguments: Namespace) -> Iterator[tuple[Row, Correlation, LinearMethod, Row]]:
    """What is asked for each row, every argument in its range."""
    L, initial = smoothness(arguments), nonnegative("initial", arguments.initial)
    for T in arguments.horizon:
        count("horizon", T, most=MOST_STEPS)
    grid = itertools.product(arguments.kappa, arguments.eta, arguments.horizon, arguments.method, arguments.mechanism)
    for budget, (kappa, eta, T, name, mechanism) in itertools.product(budgets(arguments), grid):
        mu = least_curvature(L, kappa)
        method = method_of(arguments, name, eta, mu)
        check_converges(method, mu, L)
        row = {"method": name, "mechanism": mechanism, "kappa": kappa, "eta": eta, "rho": budget.rho, "T": T}
        row |= {**asked(arguments), "objective": arguments.objective or "last", "initial": initial, "variance": None}
        options = {"mu": mu, "L": L, "initial": initial, "rho": budget.rho, "certify": arguments.certify}
        options |= {"d": dimension_of(arguments), "clip_norm": arguments.clip_norm, "objective": row["objective"]}
        if arguments.memory is not None:
            options["window"] = arguments.memory
        yield row, finite_correlation(mechanism, arguments, eta * mu, T), method, options


def _found(bound: HorizonBound) -> Row:
    return {
        "lower": float(bound.lower),
        "upper": float(bound.value),
        "ratio": bound.ratio,
        "variance": bound.variance,
        "status": "certified" if bound.is_certified else "estimate",
    }
