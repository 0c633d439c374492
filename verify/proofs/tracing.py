"""The arithmetic that records: a formula called with it becomes a list of steps.

>>> trace = Trace(["x"])
>>> root = trace.arithmetic.sqrt(1 + trace.variable("x") ** 2)
>>> trace.steps
[['variable', 0], ['whole_power', 0, 2], ['number', '1'], ['add', 2, 1], ['sqrt', 3]]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from fractions import Fraction
from typing import Any

import numpy as np

from dpbounds import DomainError
from dpbounds.arithmetic import Arithmetic
from verify import proof_checker as checker

# Formulas with more are not for a reader.
MOST_STEPS = 2000


class Untraceable(Exception):
    """The formula does what steps cannot say."""


class Missing(Untraceable, AttributeError):
    """Of what steps have not, such as the middle of a ball."""


class Step:
    """A number of the recording arithmetic: a step of a trace, with its exact value where it is a fraction."""

    __array_priority__ = 1000

    def __init__(self, trace: Trace, place: int) -> None:
        self.trace, self.place = trace, place

    def __add__(self, other: Any) -> Step:
        return self.trace.record("add", self, other)

    def __radd__(self, other: Any) -> Step:
        return self.trace.record("add", other, self)

    def __sub__(self, other: Any) -> Step:
        return self.trace.record("sub", self, other)

    def __rsub__(self, other: Any) -> Step:
        return self.trace.record("sub", other, self)

    def __mul__(self, other: Any) -> Step:
        return self.trace.record("mul", self, other)

    def __rmul__(self, other: Any) -> Step:
        return self.trace.record("mul", other, self)

    def __truediv__(self, other: Any) -> Step:
        return self.trace.record("div", self, other)

    def __rtruediv__(self, other: Any) -> Step:
        return self.trace.record("div", other, self)

    def __neg__(self) -> Step:
        return self.trace.record("neg", self)

    def __abs__(self) -> Step:
        return self.trace.record("absolute", self)

    def __pow__(self, exponent: Any) -> Step:
        return self.trace.power(self, exponent)

    def __rpow__(self, base: Any) -> Step:
        return self.trace.power(self.trace.number(base), self)

    def __bool__(self) -> bool:
        raise Untraceable("it branches on a number")

    def upper(self) -> Step:
        """The end of a ball that is a point."""
        return self

    lower = upper

    def _compared(self, _: Any) -> bool:
        raise Untraceable("it branches on a comparison")

    __lt__ = __le__ = __gt__ = __ge__ = _compared

    def __float__(self) -> float:
        raise Untraceable("it takes a number as a float")

    def __getattr__(self, name: str) -> Any:
        raise Missing(f"it asks a number for its {name!r}")


class Trace:
    """Steps of one or more formulas in these variables; the same step is recorded once. With `halvings` it takes an
    integral, over one more variable cut into 2^halvings parts.
    """

    def __init__(self, variables: Sequence[str], halvings: int = 0) -> None:
        self.variables, self.halvings = list(variables), halvings
        self.steps: list[list[Any]] = []
        self._places: dict[tuple[Any, ...], int] = {}
        offered = {name: self._operation(name) for name in checker.ARITY}
        own = {"number": self.number, "power": self.power, "elliptic_k": self._elliptic_k, "ndtr": self._ndtr}
        refused = {field.name: self._refused(field.name) for field in fields(Arithmetic)}
        known = {name: offered[name] for name in refused if name in offered}
        offered = (
            refused
            | known
            | own
            | {"log_ndtr": self._log_ndtr, "log1p": lambda x: self.record("log", 1 + self.number(x))}
        )
        offered |= {"expm1": lambda x: self.record("exp", x) - 1}
        offered |= {"integral": self._integral} if halvings else {}
        self.arithmetic = Arithmetic(**{**offered, "name": "steps", "pi": _Pi(self)})

    def variable(self, name: str) -> Step:
        """The variable of this name."""
        return self._step("variable", self.variables.index(name))

    def number(self, value: Any) -> Step:
        """A number, exactly."""
        if isinstance(value, Step):
            return value
        if isinstance(value, _Pi):
            return self._step("pi")
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = value.item()
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, bool) or not isinstance(value, (int, float, str, Fraction)):
            raise Untraceable(f"it uses a number of the kind {type(value).__name__}")
        try:
            exact = Fraction(value)
        except (ValueError, OverflowError, ZeroDivisionError):
            raise Untraceable(f"{value!r} is no number") from None
        return self._step("number", str(exact))

    def power(self, base: Any, exponent: Any) -> Step:
        """A whole power, or another."""
        if isinstance(exponent, Step) and self.steps[exponent.place][0] == "number":
            exponent = Fraction(self.steps[exponent.place][1])
        if isinstance(exponent, (int, float, Fraction, np.integer)) and exponent == int(exponent):
            return self._step("whole_power", self.number(base).place, int(exponent))
        return self.record("power", base, exponent)

    def record(self, name: str, *arguments: Any) -> Step:
        """The step that does this to numbers or steps."""
        return self._step(name, *(self.number(argument).place for argument in arguments))

    def _elliptic_k(self, k: Any) -> Step:
        return self.record("integral_inverse", 1 - self.number(k)) / 4

    def _ndtr(self, x: Any) -> Step:
        """Φ(x) = φ(x) M(-x), M the Mills ratio."""
        x = self.number(x)
        m = self.arithmetic
        return m.exp(-x * x / 2) / m.sqrt(2 * m.pi) * m.mills(-x)

    def _log_ndtr(self, x: Any) -> Step:
        x, m = self.number(x), self.arithmetic
        return m.log(m.mills(-x)) - x * x / 2 - m.log(2 * m.pi) / 2

    def _integral(self, integrand: Callable[[Step], Any]) -> Step:
        """That of f(sin^2(omega / 2)) over the circle, by u = tan(omega / 4) that of 8 f(4 u^2 / (1 + u^2)^2) / (1 +
        u^2) over [0, 1].
        """
        if self.integrates:
            raise Untraceable("it takes more than one integral")
        below = 1 + self._step("variable", len(self.variables)) ** 2
        inside = 8 * self.number(integrand(4 * (below - 1) / below**2)) / below
        cuts = "d"
        for _ in range(self.halvings):
            cuts = f"0{cuts}{cuts}"
        return self._step("integral", inside.place, cuts)

    @property
    def integrates(self) -> bool:
        """Whether an integral is among the steps."""
        return any(name == "integral" for name, *_ in self.steps)

    def at(self, place: int) -> Step:
        """The step at a place."""
        return Step(self, place)

    def _step(self, *step: Any) -> Step:
        if step not in self._places:
            if len(self.steps) >= MOST_STEPS:
                raise Untraceable(f"it takes more than {MOST_STEPS} steps")
            self._places[step] = len(self.steps)
            self.steps.append(list(step))
        return Step(self, self._places[step])

    def _operation(self, name: str) -> Callable[..., Step]:
        return lambda *arguments: self.record(name, *arguments)

    @staticmethod
    def _refused(name: str) -> Callable[..., Any]:
        def refused(*_: Any) -> Any:
            raise Untraceable(f"the checker has no {name}")

        return refused


class _Pi(Step):
    """π, recorded where it is used."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    @property
    def place(self) -> int:  # type: ignore[override]
        """Where it stands."""
        return self.trace._step("pi").place


def traced(trace: Trace, formula: Callable[..., Any]) -> int:
    """The place of the formula's value at the variables; `Untraceable` where it has none."""
    arguments = {name: trace.variable(name) for name in trace.variables}
    try:
        return trace.number(formula(trace.arithmetic, **arguments)).place
    except (TypeError, ValueError, AttributeError, DomainError, OverflowError) as error:
        raise Untraceable(" ".join(str(error).split())) from None


def accepted(proof: Mapping[str, Any]) -> bool:
    """Whether the checker accepts what a file will say; not of a file that takes its content or others."""
    data = {name: value for name, value in proof.items() if name != "kind"}
    try:
        checker.PLAIN_KINDS[proof["kind"]](data, b"")
    except checker.Refused:
        return False
    return True
