"""Private confidence sets where values are clamped: clip the residual of the raw record, then stretch the set.

For an instrument independent of the errors and of the first stage (its noise and its effects on the regressor), whose
effect on the regressor has one sign:

- `attenuation`: what clipping residuals takes off the instrument's moment, and its limits
- `limits`: limits of rho from released counts; `stretch`: the union of S / rho
- `release`: the two stages, their cost, and the stretched set
"""

from dpbounds.iv.clamped.attenuation import (
    Attenuation,
    ClippedShares,
    attenuation,
    attenuation_limits,
    clipped_shares,
)
from dpbounds.iv.clamped.release import (
    ClippedCounts,
    Start,
    StretchShares,
    arms_release,
    count_sensitivity,
    split_level,
    start_sensitivity,
    starting_line,
    stretch_shares,
    stretched_curve,
    stretched_point,
    stretched_set,
)
from dpbounds.iv.clamped.stretching import RhoLimits, limits, stretch

__all__ = [
    "Attenuation",
    "ClippedCounts",
    "ClippedShares",
    "RhoLimits",
    "Start",
    "StretchShares",
    "arms_release",
    "attenuation",
    "attenuation_limits",
    "clipped_shares",
    "count_sensitivity",
    "limits",
    "split_level",
    "start_sensitivity",
    "starting_line",
    "stretch",
    "stretch_shares",
    "stretched_curve",
    "stretched_point",
    "stretched_set",
]
