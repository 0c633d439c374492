"""All methods on one data set: noise scales and predicted risk, at equal true privacy and under the paper's accounting.

Risks are sums over records, ||X (theta - theta*)||². They are exact for IHM, linear mixing and gradient descent while
nothing is clipped, leading order for AdaSSP (whose mean is infinite), and an estimate for PRN. Whatever is computed
from A, b and ||Y||² is computed from the data and not private.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float
from scipy.special import erf

from dpbounds.arguments import typed
from dpbounds.errors import count, listed, moderate, moderate_or_zero, real, within
from dpbounds.ols import bounds, calibration, newton
from dpbounds.ols.regimes import Features, Regime, features, regime
from dpbounds.ols.risk import adassp, gradient_descent, hessian_mixing, released, sketch_and_solve
from dpbounds.ols.scales import AdasspScales, GradientDescentScales, HessianMixingScales, LinearMixingScales
from dpbounds.privacy import gaussian_mu
from dpbounds.values import Value

Accounting = Literal["tight", "experiments"]
Scales = HessianMixingScales | LinearMixingScales | AdasspScales | GradientDescentScales | newton.Newton | None
# By how much PRN's estimate may be too small and the method still be recommended.
OPTIMISM = 2.0
METHODS = ("IHM", "IHM, ridge kept", "LinMix", "AdaSSP", "AdaSSP, iso", "DP-GD", "PRN", "theta = 0")


@dataclass(frozen=True, kw_only=True)
class NewtonClips:
    """What PRN will clip at, rows and outcomes in units of their bounds: h, c_u round by round, and the share of rows
    whose gradients at the least squares fit the last c_u does not clip.
    """

    hessian: float
    gradients: tuple[float, ...]
    unclipped: float

    def __post_init__(self) -> None:
        for name in ("hessian", "unclipped"):
            within(name, getattr(self, name), "(0, 1]")
        for value in listed("gradients", self.gradients):
            within("gradients", value, "(0, 1]")


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One method under one accounting: its noise and its predicted risk. `scales` is None for theta = 0, the settings
    for PRN. `reliable`: False where the leading order is not, as its noise is not small against A and the ridge.
    """

    method: str
    accounting: Accounting
    scales: Scales
    risk: Value
    reliable: bool = True


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Methods at equal true privacy (`tight`) and under the paper's accounting (`experiments`)."""

    rows: tuple[Compared, ...]
    regime: Regime
    mu: float
    clips: NewtonClips

    def under(self, accounting: Accounting) -> tuple[Compared, ...]:
        """The rows of one accounting."""
        return tuple(row for row in self.rows if row.accounting == accounting)

    @property
    def ranking(self) -> tuple[Compared, ...]:
        """At equal true privacy, the least predicted risk first; PRN's estimate, which is optimistic, counts twice."""
        return tuple(sorted(self.under("tight"), key=_ranked))

    @property
    def recommended(self) -> Compared:
        """The first of the ranking."""
        return self.ranking[0]

    @property
    def reason(self) -> str:
        """Why, in a sentence or two."""
        best, second = self.ranking[:2]
        if best.method == "theta = 0":
            return (
                f"No private estimate is predicted to beat theta = 0 (risk {float(best.risk):.3g}); the nearest is "
                f"{second.method} ({float(second.risk):.3g}). More records or a larger epsilon are needed."
            )
        share = float(best.risk) / float(second.risk)
        said = f"Least predicted risk, {share:.3g} of that of the next, {second.method}."
        if share > 1:  # PRN
            said = (
                f"Least predicted risk but for {second.method}'s, an estimate that may be {OPTIMISM:g} times too small."
            )
        return f"{said} {_WHY[best.method]}"


def _ranked(row: Compared) -> float:
    return float(row.risk) * (OPTIMISM if row.method == "PRN" else 1.0)


_WHY = {
    "IHM": "Its sketches cost less noise than X'X does in d² entries, and no ridge biases it.",
    "IHM, ridge kept": "The fit is small, so that shrinking it costs little.",
    "LinMix": "L(theta*) is small and X'X ill-conditioned: one sketch is enough, and is all the noise there is.",
    "AdaSSP": "X'X is well-conditioned against its noise, and no iteration leaves a part of ||X theta*||².",
    "AdaSSP, iso": "X'X is well-conditioned against its noise, and no iteration leaves a part of ||X theta*||².",
    "DP-GD": "X'X is so well-conditioned that gradients alone get there.",
    "PRN": "Its clip level follows the gradients' size c, far below 1, and its noise is proportional to it.",
}


