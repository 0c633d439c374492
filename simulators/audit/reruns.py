"""A witness's numbers measured again: the mechanism is run on its pair, under its seeds, without the search.

The pair must be neighbours under the adjacency of the witness, unless a user gave it as such; then the result says so.
The law by which numbers are read is the witness's own.

>>> from dpbounds.audit import Box, audit, evaluated, gaussian
>>> def mechanism(data, seed):
...     return 3 * data.sum() + np.random.default_rng(seed).standard_normal(2000)
>>> settings = {"adjacency": "replace-one", "domain": Box(shape=(2,), low=0, high=1), "law": gaussian(1.0)}
>>> found = audit(mechanism, {"mu": 1.0}, **settings)
>>> again = rerun(found.witness, mechanism)
>>> evaluated(again.content).spent == found.epsilon[0]
True
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from dpbounds.arguments import typed
from dpbounds.audit.events import counted, event_from
from dpbounds.audit.laws import NoiseLaw, law_of
from dpbounds.audit.promises import Promise, promise_of
from dpbounds.audit.witnesses import evaluated
from dpbounds.errors import DomainError, choice, count
from dpbounds.privacy import Adjacency
from simulators.audit.domains import Pair
from simulators.audit.lawful import drawn, short, sum_of
from simulators.audit.process import MEMORY, Runner
from simulators.audit.records import apart, pair_of
from simulators.audit.routes import along
from simulators.audit.sampled import formal, runs_of
from simulators.audit.shifts import Seeds, Shift, again

_WITNESS = "one of a function, as dpbounds audit --save writes it"
# Runs that a witness may ask for.
_MOST_RUNS = 1_000_000


@dataclass(frozen=True, eq=False)
class Rerun:
    """The witness with the numbers that came now, None if none came; what is to be said of that, in words; whether the
    mechanism `failed`.
    """

    content: dict[str, Any] | None
    words: str
    failed: bool = False


class _Unfinished(Exception):
    """Numbers did not come: what is to be said, and whether that is the mechanism's failure."""

    def __init__(self, words: str, failed: bool = False) -> None:
        super().__init__(words)
        self.failed = failed


@dataclass(frozen=True, eq=False)
class _Scene:
    """What every measurement needs."""

    runner: Runner
    pair: Pair
    law: NoiseLaw
    promise: Promise
    content: Mapping[str, Any]

    def shift(self) -> Shift:
        """The pair under the common seeds of the witness."""
        found = again(self.runner, self.pair, self.law, Seeds.at(self.content["seed"]))
        if found is None:
            why = self.runner.failure or "more seconds would be needed"
            raise _Unfinished(f"the pair did not run on both sides: {why}", bool(self.runner.failure))
        if not found.ran:
            raise _Unfinished(
                f"the pair did not run on both sides: {found.fails or 'shapes differ'}", bool(found.fails)
            )
        return found

    def rows(self, data: Any, start: Any, number: Any) -> np.ndarray:
        """Differences of so many pairs of runs from the witness's seeds."""
        wanted = count("rows", number, most=_MOST_RUNS)
        rows = drawn(self.runner, data, 0, Seeds.at(start), least=wanted).rows
        if len(rows) < wanted:
            raise _Unfinished(f"{len(rows)} of {wanted} pairs of runs came in the time")
        return rows

    def sides(self) -> tuple[np.ndarray, np.ndarray]:
        """Outputs of both sides."""
        wanted = count("runs", self.content["runs"], most=_MOST_RUNS)
        sides = runs_of(self.runner, self.pair, wanted, Seeds.at(self.content["start"]))
        if sides is None or len(sides[0]) < wanted:
            raise _Unfinished(f"{0 if sides is None else len(sides[0])} of {wanted} runs a side came in the time")
        return sides


@typed
def rerun(content: Any, mechanism: Any, *, seconds: float = 30.0, memory: float = MEMORY) -> Rerun:
    """The numbers of a witness measured again on `mechanism`, a function run(data, seed), for `evaluated` to judge.

    Same function, same seeds, same numbers. Raises `DomainError` for what is no witness of a function, for a pair
    that is no neighbours, and for `seconds` or `memory` that are not above 0.
    """
    evaluated(content)  # what is no witness at all
    kind = content["kind"]
    if kind not in _MEASURED:
        raise DomainError("witness", kind, _WITNESS, "this kind is evaluated without running anything")
    if not {"pair", "law", "adjacency"} <= set(content):
        raise DomainError("witness", kind, _WITNESS, "it has no pair, law and adjacency")
    adjacency: Any = choice("adjacency", content["adjacency"], get_args(Adjacency))
    pair = pair_of(content["pair"])
    strange, given = apart(pair, adjacency), content["pair"].get("given") is True
    if strange and not given:
        raise DomainError("pair", pair.label, f"neighbours ({adjacency})", strange)
    words = f"the pair is taken for neighbours, as its user gave it, though {strange}" if strange else ""
    with Runner(mechanism, seconds=seconds, memory=memory) as runner:
        scene = _Scene(runner, pair, law_of(content["law"]), promise_of(content["claim"]), content)
        try:
            return Rerun({**content, **_MEASURED[kind](scene)}, words)
        except _Unfinished as problem:
            return Rerun(None, str(problem), problem.failed or bool(runner.failure))
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            if isinstance(error, DomainError):
                raise
            raise DomainError("witness", kind, _WITNESS, f"measuring it again failed: {error!r}") from None


