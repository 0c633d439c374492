"""One bounded message per user: a direction times a score of the label, plus noise; the estimate is a convex problem's.

User i sends Z_i = psi(y_i) h(x_i) + noise, h(x) = A x / max(R, ||A x||), psi in [-1, 1] (`scored`), A and R public. The
server solves E_public[h(x) M(<x, w>)] = mean of the Z_i, M(z) = E[psi | z] (`solve`). If E[y | x] = mu(<x, w*>) the
equation holds at w* whatever the law of x is: h weighs records and does not change them. Gaussian noise of standard
deviation 2 / mu, or pure eps on the sphere (`cap`).
"""

from dpbounds.glm.messages.errors import MessageError, MessageLaw, error, error_of, message_law, message_matrix
from dpbounds.glm.messages.forecasts import MessageForecast, forecast, gaussian_median
from dpbounds.glm.messages.labels import ScoredLabels, scored
from dpbounds.glm.messages.lower import LowerBound, information_bound, lower_bound, pure_bound, pure_threshold
from dpbounds.glm.messages.moments import Moments, moments
from dpbounds.glm.messages.noises import Cap, Noise, cap, gaussian_scale, hemisphere, sphere
from dpbounds.glm.messages.solving import Solution, solve, solve_known

__all__ = [
    "Cap",
    "LowerBound",
    "MessageError",
    "MessageForecast",
    "MessageLaw",
    "Moments",
    "Noise",
    "ScoredLabels",
    "Solution",
    "cap",
    "error",
    "error_of",
    "forecast",
    "gaussian_median",
    "gaussian_scale",
    "hemisphere",
    "information_bound",
    "lower_bound",
    "message_law",
    "message_matrix",
    "moments",
    "pure_bound",
    "pure_threshold",
    "scored",
    "solve",
    "solve_known",
    "sphere",
]
