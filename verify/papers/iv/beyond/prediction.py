"""Beyond the paper: medians, means and quantiles of the error, to leading order and at any noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from scipy.special import ndtr

from dpbounds.errors import AccuracyError
from dpbounds.gaussian_norm import norm_cdf, norm_mean
from dpbounds.iv import (
    Moments,
    ScalarLaw,
    TwoStageBudget,
    beta_law,
    last_beta_law,
    mixture_quantile,
    noise_expansion,
    noise_scales,
    predicted_curve,
    predicted_error,
    predicted_quantile,
    scalar_law,
    scalar_moments,
    theta_path,
)
from simulators.engine import Experiment
from simulators.iv import FixedMoments, Settings, two_stage_descent
from verify.checks import Agreement, Case, Fact, Holds, Means, MonteCarlo, Quantiles, Reading, Times, Within
from verify.statements.claims import Claim

# --- to leading order ---

MOMENTS = Moments(
    A=np.array([[1.2, 0.3, 0.0], [0.3, 0.9, 0.1], [0.0, 0.1, 1.1]]),
    G=np.array([[1.5, 0.2], [0.1, 1.1], [0.3, -0.2]]),
    b=np.array([1.0, -0.7, 0.4]),
    n=1000,
)
ETA, ALPHA, SMALL = 0.7, 0.3, {"lambda1": 0.02, "lambda2": 0.03}
LENGTHS = (2, 3, 12)


def _runs(moments: Moments, steps: int, noise: Mapping[str, float], eta: float, alpha: float) -> Experiment:
    """Unclipped, at given noise scales."""
    lambda1, lambda2 = noise["lambda1"], noise["lambda2"]
    return Experiment(
        algorithm=two_stage_descent,
        problem=FixedMoments(given=moments),
        settings=Settings(steps=steps, eta=eta, alpha=alpha, lambda1=lambda1, lambda2=lambda2),
        block_trials=4000,
    )


def _small_noise() -> list[Reading]:
    """Medians and upper quantiles after 2, 3 and 12 steps, p = 2, q = 3, A not a multiple of I."""
    order = noise_expansion(MOMENTS, ETA, ALPHA, max(LENGTHS))
    readings = []
    for steps in LENGTHS:
        for probability in (0.1, 0.5, 0.95):
            readings.append(
                Reading(
                    label=f"T = {steps}, quantile {probability}",
                    run=f"T = {steps}",
                    experiment=_runs(MOMENTS, steps, SMALL, ETA, ALPHA),
                    output="error_hat",
                    probability=probability,
                    predicted=lambda steps=steps, level=probability: float(
                        predicted_quantile(order, MOMENTS.beta_hat, **SMALL, probability=level, step=steps)
                    ),
                )
            )
    return readings


def _small_means() -> list[Case]:
    order = noise_expansion(MOMENTS, ETA, ALPHA, max(LENGTHS))
    return [
        Case(
            label=f"T = {steps}",
            experiment=_runs(MOMENTS, steps, SMALL, ETA, ALPHA),
            output="error_hat",
            predicted=lambda steps=steps: float(predicted_error(order, MOMENTS.beta_hat, **SMALL, step=steps).mean),
            relative_std=0.7,
        )
        for steps in LENGTHS
    ]


def _consistent(rng: np.random.Generator) -> Iterator[Fact]:
    """The median is the quantile at 1/2, the root mean square that of the expansion, a curve its points."""
    order = noise_expansion(MOMENTS, ETA, ALPHA, 12)
    target = MOMENTS.beta_hat + 0.1
    horizons = (1, 4, 12)
    scales = [noise_scales(TwoStageBudget(rho1=0.5, rho2=2.0, gamma1=3.0, gamma2=5.0), MOMENTS.n, T) for T in horizons]
    lambda1, lambda2 = [float(scale.lambda1) for scale in scales], [float(scale.lambda2) for scale in scales]
    curve = predicted_curve(order, target, horizons=horizons, lambda1=lambda1, lambda2=lambda2)
    for point, T, one, two in zip(curve, horizons, lambda1, lambda2, strict=True):
        law = order.law(T, one, two)
        median = float(predicted_quantile(order, target, lambda1=one, lambda2=two, probability=0.5, step=T))
        deviation = law.mean - target
        yield Fact(f"median, T = {T}", float(point.median), median, 1e-8)
        inside = float(norm_cdf(deviation, law.covariance, float(point.median)))
        yield Fact(f"half of the probability, T = {T}", inside, 0.5, 1e-7)
        yield Fact(f"mean, T = {T}", float(point.mean), float(norm_mean(deviation, law.covariance)), 1e-9)
        square = float(order.mean_squared_error(target, one, two)[T])
        yield Fact(f"mean square, T = {T}", float(point.root_mean_square) ** 2, square, 1e-9)
    one, two, stated = lambda1[-1], lambda2[-1], float(curve[-1].median)
    last = float(predicted_quantile(order, target, lambda1=one, lambda2=two, probability=0.5))
    yield Fact("quantile at the last step", last, stated, 1e-8)
    last = float(predicted_error(order, target, lambda1=one, lambda2=two).median)
    yield Fact("median at the last step", last, stated, 1e-8)


PREDICTED = Claim(
    id="iv/beyond-prediction",
    where="beyond the paper: law of the error for small noise",
    kind="mc-equality",
    statement=(
        "For small noise, any data and any $T$ the quantiles and the mean of $norm(beta^((T)) - hat(beta))$ are those "
        "of the length of the Gaussian vector of leading order, without unknown constants."
    ),
    setting="$p = 2$, $q = 3$, $T = 2, 3, 12$, $lambda_1 = 0.02$, $lambda_2 = 0.03$, no clipping.",
    checks=(
        Quantiles(
            readings=_small_noise,
            resolution={"quick": 0.1, "full": 0.05},
            trials={"quick": 16_000, "full": 96_000},
            impostors={"15 % too large": {"scale": 1.15}},
        ),
        MonteCarlo(means=Means(cases=_small_means), impostors={"6 % too large": {"scale": 1.06}}),
        Agreement(facts=_consistent, impostors={"1 % more": {"facts": Times(1.01)}}),
    ),
)

# --- at any noise ---

LOUD, LONG = {"lambda1": 0.35, "lambda2": 0.2}, 8
WHITE = Moments(A=np.eye(3), G=np.eye(3, 2), b=np.array([1.0, -1.0, 0.5]), n=50)
ONE = Moments(A=1.5 * np.eye(1), G=2.0 * np.eye(1), b=np.ones(1), n=50)
# A, G, b and the step sizes of runs that are short enough to integrate over.
SHORT, SHORT_STEPS = (1.3, 2.1, 0.9), (0.7, 0.2)


def _mixed() -> float:
    """The median over 600 paths of Theta, beta integrated exactly given each."""
    rng = np.random.default_rng(7)
    noise = (LOUD["lambda1"] * rng.standard_normal((600, 3, 2)) for _ in range(LONG))
    law = last_beta_law(WHITE, theta_path(WHITE, 0.8, noise), 0.5, LOUD["lambda2"])
    return float(mixture_quantile(law, WHITE.beta_hat).value)


@cache
def _scalar() -> ScalarLaw:
    return scalar_law(ONE, 0.8, 0.25, lambda1=0.8, lambda2=0.2, steps=LONG, tolerance=1e-4)


def _large_noise() -> list[Reading]:
    readings = [
        Reading(
            label="p = 2, q = 3",
            experiment=_runs(WHITE, LONG, LOUD, 0.8, 0.5),
            output="error_hat",
            predicted=_mixed,
        )
    ]
    for probability in (0.25, 0.5, 0.9):
        readings.append(
            Reading(
                label=f"p = q = 1, quantile {probability}",
                run="p = q = 1",
                experiment=_runs(ONE, LONG, {"lambda1": 0.8, "lambda2": 0.2}, 0.8, 0.25),
                output="error_hat",
                probability=probability,
                predicted=lambda level=probability: float(_scalar().quantile(level)),
            )
        )
    return readings


def _mixture(rng: np.random.Generator) -> Iterator[Fact]:
    """The probabilities given 40 paths average to the level; their spread over the density is the standard error."""
    noise = (0.3 * rng.standard_normal((40, 3, 2)) for _ in range(5))
    law = beta_law(WHITE, np.stack(list(theta_path(WHITE, 0.8, noise)), axis=1), 0.5, 0.2)
    target = WHITE.beta_hat + 0.05
    for step, same in ((5, -1), (3, -3)):
        found = mixture_quantile(law, target, 0.7, step=step)
        means, covariances = law.mean[:, step] - target, law.covariance[:, step]
        at, low, high = (norm_cdf(means, covariances, (1 + shift) * found.value) for shift in (0.0, -1e-3, 1e-3))
        yield Fact(f"level, step {step}", float(at.mean()), 0.7, 1e-7)
        density = float((high - low).mean()) / (2e-3 * found.value)
        error = float(at.std(ddof=1)) / math.sqrt(40) / density
        yield Fact(f"standard error, step {step}", found.standard_error, error, 5e-3)
        yield Fact(f"step {same} is {step}", float(mixture_quantile(law, target, 0.7, step=same).value), found.value, 0)
    last = float(mixture_quantile(law, target, 0.7, step=5).value)
    yield Fact("the last step", float(mixture_quantile(law, target, 0.7).value), last, 0)


def _density(rng: np.random.Generator) -> Iterator[Fact]:
    """The scalar law's density has the exact moments, and its integral is its distribution function."""
    law = scalar_law(ONE, 0.8, 0.25, lambda1=0.2, lambda2=0.3, steps=5, tolerance=1e-7)
    x = np.linspace(-law.half_width, law.half_width, 20_001)
    density, step = law.density(x), x[1] - x[0]
    exact = scalar_moments(1.5, 2.0, 1.0, eta=0.8, alpha=0.25, lambda1_squared=0.04, lambda2_squared=0.09, steps=5)
    mean, second = float(exact.mean[-1]), float(exact.second[-1])
    beta_hat = float(ONE.beta_hat[0])
    yield Fact("total", float(density.sum() * step), 1.0, 1e-5)
    yield Fact("mean", float(density @ x * step) + beta_hat, mean, 1e-4)
    yield Fact("second moment", float(density @ (x + beta_hat) ** 2 * step), second, 1e-3)
    inside = float(density[np.abs(x) <= 0.4].sum() * step)
    yield Fact("P(|beta_T - beta_hat| <= 0.4)", float(law.cdf(0.4)), inside, 2e-3)


