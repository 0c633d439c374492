"""Beyond the paper: what noise that is correlated between rounds could save TAP, at a fixed clip."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dpbounds.ols import tail_averaged as tap
from dpbounds.ols.tail_averaged import SHARES, TailAveraged
from verify.checks import Agreement, Fact, Search
from verify.checks.domains import Real
from verify.statements.claims import Claim

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


BEYOND_TAP_CORRELATED = Claim(
    id="ols/beyond-tap-correlated",
    where="Beyond the paper",
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
        Search(
            decides="ac",
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
        Agreement(decides="bc", facts=_independent, impostors={"0.1 % more": {"facts": {"factor": 1.001}}}),
    ),
)
