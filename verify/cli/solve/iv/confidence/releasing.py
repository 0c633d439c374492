"""The release: one record's worth of bounded numbers each, their sums with noise, and what each part of it costs."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpbounds.iv.confidence import BlockRelease, MomentRelease
from simulators.iv.confidence.moments import MomentDesign
from simulators.iv.confidence.sources import GaussianSource
from simulators.iv.samples import RecordSample
from verify.cli.solve.iv.confidence.asked import CLAMPED_SHARE, Asked
from verify.cli.solve.iv.confidence.records import Records

Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True, eq=False)
class Released:
    """What leaves: the release, the spending line by line, and the count of clamped records where it was asked for.

    `shift` is what the coefficients of the release are less than those of the file. `exact` is the same release without
    noise, None unless the data are public.
    """

    release: MomentRelease | BlockRelease
    spent: list[Row]
    shift: float = 0.0
    clamped: float | None = None
    clamped_scale: float = 0.0
    cells: Row = field(default_factory=dict)
    exact: MomentRelease | BlockRelease | None = None


def release(asked: Asked, records: Records, noise: GaussianSource) -> Released:
    """One Gaussian release; with `--clamping count` or `aware` also the number of clamped records."""
    mu, spent, clamped, scale = clamped_count(asked, records, noise)
    if asked.two_stage:
        from verify.cli.solve.iv.confidence.stages import two_stages

        found = two_stages(asked, records, noise, mu)
    elif asked.design == "h":
        found = _blocks(asked, records, noise, mu)
    else:
        found = _moments(asked, records, noise, mu)
    own = {**vars(found), "spent": [*found.spent, *spent], "clamped": clamped, "clamped_scale": scale}
    return Released(**own)


def clamped_count(
    asked: Asked, records: Records, noise: GaussianSource
) -> tuple[float, list[Row], float | None, float]:
    """What is left of mu, the line of the budget, the released count and its noise: one record moves it by 1."""
    if asked.clamping == "natural":
        return asked.mu, [], None, 0.0
    mu = asked.mu * math.sqrt(CLAMPED_SHARE)
    counted = float(noise.vector(np.array([float(records.clamped)]), 1 / mu)[0])
    spent = [line("number of clamped records", 1, 1.0, mu, 1 / mu)]
    return asked.mu * math.sqrt(1 - CLAMPED_SHARE), spent, counted, 1 / mu


def line(part: str, numbers: int, sensitivity: float, mu: float, noise_sd: float) -> Row:
    """One line of the budget; `sensitivity` (l2) and noise in the units of what is released."""
    return {"released": part, "numbers": numbers, "sensitivity": sensitivity, "noise_sd": noise_sd, "mu": mu}


def design_of(asked: Asked, mu: float) -> MomentDesign:
    """The public constants of a release of moments or blocks."""
    X = tuple(asked.boxes[name].half for name in asked.regressors)
    return MomentDesign(
        mu=mu,
        instrument_bound=asked.instrument_bound,
        outcome_bound=asked.boxes[asked.outcome].half,
        regressor_bounds=X,
        ratio=ratio_of(asked),
        adjacency=asked.adjacency,
    )


def ratio_of(asked: Asked) -> float:
    """|beta| X / Y as guessed, 1/2 without a guess."""
    if asked.coefficients is None:
        return 0.5
    (guess,), (name,) = asked.coefficients, asked.regressors
    return min(max(guess * asked.boxes[name].half / asked.boxes[asked.outcome].half, 1e-3), 1e3)


def _moments(asked: Asked, records: Records, noise: GaussianSource, mu: float) -> Released:
    design = design_of(asked, mu)
    u = design.vectors(sample_of(records))[0]
    s1, s2 = design.scales
    first, second = noise.vector(noise.sums(u), s1), noise.symmetric(noise.gram(u), s2)
    spent = moment_lines(len(u), s1, s2, mu, asked)
    return Released(
        release=moment_release(asked, design, first, second, records.n, (s1, s2)),
        spent=spent,
        exact=moment_release(asked, design, u.sum(axis=1), u @ u.T, records.n, (0.0, 0.0)) if asked.public else None,
    )


def moment_release(
    asked: Asked, design: MomentDesign, first: np.ndarray, second: np.ndarray, n: int, scales: tuple[float, float]
) -> MomentRelease:
    """Of moments that have noise of these scales."""
    outcome_weight, regressor_weights = design.weights
    return MomentRelease(
        first=first,
        second=second,
        first_scale=scales[0],
        second_scale=scales[1],
        outcome_weight=outcome_weight,
        regressor_weights=np.array(regressor_weights),
        n=n,
        adjacency=asked.adjacency,
    )


def moment_lines(d: int, s1: float, s2: float, mu: float, asked: Asked) -> list[Row]:
    """T1 and T2 cost `mu` together; each line says what it would cost alone."""
    far, across = _moves(asked)
    return [
        line("first moments T1 and", d, far, mu, s1),
        {**line("second moments T2", d * (d + 1) // 2, across, mu, s2), "mu": None},
    ]


def _blocks(asked: Asked, records: Records, noise: GaussianSource, mu: float) -> Released:
    """Z'Z, Z'V and V'V."""
    design = design_of(asked, mu)
    sample = sample_of(records)
    Z, V = design.instruments(sample)[0], design.variables(sample)[0]
    (q, n), p = Z.shape, len(V)
    cross = noise.sums((Z[:, None] * V[None]).reshape(-1, n)).reshape(q, p)
    s_A, s_C, s_Q = scales = design.block_scales
    outcome_weight, regressor_weights = design.weights

    def found(A: np.ndarray, C: np.ndarray, Q: np.ndarray, scales: tuple[float, float, float]) -> BlockRelease:
        return BlockRelease(
            instruments=A,
            cross=C,
            variables=Q,
            instrument_scale=scales[0],
            cross_scale=scales[1],
            variable_scale=scales[2],
            outcome_weight=outcome_weight,
            regressor_weights=np.array(regressor_weights),
            n=n,
            adjacency=asked.adjacency,
        )

    private = noise.symmetric(noise.gram(Z), s_A), noise.vector(cross, s_C), noise.symmetric(noise.gram(V), s_Q)
    far, across = _moves(asked)
    spent = [
        line("blocks Z'V and", q * p, far, mu, s_C),
        {**line("Z'Z and", q * (q + 1) // 2, across, mu, s_A), "mu": None},
        {**line("V'V", p * (p + 1) // 2, across, mu, s_Q), "mu": None},
    ]
    exact = found(Z @ Z.T, Z @ V.T, V @ V.T, (0.0, 0.0, 0.0)) if asked.public else None
    return Released(release=found(*private, scales), spent=spent, exact=exact)


def _moves(asked: Asked) -> tuple[float, float]:
    """How far one record moves a sum of vectors of norm 1, and a sum of their outer products."""
    return (2.0, math.sqrt(2.0)) if asked.adjacency == "replace-one" else (1.0, 1.0)


def sample_of(records: Records) -> RecordSample:
    """One data set, as simulators take them."""
    return RecordSample(
        instruments=records.instruments.T[None], regressors=records.regressors.T[None], outcome=records.outcome[None]
    )
