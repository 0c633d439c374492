"""Appendix C.3: lower bounds on the stationary error of linear regression, Theorem C.18 and what it rests on."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import sympy

from dpbounds.ftrl import correlations, linear_regression
from dpbounds.quadrature import circle_nodes
from verify.checks import Agreement, Fact, Inequality, Search, Symbolic
from verify.claims import Claim, Correction
from verify.domains import Real
from verify.ftrl.claims import moments

WITHOUT_HALF = 'F of (22), without the factor 1\\/2: the proof bounds $op("Tr")[H S]$'
# Three pairs of inputs in the plane, the smaller eigenvalue (the larger is 1), and eta R^2.
INPUTS = {"points": (Real(-1.0, 1.0), 6), "ratio": Real(1e-3, 1.0, "log"), "share": Real(1e-3, 0.999)}
# Frequencies below 1e-18 and next to pi add nothing for eta lambda_j > 1e-8.
OMEGA, WEIGHTS = np.stack(circle_nodes())[:, 110:-148]


# --- any law of the inputs, by brute force ---


@dataclass(frozen=True, kw_only=True, eq=False)
class Planar:
    """n laws of inputs in the plane, x uniform on `inputs` (n, 10, 2), H = diag(1, ratio), with step sizes `eta`."""

    inputs: np.ndarray
    eigenvalues: np.ndarray
    eta: np.ndarray

    def covariance(self, forcing: np.ndarray) -> np.ndarray:
        """The stationary S = E[(I - eta x x^T) S (I - eta x x^T)] + diag(forcing), forcing of shape (n, 2)."""
        Q = np.eye(2) - self.eta[:, None, None, None] * np.einsum("nki,nkj->nkij", self.inputs, self.inputs)
        step = np.einsum("nkil,nkjm->nijlm", Q, Q).reshape(-1, 4, 4) / self.inputs.shape[1]
        added = np.einsum("ni,ij->nij", forcing, np.eye(2)).reshape(-1, 4, 1)
        return np.linalg.solve(np.eye(4) - step, added).reshape(-1, 2, 2)

    def error(self, forcing: np.ndarray) -> np.ndarray:
        """Tr[H S]."""
        return np.einsum("nii,ni->n", self.covariance(forcing), self.eigenvalues)

    def forcing(self, beta: np.ndarray, noise: np.ndarray, residual: np.ndarray) -> np.ndarray:
        """Diagonal added per step for weights (n, k): new noise, and its correlation with the old noise in theta."""
        decay, memory, crossed = 1.0 - self.eta[:, None] * self.eigenvalues, 0.0, 0.0
        for k in range(1, beta.shape[1]):  # E[theta_t w_{t-k}] = -eta memory
            memory = decay * memory + beta[:, k - 1 : k]
            crossed = crossed + beta[:, k : k + 1] * memory
        power = np.sum(beta**2, axis=1)[:, None] + 2.0 * decay * crossed
        return self.eta[:, None] ** 2 * (noise[:, None] * power + residual[:, None] * self.eigenvalues)


def planar(points: np.ndarray, ratio: np.ndarray, share: np.ndarray) -> Planar:
    """x = +-p for three given and two fixed p, linearly mapped to the covariance; eta = share / R^2."""
    pairs = np.concatenate([points.reshape(-1, 3, 2), np.tile(0.3 * np.eye(2), (len(ratio), 1, 1))], axis=1)
    root = np.linalg.cholesky(np.einsum("nki,nkj->nij", pairs, pairs) / 5)
    standard = np.linalg.solve(root[:, None], pairs[..., None])[..., 0]
    eigenvalues = np.stack([np.ones_like(ratio), ratio], axis=1)
    x = standard * np.sqrt(eigenvalues)[:, None, :]
    weighted = np.einsum("nk,nki,nkj->nij", np.sum(x**2, axis=2), standard, standard) / 5
    R_squared = np.linalg.eigvalsh(weighted)[:, -1]
    return Planar(inputs=np.concatenate([x, -x], axis=1), eigenvalues=eigenvalues, eta=share / R_squared)


# --- Theorem C.18 ---


def _first_bound(points, ratio, share, beta, residual, half: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """The middle of Theorem C.18 by quadrature against Tr[H S]; noise and residual variance add up to 1."""
    laws = planar(points, ratio, share)
    weights = np.concatenate([np.ones((len(beta), 1)), beta], axis=1)
    error = laws.error(laws.forcing(weights, 1.0 - residual, residual))
    x = laws.eta[:, None] * laws.eigenvalues
    spectrum = np.abs(weights @ np.exp(1j * np.outer(np.arange(weights.shape[1]), OMEGA))) ** 2
    integral = sum(laws.eigenvalues[:, j] * (spectrum / _distance_squared(x[:, j]) @ WEIGHTS) for j in range(2))
    noise = laws.eta**2 * (1.0 - residual) * integral / (2 * np.pi)
    return 0.5 * residual * x.sum(axis=1) + noise, half * error


def _distance_squared(x: Any) -> Any:
    """|1 - x - e^{i omega}|^2 at the quadrature's nodes, x along the first axis."""
    x = np.asarray(x)[..., None]
    return x**2 + 4 * (1 - x) * np.sin(OMEGA / 2) ** 2


