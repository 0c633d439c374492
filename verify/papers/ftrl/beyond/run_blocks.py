"""Beyond the paper: what a plan's runs are given, and how many are held at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dpbounds.ftrl.correlations import independent, nu
from dpbounds.ftrl.design import Budget, Objective, Plan
from dpbounds.ftrl.design.clipped import ProxyRecords
from dpbounds.ftrl.design.noise_kinds import NoiseKind
from dpbounds.ftrl.design.objective import Loss
from dpbounds.ftrl.design.planner import PlanRow
from dpbounds.ftrl.design.tuning import Setting, Training
from simulators.ftrl import ClippedTraining, DesignedTraining, clipped, designed, experiment_of, planned_on_records
from simulators.ftrl.settings import Settings
from verify.checks import Fact, Holds, refused


def of_blocks(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """As many runs at a time as a block of numbers holds, one at least, and no more than are allowed."""
    del rng
    for steps, d, m in ((40, 3, 5), (3, 2, 2), (2000, 2, 3000), (10, 400, 1)):
        run = Objective(np.linspace(0.1, 1.0, d), steps, eta=1e-3, batch_size=m)
        numbers = 2 * steps * (d + m)
        yield Fact(f"numbers of a run, {steps} steps, {d} columns, batches of {m}", designed.draws_of(run), numbers, 0)
        made = experiment_of(DesignedTraining(objective=run, mechanism=independent(), rho=1.0))
        held = sum(k * numbers <= designed.BLOCK_DRAWS for k in range(1, designed.MOST_BLOCK_TRIALS + 1))
        yield Fact(f"runs at a time, {steps} steps, {d} columns, batches of {m}", made.block_trials, max(held, 1), 0)
    yield from _planned()
    yield from _left_out()
    yield from _settings()


def _settings() -> Iterator[Fact | Holds]:
    """Averages leave out the first half; noise by the sensitivity over the steps, in the limit, or as given."""
    common: dict[str, Any] = {"correlation": nu(0.25), "eta": 0.1, "steps": 7}
    for steps, first in ((1, 0), (7, 3), (8, 4)):
        yield Fact(f"left out of {steps}", Settings(**{**common, "steps": steps}, rho=0.5).burn_in, first, 0)
    yield Fact("left out as given", Settings(**common, rho=0.5, average_from=5).burn_in, 5, 0)
    limit = float(np.linalg.norm(nu(0.25).inverse_coefficients(4000)))
    horizon = float(np.linalg.norm(nu(0.25).inverse_coefficients(7)))
    ways: tuple[tuple[Any, float], ...] = (("horizon", horizon), ("limiting", limit), (3.0, 3.0))
    for sensitivity, gamma in ways:
        made = Settings(**common, rho=2.0, sensitivity=sensitivity)
        yield Fact(f"noise by {sensitivity}", made.noise_multiplier, gamma / 2.0, 1e-9)
    yield Fact("without privacy no noise", Settings(**common, rho=np.inf).noise_multiplier, 0.0, 0)
    yield refused("no privacy at all", "rho", lambda: Settings(**common, rho=0.0))


def _left_out() -> Iterator[Fact | Holds]:
    """What is left of a fixed order after whole batches is never taken; few places are thinned like many."""
    for share, places in ((1e-3, 10), (0.5, 5), (0.25, 100), (0.5, 1000)):
        found = clipped._thinned(share, places, np.random.default_rng(3)).tolist()
        yield Holds(f"{places} places with chances of {share:g}", set(found) <= set(range(places)))
    for n, m in ((7, 4), (8, 4), (11, 4), (5, 2), (3, 3)):
        settings = ClippedTraining(
            correlation=independent(), schedule=(0.1,), clip_norm=1.0, noise_multiplier=1.0, batch_size=m, order="fixed"
        )
        order = np.random.default_rng(5).permuted(np.tile(np.arange(n), (2, 1)), axis=1)
        batches = clipped._batches(settings, n, 2, np.random.default_rng(5))
        for step in range(5):
            runs, records = next(batches)
            first = step % (n // m) * m
            yield Fact(f"step {step} of {n} by {m}: runs", runs, [0] * m + [1] * m, 0)
            yield Fact(f"step {step} of {n} by {m}", records, order[:, first : first + m].ravel(), 0)


def _planned() -> Iterator[Fact | Holds]:
    """Amplified noise with Poisson sampling, all other noise in a fixed order."""
    draws = np.random.default_rng(8)
    for n, m, steps in ((48, 4, 12), (48, 24, 2), (512, 256, 2000), (1024, 1024, 4000)):
        X = draws.standard_normal((n, 2))
        records = ProxyRecords.of(X, X @ [1.0, -1.0] + draws.standard_normal(n))
        training = Training(eigenvalues=np.ones(2), n=n, rho=0.5, initial=1.0, batch_sizes=(m,), epochs=steps * m // n)
        kinds: tuple[NoiseKind, ...] = ("independent", "amplified", "prefix-sum", "designed")
        for kind in kinds:
            row = PlanRow(
                kind=kind,
                correlation=independent(),
                setting=Setting(batch_size=m, schedule="linear", eta=0.25),
                steps=steps,
                clip_norm=2.0,
                noise_multiplier=0.75,
                loss=Loss(1.0, 1.0, 1.0),
                bound=None,
                population=1.0,
                momentum=0.125,
            )
            plan = Plan(training=training, rows=(row,), budget=Budget(rho=0.5, epsilon=None, delta=1e-5))
            made = planned_on_records(plan, kind, records)
            label, settings = f"{kind}, {steps} steps of {m}", made.settings
            yield Holds(f"order, {label}", settings.order == ("poisson" if kind == "amplified" else "fixed"))
            held = sum(k * m * steps <= clipped.BLOCK_GRADIENTS for k in range(1, clipped.MOST_BLOCK_TRIALS + 1))
            yield Fact(f"runs at a time, {label}", made.block_trials, max(held, 1), 0)
            given: list[Any] = [settings.clip_norm, settings.noise_multiplier, settings.batch_size, settings.momentum]
            yield Fact(f"what is given, {label}", given, [2.0, 0.75, m, 0.125], 0)
            yield Fact(f"rates, {label}", settings.schedule, 0.25 * (1 - np.arange(steps) / steps))
