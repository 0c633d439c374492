"""Section 4.3, Residual Sensitivity: Proposition 3 on the two least eigenvalues, and what follows."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpbounds.ols import Features, Gram, bounds, features
from verify.checks import Search
from verify.checks.domains import Real
from verify.statements.claims import Claim

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
        ),
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
        ),
    ),
)
