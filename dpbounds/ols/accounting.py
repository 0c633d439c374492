"""What the releases of each method cost together: one privacy profile instead of a sum of budgets.

- IHM and linear mixing release an eigenvalue, sketches and (IHM) gradients. Given the eigenvalue, where the test does
  not fail, each part is dominated by a fixed pair: a record of leverage 1/gamma in k * steps rows, and Gaussian
  mechanisms that compose to mu² = k/gamma² + steps clip²/sigma². Dominating pairs compose, adaptively and in each
  direction, so
      delta(epsilon) <= P(z > tau) + max over directions of E g_mu(epsilon - loss of the rows),
  an upper bound (`kind` upper): the pair needs a record that moves lambda_min by 1, every clipped gradient by `clip`,
  and has leverage 1/gamma, which is possible only where the released eigenvalue is lambda_min itself.
- AdaSSP and gradient descent release Gaussians with sensitivities that one record attains together: exact.

Neighbours: `zero-out` and `add-remove` cost the same here (a zero row adds nothing; n is public). `replace-one` moves
two directions of a sketch's covariance (`privacy.covariance`), lambda_min by 1 at most, gradients by two clip norms.

>>> scales = LinearMixingScales(k=40, gamma=36.0, tau=6.0)
>>> round(gaussian_part(scales), 4)
0.1757
"""

from __future__ import annotations

import math

from scipy.special import log_ndtr

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, real, within
from dpbounds.ols.scales import AdasspScales, GradientDescentScales, HessianMixingScales, LinearMixingScales
from dpbounds.ols.sketch import root
from dpbounds.privacy.calibration import Adjacency, sensitivity_factor
from dpbounds.privacy.covariance import exchange_log_delta, rows_log_delta
from dpbounds.privacy.gaussian import DELTA_RANGE, gaussian_mu, probability
from dpbounds.values import Value

MixingScales = HessianMixingScales | LinearMixingScales
_JOINT = "dpbounds, dominating pairs of all releases"
_ATTAINED = "dpbounds, Gaussians whose sensitivities one record attains"


def gaussian_part(scales: MixingScales, adjacency: Adjacency = "zero-out") -> float:
    """mu of the Gaussian releases: the eigenvalue test and, for IHM, the gradients of all steps.

    sqrt(k/gamma² + steps (c clip/sigma)²) with c = 1, and c = 2 for replace-one; the least eigenvalue moves by at most
    one row's squared norm in either case.
    """
    test = scales.k / scales.gamma**2
    if isinstance(scales, LinearMixingScales):
        return math.sqrt(test)
    return math.sqrt(test + scales.steps * (sensitivity_factor(adjacency) * scales.clip / scales.sigma) ** 2)


def failure_probability(tau: float) -> Value:
    """P(z > tau): the released eigenvalue exceeds the true one, and the sketches have less noise than they should."""
    return Value(probability(float(log_ndtr(-real("tau", tau)))), kind="exact", source="ols Algorithm 2")


@typed
def mixing_log_delta(epsilon: float, scales: MixingScales, *, adjacency: Adjacency = "zero-out") -> float:
    """Natural logarithm of `mixing_delta`, right far below the smallest float delta."""
    epsilon = within("epsilon", epsilon, "[0, 1e6]")
    steps = scales.steps if isinstance(scales, HessianMixingScales) else 1
    one_record = sensitivity_factor(adjacency) == 1
    of_rows = rows_log_delta if one_record else exchange_log_delta
    joint = of_rows(epsilon, scales.k * steps, 1 / scales.gamma, mu=gaussian_part(scales, adjacency))
    high, low = max(joint, float(log_ndtr(-scales.tau))), min(joint, float(log_ndtr(-scales.tau)))
    return min(high + math.log1p(math.exp(low - high)), 0.0)


@typed
def mixing_delta(epsilon: float, scales: MixingScales, *, adjacency: Adjacency = "zero-out") -> Value:
    """An upper bound on delta at epsilon of IHM or linear mixing, all releases together (module's docstring).

    Raises `DomainError` for epsilon outside [0, 1e6] or an unknown adjacency.
    """
    log_delta = mixing_log_delta(epsilon, scales, adjacency=adjacency)
    return Value(probability(log_delta), kind="upper", source=_JOINT, convention=adjacency)


@typed
def mixing_epsilon(delta: float, scales: MixingScales, *, adjacency: Adjacency = "zero-out") -> Value:
    """An upper bound on epsilon at delta of IHM or linear mixing, all releases together.

    Raises `DomainError` where the test alone fails with probability delta or more: a larger tau is needed.
    """
    log_delta = math.log(within("delta", delta, DELTA_RANGE))
    if float(log_ndtr(-scales.tau)) >= log_delta:
        raise DomainError(
            "delta", delta, f"above P(z > tau) = {failure_probability(scales.tau):.3g}", "take a larger tau"
        )

    def gap(epsilon: float) -> float:
        return mixing_log_delta(epsilon, scales, adjacency=adjacency) - log_delta

    value, high = 0.0, 1.0
    if gap(0.0) > 0:
        while gap(high) > 0:
            high *= 4
        value = root(gap, 0.0, high)
    return Value(value, kind="upper", source=_JOINT, convention=adjacency)


@typed
def adassp_mu(scales: AdasspScales, *, adjacency: Adjacency = "zero-out") -> Value:
    """mu of AdaSSP's three releases as one Gaussian mechanism: delta(epsilon) is `gaussian_delta(mu, epsilon)`.

    Zero-out, exactly: mu² = 1/eigenvalue² + 1/gram² + (C_Y/moment)², attained by a unit vector x along a bottom
    eigenvector that is a coordinate axis, |y| = C_Y. Replace-one, an upper bound: (X'X, X'Y) moves by at most the
    largest over c in [-1, 1] of (2 - 2c²)/gram² + (2 + 2c)(C_Y/moment)², c the cosine of the two records, whose
    outcomes are opposite; and the eigenvalue by at most 1, but not by 1 together with that.
    """
    test, gram, moment = (
        1 / scales.eigenvalue**2,
        1 / scales.gram**2,
        (scales.outcome_bound / scales.moment) ** 2,
    )
    if sensitivity_factor(adjacency) == 1:
        return Value(math.sqrt(test + gram + moment), kind="exact", source=_ATTAINED, convention=adjacency)
    cosine = min(moment / (2 * gram), 1.0)
    moved = gram * (2 - 2 * cosine**2) + moment * (2 + 2 * cosine)
    return Value(math.sqrt(test + moved), kind="upper", source=_ATTAINED, convention=adjacency)


@typed
def gradient_descent_mu(scales: GradientDescentScales, *, adjacency: Adjacency = "zero-out") -> Value:
    """mu of all gradients of Algorithm 7: sqrt(steps) c clip / (n sigma), c = 1, or 2 for replace-one; exact.

    Attained where one record's clipped gradient is as long as the clip norm at every step.
    """
    step = sensitivity_factor(adjacency) * scales.clip / (scales.n * scales.sigma)
    return Value(math.sqrt(scales.steps) * step, kind="exact", source=_ATTAINED, convention=adjacency)


def budget_mu(epsilon: float, delta: float) -> Value:
    """The mu that spends (epsilon, delta) exactly: what AdaSSP and gradient descent are calibrated to."""
    return gaussian_mu(epsilon, delta)
