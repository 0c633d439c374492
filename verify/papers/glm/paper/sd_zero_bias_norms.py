"""Appendix D.2: the norms in the proof of Theorem 24."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import sympy

from verify.checks import Search, Symbolic
from verify.checks.domains import Real
from verify.statements.claims import Claim
from verify.statements.derivations import Derivation

MOST = 8


def _dominant(flat: np.ndarray, p: int = 4) -> np.ndarray:
    """A symmetric positive, diagonally dominant B from numbers in [-1, 1]."""
    matrix = np.zeros((p, p))
    upper = np.triu_indices(p, 1)
    matrix[upper] = flat[: len(upper[0])]
    matrix = matrix + matrix.T
    rest = np.abs(matrix).sum(axis=1)
    return matrix + np.diag(rest + 0.01 + np.abs(flat[len(upper[0]) :][:p]))


def _row_norm(matrix: np.ndarray) -> float:
    return float(np.abs(matrix).sum(axis=1).max())


def _norm_chain(entries: np.ndarray, *, factor: float = 2.0) -> tuple[float, float]:
    """The tightest link of ||B||_inf <= 2 max B_ii <= 2 ||B|| <= 2 r sqrt(rho_2 / p) with r^2 = Tr B^2."""
    root = _dominant(entries)
    spectrum = np.linalg.eigvalsh(root)
    end = factor * math.sqrt(float(np.sum(spectrum**2))) * spectrum[-1] / spectrum[0] / math.sqrt(len(root))
    links = (_row_norm(root), factor * float(root.diagonal().max()), factor * float(spectrum[-1]), end)
    pairs = list(itertools.pairwise(links))
    return max(pairs, key=lambda pair: pair[0] / pair[1])


def _spread(*, share: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """rho_2 r^2 / p - lambda_max for r^2 at least the trace, p = 4: lambda_min = l, the others l + a, l + a + b, l + a
    + b + c, and what r^2 is more, d.
    """
    least, a, b, c, d = sympy.symbols("l a b c d", positive=True)
    top = least + a + b + c
    trace = 4 * least + 3 * a + 2 * b + c
    yield "rho_2 r^2 / p - lambda_max", top / least * (trace + d) / (4 * share) - top


ROOT_NORM = Symbolic(nonnegative=_spread, impostors={"half of it": {"nonnegative": {"share": 2}}})
NORM = (
    "Let $B = Sigma^(1\\/2)$. Its rows sum to $2 B_(i i)$ at most, since it dominates its other entries; $B_(i i) <= "
    'norm(B)_2 = norm(Sigma)^(1\\/2)$; and $p lambda_min <= op("Tr") Sigma = bb(E) norm(x)_2^2 <= r^2$ gives '
    "$norm(Sigma) = rho_2 lambda_min <= rho_2 r^2\\/p$. "
)


D2_NORM = Claim(
    id="glm/d2-norm",
    where="D.2",
    kind="inequality",
    statement=(
        "$norm(Sigma^(1\\/2))_infinity <= 2 max_i Sigma^(1\\/2)_(i i) <= 2 norm(Sigma)^(1\\/2) <= 2 r sqrt(rho_2\\/p)$."
    ),
    hypotheses="$Sigma^(1\\/2)$ diagonally dominant, $norm(x)_2 <= r$",
    equation="D.2",
    setting="$p = 4$, the smallest $r$ that $Sigma$ allows.",
    checks=(
        Search(
            sides=_norm_chain,
            box={"entries": (Real(-1.0, 1.0), 10)},
            extremal=lambda: ({"entries": np.r_[np.ones(6), np.full(4, 0.0)]},),
            evaluations=3000,
            impostors={"1.9 in place of 2": {"sides": {"factor": 1.9}}},
            role="control",
        ),
        ROOT_NORM,
    ),
    derivation=Derivation(text=NORM, lemmas=("Rayleigh",)),
)


def _condition(entries: np.ndarray, p: float, *, power: int = 2, factor: float = 1.0) -> tuple[float, float]:
    """cond_inf of B = Sigma^{1/2} against that of Sigma = B^2."""
    root = _dominant(entries, math.floor(p))
    whole = np.linalg.matrix_power(root, power)
    condition = _row_norm(whole) * _row_norm(np.linalg.inv(whole))
    return _row_norm(root) * _row_norm(np.linalg.inv(root)), factor * condition


def _every_dimension(entries: np.ndarray, p: float, *, factor: float = 4.0) -> tuple[float, float]:
    """||B||_inf^2 <= 4 ||B^2||_inf: (B^2)_ii >= B_ii^2 and a row of B sums to 2 B_ii at most. With ||B^{-1}||_inf <=
    ||B||_inf ||B^{-2}||_inf the condition number of B is at most 4 times that of B^2.
    """
    root = _dominant(entries, math.floor(p))
    return _row_norm(root) ** 2, factor * _row_norm(root @ root)


_MATRICES = {"entries": (Real(-1.0, 1.0), MOST * (MOST + 1) // 2), "p": Real(2.0, MOST + 0.99)}
_IDENTITY = {"entries": np.zeros(MOST * (MOST + 1) // 2), "p": 4.0}


D2_RHO = Claim(
    id="glm/d2-rho",
    where="D.2",
    kind="inequality",
    statement="$norm(Sigma^(-1\\/2))_infinity norm(Sigma^(1\\/2))_infinity <= rho_infinity$.",
    hypotheses="$Sigma^(1\\/2)$ diagonally dominant",
    equation="D.2",
    setting="$rho_infinity$ of $Sigma$, as Lemma 12 has it; $p$ from 2 to 8.",
    remark=(
        "With equality for $Sigma = I$. Searched, not proved; up to a factor 4 it holds for every $p$, by "
        "$norm(Sigma^(1\\/2))_oo^2 <= 4 norm(Sigma)_oo$ and $norm(Sigma^(-1\\/2))_oo <= norm(Sigma^(1\\/2))_oo "
        "norm(Sigma^(-1))_oo$."
    ),
    checks=(
        Search(
            sides=_condition,
            box=_MATRICES,
            extremal=lambda: (_IDENTITY,),
            evaluations=6000,
            impostors={"1 % less": {"sides": {"factor": 0.99}}},
        ),
        Search(
            sides=_every_dimension,
            box=_MATRICES,
            extremal=lambda: (_IDENTITY,),
            evaluations=2000,
            impostors={"a quarter of 4": {"sides": {"factor": 0.99}}},
        ),
    ),
)
