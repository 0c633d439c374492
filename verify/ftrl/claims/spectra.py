"""Which spectra gain: the example and the effective dimension of Section 2.2, Table 4.

The rows of Table 4 are bounds, like Theorem 2.2 that they are taken from: the error of Noisy-FTRL is read as O with a
constant that does not depend on d, eta or a. Exact values are those of
`dpbounds.ftrl.linear_regression.suboptimality`, G = rho = 1, nu = eta mu.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
import sympy

from dpbounds.ftrl import correlations, linear_regression
from dpbounds.ftrl.linear_regression import effective_dimension, power_law
from verify.checks import Agreement, Fact, Rate, Search, Symbolic
from verify.checks.base import Check
from verify.claims import Claim, Correction
from verify.domains import Real, Whole
from verify.ftrl.claims.regression_rates import Pairs, Sides

# --- the example and the effective dimension ---


def _example_ratios(decades: float, power: float = 2.0) -> Iterator[tuple[str, float]]:
    """Exact F_inf over eta^2 log^2(d/eta) and over eta d."""
    for label, d, eta in (
        ("d -> infinity", round(10 ** (0.75 * decades)) + 1, 0.1),
        ("eta -> 0", 100, 0.1 * 10.0**-decades),
        ("both", round(10 ** (0.75 * decades)) + 1, 0.1 * 10.0**-decades),
    ):
        spectrum = np.full(d, 1.0 / d)
        spectrum[0] = 1.0
        value = linear_regression.suboptimality(correlations.nu(eta / d), spectrum, eta, 1.0)
        yield label, float(value / (eta**2 * np.log(d / eta) ** power))


def _example_sgd(decades: float) -> Iterator[tuple[str, float]]:
    for label, d, eta in (
        ("d -> infinity", round(10 ** (0.75 * decades)) + 1, 0.1),
        ("eta -> 0", 100, 0.1 * 10.0**-decades),
    ):
        spectrum = np.full(d, 1.0 / d)
        spectrum[0] = 1.0
        yield label, float(linear_regression.suboptimality(correlations.independent(), spectrum, eta, 1.0) / (eta * d))


def _example_dimension() -> Pairs:
    d = 1 + sympy.symbols("n", positive=True)
    yield "2 - d_eff, d_eff = 1 + (d - 1)/d", 2 - (1 + (d - 1) / d)


def _effective_dimension() -> Pairs:
    """d_eff = 1 + sum_{j>1} 1/(1 + u_j) with lambda_1/lambda_j = 1 + u_j: every term lies in [0, 1]."""
    u = sympy.symbols("u", positive=True)
    yield "lambda_j/lambda_1", 1 / (1 + u)
    yield "1 - lambda_j/lambda_1", 1 - 1 / (1 + u)


def _dimension_range(spectrum: np.ndarray, least: float = 1.0) -> Sides:
    value = effective_dimension(spectrum)
    return max(least / value, value / len(spectrum)), 1.0


def _equal_eigenvalues(rng: np.random.Generator, scale: float = 1.0) -> Iterator[Fact]:
    for d in (1, 2, 7, 1000):
        yield Fact(f"d_eff of {d} equal eigenvalues", scale * effective_dimension(np.full(d, 0.37)), float(d), 1e-12)


# --- Table 4 ---

SIZE, STEP, EXPONENT = sympy.symbols("d eta a", positive=True)
LOGARITHM = sympy.log(SIZE / STEP)


@dataclass(frozen=True, kw_only=True)
class Row:
    """Eigenvalues k^{-a}, `exponents` to look at; columns as functions of d, eta, a; the ends of the range of a."""

    exponents: tuple[float, ...]
    dimension: sympy.Expr
    error: sympy.Expr
    ratio: sympy.Expr
    ends: tuple[tuple[str, Callable[[float], float]], ...] = ()


ROWS = {
    1: Row(
        exponents=(0.0,),
        dimension=SIZE,
        error=STEP**2 * SIZE * sympy.log(1 / STEP) ** 2,
        ratio=STEP * sympy.log(1 / STEP) ** 2,
    ),
    2: Row(
        exponents=(0.5,),
        dimension=sympy.sqrt(SIZE),
        error=STEP**2 * sympy.sqrt(SIZE) * LOGARITHM**2,
        ratio=STEP / sympy.sqrt(SIZE) * LOGARITHM**2,
    ),
    3: Row(
        exponents=(0.25, 0.75),
        dimension=SIZE ** (1 - EXPONENT) / (1 - EXPONENT),
        error=STEP**2 * SIZE ** (1 - EXPONENT) / (1 - EXPONENT) * LOGARITHM**2,
        ratio=STEP / ((1 - EXPONENT) * SIZE**EXPONENT) * LOGARITHM**2,
        ends=(
            ("a -> 0", lambda decades: 0.5 * 10 ** (-decades / 4)),
            ("a -> 1", lambda decades: 1 - 0.5 * 10 ** (-decades / 4)),
        ),
    ),
    4: Row(
        exponents=(1.0,),
        dimension=sympy.log(SIZE),
        error=STEP**2 * LOGARITHM**3,
        ratio=STEP / SIZE * LOGARITHM**3,
    ),
    5: Row(
        exponents=(2.0,),
        dimension=sympy.Integer(1),
        error=STEP**2 * LOGARITHM**2,
        ratio=STEP / SIZE * LOGARITHM**3,
    ),
    6: Row(
        exponents=(1.5, 3.0),
        dimension=EXPONENT / (EXPONENT - 1),
        error=EXPONENT**2 / (EXPONENT - 1) * STEP**2 * LOGARITHM**2,
        ratio=EXPONENT**2 / (EXPONENT - 1) * STEP / SIZE * LOGARITHM**2,
        ends=(
            ("a -> 1", lambda decades: 1 + 0.5 * 10 ** (-decades / 4)),
            ("a -> 98", lambda decades: 2.0 + 3.0 * decades),
        ),
    ),
}
CORRECTED_RATIO = STEP / SIZE * LOGARITHM**2


def _quotient(row: int, ratio: sympy.Expr | None = None) -> Callable[[], Pairs]:
    """The ratio column over the quotient of the columns before it, eta d the error of Noisy-SGD."""
    printed = ROWS[row].ratio if ratio is None else ratio
    quotient = sympy.simplify(printed * STEP * SIZE / ROWS[row].error)
    return lambda: iter([(f"row {row}: ratio column / (Noisy-FTRL / Noisy-SGD) - 1", quotient - 1)])


@cache
def _compiled(expression: sympy.Expr) -> Callable[[float, float, float], float]:
    return sympy.lambdify((SIZE, STEP, EXPONENT), expression, "math")


def _evaluate(expression: sympy.Expr, d: int, eta: float, a: float) -> float:
    return float(_compiled(expression)(d, eta, a))


def _dimension_ratios(row: int, factor: sympy.Expr) -> Callable[[float], Iterator[tuple[str, float]]]:
    """d_eff of the spectrum over the printed one for d -> infinity at fixed a."""

    def ratios(decades: float) -> Iterator[tuple[str, float]]:
        d = round(2 * 10.0**decades)
        for a in ROWS[row].exponents:
            yield f"a = {a:g}", effective_dimension(power_law(d, a)) / _evaluate(ROWS[row].dimension * factor, d, 1, a)

    return ratios


def _dimension_bound(row: int, d: float, a: float) -> Sides:
    return effective_dimension(power_law(int(d), a)), _evaluate(ROWS[row].dimension, int(d), 1, a)


def _error_ratios(row: int, factor: sympy.Expr) -> Callable[[float], Iterator[tuple[str, float]]]:
    """Exact F_inf over the printed rate: eta -> 0, d -> infinity at the largest eta, a to its ends."""

    def settings(decades: float) -> Iterator[tuple[str, int, float, float]]:
        d, far = round(2 * 10.0 ** (decades / 6.4)), 10.0**-decades
        for a in ROWS[row].exponents:
            yield f"eta -> 0, a = {a:g}", 10, a, far
            yield f"d -> infinity, a = {a:g}", d, a, 1.0
        for label, exponent in ROWS[row].ends:
            for size in (2, 10):
                yield f"{label}, d = {size}", size, exponent(decades), 1.0

    def ratios(decades: float) -> Iterator[tuple[str, float]]:
        for label, d, a, share in settings(decades):
            spectrum = power_law(d, a)
            eta = 0.3 * share / spectrum.sum()
            value = linear_regression.suboptimality(correlations.nu(eta * spectrum.min()), spectrum, eta, 1.0)
            yield label, float(value) / _evaluate(ROWS[row].error * factor, d, eta, a)

    return ratios


def _row_checks(row: int, *, ratio_of_columns: sympy.Expr | None = None) -> tuple[Check, ...]:
    """The ratio column, the effective dimension, the error."""
    one = sympy.Integer(1)
    quotient = Symbolic(
        residuals=_quotient(row, ratio_of_columns),
        impostors={"one logarithm more": {"residuals": _quotient(row, ROWS[row].error / (STEP * SIZE) * LOGARITHM)}},
    )
    dimension = Rate(
        ratios=_dimension_ratios(row, one),
        relation="theta",
        extents=(0.625, 1.25, 2.5, 5.0),
        impostors={"d^0.3 more": {"ratios": _dimension_ratios(row, SIZE ** sympy.Rational(-3, 10))}},
    )
    error = Rate(
        ratios=_error_ratios(row, one),
        relation="upper",
        extents=(4.0, 8.0, 16.0, 32.0),
        impostors={"one logarithm less": {"ratios": _error_ratios(row, 1 / LOGARITHM)}},
    )
    return quotient, dimension, error


def _dimension_search(row: int, exponents: Real) -> Search:
    """The printed d_eff is an upper bound for every a."""
    return Search(
        sides=lambda d, a: _dimension_bound(row, d, a),
        box={"d": Whole(1, 3000, "log"), "a": exponents},
        evaluations=2000,
        impostors={
            "half of it": {"sides": lambda d, a: (2 * _dimension_bound(row, d, a)[0], _dimension_bound(row, d, a)[1])}
        },
    )


TABLE_4 = 'Gaussian inputs, $G = lambda_1 = rho = 1$, $nu = eta mu$, $eta op("Tr") H <= 0.3$; the error read as $O$'


CLAIMS = (
    Claim(
        id="ftrl/sec2.2-example",
        where="Section 2.2",
        kind="mc-rate",
        statement=(
            "$lambda = (1, 1\\/d, ..., 1\\/d)$: $d_(e f f) <= 2$, Noisy-FTRL has $O(eta^2 rho^(-1) log^2 (d\\/eta))$ "
            "and Noisy-SGD $Theta(eta rho^(-1) d)$."
        ),
        hypotheses="Gaussian inputs, $nu = eta mu = eta\\/d$.",
        checks=(
            Symbolic(nonnegative=_example_dimension),
            Rate(
                ratios=_example_ratios,
                relation="upper",
                impostors={"single logarithm": {"ratios": lambda decades: _example_ratios(decades, 1.0)}},
            ),
            Rate(ratios=_example_sgd, relation="theta"),
        ),
    ),
    Claim(
        id="ftrl/sec2.2-deff",
        where="Section 2.2",
        kind="inequality",
        statement="$1 <= d_(e f f) <= d$, and $d_(e f f) = d$ if all eigenvalues are equal.",
        checks=(
            Symbolic(nonnegative=_effective_dimension),
            Agreement(
                facts=_equal_eigenvalues, impostors={"5 % off": {"facts": lambda rng: _equal_eigenvalues(rng, 1.05)}}
            ),
            Search(
                sides=_dimension_range,
                box={"spectrum": (Real(1e-12, 1.0, "log"), 5)},
                impostors={"at least 1.05": {"sides": lambda spectrum: _dimension_range(spectrum, 1.05)}},
            ),
        ),
    ),
    Claim(
        id="ftrl/tab-4-1",
        where="Table 4, row 1",
        kind="mc-rate",
        statement=(
            "$lambda_k = 1$: $d_(e f f) = d$; Noisy-FTRL has $eta^2 d log^2 1/eta$, which is $eta log^2 1/eta$ times "
            "the error of Noisy-SGD, $eta d$."
        ),
        hypotheses=TABLE_4 + ".",
        checks=_row_checks(1),
    ),
    Claim(
        id="ftrl/tab-4-2",
        where="Table 4, row 2",
        kind="mc-rate",
        statement=(
            "$lambda_k = k^(-1\\/2)$: $d_(e f f) = sqrt(d)$; Noisy-FTRL has $eta^2 sqrt(d) log^2 d/eta$, which is "
            "$eta/sqrt(d) log^2 d/eta$ times the error of Noisy-SGD, $eta d$."
        ),
        hypotheses=TABLE_4 + ", $d_(e f f)$ as $Theta$.",
        checks=_row_checks(2),
    ),
    Claim(
        id="ftrl/tab-4-3",
        where="Table 4, row 3",
        kind="mc-rate",
        statement=(
            "$lambda_k = k^(-a)$, $a < 1$: $d_(e f f) = d^(1 - a)\\/(1 - a)$; Noisy-FTRL has $eta^2 d^(1 - a)\\/(1 - "
            "a) log^2 d/eta$, which is $eta\\/((1 - a) d^a) log^2 d/eta$ times the error of Noisy-SGD, $eta d$."
        ),
        hypotheses=(
            TABLE_4
            + ", $d_(e f f)$ as $Theta$ for every $a$ and as an upper bound for all. For $a -> 1$ at fixed $d$ both "
            "columns diverge and the truth does not."
        ),
        checks=(*_row_checks(3), _dimension_search(3, Real(0.0, 0.999))),
    ),
    Claim(
        id="ftrl/tab-4-4",
        where="Table 4, row 4",
        kind="mc-rate",
        statement=(
            "$lambda_k = 1\\/k$: $d_(e f f) = log d$; Noisy-FTRL has $eta^2 log^3 d/eta$, which is $eta/d log^3 d/eta$ "
            "times the error of Noisy-SGD, $eta d$."
        ),
        hypotheses=(
            TABLE_4 + ", $d_(e f f)$ as $Theta$, $d >= 2$. For $eta -> 0$ at fixed $d$ two of the logarithms would do."
        ),
        checks=_row_checks(4),
    ),
    Claim(
        id="ftrl/tab-4-5",
        where="Table 4, row 5",
        kind="mc-rate",
        statement=(
            "$lambda_k = 1\\/k^2$: $d_(e f f)$ is constant; Noisy-FTRL has $eta^2 log^2 d/eta$, which is $eta/d log^3 "
            "d/eta$ times the error of Noisy-SGD, $eta d$."
        ),
        hypotheses=TABLE_4 + ", $d_(e f f)$ as $Theta$.",
        checks=_row_checks(5),
        correction=Correction(
            statement="the ratio is $eta/d log^2 d/eta$, with the square that the error itself has.",
            checks=_row_checks(5, ratio_of_columns=CORRECTED_RATIO),
        ),
    ),
    Claim(
        id="ftrl/tab-4-6",
        where="Table 4, row 6",
        kind="mc-rate",
        statement=(
            "$lambda_k = k^(-a)$, $a > 1$: $d_(e f f) = a\\/(a - 1)$; Noisy-FTRL has $a^2\\/(a - 1) eta^2 log^2 "
            "d/eta$, which is $a^2\\/(a - 1) eta/d log^2 d/eta$ times the error of Noisy-SGD, $eta d$."
        ),
        hypotheses=(
            TABLE_4 + ", $d_(e f f)$ as $Theta$ for every $a$ and as an upper bound for all. Theorem 2.2 itself gives "
            "$a^3\\/(a - 1)$, from $log 1\\/(eta mu) <= a log d/eta$; the exact error obeys the printed row."
        ),
        checks=(*_row_checks(6), _dimension_search(6, Real(1.001, 60.0, "log"))),
    ),
)
