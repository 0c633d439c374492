"""What is kept of the runs of one block of trials.

>>> distance(np.array([[3.0, 4.0]]), np.zeros((1, 2))).tolist()
[5.0]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simulators.engine import Arrays
from simulators.iv.samples import MomentSample
from simulators.iv.settings import Settings


@dataclass(frozen=True, kw_only=True, eq=False)
class Stage:
    """The averaged gradient of one stage, the share of records clipped, the largest norm before clipping (or 0)."""

    gradient: np.ndarray
    clipped: np.ndarray | float = 0.0
    largest: np.ndarray | float = 0.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Iterate:
    """Theta_t (trials, q, p) and beta_t (trials, p), and the stages at the iterate before that led to them."""

    theta: np.ndarray
    beta: np.ndarray
    first: Stage
    second: Stage


class Recorder:
    """Errors and clip shares of every step, norms and iterates as the settings ask."""

    def __init__(self, moments: MomentSample, settings: Settings, trials: int, beta: np.ndarray | None) -> None:
        self._moments, self._settings, self._trials = moments, settings, trials
        self._targets = {"hat": moments.beta_hat} if beta is None else {"hat": moments.beta_hat, "true": beta[None]}
        self._paths: Arrays = {}
        self._last: Iterate | None = None

    def add(self, step: int, iterate: Iterate) -> None:
        """Keep one step, counted from 0."""
        self._last = iterate
        for name, target in self._targets.items():
            self._keep(f"error_{name}_path", step, distance(iterate.beta, target))
        for name, stage in (("theta", iterate.first), ("beta", iterate.second)):
            self._keep(f"clipped_{name}", step, stage.clipped)
            if self._settings.record_norms:
                self._keep(f"largest_{name}_gradient", step, stage.largest)
        if self._settings.record_paths:
            self._keep("theta_path", step, iterate.theta)
            self._keep("beta_path", step, iterate.beta)

    def arrays(self) -> Arrays:
        """Everything by name, each with the leading axis trials."""
        assert self._last is not None
        arrays: Arrays = {"theta": self._last.theta, "beta": self._last.beta}
        arrays["beta_hat"] = self._every_trial(self._moments.beta_hat)
        arrays |= {f"error_{name}": self._paths[f"error_{name}_path"][:, -1] for name in self._targets}
        if "true" in self._targets:
            arrays["two_stage_error"] = self._every_trial(distance(self._targets["hat"], self._targets["true"]))
        if self._settings.record_paths:
            arrays["theta_hat"] = self._every_trial(self._moments.theta_hat)
        return arrays | self._paths

    def _keep(self, name: str, step: int, values: np.ndarray | float) -> None:
        if name not in self._paths:
            self._paths[name] = np.zeros((self._trials, self._settings.steps, *np.shape(values)[1:]))
        self._paths[name][:, step] = values

    def _every_trial(self, values: np.ndarray) -> np.ndarray:
        return np.broadcast_to(values, (self._trials, *values.shape[1:]))


def distance(beta: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Euclidean distances along the trials, inf where a run has left floating-point range."""
    difference = beta - target
    distances = np.sqrt(np.einsum("tp,tp->t", difference, difference))
    distances[np.isnan(distances)] = np.inf
    return distances
