"""Appendix C, (16) and (17): how the error of the second stage adds up before and after T_0."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import sympy
from scipy.special import chdtrc

from dpbounds.iv import Design, lemmas, spectrum
from verify.checks import Agreement, Fact, Rate, Search, Symbolic, Times
from verify.checks.domains import Real, Whole
from verify.papers.iv.tools import tails
from verify.papers.iv.tools.samples import isotropic_design
from verify.statements.claims import Claim
from verify.statements.derivations import Derivation

Sides = tuple[np.ndarray, np.ndarray]

# --- (16) ---


def _collected(offset: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """Constants of (16): sums of kappa^k, kappa = 1 / (1 + w); ||theta_hat|| + eps <= (1 + ||theta_hat||) (1 + eps)."""
    w, t, eps = sympy.symbols("w t epsilon", positive=True)
    kappa = 1 / (1 + w)
    for terms in (1, 2, 5):
        yield f"sum of {terms} powers", 1 / (1 - kappa) - sum(kappa**k for k in range(terms))
    yield "t + eps", (offset + t) * (1 + eps) - (t + eps)


def _noise_covariance(kappa, eigenvalues, angles, accumulated: bool = True) -> Sides:
    """Largest eigenvalue of sum_k P_k P_k', P_k a product of k symmetric matrices of norm kappa, against 1/(1-kappa^2).

    Given the first stage, sum_k P_k nu^(k) is Gaussian with this covariance times lambda_2^2.
    """
    product = np.broadcast_to(np.eye(2), (len(kappa), 2, 2))
    total = product.copy()
    for k in range(angles.shape[1]):
        c, s = np.cos(angles[:, k]), np.sin(angles[:, k])
        axes = np.stack([np.stack([c, -s], axis=1), np.stack([s, c], axis=1)], axis=1)
        values = kappa[:, None] * eigenvalues[:, 2 * k : 2 * k + 2]
        product = product @ ((axes * values[:, None, :]) @ np.swapaxes(axes, 1, 2))
        total = total + product @ np.swapaxes(product, 1, 2)
    return np.linalg.eigvalsh(total)[:, -1], 1 / (1 - kappa**2) if accumulated else np.ones(len(kappa))


def _same_factor() -> Iterator[Mapping[str, Any]]:
    """The same multiple of the unit matrix at every step."""
    for kappa in (0.1, 0.5, 0.9):
        yield {"kappa": kappa, "eigenvalues": [1.0] * 12, "angles": [0.0] * 6}


def _constant_paths(kappa, alpha, delta, hat, size, epsilon, statistical, noise, start, keep: float = 1.0) -> Sides:
    """(15) where ||Theta_k|| = ||theta_hat|| + eps and ||e_Theta|| = eps in 30 steps, against C times (16).

    C is the largest of the constants that (16) leaves out; ||Z'r|| / n = `statistical`.
    """
    steps = 30
    common = {"kappa_beta": kappa, "alpha": alpha, "delta": delta, "beta_hat_norm": size, "residual": statistical}
    paths = {"theta_norms": [hat + epsilon] * steps, "first_stage_errors": [epsilon] * steps}
    bound = lemmas.second_stage_bound(**common, **paths, noise=noise, start=start)
    factor = alpha / (1 - kappa) * np.maximum(1.0, (1 + hat) * np.maximum(1.0, (1 + delta) ** 2 * size))
    rate = lemmas.second_stage_rate(kappa**steps * start, epsilon, statistical, keep * noise)
    return bound, np.maximum(factor, 1.0) * rate


def _noise_only() -> Iterator[Mapping[str, Any]]:
    """Where (16) is (15): one term at a time."""
    none = dict.fromkeys(("delta", "hat", "size", "epsilon", "statistical", "noise", "start"), 0.0)
    yield {**none, "kappa": 0.5, "alpha": 1.0, "noise": 1.0}
    yield {**none, "kappa": 0.9, "alpha": 0.01, "start": 1.0}


SCALES = {
    "kappa": Real(0.01, 0.99),
    "alpha": Real(1e-3, 2.0, "log"),
    "delta": Real(0.0, 0.9),
    **dict.fromkeys(("hat", "size", "epsilon", "statistical", "noise", "start"), Real(0.0, 5.0)),
}


def _second_noise(p: int, tau: float, doubled: float = 2.0) -> tuple[float, float]:
    """P(||nu|| > sqrt(2) lambda_2 (sqrt(p) + sqrt(tau))) and e^{-tau}, lambda_2 = 3."""
    reach = math.sqrt(doubled) * lemmas.second_noise_rate(isotropic_design(100, int(p), int(p), tau), 3.0) / 3.0
    return float(chdtrc(p, reach**2)), math.exp(-tau)


EQ_16 = Claim(
    id="iv/eq-16",
    where="App. C, (16)",
    page=18,
    equation="(16)",
    kind="inequality",
    statement=(
        "$norm(e_beta^((T))) lt.tilde kappa_beta^(T - T_0) norm(e_beta^((T_0))) + epsilon (1 + epsilon) + "
        "(sqrt(p q) Lambda)/sqrt(n) (1 + epsilon) + lambda_2 (sqrt(p) + sqrt(tau))$."
    ),
    hypotheses="$E_(T_0, T)$, (14), $norm(hat(beta))$ and $norm(hat(Theta))$ bounded, Lemma D.8.",
    remark=(
        "Constants may depend on the fixed step sizes through $1 - kappa_beta$. Given the first stage the noise terms "
        "of (15) add up to a Gaussian vector of covariance at most $lambda_2^2 \\/ (1 - kappa_beta^2)$: no maximum "
        "over $T$ steps, and no $log T$, is needed."
    ),
    checks=(
        Symbolic(nonnegative=_collected, impostors={"without the 1": {"nonnegative": {"offset": 0}}}),
        Search(
            sides=_constant_paths,
            role="control",
            box=SCALES,
            extremal=_noise_only,
            vectorised=True,
            impostors={
                "2 % less": {"sides": Times(1, 0.98)},
                "without the noise": {"sides": {"keep": 0.0}},
            },
        ),
        Search(
            sides=_noise_covariance,
            role="control",
            box={
                "kappa": Real(0.01, 0.99),
                "eigenvalues": (Real(-1.0, 1.0), 12),
                "angles": (Real(0.0, np.pi), 6),
            },
            extremal=_same_factor,
            vectorised=True,
            impostors={"one step of noise": {"sides": {"accumulated": False}}},
        ),
        Symbolic(nonnegative=tails.chernoff, impostors={"half of s": {"nonnegative": {"halves": 1}}}),
        Search(
            sides=_second_noise,
            role="control",
            box={"p": Whole(1, 10**6, "log"), "tau": Real(1e-3, 300.0, "log")},
            evaluations=2000,
            impostors={"constant 1": {"sides": {"doubled": 1.0}}},
        ),
    ),
    derivation=Derivation(
        text=(
            "In (15) $norm(e_Theta^((k))) <= epsilon$ and $norm(Theta^((k))) <= norm(hat(Theta)) + epsilon$, proved to "
            "be at most $(1 + norm(hat(Theta))) (1 + epsilon)$, and sums of powers of $kappa_beta$ are at most $1\\/(1 "
            "- kappa_beta)$: this and Lemma D.8 give the first three terms, with a constant. The noise adds $alpha "
            "sum_k P_k nu^((k))$, $norm(P_k) <= kappa_beta^(T - 1 - k)$: given the first stage it is normal with a "
            "covariance of at most $alpha^2 lambda_2^2 \\/ (1 - kappa_beta^2) I$, and a standard normal vector in "
            "$RR^p$ is longer than $sqrt(p) + sqrt(2 tau)$ with probability at most $e^(-tau)$ by Chernoff, whose "
            "exponent less $tau$ is proved to be 0 at $tau = 0$ and to grow."
        ),
        lemmas=("triangle inequality", "submultiplicativity", "geometric series", "Markov", "monotony"),
    ),
)

# --- (17) ---

BURN_IN, LENGTH = 2, 8


def _through_burn_in(theta, errors, beta, residual, noise, reach, length, expanding: bool = True) -> Sides:
    """(12) from e_beta = -beta_hat, p = 2, q = 3, A = I, against the constant that the proof gives times (17).

    ||e_Theta|| is at most `reach` ||theta_hat|| for two steps, then eps-bar at most; T_0 = `length`.
    """
    hat = theta.reshape(-1, 3, 2) + 2.5 * np.eye(3, 2)
    values = np.linalg.svd(hat, compute_uv=False)
    norm, upper, lower = values[:, 0], values[:, 0] ** 2, values[:, -1] ** 2
    tolerance = lemmas.tolerance(norm, lower / 2)
    alpha, paths = 3 / (2 * upper + lower), errors.reshape(-1, LENGTH, 3, 2)
    kappa = np.maximum(1 - alpha * lower / 2, alpha * (upper + lower / 2) - 1)
    noises = noise.reshape(-1, LENGTH, 2)
    e, largest, longest = -beta, np.zeros(len(norm)), np.zeros(len(norm))
    for k in range(LENGTH):
        most = np.maximum(reach * norm, tolerance) if k < BURN_IN else tolerance
        size = np.linalg.norm(paths[:, k], ord=2, axis=(1, 2)).clip(1e-300)
        error = paths[:, k] * (most / np.maximum(size, 1.0))[:, None, None]
        now, running = hat + error, k < length
        driven = error @ beta[..., None] + residual[..., None] + now @ e[..., None]
        following = e - alpha[:, None] * ((np.swapaxes(now, 1, 2) @ driven)[..., 0] - noises[:, k])
        e = np.where(running[:, None], following, e)
        largest = np.where(running, np.maximum(largest, np.linalg.norm(error, ord=2, axis=(1, 2))), largest)
        longest = np.where(running, np.maximum(longest, np.linalg.norm(noises[:, k], axis=1)), longest)
    bounds = spectrum(Design(n=100, p=1, q=1, theta_norm=1.0, theta_least=1.0))._replace(delta=0.0)
    products = np.array(
        [
            lemmas.product_of_contractions_bound(
                bounds, alpha=a, theta_hat_norm=t, first_stage_error=r, burn_in=BURN_IN if expanding else 0
            )
            for a, t, r in zip(alpha, norm, largest, strict=True)
        ]
    )
    size, statistical = np.linalg.norm(beta, axis=1), np.linalg.norm(residual, axis=1)
    driving = alpha * (norm + largest) * np.maximum(size, 1.0)
    constant = products * np.maximum(np.maximum(size, driving), alpha * (BURN_IN + 1 / (1 - kappa)))
    stated = lemmas.burn_in_rate(length, largest, tolerance, statistical, longest)
    return np.linalg.norm(e, axis=1), constant * stated


def _products(rng: np.random.Generator) -> Iterator[Fact]:
    """c_L^{t_0} by hand: delta = 0.2, alpha = 0.3, ||theta_hat|| = 2, max ||e_Theta|| = 1, t_0 = 3."""
    bounds = spectrum(Design(n=100, p=1, q=1, theta_norm=1.0, theta_least=1.0))._replace(delta=0.2)
    lengths = {"theta_hat_norm": 2.0, "first_stage_error": 1.0}
    found = lemmas.product_of_contractions_bound(bounds, alpha=0.3, burn_in=3, **lengths)
    yield Fact("three steps", float(found), (1 + 0.3 * 1.44 * 9.0) ** 3)


def _overshooting() -> Iterator[Mapping[str, Any]]:
    """Two steps with Theta three times too long: I - alpha H has norm 8, twice."""
    still = {"theta": [0.0] * 6, "residual": [0.0] * 3, "noise": [0.0] * 2 * LENGTH}
    yield {**still, "errors": [1.0, 0, 0, 1.0, 0, 0] * LENGTH, "beta": [1.0, 0.0], "reach": 2.0, "length": 2}


BURNED = {
    "theta": (Real(-1.0, 1.0), 6),
    "errors": (Real(-1.0, 1.0), 6 * LENGTH),
    "beta": (Real(-2.0, 2.0), 2),
    "residual": (Real(-2.0, 2.0), 3),
    "noise": (Real(-2.0, 2.0), 2 * LENGTH),
    "reach": Real(0.0, 2.0),
    "length": Whole(1, LENGTH),
}


def _before_contraction(decades: float, noise_share: float = 0.0) -> Iterator[tuple[str, float]]:
    """A = theta_hat = beta_hat = 1, no first-stage noise, T_0 = 10^decades: error and deviation over their terms.

    max ||e_Theta|| = ||theta_hat|| = 1 at t = 0; without r the terms of (17) are 1 + T_0 and lambda_2.
    """
    T0 = round(10.0**decades)
    for eta, alpha in ((1.0, 0.66), (0.1, 0.66), (1.8, 0.3), (0.1, 0.01)):
        theta = error = variance = 0.0
        error = 1.0
        for _ in range(T0):
            L = 1 - alpha * theta**2
            error = L * error + alpha * theta * (theta - 1)
            variance = L**2 * variance + alpha**2
            theta += eta * (1 - theta)
        name = f"eta = {eta}, alpha = {alpha}"
        yield f"noise, {name}", math.sqrt(variance) * T0**noise_share
        yield f"error, {name}", abs(error) / lemmas.burn_in_rate(T0, 1.0, 0.0, 0.0, 0.0)


EQ_17 = Claim(
    id="iv/eq-17",
    where="App. C, (17)",
    page=18,
    equation="(17)",
    kind="inequality",
    statement=(
        "$norm(e_beta^((T_0))) lt.tilde 1 + (1 + epsilon) T_0 max_(k < T_0) norm(e_Theta^((k))) + (sqrt(p q) "
        "Lambda)/sqrt(n) (1 + epsilon) T_0 + lambda_2 (sqrt(p) + sqrt(tau))$."
    ),
    hypotheses="Lemma D.9: (25) before and (13) after some $t_0 (n) <= C_2$ steps.",
    remark=(
        "With a constant that depends on the fixed step sizes and on $t_0 (n)$, at most $c_L^(t_0)$ (Lemma D.9) times "
        "the largest of $norm(hat(beta))$, $alpha (norm(hat(Theta)) + max norm(e_Theta)) max{{norm(hat(beta)), 1}}$ "
        r"and $alpha (t_0 + 1\/(1 - kappa_beta))$ for $A = I$; so the noise term needs no $T_0$. Where $lambda_1$ is "
        "of "
        "the order of $norm(hat(Theta))$, which (21) excludes, the left side grows exponentially in $T_0$."
    ),
    setting=(
        "$p = 2$, $q = 3$, $A = I$, $t_0 = 2$, $T_0 <= 8$; and one regressor without first-stage noise, $T_0 <= 10^4$."
    ),
    checks=(
        Search(
            sides=_through_burn_in,
            box=BURNED,
            extremal=_overshooting,
            vectorised=True,
            evaluations=4000,
            impostors={"without the products": {"sides": {"expanding": False}}},
        ),
        Agreement(facts=_products, impostors={"1 % more": {"facts": Times(1.01)}}),
        Rate(
            ratios=_before_contraction,
            relation="upper",
            extents=(0.5, 1.0, 2.0, 4.0),
            impostors={"noise over sqrt(T_0)": {"ratios": {"noise_share": 0.5}}},
        ),
    ),
)
