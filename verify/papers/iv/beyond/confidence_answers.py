"""Beyond the paper: what is read off a private release, in the columns' units, and a set that knows of clamping."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from scipy.special import ndtr

from dpbounds.iv.confidence import (
    ConfidenceAnswer,
    ConfidenceSet,
    MomentRelease,
    PrivacyBudget,
    ReleasePlan,
    SignRelease,
    bias_aware,
    clamping_aware_set,
    confidence_set,
    sign_critical,
)
from dpbounds.iv.confidence.answers import StatisticCurve
from dpbounds.iv.confidence.clamping import ClampedCount
from simulators.iv.confidence.disclosing import private_answer
from simulators.iv.confidence.records import bounded_records
from verify.checks import Agreement, Fact, Holds, Times, Within
from verify.papers.iv.tools.confidence_data import Extract, textbook_ends
from verify.statements.claims import Claim

# --- from columns to the answer ---

N, EFFECT = 2_000, -6.0
RANGES = {"y": (0.0, 60.0), "x": (0.0, 4.0)}


@cache
def _extract() -> Extract:
    """One 0/1 instrument, a confounded regressor and outcome inside their ranges, three cells."""
    rng = np.random.default_rng(0)
    z, cells, u = rng.integers(0, 2, N).astype(float), rng.integers(0, 3, N), rng.uniform(-1, 1, N)
    x = 1.5 + 1.2 * z + 0.2 * cells + 0.6 * u
    y = 45 + EFFECT * x + 6 * u + cells + rng.uniform(-3, 3, N)
    return Extract(z=z, x=x, y=y, cells=cells, x_range=RANGES["x"], y_range=RANGES["y"])


def _plan(mu: float, **others: Any) -> ReleasePlan:
    plan = ReleasePlan(
        outcome="y",
        regressors=("x",),
        instruments=("z",),
        bounds=RANGES,
        budget=PrivacyBudget(mu=mu),
        clamping="natural",
        public=True,
    )
    return replace(plan, **others)


def _answer(data: Extract, plan: ReleasePlan) -> ConfidenceAnswer:
    return private_answer(plan, data.columns)


def _without_centring(data: Extract, mean: float) -> tuple[float, float]:
    """Ends where (sum g)² = c sum g², g = (z - mean)(y - 30 - beta (x - 2))."""
    z, x, y = data.z - mean, data.x - 2.0, data.y - 30.0
    a, b, c = (float(np.sum(z * z * one * other)) for one, other in ((x, x), (x, y), (y, y)))
    g, h, critical = float(z @ y), float(z @ x), 3.841458820694124
    roots = np.roots([h * h - critical * a, -2 * (g * h - critical * b), g * g - critical * c])
    return float(roots.min()), float(roots.max())


def _journey_facts(rng: np.random.Generator) -> Iterator[Fact | Within | Holds]:
    """Ends in the columns' units: without noise by a quadratic equation, with hardly any noise nearly the same."""
    data = _extract()
    held = bounded_records(_plan(1.0), data.columns)
    units = [held.instruments[:, 0], held.regressors[:, 0], held.outcome]
    yield Fact("records in units of their ranges", units, [2 * data.z - 1, data.x - 2, data.y - 30], 1e-12)
    ten = {name: column[:10] for name, column in data.columns.items()}
    yield Fact("ten records are enough", bounded_records(_plan(1.0), ten).n, 10, 1e-12)
    cases = {
        "means in cells": (_plan(1e3, controls=("cell",)), textbook_ends(data)),
        "one mean": (_plan(1e3), textbook_ends(replace(data, cells=np.zeros(N, dtype=int)))),
        "public mean": (_plan(1e3, instrument_means={"z": 0.4}), _without_centring(data, 0.4)),
    }
    for name, (plan, ends) in cases.items():
        answer = _answer(data, plan)
        bare = answer.without_noise
        assert bare is not None
        width = ends[1] - ends[0]
        yield Fact(f"{name}: without noise", bare.confidence_set.pieces[0], ends, 1e-8)
        yield Fact(f"{name}: with hardly any", answer.confidence_set.pieces[0], ends, 0.02 * width)
        yield Fact(f"{name}: point estimates", answer.point, bare.point, 0.02 * width)
        yield Fact(
            f"{name}: length measured", (answer.measured_ratio or 0.0) * width, answer.confidence_set.length, 1e-8
        )
        curve, low, high = answer.curve(), *map(float, answer.confidence_set.pieces[0])
        margin = 0.75 * (high - low)
        around = np.linspace(low - margin, high + margin, 300)
        yield Fact(f"{name}: where the curve is drawn", curve.coefficients, around, 1e-9)
        inside = (curve.coefficients >= low) & (curve.coefficients <= high)
        accepted = curve.statistic <= curve.critical
        yield Holds(f"{name}: the curve is accepted on the set", bool((inside == accepted).all()))
        far = float(np.max(curve.near().statistic / curve.near().critical))
        yield Within(f"{name}: farthest of the curve that is near, over its critical value", far, 1.0, 4.0)
    points = np.linspace(-10.0, 10.0, 201)
    bowl = StatisticCurve(points, 100 + points**2, np.ones(201)).near()  # at most 150
    yield Fact("ends of what is near where all is far", bowl.coefficients[[0, -1]], [-7.0, 7.0], 1e-9)


