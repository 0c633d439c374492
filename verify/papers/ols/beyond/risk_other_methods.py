"""Beyond the paper: exact expected risks of sketch-and-solve and DP-GD, and their laws."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import integrate, stats

from dpbounds.gaussian_norm import norm_cdf
from dpbounds.ols import Gram, risk
from simulators.ols import GradientDescent, LinearMixing, SketchAndSolve
from verify.checks import Agreement, Case, Fact, Holds, Means, MonteCarlo, Times
from verify.papers.ols.beyond.risk import RESOLUTION
from verify.papers.ols.tools import second_moments
from verify.papers.ols.tools.settings import (
    descent_runs,
    linear_law,
    records,
    sketch_runs,
)
from verify.statements.claims import Claim

# --- sketch-and-solve ---


def _solved(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """E V^-1 by quadrature, the residual's variance from the records."""
    for name, k, noise in (("plain", 6, 0.0), ("plain", 9, 0.7), ("singular", 12, 0.5), ("residual", 40, 3.0)):
        problem = records(name)
        A, d = problem.gram, problem.d
        M = A + noise * np.eye(d)
        ridge = np.linalg.solve(M, problem.cross)
        variance = ((problem.outcome - problem.regressors @ ridge) ** 2).sum() + noise * (1 + ridge @ ridge)
        first = k * second_moments.chi_square_mean(k - d + 1, -1)
        bias = ((problem.regressors @ (ridge - problem.theta_star)) ** 2).sum()
        stated = bias + variance * first / k * np.trace(A @ np.linalg.inv(M))
        found = risk.sketch_and_solve(problem.statistics, k=k, eta_squared=noise)
        yield Fact(f"mean, {name}, k = {k}, eta² = {noise}", float(found), stated, 1e-9)
    plain = records("plain").statistics
    few = risk.sketch_and_solve(plain, k=4, eta_squared=0.1)
    yield Holds("the mean at d = 3, k = 4 is infinite", math.isinf(few))
    law = risk.released(0.2, level=1.0, scale=0.3, tau=1.0)
    each = [float(risk.sketch_and_solve(plain, k=9, eta_squared=float(value))) for value in law.values]
    yield Fact(
        "average over the level",
        float(risk.sketch_and_solve(plain, k=9, eta_squared=law)),
        law.mean(np.array(each)),
        1e-12,
    )


def _solved_law(rng: np.random.Generator) -> Iterator[Fact]:
    """At eta = 0 an F variable; for A = a I a noncentral chi-square over an independent chi-square, by quadrature."""
    problem = records("plain")
    for k in (10**6, 4, 11):
        law = risk.sketch_and_solve_law(problem.statistics, k=k, eta_squared=0.0)
        quantiles = problem.least_loss * 3 / (k - 2) * stats.f(3, k - 2).ppf([0.1, 0.5, 0.9])
        for level, quantile in zip((0.1, 0.5, 0.9), quantiles, strict=True):
            yield Fact(f"P at the quantile {level}, eta = 0, k = {k}", law.risk_cdf(float(quantile)), level, 1e-6)
    small = replace(problem.statistics, b=1e-4 * problem.cross, y_squared=1e-8 * problem.y_squared)
    law = risk.sketch_and_solve_law(small, k=11, eta_squared=0.0)
    yield Fact("median, eta = 0, k = 11, small outcomes", law.risk_quantile(0.5), 1e-8 * float(quantiles[1]), 1e-5)
    a, b, squared, noise, k = 5.0, np.array([2.0, -1.0]), 1.7, 1.5, 8
    law = risk.sketch_and_solve_law(Gram(A=a * np.eye(2), b=b, y_squared=squared, n=10), k=k, eta_squared=noise)
    ridge = b / (a + noise)
    variance = squared + noise - b @ ridge
    bias = a * ((ridge - b / a) ** 2).sum()
    yield Fact("centre", law.mean, ridge, 1e-12)
    yield Fact("covariance of the numerator", law.root @ law.root, variance / (a + noise) * np.eye(2), 1e-12)
    for level in (0.05, 0.2, 1.0):

        def integrand(w: float, level=level) -> float:
            scale = a * variance / (a + noise) / w
            return float(stats.chi2.pdf(w, k - 1) * stats.ncx2.cdf(level / scale, 2, bias / scale))

        yield Fact(f"P(risk <= {level})", law.risk_cdf(level), integrate.quad(integrand, 0, 60, limit=200)[0], 1e-7)


def _solved_cases() -> list[Case]:
    """Fixed and released noise levels, by sketches of the records drawn entry by entry, and by Bartlett's triangle."""
    chosen: list[tuple[str, SketchAndSolve | LinearMixing]] = [
        ("plain", SketchAndSolve(k=20, eta_squared=0.0)),
        ("plain", SketchAndSolve(k=20, eta_squared=1.0)),
        ("singular", SketchAndSolve(k=24, eta_squared=0.5)),
        ("wellcond", LinearMixing(k=40, gamma=3.0, tau=0.5)),
        ("residual", LinearMixing(k=60, gamma=2.0, tau=1.0)),
        ("mixfriendly", LinearMixing(k=90, gamma=4.0, tau=2.0)),
    ]
    cases = []
    for name, own in chosen:
        problem = records(name)

        def predicted(own=own, problem=problem) -> float:
            noise = linear_law(problem, own) if isinstance(own, LinearMixing) else own.eta_squared
            return risk.sketch_and_solve(problem.statistics, k=own.k, eta_squared=noise)

        kind = "released" if isinstance(own, LinearMixing) else f"eta² = {own.eta_squared}"
        cases.append(
            Case(
                label=f"{name}, k = {own.k}, {kind}",
                experiment=sketch_runs(name, own),
                output="risk",
                predicted=predicted,
                relative_std=0.9,
                level="quick" if name in ("plain", "singular", "wellcond") else "full",
            )
        )
    return cases


