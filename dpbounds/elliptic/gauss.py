"""Gauss's transformation of complete elliptic integrals, for any numbers that can be added and compared.

>>> import math
>>> settings = {"sqrt": math.sqrt, "half_pi": math.pi / 2, "tolerance": 1e-8}
>>> round(complete_integral(0.8, 1.0, 1.0, 1.0, **settings), 9)  # K at the modulus 0.6
1.750753803
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dpbounds.errors import AccuracyError

STEPS = 64


def complete_integral(
    y: Any, r: Any, A: Any, B: Any, *, sqrt: Callable[[Any], Any], half_pi: Any, tolerance: Any
) -> Any:
    """∫_0^{π/2} (A cos² + B sin²) / ((cos² + r² sin²) √(cos² + y² sin²)) dθ, for positive y, r, non-negative A, B.

    Write x² cos² + y² sin² under the root, x = 1 at the start, and B r for B. The substitution of Gauss that takes
    (x, y) to their arithmetic and geometric means keeps the form (Bulirsch's cel), with A, B, r as below; at x = y the
    integral is elementary. It only adds, multiplies and divides positive numbers: no cancellation at any ratio.

    `tolerance` is the square root of the accuracy wanted, since the means agree to its square one step later.
    Raise `AccuracyError` if they do not meet in 64 steps.
    """
    x, B = 1, B / r
    for _ in range(STEPS):
        close = np.all(abs(x - y) <= tolerance * x)
        g = x * y / r
        A, B, r = (A + B / r) / 2, (B + A * g) / 2, (r + g) / 2
        x, y = (x + y) / 2, sqrt(x * y)
        if close:
            return half_pi * (A * x + B) / (x * (x + r))
    raise AccuracyError(f"the arithmetic-geometric mean did not converge in {STEPS} steps")
