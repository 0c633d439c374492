"""Where fits of designs begin, within what bounds and for how long they search, and what nearest coefficients are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
from scipy import optimize

from dpbounds import AccuracyError
from dpbounds.ftrl.design import (
    Blt,
    Objective,
    Participation,
    fit_bands,
    fit_coefficients,
    fit_monotone_blt,
    fit_scaled_blt,
    fitting,
)
from dpbounds.ftrl.design.fitting import fit_minimax_blt, fit_scales
from verify.checks import Fact, Holds, Within

EIGENVALUES = np.array([0.9, 0.2])
ONCE = Participation.single()


def fits(rng: np.random.Generator) -> Iterator[Fact | Holds | Within]:
    """What SciPy is told, and what comes of its answers; weights in any units; nearest coefficients; scales."""
    del rng
    yield from _beginnings()
    yield from _targets()
    yield from _long()
    yield from _bands()
    yield from _answers()
    yield from _weights()
    yield from _nearest()
    yield from _scales()


def _told(call: Callable[[], Any], end: float = 0.0, moved: float = 0.0) -> tuple[list[SimpleNamespace], Any]:
    """What each search is given, and what comes out if it ends with this value where it began, or beside that."""
    searches: list[SimpleNamespace] = []

    def stayed(target: Any, start: np.ndarray, **given: Any) -> SimpleNamespace:
        end_point = np.array(start) + moved * np.cos(1.7 * np.arange(len(start)))
        searches.append(SimpleNamespace(target=target, start=np.array(start), end=end_point, **given))
        return SimpleNamespace(x=end_point, fun=end, message="stayed")

    with mock.patch.object(optimize, "minimize", stayed):
        return searches, call()


def _run(steps: int) -> Objective:
    """Rates that fall, weights that rise."""
    t = np.arange(steps) / steps
    return Objective(EIGENVALUES, steps, schedule=0.5 - 0.2 * t, weights=(0.2 + t) ** 2, batch_size=3)


def _log_odds(blt: Blt) -> np.ndarray:
    """Of its decays and those of its inverse in turn, from the slowest on: log ((1 - phi) / phi)."""
    decays = np.sort([*blt.buf_decay, *blt.inverse().buf_decay])[::-1]
    return np.log(1 / decays - 1)


def _beginnings() -> Iterator[Fact | Holds]:
    """Log-odds evenly spaced, the slowest at half of the slowest mean rate and of 1/T, the fastest a decay of 1/4."""
    for buffers, steps, most in ((1, 40, 80), (2, 40, 100), (3, 1024, 120)):
        run = _run(steps)
        low = np.log((0.2 * run.learning_rates.mean() + 1 / steps) / 2)
        fits: dict[str, tuple[int, Callable[[], Blt]]] = {
            "scaled": (5, lambda run=run, buffers=buffers: fit_scaled_blt(run, buffers).blt),
            "plain": (0, lambda run=run, buffers=buffers: fit_scaled_blt(run, buffers, rows=False).blt),
            "monotone": (0, lambda run=run, buffers=buffers: fit_monotone_blt(run, ONCE, buffers)),
        }
        for name, (shapes, call) in fits.items():
            (search,), blt = _told(call)
            label = f"{name}, {buffers} buffers, {steps} steps"
            yield Fact(f"{label}: log-odds", _log_odds(blt), np.linspace(low, np.log(3), 2 * buffers), 1e-7)
            yield Fact(f"{label}: rows", search.start[2 * buffers :], np.zeros(shapes), 0)
            yield Fact(f"{label}: most steps", search.options["maxiter"], most, 0)
            gaps = [(np.log(0.02), np.log(12))] * (2 * buffers - 1)
            stated = [(np.log(0.02 / steps), 0.0), *gaps, *[(-30.0, 30.0)] * shapes]
            yield Fact(f"{label}: where it stays", np.array(search.bounds), np.array(stated))
            value, slope = search.target(np.full(len(search.start), 1e3))
            above = value > 1e2 and not slope.any()
            yield Holds(f"{label}: where floats end, no way on", bool(above))


def _targets() -> Iterator[Fact]:
    """What is minimised is the logarithm of the value, of a family the norm of its ratios; slopes by differences."""
    run, other = _run(12), Objective(EIGENVALUES, 12, eta=0.3, batch_size=2)
    twice, family = Participation.min_separation(2, 5), [run, other]
    for moved in (0.0, 0.3):
        _, (near, _) = _told(lambda: fit_minimax_blt(family, np.ones(2), 2), moved=moved)
        references = np.array([float(one.value(near)) for one in family]) * [1.0, 1.01]
        targets: dict[str, tuple[Callable[[], Any], Callable[[Any], float]]] = {
            "scaled": (lambda: fit_scaled_blt(run, 2), lambda made: float(run.value(made))),
            "plain": (lambda: fit_scaled_blt(run, 2, rows=False), lambda made: float(run.value(made))),
            "monotone": (lambda: fit_monotone_blt(run, twice, 2), lambda made: float(run.value(made, twice))),
            "minimax": (
                lambda references=references: fit_minimax_blt(family, references, 2)[0],
                lambda made, references=references: float(
                    np.linalg.norm([float(one.value(made)) for one in family] / references, 80)
                ),
            ),
        }
        for label, (call, value) in targets.items():
            (search,), made = _told(call, moved=moved)
            found, slope = search.target(search.end)
            yield Fact(f"{label}, {moved:g} from the start: value", found, np.log(value(made)), 1e-9)
            moves = 1e-5 * np.eye(len(slope))
            sides = [(search.target(search.end + e)[0] - search.target(search.end - e)[0]) / 2e-5 for e in moves]
            yield Fact(f"{label}, {moved:g} from the start: slopes", slope, sides, 1e-6)
    t = np.arange(12) / 12
    shapes = np.column_stack([*(np.log(1 - t) ** k for k in (1, 2, 3)), t, np.log(run.learning_rates)])
    for label, one, number in (("rates that fall", run, 5), ("constant rates", other, 4)):
        features = fitting._features(one)
        inside = shapes[:, :number] - shapes[0, :number]
        left = inside - features @ np.linalg.lstsq(features, inside, rcond=None)[0]
        yield Fact(f"{label}: shapes of rows, {features.shape[1]}", 1 + left, np.ones((12, number)))
        yield Fact(f"{label}: number of shapes", features.shape[1], number, 0)


def _long() -> Iterator[Fact]:
    """Long runs start from a quarter of them, the slowest decay moved by its log-odds and no other."""
    for rows in (True, False):
        searches, _ = _told(lambda rows=rows: fit_scaled_blt(_run(5120), 2, rows=rows))
        label = f"long, rows {rows}"
        yield Fact(f"{label}: most steps", [one.options["maxiter"] for one in searches], [60, 30, 30], 0)
        slowest = [np.log(0.02 / steps) for steps in (1024, 1280, 5120)]
        yield Fact(f"{label}: slowest rates", [one.bounds[0][0] for one in searches], slowest)
        odds = [np.cumsum([one.start[0], *np.exp(one.start[1:4])]) for one in searches]
        yield Fact(f"{label}: the slowest is slower, no other", np.diff(odds, axis=0), [[-0.7, 0, 0, 0]] * 2, 1e-12)
    (search,), _ = _told(lambda: fit_monotone_blt(_run(1025), ONCE, 2))
    yield Fact("long, monotone: most steps", search.options["maxiter"], 30, 0)


def _bands() -> Iterator[Fact | Holds]:
    """Their cost is that of the run itself up to a number of steps, of its stationary part beyond."""
    for steps, stated in ((1024, "banded_cost"), (1025, "stationary_cost")):
        asked: list[str] = []

        def cost(name: str, asked: list[str] = asked) -> Callable[..., Any]:
            def evaluated(*_: Any) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
                asked.append(name)
                return lambda c: (float(c @ c) if c[1] < 9 else np.inf, 2 * c)

            return evaluated

        costs: dict[str, Any] = {name: cost(name) for name in ("banded_cost", "stationary_cost")}
        with mock.patch.multiple(fitting, **costs):
            (search,), _ = _told(lambda steps=steps: fit_bands(_run(steps), 3))
        label = f"bands, {steps} steps"
        yield Holds(f"{label}: which cost", asked == [stated])
        yield Fact(f"{label}: most steps", search.options["maxiter"], 150, 0)
        value, slope = search.target(np.array([0.5, -0.25]))
        yield Fact(f"{label}: its logarithm and slopes", [value, *slope], [np.log(1.3125), 1 / 1.3125, -0.5 / 1.3125])
        value, slope = search.target(np.full(2, 9.0))
        yield Holds(f"{label}: where floats end, no way on", value > 1e2 and not slope.any())


def _answers() -> Iterator[Holds]:
    """A search that ends where floats end has found nothing."""
    run = _run(40)
    for label, end, call in (
        ("BLT", 1e3, lambda: fit_scaled_blt(run, 1)),
        ("monotone BLT", 1e3, lambda: fit_monotone_blt(run, ONCE, 1)),
        ("bands", 1e299, lambda: fit_bands(run, 2)),
    ):
        said = []
        for value in (0.999 * end, end):
            try:
                _told(call, value)
                said.append(False)
            except AccuracyError:
                said.append(True)
        yield Holds(f"{label}: nothing found is said", said == [False, True])


def _weights() -> Iterator[Fact]:
    """The worst of two losses in other units: as before, and where one is far above the other, all weight on it."""
    family = [_run(14), Objective(EIGENVALUES, 14, eta=0.3, batch_size=2)]
    _, (mechanism, _) = _told(lambda: fit_minimax_blt(family, np.ones(2), 1))
    worst = np.array([one.noise_power(mechanism) for one in family]) * np.array([1.0, 1.02])
    _, plain = _told(lambda: fit_minimax_blt(family, worst, 1))
    _, small = _told(lambda: fit_minimax_blt(family, 1e-5 * worst, 1))
    _, apart = _told(lambda: fit_minimax_blt(family, np.array([1.0, 1e-8]), 1))
    yield Fact("weights of two losses: their ratio", plain[1][0] / plain[1][1], 1.02**80, 1e-9)
    yield Fact("weights in other units", small[1], plain[1], 1e-9)
    yield Fact("weights of losses far apart", apart[1], [0.0, 1.0], 0)


def _nearest() -> Iterator[Fact]:
    """Sampled lags stand for those up to half way to their neighbours: nothing near has a smaller sum of squares."""
    yield Fact("one coefficient", fit_coefficients(np.array([2.0, 1.0]), 1).inverse_coefficients(2), [1.0, 0.5], 1e-8)
    own = Blt((0.99, 0.6), (0.2, 0.3))
    found = fit_coefficients(own.inverse_coefficients(400), 2)
    yield Fact(
        "two buffers by their own coefficients", [*found.buf_decay, *found.output_scale], [0.99, 0.6, 0.2, 0.3], 1e-8
    )
    short = fit_coefficients(np.array([1.0, 0.5, *[0.0] * 9]), 2).inverse_coefficients(11)
    yield Fact("two buffers where one will do", short, [1.0, 0.5, *[0.0] * 9], 1e-3)
    for size, buffers in ((40, 1), (900, 1), (3000, 3)):
        c = (1.0 + np.arange(size)) ** -0.6
        lags = sorted({round((size - 1) ** (i / 199)) for i in range(200)})
        shares = [_share(lags, i) for i in range(len(lags))]
        blt = fit_coefficients(3.0 * c, buffers)
        at = np.log([*blt.buf_decay, *blt.output_scale])

        def missed(logs: np.ndarray, lags=lags, shares=shares, c=c) -> np.ndarray:
            decays, scales = np.exp(np.split(logs, 2))
            return np.sqrt(shares) * [scales @ decays ** (t - 1) - c[t] for t in lags]

        nearest: Any = optimize.least_squares(missed, at, xtol=1e-14, ftol=1e-14, gtol=1e-14)
        yield Fact(f"{buffers} buffers nearest to {size} coefficients: their logarithms", at, nearest.x, 1e-3)


def _share(lags: list[int], i: int) -> float:
    """Half the way to each neighbour; the first and the last one's whole way to their only one."""
    ends = max(i - 1, 0), min(i + 1, len(lags) - 1)
    return (lags[ends[1]] - lags[ends[0]]) / (ends[1] - ends[0])


