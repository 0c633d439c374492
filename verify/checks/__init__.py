"""Kinds of checks; each turns a statement, given as a few callables and ranges, into evidence.

Each is loaded when it is used: what one needs (computer algebra, balls, solvers) the others do without.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from verify.checks.agreement import Agreement, Fact, Holds, Within, refused, taken
    from verify.checks.base import Check, Level, Seed
    from verify.checks.bounded import BoundedMean
    from verify.checks.frequency import Event, Frequency
    from verify.checks.identity import Identity, Symbolic
    from verify.checks.impostors import Times
    from verify.checks.inequality import Inequality
    from verify.checks.means import Case, Means
    from verify.checks.montecarlo import MonteCarlo
    from verify.checks.privacy import Audit, GaussianPrivacy, Neighbours
    from verify.checks.quantiles import Power, Quantiles, Ratio, Reading
    from verify.checks.rate import Rate
    from verify.checks.search import Search
    from verify.checks.slopes import Slopes
    from verify.checks.survey import Survey
    from verify.checks.unbounded import Unbounded

_HOMES = {
    "agreement": ("Agreement", "Fact", "Holds", "Within", "refused", "taken"),
    "base": ("Check", "Level", "Seed"),
    "bounded": ("BoundedMean",),
    "frequency": ("Event", "Frequency"),
    "identity": ("Identity", "Symbolic"),
    "impostors": ("Times",),
    "inequality": ("Inequality",),
    "means": ("Case", "Means"),
    "montecarlo": ("MonteCarlo",),
    "privacy": ("Audit", "GaussianPrivacy", "Neighbours"),
    "quantiles": ("Power", "Quantiles", "Ratio", "Reading"),
    "rate": ("Rate",),
    "search": ("Search",),
    "slopes": ("Slopes",),
    "survey": ("Survey",),
    "unbounded": ("Unbounded",),
}

__all__ = [
    "Agreement",
    "Audit",
    "BoundedMean",
    "Case",
    "Check",
    "Event",
    "Fact",
    "Frequency",
    "GaussianPrivacy",
    "Holds",
    "Identity",
    "Inequality",
    "Level",
    "Means",
    "MonteCarlo",
    "Neighbours",
    "Power",
    "Quantiles",
    "Rate",
    "Ratio",
    "Reading",
    "Search",
    "Seed",
    "Slopes",
    "Survey",
    "Symbolic",
    "Times",
    "Unbounded",
    "Within",
    "refused",
    "taken",
]


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
