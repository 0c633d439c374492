"""The linear models of the paper's experiments: Section 4.1, and a surrogate for the census data.

>>> model = synthetic_model(n=1000, p=2, q=3, r=2, parameter_seed=0)
>>> model.dimensions, model.theta.shape
((3, 2), (3, 2))
"""

from __future__ import annotations

import numpy as np

from dpbounds.errors import count, moderate_or_zero, real
from simulators.iv.problems import LinearModel

# Dimensions of dense matrices.
LARGEST = 5_000


def synthetic_model(*, n: int, p: int, q: int, r: int, parameter_seed: int) -> LinearModel:
    """The data of iv Section 4.1: x = Theta'z + Phi'u + e_x, y = beta'x + phi'u + e_y, everything standard normal.

    Parameters are standard normals of `numpy.random.default_rng(parameter_seed)` in the order beta (p,), E (q, p) with
    Theta = 5I + E, Phi (r, p), phi (r,). The confounder u enters through the covariance of the errors alone, with
    blocks I + Phi'Phi, Phi'phi and 1 + ||phi||^2; r = 0 leaves it out. Raises `DomainError` for counts out of range.
    """
    p, r = count("p", p, most=LARGEST), count("r", r, least=0, most=LARGEST)
    q = count("q", q, least=p, most=LARGEST, remedy="2SLS needs as many instruments as regressors")
    generator = np.random.default_rng(count("parameter_seed", parameter_seed, least=0))
    beta, E = generator.standard_normal(p), generator.standard_normal((q, p))
    loadings = np.column_stack([generator.standard_normal((r, p)), generator.standard_normal(r)])
    covariance = np.eye(p + 1) + loadings.T @ loadings
    return LinearModel(n=n, beta=beta, theta=5.0 * np.eye(q, p) + E, error_covariance=covariance)


def angrist_surrogate(*, n: int = 8065, beta: float = -4.3) -> LinearModel:
    """Like the 1980 census extract of Angrist and Evans, centred: iv Fig. 5, 10, 11.

    z = +-1/2 (the first two children have the same sex or not), first stage 0.067, standard deviation 0.48 of x (more
    than two children) and 22 of y (weeks worked), errors uncorrelated: rounded sample values, with the effect that the
    paper reports. Errors are Gaussian here, not binary and censored.
    """
    beta = real("beta", beta)
    moderate_or_zero("|beta|", abs(beta))
    first_stage, x_deviation, y_deviation = 0.067, 0.48, 22.0
    errors = np.diag([x_deviation**2 - (first_stage / 2.0) ** 2, y_deviation**2 - (beta * x_deviation) ** 2])
    return LinearModel(
        n=n,
        beta=np.array([beta]),
        theta=np.array([[first_stage]]),
        error_covariance=errors,
        instrument_covariance=np.array([[0.25]]),
        instruments="sign",
    )
