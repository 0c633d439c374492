"""Sets that scikit-learn ships, prepared like the paper's, on random splits that no statement was written from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial

from simulators.ols import LeastSquares, bundled, has_bundled
from simulators.ols.datasets import Columns
from verify.checks.base import Level
from verify.papers.ols.tools.standing import Field

# Splits 0 to 12 were looked at.
FRESH = tuple(range(13, 18))


@cache
def _split(name: str, outcome: Columns, seed: int) -> LeastSquares:
    return bundled(name, seed=seed, outcome=outcome).train


def shipped(
    name: str,
    epsilons: Mapping[Level, Sequence[float]],
    blocks: Mapping[Level, int] | int,
    *,
    outcome: Columns = "raw",
) -> Field:
    """The training parts of a set that scikit-learn ships, one for every fresh split."""
    shown = name if outcome == "raw" else f"{name}, {outcome}"
    return Field(name=shown, load=partial(_split, name, outcome), seeds=FRESH, epsilons=epsilons, blocks=blocks)


def no_scikit_learn() -> str:
    """Why the sets are not at hand, or nothing."""
    return "" if has_bundled() else "needs scikit-learn, which ships the sets: `pip install 'dpbounds[data]'`"
