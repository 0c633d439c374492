"""Beyond the paper: what a plan says of its rows, on rows that are written down."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np

from dpbounds.ftrl.correlations import independent
from dpbounds.ftrl.design import planner, planning
from dpbounds.ftrl.design.amplification import Accounting
from dpbounds.ftrl.design.budget import Budget
from dpbounds.ftrl.design.noise_kinds import NoiseKind
from dpbounds.ftrl.design.objective import Loss
from dpbounds.ftrl.design.passes import Passes, fewest, passes
from dpbounds.ftrl.design.planner import Planner, PlanRow
from dpbounds.ftrl.design.planning import Plan, plan
from dpbounds.ftrl.design.tuning import Setting, Training
from verify.checks import Fact, Holds, refused

TRAINING = Training(eigenvalues=np.array([1.0, 0.5]), n=128, rho=1.0, initial=1.0, batch_sizes=(8,), sigma_sgd=0.5)
BUDGET = Budget(rho=1.0, epsilon=3.0, delta=1e-5)


def sentences(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Which row is best, what is said of the two that are compared, of the design, and of what is assumed."""
    del rng
    yield from _compared()
    yield from _said()
    yield from _assumed()
    yield from _of_passes()
    yield from _runs()
    yield from _asked()
    yield from _rows()
    yield from _multipliers()


def _row(kind: NoiseKind, loss: float, **other: Any) -> PlanRow:
    size = {"independent": 32, "amplified": 16, "prefix-sum": 8, "designed": 4}[kind]
    parts = {"clip_norm": 1.0, "population": loss, "bound": 0.25, **other}
    setting = Setting(batch_size=size, schedule="linear", eta=0.123456)
    whole = Loss(0.25 * loss, 0.25 * loss, 0.5 * loss)
    steps, noise = 128 // size, independent()
    return PlanRow(
        kind=kind, correlation=noise, setting=setting, steps=steps, noise_multiplier=1.0, loss=whole, **parts
    )


def _plan(losses: dict[Any, float], *, training: Training = TRAINING, parts: Any = None, **other: Any) -> Plan:
    """Rows of these losses, with these other parts by kind."""
    rows = tuple(_row(kind, loss, **(parts or {}).get(kind, {})) for kind, loss in losses.items())
    return Plan(training=training, rows=rows, budget=BUDGET, **other)


def _clipped(*shares: float) -> Any:
    return SimpleNamespace(share_clipped=np.array(shares))


# Losses of independent noise, amplified, for prefix sums and designed; the best, the gain.
ORDERS: dict[str, tuple[tuple[float, float, float, float], NoiseKind, float]] = {
    "designed noise": ((4.0, 3.0, 1.5, 1.0), "designed", 3.0),
    "prefix sums": ((4.0, 5.0, 1.0, 2.0), "prefix-sum", 4.0),
    "independent noise": ((1.0, 3.0, 3.0, 2.0), "independent", 0.5),
    "amplified noise": ((4.0, 1.0, 8.0, 5.0), "amplified", 0.2),
}
KINDS: tuple[NoiseKind, ...] = ("independent", "amplified", "prefix-sum", "designed")


def _compared() -> Iterator[Fact | Holds]:
    """The least loss of either sort, over one another; losses with clipping where there are some."""
    for label, (losses, kind, gain) in ORDERS.items():
        found = _plan(dict(zip(KINDS, losses, strict=True)))
        yield Holds(f"the best is {label}", found.best.kind == kind)
        yield Fact(f"gain where the best is {label}", found.gain, gain)
        yield Holds(f"it pays where the best is {label}", found.pays is (gain > 1) and found.verdict == "take")
        backwards = dict(zip(KINDS, reversed(losses), strict=True))
        parts = {one: {"clipped": _clipped(0.1), "clipped_loss": losses[i]} for i, one in enumerate(KINDS)}
        clipped = _plan(backwards, parts=parts)
        yield Fact(f"gain where the best is {label}, clipped", clipped.gain, gain)
        yield Holds(f"the best is {label}, clipped", clipped.best.kind == kind)
    # (gain, forecast, momentum) -> verdict: 0.9 and 0.95 without records, 0.95 and 0.98 with them
    for share, forecast, momentum, word in (
        (0.89, False, 0.0, "take"),
        (0.92, False, 0.0, "probably"),
        (0.96, False, 0.0, "level"),
        (0.94, True, 0.0, "take"),
        (0.97, True, 0.0, "probably"),
        (0.985, True, 0.0, "level"),
        (0.94, True, 0.5, "probably"),
        (0.985, True, 0.5, "level"),
    ):
        clipped = {kind: {"clipped": _clipped(0.1) if forecast else None} for kind in KINDS}
        for losses, pays in (((1.0, share), True), ((share, 1.0), False)):
            found = _plan(dict(zip(("independent", "designed"), losses, strict=True)), parts=clipped, momentum=momentum)
            label = f"{losses[1]:g} of {losses[0]:g}, forecast: {forecast}, momentum {momentum:g}"
            yield Holds(label, found.verdict == word and found.pays is (pays and word == "take"))


