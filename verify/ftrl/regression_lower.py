"""Appendix C.3: lower bounds on the stationary error of linear regression, Theorem C.18 and what it rests on."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import sympy

from dpbounds.ftrl import correlations, linear_regression
from dpbounds.quadrature import circle_nodes
from verify.checks import Agreement, Fact, Inequality, Search, Symbolic
from verify.claims import Claim, Correction
from verify.domains import Real
from verify.ftrl import moments

WITHOUT_HALF = "F of (22), without the factor 1/2: the proof bounds $op(\"Tr\")[H S]$"
SETTING = {
    "points": (Real(-1.0, 1.0), 6),
    "ratio": Real(1e-3, 1.0, "log"),
    "share": Real(1e-3, 0.999),
    "beta": (Real(-1.0, 1.0), 2),
    "residual": Real(0.0, 1.0),
}
OMEGA, WEIGHTS = circle_nodes()
SINE_SQUARED = np.sin(OMEGA / 2) ** 2


# --- Theorem C.18 for any law of the inputs, by brute force ---


def symmetric_law(points: np.ndarray, eigenvalues: np.ndarray) -> moments.InputLaw:
    """A random law with a given diagonal covariance: three given pairs +-p and two fixed ones, linearly transformed."""
    pairs = np.concatenate([points.reshape(3, 2), 0.3 * np.eye(2)])
    root = np.linalg.cholesky(pairs.T @ pairs / len(pairs))
    standard = np.linalg.solve(root, pairs.T).T * np.sqrt(eigenvalues)
    return moments.discrete("pairs", np.concatenate([standard, -standard]), np.full(2 * len(pairs), 0.5 / len(pairs)))


def _instance(points: np.ndarray, ratio: float, share: float) -> tuple[moments.InputLaw, np.ndarray, float]:
    """A law with eigenvalues (1, ratio), those eigenvalues, and eta = share / R^2."""
    eigenvalues = np.array([1.0, ratio])
    law = symmetric_law(points, eigenvalues)
    return law, eigenvalues, share / law.r_squared()


def _first_bound(points, ratio, share, beta, residual, half: float = 1.0) -> tuple[float, float]:
    """The middle of Theorem C.18 by quadrature against Tr[H S] by brute force; noise and residual variance sum to 1."""
    law, eigenvalues, eta = _instance(points, ratio, share)
    weights = (1.0, *beta)
    S = moments.stationary(law, eta, weights, 1.0 - residual, residual)
    spectrum = np.abs(np.polynomial.polynomial.polyval(np.exp(1j * OMEGA), weights)) ** 2
    h = sum(value / _distance_squared(eta * value) for value in eigenvalues)
    noise = eta**2 * (1.0 - residual) * (WEIGHTS @ (spectrum * h)) / (2 * np.pi)
    return 0.5 * eta * residual * eigenvalues.sum() + noise, half * float(np.trace(law.covariance @ S))


def _distance_squared(x: Any) -> Any:
    """|1 - x - e^{i omega}|^2 at the quadrature's nodes."""
    return x**2 + 4 * (1 - x) * SINE_SQUARED


