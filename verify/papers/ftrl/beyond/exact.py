"""Exact values that the paper does not have: error of Noisy-FTRL for linear regression in the limit and at every step.

Inputs are x = U Lambda^{1/2} z with independent entries of z, E z = 0, E z^2 = 1, E z^4 = kappa (3: Gaussian inputs).
F has the factor 1/2 of (8), x_j = eta lambda_j, c_j = sum_{t,s} beta_t beta_s (1 - x_j)^|t-s| and N = G^2 gamma^2 / (2
rho). Bounds and optimal correlations are in `beyond_bounds` and `beyond_optimum`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
import sympy

from dpbounds.ftrl import correlations, exact_errors, linear_regression, mean_estimation
from dpbounds.ftrl.linear_regression import Regression
from simulators.engine import Experiment
from simulators.ftrl import LinearRegression, Settings
from simulators.ftrl import linear_regression as simulated_regression
from simulators.ftrl.linear_regression import Inputs
from verify.checks import Agreement, Case, Fact, Level, Means, MonteCarlo, Search, Symbolic, Times
from verify.checks.domains import Real
from verify.papers.ftrl.beyond.stability import either_side
from verify.papers.ftrl.tools import input_laws
from verify.papers.ftrl.tools.second_moments import stationary, suboptimality, system
from verify.statements.claims import Claim

OURS = "beyond the paper"
DECAY = "$D_j = 2 x_j - (kappa - 1) x_j^2$"
# E z^4 of the laws of `input_laws` and of the simulator.
KURTOSIS: dict[Inputs, float] = {"gaussian": 3.0, "sign": 1.0, "skewed": 3.25}
LAWS: dict[Inputs, Callable[[np.ndarray], input_laws.Laws]] = {
    "gaussian": input_laws.gaussian,
    "sign": input_laws.signs,
    "skewed": input_laws.skewed,
}
SPECTRA = {"one": (1.0,), "two": (1.0, 0.3), "four": (1.0, 0.5, 1 / 3, 0.25)}
WEIGHTS = (1.0, -0.5, 0.2)
# Of the exact comparisons.
CLIP_NORM, BUDGET = 1.3, 0.8
# Of the stability limit: at half of it the error of Gaussian inputs has no third moment, and no mean can be tested.
SHARES = (0.15, 0.3)


def _rotation(rng: np.random.Generator, d: int) -> np.ndarray:
    return np.linalg.qr(rng.standard_normal((d, d)))[0]


def _correlation(
    name: str, eigenvalues: np.ndarray, eta: float, kurtosis: float = 3.0
) -> correlations.ToeplitzCorrelation:
    """The mechanisms of the comparisons, nu relative to eta mu."""
    slowest = eta * float(eigenvalues.min())
    if name == "optimal":
        return linear_regression.optimal_correlation(eigenvalues, eta, kurtosis=kurtosis)
    return {
        "independent": correlations.independent(),
        "nu = eta mu": correlations.nu(slowest),
        "nu = eta mu / 10": correlations.nu(slowest / 10),
        "damped anti-PGD": correlations.damped_anti_pgd(0.3),
        "three weights": correlations.from_coefficients(WEIGHTS),
    }[name]


# --- the limit ---


def _stationary_residuals(factor: int = 1) -> Iterator[tuple[Any, ...]]:
    """S = diag(s), s_j = (x_j phi + q_j)/D_j, against E[(I - x x^T) S (I - x x^T)] + diag(q), with eta absorbed in x.

    Entry j misses by x_j (phi - sum_k x_k s_k), which is 0 for the stated phi = 2 F_inf. d = 2, E z_i z_j z_k z_l from
    the table of moments; all larger d have the same rank-one structure.
    """
    kappa, phi = sympy.symbols("kappa phi", positive=True)
    x, q, decay = (sympy.symbols(f"{name}_1:3", positive=True) for name in ("x", "q", "D"))
    feedback = sum(x[j] ** 2 / decay[j] for j in range(2))
    stated = sum(x[j] * q[j] / decay[j] for j in range(2)) / (1 - feedback)
    sums = sympy.Add(*(x[j] * (x[j] * stated + q[j]) / decay[j] for j in range(2)))
    yield "phi - sum x_j s_j", stated, sums
    s = [(x[j] * phi + q[j]) / (2 * x[j] - factor * (kappa - 1) * x[j] ** 2) for j in range(2)]
    missing = phi - sum(x[k] * s[k] for k in range(2))
    for i, j in ((0, 0), (1, 1), (0, 1)):
        quadratic = sum(_fourth(x, kappa, (i, k, k, j)) * s[k] for k in range(2))
        diagonal = q[i] - 2 * x[i] * s[i] + x[i] * missing if i == j else 0
        yield f"entry {i + 1}{j + 1}", sympy.cancel(quadratic + diagonal)


def _fourth(eigenvalues: Sequence[sympy.Symbol], kappa: sympy.Symbol, index: tuple[int, ...]) -> sympy.Expr:
    """E x_i x_j x_k x_l for independent entries."""
    counts = tuple(sorted(index.count(i) for i in set(index)))
    moment = {(4,): kappa, (2, 2): sympy.Integer(1)}.get(counts, sympy.Integer(0))
    return moment * sympy.sqrt(sympy.prod([eigenvalues[i] for i in index]))


def _limits(rng: np.random.Generator) -> Iterator[Fact]:
    """Full matrices in a rotated basis; infinite sequences cut where their weights are negligible."""
    for (name, law), eigenvalues, share in itertools.product(LAWS.items(), SPECTRA.values(), (0.3, 0.9)):
        spectrum = np.array(eigenvalues[:3])
        turned = _rotation(rng, len(spectrum))
        inputs = law(turned * spectrum @ turned.T)
        eta = share * linear_regression.stability_limit(spectrum, kurtosis=KURTOSIS[name])
        eta = min(eta, 1.0 / spectrum.max())
        for mechanism, terms in (("three weights", 3), ("nu = eta mu", 400)):
            correlation = _correlation(mechanism, spectrum, eta)
            noise = CLIP_NORM**2 * correlation.sensitivity(20_000) ** 2 / (2 * BUDGET)
            beta = correlation.coefficients(terms).tolist()
            brute = suboptimality(inputs, stationary(inputs, eta, beta, noise, 0.3))
            exact = linear_regression.suboptimality(correlation, _problem(spectrum, eta, name))
            label = f"{name}, d = {len(spectrum)}, {mechanism}, {share} of the largest eta"
            yield Fact(label, brute, float(exact), 1e-9)


def _problem(spectrum: np.ndarray, eta: float, inputs: Inputs) -> Regression:
    """With residuals of variance 0.3."""
    return Regression(
        eigenvalues=spectrum,
        eta=eta,
        rho=BUDGET,
        clip_norm=CLIP_NORM,
        sigma_sgd=np.sqrt(0.3),
        kurtosis=KURTOSIS[inputs],
    )


def _beside_the_least(rng: np.random.Generator) -> Iterator[Fact]:
    """Means as regression on signs, by brute force; and what is 1 at the optimum."""
    for eta in (0.1, 0.7):
        for mechanism, terms in (("three weights", 3), ("nu = eta mu", 400)):
            correlation, law = _correlation(mechanism, np.ones(1), eta), input_laws.signs(np.eye(1))
            noise = CLIP_NORM**2 * correlation.sensitivity(20_000) ** 2 / (2 * BUDGET)
            brute = suboptimality(law, stationary(law, eta, correlation.coefficients(terms).tolist(), noise, 0.3))
            problem = exact_errors.private_mean(eta, BUDGET, clip_norm=CLIP_NORM, sigma_sgd=np.sqrt(0.3))
            found = exact_errors.mean_error(correlation, problem)
            yield Fact(f"mean, eta = {eta}, {mechanism}", brute, float(found.suboptimality), 1e-9)
            best = exact_errors.mean_error(mean_estimation.optimal_correlation(eta), problem)
            over = brute / float(best.suboptimality)
            yield Fact(f"mean, eta = {eta}, {mechanism}: over the optimum", over, found.over_optimum, 1e-9)
        spectrum = np.array([1.0, 0.4, 0.05])
        weights = exact_errors.optimal_weights(spectrum, eta / 3)
        over = exact_errors.regression_error(weights, _problem(spectrum, eta / 3, "gaussian")).over_optimum
        yield Fact(f"optimal weights over the optimum, eta = {eta / 3:.3g}", over, 1.0, 1e-9)


@cache
def _limit_cases() -> list[Case]:
    """Time averages over the last half of 8 / (eta mu) steps; inputs and residuals alternate."""
    mechanisms = ("independent", "nu = eta mu", "nu = eta mu / 10", "damped anti-PGD", "three weights", "optimal")
    cases = []
    for number, (mechanism, spectrum, share) in enumerate(itertools.product(mechanisms, SPECTRA, SHARES)):
        inputs, sigma = tuple(KURTOSIS)[number % 3], (0.0, 0.7)[number // 4 % 2]
        level = "quick" if number in (0, 7, 14, 22, 29) else "full"
        cases.append(_limit_case(mechanism, spectrum, share, inputs, sigma, level))
    return cases


def _limit_case(mechanism: str, spectrum: str, share: float, inputs: Inputs, sigma: float, level: Level) -> Case:
    eigenvalues = np.array(SPECTRA[spectrum])
    kurtosis = KURTOSIS[inputs]
    eta = share * linear_regression.stability_limit(eigenvalues, kurtosis=kurtosis)
    correlation = _correlation(mechanism, eigenvalues, eta, kurtosis)
    settings = Settings(
        correlation=correlation,
        eta=eta,
        rho=0.5,
        steps=round(8.0 / (eta * eigenvalues.min())),
        clipping=False,
        sensitivity="limiting",
    )
    return Case(
        label=f"{mechanism}, {spectrum}, {share} of the largest eta, {inputs}, sigma = {sigma}",
        experiment=Experiment(
            algorithm=simulated_regression,
            problem=LinearRegression(eigenvalues=SPECTRA[spectrum], sigma_sgd=sigma, inputs=inputs),
            settings=settings,
            block_trials=4000,
        ),
        output="mean_loss",
        predicted=lambda: linear_regression.suboptimality(
            correlation,
            Regression(eigenvalues=eigenvalues, eta=eta, rho=0.5, sigma_sgd=sigma, kurtosis=kurtosis),
        ),
        relative_std={1: 0.9, 2: 0.5, 4: 0.35}[len(eigenvalues)],
        level=level,
    )


EXACT_REGRESSION = Claim(
    id="ftrl/beyond-exact-regression",
    where=f"{OURS}: exact error in the limit",
    kind="mc-equality",
    statement=(
        "$F_oo = 1/2 sum_j lambda_j q_j\\/D_j \\/ (1 - sum_j x_j^2\\/D_j)$ with $q_j = eta^2 (sigma_s^2 lambda_j "
        "+ N c_j)$ and " + DECAY + "."
    ),
    hypotheses="Inputs $U Lambda^(1\\/2) z$, entries of $z$ independent, $EE z^4 = kappa$; any correlation.",
    checks=(
        Symbolic(residuals=_stationary_residuals, impostors={"D_j with 2 (kappa - 1)": {"residuals": {"factor": 2}}}),
        Agreement(facts=_limits, impostors={"0.1 % off": {"facts": Times(1.001)}}),
        Agreement(facts=_beside_the_least, impostors={"0.1 % off": {"facts": Times(1.001)}}),
        MonteCarlo(means=Means(cases=_limit_cases), impostors={"20 % too large": {"scale": 1.2}}),
    ),
)


# --- every step ---


def _by_hand(
    law: input_laws.Laws, eta: float, decoder: np.ndarray, noise: float, residual: float, initial: np.ndarray
) -> np.ndarray:
    """E F(theta_t) - F*, t = 0, ..., T, for any decoder B: second moments of theta' and of its products with the draws.

    E theta'_{t+1} w_k^T = (I - eta H) E theta'_t w_k^T - eta N B_{tk} I; matrices are full.
    """
    H, after_step = law.covariance[0], system(law, eta, [1.0], 0.0, 0.0).after_step
    d = len(H)
    contraction = np.eye(d) - eta * H
    S, crosses = np.outer(initial, initial), np.zeros((decoder.shape[1], d, d))
    values = [suboptimality(law, S)]
    for row in decoder:
        mixed = contraction @ np.tensordot(row, crosses, axes=1)
        forcing = residual * H + noise * (row @ row) * np.eye(d)
        S = after_step(S[None])[0] + eta**2 * forcing - eta * (mixed + mixed.T)
        crosses = contraction @ crosses - eta * noise * row[:, None, None] * np.eye(d)
        values.append(suboptimality(law, S))
    return np.array(values)


def _mechanisms(T: int) -> list[correlations.Correlation]:
    """Sequences and matrices for T steps."""
    return [
        correlations.nu(0.05),
        correlations.optimal_counting(),
        correlations.anti_pgd(),
        correlations.tree_aggregation(T),
        correlations.tree_aggregation(T, decoder="honaker"),
        correlations.full_honaker(T),
        correlations.fft_mechanism(T),
        correlations.banded(T, 3),
        correlations.restarted(correlations.nu(0.05), T, 4),
    ]


def _trajectories(rng: np.random.Generator, shift: int = 0) -> Iterator[Fact]:
    """All steps of every mechanism against the brute force, from another point than the optimum."""
    T, eta, spectrum = 24, 0.25, np.array([1.0, 0.4, 0.05])
    for (name, law), correlation in zip(itertools.cycle(LAWS.items()), _mechanisms(T), strict=False):
        turned = _rotation(rng, 3)
        start = np.array([1.0, -2.0, 0.5])
        noise = CLIP_NORM**2 * correlation.sensitivity(T) ** 2 / (2 * BUDGET)
        brute = _by_hand(
            law(turned * spectrum @ turned.T), eta, correlation.matrix(T), noise, 0.3, initial=turned @ start
        )
        problem = _problem(spectrum, eta, name)
        exact = linear_regression.trajectory(correlation, problem, steps=T, initial=start)
        yield Fact(f"F_0, ..., F_24, {correlation.name}, {name}", brute, np.roll(exact, shift), 1e-10)
        if isinstance(correlation, correlations.ToeplitzCorrelation):
            level = np.full(3, 2.0 / np.sqrt(3.0))
            after = exact_errors.error_after(correlation, problem, steps=T + shift, initial=2.0)
            brute = _by_hand(
                law(turned * spectrum @ turned.T), eta, correlation.matrix(T), noise, 0.3, initial=turned @ level
            )
            yield Fact(f"F_24 from a distance, {correlation.name}, {name}", brute[-1], after.suboptimality, 1e-10)


@cache
def _trajectory_cases() -> list[Case]:
    """The error after 1, 3, 10, 30 and 100 steps; matrices are made for each number of steps."""
    settings: tuple[tuple[str, Callable[[int], correlations.Correlation], Inputs, float, Level], ...] = (
        ("nu = 0.01", lambda T: correlations.nu(0.01), "gaussian", 0.5, "quick"),
        ("tree aggregation", correlations.tree_aggregation, "skewed", 0.5, "quick"),
        ("independent", lambda T: correlations.independent(), "sign", 0.0, "full"),
        ("three weights", lambda T: correlations.from_coefficients(WEIGHTS), "skewed", 0.0, "full"),
        ("full Honaker", correlations.full_honaker, "gaussian", 0.0, "full"),
        ("optimal counting", lambda T: correlations.optimal_counting(), "sign", 0.5, "full"),
    )
    return [
        _trajectory_case(name, correlation(T), T, inputs, sigma, level)
        for name, correlation, inputs, sigma, level in settings
        for T in (1, 3, 10, 30, 100)
    ]


def _trajectory_case(
    name: str, correlation: correlations.Correlation, T: int, inputs: Inputs, sigma: float, level: Level
) -> Case:
    eigenvalues, start, eta = (1.0, 0.6, 0.3, 0.1), (1.0, -1.0, 1.0, -1.0), 0.1
    return Case(
        label=f"{name}, {inputs}, T = {T}",
        experiment=Experiment(
            algorithm=simulated_regression,
            problem=LinearRegression(eigenvalues=eigenvalues, sigma_sgd=sigma, inputs=inputs, initial=start),
            settings=Settings(correlation=correlation, eta=eta, rho=2.0, steps=T, clipping=False, sensitivity=1.5),
            block_trials=5000,
        ),
        output="loss",
        predicted=lambda: linear_regression.trajectory(
            correlation,
            Regression(eigenvalues=np.array(eigenvalues), eta=eta, rho=2.0, sigma_sgd=sigma, kurtosis=KURTOSIS[inputs]),
            steps=T,
            initial=np.array(start),
            sensitivity=1.5,
        )[-1],
        relative_std=0.8,
        x=float(T),
        group=f"{name}, {inputs} inputs",
        level=level,
    )


EXACT_TRAJECTORY = Claim(
    id="ftrl/beyond-exact-trajectory",
    where=f"{OURS}: exact error after every step",
    kind="mc-equality",
    statement=(
        "$EE F(theta_t) - F^star = 1/2 sum_j lambda_j s_j$ with $s_j arrow.l (1 - 2 x_j + (kappa - 1) x_j^2) s_j + "
        "eta^2 (lambda_j sum_k lambda_k s_k + sigma_s^2 lambda_j + N c_(j t))$, $c_(j t) = (B B^top)_(t t) + 2 "
        "sum_(s < t) (B B^top)_(t s) (1 - x_j)^(t - s)$, from every $theta_0$."
    ),
    hypotheses="Inputs as above; every correlation, also a matrix $B$ for $T$ steps.",
    checks=(
        Agreement(facts=_trajectories, impostors={"a step late": {"facts": {"shift": 1}}}),
        MonteCarlo(
            means=Means(cases=_trajectory_cases, axes=("step $t$", "$EE F(theta_t) - F^star$")),
            resolution={"quick": 0.08, "full": 0.02, "paper": 0.01},
            impostors={"20 % too large": {"scale": 1.2}},
        ),
    ),
)


# --- stability ---


def _radius(law: input_laws.Laws, eta: float) -> float:
    """Spectral radius of M -> E[(I - eta x x^T) M (I - eta x x^T)], all entries of M."""
    d = law.covariance.shape[1]
    after_step = system(law, eta, [1.0], 0.0, 0.0).after_step
    columns = [after_step(unit.reshape(1, d, d)).ravel() for unit in np.eye(d * d)]
    return float(np.abs(np.linalg.eigvals(np.array(columns))).max())


def _edges(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact]:
    for (name, law), spectrum in itertools.product(LAWS.items(), ([1.0], [1.0, 0.3], [1.0, 0.5, 0.1])):
        limit = factor * linear_regression.stability_limit(np.array(spectrum), kurtosis=KURTOSIS[name])
        label = f"spectral radius at the largest eta, {name}, lambda = {spectrum}"
        yield Fact(label, _radius(law(np.array(spectrum)), limit), 1.0, 1e-9)


def _either_side(kurtosis: float, spectrum: np.ndarray, factor: float = 1.0) -> tuple[float, float]:
    """Below 1 a millionth below the limit, above 1 a millionth above it."""
    limit = factor * linear_regression.stability_limit(spectrum, kurtosis=kurtosis)
    law = input_laws.product(spectrum[None], np.array([kurtosis]))
    below, above = (_radius(law, limit * (1 + step)) for step in (-1e-6, 1e-6))
    return max(below, 2.0 - above), 1.0


def _between(numerator: int = 2) -> Iterator[tuple[str, sympy.Expr]]:
    """x_j/2 <= x_j^2/D_j <= x_j/(2 - k x_1), k = kappa - 1: the sum is at least eta Tr H / 2, and at most 1 if eta (Tr
    H + k lambda_1) <= 2. With k x_1 = 2/(1 + t), x_j = x_1/(1 + u).
    """
    t, u = sympy.symbols("t u", positive=True)
    first = 2 / (1 + t)
    term = 1 / (2 - first / (1 + u))
    yield "x_j/D_j - 1/2", term - sympy.Rational(1, 2)
    yield "1/(2 - k x_1) - x_j/D_j", 1 / (numerator - first) - term


STABILITY_LIMIT = Claim(
    id="ftrl/beyond-stability-limit",
    where=f"{OURS}: largest stable learning rate",
    kind="identity",
    statement=(
        (
            r"Second moments stay bounded for $eta$ below the root of $sum_j x_j^2\/D_j = 1$, all $D_j > 0$, and above "
            "it they grow without bound;"
        ),
        r'$2\/R^2 <= eta <= 2\/op("Tr") H$ at the root.',
    ),
    hypotheses="Inputs as above, "
    + DECAY
    + '. Neither the noise nor its correlation matters; $R^2 = op("Tr") H + (kappa - 1) lambda_1$.',
    checks=(
        Symbolic(decides="b", nonnegative=_between, impostors={"3 - k x_1": {"nonnegative": {"numerator": 3}}}),
        Agreement(decides="a", facts=either_side, impostors={"0.1 % off": {"facts": Times(1.001)}}),
        Agreement(decides="a", facts=_edges, impostors={"0.1 % larger": {"facts": {"factor": 1.001}}}),
        Search(
            decides="b",
            sides=_either_side,
            box={"kurtosis": Real(1.0, 9.0), "spectrum": (Real(1e-3, 1.0, "log"), 3)},
            evaluations={"quick": 500, "full": 20_000},
            impostors={"0.1 % larger": {"sides": {"factor": 1.001}}},
        ),
    ),
)
