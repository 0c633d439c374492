"""Arguments that are things, not numbers: a wrong one is a `DomainError` that names the parameter.

`typed` holds the arguments of a function, or of a dataclass, against their annotations, as far as these name a class, a
protocol, a callable or a collection. What is annotated as a number or an array is for the checks of `dpbounds.errors`,
which know its range. `formula` is for formulas that run on the numbers of any arithmetic, or on arrays of any shape.

>>> @typed
... def doubled(words: list) -> list:
...     return 2 * words
>>> doubled("ab")
Traceback (most recent call last):
...
dpbounds.errors.DomainError: words = ab is not allowed: it must be a list
"""

from __future__ import annotations

import functools
import inspect
import sys
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import ModuleType, NoneType, UnionType
from typing import Any, TypeVar

import numpy as np

from dpbounds.errors import AccuracyError, DomainError, real_array

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Test = tuple[Callable[[Any], bool], str]
# Annotations that say nothing here: numbers, and arrays, for which lists do as well.
_NUMBERS = (int, float, complex, object, np.ndarray, Any)
_CONTAINERS = (Sequence, Collection, Iterable)


def typed(function: _Function) -> _Function:
    """The same function, or dataclass, refusing arguments of classes that its annotations exclude, by `DomainError`.

    Annotations are read at the first call. A call costs about a microsecond more.
    """
    if inspect.isclass(function):
        function.__init__ = typed(function.__init__)
        return typing.cast(_Function, function)
    expected: list[tuple[int, str, Callable[[Any], bool], str]] | None = None

    @functools.wraps(function)
    def checked(*args, **kwargs):
        nonlocal expected
        if expected is None:
            expected = checkable(function)
        given = len(args)
        for position, name, fits, wanted in expected:
            if position < given:
                value = args[position]
            elif name in kwargs:
                value = kwargs[name]
            else:
                continue
            if not fits(value):
                raise DomainError(name, value, wanted)
        return function(*args, **kwargs)

    return typing.cast(_Function, checked)


def formula(function: _Function) -> _Function:
    """The same formula, refusing what is no number, and numbers for which it has no value.

    A parameter annotated `Any` takes the numbers of any arithmetic, and arrays of them, one annotated `float` or `int`
    numbers; one annotated as an array takes whatever can be an array of floats, and the formula gets that. The others
    are `typed`. Raises `DomainError` for other things, and where the arithmetic fails: division by 0, numbers beyond
    floats, numbers of two arithmetics that do not mix, arrays of shapes that do not fit, singular matrices.
    """
    signature = inspect.signature(function)
    names = list(signature.parameters)
    numbers: frozenset[str] | None = None
    arrays: frozenset[str] = frozenset()
    places: list[tuple[int, str]] = []

    @functools.wraps(function)
    def checked(*args, **kwargs):
        nonlocal numbers, arrays, places
        if numbers is None:
            numbers, arrays = _numeric(function)
            places = [(place, name) for place, name in enumerate(names) if name in numbers]
        if arrays:
            args = (
                tuple(_as_array(name, value, arrays) for name, value in zip(names, args, strict=False))
                + args[len(names) :]
            )
            kwargs = {name: _as_array(name, value, arrays) for name, value in kwargs.items()}
        given = {name: args[place] for place, name in places if place < len(args)}
        if kwargs:
            given |= {name: value for name, value in kwargs.items() if name in numbers}
        for name, value in given.items():
            if not _is_number(type(value)):
                raise DomainError(name, value, "a number")
        try:
            return function(*args, **kwargs)
        except (DomainError, AccuracyError):
            raise
        except (ArithmeticError, TypeError, ValueError, LookupError) as error:
            signature.bind(*args, **kwargs)  # an argument that is missing is Python's own error
            allowed = f"numbers for which {function.__name__} has a value"
            raise DomainError(", ".join(given or names), tuple(given.values()), allowed, str(error)) from error

    return typed(typing.cast(_Function, checked))


