"""Appendix C.4: the stationary error of nu-Noisy-FTRL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import sympy

from dpbounds import elliptic
from dpbounds.ftrl import correlations, linear_regression
from verify.checks import Inequality, Rate, Search, Symbolic
from verify.claims import Claim, Correction
from verify.domains import Real
from verify.ftrl.claims.appendix_f_integrals import upper_certificate
from verify.ftrl.claims.regression_lower import INPUTS, planar

# Pairs a <= b <= top: b = a^{1 - place} top^place.
PLACE = Real(0.0, 1.0)


# --- Lemma C.21 ---


def _between(m, a, place, top):
    """b from a (place 0) to `top` (place 1), evenly in the logarithm."""
    return m.minimum(m.maximum(m.exp((1 - place) * m.log(a) + place * m.log(top)), a), top)


def _ratio_up_to_quarter(m, a, place):
    return m.integral_ratio(a, _between(m, a, place, m.number("1/4")))


def _ratio_up_to_one(m, a, place):
    return m.integral_ratio(a, _between(m, a, place, m.number(1)))


def _log_bound(constant: str) -> Any:
    """constant * log(8 / a), whatever other parameters there are."""
    return lambda m, a, **_: m.number(constant) * m.log(8 / a)


def _line(m, a, place):
    """The line of the proof with 1/(1 - alpha^2): 2 (1 - a/2) / (1 - b/2)^2 log(4 (2 - a)/a), times 1 + k'^2/4."""
    b, complement = _between(m, a, place, m.number(1)), a / (2 - a)
    return 2 * (1 - a / 2) / (1 - b / 2) ** 2 * m.log(4 / complement) * (1 + complement**2 / 4)


def _same_sign_as_f10(m, a, place):
    """I(a, b) <= ((2 - a)/(2 - b))^2 I(a, a) (`_monotone`) and I(a, a) = 4 K/(2 - a) reduce the line to Property F.10
    at k' = a/(2 - a).
    """
    return upper_certificate(m, a / (2 - a))


def _monotone() -> Iterator[tuple[str, sympy.Expr]]:
    """(2 - b)^2 E_a / E_b^2 <= (2 - a)^2 / E_a pointwise for a <= b: s = p/(p + q), b = 1/(1 + t), a = b/(1 + r)."""
    p, q, t, r = sympy.symbols("p q t r", positive=True)
    s, b = p / (p + q), 1 / (1 + t)
    a = b / (1 + r)
    squared = {x: x**2 + 4 * (1 - x) * s for x in (a, b)}
    yield "E_b^2/(2 - b)^2 - E_a^2/(2 - a)^2", squared[b] / (2 - b) ** 2 - squared[a] / (2 - a) ** 2


def _equal_forms(power: sympy.Expr) -> Iterator[tuple[str, sympy.Expr]]:
    """The two sides of the second relation without their common logarithm, (1 - alpha^2)^(-power)."""
    a, b = sympy.symbols("a b", positive=True)
    root = a * (1 - b / 2) / (b * (1 - a / 2))
    alpha_squared = (b**2 * (1 - a) - a**2 * (1 - b)) / (b**2 * (1 - a / 2) ** 2)
    yield "1 - alpha^2", 1 - alpha_squared - root**2
    left = 2 * a**2 / (b**2 * (1 - a / 2)) / root ** (2 * power)
    yield "second relation", left - 2 * (1 - a / 2) / (1 - b / 2) ** 2


def _printed_line_ratios(decades: float) -> Iterator[tuple[str, float]]:
    """I(a, 1/4) over the first expression as printed, with 1/sqrt(1 - alpha^2)."""
    a, b = 10.0 ** -(1 + decades), 0.25
    expression = 2 * a / (b * (1 - b / 2)) * np.log(4 * (2 - a) / a)
    yield "b = 1/4, a -> 0", elliptic.integral_ratio(a, b) / expression


# --- Proposition C.22 and Remark C.23 ---


