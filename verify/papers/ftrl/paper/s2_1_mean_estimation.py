"""Section 2.1: private mean estimation on the line, Theorem 2.1. Its proof is in `sb_mean_estimation`, Figure 1 in
`s2_1_figure_1`.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import sympy

from dpbounds.arithmetic import FLOATS
from dpbounds.ftrl import correlations
from dpbounds.ftrl import mean_estimation as theory
from dpbounds.privacy import noise_multiplier
from simulators.engine import Experiment
from simulators.ftrl import MeanEstimation, Settings, mean_estimation
from verify.checks import (
    Agreement,
    Fact,
    GaussianPrivacy,
    Identity,
    Inequality,
    Neighbours,
    Rate,
    Search,
    Symbolic,
    Times,
    Unbounded,
)
from verify.checks.audit import gaussian_zcdp
from verify.checks.domains import Real
from verify.papers.ftrl.paper.s1_1_algorithm import CONDITIONED, PRIVATE, PRIVATE_BY
from verify.statements.claims import Claim, Correction, Fault
from verify.statements.derivations import Derivation

# --- Theorem 2.1: privacy ---


def _released(T: int, position: int, *, eta: float = 0.2, rho: float = 0.7, share: float = 1.0) -> Neighbours:
    """All iterates of a run with z_t = 1 against one with that gradient zeroed: the linear map of (14) on noise and
    gradient, the noise's variance multiplied by `share`.
    """
    response = np.array([[(1 - eta) ** (t - s) if s <= t else 0.0 for s in range(T)] for t in range(T)]) * -eta
    correlation = theory.optimal_correlation(eta)
    gamma = float(correlation.limiting_sensitivity())
    deviation = noise_multiplier(adjacency="zero-out", rho=rho, sensitivity=gamma)
    factor = response @ correlation.matrix(T)
    return Neighbours(
        label=f"T = {T}, position {position}",
        shift=response[:, position],
        covariance=share * deviation**2 * factor @ factor.T,
        claimed_rho=rho,
    )


def _neighbours(share: float = 1.0) -> Iterator[Neighbours]:
    for T in (1, 2, 5, 60):
        for position in {0, T // 2, T - 1}:
            yield _released(T, position, share=share)


def _spent(rng: np.random.Generator) -> Iterator[Fact]:
    """The first gradient of a long run costs all of the budget."""
    pair = _released(80, 0)
    yield Fact("zCDP cost of the first gradient, T = 80", gaussian_zcdp(pair.shift, pair.covariance), 0.7, 1e-8)


def _unclipped(rng: np.random.Generator, clip_norm: float = 1.0) -> Iterator[Fact]:
    problem = MeanEstimation(mean=0.25, sigma_sgd=0.75)
    settings = Settings(correlation=correlations.nu(0.2), eta=0.2, rho=0.1, steps=200, clip_norm=clip_norm)
    run = Experiment(algorithm=mean_estimation, problem=problem, settings=settings, block_trials=50).run_block(
        0, seed=0
    )
    yield Fact("gradients clipped in 10000 steps with |z| up to 1", int(run["clipped"].sum()), 0, 0)


THM_2_1_PRIVACY = Claim(
    id="ftrl/thm-2.1-privacy",
    where="Theorem 2.1",
    page=5,
    kind="privacy",
    statement=(
        "No gradient is clipped, and $(theta_t)$ is $rho$-zCDP for every horizon with $sigma_(d p)^2 = gamma_oo^2 \\/ "
        "(2 rho)$."
    ),
    hypotheses="$abs(z) <= 1 = G$, zero-out adjacency.",
    setting="Exact laws at $eta = 0.2$, $rho = 0.7$, horizons up to 80, the optimal correlation.",
    checks=(
        CONDITIONED,
        GaussianPrivacy(
            pairs=_neighbours, impostors={"5 % less noise variance": {"pairs": {"share": 0.95}}}, role="control"
        ),
        Agreement(facts=_spent, impostors={"5 % off": {"facts": Times(1.05)}}, role="control"),
        Agreement(facts=_unclipped, impostors={"clip norm 0.9": {"facts": {"clip_norm": 0.9}}}, role="control"),
    ),
    derivation=Derivation(
        text="The gradient that is clipped is $-z$, of modulus at most $1 = G$; the regulariser's is not. "
        + PRIVATE
        + "Here $C$ is Toeplitz: its columns are the first coefficients of $1\\/B(z)$, so $gamma_T <= gamma_oo$ for "
        "every horizon $T$.",
        lemmas=PRIVATE_BY,
    ),
)

# --- Theorem 2.1: DP-SGD ---


def _two_sided_sgd(upper: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """Between 1/4 and 1 times eta (1 / rho + sigma_s^2), both sharp; eta = 1 / (1 + t) in (0, 1]."""
    t, budget, s = sympy.symbols("t budget s", positive=True)
    eta = 1 / (1 + t)
    value, rate = theory.variance(eta, budget / 2, s), eta * (budget + s)
    yield "value >= rate / 4", value - rate / 4
    yield "value <= rate", rate - upper * value


def _sharp_sgd(rng: np.random.Generator) -> Iterator[Fact]:
    """Both constants are reached: 1/4 as eta -> 0 without residuals, 1 at eta = 1 without noise."""
    yield Fact("value / rate at eta = 1e-12, sigma_s = 0", theory.independent_variance(1e-12, 3.0) * 3e12, 1 / 4, 1e-11)
    without_noise = theory.independent_variance(1.0, 1e12, sigma_sgd=0.5) / 0.25
    yield Fact("value / rate at eta = 1, rho = 1e12", without_noise, 1.0, 1e-11)


THM_2_1_DPSGD = Claim(
    id="ftrl/thm-2.1-dpsgd",
    where="Theorem 2.1",
    page=5,
    kind="mc-rate",
    statement="For DP-SGD $F_oo = Theta(eta rho^(-1) + eta sigma_s^2)$.",
    hypotheses="$0 < eta <= 1$, $G = 1$.",
    remark="$F_oo = lim EE delta_t^2$ lies between $1\\/4$ and 1 times $eta rho^(-1) + eta sigma_s^2$; both are sharp.",
    checks=(
        Symbolic(nonnegative=_two_sided_sgd, impostors={"upper constant 1/2": {"nonnegative": {"upper": 2}}}),
        Agreement(facts=_sharp_sgd, impostors={"1 % off": {"facts": Times(1.01)}}, role="control"),
    ),
    derivation=Derivation(
        text=(
            "$delta_(t + 1) = (1 - eta) delta_t + eta (sigma_s u_t - w_t)$ with independent draws of variance $1\\/(2 "
            "rho)$ has the limit $F_oo = eta^2 (1\\/(2 rho) + sigma_s^2) sum_t (1 - eta)^(2 t) = eta\\/(2 - eta) "
            "dot.c (1\\/(2 rho) + sigma_s^2)$, which lies between $1\\/4$ and 1 times $eta (1\\/rho + sigma_s^2)$."
        ),
        lemmas=("independence", "geometric series"),
    ),
)

# --- Theorem 2.1: the infimum ---


# The sweep over eta starts in the middle and goes on for this many decades.
MIDDLE, SWEPT = 0.5, (0.5, 1.0, 2.0, 4.0)


def _towards_one(decades: float) -> float:
    return 1 - MIDDLE * 10.0 ** (-decades / 2)


def _rate_ratios(decades: float) -> Iterator[tuple[str, float]]:
    """Exact infimum over the printed rate, rho = 1, towards both ends of eta, without and with residuals."""
    for sigma_sgd in (0.0, 0.5):
        for end, eta in (("eta -> 0", MIDDLE * 10.0**-decades), ("eta -> 1", _towards_one(decades))):
            rate = eta**2 * np.log(1 / eta) ** 2 + eta * sigma_sgd**2
            yield f"{end}, sigma = {sigma_sgd}", theory.optimal_variance(eta, 1.0, sigma_sgd=sigma_sgd) / rate


def _rate_excess(m, s):
    """The infimum over the printed rate at eta = 1 - 1 / (2 s), sigma_s = 0, rho = 1."""
    eta = 1 - 1 / (2 * s)
    return theory.optimal_part(m, eta) / (2 * m.power(eta * m.log(1 / eta), 2))


def _reduced_excess(m, x):
    """M >= 1, as 1 is M at eta = 1 and M falls; log(1 / eta) <= (1 - eta) / eta, with 1 - eta = x / 2."""
    return 2 * m.power(1 - x / 2, 2)


def _above_low(m, eta):
    """At most M(eta) - log(8 / eta) / pi over `_low_factor`, for M = (2 / pi) K and q = sqrt(eta (2 - eta)), the
    complementary modulus.

    K = int_0^oo dt / sqrt((1 + t^2)(1 + q^2 t^2)) is twice its part up to q^{-1/2}; with (1 + x)^{-1/2} >= 1 - x / 2
    there, K - log(4 / q) >= 2 log((1 + s) / 2) - q s / 2 + (q^2 / 2) arsinh(q^{-1/2}), s = sqrt(1 + q). With s = 1 + 2
    v, so q = 4 v (1 + v), and log(1 + v) >= v - v^2 / 2 this is v^2 times at least the value returned; and 2 log(4 / q)
    = log(16 / (eta (2 - eta))) >= log(8 / eta).
    """
    q, v = _modulus(m, eta)
    return 8 * m.power(1 + v, 2) * m.log((1 + m.sqrt(1 + q)) / m.sqrt(q)) - 7 - 4 * v


def _modulus(m, eta):
    """q, and v with sqrt(1 + q) = 1 + 2 v, which is q / (2 (1 + sqrt(1 + q)))."""
    q = m.sqrt(eta * (2 - eta))
    return q, q / (2 * (1 + m.sqrt(1 + q)))


def _low_factor(m, eta):
    """(2 / pi) v^2."""
    return 2 / m.pi * m.power(_modulus(m, eta)[1], 2)


def _below_high(m, eta):
    """Of log(8 / eta) / log 8 - M(eta), 0 at eta = 1: the difference, or a lower bound on log 8 times it over k = 1 -
    eta, whichever is larger; `_high_factor` is the smaller of their factors.

    log(1 / eta) >= k; and M = 1 / agm(1, sqrt(1 - k^2)) <= (1 - k^2)^{-1/4}, the geometric mean, which is at most 1 +
    (k^2 / 4) (1 - k^2)^{-5/4} by the mean value theorem.
    """
    k = 1 - eta
    steep = m.sqrt(m.sqrt(eta * (2 - eta)))
    near_one = 1 - m.log(m.number(8)) * k / (4 * m.power(steep, 5))
    return m.maximum(theory.mean_inverse_bounds(m, eta)[1] - theory.mean_inverse(m, eta), near_one)


def _high_factor(m, eta):
    return m.minimum(m.number(1) + 0 * eta, (1 - eta) / m.log(m.number(8)))


def _reached(rng: np.random.Generator) -> Iterator[Fact]:
    """Both constants are sharp, also in the variances with every parameter in its place."""
    for eta, end, tolerance in ((1e-120, 0, 1e-12), (1.0, 1, 1e-14)):
        bound = theory.optimal_variance_bounds(eta, 0.3, clip_norm=2.0)[end]
        yield Fact(f"bound at eta = {eta:g}", bound, theory.optimal_variance(eta, 0.3, clip_norm=2.0), tolerance)
    rate = 0.01 * np.log(80.0) ** 2 * 4.0 / 0.6
    for bound, constant in zip(
        theory.optimal_variance_bounds(0.1, 0.3, clip_norm=2.0, sigma_sgd=0.5), (np.pi, np.log(8.0)), strict=True
    ):
        yield Fact("bound with residuals", bound, rate / constant**2 + 0.1 * 0.25 / 1.9, 1e-13)


THM_2_1_RATE = Claim(
    id="ftrl/thm-2.1-rate",
    where="Theorem 2.1",
    page=5,
    kind="mc-rate",
    statement="$inf_beta F_oo = Theta(eta^2 rho^(-1) log^2(1\\/eta) + eta sigma_s^2)$.",
    hypotheses="$0 < eta <= 1$, $G = 1$.",
    checks=(
        Rate(
            ratios=_rate_ratios,
            relation="theta",
            extents=SWEPT,
            axes=("decades towards the end of $(0, 1]$", "infimum over the printed rate"),
        ),
        Unbounded(quotient=_rate_excess, reduced=_reduced_excess, power=Fraction(2)),
    ),
    fault=Fault(
        severity="hypothesis",
        touches="statement",
        finding=(
            "Theorem 2.1 prints $Theta(eta^2 rho^(-1) log^2(1\\/eta) + eta sigma_s^2)$ for all $eta <= 1$; with "
            "$sigma_s = 0$ this vanishes as $eta -> 1$ but the infimum does not: infimum over rate is ${first:2}$ at "
            "$eta = {middle}$ and ${last:2}$ at $eta = {end}$, without bound."
        ),
        consequence=(
            "Only learning rates near 1 are touched: for $eta <= 1\\/2$, say, the printed rate is right, and with it "
            "the separation from DP-SGD as $eta -> 0$."
        ),
    ),
    correction=Correction(
        statement=(
            (
                "For $0 < eta <= 1$ and $G = 1$, $inf_beta F_oo = eta^2/(2 rho) M^2 + (eta sigma_s^2)/(2 - eta)$ with "
                r"$M = 2/pi K(1 - eta)$ and $log(8\/eta) \/ pi <= M <= log(8\/eta) \/ log 8$;"
            ),
            (
                r"so $inf_beta F_oo = Theta(eta^2 rho^(-1) log^2(8\/eta) + eta sigma_s^2)$, with the sharp constants "
                r"$1\/pi^2$ and $1\/log^2 8$ in front of $eta^2 log^2(8\/eta) \/ (2 rho)$."
            ),
        ),
        ground=(
            "$K(k) > log(4\\/k')$ gives the lower bound, the arithmetic-geometric mean the upper one; they are reached "
            "as $eta -> 0$ and at $eta = 1$."
        ),
        checks=(
            Inequality(
                decides="a",
                smaller=lambda m, eta: theory.mean_inverse_bounds(m, eta)[0],
                larger=theory.mean_inverse,
                box={"eta": Real(1e-300, 1.0, "log")},
                certificate=_above_low,
                factor=_low_factor,
                impostors={"1 % off": {"larger": Times("0.99")}},
            ),
            Inequality(
                decides="ab",
                smaller=theory.mean_inverse,
                larger=lambda m, eta: theory.mean_inverse_bounds(m, eta)[1],
                box={"eta": Real(1e-300, 1.0, "log")},
                certificate=_below_high,
                factor=_high_factor,
                impostors={"1 % off": {"larger": Times("0.99")}},
            ),
            Agreement(decides="b", facts=_reached, impostors={"1 % off": {"facts": Times(1.01)}}),
        ),
    ),
    given={"middle": MIDDLE, "end": _towards_one(SWEPT[-1])},
)

# --- Theorem 2.1: the weights ---


def _weights(rng: np.random.Generator) -> Iterator[Fact]:
    """Exact rationals: the printed weights are those of the library and the series of sqrt(1 - (1 - eta) z)."""
    eta, terms = Fraction(1, 3), 24
    binomial, exact = Fraction(1), []
    for t in range(terms):
        exact.append((-1) ** t * binomial * (1 - eta) ** t)
        binomial *= (Fraction(1, 2) - t) / (t + 1)
    square = [sum((exact[k] * exact[t - k] for k in range(t + 1)), Fraction(0)) for t in range(terms)]
    yield Fact("square of the series, eta = 1/3", square, [Fraction(1), -(1 - eta), *[Fraction(0)] * (terms - 2)], 0)
    made = theory.optimal_correlation(1 / 3).coefficients(terms)
    yield Fact("weights, eta = 1/3", made, [float(b) for b in exact], 1e-14)


def _at_printed(m, eta, terms: int = 90):
    """lim E delta_t^2 in time, G = 1, rho = 1/2: eta^2 sum_k c_k^2 sum_k m_k^2 with c the inverse of the printed
    weights and m_k = (1 - eta) m_{k-1} + beta_k what a draw of k steps ago leaves; the 90th terms are 0.5^180.
    """
    beta, inverse, left = [m.number(1)], [m.number(1)], [m.number(1)]
    for t in range(1, terms):
        beta.append(-beta[-1] * (1 - eta) * (m.number("3/2") - t) / t)
        inverse.append(-sum((beta[k] * inverse[t - k] for k in range(1, t + 1)), m.number(0)))
        left.append((1 - eta) * left[-1] + beta[-1])
    squares = [sum((x * x for x in series), m.number(0)) for series in (inverse, left)]
    return eta * eta * squares[0] * squares[1]


TERMS = 256


def _other_weights(eta: np.ndarray, logs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The stated infimum against lim E delta_t^2, G = 1, rho = 1/2, at beta* times the exponential of a polynomial of
    degree 6 in z, computed in time: eta^2 times the squared norms of the inverse and of what a draw leaves.
    """
    from scipy.signal import fftconvolve

    exponentials = []
    for sign in (1.0, -1.0):
        series = [np.ones(len(eta))]
        for t in range(1, TERMS):
            lags = range(1, min(t, logs.shape[1]) + 1)
            series.append(sum((k * sign * logs[:, k - 1] * series[t - k] for k in lags), np.zeros(len(eta))) / t)
        exponentials.append(np.stack(series, axis=1))
    t = np.arange(1, TERMS)
    powers = (1 - eta)[:, None] ** np.arange(TERMS)
    best, inverse = (np.cumprod(np.concatenate([[1.0], (t - shift) / t])) * powers for shift in (1.5, 0.5))
    beta = fftconvolve(best, exponentials[0], axes=1)[:, :TERMS]
    left = fftconvolve(beta, powers, axes=1)[:, :TERMS]
    inverse = fftconvolve(inverse, exponentials[1], axes=1)[:, :TERMS]
    return theory.optimal_part(FLOATS, eta), eta**2 * np.sum(inverse**2, axis=1) * np.sum(left**2, axis=1)


