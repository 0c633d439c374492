"""All that the packages export: names in `__all__`, of modules exported there, and of modules without an `__all__`."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any

from tests.fuzz import values

ROOTS = ("dpbounds", "simulators")
# Of use inside only: what checks arguments, and operations on bare numbers.
PLUMBING = tuple(
    f"dpbounds.{name}"
    for name in (
        *("arguments", "arithmetic", "errors", "showing"),
        *(f"circle.{name}" for name in ("arcs", "balls", "discs", "floats", "polynomials", "quadrature")),
    )
)


@dataclass(frozen=True)
class Target:
    """Something to call: `name` for the table, `expression` to reach it, the function itself for its signature."""

    name: str
    expression: str
    function: Callable[..., Any]
    bound: bool = False

    @cached_property
    def parameters(self) -> dict[str, tuple[Any, inspect.Parameter]]:
        """As a caller sees them: without self."""
        found = dict(values.parameters(self.function))
        if self.bound and found:
            found.pop(next(iter(found)))
        return found


def targets(*, methods: bool = False) -> list[Target]:
    """Exported functions and classes, or the methods of exported classes on a valid instance, by name."""
    found: dict[int, Target] = {}
    for root in ROOTS:
        package = importlib.import_module(root)
        for module in (package, *_submodules(package)):
            for target in _exported(module):
                found.setdefault(id(target.function), target)
    chosen = [method for target in found.values() for method in _methods(target)] if methods else found.values()
    return sorted(chosen, key=lambda target: target.name)


def _submodules(package: ModuleType) -> Iterator[ModuleType]:
    """Public modules: packages, and modules of packages that do not say what they export."""
    for info in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        if hasattr(module, "__all__") or not hasattr(package, "__all__") or package.__name__ in ROOTS:
            yield module
        if info.ispkg:
            yield from _submodules(module)


def _exported(module: ModuleType) -> Iterator[Target]:
    if module.__name__ in PLUMBING:
        return
    own = [name for name, thing in vars(module).items() if getattr(thing, "__module__", "") == module.__name__]
    for name in getattr(module, "__all__", [name for name in own if not name.startswith("_")]):
        thing = getattr(module, name)
        if isinstance(thing, ModuleType):
            yield from _exported(thing)
        elif inspect.isfunction(thing) or _can_be_made(thing):
            yield Target(f"{module.__name__}.{name}", _expression(module, name, thing), thing)


def _can_be_made(thing: Any) -> bool:
    """Whether it is a class with instances of its own, other than errors."""
    concrete = inspect.isclass(thing) and not (inspect.isabstract(thing) or getattr(thing, "_is_protocol", False))
    return concrete and not issubclass(thing, BaseException)


def _expression(module: ModuleType, name: str, thing: Any) -> str:
    """The dotted name, unless a function of a package hides the module of the same name."""
    found: Any = importlib.import_module(ROOTS[0] if module.__name__.startswith(ROOTS[0]) else ROOTS[1])
    for part in (*module.__name__.split(".")[1:], name):
        found = getattr(found, part, None)
    return f"{module.__name__}.{name}" if found is thing else f"sys.modules[{module.__name__!r}].{name}"


def _methods(target: Target) -> Iterator[Target]:
    if not inspect.isclass(target.function):
        return
    instances = values.valid("", target.function)
    for name in dir(target.function):
        method = inspect.getattr_static(target.function, name)
        if name.startswith("_") or issubclass(target.function, tuple) or not _ours(method):
            continue
        if isinstance(method, (classmethod, staticmethod)):
            yield Target(f"{target.name}.{name}", f"{target.expression}.{name}", getattr(target.function, name))
        elif inspect.isfunction(method):
            yield Target(f"{target.name}.{name}", f"({instances[0]}).{name}", method, bound=True)


def _ours(method: Any) -> bool:
    module = getattr(inspect.unwrap(getattr(method, "__func__", method)), "__module__", "") or ""
    return module.partition(".")[0] in ROOTS
