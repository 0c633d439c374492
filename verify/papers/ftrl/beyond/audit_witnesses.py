"""Beyond the paper: what witnesses, promises, events and coefficients say, against formulas of their own."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy import stats
from scipy.optimize import brentq

from dpbounds.audit import (
    Audit,
    GaussianEvent,
    coefficients_of,
    evaluated,
    event_interval,
    judged,
    laplace_epsilon,
    poisson_epsilon,
    promise_of,
    shift_interval,
    shuffled_epsilon,
)
from dpbounds.audit.intervals import gaussian_scale_interval, laplace_scale_interval
from dpbounds.audit.results import Coverage, Curve, Step
from dpbounds.audit.witnesses import exceeds, spent_by_law, stands_out, witness
from dpbounds.ftrl.design.participation import Participation
from simulators.audit import audit
from verify.checks import Agreement, Fact, Holds, Times, Within, refused
from verify.statements.claims import Claim


def _delta(mu: float, epsilon: float) -> float:
    """Of a Gaussian mechanism."""
    moved = stats.norm.logcdf(-mu / 2 - epsilon / mu)
    return float(stats.norm.cdf(mu / 2 - epsilon / mu)) - math.exp(epsilon + float(moved))


def _epsilon(mu: float, delta: float) -> float:
    return float(brentq(lambda epsilon: _delta(mu, epsilon) - delta, 0.0, 50.0, xtol=1e-13))  # pyright: ignore


# --- promises and events ---


def _promises(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """What a promise allows, and what events spend of it."""
    pair, pure, rho, mu = promise_of((0.8, 1e-3)), promise_of(0.8), promise_of({"rho": 0.18}), promise_of({"mu": 0.6})
    texts = ["(0.8, 0.001)-DP", "(0.8, 0)-DP", "0.18-zCDP", "0.6-GDP"]
    yield Holds("promises in words", [one.text for one in (pair, pure, rho, mu)] == texts)
    yield Holds("one of them is pure", [one.pure for one in (pair, pure, rho, mu)] == [False, True, False, False])
    yield Fact("levels", [one.level for one in (pair, pure, rho, mu)], [0.8, 0.8, 0.18, 0.6])
    yield Fact("mu of each but the first", [one.gaussian_mu for one in (pure, rho, mu)], [0.0, 0.6, 0.6])
    yield Fact("mu of the first: delta", _delta(pair.gaussian_mu, 0.8), 1e-3, 1e-8)
    spent = [one.of_gaussian(0.5) for one in (pair, rho, mu)]
    yield Fact("spent by mu = 0.5", spent, [_epsilon(0.5, 1e-3), 0.125, 0.5], 1e-8)
    yield Fact(
        "spent by no noise, and by none that is needed",
        [pair.of_gaussian(2e4), pair.of_gaussian(0.0)],
        [math.inf, 0.0],
        0,
    )
    yield Fact("of a pure promise", [pure.of_gaussian(0.5), pure.of_gaussian(0.0)], [math.inf, 0.0], 0)
    below = [pair.delta_at(one) for one in (0.0, 0.5, 0.8, 2.0)]
    yield Fact("delta elsewhere", below, [1.0, 1e-3 + math.exp(0.3) - 1, 1e-3, 1e-3])
    yield Fact("delta of rho and mu", [rho.delta_at(0.4), mu.delta_at(0.4)], [_delta(0.6, 0.4)] * 2, 1e-9)
    again = [promise_of(one.content()) for one in (pair, pure, rho, mu)]
    yield Holds("promises are read as they were written", again == [pair, pure, rho, mu])
    noise: dict[str, Any] = {"noise_multiplier": 4.0}
    for label, event, times in (
        ("every record in each of 3 steps, 2 times", GaussianEvent(kind="gaussian", steps=3, epochs=2, **noise), 6),
        ("all sampled", GaussianEvent(kind="poisson", steps=3, epochs=2, **noise), 6),
        ("a known order", GaussianEvent(kind="fixed", steps=3, epochs=2, **noise), 2),
    ):
        yield Fact(f"{label}: mu", event_interval(event, mu), [math.sqrt(times) / 4] * 2)
        yield Fact(f"{label}: rho", event_interval(event, rho), [times / 32] * 2)
    sampled = GaussianEvent(kind="poisson", sampling_probability=0.1, steps=2, epochs=3, **noise)
    yield Fact("sampled", event_interval(sampled, pair), poisson_epsilon(0.25, 0.1, 6, 1e-3), 0)
    shuffled = GaussianEvent(kind="shuffled", steps=5, **noise)
    yield Fact("shuffled", event_interval(shuffled, pair), shuffled_epsilon(0.25, 5, 1e-3), 0)


def _coefficients(rng: np.random.Generator) -> Iterator[Fact | Holds | Within]:
    """Encoders, their mu to the last digits, and both rims of a promise."""
    column = np.array([2.4, 1.2, 0.6])
    made = coefficients_of(column, 4, noise_multiplier=2.0)
    plain = [[column[i - j] if 0 <= i - j < 3 else 0.0 for j in range(4)] for i in range(4)]
    yield Fact("the matrix of a column", made.encoder, plain, 0)
    size = float(np.linalg.norm(column))
    for adjacency, factor in (("zero-out", 1.0), ("replace-one", 2.0)):
        for times, value, steps in ((1, size, 400), (2, math.sqrt(2) * size, 400), (2, math.sqrt(2) * size, 6)):
            taken = Participation.min_separation(2, 3) if times == 2 else Participation.single()
            found = judged(
                coefficients_of(column, steps, noise_multiplier=2.0, participation=taken),
                promise_of({"mu": 1.0}),
                adjacency,  # pyright: ignore[reportArgumentType]
            )
            mu, unit = factor * value / 2, 2.0**-53
            operations = (2 * steps + times**2 + 20) * unit
            moved = times * math.sqrt(steps) * 2.4 * 4e-15
            wide = 1.01 * (operations * times**2 * size**2 + moved * (2 * value + moved))
            apart = wide * (factor / 2) ** 2 / mu + 16 * unit * mu
            yield Fact(f"{adjacency}, {times} times: mu", (found.low + found.high) / 2, mu, 1e-13)
            yield Fact(
                "distance of its bounds, from rounding", found.high - found.low, apart, 2e-3 if steps > 6 else 5e-3
            )
            yield Fact("spent", found.spent, [found.low, found.high], 0)
    noise = coefficients_of(column, 4, noise_multiplier=size / 1.3)
    for name, level in (("mu", 1.3), ("rho", 0.845), ("epsilon", _epsilon(1.3, 1e-3))):
        fates = []
        for share in (1 - 5e-9, 1 - 3e-10, 1 + 5e-9):
            claim = {name: share * level} | ({"delta": 1e-3} if name == "epsilon" else {})
            found = judged(noise, promise_of(claim), "zero-out")
            fates.append((found.proved, found.refuted))
        yield Holds(
            f"{name} just too small, within 1e-9, large enough", fates == [(False, True), (True, False), (True, False)]
        )
    yield from _audits(coefficients_of(column, 4, noise_multiplier=2 * size))
    for steps in (1, 3):
        alone = coefficients_of([1.5], steps, noise_multiplier=2.0).encoder
        yield Fact(f"a column of one number, {steps} steps", alone, 1.5 * np.eye(steps), 0)
    above = np.array([[1.0, 0.0, 0.0], [0.5, 1.0, 0.1], [0.25, 0.5, 1.0]])
    yield refused("what looks ahead", "encoder", lambda: coefficients_of(above, 3, noise_multiplier=2.0))
    wild = coefficients_of(
        np.array([1.0, -0.9, 0.8]), 6, noise_multiplier=1.0, participation=Participation.min_separation(2, 1)
    )
    open_one = judged(wild, promise_of({"mu": 0.1}), "zero-out")
    yield Holds(
        "where the sensitivity is only bounded nothing is refuted", not open_one.refuted and not open_one.proved
    )
    yield Fact("and nothing is spent for certain", [open_one.low, open_one.spent[0]], [0.0, 0.0], 0)


def _audits(noise: Any) -> Iterator[Fact | Holds | Within]:
    """Audits that run nothing."""
    for level, verdict in ((0.4, "refuted"), (0.625, "proved")):
        started = time.process_time()
        found = audit(noise, {"mu": level}, adjacency="zero-out")
        seconds = time.process_time() - started
        yield Holds(f"coefficients against {level:g}", found.verdict == verdict and not found.needs)
        yield Fact("their slack and mu", [found.slack, *found.epsilon], [2 * level, 0.5, 0.5], 1e-9)
        yield Holds("their witness", (found.witness is not None and evaluated(found.witness).refuted) == (level < 0.5))
        yield Fact("their calls", found.steps[0].calls, 0, 0)
        yield Within("their seconds", found.steps[0].seconds, least=0.0, most=seconds)
        event = GaussianEvent(kind="gaussian", noise_multiplier=2.0)
        started = time.process_time()
        found = audit(event, {"mu": level}, adjacency="zero-out")
        seconds = time.process_time() - started
        yield Holds(f"an event against {level:g}", found.verdict == (verdict if level < 0.5 else "consistent"))
        yield Holds("and its witness", (found.witness is not None) == (level < 0.5) and not found.needs)
        yield Within("its seconds", found.steps[0].seconds, least=0.0, most=seconds)
    shuffled = GaussianEvent(kind="shuffled", noise_multiplier=1.0, steps=5)
    low, high = shuffled_epsilon(1.0, 5, 1e-3)
    for level, word in ((0.99 * low, "refuted"), ((low + high) / 2, "unclear"), (1.01 * high, "consistent")):
        found = audit(shuffled, (level, 1e-3), adjacency="zero-out")
        yield Holds(f"shuffled steps are {word}", found.verdict == word and bool(found.needs) == (word == "unclear"))


# --- witnesses ---


def _again(kind: str, claim: dict[str, float], **numbers: Any) -> tuple[bool, float, str]:
    found = evaluated(json.loads(json.dumps(witness(kind, claim, **numbers))))
    return found.refuted, found.spent, found.words


def _witnesses(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact | Holds]:
    """Every kind on both sides of its claim."""
    mu, size = {"mu": 1.0}, factor * 1.0
    for narrow, moved, refuted in ((False, 5e-9, False), (False, 2e-8, True), (True, 5e-5, False), (True, 2e-4, True)):
        shift = [0.6 * size * (1 + moved), 0.8 * size * (1 + moved)]
        found = _again("declared", mu, family="gaussian", shift=shift, narrow=narrow)
        yield Holds(f"{moved:g} beyond a claim, narrow {narrow}", found[0] == refuted)
        yield Fact("declared Gaussian noise: mu", found[1], 1 + moved, 1e-12)
    yield Fact(
        "declared Laplace noise",
        _again("declared", {"epsilon": 1.0}, family="laplace", shift=[-0.5, 0.75])[:2],
        [1, 1.25],
        0,
    )
    ends = laplace_epsilon(0.05, [0.5, 0.75])
    found = _again("declared", {"epsilon": 1.0, "delta": 0.05}, family="laplace", shift=[-0.5, 0.75])
    yield Fact("with delta", found[1], ends[0], 0)
    yield Fact(
        "spent by law: Gaussian", spent_by_law("gaussian", np.array([3.0, -4.0]), 2.0, promise_of(mu)), [2.5, 2.5]
    )
    yield Fact(
        "spent by law: Laplace", spent_by_law("laplace", np.array([3.0, -4.0]), 2.0, promise_of(1.0)), [3.5, 3.5]
    )
    halves = spent_by_law("laplace", np.array([1.0, -1.5]), 2.0, promise_of((1.0, 0.05)))
    yield Fact("with delta", halves, ends, 0)
    yield Holds(
        "beyond rounding", [exceeds(x, promise_of(mu)) for x in (1.0, 1 + 5e-9, 1 + 2e-8)] == [False, False, True]
    )
    for family, interval, power in (("gaussian", gaussian_scale_interval, 2), ("laplace", laplace_scale_interval, 1)):
        total, high = 50.0**power, interval(50.0**power, 400, 1e-4)[1]
        found = _again(
            "scale",
            {"epsilon": 1.0, "delta": 0.01},
            family=family,
            sum=total,
            number=400,
            shift=[0.3 * high, 0.4 * high],
            alpha=1e-4,
        )
        spent = _epsilon(0.5, 0.01) if family == "gaussian" else laplace_epsilon(0.01, [0.3, 0.4])[0]
        yield Fact(f"{family} scale: spent", found[1], spent, 1e-8)
        yield Holds(
            "its words", found[2] == f"the scale is at most {high:.6g} declared units but with probability 0.0001"
        )
    yield Fact(
        "what marks a direction without noise",
        [
            stands_out(*case)
            for case in (
                (1e-3, 0.1001, 2.0, 1e-5),
                (1e-3, 0.0999, 2.0, 1e-5),
                (1e-9, 2.001e-3, 2.0, 1e-5),
                (1e-9, 1.999e-3, 2.0, 1e-5),
                (0.0, 1.0, 1.0, 0.0),
                (0.0, 1.0, 1.0, 1e-4),
                (0.0, 1.0, 1.0, 2e-4),
                (0.0, 1.0, 1.0, -1e-9),
            )
        ],
        [1, 0, 1, 0, 1, 1, 0, 0],
        0,
    )
    plain: dict[str, Any] = {"family": "gaussian", "shift": [1.5]}
    yield Fact("a pair may hold anything", _again("declared", mu, **plain, pair={"first": math.nan})[1], 1.5)
    yield refused("a number that is none", "witness", lambda: _again("declared", mu, **plain, narrow=math.nan))
    for moved, refuted in ((-0.11, True), (0.09, False)):
        found = _again("singular", {"epsilon": 1.0}, noise=-1e-3, moved=moved, size=-2.0, rounding=1e-5)
        spent = math.inf if refuted else 0.0
        yield Holds(f"a direction that moves by {moved:g}", (found[0], found[1]) == (refuted, spent))
    for hits, trials, delta in (([80, 10], [100, 120], 0.0), ([80, 10], [100, 120], 0.2)):
        low = float(stats.beta.ppf(5e-4, hits[0], trials[0] - hits[0] + 1))
        high = float(stats.beta.ppf(1 - 5e-4, hits[1] + 1, trials[1] - hits[1]))
        found = _again("event", {"epsilon": 1.0, "delta": delta}, hits=hits, trials=trials, alpha=1e-3)
        spent = math.log((low - delta) / high)
        yield Fact(f"an event, delta {delta:g}", [found[0], found[1]], [spent > 1, spent], 1e-9)
        yield Holds("its words", found[2] == "an event has 80 of 100 runs on one side and 10 of 120 on the other")
    samples = (0.0, 90.0, 100), (3.0, 110.0, 90)
    low = shift_interval(*samples, 1e-3)[0]
    found = _again("means", {"rho": 1.0}, first=list(samples[0]), second=list(samples[1]), alpha=1e-3)
    yield Fact("two means: rho", [found[0], found[1]], [low**2 / 2 > 1, low**2 / 2], 1e-9)
    for level, refuted in ((0.499, True), (0.501, False)):
        event = {"kind": "gaussian", "noise_multiplier": 2.0}
        yield Fact(f"a curve against {level:g}", _again("curve", {"mu": level}, event=event)[:2], [refuted, 0.5], 1e-12)
        numbers: dict[str, Any] = {"encoder": [[1.0, 0.0], [0.75, 1.0]], "steps": 2, "noise_multiplier": 2.5}
        numbers |= {"participation": {"kind": "single", "times": 1, "separation": 1}, "adjacency": "zero-out"}
        yield Fact("coefficients", _again("coefficients", {"mu": level}, **numbers)[:2], [refuted, 0.5], 1e-9)
    yield from _scales()


def _scales() -> Iterator[Fact | Holds]:
    """Two scales: the wider one may be either, the claim on either side."""
    sums, numbers = [300.0, 1500.0], [200, 240]
    for turned in (False, True):
        given = {"sums": sums[::-1] if turned else sums, "numbers": numbers[::-1] if turned else numbers}
        ends = [gaussian_scale_interval(*one, 1e-3) for one in zip(given["sums"], given["numbers"], strict=True)]
        small, large = sorted(ends)
        a, d, epsilon = (large[0] / small[1]) ** 2, 3, 0.5
        radius = (epsilon + d / 2 * math.log(a)) / ((1 - 1 / a) / 2)
        delta = float(stats.chi2.sf(radius / a, d)) - math.exp(epsilon) * float(stats.chi2.sf(radius, d))
        settings: dict[str, Any] = {"family": "gaussian", "outputs": d, "alpha": 1e-3, **given}
        found = _again("scales", {"epsilon": epsilon}, **settings)
        words = f"scales lie in [{ends[0][0]:.4g}, {ends[0][1]:.4g}] and [{ends[1][0]:.4g}, {ends[1][1]:.4g}]"
        yield Holds(
            f"two scales, the second wider {not turned}",
            found == (True, math.inf, f"{words}: delta is at least {delta:.3g}"),
        )
        for off, refuted in ((-3e-10, True), (3e-10, False)):
            # Rounding is 1e-8 of what is claimed, and the error of a curve.
            claimed = (delta - 1e-8) / (1 + 1e-8) + off
            found = _again("scales", {"epsilon": epsilon, "delta": claimed}, **settings)
            yield Holds(f"against their delta, {off:g} beside rounding", found[:2] == (refuted, 0.0))
        for claimed, refuted, spent in ((0.0, True, math.inf), (0.01, False, 0.0)):
            found = _again("scales", {"epsilon": 1.0, "delta": claimed}, **{**settings, "family": "laplace"})
            yield Holds(f"Laplace scales, delta {claimed:g}", found[:2] == (refuted, spent))
        near = _again("scales", {"epsilon": 1.0}, **{**settings, "sums": [300.0, 330.0]})
        yield Holds("intervals that meet", near[:2] == (False, 0.0))


# --- results ---


class _Axes:
    """Keeps what is drawn."""

    def __init__(self) -> None:
        self.drawn: list[tuple[str, Any]] = []

    def __getattr__(self, name: str) -> Any:
        return lambda *given, **named: self.drawn.append((name, given))


def _results(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Curves, rows and texts of results."""
    gaussian, laplace = Curve("gaussian", 0.5, 0.8), Curve("laplace", 0.5, 2.0, (0.6,))
    yield Fact(
        "a Gaussian curve", [gaussian.delta(0.4, end) for end in (0, 1)], [_delta(0.5, 0.4), _delta(0.8, 0.4)], 1e-9
    )
    yield Fact("at its ends", [Curve("gaussian", 0.0, 2e4).delta(0.4, end) for end in (0, 1)], [0.0, 1.0], 0)
    yield Fact(
        "a Laplace curve", [laplace.delta(0.2, 0), laplace.delta(0.2, 1)], [1 - math.exp(-0.05), 1 - math.exp(-0.5)]
    )
    common: dict[str, Any] = {"adjacency": "zero-out", "coverage": Coverage(3, 4, "3 of 4"), "verdict": "consistent"}
    rich = Audit(
        claim=promise_of((0.8, 1e-3)),
        epsilon=(1.5, math.inf),
        slack=1.25,
        curve=gaussian,
        needs="more | so",
        findings=("one",),
        assumed=("two",),
        support="floats",
        printed=" a \n b ",
        steps=(Step("s", "f", 7, 1.5),),
        **common,
    )
    lines = [
        "consistent: (0.8, 0.001)-DP, zero-out adjacency, per release",
        "epsilon that follows: 1.5 to inf, claimed 0.8",
        "noise over the least that keeps the claim: 1.25",
        "neighbours: 3 of 4",
        "needs: more | so",
        "found: one",
        "assumed: two",
        "outputs: floats",
        "step s: f (7 calls, 1.50 s)",
        "it printed: a b",
    ]
    yield Holds("a text", rich.text == "\n  ".join(lines) and repr(rich) == rich.text)
    marked = "**consistent**: (0.8, 0.001)-DP, zero-out adjacency, per release\n"
    marked += "".join(f"\n- {line.replace('|', chr(92) + '|')}" for line in (*lines[1:8], lines[9]))
    marked += "\n\n| step | found | calls | seconds |\n|---|---|---|---|\n| s | f | 7 | 1.50 |\n"
    yield Holds("a text for notebooks", rich._repr_markdown_() == marked)
    row = rich.row()
    shown = (row["epsilon"], row["coverage"]["ran"], row["steps"][0]["calls"], row["claim"], row["slack"])
    yield Holds("a row", shown == ([1.5, math.inf], 3, 7, {"epsilon": 0.8, "delta": 1e-3}, 1.25))
    for claim, spent, reach in (
        ((0.8, 1e-3), (1.5, 2.0), 1.8),
        ((0.8, 1e-3), (0.3, 2.0), 1.6),
        (0.3, (0.3, 1.0), 1.0),
        ({"mu": 1.0}, (0.5, 1.0), 2.0),
        (0.8, (math.inf, math.inf), 1.6),
    ):
        found = Audit(claim=promise_of(claim), epsilon=spent, curve=laplace, **common)
        curves, grid = found.curves(), np.arange(200) * reach / 199
        yield Fact(f"the picture of {found.claim.text} ends at", curves["epsilon"], grid, 1e-12)
        yield Fact("its claim", curves["claimed"], [found.claim.delta_at(one) for one in grid], 1e-9)
        each = [np.maximum(1 - np.exp((grid - 0.6 * one) / 2), 0.0) for one in (0.5, 2.0)]
        yield Fact("its curve", curves["found"], each, 1e-9)
        axes = _Axes()
        found.plot(axes)
        yield Holds("is drawn", [name for name, _ in axes.drawn] == ["plot", "fill_between", "plot", "set", "legend"])
    axes = _Axes()
    Audit(claim=promise_of(0.8), epsilon=(0.3, 1.0), **common).plot(axes)
    yield Holds("without a curve the end is", axes.drawn[1] == ("axvline", (0.3,)))
    axes = _Axes()
    Audit(claim=promise_of({"mu": 1.0}), epsilon=(0.3, 1.0), **common).plot(axes)
    yield Holds("but of mu", [name for name, _ in axes.drawn] == ["plot", "set", "legend"])
    axes = _Axes()
    with patch("matplotlib.pyplot.subplots", lambda: (None, axes)):
        yield Holds("on axes of its own", Audit(claim=promise_of(0.8), epsilon=(0.3, 1.0), **common).plot() is axes)


OFF: dict[str, Any] = {"1e-3 off": {"facts": Times(1.001)}}

BEYOND_AUDIT_WITNESSES = Claim(
    id="ftrl/beyond-audit-witnesses",
    where="beyond the paper: promises, witnesses and results of audits",
    kind="privacy",
    statement=(
        "Promises, and what Gaussian mechanisms and accountants' events spend of them, are as their formulas say;",
        "coefficients have mu between bounds as far apart as rounding can move them, and prove or refute a promise "
        "up to 1e-9 of its level;",
        "each kind of witness refutes what its numbers exceed beyond rounding, and nothing else;",
        "results show their curves, the claim and what was found.",
    ),
    checks=(
        Agreement(decides="a", facts=_promises, impostors=OFF),
        Agreement(decides="b", facts=_coefficients, impostors=OFF),
        Agreement(decides="c", facts=_witnesses, impostors={"shifts 1e-3 larger": {"facts": {"factor": 1.001}}}),
        Agreement(decides="d", facts=_results, impostors=OFF),
    ),
)
