"""Beyond the paper: parts of what audits say of noise and of events, by plain loops over small tables."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy import stats

from dpbounds.audit import GaussianEvent, coefficients_of, laplace_scale_interval, shift_interval, testing
from dpbounds.audit.events import Event, _candidates, _many, _statistics, counted, sampled_epsilon
from dpbounds.audit.noise import _lags, _leaves, dependence, singular_directions
from simulators.audit.asserting import assert_private
from verify.checks import Agreement, Fact, Holds, Times, Within
from verify.statements.claims import Claim

Found = tuple[float, str]


# --- looks for correlation ---


def _correlation(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """r without centring, and P(|r| larger) by Student's law."""
    square = math.fsum(a * a for a in x) * math.fsum(b * b for b in y)
    r = math.fsum(a * b for a, b in zip(x, y, strict=True)) / math.sqrt(square)
    return r, 2 * float(stats.t.sf(abs(r) * math.sqrt((len(x) - 1) / max(1 - r * r, 1e-300)), len(x) - 1))


def _of_lags(lines: list[list[float]]) -> list[Found]:
    """Of the six lags of largest standardised sums of products, in falling order, the better half of each."""
    length, found = len(lines[0]), []
    sums = {
        lag: abs(math.fsum(x[i] * x[i + lag] for x in lines for i in range(length - lag)))
        / math.sqrt(len(lines) * (length - lag))
        for lag in range(1, length)
    }
    for lag in sorted(sums, key=lambda one: -sums[one])[:6]:
        halves = []
        for parity in (0, 1):
            pairs = [(x[i], x[i + lag]) for x in lines for i in range(length - lag) if i // lag % 2 == parity]
            if len(pairs) >= 3:
                r, p = _correlation(*zip(*pairs, strict=True))
                words = f"correlation {r:.4g} at lag {lag} in {len(pairs)} products"
                halves.append((min(1.0, 2 * (length - 1) * p), words))
        found += [min(halves, key=lambda one: one[0])] if halves else []
    return found


def _of_columns(rows: list[list[float]]) -> list[Found]:
    """Of the two outputs of the largest correlation, where there are more than two rows."""
    columns = list(zip(*rows, strict=True))
    pairs = [(i, j) for j in range(len(columns)) for i in range(j)]
    if len(rows) < 3 or not pairs:
        return []
    found = {pair: _correlation(columns[pair[0]], columns[pair[1]]) for pair in pairs}
    (i, j), (r, p) = max(found.items(), key=lambda one: abs(one[1][0]))
    return [(min(1.0, len(pairs) * p), f"correlation {r:.4g} of outputs {i} and {j} in {len(rows)} differences")]


def _dependences(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Every look at tables in which nothing or something depends: the least p-value times their number."""
    own = np.random.default_rng(21)
    for k, p, steps, mixed in (
        (3, 2, 1, 0.0),
        (3, 2, 1, 1.0),
        (25, 2, 1, 0.9),
        (2, 2, 1, 0.0),
        (1, 6, 1, 0.0),
        (1, 40, 1, 0.0),
        (2, 33, 1, 0.0),
        (4, 17, 1, 0.3),
        (2, 24, 8, 0.0),
        (2, 24, 2, 0.8),
        (9, 1, 1, 0.0),
    ):
        rows = own.standard_normal((k, p))
        rows[:, -1] = (1 - mixed) * rows[:, -1] + mixed * rows[:, 0] + (0.2 * own.standard_normal(k) if mixed else 0.0)
        lines = rows.tolist()
        if steps > 1:
            lines = [row[i :: p // steps] for row in lines for i in range(p // steps)]
        lags, columns = _of_lags(lines) if len(lines[0]) > 1 else [], _of_columns(rows.tolist())
        found = [(one.p_value, one.words) for one in _lags(rows, steps) if one.words]
        label = f"{k} rows of {p}, {steps} steps, {mixed:g} mixed"
        yield Fact(f"{label}: p of each lag", [one for one, _ in found], [one for one, _ in lags], 1e-8)
        yield Holds("and its words", [one for _, one in found] == [one for _, one in lags])
        found = dependence(math.sqrt(2) * rows, "gaussian", steps=steps)
        looks = lags + columns
        best = min(one for one, _ in looks) if looks else 1.0
        yield Fact(f"{label}: p", found.p_value, min(1.0, (1 + bool(columns)) * best), 1e-8)
        told = [words for one, words in looks if one == best] or ["too few numbers to look for dependence"]
        yield Holds(f"{label}: {found.words}", found.words in told)
    rows = own.standard_normal((2, 15))
    rows[:, 1:] += 0.9 * rows[:, :-1]
    for leaves in ((3, 4, 3, 4, 1), (3, 4, 8), (7, 1, 7), (2, 1, 1, 2, 9), (7, 8)):
        edges = np.cumsum([0, *leaves]).tolist()
        parts = [rows[:, a:b].ravel().tolist() for a, b in itertools.pairwise(edges)]
        pairs = [(j, i) for i in range(len(parts)) for j in range(i) if len(parts[i]) == len(parts[j])]
        expected = []
        for j, i in pairs:
            if len(parts[i]) > 2:
                r, p = _correlation(parts[i], parts[j])
                expected.append((min(1.0, len(pairs) * p), f"correlation {r:.4g} of leaves {j} and {i}"))
        found = list(_leaves(rows, leaves))
        yield Fact(f"leaves of {leaves}: p", [one.p_value for one in found], [p for p, _ in expected], 1e-8)
        yield Holds("and their words", [one.words for one in found] == [words for _, words in expected])
        best = min([*expected, *_of_lags(rows.tolist())])[0]
        told = dependence(math.sqrt(2) * rows, "gaussian", leaves=leaves).p_value
        yield Fact("the least times two", told, min(1.0, 2 * best), 1e-8)
    many = list(_leaves(own.standard_normal((1, 192)), (3,) * 64))
    yield Fact("of 64 equal leaves two thousand pairs", len(many), 2000, 0)


# --- directions ---


def _directions(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Outputs without noise and outputs that are multiples, in rows of any size, on both sides of rounding."""
    own = np.random.default_rng(22)
    for size in (1e6, 1.0, 1e-6):
        rows = size * own.standard_normal((8, 5)) * [1.0, 20.0, 3.0, 0.5, 7.0]
        norms = np.linalg.norm(rows, axis=0)
        for share, number in ((0.9, 1), (1.1, 0)):
            quiet = rows.copy()
            quiet[:, 3] *= share * 1e-9 * float(np.delete(norms, 3).max()) / norms[3]
            found = singular_directions(quiet, 1e-9)
            label = f"size {size:g}, {share:g} roundings"
            yield Fact(f"{label}: outputs without noise", len(found), number, 0)
            for one in found:
                plain = [one.places[0], one.weights[0], one.noise / size]
                yield Fact("place, weight, noise", plain, [3, 1, float(np.linalg.norm(quiet[:, 3])) / size], 1e-12)
        for share, number in ((0.9, 1), (1.1, 0)):
            # A column of norm 1 that differs from another by about ten roundings in one entry.
            equal = rows.copy()
            unit = rows[:, 1] / norms[1]
            moved = np.where(np.arange(8) == np.abs(unit).argmin(), share * 1e-8, 0.0)
            equal[:, 3] = -0.25 * norms[1] * (unit + moved)
            found = [one for one in singular_directions(equal, 1e-9) if len(one.places) == 2]
            yield Fact(f"size {size:g}: multiples but for {share:g} of ten roundings", len(found), number, 0)
            for one in found:
                weights = dict(zip(one.places.tolist(), one.weights.tolist(), strict=True))
                ratio = [weights[3] / weights[1], abs(weights[1]) * norms[1]]
                yield Fact("their weights", ratio, [4.0, 1.0], 1e-7)
                yield Fact("their noise", one.noise, float(np.abs(equal[:, one.places] @ one.weights).max()), 1e-9)
    yield Fact(
        "a thousand outputs without noise are listed",
        len(singular_directions(np.zeros((2, 1002)), 1e-9)),
        1000,
        0,
    )
    yield from _sums(own)


def _sums(own: np.random.Generator) -> Iterator[Fact]:
    """A combination of four outputs whose noise is beside rounding, by the eigenvalues of their correlations."""
    rows = own.standard_normal((9, 4)) * [1.0, 20.0, 3.0, 0.5]
    noise, size = 3 * own.standard_normal(9), 1e-3
    for share, number in ((0.95, 1), (1.05, 0)):
        for _ in range(3):
            rows[:, 2] = 2 * rows[:, 0] - 0.1 * rows[:, 1] + rows[:, 3] + size * noise
            units = rows / np.sqrt((rows**2).sum(axis=0))
            least, *_, most = np.linalg.eigvalsh(units.T @ units)
            size *= share * 1e-3 / math.sqrt(least / most)
        found = singular_directions(rows, 1e-3)
        yield Fact(f"a sum of outputs with {share:g} roundings of noise", len(found), number, 0)
        yield Fact("its noise", [one.noise for one in found], [math.sqrt(least)] * number, 1e-6)


# --- intervals ---


def _laplace_tails(total: float, number: int, ends: tuple[float, float]) -> list[float]:
    """P(S > total / low), P(S <= total / high), S of `number` sizes of Laplace differences."""
    k = np.arange(number + 1)
    weights = stats.binom.pmf(k, number, 0.5)
    low, high = ends
    return [
        float(weights @ stats.gamma.sf(total / low, number + k)),
        float(weights @ stats.gamma.cdf(total / high, number + k)),
    ]


def _ends(rng: np.random.Generator) -> Iterator[Fact | Within]:
    """Scales of Laplace noise at chances down to 1e-25, and distances of means that are far apart."""
    for number, alpha in ((1, 1e-25), (1, 0.3), (3, 1e-9), (100, 1e-25), (2000, 1e-12)):
        ends = laplace_scale_interval(1.5 * number, number, alpha)
        yield Fact(f"{number} numbers at {alpha:g}", _laplace_tails(1.5 * number, number, ends), [alpha] * 2, 1e-9)
    # Of numbers without end the ratio is known to its own error, by the normal law.
    for first, second in (
        ((0.0, 5e5, 500_000), (0.02, 4e5, 400_000)),
        ((3.0, 5e5, 500_000), (0.0, 4e5, 400_000)),
        ((0.0, 5e5, 500_000), (2e3, 4e5, 400_000)),
    ):
        n, k = first[2], second[2]
        ratio, degrees = abs(first[0] - second[0]), n + k - 2
        spread = math.sqrt((1 / n + 1 / k) + ratio**2 / (2 * degrees))
        sigma = math.sqrt((first[1] + second[1]) / degrees)
        found = shift_interval(first, second, 1e-4)
        z = float(stats.norm.isf(1e-4))
        yield Fact(f"means {ratio:g} apart", found, [ratio / sigma - z * spread, ratio / sigma + z * spread], 1e-4)
    # Of few numbers far apart it is known to the error of sigma alone, a chi-squared of as many degrees.
    for n, k in ((2, 1), (9, 4)):
        degrees = n + k - 2
        shares = np.sqrt([stats.chi2.ppf(1e-4, degrees) / degrees, stats.chi2.isf(1e-4, degrees) / degrees])
        ends = np.array(shift_interval((1e8, 0.7, n), (0.0, 0.0, k), 1e-4)) / (1e8 / math.sqrt(0.7 / degrees))
        yield Fact(f"means of {n} and {k} far apart: lower end", ends[0], shares[0], 1e-5)
        yield Fact(f"means of {n} and {k} far apart: upper end", ends[1], shares[1], 1e-5)
    # Of equal means nothing is known from below, and from above by the normal law of so many numbers.
    ends = shift_interval((2.5, 3e6, 1_500_000), (2.5, 5e6, 2_500_000), 1e-12)
    stated = -float(stats.norm.ppf(1e-12)) * math.sqrt(1 / 1_500_000 + 1 / 2_500_000)
    yield Fact("equal means", ends, [0.0, stated], 1e-4)


# --- events ---


def _chances(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Events that are tried: their hits, their order, and outputs without spread."""
    own = np.random.default_rng(23)
    likely, other = own.standard_normal((9, 20)), own.standard_normal((12, 20)) + np.linspace(-2.0, 2.0, 20) ** 3
    likely[:, 7], other[:, 7] = 2.0, 2.5
    scale = 10.0 ** np.arange(20)
    likely, other = likely * scale, other * scale
    apart = [math.fsum(a) / 9 - math.fsum(b) / 12 for a, b in zip(likely.T.tolist(), other.T.tolist(), strict=True)]
    spread = np.sqrt(likely.var(axis=0) + other.var(axis=0))
    tried = list(_statistics(likely, other))
    floor = 1e-12 * float(spread.max())
    weights = [m / max(s, floor) ** 2 for m, s in zip(apart, spread.tolist(), strict=True)]
    yield Fact("the first statistic", tried[0] / weights, np.ones(20), 1e-12)
    ratios = {place: abs(m) / max(s, 1e-300) for place, (m, s) in enumerate(zip(apart, spread.tolist(), strict=True))}
    order = sorted(ratios, key=lambda one: -ratios[one])[:16]
    axes = [sign * (np.arange(20) == place) for place in order for sign in (1.0, -1.0)]
    yield Fact("then the sixteen outputs that move most in their spread", np.array(tried[1:]), np.array(axes), 0)
    numbers = [
        len(list(_statistics(a, b)))
        for a, b in ((likely[:, :1], other[:, :1]), (likely[:, :2], other[:, :2]), (likely, likely))
    ]
    yield Fact("no sum of one output, or where none moves", numbers, [2, 5, 32], 0)
    yield from _families(own)


def _families(own: np.random.Generator) -> Iterator[Fact | Holds]:
    """Families of events, what each shows, and values that are one but for their sign."""
    for n, m in ((7, 10), (2, 1000), (3000, 2)):
        hits = np.array(list(itertools.product({0, 1, 2, n // 2, n - 1, n}, {0, 1, 2, m // 2, m - 1, m}))).T
        hits = hits[:, (hits[0] <= n) & (hits[1] <= m)]
        for delta in (0.0, 0.4):
            each = []
            for k, j in hits.T.tolist():
                low = float(stats.beta.ppf(0.01, k, n - k + 1)) if k else 0.0
                high = float(stats.beta.ppf(0.99, j + 1, m - j)) if j < m else 1.0
                each.append(max(math.log((low - delta) / high), -1.0) if low > delta else -1.0)
            label = f"what hits of {n} and {m} runs show, delta {delta:g}"
            yield Fact(label, _many(hits, (n, m), delta, 0.02), each, 1e-9)
    for zero in (0.0, -0.0):
        held = Event(kind="values", values=np.array([[zero, 1.0]])).holds(
            np.array([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0]])
        )
        yield Fact(f"{zero} is 0 and -0", held.astype(int), [1, 1, 0], 0)
    sides = own.choice(3, (7, 1), p=[0.6, 0.3, 0.1]).astype(float), own.choice(3, (10, 1)).astype(float) - 1.0
    sides[0][sides[0] == 0] = -0.0
    families = list(_candidates(*sides))
    for events, hits in families:
        held = [[int(events(place).holds(side).sum()) for place in range(hits.shape[1])] for side in sides]
        yield Fact("hits of the events of a family", hits, held, 0)
    numbers = {x: [side.ravel().tolist().count(x) for side in sides] for x in (-1.0, 0.0, 1.0, 2.0)}
    ratios = {x: (p + 0.5) / (q + 0.5) for x, (p, q) in numbers.items() if p + q}
    seen: list[float] = sorted(ratios, key=lambda x: -ratios[x])
    sets_of = [families[0][0](place).content()["values"] for place in range(len(seen))]
    yield Holds("sets by falling ratio", sets_of == [[[x] for x in seen[: place + 1]] for place in range(len(seen))])
    # Hits and hits of the other side of 0, 1, ...: ratios 3, 3, 3, 5, 1/5, 1/3, of equal ones the smaller value first.
    table = ((4, 1), (1, 0), (4, 1), (2, 0), (0, 2), (0, 1))
    counts = [np.repeat(np.arange(6.0), [row[side] for row in table])[:, None] for side in (0, 1)]
    events, _ = next(iter(_candidates(*counts)))
    yield Fact("by counts with a half added", events(5).content()["values"], [[3], [0], [1], [2], [5], [4]], 0)
    for label, likely, other, sets in (
        ("one that recurs", [1.0, 1.0, 3.0], [4.0, 5.0], True),
        ("none", [1.0, 2.0, 3.0], [4.0, 5.0], False),
        ("one on either side", [1.0, 2.0, 3.0], [4.0, 1.0], True),
    ):
        kinds = [events(0).kind for events, _ in _candidates(np.array(likely)[:, None], np.array(other)[:, None])]
        yield Holds(f"sets where outputs recur: {label}", ("values" in kinds) == sets)
    for number, many in ((9, 5), (41, 21), (1000, 400)):
        likely, other = own.standard_normal((2, number, 1))
        events, hits = next(iter(_candidates(likely, other)))
        ends = [events(place).threshold for place in range(hits.shape[1])]
        quantiles = np.quantile(np.concatenate([likely, other]), np.arange(many) / many)
        yield Fact(f"thresholds of {number} runs", ends, quantiles, 1e-12)
    event = Event(kind="values", values=np.array([[2.0], [3.0]]))
    columns = np.array([[2.0], [2.0], [2.0], [1.0], [3.0]]), np.array([[2.0], [1.0], [1.0], [3.0], [2.0], [2.0], [1.0]])
    for forward, told in ((True, ((2, 3), (3, 4))), (False, ((3, 2), (4, 3)))):
        yield Fact(f"counted in second halves, forward {forward}", counted(event, *columns, forward), told, 0)
    still = [np.column_stack([side[:, 0], np.full(len(side), 3.0 + place)]) for place, side in enumerate(sides)]
    told = sampled_epsilon(still[0], still[1], 0.0, 0.02)
    numbers = [(4, 4), (5, 5)] if told.first else [(5, 5), (4, 4)]
    yield Fact("outputs that stand still tell all", [told.hits[0], told.trials[0], told.hits[1]], [*numbers[0], 0], 0)


def _one_line(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Holds]:
    """The one line for tests fails with the text of an audit that is neither consistent nor proved."""
    yield Holds("assert_private is the function of the simulators", testing.assert_private is assert_private)
    alone = not hasattr(testing, "assert_nothing") and testing.__all__ == ["assert_private"]
    yield Holds("and the only name of its module", alone)
    event = GaussianEvent(kind="gaussian", noise_multiplier=2.0)
    noise = coefficients_of([2.0, 0.0], 2, noise_multiplier=4.0)
    for mechanism, level, words in (
        (event, 0.51, ""),
        (event, 0.49, "refuted: 0.49-GDP"),
        (noise, 0.51, ""),
        (noise, 0.49, "refuted: 0.49-GDP"),
    ):
        try:
            assert_private(mechanism, {"mu": factor * level}, adjacency="zero-out")
            told = ""
        except AssertionError as error:
            told = str(error)
        yield Holds(f"mu = 0.5 against {level:g}", told.startswith(words) and bool(told) == bool(words))


OFF: dict[str, Any] = {"1e-3 off": {"facts": Times(1.001)}}

BEYOND_AUDIT_PARTS = Claim(
    id="ftrl/beyond-audit-parts",
    where="beyond the paper: parts of what audits say of noise and events",
    kind="privacy",
    statement=(
        "Looks for dependence are those of plain loops over lags, outputs and leaves, the least p-value times the "
        "number of looks;",
        "outputs without noise and outputs that are multiples are found up to rounding, in rows of any size;",
        "ends of intervals have their chances also where these are small or numbers many;",
        "the events that are tried have the hits they are said to have, in the order of what they show;",
        "the line for tests fails where an audit is neither consistent nor proved.",
    ),
    checks=(
        Agreement(decides="a", facts=_dependences, impostors=OFF),
        Agreement(decides="b", facts=_directions, impostors=OFF),
        Agreement(decides="c", facts=_ends, impostors=OFF),
        Agreement(decides="d", facts=_chances, impostors=OFF),
        Agreement(decides="e", facts=_one_line, impostors={"5 % more": {"facts": {"factor": 1.05}}}),
    ),
)
