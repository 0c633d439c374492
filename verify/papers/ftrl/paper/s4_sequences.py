"""Section 4, Tables 2 and 3: the mechanisms that are sequences."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
import sympy

from dpbounds import arithmetic
from dpbounds.ftrl import correlations
from dpbounds.ftrl import mean_estimation as theory
from verify.checks import Agreement, Fact, Symbolic, Times, Within
from verify.statements.claims import Claim

# --- DP-SGD ---


def _independent(rng: np.random.Generator) -> Iterator[Fact]:
    made = correlations.independent()
    for T in (1, 2, 40):
        yield Fact(f"B, T = {T}", made.matrix(T), np.eye(T), 0)
        yield Fact(f"C, T = {T}", made.encoder(T), np.eye(T), 0)
        yield Fact(f"gamma_T, T = {T}", made.sensitivity(T), 1.0, 0)
    decay = np.array([0.1, 1.0])
    yield Fact("power through an autoregression", made.filtered_power(decay), np.ones(2), 1e-15)


MECH_DPSGD = Claim(
    id="ftrl/mech-dpsgd",
    where="Theorem 2.2, Table 3",
    page=8,
    kind="algorithm",
    statement="DP-SGD has $beta = (1, 0, ...)$ and $gamma_T = 1$.",
    checks=(Agreement(facts=_independent, impostors={"5 % off": {"facts": Times(1.05)}}),),
)

# --- nu-DP-FTRL ---


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


def _nu_power(scale: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """|B|^4 = |1 - (1 - nu) e^{i omega}|^2 = E_nu^2."""
    nu, omega = sympy.symbols("nu omega", real=True)
    squared = scale * ((1 - (1 - nu) * sympy.cos(omega)) ** 2 + ((1 - nu) * sympy.sin(omega)) ** 2)
    yield "|B|^4 - E_nu^2", sympy.expand_trig(squared - (nu**2 + 2 * (1 - nu) * (1 - sympy.cos(omega))))


def _shipped_spectra(rng: np.random.Generator) -> Iterator[Fact]:
    """|B|^2, its density in s, and the power through an autoregression, from the weights themselves."""
    omega, decay = np.linspace(0, np.pi, 7), np.array([0.05, 0.4, 1.0])
    for made in (
        correlations.nu(0.1),
        correlations.damped_anti_pgd(0.1),
        correlations.optimal_counting(),
        correlations.from_coefficients([2.0, -1.0, 0.3]),
        correlations.HalfPowers((0.5, 0.3 + 0.4j), (0.2,)),
        correlations.from_power_spectrum(lambda omega: 1.3 - np.cos(omega)),
    ):
        terms = 200_000 if made == correlations.optimal_counting() else 2_000
        beta = made.coefficients(terms)
        if terms == 2_000:
            spectrum = np.abs(np.exp(1j * np.outer(omega, np.arange(terms))) @ beta) ** 2
            yield Fact(f"|B|^2, {made.name}", made.power_spectrum(omega), spectrum, 1e-9)
            density = made.spectral_density(arithmetic.FLOATS, np.sin(omega / 2) ** 2)
            yield Fact(f"|B|^2 in s, {made.name}", density, spectrum, 1e-9)
            if not isinstance(made, correlations.PowerSpectrum):
                with arithmetic.digits(20) as m:
                    shown = [float(made.spectral_density(m, m.number(s))) for s in np.sin(omega / 2) ** 2]
                yield Fact(f"|B|^2 in s, in digits, {made.name}", shown, spectrum, 1e-9)
        powers = []
        for x in decay:
            left, total = 0.0, 0.0
            for k in range(800):
                left = (1 - x) * left + beta[k]
                total += left**2
            powers.append(x * (2 - x) * total)
        tolerance = 1e-9 if terms == 2_000 else 1e-5
        yield Fact(f"filtered power, {made.name}", made.filtered_power(decay), powers, tolerance)


# Numbers of steps for which nu is tuned.
STEPS = (10, 100, 1000)


def _tuned(rng: np.random.Generator, *, with_sensitivity: bool = True) -> Iterator[Within]:
    """The nu of least gamma_T^2 ||A B||_F^2, as the library has both, lies strictly between 0 and 1."""
    from scipy.optimize import minimize_scalar

    found = []
    for T in STEPS:

        def objective(log_nu: float, T: int = T) -> float:
            made = correlations.nu(float(np.exp(log_nu)))
            return made.prefix_error(T) * (made.sensitivity(T) ** 2 if with_sensitivity else 1.0)

        best: Any = minimize_scalar(objective, bounds=(np.log(1e-9), 0.0), method="bounded")
        ends = min(objective(np.log(1e-12)), objective(-1e-12))
        found.append((T, float(np.exp(best.x)), best.fun / ends))
    numbers = {f"at_{T}": T * damping for T, damping, _ in found}
    for T, _, ratio in found:
        yield Within(f"least error in (0, 1) over that at the ends, T = {T}", ratio, most=1 - 1e-6, numbers=numbers)


MECH_NU = Claim(
    id="ftrl/mech-nu",
    where="(7), Section 4",
    page=5,
    equation="(7)",
    kind="algorithm",
    statement=(
        (
            r"$nu$-DP-FTRL has $hat(beta)^nu_t = (-1)^t binom(1\/2, t) (1 - nu)^t$, $0 < nu < 1$, so that "
            "$abs(hat(B)^nu)^2 = abs(1 - nu - e^(i omega))$;"
        ),
        "$nu$ can be tuned by minimising (3).",
    ),
    remark=(
        "(3) with the noise level: $gamma_T^2 norm(A B)_F^2$; its best $nu$ is ${at_10:2} \\/ T$ at $T = 10$, "
        "${at_100:2} \\/ T$ at $10^2$ and ${at_1000:2} \\/ T$ at $10^3$."
    ),
    checks=(
        Agreement(
            decides="a", facts=_nu_series, impostors={"t - 1 in the recurrence": {"facts": {"shift": Fraction(1)}}}
        ),
        Symbolic(decides="a", residuals=_nu_power, impostors={"doubled": {"residuals": {"scale": 2}}}),
        Agreement(decides="a", facts=_shipped_spectra, impostors={"1 % off": {"facts": Times(1.01)}}),
        Agreement(
            decides="b", facts=_tuned, impostors={"sensitivity left out": {"facts": {"with_sensitivity": False}}}
        ),
    ),
)

# --- the optimum for mean estimation ---


def _optimal_for_means(rng: np.random.Generator, shift: float = 1.0) -> Iterator[Fact]:
    """Quasi-Newton over 16 weights from independent noise, on ||1 / B||^2 sum beta_t beta_s (1 - eta)^|t-s|."""
    from scipy.optimize import minimize

    T, eta = 16, 0.6
    correlation = (1 - eta) ** np.abs(np.subtract.outer(np.arange(T), np.arange(T)))

    def value(later: np.ndarray) -> float:
        beta = np.concatenate([[1.0], later])
        B = sum((b * np.eye(T, k=-k) for k, b in enumerate(beta)), np.zeros((T, T)))
        return float(np.sum(np.linalg.inv(B)[:, 0] ** 2) * (beta @ correlation @ beta))

    found = minimize(value, np.zeros(T - 1), method="BFGS", options={"gtol": 1e-9})
    stated = correlations.nu(shift * eta).coefficients(T)
    yield Fact("weights of the numerical optimum", np.concatenate([[1.0], found.x]), stated, 1e-4)
    yield Fact("weights of Theorem 2.1", theory.optimal_correlation(eta).coefficients(T), stated, 1e-14)


MECH_MEANOPT = Claim(
    id="ftrl/mech-meanopt",
    where="Theorem 2.1, (7)",
    page=5,
    equation="(7)",
    kind="algorithm",
    statement="The optimal $beta^star$ of mean estimation is $nu$-DP-FTRL with $nu = eta$.",
    setting="Found by numerical optimisation over 16 weights at $eta = 0.6$, normalised to $beta_0 = 1$.",
    checks=(Agreement(facts=_optimal_for_means, impostors={"nu = 1.05 eta": {"facts": {"shift": 1.05}}}),),
)

# --- optimal counting ---


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


MECH_OPTCC = Claim(
    id="ftrl/mech-optcc",
    where="Table 2, Section 4",
    page=7,
    kind="algorithm",
    statement="Optimal CC (Fichtenberger et al.) is $nu$-DP-FTRL with $nu = 0$.",
    setting="Their factorisation $A = R R$, $R$ Toeplitz with $f_k = (1 - 1\\/(2 k)) f_(k - 1)$.",
    checks=(Agreement(facts=_counting, impostors={"cube root": {"facts": {"root": 3}}}),),
)

# --- anti-PGD ---


def _anti_pgd(rng: np.random.Generator, *, sign: float = -1.0) -> Iterator[Fact]:
    made = correlations.anti_pgd()
    for T in (1, 2, 9):
        B = np.eye(T) + sign * np.eye(T, k=-1)
        yield Fact(f"C = B^-1, T = {T}", np.linalg.inv(B), np.tri(T), 1e-14)
        yield Fact(f"library's B, T = {T}", made.matrix(T), B, 0)
        yield Fact(f"library's C, T = {T}", made.encoder(T), np.tri(T), 0)
        yield Fact(f"gamma_T^2, T = {T}", made.sensitivity(T) ** 2, float(T), 1e-13)


MECH_ANTIPGD = Claim(
    id="ftrl/mech-antipgd",
    where="Table 2",
    page=7,
    kind="algorithm",
    statement=(
        "Anti-PGD has $beta = (1, -1, 0, ...)$;",
        "its $C$ is the prefix-sum matrix $A$.",
    ),
    checks=(Agreement(decides="ab", facts=_anti_pgd, impostors={"sign": {"facts": {"sign": 1.0}}}),),
)


def _damped(sign: int = -1) -> Iterator[tuple[Any, ...]]:
    """B C = I for T = 6 and |1 - (1 - nu) e^{i omega}|^2 = E_nu^2, symbols throughout."""
    nu, omega = sympy.symbols("nu omega", real=True)
    B = sympy.Matrix(6, 6, lambda t, s: {0: 1, 1: sign * (1 - nu)}.get(int(t) - int(s), 0))
    C = sympy.Matrix(6, 6, lambda t, s: (1 - nu) ** (int(t) - int(s)) if int(t) >= int(s) else 0)
    yield "C_(t, 0) = (1 - nu)^t", B * C, sympy.eye(6)
    squared = (1 + sign * (1 - nu) * sympy.cos(omega)) ** 2 + ((1 - nu) * sympy.sin(omega)) ** 2
    yield "|B|^2 = E_nu^2", sympy.expand_trig(squared - (nu**2 + 2 * (1 - nu) * (1 - sympy.cos(omega))))


def _damped_shipped(rng: np.random.Generator) -> Iterator[Fact]:
    made = correlations.damped_anti_pgd(0.3)
    for T in (1, 2, 9):
        B = np.eye(T) - 0.7 * np.eye(T, k=-1)
        yield Fact(f"library's B, T = {T}", made.matrix(T), B, 1e-15)
        yield Fact(f"library's C, T = {T}", made.encoder(T), np.linalg.inv(B), 1e-14)
    yield Fact("gamma_oo^2", made.limiting_sensitivity() ** 2, 1 / (1 - 0.49), 1e-14)


MECH_ANTIPGD_DAMPED = Claim(
    id="ftrl/mech-antipgd-damped",
    where="Table 2, Prop. C.24",
    page=7,
    kind="algorithm",
    statement=(
        "Damped anti-PGD has $beta = (1, -(1 - nu), 0, ...)$ and $abs(B)^2 = abs(1 - nu - e^(i omega))^2$;",
        "$C_(t, 0) = (1 - nu)^t$.",
    ),
    checks=(
        Symbolic(decides="ab", residuals=_damped, impostors={"sign": {"residuals": {"sign": 1}}}),
        Agreement(decides="ab", facts=_damped_shipped, impostors={"1 % off": {"facts": Times(1.01)}}),
    ),
)
