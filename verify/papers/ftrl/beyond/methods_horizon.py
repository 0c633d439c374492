"""Beyond the paper: the error of first-order methods after T steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.linalg import toeplitz

from dpbounds.ftrl.correlations import from_coefficients
from dpbounds.ftrl.methods import bound_horizon, bound_run, gradient_descent, heavy_ball, nesterov
from verify.checks import Agreement, Fact, Within
from verify.papers.ftrl.tools.gram_programs import worst_error
from verify.statements.claims import Claim

# Errors and start are also tried in units so much smaller.
MU, L, SCALE = 0.1, 1.0, 30.0
CASES = (
    (gradient_descent(eta=0.1), (1.0,), 3, False),
    (gradient_descent(eta=0.5), (1.0, -0.9), 3, False),
    (gradient_descent(eta=0.5), (1.0, -0.9), 2, True),
    (heavy_ball(eta=0.1, momentum=0.5), (1.0, -0.5, 0.2), 3, False),
    (nesterov(eta=0.5, momentum=0.4), (1.0, -0.5), 2, False),
)


def noise_matrix(weights: tuple[float, ...], T: int) -> np.ndarray:
    """Lower triangular, constant along diagonals."""
    return toeplitz(np.append(weights, np.zeros(T))[:T], np.zeros(T))


def _horizon(rng: np.random.Generator, factor: float = 1.0, foreseen: int = 0) -> Iterator[Fact | Within]:
    """Certified chains against the program over Gram matrices."""
    for method, weights, T, mean in CASES:
        B, label = noise_matrix(weights, T), f"{method.name}, weights {weights}, T = {T}, {'mean' if mean else 'last'}"
        oracle = factor * worst_error(B, method, MU, L, 1.0, mean=mean, foreseen=foreseen)
        options: dict[str, Any] = {"mu": MU, "L": L, "initial": 1.0, "objective": "mean" if mean else "last"}
        whole = bound_horizon(B, method, T, window=T, **options)
        yield Fact(f"{label}, a window of T", float(whole.value), oracle, 1e-5)
        larger = bound_horizon(SCALE * B, method, T, window=T, **{**options, "initial": SCALE})
        yield Fact(f"{label}, in other units", float(larger.value) / SCALE**2, oracle, 1e-5)
        chain = bound_horizon(B, method, T, window=1, **options)
        yield Within(f"{label}: a window of 1 over it", float(chain.value) / oracle, 1 - 1e-6, 1.2)
        yield Within(f"{label}: over the worst quadratic, at least", chain.ratio, 1.0)
        gamma = np.linalg.norm(np.linalg.inv(B), axis=0).max()
        run = bound_run(from_coefficients(weights), method, T, window=T, rho=gamma**2 / 2.0, **options)
        yield Fact(f"{label}, of that privacy", float(run.value), oracle, 1e-5)


HORIZON = Claim(
    id="ftrl/beyond-methods-horizon",
    where="beyond the paper: first-order methods after finitely many steps",
    kind="identity",
    statement=(
        r"After $T$ steps of a linear method with noise $B e$, draws independent of the past, a chain of $T$ storage "
        r"functions that know all past gradients gives the largest $EE F(x_T) - F^*$, or mean over $x_1, ..., x_T$, "
        "that the interpolation inequalities between all points allow.",
        "With one past gradient it is not below that, nor below the error of the worst quadratic.",
    ),
    hypotheses=r"$F$ $mu$-strongly convex and $L$-smooth, $abs(theta_0 - theta^*) <= 1$; 30 with 30 times the noise.",
    setting=r"$kappa = 10$, five methods, noises and objectives, $T <= 3$; certified in exact fractions.",
    checks=(
        Agreement(
            decides="ab",
            facts=_horizon,
            impostors={
                "1 % off": {"facts": {"factor": 1.01}},
                "gradients that know a draw ahead": {"facts": {"foreseen": 1}},
            },
        ),
    ),
)
