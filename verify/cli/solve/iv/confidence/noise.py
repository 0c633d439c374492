"""Where the noise of a release comes from: a seed, the operating system, or OpenDP."""

from __future__ import annotations

import numpy as np

from dpbounds import DomainError
from simulators.iv.confidence.sources import GaussianSource, OpenDPSource
from verify.cli.solve.iv.confidence.asked import Asked


def source(asked: Asked) -> GaussianSource:
    """Without a seed from the operating system's entropy: nobody can draw that noise again."""
    if asked.noise == "opendp":
        if asked.seed is not None:
            raise DomainError("noise", "opendp", "numpy with --seed or --public", "OpenDP's noise has no seed")
        return OpenDPSource()
    return GaussianSource(np.random.default_rng(asked.seed))
