"""Beyond the paper: what laws of PRN and TAP start from, made-up records, spectra and noise at their last digits."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy import optimize

from dpbounds.arithmetic import FLOATS
from dpbounds.ols import AssumedDesign, Choices, newton, sketch, tail_averaged
from dpbounds.ols.clipping.preconditioned import _Recentred, _Tail
from dpbounds.ols.clipping.rows import rows_of
from dpbounds.ols.methods import sketch_sizes
from dpbounds.ols.sketch import least
from dpbounds.ols.spectrum import spectrum
from simulators.ols import LeastSquares, assumed_records
from simulators.ols.datasets import _bundled_columns
from simulators.ols.tail_averaging import tail_release
from simulators.sources import GaussianSource
from verify.checks import Fact, Holds, Within, refused, taken

EDGES = [2.0 ** (-j / 2) for j in range(15)]


def first_releases(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Histograms and Hessians with their noise, draw by draw, and what they are used for; rows that weigh 4."""
    X = rng.uniform(-0.2, 0.2, (400, 3)) * rng.uniform(0.2, 1.0, (400, 1))
    y = np.clip(X @ [0.9, -0.7, 0.4] + 0.2 * rng.standard_normal(400), -1, 1)
    rows, n, draws = rows_of(X, y).thinned(100), 400, 6
    norms = rows.norms  # of the rows that were taken
    one = np.random.default_rng(5)
    bins = one.standard_normal((2, draws, 15))
    square = one.standard_normal((draws, 3, 3))
    Z = (square + np.swapaxes(square, 1, 2)) / 2
    settings, other = newton.Newton(mu=1.0), tail_averaged.TailAveraged(mu=1.0)
    scales, sd = newton.noise_scales(settings), tail_averaged.noise_scales(other)
    units = {"row_bound": 3.0, "outcome_bound": 0.7}
    plain, scaled = LeastSquares(regressors=X, outcome=y), LeastSquares(regressors=3.0 * X, outcome=0.7 * y, **units)
    found = [tail_release(data, other, GaussianSource(np.random.default_rng(3)))[0] for data in (plain, scaled)]
    yield Fact("TAP in units of its bounds", found[1], found[0] * 0.7 / 3.0, 1e-9)
    tail, recentred = _Tail(rows, rows, other, draws, 5), _Recentred(rows, rows, settings, draws, 5)
    for label, made, noise in (("TAP", tail, sd.products), ("PRN", recentred, scales.products)):
        told = newton.gradient_clip(4 * _counts(norms * abs(rows.y)) + noise * bins[1], noise, n=n)
        yield Fact(f"{label}: c to start from", made.c, told)
        yield Fact(f"{label}: noise of counts", made.noise.counts.shape, (draws, other.steps if label == "TAP" else 9))
    h = newton.hessian_clip(4 * _counts(norms) + scales.norms * bins[0], scales.norms, n=n, d=3, mu=1.0)
    # A hundred rows that point nearly one way, most just below an edge: noise may lift a curvature above n h².
    lengths = np.where(np.arange(100) < 5, 0.75, 0.7)
    line = rows_of(lengths[:, None] * [1.0, 0.0, 0.0] + 1e-3 * rng.standard_normal((100, 3)), y[:100])
    tight = newton.hessian_clip(_counts(line.norms) + scales.norms * bins[0], scales.norms, n=100, d=3, mu=1.0)
    lifted = False
    for draw, level in enumerate(tight.tolist()):
        short = line.X * np.minimum(1.0, level / line.norms)[:, None]
        values = np.linalg.eigvalsh(short.T @ short + scales.hessian * level**2 * Z[draw])
        stated = newton.preconditioner(values, scales.hessian * level**2, 100 * level**2)
        told = _Recentred(line, line, settings, draws, 5).scaled
        yield Fact(f"PRN along a line, draw {draw}: inverse", told.inverse[draw], stated.inverse, 1e-10)
        lifted |= level < 1.0 and values[-1] > 100 * level**2
    yield Holds("PRN along a line: a curvature is cut where h is below 1", lifted)
    for draw in range(draws):
        A = 4 * rows.X.T @ rows.X + sd.hessian * Z[draw]
        values, U = np.linalg.eigh(A)
        K = (U * tail_averaged.inverse(values, sd.hessian, n)) @ U.T
        yield Fact(f"TAP, draw {draw}: preconditioner", tail.K[draw], K, 1e-10)
        short = rows.X * np.minimum(1.0, h[draw] / norms)[:, None]
        scale = scales.hessian * h[draw] ** 2
        values, U = np.linalg.eigh(4 * short.T @ short + scale * Z[draw])
        stated = newton.preconditioner(values, scale, n * h[draw] ** 2)
        for name, told, by_hand in zip(stated._fields, recentred.scaled, stated, strict=True):
            yield Fact(f"PRN, draw {draw}: {name}", np.asarray(told)[draw], by_hand, 1e-10)


