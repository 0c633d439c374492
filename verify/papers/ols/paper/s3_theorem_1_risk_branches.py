"""Theorem 1 item 2: the branches of (4), and how it depends on the least eigenvalue (Section 3.2.3)."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import sympy

from dpbounds.ols import Features, bounds
from verify.checks import Agreement, Fact, Search, Symbolic, Times
from verify.checks.domains import Real, Whole
from verify.statements.claims import Claim
from verify.statements.derivations import Derivation


def _stated(multiplier: float, lam: float, signal: float, squared: float, outcome: float, T: int) -> float:
    """4^-T signal + gamma (C_Y² + ||theta*||²) min{1, gamma/lambda}."""
    return signal / 4**T + multiplier * (outcome**2 + squared) * min(1.0, multiplier / lam)


def _branches(rng: np.random.Generator) -> Iterator[Fact]:
    """Random settings on both sides of the split; (4) on both sides of it; the multipliers of Table 1 written out."""
    for row in range(12):
        multiplier, lam, signal, squared, outcome = np.exp(rng.uniform(-2, 3, 5)) * [1, 3, 10, 1, 1]
        T = int(rng.integers(1, 6))
        data = Features(lambda_min=lam, signal=signal, theta_squared=squared)
        found = bounds.hessian_mixing(multiplier, data, steps=T, outcome_bound=outcome, constant=1.0)
        yield Fact(f"setting {row}", float(found), _stated(multiplier, lam, signal, squared, outcome, T), 1e-12)
    for shift in (-1e-9, 0.0, 1e-9):
        data = Features(lambda_min=2.0 + shift, theta_squared=1.0)
        found = bounds.hessian_mixing(2.0, data, steps=1, constant=3.0)
        yield Fact(f"at the split, {shift:+g}", float(found), 12.0, 1e-8)
    for epsilon, delta, failure, d, T in ((0.5, 1e-6, 1e-3, 3, 4), (2.0, 1e-4, 1e-9, 10, 2), (1.0, 0.01, 1.0, 40, 1)):
        logs = math.log(1 / delta)
        hess = math.sqrt(T * max(d, math.log(T / failure)) * logs) / epsilon
        mix = math.sqrt(max(d, math.log(1 / failure)) * logs) / epsilon
        assp = math.sqrt(d * math.log(d**2 / failure) * logs) / epsilon
        yield Fact(f"gamma_hess, d = {d}", bounds.hessian_multiplier(epsilon, delta, failure, d, T), hess, 1e-12)
        yield Fact(f"gamma_mix, d = {d}", bounds.mixing_multiplier(epsilon, delta, failure, d), mix, 1e-12)
        yield Fact(f"gamma_ASSP, d = {d}", bounds.adassp_multiplier(epsilon, delta, failure, d), assp, 1e-12)


def _at_the_split(*, power: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """Both branches at lambda = gamma."""
    gamma, lam, scale = sympy.symbols("gamma lambda s", positive=True)
    second = gamma * scale * gamma / lam**power
    yield "first less second branch", gamma * scale - second.subs(lam, gamma)


def _order_of_branches(*, sign: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """gamma/lambda - 1 where gamma = lambda + a, 1 - gamma/lambda where lambda = gamma + a, and less the derivative of
    the second branch by lambda.
    """
    gamma, lam, a, scale = sympy.symbols("gamma lambda a s", positive=True)
    yield "1 is the minimum below the split", (lam + a) / lam - 1
    yield "gamma / lambda is beyond", sign * (1 - gamma / (gamma + a))
    yield "the second branch falls", -sign * sympy.diff(gamma * scale * gamma / lam, lam)


BRANCHES = Symbolic(
    residuals=_at_the_split,
    nonnegative=_order_of_branches,
    impostors={
        "the square at the split": {"residuals": {"power": 2}},
        "the other order": {"nonnegative": {"sign": -1}},
    },
)

THM_1_CASE_SPLIT = Claim(
    id="ols/thm-1-case-split",
    where="Theorem 1, (4)",
    equation="(4)",
    kind="number",
    statement=(
        'The second term of (4) has two branches split at $lambda^X = gamma_"hess"$;',
        r'it is $gamma_"hess" (C_Y^2 + norm(theta^*)^2) min{1, gamma_"hess" \/ lambda^X}$, continuous there.',
    ),
    checks=(
        BRANCHES.deciding("ab"),
        Agreement(decides="ab", facts=_branches, impostors={"1 % off": {"facts": Times(1.01)}}, role="control"),
    ),
    derivation=Derivation(
        text=(
            '$min{1, gamma_"hess"\\/lambda^X}$ is 1 up to $lambda^X = gamma_"hess"$ and the quotient from there on, '
            "and both are 1 at the split, for every scale."
        ),
    ),
)


def _monotone(multiplier, lam, growth, squared, T, power: float = 1.0):
    """(4) at a larger lambda^X against (4) at a smaller one."""
    values = []
    for factor in (1 + growth, 1.0):
        data = Features(lambda_min=lam * factor, signal=1.0, theta_squared=squared)
        found = bounds.hessian_mixing(multiplier, data, steps=int(T))
        values.append(float(found) * (factor if power < 0 else 1.0))
    return values[0], values[1]


THM_1_MONO = Claim(
    id="ols/thm-1-mono",
    where="Section 3.2.3",
    equation="Section 3.2.3",
    kind="number",
    statement="The right side of (4) is monotonically decreasing in $lambda^X$.",
    remark='Constant up to $gamma_"hess"$ and strictly decreasing beyond, with $norm(X theta^*)$ and $theta^*$ fixed.',
    checks=(
        Search(
            sides=_monotone,
            box={
                "multiplier": Real(0.1, 100.0, "log"),
                "lam": Real(0.01, 1e4, "log"),
                "growth": Real(0.0, 10.0),
                "squared": Real(0.0, 10.0),
                "T": Whole(1, 6),
            },
            evaluations=1000,
            impostors={"times lambda^X": {"sides": {"power": -1.0}}},
            role="control",
        ),
        BRANCHES,
    ),
    derivation=Derivation(
        text=(
            "The first term and the first branch have no $lambda^X$, the second branch falls in it, and they meet at "
            '$gamma_"hess"$ (`ols/thm-1-case-split`).'
        ),
        lemmas=("monotony",),
    ),
)
