"""Section 2.2: the example below Theorem 2.2 and the effective dimension."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import sympy

from dpbounds.ftrl import correlations, linear_regression
from dpbounds.ftrl.linear_regression import Regression, effective_dimension
from verify.checks import Agreement, Fact, Rate, Search, Symbolic, Times
from verify.checks.domains import Real
from verify.papers.ftrl.tools.regression import Pairs, Sides
from verify.statements.claims import Claim
from verify.statements.derivations import Derivation

# --- the example and the effective dimension ---


def _example(d: int, eta: float) -> Regression:
    """(1, 1/d, ..., 1/d)."""
    return Regression(eigenvalues=np.concatenate([[1.0], np.full(d - 1, 1.0 / d)]), eta=eta, rho=1.0)


def _example_ratios(decades: float, power: float = 2.0) -> Iterator[tuple[str, float]]:
    """Exact F_inf over eta^2 log^2(d/eta)."""
    for label, d, eta in (
        ("d -> infinity", round(10 ** (0.55 * decades)) + 1, 0.1),
        ("eta -> 0", 100, 0.1 * 10.0**-decades),
        ("both", round(10 ** (0.55 * decades)) + 1, 0.1 * 10.0**-decades),
    ):
        value = linear_regression.suboptimality(correlations.nu(eta / d), _example(d, eta))
        yield label, float(value / (eta**2 * np.log(d / eta) ** power))


def _example_sgd(decades: float, power: float = 1.0) -> Iterator[tuple[str, float]]:
    """Exact F_inf over eta d."""
    for label, d, eta in (
        ("d -> infinity", round(10 ** (0.55 * decades)) + 1, 0.1),
        ("eta -> 0", 100, 0.1 * 10.0**-decades),
    ):
        value = linear_regression.suboptimality(correlations.independent(), _example(d, eta))
        yield label, float(value / (eta * d**power))


def _example_dimension() -> Pairs:
    d = 1 + sympy.symbols("n", positive=True)
    yield "2 - d_eff, d_eff = 1 + (d - 1)/d", 2 - (1 + (d - 1) / d)


SEC_2_2_EXAMPLE = Claim(
    id="ftrl/sec2.2-example",
    where="Section 2.2",
    page=6,
    kind="mc-rate",
    statement=(
        "$lambda = (1, 1\\/d, ..., 1\\/d)$: $d_(e f f) <= 2$, Noisy-FTRL has $O(eta^2 rho^(-1) log^2 (d\\/eta))$ and "
        "Noisy-SGD $Theta(eta rho^(-1) d)$."
    ),
    hypotheses="Gaussian inputs, $nu = eta mu = eta\\/d$.",
    checks=(
        Symbolic(nonnegative=_example_dimension),
        Rate(ratios=_example_ratios, relation="upper", impostors={"single logarithm": {"ratios": {"power": 1.0}}}),
        Rate(ratios=_example_sgd, relation="theta", impostors={"d^0.9": {"ratios": {"power": 0.9}}}),
    ),
)


def _effective_dimension() -> Pairs:
    """d_eff = 1 + sum_{j>1} 1/(1 + u_j) with lambda_1/lambda_j = 1 + u_j: every term lies in [0, 1]."""
    u = sympy.symbols("u", positive=True)
    yield "lambda_j/lambda_1", 1 / (1 + u)
    yield "1 - lambda_j/lambda_1", 1 - 1 / (1 + u)


def _dimension_range(spectrum: np.ndarray) -> Sides:
    value = effective_dimension(spectrum)
    return max(1.0 / value, value / len(spectrum)), 1.0


def _dimensions(rng: np.random.Generator) -> Iterator[Fact]:
    for d in (1, 2, 7, 1000):
        yield Fact(f"d_eff of {d} equal eigenvalues", effective_dimension(np.full(d, 0.37)), float(d), 1e-12)
    yield Fact("d_eff of (1, 4, 3)", effective_dimension(np.array([1.0, 4.0, 3.0])), 2.0, 1e-12)


SEC_2_2_DEFF = Claim(
    id="ftrl/sec2.2-deff",
    where="Section 2.2",
    page=6,
    kind="inequality",
    statement="$1 <= d_(e f f) <= d$, and $d_(e f f) = d$ if all eigenvalues are equal.",
    checks=(
        Symbolic(nonnegative=_effective_dimension),
        Agreement(facts=_dimensions, impostors={"5 % off": {"facts": Times(1.05)}}, role="control"),
        Search(
            sides=_dimension_range,
            box={"spectrum": (Real(1e-12, 1.0, "log"), 5)},
            evaluations={"quick": 1_000, "full": 10_000},
            impostors={"at least 1.05": {"sides": Times(1.05, 1)}},
            role="control",
        ),
    ),
    derivation=Derivation(
        text=(
            "$d_(e f f) = sum_j lambda_j \\/ lambda_1$ has $d$ terms, each in $[0, 1]$, the first of them 1, and all "
            "of them 1 if the eigenvalues are equal."
        ),
    ),
)
