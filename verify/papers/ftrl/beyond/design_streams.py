"""Bounds streamed for long runs: what their search does with what it is told; their rational root; their chains."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from unittest import mock

import mpmath as mp
import numpy as np
from scipy import optimize

from dpbounds.ftrl.design import Objective, smoother
from dpbounds.ftrl.design.acceleration import Anderson
from dpbounds.ftrl.design.smoother import States, _Covariance, _peak, compressed, rational_root, streamed_bound
from dpbounds.ftrl.design.watching import Watch
from verify.checks import Fact, Holds, Within


def streams(rng: np.random.Generator) -> Iterator[Fact | Holds | Within]:
    """Searches told what they gain, what is taken off for errors, intervals, shifts, chains that stand for many."""
    del rng
    yield from _searches()
    yield from _taken_off()
    yield from _intervals()
    yield from _shifts()
    yield from _compressions()


def _told(steps: int, norms: list[float], tolerance: float, watch: Watch | None = None) -> tuple[Any, list[Any]]:
    """The bound of a search that finds these norms one after the other, then ever larger ones; what it asked for."""
    asked: list[Any] = []

    def diagonal(objective: Objective, states: States, q: np.ndarray, tolerance: float) -> np.ndarray:
        at = len(asked)
        norm = norms[at] if at < len(norms) else 2.0**at
        asked.append((q, tolerance, states))
        return norm * (1.0 + np.arange(steps)) / (steps * (steps + 1) / 2)

    def chains(objective: Objective, sought: float = 1e-8) -> Any:
        return States(keep=np.ones((steps, 1)), variance=np.ones((steps, 1)), rates=np.ones(steps), error=sought)

    with mock.patch.multiple(smoother, root_diagonal=diagonal, compressed=chains):
        return streamed_bound(Objective(np.ones(1), steps, eta=0.5), tolerance=tolerance, watch=watch), asked


def _searches() -> Iterator[Fact | Holds]:
    """A step that gains too little ends a search, and so do three that lose; the best q counts, not the last."""
    for steps, most in ((4, 60), (6250, 40), (60_000, 10)):
        seen: list[tuple[int, int]] = []
        watch = Watch(progress=lambda done, all, what, seen=seen: seen.append((done, all)))
        found, asked = _told(steps, [], 1e-6, watch)
        yield Fact(f"{steps} steps, ever more: evaluations", [found.iterations, len(asked)], [most, most + 1], 0)
        yield Fact(f"{steps} steps: progress", np.array(seen), [[done + 1, most] for done in range(most)], 0)
    over = _told(4, [], 1e-6, Watch(seconds=1e-9))[0]
    yield Fact("no time left: evaluations", over.iterations, 1, 0)
    # (norms, tolerance) -> steps taken, which of them is the best; 1.5625 is the square of 1.25, without rounding
    scripts: dict[str, tuple[list[float], float, int, int]] = {
        "a gain at the tolerance": ([1.0, 1.25], 0.5625, 2, 1),
        "a gain above it": ([1.0, 1.26, 1.26], 0.5625, 3, 1),
        "nothing gained": ([1.0, 1.0], 1e-2, 2, 0),
        "three that lose a little": ([1.0, 0.999, 0.999, 0.999], 1e-2, 4, 0),
        "two that lose, one that gains": ([1.0, 0.9, 0.9, 1.5, 1.4, 1.4, 1.4], 1e-2, 7, 3),
        "a gain of a few per cent between losses": ([1.0, 0.99, 1.02, 0.99, 0.99, 0.99], 1e-2, 6, 2),
        "of large norms": ([10.0, 9.0, 9.0, 9.0], 1e-2, 4, 0),
        "of small norms": ([0.1, 0.09, 0.09, 0.09], 1e-2, 4, 0),
    }
    for label, (norms, tolerance, steps, best) in scripts.items():
        found, asked = _told(4, [*norms, 3.0], tolerance)
        yield Fact(f"{label}: evaluations", [found.iterations, len(asked)], [steps, steps + 1], 0)
        yield Fact(f"{label}: the best q", found.dual, asked[best][0], 0)
        yield Fact(f"{label}: the q of the bound", asked[-1][0], found.dual, 0)
        yield Fact(f"{label}: the bound there", float(found), 9 * (1 - 1e-7))
    for tolerance, coarse in ((1e-6, 1e-4), (1e-2, 1e-2)):
        _, asked = _told(4, [1.0, 1.0], tolerance)
        given = [[one[1], one[2].error] for one in asked]
        yield Fact(f"to {tolerance:g}: accuracies", given, [[coarse, 1e-6], [coarse, 1e-6], [tolerance, 1e-8]], 0)
    _, asked = _told(4, [1.0, 1.5, 1.0], 1e-2)
    search = Anderson.uniform(4)
    search.step(np.arange(1.0, 5.0) / 10, 1.0)
    yield Fact("the second q", asked[1][0], search.weights, 0)


def _taken_off() -> Iterator[Fact | Holds]:
    """Ten times the error of the chains that stand for others is taken off the bound."""
    run = Objective(np.array([0.9, 0.2]), 12, eta=0.5, batch_size=4)
    q = np.linspace(1.0, 3.0, 12) / 30
    states = compressed(run)
    values = np.linalg.eigvalsh(run.gram() * np.sqrt(np.outer(q, q)))
    for error in (0.0, 1e-3):
        with mock.patch.object(smoother, "compressed", lambda *_, error=error: replace(states, error=error)):
            found = streamed_bound(run, q=q, tolerance=1e-10)
        stated = np.sqrt(values).sum() ** 2 * (1 - 10 * error)
        yield Fact(f"bound with an error of {error:g}", float(found), stated, 1e-9)
        yield Fact("its error and evaluations", [found.compression, found.iterations], [error, 1], 0)
        yield Fact("its q", found.dual, q, 0)
        yield Holds("its kind", found.value.kind == "lower" and np.isnan(found.gap))


def _chain(curvature: float, rates: np.ndarray, omega: np.ndarray) -> np.ndarray:
    """G of one direction of exact gradients: a unit of noise in each step, followed to the end."""
    T = len(rates)
    left = np.zeros((T, T))
    for s in range(T):
        for t in range(s, T):
            left[s, t] = rates[s] if t == s else left[s, t - 1] * (1 - rates[t] * curvature)
    return left @ np.diag(0.5 * curvature * omega) @ left.T


def _intervals() -> Iterator[Fact | Within]:
    """From a fifth of the least variance that is new in a step to the largest row sum of moduli, chain by chain."""
    T, omega = 7, np.array([0.3, 0.1, 0.7, 0.2, 0.5, 0.4, 0.9])
    runs = {
        "slow": np.array([0.9, 0.3, 0.5, 0.2, 0.6, 0.4, 0.7]),
        "fast": np.array([0.9, 1.8, 0.5, 1.6, 1.3, 0.4, 1.7]),
        "all fast, one direction": np.array([1.9, 1.8, 1.5, 1.6, 1.3, 1.4, 1.7]),
    }
    q = np.array([0.2, 0.05, 0.3, 0.02, 0.11, 0.17, 0.15])
    for label, rates in runs.items():
        curvatures = np.array([1.0] if "one" in label else [1.0, 0.15])
        run = Objective(curvatures, T, schedule=rates, weights=omega, noiseless=True)
        parts = [_chain(one, rates, omega) for one in curvatures]
        fresh = [sum(1 / np.linalg.inv(part[t:, t:])[0, 0] for part in parts) for t in range(T)]
        for name, weights in (
            ("q", q),
            ("first steps", 0.1 ** np.arange(T)),
            ("one faint", np.where(q < 0.03, 1e-25, q)),
        ):
            rows = [sum(np.abs(part[s]) @ np.sqrt(weights) for part in parts) * np.sqrt(weights[s]) for s in range(T)]
            least = max(0.2 * min(weights * fresh), 1e-15 * max(rows))
            with mock.patch.object(smoother, "rational_root", side_effect=rational_root) as asked:
                streamed_bound(run, q=weights, tolerance=1e-3)
            (lower, upper), given = asked.call_args
            yield Fact(f"{label}, {name}: the interval", lower / upper, least / max(rows), 1e-9)
            yield Fact(f"{label}, {name}: its end", upper, max(rows), 1e-9)
            yield Fact(f"{label}, {name}: slack", given["slack"], 2.5e-4)
            values = np.linalg.eigvalsh(sum(parts) * np.sqrt(np.outer(weights, weights)))
            yield Within(f"{label}, {name}: the largest eigenvalue over its end", values[-1] / upper, 0.0, 1.0 + 1e-9)


def _shifts() -> Iterator[Fact | Within]:
    """Where no number of shifts is enough, the most there may be, below the root all the same."""
    shifts, weights = rational_root(1e-30, 1.0, slack=1e-9)
    yield Fact("most shifts", [len(shifts), len(weights)], [40, 40], 0)
    x = np.geomspace(1e-40, 1e10, 5001)
    ratio = np.sum(weights * np.sqrt(x)[:, None] / (x[:, None] + shifts), axis=1)
    yield Within("largest ratio to the root", float(ratio.max()), 0.999, 1.0)
    yield Fact("the peak of a parabola between samples", _peak(3 - (np.linspace(-2, 2, 9) - 0.1) ** 2), 3.0, 1e-14)
    yield Fact("of one of two", _peak(np.array([2.0, 4.0, 3.0, 5.0, 4.5, 1.0])), 5.0 + 1.5**2 / 20, 1e-14)
    yield Fact("the peak at an end", _peak(np.array([1.0, 2.0, 3.0, 4.5])), 4.5)
    for lower, upper, slack in ((1e-6, 1.0, 1e-3), (2.0, 70.0, 1e-4), (2.0, 70.0, 1e-6), (1e-30, 1.0, 0.05)):
        shifts, weights = rational_root(lower, upper, slack=slack)
        fewer, stated = (_zolotarev(lower, upper, number) for number in (len(shifts) - 1, len(shifts)))
        label = f"root on [{lower:g}, {upper:g}] to {slack:g}"
        yield Fact(f"{label}: shifts", np.log(np.sort(shifts)), np.log(stated[0]), 1e-9)
        weights = weights[np.argsort(shifts)]
        yield Fact(f"{label}: weights", np.log(weights / weights[0]), np.log(stated[1] / stated[1][0]), 1e-9)
        low, high = (_ends(lower, upper, *one) for one in (stated, fewer))
        yield Within(f"{label}: one shift less is not enough", 1 - high[0] / high[1], slack)
        yield Within(f"{label}: enough", 1 - low[0] / low[1], 0.0, slack)
        top = weights.sum() / stated[1].sum() * low[1]
        yield Within(f"{label}: largest ratio below 1 by", 1 - top, 0.99e-10, 5e-10)


def _zolotarev(lower: float, upper: float, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Shifts, and weights up to a factor, all of them from elliptic functions of 40 digits."""
    with mp.workdps(40):
        m = 1 - mp.mpf(lower) / mp.mpf(upper)
        nodes = [(2 * i + 1) * mp.ellipk(m) / (2 * number) for i in range(number)]
        sn, cn, dn = ([mp.ellipfun(name, node, m=m) for node in nodes] for name in ("sn", "cn", "dn"))
        shifts = [lower * (a / b) ** 2 for a, b in zip(sn, cn, strict=True)]
        weights = [a / b**2 for a, b in zip(dn, cn, strict=True)]
    return np.array(shifts, dtype=float), np.array(weights, dtype=float)


