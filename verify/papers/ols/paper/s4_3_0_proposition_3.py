"""Section 4.3, Residual Sensitivity: Proposition 3 on the two least eigenvalues, and what follows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import sympy

from dpbounds.ols import Features, Gram, bounds, features
from verify.checks import Search, Symbolic
from verify.checks.domains import Real
from verify.papers.ols.tools.forms import data, scalar, square
from verify.statements.claims import Claim
from verify.statements.derivations import Derivation

# --- Proposition 3 and what follows ---


def _two_eigenvalues(X: np.ndarray, y: np.ndarray, width: float) -> tuple[float, float, float, float]:
    """lambda^XY, lambda^X, L(theta*) and ||theta*||² of 4 records of 2 columns, the second scaled by `width`; as
    `features` gives them, and all but its cut at Proposition 3 against singular values of the records.
    """
    matrix = X.reshape(4, 2) * np.array([1.0, width])
    joint = np.linalg.svd(np.column_stack([matrix, y]), compute_uv=False)[-1] ** 2
    found = features(Gram(A=matrix.T @ matrix, b=matrix.T @ y, y_squared=float(y @ y), n=4))
    return joint, found.lambda_min, found.residual, found.theta_squared


def _smallest(X: np.ndarray, y: np.ndarray, width: float, factor: float = 1.0) -> tuple[float, float]:
    joint, least, residual, squared = _two_eigenvalues(X, y, width)
    return factor * joint, min(least, residual / (1 + squared)) + 1e-12


def _orthogonal() -> list[dict[str, Any]]:
    """Y orthogonal to the columns: theta* = 0 and lambda^XY = min{lambda^X, L}, an equality; and a smaller L."""
    X = np.array([0.5, 0.0, 0.5, 0.0, 0.0, 0.7, 0.0, 0.7])
    return [{"X": X, "y": size * np.array([1.0, -1.0, 1.0, -1.0]), "width": 1.0} for size in (1.0, 0.2)]


RECORDS = {"X": (Real(-1.0, 1.0), 8), "y": (Real(-1.0, 1.0), 4), "width": Real(0.05, 1.0)}


def _quotients(*, least: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """The quadratic form of (X, Y)'(X, Y) at (theta, -1) is L(theta), and at (v, 0) ||X v||²: by its blocks for every n
    and d, and whole for d = 1, 2, 3 and d + 1 records.
    """
    X, Y, theta, *_ = data()
    blocks = square(X * theta) - 2 * least * theta.T * X.T * Y + least**2 * square(Y)
    yield "every n, d", scalar(blocks - square(Y - X * theta))
    for d in (1, 2, 3):
        X = sympy.Matrix(d + 1, d, lambda i, j: sympy.Symbol(f"x{i}{j}"))
        Y, theta = (sympy.Matrix(sympy.symbols(f"{name}0:{size}")) for name, size in (("y", d + 1), ("t", d)))
        joint = sympy.Matrix.hstack(X, Y)
        for label, last, rest in ((f"(theta, -1), d = {d}", -least, X * theta - Y), (f"(v, 0), d = {d}", 0, X * theta)):
            u = sympy.Matrix([*theta, last])
            yield label, sympy.expand((u.T * joint.T * joint * u)[0] - (rest.T * rest)[0])


def _above_both(*, size: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """Both branches of (15) less a (1 + t), a = gamma_mix (1 + C_Y²), t = ||theta*||², L = lambda (1 + t) + c."""
    a, t, lam, c = sympy.symbols("a t lambda c", positive=True)
    residual = lam * (1 + t) + c
    yield "first branch", a * (1 + t) + residual - lam * (1 + t) - size * a * (1 + t)
    yield "second branch", a * residual / lam - size * a * (1 + t)


QUOTIENTS = Symbolic(residuals=_quotients, impostors={"(theta, -2)": {"residuals": {"least": 2}}})

PROP_3 = Claim(
    id="ols/prop-3",
    where="Proposition 3 and App. F",
    equation="(150) to (156)",
    kind="inequality",
    statement="$lambda^(X Y)_min <= min{lambda^X_min, L(theta^*) \\/ (1 + norm(theta^*)^2)}$.",
    setting="Searched for $n = 4$, $d = 2$; equality where $Y$ is orthogonal to the columns of $X$.",
    remark="(150) and (154) minimise over $norm(u) <= 1$, which gives 0; $norm(u) = 1$ is meant.",
    checks=(
        Search(
            sides=_smallest,
            box=RECORDS,
            extremal=_orthogonal,
            evaluations=2000,
            impostors={"1 % more": {"sides": {"factor": 1.01}}},
            role="control",
        ),
        QUOTIENTS,
    ),
    derivation=Derivation(
        text=(
            "$norm((X, Y) (v\\; 0))^2 = norm(X v)^2$ and $norm((X, Y) (theta^*\\; -1))^2 = L(theta^*)$, where "
            "$norm((theta^*\\; -1))^2 = 1 + norm(theta^*)^2$: the least quotient of $(X, Y)^top (X, Y)$ is at most "
            "the least of the first, $lambda_min^X$, and the second, for every $n$ and $d$."
        ),
        lemmas=("Rayleigh",),
    ),
)


def _irreducible(X: np.ndarray, y: np.ndarray, width: float, scale: float, share: float = 1.0) -> tuple[float, float]:
    """gamma_mix (1 + C_Y²) (1 + ||theta*||²) against the second branch of (15), for the records repeated `scale` times:
    all of A, b, ||Y||² grow.
    """
    joint, _, residual, squared = _two_eigenvalues(X, y, width)
    joint = min(joint, residual / (1 + squared)) * scale
    if joint < 1e-9:  # singular data have the first branch
        return 0.0, 1.0
    data = Features(joint_lambda_min=joint, residual=residual * scale, theta_squared=squared)
    bound = bounds.linear_mixing(1e-30, data, outcome_bound=0.5)
    return share * 1e-30 * (1 + 0.25) * (1 + squared), float(bound)


PROP_3_COR = Claim(
    id="ols/prop-3-cor",
    where="Section 4.3, Residual Sensitivity",
    equation="(15)",
    kind="inequality",
    statement=(
        r"$L(theta^*) \/ lambda^(X Y)_min >= 1 + norm(theta^*)^2$;",
        "thus the residual term of (15) is irreducible even when $lambda^(X Y)_min >> 1$.",
    ),
    remark=(
        'Of the bound (15), which stays above $gamma_"mix" (1 + C_Y^2) (1 + norm(theta^*)^2)$ for all data. The risk '
        "itself goes to 0 as $lambda^(X Y)_min$ grows with $n$."
    ),
    checks=(
        Search(
            decides="ab",
            sides=_irreducible,
            box={**RECORDS, "scale": Real(1.0, 1e6, "log")},
            extremal=lambda: [{**point, "scale": 1e4} for point in _orthogonal()],
            evaluations=2000,
            impostors={"1 % more": {"sides": {"share": 1.01}}},
            role="control",
        ),
        QUOTIENTS.deciding("a"),
        Symbolic(decides="b", nonnegative=_above_both, impostors={"twice it": {"nonnegative": {"size": 2}}}),
    ),
    derivation=Derivation(
        text=(
            "(a) Proposition 3, by the quotient at $(theta^*\\; -1)$. (b) So $L(theta^*) >= lambda^(X Y)_min (1 + "
            'norm(theta^*)^2)$ and both branches of (15) are at least $gamma_"mix" (1 + C_Y^2) (1 + norm(theta^*)^2)$, '
            "whatever $lambda^(X Y)_min$."
        ),
        lemmas=("Rayleigh",),
    ),
)