@typed
def compare(
    A: Float[np.ndarray, "d d"],
    b: Float[np.ndarray, " d"],
    y_squared: float,
    n: int,
    epsilon: float,
    delta: float,
    *,
    failure: float | None = None,
    outcome_bound: float = 1.0,
    clip: float | None = None,
    steps: int = 3,
    k: int | None = None,
    linear_k: int | None = None,
    rate: float = 0.25,
    newton_clips: NewtonClips | None = None,
    accountings: Sequence[Accounting] = ("tight", "experiments"),
) -> Comparison:
    """Every method for zero-out neighbours; A = X'X, b = X'Y, `y_squared` = ||Y||² with rows in the unit ball.

    Defaults are the experiments': `failure` (the paper's varrho) delta/10, `clip` C = C_Y, 3 steps for IHM and DP-GD,
    `k` = 6 max{d, log(4T/failure)} rows a sketch, `linear_k` = 2.5 max{d, log(2/failure)}, DP-GD of rate 0.25. PRN's
    clip levels are those of rows of one length with normal residuals unless `newton_clips` says better. `accountings`:
    those that are wanted; PRN is `tight`.

    Raises `DomainError` for n < d, sketches of fewer than d + 4 rows (IHM) or d + 2 (linear mixing), whose mean risk
    does not exist, and budgets outside their ranges.
    """
    data = features(A, b, y_squared, n)
    failure = real("delta", delta) / 10 if failure is None else failure
    clip = moderate("outcome_bound", outcome_bound) if clip is None else moderate("clip", clip)
    sizes = _sizes(data.d, within("failure", failure, "[1e-300, 1)"), count("steps", steps), k, linear_k)
    problem = _Problem(
        A=np.asarray(A, dtype=float),
        b=np.asarray(b, dtype=float),
        y_squared=float(y_squared),
        data=data,
        epsilon=epsilon,
        delta=delta,
        failure=failure,
        outcome_bound=outcome_bound,
        clip=clip,
        steps=steps,
        sizes=sizes,
        rate=rate,
    )
    mu = float(gaussian_mu(epsilon, delta))
    clips = newton_clips or typical_clips(data, float(np.trace(A)), mu, outcome_bound)
    rows = [row for accounting in accountings for row in problem.rows(accounting)]
    return Comparison(
        rows=(*rows, problem.newton(mu, clips)),
        regime=regime(data, epsilon, delta, failure=failure, steps=steps, outcome_bound=outcome_bound),
        mu=mu,
        clips=clips,
    )


@typed
def typical_clips(data: Features, trace: float, mu: float, outcome_bound: float = 1.0) -> NewtonClips:
    """PRN's clip levels for rows of one length sqrt(tr A / n) and normal residuals of variance L(theta*)/n."""
    trace, outcome_bound = moderate_or_zero("trace", trace), moderate("outcome_bound", outcome_bound)
    length = min(math.sqrt(trace / data.n), 1.0)
    spread = max(length * math.sqrt(data.residual / data.n) / outcome_bound, 1e-12)
    start = min(max(length * math.sqrt((data.residual + data.signal) / data.n) / outcome_bound, 1e-12), 1.0)

    def share_below(c: float) -> float:
        return float(erf(c / spread / math.sqrt(2)))

    settings = newton.Newton(mu=mu)
    c = float(newton.gradient_clip(_one_bin(start, data.n), 0.0, n=data.n))
    path = newton.clip_path(c, share_below, settings, n=data.n, d=data.d)
    h = float(newton.hessian_clip(_one_bin(length, data.n), 0.0, n=data.n, d=data.d, mu=mu))
    return NewtonClips(hessian=h, gradients=tuple(path), unclipped=max(share_below(float(path[-1])), 1e-6))


def _one_bin(value: float, n: int) -> np.ndarray:
    """The histogram of n rows with this value."""
    counts = np.zeros(len(newton.EDGES))
    counts[max(int(np.sum(value <= newton.EDGES)) - 1, 0)] = n
    return counts


def _sizes(d: int, failure: float, steps: int, k: int | None, linear_k: int | None) -> tuple[int, int]:
    k = bounds.sketch_size(d, failure, steps) if k is None else k
    linear_k = linear_sketch_size(d, failure) if linear_k is None else linear_k
    for name, size, least in (("k", k, d + 4), ("linear_k", linear_k, d + 2)):
        count(name, size, least, f"with fewer than {least} = d + {least - d} rows the mean risk does not exist")
    return int(k), int(linear_k)


