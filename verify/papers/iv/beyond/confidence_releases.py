"""Beyond the paper: the noise of the simulated private releases, and what it costs, on explicit neighbours."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from simulators.engine import Arrays, Experiment, Streams
from simulators.iv.confidence import (
    MomentDesign,
    OneShot,
    SignDesign,
    TwoStageDesign,
    one_shot,
    release_blocks,
    release_moments,
    release_signs,
)
from simulators.iv.confidence.controls import StageZero, stage_one, stage_zero
from simulators.iv.confidence.models import CellSample
from simulators.iv.confidence.one_shot import first_round, second_round
from simulators.iv.samples import RecordSample
from verify.checks import Case, GaussianPrivacy, Means, MonteCarlo
from verify.checks.privacy import Neighbours
from verify.papers.iv.tools.coverage import FixedRecords, records_of
from verify.papers.iv.tools.curves import curve_covariance
from verify.statements.claims import Claim

MU = 0.5


EMPTY = FixedRecords(sample=records_of(np.zeros((2, 2)), np.zeros((2, 1)), np.zeros(2)))
UNIT: dict[str, Any] = {"mu": MU, "instrument_bound": 1.0, "outcome_bound": 1.0, "regressor_bounds": (1.0,)}


# --- the law of the noise ---


def noises(problem: FixedRecords, settings: Any, streams: Streams, trials: int) -> Arrays:
    """Entries of what is released on records that are all 0, under the adjacency `settings`."""
    design = MomentDesign(**UNIT, adjacency=settings)
    moments = release_moments(problem, design, streams, trials)
    blocks = release_blocks(problem, design, streams, trials)
    zeros = np.zeros((trials, 1))
    sample = CellSample(cells=zeros.astype(int), instruments=zeros, regressors=zeros, outcome=zeros)
    stages = TwoStageDesign(mu=MU, adjacency=settings)
    cells = stage_zero(sample, 1, stages, streams.noise)
    last = stage_one(sample, cells, stages, streams.noise)
    return {
        "T1": moments["first"][:, 3],
        "T2 diagonal": moments["second"][:, 1, 1],
        "T2 off the diagonal": moments["second"][:, 0, 3],
        "Z'V": blocks["cross"][:, 1, 0],
        "Z'Z diagonal": blocks["instruments"][:, 1, 1],
        "V'V off the diagonal": blocks["variables"][:, 0, 1],
        "count": cells.cells[:, 0, 1] - 1.0,
        "sum of y": cells.cells[:, 0, 4],
        "total of xy": cells.totals[:, 1],
        "T1 of stage 1": last["first"][:, 1],
        "T2 of stage 1": last["second"][:, 0, 1],
    }


# Variances times mu^2, by hand: replace-one 4 b = mu^2 with a = b / 2, and blocks with a = e = b / 2; zero-out shares
# .15 of a + b, .1 of a + b + e. Stage 0 has a quarter of mu^2 and sensitivity^2 8 and 14; stage 1 the rest.
STATED = {
    "replace-one": (4.0, 8.0, 4.0, 4.0, 8.0, 4.0, 56.0, 56.0, 56.0, 16 / 3, 16 / 3),
    "zero-out": (1 / 0.85, 1 / 0.15, 0.5 / 0.15, 1 / 0.8, 10.0, 5.0, 32.0, 32.0, 32.0, 4 / 2.55, 2 / 0.45),
}


def _noise_cases() -> list[Case]:
    names = ("T1", "T2 diagonal", "T2 off the diagonal", "Z'V", "Z'Z diagonal", "V'V off the diagonal")
    names = (*names, "count", "sum of y", "total of xy", "T1 of stage 1", "T2 of stage 1")
    found = []
    for adjacency, variances in STATED.items():
        experiment = Experiment(algorithm=noises, problem=EMPTY, settings=adjacency, block_trials=2_000)
        for name, variance in zip(names, variances, strict=True):
            found.append(
                Case(
                    label=f"{name}, {adjacency}",
                    experiment=experiment,
                    output=name,
                    predicted=lambda variance=variance: variance / MU**2,
                    relative_std=math.sqrt(2.0),
                )
            )
    return found


def other_noises(problem: FixedRecords, settings: tuple[SignDesign, OneShot], streams: Streams, trials: int) -> Arrays:
    """Points and differences of the curve of release S; both estimates of one-shot moments on records (1, 1, 0)."""
    signs, moments = settings
    curves = release_signs(problem, signs, streams, trials)
    curve = curves["curve"] - curves["exact_curve"]
    estimates = one_shot(problem, moments, streams, trials)
    return {
        "point": curve[:, 3],
        "neighbours": curve[:, 4] - curve[:, 3],
        "ends": curve[:, 0] + curve[:, -1],
        "first": estimates["first_beta"][:, 0],
        "second": estimates["beta"][:, 0],
    }


def _other_cases() -> list[Case]:
    """S at G = 5: f = (1/5) sum 1 / sin((2 j + 1) pi / 10), covariances by the cosine sum. A curve of the noise turns
    its sign after G points. One-shot: noise of deviation s over the sum 400 of z x, s = 2 / mu of each round.
    """
    size, height = 5, 2 * 0.7 / MU
    odd = [(2 * j + 1) * math.pi / 10 for j in range(size)]
    factor = sum(1 / math.sin(angle) for angle in odd) / size
    beside = sum(factor / math.sin(angle) * math.cos(2 * angle) for angle in odd) / size
    last = sum(factor / math.sin(angle) * math.cos(2 * angle * (size - 1)) for angle in odd) / size
    rho, share, bound = 2e6, 0.25, 3.0
    stated = {
        "point": height**2 * factor**2,
        "neighbours": 2 * height**2 * (factor**2 - beside),
        "ends": 2 * height**2 * (factor**2 + last),
        "first": (2 / 400) ** 2 / (2 * rho * share),
        "second": (2 * bound / 400) ** 2 / (2 * rho * (1 - share)),
    }
    signs = SignDesign(mu=MU, low=-1.0, high=1.0, size=size, pi=0.3)
    settings = (signs, OneShot(rho=rho, instrument_bound=1.0, row_bound=1.0, residual_bound=bound, share=share))
    ones = FixedRecords(sample=records_of(np.ones((400, 1)), np.ones((400, 1)), np.zeros(400)))
    experiment = Experiment(algorithm=other_noises, problem=ones, settings=settings, block_trials=1_500)
    return [
        Case(
            label=name,
            experiment=experiment,
            output=name,
            predicted=lambda value=value: value,
            relative_std=math.sqrt(2.0),
        )
        for name, value in stated.items()
    ]


NOISE = Claim(
    id="iv/beyond-confidence-noise",
    where="beyond the paper: noise of simulated releases",
    kind="mc-equality",
    statement=(
        (
            r"Every simulated release adds Gaussian noise of the stated variance: $4\/mu^2$ to $T_1$, $8\/mu^2$ to the "
            "diagonal of $T_2$ and half of that off it under replace-one;"
        ),
        (
            "the blocks, the sums per cell, the curve of release S with its covariances, and both rounds of the "
            "one-shot estimator accordingly."
        ),
    ),
    setting="$mu = 1\\/2$, both adjacencies; $G = 5$, $pi = 0.3$.",
    checks=(
        MonteCarlo(
            decides="a",
            means=Means(cases=_noise_cases, law="variance", trials={"quick": 8_000, "full": 60_000}),
            resolution={"quick": 0.2, "full": 0.08},
            impostors={"svec scale: the diagonal off the diagonal": {"scale": 2.0}, "30 % more": {"scale": 1.3}},
        ),
        MonteCarlo(
            decides="b",
            means=Means(cases=_other_cases, law="variance", trials={"quick": 6_000, "full": 40_000}),
            resolution={"quick": 0.2, "full": 0.1},
            impostors={"30 % more": {"scale": 1.3}},
        ),
    ),
)

# --- what it costs ---


class _Silent:
    """A generator whose noise is 0."""

    @staticmethod
    def standard_normal(shape: Any) -> np.ndarray:
        return np.zeros(shape)


SILENT: Any = _Silent()


def _pair(label: str, shift: np.ndarray, covariance: np.ndarray, rho: float) -> Neighbours:
    return Neighbours(label=label, shift=shift, covariance=covariance, claimed_rho=rho)


def _svec(matrix: np.ndarray) -> np.ndarray:
    """Diagonal, then entries above it."""
    return np.concatenate([np.diag(matrix), matrix[np.triu_indices(len(matrix), 1)]])


def _svec_variances(size: int, scale: float, off: float = 0.5) -> np.ndarray:
    return np.repeat([scale**2, off * scale**2], [size, size * (size - 1) // 2])


def _records(rng: np.random.Generator) -> list[tuple[RecordSample, RecordSample]]:
    """Pairs of single records (z in R^2, x, y): at cosines -1, -1/2, 0 of u and random ones far outside the box."""
    pairs = []
    for cosine in (-1.0, -0.5, 0.0):
        turned = [cosine, math.sqrt(1 - cosine**2)]
        pairs.append((records_of([[5.0, 0.0]], [[5.0]], [9.0]), records_of([np.multiply(7.0, turned)], [[5.0]], [9.0])))
    for _ in range(6):
        one, two = 3 * rng.standard_normal((2, 4))
        pairs.append((records_of([one[:2]], [one[2:3]], one[3:]), records_of([two[:2]], [two[2:3]], two[3:])))
    return pairs


def _moment_pairs(first: float = 1.0, second: float = 1.0, off: float = 0.5) -> Iterator[Neighbours]:
    """Releases U and H; multipliers of what the noise is, for impostors."""
    nothing = records_of([[0.0, 0.0]], [[0.0]], [0.0])
    silent = Streams(noise=SILENT, data=SILENT, initial=SILENT)
    for adjacency in ("zero-out", "replace-one"):
        design = MomentDesign(**UNIT, adjacency=adjacency)
        s1, s2 = design.scales
        sA, sC, sQ = design.block_scales
        variances = np.concatenate([np.full(4, (first * s1) ** 2), _svec_variances(4, second * s2, off)])
        of_blocks = [_svec_variances(2, second * sA, off), np.full(4, (first * sC) ** 2)]
        of_blocks = np.concatenate([*of_blocks, _svec_variances(2, second * sQ, off)])
        for number, (one, two) in enumerate(_records(np.random.default_rng(3))):
            other = nothing if adjacency == "zero-out" else two
            U, W = (release_moments(FixedRecords(sample=part), design, silent, 1) for part in (one, other))
            moved = [U["first"][0] - W["first"][0], _svec(U["second"][0] - W["second"][0])]
            label = f"{adjacency}, pair {number}"
            yield _pair(f"U, {label}", np.concatenate(moved), np.diag(variances), MU**2 / 2)
            A, B = (release_blocks(FixedRecords(sample=part), design, silent, 1) for part in (one, other))
            parts = {name: A[name][0] - B[name][0] for name in A}
            moved = [_svec(parts["instruments"]), parts["cross"].ravel(), _svec(parts["variables"])]
            yield _pair(f"H, {label}", np.concatenate(moved), np.diag(of_blocks), MU**2 / 2)


def _other_pairs(noise: float = 1.0, charged: bool = True) -> Iterator[Neighbours]:
    """S, both stages with controls, both rounds of the one-shot estimator; `noise` multiplies their deviations."""
    yield from _sign_pairs(noise)
    yield from _stage_pairs(noise, charged)
    rng = np.random.default_rng(5)
    settings = OneShot(rho=0.3, instrument_bound=1.0, row_bound=2.0, residual_bound=1.5, share=0.3)
    budgets = [0.3 * settings.rho, 0.7 * settings.rho]
    for q in (1, 2):
        scale, square_scale = settings.block_scales(just_identified=q == 1)
        z = np.eye(1, q)
        extreme = (records_of(9 * z, [[0.0]], [9.0]), records_of(-9 * z, [[0.0]], [9.0]))
        random = [records_of(*(3 * rng.standard_normal(shape) for shape in ((1, q), (1, 1), 1))) for _ in range(2)]
        for name, (one, two) in {"opposite": extreme, "random": tuple(random)}.items():
            (A, C), (B, D) = (first_round(part, settings) for part in (one, two))
            moved, variances = (C - D).ravel(), np.full((q, 2), scale**2).ravel()
            if A is not None and B is not None:
                moved = np.concatenate([moved, _svec((A - B)[0])])
                variances = np.concatenate([variances, _svec_variances(q, square_scale)])
            covariance = noise**2 * np.diag(variances)
            yield _pair(f"round one, q = {q}, {name}", moved, covariance, budgets[0])
            beta = np.array([[0.4]])
            moved = (second_round(one, beta, settings) - second_round(two, beta, settings)).ravel()
            covariance = (noise * settings.residual_scale) ** 2 * np.eye(q)
            yield _pair(f"round two, q = {q}, {name}", moved, covariance, budgets[1])


def _sign_pairs(noise: float) -> Iterator[Neighbours]:
    """Opposite steps at every place of a grid of 6 points, and at different places."""
    size = 6
    design = SignDesign(mu=MU, low=-1.0, high=1.5, size=size, pi=0.7)
    covariance = noise**2 * curve_covariance(design)

    def curve(place: float, sign: float) -> np.ndarray:
        return design.curves(records_of([[0.0]], [[sign]], [sign * place]))[0]

    zero = SignDesign(mu=MU, low=-1.0, high=1.5, size=size, pi=0.7, adjacency="zero-out")
    for step in range(size + 1):
        place = design.low + (step - 0.5) * 0.5
        moved = curve(place, 1.0) - curve(place, -1.0)
        yield _pair(f"S, opposite steps at {step}", moved, covariance, MU**2 / 2)
        yield _pair(f"S, steps at {step} and 3", curve(place, 1.0) - curve(0.25, 1.0), covariance, MU**2 / 2)
        single = covariance * (zero.height / design.height) ** 2
        yield _pair(f"S, zero-out, step at {step}", curve(place, 1.0), single, MU**2 / 2)


def _stage_pairs(noise: float, charged: bool) -> Iterator[Neighbours]:
    """Both stages with controls; without `charged` each stage is calibrated as if it had all of mu."""
    rng = np.random.default_rng(8)

    def sample(cell: int, z: float, x: float, y: float) -> CellSample:
        columns = {"instruments": z, "regressors": x, "outcome": y}
        return CellSample(cells=np.array([[cell]]), **{name: np.array([[value]]) for name, value in columns.items()})

    pairs = {"far apart": (sample(0, 1, 1, 1), sample(1, 1, 1, -1))}
    for number in range(3):
        draws = 2 * rng.standard_normal((2, 3))
        pairs[f"random {number}"] = (sample(0, *draws[0]), sample(number % 2, *draws[1]))
    for adjacency in ("zero-out", "replace-one"):
        design = TwoStageDesign(mu=MU, adjacency=adjacency, ranges="range")
        shares = (design.share, 1 - design.share)
        shrunk = [1.0, 1.0] if charged else [math.sqrt(share) for share in shares]
        released = StageZero(np.array([[[1e4, 1.1e4, 900.0, 800.0, -700.0]] * 2]), np.array([[4e3, 2e3, 4e3]]))
        for name, (one, two) in pairs.items():
            sums = [stage_zero(part, 2, design, SILENT) for part in (one, two)]
            moved = [np.concatenate([part.cells.ravel(), part.totals.ravel()]) for part in sums]
            shift = moved[0] - moved[1] if adjacency == "replace-one" else moved[0]
            covariance = (noise * shrunk[0] * design.cell_scale) ** 2 * np.eye(len(shift))
            yield _pair(f"stage 0, {adjacency}, {name}", shift, covariance, shares[0] * MU**2 / 2)
            ends = [stage_one(part, released, design, SILENT) for part in (one, two)]
            second = [end["second"][0] - end["extra"][0] for end in ends]
            moved = [np.concatenate([end["first"][0], _svec(T2)]) for end, T2 in zip(ends, second, strict=True)]
            shift = moved[0] - moved[1] if adjacency == "replace-one" else moved[0]
            s1, s2 = (noise * shrunk[1] * scale for scale in design.scales)
            covariance = np.diag([s1**2, s1**2, *_svec_variances(2, s2)])
            yield _pair(f"stage 1, {adjacency}, {name}", shift, covariance, shares[1] * MU**2 / 2)


PRIVACY = Claim(
    id="iv/beyond-confidence-release-privacy",
    where="beyond the paper: privacy of simulated releases",
    kind="privacy",
    statement=(
        "Every simulated release is $mu$-GDP on explicit neighbours, and no less noise would do: opposite records for "
        "U and H, opposite steps for S, the two stages with controls one after the other, the two rounds of the "
        "one-shot estimator."
    ),
    hypotheses="$n$ public; a record that is zeroed adds nothing, in stage 1 nothing to what is centred.",
    setting="$mu = 1\\/2$, zero-out and replace-one, records far outside the bounds included.",
    checks=(
        GaussianPrivacy(
            pairs=_moment_pairs,
            impostors={
                "$sqrt(2)$ forgotten in $T_2$": {"pairs": {"second": math.sqrt(0.5)}},
                "svec scale of $T_2$ wrong": {"pairs": {"off": 0.25}},
                "share not charged": {"pairs": {"first": math.sqrt(0.85)}},
            },
        ),
        GaussianPrivacy(
            pairs=_other_pairs,
            impostors={
                "1 % less noise": {"pairs": {"noise": 0.99}},
                "share not charged": {"pairs": {"charged": False}},
            },
        ),
    ),
)
