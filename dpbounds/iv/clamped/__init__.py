"""What clamping does to an instrument's moment, and a confidence set that allows for it.

For an instrument independent of the errors and of the first stage (its noise and its effects on the regressor), whose
effect on the regressor has one sign:

- `attenuation`: what clipping residuals takes off the instrument's moment, and its limits
- `limits`: limits of rho from released counts; `stretch`: the union of S / rho

The release that takes them is in `dpbounds.iv.confidence.stretched`.
"""

from dpbounds.iv.clamped.attenuation import (
    Attenuation,
    ClippedShares,
    attenuation,
    attenuation_limits,
    clipped_shares,
)
from dpbounds.iv.clamped.stretching import RhoLimits, limits, stretch

__all__ = [
    "Attenuation",
    "ClippedShares",
    "RhoLimits",
    "attenuation",
    "attenuation_limits",
    "clipped_shares",
    "limits",
    "stretch",
]
