"""Impostors as data: a function with other arguments, or with its values multiplied."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from inspect import Parameter, signature
from typing import Any, Protocol, runtime_checkable

from dpbounds import DomainError


@dataclass(frozen=True)
class Times:
    """Multiply what a function gives: `Times(1.05)` every number, `Times(1, 0.98)` the second of two.

    In place of a number a text such as "1.00000000000000000001" keeps its digits in arithmetic of many digits.

    - a number, an array, an expression: the product;
    - a tuple, or a list: entry by entry, by the one factor or by as many as there are entries;
    - pairs (label, number): the numbers;
    - objects with `times(factor)`, such as facts and cases: what they stand for, stated value and not observation.
    """

    factors: tuple[Any, ...]

    def __init__(self, *factors: Any) -> None:
        object.__setattr__(self, "factors", factors)


@runtime_checkable
class Stated(Protocol):
    """Something that states a number."""

    def times(self, factor: Any) -> Any:
        """The same with the stated number multiplied."""
        ...


def bound(function: Callable[..., Any], keywords: Mapping[str, Any]) -> Callable[..., Any]:
    """The function called with these keyword arguments."""
    return partial(function, **keywords)


def check_keywords(name: str, function: Callable[..., Any], keywords: Mapping[str, Any]) -> None:
    """Raise `DomainError` for a keyword that the function does not take."""
    try:
        parameters = signature(function).parameters
    except (TypeError, ValueError):  # of a function that is not written in Python
        return
    if not any(item.kind is Parameter.VAR_KEYWORD for item in parameters.values()):
        for key in keywords:
            if key not in parameters:
                raise DomainError(name, key, f"one of its arguments {', '.join(parameters)}")


def multiplied(function: Callable[..., Any], times: Times) -> Callable[..., Any]:
    """The function with its values multiplied; its first argument, if it is an arithmetic, reads the factors."""
    return partial(_call, function, times)


def _call(function: Callable[..., Any], times: Times, /, *arguments: Any, **keywords: Any) -> Any:
    number = getattr(arguments[0], "number", None) if arguments else None
    factors = [number(factor) if number else _number(factor) for factor in times.factors]
    return _scaled(function(*arguments, **keywords), factors)


def _number(factor: Any) -> Any:
    return float(factor) if isinstance(factor, str) else factor


def _scaled(value: Any, factors: list[Any]) -> Any:
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return tuple(_one(item, factor) for item, factor in _paired(value, factors))
    if isinstance(value, list):
        return [_one(item, factor) for item, factor in _paired(value, factors)]
    if hasattr(value, "__next__"):
        return (_labelled(item, factors) for item in value)
    return _one(value, factors[0])


def _paired(items: Any, factors: list[Any]) -> list[tuple[Any, Any]]:
    return list(zip(items, factors if len(factors) == len(items) else factors * len(items), strict=False))


def _labelled(item: Any, factors: list[Any]) -> Any:
    """A (label, number) pair, or something that states a number."""
    if isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str):
        return item[0], item[1] * factors[0]
    return _one(item, factors[0])


def _one(value: Any, factor: Any) -> Any:
    return value.times(factor) if isinstance(value, Stated) else value * factor
