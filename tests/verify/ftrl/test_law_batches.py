"""Batches of input laws against one law at a time, and both against d = 1 by hand."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from verify.checks import Seed
from verify.domains import Whole
from verify.ftrl.claims import moments
from verify.ftrl.claims.law_batches import Systems, attacks, largest_eigenvalue, one, planar

ETA, BETA, NOISE, RESIDUAL = 0.2, (1.0, -0.7, 0.2), 0.3, 0.5


def single(law, eta=ETA):
    return Systems(one(law), *(np.array([value]) for value in (eta, BETA, NOISE, RESIDUAL)))


def random_planar(n=20):
    rng = np.random.default_rng(7)
    return rng.uniform(0.05, 1, n), rng.uniform(-1, 1, (n, 6)), 10 ** rng.uniform(-3, 0, (n, 5))


def explicit(second, atoms, weights):
    """The same discrete law from its points, one law."""
    points = np.concatenate([np.eye(2), atoms.reshape(3, 2)])
    p = weights / weights.sum()
    root = np.linalg.cholesky((points * p[:, None]).T @ points)
    z = np.array([np.linalg.inv(root) @ point for point in points])
    return moments.discrete("planar", np.concatenate([z, -z]) * np.sqrt([1.0, second]), [*(p / 2), *(p / 2)])


def test_planar_laws_are_the_discrete_laws_they_describe():
    second, atoms, weights = random_planar()
    batch = planar(second, atoms, weights)
    for k in range(len(second)):
        law = explicit(second[k], atoms[k], weights[k])
        np.testing.assert_allclose(law.covariance, np.diag([1.0, second[k]]), atol=1e-12)
        assert batch.r_squared()[k] == pytest.approx(law.r_squared(), rel=1e-10)
        assert batch.kurtosis_constant()[k] == pytest.approx(law.kurtosis_constant(), rel=1e-10)


def test_second_moments_of_a_batch_are_those_of_its_laws():
    second, atoms, weights = random_planar()
    batch = planar(second, atoms, weights)
    eta = 0.8 / batch.r_squared()
    system = Systems(batch, eta, np.tile(BETA, (20, 1)), np.full(20, NOISE), np.full(20, RESIDUAL))
    for k in range(20):
        law = explicit(second[k], atoms[k], weights[k])
        S = moments.stationary(law, eta[k], BETA, NOISE, RESIDUAL)
        np.testing.assert_allclose(system.second_moments()[k], S, rtol=1e-9, atol=1e-12)
        assert system.doubled_suboptimality()[k] == pytest.approx(2 * moments.suboptimality(law, S), rel=1e-9)


def test_powers_are_the_double_sum():
    system = single(moments.gaussian([1.0, 0.3]))
    for j, x in enumerate((0.2, 0.06)):
        total = sum(b * c * (1 - x) ** abs(t - s) for t, b in enumerate(BETA) for s, c in enumerate(BETA))
        assert system.powers()[0, j] == pytest.approx(total, rel=1e-13)


@pytest.mark.parametrize("kurtosis_probability", [1.0, 0.2])
def test_decomposition_on_the_line_by_hand(kurtosis_probability):
    """x = +-1 / sqrt(p) with probability p, else 0: E x^4 = 1 / p, and S^(r), the remainder are geometric."""
    p = kurtosis_probability
    law = moments.discrete("line", np.array([[p**-0.5], [-(p**-0.5)], [0.0]]), [p / 2, p / 2, 1 - p])
    joint = moments.decomposition(law, ETA, BETA, NOISE, RESIDUAL, 2)[..., 0, 0]
    power = sum(b * c * (1 - ETA) ** abs(t - s) for t, b in enumerate(BETA) for s, c in enumerate(BETA))
    expected = [ETA * (RESIDUAL + NOISE * power) / (2 - ETA)]
    for _ in range(2):
        expected.append(ETA * (1 / p - 1) * expected[-1] / (2 - ETA))
    expected.append(ETA * (1 / p - 1) * expected[-1] / (2 - ETA / p))
    np.testing.assert_allclose(np.diag(joint), expected, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(joint - np.diag(np.diag(joint)), 0.0, atol=1e-14)


@pytest.mark.parametrize("law", list(moments.examples([1.0, 0.5, 0.2])), ids=lambda law: law.name)
def test_levels_and_remainder_are_the_blocks_of_the_joint_moments(law):
    joint = moments.decomposition(law, ETA, BETA, NOISE, RESIDUAL, 2)
    system = single(law)
    levels = list(islice(system.levels(), 3))
    for r, level in enumerate((*levels, system.remainder(levels[-1]))):
        np.testing.assert_allclose(level[0], joint[r, r], rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(joint.sum(axis=(0, 1)), moments.stationary(law, ETA, BETA, NOISE, RESIDUAL), rtol=1e-10)


def test_decomposition_refuses_unstable_step_sizes():
    with pytest.raises(ArithmeticError, match="unstable"):
        moments.decomposition(moments.gaussian([1.0]), 0.7, BETA, NOISE, RESIDUAL, 1)


def spread(system, level=0):
    """The largest eigenvalue of S is below its trace, and nearly equal to it when one eigenvalue dominates."""
    S = system.second_moments()
    return largest_eigenvalue(S), np.trace(S, axis1=1, axis2=2)


@pytest.mark.parametrize("levels", [None, Whole(0, 2)])
def test_attacks_hold_for_a_true_statement_and_catch_its_impostor(levels):
    for search in attacks(spread, 1.05, levels=levels):
        seed = Seed(0, np.random.SeedSequence(0))
        (task,) = search.tasks("quick")
        assert search.run(task, seed)["violation"] is None
        (name,) = search.impostors
        assert search.impostor(name).run(task, seed)["violation"] is not None
