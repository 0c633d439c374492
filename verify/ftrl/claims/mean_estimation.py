"""Section 2.1 and Appendix B: mean estimation on the line, Theorem 2.1. The figure is in `figure_1`, the linear system
behind it in `mean_estimation_system`.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import sympy

from dpbounds.ftrl import correlations
from dpbounds.ftrl import mean_estimation as theory
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
)
from verify.claims import Claim, Correction
from verify.domains import Real

# --- Theorem 2.1 ---


def _two_sided_sgd() -> Iterator[tuple[str, sympy.Expr]]:
    """value = eta (1/(2 rho) + s) / (2 - eta) between 1/4 and 1 times eta (1/rho + s); eta = 1 / (1 + t), s =
    sigma^2.
    """
    t, budget, s = sympy.symbols("t budget s", positive=True)
    eta = 1 / (1 + t)
    value, rate = eta * (budget / 2 + s) / (2 - eta), eta * (budget + s)
    yield "value >= rate / 4", value - rate / 4
    yield "value <= rate", rate - value


def _product(spectrum: np.ndarray, eta: np.ndarray | float) -> np.ndarray:
    """(int |B|^2 / E_eta^2) (int |B|^{-2}) / (2 pi)^2 on the midpoints of a uniform grid, |B|^2 along the last axis."""
    gain = 1.0 / _best_spectrum(eta, spectrum.shape[-1]) ** 2
    return np.mean(spectrum * gain, axis=-1) * np.mean(1.0 / spectrum, axis=-1)


def _best_spectrum(eta: np.ndarray | float, n: int) -> np.ndarray:
    """|B*|^2 = |1 - eta - e^{i omega}| on the midpoints, eta along the first axis."""
    eta = np.asarray(eta)[..., None]
    return np.sqrt(eta**2 + 4 * (1 - eta) * np.sin(_grid(n) / 2) ** 2)


def _grid(n: int) -> np.ndarray:
    return (np.arange(n) + 0.5) * np.pi / n


def _perturbed(eta: np.ndarray, logs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The product at B* and at |B*|^2 times the exponential of a cosine series."""
    best = _best_spectrum(eta, 256)
    series = np.cos(np.outer(1 + np.arange(logs.shape[1]), _grid(256)))
    return _product(best, eta), _product(best * np.exp(logs @ series), eta)


def _only_minimiser(rng: np.random.Generator) -> Iterator[Fact]:
    """Is the product strictly larger at 2 B* than at B*?"""
    best = _best_spectrum(0.5, 256)
    excess = _product(4 * best, 0.5) / _product(best, 0.5)
    yield Fact("at |B| = 2 |B*|, product / minimum exceeds 1", bool(excess > 1 + 1e-9), True, 0)


def _value_at_optimum(m, eta):
    """The privacy part of (18) at |B*|^2 = E_eta by quadrature, G = 1, rho = 1/2."""
    integral = m.integral(lambda s: 1 / m.sqrt(eta**2 + 4 * (1 - eta) * s))
    return (eta * integral / (2 * m.pi)) ** 2


def _closed_integral(m, eta):
    return 4 / (2 - eta) * m.elliptic_k(m.sqrt(1 - eta) / (1 - eta / 2))


def _printed_minimum(m, eta):
    """As printed, with sigma_dp^2 = gamma_inf(B*)^2 / (2 rho) of Theorem 2.1."""
    sigma_dp_squared = m.integral_inverse(eta) / (2 * m.pi)
    return sigma_dp_squared * (eta * _closed_integral(m, eta) / (2 * m.pi)) ** 2


def _minimum(m, eta):
    return (eta * _closed_integral(m, eta) / (2 * m.pi)) ** 2


def _rate_ratios(decades: float) -> Iterator[tuple[str, float]]:
    """Exact infimum over the printed rate towards both ends of eta, without and with residuals."""
    for sigma_sgd in (0.0, 0.5):
        for end, eta in (("eta -> 0", 10.0 ** -(decades + 0.3)), ("eta -> 1", 1.0 - 10.0 ** -(decades / 2 + 0.3))):
            rate = eta**2 * np.log(1 / eta) ** 2 + eta * sigma_sgd**2
            yield f"{end}, sigma = {sigma_sgd}", theory.optimal_variance(eta, 1.0, sigma_sgd=sigma_sgd) / rate


