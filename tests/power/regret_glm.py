"""Settings of `solve glm`: link, p, spectrum, size of w*, n, m and epsilon; every row is simulated, and doing nothing.

Rows have no constant that is left to tune but the radius of the least squares ones, which is tried at its default and
at a half and a quarter of it. A row's error is its median over runs, as means of the least squares rows are infinite.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpbounds.glm import recommend
from simulators.glm import message_experiments, recommendation_experiments

RUNS, MESSAGE_RUNS = 40, 300
SHARES = (1.0, 0.5, 0.25)


def drawn(number: int) -> dict[str, Any]:
    """Arguments of `dpbounds.glm.recommend`, the same for the same number."""
    rng = np.random.default_rng([23, number])
    p = int(rng.integers(1, 9))
    n = round(10.0 ** rng.uniform(3.7, 5.5))
    return {
        "link": str(rng.choice(("logistic", "boosting", "poisson", "sigmoid"))),
        "n": n,
        "m": round(10.0 ** rng.uniform(math.log10(20 * p), 4.3)),
        "epsilon": float(10.0 ** rng.uniform(-0.3, 1.0)),
        "delta": 1e-6,
        "spectrum": np.geomspace(1.0, 10.0 ** rng.uniform(-1.0, 0.0), p),
        "w_norm": float(10.0 ** rng.uniform(-0.5, 0.4)),
    }


def judge(number: int) -> dict[str, Any]:
    """Regret of the recommended row, and its predicted over its simulated median."""
    found = recommend(**drawn(number))
    errors = {"zero": 1.0}
    for name, one in message_experiments(found).items():
        errors[name] = _median(one, MESSAGE_RUNS)
    if len(drawn(number)["spectrum"]) == 1:  # one law
        errors["hemisphere-message"] = errors["cap-message"]
    for share in SHARES:
        # Runs with a chosen radius draw every record: fewer of them.
        asked: dict[str, Any] = drawn(number) | ({} if share == 1.0 else {"radius": share * found.problem.bounds[0]})
        other = found if share == 1.0 else recommend(**asked, estimators=("public-covariance",))
        for (calibration, name), one in recommendation_experiments(other).items():
            if calibration == "tight":
                error = _median(one, RUNS if share == 1.0 else 10)
                errors[name] = min(errors.get(name, math.inf), error)
    taken = {row.name: row for row in found.messages}.get(found.recommended)  # type: ignore[arg-type]
    own = errors[found.recommended]
    return {
        "recommended": found.recommended,
        "best": min(errors, key=errors.__getitem__),
        "regret": own / min(errors.values()),
        "reliable": taken is not None and taken.reliable,
        "ratio": float(taken.median) / own if taken is not None else 1.0,
        "useful": found.useful,
        "errors": {name: error if math.isfinite(error) else None for name, error in errors.items()},
    }


def _median(experiment: Any, runs: int) -> float:
    arrays = experiment.run(-(-runs // experiment.block_trials), seed=0, outputs=("relative_l2",))
    return float(np.median(arrays["relative_l2"]))
