"""Beyond the paper: what the answers are made of, each by its definition: means, moments of messages, doubts."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from scipy import linalg, optimize, stats

from dpbounds.arithmetic import balls
from dpbounds.glm import LINKS, build_problem, recommend
from dpbounds.glm.bounds import Covariance, gaussian_rate, gaussian_sample_sizes, general_rate, noise_level
from dpbounds.glm.designs import TwoPointDesign
from dpbounds.glm.gaussian import _supremum, enclosed_mean
from dpbounds.glm.messages import cap, message_law, scored, sphere
from dpbounds.glm.recommendation import Recommendation
from dpbounds.glm.scale import constant
from dpbounds.values import Value
from simulators.glm import TwoPointModel, find_scale
from simulators.glm.messages import on_sphere
from simulators.glm.models import _patterns
from verify.checks import Agreement, Fact, Holds, Times, Within
from verify.papers.glm.beyond.formulas import helps, messages_mu, more_records, predicted, rates, slopes, survey
from verify.papers.glm.beyond.given_records import estimated, in_law
from verify.papers.glm.beyond.messages_draws import drawn, users
from verify.statements.claims import Claim

_OFF = {"1 % off": {"facts": Times(1.01)}}
COVARIANCE = np.array([[1.5, 0.4, -0.2], [0.4, 0.6, 0.1], [-0.2, 0.1, 0.3]])


# --- constants of the rates, and Gaussian means ---


def _constants(rng: np.random.Generator) -> Iterator[Fact]:
    """Norms of matrix roots by another algorithm; both sides of eigenvalue 1."""
    for size in (1.0, 30.0):
        matrix = size * COVARIANCE
        root = np.real(linalg.sqrtm(matrix))
        inverse = np.linalg.inv(root)
        largest, least = np.linalg.norm(matrix, 2), 1 / np.linalg.norm(np.linalg.inv(matrix), 2)
        found = Covariance.of(matrix)
        condition = np.linalg.norm(root, np.inf) * np.linalg.norm(inverse, np.inf)
        varrho = np.linalg.norm(root, 2) * np.linalg.norm(inverse, 2) * condition
        stated = [largest, least, varrho, np.linalg.norm(root, np.inf)]
        yield Fact(f"size {size:g}: norms", [found.norm, found.least, found.varrho, found.root_row_norm], stated)
        yield Fact(f"size {size:g}: Lambda", found.capital_lambda, min(least, math.sqrt(least)))
    for omega in (0.5, 3.0):
        rate = general_rate(
            omega, found, p=3, n=900, m=400, epsilon=0.5, delta=1e-3, failure=0.1, constants=(2.0, 3.0, 5.0)
        )
        K = (found.varrho * omega) ** 2 * max(1.0, omega**2) * math.sqrt(found.norm) * 3
        bias = 5 * found.varrho**2 * found.root_row_norm * omega**3 * max(1.0, omega) / math.sqrt(3)
        level = noise_level(found, 0.5, 1e-3, 900, 3, 0.1)
        yield Fact(
            f"rate at omega = {omega:g}", [rate.privacy, rate.public, rate.bias], [2 * K * level, 3 * K / 20, bias]
        )
    for c in (0.5, -2.0):
        rate = gaussian_rate(
            0.7, found, c, p=3, n=900, m=400, epsilon=0.5, delta=1e-3, failure=0.1, constants=(2.0, 3.0)
        )
        level, size = noise_level(found, 0.5, 1e-3, 900, 3, 0.1), 0.49 / c**2
        stated = [
            2 * (3 * found.norm) ** 1.5 * size * math.log(9000) * level,
            3 * math.sqrt(found.norm * 3) / 20 * size,
        ]
        yield Fact(f"rate for Gaussian x at c = {c:g}", [rate.privacy, rate.public], stated)
        asked = gaussian_sample_sizes(0.7, found, c, p=3, n=900, epsilon=0.5, delta=1e-3, failure=0.1, tau=0.3)
        size, logs = 0.49 / (0.3 * c) ** 2, math.log(9000) ** 2 * math.log(1000) * math.log(90)
        private = (3 * found.norm) ** 3 * size * logs / (0.5 * found.capital_lambda) ** 2
        yield Fact(
            f"what (3) and (4) ask at c = {c:g}", [float(one) for one in asked], [private, found.norm * size * 3]
        )
        larger = gaussian_sample_sizes(
            0.7, found, c, p=3, n=900, epsilon=0.5, delta=1e-3, failure=0.1, tau=0.3, largest_scale=1.7
        )
        yield Fact(f"of n at a largest scale of 1.7, c = {c:g}", float(larger[0]), 1.7**4 * private)
    told = build_problem("logistic", n=90, m=30, epsilon=1.0, covariance=COVARIANCE).covariance
    yield Fact("a covariance that is given", told, COVARIANCE)
    t, weights = np.polynomial.hermite_e.hermegauss(60)
    for name in ("poisson", "cubic"):
        link = LINKS[name]
        for q in (0.3, 2.0):
            z = math.sqrt(q) * t
            for order in range(4):
                # Of the cubic z^3 / 3.
                values = np.exp(z) if name == "poisson" else (z**3 / 3, z**2, 2 * z, 2 + 0 * z)[order]
                for weight in range(3):
                    mean = round(float(weights @ (t**weight * values)) / math.sqrt(2 * math.pi), 12)
                    ball = enclosed_mean(link, q, order=order, weight=weight)
                    yield Fact(f"{name}, q = {q:g}, order {order}, W^{weight}", float(ball.mid()), mean, 1e-10)


def _enclosures(rng: np.random.Generator) -> Iterator[Holds | Within]:
    """The constant of every link lies in its enclosure, which is a few units wide; largest slopes are rounded up."""
    import flint

    for order, largest in enumerate((1.0, 1 / 4, math.sqrt(3) / 18, 1 / 8)):
        over = _supremum(LINKS["logistic"], order) / largest - 1
        yield Within(f"logistic, order {order}: the bound of its size, rounded up", over, 5e-13, 2e-12)
    for name, link in LINKS.items():
        for q in (0.2, 0.7, 1.0, 1.9, 3.3):
            enclosure = constant(name, q, certified=True).enclosure
            assert enclosure is not None
            with balls(300):
                inverse = 1 / enclosed_mean(link, q, precision=300)
                inside = flint.arb(enclosure[0]) <= inverse <= flint.arb(enclosure[1])
            yield Holds(f"{name}, q = {q:g}: 1 / E mu' lies in its enclosure", bool(inside))
            yield Within(f"{name}, q = {q:g}: width", (enclosure[1] - enclosure[0]) / abs(enclosure[1]), 0.0, 1e-14)


# --- labels and messages ---


def _labels(rng: np.random.Generator) -> Iterator[Fact]:
    """Clamped counts by their probabilities; a regression's labels by both signs of the noise."""
    z = np.array([-2.0, 0.3, 1.7])
    for bound in (1, 4, 20):
        labels, rate = scored("poisson", bound), np.exp(z)
        counts = np.arange(200)
        psi = 2.0 * np.minimum(counts, bound) / bound - 1.0
        shares = stats.poisson.pmf(counts[:, None], rate)
        label = f"counts up to {bound}"
        yield Fact(f"{label}: psi", labels.score(np.append(counts[:40], -3)), np.append(psi[:40], -1.0))
        yield Fact(f"{label}: M", labels.mean(z), psi @ shares, 1e-10)
        yield Fact(f"{label}: E psi^2", labels.second(z), psi**2 @ shares, 1e-10)
        # The derivative of a Poisson mean is lambda E[psi(Y + 1) - psi(Y)].
        yield Fact(f"{label}: M'", labels.slope(z), rate * (np.diff(psi) @ shares[:-1]), 1e-10)
        yield Fact(f"{label}: end", labels.end, 1.0, 0.0)
    skewed = TwoPointDesign(p=3, high=2.0, low=-0.5, probability=0.2)
    records, weights = _patterns(skewed)
    yield Fact("records of two points: chances", weights, np.prod(np.where(records == 2.0, 0.2, 0.8), axis=1))
    yield Fact("records of two points: covariance", (records.T * weights) @ records, skewed.variance * np.eye(3), 1e-12)
    drawn = TwoPointModel(link=LINKS["logistic"], w=np.ones(3) / 3, n=9, m=9, noise=0.0, design=skewed)
    found = drawn.rows(20_000, np.random.default_rng(3)).mean(axis=0)
    yield Fact("records of two points: their mean where they are drawn", found, np.zeros(3), 0.04)
    binary = scored("logistic").score(np.array([-3.0, 0.0, 0.5, 1.0, 4.0]))
    yield Fact("binary labels, and others", binary, [-1.0, -1.0, 0.0, 1.0, 1.0], 0.0)
    # On the line (e^eps - 1) E[u - gamma; u >= gamma] = gamma reads (e^eps - 1) (1 - gamma) / 2 = gamma.
    yield Fact("the cap on the line", cap(1, 1.3).gamma, math.expm1(1.3) / (math.expm1(1.3) + 2.0))
    for p in (1, 2, 5):
        for noise in ("hemisphere", "cap"):
            shape, start = sphere(noise, p, 1.3), np.zeros((4000, p))
            start[:, 0] = np.where(np.arange(4000) % 2, 0.6, -0.6)
            sent = on_sphere(start, shape, np.random.default_rng(p))
            label = f"{noise}, p = {p}"
            yield Fact(f"{label}: lengths of messages", np.linalg.norm(sent, axis=1), np.full(4000, shape.scale))
            yield Fact(f"{label}: their mean along what is sent", float(np.mean(sent[:, 0] / start[:, 0])), 1.0, 0.1)
    for bound in (1.0, 1.5):
        labels, mean, noise = scored("sigmoid", bound), 1 / (1 + np.exp(-z)), bound - 1.0
        both = [(2.0 * (mean + sign * noise) - 1.0) / (1.0 + 2.0 * noise) for sign in (1, -1)]
        label = f"a regression with noise {noise:g}"
        yield Fact(f"{label}: psi", labels.score(mean + noise), both[0])
        yield Fact(f"{label}: psi outside", labels.score(np.array([-9.0, 9.0])), [-1.0, 1.0], 0.0)
        yield Fact(f"{label}: M", labels.mean(z), (both[0] + both[1]) / 2)
        yield Fact(f"{label}: M'", labels.slope(z), 2 * mean * (1 - mean) / (1 + 2 * noise))
        yield Fact(f"{label}: E psi^2", labels.second(z), (both[0] ** 2 + both[1] ** 2) / 2)
        yield Fact(f"{label}: end", labels.end, 1 / (1 + 2 * noise))


