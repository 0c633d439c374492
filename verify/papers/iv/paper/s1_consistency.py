"""Abstract, Sections 2.2 and 4.1: OLS is inconsistent, 2SLS and Algorithm 1 are consistent."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache

import numpy as np

from dpbounds.gaussian_norm import norm_quantile
from dpbounds.iv import TwoStageBudget, clip_norm, noise_scales, population
from dpbounds.iv.isotropic import Isotropic, isotropic_error_terms
from simulators.engine import Arrays, Experiment, Streams
from simulators.iv import LinearModel, synthetic_model
from verify.checks import Level, Power, Quantiles, Rate, Ratio, Reading
from verify.checks.pictures import Series
from verify.papers.iv.tools.samples import isotropic_design
from verify.papers.iv.tools.setups import Setup, line
from verify.statements.claims import Claim

# --- OLS and 2SLS ---

SIZES = (250, 500, 1000)


def estimators(problem: LinearModel, settings: None, streams: Streams, trials: int) -> Arrays:
    """Errors against beta, shape (trials,): `ols` of least squares of y on x, `two_stage` of 2SLS."""
    records = problem.draw(streams.data, trials, records=True).records
    X, Y = records.regressors, records.outcome
    gram, product = X @ np.swapaxes(X, 1, 2), X @ Y[..., None]
    ols = np.linalg.solve(gram, product)[..., 0]
    return {
        "ols": np.linalg.norm(ols - problem.beta, axis=1),
        "two_stage": np.linalg.norm(records.moments.beta_hat - problem.beta, axis=1),
    }


def _limits(model: LinearModel) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Means and covariances of both errors. x and y are jointly Gaussian: given x, y has a constant variance."""
    errors, beta = model.error_covariance, model.beta
    x_covariance = model.theta.T @ model.theta + errors[:-1, :-1]
    bias = population.ols_limit(beta, model.theta, errors) - beta
    explained = errors[:-1, -1] @ np.linalg.solve(x_covariance, errors[:-1, -1])
    two_stage = population.two_stage_covariance(model.theta, float(errors[-1, -1]), model.n)
    return {
        "ols": (bias, (errors[-1, -1] - explained) * np.linalg.inv(x_covariance) / model.n),
        "two_stage": (np.zeros(len(beta)), two_stage),
    }


def _endogeneity() -> list[Reading]:
    """Section 4.1 with q = 8 instruments for p = 3 regressors, so that 2SLS has moments."""
    readings = []
    for n in SIZES:
        model = synthetic_model(n=n, p=3, q=8, r=3, parameter_seed=1)
        experiment = Experiment(algorithm=estimators, problem=model, settings=None, block_trials=250)
        for group, output in (("OLS", "ols"), ("2SLS", "two_stage")):
            law = _limits(model)[output]
            readings.append(
                Reading(
                    label=f"{group}, n = {n}",
                    run=f"n = {n}",
                    experiment=experiment,
                    output=output,
                    predicted=lambda law=law: norm_quantile(*law),
                    x=n,
                    group=group,
                )
            )
    return readings


SYNTH_ENDOG = Claim(
    id="iv/synth-endog",
    where="Sections 2.2 and 4.1",
    page=4,
    kind="mc-equality",
    statement=(
        "A confounder shared by both errors makes OLS biased and inconsistent, while IV regression stays consistent."
    ),
    remark=(
        "The limit of OLS is $beta + (Theta^top Theta + Phi^top Phi + I)^(-1) Phi^top phi$; the covariance of 2SLS is "
        "$(1 + norm(phi)^2) (Theta^top Theta)^(-1) \\/ n$ to first order."
    ),
    setting="Section 4.1 with $p = r = 3$, $q = 8$, parameters drawn with seed 1.",
    checks=(
        Quantiles(
            readings=_endogeneity,
            resolution={"quick": 0.2, "full": 0.08},
            powers=(
                Power(group="OLS", printed=0.0, tolerance=0.08),
                Power(group="2SLS", printed=-0.5, tolerance=0.15),
            ),
            trials={"quick": 1250, "full": 8000},
            theory="approximate",
            axes=("records $n$", "median error against $beta$"),
            impostors={
                "OLS consistent": {"powers": (Power(group="OLS", printed=-0.5),)},
                "30 % too large": {"scale": 1.3},
            },
        ),
    ),
)

# --- Algorithm 1 ---

SEEDS = (0, 1, 2, 3, 4)
FEW, MANY = 500, 4000
GROWTH = (FEW, 1000, 2000, MANY)


@cache
def _problem(seed: int) -> Isotropic:
    """Section 4.1, p = q = 5, in the singular basis of Theta; step sizes of Section 4."""
    setup = Setup(seed=seed)
    _, values, right = np.linalg.svd(setup.model.theta)
    eta, alpha = setup.step_sizes
    return Isotropic(singular_values=values, beta=right @ setup.model.beta, q=5, eta=eta, alpha=alpha)


