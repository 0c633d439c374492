"""Beyond the paper: the law of the released noise level, and the exact expected risk of iterative Hessian mixing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import sympy
from scipy import integrate, special

from dpbounds.ols import risk
from simulators.ols import HessianMixing
from verify.checks import Agreement, Case, Fact, Holds, Level, Means, MonteCarlo, Symbolic, Times
from verify.papers.ols.tools import second_moments
from verify.papers.ols.tools.settings import (
    mixing_law,
    mixing_runs,
    records,
)
from verify.statements.claims import Claim
from verify.statements.derivations import Derivation

RESOLUTION: Mapping[Level, float] = {"quick": 0.1, "full": 0.02, "paper": 0.01}


# --- the law of the released noise level ---


def _released(rng: np.random.Generator) -> Iterator[Fact]:
    """Means of three functions of eta², by adaptive quadrature over z; the two atoms by the normal distribution."""
    for least, level, scale, tau in (
        (0.0, 10.0, 2.0, 1.0),
        (3.0, 10.0, 2.0, 1.0),
        (9.0, 4.0, 1.5, 2.0),
        (6.0, 4.0, 0.5, 3.0),
    ):
        law = risk.released(least, level=level, scale=scale, tau=tau)
        label = f"lambda_min = {least}, level {level}, scale {scale}, tau = {tau}"
        kinks = [tau - least / scale, tau - (least - level) / scale]
        for name, function in (("1", lambda v: 1.0), ("eta²", lambda v: v), ("1/(1 + eta²)", lambda v: 1 / (1 + v))):

            def integrand(z: float, function=function, values=(least, level, scale, tau)) -> float:
                a, top, spread, shift = values
                noise = max(top - max(a - spread * (shift - z), 0.0), 0.0)
                return function(noise) * math.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)

            points = sorted({-13.0, 13.0, *(k for k in kinks if abs(k) < 13)})
            stated = sum(integrate.quad(integrand, low, high, epsabs=1e-13)[0] for low, high in pairwise(points))
            found = law.mean(np.array([function(value) for value in law.values]))
            yield Fact(f"E {name}, {label}", float(found), stated, 1e-10)
        yield Fact(f"atom at the level, {label}", law.weights[law.values == level].sum(), special.ndtr(kinks[0]), 1e-9)


def _thresholds(power: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """lambda - e (tau - z) at the two z: 0 and gamma; its derivative by z is e > 0."""
    lam, gamma, e, tau, z = sympy.symbols("lambda gamma e tau z", positive=True)
    released: Any = lam - e * (tau - z)
    yield "0 at the first z", released.subs(z, tau - lam / e**power)
    yield "gamma at the second z", released.subs(z, tau - (lam - gamma) / e**power) - gamma
    yield "it grows in z", sympy.diff(released, z) - e


BEYOND_RELEASED = Claim(
    id="ols/beyond-released",
    where="beyond Alg. 2",
    kind="identity",
    statement=(
        "The released noise level $eta^2 = max(gamma - max(lambda^X - eta_e (tau - z), 0), 0)$, $z tilde N(0, 1)$, has "
        "an atom of mass $Phi(tau - lambda^X \\/ eta_e)$ at $gamma$, one of mass $1 - Phi(tau - (lambda^X - gamma) \\/ "
        "eta_e)$ at 0, and the density of $gamma - lambda^X + eta_e (tau - z)$ between."
    ),
    checks=(
        Symbolic(residuals=_thresholds, impostors={"eta_e squared": {"residuals": {"power": 2}}}),
        Agreement(facts=_released, impostors={"1 % off": {"facts": Times(1.01)}}, role="control"),
    ),
    derivation=Derivation(
        text=(
            "$lambda^X - eta_e (tau - z)$ grows in $z$; it is 0 at $z = tau - lambda^X\\/eta_e$, below which $eta^2 = "
            "gamma$, and $gamma$ at $z = tau - (lambda^X - gamma)\\/eta_e$, above which $eta^2 = 0$; between, $eta^2 "
            "= gamma - lambda^X + eta_e (tau - z)$."
        ),
        lemmas=("monotony",),
    ),
)

# --- iterative Hessian mixing ---

# data, k, eta², sigma, step
FIXED = (
    ("plain", 9, 0.4, 0.3, 1.0),
    ("plain", 40, 2.0, 0.1, 0.6),
    ("singular", 12, 0.7, 0.2, 1.0),
    ("residual", 40, 3.0, 1.0, 0.8),
)


def _mixing(rng: np.random.Generator) -> Iterator[Fact]:
    """Both norms, both variants, every T up to 4, by whole matrices and quadrature; the average over released eta²."""
    for name, k, noise, sigma, step in FIXED:
        problem = records(name)
        A, b = problem.gram, problem.cross
        M = A + noise * np.eye(problem.d)
        for keep in (True, False):
            setting: dict[str, Any] = {"k": k, "eta_squared": noise, "sigma": sigma, "step": step}
            path = risk.hessian_mixing_path(problem.statistics, steps=4, keep_ridge=keep, **setting)
            centre = np.linalg.solve(M, b) if keep else problem.theta_star
            risks, distances = [], []
            for steps in range(5):
                mean, second = second_moments.mixing(A, b, steps=steps, keep=keep, **setting)
                risks.append(second_moments.mean_form(A, problem.theta_star, mean, second))
                distances.append(second_moments.mean_form(M, centre, mean, second))
            label = f"{name}, k = {k}, {'kept' if keep else 'dropped'}"
            yield Fact(f"risk after 0 to 4 steps, {label}", path.risk, risks, 1e-9)
            yield Fact(f"distance after 0 to 4 steps, {label}", path.distance, distances, 1e-9)
            last = risk.hessian_mixing(problem.statistics, steps=3, keep_ridge=keep, **setting)
            yield Fact(f"risk at T = 3, {label}", float(last), risks[3], 1e-9)


def _mixing_averaged(rng: np.random.Generator) -> Iterator[Fact]:
    """Over the released noise level: the mean of the risks at its values."""
    problem = records("plain").statistics
    law = risk.released(0.05, level=0.6, scale=0.2, tau=0.8)
    setting: dict[str, Any] = {"k": 20, "sigma": 0.2}
    each = [float(risk.hessian_mixing(problem, steps=2, eta_squared=float(value), **setting)) for value in law.values]
    yield Fact(
        "average at T = 2",
        float(risk.hessian_mixing(problem, steps=2, eta_squared=law, **setting)),
        law.mean(np.array(each)),
        1e-12,
    )
    path = risk.hessian_mixing_path(problem, steps=2, eta_squared=law, **setting)
    yield Fact("average along the path", float(path.risk[-1]), law.mean(np.array(each)), 1e-12)


def _no_mean(rng: np.random.Generator, least: int = 7) -> Iterator[Fact | Holds]:
    """Below k = d + 4 = `least` the mean is infinite, unless nothing moves."""
    problem = records("plain").statistics
    for k in (3, 4, 5, 6, 7):
        found = risk.hessian_mixing(problem, steps=1, k=k, eta_squared=0.4, sigma=0.1)
        yield Holds(
            f"the mean at d = 3, k = {k} is {'infinite' if k < 7 else 'finite'}", math.isinf(found) == (k < least)
        )
    still = risk.hessian_mixing(replace(problem, b=0 * problem.b), steps=2, k=3, eta_squared=0.4, sigma=0.0)
    yield Fact("theta* = 0 and no noise: risk 0 at every k", float(still), 0.0, 0)


def _mixing_cases() -> list[Case]:
    """Three data sets, both variants, T = 1, 2, 3, eta² released: 18 settings."""
    settings = {
        "plain": {"k": 80, "gamma": 1.5, "tau": 1.0, "sigma": 0.3},
        "wellcond": {"k": 60, "gamma": 130.0, "tau": 0.7, "sigma": 4.0},
        "residual": {"k": 90, "gamma": 6.0, "tau": 2.0, "sigma": 1.5},
    }
    cases = []
    for name, fixed in settings.items():
        problem = records(name)
        for keep in (True, False):
            for steps in (1, 2, 3):
                own = HessianMixing(steps=steps, clip=math.inf, keep_ridge=keep, **fixed)

                def predicted(own=own, problem=problem) -> float:
                    return risk.hessian_mixing(
                        problem.statistics,
                        steps=own.steps,
                        k=own.k,
                        eta_squared=mixing_law(problem, own),
                        sigma=own.sigma,
                        keep_ridge=own.keep_ridge,
                    )

                variant = "kept" if keep else "dropped"
                cases.append(
                    Case(
                        label=f"{name}, {variant}, T = {steps}",
                        experiment=mixing_runs(name, own),
                        output="risk",
                        predicted=predicted,
                        relative_std=1.0,
                        x=steps,
                        group=f"{name}, {variant}",
                        unit=float(problem.n),
                        level="quick" if name == "plain" or (name == "residual" and steps == 2) else "full",
                    )
                )
    return cases


BEYOND_RISK_IHM = Claim(
    id="ols/beyond-risk-ihm",
    where="beyond App. C.1.2",
    kind="mc-equality",
    statement=(
        "Given $eta^2$, without clipping, with step $s$: in the eigenbasis of $A$, $mu_i = lambda_i + eta^2$, $D_i = "
        "1$ (ridge term kept, centre $c = theta^*(eta^2)$) or $lambda_i \\/ mu_i$ (dropped, $c = theta^*$), the "
        "second moments $p_i$ of $M^(1\\/2) (theta_t - c)$ obey $p_i <- p_i (1 - 2 s b_1 D_i + s^2 c_1 D_i^2) + s^2 "
        "c_2 sum_j D_j^2 p_j + s^2 sigma^2 (c_1 \\/ mu_i + c_2 sum_j 1 \\/ mu_j)$, and $EE cal(R) = sum_i (lambda_i "
        "\\/ mu_i) p_i + 2 sum_i g_i lambda_i f_i \\/ sqrt(mu_i) + sum_i lambda_i g_i^2$ with $f_i <- (1 - s b_1 D_i) "
        "f_i$, $g = c - theta^*$: exact from $k = d + 4$ on."
    ),
    setting="18 settings with the noise released as in Algorithm 2; also fixed levels, singular $A$ and $s != 1$.",
    checks=(
        Agreement(facts=_mixing, impostors={"0.1 % off": {"facts": Times(1.001)}}),
        Agreement(facts=_mixing_averaged, impostors={"0.1 % off": {"facts": Times(1.001)}}),
        Agreement(facts=_no_mean, impostors={"from d + 3 on": {"facts": {"least": 6}}}),
        MonteCarlo(
            means=Means(
                cases=_mixing_cases,
                axes=("number of iterations $T$", "$EE cal(R) \\/ n$"),
                log_axes=("y",),
            ),
            resolution=RESOLUTION,
            impostors={"20 % off": {"scale": 1.2}},
        ),
    ),
)
