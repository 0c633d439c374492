"""A runner of mechanisms in this process, whose time is counted in calls: the same audit on every machine."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from simulators.audit import Outcome, Runner
from simulators.audit.process import _called, _outcome, _takes_seed


class Direct(Runner):
    """Calls the mechanism here; `budget` seconds are there, and each call takes 1e-3 of one."""

    def __init__(self, mechanism: Callable[..., Any], *, budget: float = 1e3) -> None:
        super().__init__(mechanism, seconds=1e9)
        self.budget, self.seeded = budget, _takes_seed(mechanism)

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return max(0.0, self.budget - 1e-3 * self.calls)

    def run(self, data: Sequence[Any], jobs: Sequence[tuple[int, int | None]], *, until: float = 0.0) -> list[Outcome]:
        """As `Runner.run`; the states of global random numbers are put back."""
        held, state = random.getstate(), np.random.get_state()  # noqa: NPY002
        done: list[Outcome] = []
        for number, seed in jobs:
            if self.left <= until:
                break
            done.append(_outcome(_called(self.mechanism, data[number], seed, self.seeded)))
            self.calls += 1
        random.setstate(held)
        np.random.set_state(state)  # noqa: NPY002
        return done
