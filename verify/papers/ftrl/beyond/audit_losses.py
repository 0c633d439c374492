"""Beyond the paper: what the bounds of an audit are made of, against sums on grids and lines of their own."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import accumulate, repeat
from typing import Any

import mpmath
import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr

from dpbounds.audit import laplace_delta, laplace_epsilon, pair_delta, poisson_delta, poisson_epsilon
from dpbounds.audit.losses import Losses, rounded
from dpbounds.audit.subsampled import _Total, _total
from verify.checks import Agreement, Fact, Times, Within
from verify.statements.claims import Claim

# --- losses on a grid ---

UNIT = 2.0**-52


def _grids(rng: np.random.Generator) -> Iterator[Fact]:
    """Rounding, composition, powers and cut ends of losses, against plain sums."""
    one = np.array([0.02, 0.02, 0.3, 0.4, 0.2, 0.03])
    two = np.array([0.5, 0.1, 0.35])
    for up in (True, False):
        first, second = Losses(0.5, -2, one, 0.03, up, 1e-3), Losses(0.5, 1, two, 0.05, up, 2e-3)
        both = first.composed(second)
        own = 8 * UNIT * math.log2(9) * math.sqrt(8) * (math.hypot(*one) + math.hypot(*two))
        yield Fact(f"composed, up {up}: masses", both.masses, np.convolve(one, two), 1e-14)
        yield Fact("composed: its start and infinite mass", [both.start, both.infinite], [-1, 1 - 0.97 * 0.95], 1e-14)
        yield Fact("composed: what errors add up to beyond those given", both.error - 3e-3, own, 1e-3)
        for epsilon in (-0.6, 0.0, 0.7, 1.6):
            pairs = [(0.5 * k - 1, mass) for k, mass in enumerate(one)]
            above = math.fsum(mass * (1 - math.exp(epsilon - loss)) for loss, mass in pairs if loss > epsilon)
            side = 1e-3 if up else -1e-3
            yield Fact(f"delta at {epsilon:g}, up {up}", first.delta(epsilon), max(0.0, above + 0.03 + side))
        yield Fact("delta ends at 0", Losses(0.5, -9, one, 0.0, up, 1e-3).delta(0.0), 1e-3 * up)
        cut = first.trimmed(0.05)
        kept = [0.34, 0.4, 0.2] if up else [0.3, 0.4, 0.2]
        yield Fact(f"cut ends, up {up}: masses", cut.masses, kept, 1e-14)
        ends = [0.0, 0.06, 1e-3] if up else [0.0, 0.03, 1e-3]
        yield Fact("cut ends: start, infinite mass and error", [cut.start, cut.infinite, cut.error], ends, 1e-14)
        yield Fact(
            "where nothing would be left all stays", Losses(1.0, 0, two[:2], 0.0, up).trimmed(0.55).masses, two[:2]
        )
        for times, start in ((1, 1), (2, 2), (3, 3), (5, 5), (6, 6)):
            *_, power = accumulate(repeat(two, times), np.convolve)
            found = second.power(times)
            label = f"{times} times, up {up}"
            yield Fact(f"{label}: masses", found.masses, power, 1e-13)
            yield Fact(f"{label}: start and infinite mass", [found.start, found.infinite], [start, 1 - 0.95**times])
        edges = np.clip((0.25 * np.arange(-2, 6) + 0.3) / 1.5 * 0.9, 0.0, 0.8)
        found = rounded(lambda loss: np.clip((loss + 0.3) / 1.5 * 0.9, 0.0, 0.8), (-0.3, 1.15), 0.25, up, infinite=0.1)
        steps = np.diff(edges)
        yield Fact(f"rounded, up {up}", found.masses, [edges[0], *steps] if up else [*steps, 0.1], 1e-14)
        yield Fact("rounded: start and infinite mass", [found.start, found.infinite], [-2, 0.2 if up else 0.1], 1e-14)

    yield Fact("delta ends at 1", Losses(0.5, 9, two, 0.2, True, 1e-3).delta(0.0), 1.0, 0)


# --- Laplace noise ---


def _on_grid(ratio: float, step: float, up: bool) -> np.ndarray:
    """Masses from -K to K steps, K the least with K step >= ratio, of one output's losses rounded to one side."""
    reach = math.ceil(ratio / step - 1e-6)
    points = step * np.arange(-reach, reach + 1)
    inside = np.exp((np.clip(points, -ratio, ratio) - ratio) / 2) / 2
    spread = np.diff(inside)
    masses = np.concatenate([[0.0], spread]) if up else np.concatenate([spread, [0.0]])
    if up:  # the atoms at either end of the losses
        masses[-1] += 0.5
        masses[reach - math.floor(ratio / step + 1e-6)] += math.exp(-ratio) / 2
    else:
        masses[reach + math.floor(ratio / step + 1e-6)] += 0.5
        masses[0] += math.exp(-ratio) / 2
    return masses


