"""C.1.1, (41) to (45): the sketches' level gamma in the ledger of Theorem 1."""

from __future__ import annotations

import math
from collections.abc import Iterator

from dpbounds.arithmetic import FLOATS
from dpbounds.ols import sketch
from dpbounds.ols.calibration import theorem_gamma
from verify.checks import Rate, Search
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


THM_1_GAMMA_CHAIN = Claim(
    id="ols/thm-1-gamma-chain",
    where="(41)-(45)",
    equation="(44)",
    kind="privacy",
    statement=(
        (
            r"(a) At the printed $gamma$ the first two terms of (44), $sqrt(2 k T ell_5)\/gamma + min_(1 < alpha < "
            r"gamma) {T phi + dots}$, are at most $epsilon\/2$;"
        ),
        "(b) $sqrt(2 k T ell_5)$ in place of $sqrt(2 k ell_5)$ costs a constant factor.",
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
            "$sqrt(2 k T ell_5)$ in place of $sqrt(2 k ell_5)$ costs a constant factor.",
        ),
        ground="One order does; the ratio of the two $gamma$ settles as $T -> oo$.",
        checks=(
            *(check.deciding("a") for check in ROWS_FIT),
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
                impostors={"sketches that do not add up": {"ratios": _inflation_without_bound}},
            ),
        ),
        derivation=Derivation(
            text="(a) "
            + FITS
            + "Here $k T$ rows stand for $k$ and $ell = log(5\\/delta) >= log 5$, the share of the sketches "
            "has $log(4\\/delta) = ell - log(5\\/4)$, the test's term is $k T u v sqrt(2)$, and the bound is "
            "$epsilon\\/2 <= 5$ exactly (`ols/thm-1-gamma`).",
            lemmas=("monotony",),
        ),
    ),
    given={"needed": ROWS_NEEDED},
)
