"""What `dpbounds solve iv --confidence --csv` prints: whether it is private, the set, its price, the budget."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from dpbounds.iv.clamped import RhoLimits
from dpbounds.iv.confidence import ConfidenceAnswer, ReleasePlan
from dpbounds.iv.confidence.answers import Reading
from dpbounds.iv.confidence.plan import CLAMPINGS, DESIGNS, NEIGHBOURS
from verify.cli.solve.iv.text import note, rounded, table

Row = dict[str, Any]
# Below, instruments are called weak, and degrees of freedom few; a clip that leaves less than half is narrow.
WEAK, FEW, NARROW = 10.0, 50, 0.5
SETS = ("set", "shape", "low", "high", "point", "first_stage_F")
BUDGET = ("released", "numbers", "sensitivity", "noise_sd", "mu")
SAMPLING = {
    "numpy": "Its noise is drawn in floats by numpy, seeded by the operating system: such noise has known holes for "
    "who sees every bit (--noise opendp has none).",
    "opendp": "Its noise is drawn by OpenDP's measurement, from a cryptographic source.",
}
SHAPES = {
    "interval": "The set is an interval.",
    "complement": "The set is everything outside an interval: the sign of the first stage is open, the test at an "
    "infinite coefficient does not reject.",
    "line": "The set is the whole line: at this budget these records say nothing of the coefficient. That is an "
    "answer, and it covers.",
    "empty": "The set is empty: the instruments contradict each other, no coefficient fits (a test of the "
    "over-identifying restrictions rejects).",
    "pieces": "The set has several pieces, all of which belong to it.",
}
FREE = {
    "replace-one": "Second moments that stand without a mu of their own are free beside the first under replace-one.",
    "zero-out": "Second moments without a mu of their own share that of the line above.",
}
ERRORS = {
    "u": "errors may have any variances, effects vary",
    "h": "errors have one variance (homoskedastic)",
}
UNEVEN = "design h covers .80 to .94 in place of .95 under heteroskedasticity: --design u does not need it."
COVERAGE = {
    "asymptotic": "Coverage is asymptotic in n, whatever the strength of the instruments and the noise",
    "lower": "Coverage is proved at every n",
    "exact": "Coverage is exact at every n",
}


def choices(plan: ReleasePlan) -> str:
    """What the plan's way with clamping assumes, and what the others would."""
    others = [f"{name}: {text}" for name, text in CLAMPINGS.items() if name != plan.clamping]
    others.append(f"design s: a randomised 0/1 instrument and one effect, no ranges ({DESIGNS['s']})")
    return f"{plan.clamping} assumes: {CLAMPINGS[plan.clamping or 'natural']}. Else, {'; '.join(others)}"


def before(plan: ReleasePlan) -> None:
    """On standard error, before a budget is spent: what coverage will rest on."""
    if plan.private and plan.design != "s":
        print(f"The budget is about to be spent. Clamping {choices(plan)}.", file=sys.stderr)


def show(answer: ConfidenceAnswer, dropped: int) -> None:
    """The status first."""
    plan, budget = answer.plan, answer.plan.budget
    note(status(plan))
    _show_records(answer, dropped)
    table(title(plan), set_rows(answer), SETS)
    note(meaning(answer))
    note(_price(answer))
    if answer.rho is not None:
        note(stretching(answer, answer.rho))
    if answer.confidence_set.shape == "line":
        note(why_line(answer))
    table("Budget", [line._asdict() for line in answer.disclosure.budget], BUDGET)
    if plan.public:
        note("Public data: no budget is spent. The table says what a private release of this kind would cost.")
    together = f"Together mu = {budget.gdp:.4g}: what one line costs has the same mu, and their squares add up."
    note(f"{together} {FREE[plan.adjacency]}")
    note(assumptions(answer))
    for text in warnings(answer):
        note(f"WARNING: {text}")


def title(plan: ReleasePlan) -> str:
    """Of the table of sets."""
    return f"Coefficient of {plan.regressor} in {plan.outcome}, level {plan.level:g}"


def status(plan: ReleasePlan) -> str:
    """Whether this is a release, and what follows."""
    budget = plan.budget
    level = f"({budget.epsilon_at_delta:.4g}, {budget.delta:g})-differential privacy, {budget.gdp:.4g}-GDP"
    if plan.private:
        return (
            f"PRIVATE RELEASE with {level} for {NEIGHBOURS[plan.adjacency]}, as long as ranges and all other options "
            f"were chosen without these records. {SAMPLING[plan.noise]} Every run without --seed spends the budget "
            "again: print it once, keep it with --save. What is sent to standard error, such as a refusal, is not part "
            "of it."
        )
    if plan.public:
        why = "the data are public (--public), and what has no noise is shown beside"
    else:
        why = f"with --seed {plan.seed} the noise can be drawn again, and taken off"
    return f"NOT PRIVATE, a reproducible study: {why}. Without --seed and --public it would be a release with {level}."


def left_out(dropped: int) -> str:
    """A sentence, or nothing."""
    return f" {dropped} records with a missing value are left out." if dropped else ""


def _show_records(answer: ConfidenceAnswer, dropped: int) -> None:
    plan = answer.plan
    boxes = {name: plan.ranges[name] for name in (*plan.instruments, *plan.regressors, plan.outcome)}
    ranges = ", ".join(f"{name} {low:g} to {high:g}" for name, (low, high) in boxes.items())
    note(
        f"n = {answer.n}, instruments {', '.join(plan.instruments)}.{left_out(dropped)} Public ranges: {ranges}. That "
        "a record is there, complete, and its controls are taken as public."
    )


