"""Appendix A: the steps of the proof of Lemma 33."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import sympy

from verify.checks import Search, Symbolic
from verify.checks.domains import Real
from verify.statements.claims import Claim, Correction, Fault
from verify.statements.derivations import Derivation

# --- Lemma 27 ---


def _symmetric(flat: np.ndarray, p: int) -> np.ndarray:
    matrix = np.zeros((p, p))
    matrix[np.triu_indices(p)] = flat
    return matrix + np.triu(matrix, 1).T


# --- Lemma 33: the private least squares step ---


def _step(*, sign: int = -1) -> Iterator[tuple[Any, ...]]:
    """w_hat - w_tilde for symmetric 2 x 2 matrices of symbols, times the determinant."""
    a, b, c, e, f, g, x, y, u, v = sympy.symbols("a b c e f g x y u v")
    gram, noise = sympy.Matrix([[a, b], [b, c]]), sympy.Matrix([[e, f], [f, g]])
    cross, other = sympy.Matrix([x, y]), sympy.Matrix([u, v])
    plain, private = gram.inv() * cross, (gram + noise).inv() * (cross + other)
    right = (gram + noise).inv() * (sign * noise * plain + other)
    for k in range(2):
        yield f"component {k + 1}", private[k] - plain[k], right[k]


LEM_33_ID = Claim(
    id="glm/lem-33-id",
    where="Proof of Lemma 33",
    kind="identity",
    statement=(
        '$hat(w)^"ols" - tilde(w)^"ols" = -(X^top X + E_1)^(-1) E_1 tilde(w)^"ols" + (X^top X + E_1)^(-1) E_2$.'
    ),
    equation="Proof of Lemma 33",
    remark="Printed with a norm around the left side.",
    checks=(Symbolic(residuals=_step, impostors={"other sign": {"residuals": {"sign": 1}}}),),
)


def _traces(eigenvalues: np.ndarray, *, factor: float = 1.0) -> tuple[float, float]:
    """Tr(B^{-2}) against p / lambda_min^2, the outer inequality."""
    return float(np.sum(eigenvalues**-2.0)), factor * len(eigenvalues) / float(eigenvalues.min()) ** 2


def _less_a_term(*, share: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """1 / lambda_min^2 - 1 / lambda^2 for an eigenvalue lambda = lambda_min + t."""
    least, t = sympy.symbols("lambda_min t", positive=True)
    yield "1 / lambda_min^2 - 1 / lambda^2", 1 / (share * least) ** 2 - 1 / (least + t) ** 2


def _middle(eigenvalues: np.ndarray) -> tuple[float, float]:
    """(Tr B^{-1})^2 against p ||B^{-2}||_2^2, the second link as printed."""
    return float(np.sum(1 / eigenvalues)) ** 2, len(eigenvalues) / float(eigenvalues.min()) ** 4


LEM_33_TRACE = Claim(
    id="glm/lem-33-trace",
    where="Proof of Lemma 33",
    kind="inequality",
    statement=(
        '$op("Tr")((X^top X)^(-2)) <= (op("Tr")(X^top X)^(-1))^2 <= p norm((X^top X)^(-2))_2^2 = '
        'p\\/lambda_"min"^2 (X^top X)$.'
    ),
    equation="Proof of Lemma 33",
    fault=Fault(
        severity="slip",
        touches="proof",
        finding=(
            'The second step fails, and the last is no equality: for $X^top X = I$ in dimension 2, $(op("Tr") I)^2 '
            "= {smaller} > {larger} = p norm(I)^2$."
        ),
        consequence="The two ends of the chain are right, so Lemma 33 stands.",
    ),
    correction=Correction(
        statement='$op("Tr")((X^top X)^(-2)) <= p norm((X^top X)^(-2))_2 = p\\/lambda_"min"^2 (X^top X)$.',
        ground="A trace is at most $p$ times the largest eigenvalue.",
        checks=(
            Search(
                sides=_traces,
                box={"eigenvalues": (Real(0.01, 100.0, "log"), 4)},
                extremal=lambda: ({"eigenvalues": np.ones(4)},),
                evaluations=1000,
                impostors={"1 % less": {"sides": {"factor": 0.99}}},
                role="control",
            ),
            Symbolic(nonnegative=_less_a_term, impostors={"twice lambda_min": {"nonnegative": {"share": 2}}}),
        ),
        derivation=Derivation(
            text=(
                'In an eigenbasis $op("Tr")((X^top X)^(-2))$ is the sum of the $p$ numbers $lambda_i^(-2)$, the '
                'largest of which is $lambda_"min"^(-2) = norm((X^top X)^(-2))_2$.'
            ),
            lemmas=("spectral theorem",),
        ),
    ),
    checks=(
        Search(
            sides=_middle,
            box={"eigenvalues": (Real(0.01, 100.0, "log"), 2)},
            extremal=lambda: ({"eigenvalues": np.ones(2)},),
            evaluations=200,
            closed=True,
        ),
    ),
)


def _order(ratio: float, entries: np.ndarray, size: float, *, factor: float = 4.0) -> tuple[float, float]:
    """Largest eigenvalue of B (B + E)^{-2} B against 4, B = diag(1, ratio), ||E|| = size / 2 <= 1/2."""
    base = np.diag([1.0, ratio])
    noise = _symmetric(entries, 2)
    norm = float(np.linalg.norm(noise, 2))
    noise = noise * (size / 2 / norm if norm else 0.0)
    return float(np.linalg.norm(np.linalg.solve(base + noise, base), 2)) ** 2, factor


def _factored(*, sign: int = -1) -> Iterator[tuple[str, sympy.MatrixBase]]:
    """(B + E)^{-1} B - (I - (B + E)^{-1} E) for symmetric 2 x 2 matrices of symbols."""
    a, b, c, e, f, g = sympy.symbols("a b c e f g")
    base, noise = sympy.Matrix([[a, b], [b, c]]), sympy.Matrix([[e, f], [f, g]])
    inverse = (base + noise).inv()
    yield "(B + E)^{-1} B", (inverse * base - sympy.eye(2) - sign * inverse * noise).applyfunc(sympy.simplify)


LEM_33_ORDER = Claim(
    id="glm/lem-33-order",
    where="Proof of Lemma 33",
    kind="inequality",
    statement=(
        'From $norm(E_1) <= lambda_"min"(X^top X)\\/2$ and Lemma 28, with $H = (X^top X + E_1)^(-2)$: $norm(E_1 '
        "tilde(w))_H^2$ and $norm(E_2)_H^2$ are at most 4 times their values with $(X^top X)^(-2)$ in place of $H$."
    ),
    equation="Proof of Lemma 33",
    remark=(
        "$(B + E)^(-1) B = I - (B + E)^(-1) E$ has norm at most $1 + 1$, so $H <= 4 (X^top X)^(-2)$: a fixed matrix, "
        "as "
        "Lemma 28 wants it. The bound with $4 p\\/xi$ is weaker than the logarithm that the lemma states; a chi-square "
        "tail gives it."
    ),
    checks=(
        Search(
            sides=_order,
            box={"ratio": Real(1.0, 1e4, "log"), "entries": (Real(-1.0, 1.0), 3), "size": Real(0.0, 1.0)},
            extremal=lambda: ({"ratio": 1.0, "entries": np.array([-1.0, 0.0, 0.0]), "size": 1.0},),
            evaluations=3000,
            impostors={"3.9 in place of 4": {"sides": {"factor": 3.9}}},
            role="control",
        ),
        Symbolic(residuals=_factored, impostors={"other sign": {"residuals": {"sign": 1}}}),
    ),
    derivation=Derivation(
        text=(
            "Let $B = X^top X$, $E = E_1$. $(B + E)^(-1) B = (B + E)^(-1) (B + E - E) = I - (B + E)^(-1) E$ for "
            'matrices of any size. $B + E >= lambda_"min" (B)\\/2$ by $norm(E) <= lambda_"min" (B)\\/2$, so $norm((B + '
            'E)^(-1) E) <= (2\\/lambda_"min" (B)) (lambda_"min" (B)\\/2) = 1$ and $norm((B + E)^(-1) B) <= 2$. For '
            "every $v$ then $norm(v)_H = norm((B + E)^(-1) B B^(-1) v) <= 2 norm(B^(-1) v)$, whose square is the claim."
        ),
        lemmas=("Weyl", "triangle inequality", "submultiplicativity"),
    ),
)
