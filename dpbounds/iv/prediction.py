"""Predicted errors ||beta_T - target|| of unclipped DP two-stage gradient descent: medians, means, quantiles.

Three levels, from cheap to exact. The leading order in the noise (`predicted_error`, `predicted_curve`) gives a
Gaussian law whose length has computable quantiles. Given the path of Theta the law is Gaussian at any noise: a mixture
over paths that the caller simulates has no error but that of the paths (`mixture_quantile`). For p = q = 1
`dpbounds.iv.scalar.scalar_law` needs no paths. All hold for fixed data; medians are what to compare with runs, since
means grow without bound in lambda_1.

>>> from dpbounds.iv import Moments, noise_expansion
>>> moments = Moments(A=np.eye(2), G=np.eye(2), b=np.array([1.0, 0.5]), n=100)
>>> order = noise_expansion(moments, 0.5, 0.5, 20)
>>> round(float(predicted_error(order, moments.beta_hat, lambda1=0.01, lambda2=0.02).median), 3)
0.015
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, count, listed
from dpbounds.gaussian_norm import norm_cdf, norm_mean, norm_quantile
from dpbounds.iv.laws import BetaLaw
from dpbounds.iv.leading_order import SOURCE, LeadingOrder
from dpbounds.iv.moments import target_vector
from dpbounds.values import Value


class ErrorPrediction(NamedTuple):
    """Median, mean and root mean square of ||beta_T - target||."""

    median: Value
    mean: Value
    root_mean_square: Value


@typed
def predicted_error(
    order: LeadingOrder, target: Float[np.ndarray, " p"], *, lambda1: float, lambda2: float, step: int = -1
) -> ErrorPrediction:
    """The error at one step (-1: the last) when beta_t has the Gaussian law of leading order, shift included.

    The median's relative error is O(lambda_1² + lambda_2²) where noise dominates. The root mean square is the one
    accurate to fourth order in the noise, `LeadingOrder.mean_squared_error`. `target` is beta_hat or the true beta.
    """
    law = order.law(step, lambda1, lambda2)
    deviation = law.mean - target_vector("target", target, len(law.mean))
    square = order.mean_squared_error(target, lambda1, lambda2)[order.position(step)]
    numbers = (
        norm_quantile(deviation, law.covariance),
        float(norm_mean(deviation, law.covariance)),
        math.sqrt(max(float(square), 0.0)),
    )
    return ErrorPrediction(*(Value(number, kind="asymptotic", source=SOURCE) for number in numbers))


@typed
def predicted_quantile(
    order: LeadingOrder,
    target: Float[np.ndarray, " p"],
    *,
    lambda1: float,
    lambda2: float,
    probability: float,
    step: int = -1,
) -> Value:
    """A quantile of ||beta_t - target|| under the law of `predicted_error`; inverted to 1e-9 relative."""
    law = order.law(step, lambda1, lambda2)
    deviation = law.mean - target_vector("target", target, len(law.mean))
    number = norm_quantile(deviation, law.covariance, probability)
    return Value(number, kind="asymptotic", source=SOURCE)


@typed
def predicted_curve(
    order: LeadingOrder,
    target: Float[np.ndarray, " p"],
    *,
    horizons: Sequence[int],
    lambda1: Sequence[float],
    lambda2: Sequence[float],
) -> list[ErrorPrediction]:
    """The error against T where the noise is calibrated to T: one pair of noise scales per horizon.

    One recursion up to the longest horizon serves all. Raises `DomainError` for horizons beyond it.
    """
    longest = len(order.noiseless) - 1
    steps = [count("horizons", horizon, least=0) for horizon in listed("horizons", horizons)]
    if steps and max(steps) > longest:
        raise DomainError("horizons", max(steps), f"between 0 and {longest}", "run the recursion further")
    scales = listed("lambda1", lambda1), listed("lambda2", lambda2)
    if {len(scale) for scale in scales} != {len(steps)}:
        found = f"{len(scales[0])} and {len(scales[1])} numbers"
        raise DomainError("lambda1, lambda2", found, f"one per horizon, {len(steps)}")
    points = zip(steps, *scales, strict=True)
    return [predicted_error(order, target, lambda1=one, lambda2=two, step=horizon) for horizon, one, two in points]


class MixtureQuantile(NamedTuple):
    """A quantile, and its standard error from the number of paths."""

    value: Value
    standard_error: float


@typed
def mixture_quantile(
    law: BetaLaw, target: Float[np.ndarray, " p"], probability: float = 0.5, *, step: int = -1
) -> MixtureQuantile:
    """The quantile of ||beta_t - target|| over paths of Theta, with beta_t given the path integrated exactly.

    `law` is `laws.beta_law` or `laws.last_beta_law` of N independent paths (leading axis) drawn from the law of Theta;
    any noise, no expansion. The standard error is that of the mean of the conditional probabilities, over the density.
    Raises `DomainError` for fewer than 2 paths.
    """
    length = law.mean.shape[-2]
    step = count("step", step, least=-length)
    if step >= length:
        raise DomainError("step", step, f"between {-length} and {length - 1}")
    means, covariances = law.mean[..., step, :], law.covariance[..., step, :, :]
    target = target_vector("target", target, means.shape[-1])
    if means.ndim != 2 or len(means) < 2:
        raise DomainError("law", f"means of shape {np.shape(law.mean)}", "one leading axis of at least 2 paths")
    quantile = norm_quantile(means - target, covariances, probability)
    at, near = (norm_cdf(means - target, covariances, radius) for radius in (quantile, 1.001 * quantile))
    density = float(np.mean(near - at)) / (0.001 * quantile) if quantile > 0 else math.inf
    noise = float(np.std(at, ddof=1)) / math.sqrt(len(at))
    value = Value(quantile, kind="estimate", source="dpbounds, iv Algorithm 1 unclipped, given the path of Theta")
    return MixtureQuantile(value, noise / density if density > 0 else math.inf)
