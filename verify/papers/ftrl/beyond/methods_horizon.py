"""Beyond the paper: the error of first-order methods after T steps."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from itertools import permutations
from typing import Any
from unittest import mock

import numpy as np
from scipy.linalg import toeplitz

from dpbounds import AccuracyError
from dpbounds.circle.polynomials import exact
from dpbounds.ftrl.correlations import from_coefficients
from dpbounds.ftrl.methods import (
    bound_horizon,
    bound_run,
    chain,
    gradient_descent,
    heavy_ball,
    horizon,
    nesterov,
    triple_momentum,
)
from dpbounds.ftrl.methods.chain import MARGINS, Link, solved
from dpbounds.ftrl.methods.loops import Point
from verify.checks import Agreement, Fact, Holds, Times, Within, refused, taken
from verify.papers.ftrl.tools.gram_programs import worst_error
from verify.statements.claims import Claim

# Errors and start are also tried in units so much smaller.
MU, L, SCALE = 0.1, 1.0, 30.0
CASES = (
    (gradient_descent(eta=0.1), (1.0,), 3, False),
    (gradient_descent(eta=0.5), (1.0, -0.9), 3, False),
    (gradient_descent(eta=0.5), (1.0, -0.9), 2, True),
    (heavy_ball(eta=0.1, momentum=0.5), (1.0, -0.5, 0.2), 3, False),
    (nesterov(eta=0.5, momentum=0.4), (1.0, -0.5), 2, False),
    (nesterov(eta=0.5, momentum=0.4), (1.0, -0.5), 2, True),
)


def noise_matrix(weights: tuple[float, ...], T: int) -> np.ndarray:
    """Lower triangular, constant along diagonals."""
    return toeplitz(np.append(weights, np.zeros(T))[:T], np.zeros(T))


def _horizon(rng: np.random.Generator, factor: float = 1.0, foreseen: int = 0) -> Iterator[Fact | Within]:
    """Certified chains against the program over Gram matrices."""
    for method, weights, T, mean in CASES:
        B, label = noise_matrix(weights, T), f"{method.name}, weights {weights}, T = {T}, {'mean' if mean else 'last'}"
        oracle = factor * worst_error(B, method, MU, L, 1.0, mean=mean, foreseen=foreseen)
        options: dict[str, Any] = {"mu": MU, "L": L, "initial": 1.0, "objective": "mean" if mean else "last"}
        whole = bound_horizon(B, method, T, window=T, **options)
        yield Fact(f"{label}, a window of T", float(whole.value), oracle, 1e-5)
        larger = bound_horizon(SCALE * B, method, T, window=T, **{**options, "initial": SCALE})
        yield Fact(f"{label}, in other units", float(larger.value) / SCALE**2, oracle, 1e-5)
        short = bound_horizon(B, method, T, window=1, **options)
        yield Within(f"{label}: a window of 1 over it", float(short.value) / oracle, 1 - 1e-6, 1.2)
        yield Within(f"{label}: over the worst quadratic, at least", short.ratio, 1.0)
        gamma = np.linalg.norm(np.linalg.inv(B), axis=0).max()
        run = bound_run(from_coefficients(weights), method, T, window=T, rho=gamma**2 / 2.0, **options)
        yield Fact(f"{label}, of that privacy", float(run.value), oracle, 1e-5)


# --- the lower end, and what is tried for a proof ---

# Rows are steps, columns draws; the steps of a schedule: eta, b, g, d.
DRAWS = np.array([[0.9, 0, 0, 0], [-0.4, 1.1, 0, 0], [0.0, -0.5, 0.8, 0], [0.0, 0.1, -0.3, 1.2]])
SCHEDULE = ((0.5, 0.3, 0.2, 0.1), (0.4, 0.5, 0.4, 0.6), (0.3, 0.1, 0.7, -0.2), (0.6, 0.6, 0.3, 0.4))


def _quadratic(h: float, mean: bool, initial: float, variance: float) -> float:
    """E F of the schedule on (h / 2) |x|^2: xi moves by s, s' = b s - eta (h y + w), y = xi + g s, x = xi + d s."""
    place, step = np.array([initial, 0.0, 0.0, 0.0, 0.0]), np.zeros(5)
    errors = []
    for t, (eta, b, g, _) in enumerate(SCHEDULE):
        step = b * step - eta * (h * (place + g * step) + math.sqrt(variance) * np.append(0.0, DRAWS[t]))
        place = place + step
        out = place + SCHEDULE[min(t + 1, 3)][3] * step
        errors.append(h / 2 * float(out @ out))
    return sum(errors) / 4 if mean else errors[-1]


