"""How far a search is, and when it is to end: what long computations tell, and what they are told.

>>> seen = []
>>> watch = Watch(seconds=1e9, progress=lambda done, total, what: seen.append((done, total, what)), what="bound")
>>> watch(3, 10), seen
(False, [(3, 10, 'bound')])
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from dpbounds.errors import DomainError, positive

Progress = Callable[[int, int, str], None]


def no_progress(done: int, total: int, what: str) -> None:
    """Show nothing."""


class TimeIsUp(Exception):
    """Ends a search from inside; what was found until then stands."""


@dataclass(kw_only=True)
class Watch:
    """Called after every step with (done, most steps): tells progress, and whether `seconds` are over since it began.

    Raises `DomainError` for seconds not above 0.
    """

    seconds: float = math.inf
    progress: Progress = no_progress
    what: str = "lower bound"
    began: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        if not (isinstance(self.seconds, float) and math.isinf(self.seconds) and self.seconds > 0):
            positive("seconds", self.seconds)
        if not callable(self.progress):
            raise DomainError("progress", self.progress, "a function of (done, all, what)")

    def __call__(self, done: int, most: int) -> bool:
        """Whether it is time to end."""
        self.progress(min(done, most), most, self.what)
        return time.monotonic() - self.began >= self.seconds
