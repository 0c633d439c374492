"""Beyond the paper: parts of a confidence set by script: directions that are looked at, units, roots nearly met."""

from __future__ import annotations

import importlib
import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
from flint import arb, fmpq, fmpq_mat, fmpq_poly

from dpbounds.errors import DomainError
from dpbounds.iv.confidence import Release, confidence_set, point_estimate
from dpbounds.iv.confidence.certified import between, enclosed, pieces_of, require_positive
from verify.checks import Fact, Holds
from verify.papers.iv.tools.confidence_releases import release_with

sets = importlib.import_module("dpbounds.iv.confidence.sets")
Ends = list[tuple[float, float]]
# Half of the least distance that two ends of an honest set have where both are found for certain.
WIDTH = 1.01 * math.pi / 1024


def parts(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """The least statistic and honest sets from statistics that are written down; other units; exact arithmetic."""
    del rng
    yield from _least()
    yield from _honest()
    yield from _units()
    yield from _near_roots()
    yield from _elimination()


# --- directions ---


def _turn(angle: Any) -> Any:
    """The same direction, from -pi / 2 to pi / 2."""
    return (angle + math.pi / 2) % math.pi - math.pi / 2


def _least() -> Iterator[Fact | Holds]:
    """Wherever on the circle a statistic has its only minimum, as steep on one side as it is flat on the other."""
    for ratio in (1.0, 1e-12, 1e12):
        release = release_with([1.0, 2.0, 3.0, 4.0], np.diag([4 * ratio**2, 9 * ratio**2, 36.0, 1.0]), 0.0, 0.0)
        for slopes in ((9.0, 1.0), (1.0, 9.0)):
            found, stated = [], []
            for least in np.linspace(-1.56, 1.56, 80 if ratio == 1.0 else 12):

                def along(_: Release, directions: np.ndarray, least=least, slopes=slopes, ratio=ratio) -> Any:
                    off = _turn(np.arctan2(-directions[:, 1] / ratio, directions[:, 0]) - least)
                    return np.where(off > 0, slopes[1] * off, -slopes[0] * off), 0 * off

                with mock.patch.object(sets, "along", along):
                    found.append(math.atan(point_estimate(release) / (2 * ratio)))
                stated.append(least)
            yield Fact(f"slopes {slopes}, y in units of {ratio:g}: the least", found, stated, 1e-8)
    for y, x, stated in ((2.0, 0.0, math.inf), (0.0, 3.0, 0.0), (0.0, 0.0, 0.0)):
        release = release_with([y, x], np.eye(2), 1.0, 0.0)
        yield Holds(f"q = 1, moments {y} and {x}: estimate {stated}", point_estimate(release) == stated)


def _honest() -> Iterator[Fact]:
    """Sets that are written down, wherever they lie and whether they hold infinity, as zeros of products of sines."""
    release = release_with([3.0, 2.0], np.diag([16.0, 4.0]), 1e-9, 0.0)
    narrow = [((at - WIDTH, at + WIDTH),) for at in np.linspace(-1.55, 1.55, 40)]
    for intervals in (
        *narrow, ((-1.57, -1.2),), ((0.3, 1.57),), ((1.4, 1.9),), ((1.569, 1.6),), ((-1.0, -0.5), (0.2, 0.9)),
        ((-1.0, -0.5), (1.4, 1.9)), ((-0.2, 0.1), (0.5, 0.6), (1.0, 1.0 + 2 * WIDTH)), (),
    ):  # fmt: skip

        def excess(directions: np.ndarray, intervals=intervals) -> np.ndarray:
            angles = np.arctan2(-directions[:, 1], directions[:, 0])
            inside = [np.sin(angles - low) * np.sin(angles - high) for low, high in intervals]
            return np.min(inside, axis=0) if inside else np.ones(len(angles))

        with mock.patch.object(sets, "honest_excess", lambda release, level, excess=excess: excess):
            found = confidence_set(release, honest=True).pieces
        # theta is the tangent, and beta twice that.
        stated = sorted(piece for low, high in intervals for piece in _unrolled(low, high))
        label = f"honest set from {[f'{low:.4f} to {high:.4f}' for low, high in intervals]}"
        yield Fact(f"{label}: pieces", len(found), len(stated), 0)
        turned = [np.arctan(np.array([piece]) / 2).ravel().tolist() for piece in found]
        yield Fact(f"{label}: ends", turned, [list(piece) for piece in stated], 1e-12)


def _unrolled(low: float, high: float) -> Ends:
    if high <= math.pi / 2:
        return [(low, high)]
    return [(-math.pi / 2, high - math.pi), (low, math.pi / 2)]


# --- units ---


def _units() -> Iterator[Fact]:
    """Without noise neither units of instruments nor those of y and x change anything but the unit of the ends."""
    for seed, pieces in ((1, 2), (56, 2), (7, 2), (2, 1)):
        rng = np.random.default_rng(seed)
        root = rng.standard_normal((9, 8))
        first, second = rng.standard_normal(8) * 4, root.T @ root
        own = release_with(first.tolist(), second, 0.0, 0.0)
        base = np.arctan([tuple(piece) for piece in confidence_set(own).pieces])
        yield Fact(f"release {seed}: pieces", len(base), pieces, 0)
        for z, y, x in (
            ((1, 1e6, 1e-6, 1e12), 1.0, 1.0), ((1e-15, 1e10, 1, 1e20), 1.0, 1.0), ((1,) * 4, 1e-9, 1e9),
            ((1,) * 4, 1e11, 1e-11), ((1e24,) * 4, 0.1, 0.1), ((1e-24,) * 4, 10.0, 10.0),
            ((1e-9, 1e-8, 1e-7, 1e-6), 1e14, 1e2),
        ):  # fmt: skip
            units = np.outer([y, x], z).ravel()
            found = release_with((first * units).tolist(), second * np.outer(units, units), 0.0, 0.0)
            label = f"release {seed}, instruments in units of {z}, y of {y:g} and x of {x:g}"
            ends = np.array([tuple(piece) for piece in confidence_set(found).pieces]) * x / y
            yield Fact(f"{label}: ends", np.arctan(ends), base, 1e-8)
            yield Fact(f"{label}: estimate", point_estimate(found) * x / y, point_estimate(own), 1e-6)


# --- exact arithmetic ---


def _near_roots() -> Iterator[Fact | Holds]:
    """Two roots 2^-60 to 2^-300 apart, of which one may be double: what lies between them is seen."""
    third = Fraction(1, 3)
    for bits, (name, pieces) in itertools.product((40, 60, 100, 300), (("ab", "ab"), ("abb", "-abb"), ("aab", "-b"))):
        ends = {"a": third, "b": third + Fraction(1, 2**bits)}
        polynomial = fmpq_poly([-1])
        for root in name:
            polynomial *= fmpq_poly([-fmpq(ends[root].numerator, ends[root].denominator), 1])
        found: Any = [end for piece in pieces_of(polynomial, fmpq(1)) for end in piece]
        label = f"roots {name}, 2^-{bits} apart"
        yield Fact(f"{label}: ends", len(found), len(pieces), 0)
        for end, root in zip(found, pieces, strict=False):
            if root == "-":
                yield Holds(f"{label}: from -inf", end == -math.inf)
            else:
                low, high = map(Fraction, end.enclosure)
                yield Holds(f"{label}: an end is enclosed", low <= ends[root] <= high and high - low < 2**-50)
    for balls in (((0, 2), (2.5, 0.1), (10, 3)), ((-3, 0.5), (2, 4)), ((2, 4),)):
        points = [float(Fraction(int(at.p), int(at.q))) for at in between([arb(*ball) for ball in balls])]
        outside = [all(abs(at - middle) > radius for middle, radius in balls) for at in points]
        yield Fact(f"points around {balls}", [sum(at > middle for at in points) for middle, _ in balls], [
            len(balls) - place for place in range(len(balls))
        ], 0)  # fmt: skip
        yield Holds(f"of which none lies in a ball of {balls}", all(outside) and len(points) == len(balls) + 1)
    for middle, radius in ((1.5, 0.0), (1.5, 0.25), (-3.0, 1.0)):
        value: Any = enclosed(arb(middle, radius))
        stated = math.nextafter(middle - radius, -math.inf), math.nextafter(middle + radius, math.inf)
        yield Fact(f"{middle} +- {radius}", [float(value), *value.enclosure], [middle, *stated], 1e-9 if radius else 0)


def _elimination() -> Iterator[Holds]:
    """Positive definite is what has positive leading minors (Sylvester)."""
    for a, b, c in ((2, 1, 3), (1, 1, 1), (3, 2, 2), (1, 0, 2), (2, -1, 2)):
        found, stated = [], []
        for d, e, f in itertools.product((-1, 0, 1, 2), repeat=3):
            found.append(_taken(lambda a=a, b=b, c=c, d=d, e=e, f=f: require_positive(
                fmpq_mat(3, 3, [fmpq(entry) for entry in (a, d, e, d, b, f, e, f, c)])
            )))  # fmt: skip
            determinant = a * b * c + 2 * d * e * f - a * f * f - b * e * e - c * d * d
            stated.append(a > 0 and a * b > d * d and determinant > 0)
        yield Holds(f"covariances of {a}, {b} and {c} that are positive definite", found == stated)


def _taken(call: Callable[[], Any]) -> bool:
    try:
        call()
    except DomainError:
        return False
    return True
