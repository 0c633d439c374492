"""Beyond the paper: the same quantity in another form: spectra in every arithmetic, systems, sentences, rows."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import flint
import numpy as np
from scipy.signal import lfilter

from dpbounds import arithmetic
from dpbounds.arithmetic import FLOATS
from dpbounds.circle.arcs import Cells
from dpbounds.circle.discs import Discs
from dpbounds.elliptic import balls as elliptic
from dpbounds.elliptic.floats import integral_ratio
from dpbounds.ftrl.correlations import damped_anti_pgd, from_coefficients, independent, nu
from dpbounds.ftrl.correlations.half_powers import HalfPowers
from dpbounds.ftrl.correlations.interlacing import DampedHalfPowers
from dpbounds.ftrl.design.mechanisms import Bands, Blt
from dpbounds.ftrl.exact_errors import regression_error
from dpbounds.ftrl.linear_regression import Regression, lower_bound, optimal_suboptimality
from dpbounds.ftrl.methods import (
    LinearMethod,
    bound_horizon,
    bound_method,
    gradient_descent,
    heavy_ball,
    momentum_gain,
    nesterov,
)
from dpbounds.ftrl.methods.every_noise import least_over_noises
from dpbounds.ftrl.methods.loops import Measure
from dpbounds.ftrl.methods.noises import is_rational, noise_system
from dpbounds.ftrl.methods.problem import GradientNoise
from dpbounds.ftrl.strongly_convex import Noise, StronglyConvex, best_nu, bound, bound_density
from dpbounds.ftrl.strongly_convex.floats import REACH, _Harmonics
from dpbounds.ftrl.strongly_convex.programs import squared_distance
from dpbounds.ftrl.strongly_convex.show import plot
from verify.checks import Agreement, Fact, Holds, Times, Within, refused, taken
from verify.papers.ftrl.beyond.exact import OURS
from verify.papers.ftrl.beyond.shared import arithmetics, distances, meanings, numbers, things
from verify.statements.claims import Claim

_OFF = {"1 % off": {"facts": Times(1.01)}}
FREQUENCIES = np.array([0.0, 0.3, 1.1, 2.4, math.pi])


# --- spectra ---


def _spectra(rng: np.random.Generator) -> Iterator[Fact | Within | Holds]:
    """|B|^2 from the factors as complex numbers, in floats and in balls; the series from the spectrum."""
    z, s = np.exp(1j * FREQUENCIES), np.sin(FREQUENCIES / 2) ** 2
    for zeros, poles in (((0.1, 0.5), (0.3,)), ((0.6,), (0.2, 1.4)), ((0.05, 0.7), (0.2, 1.1)), ((), (0.4,)), ((), ())):
        made = DampedHalfPowers(tuple(reversed(zeros)), poles, gain=1.7)
        factors = [np.prod([np.abs(1 - (1 - a) * z) for a in part] or [np.ones(5)], axis=0) for part in (zeros, poles)]
        label, stated = f"zeros {zeros}, poles {poles}", 1.7**2 * factors[0] / factors[1]
        yield from _in_both(label, made, s, stated)
        yield Fact(f"{label}: degree", made.degree, max(len(zeros), len(poles), 1), 0.0)
        n = 512
        series = made.coefficients(n)
        squares = np.abs(np.polynomial.polynomial.polyval(0.5 * z, series)) ** 2
        own = [np.prod([np.abs(1 - (1 - a) * z / 2) for a in part] or [np.ones(5)], axis=0) for part in (zeros, poles)]
        yield Fact(f"{label}: series at |z| = 1/2", squares, 1.7**2 * own[0] / own[1], 1e-9)
        product = np.convolve(series, made.inverse_coefficients(n))[:n]
        yield Fact(f"{label}: inverse series", product, np.eye(n)[0], 1e-9)
    bands, blt = Bands((1.0, 0.5, 0.2)), Blt((0.9, 0.4), (0.3, 0.2))
    C = 1 + 0.5 * z + 0.2 * z**2
    yield from _in_both("three bands", bands, s, 1 / np.abs(C) ** 2)
    C = 1 + 0.3 * z / (1 - 0.9 * z) + 0.2 * z / (1 - 0.4 * z)
    yield from _in_both("two buffers", blt, s, 1 / np.abs(C) ** 2)
    degrees = [made.degree for made in (bands, Bands((1.0,)), blt, Blt((), ()))]
    yield Fact("degrees of bands and buffers", degrees, [2, 1, 2, 1], 0.0)
    with arithmetic.balls(128):
        for function in (elliptic.K, elliptic.E):
            yield refused(f"{function.__name__} of modulus 1.5", "k", partial(function, flint.arb(1.5)))
        yield Fact("E of modulus 1", float(elliptic.E(flint.arb(1)).mid()), 1.0)
    rates = np.array([0.3, 0.97, 1.04, 1.7])
    stated = np.abs(1 - rates[:, None] - z) ** 2
    yield Fact("distances of a column of rates", squared_distance(FREQUENCIES, rates[:, None]), stated)
    yield from distances()
    yield refused("a pole beyond the circle", "b", lambda: integral_ratio(0.5, 1.001))
    yield taken("a pole at its centre", lambda: integral_ratio(0.5, 1.0))
    quotient = 3.0 / Discs(2.0, 0.125)
    yield Fact("3 over a disc of 1.875 to 2.125", [quotient.centre, quotient.radius], [1.5, 3.0 / 1.875 - 1.5], 1e-9)
    for point in (1.875, 2.0, 2.125):
        yield Within(f"3 / {point:g} from its centre", abs(3.0 / point - quotient.centre), 0.0, float(quotient.radius))


def _variations(rng: np.random.Generator) -> Iterator[Within]:
    """How far sums of cosines move within discs, narrow and wide, against 48 points of each rim."""
    turns = np.exp(2j * math.pi * np.arange(48) / 48)
    for level in (1, 2, 5):
        points = Cells(np.array([-1.5, 0.1875, 2.0]), np.full(3, level), 5).discs
        omega = 2 * np.arcsin(np.sqrt(points.s.centre))
        for last in (1, 5):
            a, t = np.random.default_rng(last).uniform(0.5, 1.0, last + 1), np.arange(last + 1)
            stated = _Harmonics(a, np.zeros(last + 1)).variation(points)
            for place, (centre, r, most) in enumerate(zip(omega, points.radius, stated, strict=True)):
                rim = np.cos(np.multiply.outer(centre + r * turns, t)) @ a
                farthest = float(np.abs(rim - np.cos(centre * t) @ a).max())
                label = f"lags up to {last}, level {level}, place {place}"
                if math.isfinite(most):
                    yield Within(f"{label}: stated over the farthest", most / farthest, 1.0 - 1e-9, 2.0)
                else:
                    yield Within(f"{label}: radius times lag", r * last, REACH)


def _in_both(label: str, made: Any, s: np.ndarray, stated: np.ndarray) -> Iterator[Fact]:
    yield Fact(f"{label}, in floats", made.spectral_density(FLOATS, s), stated, 1e-12)
    with arithmetic.balls(128) as m:
        balls = [float(made.spectral_density(m, float(point)).mid()) for point in s]
    yield Fact(f"{label}, in balls", balls, stated, 1e-12)


def _systems(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Weights of the small systems against filters; which correlations have one."""
    noises = {
        "one weight": (nu(1.0), [1.0], [1.0]),
        "independent": (independent(), [1.0], [1.0]),
        "damped anti-PGD": (damped_anti_pgd(0.3), [1.0, -0.7], [1.0]),
        "three weights": (from_coefficients((1.0, -0.5, 0.2)), [1.0, -0.5, 0.2], [1.0]),
        "a zero and a pole": (HalfPowers((0.9, 0.9), (0.4, 0.4)), [1.0, -0.9], [1.0, -0.4]),
        "two poles": (HalfPowers((0.8, 0.8), (0.4, 0.4, -0.3, -0.3)), [1.0, -0.8], [1.0, -0.1, -0.12]),
    }
    for label, (correlation, above, below) in noises.items():
        system = noise_system(correlation, float)
        weights, state = [system.d], system.b
        for _ in range(7):
            weights.append(float(system.c @ state) if len(state) else 0.0)
            state = system.A @ state
        yield Fact(f"{label}: weights", weights, lfilter(above, below, np.eye(8)[0]))
        yield Holds(f"{label} has a small system", is_rational(correlation))
    for label, correlation in (("nu = 1/2", nu(0.5)), ("a simple zero", HalfPowers((0.9,), (0.4,)))):
        yield Holds(f"{label} has none", not is_rational(correlation))


