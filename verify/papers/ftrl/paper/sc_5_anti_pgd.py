"""Appendix C.5 and C.6: damped anti-PGD, and the effective dimension as a stable rank."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import sympy

from dpbounds.ftrl import correlations, linear_regression
from dpbounds.ftrl.linear_regression import Regression
from verify.checks import Agreement, Fact, Rate, Search, Symbolic, Times
from verify.checks.domains import Real
from verify.papers.ftrl.paper.sc_1_operators import KERNEL
from verify.papers.ftrl.tools.first_kind import at_both_levels
from verify.papers.ftrl.tools.input_laws import PLANAR, planar
from verify.papers.ftrl.tools.regression import Pairs
from verify.papers.ftrl.tools.second_moments import Systems
from verify.statements.claims import Claim
from verify.statements.derivations import Derivation

UNIT = Real(1e-9, 1.0 - 1e-9, "logit")


# --- Proposition C.24, the first part ---


def _anti_pgd(
    second: np.ndarray,
    atoms: np.ndarray,
    weights: np.ndarray,
    share: np.ndarray,
    nu: np.ndarray,
    low: float = 1 / 8,
    high: float = 1 / 2,
) -> tuple[np.ndarray, np.ndarray]:
    """How far Tr[H S] for G^2 / rho = 2 is outside [low, high] times the printed rate (at most 1 if it is inside)."""
    laws = planar(second, atoms, weights)
    beta = np.stack([np.ones_like(nu), nu - 1], axis=1)
    system = Systems(laws, share / laws.r_squared(), beta, 1 / (nu * (2 - nu)), np.zeros_like(nu))
    error = system.doubled_suboptimality()
    rate = 2 * system.eta * (2 * nu + system.x.sum(axis=1) / nu)
    return np.maximum(low * rate / error, error / (high * rate)), np.ones_like(nu)


def _sandwich(low: str = "1/8", high: str = "1/2") -> Pairs:
    """Between (eta/2) N sum_j c_j and twice that the error lies by the trace of (83), for every law with eta R^2 < 1.

    In units of eta G^2 / rho: N = 1 / (2 nu (2 - nu)), sum_j c_j = nu^2 d + 2 (1 - nu) eta Tr H; d >= 1 > eta Tr H.
    """
    n, e, t = sympy.symbols("n e t", positive=True)
    nu, d, trace = 1 / (1 + n), 1 + e, 1 / (1 + t)
    least = (nu**2 * d + 2 * (1 - nu) * trace) / (4 * nu * (2 - nu))
    rate = nu * d + trace / nu
    yield f"F >= {low} rate", least - sympy.Rational(low) * rate
    yield f"F <= {high} rate", sympy.Rational(high) * rate - 2 * least


PROP_C_24_A = Claim(
    id="ftrl/prop-c.24-a",
    where="App. C.5, Proposition C.24",
    page=34,
    kind="mc-rate",
    statement=(
        "For $beta = (1, -(1 - nu), 0, ...)$, $nu = eta lambda in (0, 1]$: $F_oo = Theta(eta G^2 rho^(-1) (nu d + eta "
        'op("Tr")[H] \\/ nu))$.'
    ),
    hypotheses="$sigma_s = 0$, $eta R^2 < 1$.",
    remark="With constants $1/8$ and $1/2$ for $F$ of (22), half that for $F$ of (8).",
    checks=(
        Symbolic(
            nonnegative=_sandwich,
            impostors={
                "lower constant 1/7": {"nonnegative": {"low": "1/7"}},
                "upper constant 2/5": {"nonnegative": {"high": "2/5"}},
            },
        ),
        Search(
            sides=_anti_pgd,
            box={**PLANAR, "share": Real(1e-3, 0.999), "nu": Real(1e-6, 1.0, "log")},
            vectorised=True,
            impostors={
                "lower constant 1/4": {"sides": {"low": 1 / 4}},
                "upper constant 1/4": {"sides": {"high": 1 / 4}},
            },
        ),
    ),
)

# --- Proposition C.24, the second part ---


def _substituted(power: str = "1/2") -> Pairs:
    """nu = d^{-1/2}, Tr H = c/eta in the rate of the first part, against the printed one; sigma^2 = G^2 / (2 rho)."""
    eta, c, d = sympy.symbols("eta c d", positive=True)
    exponent = sympy.Rational(power)
    first = 2 * eta * (d / sympy.sqrt(d) + c * sympy.sqrt(d))
    second = (c**exponent + c**-exponent) * eta ** sympy.Rational(3, 2) * sympy.sqrt(d * c / eta)
    yield (
        "eta G^2/rho (nu d + eta Tr(H)/nu) = 2 (c^(1/2) + c^(-1/2)) eta^(3/2) sigma^2 sqrt(d Tr H)",
        first - 2 * second,
    )


def _square_root_damping(decades: float, power: float = 0.5) -> Iterator[tuple[str, float]]:
    """Exact F (Gaussian, G^2 = 2 rho) over the printed rate: d -> oo and c -> 0."""
    for label, d, c in (
        ("d -> oo, flat", round(10 ** (decades / 2)), 0.1),
        ("d -> oo, 1/k", round(10 ** (decades / 2)), 0.1),
        ("c -> 0", 20, 0.1 * 10**-decades),
    ):
        spectrum = np.ones(d) if "flat" in label else 1.0 / np.arange(1, d + 1)
        eta = c / spectrum.sum()
        correlation = correlations.damped_anti_pgd(d**-0.5)
        rate = (c**power + c**-power) * eta**1.5 * np.sqrt(d * spectrum.sum())
        yield (
            label,
            float(
                2
                * linear_regression.suboptimality(correlation, Regression(eigenvalues=spectrum, eta=eta, rho=0.5))
                / rate
            ),
        )


PROP_C_24_B = Claim(
    id="ftrl/prop-c.24-b",
    where="App. C.5, Proposition C.24",
    page=34,
    kind="mc-rate",
    statement=(
        'With $eta = c \\/ op("Tr")[H]$ and $beta = (1, -(1 - d^(-1\\/2)), 0, ...)$: $F_oo = Theta((c^(1\\/2) + '
        'c^(-1\\/2)) eta^(3\\/2) sigma^2 sqrt(d op("Tr")[H]))$.'
    ),
    hypotheses="As the first part, $sigma^2 = G^2 \\/ (2 rho)$.",
    remark="It is the rate of the first part at $nu = d^(-1\\/2)$, rewritten.",
    checks=(
        Symbolic(residuals=_substituted, impostors={"exponents 1 and -1": {"residuals": {"power": "1"}}}),
        Rate(
            ratios=_square_root_damping,
            relation="theta",
            impostors={"exponents 1 and -1": {"ratios": {"power": 1.0}}},
        ),
    ),
)

# --- the integrals of its proof ---


def _damped_spectrum(m, nu, s):
    return nu**2 + 4 * (1 - nu) * s


def _at_q(power: int = 2) -> Iterator[tuple[str, sympy.Expr, sympy.Expr]]:
    """The spectrum at w = e^(i omega), cos omega = (w + 1/w)/2, s = (1 - cos omega)/2, and its mean's denominator."""
    nu, w = sympy.symbols("nu w")
    q, s = 1 - nu, (2 - w - 1 / w) / 4
    yield "$abs(1 - q w)^2$", nu**2 + 4 * (1 - nu) * s, (1 - q * w) * (1 - q / w)
    yield "$1 - q^2$", 1 - q**power, nu * (2 - nu)


