"""Gaussian noise drawn by OpenDP's measurement, which samples a discrete law on the grid of floats and adds exactly.

What floats leak through numpy's sampler (Mironov 2012) does not leak here: the generator is cryptographic, the sum is
exact before it is rounded. Needs the extra `opendp`.
"""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np

from dpbounds.errors import AccuracyError, DomainError, positive, vector

# Sums of records are correctly rounded, and so is each record: together they move by less than this share more than
# in exact arithmetic. The noise is larger by as much.
ROUNDING = 1e-9


def installed() -> bool:
    """Whether the extra is there."""
    return find_spec("opendp") is not None


def require() -> None:
    """`DomainError` without the extra."""
    if not installed():
        raise DomainError("noise", "opendp", "numpy where OpenDP is not installed", "pip install 'dpbounds[opendp]'")


def measured(values: np.ndarray, scale: float) -> np.ndarray:
    """`values` (d,) plus independent N(0, (1 + 1e-9)² scale²): 1/(2 scale²)-zCDP for values that move by 1 in l2 norm.

    Fresh noise in every call, that no seed gives back. Raises `DomainError` without the extra and for values that are
    not finite or a scale that is not above 0, `AccuracyError` where OpenDP's own privacy map says more than that.
    """
    require()
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_gaussian
    from opendp.metrics import l2_distance
    from opendp.mod import enable_features

    given, scale = vector("values", values), positive("scale", scale)
    enable_features("contrib")
    space = vector_domain(atom_domain(T=float, nan=False), size=len(given)), l2_distance(T=float)
    measurement = make_gaussian(*space, scale=scale * (1 + ROUNDING))
    spent, allowed = measurement.map(1 + ROUNDING), 0.5 / scale**2
    if not spent <= allowed * (1 + 1e-12):
        raise AccuracyError(f"OpenDP's map gives rho = {spent!r} where {allowed!r} was asked for")
    return np.array(measurement(given.tolist()))
