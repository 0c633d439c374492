"""Beyond the paper: what the data models draw, and releases drawn from sufficient statistics, have the stated laws."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from simulators.engine import Arrays, Experiment, Streams
from simulators.iv.confidence import (
    CellModel,
    Compliers,
    MomentDesign,
    WeakInstruments,
    release_blocks_in_law,
    release_moments_in_law,
)
from verify.checks import Agreement, Case, Fact, Holds, Means, MonteCarlo, Times, Within
from verify.statements.claims import Claim

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
    """Moments by hand: pi^2 = 10 / n, V(x) = q pi^2 + 1, C(y, x) = .8 V(x) + .6, V(y) = .64 V(x) + .96 + 1; those of
    release U about other points, 2 for y and 1 for x.
    """
    pi = math.sqrt((STRENGTH - 1) / N)
    variance = Q * pi**2 + 1
    raw = {"zy": SLOPE * pi, "zx": pi, "zz": 1.0, "xx": variance, "xy": SLOPE * variance + RHO}
    raw["yy"] = SLOPE**2 * variance + 2 * SLOPE * RHO + 1
    unit = {"z": BOUND, "y": OUTCOME * math.sqrt(1.5), "x": REGRESSOR * math.sqrt(3.0)}
    found = []
    laws: tuple[tuple[Any, float, float], ...] = (("sign", 2.0, 1.0), ("gaussian", 0.0, 0.0))
    for instruments, y, x in laws:
        settings = MomentDesign(
            mu=1e5,
            instrument_bound=BOUND,
            outcome_bound=OUTCOME,
            regressor_bounds=(REGRESSOR,),
            outcome_centre=y,
            regressor_centres=(x,),
        )
        moved = {"yy": y * y, "xy": x * y, "xx": x * x}
        problem = WeakInstruments(n=N, q=Q, strength=STRENGTH, endogeneity=RHO, slope=SLOPE, instruments=instruments)
        experiment = Experiment(algorithm=in_law, problem=problem, settings=settings, block_trials=2_000)
        for name, value in raw.items():
            if instruments == "sign" and name == "zz":
                continue
            # In release U squares come with those of z, which are 1 for signs.
            squared = BOUND**2 if instruments == "sign" and "z" not in name else 1.0
            stated = N * (value + moved.get(name, 0.0)) / (unit[name[0]] * unit[name[1]] * squared)
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


# --- the data models ---

DRAWN = 150_000


def _models(rng: np.random.Generator) -> Iterator[Fact | Holds | Within]:
    """One large data set of each; about a hundred comparisons, each with 7.3 standard errors or more."""
    yield from _weak(rng, "normal", "sign")
    for errors in ("t3", "exponential", "heteroskedastic"):
        yield from _weak(rng, errors, "gaussian")
    yield from _weak(rng, "heteroskedastic", "sign")
    yield from _compliers(rng)
    yield from _cells(rng)


def _weak(rng: np.random.Generator, errors: Any, instruments: Any) -> Iterator[Fact | Holds | Within]:
    """e_1 given z and w, standardised: both of variance 1 and independent. For Student's t with 3 degrees over sqrt 3
    E log |e| = (psi(1/2) - psi(3/2)) / 2 = -1.
    """
    label = f"{errors}, {instruments}"
    model = WeakInstruments(
        n=DRAWN, q=2, strength=1 + DRAWN / 4, endogeneity=0.6, slope=0.8, errors=errors, instruments=instruments
    )
    sample = model.draw(rng, 1)
    z, x, y = sample.instruments[0], sample.regressors[0, 0], sample.outcome[0]
    yield Fact(f"mean and variance of z, {label}", [*(z @ z.T / DRAWN).ravel()], [1.0, 0.0, 0.0, 1.0], 0.03)
    yield Holds(f"one size if and only if signs, {label}", (len(np.unique(np.abs(z))) == 1) == (instruments == "sign"))
    spread = np.ones(DRAWN)
    if errors == "heteroskedastic":
        spread = np.sqrt((1 + z[0] ** 2) / 2 if instruments == "gaussian" else 1 + z[0] / 2)
        yield Fact(f"spread, {label}", model.spread(z[0]), spread.tolist(), 1e-12)
    e1 = y - 0.8 * x
    w = (x - z.sum(axis=0) / 2 - 0.6 * e1) / 0.8  # pi = 1/2
    for name, error in (("e1", e1 / spread), ("w", w)):
        if errors == "t3":
            yield Fact(f"log |{name}|, {label}", np.log(np.abs(error)).mean(), -1.0, 0.024)
            yield Fact(f"median of {name}, {label}", np.sign(error).mean(), 0.0, 0.02)
        else:
            moments = [error.mean(), np.mean(error**2)]
            yield Fact(f"moments of {name}, {label}", moments, [0.0, 1.0], 0.055 if errors == "exponential" else 0.03)
        if errors == "exponential":
            yield Within(f"least {name}, {label}", float(error.min()), -1.0001, -0.999)
    signs = np.sign(e1) @ np.sign(w) / DRAWN - np.sign(e1).mean() * np.sign(w).mean()
    yield Fact(f"independent, {label}", signs, 0.0, 0.02)


def _compliers(rng: np.random.Generator) -> Iterator[Fact]:
    """Shares of x = 1 by z, means of y by (z, x) for pure types, and the deviation there."""
    settings: dict[str, Any] = {"effect": 1.5, "other_effect": -2.0, "taker_level": 0.7, "deviation": 0.9}
    model = Compliers(n=DRAWN, compliers=0.4, takers=0.25, **settings)
    sample = model.draw(rng, 1)
    yield Fact("dimensions", model.dimensions, (1, 1), 0)
    z, x, y = sample.instruments[0, 0], sample.regressors[0, 0], sample.outcome[0]
    yield Fact("z is -1/2 or 1/2", np.unique(z), [-0.5, 0.5], 0)
    yield Fact("half of them", float((z > 0).mean()), 0.5, 0.02)
    shares = [float(x[z < 0].mean()), float(x[z > 0].mean())]
    yield Fact("x = 1 by z", shares, [0.25, 0.65], 0.02)
    takers, nevers, both = y[(z < 0) & (x == 1)], y[(z > 0) & (x == 0)], y[(z > 0) & (x == 1)]
    stated = [-1.3, 0.0, (0.25 * -1.3 + 0.4 * 1.5) / 0.65]
    yield Fact("means of y by type", [takers.mean(), nevers.mean(), both.mean()], stated, 0.05)
    yield Fact("deviations of y by type", [takers.std(), nevers.std()], [0.9, 0.9], 0.045)


def _cells(rng: np.random.Generator) -> Iterator[Fact]:
    """Means and covariances within three cells, at s = 1, -1/2, -1/2; a uniform law on [-1, 1] has variance 1/3."""
    model = CellModel(
        n=2 * DRAWN, cells=3, first_stage=0.4, slope=0.5, noise=0.15, instrument_shift=0.35, outcome_shift=0.15
    )
    sample = model.draw_cells(rng, 1)
    cells, z, x, y = (part[0] for part in (sample.cells, sample.instruments, sample.regressors, sample.outcome))
    columns = np.stack([z, x, y - 0.5 * x])
    stated = np.array([[1 / 12, 0.2 / 3, 0.0], [0.2 / 3, (0.4**2 + 2 * 0.15**2) / 3, 0.15**2 / 3]])
    for cell, s in enumerate((1.0, -0.5, -0.5)):
        inside = columns[:, cells == cell]
        yield Fact(f"share of cell {cell}", inside.shape[1] / (2 * DRAWN), 1 / 3, 0.03)
        for name, mean, shift in zip(("z", "x", "y - x / 2"), inside.mean(axis=1), (0.35, 0.2, 0.15), strict=True):
            yield Fact(f"mean of {name} in cell {cell}", mean / shift, s, 0.035 / abs(s))
        covariance = np.cov(inside)
        yield Fact(f"covariance of z and x in cell {cell}", covariance[:2], stated.tolist(), 0.025)
        yield Fact(f"variance of the error in cell {cell}", covariance[2, 2], 2 * 0.15**2 / 3, 0.04)
    extremes = [z.min(), z.max(), x.max(), (y - 0.5 * x).max()]
    yield Fact("ranges", extremes, [-0.175 - 0.5, 0.35 + 0.5, 0.2 + 0.4 + 0.3, 0.15 + 0.3], 0.07)


LAWS = Claim(
    id="iv/beyond-confidence-in-law",
    where="beyond the paper: releases drawn in law",
    kind="mc-equality",
    statement=(
        (
            "Releases drawn in law, from multinomial counts and Wishart matrices in place of records, have the first "
            "and second moments of the population;"
        ),
        "what the data models draw has the stated laws.",
    ),
    setting="$n = 50$, $q = 2$, $F = 11$, endogeneity $0.6$, coefficient $0.8$; signs (U), Gaussian instruments (H).",
    checks=(
        MonteCarlo(
            decides="a",
            means=Means(cases=_cases, trials={"quick": 2_000, "full": 20_000}),
            resolution={"quick": 0.2, "full": 0.08},
            impostors={"20 % more": {"scale": 1.2}, "20 % less": {"scale": 0.8}},
        ),
        Agreement(decides="b", facts=_models, alpha=1e-9, impostors={"5 % off": {"facts": Times(1.05)}}),
    ),
)
