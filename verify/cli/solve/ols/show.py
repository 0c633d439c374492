"""Tables of `dpbounds solve ols`, what their columns are, and which method to take."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from dpbounds.ols import AveragedDescentScales, Compared, Comparison, ScaledData, tail_averaged
from dpbounds.ols.methods import Accounting
from dpbounds.ols.newton import Newton, noise_scales
from dpbounds.ols.scales import AdasspScales, GradientDescentScales, HessianMixingScales, LinearMixingScales
from dpbounds.ols.tail_averaged import TailAveraged
from verify.cli.console import print_table
from verify.cli.solve.simulating import Simulated

TITLES: dict[Accounting, str] = {
    "tight": "At equal true privacy",
    "experiments": "Under the paper's accounting",
}
COLUMNS = ("method", "noise", "risk", "median", "over_zero", "clipped", "kind")
DIGITS, WIDTH = 3, 119

Row = Mapping[str, Any]


def show(found: Comparison, setting: str, rows: Sequence[Row]) -> None:
    """Setting, both tables, advice, what theory expects. `setting`: what is assumed or read off the data."""
    data = found.regime.features
    _note(
        f"n = {data.n}, d = {data.d}; epsilon = {found.epsilon:g}, delta = {found.delta:.3g} (zero-out), varrho = "
        f"{found.failure:.3g}. {setting}"
    )
    _note(
        f"lambda_min(X'X) = {data.lambda_min:.4g}, of (X, Y) {data.joint_lambda_min:.4g}; L(theta*)/n = "
        f"{data.mean_residual:.4g}, ||theta*||² = {data.theta_squared:.4g} (bounds 1)."
    )
    for accounting, title in TITLES.items():
        pairs = [pair for pair in zip(found.rows, rows, strict=True) if pair[0].accounting == accounting]
        _table(title, pairs)
    _legend(found, rows)
    print()
    _advice(found, rows)


def _table(title: str, pairs: Sequence[tuple[Compared, Row]]) -> None:
    print(f"\n{title}")
    shown = []
    for compared, row in pairs:
        kind = row["kind"] if row["reliable"] else f"{row['kind']}, not reliable"
        kind = f"{kind}, reference" if row["reference"] else kind
        cells = {"method": row["method"], "noise": _noise(compared), "kind": kind}
        cells |= {
            name: f"{row[name]:.{DIGITS}g}" if row[name] is not None else ""
            for name in ("risk", "median", "over_zero", "clipped")
        }
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
        case TailAveraged() as one:
            scales = tail_averaged.noise_scales(one)
            return f"Hessian {scales.hessian:.4g}, gradients {scales.gradients:.4g} c_u, T {one.steps}"
        case AveragedDescentScales() as one:
            last = f"mean of the last {one.average:g}" if one.average else "last iterate"
            return f"T {one.steps}, rate {one.rate:.3g} / lambda_max, c {one.clip:.3g}, {last}"
        case _:
            return ""


def _legend(found: Comparison, rows: Sequence[Row]) -> None:
    own = " in the data's own units" if isinstance(found.problem, ScaledData) else ""
    _note(
        f"risk: ||X (theta - theta*)||², a sum over records{own}; over_zero: over that of theta = 0; median: half of "
        "the runs stay below it, where a law says so. exact: expected risk while nothing is clipped. estimate: AdaSSP "
        "to leading order (its mean is infinite); of a data set with clipping counted, an approximation that "
        "--simulate tries, clipped being the share of rows in the last step; of X'X alone on rows of one length, PRN's "
        "optimistic by up to a factor of 5. Rows without clipped do not count it."
    )
    if found.stand_in:
        n = found.regime.features.n
        _note(
            f"Risks with clipping counted are those on {n} other records of the same law, means and medians over "
            "noise and records. DP-GD's settings are read off the records that stand in: with them, and lambda_max of "
            "these records times the ratio of n, it is private for others. reference marks it, as on your own records "
            "it would not be."
        )
    elif any(row["reference"] for row in rows):
        _note(
            "reference: DP-GD whose settings read the records, which costs privacy that is not paid here; what the "
            "best settings could reach, not a private method."
        )
    _note(
        "IHM omits the ridge term as in the paper's experiments; with ridge kept it is Algorithm 1. Linear mixing is "
        "Algorithm 4. At equal true privacy all releases of a method together are (epsilon, delta)-DP by one joint "
        "profile (for the sketches an upper bound); the paper's accounting splits the budget."
    )
    if any("median_simulated" in row for row in rows):
        where = "these records" if isinstance(found.problem, ScaledData) else "records drawn for this design"
        _note(f"simulated: median over runs on {where}, real clipping, with a 95 % interval.")


def _advice(found: Comparison, rows: Sequence[Row]) -> None:
    _note(f"Recommended at equal true privacy: {found.recommended.label}. {found.reason}")
    _forecast(found)
    if found.remedy:
        _note(found.remedy)
    simulated = [
        (row["median_simulated"], compared)
        for compared, row in zip(found.rows, rows, strict=True)
        if compared.accounting == "tight" and "median_simulated" in row
    ]
    if simulated:
        _, best = min(simulated, key=lambda pair: pair[0])
        if best.method != found.recommended.method:
            _note(f"In simulation {best.label} has the least median.")
    regime = found.regime
    flags = {
        "large residual": regime.large_residual,
        "lambda_min(X'X) above the multipliers": regime.well_conditioned,
        "X'X well-conditioned, (X, Y) not": regime.only_x_conditioned,
        "small theta*": regime.small_theta,
        "favourable to linear mixing": regime.for_linear_mixing,
    }
    named = ", ".join(name for name, holds in flags.items() if holds) or "none of the paper's special regimes"
    totals = ", ".join(f"{one.method} {one.total * found.units:.3g}" for one in regime.guarantees)
    _note(f"Table 1 with constants 1: {named}; bounds {totals}; it expects {regime.expected}.")


def _forecast(found: Comparison) -> None:
    """Median and interval of what is recommended, and whether they are reliable."""
    best = found.recommended
    if best.median is not None and best.interval is not None:
        low, median, high = (
            f"{found.units * float(one):.3g}" for one in (best.interval[0], best.median, best.interval[1])
        )
        where = " on other records of this law" if found.stand_in else ""
        sure = f"Not reliable: {found.doubt}" if found.doubt else "Reliable."
        more = f" Give them with --n {found.regime.features.n}." if found.enough_records else ""
        _note(f"Predicted of runs{where}: half below {median}, eight in ten between {low} and {high}. {sure}{more}")


def _note(text: str) -> None:
    print(textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False))
