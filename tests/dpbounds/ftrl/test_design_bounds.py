"""Lower bounds and optima of noise design: against dense algebra, hostile input and reference values."""

from __future__ import annotations

import numpy as np
import pytest

from dpbounds import DomainError
from dpbounds.ftrl.correlations import MatrixCorrelation, nu
from dpbounds.ftrl.design import Objective, Participation, fit_scaled_blt, lower_bound, optimum
from dpbounds.ftrl.design.certified import certified_bound, gram_in_balls
from dpbounds.ftrl.design.dense import dense_dual
from dpbounds.ftrl.design.repeated import Blocks
from dpbounds.ftrl.design.smoother import compressed, hat_diagonals, rational_root, streamed_bound

HARMONIC = 1 / np.arange(1, 129)


def run_of(eigenvalues, steps, eta=None, **settings):
    """An Objective from lists."""
    return Objective(np.asarray(eigenvalues), steps, eta, **settings)


FALLING = 0.1 * (1 - np.arange(256) / 256)
FINAL = run_of(HARMONIC, 256, schedule=FALLING, weights="final", batch_size=32)


def test_reference_optima():
    """Computed independently with other code."""
    mean = run_of(HARMONIC, 256, eta=0.05)
    assert float(lower_bound(mean)) == pytest.approx(0.0326617687, rel=1e-6)
    assert float(streamed_bound(mean, q=np.full(256, 1 / 256))) == pytest.approx(0.0320160926, rel=1e-6)
    square = run_of(HARMONIC**2, 256, eta=0.5)
    assert float(lower_bound(square)) == pytest.approx(0.4823618415, rel=1e-6)
    assert float(lower_bound(FINAL)) == pytest.approx(0.00789728, rel=5e-6)
    heavy = run_of(HARMONIC, 512, eta=0.05, momentum=0.9)
    assert float(lower_bound(heavy)) == pytest.approx(0.660689, rel=1e-5)


def test_cyclic_optimum_lies_between_the_reference_values():
    best = optimum(run_of(HARMONIC, 256, eta=0.05), Participation.cyclic(4, 64), tolerance=1e-4)
    assert 0.134157 <= float(best.bound) <= float(best.value) <= 0.134177