# --- what answers say of themselves ---


def _answers(rng: np.random.Generator) -> Iterator[Fact | Within | Holds]:
    """Rows of a regression; bounds of methods with and without a proof, and where x is not where gradients are."""
    problem = Regression(eigenvalues=np.array([1.0, 0.3]), eta=0.2, rho=0.5, sigma_sgd=0.1)
    least = regression_error(None, problem)
    yield Fact("of the optimum: error", float(least.suboptimality), float(optimal_suboptimality(problem)), 0.0)
    yield Fact("of the optimum: over itself", least.over_optimum, 1.0, 0.0)
    assert least.lower is not None
    yield Fact("of the optimum: lower bound", float(least.lower), float(lower_bound(problem)), 0.0)
    white = regression_error(independent(), problem)
    yield Fact("independent: over the optimum", white.over_optimum, white.suboptimality / least.suboptimality)
    B = np.array([[1.0, 0.0, 0.0], [-0.5, 1.0, 0.0], [0.2, -0.5, 1.0]])
    for method in (nesterov(eta=0.5, momentum=0.4).output("y"), nesterov(eta=0.5, momentum=0.4).output("x")):
        for objective in ("last", "mean"):
            options: dict[str, Any] = {"mu": 0.1, "L": 1.0, "initial": 3.0, "variance": 0.7, "objective": objective}
            proved, found = (bound_horizon(B, method, 3, certify=certify, **options) for certify in (True, False))
            label = f"{method.name}, {'sees' if method.sees_output else 'does not see'} what it gives, {objective}"
            yield Fact(f"{label}: estimate", float(found.value), float(proved.value), 1e-4)
            yield Holds(f"{label}: which is proved", proved.is_certified and not found.is_certified)
            yield Within(f"{label}: over the worst quadratic", proved.ratio, 1.0, 3.0)
    method = bound_method(
        Noise(correlation=independent(), rho=0.5), heavy_ball(eta=0.1, momentum=0.3), mu=0.25, L=2.0, certify=False
    )
    yield Fact("kappa of a bound", method.kappa, 8.0)
    held = [
        float(
            bound_method(
                Noise(correlation=from_coefficients((1.0, -0.6)), rho=0.5), nesterov(eta=0.3, momentum=0.3).output("x"),
                mu=0.25, L=2.0, measure="gradient", memory=memory, certify=False,
            ).value
        )
        for memory in (0, 1, 2)
    ]  # fmt: skip
    yield Fact("a gradient at x: two past ones are worth no more than one", held[2], held[1], 1e-4)
    yield Within("and one is worth something", held[1] / held[0], 0.8, 0.9)
    gain = momentum_gain(0.01, 100.0)
    assert gain is not None
    # Errors that a class allows on |theta|^2 / 2 add variance eta / (2 (2 - eta)), eta = 1 here, those that it does not
    # allow there nothing.
    for co, added in ((-1e-4, 0.005), (-3e-4, 0.0)):
        told = momentum_gain(0.01, 100.0, gradient_noise=GradientNoise(variance=0.01, co=co, distance=2e-4))
        assert told is not None
        yield Fact(f"momentum, co = {co:g}: descent", float(told.descent) - float(gain.descent), added, 1e-9)
    stated = dict(re.findall(r"(L / mu|rate r|times|eta L) = ([\d.e+-]+\d)", gain.sentence))
    yield Fact("momentum, in words: kappa and rate", [float(stated["L / mu"]), float(stated["rate r"])], [100.0, 0.01])
    eta = gain.nesterov.method.B  # the newest draw moves x by eta
    yield Fact("momentum, in words: eta L", float(stated["eta L"]), float(np.abs(eta).max()) * gain.nesterov.L, 1e-2)
    times = re.search(r"at least ([\d.]+) times", gain.sentence)
    assert times is not None
    yield Within("momentum, in words: the gain over that printed", gain.gain / float(times[1]), 1.0, 1.01)