def _taken(kind: str, size: int) -> str:
    steps = 128 // size
    return f"{kind} noise with batch size {size}, {steps} steps, linear learning rate, eta = 0.123, clip norm "


def _said() -> Iterator[Holds]:
    """The first sentences to the letter: noise and its setting, ratios of three digits, percentages of two."""
    designed, alone, prefix = _taken("designed", 4), _taken("independent", 32), _taken("prefix sum", 8)
    over = "Designing noise for this loss in place of prefix sums lowers the total by"
    # (independent, prefix sum, designed), the opening, the better of correlated noise with its ratio, the advice
    for losses, opening, better, ratio, advice in (
        ((1.0, 0.5, 0.4), "Correlated noise pays", "designed", 0.4, f"Take {designed}1."),
        ((1.0, 0.4, 0.4), "Correlated noise pays", "designed", 0.4, f"Take {designed}1."),
        ((1.0, 0.93211, 1.0), "Probably better, and no more", "prefix sum", 0.932, f"Try {prefix}1."),
        ((1.0, 1.0, 0.99), "No difference you can rely on", "designed", 0.99, f"Take the simpler one, {alone}1."),
        ((1.0, 4.0, 2.0), "Correlated noise does not pay here", "designed", 2, f"Take {alone}1."),
    ):
        found = _plan(dict(zip(("independent", "prefix-sum", "designed"), losses, strict=True)))
        first = (
            f"{opening}: each tuned for itself, {better} noise has {ratio} times the total loss of independent noise."
        )
        yield Holds(f"of losses {losses}", found.sentences[0] == f"{first} {advice}")
        lowered, above = 100 * (1 - losses[2] / losses[1]), 100 * (losses[2] / 0.25 - 1)
        stated = f"{over} {lowered:.2g} %; the design is at most {above:.2g} % above the best noise there is."
        yield Holds(f"of the design, losses {losses}", found.sentences[1] == stated)
    parts = {one: {"clipped": _clipped(0.1), "clip_norm": 0.25} for one in KINDS}
    found = _plan({"independent": 1.0, "prefix-sum": 1.0, "designed": 0.97}, parts=parts)
    yield Holds("a little better with clipping", f"Try {designed}0.25." in found.sentences[0])
    found = _plan(dict(zip(KINDS, (9.0, 4.0, 2.0, 1.5), strict=True)), parts=parts, momentum=0.75)
    row = replace(found.rows[-1], momentum=0.75)
    found = replace(found, rows=(*found.rows[:-1], row))
    yield Holds(
        "with clipping and momentum, amplified",
        found.sentences[:2]
        == (
            f"Probably better, and no more: each tuned for itself, designed noise has 0.375 times the total loss of "
            f"independent, amplified noise. Try {designed}0.25, momentum 0.75.",
            f"{over} 25 %.",
        ),
    )


# Words that stand in one sentence of what is assumed, and in no other.
TOLD = {
    "ranking": "only below 0.9 can the ranking",
    "records": "Losses with clipping are forecast",
    "momentum": "runs with momentum 0.5",
    "sure": "Below 0.95 the ranking",
    "norms": "Clip norms are the best",
    "often": "more than 0.3 of all gradients are clipped",
    "renyi": "accounted for by Rényi orders",
    "later": "Totals take the gradients of later epochs",
}


