"""Beyond the paper: tail-averaged preconditioned descent (TAP), its privacy and its risk."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np

from dpbounds.ols import clipping
from dpbounds.ols import tail_averaged as tap
from dpbounds.ols.newton import EDGES
from dpbounds.ols.tail_averaged import Shares, TailAveraged
from simulators.ols import LeastSquares, TailDraws, tail_runs
from verify.checks import Agreement, Fact, Search, Times, Within
from verify.checks.domains import Real
from verify.papers.ols.tools.clipped_by_hand import TailNoise, tail
from verify.statements.claims import Claim

# --- the algorithm ---


@cache
def _records(case: int) -> LeastSquares:
    """Rows within 1, one of them 0, in units of bounds that are not 1."""
    n, d, scale, spread = ((40, 3, 1.0, 0.1), (200, 2, 0.3, 0.02), (25, 1, 0.05, 0.5), (120, 4, 0.9, 0.4))[case]
    rng = np.random.default_rng(case)
    X = rng.standard_normal((n, d)) * np.linspace(1.0, 0.2, d)
    X *= scale / np.linalg.norm(X, axis=1).max()
    X[3] = 0.0
    Y = np.clip(X @ rng.standard_normal(d) + spread * rng.standard_normal(n), -1, 1)
    return LeastSquares(regressors=2.0 * X, outcome=0.5 * Y, row_bound=2.0, outcome_bound=0.5)


RUNS = ((0, 1.5, 4), (0, 0.2, 20), (1, 3.0, 12), (1, 0.5, 128), (2, 0.4, 1), (2, 2.0, 2), (3, 20.0, 11), (3, 0.05, 6))


def _by_hand(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact]:
    """The simulator against the algorithm written out row by row, with the same noise."""
    for index, (case, mu, steps) in enumerate(RUNS):
        data = _records(case)
        draws = TailDraws.fresh(np.random.default_rng(index), 2, data.d, steps)
        found = tail_runs(data, TailAveraged(mu=mu, steps=steps), draws)["theta"]
        for trial in range(2):
            own = TailNoise(*(values[trial] for values in vars(draws).values()))
            stated = tail(data.regressors / 2, data.outcome / 0.5, mu, own) * 0.5 / 2
            yield Fact(f"case {case}, mu = {mu:g}, T = {steps}, run {trial}", found[trial], factor * stated, 1e-9)


def _drawn(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact]:
    """Second moments of the noise: variance 1, of the Hessian's 1 on and 1/2 off the diagonal, symmetric."""
    draws = TailDraws.fresh(rng, 4000, 3, 4)
    yield Fact("symmetric", np.abs(draws.hessian - np.swapaxes(draws.hessian, 1, 2)).max(), 0.0, 1e-15)
    shape = np.full((3, 3), 0.5) + 0.5 * np.eye(3)
    yield Fact("variances of the Hessian", np.mean(draws.hessian**2, axis=0), factor * shape, 0.2)
    for name in ("products", "gradients", "counts"):
        yield Fact(f"variance of {name}", float(np.mean(getattr(draws, name) ** 2)), factor, 0.12)


def _anchors(rng: np.random.Generator) -> Iterator[Fact]:
    """Numbers of the published description."""
    scales = tap.noise_scales(TailAveraged(mu=1.0))
    yield Fact("noise of a gradient over c_u", scales.gradients, 12.1999, 5e-6)
    yield Fact("noise of the Hessian", scales.hessian, 3.5355339059, 1e-9)
    yield Fact("replace-one over zero-out, squared", float(tap.replacement_cost()), 3.61, 1e-12)
    yield Fact("its root", math.sqrt(tap.replacement_cost()), 1.9, 1e-12)
    yield Fact("iterates that are averaged", float(TailAveraged(mu=1.0).kept), 115.0, 1e-12)


