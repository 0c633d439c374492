"""Theorem 1: its noise scales gamma, sigma, tau, and their orders."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import mpmath
import numpy as np
import sympy

from dpbounds.arithmetic import FLOATS
from dpbounds.ols import (
    failure_probability,
    hessian_mixing_scales,
    sketch,
)
from dpbounds.ols.calibration import theorem_gamma, theorem_sigma, theorem_tau
from dpbounds.privacy import gaussian_mu
from verify.checks import Agreement, Fact, Identity, Rate, Search, Symbolic, Times, Within
from verify.checks.domains import Real, Whole
from verify.papers.ols.paper.sb_sketch_privacy import FITS, ROWS_FIT, ROWS_NEEDED
from verify.papers.ols.tools.symbols import SYMBOLS
from verify.statements.claims import Claim, Correction, Fault
from verify.statements.derivations import Derivation

EPSILONS = (0.1, 0.25, 0.63, 1.0, 1.6, 4.0, 10.0)
DELTAS = (1e-2, 1e-4, 1e-6, 1e-8, 1e-10)

# --- the noise scales ---

BUDGETS = {"epsilon": Real(0.01, 100.0, "log"), "log_term": Real(1.4, 100.0, "log"), "steps": Whole(1, 50)}


def _gaussian_share(m, epsilon, log_term, steps, clip):
    """sqrt(2 T l) C / sigma + T C² / (2 sigma²) of (38) at Theorem 1's sigma."""
    sigma = theorem_sigma(m, epsilon, log_term, steps, clip)
    return m.sqrt(2 * steps * log_term) * clip / sigma + steps * clip**2 / (2 * sigma**2)


def _half(m, epsilon, **_):
    return epsilon / 2


def _shares(*, half: str = "1/2") -> Iterator[tuple[str, sympy.Expr]]:
    """Both shares in symbols, epsilon in terms of the root that the scales have."""
    root, l, T, C = sympy.symbols("r l T C", positive=True)
    epsilon = 2 * l * ((1 + root) ** 2 - 1)
    yield "sigma", _gaussian_share(SYMBOLS, epsilon, l, T, C) - sympy.Rational(half) * epsilon


def _rows_shares(*, half: str = "1/2") -> Iterator[tuple[str, sympy.Expr]]:
    root, l, T, k = sympy.symbols("r l T k", positive=True)
    epsilon = 8 * l * ((1 + root) ** 2 - 1)
    yield "gamma", _rows_share(SYMBOLS, epsilon, l, T, k) - sympy.Rational(half) * epsilon


THM_1_SIGMA = Claim(
    id="ols/thm-1-sigma",
    where="Theorem 1, (36)-(38), (45)",
    kind="identity",
    statement=(
        "Theorem 1's $sigma$ makes $sqrt(2 T ell_4) C\\/sigma + T C^2\\/(2 sigma^2) = epsilon\\/2$, $ell_4 = "
        "log(4\\/delta)$."
    ),
    remark="The only positive root: the left side falls in $sigma$.",
    checks=(
        Symbolic(residuals=_shares, impostors={"0.51 epsilon": {"residuals": {"half": "51/100"}}}),
        Identity(
            left=_gaussian_share,
            right=_half,
            box={**BUDGETS, "clip": Real(0.1, 10.0, "log")},
            impostors={"1 % off": {"right": Times("1.01")}},
            role="control",
        ),
    ),
    derivation=Derivation(
        text=(
            "With $r = sqrt(1 + epsilon\\/(2 ell_4)) - 1$, which takes every value above 0 as $epsilon$ does, $C "
            "sqrt(T)\\/sigma = sqrt(2 ell_4) r$, and $2 ell_4 r + ell_4 r^2 = epsilon\\/2$."
        ),
    ),
)


def _rows_share(m, epsilon, log_term, steps, k):
    """kT/(2 gamma²) + 2 sqrt(2 kT l)/gamma at Theorem 1's gamma, l = log(5/delta)."""
    return sketch.printed_epsilon(m, theorem_gamma(m, epsilon, log_term, k, steps), k * steps, log_term)


