"""Settings of gradient descent that are best on given records: an upper reference, for it reads the data unpaid.

>>> rng = np.random.default_rng(0)
>>> X = rng.uniform(-0.5, 0.5, (2000, 2))
>>> found = tuned_descent(X, X @ (0.5, -0.2) + 0.05 * rng.standard_normal(2000), mu=0.3)
>>> found.steps, found.average, round(found.clip, 3)
(128, 0.5, 0.028)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dpbounds.arguments import typed
from dpbounds.errors import moderate
from dpbounds.ols.clipping.closure import Normal, gradient_sums, residuals_at
from dpbounds.ols.clipping.descent import Descent
from dpbounds.ols.clipping.law import Law, quadratic
from dpbounds.ols.clipping.moments import chosen_from_moments
from dpbounds.ols.clipping.rows import Rows, rows_of

# All gradients of a step are used in all rounds: more steps cost no privacy, only time.
STEPS, HALF = 128, 64
# Rows that the search looks at: on a wide grid, and step by step from its best point.
FEW, MORE = 300, 1000
RATES = (0.05, 0.2, 0.6, 1.2, 1.8)
FACTORS = tuple(2.0**power for power in range(-3, 4))
STEP = 2.0**0.5
MOVES = tuple((i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0))
MOST_RATE, MOST_MOVES = 1.9, 40


class Tuned(NamedTuple):
    """Settings, and their law on all records."""

    steps: int
    rate: float
    clip: float
    average: float
    law: Law


@typed
def tuned_descent(X: ArrayLike, y: ArrayLike, *, mu: float) -> Tuned:
    """128 steps, the mean of the last half or the last iterate, rate and clip level by a search that ends where no
    neighbour (half octaves apart, rates below 1.9) has a smaller risk by its law on a thousand rows.

    X (n, d), y (n,). The law counts the noise of the gradients, not that the settings were read off the data. Settings
    at which the iterates run away are not taken.
    """
    whole = rows_of(X, y)
    return tuned(whole, whole, moderate("mu", mu))


@typed
def tuned(whole: Rows, last: Rows, mu: float) -> Tuned:
    """The same on given rows, the law of the settings on `last`."""
    start = chosen_from_moments(whole.gram, mu).clip
    grid = np.array([(rate, start * factor) for rate in RATES for factor in FACTORS])
    found = _relative(whole.thinned(FEW), mu, grid)
    rate, clip = grid[int(np.argmin(found.min(axis=0)))]
    rate, clip, average = _descended(whole.thinned(MORE), mu, float(rate), float(clip))
    law = Descent(steps=STEPS, rate=rate, clip=clip, average=average).law(last, mu)
    return Tuned(STEPS, rate, clip, average, law)


def _descended(rows: Rows, mu: float, rate: float, clip: float) -> tuple[float, float, float]:
    """To where no neighbour is better: rate, clip level and averaging."""
    best = _relative(rows, mu, np.array([(rate, clip)]))[:, 0]
    for _ in range(MOST_MOVES):
        around = np.array([(min(rate * STEP**i, MOST_RATE), clip * STEP**j) for i, j in MOVES])
        found = _relative(rows, mu, around)
        least = int(np.argmin(found.min(axis=0)))
        if found[:, least].min() >= best.min():
            break
        best, (rate, clip) = found[:, least], map(float, around[least])
    return rate, clip, 0.0 if best[0] < best[1] else 0.5


def _relative(rows: Rows, mu: float, settings: np.ndarray) -> np.ndarray:
    """Relative risks (2, settings) of the last iterate and of the mean of the last half, at rates and clip levels
    (settings, 2); inf where they leave floating point.
    """
    eta, clip = settings[:, 0] / rows.largest, settings[:, 1]
    one, law = np.eye(rows.d), Normal((len(settings),), rows.d)
    noise = (eta * clip * np.sqrt(STEPS) / mu)[:, None, None] ** 2 * one
    for t in range(STEPS):
        found = gradient_sums(rows, residuals_at(rows, law), clip)
        steps = eta[:, None, None]
        law.move(law.mean + eta[:, None] * found.mean, one - steps * found.slope, noise, found.pushed(steps * one))
        if t >= HALF:
            law.add()
    risks = [np.add(*quadratic(rows.gram.spectrum, *part)) for part in (law.theta, law.averaged)]
    return np.where(np.isfinite(risks), risks, np.inf) / rows.gap
