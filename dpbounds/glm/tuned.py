"""The estimators by least squares at their best: centred labels, records clipped to the radius of least error.

Labels in [a, b] are sent less the middle, which changes no mean, as x has mean 0, and halves the noise of x y. A radius
R that clips many records x to k x, k = min(1, R / ||x||), trades noise for bias: least squares then solves M w_o = b
with b = E[k x y] and M of E[k² x x'] or of Sigma, and the scale's equation does not undo it. Bias is that of this map,
and the rest is its delta method. Radius and split are chosen at the w* and Sigma that are assumed, so that such a row
is a reference: it saw more than a rule for settings may. Counts are cut, with a bias likewise, where that is best.

Expectations are means over 2^14 Sobol points, less that share of their error that has a closed form: without clipping
E[x y] = kappa_2 Sigma w* and E[x x'] = Sigma.

>>> from dpbounds.glm.problem import build_problem
>>> problem = build_problem("logistic", n=10**6, m=10**5, epsilon=2.0, delta=1e-6, p=5)
>>> row = tuned(problem, "public-covariance")
>>> f"R = {row.radius:.1f} in place of {problem.bounds[0]:.1f}: error {float(row.relative):.4f}"
'R = 3.0 in place of 6.4: error 0.0076'
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtri

from dpbounds.arguments import typed
from dpbounds.arithmetic import FLOATS
from dpbounds.errors import choice
from dpbounds.glm import asymptotics, privacy, scale
from dpbounds.glm.asymptotics import ErrorTerms, Estimator
from dpbounds.glm.gaussian import mean_of, slope_means
from dpbounds.glm.messages import scored
from dpbounds.glm.prediction import ESTIMATORS, LARGEST_ERROR, LARGEST_EXCESS, least_ratio
from dpbounds.glm.privacy import NoiseScales
from dpbounds.glm.problem import Problem
from dpbounds.values import Value

# Points of a search over radii and of its result, in powers of 2; radii, in parts of the one that hardly any exceeds.
SEARCHED, POINTS = 12, 14
SHARES = tuple(1.1**-step for step in range(30))
# Where counts are cut, if not far out.
TURNS, CUTS = 2, (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
# Coordinates up to which means over so few points are good enough.
MOST_TUNED = 50


@dataclass(frozen=True, kw_only=True)
class TunedPrediction:
    """One estimator at its best radius; errors relative to ||w*||².

    - `radius`, `label_center`, `label_bound`: records are clipped to ||x|| <= radius, |y - center| <= bound;
    - `scales`: of one user's noise; `delta`: the least of the message at this epsilon, for every record;
    - `bias`: the squared error of the clipped means; `terms`: what chance and noise add, to leading order;
    - `relative`: the sum; `reliable`: whether the leading order is.
    """

    estimator: Estimator
    radius: float
    label_center: float
    label_bound: float
    scales: NoiseScales
    delta: float
    bias: float
    terms: ErrorTerms
    relative: Value
    reliable: bool


@typed
def tuned(problem: Problem, estimator: Estimator) -> TunedPrediction | None:
    """The row of this estimator at the radius, in steps of 10 %, of least predicted error; None for more than 50
    coordinates, and where the scale has no root at any radius.

    Raises `DomainError` where the estimator needs public records that are not there.
    """
    choice("estimator", estimator, ESTIMATORS)
    if problem.p > MOST_TUNED:
        return None
    radii = [share * problem.bounds[0] for share in SHARES]
    best = _best([_Clipped(problem, estimator, radius, SEARCHED) for radius in radii])
    if best is not None and problem.link.labels == "count":
        for _ in range(TURNS):  # the best cut at that radius, and the best radius at that cut
            cuts = [best.cut, *(cut for cut in CUTS if cut < problem.bounds[1])]
            best = _best([_Clipped(problem, estimator, best.radius, SEARCHED, cut) for cut in cuts]) or best
            best = _best([_Clipped(problem, estimator, radius, SEARCHED, best.cut) for radius in radii]) or best
    return None if best is None else _Clipped(problem, estimator, best.radius, POINTS, best.cut).row


@typed
def label_range(problem: Problem) -> tuple[float, float]:
    """Between which labels lie, up to the chance `failure`: the ends of the mean where it has them."""
    bound, ends = problem.bounds[1], sorted(problem.link.ends)
    return max(-bound, ends[0] - problem.noise), min(bound, ends[1] + problem.noise)


@lru_cache(maxsize=4)
def _sobol(p: int, power: int) -> np.ndarray:
    """Standard normal points (2^power, p)."""
    from scipy.stats.qmc import Sobol

    uniform = Sobol(p, scramble=False, bits=30).random_base2(power)
    return ndtri(uniform + 0.5 / len(uniform))


def _best(found: list[_Clipped]) -> _Clipped | None:
    """The one of least predicted error, None where none has a root."""
    rows = [(one, one.row) for one in found]
    totals = [(row.bias + row.terms.total * (1 + row.terms.excess), one) for one, row in rows if row is not None]
    return min(totals, key=lambda pair: pair[0])[1] if totals else None


class _Clipped:
    """The estimator's map at clipped means, and its derivatives; `cut`: of counts, None for where hardly any is."""

    def __init__(
        self, problem: Problem, estimator: Estimator, radius: float, power: int, cut: int | None = None
    ) -> None:
        self.problem, self.radius, self.cut = problem, radius, cut
        self.estimator: Estimator = estimator
        low, high = label_range(problem) if cut is None else (0.0, float(cut))
        self.center, self.bound = (low + high) / 2, (high - low) / 2
        x = _sobol(problem.p, power) @ np.linalg.cholesky(problem.covariance).T
        kept = np.minimum(1.0, radius / np.maximum(np.linalg.norm(x, axis=1), 1e-300))
        z = x @ problem.w
        self.exact = slope_means(problem.link, problem.q)[0] * problem.covariance @ problem.w
        if cut is None:
            whole_mean = self.exact
            self.mean = problem.link.mean(z) - self.center
            second = problem.link.second_moment(z, noise_variance=problem.noise**2)
            self.second = second - 2 * self.center * (self.mean + self.center) + self.center**2
        else:  # y - B / 2 = B psi / 2
            labels = scored(problem.link, cut)
            whole_mean = self.bound * float(mean_of(labels.slope, problem.q)) * problem.covariance @ problem.w
            self.mean, self.second = self.bound * labels.mean(z), self.bound**2 * labels.second(z)
        self.x = kept[:, None] * x
        Sigma, whole = problem.covariance, x.T @ x / len(x)
        self.A = self.x.T @ self.x / len(x)
        self.A -= np.trace(self.A) / np.trace(whole) * (whole - Sigma)
        self.b, unclipped = (self.mean @ rows / len(x) for rows in (self.x, x))
        self.b -= self.b @ unclipped / (unclipped @ unclipped) * (unclipped - whole_mean)
        n, m = problem.n, problem.m
        self.weight = {"pooled": n / (n + m), "public-covariance": 0.0}.get(estimator, 1.0)
        self.M = self.weight * self.A + (1 - self.weight) * Sigma

    @property
    def row(self) -> TunedPrediction | None:
        """All of it; None where the scale has no root, or these points no regular matrix."""
        problem, unit, n = self.problem, self.problem.w_norm**2, self.problem.n
        if not np.linalg.eigvalsh(self.A)[0] > 0:
            return None
        w_o = np.linalg.solve(self.M, self.b)
        square = float(self.b @ w_o) if self.estimator == "no-public-data" else float(w_o @ problem.covariance @ w_o)
        s = math.sqrt(max(square, 0.0))
        if not 0 < s < scale.supremum(problem.link):
            return None
        t = scale.inverse(problem.link, s)
        bias = float(np.sum((t / s * w_o - problem.w) ** 2)) / unit
        left, right = self._slopes(w_o, s, t)
        spread = w_o @ w_o * np.eye(len(w_o)) + np.outer(w_o, w_o) - np.diag(w_o**2)
        gram, cross = self.weight**2 * float(np.sum((right @ spread) * right)) / n, float(np.sum(left**2)) / n
        scales = self._scales(gram, cross)
        small = self._unclipped(scales)
        terms = dataclasses.replace(
            small,
            sampling=self._sampling(w_o, left, right),
            gram_noise=gram * scales.gram**2 if self.weight else 0.0,
            cross_noise=cross * scales.cross**2,
        ).over(unit)
        relative = bias + terms.total
        return TunedPrediction(
            estimator=self.estimator,
            radius=self.radius,
            label_center=self.center,
            label_bound=self.bound,
            scales=scales,
            delta=float(
                privacy.exact_delta(
                    problem.epsilon,
                    scales.gram,
                    scales.cross,
                    radius=self.radius,
                    label_bound=self.bound,
                    p=problem.p,
                )
            ),
            bias=bias,
            terms=terms,
            relative=Value(relative, kind="estimate", source="dpbounds", convention="bias and leading order"),
            reliable=terms.excess <= LARGEST_EXCESS and relative <= LARGEST_ERROR,
        )

    def _slopes(self, w_o: np.ndarray, s: float, t: float) -> tuple[np.ndarray, np.ndarray]:
        """L and L' with dw = L db - L' dM w_o: w = w_o t(s) / s, dt/ds = 1 / h'(t)."""
        inverse, bent = np.linalg.inv(self.M), (1 / float(scale.scale_slope(FLOATS, self.problem.link, t)) - t / s) / s
        if self.estimator == "no-public-data":  # s² = b'M^-1 b
            tilt = bent * np.outer(w_o, w_o) / s
            return t / s * inverse + tilt, t / s * inverse + tilt / 2
        left = (t / s * np.eye(len(w_o)) + bent * np.outer(w_o, self.problem.covariance @ w_o) / s) @ inverse
        return left, left

    def _scales(self, gram: float, cross: float) -> NoiseScales:
        """The least noise at the ratio of least error."""
        problem, released = self.problem, self.weight > 0
        units = gram * self.radius**4, cross * (self.radius * self.bound) ** 2
        return privacy.noise_scales(
            problem.epsilon,
            problem.delta,
            radius=self.radius,
            label_bound=self.bound,
            calibration="tight",
            p=problem.p,
            release_gram=released,
            ratio=least_ratio(*units, problem.p) if released else 1.0,
        )

    def _sampling(self, w_o: np.ndarray, left: np.ndarray, right: np.ndarray) -> float:
        """Of the private records: the variance of L x y - L' x x'w_o."""
        one, two = self.x @ left.T, self.weight * (self.x @ w_o)[:, None] * (self.x @ right.T)
        squares = (one**2).sum(1) * self.second - 2 * (one * two).sum(1) * self.mean + (two**2).sum(1)
        middle = np.mean(one * self.mean[:, None] - two, axis=0)
        return float(np.mean(squares) - middle @ middle) / self.problem.n

    def _unclipped(self, scales: NoiseScales) -> ErrorTerms:
        """Without clipping, of noise as large beside its signal: what public records do, and what must be small."""
        problem = self.problem
        least, whole = (float(np.linalg.eigvalsh(matrix)[0]) for matrix in (self.A, problem.covariance))
        return asymptotics.error(
            problem.link,
            problem.w,
            problem.covariance,
            n=problem.n,
            m=problem.m,
            gram_scale=scales.gram * whole / least if self.weight else 0.0,
            cross_scale=scales.cross * float(np.linalg.norm(self.exact) / np.linalg.norm(self.b)),
            noise_variance=problem.noise**2,
            estimator=self.estimator,
        )