def _rows_share_at(m, epsilon, log_term, steps, k, five="5", target="1/4"):
    """The right side of (18) at kT rows and a target of `target` delta, at the printed gamma."""
    log_inverse_delta = log_term - m.log(m.number(five))
    gamma = theorem_gamma(m, epsilon, log_term, k, steps)
    return sketch.printed_epsilon(m, gamma, k * steps, log_inverse_delta + m.log(4 / m.number(target)))


ROWS_BOX = {**BUDGETS, "log_term": Real(2.0, 100.0, "log"), "k": Whole(1, 2000, "log")}

THM_1_GAMMA = Claim(
    id="ols/thm-1-gamma",
    where="Theorem 1, end of C.1.1",
    equation="C.1.1",
    kind="identity",
    statement=(
        "Theorem 1's $gamma$ makes $k T\\/(2 gamma^2) + 2 sqrt(2 k T ell_5)\\/gamma = epsilon\\/2$, $ell_5 = "
        "log(5\\/delta)$, said to be (18) with $k <- k T$ for a target $delta$ of $delta\\/4$."
    ),
    checks=(
        Identity(left=_rows_share, right=_half, box=ROWS_BOX, impostors={"1 % off": {"right": Times("1.01")}}),
        Identity(left=_rows_share_at, right=_half, box=ROWS_BOX),
    ),
    fault=Fault(
        severity="slip",
        touches="proof",
        finding=(
            "The end of C.1.1 calls $k T\\/(2 gamma^2) + 2 sqrt(2 k T log(5\\/delta))\\/gamma$ the bound (18) for a "
            "target of $delta\\/4$; (18) has $log(4\\/(delta\\/4))$ there, which gives ${left}$ at $epsilon = "
            "{epsilon}$, $k = {k}$, $T = {steps}$, $log(5\\/delta) = {log_term}$, not $epsilon\\/2 = {right}$."
        ),
        consequence=(
            "None for the theorem: the first two terms of (44) are (17) for a target of $3 delta\\/4$, and stay below "
            "$epsilon\\/2$ at the printed $gamma$ with enough rows (ols/thm-1-gamma-chain)."
        ),
        exhibit=1,
    ),
    correction=Correction(
        statement=(
            "Theorem 1's $gamma$ makes $k T\\/(2 gamma^2) + 2 sqrt(2 k T log(5\\/delta))\\/gamma = epsilon\\/2$: the "
            "right side of (18) with $k <- k T$ for a target $delta$ of $4 delta\\/5$."
        ),
        ground="$4\\/(4 delta\\/5) = 5\\/delta$.",
        checks=(
            Symbolic(residuals=_rows_shares, impostors={"0.51 epsilon": {"residuals": {"half": "51/100"}}}),
            Identity(
                left=lambda m, **numbers: _rows_share_at(m, target="4/5", **numbers),
                right=_half,
                box=ROWS_BOX,
                impostors={"1 % off": {"right": Times("1.01")}},
                role="control",
            ),
        ),
        derivation=Derivation(
            text=(
                "With $r = sqrt(1 + epsilon\\/(8 ell_5)) - 1$, $ell_5 = log(5\\/delta)$, which takes every value "
                "above 0 as $epsilon$ does, $sqrt(k T)\\/gamma = sqrt(8 ell_5) r$, and $4 ell_5 r^2 + 8 ell_5 r = "
                "epsilon\\/2$. (18) has $log(4\\/delta')$ for a target $delta'$, which is $ell_5$ at $delta' = 4 "
                "delta\\/5$."
            ),
        ),
    ),
)

# --- tau ---


def _printed_tau(rng: np.random.Generator, scale: float = 1.0) -> Iterator[Fact]:
    """tau squared, and P(z > tau) by digits against the shipped one."""
    for delta, failure in ((1e-2, 1e-3), (1e-6, 1e-4), (1e-10, 1e-11), (0.5, 1.0)):
        tau = scale * float(theorem_tau(FLOATS, delta, failure))
        shipped = hessian_mixing_scales(1.0, delta, k=20, steps=2, failure=failure).tau
        yield Fact(f"tau at delta = {delta:g}, rho = {failure:g}", scale * shipped, tau, 1e-14)
        least = 2 * math.log(4) - 2 * math.log(min(delta, failure))
        yield Fact("its square", tau**2, least, 1e-12)
        yield Fact("P(z > tau)", failure_probability(tau), float(mpmath.erfc(tau / mpmath.sqrt(2)) / 2), 1e-12)


