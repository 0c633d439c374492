"""The methods that are compared: their keys and labels, what is chosen for them, and each one's noise and risk.

>>> LABELS["IHM-ridge"], linear_sketch_size(40, 1e-7), Choices(k=90).steps
('IHM, ridge kept', 100, 3)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import AccuracyError, DomainError, count, moderate, positive, within
from dpbounds.ols import bounds, calibration, newton
from dpbounds.ols.clipping import Choice, Law, Tuned
from dpbounds.ols.clips import NewtonClips
from dpbounds.ols.counted import Counted
from dpbounds.ols.features import Features
from dpbounds.ols.gram import Gram
from dpbounds.ols.risk import adassp, gradient_descent, hessian_mixing, released, sketch_and_solve, within_leading_order
from dpbounds.ols.scales import (
    AdasspScales,
    AveragedDescentScales,
    GradientDescentScales,
    HessianMixingScales,
    LinearMixingScales,
)
from dpbounds.ols.sketch import MOST_ROWS
from dpbounds.ols.tail_averaged import TailAveraged
from dpbounds.values import Value

Accounting = Literal["tight", "experiments"]
Method = Literal[
    "IHM", "IHM-ridge", "LinMix", "AdaSSP", "AdaSSP-iso", "DP-GD", "PRN", "TAP", "DP-GD-moments", "DP-GD-tuned", "zero"
]
LABELS: dict[Method, str] = {
    "IHM": "IHM",
    "IHM-ridge": "IHM, ridge kept",
    "LinMix": "LinMix",
    "AdaSSP": "AdaSSP",
    "AdaSSP-iso": "AdaSSP, iso",
    "DP-GD": "DP-GD",
    "PRN": "PRN",
    "TAP": "TAP",
    "DP-GD-moments": "DP-GD, set by moments",
    "DP-GD-tuned": "DP-GD, tuned on the data",
    "zero": "theta = 0",
}
# Their settings read the data unpaid: what a user could reach who knew them, no private method.
REFERENCES: tuple[Method, ...] = ("DP-GD-moments", "DP-GD-tuned")
# Why a method is the best, where it is.
REASONS: dict[Method, str] = {
    "IHM": "Its sketches cost less noise than X'X does in d² entries, and no ridge biases it.",
    "IHM-ridge": "The fit is small, so that shrinking it costs little.",
    "LinMix": "L(theta*) is small and X'X ill-conditioned: one sketch is enough, and is all the noise there is.",
    "AdaSSP": "X'X is well-conditioned against its noise, and no iteration leaves a part of ||X theta*||².",
    "AdaSSP-iso": "X'X is well-conditioned against its noise, and no iteration leaves a part of ||X theta*||².",
    "DP-GD": "X'X is so well-conditioned that gradients alone get there.",
    "DP-GD-moments": "Its settings are chosen from X'X, X'Y and ||Y||² of the records that stand in.",
    "DP-GD-tuned": "Its settings, the best for the records that stand in, cost no privacy of others.",
    "TAP": "Its clip level follows the gradients' size, and the mean of many rounds is taken, preconditioned once.",
    "PRN": "Its clip level follows the gradients' size c, far below 1, and its noise is proportional to it.",
}
Scales = (
    HessianMixingScales
    | LinearMixingScales
    | AdasspScales
    | GradientDescentScales
    | AveragedDescentScales
    | newton.Newton
    | TailAveraged
    | None
)


@typed
@dataclass(frozen=True, kw_only=True)
class Choices:
    """What is chosen for the methods besides the budget; defaults are the experiments' (Section 5).

    - `failure`: the paper's varrho; None for delta/10;
    - `steps`: T of IHM and DP-GD; `rate`: the step size of DP-GD;
    - `clip`: C of IHM and DP-GD; None for C_Y;
    - `k`: rows of a sketch of IHM; None for 6 max{d, log(4T/failure)};
    - `linear_k`: of linear mixing; None for 2.5 max{d, log(2/failure)};
    - `outcome_bound`: C_Y, rows being at most 1 long.

    Raises `DomainError` for numbers out of range.
    """

    failure: float | None = None
    steps: int = 3
    rate: float = 0.25
    clip: float | None = None
    k: int | None = None
    linear_k: int | None = None
    outcome_bound: float = 1.0

    def __post_init__(self) -> None:
        if self.failure is not None:
            within("failure", self.failure, "[1e-300, 1)")
        count("steps", self.steps)
        positive("rate", self.rate)
        if self.clip is not None:
            within("clip", self.clip, "[1e-12, 1e12]")
        moderate("outcome_bound", self.outcome_bound)


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One method under one accounting: its noise and its predicted risk. `scales` is None for theta = 0, the settings
    for PRN and TAP. `reliable`: False where the leading order is not, as its noise is not small against A and the
    ridge, where clipping is not counted, and where the iterates run away (risk inf). `clipped`: the share of rows that
    the last step clips, if it was counted. `median`: the risk that half of the runs stay below, `interval`: that one in
    ten and nine in ten do, where a law gives them.
    """

    method: Method
    accounting: Accounting
    scales: Scales
    risk: Value
    reliable: bool = True
    clipped: float | None = None
    median: Value | None = None
    interval: tuple[float, float] | None = None

    @property
    def reference(self) -> bool:
        """Whether its settings read the data unpaid."""
        return self.method in REFERENCES

    @property
    def label(self) -> str:
        """The method as it is shown."""
        return LABELS[self.method]


