"""Sections 2.2 and 4.1 and the abstract: OLS is inconsistent, 2SLS and Algorithm 1 are consistent."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from dpbounds.iv import population
from dpbounds.iv.gaussian_norm import norm_quantile
from simulators.engine import Arrays, Experiment, Streams
from simulators.iv import LinearModel, synthetic_model
from verify.checks import Power, Quantiles, Rate, Ratio, Reading
from verify.claims import Claim
from verify.iv.claims.privacy_term import Isotropic
from verify.iv.claims.setups import Setup, line

# --- OLS and 2SLS ---

SIZES = (500, 1000, 2000)


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


# --- Algorithm 1 ---

# (1 - alpha sigma_min²)^T <= 1 / sqrt(n): the optimisation error falls with the statistical one.
RATE_CONSTANT = 2.5


def _steps(n: float) -> int:
    return math.ceil(RATE_CONSTANT * math.log(n))


def _setup(n: int) -> Setup:
    """T = C log n, rho_1 = rho_2 = 1, clip norms of (4)."""
    return Setup(n=n, steps=_steps(n), rho1=1.0, rho2=1.0, c0=1.0)


def _private_errors() -> list[Reading]:
    readings = []
    for n in (500, 1000, 2000, 4000):
        setup = _setup(n)
        for group, output in (("Algorithm 1 to beta-hat", "error_hat"), ("Algorithm 1 to beta", "error_true")):
            readings.append(
                Reading(
                    label=f"{group}, n = {n}",
                    run=f"n = {n}",
                    experiment=setup.experiment(48),
                    output=output,
                    x=n,
                    group=group,
                )
            )
    return readings


def _private_lines() -> list[dict[str, Any]]:
    sizes = [500, 1000, 2000, 4000, 10**4, 10**5]
    setups = [_setup(n) for n in sizes]
    return [
        line("Algorithm 1 to beta leading order", "theory", sizes, [setup.error("error_true") for setup in setups]),
        line("Algorithm 1 to beta-hat leading order", "theory", sizes, [setup.error() for setup in setups]),
        line("2SLS to beta", "bound", sizes, [setup.two_stage_error() for setup in setups]),
    ]


def _over_root(decades: float, *, logarithmic: bool = True) -> Iterator[tuple[str, float]]:
    """sqrt(n) times start + privacy + 2SLS error on isotropic data, T = C log n or fixed; and n / log(n)^{3/2} times
    the privacy error.
    """
    n = 10**3 * round(10**decades)
    T = _steps(n) if logarithmic else 20
    private, start = Isotropic(n=n, T=T).root_mean_square, (1 / 3) ** (T - 1)
    yield "to beta, over 1 / sqrt(n)", (start + private) * math.sqrt(n) + 1.0
    yield "to beta-hat, over log(n)^(3/2) / n", (start + private) * n / math.log(n) ** 1.5


CLAIMS = (
    Claim(
        id="iv/synth-endog",
        where="Sections 2.2 and 4.1",
        kind="mc-equality",
        statement=(
            "A confounder shared by both errors makes OLS biased and inconsistent, while IV regression stays "
            "consistent."
        ),
        hypotheses=(
            "Section 4.1, $p = r = 3$, $q = 8$, seed 1. The limit of OLS is $beta + (Theta^top Theta + Phi^top Phi + "
            "I)^(-1) Phi^top phi$; the covariance of 2SLS is $(1 + norm(phi)^2) (Theta^top Theta)^(-1) \\/ n$ to first "
            "order."
        ),
        checks=(
            Quantiles(
                readings=_endogeneity,
                resolution={"quick": 0.2, "full": 0.08},
                powers=(
                    Power(group="OLS", printed=0.0, tolerance=0.08),
                    Power(group="2SLS", printed=-0.5, tolerance=0.15),
                ),
                trials={"quick": 1250, "full": 8000},
                theory="asymptotic",
                axes=("n", "median error of estimators of beta, p = 3, q = 8"),
                impostors={
                    "OLS consistent": {"powers": (Power(group="OLS", printed=-0.5),)},
                    "30 % too large": {"scale": 1.3},
                },
            ),
        ),
    ),
    Claim(
        id="iv/abstract-consistency",
        where="Abstract",
        kind="mc-rate",
        statement="Algorithm 1 achieves consistency while preserving privacy.",
        hypotheses=(
            "$rho_1 = rho_2 = 1$, $T = 2.5 log n$, clip norms of (4), which grow as $log n$, so that clipping distorts "
            "ever less; $c_0 = 1$. The error against $hat(beta)$ is of order $log(n)^(3\\/2) \\/ n$, below that of "
            "2SLS from some $n$ on."
        ),
        checks=(
            Rate(
                ratios=_over_root,
                relation="theta",
                extents=(16.0, 32.0, 64.0, 128.0),
                impostors={"T = 20": {"ratios": lambda decades: _over_root(decades, logarithmic=False)}},
            ),
            Quantiles(
                readings=_private_errors,
                ratios=(
                    Ratio(
                        label="error against beta, n = 4000 against n = 500",
                        above="Algorithm 1 to beta, n = 4000",
                        below="Algorithm 1 to beta, n = 500",
                        at_most=0.5,
                    ),
                ),
                trials={"quick": 96, "full": 480},
                axes=("n", "median error, p = q = 5, rho = (1, 1), T = 2.5 log n, c_0 = 1"),
                lines=_private_lines,
                impostors={
                    "no progress": {
                        "ratios": (
                            Ratio(
                                label="error against beta, n = 4000 against n = 500",
                                above="Algorithm 1 to beta, n = 4000",
                                below="Algorithm 1 to beta, n = 500",
                                at_least=0.8,
                            ),
                        )
                    }
                },
            ),
        ),
    ),
)
