"""Kinds of checks; each turns a statement, given as a few callables and ranges, into evidence."""

from verify.checks.agreement import Agreement, Fact
from verify.checks.base import Check, Level, Seed
from verify.checks.bounded import BoundedMean
from verify.checks.frequency import Event, Frequency
from verify.checks.identity import Identity, Symbolic
from verify.checks.inequality import Inequality
from verify.checks.montecarlo import Case, MonteCarlo, Slopes
from verify.checks.privacy import Audit, GaussianPrivacy, Neighbours
from verify.checks.quantiles import Power, Quantiles, Ratio, Reading
from verify.checks.rate import Rate
from verify.checks.search import Search

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
    "Identity",
    "Inequality",
    "Level",
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
    "Symbolic",
]
