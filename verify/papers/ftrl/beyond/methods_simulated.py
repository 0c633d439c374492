"""Beyond the paper: momentum, Nesterov, triple momentum and averages, simulated below their bounds."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from dpbounds.ftrl import correlations
from dpbounds.ftrl.methods import (
    LinearMethod,
    MethodBound,
    bound_method,
    gradient_descent,
    heavy_ball,
    nesterov,
    standard_triple_momentum,
)
from dpbounds.ftrl.methods.loops import Measure
from dpbounds.ftrl.strongly_convex import Noise
from simulators.engine import Experiment
from simulators.ftrl import MethodOnLoss, Quadratic, first_order, kinked_quadratic, method_settings, piecewise_quadratic
from simulators.ftrl.losses import Loss
from verify.checks import BoundedMean, Case, Means, MonteCarlo
from verify.statements.claims import Claim

OURS = "beyond the paper"
MU, L, SIGMA = 0.1, 1.0, 0.5
MOMENTUM = (np.sqrt(L / MU) - 1) / (np.sqrt(L / MU) + 1)
METHODS: dict[str, LinearMethod] = {
    "gradient descent": gradient_descent(eta=0.1),
    "heavy ball": heavy_ball(eta=0.1, momentum=0.9),
    "Nesterov": nesterov(eta=1.0, momentum=MOMENTUM),
    "triple momentum": standard_triple_momentum(MU, L),
    "average": gradient_descent(eta=1.0).averaged(decay=0.9),
}
OUTPUTS: dict[Measure, str] = {"f": "mean_f", "distance": "mean_distance", "gradient": "mean_gradient"}


def losses(width: float) -> dict[str, Loss]:
    """A kink, and a stiff valley of this half width in a flat bowl; quadratics are exact, and judged by `LOWER`."""
    return {
        "kink": kinked_quadratic(mu=MU, L=L),
        "valley": piecewise_quadratic([-width, width], [MU, L, MU]),
    }


def _noise(weights: tuple[float, ...], sigma: float = 0.0) -> Noise:
    """Draws of variance 1, up to rounding of gamma."""
    correlation = correlations.from_coefficients(list(weights))
    return Noise(correlation=correlation, rho=float(correlation.limiting_sensitivity()) ** 2 / 2, sigma_sgd=sigma)


@cache
def _bound(name: str, weights: tuple[float, ...], measure: Measure, sigma: float) -> MethodBound:
    return bound_method(_noise(weights, sigma), METHODS[name], mu=MU, L=L, measure=measure)


def _case(name: str, weights: tuple[float, ...], label: str, loss: Loss, measure: Measure, sigma: float) -> Case:
    problem = MethodOnLoss(loss=loss, method=METHODS[name], sigma_sgd=sigma)
    noise = _noise(weights, sigma)
    return Case(
        label=f"{name}, weights {weights}, {label}, {measure}",
        experiment=Experiment(
            algorithm=first_order,
            problem=problem,
            settings=method_settings(problem, noise.correlation, rho=noise.rho),
            block_trials=256,
        ),
        output=OUTPUTS[measure],
        predicted=lambda: float(_bound(name, weights, measure, sigma).value),
        relative_std=1.0,
        group=name,
    )


def _bounded() -> list[Case]:
    """Valleys are as wide as the method swings."""
    found = []
    for name in METHODS:
        kink, weights = losses(1.0)["kink"], (1.0, -0.9)
        swing = float(np.sqrt(float(_bound(name, weights, "f", 0.0).lower)))
        found.append(_case(name, (1.0,), "kink", kink, "f", 0.0))
        found += [_case(name, weights, label, loss, "f", 0.0) for label, loss in losses(0.6 * swing).items()]
        found += [_case(name, (1.0, -0.9), "kink", kink, measure, SIGMA) for measure in ("distance", "gradient")]
    return found


SIMULATED = Claim(
    id="ftrl/beyond-methods-simulated",
    where=OURS,
    kind="mc-equality",
    statement=(
        r"The mean of $F - F^*$, $abs(x - theta^*)^2$ and $abs(nabla F)^2$ of gradient descent, heavy ball, Nesterov, "
        "triple momentum and an average of gradient descent is at most what `bound_method` states."
    ),
    hypotheses=r"$F$ $mu$-strongly convex and $L$-smooth, draws independent of the past, no clipping.",
    setting=r"$kappa = 10$, on the line, a kink and a stiff valley; white noise and weights $1, -0.9$.",
    checks=(
        BoundedMean(
            means=Means(cases=_bounded, trials={"full": 2048}),
            level="full",
            impostors={"bounds 10 % smaller": {"scale": 0.9}},
        ),
    ),
)


def _exact() -> list[Case]:
    """On the worst quadratic the mean is the lower end, which is exact."""
    found = []
    for name in METHODS:
        bound = _bound(name, (1.0, -0.9), "f", SIGMA)
        case = _case(name, (1.0, -0.9), "worst", Quadratic(eigenvalues=(bound.curvature,)), "f", SIGMA)
        found.append(replace(case, predicted=lambda bound=bound: float(bound.lower)))
    return found


LOWER = Claim(
    id="ftrl/beyond-methods-lower",
    where=OURS,
    kind="mc-equality",
    statement=r"On $F = h theta^2 \/ 2$, $h$ its `curvature`, the mean of $F - F^*$ is the `lower` of `bound_method`.",
    hypotheses="As above.",
    checks=(MonteCarlo(means=Means(cases=_exact), level="full", impostors={"5 % off": {"scale": 1.05}}),),
)
