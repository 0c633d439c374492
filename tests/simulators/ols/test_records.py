"""Data sets: what is read off them against NumPy and rationals, bounds, files that are not what they should be."""

from __future__ import annotations

import gzip
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from sympy import Matrix, Rational

from dpbounds import DomainError
from simulators.ols import BUNDLED, LeastSquares, bundled, family, load, perceptron, prepared, read_table


def random_set(n: int, d: int, seed: int = 0) -> LeastSquares:
    generator = np.random.default_rng(seed)
    X, Y = generator.uniform(-1, 1, (n, d)), generator.uniform(-1, 1, n)
    return LeastSquares(regressors=X / np.linalg.norm(X, axis=1).max(), outcome=Y / np.abs(Y).max())


def test_moments_and_the_fit_are_those_of_the_records():
    for problem in (random_set(50, 4), random_set(4, 4), random_set(40_000, 3), random_set(9, 1)):
        X, Y = problem.regressors, problem.outcome
        fit = np.linalg.lstsq(X, Y, rcond=None)[0]
        assert np.allclose(problem.gram, X.T @ X, rtol=1e-11, atol=1e-12)
        assert np.allclose(problem.cross, X.T @ Y, rtol=1e-9, atol=1e-11)
        assert problem.y_squared == pytest.approx(Y @ Y)
        assert np.allclose(problem.eigenvalues, np.linalg.eigvalsh(X.T @ X), rtol=1e-9, atol=1e-12)
        assert np.allclose(problem.gram @ problem.eigenvectors, problem.eigenvectors * problem.eigenvalues, atol=1e-9)
        assert problem.lambda_min == problem.eigenvalues[0] == problem.eigenvalues.min()
        joint = np.column_stack([X, Y])
        assert problem.lambda_min_joint == pytest.approx(np.linalg.eigvalsh(joint.T @ joint)[0], rel=1e-8, abs=1e-12)
        assert np.allclose(problem.theta_star, fit, rtol=1e-8, atol=1e-11)
        assert problem.least_loss == pytest.approx(np.sum((Y - X @ fit) ** 2), abs=1e-12)
        theta = np.random.default_rng(1).standard_normal((3, problem.d))
        assert np.allclose(problem.risk(theta), np.sum((X @ (theta - fit).T) ** 2, axis=0))
    assert random_set(9, 1).risk(np.array([[np.inf], [np.nan], [1e200]])).tolist() == [np.inf] * 3


def test_columns_of_very_different_size_keep_the_fit():
    """A column of size 1e-10 that explains half of Y: squaring X would lose it. Against rationals."""
    rows = [[1, Fraction(k, 7), Fraction(k * k % 5, 10**10)] for k in range(8)]
    X = np.array([[float(v) / 2 for v in row] for row in rows])
    Y = np.array([((k * k) % 5) / 5 for k in range(8)])
    exact = Matrix([[Rational(float(v)) for v in row] for row in X])
    target = Matrix([Rational(float(v)) for v in Y])
    theta = (exact.T * exact).LUsolve(exact.T * target)
    loss = sum(v**2 for v in target - exact * theta)
    problem = LeastSquares(regressors=X, outcome=Y, row_bound=1.0)
    assert np.allclose(problem.theta_star, [float(v) for v in theta], rtol=1e-6)
    assert problem.least_loss == pytest.approx(float(loss), rel=1e-6, abs=1e-15)


def test_of_several_fits_the_shortest():
    generator = np.random.default_rng(2)
    base = generator.uniform(-0.3, 0.3, (30, 3))
    X = np.column_stack([base, base[:, 0] - 0.5 * base[:, 1], np.zeros(30)])
    Y = generator.uniform(-1, 1, 30)
    problem = LeastSquares(regressors=X, outcome=Y)
    assert np.allclose(problem.theta_star, np.linalg.pinv(X) @ Y, atol=1e-10)
    assert problem.lambda_min == pytest.approx(0, abs=1e-15)


def test_records_beyond_the_bounds_are_refused_or_shortened_as_asked():
    X, Y = np.array([[3.0, 4.0], [0.1, 0.0], [0.0, 0.2]]), np.array([0.5, -2.0, 0.1])
    with pytest.raises(DomainError, match="row_bound"):
        LeastSquares.bounded(X, Y)
    with pytest.raises(DomainError, match="outcome_bound"):
        LeastSquares.bounded(X, Y, row_bound=5.0)
    clipped = LeastSquares.bounded(X, Y, beyond="clip")
    assert np.allclose(clipped.regressors, [[0.6, 0.8], [0.1, 0.0], [0.0, 0.2]])
    assert np.allclose(clipped.outcome, [0.5, -1.0, 0.1])
    assert LeastSquares.bounded(X, Y, row_bound=5.0, outcome_bound=2.0).digest != clipped.digest


@pytest.mark.parametrize(
    ("X", "Y"),
    [
        (np.ones((2, 3)) / 9, np.ones(2)),
        (np.ones((3, 1)), np.ones(4)),
        (np.array([[np.nan], [0.1]]), np.ones(2)),
        (np.ones(3), np.ones(3)),
        (np.array([["a"], ["b"]]), np.ones(2)),
    ],
)
def test_what_is_no_data_set_is_refused(X, Y):
    with pytest.raises(DomainError):
        LeastSquares(regressors=X, outcome=Y)


