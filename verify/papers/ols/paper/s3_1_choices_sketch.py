"""Section 3.1: how large a sketch, and when nothing is clipped."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import sympy

from dpbounds.ols import bounds
from dpbounds.ols.wishart import inverse_moments
from simulators.ols import ClippedSums, HessianMixing, LeastSquares
from verify.checks import Agreement, Fact, Search, Symbolic, Times
from verify.checks.domains import Real, Whole
from verify.papers.ols.tools.settings import mixing_runs
from verify.statements.claims import Claim
from verify.statements.derivations import Derivation

# --- the sketch size ---


def _forms(d, log_failure, T, side: int, most: float = 4.0):
    """(sqrt d + sqrt L)² / max{d, L}, L = log(4T/varrho), between 1 and 4."""
    L = np.log(4 * T) + log_failure
    ratio = (np.sqrt(d) + np.sqrt(L)) ** 2 / np.maximum(d, L)
    return (ratio, most + 0 * ratio) if side else (1 + 0 * ratio, ratio)


def _experiments_size(rng: np.random.Generator) -> Iterator[Fact]:
    """6 max{d, log(4T/varrho)}, rounded down, written out; what a step at k = 6 d leaves of the squared error."""
    left = {f"left_{d}": inverse_moments(6 * d, d).contraction(1.0) for d in (10, 100)}
    for d, failure, T in ((5, 1e-9, 3), (40, 1e-9, 3), (1, 0.1, 1)):
        stated = math.floor(6 * max(d, math.log(4 * T / failure)))
        yield Fact(f"k, d = {d}, varrho = {failure:g}", bounds.sketch_size(d, failure, T), stated, 1e-12, left)
        stated = math.floor(2.5 * max(d, math.log(4 * T / failure)))
        yield Fact(f"k at 2.5, d = {d}", bounds.sketch_size(d, failure, T, factor=2.5), stated, 1e-12)


def _between(most: int = 4) -> Iterator[tuple[str, sympy.Expr]]:
    """The larger of sqrt d and sqrt L is x + a, the smaller x."""
    x, a = sympy.symbols("x a", positive=True)
    yield "(sqrt d + sqrt L)² - max{d, L}", (2 * x + a) ** 2 - (x + a) ** 2
    yield "4 max{d, L} - (sqrt d + sqrt L)²", most * (x + a) ** 2 - (2 * x + a) ** 2


_FORMS = {"d": Whole(1, 10**5, "log"), "log_failure": Real(0.0, 60.0), "T": Whole(1, 50)}

K_CHOICE = Claim(
    id="ols/k-choice",
    where="Section 3.1 item 2, Section 5, App. H",
    equation="Section 3.1 item 2",
    kind="number",
    statement=(
        r"Following Theorem 1, $k = b (sqrt(d) + sqrt(log(4 T\/rho.alt)))^2$, $b > 1$, the experiments use $k = 6 "
        r"max{d, log(4 T\/rho.alt)}$, whose maximum matches the scaling of Theorem 1."
    ),
    remark=(
        "The two forms differ by a factor between 1 and 4. At $k = 6 d$ a noise-free step leaves ${left_10:3}$ of "
        "the squared error on average for $d = 10$ and ${left_100:3}$ for $d = 10^2$, not $1\\/4$ "
        "(`ols/beyond-contraction`). App. H prints $log(2 T\\/rho.alt)$."
    ),
    checks=(
        Symbolic(nonnegative=_between, impostors={"3 for 4": {"nonnegative": {"most": 3}}}),
        Search(
            sides=lambda **p: _forms(side=1, **p),
            box=_FORMS,
            vectorised=True,
            role="control",
            impostors={"3.9": {"sides": lambda **p: _forms(side=1, most=3.9, **p)}},
        ),
        Search(
            sides=lambda **p: _forms(side=0, **p),
            box=_FORMS,
            vectorised=True,
            role="control",
            impostors={"1.1": {"sides": lambda **p: (1.1 + 0 * p["d"], _forms(side=0, **p)[1])}},
        ),
        Agreement(facts=_experiments_size, impostors={"10 % off": {"facts": Times(1.1)}}, role="control"),
    ),
    derivation=Derivation(
        text=(
            "With $L = log(4 T\\/rho.alt) >= log 4$: $max{d, L} <= (sqrt(d) + sqrt(L))^2 <= 4 max{d, L}$, so $6 max{d, "
            "L} = b (sqrt(d) + sqrt(L))^2$ with $3\\/2 <= b <= 6$, for every $d$, $T$, $rho.alt$."
        ),
    ),
)

# --- the first iteration is not clipped ---


def _rows(scale: float) -> LeastSquares:
    """d = 2, condition number 10^6, outcomes up to C_Y = scale."""
    rng = np.random.default_rng(4)
    X = rng.uniform(-1, 1, (40, 2)) * np.array([1.0, 1e-3]) / 1.5
    Y = rng.uniform(-1, 1, 40)
    return LeastSquares(regressors=X, outcome=scale * Y / np.abs(Y).max(), outcome_bound=scale)


def _first_step(rng: np.random.Generator, clip: float = 1.0) -> Iterator[Fact]:
    """Nothing is clipped at theta = 0 for C = C_Y, whatever the condition number; one step with C = C_Y is one
    without clipping.
    """
    for scale in (0.5, 1.0, 3.0):
        problem = _rows(scale)
        gradient, share = ClippedSums(problem=problem, clip=clip * scale, clipping="entrywise").start(2)
        yield Fact(f"share clipped, C_Y = {scale}", float(np.max(share)), 0.0, 0)
        stated = problem.eigenvectors.T @ (problem.regressors.T @ problem.outcome)
        yield Fact(f"first gradient, C_Y = {scale}", gradient, np.tile(stated, (2, 1)), 1e-10)
    common = {"steps": 1, "k": 40, "gamma": 3.0, "tau": 1.0, "sigma": 0.5, "keep_ridge": True}
    found = mixing_runs("residual", HessianMixing(clip=clip, **common)).run_block(0, seed=1)
    yield Fact("share clipped in a run with T = 1", float(found["clipped"].max()), 0.0, 0)


def _not_clipped(least: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """C/|y| - 1 for |y| = y, C_Y = y + a, C = C_Y + b."""
    y, a, b = sympy.symbols("y a b", positive=True)
    yield "C / |y_i| - 1", (least * y + a + b) / y - 1


THM_1_NOCLIP1 = Claim(
    id="ols/thm-1-noclip1",
    where="Section 3.1 item 1, App. C.1.2 Step 2",
    equation="Section 3.1 item 1",
    kind="inequality",
    statement=(
        "With $hat(theta)_0 = 0$ and $C >= C_Y$ nothing is clipped in iteration 1;",
        "for $T = 1$ the condition on $kappa^X (psi)$ is not needed.",
    ),
    checks=(
        Symbolic(decides="ab", nonnegative=_not_clipped, impostors={"any C": {"nonnegative": {"least": 0}}}),
        Agreement(decides="ab", facts=_first_step, impostors={"C = 0.9 C_Y": {"facts": {"clip": 0.9}}}, role="control"),
    ),
    derivation=Derivation(
        text=(
            "(a) At $hat(theta)_0 = 0$ the residuals are the $y_i$, and $C\\/abs(y_i) >= C_Y\\/abs(y_i) >= 1$ leaves "
            "each as it is. (b) For $T = 1$ there are no others to clip; the condition on $kappa^X (psi)$ bounds those "
            "of $hat(theta)_1, hat(theta)_2, dots$ (Lemma 11, (57) to (63)), and the rest of the proof has no $kappa$."
        ),
    ),
)
