"""The model of Section 3, Algorithm 1 and Remark 11: what the simulators do, step by step."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import mpmath
import numpy as np
import sympy
from scipy import stats
from scipy.optimize import brentq

from dpbounds.glm import LINKS, asymptotics, sign_design
from simulators.glm import GaussianModel, Settings, TwoPointModel, bounded, estimate, find_scale, wishart
from verify.checks import Agreement, Fact, Symbolic, Within
from verify.papers.glm.tools.records import SIGMA, W, model, streams
from verify.statements.claims import Claim

_OFF = {"1 % off": {"facts": {"factor": 1.01}}}


# Two-sample tests at this level, fewer than 100 of them.
LAW_ALPHA = 1e-10


# --- the model and Algorithm 1 ---


def _same(label: str, first: np.ndarray, second: np.ndarray) -> Within:
    """Two samples of one law, by the two-sample Kolmogorov-Smirnov test."""
    tested: Any = stats.ks_2samp(first, second, method="asymp")
    return Within(f"one law, p-value of a two-sample test: {label}", float(tested.pvalue), LAW_ALPHA)


def _generators(rng: np.random.Generator, *, factor: float = 1.0) -> Iterator[Within]:
    """Private sums in law against records, public records against private ones, labels against their means."""
    for problem in (model(), TwoPointModel(link=LINKS["poisson"], w=W, n=400, m=300, design=sign_design(3))):
        law = [problem.sums(rng) for _ in range(600)]
        rows = []
        for _ in range(600):
            x = problem.rows(problem.n, rng)
            y = problem.labels(factor * x @ problem.w, rng)
            rows.append((x.T @ x, x.T @ y))
        name = type(problem).__name__
        yield _same(f"{name}, X^T X", np.array([s.gram[0, 1] for s in law]), np.array([g[0, 1] for g, _ in rows]))
        yield _same(f"{name}, last", np.array([s.gram[1, 2] for s in law]), np.array([g[1, 2] for g, _ in rows]))
        for j in range(2):
            yield _same(f"{name}, X^T y_{j}", np.array([s.cross[j] for s in law]), np.array([c[j] for _, c in rows]))
        publics = [problem.public(rng) for _ in range(600)]
        shown = np.array([public.average(W)(np.cos) for public in publics])
        direct = np.array([np.cos(problem.rows(problem.m, rng) @ W).mean() for _ in range(600)])
        yield _same(f"{name}, public projections", shown, direct)
        grams = np.array([public.gram[0, 1] for public in publics])
        samples = [problem.rows(problem.m, rng) for _ in range(600)]
        yield _same(f"{name}, public Gram", grams, np.array([x[:, 0] @ x[:, 1] for x in samples]))
    determinants = np.array([np.linalg.slogdet(wishart(3, 7, rng))[1] for _ in range(600)])
    explicit = [rng.standard_normal((7, 3)) for _ in range(600)]
    yield _same("Wishart determinant", determinants, np.array([np.linalg.slogdet(x.T @ x)[1] for x in explicit]))


MODEL = Claim(
    id="glm/model",
    where='"Our model", Section 5',
    kind="algorithm",
    statement="The public $x_j$, $n < j <= n + m$, are unlabelled draws from the law of the private $x$.",
    equation="Section 3",
    setting="What the simulators draw, by two-sample tests; private sums in law against sums over records.",
    remark="Sums in Section 5 run to $n + m + 1$ by a slip.",
    checks=(
        Agreement(facts=_generators, alpha=20 * LAW_ALPHA, impostors={"other labels": {"facts": {"factor": 3.0}}}),
    ),
)


def _oracle(problem: GaussianModel, settings: Settings, seed: int) -> tuple[np.ndarray, float]:
    """w_ols and the scale by steps 2 to 5 as printed, on the records and the noise that the run draws."""
    given = streams(seed)
    gram, cross, users = np.zeros((3, 3)), np.zeros(3), 0
    for x, y in problem.records(problem.n, given.data):
        for record, label in zip(*bounded(x, y, settings), strict=True):
            gram, cross, users = gram + np.outer(record, record), cross + label * record, users + 1
    unit = math.sqrt(users)
    noise = settings.gram_scale * unit * given.noise.standard_normal(6)
    for value, (i, j) in zip(noise, itertools.combinations_with_replacement(range(3), 2), strict=True):
        gram[i, j] += value
        if i != j:
            gram[j, i] += value
    cross = cross + settings.cross_scale * unit * given.noise.standard_normal(3)
    public = problem.public(given.data)
    matrices = {
        "paper": (gram / users, cross / users),
        "pooled": ((gram + public.gram) / (users + problem.m), cross / users),
        "public-covariance": (public.gram / problem.m, cross / users),
    }
    matrix, vector = matrices[settings.estimator]
    w_ols = np.linalg.inv(matrix) @ vector
    average = public.average(w_ols)
    grid = np.linspace(0.2, 12.0, 600)
    values = [c * average(lambda z, c=c: problem.link.slope(c * z)) - 1 for c in grid]
    first = next(k for k in range(1, 600) if values[k] >= 0)
    root = brentq(lambda c: c * average(lambda z: problem.link.slope(c * z)) - 1, grid[first - 1], grid[first])
    return w_ols, float(root)  # type: ignore[arg-type]


def _steps(rng: np.random.Generator, *, estimator: Any = "paper", factor: float = 1.0) -> Iterator[Fact]:
    """Runs against the oracle, with records refused or clipped; one noise per user against one for all."""
    for beyond in ("clip", "refuse"):
        settings = Settings(
            estimator=estimator, gram_scale=0.3, cross_scale=0.2, beyond=beyond, radius=2.0, label_bound=0.7
        )
        for seed in (1, 2):
            problem = model()
            run = estimate(problem, settings, streams(seed), 1)
            w_ols, root = _oracle(problem, settings, seed)
            yield Fact(f"{beyond}: w_ols", run["w_ols"][0], factor * w_ols, 1e-9)
            yield Fact(f"{beyond}: scale", run["scale"][0], factor * root, 1e-7)
            yield Fact(f"{beyond}: estimate", run["w"][0], factor * root * w_ols, 1e-7)
            error = float(np.sum((root * w_ols - W) ** 2) / np.sum(W**2))
            yield Fact(f"{beyond}: relative error", run["relative_l2"][0], factor * error, 1e-6)
            largest = float(np.max(np.abs(root * w_ols - W)) ** 2 / np.max(np.abs(W)) ** 2)
            yield Fact(f"{beyond}: relative largest error", run["relative_max"][0], factor * largest, 1e-6)


def _per_user(rng: np.random.Generator, *, factor: float = 1.0) -> Iterator[Within]:
    """One noise per user against one draw for all."""
    small = model(n=20, m=20)
    settings = Settings(gram_scale=0.5, cross_scale=0.5)
    each = Settings(gram_scale=0.5, cross_scale=0.5, per_user_noise=True)
    runs = [estimate(small, chosen, streams(7 + k), 250)["w_ols"][:, 0] for k, chosen in enumerate((settings, each))]
    yield _same("noise per user and for all", factor * runs[0] + 10.0 * (factor - 1.0), runs[1])


ALG_1 = Claim(
    id="glm/alg-1",
    where="Algorithm 1",
    kind="algorithm",
    statement=(
        "Users within the radius send $x x^top + E_1$ and $x y + E_2$;",
        (
            "the server sums, solves for $hat(w)^\"ols\"$, finds $hat(c)$ with $1 = hat(c)\\/m sum_j Phi''(hat(c) "
            'tilde(y)_j)$ and returns $hat(c) hat(w)^"ols"$.'
        ),
    ),
    equation="Algorithm 1",
    setting=(
        'The upper triangle holds the diagonal; averages over the $m$ public records; the smallest root; "no root" '
        "is counted."
    ),
    checks=(
        Agreement(decides="ab", facts=_steps, impostors=_OFF),
        Agreement(decides="a", facts=_per_user, alpha=LAW_ALPHA, impostors={"other noise": {"facts": {"factor": 1.3}}}),
    ),
)


def _pooled(rng: np.random.Generator, *, factor: float = 1.0) -> Iterator[Fact]:
    for estimator in ("pooled", "public-covariance"):
        yield from _steps(rng, estimator=estimator, factor=factor)


def _gains(rng: np.random.Generator, *, factor: float = 1.0) -> Iterator[Fact | Within]:
    """Leading-order error of the pooled covariance against Algorithm 1's: less noise, the same orders."""
    for m in (2 * 10**4, 2 * 10**5, 2 * 10**6):
        terms = [
            asymptotics.error(
                "logistic", W, SIGMA, n=2 * 10**5, m=m, gram_scale=50.0, cross_scale=20.0, estimator=estimator
            )
            for estimator in ("paper", "pooled")
        ]
        share = (2e5 / (2e5 + m)) ** 2
        yield Fact(f"gram noise, m = {m}", terms[1].gram_noise, factor * share * terms[0].gram_noise, 1e-12)
        yield Fact(f"cross noise, m = {m}", terms[1].cross_noise, factor * terms[0].cross_noise, 1e-12)
        yield Within(f"total over that of Algorithm 1, m = {m}", terms[1].total / terms[0].total, 0.0, 1.0)


