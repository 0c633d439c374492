"""Beyond the paper: what `dpbounds.private.InstrumentalVariables` and `dpbounds solve iv --confidence` disclose."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dpbounds.iv.confidence import ADJACENCIES, Adjacency, PrivacyBudget, ReleasePlan, SignRelease
from dpbounds.iv.confidence.disclosure import Disclosure
from simulators.engine import Arrays, Experiment, Streams
from simulators.iv.confidence import WeakInstruments, step_curves
from simulators.iv.confidence.disclosing import disclose, sign_design
from simulators.iv.confidence.estimator import InstrumentalVariables
from simulators.iv.confidence.records import bounded_records
from simulators.sources import GaussianSource
from verify.checks import Agreement, Fact, GaussianPrivacy, Neighbours, Times
from verify.checks.replayed import Replayed, shifts
from verify.papers.iv.tools.coverage import Cell, Coverage
from verify.papers.iv.tools.curves import curve_covariance
from verify.statements.claims import Claim

# --- what it costs ---

MU, RECORDS = 30.0, 60
Record = tuple[float, float, float, float, float]
# (z1, z2, x, y, w): a record and its opposite, records at right angles, and others in another cell; outcomes far
# outside where residuals are clipped, instruments where they are not.
WORST: tuple[Record, Record] = ((1.0, 1.0, 1.0, 1.0, 0.0), (1.0, 1.0, -1.0, -1.0, 0.0))
WILD: tuple[Record, Record] = ((1.0, 1.0, 1.0, 9.0, 0.0), (1.0, 1.0, -1.0, -9.0, 0.0))
PAIRS: tuple[tuple[Record, Record], ...] = (
    WORST,
    ((1.0, 1.0, 1.0, 1.0, 0.0), (1.0, 0.0, 1.0, 1.0, 0.0)),
    ((1.0, 1.0, 1.0, 1.0, 0.0), (1.0, 0.0, 1.0, -1.0, 1.0)),
    ((-3.0, 7.0, 0.3, -0.5, 1.0), (0.2, 0.4, -0.6, 0.1, 0.0)),
)
MEANS = {"z1": 0.5, "z2": 0.5}


def plans(adjacency: Adjacency, mu: float = MU) -> dict[str, ReleasePlan]:
    """Every way to release."""
    common: dict[str, Any] = {"bounds": {"y": (-1, 1), "x": (-1, 1)}, "adjacency": adjacency}
    base = ReleasePlan(
        outcome="y", regressors=("x",), instruments=("z1", "z2"), budget=PrivacyBudget(mu=mu), seed=1, **common
    )
    return {
        "moments": replace(base, instrument_means=MEANS),
        "moments, short instruments": replace(base, instrument_bound=0.5),
        "two stages": base,
        "two stages, controls": replace(base, controls=("w",), instrument_means=MEANS),
        "blocks": replace(base, design="h", instrument_means=MEANS),
        "clipped residuals": replace(base, instruments=("z1",), clamping="stretch", regressor_clamped=True),
        "clipped residuals, public mean": replace(
            base, instruments=("z1",), clamping="stretch", instrument_means={"z1": 0.5}
        ),
    }


def _columns(*records: Record) -> dict[str, np.ndarray]:
    """A data set that is the same but for these records."""
    rng = np.random.default_rng(4)
    drawn = [*rng.integers(0, 2, (2, RECORDS)), *rng.uniform(-1, 1, (2, RECORDS)), np.arange(RECORDS) % 2]
    table = np.column_stack([np.array(drawn), np.array(records).reshape(-1, 5).T])
    return dict(zip(("z1", "z2", "x", "y", "w"), table, strict=True))


def _pairs(noise: float = 1.0) -> Iterator[Neighbours]:
    """Everything that is noised, in units of its noise."""
    for adjacency in ADJACENCIES:
        for name, plan in plans(adjacency).items():
            if plan.stretched and adjacency == "zero-out":
                continue  # a record that is zeroed counts in n: see iv/beyond-clamped-privacy
            for number, (one, two) in enumerate((*PAIRS[:3], WILD) if plan.stretched else PAIRS):
                other = () if adjacency == "zero-out" else (two,)
                sets = [bounded_records(plan, _columns(*records)) for records in ((one,), other)]

                def release(k: int, source: GaussianSource, plan=plan, sets=sets) -> Disclosure:
                    return disclose(plan, sets[k], source)

                moved = shifts(release, np.random.default_rng(number))
                shift = np.concatenate([part / scale for part, scale in moved])
                rho = plan.budget.gdp**2 / 2
                label = f"{name}, {adjacency}, pair {number}"
                yield Neighbours(label=label, shift=shift, covariance=noise**2 * np.eye(len(shift)), claimed_rho=rho)
        yield from _curves(adjacency, noise)


def _sign_plan(adjacency: Adjacency) -> ReleasePlan:
    return ReleasePlan(
        outcome="y",
        regressors=("x",),
        instruments=("z1",),
        instrument_means={"z1": 0.3},
        budget=PrivacyBudget(mu=MU),
        design="s",
        grid=(-1.0, 1.5, 16),
        adjacency=adjacency,
        public=True,
    )


def _curves(adjacency: Adjacency, noise: float) -> Iterator[Neighbours]:
    """Sign curves of two data sets, without noise as for public data, and the covariance of the noise."""
    plan = _sign_plan(adjacency)
    covariance = noise**2 * curve_covariance(sign_design(plan, MU))
    for number, (one, two) in enumerate((((0, 0, 1, 9, 0), (0, 0, 1, -9, 0)), ((0, 0, 1, 0.2, 0), (1, 0, -1, 0.3, 0)))):
        curves = []
        for records in ((one,), () if adjacency == "zero-out" else (two,)):
            source = GaussianSource(np.random.default_rng(1))
            exact = disclose(plan, bounded_records(plan, _columns(*records)), source).exact
            assert isinstance(exact, SignRelease)
            curves.append(exact.curve)
        label = f"signs, {adjacency}, pair {number}"
        yield Neighbours(label=label, shift=curves[0] - curves[1], covariance=covariance, claimed_rho=MU**2 / 2)


def _line_facts(rng: np.random.Generator) -> Iterator[Fact]:
    """The budget line by line: noise as it is drawn, as many numbers, mu that add up, how far a record moves it."""
    for adjacency in ADJACENCIES:
        for name, plan in plans(adjacency).items():
            source, label = Replayed(rng), f"{name}, {adjacency}"
            lines = disclose(plan, bounded_records(plan, _columns(WORST[0])), source).budget
            drawn = sorted({scale for _, scale in source.seen})
            yield Fact(f"{label}: noise", sorted({line.noise_sd for line in lines}), drawn, 1e-12)
            numbers = sum(np.size(values) for values, _ in source.seen)
            yield Fact(f"{label}: numbers", sum(line.numbers for line in lines), numbers, 1e-12)
            spent = math.fsum(line.mu**2 for line in lines if line.mu is not None)
            yield Fact(f"{label}: mu² of all lines", spent, plan.budget.gdp**2, 1e-12)
    # T1 of opposite vectors, T2 of vectors at right angles; a vector against none under zero-out.
    moved = {line.released: line.sensitivity for line in _lines("replace-one")}
    yield Fact("replace-one: how far", list(moved.values()), [2.0, math.sqrt(2.0)], 1e-12)
    moved = {line.released: line.sensitivity for line in _lines("zero-out")}
    yield Fact("zero-out: how far", list(moved.values()), [1.0, 1.0], 1e-12)


def _curve_facts(rng: np.random.Generator) -> Iterator[Fact]:
    """What a disclosed sign curve has more than that without noise is the noise of its design, from the same state."""
    for adjacency in ADJACENCIES:
        plan, state = _sign_plan(adjacency), int(rng.integers(2**31))
        disclosed = disclose(plan, bounded_records(plan, _columns()), GaussianSource(np.random.default_rng(state)))
        release, exact = disclosed.release, disclosed.exact
        assert isinstance(release, SignRelease) and isinstance(exact, SignRelease)
        drawn = step_curves(sign_design(plan, MU), np.random.default_rng(state), 1)[0]
        yield Fact(f"signs, {adjacency}: noise", release.curve - exact.curve, drawn, 1e-9)
        line, deviation = disclosed.budget[0], math.sqrt(curve_covariance(sign_design(plan, MU))[0, 0])
        yield Fact(f"signs, {adjacency}: its deviation", [release.deviation, line.noise_sd], [deviation] * 2, 1e-9)


def _lines(adjacency: Adjacency) -> Any:
    plan = plans(adjacency)["moments"]
    return disclose(plan, bounded_records(plan, _columns()), GaussianSource(np.random.default_rng(0))).budget


DISCLOSURE = Claim(
    id="iv/beyond-confidence-disclosure",
    where="beyond the paper: privacy of a private estimate",
    kind="privacy",
    statement=(
        (
            "All that a private estimate discloses is together $mu$-GDP, and no less noise would do: means within "
            "cells, which have a quarter of $mu^2$, moments, blocks or the sign curve, or a line, counts and moments "
            "of clipped residuals."
        ),
        "Its budget names every part, with the noise that is drawn.",
    ),
    hypotheses="$n$ public; a record that is zeroed adds nothing.",
    setting="60 records and one more; opposite vectors; outcomes far outside their range where residuals are clipped.",
    checks=(
        GaussianPrivacy(
            decides="a",
            pairs=_pairs,
            impostors={
                "1 % less noise": {"pairs": {"noise": 0.99}},
            },
        ),
        Agreement(decides="b", facts=_line_facts, impostors={"1 % off": {"facts": Times(1.01)}}),
        Agreement(decides="b", facts=_curve_facts, impostors={"1 % off": {"facts": Times(1.01)}}),
    ),
)

# --- what it is good for ---


def estimates(problem: WeakInstruments, settings: Mapping[str, Any], streams: Streams, trials: int) -> Arrays:
    """Whether the set of an estimator with these settings holds the coefficient, (trials,), on fresh records."""
    model, held = InstrumentalVariables(**settings), []
    for _ in range(trials):
        sample = problem.draw(streams.data, 1)
        model.set_params(seed=int(streams.noise.integers(2**31)))
        model.fit(outcome=sample.outcome[0], regressors=sample.regressors[0].T, instruments=sample.instruments[0].T)
        held.append(problem.slope in model.confidence_set_)
    return {"held": np.array(held)}


def _held(arrays: Arrays) -> dict[str, np.ndarray]:
    return {"the estimator": arrays["held"]}


def _cells(level: float = 0.95) -> list[Cell]:
    """Weak and strong instruments, public means and none, moments and blocks, wild outcomes."""
    cells = []
    means = {"instrument_means": {"instrument": 0.0}}
    for name, strength, mu, settings in (
        ("public means", 5.0, 3.0, means),
        ("public means, honest", 200.0, 0.2, {**means, "honest": True}),
        ("estimated means", 200.0, 4.0, {"adjacency": "zero-out", "clamping": "natural"}),
        ("blocks", 20.0, 2.0, {**means, "design": "h"}),
    ):
        problem = WeakInstruments(n=300, strength=strength, endogeneity=0.7, instruments="sign")
        outcome, regressor = (6 * deviation for deviation in problem.deviations)
        ranges = {"outcome": (-outcome, outcome), "regressor": (-regressor, regressor), "instrument": (-1.0, 1.0)}
        experiment = Experiment(
            algorithm=estimates,
            problem=problem,
            settings={"bounds": ranges, "mu": mu, "level": level, **settings},
            block_trials=50,
        )
        cells.append(Cell(label=f"{name}, F = {strength:g}, mu = {mu:g}", experiment=experiment, covers=_held))
    return cells


ESTIMATOR = Claim(
    id="iv/beyond-confidence-estimator",
    where="beyond the paper: coverage of the estimator",
    kind="mc-equality",
    statement=(
        "The set of `dpbounds.private.InstrumentalVariables` holds the coefficient with probability at least about "
        "$0.95$, with weak and with strong instruments, whatever its options."
    ),
    setting="$n = 300$, one instrument, endogeneity $0.7$, ranges of 6 standard deviations.",
    checks=(
        Coverage(
            cells=_cells,
            trials={"quick": 200, "full": 2_000},
            impostors={"level .5": {"cells": {"level": 0.5}}},
        ),
    ),
)
