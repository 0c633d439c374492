"""Beyond the paper: exact laws of unclipped runs on given data, their moments at any noise, and the best T."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np
from scipy.integrate import quad
from scipy.optimize import minimize_scalar

from dpbounds.iv import (
    Constants,
    Moments,
    TwoStageBudget,
    beta_law,
    error_bound,
    last_beta_law,
    lyapunov_exponent,
    noise_variances,
    optimal_steps,
    ridge_limit,
    scalar_law,
    scalar_moments,
    scan_steps,
    stationary_steps,
    stationary_steps_of_squares,
    theta_covariance,
    theta_mean,
    theta_path,
    whitened_moments,
)
from verify.checks import Agreement, Fact, Holds, Times
from verify.papers.iv.tools.reference import descent, rational_records
from verify.papers.iv.tools.samples import isotropic_design
from verify.statements.claims import Claim

STEPS, N, Q, P = 4, 7, 3, 2
# eta a is above 1 for the largest eigenvalues a of A: signs alternate.
ETA, ALPHA, LAMBDA1, LAMBDA2 = Fraction(1, 4), Fraction(1, 16), 0.3, 0.2


def _floats(values: Any) -> np.ndarray:
    return np.asarray(values, dtype=float)


def _impulse(size: tuple[int, ...], place: tuple[int, ...]) -> np.ndarray:
    unit = np.full(size, Fraction(0), dtype=object)
    unit[place] = Fraction(1)
    return unit


# --- the laws of Theta_t and of beta_t given the path of Theta ---


def _theta_law(rng: np.random.Generator) -> Iterator[Fact]:
    """Responses of the printed recursion to a unit of noise in each step and instrument, in rationals: Theta_t is their
    sum weighted with the noise.
    """
    data = rational_records(rng, N, Q, P)
    moments, silent = Moments.of(*data.floats()), [(0, 0)] * STEPS
    still = descent(data, eta=ETA, alpha=ALPHA, noise=silent)
    responses = []
    for k, j in product(range(STEPS), range(Q)):
        noise = [(_impulse((Q, P), (j, 0)) if step == k else 0, 0) for step in range(STEPS)]
        moved = descent(data, eta=ETA, alpha=ALPHA, noise=noise)
        responses.append([_floats(a - b)[:, 0] for (a, _), (b, _) in zip(moved, still, strict=True)])
    columns = np.array(responses)  # (noises, t, q)
    for t in range(STEPS + 1):
        yield Fact(f"mean of Theta_{t}", theta_mean(moments, float(ETA), t), _floats(still[t][0]), 1e-11)
        for s in {t, STEPS}:
            stated = LAMBDA1**2 * columns[:, t].T @ columns[:, s]
            found = theta_covariance(moments, float(ETA), LAMBDA1, t, s)
            yield Fact(f"covariance of a column of Theta_{t} and of Theta_{s}", found + 1.0, stated + 1.0, 1e-11)


def _variances(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """The sum written out, at eta a = 1e-9, 0.5, 1, 2 - 1e-9, 2 and 2.2; its limit."""
    eta = 0.5
    a = np.array([1e-9, 0.5, 1.0, 2 - 1e-9, 2.0, 2.2]) / eta
    for step in (0, 1, 2, 7):
        summed = eta**2 * sum((1 - eta * a) ** (2 * i) for i in range(step))
        yield Fact(f"variances after {step} steps", noise_variances(a, eta, step), summed + 0.0 * a, 1e-12)
    limit = eta / (a[1:3] * (2 - eta * a[1:3]))
    yield Fact("limits of the variances", noise_variances(a[1:3], eta, math.inf), limit, 1e-12)
    yield Holds("no limit at eta a = 2", math.isinf(noise_variances(a[4:5], eta, math.inf)[0]))


def _beta_law(rng: np.random.Generator) -> Iterator[Fact]:
    """Given a path of Theta beta is affine in its noise: mean and responses of the printed recursion, in rationals."""
    data = rational_records(rng, N, Q, P)
    moments = Moments.of(*data.floats())
    Xi = [np.vectorize(Fraction, otypes=[object])(rng.integers(-3, 4, (Q, P))) / 7 for _ in range(STEPS)]
    still = descent(data, eta=ETA, alpha=ALPHA, noise=[(noise, 0) for noise in Xi])
    responses = []
    for k, j in product(range(STEPS), range(P)):
        noise = [(Xi[step], _impulse((P,), (j,)) if step == k else 0) for step in range(STEPS)]
        moved = descent(data, eta=ETA, alpha=ALPHA, noise=noise)
        responses.append([_floats(a - b) for (_, a), (_, b) in zip(moved, still, strict=True)])
    columns = np.array(responses)
    thetas = np.array(list(theta_path(moments, float(ETA), [_floats(noise)[None] for noise in Xi])))
    yield Fact("path of Theta", thetas[:, 0], [_floats(theta) for theta, _ in still[:-1]], 1e-11)
    law = beta_law(moments, thetas[:, 0], float(ALPHA), LAMBDA2)
    last = last_beta_law(moments, iter(thetas), float(ALPHA), LAMBDA2)
    covariances = LAMBDA2**2 * np.einsum("ktp,ktr->tpr", columns, columns)
    yield Fact("means of beta_t", law.mean, [_floats(beta) for _, beta in still], 1e-11)
    yield Fact("covariances of beta_t", law.covariance, covariances, 1e-11)
    yield Fact("mean of beta_T", last.mean[0, 0], _floats(still[-1][1]), 1e-11)
    yield Fact("covariance of beta_T", last.covariance[0, 0], covariances[-1], 1e-11)


BEYOND_LAWS = Claim(
    id="iv/beyond-laws",
    where="beyond App. C",
    kind="identity",
    statement=(
        (
            "On given data and without clipping the columns of $Theta^((t))$ are independent normal vectors with mean "
            "$(I - M^t) hat(Theta)$ and covariance $eta^2 lambda_1^2 sum_(i < t) M^(2 i)$, $M = I - eta A$;"
        ),
        (
            "given the path of $Theta$ $beta^((t))$ is normal with mean $m_(t+1) = L_t m_t + alpha Theta^((t) top) b$ "
            "and covariance $C_(t+1) = L_t C_t L_t + alpha^2 lambda_2^2 I$, $L_t = I - alpha H^((t))$."
        ),
    ),
    setting="The printed recursion in exact rationals, step by step.",
    checks=(
        Agreement(decides="a", facts=_theta_law, impostors={"1e-9 off": {"facts": Times(1 + 1e-9)}}),
        Agreement(decides="a", facts=_variances, impostors={"1e-9 off": {"facts": Times(1 + 1e-9)}}),
        Agreement(decides="b", facts=_beta_law, impostors={"1e-9 off": {"facts": Times(1 + 1e-9)}}),
    ),
)

# --- moments at any noise ---


def _planes(nodes: int, count: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Weights and points of a product rule of Gauss-Hermite for `count` standard normals."""
    x, w = np.polynomial.hermite_e.hermegauss(nodes)
    grid = np.stack(np.meshgrid(*[x] * count, indexing="ij"), axis=-1).reshape(-1, count)
    weights = np.prod(np.stack(np.meshgrid(*[w] * count, indexing="ij"), axis=-1), axis=-1).ravel()
    yield weights / weights.sum(), grid


