"""Laws with clipping: published numbers, what is refused, what is said to be exact, rows that stand for all."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from dpbounds import AccuracyError, DomainError
from dpbounds.ols import clipping, risk
from dpbounds.ols.clipping import Descent
from dpbounds.ols.clipping.law import LEVELS, Law, risk_quantiles
from dpbounds.ols.clipping.rows import rows_of
from dpbounds.ols.gram import Gram
from verify.papers.ols.tools.clipped_by_hand import toy

SETTINGS = {"mu": 1.0, "steps": 5, "rate": 1.0, "clip": 0.1}


def records(n: int = 3000, d: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-0.5, 0.5, (n, d))
    return X, np.clip(X @ np.linspace(1, -1, d) + 0.1 * rng.standard_normal(n), -1, 1)


def test_rows_that_stand_for_all_are_never_called_exact():
    """A handful of outcomes at the bound are clipped, and none of them is among a thousand rows of all."""
    X, y = records(n=5000)
    y = np.clip(y, -0.9, 0.9)
    X[:3], y[:3] = 0.5, -1.0
    settings = {"mu": 1e4, "steps": 3, "rate": 0.5, "clip": 0.99}
    some, whole = (clipping.gradient_descent(X, y, rows=rows, **settings) for rows in (1000, None))
    assert (
        some.risk.kind == "estimate" and max(some.shares) < 1e-9 < max(whole.shares) and whole.risk.kind == "estimate"
    )
    mixing = {"steps": 3, "k": 60, "eta_squared": 4.0, "sigma": 0.6, "clip": 0.99}
    assert clipping.hessian_mixing(X, y, rows=1000, **mixing).risk.kind == "estimate"


def test_published_numbers_of_the_toy():
    law = clipping.gradient_descent(*toy(), **SETTINGS)
    assert law.relative == pytest.approx(0.10367499, abs=5e-9)
    assert law.bias == pytest.approx(0.10097601, abs=5e-9)
    assert law.risk.kind == "estimate" and 0 < law.share_clipped < 1
    theta = clipping.clip_floor(*toy(), clip=0.1).theta
    np.testing.assert_allclose(theta, (0.48536851, -0.77495257, 0.39554306), atol=6e-9)


def test_without_clipping_all_laws_are_the_exact_ones():
    X, y = toy()
    gram = Gram.of_records(X, y)
    mixed = clipping.hessian_mixing(X, y, steps=4, k=30, eta_squared=0.5, sigma=0.3, clip=50.0, keep_ridge=True)
    assert float(mixed.risk) == pytest.approx(
        float(risk.hessian_mixing(gram, steps=4, k=30, eta_squared=0.5, sigma=0.3)), rel=1e-10
    )
    law = risk.released(2.0, level=3.0, scale=0.5, tau=2.0)
    averaged = clipping.hessian_mixing(X, y, steps=4, k=30, eta_squared=law, sigma=0.3, clip=50.0)
    stated = risk.hessian_mixing(gram, steps=4, k=30, eta_squared=law, sigma=0.3, keep_ridge=False)
    assert float(averaged.risk) == pytest.approx(float(stated), rel=1e-10)
    assert mixed.risk.kind == averaged.risk.kind == "exact"


@pytest.mark.parametrize("name", ["tail_averaged", "newton"])
def test_laws_of_preconditioned_methods_repeat_and_count_their_draws(name):
    X, y = records()
    law = getattr(clipping, name)
    found = law(X, y, mu=0.5, draws=3)
    assert found == law(X, y, mu=0.5, draws=3)
    assert len(found.draws) == 3 and found.relative == pytest.approx(np.mean(found.draws))
    assert found != law(X, y, mu=0.5, draws=3, seed=1)
    assert found.relative < law(X, y, mu=0.5, draws=3, adjacency="replace-one").relative
    whole, some = law(X, y, mu=0.5, rows=None).relative, law(X, y, mu=0.5, rows=1000).relative
    assert some == pytest.approx(whole, rel=0.1)


@pytest.mark.parametrize(
    "changed",
    [
        {"mu": math.nan},
        {"mu": 0.0},
        {"steps": 0},
        {"steps": 10**9},
        {"rate": 2.0},
        {"rate": 200.0},
        {"rate": math.nan},
        {"clip": 0.0},
        {"clip": math.inf},
        {"average": 1.5},
        {"momentum": 1.0},
        {"rows": 0},
    ],
)
def test_settings_out_of_range_are_refused(changed):
    with pytest.raises(DomainError, match=next(iter(changed))):
        clipping.gradient_descent(*toy(), **{**SETTINGS, **changed})


def test_records_that_no_law_has_are_refused():
    X, y = toy()
    for bad_X, bad_y in ((X, y[:-1]), (X[:, 0], y), (X * np.nan, y), (X, y * np.inf), (0 * X, y), (X, 0 * y)):
        with pytest.raises(DomainError):
            clipping.gradient_descent(bad_X, bad_y, **SETTINGS)
    for law in (clipping.tail_averaged, clipping.newton):
        with pytest.raises(DomainError, match="at most 1"):
            law(2 * X, y, mu=1.0)
    with pytest.raises(DomainError, match="k = 6"):
        clipping.hessian_mixing(X, y, steps=3, k=6, eta_squared=1.0, sigma=1.0, clip=1.0)
    with pytest.raises(DomainError, match="b = zeros"):
        clipping.from_moments(np.eye(2), np.zeros(2), 1.0, 10, **SETTINGS)


def test_iterates_that_run_away_are_an_error():
    X, y = toy()
    with pytest.raises(AccuracyError, match="run away"):
        clipping.hessian_mixing(X, y, steps=60, k=30, eta_squared=0.1, sigma=0.3, clip=1e4, step=4.0)
    with pytest.raises(AccuracyError, match="run away"):
        Law.of(math.nan, 0.0, 1.0, [0.0])


def test_rows_that_stand_for_all_keep_the_moments():
    X, y = records()
    whole, some = rows_of(X, y), rows_of(X, y, 500)
    np.testing.assert_allclose(some.weight * some.X.T @ some.X, X.T @ X, rtol=1e-9)
    rest = some.y - some.X @ some.theta_star
    np.testing.assert_allclose(some.X.T @ rest, 0, atol=1e-9 * len(X))
    assert some.weight * rest @ rest == pytest.approx(whole.residual, rel=1e-9)
    assert rows_of(X, y, 10**6).weight == 1.0
    assert some.missing is not None
    clip = float(some.missing.levels[20])
    stated = whole.clipped_at_fit(np.array([clip]))[0]
    found = some.clipped_at_fit(np.array([clip]))[0] + some.missing.at(clip)
    np.testing.assert_allclose(found, stated, rtol=1e-9)
    assert not some.missing.at(10.0).any()
    np.testing.assert_allclose(some.missing.at(1e-7), 1e-2 * some.missing.at(1e-5), rtol=1e-9)


def test_tuned_settings_are_no_worse_than_those_of_a_grid():
    X, y = records(800, 3)
    for mu in (0.3, 2.0):
        found = clipping.tuned_descent(X, y, mu=mu)
        again = clipping.gradient_descent(
            X, y, mu=mu, steps=found.steps, rate=found.rate, clip=found.clip, average=found.average
        )
        assert again == found.law
        for rate in (0.1, 0.5, 1.5):
            for clip in (0.02, 0.05, 0.1):
                other = clipping.gradient_descent(X, y, mu=mu, steps=128, rate=rate, clip=clip, average=0.5)
                assert found.law.relative <= 1.1 * other.relative


def test_quantiles_are_those_of_quadratic_forms():
    """One and seven degrees of freedom, a shifted one, and a mixture of two, by their own laws."""
    one = Gram(A=np.eye(1), b=np.array([0.0]), y_squared=1.0, n=10).spectrum
    shown = risk_quantiles(one, np.zeros(1), np.eye(1))
    np.testing.assert_allclose(shown, stats.chi2.ppf(LEVELS, 1), rtol=0.01)
    shown = risk_quantiles(one, np.array([3.0]), np.eye(1))
    np.testing.assert_allclose(shown, stats.ncx2.ppf(LEVELS, 1, 9.0), rtol=0.01)
    seven = Gram(A=np.eye(7), b=np.zeros(7), y_squared=1.0, n=10).spectrum
    np.testing.assert_allclose(risk_quantiles(seven, np.zeros(7), np.eye(7)), stats.chi2.ppf(LEVELS, 7), rtol=0.03)
    shown = risk_quantiles(one, np.zeros((2, 1)), np.array([[[1.0]], [[4.0]]]), np.array([3.0, 1.0]))
    below = 0.75 * stats.chi2.cdf(shown, 1) + 0.25 * stats.chi2.cdf(np.array(shown) / 4, 1)
    np.testing.assert_allclose(below, LEVELS, atol=0.01)
    assert np.isnan(risk_quantiles(one, np.zeros(1), np.full((1, 1), np.inf))).all()


def test_other_records_have_the_chance_that_these_have():
    """Errors independent of x: the law for other records is nowhere near any single one's, and is near their mean."""
    settings = Descent(steps=60, rate=1.0, clip=0.02, average=0.5)
    own, others = [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-0.5, 0.5, (500, 2))
        rows = rows_of(X, np.clip(X @ (0.6, -0.3) + 0.2 * rng.standard_t(3, 500), -1, 1))
        own.append(float(settings.law(rows, 5.0).risk))
        law = settings.law(rows.unseen(), 5.0)
        others.append(float(law.risk))
        assert law.risk.kind == "estimate" and rows.unseen().thinned(300).missing.roots is not None
    assert np.std(np.log(own)) > 3 * np.std(np.log(others))
    assert np.mean(others) == pytest.approx(np.mean(own), rel=4 * np.std(own) / np.mean(own) / np.sqrt(len(own)))


def test_a_bias_beyond_chance_is_kept_for_other_records():
    """Errors whose sign follows x: every data set has the same bias, and so has the law for others."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, (4000, 1))
    y = np.clip(0.6 * X[:, 0] + 0.5 * np.sign(X[:, 0]) * (rng.random(4000) < 0.1), -1, 1)
    rows, settings = rows_of(X, y), Descent(steps=60, rate=1.0, clip=0.03, average=0.5)
    law, others = settings.law(rows, 50.0), settings.law(rows.unseen(), 50.0)
    assert others.bias == pytest.approx(law.bias, rel=0.1) and law.bias > 0.9 * law.relative


def test_a_part_left_out_is_stood_for_by_the_rest():
    rows = rows_of(*records(1600))
    less = rows.without(0, 16)
    assert less.n == rows.n and len(less.y) == 1500 and less.weight == pytest.approx(16 / 15)
    np.testing.assert_allclose(less.weight * less.X.T @ less.X, less.gram.A, rtol=1e-12)
    assert less.thinned(500).weight == pytest.approx(3.2)
