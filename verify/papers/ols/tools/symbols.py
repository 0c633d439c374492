"""The arithmetic of symbols, for formulas that take an arithmetic first: what is typed once is then proved as it
stands.
"""

from __future__ import annotations

from typing import Any, NoReturn

import sympy

from dpbounds import DomainError
from dpbounds.arithmetic import Arithmetic


def _none(*_: Any) -> NoReturn:
    raise DomainError("a function of symbols", "not algebraic", "one of sqrt, exp, log, sin, cos, powers and extrema")


# Numbers are exact ("1/3", whole numbers, fractions); elliptic and normal functions, and integrals, are refused.
SYMBOLS = Arithmetic(
    name="symbols",
    number=sympy.sympify,
    pi=sympy.pi,
    sqrt=sympy.sqrt,
    exp=sympy.exp,
    log=sympy.log,
    log1p=lambda x: sympy.log(1 + x),
    expm1=lambda x: sympy.exp(x) - 1,
    sin=sympy.sin,
    cos=sympy.cos,
    power=sympy.Pow,
    absolute=sympy.Abs,
    minimum=sympy.Min,
    maximum=sympy.Max,
    elliptic_k=_none,
    elliptic_e=_none,
    elliptic_pi=_none,
    integral_inverse=_none,
    integral_ratio=_none,
    ndtr=_none,
    log_ndtr=_none,
    ndtri=_none,
    mills=_none,
    integral=_none,
)
