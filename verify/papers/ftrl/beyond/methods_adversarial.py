"""Beyond the paper: the worst loss that a search finds for a method, between the worst quadratic and the bound."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from dpbounds.ftrl import correlations
from dpbounds.ftrl.methods import (
    LinearMethod,
    bound_method,
    gradient_descent,
    heavy_ball,
    nesterov,
    standard_triple_momentum,
)
from dpbounds.ftrl.strongly_convex import Noise
from simulators.ftrl import adversarial_method_lower
from verify.checks import Agreement, Fact, Holds, Within
from verify.checks.statistics import TAIL_FACTOR
from verify.papers.ftrl.tools.stationary_densities import descent_error
from verify.statements.claims import Claim

MU, L = 0.1, 1.0
# Rate of false alarms of one search's interval.
ALPHA = 1e-11
MOMENTUM = (np.sqrt(L / MU) - 1) / (np.sqrt(L / MU) + 1)
STEP = 0.5
DESCENT = gradient_descent(eta=STEP)
AVERAGE = gradient_descent(eta=1.0).averaged(decay=0.9)
# A method, the noise's weights, and how many times the worst quadratic the worst loss is at least. At 1 and below the
# worst loss found is a quadratic, up to the interval.
Row = tuple[str, LinearMethod, tuple[float, ...], float]
QUICK: Sequence[Row] = (
    ("gradient descent", DESCENT, (1.0,), 1.1),
    ("heavy ball", heavy_ball(eta=0.1, momentum=0.9), (1.0,), 1.2),
    ("Nesterov", nesterov(eta=1.0, momentum=MOMENTUM), (1.0,), 1.2),
    ("average", AVERAGE, (1.0, -0.9), 4.0),
)
FULL: Sequence[Row] = (
    ("heavy ball", heavy_ball(eta=0.1, momentum=0.9), (1.0, -0.9), 0.9),
    ("Nesterov", nesterov(eta=1.0, momentum=MOMENTUM), (1.0, -0.9), 0.9),
    ("Nesterov at y", nesterov(eta=1.0, momentum=MOMENTUM).output("y"), (1.0,), 0.9),
    ("triple momentum", standard_triple_momentum(MU, L), (1.0,), 0.85),
    ("triple momentum", standard_triple_momentum(MU, L), (1.0, -0.9), 0.85),
    ("average", AVERAGE, (1.0,), 1.2),
)
SMALL: dict[str, Any] = {"population": 16, "generations": 2, "search_trials": 16, "trials": 1500}
LARGE: dict[str, Any] = {"population": 48, "generations": 8, "search_trials": 32, "trials": 4000}


def _between(
    rng: np.random.Generator,
    rows: Sequence[Row],
    budget: dict[str, Any],
    share: float = 1.0,
    gain: float = 1.0,
    upper: str = "value",
    spread: float = 1.0,
) -> Iterator[Fact | Within | Holds]:
    """The low end of the interval for the loss found, over the worst quadratic and over the certified bound; for
    gradient descent both ends beside the stationary error of that loss without simulation.
    """
    for name, method, weights, least in rows:
        correlation = correlations.from_coefficients(list(weights))
        noise = Noise(correlation=correlation, rho=float(correlation.limiting_sensitivity()) ** 2 / 2)
        bound = bound_method(noise, method, mu=MU, L=L)
        seed = int(rng.integers(2**31))
        found = adversarial_method_lower(noise, method, mu=MU, L=L, seed=seed, **budget)
        low, high = found.interval(ALPHA / TAIL_FACTOR)
        label = f"{name}, weights {weights}"
        yield Holds(f"{label}: the bound is certified", bound.is_certified)
        yield Within(f"{label}: over the worst quadratic, from below", low / float(bound.lower), gain * least)
        numbers = {f"share_{name.replace(' ', '_')}_{len(weights)}": 100 * float(found.value) / float(bound.value)}
        over = low / (share * float(getattr(bound, upper)))
        yield Within(f"{label}: over the certified bound, from below", over, most=1.0, numbers=numbers)
        yield Within(f"{label}: least curvature of the loss", found.loss.mu, MU * (1 - 1e-9))
        yield Within(f"{label}: its largest curvature", found.loss.L, most=L * (1 + 1e-9))
        if method is DESCENT:
            stationary = descent_error(found.loss, STEP, spread)
            coarse = descent_error(found.loss, STEP, spread, nodes=10)
            yield Fact(f"{label}: stationary error, by fewer nodes", stationary, coarse, 1e-9)
            yield Within(f"{label}: low end over it", low / stationary, most=1.0)
            yield Within(f"{label}: high end over it", high / stationary, 1.0)
            yield Within(f"{label}: it over the certified bound", stationary / float(bound.value), most=1.0)


ADVERSARIAL = Claim(
    id="ftrl/beyond-methods-adversarial",
    where="beyond the paper: worst losses that a search finds",
    kind="inequality",
    statement=(
        "No loss found by a search has a mean of $F - F^*$ above the bound of `bound_method`.",
        "With white noise for gradient descent, heavy ball and Nesterov's method, and with weights $1, -0.9$ for an "
        "average, a loss is found that has more than every quadratic.",
        "For gradient descent with white noise the runs on the loss found have its stationary mean of $F - F^*$, "
        "computed from the transition density, which is below the bound.",
    ),
    hypotheses=r"$F$ $mu$-strongly convex and $L$-smooth, draws independent of the past, no clipping.",
    setting=(
        r"$kappa = 10$, on the line; gradient descent with $eta = 0.5\/L$, heavy ball with $eta = 0.1\/L$ and momentum "
        r"$0.9$, Nesterov's method and an average of gradient descent with $eta = 1\/L$, triple momentum."
    ),
    remark=(
        r"Of the certified bound a small search reaches ${share_gradient_descent_1:2}$ % for gradient descent, "
        r"${share_heavy_ball_1:2}$ % for heavy ball and ${share_Nesterov_1:2}$ % for Nesterov's method under white "
        r"noise, and ${share_average_2:2}$ % for the average under weights $1, -0.9$, many times what any "
        "quadratic has."
    ),
    checks=(
        Agreement(
            decides="abc",
            facts=partial(_between, rows=QUICK, budget=SMALL),
            alpha=len(QUICK) * ALPHA,
            impostors={
                "bounds 15 % smaller": {"facts": {"share": 0.85}},
                "twice as far above quadratics": {"facts": {"gain": 2.0}},
                "the worst quadratic as a bound": {"facts": {"upper": "lower"}},
                "a density of 5 % more noise": {"facts": {"spread": 1.05}},
            },
        ),
        Agreement(
            decides="a",
            level="full",
            facts=partial(_between, rows=FULL, budget=LARGE),
            alpha=len(FULL) * ALPHA,
            impostors={"bounds 15 % smaller": {"facts": {"share": 0.85}}},
        ),
    ),
)