def _second_bound(beta: np.ndarray, x: np.ndarray, factor: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """x/2 <beta, T_j beta> by the double sum, against x^2/(2 pi) int |B|^2 / E_x^2 by quadrature."""
    lags = np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
    time = np.einsum("nt,ns,nts->n", beta, beta, (1 - x)[:, None, None] ** lags)
    spectrum = np.abs(beta @ np.exp(1j * np.outer(np.arange(4), OMEGA))) ** 2
    frequency = spectrum / _distance_squared(x[:, None]) @ WEIGHTS / (2 * np.pi)
    return factor * x * time / 2, x**2 * frequency


def _every_correlation(kurtosis, spectrum, share, residual, factor: float = 1.0) -> tuple[float, float]:
    """The universal bound against the exact infimum over |B|^2, inputs with independent entries; N = gamma^2."""
    eigenvalues = np.concatenate([[1.0], spectrum])
    eta = share / (eigenvalues.sum() + (kurtosis - 1.0))
    sigma, clip_norm = np.sqrt(residual), np.sqrt(1.0 - residual)
    value = linear_regression.optimal_suboptimality(
        eigenvalues, eta, 0.5, clip_norm=max(clip_norm, 1e-12), sigma_sgd=sigma, kurtosis=kurtosis
    )
    bound = (2 * eta * residual + eta**2 * (1.0 - residual)) * eigenvalues.sum() / 4
    return bound, factor * 2.0 * float(value)


def _mean_inverse(m, x):
    return m.integral_inverse(x) / (2 * m.pi)


# --- where the infimum is attained ---


def _error_at(weights: np.ndarray, eigenvalues: np.ndarray, eta: float) -> float:
    """Tr[H S] for Gaussian inputs, G^2 = 2 rho, by brute force at the causal factor of |B|^2 = (sum_j weights_j
    lambda_j / E_j^2)^{-1/2}, cut after 1500 terms.
    """

    def spectrum(omega: np.ndarray) -> np.ndarray:
        sine_squared, x = np.sin(omega / 2)[:, None] ** 2, eta * eigenvalues
        return (weights * eigenvalues / (x**2 + 4 * (1 - x) * sine_squared)).sum(axis=1) ** -0.5

    factor = correlations.from_power_spectrum(spectrum, name="test", tolerance=1e-10)
    gamma_squared = float(np.sum(factor.inverse_coefficients(20_000) ** 2))
    S = moments.stationary(moments.gaussian(eigenvalues), eta, factor.coefficients(1_500), gamma_squared, 0.0)
    return float(eigenvalues @ np.diag(S))


def _attained(rng: np.random.Generator, eigenvalues: tuple[float, float] = (1.0, 0.05)) -> Iterator[Fact]:
    """Is F at 1/sqrt(h) no larger than where lambda_j weighs (2 - x_j) / (1 - x_j) in h?"""
    spectrum, eta = np.array(eigenvalues), 0.32
    x = eta * spectrum
    at_h, elsewhere = (_error_at(w, spectrum, eta) for w in (np.ones(2), (2 - x) / (1 - x)))
    label = (
        f"Gaussian inputs, lambda = (1, {eigenvalues[1]:g}), eta = 0.32: F = {at_h:.7f} at 1/sqrt(h), {elsewhere:.7f} "
        "where lambda_j weighs (2 - x_j)/(1 - x_j); the first is the smaller"
    )
    yield Fact(label, bool(at_h <= elsewhere * (1 + 1e-9)), True, 0)


def _bound_at_optimum(ratio: np.ndarray, eta: np.ndarray, logs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(int sqrt h)^2 against (int |B|^{-2})(int |B|^2 h), |B|^2 = h^{-1/2} times the exponential of a cosine series."""
    h = sum(value[:, None] / _distance_squared((eta * value)[:, None]) for value in (np.ones_like(ratio), ratio))
    series = np.exp(logs @ np.cos(np.outer(1 + np.arange(logs.shape[1]), OMEGA)))
    spectrum = h**-0.5 * series
    return (np.sqrt(h) @ WEIGHTS) ** 2, (1 / spectrum @ WEIGHTS) * ((spectrum * h) @ WEIGHTS)


def _equality(rng: np.random.Generator, power: float = -0.5) -> Iterator[Fact]:
    for eta in (0.01, 0.3):
        h = sum(value / _distance_squared(eta * value) for value in (1.0, 0.3, 0.01))
        product = (WEIGHTS @ h**-power) * (WEIGHTS @ h ** (1 + power))
        yield Fact(f"(int |B|^-2)(int |B|^2 h) at |B|^2 = h^(-1/2), eta = {eta}", product, (WEIGHTS @ h**0.5) ** 2)


def _termwise(excess: sympy.Expr = sympy.Integer(0)) -> Iterator[tuple[str, sympy.Expr]]:
    """Every term of h: 1/E_x^2 >= 1/(2 - x)^2 >= 1/4; x = 1/(1 + t), sin^2(omega/2) = p/(p + q)."""
    t, p, q = sympy.symbols("t p q", positive=True)
    x, sine_squared = 1 / (1 + t), p / (p + q)
    distance_squared = x**2 + 4 * (1 - x) * sine_squared
    yield "1/E_x^2 >= 1/(2 - x)^2", 1 / distance_squared - 1 / (2 - x) ** 2
    yield "1/(2 - x)^2 >= 1/4", 1 / (2 - x) ** 2 - sympy.Rational(1, 4) - excess


# --- Propositions C.19 and C.20 ---


def _uncorrelated(*, with_noise: bool, independent: bool = True) -> Iterator[tuple[str, sympy.Expr]]:
    """One step in d = 2: the past enters through its second moments, x_t and xi_t are fresh, any law.

    If E[theta delta^T] = 0 and E[w delta^T] = 0 at time t, then again at t + 1. Without independence of xi and x the
    moments E[xi x_i x_j x_k] remain.
    """
    x, xi = sympy.Matrix(sympy.symbols("x1 x2")), sympy.Symbol("xi")
    theta, delta, noise = (sympy.Matrix(sympy.symbols(f"{name}1 {name}2")) for name in ("theta", "delta", "noise"))
    H, eta = sympy.Matrix(2, 2, lambda i, j: sympy.Symbol(f"H{min(i, j)}{max(i, j)}")), sympy.Symbol("eta")
    identity, outer = sympy.eye(2), x * x.T
    following = noise if with_noise else (identity - eta * H) * theta + eta * xi * x - eta * noise
    product = following * ((identity - eta * outer) * delta + eta * (H - outer) * theta).T
    for i, j in itertools.product(range(2), repeat=2):
        yield f"entry ({i}, {j})", _expectation(product[i, j], x, xi, theta, delta, noise, H, independent)


def _expectation(expression, x, xi, theta, delta, noise, H, independent: bool) -> sympy.Expr:
    """Past pairs (theta or noise, delta) have expectation 0, all other moments stay as symbols."""
    variables = (*x, xi, *theta, *delta, *noise)
    total = sympy.Integer(0)
    for powers, coefficient in sympy.Poly(sympy.expand(expression), *variables).terms():
        of_x, of_xi, past = powers[:2], powers[2], powers[3:]
        crossed = sum(past[2:4]) == 1 and sum(past) == 2
        if crossed or (of_xi == 1 and independent) or (sum(of_x) == 1 and of_xi == 0):
            continue
        if of_xi == 1 and sum(of_x) == 1:  # E[xi x] = 0 at the minimiser
            continue
        total += coefficient * _fresh_moment(of_x, of_xi, H) * sympy.Symbol(f"past{past}")
    return total


def _fresh_moment(of_x: tuple[int, ...], of_xi: int, H: sympy.Matrix) -> sympy.Expr:
    """1, an entry of H, or a symbol for a higher moment."""
    if of_xi == 0 and sum(of_x) == 2:
        return {(2, 0): H[0, 0], (1, 1): H[0, 1], (0, 2): H[1, 1]}[of_x]
    return sympy.Integer(1) if sum(of_x) == of_xi == 0 else sympy.Symbol(f"moment{of_x}{of_xi}")


def _path_moments(d: int, steps: int, drive: Fraction) -> tuple[np.ndarray, np.ndarray]:
    """E[theta^(0) delta^T] and E[w_s delta^T] after `steps` steps, all paths of skewed inputs in exact rationals.

    Columns of `theta`, `delta`: coefficients of theta'_0, of xi_0, xi_1, ... and of w_0, w_1, ... (unit variances).
    `drive` multiplies H in the forcing of delta.
    """
    eta, beta = Fraction(1, 5), [Fraction(1), Fraction(-1, 2), Fraction(1, 3)]
    H = np.array([[Fraction(int(i == j), 1 + i) for j in range(d)] for i in range(d)])
    first, second = 1 + steps, 1 + steps + d * steps
    crossed, with_draws = np.zeros((d, d), dtype=object), np.zeros((second - first, d), dtype=object)
    for path in itertools.product(_skewed_points(d), repeat=steps):
        theta, delta = np.zeros((d, second), dtype=object), np.zeros((d, second), dtype=object)
        theta[:, 0], probability = Fraction(1), Fraction(1)
        for t, (x, weight) in enumerate(path):
            outer, previous = np.outer(x, x), theta
            theta = theta - eta * H @ theta
            theta[:, 1 + t] += eta * x
            for k, b in enumerate(beta[: t + 1]):
                column = first + d * (t - k)
                theta[:, column : column + d] -= eta * b * np.eye(d, dtype=int)
            delta = delta - eta * outer @ delta + eta * (drive * H - outer) @ previous
            probability *= weight
        crossed = crossed + probability * theta @ delta.T
        with_draws = with_draws + probability * delta[:, first:].T
    return crossed, with_draws


def _skewed_points(d: int) -> list[tuple[np.ndarray, Fraction]]:
    """Points and probabilities of x with independent entries, 2 (1/5) and -1/2 (4/5), the second scaled to variance
    near 1/2: +-1 signs times 1/sqrt 2 are not rational, so its square takes the values 1/4 and 3/4.
    """
    first = [(Fraction(2), Fraction(1, 5)), (Fraction(-1, 2), Fraction(4, 5))]
    second = [(Fraction(1), Fraction(1, 3)), (Fraction(-1, 2), Fraction(2, 3))]
    return [
        (np.array([value for value, _ in entries]), np.prod([probability for _, probability in entries]))
        for entries in itertools.product(*(first, second)[:d])
    ]


def _paths(rng: np.random.Generator, which: int, drive: Fraction = Fraction(1)) -> Iterator[Fact]:
    names = ("E[theta^(0) delta^T]", "E[w_s delta^T] over all s")
    for d, steps in ((1, 4), (2, 3)):
        observed = _path_moments(d, steps, drive)[which]
        yield Fact(f"{names[which]}, d = {d}, t = {steps}", observed, np.zeros(observed.shape, dtype=object), 0)
