"""What the lemmas of App. D bound, drawn from the model: spectra and norms of moments, products of random matrices."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dpbounds.iv import Constants, Design
from simulators.engine import Arrays, Experiment, Streams
from simulators.iv import LinearModel
from simulators.iv.problems import Instruments
from verify.checks import Event, Search
from verify.checks.domains import Real, Whole

Law = Literal["independent", "random sign"]
# Whether something is so, trial by trial.
Occurs = Callable[[Mapping[str, np.ndarray]], np.ndarray]

# C_0 with which Lemma D.2 is proved for Gaussian instruments.
GAUSSIAN = Constants(concentration=math.sqrt(2.0))


def moment_norms(problem: LinearModel, settings: None, streams: Streams, trials: int) -> Arrays:
    """Per data set, shape (trials,).

    `A_least`, `A_largest`, `H_least`, `H_largest`: ends of the spectra of Z'Z/n and H-hat; `first_stage`
    ||theta_hat - Theta||; `estimator` ||beta_hat - beta||; `residual` ||Z'r|| / n; `product` ||Z'E_2|| / n;
    `outcome_product` ||Z'E_1|| / n; `sargan` r'P_Z r / Var e_1.
    """
    sample = problem.draw(streams.data, trials, records=False).moments
    A, theta_hat, beta_hat = sample.A, sample.theta_hat, sample.beta_hat
    a, h = (np.linalg.eigvalsh(matrix) for matrix in (A, np.swapaxes(theta_hat, 1, 2) @ A @ theta_hat))
    residual = (A @ (theta_hat @ beta_hat[..., None]))[..., 0] - sample.b
    squares = (residual * np.linalg.solve(A, residual[..., None])[..., 0]).sum(axis=1)
    return {
        "A_least": a[:, 0],
        "A_largest": a[:, -1],
        "H_least": h[:, 0],
        "H_largest": h[:, -1],
        "first_stage": np.linalg.norm(theta_hat - problem.theta, ord=2, axis=(1, 2)),
        "estimator": np.linalg.norm(beta_hat - problem.beta, axis=1),
        "residual": np.linalg.norm(residual, axis=1),
        "product": np.linalg.norm(sample.G - A @ problem.theta, ord=2, axis=(1, 2)),
        "outcome_product": np.linalg.norm(sample.b - sample.G @ problem.beta, axis=1),
        "sargan": problem.n * squares / problem.error_covariance[-1, -1],
    }


def moment_draws(model: LinearModel, block_trials: int = 500) -> Experiment:
    """`moment_norms` as an experiment."""
    return Experiment(algorithm=moment_norms, problem=model, settings=None, block_trials=block_trials)


def counterexample(sides: Callable[[float, float], tuple[float, float]]) -> Search:
    """Where a lemma fails at p = q = 1 for every n and tau in a wide range; shown at n = 10 000, tau = 2."""
    return Search(
        sides=sides,
        box={"n": Whole(100, 10**12, "log"), "tau": Real(1.2, 10.0)},
        extremal=lambda: [{"n": 10_000.0, "tau": 2.0}],
        evaluations=100,
    )


def likely_events(models: Iterable[LinearModel], occurs: Callable[[LinearModel, float], Occurs]) -> list[Event]:
    """What `occurs` says of each model and tau = 2 and 4, in `moment_norms`: at least as likely as 1 - 3 e^{-tau}."""
    return [
        Event(
            label=f"n = {model.n}, p = {model.dimensions[1]}, q = {model.dimensions[0]}, tau = {tau}",
            experiment=moment_draws(model),
            occurs=occurs(model, tau),
            at_least=1 - 3 * math.exp(-tau),
        )
        for model in models
        for tau in (2.0, 4.0)
    ]


def isotropic_model(
    n: int,
    p: int,
    q: int,
    *,
    scale: float = 1.0,
    endogeneity: float = 0.0,
    instruments: Instruments = "gaussian",
) -> LinearModel:
    """Theta = scale [I; 0], beta a unit vector, errors of variance 1 with covariance `endogeneity` of e_2 and e_1."""
    beta, errors = np.eye(p)[0], np.eye(p + 1)
    errors[0, -1] = errors[-1, 0] = endogeneity
    return LinearModel(n=n, beta=beta, theta=scale * np.eye(q, p), error_covariance=errors, instruments=instruments)


def isotropic_design(n: int, p: int = 1, q: int = 1, tau: float = 5.0) -> Design:
    """For the theorem with Theta = [I; 0] and all sigmas 1."""
    return Design(n=n, p=p, q=q, theta_norm=1.0, theta_least=1.0, tau=tau)


@dataclass(frozen=True, kw_only=True)
class Rows:
    """n rows (z_i, e_i) of standard normals in R^q each.

    `law` of e given z: independent; or s z with one random sign s per row: uncorrelated with z, not independent.
    """

    n: int
    q: int
    law: Law = "independent"


def row_products(problem: Rows, settings: None, streams: Streams, trials: int) -> Arrays:
    """`product`: ||Z'E|| / n per trial."""
    shape = (trials, problem.n, problem.q)
    z = streams.data.standard_normal(shape)
    if problem.law == "independent":
        e = streams.data.standard_normal(shape)
    else:
        e = z * (2.0 * streams.data.integers(0, 2, size=(trials, problem.n, 1)) - 1.0)
    return {"product": np.linalg.norm(np.swapaxes(z, 1, 2) @ e / problem.n, ord=2, axis=(1, 2))}
