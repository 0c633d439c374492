"""Second moments of Noisy-FTRL against every path of the inputs, against d = 1 by hand, and in any basis."""

from __future__ import annotations

import itertools
from itertools import islice

import numpy as np
import pytest

from verify.checks import Seed
from verify.checks.domains import Whole
from verify.papers.ftrl.tools import input_laws, second_moments
from verify.papers.ftrl.tools.input_laws import diagonal, largest_eigenvalue, planar, product
from verify.papers.ftrl.tools.law_searches import attacks
from verify.papers.ftrl.tools.second_moments import Systems, system

ETA, BETA, NOISE, RESIDUAL = 0.2, (1.0, -0.7, 0.2), 0.3, 0.5


def random_planar(n=20):
    rng = np.random.default_rng(7)
    return rng.uniform(0.05, 1, n), rng.uniform(-1, 1, (n, 6)), 10 ** rng.uniform(-3, 0, (n, 5))


def planar_points(second, atoms, weights):
    """The points and probabilities of one planar law."""
    points = np.concatenate([np.eye(2), atoms.reshape(3, 2)])
    p = weights / weights.sum()
    root = np.linalg.cholesky((points * p[:, None]).T @ points)
    z = np.array([np.linalg.inv(root) @ point for point in points])
    return np.concatenate([z, -z]) * np.sqrt([1.0, second]), np.array([*(p / 2), *(p / 2)])


def enumerated(points, probabilities, start, steps):
    """E theta'_t theta'_t^T over all sequences of inputs; residuals and draws enter by their variances."""
    d = points.shape[1]
    covariance = (points * probabilities[:, None]).T @ points
    total = np.zeros((d, d))
    for path in itertools.product(range(len(points)), repeat=steps):
        response = np.zeros((d, 1 + steps + d * steps))  # to the start, the residuals and the draws
        response[:, 0] = start
        for t, k in enumerate(path):
            x = points[k]
            response = response - ETA * np.outer(x, x) @ response
            response[:, 1 + t] += ETA * x * np.sqrt(RESIDUAL)
            for lag, weight in enumerate(BETA[: t + 1]):
                first = 1 + steps + d * (t - lag)
                response[:, first : first + d] -= ETA * weight * np.sqrt(NOISE) * np.eye(d)
        total += np.prod(probabilities[list(path)]) * response @ response.T
    return covariance, total


