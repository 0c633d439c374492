"""Without data: n*, and how much longer the set would be than without privacy, from public constants alone."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from typing import Any

from dpbounds import DomainError
from dpbounds.iv.confidence import ExpectedPrice, ReleasePlan, expected_prices
from dpbounds.iv.confidence.budget import CENTRING_SHARE
from dpbounds.iv.confidence.price import expected_deviation
from verify.cli.solve.iv.confidence.show import choices
from verify.cli.solve.iv.text import note, table

COLUMNS = ("epsilon", "delta", "mu", "n", "n_star", "length_ratio", "n_for_ratio_1.1")


def prices(arguments: Namespace, plan: ReleasePlan) -> list[ExpectedPrice]:
    """At three budgets. `DomainError` for options that need data."""
    for name in ("csv", "drop_missing", "plot", "honest", "certify", "public"):
        if getattr(arguments, name):
            raise DomainError(name, getattr(arguments, name), "left out without --csv")
    if arguments.n is None:
        raise DomainError("n", "nothing", "given", "or --csv FILE for a data set")
    return expected_prices(plan, arguments.n, deviation=arguments.deviation)


def show(plan: ReleasePlan, rows: Sequence[dict[str, Any]], deviation: float | None) -> None:
    """The table, and what it assumes."""
    note(
        "PLANNING: no data are read. n*: with strong instruments a private set at n records is sqrt(1 + n*/n) times as "
        "long as without privacy; n_for_ratio_1.1 records make it 10 % longer."
    )
    table(f"Design {plan.design}, {plan.adjacency}, level {plan.level:g}", rows, COLUMNS)
    if plan.design == "s":
        note("Signs need no ranges; their set is longer than that of moments by itself where errors are near normal.")
        return
    note(f"Clamping {choices(plan)}.")
    ranges = ", ".join(f"{name} {low:g} to {high:g}" for name, (low, high) in plan.ranges.items())
    error = f"an error of the outcome with standard deviation {expected_deviation(plan, deviation):.4g} (--deviation)"
    parts = [f"ranges {ranges}", error]
    parts.append("instruments that are as often at one end of their ranges as at the other")
    if plan.beta is None and not plan.stretched:
        parts.append("a coefficient of half the ratio of the ranges (--beta)")
    if plan.two_stage:
        parts.append(f"{CENTRING_SHARE:.0%} of the budget for means, which lie in the middle of the ranges")
    if plan.stretched:
        parts.append("residuals clipped at three deviations; what stretching adds to the length is not in n*")
    note(
        f"Assumed: {'; '.join(parts)}. n* grows as the inverse square of that deviation. Strength comes first: "
        "instruments that are weak without privacy are weaker with it."
    )
