"""C.1.1, the proof of Theorem 1's privacy: (36) to (38), and the ledger, (40)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import sympy

from dpbounds.ols import sketch
from dpbounds.privacy import zcdp_epsilon
from verify.checks import Agreement, Fact, Inequality, Symbolic, Times
from verify.checks.domains import Real
from verify.papers.ols.paper.sc_1_1_privacy import clipped_sum
from verify.statements.claims import Claim
from verify.statements.derivations import Derivation

# --- (36) to (38) ---


def _minimised(factor: int = 2) -> Iterator[tuple[Any, ...]]:
    """(37) is stationary at alpha = 1 + sigma sqrt(2 l/T)/C, and (38) is its value there."""
    T, C, sigma, l, alpha = sympy.symbols("T C sigma ell alpha", positive=True)
    curve = alpha * T * C**2 / (2 * sigma**2) + l / (alpha - 1)
    best = 1 + sigma * sympy.sqrt(factor * l / T) / C
    yield "stationary", sympy.diff(curve, alpha).subs(alpha, best)
    yield "(38)", curve.subs(alpha, best) - sympy.sqrt(2 * T * l) * C / sigma, T * C**2 / (2 * sigma**2)


def _convex() -> Iterator[tuple[str, sympy.Expr]]:
    u, l = sympy.symbols("u ell", positive=True)
    yield "second derivative", sympy.diff(l / u, u, 2)


def _dropped(m, order):
    """What (36) has beside (37): the conversion at delta = 1."""
    return sketch.conversion(m, order, m.number(0) * order)


def _value_of_38(rng: np.random.Generator) -> Iterator[Fact]:
    """(38) as the shipped conversion of rho = T C²/(2 sigma²) has it."""
    for T, C, sigma, delta in ((3, 1.0, 9.0, 1e-6), (1, 0.5, 2.0, 1e-3)):
        l = math.log(4 / delta)
        printed = math.sqrt(2 * T * l) * C / sigma + T * C**2 / (2 * sigma**2)
        shipped = zcdp_epsilon(T * C**2 / (2 * sigma**2), delta / 4, "bun-steinke")
        yield Fact(f"T = {T}, C = {C}, sigma = {sigma}", shipped, printed, 1e-13)


EQ_38 = Claim(
    id="ols/eq38",
    where="(36)-(38)",
    equation="(38)",
    kind="identity",
    statement=(
        "Dropping $log(1 - 1\\/alpha)$ and $-log(alpha)\\/(alpha - 1)$ gives an upper bound, and $min_(alpha > 1) "
        "{alpha T C^2\\/(2 sigma^2) + ell_4\\/(alpha - 1)} = sqrt(2 T ell_4) C\\/sigma + T C^2\\/(2 sigma^2)$."
    ),
    checks=(
        Symbolic(residuals=_minimised, nonnegative=_convex, impostors={"order off": {"residuals": {"factor": 3}}}),
        Inequality(
            smaller=_dropped,
            larger=lambda m, order: m.number(0) * order,
            box={"order": Real(1.01, 1e4, "log")},
            impostors={"sign changed": {"smaller": Times("-1")}},
            role="control",
        ),
        Agreement(facts=_value_of_38, impostors={"1 % off": {"facts": Times(1.01)}}, role="control"),
    ),
    derivation=Derivation(
        text=(
            "For every $alpha > 1$ both $log(1 - 1\\/alpha)$ and $-log(alpha)\\/(alpha - 1)$ are negative. What is "
            "left is convex in $alpha$, stationary at $alpha = 1 + sigma sqrt(2 ell_4\\/T)\\/C > 1$, and has the "
            "stated value there."
        ),
        lemmas=("monotony",),
    ),
)

# --- the ledger ---

# What each line of the ledger costs in delta, read off its logarithm: the classical test has log(1.25/share), the
# conversions log(1/share), the tail of tau log(1/share).
LEDGER = {
    "eigenvalue test": Fraction(5, 4) / 5,
    "released eigenvalue too large": Fraction(1, 4),
    "Gaussian steps": Fraction(1, 4),
    "sketches": Fraction(1, 4),
}


def _sum_of_shares(rng: np.random.Generator) -> Iterator[Fact]:
    yield Fact("shares of delta in all", sum(LEDGER.values()), Fraction(1), 0)
    halves = LEDGER["eigenvalue test"] + LEDGER["released eigenvalue too large"]
    yield Fact("test and tail", halves, Fraction(1, 2), 0)


def _shares_in_symbols(*, tail: str = "1/4") -> Iterator[tuple[str, sympy.Expr]]:
    """The classical test has log(1.25/share) = log(5/delta), the others log(4/delta)."""
    delta = sympy.Symbol("delta", positive=True)
    test = sympy.Rational(5, 4) * delta / 5
    yield "test and tail", test + sympy.Rational(tail) * delta - delta / 2
    yield "all", test + 3 * sympy.Rational(tail) * delta - delta


THM_1_DELTA_SUM = Claim(
    id="ols/thm-1-delta-sum",
    where="(40)",
    equation="(40)",
    kind="identity",
    statement=(
        "$hat(delta) = delta\\/2 + hat(delta)_(upright(G a u s s)) + hat(delta)_(upright(G a u s s M i x)) = delta$, "
        "the $delta\\/2$ being two shares of $delta\\/4$."
    ),
    checks=(
        Symbolic(residuals=_shares_in_symbols, impostors={"a tail of 3/10": {"residuals": {"tail": "3/10"}}}),
        Agreement(
            facts=_sum_of_shares, impostors={"a share of 3/10": {"facts": Times(Fraction(21, 20))}}, role="control"
        ),
    ),
    derivation=Derivation(
        text=(
            "The test has $log(5\\/delta) = log(1.25\\/(delta\\/4))$, the tail of $tau$, the gradients and the "
            "sketches $log(4\\/delta)$: four shares of $delta\\/4$."
        ),
        lemmas=("union bound",),
    ),
)


class _Watched:
    """Data that count how often they are used."""

    def __init__(self, X: np.ndarray, y: np.ndarray) -> None:
        self.uses, self._X, self._y = [], X, y

    def least_eigenvalue(self) -> float:
        self.uses.append("eigenvalue")
        return float(np.linalg.eigvalsh(self._X.T @ self._X)[0])

    def sketch(self, S: np.ndarray) -> np.ndarray:
        self.uses.append("sketch")
        return S @ self._X

    def gradient(self, theta: np.ndarray, clip: float) -> np.ndarray:
        self.uses.append("gradient")
        return clipped_sum(self._X, self._y, theta, clip)


def _run(data: _Watched, steps: int, rng: np.random.Generator, k: int = 6, gamma: float = 5.0) -> np.ndarray:
    """Algorithm 1, line by line, on data that it sees through three doors."""
    released = max(data.least_eigenvalue() - gamma / math.sqrt(k) * (3.0 - rng.standard_normal()), 0.0)
    eta, theta = math.sqrt(max(gamma - released, 0.0)), np.zeros(2)
    for _ in range(steps):
        rows = data.sketch(rng.standard_normal((k, 4))) + eta * rng.standard_normal((k, 2))
        noisy = data.gradient(theta, 1.0) - eta**2 * theta + rng.standard_normal(2)
        theta = theta + np.linalg.solve(rows.T @ rows / k, noisy)
    return theta


def _calls(rng: np.random.Generator, extra: int = 0) -> Iterator[Fact]:
    X, y = rng.uniform(-0.5, 0.5, (4, 2)), rng.uniform(-1, 1, 4)
    for steps in (1, 2, 5):
        data = _Watched(X, y)
        _run(data, steps, rng)
        found = [data.uses.count(name) for name in ("eigenvalue", "sketch", "gradient")]
        yield Fact(f"uses of the data, T = {steps}", found, [1, steps + extra, steps], 0)
        yield Fact(f"calls, T = {steps}", len(data.uses), 2 * steps + 1 + extra, 0)


THM_1_CALLS = Claim(
    id="ols/thm-1-calls",
    where="proof sketch of Theorem 1, C.1.1",
    kind="identity",
    statement="Algorithm 1 makes $2 T + 1$ private calls: one eigenvalue, $T$ sketches, $T$ Gaussian steps.",
    checks=(Agreement(facts=_calls, impostors={"one more sketch": {"facts": {"extra": 1}}}),),
)