def _assumed() -> Iterator[Holds]:
    """Each where it is so, and nowhere else."""
    losses, other = dict.fromkeys(KINDS, 1.0), replace(TRAINING, clip_norm=2.0)
    two = replace(TRAINING, epochs=2)
    plain, all_clipped = {"clipped": _clipped(0.1, 0.2)}, {"clipped": _clipped(0.3, 0.35)}
    one = {"independent": {"clipped": None}, "designed": plain}
    cases: dict[str, tuple[dict[str, Any], set[str]]] = {
        "without records": ({}, {"ranking"}),
        "of two passes": ({"training": two}, {"ranking", "later"}),
        "by orders": ({"accounting": "renyi"}, {"ranking", "renyi"}),
        "with records": ({"parts": dict.fromkeys(KINDS, plain)}, {"records", "sure"}),
        "with records, two passes": ({"parts": dict.fromkeys(KINDS, plain), "training": two}, {"records", "sure"}),
        "with momentum": ({"parts": dict.fromkeys(KINDS, plain), "momentum": 0.5}, {"records", "momentum"}),
        "other clip norms": ({"parts": dict.fromkeys(KINDS, plain), "training": other}, {"records", "sure", "norms"}),
        "often in each row": ({"parts": dict.fromkeys(KINDS, all_clipped)}, {"records", "sure", "often"}),
        "often in all but one": (
            {"parts": dict.fromkeys(KINDS, all_clipped) | {"prefix-sum": plain}},
            {"records", "sure"},
        ),
        "of some rows": ({"parts": dict.fromkeys(KINDS, all_clipped) | one}, {"ranking"}),
    }
    for label, (given, told) in cases.items():
        words = _plan(losses, **given).sentences[2:]
        named = [[name for name, text in TOLD.items() if text in sentence] for sentence in words]
        yield Holds(f"assumed {label}", sorted(named) == [[name] for name in sorted(told)])
    found = _plan({kind: 1.0 for kind in KINDS if kind != "amplified"}, accounting="renyi")
    yield Holds("no orders without amplified noise", not any("orders" in one for one in found.sentences))


def _of_passes() -> Iterator[Fact | Holds]:
    """What each number of passes reaches, and which one is taken; those beyond the work are left out."""
    own = {"independent": {"population": 2.0}, "designed": {"population": 0.5}}
    rows = _plan({"independent": 1.0, "prefix-sum": 0.25, "designed": 0.25}, parts=own).rows
    more = tuple(replace(row, population=0.9 * row.population) for row in rows)
    found = (Passes(epochs=1, gradients=128, rows=rows), Passes(epochs=3, gradients=384, rows=more))
    yield Fact("the best of a number of passes", [one.best.population for one in found], [0.25, 0.225], 1e-15)
    said = replace(_plan({"independent": 1.0, "prefix-sum": 0.5, "designed": 0.5}), passes=found).sentences[0]
    stated = "Passes over the records: 1, the fewest within 2 % of the least loss on fresh records, which is 0.25 with "
    stated += "1, 0.225 with 3, while nothing is clipped and before noise is designed."
    yield Holds("what is said of passes", said == stated)
    for share, taken in ((0.1, 3), (0.12, 1)):
        yield Fact(f"passes within {share:g}", fewest(found, share).epochs, taken, 0)
    equal = tuple(replace(one, rows=tuple(replace(row, population=1.02) for row in one.rows)) for one in found)
    least = replace(found[0], epochs=9, rows=tuple(replace(row, population=1.0) for row in rows))
    yield Fact("passes within 2 %", fewest((*equal, least)).epochs, 1, 0)
    training = Training(eigenvalues=np.ones(2), n=64, rho=1.0, initial=1.0, schedules=("linear",))
    asked: list[tuple[int, tuple[int, ...]]] = []

    def undesigned(one: Planner) -> list[PlanRow]:
        asked.append((one.training.epochs, one.training.batch_sizes))
        return [_row("amplified", one.amplified[4])]

    for epochs, work, taken in (((4, 1, 2, 2), None, [1, 2, 4]), ((4, 1, 2), 128, [1, 2]), ((4, 2), 128.0, [2])):
        with mock.patch.object(Planner, "undesigned", undesigned):
            made = passes(training, epochs, lambda one: {4: 10.0 * one.epochs}, work=work)
        yield Fact(f"{epochs} passes, work {work}", [one.epochs for one in made], taken, 0)
        yield Fact(f"{epochs} passes, work {work}: gradients", [one.gradients for one in made], 64 * np.array(taken), 0)
        losses = [one.rows[0].loss.total for one in made]
        yield Fact(f"{epochs} passes, work {work}: noise multipliers", losses, 10.0 * np.array(taken), 1e-15)
    yield Holds("batch sizes that fit", asked[2] == (4, (1, 4, 16)))
    yield refused(
        "less work than the fewest passes take", "work", lambda: passes(training, (2, 4), lambda _: {}, work=127.0)
    )


