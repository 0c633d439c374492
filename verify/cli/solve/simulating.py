"""`--simulate TRIALS` of every topic: its arguments, trials block by block with progress, values with their intervals.

A simulated value is shown beside the predicted one it is for, with an interval that holds the true median (or mean) in
95 of 100 runs. The same seed gives the same numbers, and more trials extend the run of fewer.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:  # `--help` loads the arguments alone
    import numpy as np

    from simulators.engine import Arrays, Experiment

# Fewest for an interval, and its level: those of `verify.checks.intervals`, which `--help` does not load.
LEAST_TRIALS, MOST_TRIALS = 10, 1_000_000
LEVEL = 0.95
# Seeds are those of NumPy's seed sequences, of 32 bits.
MOST_SEED = 0xFFFF_FFFF

Key = TypeVar("Key", bound=Hashable)


class Simulated(NamedTuple):
    """A value found by simulation, and the ends of its interval."""

    value: float
    low: float
    high: float

    def columns(self, name: str) -> dict[str, float]:
        """As columns of a row: NAME_simulated, NAME_low, NAME_high."""
        return {f"{name}_simulated": self.value, f"{name}_low": self.low, f"{name}_high": self.high}

    @property
    def shown(self) -> tuple[str, str]:
        """The value and "low ... high", for a table: as many digits as differ, three at least."""
        digits = 3
        while digits < 6 and f"{self.low:.{digits}g}" == f"{self.high:.{digits}g}" and self.low != self.high:
            digits += 1
        return f"{self.value:.{digits}g}", f"{self.low:.{digits}g} ... {self.high:.{digits}g}"


def add_arguments(command: argparse.ArgumentParser | argparse._ArgumentGroup, *, simulated: str) -> None:
    """`--simulate` and `--seed`; `simulated` says what is, such as "Algorithm 1 at each T"."""
    command.add_argument(
        "--simulate",
        type=_trials,
        metavar="TRIALS",
        help=f"simulate {simulated}, so many independent runs of each, beside the prediction: {LEAST_TRIALS} or more",
    )
    command.add_argument(
        "--seed", type=_seed, default=0, help="of the simulation: same seed, same numbers (default: 0)"
    )


def median_interval(samples: Sequence[float] | np.ndarray, level: float = LEVEL) -> Simulated:
    """The median, as tables show it: `verify.checks.intervals.median_interval`."""
    from verify.checks import intervals

    return Simulated(*intervals.median_interval(samples, level))


def mean_interval(samples: Sequence[float] | np.ndarray, level: float = LEVEL) -> Simulated:
    """The mean, as tables show it: `verify.checks.intervals.mean_interval`."""
    from verify.checks import intervals

    return Simulated(*intervals.mean_interval(samples, level))


def simulate(
    experiments: Mapping[Key, Experiment], trials: int, *, seed: int, outputs: Sequence[str], label: str = "simulate"
) -> dict[Key, Arrays]:
    """The named outputs of `trials` runs of each experiment, (trials, ...), with progress on standard error.

    Blocks are run whole and the last one is cut, so that the numbers do not depend on how many are asked for. A block
    should take a few seconds at most: nothing is shown while it runs.
    """
    from threadpoolctl import threadpool_limits

    from verify.cli.console import progress

    blocks = {key: -(-trials // experiment.block_trials) for key, experiment in experiments.items()}
    done, total = itertools.count(1), sum(blocks.values())
    found: dict[Key, Arrays] = {}
    with threadpool_limits(1), progress(label) as show:  # the number of threads changes the last bits

        def after_block() -> None:
            show(next(done), total, "")

        for key, experiment in experiments.items():
            arrays = experiment.run(blocks[key], seed=seed, outputs=outputs, after_block=after_block)
            found[key] = {name: array[:trials] for name, array in arrays.items()}
    return found


def _trials(text: str) -> int:
    return _whole(text, LEAST_TRIALS, MOST_TRIALS)


def _seed(text: str) -> int:
    return _whole(text, 0, MOST_SEED)


def _whole(text: str, least: int, most: int) -> int:
    """Refused in one line by the parser."""
    if not (text.isascii() and text.isdigit() and len(text) <= 20 and least <= int(text) <= most):
        shown = text if len(text) <= 40 else f"{text[:37]}..."
        raise argparse.ArgumentTypeError(f"{shown!r} is not a whole number from {least} to {most}")
    return int(text)
