"""Plans of a private run: each kind of noise tuned for itself."""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from dpbounds import AccuracyError, DomainError, privacy
from dpbounds.ftrl.correlations import independent, optimal_counting
from dpbounds.ftrl.design import (
    Objective,
    Participation,
    ProxyRecords,
    best,
    learning_rates,
    plan,
    prefix_sum,
    sensitivity,
    unit_columns,
    verdict,
)
from dpbounds.ftrl.design.amplification import (
    poisson_epsilon,
    poisson_noise_multiplier,
    renyi_epsilon,
    renyi_noise_multiplier,
)
from dpbounds.ftrl.design.clipped import by_direction
from dpbounds.ftrl.design.tuning import Setting, Training

EIGENVALUES = np.array([0.5, 0.3, 0.15, 0.05])
SETTINGS = {"initial": 1.0, "sigma_sgd": 0.5, "buffers": 2, "amplification": False}


@pytest.fixture(scope="module")
def found():
    return plan(EIGENVALUES, 64, rho=0.5, **SETTINGS)


def test_schedules():
    assert learning_rates("constant", 0.1, 3).tolist() == [0.1, 0.1, 0.1]
    assert np.allclose(learning_rates("linear", 0.4, 4), [0.4, 0.3, 0.2, 0.1], rtol=1e-15)
    assert np.allclose(learning_rates("cosine", 0.4, 2), [0.4, 0.2], rtol=1e-15)
    assert learning_rates("cosine", 1.0, 1000).min() > 0


