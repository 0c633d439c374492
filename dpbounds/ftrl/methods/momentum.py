"""What momentum is proved to buy under correlated noise, at equal speed on the whole class.

Gradient descent with eta <= 1 / L contracts F - F* by (1 - r)^2 >= 1 - 2 r a step, r = eta mu. Nesterov's method with
eta <= 1 / L and its usual momentum has the rate 1 - q, q^2 = eta mu (Nesterov 2018, Section 2.2): at q = 2 r it is as
fast, as far as is proved. Compared are what gradient descent has with any noise, at the least, and Nesterov's method
with the best noise found, at the most.

>>> found = momentum_gain(0.01, 10.0)
>>> found is not None and found.gain > 4.5
True
"""

from __future__ import annotations

from dataclasses import dataclass

from dpbounds.arguments import typed
from dpbounds.arithmetic import balls
from dpbounds.errors import AccuracyError, DomainError, within
from dpbounds.ftrl.correlations import HalfPowers, independent
from dpbounds.ftrl.methods.bounds import MethodBound, bound_method
from dpbounds.ftrl.methods.choosing import best_noise, method_of_rate, step_of_rate
from dpbounds.ftrl.methods.problem import GradientNoise
from dpbounds.ftrl.strongly_convex.causal import least_error
from dpbounds.ftrl.strongly_convex.noise import Noise
from dpbounds.ftrl.strongly_convex.programs import least_curvature
from dpbounds.ftrl.strongly_convex.settings import StronglyConvex
from dpbounds.showing import rounded
from dpbounds.values import Value


@dataclass(frozen=True, kw_only=True, eq=False)
class MomentumGain:
    """`descent`, what no noise is below for gradient descent at `rate`; `nesterov`, the bound at twice the rate with
    its noise; both proved, at one budget, d = clip_norm = 1.
    """

    rate: float
    kappa: float
    descent: Value
    nesterov: MethodBound

    @property
    def gain(self) -> float:
        """The worst case of gradient descent with any noise over that of Nesterov's method, at least."""
        return float(self.descent) / float(self.nesterov.value)

    @property
    def sentence(self) -> str:
        """In words, with what is needed to run it."""
        noise = self.nesterov.noise.correlation
        if not isinstance(noise, HalfPowers):
            raise DomainError("nesterov", noise.name, "a bound with noise of one zero and one pole")
        zero, pole = (roots[0].real for roots in (noise.zeros, noise.poles))
        eta = step_of_rate("nesterov", 2.0 * self.rate, self.nesterov.mu)
        errors = "" if self.nesterov.gradient_noise is None else " and errors of gradients within one bound"
        return (
            f"Momentum under correlated noise, for every mu-strongly convex, L-smooth F, L / mu = {self.kappa:.4g}, in "
            f"the long run: gradient descent of rate r = {self.rate:.3g} has with any noise of one privacy{errors} at "
            f"least {rounded(self.gain, 'lower', 3):g} times the worst case of Nesterov's method with eta L = "
            f"{eta * self.nesterov.L:.3g}, momentum tuned to eta mu and noise (1 - {zero:.4g} z) / (1 - {pole:.4g} z), "
            "proved. That method has the rate 2 r on quadratics: on the class it is as fast as far as is proved. For "
            "heavy ball no such rate is known."
        )


@typed
def momentum_gain(rate: float, kappa: float, *, gradient_noise: GradientNoise | None = None) -> MomentumGain | None:
    """The comparison at a rate of the slowest quadratic; None where one of the two has no proved rate (eta > 1 / L), or
    where the bounds do not show that momentum pays. Raises `DomainError` unless 0 < rate < 1 and kappa > 1.

    `gradient_noise`: errors of the gradients of both, in units in which L and d clip_norm^2 / (2 rho) are 1
    (`GradientNoise.scaled`).
    """
    r, mu = within("rate", rate, "(0, 1)"), least_curvature(1.0, kappa)
    if not mu < 1.0:
        raise DomainError("kappa", kappa, "above 1", "one quadratic has its exact error: no bound is needed")
    if not (2.0 * r < 1.0 and step_of_rate("gd", r, mu) <= 1.0 and step_of_rate("nesterov", 2.0 * r, mu) <= 1.0):
        return None
    problem = StronglyConvex(mu=mu, L=1.0, eta=step_of_rate("gd", r, mu), rho=0.5)
    with balls() as m:
        eta, variance = m.number(problem.eta), m.number(_variance(gradient_noise))
        least = least_error(m, problem) + variance * eta / (2 * (2 - eta))
        low, high = float(least.lower()), float(least.upper())
    descent = Value(low, kind="lower", source="dpbounds, every noise", convention="F - F*", enclosure=(low, high))
    method = method_of_rate("nesterov", 2.0 * r, mu)
    try:
        noise = best_noise(Noise(correlation=independent(), rho=0.5), method, mu=mu, L=1.0)
        found = bound_method(noise, method, mu=mu, L=1.0, gradient_noise=gradient_noise)
    except AccuracyError:  # no bound was found
        return None
    gain = MomentumGain(rate=r, kappa=kappa, descent=descent, nesterov=found)
    return gain if gain.gain > 1.0 else None


def _variance(noise: GradientNoise | None) -> float:
    """Of errors that are independent of the state and allowed for |theta|^2 / 2, in units of L = 1."""
    return noise.variance if noise is not None and noise.co + noise.distance + noise.gradient >= 0 else 0.0