def test_optimum_is_the_value_of_its_mechanism():
    """With weights spread over twelve orders (final iterate, falling rates) as well."""
    best = optimum(FINAL)
    assert 0 <= best.gap <= 1e-5
    encoder, decoder = best.mechanism.encoder(256), best.mechanism.matrix(256)
    np.testing.assert_allclose(encoder @ decoder, np.eye(256), atol=1e-9)
    assert np.all(np.triu(encoder, 1) == 0)
    power = np.sum(decoder * (FINAL.gram() @ decoder))
    assert power * np.max(np.sum(encoder**2, axis=0)) == pytest.approx(float(best.value), rel=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_no_mechanism_is_below(seed):
    rng = np.random.default_rng(seed)
    T = int(rng.integers(1, 12))
    objective = run_of(10 ** rng.uniform(-3, 0, 3), T, eta=0.3, batch_size=int(rng.integers(1, 9)))
    bound = lower_bound(objective, tolerance=1e-10)
    best = optimum(objective, tolerance=1e-8)
    for size in (0.0, 1e-4, 0.01, 0.3):
        encoder = best.mechanism.encoder(T) + size * np.tril(rng.standard_normal((T, T)))
        mechanism = MatrixCorrelation("near", T, np.linalg.inv(encoder), encoder)
        assert float(bound) <= float(objective.value(mechanism)) * (1 + 1e-12)
    assert float(lower_bound(objective, certify=True)) <= float(best.value)


def test_streamed_is_dense():
    for spectrum in (HARMONIC, np.r_[np.ones(3), np.full(9, 0.01)]):
        objective = run_of(spectrum, 300, eta=0.2, batch_size=16, weights="tail")
        q = np.random.default_rng(0).uniform(0.1, 1.0, 300)
        root = np.sqrt(q)
        dense = np.sum(np.sqrt(np.maximum(np.linalg.eigvalsh(objective.gram() * np.outer(root, root)), 0))) ** 2
        found = streamed_bound(objective, q=q, tolerance=1e-9)
        assert -1e-8 - 20 * found.compression <= float(found) / dense - 1 <= 1e-9


def test_streamed_search_is_as_good():
    """Between 513 and 2048 steps O(T) takes over: final loss, q over many orders, against the dense search."""
    objective = run_of(HARMONIC, 520, schedule=0.1 * (1 - np.arange(520) / 520), weights="final", batch_size=32)
    found = lower_bound(objective)
    assert 0 < found.compression < 1e-7 and found.iterations < 30
    assert float(found) == pytest.approx(float(dense_dual(objective.gram(), 1e-5).bound), rel=1e-5)
    # With momentum: dense.
    assert lower_bound(run_of(HARMONIC, 520, eta=0.05, momentum=0.5), tolerance=0.1).compression == 0


def test_fit_of_a_long_final_loss():
    """Trial scales leave the range of floats on the way; the value is near that of a quarter of the steps."""
    long, short = (run_of(HARMONIC, T, eta=0.05, weights="final", batch_size=32) for T in (4096, 1024))
    value = long.noise_power(fit_scaled_blt(long, 4))
    assert value == pytest.approx(short.noise_power(fit_scaled_blt(short, 4)), rel=0.1)


def test_search_that_is_done_stops():
    """All eigenvalues equal: at the best q rounding alone decides which step gains."""
    assert streamed_bound(run_of(np.ones(9), 200, eta=0.5)).iterations < 12


def test_hat_diagonals_at_extreme_noise():
    """Noise from far below the smallest eigenvalue to far above the largest."""
    objective = run_of([1.0, 0.1], 40, schedule=np.linspace(0.9, 0.1, 40), batch_size=8)
    gram, noise = objective.gram(), np.geomspace(1e-9, 1e9, 7)[:, None] * np.linspace(1, 2, 40)
    expected = [np.diag(gram @ np.linalg.inv(gram + np.diag(one))) for one in noise]
    np.testing.assert_allclose(hat_diagonals(compressed(objective), noise), expected, rtol=1e-9)


@pytest.mark.parametrize("ends", [(1.0, 1.0001), (1e-12, 1.0), (1e-30, 1e-24), (1e20, 1e29)])
@pytest.mark.parametrize("slack", [1e-3, 1e-8])
def test_rational_root_is_never_above(ends, slack):
    shifts, weights = rational_root(*ends, slack=slack)
    x = np.geomspace(ends[0] * 1e-9, ends[1] * 1e9, 200_001)
    ratio = np.sum([weight * np.sqrt(x) / (x + shift) for weight, shift in zip(weights, shifts, strict=True)], axis=0)
    assert ratio.max() <= 1.0
    assert ratio[(x >= ends[0]) & (x <= ends[1])].min() >= 1 - 1.1 * slack


def test_long_run_is_between_its_neighbours():
    """O(T) beyond the dense limit: the mean-loss optimum grows with T towards the stationary value .0416829335."""
    longer = lower_bound(run_of([1.0, 0.5, 0.25, 0.01], 2100, eta=0.3), tolerance=1e-4)
    shorter = lower_bound(run_of([1.0, 0.5, 0.25, 0.01], 300, eta=0.3), tolerance=1e-4)
    assert float(shorter) < float(longer) < 1.2 * float(shorter)
    assert longer.compression == 0


def test_certified_whatever_q():
    """Hostile q: tiny, huge, uneven, of any sum; and the certified number is near the float one for the best q."""
    objective = run_of([1.0, 0.3], 17, eta=0.4, batch_size=2)
    value = float(optimum(objective, tolerance=1e-9).value)
    rng = np.random.default_rng(2)
    for q in (np.full(17, 1e-30), np.full(17, 1e30), rng.uniform(0.01, 1, 17), np.geomspace(1e-8, 1, 17)):
        assert 0 < float(certified_bound(objective, q=q)) <= value
    best = lower_bound(objective, certify=True, tolerance=1e-9)
    assert best.value.certified
    assert float(best) == pytest.approx(value, rel=1e-7)
    for q in (np.zeros(17), -np.ones(17), np.full(17, np.nan), np.ones(16)):
        with pytest.raises(DomainError):
            certified_bound(objective, q=q)


def test_balls_hold_the_floats():
    objective = run_of([1.0, 0.3, 0.3], 37, schedule=np.linspace(0.5, 0.1, 37), batch_size=4, weights="tail")
    balls, gram = gram_in_balls(objective), objective.gram()
    middle = np.array([[float(entry) for entry in row] for row in balls.tolist()])
    np.testing.assert_allclose(gram, middle, atol=1e-14 * middle.max())


def test_slopes_of_blocks():
    rng = np.random.default_rng(3)
    blocks = Blocks(run_of(HARMONIC[:5], 11, eta=0.3, batch_size=4).gram(), 3, 4)
    rows, logs, step = rng.standard_normal((4, 3, 3)), rng.standard_normal(4), 1e-6
    _, by_rows, by_logs = blocks.norm(rows, logs)
    for place in np.ndindex(4, 3, 3):
        moved = np.zeros((4, 3, 3))
        moved[place] = step
        slope = (blocks.norm(rows + moved, logs)[0] - blocks.norm(rows - moved, logs)[0]) / (2 * step)
        assert slope == pytest.approx(by_rows[place], abs=1e-7)
    for place in range(4):
        moved = step * np.eye(4)[place]
        slope = (blocks.norm(rows, logs + moved)[0] - blocks.norm(rows, logs - moved)[0]) / (2 * step)
        assert slope == pytest.approx(by_logs[place], abs=1e-7)


def test_repeated_bounds_hold_for_any_separation():
    objective = run_of(HARMONIC[:9], 24, eta=0.3)
    for k, b in ((2, 12), (3, 8), (3, 5), (5, 5)):
        participation = Participation.min_separation(k, b)
        bound = float(lower_bound(objective, participation))
        assert bound >= float(lower_bound(objective))
        for correlation in (nu(0.05), nu(0.3)):
            assert bound <= float(objective.value(correlation, participation))


def test_degenerate_weights():
    """Final loss without gradient noise: the bound is that of the last step alone, no mechanism reaches it."""
    objective = run_of([0.7], 6, eta=0.3, weights="final")
    assert float(lower_bound(objective)) == pytest.approx(0.5 * 0.09 * 0.7, rel=2e-6)
    with pytest.raises(DomainError, match="without bound"):
        optimum(objective)


def test_refusals():
    objective = run_of([1.0, 0.3], 300, eta=0.4)
    heavy = run_of([1.0], 20, eta=0.1, momentum=0.5)
    long = run_of([1.0], 2049, eta=0.1)
    attempts = [
        lambda: lower_bound(objective, certify=True),
        lambda: lower_bound(heavy, certify=True),
        lambda: lower_bound(objective, tolerance=0.0),
        lambda: lower_bound(objective, Participation.cyclic(4, 10)),
        lambda: optimum(long),
        lambda: optimum(objective, Participation.min_separation(2, 150)),
        lambda: streamed_bound(heavy),
        lambda: streamed_bound(objective, q=np.ones(3)),
        lambda: lower_bound("objective"),  # pyright: ignore[reportArgumentType]
    ]
    for attempt in attempts:
        with pytest.raises(DomainError):
            attempt()


@pytest.mark.parametrize(
    ("objective", "participation"),
    [
        (Objective(np.array([1.0, 0.3]), 40, eta=0.5, weights="final"), Participation.single()),
        (Objective(np.array([1.0, 0.3]), 40, eta=0.3, momentum=0.5, noiseless=True), Participation.single()),
        (Objective(np.array([1.0, 0.3]), 40, eta=0.5), Participation.cyclic(4, 10)),
        (Objective(np.array([1.0, 0.3]), 600, eta=0.5), Participation.single()),
    ],
)
def test_a_search_that_is_ended_leaves_a_bound(objective, participation):
    """After one step it is a lower bound, and below that of a whole search, of which every step is told."""
    seen = []
    whole = lower_bound(objective, participation, tolerance=1e-4, progress=lambda *step: seen.append(step))
    ended = lower_bound(objective, participation, tolerance=1e-4, seconds=1e-9)
    assert 0 < float(ended) <= float(whole) * (1 + 1e-9)
    assert seen and all(done <= most and what == "lower bound" for done, most, what in seen)
    assert ended.iterations < whole.iterations
    for wrong in (0.0, -1.0, float("nan"), -float("inf")):
        with pytest.raises(DomainError, match="seconds"):
            lower_bound(objective, participation, seconds=wrong)