def test_independent_row_is_the_least_of_a_scan(found):
    """A fine scan of eta for each batch size and schedule, by `Objective.loss`, which the search does not use."""
    least = np.inf
    for m in (1, 4):
        for schedule in ("constant", "linear"):
            for eta in np.geomspace(0.02, 1.0, 60) * found.training.fastest(m):
                rates = learning_rates(schedule, float(eta), 64 // m)
                run = Objective(
                    EIGENVALUES,
                    64 // m,
                    schedule=rates,
                    weights="final",
                    batch_size=m,
                    initial=1.0,
                    sigma_sgd=0.5,
                )
                least = min(least, run.loss(independent(), 0.5).total)
    assert found.row("independent").loss.total == pytest.approx(least, rel=3e-3)
    assert found.row("independent").loss.total <= least * (1 + 5e-4)


def test_rows_are_in_order_and_above_their_bounds(found):
    assert [row.kind for row in found.rows] == ["independent", "prefix-sum", "designed"]
    for row in found.rows:
        assert row.bound <= row.loss.total * (1 + 1e-9) and row.ratio >= 1 - 1e-9
        assert row.setting.eta <= found.training.fastest(row.setting.batch_size) * (1 + 1e-12)
        assert row.gain == pytest.approx(found.rows[0].loss.total / row.loss.total)
    assert found.best.kind == "designed" and found.row("designed").ratio < 1.02
    assert found.gain == found.row("designed").gain
    assert found.pays and "Correlated noise pays" in found.sentences[0]


def test_same_budget_in_both_ways(found):
    epsilon = float(privacy.gaussian_epsilon(1.0, 1e-5))  # rho = 1/2 is mu = 1
    assert found.budget.epsilon == pytest.approx(epsilon, rel=1e-9)
    other = plan(EIGENVALUES, 64, epsilon=epsilon, **SETTINGS)
    for one, two in zip(found.rows, other.rows, strict=True):
        assert one.loss.total == pytest.approx(two.loss.total, rel=1e-6)


def test_same_numbers_again(found):
    again = plan(EIGENVALUES, 64, rho=0.5, **SETTINGS)
    assert [row.loss for row in again.rows] == [row.loss for row in found.rows]


def test_units(found):
    """Gradients, start and residuals in other units: theta times 3, so that losses are times 9."""
    scaled = plan(EIGENVALUES, 64, rho=0.5, **{**SETTINGS, "initial": 9.0, "sigma_sgd": 1.5}, clip_norm=3.0)
    for one, two in zip(found.rows, scaled.rows, strict=True):
        assert two.loss.total == pytest.approx(9.0 * one.loss.total, rel=1e-3)


def test_more_records_and_more_budget_help(found):
    total = found.row("designed").loss.total
    assert plan(EIGENVALUES, 128, rho=0.5, batch_sizes=(4,), **SETTINGS).row("designed").loss.total < 0.8 * total
    assert plan(EIGENVALUES, 64, rho=2.0, batch_sizes=(4,), **SETTINGS).row("designed").loss.total < 0.9 * total


def test_epochs_cost_sensitivity():
    twice = plan(EIGENVALUES, 64, rho=0.5, epochs=2, batch_sizes=(4,), weights="mean", **SETTINGS)
    assert all(row.steps == 32 for row in twice.rows)
    assert twice.row("independent").noise_multiplier == pytest.approx(np.sqrt(2.0))
    assert any("fresh ones" in sentence for sentence in twice.sentences)
    assert twice.row("designed").loss.total <= twice.row("prefix-sum").loss.total


def test_progress_and_limits():
    seen = []
    limited = plan(
        EIGENVALUES,
        64,
        rho=0.5,
        largest_eta=0.3,
        batch_sizes=(4,),
        progress=lambda done, total, what: seen.append(what),
        **SETTINGS,
    )
    assert all(row.setting.eta <= 0.3 and row.setting.batch_size == 4 for row in limited.rows)
    assert seen and all(isinstance(what, str) for what in seen)


def test_large_budgets_do_not_need_correlation():
    large = plan(EIGENVALUES, 64, rho=1e5, batch_sizes=(4,), **SETTINGS)
    assert not large.pays and large.verdict == "level"
    assert "No difference" in large.sentences[0] and "Take the simpler one, independent noise" in large.sentences[0]


@pytest.mark.parametrize(
    ("ratio", "forecast", "said"),
    [
        (0.85, False, "take"),
        (0.92, False, "probably"),
        (0.96, False, "level"),
        (0.92, True, "take"),
        (0.96, True, "probably"),
        (0.99, True, "level"),
        (1.3, False, "take"),
    ],
)
def test_what_may_be_said_of_a_ratio(ratio, forecast, said):
    assert verdict(ratio, forecast=forecast) == said
    assert verdict(1 / ratio, forecast=forecast) == said


def test_a_plan_on_records_is_judged_with_clipping():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((96, 3))
    records = ProxyRecords.of(X, X @ np.array([1.0, -2.0, 0.5]) + 0.5 * rng.standard_t(3, 96))
    settings = {"initial": records.start, "sigma_sgd": records.sigma_sgd, "buffers": 1, "amplification": False}
    settings |= {"rho": 1.0, "batch_sizes": (6,), "records": records}
    found = plan(records.eigenvalues, 96, **settings, clip_norm=0.3)
    for row in found.rows:
        assert row.clipped is not None and row.expected == pytest.approx(float(row.clipped.loss))
        assert row.clipped.share_clipped.mean() > 0.3
        assert row.gain == pytest.approx(found.rows[0].expected / row.expected)
        assert row.setting.eta <= found.training.fastest(6) * (1 + 1e-12)
    assert found.row("designed").expected <= found.row("prefix-sum").expected
    assert found.best.expected == min(row.expected for row in found.rows)
    assert any("forecast on the records" in said for said in found.sentences)
    assert any("a larger clip norm" in said for said in found.sentences)
    tuned = plan(records.eigenvalues, 96, **settings, clip_norm=0.3, clip_norms=(3.0, 1.0))
    for row, fixed in zip(tuned.rows, found.rows, strict=True):
        assert row.clip_norm in (0.3, 1.0, 3.0) and row.expected <= fixed.expected * (1 + 1e-12)
        assert row.noise_multiplier == pytest.approx(fixed.noise_multiplier, rel=0.5)
    assert tuned.best.clip_norm > 0.3 and tuned.best.expected < 0.8 * found.best.expected
    assert any("Clip norms" in said for said in tuned.sentences) and not any("Clip norms" in s for s in found.sentences)
    wide = plan(records.eigenvalues, 96, **settings, clip_norm=30.0)
    assert not any("a larger clip norm" in said for said in wide.sentences)


def test_momentum_is_counted_where_records_tell_of_it():
    """Too few steps for momentum are left for smaller batches; heavy ball is bounded by its own objective's value."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((96, 3))
    records = ProxyRecords.of(X, X @ np.array([1.0, -2.0, 0.5]) + 0.5 * rng.standard_normal(96))
    settings = {"initial": records.start, "sigma_sgd": records.sigma_sgd, "buffers": 1, "amplification": False}
    settings |= {"rho": 10.0, "batch_sizes": (2, 6), "schedules": ("linear",), "records": records, "clip_norm": 2.0}
    plain, found = (plan(records.eigenvalues, 96, **settings, momentum=momentum) for momentum in (0.0, 0.9))
    for row in found.rows:
        assert (row.momentum, row.bound, row.ratio) == (0.9, None, None)
        assert row.steps == 96 // row.setting.batch_size
        assert row.setting.eta <= 0.1 * found.training.fastest(row.setting.batch_size) * (1 + 1e-12)
        assert row.expected > 0.5 * plain.row(row.kind).expected
    objective = found.objective("designed")
    assert objective.noiseless and objective.momentum == 0.9 and objective.bias > 0
    assert plain.objective("designed").momentum == 0.0
    assert any("momentum 0.9" in said for said in found.sentences)
    assert found.verdict != "take"  # that its rankings hold was not measured
    assert not any("momentum" in said for said in plain.sentences)


def test_what_records_leave_unknown_with_next_to_no_momentum():
    setting = Setting(batch_size=4, schedule="linear", eta=0.3)
    training = Training(eigenvalues=np.array([1.0, 0.1]), n=64, rho=1.0, initial=1.0, sigma_sgd=0.5, batch_sizes=(4,))
    left = np.prod(1.0 - np.outer(learning_rates("linear", 0.3, 16), [1.0, 0.1]), axis=0)
    assert training.floor(setting) == pytest.approx(0.25 / 128 * np.sum((1 - left) ** 2), rel=1e-12)
    assert training.floor(setting, 1e-13) == pytest.approx(training.floor(setting), rel=1e-9)
    assert training.floor(setting, 0.5) > training.floor(setting)


def test_loss_on_fresh_records_against_simulation():
    """Four passes in a fixed order over records drawn anew in each of 4,000 runs: 6 standard errors and 6 %, since d/n
    is small only. The floor is two thirds of the loss.
    """
    spectrum, n, m, runs = np.array([1.0, 0.5, 0.25]), 256, 64, 4000
    settings = {"initial": 0.5, "sigma_sgd": 1.0, "buffers": 1, "amplification": False, "schedules": ("linear",)}
    found = plan(spectrum, n, rho=20.0, epochs=4, batch_sizes=(m,), **settings)
    row = found.row("independent")
    assert row.population > 2 * row.expected
    rng = np.random.default_rng(11)
    X = rng.standard_normal((runs, n, 3)) * np.sqrt(spectrum)
    residuals = rng.standard_normal((runs, n))
    theta = np.full((runs, 3), np.sqrt(0.5))
    for t, eta in enumerate(learning_rates("linear", row.setting.eta, row.steps)):
        batch = slice(t % 4 * m, (t % 4 + 1) * m)
        errors = np.einsum("rni,ri->rn", X[:, batch], theta) - residuals[:, batch]
        noise = row.noise_multiplier / m * rng.standard_normal((runs, 3))
        theta = theta - eta * (np.einsum("rni,rn->ri", X[:, batch], errors) / m + noise)
    losses = 0.5 * theta**2 @ spectrum
    error = float(losses.std()) / np.sqrt(runs)
    assert abs(losses.mean() - row.population) < 6 * error + 0.06 * row.population


def test_the_repaired_design_wanders_less():
    """With weight on the mean loss the largest part of privacy noise during the run falls."""
    eigenvalues = 1.0 / np.arange(1.0, 9.0)
    objective = Objective(
        eigenvalues, 64, schedule=learning_rates("linear", 0.5, 64), weights="final", batch_size=8, initial=1.0
    )
    times = Participation.cyclic(4, 16)
    largest = []
    for weight in (0.0, 0.01, 0.1):
        omega = (1 - weight) * objective.omega + weight / 64
        mechanism = best(replace(objective, weights=omega), times, buffers=2).mechanism
        run = by_direction(
            eigenvalues,
            correlation=mechanism,
            schedule=objective.learning_rates,
            clip_norm=1e6,
            noise_multiplier=float(sensitivity(mechanism, 64, times)) * 1e-6,
            batch_size=8,
            order="fresh",
        )
        largest.append(run.excursion)
    assert largest == sorted(largest, reverse=True)


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"n": 3}, "n"),
        ({"n": 2.5}, "n"),
        ({"rho": None}, "rho"),
        ({"epsilon": 1.0}, "rho"),
        ({"rho": -1.0}, "rho"),
        ({"delta": 0.0}, "delta"),
        ({"initial": 0.0}, "initial"),
        ({"initial": np.array([1.0, 1.0, -1.0, 0.0])}, "initial"),
        ({"initial": -1.0}, "initial"),
        ({"sigma_sgd": -1.0}, "sigma_sgd"),
        ({"clip_norm": 0.0}, "clip_norm"),
        ({"clip_norms": (1.0,)}, "clip_norms"),
        ({"epochs": ()}, "epochs"),
        ({"epochs": (1, 0)}, "epochs"),
        ({"epochs": 2.5}, "epochs"),
        ({"epochs": (1, 2), "work": 63.0}, "work"),
        ({"epochs": 2, "work": 127.0}, "work"),
        ({"work": float("nan")}, "work"),
        ({"work": -1.0}, "work"),
        ({"clip_norms": (0.0,)}, "clip_norms"),
        ({"schedules": ()}, "schedules"),
        ({"schedules": ("steep",)}, "schedules"),
        ({"batch_sizes": (65,)}, "batch_sizes"),
        ({"batch_sizes": (0,)}, "batch_sizes"),
        ({"weights": "best"}, "weights"),
        ({"buffers": 0}, "buffers"),
        ({"momentum": 0.5}, "momentum"),
        ({"momentum": 1.0}, "momentum"),
        ({"epochs": 0}, "epochs"),
        ({"largest_eta": 0.0}, "largest_eta"),
        ({"eigenvalues": np.array([1.0, 0.0])}, "eigenvalues[1]"),
    ],
)
def test_bad_arguments(changed, named):
    arguments = {"eigenvalues": EIGENVALUES, "n": 64, "rho": 0.5, **SETTINGS, **changed}
    with pytest.raises(DomainError) as raised:
        plan(arguments.pop("eigenvalues"), arguments.pop("n"), **arguments)
    assert raised.value.parameter == named


def test_amplification_needs_its_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    with pytest.raises(DomainError, match="dpbounds\\[accounting\\]"):
        poisson_noise_multiplier(1.0, 1e-5, 0.1, 10)


@pytest.mark.parametrize(("rate", "steps", "expected"), [(1 / 16, 256, 1.90293), (1 / 64, 64, 0.8349071)])
def test_orders_alone_ask_for_more_noise(rate, steps, expected):
    """Values computed elsewhere; of epsilon .05 % are left over."""
    multiplier = renyi_noise_multiplier(3.0, 1e-6, rate, steps)
    assert expected <= multiplier <= expected * (1 + 5e-4)
    assert multiplier > poisson_noise_multiplier(3.0, 1e-6, rate, steps)


def test_spent_by_orders_falls_with_noise_and_grows_with_steps():
    few = [renyi_epsilon(sigma, 1e-5, 0.1, 10) for sigma in (0.3, 1.0, 3.0, 1e4)]
    assert all(one > two >= 0 for one, two in pairwise(few))
    assert renyi_epsilon(1.0, 1e-5, 0.1, 20) > few[1] and renyi_epsilon(1.0, 1e-5, 0.2, 10) > few[1]


@pytest.mark.parametrize(
    "asked", [(1.0, 0.9, 0.1, 10), (1e-3, 0.5, 0.1, 10), (1e5, 1e-6, 0.1, 2), (1.0, 1e-200, 0.1, 10)]
)
def test_orders_hold_at_the_ends_of_their_ranges(asked):
    multiplier = renyi_noise_multiplier(*asked)
    assert renyi_epsilon(multiplier, *asked[1:]) <= asked[0]


def test_orders_that_show_nothing_say_so():
    """Below what orders up to thousands can tell at this delta, whatever the noise."""
    with pytest.raises(AccuracyError, match="larger epsilon or delta"):
        renyi_noise_multiplier(1e-4, 1e-6, 0.1, 10)


@pytest.mark.parametrize("bad", [(0.0, 1e-5, 0.1, 3), (1.0, 1.0, 0.1, 3), (1.0, 1e-5, 0.0, 3), (1.0, 1e-5, 0.1, 0)])
def test_orders_refuse_bad_arguments(bad):
    with pytest.raises(DomainError):
        renyi_epsilon(*bad)


def test_without_sampling_it_is_the_gaussian_mechanism():
    """All records in each of 3 steps: sqrt(3) over the mu of (epsilon, delta)."""
    multiplier = poisson_noise_multiplier(2.0, 1e-6, 1.0, 3)
    assert multiplier == pytest.approx(np.sqrt(3) / float(privacy.gaussian_mu(2.0, 1e-6)), rel=3e-3)


def test_spends_nearly_all_of_epsilon():
    multiplier = poisson_noise_multiplier(0.5, 1e-5, 0.02, 50)
    assert 0.998 * 0.5 <= poisson_epsilon(multiplier, 1e-5, 0.02, 50, grid=5e-4) <= 0.5


def test_amplified_row_beats_independent_noise():
    found = plan(EIGENVALUES, 64, rho=0.5, batch_sizes=(4,), **{**SETTINGS, "amplification": True})
    row = found.row("amplified")
    assert row.label == "independent, amplified"
    assert row.bound is None and row.ratio is None and row.loss.total < found.row("independent").loss.total


def test_amplified_row_without_the_package(monkeypatch):
    """More noise than the exact row, and the plan says so."""
    settings = {**SETTINGS, "rho": None, "epsilon": 2.0, "batch_sizes": (4,), "amplification": True}
    exact = plan(EIGENVALUES, 64, **settings)
    monkeypatch.setattr("dpbounds.ftrl.design.planning.installed", lambda: False)
    found = plan(EIGENVALUES, 64, **settings)
    assert exact.row("amplified").expected < found.row("amplified").expected < 1.3 * exact.row("amplified").expected
    assert any("upper bound" in said for said in found.sentences)
    assert not any("upper bound" in said for said in exact.sentences)


def test_prefix_sums_in_long_runs():
    """The BLT costs what exact noise costs, with one participation and with three."""
    T = 600
    objective = Objective(EIGENVALUES, T, eta=0.1, batch_size=4)
    for participation in (Participation.single(), Participation.cyclic(3, 200)):
        long = prefix_sum(T, participation)
        exact = unit_columns(optimal_counting(), T) if participation.times == 1 else optimal_counting()
        assert float(objective.value(long, participation)) == pytest.approx(
            float(objective.value(exact, participation)), rel=0.02
        )
    decoder = long.matrix(T)
    assert objective.noise_power(long) == pytest.approx(np.sum(decoder * (objective.gram() @ decoder)), rel=1e-9)
