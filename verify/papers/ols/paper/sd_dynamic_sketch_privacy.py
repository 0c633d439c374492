"""Appendix D: the noise level of Algorithm 5, (130), (131), and its sketch size, (132)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import sympy

from dpbounds.arithmetic import FLOATS
from dpbounds.ols import DynamicMixing, sketch
from verify.checks import Identity, Search, Symbolic, Times
from verify.checks.domains import Real, Whole
from verify.papers.ols.paper.sb_sketch_privacy import FITS, ROWS_FIT, ROWS_NEEDED, TEST_TERM
from verify.papers.ols.tools.symbols import SYMBOLS
from verify.statements.claims import Claim, Correction, Fault
from verify.statements.derivations import Derivation

# --- (130), (131) ---


def _spent(m, epsilon, k, log_term, bound):
    """Left side of (130) at the right side of (131), bound = 1 + C_Y²."""
    level = bound * sketch.printed_gamma(m, epsilon, k, log_term)
    return 2 * m.sqrt(2 * k * log_term) / level * bound + k / (2 * level**2) * bound**2


def _budget(m, epsilon, **_):
    return m.number(1) * epsilon


def _least(epsilon: float, k: float, log_term: float, bound: float, share: float) -> tuple[float, float]:
    """epsilon against the left side of (130) at `share` of the right side of (131): no smaller level keeps (130)."""
    level = share * bound * float(sketch.printed_gamma(FLOATS, epsilon, k, log_term))
    return epsilon, 2 * math.sqrt(2 * k * log_term) / level * bound + k / (2 * level**2) * bound**2


def _found(epsilon: float, delta: float, k: float) -> tuple[float, float]:
    """Line 3's gamma against (131)."""
    return float(sketch.gamma(epsilon, delta, int(k))), float(
        sketch.printed_gamma(FLOATS, epsilon, k, math.log(1 / delta))
    )


def _found_with_rows(
    epsilon: float, delta: float, ratio: float, least: float = float(ROWS_NEEDED), quarter: float = 4.0
) -> tuple[float, float]:
    """Line 3's gamma against (131) with log(4/delta), k >= `least` * ratio * log(4/delta)."""
    k = math.ceil(least * ratio * math.log(4 / delta))
    printed = float(sketch.printed_gamma(FLOATS, epsilon, k, math.log(quarter / delta)))
    return (float(sketch.gamma(epsilon, delta, k)), printed) if printed > sketch.LEAST_GAMMA else (0.0, 1.0)


# ell_1 is `log_term`: log(1/delta) in the print, log(4/delta) in the correction.
_LEVELS = {
    "epsilon": Real(0.01, 100.0, "log"),
    "k": Whole(1, 2000, "log"),
    "log_term": Real(0.1, 100.0, "log"),
    "bound": Real(1.0, 10.0),
}
SOLVED = (
    Identity(decides="a", left=_spent, right=_budget, box=_LEVELS, impostors={"1 % off": {"right": Times("1.01")}}),
    Search(
        decides="a",
        sides=_least,
        box={**_LEVELS, "share": Real(0.01, 1.0, "log")},
        evaluations=600,
        impostors={"1 % off": {"sides": Times(1.01, 1)}},
    ),
)


def _solved(*, share: str = "1") -> Iterator[tuple[str, sympy.Expr]]:
    """(130) at (131), epsilon in terms of the root that (131) has; and that it falls, by its derivative in the
    level.
    """
    root, l, k, bound, level = sympy.symbols("r l k c g", positive=True)
    epsilon = 4 * l * ((1 + root) ** 2 - 1)
    yield "(130) at (131)", _spent(SYMBOLS, epsilon, k, l, bound) - sympy.Rational(share) * epsilon
    spent = 2 * sympy.sqrt(2 * k * l) / level * bound + k / (2 * level**2) * bound**2
    slope: Any = sympy.diff(spent, level)
    yield "it falls", slope + 2 * sympy.sqrt(2 * k * l) * bound / level**2 + k * bound**2 / level**3


