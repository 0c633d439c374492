"""Releasing beta alone, Lemma F.1 and Remark 3.9: exact output laws with and without noise in the first stage."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import sympy
from scipy.special import log_ndtr, logsumexp

from dpbounds.iv import (
    TwoStageBudget,
    beta_only_attack,
    beta_only_cost,
    noise_scales,
    release_cost,
    unnoised_cost,
    unnoised_noise_scale,
    unnoised_sensitivity,
)
from dpbounds.privacy import Adjacency, sensitivity_factor
from verify.checks import Agreement, Fact, GaussianPrivacy, Neighbours, Search, Symbolic, Times
from verify.checks.audit import gaussian_zcdp
from verify.checks.domains import Real, Whole
from verify.papers.iv.tools.beta_only_releases import (
    EXHIBIT,
    confirming_audit,
    large_sample,
    refuting_audit,
    small_sample,
)
from verify.papers.iv.tools.output_laws import (
    Mechanism,
    beta_only_pairs,
    beta_shifts,
    exact_scale,
    joint_shifts,
    neighbours,
    opposite_records,
    printed_scale,
    turning_records,
)
from verify.papers.iv.tools.reference import gradients
from verify.statements.claims import Claim, Correction, Fault
from verify.statements.derivations import Derivation

ADJACENCIES: tuple[Adjacency, ...] = ("replace-one", "zero-out", "add-remove")
Sides = tuple[np.ndarray, np.ndarray]

# --- no noise in the first stage ---


def _unnoised_costs(rng: np.random.Generator) -> Iterator[Fact]:
    """`unnoised_cost` attained, the gradients formed record by record; `unnoised_sensitivity` per step."""
    for adjacency in ADJACENCIES:
        for n, T in ((1, 1), (1, 2), (2, 3), (7, 4), (40, 30)):
            pair = turning_records(n, 1.0, adjacency)
            mechanism = Mechanism(n=n, steps=T, gamma2=0.8, lambda2=1.7)
            shift = beta_shifts(pair, mechanism, rng)
            label = f"{adjacency}, n = {n}, T = {T}"
            if adjacency == "replace-one":
                printed = 2 * T * 0.8**2 / (n * 1.7) ** 2
                times = n**2 * (1 - 1 / T)
                spent = gaussian_zcdp(shift, 1.7**2 * np.eye(T))
                yield Fact(f"times what Lemma F.1 prints, {label}", spent / printed, times, 1e-9)
            stated = unnoised_cost(TwoStageBudget(gamma2=0.8, lambda2=1.7, adjacency=adjacency), n, T)
            yield Fact(f"cost, {label}", gaussian_zcdp(shift, 1.7**2 * np.eye(T)), stated, 1e-9)
            largest = unnoised_sensitivity(n, 0.8, adjacency=adjacency) if T > 1 else 0.0
            if T > 1:
                needed = float(unnoised_noise_scale(TwoStageBudget(rho2=0.6, gamma2=0.8, adjacency=adjacency), n, T))
                spent = gaussian_zcdp(shift, needed**2 * np.eye(T))
                yield Fact(f"cost with the noise for 0.6, {label}", spent, 0.6, 1e-9)
            yield Fact(f"largest shift, {label}", np.abs(shift).max(), largest, 1e-9)


def _same_instruments(variance: float = 1.0) -> Iterator[Neighbours]:
    """Neighbours that differ in one outcome alone: Theta is common, and the printed cost holds."""
    rng, gamma, rho = np.random.default_rng(5), 0.8, 0.5
    for n, T in ((1, 2), (3, 7), (30, 4)):
        scale = gamma * printed_scale(n, T, rho) * math.sqrt(variance)
        first, _ = turning_records(n, 1.0)
        second = first.without(0, (first.Z[0], first.X[0], -first.Y[0]))
        shift = beta_shifts((first, second), Mechanism(n=n, steps=T, gamma2=gamma, lambda2=scale), rng)
        yield neighbours(f"n = {n}, T = {T}, one outcome", shift, np.full(T, scale**2), rho * (1 - 1 / T))


# --- noise in the first stage: T = 2, p = q = 1 ---

NODES = np.linspace(-1.0, 1.0, 241)
ORDERS = 1.0 + np.geomspace(1e-3, 1e2, 12)


def _log_mixtures(
    reach: np.ndarray, distance: np.ndarray, gap: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """beta_2 - beta_1 over alpha lambda_2 on two data sets between which one record turns Theta: w N(a, 1) + (1 - w)
    N(-a, 1), w = P(Theta_1 > 0) = Phi(reach), a = `distance`, and (1 - w) N(a - gap, 1) + w N(gap - a, 1); log
    densities on nodes, and their spacing. Beyond a = 12 the parts of the first no longer overlap: a does not matter.
    """
    a = np.minimum(distance, 12.0)[:, None]
    b, x = a - gap[:, None], (a + 10.0) * NODES
    log_w, log_rest = log_ndtr(reach)[:, None], log_ndtr(-reach)[:, None]
    log_p = np.logaddexp(log_w - (x - a) ** 2 / 2, log_rest - (x + a) ** 2 / 2)
    log_q = np.logaddexp(log_rest - (x - b) ** 2 / 2, log_w - (x + b) ** 2 / 2)
    return log_p, log_q, (x[:, 1] - x[:, 0]) / math.sqrt(2 * math.pi)


def _divergence(reach: np.ndarray, distance: np.ndarray, gap: np.ndarray) -> np.ndarray:
    """KL between the two laws of (beta_1, beta_2)."""
    log_p, log_q, step = _log_mixtures(reach, distance, gap)
    return step * np.sum(np.exp(log_p) * (log_p - log_q), axis=1)


def _largest_cost(reach: np.ndarray, distance: np.ndarray, gap: np.ndarray) -> np.ndarray:
    """max of D_alpha / alpha over orders and both directions."""
    log_p, log_q, step = _log_mixtures(reach, distance, gap)
    worst = _divergence(reach, distance, gap)
    for order in ORDERS:
        for one, other in ((log_p, log_q), (log_q, log_p)):
            total = np.log(step) + logsumexp(order * one + (1 - order) * other, axis=1)
            worst = np.maximum(worst, total / (order - 1) / order)
    return worst


def _noisy_first_stage(n: float, rho1: float, rho2: float) -> tuple[float, float]:
    """`beta_only_attack` against rho_2, both scales as in (4), T = 2."""
    lambda1, lambda2 = (
        float(scale) for scale in noise_scales(TwoStageBudget(rho1=rho1, rho2=rho2, gamma1=1.0, gamma2=1.0), int(n), 2)
    )
    return float(
        beta_only_attack(TwoStageBudget(gamma1=1.0, gamma2=1.0, lambda1=lambda1, lambda2=lambda2), int(n))
    ), rho2


def _attacks(rng: np.random.Generator) -> Iterator[Fact]:
    """`beta_only_attack` against the sum over nodes; reach c gamma_1 / (2 n lambda_1), a = gamma_2 / lambda_2."""
    for adjacency in ADJACENCIES:
        factor = sensitivity_factor(adjacency)
        for n, gamma1, lambda1, gamma2, lambda2 in (
            (2, 1.0, 0.4, 1.0, 0.7),
            (3, 2.0, 0.5, 0.5, 0.2),
            (9, 1.0, 3.0, 4.0, 1.0),
        ):
            reach, distance = factor * gamma1 / (2 * n * lambda1), gamma2 / lambda2
            gap = 0.0 if factor == 2 else distance / n
            found = _divergence(np.array([reach]), np.array([distance]), np.array([gap]))[0]
            budget = TwoStageBudget(gamma1=gamma1, gamma2=gamma2, lambda1=lambda1, lambda2=lambda2, adjacency=adjacency)
            yield Fact(f"{adjacency}, n = {n}, reach {reach:.3g}", beta_only_attack(budget, n), found, 1e-7)


def _post_processed(n, reach, distance, whole: float) -> Sides:
    """D_alpha / alpha on the pair against `beta_only_cost`, T = 2; `whole` 1 for replace-one, 0 for zero-out."""
    adjacency: Adjacency = "replace-one" if whole else "zero-out"
    gap = np.zeros_like(distance) if whole else distance / n
    stated = [
        beta_only_cost(
            TwoStageBudget(gamma1=1.0, gamma2=d, lambda1=(1.0 + whole) / (2 * m * r), lambda2=1.0, adjacency=adjacency),
            int(m),
            2,
        )
        for m, r, d in zip(n, reach, distance, strict=True)
    ]
    return _largest_cost(reach, distance, gap), np.array(stated, dtype=float)


def _released(rng: np.random.Generator) -> Iterator[Fact]:
    """`beta_only_cost` is the exact cost of the joint release without its last Theta, where that is the lesser."""
    for adjacency in ADJACENCIES:
        for n, T in ((1, 1), (2, 1), (4, 2), (5, 6), (40, 30)):
            mechanism = Mechanism(n=n, steps=T, gamma1=0.6, gamma2=0.8, lambda1=2.0, lambda2=1.7)
            shift, variances = joint_shifts(opposite_records(n, adjacency=adjacency), mechanism, rng, start=0.0)
            kept = np.arange(2 * T) != T - 1
            found = gaussian_zcdp(shift[kept], np.diag(variances[kept]))
            stated = beta_only_cost(replace(mechanism, adjacency=adjacency), n, T)
            yield Fact(f"{adjacency}, n = {n}, T = {T}", found, stated, 1e-9)
        quiet = TwoStageBudget(gamma1=1.0, gamma2=0.8, lambda1=1e-3, lambda2=1.7, adjacency=adjacency)
        least, stated = beta_only_cost(quiet, 5, 6), unnoised_cost(quiet, 5, 6)
        yield Fact(f"{adjacency}, hardly any first-stage noise", least, stated, 1e-12)


def _turning_gradients(rng: np.random.Generator) -> Iterator[Fact]:
    """What `_log_mixtures` takes from the data: mean gradients on both data sets, by the printed formulas."""
    for n in (1, 2, 7):
        for sign, data in zip((1.0, -1.0), turning_records(n, 1.0), strict=True):
            first, _ = gradients(data, np.zeros((1, 1)), np.zeros(1), 1.0, 1.0)
            yield Fact(f"Theta-gradient at 0, n = {n}, x = {sign}", first.ravel(), [-sign / n], 1e-12)
            for theta in (-1e-3, 0.4):
                _, second = gradients(data, np.full((1, 1), theta), np.array([0.3]), 1.0, 1.0)
                label = f"beta-gradient at Theta = {theta}, n = {n}, x = {sign}"
                yield Fact(label, second, [-math.copysign(1, theta)], 1e-12)


def _costs(first: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """Costs, scale and quotient of the correction, from releases that cost (shift)^2 / (2 lambda^2) each."""
    n, T, rho, gamma1, gamma2 = sympy.symbols("n T rho gamma_1 gamma_2", positive=True)
    lambda1, lambda2 = sympy.symbols("lambda_1 lambda_2", positive=True)
    releases = T - first
    cost = release_cost(1, releases, gamma2, lambda2)
    yield "without first-stage noise", cost - 2 * (T - 1) * gamma2**2 / lambda2**2
    printed = 2 * T * gamma2**2 / (n**2 * lambda2**2)
    yield "times what is printed", cost / printed - n**2 * (1 - 1 / T)
    yield "with the scale", cost.subs(lambda2, gamma2 * sympy.sqrt(2 * (T - 1) / rho)) - rho
    both = release_cost(n, releases, gamma1, lambda1) + release_cost(n, releases, gamma2, lambda2)
    stated = 2 * (T - 1) / n**2 * (gamma1**2 / lambda1**2 + gamma2**2 / lambda2**2)
    yield "with first-stage noise", both - stated


LEM_F_1 = Claim(
    id="iv/lem-f.1",
    where="Lemma F.1",
    page=32,
    kind="privacy",
    statement=(
        "For $rho_1 in (0, oo]$ and $lambda_1 in [0, oo)$ Algorithm 1 with output $beta^((1)), ..., beta^((T))$ "
        "is $rho$-zCDP with $rho = rho_2 = (2 T gamma_2^2)/(n^2 lambda_2^2)$."
    ),
    setting=(
        "Without first-stage noise: $n - 1$ records $(z, x, y) = (1, 0, K)$ and one $(1, plus.minus 1, K)$, $K -> "
        "oo$, $lambda_2$ from (4), twice the variance of what the lemma prints. With it the same, $T = 2$, $gamma_1 = "
        "1$."
    ),
    checks=(
        GaussianPrivacy(pairs=large_sample),
        GaussianPrivacy(pairs=small_sample, closed=True),
        Search(
            sides=_noisy_first_stage,
            box={"n": Whole(2, 1000, "log"), "rho1": Real(0.01, 50.0, "log"), "rho2": Real(0.01, 10.0, "log")},
            extremal=lambda: [{"n": 100.0, "rho1": 4.0, "rho2": 0.5}],
            evaluations=50,
        ),
        refuting_audit(printed_scale),
    ),
    fault=Fault(
        severity="substantive",
        touches="statement",
        finding=(
            "Between data sets that differ in one outcome $y$ alone $Theta^((t))$ is common and Lemma F.1 holds; but "
            "exchanging one record $(z, x, y)$ can turn the sign of the un-noised $Theta^((t))$ and with it the "
            "clipped gradients of all $n$ records: with $lambda_1 = 0$, $n = {n}$, $T = {steps}$ and the noise of (4) "
            "the release costs ${exact:6}$-zCDP, where the lemma has $rho_2 = {claimed}$."
        ),
        consequence=(
            "Remark 3.9, Algorithm 3 and the budgets of Figures 4(b) and 6(b) fall with it. Proposition 3.1 stands: "
            "with first-stage noise, $beta$ alone costs at most $(1 - 1\\/T) (rho_1 + rho_2) \\/ 2$ under (4)."
        ),
    ),
    correction=Correction(
        statement=(
            (
                "Without first-stage noise the release of $beta^((1)), ..., beta^((T))$ costs exactly $2 (T - 1) "
                r"gamma_2^2 \/ lambda_2^2$ in zCDP, $n^2 (1 - 1\/T)$ times what Lemma F.1 prints, and $lambda_2 = "
                r"gamma_2 sqrt(2 (T - 1) \/ rho_2)$ is needed for budget $rho_2$."
            ),
            (
                r"For $lambda_1 > 0$ it costs at most the lesser of that and $(2 (T - 1))/n^2 (gamma_1^2 \/ lambda_1^2 "
                r"+ gamma_2^2 \/ lambda_2^2)$."
            ),
        ),
        ground=(
            "The averaged clipped gradient of $beta$ moves by at most $2 gamma_2$, which is attained; the release is "
            "also post-processing of Proposition 3.1's without the last $Theta$."
        ),
        checks=(
            Symbolic(decides="ab", residuals=_costs, impostors={"T for T - 1": {"residuals": {"first": 0}}}),
            Agreement(
                role="control", decides="a", facts=_unnoised_costs, impostors={"1 % off": {"facts": Times(1.01)}}
            ),
            GaussianPrivacy(
                role="control",
                decides="a",
                pairs=lambda: beta_only_pairs((1, 2), (2, 2), (3, 7), (30, 4), scale=exact_scale),
                impostors={
                    "5 % less noise variance": {
                        "pairs": lambda: beta_only_pairs((1, 2), (3, 7), scale=exact_scale, variance=0.95)
                    },
                    "noise of Lemma F.1": {"pairs": lambda: beta_only_pairs((2, 2), (3, 7), scale=printed_scale)},
                },
            ),
            GaussianPrivacy(
                role="control",
                decides="a",
                pairs=_same_instruments,
                impostors={"1 % less noise variance": {"pairs": {"variance": 0.99}}},
            ),
            Agreement(role="control", decides="b", facts=_released, impostors={"1 % off": {"facts": Times(1.01)}}),
            Search(
                role="control",
                decides="b",
                sides=partial(_post_processed, whole=1.0),
                box={
                    "n": Whole(1, 1000, "log"),
                    "reach": Real(0.01, 3.0, "log"),
                    "distance": Real(0.01, 100.0, "log"),
                },
                vectorised=True,
                evaluations=1500,
                impostors={"2 % less": {"sides": Times(1, 0.98)}},
            ),
            Search(
                role="control",
                decides="b",
                sides=partial(_post_processed, whole=0.0),
                box={
                    "n": Whole(2, 1000, "log"),
                    "reach": Real(0.01, 3.0, "log"),
                    "distance": Real(0.01, 5.0, "log"),
                },
                vectorised=True,
                evaluations=1000,
                impostors={"half": {"sides": Times(1, 0.5)}},
            ),
            Agreement(role="control", decides="b", facts=_attacks, impostors={"1 % off": {"facts": Times(1.01)}}),
            Agreement(
                role="control", decides="ab", facts=_turning_gradients, impostors={"5 % off": {"facts": Times(1.05)}}
            ),
            confirming_audit(printed_scale).deciding("a").as_control(),
        ),
        derivation=Derivation(
            text=(
                "The average of the clipped gradients of $beta$ is at most $gamma_2$ in norm, so that it moves by at "
                "most $2 gamma_2$, and the first is 0: $T - 1$ releases, each at most $(2 gamma_2)^2\\/(2 lambda_2^2)$ "
                "given the past and the $Theta^((t))$ of both data sets, which do not depend on $beta$. On $n - 1$ "
                "records $(1, 0, K)$ and one $(1, plus.minus 1, K)$ without first-stage noise all gradients of $beta$ "
                "have the sign of $Theta^((t))$, $plus.minus$, and with a probability that tends to 1 as $K -> oo$ the "
                "length $gamma_2$: it is attained. The sums, the scale and the quotient are proved to be as stated. "
                "With $lambda_1 > 0$ the release is computed from the first $T - 1$ releases of $Theta$ and those of "
                "$beta$ but its first, whose averages move by at most $2 gamma_i\\/n$ given the past."
            ),
            lemmas=(
                "triangle inequality",
                "Rényi divergence of normal laws",
                "zCDP of a sum",
                "data processing",
            ),
        ),
    ),
    given={"n": EXHIBIT[0], "steps": EXHIBIT[1]},
)