def _mean_inverse(m, eta):
    return m.integral_inverse(eta) / (2 * m.pi)


def _series(rng: np.random.Generator, sign: int = -1) -> Iterator[Fact]:
    """Exact rationals: the square of sum_t beta*_t z^t is 1 - (1 - eta) z; and the fast recurrence gives the same
    numbers.
    """
    eta, terms = Fraction(1, 3), 24
    binomial, exact = Fraction(1), []
    for t in range(terms):
        exact.append(sign**t * binomial * (1 - eta) ** t)
        binomial *= (Fraction(1, 2) - t) / (t + 1)
    square = [sum((exact[k] * exact[t - k] for k in range(t + 1)), Fraction(0)) for t in range(terms)]
    yield Fact("square of the series, eta = 1/3", square, [Fraction(1), -(1 - eta), *[Fraction(0)] * (terms - 2)], 0)
    yield Fact("recurrence", correlations.nu(1 / 3).coefficients(terms), [float(b) for b in exact], 1e-14)


def _negative(rng: np.random.Generator, *, etas: tuple[float, ...]) -> Iterator[Fact]:
    for eta in etas:
        later = theory.optimal_correlation(eta).coefficients(500)[1:]
        yield Fact(f"number of t in 1 ... 499 with beta*_t >= 0 at eta = {eta}", int(np.sum(later >= 0)), 0, 0)


def _factor_positive() -> Iterator[tuple[str, sympy.Expr]]:
    """beta_1 < 0 and beta_{t+1} / beta_t > 0 for t >= 1: with t = 1 + s and 1 - eta = v > 0."""
    s, v = sympy.symbols("s v", positive=True)
    yield "-beta_1", v / 2
    yield "beta_(t+1) / beta_t", v * (1 + s - sympy.Rational(1, 2)) / (2 + s)


def _counting_limit(rng: np.random.Generator, power: float = 1.0) -> Iterator[Fact]:
    counting = correlations.optimal_counting().coefficients(200)
    for nu in (1e-3, 1e-6, 1e-12):
        ratio = correlations.nu(nu).coefficients(200) / counting
        yield Fact(f"beta_t / its limit at nu = {nu:g}", ratio, (1 - nu) ** (power * np.arange(200)), 1e-12)
    yield Fact("beta at nu = 1e-15", correlations.nu(1e-15).coefficients(200), power * counting, 1e-12)


def _decay_ratios(decades: float, *, exponential: bool) -> Iterator[tuple[str, float]]:
    """|beta*_t| over t^{-3/2} e^{-eta t}, or over t^{-3/2} (1 - eta)^t."""
    t = max(1, round(10.0**decades))
    for eta in (0.01, 0.1, 0.5):
        log_decay = -eta * t if exponential else t * np.log1p(-eta)
        log_beta = np.log(_half_binomial(t)) + t * np.log1p(-eta)
        yield f"eta = {eta}", float(np.exp(log_beta + 1.5 * np.log(t) - log_decay))


def _half_binomial(t: int) -> float:
    """|binom(1/2, t)| = Gamma(t - 1/2) / (2 sqrt(pi) Gamma(t + 1))."""
    from scipy.special import gammaln

    if t > 10**6:  # Gamma(t - 1/2) / Gamma(t + 1) = t^{-3/2} (1 + 3 / (8 t) + O(t^{-2}))
        return float(t**-1.5 * (1 + 3 / (8 * t)) / (2 * np.sqrt(np.pi)))
    return float(np.exp(gammaln(t - 0.5) - gammaln(t + 1)) / (2 * np.sqrt(np.pi)))


