"""The iteration towards the best q of one participation, accelerated: q <- q X_tt^STEP on log q.

The plain step q <- q X_tt never loses, but is slow. The logarithms are extrapolated from the last steps (Anderson's
method); a step that loses is taken back.

>>> steps = Anderson.uniform(2)
>>> steps.step(np.array([0.3, 0.1]), 0.4)
>>> bool(steps.weights[0] > 0.5)
True
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

# Exponent of a step, how many of the last ones are looked at, and the factor e^FARTHEST by which extrapolation moves a
# weight at most.
STEP, MEMORY, FARTHEST = 1.75, 6, 2.0
# Weights below e^{-36} of the largest are as good as 0.
FAINTEST_LOG = -36.0


@dataclass(eq=False)
class Anderson:
    """Where the iteration stands: `logs` of q, and the places and moves of the last steps.

    In the least squares of the extrapolation steps count by their share of the norm: else the many that hardly matter
    decide, and a final loss takes three times as long.
    """

    logs: Float[np.ndarray, " T"]
    best: float = -np.inf
    places: list[np.ndarray] = field(default_factory=list)
    moves: list[np.ndarray] = field(default_factory=list)
    plain: Float[np.ndarray, " T"] | None = None

    @classmethod
    def uniform(cls, steps: int) -> Anderson:
        """From q = 1/T."""
        return cls(np.zeros(steps))

    @classmethod
    def at(cls, q: Float[np.ndarray, " T"]) -> Anderson:
        """From this q; weights that are as good as 0 are raised to what logarithms can hold."""
        return cls(np.log(np.maximum(q, np.exp(FAINTEST_LOG))))

    @property
    def weights(self) -> Float[np.ndarray, " T"]:
        """q, of sum 1."""
        q = np.exp(self.logs - self.logs.max())
        return q / q.sum()

    def step(self, hat: Float[np.ndarray, " T"], norm: float) -> None:
        """Move on from q with hat = diag (Q^{1/2} G Q^{1/2})^{1/2} = q X_tt, of sum `norm`."""
        if norm < self.best and self.plain is not None and self.moves:
            self.logs = self.plain
            self.places, self.moves = [], []
            return
        self.best = max(norm, self.best)
        move = np.log(np.maximum(hat / norm, np.exp(FAINTEST_LOG))) - np.log(self.weights)
        # Without extrapolation, one step that cannot lose.
        self.plain = np.maximum(self.logs + move, self.logs.max() + FAINTEST_LOG)
        self.places = [*self.places[-MEMORY:], self.logs]
        self.moves = [*self.moves[-MEMORY:], STEP * move]
        moves, places = np.array(self.moves), np.array(self.places)
        logs = self.logs + STEP * move
        if len(moves) > 1:
            differences, share = np.diff(moves, axis=0), np.sqrt(hat / norm)
            mixed = np.linalg.lstsq((differences * share).T, moves[-1] * share, rcond=1e-10)[0]
            logs = logs - np.clip((np.diff(places, axis=0) + differences).T @ mixed, -FARTHEST, FARTHEST)
        self.logs = np.clip(logs - logs.max(), FAINTEST_LOG, 0.0)
