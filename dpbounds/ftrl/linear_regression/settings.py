"""The problem of ftrl Section 2.2: inputs by their spectrum, and how Noisy-FTRL is run on them.

>>> problem = Regression(eigenvalues=np.array([1.0, 0.25]), eta=0.5, rho=2.0)
>>> problem.decay.tolist(), problem.noise_variance
([0.5, 0.125], 0.25)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from dpbounds.errors import all_moderate, moderate, moderate_or_zero, real

# E z^4 of a standard normal variable.
GAUSSIAN_KURTOSIS = 3.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Regression:
    """Linear regression by Noisy-FTRL on inputs x = U Lambda^{1/2} z, the entries of z independent with E z = 0,
    E z^2 = 1.

    - `eigenvalues` (d,): lambda_1 ... lambda_d of the input covariance H, in any order;
    - `eta`: the learning rate; `rho`: zCDP budget of the run under zero-out adjacency;
    - `clip_norm`: G, which scales the noise; nothing is clipped;
    - `sigma_sgd`: standard deviation of the residuals y - <x, theta*>, independent of x;
    - `kurtosis`: E z^4, 3 for Gaussian inputs. Bounds for every law of the inputs do not read it.

    Raises `DomainError` for values outside their ranges.
    """

    eigenvalues: Float[np.ndarray, " d"]
    eta: float
    rho: float
    clip_norm: float = 1.0
    sigma_sgd: float = 0.0
    kurtosis: float = GAUSSIAN_KURTOSIS

    def __post_init__(self) -> None:
        spectrum = all_moderate("eigenvalues", self.eigenvalues)
        spectrum.flags.writeable = False
        checked = {
            "eigenvalues": spectrum,
            "eta": moderate("eta", self.eta),
            "rho": moderate("rho", self.rho),
            "clip_norm": moderate("clip_norm", self.clip_norm),
            "sigma_sgd": moderate_or_zero("sigma_sgd", self.sigma_sgd),
            "kurtosis": real("kurtosis", self.kurtosis),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @cached_property
    def decay(self) -> Float[np.ndarray, " d"]:
        """x_j = eta lambda_j, the rate at which direction j forgets."""
        return self.eta * self.eigenvalues

    @property
    def trace(self) -> float:
        """Tr H."""
        return float(self.eigenvalues.sum())

    @property
    def noise_variance(self) -> float:
        """G^2 / (2 rho): variance of one draw of an encoder with sensitivity 1 (ftrl Thm 1.1)."""
        return self.clip_norm**2 / (2.0 * self.rho)

    @property
    def residual_variance(self) -> float:
        """sigma_sgd^2."""
        return self.sigma_sgd**2
