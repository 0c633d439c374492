"""Beyond the paper: preconditioned recentred Newton (PRN), its privacy and its risk."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np

from dpbounds.ols import newton
from dpbounds.ols.newton import Newton, Shares
from dpbounds.privacy import gaussian_mu
from simulators.ols import LeastSquares, NewtonDraws, newton_runs
from simulators.ols.sketches import MOST_DRAWS
from verify.checks import Agreement, Fact, Holds, Search, Times, Within, refused
from verify.checks.domains import Real
from verify.papers.ols.tools import newton_by_hand
from verify.statements.claims import Claim


@cache
def _records(case: int) -> LeastSquares:
    """Rows within 1, one of them 0, in units of bounds that are not 1."""
    n, d, scale, spread = ((40, 3, 1.0, 0.1), (300, 2, 0.3, 0.02), (25, 1, 0.05, 0.5), (150, 4, 0.9, 0.4))[case]
    rng = np.random.default_rng(case)
    X = rng.standard_normal((n, d)) * np.linspace(1.0, 0.2, d)
    X *= scale / np.linalg.norm(X, axis=1).max()
    X[3] = 0.0
    Y = np.clip(X @ rng.standard_normal(d) + spread * rng.standard_normal(n), -1, 1)
    return LeastSquares(regressors=2.0 * X, outcome=0.5 * Y, row_bound=2.0, outcome_bound=0.5)


RUNS = (  # case, mu, steps, growth
    (0, 1.5, 4, 1.2),
    (0, 0.2, 3, 1.2),
    (1, 3.0, 10, 1.2),
    (1, 0.5, 5, 1.4),
    (2, 0.4, 1, 1.1),
    (2, 2.0, 2, 1.2),
    (3, 20.0, 3, 0.9),
    (3, 0.05, 6, 1.2),
)


def _by_hand(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact]:
    """The simulator against the algorithm written out row by row, with the same noise."""
    for index, (case, mu, steps, growth) in enumerate(RUNS):
        data = _records(case)
        draws = NewtonDraws.fresh(np.random.default_rng(index), 3, data.d, steps)
        found = newton_runs(data, Newton(mu=mu, steps=steps, growth=growth), draws)["theta"]
        for trial in range(3):
            own = newton_by_hand.Noise(*(values[trial] for values in vars(draws).values()))
            stated = newton_by_hand.run(data.regressors / 2, data.outcome / 0.5, mu, steps, growth, own) * 0.5 / 2
            yield Fact(f"case {case}, mu = {mu:g}, T = {steps}, run {trial}", found[trial], factor * stated, 1e-9)


def _drawn(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact | Holds]:
    """Second moments of the noise: variance 1, of the Hessian's 1 on and 1/2 off the diagonal, symmetric."""
    draws = NewtonDraws.fresh(rng, 4000, 3, 4)
    yield Fact("symmetric", np.abs(draws.hessian - np.swapaxes(draws.hessian, 1, 2)).max(), 0.0, 1e-15)
    shape = np.full((3, 3), 0.5) + 0.5 * np.eye(3)
    yield Fact("variances of the Hessian", np.mean(draws.hessian**2, axis=0), factor * shape, 0.2)
    for name in ("norms", "products", "gradients", "counts"):
        values = getattr(draws, name)
        yield Fact(f"variance of {name}", float(np.mean(values**2)), factor, 0.12)
    shapes = [draws.norms.shape, draws.gradients.shape[1:], draws.counts.shape[1:]]
    yield Fact("shapes", str(shapes), str([(4000, 15), (4, 3), (3,)]), 0)
    for d, steps in ((1, MOST_DRAWS), (MOST_DRAWS, 1)):
        yield refused(f"d = {d}, T = {steps}", "shape", lambda d=d, steps=steps: NewtonDraws.fresh(rng, 2, d, steps))


