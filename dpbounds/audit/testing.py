"""One line for a library's own tests: a release that breaks its promise fails the test.

>>> from dpbounds.audit import Box, laplace
>>> import numpy as np
>>> def count_of_ones(data, seed):
...     return data.sum() + np.random.default_rng(seed).laplace(scale=2.0)
>>> assert_private(count_of_ones, 0.5, adjacency="replace-one", domain=Box(shape=(4,), low=0, high=1), law=laplace(2.0))
"""

from __future__ import annotations

from typing import Any

from dpbounds.audit.intervals import ALPHA
from dpbounds.privacy import Adjacency


def assert_private(
    mechanism: Any,
    claim: Any,
    *,
    adjacency: Adjacency,
    domain: Any = None,
    law: Any = "unknown",
    seconds: float = 30.0,
    seed: int = 0,
    alpha: float = ALPHA,
) -> None:
    """Fail (`AssertionError`, with the audit's text) unless the audit says "consistent" or "proved".

    Arguments are those of `dpbounds.audit.audit`. A mechanism whose noise is as declared and that keeps its claim is
    refuted, or its law said to differ, with probability at most `alpha`, and for a seed always or never; one too slow
    for `seconds` fails as "unclear". Raises `DomainError` for arguments that cannot be used.
    """
    from simulators.audit import audit

    found = audit(
        mechanism, claim, adjacency=adjacency, domain=domain, law=law, seconds=seconds, seed=seed, alpha=alpha
    )
    if found.verdict not in ("consistent", "proved"):
        raise AssertionError(found.text)
