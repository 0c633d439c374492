"""Bounds after T steps against PEPit, which knows nothing of chains of storage functions. Skipped without PEPit."""

import numpy as np
import pytest
from scipy.linalg import toeplitz

pytest.importorskip("PEPit")

from dpbounds.ftrl.methods import (
    bound_horizon,
    gradient_descent,
    heavy_ball,
    nesterov,
    standard_triple_momentum,
)
from tests.dpbounds.ftrl.pepit_programs import pepit_error

DESCENT = gradient_descent(eta=0.1)


def noise(weights, T):
    return toeplitz(np.append(weights, np.zeros(T))[:T], np.zeros(T))


CASES = [
    (noise([1.0], 2), [DESCENT] * 2, {}),
    (noise([1.0, -0.9], 5), [DESCENT] * 5, {}),
    (noise([1.0, 0.5], 3), [heavy_ball(eta=0.1, momentum=0.5)] * 3, {}),
    (noise([1.0, -0.7], 3), [nesterov(eta=1.0, momentum=0.5)] * 3, {}),
    (noise([1.0], 3), [standard_triple_momentum(0.1, 1.0)] * 3, {}),
    (noise([1.0, -0.5], 3), [DESCENT.averaged(decay=0.5)] * 3, {}),
    (noise([1.0, -0.5], 3), [gradient_descent(eta=eta) for eta in (1.0, 0.5, 0.2)], {}),
    (np.array([[1.0, 0, 0], [-0.3, 2.0, 0], [0.7, -1.0, 0.5]]), [DESCENT] * 3, {"objective": "mean"}),
]


@pytest.mark.parametrize(("matrix", "methods", "options"), CASES)
def test_with_all_past_gradients_both_are_equal(matrix, methods, options):
    """And a shorter memory is never below. Solvers agree to 1e-6; the certificate's margin is as much again."""
    T, given = len(matrix), {"mu": 0.1, "L": 1.0, "initial": 1.0, **options}
    peer = pepit_error(matrix, methods, 0.1, 1.0, 1.0, mean="objective" in options)
    whole = bound_horizon(matrix, methods, T, window=T, **given)
    assert whole.is_certified and whole.value == pytest.approx(peer, rel=1e-5)
    assert bound_horizon(matrix, methods, T, window=1, **given).value >= peer * (1 - 1e-6)


def test_draws_that_are_foreseen_are_worse():
    """The peer's number rests on the draws being independent of the past: it moves when they are not."""
    methods = [gradient_descent(eta=1.5)] * 3
    honest, foreseen = (pepit_error(np.eye(3), methods, 0.1, 1.0, 1.0, foreseen=f) for f in (False, True))
    assert foreseen > 1.5 * honest
    assert bound_horizon(np.eye(3), methods, 3, mu=0.1, L=1.0, initial=1.0, window=3).value < foreseen