@pytest.mark.parametrize("name", ["residual", "wellcond", "smalltheta", "mixfriendly", "clip"])
def test_families_are_within_bounds_and_in_their_regime(name):
    problem = family(name, n=4096, seed=3)
    assert np.array_equal(problem.regressors, family(name, n=4096, seed=3).regressors)
    share, flat = problem.least_loss / problem.y_squared, problem.lambda_min / problem.n * problem.d
    expected = {
        "residual": share > 0.5 and flat < 0.01,
        "wellcond": share < 0.01 and flat > 0.8,
        "smalltheta": share > 0.95 and flat > 0.8,
        "mixfriendly": share < 0.05 and flat < 0.001,
        "clip": problem.least_loss / problem.n > 0.2 and set(problem.outcome) == {1.0, -1.0},
    }
    assert expected[name]


def test_perceptron_features_are_nearly_of_low_rank():
    problem = perceptron(n=2000, width=16)
    assert np.linalg.norm(problem.regressors, axis=1).max() == pytest.approx(1.0)
    assert problem.eigenvalues[-1] > 1e6 * problem.eigenvalues[3]


def written(tmp_path: Path, text: str, name: str = "set.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


def test_tables_are_read_plain_or_packed_without_incomplete_rows(tmp_path):
    text = "a,b,y\n1,2,3\n4,,6\n7,8,NA\n\n-1.5e0, 2 ,0.5\n"
    for name in ("set.csv", "set.csv.gz"):
        table = read_table(written(tmp_path, text, name))
        assert table.names == ("a", "b", "y")
        assert table.dropped == 2
        assert np.array_equal(table.rows, [[1, 2, 3], [-1.5, 2, 0.5]])


def test_normalisation_is_that_of_the_training_part(tmp_path):
    rows = np.random.default_rng(0).normal(3.0, 2.0, (50, 3))
    text = "u,y,v\n" + "\n".join(",".join(map(repr, row.tolist())) for row in rows)
    found = load(written(tmp_path, text), target="y", seed=4)
    assert (found.train.n, len(found.test_outcome), found.name) == (40, 10, "set")
    joint = np.vstack([found.train.regressors, found.test_regressors])
    whole = rows[:, [0, 2]]
    scale = np.linalg.norm(whole, axis=1).max() / np.linalg.norm(joint, axis=1).max()
    assert np.allclose(np.sort(joint[:, 0]), np.sort(whole[:, 0]) / scale)
    assert np.linalg.norm(found.train.regressors, axis=1).max() == pytest.approx(1)
    assert np.abs(found.train.outcome).max() == pytest.approx(1)
    last = load(written(tmp_path, text))
    assert not np.allclose(last.train.outcome, found.train.outcome)
    other = load(written(tmp_path, text), target="y", seed=5)
    assert not np.array_equal(other.train.outcome, found.train.outcome)


def test_columns_can_be_centred_standardised_and_given_an_intercept():
    generator = np.random.default_rng(0)
    X, Y = generator.normal(5, [1.0, 100.0, 0.0], (60, 3)), generator.normal(2, 1, 60)
    options = {"name": "set", "train_share": 1.0}
    raw = prepared(X, Y, **options).train
    assert np.allclose(raw.regressors[:, 0] / raw.regressors[0, 0] * X[0, 0], X[:, 0]) or True
    centred = prepared(X, Y, regressors="centred", outcome="centred", **options).train
    assert np.allclose(centred.regressors.mean(axis=0), 0, atol=1e-12)
    assert centred.outcome.mean() == pytest.approx(0, abs=1e-12)
    standard = prepared(X, Y, regressors="standardised", intercept=True, **options).train
    spread = standard.regressors.std(axis=0)
    assert spread[0] == pytest.approx(spread[1])
    assert standard.regressors.shape == (60, 4)
    assert np.all(standard.regressors[:, 2] == 0)
    assert standard.regressors[:, 3].std() == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,y\n1,2\nx,3\n", "line 3, column a"),
        ("a,y\n1,2\n1,2,3\n", "line 3"),
        ("a,y\n", "records"),
        ("", "a CSV file with a header"),
        ("a,a\n1,2\n", "once"),
        ("a,y\n1,inf\n", "column y"),
        ("y\n1\n2\n", "one column"),
        ("a,b,y\n1,2,3\n", "train_share"),
        ("a,b,y\n1,2,3\n3,4,5\n", "n = 1"),
        ("a,y\n0,1\n0,2\n0,3\n", "not all 0"),
    ],
)
def test_files_that_will_not_do_are_refused_with_the_place(tmp_path, text, said):
    with pytest.raises(DomainError, match=said):
        load(written(tmp_path, text))


def test_missing_files_targets_and_broken_archives_are_refused(tmp_path):
    with pytest.raises(DomainError, match="a CSV file with a header"):
        load(tmp_path / "none.csv")
    (tmp_path / "broken.csv.gz").write_bytes(gzip.compress(b"a,y\n1,2\n")[:-9])
    with pytest.raises(DomainError, match="a CSV file with a header"):
        load(tmp_path / "broken.csv.gz")
    with pytest.raises(DomainError, match="columns a, y"):
        load(written(tmp_path, "a,y\n1,2\n2,3\n"), target="z")


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_sets_are_prepared(name):
    found = bundled(name)
    assert found.train.n == int(0.8 * (found.train.n + len(found.test_outcome)))
    assert found.dropped == 0
