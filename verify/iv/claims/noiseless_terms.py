"""Section 3: the optimisation and the statistical term of (7), Corollary 3.1, Remark 3.8: 2S-GD without noise."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import mpmath
import numpy as np
import sympy

from dpbounds.iv import Design, error_bound
from dpbounds.iv.gaussian_norm import norm_quantile
from simulators.engine import Arrays, Experiment
from simulators.iv import Settings, two_stage_descent
from verify.checks import Agreement, Fact, Power, Quantiles, Rate, Reading, Symbolic
from verify.claims import Claim, Correction
from verify.iv.claims.rationals import TwoStage, identity, power
from verify.iv.claims.reference import descent, noiseless, rational_records
from verify.iv.claims.samples import drawn, isotropic_model
from verify.iv.claims.setups import TAU

Ratios = Iterator[tuple[str, float]]

# --- the optimisation term ---


def _log_distance(h: np.ndarray, steps: float) -> float:
    """log ||(I - alpha H)^{T-1} beta|| for A = I, eta = 1, beta = (1, ..., 1), alpha = 2 / (2 h_max + h_min)."""
    logs = 2 * (steps - 1) * np.log(np.abs(1 - 2 * h / (2 * h.max() + h.min())))
    return float(0.5 * (logs.max() + np.log(np.exp(logs - logs.max()).sum())))


def _over_optimisation_term(decades: float, power: float = 0.5) -> Ratios:
    """Noiseless error over kappa^{T/2}, delta = psi = 0: the smallest kappa."""
    steps = 10.0**decades
    for h in ([1.0], [1.0, 2.0], [0.01, 1.0], [1e-4, 0.1, 1.0]):
        spread = np.array(h)
        kappa = 2 * spread.max() / (2 * spread.max() + spread.min())
        excess = _log_distance(spread, steps) - power * steps * math.log(kappa)
        yield f"spectrum of H = {h}", math.exp(min(excess, 690.0))


def _exponents() -> Iterator[tuple[str, sympy.Expr]]:
    """With alpha <= 1 / gamma-upper both |1 - alpha gamma| for gamma at either end are at most kappa_beta²; u = alpha
    gamma-lower / 2, alpha gamma-upper = 1 / (1 + s).
    """
    u, s = sympy.symbols("u s", positive=True)
    yield "kappa_beta² - (1 - alpha gamma-lower)", (1 - u) ** 2 - (1 - 2 * u)
    yield "1 - alpha gamma-upper", 1 - 1 / (1 + s)


@cache
def _exact() -> TwoStage:
    """One integer data set, n = 9, q = 3, p = 2."""
    return TwoStage(rational_records(np.random.default_rng(3), 9, 3, 2))


def _forcing(solved: TwoStage) -> np.ndarray:
    """Z'r / n."""
    return solved.records.Z.T @ solved.r / solved.n


@cache
def _long_run(steps: int) -> tuple[list[Any], float]:
    """log ||e_t|| of 2S-GD on the integer data set in 150 digits; log of the larger spectral radius."""
    A, theta_hat = (np.asarray(part, dtype=float) for part in (_exact().A, _exact().theta_hat))
    H = theta_hat.T @ A @ theta_hat
    eta, alpha = (Fraction(1, math.ceil(np.linalg.eigvalsh(matrix)[-1])) for matrix in (A, H))
    with mpmath.workdps(150):
        logs = _distances(eta, alpha, steps)
    radii = [1 - float(step) * np.linalg.eigvalsh(matrix)[0] for step, matrix in ((eta, A), (alpha, H))]
    return logs, math.log(max(radii))


def _distances(eta: Fraction, alpha: Fraction, steps: int) -> list[Any]:
    def matrix(values: np.ndarray) -> Any:
        return mpmath.matrix([[mpmath.mpf(x.numerator) / x.denominator for x in row] for row in np.atleast_2d(values)])

    solved = _exact()
    A, G, target = matrix(solved.A), matrix(solved.A @ solved.theta_hat), matrix(solved.beta_hat).T
    b, first, second = matrix(solved.A @ solved.theta_hat @ solved.beta_hat - _forcing(solved)).T, *_numbers(eta, alpha)
    theta, beta, logs = mpmath.zeros(G.rows, G.cols), mpmath.zeros(G.cols, 1), []
    for _ in range(steps):
        theta, beta = theta - first * (A * theta - G), beta - second * (theta.T * (A * (theta * beta) - b))
        logs.append(mpmath.log(mpmath.norm(beta - target)))
    return logs


