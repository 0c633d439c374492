"""Algorithm 1, the Toeplitz mechanisms of Tables 2 and 3, and the alternating optimisation of Section 3."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
import sympy
from scipy.optimize import minimize, minimize_scalar

from dpbounds.ftrl import correlations
from dpbounds.ftrl import mean_estimation as theory
from simulators.engine import Experiment
from simulators.ftrl import LinearRegression, MeanEstimation, Settings, linear_regression, mean_estimation
from simulators.ftrl.settings import clip
from verify.checks import Agreement, Fact, Search, Symbolic
from verify.claims import Claim
from verify.domains import Real

# --- Algorithm 1 ---

STEPS, TRIALS = 20, 6


def _regression_runs(rng: np.random.Generator, *, clip_norm: float = 0.5, lag: int = 0) -> Iterator[Fact]:
    """Clipped regression by the simulator against Algorithm 1 written out trial by trial, on the same draws."""
    B = np.tril(rng.normal(size=(STEPS, STEPS)), -1) + 2 * np.eye(STEPS)
    beta = np.array([1.0, -0.6, 0.2, 0.1])
    for label, correlation, matrix in (
        ("general B", correlations.from_matrix(B), B),
        ("Toeplitz B", correlations.from_coefficients(beta), _toeplitz(np.pad(beta, (0, STEPS - 4)))),
    ):
        problem = LinearRegression(eigenvalues=(1.0, 0.3), sigma_sgd=0.4, inputs="skewed", initial=(2.0, -1.0))
        settings = Settings(correlation=correlation, eta=0.2, rho=0.5, steps=STEPS, clip_norm=0.5)
        experiment = Experiment(algorithm=linear_regression, problem=problem, settings=settings, block_trials=TRIALS)
        streams = experiment.streams(0, seed=1)
        draws = settings.noise_multiplier * 0.5 * streams.noise.standard_normal((STEPS, TRIALS, 2))
        x = problem.draw(streams.data, (STEPS, TRIALS))
        xi = 0.4 * streams.data.standard_normal((STEPS, TRIALS))
        expected = np.zeros((TRIALS, 2))
        for trial in range(TRIALS):
            theta = np.array([2.0, -1.0])
            for t in range(STEPS):
                gradient = (theta @ x[t, trial] - xi[t, trial]) * x[t, trial]
                gradient = gradient * min(1.0, clip_norm / np.linalg.norm(gradient))
                noise = sum((matrix[t, s] * draws[max(s - lag, 0), trial] for s in range(t + 1)), np.zeros(2))
                theta = theta - 0.2 * (gradient + noise)
            expected[trial] = theta
        yield Fact(f"theta_T, {label}", experiment.run_block(0, seed=1)["theta"], expected, 1e-11)


def _without_correlation(rng: np.random.Generator) -> Iterator[Fact]:
    """B = I, as a sequence and as a matrix, against SGD with fresh noise in every step: the same bits."""
    problem = LinearRegression(eigenvalues=(1.0, 0.3), sigma_sgd=0.4)
    for name, clipping in (("DP-SGD", True), ("Noisy-SGD", False)):
        for made in (correlations.independent(), correlations.from_matrix(np.eye(STEPS))):
            settings = Settings(correlation=made, eta=0.2, rho=0.5, steps=STEPS, clip_norm=0.5, clipping=clipping)
            run = Experiment(algorithm=linear_regression, problem=problem, settings=settings, block_trials=TRIALS)
            streams = run.streams(0, seed=2)
            noise = streams.noise.standard_normal((STEPS, TRIALS, 2))
            inputs = problem.draw(streams.data, (STEPS, TRIALS))
            residuals = 0.4 * streams.data.standard_normal((STEPS, TRIALS))
            theta = np.zeros((TRIALS, 2))
            for w, x, xi in zip(noise, inputs, residuals, strict=True):
                gradient = (np.einsum("td,td->t", x, theta) - xi)[:, None] * x
                gradient = clip(gradient, 0.5)[0] if clipping else gradient
                theta = theta - 0.2 * (gradient + settings.noise_multiplier * 0.5 * w)
            yield Fact(f"{name}, {made.name}", run.run_block(0, seed=2)["theta"], theta, 0)


def _projection(rng: np.random.Generator, *, scale: float = 1.0) -> Iterator[Fact]:
    """clip(g) is the point p of the ball nearest to g: g - p makes no acute angle with any q - p of the ball."""
    g = rng.normal(size=(50, 3))
    p = scale * clip(g, 1.3)[0]
    inside = rng.normal(size=(200, 3))
    inside *= 1.3 * rng.random((200, 1)) ** (1 / 3) / np.linalg.norm(inside, axis=1, keepdims=True)
    angles = np.einsum("gd,gqd->gq", g - p, inside[None] - p[:, None])
    yield Fact("points inside the ball", bool(np.linalg.norm(p, axis=1).max() <= 1.3 * (1 + 1e-12)), True, 0)
    yield Fact("no point of the ball nearer", bool(angles.max() <= 1e-12), True, 0)


def _regulariser(rng: np.random.Generator, *, clipped: bool = False) -> Iterator[Fact]:
    """Mean estimation with z = 1, clip norm 1/4 and theta_0 = 100: r's gradient theta passes unclipped."""
    problem = MeanEstimation(mean=1.0, initial=100.0)
    settings = Settings(correlation=correlations.nu(0.1), eta=0.5, rho=np.inf, steps=3, clip_norm=0.25)
    run = Experiment(algorithm=mean_estimation, problem=problem, settings=settings, block_trials=1)
    theta = 100.0
    for _ in range(3):
        theta -= 0.5 * (min(0.25, theta - 1.0) if clipped else -0.25 + theta)
    yield Fact("theta_3", run.run_block(0, seed=0)["deviation"][0] + 1.0, theta, 1e-12)


