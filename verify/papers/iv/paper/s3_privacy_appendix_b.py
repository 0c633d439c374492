"""Appendix B, the proof of Proposition 3.1: what one record moves, and what one iteration spends."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import sympy

from dpbounds.iv import (
    printed_budget,
    printed_joint_cost,
    release_cost,
)
from verify.checks import GaussianPrivacy, Neighbours, Search, Symbolic, Times
from verify.checks.domains import Real, Whole
from verify.papers.iv.paper.s3_privacy import SYMBOLS
from verify.papers.iv.tools.output_laws import (
    Mechanism,
    joint_shifts,
    neighbours,
    opposite_records,
)
from verify.statements.claims import Claim
from verify.statements.derivations import Derivation


def _clipped(gradients: np.ndarray, gamma: np.ndarray) -> np.ndarray:
    """One gradient per row, flattened."""
    norms = np.linalg.norm(gradients, axis=1)
    return gradients * np.minimum(1.0, gamma / np.maximum(norms, 1e-300))[:, None]


def _one_record(theta, beta, record, gamma1, gamma2):
    """Clipped gradients of one record (z in R^2, x in R^2, y) per row."""
    theta, z, x, y = theta.reshape(-1, 2, 2), record[:, :2], record[:, 2:4], record[:, 4]
    fitted = np.einsum("nij,ni->nj", theta, z)
    first = z[:, :, None] * (fitted - x)[:, None, :]
    second = fitted * (np.sum(fitted * beta, axis=1) - y)[:, None]
    return _clipped(first.reshape(-1, 4), gamma1), _clipped(second, gamma2)


def _sensitivity(theta, beta, own, other, gamma1, gamma2, n, clipping: bool = True):
    """The larger of the two changes of the average, each over its clip norm, when one record is replaced."""
    limits = (gamma1, gamma2) if clipping else (np.full_like(gamma1, 1e6), np.full_like(gamma2, 1e6))
    pairs = zip(_one_record(theta, beta, own, *limits), _one_record(theta, beta, other, *limits), strict=True)
    changes = [np.linalg.norm(a - b, axis=1) / n for a, b in pairs]
    return np.maximum(changes[0] / gamma1, changes[1] / gamma2), 2.0 / n


def _opposite_point() -> list[dict[str, Any]]:
    record = [1.0, 0.0, 100.0, 0.0, 100.0]
    common = {"theta": [1.0, 0.0, 0.0, 1.0], "beta": [0.0, 0.0], "gamma1": 3.0, "gamma2": 0.5, "n": 7.0}
    return [{**common, "own": record, "other": [1.0, 0.0, -100.0, 0.0, -100.0]}]


def _attained(factor: str = "2") -> Iterator[tuple[Any, ...]]:
    """z = 1, x = y = K and x = y = -K, Theta = s small and beta = 0: gradients Theta - x and -Theta y, clipped."""
    (n, _, _, gamma1, gamma2), (s, K) = SYMBOLS, sympy.symbols("s K", positive=True)
    ends = {"Theta": (gamma1, lambda x: s - x), "beta": (gamma2, lambda y: -s * y)}
    for name, (gamma, gradient) in ends.items():
        # Of length gamma or more: K is gamma / s + s + more.
        one, other = (gradient(sign * (gamma / s + gamma + s + K)) for sign in (1, -1))
        clipped = [value * gamma / sympy.sqrt(value**2) for value in (one, other)]
        yield name, sympy.simplify((clipped[1] - clipped[0]) / n), sympy.Rational(factor) * gamma / n


PROP_3_1_SENS = Claim(
    id="iv/prop-3.1-sens",
    where="App. B",
    page=14,
    kind="inequality",
    statement="The averaged clipped gradients have sensitivity $Delta_i = 2 gamma_i \\/ n$.",
    hypotheses="One record replaced, both data sets at the same $(Theta^((t)), beta^((t)))$.",
    setting="$p = q = 2$.",
    checks=(
        Symbolic(residuals=_attained, impostors={"1.95 in place of 2": {"residuals": {"factor": "1.95"}}}),
        Search(
            sides=_sensitivity,
            role="control",
            box={
                "theta": (Real(-5.0, 5.0), 4),
                "beta": (Real(-5.0, 5.0), 2),
                "own": (Real(-10.0, 10.0), 5),
                "other": (Real(-10.0, 10.0), 5),
                "gamma1": Real(0.01, 100.0, "log"),
                "gamma2": Real(0.01, 100.0, "log"),
                "n": Whole(1, 1000, "log"),
            },
            extremal=_opposite_point,
            vectorised=True,
            impostors={
                "1.95 in place of 2": {"sides": Times(1, 0.975)},
                "no clipping": {"sides": {"clipping": False}},
            },
        ),
    ),
    derivation=Derivation(
        text=(
            "Two averages of $n$ vectors of norm at most $gamma_i$ that differ in one of them are at most $2 "
            "gamma_i\\/n$ apart. This is proved to be attained at $p = q = 1$, by one record and the same with $x$ and "
            "$y$ of the other sign; zeros in further entries give it for any $p$ and $q$."
        ),
        lemmas=("triangle inequality",),
    ),
)


def _per_iteration(factor: Any = 2) -> Iterator[tuple[Any, ...]]:
    """D_alpha = alpha Delta^2 / (2 lambda^2) of each release, Delta_i = 2 gamma_i / n, and T equal terms."""
    (n, _, _, gamma1, gamma2), (T, t) = SYMBOLS, sympy.symbols("T t", positive=True)
    lambda1, lambda2 = sympy.symbols("lambda_1 lambda_2", positive=True)
    one = sum((factor * gamma / n) ** 2 / (2 * scale**2) for gamma, scale in ((gamma1, lambda1), (gamma2, lambda2)))
    parts = [release_cost(n, 1, gamma, scale) for gamma, scale in ((gamma1, lambda1), (gamma2, lambda2))]
    yield "one iteration", one, printed_budget(n, 1, gamma1, gamma2, lambda1, lambda2)
    yield "one iteration, stage by stage", one, sympy.Add(*parts)
    yield "T iterations", sympy.summation(one, (t, 1, T)), printed_budget(n, T, gamma1, gamma2, lambda1, lambda2)


def _steps_from(*starts: float, variance: float = 1.0) -> Iterator[Neighbours]:
    """T iterations from Theta = start against T (2/n^2) (gamma_1^2 / lambda_1^2 + gamma_2^2 / lambda_2^2)."""
    rng = np.random.default_rng(1)
    for start in starts:
        for n, T in ((1, 1), (2, 3), (6, 20)):
            mechanism = Mechanism(n=n, steps=T, gamma1=1.5, gamma2=0.4, lambda1=0.3, lambda2=0.2)
            claimed = float(printed_joint_cost(mechanism, n, T))
            shift, variances = joint_shifts(opposite_records(n), mechanism, rng, start=start)
            yield neighbours(f"n = {n}, T = {T}, from Theta = {start}", shift, variance * variances, claimed)


PROP_3_1_STEP = Claim(
    id="iv/prop-3.1-step",
    where="App. B",
    page=14,
    kind="identity",
    statement=(
        "One iteration costs $2/n^2 (gamma_1^2 \\/ lambda_1^2 + gamma_2^2 \\/ lambda_2^2)$, $T$ iterations $T$ times "
        "that."
    ),
    remark=(
        "Exactly that from iterates that are not zero; from zero it is a bound, since the first gradient of $beta$ is "
        "0. App. B writes $rho_1, rho_2$ for the values of one iteration."
    ),
    checks=(
        Symbolic(residuals=_per_iteration, impostors={"without the half": {"residuals": {"factor": sympy.sqrt(8)}}}),
        GaussianPrivacy(
            pairs=partial(_steps_from, 0.0, 1.0),
            role="control",
            impostors={"5 % less noise variance": {"pairs": {"variance": 0.95}}},
        ),
    ),
    derivation=Derivation(
        text=(
            "Given the past, a release whose mean moves by at most $2 gamma_i\\/n$ under noise $lambda_i$ costs at "
            "most half the square of the quotient; both stages, and $T$ equal terms, are proved to add up to what is "
            "stated. One record $(z, x, y)$, changed to $(z, -x, -y)$ with $Theta^top z$ not 0, moves both means by "
            "that much as $x$ and $y$ grow."
        ),
        lemmas=("triangle inequality", "Rényi divergence of normal laws", "zCDP of a sum"),
    ),
)