def _counts(values: np.ndarray) -> np.ndarray:
    """How many are at most each edge and above the next."""
    ends = [*EDGES[1:], 0.0]
    return np.array([np.sum((values <= high) & (values > low)) for high, low in zip(EDGES, ends, strict=True)], float)


def made_up(rng: np.random.Generator) -> Iterator[Fact | Within | Holds]:
    """Records of a design: rows of one length, residuals of one size and both signs; columns of a set that is named."""
    from sklearn import datasets

    whole = np.asarray(datasets.load_wine(return_X_y=True)[0])  # pyright: ignore[reportArgumentType]
    for part, stated in zip(_bundled_columns("wine"), (whole[:, 1:], whole[:, 0]), strict=True):
        yield Fact("wine: its first column by the others", part, stated, 0.0)
    for last, check in ((9.0, taken), (11.0, partial(refused, parameter="spectrum"))):
        call = partial(AssumedDesign, n=50, d=3, spectrum=(20.0, 20.0, last), theta_norm=0.3, residual=0.04)
        yield check(f"eigenvalues of sum {40 + last:g} of 50 records", call=call)
    design = AssumedDesign(n=5000, d=3, spectrum=(100.0, 250.0, 900.0), theta_norm=0.3, residual=0.04)
    made = assumed_records(design, seed=2)
    lengths = np.linalg.norm(made.regressors, axis=1)
    yield Fact("lengths", lengths, np.full(5000, math.sqrt(1250 / 5000)))
    rest = made.outcome - made.regressors @ np.full(3, 0.3 / math.sqrt(3))
    yield Fact("residuals", np.abs(rest), np.full(5000, 0.2), 1e-11)
    yield Fact("columns", np.sum(made.regressors**2, axis=0), [100.0, 250.0, 900.0])
    yield Within("share of positive residuals", float(np.mean(rest > 0)), 0.4, 0.6)


