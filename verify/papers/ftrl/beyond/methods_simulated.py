"""Beyond the paper: momentum, Nesterov, triple momentum and averages, simulated below their bounds."""

from __future__ import annotations

import itertools
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
from dpbounds.ftrl.methods.linear import MethodName, named_method
from dpbounds.ftrl.methods.loops import Measure
from dpbounds.ftrl.strongly_convex import Noise
from simulators.engine import Experiment
from simulators.ftrl import MethodOnLoss, Quadratic, first_order, kinked_quadratic, method_settings, piecewise_quadratic
from simulators.ftrl.losses import Loss
from verify.checks import BoundedMean, Case, Level, Means, MonteCarlo
from verify.checks.pictures import Series
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
# The picture's step, how long its averages are, its condition numbers by level, and half the width of each method's
# stiff valley, in swings on the worst quadratic.
ETA, AVERAGED = 0.2, 24.0
KAPPAS: dict[Level, tuple[float, ...]] = {"quick": (4.0, 16.0), "full": (64.0,)}
WIDTHS: dict[MethodName, float] = {"gd": 0.6, "heavy-ball": 0.6, "nesterov": 0.45, "triple": 1.5}


def valley(width: float, mu: float = MU) -> Loss:
    """A stiff valley of this half width in a flat bowl; quadratics are exact, and judged by `LOWER`."""
    return piecewise_quadratic([-width, width], [mu, L, mu])


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


@cache
def _curve(name: MethodName, kappa: float) -> MethodBound:
    """White noise, every method at the same step."""
    mu = 1.0 / kappa
    return bound_method(_noise((1.0,)), named_method(name, eta=ETA, mu=mu), mu=mu, L=L)


def _points() -> list[Case]:
    """Stiff valleys over the condition number."""
    found = []
    for level, kappas in KAPPAS.items():
        for name, kappa in itertools.product(WIDTHS, kappas):
            bound = _curve(name, kappa)
            problem = MethodOnLoss(
                loss=valley(WIDTHS[name] * float(np.sqrt(bound.lower)), bound.mu), method=bound.method
            )
            case = Case(
                label=f"{bound.method.name}, kappa = {kappa:g}",
                experiment=Experiment(
                    algorithm=first_order,
                    problem=problem,
                    settings=method_settings(problem, bound.noise.correlation, bound.noise.rho, averaged=AVERAGED),
                    block_trials=512,
                ),
                output="mean_f",
                predicted=lambda bound=bound: float(bound.value),
                relative_std=1.0,
                x=kappa,
                group=bound.method.name,
                level=level,
            )
            found.append(case)
    return found


def _lines() -> list[Series]:
    """Both ends, over all condition numbers of the picture."""
    kappas = [kappa for values in KAPPAS.values() for kappa in values]
    found = []
    for name in WIDTHS:
        bounds = [_curve(name, kappa) for kappa in kappas]
        curve = bounds[0].method.name
        found.append(Series(curve=curve, role="upper", x=kappas, y=[float(bound.value) for bound in bounds]))
        found.append(Series(curve=curve, role="lower", x=kappas, y=[float(bound.lower) for bound in bounds]))
    return found


def _coloured() -> list[Case]:
    """Under weights 1, -0.9: a valley as wide as the method swings, and a kink for the other two measures."""
    found, weights = [], (1.0, -0.9)
    for name in ("heavy ball", "average"):
        swing = float(np.sqrt(float(_bound(name, weights, "f", 0.0).lower)))
        found.append(_case(name, weights, "valley", valley(0.6 * swing), "f", 0.0))
    for name, measure in itertools.product(("Nesterov", "average"), ("distance", "gradient")):
        found.append(_case(name, weights, "kink", kinked_quadratic(mu=MU, L=L), measure, SIGMA))
    return found


SIMULATED = Claim(
    id="ftrl/beyond-methods-simulated",
    where=f"{OURS}: methods below their bounds",
    kind="mc-equality",
    statement=(
        (
            "The mean of $F - F^*$ of gradient descent, heavy ball, Nesterov's method and triple momentum under white "
            "noise is at most what `bound_method` states;"
        ),
        r"so are, under weights $1, -0.9$, that of heavy ball and of an average of gradient descent, and $abs(x - "
        r"theta^*)^2$ and $abs(nabla F)^2$ of Nesterov's method and of the average.",
    ),
    hypotheses=r"$F$ $mu$-strongly convex and $L$-smooth, draws independent of the past, no clipping.",
    setting=(
        r"On the line, stiff valleys and a kink. White noise: $eta = 0.2\/L$, the usual momentum for $mu$, $4 <= kappa "
        r"<= 64$; weights: $kappa = 10$."
    ),
    checks=(
        BoundedMean(
            decides="a",
            means=Means(
                cases=_points,
                trials={"quick": 512, "full": 2048},
                axes=("condition number $kappa$", r"$F - F^*$, white noise, $eta = 0.2\/L$"),
                lines=_lines,
            ),
            impostors={"bounds 15 % smaller": {"scale": 0.85}},
        ),
        BoundedMean(
            decides="b",
            means=Means(cases=_coloured, trials={"full": 2048}),
            level="full",
            impostors={"bounds of a third": {"scale": 0.33}},
        ),
    ),
)


def _exact() -> list[Case]:
    """On the worst quadratic the mean is the lower end, which is exact."""
    found = []
    for name in ("heavy ball", "triple momentum", "average"):
        bound = _bound(name, (1.0, -0.9), "f", SIGMA)
        case = _case(name, (1.0, -0.9), "worst", Quadratic(eigenvalues=(bound.curvature,)), "f", SIGMA)
        found.append(replace(case, predicted=lambda bound=bound: float(bound.lower)))
    return found


LOWER = Claim(
    id="ftrl/beyond-methods-lower",
    where=f"{OURS}: lower bounds of methods",
    kind="mc-equality",
    statement=r"On $F = h theta^2 \/ 2$, $h$ its `curvature`, the mean of $F - F^*$ is the `lower` of `bound_method`.",
    hypotheses="As above.",
    checks=(MonteCarlo(means=Means(cases=_exact), level="full", impostors={"5 % off": {"scale": 1.05}}),),
)
