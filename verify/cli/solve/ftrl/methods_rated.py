"""`dpbounds solve ftrl --method --rate`: methods as fast on the slowest quadratic, beside each other."""

from __future__ import annotations

import itertools
from argparse import Namespace

from dpbounds.ftrl.methods import MethodBound, MethodTable, best_method, step_of_rate
from dpbounds.ftrl.methods.choosing import NoiseName
from dpbounds.ftrl.methods.linear import MethodName
from dpbounds.ftrl.strongly_convex.programs import least_curvature
from verify.cli.console import progress
from verify.cli.solve.ftrl.budgets import budgets
from verify.cli.solve.ftrl.methods import adversary, dimension_of, smoothness
from verify.cli.solve.ftrl.methods_show import Row, asked, found_row

# Mechanisms by the names of kinds of noise, and methods by their own.
KINDS: dict[str, NoiseName] = {"sgd": "white", "arma": "arma"}
NAMES: dict[str, MethodName] = {
    "gradient descent": "gd",
    "heavy ball": "heavy-ball",
    "Nesterov": "nesterov",
    "triple momentum": "triple",
}


def solved(arguments: Namespace) -> tuple[list[Row], list[MethodBound], list[Row]]:
    """Rows with their bounds, the least upper end first, and rows of what has none."""
    rows, found, left_out = [], [], []
    grid = itertools.product(arguments.kappa, arguments.rate)
    cases = [(*case, budget) for case, budget in itertools.product(grid, budgets(arguments))]
    with progress("solve") as show_progress:
        for done, (kappa, rate, budget) in enumerate(cases):
            show_progress(done, len(cases), f"kappa = {kappa:g}, rate = {rate:g}")
            of_case: Row = {"kappa": kappa, "rho": budget.rho}
            table = _table(arguments, rate, kappa, budget.rho)
            mu = least_curvature(smoothness(arguments), kappa)
            for bound in table.rows:
                method, mechanism = NAMES[bound.method.name], "sgd" if bound.noise.white else "arma"
                row = {"method": method, "mechanism": mechanism, **of_case, "eta": step_of_rate(method, rate, mu)}
                searched = adversary(bound) if arguments.adversarial else {}
                rows.append({**row, **asked(arguments), **found_row(bound), **searched, "rate": rate})
                found.append(bound)
            for method, kind, why in table.left_out:
                mechanism = next(name for name, known in KINDS.items() if known == kind)
                row = {"method": method, "mechanism": mechanism, **of_case, "eta": step_of_rate(method, rate, mu)}
                failure = f"{method}, {mechanism}, kappa = {kappa:g}, rate = {rate:g}: {why}"
                row |= {**asked(arguments), "rate": rate, "status": "left out", "failure": failure}
                left_out.append(row)
    return rows, found, left_out


def _table(arguments: Namespace, rate: float, kappa: float, rho: float) -> MethodTable:
    options: Row = {"measure": arguments.measure or "f", "certify": arguments.certify}
    if arguments.memory is not None:
        options["memory"] = arguments.memory
    return best_method(
        rate,
        kappa,
        rho=rho,
        L=smoothness(arguments),
        d=dimension_of(arguments),
        clip_norm=arguments.clip_norm,
        sigma_sgd=arguments.sigma_sgd,
        methods=arguments.method,
        noises=[KINDS[mechanism] for mechanism in arguments.mechanism],
        **options,
    )