def last_digits(rng: np.random.Generator) -> Iterator[Fact | Holds | Within]:
    """Noise on the side that keeps a budget, and eigenvalues that are 0 but for rounding, in any unit."""
    for number in (0.6, 0.9, 1.3, *np.exp(rng.uniform(0, 12, 60)).tolist()):
        found = least(lambda x, number=number: number / x - 1, 0.5)
        yield Within(f"the least number of {number:.17g}: beyond", found / number - 1, 0.0, 1e-13)
        yield Holds(f"{number:.17g} is kept", number / found - 1 <= 0)
    yield Fact("what will do already", least(lambda x: 0.4 / x - 1, 0.5), 0.5, 0.0)
    vectors = np.array([[0.6, 0.8, 0.0], [-0.3, 0.1, 0.9]])
    for unit in (1e-9, 1.0, 1e9):
        A = unit * vectors.T @ vectors
        found, b = spectrum(A, A @ [0.4, -2.0, 1.5]), np.linalg.svd(vectors)[1] ** 2
        yield Fact(f"in units of {unit:g}: eigenvalues", found.eigenvalues / unit, [0.0, *sorted(b)])
        star = found.basis @ found.theta
        stated = np.linalg.pinv(vectors) @ vectors @ [0.4, -2.0, 1.5]
        yield Fact(f"in units of {unit:g}: theta*", star, stated, 1e-9)
        nearly = spectrum(A, A @ [0.4, -2.0, 1.5] + 1e-8 * unit * np.cross(*vectors))
        yield Fact(f"in units of {unit:g}: loads, also of a b just outside", nearly.loads, [0.0, *found.loads[1:]])
    for size in (2e-14, 4e-14):
        found = spectrum(np.diag([1.0, size, 1e-3]), np.array([1.0, size, 1.0])).eigenvalues
        yield Holds(f"an eigenvalue of {size:g} beside 1 is 0 below 3e-14", (found[0] == 0) == (size < 3e-14))
    for apart, check in ((9e-10, taken), (1.1e-9, partial(refused, parameter="A"))):
        lopsided = np.array([[1.0, apart, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
        yield check(f"entries {apart:g} apart across the diagonal", call=partial(spectrum, lopsided, np.ones(3)))
    one, other = np.linalg.qr(np.random.default_rng(0).standard_normal((400, 2)))[0].T
    # Singular values of columns of unit length are half of that apart; the limit is 1e-13 times the root of n.
    for apart, star in ((3.8e-12, [0.5, 0.5]), (4.2e-12, [1.0, 0.0])):
        data = LeastSquares(regressors=np.column_stack([one, one + apart * other]), outcome=one)
        yield Fact(f"columns {apart:g} apart", data.theta_star, star, 1e-2)
    data = LeastSquares(regressors=np.column_stack([one, 1e-15 * other]), outcome=one + other)
    yield Fact("columns of lengths far apart", data.theta_star * [1.0, 1e-15], [1.0, 1.0], 1e-9)
    X, y = np.column_stack([one, 3.0 * other, 2.0 * one - other]), one + 0.4 * other + rng.uniform(-0.3, 0.3, 400)
    data, fit = LeastSquares(regressors=X, outcome=y), np.linalg.pinv(X) @ y
    yield Fact("the fit of least norm", data.theta_star, fit, 1e-9)
    yield Fact("its loss", data.least_loss, float(np.sum((y - X @ fit) ** 2)), 1e-9)
    A = np.array([[2.0, 0.3], [0.3, 0.5]])
    for share, kind in ((1.0, "exact"), (0.8, "estimate")):
        told = newton.risk(A, np.array([0.3, -0.4]), A, newton.Newton(mu=5.0), unclipped=share)
        yield Holds(f"PRN's risk where {share:g} are not clipped is {kind}", told.kind == kind)


def sketches(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Rows of both sketches by default, and the fewest that are taken."""
    for d, failure, steps in ((3, 1e-7, 2), (40, 1e-7, 3), (1, 0.5, 5)):
        stated = [int(6 * max(d, math.log(4 * steps / failure))), int(2.5 * max(d, math.log(2 / failure)))]
        if stated[1] >= d + 2:
            yield Fact(f"d = {d}, T = {steps}", sketch_sizes(d, failure, Choices(steps=steps)), tuple(stated), 0.0)
    for name, k, linear_k, inside in (
        ("k", 10, 8, True),
        ("k", 9, 8, False),
        ("linear_k", 10, 7, False),
        ("k", 5 * 10**8, 8, True),
        ("k", 5 * 10**8 + 1, 8, False),
        ("linear_k", 10, 10**9, True),
        ("linear_k", 10, 10**9 + 1, False),
    ):
        check = taken if inside else partial(refused, parameter=name)
        choices = Choices(steps=2, k=k, linear_k=linear_k)
        yield check(
            f"d = 6, k = {k}, linear_k = {linear_k}", call=lambda choices=choices: sketch_sizes(6, 0.1, choices)
        )


def _by_order(k: int, gamma: float, log_term: float, order: float) -> float:
    """phi of (17) as it is printed, and what Lemma 3 adds for delta."""
    phi = k * (order * math.log(1 - 1 / gamma) - math.log(1 - order / gamma)) / (2 * (order - 1))
    return phi + math.log((order - 1) / order) + (log_term - math.log(order)) / (order - 1)


def _best_order(k: int, gamma: float, log_term: float) -> float:
    """The least over orders, by a search."""
    top = math.log(gamma - 1)
    ends, options = (top - 25, top - 1e-9), {"xatol": 1e-9}
    found: Any = optimize.minimize_scalar(
        lambda v: _by_order(k, gamma, log_term, 1 + math.exp(v)), bounds=ends, method="bounded", options=options
    )
    return float(found.fun)


def orders(rng: np.random.Generator) -> Iterator[Fact]:
    """Epsilons of sketches over all orders, for deltas near 1 too; what is printed, by hand."""
    for k, gamma, delta, noise in (
        (1, 1.3, 0.4, 2.0),
        (3, 8.0, 0.2, 0.7),
        (40, 30.0, 1e-3, 5.0),
        (700, 90.0, 1e-9, 3.0),
        (6, 400.0, 0.6, 0.3),
        (700, 3.0, 0.99, 0.5),
        (1, 1.01, 1e-9, 2.0),
    ):
        test = math.sqrt(2 * math.log(3.75 / delta))
        for steps in (1, 3):
            label, rows = f"k = {k}, T = {steps}, gamma = {gamma:g}, delta = {delta:g}", k * steps
            alone, rest = (_best_order(rows, gamma, math.log(least / delta)) for least in (1, 3))
            told = [float(of(gamma, k, delta, steps)) for of in (sketch.renyi_epsilon, sketch.epsilon)]
            stated = [max(alone, 0.0), max(test * math.sqrt(rows) / gamma + rest, 0.0)]
            yield Fact(f"{label}: epsilon, and with the test", told, stated, 1e-9)
        label, rest = f"k = {k}, gamma = {gamma:g}", _best_order(k, gamma, math.log(3 / delta))
        told = float(sketch.guarantee(noise, gamma, k, delta))
        yield Fact(f"{label}: with a test of noise {noise:g}", told, max(test / noise + rest, 0.0), 1e-9)
        for share in (0.1, 0.7):
            order = 1 + share * (gamma - 1)
            added = _by_order(0, gamma, 0.3, order)
            one, printed = sketch.renyi(order, k, gamma), sketch.printed_renyi(FLOATS, order, k, gamma)
            many = sketch.renyi(np.array([order, 1.001]), k, gamma)[0]
            phi = _by_order(k, gamma, 0.3, order) - added
            yield Fact(f"{label}, order {order:g}: divergence", [float(one), printed, float(many)], [phi] * 3, 1e-9)
            yield Fact(f"{label}, order {order:g}: conversion", sketch.conversion(FLOATS, order, 0.3), added)
        told = sketch.printed_epsilon(FLOATS, gamma, k, 1.7)
        yield Fact(f"{label}: (18)", told, (k / gamma + 4 * math.sqrt(3.4 * k)) / (2 * gamma))
        yield Fact(f"{label}: (18), solved", sketch.printed_gamma(FLOATS, told, k, 1.7), gamma)


def of_newton(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """PRN's preconditioner, last factor and clip levels number by number, with two leading axes, one and none."""
    values, noise, largest = rng.uniform(-1.0, 6.0, (2, 3, 4)), rng.uniform(0.2, 1.5, (2, 3)), 4.5
    scaled = newton.preconditioner(values, noise, largest)
    coordinates, known = rng.standard_normal((2, 3, 4)), rng.uniform(0.5, 2.0, (2, 3, 4))
    factors, counts = newton.shrinkage(coordinates, scaled, known), rng.integers(0, 30, (2, 3, 15)).astype(float)
    levels, h = newton.clip_level(counts, 2.0, 90.0), newton.hessian_clip(counts, 2.0, n=600, d=3, mu=2.0)
    c = newton.gradient_clip(counts, 2.0, n=600)
    for at in np.ndindex(2, 3):
        e = noise[at] * math.sqrt(8.0)
        cap, stated = min(e, largest), []
        for value in values[at].tolist():
            w = min(max(value, 0.0), largest)
            stated.append([1 / (w + cap / 2), max(w, 0.3 * cap), 0.3 * cap, w**3 / (w**2 + e**2 / 4)])
        told = np.column_stack([part[at] for part in scaled])
        yield Fact(f"PRN {at}: P, curvature, unknown, weights", told, stated)
        curvature = [row[1] for row in stated]
        found, alone = (sum(np.multiply(curvature, part[at])) for part in (coordinates**2, known))
        yield Fact(f"PRN {at}: last factor", factors[at], min(max((found / alone - 0.7) / 0.6, 0.0), 1.0))
        own = [j for j in range(15) if j == 0 or sum(counts[at][:j]) + 3.0 * math.sqrt(j) <= 90.0]
        yield Fact(f"PRN {at}: clip level", levels[at], EDGES[max(own)], 0.0)
        wider = min(1.0, EDGES[max(own)] * math.sqrt(max(1.0, 0.05 * 1200 / 3**1.5)))
        yield Fact(f"PRN {at}: h", h[at], min(edge for edge in EDGES if edge >= wider * (1 - 1e-12)), 0.0)
        own = [j for j in range(15) if j == 0 or sum(counts[at][:j]) + 3.0 * math.sqrt(j) <= 180.0]
        yield Fact(f"PRN {at}: c", c[at], 0.1 if max(own) == 0 else min(EDGES[max(own)], 0.15), 0.0)
        yield Fact(f"PRN {at}: without leading axes", newton.clip_level(counts[at], 2.0, 90.0), levels[at], 0.0)
    yield from _gains(scaled, noise)
    for d, mu in ((3, 1e-3), (40, 4.0), (40, 8.5), (40, 11.0), (40, 12.5), (40, 14.0)):
        wider = EDGES[6] * math.sqrt(max(1.0, 0.05 * mu * 600 / d**1.5))
        told = newton.hessian_clip(np.eye(15)[6] * 600, 1e-9, n=600, d=d, mu=mu)
        yield Fact(f"PRN, d = {d}, mu = {mu:g}: h", told, min(e for e in EDGES if e >= wider * (1 - 1e-12)), 0.0)
    t = np.linspace(0.0, 1.0, 20_001)
    for rounds, hessian in ((0.2, 0.5), (5.0, 0.1), (1.0, 0.9)):
        worst = np.max(rounds * (2 + 2 * t) + hessian * np.maximum(1.0, 2 - 2 * t**2))
        yield Fact(f"PRN, {rounds:g} and {hessian:g}: the dearest pair", newton.steepest(rounds, hessian), worst, 1e-8)
    path = newton.clip_path(0.2, lambda c: 0.4 + c, newton.Newton(mu=1.0, steps=3), n=500, d=4)
    own, noise_of_counts = [0.2], newton.noise_scales(newton.Newton(mu=1.0, steps=3)).counts
    for _ in range(2):
        trust = 1 / (1 + (noise_of_counts / 75) ** 2)
        own.append(own[-1] * math.exp(1.5 * trust * (0.3 - own[-1])))
    yield Fact(
        "PRN: clip levels where counts have no noise", path, np.minimum(np.array(own) * 0.3 * math.sqrt(125), 1.0)
    )
    A = np.array([[2.0, 0.3], [0.3, 0.5]])
    settings = newton.Newton(mu=5.0, steps=3, growth=2.0)
    told = newton.risk(A, np.array([0.3, -0.4]), A, settings)
    yield Holds("PRN's risk is exact where nothing is said of clipping", told.kind == "exact")
    # Rounds spend 0.78 of mu² in all.
    stated = 0.09 * float(np.trace(np.linalg.inv(A))) / (0.78 * 25)
    yield Fact("PRN's leading risk", float(newton.leading_risk(A, settings, gradient_clip=0.3)), stated)


def _gains(scaled: newton.Preconditioner, noise: np.ndarray) -> Iterator[Fact]:
    """Three rounds in each direction: the gain of least variance, which is a parabola's, and the variances after it."""
    gains, path = newton.Gains(scaled), [0.8, 0.5, 0.05]
    told = [(gains.step(size * noise), gains.error, gains.known.copy()) for size in path]
    for at in np.ndindex(2, 3, 4):
        inverse, curvature, unknown, weight = (float(part[at]) for part in scaled)
        variance, alone = 1e6 * (path[0] * noise[at[:2]] * inverse) ** 2, 0.0
        for size, (gain, error, known) in zip(path, told, strict=True):
            own = (size * noise[at[:2]] * inverse) ** 2
            # (1 - g P k)² V + g² (v + (P u)² V), highest power first.
            square = variance * inverse**2 * (curvature**2 + unknown**2) + own
            parabola = [square, -2 * variance * inverse * curvature, variance]
            best = min(1.0, -parabola[1] / (2 * square))
            variance = float(np.polyval(parabola, best))
            alone = alone * (1 - best * inverse * weight) ** 2 + best**2 * own
            assert error is not None
            yield Fact(f"PRN {at}, noise {size:g}: gain", gain[at], best, 1e-10)
            yield Fact(f"PRN {at}, noise {size:g}: variances", [error[at], known[at]], [variance, alone], 1e-9)
