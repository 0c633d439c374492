"""Appendix F.2: two-stage least squares as a Lipschitz function of its moments."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import sympy

from dpbounds.iv.friendly_core import lipschitz_constant
from verify.checks import Agreement, Fact, Search, Symbolic, Times
from verify.checks.domains import Real
from verify.papers.iv.tools.reference import rational_records
from verify.statements.claims import Claim, Correction, Fault
from verify.statements.derivations import Derivation


def _with_inverse_n(rng: np.random.Generator, *, divided: bool = True) -> Iterator[Fact]:
    """X'P_Z X and X'P_Z y against products of the second moments, exact rationals."""
    for n, q, p in ((2, 1, 1), (5, 3, 2), (7, 2, 2)):
        data = rational_records(rng, n, q, p)
        Z, X, Y = (sympy.Matrix(part.tolist()) for part in data)
        P, scale = Z * (Z.T * Z).inv() * Z.T, sympy.Rational(1, n if divided else 1)
        inverse = (Z.T * Z / n).inv()
        for name, other in (("G", X), ("h", Y)):
            product = (X.T * Z / n) * inverse * (Z.T * other / n)
            yield Fact(f"{name} at n = {n}, q = {q}, p = {p}", (scale * X.T * P * other).flat(), product.flat(), 0)


def _moments(*, divided: bool = True) -> Iterator[tuple[Any, ...]]:
    """X'P_Z X / n and X'P_Z y / n, matrices of any size as letters that do not commute; W = Z'Z, `across` = X'Z."""
    n = sympy.Symbol("n", positive=True)
    W, across, down, outcome = sympy.symbols("W XZ ZX Zy", commutative=False)
    for name, other in (("G", down), ("h", outcome)):
        product = (across / n) * (n * W**-1) * (other / n)
        yield name, across * W**-1 * other / (n if divided else 1), product


FC_G = Claim(
    id="iv/fc-g",
    where="App. F.2",
    page=35,
    kind="identity",
    statement=(
        "$G(s) := X^T P_Z X = Sigma_(x z) Sigma_(z z)^(-1) Sigma_(z x)$ and $h(s) := X^T P_Z y = Sigma_(x z) "
        "Sigma_(z z)^(-1) Sigma_(z y)$ with $Sigma_(a b) = 1/n a^T b$."
    ),
    setting="Exact rationals, $n = 2, 5, 7$.",
    checks=(Agreement(facts=partial(_with_inverse_n, divided=False), closed=True),),
    fault=Fault(
        severity="slip",
        touches="text",
        finding=(
            "$X^T P_Z X = n Sigma_(x z) Sigma_(z z)^(-1) Sigma_(z x)$: the factor $n$ is missing, and likewise for "
            "$X^T P_Z y$."
        ),
        consequence="None: the factor cancels in $beta = G^(-1) h$.",
    ),
    correction=Correction(
        statement=(
            "$G(s) := 1/n X^T P_Z X = Sigma_(x z) Sigma_(z z)^(-1) Sigma_(z x)$ and $h(s) := 1/n X^T P_Z y = Sigma_(x "
            "z) Sigma_(z z)^(-1) Sigma_(z y)$."
        ),
        ground="$P_Z = Z (Z^T Z)^(-1) Z^T$ holds one inverse of order $1\\/n$ and two factors of order $n$.",
        checks=(
            Symbolic(residuals=_moments, impostors={"without 1/n": {"residuals": {"divided": False}}}),
            Agreement(facts=_with_inverse_n, role="control", impostors={"without 1/n": {"facts": {"divided": False}}}),
        ),
        derivation=Derivation(
            text=(
                "Both are proved for matrices of any size, with letters that do not commute; $P_Z = Z (Z^top Z)^(-1) "
                "Z^top$."
            ),
        ),
    ),
)


def _difference(sign: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """(53) for matrices of any size, letters that do not commute."""
    first, second, h, k = sympy.symbols("G_1 G_2 h_1 h_2", commutative=False)
    left = first**-1 * h - second**-1 * k
    right = first**-1 * (h - k) + sign * first**-1 * (second - first) * second**-1 * k
    yield "beta_1 - beta_2", left - right


DIFFERENCE = Symbolic(residuals=_difference, impostors={"other sign": {"residuals": {"sign": -1}}})


def _norm_bound(entries):
    """(53) in norms for random 2 x 2 matrices."""
    G1, G2 = (_regular(entries[:, k : k + 4].reshape(-1, 2, 2)) for k in (0, 4))
    h1, h2 = entries[:, 8:10], entries[:, 10:12]
    inverse1, inverse2 = np.linalg.inv(G1), np.linalg.inv(G2)
    left = np.einsum("nij,nj->ni", inverse1, h1) - np.einsum("nij,nj->ni", inverse2, h2)
    first, second = (np.linalg.norm(inverse, 2, axis=(1, 2)) for inverse in (inverse1, inverse2))
    change = np.linalg.norm(G2 - G1, 2, axis=(1, 2))
    right = first * np.linalg.norm(h1 - h2, axis=1) + first * change * second * np.linalg.norm(h2, axis=1)
    return np.linalg.norm(left, axis=1), right


def _regular(G: np.ndarray) -> np.ndarray:
    """The identity in place of singular matrices."""
    singular = np.abs(np.linalg.det(G)) < 1e-3
    return np.where(singular[:, None, None], np.eye(2), G)


def _aligned() -> list[dict[str, Any]]:
    """G_1 = I, G_2 = 2 I, h_1 = 2 h_2: all parts point the same way."""
    return [{"entries": [1.0, 0, 0, 1, 2, 0, 0, 2, 2, 0, 1, 0]}]


EQ_53 = Claim(
    id="iv/eq-53",
    where="App. F.2",
    page=36,
    equation="(53)",
    kind="identity",
    statement=(
        "$beta_1 - beta_2 = G_1^(-1) (h_1 - h_2) + G_1^(-1) (G_2 - G_1) G_2^(-1) h_2$, hence $norm(beta_1 - "
        "beta_2) <= norm(G_1^(-1)) norm(h_1 - h_2) + norm(G_1^(-1)) norm(G_2 - G_1) norm(G_2^(-1)) norm(h_2)$."
    ),
    checks=(
        DIFFERENCE,
        Search(
            sides=_norm_bound,
            role="control",
            box={"entries": (Real(-3.0, 3.0), 12)},
            rounding=1e-7,
            extremal=_aligned,
            vectorised=True,
            impostors={"1 % less": {"sides": Times(1, 0.99)}},
        ),
    ),
    derivation=Derivation(
        text="The identity is proved for matrices of any size, with letters that do not commute; then take norms.",
        lemmas=("triangle inequality", "submultiplicativity"),
    ),
)


def _moments_of(entries: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(s, G(s), h(s)) for q = 3, p = 2: A = C C' + 0.05 I from the first nine entries, then Z'X/n and Z'Y/n."""
    C, Szx, Szy = entries[:, :9].reshape(-1, 3, 3), entries[:, 9:15].reshape(-1, 3, 2), entries[:, 15:18, None]
    A = C @ np.swapaxes(C, 1, 2) + 0.05 * np.eye(3)
    turned = np.swapaxes(np.linalg.solve(A, Szx), 1, 2)
    s = np.concatenate([A.reshape(-1, 9), Szx.reshape(-1, 6), Szy.reshape(-1, 3)], axis=1)
    return s, turned @ Szx, (turned @ Szy)[..., 0]


