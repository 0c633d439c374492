"""Without data: n*, and how much longer the set would be than without privacy, from public guesses alone."""

from __future__ import annotations

import math
from argparse import Namespace
from typing import Any

from dpbounds import DomainError
from dpbounds.errors import within
from dpbounds.iv.confidence import equivalent_sample, length_ratio, step_noise
from dpbounds.privacy import gaussian_epsilon, gaussian_mu
from verify.cli.console import print_json
from verify.cli.solve.iv.confidence.asked import CENTRING_SHARE, CLAMPED_SHARE, MOST_RECORDS, Asked
from verify.cli.solve.iv.confidence.releasing import ratio_of
from verify.cli.solve.iv.confidence.solving import finish
from verify.cli.solve.iv.text import note, table

Row = dict[str, Any]
# Budgets beside the one asked for, as factors of epsilon; the error's deviation without a guess, as a share of a range.
FACTORS, DEVIATION = (0.3, 1.0, 3.0), 0.25
# What n is asked to be large enough for.
WANTED = 1.1
COLUMNS = ("epsilon", "delta", "mu", "n", "n_star", "length_ratio", "n_for_ratio_1.1")


def run(arguments: Namespace, asked: Asked) -> int:
    """A row for each of three budgets."""
    for name in ("csv", "drop_missing", "plot", "honest", "certify", "public"):
        if getattr(arguments, name):
            raise DomainError(name, getattr(arguments, name), "left out without --csv")
    if arguments.n is None:
        raise DomainError("n", "nothing", "given", "or --csv FILE for a data set")
    n = int(within("n", arguments.n, f"[10, {MOST_RECORDS}]"))
    deviation = _deviation(arguments, asked)
    rows = [_row(asked, n, mu, deviation) for mu in _budgets(asked)]
    finish(arguments, rows)
    if arguments.json:
        print_json(rows)
    else:
        _show(asked, rows, deviation)
    return 0


def _budgets(asked: Asked) -> list[float]:
    if asked.epsilon is None:
        return [factor * asked.mu for factor in FACTORS]
    return [float(gaussian_mu(factor * asked.epsilon, asked.delta)) for factor in FACTORS]


def _deviation(arguments: Namespace, asked: Asked) -> float:
    """Of the error of the outcome, in its units."""
    if asked.design == "s":
        return 1.0
    range_ = 2 * asked.boxes[asked.outcome].half
    if arguments.deviation is None:
        return DEVIATION * range_
    return within("deviation", arguments.deviation, f"(0, {range_!r}]", "at most the outcome's range")


def _row(asked: Asked, n: int, mu: float, deviation: float) -> Row:
    """n* of the strongest case: instruments that are half of the time at either end of their ranges."""
    own = mu * math.sqrt(1 - (CLAMPED_SHARE if asked.clamping != "natural" else 0.0))
    own *= math.sqrt(1 - CENTRING_SHARE) if asked.two_stage else 1.0
    equivalent = _signs(asked, own) if asked.design == "s" else _moments(asked, own, deviation)
    return {
        "epsilon": float(gaussian_epsilon(mu, asked.delta)),
        "delta": asked.delta,
        "mu": mu,
        "adjacency": asked.adjacency,
        "design": asked.design,
        "n": n,
        "n_star": equivalent,
        "length_ratio": float(length_ratio(n, equivalent)),
        "n_for_ratio_1.1": math.ceil(equivalent / (WANTED**2 - 1)),
    }


def _moments(asked: Asked, mu: float, deviation: float) -> float:
    """Instruments of norm sqrt q, each entry of deviation 1, in half-widths of their ranges."""
    outcome, regressors = asked.boxes[asked.outcome].half, [asked.boxes[name].half for name in asked.regressors]
    ratio, bound, spread = ratio_of(asked), asked.instrument_bound, 1.0
    setting: dict[str, Any] = {"mu": mu, "regressor_bounds": regressors, "adjacency": asked.adjacency}
    if asked.means is None:  # records within the bound keep their length, longer ones are cut to it
        spread = min(1.0, bound / math.sqrt(len(asked.instruments)))
    setting |= {"instrument_bound": bound, "deviation": spread * deviation}
    if asked.two_stage:  # what is left of the coefficient after recentring counts as 0, the range is wider for it
        wider = (1 + ratio) * outcome
        return float(equivalent_sample(outcome_bound=wider, coefficients=(0.0,), ratio=ratio, **setting))
    guess = tuple(ratio * outcome / half for half in regressors)
    return float(equivalent_sample(outcome_bound=outcome, coefficients=guess, ratio=ratio, **setting))


def _signs(asked: Asked, mu: float) -> float:
    """kappa² f² max(pi, 1 - pi)² / (mu² pi (1 - pi))."""
    assert asked.means is not None and asked.grid is not None
    pi, kappa = asked.means[0], 2.0 if asked.adjacency == "replace-one" else 1.0
    factor = float(step_noise(asked.grid[2])[0])
    return (kappa * factor * max(pi, 1 - pi) / mu) ** 2 / (pi * (1 - pi))


def _show(asked: Asked, rows: list[Row], deviation: float) -> None:
    note(
        "PLANNING: no data are read. n*: with strong instruments a private set at n records is sqrt(1 + n*/n) times as "
        "long as without privacy; n_for_ratio_1.1 records make it 10 % longer."
    )
    table(f"Design {asked.design}, {asked.adjacency}, level {asked.level:g}", rows, COLUMNS)
    if asked.design == "s":
        note("Signs need no ranges; their set is longer than that of moments by itself where errors are near normal.")
        return
    ranges = ", ".join(f"{name} {box.low:g} to {box.high:g}" for name, box in asked.boxes.items())
    parts = [f"ranges {ranges}", f"an error of the outcome with standard deviation {deviation:.4g} (--deviation)"]
    parts.append("instruments that are as often at one end of their ranges as at the other")
    if asked.coefficients is None:
        parts.append("a coefficient of half the ratio of the ranges (--beta)")
    if asked.two_stage:
        parts.append(f"{CENTRING_SHARE:.0%} of the budget for means, which lie in the middle of the ranges")
    note(
        f"Assumed: {'; '.join(parts)}. n* grows as the inverse square of that deviation. Strength comes first: "
        "instruments that are weak without privacy are weaker with it."
    )