def _two_frequencies(times: int = 1) -> Iterator[tuple[Any, ...]]:
    """(sum |B|^-2) (sum |B|^2 / E^2) - (sum 1 / E)^2 at two frequencies, |B|^2 = b^2 and E = e^2, as a square."""
    b, c, e, f = sympy.symbols("b c e f", real=True)
    left = (1 / b**2 + 1 / c**2) * (b**2 / e**4 + c**2 / f**4) - times * (1 / e**2 + 1 / f**2) ** 2
    yield "product less square", left, ((b**2 * f**2 - c**2 * e**2) / (b * c * e**2 * f**2)) ** 2


def _root_series(numerator: int = 1) -> Iterator[tuple[Any, ...]]:
    """The ratio of neighbours of (-1)^t binom(numerator/2, t) q^t is that which 2 (1 - q z) B' = -q B asks for."""
    q, t = sympy.symbols("q t", positive=True)
    ratio = -q * (sympy.Rational(numerator, 2) - t) / (t + 1)
    yield "$2 (t + 1) beta_(t + 1)\\/beta_t$", 2 * (t + 1) * ratio, q * (2 * t - 1)


SCHWARZ = Symbolic(squares=_two_frequencies, impostors={"twice the square": {"squares": {"times": 2}}})
LEAST = (
    "With $E = abs(1 - eta - e^(i omega))$ and means over the circle, the part of $F_oo$ that depends on $beta$ is "
    "$(eta^2 G^2)/(2 rho) gamma_oo^2$ times that of $abs(B)^2\\/E^2$, and $gamma_oo^2$, the squared norm of the "
    "coefficients of $1\\/B(z)$, is that of $abs(B)^(-2)$ where it is finite. Their product is at least the square of "
    "the mean of $1\\/E$, with equality where $abs(B)^2$ is a multiple of $E$ and only there (for two frequencies the "
    "difference is a square, by the check). "
)

