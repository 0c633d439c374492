"""Appendix C.1: linear regression, its sensitivity and its assumptions. The operators T_j are in
`regression_operators`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

import numpy as np
import sympy

from dpbounds.ftrl import correlations
from verify.checks import Agreement, Fact, Search, Symbolic
from verify.claims import Claim, Correction
from verify.domains import Real
from verify.ftrl.claims.law_batches import planar

Sides = tuple[np.ndarray, np.ndarray]


# --- sensitivity: (24), (26), (28) ---


def _inverse_columns(exponent: int = 2) -> Iterator[tuple[str, sympy.Expr]]:
    """gamma_(T+1)^2 - gamma_T^2 and the excess of the first column over the others are sums of squares of its
    entries.
    """
    beta = sympy.symbols("b0:4")
    inverse = sympy.Matrix(4, 4, lambda t, s: beta[t - s] if t >= s else 0).inv()
    first = [row[0] for row in inverse.tolist()]
    for T in (1, 2, 3):
        block = sympy.Matrix(T, T, lambda t, s: beta[t - s] if t >= s else 0).inv()
        norms = [_sum_of_squares(column) for column in block.T.tolist()]
        yield f"gamma_{T + 1}^2 - gamma_{T}^2", _sum_of_squares(first[: T + 1]) - norms[0] - first[T] ** exponent
        for s in range(1, T):
            yield f"columns 0 and {s} of {T}", norms[0] - norms[s] - _sum_of_squares(first[T - s : T])


def _sum_of_squares(entries: Iterable[sympy.Expr]) -> sympy.Expr:
    return sympy.Add(*(entry**2 for entry in entries))


def _exact_growth(rng: np.random.Generator, *, strict: bool = False) -> Iterator[Fact]:
    """gamma_t^2, t = 1 ... 8, by inverting each matrix in exact rationals."""
    drawn = [[int(k) for k in rng.integers(-3, 4, size=6)] for _ in range(20)]
    for beta in ([1], [1, -1], [1, 2], [2, 0, 1], *([k[0] or 1, *k[1:]] for k in drawn)):
        squares = [_exact_sensitivity(beta, t) for t in range(1, 9)]
        steps = [after - before for before, after in itertools.pairwise(squares)]
        smallest = min(steps)
        yield Fact(f"never falls, beta = {beta}", smallest > 0 if strict else smallest >= 0, True, 0)


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


def _inverse_power(beta: np.ndarray, n: int = 1024) -> float:
    """(1 / 2 pi) int |B|^{-2} on n points: the error falls geometrically while no zero is on the circle."""
    return float(np.mean(np.abs(np.fft.fft(beta, n)) ** -2.0))


def _causal(rng: np.random.Generator) -> Iterator[Fact]:
    """beta = (1, 2) in causal sequences: B^{-1} e_0 = ((-2)^t)."""
    for T in (2, 20):
        yield Fact(
            f"gamma_{T}^2, beta = (1, 2)", float(_exact_sensitivity([1, 2], T)), _inverse_power(np.array([1, 2]))
        )


def _minimum_phase(rng: np.random.Generator, exponent: float = -2.0) -> Iterator[Fact]:
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
        yield Fact(f"gamma_150^2 over the integral is above 1e6, a zero at {roots[0]:.3f}", bool(growth > 1e6), True, 0)


def _squared_norm(label: str, correlation: correlations.ToeplitzCorrelation, exponent: float) -> Fact:
    spectrum = np.abs(np.fft.fft(correlation.coefficients(1024))) ** 2
    observed = np.sum(correlation.inverse_coefficients(1024) ** 2)
    return Fact(f"gamma^2, {label}", observed, np.mean(spectrum ** (exponent / 2)), 1e-9)


# --- Assumption C.2, Property C.3, (30) ---


def _norm_variance() -> Iterator[tuple[str, sympy.Expr]]:
    """Four values a of ||x||^2: E ||x||^4 - (E ||x||^2)^2 is a sum of squares, so R^2 Tr H >= E ||x||^4 >= (Tr H)^2."""
    weights, values = sympy.symbols("w0:4", positive=True), sympy.symbols("a0:4")
    p = [w / sum(weights) for w in weights]
    mean = sympy.Add(*(p[k] * values[k] for k in range(4)))
    variance = sympy.Add(*(p[k] * values[k] ** 2 for k in range(4))) - mean**2
    squares = sympy.Add(*(p[k] * p[l] * (values[k] - values[l]) ** 2 for k in range(4) for l in range(k)))
    yield "variance of ||x||^2 is a sum of squares", variance - squares


def _trace(second: np.ndarray, weights: np.ndarray, atoms: np.ndarray, factor: float = 1.0) -> Sides:
    laws = planar(second, atoms, weights)
    return factor * laws.eigenvalues.sum(axis=1), laws.r_squared()


def _signs() -> Iterator[dict[str, object]]:
    """Independent signs: ||x|| is constant and R^2 = Tr H."""
    yield {"second": 0.5, "weights": [0.0, 0.0, 1.0, 1.0, 0.0], "atoms": [1.0, 1.0, 1.0, -1.0, 0.0, 0.0]}


def _gaussian_mean(polynomial: sympy.Expr, z: Sequence[sympy.Symbol]) -> sympy.Expr:
    """Mean for independent standard normal z, monomial by monomial: E z^n = (n - 1)!! for even n."""
    terms = sympy.Poly(polynomial, *z).terms()
    even = [(powers, c) for powers, c in terms if all(power % 2 == 0 for power in powers)]
    return sympy.Add(*(c * sympy.prod([sympy.factorial2(power - 1) for power in powers]) for powers, c in even))


def _gaussian_fourth() -> Iterator[tuple[str, sympy.MatrixBase]]:
    """x = A z with any 2 x 2 matrix A, H = A A^T; and any symmetric 3 x 3 matrix between z z^T and z z^T."""
    z = sympy.symbols("z0:3")
    A = sympy.Matrix(2, 2, sympy.symbols("a0:4"))
    x, H = A * sympy.Matrix(z[:2]), A * A.T
    left = ((x.T * x)[0] * x * x.T).applyfunc(lambda entry: _gaussian_mean(sympy.expand(entry), z))
    yield "E ||x||^2 x x^T", left - 2 * H * H - H.trace() * H
    p = sympy.symbols("p0:6")
    P = sympy.Matrix([[p[0], p[1], p[2]], [p[1], p[3], p[4]], [p[2], p[4], p[5]]])
    outer = sympy.Matrix(z) * sympy.Matrix(z).T
    middle = (outer * P * outer).applyfunc(lambda entry: _gaussian_mean(sympy.expand(entry), z))
    yield "E z z^T P z z^T", middle - 2 * P - P.trace() * sympy.eye(3)


def _gaussian_constants(constant: int = 3) -> Iterator[tuple[str, sympy.Expr]]:
    """Both inequalities in the common eigenbasis, d = 4, direction by direction."""
    eigenvalues, weights = sympy.symbols("lambda0:4", positive=True), sympy.symbols("p0:4", positive=True)
    for j in range(4):
        H = constant * sum(eigenvalues) * eigenvalues[j] - (2 * eigenvalues[j] ** 2 + sum(eigenvalues) * eigenvalues[j])
        yield f"R^2, direction {j}", H
        yield f"C_kurt, direction {j}", constant * sum(weights) - (2 * weights[j] + sum(weights))


def _recursion(residual_sign: int = 1) -> Iterator[tuple[str, sympy.MatrixBase]]:
    """(25) with y = <theta*, x> + xi, less theta*, against (30); d = 2, one symbol for the sum over the draws."""
    theta, star, x, noise = (sympy.Matrix(sympy.symbols(f"{name}0:2")) for name in ("theta", "star", "x", "n"))
    eta, xi = sympy.symbols("eta xi")
    y = star.dot(x) + xi
    update = theta - eta * (x * x.T * theta - y * x) - eta * noise
    centred = (sympy.eye(2) - eta * x * x.T) * (theta - star) + residual_sign * eta * xi * x - eta * noise
    yield "theta'_(t+1)", update - star - centred


CLAIMS = (
    Claim(
        id="ftrl/eq-24-mono",
        where="App. C, below (24)",
        kind="inequality",
        statement="$gamma_t (beta)$ increases with $t$.",
        hypotheses="$beta_0 != 0$; increasing in the weak sense: for $beta = (1, 0, ...)$ it is constant.",
        checks=(
            Symbolic(
                residuals=_inverse_columns,
                impostors={"entry instead of its square": {"residuals": lambda: _inverse_columns(1)}},
            ),
            Agreement(
                facts=_exact_growth, impostors={"strictly": {"facts": lambda rng: _exact_growth(rng, strict=True)}}
            ),
        ),
    ),
    Claim(
        id="ftrl/prop-c.1",
        where="App. C, Property C.1",
        kind="identity",
        statement="$gamma_oo^2 = norm(B^(-1) e_0)_2^2 = 1/(2 pi) integral abs(B(omega))^(-2) dif omega$.",
        hypotheses=(
            "$beta in ell^2$; $B^(-1) e_0$ in causal sequences, so that $gamma_oo = lim_T gamma_T$ as (24) to (26) "
            "have it."
        ),
        checks=(Agreement(facts=_causal),),
        correction=Correction(
            statement=(
                "if $sum_t beta_t z^t$ is outer (finitely many weights: no zero in $abs(z) < 1$); otherwise $gamma_T "
                "-> oo$ whatever the integral. In two-sided sequences Parseval gives (28) for every $beta$, but that "
                "inverse is not causal and its norm is not the limit of (24)."
            ),
            checks=(
                Agreement(
                    facts=_minimum_phase,
                    impostors={"|B|^(-1) integrated": {"facts": lambda rng: _minimum_phase(rng, -1.0)}},
                ),
            ),
        ),
    ),
    Claim(
        id="ftrl/asm-c.2-trace",
        where="App. C, below Assumption C.2",
        kind="inequality",
        statement='$op("Tr")[H] <= R^2$.',
        hypotheses="$EE norm(x)^2 x x^top prec.eq R^2 H$.",
        checks=(
            Symbolic(residuals=_norm_variance),
            Search(
                sides=_trace,
                box={
                    "second": Real(1e-3, 1.0, "log"),
                    "weights": (Real(1e-4, 1.0, "log"), 5),
                    "atoms": (Real(-1.0, 1.0), 6),
                },
                extremal=_signs,
                vectorised=True,
                impostors={"1 % more": {"sides": lambda **law: _trace(**law, factor=1.01)}},
            ),
        ),
    ),
    Claim(
        id="ftrl/prop-c.3",
        where="App. C, Property C.3",
        kind="identity",
        statement=(
            'For $x tilde.op cal(N)(0, H)$: $EE norm(x)^2 x x^top = 2 H^2 + op("Tr")[H] H$, so $R^2 <= 3 op("Tr")[H]$ '
            'and $C_"kurt" <= 3$.'
        ),
        checks=(
            Symbolic(
                residuals=_gaussian_fourth,
                nonnegative=_gaussian_constants,
                impostors={"constant 2": {"nonnegative": lambda: _gaussian_constants(2)}},
            ),
        ),
    ),
    Claim(
        id="ftrl/eq-30",
        where="App. C, (30)",
        kind="identity",
        statement=(
            "$theta'_(t+1) = (I - eta x_t x_t^top) theta'_t + eta xi_t x_t - eta sum_tau beta_tau w_(t - tau)$ for "
            "$theta' = theta - theta^star$."
        ),
        checks=(
            Symbolic(residuals=_recursion, impostors={"sign of the residual": {"residuals": lambda: _recursion(-1)}}),
        ),
    ),
)
