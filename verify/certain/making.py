"""Arrays of balls, made from numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from verify.certain.functions import Float
from verify.certain.numbers import Ball, Unsupported, lift

# Numbers in an array up to which it is computed with.
LARGEST = 200_000


def array(value: Any, dtype: Any = None, copy: Any = None) -> np.ndarray:
    """An array whose entries are balls where they were floats; whole numbers and truths stay."""
    if dtype in (int, bool, np.int64, np.bool_):
        return np.array(value, dtype=dtype)
    made = np.array(value)
    if made.size > LARGEST:
        raise Unsupported(f"{made.size} numbers at a time")
    if made.dtype.kind == "c":
        raise Unsupported("complex numbers")
    if made.dtype.kind == "O":
        made = np.frompyfunc(lift, 1, 1)(made) if made.size else made
        return made if isinstance(made, np.ndarray) else np.array(made, dtype=object)
    if dtype in (Float, float, np.float64):
        return balls(made)
    return lift(made) if made.dtype.kind == "f" else made


def balls(value: Any) -> np.ndarray:
    """Every entry as a ball, whole numbers too."""
    made = np.asarray(value, dtype=object)
    result = np.frompyfunc(Ball, 1, 1)(made)
    return result if isinstance(result, np.ndarray) else np.array(result, dtype=object)


def filled(value: Any) -> Callable[..., np.ndarray]:
    """`np.zeros` and its like."""

    def applied(shape: Any, dtype: Any = None) -> np.ndarray:
        if np.prod(shape) > LARGEST:
            raise Unsupported(f"{shape} numbers at a time")
        if dtype in (int, bool):
            return np.full(shape, value, dtype=dtype)
        return np.full(shape, Ball(value), dtype=object)

    return applied