def _lipschitz(base, move, length, second: float = 1.0):
    """|beta_1 - beta_2| against L |s_1 - s_2| with lambda_0, C_G, C_h measured on the pair, C_h the larger of a bound
    on h_2 and a Lipschitz constant of h.
    """
    (s1, G1, h1), (s2, G2, h2) = _moments_of(base), _moments_of(base + length[:, None] * move)
    distance = np.maximum(np.linalg.norm(s1 - s2, axis=1), 1e-300)
    lambda_0 = np.minimum(*(np.linalg.eigvalsh(G)[:, 0] for G in (G1, G2)))
    sound = lambda_0 > 1e-4
    lambda_0 = np.where(sound, lambda_0, 1.0)
    G1, G2 = (np.where(sound[:, None, None], G, np.eye(2)) for G in (G1, G2))
    beta1, beta2 = (np.linalg.solve(G, h[..., None])[..., 0] for G, h in ((G1, h1), (G2, h2)))
    C_G = np.linalg.norm(G1 - G2, 2, axis=(1, 2)) / distance
    C_h = np.maximum(np.linalg.norm(h2, axis=1), np.linalg.norm(h1 - h2, axis=1) / distance)
    L = [float(lipschitz_constant(*constants)) for constants in zip(C_h, second * C_G, lambda_0, strict=True)]
    change = np.linalg.norm(beta1 - beta2, axis=1)
    return np.where(sound, change, 0.0), np.where(sound, np.array(L) * distance, 1.0)


