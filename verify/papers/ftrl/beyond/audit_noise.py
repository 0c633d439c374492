"""Beyond the paper: what an audit says of noise and of events, against tables of other libraries and plain counts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import stats

from dpbounds.audit import (
    coordinates_needed,
    correlation_tail,
    gaussian_scale_interval,
    laplace_scale_interval,
    proportion_interval,
    shift_interval,
)
from dpbounds.audit.differences import gaussian_difference_cdf, laplace_difference_cdf, normal_scores
from dpbounds.audit.events import Event, event_epsilon, event_from, sampled_epsilon
from dpbounds.audit.intervals import distance_tail, laplace_sum_tail
from dpbounds.audit.noise import dependence, homogeneity, scale_interval, shape, singular_directions, stands_apart
from verify.checks import Agreement, Fact, Holds, Within
from verify.statements.claims import Claim

# --- intervals ---


def _shares(k: int, n: int, p: float) -> float:
    """P(at least k of n)."""
    return math.fsum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k, n + 1))


def _student(t: float, degrees: int, centre: float) -> float:
    """P(a noncentral t is at most t), by a sum over the chi density."""
    s = (np.arange(40_000) + 0.5) / 40_000 * 4.0  # s^2 = chi^2 / degrees
    weights = 2 * degrees * s * stats.chi2.pdf(degrees * s * s, degrees) * 4.0 / 40_000
    return float(weights @ stats.norm.cdf(t * s - centre))


def _ends(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact | Within]:
    """The chance that each end states: of proportions, correlations, distances, shifts; numbers that are needed."""
    alpha = factor * 0.01
    for k, n in ((3, 10), (1, 7), (7, 7), (0, 5)):
        low, high = proportion_interval(k, n, alpha=0.01)
        label = f"{k} of {n}"
        yield Fact(
            f"{label}: as many or more, at the lower end", _shares(k, n, low) if k else low, alpha / 2 * (k > 0), 1e-9
        )
        few = 1 - _shares(k + 1, n, high)
        yield Fact(
            f"{label}: as many or fewer, at the upper end", few if k < n else high, alpha / 2 if k < n else 1.0, 1e-9
        )
    for r, n in ((0.3, 3), (-0.3, 4), (0.6, 9), (0.5, 2)):
        tail = 2 * stats.t.sf(abs(r) * math.sqrt((n - 1) / (1 - r * r)), n - 1)
        yield Fact(f"correlation {r:g} of {n}", correlation_tail(r, n), tail, 1e-10)
    yield Fact("correlation beyond 1", [correlation_tail(1.2, 4), correlation_tail(0.0, 4)], [0.0, 1.0], 1e-15)
    yield Fact("distance", [distance_tail(0.2, 40), distance_tail(0.05, 4)], [2 * math.exp(-3.2), 1.0], 1e-12)
    for first, second in (
        ((3.0, 5.0, 6), (0.5, 7.0, 9)),
        ((0.5, 40.0, 30), (4.5, 20.0, 12)),
        ((1.0, 5.0, 3), (1.4, 7.0, 4)),
        ((300.0, 5.0, 6), (0.5, 7.0, 9)),
    ):
        weight = math.sqrt(first[2] * second[2] / (first[2] + second[2]))
        degrees = first[2] + second[2] - 2
        t = abs(first[0] - second[0]) * weight / math.sqrt((first[1] + second[1]) / degrees)
        low, high = shift_interval(first, second, 0.01)
        label = f"means of {first[2]} and {second[2]}"
        above = 1 - _student(t, degrees, low * weight)
        if low:
            yield Fact(f"{label}: farther apart, at the lower end", above, alpha, 1e-5)
        else:
            yield Within(f"{label}: farther apart, where nothing shows", above, 0.01, 1.0)
        yield Fact(f"{label}: closer, at the upper end", _student(t, degrees, high * weight), alpha, 1e-5)
    for family, spread in (("gaussian", 0.5), ("laplace", 1.75 / 1.5**2)):
        z = stats.norm.isf(0.005) + stats.norm.isf(0.02)
        found = coordinates_needed(0.03, family, alpha=0.01, beta=0.02)  # pyright: ignore[reportArgumentType]
        yield Fact(f"numbers needed, {family}", found, math.ceil((z / 0.03) ** 2 * spread), 0)
    for number, t in ((3, 2.0), (700, 1100.0), (400, 1714.0)):
        mixed = np.arange(number + 1)
        weights = stats.binom.pmf(mixed, number, 0.5)
        above, below = (
            float(weights @ stats.gamma.sf(t, number + mixed)),
            float(weights @ stats.gamma.cdf(t, number + mixed)),
        )
        yield Fact(f"{number} Laplace differences: above {t:g}", laplace_sum_tail(t, number), above, 1e-9)
        yield Fact(f"{number} Laplace differences: below", laplace_sum_tail(t, number, below=True), below, 1e-9)
    x = np.array([-3.0, -0.4, 0.0, 0.7, 2.5])
    cdf = np.where(x < 0, np.exp(-np.abs(x)) * (2 + np.abs(x)) / 4, 1 - np.exp(-np.abs(x)) * (2 + np.abs(x)) / 4)
    yield Fact("Laplace differences: cdf", laplace_difference_cdf(x), cdf, 1e-14)
    yield Fact("Gaussian differences: cdf", gaussian_difference_cdf(x), stats.norm.cdf(x, scale=math.sqrt(2)), 1e-14)
    yield Fact("Laplace differences: scores", normal_scores(x, cdf), stats.norm.ppf(cdf), 1e-12)


# --- looks at noise ---


def _tail(r: float, n: int) -> float:
    r = min(abs(r), 1.0)
    return 2 * float(stats.t.sf(r * math.sqrt((n - 1) / max(1 - r * r, 1e-300)), n - 1))


def _r(x: np.ndarray, y: np.ndarray) -> float:
    x, y = np.ravel(x), np.ravel(y)
    return float(x @ y / math.sqrt(x @ x * (y @ y)))


def _lags(lines: np.ndarray) -> tuple[float, str]:
    """The least p-value of halves of products at every lag, times twice the number of lags, and its words."""
    length, found = lines.shape[1], []
    for lag in range(1, length):
        for parity in (0, 1):
            at = [i for i in range(length - lag) if i // lag % 2 == parity]
            if len(at) * len(lines) >= 3:
                x, y = lines[:, at], lines[:, [i + lag for i in at]]
                p = min(1.0, 2 * (length - 1) * _tail(_r(x, y), x.size))
                found.append((p, f"correlation {_r(x, y):.4g} at lag {lag} in {x.size} products"))
    return min(found)


def _normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return math.sqrt(2) * rng.standard_normal(shape)


def _dependences() -> Iterator[Fact | Holds]:
    """Correlations of each kind, each in rows that were made to have one."""
    rng = np.random.default_rng(5)
    late = _normal(rng, 4, 100)
    late[:, 97:] = late[:, :3] + 0.05 * late[:, 97:]
    steady = _normal(rng, 2, 60)
    steady[:, 5:] += 0.9 * steady[:, :-5]
    sheets = _normal(rng, 2, 12, 5)
    sheets[:, 3:] -= 0.8 * sheets[:, :-3]
    laplace = rng.laplace(size=(2, 40)) - rng.laplace(size=(2, 40))
    laplace[:, 1:] += 0.8 * laplace[:, :-1]
    scored = np.array(stats.norm.ppf(laplace_difference_cdf(laplace)))
    cases: list[tuple[str, np.ndarray, np.ndarray, Any, dict[str, Any]]] = [
        ("a late lag, several rows", late, late / math.sqrt(2), "gaussian", {}),
        ("a lag", steady, steady / math.sqrt(2), "gaussian", {}),
        ("a lag of steps", sheets.reshape(2, 60), sheets.transpose(0, 2, 1).reshape(10, 12), "gaussian", {"steps": 12}),
        ("a lag, Laplace", laplace, scored, "laplace", {}),
    ]
    for label, rows, lines, family, settings in cases:
        found, (p, words) = dependence(rows, family, **settings), _lags(lines)
        number = 2 if len(rows) > 2 else 1
        yield Fact(f"{label}: p", found.p_value, min(1.0, number * p), 1e-8)
        yield Holds(f"{label}: {words}", found.words == words)
    rows = _normal(rng, 25, 4)
    rows[:, 3] = 0.5 * rows[:, 3] - 2 * rows[:, 1]
    found, r = dependence(rows, "gaussian"), _r(rows[:, 1], rows[:, 3])
    yield Fact("two outputs: p", found.p_value, 2 * 6 * _tail(r, 25), 1e-6)
    words = f"correlation {r:.4g} of outputs 1 and 3 in 25 differences"
    yield Holds(words, found.words == words)
    rows = _normal(rng, 2, 45)
    rows[:, 25:] = rows[:, :20] + 0.3 * rows[:, 25:]
    found, r = dependence(rows, "gaussian", leaves=(20, 5, 20)), _r(rows[:, :20], rows[:, 25:])
    lags = _lags(rows / math.sqrt(2))[0]
    leaves = min(1.0, _tail(r, 40))
    yield Fact("two leaves: p", found.p_value, 2 * min(leaves, lags), 1e-6)
    yield Holds("two leaves", leaves > lags or found.words == f"correlation {r:.4g} of leaves 0 and 2")
    yield Fact("one output: p", dependence(rows[:, :1], "gaussian").p_value, 1.0, 0)


def _looks(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact | Holds]:
    """Scales, groups, shapes, dependence, and directions without noise."""
    own = np.random.default_rng(3)
    rows = _normal(own, 6, 50)
    squares = float((rows**2).sum())
    chi = [math.sqrt(squares / 2 / stats.chi2.isf(p, 300)) for p in (factor * 1e-3, 1 - factor * 1e-3)]
    yield Fact("Gaussian scale", scale_interval(rows, "gaussian", 1e-3), chi, 1e-9)
    yield Fact("the same from its sum", gaussian_scale_interval(squares, 300, 1e-3), chi, 1e-9)
    sizes = float(np.abs(rows).sum())
    ends = laplace_scale_interval(sizes, 300, 1e-3)
    yield Fact("Laplace scale", scale_interval(rows, "laplace", 1e-3), ends, 1e-12)
    tails = [laplace_sum_tail(sizes / ends[0], 300), laplace_sum_tail(sizes / ends[1], 300, below=True)]
    yield Fact("Laplace scale: chances at its ends", tails, [factor * 1e-3] * 2, 1e-7)
    laws: list[tuple[Any, Callable[[np.ndarray], np.ndarray]]] = [
        ("gaussian", lambda x: stats.norm.cdf(x, scale=math.sqrt(2))),
        ("laplace", lambda x: np.where(x < 0, 0, 1) - np.sign(x + 1e-300) * np.exp(-np.abs(x)) * (2 + np.abs(x)) / 4),
    ]
    for family, cdf in laws:
        for values in (own.uniform(-3, 3, (4, 200)), own.uniform(0.0, 3, (1, 90)), own.exponential(1.0, (1, 70)) - 3):
            scale = (0.9, 1.3)
            distance = min(float(stats.kstest(values.ravel() / one, cdf).statistic) for one in np.geomspace(*scale, 33))
            distance = max(distance - math.log(1.3 / 0.9) / 64, 0.0)
            found = shape(values, family, scale)
            p = min(1.0, 2 * math.exp(-2 * values.size * distance**2))
            yield Fact(f"shape, {family}: p", found.p_value, p, 1e-8)
            words = f"distance {distance:.3g} from the {family} law in {values.size} numbers"
            yield Holds(words, found.words == words)
    for order in ((1.0, 3.0, 1.0), (3.0, 1.0, 1.1), (1.0, 1.1, 1.05)):
        groups, edges = (10, 25, 15), (0, 10, 35, 50)
        scaled = rows * np.repeat(order, groups)
        found = homogeneity(scaled, "gaussian", groups, 0.06)
        parts = [scaled[:, a:b] for a, b in itertools.pairwise(edges)]
        intervals = [
            [math.sqrt((part**2).sum() / 2 / stats.chi2.isf(p, part.size)) for p in (0.01, 0.99)] for part in parts
        ]
        most, least = (
            max(range(3), key=lambda i, ends=intervals: ends[i][0]),
            min(range(3), key=lambda i, ends=intervals: ends[i][1]),
        )
        ratio = intervals[most][0] / intervals[least][1]
        words = f"group {most} of outputs has more than {ratio:.4g} times the noise of group {least}"
        yield Fact("groups: p", found.p_value, float(ratio <= 1), 0)
        yield Holds("groups in words", found.words == (words if ratio > 1 else "3 groups of outputs of one scale"))
    two = homogeneity(rows * np.repeat([1.0, 3.0], 25), "gaussian", (25, 25), 0.06)
    yield Fact("two groups: p", two.p_value, 0.0, 0)
    yield Fact("one group: p", homogeneity(rows, "gaussian", (50,), 0.06).p_value, 1.0, 0)
    yield from _dependences()
    yield from _directions()
    marks = [stands_apart(moved, 3.0, 1e-5) for moved in (0.999 * 3e-3, 1.001 * 3e-3)]
    yield Holds("an output without noise stands apart beyond a hundred roundings", marks == [False, True])


def _directions() -> Iterator[Fact | Holds]:
    """Combinations of outputs in which the noise cancels."""
    rng = np.random.default_rng(4)
    rows = rng.standard_normal((8, 4))
    yield Holds("independent outputs have no direction without noise", not singular_directions(rows, 1e-9))
    still = rows * [1.0, 0.0, 2.0, 1e-12]
    found = singular_directions(still, 1e-9)
    yield Fact("outputs without noise", [one.places.tolist() for one in found], [[1], [3]], 0)
    yield Fact("their noise", [one.noise for one in found], [0.0, float(np.linalg.norm(still[:, 3]))], 1e-12)
    yield Fact("all without noise", [one.places[0] for one in singular_directions(0 * rows, 1e-9)], [0, 1, 2, 3], 0)
    for gap, number in ((1e-10, 1), (1e-6, 0)):
        equal = rows.copy()
        equal[:, 3] = -2.5 * equal[:, 0] * (1 + gap * rng.standard_normal(8))
        found = singular_directions(equal, 1e-9)
        yield Fact(f"two outputs, multiples but for {gap:g}", len(found), number, 0)
        for one in found:
            weights = dict(zip(one.places.tolist(), one.weights.tolist(), strict=True))
            yield Fact("their weights", weights.get(0, 0.0) / weights.get(3, 1.0), 2.5, 1e-9)
            yield Fact("their noise", one.noise, float(np.abs(equal[:, one.places] @ one.weights).max()), 1e-9)
            yield Fact("their size", abs(weights.get(3, 0.0)) * float(np.linalg.norm(equal[:, 3])), 1.0, 1e-9)
    yield Fact("fewer than four rows show no multiples", len(singular_directions(np.ones((3, 2)), 1e-9)), 0, 0)
    yield Fact("four do", len(singular_directions(np.outer(rows[:4, 0], [1.0, 3.0]), 1e-9)), 1, 0)
    summed = rows.copy()
    summed[:, 2] = 3 * summed[:, 0] - summed[:, 1] + 0.5 * summed[:, 3]
    (one,) = singular_directions(summed, 1e-9)
    yield Fact("a sum of outputs", one.weights / one.weights[2], [-3.0, 1.0, 1.0, -0.5], 1e-9)
    yield Holds("its noise is rounding", one.noise < 1e-12 and float(np.abs(one.of(summed)).max()) < 1e-12)
    yield Fact("seven rows are too few", len(singular_directions(summed[:7], 1e-9)), 0, 0)
    pair = rows[:6, :2] @ np.array([[1.0, 1.0], [1.0, 1.0 + 1e-11]])
    yield Fact("two outputs that are one", len(singular_directions(pair, 1e-9)), 1, 0)


# --- events ---


def _counted(event: Event, first: np.ndarray, second: np.ndarray) -> list[int]:
    """How often a plain reading finds the event in the second halves."""
    found = []
    for side in (first, second):
        later = side[len(side) // 2 :].tolist()
        if event.kind == "values":
            listed = np.asarray(event.values).tolist()
            found.append(sum(row in listed for row in later))
        else:
            weights = np.asarray(event.weights).tolist()
            found.append(
                sum(math.fsum(w * x for w, x in zip(weights, row, strict=True)) >= event.threshold for row in later)
            )
    return found


def _spent(hits: tuple[int, int], trials: tuple[int, int], delta: float, alpha: float) -> float:
    low = float(stats.beta.ppf(alpha / 2, hits[0], trials[0] - hits[0] + 1)) if hits[0] else 0.0
    high = float(stats.beta.ppf(1 - alpha / 2, hits[1] + 1, trials[1] - hits[1])) if hits[1] < trials[1] else 1.0
    return max(0.0, math.log((low - delta) / high)) if low > delta else 0.0


def _events(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact | Holds]:
    """What an event shows; which event is chosen, against all that there are."""
    for hits, trials, delta in (
        ((90, 20), (120, 100), 0.0),
        ((90, 0), (120, 100), 0.1),
        ((100, 100), (100, 100), 0.0),
        ((9, 1), (100, 90), 0.1),
        ((0, 4), (9, 9), 0.0),
        ((8, 7), (9, 7), 0.0),
    ):
        yield Fact(
            f"{hits} of {trials}, delta {delta:g}",
            event_epsilon(hits, trials, delta, 0.01),
            _spent(hits, trials, delta, factor * 0.01),
            1e-9,
        )
    own = np.random.default_rng(6)
    for delta in (0.0, 0.05):
        sides = [
            own.choice(4, size=(size, 1), p=p).astype(float)
            for size, p in ((300, [0.6, 0.2, 0.15, 0.05]), (401, [0.1, 0.2, 0.2, 0.5]))
        ]
        sides[0][sides[0] == 0.0] = -0.0
        found = sampled_epsilon(sides[0], sides[1], delta, 0.01)
        best = -math.inf
        for forward in (True, False):
            likely, other = (side[: len(side) // 2, 0].tolist() for side in (sides if forward else sides[::-1]))
            sizes = len(likely), len(other)
            for chosen in itertools.chain.from_iterable(itertools.combinations(range(4), k) for k in (1, 2, 3)):
                hits = sum(one in chosen for one in likely), sum(one in chosen for one in other)
                best = max(best, _spent(hits, sizes, delta, 0.01))
        counts = _counted(found.event, *sides)
        numbers = tuple(len(side) - len(side) // 2 for side in sides)
        order = (0, 1) if found.first else (1, 0)
        yield Fact(f"delta {delta:g}: hits", found.hits, [counts[i] for i in order], 0)
        yield Fact("trials", found.trials, [numbers[i] for i in order], 0)
        yield Fact("epsilon", found.epsilon, _spent(found.hits, found.trials, delta, factor * 0.01), 1e-9)
        counts = _counted(found.event, *(np.tile(side[: len(side) // 2], (2, 1)) for side in sides))
        halves = tuple(len(side) // 2 for side in sides)
        again = _spent((counts[order[0]], counts[order[1]]), (halves[order[0]], halves[order[1]]), delta, 0.01)
        yield Fact("no set of outputs shows more in the first halves", again, best, 1e-9)
        back = event_from(found.event.content())
        yield Holds(
            "an event is read as it was written", bool((back.holds(sides[0]) == found.event.holds(sides[0])).all())
        )
    zero = Event(kind="values", values=np.zeros((1, 1)))
    yield Holds("0 and -0 are one value", bool(zero.holds(np.array([[-0.0]]))[0]))
    for swap in (False, True):
        sides = [own.standard_normal((500, 3)) for _ in range(2)]
        sides[1] = sides[1] * [1.0, 5.0, 0.5] + [1.0, -6.0, 0.4]
        sides = sides[::-1] if swap else sides
        found = sampled_epsilon(sides[0], sides[1], 0.01, 0.01)
        order = (0, 1) if found.first else (1, 0)
        counts = _counted(found.event, *sides)
        yield Fact("a half-space: hits", found.hits, [counts[i] for i in order], 0)
        yield Fact("epsilon", found.epsilon, _spent(found.hits, found.trials, 0.01, factor * 0.01), 1e-9)
        likely, other = (sides[i][:250] for i in order)
        apart, spread = likely.mean(0) - other.mean(0), likely.var(0) + other.var(0)
        tried, best = [apart / spread, *np.eye(3), *-np.eye(3)], -math.inf
        for weights, forward in itertools.product(tried, (True, False)):
            a, b = (side @ weights for side in ((likely, other) if forward else (other, likely)))
            grid = np.unique(np.quantile(np.concatenate([a, b]), np.arange(126) / 126))
            best = max(
                best, *(_spent((int((a >= t).sum()), int((b >= t).sum())), (250, 250), 0.01, 0.01) for t in grid)
            )
        a, b = (int(found.event.holds(side).sum()) for side in (likely, other))
        yield Fact(
            "no half-space tried shows more in the first halves", _spent((a, b), (250, 250), 0.01, 0.01), best, 1e-9
        )
        back = event_from(found.event.content())
        yield Holds("it is read as it was written", bool((back.holds(sides[0]) == found.event.holds(sides[0])).all()))


LOOSE: dict[str, Any] = {"alpha taken 5 % larger": {"facts": {"factor": 1.05}}}

BEYOND_AUDIT_NOISE = Claim(
    id="ftrl/beyond-audit-noise",
    where="beyond the paper: what audits say of noise and events",
    kind="privacy",
    statement=(
        "Intervals of proportions and of the distance of two means, and tails of correlations, distances and Laplace "
        "differences, have the chances they state;",
        "looks at differences of noise compute the p-values of their scales, groups, shapes and correlations, and find "
        "outputs and combinations without noise;",
        "an event shows the epsilon of its Clopper-Pearson bounds, is counted on runs that did not choose it, and none "
        "of those it was chosen among shows more on the runs that did.",
    ),
    checks=(
        Agreement(decides="a", facts=_ends, impostors=LOOSE),
        Agreement(decides="b", facts=_looks, impostors=LOOSE),
        Agreement(decides="c", facts=_events, impostors=LOOSE),
    ),
)
