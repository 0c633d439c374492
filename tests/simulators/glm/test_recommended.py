"""The rows of a recommendation as experiments."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpbounds import DomainError
from dpbounds.glm import recommend
from simulators.glm import bounded, recommendation_experiments, reference_experiments, share_without_root


def test_each_row_runs_with_its_own_noise_and_clips_only_to_chosen_bounds():
    for radius, clips in ((None, False), (2.5, True)):
        recommendation = recommend("logistic", n=2000, epsilon=20.0, p=3, radius=radius)
        experiments = recommendation_experiments(recommendation)
        assert set(experiments) == {(row.calibration, row.estimator) for row in recommendation.rows}
        for row in recommendation.rows:
            settings = experiments[row.calibration, row.estimator].settings
            assert settings.cross_scale == row.scales.cross and settings.estimator == row.estimator
            assert settings.gram_scale == (row.scales.gram if math.isfinite(row.scales.gram) else 0.0)
            clipped = clips and row.calibration == "tight"
            assert settings.beyond == ("clip" if clipped else "keep")
            assert settings.radius == (2.5 if clipped else math.inf)


def test_runs_without_a_root_are_counted():
    experiments = recommendation_experiments(recommend("logistic", n=200, epsilon=0.1, p=3))
    runs = experiments["printed", "paper"].run_block(0, seed=0)
    assert share_without_root(runs) == pytest.approx(1 - runs["has_root"].mean())


def test_too_many_records_are_refused():
    with pytest.raises(DomainError, match="n = 1000000000"):
        recommendation_experiments(recommend("logistic", n=10**9, m=10, epsilon=1.0, p=3))


def test_references_clip_and_centre():
    found = recommend("logistic", n=2000, epsilon=20.0, p=3)
    experiments = reference_experiments(found)
    assert list(experiments) == [row.estimator for row in found.references]
    row, settings = found.references[0], experiments["paper"].settings
    assert settings.radius == row.radius and settings.cross_scale == row.scales.cross
    x, y = bounded(100.0 * np.eye(3)[:2], np.array([0.0, 1.0]), settings)
    assert np.linalg.norm(x, axis=1) == pytest.approx(row.radius) and y.tolist() == [-0.5, 0.5]
    assert reference_experiments(recommend("logistic", n=10**6, epsilon=1.0, p=3)) == {}