# --- sequences ---


def _toeplitz(column: np.ndarray) -> np.ndarray:
    return sum((b * np.eye(len(column), k=-k) for k, b in enumerate(column)), np.zeros((len(column),) * 2))


def _independent(rng: np.random.Generator, *, weight: float = 1.0) -> Iterator[Fact]:
    for T in (1, 7, 40):
        B = correlations.independent().matrix(T)
        yield Fact(f"B, T = {T}", B, weight * np.eye(T), 0)
        yield Fact(f"gamma_T, T = {T}", np.linalg.norm(np.linalg.inv(B), axis=0).max(), weight, 0)


def _nu_series(rng: np.random.Generator, shift: Fraction = Fraction(3, 2)) -> Iterator[Fact]:
    """beta_t = beta_{t-1} (1 - nu)(t - 3/2) / t in exact rationals: its square is 1 - (1 - nu) z; the library has the
    same, and its inverse.
    """
    nu, T = Fraction(1, 10), 40
    beta = [Fraction(1)]
    for t in range(1, T):
        beta.append(beta[-1] * (1 - nu) * (t - shift) / t)
    square = [sum((beta[k] * beta[t - k] for k in range(t + 1)), Fraction(0)) for t in range(T)]
    yield Fact("square of the series", square, [Fraction(1), nu - 1, *[Fraction(0)] * (T - 2)], 0)
    made = correlations.nu(0.1)
    yield Fact("beta", made.coefficients(T), [float(b) for b in beta], 1e-14)
    product = np.convolve(made.inverse_coefficients(T), [float(b) for b in beta])[:T]
    yield Fact("first column of C B", product, np.eye(T)[0], 1e-14)


