"""Noise of least error in all prefix sums: what is taken where the loss is not known, and a measure for designs.

>>> prefix_sum(4, Participation.min_separation(2, 2)).inverse_coefficients(3).tolist()  # two bands
[1.0, 0.5, 0.0]
"""

from __future__ import annotations

from dpbounds.arguments import typed
from dpbounds.ftrl.correlations import Correlation, optimal_counting
from dpbounds.ftrl.design.fitting import fit_coefficients
from dpbounds.ftrl.design.mechanisms import Bands, unit_columns
from dpbounds.ftrl.design.participation import Participation

# Steps beyond which noise goes through a BLT, and its buffers.
LONG, BUFFERS = 512, 6
LABEL = "prefix sum"


@typed
def prefix_sum(steps: int, participation: Participation) -> Correlation:
    """Noise of least error in all prefix sums, C = (1 - z)^{-1/2}: for one participation with unit columns, for more
    with as many bands as the separation. In long runs by a BLT. Raises `DomainError` for patterns that do not fit.
    """
    steps, exact = participation.checked(steps), optimal_counting()
    if participation.times > 1 and steps <= LONG:
        return Bands(tuple(exact.inverse_coefficients(participation.separation).tolist()), LABEL)
    if steps <= LONG:
        return unit_columns(exact, steps, label=LABEL)
    fitted = fit_coefficients(exact.inverse_coefficients(steps), BUFFERS)
    return unit_columns(fitted, steps, label=LABEL) if participation.times == 1 else fitted