THM_2_EQ131 = Claim(
    id="ols/thm-2-eq131",
    where="(130), (131)",
    equation="(131)",
    kind="identity",
    statement=(
        (
            r"The least $tilde(eta)^2 + tilde(lambda)$ with (130) is $sqrt(k) (1 + C_Y^2) \/ (2 sqrt(2 ell_1) (-1 + "
            r"sqrt(1 + epsilon\/(4 ell_1))))$, $ell_1 = log(1\/delta)$;"
        ),
        "it upper-bounds the exact value that the algorithm finds.",
    ),
    checks=(
        *SOLVED,
        Search(
            decides="b",
            sides=_found,
            box={"epsilon": Real(0.1, 10.0, "log"), "delta": Real(1e-10, 1e-2, "log"), "k": Whole(1, 2000, "log")},
            extremal=lambda: [{"epsilon": 1.0, "delta": 1e-6, "k": 10.0}],
            evaluations=60,
            closed=True,
        ),
    ),
    fault=Fault(
        severity="slip",
        touches="proof",
        finding=(
            "(131) solves (130), but is no upper bound on the $gamma$ of line 3 for few rows: at $k = {k}$, $epsilon = "
            "{epsilon}$, $delta = {delta}$ it is ${larger}$ against ${smaller}$; (130) also has $log(1\\/delta)$ where "
            "(18) has $log(4\\/delta)$."
        ),
        consequence=(
            "Constants only, which (15) hides; with $k >= {needed} log(4\\/delta)$, as Theorem 2's $k$, nothing "
            "changes."
        ),
        root="ols/eq18",
        exhibit=2,
    ),
    correction=Correction(
        statement=(
            (
                r"The least $tilde(eta)^2 + tilde(lambda)$ with (130), $log(4\/delta)$ in it for $log(1\/delta)$, is "
                "(131) likewise;"
            ),
            (
                r"for $k >= {needed} log(4\/delta)$, $epsilon <= 5$ and (131) above $5\/2 (1 + C_Y^2)$ it "
                r"upper-bounds the "
                "exact value that the algorithm finds."
            ),
        ),
        ground="(130) with equality, and no smaller level keeps it; line 3's $gamma$ is smaller.",
        checks=(
            *(check.as_control() for check in SOLVED),
            Symbolic(decides="a", residuals=_solved, impostors={"1.01 epsilon": {"residuals": {"share": "101/100"}}}),
            *(check.deciding("b") for check in ROWS_FIT),
            Search(
                role="control",
                decides="b",
                sides=_found_with_rows,
                box={
                    "epsilon": Real(0.05, 5.0, "log"),
                    "delta": Real(1e-12, 0.1, "log"),
                    "ratio": Real(1.0, 50.0, "log"),
                },
                evaluations=100,
                impostors={"log(1/4 delta)": {"sides": {"quarter": 0.25}}, "fewer rows": {"sides": {"least": 1.0}}},
            ),
        ),
        derivation=Derivation(
            text="(a) With $r = sqrt(1 + epsilon\\/(4 ell)) - 1 > 0$ the left side of (130) is $4 ell r + 2 ell r^2 = "
            "epsilon$ at (131), and falls as the level grows, so no smaller one keeps it. (b) " + FITS + "Here $ell = "
            "log(4\\/delta)$, as in (18) (`ols/eq18`), and the bound is $epsilon <= 5$ at (131): (17) is at most "
            "$epsilon$ there, and line 3 takes the least $gamma > 5\\/2$ at which it is.",
            lemmas=("monotony",),
        ),
    ),
    given={"needed": ROWS_NEEDED},
)

# --- (132) ---


def _stated_size(released: float, epsilon: float, delta: float, bound: float) -> float:
    """The last entry of (132), bound = 1 + C_Y², `released` in absolute units."""
    l = math.log(1 / delta)
    return (released * math.sqrt(2 * l) * (math.sqrt(1 + epsilon / (4 * l)) - 1) / bound) ** 2


def _sizes(
    epsilon: float, delta: float, k: float, level: float, row: float = 2.0, as_drawn: bool = True
) -> tuple[float, float]:
    """(132) against k~ of line 6 at the released eigenvalue level * gamma * C², C² = `row` in the place of 1 + C_Y²."""
    k = max(int(k), math.ceil(float(ROWS_NEEDED) * math.log(4 / delta)))
    mixing = DynamicMixing(epsilon=epsilon, delta=delta, k=k, failure=delta / 10, as_drawn=as_drawn)
    released = level * mixing.gamma * row * (1 + 1e-12)
    size, _ = mixing.sketch(released, bound_squared=row)
    return _stated_size(released, epsilon, delta, row), size + 1.0


