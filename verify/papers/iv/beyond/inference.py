"""Beyond the paper: standard errors of 2SLS and how strong instruments are, as `solve iv --csv` prints them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg import eigh

from dpbounds.iv.inference import instrument_strength, two_stage_inference
from verify.checks import Agreement, Fact, Holds, Times
from verify.statements.claims import Claim

N, Q = 60, 4


def _data(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two endogenous regressors and a control, which is the first instrument; errors whose variance varies."""
    Z, u = rng.standard_normal((N, Q)), rng.standard_normal(N)
    X = np.column_stack([Z @ [0.5, 0.9, 0.2, -0.4] + u, Z @ [0.1, 0.3, -0.8, 0.6] + rng.standard_normal(N), Z[:, 0]])
    return Z, X, X @ [1.0, 2.0, 3.0] + u * (1 + np.abs(Z[:, 1]))


def _left(columns: np.ndarray, onto: np.ndarray) -> np.ndarray:
    """Residuals of least squares."""
    return columns - onto @ np.linalg.lstsq(onto, columns, rcond=None)[0]


def _facts(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Two regressions one after the other, sums over records, and sums of squares with and without instruments."""
    Z, X, Y = _data(rng)
    fitted = X - _left(X, Z)
    beta = np.linalg.lstsq(fitted, Y, rcond=None)[0]
    u = Y - X @ beta
    bread = np.linalg.inv(sum(np.outer(x, x) for x in fitted))
    meat = sum(e**2 * np.outer(x, x) for e, x in zip(u, fitted, strict=True))
    for intercept in (False, True):
        free = N - 3 - intercept
        found = two_stage_inference(Z, X, Y, intercept=intercept)
        yield Fact("2SLS", found.estimate, beta, 1e-9)
        variances = np.diag(bread) * (u @ u) / free
        yield Fact("homoskedastic", found.homoskedastic, np.sqrt(variances), 1e-9)
        yield Fact("robust", found.robust, np.sqrt(np.diag(bread @ meat @ bread) * N / free), 1e-9)
        strength = instrument_strength(Z, X, intercept=intercept)
        left, restricted = _left(X[:, :2], Z), _left(X[:, :2], Z[:, :1])
        degrees = N - Q - intercept
        gained = np.sum(restricted**2, axis=0) - np.sum(left**2, axis=0)
        statistics = gained / 3 / (np.sum(left**2, axis=0) / degrees)
        yield Fact("F", strength.partial_F[:2], statistics, 1e-9)
        yield Holds("a control is its own instrument: its F is infinite", bool(np.isinf(strength.partial_F[2])))
        least = eigh(restricted.T @ restricted - left.T @ left, left.T @ left / degrees, eigvals_only=True)[0] / 3
        yield Fact("Cragg and Donald", strength.cragg_donald, least, 1e-9)


INFERENCE = Claim(
    id="iv/beyond-standard-errors",
    where="`solve iv` on data",
    kind="number",
    statement=(
        (
            "The standard errors of 2SLS, homoskedastic and robust (HC1), are those of the second of two regressions "
            "with the residuals of the true regressors;"
        ),
        (
            "the first-stage $F$ and the statistic of Cragg and Donald compare sums of squares with and without the "
            "excluded instruments."
        ),
    ),
    setting="$n = 60$, two endogenous regressors, a control, four instruments; with and without an intercept.",
    checks=(Agreement(decides="ab", facts=_facts, impostors={"1 % off": {"facts": Times(1.01)}}),),
)
