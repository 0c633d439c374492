"""The run-time checker of the tests: the shapes that public signatures state, and nothing else.

Wrong values of other types are the business of the functions' own errors, which the tests provoke.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import is_dataclass
from functools import partial
from typing import Any

from beartype import beartype

SHAPED = ("Float[", "Int[", "Bool[", "Complex[")


def checked(function):
    """Check the annotations that are jaxtyping arrays."""
    annotations = getattr(function, "__annotations__", {})
    if isinstance(function, type) or not annotations:
        return function
    shaped = {name: hint for name, hint in annotations.items() if _is_shaped(hint)}
    function.__annotations__ = shaped
    return beartype(function) if shaped else function


def only_where_shaped(jaxtyped: Callable[..., Any]) -> Callable[..., Any]:
    """The decorator of jaxtyping's import hook, which binds the arguments of every call, for functions and dataclasses
    whose signatures state shapes; others are left as they are.
    """

    def decorator(function: Any = None, *, typechecker: Any) -> Any:
        if function is None:
            return partial(decorator, typechecker=typechecker)
        called = function.__init__ if inspect.isclass(function) and is_dataclass(function) else function
        if inspect.isfunction(called) and not any(map(_is_shaped, _hints(called))):
            return function
        return jaxtyped(function, typechecker=typechecker)

    return decorator


def _hints(function: Any) -> list[Any]:
    """Annotations as far as they mean something yet."""
    return [_meaning(hint, function.__globals__) for hint in function.__annotations__.values()]


def _meaning(hint: Any, names: dict[str, Any]) -> Any:
    if not isinstance(hint, str):
        return hint
    try:
        return eval(hint, names)
    except (NameError, AttributeError, TypeError):
        # A name that is defined below, or for type checkers alone: jaxtyping checks no such annotation.
        return None


def _is_shaped(hint: Any) -> bool:
    return any(kind in str(hint) for kind in SHAPED)