BEYOND_TAP_ALGORITHM = Claim(
    id="ols/beyond-tap-algorithm",
    where="Beyond the paper: tail-averaged preconditioned descent",
    kind="algorithm",
    statement=(
        "TAP: a histogram of $norm(x) abs(y)$ chooses the clip $c$ of gradients;",
        (
            r"one noisy Hessian $hat(A) = X^top X + s_1 N = U W U^top$ gives $P = (max(w, 0) + 1.5 e)^(-1)$, $e = "
            "min{s_1 sqrt(2 d), n}$;"
        ),
        (
            r'$T = 128$ rounds of equal noise $theta <- theta + U P U^top (sum x_i op("clip") (y_i - x_i^top theta, '
            r"c_u \/ norm(x_i)) + sigma zeta)$, $c_u = min{1, 0.85 c max{1, 0.3 sqrt(n mu \/ d)}}$, each with a noisy "
            "count of gradients of at most $c$, which moves $c$ towards their 0.7 quantile;"
        ),
        "the mean of the last 115 iterates is the estimate.",
    ),
    checks=(
        Agreement(decides="abcd", facts=_by_hand, impostors={"1e-7 off": {"facts": {"factor": 1 + 1e-7}}}),
        Agreement(decides="bcd", facts=_anchors, impostors={"1e-4 off": {"facts": Times(1 + 1e-4)}}),
        Agreement(decides="abc", facts=_drawn, alpha=1e-9, impostors={"variance 1.4": {"facts": {"factor": 1.4}}}),
    ),
)

# --- privacy ---

STEPS = 4
PRIVATE = TailAveraged(mu=0.8, steps=STEPS)


def _releases(x: np.ndarray, y: float, clips: np.ndarray, thetas: np.ndarray) -> Mapping[str, np.ndarray]:
    """What one row adds to everything that is released: a bin, the Hessian in an orthonormal basis, gradients over c_u
    and counts of all rounds; the state before each release is the adversary's.
    """
    length = float(np.linalg.norm(x))
    residuals = y - thetas @ x
    limits = clips[:, 1] / max(length, 1e-100)
    gradients = np.clip(residuals, -limits, limits)[:, None] * x / clips[:, 1:]
    gram, upper = np.outer(x, x), np.triu_indices(len(x), 1)
    bins = np.zeros(len(EDGES))
    if length * abs(y) > 0:
        bins[max(j for j in range(15) if j == 0 or 2.0 ** (-j / 2) >= length * abs(y))] = 1.0
    return {
        "products": bins,
        "hessian": np.concatenate([np.diag(gram), math.sqrt(2) * gram[upper]]),
        "gradients": gradients,
        "counts": (length * np.abs(residuals) <= clips[:, 0]).astype(float),
    }


def _cost(own: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray]) -> float:
    """Squared distance of the two transcripts in units of the noise."""
    noise = tap.noise_scales(PRIVATE)._asdict()
    return math.fsum(float(np.sum(((own[name] - other[name]) / noise[name]) ** 2)) for name in own)


def _pair(x, other, y, theta, c, ratio) -> tuple[Mapping[str, np.ndarray], Mapping[str, np.ndarray]]:
    """Two rows of dimension 2 at iterates and clips of the adversary's choice."""
    thetas = theta.reshape(STEPS, 2)
    clips = np.stack([c, np.minimum(1.0, c * ratio)], axis=1)
    rows = [row / max(1.0, float(np.linalg.norm(row))) for row in (x, other)]
    first, second = (_releases(row, float(target), clips, thetas) for row, target in zip(rows, y, strict=True))
    return first, second


def _zero_out(x, other, y, theta, c, ratio, factor: float = 1.0) -> tuple[float, float]:
    """A row against a row of zeros: at most mu²."""
    first, _ = _pair(x, other, y, theta, c, ratio)
    nothing, _ = _pair(np.zeros(2), other, np.zeros(2), theta, c, ratio)
    return _cost(first, nothing), factor * PRIVATE.mu**2


def _replaced(x, other, y, theta, c, ratio, factor: float = 1.0) -> tuple[float, float]:
    """Two rows: at most mu² replacement_cost with zero-out noise."""
    bound = factor * PRIVATE.mu**2 * tap.replacement_cost()
    return _cost(*_pair(x, other, y, theta, c, ratio)), bound


def _dearest() -> list[dict[str, Any]]:
    """A full gradient that is not counted, ||x|| = 1; and replaced by a short row with the opposite one, counted."""
    common = {"c": np.full(STEPS, 0.1), "ratio": 0.85}
    first = {"x": np.array([1.0, 0.0]), "theta": np.tile([-3.0, 0.0], STEPS)}
    still = np.tile([0.0, 0.0], STEPS)
    return [
        {**first, "other": np.array([1e-3, 0.0]), "y": np.array([1.0, -0.3]), **common},
        {**first, "theta": still, "other": np.array([0.095, 0.0]), "y": np.array([1.0, -1.0]), **common},
    ]


