"""PRN: published numbers, exact budgets, rules at their ends, the law of the rounds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpbounds import DomainError
from dpbounds.ols import newton, tail_averaged
from dpbounds.ols.newton import Newton, Shares

BINS = len(newton.EDGES)


def test_published_numbers():
    scales = newton.noise_scales(Newton(mu=1.0))
    assert scales.gradients[-1] == pytest.approx(2.5396765650, rel=1e-9)
    assert scales.hessian == pytest.approx(2.8867513459, rel=1e-9)
    assert float(newton.edge(scales.hessian, 10)) == pytest.approx(12.9099444874, rel=1e-9)
    assert math.sqrt(newton.replacement_cost()) == pytest.approx(1.8439088915, rel=1e-9)
    A, theta = np.diag([100.0, 25.0, 4.0]), np.array([1.0, -1.0, 0.5])
    assert float(newton.risk(A, theta, A, Newton(mu=1.0))) == pytest.approx(0.6898430, rel=1e-6)
    assert float(newton.leading_risk(A, Newton(mu=1.0))) == pytest.approx(0.3846153846, rel=1e-9)


@pytest.mark.parametrize("adjacency", ["zero-out", "replace-one"])
@pytest.mark.parametrize("steps", [2, 10])
def test_noise_spends_the_budget(adjacency, steps):
    settings = Newton(mu=0.7, steps=steps, adjacency=adjacency)
    assert newton.privacy(newton.noise_scales(settings), adjacency=adjacency) == pytest.approx(0.7, rel=1e-12)


def test_replacing_a_row_against_a_grid_of_directions():
    rng = np.random.default_rng(0)
    for _ in range(20):
        hessian, rounds = rng.dirichlet((1, 1))
        shares = Shares(norms=1e-9, products=1e-9, counts=1e-9, hessian=hessian - 2e-9, rounds=rounds - 1e-9)
        a = np.linspace(0, 1, 2001)
        worst = np.max(shares.rounds * (2 + 2 * a) + shares.hessian * np.maximum(1.0, 2 - 2 * a**2))
        assert float(newton.replacement_cost(shares)) == pytest.approx(worst, abs=1e-6)


def test_clip_levels_at_their_ends():
    none, top, low = np.zeros(BINS), np.zeros(BINS), np.zeros(BINS)
    top[0], low[-1] = 100, 100
    assert float(newton.clip_level(none, 0.0, 1.0)) == newton.EDGES[-1]
    assert float(newton.clip_level(top, 0.0, 15.0)) == 1.0
    assert float(newton.clip_level(low, 0.0, 15.0)) == newton.EDGES[-1]
    assert float(newton.clip_level(low, 1e9, 15.0)) == 1.0  # noise says nothing: no clipping
    assert float(newton.gradient_clip(top, 0.0, n=100)) == newton.DEFAULT_C
    assert float(newton.hessian_clip(low, 0.0, n=100, d=1, mu=1e6)) == 1.0
    assert float(newton.next_clip(0.1, 70.0, n=100, noise=5.0)) == pytest.approx(0.1)
    assert float(newton.next_clip(0.002, 100.0, n=100, noise=0.1)) == newton.LEAST_C
    assert float(newton.used_clip(0.5, n=10**6, d=1, mu=1.0)) == 1.0


def test_steps_are_stable_on_noise_within_the_edge():
    rng = np.random.default_rng(1)
    for d, s1 in ((2, 5.0), (6, 0.4)):
        for _ in range(30):
            rows = rng.standard_normal((20, d)) * rng.uniform(0.1, 3, d)
            A = rows.T @ rows
            N = rng.standard_normal((d, d))
            N = N + N.T
            edge = float(newton.edge(s1, d))
            noisy = A + N * edge / np.abs(np.linalg.eigvalsh(N)).max()
            values, U = np.linalg.eigh(noisy)
            P = U @ np.diag(newton.preconditioner(values, s1).inverse) @ U.T
            assert np.linalg.eigvals(P @ A).real.max() <= 2 + 1e-9


def test_gains_vectorise_and_lie_between_zero_and_one():
    values = np.array([[100.0, 3.0, 0.1], [0.0, -5.0, 40.0]])
    both = newton.Gains(newton.preconditioner(values, np.array([1.0, 2.0])))
    each = [newton.Gains(newton.preconditioner(row, s1)) for row, s1 in zip(values, (1.0, 2.0), strict=True)]
    for noise in (3.0, 2.0, 1.0):
        found = both.step(np.full(2, noise))
        assert ((found > 0) & (found <= 1)).all()
        assert found == pytest.approx(np.stack([one.step(noise) for one in each]))


def test_noise_alone_is_shrunk_away():
    scaled = newton.preconditioner(np.array([10.0, 5.0]), 1.0)
    known = np.array([0.3, 0.2])
    assert float(newton.shrinkage(np.sqrt(0.5 * known), scaled, known)) == 0.0
    assert float(newton.shrinkage(np.sqrt(2.0 * known), scaled, known)) == 1.0


@pytest.mark.parametrize(
    "wrong",
    [
        {"mu": 0.0},
        {"mu": math.inf},
        {"mu": 1.0, "steps": 0},
        {"mu": 1.0, "growth": 0.0},
        {"mu": 1.0, "adjacency": "add-remove"},
    ],
)
def test_settings_out_of_range_are_refused(wrong):
    with pytest.raises(DomainError):
        Newton(**wrong)


def test_shares_must_sum_to_one():
    with pytest.raises(DomainError, match="sum to 1"):
        Shares(rounds=0.5)


@pytest.mark.parametrize(
    "call",
    [
        lambda: newton.edge(1.0, math.nan),  # pyright: ignore
        lambda: newton.used_clip(0.1, n=100, d=3, mu=math.nan),
        lambda: newton.histogram(np.array([math.nan, 0.5])),
        lambda: newton.clip_level(np.full(15, math.nan), 1.0, 3.0),
        lambda: newton.gradient_clip(np.ones(15), math.nan, n=100),
        lambda: newton.next_clip(0.1, math.nan, n=100, noise=1.0),
        lambda: newton.preconditioner(np.array([math.nan]), 1.0),
        lambda: tail_averaged.used_clip(0.1, n=100, d=3, mu=math.nan),
        lambda: tail_averaged.inverse(np.array([math.nan]), 1.0, 100),
    ],
)
def test_no_number_becomes_a_number(call):
    with pytest.raises(DomainError, match="nan"):
        call()