def _tails(log_delta: float, log_failure: float, factor: float = 1.0) -> tuple[float, float]:
    """P(z > tau) <= exp(-tau²/2)/2 <= min(delta, failure)/4, in units of the right sides."""
    delta, failure = math.exp(log_delta), math.exp(log_failure)
    tau = float(theorem_tau(FLOATS, delta, failure))
    bound = factor * math.exp(-tau * tau / 2) / 2
    return (
        float(max(failure_probability(tau) / bound, bound / (min(delta, failure) / 4))),
        1.0 + 1e-12,
    )


def _half_tail(*, share: int = 2) -> Iterator[tuple[str, sympy.Expr]]:
    """The derivative of e^(-t²/2)/2 - P(z > t), and e^(-tau²/2)/2 at tau² = 2 log(4/p)."""
    t, p = sympy.symbols("t p", positive=True)
    tail: Any = sympy.erfc(t / sympy.sqrt(2)) / 2
    slope: Any = sympy.diff(sympy.exp(-(t**2) / 2) / share - tail, t)
    yield "derivative", sympy.simplify(slope - sympy.exp(-(t**2) / 2) * (1 / sympy.sqrt(2 * sympy.pi) - t / 2))
    yield "e^(-tau²/2)/2 = p/8", sympy.exp(-sympy.log(4 / p)) / share - p / 8


HALF_TAIL = Symbolic(residuals=_half_tail, impostors={"a third of it": {"residuals": {"share": 3}}})

THM_1_TAU = Claim(
    id="ols/thm-1-tau",
    where="Theorem 1, C.1.1, (46)",
    kind="inequality",
    statement=(
        "$tau = sqrt(2 log max{4\\/delta, 4\\/rho.alt})$ gives $P(tilde(lambda) <= lambda^X) >= 1 - 1\\/2 "
        "e^(-tau^2\\/2) >= 1 - delta\\/4$, and $>= 1 - rho.alt\\/4$."
    ),
    remark="With a factor 2 and more to spare.",
    checks=(
        HALF_TAIL,
        Agreement(facts=_printed_tau, impostors={"1 % more": {"facts": {"scale": 1.01}}}, role="control"),
        Search(
            sides=_tails,
            box={"log_delta": Real(-50.0, -0.01), "log_failure": Real(-50.0, 0.0)},
            evaluations=800,
            impostors={"4 times": {"sides": {"factor": 4.0}}, "a fiftieth": {"sides": {"factor": 0.02}}},
            role="control",
        ),
    ),
    derivation=Derivation(
        text=(
            "$tilde(lambda) > lambda^X$ needs $z > tau$. $1/2 e^(-t^2\\/2) - PP(z > t)$ is 0 at $t = 0$, grows up to "
            "$t = sqrt(2\\/pi)$, falls from there on and tends to 0: it is never negative. At $tau = sqrt(2 "
            "log(4\\/p))$, $p = min{delta, rho.alt}$, the first term is $p\\/8 <= p\\/4$."
        ),
        lemmas=("monotony",),
    ),
)

# --- the remark, and the orders ---


def _exact_gamma(epsilon: float, delta: float, k: int, steps: int) -> float:
    """The least gamma at which the first two terms of (42) are at most epsilon/2."""
    rows = k * steps

    def over(gamma: float) -> float:
        test = math.sqrt(2 * k * math.log(5 / delta)) / gamma
        return test + float(sketch.renyi_epsilon(gamma, rows, delta / 4)) - epsilon / 2

    return sketch.least(over, sketch.LEAST_GAMMA)


def _ratio(epsilon: float, delta: float, k: float, steps: float) -> tuple[float, float]:
    """gamma of (42) against the printed one."""
    printed = float(theorem_gamma(FLOATS, epsilon, math.log(5 / delta), int(k), int(steps)))
    return _exact_gamma(epsilon, delta, int(k), int(steps)), printed


