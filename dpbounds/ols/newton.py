"""Preconditioned recentred Newton (PRN): private least squares with one noisy Hessian and norm-clipped gradients.

Rows have ||x_i|| <= 1 and |y_i| <= 1; mu is the whole budget as a Gaussian mechanism, which the releases split by
`Shares` of mu². Two histograms, of ||x|| and of ||x|| |y|, choose the clip levels h and c; one noisy Hessian gives
the preconditioner U P U'; T rounds theta <- theta + U s_t P U' (g + noise), g = sum x_i clip(y_i - x_i'theta, c_u /
||x_i||), average what is already at its fixed point by scalar Kalman gains s_t; counts of small gradients steer c.
Everything but the releases is post-processing, so that their squared sensitivities over noise sum to mu² exactly.

All functions take leading axes of trials where they take arrays. Source: dpbounds; the paper has no such method.

>>> settings = Newton(mu=0.3)
>>> round(float(noise_scales(settings).hessian), 1)
9.6
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Literal, NamedTuple

import numpy as np

from dpbounds.arguments import formula, typed
from dpbounds.errors import DomainError, choice, count, moderate, positive, vector, within, without_nan
from dpbounds.values import Value

# Edges of both histograms, from 1 downwards; everything below the last but 0 falls into the last bin.
EDGES = 2.0 ** (-np.arange(15) / 2)
# Shares of the rows that may lie above h and above c, and standard deviations of the noise that are added to counts.
ABOVE_H, ABOVE_C, MARGIN = 0.15, 0.30, 1.5
# c where its histogram says nothing, at most, and at least.
DEFAULT_C, LARGEST_C, LEAST_C = 0.1, 0.15, 0.002
# The share of the rows whose gradient norm the counts hold at c, and how strongly.
QUANTILE, RATE = 0.7, 1.5
# The share of rows that a count must tell from none to be trusted by half: its noise over n.
TRUSTED_SHARE = 0.15
# How fast h and c_u grow with the budget: bias of clipping against noise that is proportional to the clip level.
GROWTH_H, GROWTH_C = 0.05, 0.3
# A histogram whose level is the first edge, 1, says nothing: all below it is as likely.
SILENT = 0.99
# F, the iterate's weighted square over that of noise alone, at which the last factor leaves 0, and how far on it is 1.
SHRINKS_BELOW, SHRINKS_OVER = 0.7, 0.6
# What stands for no knowledge of the start: so many variances of the first round's noise.
DIFFUSE = 1e6
# The share of the Hessian noise's edge below which an eigenvalue is taken to be unknown.
UNKNOWN = 0.3
# Beyond, the shares of the first or the last rounds may leave floats.
MOST_STEPS = 300


def check_shares(**shares: float) -> None:
    """Raise `DomainError` unless all are positive and sum to 1."""
    values = [positive(f"share of {name}", value) for name, value in shares.items()]
    if abs(math.fsum(values) - 1.0) > 1e-12:
        raise DomainError("shares", values, "numbers that sum to 1")


@dataclass(frozen=True, kw_only=True)
class Shares:
    """Shares of mu² that the releases spend; they sum to 1.

    `norms`, `products`: histograms of ||x|| and ||x|| |y|; `hessian`; `counts`, all together; `rounds`, all together.
    Raises `DomainError` unless all are positive and sum to 1.
    """

    norms: float = 0.03
    products: float = 0.03
    hessian: float = 0.12
    counts: float = 0.04
    rounds: float = 0.78

    def __post_init__(self) -> None:
        check_shares(**asdict(self))


SHARES = Shares()


@typed
@dataclass(frozen=True, kw_only=True)
class Newton:
    """PRN with the whole budget `mu` for `steps` rounds, whose shares of mu² grow by the factor `growth`.

    The noise is such that the joint release is mu-GDP for `adjacency`; n is public. Raises `DomainError` for values
    outside their ranges.
    """

    mu: float
    steps: int = 10
    growth: float = 1.2
    shares: Shares = SHARES
    adjacency: Literal["zero-out", "replace-one"] = "zero-out"

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", moderate("mu", self.mu))
        object.__setattr__(self, "growth", within("growth", self.growth, "[0.1, 10]"))
        object.__setattr__(self, "steps", count("steps", self.steps, most=MOST_STEPS))
        choice("adjacency", self.adjacency, ("zero-out", "replace-one"))


class Scales(NamedTuple):
    """Standard deviations of the noise.

    `norms`, `products` in each bin of the two histograms; `hessian`, in units of h², of a diagonal entry (1/sqrt(2) of
    it off the diagonal); `counts` of each of the T - 1 counts; `gradients`, in units of c_u, round by round, (T,).
    """

    norms: float
    products: float
    hessian: float
    counts: float
    gradients: np.ndarray


@typed
def round_shares(settings: Newton) -> np.ndarray:
    """Share of mu² of each round, proportional to growth^t, shape (steps,)."""
    weights = settings.growth ** np.arange(settings.steps)
    return settings.shares.rounds * weights / weights.sum()


@typed
def noise_scales(settings: Newton) -> Scales:
    """The noise that spends mu: for replace-one all scales are sqrt(replacement_cost) larger than for zero-out.

    With one step there are no counts, and their share is not spent.
    """
    shares = settings.shares
    unit = math.sqrt(_cost(shares) if settings.adjacency == "replace-one" else 1.0) / settings.mu
    return Scales(
        norms=unit / math.sqrt(shares.norms),
        products=unit / math.sqrt(shares.products),
        hessian=unit / math.sqrt(shares.hessian),
        counts=unit * math.sqrt(max(settings.steps - 1, 1) / shares.counts),
        gradients=unit / np.sqrt(round_shares(settings)),
    )


@typed
def privacy(scales: Scales, *, adjacency: Literal["zero-out", "replace-one"] = "zero-out") -> Value:
    """mu of the joint release with this noise, over all pairs of data sets with n rows.

    Zero-out, exact: a row moves each histogram by 1, the clipped Hessian by h² (Frobenius, which noise of equal law in
    all orthonormal coordinates of symmetric matrices sees), each gradient by c_u, each count by 1; all at once where
    ||x|| |y - x'theta_t| >= c_u > c in all rounds. Replace-one, an upper bound: see `replacement_cost`.
    """
    choice("adjacency", adjacency, ("zero-out", "replace-one"))
    gradients = vector("gradients", scales.gradients, above=0.0)
    rounds, hessian = float(np.sum(1 / gradients**2)), 1 / scales.hessian**2
    histograms = 1 / scales.norms**2 + 1 / scales.products**2
    counts = (len(gradients) - 1) / scales.counts**2
    if adjacency == "zero-out":
        total, kind = histograms + hessian + counts + rounds, "exact"
    else:
        total, kind = 2 * histograms + counts + steepest(rounds, hessian), "upper"
    return Value(math.sqrt(total), kind=kind, source="dpbounds", convention=f"mu, {adjacency}")


@typed
def replacement_cost(shares: Shares = SHARES) -> Value:
    """mu² under replace-one over mu² under zero-out, 3.40 at the default shares; an upper bound.

    A row moves from bin to bin (2 per histogram) and in or out of each count (1). Gradients and Hessian together: for
    rows in directions of cosine a >= 0, rounds (2 + 2 a) + hessian max(1, 2 - 2 a²), at most 4 rounds + hessian if
    rounds >= 2 hessian: two opposite gradients, one of a row so short that its Hessian is next to nothing. Approached
    where c_u = c, for a clip above c gives a row either the full gradient or the count.
    """
    return Value(_cost(shares), kind="upper", source="dpbounds", convention="in units of mu²")


def _cost(shares: Shares) -> float:
    return 2 * shares.norms + 2 * shares.products + shares.counts + steepest(shares.rounds, shares.hessian)


@formula
def steepest(rounds: float, hessian: float) -> float:
    """What replacing a row can cost in gradients and Hessian together: max over cosines a of rounds (2 + 2 a) + hessian
    max(1, 2 - 2 a²), `rounds` and `hessian` the squared sensitivities over noise that zeroing a row out has.
    """
    cosine = min(1.0, rounds / (2 * hessian))
    return max(4 * rounds + hessian, rounds * (2 + 2 * cosine) + hessian * (2 - 2 * cosine**2))


@formula
def histogram(values: np.ndarray) -> np.ndarray:
    """Values (n,) by the least edge that is not below them, largest edge first, (15,); values 0 are not counted."""
    without_nan(values=values)
    seen = values[values > 0]
    bins = np.searchsorted(-EDGES, -seen, side="right") - 1
    return np.bincount(np.maximum(bins, 0), minlength=len(EDGES)).astype(float)  # rounding at 1 stays in bin 0


@formula
def clip_level(histogram: np.ndarray, noise: float, allowed: float) -> np.ndarray:
    """The least edge above which a noisy histogram has at most `allowed` rows, `MARGIN` standard deviations added.

    `histogram` (..., 15) counts rows by `EDGES`, largest first, with noise of standard deviation `noise` in each bin.
    The count above an edge adds up the bins above; there are none above the edge 1, which always fits.
    """
    without_nan(histogram=histogram, noise=noise, allowed=allowed)
    bins = np.arange(len(EDGES))
    above = np.cumsum(histogram, axis=-1) - histogram
    fits = (above + MARGIN * noise * np.sqrt(bins) <= allowed) | (bins == 0)
    return EDGES[np.max(np.where(fits, bins, 0), axis=-1)]


@formula
def hessian_clip(histogram: np.ndarray, noise: float, *, n: int, d: int, mu: float) -> np.ndarray:
    """h: at most 15 % of the rows are longer; more where the budget allows, up to the next edge, at most 1."""
    level = clip_level(histogram, noise, ABOVE_H * n)
    wanted = np.minimum(1.0, level * math.sqrt(max(1.0, GROWTH_H * mu * n / d**1.5)))
    fits = wanted[..., None] <= (1 + 1e-12) * EDGES
    return EDGES[np.max(np.where(fits, np.arange(len(EDGES)), 0), axis=-1)]


@formula
def gradient_clip(histogram: np.ndarray, noise: float, *, n: int) -> np.ndarray:
    """c to start from: at most 30 % of the rows have larger ||x|| |y|, and at most 0.15; 0.1 if that says nothing."""
    level = clip_level(histogram, noise, ABOVE_C * n)
    return np.where(level >= SILENT, DEFAULT_C, np.minimum(level, LARGEST_C))


@formula
def used_clip(c: np.ndarray | float, *, n: int, d: int, mu: float) -> np.ndarray:
    """c_u: above c as the budget per dimension grows, where bias matters more than noise; at most 1."""
    without_nan(c=c, n=n, d=d, mu=mu)
    return np.minimum(1.0, np.asarray(c) * max(1.0, GROWTH_C * math.sqrt(n * mu / d)))


@formula
def next_clip(c: np.ndarray | float, noisy_count: np.ndarray | float, *, n: int, noise: float) -> np.ndarray:
    """c after a noisy count of the rows with gradient norm at most c, towards their 0.7 quantile."""
    without_nan(c=c, noisy_count=noisy_count, noise=noise)
    trust = 1 / (1 + (noise / (TRUSTED_SHARE * n)) ** 2)
    moved = np.asarray(c) * np.exp(-RATE * trust * (np.asarray(noisy_count) / n - QUANTILE))
    return np.maximum(moved, LEAST_C)


@typed
def clip_path(c: float, share_below: Callable[[float], float], settings: Newton, *, n: int, d: int) -> np.ndarray:
    """c_u of every round (steps,) where counts have no noise: from c on, `share_below(c)` the share of the rows with
    gradient norm at most c.
    """
    noise, used = noise_scales(settings).counts, []
    for _ in range(settings.steps):
        used.append(float(used_clip(c, n=n, d=d, mu=settings.mu)))
        c = float(next_clip(c, n * share_below(c), n=n, noise=noise))
    return np.array(used)


class Preconditioner(NamedTuple):
    """In the eigenbasis of the noisy Hessian, all (..., d): `inverse` P; `curvature` max(w, 0.3 e') and `unknown`
    0.3 e', what is taken to be right and wrong about it; `weights` w³ / (w² + e²/4), which tell signal from noise.
    """

    inverse: np.ndarray
    curvature: np.ndarray
    unknown: np.ndarray
    weights: np.ndarray


@formula
def edge(hessian_noise: np.ndarray | float, d: int) -> np.ndarray:
    """e = s1 sqrt(2 d): the noise matrix with diagonal scale s1 has operator norm about e."""
    without_nan(hessian_noise=hessian_noise, d=d)
    return np.asarray(hessian_noise) * math.sqrt(2 * d)


@formula
def preconditioner(
    eigenvalues: np.ndarray, hessian_noise: np.ndarray | float, largest: np.ndarray | float = math.inf
) -> Preconditioner:
    """From the eigenvalues (..., d) of the noisy Hessian with noise s1 = `hessian_noise` (...,).

    `largest` is n h², which no eigenvalue without noise exceeds; e' = min(e, n h²). P = 1 / (w + e'/2), w the
    eigenvalues between 0 and n h²: where the noise is within the edge, U P U' A_h has no eigenvalue above 2, so that
    steps are stable without a test.
    """
    without_nan(eigenvalues=eigenvalues, largest=largest)
    e = edge(hessian_noise, eigenvalues.shape[-1])[..., None]
    cap = np.asarray(largest)[..., None]
    capped, w = np.minimum(e, cap), np.clip(eigenvalues, 0.0, cap)
    unknown = np.broadcast_to(UNKNOWN * capped, w.shape)
    return Preconditioner(
        inverse=1 / (w + capped / 2),
        curvature=np.maximum(w, unknown),
        unknown=unknown,
        weights=w**3 / (w**2 + e**2 / 4),
    )


@typed
class Gains:
    """Scalar Kalman gains in each eigendirection.

    `error`: V, the variance that the iterate's error is taken to have, from 10⁶ times the first round's noise on;
    `known`: N, the variance of an iterate that is noise alone.
    """

    def __init__(self, scaled: Preconditioner) -> None:
        self._of = scaled
        self._slope = scaled.inverse * scaled.curvature
        self._spread = (scaled.inverse * scaled.unknown) ** 2
        self.error: np.ndarray | None = None
        self.known = np.zeros_like(scaled.inverse)

    def step(self, noise: np.ndarray | float) -> np.ndarray:
        """The gains (..., d) of a round whose gradient has noise of standard deviation `noise` (...,)."""
        v = (np.asarray(noise)[..., None] * self._of.inverse) ** 2
        V = DIFFUSE * v if self.error is None else self.error
        gains = np.minimum(1.0, self._slope * V / (V * (self._slope**2 + self._spread) + v))
        self.error = (1 - gains * self._slope) ** 2 * V + gains**2 * (v + self._spread * V)
        self.known = (1 - gains * self._of.inverse * self._of.weights) ** 2 * self.known + gains**2 * v
        return gains


@formula
def shrinkage(coordinates: np.ndarray, scaled: Preconditioner, known: np.ndarray) -> np.ndarray:
    """The factor (...,) on the last iterate, `coordinates` (..., d) in the eigenbasis: 0 where it is noise alone.

    clip((F - 0.7) / 0.6, 0, 1), F the weighted square of the iterate over what noise alone would give it.
    """
    found = np.sum(scaled.curvature * coordinates**2, axis=-1)
    noise = np.sum(scaled.curvature * known, axis=-1)
    return np.clip((found / noise - SHRINKS_BELOW) / SHRINKS_OVER, 0.0, 1.0)


class Moments(NamedTuple):
    """Of theta_T - theta* given the noisy Hessian: `bias` (d,) and `covariance` (d, d)."""

    bias: np.ndarray
    covariance: np.ndarray


@formula
def moments(
    A: np.ndarray,
    theta_star: np.ndarray,
    noisy_hessian: np.ndarray,
    settings: Newton,
    *,
    hessian_clip: float = 1.0,
    gradient_clip: float | np.ndarray = 1.0,
    n: float = math.inf,
    unclipped: float = 1.0,
) -> Moments:
    """The law of the rounds given the noisy Hessian, a Gaussian, before the last factor; shapes (d, d), (d,), (d, d).

    K_t = U s_t P U'; m <- m + K_t (b - A m), C <- (I - K_t A) C (I - K_t A)' + sigma_t² K_t K_t'. Exact where no
    gradient is clipped. `gradient_clip`: c_u, one for all rounds or one for each. `unclipped` p, the share of rows that
    are not clipped, puts p A for A: an estimate.
    """
    scales = noise_scales(settings)
    values, vectors = np.linalg.eigh(noisy_hessian)
    scaled = preconditioner(values, scales.hessian * hessian_clip**2, n * hessian_clip**2)
    gains = Gains(scaled)
    bias, covariance = -np.asarray(theta_star, dtype=float), np.zeros_like(A, dtype=float)
    seen = within("unclipped", unclipped, "(0, 1]") * A
    for sigma in scales.gradients * gradient_clip:
        K = (vectors * (gains.step(sigma) * scaled.inverse)) @ vectors.T
        left = np.eye(len(values)) - K @ seen
        bias, covariance = left @ bias, left @ covariance @ left.T + sigma**2 * K @ K.T
    return Moments(bias, covariance)


@formula
def risk(A: np.ndarray, theta_star: np.ndarray, noisy_hessian: np.ndarray, settings: Newton, **options) -> Value:
    """E ||X (theta_T - theta*)||² given the noisy Hessian, a sum over rows; arguments as `moments`."""
    found = moments(A, theta_star, noisy_hessian, settings, **options)
    kind = "exact" if options.get("unclipped", 1.0) == 1.0 else "estimate"
    total = float(found.bias @ A @ found.bias + np.sum(A * found.covariance))
    return Value(total, kind=kind, source="dpbounds", convention="sum over rows, given the noisy Hessian")


@formula
def leading_risk(A: np.ndarray, settings: Newton, *, gradient_clip: float = 1.0) -> Value:
    """c_u² tr(A^-1) / (rho mu²): what averaging all rounds at the fixed point leaves, a lower end of the risk where
    every eigenvalue is far above the edge; the rounds' gains reach it to a factor of 1.03 to 1.8.
    """
    spent = float(np.sum(1 / noise_scales(settings).gradients ** 2))
    total = gradient_clip**2 * float(np.trace(np.linalg.inv(A))) / spent
    return Value(total, kind="estimate", source="dpbounds", convention="sum over rows, leading order")
