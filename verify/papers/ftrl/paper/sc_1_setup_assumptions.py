"""Appendices C.1.2 and C.1.3: the assumptions on the inputs, and the recursion (30)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import sympy

from dpbounds.ftrl.linear_regression import gaussian_r_squared
from verify.checks import Agreement, Fact, Search, Symbolic, Times
from verify.papers.ftrl.tools.input_laws import PLANAR, gaussian, planar
from verify.statements.claims import Claim
from verify.statements.derivations import Derivation

Sides = tuple[np.ndarray, np.ndarray]

# --- Assumption C.2, Property C.3 ---


def _variance_of_any(share: str = "1") -> Iterator[tuple[str, sympy.Expr]]:
    """Mean of (a - m)^2 for any law of a = ||x||^2, by linearity: a has the mean m, a^2 the mean q, constants their
    own.
    """
    a, m, q = sympy.symbols("a m q")
    mean = {2: q, 1: m, 0: sympy.Integer(1)}
    terms = sympy.Poly((a - m) ** 2, a).terms()
    total = sympy.Add(*(coefficient * mean[power] for (power,), coefficient in terms))
    yield "E (a - m)^2 - (q - m^2)", total - sympy.Rational(share) * (q - m**2)


def _norm_variance(share: str = "1") -> Iterator[tuple[str, sympy.Expr]]:
    """Four values a of ||x||^2: E ||x||^4 - (E ||x||^2)^2 is a sum of squares, so R^2 Tr H >= E ||x||^4 >= (Tr H)^2."""
    yield from _variance_of_any(share)
    weights, values = sympy.symbols("w0:4", positive=True), sympy.symbols("a0:4")
    p = [w / sum(weights) for w in weights]
    mean = sympy.Add(*(p[k] * values[k] for k in range(4)))
    variance = sympy.Add(*(p[k] * values[k] ** 2 for k in range(4))) - mean**2
    squares = sympy.Add(*(p[k] * p[l] * (values[k] - values[l]) ** 2 for k in range(4) for l in range(k)))
    yield "variance of ||x||^2 is a sum of squares", variance - sympy.Rational(share) * squares


def _trace(second: np.ndarray, weights: np.ndarray, atoms: np.ndarray) -> Sides:
    laws = planar(second, atoms, weights)
    return laws.eigenvalues.sum(axis=1), laws.r_squared()


def _signs() -> Iterator[dict[str, object]]:
    """Independent signs: ||x|| is constant and R^2 = Tr H."""
    yield {"second": 0.5, "weights": [0.0, 0.0, 1.0, 1.0, 0.0], "atoms": [1.0, 1.0, 1.0, -1.0, 0.0, 0.0]}


def _shipped_constant(rng: np.random.Generator) -> Iterator[Fact]:
    """The R^2 that `dpbounds` has for Gaussian inputs is the smallest one, from Wick's formula in three dimensions; and
    C_kurt is 3.
    """
    for spectrum in ([1.0], [1.0, 1.0], [2.0, 0.5, 0.1]):
        law = gaussian(spectrum)
        yield Fact(f"R^2, spectrum {spectrum}", gaussian_r_squared(np.array(spectrum)), law.r_squared()[0])
        yield Fact(f"C_kurt, spectrum {spectrum}", law.kurtosis_constant()[0], 3.0)


ASM_C_2_TRACE = Claim(
    id="ftrl/asm-c.2-trace",
    where="App. C.1.2, below Assumption C.2",
    page=20,
    kind="inequality",
    statement='$op("Tr")[H] <= R^2$.',
    hypotheses="$EE norm(x)^2 x x^top prec.eq R^2 H$.",
    checks=(
        Symbolic(residuals=_norm_variance, impostors={"half of it": {"residuals": {"share": "1/2"}}}),
        Search(
            sides=_trace,
            box=PLANAR,
            extremal=_signs,
            vectorised=True,
            impostors={"1 % more": {"sides": Times(1.01, 1)}},
            role="control",
        ),
        Agreement(facts=_shipped_constant, impostors={"1 % more": {"facts": Times(1.01)}}, role="control"),
    ),
    derivation=Derivation(
        text=(
            '$(op("Tr") H)^2 = (EE norm(x)^2)^2 <= EE norm(x)^4 = op("Tr") EE[norm(x)^2 x x^top] <= R^2 op("Tr") H$: '
            "the difference in the first inequality is the mean of $(norm(x)^2 - EE norm(x)^2)^2$, for every law, and "
            'a sum of squares for four values; $op("Tr") H > 0$ is divided out.'
        ),
        lemmas=("linearity", "Loewner monotony"),
    ),
)


def _gaussian_mean(polynomial: sympy.Expr, z: Sequence[sympy.Symbol]) -> sympy.Expr:
    """Mean for independent standard normal z, monomial by monomial: E z^n = (n - 1)!! for even n."""
    terms = sympy.Poly(polynomial, *z).terms()
    even = [(powers, c) for powers, c in terms if all(power % 2 == 0 for power in powers)]
    return sympy.Add(*(c * sympy.prod([sympy.factorial2(power - 1) for power in powers]) for powers, c in even))


def _gaussian_fourth() -> Iterator[tuple[Any, ...]]:
    """x = A z with any 2 x 2 matrix A, H = A A^T; and any symmetric 3 x 3 matrix between z z^T and z z^T."""
    z = sympy.symbols("z0:3")
    A = sympy.Matrix(2, 2, sympy.symbols("a0:4"))
    x, H = A * sympy.Matrix(z[:2]), A * A.T
    left = ((x.T * x)[0] * x * x.T).applyfunc(lambda entry: _gaussian_mean(sympy.expand(entry), z))
    yield "E ||x||^2 x x^T", left - 2 * H * H, H.trace() * H
    p = sympy.symbols("p0:6")
    P = sympy.Matrix([[p[0], p[1], p[2]], [p[1], p[3], p[4]], [p[2], p[4], p[5]]])
    outer = sympy.Matrix(z) * sympy.Matrix(z).T
    middle = (outer * P * outer).applyfunc(lambda entry: _gaussian_mean(sympy.expand(entry), z))
    yield "E z z^T P z z^T", middle - 2 * P, P.trace() * sympy.eye(3)


def _gaussian_constants(constant: int = 3) -> Iterator[tuple[str, sympy.Expr]]:
    """Both inequalities in the common eigenbasis, d = 4, direction by direction."""
    eigenvalues, weights = sympy.symbols("lambda0:4", positive=True), sympy.symbols("p0:4", positive=True)
    for j in range(4):
        H = constant * sum(eigenvalues) * eigenvalues[j] - (2 * eigenvalues[j] ** 2 + sum(eigenvalues) * eigenvalues[j])
        yield f"R^2, direction {j}", H
        yield f"C_kurt, direction {j}", constant * sum(weights) - (2 * weights[j] + sum(weights))


PROP_C_3 = Claim(
    id="ftrl/prop-c.3",
    where="App. C.1.2, Property C.3",
    page=20,
    kind="identity",
    statement=(
        'For $x tilde.op cal(N)(0, H)$: $EE norm(x)^2 x x^top = 2 H^2 + op("Tr")[H] H$, so $R^2 <= 3 op("Tr")[H]$ and '
        '$C_"kurt" <= 3$.'
    ),
    checks=(
        Symbolic(
            residuals=_gaussian_fourth,
            nonnegative=_gaussian_constants,
            impostors={"constant 2": {"nonnegative": {"constant": 2}}},
        ),
    ),
)

# --- (30) ---


def _recursion(residual_sign: int = 1) -> Iterator[tuple[str, sympy.MatrixBase]]:
    """(25) with y = <theta*, x> + xi, less theta*, against (30); d = 2, one symbol for the sum over the draws."""
    theta, star, x, noise = (sympy.Matrix(sympy.symbols(f"{name}0:2")) for name in ("theta", "star", "x", "n"))
    eta, xi = sympy.symbols("eta xi")
    y = star.dot(x) + xi
    update = theta - eta * (x * x.T * theta - y * x) - eta * noise
    centred = (sympy.eye(2) - eta * x * x.T) * (theta - star) + residual_sign * eta * xi * x - eta * noise
    yield "theta'_(t+1)", update - star - centred


EQ_30 = Claim(
    id="ftrl/eq-30",
    where="App. C.1.3, (30)",
    page=21,
    equation="(30)",
    kind="identity",
    statement=(
        "$theta'_(t+1) = (I - eta x_t x_t^top) theta'_t + eta xi_t x_t - eta sum_tau beta_tau w_(t - tau)$ for $theta' "
        "= theta - theta^star$."
    ),
    checks=(Symbolic(residuals=_recursion, impostors={"sign of the residual": {"residuals": {"residual_sign": -1}}}),),
)
