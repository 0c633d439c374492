"""Generalised linear models in non-interactive local DP (glm Algorithms 1-4 and variants), and their data."""

from simulators.glm.covariances import random_covariance
from simulators.glm.estimators import bounded, estimate, find_scale
from simulators.glm.models import GaussianModel, TwoPointModel, condensed, wishart
from simulators.glm.recommended import recommendation_experiments, settings_of, share_without_root
from simulators.glm.settings import Settings

__all__ = [
    "GaussianModel",
    "Settings",
    "TwoPointModel",
    "bounded",
    "condensed",
    "estimate",
    "find_scale",
    "random_covariance",
    "recommendation_experiments",
    "settings_of",
    "share_without_root",
    "wishart",
]
