"""C.1.1, the proof of Theorem 1's privacy: sensitivities, eigenvalue test, composition."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import sympy

from dpbounds.arithmetic import FLOATS
from dpbounds.ols import sketch
from dpbounds.ols.calibration import theorem_gamma
from dpbounds.privacy import compose_gdp, gaussian_delta, gaussian_log_delta
from simulators.ols import ClippedSums, LeastSquares
from verify.checks import Agreement, Fact, Search, Symbolic, Times
from verify.checks.domains import Real, Whole
from verify.papers.ols.paper.s3_setup import TRUNCATES
from verify.papers.ols.paper.sb_sketch_privacy import CLASSICAL_TEST, TEST
from verify.papers.ols.tools.divergences import gaussian_delta as delta_of_two_normals
from verify.papers.ols.tools.divergences import two_sketches_delta
from verify.papers.ols.tools.symbols import SYMBOLS
from verify.statements.claims import Claim
from verify.statements.derivations import Derivation

# --- sensitivities ---


def clipped_sum(X: np.ndarray, y: np.ndarray, theta: np.ndarray, clip: float) -> np.ndarray:
    """X' clip_C(Y - X theta), record by record."""
    residuals = y - X @ theta
    return X.T @ np.array([r * min(1.0, clip / abs(r)) if r else 0.0 for r in residuals])


def _moved(rows, outcomes, theta, clip, factor: float = 1.0) -> tuple[float, float]:
    """How far zeroing the first of three records moves the clipped gradient, d = 2, against C."""
    X = np.asarray(rows).reshape(3, 2)
    X = X / np.maximum(1.0, np.linalg.norm(X, axis=1))[:, None]
    y, theta = np.asarray(outcomes), np.asarray(theta)
    zeroed, fewer = X.copy(), y.copy()
    zeroed[0], fewer[0] = 0.0, 0.0
    change = clipped_sum(X, y, theta, clip) - clipped_sum(zeroed, fewer, theta, clip)
    return float(np.linalg.norm(change)), factor * clip


def _shipped_sum(rng: np.random.Generator) -> Iterator[Fact]:
    """The simulator's clipped gradient, with clipping active and not, against the sum record by record."""
    for n, d in ((5, 2), (8, 3)):
        X = rng.uniform(-1, 1, (n, d)) / math.sqrt(d)
        y, thetas = rng.uniform(-1, 1, n), rng.uniform(-2, 2, (4, d))
        for clip in (0.3, 5.0):
            problem = LeastSquares(regressors=X, outcome=y)
            axes = problem.eigenvectors
            sums = ClippedSums(problem=problem, clip=clip, clipping="entrywise").at(thetas @ axes)[0] @ axes.T
            expected = np.array([clipped_sum(X, y, theta, clip) for theta in thetas])
            yield Fact(f"X'clip(Y - X theta), n = {n}, C = {clip}", sums, expected, 1e-12)


BOUNDED_SENS = Claim(
    id="ols/bounded-sens",
    where="(35)",
    equation="(35)",
    kind="inequality",
    statement=(
        "For any $theta$ and zero-out neighbours, $norm(X'^top upright(c l i p)_C (Y' - X' theta) - X^top upright(c l "
        "i p)_C (Y - X theta)) <= C$."
    ),
    hypotheses="$norm(x_i) <= 1$.",
    remark="Attained by a unit row with a residual of at least $C$.",
    checks=(
        Search(
            sides=_moved,
            box={
                "rows": (Real(-1.5, 1.5), 6),
                "outcomes": (Real(-3.0, 3.0), 3),
                "theta": (Real(-5.0, 5.0), 2),
                "clip": Real(0.05, 10.0, "log"),
            },
            extremal=lambda: [
                {"rows": [1.0, 0, 0.5, 0.5, 0, 0], "outcomes": [3.0, 0, 0], "theta": [0.0, 0], "clip": 1.0}
            ],
            evaluations=3000,
            impostors={"0.99 C": {"sides": {"factor": 0.99}}},
            role="control",
        ),
        Agreement(facts=_shipped_sum, impostors={"1e-6 off": {"facts": Times(1 + 1e-6)}}, role="control"),
        TRUNCATES,
    ),
    derivation=Derivation(
        text=(
            '$X^top op("clip")_C (Y - X theta) = sum_i x_i op("clip")_C (y_i - x_i^top theta)$. Zeroing record $i$ '
            'removes its term and adds none, and $norm(x_i) abs(op("clip")_C (v)) <= 1 dot C$, for every $n$, $d$, '
            "$theta$."
        ),
    ),
)


