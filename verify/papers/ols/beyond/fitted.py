"""Beyond the paper: the release behind `dpbounds.private.LinearRegression`, what follows from it, and its forecast."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache

import numpy as np

from dpbounds.audit.accounted import event_interval, event_of
from dpbounds.audit.promises import promise_of
from dpbounds.ols import Ranges
from dpbounds.ols.fitted import released_forecast, stand_in_forecast
from dpbounds.ols.tail_averaged import TailAveraged, replacement_cost
from dpbounds.privacy import gaussian_mu
from dpbounds.private import LinearRegression
from simulators.ols import LeastSquares, TailDraws, tail_release, tail_runs
from simulators.ols.estimator import Adjacency
from simulators.sources import GaussianSource
from verify.checks import Agreement, Fact, GaussianPrivacy, Holds, Neighbours, Within
from verify.checks.replayed import Replayed, shifts
from verify.statements.claims import Claim

# --- privacy ---

RANGES, OUTCOME = ((0.0, 10.0), (-3.0, 1.0)), (-2.0, 6.0)
RECORDS, EPSILON, DELTA = 30, 1.0, 1e-5
CASES: tuple[tuple[Adjacency, bool], ...] = (("zero-out", False), ("replace-one", True), ("replace-one", False))
# The record in the middle of all ranges is 0 in their units where there is no intercept.
MIDDLE = (5.0, -1.0, 2.0)
# Corners, beside them, beyond the ranges, and drawn ones; the outcome last.
PLANTED = ((10.0, 1.0, 6.0), (0.0, 1.0, -2.0), (9.0, -2.9, 6.0), (1e9, 1.0, 1e9), (5.1, -1.0, 6.0), (3.3, -2.2, 0.7))


class Observed(LinearRegression):
    """With a source that somebody watches."""

    watched: GaussianSource | None = None

    def source(self, n: int, d: int) -> GaussianSource:
        """The one that is watched."""
        return self.watched or super().source(n, d)


def _fit(records: np.ndarray, source: GaussianSource | None, adjacency: Adjacency, intercept: bool) -> Observed:
    model = Observed(
        epsilon=EPSILON,
        delta=DELTA,
        ranges=RANGES,
        outcome_range=OUTCOME,
        adjacency=adjacency,
        fit_intercept=intercept,
        seed=0,
    )
    model.watched = source
    model.fit(records[:, :2], records[:, 2])
    return model


def _records(planted: tuple[float, ...], case: int) -> np.ndarray:
    """All others at one corner with the least outcome, or drawn: the fit then never meets a large planted outcome."""
    rng = np.random.default_rng(case)
    low, high = np.array([*RANGES, OUTCOME]).T
    others = np.tile([10.0, 1.0, -2.0], (RECORDS, 1)) if case % 2 == 0 else rng.uniform(low, high, (RECORDS, 3))
    return np.vstack([planted, others])


@cache
def _costs() -> dict[str, float]:
    """Of each pair, the distance of all that is noised in units of the noise, the second data set meeting the outputs
    of the first.
    """
    costs = {}
    for adjacency, intercept in CASES:
        for number, planted in enumerate(PLANTED):
            opposite = (*planted[:2], sum(OUTCOME) - planted[2])
            sets = [_records(one, number % 3) for one in (planted, MIDDLE if adjacency == "zero-out" else opposite)]

            def release(k: int, source: GaussianSource, case=(adjacency, intercept), sets=sets) -> Observed:
                return _fit(sets[k], source, *case)

            moved = shifts(release, np.random.default_rng(number))
            cost = math.sqrt(sum(np.sum((part / scale) ** 2) for part, scale in moved))
            costs[f"{adjacency}, intercept {intercept}, record {number}"] = cost
    return costs


def _pairs(noise: float = 1.0) -> Iterator[Neighbours]:
    """A shift by the distance, in one dimension, against the budget."""
    rho = float(gaussian_mu(EPSILON, DELTA)) ** 2 / 2
    for label, cost in _costs().items():
        yield Neighbours(label=label, shift=np.array([cost]), covariance=noise**2 * np.eye(1), claimed_rho=rho)


def _kept(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact | Holds]:
    """Any other records that meet the same outputs give the same model, to the bit; and the event is the budget."""
    first = Replayed(rng)
    model = _fit(_records(PLANTED[0], 1), first, "zero-out", True)
    other = _fit(rng.uniform(-1e3, 1e3, (RECORDS + 1, 3)), Replayed(rng, first.answers), "zero-out", True)
    yield Holds("the same saved model", model.content() == other.content())
    yield Holds("the same estimate", bool(np.all(model.theta_ == other.theta_)))
    yield Holds("the same forecast", model.excess_ == other.excess_ and model.resolved_ == other.resolved_)
    X, y = rng.uniform(0.0, 10.0, (500, 2)), rng.uniform(-2.0, 6.0, 500)
    law = stand_in_forecast(model.settings_, model.ranges_, X, y)
    units = (OUTCOME[1] - OUTCOME[0]) ** 2 / 4 / 500
    yield Fact("forecast of records that stand in", model.expected_excess(X, y), factor * units * law.risk, 1e-9)
    spent = event_interval(event_of(model.event_), promise_of((EPSILON, DELTA)))
    yield Fact("epsilon of the event at delta", np.array(spent), factor * np.ones(2), 1e-9)
    yield Fact("released numbers", float(sum(np.size(one) for one in first.answers)), 15 + 6 + 128 * 4, 0)


def _attained(rng: np.random.Generator, share: float = 1.0) -> Iterator[Within]:
    """The dearest pairs spend all of mu, and of the bound for replaced rows all but the room that it leaves."""
    mu = float(gaussian_mu(EPSILON, DELTA))
    zeroed, replaced = (
        max(cost for label, cost in _costs().items() if name in label) for name in ("zero-out", "replace-one")
    )
    yield Within("zero-out, share of mu", zeroed / mu, least=share * (1 - 1e-9))
    yield Within("replace-one, share of mu", replaced / mu, least=share * 0.95)
    yield Within("cost of a replaced row over that of a zeroed one", float(replacement_cost()), 3.6, 3.62)


BEYOND_FIT_PRIVACY = Claim(
    id="ols/beyond-fit-privacy",
    where="Beyond the paper: privacy of a private fit",
    kind="privacy",
    statement=(
        (
            "All that a fit of `dpbounds.private.LinearRegression` releases is one adaptive Gaussian composition that "
            "costs at most $mu$, whatever the records are, beyond their ranges too: for rows zeroed out in units of "
            "the ranges, and with the noise for replaced rows for these;"
        ),
        "zeroed rows reach $mu$;",
        "coefficients, forecast and saved model are functions of what is released, of $n$ and of the parameters;",
        r"and the event beside them is a Gaussian one of noise multiplier $1\/mu$, which spends $epsilon$ at $delta$.",
    ),
    setting="31 records, 2 columns, $epsilon = 1$, $delta = 10^(-5)$; planted records at corners, beyond and within.",
    checks=(
        GaussianPrivacy(decides="a", pairs=_pairs, impostors={"0.1 % less noise": {"pairs": {"noise": 0.999}}}),
        Agreement(decides="b", facts=_attained, impostors={"0.1 % more": {"facts": {"share": 1.001}}}),
        Agreement(decides="cd", facts=_kept, impostors={"0.1 % more": {"facts": {"factor": 1.001}}}),
    ),
)

# --- what is forecast ---

RUNS, RELEASES = 80, 2
# Records, columns, mu, and whether rows and errors have heavy tails.
DRAWN = ((600, 2, 2.0, False), (1500, 4, 1.0, True))
WIDE = 8.0


def _drawn(n: int, d: int, heavy: bool, rng: np.random.Generator) -> tuple[Ranges, np.ndarray, np.ndarray]:
    X = rng.standard_t(5, (n, d)) if heavy else rng.uniform(-3, 3, (n, d))
    errors = rng.standard_t(4, n) if heavy else rng.uniform(-2, 2, n)
    y = X @ np.linspace(1.0, -0.5, d) + errors
    return Ranges(columns=((-4.0, 4.0),) * d, outcome=(-WIDE, WIDE)), X, y


def _forecasts(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact | Within | Holds]:
    """Mean simulated risk against the law on the same records, and against what each of a few releases forecasts."""
    for n, d, mu, heavy in DRAWN:
        ranges, X, y = _drawn(n, d, heavy, rng)
        data = ranges.data(X, y, beyond="clip")
        problem, settings = LeastSquares(regressors=data.regressors, outcome=data.outcome), TailAveraged(mu=mu)
        draws = TailDraws.fresh(rng, RUNS, problem.d, settings.steps)
        mean = float(tail_runs(problem, settings, draws)["risk"].mean())
        label = f"n = {n}, d = {d}, mu = {mu:g}"
        stated = float(stand_in_forecast(settings, ranges, X, y).risk)
        yield Within(f"law of the records over simulated, {label}", factor * stated / mean, 0.5, 2.0)
        for _ in range(RELEASES):
            theta, release = tail_release(problem, settings, GaussianSource(rng))
            ratio = factor * float(released_forecast(release, theta)) / mean
            yield Holds(f"no direction is hidden, {label}", release.resolved)
            yield Within(f"forecast of a release over simulated, {label}", ratio, 0.4, 2.5)


def _hidden(rng: np.random.Generator, spread: float = 0.01, seen: int = 40) -> Iterator[Within]:
    """A column that hardly moves within its range is hidden, and said to be."""
    ranges, X, y = _drawn(1500, 2, False, rng)
    data = ranges.data(X * (1.0, spread), y)
    problem = LeastSquares(regressors=data.regressors, outcome=data.outcome)
    found = [tail_release(problem, TailAveraged(mu=0.5), GaussianSource(rng))[1].resolved for _ in range(seen)]
    yield Within("releases of 40 that hide no direction", float(sum(found)), most=0.75 * seen)


BEYOND_FIT_FORECAST = Claim(
    id="ols/beyond-fit-forecast",
    where="Beyond the paper: forecast of a private fit",
    kind="mc-equality",
    statement=(
        "The mean risk of such fits is what the law of TAP on records that stand in for the private ones forecasts, "
        "within a factor 2;",
        "what a single release forecasts of itself is within a factor 2.5 of it where no direction is hidden;",
        "a column that hardly moves within its range is reported as hidden by at least a quarter of the releases.",
    ),
    setting="Two laws of records, 600 and 1500 of them, $mu = 2$ and 1; 80 runs and 2 releases of each.",
    checks=(
        Agreement(
            decides="ab",
            facts=_forecasts,
            alpha=1e-11,
            impostors={"three times as much": {"facts": {"factor": 3.0}}, "a third": {"facts": {"factor": 1 / 3}}},
        ),
        Agreement(
            decides="c", facts=_hidden, alpha=1e-11, impostors={"a column that moves": {"facts": {"spread": 1.0}}}
        ),
    ),
)
