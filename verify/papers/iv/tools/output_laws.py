"""The exact laws of what Algorithms 1 and 3 release on neighbouring data sets, and an adversary.

The worst pairs are those that `dpbounds.iv.pairs` ships; gradients are formed record by record (`reference`).

Given what was released before, every release is Gaussian with a mean that the data set decides. Where the mean moves
by the same amount on every path, the sum of squared shifts over twice the variance is the exact zCDP cost of the pair;
the mean of the sum is the relative entropy always.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from dpbounds.iv import TwoStageBudget, noise_scales, printed_beta_only_cost, unnoised_noise_scale
from dpbounds.iv.pairs import Pair, beta_only_pair, joint_pair
from dpbounds.privacy import Adjacency
from simulators.engine import Arrays, Streams
from simulators.iv import FixedData, Settings, two_stage_descent
from verify.checks import Neighbours
from verify.papers.iv.tools.reference import Records, gradients

RecordPair = tuple[Records, Records]


@dataclass(frozen=True, kw_only=True)
class Mechanism(TwoStageBudget):
    """Algorithm 1 on n records, T steps, and the scales of its noise."""

    n: int
    steps: int
    gamma1: float = 1.0
    gamma2: float = 1.0
    lambda1: float = 1.0
    lambda2: float = 1.0
    eta: float = 0.3
    alpha: float = 0.2

    @classmethod
    def of_budget(cls, budget: TwoStageBudget, n: int, steps: int):
        """Clip norms of the budget and noise as in (4)."""
        lambda1, lambda2 = map(float, noise_scales(budget, n, steps))
        return cls(n=n, steps=steps, gamma1=budget.gamma1, gamma2=budget.gamma2, lambda1=lambda1, lambda2=lambda2)


def opposite_records(n: int, q: int = 1, p: int = 1, adjacency: Adjacency = "replace-one") -> RecordPair:
    """Between which the gradients of one record change sign, or appear."""
    return _records(joint_pair(n, q=q, p=p, adjacency=adjacency))


def turning_records(n: int, shift: float, adjacency: Adjacency = "replace-one") -> RecordPair:
    """Between which one record turns the sign of Theta and with it the gradients of all n."""
    return _records(beta_only_pair(n, shift=shift, adjacency=adjacency))


def _records(pair: Pair) -> RecordPair:
    """The record that differs first."""
    first, second = (Records(*(part[::-1] for part in data)) for data in pair)
    return first, second


def random_records(rng: np.random.Generator, n: int, q: int, p: int) -> RecordPair:
    """Heavy-tailed records and a neighbour."""
    first = Records(*(rng.standard_t(2, size=size) * 3 for size in ((n, q), (n, p), n)))
    return first, first.without(
        0, (5 * rng.standard_t(2, size=q), 5 * rng.standard_t(2, size=p), 5 * rng.standard_t(2))
    )


def joint_shifts(
    pair: RecordPair, mechanism: Mechanism, rng: np.random.Generator, *, start: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Shifts of the means of all averaged gradients along one path of Algorithm 1 on the first data set, and their
    variances: Theta's T q p entries, then beta's T p.
    """
    q, p = pair[0].Z.shape[1], pair[0].X.shape[1]
    theta, beta = np.full((q, p), start), np.zeros(p)
    shifts: tuple[list, list] = ([], [])
    for _ in range(mechanism.steps):
        norms = (mechanism.gamma1, mechanism.gamma2)
        own, other = (gradients(data, theta, beta, *norms, n=mechanism.n) for data in pair)
        for stage, a, b in zip(shifts, own, other, strict=True):
            stage.append((a - b).ravel())
        theta = theta - mechanism.eta * (own[0] - mechanism.lambda1 * rng.standard_normal((q, p)))
        beta = beta - mechanism.alpha * (own[1] - mechanism.lambda2 * rng.standard_normal(p))
    first, second = (np.concatenate(stage) for stage in shifts)
    variances = [np.full(len(first), mechanism.lambda1**2), np.full(len(second), mechanism.lambda2**2)]
    return np.concatenate([first, second]), np.concatenate(variances)


