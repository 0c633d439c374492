"""False alarms of `dpbounds.audit`: healthy mechanisms under many seeds, each audited at alpha = 1e-6.

    python -m tests.power.audits --seeds 200

prints how often each healthy row was refuted or its law said to differ (2,000 audits by default should show none:
one in 500 such runs may show one), and how often it was unclear.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator

import numpy as np

from dpbounds.audit import Box, audit, gaussian, laplace
from dpbounds.privacy import gaussian_mu
from tests.simulators.audit.examples import Row, counted, leaves, noisy_sum, sparse_vector, tensors

STEPS = 10
ALARMS = ("refuted", "law differs")


def healthy() -> Iterator[Row]:
    """Mechanisms that keep what they claim, their noise as declared."""
    for epsilon in (0.5, 2.0, 10.0):
        mu = float(gaussian_mu(epsilon, 1e-5))
        name, law = f"Gaussian sum at {epsilon:g}", gaussian(scale=1 / mu)
        yield Row(name, noisy_sum(1 / mu, 2000), (epsilon, 1e-5), epsilon, domain=Box(shape=(2, 2000)), law=law)
    whole = Box(shape=(3, 400))
    yield Row("two keys", leaves(True), {"mu": 1.0}, 1.0, domain=whole, law=gaussian(1.0))
    yield Row("clipped together", tensors(True), {"mu": 1.0}, 1.0, domain=whole, law=gaussian())
    unit = Box(shape=(5,), low=0, high=1)
    yield Row("Laplace count", counted(2.0), 0.5, 0.5, "replace-one", unit, laplace(2.0))
    yield Row("Laplace count, delta", counted(2.0), (0.49, 0.01), 0.49, "replace-one", unit, laplace())
    yield Row(
        "correlated", correlated, {"mu": 4.0}, 4.0, domain=Box(shape=(STEPS, 16), low=-1, high=1), law=correlation()
    )
    yield Row("whole numbers", rounded_count, 1.0, 1.0, "replace-one", unit, "discrete")
    yield Row("sparse vector", sparse_vector(1.0), 1.0, 1.0, "replace-one", unit, "discrete")


def correlated(data, seed):
    """Prefix sums: the noise is one draw a step, summed."""
    draws = np.random.default_rng(seed).standard_normal((STEPS, 16))
    return np.cumsum(data + draws, axis=0)


def correlation():
    root = np.tril(np.ones((STEPS, STEPS)))
    return gaussian(root @ root.T)


def rounded_count(data, seed):
    """A count of numbers in [0, 1] with two-sided geometric noise: integers, epsilon = 1."""
    rng = np.random.default_rng(seed)
    success = 1 - np.exp(-1.0)
    return float(np.floor(data.sum())) + rng.geometric(success) - rng.geometric(success)


def verdicts(row: Row, seed: int, seconds: float) -> str:
    return audit(
        row.run, row.claim, adjacency=row.adjacency, domain=row.domain, law=row.law, seed=seed, seconds=seconds
    ).verdict


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seconds", type=float, default=10.0)
    arguments = parser.parse_args()
    alarms, seeds = 0, range(arguments.first, arguments.first + arguments.seeds)
    for row in healthy():
        counts = Counter(verdicts(row, seed, arguments.seconds) for seed in seeds)
        alarms += sum(counts[word] for word in ALARMS)
        print(f"{row.name:24} {dict(counts)}", flush=True)
    print(f"{alarms} false alarms")
    return 1 if alarms else 0


if __name__ == "__main__":
    raise SystemExit(main())
