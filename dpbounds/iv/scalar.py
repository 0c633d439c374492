"""One regressor, one instrument: the law of beta_t in unclipped DP two-stage gradient descent, at any noise.

With A, G, b numbers, M = 1 - eta A:  Theta' = M Theta + eta G + eta Xi,  beta' = (1 - alpha A Theta²) beta + alpha b
Theta + alpha nu. Moments close, in exact rationals; the distribution of |beta_T - beta_hat| comes from the
characteristic function, in Fourier space for beta and in Hermite polynomials for Theta.

>>> moments = Moments(A=np.eye(1), G=np.eye(1), b=np.ones(1), n=100)
>>> round(float(lyapunov_exponent(moments, 0.5, 0.5, 0.0)), 4)
-0.6931
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, cast

import numpy as np
from jaxtyping import Complex, Float
from scipy.optimize import brentq
from scipy.special import digamma, gammaln, xlogy

from dpbounds.arguments import formula, typed
from dpbounds.errors import AccuracyError, DomainError, count, moderate, moderate_or_zero, real, real_array, within
from dpbounds.iv.laws import noise_variances, theta_mean
from dpbounds.iv.leading_order import noise_expansion
from dpbounds.iv.moments import Moments
from dpbounds.values import Value

# Where two laws are compared, as shares of the narrower window.
_RADII = np.geomspace(1e-3, 0.9, 40)
# Standard deviations of Theta that the nodes span: 1e-13 is beyond.
_REACH = 7.5
# Nodes times modes up to which a finer grid is tried: seconds.
_WORK = 1 << 19


class ScalarMoments(NamedTuple):
    """E beta_t and E beta_t² at t = 0 ... T, in the arithmetic of the arguments."""

    mean: list
    second: list


@formula
def scalar_moments(
    A: Any, G: Any, b: Any, *, eta: Any, alpha: Any, lambda1_squared: Any, lambda2_squared: Any, steps: int
) -> ScalarMoments:
    """Exact first two moments of beta_t for p = q = 1; give `fractions.Fraction` or int for rationals.

    m_{j,k}(t) = E beta_t^j Theta_t^k, j <= 2, closes: m_{j,k}(t+1) is linear in m_{i,l}(t), i <= j, l <= k + 2j. It
    starts with k <= 4T. Floats lose digits to cancellation; the moments themselves grow without bound once lambda_1
    is large, where medians tell more (`scalar_law`).
    """
    steps = count("steps", steps, least=0)
    numbers = {"A": A, "G": G, "b": b, "eta": eta, "alpha": alpha}
    for name, number in (numbers | {"lambda1_squared": lambda1_squared, "lambda2_squared": lambda2_squared}).items():
        moderate_or_zero(f"|{name}|", abs(real(name, number)))
    A, G, b, eta, alpha, lambda1_squared, lambda2_squared = (
        Fraction(value) if isinstance(value, int) else value
        for value in (A, G, b, eta, alpha, lambda1_squared, lambda2_squared)
    )
    table = [[1 - 0 * A] + [0 * A] * (4 * steps), [0 * A] * (4 * steps + 1), [0 * A] * (4 * steps + 1)]
    means, seconds = [table[1][0]], [table[2][0]]
    for t in range(steps):
        powers = _next_powers(1 - eta * A, eta * G, eta**2 * lambda1_squared, 4 * (steps - t - 1))
        table = _next_moments(table, powers, alpha * A, alpha * b, alpha**2 * lambda2_squared)
        means.append(table[1][0])
        seconds.append(table[2][0])
    return ScalarMoments(means, seconds)


@dataclass(frozen=True, kw_only=True, eq=False)
class ScalarLaw:
    """The law of beta_T - beta_hat, through its characteristic function at multiples of pi / `half_width`.

    Periodic continuation with period 2 `half_width`; the mass outside is below `error`, which bounds the error of
    probabilities together with that of the recursion (found by halving the resolution).
    """

    characteristic: Complex[np.ndarray, " modes"]
    half_width: float
    error: float

    def density(self, deviation: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
        """Density of beta_T - beta_hat."""
        deviation = real_array("deviation", deviation)
        if not (np.abs(deviation) <= self.half_width).all():
            raise DomainError("deviation", deviation, f"within [-{self.half_width}, {self.half_width}]")
        waves = np.exp(-1j * np.multiply.outer(deviation, self._wave_numbers))
        return (0.5 + np.real(waves @ self.characteristic[1:])) / self.half_width

    def cdf(self, radius: float) -> Value:
        """P(|beta_T - beta_hat| <= radius)."""
        radius = within("radius", radius, f"[0, {self.half_width}]", "the law is known up to there")
        waves = np.sin(self._wave_numbers * radius) / self._wave_numbers
        total = (radius + 2 * float(waves @ np.real(self.characteristic[1:]))) / self.half_width
        return Value(min(max(total, 0.0), 1.0), kind="estimate", source="dpbounds, iv Algorithm 1 unclipped, p = q = 1")

    def quantile(self, probability: float = 0.5) -> Value:
        """Quantile of |beta_T - beta_hat|; 0.5 for the median."""
        probability = within("probability", probability, f"({self.error}, {1 - self.error})", "beyond is not resolved")
        root = cast(float, brentq(lambda radius: self.cdf(radius) - probability, 0.0, self.half_width, xtol=1e-14))
        return Value(root, kind="estimate", source="dpbounds, iv Algorithm 1 unclipped, p = q = 1")

    @property
    def _wave_numbers(self) -> np.ndarray:
        return math.pi / self.half_width * np.arange(1, len(self.characteristic))


@typed
def scalar_law(
    moments: Moments,
    eta: float,
    alpha: float,
    *,
    lambda1: float,
    lambda2: float,
    steps: int,
    tolerance: float = 1e-5,
) -> ScalarLaw:
    """The law of beta_T for p = q = 1, T >= 1, at any lambda_1 >= 0 and lambda_2 > 0; no expansion in the noise.

    With e_t = beta_t - beta_hat and psi(k | Theta) its characteristic function given Theta_t, one step is psi(k) ->
    exp(i k alpha Theta (b - A Theta beta_hat) - (alpha lambda_2 k)² / 2) psi(k (1 - alpha A Theta²)), then the
    conditional expectation given Theta_{t+1}, Gaussian, by the trapezoidal rule. The scaling of k is a chirp transform
    of the density. The window and the number of nodes grow by half until probabilities agree to `tolerance`. Raises
    `DomainError` for q above 1, lambda_2 = 0 and T = 0, `AccuracyError` where the law is too wide (heavy tails) or too
    rough (lambda_1 far above lambda_2) for a million nodes times modes.
    """
    if moments.q > 1:
        raise DomainError("q", moments.q, "1", "use the leading order, or the conditional law given Theta")
    remedy = "the density needs noise in beta"
    chain = _Chain(
        moments=moments,
        eta=moderate("eta", eta),
        alpha=moderate("alpha", alpha),
        lambda1=moderate_or_zero("lambda1", lambda1),
        lambda2=moderate("lambda2", lambda2, remedy),
        steps=count("steps", steps),
    )
    tolerance = within("tolerance", tolerance, "[1e-10, 1e-2]")
    width, nodes = chain.first_width(), 40
    if not nodes * chain.modes(width) <= _WORK:
        raise AccuracyError(f"law of beta_T: half width {width:.3g} needs {chain.modes(width)} modes, too many")
    coarse = chain.law(width, nodes)
    while nodes * chain.modes(width) <= _WORK:
        width, nodes = 1.5 * width, math.ceil(1.5 * nodes)
        fine = chain.law(width, nodes)
        error = max(abs(fine.cdf(radius) - coarse.cdf(radius)) for radius in coarse.half_width * _RADII)
        if error <= tolerance:
            return ScalarLaw(characteristic=fine.characteristic, half_width=width, error=max(error, 1e-12))
        coarse = fine
    raise AccuracyError(f"law of beta_T: no agreement to {tolerance:g} at half width {width:.3g} and {nodes} nodes")


@typed
def lyapunov_exponent(moments: Moments, eta: float, alpha: float, lambda1: float) -> Value:
    """E log |1 - alpha A Theta²| in the stationary law of Theta, p = q = 1: beta_t diverges where it is above 0.

    The ergodic theorem makes it the exponential rate of prod (1 - alpha A Theta_t²). Each factor 1 ± sqrt(alpha A)
    Theta is Gaussian, and the logarithm of a noncentral chi-square is a Poisson mixture of digammas. For lambda_1 = 0
    log |1 - alpha H|. Raises `DomainError` for q above 1 and a first stage that does not converge.
    """
    if moments.q > 1:
        raise DomainError("q", moments.q, "1", "for more instruments the exponent has no closed form")
    a = float(moments.A[0, 0])
    within("eta * A", moderate("eta", eta) * a, "(0, 2)", "otherwise Theta has no stationary law")
    size = math.sqrt(moderate("alpha", alpha) * a)
    unit = float(noise_variances(np.array([a]), eta, math.inf)[0])
    variance = size**2 * unit * moderate_or_zero("lambda1", lambda1) ** 2
    centres = [1 + sign * size * float(moments.theta_hat[0, 0]) for sign in (1, -1)]
    exponent = sum(_mean_log_modulus(centre, variance) for centre in centres)
    return Value(exponent, kind="exact", source="dpbounds, ergodic theorem", convention="per step, unclipped")


@dataclass(frozen=True, kw_only=True, eq=False)
class _Chain:
    """The Markov chain (Theta_t, e_t)."""

    moments: Moments
    eta: float
    alpha: float
    lambda1: float
    lambda2: float
    steps: int

    def first_width(self) -> float:
        """Ten standard deviations of the leading order beyond its mean, the widest of the path."""
        order = noise_expansion(self.moments, self.eta, self.alpha, self.steps)
        deviations = np.sqrt(self.lambda1**2 * order.first[:, 0, 0] + self.lambda2**2 * order.second[:, 0, 0])
        return float(np.max(np.abs(order.noiseless[:, 0] - self.moments.beta_hat[0]) + 10 * deviations))

    def modes(self, half_width: float) -> int:
        """Up to the wave number where the last step's noise leaves exp(-28)."""
        return math.ceil(7.5 * half_width / (math.pi * self.alpha * self.lambda2)) + 1

    def law(self, half_width: float, nodes: int) -> ScalarLaw:
        """One run of the recursion on `nodes` equidistant values of the standardised Theta."""
        x = np.linspace(-_REACH, _REACH, nodes)
        k = math.pi / half_width * np.arange(self.modes(half_width) + 1)
        start = np.exp(-1j * k * self.moments.beta_hat[0] - (self.alpha * self.lambda2 * k) ** 2 / 2)
        state = np.tile(start, (nodes, 1))
        variances = [self._unit_variance(t) for t in range(self.steps + 1)]
        for t in range(1, self.steps):
            state = self._advance(state, k, self._theta(t, x, variances[t]), half_width)
            r = (1 - self.eta * float(self.moments.A[0, 0])) * math.sqrt(variances[t] / variances[t + 1])
            state = _backward(x, r) @ state
        return ScalarLaw(characteristic=_backward(x, 0.0)[0] @ state, half_width=half_width, error=1e-12)

    def _advance(self, state: np.ndarray, k: np.ndarray, theta: np.ndarray, half_width: float) -> np.ndarray:
        """psi of e' given Theta_t = theta."""
        a, b, beta_hat = (float(x.ravel()[0]) for x in (self.moments.A, self.moments.b, self.moments.beta_hat))
        shifts = self.alpha * theta * (b - a * theta * beta_hat)
        smoothing = (self.alpha * self.lambda2 * k) ** 2 / 2
        scaled = (_scaled(row, 1 - self.alpha * a * node**2) for row, node in zip(state, theta, strict=True))
        return np.stack([row * np.exp(1j * k * c - smoothing) for row, c in zip(scaled, shifts, strict=True)])

    def _theta(self, step: int, x: np.ndarray, variance: float) -> np.ndarray:
        mean = theta_mean(self.moments, self.eta, step)[0, 0]
        return mean + self.lambda1 * math.sqrt(variance) * x

    def _unit_variance(self, step: int) -> float:
        return float(noise_variances(np.array([self.moments.A[0, 0]]), self.eta, step)[0])