def _every_noise(rng: np.random.Generator) -> Iterator[Within]:
    """What any noise costs at least, over mixtures of two curvatures, each of which bounds it from below."""
    z = np.exp(2j * math.pi * (np.arange(2048) + 0.5) / 2048)
    mu, L = 0.05, 1.0
    cases: tuple[tuple[LinearMethod, Measure, Callable[[float], float]], ...] = (
        (gradient_descent(eta=1.9), "distance", lambda h: 1.0),
        (heavy_ball(eta=1.0, momentum=0.8), "f", lambda h: h / 2),
        (heavy_ball(eta=0.1, momentum=0.8), "f", lambda h: h / 2),
        (nesterov(eta=0.9, momentum=0.7), "gradient", lambda h: h**2),
    )
    for method, measure, factor in cases:
        gains = []
        for h in np.geomspace(mu, L, 9):
            inner = z[:, None, None] * np.eye(len(method.A)) - method.A - h * np.outer(method.B, method.C)
            gains.append(factor(h) * np.abs(np.linalg.inv(inner) @ method.B @ method.row) ** 2)
        pairs = [
            np.mean(np.sqrt(share * a + (1 - share) * b)) ** 2
            for a, b in itertools.combinations(gains, 2)
            for share in np.linspace(0.0, 1.0, 41)
        ]
        found = least_over_noises(method, mu, L, measure)
        yield Within(f"{method.name}, {measure}: least cost over that of pairs", found / float(max(pairs)), 0.999, 1.2)


