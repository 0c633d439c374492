"""A bound for strongly convex losses as a row of a table: what was asked, what was found, what of it is proved."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dpbounds.ftrl.mechanisms import Search
from dpbounds.ftrl.strongly_convex import ConvexBound, Noise, Program, bound_row
from dpbounds.showing import rounded
from verify.cli.console import print_table
from verify.cli.solve.ftrl.budgets import Budget, epsilon_of, sentences
from verify.cli.solve.ftrl.show import COLUMNS_SIMULATED, as_shown, print_sentences

Row = dict[str, Any]

# Settings that are columns where they differ between rows, and stand below the table where they do not.
SETTINGS = ("L", "rho", "d", "clip_norm", "sigma_sgd", "program")
FOUND = ("lower", "upper", "gap", "ratio", "tightest", "value", "status")
# The bounds that need no program: in the row, and in the table only where `tightest` names one.
SIMPLE = ("contraction", "co_coercivity")
# What simulations estimate: the worst loss found, and with --simulate the worst quadratic.
SIMULATED = ("adversarial", "standard_error", *COLUMNS_SIMULATED)
# Columns of a table, those that a narrow terminal has no room for, and how wide it then is at most.
COLUMNS = ("mechanism", "kappa", "eta", *SETTINGS, "nu", "best_nu", "lower", "simulated", "low", "high", *FOUND[1:])
COLUMNS += ("adversarial", "standard_error", "seconds")
DETAILS, NARROW = ("gap", "tightest", "value"), 120
# Digits shown of what was computed.
DIGITS = 5


@dataclass(frozen=True, kw_only=True)
class Case:
    """A class of losses with a step size, a program, and the noise of a mechanism; `search` says what of it is searched
    for.
    """

    mechanism: str
    kappa: float
    program: Program
    noise: Noise
    search: Search | None = None

    @property
    def label(self) -> str:
        """What progress and errors call it."""
        program = self.program
        return (
            f"{self.mechanism}, kappa = {self.kappa:g}, eta = {program.eta:g}, rho = {self.noise.rho:g}, program "
            f"{program.name}"
        )


def row_of(case: Case, found: ConvexBound, seconds: float) -> Row:
    """The row of a bound."""
    return _asked(case, seconds) | bound_row(found)


def failed_row(case: Case, failure: str, seconds: float) -> Row:
    """The row of a case that solver or certificate could not do: no number, and the reason."""
    return {**_asked(case, seconds), "status": "failed", "failure": failure}


def _asked(case: Case, seconds: float) -> Row:
    program, noise = case.program, case.noise
    row = {"mechanism": case.mechanism, "kappa": case.kappa, "eta": program.eta, "L": program.L, "rho": noise.rho}
    row |= {"d": noise.d, "clip_norm": noise.clip_norm, "sigma_sgd": noise.sigma_sgd, "program": program.name}
    nu = getattr(noise.correlation, "nu", None)
    row |= {"nu": None, "best_nu": nu} if case.search else {"nu": nu, "best_nu": None}
    return {**row, **dict.fromkeys((*FOUND, *SIMPLE, *SIMULATED)), "seconds": round(seconds, 3), "failure": None}


def show(rows: Sequence[Row], delta: float = 1e-5) -> None:
    """The table, and below it the settings and what the columns are; `delta` is that of the epsilon shown."""
    print_table([_rounded(row) for row in rows], _columns(rows))
    constant = [f"{name} = {_plain(rows[0][name])}" for name in SETTINGS if not _vary(name, rows)]
    budgets = [Budget(row["rho"], epsilon_of(row["rho"], delta), delta) for row in rows]
    print()
    settings = f"{', '.join(constant)}; eta: absolute, not in units of 1 / L."
    print_sentences([settings, *_about(rows), *sentences(budgets)])


def _about(rows: Sequence[Row]) -> Iterator[str]:
    """What the columns are."""
    yield "lower <= sup of F - F* over mu-strongly convex, L-smooth F, mu = L / kappa, <= upper. ratio: upper / lower."
    yield (
        "lower: the worst quadratic. upper: value, the program's, which the best nu and the optimal correlation "
        "minimise, or a bound that needs no program if it is tighter."
    )
    programs = {row["program"] for row in rows}
    if "causal" in programs:
        yield "program causal: draws are independent of the past; its optimal is the best found of half powers."
    if "f" in programs:
        yield "program f: not causal, for all noise of the same spectrum, such that knows what is to come too."
    if any(row["simulated"] is not None for row in rows):
        yield "simulated: the mean of F - F* on that quadratic, with a 95 % interval from low to high."
    if any(row["adversarial"] is not None for row in rows):
        yield (
            "adversarial: the largest mean of F - F* in simulations of losses with piecewise-linear gradients, an "
            "estimate from below with its standard_error, in runs that did not choose the loss."
        )
    if any(row["best_nu"] == 1 for row in rows):
        yield "best_nu = 1 is independent noise: no correlated noise found has a tighter bound."
    found = {row["status"] for row in rows}
    if "certified" in found:
        yield "certified: both proved, rounding included; lower is rounded down, upper and ratio up."
    if "estimate" in found:
        yield "estimate: floating point, nothing is proved (--certify does)."
    if "not a bound" in found:
        yield (
            "not a bound: value is the expression of ftrl eq. (10) as printed, which bounds nothing; the best nu and "
            "the optimal correlation are those of program theta."
        )


def _columns(rows: Sequence[Row]) -> list[str]:
    """Those that have something to show, and fit."""
    hidden = {name for name in SETTINGS if not _vary(name, rows)}
    if sys.stdout.isatty() and shutil.get_terminal_size().columns < NARROW:
        hidden |= set(DETAILS) - ({"value"} if any(row["program"] == "paper" for row in rows) else set())
    return [name for name in COLUMNS if name not in hidden and any(row[name] is not None for row in rows)]


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _vary(name: str, rows: Sequence[Row]) -> bool:
    return len({row[name] for row in rows}) > 1


def _rounded(row: Row) -> Row:
    """To the digits of the table, the lower end downwards, all others upwards."""
    shown = dict(row)
    for name in ("best_nu", *FOUND):
        value = row[name]
        if isinstance(value, float):
            shown[name] = rounded(value, "lower" if name == "lower" else "upper", DIGITS)
    for name, digits in (("adversarial", DIGITS), ("standard_error", 1)):
        shown[name] = None if row[name] is None else float(f"{row[name]:.{digits}g}")
    return as_shown(shown)
