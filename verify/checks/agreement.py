"""Computed facts against predicted ones, one by one: algorithms, matrices, small exact cases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, final

import numpy as np

from verify.checks.base import Check, Level, Result, Seed, Task
from verify.checks.evidence import Evidence
from verify.checks.pictures import Picture, picture_of


@dataclass(frozen=True)
class Fact:
    """Something observed, something predicted independently, and the largest difference that counts as equal.

    Arrays are compared entry by entry. `tolerance` is relative to the largest predicted entry (absolute if that is 0);
    0 means equal bit for bit, or exactly for rationals and symbols. `numbers` are further numbers for the finding.
    """

    label: str
    observed: Any
    predicted: Any
    tolerance: float = 1e-12
    numbers: Mapping[str, float] = field(default_factory=dict)

    def times(self, factor: float) -> Fact:
        """The same fact with its predicted value multiplied."""
        predicted = self.predicted
        several = isinstance(predicted, (list, tuple))
        return replace(self, predicted=factor * (np.asarray(predicted) if several else predicted))

    def difference(self) -> float:
        """Largest relative difference; inf for different shapes or not-a-number."""
        if self.tolerance == 0:
            return 0.0 if np.array_equal(np.asarray(self.observed), np.asarray(self.predicted)) else np.inf
        observed, predicted = np.asarray(self.observed, dtype=float), np.asarray(self.predicted, dtype=float)
        if observed.shape != predicted.shape:
            return np.inf
        if np.array_equal(observed, predicted):
            return 0.0
        scale = np.abs(predicted).max() or 1.0
        difference = np.abs(observed - predicted).max() / scale
        return float(difference) if np.isfinite(difference) else np.inf


@final
@dataclass(frozen=True, kw_only=True)
class Agreement(Check):
    """All facts that `facts(rng)` computes agree. `alpha` is the rate of false alarms where chance decides some fact
    (not where it only chooses where to look).
    """

    facts: Callable[[np.random.Generator], Iterable[Fact]]
    picture: Callable[[], Picture] | None = None
    alpha: float = 0.0

    def run(self, task: Task, seed: Seed) -> Result:
        """Every fact with its difference, and the picture's arrays."""
        rows = []
        for fact in self.facts(seed.generator()):
            difference = fact.difference()
            row = {"fact": fact.label, "difference": difference, "tolerance": fact.tolerance}
            if difference > fact.tolerance:
                row |= {"observed": _shown(fact.observed), "predicted": _shown(fact.predicted), **fact.numbers}
            rows.append(row)
        return {"rows": rows, "picture": asdict(self.picture()) if self.picture else None}

    def false_alarms(self, level: Level) -> float:
        """As stated."""
        return self.alpha

    def conclude(self, results: Sequence[Result], level: Level) -> Evidence:
        """Fails at the first fact that does not agree."""
        (result,) = results
        rows = result["rows"]
        common: dict[str, Any] = {"rows": rows, "evaluations": len(rows)}
        common |= {"picture": picture_of(result["picture"]), "alpha": self.alpha}
        for row in rows:
            if row["difference"] > row["tolerance"]:
                summary = f"{row['fact']}: observed {row['observed']}, stated {row['predicted']}."
                if row["predicted"] in ("True", "False"):
                    said = "Not so" if row["predicted"] == "True" else "Contrary to the statement"
                    summary = f"{said}: {row['fact']}."
                return Evidence(outcome="fails", how="numeric", summary=summary, counterexample=row, **common)
        worst = max(row["difference"] for row in rows)
        coarsest = max(row["tolerance"] for row in rows)
        agree = "1 fact agrees" if len(rows) == 1 else f"{len(rows)} facts agree"
        summary = f"{agree} (worst difference {worst:.1e}, allowed up to {coarsest:.1e})."
        return Evidence(outcome="holds", how="numeric", summary=summary, resolution=coarsest, **common)


def _shown(value: Any) -> str:
    array = np.asarray(value)
    if array.ndim == 0:
        scalar = array.item()
        return f"{scalar:.6g}" if isinstance(scalar, float) else str(scalar)
    plain: Any = {"object": str} if array.dtype == object else None
    text = np.array2string(array, precision=4, threshold=8, edgeitems=3, separator=", ", formatter=plain)
    return " ".join(text.split())
