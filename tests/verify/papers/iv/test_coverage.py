"""The check of coverage: when it fails, what it counts, and the tests that it counts."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from simulators.engine import Arrays, Experiment, Streams
from simulators.iv.confidence import MomentDesign, WeakInstruments, release_moments
from verify.checks.base import Seed
from verify.checks.evidence import Evidence
from verify.checks.statistics import COMPARISON_ALPHA
from verify.papers.iv.tools.coverage import Cell, Coverage, boxed, moment_test, wald_covers


def coins(problem: float, settings: None, streams: Streams, trials: int) -> Arrays:
    """Trials that cover with probability `problem`, beside others that cover half of the time."""
    return {"hit": streams.data.random(trials) < problem, "half": streams.data.random(trials) < 0.5}


def cell(probability: float, *, beside: bool = False) -> Cell:
    experiment = Experiment(algorithm=coins, problem=probability, settings=None, block_trials=500)

    def covers(arrays: Arrays) -> dict[str, np.ndarray]:
        return {"ours": arrays["hit"], **({"theirs": arrays["half"]} if beside else {})}

    return Cell(label=f"p = {probability}", experiment=experiment, covers=covers)


def concluded(check: Coverage) -> Evidence:
    seed = Seed(user=0, sequence=np.random.SeedSequence(0))
    return check.conclude([check.run(task, seed) for task in check.tasks("quick")], "quick")


def test_a_cell_that_falls_short_fails() -> None:
    found = concluded(Coverage(cells=lambda: [cell(0.95), cell(0.90)], trials=4_000))
    assert found.outcome == "fails" and found.counterexample is not None
    assert found.counterexample["cell"] == "p = 0.9" and found.counterexample["trials"] == 4_000
    stated = float(stats.binom(4_000, 0.944).cdf(found.counterexample["hits"]))
    assert found.counterexample["probability"] == pytest.approx(stated) and stated < COMPARISON_ALPHA


def test_cells_at_the_level_hold_and_state_what_they_could_see() -> None:
    check = Coverage(cells=lambda: [cell(0.95), cell(0.96)], trials=4_000)
    found = concluded(check)
    assert found.outcome == "holds" and found.trials == 8_000 and found.picture is None
    assert found.resolution is not None and 0.02 < found.resolution < 0.05
    assert found.alpha == check.false_alarms("quick") == pytest.approx(3 * COMPARISON_ALPHA)


def test_cells_fail_together_where_none_does_alone() -> None:
    probabilities = [0.927 + 1e-6 * k for k in range(12)]
    found = concluded(Coverage(cells=lambda: [cell(p) for p in probabilities], trials=1_000))
    assert found.outcome == "fails" and found.counterexample is not None
    assert found.counterexample["cell"] == "all cells"


def test_other_tests_are_drawn_and_judge_nothing() -> None:
    found = concluded(Coverage(cells=lambda: [cell(0.95, beside=True)], trials=2_000))
    assert found.outcome == "holds" and found.picture is not None
    assert [series.curve for series in found.picture.series] == ["theirs", "ours"]
    assert found.picture.series[0].y[0] == pytest.approx(0.5, abs=0.08)


def test_results_keep_their_meaning_in_the_store() -> None:
    """Stored as JSON with sorted keys: "aside" comes before "ours"."""

    def covers(arrays: Arrays) -> dict[str, np.ndarray]:
        return {"ours": arrays["hit"], "aside": arrays["half"]}

    check = Coverage(cells=lambda: [replace(cell(0.95), covers=covers)], trials=2_000)
    seed = Seed(user=0, sequence=np.random.SeedSequence(0))
    results = [json.loads(json.dumps(check.run(task, seed), sort_keys=True)) for task in check.tasks("quick")]
    found = check.conclude(results, "quick")
    assert found.outcome == "holds" and found.rows[0]["test"] == "ours"


def test_wald_intervals_by_hand() -> None:
    """One instrument: the ratio estimate, and its delta-method variance with and without the noise."""
    problem = WeakInstruments(n=80, strength=60.0, endogeneity=0.5)
    design: MomentDesign = boxed(problem, 2.0)
    streams = Streams(**{role: np.random.default_rng(k) for k, role in enumerate(("noise", "data", "initial"))})
    arrays = release_moments(problem, design, streams, 40)
    for noise in (0.0, 1.0):
        found = wald_covers(arrays, design, 1.0, noise=noise)
        for trial in range(40):
            y, x = arrays["first"][trial]
            estimate = y / x
            b = np.array([1.0, -estimate])
            variance = b @ arrays["second"][trial] @ b + (noise * design.scales[0]) ** 2 * (b @ b)
            theta = float(design.thetas([1.0])[0])
            assert found[trial] == ((estimate - theta) ** 2 * x**2 <= stats.norm.ppf(0.975) ** 2 * max(variance, 0.0))


def test_what_the_test_knows_can_be_changed() -> None:
    problem = WeakInstruments(n=80, q=2, strength=20.0)
    design = boxed(problem, 1.0)
    streams = Streams(**{role: np.random.default_rng(k) for k, role in enumerate(("noise", "data", "initial"))})
    arrays = release_moments(problem, design, streams, 200)
    variants: tuple[dict[str, Any], ...] = ({}, {"noise": 2.0}, {"correct": False}, {"counted": 0.0})
    plain, louder, uncorrected, uncounted = (moment_test(arrays, design, [1.0], **given) for given in variants)
    assert (louder.statistic < plain.statistic).all() and (uncorrected.critical < plain.critical).all()
    assert np.allclose(uncounted.critical, uncorrected.critical) and (uncounted.tau == 0).all()
