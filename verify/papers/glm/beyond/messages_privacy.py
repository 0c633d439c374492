"""Beyond the paper: direction messages, their privacy and their moments."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
from scipy import integrate, stats

from dpbounds.glm import messages
from simulators.glm import messages as runs
from verify.checks import Agreement, Fact, Holds, Times, Within
from verify.statements.claims import Claim

_OFF = {"1 % off": {"facts": Times(1.01)}}

# --- privacy ---


def _gaussian(rng: np.random.Generator) -> Iterator[Fact | Within]:
    """sigma = 2 / mu: the largest distance of two messages over all pairs of records, and the delta that it costs."""
    x = rng.standard_normal((60, 3)) * (0.1, 1.0, 30.0)
    x[:2] = [[1.0, 2.0, 3.0], [-1.0, -2.0, -3.0]]
    for link, bound, labels in (
        ("logistic", None, (0.0, 1.0)),
        ("poisson", 4, (0.0, 9.0)),
        ("sigmoid", 1.5, (-0.5, 1.5)),
    ):
        scores = messages.scored(link, bound)
        for radius in (0.0, 2.0):
            h = runs.directions(x, messages.message_matrix(np.diag([1.0, 0.5, 0.2])), radius)
            sent = np.concatenate([h * scores.score(y) for y in labels])
            apart = np.linalg.norm(sent[:, None] - sent, axis=2)
            yield Within(f"{link}, R = {radius:g}: longest message", np.linalg.norm(sent, axis=1).max(), 0.0, 1 + 1e-12)
            if not radius:
                yield Fact(f"{link}: two messages are apart by at most", apart.max(), 2.0)
    for epsilon, delta in ((0.5, 1e-4), (2.0, 1e-4), (8.0, 1e-3)):
        mu = 2.0 / messages.gaussian_scale(epsilon, delta)
        spent = stats.norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * stats.norm.cdf(-mu / 2 - epsilon / mu)
        yield Fact(f"delta at epsilon = {epsilon:g} of two messages 2 apart", float(spent), delta, 1e-7)
    quiet = runs.with_gaussian_noise(np.zeros((40_000, 2)), 3.0, rng)
    yield Within("variance of the noise drawn over sigma^2", float(np.mean(quiet**2)) / 9.0, 0.965, 1.035)


def _sphere(rng: np.random.Generator) -> Iterator[Fact | Within]:
    """Ratio of densities, mean and squares of the coordinate along t, by integration; no other cap has less."""
    for p, epsilon in itertools.product((1, 2, 3, 7), (0.3, 2.0, 5.0)):
        for kind in ("hemisphere", "cap"):
            shape, label = messages.sphere(kind, p, epsilon), f"{kind}, p = {p}, epsilon = {epsilon:g}"
            share = 0.5 if p == 1 else 0.5 * float(stats.beta.sf(shape.gamma**2, 0.5, (p - 1) / 2))
            inside, outside = shape.probability / share, (1 - shape.probability) / (1 - share)
            yield Fact(f"{label}: density in the cap over that outside", inside / outside, math.exp(epsilon), 1e-9)
            mean, square = _coordinate(p, shape.gamma, math.exp(epsilon))
            yield Fact(f"{label}: mean along t", shape.scale * mean, 1.0, 1e-8)
            yield Fact(f"{label}: E <Z, t>^2", shape.along, shape.scale**2 * square, 1e-8)
            across = 0.0 if p == 1 else shape.scale**2 * (1 - square) / (p - 1)
            yield Fact(f"{label}: E <Z, v>^2 across", shape.across, across, 1e-8)
            if kind == "hemisphere" and p > 1:
                yield Fact(f"{label}: E Z Z^T is a multiple of I", shape.along, shape.across, 1e-9)
        best = messages.cap(p, epsilon)
        means = [_coordinate(p, gamma, math.exp(epsilon))[0] for gamma in np.linspace(-0.9, 0.95, 38)]
        yield Within(
            f"p = {p}, epsilon = {epsilon:g}: largest mean of other caps over the best",
            max(means) * best.scale,
            0.0,
            1 + 1e-9,
        )


def _coordinate(p: int, gamma: float, ratio: float) -> tuple[float, float]:
    """E u and E u^2 of a point with density `ratio` on u >= gamma and 1 elsewhere; u = cos a."""
    if p == 1:
        return (ratio - 1) / (ratio + 1), 1.0
    edge = math.acos(gamma)

    def part(power: int) -> float:
        def integrand(angle: float) -> float:
            return math.cos(angle) ** power * math.sin(angle) ** (p - 2)

        return ratio * integrate.quad(integrand, 0, edge)[0] + integrate.quad(integrand, edge, math.pi)[0]

    mass = part(0)
    return part(1) / mass, part(2) / mass


def _drawn(rng: np.random.Generator, *, longer: float = 1.0) -> Iterator[Within]:
    """Means of what is sent for t shorter than 1, and the share in the cap for ||t|| = 1: 6 standard errors each."""
    size = 20_000
    for p, kind in itertools.product((1, 2, 5), ("hemisphere", "cap")):
        shape = messages.sphere(kind, p, 1.5)
        t = rng.standard_normal(p)
        t *= 0.7 / np.linalg.norm(t)
        sent = longer * runs.on_sphere(np.tile(t, (size, 1)), shape, rng)
        reach = 6 * shape.scale / math.sqrt(size)
        label = f"{kind}, p = {p}"
        yield Within(
            f"{label}: mean of what is sent, along t, less ||t||",
            float(sent.mean(axis=0) @ t) / 0.7 - 0.7,
            -reach,
            reach,
        )
        along = runs.on_sphere(np.tile(np.eye(p)[0], (size, 1)), shape, rng)[:, 0] / shape.scale
        share = float(np.mean(along >= shape.gamma - 1e-12))
        reach = 6 * math.sqrt(0.25 / size)
        yield Within(f"{label}: share in the cap, less what it should be", share - shape.probability, -reach, reach)


BEYOND_MESSAGES_PRIVACY = Claim(
    id="glm/beyond-messages-privacy",
    where="beyond Algorithms 1 and 3",
    kind="privacy",
    statement=(
        (
            "A message $psi(y) A x\\/max(R, norm(A x))$ with $abs(psi) <= 1$ has length at most 1, two messages at $R "
            "= 0$ are apart by 2 at most and for some records, so that noise of deviation $2\\/mu$ in each coordinate "
            "is $mu$-GDP for every pair of records and no better."
        ),
        (
            "A point of the sphere with density $e^epsilon$ on a cap around the message over that elsewhere is "
            "$epsilon$-locally private without a $delta$, has mean $t$ after scaling, and squares as computed;"
        ),
        "the cap whose edge is the mean coordinate has the least $bb(E) norm(Z)^2$ of all caps.",
    ),
    setting="Three links, $p$ up to 7; 20 000 draws of each of six laws, whose means are seen to 6 standard errors.",
    checks=(
        Agreement(decides="a", facts=_gaussian, alpha=1e-9, impostors={"1 % off": {"facts": Times(1.01)}}),
        Agreement(decides="bc", facts=_sphere, impostors=_OFF),
        Agreement(decides="b", facts=_drawn, alpha=12 * 2e-9, impostors={"a fifth longer": {"facts": {"longer": 1.2}}}),
    ),
)

# --- moments ---


def _isotropic(rng: np.random.Generator, *, wrong: float = 1.0) -> Iterator[Fact]:
    """Each moment by the midpoint rule in (length, angle to w*)."""
    for link, p, norm, radius in (
        ("logistic", 3, 1.0, 0.0), ("logistic", 5, 2.0, 2.0), ("boosting", 4, 0.7, 0.0), ("poisson", 6, 0.5, 1.0),
        ("sigmoid", 2, 1.0, 0.0), ("poisson", 45, 1.0, 0.0),
    ):  # fmt: skip
        found = messages.moments(link, p, norm, radius=radius)
        by_hand = _midpoints(link, p, norm, radius)
        for name, value in by_hand.items():
            shown = getattr(found, name) * (wrong if name == "J2" else 1.0)
            yield Fact(f"{link}, p = {p}, |w| = {norm:g}, R = {radius:g}: {name}", shown, value, 2e-5)
        yield Fact(f"{link}, p = {p}: J2 |w| = g1", wrong * found.J2 * norm, found.g1, 1e-8)
        unit = 1 / by_hand["J1"] ** 2 + (p - 1) / by_hand["J2"] ** 2
        yield Fact(f"{link}, p = {p}: unit", found.unit, unit, 1e-4)


def _midpoints(link: str, p: int, norm: float, radius: float) -> dict[str, float]:
    labels = messages.scored(link)
    size = 700
    low, high = max(math.sqrt(p) - 8.0, 0.0), math.sqrt(p) + 8.0
    rho = low + (high - low) * (np.arange(size) + 0.5) / size
    angle = math.pi * (np.arange(size) + 0.5) / size
    weight = np.outer(rho ** (p - 1) * np.exp(-0.5 * (rho**2 - p)) / p ** (p / 2), np.sin(angle) ** (p - 2))
    weight /= weight.sum()
    u, z = np.cos(angle), norm * np.outer(rho, np.cos(angle))
    k = np.minimum(1.0, rho / radius)[:, None] if radius else np.ones((size, 1))
    mean, slope, second = labels.mean(z), labels.slope(z), labels.second(z)
    g1 = float(np.sum(weight * k * u * mean))
    across = (1 - u**2) / (p - 1)
    return {
        "J1": float(np.sum(weight * k * rho[:, None] * u**2 * slope)),
        "J2": float(np.sum(weight * k * rho[:, None] * across * slope)),
        "g1": g1,
        "S1": float(np.sum(weight * k**2 * u**2 * second)) - g1**2,
        "S2": float(np.sum(weight * k**2 * across * second)),
        "P1": float(np.sum(weight * k**2 * u**2 * mean**2)) - g1**2,
        "P2": float(np.sum(weight * k**2 * across * mean**2)),
    }


def _any_covariance(rng: np.random.Generator) -> Iterator[Fact]:
    """In the plane by the midpoint rule in length and angle, for an A that does not whiten."""
    root = np.array([[1.0, 0.0], [0.4, 0.5]])
    covariance, w = root @ root.T, np.array([0.8, -1.1])
    rho, angle = 10.0 * (np.arange(600) + 0.5) / 600, 2 * math.pi * (np.arange(600) + 0.5) / 600
    weight = np.repeat((rho * np.exp(-(rho**2) / 2))[:, None], 600, axis=1)
    weight /= weight.sum()
    circle = np.stack([np.cos(angle), np.sin(angle)])
    for link, bound in (("logistic", None), ("boosting", None), ("poisson", 3), ("sigmoid", 1.3)):
        labels = messages.scored(link, bound)
        for rule in ("coefficients", "prediction", "none"):
            a = messages.message_matrix(covariance, rule)
            law = messages.message_law(link, w, covariance, label_bound=bound, matrix=a)
            h = a @ root @ circle
            h /= np.linalg.norm(h, axis=0)
            z = np.outer(rho, w @ root @ circle)
            first = h @ np.sum(weight * labels.mean(z), axis=0)
            jacobian = (h * np.sum(weight * rho[:, None] * labels.slope(z), axis=0)) @ (root @ circle).T
            label = f"{link}, A {rule}"
            yield Fact(f"{label}: E h psi", law.first, first, 1e-4)
            yield Fact(
                f"{label}: E h h' psi^2", law.second, (h * np.sum(weight * labels.second(z), axis=0)) @ h.T, 1e-5
            )
            squares = (h * np.sum(weight * labels.mean(z) ** 2, axis=0)) @ h.T - np.outer(first, first)
            yield Fact(f"{label}: Cov h M", law.public, squares, 1e-4)
            yield Fact(f"{label}: E h h'", law.directions, (h * np.sum(weight, axis=0)) @ h.T, 1e-4)
            yield Fact(f"{label}: J^-1", law.back, np.linalg.inv(jacobian), 1e-4)


def _scores(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """M, M', E psi^2 of clamped counts by summation; scores of labels."""
    z, y = np.array([-3.0, 0.2, 1.5, 6.0]), np.arange(900.0)
    for bound in (1, 2, 5):
        labels = messages.scored("poisson", bound)
        law, psi = stats.poisson.pmf(y, np.exp(z)[:, None]), 2 * np.minimum(y, bound) / bound - 1
        yield Fact(f"B = {bound}: psi", labels.score(y), psi)
        yield Fact(f"B = {bound}: mean of the clamped count", labels.mean(z), law @ psi, 1e-9)
        yield Fact(f"B = {bound}: its square", labels.second(z), law @ psi**2, 1e-9)
        rise = (labels.mean(z + 1e-5) - labels.mean(z - 1e-5)) / 2e-5
        yield Fact(f"B = {bound}: slope", labels.slope(z), rise, 1e-7)
        yield Fact(f"B = {bound}: far out", [labels.mean(900.0), labels.mean(-900.0)], [1.0, -1.0])
    wide = messages.scored("sigmoid", 1.5)
    yield Fact("regression: labels at the ends and in the middle", wide.score([-0.5, 0.5, 1.5]), [-1.0, 0.0, 1.0])
    yield Fact("regression: sup |M|", wide.end, wide.mean(800.0))


