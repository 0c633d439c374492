"""Beyond the paper: what the private releases for a confidence set cost, and what their noise does to its length."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.optimize import minimize

from dpbounds.iv.confidence import (
    ADJACENCIES,
    Adjacency,
    block_scales,
    block_sensitivity,
    box_weights,
    equivalent_sample,
    length_ratio,
    moment_sensitivity,
    noise_scales,
)
from verify.checks import Agreement, Fact, GaussianPrivacy, Neighbours, Search, Symbolic, Times
from verify.checks.domains import Real
from verify.statements.claims import Claim
from verify.statements.derivations import Derivation

# --- first and second moments ---

UNIT = (Real(-1.0, 1.0), 3)


def _ball(vector: np.ndarray) -> np.ndarray:
    """Into the unit ball: longer vectors onto the sphere, where the worst pairs lie."""
    return vector / max(1.0, float(np.linalg.norm(vector)))


def _moment_distance(
    b: float, a: float, u: np.ndarray, w: np.ndarray, adjacency: Adjacency = "replace-one"
) -> tuple[float, float]:
    """b |u - w|² + a |uu' - ww'|_F² of two records of norm at most 1, and the stated supremum."""
    u, w = _ball(u), _ball(w) * (adjacency == "replace-one")
    distance = b * float(np.sum((u - w) ** 2)) + a * float(np.sum((np.outer(u, u) - np.outer(w, w)) ** 2))
    return distance, float(moment_sensitivity(b, a, adjacency))


def _as_if_zeroed(b: float, a: float, u: np.ndarray, w: np.ndarray) -> tuple[float, float]:
    return _moment_distance(b, a, u, w)[0], 2 * (a + b)


def _attained(rng: np.random.Generator) -> Iterator[Fact]:
    """The largest distance over unit vectors at every angle of a fine grid, and under zero-out a vector of norm 1."""
    angles = np.linspace(0.0, math.pi, 20_001)
    t = np.cos(angles)
    for b, a in ((1.0, 0.5), (1.0, 1.0), (1.0, 3.0), (1.0, 0.1), (1.0, 10.0), (0.0, 2.0), (3.0, 0.0)):
        worst = float(np.max(2 * b * (1 - t) + 2 * a * (1 - t**2)))
        yield Fact(f"replace-one, b = {b}, a = {a}", float(moment_sensitivity(b, a, "replace-one")), worst, 1e-7)
        yield Fact(f"zero-out, b = {b}, a = {a}", float(moment_sensitivity(b, a, "zero-out")), a + b, 1e-12)
    direction = rng.standard_normal(4)
    for a in (0.2, 0.5):
        opposite = _moment_distance(1.0, a, direction, -direction)
        yield Fact(f"u and -u leave uu' as it is, a = {a}", opposite[0] / np.sum(_ball(direction) ** 2), 4.0, 1e-12)


def _identities() -> Iterator[tuple[str, Any]]:
    """f(r, s, t) = b |u - w|² + a |uu' - ww'|² for norms r, s and cosine t; t is best at -b / (2 a r s) or at -1."""
    r, s, t, a, b = _symbols()
    f = b * (r**2 - 2 * r * s * t + s**2) + a * (r**4 + s**4 - 2 * (r * s * t) ** 2)
    square = 2 * a * (r * s * t + b / (2 * a)) ** 2
    yield "square completed in the cosine", f - (b * (r**2 + s**2) + a * (r**4 + s**4) + b**2 / (2 * a) - square)
    opposite = f.subs(t, -1)
    yield "opposite records", opposite - (r + s) ** 2 * (b + a * (r - s) ** 2)
    yield "free up to b = 2 a", 2 * (a + b) + b**2 / (2 * a) - 4 * b - (2 * a - b) ** 2 / (2 * a)
    yield "its slope in r", opposite.diff(r) - 2 * (r + s) * (b + 2 * a * r * (r - s))


def _signs() -> Iterator[tuple[str, Any]]:
    """Where b = 2 a r s + k the slope is not negative: norms grow until they are 1 or the other case begins."""
    r, s, k, a, _ = _symbols()
    yield "the slope for b >= 2 a r s", 2 * (r + s) * ((2 * a * r * s + k) + 2 * a * r * (r - s))


def _wrong_signs() -> Iterator[tuple[str, Any]]:
    r, s, k, a, _ = _symbols()
    yield "the slope for b >= a r s", 2 * (r + s) * ((a * r * s + k) + 2 * a * r * (r - s))


def _symbols() -> Any:
    import sympy

    return sympy.symbols("r s t a b", positive=True)


def _pairs(scale: float = 1.0, off_diagonal: float = 0.5) -> Iterator[Neighbours]:
    """Explicit neighbours as the Gaussian laws of (T1, svec T2): the worst pair, random ones, and a record zeroed."""
    rng = np.random.default_rng(5)
    for adjacency in ADJACENCIES:
        for mu, share in ((0.24, None), (1.0, 0.5), (2.0, 0.9)):
            scales = noise_scales(mu, adjacency=adjacency, share=share)
            precision = (scales.first**-2, scales.second**-2)
            cosine = max(-1.0, -precision[0] / (2 * precision[1]))
            u = np.array([1.0, 0.0, 0.0])
            w = np.array([cosine, math.sqrt(1 - cosine**2), 0.0])
            pairs = [("worst", u, w), *(("random", _ball(x), _ball(y)) for x, y in rng.standard_normal((2, 2, 3)))]
            for name, one, other in pairs:
                other = other if adjacency == "replace-one" else np.zeros(3)
                shift, covariance = _release_law(one, other, scales.first, scale * scales.second, off_diagonal)
                label = f"{adjacency}, mu = {mu}, share = {share}, {name}"
                yield Neighbours(label=label, shift=shift, covariance=covariance, claimed_rho=mu**2 / 2)


def _release_law(
    u: np.ndarray, w: np.ndarray, first: float, second: float, off_diagonal: float
) -> tuple[np.ndarray, np.ndarray]:
    """Difference of the sums, and the variances: s2² on the diagonal of T2, s2² / 2 above it."""
    rows, columns = np.triu_indices(len(u))
    moved = (np.outer(u, u) - np.outer(w, w))[rows, columns]
    variances = second**2 * np.where(rows == columns, 1.0, off_diagonal)
    return np.concatenate([u - w, moved]), np.diag(np.concatenate([np.full(len(u), first**2), variances]))


def _spent(rng: np.random.Generator) -> Iterator[Fact]:
    """The scales spend the budget exactly; under replace-one the free share leaves s1 at what T1 alone would take."""
    for mu in (0.05, 1.3):
        for adjacency, share in itertools.product(ADJACENCIES, (0.15, 0.4, 0.7)):
            first, second = noise_scales(mu, adjacency=adjacency, share=share)
            worst = max(
                _moment_distance(first**-2, second**-2, _circle(0.0), _circle(turn), adjacency)[0]
                for turn in np.linspace(0, math.pi, 801)
            )
            yield Fact(f"mu² spent, {adjacency}, share {share}", worst, mu**2, 1e-5)
            yield Fact(f"share, {adjacency}", second**-2 / (first**-2 + second**-2), share, 1e-12)
        free = noise_scales(mu, adjacency="replace-one")
        yield Fact("free share", list(free), [2 / mu, 2 * math.sqrt(2) / mu], 1e-12)
        kept = noise_scales(mu, adjacency="zero-out")
        yield Fact("zero-out", list(kept), [1 / (mu * math.sqrt(0.85)), 1 / (mu * math.sqrt(0.15))], 1e-12)


def _circle(angle: float) -> np.ndarray:
    return np.array([math.cos(angle), math.sin(angle), 0.0])


SENSITIVITY = Claim(
    id="iv/beyond-confidence-sensitivity",
    where="private confidence sets, release of moments",
    kind="privacy",
    statement=(
        "For records $u$ with $norm(u) <= 1$ the release of $sum u + N(0, s_1^2 I)$ and of $sum u u'$ with symmetric "
        "noise, standard deviation $s_2$ on the diagonal and $s_2 \\/ sqrt(2)$ off it, is $mu$-GDP exactly for $mu^2 = "
        "a + b$ if a record is zeroed, and if it is replaced for $mu^2 = 4 b$ where $b >= 2 a$, else $2 (a + b) + b^2 "
        "\\/ (2 a)$, with $b = s_1^(-2)$ and $a = s_2^(-2)$: up to $a = b \\/ 2$ the second moments are free."
    ),
    checks=(
        Symbolic(residuals=_identities, nonnegative=_signs, impostors={"slope": {"nonnegative": _wrong_signs}}),
        Search(
            sides=_moment_distance,
            role="control",
            box={"b": Real(0.05, 5.0, "log"), "a": Real(0.05, 5.0, "log"), "u": UNIT, "w": UNIT},
            extremal=lambda: [
                {"b": 1.0, "a": a, "u": np.array([1.0, 0, 0]), "w": np.array([c, math.sqrt(1 - c * c), 0])}
                for a, c in ((0.3, -1.0), (2.0, -0.25), (0.5, -1.0))
            ],
            evaluations={"quick": 1_000, "full": 40_000},
            impostors={"1 % less": {"sides": Times(1, 0.99)}, "twice that of zero-out": {"sides": _as_if_zeroed}},
        ),
        Agreement(facts=_attained, role="control", impostors={"1e-5 more": {"facts": Times(1 + 1e-5)}}),
        GaussianPrivacy(
            pairs=_pairs,
            role="control",
            impostors={
                "root of 2 forgotten in the sensitivity of T2": {"pairs": {"scale": math.sqrt(0.5)}},
                "svec scale of T2 wrong": {"pairs": {"off_diagonal": 0.25}},
            },
        ),
        Agreement(facts=_spent, role="control", impostors={"share not charged": {"facts": Times(0.85)}}),
    ),
    derivation=Derivation(
        text=(
            "The release is Gaussian with the squared shift $f = b norm(u - w)^2 + a norm(u u' - w w')_F^2$ in units "
            "of its noise, $w = 0$ for a record that is zeroed, and $mu^2$ is the largest $f$. If zeroed, $f = b r^2 + "
            "a r^4 <= a + b$, $r = norm(u)$. Else, with $s = norm(w)$ and the cosine $t$, the completed square is "
            "proved: $f <= 2 (a + b) + b^2\\/(2 a)$, with equality at $r = s = 1$, $t = -b\\/(2 a)$, which needs $b <= "
            "2 a$. For $b >= 2 a >= 2 a r s$ the square is least at $t = -1$, where $f = (r + s)^2 (b + a (r - s)^2)$ "
            "is proved to grow in $r$ and by symmetry in $s$, up to $4 b$."
        ),
        lemmas=("privacy profile of the Gaussian mechanism", "monotony"),
    ),
)


# --- blocks ---


def _block_distance(a: float, b: float, e: float, z: np.ndarray, z2: np.ndarray, v: np.ndarray, v2: np.ndarray) -> Any:
    """a |zz' - ..|² + b |zv' - ..|² + e |vv' - ..|² of two records with |z|, |v| <= 1, and the stated supremum."""
    z, z2, v, v2 = (_ball(vector) for vector in (z, z2, v, v2))
    parts = (np.outer(z, z) - np.outer(z2, z2), np.outer(z, v) - np.outer(z2, v2), np.outer(v, v) - np.outer(v2, v2))
    distance = sum(weight * float(np.sum(part**2)) for weight, part in zip((a, b, e), parts, strict=True))
    return distance, float(block_sensitivity(a, b, e, "replace-one"))


