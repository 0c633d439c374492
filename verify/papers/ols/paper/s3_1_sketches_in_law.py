"""Section 3 item 1 and 3.2.2: the law of the noisy sketch, however it is drawn, and what noise in Y costs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from scipy import stats

from simulators.engine import Experiment
from simulators.ols import (
    HessianMixing,
    LeastSquares,
    LinearMixing,
    SketchAndSolve,
    bartlett,
    explicit_gram,
    hessian_mixing,
    inverse_action,
    linear_mixing,
    sketch_and_solve,
    wishart_solve,
)
from verify.checks import Agreement, Fact, Within
from verify.papers.ols.tools.draws import small_problem
from verify.statements.claims import Claim

# Every Kolmogorov-Smirnov test raises a false alarm with this probability; there are fewer than 40.
ALPHA, MOST_TESTS = 1e-12, 40
DRAWS = 4000


def _same(label: str, sample: np.ndarray, law: Any) -> Within:
    """A sample against a distribution function, or against another sample."""
    two_samples = isinstance(law, np.ndarray)
    test: Any = stats.ks_2samp(sample, law, method="asymp") if two_samples else stats.kstest(sample, law.cdf)
    return Within(f"p-value, {label}", float(test.pvalue), least=ALPHA)


def _sketched_rows(rng: np.random.Generator, eta_factor: float = 1.0) -> Iterator[Within]:
    """Forms of X~'X~ of the sketch drawn entry by entry, and of N T T'N'."""
    problem, k, eta = small_problem(rng, 7, 3), 5, 0.6
    M = problem.gram + eta**2 * np.eye(3)
    direct = explicit_gram(rng, problem.regressors, np.full(DRAWS, eta_factor * eta), k)
    L = np.linalg.cholesky(M) @ bartlett(rng, DRAWS, 3, k)
    for label, grams in (("S X + eta xi", direct), ("Bartlett", L @ np.swapaxes(L, 1, 2))):
        for x in (np.array([1.0, 0.0, 0.0]), np.array([0.3, -1.0, 0.6]), problem.eigenvectors[:, 0]):
            form = np.einsum("i,tij,j->t", x, grams, x) / (x @ M @ x)
            yield _same(f"{label}: x'X~'X~x / x'Mx is chi² of {k}", form, stats.chi2(k))
            inverse = (x @ np.linalg.solve(M, x)) / (
                np.linalg.solve(grams, np.tile(x[:, None], (DRAWS, 1, 1)))[..., 0] @ x
            )
            yield _same(f"{label}: x'M⁻¹x / x'(X~'X~)⁻¹x is chi² of {k - 2}", inverse, stats.chi2(k - 2))
        ratio = np.linalg.det(grams) / np.linalg.det(M)
        product_of = np.prod([rng.chisquare(k - i, DRAWS) for i in range(3)], axis=0)
        yield _same(f"{label}: det", ratio, product_of)


def _inverse_laws(rng: np.random.Generator, k: int = 6) -> Iterator[Within]:
    """V⁻¹v drawn alone against Bartlett's triangle, for k well above and at d; its parts along and across v."""
    for rows, d in ((6, 3), (4, 4), (9, 2), (5, 1)):
        v = np.linspace(1.0, -0.7, d)
        taken = k if rows == 6 else rows
        alone = inverse_action(rng, np.tile(v, (DRAWS, 1)), taken)
        whole = rows * wishart_solve(bartlett(rng, DRAWS, d, rows), np.tile(v, (DRAWS, 1)))
        along = (v @ v) / (alone @ v)
        label = f"k = {rows}, d = {d}"
        yield _same(f"{label}: along v", rows * along, stats.chi2(rows - d + 1))
        yield _same(f"{label}: first coordinate", alone[:, 0], whole[:, 0])
        yield _same(f"{label}: length", np.linalg.norm(alone, axis=1), np.linalg.norm(whole, axis=1))
        if d > 1:
            across = alone - np.outer(alone @ v / (v @ v), v)
            share = np.sum(across**2, axis=1) * (v @ v) / (alone @ v) ** 2
            law = stats.f(d - 1, rows - d + 2)
            yield _same(f"{label}: across v", share * (rows - d + 2) / (d - 1), law)


