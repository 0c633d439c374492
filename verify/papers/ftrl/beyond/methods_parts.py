"""Beyond the paper: parts of proofs for linear methods and of searches for noise, each by its definition."""

from __future__ import annotations

import time
from collections.abc import Iterator
from fractions import Fraction
from types import SimpleNamespace
from typing import Any
from unittest import mock

import flint
import numpy as np
from scipy import special, stats

from dpbounds.ftrl.correlations import from_coefficients, independent
from dpbounds.ftrl.design.acceleration import Anderson
from dpbounds.ftrl.design.certified import certified_bound
from dpbounds.ftrl.design.clipped.expectations import moments
from dpbounds.ftrl.design.clipped.results import run_of
from dpbounds.ftrl.methods import (
    GradientNoise,
    bound_horizon,
    bound_method,
    gradient_descent,
    heavy_ball,
    momentum,
    momentum_gain,
    recheck,
)
from dpbounds.ftrl.methods.conic import Conic
from dpbounds.ftrl.methods.cycles import _proved
from dpbounds.ftrl.methods.fractions import _dominates, _has_positive_pivots, positive_definite, product
from dpbounds.ftrl.methods.problem import Problem, nearest_outwards
from dpbounds.ftrl.strongly_convex import Noise, StronglyConvex, bound, recertify
from verify.checks import Agreement, Fact, Holds, Times, Within, refused
from verify.papers.ftrl.beyond.methods_coordinates import coordinates, searches
from verify.papers.ftrl.beyond.methods_cycles import _nearest
from verify.papers.ftrl.beyond.methods_searches import inequalities, noises, systems, tables
from verify.papers.ftrl.tools.design import random_objective
from verify.statements.claims import Claim

# --- proofs ---


def _polygons(rng: np.random.Generator) -> Iterator[Holds | Within]:
    """Whether a corner is proved nearest, against the nearest point of the polygon found edge by edge."""
    own, seen = np.random.default_rng(31), []
    for _ in range(60):
        eta, momentum, mu = own.uniform([0.2, 0.0, 0.001], [3.9, 0.95, 0.3])
        corners = int(own.integers(3, 8))
        method, turn = heavy_ball(eta=eta, momentum=momentum), np.exp(2j * np.pi / corners)
        gain = -eta * turn / (turn**2 - (1 + momentum) * turn + momentum)
        nearest = (1 / gain - mu) / (1 - mu)
        away = abs(_nearest(nearest * turn ** np.arange(corners), 1.0) - nearest)
        if not 1e-9 < away < 1e-6:
            seen.append(away <= 1e-9)
            label = f"eta = {eta:.3g}, momentum {momentum:.3g}, mu = {mu:.3g}, {corners} corners"
            yield Holds(label, _proved(method, mu, 1.0, corners) == seen[-1])
    yield Within("of them stay", sum(seen), 5, 55)


def _fractions(rng: np.random.Generator) -> Iterator[Fact | Holds | Within]:
    """Products and definiteness of matrices of fractions, also where floats see neither."""
    own = np.random.default_rng(32)
    a, b, c = (
        [[Fraction(int(x), 7) for x in row] for row in own.integers(-9, 9, shape)] for shape in ((2, 3), (3, 4), (4, 1))
    )
    found = product(*map(_matrix, (a, b, c)))
    plain = [[sum(row[j] * b[j][k] * c[k][0] for j in range(3) for k in range(4))] for row in a]
    yield Holds("a product of fractions", [[Fraction(int(x.p), int(x.q)) for x in row] for row in found] == plain)
    floats = own.uniform(-1, 1, (2, 3)), own.uniform(-1, 1, (3, 4))
    yield Fact("of floats", product(*floats), np.einsum("ij,jk->ik", *floats))
    hilbert = [[Fraction(1, i + j + 1) for j in range(14)] for i in range(14)]
    less = [*hilbert[:-1], [*hilbert[-1][:-1], hilbert[-1][-1] - Fraction(1, 10**14)]]
    tiny = Fraction(1, 10**30)
    for label, rows, definite in (
        ("2, 1, 2", [[2, 1], [1, 2]], True),
        ("1, 2, 1", [[1, 2], [2, 1]], False),
        ("a singular one", [[1, -1, 0], [-1, 1, 0], [0, 0, 1]], False),
        ("above it", [[1 + tiny, -1, 0], [-1, 1, 0], [0, 0, 1]], True),
        ("below it", [[1 - tiny, -1, 0], [-1, 1, 0], [0, 0, 1]], False),
        ("a zero on the diagonal", [[0, 0], [0, 1]], False),
        ("a negative last", [[3, 1, 1], [1, 3, 1], [1, 1, Fraction(2, 5)]], False),
        ("a small last", [[3, 1, 1], [1, 3, 1], [1, 1, Fraction(3, 5)]], True),
        ("Hilbert's", hilbert, True),
        ("Hilbert's, its last less", less, False),
    ):
        matrix = _matrix(rows)
        told = [positive_definite(matrix), _has_positive_pivots(matrix)]
        yield Holds(
            f"positive definite, {label}: {definite}", told == [definite] * 2 and definite >= _dominates(matrix)
        )
    yield from _without_elimination()


