"""A private run of T steps: the draws of `horizon` as strong as a budget asks for.

>>> from dpbounds.ftrl.correlations import independent
>>> from dpbounds.ftrl.methods.linear import gradient_descent
>>> found = bound_run(independent(), gradient_descent(eta=0.1), 2, mu=0.1, L=1.0, initial=1.0, rho=0.5)
>>> found.variance, round(float(found.value), 6)
(1.0, 0.363719)
"""

from __future__ import annotations

from dpbounds.arguments import typed
from dpbounds.errors import LARGEST, DomainError, count, moderate, moderate_or_zero
from dpbounds.ftrl.correlations.base import Correlation
from dpbounds.ftrl.methods.horizon import MOST_STEPS, HorizonBound, Objective, bound_horizon
from dpbounds.ftrl.methods.linear import LinearMethod


@typed
def bound_run(
    correlation: Correlation,
    method: LinearMethod,
    T: int,
    *,
    mu: float,
    L: float,
    initial: float,
    rho: float,
    d: int = 1,
    clip_norm: float = 1.0,
    objective: Objective = "last",
    window: int = 1,
    certify: bool = True,
) -> HorizonBound:
    """`bound_horizon` with the B of a correlation at T steps and draws of variance d clip_norm^2 gamma_T^2 / (2 rho).

    `rho` is zCDP of the run, zero-out adjacency, one pass over the data. gamma_T is computed in floats: what is proved
    is the bound for the variance that the result states. Arguments and errors as there.
    """
    steps = count("T", T, most=MOST_STEPS)
    energy = count("d", d, most=LARGEST) * moderate("clip_norm", clip_norm) ** 2 / (2.0 * moderate("rho", rho))
    gamma = correlation.sensitivity(steps)
    if not 0 < energy * gamma**2 < float("inf"):
        raise DomainError("correlation", correlation.name, "one of finite sensitivity", "its inverse grows: damp it")
    return bound_horizon(
        correlation.matrix(steps),
        method,
        steps,
        mu=mu,
        L=L,
        initial=moderate_or_zero("initial", initial),
        variance=energy * gamma**2,
        objective=objective,
        window=window,
        certify=certify,
    )