def _anchors(rng: np.random.Generator) -> Iterator[Fact]:
    """Numbers of the published description."""
    scales = newton.noise_scales(Newton(mu=1.0))
    yield Fact("last share of the rounds", newton.round_shares(Newton(mu=1.0))[-1] / 0.78, 0.1987689641, 1e-9)
    yield Fact("noise of the last gradient", scales.gradients[-1], 2.5396765650, 1e-9)
    yield Fact("noise of the Hessian", scales.hessian, 2.8867513459, 1e-9)
    yield Fact("edge at d = 10", float(newton.edge(scales.hessian, 10)), 12.9099444874, 1e-9)
    yield Fact("replace-one over zero-out", math.sqrt(newton.replacement_cost()), 1.8439088915, 1e-9)
    yield Fact("mu at (1, 1e-6)", float(gaussian_mu(1.0, 1e-6)), 0.2367043807, 1e-9)


BEYOND_NEWTON_ALGORITHM = Claim(
    id="ols/beyond-newton-algorithm",
    where="Beyond the paper: preconditioned recentred Newton",
    kind="algorithm",
    statement=(
        "PRN: two histograms choose the clips $h$ of rows and $c$ of gradients;",
        (
            r"one noisy Hessian $hat(A) = sum x_i x_i^top min{1, h^2 \/ norm(x_i)^2} + s_1 N = U W U^top$ gives $P = "
            "(w "
            r"+ e\/2)^(-1)$, $e = s_1 sqrt(2 d)$;"
        ),
        (
            r'$T = 10$ rounds $theta <- theta + U s_t P U^top g$, $g = sum x_i op("clip") (y_i - x_i^top theta, c_u \/ '
            "norm(x_i)) + sigma_t zeta$, with a scalar Kalman gain in each direction;"
        ),
        "counts of small gradients move $c$ towards their 0.7 quantile.",
    ),
    checks=(
        Agreement(decides="bcd", facts=_by_hand, impostors={"1e-7 off": {"facts": {"factor": 1 + 1e-7}}}),
        Agreement(decides="bc", facts=_anchors, impostors={"1e-7 off": {"facts": Times(1 + 1e-7)}}),
        Agreement(decides="abcd", facts=_drawn, alpha=1e-9, impostors={"variance 1.4": {"facts": {"factor": 1.4}}}),
    ),
)

# --- privacy ---

STEPS = 4
PRIVATE = Newton(mu=0.8, steps=STEPS)


def _releases(x: np.ndarray, y: float, h: float, clips: np.ndarray, thetas: np.ndarray) -> Mapping[str, np.ndarray]:
    """What one row adds to everything that is released: bins, Hessian in an orthonormal basis over h², gradients over
    c_u, counts of all rounds but the last; the state before each release is the adversary's.
    """
    length = float(np.linalg.norm(x))
    residuals = y - thetas @ x
    used = clips[:, 1]
    limits = used / max(length, 1e-100)
    gradients = np.clip(residuals, -limits, limits)[:, None] * x / used[:, None]
    gram = np.outer(x, x) / max(length, h) ** 2
    upper = np.triu_indices(len(x), 1)
    small = (length * np.abs(residuals) <= clips[:, 0]).astype(float)
    return {
        "norms": _bin(length),
        "products": _bin(length * abs(y)),
        "hessian": np.concatenate([np.diag(gram), math.sqrt(2) * gram[upper]]),
        "gradients": gradients,
        "counts": small[:-1],
    }


def _bin(value: float) -> np.ndarray:
    """One row's histogram: by the largest edge that is not below the value, 0 not counted."""
    found = np.zeros(15)
    if value > 0:
        found[max(j for j in range(15) if j == 0 or 2.0 ** (-j / 2) >= value)] = 1.0
    return found


def _cost(own: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray], scales: newton.Scales) -> float:
    """Squared distance of the two transcripts in units of the noise."""
    noise = {**scales._asdict(), "gradients": scales.gradients[:, None]}
    return math.fsum(float(np.sum(((own[name] - other[name]) / noise[name]) ** 2)) for name in own)


