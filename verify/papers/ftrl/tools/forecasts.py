"""Private logistic regression: what is forecast for it, and what runs of it give."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dpbounds.ftrl.design.from_data import LogisticTraining, predict_logistic
from simulators.engine import Experiment
from simulators.ftrl import LogisticData, logistic_regression

# Orders of the records over which forecasts are averaged.
ORDERS = 4


@dataclass(frozen=True, kw_only=True)
class Run:
    """A training and its data: what it is called, how it is simulated, what is forecast."""

    label: str
    data: LogisticData
    training: LogisticTraining

    def simulated(self, trials: int, seed: int) -> tuple[float, float]:
        """Mean loss of `trials` runs, each in its own order of the records, and its standard error."""
        experiment = Experiment(
            algorithm=logistic_regression, problem=self.data, settings=self.training, block_trials=trials
        )
        losses = experiment.run(1, seed=seed)["loss"]
        return float(losses.mean()), float(losses.std() / math.sqrt(trials))

    def forecast(self, linearise: str, *, noise: float = 1.0, orders: int = 1) -> float:
        """Mean of the forecasts in a few random orders, drawn from the seed `orders`; `noise` multiplies the noise, for
        impostors.
        """
        rng = np.random.default_rng(orders)
        drawn_orders = [rng.permutation(self.data.rows) for _ in range(ORDERS)]
        training = self.training
        if noise != 1.0:
            training = replace(training, rho=training.rho / noise**2)
        found = predict_logistic(
            self.data.features,
            self.data.labels,
            training,
            orders=drawn_orders,
            linearise="path" if linearise == "path" else "law",
        )
        return float(np.mean([float(each.loss) for each in found]))