def set_rows(answer: ConfidenceAnswer) -> list[Row]:
    """A row for each piece."""
    bare = answer.without_noise
    return _pieces("private", answer.reading) + ([] if bare is None else _pieces("without privacy", bare))


def _pieces(name: str, reading: Reading) -> list[Row]:
    """One at least, the first with point estimate and first stage."""
    shape, strength = reading.confidence_set.shape, reading.first_stage
    pieces = reading.confidence_set.pieces
    rows: list[Row] = [{"set": name, "shape": shape, "low": float(low), "high": float(high)} for low, high in pieces]
    rows = rows or [{"set": name, "shape": shape}]
    rows[0] |= {"point": reading.point, "first_stage_F": None if strength is None else strength.f}
    return rows


def meaning(answer: ConfidenceAnswer) -> str:
    """The shape in words."""
    found = answer.confidence_set
    ends = " Ends are certified: exact arithmetic on the released floats." if answer.plan.certify else ""
    return f"{SHAPES[found.shape]} {COVERAGE[found.coverage.kind]}.{ends}"


def _price(answer: ConfidenceAnswer) -> str:
    measured = "" if answer.measured_ratio is None else f" Measured here: {answer.measured_ratio:.3g}."
    ratio = answer.price.ratio
    if answer.price.least:
        return (
            f"Price of privacy: a length ratio of {ratio:.3g} at least; the noise hides what the set would be without "
            f"it.{measured}"
        )
    return (
        f"Price of privacy, predicted from the release for strong instruments: length ratio {ratio:.3g}, as sqrt(1 + "
        f"n*/n) with n* = {rounded(float(answer.n_star)):g} records.{measured}"
    )


def why_line(answer: ConfidenceAnswer) -> str:
    """Which number is too small, and what would change it."""
    strength, remedy = answer.reading.first_stage, answer.remedy()
    assert strength is not None
    if strength.bounded:
        return (
            "Why: the set of the same release without --honest or --clamping stretch is bounded; what these allow for "
            "takes all of it. More records make it bounded; for --honest so may a smaller budget, whose noise is more "
            "nearly all there is."
        )
    why = f"Why: the private first stage is F = {strength.f:.3g}, and bounded sets start at {answer.needed_f:.3g}."
    if remedy.n is None:
        return f"{why} The noise hides the first stage entirely: no estimate of what would be enough can be made of it."
    enough = f"with n = {remedy.n} at this budget"
    if remedy.epsilon is not None:
        delta = answer.plan.budget.delta
        enough = f"with epsilon = {remedy.epsilon:.3g} at this n (delta = {delta:g}), or {enough}"
    never = "" if remedy.epsilon is not None else " No budget would be enough at this n."
    return f"{why} From this release, roughly: half of all releases would be bounded {enough}.{never}"


def assumptions(answer: ConfidenceAnswer) -> str:
    """What coverage rests on."""
    plan = answer.plan
    parts = ["records are independent", "instruments move the outcome through the regressor alone"]
    if plan.instrument_means is not None:
        parts.append("the instruments' means are those given, whatever the other columns are")
    if plan.controls:
        parts.append("controls matter through their cells")
    parts.append("errors may have any variances" if plan.stretched else ERRORS[plan.design])
    parts.append(CLAMPINGS[plan.clamping or "natural"])
    if plan.stretched:
        parts.append(f"its largest effect on {plan.regressor} is at most {plan.heterogeneity:g} times the mean one")
    return f"Assumed: {'; '.join(parts)}."


def warnings(answer: ConfidenceAnswer) -> list[str]:
    """Where the design is known to fail, from public constants and released numbers alone."""
    plan, strength, cells = answer.plan, answer.reading.first_stage, answer.disclosure.cells
    texts = [UNEVEN] if plan.design == "h" else []
    if answer.degrees_of_freedom < FEW:
        texts.append(
            f"{answer.degrees_of_freedom} degrees of freedom (records less cells and instruments): coverage is of many "
            "records. --honest and --design s hold at every n."
        )
    if answer.rho is not None and answer.rho.least < NARROW:
        texts.append(
            f"clipping may have left as little as {answer.rho.least:.2g} of the coefficient's effect: a wider range of "
            f"{plan.outcome}, which C follows, makes the set shorter."
        )
    if strength is not None and strength.f < WEAK and answer.confidence_set.shape != "line":
        texts.append(
            f"weak instruments or much noise: the private first stage is F = {strength.f:.3g}. The set is valid all "
            "the same; the point estimate is not to be trusted."
        )
    if plan.default_ranges:
        names = _listed(plan.default_ranges)
        texts.append(f"{names} taken as 0 to 1: another range costs length, not coverage (--bounds).")
    if cells is not None and cells.dropped:
        texts.append(f"{cells.dropped} of {cells.total} cells of controls were too small and are left out.")
    return texts


def stretching(answer: ConfidenceAnswer, rho: RhoLimits) -> str:
    """Where residuals are clipped, and what that does to the set."""
    plan, found = answer.plan, answer.disclosure
    return (
        f"Residuals of {plan.outcome} less a released line of slope {found.shift:.4g} are clipped at {found.clip:.4g}. "
        f"By their noisy counts what is left of the coefficient's distance from that slope is {rho.least:.3g} to "
        f"{rho.most:.3g} of it, and the set is stretched away from that slope by as much: for every law of the errors "
        f"and of {plan.regressor} that {plan.instruments[0]} is independent of."
    )


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names)} {'is' if len(names) == 1 else 'are'}"
