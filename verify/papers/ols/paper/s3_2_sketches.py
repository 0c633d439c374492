"""Section 3.2: what sketch-and-solve and the iterative Hessian sketch leave of the risk (Propositions 1 and 2)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cache, partial

import numpy as np
import sympy
from scipy.special import fdtrc, fdtri

from dpbounds.ols import wishart
from simulators.engine import Experiment
from simulators.ols import HessianMixing, LeastSquares, SketchAndSolve, hessian_mixing, sketch_and_solve
from verify.checks import Power, Quantiles, Reading, Search, Symbolic
from verify.checks.domains import Real, Whole
from verify.papers.ols.paper.sc_0_lemmas_utility import EIGENVALUES, EVENTS, TAILS
from verify.papers.ols.paper.sc_0_lemmas_utility_steps import INVERSES, SPECTRUM
from verify.statements.claims import Claim
from verify.statements.derivations import Derivation

# One choice of the universal constants c_0, c_1, 1/c_2 of both propositions.
C0, C1, INVERSE_C2 = 16.0, 2.0, 16.0


@cache
def _records(d: int) -> LeastSquares:
    """40 d records with eigenvalues of A far apart and a residual."""
    rng = np.random.default_rng(d)
    X = rng.standard_normal((40 * d, d)) * np.geomspace(1.0, 0.1, d)
    X /= np.linalg.norm(X, axis=1).max()
    return LeastSquares(regressors=X, outcome=np.clip(X @ np.ones(d) + 0.3 * rng.standard_normal(40 * d), -1, 1))


def _least_size(d: float, chi: float, failure: float, repetitions: float = 1.0) -> int:
    """The least k with k chi² >= max{c_0 d, log(c_1 repetitions / failure) / c_2}."""
    return math.ceil(max(C0 * d, INVERSE_C2 * math.log(C1 * repetitions / failure)) / chi**2)


BOX = {
    "d": Whole(1, 200, "log"),
    "chi": Real(0.01, 1.0, "log"),
    "failure": Real(1e-7, 0.9, "log"),
    "steps": Whole(1, 6),
}

# --- Proposition 1 ---


def _beyond_9(d: float, chi: float, failure: float, steps: float, share: float = 1.0) -> tuple[float, float]:
    """P(R > (2 chi + chi²) L*) <= failure: R (k-d+1) / (d L*) has the F distribution with d and k - d + 1 degrees."""
    size = _least_size(d, chi, failure) if share == 1 else math.ceil(share * C0 * d / chi**2)
    rest = max(size - d, 0) + 1
    return float(fdtrc(d, rest, (2 * chi + chi**2) * rest / d)), failure


SIZES = {2: (30, 100, 300, 1000), 6: (60, 200, 600, 2000)}


def _shares(arrays: dict[str, np.ndarray], unit: float) -> np.ndarray:
    return arrays["risk"] / unit


def _residual_shares() -> Sequence[Reading]:
    """R / L* of sketch-and-solve without noise against the F distribution."""
    return [
        Reading(
            label=f"d = {d}, k = {k}, quantile {probability}",
            experiment=Experiment(
                algorithm=sketch_and_solve, problem=_records(d), settings=SketchAndSolve(k=k), block_trials=2000
            ),
            output=partial(_shares, unit=_records(d).least_loss),
            run=f"d = {d}, k = {k}",
            probability=probability,
            predicted=partial(_f_quantile, d, k, probability),
            x=float(k) if probability == 0.5 else math.nan,
            group=f"d = {d}" if probability == 0.5 else "",
        )
        for d, sizes in SIZES.items()
        for k in sizes
        for probability in (0.5, 0.95)
    ]


def _f_quantile(d: int, k: int, probability: float) -> float:
    return float(fdtri(d, k - d + 1, probability)) * d / (k - d + 1)


def _excess(*, twice: int = 2) -> Iterator[tuple[str, sympy.Expr]]:
    """2 chi + chi² - ((1 + chi/2)/(1 - chi/2) - 1) at chi = 1/(1 + t); and 2 r - (r + 1) at r = 1 + a."""
    t, a = sympy.symbols("t a", positive=True)
    chi = 1 / (1 + t)
    yield "2 chi + chi² less the excess", twice * chi + chi**2 - ((1 + chi / 2) / (1 - chi / 2) - 1)
    yield "2 r - (r + 1)", 2 * (1 + a) - (2 + a)


RATIO = Symbolic(nonnegative=_excess, impostors={"without 2 chi": {"nonnegative": {"twice": 0}}})
EXCESS = (
    'Lemma 7 (`ols/lem-7`) for $op("col")(X, Y)$, of rank at most $r + 1 <= 2 r$: for $k chi^2 >= 160 r$, but for '
    "probability $2 e^(-0.006 k chi^2)$, $norm(S u)^2\\/k$ is within $1 plus.minus chi\\/2$ of $norm(u)^2$ for every "
    "$u$ in it. Then $(1 - chi\\/2) L(hat(theta)) <= norm(S (Y - X hat(theta)))^2\\/k <= norm(S (Y - X "
    "theta^*))^2\\/k <= (1 + chi\\/2) L(theta^*)$, the middle step because $hat(theta)$ minimises, and $(1 + "
    "chi\\/2)\\/(1 - chi\\/2) - 1 <= 2 chi + chi^2$ for $chi <= 1$. "
)

PROP_1 = Claim(
    id="ols/prop-1",
    where="Proposition 1",
    equation="(8), (9)",
    kind="mc-rate",
    statement=(
        'There are universal $c_0, c_1, c_2$ such that for $k chi^2 >= max{c_0 op("rank")(X), 1/c_2 log(c_1 \\/ '
        "rho.alt)}$ the estimate (8) has $cal(R) (hat(theta)) <= (2 chi + chi^2) L(theta^*)$ with probability at least "
        "$1 - rho.alt$."
    ),
    hypotheses="$Upsilon = bb(R)^d$, a Gaussian sketch, $chi <= 1$.",
    setting="$c_0 = 16$, $c_1 = 2$, $c_2 = 1\\/16$; any others are as universal.",
    remark=(
        "A square root weak: $cal(R) \\/ L(theta^*)$ is in law $chi_d^2 \\/ chi_(k - d + 1)^2$, of order $d \\/ k$, "
        "that is $chi^2$ and not $chi$."
    ),
    checks=(
        Search(
            sides=_beyond_9,
            box=BOX,
            evaluations=4000,
            impostors={"a thirtieth of c_0, no logarithm": {"sides": {"share": 1 / 30}}},
            role="control",
        ),
        RATIO,
        EIGENVALUES,
        TAILS,
        Quantiles(
            readings=_residual_shares,
            resolution={"quick": 0.08, "full": 0.02},
            powers=tuple(Power(group=f"d = {d}", printed=-0.5, instead=-1.0, tolerance=0.1) for d in SIZES),
            trials={"quick": 6000, "full": 100_000},
            axes=("sketch size $k$", "median of $cal(R) \\/ L(theta^*)$"),
            impostors={"15 % more": {"scale": 1.15}},
            role="control",
        ),
    ),
    derivation=Derivation(
        text=EVENTS.text + " " + EXCESS + "So $c_0 = 160$, $c_1 = 2$, $c_2 = 0.006$ will do, for every $X$ of rank $r "
        ">= 1$ and every $Y$.",
        lemmas=EVENTS.lemmas,
    ),
)

# --- Proposition 2 ---


def _beyond_12(d: float, chi: float, failure: float, steps: float, share: float = 1.0) -> tuple[float, float]:
    """T P(one step leaves more than chi²) <= failure: each of the T factors of R_T / ||X theta*||² has one law."""
    size = _least_size(d, chi, failure, steps) if share == 1 else math.ceil(share * C0 * d / chi**2)
    law = wishart.contraction(max(size, int(d) + 1), int(d))
    return steps * max(1.0 - law.cdf(chi**2), 0.0), failure


def _signal(d: int) -> float:
    problem = _records(d)
    return problem.y_squared - problem.least_loss


STEPS_AND_SIZES = {2: (40, 120), 6: (60, 240)}


def _contractions() -> Sequence[Reading]:
    """R_T / ||X theta*||² of the simulated iteration: T = 1 against the law of one step, T = 3 against its powers."""
    readings = []
    for d, sizes in STEPS_AND_SIZES.items():
        for k in sizes:
            for steps in (1, 3):
                run = Experiment(
                    algorithm=hessian_mixing,
                    problem=_records(d),
                    settings=HessianMixing.without_noise(steps=steps, k=k),
                    block_trials=8000,
                )
                predicted = partial(_one_step, k, d) if steps == 1 else partial(_three_steps, k, d)
                readings.append(
                    Reading(
                        label=f"T = {steps}, d = {d}, k = {k}",
                        experiment=run,
                        output=partial(_shares, unit=_signal(d)),
                        predicted=predicted,
                    )
                )
    return readings


def _one_step(k: int, d: int) -> float:
    return wishart.contraction(k, d).quantile(0.5)


@cache
def _three_steps(k: int, d: int) -> float:
    """Median of the product of three independent copies, from 80 quantiles of each."""
    law = wishart.contraction(k, d)
    logs = np.log([law.quantile((i + 0.5) / 80) for i in range(80)])
    sums = logs[:, None, None] + logs[None, :, None] + logs[None, None, :]
    return float(np.exp(np.median(sums)))


PROP_2 = Claim(
    id="ols/prop-2",
    where="Proposition 2",
    equation="(12)",
    kind="mc-rate",
    statement=(
        'There are universal $c_0, c_1, c_2$ such that for $k chi^2 >= max{c_0 op("rank")(X), 1/c_2 log(c_1 T \\/ '
        "rho.alt)}$ the iterative Hessian sketch has $cal(R) (hat(theta)_T) <= chi^(2 T) norm(X theta^*)^2$ with "
        "probability at least $1 - rho.alt$."
    ),
    hypotheses="$Upsilon = bb(R)^d$, independent Gaussian sketches, $hat(theta)_0 = 0$.",
    setting="$c_0 = 16$, $c_1 = 2$, $c_2 = 1\\/16$; any others are as universal.",
    remark=(
        "The decay is sharp in $k$: $cal(R)_T \\/ norm(X theta^*)^2$ is in law a product of $T$ independent factors, "
        "each of order $d \\/ k$."
    ),
    checks=(
        Search(
            sides=_beyond_12,
            box=BOX,
            evaluations=200,
            impostors={"a twentieth of c_0, no logarithm": {"sides": {"share": 0.05}}},
            role="control",
        ),
        EIGENVALUES,
        TAILS,
        INVERSES,
        Quantiles(
            readings=_contractions,
            resolution={"quick": 0.2, "full": 0.06},
            trials={"quick": 24_000, "full": 200_000},
            impostors={"half as much again": {"scale": 1.5}},
            role="control",
        ),
    ),
    derivation=Derivation(
        text=EVENTS.text
        + " The $T$ events hold together but for $2 T e^(-0.006 k chi^2) <= rho.alt$, with $c_0 = 80$, "
        "$c_1 = 2$, $c_2 = 0.006$. " + SPECTRUM + "A step multiplies $norm(R (theta - theta^*)) = norm(X (theta - "
        "theta^*))$, the root of $cal(R)$, by at most $h <= chi$, and $cal(R)(hat(theta)_0) = norm(X theta^*)^2$. For "
        "$X$ of less rank the same on its row space, where the steps of least norm stay.",
        lemmas=(*EVENTS.lemmas, "union bound", "Rayleigh", "spectral theorem", "induction"),
    ),
)
