"""One statement under several choices: when it is decided, what its map says, what a run asks for."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from verify.checks import Agreement, Fact, Survey
from verify.checks.base import Check, Level, Seed

SEED = Seed(0, np.random.SeedSequence(0))


def stated(value: float, level: Level = "quick") -> Agreement:
    def facts(rng: np.random.Generator) -> Iterator[Fact]:
        yield Fact("the value", value, 1.0, numbers={"size": value})

    return Agreement(facts=facts, level=level)


def concluded(check: Check, level: Level = "quick"):
    return check.conclude([check.run(task, SEED) for task in check.tasks(level)], level)


@pytest.mark.parametrize(("values", "outcome"), [((1, 1), "holds"), ((2, 3), "fails"), ((1, 2), "unclear")])
def test_it_is_decided_where_all_agree(values, outcome):
    found = concluded(Survey(settings={f"$c_0 = {value}$, {k}": stated(value) for k, value in enumerate(values)}))
    assert found.outcome == outcome
    assert (found.counterexample is not None) == (outcome == "fails")


def test_the_map_says_where():
    found = concluded(Survey(settings={"small": stated(1.0), "large": stated(2.0), "huge": stated(3.0)}))
    assert found.summary == found.needed == "It holds for small; it fails for large, huge."
    assert [row["outcome"] for row in found.rows] == ["holds", "fails", "fails"]


def test_settings_of_a_higher_level_wait_for_it():
    survey = Survey(settings={"small": stated(1.0), "large": stated(2.0, "full")})
    assert concluded(survey).outcome == "holds"
    assert concluded(survey, "full").outcome == "unclear"
    assert [task["setting"] for task in survey.tasks("quick")] == ["small"]


def test_more_is_asked_only_while_the_map_may_be_uniform():
    mixed = Survey(settings={"small": stated(1.0), "large": stated(2.0)})
    results = [mixed.run(task, SEED) for task in mixed.tasks("quick")]
    assert mixed.more(results, "quick") == ()
    assert mixed.false_alarms("quick") == 0.0
