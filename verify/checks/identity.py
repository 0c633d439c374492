"""Two expressions that must be equal: 50 digits at random points, or exactly by computer algebra."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from dpbounds import DomainError, arithmetic
from dpbounds.elliptic.quadrature import enclosed_integral
from verify.checks.base import Check, Level, Result, Seed, Task, ground_of
from verify.checks.domains import Box, corners, points, simple_points
from verify.checks.evidence import Evidence

Expression = Callable[..., Any]
# Characters of the names of what was proved, in one sentence.
MOST_LABELS = 80
# Operations in what is left of a residual up to which it is simplified for the reader.
LARGEST_REST = 60


@final
@dataclass(frozen=True, kw_only=True)
class Identity(Check):
    """`left(m, **parameters) == right(m, **parameters)` on a box, m the arithmetic (`dpbounds.arithmetic`).

    Round numbers first (so that a counterexample is readable), then corners, then `random_points` at random. The two
    sides must not share their computation: `m.integral` is the quadrature oracle. Agreement means `digits` digits, less
    `lost` for cancellation.
    """

    left: Expression
    right: Expression
    box: Box
    digits: int = 50
    lost: int = 5
    random_points: int = 100
    where: Callable[..., bool] | None = None

    def counterexample_names(self) -> Collection[str]:
        """The point and both sides."""
        return {*self.box, "left", "right"}

    def run(self, task: Task, seed: Seed) -> Result:
        """Largest relative difference, up to the first point where it is too large."""
        worst, first_failure, evaluated = 0.0, None, 0
        with arithmetic.digits(self.digits + 10) as m:
            for point in self._points(seed.generator()):
                arguments = {name: m.number(value) for name, value in point.items()}
                left, right = self.left(m, **arguments), self.right(m, **arguments)
                error = _relative_difference(m, left, right)
                evaluated += 1
                worst = max(worst, error)
                if not error <= self.tolerance:
                    first_failure = {**point, "left": float(left), "right": float(right)}
                    break
        certain = first_failure is not None and self._certain(first_failure)
        return {"worst": worst, "failure": first_failure, "evaluated": evaluated, "certain": certain}

    def conclude(self, results: Sequence[Result], level: Level) -> Evidence:
        """Fails at the first point where the sides differ."""
        (result,) = results
        if result["failure"] is not None:
            return Evidence(
                outcome="fails",
                how=ground_of(result),
                summary=f"The two sides differ at {_named(result['failure'])}.",
                counterexample=result["failure"],
                evaluations=result["evaluated"],
            )
        return Evidence(
            outcome="holds",
            how="numeric",
            summary=(
                f"{result['evaluated']} points agree to {self.digits - self.lost} digits (worst {result['worst']:.1e})."
            ),
            resolution=self.tolerance,
            evaluations=result["evaluated"],
        )

    @property
    def tolerance(self) -> float:
        """Largest relative difference counted as equality."""
        return 10.0 ** -(self.digits - self.lost)

    def _certain(self, found: dict[str, float]) -> bool:
        """Whether balls alone show that the sides differ, integrals enclosed."""
        with arithmetic.balls() as m:
            m = replace(m, integral=enclosed_integral)
            try:
                at = {name: m.number(found[name]) for name in self.box}
                return not self.left(m, **at).overlaps(m.number(self.right(m, **at)))
            except DomainError:
                return False

    def _points(self, rng: np.random.Generator) -> Iterable[dict[str, float]]:
        unit = np.concatenate([corners(self.box), rng.random((self.random_points, len(self.box)))])
        arrays = points(self.box, unit)
        spread = [{name: float(values[row]) for name, values in arrays.items()} for row in range(len(unit))]
        admitted = [*simple_points(self.box, most=20), *spread]
        return (point for point in admitted if self.where is None or self.where(**point))


@final
@dataclass(frozen=True, kw_only=True)
class Symbolic(Check):
    """A proof by computer algebra: every residual simplifies to 0, every nonnegative expression is shown to be so.

    `residuals` gives (label, left, right), sympy expressions or matrices that are equal, or (label, expression) for one
    that is 0. `nonnegative` gives pairs: an expression in positive symbols is accepted if, over a common denominator,
    numerator and denominator have only nonnegative coefficients (substitute so that this shows). `squares` gives
    (label, expression, what it is equal to), the last put together from squares in real symbols and positive numbers by
    sums, products and quotients: nonnegative wherever it is defined.
    """

    residuals: Callable[[], Iterable[tuple[Any, ...]]] = tuple
    nonnegative: Callable[[], Iterable[tuple[str, Any]]] = tuple
    squares: Callable[[], Iterable[tuple[str, Any, Any]]] = tuple

    def run(self, task: Task, seed: Seed) -> Result:
        """The labels proved, and what is left of those that are not."""
        proved, open_cases = [], {}
        for label, left, *right in self.residuals():
            rest = _simplified(left - right[0] if right else left)
            proved.append(label) if rest == 0 else open_cases.setdefault(label, f"{rest} != 0")
        for label, expression in self.nonnegative():
            reason = _sign_obstacle(expression)
            proved.append(label) if reason is None else open_cases.setdefault(label, reason)
        for label, expression, sum_of_squares in self.squares():
            reason = _squares_obstacle(expression, sum_of_squares)
            proved.append(label) if reason is None else open_cases.setdefault(label, reason)
        return {"proved": proved, "open": open_cases}

    def conclude(self, results: Sequence[Result], level: Level) -> Evidence:
        """Holds if everything is proved."""
        (result,) = results
        if result["open"]:
            label, rest = next(iter(result["open"].items()))
            summary = f"Fails for {label}: {rest}."
            return Evidence(outcome="fails", how="proved", summary=summary, counterexample=dict(result["open"]))
        labels, count = ", ".join(result["proved"]), len(result["proved"])
        what = labels if len(labels) <= MOST_LABELS or count == 1 else f"{count} identities"
        return Evidence(outcome="holds", how="proved", summary=f"Proved symbolically: {what}.", evaluations=count)


def _relative_difference(m: Any, left: Any, right: Any) -> float:
    """Largest relative difference that the two balls allow; nan if one of them is not finite."""
    left, right = m.number(left), m.number(right)
    if left.is_zero() and right.is_zero():
        return 0.0
    scale = m.maximum(m.absolute(left), m.absolute(right)).upper()
    return float(m.absolute(left - right).upper() / scale)


def _simplified(expression: Any) -> Any:
    import sympy

    if isinstance(expression, sympy.MatrixBase):
        rest = expression.applyfunc(_rest)
        return 0 if rest.is_zero_matrix else rest
    return _rest(sympy.sympify(expression))


def _rest(expression: Any) -> Any:
    """0 if the expression is; of a rational function it is enough that the numerator vanishes."""
    import sympy

    if expression.is_rational_function():
        numerator = sympy.expand(sympy.fraction(sympy.together(expression))[0])
        if numerator == 0 or numerator.count_ops() > LARGEST_REST:
            return numerator
    return sympy.simplify(sympy.expand(expression))


def _sign_obstacle(expression: Any) -> str | None:
    """None if the expression is visibly nonnegative for positive symbols, else what stands in the way."""
    import sympy

    together = sympy.cancel(sympy.together(sympy.sympify(expression)))
    for part in sympy.fraction(together):
        polynomial = sympy.Poly(part, *sorted(part.free_symbols, key=str)) if part.free_symbols else None
        coefficients = polynomial.coeffs() if polynomial is not None else [part]
        negative = [coefficient for coefficient in coefficients if not coefficient.is_nonnegative]
        if negative:
            return f"coefficient {negative[0]} in {sympy.factor(part)}"
    return None


def _squares_obstacle(expression: Any, sum_of_squares: Any) -> str | None:
    """None if the expression is equal to the other, and that shows that it is nonnegative, else what is in the way."""
    import sympy

    rest = _rest(sympy.sympify(expression) - sum_of_squares)
    if rest != 0:
        return f"{rest} != 0"
    return None if is_visibly_square(sum_of_squares) else f"no sum of squares: {sum_of_squares}"


def is_visibly_square(expression: Any) -> bool:
    """Whether an expression is put together from squares in real symbols and positive numbers by sums, products and
    quotients.
    """
    import sympy

    expression = sympy.sympify(expression)
    if expression.is_Rational:
        return bool(expression > 0)
    if expression.is_Pow and expression.exp.is_Integer:
        even = expression.exp % 2 == 0 and all(symbol.is_extended_real for symbol in expression.free_symbols)
        return even or is_visibly_square(expression.base)
    return (expression.is_Add or expression.is_Mul) and all(map(is_visibly_square, expression.args))


def _named(point: dict[str, Any]) -> str:
    return ", ".join(
        f"{name} = {value:.6g}" if isinstance(value, float) else f"{name} = {value}" for name, value in point.items()
    )
