"""Tables of `dpbounds solve ftrl` for mean estimation and linear regression, and what their columns are."""

from __future__ import annotations

import shutil
import textwrap
from argparse import Namespace
from collections.abc import Iterable, Sequence
from typing import Any

from dpbounds.ftrl.linear_regression import CONVENTION
from verify.cli.console import print_table
from verify.cli.solve.ftrl.budgets import Budget, sentences
from verify.cli.solve.simulating import Simulated

Row = dict[str, Any]

# Columns where they differ between rows; where they do not they stand below the table.
SETTINGS = ("kappa", "d", "eta", "rho", "epsilon", "T", "d_eff")
COLUMNS = ("mechanism", *SETTINGS[:-1], "nu", "gamma", "gamma_T", "suboptimality", "suboptimality_T", "simulated")
COLUMNS += ("low", "high", "lower", "upper", "over_optimum", "d_eff")
# What simulations add to a row: a mean and the ends of its interval.
COLUMNS_SIMULATED = ("simulated", "low", "high")
# Of the limit alone: not in a table of T.
LIMIT = ("gamma", "lower", "upper", "over_optimum", "d_eff")
# Characters of a line, and digits.
WIDTH, DIGITS = 120, 5
# Where no line ends.
EQUALS = "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}"


def show(problem: str, rows: Sequence[Row], arguments: Namespace) -> None:
    """The table, and below it the settings and what the columns are."""
    shown = [as_shown(row) for row in rows]
    varying = {name for name in SETTINGS if len({row.get(name) for row in rows}) > 1}
    hidden = set(SETTINGS) - varying | {"rho" if arguments.epsilon else "epsilon"} | set(LIMIT if arguments.T else ())
    columns = [name for name in COLUMNS if name not in hidden and any(row.get(name) is not None for row in shown)]
    print_table([{name: _rounded(row.get(name)) for name in columns} for row in shown], columns)
    print()
    print_sentences([*_about(problem, rows, arguments, varying), *sentences(_budgets(rows))])


def print_sentences(sentences: Iterable[str]) -> None:
    """Each on lines of its own, no longer than the terminal's."""
    width = min(shutil.get_terminal_size((WIDTH, 0)).columns, WIDTH)
    for sentence in sentences:
        whole = sentence.replace(" = ", EQUALS)
        print(textwrap.fill(whole, width, break_long_words=False, break_on_hyphens=False).replace(EQUALS, " = "))


def _rounded(value: Any) -> Any:
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def as_shown(row: Row) -> Row:
    """With what was simulated in as many digits as it needs."""
    if row.get("simulated") is None:
        return row
    value, interval = Simulated(*(row[name] for name in COLUMNS_SIMULATED)).shown
    low, high = interval.split(" ... ")
    return {**row, "simulated": float(value), "low": float(low), "high": float(high)}


def _about(problem: str, rows: Sequence[Row], arguments: Namespace, varying: Iterable[str]) -> list[str]:
    settings = {name: rows[0].get(name) for name in SETTINGS if name not in varying and name != "epsilon"}
    settings |= {"clip_norm": arguments.clip_norm, "sigma_sgd": arguments.sigma_sgd, "initial": arguments.initial}
    about = [", ".join(f"{name} = {_plain(value)}" for name, value in settings.items() if value is not None) + "."]
    about.append(_problem(problem, arguments))
    about.append(f"suboptimality: the limit of E F - F*, {CONVENTION}, exact.")
    if arguments.T is not None:
        about.append(
            "suboptimality_T: exactly E F - F* after T steps from theta_0, with noise for T steps, whose sensitivity "
            "is gamma_T clip norms; best-nu and optimal are those of the limit."
        )
    else:
        about.append("over_optimum: in units of the least over all correlations. gamma: sensitivity in clip norms.")
        if problem == "linear-regression":
            about.append("lower, upper: bounds for every input law with these fourth moments; optimal: for all noise.")
    if arguments.simulate is not None:
        about.append(_simulation(problem, arguments))
    return [*about, *_nu(problem, rows, arguments)]


def _problem(problem: str, arguments: Namespace) -> str:
    if problem == "mean-estimation":
        return "problem: mean-estimation, F = (theta - E z)^2 / 2 on the line."
    spectrum = "Gaussian inputs"
    if arguments.kappa is not None and arguments.dimension in (None, 2):
        spectrum += " with the two eigenvalues 1 and 1/kappa (others: --d, --decay, --eigenvalues, --spectrum)"
    other = ""
    if arguments.problem is None and arguments.kappa is not None:
        other = " For all strongly convex, smooth losses of these kappa add --program causal."
    return f"problem: linear-regression, {spectrum}.{other}"


def _nu(problem: str, rows: Sequence[Row], arguments: Namespace) -> list[str]:
    """Where a nu comes from, unless it was given."""
    asked = {row["mechanism"] for row in rows}
    if arguments.nu is not None or not asked & {"nu", "best-nu", "damped-anti-pgd"}:
        return []
    if problem == "mean-estimation":
        return ["nu: the best, which is eta; for damped-anti-pgd eta."]
    damped = " For damped-anti-pgd eta * mu." if "damped-anti-pgd" in asked else ""
    return [f"nu: the best for each row, by search; the paper's choice is --nu of at most eta * mu.{damped}"]


def _simulation(problem: str, arguments: Namespace) -> str:
    what = "after T steps" if arguments.T else "averaged over steps at which the start is forgotten"
    clipping = ", without clipping" if problem == "linear-regression" else ""
    return (
        f"simulated: the mean of F - F* {what}{clipping}, over {arguments.simulate} runs (seed {arguments.seed}), "
        "with a 95 % interval from low to high."
    )


def _budgets(rows: Sequence[Row]) -> list[Budget]:
    return [Budget(row["rho"], row["epsilon"], row["delta"]) for row in rows]


def _plain(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