PROP_C_24_INT1 = Claim(
    id="ftrl/prop-c.24-int1",
    where="App. C.5, proof of Proposition C.24",
    page=34,
    kind="identity",
    statement="$integral abs(1 - nu - e^(i omega))^(-2) dif omega = (2 pi)/(nu (2 - nu))$.",
    checks=(
        KERNEL,
        Symbolic(residuals=_at_q, impostors={"1 - q^3": {"residuals": {"power": 3}}}),
        *(
            check.as_control()
            for check in at_both_levels(
                left=lambda m, nu: m.integral(lambda s: 1 / _damped_spectrum(m, nu, s)),
                right=lambda m, nu: 2 * m.pi / (nu * (2 - nu)),
                box={"nu": UNIT},
                impostors={"1e-20 off": {"right": Times("1.00000000000000000001")}},
            )
        ),
    ),
    derivation=Derivation(
        text=(
            "With $q = 1 - nu$ the integrand is $1\\/(1 - q^2)$ times $(1 - q^2) \\/ abs(1 - q e^(i omega))^2 = sum_k "
            "q^abs(k) e^(i k omega)$, whose mean over the circle is 1, and $1 - q^2 = nu (2 - nu)$."
        ),
        lemmas=("geometric series",),
    ),
)


def _damped_ratio(m, nu, x, middle=2):
    return (1 + (1 - nu) ** 2 - middle * (1 - nu) * (1 - x)) / (x * (2 - x))


