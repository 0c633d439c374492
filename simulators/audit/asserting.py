"""One line for a library's own tests; found in `dpbounds.audit.testing`.

>>> import inspect
>>> list(inspect.signature(assert_private).parameters) == list(inspect.signature(audit).parameters)
True
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any, ParamSpec, TypeVar

from simulators.audit.auditor import audit

Given = ParamSpec("Given")
Result = TypeVar("Result")


def _as(model: Callable[Given, Any]) -> Callable[[Callable[..., Result]], Callable[Given, Result]]:
    """With the arguments of `model`, for type checkers and for who reads the signature."""

    def taken(function: Callable[..., Result]) -> Callable[Given, Result]:
        function.__signature__ = signature(model).replace(return_annotation="None")  # pyright: ignore
        return function

    return taken


@_as(audit)
def assert_private(*arguments: Any, **settings: Any) -> None:
    """Fail (`AssertionError`, with the audit's text) unless the audit says "consistent" or "proved".

    Arguments are those of `dpbounds.audit.audit`. A mechanism whose noise is as declared and that keeps its claim is
    refuted, or its law said to differ, with probability at most `alpha`, and for a seed always or never; one too slow
    for `seconds` fails as "unclear". Raises `DomainError` for arguments that cannot be used.
    """
    found = audit(*arguments, **settings)
    if found.verdict not in ("consistent", "proved"):
        raise AssertionError(found.text)