def _shortened(rng: np.random.Generator) -> Iterator[Fact]:
    """h = A x / max(R, |A x|) in the plane by polar coordinates, and on the line, A any matrix that whitens x."""
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    for name, bound in (("logistic", None), ("poisson", 3), ("sigmoid", 1.4)):
        for p in (1, 2):
            covariance, w = COVARIANCE[:p, :p], np.array([0.8, -0.5])[:p]
            matrix = (turn if p > 1 else np.ones((1, 1))) @ np.linalg.inv(np.real(linalg.sqrtm(covariance))) * 1.3
            found = message_law(name, w, covariance, radius=1.7, label_bound=bound, matrix=matrix)
            y, weights = _normal(p)
            x = y @ np.linalg.cholesky(covariance).T
            sent = x @ matrix.T
            h = sent / np.maximum(1.7, np.linalg.norm(sent, axis=1))[:, None]
            labels = scored(name, bound)
            z = x @ w
            first = (weights * labels.mean(z)) @ h
            square = (h.T * (weights * labels.mean(z) ** 2)) @ h - np.outer(first, first)
            slope = (h.T * (weights * labels.slope(z))) @ x
            label = f"{name}, p = {p}"
            yield Fact(f"{label}: E[h psi]", found.first, first, 1e-6)
            yield Fact(f"{label}: E[h h' psi^2]", found.second, (h.T * (weights * labels.second(z))) @ h, 1e-6)
            yield Fact(f"{label}: Cov(h M)", found.public, square, 1e-6)
            yield Fact(f"{label}: J^-1", found.back, np.linalg.inv(slope), 1e-6)
            yield Fact(f"{label}: E[h h' / |h|^2]", found.directions, np.eye(p) / p, 1e-12)


