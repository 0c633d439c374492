"""Beyond the paper: an audit by the law of the noise, with every number recomputed from the seeds that it names."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from dpbounds.audit import (
    Box,
    gaussian,
    laplace,
    laplace_epsilon,
)
from simulators.audit.shifts import Seeds
from verify.checks import Agreement, Fact, Holds
from verify.papers.ftrl.tools.audited import (
    ALPHA,
    Run,
    audited,
    gaussian_epsilon,
    holds_again,
    noise_drawn,
    rows_drawn,
    scale_ends,
    scaled_noise,
)
from verify.statements.claims import Claim

# --- by the law ---


def _laws(rng: np.random.Generator, noise: float = 1.0) -> Iterator[Fact | Holds]:
    """Noise as declared, and not: what is found, spent and said."""
    first = Seeds(0).next
    size = 100
    weights = np.full(size, 0.05)  # moves by 0.5 in all
    for resolution, number in ((0.2, 6), (0.1, 21)):
        found, work = audited(scaled_noise(weights, noise), {"mu": 1.0}, gaussian(1.0), resolution=resolution)
        # Seeds: two of the scan, one, twelve pairs of outputs that may stand still, four of the shift.
        rows = rows_drawn(first + 2 + 1 + 24 + 4, number, size)
        low, high = scale_ends(rows, ALPHA / 16, ALPHA / (2 if number > 6 else 16))
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
    run = scaled_noise(weights, 0.25 * noise)
    found, work = audited(run, (1.0, 1e-2), gaussian())
    witness = found.witness or {}
    rows = 0.25 * rows_drawn(witness.get("start", 0), 6, size)
    low, high = scale_ends(rows, ALPHA / 16, ALPHA / 16)
    yield Holds(
        "a quarter of the noise is refuted, by few rows, with the seed of the shift before them",
        found.verdict == "refuted"
        and witness["kind"] == "scale"
        and witness["rows"] == 6
        and witness["start"] == witness["seed"] + 4,
    )
    yield Fact(
        "its sum and shift",
        [witness["sum"], witness["number"], witness["alpha"], *witness["shift"]],
        [float((rows**2).sum()), 600, ALPHA / 16, 0.5],
        1e-9,
    )
    yield Fact("epsilon", found.epsilon, [gaussian_epsilon(0.5 / high, 1e-2), gaussian_epsilon(0.5 / low, 1e-2)], 1e-7)
    yield Holds("measured again", holds_again(found, run))
    run = scaled_noise(weights, noise)
    found, _ = audited(run, {"mu": 0.49}, gaussian(1.0))
    yield Holds(
        "what the declared noise alone refutes",
        found.verdict == "refuted"
        and found.witness is not None
        and found.witness["kind"] == "declared"
        and holds_again(found, run),
    )
    rows = rows_drawn(first + 2 + 1 + 24 + 4, 6, size)
    yield Fact("it spends", found.epsilon, [0.5, 0.5 / scale_ends(rows, ALPHA / 16, ALPHA / 16)[0]], 1e-9)
    found, _ = audited(run, {"mu": 0.49}, gaussian())
    yield Holds("but nothing where none is declared", found.verdict == "consistent")
    for factor, side in ((0.5, "less"), (2.0, "more")):
        found, _ = audited(scaled_noise(weights, factor * noise), {"mu": 2.0}, gaussian(1.0))
        yield Holds(
            f"{side} noise than declared",
            found.verdict == "law differs" and found.findings[0].startswith(f"scale: {side} noise than declared"),
        )
    for delta, claim in ((0.0, 1.3), (0.05, (1.3, 0.05))):
        moved = np.zeros(size)
        moved[:2] = 0.5, -0.75
        run = scaled_noise(moved, noise, "laplace")
        found, work = audited(run, claim, laplace())
        start = first + 31
        rows = np.abs(rows_drawn(start, 13, size, "laplace"))
        yield Holds(
            f"Laplace noise, delta {delta:g}: {found.verdict}",
            found.verdict == "consistent" and found.curve is not None and found.curve.ratios == (0.5, 0.75),
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
        found, _ = audited(scaled_noise(moved, noise / 3, "laplace"), claim, laplace())
        shift = [1.25] if not delta else [0.5, 0.75]
        yield Holds(
            "a third is refuted",
            found.verdict == "refuted"
            and found.witness is not None
            and holds_again(found, scaled_noise(moved, noise / 3, "laplace")),
        )
        yield Fact("its shift", [] if found.witness is None else found.witness["shift"], shift, 1e-9)
    yield from _structures()


def _structures() -> Iterator[Fact | Holds]:
    """Noise that is no noise in some direction, or depends, or has two scales, or another shape."""
    weights = np.full(60, 0.05)

    def verdict(run: Run, claim: Any, law: Any, **more: Any) -> tuple[str, str, tuple[str, ...]]:
        found, _ = audited(run, claim, law, **more)
        kind = "" if found.witness is None else found.witness["kind"]
        good = found.witness is None or holds_again(found, run)
        return found.verdict if good else "not measured again", kind, found.findings

    def equal(data: np.ndarray, seed: int) -> np.ndarray:
        noise = noise_drawn(seed, 60)
        noise[7] = -2 * noise[3]
        return data[0] * weights + noise

    found, _ = audited(equal, {"mu": 1.0}, gaussian())
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
        and holds_again(found, equal)
        and found.steps[-1].found.startswith("noise of outputs cancels"),
    )

    def quiet(data: np.ndarray, seed: int) -> np.ndarray:
        noise = noise_drawn(seed, 60)
        noise[7] = 0.0 if seed % 2 else 1e-12
        return data[0] * weights + noise

    found, _ = audited(quiet, {"mu": 1.0}, gaussian())
    yield Holds(
        "an output of no noise",
        found.verdict == "refuted"
        and found.steps[-1].found.startswith("an output has no noise")
        and holds_again(found, quiet),
    )

    def still(data: np.ndarray, seed: int) -> np.ndarray:
        return np.concatenate([noise_drawn(seed, 5), [3.0, data.sum() - 2.0]])

    found, _work = audited(still, {"mu": 1.0}, gaussian())
    numbers = found.witness or {}
    yield Fact(
        "an output that stands still: what moves, its size, place, rows",
        [numbers["moved"], numbers["size"], *numbers["places"], numbers["rows"]],
        [1.0, 1.5, 6, 12],
        1e-12,
    )
    yield Holds(
        "is refuted, and again",
        found.verdict == "refuted" and holds_again(found, still) and "4 values over the pairs" in found.steps[-1].found,
    )
    two = lambda data, seed: np.concatenate([noise_drawn(seed, 90), [float(data[0] > 0.3)]])  # noqa: E731
    yield Holds(
        "two values could be ends of what is clipped",
        audited(two, {"mu": 1.0}, gaussian())[0].steps[-1].found
        != "output 90 has no noise: 2 values over the pairs, each always the same",
    )

    def leaves(data: np.ndarray, seed: int) -> list[np.ndarray]:
        noise = noise_drawn(seed, 120)
        return [data[0] * 0.01 + noise[:40], noise[40:80], 0.6 * noise[:40] + 0.8 * noise[80:]]

    word, _, findings = verdict(leaves, {"mu": 1.0}, gaussian(1.0))
    yield Holds(
        "leaves that depend",
        word == "law differs"
        and findings[-1].startswith("dependence: correlation 0.")
        and findings[-1].endswith("of leaves 0 and 2"),
    )

    def groups(data: np.ndarray, seed: int) -> np.ndarray:
        return data[0] * 0.01 + noise_drawn(seed, 80) * np.repeat([1.0, 3.0], 40)

    word, _, findings = verdict(groups, {"mu": 1.0}, gaussian())
    yield Holds(
        "outputs of two scales", word == "law differs" and any(one.startswith("groups: group ") for one in findings)
    )

    def steps(data: np.ndarray, seed: int) -> np.ndarray:
        noise = noise_drawn(seed, 80).reshape(8, 10)
        noise[1:] = (noise[1:] + noise[:-1]) / math.sqrt(2)
        return data[0] * 0.01 + noise

    word, _, findings = verdict(steps, {"mu": 1.0}, gaussian(1.0), resolution=0.1)
    yield Holds("steps that depend", word == "law differs" and any("at lag 1 in" in one for one in findings))
    root = np.linalg.cholesky(0.5 ** np.abs(np.subtract.outer(np.arange(8), np.arange(8))))
    run = lambda data, seed: root @ (data[0] * 0.1 + noise_drawn(seed, 80).reshape(8, 10))  # noqa: E731
    found, _ = audited(run, {"mu": 1.0}, gaussian(root @ root.T))
    true = 0.1 * math.sqrt(80)
    yield Holds(
        "as they were declared",
        found.verdict == "consistent" and found.epsilon[0] < true < found.epsilon[1],
    )
    word, _, findings = verdict(
        lambda data, seed: data[0] * 0.01 + noise_drawn(seed, 90, "laplace"), {"mu": 1.0}, gaussian(), resolution=0.05
    )
    yield Holds("another shape", word == "law differs" and findings[-1].startswith("shape: distance 0."))
    narrow = lambda data, seed: np.float32(scaled_noise(weights, 1.0)(data, seed))  # noqa: E731
    found, _ = audited(narrow, {"mu": 1.0}, gaussian(1.0))
    yield Holds("single precision", found.verdict == "consistent" and found.support.startswith("float32"))
    box = Box(shape=(2, 3), low=-1, high=2)
    slopes = np.array([0.3, -0.5, 0.2])
    run = lambda data, seed: float(slopes @ data.sum(axis=0)) + noise_drawn(seed, 90) * 12  # noqa: E731
    found, _ = audited(run, {"mu": 2.0}, gaussian(scale=12.0), domain=box)
    top = math.sqrt(90) * max(0.6 + 0.5 + 0.4, 0.3 + 1.0 + 0.2) / 12
    yield Holds(
        "the largest shift of a box", found.verdict == "consistent" and found.epsilon[0] < top < found.epsilon[1]
    )
    far = math.sqrt(90) * abs(2001 * 0.3 - 2001 * 0.5 + 2001 * 0.2) / 12 / top
    yield Holds("no finding of a record outside that moves no more", far < 10 and not found.findings)
    run = lambda data, seed: float(np.abs(data).sum()) + noise_drawn(seed, 90) * 12  # noqa: E731
    found, _ = audited(run, {"mu": 9.0}, gaussian(scale=12.0), domain=box)
    said = ("a record outside the domain moves outputs 1e+03 times as far: nothing clips it",)
    yield Holds("a record outside that moves more", found.findings == said)


BEYOND_AUDIT_ROUTES = Claim(
    id="ftrl/beyond-audit-routes",
    where="beyond the paper: audits by the law of the noise",
    kind="privacy",
    statement=(
        "By the law of the noise an audit spends what the shift and the noise of its own seeds give, and tells noise "
        "that is missing, dependent, of other scales or shape."
    ),
    setting="Mechanisms in this process, whose time is counted in calls; witnesses are measured again in another.",
    checks=(Agreement(facts=_laws, impostors={"5 % less noise": {"facts": {"noise": 0.95}}}),),
)
