"""Appendix F.1 and Remark 3.9: what leaving out the noise of the first stage does to the error."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import partial

import numpy as np
from scipy.optimize import root_scalar
from scipy.special import ndtr

from dpbounds.iv import Moments, noise_expansion, stationary_expansion, whitened_moments
from simulators.engine import Experiment
from simulators.iv import Settings, compare_descents, synthetic_model, two_stage_descent
from verify.checks import (
    Agreement,
    Case,
    Event,
    Fact,
    Frequency,
    GaussianPrivacy,
    Level,
    Means,
    MonteCarlo,
    Rate,
    Slopes,
)
from verify.claims import Claim, Correction
from verify.iv.claims.beta_only import confirming_audit, refuting_audit
from verify.iv.claims.output_laws import beta_only_pairs, exact_scale, scale_of_4
from verify.iv.claims.reference import descent, noiseless, rational_records
from verify.iv.claims.saturation import Chain
from verify.iv.claims.setups import Setup

# --- Theorem F.1: p = q = 1, tau = 5, c_1 = 1, so that n = 60 is admitted for rho_2 = 0.32 ---

N, RHO2, TAU, ALPHA = 60, 0.32, 5.0, 0.5
EXTENTS = (0.5, 1.0, 2.0)


def _clip_norm(n: float, T: float, c0: float, tau: float = TAU) -> float:
    """(4) with p = q = 1."""
    return c0 * (1.0 + math.sqrt(tau + math.log(n * T))) ** 2


def _chain(T: float, c0: float, rho2: float = RHO2) -> Chain:
    gamma = _clip_norm(N, T, c0)
    return Chain(n=N, alpha=ALPHA, gamma2=gamma, lambda2=2 * gamma / N * math.sqrt(T / rho2))


def _stated(n: float, T: float, rho2: float, tau: float = TAU) -> float:
    """The bound with constants 1, the first term left out: it vanishes."""
    return (1 + math.sqrt(tau)) ** 3 * math.sqrt(T / rho2) / n + tau / math.sqrt(n)


def _clipped_ratios(decades: float) -> Iterator[tuple[str, float]]:
    """Exact median of |beta_T - beta_hat| over the bound, T = 2560 ... 256 000, by then stationary."""
    T = 2560 * 10.0**decades
    for c0 in (1.0, 3.0):
        chain = _chain(T, c0)
        yield f"c_0 = {c0}", chain.median_error(chain.stationary) / _stated(N, T, RHO2)


def _cases(*steps: tuple[int, Level], c0: float = 1.0, late: bool = True) -> list[Case]:
    """E |beta_T - beta_hat| of Algorithm 3 with clipping: simulated, and by the chain (`late`: its stationary law)."""
    cases = []
    for T, level in steps:
        chain = _chain(T, c0)
        settings = Settings(steps=T, eta=1.0, alpha=ALPHA, gamma2=chain.gamma2, lambda2=chain.lambda2)
        run = Experiment(algorithm=two_stage_descent, problem=chain.data, settings=settings, block_trials=100)
        common = {"output": "error_hat", "relative_std": 1.0, "x": float(T), "group": "Algorithm 3, n = 60"}
        predicted = partial(_mean_error, T, c0, late)
        cases.append(Case(label=f"T = {T}", experiment=run, predicted=predicted, level=level, **common))
    return cases


def _mean_error(T: int, c0: float, late: bool) -> float:
    chain = _chain(T, c0)
    return chain.mean_error(chain.stationary if late else chain.after(T))


def _printed_bound() -> list[Mapping[str, object]]:
    """The bound with constants 1, for the picture."""
    T = [2560.0, 5120.0, 20_480.0]
    return [{"label": "Theorem F.1", "role": "bound", "x": T, "y": [_stated(N, t, RHO2) for t in T]}]


def _unclipped_quantile(n: float, T: float, rho2: float, tau: float, gamma: float) -> tuple[float, float]:
    """1 - e^{-tau} quantile of |beta_T - beta_hat| without clipping for A = theta_hat = beta_hat = 1, alpha = 1/2, and
    the standard deviation of beta_T: a sum of T noises, each halved at every later step.
    """
    deviation = ALPHA * 2 * gamma / n * math.sqrt(T / rho2) / math.sqrt(1 - 0.25)
    mean = 0.5 ** (T - 1)

    def excess(level: float) -> float:
        return float(ndtr((-level - mean) / deviation) + ndtr((mean - level) / deviation)) - math.exp(-tau)

    return float(root_scalar(excess, bracket=(0.0, mean + 40 * deviation)).root), deviation


def _allowed_ratios(decades: float, *, logarithm: bool = True) -> Iterator[tuple[str, float]]:
    """T = (rho_2 n^1.9 / (16 Q^6))^s, rho_2 = 1, tau = 1, c_0 = 3: the exact quantile over the corrected bound, and a
    union bound on the probability that any gradient is clipped, over e^{-tau}.
    """
    n, tau = 10.0 ** (3 + decades), 1.0
    for power in (0.25, 0.75, 1.0):
        T = max(2.0, (n**1.9 / (16 * 64)) ** power)
        gamma = _clip_norm(n, T, 3.0, tau)
        quantile, deviation = _unclipped_quantile(n, T, 1.0, tau, gamma)
        factor = (1 + math.sqrt(tau + math.log(n * T))) ** 2 if logarithm else (1 + math.sqrt(tau)) ** 2
        bound = 0.5 ** (T / 2) + (1 + math.sqrt(tau)) * factor * math.sqrt(T) / n + tau / math.sqrt(n)
        yield f"T ~ n^({1.9 * power:g}): quantile", quantile / bound
        clipped = 2 * T * ndtr(-(gamma / 2 - 1) / deviation) + 2 * n * ndtr(-gamma / 2 / math.sqrt(2))
        yield f"T ~ n^({1.9 * power:g}): 1 + P(clipping) / e^(-tau)", 1.0 + float(clipped) / math.exp(-tau)


def _within_horizon() -> Rate:
    """The corrected bound; without the logarithm of the clip norm it fails."""
    without = {"ratios": lambda decades: _allowed_ratios(decades, logarithm=False)}
    return Rate(ratios=_allowed_ratios, relation="upper", impostors={"no logarithm": without})


def _saturated(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact]:
    """Stationary mean of |beta - beta_hat| where lambda_2 is 30 and 47 times gamma_2, against alpha lambda_2² / (2
    gamma_2).
    """
    for T in (256_000, 640_000):
        chain = _chain(T, 1.0)
        stated = factor * chain.alpha * chain.lambda2**2 / (2 * chain.gamma2)
        label = f"mean error at T = {T}, lambda_2 = {chain.lambda2 / chain.gamma2:.0f} gamma_2"
        yield Fact(label, chain.mean_error(chain.stationary), stated, 5e-3)


def _clipping_off(rng: np.random.Generator, T: int = 35) -> Iterator[Fact]:
    """Where (5) holds with rho_2 the chain with clipping is the Gaussian law without: second moments by recursion."""
    chain = _chain(T, 3.0, rho2=10.0)
    weights = chain.after(T)
    contraction, variance = 1 - ALPHA * chain.theta**2, (ALPHA * chain.lambda2) ** 2
    total = sum(variance * contraction ** (2 * k) for k in range(T))
    mean = -chain.beta_hat * contraction ** (T - 1)
    found = weights @ (chain.nodes - chain.beta_hat) ** 2 / weights.sum()
    yield Fact(f"E (beta_T - beta_hat)^2 at n = 60, rho_2 = 10, T = {T}", float(found), total + mean**2, 1e-3)


# --- the first stage ---


def _exact_first_stage(rng: np.random.Generator, shift: int = 0) -> Iterator[Fact]:
    """e_Theta^{(t+1)} = M^{t+1} e_Theta^{(0)} along Algorithm 3 in exact rationals, any noise in beta."""
    eta = Fraction(1, 8)
    for n, q, p in ((5, 2, 1), (6, 3, 2)):
        data = rational_records(rng, n, q, p)
        noise = [(0, np.array([Fraction(int(value), 7) for value in rng.integers(-9, 9, p)])) for _ in noiseless(4)]
        path = descent(data, eta=eta, alpha=Fraction(1, 32), noise=noise)
        theta_hat = _solve(data.Z.T @ data.Z, data.Z.T @ data.X)
        error = path[0][0] - theta_hat
        for t, (theta, _) in enumerate(path[1:], start=1):
            error = error - (eta + shift) * (data.Z.T @ (data.Z @ error)) / n
            yield Fact(
                f"n = {n}, q = {q}, p = {p}: Theta_{t} - Theta_hat", (theta - theta_hat).tolist(), error.tolist(), 0
            )


def _solve(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A^{-1} B in exact rationals, A positive definite: no pivoting."""
    A, B = A.copy(), B.copy()
    for k in range(len(A)):
        A[k], B[k] = A[k] / A[k, k], B[k] / A[k, k]
        for i in range(len(A)):
            if i != k:
                A[i], B[i] = A[i] - A[i, k] * A[k], B[i] - A[i, k] * B[k]
    return B


