"""Appendix C.1.1: linear regression, its objective and sensitivity. The operators T_j are in `sc_1_operators`."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import sympy

from dpbounds.ftrl import correlations
from verify.checks import Agreement, Fact, Search, Symbolic, Within
from verify.checks.domains import Real
from verify.papers.ftrl.paper.s2_2_linear_regression import proved_lower
from verify.papers.ftrl.paper.sc_1_operators import HALVES, KERNEL
from verify.papers.ftrl.tools.input_laws import PLANAR, planar
from verify.papers.ftrl.tools.second_moments import Systems
from verify.papers.ftrl.tools.weights import inverse_step
from verify.statements.claims import Claim, Correction, Fault
from verify.statements.derivations import Derivation

Sides = tuple[np.ndarray, np.ndarray]


# --- (22): the objective ---


def _gradient(rng: np.random.Generator, half: float = 1.0) -> Iterator[Fact]:
    """x = +-1, y = 0, theta = 1: E g over both inputs, and the slope of half * E (y - <theta, x>)^2 from its values at
    0 and 2 (a parabola's central difference is exact).
    """
    inputs = np.array([1.0, -1.0])
    theta = 1.0
    F = [half * float(np.mean((0.0 - at * inputs) ** 2)) for at in (theta - 1, theta + 1)]
    yield Fact("E g against the slope of F", float(np.mean(inputs * theta * inputs)), (F[1] - F[0]) / 2)


def _mean_gradient(half: str = "1/2") -> Iterator[tuple[str, sympy.Expr, sympy.Expr]]:
    """Half the difference of half * E (y - <theta, x>)^2 a step of 1 to both sides, its slope since it is a parabola,
    and E g: four points (x, y) of the plane with any weights.
    """
    theta = sympy.symbols("t0:2")
    points = [(sympy.Symbol(f"p{n}"), sympy.symbols(f"x{n}_0:2"), sympy.Symbol(f"y{n}")) for n in range(4)]
    for i in range(2):
        slope = gradient = sympy.Integer(0)
        for p, x, y in points:
            error = sum(t * entry for t, entry in zip(theta, x, strict=True)) - y
            slope += sympy.Rational(half) * p * ((error + x[i]) ** 2 - (error - x[i]) ** 2) / 2
            gradient += p * error * x[i]
        yield f"$diff F\\/diff theta_{i}$", slope, gradient


def _halved(
    second: np.ndarray,
    atoms: np.ndarray,
    weights: np.ndarray,
    later: np.ndarray,
    share: np.ndarray,
    residual: np.ndarray,
    half: float = 0.5,
) -> Sides:
    """`half` times the last line of Theorem C.18 that names beta, against 1/2 Tr[H S]."""
    laws = planar(second, atoms, weights)
    beta = np.concatenate([np.ones((len(second), 1)), later], axis=1)
    system = Systems(laws, share / laws.r_squared(), beta, 1.0 - residual, residual)
    printed = 0.5 * residual * system.x.sum(axis=1) + 0.5 * system.eta * system.noise * system.powers().sum(axis=1)
    return half * printed, 0.5 * system.doubled_suboptimality()


EQ_22 = Claim(
    id="ftrl/eq-22",
    where="App. C.1.1, (22)",
    page=18,
    equation="(22)",
    kind="identity",
    statement=(
        "The objective is $F(theta) = EE (y - chevron.l theta, x chevron.r)^2$, and $g = (x x^top)(theta - "
        "theta^star) - xi x$ is a stochastic gradient of it, $EE g = nabla F(theta)$."
    ),
    checks=(Agreement(facts=_gradient, closed=True),),
    fault=Fault(
        severity="slip",
        touches="statement",
        finding=(
            "(22) prints $F(theta) = EE (y - chevron.l theta, x chevron.r)^2$ without the $1/2$ of (8), and two lines "
            "later $EE g = nabla F$: for $x = plus.minus 1$, $y = 0$, $theta = 1$ the gradient of (22) is "
            "${predicted}$ and $EE g = {observed}$."
        ),
        consequence=(
            'The proof of Theorem C.18 bounds $op("Tr")[H S]$, the $F_oo$ of (22): for that of (8), which Theorem 2.2 '
            "is about, both of its bounds for a given $beta$ are to be halved, and the $sigma_s$ part of its bound "
            "for every $beta$. Theorems C.14 and C.15 hold for both; no rate changes."
        ),
    ),
    correction=Correction(
        statement=(
            (
                "The objective is $F(theta) = 1/2 EE (y - chevron.l theta, x chevron.r)^2$ as in (8), so that $EE g = "
                "nabla F(theta)$ and $F - F^star = 1/2 norm(theta - theta^star)_H^2$;"
            ),
            (
                'then Theorem C.18 reads $F_oo (beta) >= (eta sigma_s^2)/4 op("Tr")[H] + (eta^2 G^2 gamma_oo^2)/(8 pi '
                'rho) integral abs(B)^2 h dif omega >= (eta sigma_s^2)/4 op("Tr")[H] + (eta G^2 gamma_oo^2)/(8 rho) '
                "chevron.l beta, T beta chevron.r$ and $inf_beta F_oo (beta) >= 1/4 (eta sigma_s^2 + (eta^2 G^2)/(2 "
                'rho)) op("Tr")[H]$.'
            ),
        ),
        ground=(
            'The trace of the stationary recursion gives $op("Tr")[H S] >= eta/2 (sigma_s^2 op("Tr")[H] + sigma_w^2 '
            "chevron.l beta, T beta chevron.r)$, with equality in the limit $eta -> 0$."
        ),
        checks=(
            Symbolic(decides="a", residuals=_mean_gradient, impostors={"without 1/2": {"residuals": {"half": "1"}}}),
            Search(
                decides="b",
                sides=_halved,
                box={
                    **PLANAR,
                    "later": (Real(-1.0, 1.0), 2),
                    "share": Real(1e-3, 0.999),
                    "residual": Real(0.0, 1.0),
                },
                vectorised=True,
                impostors={"F without 1/2": {"sides": {"half": 1.0}}},
                role="control",
            ),
            KERNEL.deciding("b"),
            HALVES.deciding("b"),
            proved_lower().deciding("b"),
        ),
        derivation=Derivation(
            text=(
                "(a) The gradient of $1/2 EE (y - chevron.l theta, x chevron.r)^2$ is $EE g$ term by term. (b) For $F$ "
                'without $1/2$, $op("Tr")[H S]$, Theorem C.18 gives $(eta sigma_s^2)/2 op("Tr")[H] + (eta^2 '
                "sigma_w^2)/(2 pi) integral abs(B)^2 h dif omega$, at least the same with $eta sigma_w^2\\/2 chevron.l "
                "beta, T beta chevron.r$, $sigma_w^2 = G^2 gamma_oo^2\\/(2 rho)$ (`ftrl/thm-c.18-a`), and for every "
                '$beta$ $(eta sigma_s^2\\/2 + eta^2 G^2\\/(4 rho)) op("Tr")[H]$ (`ftrl/thm-c.18-b`): half of these.'
            ),
            lemmas=("linearity", "independence", "Jensen", "Cauchy-Schwarz", "Parseval", "geometric series"),
        ),
    ),
)

# --- sensitivity: (24), (26), (28) ---


def _inverse_columns(exponent: int = 2) -> Iterator[tuple[Any, ...]]:
    """gamma_(T+1)^2 - gamma_T^2 and the excess of the first column over the others are sums of squares of its
    entries.
    """
    beta = sympy.symbols("b0:4")
    inverse = sympy.Matrix(4, 4, lambda t, s: beta[t - s] if t >= s else 0).inv()
    first = [row[0] for row in inverse.tolist()]
    for T in (1, 2, 3):
        block = sympy.Matrix(T, T, lambda t, s: beta[t - s] if t >= s else 0).inv()
        norms = [_sum_of_squares(column) for column in block.T.tolist()]
        yield f"gamma_{T + 1}^2 - gamma_{T}^2", _sum_of_squares(first[: T + 1]) - norms[0], first[T] ** exponent
        for s in range(1, T):
            yield f"columns 0 and {s} of {T}", norms[0] - norms[s], _sum_of_squares(first[T - s : T])


def _sum_of_squares(entries: Iterable[sympy.Expr]) -> sympy.Expr:
    return sympy.Add(*(entry**2 for entry in entries))


def _exact_growth(rng: np.random.Generator, *, least: float = 0.0) -> Iterator[Within]:
    """gamma_t^2, t = 1 ... 8, by inverting each matrix in exact rationals."""
    drawn = [[int(k) for k in rng.integers(-3, 4, size=6)] for _ in range(20)]
    for beta in ([1], [1, -1], [1, 2], [2, 0, 1], *([k[0] or 1, *k[1:]] for k in drawn)):
        squares = [_exact_sensitivity(beta, t) for t in range(1, 9)]
        steps = [after - before for before, after in itertools.pairwise(squares)]
        yield Within(f"least growth, beta = {beta}", float(min(steps)), least)


def _exact_sensitivity(beta: Sequence[int], T: int) -> Fraction:
    """Largest squared column norm of the inverse of the T x T Toeplitz matrix, columns by forward substitution."""
    norms = []
    for s in range(T):
        column: list[Fraction] = []
        for t in range(T):
            known = sum((b * column[t - k] for k, b in enumerate(beta[: t + 1]) if k), Fraction(0))
            column.append((int(t == s) - known) / beta[0])
        norms.append(sum((entry**2 for entry in column), Fraction(0)))
    return max(norms)


EQ_24_MONO = Claim(
    id="ftrl/eq-24-mono",
    where="App. C.1.1, below (24)",
    page=18,
    equation="(24)",
    kind="inequality",
    statement="$gamma_t (beta)$ increases with $t$.",
    hypotheses="$beta_0 != 0$.",
    remark="In the weak sense: for $beta = (1, 0, ...)$ it is constant.",
    checks=(
        Symbolic(residuals=_inverse_columns, impostors={"entry instead of its square": {"residuals": {"exponent": 1}}}),
        Symbolic(residuals=inverse_step, impostors={"one weight further": {"residuals": {"shift": 1}}}),
        Agreement(facts=_exact_growth, impostors={"strictly": {"facts": {"least": 1e-9}}}, role="control"),
    ),
    derivation=Derivation(
        text=(
            "With $c$ the coefficients of $1\\/B(z)$, so that $sum_k beta_k c_(t - k)$ is 1 for $t = 0$ and else 0, "
            "the matrix with entries $c_(t - s)$, $s <= t$, is the inverse for every $T$, row after row, as the second "
            "check has it. Its column $s$ holds $c_0, ..., c_(T - 1 - s)$, the longest is the first, and $gamma_(T + "
            "1)^2 - gamma_T^2 = c_T^2 >= 0$, which the first has for $T <= 3$ by inverting."
        ),
        lemmas=("induction",),
    ),
)


def _inverse_power(beta: np.ndarray, n: int = 1024) -> float:
    """(1 / 2 pi) int |B|^{-2} on n points: the error falls geometrically while no zero is on the circle."""
    return float(np.mean(np.abs(np.fft.fft(beta, n)) ** -2.0))


def _causal(rng: np.random.Generator) -> Iterator[Fact]:
    """beta = (1, 2) in causal sequences: B^{-1} e_0 = ((-2)^t), and the integral is 1 / (2^2 - 1^2) by residues."""
    for T in (2, 20):
        squared = float(_exact_sensitivity([1, 2], T))
        yield Fact(f"gamma_{T}^2, beta = (1, 2)", squared, 1 / 3, numbers={"T": T})


def _minimum_phase(rng: np.random.Generator, exponent: float = -2.0) -> Iterator[Fact | Within]:
    """Random weights with all zeros outside |z| = 1.05, the named ones, and the two-sided inverse of (1, 2)."""
    for _ in range(60):
        inverse_roots = rng.uniform(0, 1 / 1.05, 3) * np.exp(1j * rng.uniform(0, np.pi, 3))
        beta = np.poly([*inverse_roots, *inverse_roots.conj()]).real * rng.uniform(0.1, 10)
        yield _squared_norm(f"beta = {np.round(beta, 3)}", correlations.from_coefficients(beta), exponent)
    for correlation in (correlations.nu(0.1), correlations.damped_anti_pgd(0.2), correlations.independent()):
        yield _squared_norm(correlation.name, correlation, exponent)
    two_sided = sum(Fraction(1, 4) ** k for k in range(1, 60))
    yield Fact("squared norm of (..., -1/4, 1/2; 0)", float(two_sided), _inverse_power(np.array([1, 2])), 1e-12)
    for _ in range(20):
        roots = [rng.uniform(0.2, 0.85), *(1.05 + rng.exponential(size=3))]
        beta = np.poly(1 / np.array(roots))
        inverse = correlations.from_coefficients(beta, allow_unstable_inverse=True).inverse_coefficients(150)
        growth = np.sum(inverse**2) / _inverse_power(beta)
        yield Within(f"gamma_150^2 over the integral, a zero at {roots[0]:.3f}", growth, 1e6)


def _squared_norm(label: str, correlation: correlations.ToeplitzCorrelation, exponent: float) -> Fact:
    spectrum = np.abs(np.fft.fft(correlation.coefficients(1024))) ** 2
    observed = np.sum(correlation.inverse_coefficients(1024) ** 2)
    return Fact(f"gamma^2, {label}", observed, np.mean(spectrum ** (exponent / 2)), 1e-9)


PROP_C_1 = Claim(
    id="ftrl/prop-c.1",
    where="App. C.1.1, Property C.1",
    page=19,
    equation="(28)",
    kind="identity",
    statement="$gamma_oo^2 = norm(B^(-1) e_0)_2^2 = 1/(2 pi) integral abs(B(omega))^(-2) dif omega$.",
    hypotheses="$beta in ell^2$.",
    checks=(Agreement(facts=_causal, closed=True),),
    fault=Fault(
        severity="hypothesis",
        touches="statement",
        root="ftrl/eq-5",
        finding=(
            "(28) is stated for every $beta in ell^2$; for $beta = (1, 2)$ the integral is ${predicted}$, but $B^(-1) "
            "e_0 = (1, -2, 4, ...)$, so that $gamma_{T}^2 = {observed}$ and $gamma_T -> oo$."
        ),
        consequence=(
            "Where a result minimises over $abs(B)^2$, the minimiser must be taken outer; every weight sequence that "
            "the paper uses is."
        ),
    ),
    correction=Correction(
        statement=(
            (
                "If $sum_t beta_t z^t$ is outer (finitely many weights: no zero in $abs(z) < 1$), then $gamma_oo^2 = "
                "norm(B^(-1) e_0)_2^2 = 1/(2 pi) integral abs(B(omega))^(-2) dif omega$;"
            ),
            "otherwise $gamma_T -> oo$, whatever the integral.",
        ),
        ground=(
            "In two-sided sequences Parseval gives (28) for every $beta$, but that inverse is causal, and its norm the "
            "limit of (24), for outer $B$ only."
        ),
        checks=(
            Agreement(
                decides="ab", facts=_minimum_phase, impostors={"|B|^(-1) integrated": {"facts": {"exponent": -1.0}}}
            ),
        ),
    ),
)
