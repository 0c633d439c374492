"""The privacy game: its transcripts against a loop written out, its statistic against the normal law."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from dpbounds import DomainError
from dpbounds.ftrl import correlations
from simulators.engine import Experiment
from simulators.ftrl import Settings
from simulators.ftrl.privacy_game import PrivacyGame, privacy_game

STEPS = 6


def settings(correlation=None, **changes) -> Settings:
    chosen = correlation or correlations.optimal_counting()
    return Settings(**{"correlation": chosen, "eta": 0.3, "rho": 0.5, "steps": STEPS, **changes})


def played(problem: PrivacyGame, chosen: Settings, trials: int = 50, seed: int = 3) -> tuple[dict, np.ndarray]:
    experiment = Experiment(algorithm=privacy_game, problem=problem, settings=chosen, block_trials=trials)
    draws = experiment.streams(0, seed=seed).noise.standard_normal((STEPS, trials, problem.dimension))
    return experiment.run_block(0, seed=seed), draws


@pytest.mark.parametrize("stream", [0, 1])
@pytest.mark.parametrize("adversary", ["adaptive", "constant"])
def test_transcript_is_algorithm_1_on_the_chosen_stream(stream, adversary):
    problem = PrivacyGame(stream=stream, position=2, dimension=2, length=4.0, adversary=adversary)
    chosen = settings(clip_norm=0.5)
    run, draws = played(problem, chosen, trials=5)
    noise = np.tensordot(chosen.correlation.matrix(STEPS), draws, axes=1) * chosen.noise_multiplier * 0.5
    for trial in range(5):
        theta = np.zeros(2)
        for t in range(STEPS):
            along = theta / np.linalg.norm(theta) if adversary == "adaptive" and t > 0 else np.array([1.0, 0.0])
            gradient = 0.5 * along * (0.0 if stream == 1 and t == 2 else 1.0)
            theta = theta - 0.3 * (gradient + noise[t, trial])
            np.testing.assert_allclose(run["theta"][trial, t], theta, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(
    "correlation",
    [correlations.optimal_counting(), correlations.tree_aggregation(STEPS), correlations.full_honaker(STEPS)],
)
def test_statistic_is_normal_with_the_exact_shift(correlation):
    chosen, position = settings(correlation), 1
    K = correlation.matrix(STEPS) @ correlation.matrix(STEPS).T * chosen.noise_multiplier**2
    mu = np.sqrt(np.linalg.inv(K)[position, position])
    games = PrivacyGame(stream=0, position=position, dimension=3), PrivacyGame(stream=1, position=position, dimension=3)
    for problem, mean in zip(games, (0.0, mu), strict=True):
        experiment = Experiment(algorithm=privacy_game, problem=problem, settings=chosen, block_trials=4000)
        statistic = experiment.run_block(0, seed=0)["statistic"]
        assert stats.kstest(statistic - mean, "norm").pvalue > 1e-4
        assert stats.kstest(statistic - mean - 0.15, "norm").pvalue < 1e-6  # the test would see a wrong shift


def test_replace_one_doubles_the_shift():
    means = {}
    for adjacency in ("zero-out", "replace-one"):
        problem = PrivacyGame(stream=1, position=0, adjacency=adjacency)
        run, _ = played(problem, settings(correlations.independent()), trials=20_000)
        means[adjacency] = run["statistic"].mean()
    assert means["replace-one"] == pytest.approx(2 * means["zero-out"], rel=0.05)


def test_without_clipping_long_gradients_show():
    problem = PrivacyGame(stream=1, length=3.0)
    clipped, _ = played(problem, settings(correlations.independent()), trials=20_000)
    unclipped, _ = played(problem, settings(correlations.independent(), clipping=False), trials=20_000)
    assert clipped["statistic"].mean() == pytest.approx(1.0, abs=0.05)
    assert unclipped["statistic"].mean() == pytest.approx(3.0, abs=0.05)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"stream": 2}, "stream = 2"),
        ({"position": -1}, "position = -1"),
        ({"dimension": 0}, "dimension = 0"),
        ({"length": 0.0}, "length = 0"),
        ({"adversary": "lazy"}, "adaptive or constant"),
        ({"adjacency": "add-remove"}, "zero-out or replace-one"),
    ],
)
def test_bad_games_are_refused(changes, match):
    with pytest.raises(DomainError, match=match):
        replace(PrivacyGame(stream=0), **changes)


def test_bad_settings_are_refused():
    with pytest.raises(DomainError, match=r"position = 6 .*\[0, 6\)"):
        played(PrivacyGame(stream=0, position=STEPS), settings())
    with pytest.raises(DomainError, match="without noise"):
        played(PrivacyGame(stream=0), settings(rho=np.inf))
