"""Theorem 1 item 1: the privacy of Algorithm 1 at its noise scales."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from dpbounds.arithmetic import FLOATS
from dpbounds.ols import (
    HessianMixingScales,
    failure_probability,
    hessian_mixing_scales,
    mixing_delta,
    mixing_epsilon,
    sketch,
)
from dpbounds.ols.accounting import gaussian_part
from dpbounds.ols.calibration import theorem_gamma, theorem_sigma, theorem_tau
from dpbounds.privacy.covariance import rows_log_delta
from verify.checks import Agreement, Audit, Fact, Search, Times
from verify.checks.domains import Real, Whole
from verify.papers.ols.tools.divergences import joint_delta
from verify.papers.ols.tools.worst_pair import audited
from verify.statements.claims import Claim


def _printed_scales(epsilon: float, delta: float, k: int, steps: int, clip: float = 1.0, noise: float = 1.0):
    """Theorem 1's scales with the smallest tau it allows, each noise times `noise`; None at gamma <= 5/2."""
    gamma = noise * float(theorem_gamma(FLOATS, epsilon, math.log(5 / delta), k, steps))
    if gamma <= sketch.LEAST_GAMMA * min(noise, 1.0):
        return None
    sigma = noise * float(theorem_sigma(FLOATS, epsilon, math.log(4 / delta), steps, clip))
    return HessianMixingScales(
        k=k, steps=steps, gamma=gamma, sigma=sigma, tau=float(theorem_tau(FLOATS, delta, 1.0)), clip=clip
    )


def _joint(
    epsilon: float, delta: float, k: float, steps: float, clip: float, noise: float = 1.0
) -> tuple[float, float]:
    """All 2T + 1 releases by the joint profile, over delta; rows up to log(1/delta)/8 are left out."""
    k, steps = max(int(k), math.ceil(math.log(1 / delta) / 8 / steps)), int(steps)
    scales = _printed_scales(epsilon, delta, k, steps, clip, noise)
    return (float(mixing_delta(epsilon, scales)) / delta, 1.0) if scales else (0.0, 1.0)


def _spent(scales: HessianMixingScales, epsilon: float, delta: float) -> dict[str, float]:
    """What all releases take of delta at epsilon, and of epsilon at delta, jointly, and where."""
    shares = {"of_delta": mixing_delta(epsilon, scales) / delta, "of_epsilon": mixing_epsilon(delta, scales) / epsilon}
    return {**shares, "budget": epsilon, "chance": delta, "size": float(scales.k), "iterations": float(scales.steps)}


def _profile(rng: np.random.Generator) -> Iterator[Fact]:
    """The joint profile as shipped against adaptive quadrature, both directions, at scales of the theorem."""
    settings = ((1.0, 1e-4, 12, 3, 0.5), (4.0, 1e-2, 5, 1, 2.0), (0.25, 1e-3, 40, 2, 1.0))
    for place, (epsilon, delta, k, steps, clip) in enumerate(settings):
        scales = hessian_mixing_scales(
            epsilon, delta, k=k, steps=steps, failure=delta / 2, clip=clip, accounting="theorem"
        )
        mu = math.sqrt(k / scales.gamma**2 + steps * (clip / scales.sigma) ** 2)
        numbers = _spent(scales, epsilon, delta) if place == 0 else {}
        yield Fact("mu of test and gradients", gaussian_part(scales), mu, 1e-13, numbers)
        yield Fact("noise of the test", scales.test_noise, scales.gamma / math.sqrt(k), 1e-13)
        for at in (epsilon / 3, epsilon / 6):
            joint = max(joint_delta(at, k * steps, 1 / scales.gamma, mu, record_first=side) for side in (True, False))
            total = joint + float(failure_probability(math.sqrt(2 * math.log(8 / delta))))
            yield Fact(f"delta at {at:g}, k = {k}, T = {steps}", mixing_delta(at, scales), total, 1e-6)


def _corner(rng: np.random.Generator) -> Iterator[Fact]:
    """k = T = 1: the bound, and what sketch and gradient cost where lambda^X is 1 with a record and 0 without, and the
    eigenvalue is released as 0: eta² = gamma.
    """
    epsilon, delta = 10.0, 1e-12
    scales = hessian_mixing_scales(epsilon, delta, k=1, steps=1, failure=1.0, accounting="theorem")
    mu, leverage = scales.clip / scales.sigma, 1 / (1 + scales.gamma)
    spent = math.exp(rows_log_delta(epsilon, 1, leverage, mu=mu))
    exact = max(joint_delta(epsilon, 1, leverage, mu, record_first=side) for side in (True, False))
    numbers = {"corner": epsilon, "bound": mixing_delta(epsilon, scales) / delta, "spent": spent / delta}
    yield Fact("delta of a sketch of one row and one gradient at lambda^X = 0", spent, exact, 1e-4, numbers)


AUDIT_EPSILON, AUDIT_DELTA = 4.0, 0.02
AUDIT_SCALES = hessian_mixing_scales(AUDIT_EPSILON, AUDIT_DELTA, k=10, steps=2, failure=1.0, accounting="theorem")


THM_1_PRIV = Claim(
    id="ols/thm-1-priv",
    where="Theorem 1, item 1",
    kind="privacy",
    statement=(
        "With the printed $gamma, sigma, tau$, for $k T >= log(1\\/delta)\\/8$ rows in all, Algorithm 1 is $(epsilon, "
        "delta)$-DP in $(X, Y)$;",
        "for any $k, T$.",
    ),
    hypotheses="Zero-out neighbours, $norm(x_i) <= 1$; $gamma > 5\\/2$ (Proposition 5).",
    setting="$epsilon <= 20$, $10^(-12) <= delta <= 1\\/2$.",
    remark=(
        "With much to spare: at $epsilon = {budget}$, $delta = {chance}$, $k = {size}$, $T = {iterations}$ joint "
        "accounting of all $2 T + 1$ releases finds ${of_delta:2} delta$ at $epsilon$, or ${of_epsilon:2} epsilon$ at "
        "$delta$. With fewer rows, which item 2's $k$ excludes, the accounting does not show it: at $k = T = 1$, "
        "$epsilon = {corner}$, $delta = 10^(-12)$ its bound is ${bound:3} delta$, which need not be attained: with "
        "$lambda^X = 1$, and 0 without the record, sketch and gradient together take ${spent:2} delta$."
    ),
    checks=(
        Search(
            decides="a",
            sides=_joint,
            box={
                "epsilon": Real(0.05, 20.0, "log"),
                "delta": Real(1e-12, 0.5, "log"),
                "k": Whole(1, 2000, "log"),
                "steps": Whole(1, 6),
                "clip": Real(0.5, 3.0, "log"),
            },
            extremal=lambda: [{"epsilon": 1.0, "delta": 1e-6, "k": 50.0, "steps": 3.0, "clip": 1.0}],
            evaluations=240,
            impostors={"0.4 of the noise": {"sides": {"noise": 0.4}}},
        ),
        Agreement(decides="a", facts=_profile, impostors={"1 % off": {"facts": Times(1.01)}}),
        Agreement(decides="a", facts=_corner, impostors={"twice": {"facts": Times(2.0)}}),
        Audit(
            decides="a",
            experiments=audited(AUDIT_SCALES),
            output="ratio",
            threshold=1.0,
            claimed_epsilon=AUDIT_EPSILON,
            delta=AUDIT_DELTA,
            trials={"quick": 50_000, "full": 1_000_000},
            sharpness=0.1,
            impostors={"a fifth of the noise": {"experiments": audited(AUDIT_SCALES, 0.2), "threshold": 6.0}},
        ),
    ),
)
