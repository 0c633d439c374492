"""Kinds of checks; each turns a statement, given as a few callables and ranges, into evidence."""

from verify.checks.agreement import Agreement, Fact, Holds, Within
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
    "Within",
]
