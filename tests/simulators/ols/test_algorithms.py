"""The algorithms step by step against plain loops over records, and the ways to draw a sketch against one another.

Tests of laws are two-sample Kolmogorov-Smirnov tests at 1e-9; what they see at their sizes is told by
`test_a_wrong_law_is_seen`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpbounds import DomainError
from dpbounds.ols import DynamicMixing
from simulators.engine import Experiment, Streams
from simulators.ols import (
    AdaSSP,
    ClippedSums,
    GradientDescent,
    HessianMixing,
    LeastSquares,
    LinearMixing,
    SketchAndSolve,
    adassp,
    bartlett,
    dynamic_mixing,
    family,
    gradient_descent,
    hessian_mixing,
    inverse_action,
    linear_mixing,
    mixing_noise,
    sketch_and_solve,
    symmetric_noise,
)
from simulators.ols import clipping as clipping_module

ALPHA = 1e-9
WAYS: tuple[tuple[Any, int], ...] = (("wishart", 6000), ("explicit", 800))
PROBLEM = family("residual", n=300, seed=1)
MIXING = {"steps": 3, "k": 40, "gamma": 30.0, "tau": 3.0, "sigma": 2.0}


def run(algorithm, settings, trials: int, problem: LeastSquares = PROBLEM, seed: int = 0):
    return Experiment(algorithm=algorithm, problem=problem, settings=settings, block_trials=trials).run_block(
        0, seed=seed
    )


def same_law(first: np.ndarray, second: np.ndarray) -> bool:
    test: Any = stats.ks_2samp(first, second, method="asymp")
    return bool(test.pvalue > ALPHA)


def streams(seed: int) -> Streams:
    return Streams(**{name: np.random.default_rng([seed, i]) for i, name in enumerate(("noise", "data", "initial"))})


def small(n: int = 40, d: int = 3, seed: int = 0, row_bound: float = 1.0, outcome_bound: float = 1.0) -> LeastSquares:
    generator = np.random.default_rng(seed)
    X, Y = generator.uniform(-1, 1, (n, d)), generator.uniform(-1, 1, n)
    X *= row_bound / np.linalg.norm(X, axis=1).max()
    Y *= outcome_bound / np.abs(Y).max()
    return LeastSquares(regressors=X, outcome=Y, row_bound=row_bound, outcome_bound=outcome_bound)


@pytest.mark.parametrize(
    ("clip", "kind", "keep_ridge", "step"),
    [
        (1.0, "entrywise", False, 1.0),
        (0.6, "norm", True, 1.0),
        (0.6, "entrywise", True, 0.8),
        (np.inf, "norm", False, 1.0),
    ],
)
def test_three_ways_to_draw_the_sketch_have_one_law(clip, kind, keep_ridge, step):
    found = {}
    sizes: tuple[tuple[Any, int], ...] = (("action", 6000), ("wishart", 4000), ("explicit", 600))
    for sketch, trials in sizes:
        settings = HessianMixing(**MIXING, clip=clip, clipping=kind, keep_ridge=keep_ridge, step=step, sketch=sketch)
        found[sketch] = run(hessian_mixing, settings, trials)
    for other in ("wishart", "explicit"):
        for read in (
            lambda r: r["risk"],
            lambda r: r["theta"][:, 0],
            lambda r: r["theta"][:, 9],
            lambda r: r["clipped"][:, 2],
        ):
            assert same_law(read(found["action"]), read(found[other]))


def test_linear_mixing_by_bartlett_and_by_the_sketch_itself_have_one_law():
    for settings in ({"k": 30, "gamma": 20.0, "tau": 3.0}, {"k": 17, "gamma": 3.0, "tau": 3.0, "noise_factor": 2.0}):
        quick, direct = (run(linear_mixing, LinearMixing(**settings, sketch=sketch), trials) for sketch, trials in WAYS)
        for name in ("risk", "eta_squared"):
            assert same_law(quick[name], direct[name])
        assert same_law(quick["theta"][:, 1], direct["theta"][:, 1])


def test_sketch_and_solve_without_noise_has_its_f_law_down_to_k_equal_to_d():
    d, loss = PROBLEM.d, PROBLEM.least_loss
    for k in (d, d + 1, 3 * d):
        risk = run(sketch_and_solve, SketchAndSolve(k=k), 8000)["risk"]
        ratio = stats.f(d, k - d + 1)
        assert stats.kstest(risk / loss * (k - d + 1) / d, ratio.cdf).pvalue > ALPHA


def test_a_wrong_law_is_seen():
    """Two rows of twelve fewer, noise 15 % louder: seen at the sizes above."""
    generator, v = np.random.default_rng(0), np.ones((8000, 4))
    right = inverse_action(generator, v, 12)[:, 0]
    assert not same_law(right, inverse_action(generator, v, 10)[:, 0])
    settings = HessianMixing(**MIXING, clip=1.0)
    base = run(hessian_mixing, settings, 8000)["risk"]
    louder = run(hessian_mixing, HessianMixing(**{**MIXING, "sigma": 2.3}, clip=1.0), 8000)["risk"]
    assert not same_law(base, louder)


def test_bartlett_triangles_give_wishart_matrices():
    generator = np.random.default_rng(3)
    T = bartlett(generator, 20_000, 3, 5)
    W = T @ np.swapaxes(T, 1, 2)
    for x in (np.array([1.0, 0, 0]), np.array([0.6, -0.5, 2.0])):
        assert stats.kstest(np.einsum("i,tij,j->t", x, W, x) / (x @ x), stats.chi2(5).cdf).pvalue > ALPHA
    determinants = np.linalg.det(W)
    direct = np.prod([generator.chisquare(5 - i, 20_000) for i in range(3)], axis=0)
    assert same_law(determinants, direct)
    V = run_inverse = np.linalg.inv(W / 5) @ np.array([1.0, 2.0, -1.0])
    action = inverse_action(generator, np.tile([1.0, 2.0, -1.0], (20_000, 1)), 5)
    for axis in range(3):
        assert same_law(V[:, axis], action[:, axis])
    assert same_law(np.linalg.norm(run_inverse, axis=1), np.linalg.norm(action, axis=1))


def plain_sum(problem: LeastSquares, theta: np.ndarray, clip: float, kind: str) -> tuple[np.ndarray, float]:
    """Record by record."""
    total, clipped = np.zeros(problem.d), 0
    for x, y in zip(problem.regressors, problem.outcome, strict=True):
        r = y - x @ theta
        size = abs(r) if kind == "entrywise" else np.linalg.norm(x * r)
        total += x * r * min(1.0, clip / size) if size > 0 else 0.0
        clipped += size > clip
    return total, clipped / problem.n


@pytest.mark.parametrize("kind", ["entrywise", "norm"])
@pytest.mark.parametrize("clip", [0.05, 0.5, 1.0, 30.0])
def test_clipped_sums_are_those_of_a_loop_over_records(kind, clip, monkeypatch):
    monkeypatch.setattr(clipping_module, "MOST_NUMBERS", 350)  # several blocks of trials
    for problem in (small(), family("clip", n=60, seed=2), PROBLEM):
        generator = np.random.default_rng(5)
        theta = problem.theta_star + generator.standard_normal((9, problem.d)) * np.geomspace(1e-6, 1e3, 9)[:, None]
        sums, shares = ClippedSums(problem=problem, clip=clip, clipping=kind).at(theta @ problem.eigenvectors)
        expected = [plain_sum(problem, one, clip, kind) for one in theta]
        size = np.abs([total for total, _ in expected]).max(axis=1) + np.abs(problem.cross).max()
        back = sums @ problem.eigenvectors.T
        # Sums without clipping are subtracted from: relative to those.
        size = size + np.linalg.norm(theta, axis=1) * problem.eigenvalues[-1]
        assert np.all(np.abs(back - [total for total, _ in expected]) <= 1e-11 * size[:, None])
        assert np.allclose(shares, [share for _, share in expected], atol=1e-12)


def test_no_record_is_clipped_that_the_certificate_passes_over():
    """Estimates on the very edge of what a record's reach allows, in the worst direction."""
    problem = PROBLEM
    sums = ClippedSums(problem=problem, clip=1.0, clipping="entrywise")
    X, Q = problem.regressors @ problem.eigenvectors, sums._metric
    start, residuals = (
        problem.eigenvectors.T @ problem.theta_star,
        problem.outcome - problem.regressors @ problem.theta_star,
    )
    for record in range(0, problem.n, 7):
        direction = -np.sign(residuals[record]) * X[record] / Q
        direction *= sums._reaches[record] / np.sqrt(np.sum(direction**2 * Q))
        for factor, clipped in ((1 - 1e-6, False), (1 + 1e-6, True)):
            theta = start + factor * direction
            _, share = sums.at(theta[None])
            exact = np.abs(problem.outcome - X @ theta) > 1.0
            assert share[0] == pytest.approx(exact.mean(), abs=1e-12)
            assert exact[record] == clipped