def beta_shifts(pair: RecordPair, mechanism: Mechanism, rng: np.random.Generator) -> np.ndarray:
    """Shifts of the means of beta's averaged gradients where Theta has no noise: each data set has its own Theta."""
    q, p = pair[0].Z.shape[1], pair[0].X.shape[1]
    thetas, beta, shifts = [np.zeros((q, p)), np.zeros((q, p))], np.zeros(p), []
    for _ in range(mechanism.steps):
        steps = [
            gradients(data, theta, beta, None, mechanism.gamma2, n=mechanism.n)
            for data, theta in zip(pair, thetas, strict=True)
        ]
        shifts.append(steps[0][1] - steps[1][1])
        thetas = [theta - mechanism.eta * first for theta, (first, _) in zip(thetas, steps, strict=True)]
        beta = beta - mechanism.alpha * (steps[0][1] - mechanism.lambda2 * rng.standard_normal(p))
    return np.concatenate(shifts)


def neighbours(label: str, shift: np.ndarray, variances: np.ndarray, claimed: float) -> Neighbours:
    """The two laws of the releases."""
    return Neighbours(label=label, shift=shift, covariance=np.diag(variances), claimed_rho=claimed)


# lambda_2 / gamma_2 for a number of records, of steps, and a budget
Scale = Callable[[int, int, float], float]


def printed_scale(n: int, T: int, rho: float) -> float:
    """lambda_2 / gamma_2 for which Lemma F.1 states this rho."""
    return math.sqrt(printed_beta_only_cost(TwoStageBudget(gamma2=1.0, lambda2=1.0), n, T) / rho)


def scale_of_4(n: int, T: int, rho: float) -> float:
    """lambda_2 / gamma_2 in (4)."""
    return float(noise_scales(TwoStageBudget.equal(rho, 1.0), n, T).lambda2)


def exact_scale(n: int, T: int, rho: float) -> float:
    """lambda_2 / gamma_2 that Algorithm 3 needs: one record moves all n gradients."""
    return float(unnoised_noise_scale(TwoStageBudget(rho2=rho, gamma2=1.0), n, T))


def beta_only_pairs(*cases: tuple[int, int], scale: Scale, variance: float = 1.0) -> Iterator[Neighbours]:
    """Laws of beta_1 ... beta_T for pairs (n, T) without first-stage noise, on the turning pair and on a random one."""
    rng, gamma, rho = np.random.default_rng(2), 0.8, 0.5
    for n, T in cases:
        lambda2 = gamma * scale(n, T, rho) * math.sqrt(variance)
        mechanism, variances = Mechanism(n=n, steps=T, gamma2=gamma, lambda2=lambda2), np.full(T, lambda2**2)
        for label, pair in (
            ("one record turns Theta", turning_records(n, 1.0)),
            ("random", random_records(rng, n, 2, 1)),
        ):
            yield neighbours(f"n = {n}, T = {T}, {label}", beta_shifts(pair, mechanism, rng), variances, rho)


@dataclass(frozen=True, kw_only=True)
class Adversary:
    """Who holds `data` and asks whether it or its mirror image was used, whose mean gradients are `drift1`, `drift2` in
    size with opposite signs. `beta_only`: Theta is not seen.
    """

    data: FixedData
    drift1: float
    drift2: float
    beta_only: bool = False


def log_likelihood_ratio(problem: Adversary, settings: Settings, streams: Streams, trials: int) -> Arrays:
    """`ratio`: log-likelihood of the releases of a run under positive drifts less that under negative ones.

    The drift of beta has the sign of the Theta before it, and is 0 in the first step; who sees beta alone takes Theta
    to be positive, as it is on that data set.
    """
    arrays = two_stage_descent(problem.data, settings, streams, trials)
    theta, beta = (
        np.concatenate([np.zeros((trials, 1)), arrays[name].reshape(trials, -1)], axis=1)
        for name in ("theta_path", "beta_path")
    )
    lambda1, lambda2 = settings.noise_scales(problem.data.n)
    side = np.ones((trials, settings.steps - 1)) if problem.beta_only else np.sign(theta[:, 1:-1])
    moved = np.diff(beta, axis=1)[:, 1:] / settings.alpha
    ratio = 2 * problem.drift2 / lambda2**2 * np.sum(side * moved, axis=1)
    if not problem.beta_only:
        ratio += 2 * problem.drift1 / lambda1**2 * theta[:, -1] / settings.eta
    return {"ratio": ratio}


def fixed(data: Records) -> FixedData:
    """As the simulators take it."""
    return FixedData(instruments=data.Z, regressors=data.X, outcome=data.Y)
