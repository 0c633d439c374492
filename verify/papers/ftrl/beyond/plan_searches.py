"""Beyond the paper: the searches of a plan by script, each on losses that are written down."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from dpbounds.ftrl.correlations import independent
from dpbounds.ftrl.design.judged import Judge
from dpbounds.ftrl.design.planner import Planner
from dpbounds.ftrl.design.tuning import Setting, Training
from verify.checks import Fact, Holds
from verify.papers.ftrl.beyond.plan_judged import judged_rows
from verify.papers.ftrl.beyond.plan_tuning import tuned_rates

START = Setting(batch_size=8, schedule="linear", eta=1.0)
OTHER = Setting(batch_size=4, schedule="linear", eta=1.0)
# Names of designs, where only which one it is matters.
NOISE: Any = independent()


def searches(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Noise and learning rate in turn; which settings get a design; learning rates, places and clip norms with
    clipping; places with momentum; what becomes of the rows; learning rates that are tried.
    """
    yield from judged_rows(rng)
    yield from tuned_rates(rng)
    yield from _turns()
    yield from _designs()
    yield from _rates()
    yield from _places()
    yield from _clip_norms()
    yield from _with_momentum()


# --- without clipping ---


def _planner(**parts: Any) -> Any:
    return SimpleNamespace(**parts)


def _turns() -> Iterator[Fact]:
    """A design, then the learning rate for it, as long as a design gains a thousandth, and three times at most."""
    for label, totals, turns in (
        ("a design that gains nothing", (1.0, 0.9), 1),
        ("one that gains less than a thousandth", (1.0, 0.8995), 1),
        ("one that gains more", (1.0, 0.8985, 0.95), 2),
        ("designs that always gain", (1.0, 0.8, 0.6, 0.4, 0.2), 3),
    ):
        asked: list[tuple[str, float, float]] = []

        def design(setting: Setting, totals=totals, asked=asked) -> tuple[Any, float]:
            number = sum(kind == "design" for kind, *_ in asked)
            asked.append(("design", setting.eta, totals[number]))
            return NOISE, totals[number]

        def around(setting: Setting, cost: Callable[..., float], total: float, asked=asked) -> tuple[float, Setting]:
            asked.append(("around", setting.eta, cost(setting, None, None)))
            return 0.9 * total, replace(setting, eta=setting.eta / 2)

        planner = _planner(
            _design=design,
            _sensitivity=lambda correlation, setting: 3.0,
            _correlated=lambda noise, size, at, objective: size * at.eta,
            search=SimpleNamespace(around=around),
        )
        total, setting, _ = Planner._settled(planner, START)
        yield Fact(f"{label}: total and rate", [total, setting.eta], [0.9 * totals[turns - 1], 0.5**turns], 1e-12)
        costs = [cost for kind, _, cost in asked if kind == "around"]
        yield Fact(f"{label}: costs", costs, [3.0 * 0.5**k for k in range(turns)], 1e-12)


def _designs() -> Iterator[Fact]:
    """In turn for several passes or long runs; else one, where its bound is below what was reached; four at most."""
    bounds, totals = (5.0, 6.0, 4.5, 5.0, 0.1), {8: 5.5, 7: 9.0, 6: 4.6, 5: 4.7}
    candidates = [(0.0, replace(START, batch_size=8 - k)) for k in range(5)]
    for label, epochs, steps, designed in (
        ("one short pass", 1, 100, {8: 5.5, 6: 4.6}),
        ("two passes", 2, 100, {8: 0.8, 7: 0.7, 6: 0.6, 5: 0.5}),
        ("a long run", 1, 3000, {8: 0.8, 7: 0.7, 6: 0.6, 5: 0.5}),
    ):
        made: dict[int, float] = {}

        def settled(setting: Setting, made=made) -> tuple[float, Setting, Any]:
            made[setting.batch_size] = setting.batch_size / 10
            return setting.batch_size / 10, setting, NOISE

        def design(setting: Setting, made=made) -> tuple[Any, float]:
            made[setting.batch_size] = totals[setting.batch_size]
            return NOISE, totals[setting.batch_size]

        planner = _planner(
            training=SimpleNamespace(epochs=epochs, steps=lambda size, steps=steps: steps),
            progress=lambda *_: None,
            search=SimpleNamespace(around=lambda setting, cost, total: (bounds[8 - setting.batch_size], setting)),
            _least_noise=None,
            _settled=settled,
            _design=design,
            _row=lambda kind, correlation, setting: setting.batch_size,
        )
        taken: Any = Planner._designed(planner, candidates)
        yield Fact(f"{label}: designs", list(made.items()), list(designed.items()), 1e-12)
        yield Fact(f"{label}: batch size", float(taken), float(min(designed, key=designed.__getitem__)), 0)


