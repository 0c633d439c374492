"""The leading order of `dpbounds.iv.leading_order` at population moments: instruments with A = I, no residual.

Data enter through Theta (q, p) and beta alone. Along the singular directions of Theta the recursion falls apart into
vectors and p by p matrices: O(p²) a step whatever q is, so that long runs and large problems stay cheap. Past the
transient nothing changes any more (`settled_after`), which serves every longer run.

>>> problem = Isotropic(singular_values=np.ones(2), beta=np.array([1.0, 0.5]), q=2, eta=0.5, alpha=0.5)
>>> isotropic_expansion(problem, [1, 10]).noiseless.round(3).tolist()
[[0.0, 0.0], [1.002, 0.501]]
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, all_moderate, count, in_floats, listed, moderate, moderate_or_zero, nonnegative
from dpbounds.iv.leading_order import LeadingOrder
from dpbounds.iv.moments import target_vector

# Transients are below exp(-60) times powers of t when a run counts as settled.
_FORGOTTEN = 60.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Isotropic:
    """The population problem in the singular basis of Theta, with the step sizes.

    `singular_values` of Theta (p,), `beta` (p,) in the basis of right singular vectors, q instruments. Raises
    `DomainError` for values that are not above 0, q < p, eta outside (0, 2), alpha outside (0, 2 / ||Theta||²).
    """

    singular_values: Float[np.ndarray, " p"]
    beta: Float[np.ndarray, " p"]
    q: int
    eta: float
    alpha: float

    def __post_init__(self) -> None:
        s = all_moderate("singular_values", self.singular_values)
        q = count("q", self.q, len(s), "2SLS needs as many instruments as regressors")
        for name, value in (("singular_values", s), ("beta", target_vector("beta", self.beta, len(s))), ("q", q)):
            object.__setattr__(self, name, value)
        for name, limit, why in (("eta", 2.0, "2"), ("alpha", 2 / float(s.max()) ** 2, "2 / ||Theta||²")):
            if not moderate(name, getattr(self, name)) < limit:
                raise DomainError(name, getattr(self, name), f"below {why} = {limit:.6g}", "the stage diverges")
        in_floats(self, "eta", "alpha")

    @property
    def kappa(self) -> float:
        """Rate of the noiseless run, max(|1 - eta|, |1 - alpha s²|)."""
        stages = np.abs(1 - self.alpha * self.singular_values**2)
        return max(abs(1 - self.eta), float(stages.max()))

    @property
    def settled_after(self) -> float:
        """A number of steps after which the coefficients are stationary to double precision; inf where rounding makes
        kappa 1.
        """
        return settled_after(self.kappa)


def settled_after(kappa: float) -> float:
    """Steps after which nothing is left of where a run with rate `kappa` began; inf where rounding makes it 1."""
    kappa = nonnegative("kappa", kappa)
    if kappa == 0:
        return 2.0
    return math.ceil(_FORGOTTEN / -math.log(kappa)) + 2.0 if kappa < 1 else math.inf


class _State(NamedTuple):
    """Coefficients of `LeadingOrder` at one step, `second` as its diagonal."""

    noiseless: np.ndarray
    shift: np.ndarray
    first: np.ndarray
    second: np.ndarray


@dataclass(frozen=True, kw_only=True, eq=False)
class ErrorTerms:
    """What the root mean square of ||beta_t - beta|| is made of, at t = 0, 1, ... (leading axis).

    `noiseless` ||bar beta_t - beta||; `crossed` 2 (bar beta_t - beta)'s_t, `shift` ||s_t|| and `first` tr F_t per unit
    lambda_1²; `second` tr N_t per unit lambda_2².
    """

    noiseless: Float[np.ndarray, " steps"]
    crossed: Float[np.ndarray, " steps"]
    shift: Float[np.ndarray, " steps"]
    first: Float[np.ndarray, " steps"]
    second: Float[np.ndarray, " steps"]

    @typed
    def at(self, horizons: Sequence[int]) -> ErrorTerms:
        """At these steps alone; beyond the last one, that one."""
        where = np.minimum(horizon_list(horizons), len(self.first) - 1)
        return ErrorTerms(
            noiseless=self.noiseless[where],
            crossed=self.crossed[where],
            shift=self.shift[where],
            first=self.first[where],
            second=self.second[where],
        )

    def root_mean_square(
        self, lambda1: Float[np.ndarray, " steps"], lambda2: Float[np.ndarray, " steps"]
    ) -> Float[np.ndarray, " steps"]:
        """That of the Gaussian law `LeadingOrder.law`, at each step with noise scales of its own.

        As where the noise is calibrated to T = t. The square of the shift, which `LeadingOrder.mean_squared_error`
        leaves to the fourth order, is in it: with q much larger than p it is most of that order.
        """
        lambda1, lambda2 = self._scales("lambda1", lambda1), self._scales("lambda2", lambda2)
        first = lambda1**2 * (self.crossed + self.first + lambda1**2 * self.shift**2)
        return np.sqrt(self.noiseless**2 + first + lambda2**2 * self.second)

    def _scales(self, name: str, values: np.ndarray) -> np.ndarray:
        scales = target_vector(name, values, len(self.first))
        moderate_or_zero(f"least entry of {name}", scales.min())
        return scales


@typed
def isotropic_expansion(problem: Isotropic, horizons: Collection[int]) -> LeadingOrder:
    """`noise_expansion` at the steps `horizons` alone (leading axis, in their order), in the singular basis.

    A horizon beyond `Isotropic.settled_after` gets the stationary coefficients. Raises `DomainError` for horizons
    below 0.
    """
    wanted = [min(horizon, problem.settled_after) for horizon in horizon_list(horizons)]
    kept: dict[float, _State] = {}
    for t, state in enumerate(_states(problem)):
        if t in wanted:
            kept[t] = state
        if t >= max(wanted):
            break
    noiseless, shift, first, second = zip(*(kept[t] for t in wanted), strict=True)
    diagonal = np.array(second)[:, :, None] * np.eye(len(problem.beta))
    return LeadingOrder(noiseless=np.array(noiseless), shift=np.array(shift), first=np.array(first), second=diagonal)


@typed
def isotropic_error_terms(problem: Isotropic, steps: int) -> ErrorTerms:
    """`ErrorTerms` at t = 0 ... min(`steps`, `Isotropic.settled_after`); the last holds for all longer runs."""
    last, beta = min(count("steps", steps), problem.settled_after), problem.beta
    rows = []
    for t, state in enumerate(_states(problem)):
        distance = state.noiseless - beta
        means = np.linalg.norm(distance), 2 * distance @ state.shift, np.linalg.norm(state.shift)
        rows.append((*means, np.trace(state.first), state.second.sum()))
        if t >= last:
            break
    noiseless, crossed, shift, first, second = np.array(rows).T
    return ErrorTerms(noiseless=noiseless, crossed=crossed, shift=shift, first=first, second=second)


class GradientNorms(NamedTuple):
    """Root mean square of the norm of one record's gradient, stage by stage."""

    theta: float
    beta: float


