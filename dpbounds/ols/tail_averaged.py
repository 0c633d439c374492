"""Tail-averaged preconditioned descent (TAP): private least squares with one noisy Hessian and many equal rounds.

Rows have ||x_i|| <= 1 and |y_i| <= 1; mu is the whole budget as a Gaussian mechanism, which the releases split by
`Shares` of mu². A histogram of ||x|| |y| gives the clip level c to start from, one noisy Hessian U W U' the
preconditioner U P U'; T rounds theta <- theta + U P U' (g + noise), g = sum x_i clip(y_i - x_i'theta, c_u / ||x_i||),
each with a count of the gradients of at most c, which moves c; the mean of the last iterates is the estimate.
Everything but the releases is post-processing, so that their squared sensitivities over noise sum to mu² exactly.

What it shares with PRN, the rules for c and the cost of replacing a row, is in `dpbounds.ols.newton`. All functions
take leading axes of trials where they take arrays. Source: dpbounds; the paper has no such method.

>>> settings = TailAveraged(mu=1.0)
>>> round(noise_scales(settings).gradients, 4), settings.kept
(12.1999, 115)
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Literal, NamedTuple

import numpy as np

from dpbounds.arguments import formula, typed
from dpbounds.errors import choice, count, moderate, without_nan
from dpbounds.ols import newton
from dpbounds.values import Value

# Beside the noise edge e: the preconditioner is 1 / (w + RIDGE e).
RIDGE = 1.5
# c_u over c before it grows with the budget.
SMALLER = 0.85
# The share of the last iterates that are averaged.
TAIL = 0.9
MOST_STEPS = 10_000


@dataclass(frozen=True, kw_only=True)
class Shares:
    """Shares of mu² that the releases spend; they sum to 1.

    `products`: the histogram of ||x|| |y|; `hessian`; `counts` and `rounds`, each all together. Raises `DomainError`
    unless all are positive and sum to 1.
    """

    products: float = 0.03
    hessian: float = 0.08
    counts: float = 0.03
    rounds: float = 0.86

    def __post_init__(self) -> None:
        newton.check_shares(**asdict(self))


SHARES = Shares()


@typed
@dataclass(frozen=True, kw_only=True)
class TailAveraged:
    """TAP with the whole budget `mu` for `steps` rounds, the last nine tenths of which are averaged.

    The noise is such that the joint release is mu-GDP for `adjacency`; n is public. Raises `DomainError` for values
    outside their ranges.
    """

    mu: float
    steps: int = 128
    shares: Shares = SHARES
    adjacency: Literal["zero-out", "replace-one"] = "zero-out"

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", moderate("mu", self.mu))
        object.__setattr__(self, "steps", count("steps", self.steps, most=MOST_STEPS))
        choice("adjacency", self.adjacency, ("zero-out", "replace-one"))

    @property
    def kept(self) -> int:
        """How many of the last iterates are averaged, rounded down."""
        return max(1, int(TAIL * self.steps))


class Scales(NamedTuple):
    """Standard deviations of the noise.

    `products` in each bin of the histogram; `hessian` of a diagonal entry (1/sqrt(2) of it off the diagonal); `counts`
    of each of the T counts; `gradients` of each of the T sums of gradients, in units of its c_u.
    """

    products: float
    hessian: float
    counts: float
    gradients: float


@typed
def noise_scales(settings: TailAveraged) -> Scales:
    """The noise that spends mu: for replace-one all scales are sqrt(replacement_cost) larger than for zero-out."""
    shares = settings.shares
    unit = math.sqrt(_cost(shares) if settings.adjacency == "replace-one" else 1.0) / settings.mu
    return Scales(
        products=unit / math.sqrt(shares.products),
        hessian=unit / math.sqrt(shares.hessian),
        counts=unit * math.sqrt(settings.steps / shares.counts),
        gradients=unit * math.sqrt(settings.steps / shares.rounds),
    )


@typed
def privacy(scales: Scales, steps: int, *, adjacency: Literal["zero-out", "replace-one"] = "zero-out") -> Value:
    """mu of the joint release of `steps` rounds with this noise, over all pairs of data sets with n rows.

    Zero-out, exact: a row moves the histogram by 1, the Hessian by 1 (Frobenius, which noise of equal law in all
    orthonormal coordinates of symmetric matrices sees), each gradient by c_u, each count by 1, since a row of zeros is
    counted; all at once where ||x|| = 1 and |y - x'theta_t| >= c_u and > c in all rounds. Replace-one, an upper bound:
    `replacement_cost`.
    """
    choice("adjacency", adjacency, ("zero-out", "replace-one"))
    steps = count("steps", steps, most=MOST_STEPS)
    products, hessian, counts, gradients = (
        moderate(name, getattr(scales, name)) ** -2.0 for name in ("products", "hessian", "counts", "gradients")
    )
    if adjacency == "zero-out":
        total, kind = products + hessian + steps * (counts + gradients), "exact"
    else:
        total, kind = 2 * products + steps * counts + newton.steepest(steps * gradients, hessian), "upper"
    return Value(math.sqrt(total), kind=kind, source="dpbounds", convention=f"mu, {adjacency}")


@typed
def replacement_cost(shares: Shares = SHARES) -> Value:
    """mu² under replace-one over mu² under zero-out, 3.61 at the default shares; an upper bound.

    A row moves from bin to bin (2) and in or out of each count (1); gradients and Hessian together cost at most 4
    rounds + hessian, as for PRN (`dpbounds.ols.newton.replacement_cost`).
    """
    return Value(_cost(shares), kind="upper", source="dpbounds", convention="in units of mu²")


def _cost(shares: Shares) -> float:
    return 2 * shares.products + shares.counts + newton.steepest(shares.rounds, shares.hessian)


@formula
def inverse(eigenvalues: np.ndarray, hessian_noise: np.ndarray | float, n: float) -> np.ndarray:
    """P = 1 / (max(w, 0) + 1.5 e) (..., d) from the eigenvalues w of the noisy Hessian with noise `hessian_noise`.

    e = min(s1 sqrt(2 d), n): the noise matrix has operator norm about s1 sqrt(2 d), and no eigenvalue without noise
    exceeds n.
    """
    without_nan(eigenvalues=eigenvalues, n=n)
    e = np.minimum(newton.edge(hessian_noise, eigenvalues.shape[-1]), n)
    return 1 / (np.maximum(eigenvalues, 0.0) + RIDGE * np.asarray(e)[..., None])


@formula
def used_clip(c: np.ndarray | float, *, n: int, d: int, mu: float) -> np.ndarray:
    """c_u = min(1, 0.85 c max(1, 0.3 sqrt(n mu / d)))."""
    without_nan(c=c, n=n, d=d, mu=mu)
    growth = max(1.0, newton.GROWTH_C * math.sqrt(n * mu / d))
    return np.minimum(1.0, SMALLER * np.asarray(c) * growth)