def _numbers(*fractions: Fraction) -> tuple[Any, ...]:
    return tuple(mpmath.mpf(x.numerator) / x.denominator for x in fractions)


def _decay(rng: np.random.Generator, power: float = 1.0) -> Iterator[Fact]:
    """Slope of log ||e_t|| over the last steps against the log of the spectral radius."""
    logs, radius = _long_run(600)
    slope = float(logs[-1] - logs[-101]) / 100
    yield Fact("slope of log ||beta_t - beta_hat||, 500 <= t <= 600", slope, power * radius, 1e-6)


# --- the statistical term ---


def _stated(decades: float) -> tuple[float, float, float]:
    """||beta_T - beta_hat|| on the integer data set, kappa^{T/2} with the larger spectral radius for kappa, and the
    statistical term.
    """
    logs, radius = _long_run(600)
    steps, solved = min(round(10**decades), 600), _exact()
    design = Design(n=solved.n, p=2, q=3, theta_norm=1.0, theta_least=1.0, tau=TAU)
    bound = error_bound(design, steps=steps, rho1=math.inf, rho2=math.inf, kappa=math.exp(radius))
    return float(mpmath.exp(logs[steps - 1])), float(bound.optimisation), float(bound.statistical)


def _over_statistical_term(decades: float) -> Ratios:
    """What a sum contains is at most of its order."""
    error, _, statistical = _stated(decades)
    yield "the statistical term over the error, T -> oo", statistical / error


def _over_corollary(decades: float) -> Ratios:
    error, optimisation, statistical = _stated(decades)
    yield "growing T", error / (optimisation + statistical)


def _corollary_over_error(decades: float) -> Ratios:
    ((_, ratio),) = _over_corollary(decades)
    yield "(9) over the error, T -> oo", 1 / ratio


def _over_optimisation(decades: float, power: float = 1.0) -> Ratios:
    """The error over kappa^T: Theta(1) on this data set, where one radius is larger."""
    error, optimisation, _ = _stated(decades)
    yield "growing T", error / optimisation ** (2 * power)


def _normal_equations(rng: np.random.Generator, sign: int = -1) -> Iterator[Fact]:
    """In rationals: theta_hat'Z'r = 0, Z'r = 0 only for q = p; what enters is Theta_t'Z'r = -theta_hat'M^t Z'r."""
    eta, alpha = Fraction(1, 7), Fraction(1, 9)
    for q, p in ((3, 2), (4, 1), (2, 2)):
        solved, at = TwoStage(rational_records(rng, 9, q, p)), f"q = {q}, p = {p}"
        forcing, M = _forcing(solved), identity(q) - eta * solved.A
        yield Fact(f"theta_hat' Z'r, {at}", solved.theta_hat.T @ forcing, np.zeros(p, dtype=object), 0)
        yield Fact(f"Z'r is not 0, {at}", bool(np.any(forcing != 0)), q > p, 0)
        path = descent(solved.records, eta=eta, alpha=alpha, noise=noiseless(4))
        stated = sign * solved.theta_hat.T @ power(M, 4) @ forcing
        yield Fact(f"Theta_4' Z'r, {at}", path[4][0].T @ forcing, stated, 0)


def _median_slope() -> float:
    """Slope over p = 2, 6, 16 of the median length of a standard normal vector in R^p: 1/2 for large p."""
    medians = [norm_quantile(np.zeros(p), np.eye(p)) for p in (2, 6, 16)]
    return float(np.polyfit(np.log((2, 6, 16)), np.log(medians), 1)[0])


# (p, q, n), one of them at a time.
STATISTICAL_GRID = {
    "p": [(p, 16, 10**4) for p in (2, 6, 16)],
    "q": [(2, q, 10**4) for q in (2, 6, 16)],
    "n": [(2, 16, n) for n in (10**4, 10**5, 10**6)],
}


