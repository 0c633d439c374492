"""How a private estimate is made: the estimator, the noise, what happens to records outside the bounds.

>>> Settings(estimator="pooled", gram_scale=2.0).needs_rows, Settings(beyond="clip", radius=3.0).needs_rows
(False, True)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, choice, in_floats, nonnegative, positive, real

Estimator = Literal["paper", "pooled", "public-covariance", "no-public-data", "two-round"]
Beyond = Literal["keep", "refuse", "clip"]


@typed
@dataclass(frozen=True, kw_only=True)
class Settings:
    """One run of glm Algorithms 1 to 4 or of a variant.

    - `estimator`: `paper` (as printed), `pooled` (Remark 11), `public-covariance` (x x^T is not released),
      `no-public-data` (scale from b^T A^{-1} b, Gaussian x), `two-round` (Remark 10);
    - `gram_scale`, `cross_scale`: standard deviations of one user's noise on an entry of x x^T and of x y;
      `projection_scale`: on <x, w_ols>, in units of ||w_ols||, in the second round;
    - `beyond`: what a user does whose record is outside `radius` or `label_bound`: `keep` it, `refuse` (the message
      "outside", which the server leaves out; labels are not looked at), or `clip`, |y - label_center| <= label_bound,
      and send y - label_center;
    - `per_user_noise`: draw every user's noise (the same law, for tests).
    """

    estimator: Estimator = "paper"
    gram_scale: float = 0.0
    cross_scale: float = 0.0
    projection_scale: float = 0.0
    beyond: Beyond = "keep"
    radius: float = math.inf
    label_bound: float = math.inf
    label_center: float = 0.0
    per_user_noise: bool = False

    def __post_init__(self) -> None:
        choice("estimator", self.estimator, get_args(Estimator))
        choice("beyond", self.beyond, get_args(Beyond))
        for name in ("gram_scale", "cross_scale", "projection_scale"):
            nonnegative(name, getattr(self, name))
        for name in ("radius", "label_bound"):
            value = getattr(self, name)
            if not (isinstance(value, float) and value == math.inf):
                positive(name, value)
        real("label_center", self.label_center)
        in_floats(self, "gram_scale", "cross_scale", "projection_scale", "radius", "label_bound")
        if self.beyond != "keep" and math.isinf(self.radius) and math.isinf(self.label_bound):
            raise DomainError("beyond", self.beyond, "keep where no bound is given", "give radius or label_bound")

    @property
    def needs_rows(self) -> bool:
        """Whether single records are looked at, so that sums in law do not suffice."""
        return self.beyond != "keep" or self.per_user_noise or self.estimator == "two-round"
