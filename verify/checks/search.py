"""An inequality in many parameters or in random instances, attacked by an optimiser: evaluations that try to break
it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from verify.checks.base import Check, Level, Result, Seed, Task, by_level, ground_of
from verify.checks.domains import MOST_CORNERS, Box, corners, points
from verify.checks.evidence import Evidence
from verify.checks.inequality import EVALUATIONS

Sides = tuple[Any, Any]
# Rounding in double precision, relative to the sides.
ROUNDING = 1e-9
ROUNDS, ELITE = 12, 12
FEWEST_CORNERS = 3**5


@final
@dataclass(frozen=True, kw_only=True)
class Search(Check):
    """`sides(**parameters) -> (smaller, larger)`, smaller <= larger claimed, parameters from a box.

    A scalar parameter is a `Domain`; a vector is a pair (Domain, length). `sides` gets one point at a time (floats,
    arrays of shape (length,)), or with `vectorised` n points at once (shapes (n,), (n, length)) and returns arrays.
    Known extremal points come in `extremal`, one at a time; then corners, random points and ever narrower clouds around
    the nearest misses, `evaluations` in all and more where there are many corners: at quick level half of the
    evaluations may be corners, or `FEWEST_CORNERS`. The first violation beyond `rounding` is reported, extremal points
    first.
    `closed` as for every check that has it (`Check`).
    """

    sides: Callable[..., Sides]
    box: Mapping[str, Any]
    extremal: Callable[[], Iterable[Mapping[str, Any]]] = tuple
    vectorised: bool = False
    evaluations: Mapping[Level, int] | int = EVALUATIONS
    rounding: float = ROUNDING
    closed: bool = False

    def tasks(self, level: Level) -> Sequence[Task]:
        """One piece; how many evaluations, and how many of them may be corners, depends on the level."""
        evaluations = by_level(self.evaluations, level)
        most = max(FEWEST_CORNERS, evaluations // 2) if level == "quick" else MOST_CORNERS
        limited = len(corners(_flatten(self.box)[0])) > most
        return ({"evaluations": evaluations, **({"corners": most} if limited else {})},)

    def counterexample_names(self) -> Collection[str]:
        """The point and both sides."""
        return {*self.box, "smaller", "larger"}

    def run(self, task: Task, seed: Seed) -> Result:
        """The violation found, if any, the tightest ratio, and how many evaluations it took."""
        found = _Tightest(self.rounding)
        for point in self.extremal():
            smaller, larger = self.sides(
                **{name: np.asarray(value)[None] if self.vectorised else value for name, value in point.items()}
            )
            found.see(lambda _, known=point: known, np.atleast_1d(smaller), np.atleast_1d(larger))
        rng = seed.generator()
        flat, layout = _flatten(self.box)
        most = task.get("corners", MOST_CORNERS)
        ends = corners(flat, most)
        if len(ends) > most:
            ends = ends[np.sort(rng.choice(len(ends), most, replace=False))]
        unit = np.concatenate([ends, rng.random((task["evaluations"] // 2, len(flat)))])
        gaps = self._gaps(found, flat, layout, unit)
        width, per_round = 0.2, max(1, (task["evaluations"] - len(unit)) // ROUNDS)
        for _ in range(ROUNDS):
            if found.violation:
                break
            order = np.argsort(gaps)[:ELITE]
            elite, kept = unit[order], gaps[order]
            steps = width * rng.standard_normal((per_round, len(flat)))
            cloud = np.clip(elite[rng.integers(len(elite), size=per_round)] + steps, 0.0, 1.0)
            gaps = np.concatenate([kept, self._gaps(found, flat, layout, cloud)])
            unit, width = np.concatenate([elite, cloud]), width * 0.7
        return {"violation": found.violation, "slack": found.slack, "evaluated": found.evaluated}

    def broken_by(self, result: Result) -> Mapping[str, Any] | None:
        """The violation."""
        return result["violation"]

    def conclude(self, results: Sequence[Result], level: Level) -> Evidence:
        """Fails at the violation, certified where balls agree; else holds numerically with the tightest ratio seen."""
        (result,) = results
        common = {"slack": result["slack"], "evaluations": result["evaluated"]}
        if result["violation"] is not None:
            smaller, larger = result["violation"]["smaller"], result["violation"]["larger"]
            summary = f"Violated: {smaller:.6g} > {larger:.6g} at {brief(result['violation'])}."
            how = ground_of(result)
            return Evidence(outcome="fails", how=how, summary=summary, counterexample=result["violation"], **common)
        tight = "" if result["slack"] is None else f" Tightest ratio {result['slack']:.4g}."
        summary = f"No violation in {result['evaluated']} evaluations of a search that tries to break it.{tight}"
        return Evidence(outcome="holds", how="numeric", summary=summary, **common)

    def _gaps(self, found: _Tightest, flat: Box, layout: Mapping[str, Sequence[str]], unit: np.ndarray) -> np.ndarray:
        columns = points(flat, unit)
        arrays = {
            name: columns[name] if names == [name] else np.stack([columns[k] for k in names], axis=1)
            for name, names in layout.items()
        }

        def at(row: int) -> dict[str, Any]:
            return {name: values[row] for name, values in arrays.items()}

        if self.vectorised:
            smaller, larger = self.sides(**arrays)
        else:
            smaller, larger = np.array([self.sides(**at(row)) for row in range(len(unit))], dtype=float).T
        return found.see(at, np.broadcast_to(smaller, len(unit)), np.broadcast_to(larger, len(unit)))


class _Tightest:
    """What a search has seen so far."""

    def __init__(self, rounding: float) -> None:
        self.rounding = rounding
        self.violation: dict[str, Any] | None = None
        self.slack: float | None = None
        self.evaluated = 0

    def see(self, at: Callable[[int], Mapping[str, Any]], smaller: np.ndarray, larger: np.ndarray) -> np.ndarray:
        """The relative gaps of some evaluations, `at` giving their points; a side that is not a number counts as a
        violation.
        """
        smaller, larger = np.asarray(smaller, dtype=float), np.asarray(larger, dtype=float)
        self.evaluated += len(smaller)
        with np.errstate(all="ignore"):
            gaps = (larger - smaller) / np.maximum(np.abs(smaller), np.abs(larger))
            gaps = np.where(smaller == larger, 0.0, gaps)
            ratios = (larger / smaller)[(smaller > 0) & (larger > 0)]
        broken = np.flatnonzero(~(gaps >= -self.rounding))
        if len(broken) and self.violation is None:
            first = broken[0]
            named = {name: np.asarray(value).tolist() for name, value in at(int(first)).items()}
            self.violation = {**named, "smaller": float(smaller[first]), "larger": float(larger[first])}
        if len(ratios):
            self.slack = min(float(ratios.min()), self.slack if self.slack is not None else np.inf)
        return np.where(np.isnan(gaps), -np.inf, gaps)


def brief(point: Mapping[str, Any]) -> str:
    """Parameters in one line, vectors shortened, the two sides left out."""
    parts = []
    for name, value in point.items():
        if name in ("smaller", "larger"):
            continue
        if isinstance(value, (list, tuple)):
            shown = ", ".join(f"{entry:.4g}" if isinstance(entry, float) else str(entry) for entry in value[:6])
            parts.append(f"{name} = ({shown}{', ...' if len(value) > 6 else ''})")
        else:
            parts.append(f"{name} = {value:.6g}" if isinstance(value, float) else f"{name} = {value}")
    return ", ".join(parts)


def _flatten(box: Mapping[str, Any]) -> tuple[Box, dict[str, list[str]]]:
    """Scalar domains for every entry, and which entries make up which parameter."""
    flat: dict[str, Any] = {}
    layout: dict[str, list[str]] = {}
    for name, domain in box.items():
        layout[name] = [f"{name}[{k}]" for k in range(domain[1])] if isinstance(domain, tuple) else [name]
        flat.update(dict.fromkeys(layout[name], domain[0] if isinstance(domain, tuple) else domain))
    return flat, layout
