"""The oracle of exact risks: its integrals against closed forms, its recursion against explicit sketches."""

from __future__ import annotations

import math

import numpy as np
import pytest

from verify.papers.ols.tools.second_moments import Solves, chi_square_mean, mean_form, mixing


@pytest.mark.parametrize("degrees", [3, 5, 7, 40, 1000, 60_000])
def test_means_of_powers_of_chi_squares(degrees):
    assert chi_square_mean(degrees, -1) == pytest.approx(1 / (degrees - 2), rel=1e-10)
    if degrees > 4:
        assert chi_square_mean(degrees, -2) == pytest.approx(1 / ((degrees - 2) * (degrees - 4)), rel=1e-10)


def test_one_solve_against_explicit_sketches():
    rng, (k, d) = np.random.default_rng(0), (20, 3)
    S = rng.standard_normal((60_000, k, d))
    moved = np.linalg.solve(S.transpose(0, 2, 1) @ S / k, np.broadcast_to(np.eye(d)[:, :1], (len(S), d, 1)))[:, :, 0]
    solves = Solves.of(k, d)
    for samples, stated in (
        (moved[:, 0], solves.first),
        (moved[:, 0] ** 2, solves.along),
        (moved[:, 1] ** 2, solves.across),
    ):
        assert abs(samples.mean() - stated) <= 7 * samples.std() / math.sqrt(len(S))  # 1e-11, normal but for its tail


def test_no_noise_and_no_sketch_error_give_the_fit():
    A, b = np.diag([2.0, 1.0]), np.array([1.0, 0.5])
    mean, second = mixing(A, b, steps=1, k=10**7, eta_squared=0.0, sigma=0.0, keep=True, step=1.0)
    assert mean_form(A, np.array([0.5, 0.5]), mean, second) == pytest.approx(0.0, abs=1e-6)
