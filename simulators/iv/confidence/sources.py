"""Where the Gaussian noise of a plan comes from (`simulators.sources`).

>>> from dpbounds.iv.confidence import PrivacyBudget, ReleasePlan
>>> plan = ReleasePlan(outcome="y", regressors=("x",), instruments=("z",), bounds={"y": (-1, 1), "x": (-1, 1)},
...                    instrument_means={"z": 0.5}, budget=PrivacyBudget(mu=1.0), seed=1)
>>> type(noise_source(plan)).__name__
'GaussianSource'
"""

from __future__ import annotations

import numpy as np

from dpbounds.iv.confidence import ReleasePlan
from simulators.sources import GaussianSource, OpenDPSource


def noise_source(plan: ReleasePlan) -> GaussianSource:
    """As the plan has it; without a seed from the operating system's entropy: nobody can draw that noise again.

    Raises `DomainError` where OpenDP's noise is wanted and it is not installed.
    """
    return OpenDPSource() if plan.noise == "opendp" else GaussianSource(np.random.default_rng(plan.seed))
