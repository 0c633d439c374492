"""The errors of sampled gradients of least squares, as `GradientNoise` has them.

A record x, with y = <x, theta*> + r and Gaussian x ~ N(0, H), gives the gradient x <x, delta> - x r at theta, delta =
theta - theta*. E x x' A x x' = 2 H A H + tr(H A) H (Isserlis) leaves of it, over the mean g = H delta,

    E |n|^2 = tr H (<g, delta> + sigma^2) + |g|^2,   sigma^2 = E r^2, r independent of x,

and an average over m records that the past knows nothing of has a share 1 / m of that. For other inputs with E |x|^2 x
x' <= R^2 H it is at most R^2 (<g, delta> + sigma^2) - |g|^2.

>>> noise = SampledGradients(eigenvalues=np.array([1.0, 0.5]), batch_size=3, sigma=2.0).noise
>>> noise.co, noise.gradient == 1 / 3, noise.variance
(0.5, True, 2.0)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.errors import all_moderate, count, moderate_or_zero
from dpbounds.ftrl.methods.problem import GradientNoise


@typed
@dataclass(frozen=True, kw_only=True, eq=False)
class SampledGradients:
    """Gradients of least squares, each averaged over `batch_size` fresh records with inputs N(0, H), H of these
    `eigenvalues`, and residuals of standard deviation `sigma`, independent of the inputs; none is clipped.

    Raises `DomainError` unless eigenvalues are above 0, batch_size is at least 1 and sigma at least 0.
    """

    eigenvalues: Float[np.ndarray, " d"]
    batch_size: int
    sigma: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "eigenvalues", all_moderate("eigenvalues", self.eigenvalues))
        object.__setattr__(self, "batch_size", count("batch_size", self.batch_size))
        object.__setattr__(self, "sigma", moderate_or_zero("sigma", self.sigma))

    @property
    def noise(self) -> GradientNoise:
        """co = tr H / m, gradient = 1 / m, variance = sigma^2 tr H / m: an equality for these records."""
        share = float(self.eigenvalues.sum()) / self.batch_size
        return GradientNoise(co=share, gradient=1.0 / self.batch_size, variance=self.sigma**2 * share)

    @property
    def sentence(self) -> str:
        """What is assumed, in words."""
        return (
            f"Errors n of sampled gradients are counted, as large as with least squares and m = {self.batch_size} "
            f"fresh records a step, Gaussian inputs of covariance H, residuals of variance sigma^2 = "
            f"{self.sigma**2:.4g}, none clipped: E |n|^2 = (tr H (<g, y - theta*> + sigma^2) + |g|^2) / m. Rates are "
            "those with exact gradients."
        )