def _without_elimination() -> Iterator[Holds | Within]:
    """Definite by rounded inverses of factors, units of any size; near singular matrices that floats take for it."""
    own, passed = np.random.default_rng(34), 0
    for size, spread in ((2, 3), (5, 9), (7, 20)):
        roots = own.integers(-9, 10, (size, size)) + 30 * np.eye(size, dtype=int)
        units = [Fraction(10) ** int(one) for one in own.integers(-spread, spread + 1, size)]
        gram = (roots @ roots.T).astype(int).tolist()
        rows = [[x * a * b for x, b in zip(row, units, strict=True)] for row, a in zip(gram, units, strict=True)]
        yield Holds(f"{size} rows, units to 10^{spread}", _dominates(_matrix(rows)))
    with mock.patch.object(
        np.linalg, "cholesky", return_value=np.eye(2)
    ):  # any factor: a diagonal has to outweigh rows
        for side, outweighs in ((2, True), (3, False), (4, False), (5, False)):
            told = _dominates(_matrix([[Fraction(3), Fraction(side)], [Fraction(side), Fraction(3)]]))
            yield Holds(f"3 on the diagonal, {side} beside it", told == outweighs)
    for _ in range(40):
        v = [Fraction(int(x), 2**20) for x in own.integers(2**19, 2**21, 3)]
        w = [Fraction(int(x), 2**20) for x in own.integers(-(2**20), 2**20, 3)]
        rows = [[a * b + x * y for b, y in zip(v, w, strict=True)] for a, x in zip(v, w, strict=True)]
        rows[2][2] -= Fraction(1, 10**25)
        passed += _has_factor([[float(x) for x in row] for row in rows])
        yield Holds("one that hardly is none", not _dominates(_matrix(rows)) and not positive_definite(_matrix(rows)))
    yield Within("of which floats factor", passed, 5, 35)


def _has_factor(rows: list[list[float]]) -> bool:
    try:
        np.linalg.cholesky(np.array(rows))
    except np.linalg.LinAlgError:
        return False
    return True


def _matrix(rows: Any) -> np.ndarray:
    """Of fractions as they are counted with."""
    entries = [[flint.fmpq(Fraction(x).numerator, Fraction(x).denominator) for x in row] for row in rows]
    return np.array(entries, dtype=object)


