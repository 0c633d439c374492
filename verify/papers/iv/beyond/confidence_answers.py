"""Beyond the paper: what is read off a private release, in the columns' units."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from dpbounds.iv.clamped import stretch
from dpbounds.iv.confidence import (
    ConfidenceAnswer,
    ConfidenceSet,
    MomentRelease,
    PrivacyBudget,
    ReleasePlan,
    SignRelease,
    confidence_set,
    point_estimate,
    sign_critical,
)
from dpbounds.iv.confidence.answers import StatisticCurve
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
    plan = _plan(0.5, instrument_means={"z": 0.5})
    release = _answer(data, plan).disclosure.release
    assert isinstance(release, MomentRelease)
    ways: dict[str, tuple[dict[str, Any], ConfidenceSet]] = {
        "as it is": ({}, confidence_set(release)),
        "another level": ({"level": 0.99}, confidence_set(release, 0.99)),
        "honest": ({"honest": True}, confidence_set(release, honest=True)),
        "certified": ({"certify": True}, confidence_set(release, certify=True)),
    }
    lengths = {}
    for name, (way, expected) in ways.items():
        found = _answer(data, replace(plan, **way)).confidence_set
        lengths[name] = found.length
        yield Fact(f"{name}: ends", found.pieces[0], expected.pieces[0], 1e-12)
    for name in ("another level", "honest"):
        yield Within(f"{name}: length over that as it is", lengths[name] / lengths["as it is"], least=1.05)


def _clipped_facts(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Outcomes beyond their range: the set from what was disclosed, and beside it that of the records as they are."""
    data = _extract()
    for means, counted in ((None, False), ({"z": 0.5}, True)):
        ranges = {"y": (24.0, 46.0), "x": (0.5, 3.4) if counted else RANGES["x"]}
        plan = _plan(2.0, clamping="stretch", bounds=ranges, instrument_means=means, regressor_clamped=counted)
        answer, label = _answer(data, plan), f"public mean {means is not None}"
        found, release, bare = answer.disclosure, answer.disclosure.release, answer.without_noise
        assert isinstance(release, MomentRelease) and found.counts is not None and answer.rho is not None and bare
        test = confidence_set(release, 0.955)
        by_hand = stretch(test.pieces, answer.rho.least, answer.rho.most, found.shift)
        yield Fact(f"{label}: ends", answer.confidence_set.pieces[0], by_hand[0], 1e-12)
        middle = (answer.rho.least + answer.rho.most) / 2
        yield Fact(f"{label}: point", answer.point, found.shift + point_estimate(release) / middle, 1e-9)
        curve = answer.curve()
        inside = np.array([point in answer.confidence_set for point in curve.coefficients])
        yield Holds(
            f"{label}: the curve is accepted on the set", bool(((curve.statistic <= curve.critical) == inside).all())
        )
        one = replace(data, cells=np.zeros(N, dtype=int))
        z, x, y = one.centred()
        yield Fact(f"{label}: point without privacy", bare.point, float(z @ y) / float(z @ x), 1e-9)
        length = bare.confidence_set.length / (textbook_ends(one)[1] - textbook_ends(one)[0])
        yield Fact(f"{label}: length without privacy, of centred arms", length, 1.0, 0.01)
        yield Fact(f"{label}: degrees of freedom", answer.degrees_of_freedom, N - 2, 0)


JOURNEY = Claim(
    id="iv/beyond-confidence-answer",
    where="beyond the paper: what is read off a private release",
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
        Agreement(decides="a", facts=_clipped_facts, impostors={"1 % off": {"facts": Times(1.01)}}),
        Agreement(decides="a", facts=_reading_facts, impostors={"1 % off": {"facts": Times(1.01)}}),
        Agreement(decides="b", facts=_sign_facts, impostors={"1 % off": {"facts": Times(1.01)}}),
    ),
)
