"""What a survey by direction messages is predicted to do on a problem, beside the estimators by least squares.

>>> from dpbounds.glm.problem import build_problem
>>> problem = build_problem("logistic", n=10**6, m=10**5, epsilon=2.0, delta=1e-6, p=5)
>>> rows = message_rows(problem)
>>> [f"{row.name} {float(row.relative):.5f}" for row in rows]
['gaussian-message 0.00370', 'hemisphere-message 0.00050', 'cap-message 0.00034']
>>> all(row.reliable for row in rows)
True
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

from dpbounds.arguments import typed
from dpbounds.errors import choice
from dpbounds.glm import messages
from dpbounds.glm.messages import MessageError, MessageLaw, Noise
from dpbounds.glm.messages.forecasts import LARGEST_NORM
from dpbounds.glm.messages.noises import EPSILONS
from dpbounds.glm.prediction import LARGEST_ERROR, LARGEST_EXCESS
from dpbounds.glm.problem import MOST_RECORDS, Problem
from dpbounds.values import Value

MessageName = Literal["gaussian-message", "hemisphere-message", "cap-message"]
NAMES: dict[MessageName, Noise] = {f"{noise}-message": noise for noise in get_args(Noise)}  # type: ignore[misc]
# Public records for each coordinate, and the chance of no root, at which a prediction is still called reliable.
FEWEST_PUBLIC, LARGEST_NO_ROOT = 10, 1e-3
# Where counts may be clamped: the least predicted error decides.
CUTS = (1, 2, 3, 4, 6, 8, 12, 16)
# An estimate whose predicted error is above this share of that of w = 0 is not worth its trouble.
USEFUL = 0.5


@dataclass(frozen=True, kw_only=True, eq=False)
class MessagePrediction:
    """One kind of message on a problem; errors relative to ||w*||^2.

    - `scale`: standard deviation of the noise of each coordinate, or the length of what is sent on the sphere; `delta`:
      0 for pure privacy; `label_bound`: where counts are clamped, 1 plus the size of a regression's noise;
    - `terms`: to leading order by source; `relative`, `median`: mean and median that count the bend of the equation, by
      `excess`; `no_root`: the chance that there is no estimate; `reliable`: whether both small parameters are small.
    """

    name: MessageName
    scale: float
    delta: float
    label_bound: float
    terms: MessageError
    relative: Value
    median: Value
    excess: float
    no_root: float
    reliable: bool

    @property
    def rank(self) -> tuple[bool, float]:
        """Smaller is better: those first whose prediction is reliable, then by error."""
        return not self.reliable, float(self.relative)

    @property
    def typical(self) -> float:
        """What half of the runs stay below: of few records the mean is that of rare bad runs."""
        return float(self.median)


@dataclass(frozen=True, kw_only=True)
class WhatHelps:
    """The least n (m in proportion), and the least epsilon, at which the error of the best message (where there is none
    of the best estimator by least squares, of which n alone is looked at) is a quarter of that of w = 0 to leading
    order; None where none within the ranges of `Problem` is enough.
    """

    n: int | None
    epsilon: float | None


@typed
def message_rows(problem: Problem) -> tuple[MessagePrediction, ...]:
    """Every kind of message that the problem allows.

    None for labels without bounds, without public records, and where |Sigma^{1/2} w*| is above 10 or epsilon outside
    [1e-6, 50], for which nothing is computed.
    """
    settings = _settings(problem)
    if settings is None:
        return ()
    law = messages.message_law(problem.link, problem.w, problem.covariance, **settings)
    return tuple(_row(problem, name, settings, law) for name in NAMES)


@typed
def what_helps(problem: Problem) -> WhatHelps:
    """More users, or a larger budget, for an error of a quarter."""
    settings = _settings(problem)
    if settings is None:
        return WhatHelps(n=None, epsilon=None)
    target = 0.25 * problem.w_norm**2
    law = messages.message_law(problem.link, problem.w, problem.covariance, **settings)

    def total(n: float, epsilon: float) -> float:
        m = max(round(problem.m * n / problem.n), problem.p)
        return min(
            messages.error_of(law, n=round(n), m=m, epsilon=epsilon, noise=noise).total
            for noise in ("hemisphere", "cap")
        )

    n = _least(
        lambda n: total(n, problem.epsilon) <= target, problem.p + 1, MOST_RECORDS * min(1, problem.n / problem.m)
    )
    epsilon = _least(lambda epsilon: total(problem.n, epsilon) <= target, problem.epsilon, 50.0)
    return WhatHelps(n=None if n is None else math.ceil(n), epsilon=epsilon)


def _least(reached: Any, low: float, high: float) -> float | None:
    """The least number in [low, high] (to 1 %) at which a condition that stays true once it is."""
    if not reached(high):
        return None
    while high > 1.01 * low:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


def _settings(problem: Problem) -> dict[str, Any] | None:
    """`label_bound` of the messages, of least predicted error for counts; None where messages are not defined."""
    link, (low, high) = problem.link, (float(end) for end in EPSILONS[1:-1].split(","))
    bounded = link.labels != "real" or link.ends == (0.0, 1.0)
    if not (bounded and problem.m and low <= problem.epsilon <= high and math.sqrt(problem.q) <= LARGEST_NORM / 2):
        return None
    if link.labels != "count":
        return {"label_bound": 1.0 + problem.noise if link.labels == "real" else None}

    def total(cut: int) -> float:
        law = messages.message_law(link, problem.w, problem.covariance, label_bound=cut)
        return messages.error_of(law, n=problem.n, m=problem.m, epsilon=problem.epsilon, noise="cap").total

    return {"label_bound": min(CUTS, key=total)}


def _row(problem: Problem, name: MessageName, settings: dict[str, Any], law: MessageLaw) -> MessagePrediction:
    noise, unit = NAMES[choice("name", name, NAMES)], problem.w_norm**2  # type: ignore[index]
    delta = problem.delta if noise == "gaussian" else None
    found = messages.forecast(
        problem.link,
        problem.w,
        problem.covariance,
        n=problem.n,
        m=problem.m,
        epsilon=problem.epsilon,
        delta=delta,
        noise=noise,
        law=law,
        **settings,
    )
    if delta is not None:
        scale = messages.gaussian_scale(problem.epsilon, delta)
    else:
        scale = messages.sphere(noise, problem.p, problem.epsilon).scale
    relative = found.mean / unit
    terms = dataclasses.replace(
        found.terms,
        sampling=found.terms.sampling / unit,
        noise=found.terms.noise / unit,
        public=found.terms.public / unit,
        covariance=found.terms.covariance / unit,
    )
    small = found.excess <= LARGEST_EXCESS and relative <= LARGEST_ERROR and found.no_root <= LARGEST_NO_ROOT
    return MessagePrediction(
        name=name,
        scale=scale,
        delta=delta or 0.0,
        label_bound=messages.scored(problem.link, settings["label_bound"]).label_bound,
        terms=terms,
        relative=Value(relative, kind="estimate", source="dpbounds", convention="runs with a root"),
        median=Value(found.median / unit, kind="estimate", source="dpbounds"),
        excess=found.excess,
        no_root=found.no_root,
        reliable=small and problem.m >= FEWEST_PUBLIC * problem.p,
    )
