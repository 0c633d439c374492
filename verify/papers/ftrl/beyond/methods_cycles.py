"""Beyond the paper: where a method has no storage function because it goes round for ever on a loss of the class.

The oracle runs the method on the loss itself, the nearest point of a polygon found edge by edge.
"""

from __future__ import annotations

from collections.abc import Iterator
from unittest import mock

import numpy as np

from dpbounds.errors import AccuracyError, DomainError
from dpbounds.ftrl.correlations import independent
from dpbounds.ftrl.methods import LinearMethod, bound_method, cycles, find_cycle, gradient_descent, named_method
from dpbounds.ftrl.strongly_convex import Noise
from verify.checks import Agreement, Fact, Holds
from verify.statements.claims import Claim

# kappa and eta of heavy ball, L = 1, its momentum tuned to eta mu: with a cycle, and with a bound.
ROUND = ((100.0, 1.56), (1e3, 1.0), (1e4, 0.0256), (1e6, 0.01))
BOUNDED = ((10.0, 2.0), (100.0, 1.54), (1e3, 0.1), (1e4, 0.025))
LAPS = 3


def _nearest(corners: np.ndarray, y: complex) -> complex:
    """The point of the polygon with these corners, in order and around 0, that is nearest to y."""
    ahead = np.roll(corners, -1) - corners
    share = np.clip(np.real((y - corners) * np.conj(ahead)) / np.abs(ahead) ** 2, 0.0, 1.0)
    found = corners + share * ahead
    behind = np.imag(np.conj(ahead) * (y - corners)) > 0  # the inner side of an edge, corners against the clock
    return y if np.all(behind) else complex(found[np.argmin(np.abs(found - y))])


def _astray(method: LinearMethod, mu: float, count: int, nearest: complex) -> float:
    """How far y is from its corner at most, over some laps of the run without noise, L = 1."""
    turn = np.exp(2j * np.pi / count)
    polygon, most = nearest * turn ** np.arange(count), 0.0
    gradient = mu + (1.0 - mu) * nearest
    state = np.linalg.solve(turn * np.eye(len(method.A)) - method.A, method.B * gradient + 0j)
    for t in range(LAPS * count):
        y = complex(method.C @ state)
        most = max(most, abs(y - turn**t))
        state = method.A @ state + method.B * (mu * y + (1.0 - mu) * _nearest(polygon, y))
    return most


def _cycles(rng: np.random.Generator, smaller: float = 1.0) -> Iterator[Fact | Holds]:
    """The run stays on the polygon, and there is no bound; `smaller` shrinks P."""
    for kappa, eta in ROUND:
        method = named_method("heavy-ball", eta=eta, mu=1.0 / kappa)
        found, label = find_cycle(method, 1.0 / kappa, 1.0), f"kappa = {kappa:g}, eta = {eta:g}"
        yield Holds(f"{label}: a cycle is proved", found is not None)
        if found is not None:
            astray = _astray(method, 1.0 / kappa, found.corners, smaller * found.nearest)
            yield Fact(f"{label}: distance from its corner", astray, 0.0, 1e-6)
            for most, seen in ((found.corners, True), (found.corners - 1, False)):
                with mock.patch.object(cycles, "MOST_CORNERS", most):
                    again = find_cycle(method, 1.0 / kappa, 1.0)
                yield Holds(f"{label}: found with up to {most} corners: {seen}", (again is not None) == seen)
        yield Holds(f"{label}: no bound", not _has_bound(method, kappa))
    to_and_fro = find_cycle(gradient_descent(eta=2.5), 0.1, 1.0)  # between two points, as on h = 0.8
    yield Holds("too large steps go to and fro", to_and_fro is not None and to_and_fro.corners == 2)


def _bounds(rng: np.random.Generator, larger: float = 1.0) -> Iterator[Holds]:
    """At smaller steps, twice by hardly more than one per cent, the bound is there, and no cycle."""
    for kappa, eta in BOUNDED:
        method = named_method("heavy-ball", eta=larger * eta, mu=1.0 / kappa)
        label = f"kappa = {kappa:g}, eta = {eta:g}"
        yield Holds(f"{label}: a certified bound", _has_bound(method, kappa))
        yield Holds(f"{label}: no cycle", find_cycle(method, 1.0 / kappa, 1.0) is None)


def _has_bound(method: LinearMethod, kappa: float) -> bool:
    try:
        noise = Noise(correlation=independent(), rho=0.5)
        return bound_method(noise, method, mu=1.0 / kappa, L=1.0).is_certified
    except (AccuracyError, DomainError):
        return False


CYCLES = Claim(
    id="ftrl/beyond-methods-cycles",
    where="beyond the paper: losses on which heavy ball goes round",
    kind="inequality",
    statement=(
        r"Without noise heavy ball with $b = (1 - sqrt(eta mu))^2$, $L = 1$, stays on the corners of a regular polygon "
        r"for a loss of the class with $(kappa, eta) = (100, 1.56), (10^3, 1), (10^4, 0.0256), (10^6, 0.01)$, and no "
        "bound is found there.",
        r"With $(kappa, eta) = (10, 2), (100, 1.54), (10^3, 0.1), (10^4, 0.025)$ it has a bound over the class.",
    ),
    hypotheses=(r'$F(y) = norm(y)^2\/2 - (1 - mu) "dist"(y, P)^2\/2$ in the plane, $P$ a regular polygon around $0$.'),
    checks=(
        Agreement(decides="a", facts=_cycles, impostors={"a smaller polygon": {"facts": {"smaller": 0.99}}}),
        Agreement(decides="b", facts=_bounds, impostors={"twice the step": {"facts": {"larger": 2.0}}}),
    ),
)