def _by_quadrature(moments: Moments, eta: float, alpha: float, lambda1: float, lambda2: float, nodes: int) -> Any:
    """E beta_3 and E beta_3 beta_3' of the recursion: polynomials in the noise, so that the rule is exact."""
    q, p = moments.q, moments.p
    ((weights, points),) = _planes(nodes, 2 * q * p)
    first, second = 0.0, 0.0
    signs = list(product((-1.0, 1.0), repeat=3 * p))  # moments up to the second of a normal
    Xi = lambda1 * points.reshape(-1, 2, q, p)
    for sign in signs:
        nu = lambda2 * np.reshape(sign, (3, p))
        theta, beta = np.zeros((len(Xi), q, p)), np.zeros((len(Xi), p))
        for t in range(3):
            gradient = np.swapaxes(theta, 1, 2) @ (moments.A @ (theta @ beta[:, :, None]) - moments.b[:, None])
            beta = beta - alpha * gradient[:, :, 0] + alpha * nu[t]
            if t < 2:
                theta = theta - eta * (moments.A @ theta - moments.G) + eta * Xi[:, t]
        first = first + weights @ beta / len(signs)
        second = second + np.einsum("n,np,nr->pr", weights, beta, beta) / len(signs)
    return first, second


def _exact_moments(rng: np.random.Generator) -> Iterator[Fact]:
    """p = q = 1 at any A and eta, in floats and rationals; A = I with q > 1."""
    numbers = {"A": Fraction(3, 2), "G": Fraction(5, 4), "b": Fraction(-2, 3)}
    steps = {"eta": Fraction(1, 2), "alpha": Fraction(1, 3)}
    found = scalar_moments(
        *numbers.values(), **steps, lambda1_squared=Fraction(4, 9), lambda2_squared=Fraction(1, 4), steps=3
    )
    one = Moments(A=np.array([[1.5]]), G=np.array([[1.25]]), b=np.array([-2 / 3]), n=10)
    first, second = _by_quadrature(one, 0.5, 1 / 3, 2 / 3, 0.5, 9)
    yield Fact("E beta_3, p = q = 1", float(found.mean[3]), float(first[0]), 1e-11)
    yield Fact("E beta_3^2, p = q = 1", float(found.second[3]), float(second[0, 0]), 1e-11)
    for q, p, nodes in ((1, 1, 9), (3, 1, 4), (2, 2, 3)):
        moments = Moments(A=np.eye(q), G=np.eye(q, p) + 0.3, b=np.linspace(1.0, -0.4, q), n=50)
        exact = whitened_moments(moments, alpha=0.4, lambda1=0.6, lambda2=0.5, steps=3)
        first, second = _by_quadrature(moments, 1.0, 0.4, 0.6, 0.5, nodes)
        yield Fact(f"E beta_3 at A = I, q = {q}, p = {p}", exact.mean[3], first, 1e-11)
        yield Fact(f"E beta_3 beta_3' at A = I, q = {q}, p = {p}", exact.second[3], second, 1e-11)
        target = np.full(p, 0.7)
        squared = float(np.trace(second) - 2 * first @ target + target @ target)
        yield Fact(f"E ||beta_3 - target||^2, q = {q}, p = {p}", exact.mean_squared_error(target)[3], squared, 1e-11)


