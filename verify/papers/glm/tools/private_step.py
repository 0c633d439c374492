"""The private least squares step to leading order, for the bounds of Lemma 33 and Appendix C."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpbounds.glm import privacy


@dataclass(frozen=True, kw_only=True)
class Step:
    """Sigma = variance I in dimension p, w_ols = size e_1, printed noise for radius r >= sqrt(p variance)."""

    p: int
    variance: float
    radius: float
    size: float
    n: int
    epsilon: float
    delta: float

    @property
    def root_mean_square(self) -> float:
        """(E ||w_hat_o - w_tilde||^2)^{1/2} for n large: Sigma^{-1} (E_2 - E_1 w) / n, Cov(E_1 w) = sigma_1^2 K."""
        scales = privacy.noise_scales(self.epsilon, self.delta, radius=self.radius)
        w = np.zeros(self.p)
        w[0] = self.size
        noise = scales.cross**2 * np.eye(self.p)
        noise += scales.gram**2 * (w @ w * np.eye(self.p) + np.outer(w, w) - np.diag(w * w))
        return math.sqrt(float(np.trace(noise)) / self.n) / self.variance

    @property
    def capital_lambda(self) -> float:
        """sqrt(lambda) min{sqrt(lambda), 1}."""
        root = math.sqrt(self.variance)
        return root * min(root, 1.0)

    def logarithms(self, failure: float) -> float:
        """l = sqrt(log(1 / delta) log(p^2 / xi))."""
        return math.sqrt(math.log(1 / self.delta) * math.log(self.p**2 / failure))
