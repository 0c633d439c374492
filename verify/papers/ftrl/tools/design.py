"""Oracles for noise design: second moments run forward, all participation patterns, random problems and mechanisms."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from dpbounds.ftrl.correlations import MatrixCorrelation
from dpbounds.ftrl.design import Objective


def weighted_loss(objective: Objective, decoder: np.ndarray, variance: float, *, early: int = 0) -> float:
    """sum_t omega_t E F(theta_t) by running E theta_j^2 and E theta_j w_sj forward, for noise B w, w of this variance.

    Averages of m Gaussian examples: E H^ S H^ = H S H + (H S H + H Tr(H S)) / m. `early` pairs the weights with the
    iterates one step too early.
    """
    eigenvalues, rates, share = objective.eigenvalues, objective.learning_rates, objective.noise_share
    square, total = np.array(objective.initial, float), 0.0
    cross = np.zeros((len(eigenvalues), decoder.shape[1]))
    before = square
    for t, rate in enumerate(rates):
        x = rate * eigenvalues
        pushed = cross @ decoder[t]
        before, square = (
            square,
            (
                ((1 - x) ** 2 + share * x**2) * square
                + share * rate**2 * eigenvalues * (eigenvalues @ square + objective.sigma_sgd**2)
                + variance * (rate**2 * decoder[t] @ decoder[t] - 2 * (1 - x) * rate * pushed)
            ),
        )
        cross = (1 - x)[:, None] * cross - rate * decoder[t]
        total += objective.omega[t] * 0.5 * eigenvalues @ (before if early else square)
    return float(total)


def heavy_ball_loss(objective: Objective, decoder: np.ndarray, variance: float) -> float:
    """The same for heavy ball with noiseless gradients: the response of every iterate to every draw, by running it."""
    total = 0.0
    for one, start in zip(objective.eigenvalues, np.asarray(objective.initial), strict=True):
        # The last column is the response to the start.
        noise = np.c_[np.sqrt(variance) * decoder, np.zeros(len(decoder))]
        theta, velocity = np.r_[np.zeros(decoder.shape[1]), np.sqrt(start)], np.zeros(decoder.shape[1] + 1)
        for t, rate in enumerate(objective.learning_rates):
            velocity = objective.momentum * velocity + one * theta + noise[t]
            theta = theta - rate * velocity
            total += objective.omega[t] * 0.5 * one * (theta @ theta)
    return float(total)


def random_objective(rng: np.random.Generator, T: int, d: int = 3) -> Objective:
    """Any spectrum, schedule, weights and batch size (or none)."""
    eigenvalues = 10 ** rng.uniform(-2, 0, d)
    share = rng.uniform(0.05, 0.9, T)
    batch = None if rng.random() < 0.3 else int(rng.integers(1, 5))
    most = 1.0 / eigenvalues.max() if batch is None else 1.0 / (eigenvalues.max() + eigenvalues.sum())
    return Objective(eigenvalues, T, schedule=share * most, weights=rng.uniform(0.1, 1.0, T), batch_size=batch)


def random_mechanism(rng: np.random.Generator, T: int, size: float = 1.0) -> MatrixCorrelation:
    """An encoder with a positive diagonal and Gaussian entries below it."""
    encoder = np.tril(size * rng.standard_normal((T, T)), -1) + np.diag(rng.uniform(0.5, 1.5, T))
    return MatrixCorrelation("random", T, np.linalg.inv(encoder), encoder)


def patterns(kind: str, T: int, times: int, separation: int) -> Iterator[tuple[int, ...]]:
    """All sets of at most `times` steps that are at least, or (cyclic) exactly, `separation` apart."""
    for size in range(1, times + 1):
        for steps in combinations(range(T), size):
            gaps = np.diff(steps)
            if np.all(gaps == separation) if kind == "cyclic" else np.all(gaps >= separation):
                yield steps


def searched_sensitivity(encoder: np.ndarray, all_patterns: list[tuple[int, ...]], rng: np.random.Generator) -> float:
    """max ||C g|| over patterns and unit gradients on them, by turning one gradient at a time to its best direction."""
    squares, best = encoder.T @ encoder, 0.0
    sets = [frozenset(steps) for steps in all_patterns]
    # A gradient of 0 lies between two of length 1: parts of a pattern reach no further.
    for steps in (
        steps for steps, own in zip(all_patterns, sets, strict=True) if not any(own < other for other in sets)
    ):
        block = squares[np.ix_(steps, steps)]
        for _ in range(2):
            directions = rng.standard_normal((len(steps), len(steps)))
            directions /= np.linalg.norm(directions, axis=1)[:, None]
            reached = -1.0
            for _ in range(200):
                for i in range(len(steps)):
                    pull = block[i] @ directions - block[i, i] * directions[i]
                    length = np.linalg.norm(pull)
                    directions[i] = pull / length if length > 1e-14 else directions[i]
                before, reached = reached, float(np.sum(block * (directions @ directions.T)))
                if reached <= before * (1 + 1e-12):
                    break
            best = max(best, reached)
    return float(np.sqrt(best))