def _block_facts(rng: np.random.Generator) -> Iterator[Fact]:
    """The largest over a grid of both cosines; what the scales spend; a record zeroed."""
    c = np.cos(np.linspace(0, math.pi, 1_201))
    c, d = c[:, None], c[None, :]
    for a, b, e in ((0.8, 1, 0.1), (0.7, 1, 0.05), (1, 1, 1), (0.3, 1, 0.3), (0.1, 1, 0.8), (0.5, 1, 0.5), (1, 0, 0)):
        worst = float(np.max(2 * a * (1 - c**2) + 2 * b * (1 - c * d) + 2 * e * (1 - d**2)))
        yield Fact(f"replace-one, {a}, {b}, {e}", float(block_sensitivity(a, b, e, "replace-one")), worst, 1e-5)
        yield Fact(f"zero-out, {a}, {b}, {e}", float(block_sensitivity(a, b, e, "zero-out")), a + b + e, 1e-12)
    for mu in (0.1, 1.0):
        for share in (None, 0.3, 0.05):
            scales = block_scales(mu, adjacency="replace-one", share=share)
            A, C, Q = (scale**-2 for scale in scales)
            worst = float(np.max(2 * A * (1 - c**2) + 2 * C * (1 - c * d) + 2 * Q * (1 - d**2)))
            yield Fact(f"mu² of the scales, share = {share}", worst, mu**2, 1e-5)
            yield Fact(f"share = {share}", [A / (A + C + Q), Q / (A + C + Q)], [share or 0.25] * 2, 1e-12)
        kept = block_scales(mu, adjacency="zero-out")
        yield Fact("zero-out", [scale**-2 for scale in kept], [0.1 * mu**2, 0.8 * mu**2, 0.1 * mu**2], 1e-12)


