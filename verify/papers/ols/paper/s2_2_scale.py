"""Section 2.2: the bound C_X = 1 without loss of generality."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import sympy

from dpbounds.ols.newton import Newton
from simulators.engine import Streams
from simulators.ols import (
    AdaSSP,
    GradientDescent,
    HessianMixing,
    LeastSquares,
    LinearMixing,
    adassp,
    gradient_descent,
    hessian_mixing,
    linear_mixing,
    recentred_newton,
)
from verify.checks import Agreement, Fact, Symbolic
from verify.statements.claims import Claim
from verify.statements.derivations import Derivation


@cache
def _columns() -> tuple[np.ndarray, np.ndarray]:
    """30 records of 3 regressors within the unit ball, and outcomes."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((30, 3))
    return X / np.linalg.norm(X, axis=1).max(), rng.uniform(-1, 1, 30)


def _scaled(x: float, y: float = 1.0) -> LeastSquares:
    X, Y = _columns()
    return LeastSquares(regressors=x * X, outcome=y * Y, row_bound=x, outcome_bound=y)


def _streams() -> Streams:
    """The same draws every time."""
    return Streams(**{name: np.random.default_rng(5) for name in ("noise", "data", "initial")})


def _invariant(rng: np.random.Generator, wrong: float = 1.0) -> Iterator[Fact]:
    """X theta^ on X and on c X, bound c, same draws. Linear mixing sketches (X, Y): both are scaled, and DP-GD's noise,
    clip norm and rate are not in units of C_X: they are scaled by hand.
    """
    mixing = HessianMixing(steps=3, k=12, gamma=4.0, tau=2.0, sigma=1.5, clip=0.7, keep_ridge=True)
    ssp = AdaSSP(eigenvalue_scale=1.0, gram_scale=0.5, cross_scale=0.7, shift=1.0, ridge=6.0)
    linear = LinearMixing(k=12, gamma=3.0, tau=2.0)
    for c in (0.5, 3.0):
        common = {"streams": _streams, "trials": 4}
        cases: tuple[tuple[str, Any, Any, tuple[float, float]], ...] = (
            ("IHM", hessian_mixing, (mixing, mixing), (c, 1.0)),
            ("AdaSSP", adassp, (ssp, ssp), (c, 1.0)),
            ("PRN", recentred_newton, (Newton(mu=2.0), Newton(mu=2.0)), (c, 1.0)),
            ("LinMix", linear_mixing, (linear, linear), (c, c)),
            ("DP-GD", gradient_descent, (_descent(1.0), _descent(c)), (c, 1.0)),
        )
        for name, run, settings, bounds in cases:
            small, large = _scaled(1.0), _scaled(*bounds)
            first = run(small, settings[0], common["streams"](), common["trials"])["theta"] @ small.regressors.T
            second = run(large, settings[1], common["streams"](), common["trials"])["theta"] @ large.regressors.T
            yield Fact(f"{name}, c = {c}", second, wrong * bounds[1] * first, 1e-8)


def _descent(c: float) -> GradientDescent:
    return GradientDescent(steps=3, rate=0.25 / c**2, sigma=0.1 * c, clip=0.3 * c)


def _scaled_back(power: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """(X / c) (c theta) - X theta, d = 1, 2, 3, two records."""
    c = sympy.Symbol("c", positive=True)
    for d in (1, 2, 3):
        X = sympy.Matrix(2, d, lambda i, j: sympy.Symbol(f"x{i}{j}"))
        theta = sympy.Matrix(sympy.symbols(f"t0:{d}"))
        yield f"d = {d}", (X / c) * (c**power * theta) - X * theta


DEF_SCALE = Claim(
    id="ols/def-scale",
    where="Section 2.2",
    equation="after (A1)",
    kind="identity",
    statement=(
        "$X' = X \\/ C_X$ and $theta' = C_X theta$ leave $X theta$ unchanged, so $C_X = 1$ without loss of generality."
    ),
    remark=(
        "Algorithms 1, 2, 4, 6 give the same fit on scaled data and bounds, draw by draw (linear mixing with $Y$ "
        "scaled too); Algorithm 7 with its rate over $C_X^2$; Algorithm 3 only without its last factor $C_X$."
    ),
    checks=(
        Symbolic(residuals=_scaled_back, impostors={"C_X² theta": {"residuals": {"power": 2}}}),
        Agreement(facts=_invariant, impostors={"0.1 % off": {"facts": {"wrong": 1.001}}}, role="control"),
    ),
    derivation=Derivation(
        text=(
            "$(X\\/C_X) (C_X theta) = X theta$, record by record, so loss and risk of $theta'$ on $X'$ are those of "
            "$theta$ on $X$; the rows of $X'$ are no longer than 1 exactly if those of $X$ are no longer than $C_X$, "
            "and zero-out neighbours stay so. A method for $C_X = 1$, run on $X'$ and its answer divided by $C_X$, is "
            "one for $C_X$ with the same privacy."
        ),
        lemmas=("data processing",),
    ),
)