REM_11 = Claim(
    id="glm/rem-11",
    where="Remark 11",
    kind="algorithm",
    statement=(
        "$A = 1\\/(m + n) (sum_(i <= n) S_i + sum_j x_j x_j^top)$, $b = 1\\/n sum b_i$, rest as before: better in "
        "practice, error bounds asymptotically the same."
    ),
    equation="Remark 11",
    remark=(
        "The noise of $x x^top$ counts $(n\\/(n + m))^2$ times; that of $x y$, and so the order in $n$, $epsilon$ and "
        "$p$, is unchanged."
    ),
    checks=(
        Agreement(facts=_pooled, impostors=_OFF),
        Agreement(facts=_gains, impostors=_OFF),
    ),
)


# --- Newton's method ---


def _newton_step(*, sign: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    c, y1, y2 = sympy.symbols("c y1 y2", real=True)
    g = sympy.Function("g")  # Phi''
    f = c / 2 * (g(c * y1) + g(c * y2)) - 1
    prime = [sympy.diff(g(c * y), c) for y in (y1, y2)]  # y Phi'''(c y)
    printed = (g(c * y1) + c * prime[0] + g(c * y2) + sign * c * prime[1]) / 2
    yield "derivative", sympy.simplify((sympy.diff(f, c) - printed).doit())


def _quadratic(rng: np.random.Generator, *, factor: float = 1.0) -> Iterator[Fact]:
    """Errors of Newton's steps at 60 digits: each the square of the one before, times f'' / (2 f')."""
    y = [mpmath.mpf(value) for value in (0.1, -0.2, 0.05, 0.3)]
    with mpmath.workdps(60):

        def f(c: Any) -> Any:
            return c * sum(mpmath.exp(-c * v) / (1 + mpmath.exp(-c * v)) ** 2 for v in y) / 4 - 1

        derivative = lambda c: mpmath.diff(f, c)  # noqa: E731
        root = mpmath.findroot(f, 5)
        average = lambda g: float(np.mean(g(np.array([float(v) for v in y]))))  # noqa: E731
        yield Fact("find_scale", factor * find_scale(LINKS["logistic"], average), float(root), 1e-10)  # type: ignore[operator]
        c, errors = root * mpmath.mpf("1.01"), []
        for _ in range(3):
            c = c - factor * f(c) / derivative(c)
            errors.append(abs(c - root))
        constant = abs(mpmath.diff(f, root, 2) / (2 * derivative(root)))
        yield Fact("order 2", float(errors[2] / errors[1] ** 2), float(constant), 1e-3)


ALG_1_NEWTON = Claim(
    id="glm/alg-1-newton",
    where="Algorithms 1 to 4, inner loop",
    kind="identity",
    statement=(
        "The step of the inner loop is Newton's method for $c\\/m sum Phi''(c tilde(y)_j) - 1$, with quadratic "
        "convergence."
    ),
    equation="Algorithm 1",
    remark="From a start that is near; from far out it can leave for infinity. The simulators bracket the root.",
    checks=(
        Symbolic(residuals=_newton_step, impostors={"a sign": {"residuals": {"sign": -1}}}),
        Agreement(facts=_quadratic, impostors=_OFF),
    ),
)
