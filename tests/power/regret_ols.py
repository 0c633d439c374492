"""Settings of `solve ols`: n, d, budget, spectrum, signal, tails and how far the public bounds lie outside the records.

The rule sees a stand-in of n records and public bounds; every row is simulated on n other records of the same law.
`regret` is over the best row, IHM's rounds and clip being the best in hindsight, DP-GD tuned on the stand-in that the
rule sees; `regret_unread` over the best row that reads no records unpaid. Risks are medians over runs, of which the
forecast is a mean.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dpbounds.ols import Compared, Comparison, HessianMixingScales, bounded_data, compare, hessian_mixing_scales
from dpbounds.ols.bounds import sketch_size
from dpbounds.ols.methods import REFERENCES
from simulators.ols import LeastSquares, experiment_of

RUNS, BLOCK = 40, 20
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


def judge(number: int) -> dict[str, Any]:
    """Regret of the recommended row, and its predicted over its simulated mean risk."""
    law = drawn(number)
    X, y = records(law, 0, number)
    # Public bounds: what 99 % of other records keep, times the slack.
    bounds = np.array([np.quantile(np.linalg.norm(X, axis=1), 0.99), np.quantile(np.abs(y), 0.99)]) * law["slack"]
    seen, other = (
        bounded_data(*records(law, seed, number), row_bound=bounds[0], outcome_bound=bounds[1], beyond="clip")
        for seed in (1, 2)
    )
    private = LeastSquares(regressors=other.regressors, outcome=other.outcome)
    found = compare(seen, law["epsilon"], DELTA, accountings=("tight",), stand_in=True)
    rows = {row.method: row for row in found.rows if row.scales is not None}
    runs = {method: simulated(row, found, private) for method, row in rows.items()}
    medians = {"zero": 1.0} | {method: float(np.median(risk)) for method, risk in runs.items()}
    for steps, clip in VARIANTS:
        one = replace(rows["IHM"], scales=mixing(found, private.d, steps, clip))
        medians[f"IHM, T = {steps}, C = {clip:g}"] = float(np.median(simulated(one, found, private)))
    taken = found.recommended
    private_rows = {name: risk for name, risk in medians.items() if name not in REFERENCES}
    own = medians[taken.method]
    mean = float(np.mean(runs[taken.method])) if taken.scales is not None else 1.0
    return {
        "n": law["n"],
        "d": private.d,
        "epsilon": law["epsilon"],
        "recommended": taken.method,
        "best": min(medians, key=medians.__getitem__),
        "regret": own / min(medians.values()),
        "regret_unread": own / min(private_rows.values()),
        "predicted": {method: float(row.risk) / found.regime.features.signal for method, row in rows.items()},
        "reliable": taken.reliable and taken.scales is not None,
        "ratio": float(taken.risk) / found.regime.features.signal / mean,
        "useful": found.useful,
        "errors": medians,
    }


def simulated(row: Compared, found: Comparison, private: LeastSquares) -> np.ndarray:
    """Risks over that of theta = 0."""
    runs = experiment_of(row, private, found.choices, block_trials=BLOCK).run(RUNS // BLOCK, seed=0, outputs=("risk",))
    return runs["risk"] / private.statistics.signal


def mixing(found: Comparison, d: int, steps: int, clip: float) -> HessianMixingScales:
    """IHM with other rounds and another clip at the same budget."""
    size = int(sketch_size(d, found.failure, steps))
    return hessian_mixing_scales(found.epsilon, found.delta, k=size, steps=steps, failure=found.failure, clip=clip)