def _second_bound(beta: np.ndarray, x: np.ndarray, factor: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """x/2 <beta, T_j beta> by the double sum, against x^2/(2 pi) int |B|^2 / E_x^2 by quadrature."""
    lags = np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
    time = np.einsum("nt,ns,nts->n", beta, beta, (1 - x)[:, None, None] ** lags)
    spectrum = np.abs(beta @ np.exp(1j * np.outer(np.arange(4), OMEGA))) ** 2
    return factor * x * time / 2, x**2 * (spectrum / _distance_squared(x) @ WEIGHTS) / (2 * np.pi)


def _every_correlation(kurtosis, spectrum, share, residual, factor: float = 1.0) -> tuple[float, float]:
    """The universal bound against twice the exact infimum over |B|^2, inputs with independent entries, 2 rho = 1."""
    eigenvalues = np.concatenate([[1.0], spectrum])
    eta = share / (eigenvalues.sum() + kurtosis - 1.0)
    infimum = linear_regression.optimal_suboptimality(
        eigenvalues, eta, 0.5, clip_norm=np.sqrt(1.0 - residual), sigma_sgd=np.sqrt(residual), kurtosis=kurtosis
    )
    return (2 * eta * residual + eta**2 * (1.0 - residual)) * eigenvalues.sum() / 4, factor * 2.0 * float(infimum)


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
    S = moments.stationary(moments.gaussian(eigenvalues), eta, list(factor.coefficients(1_500)), gamma_squared, 0.0)
    return float(eigenvalues @ np.diag(S))


def _attained(rng: np.random.Generator, smaller: float = 0.05) -> Iterator[Fact]:
    """F at 1/sqrt(h) against F where lambda_j weighs (2 - x_j) / (1 - x_j), lambda = (1, smaller)."""
    eigenvalues, eta = np.array([1.0, smaller]), 0.32
    x = eta * eigenvalues
    at_h, elsewhere = (_error_at(weights, eigenvalues, eta) for weights in (np.ones(2), (2 - x) / (1 - x)))
    label = (
        f"Gaussian inputs, lambda = (1, {smaller:g}), eta = 0.32: F = {at_h:.6f} at 1/sqrt(h), {elsewhere:.6f} where "
        "lambda_j weighs (2 - x_j)/(1 - x_j); their ratio, if above 1"
    )
    yield Fact(label, max(at_h / elsewhere, 1.0), 1.0, 1e-8)


def _bound_at_optimum(ratio: np.ndarray, eta: np.ndarray, logs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(int sqrt h)^2 against (int |B|^{-2})(int |B|^2 h), |B|^2 = h^{-1/2} times the exponential of a cosine series."""
    h = sum(value[:, None] / _distance_squared(eta * value) for value in (np.ones_like(ratio), ratio))
    series = np.exp(logs @ np.cos(np.outer(1 + np.arange(logs.shape[1]), OMEGA)))
    spectrum = h**-0.5 * series
    return (np.sqrt(h) @ WEIGHTS) ** 2, (1 / spectrum @ WEIGHTS) * ((spectrum * h) @ WEIGHTS)


def _equality(rng: np.random.Generator, power: float = -0.5) -> Iterator[Fact]:
    for eta in (0.01, 0.3):
        h = sum(value / _distance_squared(eta * value) for value in (1.0, 0.3, 0.01))
        product = (WEIGHTS @ h**-power) * (WEIGHTS @ h ** (1 + power))
        yield Fact(f"(int |B|^-2)(int |B|^2 h) at |B|^2 = h^(-1/2), eta = {eta}", product, (WEIGHTS @ h**0.5) ** 2)


def _termwise(quarter: str = "1/4") -> Iterator[tuple[str, sympy.Expr]]:
    """Every term of h: 1/E_x^2 >= 1/(2 - x)^2 >= 1/4; x = 1/(1 + t), sin^2(omega/2) = p/(p + q)."""
    t, p, q = sympy.symbols("t p q", positive=True)
    x, sine_squared = 1 / (1 + t), p / (p + q)
    distance_squared = x**2 + 4 * (1 - x) * sine_squared
    yield "1/E_x^2 >= 1/(2 - x)^2", 1 / distance_squared - 1 / (2 - x) ** 2
    yield "1/(2 - x)^2 >= 1/4", 1 / (2 - x) ** 2 - sympy.Rational(quarter)


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


def _expectation(expression, x, xi, theta, delta, noise, H, independent: bool) -> Any:
    """Past pairs (theta or noise, delta) have expectation 0, all other moments of the past stay as symbols."""
    variables = (*x, xi, *theta, *delta, *noise)
    total = sympy.Integer(0)
    for powers, coefficient in sympy.Poly(sympy.expand(expression), *variables).terms():
        past = powers[3:]
        if sum(past) == 2 and sum(past[2:4]) == 1:
            continue
        total += coefficient * _fresh_moment(powers[:2], powers[2], H, independent) * sympy.Symbol(f"past{past}")
    return total


def _fresh_moment(of_x: tuple[int, ...], of_xi: int, H: sympy.Matrix, independent: bool) -> Any:
    """E[xi^a x1^b x2^c]: means 0, E[xi x] = 0 at the minimiser, E[x x^T] = H, symbols for the rest."""
    order = sum(of_x)
    if order + of_xi == 1 or (of_xi == 1 and (independent or order == 1)):
        return sympy.Integer(0)
    if (order, of_xi) == (2, 0):
        return H[int(of_x[0] == 0), int(of_x[1] > 0)]
    return sympy.Integer(1) if order + of_xi == 0 else sympy.Symbol(f"moment{of_x}{of_xi}")


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
    """Points and probabilities of x, independent skewed entries of variances 1 and 1/2."""
    first = [(Fraction(2), Fraction(1, 5)), (Fraction(-1, 2), Fraction(4, 5))]
    second = [(Fraction(1), Fraction(1, 3)), (Fraction(-1, 2), Fraction(2, 3))]
    return [
        (np.array([value for value, _ in entries]), math.prod((p for _, p in entries), start=Fraction(1)))
        for entries in itertools.product(*(first, second)[:d])
    ]


def _paths(rng: np.random.Generator, which: int, drive: Fraction = Fraction(1)) -> Iterator[Fact]:
    names = ("E[theta^(0) delta^T]", "E[w_s delta^T] over all s")
    for d, steps in ((1, 4), (2, 3)):
        observed = _path_moments(d, steps, drive)[which]
        yield Fact(f"{names[which]}, d = {d}, t = {steps}", observed, np.zeros(observed.shape, dtype=object), 0)


CLAIMS = (
    Claim(
        id="ftrl/thm-c.18-a",
        where="Theorem C.18",
        kind="inequality",
        statement=(
            "$F_oo (beta) >= s + (eta^2 sigma_w^2)/(2 pi) integral abs(B)^2 h dif omega >= s + (eta sigma_w^2)/2 "
            'chevron.l beta, T beta chevron.r$ with $s = eta sigma_s^2 op("Tr")[H] \\/ 2$.'
        ),
        hypotheses=(
            f"Assumption C.17, $eta < 1\\/R^2$; {WITHOUT_HALF}. With the 1\\/2 of (8) it fails and both bounds are "
            "to be halved."
        ),
        checks=(
            Search(
                sides=_first_bound,
                box={**INPUTS, "beta": (Real(-1.0, 1.0), 2), "residual": Real(0.0, 1.0)},
                vectorised=True,
                impostors={
                    "F with the 1/2 of (8)": {"sides": lambda **p: _first_bound(**p, half=0.5)},
                    "F 1 % smaller": {"sides": lambda **p: _first_bound(**p, half=0.99)},
                },
            ),
            Search(
                sides=_second_bound,
                box={"beta": (Real(-1.0, 1.0), 4), "x": Real(1e-6, 0.999, "log")},
                vectorised=True,
                impostors={"1 % more": {"sides": lambda beta, x: _second_bound(beta, x, 1.01)}},
            ),
        ),
    ),
    Claim(
        id="ftrl/thm-c.18-b",
        where="Theorem C.18",
        kind="inequality",
        statement='$inf_beta F_oo (beta) >= 1/4 (2 eta sigma_s^2 + (eta^2 G^2)/(2 rho)) op("Tr")[H]$.',
        hypotheses=(
            f"As Theorem C.18; {WITHOUT_HALF}. With the 1\\/2 of (8) only the second term holds as printed. By "
            "Cauchy-Schwarz in each direction it needs $1/(2 pi) integral abs(1 - x_j - e^(i omega))^(-1) dif omega >= "
            "1/2$ (it is at least 1)."
        ),
        checks=(
            Inequality(
                smaller=lambda m, x: m.number("1/2"),
                larger=_mean_inverse,
                box={"x": Real(1e-300, 1.0, "log")},
                impostors={"1.01": {"smaller": lambda m, x: m.number("1.01")}},
            ),
            Search(
                sides=_every_correlation,
                box={
                    "kurtosis": Real(1.0, 10.0),
                    "spectrum": (Real(1e-3, 1.0, "log"), 2),
                    "share": Real(1e-3, 0.999),
                    "residual": Real(0.0, 0.999),
                },
                impostors={"F with the 1/2 of (8)": {"sides": lambda **p: _every_correlation(**p, factor=0.5)}},
            ),
        ),
    ),
    Claim(
        id="ftrl/thm-c.18-c",
        where="Theorem C.18",
        kind="inequality",
        statement="The infimum of $F_oo$ over $beta$ is attained where $abs(B^star)^2 = 1 \\/ sqrt(h)$.",
        hypotheses="As Theorem C.18.",
        checks=(Agreement(facts=_attained),),
        correction=Correction(
            statement=(
                "$abs(B^star)^2$ proportional to $1 \\/ sqrt(h)$ minimises the lower bound (47), by $integral "
                "abs(B)^(-2) dif omega integral abs(B)^2 h dif omega >= (integral sqrt(h) dif omega)^2$ with equality "
                "there. For Gaussian inputs $F_oo$ itself is least where $lambda_j$ weighs $(2 - x_j)\\/(1 - x_j)$ in "
                "$h$: the same only if all eigenvalues are equal."
            ),
            checks=(
                Search(
                    sides=_bound_at_optimum,
                    box={"ratio": Real(1e-4, 1.0, "log"), "eta": Real(1e-4, 0.999), "logs": (Real(-2.0, 2.0), 5)},
                    vectorised=True,
                    impostors={
                        "minimum 1 % too large": {
                            "sides": lambda **p: (1.01 * _bound_at_optimum(**p)[0], _bound_at_optimum(**p)[1])
                        }
                    },
                ),
                Agreement(facts=_equality, impostors={"exponent -1/3": {"facts": lambda rng: _equality(rng, -1 / 3)}}),
                Agreement(
                    facts=lambda rng: _attained(rng, 1.0),
                    impostors={"unequal eigenvalues": {"facts": lambda rng: _attained(rng, 0.2)}},
                ),
            ),
        ),
    ),
    Claim(
        id="ftrl/thm-c.18-h",
        where="Theorem C.18, last line of the proof",
        kind="inequality",
        statement='$h(omega) >= 1/4 op("Tr")[H]$.',
        hypotheses="$eta lambda_j < 1$ for all $j$.",
        checks=(
            Symbolic(
                nonnegative=_termwise,
                impostors={"0.26": {"nonnegative": lambda: _termwise("0.26")}},
            ),
        ),
    ),
    Claim(
        id="ftrl/prop-c.19",
        where="Proposition C.19",
        kind="mc-equality",
        statement="$EE[theta^((0))_t times.o delta^((0))_t] = 0$ for all $t$.",
        hypotheses=(
            "Assumption C.17. With $xi$ dependent on $x$ it holds as long as $EE theta^((0)) = EE delta^((0)) = 0$."
        ),
        checks=(
            Symbolic(
                residuals=lambda: _uncorrelated(with_noise=False),
                impostors={
                    "residuals that depend on x, means not 0": {
                        "residuals": lambda: _uncorrelated(with_noise=False, independent=False)
                    }
                },
            ),
            Agreement(
                facts=lambda rng: _paths(rng, 0),
                impostors={"5 % off in H": {"facts": lambda rng: _paths(rng, 0, Fraction(21, 20))}},
            ),
        ),
    ),
    Claim(
        id="ftrl/prop-c.20",
        where="Proposition C.20",
        kind="mc-equality",
        statement="$EE[w_tau times.o delta^((0))_t] = 0$ for all $t, tau$.",
        hypotheses="Assumption C.17.",
        checks=(
            Symbolic(residuals=lambda: _uncorrelated(with_noise=True)),
            Agreement(
                facts=lambda rng: _paths(rng, 1),
                impostors={"5 % off in H": {"facts": lambda rng: _paths(rng, 1, Fraction(21, 20))}},
            ),
        ),
    ),
)