def _pair(x, other, y, theta, h, c, ratio) -> tuple[Mapping[str, np.ndarray], Mapping[str, np.ndarray]]:
    """Two rows of dimension 2 at iterates and clips of the adversary's choice."""
    thetas = theta.reshape(STEPS, 2)
    clips = np.stack([c, np.minimum(1.0, c * ratio)], axis=1)
    rows = [_inside(x[:2]), _inside(other[:2])]
    first, second = (_releases(row, float(target), h, clips, thetas) for row, target in zip(rows, y, strict=True))
    return first, second


def _inside(x: np.ndarray) -> np.ndarray:
    return x / max(1.0, float(np.linalg.norm(x)))


def _zero_out(x, other, y, theta, h, c, ratio, factor: float = 1.0) -> tuple[float, float]:
    """A row against a row of zeros: at most mu²."""
    first, _ = _pair(x, other, y, theta, h, c, ratio)
    nothing, _ = _pair(np.zeros(2), other, np.zeros(2), theta, h, c, ratio)
    return _cost(first, nothing, newton.noise_scales(PRIVATE)), factor * PRIVATE.mu**2


def _replaced(x, other, y, theta, h, c, ratio, factor: float = 1.0) -> tuple[float, float]:
    """Two rows: at most mu² replacement_cost with zero-out noise."""
    own = newton.noise_scales(PRIVATE)
    return _cost(*_pair(x, other, y, theta, h, c, ratio), own), factor * PRIVATE.mu**2 * newton.replacement_cost()


def _dearest() -> list[dict[str, Any]]:
    """Full gradients that are not counted, ||x|| = 1; and replaced by a short row with the opposite gradient, counted
    (a gradient of size c is both: within rounding below).
    """
    iterates = np.tile([-3.0, 0.0], STEPS)
    short = {"other": np.array([1e-3, 0.0]), "y": np.array([1.0, -0.3])}
    longer = np.tile([0.0, 0.0], STEPS)
    common = {"h": 1.0, "c": np.full(STEPS, 0.1), "ratio": 1.0}
    exact = {"theta": longer, "x": np.array([1.0, 0.0]), "other": np.array([0.5, 0.0]), "y": np.array([1.0, -0.2])}
    return [
        {"x": np.array([1.0, 0.0]), "theta": iterates, **short, **common},
        {**exact, **common},
        {**exact, **common, "other": np.array([0.2, 0.0]), "y": np.array([1.0, -0.5])},
    ]


ADVERSARY = {
    "x": (Real(-1.0, 1.0), 2),
    "other": (Real(-1.0, 1.0), 2),
    "y": (Real(-1.0, 1.0), 2),
    "theta": (Real(-4.0, 4.0), 2 * STEPS),
    "h": Real(0.01, 1.0, "log"),
    "c": (Real(0.002, 1.5, "log"), STEPS),
    "ratio": Real(1.0, 10.0, "log"),
}


def _accounts(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact]:
    """`privacy` of the noise scales is the budget, for both neighbours; unequal shares and scales too."""
    lopsided = Shares(norms=0.1, products=0.1, hessian=0.5, counts=0.1, rounds=0.2)
    for mu, steps, shares in ((0.3, 10, Shares()), (2.0, 1, Shares()), (1.0, 5, lopsided)):
        unspent = shares.counts if steps == 1 else 0.0
        for adjacency in ("zero-out", "replace-one"):
            settings = Newton(mu=mu, steps=steps, shares=shares, adjacency=adjacency)
            found = newton.privacy(newton.noise_scales(settings), adjacency=adjacency)
            cost = 1.0 if adjacency == "zero-out" else float(newton.replacement_cost(shares))
            stated = mu * math.sqrt((cost - unspent) / cost)
            yield Fact(f"{adjacency}, mu = {mu:g}, T = {steps}", found, factor * stated, 1e-12)
    # Cosine 0.2 / (2 * 0.5) = 0.2: rounds (2 + 0.4) + hessian (2 - 0.08), above 4 rounds + hessian.
    stated = 2 * 0.2 + 0.1 + 0.2 * 2.4 + 0.5 * 1.92
    yield Fact("replace-one where the Hessian is dear", newton.replacement_cost(lopsided), factor * stated, 1e-12)


