"""Runs of `solve glm` with a million users and as many public records, p = 10, by row, on one core.

    pytest benchmarks/test_glm_speed.py -n 0

prints seconds for 100 trials with records in law (3 or less is the aim), and how many times as long records that are
drawn take, timed in turn in the same run. Nothing is asserted about time.
"""

from __future__ import annotations

import dataclasses
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from dpbounds.glm import recommend
from simulators.engine import Experiment
from simulators.glm import GaussianModel, message_experiments, recommendation_experiments

N, P, BLOCKS, ROUNDS = 10**6, 10, 10, 2
ROWS = ("gaussian-message", "cap-message", "paper", "pooled", "public-covariance")


def experiments(link: str) -> dict[str, Experiment]:
    found = recommend(link, n=N, p=P, epsilon=2.0, delta=1e-6)
    printed = {name: one for (kind, name), one in recommendation_experiments(found).items() if kind == "tight"}
    return {**message_experiments(found), **printed}


def drawn(one: Experiment) -> Experiment:
    """The same with every record drawn, one trial a block."""
    model = GaussianModel(**{field.name: getattr(one.problem, field.name) for field in dataclasses.fields(one.problem)})
    return Experiment(algorithm=one.algorithm, problem=model, settings=one.settings, block_trials=1)


@pytest.mark.parametrize("link", ["logistic", "poisson"])
def test_a_million_records_in_law_against_drawing_them(capsys, link):
    for name, one in experiments(link).items():
        if name not in ROWS:
            continue
        slow, seconds = drawn(one), [np.inf, np.inf]
        with threadpool_limits(1):
            for _ in range(ROUNDS):
                for which, (experiment, blocks) in enumerate(((one, BLOCKS), (slow, 1))):
                    start = time.process_time()
                    for block in range(blocks):
                        experiment.run_block(block, seed=0)
                    trials = blocks * experiment.block_trials
                    seconds[which] = min(seconds[which], (time.process_time() - start) / trials)
        with capsys.disabled():
            print(f"\n{link}, {name}: {100 * seconds[0]:.2f} s, drawn {seconds[1] / seconds[0]:.0f} times as long")
