"""One protocol for every algorithm, and random streams that depend on what is simulated and on nothing else.

An algorithm is a function `run(problem, settings, streams, trials) -> {name: array of shape (trials, ...)}`; problem
and settings are frozen dataclasses. Trials come in blocks. A block's streams are seeded from the hash of (algorithm,
problem, settings), the user's seed and the block's number: any worker, order, interruption or later extension gives the
same numbers.

>>> def tosses(problem, settings, streams, trials):
...     return {"heads": streams.data.random(trials) < problem}
>>> coin = Experiment(algorithm=tosses, problem=0.5, settings=None, block_trials=100)
>>> first, again = coin.run(2, seed=0)["heads"], coin.run(3, seed=0)["heads"]
>>> first.shape, bool(np.all(first == again[:200]))
((200,), True)
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpbounds.errors import DomainError, count

# Runs that are held in memory together.
MOST_TRIALS = 1_000_000
Arrays = dict[str, np.ndarray]
Algorithm = Callable[[Any, Any, "Streams", int], Arrays]


@dataclass(frozen=True, kw_only=True)
class Streams:
    """Independent generators for the mechanism's noise, the data and the initial draws of one block."""

    noise: np.random.Generator
    data: np.random.Generator
    initial: np.random.Generator


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """What is simulated: an algorithm on a problem with settings, in blocks of `block_trials` trials."""

    algorithm: Algorithm
    problem: Any
    settings: Any
    block_trials: int

    def run_block(self, block: int, *, seed: int) -> Arrays:
        """The arrays of one block; the same for the same content, seed and block number."""
        return self.algorithm(self.problem, self.settings, self.streams(block, seed=seed), self.block_trials)

    def run(
        self,
        blocks: int,
        *,
        seed: int,
        outputs: Sequence[str] | None = None,
        after_block: Callable[[], None] = lambda: None,
    ) -> Arrays:
        """The arrays of the first `blocks` blocks, joined along the trial axis: all, or those named in `outputs`."""
        parts = []
        for block in range(blocks):
            arrays = self.run_block(block, seed=seed)
            parts.append({name: arrays[name] for name in outputs or arrays})
            after_block()
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def streams(self, block: int, *, seed: int) -> Streams:
        """The block's three generators."""
        name = f"{self.algorithm.__module__}.{self.algorithm.__qualname__}"
        content = [name, describe(self.problem), describe(self.settings), self.block_trials, block]
        noise, data, initial = seed_sequence(content, seed=seed).spawn(3)
        generators = {"noise": noise, "data": data, "initial": initial}
        return Streams(**{role: np.random.Generator(np.random.SFC64(child)) for role, child in generators.items()})


def trial_count(trials: Any) -> int:
    """`trials` as a whole number from 1 to a million."""
    return count("trials", trials, most=MOST_TRIALS, remedy="run more blocks")


def seed_sequence(content: Any, *, seed: int) -> np.random.SeedSequence:
    """The seed of whatever `content` (JSON data) describes."""
    try:
        text = json.dumps(content, sort_keys=True)
    except (TypeError, ValueError) as error:
        raise DomainError("content", content, "JSON data", str(error)) from None
    digest = hashlib.sha256(text.encode()).digest()
    return np.random.SeedSequence([count("seed", seed, least=0), *np.frombuffer(digest, dtype=np.uint32).tolist()])


def describe(thing: Any) -> Any:
    """`thing` as JSON data: dataclasses by class and compared fields, arrays as lists, the rest as it prints."""
    try:
        return _described(thing)
    except RecursionError:
        raise DomainError("thing", thing, "data that does not hold itself") from None


def _described(thing: Any) -> Any:
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        fields = {f.name: _described(getattr(thing, f.name)) for f in dataclasses.fields(thing) if f.repr}
        return {"class": type(thing).__name__, **fields}
    if isinstance(thing, np.ndarray):
        return _described(thing.tolist()) if np.iscomplexobj(thing) else thing.tolist()
    if isinstance(thing, Mapping):
        return {str(key): _described(value) for key, value in thing.items()}
    if isinstance(thing, (list, tuple)):
        return [_described(item) for item in thing]
    if isinstance(thing, np.generic):
        return _described(thing.item())
    if thing is None or isinstance(thing, (bool, int, float, str)):
        return thing
    if isinstance(thing, complex):
        return {"real": thing.real, "imaginary": thing.imag}
    if callable(thing):
        return f"{thing.__module__}.{thing.__qualname__}"
    raise DomainError("thing", thing, "built of frozen dataclasses, arrays and plain values")
