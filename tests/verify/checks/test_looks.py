"""Further looks at a check that is still unclear."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.verify.judging import case, evidence_of, experiment, results_of
from verify.checks import Event, Frequency, Means, MonteCarlo
from verify.checks.looks import SIZED
from verify.checks.statistics import (
    ALPHA,
    BETA,
    COMPARISON_ALPHA,
    LOOKS,
    Moments,
    mean_test,
    normal_quantile,
    trials_needed,
)


def test_a_true_mean_does_not_fail_more_often_for_being_looked_at_again():
    """20,000 runs whose interval is too wide at first: at a level of 1 in 100 a look, of at most 4 looks, at most 4 in
    100 may fail; 5 in 100 would be 1,000 of them, 27 standard deviations more than the bound allows by chance.
    """
    rng = np.random.default_rng(0)
    totals = np.cumsum(rng.standard_normal((20_000, 8)), axis=1)
    looks = [totals[:, n - 1] / np.sqrt(n) for n in (1, 2, 4, 8)]
    failed = np.any(np.abs(looks) > normal_quantile(0.01), axis=0)
    assert len(looks) == LOOKS and ALPHA * LOOKS == COMPARISON_ALPHA and BETA < 0.01
    assert failed.mean() <= 0.04


def test_looks_stop_at_eight_times_the_trials():
    cases = [case(experiment=experiment(10.0, spread=500.0), relative_std=0.5)]
    check = MonteCarlo(means=Means(cases=lambda: cases), resolution={"quick": 0.05})
    first = check.tasks("quick")
    results = results_of(check, first, 0)
    blocks = len(first) - 1
    planned = len(check.tasks("full")) - 1
    assert blocks == math.ceil(SIZED[0] * planned) < planned and len(SIZED) == LOOKS
    for share in SIZED[1:]:
        further = check.more(results, "quick")
        assert [task["block"] for task in further] == list(range(blocks, share * planned))
        results, blocks = results + results_of(check, further, 0), share * planned
    assert check.more(results, "quick") == []


def test_a_mean_that_is_off_by_its_resolution_never_holds_for_being_looked_at_early():
    """Planned for a standard deviation of 1 and a resolution of 1/10: at 3/5 of the trials a true mean mostly holds,
    one that is a tenth off does not.
    """
    planned = trials_needed(1.0, 0.1)
    rng, count = np.random.default_rng(0), math.ceil(SIZED[0] * planned)
    true = [Moments.of(1.0 + rng.standard_normal(count)) for _ in range(300)]
    outcomes = [
        [mean_test(moments, stated, resolution=0.1).outcome for moments in true]
        for stated in (1.0, 1.0 / 1.1, 1.0 / 0.9)
    ]
    assert outcomes[0].count("holds") > 150 and "fails" not in outcomes[0]
    assert "holds" not in outcomes[1] + outcomes[2]


def positive(share: float, at_least: float) -> Frequency:
    """Draws of N(quantile, 1) are positive with this probability."""
    one = experiment(-normal_quantile(2 * share) if share < 0.5 else normal_quantile(2 * (1 - share)))
    event = Event(label="one", experiment=one, occurs=lambda arrays: arrays["value"] > 0, at_least=at_least)
    return Frequency(events=lambda: [event], trials={"quick": 8000, "full": 8000})


def looks_of(check: Frequency) -> list[int]:
    """The number of blocks after every look at the quick level."""
    results, counts = [], []
    further = check.tasks("quick")
    while further:
        results += results_of(check, further, 0)
        counts.append(len(results))
        further = check.more(results, "quick")
    return counts


@pytest.mark.parametrize(
    ("share", "outcome", "blocks"), [(0.95, "holds", [4]), (0.5, "fails", [4]), (0.901, "unclear", [4, 16, 48, 128])]
)
def test_the_quick_level_begins_with_a_quarter_and_goes_on_where_that_is_unclear(share, outcome, blocks):
    """At most four looks, as everywhere, so that each may spend a quarter of the false alarms; to as many trials."""
    check = positive(share, 0.9)
    assert looks_of(check) == blocks and len(blocks) <= LOOKS
    assert evidence_of(check).outcome == outcome
    assert len(check.tasks("full")) == 16
    assert check.false_alarms("quick") == check.false_alarms("full") == COMPARISON_ALPHA
