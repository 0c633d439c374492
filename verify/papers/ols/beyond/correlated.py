"""Beyond the paper: what noise that is correlated between rounds could save TAP, at a fixed clip."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import sympy

from dpbounds.ols import tail_averaged as tap
from dpbounds.ols.tail_averaged import SHARES, TailAveraged
from verify.checks import Agreement, Fact, Search, Symbolic
from verify.checks.domains import Real
from verify.statements.claims import Claim
from verify.statements.derivations import Derivation

ROUNDS, D = 5, 2
SIZE = ROUNDS * D
CLIP, MU = 0.3, 0.7


def _bound(root, weights, direction, factor: float = 1.0) -> tuple[float, float]:
    """c²/mu² against the variance along a unit vector of an unbiased linear estimate of b from b + z_t, the noise z
    being scaled so that a row with one gradient of length c in all rounds costs at most mu.
    """
    L = np.tril(root.reshape(SIZE, SIZE)) + 0.05 * np.eye(SIZE)
    covariance, stacked = L @ L.T, np.tile(np.eye(D), (ROUNDS, 1))
    information = stacked.T @ np.linalg.solve(covariance, stacked)
    # The dearest direction of the gradient decides what the noise costs.
    covariance *= (CLIP / MU) ** 2 * float(np.linalg.eigvalsh(information)[-1])
    W = weights.reshape(ROUNDS, D, D)
    W = W + (np.eye(D) - W.sum(axis=0)) / ROUNDS
    v = np.array([np.cos(direction), np.sin(direction)])
    seen = np.concatenate([part.T @ v for part in W])
    return factor * (CLIP / MU) ** 2, float(seen @ covariance @ seen)


def _best() -> Iterator[dict[str, object]]:
    """Independent noise, all rounds averaged: equality."""
    yield {"root": np.eye(SIZE).ravel(), "weights": np.tile(np.eye(D).ravel() / ROUNDS, ROUNDS), "direction": 0.3}


def _independent(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact]:
    """Equal independent noise that spends mu, the mean of the last rounds; and TAP's, its share of mu² spent."""
    for steps, kept in ((8, 8), (8, 5), (128, 115)):
        shift = np.full(steps, CLIP)
        deviation = np.linalg.norm(shift) / MU
        weights = np.r_[np.zeros(steps - kept), np.full(kept, 1 / kept)]
        found = float(weights @ (deviation**2 * np.eye(steps)) @ weights) / (CLIP / MU) ** 2
        yield Fact(f"variance over c²/mu², {kept} of {steps} rounds", found, factor * steps / kept, 1e-12)
    settings = TailAveraged(mu=MU)
    spent = MU * np.sqrt(SHARES.rounds)
    own = tap.noise_scales(settings).gradients ** 2 / settings.kept * spent**2
    yield Fact("of TAP, over that of all noise at its share of mu²", own, factor * 128 / 115, 1e-12)
    yield Fact("rounded", round(128 / 115, 2), factor * 1.11, 1e-12)


def _schwarz(times: int = 1) -> Iterator[tuple[str, Any, Any]]:
    """(w'Sigma^-1 w)(a'Sigma a) - (w'a)² for Sigma = L L', a square."""
    w, a = (sympy.Matrix(sympy.symbols(f"{name}1 {name}2", real=True)) for name in "wa")
    diagonal, lower = sympy.symbols("l1 l3", positive=True), sympy.symbols("l2", real=True)
    L = sympy.Matrix([[diagonal[0], 0], [lower, diagonal[1]]])
    p, q = L.inv() * w, L.T * a
    left = p.dot(p) * q.dot(q) - times * w.dot(a) ** 2
    yield "the product less the square", left, (p[0] * q[1] - p[1] * q[0]) ** 2


