"""Generalised linear models in non-interactive local DP (glm Algorithms 1-4 and variants), and their data."""

from simulators.glm.cells import GaussianInLaw
from simulators.glm.covariances import random_covariance
from simulators.glm.estimators import bounded, estimate, find_scale
from simulators.glm.messages import MessageSettings, estimate_from_messages
from simulators.glm.models import GaussianModel, InterceptModel, TwoPointModel, condensed, wishart
from simulators.glm.recommended import (
    message_experiments,
    recommendation_experiments,
    reference_experiments,
    settings_of,
    share_without_root,
)
from simulators.glm.settings import Settings

__all__ = [
    "GaussianInLaw",
    "GaussianModel",
    "InterceptModel",
    "MessageSettings",
    "Settings",
    "TwoPointModel",
    "bounded",
    "condensed",
    "estimate",
    "estimate_from_messages",
    "find_scale",
    "message_experiments",
    "random_covariance",
    "recommendation_experiments",
    "reference_experiments",
    "settings_of",
    "share_without_root",
    "wishart",
]