def _limit_of_means(rng: np.random.Generator) -> Iterator[Fact]:
    """After 3000 steps the exact mean is the ridge estimate of the data with n q lambda_1² for the penalty."""
    moments = Moments(A=np.eye(4), G=np.eye(4, 2) + 0.2, b=np.array([1.0, -0.5, 0.3, 0.8]), n=50)
    late = whitened_moments(moments, alpha=0.3, lambda1=0.5, lambda2=0.1, steps=3000).mean[-1]
    G, b = moments.G, moments.b
    ridge = np.linalg.lstsq(np.vstack([G, np.eye(2)]), np.concatenate([b, np.zeros(2)]), rcond=None)[0]
    yield Fact("mean after 3000 steps", late, ridge, 1e-10)
    yield Fact("ridge limit", ridge_limit(moments, 0.5), ridge, 1e-10)


def _law_of_one(rng: np.random.Generator) -> Iterator[Fact]:
    """p = q = 1, T = 2: beta_2 = alpha nu_0 (1 - alpha A Theta_1²) + alpha b Theta_1 + alpha nu_1, Theta_1 = eta G +
    eta Xi: given Theta_1 normal, and Theta_1 by quadrature.
    """
    from scipy.special import ndtr, roots_hermitenorm

    A, G, b, eta, alpha, lambda1, lambda2 = 1.5, 1.25, 0.9, 0.5, 0.6, 0.8, 0.4
    moments = Moments(A=np.array([[A]]), G=np.array([[G]]), b=np.array([b]), n=10)
    law = scalar_law(moments, eta, alpha, lambda1=lambda1, lambda2=lambda2, steps=2)
    x, w = roots_hermitenorm(200)
    theta, weights = eta * G + eta * lambda1 * x, w / w.sum()
    mean = alpha * b * theta - float(moments.beta_hat[0])
    deviation = alpha * lambda2 * np.sqrt((1 - alpha * A * theta**2) ** 2 + 1)
    for radius in (0.1, 0.4, 1.0):
        inside = weights @ (ndtr((radius - mean) / deviation) - ndtr((-radius - mean) / deviation))
        yield Fact(f"P(|beta_2 - beta_hat| <= {radius})", float(law.cdf(radius)), float(inside), 1e-6)
        density = weights @ (np.exp(-(((radius - mean) / deviation) ** 2) / 2) / deviation) / math.sqrt(2 * math.pi)
        yield Fact(f"density at {radius}", float(law.density(np.array(radius))), float(density), 1e-5)
    middle = float(law.quantile())
    inside = weights @ (ndtr((middle - mean) / deviation) - ndtr((-middle - mean) / deviation))
    yield Fact("probability within the median", float(inside), 0.5, 1e-6)