ADVERSARY = {
    "x": (Real(-1.0, 1.0), 2),
    "other": (Real(-1.0, 1.0), 2),
    "y": (Real(-1.0, 1.0), 2),
    "theta": (Real(-4.0, 4.0), 2 * STEPS),
    "c": (Real(0.002, 1.5, "log"), STEPS),
    "ratio": Real(0.85, 10.0, "log"),
}


def _accounts(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact]:
    """`privacy` of the noise scales is the budget, for both neighbours; unequal shares and scales too."""
    lopsided = Shares(products=0.1, hessian=0.6, counts=0.1, rounds=0.2)
    for mu, steps, shares in ((0.3, 128, Shares()), (2.0, 1, Shares()), (1.0, 5, lopsided)):
        for adjacency in ("zero-out", "replace-one"):
            settings = TailAveraged(mu=mu, steps=steps, shares=shares, adjacency=adjacency)
            found = tap.privacy(tap.noise_scales(settings), steps, adjacency=adjacency)
            yield Fact(f"{adjacency}, mu = {mu:g}, T = {steps}", found, factor * mu, 1e-12)
    # Cosine 0.2 / (2 * 0.6) = 1/6: rounds (2 + 1/3) + hessian (2 - 1/18), above 4 rounds + hessian.
    stated = 2 * 0.1 + 0.1 + 0.2 * (2 + 1 / 3) + 0.6 * (2 - 1 / 18)
    yield Fact("replace-one where the Hessian is dear", tap.replacement_cost(lopsided), factor * stated, 1e-12)


def _attained(rng: np.random.Generator, share: float = 0.9999) -> Iterator[Within]:
    """The bounds are reached: all of mu² by zeroing out, and all but a part in 200 of the other."""
    points = _dearest()
    zeroed, mu_squared = _zero_out(**points[0])
    yield Within("zero-out, share of mu²", zeroed / mu_squared, least=share)
    swapped = max(_replaced(**point)[0] for point in points)
    yield Within("replace-one, share of its bound", swapped / _replaced(**points[0])[1], least=share - 0.005)


BEYOND_TAP_PRIVACY = Claim(
    id="ols/beyond-tap-privacy",
    where="Beyond the paper: privacy of TAP",
    kind="privacy",
    statement=(
        "All releases of TAP together are one adaptive Gaussian composition: exactly $mu$-GDP for zero-out neighbours;",
        (
            "with all noises $sqrt(3.61) = 1.9$ times as large it is $mu$-GDP for replaced rows, without an eigenvalue "
            "test or a probability of failure."
        ),
    ),
    setting="A row, its neighbour, all iterates and clip levels chosen by an adversary; $d = 2$, $T = 4$.",
    checks=(
        Search(
            decides="a",
            sides=_zero_out,
            box=ADVERSARY,
            extremal=_dearest,
            evaluations={"quick": 2500, "full": 30_000},
            impostors={"0.5 % less": {"sides": {"factor": 0.995}}},
        ),
        Search(
            decides="b",
            sides=_replaced,
            box=ADVERSARY,
            extremal=_dearest,
            evaluations={"quick": 2500, "full": 30_000},
            impostors={"1 % less": {"sides": {"factor": 0.99}}},
        ),
        Agreement(decides="ab", facts=_accounts, impostors={"0.1 % more": {"facts": {"factor": 1.001}}}),
        Agreement(decides="ab", facts=_attained, impostors={"1 % more": {"facts": {"share": 1.01}}}),
    ),
)

# --- risk ---


@cache
def _standing_in(clipped: bool) -> LeastSquares:
    """Records of 3 columns of which a large budget clips nothing, or of 9 with heavy tails, many of them clipped."""
    rng, d = np.random.default_rng(9), 9 if clipped else 3
    X = rng.uniform(-1, 1, (800, d)) * np.linspace(0.5, 0.25, d) * math.sqrt(3 / d)
    errors = 0.5 * rng.standard_t(3, 800) if clipped else rng.uniform(-0.4, 0.4, 800)
    return LeastSquares(regressors=X, outcome=np.clip(X @ np.linspace(2, -2, d) + errors, -1, 1))