def _schedules(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact | Within]:
    """Of methods that differ from step to step, the last two as well; and the units of the program."""
    methods = [triple_momentum(eta=eta, b=b, g=g, d=d) for eta, b, g, d in SCHEDULE]
    for mean, T in ((False, 3), (True, 2), (False, 4)):
        chosen, B = methods[:T], DRAWS[:T, :T]
        options: dict[str, Any] = {"mu": MU, "L": L, "initial": 1.0, "objective": "mean" if mean else "last"}
        found = bound_horizon(B, chosen, T, window=T, certify=False, **options)
        oracle = factor * worst_error(B, chosen, MU, L, 1.0, mean=mean)
        yield Fact(f"{T} steps of a schedule, {options['objective']}", float(found.value), oracle, 1e-5)
        yield Within("seconds that it took", found.seconds, 1e-6, 600.0)
    rest = np.array([1.0, 0.0])  # a place and a step
    for initial, variance, place, draw in ((0.7, 2.25, 1.8, 1.5), (9.0, 2.25, 9.0, 1.5), (0.8, 0.0, 0.8, 0.6 * 0.8)):
        units = horizon._Scales.of(methods, rest, 0.5, 1.1, initial, variance)
        # four steps of 0.6 at most; draws of 1.5 move it by 0.6 (1.5) 2; without draws gradients are their unit
        told = [units.place, units.slope, units.draw, units.step, units.value, *units.of_state(3, 1)]
        slope, drawn = 0.6 * place, math.sqrt(variance)
        step = 0.6 * (slope + drawn)
        stated = [place, slope, draw, step, 1.1 * place**2, place, step, draw, step, slope]
        yield Fact(f"units from {initial:g} and {variance:g}", told, [factor * x for x in stated])


