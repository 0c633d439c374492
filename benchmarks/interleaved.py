"""Two ways of doing the same work, timed in turn on one core: ratios hold where seconds do not."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits


def medians(*actions: Callable[[], object], rounds: int = 7) -> list[float]:
    """Median CPU seconds of each action, in rounds of one run each after a first that does not count."""
    seconds = np.empty((rounds + 1, len(actions)))
    with threadpool_limits(1):
        for round_ in seconds:
            for which, action in enumerate(actions):
                started = time.process_time()
                action()
                round_[which] = time.process_time() - started
    return np.median(seconds[1:], axis=0).tolist()
