"""Arguments that are things: refused by name, for every way of passing them, and cheaply."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

import numpy as np
import pytest

from dpbounds import DomainError
from dpbounds.arguments import formula, typed
from dpbounds.arithmetic import FLOATS, Arithmetic, balls


class Shape(Protocol):
    @property
    def area(self) -> float: ...

    def scaled(self, factor: float) -> Shape: ...


class Box: ...


@dataclass(frozen=True)
class Square:
    area: float

    def scaled(self, factor: float) -> Square:
        return replace(self, area=self.area * factor)


@typed
def function(
    box: Box,
    shape: Shape | None = None,
    *,
    of: Callable[[float], float] | None = None,
    flag: bool = False,
    names: Mapping[str, int] | None = None,
    items: Sequence[float] = (),
    stream: Iterable[float] = (),
    number: float = 1.0,
    form: Literal["a", "b"] = "a",
) -> Any:
    return number


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"box": None}, "a Box"),
        ({"box": Box}, "a Box"),
        ({"box": "text"}, "a Box"),
        ({"shape": Box()}, "a Shape or None"),
        ({"of": 3}, "a function or None"),
        ({"flag": np.eye(2)}, "True or False"),
        ({"names": [1]}, "a mapping or None"),
        ({"items": np.array(1.0)}, "a list"),
        ({"items": "text"}, "a list"),
        ({"items": iter([1.0])}, "a list"),
        ({"stream": 2.0}, "a list"),
    ],
)
def test_what_does_not_fit_is_named(given, words):
    (name,) = given
    said = rf"^{name} = .* is not allowed: it must be {words}$"
    with pytest.raises(DomainError, match=said):
        function(**{"box": Box(), **given})
    if name in ("box", "shape"):
        with pytest.raises(DomainError, match=said):
            function(*{"box": Box(), **given}.values())


def test_what_fits_passes_and_numbers_are_not_looked_at():
    assert (
        function(Box(), Square(1.0), of=abs, flag=np.bool_(True), names={}, items=np.ones(2), stream=iter([1.0])) == 1
    )
    assert function(Box(), number="any", form="c") == "any"


def test_python_says_itself_what_is_missing():
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'box'"):
        function()
    with pytest.raises(TypeError, match="unexpected keyword argument 'boxes'"):
        function(Box(), boxes=1)
    with pytest.raises(TypeError, match="missing a required argument: 'b'"):
        product(FLOATS, 1)


@typed
@dataclass(frozen=True, kw_only=True)
class Setting:
    box: Box
    size: int = 1


def test_dataclasses():
    setting = Setting(box=Box())
    assert replace(setting, size=2).size == 2 and pickle.loads(pickle.dumps(setting)).size == 1
    with pytest.raises(DomainError, match=r"^box = .* it must be a Box"):
        Setting(box={})
    with pytest.raises(DomainError, match=r"^box = .* it must be a Box"):
        replace(setting, box=None)


@formula
def product(m: Arithmetic, a: Any, b: Any) -> Any:
    return m.sqrt(a * b) * (1 / (a - b))


def test_formulas_take_numbers_of_any_arithmetic():
    assert product(FLOATS, 8, 2) == pytest.approx(4 / 6)
    assert product(FLOATS, np.array([8.0, 2.0]), 1) == pytest.approx([8**0.5 / 7, 2**0.5])
    with balls(64) as m:
        assert product(m, m.number("8"), 2).overlaps(m.number("2/3"))


@pytest.mark.parametrize("wrong", [None, "text", [1.0], Box(), {}, b"x", Box])
def test_formulas_name_what_is_no_number(wrong):
    with pytest.raises(DomainError, match=r"^b = .* it must be a number"):
        product(FLOATS, 1.0, wrong)
    with pytest.raises(DomainError, match=r"^m = .* it must be an Arithmetic"):
        product(wrong, 1.0, 2.0)


@pytest.mark.parametrize(("a", "b"), [(3, 3), (10**400, 1.5), (np.array(["a"]), 1.0), (np.ones(2), np.ones(3))])
def test_formulas_without_a_value_are_a_domain_error(a, b):
    with pytest.raises(DomainError, match=r"^a, b = .* product has a value"):
        product(FLOATS, a, b)


class Owner:
    @typed
    def method(self, box: Box) -> Box:
        return box

    @classmethod
    @typed
    def of(cls, box: Box) -> Box:
        return box


@pytest.mark.parametrize("call", [Owner().method, Owner.of])
def test_methods_and_class_methods(call):
    box = Box()
    assert call(box) is box
    with pytest.raises(DomainError, match=r"^box = .* it must be a Box"):
        call(3)


@formula
def _solved(matrix: np.ndarray, vector: np.ndarray | float, scale: float = 1.0) -> np.ndarray:
    return scale * np.linalg.solve(matrix, vector)


def test_formulas_get_arrays_of_floats():
    assert _solved([[2, 0], [0, 4]], vector=(2, 4)).tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (("text", [1.0]), "matrix"),
        ((np.eye(2), [None]), "vector"),
        ((np.eye(2), np.ones(2), "2"), "scale"),
        ((np.eye(2), np.ones(3)), "matrix"),
        ((np.zeros((2, 2)), np.ones(2)), "matrix"),
        ((1.0, 1.0), "matrix"),
    ],
)
def test_formulas_refuse_what_is_no_array_of_a_shape_that_fits(given, name):
    with pytest.raises(DomainError, match=name):
        _solved(*given)
