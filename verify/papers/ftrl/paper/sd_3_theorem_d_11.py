"""Appendix D.3: expected bounds on Noisy-FTRL from any start, Theorem D.11."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import sympy

from dpbounds.ftrl import finite_time
from verify.checks import Agreement, Fact, Search, Symbolic
from verify.checks.domains import Real
from verify.checks.impostors import Times
from verify.papers.ftrl.paper.sd_3_lemma_d_12 import ASSUMED, MONOTONE, SEARCHED
from verify.papers.ftrl.paper.sd_3_lemma_d_12_limit import CONTRACTS, LIMITS
from verify.papers.ftrl.tools.planar_systems import STEPS, SYSTEM, Sides, nearest, points, searched, started
from verify.statements.claims import Claim
from verify.statements.derivations import Derivation

# --- (84) ---


def _forgetting(rate: float = 1.0, **law: np.ndarray) -> Sides:
    """E ||hat theta_t||_H^2 against L e^{-eta mu t} n_0^2."""
    batch, start = started(law | {"noise": 0.0 * law["noise"], "residual": 0.0 * law["residual"]})
    x, spectrum = batch.x.min(axis=1), batch.laws.eigenvalues
    norms = np.array([np.einsum("nj,njj->n", spectrum, S) for S in batch.trajectory(start, STEPS)])
    decay = np.exp(-rate * x * np.arange(STEPS + 1)[:, None])
    return nearest(norms, spectrum.max(axis=1) * decay * np.sum(start**2, axis=1))


def _two_norms(**law: np.ndarray) -> Sides:
    """L ||theta'_0||^2 and (L / mu) ||theta'_0||_H^2."""
    batch, start = started(law)
    spectrum = batch.laws.eigenvalues
    L, mu = spectrum.max(axis=1), spectrum.min(axis=1)
    return L * np.sum(start**2, axis=1), L / mu * np.sum(spectrum * start**2, axis=1)


EQ_84 = Claim(
    id="ftrl/eq-84",
    where="Theorem D.11, proof, (84)",
    page=48,
    equation="(84)",
    kind="inequality",
    statement=(
        "$EE norm(hat(theta)_t)_H^2 <= L e^(-eta mu t) norm(theta'_0)^2 <= L\\/mu dot.c e^(-eta mu t) "
        "norm(theta'_0)_H^2$."
    ),
    hypotheses=ASSUMED,
    setting=f"$EE Q_t^2 prec.eq (1 - eta mu) I$ is proved. {SEARCHED}",
    checks=(
        CONTRACTS,
        searched(_forgetting, smaller_by_3_percent=Times(1, 0.97), twice_as_fast={"rate": 2.5}).as_control(),
        searched(_two_norms, smaller_by_3_percent=Times(1, 0.97)).as_control(),
    ),
    derivation=Derivation(
        text=(
            "$hat(theta)_(t + 1) = Q_t hat(theta)_t$ with $Q_t$ independent of $hat(theta)_t$ and $EE Q_t^2 prec.eq "
            "(1 - eta mu) I$ by the check, so that $EE norm(hat(theta)_t)^2 <= (1 - eta mu)^t norm(theta'_0)^2 <= "
            "e^(-eta mu t) norm(theta'_0)^2$; and $norm(v)_H^2 <= L norm(v)^2$, $norm(v)^2 <= norm(v)_H^2\\/mu$ for "
            "every $v$."
        ),
        lemmas=("independence", "Rayleigh", "induction"),
    ),
)


# --- Theorem D.11 ---


def _uncorrelated(cross: int = 0) -> Iterator[tuple[str, sympy.Expr]]:
    """theta' = hat + tilde, tilde centred given the inputs: E theta'^2 = a^2 + b^2, a^2 = E hat^2, b^2 = E tilde^2, and
    (a + b)^2 is never below it, nor above 2 a^2 + 2 b^2.
    """
    a, b, u = sympy.symbols("a b u", positive=True)
    yield "(a + b)^2 - a^2 - b^2", (a + b) ** 2 - a**2 - b**2 - cross * 3 * a * b
    yield "2 a^2 + 2 b^2 - (a + b)^2", (2 * a**2 + 2 * b**2 - (a + b) ** 2).subs(b, a + u)


TIMES = (0, 2, STEPS)


def _shipped(form: Any, without: str = "", **law: np.ndarray) -> Sides:
    """E F(theta_t) - F* at the t in `TIMES` where it is nearest to the bound; all scaled by `scale`, F too."""
    scale = law.pop("scale")
    batch, start = started(law)
    spectrum, r_squared = batch.laws.eigenvalues, batch.laws.r_squared()
    S = np.array(list(batch.trajectory(start, STEPS)))[list(TIMES)]
    gaps = scale * 0.5 * np.einsum("nj,tnjj->tn", spectrum, S)
    stationary = scale * 0.5 * batch.doubled_suboptimality() * (without != "noise")
    bounds = [
        [
            finite_time.expected_bound(
                scale[i] * spectrum[i],
                batch.eta[i] / scale[i],
                steps=t,
                initial_gap=gaps[0, i] * (without != "start"),
                stationary_gap=stationary[i],
                R_squared=scale[i] * r_squared[i],
                form=form,
            )
            for i in range(len(scale))
        ]
        for t in TIMES
    ]
    return nearest(gaps, np.array(bounds))


def _paper_form(**law: Any) -> Sides:
    """The bound as printed."""
    return _shipped("paper", **law)


def _sum_form(**law: Any) -> Sides:
    """Without the cross term."""
    return _shipped("sum", **law)


def _bounded(sides: Callable[..., Sides]) -> Search:
    """x scaled by the root of `scale`, eta by its inverse, residuals and draws with them: F by `scale`."""
    scaled = [
        {**point, "fraction": 0.999999, "scale": scale}
        for point, scale in zip(points(), itertools.cycle((0.01, 30.0)), strict=False)
    ]
    return Search(
        sides=sides,
        box={
            **SYSTEM,
            "fraction": Real(1e-3, 0.999999, "log"),
            "start": (Real(-3.0, 3.0), 2),
            "scale": Real(1e-2, 1e2, "log"),
        },
        extremal=lambda: scaled,
        vectorised=True,
        evaluations={"quick": 300, "full": 5_000},
        impostors={
            "3 % smaller": {"sides": Times(1, 0.97)},
            "without F_inf": {"sides": {"without": "noise"}},
            "without the start": {"sides": {"without": "start"}},
        },
    )


def _cross_term(rng: np.random.Generator) -> Iterator[Fact]:
    """d = 1, t = 0, both gaps 2: (sqrt 2 + sqrt 2)^2 and 2 + 2; at t = 2 / (eta mu) the first is 2 / e^2."""
    for form, start in (("paper", 8.0), ("sum", 4.0)):
        shared = {"initial_gap": 2.0, "stationary_gap": 2.0, "form": form}
        yield Fact(f"{form} at t = 0", finite_time.expected_bound(np.ones(1), 0.1, steps=0, **shared), start, 1e-14)
    late = finite_time.expected_bound(np.ones(1), 0.1, steps=20, initial_gap=2.0, stationary_gap=0.0)
    yield Fact("t = 2 / (eta mu)", late, 2.0 * math.exp(-2.0), 1e-14)


UNCORRELATED = Symbolic(nonnegative=_uncorrelated, impostors={"cross term": {"nonnegative": {"cross": 1}}})

THM_D_11 = Claim(
    id="ftrl/thm-d.11",
    where="Theorem D.11",
    page=45,
    kind="inequality",
    statement=(
        "$EE[F(theta_t) - F^star] <= (sqrt(L\\/mu dot.c e^(-eta mu t) (F(theta_0) - F^star)) + sqrt(F_oo))^2$, "
        "and $F_oo$ does not depend on $theta_0$."
    ),
    hypotheses="Assumption C.2, $eta < 1\\/R^2$, $beta in ell^2$.",
    setting=f"From Lemma D.12 and (84), proved step by step. {SEARCHED}",
    remark=(
        "The first root covers the whole product, as in the last line of the proof. The cross term is not needed: the "
        "two parts are uncorrelated."
    ),
    checks=(
        CONTRACTS,
        MONOTONE,
        UNCORRELATED,
        _bounded(_paper_form).as_control(),
        _bounded(_sum_form).as_control(),
        Agreement(facts=_cross_term, impostors={"1e-12 off": {"facts": Times(1 + 1e-12)}}, role="control"),
        LIMITS.as_control(),
    ),
    derivation=Derivation(
        text=(
            "$theta'_t = hat(theta)_t + tilde(theta)_t$ with $hat(theta)_(t + 1) = Q_t hat(theta)_t$ from $theta'_0$ "
            "and $tilde(theta)$ started at $theta^star$. By the first check $EE norm(hat(theta)_t)_H^2 <= L (1 - eta "
            "mu)^t norm(theta'_0)^2 <= L\\/mu dot.c e^(-eta mu t) dot.c 2 (F(theta_0) - F^star)$, and $EE "
            "norm(tilde(theta)_t)_H^2$ increases to its limit, since $tilde(theta)_(t + 1)$ is the sum of a part with "
            "the law of $tilde(theta)_t$ and of the responses to $xi_0 x_0$ and $w_0$, centred and uncorrelated with "
            "it. As $hat(theta)_t -> 0$ in mean square, the limit is $2 F_oo$ from every start, and $EE "
            "norm(theta'_t)_H^2 = 2 EE[F(theta_t) - F^star]$ has a root of at most the sum of the two roots."
        ),
        lemmas=("independence", "Rayleigh", "triangle inequality", "induction"),
    ),
)
