"""Generalised linear models in non-interactive local differential privacy with public data (paper `glm`).

Conventions: x in R^p with covariance Sigma, z = <x, w*>, E[y | x] = mu(z); n private and m public records; budgets are
local, any two records within the bounds are neighbours.
"""

from dpbounds.glm import asymptotics, bounds, clipping, links, messages, privacy, scale
from dpbounds.glm.designs import Bias, TwoPointDesign, bias, least_squares, sign_design
from dpbounds.glm.links import LINKS, Link
from dpbounds.glm.prediction import Prediction, predict, records_needed
from dpbounds.glm.problem import Problem, build_problem
from dpbounds.glm.recommendation import Recommendation, assess, error_curves, recommend
from dpbounds.glm.surveys import message_rows, what_helps

__all__ = [
    "LINKS",
    "Bias",
    "Link",
    "Prediction",
    "Problem",
    "Recommendation",
    "TwoPointDesign",
    "assess",
    "asymptotics",
    "bias",
    "bounds",
    "build_problem",
    "clipping",
    "error_curves",
    "least_squares",
    "links",
    "message_rows",
    "messages",
    "predict",
    "privacy",
    "recommend",
    "records_needed",
    "scale",
    "sign_design",
    "what_helps",
]
