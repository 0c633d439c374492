"""One line for a library's own tests: a release that breaks its promise fails the test.

>>> from dpbounds.audit import Box, laplace
>>> from dpbounds.audit.testing import assert_private
>>> import numpy as np
>>> def count_of_ones(data, seed):
...     return data.sum() + np.random.default_rng(seed).laplace(scale=2.0)
>>> assert_private(count_of_ones, 0.5, adjacency="replace-one", domain=Box(shape=(4,), low=0, high=1), law=laplace(2.0))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simulators.audit.asserting import assert_private

__all__ = ["assert_private"]


def __getattr__(name: str) -> Any:
    if name == "assert_private":  # runs mechanisms: loaded at the first use
        from simulators.audit.asserting import assert_private

        return assert_private
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
