"""Which method, and which noise for it: all tuned to one rate, each with the best noise found, bounded from both sides.

The rate is that of the slowest quadratic. On the whole class it need not be: with gradient descent F - F* falls by (1
- r)^2 a step, with Nesterov's method by 1 - r as far as is proved, so that a careful comparison is that of gradient
descent at r with Nesterov at 2 r.

>>> found = best_method(0.01, 10.0, rho=0.5, methods=("gd",), noises=("white",), certify=False)
>>> found.best.method.name, round(float(found.best.value), 6), found.left_out
('gradient descent', 0.038609, ())
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from dpbounds import privacy
from dpbounds.arguments import typed
from dpbounds.errors import AccuracyError, DomainError, choice, moderate, positive, within
from dpbounds.ftrl.correlations import HalfPowers, independent
from dpbounds.ftrl.methods.bounds import MEMORY, MethodBound, bound_method
from dpbounds.ftrl.methods.linear import LinearMethod, MethodName, check_converges, named_method
from dpbounds.ftrl.methods.loops import Measure
from dpbounds.ftrl.methods.problem import Problem
from dpbounds.ftrl.strongly_convex.noise import Noise
from dpbounds.ftrl.strongly_convex.programs import least_curvature

NoiseName = Literal["white", "arma"]

# The search for the noise: past gradients, relative accuracy, evaluations, and how near to 1 zero and pole may come.
SEARCHED, CLOSE, EVALUATIONS, NEAREST = 1, 1e-4, 70, 1e-7


class MethodTable(NamedTuple):
    """Bounds, the least upper end first, and what has none: method, noise and why."""

    rows: tuple[MethodBound, ...]
    left_out: tuple[tuple[MethodName, NoiseName, str], ...]

    @property
    def best(self) -> MethodBound:
        """The first."""
        return self.rows[0]


@typed
def step_of_rate(name: MethodName, rate: float, mu: float) -> float:
    """The eta at which the method by name is as fast on the quadratic of curvature mu: eta mu = r for gradient descent,
    r^2 for heavy ball and Nesterov, r^2 (2 - r) for triple momentum. Raises `DomainError` unless 0 < rate < 1.
    """
    r, low = within("rate", rate, "(0, 1)"), positive("mu", mu)
    choice("name", name, get_args(MethodName))
    return {"gd": r, "triple": r * r * (2.0 - r)}.get(name, r * r) / low


@typed
def method_of_rate(name: MethodName, rate: float, mu: float) -> LinearMethod:
    """The method by name with the step of `step_of_rate`, its momentum tuned to it; errors as there."""
    return named_method(name, eta=step_of_rate(name, rate, mu), mu=mu)


@typed
def best_method(
    rate: float,
    kappa: float,
    *,
    rho: float | None = None,
    epsilon: float | None = None,
    delta: float = 1e-5,
    L: float = 1.0,
    d: int = 1,
    clip_norm: float = 1.0,
    sigma_sgd: float = 0.0,
    methods: Sequence[MethodName] = ("gd", "heavy-ball", "nesterov", "triple"),
    noises: Sequence[NoiseName] = ("white", "arma"),
    measure: Measure = "f",
    memory: int = MEMORY,
    certify: bool = True,
) -> MethodTable:
    """Bounds, as `bound_method` has them, for every method with every kind of noise.

    Privacy is `rho`, zCDP, or (`epsilon`, `delta`), zero-out adjacency, for one pass. Noise is "white", or "arma", that
    of `best_noise`. What diverges at this rate, or has no storage function, is in `left_out` with the reason. Raises
    `DomainError` for arguments outside their ranges, and where no method is left.
    """
    if (rho is None) == (epsilon is None):
        raise DomainError("rho", rho, "given, or else epsilon", "give one of rho and epsilon")
    spent = rho if epsilon is None else float(privacy.zcdp_of_gaussian(privacy.gaussian_mu(epsilon, delta)))
    budget, high = moderate("rho", spent), positive("L", L)
    white = Noise(correlation=independent(), rho=budget, d=d, clip_norm=clip_norm, sigma_sgd=sigma_sgd)
    mu = least_curvature(high, kappa)
    for kind in noises:
        choice("noises", kind, get_args(NoiseName))
    found, left_out = list[MethodBound](), list[tuple[MethodName, NoiseName, str]]()
    for name in methods:
        method = method_of_rate(name, rate, mu)
        try:
            check_converges(method, mu, high)
        except DomainError as error:
            left_out.extend((name, kind, str(error)) for kind in noises)
            continue
        for kind in noises:
            try:
                noise = white if kind == "white" else best_noise(white, method, mu=mu, L=high, measure=measure)
                options: Any = {"measure": measure, "memory": memory, "certify": certify}
                found.append(bound_method(noise, method, mu=mu, L=high, **options))
            except AccuracyError as error:  # no storage function: it may diverge on the class
                left_out.append((name, kind, str(error)))
    if not found:
        allowed = f"a rate at which one of the methods converges on the class, kappa = {kappa:g}"
        raise DomainError("rate", rate, allowed, "take a smaller one")
    return MethodTable(tuple(sorted(found, key=lambda one: float(one.value))), tuple(left_out))


@typed
def best_noise(noise: Noise, method: LinearMethod, *, mu: float, L: float, measure: Measure = "f") -> Noise:
    """`noise` with the best B = (1 - a z) / (1 - c z) found in place of its own correlation, by Nelder and Mead.

    Least is the value of the storage program with one past gradient; a local search. Zeros and poles of what it returns
    stand twice, as half powers have them. Raises `DomainError` for a method that diverges on a quadratic of the class,
    `AccuracyError` where no such noise has a storage function.
    """
    from scipy.optimize import minimize

    def with_roots(logarithms: np.ndarray) -> Noise:  # of 1 - root
        zero, pole = (1.0 - float(x) for x in np.exp(logarithms))
        return replace(noise, correlation=HalfPowers((zero, zero), (pole, pole), "arma"))

    def value(logarithms: np.ndarray) -> float:
        if not np.all((np.log(NEAREST) < logarithms) & (logarithms < np.log(2.0 - NEAREST))):
            return np.inf
        try:
            problem = Problem(method, with_roots(logarithms), mu, L, measure, None)
            return float(problem.bounded(SEARCHED, certify=False).value)
        except AccuracyError:
            return np.inf

    choice("measure", measure, get_args(Measure))
    check_converges(method, mu, L)
    rate = max(method.rate(mu, L), NEAREST)
    simplex = np.log([[2.0 * rate, 0.5], [0.2, 0.5], [2.0 * rate, 0.9]])
    limits = {"xatol": np.inf, "fatol": CLOSE * value(simplex[0]), "maxfev": EVALUATIONS, "initial_simplex": simplex}
    found: Any = minimize(value, simplex[0], method="Nelder-Mead", options=limits)
    if not np.isfinite(found.fun):
        raise AccuracyError(f"{method.name}: no noise with one zero and one pole was found that has a storage function")
    return with_roots(found.x)
