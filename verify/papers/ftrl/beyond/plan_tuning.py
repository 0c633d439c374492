"""Beyond the paper: learning rates that are tried, by script; what a plan asks of forecasts; grids and variances."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np

from dpbounds.ftrl.correlations import independent
from dpbounds.ftrl.design import judged
from dpbounds.ftrl.design.judged import Judge, Judged
from dpbounds.ftrl.design.objective import Objective, largest_stable_rate
from dpbounds.ftrl.design.schedules import learning_rates
from dpbounds.ftrl.design.tuning import Base, LearningRateSearch, Setting, Training
from verify.checks import Fact, Holds, refused, taken

TRAINING = Training(
    eigenvalues=np.array([2.0, 0.5]), n=64, rho=0.25, initial=1.0, sigma_sgd=0.5, clip_norm=3.0, batch_sizes=(4, 16)
)
SETTING = Setting(batch_size=4, schedule="linear", eta=0.25)


def tuned_rates(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Grids and variances from their definitions; searches on totals that are written down; what forecasts are told."""
    del rng
    yield from _given()
    yield from _looks()
    yield from _around()
    yield from _forecasts()
    yield from _repaired()


def _given() -> Iterator[Fact | Holds]:
    """Rates from 98 % of the stable one down to 1/10 over steps and curvature; variances; what settings share."""
    yield Fact("variances", [TRAINING.variance(4), TRAINING.variance(4, 0.5)], [2 * 0.75**2, 0.25 * 0.75**2])
    for m, steps in ((4, 16), (16, 4), (1, 64)):
        stable = largest_stable_rate(TRAINING.eigenvalues, 1 / m)
        yield Fact(f"the fastest of batches of {m}", TRAINING.fastest(m), 0.98 * stable)
        slow = replace(TRAINING, largest_eta=0.01 * stable)
        yield Fact(f"the fastest allowed, batches of {m}", slow.fastest(m), 0.01 * stable)
        for label, one in (("all", TRAINING), ("few", slow), ("one", replace(TRAINING, largest_eta=1e-4))):
            rates, top = [one.fastest(m)], one.fastest(m)
            while rates[-1] > 0.05 / steps or len(rates) == 1:
                rates.append(rates[-1] / 2)
            yield Fact(f"grid of {label}, batches of {m}", one.grid(m), rates)
            yield Holds(f"first of {label}, batches of {m}", rates[0] == top)
    search = LearningRateSearch(training=TRAINING)
    base, objective = search.base(SETTING)
    rates = 0.25 * (1 - np.arange(16) / 16)
    run = Objective(TRAINING.eigenvalues, 16, schedule=rates, weights="final", batch_size=4, initial=1.0, sigma_sgd=0.5)
    stated = [run.bias, run.sgd_noise, np.trace(run.gram())]
    yield Fact("bias, gradient noise and tr G", [base.bias, base.sgd_noise, base.trace], stated, 1e-10)
    again, none = search.base(SETTING)
    yield Holds("computed once", objective is not None and none is None and again is base)
    t = np.arange(9) / 9
    shares = {"constant": np.ones(9), "linear": 1 - t, "cosine": np.cos(np.pi * t / 2) ** 2}
    for name, share in shares.items():
        yield Fact(f"{name} rates", learning_rates(name, 0.3, 9), 0.3 * share, 1e-14)
    powers = Training(eigenvalues=np.ones(1), n=1024, rho=1.0, initial=1.0).batch_sizes
    yield Fact("powers of 4", list(powers), [1, 4, 16, 64], 0)


@dataclass(eq=False, kw_only=True)
class _Scripted(LearningRateSearch):
    """Totals that are parabolas in log2 eta, of which `noise` is cost; what was asked."""

    least_at: dict[tuple[int, str], tuple[float, float]] = field(default_factory=dict)
    looked: list[tuple[int, str, float]] = field(default_factory=list)
    asked: list[tuple[int, str, float]] = field(default_factory=list)

    def base(self, setting: Setting) -> tuple[Base, Any]:
        place = (setting.batch_size, setting.schedule, setting.eta)
        self.looked.append(place)
        total = self.total(setting)
        return Base(bias=0.5 * total, sgd_noise=0.25 * total, trace=1.0), None

    def total(self, setting: Setting) -> float:
        place, least = self.least_at[setting.batch_size, setting.schedule]
        return least * (1.0 + (np.log2(setting.eta) - place) ** 2)

    def cost(self, setting: Setting, base: Base, objective: Any) -> float:
        self.asked.append((setting.batch_size, setting.schedule, setting.eta))
        return 0.25 * self.total(setting)


