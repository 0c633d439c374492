"""Privacy claims decided by output laws: exact divergence on explicit neighbours, and a sampled audit beside it."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from simulators.engine import Experiment
from verify.checks.audit import epsilon_lower_bound, gaussian_zcdp
from verify.checks.base import Check, Level, Result, Seed, Task, by_level, ground_of
from verify.checks.evidence import Evidence, Outcome
from verify.checks.looks import doubled
from verify.checks.statistics import COMPARISON_ALPHA

# Rounding in the covariance's factorisation.
ROUNDING = 1e-8


@dataclass(frozen=True, kw_only=True)
class Neighbours:
    """Two inputs that differ in one unit, as the Gaussian laws of everything released: N(0, covariance) against
    N(shift, covariance).
    """

    label: str
    shift: np.ndarray
    covariance: np.ndarray
    claimed_rho: float


@final
@dataclass(frozen=True, kw_only=True)
class GaussianPrivacy(Check):
    """No pair of neighbours costs more zCDP than claimed; the slack says whether the claim is tight.

    `pairs` must contain the worst pair: a claim that holds with slack 1 is exact. `closed` as for every check that has
    it (`Check`).
    """

    pairs: Callable[[], Iterable[Neighbours]]
    closed: bool = False

    def counterexample_names(self) -> Collection[str]:
        """The pair, its claimed and its exact cost."""
        return ("pair", "claimed", "exact")

    def run(self, task: Task, seed: Seed) -> Result:
        """The exact cost of every pair."""
        rows = [
            {"pair": pair.label, "claimed": pair.claimed_rho, "exact": gaussian_zcdp(pair.shift, pair.covariance)}
            for pair in self.pairs()
        ]
        return {"rows": rows}

    def broken_by(self, result: Result) -> Mapping[str, Any] | None:
        """The dearest pair, if it costs too much."""
        worst = _dearest(result["rows"])
        return worst if worst["exact"] / worst["claimed"] > 1.0 + ROUNDING else None

    def conclude(self, results: Sequence[Result], level: Level) -> Evidence:
        """The dearest pair decides."""
        rows = results[0]["rows"]
        worst = _dearest(rows)
        ratio = worst["exact"] / worst["claimed"]
        text = f"{worst['pair']}: exact zCDP cost {worst['exact']:.6g}, claimed {worst['claimed']:.6g}"
        common = {"rows": rows, "evaluations": len(rows), "resolution": ROUNDING}
        if ratio > 1.0 + ROUNDING:
            how = ground_of(results[0])
            return Evidence(outcome="fails", how=how, summary=f"{text}.", counterexample=worst, **common)
        summary = f"Exact output laws of {len(rows)} pairs of neighbours; dearest {text}."
        return Evidence(outcome="holds", how="numeric", summary=summary, slack=1.0 / ratio, **common)


def _dearest(rows: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    return max(rows, key=lambda row: row["exact"] / row["claimed"])


@final
@dataclass(frozen=True, kw_only=True)
class Audit(Check):
    """Samples of a mechanism under two neighbouring inputs do not refute the claimed epsilon at delta.

    `experiments` are the runs on the two inputs, `output` a scalar statistic, the event statistic > `threshold`.
    `sharpness` is the share of the claimed epsilon that the audit must be able to refute: below it the audit has no
    power and stays unclear.
    """

    experiments: tuple[Experiment, Experiment]
    output: str
    threshold: float
    claimed_epsilon: float
    delta: float
    trials: Mapping[Level, int] = field(default_factory=lambda: {"quick": 20_000, "full": 400_000})
    sharpness: float = 0.5

    def tasks(self, level: Level) -> Sequence[Task]:
        """Blocks for both inputs."""
        return [{"input": side, "block": block} for side in (0, 1) for block in range(self._blocks(side, level))]

    def more(self, results: Sequence[Result], level: Level) -> Sequence[Task]:
        """Twice the trials under both inputs while the audit has too little power."""
        if self._outcome(_bound(results, self.delta)) != "unclear":
            return ()
        done = [sum(result["input"] == side for result in results) for side in (0, 1)]
        return [task for side in (0, 1) for task in doubled({"input": side}, done[side], self._blocks(side, level))]

    def false_alarms(self, level: Level) -> float:
        """Of the one lower bound."""
        return COMPARISON_ALPHA

    def run(self, task: Task, seed: Seed) -> Result:
        """How many trials of the block fell into the event."""
        statistic = self.experiments[task["input"]].run_block(task["block"], seed=seed.user)[self.output]
        return {"input": task["input"], "hits": int(np.sum(statistic > self.threshold)), "trials": len(statistic)}

    def conclude(self, results: Sequence[Result], level: Level) -> Evidence:
        """Fails if the lower bound on epsilon exceeds the claim."""
        (hits, trials), bound = _counts(results), _bound(results, self.delta)
        claimed = f"claimed {self.claimed_epsilon:.4g} at delta = {self.delta:g}"
        text = f"Audit over {sum(trials)} runs: epsilon >= {bound:.4g}, {claimed}."
        row = {
            "hits": hits,
            "trials": trials,
            "threshold": self.threshold,
            "epsilon_lower_bound": bound,
            "claimed": self.claimed_epsilon,
            "delta": self.delta,
        }
        outcome = self._outcome(bound)
        needed = f"more runs: the audit must be able to refute {self.sharpness:.0%} of the claimed epsilon"
        return Evidence(
            outcome=outcome,
            how="statistical",
            summary=text,
            counterexample=row if outcome == "fails" else None,
            needed=needed if outcome == "unclear" else "",
            alpha=self.false_alarms(level),
            trials=sum(trials),
            rows=[row],
            slack=self.claimed_epsilon / bound if bound > 0 else None,
        )

    def _outcome(self, bound: float) -> Outcome:
        if bound > self.claimed_epsilon:
            return "fails"
        return "unclear" if bound < self.sharpness * self.claimed_epsilon else "holds"

    def _blocks(self, side: int, level: Level) -> int:
        return math.ceil(by_level(self.trials, level) / self.experiments[side].block_trials)


def _counts(results: Sequence[Result]) -> tuple[tuple[int, int], tuple[int, int]]:
    """Hits and trials under both inputs."""
    hits, trials = (
        tuple(sum(r[key] for r in results if r["input"] == side) for side in (0, 1)) for key in ("hits", "trials")
    )
    return (hits[0], hits[1]), (trials[0], trials[1])


def _bound(results: Sequence[Result], delta: float) -> float:
    return epsilon_lower_bound(*_counts(results), delta)