# --- Algorithm 1 against Algorithm 3 ---

MOMENTS = Moments(A=np.eye(2), G=np.array([[2.0, 0.5], [0.0, 1.5]]), b=np.array([1.0, -2.0]), n=1000)


def _noise_ratios(decades: float, *, falling: bool = False) -> Iterator[tuple[str, float]]:
    """Root mean squared errors of Algorithms 1 and 3 to leading order in the noise, rho = (1, 10), noise and clip norms
    as in (4), c_0 = 1, tau = 5; T = 20, sqrt(n) and n, the last two stationary.
    """
    n = 10.0 ** (7 + decades)
    for label, T in (("T = 20", 20.0), ("T = sqrt(n)", n**0.5), ("T = n", n)):
        law = noise_expansion(MOMENTS, 0.9, 0.2, 20) if T == 20 else stationary_expansion(MOMENTS, 0.9, 0.2)
        gamma = (math.sqrt(2) + math.sqrt(5 + math.log(n * T))) ** 2
        lambda1, lambda2 = (2 * gamma / n * math.sqrt(T / rho) for rho in (n**-0.5 if falling else 1.0, 10.0))
        errors = []
        for first in (lambda1, 0.0):
            moment = law.law(-1, first, lambda2)
            errors.append(float(np.sum((moment.mean - law.noiseless[-1]) ** 2) + np.trace(moment.covariance)))
        yield label, math.sqrt(errors[0] / errors[1])


