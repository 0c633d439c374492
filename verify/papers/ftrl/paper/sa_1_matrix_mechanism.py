"""Appendix A.1: DP-FTRL as a matrix mechanism, two ways to write its updates, its sensitivity, Toeplitz matrices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import sympy

from dpbounds.ftrl import correlations
from verify.checks import Agreement, Fact, Symbolic, Times
from verify.papers.ftrl.paper.s1_1_algorithm import CONDITIONED
from verify.papers.ftrl.tools.weights import inverse_step
from verify.statements.claims import Claim, Correction, Fault
from verify.statements.derivations import Derivation

# --- (11), (12) ---


def _lower(T: int, name: str) -> sympy.Matrix:
    """A lower-triangular matrix of T (T + 1) / 2 symbols."""
    return sympy.Matrix(T, T, lambda t, s: sympy.Symbol(f"{name}{t}{s}") if s <= t else 0)


def _updates(decoder: str = "A B") -> Iterator[tuple[str, sympy.Matrix]]:
    """Iterates made by (11), one dimension, put into (12); and the increments of those made by (12), put into (11)."""
    T = 3
    A, B, eta = sympy.Matrix(T, T, lambda t, s: 1 if s <= t else 0), _lower(T, "b"), sympy.Symbol("eta")
    g, w = (sympy.Matrix(sympy.symbols(f"{name}:{T}")) for name in "gw")
    private = B.inv() * g + w
    prefix = {"A B": A * B, "B A": B * A}[decoder]
    theta = [sympy.Symbol("theta0")]
    for step in -eta * B * private:
        theta.append(theta[-1] + step)
    yield "(11) implies (12)", sympy.Matrix([later - theta[0] for later in theta[1:]]) + eta * prefix * private
    theta = [theta[0], *(theta[0] + change for change in -eta * prefix * private)]
    increments = sympy.Matrix([later - earlier for earlier, later in pairwise(theta)])
    yield "(12) implies (11)", increments + eta * B * private


A_1_EQUIV = Claim(
    id="ftrl/a.1-equiv",
    where="App. A.1, (11), (12)",
    page=14,
    equation="(11), (12)",
    kind="identity",
    statement=(
        "(11) $theta_(t+1) - theta_t = -eta [B (C G + W)]_t$ if and only if (12) $theta_(t+1) - theta_0 = -eta "
        "[tilde(B) (C G + W)]_t$, $tilde(B) = A B$."
    ),
    setting="Proved for $T = 3$ with general $B$; nothing in it depends on $T$.",
    checks=(Symbolic(residuals=_updates, impostors={"B A in place of A B": {"residuals": {"decoder": "B A"}}}),),
)

# --- the sensitivity ---


def _largest_change(rng: np.random.Generator, *, squared: bool = False) -> Iterator[Fact]:
    """max ||C (G - G')||_F over one gradient of norm 1 set to 0, by trying, against the library's gamma_T."""
    made = {
        "B = 2, T = 1": (correlations.from_matrix(np.array([[2.0]])), 1),
        "anti-PGD, T = 3": (correlations.anti_pgd(), 3),
        "(2, -1, 0.3), T = 5": (correlations.from_coefficients([2.0, -1.0, 0.3]), 5),
        "half powers, T = 4": (correlations.HalfPowers((0.5, 0.3 + 0.4j), (0.2,)), 4),
        "trees, T = 6": (correlations.tree_aggregation(6), 6),
        "FFT, T = 6": (correlations.fft_mechanism(6), 6),
    }
    for label, (correlation, T) in made.items():
        C = correlation.encoder(T)
        if correlation.matrix(T).shape == (T, T):
            C = np.linalg.inv(correlation.matrix(T))
        changes = []
        for t in range(T):
            gradients = rng.normal(size=(T, 2))
            gradients[t] /= np.linalg.norm(gradients[t])
            zeroed = gradients.copy()
            zeroed[t] = 0.0
            changes.append(np.linalg.norm(C @ gradients - C @ zeroed))
        gamma = correlation.sensitivity(T)
        yield Fact(f"sensitivity of C G for {label}", max(changes), gamma**2 if squared else gamma, 1e-12)


def _printed_sensitivity(rng: np.random.Generator) -> Iterator[Fact]:
    """T = 1, C = 1/2: what zeroing a gradient of norm 1 changes, against the printed square."""
    C = 0.5
    yield Fact("sensitivity of C G for B = 2, T = 1", C * 1.0 - C * 0.0, C**2)


A_1_SENSITIVITY = Claim(
    id="ftrl/a.1-sensitivity",
    where="App. A.1",
    page=14,
    kind="privacy",
    statement=(
        "DP-FTRL post-processes one Gaussian mechanism $C G + W$ of maximum sensitivity $max_t norm(C_(:, t))_2^2$."
    ),
    hypotheses="Zero-out adjacency; for $G = 1$.",
    checks=(Agreement(facts=_printed_sensitivity, closed=True),),
    fault=Fault(
        severity="slip",
        touches="text",
        finding=(
            "Appendix A.1 gives $C G + W$ the sensitivity $max_t norm(C_(:, t))_2^2$, which is its square: at $T = 1$, "
            "$C = 1\\/2$ zeroing the gradient moves it by ${observed}$, printed ${predicted}$."
        ),
        consequence="Nothing: Theorem 1.1 has $gamma_T (B) = max_t norm(C_(:, t))_2$.",
    ),
    correction=Correction(
        statement=(
            "DP-FTRL post-processes one Gaussian mechanism $C G + W$ of maximum sensitivity $max_t norm(C_(:, t))_2 = "
            "gamma_T (B)$."
        ),
        ground="One row of $G$ of norm at most 1 changes $C G$ by its product with one column of $C$.",
        checks=(
            CONDITIONED,
            Symbolic(residuals=_updates, impostors={"B A in place of A B": {"residuals": {"decoder": "B A"}}}),
            Agreement(facts=_largest_change, impostors={"squared": {"facts": {"squared": True}}}, role="control"),
        ),
        derivation=Derivation(
            text=(
                "The iterates are $theta_0 - eta tilde(B) (C G + W)$ (`ftrl/a.1-equiv`, the second check for $T = 3$). "
                "With the row $g_s$ of $G$ set to 0, row $t$ of $C G$ moves by $C_(t s) g_s$ (first check), all of it "
                "by $norm(C_(:, s))_2 norm(g_s)$ in the Frobenius norm, at most $norm(C_(:, s))_2$ for $G = 1$, with "
                "equality at $norm(g_s) = 1$; the largest $s$ gives $gamma_T (B)$."
            ),
        ),
    ),
)

# --- footnote 5 ---


def _toeplitz(column: Iterable) -> sympy.Matrix:
    entries = list(column)
    return sympy.Matrix(len(entries), len(entries), lambda t, s: entries[t - s] if s <= t else 0)


def _toeplitz_inverse(*, symmetric: bool = False) -> Iterator[tuple[str, sympy.Matrix]]:
    """Entries of the inverse above the diagonal, and differences along diagonals, for T = 5 symbols."""
    T = 5
    B = _toeplitz(sympy.symbols(f"b:{T}"))
    C: Any = (B + B.T if symmetric else B).inv()
    yield "nothing above the diagonal", sympy.Matrix([C[t, s] for t in range(T) for s in range(t + 1, T)])
    along = [C[t + 1, s + 1] - C[t, s] for t in range(T - 1) for s in range(t + 1)]
    yield "constant along diagonals", sympy.Matrix(along)


def _series_inverse(rng: np.random.Generator, *, sign: int = -1) -> Iterator[Fact]:
    """B C = I exactly for T = 30 random rationals, C the Toeplitz matrix of the power series 1 / B(z)."""
    beta = [Fraction(int(b), 7) for b in [3, *rng.integers(-9, 10, size=29)]]
    inverse = [1 / beta[0]]
    for t in range(1, len(beta)):
        inverse.append(sign * sum((beta[k] * inverse[t - k] for k in range(1, t + 1)), Fraction(0)) / beta[0])
    product = [sum((beta[k] * inverse[t - k] for k in range(t + 1)), Fraction(0)) for t in range(len(beta))]
    yield Fact("first column of B C", product, [Fraction(1), *[Fraction(0)] * 29], 0)


def _library_inverse(rng: np.random.Generator) -> Iterator[Fact]:
    """B C = I for matrix and encoder of every kind of sequence."""
    for made in (
        correlations.nu(0.3),
        correlations.damped_anti_pgd(0.4),
        correlations.from_coefficients([2.0, -1.0, 0.3]),
        correlations.HalfPowers((0.5, 0.3 + 0.4j), (0.2,)),
        correlations.from_power_spectrum(lambda omega: 1.3 - np.cos(omega)),
    ):
        for T in (1, 2, 9):
            yield Fact(f"B C, {made.name}, T = {T}", made.matrix(T) @ made.encoder(T), np.eye(T), 1e-9)


FN_5 = Claim(
    id="ftrl/fn-5",
    where="footnote 5",
    page=14,
    kind="identity",
    statement="The inverse of a lower-triangular Toeplitz matrix is lower triangular and Toeplitz.",
    hypotheses="$beta_0 != 0$.",
    setting="By computer algebra for $T = 5$ symbols.",
    checks=(
        Symbolic(residuals=_toeplitz_inverse, impostors={"symmetric Toeplitz": {"residuals": {"symmetric": True}}}),
        Symbolic(residuals=inverse_step, impostors={"one weight further": {"residuals": {"shift": 1}}}),
        Agreement(facts=_series_inverse, impostors={"sign of the recurrence": {"facts": {"sign": 1}}}, role="control"),
        Agreement(facts=_library_inverse, impostors={"1 % off": {"facts": Times(1.01)}}, role="control"),
    ),
    derivation=Derivation(
        text=(
            "Let $c_0 = 1\\/beta_0$ and $c_t = -sum_(k = 1)^t beta_k c_(t - k) \\/ beta_0$, and $C$ the "
            "lower-triangular Toeplitz matrix with the first column $c$. For every $T$ the entry $(t, s)$ of $B C$ is "
            "$sum_(k = s)^t beta_(t - k) c_(k - s)$, which is 1 for $t = s$ and 0 else, row after row as the second "
            "check has it for every $T$, and a square matrix has one inverse; the first inverts the general matrix "
            "for $T = 5$."
        ),
        lemmas=("induction",),
    ),
)