def _with_rows(
    epsilon: float, delta: float, ratio: float, steps: float, least: float = float(ROWS_NEEDED)
) -> tuple[float, float]:
    """The same with kT >= `least` * ratio * log(5/delta) rows, where the printed gamma is above 5/2."""
    k = math.ceil(least * ratio * math.log(5 / delta) / steps)
    exact, printed = _ratio(epsilon, delta, k, steps)
    return (exact, printed) if printed > sketch.LEAST_GAMMA else (0.0, 1.0)


def _sigmas(epsilon: float, delta: float, factor: float = 1.0) -> tuple[float, float]:
    """The least sigma for (epsilon/2, delta/4), by Balle & Wang, against the printed one."""
    return 1 / gaussian_mu(epsilon / 2, delta / 4), factor * float(
        theorem_sigma(FLOATS, epsilon, math.log(4 / delta), 1, 1.0)
    )


BUDGET_BOX = {"epsilon": Real(0.1, 10.0, "log"), "delta": Real(1e-10, 1e-2, "log")}


def _few_rows(rng: np.random.Generator, k: int = 1) -> Iterator[Within]:
    """T = 1 and one row, where the print is below."""
    exact, printed = _ratio(1.0, 1e-6, k, 1)
    numbers = {"exact": exact, "print": printed}
    yield Within(f"printed gamma over the exact one, k = {k}, T = 1", printed / exact, most=1.0, numbers=numbers)


THM_1_REM = Claim(
    id="ols/thm-1-rem",
    where="Remark after Theorem 1",
    equation="Theorem 1",
    kind="number",
    statement=(
        "The printed $gamma$, $sigma$ are upper bounds;",
        "exact expressions give smaller noise.",
    ),
    hypotheses="$k T >= 3.2 log(5\\/delta)$, as for the $k$ of item 2; $epsilon <= 10$, $gamma > 5\\/2$.",
    remark=(
        "With fewer rows in all the printed $gamma$ may be too small: at $k = T = epsilon = 1$, $delta = 10^(-6)$ the "
        "exact expression of (42) asks for ${exact}$, the print is ${print}$ (`ols/eq18`). $sigma$ needs no rows."
    ),
    checks=(
        Search(
            decides="ab",
            sides=_sigmas,
            box={"epsilon": Real(0.01, 10.0, "log"), "delta": Real(1e-10, 1e-2, "log")},
            evaluations=600,
            impostors={"half of it": {"sides": {"factor": 0.5}}},
            role="control",
        ),
        Search(
            decides="ab",
            sides=_with_rows,
            box={**BUDGET_BOX, "ratio": Real(1.0, 30.0, "log"), "steps": Whole(1, 6)},
            evaluations=120,
            impostors={"rows from log(5/delta) / 2 on": {"sides": {"least": 0.5}}},
            role="control",
        ),
        Agreement(decides="a", facts=_few_rows, impostors={"100 rows": {"facts": {"k": 100}}}, role="control"),
        *(check.deciding("ab") for check in ROWS_FIT),
        Symbolic(decides="ab", residuals=_shares, impostors={"0.51 epsilon": {"residuals": {"half": "51/100"}}}),
    ),
    derivation=Derivation(
        text="At the printed $sigma$ (38) is $epsilon\\/2$ (`ols/thm-1-sigma`). (36) is less, by two negative terms "
        "(`ols/eq38`), and an upper bound on the exact $epsilon$ at $delta\\/4$; all fall in $sigma$, so the exact and "
        "(36)'s $sigma$ are smaller. "
        + FITS
        + "Here $k T$ rows stand for $k$, $ell = log(5\\/delta)$, $log(4\\/delta) = "
        "ell - log(5\\/4)$, and the bound is $epsilon\\/2 <= 5$ at the printed $gamma$ (`ols/thm-1-gamma`). So (44), "
        "and (42), whose test has $sqrt(2 k ell_5)$, are less than $epsilon\\/2$ there, and fall in $gamma$: their "
        "$gamma$ are smaller.",
        lemmas=("monotony", "privacy profile of the Gaussian mechanism"),
    ),
)