def _search(least_at: Any) -> _Scripted:
    training: Any = SimpleNamespace(
        batch_sizes=(4, 64, 16),
        schedules=("constant", "linear"),
        grid=lambda size: np.array([1.0, 0.5, 0.25, 0.125]),
        fastest=lambda size: 1.0,
    )
    return _Scripted(training=training, least_at=least_at)


def _looks() -> Iterator[Fact | Holds]:
    """Large batches first; no cost where the rest is above; refined where it can come within the margin."""
    leasts = {(64, "constant"): 4.0, (64, "linear"): 2.0, (16, "constant"): 1.6, (16, "linear"): 1.29}
    leasts |= {(4, "constant"): 1.0, (4, "linear"): 1.31}
    for margin, found in ((1.0, [1.0, 1.29]), (1.25, [1.0, 1.29, 1.31, 1.6])):
        search = _search({pair: (-1.0, least) for pair, least in leasts.items()})
        rows = search.least(search.cost, margin)
        yield Fact(f"totals within {margin:g}", [total for total, _ in rows], found, 1e-9)
        yield Fact(f"rates there, within {margin:g}", [setting.eta for _, setting in rows], [0.5] * len(found))
        places = [(*pair, eta) for pair in leasts for eta in (1.0, 0.5, 0.25, 0.125)]
        yield Holds(f"what is looked at, within {margin:g}", search.looked[: len(places)] == places)
        bar, asked = np.inf, []
        for size, schedule, eta in places:
            total = leasts[size, schedule] * (1.0 + (np.log2(eta) + 1.0) ** 2)
            if 0.75 * total < bar:
                asked.append((size, schedule, eta))
                bar = min(bar, 1.3 * margin * total)
        yield Holds(f"what costs are asked for, within {margin:g}", search.asked[: len(asked)] == asked)
        named = [(setting.batch_size, setting.schedule) for _, setting in rows]
        stated = sorted((pair for pair in leasts if leasts[pair] in found), key=leasts.__getitem__)
        yield Holds(f"settings within {margin:g}", named == stated)


def _around() -> Iterator[Fact | Holds]:
    """From half to twice the best rate of the grid, no faster than the fastest; the known one where nothing is less."""
    for place, start, eta in (
        (-1.3, 0.5, 2.0**-1.3),
        (-0.2, 1.0, 2.0**-0.2),
        (-2.0, 0.25, 0.25),
        (-9.0, 0.25, 0.125),
        (-0.2, 0.25, 0.5),
    ):
        search = _search({(16, "linear"): (place, 2.0)})
        setting = Setting(batch_size=16, schedule="linear", eta=start)
        total, found = search.around(setting, search.cost, search.total(setting))
        yield Fact(f"rate around {start:g}, best at 2^{place:g}", found.eta, eta, 0.02)
        yield Fact(f"total around {start:g}, best at 2^{place:g}", total, search.total(found), 1e-12)
        tried = [one for *_, one in search.looked]
        inside = min(tried) >= start / 2 * (1 - 1e-12) and max(tried) <= min(2 * start, 1.0) * (1 + 1e-12)
        yield Holds(f"rates tried around {start:g}, best at 2^{place:g}", inside)
    search = _search({(16, "linear"): (-1.0, 2.0)})
    known = replace(setting, eta=0.7)
    yield Fact("a better one that is known", search.around(known, search.cost, 1.0)[0], 1.0, 0)
    yield Holds("its rate, to the bit", search.around(known, search.cost, 1.0)[1] == known)


# --- forecasts ---


def _judge(**other: Any) -> Judge:
    records: Any = SimpleNamespace(
        features=np.ones((7, 3)), residuals=np.arange(7.0), initial=np.array([1.0, 2.0, 4.0])
    )
    return Judge(**{"training": TRAINING, "records": records, "buffers": 3, "momentum": 0.25, **other})


