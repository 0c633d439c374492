"""Beyond the paper: what is told of the estimators at their best radius, term by term, correlated x in the plane."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator

import numpy as np
from scipy import stats

from dpbounds.glm import asymptotics, privacy
from dpbounds.glm.asymptotics import ErrorTerms, Estimator
from dpbounds.glm.problem import Problem
from dpbounds.glm.scale import inverse
from dpbounds.glm.tuned import TunedPrediction, label_range, tuned
from verify.checks import Agreement, Fact, Holds, Times, Within
from verify.statements.claims import Claim

_OFF = {"5 % off": {"facts": Times(1.05)}}
SIGMA, W = np.array([[1.2, 0.3], [0.3, 0.5]]), np.array([0.7, -0.4])
N, M = 50_000, 20_000
CASES: tuple[tuple[str, float, Estimator], ...] = (
    ("logistic", 0.0, "paper"),
    ("sigmoid", 0.3, "pooled"),
    ("poisson", 0.0, "public-covariance"),
    ("sigmoid", 0.3, "no-public-data"),
)


def _problem(link: str, noise: float = 0.0, epsilon: float = 4.0) -> Problem:
    return Problem(link=link, w=W, covariance=SIGMA, n=N, m=M, epsilon=epsilon, delta=1e-6, noise=noise)  # type: ignore[arg-type]


def _points(radius: float) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of x ~ N(0, SIGMA) by polar coordinates, with a break where ||x|| is the radius."""
    nodes, shares = np.polynomial.legendre.leggauss(16)
    angles = (np.arange(40) + 0.3) * (2 * math.pi / 40)
    rays = np.column_stack([np.cos(angles), np.sin(angles)]) @ np.linalg.cholesky(SIGMA).T
    points, weights = [], []
    for ray in rays:
        middle = radius / np.linalg.norm(ray)
        for low, high in ((0.0, middle), (middle, middle + 3.0), (middle + 3.0, middle + 9.0)):
            rho = low + (high - low) * (nodes + 1) / 2
            points.append(rho[:, None] * ray)
            weights.append(shares * (high - low) / 2 * rho * np.exp(-(rho**2) / 2) / 40)
    return np.concatenate(points), np.concatenate(weights)


