"""Data of the linear model: its law, the moments drawn without records, 2SLS, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any, cast

import numpy as np
import pytest
from scipy import stats

from dpbounds import DomainError
from dpbounds.iv.moments import Moments
from simulators.engine import Experiment, describe
from simulators.iv import (
    FixedData,
    FixedMoments,
    LinearModel,
    Settings,
    angrist_surrogate,
    synthetic_model,
    two_stage_descent,
)
from simulators.iv.samples import MomentSample, RecordSample

# False-alarm probability of one statistical assertion.
ALPHA = 1e-9
INSTRUMENTS = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, -0.3], [0.0, -0.3, 0.8]])
ERRORS = np.array([[1.0, 0.2, 0.6], [0.2, 0.5, -0.3], [0.6, -0.3, 2.0]])


def model(n: int = 12, **changed: Any) -> LinearModel:
    """q = 3, p = 2, everything correlated; at n = 12 the law of A is far from a point."""
    theta = np.array([[1.0, 0.5], [-0.4, 1.2], [0.3, 0.0]])
    given = {"beta": np.array([0.7, -1.1]), "instrument_covariance": INSTRUMENTS, "error_covariance": ERRORS}
    return LinearModel(**{"n": n, "theta": theta, **given, **changed})


def same_law(left: np.ndarray, right: np.ndarray) -> bool:
    """Two samples of n each: P(sqrt(n / 2) D > x) <= 2 exp(-2 x^2) for n >= 458 (Wei and Dudley 2012, Thm 1)."""
    assert len(left) == len(right) >= 458
    threshold = math.sqrt(math.log(2.0 / ALPHA) / len(left))
    return bool(stats.ks_2samp(left, right, method="asymp").statistic <= threshold)


def functionals(sample: MomentSample, given: LinearModel) -> dict[str, np.ndarray]:
    """Scalars that see A, G, b, the errors behind them and how all hang together."""
    first, second = sample.G - sample.A @ given.theta, sample.b - sample.G @ given.beta
    scalars = {
        "largest": np.linalg.eigvalsh(sample.A)[:, -1],
        "determinant": np.linalg.det(sample.A),
        "errors": first[:, 0, 0] * second[:, 0],
        "attained": np.einsum("tq,tq->t", second, np.linalg.solve(sample.A, second[..., None])[..., 0]),
    }
    arrays = {"A": sample.A, "G": sample.G, "b": sample.b, "beta": sample.beta_hat}
    for name, values in arrays.items():
        scalars |= {f"{name} {k}": column for k, column in enumerate(values.reshape(len(values), -1).T)}
    return scalars


def differing(left: MomentSample, right: MomentSample, given: LinearModel) -> set[str]:
    others = functionals(right, given)
    return {name for name, values in functionals(left, given).items() if not same_law(values, others[name])}


# --- moments without records ---


def test_moments_drawn_by_bartlett_have_the_law_of_those_of_records():
    """5000 against 5000: a distance of 0.07 between the samples of any functional is seen."""
    drawn = model().moments(np.random.default_rng(1), 5000)
    averaged = model().records(np.random.default_rng(2), 5000).moments
    assert differing(drawn, averaged, model()) == set()


def test_wrong_moments_are_told_apart():
    """Negative controls: n degrees of freedom in every row, errors scaled by 1.3, errors independent of each other."""
    averaged = model().records(np.random.default_rng(2), 5000).moments

    class Biased(np.random.Generator):
        def chisquare(self, df, size=None):
            return super().chisquare(np.max(df) + 0 * np.asarray(df), size)

    wrong = model().moments(Biased(np.random.SFC64(1)), 5000)
    assert "determinant" in differing(wrong, averaged, model())
    scaled = model(error_covariance=1.69 * ERRORS).moments(np.random.default_rng(1), 5000)
    assert "attained" in differing(scaled, averaged, model())
    uncorrelated = model(error_covariance=np.diag(np.diag(ERRORS))).moments(np.random.default_rng(1), 5000)
    assert "errors" in differing(uncorrelated, averaged, model())


@pytest.mark.parametrize("instruments", ["gaussian", "sign"])
@pytest.mark.parametrize("drawn", ["records", "moments"])
def test_moments_have_the_exact_means_and_fluctuations(instruments, drawn):
    """E A = Sigma, E G = Sigma Theta, E b = Sigma Theta beta; var G_ij from fourth moments for Gaussian z."""
    given = model(n=40, instruments=instruments)
    sample = given.draw(np.random.default_rng(3), 20_000, records=drawn == "records").moments
    expected = (INSTRUMENTS, INSTRUMENTS @ given.theta, INSTRUMENTS @ given.theta @ given.beta)
    for values, mean in zip((sample.A, sample.G, sample.b), expected, strict=True):
        error = values.std(axis=0) / math.sqrt(20_000)
        assert (np.abs(values.mean(axis=0) - mean) <= stats.norm.isf(ALPHA / 40) * np.maximum(error, 1e-12)).all()
    if instruments == "gaussian":
        x_variance = given.theta.T @ INSTRUMENTS @ given.theta + ERRORS[:2, :2]
        cross = INSTRUMENTS @ given.theta
        variance = (np.outer(np.diag(INSTRUMENTS), np.diag(x_variance)) + cross**2) / 40
        assert sample.G.var(axis=0) == pytest.approx(variance, rel=0.1)


def test_moments_at_a_sample_size_no_records_could_have():
    """n = 10^12: A = Sigma and beta_hat = beta up to errors of order 10^-6."""
    sample = model(n=10**12).moments(np.random.default_rng(0), 10)
    assert np.abs(sample.A - INSTRUMENTS).max() < 2e-5
    assert sample.beta_hat == pytest.approx(np.tile([0.7, -1.1], (10, 1)), abs=2e-5)
    assert not np.any(sample.beta_hat == [0.7, -1.1])


def test_fast_and_slow_runs_have_the_same_law():
    """Final errors of unclipped runs on drawn moments and of runs on records whose clip norm is out of reach."""
    settings = Settings(steps=6, eta=0.2, alpha=0.1, lambda1=0.2, lambda2=4.0)
    fast, slow, other = (
        Experiment(algorithm=two_stage_descent, problem=model(), settings=one, block_trials=5000).run_block(0, seed=1)
        for one in (settings, replace(settings, gamma1=1e9, gamma2=1e9), replace(settings, lambda2=5.0))
    )
    for name in ("error_hat", "error_true", "two_stage_error"):
        assert same_law(fast[name], slow[name])
    assert not same_law(fast["error_hat"], other["error_hat"])


# --- records ---


def test_records_follow_the_structural_equations():
    given = model(n=100_000)
    sample = given.records(np.random.default_rng(4), 1)
    Z, X, Y = sample.instruments[0].T, sample.regressors[0].T, sample.outcome[0]
    rows = np.column_stack([Z, X - Z @ given.theta, Y - X @ given.beta])
    covariance = np.zeros((6, 6))
    covariance[:3, :3], covariance[3:, 3:] = INSTRUMENTS, ERRORS
    deviation = np.sqrt((covariance**2 + np.outer(np.diag(covariance), np.diag(covariance))) / 100_000)
    assert (np.abs(rows.T @ rows / 100_000 - covariance) <= stats.norm.isf(ALPHA / 72) * deviation).all()
    assert (np.abs(rows.mean(axis=0)) <= stats.norm.isf(ALPHA / 12) * np.sqrt(np.diag(covariance) / 100_000)).all()


def test_sign_instruments_are_plus_and_minus_one():
    sample = model(n=1000, instruments="sign", instrument_covariance=None).records(np.random.default_rng(0), 2)
    assert set(np.unique(sample.instruments)) == {-1.0, 1.0}


def test_a_confounder_in_the_open_gives_the_same_law():
    """Section 4.1 with u drawn: p = q = r = 2."""
    given = synthetic_model(n=10, p=2, q=2, r=2, parameter_seed=3)
    generator = np.random.default_rng(3)
    beta, E = generator.standard_normal(2), generator.standard_normal((2, 2))
    Phi, phi = generator.standard_normal((2, 2)), generator.standard_normal(2)
    assert given.theta == pytest.approx(5.0 * np.eye(2) + E)
    assert given.beta == pytest.approx(beta)
    Z, U, e_x = (np.random.default_rng(7 + k).standard_normal((5000, 2, 10)) for k in range(3))
    X = given.theta.T @ Z + Phi.T @ U + e_x
    Y = beta @ X + phi @ U + np.random.default_rng(10).standard_normal((5000, 10))
    naive = RecordSample(instruments=Z, regressors=X, outcome=Y).moments
    drawn = given.records(np.random.default_rng(11), 5000).moments
    unconfounded = synthetic_model(n=10, p=2, q=2, r=0, parameter_seed=3).records(np.random.default_rng(11), 5000)
    assert differing(naive, drawn, given) == set()
    assert "errors" in differing(naive, unconfounded.moments, given)


@pytest.mark.parametrize(("seed", "slow_mode"), [(0, 0.010), (1, 0.002), (2, 0.18), (3, 0.03), (4, 0.22)])
def test_section_4_1_parameters_are_the_stated_draws(seed, slow_mode):
    """p = q = r = 5: (1 - alpha sigma_min^2)^20 at alpha = 2 / (2 sigma_max^2 + sigma_min^2)."""
    largest, *_, least = np.linalg.svd(
        synthetic_model(n=10, p=5, q=5, r=5, parameter_seed=seed).theta, compute_uv=False
    )
    assert (1 - 2 * least**2 / (2 * largest**2 + least**2)) ** 20 == pytest.approx(slow_mode, rel=0.12)


def test_the_surrogate_resembles_what_it_stands_for():
    angrist = angrist_surrogate().records(np.random.default_rng(0), 20)
    assert angrist.outcome.shape == (20, 8065)
    assert set(np.unique(angrist.instruments)) == {-0.5, 0.5}
    assert angrist.outcome.std() == pytest.approx(22.0, rel=0.02)
    assert angrist.regressors.std() == pytest.approx(0.48, rel=0.02)
    assert np.median(angrist.moments.beta_hat) == pytest.approx(-4.3, abs=6.0)


# --- 2SLS ---


def test_2sls_is_exact_on_integer_data():
    generator = np.random.default_rng(2)
    Z, X = generator.integers(-3, 4, (8, 3)), generator.integers(-3, 4, (8, 2))
    Y = generator.integers(-3, 4, 8)
    sample = FixedData(instruments=Z, regressors=X, outcome=Y).sample.moments

    def solve(matrix, right):
        """Gaussian elimination in fractions."""
        rows = [
            [Fraction(int(v)) if not isinstance(v, Fraction) else v for v in [*a, *b]]
            for a, b in zip(matrix, right, strict=True)
        ]
        size = len(rows)
        for k in range(size):
            pivot = next(i for i in range(k, size) if rows[i][k] != 0)
            rows[k], rows[pivot] = rows[pivot], rows[k]
            rows[k] = [v / rows[k][k] for v in rows[k]]
            for i in range(size):
                if i != k:
                    rows[i] = [v - rows[i][k] * w for v, w in zip(rows[i], rows[k], strict=True)]
        return np.array([row[size:] for row in rows], dtype=object)

    theta = solve(Z.T @ Z, Z.T @ X)
    fitted = Z @ theta
    beta = solve(fitted.T @ fitted, (fitted.T @ Y)[:, None])[:, 0]
    assert sample.theta_hat[0] == pytest.approx(theta.astype(float), rel=1e-13)
    assert sample.beta_hat[0] == pytest.approx(beta.astype(float), rel=1e-12)


def test_2sls_in_the_batch_is_that_of_the_theory():
    records = model(n=30).records(np.random.default_rng(5), 4)
    for trial in range(4):
        own = Moments.of(records.instruments[trial].T, records.regressors[trial].T, records.outcome[trial])
        for name in ("A", "G", "b", "theta_hat", "beta_hat"):
            assert getattr(records.moments, name)[trial] == pytest.approx(getattr(own, name), rel=1e-11)


def test_2sls_does_not_square_the_condition_of_the_second_stage():
    """Columns of Theta that differ by 10^-6: normal equations would leave four digits."""
    generator = np.random.default_rng(0)
    Z = np.linalg.qr(generator.standard_normal((50, 3)))[0] * math.sqrt(50)
    base = generator.standard_normal(3)
    X = Z @ np.column_stack([base, base + 1e-6 * generator.standard_normal(3)])
    found = FixedData(instruments=Z, regressors=X, outcome=X @ np.array([1.0, 2.0])).sample.moments.beta_hat[0]
    assert found == pytest.approx([1.0, 2.0], abs=1e-8)


# --- fixed problems ---


def test_a_fixed_data_set_is_known_by_its_content():
    fixed = model(n=20).fixed(data_seed=1)
    again, other = model(n=20).fixed(data_seed=1), model(n=20).fixed(data_seed=2)
    assert fixed.digest == again.digest != other.digest
    assert len(str(describe(fixed))) < 300
    assert describe(fixed) == describe(again)
    shifted = FixedData(instruments=fixed.instruments, regressors=fixed.regressors, outcome=fixed.outcome)
    assert shifted.digest == fixed.digest
    assert describe(shifted) != describe(fixed), "errors against the truth need the truth"
    swapped = FixedData(instruments=fixed.regressors, regressors=fixed.instruments[:, :2], outcome=fixed.outcome)
    assert swapped.digest != fixed.digest
    assert not fixed.instruments.flags.writeable
    assert fixed.draw(np.random.default_rng(0), 5, records=True) is fixed.sample
    assert fixed.dimensions == (3, 2)


def test_fixed_moments_are_those_given():
    given = Moments(A=INSTRUMENTS, G=INSTRUMENTS[:, :2], b=INSTRUMENTS[:, 2], n=10**15)
    problem = FixedMoments(given=given, beta=np.zeros(2))
    sample = problem.draw(np.random.default_rng(0), 3, records=False)
    assert (problem.n, problem.dimensions) == (10**15, (3, 2))
    assert sample.beta_hat[0] == pytest.approx(given.beta_hat)
    assert describe(problem) == describe(FixedMoments(given=given, beta=np.zeros(2)))


# --- bad input ---


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"n": 2}, "^n = 2 .*3 instruments"),
        ({"theta": np.zeros((3, 2))}, "^theta = .*rank 2"),
        ({"theta": np.ones((3, 1))}, "^theta = "),
        ({"theta": np.eye(2)[:1]}, "^theta = "),
        ({"beta": np.array([1.0, math.nan])}, "^beta"),
        ({"error_covariance": np.eye(2)}, "^error_covariance = .*symmetric"),
        ({"error_covariance": np.diag([1.0, 1.0, -0.1])}, "^error_covariance = .*semidefinite"),
        ({"instrument_covariance": np.diag([1.0, 1.0, 0.0])}, "^instrument_covariance = .*definite"),
        ({"instrument_covariance": np.triu(np.ones((3, 3)))}, "^instrument_covariance = .*symmetric"),
        ({"instruments": cast(Any, "uniform")}, "^instruments = "),
    ],
)
def test_models_that_are_none_are_refused(changed, message):
    with pytest.raises(DomainError, match=message):
        model(**changed)


def test_errors_without_noise_are_allowed():
    exact = model(n=30, error_covariance=np.zeros((3, 3))).moments(np.random.default_rng(0), 2)
    assert exact.beta_hat == pytest.approx(np.tile([0.7, -1.1], (2, 1)))


def test_counts_of_section_4_1_are_checked():
    for changed, message in (({"q": 1}, "^q = 1"), ({"p": 0}, "^p = "), ({"r": -1}, "^r = "), ({"n": 1}, "^n = 1")):
        with pytest.raises(DomainError, match=message):
            synthetic_model(**{"n": 10, "p": 2, "q": 2, "r": 1, "parameter_seed": 0, **changed})


@pytest.mark.parametrize(
    ("Z", "X", "message"),
    [
        (np.ones((4, 2)), np.eye(4)[:, :1], "Z'Z/n"),
        (np.array([[1.0], [-1.0], [1.0], [-1.0]]), np.array([[1.0], [1.0], [-1.0], [-1.0]]), "Z'X/n"),
        (np.eye(4)[:, :1], np.eye(4)[:, :2], "^q = 1"),
        (np.eye(3), np.eye(3)[:, :1], "rows"),
        (np.full((4, 1), math.inf), np.ones((4, 1)), "instruments"),
        (np.ones(4), np.ones((4, 1)), "instruments"),
        (np.eye(4)[:, :1], 1e61 * np.ones((4, 1)), "largest entry of regressors = 1e\\+61"),
    ],
)
def test_data_that_leave_2sls_undefined_are_refused(Z, X, message):
    with pytest.raises(DomainError, match=message):
        FixedData(instruments=Z, regressors=X, outcome=np.ones(4))


def test_a_known_coefficient_has_one_entry_per_regressor():
    fixed = model(n=20).fixed(data_seed=1)
    with pytest.raises(DomainError, match=r"^beta = .*\(2,\)"):
        FixedData(instruments=fixed.instruments, regressors=fixed.regressors, outcome=fixed.outcome, beta=np.ones(3))
    with pytest.raises(DomainError, match=r"^beta = "):
        FixedMoments(given=Moments(A=np.eye(1), G=np.eye(1), b=np.ones(1), n=9), beta=np.ones(2))
