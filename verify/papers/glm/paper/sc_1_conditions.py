"""Appendix C.1, (35) to (37): how the conditions of Theorem 17 are collected."""

from __future__ import annotations

from functools import partial

from verify.checks import Search
from verify.checks.domains import Real
from verify.papers.glm.tools.appendix_c import CONSTANTS, MANY, w_ols_bound
from verify.statements.claims import Claim, Correction, Fault


def _sizes(log_norm: float, omega: float) -> tuple[float, float]:
    """The two conditions of (36) at ||w_ols|| = sqrt(p) omega, Sigma = norm I, p = 4, all else 1, against (37)."""
    norm = 10**log_norm
    squared = norm * min(norm, 1.0)
    first, second = norm * 4 * 4 * omega**2 / squared, norm**2 * 4 / norm**2
    return max(first, second), MANY * norm**2 * 16 * omega**2 * max(1, omega**2) / squared


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
    given={"many": MANY},
    fault=Fault(
        severity="hypothesis",
        touches="proof",
        finding=(
            "(36) asks for $n$ of order $norm(Sigma)_2$, and for an $n$ that does not depend on $w^*$; (37) has "
            "$norm(Sigma)_2^2$ and vanishes with $w^*$: at $norm(Sigma)_2 = 10^({log_norm})$, $norm(w^*)_infinity = "
            "{omega}$ it is more than ${many}$ times too small. (35) drops the $norm(Sigma)_2$ in the denominator of "
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
        Search(
            decides="a",
            sides=partial(_public_sizes, constant=MANY, power=0),
            box=_PUBLIC_BOX,
            extremal=lambda: ({"norm": 0.001, "tau": 1.0},),
            evaluations=100,
        ),
        Search(
            decides="b",
            sides=_sizes,
            box={"log_norm": Real(-4.0, 4.0), "omega": Real(1e-4, 1e2, "log")},
            extremal=lambda: ({"log_norm": -3.0, "omega": 1.0},),
            evaluations=100,
        ),
    ),
)