def _averages(more: int = 1) -> Iterator[tuple[Any, ...]]:
    """The variance s² of one round by T c²/s² = mu², that of the mean of k rounds; and TAP's share."""
    c, mu, T, k, s = sympy.symbols("c mu T k s", positive=True)
    (deviation,) = sympy.solve(T * c**2 / s**2 - mu**2, s)
    yield "the mean of $k$ of $T$ rounds", _variance_of_mean(deviation, k), more * c**2 / (k / T * mu**2)
    settings = TailAveraged(mu=MU)
    yield "TAP", sympy.Rational(settings.steps, settings.kept), more * sympy.Rational(128, 115)


def _variance_of_mean(deviation: Any, k: Any) -> Any:
    """The variance of a mean of k independent draws."""
    return k * (deviation / k) ** 2


BEYOND_TAP_CORRELATED = Claim(
    id="ols/beyond-tap-correlated",
    where="Beyond the paper: correlated noise for TAP",
    kind="inequality",
    statement=(
        (
            "Where sums of gradients $b + z_t$, $t <= T$, are released with jointly normal noise of any correlation, "
            "such that a row whose gradient is one vector of length $c$ in all rounds costs at most $mu$, every "
            "unbiased linear estimate of $b$ has variance at least $c^2\\/mu^2$ in every direction, since for $a$ with "
            "$sum_t a_t = v$ Cauchy and Schwarz give $1 <= (1 times.o v)^top Sigma^(-1) (1 times.o v) dot a^top Sigma "
            "a <= mu^2\\/c^2 dot a^top Sigma a$;"
        ),
        r"equal independent noise, averaged over a share $tau$ of the rounds, has $c^2\/(tau mu^2)$;",
        (
            r"so that correlated noise saves TAP's average at most a factor $128\/115$, 1.11, of its noise, at a fixed "
            "clip, once the iterates have arrived and while nothing else is clipped."
        ),
    ),
    setting="5 rounds in 2 dimensions, any covariance and weights; 8 and 128 rounds of independent noise.",
    checks=(
        Symbolic(
            decides="abc",
            residuals=_averages,
            squares=_schwarz,
            impostors={
                "half the square": {"squares": {"times": 2}},
                "twice the variance": {"residuals": {"more": 2}},
            },
        ),
        Search(
            decides="ac",
            role="control",
            sides=_bound,
            box={
                "root": (Real(-1.0, 1.0), SIZE * SIZE),
                "weights": (Real(-1.0, 1.0), ROUNDS * D * D),
                "direction": Real(0.0, 6.3),
            },
            extremal=lambda: tuple(_best()),
            evaluations=3000,
            impostors={"1 % more": {"sides": {"factor": 1.01}}},
        ),
        Agreement(
            decides="bc", role="control", facts=_independent, impostors={"0.1 % more": {"facts": {"factor": 1.001}}}
        ),
    ),
    derivation=Derivation(
        text=(
            "With $Sigma = L L^top$ the covariance of all rounds, $w = 1 times.o v$ for a unit vector $v$, and $p = "
            "L^(-1) w$, $q = L^top a$, the inequality of Cauchy and Schwarz is $(w^top a)^2 = (p^top q)^2 <= norm(p)^2 "
            "norm(q)^2 = w^top Sigma^(-1) w dot a^top Sigma a$, the difference being a sum of squares (proved for two "
            "entries). An estimate $sum_t W_t (b + z_t)$ of $b$ is unbiased if $sum_t W_t = I$; along $v$ its "
            "variance is $a^top Sigma a$ with $a_t = W_t^top v$, for which $w^top a = v^top v = 1$. A row whose "
            "gradient is $c v$ in all rounds shifts the release by $c w$, at a cost of $c^2 w^top Sigma^(-1) w <= "
            "mu^2$: the variance is at least $c^2\\/mu^2$. Independent noise of variance $s^2$ in each of $T$ rounds "
            "costs $T c^2\\/s^2 = mu^2$, and the mean of $tau T$ rounds has $s^2\\/(tau T)$: the quotient is "
            "$1\\/tau$, in TAP $128\\/115$."
        ),
        lemmas=("Cauchy-Schwarz",),
    ),
)