BEYOND_MESSAGES_MOMENTS = Claim(
    id="glm/beyond-messages-moments",
    where="beyond Lemma 5",
    kind="identity",
    statement=(
        (
            "$Sigma = I$: $J = bb(E)[h M' x^top]$ and the covariances of $h psi$ and $h M$ are diagonal with two "
            "different entries along and across $w^*$, as computed, and $J_2 = g_1\\/norm(w^*)$;"
        ),
        (
            "for any $Sigma$ and $A$ they are two integrals, over $z$ and over $t$ in $1\\/r = 2\\/sqrt(pi) integral "
            "e^(-t^2 r^2) d t$;"
        ),
        "a clamped count keeps its equation: $M = 2 bb(E) min(Y, B)\\/B - 1$, $M' = (2 lambda\\/B) P(Y <= B - 1)$.",
    ),
    setting="Midpoint rules in length and angle, six settings with $Sigma = I$, and twelve in the plane with others.",
    checks=(
        Agreement(
            decides="a",
            facts=_isotropic,
            impostors={"1 % off": {"facts": Times(1.01)}, "J2 off by 0.1 %": {"facts": {"wrong": 1.001}}},
        ),
        Agreement(decides="b", facts=_any_covariance, impostors={"0.1 % off": {"facts": Times(1.001)}}),
        Agreement(decides="c", facts=_scores, impostors=_OFF),
    ),
)