def _growth_rates(rng: np.random.Generator) -> Iterator[Fact]:
    """E log |1 - alpha A Theta^2| by quadrature over Theta ~ N(G / A, v), at little and at much noise."""
    for A, G, eta, alpha, lambda1 in (
        (2.0, 1.8, 0.4, 0.3, 2e-3),
        (2.0, 1.8, 0.4, 0.3, 0.02),
        (0.5, 1.0, 1.2, 0.2, 0.6),
    ):
        moments = Moments(A=np.array([[A]]), G=np.array([[G]]), b=np.array([0.3]), n=10)
        variance = (eta * lambda1) ** 2 / (1 - (1 - eta * A) ** 2)
        found = float(lyapunov_exponent(moments, eta, alpha, lambda1))
        yield Fact(f"lambda_1 = {lambda1}", found, _mean_log(G / A, math.sqrt(variance), alpha * A), 1e-8)


def _mean_log(centre: float, deviation: float, a: float) -> float:
    """E log |1 - a x^2|, x ~ N(centre, deviation^2): panels that end at the two zeros."""
    zeros = [sign / math.sqrt(a) for sign in (-1, 1)]
    ends = sorted([centre - 9 * deviation, centre, centre + 9 * deviation, *zeros])
    ends = [end for end in ends if abs(end - centre) <= 9.001 * deviation]

    def integrand(x: float) -> float:
        return math.log(abs(1 - a * x * x) or 1e-300) * math.exp(-(((x - centre) / deviation) ** 2) / 2)

    parts = [quad(integrand, low, high, epsabs=1e-13, epsrel=1e-11)[0] for low, high in pairwise(ends)]
    return sum(parts) / (deviation * math.sqrt(2 * math.pi))


BEYOND_MOMENTS = Claim(
    id="iv/beyond-moments",
    where="beyond Remark 3.5",
    kind="identity",
    statement=(
        "At any noise the first two moments of $beta^((t))$ are exact for $p = q = 1$ and for $A = I$, $eta = 1$;",
        (
            "in the latter case $EE beta^((t))$ tends to ridge regression with penalty $q lambda_1^2$, so the noise of "
            "the first stage attenuates the estimate."
        ),
        "For $p = q = 1$ the law of $beta^((T)) - hat(beta)$ is computed to a stated error.",
    ),
    setting="Against Gauss-Hermite quadrature of the recursion, which is exact for its polynomials, at $T = 3$.",
    checks=(
        Agreement(decides="ab", facts=_exact_moments, impostors={"1e-9 off": {"facts": Times(1 + 1e-9)}}),
        Agreement(decides="b", facts=_limit_of_means, impostors={"1e-8 off": {"facts": Times(1 + 1e-8)}}),
        Agreement(decides="c", facts=_law_of_one, impostors={"1e-4 off": {"facts": Times(1 + 1e-4)}}),
        Agreement(decides="a", facts=_growth_rates, impostors={"1e-6 off": {"facts": Times(1 + 1e-6)}}),
    ),
)

# --- the best number of steps ---

SETTINGS = ((10**4, 5, 5, 0.5, 1.0), (10**6, 5, 5, 0.5, 1.0), (10**8, 1, 3, 0.9, 0.1), (200, 2, 4, 0.3, 0.5))


