"""Tree aggregation as a stream: one draw per step and as many nodes in memory as the step number has binary digits.

>>> noise = np.concatenate(list(tree_noise(4, 1, np.random.default_rng(0))))
>>> draws = np.random.default_rng(0).standard_normal((4, 1))
>>> bool(np.isclose(noise.sum(), draws[3, 0]))  # the sum of 4 steps is one node
True
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, count
from simulators.noise.stream import LARGEST_BLOCK, array_shape, check_generator


@typed
def tree_noise(
    steps: int, shape: int | tuple[int, ...], generator: np.random.Generator, *, block: int = 64
) -> Iterator[Float[np.ndarray, " n *shape"]]:
    """Noise with the law of `tree_aggregation(steps)` under the plain decoder, for any number of steps.

    Of the dyadic intervals that end at t = 1, 2, ... the binary expansions use one, as long as the lowest set bit 2^v
    of t: one draw w_t per step. It replaces the intervals inside it: the noise of step t is w_t - sum_{l<v} w_{t-2^l}.
    `block` is a power of two up to 1024, the number of steps in each array but the last; it changes rounding only.

    `correlated_noise(tree_aggregation(T), ...)` assigns draws to nodes in another order: equal law, other numbers.
    Raises `DomainError` for bad arguments.
    """
    steps, shape = count("steps", steps), array_shape(shape)
    check_generator(generator)
    levels = count("block", block).bit_length() - 1
    if block != 2**levels or block > LARGEST_BLOCK:
        raise DomainError("block", block, f"a power of two up to {LARGEST_BLOCK}")
    return _blocks(steps, shape, generator, levels)


def _blocks(steps: int, shape: tuple[int, ...], generator: np.random.Generator, levels: int) -> Iterator[np.ndarray]:
    block = 2**levels
    nodes: dict[int, np.ndarray] = {}
    for number in range(1, -(-steps // block) + 1):
        draws = generator.standard_normal((min(block, steps - (number - 1) * block), *shape))
        noise = draws.copy()
        for level in range(levels):
            replaced_at = noise[2 ** (level + 1) - 1 :: 2 ** (level + 1)]
            replaced_at -= draws[2**level - 1 :: 2 ** (level + 1)][: len(replaced_at)]
        if len(draws) == block:
            lowest_bit = (number & -number).bit_length() - 1
            for level in range(lowest_bit):
                noise[-1] -= nodes.pop(level)
            nodes[lowest_bit] = draws[-1].copy()
        yield noise
