"""Beyond the paper: exact expected risks of iterative Hessian mixing, sketch-and-solve and DP-GD, and their laws."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import sympy
from scipy import integrate, special, stats

from dpbounds.gaussian_norm import norm_cdf
from dpbounds.ols import Gram, risk
from simulators.ols import GradientDescent, HessianMixing, LinearMixing, SketchAndSolve
from verify.checks import Agreement, Case, Fact, Holds, Level, Means, MonteCarlo, Symbolic, Times
from verify.papers.ols.tools import second_moments
from verify.papers.ols.tools.settings import (
    descent_runs,
    linear_law,
    mixing_law,
    mixing_runs,
    records,
    sketch_runs,
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
        "plain": {"k": 40, "gamma": 1.5, "tau": 1.0, "sigma": 0.3},
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
    for k in (4, 11):
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