# --- with clipping ---


@dataclass(frozen=True, kw_only=True, eq=False)
class Scripted(Judge):
    """Losses that depend on the distance of the learning rate from the best one in logarithms; what was asked."""

    records: Any = None
    buffers: int = 1
    best: Callable[[float, Setting], float] = lambda clip_norm, setting: 1.0
    asked: list[tuple[float, float]] = field(default_factory=list)

    def _at(self, kind: Any, noise: Any, multiplier: float, weight: float, setting: Setting) -> Any:
        clip_norm = self.training.clip_norm
        self.asked.append((clip_norm, setting.eta))
        loss = abs(math.log(setting.eta / self.best(clip_norm, setting))) + multiplier + clip_norm - weight
        return SimpleNamespace(setting=setting, clip_norm=clip_norm, multiplier=multiplier, weight=weight, loss=loss)

    def _loss(self, row: Any) -> float:
        return row.loss

    def _check(self, setting: Setting) -> None:
        """Nothing is forecast."""

    def _repaired(self, setting: Setting) -> Iterator[Any]:
        yield NOISE, 0.5, 0.25


def _training(**other: Any) -> Training:
    return Training(**{"eigenvalues": np.array([1.0, 0.5]), "n": 64, "rho": 1.0, "initial": 1.0, **other})


def _rates() -> Iterator[Fact]:
    """By factors of the square root of 2: down while that helps, or else up, ten steps, never above the fastest."""
    training = _training()
    fastest = training.fastest(START.batch_size)
    for label, start, best, momentum, found in (
        ("below", 1.0, 0.3, 0.0, 2.0**-1.5),
        ("above", 0.1, 0.21, 0.0, 0.2),
        ("here", 0.5, 0.5, 0.0, 0.5),
        ("far below", 1.0, 1e-6, 0.0, 2.0**-5),
        ("above the fastest", fastest / 1.2, 100.0, 0.0, fastest / 1.2),
        ("next to the fastest", fastest / 1.42, 100.0, 0.0, fastest / 1.42 * 2**0.5),
        ("next to it with momentum", fastest / 2.9, 100.0, 0.5, fastest / 2.9 * 2**0.5),
        ("above it with momentum", fastest / 2.7, 100.0, 0.5, fastest / 2.7),
    ):
        judge = Scripted(training=training, momentum=momentum, best=lambda clip, setting, best=best: best)
        row = judge._tuned("independent", NOISE, 0.0, 0.0, replace(START, eta=start))
        yield Fact(f"best learning rate {label}", row.setting.eta, found, 1e-12)