def _solved(rng: np.random.Generator) -> Iterator[Fact | Within | Holds]:
    """The error of a program is relative to its objective; what a proof says it is; the seconds it took."""
    A, b = np.array([[-1.0, -1.0], [0.0, -1.0], [-1.0, 2.0]]), np.array([-2.0, 0.5, 4.0])
    cost = np.array([1.0, 3.0])
    one, other = (Conic(A, b, unit * cost, equations=0, bounds=3, triangles=()).least("x") for unit in (1.0, 4096.0))
    yield Fact("the least x + 3 y", one.x, [2.5, -0.5], 1e-7)
    yield Fact("the error in other units", other.error, one.error, 1e-6)
    yield Within("and at the least", one.error, 1e-18, 1e-6)
    for poles, kind in ((8, "lower"), (9, "estimate")):
        weights = [1.0, *(0.02 * np.arange(1, poles + 1)).tolist()]
        noise = Noise(correlation=from_coefficients(weights), rho=0.5)
        # heavy ball has two states: (2 + poles) (3 + poles) / 2 moments, 60 at most in fractions.
        told = Problem(heavy_ball(eta=0.2, momentum=0.3), noise, 0.1, 1.0, "f", None).error_at(0.7)
        yield Holds(f"an error with {poles} draws kept is a bound of kind {kind}", told.kind == kind)
    yield from _outwards()
    yield from _clocks()


def _outwards() -> Iterator[Fact | Holds]:
    """Bounds are the nearest floats outside of their fractions, of numbers with any digits; errors in other units."""
    for p, q in ((1, 3), (-5, 7), (3, 4), (3**700, 2**1109), (2**1100 + 1, 3**690), (5, 3 * 2**1000 - 1)):
        number = flint.fmpq(p, q)
        for kind, sign in (("upper", 1), ("lower", -1)):
            end = nearest_outwards(number, kind)  # pyright: ignore[reportArgumentType]
            inside = Fraction(float(np.nextafter(end, -sign * np.inf)))
            outside = sign * (Fraction(end) - Fraction(p, q)) >= 0 > sign * (inside - Fraction(p, q))
            yield Holds(f"{kind}, {p.bit_length()} and {q.bit_length()} digits", outside)
    made = GradientNoise(variance=0.3, co=0.7, distance=1.1, gradient=-0.4).scaled(1.6, 0.25)
    told = [made.variance, made.co, made.distance, made.gradient]
    yield Fact("errors in other units", told, [0.3 / 0.25, 0.7 / 1.6, 1.1 / 1.6**2, -0.4])


def _clocks() -> Iterator[Within]:
    """Seconds are those that have passed, on a clock that began long ago."""
    bare, began = Noise(correlation=independent(), rho=0.5), time.perf_counter
    problem = StronglyConvex(mu=0.2, L=1.0, eta=0.3, rho=0.5)
    with mock.patch("time.perf_counter", lambda: 1e6 + began()):
        found = bound_method(bare, gradient_descent(eta=0.3), mu=0.2, L=1.0)
        held = bound_horizon(np.eye(2), gradient_descent(eta=0.1), 2, mu=0.1, L=1.0, initial=1.0)
        convex = bound(independent(), problem, max_lag=1)
        for label, seconds in (
            ("a bound", found.seconds),
            ("a bound that is proved again", recheck(found.data()).seconds),
            ("a bound over two steps", held.seconds),
            ("multipliers", convex.solve_seconds),
            ("their proof", convex.certify_seconds),
            ("their proof again", recertify(convex.data()).certify_seconds),
        ):
            yield Within(f"seconds of {label}", seconds, 1e-7, 600.0)