def _nu_spectrum(scale: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """|B|^4 = |1 - (1 - nu) e^{i omega}|^2 = E_nu^2."""
    nu, omega = sympy.symbols("nu omega", real=True)
    squared = scale * ((1 - (1 - nu) * sympy.cos(omega)) ** 2 + ((1 - nu) * sympy.sin(omega)) ** 2)
    yield "|B|^4 - E_nu^2", sympy.expand_trig(squared - (nu**2 + 2 * (1 - nu) * (1 - sympy.cos(omega))))


def _tuned(rng: np.random.Generator, *, with_sensitivity: bool = True) -> Iterator[Fact]:
    """The nu of least gamma_T^2 ||A B||_F^2 lies strictly between 0 and 1."""
    for T in (10, 100, 1000):

        def objective(log_nu: float, T: int = T) -> float:
            beta = np.cumprod(np.concatenate([[1.0], (1 - np.exp(log_nu)) * (np.arange(1, T) - 1.5) / np.arange(1, T)]))
            inverse = np.cumprod(np.concatenate([[1.0], (1 - np.exp(log_nu)) * (1 - 0.5 / np.arange(1, T))]))
            error = np.arange(T, 0, -1) @ np.cumsum(beta) ** 2
            return float(error * (np.sum(inverse**2) if with_sensitivity else 1.0))

        best: Any = minimize_scalar(objective, bounds=(np.log(1e-9), 0.0), method="bounded")
        inside = best.fun < (1 - 1e-6) * min(objective(np.log(1e-12)), objective(-1e-12))
        yield Fact(f"least error inside (0, 1), T = {T}", bool(inside), True, 0)


def _optimal_for_means(rng: np.random.Generator, shift: float = 1.0) -> Iterator[Fact]:
    """Quasi-Newton over 16 weights from independent noise, on ||1 / B||^2 sum beta_t beta_s (1 - eta)^|t-s|."""
    T, eta = 16, 0.6
    correlation = (1 - eta) ** np.abs(np.subtract.outer(np.arange(T), np.arange(T)))

    def value(later: np.ndarray) -> float:
        beta = np.concatenate([[1.0], later])
        return float(np.sum(np.linalg.inv(_toeplitz(beta))[:, 0] ** 2) * (beta @ correlation @ beta))

    found = minimize(value, np.zeros(T - 1), method="BFGS", options={"gtol": 1e-9})
    stated = correlations.nu(shift * eta).coefficients(T)
    yield Fact("weights of the numerical optimum", np.concatenate([[1.0], found.x]), stated, 1e-4)
    yield Fact("weights of Theorem 2.1", theory.optimal_correlation(eta).coefficients(T), stated, 1e-14)


def _counting(rng: np.random.Generator, *, root: int = 2) -> Iterator[Fact]:
    """Fichtenberger et al.: f(0) = 1, f(k) = (1 - 1 / (2k)) f(k-1) squares to A; nu = 0 has C = f and B = A^{-1} f."""
    T = 30
    f = [Fraction(1)]
    for k in range(1, T):
        f.append(f[-1] * (1 - Fraction(1, root * k)))
    square = [sum((f[k] * f[t - k] for k in range(t + 1)), Fraction(0)) for t in range(T)]
    made = correlations.optimal_counting()
    yield Fact("A from the factorisation", square, [Fraction(1)] * T, 0)
    yield Fact("C", made.inverse_coefficients(T), [float(c) for c in f], 1e-14)
    yield Fact("B", made.coefficients(T), np.diff([float(c) for c in f], prepend=0.0), 1e-14)
    binomials = sum(Fraction(comb(2 * t, t) ** 2, 16**t) for t in range(T))
    yield Fact("gamma_T^2", made.sensitivity(T) ** 2, float(binomials), 1e-14)


def _anti_pgd(rng: np.random.Generator, *, sign: float = -1.0) -> Iterator[Fact]:
    for T in (1, 2, 9):
        inverse = np.linalg.inv(np.eye(T) + sign * np.eye(T, k=-1))
        yield Fact(f"C = B^-1, T = {T}", inverse, np.tri(T), 1e-14)
        yield Fact(f"library's C, T = {T}", correlations.anti_pgd().encoder(T), np.tri(T), 0)


def _damped(sign: int = -1) -> Iterator[tuple[str, sympy.Basic]]:
    """B C = I for T = 6 and |1 - (1 - nu) e^{i omega}|^2 = E_nu^2, symbols throughout."""
    nu, omega = sympy.symbols("nu omega", real=True)
    B = sympy.Matrix(6, 6, lambda t, s: {0: 1, 1: sign * (1 - nu)}.get(int(t) - int(s), 0))
    C = sympy.Matrix(6, 6, lambda t, s: (1 - nu) ** (int(t) - int(s)) if int(t) >= int(s) else 0)
    yield "C_(t, 0) = (1 - nu)^t", B * C - sympy.eye(6)
    squared = (1 + sign * (1 - nu) * sympy.cos(omega)) ** 2 + ((1 - nu) * sympy.sin(omega)) ** 2
    yield "|B|^2 = E_nu^2", sympy.expand_trig(squared - (nu**2 + 2 * (1 - nu) * (1 - sympy.cos(omega))))


# --- the alternating optimisation of Section 3 ---

GRID = (np.arange(256) + 0.5) * np.pi / 256
COSINES = np.cos(np.outer(1 + np.arange(4), GRID))


def _correlation_step(weight, other, power: float = -0.5):
    """The objective for fixed psi at |B|^2 = psi^power, against any other |B|^2: both exponentials of cosine series."""
    psi, spectrum = np.exp(weight @ COSINES), np.exp(other @ COSINES)
    return _objective(psi**power, psi), _objective(spectrum, psi)


def _objective(spectrum: np.ndarray, psi: np.ndarray) -> np.ndarray:
    """gamma_oo^2 times the mean of |B|^2 psi."""
    return np.mean(1 / spectrum, axis=-1) * np.mean(spectrum * psi, axis=-1)


def _least_psi(multiplier: float, omega: np.ndarray = GRID, eta: float = 0.3, mu: float = 0.2) -> np.ndarray:
    """The least psi with (90) for lambda = (multiplier, 0, ...), L = 1: Schur complement of the 2 x 2 matrix; inf where
    none.
    """
    z = 1 - np.exp(1j * omega)
    outer = np.array([[np.full_like(z, eta), np.zeros_like(z)], [z, np.full_like(z, -eta)]]).transpose(2, 0, 1)
    inner = multiplier * np.array([[-2 * mu, 1 + mu], [1 + mu, -2]])
    M = outer.conj().transpose(0, 2, 1) @ inner @ outer
    room = -(eta**2) - M[:, 0, 0].real
    if room.min() <= 0:
        return np.full(len(omega), np.inf)
    return M[:, 1, 1].real + np.abs(M[:, 0, 1]) ** 2 / room


def _alternation(rng: np.random.Generator, power: float = -0.5) -> Iterator[Fact]:
    """From white noise: no half step raises the objective, and the last B is causal with the sensitivity used."""
    spectrum, values, multiplier = np.ones(len(GRID)), [], 0.0
    for _ in range(4):
        best: Any = minimize_scalar(
            lambda log, spectrum=spectrum: float(_objective(spectrum, _least_psi(np.exp(log)))),
            bounds=(np.log(2.6), 8.0),
            method="bounded",
            options={"xatol": 1e-10},
        )
        multiplier = float(np.exp(best.x))
        psi = _least_psi(multiplier)
        values += [_objective(spectrum, psi), _objective(psi**power, psi)]
        spectrum = psi**power
    falls = np.diff(values) <= 1e-9 * np.array(values[:-1])
    yield Fact("half steps that do not raise the value", int(falls.sum()), len(falls), 0)
    yield Fact("value after the first round below white noise", bool(values[1] < 0.9 * values[0]), True, 0)
    causal = correlations.from_power_spectrum(lambda omega: _least_psi(multiplier, omega) ** power)
    yield Fact("gamma_400^2 of the causal factor", causal.sensitivity(400) ** 2, np.mean(1 / spectrum), 1e-9)


CLAIMS = (
    Claim(
        id="ftrl/alg-1",
        where="Algorithm 1, (2), (13)",
        kind="algorithm",
        statement=(
            '$theta_(t+1) = theta_t - eta ("clip"(nabla f(theta_t; z_t), G) + nabla r(theta_t) + sum_(tau <= t) '
            "B_(t, tau) w_tau)$, $w_t tilde.op cal(N)(0, sigma_(d p)^2 G^2 I)$; Toeplitz: $sum_(tau <= t) beta_tau "
            "w_(t - tau)$; $B = I$ is DP-SGD and, without clipping, Noisy-SGD."
        ),
        hypotheses='The simulators against the algorithm written out; $"clip"$ projects on the ball of radius $G$.',
        checks=(
            Agreement(
                facts=_regression_runs,
                impostors={
                    "clip norm 5 % off": {"facts": lambda rng: _regression_runs(rng, clip_norm=0.525)},
                    "noise one step late": {"facts": lambda rng: _regression_runs(rng, lag=1)},
                },
            ),
            Agreement(facts=_without_correlation),
            Agreement(
                facts=_projection, impostors={"1 % too long": {"facts": lambda rng: _projection(rng, scale=1.01)}}
            ),
            Agreement(
                facts=_regulariser, impostors={"r clipped too": {"facts": lambda rng: _regulariser(rng, clipped=True)}}
            ),
        ),
    ),
    Claim(
        id="ftrl/mech-dpsgd",
        where="Theorem 2.2, Table 3",
        kind="algorithm",
        statement="DP-SGD has $beta = (1, 0, ...)$ and $gamma_T = 1$.",
        checks=(
            Agreement(facts=_independent, impostors={"5 % off": {"facts": lambda rng: _independent(rng, weight=1.05)}}),
        ),
    ),
    Claim(
        id="ftrl/mech-nu",
        where="(7), Section 4",
        kind="algorithm",
        statement=(
            "$nu$-DP-FTRL has $hat(beta)^nu_t = (-1)^t binom(1\\/2, t) (1 - nu)^t$, $0 < nu < 1$, so that "
            "$abs(hat(B)^nu)^2 = abs(1 - nu - e^(i omega))$; $nu$ can be tuned by minimising (3)."
        ),
        hypotheses="(3) with the noise level: $gamma_T^2 norm(A B)_F^2$; its best $nu$ is near $0.8 \\/ T$.",
        checks=(
            Agreement(
                facts=_nu_series,
                impostors={"t - 1 in the recurrence": {"facts": lambda rng: _nu_series(rng, Fraction(1))}},
            ),
            Symbolic(residuals=_nu_spectrum, impostors={"doubled": {"residuals": lambda: _nu_spectrum(2)}}),
            Agreement(
                facts=_tuned,
                impostors={"sensitivity left out": {"facts": lambda rng: _tuned(rng, with_sensitivity=False)}},
            ),
        ),
    ),
    Claim(
        id="ftrl/mech-meanopt",
        where="Theorem 2.1, (7)",
        kind="algorithm",
        statement="The optimal $beta^star$ of mean estimation is $nu$-DP-FTRL with $nu = eta$.",
        hypotheses="Found by numerical optimisation over sequences at $eta = 0.6$, normalised to $beta_0 = 1$.",
        checks=(
            Agreement(
                facts=_optimal_for_means,
                impostors={"nu = 1.05 eta": {"facts": lambda rng: _optimal_for_means(rng, 1.05)}},
            ),
        ),
    ),
    Claim(
        id="ftrl/mech-optcc",
        where="Table 2, Section 4",
        kind="algorithm",
        statement="Optimal CC (Fichtenberger et al.) is $nu$-DP-FTRL with $nu = 0$.",
        hypotheses="Their factorisation $A = R R$, $R$ Toeplitz with $f_k = (1 - 1\\/(2 k)) f_(k - 1)$.",
        checks=(Agreement(facts=_counting, impostors={"cube root": {"facts": lambda rng: _counting(rng, root=3)}}),),
    ),
    Claim(
        id="ftrl/mech-antipgd",
        where="Table 2",
        kind="algorithm",
        statement="Anti-PGD has $beta = (1, -1, 0, ...)$; its $C$ is the prefix-sum matrix $A$.",
        checks=(Agreement(facts=_anti_pgd, impostors={"sign": {"facts": lambda rng: _anti_pgd(rng, sign=1.0)}}),),
    ),
    Claim(
        id="ftrl/mech-antipgd-damped",
        where="Table 2, Prop. C.24",
        kind="algorithm",
        statement=(
            "Damped anti-PGD has $beta = (1, -(1 - nu), 0, ...)$ and $abs(B)^2 = abs(1 - nu - e^(i omega))^2$; "
            "$C_(t, 0) = (1 - nu)^t$."
        ),
        checks=(Symbolic(residuals=_damped, impostors={"sign": {"residuals": lambda: _damped(1)}}),),
    ),
    Claim(
        id="ftrl/mech-optimized",
        where="Section 3, Fig. 3",
        kind="algorithm",
        statement=(
            "Optimized DP-FTRL alternates: $psi$ minimises (10) for fixed $B$, then $B$ for fixed $psi$; the second "
            "step is $abs(B)^2 prop psi^(-1\\/2)$."
        ),
        hypotheses=(
            "$sigma_s = 0$; only $abs(B)$ is determined, the causal minimum-phase factor realises it. The step in "
            "$psi$ is over constant multipliers $Lambda = lambda_0$."
        ),
        checks=(
            Search(
                sides=_correlation_step,
                box={"weight": (Real(-1.5, 1.5), 4), "other": (Real(-1.5, 1.5), 4)},
                vectorised=True,
                impostors={
                    "|B|^2 = 1 / psi": {"sides": lambda weight, other: _correlation_step(weight, other, -1.0)},
                },
            ),
            Agreement(
                facts=_alternation, impostors={"|B|^2 = 1 / psi": {"facts": lambda rng: _alternation(rng, -1.0)}}
            ),
        ),
    ),
)