def _nu_error(points, ratio, share, place) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tr[H S] for G^2 / rho = 2 by brute force, over eta^2 G^2 / rho; nu = (eta mu)^{1 + place}; and the x_j."""
    laws = planar(points, ratio, share)
    x = laws.eta[:, None] * laws.eigenvalues
    nu = x.min(axis=1) ** (1 + place)
    integrals = elliptic.integral_ratio(nu[:, None], x)
    powers = x * (2 - x) / (2 * np.pi) * integrals
    noise = elliptic.integral_inverse(nu) / (2 * np.pi)
    error = laws.error(laws.eta[:, None] ** 2 * noise[:, None] * powers)
    return error / (2 * laws.eta**2), nu, laws.eigenvalues


def _first_line(points, ratio, share, place, constant: float = 0.25) -> tuple[np.ndarray, np.ndarray]:
    error, nu, eigenvalues = _nu_error(points, ratio, share, place)
    return error, constant * eigenvalues.sum(axis=1) * np.log(8 / nu) ** 2


def _equation_51(points, ratio, share, place, constant: float = 1 / (4 * np.pi**2)) -> tuple[np.ndarray, np.ndarray]:
    error, nu, eigenvalues = _nu_error(points, ratio, share, place)
    eta = planar(points, ratio, share).eta
    integrals = elliptic.integral_ratio(nu[:, None], eta[:, None] * eigenvalues)
    return error, constant * elliptic.integral_inverse(nu) * np.sum(eigenvalues * integrals, axis=1)


def _printed_51(decades: float) -> Iterator[tuple[str, float]]:
    """Exact F over the right side of (51) as printed: Gaussian inputs, lambda = 1, eta = nu = 0.1."""
    error = 2 * linear_regression.suboptimality(correlations.nu(0.1), np.ones(1), 0.1, 10.0**-decades)
    yield "(51), rho -> 0 with G = lambda = 1 and eta = nu = 0.1", error / elliptic.integral_inverse(0.1) ** 2


def _contributions(decades: float) -> Iterator[tuple[str, float]]:
    """I(nu, x) / log(1/nu) with nu <= x, towards both ends of nu."""
    small, near_one = 10.0 ** -(decades + 0.3), 1 - 10.0 ** -(decades / 2 + 0.3)
    for name, x in (("x = nu", small), ("x = sqrt(nu)", small**0.5), ("x = 1", 1.0)):
        yield f"nu -> 0, {name}", elliptic.integral_ratio(small, x) / np.log(1 / small)
    yield "nu -> 1, x = nu", elliptic.integral_ratio(near_one, near_one) / -np.log(near_one)


CLAIMS = (
    Claim(
        id="ftrl/lem-c.21-i",
        where="Lemma C.21(i), (50)",
        kind="inequality",
        statement="$I(a, a) <= 5/(2 - a) log(4/a (2 - a)) <= 5 log(8\\/a)$ for $0 < a < 1$.",
        checks=(
            Inequality(
                smaller=lambda m, a: m.integral_inverse(a),
                larger=lambda m, a: 5 / (2 - a) * m.log(4 * (2 - a) / a),
                box={"a": Real(1e-300, 1.0, "log")},
                impostors={"4.5": {"larger": lambda m, a: m.number("4.5") / (2 - a) * m.log(4 * (2 - a) / a)}},
            ),
            Inequality(
                smaller=lambda m, a: 5 / (2 - a) * m.log(4 * (2 - a) / a),
                larger=_log_bound("5"),
                box={"a": Real(1e-300, 1.0, "log")},
                impostors={"3": {"larger": _log_bound("3")}},
            ),
        ),
    ),
    Claim(
        id="ftrl/lem-c.21-ii",
        where="Lemma C.21(ii)",
        kind="inequality",
        statement="$I(a, b) <= 128/49 log(8\\/a) (1 + O(a))$ for $a <= b <= 1/4$.",
        hypotheses="Checked in the stronger form without $O(a)$.",
        checks=(
            Inequality(
                smaller=_ratio_up_to_quarter,
                larger=_log_bound("128/49"),
                box={"a": Real(1e-60, 0.25, "log"), "place": PLACE},
                impostors={"2.2": {"larger": _log_bound("2.2")}},
            ),
        ),
    ),
    Claim(
        id="ftrl/lem-c.21-line",
        where="proof of Lemma C.21(ii)",
        kind="inequality",
        statement=(
            "$I(a, b) <= (2 a^2)/(b^2 (1 - a\\/2)) 1/sqrt(1 - alpha^2) log(4/sqrt(1 - k^2)) (1 + O(a)) = (2 (1 - "
            "a\\/2))/(1 - b\\/2)^2 log(4/a (2 - a)) (1 + O(a))$."
        ),
        hypotheses="$alpha, k$ of Lemma F.16.",
        checks=(
            Rate(ratios=_printed_line_ratios, relation="upper"),
            Symbolic(residuals=lambda: _equal_forms(sympy.Rational(1, 2))),
        ),
        correction=Correction(
            statement=(
                "$1 - alpha^2$ stands in place of $sqrt(1 - alpha^2)$, as in Property F.11; then $1 + O(a)$ may be $1 "
                "+ a^2\\/(4 (2 - a)^2)$, for all $a <= b <= 1$."
            ),
            checks=(
                Symbolic(residuals=lambda: _equal_forms(sympy.Integer(1)), nonnegative=_monotone),
                Inequality(
                    smaller=_ratio_up_to_one,
                    larger=_line,
                    box={"a": Real(1e-30, 1.0, "log"), "place": PLACE},
                    certificate=_same_sign_as_f10,
                    impostors={"2 % less": {"larger": lambda m, a, place: m.number("0.98") * _line(m, a, place)}},
                ),
            ),
        ),
    ),
    Claim(
        id="ftrl/prop-c.22",
        where="Proposition C.22, (51)",
        kind="inequality",
        statement=(
            '$F_oo (hat(beta)^nu) <= C max{1, C_k} eta^2 G^2 rho^(-1) op("Tr")[H] log^2 (8\\/nu) + tilde(O)(eta^3 '
            "R^2 mu G^2 rho^(-1))$, by way of $F_oo <= C max{1, C_k} I(nu, nu) sum_j lambda_j I(nu, eta lambda_j)$ "
            "(51)."
        ),
        hypotheses="$sigma_s = 0$, $nu <= eta mu$, $eta R^2 < 1$, $C$ universal; F of (22).",
        checks=(Rate(ratios=_printed_51, relation="upper"),),
        correction=Correction(
            statement=(
                "(51) carries the factor $eta^2 G^2 rho^(-1)$; then $C = 1\\/(4 pi^2)$ serves there and $C = 1\\/4$ "
                "in the first line, without $C_k$ and the second term. Lemma C.21(ii) asks for $eta lambda_j <= "
                "1\\/4$, which the setting does not give, but nothing changes without it (Remark C.23)."
            ),
            checks=(
                Search(
                    sides=_first_line,
                    box={**INPUTS, "place": Real(0.0, 4.0)},
                    vectorised=True,
                    impostors={"constant 0.08": {"sides": lambda **p: _first_line(**p, constant=0.08)}},
                ),
                Search(
                    sides=_equation_51,
                    box={**INPUTS, "place": Real(0.0, 4.0)},
                    vectorised=True,
                    impostors={"1/50": {"sides": lambda **p: _equation_51(**p, constant=0.02)}},
                ),
            ),
        ),
    ),
    Claim(
        id="ftrl/rem-c.23",
        where="Remark C.23",
        kind="mc-rate",
        statement='$op("Err")_j = lambda_j I(nu, eta lambda_j) <= O(lambda_j log(1\\/nu))$ as long as $nu <= eta mu$.',
        hypotheses="$eta mu < 1$.",
        checks=(Rate(ratios=_contributions, relation="upper"),),
        correction=Correction(
            statement=(
                "$log(8\\/nu)$ stands in place of $log(1\\/nu)$, which vanishes as $nu -> 1$; the constant is then 3.3."
            ),
            checks=(
                Inequality(
                    smaller=_ratio_up_to_one,
                    larger=_log_bound("3.3"),
                    box={"a": Real(1e-30, 1.0, "log"), "place": PLACE},
                    impostors={"3": {"larger": _log_bound("3")}},
                ),
            ),
        ),
    ),
)