BLOCKS = Claim(
    id="iv/beyond-confidence-block-cost",
    where="private confidence sets, release of blocks",
    kind="privacy",
    statement=(
        (
            "For $norm(z) <= 1$ and $norm(v) <= 1$ the release of $Z' Z$, $Z' V$, $V' V$ with precisions $a, b, e$ "
            "costs $mu^2 = a + b + e$ if a record is zeroed, and if it is replaced $2 (a + b + e) + 2 max(0, b - a - "
            r"e, b^2 \/ (4 a) - e, b^2 \/ (4 e) - a)$, the third only where $b <= 2 a$, the fourth only where $b <= 2 "
            "e$;"
        ),
        r"at $a = e = b \/ 2$ that is $4 b$, so that $Z' Z$ and $V' V$ are free.",
    ),
    checks=(
        Search(
            decides="a",
            sides=_block_distance,
            box={
                "a": Real(0.05, 3.0, "log"),
                "b": Real(0.05, 3.0, "log"),
                "e": Real(0.05, 3.0, "log"),
                **dict.fromkeys(("z", "z2", "v", "v2"), (Real(-1.0, 1.0), 2)),
            },
            extremal=lambda: [
                {"a": 0.5, "b": 1.0, "e": 0.5, "z": np.array([1.0, 0]), "z2": np.array([-1.0, 0])}
                | {"v": np.array([1.0, 0]), "v2": np.array([1.0, 0])}
            ],
            evaluations={"quick": 1_000, "full": 40_000},
            impostors={"1 % less": {"sides": Times(1, 0.99)}},
        ),
        Agreement(decides="ab", facts=_block_facts, impostors={"1e-4 more": {"facts": Times(1 + 1e-4)}}),
    ),
)

