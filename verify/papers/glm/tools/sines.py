"""f = sin(a z) and z = <x, w*> ~ N(0, 1): the scale's equation has two roots, in closed form but for the smaller."""

from __future__ import annotations

import math
from typing import cast

from scipy.optimize import brentq

# (a, overline(c)), c_f = 5.10, 2.27 and 1.67; c E f' rises on all of (0, overline(c)].
ABOVE = ((0.2, 5.5), (0.5, 2.4), (0.9, 1.7))
# c_f = 3.69; c E f' rises to 1 and on before.
BELOW = ((2.0, 1.25),)


def sine_scales(frequency: float, largest: float) -> tuple[float, float]:
    """The root of c E f'(c z / c_f) = 1 in (0, largest], and c_f = 1 / E f'(z), by E f'(s z) = a exp(-a^2 s^2 / 2)."""
    c_f = math.exp(frequency**2 / 2) / frequency

    def excess(c: float) -> float:
        return c * frequency * math.exp(-((frequency * c / c_f) ** 2) / 2) - 1

    return cast(float, brentq(excess, 1e-9, largest)), c_f
