"""Beyond the paper: medians of messages, the best row, sums in cells and messages without a root, by definition."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import Any, cast

import numpy as np
from scipy import stats

from dpbounds.errors import AccuracyError
from dpbounds.glm import LINKS, build_problem, recommend
from dpbounds.glm.messages import forecast, gaussian_median, scored, solve
from dpbounds.values import Value
from simulators.glm import GaussianInLaw
from verify.checks import Agreement, Fact, Holds, Times, refused, taken
from verify.statements.claims import Claim

# Stands for the length of an estimate that does not exist.
FAR = 1e6
_OFF = {"1 % off": {"facts": Times(1.01)}}


def _medians(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Mean and median of the error by the law of Z on the line and in space, w by root finding in g_1."""
    nodes, shares = np.polynomial.legendre.leggauss(100)
    rho, shares = 4.5 * (nodes + 1), 4.5 * shares
    for p, n, size in ((1, 400, 1.5), (2, 3_000, 1.2), (3, 4_000, 1.2), (1, 10**8, 0.7)):
        found = forecast("logistic", np.eye(p)[0] * size, np.eye(p), n=n, m=n, epsilon=2.0, delta=1e-6)
        middle = (np.arange(48) + 0.5) / 48
        cosine = (np.ones(1), np.cos(middle * math.pi / 2), middle)[p - 1]
        weights = shares * rho ** (p - 1) * np.exp(-(rho**2) / 2)
        weights = weights / weights.sum()

        def g(t: float | np.ndarray, cosine: np.ndarray = cosine, weights: np.ndarray = weights) -> np.ndarray:
            mean = np.tanh(np.multiply.outer(np.asarray(t), np.outer(rho, cosine)) / 2)
            return (mean * cosine).mean(axis=-1) @ weights

        slopes = [float(g(size + 1e-4) - g(size - 1e-4)) / 2e-4, float(g(size)) / size]
        tau = math.sqrt(float(found.terms.total) / (1 / slopes[0] ** 2 + (p - 1) / slopes[1] ** 2))
        levels = (np.arange(300) + 0.5) / 300
        along = float(g(size)) + tau * stats.norm.ppf(levels)
        across = tau**2 * stats.chi2.ppf(levels, p - 1) if p > 1 else np.zeros(1)
        reach = np.sqrt(along[:, None] ** 2 + across)
        lengths = np.concatenate([[0.0], np.geomspace(0.001, 20, 900)])
        if n > 10**6:
            lengths = np.linspace(0.9 * size, 1.1 * size, 900)
        length = np.interp(reach, g(lengths), lengths, right=FAR)
        cosines = along[:, None] / reach
        squares = (length * cosines - size) ** 2 + length**2 * (1 - cosines**2)
        kept = squares[length < FAR]
        label = f"p = {p}, n = {n}"
        yield Fact(f"{label}: median", found.median, float(np.median(squares)), 0.004)
        yield Fact(f"{label}: mean", found.mean, float(kept.mean()), 0.02 if kept.size == squares.size else 0.04)
        told = [found.leading, found.excess]
        yield Fact(f"{label}: leading order, excess", told, [found.terms.total, found.mean / found.terms.total - 1])
        yield Fact(f"{label}: no root", 1.0 - found.no_root, kept.size / squares.size, 2e-3)

    for n in (3, 10, 30, 100):
        found = forecast("logistic", np.array([1.5]), np.eye(1), n=n, m=n, epsilon=2.0, delta=1e-6)
        yield Holds(
            f"n = {n}: no median without half of the estimates", math.isinf(found.median) is (found.no_root > 0.5)
        )
    yield Fact("five equal variances: the median", gaussian_median(np.full(5, 0.3)), 0.3 * stats.chi2.ppf(0.5, 5), 5e-4)
    quantiles = stats.chi2.ppf((np.arange(60) + 0.5) / 60, 1)
    one, two, three = np.meshgrid(1.9 * quantiles, 0.7 * quantiles, 0.3 * quantiles)
    median = gaussian_median(np.array([0.7, 1.9, 0.3]))
    yield Fact("three variances: median of the squared length", median, float(np.median(one + two + three)), 0.015)