def _ends(lower: float, upper: float, shifts: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """The least and the largest ratio to the root inside, the latter by refining around the best of many places."""

    def ratio(log: np.ndarray) -> np.ndarray:
        x = np.exp(np.asarray(log))
        return np.sum(weights * np.sqrt(x)[..., None] / (x[..., None] + shifts), axis=-1)

    logs = np.linspace(np.log(lower), np.log(upper), 4001)
    found = ratio(logs)
    at, step = logs[found.argmax()], logs[1] - logs[0]
    for _ in range(2):
        near = np.linspace(at - step, at + step, 401)
        at, step = near[ratio(near).argmax()], step / 100
    return float(found.min()), float(ratio(np.array([at])).max())


def _places(T: int) -> list[tuple[int, int]]:
    """Pairs s <= t where errors are measured: t close together at both ends of the run, s for lags from 0 on."""
    near = {t for t in (0, *(round((T - 1) ** (i / 71)) for i in range(72))) if t < T}
    pairs = set()
    for t in near | {T - 1 - t for t in near}:
        lags = {0, *(round(max(t, 1) ** (i / 119)) for i in range(120))}
        pairs |= {(t - lag, t) for lag in lags if lag <= t}
    return sorted(pairs)


def _dense(states: States) -> np.ndarray:
    """The covariance that the chains have."""
    T = len(states.rates)
    G = np.zeros((T, T))
    for t in range(T):
        reach = states.variance[t].copy()
        for s in range(t, -1, -1):
            G[s, t] = G[t, s] = states.rates[s] * states.rates[t] * reach.sum()
            reach *= states.keep[s]
    return G


def _compressions() -> Iterator[Fact | Holds | Within]:
    """Sixteen different eigenvalues are used as they are; for more the error told is that of their covariance."""
    curvatures, omega = np.geomspace(0.02, 1.0, 17), np.linspace(0.2, 1.3, 25) ** 2
    rates = 0.9 - 0.03 * np.arange(25)
    doubled = np.array([*curvatures[:16], curvatures[3], curvatures[3], curvatures[9]])
    states = compressed(Objective(doubled, 25, schedule=rates, weights=omega, noiseless=True))
    yield Fact("sixteen: error", states.error, 0.0, 0)
    yield Fact("sixteen: what is kept", states.keep, 1 - np.outer(rates, curvatures[:16]), 1e-14)
    yield Fact("sixteen: covariance", _dense(states), sum(_chain(one, rates, omega) for one in doubled))
    yield from _candidates(Objective(curvatures, 25, schedule=rates, weights=omega, noiseless=True))
    # (steps, least curvature, how much rates rise and fall)
    for T, least, wave in ((1, 0.02, 0.0), (2, 0.02, 0.0), (25, 0.6, 0.0), (150, 0.02, 0.0), (200, 0.02, 0.8)):
        t, curvatures = np.arange(T), np.geomspace(least, 1.0, 17)
        rates, omega = np.linspace(0.9, 0.2, T), np.linspace(0.2, 1.3, T) ** 2
        if wave:
            rates, omega = 0.5 + 0.5 * wave * np.sin(1.3 * t), (1.1 + np.sin(t**2)) ** 3
        run = Objective(curvatures, T, schedule=rates, weights=omega, noiseless=True)
        gram = sum(_chain(one, rates, omega) for one in curvatures)
        scale = np.maximum(np.abs(gram), 1e-3 * np.sqrt(np.outer(np.diag(gram), np.diag(gram))))
        places, states = _places(T), compressed(run)
        off = np.abs(_dense(states) - gram) / scale
        yield Fact(f"{T} steps: where errors are looked for", np.array(smoother._places(T, 72, 120)).T, places, 0)
        yield Fact(f"{T} steps: the largest", 1 + states.error, 1 + max(off[place] for place in places), 1e-13)
        yield Within(f"{T} steps: error", states.error, 0.0 if T < 99 else 1e-11, 1e-8)
        counted = _Covariance.at(run, *np.array(places).T).scale
        yield Fact(f"{T} steps: what errors are relative to", np.log(counted), np.log([scale[one] for one in places]))


def _candidates(run: Objective) -> Iterator[Fact]:
    """More and more rates are tried until the error is the one sought, and the least error counts."""
    real, error = optimize.nnls, compressed(run, 1.0).error
    for label, sought, number, factor in (("enough", error, 1, 1.0), ("not enough", 0.0, 3, 1 + 1e-4)):
        tried: list[tuple[int, int]] = []

        def fitted(A: np.ndarray, b: np.ndarray, maxiter: int, tried=tried, factor=factor) -> tuple[np.ndarray, float]:
            tried.append((A.shape[1], maxiter))
            weights, left = real(A, b, maxiter=maxiter)
            return weights * (1.0 if len(tried) == 1 else factor), left

        with mock.patch.object(optimize, "nnls", fitted):
            states = compressed(run, sought)
        yield Fact(f"{label}: rates tried", tried, [(32, 320), (64, 640), (160, 1600)][:number], 0)
        yield Fact(f"{label}: error", states.error, error, 0)