class _Paths(NamedTuple):
    """Weights of paths of Theta; the mean and the deviation of beta_T - beta_hat given each."""

    weights: np.ndarray
    mean: np.ndarray
    deviation: np.ndarray

    @classmethod
    def of(cls, steps: int, noise: tuple[float, float]) -> _Paths:
        """Of `SHORT` with T <= 3: the noise in Theta_1 ... Theta_{T-1} on a grid."""
        (a, G, b), (eta, alpha) = SHORT, SHORT_STEPS
        x = np.linspace(-8.5, 8.5, 241)
        weights, theta, mean, variance = np.ones(()), np.zeros(()), np.zeros(()), np.zeros(())
        for left in reversed(range(steps)):
            factor = 1 - alpha * a * theta**2
            mean, variance = factor * mean + alpha * b * theta, factor**2 * variance + (alpha * noise[1]) ** 2
            if left:
                weights = weights[..., None] * np.exp(-(x**2) / 2) * (x[1] - x[0]) / math.sqrt(2 * math.pi)
                theta = (theta - eta * (a * theta - G))[..., None] + eta * noise[0] * x
                mean, variance = mean[..., None], variance[..., None]
        return cls(weights, mean - b / G, np.sqrt(variance))

    def inside(self, radius: float) -> float:
        """P(|beta_T - beta_hat| <= radius)."""
        low, high = ((end - self.mean) / self.deviation for end in (-radius, radius))
        return float(np.sum(self.weights * (ndtr(high) - ndtr(low))))

    def density(self, deviation: float) -> float:
        """Of beta_T - beta_hat."""
        normal = np.exp(-(((deviation - self.mean) / self.deviation) ** 2) / 2) / math.sqrt(2 * math.pi)
        return float(np.sum(self.weights * normal / self.deviation))


