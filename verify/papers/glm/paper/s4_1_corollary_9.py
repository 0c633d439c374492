"""Corollary 9, the abstract and Table 1: what Theorem 8 says of sample sizes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from dpbounds.glm import bounds
from dpbounds.glm.bounds import Covariance
from verify.checks import Agreement, Fact, Within
from verify.papers.glm.paper.s4_1_theorem_8 import DELTA, EXPONENTS, FAILURE
from verify.statements.claims import Claim


def _sizes(rng: np.random.Generator, *, shift: float = 0.0) -> Iterator[Fact | Within]:
    """n and m at which the terms of Theorem 8 are alpha, norms 1: powers of p, epsilon, alpha without logarithms."""
    covariance = Covariance(norm=1.0, least=1.0)

    def private(p: int, epsilon: float, alpha: float) -> float:
        rate = bounds.gaussian_rate(
            1.0, covariance, 4.0, p=p, n=10**9, m=10**9, epsilon=epsilon, delta=DELTA, failure=FAILURE
        )
        logs = bounds.log_factor(DELTA, p, FAILURE)
        return 1e9 * (float(rate.privacy) / logs / alpha) ** 2

    def public(p: int, alpha: float, *, epsilon: float = 0.5, delta: float = DELTA) -> float:
        rate = bounds.gaussian_rate(
            1.0, covariance, 4.0, p=p, n=10**9, m=10**9, epsilon=epsilon, delta=delta, failure=FAILURE
        )
        return 1e9 * (float(rate.public) / alpha) ** 2

    for label, low, high, power in (
        ("n, power of p", private(10, 0.5, 0.1), private(20, 0.5, 0.1), 3.0),
        ("n, power of epsilon", private(10, 0.25, 0.1), private(10, 0.5, 0.1), -2.0),
        ("n, power of alpha", private(10, 0.5, 0.05), private(10, 0.5, 0.1), -2.0),
        ("m, power of p", public(10, 0.1), public(20, 0.1), 1.0),
        ("m, power of alpha", public(10, 0.05), public(10, 0.1), -2.0),
        ("m, power of epsilon", public(10, 0.1, epsilon=0.25), public(10, 0.1), 0.0),
        ("m, power of delta", public(10, 0.1, delta=DELTA / 2), public(10, 0.1), 0.0),
    ):
        yield Fact(label, math.log2(high / low), power + shift, 1e-9)
    yield Within("m over n for epsilon <= p", public(10, 0.1) / private(10, 0.99, 0.1), 0.0, 1.0)


_COLLECTED = Agreement(facts=_sizes, impostors={"a power 0.1 off": {"facts": {"shift": 0.1}}})
_SHARPER = (
    "Of the estimators that use the public covariance alone $n$ grows with $p^2$ only; the part of $m$ that serves the "
    "scale does not depend on $p$."
)

COR_9 = Claim(
    id="glm/cor-9",
    where="Corollary 9",
    kind="identity",
    statement=(
        "For $norm(w^*) = O(1)$: $n = O(p^3 epsilon^(-2) alpha^(-2))$, $m = O(p alpha^(-2))$;",
        "$m <= n$;",
        "$m$ does not depend on $epsilon$, $delta$.",
    ),
    equation="Corollary 9",
    setting="$norm(Sigma)$ and $lambda$ of order 1, logarithms left out, as the corollary says.",
    remark=_SHARPER,
    checks=(_COLLECTED.deciding("abc"),),
)

ABS_GAUSS = Claim(
    id="glm/abs-gauss",
    where="Abstract, Section 1",
    kind="mc-rate",
    statement=(
        "Gaussian $x$: $ell_2$ error $alpha$ with $m = O(p alpha^(-2))$ public and $n = O(p^3 alpha^(-2) "
        "epsilon^(-2))$ private records."
    ),
    hypotheses="Those of Theorem 8; $norm(w^*), norm(Sigma), 1\\/lambda = O(1)$",
    equation="Abstract",
    remark="$p^3$, $epsilon^(-2)$ and $n^(-1)$ are sharp for Algorithm 1. " + _SHARPER,
    checks=(EXPONENTS, _COLLECTED),
)

TABLE_1_R8 = Claim(
    id="glm/table-1-r8",
    where="Table 1, row 8",
    kind="mc-rate",
    statement="Gaussian $x$, $ell_2$ error: $O(p^3 alpha^(-2) epsilon^(-2))$.",
    equation="Table 1",
    checks=(_COLLECTED,),
)


def _exponents(name: str, p: float, alpha: float, epsilon: float, *, power: float = 3.0) -> float:
    """The logarithm of a row of Table 1, its constants 1."""
    steps, budget = math.log(1 / alpha), math.log(1 / epsilon)
    return {
        "row 2": p * math.log(4) + (p + 2) * steps + 2 * budget,
        "row 3": p * math.log(2) + (p + 1) * steps + 2 * budget,
        "row 4": p * math.log(p) / 4 + (2 + p / 2) * steps + 2 * budget,
        "row 5": p * (p + 1) * math.log(4) + 4 * steps + 2 * budget,
        "row 6": math.log(p) + (3 * steps + budget) / alpha**3,
        "row 7": math.log(p) + steps * math.log(steps) + (math.log(4) + budget) * steps,
        "row 8": power * math.log(p) + 2 * steps + 2 * budget,
        "row 9": 2 * math.log(p) + 2 * steps + 2 * budget,
    }[name]


def _degree(name: str, argument: str, at: float, **changed: float) -> float:
    """d log(row) / d log(argument), by a ratio of 2: constant for a polynomial; alpha^{-1} and epsilon^{-1} grow."""
    point = {"p": 100.0, "alpha": 0.05, "epsilon": 0.5, argument: at}
    further = point | {argument: at * 2 if argument == "p" else at / 2}
    return (_exponents(name, **further, **changed) - _exponents(name, **point, **changed)) / math.log(2)


def _rows(rng: np.random.Generator, *, power: float = 3.0) -> Iterator[Fact | Within]:
    """Polynomial or not: the degree in an argument grows without bound in rows 2 to 7 and is constant in 8 and 9."""
    for name, argument, points in (
        *((f"row {row}", "p", (10.0, 1e3, 1e5)) for row in (2, 3, 4, 5)),
        *((name, "alpha", (1e-1, 1e-3, 1e-9, 1e-100)) for name in ("row 6", "row 7")),
    ):
        degrees = [_degree(name, argument, at) for at in points]
        least = min(after - before for before, after in itertools.pairwise(degrees))
        yield Within(f"{name}: least growth of the degree in {argument}", least, 1.0)
    for name, stated in (("row 8", 3.0), ("row 9", 2.0)):
        for argument, points in (("p", (10.0, 1e5)), ("alpha", (1e-1, 1e-9)), ("epsilon", (1.0, 1e-3))):
            for at in points:
                degree = _degree(name, argument, at, power=power)
                yield Fact(f"{name}: degree in {argument} at {at:g}", degree, stated if argument == "p" else 2.0, 1e-9)


TAB_1 = Claim(
    id="glm/tab-1",
    where="Table 1, Section 1",
    kind="inequality",
    statement=(
        r"Earlier work needs sample sizes exponential in $p$ (rows 2 to 5), or exponential or quasi-polynomial in "
        r"$1\/alpha$ (rows 6 and 7), for general losses;",
        r"rows 8 and 9 are polynomial in $p$, $1\/alpha$ and $1\/epsilon$.",
    ),
    equation="Table 1",
    setting="The rows as printed, constants 1: degrees in each argument as it grows.",
    remark=(
        "Rows 6 and 7 are linear in $p$ and need fewer records at fixed $alpha$ and large $p$; the measures of error "
        "differ; row 9 is for $alpha >= Omega(1\\/sqrt(p))$; linear regression (row 1) needs $p^2$ less than row 8."
    ),
    checks=(Agreement(decides="ab", facts=_rows, impostors={"p^4": {"facts": {"power": 4.0}}}),),
)
