"""An audit on one page: claim, verdict, curve claimed against curve found, witness, what was assumed.

Drawn from a result dictionary: the row that `dpbounds audit --json` prints, with `curves` and `witness` beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import shorten
from typing import Any

import typst

from reports.render import compile_file, dumps
from reports.results import Picture, ReportError, Series
from reports.standalone import drawn
from reports.text import number, one_line, typographic

TEMPLATE = "audit.typ"
# Lines of each list and characters of a line, so that all of it fits one page; inches of the picture.
MOST, LONGEST, WIDTH = 6, 150, 4.2
# Below this a curve is not drawn.
SMALLEST = 1e-12
MEANINGS = {
    "refuted": "the witness below shows more than was claimed",
    "law differs": "the noise is not as declared; the claim is not thereby refuted",
    "consistent": "nothing was found against it, at this resolution and coverage",
    "proved": "by the coefficients alone, rounding counted",
    "unclear": "what was seen does not decide",
}


def page(result: Mapping[str, Any]) -> bytes:
    """The PDF. Raises `ReportError` for a dictionary that is no result of an audit."""
    try:
        content = _content(result)
        return compile_file(TEMPLATE, {"audit": dumps(content)})
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, typst.TypstError) as error:
        raise ReportError(f"this result of an audit cannot be drawn ({one_line(str(error))})") from None


def _content(result: Mapping[str, Any]) -> dict[str, Any]:
    (name,) = {"epsilon", "rho", "mu"} & set(result["claim"])
    low, high = result["epsilon"]
    numbers = [
        ["claimed", f"{typographic(name)} = {number(result['claim'][name])}"],
        ["found", f"{number(low)} to {number(high)}"],
        [
            "noise over the least that keeps the claim",
            "not known" if result["slack"] is None else number(result["slack"]),
        ],
        ["neighbours", _line(result["coverage"]["words"])],
    ]
    others = {"needs": "needs", "support": "outputs", "printed": "it printed"}
    numbers += [[words, _line(result[name])] for name, words in others.items() if result[name]]
    return {
        "verdict": result["verdict"],
        "meaning": MEANINGS[result["verdict"]],
        "claim": f"{one_line(result['promise'])}, {one_line(result['adjacency'])} adjacency, per release",
        "numbers": numbers,
        "assumed": _lines(result["assumed"]),
        "findings": _lines(result["findings"]),
        "steps": [
            [_line(s["step"]), _line(s["found"]), str(s["calls"]), f"{s['seconds']:.2f}"] for s in result["steps"]
        ],
        "witness": _witness(result["witness"]),
        "picture": _picture(result["curves"]),
    }


def _picture(curves: Mapping[str, Any]) -> str:
    series = [_series("claimed", "exact", curves["epsilon"], curves["claimed"])]
    if curves["found"]:
        series += [
            _series("found", role, curves["epsilon"], values)
            for role, values in zip(("lower", "upper"), curves["found"], strict=True)
        ]
    picture = Picture(x="epsilon", y="delta", log=("y",), series=tuple(series))
    return drawn(picture, WIDTH, "svg").decode()


def _series(curve: str, role: str, x: list[float], y: list[float]) -> Series:
    kept = [(one, other) for one, other in zip(x, y, strict=True) if other >= SMALLEST]
    return Series(curve=curve, role=role, x=tuple(one for one, _ in kept), y=tuple(other for _, other in kept))


def _witness(witness: Mapping[str, Any] | None) -> list[list[str]]:
    """Its numbers, as far as they are single ones, and the pair in words."""
    if witness is None:
        return []
    pair = witness.get("pair", {}).get("label")
    rows = [["kind", _line(witness["kind"])], *([["pair", _line(pair)]] if pair else [])]
    single = {key: value for key, value in witness.items() if type(value) in (int, float)}
    return [*rows, *([_line(key), number(value)] for key, value in list(single.items())[:MOST])]


def _lines(items: list[str]) -> list[str]:
    more = len(items) - MOST
    return [_line(item) for item in items[:MOST]] + ([f"and {more} more"] if more > 0 else [])


def _line(text: str) -> str:
    return shorten(typographic(one_line(str(text))), LONGEST, placeholder=" …")
