"""Expectations under N(0, q) of functions of z: a quadrature that converges geometrically, and enclosures.

For g analytic in a strip around the real line the trapezoidal rule in W = z / sqrt q has an error of e^{-2 pi a / h}
times the size of g on the lines Im W = +-a (the mean functions have their singularities at distance 2 or more from the
real line in z).

>>> from dpbounds.glm.links import logistic
>>> round(float(mean_of(lambda z: z**2, 4.0)), 12)
4.0
>>> first, third = slope_means(logistic, 1.0)
>>> f"{first:.6f}, {third:.6f}"
'0.206621, -0.062396'
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dpbounds import arithmetic
from dpbounds.arithmetic import Arithmetic
from dpbounds.errors import AccuracyError, DomainError, positive
from dpbounds.glm.links import Link

# e^{-2 pi a / h} = 1e-17 at a = 2 / sqrt q, and at the Gaussian's own limit, h = 1/4 for a = 2 pi / h.
FINEST, REACH = 0.25, 12.0
LARGEST_VARIANCE = 4e6
TRUNCATION = 14


def nodes(q: float) -> tuple[np.ndarray, np.ndarray]:
    """Points W and weights of the rule for E g(sqrt(q) W), g with singularities no nearer than 2 in z."""
    # Poisson means move the mass of e^{sqrt(q) W} phi(W) to sqrt q.
    root = math.sqrt(positive("q", q))
    if q > LARGEST_VARIANCE:
        raise DomainError("q", q, f"at most {LARGEST_VARIANCE:g}", "the variance of <x, w> is in the links' own units")
    step = min(FINEST, 2 * math.pi * 2.0 / (root * math.log(1e17)))
    reach = REACH + 2.0 * min(root, 8.0)
    w = np.arange(-math.ceil(reach / step), math.ceil(reach / step) + 1) * step
    return w, step * np.exp(-0.5 * w * w) / math.sqrt(2 * math.pi)


def mean_of(g: Callable[[np.ndarray], Any], q: float) -> np.ndarray:
    """E g(z), z ~ N(0, q), for `g` from arrays of shape (n,) to (..., n), of shape (...); to about 1e-14 of E |g|."""
    w, weights = nodes(q)
    return np.asarray(g(math.sqrt(q) * w)) @ weights


def slope_means(link: Link, q: float) -> tuple[float, float]:
    """kappa_2 = E mu'(z) and kappa_4 = E mu'''(z) for z ~ N(0, q). Raises `DomainError` unless 0 < q <= 4e6, and
    `AccuracyError` where they leave the range of floats.
    """
    q = positive("q", q)
    if link.name == "poisson":
        first = third = math.exp(min(q / 2, 800.0)) if q < 1400 else math.inf
    else:
        first, third = (float(value) for value in mean_of(lambda z: np.stack([link.slope(z), link.third(z)]), q))
    if not math.isfinite(first + third):
        raise AccuracyError(f"E mu'(z) of the {link.name} link at q = {q:g} is not a float; take a smaller q")
    return first, third


def enclosed_mean(link: Link, q: Any, *, order: int = 1, weight: int = 0, precision: int = 128) -> Any:
    """A ball (flint arb) that holds E[W^weight mu^(order)(sqrt(q) W)], q a number or a ball in (0, inf).

    Rigorous quadrature over |W| <= 14, analytic on complex balls; beyond, |mu^(order)| is at most its supremum and
    E[|W|^k; |W| > 14] is a Gaussian tail. Closed forms for Poisson and the cubic. Raises `DomainError` for a derivative
    that is not bounded.
    """
    import flint

    with arithmetic.balls(precision) as m, arithmetic.complex_balls(precision) as complex_m:
        q = m.number(q)
        if not q > 0:
            raise DomainError("q", str(q), "a number above 0")
        if link.name == "poisson":
            return _poisson(m, q, weight)
        if link.name == "cubic":
            return _cubic(m, q, order, weight)
        root = m.sqrt(q)

        def integrand(w: Any, _: bool) -> Any:
            value = link.derivative(complex_m, root * w, order) * w**weight
            return value * (-w * w / 2).exp()

        inner = flint.acb.integral(integrand, -TRUNCATION, TRUNCATION).real / m.sqrt(2 * m.pi)
        largest = _supremum(link, order)
        return inner + flint.arb(0, 1) * (largest * _tail(m, weight)).upper()


def _supremum(link: Link, order: int) -> float:
    """Of |mu^(order)|, or `DomainError`; rounded up."""
    bounds = (max(map(abs, link.ends)), *link.suprema)
    if not math.isfinite(bounds[order]):
        raise DomainError("order", order, "a derivative that is bounded", f"that of the {link.name} link is not")
    return bounds[order] * (1 + 1e-12)


def _tail(m: Arithmetic, weight: int) -> Any:
    """A bound of E[|W|^k; |W| > 14] for k <= 2: 2 phi(a) (a + 1) covers k = 0, 1, 2 (k = 2: a phi + Q <= (a + 1 / a)
    phi each side).
    """
    a = m.number(TRUNCATION)
    return 2 * (a + 1) * m.exp(-a * a / 2) / m.sqrt(2 * m.pi)


def _poisson(m: Arithmetic, q: Any, weight: int) -> Any:
    """E[W^k e^{tW}], t = sqrt q: e^{q / 2} times 1, t, 1 + q."""
    return m.exp(q / 2) * (1, m.sqrt(q), 1 + q)[weight]


def _cubic(m: Arithmetic, q: Any, order: int, weight: int) -> Any:
    """Moments of W^{3 - order + weight}."""
    factor = (m.sqrt(q) * q / 3, q, 2 * m.sqrt(q), m.number(2))[order]
    power = max(3 - order, 0) + weight
    return factor * (0 if power % 2 else math.prod(range(power - 1, 0, -2)))