def _gain(rng: np.random.Generator, share: float = 1.0) -> Iterator[Fact]:
    """Exact root mean squares of both algorithms, A = I, eta = 1, no residual, against the closed forms W_1 = gamma²
    ||beta_hat||² sum alpha / (2 - alpha h) and W_2 = gamma² sum alpha / (h (2 - alpha h)).
    """
    h, alpha = np.linalg.eigvalsh(MOMENTS.G.T @ MOMENTS.G), 0.2
    first = float(np.sum(MOMENTS.beta_hat**2)) * np.sum(alpha / (2 - alpha * h))
    second = np.sum(alpha / (h * (2 - alpha * h)))
    for rho in (0.1, 1.0, 10.0):
        lambda1, lambda2 = (1e-4 / math.sqrt(budget) for budget in (1.0, rho))
        found = _root_mean_square(alpha, lambda1, lambda2) / _root_mean_square(alpha, 0.0, lambda2)
        stated = math.sqrt(1 + share * rho * first / second)
        yield Fact(f"error of Algorithm 1 over that of 3, rho_2 / rho_1 = {rho:g}", found, stated, 1e-4)


def _root_mean_square(alpha: float, lambda1: float, lambda2: float) -> float:
    """After 200 steps, to all orders in the noise, which is so small that the bias stays behind."""
    moments = whitened_moments(MOMENTS, alpha=alpha, lambda1=lambda1, lambda2=lambda2, steps=200)
    return math.sqrt(float(moments.mean_squared_error(MOMENTS.beta_hat)[-1]))


def _two_stage_below(rng: np.random.Generator, share: float = 1.0) -> Iterator[Fact]:
    """The error of 2SLS beside that of Algorithm 1 to leading order, in the setting of the runs."""
    for T in (20, 50):
        setup = Setup(steps=T, rho1=1.0, rho2=10.0)
        own, other = setup.error(), setup.two_stage_error()
        label = f"T = {T}: median {own:.3g} of Algorithm 1, {other:.3g} of 2SLS: less than a fifth"
        yield Fact(label, bool(other < own / 5 * share), True, 0)