def sketch_sizes(d: int, failure: float, choices: Choices) -> tuple[int, int]:
    """Rows of the sketches of IHM and of linear mixing."""
    steps, k, linear_k = choices.steps, choices.k, choices.linear_k
    for name, size, times in (("k", k, steps), ("linear_k", linear_k, 1)):
        if size is not None and size * times > MOST_ROWS:
            allowed = f"at most {MOST_ROWS // times}, since all sketches together have at most {MOST_ROWS:g} rows"
            raise DomainError(name, size, allowed)
    k = bounds.sketch_size(d, failure, steps) if k is None else k
    linear_k = linear_sketch_size(d, failure) if linear_k is None else linear_k
    for name, size, least in (("k", k, d + 4), ("linear_k", linear_k, d + 2)):
        count(name, size, least, f"with fewer than {least} = d + {least - d} rows the mean risk does not exist")
    return int(k), int(linear_k)


def linear_sketch_size(d: int, failure: float, *, factor: float = 2.5) -> int:
    """factor max{d, log(2/failure)}, rounded down: the sketch of linear mixing in the experiments (Section 5)."""
    size = moderate("factor", factor) * max(count("d", d), math.log(2 / within("failure", failure, "(0, 1]")))
    return max(int(size), 1)


# IHM as in the experiments, and Algorithm 1, which keeps the ridge.
_HESSIAN_MIXING: tuple[tuple[Method, bool], ...] = (("IHM", False), ("IHM-ridge", True))


