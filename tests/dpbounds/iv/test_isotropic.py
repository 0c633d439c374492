"""The cheap recursion for isotropic instruments: against the general one, closed forms and Gaussian moments."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpbounds import DomainError
from dpbounds.iv import Moments, isotropic_variances, noise_expansion, stationary_expansion
from dpbounds.iv.isotropic import Isotropic, isotropic_error_terms, isotropic_expansion, starting_gradient_norms

S, BETA, Q, ALPHA = np.array([1.3, 0.8, 0.4]), np.array([0.3, -1.1, 0.7]), 5, 0.4
PARTS = ("noiseless", "shift", "first", "second")


def problem(eta: float = 0.3, **changes) -> Isotropic:
    return Isotropic(**{"singular_values": S, "beta": BETA, "q": Q, "eta": eta, "alpha": ALPHA} | changes)


def moments() -> Moments:
    theta = np.vstack([np.diag(S), np.zeros((Q - len(S), len(S)))])
    return Moments(A=np.eye(Q), G=theta, b=theta @ BETA, n=100)


@pytest.mark.parametrize("eta", [0.3, 1.0, 1.7])
def test_the_general_recursion(eta):
    """Whose coefficients are tested against Jacobians and second differences."""
    general, own = noise_expansion(moments(), eta, ALPHA, 30), isotropic_expansion(problem(eta), range(31))
    for part in PARTS:
        expected = getattr(general, part)
        np.testing.assert_allclose(getattr(own, part), expected, rtol=1e-12, atol=1e-13 * np.abs(expected).max())


def test_a_long_run_is_stationary():
    run = problem()
    law, general = isotropic_expansion(run, [3, 10**9, 0]), stationary_expansion(moments(), 0.3, ALPHA)
    for part in PARTS:
        np.testing.assert_allclose(getattr(law, part)[1], getattr(general, part)[0], rtol=1e-10, atol=1e-12)
    expected = isotropic_variances(S**2, 0.3, ALPHA, float(np.linalg.norm(BETA)), 0.2, 0.7)
    found = np.diag(law.law(1, 0.2, 0.7).covariance)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_array_equal(law.noiseless[2], np.zeros(3))


def test_settled_means_settled():
    """A step less gives the same numbers; more are not computed."""
    run = problem(0.05)
    steps = int(run.settled_after)
    early, late = isotropic_error_terms(run, steps), isotropic_expansion(problem(0.05, alpha=ALPHA), [steps - 1])
    np.testing.assert_allclose(early.first[-1], np.trace(late.first[0]), rtol=1e-13)
    assert len(early.first) == steps + 1 == len(isotropic_error_terms(run, 10 * steps).first)
    assert run.kappa == pytest.approx(max(0.95, 1 - ALPHA * 0.16), rel=1e-15)
    one = problem(1.0, singular_values=np.ones(1), beta=np.ones(1), alpha=1.0)
    assert (one.kappa, one.settled_after) == (0.0, 2.0)
    assert problem(singular_values=np.array([1.0, 1e-9]), beta=np.ones(2)).settled_after == math.inf


def test_root_mean_squares_are_those_of_the_law():
    run, horizons = problem(), [1, 2, 7, 40]
    terms, law = isotropic_error_terms(run, 40), isotropic_expansion(run, horizons)
    lambda1, lambda2 = np.array([0.1, 0.2, 0.3, 0.5]), np.array([0.4, 0.3, 0.0, 0.1])
    for at, found in enumerate(terms.at(horizons).root_mean_square(lambda1, lambda2)):
        mean, covariance = law.law(at, lambda1[at], lambda2[at])
        assert found == pytest.approx(math.sqrt(np.sum((mean - BETA) ** 2) + np.trace(covariance)), rel=1e-13)
    last = terms.at([40, 41, 10**6])
    assert last.second.tolist() == [terms.second[-1]] * 3


def test_one_step_by_hand():
    """beta_1 = alpha nu_0, beta_2 = (1 - 0) beta_1 + alpha Theta_1'(Theta beta - Theta_1 beta_1) + alpha nu_1."""
    run = problem(0.5, singular_values=np.array([2.0]), beta=np.array([3.0]), q=1, alpha=0.1)
    law = isotropic_expansion(run, [1, 2])
    theta, data = 0.5 * 2.0, 6.0
    assert law.second[0, 0, 0] == pytest.approx(0.01) and law.first[0, 0, 0] == 0
    assert law.noiseless[1, 0] == pytest.approx(0.1 * theta * data)
    assert law.first[1, 0, 0] == pytest.approx((0.1 * 0.5 * data) ** 2)
    assert law.second[1, 0, 0] == pytest.approx(0.01 + 0.01 * (1 - 0.1 * theta**2) ** 2)


def test_gradients_at_the_start():
    """Fourth moments by a Gauss-Hermite rule that is exact for them, all six Gaussian variables."""
    s, beta, sigma_1, sigma_2 = np.array([1.5, 0.5]), np.array([0.4, -2.0]), 0.7, 1.2
    run = Isotropic(singular_values=s, beta=beta, q=3, eta=1.0, alpha=0.1)
    nodes, weights = np.polynomial.hermite_e.hermegauss(3)
    points = np.stack(np.meshgrid(*[nodes] * 6, indexing="ij"), axis=-1).reshape(-1, 6)
    mass = np.prod(np.stack(np.meshgrid(*[weights / weights.sum()] * 6, indexing="ij"), axis=-1), axis=-1).ravel()
    z, errors, e = points[:, :3], sigma_2 * points[:, 3:5], sigma_1 * points[:, 5]
    x = z[:, :2] * s + errors
    y = x @ beta + e
    first = mass @ ((z**2).sum(axis=1) * (x**2).sum(axis=1))
    second = mass @ (((z[:, :2] * s) ** 2).sum(axis=1) * y**2)
    found = starting_gradient_norms(run, sigma_1, sigma_2)
    np.testing.assert_allclose(found, (math.sqrt(first), math.sqrt(second)), rtol=1e-12)


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"eta": 2.0}, "eta"),
        ({"eta": 0.0}, "eta"),
        ({"alpha": 2 / 1.69}, "alpha"),
        ({"alpha": math.nan}, "alpha"),
        ({"q": 2}, "q"),
        ({"singular_values": np.array([1.0, 0.0, 1.0])}, "singular_values"),
        ({"beta": np.array([1.0, math.inf, 1.0])}, "beta"),
    ],
)
def test_what_is_refused(changes, name):
    with pytest.raises(DomainError, match=name):
        problem(**changes)


def test_horizons_and_deviations_that_are_refused():
    with pytest.raises(DomainError, match="horizons"):
        isotropic_expansion(problem(), [-1])
    with pytest.raises(DomainError, match="steps"):
        isotropic_error_terms(problem(), 0)
    with pytest.raises(DomainError, match="sigma_1"):
        starting_gradient_norms(problem(), -1.0, 1.0)
