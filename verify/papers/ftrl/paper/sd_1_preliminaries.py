"""Appendix D.1: assumptions and preliminary results, and the decay of the weights, Definition D.3."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import sympy

from dpbounds.ftrl import correlations, finite_time
from verify.checks import Agreement, Fact, Symbolic
from verify.checks.impostors import Times
from verify.papers.ftrl.tools.weights import telescoping
from verify.statements.claims import Claim, Correction, Fault
from verify.statements.derivations import Derivation

# --- R^2 and Tr H ---


def _fourth_moments() -> tuple[sympy.Matrix, sympy.Matrix, list[sympy.Symbol], sympy.Matrix]:
    """A, H = A A^T (d = 3), kurtoses 1 + e_k, and M = E[<z, H z> z z^T] term by term for independent centred entries of
    variance 1.
    """
    A = sympy.Matrix(3, 3, sympy.symbols("a0:9", real=True))
    H, e = A * A.T, list(sympy.symbols("e0:3", positive=True))
    skew = sympy.symbols("s0:3", real=True)

    def moment(*indices: int) -> sympy.Expr:
        powers = [indices.count(k) for k in range(3)]
        values = [(1, 0, 1, skew[k], 1 + e[k])[power] for k, power in enumerate(powers)]
        return sympy.Mul(*values)

    M = sympy.zeros(3, 3)
    for k in range(3):
        for m in range(3):
            M[k, m] = sum(H[i, j] * moment(i, j, k, m) for i in range(3) for j in range(3))
    return A, H, e, M


def _r_squared_identity(factor: int = 3) -> Iterator[tuple[str, sympy.Expr]]:
    """v^T (3 Tr(H) I - M) v as sums of squares, given kurtoses 1 + e_k <= 3 (Lagrange's identity)."""
    A, H, e, M = _fourth_moments()
    v = sympy.symbols("v0:3", real=True)
    column = sympy.Matrix(v)
    form = (column.T * (factor * H.trace() * sympy.eye(3) - M) * column)[0]
    products = [column * A.col(i).T for i in range(3)]
    areas = sum((((K - K.T) * (K - K.T).T).trace() for K in products), sympy.Integer(0)) / 2
    diagonal = sum(((2 - e[k]) * H[k, k] * v[k] ** 2 for k in range(3)), sympy.Integer(0))
    yield "v^T (3 Tr(H) - M) v = 2 areas^2 + sum_k (3 - E z_k^4) H_kk v_k^2", form - 2 * areas - diagonal
    excess = sum((e[k] * (A.row(k) * A.row(k).T)[0] for k in range(3)), sympy.Integer(0))
    yield "Tr(M) - d Tr(H) = sum_k (E z_k^4 - 1) H_kk", M.trace() - 3 * H.trace() - excess


D_1_R2 = Claim(
    id="ftrl/d.1-r2",
    where="App. D.1.2, below (56)",
    page=36,
    equation="(56)",
    kind="inequality",
    statement='$op("Tr") H <= R^2 <= 3 op("Tr") H$.',
    hypotheses=(
        "(B1): independent entries of variance 1 and proxy 1 in $z = H^(-1\\/2) x$, hence $1 <= EE z_k^4 <= 3$; $R^2$ "
        "is the largest eigenvalue of $EE chevron.l z, H z chevron.r z z^top$."
    ),
    setting="Shown for $d = 3$, where every pattern of indices occurs.",
    checks=(Symbolic(residuals=_r_squared_identity, impostors={"R^2 <= 2 Tr H": {"residuals": {"factor": 2}}}),),
)

# --- Property D.2 ---


def _decomposition(rng: np.random.Generator, *, shift: int = 1) -> Iterator[Fact]:
    """Exact rationals, d = 2: the products (67) to (69) ending with Q_{t-shift}; 0 as printed, 1 is right."""
    steps, eta, rng = 5, Fraction(1, 7), np.random.default_rng(3)  # the same rationals for every seed

    def draw(*shape: int) -> np.ndarray:
        return np.array([Fraction(int(n), 3) for n in rng.integers(-5, 6, size=int(np.prod(shape)))]).reshape(shape)

    x, xi, w, beta, start = draw(steps, 2), draw(steps), draw(steps, 2), draw(steps), draw(2)
    Q = [np.eye(2, dtype=int) * Fraction(1) - eta * np.outer(row, row) for row in x]

    def product(last: int, first: int) -> np.ndarray:
        """Q_last ... Q_first."""
        result = np.eye(2, dtype=int) * Fraction(1)
        for k in range(first, last + 1):
            result = Q[k] @ result
        return result

    noise = [sum((beta[k] * w[t - k] for k in range(t + 1)), 0 * start) for t in range(steps)]
    hat, sgd, dp, theta = start, 0 * start, 0 * start, start
    for t in range(steps - 1):
        last = t - shift
        yield Fact(f"(66) at t = {t}", theta, hat + sgd + dp, 0)
        printed = product(last, 0) @ start
        numbers = {"first": float(hat[0]), "stated": float(printed[0])}
        yield Fact(f"(67) at t = {t}", hat, printed, 0, numbers=numbers)
        pushed = sum((product(last, s + 1) @ x[s] * xi[s] for s in range(last + 1)), 0 * start)
        yield Fact(f"(68) at t = {t}", sgd, eta * pushed, 0)
        blown = sum((product(last, s + 1) @ noise[s] for s in range(last + 1)), 0 * start)
        yield Fact(f"(69), first line, at t = {t}", dp, -eta * blown, 0)
        V = [sum((beta[j] * product(t - 1, t - tau + j) for j in range(tau + 1)), 0 * Q[0]) for tau in range(t)]
        drawn = sum((V[tau] @ w[t - 1 - tau] for tau in range(t)), 0 * start)
        yield Fact(f"(69), second line, at t = {t}", dp, -eta * drawn, 0)
        theta = Q[t] @ theta + eta * xi[t] * x[t] - eta * noise[t]
        hat, sgd, dp = Q[t] @ hat, Q[t] @ sgd + eta * xi[t] * x[t], Q[t] @ dp - eta * noise[t]


DECOMPOSED = (
    "$theta'_{t} = hat(theta)_{t} + theta^s_{t} + theta^d_{t}$ with $hat(theta)_{t} = Q_t dots.c Q_0 theta'_0$, "
    "$theta^s_{t} = eta (x_t xi_t + Q_t x_(t-1) xi_(t-1) + dots.c + Q_t dots.c Q_1 x_0 xi_0)$ and the corresponding "
    "products for $theta^d$"
)

PROP_D_2 = Claim(
    id="ftrl/prop-d.2",
    where="Property D.2, (66) to (69)",
    page=37,
    equation="(67)",
    kind="identity",
    statement=f"{DECOMPOSED.replace('{t}', 't')}, (69).",
    setting="Exact rationals, $d = 2$, five steps.",
    checks=(Agreement(facts=lambda rng: _decomposition(rng, shift=0), closed=True),),
    fault=Fault(
        severity="slip",
        touches="statement",
        finding=(
            "(67), (68) and the first line of (69) print products that end with $Q_t$ for quantities at time $t$: at "
            "$t = 0$, $hat(theta)_0 = theta'_0$ begins with ${first:3}$, the printed $Q_0 theta'_0$ with ${stated:3}$."
        ),
        consequence="Nothing: the indices are right where the property is used.",
    ),
    correction=Correction(
        statement=(
            f"{DECOMPOSED.replace('{t}', '(t + 1)')}: (67), (68) and the first line of (69) hold at time $t + 1$, its "
            "second line at time $t$."
        ),
        ground="Unrolling (57) to (60).",
        checks=(Agreement(facts=_decomposition, impostors={"as printed": {"facts": {"shift": 0}}}),),
    ),
)

# --- Definition D.3 ---


def _decay_constants(rng: np.random.Generator) -> Iterator[Fact]:
    """Sums over 100 / nu weights against the closed form, and where the decay ends."""
    for nu in (0.002, 0.05, 0.5, 0.95):
        terms = np.arange(round(100 / nu))
        weights = np.abs(correlations.nu(nu).coefficients(len(terms)))
        for decay in (0.0, nu / 2, nu):
            series = float(np.sum(weights * np.exp(-0.5 * terms * np.log1p(-decay))))
            closed = float(finite_time.half_expo_decay_constant(correlations.nu(nu), decay))
            yield Fact(f"supremum at nu = {nu}, parameter {decay:g}", series, closed, 1e-11)
        beyond = float(finite_time.half_expo_decay_constant(correlations.nu(nu), min(nu * (2.0 - nu) * 1.01, 0.999)))
        yield Fact(f"supremum beyond nu (2 - nu) at nu = {nu}", beyond, np.inf, 0)
        line = correlations.damped_anti_pgd(nu)
        summed = 1.0 + (1.0 - nu) * (1.0 - 0.4) ** -0.5
        yield Fact(f"weights 1, -(1 - {nu:g})", float(finite_time.half_expo_decay_constant(line, 0.4)), summed, 1e-14)
    beta = (1.0, -0.5, 0.3)
    finite = float(finite_time.half_expo_decay_constant(correlations.from_coefficients(beta), 0.4))
    partial = [
        sum(abs(weight) * 0.6 ** ((tau - k) / 2) for k, weight in enumerate(beta[: tau + 1])) / 0.6 ** (tau / 2)
        for tau in range(6)
    ]
    yield Fact("three weights: the largest of the partial sums", finite, max(partial), 1e-14)
    single = finite_time.half_expo_decay_constant(correlations.independent(), 0.3)
    yield Fact("supremum for DP-SGD", float(single), 1.0, 1e-15)


DEF_D_3 = Claim(
    id="ftrl/def-d.3",
    where="Definition D.3, (70)",
    page=38,
    equation="(70)",
    kind="inequality",
    statement=(
        "$sum_(k <= tau) abs(beta_k) (1 - nu)^((tau - k)\\/2) <= C (1 - nu)^(tau\\/2)$ for all $tau$ with a "
        "universal $C$, for DP-SGD (every parameter) and for $hat(beta)^nu$ (parameter $nu$)."
    ),
    remark=(
        "With $C = 1$ and $C = 2$: the terms are at most $abs(binom(1\\/2, k))$. For $hat(beta)^nu$ the parameter may "
        "be as large as $nu (2 - nu)$, not larger."
    ),
    checks=(
        Symbolic(residuals=telescoping, impostors={"ratio 1 / (2 (n + 2))": {"residuals": {"shift": 1}}}),
        Agreement(facts=_decay_constants, impostors={"1e-9 off": {"facts": Times(1 + 1e-9)}}, role="control"),
    ),
    derivation=Derivation(
        text=(
            "For $hat(beta)^nu$, $abs(beta_k) = abs(binom(1\\/2, k)) (1 - nu)^k$, so that the sum over $(1 - "
            "nu)^(tau\\/2)$ is $sum_(k <= tau) abs(binom(1\\/2, k)) (1 - nu)^(k\\/2) <= 1 + sum_(k = 1)^tau "
            "abs(binom(1\\/2, k)) = 2 - abs(binom(-1\\/2, tau)) < 2$ by the check, which goes from $n$ to $n + 1$: $C "
            "= 2$. For DP-SGD only $k = 0$ is left and $C = 1$."
        ),
        lemmas=("binomial series", "induction"),
    ),
)