def _attained(rng: np.random.Generator, share: float = 0.999) -> Iterator[Within]:
    """The bounds are reached: all of mu² by zeroing out, and all but 1 % of the other as a gradient of size c."""
    points = _dearest()
    zeroed, mu_squared = _zero_out(**points[0])
    yield Within("zero-out, share of mu²", zeroed / mu_squared, least=share)
    swapped = max(_replaced(**point)[0] for point in points)
    bound = _replaced(**points[0])[1]
    yield Within("replace-one, share of its bound", swapped / bound, least=share - 0.07)


BEYOND_NEWTON_PRIVACY = Claim(
    id="ols/beyond-newton-privacy",
    where="Beyond the paper: privacy of PRN",
    kind="privacy",
    statement=(
        "All releases of PRN together are one adaptive Gaussian composition: exactly $mu$-GDP for zero-out "
        "neighbours, and with all noises $sqrt(3.40)$ times as large $mu$-GDP for replaced rows, without "
        "an eigenvalue test or a probability of failure."
    ),
    setting="A row, its neighbour, all iterates and clip levels chosen by an adversary; $d = 2$, $T = 4$.",
    checks=(
        Search(
            sides=_zero_out,
            box=ADVERSARY,
            extremal=_dearest,
            evaluations={"quick": 1200, "full": 30_000},
            impostors={"0.5 % less": {"sides": {"factor": 0.995}}},
        ),
        Search(
            sides=_replaced,
            box=ADVERSARY,
            extremal=_dearest,
            evaluations={"quick": 1200, "full": 30_000},
            impostors={"10 % less": {"sides": {"factor": 0.9}}},
        ),
        Agreement(facts=_accounts, impostors={"0.1 % more": {"facts": {"factor": 1.001}}}),
        Agreement(facts=_attained, impostors={"10 % more": {"facts": {"share": 1.1}}}),
    ),
)

# --- risk ---


@cache
def _unclipped() -> LeastSquares:
    """Records on which a large budget clips nothing: h = c_u = 1."""
    rng = np.random.default_rng(9)
    X = rng.uniform(-1, 1, (800, 3)) * (0.55, 0.3, 0.06)
    return LeastSquares(regressors=X, outcome=np.clip(X @ (0.7, -0.5, 0.9) + rng.uniform(-0.4, 0.4, 800), -1, 1))


LAWS: tuple[tuple[dict[str, Any], float], ...] = (({}, 25.0), ({"steps": 2}, 40.0), ({"steps": 5, "growth": 1.5}, 60.0))
TRIALS = 3000


def _laws(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact]:
    """Mean risk of simulated runs at one Hessian, noise included, against the law given that Hessian."""
    data = _unclipped()
    for options, mu in LAWS:
        settings = Newton(mu=mu, **options)
        draws = NewtonDraws.fresh(rng, TRIALS, data.d, settings.steps)
        scales = newton.noise_scales(settings)
        draws = NewtonDraws(**{**vars(draws), "hessian": np.broadcast_to(draws.hessian[0], draws.hessian.shape)})
        runs = newton_runs(data, settings, draws)
        noisy = data.gram + scales.hessian * draws.hessian[0]
        law = newton.risk(data.gram, data.theta_star, noisy, settings, n=data.n)
        label = f"mu = {mu:g}, T = {settings.steps}, growth {settings.growth:g}"
        yield Fact(f"nothing clipped, {label}", float(runs["clipped"].max()), 0.0, 1e-15)
        yield Fact(f"no shrinkage, {label}", float(runs["factor"].min()), 1.0, 1e-15)
        yield Fact(label, float(runs["risk"].mean()), factor * float(law), 0.18)


