"""An accountant's event without a mechanism: what it spends, from below and above, and whether a claim fits it.

>>> run = event_of({"kind": "poisson", "noise_multiplier": 1.0, "sampling_probability": 0.01, "steps": 100})
>>> from dpbounds.audit.promises import promise_of
>>> low, high = event_interval(run, promise_of((0.5, 1e-5)))
>>> low > 0.5
True
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from dpbounds.arguments import typed
from dpbounds.audit.promises import Promise
from dpbounds.audit.subsampled import poisson_epsilon, shuffled_epsilon
from dpbounds.errors import DomainError, choice, count, positive, within

EventKind = Literal["gaussian", "poisson", "shuffled", "fixed"]


@typed
@dataclass(frozen=True, kw_only=True)
class GaussianEvent:
    """Gaussian noise in `steps` steps, as an accountant is told: how each step takes its records is `kind`.

    - "gaussian": every record in every step. "poisson": each with `sampling_probability`, independently.
    - "shuffled": one pass over `steps` batches in a random order, `epochs` times; "fixed": in a known order.

    `noise_multiplier` is the standard deviation over the largest change of a sum by one record.
    """

    kind: EventKind
    noise_multiplier: float
    steps: int = 1
    sampling_probability: float = 1.0
    epochs: int = 1

    def __post_init__(self) -> None:
        choice("kind", self.kind, get_args(EventKind))
        positive("noise_multiplier", self.noise_multiplier)
        count("steps", self.steps)
        count("epochs", self.epochs)
        within("sampling_probability", self.sampling_probability, "(0, 1]")
        if self.sampling_probability != 1 and self.kind != "poisson":
            raise DomainError("sampling_probability", self.sampling_probability, f"left out for kind {self.kind}")
        if self.kind == "shuffled" and self.epochs > 1:
            raise DomainError("epochs", self.epochs, "1 for shuffled batches", "no lower bound is known here for more")

    def content(self) -> dict[str, Any]:
        """As JSON data."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@typed
def event_of(content: Any) -> GaussianEvent:
    """From JSON data with the names of `GaussianEvent`. Raises `DomainError` for other names."""
    if isinstance(content, GaussianEvent):
        return content
    names = set(GaussianEvent.__dataclass_fields__)
    if not isinstance(content, Mapping) or not {"kind", "noise_multiplier"} <= set(content) <= names:
        raise DomainError("event", content, f"a mapping with kind, noise_multiplier and of {', '.join(sorted(names))}")
    return GaussianEvent(**content)


@typed
def event_interval(event: GaussianEvent, promise: Promise) -> tuple[float, float]:
    """What the event spends at least and at most, in the units of the claim: equal where the curve is exact.

    Raises `DomainError` for sampled or shuffled events against rho, mu or delta = 0.
    """
    mu = 1 / event.noise_multiplier
    if event.kind in ("gaussian", "fixed") or (event.kind == "poisson" and event.sampling_probability == 1):
        # In a known order a record is in one step of each pass.
        times = event.epochs if event.kind == "fixed" else event.steps * event.epochs
        spent = promise.of_gaussian(mu * math.sqrt(times))
        return spent, spent
    if promise.epsilon is None or promise.delta == 0:
        raise DomainError("claim", promise.text, "epsilon with delta > 0 for a sampled event")
    if event.kind == "poisson":
        return poisson_epsilon(mu, event.sampling_probability, event.steps * event.epochs, promise.delta)
    return shuffled_epsilon(mu, event.steps, promise.delta)
