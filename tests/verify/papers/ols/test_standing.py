"""Standings between methods: what they hold, what they reject, and what they leave open."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from simulators.ols import LeastSquares, family
from tests.verify.judging import evidence_of
from verify.papers.ols.tools.contest import IHM, LINMIX
from verify.papers.ols.tools.standing import ZERO, Field, Standing

WIDE = {"quick": 2.0}


@cache
def residual(seed: int) -> LeastSquares:
    return family("residual", n=512, seed=seed)


def fields() -> list[Field]:
    return [Field(name="residual", load=residual, seeds=(0, 1, 2), epsilons={"quick": (1.0, 10.0)}, blocks=1)]


STANDING = Standing(fields=fields, champion=IHM, opponents=(LINMIX,), seen=WIDE, tag="own")


def test_less_more_and_neither():
    assert evidence_of(STANDING).outcome == "holds"
    swapped = evidence_of(replace(STANDING, champion=LINMIX, opponents=(IHM,)))
    assert swapped.outcome == "fails"
    assert swapped.counterexample is not None
    assert swapped.counterexample["low"] > 1
    assert evidence_of(replace(STANDING, champion=LINMIX, opponents=(IHM,), least=1.0, most=1e9)).outcome == "holds"


def test_a_tie_is_a_factor_and_too_few_trials_tell_nothing():
    twin = replace(IHM, name="twin", options={"round_up": True})
    tie = replace(STANDING, opponents=(twin,), least=1 / 1.5, most=1.5)
    assert evidence_of(tie).outcome == "holds"
    assert evidence_of(replace(tie, least=0.0, most=1.0)).outcome == "unclear"
    assert evidence_of(replace(tie, seen={"quick": 1.0001})).outcome == "unclear"


def test_its_numbers_are_those_of_its_cells():
    found = evidence_of(STANDING)
    ratios = [row["ratio"] for row in found.rows if "ratio" in row]
    assert len(ratios) == 2
    assert found.rows[-1] == {"lowest_own": min(ratios), "highest_own": max(ratios)}
    assert 0 < found.alpha < 1e-8


def test_the_estimate_zero_has_the_energy_of_the_fit():
    found = evidence_of(replace(STANDING, champion=ZERO, opponents=(LINMIX,)))
    energies = sorted((residual(seed).y_squared - residual(seed).least_loss) / 512 for seed in range(3))
    assert found.rows[0]["ratio"] * found.rows[0]["high"] > 0
    task = STANDING.tasks("quick")[0]
    assert task["epsilon"] == 1.0
    own = replace(STANDING, champion=ZERO).run(task, seed=_seed())["found"]["theta = 0"]
    assert own[0] == pytest.approx(energies[1])


def test_higher_levels_add_cells():
    more = replace(fields()[0], epsilons={"full": (0.1,)})
    assert more.at("quick") == ()
    assert more.at("full") == (0.1,)


def _seed():
    import numpy as np

    from verify.checks.base import Seed

    return Seed(0, np.random.SeedSequence(0))
