"""Algorithms 6 and 7, AdaSSP and DP-GD, and the sketches of Section 3, step by step with 40 digits."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Literal

import mpmath
import numpy as np

from dpbounds.ols import calibration
from simulators.ols import (
    AdaSSP,
    GradientDescent,
    HessianMixing,
    LeastSquares,
    SketchAndSolve,
    adassp,
    gradient_descent,
    hessian_mixing,
    released_ridge,
    sketch_and_solve,
)
from verify.checks import Agreement, Fact, Within
from verify.papers.ols.tools.draws import clipped, least_eigenvalue, matrix, recorded, small_problem, vector
from verify.papers.ols.tools.steps import DIGITS, STEP_TESTS, clip_limits, mixing_solution
from verify.statements.claims import Claim, Correction, Fault

# --- Algorithm 6 ---

ADASSP_BOUNDS = ((1.0, 1.0, 1.0), (2.0, 0.5, 0.2), (0.5, 3.0, 1.0))


def _adassp_steps(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact]:
    """The printed scale sqrt(2 log(6/delta)) / (epsilon/3), ridge active and not."""
    epsilon, delta, failure = 2.0, 1e-3, 1e-4
    for number, (C_X, C_Y, tilt) in enumerate(ADASSP_BOUNDS):
        for n in (12, 300):
            problem = small_problem(rng, n, 3, C_X, C_Y, tilt)
            scales = calibration.adassp_scales(epsilon, delta, accounting="theorem")
            settings = AdaSSP.equal(scales.gram, d=3, delta=delta, failure=failure)
            streams, noise = recorded(number)
            found = adassp(problem, settings, streams, 2)
            z, upper, diagonal, zeta = noise.drawn
            with mpmath.workdps(DIGITS):
                X, Y = matrix(problem.regressors), matrix(problem.outcome)
                s = factor * mpmath.sqrt(2 * mpmath.log(6 / mpmath.mpf(delta))) / (mpmath.mpf(epsilon) / 3)
                ridges, thetas = [], []
                for i in range(2):
                    shift = mpmath.sqrt(2 * mpmath.log(6 / mpmath.mpf(delta)))
                    least = max(least_eigenvalue(X.T * X) + s * C_X**2 * (mpmath.mpf(z[i]) - shift), mpmath.mpf(0))
                    level = s * mpmath.sqrt(3 * mpmath.log(2 * mpmath.mpf(9) / mpmath.mpf(failure))) * C_X**2
                    ridges.append(max(mpmath.mpf(0), level - least))
                    noise_matrix = np.triu(upper[i], 1) + np.triu(upper[i], 1).T + np.diag(diagonal[i])
                    left = X.T * X + s * C_X**2 * matrix(noise_matrix) + ridges[-1] * mpmath.eye(3)
                    thetas.append(vector(mpmath.lu_solve(left, X.T * Y + s * C_X * C_Y * matrix(zeta[i]))))
            label = f"C_X = {C_X:g}, C_Y = {C_Y:g}, n = {n}"
            yield Fact(f"ridge for {label}", found["ridge"], vector(mpmath.matrix(ridges)), 1e-9)
            yield Fact(f"theta for {label}", found["theta"], np.array(thetas), 1e-7)
    z = np.array([-3.0, 0.0, 60.0])
    iso = AdaSSP.equal(1.5, d=2, delta=delta, failure=failure, isotropic=True)
    level = 1.5 * math.sqrt(2 * math.log(8 / failure) / 2)
    least = np.maximum(4.0 + 1.5 * (z - math.sqrt(2 * math.log(6 / delta))), 0.0)
    yield Fact("ridge of isotropic noise", released_ridge(4.0, iso, 1.0, z), np.maximum(level - least, 0.0), 1e-12)
    problem = small_problem(rng, 9, 2)
    streams, noise = recorded(1)
    found = adassp(problem, iso, streams, 1)["theta"][0]
    upper, diagonal, zeta = (part[0] for part in noise.drawn[1:])
    off = upper[0, 1] / math.sqrt(2)
    ridge = released_ridge(problem.lambda_min, iso, 1.0, noise.drawn[0])[0]
    left = problem.gram + 1.5 * np.array([[diagonal[0], off], [off, diagonal[1]]]) + ridge * np.eye(2)
    yield Fact("theta of isotropic noise", found, np.linalg.solve(left, problem.cross + 1.5 * zeta), 1e-9)


ALG_6 = Claim(
    id="ols/alg-6",
    where="Algorithm 6",
    equation="Algorithm 6",
    kind="algorithm",
    statement=(
        (
            r"AdaSSP with $s = sqrt(2 log(6\/delta)) \/ (epsilon\/3)$: $tilde(lambda)_min = max{lambda_min + s C_X^2 "
            "(z "
            r"- sqrt(2 log(6\/delta))), 0}$, $tilde(lambda) = max{0, s sqrt(d log(2 d^2 \/ rho.alt)) C_X^2 - "
            "tilde(lambda)_min}$;"
        ),
        '$X^top X + s C_X^2 N_"sym"$ and $X^top Y + s C_X C_Y zeta$ are released;',
        "returns the ridge solution.",
    ),
    setting=STEP_TESTS,
    remark=(
        "Under the analytic noise of the experiments $s$ is the analytic scale in lines 3 to 6; the paper does not "
        "say what becomes of the shift $sqrt(2 log(6\\/delta))$, which is kept."
    ),
    checks=(
        Agreement(decides="abc", facts=_adassp_steps, impostors={"noise 1 % larger": {"facts": {"factor": 1.01}}}),
    ),
)


# --- Algorithm 7 ---


def _stale_norm(rng: np.random.Generator, stale: bool = True) -> Iterator[Within]:
    """A record x = 1, y = 1 at theta_(t-1) = 0, theta_t = 1: its clipped gradient against C."""
    for C in (0.5, 0.1):
        before, now = 0.0, 1.0
        gradient, norm = -(1.0 - (before if stale else now)), abs(1.0 - now)
        size = abs(gradient) * (min(1.0, C / norm) if norm else 1.0)
        numbers = {"C": C, "size": size}
        yield Within(f"length of a clipped gradient, C = {C:g}", size, most=C, numbers=numbers)


DESCENTS: tuple[tuple[Literal["norm", "entrywise"], float, float], ...] = (
    ("norm", 0.3, 1.0),
    ("norm", 0.8, 2.0),
    ("entrywise", 0.4, 1.0),
)


def _descent_steps(rng: np.random.Generator, rate_factor: float = 1.0) -> Iterator[Fact]:
    """Clipping by norm and by residual, C_X other than 1."""
    for number, (clipping, C, bound) in enumerate(DESCENTS):
        problem = small_problem(rng, 8, 3, bound)
        settings = GradientDescent(steps=3, rate=0.7, sigma=0.2, clip=C, clipping=clipping)
        streams, noise = recorded(number)
        found = gradient_descent(problem, settings, streams, 2)
        with mpmath.workdps(DIGITS):
            X, Y, V = (matrix(part) for part in (problem.regressors, problem.outcome, problem.eigenvectors))
            limits = clip_limits(problem, C, clipping)
            thetas = [mpmath.zeros(3, 1), mpmath.zeros(3, 1)]
            for step in range(3):
                for i in range(2):
                    ascent = X.T * clipped(Y - X * thetas[i], limits) / 8
                    Z = mpmath.mpf(0.2) * (V * matrix(noise.drawn[step][i]))
                    thetas[i] = thetas[i] + mpmath.mpf(0.7) * rate_factor * (Z + ascent)
            expected = np.array([vector(theta) for theta in thetas])
        yield Fact(f"theta_3, clipping = {clipping}, C = {C:g}, C_X = {bound:g}", found["theta"], expected, 1e-9)
        yield Fact("share clipped at step 1", found["clipped"][:, 0], _first_share(problem, limits), 1e-12)


def _first_share(problem: LeastSquares, limits: list[Any]) -> np.ndarray:
    return np.full(2, np.mean([abs(y) > float(c) for y, c in zip(problem.outcome, limits, strict=True)]))


ALG_7 = Claim(
    id="ols/alg-7",
    where="Algorithm 7",
    equation="Algorithm 7",
    kind="algorithm",
    statement=(
        "DP-GD: $overline(G)_t = 1/n sum_i (-x_i (y_i - x_i^top hat(theta)_(t-1))) min{1, C \\/ norm(x_i (y_i - "
        "x_i^top hat(theta)_t))}$, $hat(theta)_(t+1) = hat(theta)_t + b (Z_t - overline(G)_t)$."
    ),
    setting=STEP_TESTS,
    fault=Fault(
        severity="slip",
        touches="statement",
        finding=(
            "Line 3 takes the gradient at $hat(theta)_(t-1)$, which does not exist for $t = 0$, and the clipping "
            "factor at $hat(theta)_t$: with $x = y = 1$, $hat(theta)_(t-1) = 0$, $hat(theta)_t = 1$ a gradient "
            "clipped to $C = {C}$ has length ${size}$."
        ),
        consequence="Read with $hat(theta)_t$ in both places, as (157) needs, nothing is lost.",
    ),
    checks=(Agreement(facts=_stale_norm, closed=True),),
    correction=Correction(
        statement=(
            r"DP-GD: $overline(G)_t = 1/n sum_i (-x_i (y_i - x_i^top hat(theta)_t)) min{{1, C \/ norm(x_i (y_i - "
            "x_i^top hat(theta)_t))}}$, $hat(theta)_(t+1) = hat(theta)_t + b (Z_t - overline(G)_t)$."
        ),
        ground="Gradient and factor are of one iterate, so that each record contributes at most $C\\/n$.",
        checks=(
            Agreement(facts=_descent_steps, impostors={"rate 1 % larger": {"facts": {"rate_factor": 1.01}}}),
            Agreement(
                facts=lambda rng: _stale_norm(rng, stale=False),
                impostors={"the gradient before": {"facts": lambda rng: _stale_norm(rng, stale=True)}},
            ),
        ),
    ),
)


# --- the iterative Hessian sketch, and sketch-and-solve ---


def _sketch_steps(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact]:
    """The argmin of (IHS) by its normal equations; sketch-and-solve with eta = 0 and not."""
    for number, (steps, k, step) in enumerate(((1, 4, 1.0), (3, 7, 1.0), (2, 5, 0.5))):
        problem = small_problem(rng, 8, 3)
        streams, noise = recorded(number)
        settings = HessianMixing.without_noise(steps=steps, k=k, step=step, sketch="explicit")
        found = hessian_mixing(problem, settings, streams, 1)
        with mpmath.workdps(DIGITS):
            X, Y = matrix(problem.regressors), matrix(problem.outcome)
            theta = mpmath.zeros(3, 1)
            for t in range(steps):
                SX = matrix(noise.drawn[1 + 2 * t]) * X
                theta = theta + step * mpmath.lu_solve(SX.T * SX / k, X.T * (Y - X * theta)) * factor
        yield Fact(f"iterative Hessian sketch, T = {steps}, k = {k}", found["theta"][0], vector(theta), 1e-8)
        for eta_squared in (0.0, 0.7):
            streams, noise = recorded(number + 10)
            found = sketch_and_solve(
                problem, SketchAndSolve(k=k, eta_squared=eta_squared, sketch="explicit"), streams, 1
            )
            with mpmath.workdps(DIGITS):
                S, xi = noise.drawn
                solved = factor * mixing_solution(problem, S, xi, mpmath.sqrt(eta_squared))
            label = f"sketch-and-solve, eta² = {eta_squared:g}, k = {k}"
            yield Fact(label, found["theta"][0], solved, 1e-8)


ALG_8 = Claim(
    id="ols/alg-8",
    where="Section 3: (IHS), (7), (8)",
    equation="(IHS), (7), (8)",
    kind="algorithm",
    statement=(
        (
            'Iterative Hessian sketch: $hat(theta)_(t+1) = op("arg min")_theta {1/(2k) norm(S_t X (theta - '
            "hat(theta)_t))^2 - theta^top X^top (Y - X hat(theta)_t)}$, $hat(theta)_0 = 0$."
        ),
        (
            "Sketch-and-solve: $hat(theta) = (tilde(X)^top tilde(X))^(-1) tilde(X)^top tilde(Y)$, $[tilde(X), "
            "tilde(Y)] = [S X + eta xi, S Y + eta zeta]$."
        ),
    ),
    setting=STEP_TESTS,
    remark=(
        "$S_t$ is $k times n$, as in Proposition 2; next to (IHS) it is called $k times d$. The iterative Hessian "
        "sketch is Algorithm 1 with $eta = sigma = 0$, $C = oo$."
    ),
    checks=(Agreement(decides="ab", facts=_sketch_steps, impostors={"steps 1 % longer": {"facts": {"factor": 1.01}}}),),
)
