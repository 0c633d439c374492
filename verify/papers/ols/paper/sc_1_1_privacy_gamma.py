"""C.1.1, (41) to (45): the sketches' level gamma in the ledger of Theorem 1."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import sympy

from dpbounds.arithmetic import FLOATS
from dpbounds.ols import sketch
from dpbounds.ols.calibration import theorem_gamma
from verify.checks import Inequality, Rate, Search, Symbolic, Times
from verify.checks.domains import Real, Whole
from verify.papers.ols.paper.sb_sketch_privacy import FITS, ROWS_FIT, ROWS_NEEDED
from verify.statements.claims import Claim, Correction, Fault
from verify.statements.derivations import Derivation


def _two_terms(gamma: float, k: int, steps: int, delta: float, inflated: bool = True) -> float:
    """The first two terms of (44), or with sqrt(2 k l_5) as in (42)."""
    test = math.sqrt(2 * k * (steps if inflated else 1) * math.log(5 / delta)) / gamma
    return test + float(sketch.renyi_epsilon(gamma, k, delta / 4, steps))


def _chain(epsilon: float, delta: float, k: float, steps: float) -> tuple[float, float]:
    """(44) at the printed gamma against epsilon/2, where that gamma is above 5/2."""
    gamma = float(theorem_gamma(FLOATS, epsilon, math.log(5 / delta), int(k), int(steps)))
    return (_two_terms(gamma, int(k), int(steps), delta), epsilon / 2) if gamma > sketch.LEAST_GAMMA else (0.0, 1.0)


def _chain_with_rows(
    epsilon: float, delta: float, ratio: float, steps: float, least: float = float(ROWS_NEEDED)
) -> tuple[float, float]:
    """The same with kT >= `least` * ratio * log(5/delta)."""
    return _chain(epsilon, delta, math.ceil(least * ratio * math.log(5 / delta) / steps), steps)


def _solved(k: int, steps: int, delta: float, inflated: bool) -> float:
    return sketch.least(lambda gamma: _two_terms(gamma, k, steps, delta, inflated) - 0.5, sketch.LEAST_GAMMA)


def _inflation(decades: float) -> Iterator[tuple[str, float]]:
    """gamma of (44) over that of (42), epsilon = 1, T up to 10^8."""
    steps = round(10**decades)
    for delta in (1e-2, 1e-8):
        yield f"delta = {delta:g}", _solved(10, steps, delta, True) / _solved(10, steps, delta, False)


def _inflation_without_bound(decades: float) -> Iterator[tuple[str, float]]:
    """What it would be if the sketches did not grow with T."""
    yield "the test alone", math.sqrt(10**decades)


def _stretched(lost: int = 0) -> Iterator[tuple[str, Any]]:
    """s^(j - 1) (alpha^j - alpha)/(alpha - 1) less that at 1 + s (alpha - 1): alpha = 1 + b, s = 1 + r."""
    b, r = sympy.symbols("b r", positive=True)
    s = 1 + r
    for j in range(2, 6):
        first, other = (sympy.cancel((x**j - x) / (x - 1)) for x in (1 + b, 1 + s * b))
        yield f"$v^{j}$", s ** (j - 1 - lost) * first - other


STRETCHED = Symbolic(decides="b", nonnegative=_stretched, impostors={"s^(j - 2)": {"nonnegative": {"lost": 1}}})
# Of the rows' part over the test's; of gamma; and of delta.
LEAST_SHARE, MOST_FACTOR, MOST_DELTA = "0.02", 51, 0.01
SHARE = Inequality(
    decides="b",
    smaller=lambda m, delta: m.number(LEAST_SHARE) + 0 * delta,
    larger=lambda m, delta: (
        1 / (m.number("8.16") * m.power(delta, m.number("1/4")) * m.log(5 / delta))
        - m.number("0.68") * m.power(delta, m.number("3/4"))
    ),
    box={"delta": Real(1e-300, MOST_DELTA, "log")},
    impostors={"0.05": {"smaller": Times("5/2")}},
)
SETTLES = (
    "(b) Let $ell = log(5\\/delta)$, $L = log(4\\/delta)$, $a = sqrt(2 k T ell)\\/gamma$, $R$ the second term of (44), "
    "the least over $1 < alpha < gamma$ of $T phi$ and $c = (L - log alpha)\\/(alpha - 1) + log(1 - 1\\/alpha)$, and "
    "$gamma$ the least with $a\\/sqrt(T) + R <= epsilon\\/2$, as (42) asks. With $s >= 1$, $s gamma$ for $gamma$ and "
    "$1 + s (alpha - 1)$ for $alpha$, $phi = k\\/(2 (alpha - 1)) sum_(j >= 2) (alpha^j - alpha) gamma^(-j)\\/j$ is at "
    "most $1\\/s$ of itself (check, $j <= 5$; $alpha + dots + alpha^(j - 1)$ grows at most as $s^(j - 1)$), and so is "
    "$c$, as $(alpha - 1) c$ falls: $R(s gamma) <= R(gamma)\\/s$. If $R >= 0.02 a$, then at $51 gamma$ the terms of "
    "(44) are at most $(a + R)\\/51 <= R <= epsilon\\/2$. Else $1.02 a >= epsilon\\/2$ (or $gamma = 5\\/2$ and $a >= "
    "1$), so $a >= delta^(1\\/4)\\/2.04$. As $T phi >= alpha a^2\\/(8 ell)$: for $alpha <= 2\\/sqrt(delta)$, $c >= "
    "(L\\/2 - 1)\\/(alpha - 1)$ and $R >= a sqrt((L\\/2 - 1)\\/(2 ell)) >= a\\/3$; for larger, $c >= log(1 - "
    "delta\\/4) >= -delta\\/3$, its value at $alpha = 4\\/delta$, and $R >= a^2\\/(4 sqrt(delta) ell) - delta\\/3 >= a "
    "(1\\/(8.16 delta^(1\\/4) ell) - 0.68 delta^(3\\/4)) >= 0.02 a$ (certified; it falls in $delta$)."
)

THM_1_GAMMA_CHAIN = Claim(
    id="ols/thm-1-gamma-chain",
    where="(41)-(45)",
    equation="(44)",
    kind="privacy",
    statement=(
        (
            r"At the printed $gamma$ the first two terms of (44), $sqrt(2 k T ell_5)\/gamma + min_(1 < alpha < "
            r"gamma) {T phi + dots}$, are at most $epsilon\/2$;"
        ),
        "$sqrt(2 k T ell_5)$ in place of $sqrt(2 k ell_5)$ costs a constant factor.",
    ),
    hypotheses="$gamma > 5\\/2$ (Proposition 5); any $k, T$.",
    checks=(
        Search(
            decides="a",
            sides=_chain,
            box={
                "epsilon": Real(0.1, 10.0, "log"),
                "delta": Real(1e-10, 1e-2, "log"),
                "k": Whole(1, 2000, "log"),
                "steps": Whole(1, 6),
            },
            extremal=lambda: [{"epsilon": 1.0, "delta": 1e-6, "k": 1.0, "steps": 1.0}],
            evaluations=200,
            closed=True,
        ),
        Rate(decides="b", ratios=_inflation, relation="upper", extents=(1.0, 2.0, 4.0, 8.0), per_extent=2),
    ),
    fault=Fault(
        severity="hypothesis",
        touches="proof",
        finding=(
            "C.1.1 bounds the first two terms of (44) by $epsilon\\/2$ through (18), for any $k, T$; at $k = {k}$, $T "
            "= {steps}$, $epsilon = {epsilon}$, $delta = {delta}$ they are ${smaller}$, not $epsilon\\/2 = {larger}$: "
            "the proof's ledger does not give $epsilon$ there."
        ),
        consequence=(
            r"With $k T >= {needed} log(5\/delta)$ rows, which the paper's $k = 6 max{{d, log(4 T\/rho.alt)}}$ has, "
            r"the proof stands; the theorem's conclusion holds down to $k T = log(1\/delta)\/8$, by joint accounting "
            "(ols/thm-1-priv)."
        ),
        root="ols/eq18",
    ),
    correction=Correction(
        statement=(
            (
                r"For $k T >= {needed} log(5\/delta)$, $epsilon <= 10$ and $gamma > 5\/2$ the first two terms of (44) "
                r"at the printed $gamma$ are at most $epsilon\/2$;"
            ),
            (
                "for $delta <= {most_delta}$ and $epsilon >= delta^(1\\/4)$, $sqrt(2 k T ell_5)$ in place of $sqrt(2 k "
                "ell_5)$ costs a constant factor, at most ${factor}$ in $gamma$."
            ),
        ),
        ground="One order does; the rows' part is never small beside the test's, unless $epsilon$ is.",
        checks=(
            *(check.deciding("a") for check in ROWS_FIT),
            STRETCHED,
            SHARE,
            Search(
                decides="a",
                sides=_chain_with_rows,
                box={
                    "epsilon": Real(0.01, 10.0, "log"),
                    "delta": Real(1e-50, 0.1, "log"),
                    "ratio": Real(1.0, 100.0, "log"),
                    "steps": Whole(1, 6),
                },
                evaluations=800,
                impostors={"rows from log(5/delta)/2 on": {"sides": {"least": 0.5}}},
                role="control",
            ),
            Rate(
                decides="b",
                ratios=_inflation,
                relation="upper",
                extents=(1.0, 2.0, 4.0, 8.0),
                per_extent=2,
                role="control",
                impostors={"sketches that do not add up": {"ratios": _inflation_without_bound}},
            ),
        ),
        derivation=Derivation(
            text="(a) "
            + FITS
            + "Here $k T$ rows stand for $k$ and $ell = log(5\\/delta) >= log 5$, the share of the sketches "
            "has $log(4\\/delta) = ell - log(5\\/4)$, the test's term is $k T u v sqrt(2)$, and the bound is "
            "$epsilon\\/2 <= 5$ exactly (`ols/thm-1-gamma`). " + SETTLES,
            lemmas=("monotony",),
        ),
    ),
    given={"needed": ROWS_NEEDED, "factor": MOST_FACTOR, "most_delta": MOST_DELTA},
)
