"""Beyond the paper: the normal distribution to the digits that it states, on which privacy curves are built."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import flint
import numpy as np

from dpbounds.arithmetic import FLOATS, digits
from verify.checks import Agreement, Fact, Identity, Times
from verify.checks.domains import Real
from verify.statements.claims import Claim

# Where the quadratures end beyond what they are of, and into how many pieces they are cut.
REACH, PIECES = 32, 8


def quadrature(f: Callable[[Any], Any], low: Any, high: Any) -> Any:
    """The integral of an entire function, rigorously, in pieces."""
    ends = [flint.acb(low + (high - low) * k / PIECES) for k in range(PIECES + 1)]
    return sum((flint.acb.integral(lambda t, _: f(t), a, b).real for a, b in pairwise(ends)), start=flint.arb(0))


def _middle(m: Any, x: Any) -> Any:
    """Phi(x) as 1/2 and the integral of the density from 0."""
    return m.number("1/2") + quadrature(lambda t: (-t * t / 2).exp(), m.number(0), x) / m.sqrt(2 * m.pi)


def _log_tail(m: Any, x: Any) -> Any:
    """log Phi(-x) for x >= 0, as log phi(x) and that of the integral of e^(-x t - t^2 / 2) over t >= 0."""
    mills = quadrature(lambda t: (-t * (x + t / 2)).exp(), m.number(0), m.number(REACH) / m.maximum(1, x / 8))
    return m.log(mills) - x * x / 2 - m.log(2 * m.pi) / 2


def _in_floats_too(rng: np.random.Generator) -> Iterator[Fact]:
    """Floats against 30 digits, inside and in the tails."""
    x = np.array([-37.0, -8.0, -1.0, -0.3, 0.0, 0.7, 5.0])
    with digits(30) as m:
        for name, points in (("ndtr", x), ("log_ndtr", 10 * x), ("mills", -x[:5]), ("ndtri", [1e-300, 1e-5, 0.3, 0.9])):
            values = [float(getattr(m, name)(float(point))) for point in points]
            own = getattr(FLOATS, name)(np.asarray(points))
            for point, observed, predicted in zip(points, own, values, strict=True):
                yield Fact(f"{name}({point:g})", observed, predicted, 1e-12)


DIGITS_OFF = "1.0000000000000000000000000000000000000001"

BEYOND_NORMAL = Claim(
    id="ftrl/beyond-normal",
    where="beyond the paper: the normal distribution in digits",
    kind="identity",
    statement=(
        "$Phi$, $log Phi$, the Mills ratio $Phi(-x)\\/phi(x)$ and the inverse of $Phi$, on which privacy curves are "
        "built, are right to the digits that they state, in the tails too."
    ),
    setting="45 digits against quadrature of the density; floats against 30 digits.",
    checks=(
        Identity(
            left=lambda m, x: m.ndtr(x),
            right=_middle,
            box={"x": Real(-5.0, 8.0)},
            random_points=20,
            impostors={"1e-40 off": {"right": Times(DIGITS_OFF)}},
        ),
        Identity(
            left=lambda m, x: m.log_ndtr(-x),
            right=_log_tail,
            box={"x": Real(0.01, 1e3, "log")},
            random_points=20,
            impostors={"1e-40 off": {"right": Times(DIGITS_OFF)}},
        ),
        Identity(
            left=lambda m, x: 10 + m.ndtri(_middle(m, x)),
            right=lambda m, x: 10 + x,
            box={"x": Real(-5.0, 5.0)},
            random_points=20,
            impostors={"1e-40 off": {"right": Times(DIGITS_OFF)}},
        ),
        Identity(
            left=lambda m, x: m.ndtri(m.exp(_log_tail(m, x))),
            right=lambda m, x: -x,
            box={"x": Real(1.0, 100.0, "log")},
            random_points=20,
            impostors={"1e-40 off": {"right": Times(DIGITS_OFF)}},
        ),
        Agreement(facts=_in_floats_too, impostors={"1e-9 off": {"facts": Times(1 + 1e-9)}}),
    ),
)
