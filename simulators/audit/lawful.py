"""The noise of a mechanism from differences of independent runs, and what its law then makes of the shift.

>>> from dpbounds.audit.laws import gaussian
>>> def mechanism(data, seed):
...     return data.sum() + np.random.default_rng(seed).standard_normal(500)
>>> with Runner(mechanism, seconds=20.0) as runner:
...     drawn(runner, np.ones(3), 1000, Seeds(0)).rows.shape
(2, 500)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpbounds.audit.intervals import coordinates_needed
from dpbounds.audit.laws import NoiseLaw
from dpbounds.audit.noise import Finding, dependence, homogeneity, scale_interval, shape, singular_directions
from dpbounds.audit.promises import Promise
from dpbounds.audit.results import Curve
from dpbounds.audit.witnesses import TOLERANCE, TOLERANCE_NARROW, exceeds, spent_by_law, stands_out
from simulators.audit.process import Runner
from simulators.audit.shifts import Scan, Seeds, Shift

# Shares of alpha: the end of the scale that refutes has half; a sixteenth each have an early look at it, the other end,
# dependence, groups, shape, scales of two sides, a sampled event, and forms.
SCALE, OTHER = 0.5, 1 / 16
# Noise coordinates of the early look, which sees what is wrong by a factor.
EARLY = 1000
# Differences drawn at least, so that directions without noise show, and calls made for them at most.
_ROWS, _MOST_CALLS = 6, 1_000_000
# Groups of outputs whose scales are compared where the mechanism names no leaves.
_GROUPS = 8


@dataclass(frozen=True, eq=False)
class Drawn:
    """Differences (k, p) of independent runs on one data set, the seeds they began at, and whether time was enough."""

    rows: np.ndarray
    start: int
    enough: bool

    def joined(self, other: Drawn) -> Drawn:
        """Both, those of `other` last; their seeds follow on one another."""
        rows = [one.rows for one in (self, other) if one.rows.size]
        return Drawn(np.concatenate(rows) if rows else self.rows, self.start, other.enough)


def drawn(runner: Runner, data: object, coordinates: int, seeds: Seeds, *, least: int = 2, until: float = 0.0) -> Drawn:
    """At least so many noise coordinates, each the difference of two calls with seeds of their own."""
    start = seeds.next
    rows: list[np.ndarray] = []
    wanted = least
    while len(rows) < wanted and runner.usable and runner.left > until:
        batch = min(wanted - len(rows), 4096)
        outcomes = runner.run([data], [(0, seed) for seed in seeds.take(2 * batch)], until=until)
        values = [one.values for one in outcomes if one.ran and one.values is not None]
        if len(values) < len(outcomes) or len(outcomes) < 2 * batch:
            values = values[: len(values) // 2 * 2]
            rows += [a - b for a, b in zip(values[::2], values[1::2], strict=True) if a.shape == b.shape]
            break
        rows += [a - b for a, b in zip(values[::2], values[1::2], strict=True)]
        wanted = max(least, math.ceil(coordinates / max(rows[0].size, 1)))
        wanted = min(wanted, _MOST_CALLS // 2)
    stacked = np.stack(rows) if rows else np.zeros((0, 0))
    return Drawn(stacked, start, stacked.size >= coordinates and len(stacked) >= least)


@dataclass(frozen=True, eq=False)
class Lawful:
    """What the law says: spent from below and above, the curve, a witness of a refutation, and what differs."""

    spent: tuple[float, float]
    slack: float | None
    curve: Curve | None
    witness: tuple[str, dict] | None
    differs: list[str]
    resolution: float
    words: str


def singular(rows: np.ndarray, scanned: Scan) -> tuple[str, dict, Shift] | None:
    """A combination of outputs without noise that some pair moves: the pair that moves one most."""
    if not len(rows):
        return None
    directions = singular_directions(rows, scanned.rounding)
    best: tuple[float, dict, Shift, str] | None = None
    for one in scanned.good:
        if not one.additive or one.difference is None:
            continue
        values = one.first[0].values
        for direction in directions:
            moved = abs(float(direction.of(one.difference)))
            size = float(np.abs(direction.weights) @ np.abs(values[direction.places])) if values is not None else 0.0
            if stands_out(direction.noise, moved, size, scanned.rounding) and (best is None or moved > best[0]):
                numbers = {
                    "noise": direction.noise,
                    "moved": moved,
                    "size": size,
                    "rounding": scanned.rounding,
                    "places": direction.places.tolist(),
                    "weights": direction.weights.tolist(),
                }
                what = "an output has no noise" if len(direction.places) == 1 else "noise of outputs cancels"
                best = moved, numbers, one, f"{what} (outputs {direction.places[:4].tolist()}) and the data move it"
    return None if best is None else (best[3], best[1], best[2])


def lawful(
    rows: np.ndarray, top: Shift, scanned: Scan, law: NoiseLaw, promise: Promise, alpha: float, share: float = SCALE
) -> Lawful:
    """Scale, shape and dependence of the noise, and the curve of the shift at both ends of the scale, the end that
    refutes at this share of alpha.
    """
    assert top.difference is not None and law.family in ("gaussian", "laplace")
    family, narrow = law.family, scanned.narrow
    whitened = law.whitened(rows, scanned.shape)
    shift = law.whitened(top.difference[None], scanned.shape)[0]
    tolerance = TOLERANCE_NARROW if narrow else TOLERANCE
    low, _ = scale_interval(whitened, family, alpha * OTHER)
    _, high = scale_interval(whitened, family, alpha * share)
    differs = _differs(whitened, scanned, law, (low, high), alpha)
    spent = spent_by_law(family, shift, high, promise)[0], spent_by_law(family, shift, low, promise)[1]
    total = sum_of(whitened, family)
    common = {"family": family, "shift": short(shift, family, promise), "narrow": narrow}
    witness: tuple[str, dict] | None = None
    trusted = not any(one.startswith(("dependence", "groups", "shape")) for one in differs)
    if trusted and exceeds(spent[0], promise, tolerance):
        witness = "scale", {**common, "sum": total, "number": int(whitened.size), "alpha": alpha * share}
    elif law.sized and not differs and exceeds(spent_by_law(family, shift, 1.0, promise)[0], promise, tolerance):
        witness = "declared", common
    resolution = (high - low) / (high + low)
    slack = _slack(family, shift, (low + high) / 2, promise)
    curve = _curve(family, shift, low, high)
    words = f"scale {low:.5g} to {high:.5g} {'of the declared' if law.sized else ''} in {whitened.size} differences"
    return Lawful(spent, slack, curve, witness, differs, resolution, words)


def sum_of(whitened: np.ndarray, family: str) -> float:
    """What an interval of the scale is computed from: the sum of squares, or of sizes of Laplace differences."""
    return float(np.sum(whitened**2) if family == "gaussian" else np.sum(np.abs(whitened)))


def early(rows: np.ndarray, top: Shift, scanned: Scan, law: NoiseLaw, promise: Promise, alpha: float) -> bool:
    """Whether few differences refute already, at a share of alpha of their own: `lawful` on them then says how."""
    assert top.difference is not None and law.family in ("gaussian", "laplace")
    high = scale_interval(law.whitened(rows, scanned.shape), law.family, alpha * OTHER)[1]
    shift = law.whitened(top.difference[None], scanned.shape)[0]
    return exceeds(spent_by_law(law.family, shift, high, promise)[0], promise, TOLERANCE_NARROW)


def _differs(whitened: np.ndarray, scanned: Scan, law: NoiseLaw, ends: tuple[float, float], alpha: float) -> list[str]:
    """What is not as declared, each at its own share of alpha."""
    family, share = law.family, alpha * OTHER
    assert family in ("gaussian", "laplace")
    found = []
    if law.sized and not ends[0] <= 1 <= ends[1]:
        side = "less" if ends[1] < 1 else "more"
        found.append(f"scale: {side} noise than declared, {ends[0]:.4g} to {ends[1]:.4g} of it")
    leaves = scanned.leaves if len(scanned.leaves) > 1 else ()
    groups = leaves or _groups(whitened.shape[1])
    steps = scanned.shape[0] if len(scanned.shape) == 2 and isinstance(scanned.shape[0], int) else 1
    tests: dict[str, Finding] = {
        "dependence": dependence(whitened, family, steps=steps, leaves=leaves),
        "groups": homogeneity(whitened, family, groups, share),
        "shape": shape(whitened, family, ends),
    }
    return found + [f"{name}: {one.words}" for name, one in tests.items() if one.p_value < share]


def _groups(outputs: int) -> tuple[int, ...]:
    if outputs < 2:
        return ()
    number = min(_GROUPS, outputs)
    return tuple(len(part) for part in np.array_split(np.arange(outputs), number))


def short(shift: np.ndarray, family: str, promise: Promise) -> list[float]:
    """Of a shift in declared units as much as decides: its norm, or for Laplace noise and delta > 0 what moves."""
    if family == "gaussian":
        return [float(np.linalg.norm(shift))]
    moved = np.abs(shift[shift != 0])
    return moved.tolist() if promise.delta else [float(moved.sum())]


def _slack(family: str, shift: np.ndarray, scale: float, promise: Promise) -> float | None:
    """Noise over the least that keeps the claim; None where nothing moves or the law cannot keep it."""
    size = float(np.linalg.norm(shift) if family == "gaussian" else np.abs(shift).sum())
    allowed = promise.gaussian_mu if family == "gaussian" else promise.epsilon if promise.pure else None
    return allowed * scale / size if allowed and size else None


def _curve(family: str, shift: np.ndarray, low: float, high: float) -> Curve | None:
    if family == "gaussian":
        size = float(np.linalg.norm(shift))
        return Curve("gaussian", size / high, size / low)
    moved = np.abs(shift[shift != 0])
    return Curve("laplace", 1 / high, 1 / low, tuple(moved.tolist())) if 0 < len(moved) <= 64 else None


def needed(law: NoiseLaw, resolution: float, alpha: float) -> int:
    """Noise coordinates for this resolution of the scale."""
    family = "laplace" if law.family == "laplace" else "gaussian"
    return coordinates_needed(resolution, family, alpha=alpha)