def _sum(T: float, start: float, rate: float, growth: float, power: int) -> float:
    """Of a falling exponential and a growing root, or of their squares."""
    return (start * math.exp(-rate * T)) ** power + (growth * math.sqrt(T)) ** power


def _best_steps(rng: np.random.Generator, shift: int = 0) -> Iterator[Fact]:
    """The least of (7) over T = 1 ... 3000, term by term as printed; and minima of both kinds of sums by search."""
    constants = Constants(optimisation=2.0, privacy=0.5, statistical=1.5)
    for n, p, q, kappa, rho in SETTINGS:
        for used in (Constants(), constants):
            design = isotropic_design(n, p, q)
            budget = TwoStageBudget(rho1=2 * rho, rho2=rho)
            best = optimal_steps(design, budget, kappa=kappa, constants=used)
            T = np.arange(1, 3001)
            Q = math.sqrt(q) + math.sqrt(5.0)
            floor = used.statistical * math.sqrt(p * q / n) * (5 + math.log(p * q))
            curve = used.optimisation * kappa ** (T / 2) + floor
            curve = curve + used.privacy * math.sqrt(p) * Q**3 * np.sqrt(T) / (n * math.sqrt(rho))
            label = f"n = {n}, p = {p}, q = {q}, kappa = {kappa}, rho = ({2 * rho}, {rho})"
            yield Fact(f"{label}: best T", best.steps, int(np.argmin(curve)) + 1 + shift, 0)
            yield Fact(f"{label}: least (7)", float(best.value), float(curve.min()), 1e-12)
            scanned, found = scan_steps(design, budget, kappa=kappa, constants=used, longest=3000)
            yield Fact(f"{label}: (7)", found, curve, 1e-12)
            yield Fact(f"{label}: scan", [scanned.steps, float(scanned.value)], [best.steps, float(best.value)], 1e-12)
            total = error_bound(design, budget, steps=17, kappa=kappa, constants=used)
            yield Fact(f"{label}: dominant term at T = 17", getattr(total, total.dominant), max(total), 0)
    for start, rate, growth in ((1.0, 0.5, 1e-3), (3.0, 0.02, 1e-4), (0.5, 1.5, 1e-6)):
        for name, of, power in (("sum", stationary_steps, 1), ("sum of squares", stationary_steps_of_squares, 2)):
            found = of(start, rate, growth)
            assert found is not None
            searched: Any = minimize_scalar(
                _sum,
                args=(start, rate, growth, power),
                bounds=(0.5 * found, 2 * found),
                method="bounded",
                options={"xatol": 1e-9 * found},
            )
            yield Fact(
                f"minimum of the {name}, start {start}, rate {rate}, growth {growth}", found, float(searched.x), 1e-5
            )
    for of, limit in ((stationary_steps, 2.0), (stationary_steps_of_squares, 2.0)):
        for n in (1e16, 1e32):
            found = of(1.0, 0.5, 1 / n)
            assert found is not None
            yield Fact(f"best T over log n, {of.__name__}, n = {n:g}", found / math.log(n), limit, 0.06)
    yield Fact("no minimum where the noise wins at once", stationary_steps(1.0, 0.5, 1.0), None, 0)
    yield Fact("nor for squares", stationary_steps_of_squares(1.0, 0.5, 1.0), None, 0)


BEYOND_OPTIMAL_STEPS = Claim(
    id="iv/beyond-optimal-steps",
    where="beyond Remark 3.7",
    kind="number",
    statement=(
        (
            r"The $T$ that minimises $a kappa^(T\/2) + c sqrt(T)$ is a neighbour of $-W_(-1)(-c^2 \/ (a^2 l)) \/ l$, "
            "$l "
            r"= log(1\/kappa)$, with the lower branch of Lambert's function, or $T = 1$;"
        ),
        r"where the terms add in squares it is $log(a^2 l \/ c^2) \/ l$.",
        "Both are of order $log n$ at fixed budgets.",
    ),
    setting="Against all $T$ up to 3000, and a numerical search.",
    checks=(Agreement(decides="abc", facts=_best_steps, impostors={"one step more": {"facts": {"shift": 1}}}),),
)