# --- weights, and what privacy costs in length ---


def _noise_variance(mu: float, weights: np.ndarray, beta: np.ndarray, Bz: float) -> float:
    """Variance of one coordinate of the moment in the units of z, y: by the linear map from T1, replace-one."""
    signs = np.array([1.0, *(-beta)])
    scale = 2 / mu
    return float(np.sum((signs * weights * Bz * scale) ** 2))


def _length_facts(rng: np.random.Generator) -> Iterator[Fact]:
    """Weights against a numerical minimum; n* against variances term by term; the cost of a wrong guess."""
    for bounds, ratios in (([5.0], [0.5]), ([5.0], [2.0]), ([1.0, 4.0], [0.7, 0.2])):
        Y, X = 8.0, np.array(bounds)
        a_y, a_x = box_weights(Y, bounds, ratios)
        weights = np.array([a_y, *a_x])
        corners = np.array([Y, *X])
        yield Fact(f"|v| <= 1 is attained, {bounds}", float(np.sum((corners / weights) ** 2)), 1.0, 1e-12)
        beta = np.array(ratios) * Y / X
        best = minimize(_log_variance, np.zeros(len(X)), args=(Y, X, beta), options={"gtol": 1e-9})
        found = _noise_variance(1.0, weights, beta, 1.0)
        yield Fact(f"least privacy variance, {bounds}", math.log(found), float(best.fun), 1e-8)
        stated = equivalent_sample(
            0.3,
            instrument_bound=1.7,
            outcome_bound=Y,
            regressor_bounds=bounds,
            coefficients=beta,
            deviation=2.5,
            adjacency="replace-one",
        )
        yield Fact(f"n*, {bounds}", float(stated), _noise_variance(0.3, weights, beta, 1.7) / 2.5**2, 1e-9)
        wide = equivalent_sample(
            0.3,
            instrument_bound=1.7,
            outcome_bound=Y,
            regressor_bounds=bounds,
            coefficients=4 * beta,
            deviation=2.5,
            adjacency="replace-one",
            ratio=ratios,
        )
        yield Fact(
            f"n* with other weights, {bounds}", float(wide), _noise_variance(0.3, weights, 4 * beta, 1.7) / 6.25, 1e-9
        )
    costs = [_wrong_guess(ratio, factor) for ratio in np.geomspace(0.01, 100, 161) for factor in (0.25, 4.0)]
    yield Fact("dearest guess wrong by a factor of 4", max(costs), 1.5625, 1e-3)
    zeroed = equivalent_sample(
        0.3,
        instrument_bound=1.0,
        outcome_bound=3.0,
        regressor_bounds=[2.0],
        coefficients=[0.5],
        deviation=0.7,
        share=0.25,
        adjacency="zero-out",
    )
    yield Fact("zero-out, share 1/4", float(zeroed), (3.0 + 0.5 * 2.0) ** 2 / (0.75 * 0.3**2 * 0.7**2), 1e-12)
    yield Fact("length at n = n*", float(length_ratio(455.0, 455.0)), math.sqrt(2), 1e-12)
    yield Fact("length at n = 3 n*", float(length_ratio(300.0, 100.0)), math.sqrt(4 / 3), 1e-12)


