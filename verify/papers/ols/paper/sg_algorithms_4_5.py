"""Algorithms 4 and 5: linear mixing with fixed and dynamic k, step by step with 40 digits."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import mpmath
import numpy as np

from dpbounds.ols import sketch
from simulators.ols import (
    LeastSquares,
    LinearMixing,
    linear_mixing,
)
from verify.checks import Agreement, Fact, Within
from verify.papers.ols.tools.draws import matrix, recorded, small_problem, vector
from verify.papers.ols.tools.steps import DIGITS, STEP_TESTS, mixing_solution, noise_variance
from verify.statements.claims import Claim, Correction, Fault

# --- Algorithms 4 and 5 ---


def _linear_mixing_steps(rng: np.random.Generator, noise_factor: float = 1.0) -> Iterator[Fact]:
    """Noise added and not, C_X and C_Y other than 1."""
    for number, (bounds, gamma, tau) in enumerate(
        (((1.0, 1.0), 3.0, 1.0), ((2.0, 0.5), 2.6, 0.5), ((1.0, 3.0), 0.1, -3.0))
    ):
        problem = small_problem(rng, 12, 3, *bounds)
        settings = LinearMixing(k=6, gamma=gamma, tau=tau, sketch="explicit")
        streams, noise = recorded(number)
        found = linear_mixing(problem, settings, streams, 2)
        z, *rest = noise.drawn
        scale = bounds[0] ** 2 + bounds[1] ** 2
        with mpmath.workdps(DIGITS):
            joint = matrix(np.column_stack([problem.regressors, problem.outcome]))
            test = mpmath.mpf(gamma) / mpmath.sqrt(6)
            variances = [
                noise_variance(joint.T * joint, mpmath.sqrt(scale), gamma, tau, test, one) for one in z.tolist()
            ]
            solved = [
                mixing_solution(problem, rest[2 * i], rest[2 * i + 1], noise_factor * mpmath.sqrt(variances[i]))
                for i in range(2)
            ]
        label = f"C_X = {bounds[0]:g}, C_Y = {bounds[1]:g}, gamma = {gamma:g}"
        yield Fact(f"theta for {label}", found["theta"], np.array(solved), 1e-8)
        yield Fact(f"sketch noise for {label}", found["eta_squared"], vector(mpmath.matrix(variances)), 1e-9)
        doubled = linear_mixing(problem, replace(settings, noise_factor=2.0), recorded(number)[0], 2)["eta_squared"]
        yield Fact(f"noise factor 2 for {label}", doubled, 4 * found["eta_squared"], 1e-12)


BUDGETS = ((0.3, 1e-4, 20, 1), (1.0, 1e-6, 60, 1), (4.0, 1e-3, 7, 3))


def _smallest_gamma(rng: np.random.Generator, share: float = 1.0) -> Iterator[Fact | Within]:
    """epsilon~ falls in gamma, and line 2 finds where it meets epsilon."""
    for epsilon, delta, k, steps in BUDGETS:
        gammas = np.geomspace(2.6, 1e5, 25)
        values = [float(sketch.epsilon(float(gamma), k, delta, steps)) for gamma in gammas]
        label = f"epsilon = {epsilon:g}, delta = {delta:g}, k = {k}, T = {steps}"
        yield Within(f"steps of epsilon~ in gamma, {label}", float(np.diff(values).max()), most=0.0)
        gamma = float(sketch.gamma(epsilon, delta, k, steps))
        met = float(sketch.epsilon(gamma * share, k, delta, steps))
        yield Fact(f"epsilon~ at the gamma of line 2, {label}", met, epsilon, 1e-10)


ALG_4 = Claim(
    id="ols/alg-4",
    where="Algorithm 4",
    equation="Algorithm 4",
    kind="algorithm",
    statement=(
        r"Linear mixing: the smallest $gamma > 5\/2$ with $tilde(epsilon) (gamma\/sqrt(k), gamma, k, delta) <= "
        "epsilon$;",
        (
            "$[tilde(X), tilde(Y)]$ from Algorithm 3 on $[X, Y]$ with bound $sqrt(C_X^2 + C_Y^2)$, $tau = sqrt(2 log "
            r"max{3\/delta, 2\/rho.alt})$ and test noise $gamma\/sqrt(k)$;"
        ),
        "returns $(tilde(X)^top tilde(X))^(-1) tilde(X)^top tilde(Y)$.",
    ),
    setting=STEP_TESTS,
    remark=(
        "With the sketch noise $tilde(eta)$ of Algorithm 2; to the letter Algorithm 3 multiplies it by $sqrt(C_X^2 + "
        "C_Y^2)$ once more, which privacy does not need."
    ),
    checks=(
        Agreement(
            decides="bc",
            facts=_linear_mixing_steps,
            impostors={"noise 1 % larger": {"facts": {"noise_factor": 1.01}}},
        ),
        Agreement(decides="a", facts=_smallest_gamma, impostors={"gamma 1 % too small": {"facts": {"share": 0.99}}}),
    ),
)

DYNAMIC = {"epsilon": 2.0, "delta": 1e-3, "k": 6}


def _larger_k(released: float) -> int:
    """Line 6 of Algorithm 5."""
    return sketch.dynamic_size(released, **DYNAMIC)


def _dynamic_steps(rng: np.random.Generator, least: float = 1.0) -> Iterator[Fact | Within]:
    """Both branches, eigenvalues in units of C_X² + C_Y²; k~ is the largest size within the budget."""
    gamma = float(sketch.gamma(**DYNAMIC))
    records = np.arange(3 * math.ceil(2.6 * gamma))
    problem = LeastSquares(regressors=np.eye(3)[records % 3], outcome=np.cos(1.0 * records))
    settings = LinearMixing(k=6, gamma=gamma, tau=1.0, larger_k=_larger_k, eigenvalue_scale=0.6 * gamma)
    streams, noise = recorded(11)
    found = linear_mixing(problem, settings, streams, 40)
    released = problem.lambda_min_joint / 2 - 0.6 * gamma * (1.0 - noise.drawn[0])
    enough = released >= least * gamma
    yield Within("trials that add no noise, some and not all", int(enough.sum()), 1, len(enough) - 1)
    sizes = [_larger_k(float(value)) if large else 6 for value, large in zip(released, enough, strict=True)]
    yield Fact("sketch sizes", found["k"], np.array(sizes), 0)
    expected = np.where(enough, 0.0, 2 * gamma - 2 * np.maximum(released, 0.0))
    yield Fact("sketch noise", found["eta_squared"], expected, 1e-9)
    for value in (gamma, 1.7 * gamma, 5 * gamma):
        size = _larger_k(value)
        spent = [float(sketch.guarantee(gamma / math.sqrt(k), value, k, DYNAMIC["delta"])) for k in range(6, size + 2)]
        yield Within(f"steps of epsilon~ in k~ at {value:.4g}", float(np.diff(spent).min()), least=0.0)
        yield Within(f"epsilon~ at k~ = {size}, {value:.4g}", spent[-2], most=2.0 * (1 + 1e-9))
        yield Within(f"epsilon~ at k~ = {size + 1}, {value:.4g}", spent[-1], least=2.0)


def _leverage_without_noise(rng: np.random.Generator, unit: float = 1.0) -> Iterator[Within]:
    """Line 5 adds no noise once lambda_min((X, Y)'(X, Y)) reaches gamma times `unit`; C_X = C_Y = 1."""
    for gamma in (3.0, 10.0):
        # Records (1, 1), a fraction of one, and many (1, -1): the least eigenvalue is that of the direction (1, 1).
        along = math.sqrt(gamma * unit / 2 - 1)
        rows = np.array([[1.0, 1.0], [along, along], *([[10.0, -10.0]] * 9)])
        leverage = float(rows[0] @ np.linalg.solve(rows.T @ rows, rows[0]))
        numbers = {"gamma": gamma, "leverage": leverage, "allowed": 1 / gamma}
        label = f"leverage where no noise is added, gamma = {gamma:g}"
        yield Within(label, leverage, most=(1 + 1e-12) / gamma, numbers=numbers)


ALG_5 = Claim(
    id="ols/alg-5",
    where="Algorithm 5",
    equation="Algorithm 5",
    kind="algorithm",
    statement=(
        (
            r"Linear mixing with dynamic $k$: with $tau = sqrt(8 log max{3\/delta, 4\/rho.alt})$ and $gamma$ of "
            r"Algorithm 4, $tilde(lambda) = max{lambda_min^(X Y) - gamma\/sqrt(k) (C_X^2 + C_Y^2) (tau - z), 0}$;"
        ),
        (
            "if $tilde(lambda) >= gamma$, sketch with the largest $tilde(k) >= k$ for which $tilde(epsilon) "
            r"(gamma\/sqrt(tilde(k)), tilde(lambda), tilde(k), delta) <= epsilon$ and no noise, else with $k$ rows and "
            "noise $sqrt(gamma (C_X^2 + C_Y^2) - tilde(lambda))$."
        ),
    ),
    setting="$C_X = C_Y = 1$. " + STEP_TESTS,
    fault=Fault(
        severity="substantive",
        touches="statement",
        finding=(
            "Lines 5 and 6 compare $tilde(lambda)$ with $gamma$ and use it in $tilde(epsilon)$, both of which are "
            "for rows of norm 1, while rows of $(X, Y)$ have squared norm up to $C_X^2 + C_Y^2 = 2$: at "
            "$tilde(lambda) = gamma = {gamma}$ no noise is added and a record can have leverage ${leverage:3}$ and not "
            "$1\\/gamma = {allowed:3}$."
        ),
        consequence=(
            "The leverage bound of this branch falls, and with it Lemma 13 for large $C_Y$; it holds in units of "
            "$C_X^2 + C_Y^2$, as in (126) and line 9."
        ),
    ),
    checks=(
        Agreement(
            decides="b",
            facts=_leverage_without_noise,
            impostors={"a threshold of 0.9": {"facts": {"unit": 0.9}}},
            closed=True,
        ),
    ),
    correction=Correction(
        statement=(
            "Linear mixing with dynamic $k$: as printed, with $tilde(lambda)\\/(C_X^2 + C_Y^2)$ in place of "
            "$tilde(lambda)$ in lines 5 and 6."
        ),
        ground="Divide $(X, Y)$ by $sqrt(C_X^2 + C_Y^2)$.",
        checks=(
            Agreement(
                facts=lambda rng: _leverage_without_noise(rng, 2.0),
                impostors={"a threshold of 1.9": {"facts": lambda rng: _leverage_without_noise(rng, 1.9)}},
            ),
            Agreement(facts=_dynamic_steps, impostors={"from 1.3 gamma on": {"facts": {"least": 1.3}}}),
        ),
    ),
)
