"""Section 1.1 and Appendix A.1: two ways to write the updates, the objective (3), Toeplitz matrices and (5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import sympy
from scipy.signal import lfilter

from dpbounds.ftrl import correlations
from verify.checks import Agreement, Fact, Identity, Symbolic
from verify.claims import Claim, Correction
from verify.domains import Real

# --- Appendix A.1: (11), (12), (3) and Toeplitz inverses ---


def _lower(T: int, name: str) -> sympy.Matrix:
    """A lower-triangular matrix of T (T + 1) / 2 symbols."""
    return sympy.Matrix(T, T, lambda t, s: sympy.Symbol(f"{name}{t}{s}") if s <= t else 0)


def _updates(decoder: str = "A B") -> Iterator[tuple[str, sympy.Matrix]]:
    """Iterates made by (11), one dimension, put into (12); and the increments of those made by (12), put into (11)."""
    T = 3
    A, B, eta = sympy.Matrix(T, T, lambda t, s: 1 if s <= t else 0), _lower(T, "b"), sympy.Symbol("eta")
    g, w = (sympy.Matrix(sympy.symbols(f"{name}:{T}")) for name in "gw")
    private = B.inv() * g + w
    prefix = {"A B": A * B, "B A": B * A}[decoder]
    theta = [sympy.Symbol("theta0")]
    for step in -eta * B * private:
        theta.append(theta[-1] + step)
    yield "(11) implies (12)", sympy.Matrix([later - theta[0] for later in theta[1:]]) + eta * prefix * private
    theta = [theta[0], *(theta[0] + change for change in -eta * prefix * private)]
    increments = sympy.Matrix([later - earlier for earlier, later in pairwise(theta)])
    yield "(12) implies (11)", increments + eta * B * private


def _summed_error(B: np.ndarray, deviation: float, dimension: int, *, literal_index: bool = False) -> float:
    """Right side of (3): sum over t of E || sum_tau (g~ - g) ||^2 from the covariance of the noise, entry by entry.

    With the index as printed the inner sum is t + 1 times its last term.
    """
    covariance = deviation**2 * B @ B.T
    total = 0.0
    for t in range(len(B)):
        block = np.full((t + 1, t + 1), covariance[t, t]) if literal_index else covariance[: t + 1, : t + 1]
        total += dimension * float(block.sum())
    return total


def _printed_error(rng: np.random.Generator) -> Iterator[Fact]:
    A = np.tri(2)
    yield Fact("(3) at T = 1, B = 1, d = 2, sigma_dp = G = 1", _summed_error(A[:1, :1], 1.0, 2), 1.0, 1e-12)
    literal = _summed_error(np.eye(2), 1.0, 1, literal_index=True)
    yield Fact("(3) with the index as printed at T = 2, B = I, d = 1", literal, np.sum(A**2), 1e-12)


def _corrected_error(rng: np.random.Generator, *, scaled: bool = True) -> Iterator[Fact]:
    T, rho, clip_norm, dimension = 8, 0.3, 1.7, 3
    made = (
        correlations.nu(0.2),
        correlations.anti_pgd(),
        correlations.tree_aggregation(T),
        correlations.optimal_prefix_sum(T),
        correlations.from_matrix(np.tril(rng.normal(size=(T, T)), -1) + 2 * np.eye(T)),
    )
    for correlation in made:
        B, gamma = correlation.matrix(T), correlation.sensitivity(T)
        stated = correlation.prefix_error(T)
        if scaled:
            stated *= dimension * clip_norm**2 * gamma**2 / (2 * rho)
        observed = _summed_error(B, clip_norm * gamma / np.sqrt(2 * rho), dimension)
        yield Fact(f"sum of errors, {correlation.name}", observed, stated, 1e-10)


def _toeplitz(column: Iterable) -> sympy.Matrix:
    entries = list(column)
    return sympy.Matrix(len(entries), len(entries), lambda t, s: entries[t - s] if s <= t else 0)


def _toeplitz_inverse(*, symmetric: bool = False) -> Iterator[tuple[str, sympy.Matrix]]:
    """Entries of the inverse above the diagonal, and differences along diagonals, for T = 5 symbols."""
    T = 5
    B = _toeplitz(sympy.symbols(f"b:{T}"))
    C: Any = (B + B.T if symmetric else B).inv()
    yield "nothing above the diagonal", sympy.Matrix([C[t, s] for t in range(T) for s in range(t + 1, T)])
    along = [C[t + 1, s + 1] - C[t, s] for t in range(T - 1) for s in range(t + 1)]
    yield "constant along diagonals", sympy.Matrix(along)


def _series_inverse(rng: np.random.Generator, *, sign: int = -1) -> Iterator[Fact]:
    """B C = I exactly for T = 30 random rationals, C the Toeplitz matrix of the power series 1 / B(z)."""
    beta = [Fraction(int(b), 7) for b in [3, *rng.integers(-9, 10, size=29)]]
    inverse = [1 / beta[0]]
    for t in range(1, len(beta)):
        inverse.append(sign * sum((beta[k] * inverse[t - k] for k in range(1, t + 1)), Fraction(0)) / beta[0])
    product = [sum((beta[k] * inverse[t - k] for k in range(t + 1)), Fraction(0)) for t in range(len(beta))]
    yield Fact("first column of B C", product, [Fraction(1), *[Fraction(0)] * 29], 0)


# --- Section 1.2: limits ---


def _integral_below(rng: np.random.Generator) -> Iterator[Fact]:
    """gamma_T of (1, -2) against the integral (5): C_(t, 0) = 2^t."""
    inverse = np.linalg.inv(np.eye(10) - 2 * np.eye(10, k=-1))
    omega = (np.arange(1000) + 0.5) * 2 * np.pi / 1000
    integral = np.mean(1 / np.abs(1 - 2 * np.exp(1j * omega)) ** 2)
    yield Fact("gamma_10^2 of beta = (1, -2)", np.sum(inverse[:, 0] ** 2), integral, 1e-6)


def _two_zeros(m, a, b):
    """(1 / 2 pi) int |B|^{-2} of B = (1 - a z)(1 + b z) by quadrature."""
    return m.integral(lambda s: 1 / (((1 - a) ** 2 + 4 * a * s) * ((1 + b) ** 2 - 4 * b * s))) / (2 * m.pi)


def _two_zeros_sum(m, a, b):
    """sum_t c_t^2 of the same, c_t = a c_{t-1} + (-b)^t; what follows the 400th term is below 0.8^800."""
    inverse = power = total = m.number(1)
    for _ in range(400):
        power = -b * power
        inverse = a * inverse + power
        total = total + inverse * inverse
    return total


def _long_sequences(rng: np.random.Generator, *, inside: bool = False) -> Iterator[Fact]:
    """Random products of ten factors 1 - a z, abs(a) < 0.9 (1.05 once if asked), and named mechanisms."""
    omega = (np.arange(4096) + 0.5) * 2 * np.pi / 4096
    impulse = (np.arange(400) == 0).astype(float)
    for number in range(3):
        modulus, angle = 0.9 * rng.random(5), rng.uniform(0, np.pi, 5)
        roots = np.concatenate([modulus * np.exp(1j * angle), modulus * np.exp(-1j * angle)])
        if inside and number == 2:
            roots *= 1.05 / np.abs(roots)
        beta = np.poly(roots).real
        spectrum = np.abs(np.exp(1j * np.outer(omega, np.arange(11))) @ beta) ** 2
        sensitivity = np.linalg.norm(lfilter([1.0], beta, impulse))
        yield Fact(f"gamma_400 of random sequence {number}", sensitivity, np.sqrt(np.mean(1 / spectrum)), 1e-9)
    for correlation in (correlations.nu(0.05), correlations.damped_anti_pgd(0.05)):
        spectrum = np.abs(np.exp(1j * np.outer(omega, np.arange(400))) @ correlation.coefficients(400)) ** 2
        sensitivity = np.linalg.norm(lfilter([1.0], correlation.coefficients(400), impulse))
        yield Fact(f"gamma_400, {correlation.name}", sensitivity, np.sqrt(np.mean(1 / spectrum)), 1e-9)


CLAIMS = (
    Claim(
        id="ftrl/a.1-equiv",
        where="App. A.1, (11), (12)",
        kind="identity",
        statement=(
            "(11) $theta_(t+1) - theta_t = -eta [B (C G + W)]_t$ if and only if (12) $theta_(t+1) - theta_0 = -eta "
            "[tilde(B) (C G + W)]_t$, $tilde(B) = A B$."
        ),
        hypotheses="Proved for $T = 3$ with general $B$; nothing in it depends on $T$.",
        checks=(
            Symbolic(residuals=_updates, impostors={"B A in place of A B": {"residuals": lambda: _updates("B A")}}),
        ),
    ),
    Claim(
        id="ftrl/eq-3",
        where="(3), App. A.1",
        kind="identity",
        statement=(
            "$phi(B) = sum_t EE norm(sum_(tau=0)^t tilde(g)_t - sum_(tau=0)^t g_t)_2^2$ equals $norm(tilde(B))_F^2 = "
            "norm(A B)_F^2$."
        ),
        checks=(Agreement(facts=_printed_error),),
        correction=Correction(
            statement=(
                "the summands are $tilde(g)_tau$ and $g_tau$, and $phi(B) = d G^2 sigma_(d p)^2 norm(A B)_F^2 = d G^2 "
                "gamma_T (B)^2 norm(A B)_F^2 \\/ (2 rho)$: the sensitivity belongs to the objective unless it is fixed."
            ),
            checks=(
                Agreement(
                    facts=_corrected_error,
                    impostors={"without the noise level": {"facts": lambda rng: _corrected_error(rng, scaled=False)}},
                ),
            ),
        ),
    ),
    Claim(
        id="ftrl/fn-5",
        where="footnote 5",
        kind="identity",
        statement="The inverse of a lower-triangular Toeplitz matrix is lower triangular and Toeplitz.",
        hypotheses=(
            "$beta_0 != 0$. Proved for $T = 5$ symbols; the power series of $1 \\/ B(z)$ gives it for every $T$."
        ),
        checks=(
            Symbolic(
                residuals=_toeplitz_inverse,
                impostors={"symmetric Toeplitz": {"residuals": lambda: _toeplitz_inverse(symmetric=True)}},
            ),
            Agreement(
                facts=_series_inverse,
                impostors={"sign of the recurrence": {"facts": lambda rng: _series_inverse(rng, sign=1)}},
            ),
        ),
    ),
    Claim(
        id="ftrl/eq-5",
        where="(5)",
        kind="identity",
        statement=(
            "$gamma_oo (B) = lim_T gamma_T (B) = (1/(2 pi) integral_(-pi)^pi abs(B(omega))^(-2) dif omega)^(1\\/2)$."
        ),
        checks=(Agreement(facts=_integral_below),),
        correction=Correction(
            statement=(
                "for minimum-phase (outer) $beta$; for finite $beta$: if $sum_t beta_t z^t$ has no zero with $abs(z) < "
                "1$. A zero inside makes $gamma_T$ grow geometrically while the integral stays finite. All named "
                "mechanisms are minimum phase."
            ),
            checks=(
                Identity(
                    left=_two_zeros_sum,
                    right=_two_zeros,
                    box={"a": Real(0.0, 0.8), "b": Real(0.0, 0.8)},
                    impostors={"1e-40 off": {"right": lambda m, a, b: _two_zeros(m, a, b) + m.number("1e-40")}},
                ),
                Agreement(
                    facts=_long_sequences,
                    impostors={"one zero inside": {"facts": lambda rng: _long_sequences(rng, inside=True)}},
                ),
            ),
        ),
    ),
)