def _runs() -> Iterator[Fact | Holds]:
    """Rows by kind, and their runs: with momentum without the noise of sampling."""
    found = _plan({"independent": 1.0, "designed": 0.5})
    yield Holds("a row", found.row("designed") is found.rows[1] and found.row("independent") is found.rows[0])
    yield refused("a row that was not planned", "kind", lambda: found.row("amplified"))
    yield refused("no rows", "rows", lambda: replace(found, rows=()))
    run, heavy = found.objective("designed"), replace(found, momentum=0.5).objective("designed")
    rates = 0.123456 * (1 - np.arange(32) / 32)
    for label, one, parts in (("plain", run, [0.0, 0.5, 0.25]), ("heavy ball", heavy, [0.5, 0.0, 0.0])):
        yield Fact(f"rates, {label}", one.learning_rates, rates, 1e-12)
        yield Fact(f"momentum and noise, {label}", [one.momentum, one.sigma_sgd, one.noise_share], parts, 0)
    yield Holds("a momentum of nothing is none", found.momentum == 0.0)


def _asked() -> Iterator[Fact | Holds]:
    """What a plan hands on: the number of passes, noise multipliers of each, clip norms, progress; what it refuses."""
    seen: list[Planner] = []

    def rows(one: Planner) -> list[PlanRow]:
        seen.append(one)
        return [_row("independent", 1.0)]

    def undesigned(one: Planner) -> list[PlanRow]:
        return [_row("independent", 1.0 / one.training.epochs)]

    multipliers: list[int] = []

    def amplified(training: Training, *_: Any) -> dict[int, float]:
        multipliers.append(training.epochs)
        return {8: 0.5 + training.epochs}

    given: dict[str, Any] = {"initial": 1.0, "rho": 0.5, "batch_sizes": (8,), "sigma_sgd": 0.25, "weights": "mean"}
    given |= {"schedules": ("linear",), "largest_eta": 0.75, "clip_norm": 0.5, "buffers": 3}
    with (
        mock.patch.multiple(Planner, rows=rows, undesigned=undesigned),
        mock.patch.object(planning, "amplified_multipliers", amplified),
    ):
        one = plan(np.array([1.0, 0.5]), 128, **given)
        several = plan(np.array([1.0, 0.5]), 128, epochs=(4, 1, 2), **given)
        two = plan(np.array([1.0, 0.5]), 128, epochs=(1, 2), **given)
        worked = plan(np.array([1.0, 0.5]), 128, epochs=2, work=1e3, amplification=False, **given)
    for label, found, made, epochs, number in (
        ("one pass", one, seen[0], 1, 0),
        ("several", several, seen[1], 4, 3),
        ("two", two, seen[2], 2, 2),
        ("two, with work", worked, seen[3], 2, 1),
    ):
        training = made.training
        numbers = [training.n, training.epochs, training.rho, training.sigma_sgd, training.clip_norm, made.buffers]
        yield Fact(f"handed on, {label}", numbers, [128, epochs, 0.5, 0.25, 0.5, 3], 1e-15)
        words = (training.weights, training.schedules, training.batch_sizes, training.largest_eta)
        yield Holds(f"words handed on, {label}", words == ("mean", ("linear",), (8,), 0.75))
        yield Holds(f"noise multipliers, {label}", made.amplified == ({} if "work" in label else {8: 0.5 + epochs}))
        yield Fact(f"passes looked at, {label}", len(found.passes), number, 0)
    yield Fact("noise multipliers are computed once", multipliers, [1, 1, 2, 4, 1, 2], 0)
    rest: dict[str, Any] = {"eigenvalues": np.ones(2), "n": 64, "initial": 1.0, "rho": 1.0, "amplification": False}
    yield refused("momentum without records", "momentum", lambda: plan(**rest, momentum=0.5))
    yield refused("clip norms without records", "clip_norms", lambda: plan(**rest, clip_norms=(0.5,)))
    yield refused("no number of passes", "epochs", lambda: plan(**rest, epochs=()))
    yield refused("a clip norm of 0", "clip_norms", lambda: plan(**rest, clip_norms=(0.0,)))