THM_2_1_BETA = Claim(
    id="ftrl/thm-2.1-beta",
    where="Theorem 2.1",
    page=5,
    kind="identity",
    statement="The infimum is attained by $beta^star_t = (-1)^t binom(1\\/2, t) (1 - eta)^t$.",
    hypotheses="$0 < eta <= 1$.",
    setting=(
        "$lim EE delta_t^2$ from the printed weights in time to 45 digits for $1\\/2 <= eta <= 1$, against the "
        "infimum; other weights, $beta^star$ times the exponential of a polynomial of degree 6 in $z$, for $0.1 <= eta "
        "<= 1$."
    ),
    checks=(
        SCHWARZ,
        Symbolic(residuals=_root_series, impostors={"binom(3/2, t)": {"residuals": {"numerator": 3}}}),
        Agreement(facts=_weights, impostors={"1 % off": {"facts": Times(1.01)}}, role="control"),
        Identity(
            left=_at_printed,
            right=theory.optimal_part,
            box={"eta": Real(0.5, 1.0)},
            random_points=10,
            impostors={"1e-40 off": {"right": Times("1.0000000000000000000000000000000000000001")}},
            role="control",
        ),
        Search(
            sides=_other_weights,
            box={"eta": Real(0.1, 1.0, "log"), "logs": (Real(-1.0, 1.0), 6)},
            extremal=lambda: [{"eta": eta, "logs": [0.0] * 6} for eta in (0.1, 0.3, 1.0)],
            vectorised=True,
            evaluations=2_000,
            impostors={"infimum 1 % too large": {"sides": Times(1.01, 1)}},
            role="control",
        ),
    ),
    derivation=Derivation(
        text=LEAST
        + (
            "$B^star (z) = sqrt(1 - (1 - eta) z)$ has the printed coefficients: $2 (1 - (1 - eta) z) B' = -(1 - eta) "
            "B$ (second check), and $abs(B^star)^2 = E$; $1\\/B^star$ is analytic in the disc, with a mean of $1\\/E < "
            "oo$ for its squared coefficients, so the infimum is attained."
        ),
        lemmas=("independence", "Parseval", "Cauchy-Schwarz", "binomial series"),
    ),
)