def _backward(x: np.ndarray, r: float) -> np.ndarray:
    """Rows: the law of the standardised Theta_t given that Theta_{t+1} = x, correlation r; trapezoidal weights."""
    spread = math.sqrt(1 - r**2)
    weights = np.exp(-0.5 * ((x - r * x[:, None]) / spread) ** 2)
    return weights * ((x[1] - x[0]) / (spread * math.sqrt(2 * math.pi)))


def _scaled(characteristic: np.ndarray, factor: float) -> np.ndarray:
    """psi(factor k) at the wave numbers of psi(k), by a chirp transform of the periodic density; 0 beyond the last."""
    modes = len(characteristic) - 1
    size = 2 * modes
    alternating = 1.0 - 2.0 * (np.arange(modes + 1) % 2)
    density = np.fft.irfft(np.conj(characteristic) * alternating, size)
    chirp = np.exp(1j * math.pi * factor / size * np.arange(size, dtype=float) ** 2)
    length = 1 << (size + modes).bit_length()
    kernel = np.conj(np.concatenate([chirp[: modes + 1], np.zeros(length - size - modes), chirp[:0:-1]]))
    transformed = np.fft.ifft(np.fft.fft(density * chirp, length) * np.fft.fft(kernel))
    products = transformed[: modes + 1] * chirp[: modes + 1]
    inside = np.arange(modes + 1) * abs(factor) <= modes
    return np.where(inside, products * np.exp(-1j * math.pi * factor * np.arange(modes + 1)), 0.0)


