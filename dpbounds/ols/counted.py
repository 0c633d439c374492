"""Laws with clipping of the methods that are compared: on the records, or on rows that are typical of X'X.

>>> from dpbounds.ols.designs import AssumedDesign
>>> law = Counted.of_gram(AssumedDesign(n=10000, d=5).gram).tail_averaged(0.1)
>>> law.risk.kind, round(law.relative, 4)
('estimate', 0.0019)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

from dpbounds.arguments import typed
from dpbounds.ols import newton as prn
from dpbounds.ols.clipping import Choice, Descent, Law, Tuned, chosen_from_moments
from dpbounds.ols.clipping.mixing import mixing_law
from dpbounds.ols.clipping.preconditioned import recentred_law, tail_law
from dpbounds.ols.clipping.rows import Rows, rows_of, typical_rows
from dpbounds.ols.clipping.tuning import tuned
from dpbounds.ols.data import ScaledData
from dpbounds.ols.gram import Gram
from dpbounds.ols.risk import NoiseLaw
from dpbounds.ols.scales import AveragedDescentScales, GradientDescentScales, HessianMixingScales
from dpbounds.ols.tail_averaged import TailAveraged

# Rows that stand for all, and in the law of settings that were tuned.
ROWS, MORE_ROWS = 1000, 16_000
# Parts of the records that are left out in turn.
PARTS = 16
# Draws of what TAP and PRN release beside gradients, of typical rows and of records.
DRAWS, MORE_DRAWS = 8, 16


@dataclass(frozen=True, kw_only=True, eq=False)
class Counted:
    """Rows in units of their bounds, and whether they were made up to be typical of moments. Risks of theirs times
    `unit` are in units of the problem. `others`: laws are of n other records like these, not of these.
    """

    rows: Rows = field(repr=False)
    typical: bool
    unit: float = 1.0
    others: bool = False

    @classmethod
    @typed
    def of_data(cls, data: ScaledData, *, others: bool = False, n: int | None = None) -> Counted:
        """All records, standing for n if not for as many. Raises `DomainError` where X explains nothing of y."""
        rows = rows_of(data.regressors, data.outcome)
        rows = rows if n is None else rows.standing_for(n)
        return cls(rows=rows.unseen() if others else rows, typical=False, others=others)

    @classmethod
    @typed
    def of_gram(cls, gram: Gram, outcome_bound: float = 1.0) -> Counted:
        """Rows of about one length with normal residuals."""
        bound = outcome_bound
        scaled = Gram(A=gram.A, b=gram.b / bound, y_squared=gram.y_squared / bound**2, n=gram.n)
        return cls(rows=typical_rows(scaled, ROWS), typical=True, unit=bound**2)

    @cached_property
    def some(self) -> Rows:
        """A thousand."""
        return self.rows.thinned(ROWS)

    def _once(self, settings: object, law: Callable[[], Law]) -> Law:
        """Rows and their spread ask for the same laws."""
        if settings not in self._known:
            self._known[settings] = law()
        return self._known[settings]

    @cached_property
    def _known(self) -> dict[object, Law]:
        return {}

    @property
    def draws(self) -> int:
        """Of what is released beside gradients."""
        return DRAWS if self.typical else MORE_DRAWS

    def parts(self) -> list[Counted]:
        """Without each of sixteen parts of the records in turn, the rest standing for all: how far laws move is what
        they owe to chance.
        """
        rest = (self.rows.without(part, PARTS) for part in range(PARTS))
        return [replace(self, rows=rows.unseen() if self.others else rows) for rows in rest]

    def law(self, scales: object) -> Law | None:
        """Of the methods whose settings are all that it takes, None for the others."""
        match scales:
            case TailAveraged():
                return self.tail_averaged(scales.mu)
            case prn.Newton():
                return self.newton(scales.mu)
            case AveragedDescentScales():
                return self.descent(scales, scales.mu)
            case _:
                return None

    def descent(self, one: Choice | Tuned | AveragedDescentScales, mu: float) -> Law:
        """DP-GD with given settings, on sixteen thousand rows at most."""
        settings = Descent(steps=one.steps, rate=one.rate, clip=one.clip, average=one.average)
        return settings.law(self.rows.thinned(MORE_ROWS), mu)

    def tail_averaged(self, mu: float) -> Law:
        """TAP."""
        settings = TailAveraged(mu=mu)
        return self._once(settings, lambda: tail_law(self.rows, self.some, settings, self.draws, 0))

    def newton(self, mu: float) -> Law:
        """PRN."""
        settings = prn.Newton(mu=mu)
        return self._once(settings, lambda: recentred_law(self.rows, self.some, settings, self.draws, 0))

    def chosen(self, mu: float) -> tuple[Choice, Law]:
        """DP-GD with settings chosen from moments, and its law."""
        one = chosen_from_moments(self.rows.gram, mu)
        settings = Descent(steps=one.steps, rate=one.rate, clip=one.clip, average=one.average)
        return one, settings.law(self.some, mu)

    def tuned(self, mu: float) -> Tuned:
        """DP-GD with the settings that are best on the rows."""
        return tuned(self.rows, self.rows.thinned(MORE_ROWS), mu)

    def gradient_descent(self, scales: GradientDescentScales, rate: float, outcome_bound: float) -> Law:
        """DP-GD as the paper has it, with steps of `rate` on the mean gradient."""
        clip, sigma = scales.clip / outcome_bound, scales.n * scales.sigma / outcome_bound
        settings = Descent(steps=scales.steps, rate=rate * self.rows.largest / scales.n, clip=clip)
        return settings.law(self.some, clip * math.sqrt(scales.steps) / sigma)

    def hessian_mixing(
        self, scales: HessianMixingScales, law: NoiseLaw, outcome_bound: float, *, keep_ridge: bool
    ) -> Law:
        """IHM, over the law of the noise level that it releases."""
        return mixing_law(
            self.some,
            law,
            steps=scales.steps,
            k=scales.k,
            sigma=scales.sigma / outcome_bound,
            clip=scales.clip / outcome_bound,
            keep_ridge=keep_ridge,
        )