def _mean_of_ratio(factor: int = 2) -> Iterator[tuple[str, sympy.Expr, sympy.Expr]]:
    """(1 + p² - p w - p/w) sum_k q^|k| w^k has the mean 1 + p² - 2 p q; over 1 - q² that is the closed form."""
    nu, x = sympy.symbols("nu x")
    p, q = 1 - nu, 1 - x
    yield "the closed form", (1 + p**2 - factor * p * q) / (1 - q**2), _damped_ratio(None, nu, x)


def _theta(low: str = "4/9", high: str = "2") -> Pairs:
    """closed form - low (nu^2/x + 1) and high (nu^2/x + 1) - closed form, nu = 1/(1 + n).

    The first over its denominator is a quadratic in nu, for low = 4/9 (1 + 4x) nu^2 - 18 x nu + 10 x + 4 x^2: below
    x = 1/5 it is a square and a positive rest, above it is (1 - 2x)^2 at nu = 1 and decreases.
    """
    n, t, u = sympy.symbols("n t u", positive=True)
    nu, x = sympy.symbols("nu x")
    closed, rate = (1 + (1 - nu) ** 2 - 2 * (1 - nu) * (1 - x)) / (x * (2 - x)), nu**2 / x + 1
    quadratic = sympy.Poly(sympy.cancel(9 * x * (2 - x) * (closed - sympy.Rational(low) * rate)), nu)
    a, b, c = quadratic.all_coeffs()
    yield "rest of the square, x <= 1/5", (c - b**2 / (4 * a)).subs(x, 1 / (5 * (1 + t)))
    yield (
        "decreasing, 1/5 <= x <= 1",
        (-b - a * (1 + nu)).subs({nu: 1 / (1 + n), x: (sympy.Rational(1, 5) + u) / (1 + u)}),
    )
    yield "at nu = 1, 1/5 <= x <= 1/2", (a + b + c).subs(x, (sympy.Rational(1, 5) + u / 2) / (1 + u))
    yield "at nu = 1, x >= 1/2", (a + b + c).subs(x, (sympy.Rational(1, 2) + u) / (1 + u))
    yield "upper", (sympy.Rational(high) * rate - closed).subs({nu: 1 / (1 + n), x: 1 / (1 + t)})