def _comparison(occurs_above: bool, *, same: bool = False) -> list[Event]:
    """Section 4.1, p = q = r = 5, n = 1000, rho_1 = 1, rho_2 = 10, T = 20 and 50: is the error of Algorithm 1 against
    the true beta more than twice that of Algorithm 3 on the same data? Step sizes of Section 4 with delta = psi = 0.
    """
    problem = synthetic_model(n=1000, p=5, q=5, r=5, parameter_seed=0)
    values = np.linalg.svd(problem.theta, compute_uv=False)
    alpha = float(2 / (2 * values[0] ** 2 + values[-1] ** 2))
    events = []
    for T in (20, 50):
        gamma = float(3.0 * (math.sqrt(5) + math.sqrt(5 + math.log(1000 * T))) ** 2)
        both = {"steps": T, "eta": 1.0, "alpha": alpha, "gamma2": gamma, "rho2": 10.0}
        third = Settings(**both)
        first = third if same else Settings(**both, gamma1=gamma, rho1=1.0)
        run = Experiment(
            algorithm=compare_descents, problem=problem, settings={"one": first, "three": third}, block_trials=50
        )
        label = f"T = {T}: error of Algorithm 1 {'above' if occurs_above else 'at most'} twice that of Algorithm 3"
        events.append(Event(label=label, experiment=run, occurs=partial(_twice, occurs_above), at_least=0.5))
    return events


