"""Section 3: the privacy term of (7), sqrt(p) (sqrt(q) + sqrt(tau))³ sqrt(T) / (n sqrt(min rho)), factor by factor.

On fixed data, without clipping: medians of runs against the leading order, slopes on the same grid, and the closed form
for isotropic data (A = I, eta = 1, H = h I) over many decades.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
import sympy

from dpbounds.iv import (
    LeadingOrder,
    Moments,
    TwoStageBudget,
    noise_expansion,
    noise_scales,
    predicted_error,
    whitened_moments,
)
from simulators.engine import Experiment
from simulators.iv import FixedMoments, Settings, two_stage_descent
from verify.checks import Agreement, Fact, Level, Power, Quantiles, Rate, Reading, Symbolic
from verify.papers.iv.tools.ideal import IdealSetup
from verify.papers.iv.tools.setups import TAU, Setup
from verify.statements.claims import Claim

Ratios = Iterator[tuple[str, float]]

# A clip norm that does not depend on the rest.
GAMMA = 50.0
RESOLUTION: Mapping[Level, float] = {"quick": 0.1, "full": 0.03}
LONG = (16.0, 32.0, 64.0, 128.0)

# --- runs ---


@dataclass(frozen=True, kw_only=True)
class _Point:
    """A run on one data set, p = q = 5, its moments taken as of n records, without clipping; gamma of (4) if None."""

    n: int = 100_000
    T: int = 40
    rho1: float = 5.0
    rho2: float = 5.0
    gamma: float | None = GAMMA

    def reading(self, group: str, x: float, trials: int) -> Reading:
        """The median of ||beta_T - beta_hat||."""
        moments, alpha = _moments(self.n)
        lambda1, lambda2 = IdealSetup(self.n, self.T, 5, 5, self.rho1, self.rho2, self.gamma).noise
        settings = Settings(steps=self.T, eta=1.0, alpha=alpha, lambda1=lambda1, lambda2=lambda2)
        return _reading(moments, settings, label=f"{group}, {x:g}", group=group, x=x, trials=trials)


@cache
def _moments(n: int) -> tuple[Moments, float]:
    """One data set of 2000 records, its moments as if of n records; alpha of Section 4."""
    setup = Setup(n=2000)
    data = setup.model.fixed(data_seed=0)
    moments = Moments.of(data.instruments, data.regressors, data.outcome)
    return replace(moments, n=n), setup.step_sizes[1]


@cache
def _expansion(moments: Moments, eta: float, alpha: float, steps: int) -> LeadingOrder:
    """One for every noise."""
    return noise_expansion(moments, eta, alpha, steps)


def _reading(moments: Moments, settings: Settings, *, trials: int, **named: Any) -> Reading:
    experiment = Experiment(
        algorithm=two_stage_descent, problem=FixedMoments(given=moments), settings=settings, block_trials=trials
    )

    def predicted() -> float:
        order = _expansion(moments, settings.eta, settings.alpha, settings.steps)
        lambda1, lambda2 = settings.noise_scales(moments.n)
        return float(predicted_error(order, moments.beta_hat, lambda1=lambda1, lambda2=lambda2).median)

    return Reading(
        experiment=experiment,
        output="error_hat",
        predicted=predicted,
        trials={"quick": trials, "full": 8 * trials},
        **named,
    )


def _axes(name: str) -> tuple[str, str]:
    return name, "median of $norm(beta^((T)) - hat(beta))$"


def _powers(groups: Sequence[str], printed: float, tolerance: float = 0.06) -> tuple[Power, ...]:
    return tuple(Power(group=group, printed=printed, tolerance=tolerance) for group in groups)


FIXED_DATA = "Fixed data (Section 4.1, $p = q = 5$), $rho_1 = rho_2 = 5$, no clipping, medians. "
DROPPED = (
    "With the clip norms of (4) up to the logarithm, $tau + log(n T)$ for $tau$, which the paper says it drops "
    "(footnote 4): "
)


def _slope(points: Sequence[_Point], x: Sequence[float]) -> float:
    """Of the leading order's median, in logarithms."""
    predicted = [point.reading("", point.n, 1).predicted for point in points]
    return _fitted(x, [value() for value in predicted if value is not None])


def _fitted(x: Sequence[float], y: Sequence[float]) -> float:
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def _union_slope(points: Sequence[_Point], x: Sequence[float]) -> float:
    """What (sqrt(q) + sqrt(tau + log(n T)))² of the clip norms (4) adds to a slope, q = 5."""
    return 2 * _fitted(x, [math.sqrt(5) + math.sqrt(TAU + math.log(point.n * point.T)) for point in points])


