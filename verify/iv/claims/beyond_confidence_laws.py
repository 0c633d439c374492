"""Beyond the paper: releases drawn from sufficient statistics have the moments of the population."""

from __future__ import annotations

import math

from simulators.engine import Arrays, Experiment, Streams
from simulators.iv.confidence import MomentDesign, WeakInstruments, release_blocks_in_law, release_moments_in_law
from verify.checks import Case, Means, MonteCarlo
from verify.claims import Claim

N, Q, STRENGTH, SLOPE, RHO = 16, 2, 11.0, 0.8, 0.6
BOUND, OUTCOME, REGRESSOR = 8.0, 14.0, 10.0


def in_law(problem: WeakInstruments, settings: MomentDesign, streams: Streams, trials: int) -> Arrays:
    """Entries of release U for signs, of release H for Gaussian instruments."""
    if problem.instruments == "sign":
        arrays = release_moments_in_law(problem, settings, streams, trials)
        first, second = arrays["first"], arrays["second"]
        return {
            "zy": first[:, 1],
            "zx": first[:, 2],
            "yy": second[:, 1, 1],
            "xy": second[:, 0, 2],
            "xx": second[:, 3, 3],
        }
    arrays = release_blocks_in_law(problem, settings, streams, trials)
    cross, variables = arrays["cross"], arrays["variables"]
    found = {"zy": cross[:, 1, 0], "zx": cross[:, 0, 1], "zz": arrays["instruments"][:, 1, 1]}
    return {**found, "yy": variables[:, 0, 0], "xy": variables[:, 0, 1], "xx": variables[:, 1, 1]}


def _cases() -> list[Case]:
    """Moments by hand: pi^2 = 10 / n, V(x) = q pi^2 + 1, C(y, x) = .8 V(x) + .6, V(y) = .64 V(x) + .96 + 1."""
    pi = math.sqrt((STRENGTH - 1) / N)
    variance = Q * pi**2 + 1
    raw = {"zy": SLOPE * pi, "zx": pi, "zz": 1.0, "xx": variance, "xy": SLOPE * variance + RHO}
    raw["yy"] = SLOPE**2 * variance + 2 * SLOPE * RHO + 1
    unit = {"z": BOUND, "y": OUTCOME * math.sqrt(1.5), "x": REGRESSOR * math.sqrt(3.0)}
    settings = MomentDesign(mu=1e5, instrument_bound=BOUND, outcome_bound=OUTCOME, regressor_bounds=(REGRESSOR,))
    found = []
    for instruments in ("sign", "gaussian"):
        problem = WeakInstruments(n=N, q=Q, strength=STRENGTH, endogeneity=RHO, slope=SLOPE, instruments=instruments)
        experiment = Experiment(algorithm=in_law, problem=problem, settings=settings, block_trials=2_000)
        for name, value in raw.items():
            if instruments == "sign" and name == "zz":
                continue
            # In release U squares come with those of z, which are 1 for signs.
            squared = BOUND**2 if instruments == "sign" and "z" not in name else 1.0
            stated = N * value / (unit[name[0]] * unit[name[1]] * squared)
            found.append(
                Case(
                    label=f"{instruments}, {name}",
                    experiment=experiment,
                    output=name,
                    predicted=lambda stated=stated: stated,
                    relative_std=1.0,
                )
            )
    return found


LAWS = Claim(
    id="iv/beyond-confidence-in-law",
    where="beyond the paper",
    kind="mc-equality",
    statement=(
        "Releases drawn in law, from multinomial counts and Wishart matrices in place of records, have the first and "
        "second moments of the population."
    ),
    setting="$n = 50$, $q = 2$, $F = 11$, endogeneity $0.6$, coefficient $0.8$; signs (U), Gaussian instruments (H).",
    checks=(
        MonteCarlo(
            means=Means(cases=_cases, trials={"quick": 2_000, "full": 20_000}),
            resolution={"quick": 0.2, "full": 0.08},
            impostors={"20 % more": {"scale": 1.2}, "20 % less": {"scale": 0.8}},
        ),
    ),
)
