"""The quantities of iv eq. (10), the step sizes built from them, and the contraction rates of iv Theorem 3.1.

The paper gives no value to its constants: they are fields of `Constants`, all 1 by default; 0 for `concentration` and
`product` gives the population values delta = psi = 0. With constants of order 1 psi exceeds the least singular value of
Theta in most of the paper's figures: the printed square (sigma_min - psi)² then grows again and bounds nothing, which
`Spectrum.valid` says.

>>> design = Design(n=2000, p=5, q=5, theta_norm=1.0, theta_least=1.0)
>>> bounds = spectrum(design, Constants(concentration=0.0, product=0.0))
>>> [round(float(step), 3) for step in experiment_step_sizes(bounds)]
[1.0, 0.667]
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, count, moderate, moderate_or_zero
from dpbounds.iv.moments import finite_array
from dpbounds.iv.noiseless import Rates, StepSizes
from dpbounds.values import Value


@dataclass(frozen=True, kw_only=True)
class Constants:
    """What iv leaves open.

    - `concentration`: C_0 of delta (Lemma D.2); `product`: c_0 of psi (Lemmas D.3 and D.5, eq. (10)).
    - `clipping`: c_0 of the clip norms (4), another constant under the same name in the paper.
    - `sample_size`: c_1 of (6) and the one of Lemma D.1; `horizon` and `epsilon`: constant and exponent of (5).
    - `optimisation`, `privacy`, `statistical`: one for each term of (7).

    Raises `DomainError` for negative values, and for 0 where that makes no sense.
    """

    concentration: float = 1.0
    product: float = 1.0
    clipping: float = 1.0
    sample_size: float = 1.0
    horizon: float = 1.0
    epsilon: float = 0.0
    optimisation: float = 1.0
    privacy: float = 1.0
    statistical: float = 1.0

    def __post_init__(self) -> None:
        for name in ("concentration", "product", "epsilon"):
            moderate_or_zero(name, getattr(self, name))
        for name in ("clipping", "sample_size", "horizon", "optimisation", "privacy", "statistical"):
            moderate(name, getattr(self, name))


UNIT = Constants()


@dataclass(frozen=True, kw_only=True)
class Design:
    """What iv Theorem 3.1 knows of the problem.

    n records, q >= p; `theta_norm` and `theta_least`: largest and least singular value of Theta (q, p); sigma_z and
    sigma_2: variance proxies of z and e_2; `tau` sets the confidence, 1 - O(e^{-tau}). Isotropy forces sigma_z >= 1:
    log E e^{u <z, v>} = u²/2 + ... <= u² sigma_z² / 2. Raises `DomainError` for values out of range.
    """

    n: int
    p: int
    q: int
    theta_norm: float
    theta_least: float
    sigma_z: float = 1.0
    sigma_2: float = 1.0
    tau: float = 5.0

    def __post_init__(self) -> None:
        p = count("p", self.p)
        checked: dict[str, float] = {"n": count("n", self.n), "p": p}
        checked["q"] = count("q", self.q, least=p, remedy="2SLS needs as many instruments as regressors")
        for name in ("theta_norm", "theta_least", "sigma_z", "tau"):
            checked[name] = moderate(name, getattr(self, name))
        checked["sigma_2"] = moderate_or_zero("sigma_2", self.sigma_2)
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        if self.theta_least > self.theta_norm:
            raise DomainError("theta_least", self.theta_least, f"at most theta_norm = {self.theta_norm:.6g}")

    @classmethod
    def of(cls, theta: Float[np.ndarray, "q p"], n: int, **rest: float) -> Design:
        """The design of a matrix Theta."""
        matrix = finite_array("theta", theta, 2)
        q, p = matrix.shape
        values = np.linalg.svd(matrix, compute_uv=False)
        return cls(n=n, p=p, q=q, theta_norm=float(values[0]), theta_least=float(values[-1]), **rest)

    @property
    def Q(self) -> float:
        """sqrt(q) + sqrt(tau)."""
        return math.sqrt(self.q) + math.sqrt(self.tau)

    @property
    def Lambda(self) -> float:
        """tau + log(pq)."""
        return self.tau + math.log(self.p * self.q)

    def Q_union(self, steps: int) -> float:
        """sqrt(q) + sqrt(tau + log(nT)): Q after a union bound over records and steps."""
        return math.sqrt(self.q) + math.sqrt(self.tau + math.log(self.n * count("steps", steps)))


class Spectrum(NamedTuple):
    """delta, psi and the interval [`lower`, `upper`] that is to hold the spectrum of H-hat (iv eq. (10), Lemma D.6).

    `valid`: delta < 1 and psi < sigma_min(Theta), without which `lower` is no lower bound whatever the constants.
    """

    delta: Value
    psi: Value
    lower: Value
    upper: Value
    valid: bool


@typed
def spectrum(design: Design, constants: Constants = UNIT, *, positive_part: bool = False) -> Spectrum:
    """delta = C_0 sigma_z² Q / sqrt(n), psi, gamma-lower and gamma-upper of iv eq. (10), as printed.

    `positive_part` takes (1 - delta)_+ and (sigma_min - psi)_+ in gamma-lower: the bound that Lemma D.6 proves. The
    `kind` of a definition is exact; of the ends of the interval estimate, since the constants are not known.
    """
    root = math.sqrt(design.n)
    delta = constants.concentration * design.sigma_z**2 * design.Q / root
    scale = math.sqrt(design.p * design.q) * (design.tau + math.log(2 * design.p * design.q)) / root
    shrunk = (1 - delta) ** 2
    psi = constants.product * design.sigma_z * design.sigma_2 * scale / shrunk if shrunk else math.inf
    gap, below = design.theta_least - psi, 1 - delta
    if positive_part:
        gap, below = max(gap, 0.0), max(below, 0.0)
    lower = (below * gap) ** 2 if below else 0.0
    upper = ((1 + delta) * (design.theta_norm + psi)) ** 2
    defined = [Value(number, kind="exact", source="iv eq. (10)") for number in (delta, psi)]
    ends = [Value(number, kind="estimate", source="iv Lemma D.6") for number in (lower, upper)]
    return Spectrum(*defined, *ends, valid=delta < 1 and psi < design.theta_least)


@typed
def theorem_step_limits(bounds: Spectrum) -> StepSizes:
    """Upper ends of iv eq. (3): 2 / (1 + delta)² and 4 / (2 gamma-upper + gamma-lower)."""
    return StepSizes(2 / (1 + bounds.delta) ** 2, 4 / (2 * bounds.upper + bounds.lower))


@typed
def experiment_step_sizes(bounds: Spectrum) -> StepSizes:
    """iv Section 4: eta = 1 / (1 + delta)², alpha = 2 / (2 gamma-upper + gamma-lower), half of `theorem_step_limits`.

    There kappa_Theta = 1 - ((1 - delta) / (1 + delta))² and kappa_beta = 2 gamma-upper / (2 gamma-upper + gamma-lower),
    at least 2/3 (with delta <= 1, gamma-lower <= gamma-upper).
    """
    return StepSizes(*(limit / 2 for limit in theorem_step_limits(bounds)))


@typed
def optimal_step_sizes(bounds: Spectrum) -> StepSizes:
    """iv eq. (8): eta = 2 / ((1 + delta)² + (1 - delta)²), alpha = 2 / (gamma-upper + gamma-lower).

    They equalise the two branches of kappa_Theta and of kappa_beta, each a maximum of two V-shaped functions: the
    minimum. kappa_beta is then gamma-upper / (gamma-upper + gamma-lower) >= 1/2, not the rate (gamma-upper -
    gamma-lower) / (gamma-upper + gamma-lower) of gradient descent: (14) gives half of gamma-lower away at either end.
    """
    delta = bounds.delta
    return StepSizes(2 / ((1 + delta) ** 2 + (1 - delta) ** 2), 2 / (bounds.upper + bounds.lower))


@typed
def theorem_rates(bounds: Spectrum, eta: float, alpha: float) -> Rates:
    """kappa_Theta, kappa_beta and kappa of iv eq. (10), as printed, at any step sizes.

    They bound the spectral radii of `noiseless.contraction_rates` where `bounds` hold; the bound on the second stage is
    for H_t within gamma-lower / 2 of H-hat, so at least 1 - alpha gamma-lower / 2 even in the limit.
    """
    eta, alpha, delta = moderate("eta", eta), moderate("alpha", alpha), bounds.delta
    theta = max(abs(1 - eta * (1 - delta) ** 2), abs(1 - eta * (1 + delta) ** 2))
    beta = max(abs(1 - alpha * bounds.lower / 2), abs(1 - alpha * (2 * bounds.upper + bounds.lower) / 2))
    numbers = (theta, beta, max(theta, beta))
    return Rates(*(Value(float(number), kind="exact", source="iv eq. (10)") for number in numbers))
