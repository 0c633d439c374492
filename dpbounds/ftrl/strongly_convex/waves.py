"""B itself on the circle, not only |B|^2: what a bound needs that knows which draws are in the future.

>>> from dpbounds.arithmetic import FLOATS
>>> from dpbounds.ftrl.correlations import nu
>>> X, Z = wave(FLOATS, nu(0.5), 1.0)  # at omega = pi, where B = (1 + 1 / 2)^{1/2}
>>> round(float(X) ** 2, 12)
1.5
"""

from __future__ import annotations

from typing import Any

from dpbounds.arithmetic import Arithmetic
from dpbounds.errors import DomainError
from dpbounds.ftrl.correlations import DampedAntiPGD, FiniteImpulse, HalfPowers, NuCorrelation, ToeplitzCorrelation

# Real and imaginary part over sin(omega).
Wave = tuple[Any, Any]


def newest(correlation: ToeplitzCorrelation) -> float:
    """b_0, the weight of the newest draw, exactly."""
    return correlation.beta[0] if isinstance(correlation, FiniteImpulse) else 1.0


def wave(m: Arithmetic, correlation: ToeplitzCorrelation, s: Any) -> Wave:
    """X and Z with B = sum_k b_k e^{-i k omega} = X + i sin(omega) Z, as functions of s = sin^2(omega / 2).

    In arithmetic m, analytic where the roots that are taken do not meet their cut. Raises `DomainError` for noise that
    is given by its spectrum alone.
    """
    if isinstance(correlation, NuCorrelation):
        return _root(m, s, 1 - m.number(correlation.nu))
    if isinstance(correlation, DampedAntiPGD):
        q = 1 - m.number(correlation.nu)
        return 1 - q * (1 - 2 * s), q + 0 * s
    if isinstance(correlation, FiniteImpulse):
        return _weights(m, s, correlation.beta)
    if isinstance(correlation, HalfPowers):
        found: Wave = (1 + 0 * s, 0 * s)
        for q in correlation.zeros:
            found = _product(s, found, _pair(m, s, q) if q.imag else _root(m, s, m.number(q.real)))
        for q in correlation.poles:
            X, Z = _pair(m, s, q) if q.imag else _root(m, s, m.number(q.real))
            size = X * X + 4 * s * (1 - s) * Z * Z
            found = _product(s, found, (X / size, -Z / size))
        return found
    allowed = "one with a closed form, not a spectrum"
    raise DomainError("correlation", correlation.name, allowed, "program f takes any spectrum")


def _product(s: Any, first: Wave, second: Wave) -> Wave:
    (X, Z), (U, V) = first, second
    return X * U - 4 * s * (1 - s) * Z * V, X * V + Z * U


def _root(m: Arithmetic, s: Any, q: Any) -> Wave:
    """(1 - q / w)^{1/2}: its real part is positive, so that it is the root of half of |.| + Re."""
    real = 1 - q * (1 - 2 * s)
    X = m.sqrt((m.sqrt((1 - q) * (1 - q) + 4 * q * s) + real) / 2)
    return X, q / (2 * X)


def _pair(m: Arithmetic, s: Any, q: complex) -> Wave:
    """The same of (1 - q / w) (1 - conj(q) / w), each in the right half-plane: the product of their roots is too."""
    a, b, cosine = m.number(q.real), m.number(q.imag), 1 - 2 * s
    square = a * a + b * b
    real, turned = 1 - 2 * a * cosine + square * (2 * cosine * cosine - 1), 2 * a - 2 * square * cosine
    size = m.sqrt(real * real + 4 * s * (1 - s) * turned * turned)
    X = m.sqrt((size + real) / 2)
    return X, turned / (2 * X)


def _weights(m: Arithmetic, s: Any, beta: tuple[float, ...]) -> Wave:
    """cos(k omega) and sin(k omega) / sin(omega), each 2 cos(omega) times the one before less that before it."""
    cosine, X, Z = 1 - 2 * s, 0 * s, 0 * s
    cosines, sines = (1 + 0 * s, cosine), (0 * s, 1 + 0 * s)
    for weight in beta:
        X, Z = X + m.number(weight) * cosines[0], Z - m.number(weight) * sines[0]
        cosines = cosines[1], 2 * cosine * cosines[1] - cosines[0]
        sines = sines[1], 2 * cosine * sines[1] - sines[0]
    return X, Z