PROP_C_24_INT2 = Claim(
    id="ftrl/prop-c.24-int2",
    where="App. C.5, proof of Proposition C.24",
    page=34,
    kind="identity",
    statement=(
        "$1/(2 pi) integral abs(1 - nu - e^(i omega))^2 / abs(1 - x - e^(i omega))^2 dif omega = (1 + (1 - nu)^2 - 2 "
        "(1 - nu)(1 - x)) / (x (2 - x)) = Theta(nu^2\\/x + 1)$."
    ),
    hypotheses="$0 < nu, x < 1$.",
    remark="The constants are $4/9$ and 2.",
    checks=(
        KERNEL,
        Symbolic(residuals=_mean_of_ratio, impostors={"1 in the middle": {"residuals": {"factor": 1}}}),
        *(
            check.as_control()
            for check in at_both_levels(
                left=lambda m, nu, x: (
                    m.integral(lambda s: _damped_spectrum(m, nu, s) / _damped_spectrum(m, x, s)) / (2 * m.pi)
                ),
                right=_damped_ratio,
                box={"nu": UNIT, "x": Real(1e-9, 0.99, "log")},
                impostors={"1 in the middle": {"right": {"middle": 1}}},
            )
        ),
        Symbolic(
            nonnegative=_theta,
            impostors={"0.45": {"nonnegative": {"low": "9/20"}}, "1.9": {"nonnegative": {"high": "19/10"}}},
        ),
    ),
    derivation=Derivation(
        text=(
            "With $p = 1 - nu$, $q = 1 - x$ the integrand is $(1 + p^2 - p e^(i omega) - p e^(-i omega)) \\/ (1 - "
            "q^2)$ times $(1 - q^2) \\/ abs(1 - q e^(i omega))^2 = sum_k q^abs(k) e^(i k omega)$, so its mean over the "
            "circle is $(1 + p^2 - 2 p q) \\/ (1 - q^2)$. That is between $4\\/9$ and $2$ times $nu^2\\/x + 1$: over "
            "its positive denominator the lower difference is a quadratic in $nu$, for $x <= 1\\/5$ a square and a "
            "positive rest, and for larger $x$ it decreases to $nu = 1$, where it is at least 0; the upper difference "
            "has one sign."
        ),
        lemmas=("geometric series", "monotony"),
    ),
)

# --- Section C.6 ---


def _stable_rank(matrix: np.ndarray) -> float:
    values = np.linalg.svd(matrix, compute_uv=False)
    return float(np.sum(values**2) / values[0] ** 2)


def _effective_dimension(rng: np.random.Generator, power: float = 1.0) -> Iterator[Fact]:
    from scipy.linalg import sqrtm

    for d in (1, 2, 5, 20):
        factor = rng.standard_normal((d, d + 2))
        H = factor @ factor.T
        dimension = linear_regression.effective_dimension(np.linalg.eigvalsh(H)) ** power
        yield Fact(f"srank of the root of a random H, d = {d}", _stable_rank(np.real(sqrtm(H))), dimension, 1e-9)
    for tail in (1e-3, 1e-9):
        perturbed = np.diag([1.0, tail])
        yield Fact(f"srank of diag(1, {tail})", _stable_rank(perturbed), 1.0, 2 * tail)
        yield Fact(f"rank of diag(1, {tail})", int(np.linalg.matrix_rank(perturbed)), 2, 0)


def _modulus(matrix: np.ndarray, change: np.ndarray, size: float) -> tuple[float, float]:
    """|sqrt srank(A + E) - sqrt srank(A)| <= (1 + sqrt srank(A)) eps/(1 - eps) for ||E||_F = eps ||A||."""
    A, E = matrix.reshape(3, 3), change.reshape(3, 3)
    E = E * (size * np.linalg.norm(A, 2) / max(float(np.linalg.norm(E)), 1e-300))
    before, after = np.sqrt(_stable_rank(A)), np.sqrt(_stable_rank(A + E))
    return abs(after - before), (1 + before) * size / (1 - size)


C_6_SRANK = Claim(
    id="ftrl/c.6-srank",
    where="App. C.6",
    page=35,
    kind="identity",
    statement=(
        '$d_e (H) = op("srank")(H^(1\\/2))$ with $op("srank")(A) = norm(A)_F^2 \\/ sigma_max (A)^2$, a continuous '
        "function, unlike the rank."
    ),
    hypotheses="$A != 0$.",
    checks=(
        Agreement(facts=_effective_dimension, impostors={"square": {"facts": {"power": 2.0}}}),
        Search(
            sides=_modulus,
            box={
                "matrix": (Real(-1.0, 1.0), 9),
                "change": (Real(-1.0, 1.0), 9),
                "size": Real(1e-6, 0.9, "log"),
            },
            evaluations={"quick": 2_000, "full": 20_000},
            impostors={"a fifth": {"sides": Times(1, 0.2)}},
        ),
    ),
)
