"""Beyond the paper: the length of a Gaussian vector."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from mpmath import mp
from scipy import stats
from scipy.special import ndtr

from dpbounds import gaussian_norm
from dpbounds.gaussian_norm import norm_cdf, norm_mean, norm_quantile
from verify.checks import Agreement, Fact, Holds, Times, Within, refused, taken
from verify.statements.claims import Claim

NODES, WEIGHTS = np.polynomial.legendre.leggauss(600)


def _conditioned(mean: tuple[float, float], variances: tuple[float, float], radius: np.ndarray) -> np.ndarray:
    """P(||x|| <= radius) in the plane: the second coordinate is Gaussian given the first, radius times a sine."""
    angle, (first, second) = math.pi / 2 * NODES, (math.sqrt(variance) for variance in variances)
    x, rest = np.multiply.outer(radius, np.sin(angle)), np.multiply.outer(radius, np.cos(angle))
    inside = ndtr((rest - mean[1]) / second) - ndtr((-rest - mean[1]) / second)
    density = np.exp(-(((x - mean[0]) / first) ** 2) / 2) / (first * math.sqrt(2 * math.pi))
    return (density * inside * rest) @ WEIGHTS * math.pi / 2


def _lengths(rng: np.random.Generator) -> Iterator[Fact]:
    """Noncentral chi-squares, conditioning by quadrature, closed forms; mixtures; means by integrating tails."""
    for p, offset in ((1, 0.7), (2, 0.0), (5, 3.0), (20, 30.0), (200, 7.0)):
        law: Any = stats.chi2(p) if offset == 0 else stats.ncx2(p, offset**2)
        direction = rng.standard_normal(p)
        mean = 0.1 * offset * direction / np.linalg.norm(direction)
        levels = (1e-7, 1e-3, 0.5, 0.95, 1 - 1e-7)
        radii = [0.1 * math.sqrt(law.ppf(level)) for level in levels]
        found = [float(norm_cdf(mean, 0.01 * np.eye(p), radius)) for radius in radii]
        yield Fact(f"P, p = {p}, offset {offset}", found, levels, 2e-9)
        for level, radius in zip(levels[1:-1], radii[1:-1], strict=True):
            slope = float(law.pdf((radius / 0.1) ** 2)) * 2 * (radius / 0.1) ** 2 / level
            quantile = norm_quantile(mean, 0.01 * np.eye(p), level)
            error = 2e-9 + 2e-9 / (slope * level)
            yield Fact(f"quantile, p = {p}, offset {offset}, level {level}", quantile, radius, error)
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    for mean, variances in (((0.0, 0.0), (1.0, 0.2)), ((2.0, -0.5), (1.0, 0.01)), ((0.1, 1.0), (0.3, 0.3))):
        covariance, centre = turn @ np.diag(variances) @ turn.T, turn @ np.array(mean)
        for radius in (0.5, 1.5):
            stated = float(_conditioned(mean, variances, np.array(radius)))
            yield Fact(f"P, {mean}, {variances}, {radius}", float(norm_cdf(centre, covariance, radius)), stated, 1e-8)
        tail = float((1 - _conditioned(mean, variances, 6 * (NODES + 1))) @ WEIGHTS * 6)
        yield Fact(f"mean, {mean}, {variances}", float(norm_mean(centre, covariance)), tail, 1e-9)
    both = norm_quantile(np.array([[0.0], [10.0]]), np.array([[[1.0]], [[1.0]]]), 0.75)
    yield Fact("quantile of a mixture", both, 10.0, 1e-8)
    yield Fact("mean of a chi with 3 degrees", float(norm_mean(np.zeros(3), np.eye(3))), 2 * math.sqrt(2 / math.pi))


def _edges(rng: np.random.Generator) -> Iterator[Fact | Within | Holds]:
    """Batches, any unit, coordinates without variance, points: by closed forms; and what is refused."""
    scales = np.array([[1.0, 0.3, 2.0], [0.7, 5.0, 1.4]])
    for unit in (1.0, 1e-6, 1e20):
        plane = np.zeros((2, 3, 2)), (unit * scales[..., None, None]) ** 2 * np.eye(2)
        stated = -np.expm1(-0.5 * (0.9 / scales) ** 2)  # Rayleigh's
        yield Fact(f"P of a batch in units of {unit:g}", norm_cdf(*plane, 0.9 * unit), stated, 2e-9)
        yield Fact(f"its means in units of {unit:g}", norm_mean(*plane) / unit, scales * math.sqrt(math.pi / 2), 1e-10)
        for level in (0.01, 0.4, 0.999):
            found = norm_quantile(np.zeros(2), unit**2 * np.eye(2), level) / unit
            error = 3e-9 / ((1 - level) * found**2)  # that of P over its slope
            yield Fact(f"quantile {level} in units of {unit:g}", found, math.sqrt(-2 * math.log1p(-level)), error)
    centre, flat = np.array([0.8, -0.6, 0.3]), np.diag([0.49, 0.0, 0.0])
    for radius in (0.5, 0.7, 1.3):
        half = math.sqrt(max(radius**2 - 0.45, 0.0))
        stated = float(ndtr((half - 0.8) / 0.7) - ndtr((-half - 0.8) / 0.7)) if radius > 0.6 else 0.0
        yield Fact(f"P within {radius} where one of three varies", float(norm_cdf(centre, flat, radius)), stated, 2e-9)
    yield Fact("mean of a point", float(norm_mean(centre, 0 * flat)), math.sqrt(1.09), 1e-10)
    yield Fact("mean of 0", float(norm_mean(0 * centre, 0 * flat)), 0.0)
    for m, variances in ((1.03, (1e-4, 5e-5)), (0.96, (1e-4, 5e-5)), (1.002, (1e-6, 3e-6))):
        stated = float(_conditioned((m, 0.0), variances, np.array(1.0)))
        narrow = float(norm_cdf(np.array([m, 0.0]), np.diag(variances), 1.0))
        yield Fact(f"P of a narrow law about {m:g}, less 1", narrow - 1, stated - 1, 2e-9 / abs(stated - 1))
    points = np.array([[3.0, 4.0], [0.0, 0.0]]), np.zeros((2, 2, 2))
    for radius, stated in ((0.0, [0, 1]), (4.99, [0, 1]), (5.0, [1, 1])):
        yield Fact(f"P of points within {radius}", norm_cdf(*points, radius), stated, 0)
        line = norm_cdf(np.array([[-5.0], [0.0]]), np.zeros((2, 1, 1)), radius)
        yield Fact(f"P of points on a line within {radius}", line, stated, 0)
    for variance, low, high in ((0.9e-15, 1.0, 1.0), (1.2e-15, 0.53, 0.57)):
        found = norm_cdf(np.array([0.0, 1.0, 0.0]), variance * np.diag([0.0, 1.0, 0.1]), 1 + 4e-9)
        yield Within(f"P just beyond the mean, variance {variance:g}", float(found), least=low, most=high)
    half = np.zeros((2, 2)), np.array([0.0, 4.0])[:, None, None] * np.eye(2)
    yield Fact(
        "upper quartile of a point and a plane", norm_quantile(*half, 0.75), 2 * math.sqrt(2 * math.log(2)), 1e-8
    )
    yield Within("lower quartile of a point and a plane", norm_quantile(*half, 0.25), least=0.0, most=1e-11)
    yield Fact("quantile of 0", norm_quantile(np.zeros(2), np.zeros((2, 2)), 0.9), 0.0, 0)
    I = np.eye(2)
    far = norm_cdf(np.array([[0.0, 0.0], [40.0, 0.0]]), np.array([I, I]), 20.0)
    yield Fact("P far out and far in", far, [1, 0], 0)
    calls: dict[str, tuple[str, Callable[[], Any]]] = {
        "a negative radius": ("radius", lambda: norm_cdf(np.ones(2), I, -1.0)),
        "probability 0": ("probability", lambda: norm_quantile(np.ones(2), I, 0.0)),
        "probability 1": ("probability", lambda: norm_quantile(np.ones(2), I, 1.0)),
        "three means and a plane": ("mean, covariance", lambda: norm_cdf(np.ones(3), I, 1.0)),
        "a number as mean": ("mean, covariance", lambda: norm_mean(np.array(1.0), np.array(1.0))),
        "no coordinates": ("mean, covariance", lambda: norm_mean(np.ones(0), np.ones((0, 0)))),
        "a mean above 1e50": ("mean, covariance", lambda: norm_mean(np.array([0.0, -1.01e50]), I)),
        "a variance above 1e50": ("mean, covariance", lambda: norm_mean(np.ones(2), 1.01e50 * I)),
        "a matrix that is no covariance": ("covariance", lambda: norm_mean(np.ones(2), np.diag([0.1, -1.1e-10]))),
    }
    for label, (parameter, call) in calls.items():
        yield refused(label, parameter, call)
    yield taken("a matrix that is one but for rounding", lambda: norm_mean(np.ones(2), np.diag([0.1, -0.9e-10])))
    yield taken("a variance of 1e50", lambda: norm_mean(np.array([0.0, 1e50]), 1e50 * I))


def _inversion(rng: np.random.Generator) -> Iterator[Fact]:
    """The saddle point by a search, derivatives by differences in 40 digits; where tails are 0 by Birgé's bounds."""
    wide, narrow = ((0.3, 0.02, 1.7), (0.9, 0.4, 0.05), 2), ((0.01, 0.02, 0.005), (2.0, 3.0, 1.0), 60)
    for v, q, near in (wide, narrow):
        spectrum = gaussian_norm._Spectrum(np.array([v]), np.array([q]))

        def exponent(s: Any, v: Any = v, q: Any = q) -> Any:
            terms = (mp.log1p(2 * a * s) / 2 + b * s / (1 + 2 * a * s) for a, b in zip(v, q, strict=True))
            return s - mp.log(s) - sum(terms)

        with mp.workdps(40):
            saddle = mp.findroot(lambda s, f=exponent: mp.diff(f, s), near)
            moved = [float(mp.diff(lambda s, f=exponent: f(s) + mp.log(s), saddle, n)) for n in (2, 3)]
            stated, value = float(saddle), float(exponent(saddle))
        found = gaussian_norm._saddle(spectrum)
        yield Fact(f"saddle point for variances {v}", found, [stated], 1e-8)
        yield Fact(f"exponent for variances {v}", gaussian_norm._exponent(spectrum, np.array([stated])), [value], 1e-12)
        derivatives = np.ravel(gaussian_norm._derivatives(spectrum, np.array([stated])))
        yield Fact(f"derivatives for variances {v}", derivatives, moved, 1e-9)
        mean, spread = sum(v) + sum(q), 10 * math.sqrt(sum(a * a + 2 * a * b for a, b in zip(v, q, strict=True)))
        for side, end in enumerate((mean - spread, mean + spread + 50 * max(v))):
            for off in (-1e-9, 1e-9):
                unit = abs(end) * (1 + off)
                told = gaussian_norm._beyond(
                    gaussian_norm._Spectrum(spectrum.variances / unit, spectrum.squares / unit)
                )
                below = end > 0 and ((off < 0) if side == 0 else (off > 0))
                yield Fact(f"P is {side} in units of {unit:.10g}, variances {v}", int(told[side][0]), int(below), 0)


LENGTH = Claim(
    id="iv/beyond-gaussian-length",
    where="beyond the paper: length of a Gaussian vector",
    kind="identity",
    statement=(
        "The distribution function, the quantiles and the mean of $norm(x)$, $x tilde cal(N)(m, C)$, by inversion of "
        "the Laplace transform of $norm(x)^2$ along a parabola through its saddle point: of batches, in any unit, and "
        "where coordinates do not vary."
    ),
    checks=(
        Agreement(facts=_lengths, impostors={"a thousandth more": {"facts": Times(1.001)}}),
        Agreement(facts=_edges, impostors={"a thousandth more": {"facts": Times(1.001)}}),
        Agreement(facts=_inversion, impostors={"a thousandth more": {"facts": Times(1.001)}}),
    ),
)