@dataclass(frozen=True, kw_only=True, eq=False)
class Parts:
    """The problem with its budget: what the rows of each method are computed from."""

    gram: Gram
    data: Features
    epsilon: float
    delta: float
    failure: float
    choices: Choices
    sizes: tuple[int, int]
    counted: Counted | None = None

    @property
    def clip(self) -> float:
        """C of IHM and DP-GD."""
        return self.choices.outcome_bound if self.choices.clip is None else self.choices.clip

    def rows(self, accounting: Accounting) -> Iterator[Compared]:
        """All but PRN."""
        yield from self._hessian_mixing(accounting)
        yield self._linear_mixing(accounting)
        yield from (self._adassp(accounting, iso) for iso in (False, True))
        yield self._gradient_descent(accounting)
        zero = Value(self.data.signal, kind="exact", source="dpbounds", convention="nothing released")
        yield Compared(method="zero", accounting=accounting, scales=None, risk=zero)

    def tail_averaged(self, mu: float) -> Iterator[Compared]:
        """By its law, on the records or on typical rows; none where X explains nothing."""
        if self.counted is not None:
            row = Compared(method="TAP", accounting="tight", scales=TailAveraged(mu=mu), risk=_run_away())
            yield self._by_law(row, lambda one: one.tail_averaged(mu))

    def references(self, mu: float) -> Iterator[Compared]:
        """DP-GD whose settings are chosen from moments, and on records from all of them."""
        if self.counted is None:
            return
        one, law = self.counted.chosen(mu)
        yield self._counted("DP-GD-moments", "tight", _settings(mu, one), law)
        if not self.counted.typical:
            best = self.counted.tuned(mu)
            yield self._counted("DP-GD-tuned", "tight", _settings(mu, best), best.law)

    def _counted(self, method: Method, accounting: Accounting, scales: Scales, law: Law) -> Compared:
        """A row whose risk is that of a law."""
        value, found = self._unit * float(law.risk), law.risk
        mean = Value(value, kind=found.kind, source="dpbounds", convention=found.convention)
        row = Compared(method=method, accounting=accounting, scales=scales, risk=mean, clipped=law.share_clipped)
        return self._with_quantiles(row, law)

    def _with_quantiles(self, row: Compared, law: Law) -> Compared:
        if not law.quantiles:
            return row
        low, median, high = (self._unit * float(law.risk) * one / law.relative for one in law.quantiles)
        middle = Value(median, kind="estimate", source="dpbounds", convention="half of the runs")
        return replace(row, median=middle, interval=(low, high))

    @property
    def _unit(self) -> float:
        return 1.0 if self.counted is None else self.counted.unit

    def newton(self, mu: float, clips: NewtonClips) -> Compared:
        """By its law on records; of moments at the Hessian without its noise, in units of C_Y²."""
        if self.counted is not None and not self.counted.typical:
            row = Compared(method="PRN", accounting="tight", scales=newton.Newton(mu=mu), risk=_run_away())
            return self._by_law(row, lambda one: one.newton(mu))
        settings, h = newton.Newton(mu=mu), clips.hessian
        bound, theta = self.choices.outcome_bound, np.linalg.pinv(self.gram.A, hermitian=True) @ self.gram.b
        shrunk = min(1.0, h**2 / max(np.trace(self.gram.A) / self.data.n, 1e-300))
        one = newton.moments(
            self.gram.A,
            theta / bound,
            shrunk * self.gram.A,
            settings,
            hessian_clip=h,
            gradient_clip=np.array(clips.gradients),
            n=self.data.n,
            unclipped=clips.unclipped,
        )
        risk = bound**2 * float(one.bias @ self.gram.A @ one.bias + np.sum(self.gram.A * one.covariance))
        value = Value(risk, kind="estimate", source="dpbounds", convention="clips as given, Hessian without noise")
        return Compared(method="PRN", accounting="tight", scales=settings, risk=value)

    def _hessian_mixing(self, accounting: Accounting) -> Iterator[Compared]:
        scales = calibration.hessian_mixing_scales(
            self.epsilon,
            self.delta,
            k=self.sizes[0],
            steps=self.choices.steps,
            failure=self.failure,
            clip=self.clip,
            accounting=accounting,
        )
        law = released(self.data.lambda_min, level=scales.gamma, scale=scales.test_noise, tau=scales.tau)
        for method, keep in _HESSIAN_MIXING:
            risk = hessian_mixing(
                self.gram,
                steps=self.choices.steps,
                k=scales.k,
                eta_squared=law,
                sigma=scales.sigma,
                keep_ridge=keep,
            )
            yield self._corrected(
                Compared(method=method, accounting=accounting, scales=scales, risk=risk),
                lambda one, keep=keep, scales=scales: one.hessian_mixing(scales, law, self._bound, keep_ridge=keep),
            )

    @property
    def _bound(self) -> float:
        return self.choices.outcome_bound

    def _corrected(self, row: Compared, law: Callable[[Counted], Law]) -> Compared:
        """The row as it is where nothing is clipped or there are no records, else with its law's risk."""
        if self.counted is None or self.counted.typical or not math.isfinite(row.risk):
            return row
        return self._by_law(row, law)

    def _by_law(self, row: Compared, law: Callable[[Counted], Law]) -> Compared:
        """The row with its law's numbers; with an infinite risk that is not reliable where the iterates run away."""
        try:
            found = law(self.counted) if self.counted is not None else None
        except AccuracyError:
            found = None
        if found is None:
            return replace(row, risk=_run_away(), reliable=False)
        if found.risk.kind == "exact":
            return self._with_quantiles(replace(row, clipped=0.0), found)
        return replace(self._counted(row.method, row.accounting, row.scales, found), reliable=row.reliable)

    def _linear_mixing(self, accounting: Accounting) -> Compared:
        scales = calibration.linear_mixing_scales(
            self.epsilon,
            self.delta,
            k=self.sizes[1],
            failure=self.failure,
            outcome_bound=self.choices.outcome_bound,
            accounting=accounting,
        )
        law = released(
            self.data.joint_lambda_min,
            level=scales.gamma * scales.row_bound_squared,
            scale=scales.test_noise,
            tau=scales.tau,
        )
        risk = sketch_and_solve(self.gram, k=scales.k, eta_squared=law)
        return Compared(method="LinMix", accounting=accounting, scales=scales, risk=risk)

    def _adassp(self, accounting: Accounting, iso: bool) -> Compared:
        scales = calibration.adassp_scales(
            self.epsilon, self.delta, outcome_bound=self.choices.outcome_bound, iso=iso, accounting=accounting
        )
        level = scales.ridge_level(self.data.d, self.failure)
        law = released(self.data.lambda_min, level=level, scale=scales.eigenvalue, tau=scales.shift)
        risk = adassp(self.gram, ridge=law, gram=scales.gram, moment=scales.moment, iso=iso)
        reliable = within_leading_order(self.gram, ridge=law, gram=scales.gram, iso=iso)
        method: Method = "AdaSSP-iso" if iso else "AdaSSP"
        return Compared(method=method, accounting=accounting, scales=scales, risk=risk, reliable=reliable)

    def _gradient_descent(self, accounting: Accounting) -> Compared:
        scales = calibration.gradient_descent_scales(
            self.epsilon, self.delta, n=self.data.n, steps=self.choices.steps, clip=self.clip, accounting=accounting
        )
        risk = gradient_descent(
            self.gram,
            steps=self.choices.steps,
            rate=self.choices.rate,
            sigma=scales.sigma,
        )
        return self._corrected(
            Compared(method="DP-GD", accounting=accounting, scales=scales, risk=risk),
            lambda one: one.gradient_descent(scales, self.choices.rate, self._bound),
        )


def _run_away() -> Value:
    """The risk of iterates that run away."""
    return Value(math.inf, kind="estimate", source="dpbounds", convention="the iterates run away")


def _settings(mu: float, one: Choice | Tuned) -> AveragedDescentScales:
    return AveragedDescentScales(mu=mu, steps=one.steps, rate=one.rate, clip=one.clip, average=one.average)
