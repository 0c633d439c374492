"""All methods of a comparison, to be simulated on the records of a data set or on some drawn for an assumed design.

>>> from dpbounds.ols import AssumedDesign, compare
>>> design = AssumedDesign(n=400, d=1)
>>> found = compare(design.gram, 1.0)
>>> runs = rehearsals(found, assumed_records(design, seed=0))
>>> len(runs), ("IHM", "tight") in runs, ("zero", "tight") in runs
(14, True, False)
"""

from __future__ import annotations

import math

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import DomainError
from dpbounds.ols.comparison import Comparison
from dpbounds.ols.data import ScaledData
from dpbounds.ols.designs import AssumedDesign
from dpbounds.ols.methods import Accounting, Method
from simulators.engine import Experiment, seed_sequence
from simulators.ols.compared import experiment_of
from simulators.ols.records import LeastSquares

# Entries of X that fit into memory.
MOST_ENTRIES = 10**8
# Trials of one block: a second or two.
BLOCK_TRIALS = 250


@typed
def assumed_records(design: AssumedDesign, *, seed: int) -> LeastSquares:
    """Records with signs along the axes, so that all rows have one length and X'X is the design's in expectation, and
    residuals of one size and either sign.

    Raises `DomainError` for records that do not fit into memory.
    """
    n, d, gram = design.n, design.d, design.gram
    if n * d > MOST_ENTRIES:
        raise DomainError("n", n, f"at most {MOST_ENTRIES // d} to be simulated with d = {d}")
    generator = np.random.default_rng(seed_sequence(["records of solve ols", n, d], seed=seed))
    X = generator.choice([-1.0, 1.0], size=(n, d)) * np.sqrt(design.eigenvalues / n)
    theta = gram.b / design.eigenvalues
    spread = math.sqrt(max(gram.y_squared - float(gram.b @ theta), 0.0) / n)
    Y = X @ theta + spread * generator.choice([-1.0, 1.0], size=n)
    return LeastSquares.bounded(X, Y, beyond="clip")


@typed
def scaled_records(data: ScaledData) -> LeastSquares:
    """The records of a data set, in units of their bounds."""
    return LeastSquares(regressors=data.regressors, outcome=data.outcome)


@typed
def rehearsals(
    found: Comparison, records: LeastSquares, *, block_trials: int = BLOCK_TRIALS
) -> dict[tuple[Method, Accounting], Experiment]:
    """Every method but theta = 0 under every accounting, on records in units of their bounds."""
    return {
        (row.method, row.accounting): experiment_of(row, records, found.choices, block_trials=block_trials)
        for row in found.rows
        if row.scales is not None
    }
