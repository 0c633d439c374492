"""Design S on the command line: the noisy sign curve of a randomised 0/1 instrument, and the set read off it."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np

from dpbounds import DomainError
from dpbounds.iv.confidence import sign_critical, sign_set
from dpbounds.iv.confidence.pieces import ConfidenceSet
from reports.results import Picture, Series
from simulators.iv.confidence.signs import SignDesign, step_curves
from simulators.iv.confidence.sources import GaussianSource
from verify.cli.console import print_json
from verify.cli.solve.files import write
from verify.cli.solve.iv.confidence import answers, show
from verify.cli.solve.iv.confidence.asked import Asked
from verify.cli.solve.iv.confidence.records import Records
from verify.cli.solve.iv.confidence.releasing import clamped_count, line, sample_of
from verify.cli.solve.iv.confidence.solving import finish
from verify.cli.solve.iv.text import note, table
from verify.cli.solve.pictures import drawn

Row = dict[str, Any]
SETS = ("set", "shape", "low", "high", "point")


def run(arguments: Namespace, asked: Asked, records: Records, noise: GaussianSource) -> int:
    """The curve is released; all else follows from it."""
    mu, spent, _, _ = clamped_count(asked, records, noise)
    design = _design(asked, mu)
    exact = design.curves(sample_of(records))[0]
    curve = exact + step_curves(design, noise.generator, 1)[0]
    row = answers.common(asked, records.n) | answers.set_columns(_set(asked, design, curve, records.n))
    row |= _columns(asked, design, curve, records.n)
    row["budget"] = [line("sign curve", design.size, mu * design.height, mu, design.deviation), *spent]
    row |= {"clamped": None, "dropped": records.dropped, "release": {"grid": asked.grid, "curve": curve.tolist()}}
    if asked.public:
        row["public"] = _public(asked, design, exact, records.n)
    try:
        if arguments.plot is not None:
            shown = _picture(asked, design, curve, exact if asked.public else None, records.n)
            write("plot", arguments.plot, drawn(shown, Path(arguments.plot).suffix.lower()))
        finish(arguments, [row])
    finally:  # a full disk does not cost the budget that was spent
        print_json([row]) if arguments.json else _show(asked, records, row)
    return 0


def _design(asked: Asked, mu: float) -> SignDesign:
    """Columns are less the middle of their ranges where these are given, else less 0."""
    assert asked.grid is not None and asked.means is not None
    low, high, size = asked.grid
    return SignDesign(mu=mu, low=low, high=high, size=size, pi=asked.means[0], adjacency=asked.adjacency)


def _set(asked: Asked, design: SignDesign, curve: np.ndarray, n: int) -> ConfidenceSet:
    try:
        return sign_set(curve, design.grid, n=n, deviation=design.deviation, probability=design.pi, level=asked.level)
    except DomainError as error:
        if error.parameter != "grid":
            raise
        said = f"{error.remedy}. The budget of this release is spent"
        raise DomainError(error.parameter, error.value, error.allowed, said) from None


def _columns(asked: Asked, design: SignDesign, curve: np.ndarray, n: int) -> Row:
    """The price is known beforehand: variances add."""
    own = n * design.pi * (1 - design.pi)
    equivalent = design.deviation**2 / (design.pi * (1 - design.pi))
    point = float(design.grid[int(np.argmin(np.abs(curve)))])
    ratio = float(np.sqrt(1 + design.deviation**2 / own))
    return {"point": point, "length_ratio": ratio, "ratio_is_least": False, "n_star": equivalent}


def _public(asked: Asked, design: SignDesign, exact: np.ndarray, n: int) -> Row:
    """The same curve without noise; the law of its steps is smoothed by a thousandth of a record's."""
    found = sign_set(
        exact,
        design.grid,
        n=n,
        deviation=1e-3 * np.sqrt(n),
        probability=design.pi,
        level=asked.level,
        refuse_coarse=False,
    )
    return answers.set_columns(found) | {"point": float(design.grid[int(np.argmin(np.abs(exact)))])}


def _show(asked: Asked, records: Records, row: Row) -> None:
    note(show.status(asked, row))
    about = f" {records.dropped} records with a missing value are left out." if records.dropped else ""
    middles = ", ".join(
        f"{name} less {asked.boxes[name].centre if name in asked.boxes else 0:g}"
        for name in (asked.outcome, asked.regressors[0])
    )
    note(
        f"n = {records.n}, instrument {asked.instruments[0]}.{about} Signs of {middles}: public constants, the middles "
        "of --bounds where given, which need not hold; near the medians the set is shortest."
    )
    low, high, size = asked.grid or (0.0, 0.0, 0)
    table(f"Coefficient of {asked.regressors[0]} in {asked.outcome}, level {asked.level:g}", show.set_rows(row), SETS)
    note(show.meaning(row))
    if row["shape"] == "line":
        note(f"Why: no coefficient of the grid, {low:g} to {high:g}, is rejected. More epsilon or n, or a wider grid.")
    note(
        f"Price of privacy, known beforehand: the curve's standard deviation is {row['length_ratio']:.3g} times that "
        f"without noise, as sqrt(1 + n*/n) with n* = {row['n_star']:.4g} records."
    )
    table("Budget", row["budget"], show.BUDGET)
    note(
        f"Assumed: records are independent; {asked.instruments[0]} is 1 with chance "
        f"{asked.means[0] if asked.means else 0:g}, drawn independently of everything else, and reaches the outcome "
        f"through the regressor alone; one effect for all. The level is that of the {size} coefficients of the grid; "
        "between them it needs cells of at most a quarter of the set."
    )


def _picture(asked: Asked, design: SignDesign, curve: np.ndarray, exact: np.ndarray | None, n: int) -> Picture:
    """|D| along the grid, and what it is compared with."""
    grid = tuple(map(float, design.grid))
    critical = sign_critical(n, design.deviation, design.pi, asked.level)
    series = [
        Series(curve="private", role="exact", x=grid, y=tuple(map(float, np.abs(curve)))),
        Series(curve=f"critical value, level {asked.level:g}", role="exact", x=grid, y=(critical,) * len(grid)),
    ]
    if exact is not None:
        series.append(Series(curve="without privacy", role="exact", x=grid, y=tuple(map(float, np.abs(exact)))))
    return Picture(x=f"coefficient of {asked.regressors[0]}", y="size of the sign curve", log=(), series=tuple(series))
