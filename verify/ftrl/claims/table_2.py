"""Table 2: earlier choices of the noise correlation in linear regression; (20), which gives the error of any.

F_inf = oo is read as the table's caption explains it: the sensitivity diverges with the horizon T, and with it F_T when
the noise is scaled by gamma_T.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import sympy

from dpbounds.ftrl import correlations, linear_regression
from dpbounds.ftrl.linear_regression import power_law
from dpbounds.quadrature import circle_nodes
from verify.checks import Agreement, Fact, Inequality, Rate, Search, Symbolic
from verify.claims import Claim, Correction
from verify.domains import Real, Whole
from verify.ftrl.claims.law_batches import Systems, planar
from verify.ftrl.claims.regression_rates import Pairs, Sides, minimum_phase, nu_ratios, product_of_logarithms

OMEGA, WEIGHTS = circle_nodes()
# Of the runs to a horizon.
SPECTRUM, ETA = np.array([1.0, 0.5]), 0.2


# --- growth with the horizon ---


def _final_error(correlation: correlations.ToeplitzCorrelation, T: int, gamma: float | None = None) -> float:
    """Exact F_T with sensitivity gamma_T, rho = 1/2; mixing takes 1 / (eta mu) = 10 steps."""
    choice = "horizon" if gamma is None else gamma
    return float(linear_regression.trajectory(correlation, SPECTRUM, ETA, 0.5, steps=T, sensitivity=choice)[-1])


def _counting_sensitivity(decades: float, power: float = 1.0) -> Iterator[tuple[str, float]]:
    T = round(2 * 10.0**decades)
    yield "gamma_T^2 / log T", correlations.optimal_counting().sensitivity(T) ** 2 / np.log(T) ** power


def _counting_error(decades: float, gamma: float | None = None) -> Iterator[tuple[str, float]]:
    T, correlation = round(2 * 10.0**decades), correlations.optimal_counting()
    yield "F_T / gamma_T^2", _final_error(correlation, T, gamma) / correlation.sensitivity(T) ** 2


def _anti_pgd_error(decades: float, gamma: float | None = None) -> Iterator[tuple[str, float]]:
    T = round(10.0**decades)
    yield "F_T / T", _final_error(correlations.anti_pgd(), T, gamma) / T


def _largest_column(T: int) -> Fraction:
    """gamma_T^2 of beta = (1, -1), by forward substitution in rationals."""
    norms = []
    for s in range(T):
        column: list[Fraction] = []
        for t in range(T):
            column.append(Fraction(int(t == s)) + (column[-1] if t else 0))
        norms.append(sum((entry**2 for entry in column), Fraction(0)))
    return max(norms)


def _anti_pgd_sensitivity(rng: np.random.Generator, *, squared: bool, unit: int = 1) -> Iterator[Fact]:
    """gamma_T^2 = T, or as App. C.5 has it gamma_T = T."""
    for T in (1, 2, 4, 9, 16, 64):
        printed = Fraction(T * unit) if squared else Fraction(T) ** 2
        yield Fact(f"gamma_T^2 at T = {T}", _largest_column(T), printed, 0)


# --- nu-Noisy-FTRL ---


def _sensitivity_squared(m, nu):
    return m.integral_inverse(nu) / (2 * m.pi)


# --- damped anti-PGD ---


def _damped_least() -> Pairs:
    """gamma^2 sum_j c_j / d = (nu^2 + 2 (1 - nu) q) / (nu (2 - nu)) >= m = sqrt(q (2 - q)), q = eta Tr H / d: the
    numerator less m nu (2 - nu) is a square. With q = 2 t^2 / (1 + t^2), m = 2 t / (1 + t^2) all is rational.
    """
    t, nu = sympy.symbols("t nu", positive=True)
    q, m = 2 * t**2 / (1 + t**2), 2 * t / (1 + t**2)
    numerator = nu**2 + 2 * (1 - nu) * q - m * nu * (2 - nu)
    yield "m^2 - q (2 - q)", m**2 - q * (2 - q)
    yield "numerator - m nu (2 - nu) - square", numerator - (1 + m) * (nu - (q + m) / (1 + m)) ** 2


def _damped_bounds(quarters: int = 6) -> Pairs:
    """q (2 - q) >= q for q <= 1; at nu = sqrt(q) = y the quotient is at most 3 y / 2; gamma^2 nu = 1/(2 - nu) is
    between 1/2 and 1.
    """
    t = sympy.symbols("t", positive=True)
    y = 1 / (1 + t)
    yield "q (2 - q) - q", y * (2 - y) - y
    yield "3/2 - (3 - 2 y)/(2 - y)", sympy.Rational(quarters, 4) - (3 - 2 * y) / (2 - y)
    yield "gamma^2 nu - 1/2", 1 / (2 - y) - sympy.Rational(1, 2)
    yield "1 - gamma^2 nu", 1 - 1 / (2 - y)


def _damped_error(d: float, alpha: float, share: float, log_nu: float, lower: float = 0.125) -> Sides:
    """eta^{3/2} sqrt(d Tr H) / 8 <= F_inf for every nu; at nu = sqrt(eta Tr H / d) at most 3/(2 - 3 s) times it."""
    spectrum = power_law(int(d), alpha)
    eta = share / spectrum.sum()
    rate = eta**1.5 * np.sqrt(d * spectrum.sum())
    best, other = (
        float(linear_regression.suboptimality(correlations.damped_anti_pgd(nu), spectrum, eta, 1.0))
        for nu in (np.sqrt(share / d), np.exp(log_nu))
    )
    return max(lower * rate / min(best, other), best / (0.125 * rate * 3 / (2 - 3 * share))), 1.0


def _damped_ratios(decades: float, fixed: bool = False) -> Iterator[tuple[str, float]]:
    """Exact F_inf over the rate at nu = sqrt(eta Tr H / d); fixed: at nu = sqrt(1 / d)."""
    for label, d, alpha, share in (
        ("eta -> 0", 100, 1.0, 0.3 * 10.0**-decades),
        ("d -> infinity", round(10 ** (decades / 2)), 0.5, 0.3),
        ("both", round(10 ** (decades / 2)), 2.0, 0.3 * 10.0**-decades),
    ):
        spectrum = power_law(d, alpha)
        eta = share / spectrum.sum()
        nu = np.sqrt((1.0 if fixed else share) / d)
        value = linear_regression.suboptimality(correlations.damped_anti_pgd(nu), spectrum, eta, 1.0)
        yield label, float(value) / (eta**1.5 * np.sqrt(d * spectrum.sum()))


def _geometric_mean(half_powers: int = 3) -> Pairs:
    eta, clip_norm, rho, d, trace = sympy.symbols("eta G rho d Tr_H", positive=True)
    lower, independent = eta**2 * clip_norm**2 / rho * trace, eta * d * clip_norm**2 / rho
    damped = eta ** sympy.Rational(half_powers, 2) * clip_norm**2 / rho * sympy.sqrt(d * trace)
    yield "sqrt(lower bound * Noisy-SGD) - damped anti-PGD", sympy.sqrt(lower * independent) - damped


# --- equation (20), any inputs ---


def _two_sided_20(
    second: np.ndarray,
    atoms: np.ndarray,
    weights: np.ndarray,
    reflection: np.ndarray,
    share: np.ndarray,
    residual: np.ndarray,
    lower: float = 1.0,
) -> tuple[np.ndarray, float]:
    """F_inf by brute force between eta sigma^2 Tr H / 4 + eta^2 N int |B|^2 h / (8 pi) and 4/(2 - eta R^2) times it.

    N = G^2 gamma_inf^2 / (2 rho); the integral of |B|^2 h by quadrature.
    """
    laws = planar(second, atoms, weights)
    eta, beta = share / laws.r_squared(), minimum_phase(reflection)
    noise = (1.0 - residual) / np.prod(1.0 - reflection**2, axis=1)
    exact = 0.5 * Systems(laws, eta, beta, noise, residual).doubled_suboptimality()
    spectrum = np.abs(beta @ np.exp(1j * np.outer(range(beta.shape[1]), OMEGA))) ** 2
    x = (eta[:, None] * laws.eigenvalues)[:, :, None]
    h = np.sum(laws.eigenvalues[:, :, None] / (x**2 + 4 * (1 - x) * np.sin(OMEGA / 2) ** 2), axis=1)
    residuals = 0.25 * eta * residual * laws.eigenvalues.sum(axis=1)
    low = residuals + eta**2 * noise * ((spectrum * h) @ WEIGHTS) / (8 * np.pi)
    return np.maximum(lower * low / exact, exact * (2.0 - share) / (4.0 * low)), 1.0


ERROR = 'eta^2 G^2 rho^(-1) op("Tr") H'
DAMPED = 'eta^(3\\/2) G^2 rho^(-1) sqrt(d op("Tr") H)'

CLAIMS = (
    Claim(
        id="ftrl/tab-2-ficht",
        where="Table 2, row 1",
        kind="mc-rate",
        statement="Weights (7) with $nu = 0$: $gamma_T^2 = log T$ and $F_oo = oo$.",
        hypotheses="Read as $Theta(log T)$; $F_T$ then grows like $log T$ as well. $gamma_T^2\\/log T -> 1\\/pi$.",
        checks=(
            Rate(
                ratios=_counting_sensitivity,
                relation="theta",
                extents=(0.75, 1.5, 3.0, 6.0),
                impostors={"log^2 T": {"ratios": lambda decades: _counting_sensitivity(decades, 2.0)}},
            ),
            Rate(
                ratios=_counting_error,
                relation="theta",
                extents=(0.45, 0.9, 1.8, 3.6),
                impostors={"sensitivity 1": {"ratios": lambda decades: _counting_error(decades, 1.0)}},
            ),
        ),
    ),
    Claim(
        id="ftrl/tab-2-nu",
        where="Table 2, row 2",
        kind="mc-rate",
        statement=(
            f"Weights (7) with $0 < nu <= eta mu$: $gamma_T^2 = log(1\\/nu)$ and $F_oo = {ERROR} log^2 (1\\/nu)$."
        ),
        hypotheses=(
            'Sensitivity read as $Theta$ in the limit $T -> oo$, error as $O$ like Theorem 2.2 ($eta op("Tr") H <= '
            "1\\/3$): for $nu -> 0$ at fixed $eta$ it grows like $log(1\\/nu)$ only."
        ),
        checks=(
            Inequality(
                smaller=lambda m, nu: m.number("0.31") * m.log(1 / nu),
                larger=_sensitivity_squared,
                box={"nu": Real(1e-300, 1 / 3, "log")},
                impostors={"constant 0.33": {"smaller": lambda m, nu: m.number("0.33") * m.log(1 / nu)}},
            ),
            Inequality(
                smaller=_sensitivity_squared,
                larger=lambda m, nu: m.number("1.1") * m.log(1 / nu),
                box={"nu": Real(1e-300, 1 / 3, "log")},
                impostors={"constant 1": {"larger": lambda m, nu: m.log(1 / nu)}},
            ),
            product_of_logarithms(),
            Rate(
                ratios=nu_ratios,
                relation="upper",
                impostors={"single logarithm": {"ratios": lambda decades: nu_ratios(decades, 1.0)}},
            ),
        ),
    ),
    Claim(
        id="ftrl/tab-2-antipgd",
        where="Table 2, row 3; App. C.5",
        kind="mc-rate",
        statement="Anti-PGD, weights $(1, -1)$: $gamma_T^2 = T$ (table), $gamma_T = T$ (C.5) and $F_oo = oo$.",
        checks=(
            Agreement(facts=lambda rng: _anti_pgd_sensitivity(rng, squared=True)),
            Agreement(facts=lambda rng: _anti_pgd_sensitivity(rng, squared=False)),
            Rate(ratios=_anti_pgd_error, relation="theta", extents=(0.5, 1.0, 2.0, 4.0)),
        ),
        correction=Correction(
            statement="$gamma_T^2 = T$ as in the table, so $gamma_T = sqrt(T)$; $F_T$ grows like $T$.",
            checks=(
                Agreement(
                    facts=lambda rng: _anti_pgd_sensitivity(rng, squared=True),
                    impostors={"2 T": {"facts": lambda rng: _anti_pgd_sensitivity(rng, squared=True, unit=2)}},
                ),
                Rate(
                    ratios=_anti_pgd_error,
                    relation="theta",
                    extents=(0.5, 1.0, 2.0, 4.0),
                    impostors={"sensitivity 1": {"ratios": lambda decades: _anti_pgd_error(decades, 1.0)}},
                ),
            ),
        ),
    ),
    Claim(
        id="ftrl/tab-2-damped",
        where="Table 2, row 4",
        kind="mc-rate",
        statement=f"Damped anti-PGD, weights $(1, -(1 - nu))$: $gamma_T^2 = 1\\/nu$ and $F_oo = {DAMPED}$.",
        hypotheses=(
            "Read as $Theta$, $T -> oo$. The error column does not name $nu$: it is the least over $nu$, with constant "
            '1\\/8 below, attained at $nu = sqrt(eta op("Tr") H\\/d)$ up to $3\\/(2 - 3 eta op("Tr") H)$. At $nu = eta '
            "mu$ or $sqrt(1\\/d)$ the power of $eta$ would be 1."
        ),
        checks=(
            Symbolic(
                residuals=_damped_least,
                nonnegative=_damped_bounds,
                impostors={"5/4 above": {"nonnegative": lambda: _damped_bounds(5)}},
            ),
            Search(
                sides=_damped_error,
                box={
                    "d": Whole(1, 300, "log"),
                    "alpha": Real(0.0, 3.0),
                    "share": Real(1e-9, 0.6, "log"),
                    "log_nu": Real(-25.0, 0.0),
                },
                impostors={"1/5 below": {"sides": lambda **point: _damped_error(**point, lower=0.2)}},
            ),
            Rate(
                ratios=_damped_ratios,
                relation="theta",
                impostors={"nu = sqrt(1/d)": {"ratios": lambda decades: _damped_ratios(decades, fixed=True)}},
            ),
        ),
    ),
    Claim(
        id="ftrl/tab-2-geomean",
        where="Table 2, caption",
        kind="identity",
        statement=(
            "The error of damped anti-PGD is the geometric mean of the lower bound and the error of Noisy-SGD in "
            "Theorem 2.2."
        ),
        hypotheses="Of the rates, without constants and residuals.",
        checks=(
            Symbolic(
                residuals=_geometric_mean,
                impostors={"first power of eta": {"residuals": lambda: _geometric_mean(2)}},
            ),
        ),
    ),
    Claim(
        id="ftrl/eq-20-21",
        where="App. C, (20), (21)",
        kind="mc-rate",
        statement=(
            '$F_oo (B) = Theta(eta sigma_s^2 op("Tr") H + eta^2 G^2 rho^(-1) gamma_oo^2 (B) integral abs(B)^2 h dif '
            "omega)$."
        ),
        hypotheses=(
            "$eta R^2 < 1$, any inputs. With the factor 1\\/2 in $F$ the constants are 1\\/4 and $1\\/(16 pi)$ below, "
            "$4\\/(2 - eta R^2)$ times these above."
        ),
        checks=(
            Search(
                sides=_two_sided_20,
                box={
                    "second": Real(1e-3, 1.0, "log"),
                    "atoms": (Real(-1.0, 1.0), 6),
                    "weights": (Real(0.05, 1.0), 5),
                    "reflection": (Real(-0.95, 0.95), 3),
                    "share": Real(1e-3, 0.9999),
                    "residual": Real(0.0, 1.0),
                },
                vectorised=True,
                impostors={"lower constants doubled": {"sides": lambda **point: _two_sided_20(**point, lower=2.0)}},
            ),
        ),
    ),
)