def _neighbours(scale: float = 1.0) -> Iterator[Neighbours]:
    """All iterates of a run with z_t = 1 against one with that gradient zeroed: the linear map of (14) on noise and
    gradient.
    """
    eta, rho = 0.2, 0.7
    for T in (1, 5, 60):
        response = np.array([[(1 - eta) ** (t - s) if s <= t else 0.0 for s in range(T)] for t in range(T)]) * -eta
        correlation = theory.optimal_correlation(eta)
        variance = scale * correlation.limiting_sensitivity() ** 2 / (2 * rho)
        factor = response @ correlation.matrix(T)
        for position in {0, T // 2, T - 1}:
            yield Neighbours(
                label=f"T = {T}, position {position}",
                shift=response[:, position],
                covariance=variance * factor @ factor.T,
                claimed_rho=rho,
            )


def _unclipped(rng: np.random.Generator, clip_norm: float = 1.0) -> Iterator[Fact]:
    problem = MeanEstimation(mean=0.25, sigma_sgd=0.75)
    settings = Settings(correlation=correlations.nu(0.2), eta=0.2, rho=0.1, steps=200, clip_norm=clip_norm)
    run = Experiment(algorithm=mean_estimation, problem=problem, settings=settings, block_trials=50).run_block(
        0, seed=0
    )
    yield Fact("gradients clipped in 10000 steps with |z| up to 1", int(run["clipped"].sum()), 0, 0)


CLAIMS = (
    Claim(
        id="ftrl/thm-2.1-dpsgd",
        where="Theorem 2.1",
        kind="mc-rate",
        statement="For DP-SGD $F_oo = Theta(eta rho^(-1) + eta sigma_s^2)$.",
        hypotheses="$0 < eta <= 1$, $G = 1$.",
        checks=(
            Symbolic(
                nonnegative=_two_sided_sgd,
                impostors={
                    "lower constant 1": {
                        "nonnegative": lambda: [("value >= rate", -dict(_two_sided_sgd())["value <= rate"])]
                    }
                },
            ),
        ),
    ),
    Claim(
        id="ftrl/eq-19",
        where="App. B, (19)",
        kind="inequality",
        statement=(
            "The privacy part of (18) is least if and only if $abs(B(omega)) = abs(sqrt(1 - eta - e^(i omega)))$."
        ),
        checks=(Agreement(facts=_only_minimiser),),
        correction=Correction(
            statement=(
                "it is least if and only if $abs(B)$ is a constant multiple of that: the product does not see the "
                "scale."
            ),
            checks=(
                Search(
                    sides=_perturbed,
                    box={"eta": Real(0.05, 1.0, "log"), "logs": (Real(-2.0, 2.0), 6)},
                    vectorised=True,
                    impostors={
                        "minimum 1 % too large": {
                            "sides": lambda eta, logs: (1.01 * _perturbed(eta, logs)[0], _perturbed(eta, logs)[1])
                        }
                    },
                ),
            ),
        ),
    ),
    Claim(
        id="ftrl/thm-2.1-opt",
        where="Theorem 2.1, below (19)",
        kind="identity",
        statement=(
            "The least value is $(eta^2 G^2 sigma_(d p)^2)/(4 pi^2) (integral (dif omega) / abs(1 - eta - e^(i "
            "omega)))^2$ with $integral (dif omega) / abs(1 - eta - e^(i omega)) = 4/(2 - eta) K(sqrt(1 - eta) / (1 "
            "- eta\\/2))$."
        ),
        hypotheses="$sigma_(d p)^2 = gamma_oo^2 \\/ (2 rho)$ as in Theorem 2.1.",
        checks=(Identity(left=_value_at_optimum, right=_printed_minimum, box={"eta": Real(1e-6, 1.0, "log")}),),
        correction=Correction(
            statement=(
                "$1 \\/ (2 rho)$ stands in place of $sigma_(d p)^2$: the factor $gamma_oo^2$ is already in the "
                "squared integral."
            ),
            checks=(
                Identity(
                    left=_value_at_optimum,
                    right=_minimum,
                    box={"eta": Real(1e-6, 1.0, "log")},
                    impostors={
                        "as printed": {"right": _printed_minimum},
                        "1e-40 off": {"right": lambda m, eta: _minimum(m, eta) * (1 + m.number("1e-40"))},
                    },
                ),
            ),
        ),
    ),
    Claim(
        id="ftrl/thm-2.1-rate",
        where="Theorem 2.1",
        kind="mc-rate",
        statement="$inf_beta F_oo = Theta(eta^2 rho^(-1) log^2(1\\/eta) + eta sigma_s^2)$.",
        hypotheses="$0 < eta <= 1$.",
        checks=(Rate(ratios=_rate_ratios, relation="theta"),),
        correction=Correction(
            statement=(
                "$log^2(8\\/eta)$ stands in place of $log^2(1\\/eta)$, which vanishes at $eta = 1$; the constants "
                "then are 0.10 and 0.24 in front of $eta^2 \\/ (2 rho)$."
            ),
            checks=(
                Inequality(
                    smaller=lambda m, eta: m.number("0.31") * m.log(8 / eta),
                    larger=_mean_inverse,
                    box={"eta": Real(1e-300, 1.0, "log")},
                    impostors={"constant 0.33": {"smaller": lambda m, eta: m.number("0.33") * m.log(8 / eta)}},
                ),
                Inequality(
                    smaller=_mean_inverse,
                    larger=lambda m, eta: m.number("0.49") * m.log(8 / eta),
                    box={"eta": Real(1e-300, 1.0, "log")},
                    impostors={"constant 0.48": {"larger": lambda m, eta: m.number("0.48") * m.log(8 / eta)}},
                ),
            ),
        ),
    ),
    Claim(
        id="ftrl/thm-2.1-beta",
        where="Theorem 2.1",
        kind="identity",
        statement="The infimum is attained by $beta^star_t = (-1)^t binom(1\\/2, t) (1 - eta)^t$.",
        checks=(
            Agreement(facts=_series, impostors={"sign of every other weight": {"facts": lambda rng: _series(rng, 1)}}),
        ),
    ),
    Claim(
        id="ftrl/thm-2.1-neg",
        where="below Theorem 2.1",
        kind="inequality",
        statement="$beta^star_t < 0$ for all $t >= 1$.",
        hypotheses="$0 < eta <= 1$.",
        checks=(Agreement(facts=lambda rng: _negative(rng, etas=(1.0, 0.5))),),
        correction=Correction(
            statement="for $eta < 1$; at $eta = 1$ all later weights are 0 and the noise is independent.",
            checks=(
                Symbolic(
                    nonnegative=_factor_positive,
                    impostors={"other sign": {"nonnegative": lambda: [(k, -v) for k, v in _factor_positive()]}},
                ),
                Agreement(
                    facts=lambda rng: _negative(rng, etas=(1e-9, 0.01, 0.5, 0.6)),
                    impostors={"eta = 1": {"facts": lambda rng: _negative(rng, etas=(1.0,))}},
                ),
            ),
        ),
    ),
    Claim(
        id="ftrl/thm-2.1-ficht",
        where="below Theorem 2.1",
        kind="identity",
        statement="As $eta -> 0$ the weights become those of optimal counting (Fichtenberger et al.).",
        checks=(
            Agreement(facts=_counting_limit, impostors={"1 % off": {"facts": lambda rng: _counting_limit(rng, 1.01)}}),
        ),
    ),
    Claim(
        id="ftrl/b-betarate",
        where="App. B, last line",
        kind="mc-rate",
        statement="$abs(beta^star_t) = Theta(t^(-3\\/2) e^(-eta t))$.",
        checks=(
            Rate(
                ratios=lambda decades: _decay_ratios(decades, exponential=True),
                relation="theta",
                extents=(0.5, 1.0, 2.0, 4.0),
            ),
        ),
        correction=Correction(
            statement=(
                "$(1 - eta)^t$ stands in place of $e^(-eta t)$; the two agree only while $eta^2 t$ stays bounded."
            ),
            checks=(
                Rate(
                    ratios=lambda decades: _decay_ratios(decades, exponential=False),
                    relation="theta",
                    extents=(1.0, 2.0, 4.0, 8.0),
                    impostors={"e^(-eta t)": {"ratios": lambda decades: _decay_ratios(decades, exponential=True)}},
                ),
            ),
        ),
    ),
    Claim(
        id="ftrl/thm-2.1-privacy",
        where="Theorem 2.1",
        kind="privacy",
        statement=(
            "No gradient is clipped, and $(theta_t)$ is $rho$-zCDP for every horizon with $sigma_(d p)^2 = "
            "gamma_oo^2 \\/ (2 rho)$."
        ),
        hypotheses="$abs(z) <= 1 = G$, zero-out adjacency.",
        checks=(
            GaussianPrivacy(
                pairs=_neighbours, impostors={"5 % less noise variance": {"pairs": lambda: _neighbours(0.95)}}
            ),
            Agreement(facts=_unclipped, impostors={"clip norm 0.9": {"facts": lambda rng: _unclipped(rng, 0.9)}}),
        ),
    ),
)
