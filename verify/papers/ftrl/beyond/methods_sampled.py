"""Beyond the paper: the errors of sampled gradients of least squares, and what momentum gains with them.

The oracle knows nothing of storage functions: errors by quadrature over the inputs, stationary second moments of
Nesterov's method from its impulse responses and one linear system.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from dpbounds.ftrl.correlations import HalfPowers
from dpbounds.ftrl.methods import GradientNoise, SampledGradients, bound_method, momentum_gain, nesterov
from dpbounds.ftrl.strongly_convex import Noise
from verify.checks import Agreement, Fact, Holds, Within
from verify.statements.claims import Claim

ZERO, POLE, STEPS = 0.6, 0.2, 600
# Eigenvalues so near that the bound of the class is nearly the error of least squares, eta, momentum, batch, residual.
NEAR = np.array([1.0, 0.998])
SETTINGS = ((0.1, 0.5, 1, 0.0), (0.1, 0.5, 1, 1.0), (0.3, 0.3, 4, 0.5), (0.2, 0.6, 2, 2.0))
KAPPA, RATE, GAINS = 10.0, 0.01, {1: 4.2, 100: 4.7}


def _errors(rng: np.random.Generator, co: float = 1.0) -> Iterator[Fact]:
    """E |n|^2 of one record by Gauss-Hermite nodes, exact for its fourth powers, against the printed form."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(4)
    for eigenvalues in ([1.0, 0.3], [2.0, 0.5, 0.1]):
        H, d, sigma = np.diag(eigenvalues), len(eigenvalues), 0.7
        delta = rng.normal(size=d)
        g, total = H @ delta, 0.0
        for at in product(range(4), repeat=d + 1):
            z, weight = nodes[list(at)], float(np.prod(weights[list(at)] / weights.sum()))
            x = np.sqrt(eigenvalues) * z[:d]
            total += weight * float(np.sum((x * (x @ delta - sigma * z[d]) - g) ** 2))
        for m in (1, 8):
            noise = SampledGradients(eigenvalues=np.array(eigenvalues), batch_size=m, sigma=sigma).noise
            form = noise.variance + co * noise.co * float(g @ delta) + noise.gradient * float(g @ g)
            yield Fact(f"d = {d}, m = {m}", form, total / m, 1e-12)


def _responses(h: float, eta: float, b: float) -> tuple[float, float, float, float]:
    """Sums of squares of theta and of y after one draw of the noise, and after one error of a gradient."""
    weights = np.concatenate([[1.0], (POLE - ZERO) * POLE ** np.arange(STEPS)])
    found: list[float] = []
    for driven in (weights, np.eye(1, STEPS)[0]):
        before, now, squares = 0.0, 0.0, np.zeros(2)
        for t in range(STEPS):
            y = now + b * (now - before)
            squares += now**2, y**2
            before, now = now, y - eta * (h * y + driven[t])
        found.extend(squares)
    return found[0], found[1], found[2], found[3]


def _error(eta: float, b: float, m: int, sigma: float) -> float:
    """E F of theta with least squares, one unit of draws in each direction: E y^2 solves a linear system."""
    theta, y, theta_of, y_of = np.array([_responses(h, eta, b) for h in NEAR]).T
    # E n_j^2 = (h_j^2 E y_j^2 + (sum_k h_k E y_k^2 + sigma^2) h_j) / m
    spread = (np.diag(NEAR**2) + np.outer(NEAR, NEAR)) / m
    squares = np.linalg.solve(np.eye(2) - y_of[:, None] * spread, y + y_of * sigma**2 * NEAR / m)
    errors = spread @ squares + sigma**2 * NEAR / m
    return float(NEAR / 2 @ (theta + theta_of * errors))


def _bounds(rng: np.random.Generator, co: float = 1.0, variance: float = 1.0) -> Iterator[Holds | Within]:
    """The certified bound over the class, which least squares is in, over the exact error: at least 1, and near it."""
    correlation = HalfPowers((ZERO, ZERO), (POLE, POLE))
    noise = Noise(correlation=correlation, rho=float(correlation.limiting_sensitivity()) ** 2 / 2, d=len(NEAR))
    for eta, b, m, sigma in SETTINGS:
        errors = SampledGradients(eigenvalues=NEAR, batch_size=m, sigma=sigma).noise
        assumed = GradientNoise(variance=variance * errors.variance, co=co * errors.co, gradient=errors.gradient)
        method = nesterov(eta=eta, momentum=b)
        found = bound_method(noise, method, mu=float(NEAR.min()), L=float(NEAR.max()), gradient_noise=assumed)
        label = f"eta = {eta:g}, b = {b:g}, m = {m}, sigma = {sigma:g}"
        yield Holds(f"{label}: certified", found.is_certified)
        yield Within(f"{label}: over the exact error", float(found.value) / _error(eta, b, m, sigma), 1.0, 1.01)


def _gains(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Within | Holds]:
    """By batch size, without residuals: privacy noise falls with 1 / m^2, and nothing grows over it."""
    eigenvalues = np.array([1.0, 1.0 / KAPPA])
    for m, least in GAINS.items():
        errors = SampledGradients(eigenvalues=eigenvalues, batch_size=m).noise.scaled(1.0, len(eigenvalues) / m**2)
        found = momentum_gain(RATE, KAPPA, gradient_noise=errors)
        yield Holds(f"m = {m}: momentum is proved to pay", found is not None)
        if found is not None:
            yield Within(f"m = {m}: how many times", found.gain, factor * least)
    large = SampledGradients(eigenvalues=eigenvalues, batch_size=1000, sigma=1.0).noise.scaled(1.0, 2e-6)
    lost = momentum_gain(RATE, KAPPA, gradient_noise=large)
    yield Holds("residuals far above the privacy noise: nothing is said", lost is None)


SAMPLED = Claim(
    id="ftrl/beyond-methods-sampled",
    where="beyond the paper: errors of sampled gradients",
    kind="inequality",
    statement=(
        r"The errors $n$ of a gradient $g$ of least squares at $theta$, averaged over $m$ records with Gaussian inputs "
        r"of covariance $H$ and independent residuals of variance $sigma^2$, have $E norm(n)^2 = ("
        r'"tr" H (chevron.l g, theta - theta^* chevron.r + sigma^2) + norm(g)^2)\/m$.',
        r"With this for the errors of gradients the bound of Nesterov's method over the class is at least its error on "
        r"such least squares, and at most $1.01$ times that at $L\/mu = 1.002$.",
        r"At $kappa = 10$, $d = 2$, $sigma = 0$ gradient descent of rate $0.01$ with any noise has a worst case that "
        r"is at least $4.2$ and $4.7$ times that of Nesterov's method of rate $0.02$ with noise of one zero and "
        "one pole, $m = 1, 100$, errors of gradients within one bound.",
    ),
    hypotheses=(
        "Draws independent of the past, fresh records, no clipping; the average over time. Rates are those with exact "
        "gradients."
    ),
    checks=(
        Agreement(decides="a", facts=_errors, impostors={"half of tr H": {"facts": {"co": 0.5}}}),
        Agreement(
            decides="b",
            facts=_bounds,
            impostors={"half of co": {"facts": {"co": 0.5}}, "half of the variance": {"facts": {"variance": 0.5}}},
        ),
        Agreement(decides="c", facts=_gains, impostors={"an eighth more": {"facts": {"factor": 1.125}}}),
    ),
)