def _weak_point() -> list[dict[str, Any]]:
    """One weak direction, h unchanged while G moves."""
    C = (math.sqrt(0.95) * np.eye(3)).ravel().tolist()
    first = [*C, 0.1, 0.0, 0.0, 1.0, 0.0, 0.0, 0.01, 0.0, 0.0]
    move = [0.0] * 9 + [0.01, 0.0, 0.0, 0.0, 0.0, 0.0, 0.001 / 0.11 - 0.01, 0.0, 0.0]
    return [{"base": first, "move": move, "length": 1.0}]


def _slopes(rng: np.random.Generator) -> Iterator[Fact]:
    """`lipschitz_constant` attained by short moves: scalars h / G with h growing and G falling at their constants."""
    for C_h, C_G, lambda_0 in ((3.0, 2.0, 0.5), (1.0, 7.0, 2.0)):
        moved = (C_h + C_h * 1e-8) / (lambda_0 - C_G * 1e-8)
        label = f"C_h = {C_h}, C_G = {C_G}, lambda_0 = {lambda_0}"
        yield Fact(label, (moved - C_h / lambda_0) / 1e-8, lipschitz_constant(C_h, C_G, lambda_0), 1e-5)


FC_LIP = Claim(
    id="iv/fc-lip",
    where="App. F.2, below (53)",
    page=36,
    kind="inequality",
    statement=(
        "2SLS is Lipschitz in the moments with $L = C_h/lambda_0 + (C_G C_h)/lambda_0^2$ where $lambda_min (G_i) "
        ">= lambda_0$."
    ),
    remark=(
        "$C_h$ stands for two constants in the paper, a bound on $norm(h_2)$ and a Lipschitz constant of $h$: read as "
        "the larger."
    ),
    setting="Constants measured on each pair of moments, $q = 3$, $p = 2$.",
    checks=(
        DIFFERENCE,
        Agreement(facts=_slopes, role="control", impostors={"1 % off": {"facts": Times(1.01)}}),
        Search(
            sides=_lipschitz,
            role="control",
            box={
                "base": (Real(-2.0, 2.0), 18),
                "move": (Real(-1.0, 1.0), 18),
                "length": Real(1e-3, 1.0, "log"),
            },
            extremal=_weak_point,
            vectorised=True,
            evaluations=5000,
            impostors={"second term dropped": {"sides": {"second": 0.0}}},
        ),
    ),
    derivation=Derivation(
        text=(
            "By (53), proved for matrices of any size, with $norm(G_i^(-1)) <= 1\\/lambda_0$, $norm(h_1 - h_2) <= C_h "
            "norm(s_1 - s_2)$, $norm(G_1 - G_2) <= C_G norm(s_1 - s_2)$ and $norm(h_2) <= C_h$."
        ),
        lemmas=("triangle inequality", "submultiplicativity"),
    ),
)
