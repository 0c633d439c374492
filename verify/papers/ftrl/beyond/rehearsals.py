"""Beyond the paper: runs simulated beside what `dpbounds solve ftrl` predicts, each of which must have that mean."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from dpbounds.ftrl import correlations
from dpbounds.ftrl.linear_regression import Regression, geometric
from dpbounds.ftrl.strongly_convex import StronglyConvex, bound
from dpbounds.ftrl.strongly_convex.programs import least_curvature
from simulators.ftrl import Rehearsal, mean_rehearsal, quadratic_rehearsal, regression_rehearsal
from verify.checks import Agreement, Within
from verify.papers.ftrl.tools import input_laws, second_moments
from verify.papers.ftrl.tools.strongly_convex import worst_quadratic
from verify.statements.claims import Claim

ETA, RHO, SIGMA, CLIP, START = 0.3, 0.4, 0.5, 0.8, 1.5
# Stands for no end: weights fall as .9^t, what is left of the start as .88^t.
LONG = 160
EIGENVALUES = (1.0, 0.4)
# Standard errors that a mean may be from what is stated: a normal mean is with 3e-12, one of 40,000 skewed losses with
# less than 5e-10.
FARTHEST, LOSSES = 7.0, 40_000
# Losses that are chi-squared have a standard error of .7 %: 7 % are seen.


def _mean(runs: Rehearsal, rng: np.random.Generator) -> tuple[float, float]:
    """Mean and standard error of the losses, from as many blocks as that takes."""
    seed, losses = int(rng.integers(2**31)), []
    for block in range(-(-LOSSES // runs.experiment.block_trials)):
        losses.append(runs.losses(runs.experiment.run_block(block, seed=seed)))
    values = np.concatenate(losses)
    return float(values.mean()), float(values.std(ddof=1)) / math.sqrt(len(values))


def _held(label: str, runs: Rehearsal, stated: float, rng: np.random.Generator) -> Within:
    mean, error = _mean(runs, rng)
    return Within(f"standard errors between mean and stated, {label}", (mean - stated) / error, -FARTHEST, FARTHEST)


def _exact(weights: np.ndarray, gamma: float, law: input_laws.Laws, steps: int, start: np.ndarray) -> float:
    """E F - F* by the second-moment recursion written out in `second_moments`; G = .8, rho = .4, sigma = .5."""
    noise = CLIP**2 * gamma**2 / (2 * RHO)
    moments = second_moments.trajectory(law, ETA, weights, noise, SIGMA**2, steps, start)[-1]
    return float(second_moments.suboptimality(law, moments))


def _of_regressions(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Within]:
    """After 6 steps with noise for 6 steps, and in the long run: `LONG` steps, and so many weights of gamma_inf."""
    problem = Regression(eigenvalues=geometric(2, 2.5), eta=ETA, rho=RHO, clip_norm=CLIP, sigma_sgd=SIGMA)
    law, start = input_laws.gaussian(EIGENVALUES), np.full(2, START / math.sqrt(2))
    for correlation in (correlations.independent(), correlations.nu(0.1)):
        for steps in (6, None):
            horizon = steps or LONG
            gamma = float(np.linalg.norm(correlation.inverse_coefficients(horizon)))
            stated = _exact(correlation.coefficients(horizon), gamma, law, horizon, start)
            runs = regression_rehearsal(correlation, problem, steps=steps, initial=START)
            yield _held(f"{correlation.name}, T = {steps or 'oo'}", runs, factor * stated, rng)


def _of_means(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Within]:
    """The same on one eigenvalue 1 with inputs +-1: records bounded by G = .8."""
    problem = Regression(eigenvalues=np.ones(1), eta=ETA, rho=RHO, clip_norm=CLIP, sigma_sgd=SIGMA, kurtosis=1.0)
    law, start = input_laws.signs([1.0]), np.array([START])
    correlation = correlations.nu(0.3)
    for steps in (6, None):
        horizon = steps or LONG
        gamma = float(np.linalg.norm(correlation.inverse_coefficients(horizon)))
        stated = _exact(correlation.coefficients(horizon), gamma, law, horizon, start)
        runs = mean_rehearsal(correlation, problem, steps=steps, initial=START)
        yield _held(f"private mean, T = {steps or 'oo'}", runs, factor * stated, rng)


def _of_quadratics(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Within]:
    """The loss that the lower end of a bound is the exact error of, three coordinates at once."""
    for correlation in (correlations.independent(), correlations.nu(0.2)):
        problem = StronglyConvex(mu=least_curvature(1.0, 4.0), L=1.0, eta=0.4, rho=0.5, d=3, sigma_sgd=0.6)
        runs = quadratic_rehearsal(bound(correlation, problem, max_lag=2, certify=False, program="f"))
        stated = worst_quadratic(correlation, 0.25, 0.4, d=3, sigma_sgd=0.6)
        yield _held(f"worst quadratic, {correlation.name}", runs, factor * stated, rng)


REHEARSALS = Claim(
    id="ftrl/beyond-rehearsals",
    where="beyond Sections 2 and 3",
    kind="mc-equality",
    statement=(
        "Runs that are simulated beside predictions have the predicted means: linear regression and a private mean, "
        "after $T$ steps and in the long run, and the worst quadratic of a bound."
    ),
    setting=(
        "$eta = 0.3$, $rho = 0.4$, $G = 0.8$, $sigma_s = 0.5$, eigenvalues 1 and 0.4, start at distance 1.5, $T = 6$; "
        "quadratics with $kappa = 4$, $eta = 0.4$, $d = 3$. 40 000 losses a mean."
    ),
    checks=tuple(
        Agreement(facts=facts, alpha=2e-9, impostors={"8 % more": {"facts": {"factor": 1.08}}})
        for facts in (_of_regressions, _of_means, _of_quadratics)
    ),
)
