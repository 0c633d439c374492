"""Appendix C, (16) to (21): how the errors of both stages add up before and after T_0."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import sympy

from verify.checks import Rate, Search, Symbolic
from verify.claims import Claim, Correction
from verify.domains import Real, Whole
from verify.iv.claims import tails

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


LENGTHS = {"dimension": Whole(1, 10**6, "log"), "level": Real(1e-3, 300.0, "log")}

# --- (17) ---


def _before_contraction(decades: float, noise_share: float = 0.0) -> Iterator[tuple[str, float]]:
    """A = theta_hat = beta_hat = 1, no first-stage noise, T_0 = 10^decades: error and deviation over their terms.

    max ||e_Theta|| = ||theta_hat|| = 1 at t = 0; without r the remaining terms are 1 + T_0 and lambda_2.
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
        yield f"error, {name}", abs(error) / (1 + T0)


# --- (18) ---


def _all_steps(steps: np.ndarray, tau: np.ndarray, *, union: bool) -> Sides:
    """p = q = 1, z = +-1, eta = 1, n = 10^12: Theta_k - theta_hat = lambda_1 xi_k; P(E fails) and 3 e^{-tau}.

    kappa_Theta = (1 + delta)^2 - 1 with delta = (1 + sqrt(tau)) / sqrt(n).
    """
    kappa = (1 + (1 + np.sqrt(tau)) * 1e-6) ** 2 - 1
    level = tau + np.log(steps) if union else tau
    radius = (1 + np.sqrt(2 * level)) / np.sqrt(1 - kappa**2)
    return tails.maximum_tail(steps, radius), 3 * np.exp(-tau)


def _union_of_tails(steps: np.ndarray, tau: np.ndarray, dimension: np.ndarray, p: np.ndarray) -> Sides:
    """T P(||g|| > sqrt(pq) + sqrt(2p (log p + tau + log T))) and e^{-tau}, g standard in R^(pq), in logarithms.

    ||N^(t)|| is at most ||N^(t)||_F, which eta lambda_1 / sqrt(1 - kappa_Theta^2) ||g|| dominates.
    """
    level = p * (np.log(p) + tau + np.log(steps))
    missed = tails.length_tail(p * dimension, level)[0]
    return steps * missed, np.exp(-tau)


def _long_runs() -> Iterator[Mapping[str, Any]]:
    """10^4 steps at 1 - 3 e^{-5} = 0.98."""
    yield {"steps": 1e4, "tau": 5.0}


RUNS = {"steps": Real(1.0, 1e12, "log"), "tau": Real(1.2, 30.0)}

# --- (19), (21) ---