def _rows() -> Iterator[Fact | Holds]:
    """Gains over independent noise, each at its own best setting; noise for prefix sums where the design is worse."""
    settings: dict[NoiseKind, str] = {"independent": "first", "amplified": "second", "prefix-sum": "third"}
    losses: dict[NoiseKind, float] = {"independent": 6.0, "amplified": 4.0, "prefix-sum": 3.0, "designed": 2.0}
    for label, amplified, design in (("all", {8: 1.0}, 2.0), ("no amplification", {}, 2.0), ("a poor design", {}, 5.0)):
        told: list[str] = []
        made: list[tuple[str, Any]] = []

        def row(kind: NoiseKind, noise: Any, setting: Any, made=made) -> PlanRow:
            made.append((kind, setting))
            return _row(kind, losses[kind])

        script: Any = SimpleNamespace(
            amplified=amplified,
            search=SimpleNamespace(least=lambda cost: [(0.0, settings[cost]), (1.0, "another")]),
            records=None,
            _independent="independent",
            _amplified="amplified",
            _candidates=[(0.0, "third"), (1.0, "another")],
            _prefix=lambda setting: (f"noise at the {setting}", 1.0),
            _tell=told.append,
            _row=row,
            _designed=lambda candidates, design=design: _row("designed", design),
        )
        rows = Planner.undesigned(script)
        kinds: list[NoiseKind] = [kind for kind in KINDS[:3] if kind != "amplified" or amplified]
        yield Holds(f"{label}: kinds and settings", made == [(kind, settings[kind]) for kind in kinds])
        yield Fact(f"{label}: gains", [one.gain for one in rows], [6.0 / losses[kind] for kind in kinds])
        yield Holds(f"{label}: progress", told == ["independent noise", "noise for prefix sums"])
        script.undesigned = lambda rows=rows: rows
        rows = Planner.rows(script)
        yield Holds(f"{label}: kinds with a design", [one.kind for one in rows] == [*kinds, "designed"])
        gains = [*(6.0 / losses[kind] for kind in kinds), 6.0 / min(design, 3.0)]
        yield Fact(f"{label}: gains with a design", [one.gain for one in rows], gains)


def _multipliers() -> Iterator[Fact | Holds]:
    """Of every batch size by its own sampling rate and steps, exactly or by orders; progress before each."""
    training, budget = replace(TRAINING, batch_sizes=(4, 16), epochs=3), Budget(rho=0.25, epsilon=2.0, delta=1e-6)
    functions = {"poisson_noise_multiplier": 1.0, "renyi_noise_multiplier": 10.0}
    ways: tuple[tuple[Accounting, float], ...] = (("exact", 1.0), ("renyi", 10.0))
    for accounting, factor in ways:
        told: list[tuple[int, int, str]] = []
        asked: list[list[float]] = []

        def progress(*each: Any, told=told) -> None:
            told.append(each)

        def multiplier(size: float, asked=asked) -> Any:
            return lambda *given: asked.append(list(given)) or size * len(asked)

        with mock.patch.multiple(planner, **{name: multiplier(size) for name, size in functions.items()}):
            found = planner.amplified_multipliers(
                training, budget, accounting, lambda *each, told=told: told.append(each)
            )
        yield Fact(f"{accounting}: what is asked", asked, [[2.0, 1e-6, 1 / 32, 96], [2.0, 1e-6, 1 / 8, 24]], 1e-15)
        yield Fact(f"{accounting}: by batch size", list(found.items()), [(4, factor), (16, 2 * factor)], 0)
        stated = [(0, 7, "accounting, batch size 4"), (0, 7, "accounting, batch size 16")]
        yield Holds(f"{accounting}: progress", told == stated)
    unknown = replace(budget, epsilon=None)
    yield refused("a budget without epsilon", "rho", lambda: planner.amplified_multipliers(training, unknown))
