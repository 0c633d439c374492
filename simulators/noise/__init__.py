"""Correlated Gaussian noise, streamed in blocks of steps in memory that does not grow with their number.

- `correlated_noise(correlation, steps, shape, generator)`: blocks of the noise of every correlation of `dpbounds.ftrl`;
- `correlate(correlation, draws)`: the same map on draws that are all at hand, by FFT: the reference for short runs;
- `tree_noise(steps, shape, generator)`: tree aggregation for any number of steps, O(log steps) memory;
- `exponentials(nu, steps)`, `short_recursion(beta)`: the recursions behind the first, with the accuracy that each has
  reached.
"""

from simulators.noise.recursions import Recursion, exponentials, short_recursion
from simulators.noise.stream import correlate, correlated_noise
from simulators.noise.tree import tree_noise

__all__ = ["Recursion", "correlate", "correlated_noise", "exponentials", "short_recursion", "tree_noise"]
