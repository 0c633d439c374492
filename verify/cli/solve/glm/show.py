"""Tables of `dpbounds solve glm`, what their columns are, which estimator to take, what more records would buy."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from dpbounds.glm.recommendation import ADVICE_LABELS, Recommendation
from simulators.glm.recommended import MOST_DRAWN
from verify.cli.console import print_table
from verify.cli.solve.simulating import Simulated

TITLES: dict[str, str] = {
    "printed": "As printed",
    "tight": "At equal true privacy: clipped records, the least noise",
    "best radius": "References at equal true privacy: labels centred, the radius of least predicted error here",
}
NOISE = ("estimator", "radius", "label_bound", "sd_xx", "sd_xy", "delta_within_bounds")
TERMS = ("error", "sampling", "gram_noise", "cross_noise", "public_covariance", "public_scale", "clipping")
SHORT = {
    "label_bound": "|y| bound",
    "sd_xx": "sd of xx'",
    "sd_xy": "sd of xy",
    "delta_within_bounds": "true delta",
    "gram_noise": "xx' noise",
    "cross_noise": "xy noise",
    "public_covariance": "public cov.",
    "public_scale": "public scale",
}
DIGITS, WIDTH = 3, 119

Row = Mapping[str, Any]


def show(recommendation: Recommendation, rows: Sequence[Row], assumptions: Sequence[str]) -> None:
    """Setting, scale, both tables, advice, what more records would buy."""
    problem = recommendation.problem
    _note(
        f"{problem.link.name}, p = {problem.p}, n = {problem.n} private and m = {problem.m} public records; "
        f"epsilon = {problem.epsilon:g}, delta = {problem.delta:.3g}, local. {' '.join(assumptions)}"
    )
    _note(
        f"Scale: w* = c w_ols, c = {float(recommendation.constant):.10g}; |Sigma^1/2 w_ols| = {problem.size:.4g}, a "
        f"root exists below {recommendation.supremum:.4g}."
    )
    for calibration, title in TITLES.items():
        calibrated = [row for row in rows if row["calibration"] == calibration]
        if calibrated:
            print()
            print_table(
                [_cells(row, NOISE) for row in calibrated], [SHORT.get(name, name) for name in NOISE], title=title
            )
    print()
    _errors(rows)
    _legend(rows)
    print()
    _advice(recommendation)


def _errors(rows: Sequence[Row]) -> None:
    shown = []
    for row in rows:
        cells = {"estimator": row["estimator"], "as": row["calibration"], **_cells(row, TERMS)}
        cells["reliable"] = "yes" if row["reliable"] else "no"
        if "median_simulated" in row:
            median = Simulated(*(row[f"median_{part}"] for part in ("simulated", "low", "high")))
            cells["simulated"], cells["interval"] = median.shown
            cells["no root"] = f"{row['no_root']:.3g}"
        shown.append(cells)
    print_table(shown, list(shown[0]), title="Predicted ||w - w*||² / ||w*||² and its parts")


def _cells(row: Row, names: Sequence[str]) -> dict[str, Any]:
    values = {name: row.get(name) for name in names}
    return {
        SHORT.get(name, name): f"{value:.{DIGITS}g}" if isinstance(value, float) else "-" if value is None else value
        for name, value in values.items()
    }


def _legend(rows: Sequence[Row]) -> None:
    _note(
        "Estimators: paper (Algorithms 1 and 3), pooled (Remark 11), public-covariance (x x' is not released), "
        "no-public-data (scale from the private records), zero (nothing). Errors to leading order; reliable: the mean "
        "is within 25 %, else the error of the covariance, the bend of the scale's equation, or the error itself is "
        "not small."
    )
    if any(row["calibration"] == "printed" for row in rows):
        _note(
            "True delta is for records within the bounds. Printed, a record beyond the radius sends the message "
            '"outside": for all records the true delta is 1. Tight rows are private for every record.'
        )
    if any(row["calibration"] == "best radius" for row in rows):
        _note(
            "Best radius: labels are sent less the middle of their range, and records are clipped to a radius tuned to "
            "this w* and Sigma, which no rule knows, so that such rows are not recommended; clipping: the squared "
            f"error of the means so clipped. They are simulated up to n = {MOST_DRAWN}."
        )
    if any(row["calibration"] == "message" for row in rows):
        _note(
            "Messages: a direction times a label in [-1, 1], with Gaussian noise, or a point of the sphere "
            "(hemisphere, cap), whose privacy is pure, without delta; all noise is under xy noise, all public records "
            "under public cov. Their errors are means that count the bend of the equation, reliable where it is small."
        )
    if any("median_simulated" in row for row in rows):
        _note("simulated: median over runs with a 95 % interval; a run without a root counts as infinite.")


def _advice(recommendation: Recommendation) -> None:
    advice = ADVICE_LABELS[recommendation.advice]
    if recommendation.messages:
        taken = "w = 0" if recommendation.recommended == "zero" else recommendation.recommended
        _note(f"Recommended at equal true privacy: {taken}. {_forecast(recommendation)}")
        _note(f"Among the estimators by least squares: {advice}. {recommendation.reason}")
    else:
        _note(f"Recommended at equal true privacy: {advice}. {recommendation.reason}")
    if recommendation.messages and recommendation.problem.link.labels == "count":
        bound = recommendation.messages[0].label_bound
        _note(f"Counts in messages are clamped at {bound:g}, of least predicted error: --label-bound of `fit glm`.")
    if not recommendation.useful:
        _note("None of these is useful here: the best has more than half the error of w = 0. " + _help(recommendation))
    for more in recommendation.more:
        estimator = recommendation.best.estimator
        _note(f"With n = {more.n} and m = {more.m} by {estimator}: {more.relative:.3g}.")
    needed = recommendation.needed
    if needed is None:
        return
    proportional = needed.proportional if needed.proportional is not None else "over 10^15"
    kept = needed.fixed_m if needed.fixed_m is not None else "none does"
    _note(
        f"For a relative error of {needed.target:g} by {recommendation.best.estimator}: n = {proportional} with m in "
        f"proportion, {kept} with m = {recommendation.problem.m} as it is."
    )


def _forecast(recommendation: Recommendation) -> str:
    """The median to expect of what is recommended, and whether it is to be relied on."""
    if recommendation.recommended == "zero":
        return ""
    sure = f"Not reliable: {recommendation.doubt}" if recommendation.doubt else "Reliable."
    return f"Half of its runs are predicted below {recommendation.median:.3g}. {sure}"


def _help(recommendation: Recommendation) -> str:
    """More users or a larger budget for a quarter of the error of w = 0."""
    helps = recommendation.helps
    if helps is None:
        return ""
    found = [f"n = {helps.n} users with m in proportion"] if helps.n is not None else []
    found += [f"epsilon = {helps.epsilon:.3g}"] if helps.epsilon is not None else []
    what = "A message on a cap" if recommendation.messages else recommendation.best.estimator
    return f"{what} has a quarter of it with {' or '.join(found)}." if found else ""


def _note(text: str) -> None:
    print(textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False))
