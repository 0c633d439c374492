"""What `--simulate` of every topic shares: its arguments, blocks that extend."""

from __future__ import annotations

import math

import numpy as np

from simulators.engine import Experiment, Streams
from verify.checks import intervals
from verify.cli.solve.simulating import LEAST_TRIALS, LEVEL, mean_interval, median_interval, simulate


def test_fewest_trials_and_level_are_those_of_the_intervals():
    assert (LEAST_TRIALS, LEVEL) == (intervals.LEAST_SAMPLES, intervals.LEVEL)
    samples = [*range(20), math.inf]
    assert median_interval(samples) == tuple(intervals.median_interval(samples))
    assert mean_interval(samples[:-1]) == tuple(intervals.mean_interval(samples[:-1]))


def _normals(problem: None, settings: None, streams: Streams, trials: int) -> dict[str, np.ndarray]:
    return {"x": streams.noise.standard_normal(trials), "y": streams.data.standard_normal(trials)}


def test_more_trials_extend_a_run(capsys):
    run = {"a": Experiment(algorithm=_normals, problem=None, settings=None, block_trials=7)}
    few, many = (simulate(run, trials, seed=3, outputs=("x",))["a"] for trials in (10, 30))
    assert few.keys() == {"x"} and len(few["x"]) == 10 and len(many["x"]) == 30
    assert np.array_equal(few["x"], many["x"][:10])
    assert not np.array_equal(few["x"], simulate(run, 10, seed=4, outputs=("x",))["a"]["x"])
    assert "simulate: 5 of 5 tasks" in capsys.readouterr().err
