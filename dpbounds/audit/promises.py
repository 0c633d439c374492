"""What a mechanism promises: (epsilon, delta), rho of zCDP, or mu of Gaussian DP, with the adjacency beside it.

>>> promise_of((1.0, 1e-5)).text, promise_of({"rho": 0.5}).gaussian_mu
('(1, 1e-05)-DP', 1.0)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, within
from dpbounds.privacy import curves, gaussian_delta
from dpbounds.privacy.gaussian import DELTA_RANGE, MU_RANGE, RHO_RANGE

_FORMS = "(epsilon, delta), or one of rho and mu by name"
_EPSILON_RANGE = "[1e-9, 1e4]"


@typed
@dataclass(frozen=True, kw_only=True)
class Promise:
    """Either `epsilon` (with `delta`, 0 for pure DP), or `rho`, or `mu`. Raises `DomainError` for anything else."""

    epsilon: float | None = None
    delta: float = 0.0
    rho: float | None = None
    mu: float | None = None

    def __post_init__(self) -> None:
        given = {name: getattr(self, name) for name in ("epsilon", "rho", "mu") if getattr(self, name) is not None}
        if len(given) != 1:
            raise DomainError("claim", given or None, _FORMS)
        ((name, number),) = given.items()
        interval = {"epsilon": _EPSILON_RANGE, "rho": RHO_RANGE, "mu": MU_RANGE}[name]
        object.__setattr__(self, name, within(name, number, interval))
        object.__setattr__(self, "delta", within("delta", self.delta, "[0, 1)"))
        if self.delta:
            within("delta", self.delta, DELTA_RANGE)
        if self.delta and name != "epsilon":
            raise DomainError("delta", self.delta, f"left out beside {name}", f"{name} says it for every delta")

    @property
    def text(self) -> str:
        """In one convention, as a report begins."""
        if self.epsilon is not None:
            return f"({self.epsilon:.6g}, {self.delta:.6g})-DP"
        return f"{self.rho:.6g}-zCDP" if self.rho is not None else f"{self.mu:.6g}-GDP"

    @property
    def pure(self) -> bool:
        """Whether delta is 0."""
        return self.epsilon is not None and self.delta == 0

    @property
    def gaussian_mu(self) -> float:
        """The largest mu of a Gaussian mechanism that keeps the promise: 0 under pure DP, which none keeps."""
        if self.epsilon is None:
            return math.sqrt(2 * self.rho) if self.rho is not None else float(self.mu or 0.0)
        return curves.float_mu(self.epsilon, self.delta) if self.delta else 0.0

    @property
    def level(self) -> float:
        """The number promised: epsilon, rho or mu."""
        return float(next(number for number in (self.epsilon, self.rho, self.mu) if number is not None))

    def of_gaussian(self, mu: float) -> float:
        """What a Gaussian mechanism of this `mu` spends, in the units of `level`; inf for pure DP.

        Source: Balle & Wang 2018, Thm 8; Bun & Steinke 2016, Prop. 1.6.
        """
        if mu == 0:
            return 0.0
        if self.epsilon is None:
            return mu * mu / 2 if self.rho is not None else mu
        if self.delta == 0 or not mu < 1e4:
            return math.inf
        return curves.float_epsilon(mu, self.delta)

    def delta_at(self, epsilon: float) -> float:
        """The largest delta that the promise allows at this epsilon."""
        if self.epsilon is None:
            return float(gaussian_delta(self.gaussian_mu, epsilon))
        return self.delta if epsilon >= self.epsilon else min(1.0, self.delta + math.expm1(self.epsilon - epsilon))

    def content(self) -> dict[str, float]:
        """As JSON data."""
        if self.epsilon is not None:
            return {"epsilon": self.epsilon, "delta": self.delta}
        return {"rho": self.rho} if self.rho is not None else {"mu": float(self.mu or 0.0)}


@typed
def promise_of(claim: Any) -> Promise:
    """A `Promise` from (epsilon, delta), a number epsilon, a mapping such as {"rho": 0.5}, or itself.

    Raises `DomainError` for anything else, and for numbers outside their ranges.
    """
    if isinstance(claim, Promise):
        return claim
    if isinstance(claim, Mapping):
        if not set(claim) <= {"epsilon", "delta", "rho", "mu"}:
            raise DomainError("claim", dict(claim), _FORMS)
        return Promise(**claim)
    if isinstance(claim, (tuple, list)):
        if len(claim) != 2:
            raise DomainError("claim", claim, _FORMS)
        return Promise(epsilon=claim[0], delta=claim[1])
    if isinstance(claim, (int, float)):
        return Promise(epsilon=claim)
    raise DomainError("claim", claim, _FORMS)
