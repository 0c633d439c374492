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
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from dpbounds import privacy
from dpbounds.arguments import typed
from dpbounds.errors import AccuracyError, DomainError, choice, moderate, positive, within
from dpbounds.ftrl.correlations import HalfPowers, ToeplitzCorrelation, independent
from dpbounds.ftrl.methods.bounds import MethodBound, bound_method
from dpbounds.ftrl.methods.linear import LinearMethod, MethodName, check_converges, named_method
from dpbounds.ftrl.methods.problem import Problem
from dpbounds.ftrl.strongly_convex.noise import Noise
from dpbounds.ftrl.strongly_convex.programs import least_curvature

NoiseName = Literal["white", "arma"]

# The search for the noise: past gradients, relative accuracy, evaluations, and how near to 1 zero and pole may come.
SEARCHED, CLOSE, EVALUATIONS, NEAREST = 1, 1e-4, 70, 1e-7


class MethodTable(NamedTuple):
    """Bounds, the least upper end first, and what has none: method, noise and why."""

    rows: tuple[MethodBound, ...]
    left_out: tuple[tuple[str, str, str], ...]

    @property
    def best(self) -> MethodBound:
        """The first."""
        return self.rows[0]


@typed
def method_of_rate(name: MethodName, rate: float, mu: float) -> LinearMethod:
    """The method by name that is as fast on the quadratic of curvature mu: eta mu = r for gradient descent, r^2 for
    heavy ball and Nesterov, and r^2 (2 - r) for triple momentum. Raises `DomainError` unless 0 < rate < 1.
    """
    r, low = within("rate", rate, "(0, 1)"), positive("mu", mu)
    choice("name", name, get_args(MethodName))
    slow = {"gd": r, "triple": r * r * (2.0 - r)}.get(name, r * r)
    return named_method(name, eta=slow / low, mu=low)


@typed
def best_method(
    rate: float,
    kappa: float,
    *,
    rho: float | None = None,
    epsilon: float | None = None,
    delta: float = 1e-5,
    L: float = 1.0,
    methods: Sequence[MethodName] = ("gd", "heavy-ball", "nesterov", "triple"),
    noises: Sequence[NoiseName] = ("white", "arma"),
    certify: bool = True,
) -> MethodTable:
    """Bounds of F - F* for every method with every kind of noise.

    Privacy is `rho`, zCDP, or (`epsilon`, `delta`), zero-out adjacency, for one pass; d = 1, clip_norm = 1. Noise is
    "white", or "arma", the best B = (1 - a z) / (1 - c z) found by Nelder and Mead. What diverges at this rate, or has
    no storage function, is in `left_out` with the reason. Raises `DomainError` for arguments outside their ranges, and
    where no method is left.
    """
    if (rho is None) == (epsilon is None):
        raise DomainError("rho", rho, "given, or else epsilon", "give one of rho and epsilon")
    spent = rho if epsilon is None else float(privacy.zcdp_of_gaussian(privacy.gaussian_mu(epsilon, delta)))
    budget, high = moderate("rho", spent), positive("L", L)
    mu = least_curvature(high, kappa)
    for kind in noises:
        choice("noises", kind, get_args(NoiseName))
    found, left_out = list[MethodBound](), list[tuple[str, str, str]]()
    for name in methods:
        method = method_of_rate(name, rate, mu)
        try:
            check_converges(method, mu, high)
        except DomainError as error:
            left_out += [(name, kind, str(error)) for kind in noises]
            continue
        for kind in noises:
            try:
                correlation = independent() if kind == "white" else _best_noise(method, budget, mu, high)
                noise = Noise(correlation=correlation, rho=budget)
                found.append(bound_method(noise, method, mu=mu, L=high, certify=certify))
            except AccuracyError as error:  # no storage function: it may diverge on the class
                left_out.append((name, kind, str(error)))
    if not found:
        raise DomainError(
            "rate", rate, "a rate at which one of the methods converges on the class", "take a smaller one"
        )
    return MethodTable(tuple(sorted(found, key=lambda one: float(one.value))), tuple(left_out))


def _best_noise(method: LinearMethod, rho: float, mu: float, L: float) -> ToeplitzCorrelation:
    """By the value of the storage program; zero and pole as logarithms of 1 - root. `AccuracyError` if none has one."""
    from scipy.optimize import minimize

    def correlation(logarithms: np.ndarray) -> HalfPowers:
        zero, pole = (1.0 - float(x) for x in np.exp(logarithms))
        return HalfPowers((zero, zero), (pole, pole), "arma")

    def value(logarithms: np.ndarray) -> float:
        if not np.all((np.log(NEAREST) < logarithms) & (logarithms < np.log(2.0 - NEAREST))):
            return np.inf
        noise = Noise(correlation=correlation(logarithms), rho=rho)
        try:
            return float(Problem(method, noise, mu, L, "f", None).bounded(SEARCHED, certify=False).value)
        except AccuracyError:
            return np.inf

    rate = max(method.rate(mu, L), NEAREST)
    simplex = np.log([[2.0 * rate, 0.5], [0.2, 0.5], [2.0 * rate, 0.9]])
    limits = {"xatol": np.inf, "fatol": CLOSE * value(simplex[0]), "maxfev": EVALUATIONS, "initial_simplex": simplex}
    found: Any = minimize(value, simplex[0], method="Nelder-Mead", options=limits)
    if not np.isfinite(found.fun):
        raise AccuracyError(f"{method.name}: no noise with one zero and one pole was found that has a storage function")
    return correlation(found.x)