def _orders(decades: float, power: float = 0.0) -> Iterator[tuple[str, float]]:
    """gamma and sigma over their orders, epsilon and delta falling; the largest epsilon is log(1/delta)."""
    for label, epsilon, log_inverse in (
        ("epsilon to 0", 10.0**-decades, 10.0),
        ("delta to 0", 1.0, 10.0 * 10.0 ** (decades / 4)),
        ("epsilon = log(1/delta)", 10.0 * 10.0 ** (decades / 4), 10.0 * 10.0 ** (decades / 4)),
    ):
        gamma = float(theorem_gamma(FLOATS, epsilon, log_inverse + math.log(5), 7, 3))
        sigma = float(theorem_sigma(FLOATS, epsilon, log_inverse + math.log(4), 3, 2.0))
        yield f"gamma, {label}", gamma * epsilon / math.sqrt(21 * log_inverse) * 10 ** (power * decades)
        yield f"sigma^2, {label}", sigma**2 * epsilon**2 / (12 * log_inverse)


def _powers(rng: np.random.Generator) -> Iterator[Fact]:
    """kT, T and C enter as the orders say."""
    one = float(theorem_gamma(FLOATS, 1.0, 15.0, 1, 1))
    yield Fact("gamma at k = 8, T = 2", theorem_gamma(FLOATS, 1.0, 15.0, 8, 2), 4 * one, 1e-12)
    noise = float(theorem_sigma(FLOATS, 1.0, 15.0, 1, 1.0))
    yield Fact("sigma at T = 9, C = 2", theorem_sigma(FLOATS, 1.0, 15.0, 9, 2.0), 6 * noise, 1e-12)


def _exact_orders(*, root: int = 8) -> Iterator[tuple[str, sympy.Expr]]:
    """gamma epsilon / sqrt(k T l) and sigma² epsilon² / (T C² l) with y = sqrt(1 + epsilon / (root l)), sqrt(1 +
    epsilon / (2 l)); of l = log(5/delta), log(4/delta).
    """
    y, l, T, k, C = sympy.symbols("y l T k C", positive=True)
    epsilon = root * l * ((1 + y) ** 2 - 1)
    gamma = theorem_gamma(SYMBOLS, epsilon, l, k, T)
    yield "gamma", gamma * epsilon / sympy.sqrt(k * T * l) - sympy.sqrt(8) * (y + 2)
    epsilon = 2 * l * ((1 + y) ** 2 - 1)
    sigma = theorem_sigma(SYMBOLS, epsilon, l, T, C)
    yield "sigma²", sigma**2 * epsilon**2 / (T * C**2 * l) - 2 * (y + 2) ** 2


THM_1_THETA = Claim(
    id="ols/thm-1-theta",
    where="(78)",
    equation="(78)",
    kind="number",
    statement=(
        "$gamma = Theta(sqrt(k T ell_1)\\/epsilon)$, $sigma^2 = Theta(T C^2 ell_1\\/epsilon^2)$, $ell_1 = "
        "log(1\\/delta)$."
    ),
    setting="$epsilon <= log(1\\/delta)$, $delta <= e^(-10)$, both to their limits.",
    remark=(
        "For $epsilon = O(log(1\\/delta))$ and $delta$ bounded away from 1; for larger $epsilon$ the noise falls like "
        "$epsilon^(-1\\/2)$ only."
    ),
    checks=(
        Symbolic(residuals=_exact_orders, impostors={"4 in the root": {"residuals": {"root": 4}}}),
        Rate(
            ratios=_orders,
            relation="theta",
            impostors={"another power": {"ratios": {"power": 0.25}}},
            role="control",
        ),
        Agreement(facts=_powers, impostors={"1 % off": {"facts": Times(1.01)}}, role="control"),
    ),
    derivation=Derivation(
        text=(
            "Exactly $gamma epsilon\\/sqrt(k T ell_5) = sqrt(8) (1 + sqrt(1 + epsilon\\/(8 ell_5)))$ and $sigma^2 "
            "epsilon^2\\/(T C^2 ell_4) = 2 (1 + sqrt(1 + epsilon\\/(2 ell_4)))^2$. For $epsilon <= ell_1$ the roots "
            "are between 1 and $sqrt(3\\/2)$, and $ell_1 <= ell_4 <= ell_5 <= (1 + log(5)\\/10) ell_1$ for $delta <= "
            "e^(-10)$."
        ),
    ),
)
