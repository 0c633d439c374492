"""Where to cut a box so that the checker decides every part: found with the checker's own arithmetic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from verify.proof_checker import Box, Inequality, Refused, cut

# Parts of a box after which it is given up, and sides over their lower end that are cut before slopes say where.
MOST_PARTS, WIDE = 20_000, 4
# Cuts one inside the other: the parts are then as narrow as floats are, and further cuts hopeless.
DEEPEST = 64


class Resists(Exception):
    """No cuts were found."""


def cuts(inequality: Inequality, box: Box, scales: Sequence[str], most: int = MOST_PARTS) -> str:
    """The cuts in the checker's notation; `Resists` names a part that is not decided."""
    found: list[str] = []
    pending = [(box, 0)]
    while pending:
        part, depth = pending.pop()
        way = _way(inequality, part)
        if way:
            found.append(way)
            continue
        if len(found) + len(pending) > 2 * most or depth > DEEPEST:
            raise Resists(f"no cuts decide {_named(part, inequality)}")
        axis = _axis(inequality, part, scales)
        found.append(str(axis))
        low, high = cut(part, axis, scales[axis])
        pending += [(high, depth + 1), (low, depth + 1)]
    return "".join(found)


def _way(inequality: Inequality, part: Box) -> str:
    """How the part is decided, "" for not at all."""
    for way in "vdz":
        try:
            if inequality.decided(part, way):
                return way
        except Refused:
            continue
    return ""


def _axis(inequality: Inequality, part: Box, scales: Sequence[str]) -> int:
    """The side that a cut helps most: the longest on its scale, then the one on which the difference depends most."""
    lengths = [_length(low, high, scale) for (low, high), scale in zip(part, scales, strict=True)]
    longest = max(range(len(part)), key=lengths.__getitem__)
    if len(part) == 1 or lengths[longest] > math.log2(WIDE):
        return longest
    try:
        values = inequality.program.values(inequality.m, inequality.enclosed(part), inequality.constants)
        slopes = inequality.program.slopes(inequality.m, values, inequality.larger, inequality.smaller)
    except Refused:
        return longest
    return max(range(len(part)), key=lambda k: _reach(slopes[k], part[k]))


def _reach(slope: tuple[tuple[int, int], tuple[int, int]], side: tuple[Fraction, Fraction]) -> float:
    """log2 of slope times length, -inf for 0."""
    width = side[1] - side[0]
    size = max(
        m.bit_length() + e + math.log2((abs(m) / (1 << abs(m).bit_length())) or 1) if m else -math.inf for m, e in slope
    )
    return size + (_log2(width) if width else -math.inf)


def _log2(x: Fraction) -> float:
    return math.log2(x.numerator) - math.log2(x.denominator)


def _length(low: Fraction, high: Fraction, scale: str) -> float:
    if low == high:
        return 0.0
    if scale == "log" and low > 0:
        return _log2(high) - _log2(low)
    return float(high - low)


def _named(part: Box, inequality: Inequality) -> str:
    names = inequality.program.variables
    return ", ".join(f"{n} in [{float(a):.6g}, {float(b):.6g}]" for n, (a, b) in zip(names, part, strict=True))