def _statistical_errors() -> list[Reading]:
    """||beta_hat - beta||, Theta = 2 [I; 0]: to first order N(0, I / (4 n)) in R^p, whatever q."""
    readings = []
    for place, (group, sizes) in enumerate(STATISTICAL_GRID.items()):
        for size in sizes:
            p, q, n = size
            reading = Reading(
                label=f"{group} = {size[place]}",
                experiment=drawn(isotropic_model(n, p, q, scale=2.0, endogeneity=0.5)),
                output="estimator",
                predicted=lambda p=p, n=n: norm_quantile(np.zeros(p), np.eye(p) / (4 * n)),
                x=size[place],
                group=group,
            )
            readings.append(reading)
    return readings


# Printed: sqrt(pq) (tau + log(pq)) / sqrt(n), the logarithm left out.
STATISTICAL_POWERS = (
    Power(group="p", printed=0.5, instead=_median_slope()),
    Power(group="q", printed=0.5, instead=0.0, tolerance=0.15),
    Power(group="n", printed=-0.5),
)

# --- Remark 3.8 ---

DIMENSIONS = (2, 4, 8, 16, 32)


def _relative_error(arrays: Arrays) -> np.ndarray:
    """||beta_T - beta|| / ||beta_hat - beta|| on the same data."""
    return arrays["error_true"] / arrays["two_stage_error"]


def _converged(target: str = "error") -> list[Reading]:
    """2S-GD with T = 100 and 2SLS on common data, n = 200 p, Theta = [I; 0]."""
    readings = []
    for p in DIMENSIONS:
        for group, q in (("q = p", p), ("q = 2 p", 2 * p)):
            experiment = Experiment(
                algorithm=two_stage_descent,
                problem=isotropic_model(200 * p, p, q, endogeneity=0.5),
                settings=Settings(steps=100, eta=1.0, alpha=2.0 / 3.0),
                block_trials=64,
            )
            reading = Reading(
                label=f"{group}, p = {p}",
                experiment=experiment,
                output=_relative_error,
                predicted=lambda: 1.0,
                x=p,
                group=group,
            )
            readings.append(reading)
    return readings


RATIO_AXES = ("p", "error of 2S-GD over error of 2SLS, T = 100")
EXTENTS = (0.35, 0.7, 1.4, 2.8)