def _labels(problem: Problem, row: TunedPrediction, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """E[y - center | z] and E[(y - center)² | z] of labels as they are sent."""
    mean, center = problem.link.mean(z), row.label_center
    if problem.link.labels == "count":
        # E min(Y, cut) and its square, by the chances of more than k.
        k = np.arange(round(2 * row.label_bound))[:, None]
        more = stats.poisson.sf(k, np.exp(z))
        mean, square = more.sum(axis=0), ((2 * k + 1) * more).sum(axis=0)
        return mean - center, square - 2 * center * mean + center**2
    if problem.link.labels == "binary":
        return mean - center, mean * (1 - center) ** 2 + (1 - mean) * center**2
    ends = [mean + sign * problem.noise - center for sign in (1, -1)]
    return mean - center, (ends[0] ** 2 + ends[1] ** 2) / 2


def _map(problem: Problem, row: TunedPrediction) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """w from the private E[k² x x'] and E[k x y]."""
    share = {"pooled": N / (N + M), "public-covariance": 0.0}.get(row.estimator, 1.0)

    def found(A: np.ndarray, b: np.ndarray) -> np.ndarray:
        w_o = np.linalg.solve(share * A + (1 - share) * SIGMA, b)
        s = math.sqrt(b @ w_o if row.estimator == "no-public-data" else w_o @ SIGMA @ w_o)
        return inverse(problem.link, s) / s * w_o

    return found


def _by_hand(problem: Problem, row: TunedPrediction) -> dict[str, float]:
    """Bias, and the parts of the variance by differences of the map."""
    x, weights = _points(row.radius)
    k = np.minimum(1.0, row.radius / np.linalg.norm(x, axis=1))
    mean, second = _labels(problem, row, x @ W)
    sent = k[:, None] * x
    A, b = (sent.T * weights) @ sent, (weights * mean) @ sent
    found, h = _map(problem, row), 1e-5
    units = [np.array(unit) for unit in ([[1, 0], [0, 0]], [[0, 1], [1, 0]], [[0, 0], [0, 1]])]
    by_A = np.array([(found(A + h * unit, b) - found(A - h * unit, b)) / (2 * h) for unit in units])
    by_b = np.array([(found(A, b + h * unit) - found(A, b - h * unit)) / (2 * h) for unit in np.eye(2)])
    # A record moves w by y u + v.
    u = sent @ by_b
    v = np.column_stack([sent[:, 0] ** 2, sent[:, 0] * sent[:, 1], sent[:, 1] ** 2]) @ by_A
    square = (u**2).sum(axis=1) * second + 2 * (u * v).sum(axis=1) * mean + (v**2).sum(axis=1)
    middle = weights @ (u * mean[:, None] + v)
    gram = float(np.sum(by_A**2)) * row.scales.gram**2 if row.estimator != "public-covariance" else 0.0
    size = float(W @ W)
    return {
        "bias": float(np.sum((found(A, b) - W) ** 2)) / size,
        "sampling": float(weights @ square - middle @ middle) / N / size,
        "gram_noise": gram / N / size,
        "cross_noise": float(np.sum(by_b**2)) * row.scales.cross**2 / N / size,
        "least": float(np.linalg.eigvalsh(A)[0]),
        "signal": float(np.linalg.norm(b)),
    }


def _plain(problem: Problem, row: TunedPrediction, stated: dict[str, float]) -> ErrorTerms:
    """The expansion without clipping, at noise as large beside its signal."""
    whole = float(np.linalg.eigvalsh(SIGMA)[0])
    signal = float(np.linalg.norm(SIGMA @ W)) * _slope(problem)
    return asymptotics.error(
        problem.link,
        W,
        SIGMA,
        n=N,
        m=M,
        gram_scale=row.scales.gram * whole / stated["least"] if row.estimator != "public-covariance" else 0.0,
        cross_scale=row.scales.cross * signal / stated["signal"],
        noise_variance=problem.noise**2,
        estimator=row.estimator,
    )


def _terms(rng: np.random.Generator) -> Iterator[Fact | Within | Holds]:
    """Each source of error; what does not see the clipping, by the expansion without it."""
    for link, noise, estimator in CASES:
        problem = _problem(link, noise)
        row, label = tuned(problem, estimator), f"{link}, {estimator}"
        assert row is not None
        stated = _by_hand(problem, row)
        if problem.link.labels != "count":
            ends = [row.label_center - row.label_bound, row.label_center + row.label_bound]
            yield Fact(f"{label}: between which labels are sent", ends, label_range(problem))
        yield Fact(f"{label}: bias", row.bias, stated["bias"], 0.01)
        for name in ("sampling", "gram_noise", "cross_noise"):
            yield Fact(f"{label}: {name}", getattr(row.terms, name), stated[name], 0.003)
        plain = _plain(problem, row, stated)
        for name in ("public_covariance", "public_scale"):
            yield Fact(f"{label}: {name}", getattr(row.terms, name), getattr(plain, name) / float(W @ W), 1e-9)
        for name in ("convergence", "bending"):
            yield Fact(f"{label}: {name}", getattr(row.terms, name), getattr(plain, name), 0.003)
        yield Fact(f"{label}: the sum", float(row.relative), row.bias + row.terms.total)
        yield Holds(f"{label}: reliable", row.reliable is (row.terms.excess <= 0.1 and float(row.relative) <= 0.25))


def _slope(problem: Problem) -> float:
    """E mu'(z), by Hermite's rule."""
    t, weights = np.polynomial.hermite_e.hermegauss(120)
    return float(weights @ problem.link.slope(math.sqrt(W @ SIGMA @ W) * t)) / math.sqrt(2 * math.pi)


def _best(rng: np.random.Generator) -> Iterator[Fact | Within]:
    """No other radius of the grid, ratio of the noises, or cut of counts has less error."""
    cases: tuple[tuple[str, Estimator, float], ...] = (
        ("logistic", "public-covariance", 4.0),
        ("poisson", "public-covariance", 4.0),
        ("logistic", "paper", 2.0),
    )
    for link, estimator, epsilon in cases:
        problem = _problem(link, epsilon=epsilon)
        row, name = tuned(problem, estimator), f"{link}, {estimator}"
        assert row is not None
        steps = math.log(problem.bounds[0] / row.radius) / math.log(1.1)
        yield Fact(f"{name}: steps to the radius", steps, round(steps), 1e-9)

        def total(radius: float, bound: float, row: TunedPrediction = row, problem: Problem = problem) -> float:
            share = radius / row.radius
            cross, gram = row.scales.cross * share * bound / row.label_bound, row.scales.gram * share**2
            scales = dataclasses.replace(row.scales, cross=cross, gram=gram)
            center = row.label_center if problem.link.labels == "binary" else bound
            found = dataclasses.replace(row, radius=radius, label_center=center, label_bound=bound, scales=scales)
            stated = _by_hand(problem, found)
            plain = _plain(problem, found, stated)
            noises = stated["sampling"] + stated["gram_noise"] + stated["cross_noise"]
            noises += (plain.public_covariance + plain.public_scale) / float(W @ W)
            return stated["bias"] + noises * (1 + plain.excess)

        least = total(row.radius, row.label_bound)
        radii = [total(row.radius * 1.1**step, row.label_bound) for step in (-2, -1, 1, 2)]
        yield Within(f"{name}: error at other radii over that", min(radii) / least, least=0.997)
        if link == "poisson":
            cuts = [total(row.radius, bound) for bound in (0.5, 1.0, 2.0, 4.0) if bound != row.label_bound]
            yield Within("error at other cuts over that", min(cuts) / least, least=0.997)
    for link, estimator in (("logistic", "paper"), ("logistic", "no-public-data"), ("sigmoid", "pooled")):
        problem = _problem(link)
        row = tuned(problem, estimator)  # type: ignore[arg-type]
        assert row is not None
        one, two = row.terms.gram_noise / row.scales.gram**2, row.terms.cross_noise / row.scales.cross**2
        own = row.scales.gram * row.label_bound / (row.scales.cross * row.radius)
        noises = []
        for factor in (0.98, 1.0, 1.02):
            scales = privacy.noise_scales(
                4.0, 1e-6, radius=row.radius, label_bound=row.label_bound, calibration="tight", p=2, ratio=own * factor
            )
            noises.append(one * scales.gram**2 + two * scales.cross**2)
        label = f"{link}, {estimator}"
        yield Fact(f"{label}: noise at its ratio", row.terms.gram_noise + row.terms.cross_noise, noises[1], 1e-9)
        yield Within(f"{label}: noise at other ratios over that", min(noises) / noises[1], least=1.0)


def _ranges(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Between which labels lie, by hand: where the mean ends, and where hardly any label is beyond."""
    for link, noise, bound, stated in (
        ("logistic", 0.0, None, (0.0, 1.0)),
        ("sigmoid", 0.3, 1.1, (-0.3, 1.1)),
        ("sigmoid", 0.3, 0.2, (-0.2, 0.2)),
        ("boosting", 0.0, 7.0, (0.0, 1.0)),
        ("poisson", 0.0, 9.0, (0.0, 9.0)),
        ("cubic", 0.0, 5.0, (-5.0, 5.0)),
    ):
        problem = dataclasses.replace(_problem(link, noise), label_bound=bound)
        yield Fact(f"{link} within {bound}", label_range(problem), stated)
    wide = dataclasses.replace(_problem("logistic"), w=np.full(51, 0.1), covariance=np.eye(51))
    yield Holds("none for 51 coordinates", tuned(wide, "public-covariance") is None)


BEYOND_TUNED = Claim(
    id="glm/beyond-tuned",
    where="beyond the paper: errors at the best radius",
    kind="number",
    statement=(
        (
            "Of records that are clipped to the best radius, for correlated $x$ in the plane, bias, sampling error and "
            "both noises are those of the estimator's map at the clipped means, to first order;"
        ),
        "no other radius near the best, cut of counts or ratio of the noises has less error;",
        "labels lie between the ends of their mean, and their bounds.",
    ),
    checks=(
        Agreement(decides="a", facts=_terms, impostors=_OFF),
        Agreement(decides="b", facts=_best, impostors=_OFF),
        Agreement(decides="c", facts=_ranges, impostors=_OFF),
    ),
)
