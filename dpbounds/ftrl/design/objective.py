"""What a private training run costs: weighted loss as a function of the noise correlation, exactly.

theta_{t+1} = theta_t - eta_t (g_t + w~_t), t = 0..T-1, on F(theta) = 1/2 ||theta - theta*||_H^2, with g_t the average
of m fresh gradients of least squares with Gaussian inputs and w~ = B w the correlated noise. The objective is
sum_{t=1}^T omega_t E F(theta_t) = bias + sgd_noise + N tr(G B B^T), N the variance of one coordinate of one draw.

>>> run = Objective(np.array([1.0]), 1, eta=0.5, initial=4.0)  # one step halves the distance 2: F = 1/2
>>> run.bias, run.diagonal().tolist()
(0.5, [0.125])
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import Literal, Protocol, cast, get_args, runtime_checkable

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.errors import (
    DomainError,
    all_moderate,
    choice,
    count,
    moderate,
    moderate_or_zero,
    real_array,
    vector,
    within,
)
from dpbounds.ftrl.correlations import Correlation, FiniteImpulse
from dpbounds.ftrl.design.gram import Chains, descent_chains, momentum_chains
from dpbounds.ftrl.design.participation import SINGLE, Participation, sensitivity
from dpbounds.values import Value

CONVENTION = "F with 1/2; zero-out; per unit of clip_norm^2 / (2 rho m^2)"
# Steps of a dense Gram matrix (134 MB), and numbers that the recursions hold (steps times eigenvalues).
LARGEST_DENSE, LARGEST_STATE = 4096, 20_000_000
# Beyond, 1 / m is lost beside 1.
LARGEST_BATCH = 10**15
# Which iterates the loss is of; "tail" averages over this share of the steps.
Weights = Literal["mean", "final", "tail"]
WEIGHTS: tuple[Weights, ...] = get_args(Weights)
TAIL = 0.1


@runtime_checkable
class OwnNoisePower(Protocol):
    """A correlation that knows tr(G B B^T) faster than by a dense matrix."""

    def noise_power(self, objective: Objective) -> float:
        """tr(G B B^T)."""
        ...


@dataclass(frozen=True)
class Loss:
    """Weighted loss by part: forgetting the start, gradient noise, privacy noise. F with 1/2."""

    bias: float
    sgd_noise: float
    privacy_noise: float

    @property
    def total(self) -> float:
        """The sum."""
        return self.bias + self.sgd_noise + self.privacy_noise


@typed
@dataclass(frozen=True, eq=False)
class Objective:
    """A run of T = `steps` steps and how its loss is weighted.

    - `eigenvalues` of H, (d,), above 0.
    - `eta`, or `schedule` of shape (T,): eta_t of step t = 0..T-1.
    - `weights`: "mean" (1/T each), "final", "tail" (the last 10 % of the steps), or omega of shape (T,) for theta_1 ..
      theta_T, not normalised.
    - `batch_size` m: fresh Gaussian examples averaged in each gradient. Without it, or with `noiseless`, gradients are
      those of F itself; the privacy noise is still divided by m if m is given.
    - `momentum` mu: heavy ball v <- mu v + g + w~, theta <- theta - eta_t v; noiseless gradients only.
    - `initial`: squared start distances along the eigenvectors, one number or (d,); 0 if not given.
    - `sigma_sgd`: standard deviation of the residuals.

    Raises `DomainError` for spectra with entries not above 0, learning rates at which a step does not contract (the
    fourth moment of the inputs included), wrong lengths, momentum with noisy gradients.
    """

    eigenvalues: Float[np.ndarray, " d"]
    steps: int
    eta: float | None = None
    schedule: Float[np.ndarray, " T"] | None = None
    _: KW_ONLY
    weights: str | Float[np.ndarray, " T"] = "mean"
    batch_size: int | None = None
    noiseless: bool = False
    momentum: float = 0.0
    initial: float | Float[np.ndarray, " d"] | None = None
    sigma_sgd: float = 0.0

    def __post_init__(self) -> None:
        checked = {
            "eigenvalues": all_moderate("eigenvalues", self.eigenvalues),
            "steps": count("steps", self.steps),
            "batch_size": None if self.batch_size is None else count("batch_size", self.batch_size, most=LARGEST_BATCH),
            "momentum": within("momentum", self.momentum, "[0, 1)"),
            "sigma_sgd": moderate_or_zero("sigma_sgd", self.sigma_sgd),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        numbers = self.steps * len(self.eigenvalues)
        if numbers > LARGEST_STATE:
            raise DomainError(
                "steps", self.steps, f"at most {LARGEST_STATE} over the number of eigenvalues", "merge near eigenvalues"
            )
        if self.schedule is not None:
            schedule = vector("schedule", self.schedule, above=0.0, length=self.steps, per="step")
            object.__setattr__(self, "schedule", schedule)
        if not isinstance(self.weights, str):
            object.__setattr__(self, "weights", _weights(self.weights, self.steps))
        else:
            choice("weights", self.weights, WEIGHTS)
        start = squared_start(self.initial, len(self.eigenvalues))
        moderate_or_zero("initial", float(start.max()))
        object.__setattr__(self, "initial", start)
        self._check_noise()
        self._check_stable()

    @cached_property
    def learning_rates(self) -> Float[np.ndarray, " T"]:
        """eta_t of step t = 0..T-1."""
        if (self.eta is None) == (self.schedule is None):
            raise DomainError("eta", self.eta, "given, or else schedule", "give one of eta and schedule")
        if self.schedule is not None:
            return np.array([moderate(f"schedule[{t}]", rate) for t, rate in enumerate(self.schedule)])
        return np.full(self.steps, moderate("eta", self.eta))

    @cached_property
    def omega(self) -> Float[np.ndarray, " T"]:
        """The weights of F(theta_1) .. F(theta_T)."""
        if not isinstance(self.weights, str):
            return self.weights
        last = {"mean": self.steps, "final": 1, "tail": int(np.ceil(TAIL * self.steps))}[self.weights]
        return np.where(np.arange(self.steps) >= self.steps - last, 1.0 / last, 0.0)

    @property
    def examples(self) -> int:
        """m, by which the noise in a sum of gradients is divided: 1 if no batch size is given."""
        return 1 if self.batch_size is None else self.batch_size

    @property
    def noise_share(self) -> float:
        """1 / m where gradients are sampled, 0 where they are not."""
        return 0.0 if self.noiseless or self.batch_size is None else 1.0 / self.batch_size

    @cached_property
    def chains(self) -> Chains:
        """G as the covariance of Markov chains."""
        if self.momentum > 0:
            return momentum_chains(self.eigenvalues, self.learning_rates, self.omega, self.momentum)
        return descent_chains(self.eigenvalues, self.learning_rates, self.omega, self.noise_share)

    @cached_property
    def _dense(self) -> np.ndarray:
        if self.steps > LARGEST_DENSE:
            raise DomainError("steps", self.steps, f"at most {LARGEST_DENSE} for a dense matrix", "use apply")
        dense = self.chains.gram()
        dense.flags.writeable = False
        return dense

    def gram(self) -> Float[np.ndarray, "T T"]:
        """G, dense and read-only; `DomainError` beyond 4096 steps."""
        return self._dense

    def faster(self, factor: float) -> Objective:
        """The same run with all learning rates times a factor; `DomainError` where it is not stable."""
        return replace(self, eta=None, schedule=factor * self.learning_rates)

    def diagonal(self) -> Float[np.ndarray, " T"]:
        """G_tt: the cost of unit independent noise at step t."""
        return self.chains.diagonal()

    def apply(self, vectors: Float[np.ndarray, "T ..."]) -> Float[np.ndarray, "T ..."]:
        """G v for v of shape (T,) or (T, k), in O(d T k)."""
        array = real_array("vectors", vectors)
        if array.ndim not in (1, 2) or len(array) != self.steps or not np.isfinite(array).all():
            raise DomainError("vectors", f"an array of shape {array.shape}", f"finite, of shape ({self.steps}, ...)")
        return self.chains.apply(array)

    @property
    def bias(self) -> float:
        """What is left of the start: sum_j [R_0 z(0)]_j s_j."""
        return float(self.chains.start @ self.initial)

    @property
    def sgd_noise(self) -> float:
        """(sigma^2 / m) sum_t eta_t^2 <lambda, z(t)>; 0 for noiseless gradients."""
        if self.noise_share == 0:
            return 0.0
        pushed = np.einsum("t,j,tj->", self.learning_rates**2, self.eigenvalues, self.chains.future[..., 0, 0])
        return self.sigma_sgd**2 * self.noise_share * float(pushed)

    @typed
    def noise_power(self, correlation: Correlation) -> float:
        """tr(G B B^T): the correlation's own way if it has one, from the diagonal if B is one, else dense."""
        if isinstance(correlation, OwnNoisePower):
            return float(correlation.noise_power(self))
        if isinstance(correlation, FiniteImpulse) and len(correlation.beta) == 1:
            return correlation.beta[0] ** 2 * float(self.diagonal().sum())
        dense = self.gram()
        decoder = correlation.matrix(self.steps)
        return float(np.sum(decoder * (dense @ decoder)))

    @typed
    def value(self, correlation: Correlation, participation: Participation = SINGLE) -> Value:
        """V = s(C)^2 tr(G (C^T C)^{-1}): `exact`, or `upper` where the sensitivity is."""
        largest = sensitivity(correlation, self.steps, participation)
        return Value(
            float(largest) ** 2 * self.noise_power(correlation),
            kind=largest.kind,
            source="dpbounds",
            convention=CONVENTION,
        )

    def noise_variance(self, rho: float, clip_norm: float = 1.0) -> float:
        """clip_norm^2 / (2 rho m^2): privacy noise in the loss per unit of value, at `rho`-zCDP, zero-out."""
        return moderate("clip_norm", clip_norm) ** 2 / (2.0 * moderate("rho", rho) * self.examples**2)

    @typed
    def loss(
        self,
        correlation: Correlation,
        rho: float,
        *,
        clip_norm: float = 1.0,
        participation: Participation = SINGLE,
    ) -> Loss:
        """Predicted sum_t omega_t E F(theta_t) of a run that is rho-zCDP under zero-out adjacency and never clips.

        Privacy noise is V clip_norm^2 / (2 rho m^2), with m = 1 if no batch size is given.
        """
        variance = self.noise_variance(rho, clip_norm)
        return Loss(self.bias, self.sgd_noise, variance * float(self.value(correlation, participation)))

    def _check_noise(self) -> None:
        if self.momentum > 0 and self.noise_share > 0:
            raise DomainError(
                "momentum", self.momentum, "0 with noisy gradients", "set noiseless=True: heavy ball needs it"
            )
        if self.sigma_sgd > 0 and self.noise_share == 0:
            raise DomainError(
                "sigma_sgd", self.sigma_sgd, "0 with noiseless gradients", "give batch_size, and not noiseless"
            )

    def _check_stable(self) -> None:
        """Every step must contract the second moments of the noiseless run: R_t has spectral radius below 1."""
        name = "eta" if self.schedule is None else "schedule"
        rate = float(self.learning_rates.max())
        x, share = rate * self.eigenvalues, self.noise_share
        if share == 0:
            most = 2.0 * (1.0 + self.momentum) / float(self.eigenvalues.max())
            if not rate < most:
                raise DomainError(name, rate, f"below {most:.6g}, where steps contract", "take a smaller learning rate")
            return
        # R = D + x x^T / m contracts iff D < 1 and sum_j x_j^2 / (m (1 - D_j)) < 1; 1 - D_j = x_j (2 - (1 + 1/m) x_j).
        room = 2.0 - (1.0 + share) * x
        if not (room.min() > 0 and share * float(np.sum(x / room)) < 1):
            raise DomainError(
                name,
                rate,
                f"below {largest_stable_rate(self.eigenvalues, share):.6g}, where E ||theta||^2 contracts",
                "take a smaller learning rate or a larger batch (Gaussian inputs have fourth moments)",
            )


