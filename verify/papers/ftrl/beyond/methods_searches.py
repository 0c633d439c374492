"""Beyond the paper: the search for noise of one zero and one pole, and what a table of methods asks and leaves out."""

from __future__ import annotations

import math
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
from scipy import optimize, stats

from dpbounds.errors import AccuracyError
from dpbounds.ftrl.correlations import HalfPowers, from_coefficients, independent
from dpbounds.ftrl.methods import (
    best_method,
    bound_method,
    choosing,
    gradient_descent,
    heavy_ball,
    triple_momentum,
)
from dpbounds.ftrl.methods.choosing import best_noise
from dpbounds.ftrl.methods.loops import Loop, Measure
from dpbounds.ftrl.methods.noises import MOST_MEMORY, noise_system
from dpbounds.ftrl.strongly_convex import Noise
from verify.checks import Fact, Holds, refused, taken

MU, L = 0.1, 1.0
NOISE = Noise(correlation=independent(), rho=0.4, d=3, clip_norm=0.7, sigma_sgd=0.2)


def noises(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Where the search begins, how near to the circle zero and pole come, what is least, and how long it goes on."""
    given: list[tuple[Any, Any, dict[str, Any]]] = []

    def recorded(value: Any, start: Any, options: dict[str, Any], **_: Any) -> Any:
        given.append((value, start, options))
        return SimpleNamespace(x=np.log([0.4, 1.3]), fun=ends)

    for eta in (0.4, 1.9):  # of the rates 0.04, that of mu, and 0.1, that of L
        method, given[:], ends = gradient_descent(eta=eta), [], 1.0
        with mock.patch.object(optimize, "minimize", recorded), mock.patch.object(choosing, "NEAREST", 0.01):
            found = best_noise(NOISE, method, mu=MU, L=L, measure="distance")
            ((value, begins, limits),) = given
            inside = [
                math.isfinite(value(np.log(at))) for at in ((0.011, 0.5), (0.5, 0.011), (1.989, 0.5), (0.5, 1.989))
            ]
            outside = [
                value(np.log(at)) for at in ((0.009, 0.5), (0.5, 0.009), (1.991, 0.5), (0.5, 1.991), (2.04, 0.5))
            ]
            ends = math.inf
            yield Holds(f"eta = {eta:g}: that nothing was found is told", _is_told(method))
        noise = found.correlation
        roots = [*np.real(noise.zeros), *np.real(noise.poles)] if isinstance(noise, HalfPowers) else []
        yield Fact(f"eta = {eta:g}: zero and pole, each twice", roots, [0.6, 0.6, -0.3, -0.3])
        yield Fact(
            "the rest of the noise", [found.rho, found.d, found.clip_norm, found.sigma_sgd], [0.4, 3, 0.7, 0.2], 0
        )
        yield Holds("inside of the circle", all(inside) and outside == [math.inf] * 5)
        own = bound_method(found, method, mu=MU, L=L, measure="distance", memory=1, certify=False)
        yield Fact(f"eta = {eta:g}: what is least", value(np.log([0.4, 1.3])), float(own.value), 1e-9)
        rate = min(eta * MU, 2.0 - eta * L)
        simplex = [[2 * rate, 0.5], [0.2, 0.5], [2 * rate, 0.9]]
        yield Fact("where it begins", np.exp([begins, *limits["initial_simplex"]]), [simplex[0], *simplex])
        yield Fact("how long it goes on", [limits["fatol"] / value(begins), limits["maxfev"]], [1e-4, 70])


def _is_told(method: Any) -> bool:
    try:
        best_noise(NOISE, method, mu=MU, L=L)
    except AccuracyError:
        return True
    return False


def tables(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """What is bounded, with bounds that are told by script: the least first, and what has none with its reason."""
    asked: list[tuple[Any, Any, dict[str, Any]]] = []

    def bounded(noise: Any, method: Any, **options: Any) -> Any:
        asked.append((noise, method, options))
        if method.name == "heavy ball" and noise.d == 3:
            raise AccuracyError("it goes round")
        return SimpleNamespace(method=method, value=5.0 - len(asked))

    def another(noise: Any, method: Any, **options: Any) -> Any:
        return SimpleNamespace(d=7, options=(noise.d, options))

    budget: dict[str, Any] = {"L": 2.0, "d": 3, "clip_norm": 0.7, "sigma_sgd": 0.2, "measure": "gradient"}
    with mock.patch.multiple(choosing, best_noise=another, bound_method=bounded):
        table = best_method(0.3, 4.0, epsilon=1.5, delta=1e-4, memory=3, certify=False, **budget)
        yield refused("privacy twice", "rho", lambda: best_method(0.3, 4.0, rho=1.0, epsilon=1.5))
        yield refused("no privacy", "rho", lambda: best_method(0.3, 4.0))
        yield refused("a rate at which it diverges", "rate", lambda: best_method(0.7, 4.0, rho=1.0, methods=("gd",)))
    white, (other, _, options) = asked[0][0], asked[1]
    mu = math.sqrt(2 * white.rho)
    delta = stats.norm.cdf(mu / 2 - 1.5 / mu) - math.exp(1.5) * stats.norm.cdf(-mu / 2 - 1.5 / mu)
    yield Fact("delta of the noise", delta, 1e-4, 1e-9)
    yield Fact("the rest of it", [white.d, white.clip_norm, white.sigma_sgd], [3, 0.7, 0.2], 0)
    yield Holds(
        "noise is searched for on the same class", other.options == (3, {"mu": 0.5, "L": 2.0, "measure": "gradient"})
    )
    stated = {"mu": 0.5, "L": 2.0, "measure": "gradient", "memory": 3, "certify": False}
    yield Holds("and bounded there", all(one == stated for _, _, one in asked) and options == stated)
    names = [method.name for _, method, _ in asked]
    yield Holds("every method, with both kinds of noise", names == [name for name in ORDER for _ in range(2)])
    values = [float(row.value) for row in table.rows]
    yield Holds("the least first", values == sorted(values) and table.best is table.rows[0] and len(values) == 7)
    yield Holds("what is left out", table.left_out == (("heavy-ball", "white", "it goes round"),))
    with mock.patch.multiple(choosing, best_noise=another, bound_method=bounded):
        table = best_method(0.6, 4.0, rho=1.0, methods=("gd", "nesterov"))
    told = [(name, kind) for name, kind, _ in table.left_out]
    yield Holds("what diverges is left out with every noise", told == [("gd", "white"), ("gd", "arma")])


def inequalities(rng: np.random.Generator) -> Iterator[Fact]:
    """The forms of a storage program at a point, F less mu |.|^2 / 2 being L - mu smooth: I_ij, and what is judged."""
    own = np.random.default_rng(35)
    cases = (triple_momentum(eta=0.3, b=0.35, g=0.2, d=0.6), True), (heavy_ball(eta=0.4, momentum=0.3), False)
    for method, apart in cases:  # whether the output is not where the gradient is taken
        loop = Loop.of(method, noise_system(independent(), float), 0.15, 1.3, 2, float, own_slope=apart)
        v = own.uniform(-1.0, 1.0, loop.width)
        stated = []
        for i, j in loop.pairs():
            (at, slope), (other, other_slope) = ((point.place @ v, point.slope @ v) for point in (i, j))
            stated.append(-other_slope * (at - other) - (slope - other_slope) ** 2 / (2 * (1.3 - 0.15)))
        told = [float(v @ loop.interpolation(i, j) @ v) for i, j in loop.pairs()]
        yield Fact(f"{method.name}: interpolation inequalities", told, stated)
        weights = own.uniform(0.0, 1.0, len(stated))
        total = float(v @ loop.interpolations(loop.pairs(), weights) @ v)
        yield Fact(f"{method.name}: their weighted sum", total, float(weights @ stated))
        (judged,) = (one for one in loop.points if one.kind == loop.kinds[-1] and one.lag == 0)
        x, slope = float(judged.place @ v), float((judged.slope + 0.15 * judged.place) @ v)
        measures: dict[Measure, float] = {"f": 0.15 * x**2 / 2, "distance": x**2, "gradient": slope**2}
        for measure, number in measures.items():
            yield Fact(f"{method.name}: {measure}", float(v @ loop.measure(measure) @ v), number)


def systems(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Weights at the end that are 0 are not kept, and there is a longest memory."""
    for weights, kept in (([1.0, 0.5, 0.0, 0.0], 1), ([1.0, 0.0, 0.25, 0.0], 2), ([1.0, 0.0], 0), ([2.0, 0.0, 0.0], 0)):
        system = noise_system(from_coefficients(weights), float)
        yield Fact(f"draws kept of {weights}", list(system.A.shape), [kept] * 2, 0)
        state, told = np.zeros(kept), []
        for draw in (1.0, 0.0, 0.0, 0.0):
            told.append(float(system.c @ state + system.d * draw))
            state = system.A @ state + system.b * draw
        yield Fact(f"weights of the system of {weights}", told, [*weights, 0.0, 0.0][:4])
    for more in (0, 1):
        call = lambda n=MOST_MEMORY + more: noise_system(from_coefficients([1.0, *[0.01] * n]), float)  # noqa: E731
        label = f"{MOST_MEMORY + more} draws"
        yield refused(label, "correlation", call) if more else taken(label, call)


ORDER = ("gradient descent", "heavy ball", "Nesterov", "triple momentum")