def _signs(rng: np.random.Generator, *, largest: float = 0.6) -> Iterator[Fact]:
    for eta in (1e-9, 0.01, 0.5, largest):
        later = theory.optimal_correlation(eta).coefficients(500)[1:]
        yield Fact(f"number of t in 1 ... 499 with beta*_t >= 0 at eta = {eta}", int(np.sum(later >= 0)), 0, 0)


def _factors(sign: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """beta_1 < 0 and beta_{t+1} / beta_t > 0 for t >= 1: with t = 1 + s and 1 - eta = v > 0."""
    s, v = sympy.symbols("s v", positive=True)
    yield "-beta_1", sign * v / 2
    yield "beta_(t+1) / beta_t", sign * v * (1 + s - sympy.Rational(1, 2)) / (2 + s)


THM_2_1_NEG = Claim(
    id="ftrl/thm-2.1-neg",
    where="below Theorem 2.1",
    page=5,
    kind="inequality",
    statement="$beta^star_t < 0$ for all $t >= 1$.",
    hypotheses="$0 < eta < 1$.",
    remark="Theorem 2.1 has $eta = 1$ as well; there all later weights are 0 and the noise is independent.",
    checks=(
        Symbolic(nonnegative=_factors, impostors={"other sign": {"nonnegative": {"sign": -1}}}),
        Agreement(facts=_signs, impostors={"eta = 1": {"facts": {"largest": 1.0}}}, role="control"),
    ),
    derivation=Derivation(
        text=(
            "$beta^star_t = binom(1\\/2, t) (-(1 - eta))^t$ are the coefficients of $sqrt(1 - (1 - eta) z)$: "
            "$beta^star_1 = -(1 - eta)\\/2 < 0$ for $eta < 1$, and $beta^star_(t + 1) \\/ beta^star_t = (1 - eta) (t "
            "- 1\\/2) \\/ (t + 1) > 0$ for $t >= 1$."
        ),
        lemmas=("binomial series", "induction"),
    ),
)


def _counting_limit(rng: np.random.Generator) -> Iterator[Fact]:
    """Against the factorisation of Fichtenberger et al.: f_0 = 1, f_k = (1 - 1 / (2 k)) f_{k-1}; B has the differences
    of f as weights.
    """
    f = np.cumprod(np.concatenate([[1.0], 1 - 0.5 / np.arange(1, 200)]))
    counting = np.diff(f, prepend=0.0)
    for nu in (1e-3, 1e-6, 1e-12):
        made = theory.optimal_correlation(nu).coefficients(200)
        yield Fact(f"weights over (1 - eta)^t at eta = {nu:g}", made / (1 - nu) ** np.arange(200), counting, 1e-12)
    yield Fact("weights at eta = 1e-15", theory.optimal_correlation(1e-15).coefficients(200), counting, 1e-12)
    yield Fact("library's optimal counting", correlations.optimal_counting().coefficients(200), counting, 1e-12)


def _counting_ratio(shift: int = 0) -> Iterator[tuple[Any, ...]]:
    """d_t = f_t - f_{t-1} = -f_{t-1} / (2 t) against (-1)^t binom(1/2, t): the first, and the ratio of neighbours."""
    t = sympy.Symbol("t", positive=True)
    yield "$d_1$", sympy.Rational(-1, 2), -sympy.binomial(sympy.Rational(1, 2), 1)
    grown = (1 - 1 / (2 * t)) * t / (t + 1 + shift)
    yield "$d_(t + 1)\\/d_t$", grown, -(sympy.Rational(1, 2) - t) / (t + 1)


THM_2_1_FICHT = Claim(
    id="ftrl/thm-2.1-ficht",
    where="below Theorem 2.1",
    page=5,
    kind="identity",
    statement="As $eta -> 0$ the weights become those of optimal counting (Fichtenberger et al.).",
    setting="The control: the first 200 weights.",
    checks=(
        Symbolic(residuals=_counting_ratio, impostors={"1/(t + 2)": {"residuals": {"shift": 1}}}),
        Agreement(facts=_counting_limit, impostors={"1 % off": {"facts": Times(1.01)}}, role="control"),
    ),
    derivation=Derivation(
        text=(
            "$beta^star_t = (-1)^t binom(1\\/2, t) (1 - eta)^t -> (-1)^t binom(1\\/2, t)$. The factorisation of "
            "Fichtenberger et al. has $f_0 = 1$, $f_t = (1 - 1\\/(2 t)) f_(t - 1)$, and $B$ the differences $d_t = f_t "
            "- f_(t - 1) = -f_(t - 1)\\/(2 t)$ as weights: $d_0 = 1$, and by the check $d_1$ and all ratios are those "
            "of the limit."
        ),
        lemmas=("induction",),
    ),
)
