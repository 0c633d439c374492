"""`--simulate TRIALS` of every topic: its arguments, trials block by block with progress, values with their intervals.

A simulated value is shown beside the predicted one it is for, with an interval that holds the true median (or mean) in
95 of 100 runs. The same seed gives the same numbers, and more trials extend the run of fewer.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:  # `--help` loads the arguments alone
    import numpy as np

    from simulators.engine import Arrays, Experiment

# Below, order statistics give no interval at this level.
LEAST_TRIALS, MOST_TRIALS = 10, 1_000_000
LEVEL = 0.95
# Seeds are those of NumPy's seed sequences.
MOST_SEED = 2**32 - 1

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
    """The sample median between two order statistics that hold the true one with probability `level` at least.

    For any law; samples may be inf (runs that diverge), and so may the ends. Raises `DomainError` for fewer than
    `LEAST_TRIALS` samples, nan, or a level outside [0.5, 0.997].
    """
    from dpbounds.errors import within
    from verify.checks.statistics import quantile_interval

    ordered = _samples(samples)
    low, high = quantile_interval(ordered, 0.5, alpha=1 - within("level", level, "[0.5, 0.997]"))
    middle = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    return Simulated(float(middle[0] if math.isinf(middle[0]) else sum(middle) / 2), float(low), float(high))


def mean_interval(samples: Sequence[float] | np.ndarray, level: float = LEVEL) -> Simulated:
    """The sample mean and Student's interval: for means that exist, and samples without a heavy tail.

    Raises `DomainError` as `median_interval`.
    """
    import numpy as np
    from scipy.stats import t

    from dpbounds.errors import within

    values = _samples(samples)
    level = within("level", level, "[0.5, 0.997]")
    if np.isinf(values).any():
        return Simulated(math.inf, -math.inf, math.inf)
    mean, error = float(values.mean()), float(values.std(ddof=1)) / math.sqrt(len(values))
    reach = float(t.ppf((1 + level) / 2, len(values) - 1)) * error
    return Simulated(mean, mean - reach, mean + reach)


def simulate(
    experiments: Mapping[Key, Experiment], trials: int, *, seed: int, outputs: Sequence[str], label: str = "simulate"
) -> dict[Key, Arrays]:
    """The named outputs of `trials` runs of each experiment, (trials, ...), with progress on standard error.

    Blocks are run whole and the last one is cut, so that the numbers do not depend on how many are asked for. A block
    should take a few seconds at most: nothing is shown while it runs.
    """
    import numpy as np
    from threadpoolctl import threadpool_limits

    from verify.cli.console import progress

    blocks = {key: -(-trials // experiment.block_trials) for key, experiment in experiments.items()}
    done, total = 0, sum(blocks.values())
    parts: dict[Key, list[Arrays]] = {key: [] for key in experiments}
    with threadpool_limits(1), progress(label) as show:  # the number of threads changes the last bits
        for key, experiment in experiments.items():
            for block in range(blocks[key]):
                arrays = experiment.run_block(block, seed=seed)
                parts[key].append({name: arrays[name] for name in outputs})
                done += 1
                show(done, total, "")
    return {
        key: {name: np.concatenate([part[name] for part in own])[:trials] for name in outputs}
        for key, own in parts.items()
    }


def _samples(samples: Sequence[float] | np.ndarray) -> np.ndarray:
    """In increasing order."""
    import numpy as np

    from dpbounds import DomainError

    values = np.sort(np.asarray(samples, dtype=float))
    if values.ndim != 1 or len(values) < LEAST_TRIALS:
        raise DomainError("samples", f"an array of shape {values.shape}", f"a list of at least {LEAST_TRIALS}")
    if np.isnan(values).any():
        raise DomainError("samples", "an array with nan", "without nan")
    return values


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
