"""A quotient that a statement with open constants says is bounded, and that no constant bounds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, final

from dpbounds import arithmetic
from verify.checks.base import Check, Level, Result, Seed, Task
from verify.checks.evidence import Evidence

Quotient = Callable[[Any, Any], Any]
# Scales at which the two forms are held against each other, beside those that are shown.
TRIED = (1, 3, 10, 1000, 10**6, 10**12)
# Parts of [0, 1] on which the reduced form is proved positive, at most, and digits of the comparison at points.
MOST_PARTS, DIGITS = 10_000, 50


@final
@dataclass(frozen=True, kw_only=True)
class Unbounded(Check):
    """`quotient(m, s)`, value over rate at the scale s >= 1, is at least c s^power with some c > 0, for every s.

    `reduced(m, x)` is a lower bound of quotient(m, 1/x) x^power, or that itself, written so that it has a value at x =
    0; its docstring must say why. It is tried at points, and proved to be positive on all of [0, 1] by balls: the
    statement then fails, whatever the constants of its rate. Constants that its hypotheses leave open have one value, 1
    unless the quotient's docstring says another. Without a proof the check is unclear; for a quotient that is bounded
    there is `Rate`. `shown` are scales by the names under which texts show the quotient there.
    """

    quotient: Quotient
    reduced: Quotient
    power: Fraction = Fraction(1)
    shown: Mapping[str, Any] = field(default_factory=dict)

    def counterexample_names(self) -> Collection[str]:
        """The quotients that are shown, the power, and a constant that serves."""
        return {*self.shown, "power", "constant"}

    def run(self, task: Task, seed: Seed) -> Result:
        """The quotients at scales, how often the reduced form is above, and the least that is proved of it."""
        scales = [*map(Fraction, TRIED), *map(Fraction, self.shown.values())]
        with arithmetic.digits(DIGITS) as m:
            values = [m.number(self.quotient(m, m.number(scale))) for scale in scales]
            pairs = zip(scales, values, strict=True)
            above = [float(scale) for scale, value in pairs if self._above(m, scale, value)]
            shown = dict(zip(self.shown, map(float, values[len(TRIED) :]), strict=True))
        return {"above": above, "shown": shown, "least": self._least()}

    def conclude(self, results: Sequence[Result], level: Level) -> Evidence:
        """Fails if the reduced form is proved positive and is nowhere above."""
        (result,) = results
        power, least = float(self.power), result["least"]
        found = {**result["shown"], "power": power, "constant": least}
        if result["above"]:
            summary = f"The reduced form is above the quotient at the scale {result['above'][0]:g}."
            return Evidence(outcome="unclear", how="numeric", summary=summary, needed="another reduced form")
        if least is None:
            summary = f"The reduced form is not proved positive with {MOST_PARTS} parts of [0, 1]."
            return Evidence(outcome="unclear", how="certified", summary=summary, needed="a better conditioned form")
        summary = f"At the scale s the quotient is at least {least:.3g} s^{power:g}, for every s >= 1."
        return Evidence(outcome="fails", how="certified", summary=summary, counterexample=found, rows=[found])

    def _above(self, m: Any, scale: Fraction, value: Any) -> bool:
        """Whether the reduced form is for certain more than the quotient in its units."""
        x = m.number(1 / scale)
        return bool(self.reduced(m, x) > value * m.power(x, m.number(self.power)) * (1 + m.number("1e-40")))

    def _least(self) -> float | None:
        """A number below the reduced form on every part of [0, 1], None if some part resists."""
        least, parts = None, [(Fraction(0), Fraction(1))]
        with arithmetic.balls() as m:
            for _ in range(MOST_PARTS):
                if not parts:
                    return least
                low, high = parts.pop()
                value = self.reduced(m, m.number(low).union(m.number(high)))
                if value > 0:
                    below = float(value.lower()) * (1 - 1e-12)
                    least = below if least is None else min(least, below)
                    continue
                middle = (low + high) / 2
                parts += [(middle, high), (low, middle)]
        return None