def _balances(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """gamma ahead - gamma + omega where it is judged + (multipliers from the point - those to it) is 0 at each point,
    exactly, by multipliers that are raised, of pairs with theta*.
    """
    own, one = np.random.default_rng(19), np.zeros(1)
    for own_slope in (False, True):
        kinds = [("", 0), ("y", 0), ("y", 1), ("y", 2), *([("x", 0)] if own_slope else [])]
        points = tuple(Point(one, one, kind, lag) for kind, lag in kinds)
        weight, square = 0.3, np.zeros((1, 1))
        link = Link(square, one, 1, points, square, weight, 1.0, one, one)
        pairs, number = list(permutations(points, 2)), len(points) * (len(points) - 1)
        given, gamma, ahead = ([exact(x) for x in own.uniform(-1, 1, n).tolist()] for n in (number, 2, 3))
        given = [abs(x) for x in given]
        found = chain._balanced(link, list(given), gamma, ahead)
        judged = points[-1] if own_slope else points[1]
        for point in points[1:]:
            total = exact(weight) if point is judged else exact(0.0)
            total += (ahead[point.lag] if point.kind == "y" else 0) - (gamma[point.lag - 1] if point.lag else 0)
            total += sum(x * ((i is point) - (j is point)) for x, (i, j) in zip(found, pairs, strict=True))
            yield Fact(f"at {point.kind} {point.lag}, {len(points)} points", float(total), 0.0, 0)
        raised = [(x - y, points[0] in pair) for x, y, pair in zip(found, given, pairs, strict=True)]
        yield Holds("raised, and only with theta*", all(x == 0 or (x > 0 and star) for x, star in raised))


def _lower(rng: np.random.Generator) -> Iterator[Fact | Holds | Within]:
    """The worst of 41 quadratics under a schedule; that the value is above it, and what is said of both."""
    methods = [triple_momentum(eta=eta, b=b, g=g, d=d) for eta, b, g, d in SCHEDULE]
    curvatures = np.geomspace(0.15, 1.1, 41)
    for mean, initial, variance in ((False, 0.3, 1.7), (True, 1.4, 0.6)):
        errors = [_quadratic(h, mean, initial, variance) for h in curvatures.tolist()]
        options: dict[str, Any] = {"mu": 0.15, "L": 1.1, "initial": initial, "variance": variance, "window": 1}
        options["objective"] = "mean" if mean else "last"
        plain, proved = (bound_horizon(DRAWS, methods, 4, certify=certify, **options) for certify in (False, True))
        told = [float(plain.lower), plain.curvature, plain.T, plain.window, plain.variance, plain.ratio]
        stated = [max(errors), curvatures[np.argmax(errors)], 4, 1, variance, float(plain.value) / max(errors)]
        label = options["objective"]
        yield Fact(f"{label}: worst quadratic", told, stated, 1e-10)
        yield Within(f"{label}: value over it", proved.ratio, 1.0, 2.5)
        yield Fact(f"{label}: value that is not proved", float(plain.value), float(proved.value), 1e-6)
        kinds = [plain.value.kind, plain.lower.kind, proved.value.kind, proved.lower.kind]
        yield Holds(f"{label}: kinds", kinds == ["estimate", "estimate", "upper", "estimate"])
        yield Holds(f"{label}: certified", proved.is_certified and not plain.is_certified)


def _margins(rng: np.random.Generator) -> Iterator[Holds]:
    """The inequalities are strict by ever more until there is a proof, of the squared distance and the variance."""
    for number, limit in enumerate((*MARGINS, math.inf), 1):
        tried = []

        def attempt(chain: Any, squared: float, variance: float, margin: float, tried: list[Any] = tried) -> float:
            tried.append((chain, squared, variance, margin))
            return margin

        def proved(whole: Any, found: float, squared: Any, variance: Any, limit: float = limit) -> Any:
            if found < limit:
                raise AccuracyError("no proof")
            return whole, found, squared, variance

        with mock.patch.multiple(horizon, solved=attempt, proved=proved):
            try:
                answer = horizon._certified("floats", "fractions", 0.75, 1.3)  # pyright: ignore[reportArgumentType]
            except AccuracyError:
                answer = None
        given = [("floats", 0.5625, 1.3, margin) for margin in MARGINS[:number]]
        stated = None if limit > MARGINS[-1] else ("fractions", limit, exact(0.5625), exact(1.3))
        yield Holds(f"margins up to {limit:g}", tried == given and answer == stated)


def _units(rng: np.random.Generator) -> Iterator[Fact]:
    """Where the steps of a schedule differ by much, strict inequalities cost less than a millionth."""
    options: dict[str, Any] = {"mu": 0.1, "L": 1.0, "initial": 0.7, "variance": 1.4, "certify": False}
    methods = [nesterov(eta=eta, momentum=0.4) for eta in (0.5, 0.1, 0.01)]
    values = []
    for margin in (MARGINS[0], 0.0):
        with mock.patch.object(horizon, "solved", partial(solved, margin=margin)):
            values.append(float(bound_horizon(DRAWS[:3, :3], methods, 3, **options).value))
    yield Fact("with strict inequalities, and without", values[0], values[1], 1e-6)


def _refusals(rng: np.random.Generator) -> Iterator[Holds]:
    """Arguments at the edge of what is taken, and beyond."""
    one, other = gradient_descent(eta=0.3), heavy_ball(eta=0.3, momentum=0.2)
    wide = np.eye(30)
    wide[29, 4] = 0.1
    given: dict[str, Any] = {"mu": 0.2, "L": 1.0, "initial": 0.5, "certify": False}
    future = np.eye(2) + np.diag([0.1], 1)
    for label, parameter, (B, method, T), changed in (
        ("one method too many", "method", (np.eye(2), [one] * 3, 2), {}),
        ("states that differ", "method", (np.eye(2), [one, other], 2), {}),
        ("a draw that is to come", "noise_matrix", (future, one, 2), {}),
        ("another size", "noise_matrix", (np.eye(3), one, 2), {}),
        ("26 diagonals", "noise_matrix", (wide, one, 30), {}),
        ("mu = L", "mu", (np.eye(2), one, 2), {"mu": 1.0}),
        ("nothing that moves", "variance", (np.eye(2), one, 2), {"initial": 0.0, "variance": 0.0}),
        ("16 past gradients", "window", (np.eye(2), one, 2), {"window": 16}),
        ("an objective", "objective", (np.eye(2), one, 2), {"objective": "first"}),
    ):
        call = lambda B=B, method=method, T=T, changed=changed: bound_horizon(B, method, T, **{**given, **changed})  # noqa: E731
        yield refused(label, parameter, call)
    wide[29, 4], wide[29, 5] = 0.0, 0.1
    rows = [[wide[t, t - k] if t >= k else 0.0 for k in range(25)] for t in range(30)]
    yield Holds("25 diagonals", np.array_equal(horizon._banded(wide, 30), rows))
    for label, changed in (("noise alone", {"initial": 0.0}), ("a start alone", {"variance": 0.0})):
        yield taken(label, lambda changed=changed: bound_horizon(np.eye(2), one, 2, **{**given, **changed}))


HORIZON = Claim(
    id="ftrl/beyond-methods-horizon",
    where="beyond the paper: first-order methods after finitely many steps",
    kind="identity",
    statement=(
        r"After $T$ steps of a linear method with noise $B e$, draws independent of the past, a chain of $T$ storage "
        r"functions that know all past gradients gives the largest $EE F(x_T) - F^*$, or mean over $x_1, ..., x_T$, "
        "that the interpolation inequalities between all points allow, for methods that differ from step to step too.",
        "With one past gradient it is not below that, nor below the error of the worst quadratic.",
        "The lower end, of schedules too, is the largest error among 41 quadratics, by the response to the start and "
        "to each draw.",
        "A proof is tried with margins that grow until there is one, and noise of the future, methods with different "
        "states and more than 25 diagonals are refused.",
    ),
    hypotheses=r"$F$ $mu$-strongly convex and $L$-smooth, $abs(theta_0 - theta^*) <= 1$; 30 with 30 times the noise.",
    setting=r"$kappa = 10$, six methods, noises and objectives, $T <= 3$; certified in exact fractions.",
    checks=(
        Agreement(
            decides="ab",
            facts=_horizon,
            impostors={
                "1 % off": {"facts": {"factor": 1.01}},
                "gradients that know a draw ahead": {"facts": {"foreseen": 1}},
            },
        ),
        Agreement(decides="ac", facts=_schedules, impostors={"1 % off": {"facts": {"factor": 1.01}}}),
        Agreement(decides="a", facts=_balances),
        Agreement(decides="c", facts=_lower, impostors={"1e-9 off": {"facts": Times(1 + 1e-9)}}),
        Agreement(decides="d", facts=_margins),
        Agreement(decides="d", facts=_units, impostors={"1e-5 off": {"facts": Times(1 + 1e-5)}}),
        Agreement(decides="d", facts=_refusals),
    ),
)
