"""Quantiles of simulated runs: true predictions, ratios and powers hold, false ones fail, coarse ones stay open."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy import stats

from simulators.engine import Experiment
from tests.verify.judging import evidence_of
from verify.checks import Power, Quantiles, Ratio, Reading
from verify.checks.statistics import COMPARISON_ALPHA


@dataclass(frozen=True)
class Cauchy:
    scale: float


def draws(problem, settings, streams, trials):
    values = problem.scale * streams.data.standard_cauchy(trials)
    return {"value": values, "size": np.abs(values)}


def reading(scale: float, label: str = "", trials: int = 4000, **options) -> Reading:
    """|Cauchy| has median `scale` and no mean."""
    experiment = Experiment(algorithm=draws, problem=Cauchy(scale), settings=None, block_trials=500)
    settings = {"output": "size", "predicted": lambda: scale, "trials": {"quick": trials}, **options}
    return Reading(label=label or f"scale {scale:g}", experiment=experiment, **settings)


PREDICTED = Quantiles(readings=lambda: [reading(1.0), reading(3.0)], resolution={"quick": 0.25})
POWER = Quantiles(
    readings=lambda: [reading(x**1.5, f"x = {x:g}", x=x, group="curve") for x in (1.0, 2.0, 4.0, 8.0)],
    powers=(Power(group="curve", printed=1.5, tolerance=0.3),),
    axes=("x", "size"),
)


def test_predictions():
    held = evidence_of(PREDICTED)
    assert held.outcome == "holds"
    assert held.trials == 8000
    assert held.alpha == pytest.approx(2 * COMPARISON_ALPHA)
    assert evidence_of(replace(PREDICTED, scale=1.6)).outcome == "fails"
    assert evidence_of(replace(PREDICTED, resolution={"quick": 0.02})).outcome == "unclear"


def test_other_quantiles_against_their_law():
    upper = reading(1.0, trials=20_000, probability=0.9, predicted=lambda: float(stats.halfcauchy.ppf(0.9)))
    assert evidence_of(Quantiles(readings=lambda: [upper], resolution={"quick": 0.3})).outcome == "holds"
    wrong = replace(upper, predicted=lambda: float(stats.halfcauchy.ppf(0.8)))
    assert evidence_of(Quantiles(readings=lambda: [wrong], resolution={"quick": 0.3})).outcome == "fails"


@pytest.mark.parametrize(
    ("at_least", "at_most", "outcome"), [(2.0, 4.5, "holds"), (4.5, math.inf, "fails"), (2.99, 3.01, "unclear")]
)
def test_ratios(at_least, at_most, outcome):
    stated = Ratio(label="r", above="scale 3", below="scale 1", at_least=at_least, at_most=at_most)
    check = Quantiles(readings=lambda: [reading(1.0), reading(3.0)], ratios=(stated,))
    assert evidence_of(check).outcome == outcome


def test_ratio_to_a_number_and_of_zero():
    zero = reading(1.0, output=lambda arrays: 0.0 * arrays["size"])
    for most, outcome in ((1e-6, "holds"), (math.inf, "fails")):
        stated = Ratio(label="r", above="scale 1", at_least=-math.inf if most < 1 else 1e-6, at_most=most)
        assert evidence_of(Quantiles(readings=lambda: [zero], ratios=(stated,))).outcome == outcome


def test_a_run_that_left_floating_point_range_counts_as_large():
    lost = reading(1.0, output=lambda arrays: np.full_like(arrays["size"], np.inf))
    stated = Ratio(label="r", above="scale 1", at_least=1e100)
    assert evidence_of(Quantiles(readings=lambda: [lost], ratios=(stated,))).outcome == "holds"


def test_powers_and_the_picture():
    held = evidence_of(POWER)
    assert held.outcome == "holds"
    assert held.picture is not None
    assert [series.role for series in held.picture.series] == ["exact", "simulated"]
    (slope,) = held.picture.slopes
    assert slope.exact == pytest.approx(1.5)
    assert slope.low < slope.simulated < slope.high


def test_a_wrong_power_fails_and_a_correction_shows_the_printed_one():
    assert evidence_of(replace(POWER, powers=(Power(group="curve", printed=0.5),))).outcome == "fails"
    corrected = evidence_of(replace(POWER, powers=(Power(group="curve", printed=0.5, instead=1.5, tolerance=0.3),)))
    assert corrected.outcome == "holds"
    assert corrected.picture is not None
    assert corrected.picture.slopes[0].printed == 0.5


def test_a_power_beyond_some_point():
    """Constant up to 2, then x: only the second part has slope 1."""
    points = {1.0: 2.0, 2.0: 2.0, 4.0: 4.0, 16.0: 16.0}
    check = Quantiles(
        readings=lambda: [reading(y, f"x = {x:g}", x=x, group="curve") for x, y in points.items()],
        powers=(Power(group="curve", printed=1.0, tolerance=0.25, beyond=2.0),),
    )
    assert evidence_of(check).outcome == "holds"
    assert evidence_of(check).picture is None
    whole = replace(check, powers=(Power(group="curve", printed=1.0, tolerance=0.1),))
    assert evidence_of(whole).outcome == "fails"


def test_shared_runs_are_run_once_and_their_errors_add_up():
    both = [reading(1.0, "a", run="one"), reading(1.0, "b", run="one", output="size")]
    check = Quantiles(readings=lambda: both, ratios=(Ratio(label="r", above="a", below="b", at_least=0.5, at_most=2),))
    assert len(check.tasks("quick")) == 1 + 8
    shared, apart = (evidence_of(c).rows[0] for c in (check, replace(check, readings=_apart)))
    assert shared["observed"] == 1.0
    arms = math.log(shared["high"]), math.log(apart["high"] / apart["observed"])
    assert arms[0] / arms[1] == pytest.approx(math.sqrt(2), rel=0.2)


def _apart() -> list[Reading]:
    return [reading(1.0, "a"), reading(1.0, "b")]


def test_higher_levels_wait():
    late = reading(3.0, level="full", trials=500)
    stated = (Ratio(label="r", above="scale 3", at_least=100.0), Ratio(label="q", above="scale 1", at_least=0.5))
    check = Quantiles(readings=lambda: [reading(1.0), late], ratios=stated)
    assert evidence_of(check).outcome == "holds"
    assert evidence_of(check, "full").outcome == "fails"


def test_nothing_stated_is_an_error():
    with pytest.raises(ValueError, match="no statement"):
        evidence_of(Quantiles(readings=lambda: [reading(1.0)]))


def test_true_predictions_rarely_fail():
    """At alpha = 1e-10 never in 50 seeds; the intervals are not so wide that nothing ever fails."""
    check = Quantiles(readings=lambda: [reading(1.0, trials=500)], resolution={"quick": 0.0001})
    outcomes = {evidence_of(check, seed=seed).outcome for seed in range(50)}
    assert outcomes == {"unclear"}
    assert evidence_of(replace(check, scale=3.0)).outcome == "fails"
