"""Section 5, Appendix H: the set-up of the experiments."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
from scipy import special

from dpbounds.ols import accounting, sketch
from dpbounds.privacy import gaussian_delta
from simulators.ols import LeastSquares, load, prepared
from simulators.ols.datasets import Columns
from verify.checks import Agreement, Fact, Within
from verify.papers.ols.tools.experiments import Method, Setup
from verify.statements.claims import Claim, Correction, Fault

RUNS = 500
CLIPPED: tuple[Method, ...] = ("IHM", "DP-GD")

# --- the set-up ---


def _coverage(rng: np.random.Generator, root: bool = False) -> Iterator[Fact]:
    """Of mean +- 1.96 std / (number of runs, or its root), for normal errors: Student's law."""
    for runs in (RUNS, 50):
        arm = 1.96 / (math.sqrt(runs) if root else runs)
        covered = 1.0 - 2.0 * float(special.stdtr(runs - 1, -arm * math.sqrt(runs)))
        numbers = {"runs": float(runs), "covered": 100 * covered, "shorter": math.sqrt(runs)}
        yield Fact(f"coverage of the interval over {runs} runs", covered, 0.95, 0.01, numbers)


def _probabilities(rng: np.random.Generator, power: float = -2.0) -> Iterator[Fact]:
    """delta, varrho and C as the settings have them, outcomes being at most C_Y = 1."""
    for n, d in SIZES:
        setup = Setup(n=n, d=d)
        yield Fact(f"delta, n = {n}", setup.delta, n**power, 1e-12)
        yield Fact(f"varrho over delta, n = {n}", setup.failure / setup.delta, 0.1, 1e-12)
        yield Fact(f"C of IHM and DP-GD, n = {n}", [setup.settings(m, 1.0).clip for m in CLIPPED], [1.0, 1.0], 0)


SIZES = ((92, 7), (960, 10), (7372, 32), (36624, 3), (657, 99))


def _budgets(rng: np.random.Generator, noise: float = 1.0) -> Iterator[Fact | Within]:
    """What the noise scales spend: each part within its share, the shares within (epsilon, delta)."""
    for n, d in SIZES:
        setup = Setup(n=n, d=d)
        delta = setup.delta
        for epsilon in (0.1, 1.0, 10.0):
            label = f"n = {n}, d = {d}, epsilon = {epsilon:g}"
            own = setup.settings("IHM", epsilon)
            spent = float(sketch.epsilon(noise * own.gamma, own.k, delta / 2, own.steps))
            yield Fact(f"sketches and test at delta/2, {label}", spent, epsilon / 2, 1e-9)
            mu = math.sqrt(own.steps) / (noise * own.sigma)
            yield Fact(f"gradients at epsilon/2, {label}", float(gaussian_delta(mu, epsilon / 2)), delta / 4, 1e-6)
            failure = float(accounting.failure_probability(own.tau))
            yield Within(f"failure of the test, {label}", failure, most=delta / 4)
            base = setup.settings("AdaSSP", epsilon)
            for part in (base.eigenvalue_scale, base.gram_scale, base.cross_scale):
                third = float(gaussian_delta(1 / (noise * part), epsilon / 3))
                yield Fact(f"AdaSSP at epsilon/3, {label}", third, delta / 3, 1e-6)
            mixing = setup.settings("LinMix", epsilon)
            spent = float(sketch.epsilon(mixing.gamma, mixing.k, delta))
            yield Fact(f"LinMix, {label}", spent, epsilon, 1e-9)