@cache
def _normal(p: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of a standard normal on the line or in the plane, with a break at |y| = 1.7 / 1.3."""
    x, weights = np.polynomial.legendre.leggauss(60)
    edges = np.array([0.0, 1.7 / 1.3, 4.0, 9.0])
    half = np.diff(edges)[:, None] / 2
    r, share = (edges[:-1, None] + half * (1 + x)).ravel(), (half * weights).ravel()
    share = share * np.exp(-(r**2) / 2)
    if p == 1:
        return np.concatenate([r, -r])[:, None], np.tile(share, 2) / math.sqrt(2 * math.pi)
    angles = np.arange(96) * (2 * math.pi / 96)
    points = r[:, None, None] * np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    return points.reshape(-1, 2), np.repeat(share * r, 96) / 96


# --- what is said of an answer ---


@cache
def _answer(**settings: Any) -> Recommendation:
    return recommend("logistic", p=2, w_norm=1.0, delta=1e-6, **settings)


def _doubts(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Each reason is given where it is one; nothing is doubted of what is reliable, nor of zero."""
    sure = _answer(n=100_000, m=100_000, epsilon=3.0)
    row = min((*sure.under("tight"), *sure.messages), key=lambda row: row.rank)
    yield Holds("a large survey is reliable", row.reliable and sure.doubt == "" and sure.useful)
    few = dataclasses.replace(sure, problem=dataclasses.replace(sure.problem, m=3))
    yield Holds("what is reliable is not doubted", few.doubt == "")
    unsure = tuple(_unsure(row) for row in sure.messages)
    alone = dataclasses.replace(sure, rows=(), messages=unsure)
    yield Holds("nothing else is wrong: too few records", "is too small: the predicted error" in alone.doubt)
    few = dataclasses.replace(alone, problem=dataclasses.replace(sure.problem, m=3))
    yield Holds("too few public records", "public records are fewer" in few.doubt)
    for off, doubted in ((-1, True), (0, False)):
        near = dataclasses.replace(sure.problem, m=10 * sure.problem.p + off)
        told = "public records are fewer" in dataclasses.replace(alone, problem=near).doubt
        yield Holds(f"{near.m} public records are {'' if doubted else 'not '}too few", told is doubted)
    rootless = tuple(_unsure(row, no_root=0.5) for row in sure.messages)
    yield Holds("no root", "there is no estimate" in dataclasses.replace(alone, messages=rootless).doubt)
    squares = dataclasses.replace(sure, messages=(), rows=tuple(_unsure(row) for row in sure.rows))
    yield Holds("least squares", "no mean beyond it" in squares.doubt)
    for median, useful, zero in ((0.49, True, False), (0.51, False, False), (0.99, False, False), (1.01, False, True)):
        value = Value(median, kind="estimate", source="")
        rows = tuple(dataclasses.replace(row, median=value) for row in sure.messages)
        told = dataclasses.replace(sure, rows=(), messages=rows)
        yield Holds(f"a median of {median:g} is {'' if useful else 'not '}useful", told.useful is useful)
        yield Holds(f"and zero is {'' if zero else 'not '}recommended", (told.recommended == "zero") is zero)
        yield Fact(f"median told at {median:g}", told.median, min(median, 1.0), 0.0)
    poor = _answer(n=60, m=60, epsilon=0.05)
    yield Holds("zero is recommended and not doubted", poor.recommended == "zero" and poor.doubt == "")
    yield Holds("and not useful", not poor.useful)


def _unsure(row: Any, **other: Any) -> Any:
    return dataclasses.replace(row, reliable=False, **other)


# --- scales ---


def _scales(rng: np.random.Generator) -> Iterator[Fact]:
    """Projections of two sizes, whose equation has several roots far from Gaussian's: the least, by a fine grid."""
    for sizes, shares in (((0.1, 3.0, 0.0), (0.9, 0.09, 0.01)), ((0.2, 4.0, 0.0), (0.9, 0.08, 0.02))):
        z, p = np.array([*sizes, *(-size for size in sizes)]), np.array([*shares, *shares]) / 2
        for name in ("logistic", "sigmoid"):
            link = LINKS[name]
            grid = np.geomspace(0.01, 50 / math.sqrt(p @ z**2), 40_001)
            sides = grid * (link.slope(link.sign * np.outer(grid, z)) @ p) * link.sign >= 1
            least = math.sqrt(grid[np.argmax(sides)] * grid[np.argmax(sides) - 1])
            found = find_scale(link, lambda g, p=p, z=z: float(p @ g(z)))
            yield Fact(f"{name}, sizes {sizes}: the least root", abs(found or 0.0), least, 2e-4)
    # Half of the projections 0, the others far out: c / 8 = 1, up to c sqrt(mean square) = 50.
    for far, stated in ((8.6, 8.0), (9.0, None)):
        found = find_scale(LINKS["logistic"], lambda g, far=far: float(np.mean(g(np.array([0.0, 0.0, far, -far])))))
        yield Fact(f"half of the projections {far:g}", found or 0.0, stated or 0.0)
    found = find_scale(LINKS["poisson"], lambda g: float(np.mean(g(np.array([1e5, -1e5])))))
    root = float(optimize.brentq(lambda x: x * math.cosh(x) - 1e5, 1.0, 20.0, xtol=1e-13))  # type: ignore[arg-type]
    yield Fact("projections of one large size", found or 0.0, root / 1e5)


BEYOND_PARTS = Claim(
    id="glm/beyond-parts",
    where="what answers are made of",
    kind="number",
    statement=(
        (
            "Constants of a covariance are the norms of its roots, rates have every factor of their theorems, the "
            "noise of messages is told at the worst of all records and split at the least cost, and enclosed Gaussian "
            "means of the Poisson link and the cubic are those of quadrature;"
        ),
        (
            "scores of clamped counts and of noisy regressions, and the moments of messages that are shortened within "
            "a radius, are the means that they stand for;"
        ),
        "an answer is doubted for the reason that it has, and for none where it is reliable or nothing is released;",
        "of several roots of the scale's equation the least is taken;",
        (
            "a row of a survey is the forecast over $norm(w^*)^2$, and reliable where all that is to be small is, and "
            "what is said to help or to be needed is the least that does;"
        ),
        (
            "on given records every estimator is what its steps give one by one, messages and their solutions are "
            "those of each draw, and many records in law have the moments of single ones."
        ),
    ),
    checks=(
        Agreement(decides="a", facts=_constants, impostors=_OFF),
        Agreement(decides="a", facts=_enclosures),
        Agreement(decides="b", facts=_labels, impostors=_OFF),
        Agreement(decides="b", facts=_shortened, impostors=_OFF),
        Agreement(decides="c", facts=_doubts, impostors=_OFF),
        Agreement(decides="a", facts=rates, impostors=_OFF),
        Agreement(decides="a", facts=slopes, impostors=_OFF),
        Agreement(decides="a", facts=messages_mu, impostors=_OFF),
        Agreement(decides="a", facts=predicted, impostors=_OFF),
        Agreement(decides="d", facts=_scales, impostors=_OFF),
        Agreement(decides="e", facts=survey, impostors=_OFF),
        Agreement(decides="e", facts=helps),
        Agreement(decides="e", facts=more_records, impostors=_OFF),
        Agreement(decides="f", facts=estimated, impostors=_OFF),
        Agreement(decides="f", facts=in_law, impostors=_OFF),
        Agreement(decides="f", facts=drawn, impostors=_OFF),
        Agreement(decides="f", facts=users, impostors=_OFF),
    ),
)