def _mean_log_modulus(centre: float, variance: float) -> float:
    """E log |x|, x ~ N(centre, variance)."""
    if variance == 0:
        return math.log(abs(centre)) if centre else -math.inf
    half = centre**2 / (2 * variance)
    if half > 1e4:  # Two terms of the expansion in variance / centre²: the third is below 1e-12.
        ratio = variance / centre**2
        return math.log(abs(centre)) - ratio / 2 - 3 * ratio**2 / 4
    spread = 12 * math.sqrt(half) + 40
    terms = np.arange(max(0, math.floor(half - spread)), math.ceil(half + spread))
    weights = np.exp(xlogy(terms, half) - half - gammaln(terms + 1))
    return 0.5 * (math.log(2 * variance) + float(weights @ digamma(0.5 + terms)))


def _next_powers(m: Any, drift: Any, variance: Any, degree: int) -> list[list]:
    """Row k: coefficients in Theta of E (m Theta + drift + N(0, variance))^k, by w^{k+1} = (m Theta + drift) w^k + k
    variance w^{k-1}."""
    rows = [[1 - 0 * m]]
    for k in range(degree):
        row = [drift * c for c in rows[k]] + [0 * m]
        for l, c in enumerate(rows[k]):
            row[l + 1] += m * c
        if k:
            for l, c in enumerate(rows[k - 1]):
                row[l] += k * variance * c
        rows.append(row)
    return rows


def _next_moments(table: Sequence[list], powers: Sequence[list], a: Any, b: Any, variance: Any) -> list[list]:
    """E beta'^j Theta'^k: beta' = (1 - a Theta²) beta + b Theta + noise."""
    plain, once, twice = table

    def total(row: list, moments: list, shift: int) -> Any:
        return sum(c * moments[l + shift] for l, c in enumerate(row))

    new: list[list] = [[], [], []]
    for row in powers:
        new[0].append(total(row, plain, 0))
        new[1].append(total(row, once, 0) - a * total(row, once, 2) + b * total(row, plain, 1))
        squared = total(row, twice, 0) - 2 * a * total(row, twice, 2) + a**2 * total(row, twice, 4)
        crossed = 2 * b * (total(row, once, 1) - a * total(row, once, 3))
        new[2].append(squared + crossed + b**2 * total(row, plain, 2) + variance * total(row, plain, 0))
    return new