def _scales() -> Iterator[Fact | Within]:
    """Of independent noise for records that take part in any k steps: no other least scale is better, by a scan; steps
    that cost nothing have scales a millionth of the largest cost's.
    """
    run = Objective(EIGENVALUES, 6, schedule=np.array([0.05, 0.9, 0.2, 0.6, 0.02, 0.3]), batch_size=3)
    costs = np.diag(run.gram())
    for times in range(1, 7):

        def value(v: np.ndarray, times=times) -> float:
            return float(np.sort(v)[-times:].sum() * np.sum(costs / v))

        made = value(np.diag(fit_scales(run, times).encoder(6)) ** 2)
        others = min(value(np.maximum(np.sqrt(costs), u)) for u in np.sqrt(costs.max()) * np.geomspace(1e-3, 3, 3001))
        yield Within(f"scales for {times} uses over the best of a scan", made / others, 0.999, 1.0 + 1e-12)
    early = Objective(EIGENVALUES, 6, eta=0.3, weights=np.array([1.0, 1.0, 2.0, 1.0, 0.0, 0.0]))
    v = np.diag(fit_scales(early, 6).encoder(6)) ** 2
    most = np.sqrt(np.diag(early.gram()).max())
    yield Fact("scales where steps cost nothing", v[4:] / most, np.full(2, 1e-6))