def _sizes(rng: np.random.Generator, multiplier: float = 6.0) -> Iterator[Fact | Within]:
    """k of both methods, written out; the two logarithms printed for each differ by at most 7 %."""
    for n, d in SIZES:
        setup = Setup(n=n, d=d)
        rho = 0.1 / n**2
        yield Fact(f"T of IHM, n = {n}", setup.settings("IHM", 1.0).steps, 3, 0)
        yield Fact(f"k of IHM, n = {n}, d = {d}", setup.k, math.floor(multiplier * max(d, math.log(12 / rho))), 0)
        yield Fact(f"k of LinMix, n = {n}, d = {d}", setup.mixing_k, math.floor(2.5 * max(d, math.log(2 / rho))), 0)
        other = Setup(n=n, d=d, hessian_log=2.0, mixing_log=1.0, round_up=True)
        yield Within(f"k over that by the other logarithms, n = {n}, d = {d}", other.k / setup.k, 0.93, 1.03)
        ratio = other.mixing_k / setup.mixing_k
        yield Within(f"k of LinMix over that by the other logarithms, n = {n}, d = {d}", ratio, 0.93, 1.06)


def _preparation(rng: np.random.Generator, scale: float = 1.0) -> Iterator[Fact]:
    """A small file through `load`: incomplete rows dropped, split, scaled; and every way to prepare columns, by "
    "hand."""
    rows = rng.normal([3.0, -200.0, 0.5], [1.0, 50.0, 0.1], (60, 3))
    lines = ["a,y,b", *(",".join(f"{value!r}" for value in row) for row in rows.tolist()), "1,,2", "NA,3,4"]
    with tempfile.TemporaryDirectory() as where:
        path = Path(where, "small.csv")
        path.write_text("\n".join(lines))
        found = load(path, target="y", seed=3)
        last = load(path, seed=3)
    yield Fact(
        "rows dropped, trained on, left", (found.dropped, found.train.n, len(found.test_outcome)), (2, 48, 12), 0
    )
    order = np.random.default_rng(3).permutation(60)
    X, Y = rows[order][:, [0, 2]], rows[order][:, 1]
    factor = scale / np.linalg.norm(X[:48], axis=1).max()
    yield Fact("regressors", found.train.regressors, factor * X[:48], 1e-12)
    yield Fact("test regressors", found.test_regressors, factor * X[48:], 1e-12)
    yield Fact("outcome", found.train.outcome, Y[:48] / np.abs(Y[:48]).max(), 1e-12)
    yield Fact("the last column unless named", last.train.outcome, X[:48, 1] / np.abs(X[:48, 1]).max(), 1e-12)
    mean, spread = X[:48].mean(axis=0), X[:48].std(axis=0)
    ways: tuple[tuple[Columns, np.ndarray], ...] = (("centred", X - mean), ("standardised", (X - mean) / spread))
    for how, columns in ways:
        for intercept in (False, True):
            whole = np.column_stack([columns, np.ones(60)]) if intercept else columns
            expected = whole / np.linalg.norm(whole[:48], axis=1).max()
            own = prepared(
                rows[:, [0, 2]],
                rows[:, 1],
                name="small",
                seed=3,
                regressors=how,
                outcome="centred",
                intercept=intercept,
            )
            yield Fact(f"{how}, intercept = {intercept}", own.train.regressors, expected[:48], 1e-10)
            centred = Y - Y[:48].mean()
            yield Fact("centred outcome", own.train.outcome, centred[:48] / np.abs(centred[:48]).max(), 1e-10)
    clipped = LeastSquares.bounded(X, Y, row_bound=0.6, outcome_bound=100.0, beyond="clip")
    lengths = np.linalg.norm(X, axis=1)
    yield Fact("rows shortened", clipped.regressors, X * np.minimum(1, 0.6 / lengths)[:, None], 1e-12)
    yield Fact("outcomes clipped", clipped.outcome, np.clip(Y, -100, 100), 1e-12)