def _compared(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """What is compared where both methods have a proved rate: eta L is at most 1; with a bound that is told, not found.

    mu = 1 / kappa: gradient descent takes eta = r / mu, Nesterov's method (2 r)^2 / mu.
    """
    told: list[Any] = []

    def bounded(noise: Any, method: Any, **given: Any) -> Any:
        told.append((noise, method, given))
        return SimpleNamespace(value=value, noise=noise, **given)

    def noise_of(noise: Noise, method: Any, **given: Any) -> Any:
        told.append((noise, method, given))
        return noise

    errors = (None, 0.0), (GradientNoise(variance=0.3, co=0.5, gradient=-0.4), 0.3)
    errors += ((GradientNoise(variance=0.3, co=0.2, distance=0.1, gradient=-0.4), 0.0),)
    with mock.patch.multiple(momentum, best_noise=noise_of, bound_method=bounded):
        for label, rate, kappa, taken in (
            ("both below", 0.2, 4.5, True),
            ("gradient descent below, Nesterov's method at 0.99", 0.99**0.5 / 4, 4.0, True),
            ("Nesterov's method at 1.01", 1.01**0.5 / (2 * 3.5**0.5), 3.5, False),
            ("gradient descent at 1.01", 0.101, 10.0, False),
            ("a rate above 1 / 2", 0.51, 1.01, False),
        ):
            value = 1e-9
            yield Holds(f"{label}: compared {taken}", (momentum_gain(rate, kappa) is not None) == taken)
        for extra, variance in errors:
            eta = 0.18 / 0.22
            least = eta**2 / 2 * (2 / np.pi * special.ellipk((1 - eta) ** 2)) ** 2 + variance * eta / (2 * (2 - eta))
            for value, better in ((least / 1.001, True), (least * 1.001, False)):
                told.clear()
                found = momentum_gain(0.18, 1 / 0.22, gradient_noise=extra)
                yield Holds(f"gain {least / value:.4g}, errors of variance {variance:g}", (found is not None) == better)
                if found is not None:
                    yield Fact("descent, and gain", [found.descent, found.gain], [least, 1.001], 1e-10)
            (noise, method, _), (_, again, given) = told
            asked = [noise.rho, noise.d, noise.clip_norm, noise.sigma_sgd, *method.B, given["mu"], given["L"]]
            yield Fact("of Nesterov's method", asked, [0.5, 1, 1.0, 0.0, *[-(0.36**2) / 0.22] * 2, 0.22, 1.0])
            yield Holds("with these errors", again is method and given["gradient_noise"] is extra)
    yield refused("a condition number of 1", "kappa", lambda: momentum_gain(0.1, 1.0))


def _refusals(rng: np.random.Generator) -> Iterator[Holds]:
    """Learning rates of a schedule that are too large, or 0."""
    for schedule, parameter in (([0.1, 1e51, 0.2], "the largest of schedule"), ([0.1, 0.0], "schedule[1]")):
        call = lambda schedule=schedule: run_of(independent(), np.array(schedule), 1.0, 2.0, 3, "fresh", 0.0)  # noqa: E731
        yield refused(f"a schedule of {schedule}", parameter, call)


# --- searches for noise ---


def _steps(rng: np.random.Generator) -> Iterator[Fact]:
    """Steps towards the best weights, extrapolated and taken back; a certified number at weights that are given."""
    own = np.random.default_rng(33)
    start = own.uniform(0.5, 2.0, 4)
    search, logs, plain, moves, places = Anderson.at(start), np.log(start), start, [], []
    for norm in (1.0, 1.5, 1.25, 1.6, 1.7, 1.8):
        q = np.exp(logs) / np.exp(logs).sum()
        hat = own.uniform(0.2, 1.0, 4)
        hat *= norm / hat.sum()
        search.step(hat, norm)
        if norm == 1.25:  # a loss: back to the last plain step, q hat / norm of where it began
            logs, moves, places = plain, [], []
        else:
            move = np.log(hat / norm) - np.log(q)
            plain = logs + move
            moves, places = [*moves, 1.75 * move], [*places, logs]
            logs = logs + 1.75 * move
            if len(moves) > 1:
                change, share = np.diff(moves, axis=0), np.sqrt(hat / norm)
                mixed = np.linalg.lstsq((change * share).T, moves[-1] * share, rcond=None)[0]
                logs = logs - np.clip((np.diff(places, axis=0) + change).T @ mixed, -2.0, 2.0)
            logs = np.clip(logs - logs.max(), -36.0, 0.0)
        yield Fact(f"weights after a step to {norm:g}", search.weights, np.exp(logs) / np.exp(logs).sum(), 1e-10)
    for T in (3, 7):
        run, q = random_objective(own, T), own.uniform(0.5, 2.0, T)
        factor = np.linalg.cholesky(run.gram()).T * np.sqrt(q)
        norm = float(np.linalg.svd(factor, compute_uv=False).sum()) ** 2 / float(q.sum())
        yield Fact(f"certified at given weights, T = {T}", certified_bound(run, q=q).value, norm, 1e-12)


def _far(rng: np.random.Generator) -> Iterator[Fact]:
    """Clipped residuals: means far outside of the threshold, near it, never clipped, and without spread."""
    for spread in (1e-4, 0.03, 7.0, 1e4):
        for sign in (1.0, -1.0):
            found = moments(sign * 1e9, spread, 0.7)
            yield Fact(f"spread {spread:g}, mean {sign:g} times 1e9", [*found], [sign * 0.7, 0.0, 0.49], 1e-12)

    for mean, spread, k in ((3.0, 20.0, 100.0), (-3.0, 20.0, 1.5), (0.4, 0.05, 0.45), (-5.0, 2.0, 70.0)):
        nodes, weights = np.polynomial.legendre.leggauss(400)
        density = k * weights * stats.norm.pdf(k * nodes, mean, spread)
        above, below = stats.norm.sf(k, mean, spread), stats.norm.cdf(-k, mean, spread)
        inner = [float((density * (k * nodes) ** power).sum()) for power in (1, 0, 2)]
        plain = [inner[0] + k * (above - below), inner[1], inner[2] + k * k * (above + below)]
        yield Fact(f"mean {mean:g}, spread {spread:g}, threshold {k:g}", [*moments(mean, spread, k)], plain, 1e-9)
    for mean, spread in ((3.0, 0.5), (-0.7, 20.0)):
        for k in (1e9, np.inf):
            found = [*moments(mean, spread, k)]
            yield Fact(f"mean {mean:g}, spread {spread:g}, not clipped", found, [mean, 1.0, mean**2 + spread**2])
    for mean, k in ((3.0, 1.5), (-3.0, 1.5), (1.5, 3.0), (-1.5, 3.0)):
        inside, clipped = abs(mean) < k, min(max(mean, -k), k)
        yield Fact(
            f"mean {mean:g} without spread, threshold {k:g}", [*moments(mean, 0.0, k)], [clipped, inside, clipped**2]
        )


OFF: dict[str, Any] = {"1e-3 off": {"facts": Times(1.001)}}

METHOD_PARTS = Claim(
    id="ftrl/beyond-method-parts",
    where="beyond the paper: parts of proofs for linear methods and of searches for noise",
    kind="identity",
    statement=(
        "A corner of a polygon is proved nearest where it is, and nowhere else;",
        "matrices of fractions are multiplied exactly, and positive definite where their pivots are positive;",
        "the error of a conic program is relative to its objective, and errors on quadratics are bounds as long as "
        "fractions are counted with, rounded to the nearest floats outside;",
        "where steps are above those with a proved rate nothing is compared, nor is a gain told that is not above 1, "
        "and the largest rate of a schedule is limited;",
        "weights step and are extrapolated as the iteration says, a loss is taken back, and the certified number at "
        "given weights is their norm;",
        "moments of clipped residuals are integrals, also far outside of the threshold, far inside and without spread;",
        "the units of a storage program are root mean squares on three quadratics, refined while the error falls, and "
        "its margins grow until there is a proof;",
        "noise of one zero and one pole is searched for inside the circle, and a table of methods has every bound, "
        "the least first, with the reasons for what is left out;",
        "the forms of a storage program are inequalities between its points, and draws without weight are not kept.",
    ),
    checks=(
        Agreement(decides="a", facts=_polygons),
        Agreement(decides="b", facts=_fractions, impostors=OFF),
        Agreement(decides="c", facts=_solved, impostors=OFF),
        Agreement(decides="d", facts=_compared, impostors=OFF),
        Agreement(decides="d", facts=_refusals),
        Agreement(decides="e", facts=_steps, impostors=OFF),
        Agreement(decides="f", facts=_far, impostors=OFF),
        Agreement(decides="g", facts=coordinates, impostors=OFF),
        Agreement(decides="g", facts=searches, impostors=OFF),
        Agreement(decides="h", facts=noises, impostors=OFF),
        Agreement(decides="h", facts=tables, impostors=OFF),
        Agreement(decides="i", facts=inequalities, impostors=OFF),
        Agreement(decides="i", facts=systems, impostors=OFF),
    ),
)