def test_trajectory_is_the_mean_over_all_paths():
    second, atoms, weights = random_planar(3)
    laws, start = planar(second, atoms, weights), np.array([1.0, -2.0])
    batch = Systems(laws, np.full(3, ETA), np.tile(BETA, (3, 1)), np.full(3, NOISE), np.full(3, RESIDUAL))
    history = list(batch.trajectory(np.tile(start, (3, 1)), 4))
    for k in range(3):
        points, probabilities = planar_points(second[k], atoms[k], weights[k])
        for steps in (0, 1, 2, 3):
            covariance, expected = enumerated(points, probabilities, start, steps)
            np.testing.assert_allclose(history[steps][k], expected, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(laws.covariance[k], covariance, atol=1e-12)


@pytest.mark.parametrize("build", [input_laws.gaussian, input_laws.signs, input_laws.skewed])
def test_the_trajectory_ends_at_the_limit_in_any_basis(build):
    basis = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    spectrum = np.array([1.0, 0.5, 0.2])
    straight, turned = build(spectrum), build(basis * spectrum @ basis.T)
    limit = second_moments.stationary(straight, ETA, BETA, NOISE, RESIDUAL)
    start = np.ones(3)
    ends = [
        second_moments.trajectory(law, ETA, BETA, NOISE, RESIDUAL, 400, at)[-1]
        for law, at in ((straight, start), (turned, basis @ start))
    ]
    np.testing.assert_allclose(ends[0], limit, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ends[1], basis @ limit @ basis.T, rtol=1e-9, atol=1e-12)
    assert turned.r_squared()[0] == pytest.approx(straight.r_squared()[0], rel=1e-12)
    assert turned.kurtosis_constant()[0] == pytest.approx(straight.kurtosis_constant()[0], rel=1e-12)
    assert system(turned, ETA, BETA, NOISE, RESIDUAL).doubled_suboptimality()[0] == pytest.approx(
        2 * second_moments.suboptimality(straight, limit), rel=1e-12
    )


def test_smallest_constants_of_known_laws():
    spectrum = [1.0, 0.5]
    expected = {"Gaussian": (3.5, 3.0), "signs": (1.5, 1.0), "skewed": (2.25 + 1.5, 3.25), "along the axes": (1.5, 3.0)}
    for law in input_laws.examples(spectrum):
        if law.name in ("Gaussian", "signs", "along the axes"):
            assert law.r_squared()[0] == pytest.approx(expected[law.name][0], rel=1e-12)
        if law.name != "along the axes":
            assert law.kurtosis_constant()[0] == pytest.approx(expected[law.name][1], rel=1e-12)
    assert product(np.array([spectrum]), np.array([3.0])).r_squared()[0] == pytest.approx(3.5)


def test_powers_are_the_double_sum():
    one = system(input_laws.gaussian([1.0, 0.3]), ETA, BETA, NOISE, RESIDUAL)
    for j, x in enumerate((0.2, 0.06)):
        total = sum(b * c * (1 - x) ** abs(t - s) for t, b in enumerate(BETA) for s, c in enumerate(BETA))
        assert one.powers()[0, j] == pytest.approx(total, rel=1e-13)


@pytest.mark.parametrize("probability", [1.0, 0.2])
def test_decomposition_on_the_line_by_hand(probability):
    """x = +-1 / sqrt(p) with probability p, else 0: E x^4 = 1 / p, and S^(r), the remainder are geometric."""
    p = probability
    law = input_laws.discrete("line", np.array([[p**-0.5], [-(p**-0.5)], [0.0]]), [p / 2, p / 2, 1 - p])
    joint = second_moments.decomposition(law, ETA, BETA, NOISE, RESIDUAL, 2)[..., 0, 0]
    power = sum(b * c * (1 - ETA) ** abs(t - s) for t, b in enumerate(BETA) for s, c in enumerate(BETA))
    expected = [ETA * (RESIDUAL + NOISE * power) / (2 - ETA)]
    for _ in range(2):
        expected.append(ETA * (1 / p - 1) * expected[-1] / (2 - ETA))
    expected.append(ETA * (1 / p - 1) * expected[-1] / (2 - ETA / p))
    np.testing.assert_allclose(np.diag(joint), expected, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(joint - np.diag(np.diag(joint)), 0.0, atol=1e-14)


@pytest.mark.parametrize("law", list(input_laws.examples([1.0, 0.5, 0.2])), ids=lambda law: law.name)
def test_levels_and_remainder_are_the_blocks_of_the_joint_moments(law):
    joint = second_moments.decomposition(law, ETA, BETA, NOISE, RESIDUAL, 2)
    one = system(law, ETA, BETA, NOISE, RESIDUAL)
    levels = list(islice(one.levels(), 3))
    for r, level in enumerate((*levels, one.remainder(levels[-1]))):
        np.testing.assert_allclose(level[0], joint[r, r], rtol=1e-10, atol=1e-13)
    limit = second_moments.stationary(law, ETA, BETA, NOISE, RESIDUAL)
    np.testing.assert_allclose(joint.sum(axis=(0, 1)), limit, rtol=1e-10)


def test_settled_solves_for_a_diagonal_too():
    second, atoms, weights = random_planar(4)
    batch = Systems(planar(second, atoms, weights), np.full(4, 0.05), np.ones((4, 1)), np.ones(4), np.zeros(4))
    added = np.random.default_rng(1).random((4, 2))
    S = batch.settled(added)
    np.testing.assert_allclose(batch.after_step(S) + diagonal(added), S, rtol=1e-10, atol=1e-12)


def test_unstable_step_sizes_are_refused():
    law = input_laws.gaussian([1.0])
    assert second_moments.spectral_radius(law, 2 / 3) == pytest.approx(1.0)
    for function, more in ((second_moments.stationary, ()), (second_moments.decomposition, (1,))):
        with pytest.raises(ArithmeticError, match="unstable"):
            function(law, 0.7, BETA, NOISE, RESIDUAL, *more)


def spread(batch, level=0):
    """The largest eigenvalue of S is below its trace, and nearly equal to it when one eigenvalue dominates."""
    S = batch.second_moments()
    return largest_eigenvalue(S), np.trace(S, axis1=1, axis2=2)


@pytest.mark.parametrize("levels", [None, Whole(0, 2)])
def test_attacks_hold_for_a_true_statement_and_catch_its_impostor(levels):
    for search in attacks(spread, 1.05, levels=levels):
        seed = Seed(0, np.random.SeedSequence(0))
        (task,) = search.tasks("quick")
        assert search.run(task, seed)["violation"] is None
        (name,) = search.impostors
        assert search.impostor(name).run(task, seed)["violation"] is not None
