"""What a consumer of a designed mechanism needs, and what it may say of it.

The library adds the noise w~ = sigma G_c B w to sums of clipped gradients, G_c the clip norm. A run hides one record
like one Gaussian mechanism of sensitivity s(C) and noise sigma: the accountant's event is Gaussian with the noise
multiplier z = sigma / s(C), once for the whole run, under zero-out adjacency (a record is replaced by zero gradients).

>>> from dpbounds.ftrl.design.mechanisms import Blt
>>> noise = export(Blt((0.5,), (0.25,)), 8, "opacus", rho=0.5)
>>> noise.event_multiplier, round(noise.noise_multiplier, 3), noise.stream.buffers
(1.0, 1.041, 1)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from jaxtyping import Float

from dpbounds import privacy
from dpbounds.arguments import typed
from dpbounds.errors import DomainError, choice, count, moderate, positive, vector
from dpbounds.ftrl.correlations import Correlation
from dpbounds.ftrl.design.mechanisms import ScaledToeplitz
from dpbounds.ftrl.design.objective import Objective
from dpbounds.ftrl.design.participation import SINGLE, Participation, sensitivity
from dpbounds.ftrl.design.streams import NoiseStream, noise_stream
from dpbounds.values import Value

Consumer = Literal["jax-privacy", "opacus", "npz"]
CONSUMERS: tuple[Consumer, ...] = ("jax-privacy", "opacus", "npz")
ADJACENCY = "zero-out"


@typed
@dataclass(frozen=True, kw_only=True, eq=False)
class Export:
    """What a consumer needs, and what it may say of it.

    - `stream`: the noise, with its scalings; `sensitivity` s(C) for `participation`, in clip norms.
    - `event_multiplier` z: noise standard deviation over sensitivity of the one Gaussian event of the run.
    - `unscaled_sensitivity`: s(L), for a consumer that takes the Toeplitz filter and not the scalings; `value` and
      `unscaled_value`: s^2 tr(G B B^T) with and without them, where an objective is given, else None.
    - `learning_rates` (T,), `batch_size` and `clip_norm` that the noise was designed for; None where nobody said.

    Raises `DomainError` for numbers outside their ranges, and a name that no file of text can hold.
    """

    consumer: Consumer
    stream: NoiseStream
    participation: Participation
    sensitivity: Value
    event_multiplier: float
    unscaled_sensitivity: Value
    value: float | None = None
    unscaled_value: float | None = None
    learning_rates: Float[np.ndarray, " T"] | None = None
    batch_size: int | None = None
    clip_norm: float | None = None
    adjacency: str = field(default=ADJACENCY, init=False)

    def __post_init__(self) -> None:
        choice("consumer", self.consumer, CONSUMERS)
        object.__setattr__(self, "event_multiplier", moderate("event_multiplier", self.event_multiplier))
        _check_text(self.stream.name)
        if self.clip_norm is not None:
            object.__setattr__(self, "clip_norm", moderate("clip_norm", self.clip_norm))
        if self.batch_size is not None:
            object.__setattr__(self, "batch_size", count("batch_size", self.batch_size))
        if self.learning_rates is not None:
            rates = vector("learning_rates", self.learning_rates, above=0.0, length=self.stream.steps, per="step")
            object.__setattr__(self, "learning_rates", rates)
        for name in ("sensitivity", "unscaled_sensitivity"):
            positive(name, getattr(self, name))

    @property
    def noise_multiplier(self) -> float:
        """sigma = z s(C): standard deviation of one draw w over the clip norm, for sums of clipped gradients."""
        return self.event_multiplier * float(self.sensitivity)

    @property
    def unscaled_noise_multiplier(self) -> float:
        """sigma of the Toeplitz filter alone, at the same privacy."""
        return self.event_multiplier * float(self.unscaled_sensitivity)

    @property
    def rho(self) -> float:
        """zCDP of the run, 1 / (2 z^2)."""
        return 0.5 / self.event_multiplier**2

    @typed
    def epsilon(self, delta: float) -> Value:
        """The exact epsilon of the event at `delta`."""
        return privacy.gaussian_epsilon(1.0 / self.event_multiplier, delta)


@typed
def export(
    correlation: Correlation,
    steps: int,
    consumer: Consumer,
    *,
    participation: Participation = SINGLE,
    rho: float | None = None,
    event_multiplier: float | None = None,
    objective: Objective | None = None,
    clip_norm: float | None = None,
) -> Export:
    """The mechanism for `consumer`, at `rho`-zCDP or with a given event multiplier z (default 1: scale it yourself).

    Learning rates and batch size are the objective's, if one is given. Raises `DomainError` for mechanisms that do not
    draw their noise once a step (`noise_stream`), both `rho` and `event_multiplier`, an objective with another number
    of steps, a label with characters that no file of text can hold.
    """
    choice("consumer", consumer, CONSUMERS)
    steps = count("steps", steps)
    if rho is not None and event_multiplier is not None:
        raise DomainError("event_multiplier", event_multiplier, "not given beside rho", "give one of them")
    if objective is not None and objective.steps != steps:
        raise DomainError("objective", f"{objective.steps} steps", f"{steps} steps, as the mechanism")
    if rho is not None:
        event_multiplier = 1.0 / math.sqrt(2.0 * moderate("rho", rho))
    plain = correlation.toeplitz if isinstance(correlation, ScaledToeplitz) else correlation
    return Export(
        consumer=consumer,
        stream=noise_stream(correlation, steps),
        participation=participation,
        sensitivity=sensitivity(correlation, steps, participation),
        event_multiplier=1.0 if event_multiplier is None else event_multiplier,
        unscaled_sensitivity=sensitivity(plain, steps, participation),
        value=None if objective is None else float(objective.value(correlation, participation)),
        unscaled_value=None if objective is None else float(objective.value(plain, participation)),
        learning_rates=None if objective is None else objective.learning_rates,
        batch_size=None if objective is None else objective.batch_size,
        clip_norm=clip_norm,
    )


def _check_text(name: str) -> None:
    """Refuse names that a module of Python cannot hold: NUL ends it, lone surrogates cannot be encoded."""
    if "\0" in name or any(0xD800 <= ord(character) <= 0xDFFF for character in name):
        raise DomainError(
            "label", ascii(name), "text without NUL and lone surrogates", "give the mechanism another one"
        )
