"""Sections 2.2 and 3: what the risk, the gradient and the clipping are."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import sympy

from simulators.ols import ClippedSums, LeastSquares
from verify.checks import Agreement, Fact, Symbolic, Times
from verify.papers.ols.tools.forms import data, scalar, square
from verify.statements.claims import Claim, Correction, Fault
from verify.statements.derivations import Derivation

# --- the risk, (1) and (85) ---


def small_system(d: int) -> tuple[sympy.Matrix, sympy.Matrix, sympy.Matrix, sympy.Matrix]:
    """X (d+1, d), Y, theta, all entries free symbols, and for d = 1 the solution of the normal equations."""
    X = sympy.Matrix(d + 1, d, lambda i, j: sympy.Symbol(f"x{i}{j}"))
    Y, theta = (
        sympy.Matrix([sympy.Symbol(f"{name}{i}") for i in range(size)]) for name, size in (("y", d + 1), ("t", d))
    )
    return X, Y, theta, (X.T * X).inv() * X.T * Y if d == 1 else theta


def squared_length(vector: sympy.Matrix) -> sympy.Expr:
    """||v||², entry by entry."""
    return (vector.T * vector)[0]


def _excess_loss(factor: int = 1) -> Iterator[tuple[Any, ...]]:
    """L(theta) - L(theta*) - ||theta - theta*||²_A, which is twice (theta* - theta)'(X'Y - A theta*), for any theta*;
    the normal equations make that 0; for every n and d. For d = 1 with the solution put in.
    """
    X, Y, theta, fit, *_ = data()
    excess = square(Y - X * theta) - square(Y - X * fit) - factor * square(X * (theta - fit))
    yield "every n, d", scalar(excess - 2 * (fit - theta).T * (X.T * Y - X.T * X * fit))
    X, Y, theta, fit = small_system(1)
    excess = squared_length(Y - X * theta) - squared_length(Y - X * fit)
    yield "d = 1, solved", excess, factor * squared_length(X * (theta - fit))


def _data(rng: np.random.Generator, n: int, d: int, rank: int) -> LeastSquares:
    """Rows within the unit ball, X of this rank."""
    X = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d))
    return LeastSquares(regressors=X / np.linalg.norm(X, axis=1).max(), outcome=rng.uniform(-1, 1, n))


SHAPES = ((5, 1, 1), (7, 3, 3), (9, 4, 2), (4, 4, 4), (6, 3, 1))


def _risks(rng: np.random.Generator) -> Iterator[Fact]:
    """`LeastSquares.risk` against the two losses, from the records; singular A too."""
    for n, d, rank in SHAPES:
        data = _data(rng, n, d, rank)
        theta = rng.standard_normal((2, d))
        fit = np.linalg.pinv(data.regressors) @ data.outcome
        losses = [np.sum((data.outcome - data.regressors @ one) ** 2) for one in (*theta, fit)]
        label = f"n = {n}, d = {d}, rank {rank}"
        yield Fact(f"risk, {label}", data.risk(theta), np.array(losses[:2]) - losses[2], 1e-9)
        yield Fact(f"least loss, {label}", data.least_loss + 1.0, losses[2] + 1.0, 1e-10)
        yield Fact(f"theta*, {label}", data.theta_star, fit, 1e-8)


def _squared_85(power: int, factor: float = 1.0) -> Iterator[Fact]:
    """||b - A theta||² - ||b - A theta*||^power at A = (1, 1)', b = (1, 3)', theta = 1, where theta* = 2."""
    A, b = (1, 1), (1, 3)
    fit = Fraction(sum(a * c for a, c in zip(A, b, strict=True)), sum(a * a for a in A))
    least = float(sum((c - a * fit) ** 2 for a, c in zip(A, b, strict=True)))
    left = sum((c - a) ** 2 for a, c in zip(A, b, strict=True)) - least ** (power / 2)
    right = float(sum((a * (1 - fit)) ** 2 for a in A))
    yield Fact("(85) at A = (1, 1)', b = (1, 3)', theta = 1", left, factor * right, 1e-12)


def _as_printed(rng: np.random.Generator) -> Iterator[Fact]:
    return _squared_85(1)


def _with_square(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact]:
    return _squared_85(2, factor)


DEF_RISK = Claim(
    id="ols/def-risk",
    where="Section 1 and App. C.2",
    equation="(1), (85)",
    kind="identity",
    statement=(
        "$L(theta) - L(theta^*) = norm(theta - theta^*)_A^2$ for every $theta$;",
        (
            "for general $A, b$ (85): $norm(b - A theta)^2 - norm(b - A theta^*(A, b)) = norm(theta - theta^*(A, "
            "b))_(A^top A)^2$."
        ),
    ),
    checks=(
        Symbolic(decides="a", residuals=_excess_loss, impostors={"factor 2": {"residuals": {"factor": 2}}}),
        Agreement(decides="a", facts=_risks, impostors={"0.1 % more": {"facts": Times(1.001)}}),
        Agreement(decides="b", facts=_as_printed, closed=True),
    ),
    fault=Fault(
        severity="slip",
        touches="proof",
        exhibit=2,
        finding=(
            "(85) has $norm(b - A theta^*(A, b))$ where its square is meant: for $A = (1, 1)^top$, $b = (1, 3)^top$, "
            "$theta = 1$ the left side is ${observed}$, the right side ${predicted}$."
        ),
        consequence="None: Lemma 4, which uses it, squares the norm.",
    ),
    correction=Correction(
        statement=(
            "$L(theta) - L(theta^*) = norm(theta - theta^*)_A^2$, and for general $A, b$: $norm(b - A theta)^2 - "
            "norm(b - A theta^*(A, b))^2 = norm(theta - theta^*(A, b))_(A^top A)^2$."
        ),
        ground="The residual $b - A theta^*$ is orthogonal to the columns of $A$.",
        checks=(
            Symbolic(residuals=_excess_loss, impostors={"factor 2": {"residuals": {"factor": 2}}}),
            Agreement(facts=_with_square, impostors={"1 % more": {"facts": {"factor": 1.01}}}, role="control"),
        ),
        derivation=Derivation(
            text=(
                "$b - A theta = (b - A theta^*) - A (theta - theta^*)$. $theta^*(A, b)$ solves $A^top (b - A theta^*) "
                "= 0$, so the mixed term of the square is 0, for every $A$, $b$, $theta$."
            ),
        ),
    ),
)

# --- the gradient ---


def _gradient(factor: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """The derivative of L(theta) + eta² ||theta||², less factor times the printed vector: what is linear in a step, for
    every n and d, and entry by entry.
    """
    eta = sympy.Symbol("eta")
    X, Y, theta, _, step, _ = data()
    printed = X.T * (X * theta - Y) + eta**2 * theta
    objective = [square(Y - X * at) + eta**2 * square(at) for at in (theta + step, theta)]
    quadratic = square(X * step) + eta**2 * square(step)
    yield "every n, d: linear in a step", scalar(objective[0] - objective[1] - factor * step.T * printed - quadratic)
    for d in (1, 2, 3):
        X, Y, theta, _ = small_system(d)
        objective = squared_length(Y - X * theta) + eta**2 * squared_length(theta)
        printed = X.T * (X * theta - Y) + eta**2 * theta
        for i in range(d):
            yield f"d = {d}, entry {i + 1}", sympy.expand(sympy.diff(objective, theta[i]) - factor * printed[i])


def _at_one(rng: np.random.Generator) -> Iterator[Fact]:
    """One record x = 1, y = 0, eta = 0, theta = 1: L = theta²."""
    theta = sympy.Symbol("theta")
    slope = float(sympy.diff(theta**2, theta).subs(theta, 1))
    yield Fact("the printed vector against the slope of theta² at 1", 1.0, slope)


DEF_GRADIENT = Claim(
    id="ols/def-gradient",
    where="Section 3, item 2",
    equation="item 2 after (IHS)",
    kind="identity",
    statement="$X^top (X theta - Y) + eta^2 theta$ is the gradient of $theta |-> L(theta) + eta^2 norm(theta)^2$.",
    checks=(Agreement(facts=_at_one, closed=True), Symbolic(residuals=_gradient)),
    fault=Fault(
        severity="slip",
        touches="text",
        finding=(
            "It is half of the gradient: for one record $x = 1$, $y = 0$ and $eta = 0$ the slope of $L(theta) = "
            "theta^2$ at $theta = 1$ is ${predicted}$, the printed vector ${observed}$."
        ),
        consequence=(
            "None: (10), which is used, halves the objective. The text calls the noise $eta zeta_t$; line 7 of "
            "Algorithm 1 has $sigma zeta_t$."
        ),
    ),
    correction=Correction(
        statement=(
            "$X^top (X theta - Y) + eta^2 theta$ is the gradient of $theta |-> 1/2 (L(theta) + eta^2 norm(theta)^2)$."
        ),
        ground="The derivative: of any size, and entry by entry for $d = 1, 2, 3$ and $d + 1$ records.",
        checks=(Symbolic(residuals=lambda: _gradient(2), impostors={"as printed": {"residuals": _gradient}}),),
    ),
)

# --- clipping ---

LEVELS = (Fraction(1, 2), Fraction(1), Fraction(5, 2))
VALUES = tuple(Fraction(value) for value in ("0", "1/4", "-1/4", "1/2", "-1/2", "3/4", "-2", "5/2", "3"))


def _truncated(part: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """C/|v| - 1 where |v| = b and C = b + a: the minimum is 1."""
    a, b = sympy.symbols("a b", positive=True)
    yield "C / |v| - 1 for |v| <= C", (part * b + a) / b - 1


def _cut(power: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """v C/|v| where |v| = C + a is beyond C, v of either sign; there C/|v| is the minimum."""
    C, a = sympy.symbols("C a", positive=True)
    for sign in (1, -1):
        yield f"sign {sign}", sign * (C + a) * (C / (C + a)) ** power - sign * C


def _beyond() -> Iterator[tuple[str, sympy.Expr]]:
    yield from _truncated()
    C, a = sympy.symbols("C a", positive=True)
    yield "1 - C / |v| for |v| = C + a", 1 - C / (C + a)


def _clipped(rng: np.random.Generator, at_zero: int = 0) -> Iterator[Fact]:
    """`ClippedSums` of records that are unit vectors, one per axis, against v min{1, C / |v|} in rationals."""
    for level in LEVELS:
        data = LeastSquares(
            regressors=np.eye(len(VALUES)), outcome=np.array([float(v) for v in VALUES]), outcome_bound=3.0
        )
        sums, share = ClippedSums(problem=data, clip=float(level), clipping="entrywise").at(np.zeros((1, len(VALUES))))
        printed = [v * min(Fraction(1), level / abs(v)) if v else Fraction(at_zero) for v in VALUES]
        truncated = [max(-level, min(level, v)) for v in VALUES]
        yield Fact(f"clip at {level}", data.eigenvectors @ sums[0], [float(v) for v in printed], 1e-12)
        yield Fact(f"the formula truncates to [-{level}, {level}]", printed, truncated, 0)
        yield Fact(f"share beyond {level}", share[0], np.mean([abs(v) > level for v in VALUES]), 1e-12)


TRUNCATES = Symbolic(
    residuals=_cut,
    nonnegative=_beyond,
    impostors={
        "the square of C / |v|": {"residuals": {"power": 2}},
        "C < |v| within": {"nonnegative": lambda: _truncated(0)},
    },
)

DEF_CLIP = Claim(
    id="ols/def-clip",
    where="Section 3, after (3)",
    equation="after (3)",
    kind="identity",
    statement='$op("clip")_C (v_i) = v_i min{1, C \\/ abs(v_i)}$ entry by entry: truncation to $[-C, C]$.',
    remark="Read as $0$ at $v_i = 0$.",
    checks=(
        TRUNCATES,
        Agreement(facts=_clipped, impostors={"1 at 0": {"facts": {"at_zero": 1}}}, role="control"),
    ),
    derivation=Derivation(
        text=(
            "For $abs(v_i) <= C$ the minimum is 1 and leaves $v_i$; beyond it is $C\\/abs(v_i) < 1$, and $v_i "
            "C\\/abs(v_i)$ is $C$ with the sign of $v_i$."
        ),
    ),
)