def _recursion(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact | Within]:
    """The law from the linear map of all rounds' noise at once, no recursion of covariances; the anchor; clipping."""
    A, theta = np.diag([100.0, 25.0, 4.0]), np.array([1.0, -1.0, 0.5])
    yield Fact("anchor", newton.risk(A, theta, A, Newton(mu=1.0)), factor * 0.6898430, 1e-6)
    turned = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    for mu, h, clip, n, unclipped in (
        (1.0, 1.0, 1.0, math.inf, 1.0),
        (0.2, 0.5, 0.3, 900.0, 1.0),
        (0.6, 0.7, 0.2, 50.0, 0.8),
    ):
        B = turned @ A @ turned.T
        settings = Newton(mu=mu, steps=6)
        noisy = B + 3 * np.diag([1.0, -2.0, 0.5])
        bias, covariance = _unrolled(B, theta, noisy, settings, h, clip, n, unclipped)
        found = newton.risk(B, theta, noisy, settings, hessian_clip=h, gradient_clip=clip, n=n, unclipped=unclipped)
        stated = float(bias @ B @ bias + np.trace(B @ covariance))
        yield Fact(f"mu = {mu:g}, h = {h}, p = {unclipped}", found, factor * stated, 1e-9)
        each = newton.moments(
            B, theta, noisy, settings, hessian_clip=h, gradient_clip=np.full(6, clip), n=n, unclipped=unclipped
        )
        yield Fact(f"clips one by one, mu = {mu:g}", each.covariance, factor * covariance, 1e-9)
    scales = newton.noise_scales(Newton(mu=0.7))
    whole = 0.3**2 * float(np.sum(1 / np.diag(A))) / float(np.sum(scales.gradients**-2.0))
    found = newton.leading_risk(A, Newton(mu=0.7), gradient_clip=0.3)
    yield Fact("leading order", found, factor * whole, 1e-12)
    ratio = newton.risk(1e6 * A, theta, 1e6 * A, Newton(mu=0.7)) / newton.leading_risk(1e6 * A, Newton(mu=0.7))
    yield Within("rounds are averaged, over the leading order", float(ratio), 1.0, 1.8)


def _unrolled(A, theta, noisy, settings, h, clip, n, unclipped) -> tuple[np.ndarray, np.ndarray]:
    """theta_T - theta* as an affine map of all noise: products of I - K_s A after each K_t, gains from the hand."""
    scales = newton.noise_scales(settings)
    values, U = np.linalg.eigh(noisy)
    s1 = scales.hessian * h**2
    edge = s1 * math.sqrt(2 * len(values))
    e = min(edge, n * h**2)
    w = np.clip(values, 0.0, n * h**2)
    P = 1 / (w + e / 2)
    V: list[float | None] = [None] * len(values)
    maps, noises = [], []
    for sigma in scales.gradients * clip:
        gains = []
        for i in range(len(values)):
            gain, V[i], _ = newton_by_hand.gain(float(w[i]), float(P[i]), e, edge, float(sigma), V[i], 0.0)
            gains.append(gain)
        K = U @ np.diag(np.array(gains) * P) @ U.T
        maps.append(np.eye(len(values)) - unclipped * K @ A)
        noises.append(sigma * K)
    bias, covariance = -theta, np.zeros_like(A)
    for t, step in enumerate(maps):
        bias = step @ bias
        after = noises[t]
        for later in maps[t + 1 :]:
            after = later @ after
        covariance = covariance + after @ after.T
    return bias, covariance


BEYOND_NEWTON_RISK = Claim(
    id="ols/beyond-newton-risk",
    where="Beyond the paper: risk of PRN",
    kind="mc-equality",
    statement=(
        (
            "Given $hat(A)$ and without clipping $theta_T$ is Gaussian: $K_t = U s_t P U^top$, $m <- m + K_t (b - A "
            "m)$, $C <- (I - K_t A) C (I - K_t A)^top + sigma_t^2 K_t K_t^top$, $bb(E) cal(R) = norm(m - theta^*)_A^2 "
            '+ op("tr") (A C)$;'
        ),
        (
            r'where all eigenvalues are far above the noise of $hat(A)$ it is near $c_u^2 op("tr") (A^(-1)) \/ (0.78 '
            "mu^2)$."
        ),
    ),
    checks=(
        Agreement(decides="a", facts=_laws, alpha=1e-9, impostors={"half as much again": {"facts": {"factor": 1.5}}}),
        Agreement(decides="ab", facts=_recursion, impostors={"0.1 % more": {"facts": {"factor": 1.001}}}),
    ),
)
