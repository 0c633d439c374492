"""What `dpbounds solve iv --confidence --csv` prints: whether it is private, the set, its price, the budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from verify.cli.solve.iv.confidence import answers
from verify.cli.solve.iv.confidence.asked import Asked
from verify.cli.solve.iv.confidence.records import Records
from verify.cli.solve.iv.confidence.releasing import Released
from verify.cli.solve.iv.text import note, rounded, table

Row = dict[str, Any]
# Below, instruments are called weak. Clamped shares above this bias a set that is not aware of it.
WEAK, CLAMPED = 10.0, 0.005
SETS = ("set", "shape", "low", "high", "point", "first_stage_F")
BUDGET = ("released", "numbers", "sensitivity", "noise_sd", "mu")
NEIGHBOURS = {
    "replace-one": "data sets of n records that differ in one (replace-one)",
    "zero-out": "data sets that differ in one record, which is empty in one of them (zero-out)",
}


def show(asked: Asked, records: Records, released: Released, row: Row) -> None:
    """The status first."""
    note(status(asked, row))
    _about(asked, records)
    table(f"Coefficient of {asked.regressors[0]} in {asked.outcome}, level {asked.level:g}", set_rows(row), SETS)
    note(meaning(row))
    note(_price(row))
    if row["shape"] == "line":
        note(why_line(asked, released, row))
    table("Budget", row["budget"], BUDGET)
    note(f"Together mu = {asked.mu:.4g}: what one line costs has the same mu, and their squares add up. {_free(asked)}")
    note(assumed(asked, row))
    for text in warnings(asked, row):
        note(f"WARNING: {text}")


def status(asked: Asked, row: Row) -> str:
    """Whether this is a release, and what follows."""
    level = f"({row['epsilon']:.4g}, {row['delta']:g})-differential privacy, {row['mu']:.4g}-GDP"
    if asked.private:
        noise = {
            "numpy": "Its noise is drawn in floats by numpy, seeded by the operating system: such noise has known "
            "holes for who sees every bit (--noise opendp has none).",
            "opendp": "Its noise is drawn by OpenDP's measurement, from a cryptographic source.",
        }[asked.noise]
        return (
            f"PRIVATE RELEASE with {level} for {NEIGHBOURS[asked.adjacency]}, as long as ranges and all other options "
            f"were chosen without these records. {noise} Every run without --seed spends the budget again: print it "
            "once, keep it with --save. What is sent to standard error, such as a refusal, is not part of it."
        )
    if asked.public:
        why = "the data are public (--public), and what has no noise is shown beside"
    else:
        why = f"with --seed {asked.seed} the noise can be drawn again, and taken off"
    return f"NOT PRIVATE, a reproducible study: {why}. Without --seed and --public it would be a release with {level}."


def _about(asked: Asked, records: Records) -> None:
    dropped = f" {records.dropped} records with a missing value are left out." if records.dropped else ""
    ranges = ", ".join(
        f"{name} {box.low:g} to {box.high:g}"
        for name, box in ((name, asked.boxes[name]) for name in asked.names[: -len(asked.controls) or None])
    )
    note(
        f"n = {records.n}, instruments {', '.join(asked.instruments)}.{dropped} Public ranges: {ranges}. That a record "
        "is there, complete, and its controls are taken as public."
    )


def set_rows(row: Row) -> list[Row]:
    """A row for each piece."""
    return _pieces("private", row) + (_pieces("without privacy", row["public"]) if "public" in row else [])


def _pieces(name: str, row: Row) -> list[Row]:
    """One at least, the first with point estimate and first stage."""
    rows: list[Row] = [{"set": name, "shape": row["shape"], "low": low, "high": high} for low, high in row["pieces"]]
    rows = rows or [{"set": name, "shape": row["shape"]}]
    rows[0] |= {"point": row["point"], "first_stage_F": row.get("first_stage_F")}
    return rows


def meaning(row: Row) -> str:
    """The shape in words."""
    said = {
        "interval": "The set is an interval.",
        "complement": "The set is everything outside an interval: the sign of the first stage is open, the test at an "
        "infinite coefficient does not reject.",
        "line": "The set is the whole line: at this budget these records say nothing of the coefficient. That is an "
        "answer, and it covers.",
        "empty": "The set is empty: the instruments contradict each other, no coefficient fits (a test of the "
        "over-identifying restrictions rejects).",
        "pieces": "The set has several pieces, all of which belong to it.",
    }[row["shape"]]
    kind = {
        "asymptotic": "Coverage is asymptotic in n, whatever the strength of the instruments and the noise",
        "lower": "Coverage is proved at every n",
        "exact": "Coverage is exact at every n",
    }[row["coverage"]]
    ends = " Ends are certified: exact arithmetic on the released floats." if row["certified"] else ""
    return f"{said} {kind}.{ends}"


def _price(row: Row) -> str:
    measured = ""
    if "public" in row and 0 < row["public"]["length"] < math.inf and row["length"] < math.inf:
        measured = f" Measured here: {row['length'] / row['public']['length']:.3g}."
    if row["ratio_is_least"]:
        return (
            f"Price of privacy: a length ratio of {row['length_ratio']:.3g} at least; the noise hides what the set "
            f"would be without it.{measured}"
        )
    return (
        f"Price of privacy, predicted from the release for strong instruments: length ratio {row['length_ratio']:.3g}, "
        f"as sqrt(1 + n*/n) with n* = {rounded(float(row['n_star'])):g} records.{measured}"
    )


def why_line(asked: Asked, released: Released, row: Row) -> str:
    """Which number is too small, and what would change it."""
    if row["first_stage_F"] > row["first_stage_F_needed"]:
        return (
            "Why: the set of the same release without --honest or --clamping aware is bounded; what these allow for "
            "takes all of the level. More records make it bounded; for --honest so may a smaller budget, whose noise "
            "is more nearly all there is."
        )
    found = answers.remedy_for_line(asked, released)
    said = (
        f"Why: the private first stage is F = {row['first_stage_F']:.3g}, and bounded sets start at "
        f"{row['first_stage_F_needed']:.3g}."
    )
    if found["n"] is None:
        return (
            f"{said} The noise hides the first stage entirely: no estimate of what would be enough can be made of it."
        )
    enough = f"with n = {found['n']} at this budget"
    if found["epsilon"] is not None:
        enough = f"with epsilon = {found['epsilon']:.3g} at this n (delta = {asked.delta:g}), or {enough}"
    never = "" if found["epsilon"] is not None else " No budget would be enough at this n."
    return f"{said} From this release, roughly: half of all releases would be bounded {enough}.{never}"


def _free(asked: Asked) -> str:
    if asked.adjacency == "replace-one":
        return "Second moments that stand without a mu of their own are free beside the first under replace-one."
    return "Second moments without a mu of their own share that of the line above."


def assumed(asked: Asked, row: Row) -> str:
    """What coverage rests on."""
    parts = ["records are independent", "instruments move the outcome through the regressor alone"]
    if asked.means is not None:
        parts.append("the instruments' means are those given, whatever the other columns are")
    if asked.controls:
        parts.append("controls matter through their cells")
    parts.append(
        "errors have one variance (homoskedastic)"
        if asked.design == "h"
        else "errors may have any variances, effects vary"
    )
    if row["clamped"] is None:
        parts.append("ranges hold for every record, so that nothing is clamped")
    elif asked.clamping == "aware":
        parts.append("clamping biases as it does where the errors are independent of the instruments")
    else:
        parts.append("clamped records are too few to matter (their number is released)")
    return f"Assumed: {'; '.join(parts)}."


def warnings(asked: Asked, row: Row) -> list[str]:
    """Where the design is known to fail, from public constants and released numbers alone."""
    said: list[str] = []
    n = row["n"]
    if asked.design == "h":
        said.append("design h covers .80 to .94 in place of .95 under heteroskedasticity: --design u does not need it.")
    if row["clamped"] is not None and asked.clamping == "count":
        share, least = row["clamped_high"] / n, row["clamped_low"] / n
        if least > CLAMPED:
            said.append(
                f"{least:.1%} to {share:.1%} of the records are clamped: the coefficient is off by about as much of "
                "itself, and a narrow set misses it. Take wider ranges, or --clamping aware."
            )
        elif share > CLAMPED:
            said.append(
                f"up to {share:.1%} of the records may be clamped: at this budget their number is known to "
                f"{(row['clamped_high'] - row['clamped_low']) / 2:.3g} only. With natural ranges: --clamping natural."
            )
    if row["first_stage_F"] < WEAK and row["shape"] != "line":
        said.append(
            f"weak instruments or much noise: the private first stage is F = {row['first_stage_F']:.3g}. The set is "
            "valid all the same; the point estimate is not to be trusted."
        )
    if asked.assumed:
        said.append(f"{_listed(asked.assumed)} taken as 0 to 1: another range costs length, not coverage (--bounds).")
    if row.get("cells") and row["cells"]["dropped"]:
        said.append(
            f"{row['cells']['dropped']} of {row['cells']['all']} cells of controls were too small and are left out."
        )
    return said


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names)} {'is' if len(names) == 1 else 'are'}"
