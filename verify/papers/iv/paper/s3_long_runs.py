"""Remark 3.6: what happens to Algorithm 1 beyond condition (5)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from typing import Any

import mpmath
import numpy as np
from scipy.optimize import root_scalar

from dpbounds.iv import Design, Moments, TwoStageBudget, clip_norm, error_bound, lyapunov_exponent, regimes
from simulators.engine import Arrays, Experiment
from simulators.iv import Settings, two_stage_descent
from verify.checks import Agreement, Fact, Quantiles, Ratio, Reading, Within
from verify.papers.iv.tools.samples import isotropic_design, isotropic_model
from verify.statements.claims import Claim

# Step sizes of Section 4 for Theta = [I; 0], p = 1; kappa of (10) with delta = psi = 0.
ETA, ALPHA, KAPPA = 1.0, 2 / 3, 2 / 3
RECORDS, STEPS, AMPLE = 200, 100, 1e4
# T in units of the end of (5), constant 1, epsilon = 0.
MULTIPLES = (0.02, 0.1, 0.5, 2.0, 8.0, 32.0, 300.0, 3000.0)
INSIDE, BEYOND, FAR = 0.1, 2.0, 3000.0
# More trials where the law is wide; blocks as large as one step can take.
TRIALS = {1: 300, 4: 180, 16: 60}
BLOCKS = {1: 60, 4: 60, 16: 30}


def _first_budget(design: Design, multiple: float) -> float:
    """rho_1 for which T is this multiple of the end of (5), which is proportional to it."""
    end = regimes(design, TwoStageBudget(rho1=1.0, rho2=AMPLE), kappa=KAPPA).valid_until
    return STEPS / (multiple * end)


@cache
def _reading(q: int, multiple: float) -> Reading:
    """The median of |beta_T - beta_hat| over (7) with constants 1; rho_1 varied, p = 1."""
    design = isotropic_design(RECORDS, 1, q)
    rho1, gamma = _first_budget(design, multiple), float(clip_norm(design, STEPS))
    bound = error_bound(design, TwoStageBudget(rho1=rho1, rho2=AMPLE), steps=STEPS, kappa=KAPPA).total
    settings = Settings(steps=STEPS, eta=ETA, alpha=ALPHA, gamma1=gamma, gamma2=gamma, rho1=rho1, rho2=AMPLE)

    def output(arrays: Arrays) -> np.ndarray:
        return arrays["error_hat"] / bound

    return Reading(
        label=f"q = {q}, {multiple:g}",
        experiment=Experiment(
            algorithm=two_stage_descent,
            problem=isotropic_model(RECORDS, 1, q, endogeneity=0.5),
            settings=settings,
            block_trials=BLOCKS[q],
        ),
        output=output,
        trials={"quick": TRIALS[q], "full": 4 * TRIALS[q]},
        x=multiple,
        group=f"$q = {q}$",
    )


def _over_bound() -> list[Reading]:
    readings = [_reading(16, multiple) for multiple in MULTIPLES]
    return readings + [_reading(q, multiple) for q in (1, 4) for multiple in (INSIDE, BEYOND)]


def _growth(above: tuple[int, float], below: tuple[int, float], **ends: float) -> Ratio:
    """One error over (7) against another, each (q, multiple of the end of (5))."""
    labels = [f"q = {q}, {multiple:g}" for q, multiple in (above, below)]
    return Ratio(label=f"{labels[0]} against {labels[1]}", above=labels[0], below=labels[1], **ends)


def _at_most(q: int, multiple: float, most: float) -> Ratio:
    return Ratio(label=f"error over (7), q = {q}, {multiple:g}", above=f"q = {q}, {multiple:g}", at_most=most)


HOLDS_BEYOND = (_growth((16, BEYOND), (1, BEYOND), at_most=1.2),)


# --- without clipping ---


def _logarithm(noise: float) -> float:
    """E log|1 - alpha Theta²|, Theta ~ N(1, noise²), by quadrature between its singularities."""
    poles = sorted((sign * ALPHA**-0.5 - 1) / noise for sign in (-1, 1))
    ends = [-12.0, *(pole for pole in poles if abs(pole) < 12), 12.0]
    found: Any = mpmath.quad(lambda x: mpmath.log(abs(1 - ALPHA * (1 + noise * x) ** 2)) * mpmath.npdf(x), ends)
    return float(found)


def _divergence(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact | Within]:
    """Growth rate of the unclipped recursion for p = q = 1, A = theta_hat = eta = 1: it diverges beyond lambda_c."""
    moments = Moments(A=np.eye(1), G=np.eye(1), b=np.ones(1), n=RECORDS)

    def exponent(noise: float) -> float:
        return float(lyapunov_exponent(moments, ETA, ALPHA, noise))

    critical = float(root_scalar(exponent, bracket=(0.5, 10.0)).root)
    for share in (0.5, 0.9, 1.1, 2.0):
        found = _logarithm(share * critical)
        yield Fact(
            f"exponent at {share} lambda_c = {share * critical:.3f}", found, factor * exponent(share * critical), 1e-6
        )
        least, most = (0.0, math.inf) if share > 1 else (-math.inf, 0.0)
        yield Within(f"{'diverges' if share > 1 else 'converges'}: growth rate at {share} lambda_c", found, least, most)


REM_3_6 = Claim(
    id="iv/rem-3.6",
    where="Remark 3.6",
    page=8,
    kind="mc-rate",
    statement=(
        "Condition (5) is necessary: for limited $n$ and small $rho_1$ only a moderate $T$ is possible, otherwise (7) "
        "does not hold."
    ),
    remark=(
        "At twice the end of (5) the error exceeds (7) by a factor that grows with $q$ (and with $tau$), so that no "
        "constant mends it; at a tenth of the end (7) has room. Without clipping the recursion diverges once "
        "$lambda_1$ exceeds a $lambda_c$. Clipping keeps the error near half of a clipped step, $alpha gamma_2 \\/ 2$, "
        "where $q$ is large, so that (7), which goes on to grow as $sqrt(T)$, holds again far beyond (5)."
    ),
    setting=(
        "$p = 1$, $n = 200$, $T = 100$, $Theta = [I; 0]$, $norm(beta) = 1$, $tau = 5$, $rho_2 = 10^4$, constants of "
        "(4), (5), (7) equal to 1, $epsilon = 0$; $rho_1$ varies. Other constants move the end of (5), not the growth."
    ),
    checks=(
        Quantiles(
            readings=_over_bound,
            ratios=(
                _growth((4, BEYOND), (1, BEYOND), at_least=1.1),
                _growth((16, BEYOND), (1, BEYOND), at_least=1.8),
                _growth((16, BEYOND), (16, INSIDE), at_least=10.0),
                *(_at_most(q, INSIDE, 0.6) for q in (1, 4, 16)),
                _at_most(16, FAR, 1.0),
            ),
            axes=("$T$ in units of the end of (5)", "median error over (7)"),
            impostors={"(7) holds beyond": {"ratios": HOLDS_BEYOND}},
        ),
        Agreement(facts=_divergence, impostors={"half": {"facts": {"factor": 0.5}}}),
    ),
)