def _scale(scene: _Scene) -> dict[str, Any]:
    found = scene.shift()
    whitened = _whitened(scene, scene.rows(scene.pair.first, scene.content["start"], scene.content["rows"]), found)
    return {**_declared(scene, found), "sum": sum_of(whitened, scene.law.family), "number": int(whitened.size)}


def _declared(scene: _Scene, found: Shift | None = None) -> dict[str, Any]:
    found = found or scene.shift()
    if not found.additive or found.difference is None:
        raise _Unfinished("the outputs of the pair do not differ by one shift under all seeds")
    shift = _whitened(scene, found.difference[None], found)[0]
    return {"shift": short(shift, scene.law.family, scene.promise), "family": scene.law.family}


def _singular(scene: _Scene) -> dict[str, Any]:
    if scene.content.get("as_shipped") is True:
        return _as_shipped(scene)
    found = scene.shift()
    rows = scene.rows(scene.pair.first, scene.content["start"], scene.content["rows"])
    places, weights = np.asarray(scene.content["places"], dtype=int), np.asarray(scene.content["weights"], dtype=float)
    pairs = list(zip(found.first, found.second, strict=True))
    sides = [(a.values[places], b.values[places]) for a, b in pairs if a.values is not None and b.values is not None]
    return {
        "noise": float(np.abs(rows[:, places] @ weights).max()),
        "moved": min(abs(float((second - first) @ weights)) for first, second in sides),
        "size": max(float(np.abs(weights) @ np.abs(side)) for pair in sides for side in pair),
    }


def _as_shipped(scene: _Scene) -> dict[str, Any]:
    outcomes = scene.runner.run([scene.pair.first, scene.pair.second], [(side, None) for side in (0, 1)] * 4)
    values = [one.values for one in outcomes if one.values is not None]
    if len(values) < 8:
        raise _Unfinished(f"{len(values)} of 8 runs without seeds came: {outcomes[-1].form if outcomes else 'no time'}")
    noise = max(float(np.abs(one - values[side]).max()) for side in (0, 1) for one in values[side::2])
    moved = float(np.abs(values[0] - values[1]).max())
    return {"noise": noise, "moved": moved, "size": float(np.abs(values[0]).max())}


def _event(scene: _Scene) -> dict[str, Any]:
    event, first = scene.content["event"], scene.content["first"] is True
    if event["kind"] == "form":
        hits, trials = formal(scene.runner, scene.pair, event["form"], first, Seeds.at(scene.content["start"]))
        if not trials[0]:
            raise _Unfinished("no run came in the time")
    else:
        hits, trials = counted(event_from(event), *scene.sides(), first)
    return {"hits": hits, "trials": trials}


def _means(scene: _Scene) -> dict[str, Any]:
    first, second = along(scene.sides(), np.asarray(scene.content["weights"], dtype=float))
    return {"first": first, "second": second}


def _scales(scene: _Scene) -> dict[str, Any]:
    starts, numbers, sums, sizes = scene.content["starts"], scene.content["rows"], [], []
    shape = scene.runner.run([scene.pair.first], [(0, starts[0])])
    for side, start, number in zip((scene.pair.first, scene.pair.second), starts, numbers, strict=True):
        whitened = scene.law.whitened(scene.rows(side, start, number), shape[0].shape if shape else ())
        sums.append(sum_of(whitened, scene.law.family))
        sizes.append(int(whitened.size))
    return {"sums": sums, "numbers": sizes, "outputs": sizes[0] // int(numbers[0]), "family": scene.law.family}


def _whitened(scene: _Scene, rows: np.ndarray, found: Shift) -> np.ndarray:
    return scene.law.whitened(rows, found.first[0].shape)


_MEASURED: dict[str, Callable[[_Scene], dict[str, Any]]] = {
    "scale": _scale,
    "declared": _declared,
    "singular": _singular,
    "event": _event,
    "means": _means,
    "scales": _scales,
}