@functools.cache
def _is_number(kind: type) -> bool:
    """Whether things of this class can be subtracted from a number, or one from them; sets can only from sets."""
    return hasattr(kind, "__rsub__") and not issubclass(kind, (set, frozenset))


def _numeric(function: Callable[..., Any]) -> tuple[frozenset[str], frozenset[str]]:
    """Parameters of a formula that are numbers, and those of them that are arrays."""
    hints = {name: _members(hint) for name, hint in typing.get_type_hints(function).items() if name != "return"}
    arrays = frozenset(name for name, kinds in hints.items() if any(_is_array(kind) for kind in kinds))
    scalars = {name for name, kinds in hints.items() if kinds in ((Any,), (float,), (int,))}
    return arrays | scalars, arrays


def _is_array(kind: Any) -> bool:
    return kind is np.ndarray or "jaxtyping" in type(kind).__module__


def _as_array(name: str, value: Any, arrays: frozenset[str]) -> Any:
    return real_array(name, value) if name in arrays else value


def checkable(function: Callable[..., Any]) -> list[tuple[int, str, Callable[[Any], bool], str]]:
    """Position (`sys.maxsize` for keywords), name, test and description of each parameter that `typed` checks."""
    hints = typing.get_type_hints(function)
    found = []
    for position, parameter in enumerate(inspect.signature(function).parameters.values()):
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) or parameter.name not in hints:
            continue
        tests = [_test(kind) for kind in _members(hints[parameter.name])]
        if None in tests:
            continue
        place = sys.maxsize if parameter.kind is parameter.KEYWORD_ONLY else position
        fits = [test[0] for test in tests if test]
        fit = fits[0] if len(fits) == 1 else functools.partial(_any_fits, fits)
        found.append((place, parameter.name, fit, " or ".join(test[1] for test in tests if test)))
    return found


def _members(hint: Any) -> tuple[Any, ...]:
    return typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, UnionType) else (hint,)


def _any_fits(fits: Sequence[Callable[[Any], bool]], value: Any) -> bool:
    return any(fit(value) for fit in fits)


def _test(kind: Any) -> _Test | None:
    """Whether a value fits one annotation, and its name; None for annotations that say nothing here."""
    origin = typing.get_origin(kind) or kind
    if origin is Callable:
        return callable, "a function"
    if origin is Mapping:
        held = _test(typing.get_args(kind)[1]) if typing.get_args(kind) else None
        if held is None:
            return lambda value: isinstance(value, Mapping), "a mapping"
        fits, wanted = held
        return lambda value: isinstance(value, Mapping) and all(map(fits, value.values())), f"a mapping to {wanted}"
    if origin in _CONTAINERS:
        return _collection if origin is not Iterable else _iterable, "a list"
    if not inspect.isclass(kind) or kind in _NUMBERS or _is_array(kind):
        return None
    if kind is NoneType:
        return lambda value: value is None, "None"
    if kind is bool:
        return lambda value: isinstance(value, (bool, np.bool_)), "True or False"
    if getattr(kind, "_is_protocol", False):
        members = frozenset(name for name in {*vars(kind), *vars(kind).get("__annotations__", ())} if name[0] != "_")
        return lambda value: _has(value if isinstance(value, ModuleType) else type(value), members), _named(kind)
    return lambda value: isinstance(value, kind), _named(kind)


@functools.cache
def _has(kind: type | ModuleType, members: frozenset[str]) -> bool:
    """Whether all instances of a class, or a module, have these attributes."""
    fields = getattr(kind, "__dataclass_fields__", ())
    return all(name in fields or hasattr(kind, name) for name in members)


def _iterable(value: Any) -> bool:
    try:
        iter(value)
    except TypeError:
        return False
    return not isinstance(value, (str, bytes))


def _collection(value: Any) -> bool:
    return _iterable(value) and hasattr(value, "__len__")


def _named(kind: type) -> str:
    return f"{'an' if kind.__name__[0] in 'AEIOUaeio' else 'a'} {kind.__name__}"