def _algorithms(rng: np.random.Generator, gamma: float = 3.0) -> Iterator[Within]:
    """Algorithms 1 and 4 and sketch-and-solve, with the sketch drawn and without: estimates and risks in law."""
    problem = small_problem(np.random.default_rng(0), 40, 3)
    runs = {
        "Algorithm 1": (
            hessian_mixing,
            lambda sketch, gamma: HessianMixing(
                steps=2, k=6, gamma=gamma, tau=1.0, sigma=0.5, clip=0.9, keep_ridge=True, sketch=sketch
            ),
        ),
        "Algorithm 4": (linear_mixing, lambda sketch, gamma: LinearMixing(k=5, gamma=gamma, tau=1.0, sketch=sketch)),
        "sketch-and-solve": (
            sketch_and_solve,
            lambda sketch, gamma: SketchAndSolve(k=3, eta_squared=0.3 * gamma, sketch=sketch),
        ),
    }
    seed = int(rng.integers(2**31))
    for label, (algorithm, settings) in runs.items():
        ways = ("action", "wishart", "explicit") if algorithm is hessian_mixing else ("wishart", "explicit")
        found = {
            way: Experiment(
                algorithm=algorithm,
                problem=problem,
                settings=settings(way, gamma if way == "explicit" else 3.0),
                block_trials=DRAWS // 2,
            ).run_block(0, seed=seed)
            for way in ways
        }
        for way in ways[:-1]:
            yield _same(f"{label}, {way}: risk", found[way]["risk"], found["explicit"]["risk"])
            yield _same(f"{label}, {way}: theta_1", found[way]["theta"][:, 0], found["explicit"]["theta"][:, 0])


SKETCH_LAW = Claim(
    id="ols/sketch-law",
    where="Section 3, item 1",
    kind="mc-equality",
    statement=(
        "$S X + eta xi$ is a Gaussian sketch of $[X^top, eta I_d]^top$: $k$ independent rows $N(0, X^top X + eta^2 I)$."
    ),
    remark=(
        "So no sketch need be drawn: $tilde(X)^top tilde(X)$ is Wishart, by Bartlett's triangle from $d^2\\/2$ "
        "numbers; and one step of Algorithm 1 sees $(tilde(X)^top tilde(X))^(-1) v$ alone, from $d + 2$."
    ),
    checks=(
        Agreement(
            facts=_sketched_rows,
            alpha=ALPHA * MOST_TESTS,
            impostors={"eta larger by 20 %": {"facts": {"eta_factor": 1.2}}},
        ),
        Agreement(facts=_inverse_laws, alpha=ALPHA * MOST_TESTS, impostors={"one row more": {"facts": {"k": 7}}}),
        Agreement(facts=_algorithms, alpha=ALPHA * MOST_TESTS, impostors={"gamma doubled": {"facts": {"gamma": 6.0}}}),
    ),
)


# --- what noise in Y costs, Section 3.2.2 ---


def _noise_laws(n: int) -> Iterator[tuple[str, list[np.ndarray]]]:
    """Finitely many equally likely vectors Z with E[ZZ'] = I: the expectation is a sum."""
    yield "independent signs", [np.array(signs) for signs in product((-1.0, 1.0), repeat=n)]
    yield "one record at a time", [sign * np.sqrt(n) * row for row in np.eye(n) for sign in (-1.0, 1.0)]
    values = [np.cos(2 * np.pi * j * np.arange(1, n + 1) / (4 * n)) * np.sqrt(2) for j in range(4 * n)]
    yield "dependent, cos(k U)", values
    yield "of mean not 0", [np.sqrt(n) * row for row in np.eye(n)]


def _cost_of_noise(rng: np.random.Generator, d_factor: float = 1.0) -> Iterator[Fact]:
    """Exactly, as an average over all values of Z."""
    n, sigma = 8, 0.04
    for d in (1, 2, 3):
        X = small_problem(rng, n, d).regressors
        theta = rng.uniform(-0.3, 0.3, d)
        for label, values in _noise_laws(n):
            second = np.mean([np.outer(Z, Z) for Z in values], axis=0)
            yield Fact(f"E ZZ' = I: {label}", second, np.eye(n), 1e-12)
            costs = []
            for Z in values:
                problem = LeastSquares(regressors=X, outcome=X @ theta + sigma * Z)
                costs.append(float(problem.risk(theta)))
            yield Fact(f"E[L(theta_0) - L*], d = {d}, {label}", np.mean(costs), d_factor * sigma**2 * d, 1e-10)


NOISE_RISK = Claim(
    id="ols/noise-risk",
    where="Section 3.2.2",
    kind="mc-equality",
    statement="$Y = X theta_0 + sigma Z$, $EE[Z Z^top] = I_n$: $EE[L(theta_0) - L^*] = sigma^2 d$.",
    hypotheses='$op("rank") X = d$.',
    setting="Laws of $Z$ on finitely many points, so that expectations are sums; only second moments matter.",
    checks=(Agreement(facts=_cost_of_noise, impostors={"1 % more": {"facts": {"d_factor": 1.01}}}),),
)
