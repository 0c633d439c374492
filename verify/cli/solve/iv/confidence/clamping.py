"""The set that allows for clamped records, from their released number: where `bias_aware` does not reject."""

from __future__ import annotations

import math

import numpy as np

from dpbounds.iv.confidence import bias_aware, point_estimate
from dpbounds.iv.confidence.pieces import ConfidenceSet, Piece, shape_of
from dpbounds.values import Value
from verify.cli.solve.iv.confidence.asked import Asked
from verify.cli.solve.iv.confidence.releasing import Released

# Directions looked at, and halvings of the interval that holds an end.
LOOKS, HALVINGS = 720, 50


def widened(asked: Asked, released: Released) -> ConfidenceSet:
    """Coefficients less what was taken off before the release; read along angles, so that infinity is a place."""
    release = released.release
    scale = release.outcome_weight / float(release.regressor_weights[0])
    clamped = released.clamped
    assert clamped is not None

    def accepted(angle: float) -> bool:
        coefficient = scale * math.tan(angle)
        found = bias_aware(release, coefficient, clamped=clamped, count_scale=released.clamped_scale, level=asked.level)
        return found.statistic <= found.critical

    half = math.pi / 2 * (1 - 1e-9)
    best = math.atan(point_estimate(release) / scale)
    angles = np.unique(np.append(np.linspace(-half, half, LOOKS), np.clip(best, -half, half)))
    inside = [accepted(float(angle)) for angle in angles]
    pieces: list[Piece] = []
    start = -math.inf if inside[0] else None
    for left, right, before, after in zip(angles, angles[1:], inside, inside[1:], strict=False):
        if before == after:
            continue
        low, high = float(left), float(right)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if accepted(middle) == before else (low, middle)
        end = scale * math.tan(high if before else low)
        if after:
            start = end
        else:
            assert start is not None
            pieces.append(_piece(start, end))
            start = None
    if start is not None:
        pieces.append(_piece(start, math.inf))
    coverage = Value(asked.level, kind="asymptotic", source="dpbounds", convention="coverage")
    return ConfidenceSet(pieces=tuple(pieces), shape=shape_of(pieces), coverage=coverage)


def _piece(low: float, high: float) -> Piece:
    return Value(low, kind="estimate", source="dpbounds"), Value(high, kind="estimate", source="dpbounds")