def _steps(n: float, kappa: float) -> int:
    """Least T with kappa^T <= 1 / sqrt(n), kappa the rate of 2S-GD: the start is forgotten as data come in."""
    return math.ceil(math.log(n) / (2 * math.log(1 / kappa)))


def _over_root(decades: float, *, logarithmic: bool = True) -> Iterator[tuple[str, float]]:
    """Root mean squares to leading order, over 1 / sqrt(n) and over log(n)^{3/2} / n; clip norms of (4), rho = 1.

    p = q = 1, Theta = 1 too, where the start is forgotten fast and the noise is all that is left.
    """
    n = 10**3 * round(10**decades)
    one = Isotropic(singular_values=np.ones(1), beta=np.ones(1), q=1, eta=1.0, alpha=2 / 3)
    for label, problem in (*((f"seed {seed}", _problem(seed)) for seed in (0, 2)), ("p = q = 1", one)):
        T = 2 * _steps(n, problem.kappa) if logarithmic else 20
        design = isotropic_design(n, len(problem.beta), problem.q)
        gamma = float(clip_norm(design, T))
        lambda1, lambda2 = (np.array([scale]) for scale in noise_scales(TwoStageBudget.equal(1.0, gamma), n, T))
        error = float(isotropic_error_terms(problem, T).at([T]).root_mean_square(lambda1, lambda2)[0])
        two_stage = math.sqrt(float(np.sum(problem.singular_values**-2.0)) / n)
        yield f"to beta, over 1 / sqrt(n), {label}", math.hypot(error, two_stage) * math.sqrt(n)
        yield f"to beta-hat, over log(n)^(3/2) / n, {label}", error * n / math.log(n) ** 1.5


@cache
def _setup(n: int, seed: int, c0: float) -> Setup:
    steps = _steps(n, _problem(seed).kappa)
    return Setup(n=n, steps=steps, rho1=1.0, rho2=1.0, c0=c0, seed=seed)


def _private_errors() -> list[Reading]:
    """Against beta: seed by seed at both ends, for another c_0 at level full, and the whole curve of seed 0."""
    readings = []
    choices: tuple[tuple[float, Level], ...] = ((3.0, "quick"), (1.0, "full"))
    for c0, level in choices:
        for seed in SEEDS:
            for n in GROWTH if (seed, c0) == (0, 3.0) else (FEW, MANY):
                plotted = (seed, c0) == (0, 3.0)
                readings.append(
                    Reading(
                        label=f"seed {seed}, c_0 = {c0:g}, n = {n}",
                        experiment=_setup(n, seed, c0).experiment(16),
                        output="error_true",
                        x=n if plotted else math.nan,
                        group="Algorithm 1" if plotted else "",
                        level=level,
                    )
                )
    return readings


def _private_lines() -> list[Series]:
    sizes = [*GROWTH, 10**4, 10**5]
    setups = [_setup(n, 0, 3.0) for n in sizes]
    return [
        line("Algorithm 1", "approximate", sizes, [setup.error("error_true") for setup in setups]),
        line("2SLS", "approximate", sizes, [setup.two_stage_error() for setup in setups]),
    ]


def _progress(c0: float, **ends: float) -> tuple[Ratio, ...]:
    """The error at many records over that at few, for every seed."""
    return tuple(
        Ratio(
            label=f"error at n = {MANY} over n = {FEW}, seed {seed}, c_0 = {c0:g}",
            above=f"seed {seed}, c_0 = {c0:g}, n = {MANY}",
            below=f"seed {seed}, c_0 = {c0:g}, n = {FEW}",
            **ends,
        )
        for seed in SEEDS
    )


ABSTRACT_CONSISTENCY = Claim(
    id="iv/abstract-consistency",
    where="Abstract",
    page=1,
    kind="mc-rate",
    statement="Algorithm 1 achieves consistency while preserving privacy.",
    remark=(
        "For $T$ of order $log n$, large enough to forget the start. The error against $hat(beta)$ is then of "
        "order $log(n)^(3\\/2) \\/ n$, below that of 2SLS from some $n$ on: to leading order in the noise without "
        "clipping, which the growing clip norms (4) leave behind. Runs with clipping improve for every parameter draw."
    ),
    setting=(
        "$rho_1 = rho_2 = 1$, $T$ the least number of steps with $kappa^T <= 1\\/sqrt(n)$ for the true rate $kappa$ of "
        "2S-GD, clip norms of (4) with $c_0 = 3$ (level full: and 1), parameters drawn with seeds 0 to 4."
    ),
    checks=(
        Rate(
            ratios=_over_root,
            relation="upper",
            extents=(1.5, 3.0, 6.0, 12.0),
            per_extent=4,
            impostors={"T = 20": {"ratios": {"logarithmic": False}}},
        ),
        Quantiles(
            readings=_private_errors,
            ratios=(*_progress(3.0, at_most=0.75), *_progress(1.0, at_most=0.9)),
            trials={"quick": 48, "full": 192},
            axes=("records $n$", "median error against $beta$"),
            lines=_private_lines,
            impostors={"no progress": {"ratios": _progress(3.0, at_least=0.8)}},
        ),
    ),
)