def _logarithmic(
    rng: np.random.Generator, points: Sequence[_Point], x: Sequence[float], stated: float, tolerance: float
) -> Iterator[Fact]:
    slope = _slope(points, x)
    yield Fact("slope with the clip norms of (4), to leading order", slope, stated, tolerance, {"slope": slope})


# --- in T ---


def _exact_growth(rng: np.random.Generator, power: float = 0.5) -> Iterator[Fact]:
    """Exact RMS for A = I, eta = 1, q = 3, p = 2, to all orders in the noise: at T and 4 T."""
    moments = Moments(A=np.eye(3), G=np.eye(3, 2), b=np.array([1.0, -0.5, 0.7]), n=10**5)
    errors = []
    for T in (50, 200, 800):
        lambda1, lambda2 = map(float, noise_scales(TwoStageBudget.equal(1.0, GAMMA), moments.n, T))
        found = whitened_moments(moments, alpha=0.5, lambda1=lambda1, lambda2=lambda2, steps=T)
        errors.append(math.sqrt(float(found.mean_squared_error(moments.beta_hat)[-1])))
    for T, near, far in zip((50, 200), errors, errors[1:], strict=False):
        yield Fact(f"RMS at T = {4 * T} over RMS at T = {T}", far / near, 4**power, 2e-3)


def _in_steps(decades: float, *, union: bool = True) -> Ratios:
    """RMS over sqrt(T), over the square that (4) brings or not; n so large that the bias stays behind."""
    n = 10**40
    setting = IdealSetup(n=n, T=100 * round(10**decades))
    factor = setting.union_factor if union else 1.0
    yield "growing T", setting.root_mean_square * n / math.sqrt(setting.T) / factor


HORIZONS = (40, 80, 160)
WITH_LOGARITHM = [_Point(T=T, gamma=None) for T in HORIZONS]
STEPS_SLOPE = 0.5 + _union_slope(WITH_LOGARITHM, HORIZONS)
IN_STEPS = partial(_logarithmic, points=WITH_LOGARITHM, x=HORIZONS, stated=STEPS_SLOPE, tolerance=1e-3)


def _over_steps() -> list[Reading]:
    fixed = [_Point(T=T).reading("fixed clip norms", T, 1600) for T in HORIZONS]
    return fixed + [point.reading("clip norms of (4)", point.T, 1600) for point in WITH_LOGARITHM]


THM_3_1_TERM2_T = Claim(
    id="iv/thm-3.1-term2-t",
    where="Theorem 3.1; Remark 3.5",
    page=6,
    equation="(7)",
    kind="mc-rate",
    statement="The privacy term grows as $sqrt(T)$.",
    setting=(
        FIXED_DATA + "$n$ and $rho_i$ fixed, $lambda_1$ small against the singular values of $hat(Theta)$; exact to "
        "leading order. Isotropic data over 32 decades."
    ),
    remark=DROPPED + "the slope from $T = {first}$ to ${last}$ is then ${slope:2}$. The bias $q lambda_1^2$ grows as "
    "$T$.",
    given={"first": HORIZONS[0], "last": HORIZONS[-1]},
    checks=(
        Agreement(facts=IN_STEPS, impostors={"no logarithm": {"facts": {"stated": 0.5}}}),
        Agreement(facts=_exact_growth, impostors={"T^0.51": {"facts": {"power": 0.51}}}),
        Rate(
            ratios=_in_steps,
            relation="theta",
            extents=(4.0, 8.0, 16.0, 32.0),
            impostors={"no logarithm": {"ratios": {"union": False}}},
        ),
        Quantiles(
            readings=_over_steps,
            resolution=RESOLUTION,
            powers=(
                *_powers(["fixed clip norms"], 0.5, 0.1),
                Power(group="clip norms of (4)", printed=0.5, instead=STEPS_SLOPE, tolerance=0.1),
            ),
            theory="approximate",
            axes=_axes("iterations $T$"),
            impostors={"slope 0.65": {"powers": _powers(["fixed clip norms"], 0.65)}},
        ),
    ),
)

# --- in n ---


def _in_records(decades: float, *, union: bool = True) -> Ratios:
    """RMS times n at T = 100, over the square that (4) brings or not."""
    setting = IdealSetup(n=10**6 * round(10**decades))
    yield "growing n", setting.root_mean_square * setting.n / (setting.union_factor if union else 1.0)