def _forecasts() -> Iterator[Fact | Holds]:
    """Orders by kind; fresh records; no clipping with the same noise; what takes hours is refused."""
    judge, noise = _judge(), independent()
    yield Fact("a rate with momentum", judge._slowed(SETTING).eta, 0.75 * 0.25)
    row = Judged(
        correlation=noise, setting=SETTING, clip_norm=2.0, noise_multiplier=0.5, mean_weight=0.1, forecast=mock.Mock()
    )
    calls = {
        "fixed": (lambda: judge._at("designed", noise, 0.5, 0.1, SETTING), 3.0, 0.5),
        "poisson": (lambda: judge._at("amplified", noise, 0.5, 0.1, SETTING), 3.0, 0.5),
        "fresh": (lambda: judge.of_fresh_records(row), 2.0, 0.5),
        "fixed, unclipped": (lambda: judge.unclipped("independent", row), 1e30, 1e-30),
        "poisson, unclipped": (lambda: judge.unclipped("amplified", row), 1e30, 1e-30),
    }
    for label, (call, clip_norm, multiplier) in calls.items():
        with mock.patch.object(judged, "forecast") as asked:
            call()
        (features, residuals), told = asked.call_args
        yield Holds(f"{label}: order", told["order"] == label.split(",")[0] and told["correlation"] is noise)
        numbers = [told[name] for name in ("clip_norm", "noise_multiplier", "batch_size", "n", "momentum")]
        yield Fact(f"{label}: clip norm and noise", np.log(numbers[:2]), np.log([clip_norm, multiplier]), 1e-12)
        yield Fact(f"{label}: batches, records, momentum", numbers[2:], [4, 64, 0.25], 0)
        yield Fact(f"{label}: rates", told["schedule"], 0.25 * (1 - np.arange(16) / 16))
        own = features is judge.records.features and residuals is judge.records.residuals
        yield Holds(f"{label}: records", own and told["initial"] is judge.records.initial)
    with mock.patch.object(judged, "forecast") as asked:
        asked.return_value.weighted = lambda omega: float(np.sum(omega * np.arange(16)))
        made = judge._at("designed", noise, 0.5, 0.1, SETTING)
    parts = [made.clip_norm, made.noise_multiplier, made.mean_weight, judge._loss(made)]
    yield Fact("what is judged", parts, [3.0, 0.5, 0.1, 15.0])
    for columns, call in ((836, "taken"), (837, "refused")):  # the cube of 836.7 is 3e11 / 16 / 32
        records: Any = SimpleNamespace(features=np.ones((7, columns)))
        check = partial(_judge(records=records, momentum=0.0)._check, SETTING)
        label = f"{columns} columns"
        yield taken(label, check) if call == "taken" else refused(label, "features", check)


def _repaired() -> Iterator[Fact | Holds]:
    """Designs with a thousandth and a hundredth of the weight on the mean loss, and their noise for the budget."""
    judge = _judge()
    mechanism = mock.Mock()
    with (
        mock.patch.object(judged, "best", return_value=SimpleNamespace(mechanism=mechanism)) as asked,
        mock.patch.object(judged, "sensitivity", side_effect=[2.0, 3.0]) as measured,
    ):
        made = list(judge._repaired(SETTING))
    final = np.eye(16)[-1]
    for call, weight in zip(asked.call_args_list, (0.001, 0.01), strict=True):
        (objective, participation), told = call
        stated = (1 - weight) * final + weight / 16
        yield Fact(f"weights with {weight:g} on the mean", objective.omega, stated, 1e-14)
        yield Holds(f"how it is designed, {weight:g}", told == {"buffers": 3} and participation.times == 1)
    yield Fact("noise for the budget", [size for _, size, _ in made], np.array([2.0, 3.0]) / np.sqrt(0.5))
    yield Fact("weights on the mean", [weight for *_, weight in made], [0.001, 0.01], 0)
    yield Holds("designs", all(one is mechanism for one, *_ in made))
    measures = [(call.args[0] is mechanism, *call.args[1:2], call.args[2].times) for call in measured.call_args_list]
    yield Holds("what is measured", measures == [(True, 16, 1)] * 2)