@typed
def starting_gradient_norms(problem: Isotropic, sigma_1: float, sigma_2: float) -> GradientNorms:
    """How long the gradients of a record are at the start: what clip norms are to be compared with.

    ||z x'|| at Theta = 0, and ||Theta'z y|| at beta = 0 with Theta known, for z ~ N(0, I) and independent Gaussian
    errors of deviations sigma_1 (of y) and sigma_2 (of each regressor). By fourth moments E ||z||² z'Mz = (q + 2) tr M
    and E z'Mz (c'z)² = tr M ||c||² + 2 c'Mc, with M = Theta Theta', c = Theta beta. The largest of n records is
    several times as long. Raises `DomainError` for negative deviations.
    """
    sigma_1, sigma_2 = moderate_or_zero("sigma_1", sigma_1), moderate_or_zero("sigma_2", sigma_2)
    s, beta, q = problem.singular_values, problem.beta, problem.q
    trace, signal = float(s @ s), float(np.sum((s * beta) ** 2))
    first = (q + 2) * trace + q * len(s) * sigma_2**2
    errors = sigma_1**2 + sigma_2**2 * float(beta @ beta)
    second = trace * (signal + errors) + 2 * float(np.sum((s**2 * beta) ** 2))
    return GradientNorms(math.sqrt(first), math.sqrt(second))


@typed
def horizon_list(horizons: Collection[int]) -> list[int]:
    """A non-empty list of whole numbers of steps."""
    steps = [count("horizons", horizon, least=0) for horizon in listed("horizons", horizons)]
    if not steps:
        raise DomainError("horizons", horizons, "at least one number of steps")
    return steps


def _states(problem: Isotropic) -> Iterator[_State]:
    """The recursion of `noise_expansion` for A = I and Theta = [diag(s); 0].

    Row j of Theta_t is theta_j e_j, so K_j = r_j I + theta_j e_j beta' and S_j = diag(d_j) + e_j w_j' with vectors d_j,
    w_j; rows beyond p have neither data nor S.
    """
    s, target, alpha, m = problem.singular_values, problem.beta, problem.alpha, 1 - problem.eta
    p = len(s)
    theta, x, shift, second = (np.zeros(p) for _ in range(4))
    first, d, w, v = np.zeros((p, p)), np.zeros((p, p)), np.zeros((p, p)), 0.0
    while True:
        yield _State(x, shift, first, second)
        r, l = theta * x - s * target, 1 - alpha * theta**2
        pulled = theta * (np.diag(d) + d.sum(axis=1) + np.diag(w)) + w.T @ theta
        shift = l * shift - alpha * (problem.q * v * x + pulled)
        first = np.outer(l, l) * first + _added(alpha, v, theta, x, r, l, d, w)
        second = l**2 * second + alpha**2
        d, w = m * (d * l - (alpha * v * r)[:, None]), m * (l[:, None] * w - alpha * v * np.outer(theta, x))
        v, x, theta = m**2 * v + problem.eta**2, x - alpha * theta * r, m * theta + problem.eta * s


def _added(
    alpha: float,
    v: float,
    theta: np.ndarray,
    x: np.ndarray,
    r: np.ndarray,
    l: np.ndarray,
    d: np.ndarray,
    w: np.ndarray,
) -> np.ndarray:
    """alpha² v sum_j K_j K_j' - alpha sum_j (L S_j K_j' + K_j S_j' L)."""
    mixed = np.outer(r * theta, x)
    own = mixed + mixed.T + np.diag(r @ r + (x @ x) * theta**2)
    crossed = np.diag(r @ d + theta * (w @ x)) + x[:, None] * d.T * theta + r[:, None] * w
    crossed = l[:, None] * crossed
    return alpha**2 * v * own - alpha * (crossed + crossed.T)
