"""Beyond the paper: stacked private releases against each by itself and against loops over records."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from dpbounds.iv.confidence import ADJACENCIES, Adjacency, anderson_rubin, block_scales, noise_scales
from simulators.engine import Streams
from simulators.iv.confidence import (
    MomentDesign,
    OneShot,
    SignDesign,
    WeakInstruments,
    block_releases,
    block_variation,
    clamping_variation,
    moment_releases,
    one_shot,
    release_blocks,
    release_blocks_in_law,
    release_moments,
    release_moments_in_law,
)
from simulators.iv.confidence.noise import wishart
from simulators.iv.samples import RecordSample
from verify.checks import Agreement, Fact, Holds, Times, refused, taken
from verify.papers.iv.tools.coverage import FixedRecords, block_test, boxed, moment_test, records_of
from verify.statements.claims import Claim

_OFF = {"a millionth more": {"facts": Times(1.000001)}}
MU = 0.5


def _stacked(rng: np.random.Generator) -> Iterator[Fact]:
    """A test of each release by itself against the stacked arrays; how far laws may differ by normal tails."""
    streams = Streams(noise=rng, data=rng, initial=rng)
    problem = WeakInstruments(n=60, q=3, strength=20.0, endogeneity=0.5)
    design = boxed(problem, 3.0)
    arrays = release_moments(problem, design, streams, 5)
    test = moment_test(arrays, design, [0.7])
    for trial, release in enumerate(moment_releases(arrays, design, problem.n)):
        found = anderson_rubin(release, [0.7])
        yield Fact(f"U, release {trial}", [part[trial] for part in test], list(found), 1e-9)
    arrays = release_blocks(problem, design, streams, 5)
    test = block_test(arrays, design, problem.n, [0.7])
    for trial, release in enumerate(block_releases(arrays, design, problem.n)):
        found = anderson_rubin(release, [0.7])
        yield Fact(f"H, release {trial}", [part[trial] for part in test], list(found), 1e-9)
    yield from _by_loops(rng)
    yield from _one_shot(rng)
    signs = WeakInstruments(n=1000, q=1, strength=11.0, endogeneity=0.5, instruments="sign")
    wide = boxed(signs, 1.0, multiple=5.0)
    # Given z = +-1: x ~ N(+-1/10, 1), y ~ N(+-1/10, 3); means and bounds in units of their deviations.
    tails = 0.0
    for deviation, bound in ((1.0, 5 * math.sqrt(1.01)), (math.sqrt(3.0), 5 * math.sqrt(3.01))):
        tails += sum(math.erfc((bound - mean) / deviation / math.sqrt(2)) / 2 for mean in (-0.1, 0.1))
    yield Fact("clamped records, signs", clamping_variation(signs, wide), 1000 * tails, 1e-9)
    gaussian = WeakInstruments(n=1000, q=2, strength=11.0, endogeneity=0.5)
    outcome, regressor = gaussian.deviations
    yield Fact("deviations", [outcome**2, regressor**2], [3.02, 1.02], 1e-12)
    stated = 1000 * (2 * math.erfc(5 / math.sqrt(2)) + math.exp(-25 / 2))
    yield Fact("clipped rows, Gaussian", block_variation(gaussian, boxed(gaussian, 1.0, instrument=5.0)), stated, 1e-9)


def _by_loops(rng: np.random.Generator) -> Iterator[Fact]:
    """The vectors u of release U, and the curve of release S, record by record."""
    sample = records_of(2 * rng.standard_normal((30, 2)), 3 * rng.standard_normal((30, 1)), 4 * rng.standard_normal(30))
    centres: dict[str, Any] = {"outcome_centre": 0.5, "regressor_centres": (-1.0,)}
    design = MomentDesign(mu=MU, instrument_bound=1.5, outcome_bound=3.0, regressor_bounds=(2.0,), ratio=0.7, **centres)
    # a_y^2 = Y W and a_x^2 = X W / |beta| with |beta| X = .7 Y, W = 1.7 Y.
    weights = np.array([3.0 * math.sqrt(1.7), 2.0 * math.sqrt(1.7 / 0.7)])
    found = design.vectors(sample)[0]
    signs = SignDesign(mu=MU, low=-1.0, high=2.0, size=7, pi=0.3, outcome_centre=0.5, regressor_centre=-1.0)
    curve = np.zeros(7)
    for i in range(30):
        z, x, y = sample.instruments[0, :, i], sample.regressors[0, 0, i] + 1.0, sample.outcome[0, i] - 0.5
        clipped = z / max(1.5, math.hypot(*z))
        v = np.array([min(max(y, -3.0), 3.0), min(max(x, -2.0), 2.0)]) / weights
        yield Fact(f"u, record {i}", found[:, i], np.kron(v, clipped), 1e-12)
        curve += [(float(z[0] > 0) - 0.3) * math.copysign(1.0, y - beta * x) for beta in np.linspace(-1.0, 2.0, 7)]
    first = RecordSample(instruments=sample.instruments[:, :1], regressors=sample.regressors, outcome=sample.outcome)
    yield Fact("curve of signs", signs.curves(first)[0], curve, 1e-12)


def _one_shot(rng: np.random.Generator) -> Iterator[Fact]:
    """Both rounds again by least squares, from the same normals; with and without eigenvalues that noise drowns."""
    z, w = rng.standard_normal((80, 2)), rng.standard_normal(80)
    x = z @ [1.0, 0.6] + w
    y = 0.7 * x + w + rng.standard_normal(80)
    problem = FixedRecords(sample=records_of(2 * z, x[:, None], y))
    bounded = 2 * z / np.maximum(1.5, np.linalg.norm(2 * z, axis=1))[:, None]
    rows = np.column_stack([y, x]) / np.maximum(2.5, np.hypot(x, y))[:, None]
    bounds: dict[str, Any] = {"instrument_bound": 1.5, "row_bound": 2.5, "residual_bound": 0.9}
    cases: tuple[tuple[float, Adjacency, float], ...] = (
        (200.0, "zero-out", 1.5),
        (0.02, "zero-out", 1.5),
        (200.0, "replace-one", 4.0),
    )
    for rho, adjacency, cost in cases:
        settings = OneShot(rho=rho, share=0.3, adjacency=adjacency, **bounds)
        streams = Streams(noise=np.random.default_rng(11), data=rng, initial=rng)
        found, noise = one_shot(problem, settings, streams, 1), np.random.default_rng(11)
        # Z'V costs 1 and Z'Z half of its squared distance: 3/2 together, 4 for two opposite records.
        scale = math.sqrt(cost / (2 * rho * 0.3))
        cross = bounded.T @ rows + scale * noise.standard_normal((2, 2))
        entries = math.sqrt(2) * scale * noise.standard_normal((2, 2))
        values, vectors = np.linalg.eigh(bounded.T @ bounded + (entries + entries.T) / 2)
        root = vectors.T / np.sqrt(np.maximum(values, 2 * math.sqrt(2) * scale))[:, None]
        (first,) = np.linalg.lstsq(root @ cross[:, 1:], root @ cross[:, 0])[0]
        clipped = np.clip(y - first * x, -0.9, 0.9)
        opposite = 1.0 if adjacency == "zero-out" else 2.0
        noisy = bounded.T @ clipped + 0.9 * opposite / math.sqrt(2 * rho * 0.7) * noise.standard_normal(2)
        (step,) = np.linalg.lstsq(2.5 * root @ cross[:, 1:], root @ noisy)[0]
        label = f"rho = {rho:g}, {adjacency}"
        yield Fact(f"one-shot, {label}", [found["first_beta"][0, 0], found["beta"][0, 0]], [first, first + step], 1e-9)
        hat = np.linalg.lstsq((2 * z) @ np.linalg.lstsq(2 * z, x)[0][:, None], y)[0][0]
        yield Fact(f"distance to 2SLS, {label}", found["error_hat"][0], abs(first + step - hat), 1e-9)


# --- in law ---


def _again() -> np.random.Generator:
    """The generator that a release draws from, again."""
    return np.random.default_rng(7)


def _symmetric(normals: np.ndarray, scale: float) -> np.ndarray:
    return scale * (normals + normals.swapaxes(-1, -2)) / 2


RHO, SLOPE, PI, TRIALS = 0.6, 1.4, 0.5, 3
KEPT = math.sqrt(1 - RHO**2)


def _model(n: int, q: int, instruments: Any, errors: Any = "normal") -> WeakInstruments:
    strength = 1 + n * PI**2
    return WeakInstruments(
        n=n, q=q, strength=strength, endogeneity=RHO, slope=SLOPE, instruments=instruments, errors=errors
    )


def _bartlett(rng: np.random.Generator) -> Iterator[Fact]:
    """Wishart's matrices from their normals and chi-squares; with fewer degrees than rows, of that rank."""
    degrees = np.array([5, 2, 1, 0])
    found, own = wishart(_again(), degrees, 3), _again()
    normals = own.standard_normal((4, 3, 3))
    halves = np.array([[max(nu - i, 0) / 2 for i in range(3)] for nu in degrees])
    gammas = own.standard_gamma(halves)
    for nu, matrix, normal, gamma in zip(degrees, found, normals, gammas, strict=True):
        root = np.zeros((3, 3))
        for i in range(min(nu, 3)):
            root[i, i], root[i + 1 :, i] = math.sqrt(2 * gamma[i]), normal[i + 1 :, i]
        yield Fact(f"Wishart's matrix, {nu} degrees", matrix, root @ root.T)


