"""All methods on one problem: noise scales and predicted risk, at equal true privacy and under the paper's accounting.

Risks are sums over records, ||X (theta - theta*)||². They are exact for IHM, linear mixing and gradient descent while
nothing is clipped, leading order for AdaSSP (whose mean is infinite), and an estimate for PRN. Whatever is computed
from X'X, X'Y and ||Y||² is computed from the data and not private.

>>> from dpbounds.ols.designs import AssumedDesign
>>> found = compare(AssumedDesign(n=10000, d=10, lambda_min=20.0).gram, 1.0, 1e-6)
>>> found.recommended.label, round(float(found.recommended.risk), 1)
('IHM', 2.7)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, count, positive, within
from dpbounds.ols.clips import NewtonClips, typical_clips
from dpbounds.ols.data import ScaledData
from dpbounds.ols.features import features
from dpbounds.ols.gram import Gram
from dpbounds.ols.methods import Accounting, Choices, Compared, Method, Parts, sketch_sizes
from dpbounds.ols.regimes import Regime, regime
from dpbounds.privacy import gaussian_mu

# By how much PRN's estimate may be too small and the method still be recommended: the most that simulation has shown.
OPTIMISM = 6.0
# Budgets that can be computed with; larger ones that are tried where no method is worth it, as multiples.
EPSILONS, DELTAS, MOST_EPSILON = "[1e-6, 1e6]", "[1e-290, 1)", 1e6
LARGER = (2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
# Fields of the scales that go by another name in a table, or are told elsewhere.
NAMES, HIDDEN = {"steps": "T"}, ("shares", "n", "outcome_bound", "growth", "adjacency")


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Methods at equal true privacy (`tight`) and under the paper's accounting (`experiments`).

    `problem` is what was compared on, `choices` those made, its failure probability written out. Risks are in units of
    the problem; times `units` they are in those of a data set.
    """

    rows: tuple[Compared, ...]
    regime: Regime
    mu: float
    clips: NewtonClips
    problem: Gram | ScaledData = field(repr=False)
    epsilon: float
    delta: float
    failure: float
    choices: Choices

    def __post_init__(self) -> None:
        strange = [row for row in self.rows if not isinstance(row, Compared)]
        if strange or not self.rows:
            raise DomainError("rows", strange[0] if strange else "none", "rows of a comparison", "`compare` makes them")

    @property
    def units(self) -> float:
        """C_Y² of a data set that was divided by its bounds, else 1."""
        return self.problem.outcome_bound**2 if isinstance(self.problem, ScaledData) else 1.0

    def under(self, accounting: Accounting) -> tuple[Compared, ...]:
        """The rows of one accounting."""
        return tuple(row for row in self.rows if row.accounting == accounting)

    @property
    def ranking(self) -> tuple[Compared, ...]:
        """At equal true privacy, the least predicted risk first; PRN's, which is optimistic, counts sixfold."""
        return tuple(sorted(self.under("tight"), key=_ranked))

    @property
    def recommended(self) -> Compared:
        """The first of the ranking."""
        return self.ranking[0]

    @property
    def reason(self) -> str:
        """Why, in a sentence or two."""
        best, second = self.ranking[:2]
        if best.method == "zero":
            return (
                f"No private estimate is predicted to beat theta = 0 (risk {float(best.risk):.3g}); the nearest is "
                f"{second.label} ({float(second.risk):.3g}). More records or a larger epsilon are needed."
            )
        share = float(best.risk) / float(second.risk)
        order = f"Least predicted risk, {share:.3g} of that of the next, {second.label}."
        if share > 1:  # PRN
            order = (
                f"Least predicted risk but for {second.label}'s, an estimate that may be {OPTIMISM:g} times too small."
            )
        return f"{order} {_WHY[best.method]}"

    def table(self) -> list[dict[str, Any]]:
        """A row of JSON data for each method and accounting: noise, predicted risk in the data's units, in all, per
        record and over that of theta = 0 (None if that is 0), what kind of number it is, and whether reliable.
        """
        return [self._table_row(row) for row in self.rows]

    def _table_row(self, row: Compared) -> dict[str, Any]:
        numbers = {} if row.scales is None else asdict(row.scales)
        noise = {NAMES.get(name, name): value for name, value in numbers.items() if name not in HIDDEN}
        risk = self.units * float(row.risk)
        signal = self.units * self.regime.features.signal
        return {
            "method": row.label,
            "accounting": row.accounting,
            "recommended": row.accounting == "tight" and row.method == self.recommended.method,
            **noise,
            "risk": risk,
            "risk_per_record": risk / self.regime.features.n,
            "over_zero": risk / signal if signal else None,
            "kind": row.risk.kind,
            "reliable": row.reliable,
        }

    def at(self, epsilon: float) -> Comparison:
        """The same at another epsilon, at equal true privacy alone."""
        return compare(self.problem, epsilon, self.delta, self.choices, accountings=("tight",))

    def curves(self, points: int = 5) -> dict[Method, tuple[list[float], list[float]]]:
        """Risks at equal true privacy in the data's units, from a tenth of epsilon to ten times as much: for each
        method the epsilons and the risks.
        """
        epsilons = [float(epsilon) for epsilon in self.epsilon * np.geomspace(0.1, 10.0, count("points", points, 2))]
        found = [{row.method: self.units * float(row.risk) for row in self.at(one).rows} for one in epsilons]
        curves: dict[Method, tuple[list[float], list[float]]] = {}
        for row in self.under("tight"):
            curves[row.method] = epsilons, [risks[row.method] for risks in found]
        return curves

    @cached_property
    def worthwhile(self) -> Compared | None:
        """What beats theta = 0 at the first of a few larger epsilons where something does; None if nothing up to
        `most_epsilon`.
        """
        return None if self._worthwhile is None else self._worthwhile.recommended

    @property
    def worthwhile_epsilon(self) -> float:
        """Where `worthwhile` is predicted to, or the largest epsilon that was tried."""
        return self.most_epsilon if self._worthwhile is None else self._worthwhile.epsilon

    @property
    def most_epsilon(self) -> float:
        """The largest epsilon that is tried for `worthwhile`."""
        return min(self.epsilon * LARGER[-1], MOST_EPSILON)

    @cached_property
    def _worthwhile(self) -> Comparison | None:
        tried = (self.epsilon * factor for factor in LARGER)
        found = (self.at(epsilon) for epsilon in tried if epsilon <= MOST_EPSILON)
        return next((one for one in found if one.recommended.method != "zero"), None)


