"""Does a mechanism keep its promise? Decided by the law of its outputs as far as that goes, by sampling last.

`audit` runs a function, and reads coefficients and an accountant's events without running anything; `testing` has one
line for a library's own tests. The theory stands here; what runs mechanisms is in `simulators.audit`, loaded when asked
for.
Scales are those of `NoiseLaw`; `alpha` is the probability of a false alarm; an interval's ends fail with `alpha` each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpbounds.audit.accounted import GaussianEvent, event_interval, event_of
from dpbounds.audit.coefficients import Coefficients, coefficients_of, judged
from dpbounds.audit.intervals import (
    coordinates_needed,
    correlation_tail,
    gaussian_scale_interval,
    laplace_scale_interval,
    proportion_interval,
    shift_interval,
)
from dpbounds.audit.laplace import laplace_delta, laplace_epsilon
from dpbounds.audit.laws import NoiseLaw, gaussian, laplace
from dpbounds.audit.pairs import pair_delta
from dpbounds.audit.promises import Promise, promise_of
from dpbounds.audit.results import Audit
from dpbounds.audit.subsampled import poisson_delta, poisson_epsilon, shuffled_delta, shuffled_epsilon
from dpbounds.audit.witnesses import evaluated

if TYPE_CHECKING:
    from simulators.audit import Box, Pair, adapters, audit, rerun

# What runs mechanisms: loaded at the first use.
_RUNS = ("Box", "Pair", "adapters", "audit", "rerun")

__all__ = [
    "Audit",
    "Box",
    "Coefficients",
    "GaussianEvent",
    "NoiseLaw",
    "Pair",
    "Promise",
    "adapters",
    "audit",
    "coefficients_of",
    "coordinates_needed",
    "correlation_tail",
    "evaluated",
    "event_interval",
    "event_of",
    "gaussian",
    "gaussian_scale_interval",
    "judged",
    "laplace",
    "laplace_delta",
    "laplace_epsilon",
    "laplace_scale_interval",
    "pair_delta",
    "poisson_delta",
    "poisson_epsilon",
    "promise_of",
    "proportion_interval",
    "rerun",
    "shift_interval",
    "shuffled_delta",
    "shuffled_epsilon",
]


def __getattr__(name: str) -> Any:
    if name in _RUNS:
        import simulators.audit

        return getattr(simulators.audit, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