def _ceiling(epsilon: float, delta: float, k: float) -> tuple[float, float]:
    """k~ of line 6 as printed at an eigenvalue 10^6 gamma, against ((epsilon + delta) gamma)²/(2 log(3.75/delta)) and
    6k: the rows' part of (17) is at least log(1 - delta/3).
    """
    k = max(int(k), math.ceil(3 * math.log(4 / delta)))
    printed = DynamicMixing(epsilon=epsilon, delta=delta, k=k, failure=delta / 10, as_drawn=False)
    size, _ = printed.sketch(2e6 * printed.gamma, bound_squared=2.0)
    return float(size), min(((epsilon + delta) * printed.gamma) ** 2 / (2 * math.log(TEST_TERM / delta)), 6.0 * k)


SIZE_BOX = {
    "epsilon": Real(0.05, 4.0, "log"),
    "delta": Real(1e-10, 1e-2, "log"),
    "k": Whole(2, 10_000, "log"),
    "level": Real(1.0, 100.0, "log"),
}

THM_2_EQ132 = Claim(
    id="ols/thm-2-eq132",
    where="(132)",
    equation="(132)",
    kind="number",
    statement=(
        "Line 6 of Algorithm 5 gives $tilde(k) >= (tilde(lambda) sqrt(2 ell_1) (-1 + sqrt(1 + epsilon\\/(4 ell_1))) "
        "\\/ (1 + C_Y^2))^2$, and at least $k$."
    ),
    checks=(
        Search(
            sides=partial(_sizes, as_drawn=False),
            box=SIZE_BOX,
            extremal=lambda: [{"epsilon": 1.0, "delta": 1e-6, "k": 100.0, "level": 10.0}],
            evaluations=2,
            closed=True,
        ),
    ),
    fault=Fault(
        severity="substantive",
        touches="proof",
        finding=(
            "(132) lets $tilde(k)$ grow like $tilde(lambda)^2$; line 6 charges the test with $eta = "
            "gamma\\/sqrt(tilde(k))$, so that $tilde(k) <= ((epsilon + delta) gamma)^2 \\/ (2 log({term}\\/delta))$ "
            "for every eigenvalue: at $k = {k}$, $epsilon = {epsilon}$, $delta = {delta}$ and $tilde(lambda) = {level} "
            "gamma (C_X^2 + C_Y^2)$ it is ${larger}$ less 1, (132) ${smaller}$."
        ),
        consequence=(
            "As printed Algorithm 5 keeps a sketch of order $k$, its risk saturates at a multiple of $L^*$, and the "
            "second branch of (15) does not follow. Charging the test with the noise it had, $gamma\\/sqrt(k)$, "
            "restores (132)."
        ),
        root="ols/alg-5",
    ),
    correction=Correction(
        statement=(
            (
                "With line 6 of the corrected `ols/alg-5`, $k >= {needed} log(4\\/delta)$ and $epsilon <= 4$, "
                "$tilde(k) >= (tilde(lambda) sqrt(2 ell_1) (-1 + sqrt(1 + epsilon\\/(4 ell_1))) \\/ (C_X^2 + "
                "C_Y^2))^2 - 1$;"
            ),
            r"as printed $tilde(k) <= ((epsilon + delta) gamma)^2 \/ (2 log({term}\/delta))$.",
        ),
        ground="Both sizes are found by doubling and bisection and compared.",
        checks=(
            Search(
                decides="a",
                sides=_sizes,
                box={**SIZE_BOX, "row": Real(0.1, 20.0, "log")},
                evaluations=40,
                impostors={
                    "the noise of line 6": {"sides": {"as_drawn": False}},
                    "6 times": {"sides": Times(6, 1)},
                },
            ),
            Search(
                decides="b",
                sides=_ceiling,
                box={name: SIZE_BOX[name] for name in ("epsilon", "delta", "k")},
                evaluations=12,
                impostors={"0.9 of it": {"sides": Times(1, 0.9)}},
            ),
        ),
    ),
    given={"term": TEST_TERM, "needed": ROWS_NEEDED},
)
