"""Remark 3.4: when no gradient is clipped. The condition behind it, Lemma D.1, is in `sd_1_no_clipping`."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dpbounds.iv import Constants, clip_norm
from simulators.engine import Arrays, Experiment
from simulators.iv import Settings, two_stage_descent
from verify.checks import Event, Frequency, Quantiles, Ratio, Reading
from verify.papers.iv.tools.samples import isotropic_design, isotropic_model
from verify.papers.iv.tools.setups import Setup
from verify.statements.claims import Claim

# n, T, p, q: enough records for c_0 = 3.
LARGE = ((600, 5, 1, 1), (1200, 10, 1, 1), (3000, 10, 2, 3), (4000, 8, 3, 5))


def _no_clipping(c0: float = 3.0) -> list[Event]:
    """No gradient of either stage is clipped in any step; Theta = [I; 0], ||beta|| = 1, rho = 5."""
    events = []
    for n, steps, p, q in LARGE:
        gamma = float(clip_norm(isotropic_design(n, p, q), steps, Constants(clipping=c0)))
        settings = Settings(steps=steps, eta=1.0, alpha=2 / 3, gamma1=gamma, gamma2=gamma, rho1=5.0, rho2=5.0)
        model = isotropic_model(n, p, q, endogeneity=0.5)
        events.append(
            Event(
                label=f"no clipping, n = {n}, T = {steps}, p = {p}, q = {q}",
                experiment=Experiment(algorithm=two_stage_descent, problem=model, settings=settings, block_trials=100),
                occurs=lambda arrays: (arrays["clipped_theta"] + arrays["clipped_beta"]).sum(axis=1) == 0,
                at_least=0.9,
            )
        )
    return events


# The paper's setting, and the clip norms of (4) that are tried there; one that does with more records.
RECORDS, STEPS = 1000, 20
CLIP_CONSTANTS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
MANY, ENOUGH = 20_000, 60.0
# Where the gradients themselves are too long, and where the noise alone makes them so.
SHORT, LONG = 3.0, 30.0
# Shares of gradients: one in a million, and 0 up to what a logarithm can take.
SOME, NONE = 1e-6, 1e-100


def _share(stage: str) -> Callable[[Arrays], np.ndarray]:
    """The share of gradients clipped over a run."""
    return lambda arrays: arrays[f"clipped_{stage}"].mean(axis=1)


def _shares() -> list[Reading]:
    """The paper's n = 1000, T = 20, p = q = 5, rho_i = 5, with noise and without, and twenty times as many records."""
    readings = []
    for c0 in CLIP_CONSTANTS:
        experiment = Setup(n=RECORDS, steps=STEPS, c0=c0).experiment(40)
        for stage, group in (("theta", "first stage"), ("beta", "second stage")):
            readings.append(
                Reading(
                    label=f"{stage}, c_0 = {c0:g}",
                    run=f"{c0:g}",
                    experiment=experiment,
                    output=_share(stage),
                    x=c0,
                    group=group,
                )
            )
    for c0 in (SHORT, LONG):
        experiment = Setup(n=RECORDS, steps=STEPS, c0=c0, rho1=math.inf, rho2=math.inf).experiment(40)
        readings.append(Reading(label=f"no noise, c_0 = {c0:g}", experiment=experiment, output=_share("beta")))
    experiment = Setup(n=MANY, steps=STEPS, c0=ENOUGH).experiment(8)
    return [*readings, Reading(label="many records", experiment=experiment, output=_share("beta"), level="full")]


REM_3_4 = Claim(
    id="iv/rem-3.4",
    where="Remark 3.4",
    page=7,
    kind="mc-rate",
    statement="With $gamma_1$, $gamma_2$ of (4) clipping alters no gradient, with high probability.",
    hypotheses="Those of Lemma D.1, to which the remark refers.",
    remark=(
        "For $c_0$ large enough for $Theta$ and $beta$, and $n$ for $c_0$, the noise being proportional to it. The "
        "experiments are far from there: at $n = {n}$, $p = q = 5$, $T = {steps}$, $rho_1 = rho_2 = 5$ none of $c_0 = "
        "1, 3, 10, {long}, {longer}, {longest}$ does it: at 3 the $beta$-gradients are too long without noise, from "
        "${long}$ on the noise alone makes them so ($c_0 = {enough}$ does at $n = {many}$). The figures show clipped "
        "runs, of which the theorem does not speak."
    ),
    setting=(
        "$Theta = [I; 0]$, $norm(beta) = 1$, $c_0 = 3$, $rho_i = 5$, with probability 0.9; the paper's setting with "
        "parameters drawn with seed 0, medians."
    ),
    checks=(
        Frequency(
            events=_no_clipping,
            trials={"quick": 300, "full": 3000},
            impostors={"c_0 = 0.5": {"events": {"c0": 0.5}}},
        ),
        Quantiles(
            readings=_shares,
            ratios=(
                *(
                    Ratio(label=f"clipped share, c_0 = {c0:g}", above=f"beta, c_0 = {c0:g}", at_least=SOME)
                    for c0 in CLIP_CONSTANTS
                ),
                Ratio(label="first stage, c_0 = 10", above="theta, c_0 = 10", at_most=NONE),
                Ratio(label="no noise, c_0 = 3", above="no noise, c_0 = 3", at_least=SOME),
                Ratio(label="no noise, c_0 = 30", above="no noise, c_0 = 30", at_most=NONE),
                Ratio(label="c_0 = 60, n = 20000", above="many records", at_most=NONE),
            ),
            trials={"quick": 40, "full": 120},
            axes=("constant $c_0$ of the clip norms", "share of gradients that are clipped"),
            log_axes=("x",),
            impostors={
                "none at c_0 = 10": {"ratios": (Ratio(label="none", above="beta, c_0 = 10", at_most=NONE),)},
                "noise alone": {"ratios": (Ratio(label="none", above="no noise, c_0 = 3", at_most=NONE),)},
            },
        ),
    ),
    given={
        "n": RECORDS,
        "steps": STEPS,
        "long": LONG,
        "longer": CLIP_CONSTANTS[-2],
        "longest": CLIP_CONSTANTS[-1],
        "enough": ENOUGH,
        "many": MANY,
    },
)