def _fits(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact]:
    """What is read off records, against NumPy; a singular X and columns of very different size."""
    for scales, copy in (((1.0, 1.0, 1.0), False), ((1.0, 1e-8, 1.0), False), ((1.0, 1.0, 0.0), True)):
        X = rng.uniform(-0.5, 0.5, (40, 3)) * scales
        X[:, 2] = X[:, 0] - X[:, 1] if copy else X[:, 2]
        Y = rng.uniform(-1, 1, 40)
        problem = LeastSquares(regressors=X, outcome=Y, row_bound=2.0)
        fit = np.linalg.pinv(X, rcond=1e-11) @ Y
        label = f"columns of size {scales}, dependent: {copy}"
        yield Fact(f"theta*, {label}", problem.theta_star, factor * fit, 1e-7)
        yield Fact(f"L*, {label}", problem.least_loss, float(np.sum((Y - X @ fit) ** 2)), 1e-9)
        yield Fact(f"A, {label}", problem.gram, X.T @ X, 1e-12)
        yield Fact(f"b, {label}", problem.cross, X.T @ Y, 1e-12)
        yield Fact(f"||Y||², {label}", problem.y_squared, float(Y @ Y), 1e-12)
        joint = np.linalg.svd(np.column_stack([X, Y]), compute_uv=False)[-1] ** 2
        yield Fact(f"lambda^XY, {label}", problem.lambda_min_joint + 1.0, joint + 1.0, 1e-12)
        spectrum = np.linalg.svd(X, compute_uv=False)[::-1] ** 2
        yield Fact(f"spectrum, {label}", problem.eigenvalues + 1.0, spectrum + 1.0, 1e-12)


EXP_SETUP = Claim(
    id="ols/exp-setup",
    where="Section 5, Appendix H",
    equation="Appendix H",
    kind="number",
    statement=(
        r"33 UCI sets, random 80\/20 split, scaled to $max norm(x_i) = 1$, $abs(y_i) <= 1$;",
        r"$delta = n^(-2)$, $rho.alt = delta\/10$, $C = C_Y$;",
        r'means of 500 runs with 95 % intervals $plus.minus 1.96 "std" \/ "runs"$;',
        r"IHM: $T = 3$, $k = 6 max{d, log(4 T\/rho.alt)}$, $(epsilon\/2, delta\/2)$ and $(epsilon\/2, delta\/4)$;",
        r"linear mixing: $k = 2.5 max{d, log(2\/rho.alt)}$;",
        r"AdaSSP: analytic noise at $(epsilon\/3, delta\/3)$ each.",
    ),
    setting=(
        "$k$ rounded down; Appendix H prints $log(2T\\/rho.alt)$ and $log(1\\/rho.alt)$, which changes $k$ by less "
        "than 7 %."
    ),
    fault=Fault(
        severity="slip",
        touches="text",
        finding=(
            'The 95 % interval $plus.minus 1.96 thin "std" \\/ "runs"$ covers the mean with probability '
            "${covered:2}$ % at ${runs}$ runs: the root of the number of runs is missing."
        ),
        consequence=(
            "Intervals drawn like this are ${shorter:2}$ times too short, should they have been drawn so. All noise "
            "scales spend their shares, which add up to $(epsilon, delta)$."
        ),
    ),
    checks=(
        Agreement(decides="c", facts=_coverage),
        Agreement(decides="b", facts=_probabilities, impostors={"delta = 1/n": {"facts": {"power": -1.0}}}),
        Agreement(decides="df", facts=_budgets, impostors={"1 % less noise": {"facts": {"noise": 0.99}}}),
        Agreement(decides="de", facts=_sizes, impostors={"7 for 6": {"facts": {"multiplier": 7.0}}}),
    ),
    correction=Correction(
        statement=('As printed, with intervals $plus.minus 1.96 "std" \\/ sqrt("runs")$.'),
        ground="Student's law.",
        checks=(
            Agreement(facts=partial(_coverage, root=True), impostors={"without the root": {"facts": {"root": False}}}),
            Agreement(facts=_budgets, impostors={"1 % less noise": {"facts": {"noise": 0.99}}}),
            Agreement(facts=_sizes, impostors={"7 for 6": {"facts": {"multiplier": 7.0}}}),
            Agreement(facts=_preparation, impostors={"1 % larger": {"facts": {"scale": 1.01}}}),
            Agreement(facts=_fits, impostors={"1 % larger": {"facts": {"factor": 1.01}}}),
        ),
    ),
)
