"""Exact stationary and finite-time error of Noisy-FTRL, for inputs x = U Lambda^{1/2} z, the entries of z independent
with E z = 0, E z^2 = 1 and one fourth moment.

The second moments S_t = E theta'_t theta'_t^T (theta' = theta - theta*) obey ftrl eq. (83), S_{t+1} = E[(I - eta x x^T)
S_t (I - eta x x^T)] + eta^2 sigma_sgd^2 H + eta^2 N sum_{tau,k<=t} beta_tau beta_k (I - eta H)^|tau-k|. In the
eigenbasis of H the forcing is diagonal and off-diagonal entries never feed the diagonal, so d numbers s_j = E <u_j,
theta'>^2 carry everything; they are coupled through the single number sum_k lambda_k s_k = 2 (F - F*).

>>> from dpbounds.ftrl.correlations import independent
>>> problem = Regression(eigenvalues=np.array([1.0]), eta=0.5, rho=0.5)
>>> round(float(suboptimality(independent(), problem)), 6)
0.5
>>> trajectory(independent(), problem, steps=2).tolist()
[0.0, 0.125, 0.21875]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, count, moderate, moderate_or_zero, real, vector
from dpbounds.ftrl.correlations import Correlation, ToeplitzCorrelation
from dpbounds.ftrl.linear_regression.settings import GAUSSIAN_KURTOSIS, Regression
from dpbounds.values import Value, weakest

CONVENTION = "F - F* = 1/2 ||theta - theta*||_H^2"
# Steps of a trajectory, and steps times eigenvalues: half a minute at most.
LONGEST, MOST_UPDATES = 1_000_000, 1_000_000_000
# Steps for each direction above which a run goes direction by direction, and steps of a block of it.
LONG, BLOCK = 4, 256


@typed
def suboptimality(correlation: ToeplitzCorrelation, problem: Regression) -> Value:
    """Exact F_inf = lim E F(theta_t) - F*, with the limiting sensitivity; inf if that is. An estimate if that is one.

    With x_j = eta lambda_j, D_j = 2 x_j - (kurtosis - 1) x_j^2 and q_j = eta^2 (sigma_sgd^2 lambda_j + N c(x_j)), the
    stationary recursion reads D_j s_j = eta^2 lambda_j sum_k lambda_k s_k + q_j, a rank-one system with the solution
    F_inf = 1/2 sum_j lambda_j q_j / D_j / (1 - sum_j x_j^2 / D_j). `kurtosis` is E z^4 (3 for Gaussian inputs).

    Raises `DomainError` outside stability (`stability_limit`), for eta lambda_1 > 1, which below that limit needs a
    kurtosis below 2, and for bad arguments.
    """
    spectrum, x = problem.eigenvalues, problem.decay
    contraction, feedback = contraction_and_feedback(spectrum, problem.eta, problem.kurtosis)
    limit = correlation.limiting_sensitivity()
    kind, gamma_squared = weakest("exact", limit), limit**2
    if np.isinf(gamma_squared):
        return Value(np.inf, kind=kind, source="ftrl eq. (83)", convention=CONVENTION)
    privacy = problem.noise_variance * gamma_squared * correlation.filtered_power(x)
    forcing = problem.eta**2 * (problem.residual_variance * spectrum + privacy)
    value = 0.5 * np.sum(spectrum * forcing / contraction) / (1.0 - feedback)
    return Value(value, kind=kind, source="ftrl eq. (83)", convention=CONVENTION)


@typed
def trajectory(
    correlation: Correlation,
    problem: Regression,
    *,
    steps: int,
    initial: Float[np.ndarray, " d"] | None = None,
    sensitivity: float | Literal["horizon", "limiting"] = "horizon",
) -> Float[np.ndarray, " steps_plus_1"]:
    """Exact E F(theta_t) - F* at t = 0, ..., steps: O(d) per step for a Toeplitz correlation, O(d steps^2) for a
    matrix.

    `initial` holds the coordinates of theta_0 - theta* in the eigenbasis (default 0). The noise is scaled by gamma_T at
    T = steps (`horizon`), by gamma_inf (`limiting`) or by a given number. Needs no stability: a diverging run diverges.
    """
    spectrum, x, steps = problem.eigenvalues, problem.decay, count("steps", steps, most=LONGEST)
    if steps * len(spectrum) > MOST_UPDATES:
        raise DomainError("steps", steps, f"at most {MOST_UPDATES // len(spectrum)} for {len(spectrum)} eigenvalues")
    noise = problem.noise_variance * _sensitivity(correlation, steps, sensitivity) ** 2
    retained = 1.0 - 2.0 * x + (problem.kurtosis - 1.0) * x**2
    s = np.zeros(len(x)) if initial is None else _initial(initial, len(x)) ** 2
    run = _Run(spectrum, problem.eta, retained, noise, problem.residual_variance, s)
    if isinstance(correlation, ToeplitzCorrelation) and steps > LONG * len(x):
        with np.errstate(over="ignore", invalid="ignore"):
            values = run.by_directions(correlation.coefficients(steps))
        if np.isfinite(values).all():
            return values
    return run.by_steps(_noise_powers(correlation, x, steps), steps)


@dataclass(frozen=True)
class _Run:
    """s_{t+1} = `retained` s_t + eta^2 (lambda (lambda . s_t) + residual lambda + noise c_t), s_0 = `start`."""

    spectrum: np.ndarray
    eta: float
    retained: np.ndarray
    noise: float
    residual: float
    start: np.ndarray

    def by_steps(self, powers: Iterator[np.ndarray], steps: int) -> np.ndarray:
        """lambda . s_t / 2 as the recursion reads, from the noise powers c_t of each step."""
        s, values = self.start, np.empty(steps + 1)
        for t in range(steps + 1):
            total = self.spectrum @ s
            values[t] = 0.5 * total
            if t < steps:
                forcing = self.residual * self.spectrum + self.noise * next(powers)
                s = self.retained * s + self.eta**2 * (self.spectrum * total + forcing)
        return values

    def by_directions(self, beta: Float[np.ndarray, " steps"]) -> np.ndarray:
        """The same for weights beta: every direction by linear filters over all steps, as if it were alone, then what
        the directions give each other. Sums of positive terms, where the recursion's are.
        """
        from scipy.signal import lfilter

        alone = np.empty(len(beta) + 1)
        alone[0], alone[1:] = self.spectrum @ self.start, 0.0
        for lam, kept, s in zip(self.spectrum, self.retained, self.start, strict=True):
            decay = 1.0 - self.eta * lam
            memory = lfilter([0.0, decay], [1.0, -decay], beta)
            memory += memory
            memory += beta
            memory *= beta
            power = np.cumsum(memory, out=memory)
            power *= self.noise
            power += self.residual * lam
            alone[1:] += lfilter([self.eta**2 * lam], [1.0, -kept], power, zi=[kept * s * lam])[0]
        return 0.5 * self._coupled(alone)

    def _coupled(self, alone: np.ndarray) -> np.ndarray:
        """total_t = alone_t + lambda . v_t with v_{t+1} = retained v_t + eta^2 lambda total_t, in blocks of steps."""
        from scipy.linalg import toeplitz

        powers = self.retained ** np.arange(BLOCK + 1)[:, None]
        response = powers[:BLOCK] * self.spectrum
        kernel = np.concatenate([[0.0], self.eta**2 * (response @ self.spectrum)[:-1]])
        inverse = np.zeros(BLOCK)  # of 1 - kernel, as power series
        inverse[0] = 1.0
        for t in range(1, BLOCK):
            inverse[t] = kernel[t:0:-1] @ inverse[:t]
        solve, fed = toeplitz(inverse, np.zeros(BLOCK)), self.eta**2 * response[::-1].T
        v, total = np.zeros(len(self.spectrum)), np.empty(len(alone))
        for start in range(0, len(alone), BLOCK):
            block = alone[start : start + BLOCK]
            size = len(block)
            total[start : start + size] = now = solve[:size, :size] @ (block + response[:size] @ v)
            if size == BLOCK:
                v = powers[BLOCK] * v + fed @ now
        return total


def stability_limit(eigenvalues: Float[np.ndarray, " d"], *, kurtosis: float = GAUSSIAN_KURTOSIS) -> float:
    """Largest learning rate below which second moments stay bounded: sum_j x_j^2 / D_j = 1 with all D_j > 0.

    The recursion's matrix is diag(1 - D_j) + eta^2 lambda lambda^T; its spectral radius is below 1 iff D_j > 0 and the
    sum is below 1 (Gaussian: 1/2 sum_j x_j / (1 - x_j) < 1). Independent of the noise and of its correlation.
    """
    spectrum = vector("eigenvalues", eigenvalues, above=0.0)
    excess = _excess_kurtosis(kurtosis)
    # The sum is at least eta Tr H / 2, and its last term has a pole at D_1 = 0: the root lies below both ends.
    with np.errstate(over="ignore"):  # what is not finite is refused
        ends = [2.0 / spectrum.sum() * (1 + 1e-9)]
        if excess > 0:
            ends.append(2.0 / (excess * spectrum.max()) * (1 - 1e-12))

    if not np.isfinite(min(ends)):
        raise DomainError("eigenvalues", float(spectrum.max()), "at least 1e-300 at the largest", "change the units")

    def margin(eta: float) -> float:
        return float(np.sum(eta * spectrum / (2.0 - excess * eta * spectrum))) - 1.0

    from scipy.optimize import brentq

    top = min(ends)
    # A large kurtosis brings the root closer to the pole than floats can tell.
    return cast(float, brentq(margin, 0.0, top, xtol=1e-300)) if margin(top) > 0 else top


def contraction_and_feedback(spectrum: np.ndarray, eta: float, kurtosis: float) -> tuple[np.ndarray, float]:
    """D_j = 2 x_j - (kurtosis - 1) x_j^2 and sum_j x_j^2 / D_j; `DomainError` with the largest stable learning rate
    where that is not below 1.
    """
    x = eta * spectrum
    contraction = 2.0 * x - _excess_kurtosis(kurtosis) * x**2
    feedback = np.sum(x**2 / contraction) if np.all(contraction > 0) else np.inf
    if feedback >= 1:
        limit = stability_limit(spectrum, kurtosis=kurtosis)
        raise DomainError(
            "eta", eta, f"below the stability limit {limit:.6g} of these eigenvalues", "take a smaller eta"
        )
    return contraction, float(feedback)


def _excess_kurtosis(kurtosis: float) -> float:
    """kurtosis - 1 >= 0: the fourth moment of a unit-variance variable is at least 1."""
    return moderate_or_zero("kurtosis - 1", real("kurtosis", kurtosis) - 1.0, "E z^4 >= (E z^2)^2 = 1")


def _sensitivity(correlation: Correlation, steps: int, choice: float | str) -> float:
    if isinstance(choice, str) and choice == "horizon":
        return correlation.sensitivity(steps)
    if isinstance(choice, str) and choice == "limiting":
        if not isinstance(correlation, ToeplitzCorrelation):
            raise DomainError("sensitivity", choice, '"horizon" or a number for a matrix with a fixed horizon')
        limit = float(correlation.limiting_sensitivity())
        if np.isinf(limit):
            raise DomainError(
                "sensitivity", choice, '"horizon" or a number', f"its limit is infinite for {correlation.name}"
            )
        return limit
    return moderate("sensitivity", choice)


def _initial(initial: np.ndarray, dimension: int) -> np.ndarray:
    coordinates = vector("initial", initial, length=dimension, per="eigenvalue")
    moderate_or_zero("largest entry of initial", np.abs(coordinates).max())
    return coordinates


def _noise_powers(correlation: Correlation, x: np.ndarray, steps: int) -> Iterator[np.ndarray]:
    """At step t the array over j of sum_{tau,k<=t} E[w~ terms] (1 - x_j)^|tau-k|, per unit variance of the draws."""
    if isinstance(correlation, ToeplitzCorrelation):
        return _toeplitz_powers(correlation.coefficients(steps), x)
    decoder = correlation.matrix(steps)
    return _matrix_powers(decoder @ decoder.T, x)


def _toeplitz_powers(beta: np.ndarray, x: np.ndarray) -> Iterator[np.ndarray]:
    """c_t = sum_{tau,k<=t} beta_tau beta_k (1 - x)^|tau-k| through m_t = sum_{k<t} beta_k (1 - x)^{t-k}."""
    power, memory = np.zeros_like(x), np.zeros_like(x)
    for weight in beta:
        power = power + weight * (weight + 2.0 * memory)
        memory = (1.0 - x) * (memory + weight)
        yield power


def _matrix_powers(covariance: np.ndarray, x: np.ndarray) -> Iterator[np.ndarray]:
    """(B B^T)_{tt} + 2 sum_{s<t} (B B^T)_{ts} (1 - x)^{t-s}: the noise of step t against what earlier noise left in
    theta.
    """
    for t in range(len(covariance)):
        lags = t - np.arange(t)
        yield covariance[t, t] + 2.0 * (1.0 - x)[:, None] ** lags @ covariance[t, :t]
