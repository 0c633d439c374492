"""Lemma D.1 and its proof (App. E.1): when Algorithm 1 clips nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import sympy

from dpbounds.iv import Constants, Design, TwoStageBudget, clip_norm, lemmas, noise_scales
from simulators.engine import Experiment
from simulators.iv import Settings, two_stage_descent
from verify.checks import Agreement, Event, Fact, Frequency, Holds, Search, Symbolic, Unbounded, Within
from verify.checks.domains import Real
from verify.papers.iv.tools import tails
from verify.papers.iv.tools.samples import isotropic_design, isotropic_model
from verify.statements.claims import Claim, Correction, Fault
from verify.statements.derivations import Derivation

# --- Lemma D.1 ---


def _needed(design: Design, steps: int, constant: float, union: float) -> float:
    """C Q³ sqrt(T) of the lemma at budgets 1, with tau + `union` log(nT) for tau."""
    design = replace(design, tau=design.tau + union * math.log(design.n * steps))
    constants = Constants(sample_size=constant)
    return float(lemmas.no_clipping_sample_size(design, TwoStageBudget.equal(1.0), steps=steps, constants=constants))


def _longest(design: Design, constant: float = 1.0, union: float = 0.0) -> int:
    """The largest T that the lemma allows at budgets 1."""
    steps = 1
    for _ in range(20 if union else 1):
        steps = max(1, math.floor(steps * (design.n / _needed(design, steps, constant, union)) ** 2))
    return steps


def _clipped(n: float, tau: float, constant: float, union: float = 0.0) -> tuple[float, float]:
    """P(a gradient is clipped) for p = q = 1, z = +-1, e_2 = 0, eta = 1, rho = 1, at the largest T allowed; e^{-tau}.

    A gradient of Theta then has norm |Theta_t - Theta| = lambda_1 |xi_(t-1)|, t >= 1. With Q_nT in the condition T is
    the largest solution, found by iterating.
    """
    design = isotropic_design(round(n), tau=tau)
    steps = _longest(design, constant, union)
    gamma = clip_norm(design, steps)
    lambda1 = noise_scales(TwoStageBudget.equal(1.0, gamma), design.n, steps).lambda1
    missed = tails.maximum_tail(np.array(float(steps - 1)), np.array(gamma / lambda1))
    return float(missed), math.exp(-tau)


def _unclipped_odds(m, s):
    """At most minus the logarithm of P(no gradient is clipped) at n = Q^3 sqrt(T), tau = 1, Q = 2, T = s + 1.

    gamma_1 / lambda_1 = n / (2 sqrt(T)) = 4 whatever gamma_1 is, and the s lengths of gradients over lambda_1 are
    those of independent standard normals: -s log(1 - 2 Phi(-4)) >= 2 s Phi(-4). A probability of 1 - e^{-tau} or any
    other above 0 has a bounded logarithm.
    """
    return 2 * s * m.ndtr(m.number(-4))


def _unclipped_odds_reduced(m, x):
    """The quotient is proportional to s."""
    return 2 * m.ndtr(m.number(-4))


EXHIBIT = 1000
# Constants c_0 and C that do for Theta = [I; 0] and ||beta|| = 1.
CLIPPING, SIZE = 2.5, 5.0


def _unclipped(c0: float = CLIPPING) -> list[Event]:
    """Algorithm 1 at n = C Q_nT^3 sqrt(T / rho); tau = 3, Theta = [I; 0], beta a unit vector."""
    events = []
    for n, p, q, steps in ((300, 1, 1, 20), (400, 1, 1, 60), (300, 2, 3, 20)):
        design = isotropic_design(n, p, q, 3.0)
        rho = (_needed(design, steps, SIZE, 1.0) / n) ** 2
        gamma = float(clip_norm(design, steps, Constants(clipping=c0)))
        settings = Settings(steps=steps, eta=1.0, alpha=2 / 3, gamma1=gamma, gamma2=gamma, rho1=rho, rho2=rho)
        model = isotropic_model(n, p, q, endogeneity=0.5)
        events.append(
            Event(
                label=f"n = {n}, p = {p}, q = {q}, T = {steps}, rho = {rho:.3g}, c_0 = {c0}",
                experiment=Experiment(algorithm=two_stage_descent, problem=model, settings=settings, block_trials=100),
                occurs=lambda arrays: (arrays["clipped_theta"] + arrays["clipped_beta"]).sum(axis=1) == 0,
                at_least=1 - math.exp(-3.0),
            )
        )
    return events


LEM_D_1 = Claim(
    id="iv/lem-d.1",
    where="Lemma D.1",
    page=21,
    kind="mc-rate",
    statement=(
        "If $gamma_1, gamma_2 gt.tilde Q_(n T)^2$, (3) and $n = Omega(Q^3 sqrt(T) \\/ sqrt(rho_min))$, Algorithm 1 "
        "clips no gradient with probability at least $1 - tilde(c) e^(-tau)$."
    ),
    hypotheses="Assumption 2.",
    setting=(
        "$tilde(c) = 1$; $p = q = 1$, $z = plus.minus 1$, $epsilon_2 = 0$, $eta = 1$, where the length of a gradient "
        "is $lambda_1$ times that of a standard normal; $C$ is the constant of $Omega$."
    ),
    checks=(
        Search(
            sides=_clipped,
            box={"n": Real(100.0, 1e9, "log"), "tau": Real(0.5, 10.0), "constant": Real(0.5, 2.0)},
            extremal=lambda: [{"n": float(EXHIBIT), "tau": 1.0, "constant": 1.0}],
            evaluations=50,
        ),
        Unbounded(quotient=_unclipped_odds, reduced=_unclipped_odds_reduced),
    ),
    fault=Fault(
        severity="slip",
        touches="statement",
        finding=(
            "Lemma D.1 asks for $n >= C (sqrt(q) + sqrt(tau))^3 sqrt(T\\/rho_min)$, without the $log(n T)$ of the "
            "union over records and steps; whatever $C$ is, a gradient is clipped almost surely as $n -> oo$ along "
            "$T$ of order $n^2$. At $p = q = C = tau = rho_i = 1$, $z = plus.minus 1$, $epsilon_2 = 0$, $n = {n}$, $T "
            "= {steps}$ the probability is ${smaller:2}$, stated as at most $e^(-1) = {larger:2}$."
        ),
        consequence="The lemma holds with $tau + log(n T)$ for $tau$; no power of $n$ or $T$ changes.",
        root="iv/fn-4",
    ),
    correction=Correction(
        statement=(
            "If $gamma_1 = gamma_2 = c_0 Q_(n T)^2$, (3) and $n >= C Q_(n T)^3 sqrt(T\\/rho_min)$, with $c_0$ large "
            "enough for $Theta$ and $beta$ and $C$ for $c_0$, Algorithm 1 clips no gradient with probability at least "
            "$1 - tilde(c) e^(-tau)$."
        ),
        ground=(
            "The proof's own union bound over $n T$ gradients; $c_0 = {clipping}$, $C = {size}$ do for $Theta = [I; "
            "0]$, $norm(beta) = 1$."
        ),
        checks=(
            Search(
                sides=lambda n, tau, constant, union=1.0: _clipped(n, tau, constant, union),
                box={"n": Real(10.0, 1e12, "log"), "tau": Real(0.1, 100.0, "log"), "constant": Real(0.7, 100.0, "log")},
                evaluations=300,
                impostors={"as printed": {"sides": {"union": 0.0}}},
            ),
            Frequency(
                events=_unclipped,
                trials={"quick": 800, "full": 8000},
                impostors={"c_0 = 1": {"events": {"c0": 1.0}}},
            ),
        ),
    ),
    given={"steps": _longest(isotropic_design(EXHIBIT, tau=1.0)), "clipping": CLIPPING, "size": SIZE},
)

# --- (32), (35) ---


def _solution(sign: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """B s = 1 / (1 + w): gamma = B / (1 - B s) + u is enough, minus u is not; B s = 1 + w: nothing is."""
    B, w, u, gamma = sympy.symbols("B w u gamma", positive=True)
    s = 1 / ((1 + w) * B)
    enough = B / (1 - B * s) + u
    yield "gamma - B (1 + gamma s) at or above the solution", sign * (enough - B * (1 + enough * s))
    short = B / (1 - B * s) - u
    yield "B (1 + gamma s) - gamma below it", sign * (B * (1 + short * s) - short)
    s = (1 + w) / B
    yield "B (1 + gamma s) - gamma for B s > 1", sign * (B * (1 + gamma * s) - gamma)


def _fixed_points(rng: np.random.Generator, doubled: float = 1.0) -> Iterator[Fact | Within | Holds]:
    """gamma = B (1 + gamma s) at the least clip norms, B and s from their parts; no solution where B s >= 1.

    gamma s is half of the noise scale of (4) times the reach of the noise.
    """
    for p, q, tau, sigma_z, sigma_2, n in (
        (1, 1, 1.0, 1.0, 1.0, 10**4),
        (2, 5, 3.0, 1.1, 1.7, 10**5),
        (2, 5, 3.0, 1.1, 1.7, 300),
    ):
        design = Design(n=n, p=p, q=q, theta_norm=2.0, theta_least=1.0, sigma_z=sigma_z, sigma_2=sigma_2, tau=tau)
        steps, budget = 30, TwoStageBudget(rho1=0.5, rho2=2.0)
        found = lemmas.least_clip_norms(design, budget, steps=steps)
        union = math.sqrt(q) + math.sqrt(tau + math.log(n * steps))
        sizes = (sigma_z**2 * sigma_2 * union**2, sigma_z**2 * union**2)
        reaches = (math.sqrt(p) + union, math.sqrt(p) + math.sqrt(tau + math.log(steps)))
        rhos = (budget.rho1, budget.rho2)
        for name, gamma, B, reach, rho in zip(("(32)", "(35)"), found, sizes, reaches, rhos, strict=True):
            share = B * doubled * float(noise_scales(TwoStageBudget.equal(rho, 1.0), n, steps).lambda1) / 2 * reach
            label = f"{name}, n = {n}, p = {p}, q = {q}"
            yield Holds(f"a solution if and only if B s < 1, {label}", math.isfinite(gamma) == (share < 1))
            if share < 1:
                yield Fact(f"the least one, {label}", float(gamma), B + gamma * share, 1e-12)
            yield Within(f"the clip norm over B, of the order of Q_nT², {label}", float(gamma) / B, 1.0)


def _solution_claim(claim: str, equation: str, page: int, gamma: str, forms: str) -> Claim:
    """(32) and (35) differ in B and s alone."""
    return Claim(
        id=claim,
        where=f"App. E.1, {equation}",
        page=page,
        equation=equation,
        kind="identity",
        statement=f"${gamma} >= B (1 + {gamma} s)$ holds for ${gamma} >= B \\/ (1 - B s)$, {forms}.",
        hypotheses="The condition on $n$ printed with it.",
        remark=(
            "If and only if, provided $B s < 1$, which is what that condition on $n$ is for, the logarithms that the "
            "paper drops included; for $B s >= 1$ no clip norm will do."
        ),
        checks=(
            Symbolic(nonnegative=_solution, impostors={"reversed": {"nonnegative": {"sign": -1}}}),
            Agreement(facts=_fixed_points, role="control", impostors={"s twice as large": {"facts": {"doubled": 2.0}}}),
        ),
        derivation=Derivation(
            text=(
                f"With $B s < 1$, which the condition on $n$ gives, and ${gamma} = B \\/ (1 - B s) + u$ the difference "
                f"${gamma} - B (1 + {gamma} s)$ is proved to be nonnegative for $u > 0$, and at $u = 0$ it is 0."
            ),
        ),
    )


EQ_32 = _solution_claim(
    "iv/eq-32",
    "(32)",
    24,
    "gamma_1",
    "$B = sigma_z^2 sigma_2 Q_(n T)^2$, $s = 1/n sqrt(T\\/rho_1) (sqrt(p) + Q_(n T))$",
)
EQ_35 = _solution_claim(
    "iv/eq-35",
    "(35)",
    26,
    "gamma_2",
    "$B = sigma_z^2 Q_(n T)^2$, $s = sqrt(T) / (n sqrt(rho_2)) (sqrt(p) + sqrt(tau + log T))$",
)

# --- (33) ---


def _decomposed(sign: int = 1) -> Iterator[tuple[str, sympy.Matrix]]:
    """The gradient of beta at one record, q = 3, p = 2, in symbols."""
    now, true = (sympy.Matrix(3, 2, sympy.symbols(f"{name}1:7")) for name in ("t", "u"))
    z, e2 = sympy.Matrix(sympy.symbols("z1:4")), sympy.Matrix(sympy.symbols("e1:3"))
    beta_now, beta = sympy.Matrix(sympy.symbols("b1:3")), sympy.Matrix(sympy.symbols("c1:3"))
    e1 = sympy.Symbol("e")
    x = true.T * z + e2
    y = (beta.T * x)[0] + e1
    gradient = now.T * z * ((z.T * now * beta_now)[0] - y)
    parts = now.T * z * z.T * now * (beta_now - beta) + now.T * z * z.T * (now - true) * beta
    yield "g_i", gradient - parts + sign * now.T * z * ((beta.T * e2)[0] + e1)


EQ_33 = Claim(
    id="iv/eq-33",
    where="App. E.1, (33)",
    page=25,
    equation="(33)",
    kind="identity",
    statement=(
        "$g_i^beta (t) = Theta^((t) top) z_i z_i^top Theta^((t)) (beta^((t)) - beta) + Theta^((t) top) z_i z_i^top "
        "(Theta^((t)) - Theta) beta - Theta^((t) top) z_i (beta^top epsilon_(2 i) + epsilon_(1 i))$."
    ),
    checks=(Symbolic(residuals=_decomposed, impostors={"sign of the errors": {"residuals": {"sign": -1}}}),),
)
