"""The correlation of least error for a known spectrum, how near nu-Noisy-FTRL comes to it, and what none can beat."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dpbounds.circle.quadrature import circle_nodes
from dpbounds.ftrl import correlations, linear_regression
from dpbounds.ftrl.linear_regression import Regression, power_law
from verify.checks import Agreement, Fact, Inequality, Search, Times, Within
from verify.checks.domains import Real, Whole
from verify.papers.ftrl.beyond.exact import BUDGET, CLIP_NORM, OURS
from verify.papers.ftrl.tools.input_laws import gaussian, product
from verify.papers.ftrl.tools.regression import Sides, minimum_phase
from verify.papers.ftrl.tools.second_moments import stationary, suboptimality
from verify.statements.claims import Claim

Batch = tuple[np.ndarray, np.ndarray]

OMEGA, WEIGHTS = circle_nodes(0.5)
SINE_SQUARED = np.sin(OMEGA / 2) ** 2


def _gain(spectrum: np.ndarray, eta: np.ndarray) -> np.ndarray:
    """g = sum_j lambda_j (2 - x_j) / ((1 - x_j) E_{x_j}^2) on the nodes: for Gaussian inputs F_inf is proportional to
    int |B|^{-2} int |B|^2 g.
    """
    x = (eta[:, None] * spectrum)[:, :, None]
    distance_squared = x**2 + 4.0 * (1.0 - x) * SINE_SQUARED
    return np.sum(spectrum[:, :, None] * (2.0 - x) / ((1.0 - x) * distance_squared), axis=1)


def _perturbed(second: np.ndarray, third: np.ndarray, share: np.ndarray, logs: np.ndarray) -> Batch:
    """The product at the stated spectrum and at that times the exponential of a cosine series."""
    eigenvalues = np.stack([np.ones_like(second), second, third], axis=1)
    eta = share / eigenvalues.sum(axis=1)
    best = []
    for row in range(len(eta)):
        spectrum = linear_regression.optimal_spectrum(eigenvalues[row], eta[row])
        best.append(spectrum(OMEGA))
    optimum, gain = np.array(best), _gain(eigenvalues, eta)
    other = optimum * np.exp(logs @ np.cos(np.outer(1 + np.arange(logs.shape[1]), OMEGA)))
    least, more = ((1.0 / B @ WEIGHTS) * ((B * gain) @ WEIGHTS) for B in (optimum, other))
    return least, more


def _direct(rng: np.random.Generator) -> Iterator[Fact]:
    """The stated value against F_inf of the factored correlation: exact, and by brute force with 3000 weights."""
    options = {"clip_norm": CLIP_NORM, "sigma_sgd": 0.5}
    for spectrum, eta, kurtosis in (([1.0], 0.4, 3.0), ([1.0, 0.3], 0.2, 1.0), ([1.0, 0.2, 0.1], 0.35, 3.0)):
        eigenvalues = np.array(spectrum)
        problem = Regression(eigenvalues=eigenvalues, eta=eta, rho=BUDGET, **options, kurtosis=kurtosis)
        value = float(linear_regression.optimal_suboptimality(problem))
        correlation = linear_regression.optimal_correlation(eigenvalues, eta, kurtosis=kurtosis)
        exact = linear_regression.suboptimality(correlation, problem)
        yield Fact(f"by the exact value, lambda = {spectrum}", float(exact), value, 1e-9)
        noise = CLIP_NORM**2 * float(np.sum(correlation.inverse_coefficients(3000) ** 2)) / (2 * BUDGET)
        law = gaussian(spectrum) if kurtosis == 3 else product(eigenvalues[None], np.array([kurtosis]))
        brute = suboptimality(law, stationary(law, eta, correlation.coefficients(3000).tolist(), noise, 0.25))
        yield Fact(f"by brute force, lambda = {spectrum}", brute, value, 1e-6)


def _one_direction(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact]:
    """d = 1: F_inf at nu = factor eta mu is the optimum, and a search over nu finds it."""
    for x in (1e-9, 0.01, 0.3, 0.6):
        optimum = linear_regression.optimal_suboptimality(Regression(eigenvalues=np.array([1.0]), eta=x, rho=0.5))
        value = linear_regression.suboptimality(
            correlations.nu(factor * x), Regression(eigenvalues=np.array([1.0]), eta=x, rho=0.5)
        )
        yield Fact(f"F_inf at nu = eta mu over the optimum, eta mu = {x:g}", float(value), float(optimum), 1e-11)
        nu, ratio = linear_regression.best_nu(np.array([1.0]), x)
        yield Fact(f"best nu, eta mu = {x:g}", nu, factor * x, 1e-2)
        yield Fact(f"its error over the optimum, eta mu = {x:g}", float(ratio), 1.0, 1e-6)


# How far the best nu and nu = eta mu are from the optimum at most, in per cent; dimensions and eta Tr H up to these.
EXCESS = (3, 12)
LARGEST_D, LARGEST_SHARE = 1000, 0.3


def _best_nu(d: float, alpha: float, share: float, excess: tuple[float, float] = EXCESS) -> Sides:
    """How far the best nu and nu = eta mu are from the optimum, over `excess` per cent, the worse of the two."""
    spectrum = power_law(int(d), alpha)
    eta = share / spectrum.sum()
    _, best = linear_regression.best_nu(spectrum, eta)
    slowest = linear_regression.suboptimality(
        correlations.nu(eta * spectrum.min()), Regression(eigenvalues=spectrum, eta=eta, rho=0.5)
    )
    ratio = slowest / linear_regression.optimal_suboptimality(Regression(eigenvalues=spectrum, eta=eta, rho=0.5))
    return max(100 * (best - 1.0) / excess[0], 100 * (ratio - 1.0) / excess[1]), 1.0


def _two_scales(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Within]:
    """One large eigenvalue and many tiny ones: no nu serves both."""
    ratios = []
    for copies in (10, 1000, 100_000):
        _, ratio = linear_regression.best_nu(np.concatenate([[1.0], np.full(copies, 1e-6 / copies)]), 0.1)
        ratios.append(factor * float(ratio))
    numbers: dict[str, float] = dict(zip(("few", "many", "very_many"), ratios, strict=True))
    yield Within("best nu over the optimum, 100000 copies", ratios[-1], 3.5, numbers=numbers)
    yield Within("its least growth, from 10 to 1000 to 100000 copies", np.diff(ratios).min(), 0.9)


OPTIMAL_CORRELATION = Claim(
    id="ftrl/beyond-optimal-correlation",
    where=f"{OURS}: best correlation for a known spectrum",
    kind="inequality",
    statement=(
        r"$F_oo$ is least at $abs(B)^2 prop g^(-1\/2)$, $g = sum_j (lambda_j (2 - x_j))\/((1 - x_j) E_(x_j)^2)$;",
        (
            r"then its privacy part is $(eta^2 G^2)/(8 rho) (1/(2 pi) integral sqrt(g))^2 \/ (1 - 1/2 sum_j x_j\/(1 - "
            "x_j))$."
        ),
        "At $d = 1$ this is $nu = eta mu$.",
    ),
    hypotheses="Gaussian inputs.",
    remark=(
        'For $lambda_k = k^(-a)$, $a <= 1$, $d <= {largest_d}$, $eta op("Tr") H <= {largest_share}$ the best $nu$ is '
        "within ${best_within}$ % of it and $nu = eta mu$ within ${slowest_within}$ %. For one eigenvalue 1 and $n$ "
        "small ones, $10^(-6)$ in all, the best $nu$ has ${few:2}$, ${many:2}$ and ${very_many:2}$ times the least "
        "error at $n = 10, 10^3, 10^5$."
    ),
    given={
        "largest_d": LARGEST_D,
        "largest_share": LARGEST_SHARE,
        "best_within": EXCESS[0],
        "slowest_within": EXCESS[1],
    },
    checks=(
        Search(
            decides="a",
            sides=_perturbed,
            box={
                "second": Real(1e-4, 1.0, "log"),
                "third": Real(1e-4, 1.0, "log"),
                "share": Real(1e-4, 0.6, "log"),
                "logs": (Real(-2.0, 2.0), 6),
            },
            vectorised=True,
            evaluations={"quick": 2_000, "full": 20_000},
            impostors={"5 % less": {"sides": Times(1.05, 1)}},
        ),
        Agreement(decides="ab", facts=_direct, impostors={"1 % off": {"facts": Times(1.01)}}),
        Agreement(decides="c", facts=_one_direction, impostors={"nu = 1.5 eta mu": {"facts": {"factor": 1.5}}}),
        Search(
            decides="a",
            sides=_best_nu,
            box={
                "d": Whole(1, LARGEST_D, "log"),
                "alpha": Real(0.0, 1.0),
                "share": Real(1e-6, LARGEST_SHARE, "log"),
            },
            evaluations={"quick": 30, "full": 300},
            impostors={"2 % and 12 %": {"sides": {"excess": (2, 12)}}},
        ),
        Agreement(decides="a", facts=_two_scales, impostors={"half": {"facts": {"factor": 0.5}}}),
    ),
)


# --- every correlation ---


def _least_product(m, x):
    """(2 - x) (mean over the circle of 1 / E_x)^2, a lower bound on gamma_inf^2 c(x) / x for every correlation."""
    return (2 - x) * (m.integral_inverse(x) / (2 * m.pi)) ** 2


def _every_correlation(
    reflection: np.ndarray, spectrum: np.ndarray, share: float, kurtosis: float, residual: float, factor: float = 1.0
) -> Sides:
    """`lower_bound` against exact F_inf, independent entries, eta R^2 = 2 share."""
    R_squared = spectrum.sum() + (kurtosis - 1.0) * spectrum.max()
    eta = min(2.0 * share / R_squared, 1.0 / spectrum.max())
    parts = {"clip_norm": np.sqrt(1.0 - residual), "sigma_sgd": np.sqrt(residual)}
    correlation = correlations.from_coefficients(minimum_phase(reflection))
    problem = Regression(eigenvalues=spectrum, eta=eta, rho=0.5, kurtosis=kurtosis, **parts)
    value = linear_regression.suboptimality(correlation, problem)
    return factor * float(linear_regression.lower_bound(problem)), float(value)


def _truncated_optimum() -> Iterator[dict]:
    """The first weights of nu-Noisy-FTRL at nu = eta mu: nearest to equality in one direction."""
    for x in (0.05, 0.3, 0.6):
        reflection = correlations.from_coefficients(correlations.nu(x).coefficients(5)).reflection_coefficients()[::-1]
        spectrum = np.array([1.0, 1e-9, 1e-9])
        yield {"reflection": reflection, "spectrum": spectrum, "share": x / 2, "kurtosis": 1.0, "residual": 0.0}


def _sum_of_optima(rng: np.random.Generator) -> Iterator[Fact]:
    """In one direction with entries +-1 the best correlation has exactly 2 / (2 - x) times `lower_bound`, which adds up
    over the directions.
    """
    spectrum, eta = np.array([1.0, 0.3, 0.01]), 0.4
    options = {"clip_norm": CLIP_NORM, "sigma_sgd": 0.7}
    best = [
        (1 - eta * one / 2)
        * float(
            linear_regression.optimal_suboptimality(
                Regression(eigenvalues=np.array([one]), eta=eta, rho=BUDGET, **options, kurtosis=1.0)
            )
        )
        for one in spectrum
    ]
    bound = linear_regression.lower_bound(Regression(eigenvalues=spectrum, eta=eta, rho=BUDGET, **options))
    yield Fact("over the directions", sum(best), float(bound), 1e-11)


def _fifth(m, x, constant="0.2"):
    """`constant` log^2(8 / x)."""
    return m.number(constant) * m.log(8 / x) ** 2


LOWER_ANY_CORRELATION = Claim(
    id="ftrl/beyond-lower-any-correlation",
    where=f"{OURS}: lower bound for any correlation",
    kind="inequality",
    statement=(
        '$F_oo >= eta/4 (sigma_s^2 op("Tr") H + G^2/(2 rho) sum_j x_j (2 - x_j) (1/(2 pi) integral (dif '
        'omega)\\/E_(x_j) )^2) >= eta/4 sigma_s^2 op("Tr") H + (eta^2 G^2)/(40 rho) sum_j lambda_j log^2 8/(eta '
        "lambda_j)$."
    ),
    hypotheses="Any inputs, every correlation, $eta lambda_1 <= 1$, $E_x = abs(1 - x - e^(i omega))$.",
    checks=(
        Search(
            sides=_every_correlation,
            box={
                "reflection": (Real(-0.99, 0.99), 4),
                "spectrum": (Real(1e-6, 1.0, "log"), 3),
                "share": Real(1e-4, 0.99, "log"),
                "kurtosis": Real(1.0, 6.0),
                "residual": Real(0.0, 0.999),
            },
            extremal=_truncated_optimum,
            evaluations={"quick": 1000, "full": 20_000},
            impostors={"20 % larger": {"sides": {"factor": 1.2}}},
        ),
        Agreement(facts=_sum_of_optima, impostors={"1e-6 off": {"facts": Times(1.000001)}}),
        Inequality(
            smaller=_fifth,
            larger=_least_product,
            box={"x": Real(1e-300, 1.0, "log")},
            impostors={"0.21": {"smaller": {"constant": "0.21"}}},
        ),
    ),
)
