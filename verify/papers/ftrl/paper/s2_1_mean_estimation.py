"""Section 2.1: private mean estimation on the line, Theorem 2.1: privacy, DP-SGD and the infimum. The weights that
attain it are in `s2_1_mean_estimation_weights`, Figure 1 in `s2_1_figure_1`, Appendix B in `sb_linear_system` and
`sb_optimal_noise`.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import sympy

from dpbounds.ftrl import correlations
from dpbounds.ftrl import mean_estimation as theory
from dpbounds.privacy import noise_multiplier
from simulators.engine import Experiment
from simulators.ftrl import MeanEstimation, Settings, mean_estimation
from verify.checks import (
    Agreement,
    Fact,
    GaussianPrivacy,
    Inequality,
    Neighbours,
    Rate,
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
