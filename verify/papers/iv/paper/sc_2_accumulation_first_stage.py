"""Appendix C, (18) to (21): how the error of the first stage adds up."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import sympy
from scipy.special import chdtrc, ndtr

from dpbounds.iv import lemmas
from verify.checks import Agreement, Fact, Search, Symbolic
from verify.checks.domains import Real, Whole
from verify.papers.iv.tools import tails
from verify.papers.iv.tools.samples import isotropic_design
from verify.statements.claims import Claim
from verify.statements.derivations import Derivation

# --- (18) ---


def _all_steps(steps: float, tau: float, union: float = 1.0) -> tuple[float, float]:
    """p = q = 1, z = +-1, eta = 1: from the first step on e_Theta / lambda_1 are independent standard normals.

    P(E fails) and 3 e^{-tau}, epsilon with tau + `union` log T in place of tau, n = 10^12.
    """
    design = isotropic_design(10**12, tau=tau + union * math.log(steps))
    kappa = (1 + 1e-6 * (1 + math.sqrt(tau))) ** 2 - 1
    stage = {"eta": 1.0, "lambda1": 2.0, "kappa_theta": kappa, "theta_hat_norm": 1e-30, "burn_in": 1}
    radius = np.array(lemmas.first_stage_bound(design, **stage) / 2.0)
    return float(tails.maximum_tail(np.array(steps), radius)), 3 * math.exp(-tau)


def _union_of_tails(steps: float, tau: float, q: int, p: int, share: float = 1.0) -> tuple[float, float]:
    """T P(||N^(t)||_F > the noise term of (18)) and e^{-tau}, with tau + log T: ||N^(t)|| is at most that norm.

    For A = I, eta = 1/2: entries of N^(t) are normal with variance at most eta² lambda_1² / (1 - kappa_Theta²).
    """
    level, rows = share * (tau + math.log(steps)), max(int(p), int(q))
    design = isotropic_design(100, int(p), rows, level)
    reach = lemmas.noise_bound(design, eta=0.5, lambda1=3.0, kappa_theta=0.5)
    deviation = 0.5 * 3.0 / math.sqrt(1 - 0.25)
    return steps * float(chdtrc(design.p * rows, (reach / deviation) ** 2)), math.exp(-tau)


def _forgotten(rng: np.random.Generator, early: int = 0) -> Iterator[Fact]:
    """Without noise (18) is the error of gradient descent from 0: A = 1, theta_hat = 2."""
    for eta in (0.3, 1.6):
        theta = 0.0
        for step in range(6):
            stage = {"eta": eta, "lambda1": 0.0, "kappa_theta": abs(1 - eta), "theta_hat_norm": 2.0}
            stated = lemmas.first_stage_bound(isotropic_design(100), **stage, burn_in=max(step - early, 0))
            yield Fact(f"eta = {eta}, t = {step}", abs(theta - 2.0), float(stated), 1e-12)
            theta -= eta * (theta - 2.0)


def _without_logarithm(rng: np.random.Generator, tails_of: int = 2) -> Iterator[Fact]:
    """P(E fails) at tau = 5 and T = 10^4 with tau itself: independent standard normals, by hand, all within what (18)
    allows, 1 + sqrt(2 tau) for p = q = 1.
    """
    steps, tau = 10**4, 5.0
    failing, stated = _all_steps(steps, tau, 0.0)
    beyond = tails_of * float(ndtr(-(1 + math.sqrt(2 * tau))))
    numbers = {"failing": failing, "stated": stated}
    yield Fact("P(E fails) at T = 10^4, tau = 5 without log T", failing, 1 - (1 - beyond) ** steps, 1e-3, numbers)


RUNS = {"steps": Real(1.0, 1e12, "log"), "tau": Real(1.1, 300.0, "log")}

EQ_18 = Claim(
    id="iv/eq-18",
    where="App. C, (18), footnote 4",
    page=19,
    equation="(18)",
    kind="inequality",
    statement=(
        "$E_(T_0, T)$ has probability at least $1 - 3 e^(-tau)$ for $epsilon = kappa_Theta^(T_0) "
        "norm(hat(Theta)) + (eta lambda_1)/sqrt(1 - kappa_Theta^2) (sqrt(p q) + sqrt(2 p (log p + tau)))$."
    ),
    hypotheses="Lemma D.2, $delta < 1$.",
    remark=(
        "Read with $tau + log T$ for $tau$, as footnote 4 says: all $T_0 <= k < T$ at once. Without, at $tau = 5$ and "
        "$T = 10^4$ the event fails with probability ${failing:2}$ in place of ${stated:1}$."
    ),
    setting="The first check is on $p = q = 1$, $z = plus.minus 1$, $eta = 1$, $n = 10^12$.",
    checks=(
        Search(
            sides=_all_steps,
            role="control",
            box=RUNS,
            extremal=lambda: [{"steps": 1e4, "tau": 5.0}],
            evaluations=1000,
            impostors={"without the logarithm": {"sides": {"union": 0.0}}},
        ),
        Symbolic(nonnegative=tails.chernoff, impostors={"half of s": {"nonnegative": {"halves": 1}}}),
        Search(
            sides=_union_of_tails,
            role="control",
            box={**RUNS, "q": Whole(1, 1000, "log"), "p": Whole(1, 1000, "log")},
            evaluations=1000,
            impostors={"half of tau + log T": {"sides": {"share": 0.5}}},
        ),
        Agreement(facts=_forgotten, role="control", impostors={"a step early": {"facts": {"early": 1}}}),
        Agreement(facts=_without_logarithm, role="control", impostors={"one tail": {"facts": {"tails_of": 1}}}),
    ),
    derivation=Derivation(
        text=(
            "On the event of Lemma D.2, of probability $1 - 2 e^(-tau)$, $norm(e_Theta^((k))) <= kappa_Theta^k "
            "norm(hat(Theta)) + norm(N^((k - 1)))$ by (11) with $Theta^((0)) = 0$, and $kappa_Theta^k <= "
            "kappa_Theta^(T_0)$. $norm(N^((k - 1)))$ is at most $eta lambda_1 \\/ sqrt(1 - kappa_Theta^2)$ times the "
            "length of a standard normal vector in $RR^(p q)$ (iv/lem-d.4b), which exceeds $sqrt(p q) + sqrt(2 x)$ "
            "with probability at most $e^(-x)$ by Chernoff, whose exponent less $x$ is proved to be 0 at $x = 0$ and "
            "to grow; and $p (log p + tau + log T) >= x = tau + log T$, so that all $T$ together fail with probability "
            "$e^(-tau)$."
        ),
        lemmas=("triangle inequality", "Markov", "monotony", "union bound"),
    ),
)

# --- (19), (21) ---


def _regrouped(keep: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    kappa, T0, norm, noise = sympy.symbols("kappa T_0 t c", positive=True)
    eps = kappa**T0 * norm + noise
    yield "||theta_hat|| + noise", norm + noise - (eps + keep * (1 - kappa**T0) * norm)


EQ_19 = Claim(
    id="iv/eq-19",
    where="App. C, (19)",
    page=19,
    equation="(19)",
    kind="identity",
    statement=(
        "$norm(hat(Theta)) + c = epsilon + (1 - kappa_Theta^(T_0)) norm(hat(Theta))$, $c$ the noise term of (18)."
    ),
    checks=(Symbolic(residuals=_regrouped, impostors={"without the remainder": {"residuals": {"keep": 0}}}),),
)


def _halves(share: int = 2) -> Iterator[tuple[str, sympy.Expr]]:
    """Summands eps-bar / share - u and eps-bar / share - v with eps-bar = share (a + u + v)."""
    a, u, v = sympy.symbols("a u v", positive=True)
    tolerance = 2 * (a + u + v)
    summands = tolerance / share - u, tolerance / share - v
    yield "eps-bar - eps", tolerance - sum(summands)


EQ_21 = Claim(
    id="iv/eq-21",
    where="App. C, (20), (21)",
    page=19,
    equation="(21)",
    kind="inequality",
    statement=(
        "If both summands of $epsilon$ in (18) are at most $overline(epsilon)\\/2$, then $epsilon <= "
        "overline(epsilon)$."
    ),
    remark="$overline(epsilon)$ as in (13); the root in (20) is printed over all of it.",
    checks=(Symbolic(nonnegative=_halves, impostors={"each at most eps-bar": {"nonnegative": {"share": 1}}}),),
)
