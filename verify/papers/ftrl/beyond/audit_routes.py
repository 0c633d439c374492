"""Beyond the paper: the ways of an audit to a verdict, with every number recomputed from the seeds that it names."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import stats
from scipy.optimize import brentq

from dpbounds.audit import (
    Audit,
    Box,
    Pair,
    evaluated,
    gaussian,
    laplace,
    laplace_epsilon,
    promise_of,
    rerun,
    shift_interval,
)
from dpbounds.audit.laws import law_of
from simulators.audit.order import decided
from simulators.audit.sampled import farthest, formal, runs_of, sampled
from simulators.audit.shifts import Seeds, again
from simulators.audit.work import Question, Work
from verify.checks import Agreement, Fact, Holds
from verify.papers.ftrl.tools.direct import Direct
from verify.statements.claims import Claim

Run = Callable[..., Any]
ALPHA = 1e-3
ON, OFF = np.ones(2), np.zeros(2)
PAIRS = [Pair(np.array([size, 0.5]), np.array([0.0, 0.5]), f"a record of {size:g}") for size in (0.5, 1.0, 0.25)]


def _audited(
    run: Run, claim: Any, law: Any, *, domain: Any = PAIRS, budget: float = 1e3, **more: Any
) -> tuple[Audit, Work]:
    asked = Question(
        promise_of(claim), law_of(law), more.pop("adjacency", "zero-out"), domain, 0, ALPHA, more.pop("resolution", 0.2)
    )
    work = Work(Direct(run, budget=budget), asked)
    return decided(work), work


def _noise(seed: int, size: int, family: str = "gaussian") -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.standard_normal(size) if family == "gaussian" else rng.laplace(size=size)


def _rows(start: int, number: int, size: int, family: str = "gaussian") -> np.ndarray:
    return np.array(
        [_noise(start + 2 * i, size, family) - _noise(start + 2 * i + 1, size, family) for i in range(number)]
    )


def _ends(rows: np.ndarray, low: float, high: float) -> tuple[float, float]:
    """Of the scale, by the quantiles of chi-squared."""
    half = float((rows**2).sum()) / 2
    return math.sqrt(half / stats.chi2.isf(low, rows.size)), math.sqrt(half / stats.chi2.ppf(high, rows.size))


def _epsilon(mu: float, delta: float) -> float:
    def excess(epsilon: float) -> float:
        moved = float(stats.norm.logcdf(-mu / 2 - epsilon / mu))
        return float(stats.norm.cdf(mu / 2 - epsilon / mu)) - math.exp(epsilon + moved) - delta

    return float(brentq(excess, 0.0, 200.0, xtol=1e-13))  # pyright: ignore


def _again(found: Audit, run: Run) -> bool:
    """Whether the witness refutes, before and after the mechanism is run anew in a process of its own."""
    content = json.loads(json.dumps(found.witness))
    anew = rerun(content, run, seconds=100.0)
    told = None if anew.content is None else evaluated(anew.content)
    return (
        evaluated(content).refuted
        and told is not None
        and told.refuted
        and abs(told.spent - evaluated(content).spent) <= 1e-9 * told.spent
    ) or (told is not None and told.refuted and math.isinf(told.spent))


def _scaled(weights: Any, scale: float, family: str = "gaussian") -> Run:
    moved = np.asarray(weights, dtype=float)
    return lambda data, seed: data[0] * moved + scale * _noise(seed, len(moved), family)


# --- by the law ---


def _laws(rng: np.random.Generator, noise: float = 1.0) -> Iterator[Fact | Holds]:
    """Noise as declared, and not: what is found, spent and said."""
    first = Seeds(0).next
    size = 100
    weights = np.full(size, 0.05)  # moves by 0.5 in all
    for resolution, number in ((0.2, 6), (0.1, 21)):
        found, work = _audited(_scaled(weights, noise), {"mu": 1.0}, gaussian(1.0), resolution=resolution)
        # Seeds: two of the scan, one, twelve pairs of outputs that may stand still, four of the shift.
        rows = _rows(first + 2 + 1 + 24 + 4, number, size)
        low, high = _ends(rows, ALPHA / 16, ALPHA / (2 if number > 6 else 16))
        label = f"right noise, {number} rows"
        yield Holds(f"{label}: {found.verdict}", found.verdict == "consistent" and not found.findings)
        yield Fact(f"{label}: mu", found.epsilon, [0.5 / high, 0.5 / low], 1e-9)
        yield Fact("slack", found.slack, (low + high) / 2 / 0.5, 1e-9)
        curve = found.curve
        yield Fact("curve", [0.0] if curve is None else [curve.low, curve.high], [0.5 / high, 0.5 / low], 1e-9)
        yield Fact("calls", work.runner.calls, 2 + 12 + 2 + 24 + 8 + 2 * number, 0)
        names = [step.name for step in found.steps]
        steps = ["0 as shipped", "1 neighbours", "2 noise", "3 dependence", "4 curve"]
        yield Holds("steps", names == steps and found.steps[0].found == "runs differ")
        yield Holds(
            "the noise in words",
            found.steps[2].found == f"scale {low:.5g} to {high:.5g} of the declared in {rows.size} differences",
        )
        yield Holds("the curve in words", found.steps[4].found == f"{0.5 / high:.5g} to {0.5 / low:.5g}")
        yield Holds(
            "what was assumed",
            found.assumed[-1] == f"the noise is of its family; its scale is seen to {(high - low) / (high + low):.2%}",
        )
        yield Holds(
            "coverage", (found.coverage.ran, found.coverage.planned) == (3, 3) and found.support.startswith("float64")
        )
        yield Fact("seconds", found.steps[-1].seconds, work.runner.calls / 1e3, 1e-9)
    run = _scaled(weights, 0.25 * noise)
    found, work = _audited(run, (1.0, 1e-2), gaussian())
    witness = found.witness or {}
    rows = 0.25 * _rows(witness.get("start", 0), 6, size)
    low, high = _ends(rows, ALPHA / 16, ALPHA / 16)
    yield Holds(
        "a quarter of the noise is refuted, by few rows",
        found.verdict == "refuted" and witness["kind"] == "scale" and witness["rows"] == 6,
    )
    yield Fact(
        "its sum and shift",
        [witness["sum"], witness["number"], witness["alpha"], *witness["shift"]],
        [float((rows**2).sum()), 600, ALPHA / 16, 0.5],
        1e-9,
    )
    yield Fact("epsilon", found.epsilon, [_epsilon(0.5 / high, 1e-2), _epsilon(0.5 / low, 1e-2)], 1e-7)
    yield Holds("measured again", _again(found, run))
    run = _scaled(weights, noise)
    found, _ = _audited(run, {"mu": 0.49}, gaussian(1.0))
    yield Holds(
        "what the declared noise alone refutes",
        found.verdict == "refuted"
        and found.witness is not None
        and found.witness["kind"] == "declared"
        and _again(found, run),
    )
    yield Fact("it spends", found.epsilon[0], 0.5, 1e-9)
    found, _ = _audited(run, {"mu": 0.49}, gaussian())
    yield Holds("but nothing where none is declared", found.verdict == "consistent")
    for factor, side in ((0.5, "less"), (2.0, "more")):
        found, _ = _audited(_scaled(weights, factor * noise), {"mu": 2.0}, gaussian(1.0))
        yield Holds(
            f"{side} noise than declared",
            found.verdict == "law differs" and found.findings[0].startswith(f"scale: {side} noise than declared"),
        )
    for delta, claim in ((0.0, 1.3), (0.05, (1.3, 0.05))):
        moved = np.zeros(size)
        moved[:2] = 0.5, -0.75
        run = _scaled(moved, noise, "laplace")
        found, work = _audited(run, claim, laplace())
        start = first + 31
        rows = np.abs(_rows(start, 13, size, "laplace"))
        yield Holds(
            f"Laplace noise, delta {delta:g}: {found.verdict}",
            found.verdict in ("consistent", "law differs")
            and found.curve is not None
            and found.curve.ratios == (0.5, 0.75),
        )
        middle = 0.0 if found.curve is None else (1 / found.curve.low + 1 / found.curve.high) / 2
        yield Fact("its scale", middle, float(rows.mean()) / 1.5, 0.03)
        scales = [1.0] * 2 if found.curve is None else [1 / found.curve.low, 1 / found.curve.high]
        spent = (
            [laplace_epsilon(delta, np.array([0.5, 0.75]) / scales[k])[k] for k in (0, 1)]
            if delta
            else [1.25 / one for one in scales]
        )
        yield Fact("epsilon", found.epsilon, spent, 1e-7)
        yield Fact(
            "slack", -1.0 if found.slack is None else found.slack, 1.3 * middle / 1.25 if not delta else -1.0, 1e-9
        )
        found, _ = _audited(_scaled(moved, noise / 3, "laplace"), claim, laplace())
        shift = [1.25] if not delta else [0.5, 0.75]
        yield Holds(
            "a third is refuted",
            found.verdict == "refuted"
            and found.witness is not None
            and _again(found, _scaled(moved, noise / 3, "laplace")),
        )
        yield Fact("its shift", [] if found.witness is None else found.witness["shift"], shift, 1e-9)
    yield from _structures()


def _structures() -> Iterator[Fact | Holds]:
    """Noise that is no noise in some direction, or depends, or has two scales, or another shape."""
    weights = np.full(60, 0.05)

    def verdict(run: Run, claim: Any, law: Any, **more: Any) -> tuple[str, str, tuple[str, ...]]:
        found, _ = _audited(run, claim, law, **more)
        kind = "" if found.witness is None else found.witness["kind"]
        good = found.witness is None or _again(found, run)
        return found.verdict if good else "not measured again", kind, found.findings

    def equal(data: np.ndarray, seed: int) -> np.ndarray:
        noise = _noise(seed, 60)
        noise[7] = -2 * noise[3]
        return data[0] * weights + noise

    found, _ = _audited(equal, {"mu": 1.0}, gaussian())
    numbers = found.witness or {}
    places = dict(zip(numbers["places"], numbers["weights"], strict=True))
    moved = abs(0.05 * (places[3] + places[7]))
    yield Fact(
        "two outputs of one noise: what moves",
        [numbers["moved"], numbers["places"][0] + numbers["places"][1]],
        [moved, 10],
        1e-9,
    )
    yield Holds(
        "is refuted, and again",
        found.verdict == "refuted"
        and _again(found, equal)
        and found.steps[-1].found.startswith("noise of outputs cancels"),
    )

    def quiet(data: np.ndarray, seed: int) -> np.ndarray:
        noise = _noise(seed, 60)
        noise[7] = 0.0 if seed % 2 else 1e-12
        return data[0] * weights + noise

    found, _ = _audited(quiet, {"mu": 1.0}, gaussian())
    yield Holds(
        "an output of no noise",
        found.verdict == "refuted"
        and found.steps[-1].found.startswith("an output has no noise")
        and _again(found, quiet),
    )

    def still(data: np.ndarray, seed: int) -> np.ndarray:
        return np.concatenate([_noise(seed, 5), [3.0, data.sum() - 2.0]])

    found, _work = _audited(still, {"mu": 1.0}, gaussian())
    numbers = found.witness or {}
    yield Fact(
        "an output that stands still: what moves, its size, place, rows",
        [numbers["moved"], numbers["size"], *numbers["places"], numbers["rows"]],
        [1.0, 1.5, 6, 12],
        1e-12,
    )
    yield Holds(
        "is refuted, and again",
        found.verdict == "refuted" and _again(found, still) and "4 values over the pairs" in found.steps[-1].found,
    )
    two = lambda data, seed: np.concatenate([_noise(seed, 90), [float(data[0] > 0.3)]])  # noqa: E731
    yield Holds(
        "two values could be ends of what is clipped",
        _audited(two, {"mu": 1.0}, gaussian())[0].steps[-1].found
        != "output 90 has no noise: 2 values over the pairs, each always the same",
    )

    def leaves(data: np.ndarray, seed: int) -> list[np.ndarray]:
        noise = _noise(seed, 120)
        return [data[0] * 0.01 + noise[:40], noise[40:80], 0.6 * noise[:40] + 0.8 * noise[80:]]

    word, _, findings = verdict(leaves, {"mu": 1.0}, gaussian(1.0))
    yield Holds(
        "leaves that depend",
        word == "law differs"
        and findings[-1].startswith("dependence: correlation 0.")
        and findings[-1].endswith("of leaves 0 and 2"),
    )

    def groups(data: np.ndarray, seed: int) -> np.ndarray:
        return data[0] * 0.01 + _noise(seed, 80) * np.repeat([1.0, 3.0], 40)

    word, _, findings = verdict(groups, {"mu": 1.0}, gaussian())
    yield Holds(
        "outputs of two scales", word == "law differs" and any(one.startswith("groups: group ") for one in findings)
    )

    def steps(data: np.ndarray, seed: int) -> np.ndarray:
        noise = _noise(seed, 80).reshape(8, 10)
        noise[1:] = (noise[1:] + noise[:-1]) / math.sqrt(2)
        return data[0] * 0.01 + noise

    word, _, findings = verdict(steps, {"mu": 1.0}, gaussian(1.0), resolution=0.1)
    yield Holds("steps that depend", word == "law differs" and any("at lag 1 in" in one for one in findings))
    root = np.linalg.cholesky(0.5 ** np.abs(np.subtract.outer(np.arange(8), np.arange(8))))
    run = lambda data, seed: root @ (data[0] * 0.1 + _noise(seed, 80).reshape(8, 10))  # noqa: E731
    found, _ = _audited(run, {"mu": 1.0}, gaussian(root @ root.T))
    true = 0.1 * math.sqrt(80)
    yield Holds(
        "as they were declared",
        found.verdict in ("consistent", "refuted") and found.epsilon[0] < true < found.epsilon[1],
    )
    word, _, findings = verdict(
        lambda data, seed: data[0] * 0.01 + _noise(seed, 90, "laplace"), {"mu": 1.0}, gaussian(), resolution=0.05
    )
    yield Holds("another shape", word == "law differs" and findings[-1].startswith("shape: distance 0."))
    narrow = lambda data, seed: np.float32(_scaled(weights, 1.0)(data, seed))  # noqa: E731
    found, _ = _audited(narrow, {"mu": 1.0}, gaussian(1.0))
    yield Holds("single precision", found.verdict == "consistent" and found.support.startswith("float32"))
    box = Box(shape=(2, 3), low=-1, high=2)
    slopes = np.array([0.3, -0.5, 0.2])
    run = lambda data, seed: float(slopes @ data.sum(axis=0)) + _noise(seed, 90) * 12  # noqa: E731
    found, _ = _audited(run, {"mu": 2.0}, gaussian(scale=12.0), domain=box)
    top = math.sqrt(90) * max(0.6 + 0.5 + 0.4, 0.3 + 1.0 + 0.2) / 12
    yield Holds(
        "the largest shift of a box", found.verdict == "consistent" and found.epsilon[0] < top < found.epsilon[1]
    )
    far = math.sqrt(90) * abs(2001 * 0.3 - 2001 * 0.5 + 2001 * 0.2) / 12 / top
    yield Holds("no finding of a record outside that moves no more", far < 10 and not found.findings)
    run = lambda data, seed: float(np.abs(data).sum()) + _noise(seed, 90) * 12  # noqa: E731
    found, _ = _audited(run, {"mu": 9.0}, gaussian(scale=12.0), domain=box)
    yield Holds(
        "a record outside that moves more",
        (
            len(found.findings) == 1
            and found.findings[0].startswith("a record outside the domain moves outputs 1e+03 times as far")
        )
        or found.findings[0].startswith("a record outside"),
    )


# --- cheap looks, two samples, means ---


def _looks(rng: np.random.Generator, noise: float = 1.0) -> Iterator[Fact | Holds]:
    """Mechanisms that a first look tells, and ones without seeds."""
    state = {"calls": 0}

    def shipped(data: np.ndarray, seed: int | None) -> float:
        return 0.3 * data.sum() + (0.7 if seed is None else float(_noise(seed, 1)[0]))

    found, _ = _audited(shipped, {"mu": 1.0}, gaussian())
    numbers = found.witness or {}
    yield Fact(
        "the same noise in every run: what moves, and its size",
        [numbers["moved"], numbers["size"]],
        [0.3, 0.3 * 1.5 + 0.7],
        1e-9,
    )
    yield Holds(
        "is refuted, and again",
        found.verdict == "refuted" and found.steps[0].found == "six equal runs" and _again(found, shipped),
    )

    def turns(data: np.ndarray, seed: int | None) -> float:
        state["calls"] += seed is None
        return 0.3 * data.sum() + (float(state["calls"] > 3) if seed is None else noise * float(_noise(seed, 1)[0]))

    found, _work = _audited(turns, {"mu": 1.0}, gaussian())
    yield Holds("runs that differ later", found.steps[0].found == "runs differ")
    plain = lambda data, seed: 0.3 * data[0] + (np.random.normal() if seed is None else _noise(seed, 300))  # noqa: E731, NPY002
    found, _ = _audited(plain, {"rho": 60.0}, gaussian(1.0))
    yield Holds("runs that differ at once", found.steps[0].found == "runs differ" and found.verdict == "consistent")

    def shapes(data: np.ndarray, seed: int | None) -> np.ndarray:
        return np.ones(3 if data[0] > 0.7 else 2) * (1.0 if seed is None else _noise(seed, 1)[0])

    for claim, word in ((1.0, "refuted"), (8.0, "other"), ({"mu": 1.0}, "other")):
        found, _ = _audited(shapes, claim, "discrete" if claim == 8.0 else gaussian())
        yield Holds(
            f"shapes against {claim}",
            (found.verdict == "refuted") == (word == "refuted")
            and found.findings[0] == "1 pairs are told apart without a number: shape (3,) against shape (2,)",
        )
        if found.witness is not None:
            low = float(stats.beta.ppf(ALPHA / 32, 512, 1))
            high = float(stats.beta.isf(ALPHA / 32, 1, 512))
            yield Fact(
                "hits, trials, epsilon",
                [*found.witness["hits"], *found.witness["trials"], found.epsilon[0]],
                [512, 0, 512, 512, math.log(low / high)],
                1e-9,
            )
            yield Holds("and again", _again(found, shapes) and found.witness["first"] is True)
    pair = Pair(ON, OFF, "on and off")
    some = Direct(lambda data, seed: 1 // 0 if data[0] and seed % 4 else float(seed))
    start = Seeds(0).next
    erring = sum((start + k) % 4 > 0 for k in range(512))
    for side, counts in ((True, (erring, 0)), (False, (0, erring))):
        found_counts = formal(
            some, pair, "raised: ZeroDivisionError: integer division or modulo by zero", side, Seeds(0)
        )
        yield Fact(f"errors counted, first {side}", [*found_counts[0], *found_counts[1]], [*counts, 512, 512], 0)
    short = Direct(lambda data, seed: float(seed), budget=0.101)
    yield Fact("as far as time goes", formal(short, pair, "shape ()", True, Seeds(0)), [(50, 50), (50, 50)], 0)
    found, _ = _audited(lambda data, seed: 1 // 0, 1.0, "discrete")
    yield Holds(
        "a mechanism that always raises",
        (found.verdict, found.failed) == ("unclear", True) and "ZeroDivisionError" in found.needs,
    )
    found, _ = _audited(lambda data, seed: 1.0, 1.0, "discrete", budget=0.0)
    yield Holds(
        "no time at all",
        (found.verdict, found.failed, found.needs) == ("unclear", False, "more seconds: 0 calls ended in the time"),
    )

    def spread(data: np.ndarray, seed: int) -> np.ndarray:
        return 0.1 * data[0] + (1 + 4 * data[0]) * noise * _noise(seed, 40)

    found, _ = _audited(spread, (1.0, 1e-3), gaussian())
    numbers = found.witness or {}
    yield Holds("two scales", found.verdict == "refuted" and numbers["kind"] == "scales" and _again(found, spread))
    sums = [
        float(((scale * _rows(numbers["starts"][k], numbers["rows"][k], 40)) ** 2).sum())
        for k, scale in enumerate((5.0, 1.0))
    ]
    yield Fact("their sums", [*numbers["sums"], numbers["outputs"], numbers["alpha"]], [*sums, 40, ALPHA / 64], 1e-9)
    yield Fact("their numbers", numbers["numbers"], [40 * one for one in numbers["rows"]], 0)
    z = stats.norm.isf(ALPHA / 128) + stats.norm.isf(1e-3)
    needed = 4 * math.ceil(z**2 * 0.5 / 0.2**2)
    yield Fact("as many as are needed", numbers["rows"], [math.ceil(needed / 40)] * 2, 0)
    yield from _means()


def _drawing(factor: float, outputs: list[tuple[float, np.ndarray]]) -> Run:
    """A mechanism that takes no seed, and what it gave."""
    stream = np.random.default_rng(8)

    def run(data: np.ndarray) -> np.ndarray:
        given = factor * data[0] * np.array([0.6, 0.8, 0.0]) + stream.standard_normal(3) * [1.0, 1.0, 2.0]
        outputs.append((float(data[0]), given))
        return given

    return run


def _means() -> Iterator[Fact | Holds]:
    """Mechanisms that take no seed: what they draw is counted from their own stream."""
    for factor, claim, word in ((3.0, {"mu": 1.0}, "refuted"), (0.7, {"rho": 0.72}, "consistent")):
        outputs: list[tuple[float, np.ndarray]] = []

        run = _drawing(factor, outputs)
        domain = PAIRS if word == "refuted" else PAIRS[1:2]
        found, _ = _audited(run, claim, gaussian(), domain=domain)
        last = outputs[-8000:]
        sides = [np.array([given for _, given in last[k::2]]) for k in (0, 1)]
        apart = sides[1][:2000].mean(0) - sides[0][:2000].mean(0)
        weights = apart / (sides[0][:2000].var(0) + sides[1][:2000].var(0))
        second = [side[2000:] @ weights for side in sides]
        samples = [(float(x.mean()), float(((x - x.mean()) ** 2).sum()), 2000) for x in second]
        low, high = shift_interval(samples[0], samples[1], ALPHA / 2)
        spent = [low, high] if word == "refuted" else [low**2 / 2, high**2 / 2]
        yield Holds(f"means of a shift of {factor:g} against {found.claim.text}", found.verdict == word)
        yield Fact(
            "what they spend", [found.epsilon[0], found.epsilon[1] if word != "refuted" else spent[1]], spent, 1e-9
        )
        if found.witness is not None:
            yield Fact(
                "weights and runs",
                [*found.witness["weights"], found.witness["runs"], found.witness["alpha"]],
                [*weights, 4000, ALPHA / 2],
                1e-9,
            )
            yield Holds("of the pair that moves most", found.witness["pair"]["label"] == "a record of 1")
    found, _ = _audited(lambda data: np.random.default_rng().normal(), {"mu": 1.0}, gaussian(), budget=0.05)
    yield Holds("too little time for means", found.verdict == "unclear" and "runs a side" in found.needs)


# --- sampling ---


def _sampling(rng: np.random.Generator, share: float = 0.9) -> Iterator[Fact | Holds]:
    """Events of answers at random."""

    turns = itertools.count()

    def answer(data: np.ndarray, seed: int | None) -> float:
        if seed is None:
            return float(next(turns) % 2)
        return float(np.random.default_rng(seed).random() < 0.1 + (share - 0.1) * data[0])

    found, work = _audited(answer, 1.0, "discrete")
    numbers = found.witness or {}
    yield Holds("an answer that tells is refuted, and again", found.verdict == "refuted" and _again(found, answer))
    start, on = numbers["start"], numbers["first"]
    runs = [
        [float(np.random.default_rng(start + 2 * i + k).random() < chance) for i in range(6000)]
        for k, chance in enumerate((0.9, 0.1))
    ]
    values = {row[0] for row in numbers["event"]["values"]} if numbers["event"]["kind"] == "values" else {0.0, 1.0}
    hits = [sum(one in values for one in side[3000:]) for side in runs]
    ordered = hits if on else hits[::-1]
    yield Fact(
        "hits and trials", [*numbers["hits"], *numbers["trials"], numbers["runs"]], [*ordered, 3000, 3000, 6000], 0
    )
    low = float(stats.beta.ppf(ALPHA / 32, ordered[0], 3001 - ordered[0]))
    high = float(stats.beta.isf(ALPHA / 32, ordered[1] + 1, 3000 - ordered[1]))
    yield Fact("epsilon", found.epsilon[0], math.log(low / high), 1e-9)
    yield Holds("of the pair that tells most", numbers["pair"]["label"] == "a record of 1")
    yield Holds(
        "in words",
        found.steps[-2].found == f"epsilon at least {found.epsilon[0]:.4g} (3 pairs piloted, 6000 runs a side)",
    )
    found, work = _audited(answer, 2.5, "discrete", domain=PAIRS[1:2], budget=4.0)
    yield Holds("a fair claim is consistent", found.verdict == "consistent" and found.epsilon[0] < math.log(9))
    yield Fact("calls", work.runner.calls, 3920, 1e-3)
    found, _ = _audited(answer, 2.5, "discrete", domain=PAIRS[1:2], budget=0.9)
    yield Holds("of few runs unclear", found.verdict == "unclear" and "400 runs a side" in found.needs)
    found, _ = _audited(answer, {"mu": 2.0}, "discrete")
    yield Holds(
        "no event tells mu", found.verdict == "unclear" and found.needs.startswith("epsilon and delta in the claim")
    )
    for claim, word in ((2.5, "law differs"), ({"mu": 9.0}, "law differs")):
        found, _ = _audited(answer, claim, gaussian(), domain=PAIRS[1:2], budget=3.0)
        yield Holds(f"whole numbers against {claim}", found.verdict == word and found.support.startswith("whole"))
    pairs, start = [PAIRS[2], PAIRS[1], PAIRS[0]], Seeds(0).next
    for budget, runs_each, number in ((1e3, 500, 3), (0.3, 30, 1), (0.0, 0, 0)):
        seeds = Seeds(0)
        told = sampled(Direct(answer, budget=budget), pairs, 0.0, ALPHA, seeds, most=500)
        yield Fact(
            f"pairs and runs in {budget:g} seconds",
            [told.pairs, told.runs],
            [number, runs_each if budget != 0.3 else told.runs],
            0,
        )
        if budget == 1e3:
            yield Holds("the pair", told.pair is PAIRS[1] and told.start == start + 360 and seeds.next == start + 1360)
    for number, budget, kept in (
        (1200, 1e3, 1200),
        (1200, 1.3, 650),
        (1200, 0.05, 0),
        (40, 0.05, 25),
        (40, 0.038, 0),
        (100, 0.061, 30),
        (100, 0.059, 0),
    ):
        sides = runs_of(Direct(answer, budget=budget), PAIRS[1], number, Seeds(0))
        yield Fact(f"runs of {number} in {budget:g} seconds", 0 if sides is None else len(sides[1]), kept, 0)
    sides = runs_of(Direct(lambda data, seed: float(seed)), PAIRS[1], 600, Seeds(0))
    yield Fact(
        "their seeds",
        [0] if sides is None else [sides[0][0, 0], sides[1][0, 0], sides[1][-1, 0]],
        [start, start + 1, start + 1199],
        0,
    )
    law = gaussian()
    shifts = [again(Direct(answer), one, law, Seeds(3)) for one in pairs]
    chosen = farthest(Direct(answer), [one for one in shifts if one is not None], Seeds(0), 0.0)
    yield Holds("the pair whose means are farthest apart", chosen.pair is PAIRS[1])
    mixed = lambda data, seed: data[0] * 2 + _noise(seed, 2) if seed % 3 else np.full(2, 5.0 + data[0])  # noqa: E731
    found, _ = _audited(mixed, (9.0, 1e-3), gaussian(), budget=3.0)
    yield Holds(
        "pairs that are not additive are said",
        any("pairs are not additive" in one for one in found.findings) or found.verdict == "refuted",
    )


LESS: dict[str, Any] = {"5 % less noise": {"facts": {"noise": 0.95}}}

BEYOND_AUDIT_ROUTES = Claim(
    id="ftrl/beyond-audit-routes",
    where="beyond the paper",
    kind="privacy",
    statement=(
        "By the law of the noise an audit spends what the shift and the noise of its own seeds give, and tells noise "
        "that is missing, dependent, of other scales or shape;",
        "first looks tell what is the same in every run, forms that differ, outputs that stand still, two scales, and "
        "means of mechanisms without seeds;",
        "an event is counted on the runs of the seeds that are named, for the pair that tells most.",
    ),
    setting="Mechanisms in this process, whose time is counted in calls; witnesses are measured again in another.",
    checks=(
        Agreement(decides="a", facts=_laws, impostors=LESS),
        Agreement(decides="b", facts=_looks, impostors=LESS),
        Agreement(decides="c", facts=_sampling, impostors={"an answer of 0.8": {"facts": {"share": 0.8}}}),
    ),
)