def _short_runs(rng: np.random.Generator) -> Iterator[Fact | Within]:
    """Three steps at most, by integrals over the noise in Theta, and what a law of heavy tails says of its error."""
    (a, G, b), steps = SHORT, SHORT_STEPS
    moments = Moments(A=np.array([[a]]), G=np.array([[G]]), b=np.array([b]), n=50)
    for T, lambda1, radii in (
        (1, 0.8, (0.39, 0.45)),
        (2, 0.8, (0.13, 0.5)),
        (3, 0.0, (0.07, 0.13)),
        (3, 0.6, (0.1, 0.4)),
    ):
        paths, where = _Paths.of(T, (lambda1, 0.25)), f"T = {T}, lambda_1 = {lambda1:g}"
        law = scalar_law(moments, *steps, lambda1=lambda1, lambda2=0.25, steps=T, tolerance=1e-8)
        for radius in radii:
            inside = paths.inside(radius)
            yield Fact(f"P(<= {radius}), {where}", float(law.cdf(radius)), inside, 1e-10)
            yield Fact(f"quantile {inside:.3f}, {where}", float(law.quantile(inside)), radius, 1e-8)
            both = law.density(np.array([-radius, radius]))
            yield Fact(
                f"densities at +- {radius}, {where}", both, [paths.density(-radius), paths.density(radius)], 1e-8
            )
    for T in (2, 3):
        rough, paths = (
            scalar_law(moments, *steps, lambda1=1.5, lambda2=0.25, steps=T, tolerance=1e-2),
            _Paths.of(T, (1.5, 0.25)),
        )
        off = max(abs(float(rough.cdf(radius)) - paths.inside(radius)) for radius in (0.1, 0.3, 0.5))
        yield Within(f"heavy tails, T = {T}: stated error over that of the law", rough.error / off, least=1.0)
        yield Within(f"heavy tails, T = {T}: stated error", rough.error, most=1e-2)