def _ranked(row: Compared) -> float:
    return float(row.risk) * (OPTIMISM if row.method == "PRN" else 1.0)


_WHY: dict[Method, str] = {
    "IHM": "Its sketches cost less noise than X'X does in d² entries, and no ridge biases it.",
    "IHM-ridge": "The fit is small, so that shrinking it costs little.",
    "LinMix": "L(theta*) is small and X'X ill-conditioned: one sketch is enough, and is all the noise there is.",
    "AdaSSP": "X'X is well-conditioned against its noise, and no iteration leaves a part of ||X theta*||².",
    "AdaSSP-iso": "X'X is well-conditioned against its noise, and no iteration leaves a part of ||X theta*||².",
    "DP-GD": "X'X is so well-conditioned that gradients alone get there.",
    "PRN": "Its clip level follows the gradients' size c, far below 1, and its noise is proportional to it.",
}


@typed
def compare(
    problem: Gram | ScaledData,
    epsilon: float,
    delta: float | None = None,
    choices: Choices | None = None,
    *,
    newton_clips: NewtonClips | None = None,
    accountings: Sequence[Accounting] = ("tight", "experiments"),
) -> Comparison:
    """Every method for zero-out neighbours, on statistics of rows in the unit ball or on a data set.

    `delta` is n^-2 if None. PRN's clip levels are `newton_clips`; if None, those of the records of a data set, and for
    a `Gram` those of rows of one length with normal residuals. `accountings`: those that are wanted; PRN is `tight`.

    Raises `DomainError` for budgets outside their ranges, and sketches of fewer than d + 4 rows (IHM) or d + 2 (linear
    mixing), whose mean risk does not exist, or of more than can be accounted for.
    """
    choices = choices or Choices()
    epsilon = within("epsilon", positive("epsilon", epsilon), EPSILONS)
    gram = problem.gram if isinstance(problem, ScaledData) else problem
    remedy = "a single record needs a delta of its own" if delta is None and gram.n == 1 else ""
    delta = within("delta", gram.n**-2.0 if delta is None else delta, DELTAS, remedy)
    failure = delta / 10 if choices.failure is None else choices.failure
    sizes = sketch_sizes(gram.d, within("failure", failure, "[1e-300, 1)"), choices)
    mu, data = float(gaussian_mu(epsilon, delta)), features(gram)
    clips = newton_clips
    if clips is None and isinstance(problem, ScaledData):
        clips = problem.newton_clips(mu)
    clips = clips or typical_clips(data, float(np.trace(gram.A)), mu, choices.outcome_bound)
    parts = Parts(gram=gram, data=data, epsilon=epsilon, delta=delta, failure=failure, choices=choices, sizes=sizes)
    rows = [row for accounting in accountings for row in parts.rows(accounting)]
    return Comparison(
        rows=(*rows, parts.newton(mu, clips)),
        regime=regime(data, epsilon, delta, failure=failure, steps=choices.steps, outcome_bound=choices.outcome_bound),
        mu=mu,
        clips=clips,
        problem=problem,
        epsilon=epsilon,
        delta=delta,
        failure=failure,
        choices=replace(choices, failure=failure),
    )
