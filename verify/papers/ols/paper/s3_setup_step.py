"""Section 3: the step of (3); (10), (11) and the energy of the fit."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import sympy

from simulators.ols import LeastSquares, hessian_step
from verify.checks import Agreement, Fact, Search, Symbolic, Times, Within
from verify.checks.domains import Real
from verify.papers.ols.paper.s3_setup import small_system, squared_length
from verify.papers.ols.tools.forms import data, scalar, square
from verify.statements.claims import Claim
from verify.statements.derivations import Derivation

# --- the step of (3) ---


def _argmin(factor: Any = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """1/(2k) ||X~ u||² - u'g at u = theta - theta^ and g = X~'X~ f/k is the square of X~ (u - factor f) less that of X~
    f, over 2k; and its derivative by theta at theta^ + factor (X~'X~/k)⁻¹ g, times det(X~'X~).
    """
    k = sympy.Symbol("k", positive=True)
    rows, _, change, best, *_ = data()
    right = rows.T * rows * best / k
    objective = square(rows * change) / (2 * k) - change.T * right
    least = square(rows * (change - factor * best)) - square(rows * best)
    yield "a square, every k, d", scalar(objective - least / (2 * k))
    for d in (1, 2):
        sketch, _, hat, _ = small_system(d)
        theta, g = (sympy.Matrix(sympy.symbols(f"{name}0:{d}")) for name in ("s", "g"))
        objective = squared_length(sketch * (theta - hat)) / (2 * k) - (theta.T * g)[0]
        gram = sketch.T * sketch
        move = factor * k * gram.adjugate() * g / gram.det()
        for i in range(d):
            slope = sympy.diff(objective, theta[i]).subs(
                dict(zip(theta.flat(), (hat + move).flat(), strict=True)), simultaneous=True
            )
            yield f"d = {d}, entry {i + 1}", sympy.cancel(sympy.together(slope))


def _steps(rng: np.random.Generator) -> Iterator[Fact | Within]:
    """`hessian_step` against the least squares solution of the same problem: X~ delta close to k X~ (X~'X~)⁻¹ g by
    QR, and no smaller objective in a cloud around it.
    """
    for d, k in ((1, 1), (3, 3), (3, 7)):
        sketch, hat, g = rng.standard_normal((k, d)), rng.standard_normal(d), rng.standard_normal(d)
        found = hessian_step(hat[None], (sketch.T @ sketch)[None], g[None], k)[0]
        R = np.asarray(np.linalg.qr(sketch, mode="r"))
        move = np.linalg.solve(R, k * np.linalg.solve(R.T, g))
        yield Fact(f"d = {d}, k = {k}", found, hat + move, 1e-8)
        half = hessian_step(hat[None], (sketch.T @ sketch)[None], g[None], k, 0.5)[0]
        yield Fact(f"half a step, d = {d}, k = {k}", half, hat + move / 2, 1e-8)

        def objective(theta: np.ndarray, sketch: np.ndarray = sketch, hat=hat, g=g, k: int = k) -> float:
            return float(np.sum((sketch @ (theta - hat)) ** 2) / (2 * k) - theta @ g)

        nearby = min(objective(found + 0.1 * rng.standard_normal(d)) for _ in range(20))
        yield Within(f"the objective, none smaller nearby, d = {d}, k = {k}", objective(found), most=nearby)


EQ3_ARGMIN = Claim(
    id="ols/eq3-argmin",
    where="Section 3 and Algorithm 1, line 8",
    equation="(3)",
    kind="identity",
    statement=(
        "The minimiser of $1/(2 k) norm(tilde(X) (theta - hat(theta)))^2 - theta^top g$ is $hat(theta) + (1/k "
        "tilde(X)^top tilde(X))^(-1) g$."
    ),
    hypotheses="$tilde(X)^top tilde(X) succ 0$: $k >= d$ and $M succ 0$.",
    checks=(
        Symbolic(residuals=_argmin, impostors={"half of the step": {"residuals": {"factor": sympy.Rational(1, 2)}}}),
        Agreement(facts=_steps, impostors={"0.1 % off": {"facts": Times(1.001)}}, role="control"),
    ),
    derivation=Derivation(
        text=(
            "With $H = 1/k tilde(X)^top tilde(X) succ 0$ and $u = theta - hat(theta)$ the objective is $1/2 u^top H u "
            "- u^top g = 1/2 norm(u - H^(-1) g)_H^2$ up to what is free of $theta$, for every $d$: least at $u = "
            "H^(-1) g$ and nowhere else, where the gradient vanishes."
        ),
    ),
)

# --- (10) and (11) ---


def _recentred(constant: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """Both for every n and d, D = ||Y||²/2 and D~ = ||rest||²/2 + theta^'X'rest; and the derivatives by theta of both
    sides for small d.
    """
    X, Y, theta, hat, *_ = data()
    rest = Y - X * hat
    first = square(Y - X * theta) - square(Y) - square(X * theta) + 2 * constant * Y.T * X * theta
    yield "(10), every n, d", scalar(first)
    second = square(rest - X * (theta - hat)) - square(rest) - square(X * (theta - hat))
    yield "(11), every n, d", scalar(second - 2 * hat.T * X.T * rest + 2 * constant * theta.T * X.T * rest)
    for d in (1, 2):
        X, Y, theta, _ = small_system(d)
        hat = sympy.Matrix(sympy.symbols(f"h0:{d}"))
        rest = Y - X * hat
        pairs = {
            "(10)": (
                squared_length(Y - X * theta) / 2,
                squared_length(X * theta) / 2 - constant * (Y.T * X * theta)[0],
            ),
            "(11)": (
                squared_length(rest - X * (theta - hat)) / 2,
                squared_length(X * (theta - hat)) / 2 - constant * (theta.T * X.T * rest)[0],
            ),
        }
        for label, (left, right) in pairs.items():
            for i in range(d):
                yield f"{label}, d = {d}, entry {i + 1}", sympy.expand(sympy.diff(left - right, theta[i]))


EQ10_11 = Claim(
    id="ols/eq10-11",
    where="Section 3.2.2",
    equation="(10), (11)",
    kind="identity",
    statement=(
        "$1/2 norm(Y - X theta)^2 = D + 1/2 norm(X theta)^2 - Y^top X theta$ and $1/2 norm(Y - X hat(theta) - X (theta "
        "- hat(theta)))^2 = tilde(D) + 1/2 norm(X (theta - hat(theta)))^2 - theta^top X^top (Y - X hat(theta))$, "
        "$D, tilde(D)$ free of $theta$."
    ),
    checks=(Symbolic(residuals=_recentred, impostors={"twice the cross term": {"residuals": {"constant": 2}}}),),
)

# --- the energy of the fit ---


def _pythagoras(factor: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """||Y||² - ||X theta*||² - ||Y - X theta*||² is twice theta*'X'(Y - X theta*), which the normal equations make
    0.
    """
    X, Y, _, fit, *_ = data()
    rest = Y - X * fit
    left = square(Y) - square(X * fit) - factor * square(rest)
    yield "every n, d", scalar(left - 2 * fit.T * X.T * rest)


def _outcomes(least: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """C_Y² - y² for C_Y = |y| + a."""
    y, a = sympy.symbols("y a", positive=True)
    yield "C_Y² - y_i²", (least * y + a) ** 2 - y**2


def _energies(X: np.ndarray, y: np.ndarray, width: float, upper: float = 1.0) -> tuple[Any, Any]:
    """||X theta*||² <= ||Y||² <= n C_Y², as two pairs: 4 records of 2 columns, `width` scales the second."""
    matrix = X.reshape(4, 2) * np.array([1.0, width])
    data = LeastSquares(
        regressors=matrix / max(1.0, np.linalg.norm(matrix, axis=1).max()), outcome=y, outcome_bound=2.0
    )
    energy = float(np.sum((data.regressors @ data.theta_star) ** 2))
    chain = (energy, upper * data.y_squared, upper * data.n * data.outcome_bound**2)
    return max(pairwise(chain), key=lambda pair: pair[0] - pair[1])


def _fitted() -> list[dict[str, Any]]:
    """Y in the span of X, where the first inequality is an equality; one column zero; all |y_i| = C_Y."""
    X = np.array([0.5, 0.1, -0.3, 0.2, 0.4, 0.4, -0.2, 0.6])
    span = X.reshape(4, 2) @ np.array([1.5, -1.0])
    return [
        {"X": X, "y": span, "width": 1.0},
        {"X": X, "y": span, "width": 0.0},
        {"X": X, "y": np.array([2.0, -2.0, 2.0, 2.0]), "width": 1.0},
    ]


ENERGY = Claim(
    id="ols/energy",
    where="Section 3.1, item 1",
    equation="before (5)",
    kind="inequality",
    statement="$norm(X theta^*)^2 <= norm(Y)^2 <= n C_Y^2$.",
    setting='Searched for $n = 4$, $d = 2$, rank 1 and $Y in op("col")(X)$ included.',
    checks=(
        Search(
            sides=_energies,
            box={"X": (Real(-1.0, 1.0), 8), "y": (Real(-2.0, 2.0), 4), "width": Real(0.0, 1.0)},
            extremal=_fitted,
            evaluations=1000,
            impostors={"1 % less": {"sides": {"upper": 0.99}}},
            role="control",
        ),
        Symbolic(
            residuals=_pythagoras,
            nonnegative=_outcomes,
            impostors={
                "twice the residual": {"residuals": {"factor": 2}},
                "any C_Y": {"nonnegative": {"least": 0}},
            },
        ),
    ),
    derivation=Derivation(
        text=(
            "$X^top (Y - X theta^*) = 0$ for every minimiser $theta^*$, whatever the rank of $X$, so $norm(Y)^2 = "
            "norm(X theta^*)^2 + norm(Y - X theta^*)^2$; and $norm(Y)^2$ has $n$ terms $y_i^2 <= C_Y^2$."
        ),
    ),
)
