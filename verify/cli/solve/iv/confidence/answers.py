"""What follows from a release alone: set, point, first stage, and what the set would cost without privacy."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from dpbounds import DomainError
from dpbounds.iv.confidence import confidence_set, first_stage, point_estimate
from dpbounds.iv.confidence.pieces import ConfidenceSet
from dpbounds.iv.confidence.release import Release
from dpbounds.privacy import gaussian_epsilon
from verify.cli.solve.iv.confidence.asked import Asked
from verify.cli.solve.iv.confidence.records import Records
from verify.cli.solve.iv.confidence.releasing import Released

Row = dict[str, Any]
# Two standard deviations of noise: what hides under it is not told apart from nothing.
HIDDEN = 2.0
# Of the one-sided bounds on the number of clamped records: 99 %.
QUANTILE_99 = 2.3263478740408408


class Price(NamedTuple):
    """Length of the set over that without privacy, predicted at the point estimate; `least` where noise hides it."""

    ratio: float
    least: bool


def answer(asked: Asked, records: Records, released: Released) -> Row:
    """The row that is printed. Everything in it but `public` is computed from the release and from public constants."""
    found = private_set(asked, released)
    row = common(asked, records.n) | set_columns(found) | _first_stage(asked, released)
    row["certified"] = asked.certify  # up to the rounding of the one sum that shifts it
    row["point"] = point_estimate(released.release) + released.shift
    price = price_of(released.release, row["point"] - released.shift)
    row |= {"length_ratio": price.ratio, "ratio_is_least": price.least, "n_star": records.n * (price.ratio**2 - 1)}
    row |= clamped_columns(released, records.n)
    row |= {"dropped": records.dropped, "cells": released.cells or None, "budget": released.spent}
    row["release"] = release_columns(released)
    if released.exact is not None:
        row["public"] = _public(asked, records, released)
    return row


def private_set(asked: Asked, released: Released) -> ConfidenceSet:
    """In the file's units."""
    if asked.clamping == "aware":
        from verify.cli.solve.iv.confidence.clamping import widened

        found = widened(asked, released)
    else:
        found = confidence_set(released.release, asked.level, certify=asked.certify, honest=asked.honest)
    return found.shifted(released.shift) if released.shift else found


def common(asked: Asked, n: int) -> Row:
    """The question."""
    return {
        "design": asked.design,
        "n": n,
        "q": len(asked.instruments),
        "p": len(asked.regressors),
        "mu": asked.mu,
        "epsilon": asked.epsilon if asked.epsilon is not None else float(gaussian_epsilon(asked.mu, asked.delta)),
        "delta": asked.delta,
        "adjacency": asked.adjacency,
        "level": asked.level,
        "private": asked.private,
        "seed": asked.seed,
        "noise": asked.noise,
    }


def set_columns(found: ConfidenceSet) -> Row:
    """Ends as plain numbers."""
    return {
        "shape": found.shape,
        "pieces": [[float(low), float(high)] for low, high in found.pieces],
        "length": float(found.length),
        "coverage": found.coverage.kind,
        "certified": found.certified,
    }


def price_of(release: Release, coefficient: float) -> Price:
    """sqrt(tr V / tr V0), V0 the released variance of the moments less what the noise of privacy adds to it."""
    if not math.isfinite(coefficient):
        return Price(1.0, True)
    b = np.array([1.0, -coefficient * float(release.regressor_weights[0]) / release.outcome_weight])
    length = float(b @ b)
    blocks = release.signal.reshape(2, release.q, 2, release.q)
    own = float(np.einsum("i,iaja,j->", b, blocks, b)) / release.q
    noise, hidden = release.mean_scale**2 * length, HIDDEN * release.variance_scale * length / math.sqrt(release.q)
    if own <= hidden:
        return Price(math.sqrt(1 + noise / (own + hidden)), True)
    return Price(math.sqrt(1 + noise / own), False)


def _first_stage(asked: Asked, released: Released) -> Row:
    found = first_stage(released.release, level=asked.level)
    return {"first_stage_F": found.f, "first_stage_F_needed": found.critical / released.release.q}


def clamped_columns(released: Released, n: int) -> Row:
    """The released number of clamped records and its 99 % bounds."""
    if released.clamped is None:
        return {"clamped": None}
    reach = QUANTILE_99 * released.clamped_scale
    low, high = (min(max(released.clamped + side * reach, 0.0), float(n)) for side in (-1, 1))
    return {"clamped": released.clamped, "clamped_low": low, "clamped_high": high}


def release_columns(released: Released) -> Row:
    """The release itself: whoever has it tests other coefficients, at other levels, without spending more."""
    release = released.release
    parts = {name: value for name, value in vars(release).items() if name in type(release).__dataclass_fields__}
    plain = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in parts.items()}
    return plain | {"kind": type(release).__name__, "shift": released.shift}


def _public(asked: Asked, records: Records, released: Released) -> Row:
    """The same set without noise, of the same bounded records: for public data alone."""
    assert released.exact is not None and asked.public
    try:
        found = confidence_set(released.exact, asked.level, correct=False)
        strength, point = first_stage(released.exact, level=asked.level, correct=False), point_estimate(released.exact)
    except DomainError as error:
        raise DomainError(error.parameter, error.value, error.allowed, f"{error.remedy} (without noise)") from None
    found = found.shifted(released.shift) if released.shift else found
    row = set_columns(found) | {"point": point + released.shift, "first_stage_F": strength.f}
    return row | {"clamped": records.clamped}


def remedy_for_line(asked: Asked, released: Released) -> Row:
    """What would make a set bounded in about half of all releases: a budget at this n, or records at this budget.

    From the private first stage: its statistic less q is the signal, of which more budget or more records make more.
    None where the signal is hidden, or where no budget is enough.
    """
    release = released.release
    found = first_stage(release, level=asked.level)
    signal, needed = found.statistic - release.q, found.critical - release.q
    if signal <= 0:
        return {"mu": None, "epsilon": None, "n": None}
    q = release.q
    own, noise = float(np.trace(release.signal[q:, q:])) / q, release.mean_scale**2
    # At budget t mu the signal is (own + noise) / (own + noise / t²) times as large, at k n records
    # k² (own + noise) / (k own + noise) times.
    inside = signal * (own + noise) / needed - own
    factor = math.sqrt(noise / inside) if inside > 0 else None
    a, b, c = signal * (own + noise), -needed * own, -needed * noise
    records = (-b + math.sqrt(b * b - 4 * a * c)) / (2 * a)
    mu = None if factor is None else asked.mu * factor
    epsilon = None if mu is None or mu > 1e3 else float(gaussian_epsilon(mu, asked.delta))
    return {"mu": mu, "epsilon": epsilon, "n": math.ceil(records * release.n)}