def _regrouped(keep: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    kappa, T0, norm, noise = sympy.symbols("kappa T_0 t c", positive=True)
    eps = kappa**T0 * norm + noise
    yield "||theta_hat|| + noise", norm + noise - (eps + keep * (1 - kappa**T0) * norm)


def _halves(share: int = 2) -> Iterator[tuple[str, sympy.Expr]]:
    """Summands eps-bar / share - u and eps-bar / share - v with eps-bar = share (a + u + v)."""
    a, u, v = sympy.symbols("a u v", positive=True)
    tolerance = 2 * (a + u + v)
    summands = tolerance / share - u, tolerance / share - v
    yield "eps-bar - eps", tolerance - sum(summands)


CLAIMS = (
    Claim(
        id="iv/eq-16",
        where="App. C, (16)",
        kind="inequality",
        statement=(
            "$norm(e_beta^((T))) lt.tilde kappa_beta^(T - T_0) norm(e_beta^((T_0))) + epsilon (1 + epsilon) + "
            "(sqrt(p q) Lambda)/sqrt(n) (1 + epsilon) + lambda_2 (sqrt(p) + sqrt(tau))$."
        ),
        hypotheses=(
            "$E_(T_0, T)$, $norm(hat(beta))$ and $norm(hat(Theta))$ bounded, Lemma D.8; constants may depend on the "
            "fixed step sizes through $1 - kappa_beta$. Given the first stage the noise terms of (15) add up to a "
            "Gaussian vector of covariance at most $lambda_2^2 \\/ (1 - kappa_beta^2)$: no maximum over $T$ steps, and "
            "no $log T$, is needed."
        ),
        checks=(
            Symbolic(nonnegative=_collected, impostors={"without the 1": {"nonnegative": lambda: _collected(0)}}),
            Search(
                sides=_noise_covariance,
                box={
                    "kappa": Real(0.01, 0.99),
                    "eigenvalues": (Real(-1.0, 1.0), 12),
                    "angles": (Real(0.0, np.pi), 6),
                },
                extremal=_same_factor,
                vectorised=True,
                impostors={
                    "one step of noise": {"sides": lambda **box: _noise_covariance(**box, accumulated=False)},
                },
            ),
            Symbolic(nonnegative=tails.chernoff, impostors={"half of s": {"nonnegative": lambda: tails.chernoff(1)}}),
            Search(
                sides=tails.length_tail,
                box=LENGTHS,
                vectorised=True,
                impostors={
                    "sqrt(tau) for sqrt(2 tau)": {
                        "sides": lambda dimension, level: tails.length_tail(dimension, level, 1.0),
                    },
                },
            ),
        ),
    ),
    Claim(
        id="iv/eq-17",
        where="App. C, (17)",
        kind="inequality",
        statement=(
            "$norm(e_beta^((T_0))) lt.tilde 1 + (1 + epsilon) T_0 max_(k < T_0) norm(e_Theta^((k))) + (sqrt(p q) "
            "Lambda)/sqrt(n) (1 + epsilon) T_0 + lambda_2 (sqrt(p) + sqrt(tau))$."
        ),
        hypotheses=(
            "The noise term has no $T_0$, although nothing contracts at first: it holds with a constant that depends "
            "on the fixed step sizes, since after $t_0(n)$ steps everything contracts. Exact deviations for one "
            "regressor, $T_0$ up to $10^4$; the proof needs products of $norm(L_t)$ over all ranges, which Lemma D.9 "
            "proves."
        ),
        checks=(
            Rate(
                ratios=_before_contraction,
                relation="upper",
                extents=(0.5, 1.0, 2.0, 4.0),
                impostors={
                    "noise over sqrt(T_0)": {"ratios": lambda decades: _before_contraction(decades, 0.5)},
                },
            ),
        ),
    ),
    Claim(
        id="iv/eq-18",
        where="App. C, (18)",
        kind="inequality",
        statement=(
            "$E_(T_0, T)$ has probability at least $1 - 3 e^(-tau)$ for $epsilon = kappa_Theta^(T_0) "
            "norm(hat(Theta)) + (eta lambda_1)/sqrt(1 - kappa_Theta^2) (sqrt(p q) + sqrt(2 p (log p + tau)))$."
        ),
        hypotheses=(
            "All $T_0 <= k < T$ at once. Tried on $p = q = 1$, $z = plus.minus 1$, $eta = 1$, $n = 10^12$, where "
            "$e_Theta^((k)) \\/ lambda_1$ are independent standard normals. Compared: the probability that the event "
            "fails and $3 e^(-tau)$."
        ),
        checks=(
            Search(
                sides=lambda steps, tau: _all_steps(steps, tau, union=False),
                box=RUNS,
                extremal=_long_runs,
                vectorised=True,
            ),
        ),
        correction=Correction(
            statement="$tau + log T$ stands in place of $tau$ in $epsilon$, as footnote 4 admits.",
            checks=(
                Search(
                    sides=lambda steps, tau: _all_steps(steps, tau, union=True),
                    box=RUNS,
                    extremal=_long_runs,
                    vectorised=True,
                    impostors={
                        "as printed": {"sides": lambda steps, tau: _all_steps(steps, tau, union=False)},
                    },
                ),
                Symbolic(
                    nonnegative=tails.chernoff,
                    impostors={"half of s": {"nonnegative": lambda: tails.chernoff(1)}},
                ),
                Search(
                    sides=_union_of_tails,
                    box={**RUNS, "dimension": Whole(1, 1000, "log"), "p": Whole(1, 20)},
                    vectorised=True,
                    impostors={
                        "half of tau + log T": {
                            "sides": lambda steps, tau, dimension, p: (
                                steps * tails.length_tail(dimension, (tau + np.log(steps)) / 2)[0],
                                np.exp(-tau),
                            ),
                        },
                    },
                ),
            ),
        ),
    ),
    Claim(
        id="iv/eq-19",
        where="App. C, (19)",
        kind="identity",
        statement=(
            "$norm(hat(Theta)) + c = epsilon + (1 - kappa_Theta^(T_0)) norm(hat(Theta))$, $c$ the noise term of (18)."
        ),
        checks=(
            Symbolic(residuals=_regrouped, impostors={"without the remainder": {"residuals": lambda: _regrouped(0)}}),
        ),
    ),
    Claim(
        id="iv/eq-21",
        where="App. C, (20), (21)",
        kind="inequality",
        statement=(
            "If both summands of $epsilon$ in (18) are at most $overline(epsilon)\\/2$, then $epsilon <= "
            "overline(epsilon)$."
        ),
        hypotheses="$overline(epsilon)$ as in (13); the root in (20) is printed over all of it.",
        checks=(
            Symbolic(nonnegative=_halves, impostors={"each at most eps-bar": {"nonnegative": lambda: _halves(1)}}),
        ),
    ),
)