def _too_wide(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Laws by script that never agree, or that agree in the end: grids grow by half while nodes times modes are few."""
    moments = Moments(A=np.array([[1.5]]), G=np.array([[2.0]]), b=np.array([1.0]), n=9)
    wide = partial(scalar_law, moments, 0.8, 0.25, lambda1=0.3, lambda2=0.2, steps=4)
    for agreeing in (2, 4, None):
        asked: list[tuple[float, int]] = []

        def law(chain: Any, width: float, nodes: int, asked=asked, agreeing=agreeing) -> Any:
            asked.append((width, nodes))
            total = 0.3 if agreeing and len(asked) >= agreeing else 0.3 + 0.01 * len(asked)
            waves = np.zeros(3, dtype=complex)
            return SimpleNamespace(cdf=lambda radius: total, half_width=width, characteristic=waves)

        with mock.patch("dpbounds.iv.scalar._Chain.law", law):
            if agreeing:
                found = wide()
                yield Fact(f"agreement of grid {agreeing} and the next", found.half_width, asked[agreeing][0], 0)
                yield Fact("stated error", found.error, 1e-12, 0)
            else:
                yield Holds("no agreement", _inaccurate(wide))
        widths, nodes = np.array(asked).T
        yield Fact(f"widths, {agreeing}", widths[1:] / widths[:-1], np.full(len(widths) - 1, 1.5), 1e-12)
        yield Holds(f"nodes, {agreeing}", all(math.ceil(1.5 * few) == more for few, more in pairwise(nodes)))
        # As many modes as leave e^-28 of the noise of the last step.
        modes = [math.ceil(7.5 * width / (math.pi * 0.25 * 0.2)) + 1 for width in widths]
        products = nodes * modes
        yield Holds(f"work, {agreeing}", all(products[:-1] <= 2**19) and (bool(agreeing) or products[-1] > 2**19))


def _inaccurate(call: Callable[[], Any]) -> bool:
    try:
        call()
    except AccuracyError:
        return True
    return False


ANY_NOISE = Claim(
    id="iv/beyond-any-noise",
    where="beyond the paper: law of the error at any noise",
    kind="mc-equality",
    statement=(
        (
            "At any noise $beta^((T))$ is Gaussian given the path of $Theta^((t))$, so that the law of the error is a "
            "mixture over paths;"
        ),
        (
            "for $p = q = 1$ its characteristic function has a closed recursion, no path is drawn, and the law says by "
            "how much its probabilities may be off."
        ),
    ),
    setting="$lambda_1$ a third of the singular values of $hat(Theta)$ and more, where the leading order is far off.",
    checks=(
        Quantiles(
            decides="ab",
            readings=_large_noise,
            resolution={"quick": 0.1, "full": 0.05},
            trials={"quick": 16_000, "full": 96_000},
            impostors={"15 % too large": {"scale": 1.15}},
        ),
        Agreement(decides="a", facts=_mixture, impostors={"2 % more": {"facts": Times(1.02)}}),
        Agreement(decides="b", facts=_density, impostors={"1 % more": {"facts": Times(1.01)}}),
        Agreement(decides="b", facts=_too_wide),
        Agreement(decides="b", facts=_short_runs, impostors={"1e-6 more": {"facts": Times(1.000001)}}),
    ),
)
