"""`dpbounds solve iv --simulate`: Algorithm 1 at every T of the table, clipped and noisy, beside what is predicted."""

from __future__ import annotations

from argparse import Namespace

from dpbounds.iv import Answer, DataSet, Population
from simulators.iv import data_problem, population_model, rehearsals
from verify.cli.solve.simulating import mean_interval, median_interval, simulate

OUTPUTS = ("error_hat", "beta", "beta_hat", "clipped_theta", "clipped_beta")


def add_simulated(answer: Answer, subject: Population | DataSet, arguments: Namespace) -> None:
    """To each row the median of ||beta_T - beta_hat|| with its interval, and the shares clipped at the last step; for a
    data set also the median of each coefficient's absolute difference, in the file's units.
    """
    problem = data_problem(subject) if isinstance(subject, DataSet) else population_model(subject)
    steps = [row["T"] for row in answer.rows]
    experiments = rehearsals(answer.plan, problem, steps, trials=arguments.simulate)
    simulated = simulate(experiments, arguments.simulate, seed=arguments.seed, outputs=OUTPUTS)
    for row in answer.rows:
        arrays = simulated[row["T"]]
        row |= median_interval(arrays["error_hat"]).columns("median")
        row |= {"trials": arguments.simulate, "seed": arguments.seed}
        for stage in ("theta", "beta"):
            row[f"clipped_{stage}_simulated"] = mean_interval(arrays[f"clipped_{stage}"][:, -1]).value
        if isinstance(subject, DataSet):
            apart = subject.in_units(arrays["beta"] - arrays["beta_hat"])
            for j, coefficient in enumerate(row["coefficients"]):
                coefficient |= median_interval(apart[:, j]).columns("noise_median")
