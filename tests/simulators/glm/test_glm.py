"""Models of paper `glm` in law against sums over records, steps of the estimators by hand, and what is refused.

Two-sample tests at 1e-9 each; 400 samples notice a shift of half a standard deviation.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from dpbounds import DomainError
from dpbounds.glm import LINKS, TwoPointDesign, scale, sign_design
from simulators.engine import Experiment
from simulators.glm import GaussianModel, Settings, TwoPointModel, bounded, estimate, find_scale, wishart

W = np.array([0.6, -0.4, 0.3])
SIGMA = np.array([[1.2, 0.3, 0.0], [0.3, 0.8, -0.2], [0.0, -0.2, 0.6]])
SAMPLES, ALPHA = 400, 1e-9


def gaussian(link: str = "logistic", **changes) -> GaussianModel:
    given = {"link": LINKS[link], "w": W, "n": 60, "m": 50, "covariance": SIGMA}
    return GaussianModel(**{**given, **changes})


def signs(link: str = "cubic", **changes) -> TwoPointModel:
    given = {"link": LINKS[link], "w": W, "n": 60, "m": 50, "design": sign_design(3)}
    return TwoPointModel(**{**given, **changes})


def run(problem, settings: Settings, trials: int, seed: int = 0) -> dict[str, np.ndarray]:
    return Experiment(algorithm=estimate, problem=problem, settings=settings, block_trials=trials).run_block(
        0, seed=seed
    )


def same(first, second) -> bool:
    """One law; values that differ by rounding alone are equal."""
    return stats.ks_2samp(np.round(first, 9), np.round(second, 9), method="asymp").pvalue > ALPHA  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "problem",
    [
        gaussian(),
        gaussian("poisson"),
        gaussian("sigmoid", noise=0.5),
        signs("logistic"),
        signs("poisson", design=TwoPointDesign(p=3, high=1.0, low=-0.25, probability=0.2)),
        signs("cubic", noise=0.2),
    ],
    ids=lambda problem: f"{type(problem).__name__}-{problem.link.name}",
)
def test_sums_in_law_are_those_of_records(problem):
    rng = np.random.default_rng(3)
    law, rows = [], []
    for _ in range(SAMPLES):
        sums = problem.sums(rng)
        law.append([*sums.gram[np.triu_indices(3)], *sums.cross, *(sums.cross[:, None] * sums.gram[0]).ravel()])
        x = problem.rows(problem.n, rng)
        y = problem.labels(x @ W, rng)
        gram, cross = x.T @ x, x.T @ y
        rows.append([*gram[np.triu_indices(3)], *cross, *(cross[:, None] * gram[0]).ravel()])
    for one, other in zip(np.array(law).T, np.array(rows).T, strict=True):
        assert same(one, other)


@pytest.mark.parametrize("problem", [gaussian(), signs()], ids=("gaussian", "signs"))
def test_public_projections_are_those_of_records(problem):
    rng = np.random.default_rng(4)
    law, rows = [], []
    for _ in range(SAMPLES):
        public = problem.public(rng)
        average = public.average(W)
        law.append([average(np.cos), average(np.square), public.gram[0, 1], average(np.cos) * public.gram[0, 0]])
        x = problem.rows(problem.m, rng)
        mean = float(np.mean(np.cos(x @ W)))
        rows.append([mean, float(np.mean((x @ W) ** 2)), float(x[:, 0] @ x[:, 1]), mean * float(x[:, 0] @ x[:, 0])])
    for one, other in zip(np.array(law).T, np.array(rows).T, strict=True):
        assert same(one, other)


def test_wishart_is_a_sum_of_outer_products():
    rng = np.random.default_rng(5)
    law = [np.linalg.slogdet(wishart(3, 5, rng))[1] for _ in range(SAMPLES)]
    rows = [np.linalg.slogdet((x := rng.standard_normal((5, 3))).T @ x)[1] for _ in range(SAMPLES)]
    assert same(law, rows)


def test_noise_in_law_is_that_of_users():
    options = {"gram_scale": 0.4, "cross_scale": 0.4, "estimator": "no-public-data"}
    small = gaussian("poisson", n=15, m=0)  # whose scale has a closed form
    one = run(small, Settings(**options), 300)["w_ols"]
    each = run(small, Settings(**options, per_user_noise=True), 300)["w_ols"]
    for j in range(3):
        assert same(one[:, j], each[:, j])


def test_a_noisy_gram_matrix_that_is_not_definite_is_told():
    """Noise of 0.6 an entry per record, on eigenvalues from 0.5 on."""
    runs = run(gaussian(n=100, m=0), Settings(gram_scale=6.0, estimator="no-public-data"), 50)
    assert 0 < np.mean(runs["definite"]) < 1


@pytest.mark.parametrize("name", LINKS)
def test_scale_is_the_smallest_root(name):
    """Against a scan on fixed projections."""
    link = LINKS[name]
    z = 0.3 * np.random.default_rng(6).standard_normal(500)
    found = find_scale(link, lambda g: float(np.mean(g(z))))
    assert found is not None and np.sign(found) == link.sign
    grid = np.linspace(1e-3, abs(found) * 0.999, 2000)
    values = [c * float(np.mean(link.slope(link.sign * c * z))) * link.sign for c in grid]
    assert max(values) < 1.0
    assert found * float(np.mean(link.slope(found * z))) == pytest.approx(1.0, rel=1e-9)


def test_no_root_is_counted_and_costs_an_infinite_error():
    s = 2 * scale.supremum("logistic")
    z = s * np.random.default_rng(7).standard_normal(100_000)
    assert find_scale(LINKS["logistic"], lambda g: float(np.mean(g(z)))) is None
    runs = run(gaussian(), Settings(cross_scale=2.0), 60)
    missing = ~runs["has_root"]
    assert 0 < missing.sum() < 60
    assert np.all(np.isinf(runs["relative_l2"][missing])) and np.all(np.isnan(runs["w"][missing]))
    assert np.all(np.isfinite(runs["relative_l2"][~missing]))


def test_records_beyond_the_bounds_are_kept_refused_or_clipped():
    x, y = np.array([[3.0, 4.0], [0.3, 0.4]]), np.array([2.0, -0.5])
    options = {"radius": 1.0, "label_bound": 1.0}
    assert [part.tolist() for part in bounded(x, y, Settings(beyond="refuse", **options))] == [[[0.3, 0.4]], [-0.5]]
    clipped = bounded(x, y, Settings(beyond="clip", **options))
    assert clipped[0] == pytest.approx(np.array([[0.6, 0.8], [0.3, 0.4]])) and clipped[1].tolist() == [1.0, -0.5]
    assert np.array_equal(bounded(x, y, Settings())[0], x)
    refused = run(gaussian(n=2000), Settings(beyond="refuse", radius=1.6), 3)["refused"]
    assert np.all((refused > 0.2) & (refused < 0.6))


@pytest.mark.parametrize("estimator", ("paper", "pooled", "public-covariance", "no-public-data", "two-round"))
@pytest.mark.parametrize("link", ("logistic", "poisson", "cubic"))
def test_estimates_are_consistent(estimator, link):
    """20 runs of 40000 records without noise: far within 10 %, where the standard deviation is below 3 %."""
    problem = gaussian(link, n=40_000, m=40_000 if estimator != "two-round" else 0)
    errors = run(problem, Settings(estimator=estimator), 5)["relative_l2"]
    assert np.median(errors) < 0.01


def test_same_seed_same_numbers():
    settings = Settings(gram_scale=0.1, cross_scale=0.1)
    first, again = (run(gaussian(), settings, 3, seed=9)["w"] for _ in range(2))
    assert np.array_equal(first, again) and not np.array_equal(first, run(gaussian(), settings, 3, seed=10)["w"])


def test_patterns_are_counted_or_drawn():
    """17 coordinates are too many to count patterns of: records are drawn instead, with the same sums."""
    many = signs("logistic", w=np.full(17, 0.3), design=sign_design(17), n=100)
    sums = many.sums(np.random.default_rng(0))
    assert np.diag(sums.gram) == pytest.approx(np.full(17, 100 / 17**2))
    patterns = np.array(list(itertools.product([1 / 3, -1 / 3], repeat=3)))
    assert signs().covariance == pytest.approx(patterns.T @ patterns / 8)


@pytest.mark.parametrize(
    ("call", "words"),
    (
        (lambda: gaussian(n=4), "n = 4"),
        (lambda: gaussian(m=2), "m = 2"),
        (lambda: gaussian(m=-1), "m"),
        (lambda: gaussian(noise=-1.0), "noise"),
        (lambda: gaussian(covariance=np.ones((3, 3))), "covariance"),
        (lambda: gaussian(covariance=np.eye(2)), "covariance"),
        (lambda: gaussian(w=np.array([1.0, math.nan, 0.0])), "w"),
        (lambda: signs(design=sign_design(4)), "design"),
        (lambda: Settings(estimator="best"), "estimator"),  # type: ignore[arg-type]
        (lambda: Settings(beyond="drop"), "beyond"),  # type: ignore[arg-type]
        (lambda: Settings(beyond="clip"), "give radius"),
        (lambda: Settings(gram_scale=-1.0), "gram_scale"),
        (lambda: Settings(radius=0.0), "radius"),
        (lambda: run(gaussian(m=0), Settings(), 1), "m = 0"),
    ),
)
def test_refused(call, words):
    with pytest.raises(DomainError, match=words):
        call()