def _log_variance(free: np.ndarray, Y: float, X: np.ndarray, beta: np.ndarray) -> float:
    """Log of the privacy variance with weights on the constraint |v| <= 1, in free logarithms of ratios."""
    shares = np.exp(np.array([0.0, *free]))
    shares /= shares.sum()
    return math.log(_noise_variance(1.0, np.array([Y, *X]) / np.sqrt(shares), beta, 1.0))


def _wrong_guess(ratio: float, factor: float) -> float:
    """Variance with the weights of another |beta| X / Y, over the least one."""
    guess, best = (
        np.array([w, *x]) for w, x in (box_weights(1.0, [1.0], factor * ratio), box_weights(1.0, [1.0], ratio))
    )
    beta = np.array([ratio])
    return _noise_variance(1.0, guess, beta, 1.0) / _noise_variance(1.0, best, beta, 1.0)


LENGTH = Claim(
    id="iv/beyond-confidence-length",
    where="private confidence sets, weights",
    kind="number",
    statement=(
        (
            r"With $a_y^2 = Y W$, $a_j^2 = X_j W \/ abs(beta_j)$, $W = Y + sum_j abs(beta_j) X_j$ the privacy variance "
            r"of each moment at $beta$ is least among weights with $Y^2 \/ a_y^2 + sum_j X_j^2 \/ a_j^2 = 1$, namely "
            "$s_1^2 B_z^2 W^2$;"
        ),
        r"a guess of one $abs(beta) X \/ Y$ that is wrong by a factor of 4 costs at most 1.5625 in variance;",
        "$n^*$ is the privacy variance over the variance of $z_k epsilon$ of one record.",
    ),
    checks=(Agreement(decides="abc", facts=_length_facts, impostors={"1 % off": {"facts": Times(1.01)}}),),
)
