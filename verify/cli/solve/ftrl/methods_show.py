"""Rows of `dpbounds solve ftrl --method`, and what is said below their table."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from typing import Any

from dpbounds.ftrl.correlations import HalfPowers
from dpbounds.ftrl.methods import MethodBound
from dpbounds.showing import Side, rounded
from verify.cli.console import print_json, print_table
from verify.cli.solve.ftrl.budgets import budgets, sentences
from verify.cli.solve.ftrl.show import print_sentences

Row = dict[str, Any]

COLUMNS = ("method", "mechanism", "kappa", "eta", "zero", "pole", "T", "rho", "rate", "lower", "upper", "ratio")
COLUMNS += ("every_noise", "adversarial", "standard_error", "statement", "status", "seconds")
# What is found, and to which side the table rounds it.
SIDES: dict[str, Side] = {
    "lower": "lower",
    "every_noise": "lower",
    "upper": "upper",
    "ratio": "upper",
    "rate": "nearest",
    "adversarial": "nearest",
    "standard_error": "nearest",
    "eta": "nearest",
    "zero": "nearest",
    "pole": "nearest",
}
FOUND = ("lower", "upper", "ratio", "every_noise", "rate", "zero", "pole", "memory")
FOUND += ("adversarial", "standard_error", "statement", "status", "failure")
DIGITS = 5
MEASURES = {"f": "F - F*", "distance": "|x - theta*|^2", "gradient": "|grad F|^2"}


def asked(arguments: Namespace) -> Row:
    """What all rows have in common, and nothing found yet."""
    row: Row = {"measure": arguments.measure or "f", "average": arguments.average, "output": arguments.output or "x"}
    return row | dict.fromkeys(FOUND)


def found_row(bound: MethodBound) -> Row:
    """Both ends of a bound of the long run, and what they are of."""
    roots: Row = {"zero": None, "pole": None}
    if isinstance(bound.noise.correlation, HalfPowers):
        roots = {"zero": bound.noise.correlation.zeros[0].real, "pole": bound.noise.correlation.poles[0].real}
    return {
        "lower": float(bound.lower),
        "upper": float(bound.value),
        "ratio": bound.ratio,
        "every_noise": float(bound.lower_every_noise),
        "rate": bound.method.rate(bound.mu, bound.L),
        **roots,
        "memory": bound.memory,
        "statement": bound.statement,
        "status": "certified" if bound.is_certified else "estimate",
    }


def show(rows: Sequence[Row], left_out: Sequence[Row], arguments: Namespace) -> None:
    """The table, below it what was left out and what the columns are; or the rows as JSON."""
    if arguments.json:
        print_json([*rows, *left_out])
        return
    hidden = {"rho"} if len({row["rho"] for row in rows}) == 1 else set()
    columns = [name for name in COLUMNS if name not in hidden and any(row.get(name) is not None for row in rows)]
    print_table([rounded_row(row) for row in rows], columns)
    print()
    about = _about_horizon(rows, arguments) if arguments.horizon is not None else _about(rows, arguments)
    omitted = [f"Left out: {row['failure']}." for row in left_out]
    print_sentences([*omitted, *about, *_status(rows), *sentences(list(budgets(arguments)))])


def _about(rows: Sequence[Row], arguments: Namespace) -> Iterator[str]:
    yield (
        f"lower <= sup of the mean of {MEASURES[rows[0]['measure']]} over mu-strongly convex, L-smooth F, mu = L / "
        "kappa, <= upper, for draws independent of the past. lower: the worst quadratic. ratio: upper / lower."
    )
    yield "rate: of the slowest quadratic. every_noise: no noise of the same privacy is below, an estimate."
    if arguments.rate is not None:
        yield (
            "On the class they are not known to be equally fast: with gradient descent F - F* falls by (1 - rate)^2 a "
            "step, with Nesterov's method by 1 - rate as far as is proved. With care, compare that at twice the rate."
        )
    if any(row["adversarial"] is not None for row in rows):
        yield "adversarial: the largest mean in simulations of losses with piecewise-linear gradients."
    if any(row["zero"] is not None for row in rows):
        yield "arma: noise (1 - zero z) / (1 - pole z), the best found; z is one step back."
    yield "statement: of the limit of the mean, or of its average over time."


def _about_horizon(rows: Sequence[Row], arguments: Namespace) -> Iterator[str]:
    judged = "of the last iterate" if rows[0]["objective"] == "last" else "averaged over the iterates 1 to T"
    yield (
        f"lower <= sup of the mean of F - F*, {judged}, after T steps from |theta_0 - theta*| <= "
        f"{arguments.initial:g} over mu-strongly convex, L-smooth F, mu = L / kappa, <= upper; draws independent of "
        "the past. lower: the worst quadratic, an estimate. ratio: upper / lower."
    )
    yield "Noise is for T steps: its sensitivity, computed in floats, is that of T steps."


def _status(rows: Sequence[Row]) -> Iterator[str]:
    status = {row["status"] for row in rows}
    if "certified" in status:
        ends = "upper is" if "T" in rows[0] else "both"
        yield f"certified: {ends} proved in fractions; lower is rounded down, upper and ratio up."
    if "estimate" in status:
        yield "estimate: floating point, nothing is proved (--certify does)."


def rounded_row(row: Row) -> Row:
    """To the digits of the table, the lower ends downwards, the others upwards."""
    return {
        name: rounded(value, SIDES[name], DIGITS) if name in SIDES and value is not None else value
        for name, value in row.items()
    }