NUMBERS = (10_000, 100_000, 1_000_000)
LOGARITHMIC = [_Point(n=n, gamma=None) for n in NUMBERS]
RECORDS_SLOPE = -1 + _union_slope(LOGARITHMIC, NUMBERS)
# The bias, which is there at the smallest n, takes a little away.
IN_RECORDS = partial(_logarithmic, points=LOGARITHMIC, x=NUMBERS, stated=RECORDS_SLOPE, tolerance=5e-3)
UNION_SLOPE = Power(group="clip norms of (4)", printed=-1.0, instead=RECORDS_SLOPE, tolerance=0.03)


def _over_records() -> list[Reading]:
    fixed = [_Point(n=n).reading("fixed clip norms", n, 2500) for n in NUMBERS]
    return fixed + [point.reading("clip norms of (4)", point.n, 2500) for point in LOGARITHMIC]


THM_3_1_TERM2_N = Claim(
    id="iv/thm-3.1-term2-n",
    where="Theorem 3.1",
    page=6,
    equation="(7)",
    kind="mc-rate",
    statement="The privacy term falls as $1\\/n$.",
    hypotheses="$T$ fixed.",
    setting=FIXED_DATA + "Isotropic data over 128 decades.",
    remark=DROPPED + "the slope from $n = 10^4$ to $10^6$ is then ${slope:2}$; for fixed clip norms it is $-1$.",
    checks=(
        Agreement(facts=IN_RECORDS, impostors={"no logarithm": {"facts": {"stated": -1.0}}}),
        Rate(
            ratios=_in_records,
            relation="theta",
            extents=LONG,
            impostors={"no logarithm": {"ratios": {"union": False}}},
        ),
        Quantiles(
            readings=_over_records,
            resolution=RESOLUTION,
            powers=(*_powers(["fixed clip norms"], -1.0), UNION_SLOPE),
            theory="approximate",
            axes=_axes("records $n$"),
            impostors={
                "slope -1.1": {"powers": _powers(["fixed clip norms"], -1.1)},
                "-1 with (4)": {"powers": _powers(["clip norms of (4)"], -1.0, 0.02)},
            },
        ),
    ),
)

# --- in the budgets ---


