"""Tables of `dpbounds solve ols`, what their columns are, and which method to take."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from dpbounds.ols import Compared, Comparison
from dpbounds.ols.comparison import Accounting
from dpbounds.ols.newton import Newton, noise_scales
from dpbounds.ols.scales import AdasspScales, GradientDescentScales, HessianMixingScales, LinearMixingScales
from verify.cli.console import print_table
from verify.cli.solve.ols.problem import Question
from verify.cli.solve.simulating import Simulated

TITLES: dict[Accounting, str] = {
    "tight": "At equal true privacy",
    "experiments": "Under the paper's accounting",
}
COLUMNS = ("method", "noise", "risk", "over_zero", "kind")
DIGITS, WIDTH = 3, 119
# Larger budgets that are tried where none of the methods is worth it, as multiples.
LARGER, MOST_EPSILON = (2.0, 4.0, 8.0, 16.0, 32.0, 64.0), 1e6

Row = Mapping[str, Any]


def show(asked: Question, found: Comparison, rows: Sequence[Row]) -> None:
    """Setting, both tables, advice, what theory expects."""
    data = found.regime.features
    _note(
        f"n = {asked.n}, d = {asked.d}; epsilon = {asked.epsilon:g}, delta = {asked.delta:.3g} (zero-out), varrho = "
        f"{asked.failure:.3g}. {' '.join(asked.said)}"
    )
    _note(
        f"lambda_min(X'X) = {data.lambda_min:.4g}, of (X, Y) {data.joint_lambda_min:.4g}; L(theta*)/n = "
        f"{data.residual / asked.n:.4g}, ||theta*||² = {data.theta_squared:.4g} (bounds 1)."
    )
    for accounting, title in TITLES.items():
        own = [row for row in rows if row["accounting"] == accounting]
        noises = {row.method: _noise(row) for row in found.under(accounting)}
        _table(title, own, noises)
    _legend(asked, rows)
    print()
    _advice(asked, found, rows)


def _table(title: str, rows: Sequence[Row], noises: Mapping[str, str]) -> None:
    print(f"\n{title}")
    shown = []
    for row in rows:
        kind = row["kind"] if row["reliable"] else f"{row['kind']}, not reliable"
        cells = {"method": row["method"], "noise": noises[row["method"]], "kind": kind}
        cells |= {name: f"{row[name]:.{DIGITS}g}" if row[name] is not None else "" for name in ("risk", "over_zero")}
        if "median_simulated" in row:
            median = Simulated(*(row[f"median_{part}"] for part in ("simulated", "low", "high")))
            cells["simulated"], cells["interval"] = median.shown
        shown.append(cells)
    columns = [*COLUMNS, *(name for name in ("simulated", "interval") if any(name in row for row in shown))]
    print_table(shown, columns)


def _noise(row: Compared) -> str:
    """Standard deviations and levels as the algorithms name them, rows and outcomes in units of their bounds."""
    match row.scales:
        case HessianMixingScales() as one:
            return f"gamma {one.gamma:.4g}, sigma {one.sigma:.4g}, k {one.k}, T {one.steps}"
        case LinearMixingScales() as one:
            return f"gamma {one.gamma:.4g}, k {one.k}"
        case AdasspScales() as one:
            return f"s {one.gram:.4g}" + (" (off the diagonal / sqrt 2)" if one.iso else "")
        case GradientDescentScales() as one:
            return f"sigma {one.sigma:.4g}, T {one.steps}"
        case Newton() as one:
            scales = noise_scales(one)
            return f"Hessian {scales.hessian:.4g} h², gradients {scales.gradients[-1]:.4g} c_u, T {one.steps}"
        case _:
            return ""


def _legend(asked: Question, rows: Sequence[Row]) -> None:
    own = " in the data's own units" if asked.records is not None else ""
    _note(
        f"risk: ||X (theta - theta*)||², a sum over records{own}; over_zero: over that of theta = 0. exact: expected "
        "risk while nothing is clipped. estimate: AdaSSP to leading order (its mean is infinite); PRN with the clip "
        "levels it would take without noise, optimistic by up to a factor of 5 where rows are of very different length."
    )
    _note(
        "IHM omits the ridge term as in the paper's experiments; with ridge kept it is Algorithm 1. Linear mixing is "
        "Algorithm 4. At equal true privacy all releases of a method together are (epsilon, delta)-DP by one joint "
        "profile (for the sketches an upper bound); the paper's accounting splits the budget."
    )
    if any("median_simulated" in row for row in rows):
        where = "these records" if asked.records is not None else "records drawn for this design"
        _note(f"simulated: median over runs on {where}, real clipping, with a 95 % interval.")


def _advice(asked: Question, found: Comparison, rows: Sequence[Row]) -> None:
    _note(f"Recommended at equal true privacy: {found.recommended.method}. {found.reason}")
    if found.recommended.method == "theta = 0":
        _note(_enough(asked))
    simulated = [row for row in rows if row["accounting"] == "tight" and "median_simulated" in row]
    if simulated:
        best = min(simulated, key=lambda row: row["median_simulated"])
        if best["method"] != found.recommended.method:
            _note(f"In simulation {best['method']} has the least median.")
    regime = found.regime
    flags = {
        "large residual": regime.large_residual,
        "lambda_min(X'X) above the multipliers": regime.well_conditioned,
        "X'X well-conditioned, (X, Y) not": regime.only_x_conditioned,
        "small theta*": regime.small_theta,
        "favourable to linear mixing": regime.for_linear_mixing,
    }
    named = ", ".join(name for name, holds in flags.items() if holds) or "none of the paper's special regimes"
    totals = ", ".join(f"{one.method} {one.total * asked.units:.3g}" for one in regime.guarantees)
    _note(f"Table 1 with constants 1: {named}; bounds {totals}; it expects {regime.expected}.")


def _enough(asked: Question) -> str:
    """The first of a few larger budgets at which some method is predicted to be worth it."""
    for factor in LARGER:
        epsilon = asked.epsilon * factor
        if epsilon > MOST_EPSILON:
            break
        method = asked.answer(epsilon).recommended.method
        if method != "theta = 0":
            return f"At epsilon = {epsilon:.3g} {method} is predicted to."
    return f"None is up to epsilon = {min(asked.epsilon * LARGER[-1], MOST_EPSILON):.3g}."


def _note(text: str) -> None:
    print(textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False))
