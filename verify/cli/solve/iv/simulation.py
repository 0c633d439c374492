"""`dpbounds solve iv --simulate`: Algorithm 1 at every T of the table, clipped and noisy, beside what is predicted."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import numpy as np

from dpbounds import DomainError
from dpbounds.iv import Question
from dpbounds.iv.general import General
from simulators.engine import Experiment
from simulators.iv import FixedData, LinearModel, Settings, two_stage_descent
from verify.cli.solve.iv.data import DataSet
from verify.cli.solve.simulating import LEAST_TRIALS, mean_interval, median_interval, simulate

Row = dict[str, Any]

# Numbers that a step of one trial touches: beyond, records do not fit into memory.
MOST_CELLS = 50_000_000
# Of all steps and trials: hours.
MOST_WORK = 1e13
# Of one block of trials: a second or two.
BLOCK_WORK = 3e8
OUTPUTS = ("error_hat", "beta", "beta_hat", "clipped_theta", "clipped_beta")


def problem_of(question: Question, theta: np.ndarray, beta: np.ndarray) -> LinearModel:
    """Gaussian instruments and independent Gaussian errors, fresh records in every trial."""
    p, population = question.design.p, question.population
    covariance = population.moments.A if isinstance(population, General) else None
    errors = np.diag([question.design.sigma_2**2] * p + [question.sigma_1**2])
    return LinearModel(
        n=question.design.n, beta=beta, theta=theta, error_covariance=errors, instrument_covariance=covariance
    )


def require_feasible(question: Question, rows: list[Row], trials: int) -> None:
    """`DomainError` for records that do not fit into memory, and work of days."""
    design = question.design
    cells = design.n * (design.q + 3 * design.p + 4)
    if cells > MOST_CELLS:
        limit = MOST_CELLS // (design.q + 3 * design.p + 4)
        raise DomainError("n", design.n, f"at most {limit} with --simulate", "what is simulated are the records")
    steps = sum(row["T"] for row in rows)
    if cells * steps * trials > MOST_WORK:
        most = int(MOST_WORK / cells / steps)
        remedy = f"at most {most}" if most >= LEAST_TRIALS else "fewer steps: --T"
        raise DomainError("simulate", trials, f"fewer for n = {design.n} and {steps} steps in all", remedy)


def add_simulated(
    question: Question, rows: list[Row], model: LinearModel | FixedData, arguments: Namespace, data: DataSet | None
) -> None:
    """To each row the median of ||beta_T - beta_hat|| with its interval, and the shares clipped at the last step; for a
    data set also the median of each coefficient's absolute difference, in the file's units.
    """
    cells = question.design.n * (question.design.q + 3 * question.design.p + 4)
    experiments = {}
    for row in rows:
        scales = {name: row[name] for name in ("eta", "alpha", "gamma1", "gamma2", "lambda1", "lambda2")}
        settings = Settings(steps=row["T"], **scales)
        block = int(min(1000, max(1, BLOCK_WORK // (cells * row["T"]))))
        experiments[row["T"]] = Experiment(
            algorithm=two_stage_descent, problem=model, settings=settings, block_trials=block
        )
    found = simulate(experiments, arguments.simulate, seed=arguments.seed, outputs=OUTPUTS)
    for row in rows:
        arrays = found[row["T"]]
        row |= median_interval(arrays["error_hat"]).columns("median")
        row |= {"trials": arguments.simulate, "seed": arguments.seed}
        for stage in ("theta", "beta"):
            row[f"clipped_{stage}_simulated"] = mean_interval(arrays[f"clipped_{stage}"][:, -1]).value
        if data is not None:
            apart = np.abs(arrays["beta"] - arrays["beta_hat"]) * np.abs(data.unit)
            for j, own in enumerate(row["coefficients"]):
                own |= median_interval(apart[:, j]).columns("noise_median")
