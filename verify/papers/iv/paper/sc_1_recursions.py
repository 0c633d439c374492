"""Appendix C, (11) and (12): the recursions of both errors."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import sympy

from verify.checks import Agreement, Fact, Symbolic
from verify.papers.iv.tools import rationals, reference
from verify.papers.iv.tools.rationals import TwoStage
from verify.statements.claims import Claim
from verify.statements.derivations import Derivation

ETA: Any = Fraction(1, 7)
ALPHA: Any = Fraction(1, 11)
Noise = list[tuple[np.ndarray, np.ndarray]]


def _runs(rng: np.random.Generator) -> Iterator[tuple[str, TwoStage, Noise, list[tuple[np.ndarray, np.ndarray]]]]:
    """Five steps of Algorithm 1 in fractions without clipping, for q > p and q = p: estimates, noise, iterates."""
    fifths = partial(rationals.rationals, denominator=5)
    for q, p in ((3, 2), (2, 2), (3, 1)):
        records = reference.rational_records(rng, 7, q, p)
        noise = [(fifths(rng, q, p), fifths(rng, p)) for _ in range(5)]
        path = reference.descent(records, eta=ETA, alpha=ALPHA, noise=noise)
        yield f"q = {q}, p = {p}", TwoStage(records), noise, path


def _first_stage(rng: np.random.Generator, lag: int = 0) -> Iterator[Fact]:
    """e_Theta^(t+1) against M^(t+1) e_Theta^(0) + eta sum_i M^(t-i) Xi^(i)."""
    for label, estimates, noise, path in _runs(rng):
        M, target = rationals.identity(len(estimates.A)) - ETA * estimates.A, estimates.theta_hat
        for t in range(5):
            added = [ETA * rationals.power(M, t - i + lag) @ Xi for i, (Xi, _) in enumerate(noise[: t + 1])]
            stated = rationals.power(M, t + 1) @ (path[0][0] - target) + np.sum(added, axis=0)
            yield Fact(f"{label}, t = {t}", path[t + 1][0] - target, stated, 0)


def _second_stage(rng: np.random.Generator, residual: int = 1) -> Iterator[Fact]:
    """e_beta^(t+1) against the right-hand side of (12)."""
    for label, estimates, noise, path in _runs(rng):
        A, target = estimates.A, estimates.beta_hat
        projected = estimates.records.Z.T @ estimates.r / estimates.n
        for t, ((theta, beta), (_, nu)) in enumerate(zip(path, noise, strict=False)):
            L = rationals.identity(len(beta)) - ALPHA * theta.T @ A @ theta
            driven = theta.T @ A @ (theta - estimates.theta_hat) @ target + residual * theta.T @ projected
            yield Fact(
                f"{label}, t = {t}", path[t + 1][1] - target, L @ (beta - target) - ALPHA * driven + ALPHA * nu, 0
            )


def _one_step(share: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """A step of Theta without clipping, matrices of any size as letters that do not commute; Z'X / n = A theta_hat."""
    theta, hat, A, Xi, N, start, power = sympy.symbols("Theta theta A Xi N e P", commutative=False)
    eta = sympy.Symbol("eta")
    M = 1 - eta * A
    yield "one step", theta - eta * (A * theta - A * hat) + eta * Xi - hat - (M * (theta - hat) + share * eta * Xi)
    yield "from t to t + 1", M * (power * start + N) + eta * Xi - (M * power * start + (M * N + eta * Xi))


def one_beta_step(residual: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """The same for beta; Z'r / n = A theta_hat beta_hat - b, b = Z'Y / n, and turned = Theta'."""
    names = "Theta turned theta A beta beta_hat b nu"
    theta, turned, hat, A, beta, beta_hat, b, nu = sympy.symbols(names, commutative=False)
    alpha = sympy.Symbol("alpha")
    following = beta - alpha * turned * (A * theta * beta - b) + alpha * nu - beta_hat
    L, projected = 1 - alpha * turned * A * theta, A * hat * beta_hat - b
    driven = turned * A * (theta - hat) * beta_hat + residual * turned * projected
    yield "one step", following - (L * (beta - beta_hat) - alpha * driven + alpha * nu)


EQ_11 = Claim(
    id="iv/eq-11",
    where="App. C, (11)",
    page=16,
    equation="(11)",
    kind="identity",
    statement="$e_Theta^((t+1)) = M^(t+1) e_Theta^((0)) + N^((t))$, $N^((t)) = eta sum_(i <= t) M^(t-i) Xi^((i))$.",
    hypotheses="No clipping.",
    checks=(
        Symbolic(residuals=_one_step, impostors={"half of the noise": {"residuals": {"share": sympy.Rational(1, 2)}}}),
        Agreement(facts=_first_stage, role="control", impostors={"noise a step older": {"facts": {"lag": 1}}}),
    ),
    derivation=Derivation(
        text=(
            "For matrices of any size $e_Theta^((t+1)) = M e_Theta^((t)) + eta Xi^((t))$ is proved, from $Z^top X = "
            "Z^top Z hat(Theta)$. So (11) for one $t$, $N^((t)) = M N^((t - 1)) + eta Xi^((t))$, gives it for the "
            "next, and $N^((-1)) = 0$."
        ),
        lemmas=("induction",),
    ),
)

EQ_12 = Claim(
    id="iv/eq-12",
    where="App. C, (12)",
    page=16,
    equation="(12)",
    kind="identity",
    statement=(
        "$e_beta^((t+1)) = L_t e_beta^((t)) - alpha Theta^((t) top) A e_Theta^((t)) hat(beta) - alpha/n Theta^((t) "
        "top) Z^top r + alpha nu^((t))$."
    ),
    hypotheses="No clipping.",
    checks=(
        Symbolic(
            residuals=one_beta_step,
            impostors={
                "sign of the residual": {"residuals": {"residual": -1}},
                "no residual": {"residuals": {"residual": 0}},
            },
        ),
        Agreement(
            facts=_second_stage,
            role="control",
            impostors={
                "sign of the residual": {"facts": {"residual": -1}},
                "no residual": {"facts": {"residual": 0}},
            },
        ),
    ),
    derivation=Derivation(
        text=(
            "The step of $beta$ is $beta^((t)) - alpha Theta^((t) top) (A Theta^((t)) beta^((t)) - Z^top Y\\/n) + "
            "alpha nu^((t))$, and $Z^top r\\/n = A hat(Theta) hat(beta) - Z^top Y\\/n$; the rest is an identity of "
            "matrices of any size, which is proved with letters that do not commute."
        ),
    ),
)