def _several(ratios: list[float], up: bool) -> tuple[np.ndarray, np.ndarray]:
    """Losses and masses of several outputs on a grid of 2000 steps in the largest ratio."""
    step = max(ratios) / 2000
    if len(set(ratios)) > 64:
        unit = max(ratios) / 64
        ratios = [
            (math.ceil if up else math.floor)(ratio / unit - 1e-12 if up else ratio / unit + 1e-12) * unit
            for ratio in ratios
        ]
    parts = [_on_grid(ratio, step, up) for ratio in ratios if ratio > 0]
    length = sum(len(part) - 1 for part in parts) + 1
    size = 1 << length.bit_length()
    product = np.ones(size // 2 + 1, dtype=complex)
    for part in parts:
        product = product * np.fft.rfft(part, size)
    return step * (np.arange(length) - (length - 1) // 2), np.fft.irfft(product, size)[:length]


def _curve(losses: np.ndarray, masses: np.ndarray, epsilon: float) -> float:
    return float(masses @ np.maximum(-np.expm1(np.minimum(epsilon - losses, 0.0)), 0.0))


def _least(losses: np.ndarray, masses: np.ndarray, delta: float, top: float) -> float:
    """The epsilon of this delta."""
    return float(brentq(lambda epsilon: _curve(losses, masses, epsilon) - delta, 0.0, top))  # pyright: ignore


MANY = [0.02, *np.linspace(1e-4, 2e-3, 64).tolist()]


def _outputs(rng: np.random.Generator) -> Iterator[Fact]:
    """Curves of several Laplace outputs, each bound against its own sum."""
    for ratios, epsilon, delta in (
        ([0.8, 0.37], 0.5, 0.1),
        ([0.5, 0.5, 0.5], 0.6, 0.05),
        ([0.9, 0.0, 0.3, 0.3], 0.2, 0.3),
        ([1e-5, 2e-5], 1e-5, 2e-6),
        # The smaller one is a whole number of steps, which floats make a little less or more.
        ([0.21, 0.168], 0.15, 0.05),
        ([0.24, 0.123], 0.1, 0.05),
        ([0.2, 0.037], 0.1, 0.03),
        (MANY, 0.02, 0.004),
    ):
        low, high = laplace_delta(epsilon, ratios)
        ends = laplace_epsilon(delta, ratios)
        for bound, end, up in ((low, ends[0], False), (high, ends[1], True)):
            losses, masses = _several(ratios, up)
            label = f"{len(ratios)} outputs, the largest {ratios[0]:g}, up {up}"
            yield Fact(f"{label}: delta", bound, _curve(losses, masses, epsilon), 1e-6)
            yield Fact(f"{label}: epsilon", end, _least(losses, masses, delta, sum(ratios)), 1e-6)
    for ratios, epsilon, delta in (([0.9], 0.3, 0.1), ([0.7, 0.0], 0.2, 0.05)):
        exact = 1 - math.exp((epsilon - ratios[0]) / 2)
        yield Fact("one output: delta", laplace_delta(epsilon, ratios), [exact, exact], 1e-12)
        exact = ratios[0] + 2 * math.log(1 - delta)
        yield Fact("one output: epsilon", laplace_epsilon(delta, ratios), [exact, exact], 1e-12)
    yield Fact("beyond the sum of the ratios delta is 0", laplace_delta(1.0, [0.5, 0.25, 0.25]), [0.0, 0.0], 0)
    yield Fact("at delta 0 epsilon is the sum", laplace_epsilon(0.0, [0.5, 0.25]), [0.75, 0.75], 0)
    yield Fact("nothing moves", [*laplace_epsilon(0.1, [0.0, 0.0]), *laplace_delta(0.0, [0.0])], [0.0] * 4, 0)
    yield Fact(
        "a large delta needs no epsilon",
        [*laplace_epsilon(0.9, [0.5, 0.5]), *laplace_epsilon(0.9, [0.5])],
        [0.0] * 4,
        0,
    )


# --- two Gaussians ---


def _plane(epsilon: float, m: tuple[float, float], a: tuple[float, float]) -> float:
    """delta of N(m, diag a) against N(0, 1): over the second coordinate by its cdf, over the first by a sum."""
    z = np.linspace(-30.0, 30.0, 600_001)
    scale, constant = [(1 - 1 / one) / 2 for one in a], sum(math.log(one) for one in a) / 2
    needed = epsilon + constant - (z * z / 2 - (z - m[0]) ** 2 / (2 * a[0]))
    # k w^2 + (m/a) w - m^2/(2 a) > needed
    k, slope = scale[1], m[1] / a[1]
    root = slope * slope + 4 * k * (needed + m[1] ** 2 / (2 * a[1]))
    wide = np.sqrt(np.maximum(root, 0.0)) / (2 * abs(k))
    centre = -slope / (2 * k)

    def between(mean: float, variance: float) -> np.ndarray:
        ends = [(centre + side * wide - mean) / math.sqrt(variance) for side in (-1, 1)]
        inside = np.where(root > 0, ndtr(ends[1]) - ndtr(ends[0]), 0.0)
        return 1 - inside if k > 0 else inside

    def density(mean: float, variance: float) -> np.ndarray:
        return np.exp(-((z - mean) ** 2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)

    first, second = density(m[0], a[0]) * between(m[1], a[1]), density(0.0, 1.0) * between(0.0, 1.0)
    return float((first - math.exp(epsilon) * second).sum() * (z[1] - z[0]))


def _gaussians(rng: np.random.Generator) -> Iterator[Fact]:
    """Means and covariances both different, straight and turned; and where a law has no noise."""
    basis = np.array([[0.6, -0.8], [0.8, 0.6]])
    root = np.array([[1.3, 0.0], [-0.4, 0.7]])
    cases: list[tuple[float, tuple[float, float], tuple[float, float]]] = [
        (0.4, (0.5, -0.3), (2.0, 0.6)),
        (0.4, (0.5, -0.3), (2.0, 1.4)),
        (0.2, (0.7, 0.2), (0.5, 0.8)),
        (0.6, (0.7, 0.2), (2.5, 2.5)),
        (0.1, (0.7, 0.2), (0.7, 0.7)),
        (1.5, (0.0, 0.0), (4.0, 0.25)),
        (0.0, (0.0, 1.0), (0.3, 3.0)),
        (0.4, (0.5, -0.3), (1.0, 2.0)),
        (12.0, (0.5, -0.3), (9.0, 0.5)),
    ]
    for epsilon, m, a in cases:
        true = _plane(epsilon, m, a)
        label = f"epsilon {epsilon:g}, means {m}, variances {a}"
        yield Fact(label, pair_delta(epsilon, m, np.diag(a), 1.0), true, 1e-6)
        turned = root @ basis
        found = pair_delta(epsilon, turned @ m, turned @ np.diag(a) @ turned.T, root @ root.T)
        yield Fact(f"{label}, turned", found, true, 1e-6)
    flat, equal = np.diag([1.0, 0.0]), float(ndtr(0.5) - ndtr(-0.5))
    yield Fact("equal covariances", pair_delta(0.0, [0.6, 0.8], 1.0, np.eye(2)), equal, 1e-10)
    yield Fact("no difference", pair_delta(0.0, [0.0, 0.0], 4.0, 4.0), 0.0, 0)
    yield Fact("a direction without noise that stands still", pair_delta(0.0, [1.0, 0.0], flat, flat), equal, 1e-10)
    plane = np.eye(3) - np.outer([0.6, 0.8, 0.0], [0.6, 0.8, 0.0])
    yield Fact("the same, turned", pair_delta(0.0, [0.8, -0.6, 0.0], plane, plane), equal, 1e-10)
    for label, shift, first, second in (
        ("a direction without noise that moves", [0.0, 1.0], flat, flat),
        ("noise where the second law has none", [0.0, 0.0], np.eye(2), flat),
        ("no noise where the second law has some", [0.0, 0.0], flat, np.eye(2)),
        ("no noise at all", [1.0, 0.0], 0.0, 0.0),
    ):
        yield Fact(label, pair_delta(1.0, shift, first, second), 1.0, 0)
    yield from _far()
    yield from _flat()


def _one_output(epsilon: float, m: float, a: float) -> float:
    """delta of N(m, a) against N(0, 1) by normal tails, in digits."""
    with mpmath.workdps(60):
        mean, variance = mpmath.mpf(m), mpmath.mpf(a)
        k, slope = (1 - 1 / variance) / 2, mean / variance
        root = mpmath.sqrt(slope**2 + 4 * k * (epsilon + mean**2 / (2 * variance) + mpmath.log(variance) / 2))
        low, high = sorted([(-slope - root) / (2 * k), (-slope + root) / (2 * k)])
        tails = [
            mpmath.ncdf((low - centre) / deviation) + mpmath.ncdf((centre - high) / deviation)
            for centre, deviation in ((mean, mpmath.sqrt(variance)), (mpmath.mpf(0), mpmath.mpf(1)))
        ]
        first, second = tails if k > 0 else [1 - one for one in tails]
        return float(first - mpmath.exp(epsilon) * second)


def _far() -> Iterator[Fact]:
    """Large epsilon, where e^epsilon magnifies what a tail is off by; epsilon beyond all losses, and beside them."""
    for epsilon, m, a in (
        (36.0, 0.5, 9.0),
        (600.0, 0.5, 100.0),
        (0.2, -1.3, 0.3),
        (8.0, 5.0, 0.5),
        (0.01, 0.5, 1.0001),
    ):
        found = pair_delta(epsilon, [m], a, 1.0)
        yield Fact(f"one output, epsilon {epsilon:g}", found, _one_output(epsilon, m, a), 1e-10)
    for epsilon, m, a in (
        (0.0, 1e-3, 1 + 1e-10),
        (0.3, 1.0, 1 - 1e-9),
        (0.3, 1.0, 1 + 1e-9),
        (40.0, 8.0, 1 + 1e-8),
        (578.0, 34.0, 1 + 3.2e-5),
    ):
        both = [pair_delta(epsilon, shift, a, 1.0) for shift in ([m], [0.6 * m, 0.8 * m])]
        label = f"variances {a - 1:.0e} apart, epsilon {epsilon:g}: one output, and two"
        yield Fact(label, both, [_one_output(epsilon, m, a)] * 2, 1e-7)
    yield Fact(
        "far out, where a tail is no float",
        pair_delta(1000.0, [0.5], 100.0, 1.0) - _one_output(1000.0, 0.5, 100.0),
        0.0,
        1e-8,
    )
    narrow = [pair_delta(5.0, [40.0], a, 1.0) for a in (1e-10, 1e-6, 1e-3)]
    yield Fact("a narrow law where the other's tail is no float", narrow, [1.0] * 3, 1e-8)
    m, a = (0.5, -0.3), (0.5, 0.8)
    largest = sum(x * x / (1 - v) - math.log(v) for x, v in zip(m, a, strict=True)) / 2
    yield Fact("beyond the largest loss", pair_delta(3 * largest, m, np.diag(a), 1.0), 0.0, 1e-8)
    share = pair_delta(0.999 * largest, m, np.diag(a), 1.0) / _plane(0.999 * largest, m, a)
    yield Fact("just below it", share, 1.0, 1e-6)
    yield Fact("as good as apart", pair_delta(0.1, [40.0, 1.0], np.diag([2.0, 0.6]), 1.0), 1.0, 0)


def _flat() -> Iterator[Fact]:
    """Three turned outputs in any unit, the third with next to no noise or shift: two outputs, or 1."""
    turn = np.linalg.qr(np.random.default_rng(31).standard_normal((3, 3)))[0]
    m, a, b = np.array([0.5, -0.3]), np.array([2.0, 0.6]), np.array([4.0, 0.9])
    true = _plane(0.4, (0.5, -0.3), (2.0, 0.6))
    for unit in (1e-7, 1e7):
        for shift, first, second, told in (
            (2e-13, 0.0, 0.0, true),
            (1e-11, 0.0, 0.0, 1.0),
            (0.0, 2e-12, 0.0, true),
            (0.0, 3e-11, 0.0, 1.0),
            (0.0, 0.0, 1e-12, true),
            (0.0, 0.0, 1e-11, 1.0),
            (0.0, 1e-11, 1e-11, true),
        ):
            A, B = (turn @ np.diag(v) @ turn.T * unit**2 for v in ([*(a * b), first], [*b, second]))
            found = pair_delta(0.4, unit * turn @ [*(np.sqrt(b) * m), shift], A, B)
            yield Fact(
                f"{shift:g}, {first:g}, {second:g} in units of {unit:g}", found, told, 1e-6 if told < 1 else 2e-2
            )
    for ratio, told in ((0.9e-12, 1.0), (1.1e-12, 0.0)):
        found = pair_delta(0.3, [0.2, 0.1], np.diag([9 * ratio, 9.0]), 1.0)
        yield Fact(f"1 where variances are {ratio:g} apart", float(found == 1), told, 0)
    # Both chances of the ellipse in which the loss is larger, the second law's density there that at 0.
    small = math.exp(0.3) * math.sqrt(1.5e-12)
    found = 1 - pair_delta(0.3, [0.0, 0.0], np.diag([1e-6, 1.5e-6]), 1.0)
    yield Fact("variances that are small and differ", found, small * (1 - math.log(small)), 1e-4)


# --- sampled steps ---


def _step(mu: float, q: float, first: bool, h: float, cells: int) -> np.ndarray:
    """Masses of one step's losses in cells of width h around multiples of it."""
    edges = h * (np.arange(-cells, cells + 1) - 0.5)
    with np.errstate(divide="ignore", invalid="ignore"):
        x = (np.log((np.exp(edges if first else -edges) - 1 + q) / q) + mu * mu / 2) / mu
    x = np.where(np.isnan(x), -np.inf, x)
    cdf = (1 - q) * ndtr(x) + q * ndtr(x - mu) if first else ndtr(-x)
    return np.diff(cdf)


def _sampled(mu: float, q: float, steps: int, delta: float) -> float:
    """epsilon of Poisson-sampled steps, the larger direction, by powers of a transform."""
    h, cells, found = 2e-5 if steps < 9 else 1e-4, 1 << (19 if steps < 9 else 17), []
    for first in (True, False):
        masses = np.roll(_step(mu, q, first, h, cells // 2), -cells // 2)
        whole = np.roll(np.fft.irfft(np.fft.rfft(masses) ** steps, cells), cells // 2)
        losses = h * (np.arange(cells) - cells // 2)
        found.append(_least(losses, whole, delta, 4.0))
    return max(found)


def _records(rng: np.random.Generator) -> Iterator[Fact | Within]:
    """Poisson-sampled Gaussian steps: one exactly, several between bounds whose distance is that of their grid."""
    for mu, q, steps, delta in ((1.0, 0.2, 2, 1e-3), (0.7, 0.02, 400, 1e-4)):
        low, high = poisson_epsilon(mu, q, steps, delta)
        true = _sampled(mu, q, steps, delta)
        deviation = min(q * math.sqrt(math.exp(mu * mu) - 1), mu)
        ends = [math.log(1 - q + q * math.exp(mu * x - mu * mu / 2)) for x in (-9.5, 9.5 + mu)]
        h = min((ends[1] - ends[0] + 24 * deviation * math.sqrt(steps)) / 2**18, deviation / 8)
        spread = min(h * math.sqrt(steps * 13 * math.log(10) / 2), steps * h / 2)
        label = f"{steps} steps"
        yield Fact(f"{label}: middle of the bounds", (low + high) / 2, true, 2e-5)
        yield Fact(f"{label}: half of their distance", (high - low) / 2, spread, 1e-3)
    yield from _totals()
    for epsilon in (0.0, 0.6):
        exact = float(ndtr(0.35 - epsilon / 0.7) - math.exp(epsilon) * ndtr(-0.35 - epsilon / 0.7))
        for first in (True, False):
            found = poisson_delta(epsilon, 0.7, 1.0, record_first=first)
            yield Fact(f"all records, first {first}, epsilon {epsilon:g}", found, exact, 1e-10)
    exact = poisson_epsilon(0.3, 1.0, 4, 0.01)
    at = float(ndtr(0.3 - exact[0] / 0.6) - math.exp(exact[0]) * ndtr(-0.3 - exact[0] / 0.6))
    yield Fact("all records in four steps: delta at epsilon", [at, exact[1]], [0.01, exact[0]], 1e-9)
    yield Fact(
        "with the record second a large epsilon is never passed",
        [poisson_delta(one, 1.5, 0.5, record_first=False) for one in (0.8, 800.0)],
        [0.0, 0.0],
        0,
    )
    yield Within("but a smaller one is", poisson_delta(0.6, 1.5, 0.5, record_first=False), 1e-4, 1.0)
    lifted = 700 - math.log(0.2)
    far = 0.2 * (float(ndtr(20 - lifted / 40)) - math.exp(lifted + float(log_ndtr(-20 - lifted / 40))))
    yield Fact("epsilon 700", poisson_delta(700.0, 40.0, 0.2), far, 1e-9)
    exact = float(ndtr(-0.5) - math.exp(820 + float(log_ndtr(-40.5))))
    both = [poisson_delta(820.0, 40.0, 1.0, record_first=first) for first in (True, False)]
    yield Fact("epsilon 820 of all records, either way", both, [exact] * 2, 1e-9)


def _totals() -> Iterator[Fact]:
    """Losses of all steps by hand: what is known of their rounding is taken off, what is left out counts on its side;
    and losses that are so rare that their deviation makes the grid.
    """
    masses = np.array([3e-13, 2e-13, 4e-13])
    for up, side in ((True, 1), (False, -1)):
        moved = 0.4 + 0.3 * side
        above = math.fsum(mass * -math.expm1(moved - loss) for mass, loss in zip(masses, (1.0, 1.5, 2.0), strict=True))
        found = _Total(Losses(0.5, 2, masses, 0.0, up), 0.3)
        yield Fact(f"delta of a sum, up {up}", found.delta(0.4), max(0.0, above + 1e-13 * side), 1e-9)
        found = _Total(Losses(0.25, 9, np.array([0.5]), 0.0, up), 0.3)
        yield Fact(f"its epsilon, up {up}", found.epsilon(0.01), 2.25 - 0.3 * side + math.log(0.98), 1e-9)
    rare = _total(5.0, 3e-9, 1, True, True).losses
    yield Fact("rare losses: steps of their grid", rare.step, 3e-9 * math.sqrt(math.exp(25.0) - 1) / 8)


OFF: dict[str, Any] = {"1e-3 off": {"facts": Times(1.001)}}

BEYOND_AUDIT_LOSSES = Claim(
    id="ftrl/beyond-audit-losses",
    where="beyond the paper: what bounds of audits are made of",
    kind="privacy",
    statement=(
        "Privacy losses on a grid are rounded, composed and cut as plain sums say, their errors counted;",
        "bounds of several Laplace outputs are those of sums on a grid of two thousand steps in the largest ratio;",
        "the curve of two Gaussians is that of an integral over the plane and of normal tails, also at large "
        "$epsilon$ and in any unit, and 1 where a law lacks noise that the other has or that would hide a shift;",
        "bounds on epsilon of Poisson-sampled Gaussian steps lie around the true one as far apart as their grid says.",
    ),
    setting="Up to 70 Laplace outputs, two Gaussian outputs, up to 400 sampled steps.",
    checks=(
        Agreement(decides="a", facts=_grids, impostors=OFF),
        Agreement(decides="b", facts=_outputs, impostors=OFF),
        Agreement(decides="c", facts=_gaussians, impostors=OFF),
        Agreement(decides="d", facts=_records, impostors=OFF),
    ),
)