def _sign_facts(rng: np.random.Generator) -> Iterator[Fact]:
    """Design s: the curve at every coefficient by a loop over records, and the set without noise around the effect."""
    data = _extract()
    plan = _plan(5.0, instrument_means={"z": 0.5}, design="s", grid=(-12.0, 0.0, 401))
    answer = _answer(data, plan)
    exact, near = answer.curve(noisy=False), answer.curve()
    grid = np.linspace(-12.0, 0.0, 401)
    signs = np.where(data.y - 30.0 - grid[:, None] * (data.x - 2.0) >= 0, 1.0, -1.0)
    yield Fact("design s: curve without noise", exact.statistic, np.abs(signs @ (data.z - 0.5)), 1e-9)
    accepted = near.statistic <= near.critical
    held = [point in answer.confidence_set for point in grid[accepted]]
    yield Fact("design s: accepted points that are in the set", sum(held), int(accepted.sum()), 1e-12)
    for release, deviation in (
        (answer.disclosure.release, answer.disclosure.budget[0].noise_sd),
        (answer.disclosure.exact, 1e-3 * math.sqrt(N)),
    ):
        assert isinstance(release, SignRelease)
        stated = sign_critical(N, deviation, 0.5, 0.95)
        yield Fact(f"design s: critical value, noise {deviation:.3g}", release.critical(), stated, 1e-9)
    ratio = math.sqrt(1 + answer.disclosure.budget[0].noise_sd ** 2 / (N / 4))
    yield Fact("design s: price", answer.price.ratio, ratio, 1e-9)


def _reading_facts(rng: np.random.Generator) -> Iterator[Fact | Within]:
    """One release read in every way that a plan may want; what allows for more gives a longer set."""
    data = _extract()
    plan = _plan(0.5, instrument_means={"z": 0.5}, clamping="count", bounds={"y": (24.0, 46.0), "x": RANGES["x"]})
    plain = _answer(data, plan)
    release, clamped = plain.disclosure.release, plain.disclosure.clamped
    assert isinstance(release, MomentRelease) and clamped is not None
    ways: dict[str, tuple[dict[str, Any], ConfidenceSet]] = {
        "as it is": ({}, confidence_set(release)),
        "another level": ({"level": 0.99}, confidence_set(release, 0.99)),
        "honest": ({"honest": True}, confidence_set(release, honest=True)),
        "certified": ({"certify": True}, confidence_set(release, certify=True)),
        "aware of clamping": ({"clamping": "aware"}, clamping_aware_set(release, clamped)),
    }
    lengths = {}
    for name, (way, expected) in ways.items():
        found = _answer(data, replace(plan, **way)).confidence_set
        lengths[name] = found.length
        yield Fact(f"{name}: ends", found.pieces[0], expected.pieces[0], 1e-12)
    for name in ("another level", "honest", "aware of clamping"):
        yield Within(f"{name}: length over that as it is", lengths[name] / lengths["as it is"], least=1.05)


JOURNEY = Claim(
    id="iv/beyond-confidence-answer",
    where="beyond the paper",
    kind="algorithm",
    statement=(
        (
            "From columns to the answer, in the units of the columns: without noise it is the set of the textbook's "
            "Anderson-Rubin test, of variables centred within cells or around public constants, and with hardly any "
            "noise nearly that, read at the level and in the way that the plan wants;"
        ),
        "the sign curve is that of the records.",
    ),
    setting="2000 records of confounded variables, one 0/1 instrument, three cells.",
    checks=(
        Agreement(decides="a", facts=_journey_facts, impostors={"1 % off": {"facts": Times(1.01)}}),
        Agreement(decides="a", facts=_reading_facts, impostors={"1 % off": {"facts": Times(1.01)}}),
        Agreement(decides="b", facts=_sign_facts, impostors={"1 % off": {"facts": Times(1.01)}}),
    ),
)

