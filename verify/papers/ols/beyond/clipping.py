"""Beyond the paper: laws of private least squares that count clipping, and what moments alone say of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.integrate import quad
from scipy.optimize import root

from dpbounds.arithmetic import FLOATS
from dpbounds.ols import clipping, risk
from dpbounds.ols.gram import Gram
from simulators.engine import Experiment
from simulators.ols import HessianMixing, LeastSquares, hessian_mixing
from verify.checks import Agreement, Fact, Holds, Within
from verify.papers.ols.beyond.clipping_runs import averages
from verify.papers.ols.tools.clipped_by_hand import descents, toy
from verify.statements.claims import Claim

MORE = {"0.1 % more": {"facts": {"factor": 1.001}}}

# --- one residual ---

RESIDUALS = ((0.3, 0.2, 0.4), (1.0, 0.5, 0.4), (-0.7, 0.3, 0.2), (0.0, 1.0, 0.1), (2.0, 0.1, 5.0), (-0.2, 2.0, 1.0))


def _normal(z: float) -> float:
    return math.exp(-z * z / 2) / math.sqrt(2 * math.pi)


def _mean(function: Callable[[float], float], cuts: list[float]) -> float:
    """E function(z), by quadrature with cuts at the kinks."""
    inner = sorted(cut for cut in cuts if abs(cut) < 12)
    ends = [-12.0, *inner, 12.0]
    return math.fsum(
        quad(lambda z: function(z) * _normal(z), low, high, epsabs=1e-13, epsrel=1e-12)[0]
        for low, high in pairwise(ends)
    )


def _moments(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact]:
    """Clipped mean, share, and Cov(z, clip) = s p by quadrature; published digits; no spread."""
    for u, s, k in RESIDUALS:
        cuts, label = [(k - u) / s, (-k - u) / s], f"u = {u:g}, s = {s:g}, k = {k:g}"

        def clipped(z: float, u=u, s=s, k=k) -> float:
            return min(max(u + s * z, -k), k)

        share = float(clipping.unclipped_share(FLOATS, u, s, k))
        yield Fact(f"mean, {label}", float(clipping.clipped_mean(FLOATS, u, s, k)), factor * _mean(clipped, cuts), 1e-9)
        inside = _mean(lambda z, u=u, s=s, k=k: float(abs(u + s * z) < k), cuts)
        yield Fact(f"share, {label}", share, factor * inside, 1e-9)
        yield Fact(f"covariance with z, {label}", s * share, factor * _mean(lambda z, f=clipped: z * f(z), cuts), 1e-9)
    published = (((0.3, 0.2, 0.4), 0.2604523847, 0.6912298322), ((1.0, 0.5, 0.4), 0.3723293180, 0.1125145399))
    for point, mean, share in published:
        found = [float(one(FLOATS, *point)) for one in (clipping.clipped_mean, clipping.unclipped_share)]
        yield Fact(f"published digits at {point}", found, factor * np.array([mean, share]), 3e-10)


BEYOND_CLIPPING_RESIDUAL = Claim(
    id="ols/beyond-clipping-residual",
    where="Beyond the paper: means of clipped residuals",
    kind="identity",
    statement=(
        (
            r'For $z tilde cal(N) (0, 1)$, $alpha = (k - u)\/s$, $beta = (-k - u)\/s$: $bb(E) op("clip") (u + s z, k) '
            "= u [Phi(alpha) - Phi(beta)] - s [phi(alpha) - phi(beta)] + k [1 - Phi(alpha) - Phi(beta)]$;"
        ),
        'its covariance with $z$ is $s p$ with $p = bb(P) (abs(u + s z) < k)$, so that $op("Cov") (theta, g) = -S J$.',
    ),
    checks=(Agreement(decides="ab", facts=_moments, impostors=MORE),),
)

# --- gradient descent ---

# steps, rate, clip, average, momentum, mu; the law's relative risk and its bias as published; the closure's error.
TOY = (
    (1, 1.0, 0.1, 0.0, 0.0, 1.0, 0.69036668, 0.69012226, 0.002),
    (5, 1.0, 0.1, 0.0, 0.0, 1.0, 0.10367499, 0.10097601, 0.01),
    (20, 0.7, 0.05, 0.0, 0.0, 1.0, 0.02403796, 0.02133839, 0.02),
    (20, 0.7, 0.05, 0.5, 0.0, 1.0, 0.06855662, 0.06640023, 0.01),
    (20, 0.5, 0.1, 0.5, 0.6, 1.0, 0.00598410, 0.00051420, 0.045),
    (20, 1.4, 0.2, 0.0, 0.0, 0.5, 0.21253403, 0.00022078, 0.05),
    (50, 1.0, 0.15, 0.0, 0.0, 0.3, 0.76619851, 0.00564292, 0.09),
    (30, 1.2, 0.08, 0.5, 0.0, 2.0, 0.00136344, 0.00024256, 0.05),
)
TRIALS = 20_000


def _options(case: tuple) -> dict[str, Any]:
    return dict(zip(("steps", "rate", "clip", "average", "momentum", "mu"), case, strict=False))


def _relative(X: np.ndarray, y: np.ndarray, theta: np.ndarray) -> np.ndarray:
    fit = np.linalg.lstsq(X, y, rcond=None)[0]
    return np.sum(((theta - fit) @ X.T) ** 2, axis=-1) / np.sum((X @ fit) ** 2)


def _toy_law(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact]:
    X, y = toy()
    for case in TOY:
        law = clipping.gradient_descent(X, y, **_options(case))
        label = f"T = {case[0]}, rate {case[1]:g}, clip {case[2]:g}"
        yield _published(f"relative risk, {label}", law.relative, factor * case[6])
        yield _published(f"its bias, {label}", law.bias, factor * case[7])


def _published(label: str, found: float, stated: float) -> Fact:
    """A number that is published to eight decimals."""
    return Fact(label, found, stated, 5.1e-9 / stated)


def _toy_runs(rng: np.random.Generator, **changed: Any) -> Iterator[Fact]:
    """Simulated means over the law, which may have settings that the runs have not (impostors)."""
    X, y = toy()
    for case in TOY:
        options = _options(case)
        law = clipping.gradient_descent(X, y, **{**options, **changed})
        noise = rng.standard_normal((options.pop("steps"), TRIALS, 3))
        found = float(_relative(X, y, descents(X, y, noise, **options)).mean())
        yield Fact(f"T = {case[0]}, rate {case[1]:g}, clip {case[2]:g}", found, law.relative, case[8])


def _exact(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact | Holds]:
    """One step by hand; nothing clipped: the printed recursion, and all noise unrolled with momentum and averaging."""
    X, y = toy()
    A, fit = X.T @ X, np.linalg.lstsq(X, y, rcond=None)[0]
    largest = float(np.linalg.eigvalsh(A)[-1])
    for rate, clip, mu in ((1.0, 0.05, 1.0), (0.4, 0.2, 0.2)):
        limits = clip / np.linalg.norm(X, axis=1)
        mean = rate / largest * X.T @ np.clip(y, -limits, limits)
        stated = float((mean - fit) @ A @ (mean - fit)) + (rate * clip / (largest * mu)) ** 2 * float(np.trace(A))
        law = clipping.gradient_descent(X, y, mu=mu, steps=1, rate=rate, clip=clip)
        yield Fact(f"one step, clip {clip:g}", law.risk, factor * stated, 1e-10)
        yield Holds(f"an estimate where something is clipped, clip {clip:g}", law.risk.kind == "estimate")
    gram = Gram.of_records(X, y)
    for steps, rate, mu in ((7, 0.9, 40.0), (3, 1.8, 60.0)):
        law = clipping.gradient_descent(X, y, mu=mu, steps=steps, rate=rate, clip=20.0)
        sigma = 20.0 * math.sqrt(steps) / mu / 40
        stated = risk.gradient_descent(gram, steps=steps, rate=rate / largest * 40, sigma=sigma)
        yield Fact(f"nothing clipped, T = {steps}", law.risk, factor * float(stated), 1e-10)
        yield Holds(f"exact where nothing is clipped, T = {steps}", law.risk.kind == "exact" and law.share_clipped == 0)
    for average, momentum in ((0.5, 0.0), (0.4, 0.6), (0.0, 0.7)):
        law = clipping.gradient_descent(X, y, mu=40.0, steps=6, rate=0.8, clip=20.0, average=average, momentum=momentum)
        stated = _unrolled(X, y, average, momentum)
        yield Fact(f"unrolled, average {average:g}, momentum {momentum:g}", law.relative, factor * stated, 1e-9)


def _unrolled(X: np.ndarray, y: np.ndarray, average: float, momentum: float) -> float:
    """The mean without noise, and what each unit of noise alone does to the estimate: it is affine."""
    options: dict[str, Any] = {"mu": 40.0, "rate": 0.8, "clip": 20.0, "average": average, "momentum": momentum}
    units = np.zeros((6, 19, 3))
    for number in range(18):
        units[number // 3, number + 1, number % 3] = 1.0
    theta = descents(X, y, units, **options)
    A, fit = X.T @ X, np.linalg.lstsq(X, y, rcond=None)[0]
    moved, off = theta[1:] - theta[0], theta[0] - fit
    return float(off @ A @ off + np.einsum("ki,ij,kj->", moved, A, moved)) / float(fit @ A @ fit)


def _thinned(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Within]:
    """Two thousand rows for six thousand, heavy tails in both."""
    rng = np.random.default_rng(0)
    X = rng.standard_t(6, (6000, 6)) * np.linspace(0.12, 0.05, 6)
    X /= np.maximum(1.0, np.linalg.norm(X, axis=1))[:, None]
    y = np.clip(X @ rng.uniform(-1, 1, 6) + 0.1 * rng.standard_t(5, 6000), -1, 1)
    sizes = np.linalg.norm(X, axis=1) * np.abs(y - X @ np.linalg.lstsq(X, y, rcond=None)[0])
    for mu, quantile, average in ((0.3, 0.6, 0.5), (1.0, 0.7, 0.0), (1.0, 0.9, 0.5)):
        clip = float(np.quantile(sizes, quantile))
        options: dict[str, Any] = {"mu": mu, "steps": 60, "rate": 1.2, "clip": clip, "average": average}
        whole, some = (clipping.gradient_descent(X, y, rows=rows, **options).relative for rows in (None, 2000))
        yield Within(
            f"two thousand rows over all, {100 * (1 - quantile):.0f} % clipped at the fit",
            factor * some / whole,
            0.8,
            1.25,
        )


BEYOND_CLIPPING_LAW = Claim(
    id="ols/beyond-clipping-law",
    where="Beyond the paper: law of clipped gradient descent",
    kind="mc-equality",
    statement=(
        (
            "DP-GD with gradients clipped to $c$, the iterate taken to be $cal(N) (m, S)$: with $overline(g) = sum x_i "
            r'bb(E) op("clip") (r_i, c \/ norm(x_i))$, $J = sum p_i x_i x_i^top$ and $eta$ the step, $m <- m + eta '
            "overline(g)$, $S <- (I - eta J) S (I - eta J) + eta^2 sigma^2 I$, likewise for the state of momentum and "
            r'sums, $bb(E) cal(R) = norm(m - theta^*)_A^2 + op("tr") (A S)$;'
        ),
        "this is exact after one step, and where nothing is clipped;",
        "on a toy of 40 rows it is what is published, and simulation agrees within the error that each case states;",
        "two thousand of six thousand heavy-tailed rows give it within a quarter.",
    ),
    setting="The toy: steps 1 to 50, with and without averaging and momentum, 1 % to 55 % of the gradients clipped.",
    checks=(
        Agreement(decides="b", facts=_exact, impostors=MORE),
        Agreement(decides="a", facts=averages, impostors=MORE),
        Agreement(decides="ac", facts=_toy_law, impostors={"1e-5 off": {"facts": {"factor": 1 + 1e-5}}}),
        Agreement(
            decides="c",
            facts=_toy_runs,
            alpha=1e-9,
            impostors={
                "momentum left out": {"facts": {"momentum": 0.0}},
                "averaging left out": {"facts": {"average": 0.0}},
                "clipping not counted": {"facts": {"clip": 10.0, "mu": 100.0}},
                "a rate of 1": {"facts": {"rate": 1.0}},
            },
        ),
        Agreement(decides="d", facts=_thinned, impostors={"a quarter more": {"facts": {"factor": 1.25}}}),
    ),
)

# --- moments alone, and the floor ---

# steps, rate, clip, average, mu, relative risk.
FROM_MOMENTS = (
    (1, 1.0, 0.1, 0.0, 1.0, 0.65542530),
    (5, 1.0, 0.1, 0.0, 1.0, 0.11359702),
    (20, 0.7, 0.05, 0.0, 1.0, 0.04324355),
    (20, 0.7, 0.05, 0.5, 1.0, 0.09240360),
    (20, 1.4, 0.2, 0.0, 0.5, 0.21081655),
    (50, 1.0, 0.15, 0.0, 0.3, 0.70776766),
    (30, 1.2, 0.08, 0.5, 2.0, 0.00213545),
)


def _from_moments(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact]:
    X, y = toy()
    A, b, squares = X.T @ X, X.T @ y, float(y @ y)
    for steps, rate, clip, average, mu, stated in FROM_MOMENTS:
        options: dict[str, Any] = {"steps": steps, "rate": rate, "clip": clip, "average": average, "mu": mu}
        law = clipping.from_moments(A, b, squares, 40, **options)
        yield _published(f"T = {steps}, rate {rate:g}, clip {clip:g}", law.relative, factor * stated)
        own = float(law.risk) + _clipped_off(clip, math.sqrt(np.trace(A) / 40), (squares - _signal(A, b)) / 40, 40)
        yield Fact(f"objective, T = {steps}, clip {clip:g}", law.objective, factor * own, 1e-7)
    published = clipping.bias_estimate(0.1, length=0.5, variance=0.04, n=1000)
    yield Fact("published estimate of the bias", float(published), factor * 1.2932066189, 1e-8)
    yield Fact("the same by quadrature", float(published), factor * _clipped_off(0.1, 0.5, 0.04, 1000), 1e-8)
    for mu in (0.3, 2.0):
        found = clipping.chosen_from_moments(Gram(A=A, b=b, y_squared=squares, n=40), mu)
        least = min(
            float(clipping.from_moments(A, b, squares, 40, mu=mu, steps=T, rate=r, clip=c, average=a).objective)
            for T in (32, 64, 128)
            for r in (0.3, 0.6, 1.0, 1.4, 1.8)
            for c in (0.01 * 2 ** (k / 2) for k in range(13))
            for a in (0.0, 0.5)
        )
        yield Fact(f"the least of the grid, mu = {mu:g}", min(found.objective, least), factor * found.objective, 1e-9)
        own = clipping.from_moments(
            A, b, squares, 40, mu=mu, steps=found.steps, rate=found.rate, clip=found.clip, average=found.average
        )
        yield Fact(f"the choice's objective, mu = {mu:g}", found.objective, factor * float(own.objective), 1e-9)


def _signal(A: np.ndarray, b: np.ndarray) -> float:
    return float(b @ np.linalg.solve(A, b))


def _clipped_off(clip: float, length: float, variance: float, n: int) -> float:
    """A tenth of n E (r - clip r)² / p², by quadrature."""
    s, k = math.sqrt(variance), clip / length
    cuts = [k / s, -k / s]
    beyond = _mean(lambda z: max(abs(s * z) - k, 0.0) ** 2, cuts)
    return 0.1 * n * beyond / _mean(lambda z: float(abs(s * z) < k), cuts) ** 2


def _floors(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact]:
    """Published floors of the toy, and the fixed point by a root finder."""
    X, y = toy()
    for clip, relative, explained in ((0.05, 0.00474065, 0.0278), (0.1, 0.00145240, 0.0412), (0.2, 0.00000379, 0.0422)):
        found = clipping.clip_floor(X, y, clip=clip)
        digits = 5e-9 / relative
        yield Fact(f"published floor, clip {clip:g}", found.relative, factor * relative, 1.01 * digits)
        yield Fact(f"published share explained, clip {clip:g}", found.explained, factor * explained, 3e-3)
        limits = clip / np.linalg.norm(X, axis=1)
        fixed = root(lambda theta, k=limits: X.T @ np.clip(y - X @ theta, -k, k), found.theta + 1e-3, tol=1e-13).x
        yield Fact(f"fixed point, clip {clip:g}", found.theta, factor * fixed, 1e-8)
    far = clipping.gradient_descent(X, y, mu=1e6, steps=3000, rate=1.0, clip=0.1)
    yield Fact(
        "where descent without noise ends", far.relative, factor * clipping.clip_floor(X, y, clip=0.1).relative, 1e-4
    )


BEYOND_CLIPPING_MOMENTS = Claim(
    id="ols/beyond-clipping-moments",
    where="Beyond the paper: clipping from moments alone",
    kind="identity",
    statement=(
        (
            r'From $(A, b, norm(y)^2, n)$: rows of one length $ell = sqrt(op("tr") A \/ n)$ and normal residuals give '
            r'$p_t = "erf" (c \/ (ell s_t sqrt(2)))$ and $h_i = 1 - eta p_t lambda_i$, and the estimate $G$ of the '
            "risk is what is published;"
        ),
        r'$G^+ = G + 0.1 n bb(E) (r - op("clip") (r, c\/ell))^2 \/ p^2$ chooses the settings;',
        r'the fixed point of clipped descent is $theta_c$ with $sum x_i op("clip") (r_i, c \/ norm(x_i)) = 0$.',
    ),
    setting="The toy of 40 rows.",
    checks=(
        Agreement(decides="ab", facts=_from_moments, impostors=MORE),
        Agreement(decides="c", facts=_floors, impostors={"2 % more": {"facts": {"factor": 1.02}}}),
    ),
)

# --- iterative Hessian mixing ---


@cache
def _records() -> LeastSquares:
    rng = np.random.default_rng(4)
    X = rng.uniform(-1, 1, (600, 4)) * (0.5, 0.4, 0.3, 0.15)
    return LeastSquares(regressors=X, outcome=np.clip(X @ (0.6, -0.8, 0.5, 0.9) + 0.15 * rng.standard_t(4, 600), -1, 1))


# steps, k, eta², sigma, clip, ridge kept: from nothing clipped to most.
MIXING = (
    (3, 60, 4.0, 0.6, 5.0, False),
    (3, 60, 4.0, 0.6, 5.0, True),
    (5, 60, 4.0, 0.4, 0.3, False),
    (10, 80, 2.0, 0.3, 0.15, False),
    (20, 80, 8.0, 0.3, 0.05, True),
)
RUNS = 8000


def _mixing(rng: np.random.Generator, **changed: Any) -> Iterator[Fact | Holds]:
    data = _records()
    for number, (steps, k, eta_squared, sigma, clip, kept) in enumerate(MIXING):
        law = clipping.hessian_mixing(
            data.regressors,
            data.outcome,
            **{"steps": steps, "k": k, "eta_squared": eta_squared, "sigma": sigma, "clip": clip, "keep_ridge": kept}
            | changed,
        )
        # tau far out releases the eigenvalue 0: the sketch's noise is gamma.
        settings = HessianMixing(steps=steps, k=k, gamma=eta_squared, tau=1e6, sigma=sigma, clip=clip, keep_ridge=kept)
        runs = Experiment(algorithm=hessian_mixing, problem=data, settings=settings, block_trials=RUNS)
        found = runs.run_block(number, seed=int(rng.integers(2**31)))["risk"]
        yield Fact(
            f"T = {steps}, C = {clip:g}, ridge {'kept' if kept else 'dropped'}", float(found.mean()), law.risk, 0.1
        )
        if clip > 1:
            exact = risk.hessian_mixing(
                data.statistics, steps=steps, k=k, eta_squared=eta_squared, sigma=sigma, keep_ridge=kept
            )
            yield Fact(f"nothing clipped, ridge {'kept' if kept else 'dropped'}", law.risk, float(exact), 1e-9)
            yield Holds("and said to be exact", law.risk.kind == "exact")
    short: dict[str, Any] = {"steps": 3, "k": 60, "eta_squared": 4.0, "sigma": 0.6, "step": 0.6}
    for kept in (False, True):
        law = clipping.hessian_mixing(data.regressors, data.outcome, **short, clip=5.0, keep_ridge=kept)
        exact = risk.hessian_mixing(data.statistics, **short, keep_ridge=kept)
        label = f"nothing clipped, short steps, ridge {'kept' if kept else 'dropped'}"
        yield Fact(label, float(law.risk), float(exact), 1e-9)


BEYOND_CLIPPING_MIXING = Claim(
    id="ols/beyond-clipping-mixing",
    where="Beyond the paper: law of clipped Hessian mixing",
    kind="mc-equality",
    statement=(
        (
            "IHM with residuals clipped to $C$: the same closure with $K = s H^(-1)$, whose moments over the sketch "
            "are closed, gives the simulated mean risk within a tenth, with the ridge term and without;"
        ),
        "where nothing is clipped it is the exact mean.",
    ),
    setting="600 rows, 4 columns; 3 to 20 steps, $C$ from 5 (nothing clipped) to 0.05.",
    checks=(
        Agreement(
            decides="ab",
            facts=_mixing,
            alpha=1e-9,
            impostors={
                "clipping not counted": {"facts": {"clip": 5.0}},
                "a quarter more noise": {"facts": {"sigma": 0.8}},
                "half of the sketch": {"facts": {"k": 30}},
            },
        ),
    ),
)
