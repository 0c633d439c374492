"""Group-sequential looks: what is unclear is looked at again with twice the trials, false alarms paid in advance.

Every comparison tests at `statistics.ALPHA` at each look, so that over at most `statistics.LOOKS` looks a true one
fails with probability at most `statistics.COMPARISON_ALPHA`, whatever made us look again (union bound). Which looks are
taken follows from the results alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from verify.checks import statistics
from verify.checks.base import Result, Task


def blocks_of(results: Sequence[Result], key: str, label: str, content: str) -> int:
    """How many blocks of trials the results hold for a label."""
    return sum(result.get(key) == label and content in result for result in results)


def doubled(task: dict[str, Any], done: int, first: int) -> list[Task]:
    """The blocks of the next look, as many as are done, or none after the last look; `first` blocks made the first."""
    if done >= first * 2 ** (statistics.LOOKS - 1):
        return []
    return [{**task, "block": block} for block in range(done, 2 * done)]
