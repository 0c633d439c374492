"""Bounds after T steps: reviewed numbers, brute force, schedules and bad input."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.linalg import toeplitz

from dpbounds.errors import AccuracyError, DomainError
from dpbounds.ftrl.correlations import independent
from dpbounds.ftrl.methods import (
    bound_horizon,
    bound_method,
    gradient_descent,
    heavy_ball,
    nesterov,
    standard_triple_momentum,
)
from dpbounds.ftrl.strongly_convex import StronglyConvex
from verify.papers.ftrl.tools.gram_programs import worst_error

CLASS = {"mu": 0.1, "L": 1.0}
DESCENT = gradient_descent(eta=0.1)


def noise(weights, T):
    return toeplitz(np.append(weights, np.zeros(T))[:T], np.zeros(T))


# (method, weights, T, chain with one past gradient, program over Gram matrices): reviewed by another program.
REVIEWED = [
    (DESCENT, [1.0], 2, 0.36371902, 0.36371487),
    (DESCENT, [1.0], 10, 0.18461028, None),
    (DESCENT, [1.0], 15, 0.14865856, None),
    (DESCENT, [1.0, -0.9], 5, 0.25361755, 0.24925402),
    (DESCENT, [1.0, -0.9], 15, 0.13213324, None),
    (heavy_ball(eta=0.1, momentum=0.5), [1.0], 10, 0.16356766, None),
]


@pytest.mark.parametrize(("method", "weights", "T", "chain", "gram"), REVIEWED)
def test_reviewed_numbers(method, weights, T, chain, gram):
    found = bound_horizon(noise(weights, T), method, T, **CLASS, initial=1.0)
    assert found.is_certified and found.value == pytest.approx(chain, rel=3e-6) and found.lower < found.value
    if gram is not None:
        whole = bound_horizon(noise(weights, T), method, T, **CLASS, initial=1.0, window=T)
        assert whole.value == pytest.approx(gram, rel=3e-6)


def test_any_noise_matrix_by_brute_force():
    """Not constant along its diagonals, and in other units."""
    B = np.tril(np.random.default_rng(0).normal(size=(3, 3))) + 2 * np.eye(3)
    method = nesterov(eta=0.05, momentum=0.3)
    found = bound_horizon(B, method, 3, mu=1.0, L=10.0, initial=2.0, window=3)
    assert found.value == pytest.approx(worst_error(B, method, 1.0, 10.0, 2.0), rel=1e-5)
    scaled = bound_horizon(B / 2, method, 3, mu=1.0, L=10.0, initial=2.0, window=3, variance=4.0)
    assert scaled.value == pytest.approx(found.value, rel=1e-5)


def test_more_past_gradients_are_never_worse():
    values = [
        float(bound_horizon(noise([1.0, -0.9], 8), DESCENT, 8, **CLASS, initial=1.0, window=k).value) for k in range(5)
    ]
    assert all(after <= before * (1 + 1e-6) for before, after in pairwise(values))


def test_the_mean_goes_to_the_stationary_bound_from_below():
    problem = StronglyConvex(mu=0.1, L=1.0, eta=0.1, rho=0.5)
    stationary = float(bound_method(problem.noise(independent()), DESCENT, **CLASS, certify=False).value)
    means = [
        float(bound_horizon(np.eye(T), DESCENT, T, **CLASS, initial=0.0, objective="mean").value) for T in (10, 40, 120)
    ]
    assert means[0] < means[1] < means[2] < stationary
    assert means[2] > 0.9 * stationary


def test_schedules():
    """A constant one is the method, and with little noise one that starts with larger steps ends lower."""
    options = {**CLASS, "initial": 1.0, "variance": 0.01}
    constant = bound_horizon(np.eye(12), [DESCENT] * 12, 12, **options)
    assert constant.value == bound_horizon(np.eye(12), DESCENT, 12, **options).value
    steps = [gradient_descent(eta=eta) for eta in np.geomspace(1.0, 0.1, 12)]
    assert bound_horizon(np.eye(12), steps, 12, **options).value < constant.value


@pytest.mark.parametrize(
    ("method", "options"),
    [
        (standard_triple_momentum(0.1, 1.0), {}),
        (nesterov(eta=1.0, momentum=0.5), {"objective": "mean"}),
        (DESCENT.averaged(decay=0.9), {}),
        (DESCENT, {"variance": 0.0}),
        (DESCENT, {"window": 0}),
        (gradient_descent(eta=1e-6), {"mu": 1e-6}),
        (heavy_ball(eta=0.1, momentum=0.9), {"mu": 1e-6}),
    ],
)
def test_methods_and_extremes_are_certified(method, options):
    found = bound_horizon(noise([1.0, -0.5], 20), method, 20, **(CLASS | {"initial": 1.0} | options))
    assert found.is_certified and found.ratio >= 1.0


def test_two_hundred_and_forty_steps_are_quick():
    found = bound_horizon(noise([1.0, -0.9], 240), DESCENT, 240, **CLASS, initial=1.0)
    assert found.is_certified and found.seconds < 20.0  # on a machine with other work


def test_without_certify_it_is_an_estimate():
    found = bound_horizon(np.eye(5), DESCENT, 5, **CLASS, initial=1.0, certify=False)
    assert not found.is_certified and found.value.kind == "estimate"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"noise_matrix": np.triu(np.ones((4, 4)))}, "entries above the diagonal.*causal"),
        ({"noise_matrix": np.eye(3)}, "noise_matrix"),
        ({"noise_matrix": np.full((4, 4), np.nan)}, "noise_matrix"),
        ({"noise_matrix": np.tril(np.ones((40, 40))), "T": 40}, "40 diagonals.*at most 25"),
        ({"T": 0}, "T = 0"),
        ({"method": [DESCENT] * 3}, "3 methods"),
        ({"method": [DESCENT, DESCENT, DESCENT, heavy_ball(eta=0.1, momentum=0.5)]}, "one state in common"),
        ({"mu": 1.0}, "mu = 1.0"),
        ({"initial": -1.0}, "initial = -1.0"),
        ({"initial": 0.0, "variance": 0.0}, "variance = 0.0"),
        ({"objective": "best"}, "objective = best .*last, mean"),
        ({"window": 99}, "window = 99"),
    ],
)
def test_bad_input_is_named(changed, message):
    given = {"noise_matrix": np.eye(4), "method": DESCENT, "T": 4, **CLASS, "initial": 1.0} | changed
    with pytest.raises(DomainError, match=message):
        bound_horizon(**given)


def test_a_method_that_diverges_is_refused_or_bounded_by_much():
    with pytest.raises(AccuracyError, match="diverge on the class"):
        bound_horizon(np.eye(30), gradient_descent(eta=3.0), 30, **CLASS, initial=1.0)
