"""Releases of two data sets side by side: what is noised, met by the same noisy outputs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from simulators.sources import GaussianSource


class Replayed(GaussianSource):
    """Notes what is noised, and answers as another run did, so that a second data set meets the same outputs."""

    def __init__(self, generator: np.random.Generator, replay: list[np.ndarray] | None = None) -> None:
        super().__init__(generator)
        self.seen: list[tuple[np.ndarray, float]] = []
        self.replay, self.answers = replay, []

    def vector(self, values: np.ndarray, scale: float) -> np.ndarray:
        """As the other run, or with noise."""
        self.seen.append((np.array(values), scale))
        noisy = super().vector(values, scale) if self.replay is None else self.replay[len(self.answers)]
        self.answers.append(noisy)
        return noisy


def shifts(
    release: Callable[[int, GaussianSource], object], rng: np.random.Generator
) -> list[tuple[np.ndarray, float]]:
    """What `release(k, source)` of data sets k = 0 and 1 noises, as differences with the deviation of their noise."""
    first = Replayed(rng)
    release(0, first)
    second = Replayed(rng, first.answers)
    release(1, second)
    pairs = zip(first.seen, second.seen, strict=True)
    return [(np.ravel(one - two), scale) for (one, scale), (two, _) in pairs]
