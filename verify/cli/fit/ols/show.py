"""What `dpbounds fit ols` prints: coefficients, what they cost, and what error to expect."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

from verify.cli.console import print_table

WIDTH = 119
NEIGHBOURS = {
    "zero-out": "of which one record contributes nothing",
    "replace-one": "of which one record is another one",
}


def show(content: Mapping[str, Any]) -> None:
    """The coefficients, and sentences on privacy and accuracy."""
    rows = [
        {"column": name, "coefficient": slope, "range": f"{low:g} to {high:g}"}
        for name, slope, (low, high) in zip(content["columns"], content["coefficients"], content["ranges"], strict=True)
    ]
    low, high = content["outcome_range"]
    constant = "intercept" if content["fit_intercept"] else "constant, by the middles of the ranges"
    rows.append({"column": constant, "coefficient": content["intercept"], "range": f"outcome {low:g} to {high:g}"})
    if content["noise_intervals"] is not None:
        for row, (low, high) in zip(rows, content["noise_intervals"], strict=True):
            row["without noise"] = f"{low:.4g} to {high:.4g}"
    print_table(rows, list(rows[0]))
    print()
    for sentence in (_privacy(content), _noise(content), _forecast(content), _interval(content)):
        print(textwrap.fill(sentence, WIDTH, break_long_words=False, break_on_hyphens=False))


def _privacy(content: Mapping[str, Any]) -> str:
    if not content["private"]:
        return f"NOT PRIVATE: the noise comes from the seed {content['seed']} and can be drawn again."
    return (
        f"All that is printed and saved is ({content['epsilon']:g}, {content['delta']:g})-DP together, mu = "
        f"{content['mu']:.4g}, for data sets of n = {content['records']} records {NEIGHBOURS[content['adjacency']]}; "
        "n, ranges and names of columns are public. The budget is spent: another fit of these records costs as much "
        "again."
    )


def _noise(content: Mapping[str, Any]) -> str:
    if content["noise"] == "opendp":
        return "Noise: OpenDP's, sums of records correctly rounded, without the holes of floats."
    return "Noise: NumPy's floats, with known holes for who sees every bit; pip install 'dpbounds[opendp]' has none."


def _forecast(content: Mapping[str, Any]) -> str:
    lines = []
    if content["expected_excess_stand_in"] is not None:
        lines.append(
            "Expected mean squared distance of predictions from those of least squares without privacy, by the law of "
            f"the method on others of the law of the records that stand in: {content['expected_excess_stand_in']:.3g}."
        )
    if content["expected_excess"] is not None:
        name = (
            "From the release alone"
            if lines
            else (
                "Expected mean squared distance of predictions from those of least squares without privacy, from the "
                "release alone"
            )
        )
        lines.append(f"{name}: about {content['expected_excess']:.3g} (an estimate).")
    else:
        lines.append("The release alone forecasts nothing: it is all noise.")
    if not content["resolved"]:
        lines.append(
            "A forecast of the release is too low here: the noise hides some directions of the columns, along which "
            "coefficients mean little. Narrower ranges, fewer columns, more records or a larger epsilon would help; "
            "columns in raw units far inside their ranges are what most often ruins a run."
        )
    return " ".join(lines)


def _interval(content: Mapping[str, Any]) -> str:
    if content["noise_intervals"] is None:
        return f"Of what the noise alone does to coefficients: {content['noise_intervals_missing']}."
    return (
        "Without noise: where each coefficient would lie with the same clipping and no privacy, at level "
        f"{content['noise_level']:g} over the noise alone; clipping's own bias and the chance of the records are not "
        "counted."
    )
