"""Appendix C.1, (35) to (37): how the conditions of Theorem 17 are collected."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from verify.checks import Search, Unbounded
from verify.checks.domains import Real
from verify.papers.glm.tools.appendix_c import CONSTANTS, w_ols_bound
from verify.statements.claims import Claim, Correction, Fault


def _sizes(m: Any, s: Any) -> Any:
    """The larger of the two conditions of (36) over (37), at Sigma = norm I, norm = ||w*||_inf = 1 / s, p = 4 and
    ||w_ols|| = 2 ||w*||_inf, all else 1: min{norm, 1} norm = 1 / s^2 divides both sides but the second of (36).
    """
    norm, omega, p = 1 / s, 1 / s, 4
    squared = norm * m.minimum(norm, 1)
    scale, invertible = norm * p**2 * omega**2 / squared, p * norm**2 / norm**2
    return m.maximum(scale, invertible) / (norm**2 * p**2 * omega**2 * m.maximum(1, omega**2) / squared)


def _reduced_sizes(m: Any, x: Any) -> Any:
    """A lower bound: the second of (36), which is 4, over (37), which is 16 / s^2."""
    return m.number("1/4")


def _sizes_35(m: Any, s: Any) -> Any:
    """(18), with the n of (19), over (35), at Sigma = I / s, all else 1: s^2 over s."""
    norm = 1 / s
    n = norm / (norm * m.minimum(norm, 1))
    return m.maximum(1, n / norm) / m.maximum(1, n)


def _reduced_35(m: Any, x: Any) -> Any:
    """The quotient itself."""
    return m.number(1)


_SIZES = {
    **CONSTANTS,
    "norm": Real(1e-4, 1e4, "log"),
    "spread": Real(1.0, 100.0, "log"),
    "top": Real(1.0, 10.0, "log"),
    "tau": Real(0.01, 1.0, "log"),
}
_ALL_ONE = dict.fromkeys(_SIZES, 1.0)


def _sizes_right(
    norm: float, spread: float, top: float, tau: float, *, constant: float = 17.0**2, least: float = 1.0, **at: float
) -> tuple[float, float]:
    """The larger condition of (36) against (37) corrected, epsilon and logarithms left out, overline(c) = top."""
    G, r, kappa, varrho, omega, c, p = (at[name] for name in CONSTANTS)
    p, smallest = max(round(p), 1), norm / spread
    squared = smallest * min(smallest, 1.0)
    scale = G**2 * top**4 * norm * p**2 * r**4 * (kappa**2 * w_ols_bound(**at)) ** 2 / (tau**2 * squared)
    invertible = kappa**4 * (norm / smallest) ** 2 * p * r**4
    merged = G**4 * top**4 * max(least * norm, norm**2) * p**2 * r**6 * kappa**10 * varrho**2 / (tau**2 * squared)
    return max(scale, invertible), constant * merged * max(least, omega**4) * max(1, 1 / c) ** 2


def _public_sizes(norm: float, tau: float, *, constant: float = 1.0, power: int = 1) -> tuple[float, float]:
    """(18) against (35) with ||Sigma||^power, at the n of (19), Sigma = norm I, all else 1."""
    n = norm / (tau**2 * norm * min(norm, 1.0))
    return max(tau**-2, n / norm), constant * max(tau**-2, n / norm**power)


def _lemmas(
    kappa: float, gamma: float, r: float, spread: float, epsilon: float, p: float, *, invertible: float = 1.0
) -> tuple[float, float]:
    """What Lemmas 33 and 34 ask of n against (36), which keeps the first alone; log(1 / delta) >= 1."""
    asked = kappa**4 * spread**2 * p * r**4 / epsilon**2
    return max(asked, kappa * gamma * p), invertible * asked


_PUBLIC_BOX = {"norm": Real(1e-6, 1e4, "log"), "tau": Real(0.01, 1.0, "log")}


EQ_35 = Claim(
    id="glm/eq-35",
    where="(35)-(37)",
    kind="identity",
    statement=(
        "The conditions on $m$ and $n$ collected;",
        (
            "(37), with $norm(Sigma)_2^2 p^2 norm(w^*)_infinity^2 max{1, norm(w^*)_infinity^2}$, suffices for both of "
            "(36)."
        ),
    ),
    equation="(37)",
    fault=Fault(
        severity="hypothesis",
        touches="proof",
        finding=(
            "(36) asks for $n$ of order $norm(Sigma)_2$, and for an $n$ that does not depend on $w^*$; (37) has "
            "$norm(Sigma)_2^2$ and vanishes with $w^*$: with all else 1, $p = 4$, it is ${times}$ times too small at "
            "$norm(Sigma)_2 = norm(w^*)_infinity = 10^(-3)$, and no constant helps. (35) drops the "
            "$norm(Sigma)_2$ in the denominator of "
            "(18)."
        ),
        exhibit=1,
        consequence=(
            "(6) and (14) and Theorem 17 inherit it; for $norm(Sigma)_2 >= 1$, $norm(w^*)_infinity >= 1$ they stand."
        ),
    ),
    correction=Correction(
        statement=(
            (
                "The conditions of Lemmas 33 to 35 are (36) and (35) with $norm(Sigma)_2$ in its denominator, for $r, "
                r"kappa >= 1$, $epsilon, gamma <= 1$ and $log(1\/delta) >= 1$;"
            ),
            "(37) with $max{{norm(Sigma)_2, norm(Sigma)_2^2}}$ and $max{{1, norm(w^*)_infinity^4}}$ suffices for (36).",
        ),
        ground='Condition by condition, $norm(w^"ols")_2 <= sqrt(p) norm(w^"ols")_infinity$.',
        checks=(
            Search(
                decides="a",
                sides=_public_sizes,
                box=_PUBLIC_BOX,
                evaluations=200,
                impostors={"as printed": {"sides": {"power": 0}}},
            ),
            Search(
                decides="a",
                sides=_lemmas,
                box={
                    "kappa": Real(1.0, 10.0, "log"),
                    "gamma": Real(1e-3, 1.0, "log"),
                    "r": Real(1.0, 10.0, "log"),
                    "spread": Real(1.0, 100.0, "log"),
                    "epsilon": Real(0.01, 1.0, "log"),
                    "p": Real(1.0, 1e4, "log"),
                },
                evaluations=200,
                impostors={"without Lemma 33": {"sides": {"invertible": 0.0}}},
            ),
            Search(
                decides="b",
                sides=_sizes_right,
                box=_SIZES,
                extremal=lambda: (_ALL_ONE,),
                evaluations=2000,
                impostors={"half of C": {"sides": {"constant": 17.0**2 / 2}}, "as printed": {"sides": {"least": 0.0}}},
            ),
        ),
    ),
    checks=(
        Unbounded(decides="a", quotient=_sizes_35, reduced=_reduced_35),
        Unbounded(decides="b", quotient=_sizes, reduced=_reduced_sizes, power=Fraction(2), shown={"times": 1000}),
    ),
)