# What is simulated at fixed histogram, Hessian and counts: clipped, mu, steps, the largest error.
LAWS = ((False, 200.0, 16, 0.12), (True, 1.0, 32, 0.08))
TRIALS = 2000


def _given_draws(rng: np.random.Generator, factor: float = 1.0, **changed: Any) -> Iterator[Fact | Within]:
    """Mean risk of runs that share all noise but the gradients' against the law given that noise."""
    for clipped, mu, steps, tolerance in LAWS:
        data, seed = _standing_in(clipped), int(rng.integers(2**31))
        options = {"mu": mu, "steps": steps, **changed}
        law = clipping.tail_averaged(data.regressors, data.outcome, **options, draws=1, rows=None, seed=seed)
        fixed = _noise(seed, data.d, options["steps"])
        fresh = rng.standard_normal((TRIALS, steps, data.d))
        draws = TailDraws(
            **{name: np.broadcast_to(values, (TRIALS, *values.shape)) for name, values in fixed.items()},
            gradients=fresh,
        )
        runs = tail_runs(data, TailAveraged(mu=mu, steps=steps), draws)
        found = float(runs["risk"].mean()) / data.statistics.signal
        label = f"mu = {mu:g}, T = {steps}"
        yield Fact(label, found, factor * law.relative, tolerance)
        difference = law.share_clipped - float(runs["clipped"].mean())
        yield Within(f"share clipped, law less runs, {label}", difference, -0.005, 0.005)
        if not clipped:
            yield Fact(f"nothing clipped, {label}", float(runs["clipped"].max()) + law.share_clipped, 0.0, 1e-12)
            stated = _unrolled(data, mu, steps, fixed["hessian"])
            yield Fact(f"unrolled, {label}", law.relative, factor * stated, 1e-9)


def _noise(seed: int, d: int, steps: int) -> dict[str, np.ndarray]:
    """What the law draws from this seed: bins of two histograms, of which TAP has the second, the Hessian, counts."""
    generator = np.random.default_rng(seed)
    _, products = generator.standard_normal((2, 1, len(EDGES)))
    square = generator.standard_normal((1, d, d))
    counts = generator.standard_normal((1, steps))
    return {"products": products[0], "hessian": (square + np.swapaxes(square, 1, 2))[0] / 2, "counts": counts[0]}


def _unrolled(data: LeastSquares, mu: float, steps: int, noise: np.ndarray) -> float:
    """Nothing clipped, c_u = 1: products of I - K A, averaged, without a recursion of covariances."""
    A, fit, d = data.gram, data.theta_star, data.d
    scale = 1 / math.sqrt(0.08 * mu**2)
    values, U = np.linalg.eigh(A + scale * noise)
    K = U @ np.diag(1 / (np.maximum(values, 0) + 1.5 * min(scale * math.sqrt(2 * d), data.n))) @ U.T
    kept, B = max(1, 9 * steps // 10), np.eye(d) - K @ A
    powers = [np.linalg.matrix_power(B, power) for power in range(steps + 1)]
    averaged = range(steps - kept, steps)
    off = -sum(powers[t + 1] @ fit for t in averaged) / kept
    sigma, total = math.sqrt(steps / 0.86) / mu, float(off @ A @ off)
    for s in range(steps):
        moved = sum((powers[t - s] @ K for t in averaged if t >= s), np.zeros((d, d))) * sigma / kept
        total += float(np.sum(A * (moved @ moved.T)))
    return total / data.statistics.signal


BEYOND_TAP_LAW = Claim(
    id="ols/beyond-tap-law",
    where="Beyond the paper: law of TAP with clipping",
    kind="mc-equality",
    statement=(
        (
            "Given histogram, $hat(A)$ and the counts' noise, the law with clipping for $K = U P U^top$ and the mean "
            "of the last iterates is exact where nothing is clipped;"
        ),
        "where gradients are clipped the simulated mean risk is within 8 % of it, and the clipped share as simulated.",
    ),
    setting="800 rows, 3 columns and 9; 2000 runs that share all noise but the gradients'.",
    checks=(
        Agreement(
            decides="ab",
            facts=_given_draws,
            alpha=1e-9,
            impostors={
                "a quarter more": {"facts": {"factor": 1.25}},
                "a budget of 1.2 mu in the Hessian": {"facts": {"shares": Shares(hessian=0.3, rounds=0.64)}},
            },
        ),
    ),
)
