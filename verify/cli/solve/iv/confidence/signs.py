"""What `dpbounds solve iv --confidence --design s --csv` prints: the set read off the noisy sign curve, its price."""

from __future__ import annotations

from dpbounds.iv.confidence import ConfidenceAnswer
from verify.cli.solve.iv.confidence.show import BUDGET, left_out, meaning, set_rows, status, title
from verify.cli.solve.iv.text import note, table

SETS = ("set", "shape", "low", "high", "point")


def show(answer: ConfidenceAnswer, dropped: int) -> None:
    """The status first."""
    plan, (low, high, size) = answer.plan, answer.disclosure.columns()["grid"]
    note(status(plan))
    middles = ", ".join(f"{name} less {plan.centre(name):g}" for name in (plan.outcome, plan.regressor))
    note(
        f"n = {answer.n}, instrument {plan.instruments[0]}.{left_out(dropped)} Signs of {middles}: public constants, "
        "the middles of --bounds where given, which need not hold; near the medians the set is shortest."
    )
    table(title(plan), set_rows(answer), SETS)
    note(meaning(answer))
    if answer.confidence_set.shape == "line":
        note(f"Why: no coefficient of the grid, {low:g} to {high:g}, is rejected. More epsilon or n, or a wider grid.")
    note(
        f"Price of privacy, known beforehand: the curve's standard deviation is {answer.price.ratio:.3g} times that "
        f"without noise, as sqrt(1 + n*/n) with n* = {answer.n_star:.4g} records."
    )
    table("Budget", [line._asdict() for line in answer.disclosure.budget], BUDGET)
    (name, chance), *_ = (plan.instrument_means or {}).items()
    note(
        f"Assumed: records are independent; {name} is 1 with chance {chance:g}, drawn independently of everything "
        f"else, and reaches the outcome through the regressor alone; one effect for all. The level is that of the "
        f"{size} coefficients of the grid; between them it needs cells of at most a quarter of the set."
    )
