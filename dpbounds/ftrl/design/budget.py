"""The privacy of a whole run, said in both ways: as zCDP and as (epsilon, delta) of the Gaussian mechanism it is.

>>> budget = Budget.of(rho=0.5)
>>> round(budget.epsilon, 4), budget.delta
(4.3772, 1e-05)
"""

from __future__ import annotations

from dataclasses import dataclass

from dpbounds import privacy
from dpbounds.arguments import typed
from dpbounds.errors import DomainError, moderate, within

DELTA = 1e-5


@typed
@dataclass(frozen=True, kw_only=True)
class Budget:
    """The same privacy in two ways, zero-out adjacency; `epsilon` is None where no float is exact for this rho."""

    rho: float
    epsilon: float | None
    delta: float

    @classmethod
    def of(cls, *, rho: float | None = None, epsilon: float | None = None, delta: float = DELTA) -> Budget:
        """From `rho`, or from (`epsilon`, `delta`); exact. Raises `DomainError` for both, neither, or out of range."""
        delta = within("delta", delta, "[1e-300, 1)")
        if (rho is None) == (epsilon is None):
            raise DomainError("rho", rho, "given, or else epsilon", "give one of rho and epsilon")
        if epsilon is not None:
            spent = float(privacy.zcdp_of_gaussian(privacy.gaussian_mu(epsilon, delta)))
            return cls(rho=moderate("rho", spent), epsilon=float(epsilon), delta=delta)
        rho = moderate("rho", rho)
        try:
            exact = float(privacy.gaussian_epsilon(privacy.gaussian_of_zcdp(rho), delta))
        except DomainError:  # the theory of noise has no such limits, the accountant has
            exact = None
        return cls(rho=rho, epsilon=exact, delta=delta)

    def sentence(self, epochs: int) -> str:
        """The budget in words, for so many passes over the data."""
        epsilon = "beyond its range" if self.epsilon is None else f"{self.epsilon:.4g}"
        passes = "one pass" if epochs == 1 else f"all {epochs} passes"
        return (
            f"Privacy: rho = {self.rho:.6g} is zCDP, zero-out adjacency, epsilon = {epsilon} at delta = "
            f"{self.delta:g}, for {passes} over the data."
        )
