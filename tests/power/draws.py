"""Whether a task drew anything: its result is then that of one seed, and else that of all."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np

from verify.running import runner
from verify.running.runner import Cell


class Watched:
    """In place of a `Seed`: notes what is made of it, generators, and every look at its parts."""

    def __init__(self, user: int, sequence: np.random.SeedSequence) -> None:
        self._user, self._sequence = user, sequence
        self._read = False
        self._made: list[tuple[np.random.Generator, str]] = []

    @property
    def user(self) -> int:
        """The user's seed: who reads it may use it."""
        self._read = True
        return self._user

    @property
    def sequence(self) -> np.random.SeedSequence:
        """That of the task: who reads it may use it."""
        self._read = True
        return self._sequence

    def generator(self) -> np.random.Generator:
        """A generator that has drawn once its state has changed."""
        generator = np.random.default_rng(self._sequence)
        self._made.append((generator, _state(generator)))
        return generator

    @property
    def drew(self) -> bool:
        """Whether chance had a part in what was done with it: a look, a draw or a child."""
        children = self._sequence.n_children_spawned > 0
        return self._read or children or any(_state(generator) != state for generator, state in self._made)


def _state(generator: np.random.Generator) -> str:
    return str(generator.bit_generator.state)


def traced(cell: Cell) -> tuple[dict[str, Any], bool]:
    """What a run computes of a cell, and whether chance had a part in it; runs in a worker."""
    seeds: list[Watched] = []

    def watched(user: int, sequence: np.random.SeedSequence) -> Watched:
        seeds.append(Watched(user, sequence))
        return seeds[-1]

    with patch.object(runner, "Seed", watched):
        outcome = runner.compute(cell)
    return outcome, not seeds or any(seed.drew for seed in seeds)
