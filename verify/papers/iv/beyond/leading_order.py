"""Beyond the paper: the law of beta_t to leading order in the noise, its stationary form, the best split of the budget.

beta_t is a polynomial in the noise: exact derivatives in fractions are the oracle.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.linalg import solve_discrete_lyapunov

from dpbounds.iv import (
    LeadingOrder,
    Moments,
    TwoStageBudget,
    best_split,
    isotropic_variances,
    noise_expansion,
    noise_scales,
    noiseless,
    scalar_moments,
    stationary_expansion,
)
from dpbounds.iv.isotropic import Isotropic, isotropic_error_terms, isotropic_expansion
from verify.checks import Agreement, Fact, Times
from verify.papers.iv.tools import reference
from verify.statements.claims import Claim

PARTS = ("noiseless", "shift", "first", "second")

# --- the expansion ---

# Differences of polynomials with this step are exact to 40 digits.
STEP: Any = Fraction(1, 10**20)


def _noise(steps: int, q: int, p: int) -> list[list[np.ndarray]]:
    """(Xi_t, nu_t), all 0."""
    zeros = [[np.full((q, p), Fraction(0)), np.full(p, Fraction(0))] for _ in range(steps)]
    return [[part.astype(object) for part in pair] for pair in zeros]


def _derivatives(records: reference.Records, eta: Any, alpha: Any, steps: int) -> dict[str, np.ndarray]:
    """bar beta_T, and sums over all entries of the noise of half second derivatives and of squared first ones."""
    q, p = records.Z.shape[1], records.X.shape[1]
    run: Any = {"eta": eta, "alpha": alpha}
    still = reference.descent(records, **run, noise=reference.noiseless(steps))[-1][1]
    found = {"noiseless": still, "shift": 0 * still, "first": 0 * np.outer(still, still)}
    found["second"] = found["first"]
    for t in range(steps):
        for stage, part in ((0, "first"), (1, "second")):
            for index in np.ndindex(*((q, p) if stage == 0 else (p,))):
                ends = []
                for size in (STEP, -STEP):
                    noise = _noise(steps, q, p)
                    noise[t][stage][index] = size
                    ends.append(reference.descent(records, **run, noise=[(Xi, nu) for Xi, nu in noise])[-1][1])
                slope, bend = (ends[0] - ends[1]) / (2 * STEP), (ends[0] + ends[1] - 2 * still) / (2 * STEP**2)
                found[part] = found[part] + np.outer(slope, slope)
                found["shift"] = found["shift"] + bend
    return {name: np.asarray(value, dtype=float) for name, value in found.items()}


def _expanded(rng: np.random.Generator) -> Iterator[Fact]:
    """Every coefficient, q > p, q = p and one of each; T = 1, 2 and longer, long steps too."""
    for q, p, steps, eta, alpha in (
        (3, 2, 4, 0.125, 0.0625),
        (2, 2, 3, 0.5, 0.25),
        (1, 1, 5, 0.25, 0.0625),
        (2, 1, 2, 1.0, 0.5),
    ):
        records = reference.rational_records(rng, 7, q, p)
        order = noise_expansion(Moments.of(*records.floats()), eta, alpha, steps)
        for T in sorted({1, 2, steps}):
            stated = _derivatives(records, Fraction(eta), Fraction(alpha), T)
            for part in PARTS:
                yield Fact(f"{part}, q = {q}, p = {p}, T = {T}", getattr(order, part)[T], stated[part], 1e-9)


def _assembled(rng: np.random.Generator) -> Iterator[Fact]:
    """Law and mean squared error from the coefficients, numbers by hand."""
    order = LeadingOrder(
        noiseless=np.array([[0.0, 0.0], [1.0, 2.0]]),
        shift=np.array([[0.0, 0.0], [0.5, -1.0]]),
        first=np.array([np.zeros((2, 2)), [[2.0, 1.0], [1.0, 3.0]]]),
        second=np.array([np.zeros((2, 2)), [[5.0, 0.0], [0.0, 7.0]]]),
    )
    mean, covariance = order.law(-1, 2.0, 3.0)
    yield Fact("mean", mean, [3.0, -2.0])
    yield Fact("covariance", covariance, [[53.0, 4.0], [4.0, 75.0]])
    errors = order.mean_squared_error(np.array([1.0, 1.0]), 2.0, 3.0)
    yield Fact("mean squared errors", errors, [2.0, 1.0 - 8.0 + 20.0 + 108.0])


def _remainder(rng: np.random.Generator, power: int = 4) -> Iterator[Fact]:
    """(exact - leading) / lambda^4 settles as lambda halves: p = q = 1, exact second moments in fractions."""
    order = noise_expansion(Moments(A=1.5 * np.eye(1), G=2 * np.eye(1), b=np.ones(1), n=9), 0.5, 0.25, 6)
    ratios = []
    for k in (6, 7, 8):
        square = Fraction(1, 4**k)
        numbers: Any = {"eta": Fraction(1, 2), "alpha": Fraction(1, 4)}
        exact = scalar_moments(
            Fraction(3, 2), 2, 1, **numbers, lambda1_squared=square, lambda2_squared=2 * square, steps=6
        )
        error = float(exact.second[-1] - exact.mean[-1] + Fraction(1, 4))
        size = 2.0**-k
        leading = order.mean_squared_error(np.array([0.5]), size, math.sqrt(2) * size)[-1]
        ratios.append((error - leading) / size**power)
    yield Fact("halved once more", ratios[2], ratios[1], 0.01)


EXPANSION = Claim(
    id="iv/beyond-expansion",
    where="beyond the paper: law of the estimate to leading order",
    kind="identity",
    statement=(
        'Without clipping, for all data, step sizes and $T$: $op("Cov") beta^((T)) = lambda_1^2 F_T + lambda_2^2 N_T$ '
        "and $EE beta^((T)) = overline(beta)_T + lambda_1^2 s_T$ up to $O(lambda_1^2 (lambda_1^2 + lambda_2^2))$, with "
        "$F$, $N$, $s$ from one recursion that does not depend on the noise scales."
    ),
    checks=(
        Agreement(facts=_expanded, impostors={"a millionth more": {"facts": Times(1.000001)}}),
        Agreement(facts=_assembled, impostors={"1 % more": {"facts": Times(1.01)}}),
        Agreement(facts=_remainder, impostors={"of third order": {"facts": {"power": 3}}}),
    ),
)

# --- the stationary law ---


def _example(rng: np.random.Generator, q: int, p: int) -> tuple[Moments, float, float]:
    """Moments of whole numbers and step sizes inside the limits."""
    moments = Moments.of(*reference.rational_records(rng, 12, q, p).floats())
    limits = noiseless.step_size_limits(moments)
    return moments, 0.6 * limits.eta, 0.4 * limits.alpha


def _fixed_point(rng: np.random.Generator) -> Iterator[Fact]:
    """By the Lyapunov equation of the joint linear chain (beta, Theta), linearised by complex steps."""
    for q, p in ((3, 2), (2, 2), (1, 1), (4, 1)):
        moments, eta, alpha = _example(rng, q, p)
        size = p + q * p

        def step(state: np.ndarray, m: Moments = moments, e: float = eta, a: float = alpha) -> np.ndarray:
            beta, theta = state[: m.p], state[m.p :].reshape(m.q, m.p)
            moved = beta - a * theta.T @ (m.A @ (theta @ beta) - m.b)
            return np.concatenate([moved, (theta - e * (m.A @ theta - m.G)).ravel()])

        point = np.concatenate([moments.beta_hat, moments.theta_hat.ravel()])
        J = np.stack([np.imag(step(point + 1e-30j * unit)) / 1e-30 for unit in np.eye(size)], axis=1)
        found = stationary_expansion(moments, eta, alpha)
        for part, noise in (("first", [0] * p + [eta**2] * (q * p)), ("second", [alpha**2] * p + [0] * (q * p))):
            stated = solve_discrete_lyapunov(J, np.diag(noise))[:p, :p]
            yield Fact(f"{part}, q = {q}, p = {p}", getattr(found, part)[0], stated, 1e-7)
        yield Fact(f"noiseless, q = {q}, p = {p}", found.noiseless[0], moments.beta_hat, 1e-12)
        joint = solve_discrete_lyapunov(J, np.diag([0] * p + [eta**2] * (q * p)))
        yield Fact(f"shift, q = {q}, p = {p}", found.shift[0], _mean_shift(moments, joint), 1e-7)


def _mean_shift(moments: Moments, joint: np.ndarray) -> np.ndarray:
    """-H^{-1} times the mean of the quadratic part of the gradient, whose deviations have covariance `joint`."""
    p, q, A, beta, hat = moments.p, moments.q, moments.A, moments.beta_hat, moments.theta_hat
    cross = joint[:p, p:].reshape(p, q, p)  # Cov(beta_i, Theta_jk)
    square = joint[p:, p:].reshape(q, p, q, p)
    total = np.einsum("jkml,jm,l->k", square, A, beta)  # E dTheta' A dTheta beta
    total += np.einsum("ijk,jm,mi->k", cross, A, hat)  # E dTheta' A theta_hat dbeta
    total += np.einsum("jk,jm,imi->k", hat, A, cross)  # E theta_hat' A dTheta dbeta
    return -np.linalg.solve(moments.hessian, total)


def _closed_forms(rng: np.random.Generator) -> Iterator[Fact]:
    """A = I and no residual: variances in closed form, attenuation at eta = 1, sqrt(p) for the dimensions."""
    theta, beta = np.zeros((4, 2)), np.array([0.9, -1.2])
    theta[0, 0], theta[1, 1] = 1.5, 0.8
    moments = Moments(A=np.eye(4), G=theta, b=theta @ beta, n=10)
    for eta in (0.5, 1.0, 1.7):
        found = stationary_expansion(moments, eta, 0.3)
        stated = isotropic_variances(np.array([2.25, 0.64]), eta, 0.3, 1.5, 0.2, 0.1)
        yield Fact(f"variances, eta = {eta}", np.diag(found.law(0, 0.2, 0.1).covariance), stated, 1e-11)
    shift = stationary_expansion(moments, 1.0, 0.3).shift[0]
    yield Fact("shift at eta = 1", shift, -4 * np.linalg.solve(theta.T @ theta, beta), 1e-11)
    spread = float(isotropic_variances(np.array([2.0]), 0.5, 0.25, 1.0, 0.01, 0.01)[0])
    own, passed = 0.25 * 1e-4 / (2 * 1.5), 0.25 * (0.5 * 1e-4 / 1.5) / 1.5 * 1.25 / 0.75
    yield Fact("by hand, h = 2, eta = 1/2, alpha = 1/4", spread, own + passed)


STATIONARY = Claim(
    id="iv/beyond-stationary",
    where="beyond the paper: stationary law to leading order",
    kind="identity",
    statement=(
        "For fixed noise scales and step sizes inside the limits of 2S-GD the leading-order law has a stationary form: "
        "for $A = I$ and no residual the variance along the eigenvector of $hat(H)$ with eigenvalue $h$ is $(alpha "
        "lambda_2^2) / (h (2 - alpha h)) + (alpha v norm(hat(beta))^2) / (2 - alpha h) (1 + m l) / (1 - m l)$ with $l "
        "= 1 - alpha h$, $m = 1 - eta$, $v = eta lambda_1^2 \\/ (2 - eta)$, and at $eta = 1$ the mean is $hat(beta) - "
        "q lambda_1^2 hat(H)^(-1) hat(beta)$."
    ),
    remark="So at given noise the error grows as $sqrt(p)$, and $q$ enters through the mean alone.",
    checks=(
        Agreement(facts=_fixed_point, impostors={"1 % more": {"facts": Times(1.01)}}),
        Agreement(facts=_closed_forms, impostors={"1 % more": {"facts": Times(1.01)}}),
    ),
)

# --- the cheap recursion at A = I ---

SINGULAR, BETA, Q, ALPHA = np.array([1.3, 0.8, 0.4]), np.array([0.3, -1.1, 0.7]), 5, 0.4


def _cheap(rng: np.random.Generator) -> Iterator[Fact]:
    """The recursion in the singular basis against the general one, before and after it has settled."""
    theta = np.vstack([np.diag(SINGULAR), np.zeros((Q - 3, 3))])
    moments = Moments(A=np.eye(Q), G=theta, b=theta @ BETA, n=100)
    for eta in (0.3, 1.0, 1.7):
        problem = Isotropic(singular_values=SINGULAR, beta=BETA, q=Q, eta=eta, alpha=ALPHA)
        general, limit = noise_expansion(moments, eta, ALPHA, 25), stationary_expansion(moments, eta, ALPHA)
        found = isotropic_expansion(problem, [0, 1, 2, 25, 10**9])
        for part in PARTS:
            stated = [*(getattr(general, part)[T] for T in (0, 1, 2, 25)), getattr(limit, part)[0]]
            yield Fact(f"{part}, eta = {eta}", getattr(found, part), np.array(stated), 1e-9)
        radius = max(abs(1 - eta), *np.abs(1 - ALPHA * SINGULAR**2))
        yield Fact(f"rate, eta = {eta}", problem.kappa, radius)
        lambda1, lambda2 = np.array([0.1, 0.3, 0.5]), np.array([0.4, 0.0, 0.1])
        terms = isotropic_error_terms(problem, 10**6).at([1, 25, 10**9])
        squares = []
        for at, one, two in zip((1, 3, 4), lambda1, lambda2, strict=True):
            mean, covariance = found.law(at, one, two)
            squares.append(math.sqrt(np.sum((mean - BETA) ** 2) + np.trace(covariance)))
        yield Fact(f"root mean squares, eta = {eta}", terms.root_mean_square(lambda1, lambda2), squares, 1e-9)


ISOTROPIC = Claim(
    id="iv/beyond-isotropic",
    where="beyond the paper: leading order for isotropic data",
    kind="identity",
    statement=(
        "For $A = I$ and no residual the leading order falls apart along the singular directions of $Theta$: $O(p^2)$ "
        "a step whatever $q$ is, and stationary to double precision after $60 \\/ log(1\\/kappa)$ steps."
    ),
    checks=(Agreement(facts=_cheap, impostors={"a millionth more": {"facts": Times(1.000001)}}),),
)

# --- the best split of the budget ---


def _split(rng: np.random.Generator, exponent: float = 0.5) -> Iterator[Fact]:
    """By scanning tr Cov beta_T with the noise of (4); the least value in closed form."""
    moments, eta, alpha = _example(rng, 3, 2)
    order = noise_expansion(moments, eta, alpha, 40)
    for gamma1, gamma2, T in ((2.0, 5.0, 40), (5.0, 0.5, 40), (1.0, 1.0, 3)):
        n, rho, costs = 1000, 2.0, {}
        for share in np.linspace(0.0005, 0.9995, 2000):
            scales = noise_scales(
                TwoStageBudget(rho1=rho * share, rho2=rho * (1 - share), gamma1=gamma1, gamma2=gamma2), n, T
            )
            costs[share] = float(np.trace(order.law(T, *map(float, scales)).covariance))
        share = float(best_split(order, gamma1, gamma2, step=T))
        label = f"gamma = ({gamma1:g}, {gamma2:g}), T = {T}"
        # The scan is as fine as 0.0005.
        best = min(costs, key=lambda x: costs[x])
        yield Fact(f"share of the first stage less the best, {label}", share - best, 0.0, 3e-4)
        W1, W2 = (
            4 * T / n**2 * g**2 * np.trace(part[T]) for g, part in ((gamma1, order.first), (gamma2, order.second))
        )
        yield Fact(f"least trace, {label}", min(costs.values()), (W1**exponent + W2**exponent) ** 2 / rho, 1e-5)


BEST_SPLIT = Claim(
    id="iv/beyond-best-split",
    where="beyond the paper: best split of the budget",
    kind="number",
    statement=(
        'To leading order $tr op("Cov") beta^((T)) = W_1\\/rho_1 + W_2\\/rho_2$ with the noise of (4), so that a '
        "budget $rho_1 + rho_2$ is best split as $rho_1 : rho_2 = sqrt(W_1) : sqrt(W_2)$, where it is $(sqrt(W_1) + "
        "sqrt(W_2))^2 \\/ (rho_1 + rho_2)$."
    ),
    checks=(Agreement(facts=_split, impostors={"W for its root": {"facts": {"exponent": 1.0}}}),),
)
