"""Exact intervals and tests of noise: levels by simulation where they are stated, tails by other formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special, stats

from dpbounds import DomainError
from dpbounds.audit import (
    coordinates_needed,
    correlation_tail,
    gaussian_scale_interval,
    laplace_scale_interval,
    proportion_interval,
    shift_interval,
)
from dpbounds.audit.differences import laplace_difference_cdf
from dpbounds.audit.events import event_epsilon, sampled_epsilon
from dpbounds.audit.intervals import laplace_sum_tail
from dpbounds.audit.noise import (
    dependence,
    homogeneity,
    scale_interval,
    shape,
    singular_directions,
)


def test_sizes_that_are_stated():
    """False alarms 1e-6 on two sides, misses 1e-3."""
    assert [coordinates_needed(error) for error in (0.2, 0.05, 0.02, 0.01)] == [797, 12743, 79638, 318552]
    assert coordinates_needed(0.001) == pytest.approx(3.2e7, rel=0.01)
    assert coordinates_needed(0.05, "laplace") / coordinates_needed(0.05) == pytest.approx(
        1.75 / 1.5**2 / 0.5, rel=1e-3
    )


def test_the_law_of_laplace_differences():
    line = np.linspace(-40, 40, 80_001)
    single, step = np.exp(-np.abs(line)) / 2, line[1] - line[0]
    density = np.convolve(single, single, "same") * step
    for x in (-3.0, -0.2, 0.0, 1.1, 6.0):
        assert laplace_difference_cdf(x) == pytest.approx(density[line < x].sum() * step, abs=1e-3)
    assert density[40_000 + 2000] == pytest.approx(math.exp(-2) * 3 / 4, rel=1e-5)
    assert laplace_sum_tail(2.0, 1) == pytest.approx(2 * (1 - float(laplace_difference_cdf(2.0))), rel=1e-12)
    one = np.exp(-line) * (1 + line) / 2 * (line >= 0)
    inside = [float(one[i]) * laplace_sum_tail(float(3 - line[i]), 1) for i in range(40_000, 43_000, 10)]
    beyond = laplace_sum_tail(3.0, 1)
    expected = (sum(inside) - inside[0] / 2) * 10 * step + beyond
    assert laplace_sum_tail(3.0, 2) == pytest.approx(expected, rel=3e-3)
    assert laplace_sum_tail(3.0, 2) + laplace_sum_tail(3.0, 2, below=True) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("family", ["gaussian", "laplace"])
@pytest.mark.parametrize("number", [1, 7, 200])
def test_scale_intervals_hold_as_often_as_they_say(family, number):
    """1,000 intervals of level 5 % an end; a count beyond 4.9 standard deviations has probability below 1e-6."""
    rng = np.random.default_rng(number)
    draw = rng.standard_normal if family == "gaussian" else lambda size: rng.laplace(size=size)
    rows = 3.0 * (draw((1000, number)) - draw((1000, number)))
    ends = np.array([scale_interval(row[None], family, 0.05) for row in rows])
    allowed = 4.9 * math.sqrt(1000 * 0.05 * 0.95)
    assert abs(np.sum(ends[:, 0] > 3.0) - 50) < allowed and abs(np.sum(ends[:, 1] < 3.0) - 50) < allowed


def test_scale_intervals_by_quantiles():
    squares, n = 37.0, 12
    low, high = gaussian_scale_interval(squares, n, 1e-3)
    assert low**2 == pytest.approx(squares / 2 / stats.chi2.isf(1e-3, n)) and high**2 == pytest.approx(
        squares / 2 / stats.chi2.ppf(1e-3, n)
    )
    low, high = laplace_scale_interval(40.0, 30, 1e-6)
    assert laplace_sum_tail(40.0 / low, 30) == pytest.approx(1e-6, rel=1e-6)
    assert laplace_sum_tail(40.0 / high, 30, below=True) == pytest.approx(1e-6, rel=1e-6)


def test_correlations_have_the_law_of_student():
    r, n = 0.3, 41
    t = r * math.sqrt((n - 1) / (1 - r * r))
    assert correlation_tail(r, n) == pytest.approx(2 * special.stdtr(n - 1, -t), rel=1e-10)
    assert correlation_tail(1.0, 5) == 0.0 and correlation_tail(0.0, 5) == 1.0


def test_shift_intervals_hold():
    """500 pairs of samples, 20 and 30 numbers, means 1.5 deviations apart; ends fail 5 % each."""
    rng = np.random.default_rng(0)
    low = high = 0
    for _ in range(500):
        x, y = 2 * rng.standard_normal(20), 3 + 2 * rng.standard_normal(30)
        ends = shift_interval(*((float(z.mean()), float(((z - z.mean()) ** 2).sum()), len(z)) for z in (x, y)), 0.05)
        low, high = low + (ends[0] > 1.5), high + (ends[1] < 1.5)
    assert max(low, high) < 25 + 4.9 * math.sqrt(25) and min(low, high) > 3


@pytest.mark.parametrize("family", ["gaussian", "laplace"])
def test_dependence_is_found_where_it_is_and_not_elsewhere(family):
    rng = np.random.default_rng(1)
    draw = (lambda *size: rng.standard_normal(size)) if family == "gaussian" else (lambda *size: rng.laplace(size=size))
    # 300 p-values of independent noise: fewer than 1 in 20 below 0.05 but for chance (1e-6).
    levels = [dependence(draw(8, 40) - draw(8, 40), family, leaves=(20, 20)).p_value for _ in range(300)]
    assert np.sum(np.array(levels) < 0.05) < 15 + 4.9 * math.sqrt(15)
    noise = draw(6, 4000) - draw(6, 4000)
    shared = np.concatenate([noise[:, :2000], noise[:, :2000]], axis=1)
    assert dependence(shared, family).p_value < 1e-12
    lagged = noise.copy()
    lagged[:, 3:] += 0.15 * noise[:, :-3]
    assert "lag 3 " in dependence(lagged, family).words and dependence(lagged, family).p_value < 1e-9
    steps = (draw(4, 50, 200) - draw(4, 50, 200)).cumsum(axis=1).reshape(4, -1)
    assert dependence(steps, family, steps=50).p_value < 1e-12


def test_shapes_and_groups():
    rng = np.random.default_rng(2)
    normal, laplace = (
        draw((4, 20000)) - draw((4, 20000)) for draw in (rng.standard_normal, lambda s: rng.laplace(size=s))
    )
    assert shape(normal, "gaussian", scale_interval(normal, "gaussian", 1e-7)).p_value > 1e-3
    assert shape(laplace, "laplace", scale_interval(laplace, "laplace", 1e-7)).p_value > 1e-3
    assert shape(normal, "laplace", scale_interval(normal, "laplace", 1e-7)).p_value < 1e-9
    assert shape(laplace, "gaussian", scale_interval(laplace, "gaussian", 1e-7)).p_value < 1e-9
    assert homogeneity(normal, "gaussian", (10000, 10000), 1e-6).p_value == 1.0
    normal[:, :10000] *= 1.2
    assert homogeneity(normal, "gaussian", (10000, 10000), 1e-6).p_value == 0.0


def test_directions_without_noise():
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((20, 5))
    assert singular_directions(rows, 1e-9) == []
    (silent,) = singular_directions(rows * np.array([1, 1, 0, 1, 1]), 1e-9)
    assert silent.places.tolist() == [2]
    twice = rows.copy()
    twice[:, 4] = -2 * twice[:, 1]
    (equal,) = singular_directions(twice, 1e-9)
    assert sorted(equal.places.tolist()) == [1, 4] and np.abs(equal.of(twice)).max() < 1e-12
    summed = rows.copy()
    summed[:, 4] = rows[:, :4].sum(axis=1)
    (sums,) = singular_directions(summed, 1e-9)
    assert np.abs(sums.of(summed)).max() < 1e-9 and abs(sums.of(np.ones(5))) > 0.1


def test_events_are_chosen_on_one_half_and_counted_on_the_other():
    """100 pairs of equal laws at 5 %: what is chosen as best must not look better than that."""
    rng = np.random.default_rng(4)
    found = [
        sampled_epsilon(rng.standard_normal((200, 2)), rng.standard_normal((200, 2)), 0.0, 0.05) for _ in range(500)
    ]
    assert sum(one.epsilon > 0 for one in found) < 25 + 4.9 * math.sqrt(25)
    answers = rng.random((5000, 1)) < 0.8, rng.random((5000, 1)) < 0.2
    best = sampled_epsilon(*(one.astype(float) for one in answers), 0.0, 1e-6)
    assert math.log(4) - 0.35 < best.epsilon < math.log(4)
    assert event_epsilon(best.hits, best.trials, 0.0, 1e-6) == best.epsilon
    assert event_epsilon((1000, 0), (1000, 1000), 0.0, 2e-6) == pytest.approx(
        math.log(1e-6 ** (1 / 1000) / (1 - 1e-6 ** (1 / 1000))), rel=1e-9
    )
    assert proportion_interval(0, 10, alpha=0.1)[1] == pytest.approx(1 - 0.05**0.1)


@pytest.mark.parametrize(
    "call",
    [
        lambda: gaussian_scale_interval(-1.0, 3, 0.1),
        lambda: gaussian_scale_interval(math.nan, 3, 0.1),
        lambda: laplace_scale_interval(1.0, 0, 0.1),
        lambda: laplace_scale_interval(1.0, 3, 0.0),
        lambda: coordinates_needed(0.0),
        lambda: coordinates_needed(0.1, "cauchy"),  # pyright: ignore[reportArgumentType]
        lambda: correlation_tail(0.1, 1),
        lambda: shift_interval((0.0, 0.0, 2), (1.0, 0.0, 2), 0.1),
    ],
)
def test_refusals(call):
    with pytest.raises(DomainError):
        call()


@pytest.mark.parametrize("number", [2, 3, 10, 50])
@pytest.mark.parametrize("delta", [0.01, 0.5, 0.999])
def test_too_few_outputs_show_nothing(number, delta):
    """No event is likelier than delta from so few."""
    rng = np.random.default_rng(number)
    for draw in (lambda: rng.standard_normal((number, 1)), lambda: np.zeros((number, 1))):
        assert sampled_epsilon(draw(), draw(), delta, 1e-6).epsilon == 0
    with pytest.raises(DomainError, match="two outputs"):
        sampled_epsilon(np.zeros((1, 1)), np.zeros((number, 1)), delta, 1e-6)