# --- a set that knows of clamping ---


def _release(first: tuple[float, float]) -> MomentRelease:
    return MomentRelease(
        first=np.array(first),
        second=np.array([[40.0, 8.0], [8.0, 30.0]]),
        first_scale=2.0,
        second_scale=3.0,
        outcome_weight=1.5,
        regressor_weights=np.full(1, 0.5),
        n=900,
        adjacency="replace-one",
    )


SHAPES = {
    "interval": (60.0, 50.0),
    "complement": (40.0, 8.0),
    "line": (3.0, 1.0),
    # Far shorter than what lies between two angles that are looked at, with nothing clamped.
    "short interval": (60_000.0, 47_000.0),
}


def _aware_facts(rng: np.random.Generator) -> Iterator[Fact | Within | Holds]:
    """The test one coefficient at a time: at the ends it is critical, between them it accepts, beyond it rejects."""
    some, none = (ClampedCount(count=count, scale=count / 3, n=900) for count in (9.0, 0.0))
    for shape, first in SHAPES.items():
        release, clamped = _release(first), none if shape.startswith("short") else some
        found = clamping_aware_set(release, clamped)

        def margin(coefficient: float, release: MomentRelease = release, clamped: ClampedCount = clamped) -> float:
            test = bias_aware(release, coefficient, clamped=clamped.count, count_scale=clamped.scale)
            return test.statistic / test.critical

        yield Holds(f"shape of the {shape}", found.shape == shape.removeprefix("short "))
        ends = [float(end) for piece in found.pieces for end in piece if math.isfinite(end)]
        if ends:
            yield Fact(f"{shape}: critical at its ends", [margin(end) for end in ends], [1.0] * len(ends), 1e-6)
        units = replace(release, outcome_weight=1.5e4, regressor_weights=np.full(1, 0.5e-4))
        moved = 1e-8 * np.array(clamping_aware_set(units, clamped).pieces, dtype=float)
        yield Fact(f"{shape}: in other units", np.arctan(moved), np.arctan(np.array(found.pieces, dtype=float)), 1e-6)
        points = [
            *np.tan(rng.uniform(-1.5, 1.5, 60)).tolist(),
            *(end * factor for end in ends for factor in (0.99, 1.01)),
            *([sum(ends) / 2] if found.shape == "interval" else []),
        ]
        inside = [margin(point) for point in points if point in found]
        outside = [margin(point) for point in points if point not in found]
        yield Within(f"{shape}: largest statistic over critical inside", max(inside), most=1 + 1e-9)
        if outside:
            yield Within(f"{shape}: least statistic over critical outside", min(outside), least=1 - 1e-9)


def _count_facts(rng: np.random.Generator) -> Iterator[Fact]:
    """The one-sided bounds are those that the noise leaves once in a hundred; they stay between 0 and n."""
    found = ClampedCount(count=50.0, scale=4.0, n=1_000)
    levels = [float(ndtr((end - 50.0) / 4.0)) for end in (found.least, found.most)]
    yield Fact("levels of the bounds", levels, [0.01, 0.99], 1e-9)
    yield Fact("shares", [found.least_share, found.largest_share], [found.least / 1_000, found.most / 1_000], 1e-12)
    yield Fact("half the width", found.half_width, (found.most - found.least) / 2, 1e-12)
    few, many = ClampedCount(count=-5.0, scale=1.0, n=20), ClampedCount(count=25.0, scale=1.0, n=20)
    yield Fact("within the records", [few.least, few.most, many.least, many.most], [0.0, 0.0, 20.0, 20.0], 1e-12)


AWARE = Claim(
    id="iv/beyond-confidence-aware-set",
    where="beyond the paper",
    kind="algorithm",
    statement=(
        (
            "The set that knows of clamping is where the test that allows for its bias does not reject: an interval, "
            "the complement of one, or the line;"
        ),
        "it takes 99 % bounds on the number of clamped records from its noisy count.",
    ),
    checks=(
        Agreement(decides="a", facts=_aware_facts, impostors={"1e-4 off": {"facts": Times(1.0001)}}),
        Agreement(decides="b", facts=_count_facts, impostors={"1 % off": {"facts": Times(1.01)}}),
    ),
)
