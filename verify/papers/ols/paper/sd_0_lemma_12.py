"""Appendix D, Lemma 12: risk of sketch-and-solve with noise."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import sympy
from scipy import special

from dpbounds.ols import risk
from simulators.ols import SketchAndSolve
from verify.checks import Agreement, Event, Fact, Frequency, Search, Symbolic, Times, Within
from verify.checks.domains import Real
from verify.papers.ols.paper.s3_2_sketches import EXCESS, RATIO
from verify.papers.ols.paper.sc_0_lemmas_utility import EIGENVALUES, EVENTS, TAILS
from verify.papers.ols.tools.settings import records, sketch_runs
from verify.statements.claims import Claim
from verify.statements.derivations import Derivation

# c_0, c_1, c_2 that do.
DIMENSION, FACTOR, EXPONENT = 4, 2.0, 0.1


def _steps(twice: int = 2) -> Iterator[tuple[Any, ...]]:
    """(a): adding and subtracting; (d): chi = 1/(1 + t) <= 1. R = L(theta_R) + eta² ||theta_R||², N = eta²."""
    R, N, L, chi = sympy.symbols("R N L chi", positive=True)
    left = (1 + chi) ** 2 * (R + N) - N - L
    right = (1 + chi) ** 2 * (R + N - N - L) + (chi**2 + twice * chi) * (N + L)
    yield "(a)", left, right


def _last_step(square: int = 4) -> Iterator[tuple[str, sympy.Expr]]:
    """(d): 3 chi - chi² - 2 chi and 4 - (1 + chi)² at chi = 1/(1 + t)."""
    t = sympy.Symbol("t", positive=True)
    chi = 1 / (1 + t)
    yield "3 chi - (chi² + 2 chi)", 3 * chi - chi**2 - 2 * chi
    yield "4 - (1 + chi)²", square - (1 + chi) ** 2


def _failures(logd, logk, chi, three: float = 3.0):
    """At eta = 0: P(chi²_d / chi²_(k-d+1) > 3 chi) against c_1 exp(-c_2 k chi²), for k chi² >= c_0 d."""
    d = np.maximum(np.rint(np.exp(logd)), 1.0)
    k = np.ceil(np.maximum(DIMENSION * d / chi**2, np.exp(logk)))
    beyond = special.betainc((k - d + 1) / 2, d / 2, 1 / (1 + three * chi))
    return beyond, FACTOR * np.exp(-EXPONENT * k * chi**2)


def _with_noise(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Within]:
    """By the exact law, eta > 0: the bound has at least its probability."""
    problem = records("plain")
    for chi, noise in ((1.0, 0.1), (0.6, 2.0)):
        k = math.ceil(DIMENSION * problem.d / chi**2)
        bound = 3 * chi * (noise + problem.least_loss) + 4 * noise * problem.theta_star @ problem.theta_star
        inside = risk.sketch_and_solve_law(problem.statistics, k=k, eta_squared=noise).risk_cdf(factor * float(bound))
        label = f"P(risk <= bound) at chi = {chi}, eta² = {noise}"
        stated = 1 - FACTOR * math.exp(-EXPONENT * k * chi**2)
        yield Within(label, inside, stated - 1e-9)


def _events(factor: float = 1.0) -> list[Event]:
    events = []
    for name, chi, noise in (("plain", 0.5, 1.0), ("singular", 1.0, 3.0)):
        problem = records(name)
        k = math.ceil(12 * problem.d / chi**2)
        squared = problem.theta_star @ problem.theta_star
        bound = factor * (3 * chi * (noise + problem.least_loss) + 4 * noise * squared)

        def occurs(arrays: Any, bound=bound) -> np.ndarray:
            return arrays["risk"] <= bound

        events.append(
            Event(
                label=f"{name}, k = {k}, chi = {chi}, eta² = {noise}",
                experiment=sketch_runs(name, SketchAndSolve(k=k, eta_squared=noise)),
                occurs=occurs,
                at_least=1 - FACTOR * math.exp(-EXPONENT * k * chi**2),
            )
        )
    return events


def _exponent(rng: np.random.Generator) -> Iterator[Fact]:
    """The exact 99 % quantile over L at eta = 0 as chi = sqrt(40 d/k) falls by 10: by 100, the bound by 10."""
    quantiles = []
    for k in (4_000, 400_000):
        ratio = special.fdtri(5, k - 4, 0.99) * 5 / (k - 4)
        quantiles.append(ratio)
    slope = math.log(quantiles[0] / quantiles[1]) / math.log(10)
    yield Fact("exponent in chi of the 99 % quantile", slope, 2.0, 2e-3)


LEM_12 = Claim(
    id="ols/lem-12",
    where="Lemma 12, (118)-(121)",
    equation="Lemma 12",
    kind="mc-rate",
    statement=(
        '$L(theta_"Lin") - L^* <= 3 chi (eta^2 + L^*) + 4 eta^2 norm(theta^*)^2$ with probability at least $1 - c_1 '
        "e^(-c_2 k chi^2)$ if $k chi^2 >= c_0 d$, $chi <= 1$."
    ),
    remark=(
        "$c_0 = 4$, $c_1 = 2$, $c_2 = 1\\/10$ will do at $eta = 0$. Exactly, the risk is of order $chi^2 (eta^2 + "
        "L^*)$ and not $chi$: (9) is a square root too weak (`ols/beyond-risk-sketch`)."
    ),
    checks=(
        Symbolic(residuals=_steps, impostors={"chi² + chi": {"residuals": {"twice": 1}}}),
        Symbolic(nonnegative=_last_step, impostors={"3 for 4": {"nonnegative": {"square": 3}}}),
        Search(
            sides=_failures,
            box={"logd": Real(0.0, 6.0), "logk": Real(1.0, 16.0), "chi": Real(0.02, 1.0, "log")},
            vectorised=True,
            impostors={"chi / 2": {"sides": {"three": 0.5}}},
            role="control",
        ),
        Agreement(facts=_with_noise, impostors={"a two-hundredth": {"facts": {"factor": 0.005}}}, role="control"),
        Agreement(facts=_exponent, impostors={"1": {"facts": Times(0.5)}}, role="control"),
        RATIO,
        EIGENVALUES,
        TAILS,
        Frequency(
            events=_events,
            trials={"quick": 6_000, "full": 20_000},
            impostors={"a two-hundredth": {"events": {"factor": 0.005}}},
            role="control",
        ),
    ),
    derivation=Derivation(
        text=EVENTS.text
        + " "
        + EXCESS
        + "For the rows $(X\\; eta I\\; 0)$ with the outcomes $(Y\\; 0\\; eta)$, of rank "
        'at most $d$, whose sketch is that of $theta_"Lin"$ and whose loss is $L(theta) + eta^2 norm(theta)^2 + '
        'eta^2$, that gives $L(theta_"Lin") - L^* <= (1 + chi)^2 (m - L^*) + (chi^2 + 2 chi) (eta^2 + L^*)$, $m$ the '
        "least of $L(theta) + eta^2 norm(theta)^2$, which is at most $L^* + eta^2 norm(theta^*)^2$; and $(1 + chi)^2 "
        "<= 4$, $chi^2 + 2 chi <= 3 chi$. So $c_0 = 160$, $c_1 = 2$, $c_2 = 0.006$ will do, for every $eta >= 0$.",
        lemmas=EVENTS.lemmas,
    ),
)
