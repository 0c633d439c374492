"""Beyond the paper: the error to expect with clipping, what `dpbounds solve iv` calls reliable, and clip norms."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from scipy.optimize import root

from dpbounds.iv import LeadingOrder, Moments, TwoStageBudget, answer, noise_expansion
from dpbounds.iv.clipping import (
    Records,
    clipped_run,
    clipping_at,
    clipping_spread,
    gradient_norms,
    longest_run,
    model_records,
)
from dpbounds.iv.forecast import LIMITS, Measure
from dpbounds.iv.general import General, general_error_terms, general_expansion, relative_theta_noise
from dpbounds.iv.isotropic import Isotropic, isotropic_error_terms
from dpbounds.iv.leading_order import GaussianLaw
from dpbounds.iv.suggestions import SHARES
from simulators.engine import Experiment
from simulators.iv import FixedData, LinearModel, Settings, two_stage_descent
from verify.checks import Agreement, Fact, Holds, Quantiles, Ratio, Reading, Times, Within
from verify.papers.iv.tools.random_runs import PlannedRun, clipping_plan, random_run
from verify.statements.claims import Claim

# --- the clipped run and its shares, on a data set ---

STEPS, ETA, ALPHA, GAMMA1, GAMMA2 = 6, 0.3, 0.2, 2.5, 1.5


def _data(rng: np.random.Generator) -> FixedData:
    """Correlated instruments, p = 2, q = 3."""
    Z = rng.standard_normal((80, 3)) @ np.array([[1.0, 0.4, 0.0], [0.0, 1.0, 0.3], [0.0, 0.0, 0.8]])
    X = Z[:, :2] + 0.5 * Z[:, 2:] + rng.standard_normal((80, 2))
    return FixedData(instruments=Z, regressors=X, outcome=X @ [1.0, -0.5] + rng.standard_normal(80))


def _clipped(rng: np.random.Generator) -> Iterator[Fact]:
    """Against the simulator without noise, and against gradients written out record by record."""
    data = _data(rng)
    Z, X, Y = data.instruments, data.regressors, data.outcome
    records, moments = Records.of(Z, X, Y), Moments.of(Z, X, Y)
    problem = General(moments=moments, eta=ETA, alpha=ALPHA)
    run = clipped_run(records, problem, min(STEPS, longest_run(records)), GAMMA1, GAMMA2)
    settings = Settings(steps=STEPS, eta=ETA, alpha=ALPHA, gamma1=GAMMA1, gamma2=GAMMA2, record_paths=True)
    simulated = Experiment(algorithm=two_stage_descent, problem=data, settings=settings, block_trials=1).run(1, seed=0)
    yield Fact("beta", run.beta[1:], simulated["beta_path"][0], 1e-10)
    yield Fact("Theta", run.theta[1:], simulated["theta_path"][0], 1e-10)
    yield Fact("shares, first stage", run.clipped_theta, simulated["clipped_theta"][0], 1e-12)
    yield Fact("shares, second stage", run.clipped_beta, simulated["clipped_beta"][0], 1e-12)
    theta, law = moments.theta_hat, GaussianLaw(moments.beta_hat, np.zeros((2, 2)))
    first = [np.linalg.norm(np.outer(z, z @ theta - x)) for z, x in zip(Z, X, strict=True)]
    second = [np.linalg.norm(theta.T @ z * (z @ theta @ moments.beta_hat - y)) for z, y in zip(Z, Y, strict=True)]
    norms = gradient_norms(records, problem, start=False)
    yield Fact("norms, first stage", norms[0], first, 1e-12)
    yield Fact("norms, second stage", norms[1], second, 1e-12)
    budget = TwoStageBudget(gamma1=GAMMA1, gamma2=GAMMA2)
    at = clipping_at(records, problem, budget, theta=theta, law=law, n=80, steps=STEPS)
    yield Fact("share at the end, first stage", at.theta, float(np.mean(np.array(first) > GAMMA1)), 1e-12)
    yield Fact("share at the end, second stage", at.beta, float(np.mean(np.array(second) > GAMMA2)), 1e-12)
    yield Fact("the longest run", longest_run(records), int(1e9 / (80 * 14 * 2)), 0)
    short = clipped_run(records, problem, STEPS, 0.4, 0.3)
    settings = replace(settings, gamma1=0.4, gamma2=0.3)
    simulated = Experiment(algorithm=two_stage_descent, problem=data, settings=settings, block_trials=1).run(1, seed=0)
    yield Fact("beta with short clip norms", short.beta[1:], simulated["beta_path"][0], 1e-10)
    yield from _noisy_shares()
    yield Fact("no law, no spread", float(np.abs(clipping_spread(records, problem, GAMMA1, GAMMA2, 80)).max()), 0.0)


def _noisy_shares() -> Iterator[Fact]:
    """Shares clipped at noisy iterates, by fresh records and a draw of the noise for each: more instruments than
    regressors, where A = I, and A given.
    """
    draws, s, beta = 100_000, np.array([1.4, 0.7]), np.array([0.6, -0.9])
    z, own = np.random.default_rng(2).standard_normal((2, draws, 5))
    x = z[:, :2] * s + 0.5 * own[:, :2]
    y = x @ beta + 0.8 * own[:, 2]
    law = GaussianLaw(np.array([0.7, -1.1]), np.array([[0.06, 0.05], [0.05, 0.09]]))
    drawn = law.mean + own[:, 3:] @ np.linalg.cholesky(law.covariance).T
    noise = np.random.default_rng(3).standard_normal((draws, 5, 2))
    budget = TwoStageBudget(rho1=2.0, rho2=1.0, gamma1=4.0, gamma2=3.0)
    scale = 2 * 4.0 / 100 * math.sqrt(4 / 2.0)
    theta = np.vstack([np.diag(s), np.zeros((3, 2))])
    general = General(moments=Moments(A=np.eye(5), G=theta, b=theta @ beta, n=100), eta=0.6, alpha=0.3)
    isotropic = Isotropic(singular_values=s, beta=beta, q=5, eta=0.6, alpha=0.3)
    variance = 0.36 * sum(0.4 ** (2 * t) for t in range(4))
    moved = theta + scale * math.sqrt(variance) * noise
    fitted = np.einsum("mq,mqp->mp", z, moved)
    first = np.linalg.norm(z, axis=1) * np.linalg.norm(fitted - x, axis=1)
    second = np.linalg.norm(fitted, axis=1) * np.abs(np.einsum("mp,mp->m", fitted, drawn) - y)
    for problem in (isotropic, general):
        records = model_records(problem, 0.8, 0.5)
        at = np.diag(s) if records.instruments.shape[1] == 2 else theta
        told = clipping_at(records, problem, budget, theta=at, law=law, n=100, steps=4)
        stated = [float(np.mean(first > 4.0)), float(np.mean(second > 3.0))]
        yield Fact(f"{type(problem).__name__}: shares at noisy iterates", [told.theta, told.beta], stated, 0.02)


# Clip norms between the lengths of gradients below.
SPREAD_AT = (1.9, 0.9)


def _end(
    records: Records, weights: np.ndarray, start: np.ndarray, gammas: tuple[float, float] = (math.inf, math.inf)
) -> np.ndarray:
    """beta where clipped descent on weighted records stands still, by a root finder."""

    def equations(unknown: np.ndarray) -> np.ndarray:
        Theta, beta = unknown[:4].reshape(2, 2), unknown[4:]
        r, f = records.instruments @ Theta - records.regressors, records.instruments @ Theta
        u = f @ beta - records.outcome
        v, w = (
            weights * np.minimum(1.0, gamma / norms)
            for gamma, norms in zip(
                gammas, (records.lengths * np.linalg.norm(r, axis=1), np.linalg.norm(f, axis=1) * abs(u)), strict=True
            )
        )
        return np.append((records.instruments.T * v) @ r, (f.T * w) @ u)

    return root(equations, start, tol=1e-13).x[4:]


def _spread(rng: np.random.Generator) -> Iterator[Fact]:
    """Residuals of either sign along both axes, so that r is spread evenly: how both ends move with each record."""
    points = np.array([[1.0, 0.4], [-0.3, 1.2], [0.8, -0.9]])
    theta, beta = np.array([[1.2, 0.1], [-0.2, 0.9]]), np.array([0.7, -0.4])
    cells = itertools.product(points, (0.8, 1.7), (1, -1), np.eye(2), (0.3, -0.3, 1.1, -1.1))
    parts = [(z, size * sign * axis, error) for z, size, sign, axis, error in cells]
    Z, R, errors = (np.array(column) for column in zip(*parts, strict=True))
    X = Z @ theta - R
    Y = X @ beta + errors
    records = Records(instruments=Z, lengths=np.linalg.norm(Z, axis=1), regressors=X, outcome=Y, law=True)
    problem = General(moments=Moments.of(Z, X, Y), eta=ETA, alpha=ALPHA)
    start, step = np.append(theta, beta), 1e-4
    moved = []
    for at in range(len(Y)):
        ends = []
        for sign in (1, -1):
            weights = np.ones(len(Y))
            weights[at] += sign * step
            ends.append(_end(records, weights, start, SPREAD_AT) - _end(records, weights, start))
        moved.append(len(Y) * (ends[0] - ends[1]) / (2 * step))
    psi = np.array(moved)
    found = clipping_spread(records, problem, *SPREAD_AT, 50)
    yield Fact("covariance by what each record moves", found, psi.T @ psi / len(Y) / 50, 1e-5)


CLIPPED = Claim(
    id="iv/beyond-clipped-run",
    where="prediction of `solve iv`",
    kind="number",
    statement=(
        "On a data set the clipped run without noise is that of Algorithm 1, with the same shares of clipped "
        "gradients;",
        "the lengths of gradients and the shares at 2SLS are those record by record, and at noisy iterates those of "
        "fresh records;",
        "the covariance that clipping other records adds is that of what each record moves, where residuals of the "
        "first stage are spread evenly over directions.",
    ),
    setting="$n = 80$, $p = 2$, $q = 3$, six steps; for (c) 96 nodes of a law with $p = k = 2$.",
    checks=(
        Agreement(decides="ab", facts=_clipped, impostors={"1 % off": {"facts": Times(1.01)}}),
        Agreement(decides="c", facts=_spread, impostors={"1 % off": {"facts": Times(1.01)}}),
    ),
)


# --- the leading order on given moments ---


def _general(rng: np.random.Generator) -> Iterator[Fact]:
    """A = I, where the isotropic recursion is another derivation; A not I, where each horizon is run by itself."""
    s, beta = np.array([1.4, 0.7]), np.array([0.6, -0.9])
    theta = np.vstack([np.diag(s), np.zeros((1, 2))])
    moments = Moments(A=np.eye(3), G=theta, b=theta @ beta, n=500)
    general = General(moments=moments, eta=0.7, alpha=0.5)
    isotropic = Isotropic(singular_values=s, beta=beta, q=3, eta=0.7, alpha=0.5)
    ours, theirs = general_error_terms(general, 30), isotropic_error_terms(isotropic, 30)
    for name in ("noiseless", "crossed", "shift", "first", "second"):
        yield Fact(name, getattr(ours, name), getattr(theirs, name), 1e-9)
    # The recursion goes on until it has settled, and no further.
    yield Fact("steps that are computed", len(general.run.noiseless), 1 + isotropic.settled_after, 0)
    variance = sum(0.7**2 * 0.3 ** (2 * t) for t in range(5))
    noise = (math.sqrt(2) + math.sqrt(3)) * 0.02 * math.sqrt(variance) / 0.7
    yield Fact("noise in Theta", relative_theta_noise(general, 0.02, 5), noise, 1e-10)
    data = _data(rng)
    other = Moments.of(data.instruments, data.regressors, data.outcome)
    found = general_expansion(General(moments=other, eta=ETA, alpha=ALPHA), [7, 3, 10**6])
    for at, T in enumerate((7, 3, 3000)):
        alone = noise_expansion(other, ETA, ALPHA, T)
        yield Fact(f"covariance, T = {T}", found.first[at], alone.first[-1], 1e-9)
        yield Fact(f"shift, T = {T}", found.shift[at], alone.shift[-1], 1e-9)


GENERAL = Claim(
    id="iv/beyond-general-moments",
    where="prediction of `solve iv`",
    kind="number",
    statement=(
        "On given moments the coefficients of the leading order at several horizons are those of one run for each, of "
        "the stationary law past the transient, and those of the isotropic recursion where $A = I$."
    ),
    checks=(Agreement(facts=_general, impostors={"1 % off": {"facts": Times(1.01)}}),),
)


# --- what is called reliable ---

# Settings: n, T, budget of each stage, shares clipped, whether Cov z is I. Noise, clipping, or both count in them;
# three regressors, so that medians take few trials.
SETTINGS = (
    (500, 8, 3.0, (0.03, 0.05), False),
    (600, 12, 2.0, (0.001, 0.001), True),
    (700, 6, 20.0, (0.08, 0.02), True),
    (500, 10, 30.0, (0.02, 0.08), True),
    (900, 15, 5.0, (0.05, 0.05), False),
)
QUICK = 2
P, Q, SIGMAS, WITHIN = 3, 4, (0.6, 0.4), 0.1


@cache
def _setting(at: int) -> tuple[PlannedRun, float]:
    """A run, and the median that is predicted for it."""
    n, steps, budget, clipped, isotropic = SETTINGS[at]
    rng = np.random.default_rng(at)
    theta = np.linalg.qr(rng.standard_normal((Q, P)))[0] * [1.3, 1.1, 1.0]
    covariance = np.eye(Q) if isotropic else 0.7 * np.eye(Q) + 0.3
    beta, drift = np.array([0.6, -0.7, 0.4]), covariance @ theta
    moments = Moments(A=covariance, G=drift, b=drift @ beta, n=n)
    h = np.linalg.eigvalsh(moments.hessian)
    eta, alpha = 1 / float(np.linalg.eigvalsh(covariance)[-1]), 2 / float(2 * h[-1] + h[0])
    population = General(moments=moments, eta=eta, alpha=alpha)
    errors = np.diag([SIGMAS[1] ** 2] * P + [SIGMAS[0] ** 2])
    model = LinearModel(n=n, beta=beta, theta=theta, error_covariance=errors, instrument_covariance=covariance)
    one = PlannedRun(clipping_plan(population, SIGMAS, (budget, budget), clipped), model, steps)
    forecast = one.forecast()
    return one, float(forecast.median) if forecast.reliable and forecast.median else math.nan


def _error(problem: LinearModel, settings: Settings, streams: Any, trials: int) -> dict[str, np.ndarray]:
    return {"error": two_stage_descent(problem, settings, streams, trials)["error_hat"]}


def _readings() -> list[Reading]:
    """Errors in units of the predicted median."""
    return [
        Reading(
            label=f"setting {seed}",
            experiment=Experiment(
                algorithm=_error, problem=_setting(seed)[0].model, settings=_setting(seed)[0].settings, block_trials=500
            ),
            output=lambda arrays, seed=seed: arrays["error"] / _setting(seed)[1],
            level="quick" if seed < QUICK else "full",
        )
        for seed in range(len(SETTINGS))
    ]


def _ratios(middle: float = 1.0) -> tuple[Ratio, ...]:
    """Simulated over predicted median."""
    low, high = middle * (1 - WITHIN), middle * (1 + WITHIN)
    labels = [f"setting {seed}" for seed in range(len(SETTINGS))]
    return tuple(Ratio(label=label, above=label, at_least=low, at_most=high) for label in labels)


RELIABLE = Claim(
    id="iv/beyond-reliable",
    where="prediction of `solve iv`",
    kind="mc-equality",
    statement=(
        "Where `solve iv` calls its prediction reliable the median of $norm(beta^((T)) - hat(beta))$ is within 10 % of "
        'it: with clipping, for finite $n$, and for any $op("Cov") z$.'
    ),
    hypotheses="Gaussian instruments and errors.",
    setting=(
        "$p = 3$, $q = 4$, $500 <= n <= 900$, $6 <= T <= 15$; `python -m tests.power.predictions` tries random "
        "settings of all kinds."
    ),
    checks=(
        Quantiles(
            readings=_readings,
            ratios=_ratios(),
            trials={"quick": 3000, "full": 12000},
            impostors={"30 % too small": {"ratios": _ratios(1.3)}, "25 % too large": {"ratios": _ratios(0.75)}},
        ),
    ),
)


def _limits(rng: np.random.Generator, share: float = 1.0) -> Iterator[Holds]:
    """Each measure by itself beyond its limits, or beyond a share of them."""
    for seed in range(20, 28):
        forecast = random_run(np.random.default_rng(seed), records=(300.0, 3000.0)).forecast()
        measures: dict[Measure, float] = {name: getattr(forecast, name) for name in LIMITS}
        beyond = {name for name, value in measures.items() if value > share * LIMITS[name][0]}
        void = any(value > share * LIMITS[name][1] for name, value in measures.items())
        yield Holds(f"limits exceeded are those named, seed {seed}", set(forecast.limits) - {"steps"} == beyond)
        yield Holds(
            f"reliable if and only if within all limits, seed {seed}", forecast.reliable != bool(forecast.limits)
        )
        yield Holds(f"void if and only if far beyond one, seed {seed}", (forecast.median is None) == void)


# --- clip norms ---


def _suggested(rng: np.random.Generator, stretch: float = 1.0) -> Iterator[Fact | Within | Holds]:
    """Against all levels of the first stage and all T; and against clip norms that nothing reaches."""
    given = _setting(0)[0].plan
    # So little of the first budget that noise in Theta is at its limit for the T that are best.
    plan = replace(given, budget=replace(given.budget, rho1=0.03 * given.budget.rho1))
    forecaster = plan.forecaster

    def rms(gamma1: float, gamma2: float, T: int, law: LeadingOrder) -> float:
        found = forecaster.forecast(replace(plan.budget, gamma1=gamma1, gamma2=gamma2), T, law, T - 1)
        return found.rms if found.reliable and found.rms is not None else math.inf

    best = answer(plan, [9]).suggested
    assert best is not None and best.forecast.rms is not None
    last, _ = gradient_norms(forecaster.nodes, forecaster.problem, start=False)
    law = forecaster.expansion(list(range(1, 14)))
    tried = [float(np.quantile(last, 1 - share)) for share in SHARES[1:]]
    others = [rms(gamma1, best.gamma2, T, law) for gamma1 in tried for T in (10, 8, 4)]
    near = {T: rms(best.gamma1, best.gamma2, T, law) for T in range(7, 14)}
    yield Fact("T of the least reliable error at these clip norms", best.steps, min(near, key=lambda T: near[T]), 0)
    yield Fact("the next T is not reliable", near[best.steps + 1], math.inf, 0)
    yield Holds("the clip norm is among the levels", best.gamma1 in tried or best.gamma1 > last.max())
    law = forecaster.expansion([best.steps])
    own = forecaster.forecast(
        replace(plan.budget, gamma1=stretch * best.gamma1, gamma2=best.gamma2), best.steps, law, 0
    )
    yield Within("predicted error over the least of others", (own.rms or math.inf) / min(others), 0.0, 1.02)
    yield Holds("the prediction is reliable", best.forecast.reliable)


SUGGESTED = Claim(
    id="iv/beyond-clip-norms",
    where="advice of `solve iv`",
    kind="number",
    statement=(
        (
            "The clip norms that are suggested are reliable, and at most 2 % worse than any others of the first stage "
            "that were tried, at any of three $T$;"
        ),
        "a prediction is reliable if and only if no measure is beyond its limit.",
    ),
    setting="The first setting above at 3 % of its $rho_1$; brute force over six levels; eight settings for limits.",
    checks=(
        Agreement(decides="a", facts=_suggested, impostors={"twice as long": {"facts": {"stretch": 2.0}}}),
        Agreement(decides="b", facts=_limits, impostors={"half of the limits": {"facts": {"share": 0.5}}}),
    ),
)