def _twice(above: bool, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
    return (arrays["one/error_true"] > 2 * arrays["three/error_true"]) == above


PAIRS = ((1, 2), (3, 2), (12, 6))  # n, T


CLAIMS = (
    Claim(
        id="iv/rem-3.9",
        where="Remark 3.9",
        kind="privacy",
        statement=(
            "In Algorithm 1 with $rho_1 = oo$ no $Xi^((t))$ is needed and ${beta^((t))}$ can be returned under budget "
            "$rho_2$; (7) still holds, without (5)."
        ),
        hypotheses=(
            "Noise of (4). Privacy on the pair of Lemma F.1; error for $p = q = 1$, $n = 60$, $rho_2 = 0.32$, $tau = "
            "5$, $T >= 2560$, constants 1."
        ),
        checks=(
            GaussianPrivacy(pairs=lambda: beta_only_pairs((3, 2), scale=scale_of_4)),
            refuting_audit(scale_of_4),
            Rate(ratios=_clipped_ratios, relation="upper", extents=EXTENTS, per_extent=2),
        ),
        correction=Correction(
            statement=(
                "budget $rho_2$ needs $lambda_2 = gamma_2 sqrt(2 (T - 1) \\/ rho_2)$, without $1\\/n$, which takes "
                "the $1\\/n$ from the second term of (7). With the noise of (4) that term holds with $(sqrt(q) + "
                "sqrt(tau + log(n T)))^2$ in place of $(sqrt(q) + sqrt(tau))^2$, while $T$ obeys (5) with $rho_2$ for "
                "$rho_1$; beyond, clipping saturates."
            ),
            checks=(
                GaussianPrivacy(
                    pairs=lambda: beta_only_pairs(*PAIRS, scale=exact_scale),
                    impostors={
                        "noise of (4)": {"pairs": lambda: beta_only_pairs(*PAIRS, scale=scale_of_4)},
                        "5 % less variance": {
                            "pairs": lambda: beta_only_pairs(*PAIRS, scale=exact_scale, variance=0.95)
                        },
                    },
                ),
                confirming_audit(scale_of_4),
                _within_horizon(),
            ),
        ),
    ),
    Claim(
        id="iv/thm-f.1",
        where="Theorem F.1",
        kind="mc-rate",
        statement=(
            "Algorithm 3 under Assumption 2, (3), (4), $n >= c_1 max{p q Lambda^2, Q^3 \\/ sqrt(rho_2)}$: with "
            "probability $1 - c_2 e^(-tau)$ $norm(beta^((T)) - hat(beta)) lt.tilde kappa^(T\\/2) + (sqrt(p) Q^3)/(n "
            "sqrt(rho_2)) sqrt(T) + (sqrt(p q) Lambda)/sqrt(n)$, for every $T$."
        ),
        hypotheses=(
            "$Q = sqrt(q) + sqrt(tau)$, $Lambda = tau + log(p q)$. $p = q = 1$, $tau = 5$, $c_1 = 1$, $n = 60$, "
            "$rho_2 = 0.32$, $c_0 = 1$ and 3, medians ($c_2 <= 74$); $z = plus.minus 1$, $eta = 1$, exact law with "
            "clipping. Larger constants move no slope."
        ),
        checks=(
            Rate(ratios=_clipped_ratios, relation="upper", extents=EXTENTS, per_extent=2),
            Slopes(
                means=Means(
                    cases=lambda: _cases((2560, "quick"), (5120, "quick"), (20_480, "full")),
                    trials={"quick": 100, "full": 200},
                    axes=("T", "mean of |beta - beta_hat|"),
                    lines=_printed_bound,
                ),
                printed={"Algorithm 3, n = 60": 0.5},
            ),
        ),
        correction=Correction(
            statement=(
                "while $T$ obeys (5) with $rho_2$ for $rho_1$, and with $(sqrt(p) + sqrt(tau)) (sqrt(q) + sqrt(tau + "
                "log(n T)))^2$ in place of $sqrt(p) Q^3$, the logarithm of (4) included. For $T >> n^2 rho_2$ the "
                "noise exceeds the clip norm, and the error is about $alpha lambda_2^2 \\/ (2 gamma_2)$, which grows "
                "as $T$."
            ),
            checks=(
                _within_horizon(),
                Agreement(
                    facts=_clipping_off,
                    impostors={"beyond the horizon": {"facts": lambda rng: _clipping_off(rng, 36_000)}},
                ),
                Agreement(facts=_saturated, impostors={"1 % more": {"facts": lambda rng: _saturated(rng, 1.01)}}),
                MonteCarlo(
                    means=Means(cases=lambda: _cases((320, "quick"), (1280, "full"), late=False)),
                    resolution={"quick": 0.2, "full": 0.1},
                    impostors={"a quarter less": {"scale": 0.75}, "a third more": {"scale": 4 / 3}},
                ),
            ),
        ),
    ),
    Claim(
        id="iv/thm-f.1-etheta",
        where="proof of Theorem F.1",
        kind="identity",
        statement="Without first-stage noise $e_Theta^((t+1)) = (I - eta A)^(t+1) e_Theta^((0))$.",
        hypotheses="Exact rational runs of Algorithm 3, no clipping in the first stage.",
        checks=(
            Agreement(
                facts=_exact_first_stage,
                impostors={"another step size": {"facts": lambda rng: _exact_first_stage(rng, 1)}},
            ),
        ),
    ),
    Claim(
        id="iv/f1-compare",
        where="App. F.1",
        kind="mc-rate",
        statement=(
            "At fixed $rho_2$ leaving out $Xi$ does not improve the rate of Theorem 3.1; for $T = O(n)$ the gain is "
            "insignificant, since $sqrt(p q) Lambda \\/ sqrt(n)$ dominates."
        ),
        hypotheses=(
            "Rate: both errors to leading order in the noise along $n -> oo$. Insignificant, read as: on the data of "
            "Section 4.1 with $n = 1000$, $p = q = r = 5$, $rho_1 = 1$, $rho_2 = 10$, $c_0 = 3$, $T <= n$, the error "
            "against the true $beta$ is in at least half of the runs at most doubled by $Xi$."
        ),
        checks=(
            Rate(ratios=_noise_ratios, relation="theta"),
            Frequency(events=lambda: _comparison(False), trials={"quick": 100, "full": 1000}),
        ),
        correction=Correction(
            statement=(
                "the powers of $n$ and $T$ are the same, but the gain is the factor $sqrt(1 + rho_2 W_1 \\/ (rho_1 "
                "W_2))$, $W_i \\/ rho_i$ the noise that each stage leaves, and nothing hides it: $norm(beta^((T)) - "
                "hat(beta))$ has no term $sqrt(p q) Lambda \\/ sqrt(n)$, and the error of 2SLS is smaller than it."
            ),
            checks=(
                Rate(
                    ratios=_noise_ratios,
                    relation="theta",
                    impostors={
                        "rho_1 falling with n": {"ratios": lambda decades: _noise_ratios(decades, falling=True)}
                    },
                ),
                Agreement(facts=_gain, impostors={"1 % more W_1": {"facts": lambda rng: _gain(rng, 1.01)}}),
                Agreement(
                    facts=_two_stage_below,
                    impostors={"less than a fiftieth": {"facts": lambda rng: _two_stage_below(rng, 0.1)}},
                ),
                Frequency(
                    events=lambda: _comparison(True),
                    trials={"quick": 100, "full": 1000},
                    impostors={"no noise in either": {"events": lambda: _comparison(True, same=True)}},
                ),
            ),
        ),
    ),
)