CLAIMS = (
    Claim(
        id="iv/thm-3.1-term1",
        where="Theorem 3.1, (7); Remark 3.5",
        kind="mc-rate",
        statement=(
            "The optimisation term is $kappa^(T\\/2)$: the error left by the iterations decays exponentially in $T$."
        ),
        hypotheses=(
            "Without noise and clipping, $delta = psi = 0$ (the smallest $kappa$), step sizes of Section 4. An upper "
            "bound: the error decays like the $T$-th power of the spectral radius, and $1 - alpha underline(gamma) <= "
            "kappa_beta^2$, so at least four times as fast."
        ),
        checks=(
            Rate(
                ratios=_over_optimisation_term,
                relation="upper",
                extents=(1.0, 2.0, 4.0, 8.0),
                impostors={"kappa^(2.1 T)": {"ratios": lambda decades: _over_optimisation_term(decades, 2.1)}},
            ),
            Agreement(facts=_decay, impostors={"rate 1 % off": {"facts": lambda rng: _decay(rng, 1.01)}}),
            Symbolic(nonnegative=_exponents),
        ),
    ),
    Claim(
        id="iv/thm-3.1-term3",
        where="Theorem 3.1, (7); (12), Lemma D.8",
        kind="mc-rate",
        statement=(
            "The error against $hat(beta)$ contains a statistical term $(sqrt(p q) (tau + log(p q)))\\/sqrt(n)$, which "
            "comes from $Theta^((t) top) Z^top r$."
        ),
        hypotheses="Without noise and clipping, fixed data with $q > p$, $T$ growing; 150 digits.",
        checks=(Rate(ratios=_over_statistical_term, relation="upper", extents=EXTENTS),),
        correction=Correction(
            statement=(
                "there is none: $hat(Theta)^top Z^top r = 0$ are the normal equations of the second stage, so "
                "$Theta^((t) top) Z^top r = -hat(Theta)^top (I - eta A)^t Z^top r$ vanishes geometrically, and "
                "$beta^((t)) -> hat(beta)$ at any $n$. What statistical error there is lies between $hat(beta)$ and "
                "$beta$, and is of order $sqrt(p\\/n)$, whatever $q$."
            ),
            checks=(
                Agreement(
                    facts=_normal_equations,
                    impostors={"other sign": {"facts": lambda rng: _normal_equations(rng, 1)}},
                ),
                Rate(
                    ratios=_over_optimisation,
                    relation="theta",
                    extents=EXTENTS,
                    impostors={"kappa^(T/2)": {"ratios": lambda decades: _over_optimisation(decades, 0.5)}},
                ),
                Quantiles(
                    readings=_statistical_errors,
                    resolution={"quick": 0.2, "full": 0.06},
                    powers=STATISTICAL_POWERS,
                    trials={"quick": 1500, "full": 12_000},
                    theory="asymptotic",
                    axes=("n, p or q", "median of ||beta_hat - beta||"),
                    impostors={"slope 1/2 in q": {"powers": (Power(group="q", printed=0.5),)}},
                ),
            ),
        ),
    ),
    Claim(
        id="iv/cor-3.1",
        where="Corollary 3.1, (9)",
        kind="mc-rate",
        statement=(
            "For $rho_1 = rho_2 = oo$ and any $T > 0$: $norm(beta^((T)) - hat(beta)) lt.tilde kappa^(T\\/2) + (sqrt(p "
            "q) (tau + log(p q)))\\/sqrt(n)$, which is exactly the rate of convergence of 2S-GD."
        ),
        hypotheses="No gradient is clipped. Exactly: up to constants from above and below, on given data.",
        checks=(Rate(ratios=_corollary_over_error, relation="theta", extents=EXTENTS),),
        correction=Correction(
            statement=(
                "(9) is an upper bound and no more: the rate of 2S-GD is $kappa^T$ with $kappa = max{rho(I - eta A), "
                "rho(I - alpha hat(H))}$ (spectral radii), without a second term."
            ),
            checks=(
                Rate(ratios=_over_corollary, relation="upper", extents=EXTENTS),
                Rate(
                    ratios=_over_optimisation,
                    relation="theta",
                    extents=EXTENTS,
                    impostors={"kappa^(T/2)": {"ratios": lambda decades: _over_optimisation(decades, 0.5)}},
                ),
                Agreement(facts=_decay, impostors={"half the rate": {"facts": lambda rng: _decay(rng, 0.5)}}),
            ),
        ),
    ),
    Claim(
        id="iv/rem-3.8",
        where="Remark 3.8, Conclusion",
        kind="mc-rate",
        statement=(
            "The error of 2S-GD is larger than that of 2SLS by a factor $sqrt(p)$, even without privacy; to match 2SLS "
            "may need a different algorithm."
        ),
        hypotheses=(
            "Both errors against $beta$ on common data, $n = 200 p$, $Theta = [I; 0]$, $q = p$ and $q = 2 p$, $T = "
            "100$. The quotient of (9) and Lemma D.7 is $sqrt(p)$ up to logarithms; read as a statement on the errors, "
            "which Figure 9 is to confirm with runs that have not converged."
        ),
        checks=(
            Quantiles(
                readings=_converged,
                powers=(Power(group="q = p", printed=0.5), Power(group="q = 2 p", printed=0.5)),
                axes=RATIO_AXES,
            ),
        ),
        correction=Correction(
            statement=(
                "the limit of 2S-GD is 2SLS, for every $p$ and $n$: once converged the errors are equal. A factor "
                "appears only while $kappa^T$ is not small."
            ),
            checks=(
                Quantiles(
                    readings=_converged,
                    resolution={"quick": 1e-3},
                    powers=(
                        Power(group="q = p", printed=0.0, tolerance=1e-3),
                        Power(group="q = 2 p", printed=0.0, tolerance=1e-3),
                    ),
                    axes=RATIO_AXES,
                    impostors={"1 % more": {"scale": 1.01}},
                ),
                Agreement(facts=_decay),
            ),
        ),
    ),
)
