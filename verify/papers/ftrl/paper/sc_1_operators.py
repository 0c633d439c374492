"""Appendix C.1.3, the operators T_j of (32): how much correlated noise is left in an eigendirection."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import sympy

from dpbounds.circle.quadrature import circle_nodes
from dpbounds.ftrl import correlations
from verify.checks import Agreement, Fact, Identity, Inequality, Search, Symbolic, Times
from verify.checks.domains import Real, Whole
from verify.papers.ftrl.tools.regression import OMEGA, WEIGHTS, distance_squared
from verify.statements.claims import Claim, Correction, Fault
from verify.statements.derivations import Derivation

RATES = {"x": Real(1e-12, 1 - 1e-12, "logit")}
Sides = tuple[np.ndarray, np.ndarray]


# --- (32) ---


def _filtered(x: np.ndarray, step: np.ndarray, beta: np.ndarray) -> Sides:
    """|[T_j beta]_t| term by term, and its bound."""
    lags = np.abs(step[:, None] - np.arange(beta.shape[1]))
    total = np.abs(np.sum(beta * (1.0 - x)[:, None] ** lags, axis=1))
    return total, 2.0 * np.abs(beta).max(axis=1) / x


def _constant_weights(m, x, n):
    """[T_j beta]_t for beta = (1, 1, ...), q = 1 - x: 1 + ... + q^t (n = t + 1 terms) and q + q^2 + ..."""
    return (1 - m.power(1 - x, n)) / x + (1 - x) / x


def _bound_less_sum(m, x, n):
    """x times the difference of 2 / x and `_constant_weights`: the 1 / x cancels."""
    return x + m.power(1 - x, n)


def _constant_weights_exactly(bound: int = 2) -> Iterator[tuple[str, sympy.Expr]]:
    """bound / x less `_constant_weights`, q^n = w."""
    x, w = sympy.symbols("x w", positive=True)
    yield "2 / x - [T_j beta]_t", bound / x - ((1 - w) / x + (1 - x) / x)


EQ_32_BOUND = Claim(
    id="ftrl/eq-32-bound",
    where="App. C.1.3, below (32)",
    page=21,
    equation="(32)",
    kind="inequality",
    statement="$[T_j beta]_t <= 2 norm(beta)_oo \\/ (eta lambda_j)$.",
    hypotheses="$0 < x = eta lambda_j < 1$.",
    remark="Constant weights are the worst.",
    checks=(
        Symbolic(nonnegative=_constant_weights_exactly, impostors={"constant 1": {"nonnegative": {"bound": 1}}}),
        Inequality(
            smaller=_constant_weights,
            larger=lambda m, x, n: 2 / x,
            certificate=_bound_less_sum,
            factor=lambda m, x, n: 1 / x,
            box={**RATES, "n": Whole(1, 10**9, "log")},
            impostors={"constant 1.9": {"larger": Times("0.95")}},
            role="control",
        ),
        Search(
            sides=_filtered,
            box={"x": Real(0.01, 0.999, "log"), "step": Whole(0, 40), "beta": (Real(-1.0, 1.0), 40)},
            vectorised=True,
            extremal=lambda: [{"x": 0.1, "step": 20, "beta": np.ones(40)}],
            impostors={"constant 1": {"sides": Times(1, 0.5)}},
            role="control",
        ),
    ),
    derivation=Derivation(
        text=(
            "$[T_j beta]_t = sum_tau beta_tau q^abs(t - tau)$ with $q = 1 - x$ is at most $norm(beta)_oo$ times the "
            "same sum for weights 1, which is $(1 - q^(t + 1))\\/x + q\\/x$, and $2\\/x$ less this is nonnegative."
        ),
        lemmas=("triangle inequality", "geometric series"),
    ),
)

# --- (34) ---


def _projected() -> Iterator[tuple[Any, ...]]:
    """Rotation by the rational half-angle r, spectrum (l0, l1), three weights."""
    r, eta = sympy.symbols("r eta")
    eigenvalues, beta = sympy.symbols("l0:2"), sympy.Matrix(sympy.symbols("b0:3"))
    c, s = (1 - r**2) / (1 + r**2), 2 * r / (1 + r**2)
    U = sympy.Matrix([[c, -s], [s, c]])
    T = [sympy.Matrix(3, 3, lambda t, k, rate=value: (1 - eta * rate) ** abs(t - k)) for value in eigenvalues]
    P = U * sympy.diag(*((beta.T * matrix * beta)[0] for matrix in T)) * U.T
    H = U * sympy.diag(*eigenvalues) * U.T
    yield "P H - H P", P * H, H * P
    yield "Tr P - <beta, T beta>", P.trace(), (beta.T * (T[0] + T[1]) * beta)[0]


def _wrong_basis() -> Iterator[tuple[str, sympy.MatrixBase]]:
    """P built with the transposed eigenbasis."""
    U = sympy.Matrix([[3, -4], [4, 3]]) / 5
    P, H = U.T * sympy.diag(1, 2) * U, U * sympy.diag(1, 3) * U.T
    yield "P H - H P", P * H - H * P


EQ_34 = Claim(
    id="ftrl/eq-34",
    where="App. C.1.3, (34)",
    page=21,
    equation="(34)",
    kind="identity",
    statement='$op("Tr")[P_beta] = chevron.l beta, T beta chevron.r$, and $P_beta$ commutes with $H$.',
    checks=(Symbolic(residuals=_projected, impostors={"transposed eigenbasis": {"residuals": _wrong_basis}}),),
)

# --- Lemma C.4 ---


def _residues() -> Iterator[tuple[str, sympy.Expr]]:
    """int |B|^2 / E_x^2 for three weights by the residues at 0 and q = 1 - x inside the circle."""
    q, w = sympy.symbols("q w")
    beta = sympy.symbols("b0:3")
    power = sum(beta[t] * beta[s] * w ** (t - s) for t in range(3) for s in range(3))
    integrand = sympy.cancel(power / ((1 - q * w) * (1 - q / w)) / w)
    numerator, denominator = sympy.fraction(sympy.factor(integrand))
    at_q = sympy.cancel(numerator / sympy.diff(denominator, w)).subs(w, q)
    at_0 = sympy.diff(sympy.cancel(integrand * w**2), w).subs(w, 0)
    double_sum = sum(beta[t] * beta[s] * q ** abs(t - s) for t in range(3) for s in range(3))
    yield "residues = <beta, T_j beta> / (1 - q^2)", at_q + at_0 - double_sum / (1 - q**2)


def _two_sided() -> Iterator[tuple[str, sympy.Expr]]:
    """b / (2 - x) between b / 2 and b for b > 0, x = 1 / (1 + s)."""
    b, s = sympy.symbols("b s", positive=True)
    x = 1 / (1 + s)
    yield "upper", b - b / (2 - x)
    yield "lower", b / (2 - x) - b / 2


def _gain(x: np.ndarray, beta: np.ndarray) -> Sides:
    """(x / 2 pi) int |B|^2 / E_x^2 by quadrature, and <beta, T_j beta> by the double sum."""
    omega, weights = circle_nodes(1.0 / beta.shape[1])  # finer for more weights
    s = np.sin(omega / 2) ** 2
    lags = np.arange(beta.shape[1])
    correlation = np.stack([np.sum(beta[:, k:] * beta[:, : len(lags) - k], axis=1) for k in lags], axis=1)
    doubled = np.where(lags == 0, 1.0, 2.0) * correlation
    kernel = weights / (x[:, None] ** 2 + 4.0 * (1.0 - x)[:, None] * s)
    integral = np.einsum("nk,nk->n", doubled, kernel @ np.cos(np.outer(omega, lags)))
    return x * integral / (2 * np.pi), np.sum(doubled * (1.0 - x)[:, None] ** lags, axis=1)


def _lower_gain(x: np.ndarray, beta: np.ndarray) -> Sides:
    gain, power = _gain(x, beta)
    return 0.5 * power, gain


def _upper_gain(x: np.ndarray, beta: np.ndarray) -> Sides:
    gain, power = _gain(x, beta)
    return gain, power


def _long_weights() -> list[np.ndarray]:
    return [correlations.nu(0.2).coefficients(80), correlations.damped_anti_pgd(0.1).coefficients(2), np.ones(12)]


def _shipped_powers(rng: np.random.Generator) -> Iterator[Fact]:
    """<beta, T_j beta> as `dpbounds` has it for every kind of weights, against (x (2 - x) / 2 pi) int |B|^2 / E_x^2,
    |B|^2 summed from the weights or, where they are many, closed.
    """
    finite = correlations.from_coefficients([1.0, -0.6, 0.3])
    for correlation, power in (
        (finite, np.abs(np.polynomial.polynomial.polyval(np.exp(1j * OMEGA), [1.0, -0.6, 0.3])) ** 2),
        (correlations.damped_anti_pgd(0.3), np.abs(1 - 0.7 * np.exp(1j * OMEGA)) ** 2),
        (correlations.nu(0.05), np.abs(1 - 0.95 * np.exp(1j * OMEGA))),
        (correlations.optimal_counting(), np.abs(2 * np.sin(OMEGA / 2))),
        (correlations.independent(), np.ones(len(OMEGA))),
    ):
        x = np.array([0.01, 0.05, 0.6, 1.0])
        integral = (power / distance_squared(x)) @ WEIGHTS
        yield Fact(
            f"<beta, T_j beta> of {correlation.name}",
            correlation.filtered_power(x),
            x * (2 - x) * integral / (2 * np.pi),
            1e-9,
        )


def _kernel(sign: int = -1) -> Iterator[tuple[str, sympy.Expr]]:
    """sum_k q^|k| w^k = (1 - q^2) / |1 - q w|^2 on |w| = 1: T_j is multiplication by a positive function."""
    q, w = sympy.symbols("q w")
    series = 1 + q * w / (1 - q * w) + (q / w) / (1 - q / w)
    yield "symbol of T_j", series - (1 + sign * q**2) / ((1 - q * w) * (1 - q / w))


KERNEL = Symbolic(residuals=_kernel, impostors={"1 + q^2 in the symbol": {"residuals": {"sign": 1}}})
STABLE = {"x": Real(1e-4, 1 - 1e-6, "logit"), "beta": (Real(-1.0, 1.0), 6)}

LEM_C_4 = Claim(
    id="ftrl/lem-c.4",
    where="App. C.1.3, Lemma C.4",
    page=22,
    kind="inequality",
    statement=(
        "$1/2 chevron.l beta, T_j beta chevron.r <= (eta lambda_j)/(2 pi) integral abs(B)^2 \\/ abs(1 - eta lambda_j - "
        "e^(i omega))^2 dif omega <= chevron.l beta, T_j beta chevron.r$."
    ),
    hypotheses="$0 < eta lambda_j < 1$.",
    checks=(
        Symbolic(residuals=_residues, nonnegative=_two_sided),
        KERNEL,
        Search(
            sides=_lower_gain,
            box=STABLE,
            vectorised=True,
            extremal=lambda: [{"x": 1e-4, "beta": beta} for beta in (np.eye(6)[0], *_long_weights())],
            impostors={"constant 0.51": {"sides": Times(1.02, 1)}},
            role="control",
        ),
        Search(
            sides=_upper_gain,
            box=STABLE,
            vectorised=True,
            extremal=lambda: [{"x": 1 - 1e-6, "beta": beta} for beta in (np.eye(6)[0], *_long_weights())],
            impostors={"constant 0.99": {"sides": Times(1, 0.99)}},
            role="control",
        ),
        Agreement(facts=_shipped_powers, impostors={"1 % more": {"facts": Times(1.01)}}, role="control"),
    ),
    derivation=Derivation(
        text=(
            "With $x = eta lambda_j$ and $q = 1 - x$ the sequence $q^abs(k)$ has the transform $(1 - q^2) \\/ abs(1 - "
            "q e^(i omega))^2 > 0$, so that the middle is $x \\/ (1 - q^2) = 1\\/(2 - x)$ times $chevron.l beta, T_j "
            "beta chevron.r >= 0$, for weights of every length as for the three of the first check; and $1\\/(2 - x)$ "
            "lies between $1\\/2$ and 1."
        ),
        lemmas=("geometric series", "Parseval"),
    ),
)


def _largest_power(omega: np.ndarray, beta: np.ndarray) -> np.ndarray:
    phase = omega[:, None] * np.arange(beta.shape[1])
    return np.sum(beta * np.cos(phase), axis=1) ** 2 + np.sum(beta * np.sin(phase), axis=1) ** 2


def _printed_line(omega: np.ndarray, beta: np.ndarray) -> Sides:
    return _largest_power(omega, beta), np.sum(beta**2, axis=1)


def _summable(omega: np.ndarray, beta: np.ndarray) -> Sides:
    return _largest_power(omega, beta), np.sum(np.abs(beta), axis=1) ** 2


def _parseval(weight: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """Mean over omega of |B|^2 for four weights, integrated symbolically."""
    beta, omega = sympy.symbols("b0:4"), sympy.Symbol("omega", real=True)
    power = sum(beta[t] * beta[s] * sympy.cos((t - s) * omega) for t in range(4) for s in range(4))
    mean = sympy.integrate(sympy.expand(power), (omega, -sympy.pi, sympy.pi)) / (2 * sympy.pi)
    yield "mean of |B|^2", mean - weight * sum(b**2 for b in beta)


FREQUENCY = {"omega": Real(-np.pi, np.pi), "beta": (Real(-1.0, 1.0), 6)}

LEM_C_4_LINE = Claim(
    id="ftrl/lem-c.4-line",
    where="App. C.7, proof of Lemma C.4",
    page=35,
    kind="inequality",
    statement="$abs(B(omega))^2 <= norm(beta)_2^2$.",
    checks=(
        Search(
            sides=_printed_line,
            box=FREQUENCY,
            vectorised=True,
            extremal=lambda: [{"omega": 0.0, "beta": np.array([1.0, 1.0])}],
            closed=True,
        ),
    ),
    fault=Fault(
        severity="slip",
        touches="proof",
        finding=(
            "The proof of Lemma C.4 prints $abs(B(omega))^2 <= norm(beta)_2^2$; for $beta = (1, 1)$ at $omega = "
            "{omega}$ it is ${smaller}$, and $norm(beta)_2^2 = {larger}$."
        ),
        consequence=(
            "Nothing: the line only serves to exchange sum and integral, which Parseval allows for every $beta in "
            "ell^2$, the other factor being bounded."
        ),
    ),
    correction=Correction(
        statement=(
            "The mean of $abs(B(omega))^2$ over $omega$ equals $norm(beta)_2^2$, and $abs(B(omega))^2 <= "
            "norm(beta)_1^2$ where that is finite."
        ),
        ground="Parseval; the triangle inequality.",
        checks=(
            Symbolic(residuals=_parseval, impostors={"twice the norm": {"residuals": {"weight": 2}}}),
            Search(
                sides=_summable,
                box=FREQUENCY,
                vectorised=True,
                extremal=lambda: [{"omega": 0.0, "beta": np.ones(6)}],
                impostors={"1 % less": {"sides": Times(1.01, 1)}},
                role="control",
            ),
        ),
        derivation=Derivation(
            text=(
                "The mean is Parseval's for every $beta in ell^2$, as the check has it for four weights; and "
                "$abs(B(omega)) <= sum_t abs(beta_t)$."
            ),
            lemmas=("Parseval", "triangle inequality"),
        ),
    ),
)

# --- Corollary C.5 ---


def _white_gain(m, x):
    square, rest = x**2, 4 * (1 - x)
    return x / (2 * m.pi) * m.integral(lambda s: 1 / (square + rest * s))


def _between_halves(least: str = "1/2") -> Iterator[tuple[str, sympy.Expr]]:
    """1 / (2 - x) between 1/2 and 1, x = 1 / (1 + t)."""
    t = sympy.symbols("t", positive=True)
    middle = 1 / (2 - 1 / (1 + t))
    yield "1 - 1/(2 - x)", 1 - middle
    yield "1/(2 - x) - 1/2", middle - sympy.Rational(least)


HALVES = Symbolic(nonnegative=_between_halves, impostors={"constant 0.51": {"nonnegative": {"least": "0.51"}}})

COR_C_5 = Claim(
    id="ftrl/cor-c.5",
    where="App. C.1.3, Corollary C.5",
    page=22,
    kind="inequality",
    statement=(
        "$1/2 <= (eta lambda_j)/(2 pi) integral abs(1 - eta lambda_j - e^(i omega))^(-2) dif omega <= 1$;",
        r"the middle is $1 \/ (2 - eta lambda_j)$.",
    ),
    hypotheses="$0 < eta lambda_j < 1$.",
    checks=(
        KERNEL.deciding("b"),
        HALVES.deciding("a"),
        Identity(
            decides="b",
            left=_white_gain,
            right=lambda m, x: 1 / (2 - x),
            box=RATES,
            random_points=20,
            impostors={"1e-20 off": {"right": Times("1.00000000000000000001")}},
            role="control",
        ),
    ),
    derivation=Derivation(
        text=(
            "With $q = 1 - x$, $x = eta lambda_j$, the mean of $(1 - q^2) \\/ abs(1 - q e^(i omega))^2 = sum_k "
            "q^abs(k) e^(i k omega)$ over the circle is 1, its term of $k = 0$: the middle is $x \\/ (1 - q^2) = "
            "1\\/(2 - x)$, which lies between $1\\/2$ and 1 for $0 < x < 1$."
        ),
        lemmas=("geometric series",),
    ),
)

# --- Lemma C.6 ---


def _factors() -> Iterator[tuple[str, sympy.Expr]]:
    """The symbol's numerator and its least value, at w = -1, for q = 1 / (1 + s) < 1."""
    q = 1 / (1 + sympy.Symbol("s", positive=True))
    yield "1 - q^2 > 0", 1 - q**2
    yield "symbol >= (1 - q) / (1 + q)", (1 - q) / (1 + q)


LEM_C_6 = Claim(
    id="ftrl/lem-c.6",
    where="App. C.1.3, Lemma C.6",
    page=22,
    kind="inequality",
    statement="$T_j$ and $T = sum_j T_j$ are positive semi-definite.",
    hypotheses="$0 < eta < 1 \\/ max_j lambda_j$.",
    checks=(
        Symbolic(
            residuals=_kernel,
            nonnegative=_factors,
            impostors={"1 + q^2 in the symbol": {"residuals": {"sign": 1}}},
        ),
    ),
)
