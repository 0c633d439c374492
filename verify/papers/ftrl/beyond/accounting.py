"""Beyond the paper: the privacy of Gaussian noise exactly, in every currency and under every adjacency."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import mpmath
import numpy as np

from dpbounds.ftrl import correlations
from dpbounds.privacy import (
    budget,
    compose_gdp,
    compose_rdp,
    compose_zcdp,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_log_delta,
    gaussian_mu,
    gaussian_of_zcdp,
    noise_multiplier,
    sensitivity_factor,
    zcdp_delta,
    zcdp_epsilon,
    zcdp_of_gaussian,
    zcdp_rho,
)
from verify.checks import Agreement, Fact, GaussianPrivacy, Neighbours, Times
from verify.checks.audit import gaussian_zcdp
from verify.statements.claims import Claim

# --- the Gaussian mechanism ---

# From private to not at all, and far into the tails.
PAIRS = ((0.01, 0.0), (0.1, 0.5), (1.0, 1.0), (1.0, 30.0), (3.0, 0.1), (8.0, 20.0), (30.0, 2.0))


def _log_delta(mu: float, epsilon: float) -> Any:
    """log(Phi(mu / 2 - epsilon / mu) - e^epsilon Phi(-mu / 2 - epsilon / mu)) in enough digits for the cancellation."""
    with mpmath.workdps(400):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        return +mpmath.log(mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m))


def _exact_delta(rng: np.random.Generator) -> Iterator[Fact]:
    """The shipped delta(epsilon) by digits, and once by the integral of (p - e^epsilon q)_+; its inverses."""
    x = np.linspace(-12, 14, 2_600_001)
    p, q = (np.exp(-((x - mean) ** 2) / 2) / np.sqrt(2 * np.pi) for mean in (1.5, 0.0))
    integral = np.sum(np.maximum(p - np.exp(0.7) * q, 0)) * (x[1] - x[0])
    yield Fact("delta at mu = 1.5, epsilon = 0.7", gaussian_delta(1.5, 0.7), integral, 1e-9)
    logs = [float(_log_delta(mu, epsilon)) for mu, epsilon in PAIRS]
    shipped = gaussian_log_delta(*np.array(PAIRS).T)
    yield Fact("log delta", np.exp(shipped - logs), np.ones(len(PAIRS)), 1e-11)
    for (mu, epsilon), log_delta in zip(PAIRS, logs, strict=True):
        delta = float(np.exp(log_delta))
        yield Fact(f"delta at mu = {mu}, epsilon = {epsilon}", gaussian_delta(mu, epsilon), delta, 1e-11)
        if delta < 0.9:
            found = gaussian_epsilon(mu, delta)
            yield Fact(f"epsilon at mu = {mu}, delta = {delta:.2g}", found + 1, epsilon + 1, 1e-9)
            yield Fact(f"mu at epsilon = {epsilon}, delta = {delta:.2g}", gaussian_mu(epsilon, delta), mu, 1e-9)
            converted = zcdp_epsilon(mu**2 / 2, delta, "gaussian")
            yield Fact(f"epsilon of its zCDP, mu = {mu}", converted + 1, epsilon + 1, 1e-9)
    yield Fact("delta of zCDP 1/2", zcdp_delta(0.5, 1.0, "gaussian"), gaussian_delta(1.0, 1.0), 1e-14)
    yield Fact("zCDP of epsilon, delta", zcdp_rho(1.0, float(gaussian_delta(1.0, 1.0)), "gaussian"), 0.5, 1e-10)


BEYOND_GAUSSIAN = Claim(
    id="ftrl/beyond-gaussian-mechanism",
    where="beyond the paper",
    kind="privacy",
    statement=(
        "The Gaussian mechanism with $mu = sqrt(2 rho)$, which DP-FTRL post-processes, is $(epsilon, delta)$-DP "
        "exactly for $delta >= Phi(mu\\/2 - epsilon\\/mu) - e^epsilon Phi(-mu\\/2 - epsilon\\/mu)$: the $epsilon$ of a "
        "run, in place of the bounds of footnote 2 and Appendix A.2."
    ),
    setting="$mu$ from 0.01 to 30, $delta$ down to $10^(-200)$.",
    checks=(Agreement(facts=_exact_delta, impostors={"1e-6 off": {"facts": Times(1 + 1e-6)}}),),
)

# --- one after the other ---


def _composed(rng: np.random.Generator) -> Iterator[Fact]:
    """Gaussian mechanisms with mu = 0.3, 1 and 0.5 together are one with the exact zCDP of the joint law."""
    mus = np.array([0.3, 1.0, 0.5])
    rho = gaussian_zcdp(mus, np.eye(3))
    yield Fact("zCDP", compose_zcdp([zcdp_of_gaussian(mu) for mu in mus]), rho, 1e-12)
    yield Fact("Gaussian DP", compose_gdp(mus), np.sqrt(2 * rho), 1e-12)
    yield Fact("Gaussian DP from zCDP", gaussian_of_zcdp(rho), np.linalg.norm(mus), 1e-12)
    orders = np.array([1.5, 2.0, 10.0])
    yield Fact("Rényi divergences", compose_rdp([orders * mu**2 / 2 for mu in mus]), orders * rho, 1e-12)


BEYOND_COMPOSITION = Claim(
    id="ftrl/beyond-composition",
    where="beyond the paper",
    kind="privacy",
    statement=(
        "Mechanisms run one after the other add up: $rho$, $mu^2$ and the Rényi divergences of each order; exactly so "
        "for Gaussian ones."
    ),
    setting="Three Gaussian mechanisms against their joint law.",
    checks=(Agreement(facts=_composed, impostors={"1 % off": {"facts": Times(1.01)}}),),
)

# --- calibration ---

Adjacency = Literal["zero-out", "add-remove", "replace-one"]
# What one unit does to its row, in clip norms: from 1 to 0, a row that comes or goes, from 1 to -1.
MOVES: dict[Adjacency, float] = {"zero-out": 1.0, "add-remove": 1.0, "replace-one": 2.0}


def _calibrated(*, share: float = 1.0) -> Iterator[Neighbours]:
    """C G + W with the noise for rho = 0.4, each column of C moved."""
    for T in (1, 2, 7):
        for made in (correlations.optimal_counting(), correlations.tree_aggregation(T), correlations.anti_pgd()):
            encoder = made.encoder(T)
            for adjacency, move in MOVES.items():
                noise = noise_multiplier(adjacency=adjacency, rho=0.4, sensitivity=made.sensitivity(T))
                for position in range(T):
                    yield Neighbours(
                        label=f"{made.name}, {adjacency}, T = {T}, position {position}",
                        shift=move * encoder[:, position],
                        covariance=share * noise**2 * np.eye(len(encoder)),
                        claimed_rho=0.4,
                    )


def _budgets(rng: np.random.Generator) -> Iterator[Fact]:
    """All of the budget is spent, and what the noise costs is what it was made for."""
    for adjacency, move in MOVES.items():
        yield Fact(f"rows moved by, {adjacency}", sensitivity_factor(adjacency), move, 0)
        plain = noise_multiplier(adjacency=adjacency, rho=0.4)
        yield Fact(f"noise of one row, {adjacency}", plain, move / np.sqrt(0.8), 1e-13)
        yield Fact(f"rho back of one row, {adjacency}", budget(plain, adjacency=adjacency), 0.4, 1e-12)
        for gamma in (1.0, 2.5):
            noise = noise_multiplier(adjacency=adjacency, rho=0.4, sensitivity=gamma)
            yield Fact(f"noise, {adjacency}", noise, move * gamma / np.sqrt(0.8), 1e-13)
            yield Fact(f"rho back, {adjacency}", budget(noise, adjacency=adjacency, sensitivity=gamma), 0.4, 1e-12)
            noise = noise_multiplier(adjacency=adjacency, epsilon=2.0, delta=1e-5, sensitivity=gamma)
            with mpmath.workdps(30):
                spent = float(mpmath.exp(_log_delta(move * gamma / noise, 2.0)))
            yield Fact(f"delta of the noise for epsilon = 2, {adjacency}", spent, 1e-5, 1e-9)
            options = {"adjacency": adjacency, "sensitivity": gamma}
            yield Fact(f"delta back, {adjacency}", budget(noise, epsilon=2.0, **options), 1e-5, 1e-9)
            yield Fact(f"epsilon back, {adjacency}", budget(noise, delta=1e-5, **options), 2.0, 1e-9)


BEYOND_CALIBRATION = Claim(
    id="ftrl/beyond-calibration",
    where="beyond the paper",
    kind="privacy",
    statement=(
        "The least noise multiplier for a budget is $gamma_T \\/ sqrt(2 rho)$ under zero-out and add-remove "
        "adjacency, twice that under replace-one; for $(epsilon, delta)$ in place of $rho$ the exact $mu$ stands for "
        "$sqrt(2 rho)$."
    ),
    setting="Exact laws of $C G + W$ for three encoders, $T <= 7$, every position.",
    checks=(
        GaussianPrivacy(pairs=_calibrated, impostors={"1 % less noise": {"pairs": {"share": 0.98}}}),
        Agreement(facts=_budgets, impostors={"1e-6 off": {"facts": Times(1 + 1e-6)}}),
    ),
)
