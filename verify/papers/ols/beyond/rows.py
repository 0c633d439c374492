"""Beyond the paper: the rows that laws of clipping are computed from, and the fixed point of clipping, by hand."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import cast

import numpy as np
from scipy import linalg, optimize

from dpbounds.ols import Gram
from dpbounds.ols.clipping import clip_floor
from dpbounds.ols.clipping.rows import Rows, rows_of, typical_rows
from verify.checks import Agreement, Fact, Holds, Times, Within, refused, taken
from verify.statements.claims import Claim

_OFF = {"1 % off": {"facts": Times(1.01)}}
N = 901


def _records(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Three columns of different sizes; errors that are skew, the more so the larger one column is."""
    X = rng.standard_normal((N, 3)) * [0.3, 0.2, 0.1]
    return X, X @ [0.5, -0.4, 1.0] + 2.0 * X[:, 0] ** 3 + (0.1 + 0.6 * np.abs(X[:, 1])) * rng.standard_exponential(N)


def _fit(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.linalg.solve(X.T @ X, X.T @ y)


# --- rows that stand for all ---


def _thinned(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Those at equal distances along r ||x||, mapped by matrix roots; what they explain of residuals taken out."""
    X, y = _records(rng)
    rows, A, theta = rows_of(X, y), X.T @ X, _fit(X, y)
    r, norms = y - X @ theta, np.sqrt((X**2).sum(axis=1))
    lost = float(r @ r)
    told = [rows.gap, rows.residual, rows.largest, rows.weight]
    yield Fact("of all", told, [theta @ A @ theta, lost, np.linalg.norm(A, 2), 1.0], 1e-10)
    order = sorted(range(N), key=lambda i: r[i] * norms[i])
    for number in (90, 6):
        some, weight = rows.thinned(number), N / number
        own = X[[order[math.floor((i + 0.5) * N / number)] for i in range(number)]]
        Z = own @ np.linalg.inv(np.real(linalg.sqrtm(weight * own.T @ own))) @ np.real(linalg.sqrtm(A))
        chosen = r[[order[math.floor((i + 0.5) * N / number)] for i in range(number)]]
        rest = chosen - Z @ _fit(Z, chosen)
        rest = rest * math.sqrt(lost / (weight * float(rest @ rest)))
        yield Fact(f"{number} rows: X", some.X, Z, 1e-9)
        yield Fact(f"{number} rows: y", some.y, Z @ theta + rest, 1e-9)
        yield Fact(f"{number} rows: lengths", some.norms, np.linalg.norm(own, axis=1), 1e-12)
        told = [some.weight, some.n, some.d, some.residual, some.gap]
        yield Fact(f"{number} rows: what they stand for", told, [weight, N, 3, lost, theta @ A @ theta], 1e-9)
        yield Holds(f"{number} rows: an estimate", some.kind == "estimate" and rows.kind is None)
    twice = rows_of(np.column_stack([X, X[:, 0]]), y)
    yield Holds("of singular rows all are taken", twice.thinned(90) is twice)
    yield Holds("and where few or all are asked for", rows.thinned(5) is rows and rows.thinned(N) is rows)
    yield Fact("one less than all", rows.thinned(N - 1).weight, N / (N - 1))
    yield Fact("by the number asked for", rows_of(X, y, 90).y, rows.thinned(90).y, 0.0)
    y = np.array([0.5, 0.4, 0.5, 0.6] * 10)
    for least, mapped in ((3.2e-5, True), (3.1e-5, False)):
        rows = rows_of(np.array([[1.0, least], [1.0, -least]] * 20), y)
        yield Holds(f"eigenvalues that differ by {least**2:.3g}", (rows.thinned(20) is not rows) is mapped)
    # Six of seven are taken: not the last, whose residual is in the middle.
    pairs = np.repeat(np.eye(3), 2, axis=0)
    lone = 30 * np.array([[1, 0, 1e-5], [1, 0, -1e-5], [1, 0, 0], [0, 0.1, 0], [0, 0.1, 0], [0, 0.1, 0], [0, 0, 1]])
    for label, X, y in (
        ("of those taken alone", lone, np.array([-1.0, 0.4, 0.6, -0.2, -0.3, 0.5, 2.0])),
        ("of all alone", np.vstack([pairs, [1e5, 0, 0]]), np.array([0.3, -0.2, 0.5, -0.1, 0.4, -0.2, 0.0])),
    ):
        rows = rows_of(X, y)
        yield Holds(f"a spectrum {label} that is too wide", rows.thinned(6) is rows)


def _parts(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Records without some, and the same for another number of them."""
    X, y = _records(rng)
    rows = rows_of(X, y)
    left = rows.without(2, 9)
    kept = np.delete(np.arange(N), np.arange(2, N, 9))
    own, weight = _fit(X[kept], y[kept]), N / len(kept)
    A = X[kept].T @ X[kept] * weight
    yield Fact("without a part: rows", left.X, X[kept], 0.0)
    yield Fact("without a part: y", left.y, y[kept], 0.0)
    yield Fact("without a part: lengths", left.norms, np.linalg.norm(X[kept], axis=1))
    yield Fact("without a part: A", left.gram.A, A, 1e-9)
    yield Fact("without a part: the fit", left.theta_star, own, 1e-9)
    yield Fact("without a part: weight, gap, n", [left.weight, left.gap, left.n], [weight, own @ A @ own, N], 1e-9)
    more = rows.thinned(90).standing_for(5 * N)
    yield Fact("five times the records: weight, n", [more.weight, more.n], [5 * N / 90, 5 * N])
    yield Fact("five times the records: A", more.gram.A, 5 * X.T @ X, 1e-9)


def _typical(rng: np.random.Generator) -> Iterator[Fact | Holds | Within]:
    """Rows of one length with the moments that are given, as many as asked for, twice d or n."""
    X, y = _records(rng)
    of_all = Gram.of_records(X, y)
    for gram, asked, number in ((of_all, 200, 200), (of_all, 2, 6), (Gram.of_records(X[:11], y[:11]), 200, 11)):
        rows, label = typical_rows(gram, asked), f"{number} typical rows"
        w, Z, v = gram.n / number, rows.X, rows.y
        yield Fact(f"{label}: weight, number, n", [rows.weight, len(v), rows.n], [w, number, gram.n])
        yield Fact(f"{label}: X'X", w * Z.T @ Z, gram.A, 1e-10)
        yield Fact(f"{label}: X'y", w * Z.T @ v, gram.b, 1e-10)
        yield Fact(f"{label}: ||y||²", w * float(v @ v), gram.y_squared, 1e-10)
        yield Fact(f"{label}: the fit", rows.theta_star, np.linalg.solve(gram.A, gram.b), 1e-9)
        yield Fact(f"{label}: lengths", rows.norms, np.linalg.norm(Z, axis=1))
    yield Holds("the same at each call", bool(np.array_equal(typical_rows(gram, 9).X, typical_rows(gram, 9).X)))
    rows = typical_rows(of_all, 400)
    spread = np.std(rows.norms) / np.sqrt(np.mean(rows.norms**2))
    yield Within("lengths: deviation over their root mean square", float(spread), 0.0, 0.1)
    rest = rows.y - rows.X @ rows.theta_star
    yield Within("residuals: kurtosis", float(np.mean(rest**4) / np.mean(rest**2) ** 2), 2.4, 3.6)
    square = Gram(A=of_all.A, b=of_all.b, y_squared=of_all.y_squared, n=3)
    yield Fact("as many as columns: nothing is left", typical_rows(square, 9).y, typical_rows(square, 9).X @ _fit(X, y))
    none = Gram(A=of_all.A, b=0 * of_all.b, y_squared=1.0, n=N)
    yield refused("an outcome that nothing is explained of", "b", lambda: typical_rows(none, 9))


def _taken(rng: np.random.Generator) -> Iterator[Holds]:
    """What records may be, on both sides of each limit."""
    X, y = np.array([[0.6, 0.8], [0.0, 1.0], [0.3, 0.1]]), np.array([1.0, 0.5, -0.25])
    yield taken("records at their bounds", lambda: rows_of(X, y, bounded=True))
    yield taken("rounding there", lambda: rows_of(X * (1 + 9e-10), y * (1 + 9e-10), bounded=True))
    yield refused("a row beyond", "largest ||x||", lambda: rows_of(X * (1 + 2e-9), y, bounded=True))
    yield refused("an outcome beyond", "largest |y|", lambda: rows_of(X, y * (1 + 2e-9), bounded=True))
    yield taken("both beyond, not bounded", lambda: rows_of(2 * X, 2 * y))
    yield refused("an outcome at right angles", "y", lambda: rows_of(X, 0 * y))
    for label, one, other in (("a vector", X[:, 0], y), ("a matrix", X, X), ("one outcome less", X, y[:2])):
        yield refused(label, "X, y", lambda one=one, other=other: rows_of(one, other))
    yield refused("no columns", "X, y", lambda: rows_of(X[:, :0], y))
    yield refused("an infinite entry", "X", lambda: rows_of(np.where(X == 0.1, np.inf, X), y))
    yield refused("an outcome that is none", "y", lambda: rows_of(X, np.where(y == 1, np.nan, y)))
    yield refused("fewer records than columns", "n", lambda: rows_of(X[:1], y[:1]))


# --- what rows miss ---


def _clipped(X: np.ndarray, r: np.ndarray, norms: np.ndarray, level: float) -> np.ndarray:
    """x_i clip(r_i, level / ||x_i||) in rows, one after another."""
    return np.array([x * max(-level / size, min(one, level / size)) for x, one, size in zip(X, r, norms, strict=True)])


def _missed(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Sums of all less those of some, after one thinning and after two; between levels and beyond them."""
    X, y = _records(rng)
    rows, theta = rows_of(X, y), _fit(X, y)
    r, norms = y - X @ theta, np.linalg.norm(X, axis=1)
    first = rows.thinned(301)
    largest = max(float(np.max(one.norms * np.abs(one.y - one.X @ theta))) for one in (rows, first))
    levels = largest * 10 ** np.linspace(-3, 0, 33)
    for label, some in (("thinned", first), ("thinned twice", first.thinned(100))):
        missing = some.missing
        assert missing is not None
        yield Fact(f"{label}: levels", missing.levels, levels)
        yield Holds(f"{label}: no chance of other records", missing.roots is None and missing.chance(0.1) is None)
        for k in (0, 9, 19):
            own = some.weight * _clipped(some.X, some.y - some.X @ theta, some.norms, levels[k]).sum(axis=0)
            whole = _clipped(X, r, norms, levels[k]).sum(axis=0)
            yield Fact(f"{label}: sums of some at level {k}", some.clipped_at_fit(levels[[k]])[0], own, 1e-10)
            yield Fact(f"{label}: what they miss there", missing.sums[k], whole - own, 1e-8)
        at, between = missing.at, 0.75 * missing.sums[5] + 0.25 * missing.sums[6]
        yield Fact(f"{label}: at a level", at(levels[5]), missing.sums[5], 1e-9)
        yield Fact(f"{label}: between two", at(levels[5] ** 0.75 * levels[6] ** 0.25), between, 1e-9)
        yield Fact(
            f"{label}: below the last", at(levels[31] ** 0.5 * levels[32] ** 0.5), missing.sums[31:].mean(axis=0)
        )
        yield Fact(f"{label}: below the first", at(levels[0] / 5), missing.sums[0] / 5, 1e-12)
        yield Fact(
            f"{label}: at the last and beyond", at(missing.levels[-1] * np.array([1.0, 3.0])), np.zeros((2, 3)), 0.0
        )
        grid = levels[[[3, 9]]]
        yield Fact(f"{label}: many at once", at(grid), missing.sums[[[3, 9]]], 1e-9)


def _others(rows: Rows, level: float) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Record by record, of sums of x clip(r) - A_c A^-1 x r: the sum, the covariance for other records, the mean of the
    square of chance, and by how many of its standard deviations the sum's own square is beyond it.
    """
    weight, A, r = rows.weight, rows.weight * rows.X.T @ rows.X, rows.y - rows.X @ _fit(rows.X, rows.y)
    within = rows.X[rows.norms * abs(r) < level]
    moved = weight * within.T @ within @ np.linalg.inv(A)
    clipped = _clipped(rows.X, r, rows.norms, level)
    terms = np.array([c - moved @ x * one for c, x, one in zip(clipped, rows.X, r, strict=True)])
    own, covariance = weight * terms.sum(axis=0), weight * terms.T @ terms
    chance = weight * linalg.eigh(covariance, A, eigvals_only=True)
    beyond = (own @ np.linalg.inv(A) @ own - sum(chance)) / math.sqrt(2 * sum(chance**2))
    return own, covariance, float(sum(chance)), float(beyond)


def _unseen(rng: np.random.Generator) -> Iterator[Fact | Within]:
    """What chance explains is taken from the sum, all of it up to three standard deviations beyond its mean."""
    X, y = _records(rng)
    for label, rows in (("all", rows_of(X, y)), ("some", rows_of(X, y, 101))):
        missing = rows.unseen().missing
        assert missing is not None and missing.roots is not None
        r = np.abs(rows.y - rows.X @ _fit(X, y))
        yield Fact(f"{label}: levels", missing.levels, max(rows.norms * r) * 10 ** np.linspace(-3, 0, 33))
        for k in range(0, 31, 5):
            own, covariance, chance, beyond = _others(rows, missing.levels[k])
            share = 1 - chance / (own @ np.linalg.solve(X.T @ X, own)) if beyond > 3 else 0.0
            at = f"{label}, level {k}"
            yield Fact(f"{at}: taken from the sum", missing.sums[k], (math.sqrt(share) - 1) * own, 1e-8)
            yield Fact(f"{at}: covariance", missing.roots[k] @ missing.roots[k], covariance, 1e-9)
            yield Fact(f"{at}: its root, symmetric", missing.roots[k], missing.roots[k].T, 1e-9)
            least = np.linalg.eigvalsh(missing.roots[k])[0] / np.linalg.norm(missing.roots[k])
            yield Within(f"{at}: and of no negative eigenvalue", float(least), -1e-7, 1.0)
        root = missing.chance(missing.levels[3] ** 0.5 * missing.levels[4] ** 0.5)
        yield Fact(f"{label}: root between two levels", root, missing.roots[3:5].mean(axis=0), 1e-9)
        yield Fact(f"{label}: root below the first", missing.chance(missing.levels[0] / 5), missing.roots[0] / 5)

    X, y = (array[:600] for array in _records(np.random.default_rng(5)))

    def bent(size: float) -> Rows:
        return rows_of(X, y + (size - 2.0) * X[:, 0] ** 3)

    def level(rows: Rows) -> float:
        return float(np.max(rows.norms * abs(rows.y - rows.X @ rows.theta_star))) * 10 ** (-3 + 3 * 21 / 32)

    def excess(size: float, limit: float) -> float:
        return _others(bent(size), level(bent(size)))[3] - limit

    for limit in (2.97, 3.03):
        rows = bent(cast(float, optimize.brentq(excess, 0.0, 2.0, args=(limit,), xtol=1e-6)))
        missing = rows.unseen().missing
        assert missing is not None
        own, _, chance, _ = _others(rows, level(rows))
        share = 1 - chance / (own @ np.linalg.solve(rows.X.T @ rows.X, own)) if limit > 3 else 0.0
        yield Fact(f"{limit:g} deviations beyond chance", missing.sums[21], (math.sqrt(share) - 1) * own, 1e-8)


# --- the fixed point ---


def _huber(X: np.ndarray, y: np.ndarray, clip: float, theta: np.ndarray) -> float:
    """The sum of ½ r² within clip / ||x||, and of the tangents beyond."""
    r, limit = np.abs(y - X @ theta), clip / np.linalg.norm(X, axis=1)
    return float(sum(s * s / 2 if s <= t else t * s - t * t / 2 for s, t in zip(r, limit, strict=True)))


def _hard() -> Iterator[tuple[str, np.ndarray, np.ndarray, float]]:
    """Records on which whole Newton steps go round in circles, or of which none is within its limits at first."""
    for seed in range(1, 16):
        own = np.random.default_rng(seed)
        n, d = (9, 15, 30)[seed % 3], 1 + seed % 2
        X = own.standard_normal((n, d)) * own.uniform(0.1, 2, (n, 1))
        y = X[:, 0] + own.standard_t(1.2, n)
        yield from ((f"{n} records of seed {seed}", X, y, clip) for clip in (1e-3, 0.02, 0.2))
    yield "many records", *_records(np.random.default_rng(2)), 0.01


def _floor(rng: np.random.Generator) -> Iterator[Fact | Within]:
    """The least of a Huber loss, by a search that knows no gradient, and what is told of it."""
    X, y = _records(rng)
    X, y = X[:60], y[:60]
    star, A, norms = _fit(X, y), X.T @ X, np.linalg.norm(X, axis=1)
    r = y - X @ star
    for clip in (0.01, 0.03, 0.06):
        found = clip_floor(X, y, clip=clip)
        least = optimize.minimize(
            lambda theta, clip=clip: _huber(X, y, clip, theta),
            star,
            method="Powell",
            options={"xtol": 1e-10, "ftol": 1e-15},
        )
        yield Fact(f"clip {clip:g}: the least", found.theta, least.x, 1e-5)
        sums = _clipped(X, y - X @ found.theta, norms, clip)
        yield Within(f"clip {clip:g}: sum of clipped gradients", float(np.abs(sums.sum(axis=0)).max()), 0.0, 1e-11)
        off = found.theta - star
        risk, share = off @ A @ off, np.mean(norms * np.abs(r) < clip)
        beyond = float(np.sum(np.maximum(np.abs(r) - clip / norms, 0.0) ** 2))
        told = [float(found.risk), found.relative, found.unclipped, found.explained]
        stated = [risk, risk / (star @ A @ star), share, risk * share**2 / beyond]
        for name, one, other in zip(("risk", "relative", "unclipped", "explained"), told, stated, strict=True):
            yield Fact(f"clip {clip:g}: {name}", one, other, 1e-10)
    for label, X, y, clip in _hard():
        theta, norms = clip_floor(X, y, clip=clip).theta, np.linalg.norm(X, axis=1)
        sums = np.abs(_clipped(X, y - X @ theta, norms, clip).sum(axis=0)) / (len(y) * clip)
        yield Within(f"{label}, clip {clip:g}: sum over the largest", float(sums.max()), 0.0, 1.1e-12)
    X, y = _records(rng)
    wide = clip_floor(X, y, clip=10.0)
    told = [float(wide.risk), wide.explained, wide.unclipped]
    yield Fact("nothing clipped", told, [0.0, 0.0, 1.0])


BEYOND_ROWS = Claim(
    id="ols/beyond-rows",
    where="beyond the paper: rows that laws of clipping are computed from",
    kind="number",
    statement=(
        (
            "Rows that stand for all are those at equal distances along $r norm(x)$, mapped so that their moments are "
            "those of all;"
        ),
        "parts left out, and typical rows, have the moments that they stand for;",
        "records are refused beyond their bounds, and where no least squares fit explains anything;",
        (
            "what rows miss of sums of clipped gradients is the difference of these sums, interpolated in the "
            "logarithm of the clip level;"
        ),
        (
            "for other records it is the part of these records' sum that chance explains, beside the covariance of "
            "sums over records;"
        ),
        "the fixed point of clipping is the least of a Huber loss.",
    ),
    checks=(
        Agreement(decides="a", facts=_thinned, impostors=_OFF),
        Agreement(decides="b", facts=_parts, impostors=_OFF),
        Agreement(decides="b", facts=_typical, impostors=_OFF),
        Agreement(decides="c", facts=_taken),
        Agreement(decides="d", facts=_missed, impostors=_OFF),
        Agreement(decides="e", facts=_unseen, impostors=_OFF),
        Agreement(decides="f", facts=_floor, impostors=_OFF),
    ),
)
