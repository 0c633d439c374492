"""Algorithm 3 on data sets between which one record turns Theta: what its release spends, and audits of it."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from dpbounds.privacy import gaussian_epsilon, zcdp_epsilon
from simulators.engine import Experiment
from simulators.iv import Settings
from verify.checks import Audit, Neighbours
from verify.papers.iv.tools.output_laws import (
    Adversary,
    Mechanism,
    Scale,
    beta_shifts,
    exact_scale,
    fixed,
    log_likelihood_ratio,
    neighbours,
    scale_of_4,
    turning_records,
)

EXHIBIT = (1000, 20)  # n, T


def large_sample(rho: float = 1.0) -> Iterator[Neighbours]:
    """What Algorithm 1 with rho_1 = oo and the noise of (4) spends at the n and T of Section 4."""
    n, T = EXHIBIT
    scale = scale_of_4(n, T, rho)
    shift = beta_shifts(turning_records(n, 1.0), Mechanism(n=n, steps=T, lambda2=scale), np.random.default_rng(0))
    yield neighbours(f"n = {n}, T = {T}, one record turns Theta", shift, np.full(T, scale**2), rho)


def small_sample() -> Iterator[Neighbours]:
    """The same at n = 3 and T = 2, in few enough operations for balls."""
    n, T, rho = 3, 2, 1.0
    scale = scale_of_4(n, T, rho)
    shift = beta_shifts(turning_records(n, 1.0), Mechanism(n=n, steps=T, lambda2=scale), np.random.default_rng(0))
    yield neighbours(f"n = {n}, T = {T}, one record turns Theta", shift, np.full(T, scale**2), rho)


AUDIT_N, AUDIT_T, AUDIT_RHO, AUDIT_DELTA = 5, 3, 0.4, 0.02


def _adversaries(scale: float) -> tuple[Experiment, Experiment]:
    """Runs of Algorithm 3 on the second and on the first of two data sets between which one record turns Theta."""
    settings = Settings(steps=AUDIT_T, eta=0.3, alpha=0.2, gamma2=1.0, lambda2=scale, record_paths=True)
    first, second = (
        Experiment(
            algorithm=log_likelihood_ratio,
            problem=Adversary(data=fixed(data), drift1=0.0, drift2=1.0, beta_only=True),
            settings=settings,
            block_trials=10_000,
        )
        for data in turning_records(AUDIT_N, 1.0)
    )
    return second, first


def refuting_audit(scale: Scale) -> Audit:
    """This scale against the epsilon that its rho implies by the paper's conversion; the event is fixed where both
    frequencies are well away from 0.
    """
    return Audit(
        experiments=_adversaries(scale(AUDIT_N, AUDIT_T, AUDIT_RHO)),
        output="ratio",
        threshold=4.0,
        claimed_epsilon=float(zcdp_epsilon(AUDIT_RHO, AUDIT_DELTA, method="bun-steinke")),
        delta=AUDIT_DELTA,
    )


def confirming_audit(refuted: Scale) -> Audit:
    """The derived scale against the exact epsilon of its cost; the impostor is the scale that the paper has."""
    epsilon = float(gaussian_epsilon(math.sqrt(2 * AUDIT_RHO), AUDIT_DELTA))
    return Audit(
        experiments=_adversaries(exact_scale(AUDIT_N, AUDIT_T, AUDIT_RHO)),
        output="ratio",
        threshold=epsilon,
        claimed_epsilon=epsilon,
        delta=AUDIT_DELTA,
        trials={"quick": 100_000, "full": 1_000_000},
        sharpness=0.7,
        impostors={
            "noise of the paper": {
                "experiments": _adversaries(refuted(AUDIT_N, AUDIT_T, AUDIT_RHO)),
                "threshold": 4.0,
            }
        },
    )
