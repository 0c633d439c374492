"""The leading order of `dpbounds.iv.leading_order` on given moments: a data set, or a population with any Cov z.

What `dpbounds.iv.isotropic` does for A = I, at the cost O(q p³) a step: one run serves every horizon, and past the
transient every longer one.

>>> moments = Moments(A=np.eye(2), G=np.eye(2), b=np.array([1.0, 0.5]), n=100)
>>> problem = General(moments=moments, eta=0.5, alpha=0.5)
>>> general_expansion(problem, [1, 10]).noiseless.round(3).tolist()
[[0.0, 0.0], [1.002, 0.501]]
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, count
from dpbounds.iv.isotropic import ErrorTerms, horizon_list, settled_after
from dpbounds.iv.laws import noise_variances
from dpbounds.iv.leading_order import LeadingOrder, noise_expansion
from dpbounds.iv.moments import Moments
from dpbounds.iv.noiseless import contraction_rates, require_convergence

# Seconds of the recursion at most; a step takes about the second number, and the third for each of q p³.
_SECONDS, _STEP, _PRODUCT = 2.0, 2e-4, 1.2e-8
# Numbers that it keeps at most.
_CELLS = 3e7


@typed
@dataclass(frozen=True, kw_only=True, eq=False)
class General:
    """Moments and step sizes.

    Raises `DomainError` unless 0 < eta < 2 / lambda_max(A), 0 < alpha < 2 / lambda_max(H).
    """

    moments: Moments
    eta: float
    alpha: float

    def __post_init__(self) -> None:
        require_convergence(self.moments, self.eta, self.alpha)
        for name in ("eta", "alpha"):
            object.__setattr__(self, name, float(getattr(self, name)))

    @property
    def beta(self) -> Float[np.ndarray, " p"]:
        """2SLS, where the run without noise ends."""
        return self.moments.beta_hat

    @property
    def q(self) -> int:
        """Instruments."""
        return self.moments.q

    @cached_property
    def singular_values(self) -> Float[np.ndarray, " p"]:
        """Of A^{1/2} theta_hat, largest first: what those of Theta are for A = I."""
        return np.sqrt(np.linalg.eigvalsh(self.moments.hessian))[::-1]

    @cached_property
    def kappa(self) -> float:
        """Rate of the run without noise."""
        return float(contraction_rates(self.moments, self.eta, self.alpha).overall)

    @property
    def settled_after(self) -> float:
        """As `Isotropic.settled_after`."""
        return settled_after(self.kappa)

    @cached_property
    def most_steps(self) -> int:
        """Steps that are computed at most: a few seconds of work."""
        q, p = self.moments.q, self.moments.p
        return max(1, int(min(_SECONDS / (_STEP + _PRODUCT * q * p**3), _CELLS / (2 * p**2))))

    @cached_property
    def run(self) -> LeadingOrder:
        """The coefficients at t = 0 ... min(`most_steps`, `settled_after`)."""
        return noise_expansion(self.moments, self.eta, self.alpha, int(min(self.most_steps, self.settled_after)))


@typed
def general_expansion(problem: General, horizons: Collection[int]) -> LeadingOrder:
    """`noise_expansion` at the steps `horizons` alone (leading axis, in their order).

    Raises `DomainError` for horizons that are neither computed nor past the transient.
    """
    run, steps = problem.run, horizon_list(horizons)
    last = len(run.noiseless) - 1
    for step in steps:
        if min(step, problem.settled_after) > last:
            raise DomainError("horizons", step, f"at most {last}", "or larger step sizes, so that the run settles")
    where = np.minimum(steps, last)
    return LeadingOrder(
        noiseless=run.noiseless[where], shift=run.shift[where], first=run.first[where], second=run.second[where]
    )


@typed
def general_error_terms(problem: General, steps: int) -> ErrorTerms:
    """`ErrorTerms` at t = 0 ... min(`steps`, what `General.run` holds)."""
    run, beta = problem.run, problem.beta
    last = min(count("steps", steps), len(run.noiseless) - 1) + 1
    distance, shift = run.noiseless[:last] - beta, run.shift[:last]
    return ErrorTerms(
        noiseless=np.linalg.norm(distance, axis=1),
        crossed=2 * np.einsum("tp,tp->t", distance, shift),
        shift=np.linalg.norm(shift, axis=1),
        first=np.trace(run.first[:last], axis1=1, axis2=2),
        second=np.trace(run.second[:last], axis1=1, axis2=2),
    )


@typed
def relative_theta_noise(problem: General, lambda1: float, steps: int) -> float:
    """(sqrt(p max v) + sqrt(sum v)) / sigma_min, v the variances of A^{1/2} Theta_T along the eigenvectors of A.

    The expected norm of the noise in the fitted regressors, in units of their least singular value; for A = I
    (sqrt(p) + sqrt(q)) times the deviation of an entry of Theta_T.
    """
    a = np.linalg.eigvalsh(problem.moments.A)
    variances = a * noise_variances(a, problem.eta, steps) * lambda1**2
    norm = math.sqrt(problem.moments.p * float(variances.max())) + math.sqrt(float(variances.sum()))
    return norm / float(problem.singular_values[-1])