@typed
def start_in_equal_parts(distance: float, directions: int) -> float:
    """Squared start distance along each of `directions` eigenvectors, for theta_0 at `distance` from theta*."""
    return moderate_or_zero("initial", distance) ** 2 / count("directions", directions)


def largest_stable_rate(eigenvalues: Float[np.ndarray, " d"], noise_share: float) -> float:
    """The eta below which one step on averages of m = 1 / noise_share Gaussian examples contracts second moments:
    sum_j x_j / (2 m - (m + 1) x_j) = 1, x_j = eta lambda_j.
    """
    from scipy.optimize import brentq

    top = 2.0 / ((1.0 + noise_share) * float(eigenvalues.max()))

    def excess(eta: float) -> float:
        x = eta * eigenvalues
        return float(np.sum(noise_share * x / (2.0 - (1.0 + noise_share) * x))) - 1.0

    end = top * (1.0 - 1e-12)
    return cast(float, brentq(excess, 0.0, end, xtol=1e-15 * top)) if excess(end) > 0 else end


def _weights(values: object, steps: int) -> np.ndarray:
    array = vector("weights", values, length=steps, per="step")
    if array.min() < 0 or not array.any():
        raise DomainError("weights", float(array.min()), "at least 0, and not all 0")
    moderate("the largest of weights", float(array.max()))
    return array


def squared_start(initial: object, directions: int) -> np.ndarray:
    """Squared start distances along the eigenvectors, 0 if not given, one number for all or one for each; `DomainError`
    for others.
    """
    if initial is None:
        return np.zeros(directions)
    array = vector("initial", initial)
    if len(array) not in (1, directions):
        raise DomainError("initial", f"{len(array)} numbers", f"one number, or one per eigenvalue ({directions})")
    if array.min() < 0:
        raise DomainError("initial", float(array.min()), "squared distances, at least 0")
    return np.broadcast_to(array, (directions,)).copy()
