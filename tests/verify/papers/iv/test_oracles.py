"""The oracles behind the claims on App. C to E: exact matrices, tails, sampled norms."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
import sympy
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dpbounds.iv import Moments
from simulators.engine import Experiment, Streams
from verify.papers.iv.tools import rationals, reference, tails
from verify.papers.iv.tools.rationals import TwoStage
from verify.papers.iv.tools.samples import Rows, isotropic_model, moment_draws, moment_norms, row_products

whole = arrays(np.int64, (3, 3), elements=st.integers(-5, 5))


def fractions(matrix: np.ndarray) -> np.ndarray:
    return np.vectorize(Fraction, otypes=[object])(matrix)


def streams(seed: int) -> Streams:
    return Streams(**{role: np.random.default_rng(seed) for role in ("noise", "data", "initial")})


@given(whole)
@settings(derandomize=True, deadline=None, max_examples=50)
def test_inverse(matrix):
    exact = sympy.Matrix(matrix.tolist())
    assume(exact.det() != 0)
    found = rationals.inverse(fractions(matrix))
    assert np.array_equal(found, fractions(np.array(exact.inv().tolist(), dtype=object)))
    assert np.array_equal(found @ fractions(matrix), rationals.identity(3))


@given(whole, st.integers(0, 5))
@settings(derandomize=True, deadline=None, max_examples=30)
def test_power(matrix, exponent):
    assert np.array_equal(rationals.power(fractions(matrix), exponent), np.linalg.matrix_power(matrix, exponent))


@given(whole)
@settings(derandomize=True, deadline=None, max_examples=50)
def test_rank_and_projection(matrix):
    exact = sympy.Matrix(matrix.tolist())
    assert rationals.rank(fractions(matrix)) == exact.rank()
    P = rationals.projection(fractions(matrix))
    assert np.array_equal(P @ P, P) and np.array_equal(P, P.T)
    assert np.array_equal(P @ fractions(matrix), fractions(matrix))
    assert P.trace() == exact.rank()


@pytest.mark.parametrize(("q", "p"), [(3, 2), (2, 2), (4, 1)])
def test_two_stage_least_squares(q, p):
    records = reference.rational_records(np.random.default_rng(q), 8, q, p)
    exact, moments = TwoStage(records), Moments.of(*records.floats())
    for found, expected in (
        (exact.A, moments.A),
        (exact.theta_hat, moments.theta_hat),
        (exact.beta_hat, moments.beta_hat),
    ):
        assert np.allclose(found.astype(float), expected, rtol=1e-11, atol=1e-11)
    assert not any(exact.theta_hat.T @ records.Z.T @ exact.r)


@pytest.mark.parametrize(("n", "tau"), [(1, 50.0), (5, 2.0), (400, 8.0)])
def test_singular_value_tail(n, tau):
    with mpmath.workdps(50):
        reach = mpmath.sqrt(2) * (1 + mpmath.sqrt(tau))
        ends = [mpmath.sqrt(n) + reach, max(mpmath.sqrt(n) - reach, 0)]
        upper = mpmath.gammainc(mpmath.mpf(n) / 2, ends[0] ** 2 / 2, mpmath.inf, regularized=True)
        lower = mpmath.gammainc(mpmath.mpf(n) / 2, 0, ends[1] ** 2 / 2, regularized=True)
        exact = -mpmath.log((upper + lower) / 2)
    found = tails.singular_value_tail(np.array(float(n)), np.array(tau), float(np.sqrt(2.0)))
    assert found[0] == tau
    assert found[1] == pytest.approx(float(exact), rel=1e-9)


def test_maximum_tail():
    assert tails.maximum_tail(np.array(1.0), np.array(1.959963984540054)) == pytest.approx(0.05, rel=1e-12)
    assert tails.maximum_tail(np.array(3.0), np.array(1.0)) == pytest.approx(1 - 0.6826894921370859**3, rel=1e-12)
    assert tails.maximum_tail(np.array(1e12), np.array(12.0)) == pytest.approx(1e12 * 3.552964224155e-33, rel=1e-9)


@pytest.mark.parametrize(("p", "q"), [(1, 1), (2, 4), (3, 3)])
def test_moment_norms_from_records(p, q):
    model = isotropic_model(40, p, q, scale=2.0, endogeneity=0.5, instruments="sign")
    found = moment_norms(model, None, streams(5), 6)
    sample = model.records(np.random.default_rng(5), 6)
    for trial in range(6):
        Z, X, Y = sample.instruments[trial].T, sample.regressors[trial].T, sample.outcome[trial]
        theta_hat = np.linalg.lstsq(Z, X, rcond=None)[0]
        beta_hat = np.linalg.lstsq(Z @ theta_hat, Y, rcond=None)[0]
        E1, E2, r = Y - X @ model.beta, X - Z @ model.theta, Z @ theta_hat @ beta_hat - Y
        fitted = np.linalg.svd(Z @ theta_hat, compute_uv=False) ** 2 / 40
        expected = {
            "A_least": np.linalg.svd(Z, compute_uv=False)[-1] ** 2 / 40,
            "A_largest": np.linalg.svd(Z, compute_uv=False)[0] ** 2 / 40,
            "H_least": fitted[-1],
            "H_largest": fitted[0],
            "first_stage": np.linalg.norm(theta_hat - model.theta, 2),
            "estimator": np.linalg.norm(beta_hat - model.beta),
            "residual": np.linalg.norm(Z.T @ r) / 40,
            "product": np.linalg.norm(Z.T @ E2, 2) / 40,
            "outcome_product": np.linalg.norm(Z.T @ E1) / 40,
            "sargan": np.linalg.norm(np.linalg.qr(Z)[0].T @ r) ** 2,
        }
        for name, value in expected.items():
            assert found[name][trial] == pytest.approx(value, rel=1e-9, abs=1e-12), name


def test_residual_vanishes_where_q_equals_p():
    assert moment_draws(isotropic_model(10**6, 3, 3), 20).run_block(0, seed=1)["residual"].max() < 1e-12


def test_row_products():
    problem = Rows(n=30, q=2, law="random sign")
    found = row_products(problem, None, streams(9), 3)["product"]
    rng = np.random.default_rng(9)
    z, signs = rng.standard_normal((3, 30, 2)), 2.0 * rng.integers(0, 2, size=(3, 30, 1)) - 1.0
    assert found == pytest.approx([np.linalg.norm(a.T @ (s * a), 2) / 30 for a, s in zip(z, signs, strict=True)])
    independent = Experiment(algorithm=row_products, problem=Rows(n=4000, q=1), settings=None, block_trials=400)
    # z'e / sqrt(n) is nearly standard normal: median of the modulus 0.674, standard error 0.04.
    assert np.median(independent.run_block(0, seed=2)["product"]) * 4000**0.5 == pytest.approx(0.674, abs=0.2)


def test_instruments_that_errors_cancel():
    """The family that refutes Lemma D.7: z = +-1, e_2 = -(1 - c) z leaves x = c z, and 2SLS errs by z'e_1 / (n c)."""
    rng, n = np.random.default_rng(3), 100
    errors = {}
    for c in (0.5, 0.01):
        Z = 2.0 * rng.integers(0, 2, size=(2000, n)) - 1.0
        X, e1 = c * Z, rng.standard_normal((2000, n))
        errors[c] = np.median(np.abs((Z * (X + e1)).sum(axis=1) / (Z * X).sum(axis=1) - 1.0)) * c * n**0.5
    assert errors[0.5] == pytest.approx(0.674, abs=0.12)
    assert errors[0.01] == pytest.approx(0.674, abs=0.12)