def _least_budget(share: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """min(W) / min(rho) <= W_1 / rho_1 + W_2 / rho_2 <= (W_1 + W_2) / min(rho), with rho_2 = rho_1 + s."""
    W1, W2, rho, s = sympy.symbols("W_1 W_2 rho s", positive=True)
    for label, total in (("rho_1 smaller", W1 / rho + W2 / (rho + s)), ("rho_2 smaller", W1 / (rho + s) + W2 / rho)):
        yield f"upper, {label}", (W1 + W2) / rho - share * total
    yield "lower, rho_1 smaller", W1 / rho + W2 / (rho + s) - W1 / rho
    yield "lower, rho_2 smaller", W1 / (rho + s) + W2 / rho - W2 / rho


BOTH = "$rho_1 = rho_2$"


def _over_budgets() -> list[Reading]:
    readings = []
    for rho in (0.1, 1.0, 10.0, 100.0):
        readings.append(_Point(rho1=rho, rho2=rho).reading(BOTH, rho, 1600))
        readings.append(_Point(rho1=rho, rho2=10.0).reading("$rho_1$ at $rho_2 = 10$", rho, 1600))
        readings.append(_Point(rho1=10.0, rho2=rho).reading("$rho_2$ at $rho_1 = 10$", rho, 1600))
    return readings


THM_3_1_TERM2_RHO = Claim(
    id="iv/thm-3.1-term2-rho",
    where="Theorem 3.1",
    page=6,
    equation="(7)",
    kind="mc-rate",
    statement="The privacy term scales as $min{rho_1, rho_2}^(-1\\/2)$.",
    setting=(
        FIXED_DATA
        + "To leading order its square is $W_1\\/rho_1 + W_2\\/rho_2$, $W_i$ free of the budgets and above 0 "
        "unless $hat(beta) = 0$: between $min W_i$ and $W_1 + W_2$ times $1\\/min rho_i$."
    ),
    remark="One budget alone has its effect only while it is the smaller one.",
    checks=(
        Symbolic(nonnegative=_least_budget, impostors={"half the sum": {"nonnegative": {"share": 2}}}),
        Quantiles(
            readings=_over_budgets,
            resolution=RESOLUTION,
            powers=_powers([BOTH], -0.5),
            theory="approximate",
            axes=_axes("budget $rho$"),
            impostors={"slope -0.6": {"powers": _powers([BOTH], -0.6)}},
        ),
    ),
)

# --- in the dimensions ---


def _in_dimensions(decades: float, *, printed: bool) -> Ratios:
    """RMS over the dimension factor, p and q apart; n so large that the bias stays behind."""
    size = round(10 ** (decades / 2))
    for label, setting in (
        ("p = q", IdealSetup(n=10**30, p=size, q=size)),
        ("q at p = 1", IdealSetup(n=10**30, q=size)),
        ("p at q = 10^4", IdealSetup(n=10**30, p=min(size, 10**4), q=10**4)),
    ):
        factor = setting.dimension_factor if printed else setting.union_factor
        yield label, setting.root_mean_square * setting.n / factor


def _without_p(decades: float) -> Ratios:
    """The printed factor without sqrt(p)."""
    size = round(10 ** (decades / 2))
    setting = IdealSetup(n=10**60, p=size, q=10**8)
    yield "p at q = 10^8", setting.root_mean_square * setting.n / setting.dimension_factor * math.sqrt(size)


SIZES = (8, 16, 32)
# Enough for the resolutions below: the relative spread of the error falls with p.
RUNS = {8: 800, 16: 500, 32: 300}
# (p, q) at each size.
DIMENSIONS: Mapping[str, Sequence[tuple[int, int]]] = {
    "$p = q$": [(size, size) for size in SIZES],
    "$q$ at $p = 8$": [(8, size) for size in SIZES],
    "$p$ at $q = 32$": [(size, 32) for size in SIZES],
}


def _over_dimensions() -> list[Reading]:
    """A = I, H = 2 I, ||beta_hat|| = 1, lambda_1 = lambda_2 = 0.01, T = 30; one run where two groups meet."""
    readings = []
    settings = Settings(steps=30, eta=0.5, alpha=0.25, lambda1=0.01, lambda2=0.01)
    for group, dimensions in DIMENSIONS.items():
        for size, (p, q) in zip(SIZES, dimensions, strict=True):
            theta, beta = math.sqrt(2) * np.eye(q, p), np.full(p, p**-0.5)
            moments = Moments(A=np.eye(q), G=theta, b=theta @ beta, n=1000)
            named = {"label": f"{group}, {size}", "run": f"p = {p}, q = {q}", "group": group, "x": size}
            readings.append(_reading(moments, settings, trials=RUNS[p], **named))
    return readings


def _printed_slope(group: str) -> float:
    """Slope on the grid of sqrt(p) (sqrt(q) + sqrt(tau)), which multiplies the noise scale in (18) and (24)."""
    factors = [math.sqrt(p) * (math.sqrt(q) + math.sqrt(TAU)) for p, q in DIMENSIONS[group]]
    return _fitted(SIZES, factors)


DIMENSION_POWERS = tuple(
    Power(group=group, printed=_printed_slope(group), instead=power, tolerance=0.15)
    for group, power in zip(DIMENSIONS, (0.5, 0.0, 0.5), strict=True)
)
AS_PRINTED = tuple(Power(group=group, printed=_printed_slope(group)) for group in list(DIMENSIONS)[:2])

THM_3_1_TERM2_PQ = Claim(
    id="iv/thm-3.1-term2-pq",
    where="Theorem 3.1; App. C, (24)",
    page=6,
    equation="(7)",
    kind="mc-rate",
    statement="The dimension factor of the privacy term is $sqrt(p) (sqrt(q) + sqrt(tau))^3$.",
    setting=(
        "From above; $A = I$, $hat(H) = h I$ and $norm(hat(beta))$ fixed, clip norms of (4), root mean square to "
        "leading order."
    ),
    remark=(
        "An upper bound, with one power of $sqrt(q)$ to spare: the factor is $sqrt(p)$ at given noise, and $sqrt(p) "
        "(sqrt(q) + sqrt(tau + log(n T)))^2$ with the clip norms of (4), from above and below; $q$ enters beside only "
        "through a bias of order $q lambda_1^2$."
    ),
    checks=(
        Rate(
            ratios=partial(_in_dimensions, printed=True),
            relation="upper",
            impostors={"without p": {"ratios": _without_p}},
        ),
        Rate(
            ratios=partial(_in_dimensions, printed=False),
            relation="theta",
            impostors={"as printed": {"ratios": {"printed": True}}},
        ),
        Quantiles(
            readings=_over_dimensions,
            resolution={"quick": 0.12, "full": 0.05},
            powers=DIMENSION_POWERS,
            theory="approximate",
            axes=_axes("size"),
            impostors={"as printed": {"powers": AS_PRINTED}},
        ),
    ),
)