def test_mixing_noise_is_algorithm_2():
    z = np.array([-10.0, 0.0, 3.0, 100.0])
    noise = mixing_noise(5.0, 2.0, gamma=4.0, tau=3.0, scale=0.5, z=z)
    released = [max(5.0 - 0.5 * 4.0 * (3.0 - one), 0.0) for one in z]
    assert np.allclose(noise, [max(16.0 - one, 0.0) for one in released])


def test_adassp_and_gradient_descent_against_plain_loops():
    problem = small(row_bound=2.0, outcome_bound=3.0)
    settings = AdaSSP(eigenvalue_scale=0.3, gram_scale=0.2, cross_scale=0.4, shift=1.5, ridge=9.0)
    found = adassp(problem, settings, streams(1), 4)
    generator = streams(1).noise
    z = generator.standard_normal(4)
    noise, zeta = symmetric_noise(generator, 4, 3), generator.standard_normal((4, 3))
    A, b = problem.regressors.T @ problem.regressors, problem.regressors.T @ problem.outcome
    for trial in range(4):
        least = max(np.linalg.eigvalsh(A)[0] + 0.3 * 4 * (z[trial] - 1.5), 0.0)
        ridge = max(9.0 * 4 - least, 0.0)
        theta = np.linalg.solve(A + 4 * 0.2 * noise[trial] + ridge * np.eye(3), b + 6 * 0.4 * zeta[trial])
        assert np.allclose(found["theta"][trial], theta, rtol=1e-10)
        assert found["ridge"][trial] == pytest.approx(ridge)
    descent = GradientDescent(steps=4, rate=0.3, sigma=0.5, clip=1.2)
    found = gradient_descent(problem, descent, streams(2), 3)
    generator, theta = streams(2).noise, np.zeros((3, 3))
    for step in range(4):
        Z = generator.standard_normal((3, 3)) @ problem.eigenvectors.T * 0.5
        for trial in range(3):
            total, share = plain_sum(problem, theta[trial], 1.2, "norm")
            assert found["clipped"][trial, step] == pytest.approx(share)
            theta[trial] = theta[trial] + 0.3 * (Z[trial] + total / problem.n)
    assert np.allclose(found["theta"], theta, rtol=1e-9)


