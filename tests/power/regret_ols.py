"""Settings of `solve ols`: n, d, budget, spectrum, signal, tails and how far the public bounds lie outside the records.

Two calls are judged. With `stand_in` the rule sees n records and public bounds, and every row is simulated on n others
of the same law: `regret` is over the best row, IHM's rounds and clip being the best in hindsight; `ratio_others` is
over the median of runs on many other data sets, simulated where the forecast is called reliable, and `inside` the share
of the runs on the private records that its interval has (it promises eight in ten of all data sets). Without, the rule
sees the private records: `regret_given` is over the best row that reads no records unpaid, `ratio` over the median of
runs on them. Rows that may be the best, and those recommended, are run on until their medians are known well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from dpbounds.ols import (
    Choices,
    Compared,
    Comparison,
    HessianMixingScales,
    ScaledData,
    bounded_data,
    compare,
    hessian_mixing_scales,
)
from dpbounds.ols.bounds import sketch_size
from dpbounds.ols.methods import REFERENCES
from simulators.ols import LeastSquares, experiment_of

# Runs of every row; more of those within NEAR of the best, until the standard error of the median is at most ERRORS[0]
# of it; of those recommended, ERRORS[1].
RUNS, NEAR, ERRORS, MOST = 40, 1.4, (0.08, 0.03), 2000
# Other data sets for a forecast that is called reliable, and runs on each.
SETS, RUNS_EACH = 100, 4
DELTA = 1e-6
# Rounds and clips of IHM beside the default 3 and 1.
VARIANTS = ((1, 0.5), (3, 0.3), (5, 0.3), (8, 0.15))


def drawn(number: int) -> dict[str, Any]:
    """A law of records, the same for the same number."""
    rng = np.random.default_rng([24, number])
    n = round(10.0 ** rng.uniform(2.5, 4.0))
    d = int(rng.integers(1, min(20, n // 20) + 1))
    spread = np.sqrt(np.geomspace(1.0, 10.0 ** -rng.uniform(0.0, 3.0), d))
    turn = np.linalg.qr(rng.standard_normal((d, d)))[0] if rng.random() < 0.5 else np.eye(d)
    slopes = rng.standard_normal(d) / spread ** rng.uniform(0.0, 1.0)
    return {
        "n": n,
        "epsilon": float(10.0 ** rng.uniform(-0.7, 0.7)),
        "rows": str(rng.choice(("normal", "t", "uniform", "signs"))),
        "errors": str(rng.choice(("normal", "t", "skewed"))),
        "explained": float(rng.uniform(0.1, 0.97)),
        "slack": 10.0 ** rng.uniform(0.0, 0.5, 2),
        "mix": spread[:, None] * turn,
        "slopes": turn.T @ slopes / np.linalg.norm(spread * slopes),
    }


def records(law: dict[str, Any], seed: int, number: int) -> tuple[np.ndarray, np.ndarray]:
    """n records; outcomes have variance near 1."""
    rng = np.random.default_rng([25, number, seed])
    shape = (law["n"], len(law["slopes"]))
    base = {
        "normal": lambda: rng.standard_normal(shape),
        "t": lambda: rng.standard_t(4, shape) / np.sqrt(2.0),
        "uniform": lambda: rng.uniform(-np.sqrt(3.0), np.sqrt(3.0), shape),
        "signs": lambda: rng.choice((-1.0, 1.0), shape),
    }[law["rows"]]()
    noise = {
        "normal": lambda: rng.standard_normal(shape[0]),
        "t": lambda: rng.standard_t(3, shape[0]) / np.sqrt(3.0),
        "skewed": lambda: rng.exponential(1.0, shape[0]) - 1.0,
    }[law["errors"]]()
    X, share = base @ law["mix"], law["explained"]
    return X, np.sqrt(share) * (X @ law["slopes"]) + np.sqrt(1.0 - share) * noise


def public_bounds(number: int) -> np.ndarray:
    """On ||x|| and |y|: what 99 % of other records keep, times the slack."""
    law = drawn(number)
    X, y = records(law, 0, number)
    return np.array([np.quantile(np.linalg.norm(X, axis=1), 0.99), np.quantile(np.abs(y), 0.99)]) * law["slack"]


def kinds(number: int) -> list[str]:
    """Which of these a setting is."""
    law = drawn(number)
    scales = np.linalg.svd(law["mix"], compute_uv=False)
    truths = {
        f"rows {law['rows']}": True,
        f"errors {law['errors']}": True,
        "epsilon below 0.5": law["epsilon"] < 0.5,
        "epsilon above 2": law["epsilon"] > 2.0,
        "n below 1000": law["n"] < 1000,
        "n above 4000": law["n"] > 4000,
        "d = 1": len(scales) == 1,
        "d above 8": len(scales) > 8,
        "condition above 100": (scales[0] / scales[-1]) ** 2 > 100,
        "R^2 below 0.4": law["explained"] < 0.4,
        "bounds twice as wide": max(law["slack"]) > 2,
    }
    return [kind for kind, truth in truths.items() if truth]


def judge(number: int) -> dict[str, Any]:
    """Regret of the recommended rows, and predicted over simulated medians."""
    law, bounds = drawn(number), public_bounds(number)

    def bounded(seed: int) -> ScaledData:
        row_bound, outcome_bound = bounds
        X, y = records(law, seed, number)
        return bounded_data(X, y, row_bound=row_bound, outcome_bound=outcome_bound, beyond="clip")

    seen, other = bounded(1), bounded(2)
    private = least_squares(other)
    found = compare(seen, law["epsilon"], DELTA, accountings=("tight",), stand_in=True)
    given = compare(other, law["epsilon"], DELTA, accountings=("tight",))
    rows = {row.method: row for row in found.rows if row.scales is not None}
    candidates: dict[str, Compared] = dict(rows)
    for steps, clip in VARIANTS:
        scales = mixing(found, private.d, steps, clip)
        candidates[f"IHM, T = {steps}, C = {clip:g}"] = replace(rows["IHM"], scales=scales)
    runs = {name: simulated(row, found.choices, private, RUNS) for name, row in candidates.items()}
    taken, own = found.recommended, given.recommended
    least = min(1.0, *(float(np.median(risk)) for risk in runs.values()))
    for name, risk in runs.items():
        chosen = name in (taken.method, own.method)
        if chosen or np.median(risk) <= NEAR * least:
            runs[name] = until(candidates[name], found.choices, private, ERRORS[1] if chosen else ERRORS[0])
    medians = {"zero": 1.0} | {name: float(np.median(risk)) for name, risk in runs.items()}
    unread = min(median for name, median in medians.items() if name not in REFERENCES)
    reliable = taken.scales is not None and not found.doubt
    return {
        "n": law["n"],
        "d": private.d,
        "epsilon": law["epsilon"],
        "recommended": taken.method,
        "given": own.method,
        "best": min(medians, key=medians.__getitem__),
        "regret": medians[taken.method] / min(medians.values()),
        "regret_given": medians[own.method] / unread,
        "predicted": {method: float(row.risk) / found.regime.features.signal for method, row in rows.items()},
        "reliable": own.scales is not None and not given.doubt,
        "ratio": _share(own, given) / medians[own.method],
        "reliable_others": reliable,
        "ratio_others": float(taken.median or 0.0) / _elsewhere(taken, found, bounded) if reliable else None,
        "spread": found.spread,
        "inside": _inside(taken, runs[taken.method] * private.statistics.signal) if taken.interval else None,
        "useful": found.useful,
        "errors": medians,
    }


def least_squares(data: ScaledData) -> LeastSquares:
    """To be simulated."""
    return LeastSquares(regressors=data.regressors, outcome=data.outcome)


def simulated(row: Compared, choices: Choices, private: LeastSquares, runs: int, block: int = 0) -> np.ndarray:
    """Risks over that of theta = 0."""
    experiment = experiment_of(row, private, choices, block_trials=runs)
    return experiment.run_block(block, seed=0)["risk"] / private.statistics.signal


def until(row: Compared, choices: Choices, private: LeastSquares, error: float) -> np.ndarray:
    """As many runs as the median needs, by order statistics."""
    risks = np.zeros(0)
    while len(risks) < MOST:
        risks = np.append(risks, simulated(row, choices, private, 100, len(risks) // 100))
        low, median, high = np.quantile(risks, 0.5 + np.array([-0.5, 0.0, 0.5]) / np.sqrt(len(risks)))
        if len(risks) >= 200 and high - low <= 2 * error * median:
            break
    return risks


def _share(row: Compared, found: Comparison) -> float:
    """The predicted median over the risk of theta = 0."""
    return float(row.median or row.risk) / found.regime.features.signal


def _elsewhere(row: Compared, found: Comparison, bounded: Callable[[int], ScaledData]) -> float:
    """The median risk over runs on other data sets."""
    sets = (least_squares(bounded(seed)) for seed in range(2, SETS + 2))
    risks = [simulated(row, found.choices, one, RUNS_EACH) * one.statistics.signal for one in sets]
    return float(np.median(risks))


def _inside(row: Compared, risks: np.ndarray) -> float:
    """The share of runs within the interval."""
    low, high = row.interval or (0.0, 0.0)
    return float(np.mean((low <= risks) & (risks <= high)))


def mixing(found: Comparison, d: int, steps: int, clip: float) -> HessianMixingScales:
    """IHM with other rounds and another clip at the same budget."""
    size = int(sketch_size(d, found.failure, steps))
    return hessian_mixing_scales(found.epsilon, found.delta, k=size, steps=steps, failure=found.failure, clip=clip)
