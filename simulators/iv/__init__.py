"""Two-stage gradient descent for instrumental variables, private and not (iv Algorithms 1-3), and its data."""

from simulators.iv.datasets import angrist_evans, card
from simulators.iv.friendly_core import FriendlyCore, friendly_core
from simulators.iv.models import angrist_surrogate, synthetic_model
from simulators.iv.problems import FixedData, FixedMoments, LinearModel
from simulators.iv.rehearsals import data_problem, planned_settings, population_model, rehearsals
from simulators.iv.settings import Settings
from simulators.iv.two_stage import compare_descents, iterates, two_stage_descent

__all__ = [
    "FixedData",
    "FixedMoments",
    "FriendlyCore",
    "LinearModel",
    "Settings",
    "angrist_evans",
    "angrist_surrogate",
    "card",
    "compare_descents",
    "data_problem",
    "friendly_core",
    "iterates",
    "planned_settings",
    "population_model",
    "rehearsals",
    "synthetic_model",
    "two_stage_descent",
]
