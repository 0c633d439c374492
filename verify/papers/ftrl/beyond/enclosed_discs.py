"""Beyond the paper: the discs on which certificates in floats rest, held against points on their rims, where a bound
that is too narrow by one part in 10^9 misses them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import flint
import numpy as np

from dpbounds.circle.discs import UNIT, Discs, discs
from verify.checks import Agreement, Fact, Holds, Within
from verify.statements.claims import Claim

OURS = "beyond the paper"
BITS = 300


def _narrowed(disc: Discs, narrower: float) -> Discs:
    """The impostor: a disc that is too small, relatively."""
    return Discs(disc.centre, disc.radius * (1.0 - narrower))


def beyond_points(disc: Discs, points: list[Any]) -> list[float]:
    """Radius over the distance of a point from the centre, less 1: below 0 where the disc misses it."""
    rows = zip(np.ravel(disc.centre).tolist(), np.ravel(disc.radius).tolist(), points, strict=True)
    return [float(flint.arb(r) / abs(point - flint.acb(c)) - 1) for c, r, point in rows]


class Operation(NamedTuple):
    """On discs x and y; on their points; and the rims of both on which the result is farthest from the centre, for
    positive centres.
    """

    discs: Callable[[Discs, Discs], Discs]
    points: Callable[[Any, Any], Any]
    sides: tuple[int, int]


# A whole number that is no float.
BEYOND_FLOATS = 3 * (2**53 + 1)
OPERATIONS = {
    "sum": Operation(lambda x, y: x + y, lambda x, y: x + y, (1, 1)),
    "difference": Operation(lambda x, y: 3.0 - x - y, lambda x, y: 3 - x - y, (1, 1)),
    "product": Operation(lambda x, y: x * y, lambda x, y: x * y, (1, 1)),
    "quotient": Operation(lambda x, y: x / y, lambda x, y: x / y, (1, -1)),
    "inverse": Operation(lambda x, y: x.inverse(), lambda x, y: 1 / x, (-1, 0)),
    "square": Operation(lambda x, y: x**2, lambda x, y: x * x, (1, 0)),
    "root": Operation(lambda x, y: x.sqrt(), lambda x, y: x.sqrt(), (-1, 0)),
    "widened": Operation(lambda x, y: x.widened(y.centre), lambda x, y: x + y, (1, 0)),
    "of a number": Operation(lambda x, y: BEYOND_FLOATS * x, lambda x, y: BEYOND_FLOATS * x, (1, 0)),
}


def _on_the_rim(rng: np.random.Generator, narrower: float = 0.0) -> Iterator[Within]:
    """The farthest result of two discs is within theirs, and no more than 1e-12 of the distance inside its rim."""
    n = 40
    for name, operation in OPERATIONS.items():
        x, y = (Discs(c, c * 10 ** rng.uniform(-2, -0.01, n)) for c in 10 ** rng.uniform(-0.5, 9, (2, n)))
        with flint.ctx.workprec(BITS):
            ends = [
                [flint.acb(c) + side * flint.acb(r) for c, r in zip(d.centre.tolist(), d.radius.tolist(), strict=True)]
                for d, side in zip((x, y), operation.sides, strict=True)
            ]
            truth = [operation.points(one, other) for one, other in zip(*ends, strict=True)]
            found = beyond_points(_narrowed(operation.discs(x, y), narrower), truth)
        yield Within(f"{name}: radius over the farthest distance, less 1, least", min(found), least=0.0)
        yield Within(f"{name}: radius over the farthest distance, less 1, most", max(found), most=1e-12)


def _rounded(rng: np.random.Generator, share: float = 1.0) -> Iterator[Within]:
    """Of points without a radius: what rounding does is in the disc, and the disc is no wider than a few units."""
    n = 300
    for name in (name for name in OPERATIONS if name != "widened"):
        operation = OPERATIONS[name]
        x, y = (Discs(centre, np.zeros(n)) for centre in rng.uniform(1.0, 2.0, (2, n)))
        found = operation.discs(x, y)
        radius = np.broadcast_to(found.radius, n) * share
        with flint.ctx.workprec(BITS):
            pairs = zip(*(map(flint.acb, d.centre.tolist()) for d in (x, y)), strict=True)
            truth = [operation.points(*pair) for pair in pairs]
            errors = [float(abs(t - flint.acb(c))) for t, c in zip(truth, found.centre.tolist(), strict=True)]
        least = float(np.min(radius - errors))
        yield Within(f"{name} of points: radius less error, least", least, least=0.0)
        widest = float(np.max(radius / (np.abs(found.centre) + 1.0)))
        yield Within(f"{name} of points: radius in units of the result", widest / UNIT, most=6.0)


def _ends(rng: np.random.Generator, narrower: float = 0.0) -> Iterator[Fact | Holds | Within]:
    """Moduli; discs that touch 0, and that miss it by one float; products below and above the floats; constants."""
    centre = np.concatenate([rng.normal(size=20), [1e-300, -1e300]])
    disc = Discs(centre, np.abs(centre) * rng.uniform(0.0, 0.99, len(centre)))
    with flint.ctx.workprec(BITS):
        for name, sign in (("upper", 1), ("lower", -1)):
            ends = getattr(disc, name)() * (1.0 - sign * narrower)
            rows = zip(ends.tolist(), np.abs(centre).tolist(), disc.radius.tolist(), strict=True)
            room = [float(sign * (flint.arb(end) / (flint.arb(c) + sign * flint.arb(r)) - 1)) for end, c, r in rows]
            yield Within(f"{name} end of moduli beyond the rim, least", min(room), least=0.0)
            yield Within(f"{name} end of moduli beyond the rim, most", max(room), most=1e-11)
        wide = Discs(np.array([2.0, -2.0, 0.0]), np.array([2.0, 3.0, 0.0]))
        yield Fact("lower end of moduli where 0 is inside or on the rim", wide.lower(), np.zeros(3), 0)
        touching = [float(r) for d in (wide.inverse(), wide.sqrt()) for r in d.radius]
        yield Fact("radii of inverse and root of discs that touch 0 or hold it", touching, [np.inf] * 6, 0)
        near = Discs(np.array([2.0]), np.nextafter(np.array([2.0]), 0.0))
        rim = flint.acb(2) - flint.acb(float(near.radius[0]))
        far = [1 / rim, rim.sqrt()]
        for name, found, point in zip(("inverse", "root"), (near.inverse(), near.sqrt()), far, strict=True):
            (beyond,) = beyond_points(_narrowed(found, narrower if name == "root" else 0.0), [point])
            yield Within(f"{name} of a disc that ends one float above 0", beyond, least=0.0)
        pi = discs().pi
        yield Holds("pi is in its disc", bool(abs(flint.arb.pi() - flint.arb(pi.centre)) <= flint.arb(pi.radius)))
        for first, second in ((1e-200, 1e-200), (3e-162, 1e-162), (1e-300, 1e300), (1e200, 1e-320)):
            x, y = Discs(first, 0.5 * first), Discs(second, 0.25 * second)
            rim = flint.acb(first) * flint.acb(second) * flint.acb(flint.fmpq(15, 8))
            (beyond,) = beyond_points(_narrowed(x * y, narrower), [rim])
            yield Within(f"product of {first:g} and {second:g}", beyond, least=-1e-12)


DISCS = Claim(
    id="ftrl/beyond-discs",
    where=f"{OURS}: operations on discs",
    kind="inequality",
    statement=(
        (
            "A disc that an operation on discs gives holds the result of all their points, and one of these lies on "
            "its rim, to $10^(-12)$ of the radius;"
        ),
        "for points it holds what rounding leaves, and is six units wide at most;",
        "where a disc touches 0, its inverse and root are not known.",
    ),
    setting="Points in exact arithmetic, 300 bits.",
    checks=(
        Agreement(decides="a", facts=_on_the_rim, impostors={"1e-9 narrower": {"facts": {"narrower": 1e-9}}}),
        Agreement(decides="b", facts=_rounded, impostors={"a tenth narrower": {"facts": {"share": 0.9}}}),
        Agreement(decides="ac", facts=_ends, impostors={"1e-9 narrower": {"facts": {"narrower": 1e-9}}}),
    ),
)