def _blocks_in_law(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Release H: the columns of a root of the moments of (z, e_1, w) stand for records."""
    model = _model(40, 2, "gaussian")
    wide: dict[str, Any] = {"instrument_bound": 9.0, "outcome_bound": 30.0, "regressor_bounds": (15.0,)}
    for adjacency in ADJACENCIES:
        design = MomentDesign(mu=2.0, ratio=0.7, adjacency=adjacency, **wide)
        streams = Streams(noise=_again(), data=_again(), initial=rng)
        found, own = release_blocks_in_law(model, design, streams, TRIALS), _again()
        (z1, z2, e, w) = np.linalg.cholesky(wishart(_again(), np.full(TRIALS, 40), 4)).swapaxes(0, 1)
        x = PI * (z1 + z2) + RHO * e + KEPT * w
        a_y, a_x = 30.0 * math.sqrt(1.7), 15.0 * math.sqrt(1.7 / 0.7)
        Z, V = np.stack([z1, z2], axis=1) / 9, np.stack([(SLOPE * x + e) / a_y, x / a_x], axis=1)
        scales = block_scales(2.0, adjacency=adjacency)
        exact = (Z @ Z.swapaxes(1, 2), Z @ V.swapaxes(1, 2), V @ V.swapaxes(1, 2))
        normals = [own.standard_normal(part.shape) for part in exact]
        noise = (
            _symmetric(normals[0], float(scales.instruments)),
            float(scales.cross) * normals[1],
            _symmetric(normals[2], float(scales.variables)),
        )
        for name, part, moved in zip(("instruments", "cross", "variables"), exact, noise, strict=True):
            yield Fact(f"H, {name}, {adjacency}", found[name], part + moved, 1e-11)
    streams = Streams(noise=_again(), data=_again(), initial=rng)
    for label, parameter, changed in (
        ("a centre of y", "outcome_centre, regressor_centres", {"outcome_centre": 0.1}),
        ("a centre of x", "outcome_centre, regressor_centres", {"regressor_centres": (0.1,)}),
        # 40 P(chi-square with 2 degrees > B²) = 40 exp(-B² / 2).
        ("a bound left by 1.1e-6 of records", "n P(a record is clipped)", {"instrument_bound": _bound(1.1e-6)}),
    ):
        design = MomentDesign(mu=2.0, **{**wide, **changed})
        yield refused(f"H, {label}", parameter, lambda design=design: release_blocks_in_law(model, design, streams, 1))
    design = MomentDesign(mu=2.0, **{**wide, "instrument_bound": _bound(0.9e-6)})
    yield taken("H, a bound left by 9e-7 of records", lambda: release_blocks_in_law(model, design, streams, 1))
    for other in (_model(40, 2, "sign"), _model(40, 2, "gaussian", "t3")):
        label = f"H, {other.instruments} instruments, {other.errors} errors"
        yield refused(label, "problem", lambda other=other: release_blocks_in_law(other, design, streams, 1))


def _blocks_of_records(rng: np.random.Generator) -> Iterator[Fact]:
    """Release H of two regressors, from the clipped and clamped records and the same normals."""
    n, trials = 25, 2
    z, x, y = 1.5 * rng.standard_normal((n, 2)), 2 * rng.standard_normal((n, 2)), 4 * rng.standard_normal(n)
    problem: Any = FixedRecords(sample=records_of(z, x, y))
    bounds: dict[str, Any] = {"instrument_bound": 1.3, "outcome_bound": 3.0, "regressor_bounds": (2.0, 1.4)}
    design = MomentDesign(mu=2.0, outcome_centre=0.5, regressor_centres=(-0.4, 0.3), ratio=0.7, **bounds)
    found, own = release_blocks(problem, design, Streams(noise=_again(), data=rng, initial=rng), trials), _again()
    Z = z / np.maximum(1.3, np.linalg.norm(z, axis=1))[:, None]
    a_y, a_x = design.weights
    inside = [np.clip(y - 0.5, -3, 3), np.clip(x[:, 0] + 0.4, -2, 2), np.clip(x[:, 1] - 0.3, -1.4, 1.4)]
    V = np.column_stack(inside) / [a_y, *a_x]
    scales = block_scales(2.0, adjacency=design.adjacency)
    square = _symmetric(own.standard_normal((trials, 2, 2)), float(scales.instruments))
    crossed = float(scales.cross) * own.standard_normal((trials, 2, 3))
    yield Fact("H, Z'Z of records", found["instruments"], Z.T @ Z + square, 1e-11)
    yield Fact("H, Z'V of records", found["cross"], Z.T @ V + crossed, 1e-11)
    square = _symmetric(own.standard_normal((trials, 3, 3)), float(scales.variables))
    yield Fact("H, V'V of records", found["variables"], V.T @ V + square, 1e-11)


def _bound(share: float) -> float:
    return math.sqrt(2 * math.log(40 / share))


def _moments_in_law(rng: np.random.Generator) -> Iterator[Fact]:
    """Release U: sums and scatters given the signs of the instruments, as many records of each as are drawn."""
    n = 9
    model = _model(n, 2, "sign", "heteroskedastic")
    design = MomentDesign(
        mu=2.0, ratio=0.7, instrument_bound=1.9, outcome_bound=40.0, regressor_bounds=(20.0,), outcome_centre=0.6,
        regressor_centres=(-0.3,),
    )  # fmt: skip
    streams = Streams(noise=_again(), data=_again(), initial=rng)
    found, own, noise = release_moments_in_law(model, design, streams, TRIALS), _again(), _again()
    signs = list(itertools.product((-1, 1), repeat=2))
    counts = own.multinomial(n, [0.25] * 4, size=TRIALS)
    normals = own.standard_normal((TRIALS, 4, 2))
    scatters = wishart(own, np.maximum(counts - 1, 0), 2)
    a_y, a_x = 40.0 * math.sqrt(1.7), 20.0 * math.sqrt(1.7 / 0.7)
    for trial in range(TRIALS):
        first, second = np.zeros(4), np.zeros((4, 4))
        for count, (z1, z2), normal, scatter in zip(counts[trial], signs, normals[trial], scatters[trial], strict=True):
            x, spread = PI * (z1 + z2), math.sqrt(1 + z1 / 2)
            mean = np.array([(SLOPE * x - 0.6) / a_y, (x + 0.3) / a_x])
            root = np.array([[(SLOPE * RHO + 1) * spread / a_y, SLOPE * KEPT / a_y], [RHO * spread / a_x, KEPT / a_x]])
            total, z = count * mean + math.sqrt(count) * (root @ normal), np.array([z1, z2]) / 1.9
            first += np.kron(total, z)
            if count:
                second += np.kron(root @ scatter @ root.T + np.outer(total, total) / count, np.outer(z, z))
        yield Fact(f"U, first moments of trial {trial}", found["exact_first"][trial], first, 1e-11)
        yield Fact(f"U, second moments of trial {trial}", found["exact_second"][trial], second, 1e-11)
    s1, s2 = map(float, noise_scales(2.0, adjacency=design.adjacency))
    moved = s1 * noise.standard_normal((TRIALS, 4))
    yield Fact("U, noise of first moments", found["first"] - found["exact_first"], moved, 1e-11)
    moved = _symmetric(noise.standard_normal((TRIALS, 4, 4)), s2)
    yield Fact("U, noise of second moments", found["second"] - found["exact_second"], moved, 1e-11)


STACKED = Claim(
    id="iv/beyond-confidence-stacked",
    where="beyond the paper: stacked releases",
    kind="number",
    statement=(
        "The test of many stacked releases is that of each by itself;",
        (
            "laws drawn from sufficient statistics differ from those of records by no more than the chance that a "
            "record is clipped: they are made of the sums and scatters that the instruments leave, draw by draw, and "
            "are refused where more than $10^(-6)$ records would be clipped on average."
        ),
    ),
    setting="Releases U and H, $q = 3$, $n = 60$.",
    checks=(
        Agreement(decides="ab", facts=_stacked, impostors=_OFF),
        Agreement(decides="b", facts=_bartlett, impostors=_OFF),
        Agreement(decides="b", facts=_blocks_of_records, impostors=_OFF),
        Agreement(decides="b", facts=_blocks_in_law, impostors=_OFF),
        Agreement(decides="b", facts=_moments_in_law, impostors=_OFF),
    ),
)