def test_noise_of_a_scale_lies_on_and_above_the_diagonal():
    for isotropic, off in ((False, 1.0), (True, 0.5)):
        noise = symmetric_noise(np.random.default_rng(0), 40_000, 3, isotropic)
        assert np.array_equal(noise, np.swapaxes(noise, 1, 2))
        assert np.allclose(noise[:, 0, 1].var(), off, rtol=0.05)
        assert np.allclose(noise[:, 1, 1].var(), 1.0, rtol=0.05)


def test_dynamic_mixing_takes_a_larger_sketch_exactly_where_the_eigenvalue_allows_it():
    settings = DynamicMixing(epsilon=2.0, delta=1e-3, k=6, failure=1e-4)
    n = 3 * math.ceil(2 * settings.gamma + settings.test_noise(2.0) * settings.tau)
    problem = LeastSquares(regressors=np.eye(3)[np.arange(n) % 3], outcome=np.sin(1.0 * np.arange(n)))
    experiment = Experiment(algorithm=dynamic_mixing, problem=problem, settings=settings, block_trials=400)
    found = experiment.run_block(0, seed=0)
    z = experiment.streams(0, seed=0).noise.standard_normal(400)
    level = (problem.lambda_min_joint - settings.test_noise(2.0) * (settings.tau - z)) / 2
    large = level >= settings.gamma
    assert 0 < large.sum() < 400
    assert np.all((found["eta_squared"] == 0) == large)
    assert np.all(found["k"][~large] == 6)
    assert np.all(found["k"][large] >= 6)
    assert found["k"].max() > 6


def test_same_seed_same_numbers_and_other_settings_other_streams():
    first, again = (run(hessian_mixing, HessianMixing(**MIXING, clip=1.0), 5)["theta"] for _ in range(2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, run(hessian_mixing, HessianMixing(**MIXING, clip=1.0), 5, seed=1)["theta"])


@pytest.mark.parametrize(
    ("algorithm", "settings"),
    [
        (hessian_mixing, HessianMixing(**{**MIXING, "k": 15}, clip=1.0)),
        (linear_mixing, LinearMixing(k=15, gamma=3.0, tau=1.0)),
        (sketch_and_solve, SketchAndSolve(k=15)),
    ],
)
def test_sketches_with_fewer_rows_than_columns_are_refused(algorithm, settings):
    with pytest.raises(DomainError, match="k = 15"):
        run(algorithm, settings, 2)


def test_sketches_without_noise_of_singular_data_are_refused():
    X = np.tile([[0.5, 0.5]], (8, 1))
    problem = LeastSquares(regressors=X, outcome=np.linspace(-1, 1, 8))
    for algorithm, settings in (
        (hessian_mixing, HessianMixing.without_noise(steps=1, k=9)),
        (sketch_and_solve, SketchAndSolve(k=9)),
    ):
        with pytest.raises(DomainError, match="singular"):
            run(algorithm, settings, 2, problem)


@pytest.mark.parametrize(
    "broken",
    [
        {"steps": 0},
        {"k": 2.5},
        {"gamma": -1.0},
        {"sigma": float("nan")},
        {"clip": 0.0},
        {"clipping": "row"},
        {"sketch": "fast"},
    ],
)
def test_settings_validate_themselves(broken):
    with pytest.raises(DomainError):
        run(hessian_mixing, HessianMixing(**{**MIXING, "clip": 1.0, **broken}), 2)
