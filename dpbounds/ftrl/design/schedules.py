"""Learning rates over a run, by name.

>>> learning_rates("linear", 0.4, 4).round(2).tolist()
[0.4, 0.3, 0.2, 0.1]
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from jaxtyping import Float

from dpbounds.errors import choice, count, moderate

Schedule = Literal["constant", "linear", "cosine"]
SCHEDULES: tuple[Schedule, ...] = get_args(Schedule)


def learning_rates(schedule: str, eta: float, steps: int) -> Float[np.ndarray, " T"]:
    """eta_t for t = 0..T-1, eta_0 = `eta`: `constant`, `linear` is eta (1 - t/T), `cosine` eta (1 + cos(pi t/T)) / 2.

    All stay above 0. Raises `DomainError` for other names.
    """
    passed = np.arange(count("steps", steps)) / steps
    shapes = {
        "constant": np.ones_like(passed),
        "linear": 1.0 - passed,
        "cosine": 0.5 * (1.0 + np.cos(np.pi * passed)),
    }
    return moderate("eta", eta) * shapes[choice("schedule", schedule, SCHEDULES)]