def _chosen(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """The best row of least squares: the least error of those that are reliable, else of all."""
    found = recommend("logistic", n=100_000, m=100_000, epsilon=3.0, delta=1e-6, p=2)
    for reliable in ((True, True, True, True), (False, False, True, True), (False, False, False, False)):
        for turn in range(4):
            errors = np.roll([0.04, 0.01, 0.03, 0.02], turn)
            rows = tuple(
                dataclasses.replace(row, relative=Value(float(error), kind="estimate", source=""), reliable=sure)
                for row, error, sure in zip(found.under("tight"), errors, reliable, strict=True)
            )
            told = dataclasses.replace(found, rows=rows, messages=())
            wanted = min(error for error, sure in zip(errors, reliable, strict=True) if sure or not any(reliable))
            label = f"errors {errors}, {sum(reliable)} reliable"
            yield Fact(f"{label}: the best", float(told.best.relative), float(wanted), 0.0)
            yield Holds(f"{label}: recommended", told.recommended == told.best.estimator)
    public = np.array([[0.6, 0.8], [0.3, -2.0], [1.5, 2.0]])
    settings: dict[str, Any] = {"n": 90, "epsilon": 1.0, "public": public}
    yield refused("a radius below a public record", "radius", lambda: build_problem("logistic", radius=2.4, **settings))
    yield taken("shortened", lambda: build_problem("logistic", radius=2.4, beyond="clip", **settings))
    yield taken("a radius that reaches it", lambda: build_problem("logistic", radius=2.6, **settings))


class _Given:
    """Draws that are known: means, and beyond them what is given."""

    def __init__(self, beyond: float) -> None:
        self.beyond = beyond

    def poisson(self, mean: np.ndarray) -> np.ndarray:
        """`beyond` deviations more than expected."""
        return mean + self.beyond * np.sqrt(mean)

    def binomial(self, n: np.ndarray, p: np.ndarray | float) -> np.ndarray:
        """Likewise."""
        return n * p + self.beyond * np.sqrt(n * p * (1 - np.asarray(p)))

    def standard_normal(self, size: int) -> np.ndarray:
        """`beyond` in each place."""
        return np.full(size, self.beyond)


def _cells(rng: np.random.Generator) -> Iterator[Fact]:
    """Sums of labels and of their squares over cells, given how far draws are off: by the moments of one label."""
    z, counts = np.array([-1.3, 0.4, 1.1]), np.array([300, 4000, 50])
    for link, noise in (("logistic", 0.0), ("sigmoid", 0.6), ("poisson", 0.0)):
        model = GaussianInLaw(link=LINKS[link], w=np.ones(2), n=10**6, m=10**6, noise=noise, covariance=np.eye(2))
        mean = LINKS[link].mean(z)
        values = np.stack([mean + noise, mean - noise]) if link == "sigmoid" else np.arange(100.0)[:, None] + 0 * z
        chances = np.full((2, 3), 0.5) if link == "sigmoid" else stats.poisson.pmf(values, mean)
        if link == "logistic":
            chances = np.where(values == 1, mean, np.where(values == 0, 1 - mean, 0.0))
        first, second = (chances * values).sum(axis=0), (chances * values**2).sum(axis=0)
        spread = second - first**2
        both = (chances * (values - first) * (values**2 - second)).sum(axis=0)
        left = (chances * (values**2 - second) ** 2).sum(axis=0) - both**2 / spread
        for beyond in (0.0, 0.8, -0.8):
            total, squares = model._totals(counts, z, cast(Any, _Given(beyond)))
            off = beyond * np.sqrt(counts * spread)
            stated = counts * second + both / spread * off + beyond * np.sqrt(counts * np.maximum(left, 0.0))
            yield Fact(f"{link}, {beyond:g} off: sums", total, counts * first + off, 1e-10)
            yield Fact(f"{link}, {beyond:g} off: squares", squares, float(stated.sum()), 1e-8)


def _no_root(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """A mean message that no w gives, on the line: what is told of the first step, by hand."""
    x = np.array([0.5, -1.5, 2.0, -0.25])
    # s x = sign of x; M(z) = tanh(z / 2) and M'(0) = 1/2: a step of b / (mean |x| / 2) unless some z would exceed 2.
    for b in (1.2, 3.0):
        found = solve(np.array([b]), x[:, None], "logistic")
        witness = found.witness
        assert witness is not None
        w = min(b / (np.mean(np.abs(x)) / 2), 2.0 / np.abs(x).max())
        residual = abs(np.mean(np.abs(np.tanh(x * w / 2))) - b) / b
        yield Holds(f"b = {b:g}: none", not found.exists and bool(np.isnan(found.w).all()))
        yield Fact(f"b = {b:g}: steps, witness", [found.steps, float(witness[0])], [1, 1.0])
        yield Fact(f"b = {b:g}: margin", found.margin, (1 - b) / b)
        yield Fact(f"b = {b:g}: residual", found.residual, residual)
    for b in (1e-5, 0.02, 0.2):
        found = solve(np.array([b]), x[:, None], "logistic")
        reached = float(np.mean(np.tanh(np.abs(x) * found.w[0] / 2)))
        yield Fact(f"b = {b:g}: its equation", reached, b, 1e-9)
        yield Fact(f"b = {b:g}: its residual", found.residual, abs(reached - b) / b, 0.05)
        yield Holds(f"b = {b:g}: a root", found.exists and found.witness is None)
        if found.steps > 1:
            yield Fact(f"b = {b:g}: margin", found.margin, (1 - b) / b)


def _far_out(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Records of lengths from 0.05 to 20 on which longer or whole Newton steps find nothing."""
    for seed, factor in ((566, 1.0), (998, 1.1), (998, 1.2), (1502, 1.0), (1742, 1.1), (2294, 1.1)):
        own = np.random.default_rng(seed)
        x = own.standard_normal((int(own.integers(4, 30)), 3))
        x = x * np.exp(own.uniform(-3, 3, (len(x), 1)))
        w, bound = own.standard_normal(3) * np.exp(own.uniform(-2, 3)), int(own.integers(1, 20))
        labels, h = scored("poisson", bound), x / np.linalg.norm(x, axis=1)[:, None]
        mean = factor * h.T @ labels.mean(x @ w) / len(x)
        label = f"records of seed {seed}, message times {factor:g}"
        try:
            found = solve(mean, x, "poisson", label_bound=bound)
        except AccuracyError:  # where slopes leave no digits of the Hessian
            yield Holds(f"{label}: too few digits are told of", seed == 2294)
        else:
            yield Fact(f"{label}: the equation", h.T @ labels.mean(x @ found.w) / len(x), mean, 2e-9)


BEYOND_FORMS = Claim(
    id="glm/beyond-forms",
    where="beyond the paper: medians, choices, sums and roots",
    kind="number",
    statement=(
        (
            "The median of the error of messages is that of the law of their mean within 1 %, its mean over runs that "
            "have an estimate within 4 %;"
        ),
        (
            "the best row is that of least error among the reliable, and public records beyond a radius are refused or "
            "shortened;"
        ),
        "sums over cells of records are, given how far their draws are off, those of the moments of a label;",
        (
            "where no estimate exists, the direction that proves it, its margin and the residual are told, and where "
            "one does it is found, or it is told that floats have too few digits for it."
        ),
    ),
    setting="The logistic link on the line and in space; four cells or records.",
    checks=(
        Agreement(decides="a", facts=_medians, impostors={"5 % off": {"facts": Times(1.05)}}),
        Agreement(decides="b", facts=_chosen, impostors=_OFF),
        Agreement(decides="c", facts=_cells, impostors=_OFF),
        Agreement(decides="d", facts=_no_root, impostors=_OFF),
        Agreement(decides="d", facts=_far_out, impostors=_OFF),
    ),
)