def _places() -> Iterator[Fact]:
    """Two of several places, those of least loss at their own rates less momentum; two as they are."""
    judge = Scripted(training=_training(), momentum=0.5, best=lambda clip, setting: 0.5)
    places = [(NOISE, replace(START, eta=eta), 0.0) for eta in (0.2, 1.1, 4.0, 0.8)]
    for count, taken in ((2, [0.2, 1.1]), (3, [1.1, 4.0]), (4, [1.1, 0.8])):
        found = [setting.eta for _, setting, _ in judge._nearest("independent", places[:count])]
        yield Fact(f"places taken of {count}", found, taken, 0)
    features = SimpleNamespace(features=np.zeros((64, 3)))
    for momentum, steps in ((0.0, 16), (0.5, 16), (0.0, 160)):
        judge = Scripted(training=_training(epochs=steps // 8), records=features, momentum=momentum)
        products = steps * (min(steps, 64) + 8) * 27 * (4 if momentum else 1)
        yield Fact(f"products of {steps} steps, momentum {momentum:g}", judge.products(START), products, 0)


def _clip_norms() -> Iterator[Fact]:
    """That of the training first, each other once; the search goes on from the last rate where all else is the same;
    designs that weigh the mean loss are tried beside a design, and nothing beside other noise.
    """
    for kind, tries in (("independent", 1), ("designed", 2)):
        judge = Scripted(training=_training(clip_norm=0.5), clip_norms=(0.25, 0.5, 2.0), best=lambda clip, _: 0.3)
        row: Any = judge.judged(kind, [(NOISE, START, 0.375)])  # pyright: ignore[reportArgumentType]
        rates = [2.0 ** (-k / 2) for k in range(5)]
        # from 1 down to the best and one further, then from the best: one down, one up
        again = [rates[3], rates[4], rates[2]]
        expected = [(0.5, eta) for eta in (rates if tries == 1 else [*rates, *again])]
        expected += [(clip, eta) for clip in (0.25, 2.0) for eta in again * tries]
        yield Fact(f"clip norms and rates, {kind}", judge.asked, expected, 1e-12)
        yield Fact(
            f"the best of them, {kind}",
            [row.clip_norm, row.setting.eta, row.multiplier, row.weight],
            [0.25, rates[3], *((0.375, 0.0) if tries == 1 else (0.5, 0.25))],
            1e-12,
        )
    judge = Scripted(training=_training(clip_norm=0.5), best=lambda clip, _: 0.3)
    judge.judged("independent", [(NOISE, START, 0.0), (NOISE, OTHER, 0.0)])
    yield Fact("rates of two batch sizes", [eta for _, eta in judge.asked], rates * 2, 1e-12)


def _with_momentum() -> Iterator[Fact | Holds]:
    """A design for the rate at which noise for prefix sums is best, as it is without momentum; other noise where its
    total without momentum is within a factor of four.
    """
    seen: dict[str, Any] = {}

    def least(cost: Any, margin: float) -> list[tuple[float, Setting]]:
        seen.update(cost=cost, margin=margin)
        return [(1.0, START), (2.0, OTHER)]

    planner = _planner(
        momentum=0.8,
        search=SimpleNamespace(least=least),
        _design=lambda setting: (("design", setting.eta), 0.0),
        _prefix=lambda setting: (("prefix sum", setting.batch_size), 0.0),
        _multiplier=lambda kind, correlation, setting: setting.eta + setting.batch_size,
        **{f"_{name}": name for name in ("independent", "amplified", "prefix_sum")},
    )
    last: Any = SimpleNamespace(setting=replace(START, eta=0.1))
    ((noise, setting, multiplier),) = Planner._more_places(planner, "designed", last)
    yield Fact("rate of a design, and its noise", [noise[1], setting.eta, multiplier], [0.5, 0.5, 8.5], 1e-12)  # pyright: ignore[reportIndexIssue]
    for kind, cost in (("independent", "independent"), ("amplified", "amplified"), ("prefix-sum", "prefix_sum")):
        places = Planner._more_places(planner, kind, last)  # pyright: ignore[reportArgumentType]
        yield Holds(f"what {kind} noise costs", seen == {"cost": cost, "margin": 4.0})
        stated = [(START, 9.0), (OTHER, 5.0)]
        yield Holds(f"places for {kind} noise", [(setting, size) for _, setting, size in places] == stated)
        own = all(noise == ("prefix sum", setting.batch_size) for noise, setting, _ in places)
        yield Holds(f"noise there, {kind}", own is (kind == "prefix-sum"))
