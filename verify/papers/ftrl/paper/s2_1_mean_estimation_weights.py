"""Section 2.1: the weights of Theorem 2.1, which attain its infimum, and what is said of them below it."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import sympy

from dpbounds.arithmetic import FLOATS
from dpbounds.ftrl import correlations
from dpbounds.ftrl import mean_estimation as theory
from verify.checks import (
    Agreement,
    Fact,
    Identity,
    Search,
    Symbolic,
    Times,
)
from verify.checks.domains import Real
from verify.statements.claims import Claim
from verify.statements.derivations import Derivation


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
