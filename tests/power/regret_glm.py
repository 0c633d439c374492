"""Settings of `solve glm`: link, p, spectrum, size of w*, n, m and epsilon; every row is simulated, and doing nothing.

The least squares rows are tried at their default radius and, with labels centred, at that of least predicted error. Of
counts the cut is tuned too: least squares on a grid of radii and cuts around the predicted best, messages at every cut.
A row's error is its median over runs, as means of the least squares rows are infinite; of messages that may be the best
as many runs are taken as it needs. From MANY public records a coordinate on, what they do to messages is in law, a
tenth of the error of a run and a percent of the mean away from records (`simulators.glm.cells`).
"""

from __future__ import annotations

import math
from dataclasses import fields, replace
from itertools import product
from typing import Any

import numpy as np

from dpbounds.glm import recommend
from dpbounds.glm.surveys import CUTS
from simulators.glm import GaussianInLaw, message_experiments, recommendation_experiments, reference_experiments
from simulators.glm.recommended import BLOCK_TRIALS

# Runs of every row; more of messages within NEAR of the best, until the standard error of the median is at most
# ERRORS[0] of it; of what is recommended, ERRORS[1].
RUNS, MESSAGE_RUNS, NEAR, ERRORS, MOST = 20, 100, 1.4, (0.08, 0.03), 3000
# Factors of the radius and of the cut of counts.
RADII, CUT_FACTORS = (0.7, 1.0, 1.4), (0.5, 1.0, 2.0)
MANY = 200


class ManyPublic(GaussianInLaw):
    """In law from fewer public records on."""

    @property
    def public_in_law(self) -> bool:
        return self.m >= MANY * self.p


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


def kinds(number: int) -> list[str]:
    """Which of these a setting is."""
    law = drawn(number)
    p = len(law["spectrum"])
    truths = {
        law["link"]: True,
        "epsilon below 1": law["epsilon"] < 1.0,
        "epsilon above 4": law["epsilon"] > 4.0,
        "n below 20 000": law["n"] < 20_000,
        "n above 100 000": law["n"] > 100_000,
        "m below 100 p": law["m"] < 100 * p,
        "p = 1": p == 1,
        "p above 4": p > 4,
        "w above 1.5": law["w_norm"] > 1.5,
    }
    return [kind for kind, truth in truths.items() if truth]


def judge(number: int) -> dict[str, Any]:
    """Regret of the recommended row, and its predicted over its simulated median."""
    found = recommend(**drawn(number))
    errors, messages = {"zero": 1.0}, {name: _many(one) for name, one in message_experiments(found).items()}
    if len(drawn(number)["spectrum"]) == 1 and messages:  # one law
        del messages["hemisphere-message"]
    counts = found.problem.link.labels == "count"
    if counts and messages:
        messages |= {
            f"cap-message, B = {cut}": replace(best, settings=replace(best.settings, label_bound=float(cut)))
            for best in (messages["cap-message"],)
            for cut in CUTS
            if cut != best.settings.label_bound
        }
    for name, one in messages.items():
        errors[name] = float(np.median(_errors(one, MESSAGE_RUNS)))
    for (calibration, name), one in recommendation_experiments(found).items():
        if calibration == "tight":
            errors[name] = float(np.median(_errors(one, RUNS)))
    for name, one in reference_experiments(found).items():  # every record is drawn: fewer runs
        tried = _around(one) if counts else [one]
        errors[name] = min(errors[name], *(float(np.median(_errors(other, BLOCK_TRIALS))) for other in tried))
    least = min(errors.values())
    for name, one in messages.items():
        if name == found.recommended or errors[name] <= NEAR * least:
            errors[name] = _until(one, ERRORS[name == found.recommended])
    if "cap-message" in errors:
        errors.setdefault("hemisphere-message", errors["cap-message"])
    taken = {row.name: row for row in found.messages}.get(found.recommended)  # type: ignore[arg-type]
    own = errors[found.recommended]
    return {
        "recommended": found.recommended,
        "best": min(errors, key=errors.__getitem__),
        "regret": own / min(errors.values()),
        "reliable": taken is not None and not found.doubt,
        "ratio": float(taken.median) / own if taken is not None else 1.0,
        "useful": found.useful,
        "errors": {name: error if math.isfinite(error) else None for name, error in errors.items()},
    }


def _many(one: Any) -> Any:
    same = {field.name: getattr(one.problem, field.name) for field in fields(one.problem)}
    return replace(one, problem=ManyPublic(**same))


def _around(one: Any) -> list[Any]:
    """The same at other radii and cuts of counts, its noise in proportion: at the same privacy."""
    settings, found = one.settings, []
    for radius, factor in product(RADII, CUT_FACTORS):
        bound = max(round(2 * factor * settings.label_bound), 1) / 2
        scales = {
            "gram_scale": radius**2 * settings.gram_scale,
            "cross_scale": radius * bound / settings.label_bound * settings.cross_scale,
        }
        bounds = {"radius": radius * settings.radius, "label_bound": bound, "label_center": bound}
        found.append(replace(one, settings=replace(settings, **bounds, **scales)))
    return found


def _errors(experiment: Any, runs: int, first: int = 0) -> np.ndarray:
    blocks = range(first // experiment.block_trials, (first + runs) // experiment.block_trials)
    return np.concatenate([experiment.run_block(block, seed=0)["relative_l2"] for block in blocks])


def _until(experiment: Any, error: float) -> float:
    """The median of as many runs as it needs, by order statistics."""
    errors = np.zeros(0)
    while len(errors) < MOST:
        errors = np.sort(np.append(errors, _errors(experiment, 100, len(errors))))
        middle, step = len(errors) // 2, round(len(errors) ** 0.5 / 2)
        if errors[middle + step] - errors[middle - step] <= 2 * error * errors[middle] and len(errors) >= 200:
            break
    return float(np.median(errors))
