"""Written derivations: what joins the proofs among a claim's checks to its whole statement.

A search at points says more when the statement follows from an identity that is proved and a lemma of the books. A
derivation is that chain, in a few sentences (Typst markup): each step is a proof among the checks, algebra that the
reader sees, or a lemma of the list below. With it the other checks are controls. Without one a claim stands on the
weakest of its checks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dpbounds import DomainError
from verify.checks.base import Check

# By the names under which the books have them.
LEMMAS: Mapping[str, str] = {
    "Cauchy-Schwarz": "$abs(x^top y) <= norm(x) norm(y)$.",
    "Jensen": "$f(EE X) <= EE f(X)$ for convex $f$.",
    "Hölder": "$abs(sum x_i y_i) <= norm(x)_p norm(y)_q$ for $1\\/p + 1\\/q = 1$.",
    "triangle inequality": "$norm(x + y) <= norm(x) + norm(y)$, for every norm, sums and integrals too.",
    "submultiplicativity": "$norm(A B) <= norm(A) norm(B)$ for operator norms.",
    "Rayleigh": "The quotients $x^top A x\\/x^top x$ of a symmetric $A$ fill $[lambda_min, lambda_max]$.",
    "Weyl": "$lambda_k (A + B)$ lies between $lambda_k (A) + lambda_min (B)$ and $lambda_k (A) + lambda_max (B)$.",
    "spectral theorem": "A symmetric matrix is diagonal in some orthonormal basis.",
    "Schur complement": "Positive definiteness and inverses of block matrices.",
    "Loewner monotony": '$0 < A <= B$ gives $B^(-1) <= A^(-1)$, and $op("Tr")$ and eigenvalues grow with the matrix.',
    "Parseval": "$1\\/(2 pi) integral abs(f)^2 = sum abs(f_t)^2$ for $f = sum f_t e^(i t omega)$.",
    "residues": "Integrals over the circle of a rational function.",
    "geometric series": "$sum x^t = 1\\/(1 - x)$ for $abs(x) < 1$, and its derivatives.",
    "binomial series": "$(1 - x)^a = sum binom(a, t) (-x)^t$ for $abs(x) < 1$.",
    "induction": "True for the first, and for the next whenever for one: true for all.",
    "monotony": "A function whose derivative has one sign is monotone; of one variable at a time.",
    "mean value theorem": "$f(b) - f(a) = f'(c) (b - a)$.",
    "substitution": "$integral f(g(u)) g'(u) dif u = integral f(x) dif x$, principal values too.",
    "concavity": "A concave function is least at an end of an interval, a convex one largest.",
    "smooth convex functions": (
        "$f(y) >= f(x) + chevron.l nabla f(x), y - x chevron.r + norm(nabla f(y) - nabla f(x))^2\\/(2 L)$ for convex, "
        "$L$-smooth $f$."
    ),
    "linearity": "Expectations, traces and integrals of sums.",
    "independence": "Expectations of products of independent factors, variances of their sums.",
    "total expectation": "$EE X = EE EE[X|Y]$.",
    "Isserlis": "Moments of centred normal variables by pairings.",
    "Stein": "$EE x f(x) = Sigma EE nabla f(x)$ for $x ~ cal(N)(0, Sigma)$.",
    "Markov": "$PP(X >= a) <= EE X\\/a$, of exponentials too (Chernoff).",
    "Davidson and Szarek": (
        "A $k times r$ matrix of independent standard normal entries has its singular values within $sqrt(k) "
        "plus.minus (sqrt(r) + t)$ but for probability $2 e^(-t^2\\/2)$ (Theorem II.13)."
    ),
    "matrix Chernoff": (
        "$PP(norm(sum_i g_i A_i) >= t) <= 2 d e^(-t^2\\/(2 v))$, $v = norm(sum_i A_i^2)$, for symmetric $d times d$ "
        "$A_i$ and independent standard normal $g_i$ (Tropp, Theorem 4.1)."
    ),
    "union bound": "$PP(union A_i) <= sum PP(A_i)$.",
    "data processing": "What is computed from a private release costs no more.",
    "Rényi divergence of normal laws": "$alpha norm(mu_1 - mu_2)^2_(Sigma^(-1))\\/2$ for a common covariance.",
    "basic composition": (
        "Releases that are $(epsilon_i, delta_i)$-private are together $(sum epsilon_i, sum delta_i)$-private (Dwork "
        "and Roth, Theorem 3.16)."
    ),
    "zCDP of a sum": "Budgets add, each release chosen after the last; parallel releases cost the largest.",
    "GDP of a sum": "Squares of $mu$ add, each release chosen after the last (Dong, Roth and Su, Corollary 3.3).",
    "privacy profile of the Gaussian mechanism": "Equality for the shift $mu$ (Balle and Wang, Theorem 8).",
}


@dataclass(frozen=True, kw_only=True)
class Derivation:
    """The chain from the proofs to the statement, and the lemmas that it takes."""

    text: str
    lemmas: tuple[str, ...] = ()


def check_derivation(place: str, derivation: Derivation | None, checks: Sequence[Check]) -> None:
    """Raise `DomainError` for a lemma that is not on the list, for a control without a derivation, and for a clause
    that a control decides and no proof.
    """
    controls = "".join(check.clauses for check in checks if check.role == "control")
    if derivation is None:
        if controls:
            remedy = "give the derivation that joins the proofs to the statement"
            raise DomainError(f"role of a check of {place}", "control", "a proof without a derivation", remedy)
        return
    unknown = [name for name in derivation.lemmas if name not in LEMMAS]
    if unknown:
        raise DomainError(f"lemmas of {place}", unknown[0], f"one of {', '.join(LEMMAS)}")
    proofs = "".join(check.clauses for check in checks if check.role == "proof")
    bare = sorted(set(controls) - set(proofs))
    if bare or not proofs:
        raise DomainError(f"derivation of {place}", f"clause {', '.join(bare)}", "of clauses that a proof decides")
