"""All methods on one problem: noise scales and predicted risk, at equal true privacy and under the paper's accounting.

Risks are sums over records, ||X (theta - theta*)||². Of a data set those of IHM, DP-GD, PRN and TAP count clipping, by
a thousand rows that stand for all of more; IHM's and DP-GD's are exact where all rows are looked at and none is
clipped. Of X'X alone IHM's and DP-GD's hold while nothing is clipped, TAP's is that of typical rows, PRN's an estimate.
AdaSSP's is the leading order (its mean is infinite). Whatever is computed from X'X, X'Y and ||Y||² is computed from the
data and not private.

>>> from dpbounds.ols.designs import AssumedDesign
>>> found = compare(AssumedDesign(n=10000, d=10, lambda_min=20.0).gram, 1.0, 1e-6)
>>> found.recommended.label, round(float(found.recommended.risk), 1)
('TAP', 0.7)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, count, positive, within
from dpbounds.ols.clipping import Law
from dpbounds.ols.clips import NewtonClips, typical_clips
from dpbounds.ols.counted import Counted
from dpbounds.ols.data import ScaledData
from dpbounds.ols.features import features
from dpbounds.ols.gram import Gram
from dpbounds.ols.methods import REASONS, Accounting, Choices, Compared, Method, Parts, sketch_sizes
from dpbounds.ols.regimes import Regime, regime
from dpbounds.privacy import gaussian_mu

# A method is of use if its risk is at most this share of that of theta = 0.
USEFUL = 0.5
# Where half of the rows are shorter than this share of the bound, scaling may be what is wrong.
SHORT_ROWS = 0.1
# By how much PRN's estimate of X'X alone may be too small and the method still be recommended: the most that was
# simulated.
OPTIMISM = 6.0
# Columns up to which methods are compared.
MOST_COMPARED = 300
# The standard error of a forecast, relative to it, up to which it is called reliable, so that nine in ten are within a
# tenth; and where at least twice as many records stand in as are private, which tell a bias of clipping from chance.
LARGEST_SPREAD, LARGER_SPREAD, MORE = 0.04, 0.06, 2
# By how much more the standard error is to fall where more records are asked for: by one in five it is known at best.
MARGIN = 1.25
# Where more gradients than this are clipped, what clipping adds is named as the reason of a large spread.
MANY_CLIPPED = 0.05
# Records that stand in beyond which nobody is sent to look for them.
MOST_RECORDS = 10**7
# Budgets that can be computed with; larger ones that are tried where no method is worth it, as multiples.
EPSILONS, DELTAS, MOST_EPSILON = "[1e-6, 1e6]", "[1e-290, 1)", 1e6
LARGER = (2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
# Fields of the scales that go by another name in a table, or are told elsewhere.
NAMES, HIDDEN = {"steps": "T"}, ("shares", "n", "outcome_bound", "growth", "adjacency")


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Methods at equal true privacy (`tight`) and under the paper's accounting (`experiments`).

    `problem` is what was compared on, `choices` those made, its failure probability written out. Risks are in units of
    the problem; times `units` they are in those of a data set. `stand_in`: settings read off the problem cost nothing.
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
    stand_in: bool = False
    counted: Counted | None = field(repr=False, default=None)

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
        """At equal true privacy, the least predicted risk first, without what reads the data unpaid unless they stand
        in; PRN's of X'X alone, which is optimistic, counts sixfold.
        """
        rows = (row for row in self.under("tight") if self.stand_in or not row.reference)
        return tuple(sorted(rows, key=_ranked))

    @property
    def recommended(self) -> Compared:
        """The first of the ranking."""
        return self.ranking[0]

    @property
    def spread(self) -> float | None:
        """The standard error of the forecast of what is recommended, relative to it: as it owes to the draws of what is
        released beside gradients, and where records stand in to these. None where no law gives a median, or what it
        owes to them.
        """
        unknown = self.recommended.median is None or (self.stand_in and self._law is None)
        return None if unknown else math.hypot(self._drawn, self._chance)

    @property
    def largest_spread(self) -> float:
        """Up to which the forecast is called reliable."""
        more = isinstance(self.problem, ScaledData) and self.problem.gram.n >= MORE * self.regime.features.n
        return LARGER_SPREAD if self.stand_in and more else LARGEST_SPREAD

    @cached_property
    def _law(self) -> Law | None:
        """Of what is recommended, where its settings alone give one."""
        return None if self.counted is None else self.counted.law(self.recommended.scales)

    @cached_property
    def _drawn(self) -> float:
        """The part of draws."""
        if self._law is None or not self._law.draws:
            return 0.0
        draws = np.array(self._law.draws)
        return float(draws.std(ddof=1) / draws.mean() / math.sqrt(len(draws)))

    @cached_property
    def _chance(self) -> float:
        """The part of the records that stand in, by leaving out a sixteenth in turn (jackknife)."""
        if not self.stand_in or self.counted is None or self._law is None:
            return 0.0
        others = (part.law(self.recommended.scales) for part in self.counted.parts())
        # By means, which move as medians do: a part moves them by less than the percent to which medians are computed.
        logs = np.log([float(one.risk) for one in others if one is not None])
        return math.sqrt((len(logs) - 1) * float(np.var(logs)))

    @property
    def doubt(self) -> str:
        """Why the forecast of what is recommended is not to be relied on; empty where it is.

        Nine in ten of such medians are meant to be within a tenth of that over runs on these records, or, where they
        stand in, over runs and others of their law; `python -m tests.power.regret ols` and `stand_in` measure how many.
        """
        best = self.recommended
        if best.method == "zero":
            return ""
        if self.spread is None:
            return f"no law of {best.label} says how sure the median of its risk is."
        if not isinstance(self.problem, ScaledData):
            return "of X'X alone, rows are taken to be of one length and residuals normal."
        if self.spread <= self.largest_spread:
            return ""
        error = f"(standard error {self.spread:.2g} of it)"
        if not self.stand_in or self._drawn > self._chance:
            return f"it depends on a few draws of the noisy Hessian and of clip levels {error}."
        if best.clipped is not None and best.clipped > MANY_CLIPPED:
            return (
                f"{best.clipped:.2g} of the gradients are clipped, and what that adds depends on the records {error}."
                f"{self._more}"
            )
        return f"{self.problem.gram.n} records that stand in are too few {error}.{self._more}"

    @property
    def enough_records(self) -> int | None:
        """How many records that stand in would make the forecast of what is recommended reliable, as its standard error
        falls with the root of their number, with a margin as it is not known well; None where these are enough or no
        number is.
        """
        left = (LARGER_SPREAD / MARGIN) ** 2 - self._drawn**2
        if (self.spread or 0.0) <= self.largest_spread or left <= 0 or not isinstance(self.problem, ScaledData):
            return None
        needed = max(self.problem.gram.n * self._chance**2 / left, MORE * self.regime.features.n)
        return _rounded_up(needed) if self._chance and needed <= MOST_RECORDS else None

    @property
    def _more(self) -> str:
        n = self.regime.features.n
        return f" About {self.enough_records} of them may be enough, for n = {n}." if self.enough_records else ""

    @property
    def useful(self) -> bool:
        """Whether what is recommended has at most half the risk of theta = 0."""
        return self._share <= USEFUL

    @property
    def _share(self) -> float:
        """Predicted risk of what is recommended over that of theta = 0."""
        signal = self.regime.features.signal
        return float(self.recommended.risk) / signal if signal else 1.0

    @property
    def reason(self) -> str:
        """Why, in a sentence or two."""
        best, second = self.ranking[:2]
        if best.method == "zero":
            return (
                f"No private estimate is predicted to beat theta = 0 (risk {float(best.risk):.3g}); the nearest is "
                f"{second.label} ({float(second.risk):.3g})."
            )
        share = float(best.risk) / float(second.risk)
        order = f"Least predicted risk, {share:.3g} of that of the next, {second.label}."
        if share > 1:  # PRN
            order = (
                f"Least predicted risk but for {second.label}'s, an estimate that may be {OPTIMISM:g} times too small."
            )
        return f"{order} {REASONS[best.method]}"

    def table(self) -> list[dict[str, Any]]:
        """A row of JSON data for each method and accounting: noise, predicted risk in the data's units, in all, its
        median over runs (None where no law gives it), per record and over that of theta = 0 (None if that is 0), what
        kind of number it is, and whether reliable: of what is recommended for other records, where there is no `doubt`.
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
            "median": None if row.median is None else self.units * float(row.median),
            "risk_per_record": risk / self.regime.features.n,
            "over_zero": risk / signal if signal else None,
            "clipped": row.clipped,
            "reference": row.reference,
            "kind": row.risk.kind,
            "reliable": row.reliable and not (self.stand_in and row is self.recommended and self.doubt),
        }

    def at(self, epsilon: float) -> Comparison:
        """The same at another epsilon, at equal true privacy alone."""
        n = self.regime.features.n if self.stand_in else None
        return compare(
            self.problem, epsilon, self.delta, self.choices, accountings=("tight",), stand_in=self.stand_in, n=n
        )

    def curves(self, points: int = 5) -> dict[Method, tuple[list[float], list[float]]]:
        """Risks at equal true privacy in the data's units, from a tenth of epsilon to ten times as much: for each
        method the epsilons and the risks.
        """
        epsilons = [float(epsilon) for epsilon in self.epsilon * np.geomspace(0.1, 10.0, count("points", points, 2))]
        found = [{row.method: self.units * float(row.risk) for row in self.at(one).rows} for one in epsilons]
        curves: dict[Method, tuple[list[float], list[float]]] = {}
        for row in self.under("tight"):
            if row.reference and not self.stand_in:
                continue
            curves[row.method] = epsilons, [risks[row.method] for risks in found]
        return curves

    @cached_property
    def worthwhile(self) -> Compared | None:
        """What has at most half the risk of theta = 0 at the first of a few larger epsilons where something does; None
        if nothing up to `most_epsilon`.
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
        return next((one for one in found if one.useful), None)

    @cached_property
    def worthwhile_records(self) -> int | None:
        """How many times as many records like these would make something useful at this epsilon: the first of 2, 4, ...
        64; None if none does.
        """
        gram = self.problem.gram if isinstance(self.problem, ScaledData) else self.problem
        for factor in map(int, LARGER):
            more = gram.standing_for(factor * self.regime.features.n)
            if compare(more, self.epsilon, self.delta, self.choices, accountings=("tight",)).useful:
                return factor
        return None

    @property
    def remedy(self) -> str:
        """What would help where nothing is useful, in a few sentences; empty where something is."""
        if self.useful:
            return ""
        share, more = self._share, self.worthwhile_records
        helps = [f"epsilon = {self.worthwhile_epsilon:.3g} ({self.worthwhile.label})"] if self.worthwhile else []
        helps += [f"about {more} times as many records"] if more else []
        said = " or ".join(helps)
        enough = (
            f"Half of it would be reached at {said}." if helps else "64 times the budget or the records do not help."
        )
        scale = ""
        if isinstance(self.problem, ScaledData) and self.problem.typical_row < SHORT_ROWS:
            scale = (
                f" Half of the rows are shorter than {self.problem.typical_row:.2g} of the bound on ||x||: scale the "
                "columns by public ranges, so that no column outweighs the others."
            )
        return f"None of these is useful here: the best is at {share:.3g} of the risk of theta = 0. {enough}{scale}"


def _rounded_up(number: float) -> int:
    """To two digits."""
    unit = 10 ** max(math.floor(math.log10(number)) - 1, 0)
    return math.ceil(number / unit) * unit


def _ranked(row: Compared) -> float:
    return float(row.risk) * (OPTIMISM if row.method == "PRN" and row.clipped is None else 1.0)


@typed
def compare(
    problem: Gram | ScaledData,
    epsilon: float,
    delta: float | None = None,
    choices: Choices | None = None,
    *,
    newton_clips: NewtonClips | None = None,
    accountings: Sequence[Accounting] = ("tight", "experiments"),
    references: bool = False,
    stand_in: bool = False,
    n: int | None = None,
) -> Comparison:
    """Every method for zero-out neighbours, on statistics of rows in the unit ball or on a data set.

    `delta` is n^-2 if None. PRN's clip levels are `newton_clips`; if None, those of the records of a data set, and for
    a `Gram` those of rows of one length with normal residuals. `accountings`: those that are wanted; PRN and TAP are
    `tight`. `references`: with rows of DP-GD whose settings read the data unpaid, which are recommended only with
    `stand_in`: the problem is public, or made up, and the private records are others like it; laws with clipping are
    then those of other records, not of these. `n`: how many the private ones are, as many as stand in if None. The step
    size is that over lambda_max of the problem, times the ratio of n.

    Raises `DomainError` for n without records that stand in, more than 300 columns, budgets outside their ranges, and
    sketches of fewer than d + 4 rows (IHM) or d + 2 (linear mixing), whose mean risk does not exist, or of more than
    can be accounted for.
    """
    choices = choices or Choices()
    epsilon = within("epsilon", positive("epsilon", epsilon), EPSILONS)
    gram = problem.gram if isinstance(problem, ScaledData) else problem
    if gram.d > MOST_COMPARED:
        why = "laws with clipping stand on a thousand rows and take a time like d³: compare on fewer columns"
        raise DomainError("d", gram.d, f"at most {MOST_COMPARED}", why)
    remedy = "a single record needs a delta of its own" if delta is None and gram.n == 1 else ""
    if n is not None:
        if not (stand_in and isinstance(problem, ScaledData)):
            raise DomainError("n", n, "left out", "with stand_in=True it is how many the private records are")
        gram = gram.standing_for(count("n", n, gram.d))
    delta = within("delta", gram.n**-2.0 if delta is None else delta, DELTAS, remedy)
    failure = delta / 10 if choices.failure is None else choices.failure
    sizes = sketch_sizes(gram.d, within("failure", failure, "[1e-300, 1)"), choices)
    mu, data = float(gaussian_mu(epsilon, delta)), features(gram)
    clips = newton_clips
    if clips is None and isinstance(problem, ScaledData):
        clips = problem.newton_clips(mu, gram.n)
    clips = clips or typical_clips(data, float(np.trace(gram.A)), mu, choices.outcome_bound)
    counted = None
    if gram.signal > 0 and isinstance(problem, ScaledData):
        counted = Counted.of_data(problem, others=stand_in, n=gram.n)
    elif gram.signal > 0:
        counted = Counted.of_gram(gram, choices.outcome_bound)
    budget = {"epsilon": epsilon, "delta": delta, "failure": failure}
    parts = Parts(gram=gram, data=data, choices=choices, sizes=sizes, counted=counted, **budget)
    rows = [row for accounting in accountings for row in parts.rows(accounting)]
    rows += [parts.newton(mu, clips), *parts.tail_averaged(mu)]
    rows += parts.references(mu) if references or stand_in else ()
    return Comparison(
        rows=tuple(rows),
        regime=regime(data, epsilon, delta, failure=failure, steps=choices.steps, outcome_bound=choices.outcome_bound),
        mu=mu,
        clips=clips,
        problem=problem,
        **budget,
        choices=replace(choices, failure=failure),
        stand_in=stand_in,
        counted=counted,
    )
