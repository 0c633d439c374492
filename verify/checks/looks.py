"""Group-sequential looks: what is unclear is looked at again with twice the trials, false alarms paid in advance.

Every comparison tests at `statistics.ALPHA` at each look, so that over at most `statistics.LOOKS` looks a true one
fails with probability at most `statistics.COMPARISON_ALPHA`, whatever made us look again (union bound). Which looks are
taken follows from the results alone.

A check that holds only where an interval lies inside what is stated may begin small at the quick level: what has room
to spare shows it in a quarter of the trials that are planned, and a mean reaches its resolution in three fifths of them
more often than not. It then goes on in longer strides, to as many trials in as many looks.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any

from verify.checks import statistics
from verify.checks.base import Level, Result, Task

# What a check that begins small has done after each look, over what is planned; `doubled` ends at 8 too.
STRIDES = (0.25, 1, 3, 8)
# The same where trials are planned by a resolution.
SIZED = (0.6, 1, 3, 8)


def blocks_of(results: Sequence[Result], key: str, label: str, content: str) -> int:
    """How many blocks of trials the results hold for a label."""
    return sum(result.get(key) == label and content in result for result in results)


def opening(planned: int, level: Level, strides: Sequence[float] = STRIDES) -> int:
    """Blocks of the first look of a check that begins small at the quick level."""
    return ceil(strides[0] * planned) if level == "quick" else planned


def further(
    task: dict[str, Any], done: int, planned: int, level: Level, strides: Sequence[float] = STRIDES
) -> list[Task]:
    """The blocks of the next look of such a check, none after the last look."""
    if opening(planned, level, strides) == planned:
        return doubled(task, done, planned)
    end = next((stride * planned for stride in strides[1:] if stride * planned > done), done)
    return [{**task, "block": block} for block in range(done, int(end))]


def doubled(task: dict[str, Any], done: int, first: int) -> list[Task]:
    """The blocks of the next look, as many as are done, or none after the last look; `first` blocks made the first."""
    if done >= first * 2 ** (statistics.LOOKS - 1):
        return []
    return [{**task, "block": block} for block in range(done, 2 * done)]
