"""Discs in float64 at every exponent: never a disc that misses a result.

Centres have any exponent from -1074 to 1023, subnormals, zeros of both signs and powers of two among them, or lie next
to each other; radii are 0, a share of the centre, one float below it, or anything. The points are the centre or lie
exactly on the rim, so that a bound that is short by a unit is seen. What `Discs` says is held against Arb, with as many
bits as that takes.

    python -m tests.fuzz.discs --count 1000000
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import flint
import numpy as np

from dpbounds.circle.discs import Discs

# More than lie between the largest and the smallest product of floats.
BITS = 5000
# Results of one call.
BLOCK = 500
# Exactly on the unit circle.
DIRECTIONS = (flint.acb(1), flint.acb(-1), flint.acb(flint.fmpq(3, 5), flint.fmpq(4, 5)), flint.acb(0, -1))


class Operation(NamedTuple):
    """On discs, and on their points."""

    discs: Callable[[Discs, Discs], Discs]
    points: Callable[[Any, Any], Any]


OPERATIONS = {
    "sum": Operation(lambda x, y: x + y, lambda x, y: x + y),
    "difference": Operation(lambda x, y: 3.0 - x - y, lambda x, y: 3 - x - y),
    "product": Operation(lambda x, y: x * y, lambda x, y: x * y),
    "quotient": Operation(lambda x, y: x / y, lambda x, y: x / y),
    "inverse": Operation(lambda x, y: x.inverse(), lambda x, y: 1 / x),
    "square": Operation(lambda x, y: x**2, lambda x, y: x * x),
    "root": Operation(lambda x, y: x.sqrt(), lambda x, y: x.sqrt()),
    "widened": Operation(lambda x, y: x.widened(y.radius), lambda x, y: x),
    "of a number": Operation(lambda x, y: 2**53 * x - 7, lambda x, y: 2**53 * x - 7),
}


class Case(NamedTuple):
    """A disc that misses a result, or whose modulus does."""

    operation: str
    left: tuple[float, float]
    right: tuple[float, float]
    found: tuple[float, float]


def wrong(count: int, seed: int) -> Iterator[Case]:
    """The cases that are wrong among so many random operations."""
    rng = np.random.default_rng(seed)
    names = list(OPERATIONS)
    for block in range(-(-count // BLOCK)):
        with np.errstate(all="ignore"):
            yield from _wrong(names[block % len(names)], rng)


def random_discs(rng: np.random.Generator, n: int) -> Discs:
    """Of any exponent, or with centres that are the same but for a few units."""
    exponent = rng.integers(-1080, 1026, n) if rng.random() < 0.7 else rng.integers(-60, 60) * np.ones(n, dtype=int)
    mantissa = rng.choice([1.0, 1.0 + 2.0**-52, 2.0 - 2.0**-52, 1.5], n)
    mantissa = np.where(rng.random(n) < 0.5, mantissa, rng.uniform(1.0, 2.0, n))
    centre = np.clip(np.ldexp(mantissa, exponent), None, np.finfo(float).max) * rng.choice([1.0, 1.0, -1.0], n)
    kinds = [
        np.zeros(n),
        np.abs(centre) * 10.0 ** rng.uniform(-18, 0.3, n),
        np.nextafter(np.abs(centre), 0.0),
        np.ldexp(rng.uniform(1.0, 2.0, n), rng.integers(-1080, 1000, n)),
    ]
    return Discs(centre, np.choose(rng.integers(0, len(kinds), n), kinds))


def _wrong(name: str, rng: np.random.Generator) -> Iterator[Case]:
    operation, x, y = OPERATIONS[name], random_discs(rng, BLOCK), random_discs(rng, BLOCK)
    if name == "root":
        x = Discs(np.abs(x.centre), x.radius)
    found = operation.discs(x, y)
    upper, lower = np.broadcast_to(found.upper(), BLOCK), np.broadcast_to(found.lower(), BLOCK)
    with flint.ctx.workprec(BITS):
        for k in range(BLOCK):
            left, right, disc = ((float(d.centre[k]), float(d.radius[k])) for d in (x, y, found))
            if not np.isfinite(disc[1]):
                continue  # nothing is claimed
            truth = operation.points(_point(left, rng), _point(right, rng))
            size = abs(truth)
            held = np.isfinite(disc[0]) and abs(truth - flint.acb(disc[0])) <= flint.arb(disc[1])
            if not (held and size <= _number(upper[k]) and size >= _number(lower[k])):
                yield Case(name, left, right, disc)


def _point(disc: tuple[float, float], rng: np.random.Generator) -> Any:
    centre, radius = disc
    if not radius or rng.random() < 0.1:
        return flint.acb(centre)
    return flint.acb(centre) + flint.acb(radius) * DIRECTIONS[int(rng.integers(len(DIRECTIONS)))]


def _number(value: Any) -> Any:
    return flint.arb(float(value))


def main() -> int:
    """Exit status 1 if a disc misses a result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    found = list(wrong(args.count, args.seed))
    for case in found[:20]:
        print(case)
    print(f"{args.count} operations, {len(found)} wrong")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