def linear_sketch_size(d: int, failure: float, *, factor: float = 2.5) -> int:
    """factor max{d, log(2/failure)}, rounded down: the sketch of linear mixing in the experiments (Section 5)."""
    size = moderate("factor", factor) * max(count("d", d), math.log(2 / within("failure", failure, "(0, 1]")))
    return max(int(size), 1)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Problem:
    A: np.ndarray
    b: np.ndarray
    y_squared: float
    data: Features
    epsilon: float
    delta: float
    failure: float
    outcome_bound: float
    clip: float
    steps: int
    sizes: tuple[int, int]
    rate: float

    def rows(self, accounting: Accounting) -> Iterator[Compared]:
        """All but PRN."""
        yield from self._hessian_mixing(accounting)
        yield self._linear_mixing(accounting)
        yield from (self._adassp(accounting, iso) for iso in (False, True))
        yield self._gradient_descent(accounting)
        zero = Value(self.data.signal, kind="exact", source="dpbounds", convention="nothing released")
        yield Compared(method="theta = 0", accounting=accounting, scales=None, risk=zero)

    def newton(self, mu: float, clips: NewtonClips) -> Compared:
        """At the Hessian without its noise, in units of C_Y²."""
        settings, h = newton.Newton(mu=mu), clips.hessian
        bound, theta = self.outcome_bound, np.linalg.pinv(self.A, hermitian=True) @ self.b
        shrunk = min(1.0, h**2 / max(np.trace(self.A) / self.data.n, 1e-300))
        one = newton.moments(
            self.A,
            theta / bound,
            shrunk * self.A,
            settings,
            hessian_clip=h,
            gradient_clip=np.array(clips.gradients),
            n=self.data.n,
            unclipped=clips.unclipped,
        )
        risk = bound**2 * float(one.bias @ self.A @ one.bias + np.sum(self.A * one.covariance))
        value = Value(risk, kind="estimate", source="dpbounds", convention="clips as given, Hessian without noise")
        return Compared(method="PRN", accounting="tight", scales=settings, risk=value)

    def _hessian_mixing(self, accounting: Accounting) -> Iterator[Compared]:
        scales = calibration.hessian_mixing_scales(
            self.epsilon,
            self.delta,
            k=self.sizes[0],
            steps=self.steps,
            failure=self.failure,
            clip=self.clip,
            accounting=accounting,
        )
        law = released(self.data.lambda_min, level=scales.gamma, scale=scales.test_noise, tau=scales.tau)
        for method, keep in (("IHM", False), ("IHM, ridge kept", True)):
            risk = hessian_mixing(
                self.A, self.b, steps=self.steps, k=scales.k, eta_squared=law, sigma=scales.sigma, keep_ridge=keep
            )
            yield Compared(method=method, accounting=accounting, scales=scales, risk=risk)

    def _linear_mixing(self, accounting: Accounting) -> Compared:
        scales = calibration.linear_mixing_scales(
            self.epsilon,
            self.delta,
            k=self.sizes[1],
            failure=self.failure,
            outcome_bound=self.outcome_bound,
            accounting=accounting,
        )
        law = released(
            self.data.joint_lambda_min,
            level=scales.gamma * scales.row_bound_squared,
            scale=scales.test_noise,
            tau=scales.tau,
        )
        risk = sketch_and_solve(self.A, self.b, self.y_squared, k=scales.k, eta_squared=law)
        return Compared(method="LinMix", accounting=accounting, scales=scales, risk=risk)

    def _adassp(self, accounting: Accounting, iso: bool) -> Compared:
        scales = calibration.adassp_scales(
            self.epsilon, self.delta, outcome_bound=self.outcome_bound, iso=iso, accounting=accounting
        )
        level = scales.ridge_level(self.data.d, self.failure)
        law = released(self.data.lambda_min, level=level, scale=scales.eigenvalue, tau=scales.shift)
        risk = adassp(self.A, self.b, ridge=law, gram=scales.gram, moment=scales.moment, iso=iso)
        # The operator norm of the noise is about 2 sqrt(d) times its scale, sqrt(2 d) for iso noise.
        size = scales.gram * math.sqrt(self.data.d) * (math.sqrt(2) if iso else 2.0)
        reliable = size <= 0.4 * (self.data.lambda_min + float(law.values @ law.weights))
        method = "AdaSSP, iso" if iso else "AdaSSP"
        return Compared(method=method, accounting=accounting, scales=scales, risk=risk, reliable=reliable)

    def _gradient_descent(self, accounting: Accounting) -> Compared:
        scales = calibration.gradient_descent_scales(
            self.epsilon, self.delta, n=self.data.n, steps=self.steps, clip=self.clip, accounting=accounting
        )
        risk = gradient_descent(self.A, self.b, n=self.data.n, steps=self.steps, rate=self.rate, sigma=scales.sigma)
        return Compared(method="DP-GD", accounting=accounting, scales=scales, risk=risk)