class _Axes:
    """Axes that only remember the lines."""

    def __init__(self) -> None:
        self.lines: list[tuple[np.ndarray, np.ndarray]] = []

    def loglog(self, x: np.ndarray, y: np.ndarray, *style: Any, label: str) -> None:
        self.lines.append((x, y))

    def __getattr__(self, name: str) -> Any:
        return lambda *words, **more: SimpleNamespace()


def _shown(rng: np.random.Generator) -> Iterator[Fact | Within | Holds]:
    """Bounds of a strongly convex loss in a line, a row and a picture; the best nu where none is better than 1."""
    problem = StronglyConvex(mu=0.4, L=2.0, eta=0.25, rho=0.5, d=3, clip_norm=2.0)
    found = bound(nu(0.3), problem, max_lag=1)
    yield Fact("ratio", found.ratio, float(found.best) / float(found.lower))
    omega = 2 * math.pi * (np.arange(4096) + 0.5) / 4096
    density = found.noise.density(np.sin(omega / 2) ** 2)
    errors = [
        h / 2 * 0.25**2 * float(np.mean(density / np.abs(1 - 0.25 * h - np.exp(1j * omega)) ** 2))
        for h in np.linspace(0.4, 2.0, 321)
    ]
    yield Fact("lower end: the worst quadratic", float(found.lower), max(errors), 1e-4)
    given = bound_density(lambda m, s: 1 + 4 * s, 0.4, 2.0, 0.25, max_lag=0)
    h = np.linspace(0.4, 2.0, 321)
    parts = (1 + 4 * np.sin(omega / 2) ** 2) / np.abs(1 - 0.25 * h[:, None] - np.exp(1j * omega)) ** 2
    largest = float(np.max(h / 2 * 0.25**2 * parts.mean(axis=1)))
    yield Fact("of a given density: lower end", float(given.lower), largest, 1e-4)
    line = repr(found)
    shown = re.fullmatch(r"ConvexBound\(([\d.e+-]+) <= .* <= ([\d.e+-]+), .*, ratio ([\d.e+-]+);.*", line)
    assert shown is not None
    low, high, ratio = map(float, shown.groups())
    yield Within("line: lower end over that printed", float(found.lower) / low, 1.0, 1.001)
    yield Within("line: upper end over that printed", float(found.best) / high, 0.999, 1.0)
    yield Within("line: ratio over that printed", found.ratio / ratio, 0.99, 1.0)
    for words in ("certified", "mu = 0.4", "L = 2", "eta = 0.25", "d = 3", "clip_norm = 2"):
        yield Holds(f"line: {words}", words in line)
    yield Holds("line: nothing of what is as by default", "sigma_sgd" not in line)
    table = found._repr_html_()
    yield Holds("table: the whole", "sigma_sgd = 0" in table and "not a bound" not in table and line[:4] not in table)
    printed = bound(nu(0.3), problem, program="paper", max_lag=1)
    yield Holds("of eq. (10) as printed it is said that it is none", "not a bound" in repr(printed))
    yield Holds("and in its row", "not a bound" in printed._repr_html_())
    axes = plot(found, _Axes())
    (omega, density), (same, psi) = axes.lines
    z = np.exp(1j * omega)
    per_draw = float(np.mean(found.noise.density(np.sin(omega / 2) ** 2) / np.abs(1 - 0.7 * z)))
    yield Fact("picture: the spectrum", density, per_draw * np.abs(1 - 0.7 * z), 1e-9)
    yield Fact("picture: psi", psi, found.psi(same), 0.0)
    yield Within("picture: the least frequency over eta mu", float(omega[0]) / 0.1, 0.0, 0.5)
    yield Fact("picture: the largest frequency", float(omega[-1]), math.pi)
    # With eta L = 1 and mu = L nothing is gained: every step forgets the noise of the one before.
    quick = best_nu(StronglyConvex(mu=1.0, L=1.0, eta=1.0, rho=0.5), max_lag=0)
    yield Fact(
        "the best nu where steps forget", [quick.nu, float(quick.bound.best)], [1.0, float(quick.independent.best)]
    )
    said = any(f"{name} =" in repr(quick.bound) for name in ("d", "clip_norm", "sigma_sgd"))
    yield Holds("line: neither d, clip norm nor noise of the gradients as by default", not said)


