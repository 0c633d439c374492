"""Appendix C, footnote 4: the logarithm of T that is left out of (7)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from scipy.special import ndtri

from dpbounds.iv import (
    Design,
    TwoStageBudget,
    clip_norm,
    error_bound,
    isotropic_variances,
    noise_scales,
)
from verify.checks import Rate, Unbounded
from verify.statements.claims import Claim, Correction, Fault


def _horizon_of(decades: float, power: float) -> tuple[Design, int]:
    """n = 10^(3 + decades), T = n^power, p = q = 1, tau = 1."""
    n = 10.0 ** (3 + decades)
    return Design(n=round(n), p=1, q=1, theta_norm=1.0, theta_least=1.0, tau=1.0), round(n**power)


def _last_noise(m, s):
    """Median of alpha |nu|, a lower bound on that of |e_beta^(T)|, over an upper bound of (7) with constants 1; rho =
    1, c_0 = 1, n = 10^(3 s), T = n^(5/4).

    Given the past beta^(T) is normal with variance alpha^2 lambda_2^2, whatever is clipped; centred intervals around
    any point hold less than around its mean (Anderson). alpha = 1/2, kappa = 1/2. In units of sqrt(T) / n = n^(-3/8)
    lambda_2 = 2 gamma, Q^3 = 8, the third term is n^(-1/8) and the first, 2^(-T/2), is at most 1.
    """
    log_n = 3 * s * m.log(m.number(10))
    root = 1 + m.sqrt(1 + 9 * log_n / 4)
    return m.ndtri(m.number("3/4")) * root * root / (9 + m.exp(-log_n / 8))


def _last_noise_reduced(m, x):
    """At most the quotient times x: gamma is at least 9/4 log n, the third term at most 1."""
    return m.ndtri(m.number("3/4")) * 27 * m.log(m.number(10)) / 40


def _stationary_error(decades: float, *, logarithm: bool = True) -> Iterator[tuple[str, float]]:
    """63 % quantile of the stationary |e_beta| without first-stage noise, exactly normal, over (7).

    A = theta_hat = beta_hat = 1, eta = 1, alpha = 1/2.
    """
    for power in (0.5, 1.0, 1.25, 1.5, 1.75):
        design, T = _horizon_of(decades, power)
        gamma = clip_norm(design, T)
        lambda2 = float(
            noise_scales(TwoStageBudget(rho1=math.inf, rho2=1.0, gamma1=gamma, gamma2=gamma), design.n, T).lambda2
        )
        deviation = math.sqrt(isotropic_variances(np.ones(1), 1.0, 0.5, 1.0, 0.0, lambda2)[0])
        bound = error_bound(design, TwoStageBudget(rho1=math.inf, rho2=1.0), steps=T, kappa=0.5, logarithm=logarithm)
        yield f"s = {power:g}", deviation * float(ndtri(1 - math.exp(-1) / 2)) / bound.total


def _logarithm(decades: float, factor: float = 1.0) -> Iterator[tuple[str, float]]:
    """log T over n^a at T = n^2, n = 10^decades."""
    for exponent in (0.5, 0.1, 0.02):
        yield f"a = {exponent}", 2 * (1 + decades) * math.log(10) / 10 ** (factor * exponent * decades)


LONG = (16.0, 32.0, 64.0, 128.0)
SEQUENCES = (2.0, 4.0, 8.0, 16.0)

FN_4 = Claim(
    id="iv/fn-4",
    where="App. C, footnote 4",
    page=19,
    kind="inequality",
    statement=(
        "The union bound needs $tau + log T$ for $tau$;",
        "$log T$ grows slower than any power of $n$ and can be left out of (7).",
    ),
    hypotheses="Constants of (7) fixed, $T$ as (5) allows.",
    setting="$p = q = 1$, $tau = 1$, $rho_1 = rho_2 = 1$, $alpha = 1\\/2$, constants 1, $T = n^s$ with $1 < s < 2$.",
    checks=(
        Rate(decides="a", ratios=_logarithm, relation="upper", extents=LONG),
        Unbounded(
            decides="b",
            quotient=_last_noise,
            reduced=_last_noise_reduced,
            shown={"first": 1, "last": Fraction(19, 3)},
        ),
    ),
    fault=Fault(
        severity="slip",
        touches="proof",
        finding=(
            "Footnote 4 leaves $log T$ out of (7), which has fixed constants, while $lambda_2$ carries it through (4): "
            "the last noise alone makes the median error exceed (7) by a factor that grows with $log(n T)$, along $T = "
            "n^(5\\/4)$, $p = q = tau = rho_1 = rho_2 = 1$, from ${first:3}$ at $n = 10^3$ to ${last:3}$ at $n = "
            "10^19$."
        ),
        consequence=("(7) and Lemma D.1 hold with $tau + log(n T)$ for $tau$; no power of $n$ or $T$ in them changes."),
        exhibit=1,
    ),
    correction=Correction(
        statement=(
            "The union bound needs $tau + log T$ for $tau$.",
            (
                "$log T$ is smaller than any power of $n$ in the end, but (7) has to keep it: with $(sqrt(q) + "
                "sqrt(tau + log(n T)))^3$ for $Q^3$ it bounds what the second stage's noise does, with a constant."
            ),
        ),
        ground="$lambda_2$ is proportional to the clip norm of (4), and the error to $lambda_2$.",
        checks=(
            Rate(
                decides="a",
                ratios=_logarithm,
                relation="upper",
                extents=LONG,
                impostors={"a = 0": {"ratios": {"factor": 0.0}}},
            ),
            Rate(
                decides="b",
                ratios=_stationary_error,
                relation="upper",
                extents=SEQUENCES,
                axes=("decades of $n$ above $10^3$", "quantile of the error over (7) with the logarithm"),
                impostors={"(7) as printed": {"ratios": {"logarithm": False}}},
            ),
        ),
    ),
)
