"""Appendix F.6: helper results on step sizes, Lemmas F.21 and F.22."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import sympy
from scipy import special

from verify.checks import Agreement, Inequality, Search, Symbolic, Within
from verify.checks.domains import Real, Whole
from verify.statements.claims import Claim, Correction, Fault
from verify.statements.derivations import Derivation

# --- Lemma F.21: mu = 1, so that eta_max stands for mu eta_max, B for B/mu, C for C/mu^2 ---


def _tuned(A, B, C, T, largest, three: float = 3.0) -> tuple[np.ndarray, np.ndarray]:
    """Least phi at 0, 1 and 240 step sizes up to eta_max = max(largest, 1/T), any of them allowed, and the right
    side.
    """
    top = np.maximum(largest, 1 / T)
    eta = np.exp(np.linspace(np.log(1e-3 / T), np.log(top), 240, axis=1))
    eta = np.concatenate([np.zeros((len(eta), 1)), np.minimum(1.0, top)[:, None], eta], axis=1)
    column = {name: np.asarray(value)[:, None] for name, value in {"A": A, "B": B, "C": C, "T": T}.items()}
    phi = column["A"] * np.exp(-eta * column["T"]) + column["B"] * eta + column["C"] * special.xlogy(eta, eta) ** 2
    first = three * B / T * np.maximum(1, np.log(A * T / B))
    second = three * C / T**2 * np.maximum(1, np.log(A * T**2 / C)) ** 2 * np.log(T) ** 2
    return phi.min(axis=1), A * np.exp(-top * T) + first + second


def _no_step_serves(rng: np.random.Generator) -> Iterator[Within]:
    """A = 10^9, B = 10^-3, C = 1, T = 2, eta_max = 10: the stated bound over a lower bound of phi on all of [0, 10].

    Up to eta = 1, phi >= A e^{-T}. Beyond, e^{-eta T} falls and eta log(eta) grows: on a cell [a, b] phi is at least
    A e^{-b T} + B a + C a^2 log^2(a).
    """
    A, B, C, T, largest = 1e9, 1e-3, 1.0, 2, 10
    ends = [1 + k / 4 for k in range(4 * (largest - 1) + 1)]
    lows = [A * np.exp(-high * T) + B * low + C * low**2 * np.log(low) ** 2 for low, high in pairwise(ends)]
    least = min([A * np.exp(-1.0 * T), *lows])
    first = 3 * B / T * max(1, np.log(A * T / B))
    second = 3 * C / T**2 * max(1, np.log(A * T**2 / C)) ** 2 * np.log(T) ** 2
    stated = A * np.exp(-1.0 * largest * T) + first + second
    yield Within("the stated bound over the least phi on [0, 10], at least", stated / least, least=1.0)


TUNING = {
    "A": Real(1e-12, 1e250, "log"),
    "B": Real(1e-12, 1e12, "log"),
    "C": Real(1e-12, 1e12, "log"),
    "T": Whole(1, 10**6, "log"),
}
TUNED = (
    "$phi(eta) = A e^(-mu eta T) + B eta + C eta^2 log^2 (1/(eta mu))$ on $[0, eta_max]$, $T >= 1 \\/ (mu eta_max)$: "
    "some $eta_star$ has $phi(eta_star) <= A e^(-mu eta_max T) + (3 B)/(mu T) (1 or log((A mu T)/B)) + (3 C)/(mu^2 "
    "T^2) (1 or log((A mu^2 T^2)/C))^2 log^2 T$"
)


def _choice_of_step(constant: str = "3") -> Iterator[tuple[str, sympy.Expr]]:
    """Right side less phi, without A e^{-eta_max T}, if eta_max <= 1.

    T <= e: eta = eta_max lies in [1/T, 1], where eta log(1/eta) is at most log(T)/T. T >= e: eta is the least of
    eta_max, b/T, c/T with b = 1 v log(AT/B) = 1 + p, c = 1 v log(AT^2/C) = 1 + q; then A e^{-eta T} exceeds A
    e^{-eta_max T} by at most B/T + C/T^2, and log^2(1/eta) <= log^2 T = 1 + r.
    """
    p, q, r, w, B, C, T = sympy.symbols("p q r w B C T", positive=True)
    k = sympy.Rational(constant)
    yield "T <= e, B", (k * B / T - B).subs(T, 3 / (1 + w))
    yield "T <= e, C (times log^2 T / T^2)", (k - 1) * C
    yield "T >= e, B", B / T * (k * (1 + p) - (1 + p) - 1)
    yield "T >= e, C", C / T**2 * (k * (1 + q) ** 2 * (1 + r) - (1 + q) ** 2 * (1 + r) - 1)


LEM_F_21 = Claim(
    id="ftrl/lem-f.21",
    where="Lemma F.21",
    page=59,
    kind="inequality",
    statement=f"{TUNED}.",
    setting="$mu = 1$ by scaling; the step sizes tried are 0, 1 and 240 on a logarithmic grid.",
    checks=(
        Search(
            sides=_tuned,
            box={**TUNING, "T": Whole(2, 10**6, "log"), "largest": Real(1e-6, 100.0, "log")},
            extremal=lambda: [{"A": 1e9, "B": 1e-3, "C": 1.0, "T": 2.0, "largest": 10.0}],
            vectorised=True,
        ),
        Agreement(facts=_no_step_serves, closed=True),
    ),
    fault=Fault(
        severity="hypothesis",
        touches="statement",
        finding=(
            "Lemma F.21 lacks the hypothesis $mu eta_max <= 1$, beyond which $log^2 1\\/(eta mu)$ grows again: at "
            "$mu = C = 1$, $A = {A}$, $B = {B}$, $T = {T}$, $eta_max = {largest}$ the least value of $phi$ is "
            "${smaller}$, the stated bound ${larger}$."
        ),
        consequence=(
            "The corollaries that use it have $mu eta_max <= 1$ by their learning-rate limits, and stand in this point."
        ),
    ),
    correction=Correction(
        statement=f"If $mu eta_max <= 1$: {TUNED}.",
        ground="The least of $eta_max$ and the two balancing steps serves; $log^2 1\\/(eta mu) <= log^2 T$ there.",
        checks=(
            Symbolic(nonnegative=_choice_of_step, impostors={"1 in place of 3": {"nonnegative": {"constant": "1"}}}),
            Search(
                sides=_tuned,
                box={**TUNING, "largest": Real(1e-6, 1.0, "log")},
                vectorised=True,
                impostors={"1/2 in place of 3": {"sides": {"three": 0.5}}},
                role="control",
            ),
        ),
        derivation=Derivation(
            text=(
                "With $mu = 1$, $b = 1 or log(A T\\/B)$, $c = 1 or log(A T^2\\/C)$: for $T <= e$ take $eta_max$, "
                "which lies in $[1\\/T, 1]$, where $eta log(1\\/eta)$ falls from $1\\/e$ on and is at most "
                "$log(T)\\/T$. For $T >= e$ take the least of $eta_max$, $b\\/T$, $c\\/T$, at least $1\\/T$ and at "
                "most 1: $A e^(-eta T)$ is at most $A e^(-eta_max T) + A e^(-b) + A e^(-c)$ with $A e^(-b) <= B\\/T$, "
                "$A e^(-c) <= C\\/T^2$, and $B eta <= B b\\/T$, $eta^2 log^2(1\\/eta) <= c^2 log^2(T)\\/T^2$. The "
                "check adds these up."
            ),
            lemmas=("monotony",),
        ),
    ),
)

# --- Lemma F.22 ---


def _share(m, c, place, denominator: str = "9"):
    """x log^2(1/x) / c at x = place c / (9 log^2(9/c))."""
    bound = m.log(9 / c)
    log_inverse = m.log(m.number(denominator) / c) + 2 * m.log(bound) - m.log(place)
    return place * log_inverse * log_inverse / (m.number(denominator) * bound * bound)


LEM_F_22 = Claim(
    id="ftrl/lem-f.22",
    where="Lemma F.22",
    page=59,
    kind="inequality",
    statement="$0 < x <= c / (9 log^2 (9\\/c))$ implies $x log^2 (1\\/x) <= c$.",
    hypotheses="$0 < c < 1/4$.",
    checks=(
        Inequality(
            smaller=_share,
            larger=lambda m, c, place: m.number(1),
            box={"c": Real(1e-300, 0.25, "log"), "place": Real(1e-300, 1.0, "log")},
            impostors={"1 in place of the outer 9": {"smaller": {"denominator": "1"}}},
        ),
    ),
)