BEYOND_RISK_SKETCH = Claim(
    id="ols/beyond-risk-sketch",
    where="beyond Prop. 1, (7)",
    kind="mc-equality",
    statement=(
        (
            r"Given $eta^2$, sketch-and-solve has the law $theta^*(eta^2) + s_0 M^(-1\/2) g \/ sqrt(w)$, $g tilde N(0, "
            "I_d)$, $w tilde chi^2_(k - d + 1)$, $s_0^2 = norm(Y)^2 + eta^2 - b^top M^(-1) b$, and $EE cal(R) = "
            r'norm(theta^*(eta^2) - theta^*)_A^2 + s_0^2 op("tr")(A M^(-1)) \/ (k - d - 1)$;'
        ),
        (
            r"at $eta = 0$ the risk over $L(theta^*)$ is $chi^2_d \/ chi^2_(k - d + 1)$, of mean $d \/ (k - d - 1)$: "
            "the $2 chi + chi^2$ of (9) is a square root too large."
        ),
    ),
    checks=(
        Agreement(decides="a", facts=_solved, impostors={"0.1 % off": {"facts": Times(1.001)}}),
        Agreement(decides="ab", facts=_solved_law, impostors={"0.1 % off": {"facts": Times(1.001)}}),
        MonteCarlo(
            decides="a", means=Means(cases=_solved_cases), resolution=RESOLUTION, impostors={"20 % off": {"scale": 1.2}}
        ),
    ),
)

# --- DP-GD ---

# data, steps, rate, sigma
DESCENTS = (
    ("plain", 3, 2.0, 0.05),
    ("singular", 5, 9.0, 0.02),
    ("residual", 3, 0.25, 0.01),
    ("plain", 1, 0.25, 0.1),
)


def _descended(rng: np.random.Generator) -> Iterator[Fact]:
    """By the recursion of mean and covariance in the coordinates of the data; quantiles by the law that these give."""
    for name, steps, rate, sigma in DESCENTS:
        problem = records(name)
        A, b = problem.gram, problem.cross
        setting: dict[str, Any] = {"rate": rate, "sigma": sigma}
        label = f"{name}, T = {steps}, rate {rate}"
        risks = []
        for t in range(steps + 1):
            mean, covariance = second_moments.descent(A, b, n=problem.n, steps=t, **setting)
            deviation = problem.regressors @ (mean - problem.theta_star)
            risks.append(deviation @ deviation + np.trace(A @ covariance))
        path = risk.gradient_descent_path(problem.statistics, steps=steps, **setting)
        last = risk.gradient_descent(problem.statistics, steps=steps, **setting)
        yield Fact(f"path, {label}", path, risks, 1e-10)
        yield Fact(f"mean, {label}", float(last), risks[-1], 1e-10)
        root = np.asarray(np.linalg.qr(problem.regressors, mode="r"))
        mean, covariance = second_moments.descent(A, b, n=problem.n, steps=steps, **setting)
        law = (root @ (mean - problem.theta_star), root @ covariance @ root.T)
        for probability in (0.1, 0.5, 0.9):
            found = risk.gradient_descent_quantile(problem.statistics, steps=steps, probability=probability, **setting)
            yield Fact(f"quantile {probability}, {label}", float(norm_cdf(*law, math.sqrt(found))), probability, 1e-6)


def _descent_cases() -> list[Case]:
    cases = []
    for name, steps, rate, sigma in DESCENTS:
        problem, setting = records(name), {"steps": steps, "rate": rate, "sigma": sigma}
        own = GradientDescent(steps=steps, rate=rate, sigma=sigma, clip=math.inf)
        cases.append(
            Case(
                label=f"{name}, T = {steps}, rate {rate}",
                experiment=descent_runs(name, own),
                output="risk",
                predicted=lambda problem=problem, setting=setting: risk.gradient_descent(problem.statistics, **setting),
                relative_std=0.8,
                level="full" if name == "residual" else "quick",
            )
        )
    return cases


BEYOND_RISK_GD = Claim(
    id="ols/beyond-risk-gd",
    where="beyond App. J",
    kind="mc-equality",
    statement=(
        "Without clipping, with rate $ell$ and noise $sigma$ on each entry of the mean gradient, $theta_T$ of DP-GD is "
        "Gaussian, and with $h_i = 1 - ell lambda_i \\/ n$, $EE cal(R) = sum_i lambda_i [h_i^(2 T) (theta^*_i)^2 + "
        "ell^2 sigma^2 sum_(t < T) h_i^(2 t)]$."
    ),
    checks=(
        Agreement(facts=_descended, impostors={"0.1 % off": {"facts": Times(1.001)}}),
        MonteCarlo(means=Means(cases=_descent_cases), resolution=RESOLUTION, impostors={"20 % off": {"scale": 1.2}}),
    ),
)