def _eigenvalue_moved(entries, record, bound, factor: float = 1.0) -> tuple[float, float]:
    """|lambda_min(A + xx') - lambda_min(A)| for ||x|| <= C_X, d = 3."""
    root, record = np.asarray(entries).reshape(3, 3), np.asarray(record)
    record = bound * record / max(1.0, float(np.linalg.norm(record)))
    gram = root @ root.T
    low, high = (float(np.linalg.eigvalsh(matrix)[0]) for matrix in (gram, gram + np.outer(record, record)))
    return abs(high - low), factor * bound**2


def _of_a_record(*, power: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """x x' has the eigenvalues ||x||² and 0: its characteristic polynomial, d = 1 to 4."""
    for d in (1, 2, 3, 4):
        x, value = sympy.Matrix(sympy.symbols(f"x0:{d}")), sympy.Symbol("v")
        length = (x.T * x)[0]
        polynomial = (value * sympy.eye(d) - x * x.T).det()
        yield f"d = {d}", sympy.expand(polynomial - value ** (d - 1) * (value - length**power))


LMIN_SENS = Claim(
    id="ols/lmin-sens",
    where="C.1.1, Algorithm 2",
    kind="inequality",
    statement="$lambda_min (X^top X)$ changes by at most $C_X^2$ between zero-out neighbours.",
    remark="Attained by a record of norm $C_X$ along the bottom eigenvector, if the next eigenvalue is $C_X^2$ away.",
    checks=(
        Search(
            sides=_eigenvalue_moved,
            box={"entries": (Real(-3.0, 3.0), 9), "record": (Real(-1.0, 1.0), 3), "bound": Real(0.5, 3.0)},
            extremal=lambda: [{"entries": [0.0, 0, 0, 0, 4, 0, 0, 0, 5], "record": [1.0, 0, 0], "bound": 1.0}],
            evaluations=2000,
            impostors={"0.99 of it": {"sides": {"factor": 0.99}}},
            role="control",
        ),
        Symbolic(residuals=_of_a_record, impostors={"||x||⁴": {"residuals": {"power": 2}}}),
    ),
    derivation=Derivation(
        text=(
            "The larger Gram matrix is the smaller one and $x x^top$, whose eigenvalues are $norm(x)^2$, once, and 0, "
            "in every dimension ($x x^top x = norm(x)^2 x$, and $x x^top v = 0$ for $v$ orthogonal to $x$). So "
            "$lambda_min$ grows by at least 0 and at most $norm(x)^2 <= C_X^2$."
        ),
        lemmas=("Weyl",),
    ),
)

# --- the eigenvalue test ---


def _test_at(epsilon: float, delta: float, steps: float, factor: float = 1.0) -> tuple[float, float]:
    """Exact delta of the test at sqrt(2 k l_5)/gamma and Theorem 1's gamma, over delta/4; k cancels."""
    gamma = float(theorem_gamma(FLOATS, epsilon, math.log(5 / delta), 1, steps))
    spent = factor * math.sqrt(2 * math.log(5 / delta)) / gamma
    return math.exp(float(gaussian_log_delta(1 / gamma, spent)) - math.log(delta / 4)), 1.0


def _test_in_experiments(epsilon: float, delta: float, k: float, factor: float = 1.0) -> tuple[float, float]:
    """The same at the gamma of the experiments, T = 3."""
    gamma = float(sketch.gamma(epsilon / 2, delta / 2, int(k), 3))
    spent = factor * math.sqrt(2 * k * math.log(5 / delta)) / gamma
    return math.exp(float(gaussian_log_delta(math.sqrt(k) / gamma, spent)) - math.log(delta / 4)), 1.0


TEST_BOX = {"epsilon": Real(0.05, 19.0, "log"), "delta": Real(1e-12, 0.9, "log")}

EIGTEST = Claim(
    id="ols/eigtest",
    where="C.1.1, Eigenvalue Test",
    kind="privacy",
    statement=(
        "Releasing $tilde(lambda)$ with noise of standard deviation $gamma\\/sqrt(k)$ is $(sqrt(2 k log(5\\/delta)) "
        "\\/ gamma, delta\\/4)$-DP."
    ),
    hypotheses="$gamma$ of Theorem 1, or of the experiments.",
    setting="$epsilon <= 19$; in the experiments, of $T = 3$, $epsilon <= 10$.",
    remark=(
        "This is the classical bound for Gaussian noise. For Theorem 1's $gamma$ its $epsilon$ is at most a quarter of "
        "the theorem's; for large $epsilon$ it fails (ols/prop-5)."
    ),
    checks=(
        Search(
            sides=_test_at,
            box={**TEST_BOX, "steps": Whole(1, 6)},
            evaluations=1500,
            impostors={"half of it": {"sides": {"factor": 0.5}}},
            role="control",
        ),
        Search(
            sides=_test_in_experiments,
            box={"epsilon": Real(0.05, 10.0, "log"), "delta": Real(1e-12, 0.5, "log"), "k": Whole(5, 2000, "log")},
            evaluations=100,
            impostors={"half of it": {"sides": {"factor": 0.5}}},
            role="control",
        ),
        CLASSICAL_TEST,
    ),
    derivation=Derivation(
        text=TEST
        + "Here $delta' = delta\\/4$. For Theorem 1's $gamma$ twice $epsilon_t sqrt(T)$ is less than $epsilon\\/2$ "
        "(`ols/thm-1-gamma`), so $epsilon_t <= 19\\/4$; the experiments' $gamma$ spends $sqrt(2 k T "
        "log(7.5\\/delta))\\/gamma <= epsilon\\/2$ on the test of (17) at $delta\\/2$, the rows' part being none "
        "below 0, so $epsilon_t <= 10\\/(2 sqrt(3))$.",
        lemmas=("privacy profile of the Gaussian mechanism", "monotony"),
    ),
)

# --- composition ---


def _composed(rng: np.random.Generator) -> Iterator[Fact]:
    """T sketches as one of kT rows: Rényi curves, hockey sticks; T Gaussian steps as one of sensitivity sqrt(T) C."""
    for k, steps, gamma in ((3, 2, 4.0), (10, 5, 60.0)):
        orders = np.array([1.2, 2.0, 0.9 * gamma])
        together, one = sketch.renyi(orders, k * steps, gamma), sketch.renyi(orders, k, gamma)
        yield Fact(f"T phi, k = {k}, T = {steps}", together, steps * one, 1e-13)
        epsilons = sketch.renyi_epsilon(gamma, k, 1e-5, steps), sketch.renyi_epsilon(gamma, k * steps, 1e-5)
        yield Fact(f"epsilon, k = {k}, T = {steps}", *epsilons, 1e-13)
    for k, leverage, epsilon in ((2, 0.2, 0.4), (6, 0.05, 0.3), (20, 0.02, 0.5)):
        twice = two_sketches_delta(epsilon, k, leverage)
        yield Fact(f"delta of two sketches of {k} rows", sketch.exact_delta(epsilon, 2 * k, leverage), twice, 1e-7)
    for steps, clip, sigma in ((3, 1.0, 4.0), (7, 0.5, 0.9)):
        mu = compose_gdp([clip / sigma] * steps)
        yield Fact(f"mu of {steps} steps", mu, math.sqrt(steps) * clip / sigma, 1e-13)
        joint = delta_of_two_normals(math.sqrt(steps) * clip / sigma, 1.0)
        yield Fact(f"delta of {steps} steps", gaussian_delta(mu, 1.0), joint, 1e-10)


def _sums(*, extra: int = 0) -> Iterator[tuple[str, sympy.Expr]]:
    """T curves of one step or sketch, against that of a step of sensitivity sqrt(T) C, of a sketch of k T rows."""
    alpha, T, C, sigma, k, gamma = sympy.symbols("alpha T C sigma k gamma", positive=True)
    yield "steps", T * alpha * C**2 / (2 * sigma**2) - alpha * (sympy.sqrt(T) * C) ** 2 / (2 * sigma**2)
    one, together = (sketch.printed_renyi(SYMBOLS, alpha, rows, gamma) for rows in (k, k * (T + extra)))
    yield "sketches", sympy.expand(T * one - together)


COMPOSE = Claim(
    id="ols/compose",
    where="C.1.1, Composition",
    kind="privacy",
    statement=(
        r"$T$ adaptive Gaussian steps have the Rényi curve $alpha T C^2\/(2 sigma^2)$;",
        "$T$ sketches have $T phi(alpha; k, gamma)$ and count as one sketch of size $k T$.",
    ),
    checks=(
        Symbolic(decides="ab", residuals=_sums, impostors={"one sketch more": {"residuals": {"extra": 1}}}),
        Agreement(decides="ab", facts=_composed, impostors={"1e-3 off": {"facts": Times(1.001)}}, role="control"),
    ),
    derivation=Derivation(
        text=(
            "(a) A step has the curve $alpha C^2\\/(2 sigma^2)$ given all before it (Lemma 2, (35)), which is zCDP, "
            "and $T$ of them add. (b) Given the released $eta$, the $T$ sketches are $k T$ independent rows of one "
            "law, whose divergences add: $phi$ is linear in $k$ (Lemma 1)."
        ),
        lemmas=("Rényi divergence of normal laws", "zCDP of a sum", "independence"),
    ),
)
