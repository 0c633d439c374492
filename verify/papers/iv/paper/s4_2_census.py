"""Figures 5, 10 and 11 (Angrist and Evans): Algorithm 1 on the census extract, or on a surrogate for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from dpbounds.iv import scalar_law
from verify.checks import Agreement, Check, Quantiles, Ratio, Reading, Within
from verify.papers.iv.tools.real_data import Run, angrist, census_digest, no_census
from verify.papers.iv.tools.real_runs import (
    BOX_AXES,
    PATH_AXES,
    QUARTILES,
    estimate_line,
    estimates,
    over,
    path,
    path_lines,
    settled,
    sizes,
    spread,
    two_stage_line,
)
from verify.statements.claims import Claim

# With c_0 = 0.1 no gradient is clipped: in the census extract they are at most 0.34 and 1.31, the clip norms 2.6.
STEPS, C0, TRIALS = 20, 0.1, 20_000
# Of the random subset.
RECORDS = 8065
CURVE = "$c_0 = 0.1$"


def _census(rho: float, c0: float = C0) -> Run:
    return Run(study=angrist, rho=rho, steps=STEPS, c0=c0)


def _exact_median(rho: float) -> float:
    """Of |beta_T - beta_hat|, from the law of beta_T."""
    run, study = _census(rho), angrist()
    lambda1, lambda2 = run.noise
    eta, alpha = study.step_sizes
    law = scalar_law(study.moments, eta, alpha, lambda1=lambda1, lambda2=lambda2, steps=STEPS, tolerance=1e-4)
    return float(law.quantile())


def _estimated(rho: float) -> list[Reading]:
    """The box plot, and how far the estimates are spread at this budget, at (1, 1), and at c_0 = 1."""
    runs = {f"rho = {budget:g}": budget for budget in dict.fromkeys((rho, 1.0))}
    found = [
        *estimates(_census(rho), CURVE, 1500),
        *estimates(_census(rho, 0.3), "$c_0 = 0.3$", 1500),
        *(spread(_census(budget), name, TRIALS, _predicted(budget)) for name, budget in runs.items()),
        spread(_census(rho, 1.0), "c_0 = 1", 1500),
    ]
    if angrist().records is not None:
        clipped = Run(study=angrist, rho=rho, steps=STEPS, c0=C0, clipped=True)
        found.append(spread(clipped, "on the records", 200))
    return found


def _predicted(rho: float) -> Callable[[], float]:
    return lambda: _exact_median(rho)


def _in_expectation(rng: np.random.Generator, *, rho: float, at_most: Mapping[int, float]) -> Iterator[Within]:
    """How far E beta_t still is from its limit; both, and how far the limit is from 2SLS, in per cent for the texts."""
    run = _census(rho)
    numbers = {"attenuation": 100 * abs(run.limit() / run.study().effect - 1)}
    numbers |= {f"left_{step}": 100 * run.left(step) for step in at_most}
    for step, share in at_most.items():
        yield Within(f"distance of E beta_{step} from its limit, relative", run.left(step), most=share, numbers=numbers)


def _near_two_stage(rng: np.random.Generator, rho: float = 1.0) -> Iterator[Within]:
    """The limit against 2SLS, and how uncertain 2SLS itself is."""
    study = angrist()
    off = abs(_census(rho).limit() / study.effect - 1)
    yield Within("distance of the limit from 2SLS, relative", off, most=0.1)
    yield Within("standard error of 2SLS", study.standard_error, 4.3, numbers={"error": study.standard_error})


def _checks(rho: float, at_most: dict[int, float], ratios: Sequence[Ratio], kept: Ratio) -> tuple[Check, ...]:
    return (
        Agreement(
            facts=partial(_in_expectation, rho=rho, at_most=at_most),
            impostors={"after 5 steps": {"facts": {"at_most": {5: 0.15}}}},
        ),
        Quantiles(
            readings=lambda: _estimated(rho),
            resolution={"quick": 0.1, "full": 0.05},
            ratios=ratios,
            axes=BOX_AXES,
            log_axes=(),
            lines=lambda: [estimate_line(_census(rho), CURVE), two_stage_line(angrist(), 0.04, 0.96)],
            impostors={"20 % too large": {"scale": 1.2}},
        ),
        Quantiles(
            readings=lambda: [*path(_census(rho), QUARTILES, 2000), *sizes(_census(rho), (2, 15, 20), 2000)],
            ratios=(kept,),
            axes=PATH_AXES,
            log_axes=(),
            lines=lambda: [*path_lines(_census(rho), QUARTILES), two_stage_line(angrist(), 0, STEPS)],
            impostors={"after 2 steps": {"ratios": (settled(rho, 2, STEPS, at_least=0.7),)}},
        ),
    )


CHOSEN = (
    "$x = 1$ for more than two children, all centred, $n = 8065$, $T = 20$; $delta = psi = 0$ and $hat(Theta)$ for "
    "$Theta$ in the step sizes. $c_0 = 0.1$, where nothing is clipped; the spread is proportional to it."
)
SURROGATE = (
    "The census extract of 1980 where a data folder is given, else a surrogate with its rounded moments (the legend "
    "says which), of which only the variance $1\\/4$ of $z$ and the size of the noise matter here; "
)

FIG_5 = Claim(
    id="iv/fig-5",
    where="Figure 5, Section 4.2",
    page=9,
    kind="mc-rate",
    statement=(
        "Angrist data, $rho = (1, 1)$: $beta^((T))$ concentrates around $-4.3$, consistent with 2SLS, and "
        "converges in expectation after about 15 iterations."
    ),
    remark=(
        "Around the 2SLS estimate of the data at hand, whose standard error is ${error:2}$: which ${n}$ records the "
        "paper drew is not known. About: ${left_15:2}$ % of the way is left at $t = 15$, ${left_20:2}$ % at $T = "
        "{steps}$."
    ),
    given={"n": RECORDS, "steps": STEPS},
    setting="A random subset of the census extract of 1980; " + CHOSEN,
    user_data=census_digest,
    missing=no_census,
    checks=(
        Agreement(facts=_near_two_stage, impostors={"rho = 0.001": {"facts": {"rho": 0.001}}}),
        *_checks(
            1.0,
            {15: 0.15, 20: 0.05},
            (over("c_0 = 1", "rho = 1", at_least=4.0),),
            settled(1.0, 15, STEPS, at_least=0.8, at_most=1.05),
        ),
    ),
)

FIG_10 = Claim(
    id="iv/fig-10",
    where="Figure 10, App. G.4",
    page=38,
    kind="mc-rate",
    statement="Angrist data, $rho = (0.1, 0.1)$: larger variance, convergence in expectation within $T = 20$.",
    remark=(
        "Within: ${left_20:2}$ % of the way is left. The noise of the first stage attenuates the limit by "
        "${attenuation:2}$ %."
    ),
    setting=SURROGATE + CHOSEN,
    user_data=census_digest,
    checks=_checks(
        0.1,
        {20: 0.06},
        (over("rho = 0.1", "rho = 1", at_least=2.5, at_most=4.0),),
        settled(0.1, 15, STEPS, at_least=0.6, at_most=1.4),
    ),
)

FIG_11 = Claim(
    id="iv/fig-11",
    where="Figure 11, App. G.4",
    page=39,
    kind="mc-rate",
    statement="Angrist data, $rho = (10, 10)$: more concentrated, convergence in expectation within $T = 20$.",
    remark="Within: ${left_20:2}$ % of the way is left.",
    setting=SURROGATE + CHOSEN,
    user_data=census_digest,
    checks=_checks(
        10.0,
        {20: 0.05},
        (over("rho = 10", "rho = 1", at_most=0.6),),
        settled(10.0, 15, STEPS, at_least=0.85, at_most=1.0),
    ),
)