FORMS = Claim(
    id="ftrl/beyond-forms",
    where=f"{OURS}: spectra, systems and answers in another form",
    kind="identity",
    statement=(
        (
            "Spectra of half powers, bands and buffers are those of their factors in floats and in balls, and the "
            "small system of a rational correlation has its weights;"
        ),
        (
            "estimates of bounds after $T$ steps agree with the certified ones, wherever gradients are taken, and what "
            "answers say in lines, rows and pictures are their numbers, rounded outwards;"
        ),
        "sums of cosines move within discs by no more than is stated, and by half of it at least;",
        "what is no number, or outside of the range that is written, is refused by its name, values say what they are, "
        "and balls have the ends of their ranges.",
    ),
    checks=(
        Agreement(decides="a", facts=_spectra, impostors=_OFF),
        Agreement(decides="a", facts=_systems, impostors=_OFF),
        Agreement(decides="c", facts=_variations, impostors={"a third of it": {"facts": Times(0.3)}}),
        Agreement(decides="b", facts=_answers, impostors=_OFF),
        Agreement(decides="b", facts=_every_noise, impostors={"half as much again": {"facts": Times(1.5)}}),
        Agreement(decides="b", facts=_shown, impostors=_OFF),
        *(Agreement(decides="d", facts=facts, impostors=_OFF) for facts in (numbers, things, meanings, arithmetics)),
    ),
)
