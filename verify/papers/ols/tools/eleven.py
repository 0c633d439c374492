"""Eleven data sets on which forecasts are held against simulation: four that scikit-learn ships, and stand-ins."""

from __future__ import annotations

from functools import cache
from typing import get_args

from dpbounds.errors import choice
from simulators.ols import LeastSquares, bundled, family, perceptron, standardised
from simulators.ols.datasets import BUNDLED
from simulators.ols.families import Activation, Family

ROWS = 1024
FAMILIES, ACTIVATIONS = get_args(Family), ("tanh", "relu")
NAMES = (*BUNDLED, *FAMILIES, *ACTIVATIONS)


@cache
def stand_in(name: str, seed: int = 0) -> LeastSquares:
    """By name: shipped sets standardised, families and perceptrons of 1024 rows, those of a perceptron standardised."""
    choice("name", name, NAMES)
    if name in BUNDLED:
        own = bundled(name, train_share=1.0, seed=seed).train
        return standardised(own.regressors, own.outcome)
    if name in FAMILIES:
        return family(name, n=ROWS, seed=seed)  # pyright: ignore[reportArgumentType]
    activation: Activation = "tanh" if name == "tanh" else "relu"
    own = perceptron(n=ROWS, width=12, seed=seed, activation=activation)
    return standardised(own.regressors, own.outcome)
