"""The best correlation of a long run in closed form, for every learning rate times eigenvalue."""

from __future__ import annotations

from collections.abc import Iterator

import mpmath
import numpy as np

from dpbounds.arithmetic import FLOATS
from dpbounds.ftrl import correlations, linear_regression
from dpbounds.ftrl.linear_regression import Regression, power_law
from verify.checks import Agreement, Fact, Search, Times
from verify.checks.domains import Real
from verify.papers.ftrl.beyond.exact import OURS
from verify.statements.claims import Claim

Sides = tuple[float, float]

# From far below the slowest rate to the end of the circle.
SINES = np.concatenate([np.geomspace(1e-60, 0.5, 150), np.linspace(0.5, 1.0, 20)])


def _resonance_sum(weights: np.ndarray, rates: np.ndarray, s: np.ndarray) -> np.ndarray:
    """g, term by term."""
    return np.sum(weights[:, None] / (rates[:, None] ** 2 + 4.0 * (1.0 - rates[:, None]) * s), axis=0)


def _identity(logs: np.ndarray, sizes: np.ndarray, fast: float, power: float = 4.0) -> Sides:
    """|B|^4 g = 1 at all frequencies, for random rates from 1e-13 to 2."""
    rates = np.append(np.exp(logs), fast)
    weights = np.exp(np.append(sizes, 0.0))
    correlation = correlations.from_resonances(weights, rates)
    product = correlation.spectral_density(FLOATS, SINES) ** (power / 2) * _resonance_sum(weights, rates, SINES)
    return float(np.abs(product - 1.0).max()), 1e-11


def _exact_roots(rng: np.random.Generator) -> Iterator[Fact]:
    """Roots against those of the numerator in 60 digits; weights of B against its power series in 60 digits."""
    for rates in ([0.5, 0.1], [1e-12, 3e-12, 0.2], [0.05, 0.3, 1.0, 1.7], [1e-9, 1e-5, 1e-1, 1.9]):
        weights = np.exp(rng.uniform(-3, 3, len(rates)))
        made = correlations.interlacing_roots(weights, np.array(rates))
        with mpmath.workdps(60):
            exact = _bisected(weights[np.argsort(rates)], sorted(rates))
            yield Fact(f"relative roots, rates {rates}", list(made / np.array(exact)), [1.0] * len(exact), 1e-13)
            series = _power_series(sorted(rates), exact, 40)
        correlation = correlations.from_resonances(weights, np.array(rates))
        beta = correlation.coefficients(40)
        yield Fact(f"weights, rates {rates}", list(beta / beta[0]), series, 1e-12)
        inverse = np.convolve(beta, correlation.inverse_coefficients(40))[:40]
        yield Fact(f"weights of the inverse, rates {rates}", list(inverse), [1.0] + [0.0] * 39, 1e-12)


def _bisected(weights: np.ndarray, rates: list[float]) -> list[float]:
    """Zeros of g as numbers xi with s = -xi^2 / (4 (1 - xi)), by bisection between neighbouring rates."""

    def value(xi):
        # g at that s, times a factor that is positive: x^2 (1 - xi) - xi^2 (1 - x) in the denominators.
        return sum(
            mpmath.mpf(float(w)) / (mpmath.mpf(x) ** 2 * (1 - xi) - xi**2 * (1 - mpmath.mpf(x)))
            for w, x in zip(weights, rates, strict=True)
        )

    found = []
    for low, high in zip(map(mpmath.mpf, rates), map(mpmath.mpf, rates[1:]), strict=False):
        for _ in range(190):
            middle = mpmath.sqrt(low * high)
            low, high = (middle, high) if value(middle) < 0 else (low, middle)
        found.append(float(low))
    return found


def _power_series(zeros: list[float], poles: list[float], terms: int) -> list[float]:
    """Of prod ((1 - (1 - a) z) / (1 - (1 - b) z))^{1/2}, from the power sums of its logarithm's derivative."""
    zero, pole = [1 - mpmath.mpf(a) for a in zeros], [1 - mpmath.mpf(b) for b in poles]
    powers = [(sum(q**i for q in pole) - sum(q**i for q in zero)) / 2 for i in range(1, terms)]
    beta = [mpmath.mpf(1)]
    for k in range(1, terms):
        beta.append(sum(powers[i - 1] * beta[k - i] for i in range(1, k + 1)) / k)
    return [float(b) for b in beta]


def _attained(rng: np.random.Generator) -> Iterator[Fact]:
    """F_inf of the closed form is the optimum, by its spectrum alone, also where eta mu is 1e-12."""
    for d, alpha, eta in ((128, 1.0, 0.05), (128, 2.0, 1e-8), (30, 0.0, 0.01), (300, 1.0, 1e-9)):
        spectrum = power_law(d, alpha)
        made = linear_regression.optimal_correlation(spectrum, eta)
        value = linear_regression.suboptimality(made, Regression(eigenvalues=spectrum, eta=eta, rho=0.3, clip_norm=0.7))
        optimum = linear_regression.optimal_suboptimality(
            Regression(eigenvalues=spectrum, eta=eta, rho=0.3, clip_norm=0.7)
        )
        yield Fact(f"d = {d}, k^-{alpha:g}, eta mu = {eta * spectrum.min():.0e}", float(value), float(optimum), 1e-9)


CLOSED_FORM = Claim(
    id="ftrl/beyond-design-optimal",
    where=f"{OURS}: best correlation of a long run",
    kind="identity",
    statement=(
        "The zeros of $g = sum_j w_j \\/ abs(1 - (1 - x_j) e^(i omega))^2$ interlace its poles: between neighbouring "
        "rates $x_j$ lies one $xi$, and the outer $B$ with $abs(B)^2 = g^(-1\\/2)$ is $product_j (1 - (1 - x_j) "
        "z)^(1\\/2) \\/ product_i (1 - (1 - xi_i) z)^(1\\/2)$ up to a factor."
    ),
    hypotheses="$w_j > 0$, $0 < x_j < 2$.",
    setting="Rates from $10^(-13)$ to 1.99; up to 300 of them.",
    checks=(
        Search(
            sides=_identity,
            box={"logs": (Real(-30.0, 0.5), 4), "sizes": (Real(-20.0, 20.0), 4), "fast": Real(0.01, 1.99)},
            evaluations={"quick": 80, "full": 5000},
            impostors={"another power": {"sides": {"power": 4.01}}},
        ),
        Agreement(facts=_exact_roots, impostors={"1e-9 off": {"facts": Times(1 + 1e-9)}}),
        Agreement(facts=_attained, impostors={"1e-6 off": {"facts": Times(1 + 1e-6)}}),
    ),
)
