"""Beyond the paper: rows of a plan with clipping counted, by script: where each is judged, and what is kept of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np

from dpbounds.ftrl.correlations import independent
from dpbounds.ftrl.design import planner
from dpbounds.ftrl.design.noise_kinds import NoiseKind
from dpbounds.ftrl.design.objective import Loss
from dpbounds.ftrl.design.planner import Planner, PlanRow
from dpbounds.ftrl.design.tuning import Setting, Training
from verify.checks import Fact, Holds

TRAINING = Training(eigenvalues=np.array([1.0, 0.5]), n=64, rho=1.0, initial=1.0, sigma_sgd=2.0, weights="mean")
START = Setting(batch_size=8, schedule="linear", eta=0.5)
OTHER = replace(START, eta=0.25)
NOISE, DESIGN = independent(), independent()
KINDS: tuple[NoiseKind, ...] = ("independent", "amplified", "prefix-sum", "designed")


def _row(kind: NoiseKind, **other: Any) -> PlanRow:
    parts = {"loss": Loss(1.0, 2.0, 4.0), "bound": 1.0, "population": 9.0, "clip_norm": 1.0, "setting": START, **other}
    return PlanRow(kind=kind, correlation=NOISE, steps=8, noise_multiplier=0.5, **parts)


def _found(loss: float, **other: Any) -> SimpleNamespace:
    forecast = SimpleNamespace(weighted=lambda omega: loss * float(np.sum(omega)))
    parts = {"correlation": NOISE, "setting": START, "clip_norm": 1.0, "mean_weight": 0.0, "noise_multiplier": 0.5}
    return SimpleNamespace(**{**parts, "forecast": forecast, **other})


class _Judge:
    """Answers as it is told; what was asked."""

    made: Sequence[Any] = ()

    def __init__(self, **given: Any) -> None:
        self.given, self.asked = given, []
        type(self).made = [*type(self).made, self]

    def products(self, setting: Setting) -> float:
        return 1e6 * setting.batch_size

    def judged(self, kind: NoiseKind, places: Any) -> Any:
        self.asked.append((kind, [(setting, size) for _, setting, size in places]))
        return self.given["records"][kind]

    def of_fresh_records(self, row: Any) -> Any:
        return SimpleNamespace(weighted=lambda omega: 10.0 * row.forecast.weighted(omega))

    def unclipped(self, kind: NoiseKind, row: Any) -> Any:
        return (kind, row)


def _judged(answers: Any, momentum: float = 0.0, sizes: Sequence[int] = ()) -> tuple[list[PlanRow], Any]:
    """Rows as these answers make them; what was asked on the way."""
    seen = SimpleNamespace(made=[], told=[], last=[], momentum=[])

    def row(kind: NoiseKind, correlation: Any, setting: Setting, clip_norm: float) -> PlanRow:
        seen.made.append(kind)
        return replace(_row(kind, setting=setting, clip_norm=clip_norm), correlation=correlation)

    def more_places(kind: NoiseKind, last: PlanRow) -> list[Any]:
        seen.last.append((last.kind, last.clipped_loss))
        return [(NOISE, replace(START, batch_size=size), 2.0) for size in sizes]

    def with_momentum(row: PlanRow, found: Any, free: Any, omega: np.ndarray) -> PlanRow:
        seen.momentum.append(free == (row.kind, found) and len(omega) == TRAINING.steps(found.setting.batch_size))
        return replace(row, setting=found.setting, momentum=momentum)

    script: Any = SimpleNamespace(
        training=TRAINING,
        buffers=3,
        clip_norms=(2.0,),
        momentum=momentum,
        progress=lambda *told: seen.told.append(told),
        _row=row,
        _more_places=more_places,
        _with_momentum=with_momentum,
        _fresh=lambda kind: kind != "amplified",
    )
    with mock.patch.object(planner, "Judge", _Judge):
        found = Planner._judged(script, [_row(kind) for kind in KINDS], answers)
    seen.judge = _Judge.made[-1]
    return found, seen


def judged_rows(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Rows are made anew where setting, clip norm or noise are others; losses, and what is left to learn."""
    del rng
    changes: dict[str, dict[str, Any]] = {
        "nothing": {},
        "the rate": {"setting": OTHER},
        "the clip norm": {"clip_norm": 2.0},
        "the noise": {"correlation": DESIGN},
    }
    for label, other in changes.items():
        answers = {kind: _found(2.0 + k, **other) for k, kind in enumerate(KINDS)}
        answers["designed"] = _found(1.5, mean_weight=0.01)
        rows, seen = _judged(answers)
        yield Holds(f"rows made anew where {label} is another", seen.made == (list(KINDS[:3]) if other else []))
        yield Holds(f"kinds where {label} is another", [row.kind for row in rows] == list(KINDS))
        yield Fact(f"losses where {label} is another", [row.expected for row in rows], [2.0, 3.0, 4.0, 1.5])
        yield Fact(f"mean weights where {label} is another", [row.mean_weight for row in rows], [0, 0, 0, 0.01], 0)
        left = 3.0 + TRAINING.floor(other.get("setting", START))
        fresh = [row.population for row in rows]
        yield Fact(f"on fresh records where {label} is another", fresh, [20.0, left, 40.0, 15.0])
        forecasts = all(row.clipped is answers[row.kind].forecast for row in rows)
        yield Holds(f"forecasts where {label} is another", forecasts)
        given = {"training": TRAINING, "records": answers, "buffers": 3, "clip_norms": (2.0,), "momentum": 0.0}
        yield Holds(f"what the judge is given where {label} is another", seen.judge.given == given)
        places = [(kind, [(START, 0.5)]) for kind in KINDS]
        yield Holds(f"places where {label} is another", seen.judge.asked == places)
        labels = ["independent", "independent, amplified", "prefix sum", "designed"]
        stated = [(6, 7, f"clipping, {one} noise") for one in labels]
        yield Holds(f"progress where {label} is another", seen.told == stated)
    answers = dict.fromkeys(KINDS, _found(1.0)) | {"prefix-sum": _found(0.5), "designed": _found(0.75)}
    rows, _ = _judged(answers)
    yield Fact("a design that is worse than prefix sums", [row.expected for row in rows], [1.0, 1.0, 0.5, 0.5])
    yield Holds("it is their noise", [row.kind for row in rows] == list(KINDS))
    yield from _heavy()


def _heavy() -> Iterator[Fact | Holds]:
    """With momentum places of at most sixteen times the work of the row's own, and of some minutes."""
    answers = {kind: _found(4.0 - k, setting=replace(START, eta=0.1 + k / 10)) for k, kind in enumerate(KINDS)}
    rows, seen = _judged(answers, 0.5, (1, 16, 128, 129))
    places = [(START, 0.5), *((replace(START, batch_size=size), 2.0) for size in (1, 16, 128))]
    yield Holds("places with momentum", seen.judge.asked == [(kind, places) for kind in KINDS])
    yield Holds("forecasts without clipping", seen.momentum == [True] * 4 and seen.made == [])
    before = [("independent", None), *zip(KINDS[:3], (4.0, 3.0, 2.0), strict=True)]
    yield Holds("the row before", seen.last == before)
    left = 3.0 + TRAINING.floor(rows[1].setting, 0.5)
    yield Fact("on fresh records with momentum", rows[1].population, left)
    with mock.patch.object(planner, "MOST_WORK", 1e8):
        _, seen = _judged(answers, 0.5, (1, 16, 100, 101))
    yield Fact("places of some minutes", [len(places) for _, places in seen.judge.asked], [4] * 4, 0)
