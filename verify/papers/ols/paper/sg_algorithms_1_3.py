"""Algorithms 1 to 3: iterative Hessian mixing and the Gaussian mixing mechanism, step by step with 40 digits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import mpmath
import numpy as np

from simulators.ols import (
    HessianMixing,
    LeastSquares,
    hessian_mixing,
    mixing_noise,
)
from verify.checks import Agreement, Fact, Within
from verify.papers.ols.tools.draws import Recording, clipped, matrix, recorded, small_problem, vector
from verify.papers.ols.tools.steps import DIGITS, STEP_TESTS, clip_limits, noise_variance
from verify.statements.claims import Claim, Correction, Fault

# --- Algorithm 1 ---


def _mixing_by_hand(problem: LeastSquares, settings: HessianMixing, noise: Recording, trials: int) -> list[np.ndarray]:
    """Line by line, the sketch drawn entry by entry. The simulator draws xi and zeta in the eigenvectors' coordinates,
    where they have the same law; V turns them back.
    """
    X, Y, V = (matrix(part) for part in (problem.regressors, problem.outcome, problem.eigenvectors))
    k, d, bound = settings.k, problem.d, mpmath.mpf(problem.row_bound)
    rest = iter(noise.drawn[1:])
    eta_squared = [
        noise_variance(X.T * X, bound, settings.gamma, settings.tau, settings.gamma / mpmath.sqrt(k), z)
        for z in noise.drawn[0].tolist()
    ]
    thetas = [mpmath.zeros(d, 1) for _ in range(trials)]
    limits = clip_limits(problem, settings.clip, settings.clipping)
    for _ in range(settings.steps):
        zetas = next(rest)
        for trial in range(trials):
            S, xi = matrix(next(rest)), matrix(next(rest)) * V.T
            sketched = S * X + mpmath.sqrt(eta_squared[trial]) * xi
            residual = Y - X * thetas[trial]
            gradient = X.T * clipped(residual, limits) + settings.sigma * bound * (V * matrix(zetas[trial]))
            if settings.keep_ridge:
                gradient -= eta_squared[trial] * thetas[trial]
            change = mpmath.lu_solve((sketched.T * sketched) / k, gradient)
            thetas[trial] = thetas[trial] + settings.step * change
    return [vector(theta) for theta in thetas]


MIXING_CASES: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
    ({"steps": 3, "k": 7, "gamma": 4.0, "tau": 1.5, "sigma": 0.7, "clip": 0.6, "keep_ridge": True}, {}),
    ({"steps": 2, "k": 5, "gamma": 2.6, "tau": 0.3, "sigma": 0.4, "clip": 0.5, "clipping": "norm"}, {}),
    ({"steps": 1, "k": 4, "gamma": 0.2, "tau": -2.0, "sigma": 1.1, "clip": 3.0, "step": 0.6}, {}),
    ({"steps": 2, "k": 6, "gamma": 3.0, "tau": 1.0, "sigma": 0.5, "clip": 0.8}, {"row_bound": 2.0}),
)


def _hessian_mixing_steps(rng: np.random.Generator, sigma_factor: float = 1.0) -> Iterator[Fact]:
    """Clipping active, both gradient variants, eta = 0 and eta > 0, C_X = 1 and 2."""
    for number, (options, shape) in enumerate(MIXING_CASES):
        problem = small_problem(rng, 9, 3, **shape)
        settings = HessianMixing(**options, sketch="explicit")
        streams, noise = recorded(number)
        found = hessian_mixing(problem, settings, streams, 2)
        told = replace(settings, sigma=sigma_factor * settings.sigma)
        with mpmath.workdps(DIGITS):
            expected = _mixing_by_hand(problem, told, noise, 2)
        label = f"theta_T for {options} {shape}"
        yield Fact(label, found["theta"], np.array(expected), 1e-9)
        residual = problem.regressors @ (found["theta"] - problem.theta_star).T
        yield Fact(f"{label}: risk", found["risk"], np.sum(residual**2, axis=0), 1e-8)
    clipped_share = hessian_mixing(problem, HessianMixing(**MIXING_CASES[0][0]), recorded(5)[0], 4)["clipped"]
    first = np.mean(np.abs(problem.outcome) > 0.6)
    yield Fact("share of records clipped at step 1", clipped_share[:, 0], np.full(4, first), 1e-12)


ALG_1 = Claim(
    id="ols/alg-1",
    where="Algorithm 1",
    equation="Algorithm 1",
    kind="algorithm",
    statement=(
        r"Iterative Hessian mixing: $eta$ is released once by Algorithm 2 with noise $gamma\/sqrt(k)$;",
        (
            'then $T$ times, with fresh $S$, $xi$, $zeta$, $tilde(G) = X^top "clip"_C (Y - X hat(theta)) - eta^2 '
            "hat(theta) + sigma zeta$ and $hat(theta) <- hat(theta) + (1/k tilde(X)^top tilde(X))^(-1) tilde(G)$, "
            "$tilde(X) = S X + eta xi$."
        ),
    ),
    setting=STEP_TESTS,
    remark=(
        "The input $rho.alt$ is used through $tau$ and $k$ alone. The experiments leave $- eta^2 hat(theta)$ out; "
        "both variants are simulated."
    ),
    checks=(
        Agreement(
            decides="ab",
            facts=_hessian_mixing_steps,
            impostors={"noise 1 % larger": {"facts": {"sigma_factor": 1.01}}},
        ),
    ),
)


# --- Algorithm 2 ---


def _calibration_steps(rng: np.random.Generator, shift: float = 0.0) -> Iterator[Fact]:
    """Both maxima active and not; the distribution of the released eigenvalue by its tail."""
    for number in range(4):
        bound = (1.0, 0.5, 2.0, 3.0)[number]
        problem = small_problem(rng, 12, 3, row_bound=bound)
        gamma, tau, scale = rng.uniform(0.2, 6), rng.uniform(0, 3), rng.uniform(0.1, 2)
        z = np.concatenate([rng.standard_normal(5), [-40.0, 40.0]])
        with mpmath.workdps(DIGITS):
            X = matrix(problem.regressors)
            by_hand = [noise_variance(X.T * X, mpmath.mpf(bound), gamma, tau + shift, scale, one) for one in z.tolist()]
        found = mixing_noise(problem.lambda_min, bound, gamma, tau, scale, z)
        label = f"eta² for C_X = {bound:g}, gamma = {gamma:.3g}, tau = {tau:.3g}"
        yield Fact(label, found, vector(mpmath.matrix(by_hand)), 1e-10)
        ends = np.array([gamma * bound**2, 0.0])
        yield Fact(f"{label}: gamma C_X² for z far below, 0 far above", found[[5, 6]], ends, 1e-12)


ALG_2 = Claim(
    id="ols/alg-2",
    where="Algorithm 2",
    equation="Algorithm 2",
    kind="algorithm",
    statement=(
        "CalibrateMixingNoise: $tilde(lambda) = max{lambda_min (X^top X) - eta C_X^2 (tau - z), 0}$, $z ~ N(0, 1)$;",
        "returns $sqrt(max{gamma C_X^2 - tilde(lambda), 0})$.",
    ),
    setting=STEP_TESTS,
    remark="Its argument $eta$ scales the noise on the eigenvalue; what it returns is the noise of the sketch.",
    checks=(
        Agreement(
            decides="ab",
            facts=_calibration_steps,
            impostors={"tau larger by 0.01": {"facts": {"shift": 0.01}}},
        ),
    ),
)


# --- Algorithm 3 ---


def _sketch_level(rng: np.random.Generator, power: int = 1) -> Iterator[Within]:
    """The variance of the rows, one record of length C_X and the sketch noise e of Algorithm 2 taken C_X^power times,
    over the level gamma C_X² that Lemma 1 asks for; for a released eigenvalue of 0 and for the true one.
    """
    gamma = 4.0
    for bound in (0.5, 1.0, 2.0):
        eigenvalue = bound**2
        for z, released in ((-50.0, "0"), (2.0, "C_X²")):
            variance = float(mixing_noise(eigenvalue, bound, gamma, 2.0, 0.3, np.array([z]))[0])
            level = eigenvalue + variance * bound ** (2 * power)
            numbers = {"C": bound, "leverage": bound**2 / level, "allowed": 1 / gamma}
            label = f"level over gamma C_X² for C_X = {bound:g}, released {released}"
            yield Within(label, level / (gamma * bound**2), least=1 - 1e-9, numbers=numbers)


ALG_3 = Claim(
    id="ols/alg-3",
    where="Algorithm 3",
    equation="Algorithm 3",
    kind="algorithm",
    statement=(
        "GaussianMixingMechanism: $tilde(eta)$ from Algorithm 2, then $S X + tilde(eta) C_X xi$ with "
        "$S ~ N(0, I_(k times n))$, $xi ~ N(0, I_(k times d))$."
    ),
    setting="One record, $d = 1$, $C_X$ in ${1\\/2, 1, 2}$, $gamma = 4$; released: 0, the true eigenvalue.",
    fault=Fault(
        severity="hypothesis",
        touches="statement",
        finding=(
            "The noise $tilde(eta) C_X$ carries $C_X$ twice, since Algorithm 2 returns $tilde(eta)^2 = gamma C_X^2 - "
            "tilde(lambda)$: for $C_X = {C}$ and $tilde(lambda) = 0$ a record can have leverage ${leverage:3}$ and not "
            "$1 \\/ gamma = {allowed}$."
        ),
        consequence=(
            "Rows bounded by less than 1 are less private than stated; for $C_X > 1$, as where Algorithm 4 calls it "
            "with $sqrt(C_X^2 + C_Y^2)$, the noise is larger than needed. Nothing changes at $C_X = 1$."
        ),
    ),
    checks=(Agreement(facts=_sketch_level, closed=True, impostors={"C_X cubed": {"facts": {"power": 2}}}),),
    correction=Correction(
        statement=(
            "GaussianMixingMechanism: $tilde(eta)$ from Algorithm 2, then $S X + tilde(eta) xi$ with "
            "$S ~ N(0, I_(k times n))$, $xi ~ N(0, I_(k times d))$."
        ),
        ground="Then the rows have covariance $X^top X + tilde(eta)^2 I$ of least eigenvalue $gamma C_X^2$.",
        checks=(
            Agreement(
                facts=partial(_sketch_level, power=0),
                closed=True,
                impostors={"C_X once more": {"facts": {"power": 1}}},
            ),
        ),
    ),
)
