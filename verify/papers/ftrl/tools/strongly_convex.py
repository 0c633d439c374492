"""What the claims on strongly convex losses share: mechanisms, simulated losses, exact quadratics, symbols."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import sympy

from dpbounds.arithmetic import FLOATS
from dpbounds.ftrl import correlations
from dpbounds.ftrl.correlations import ToeplitzCorrelation
from dpbounds.ftrl.strongly_convex import Noise, Program, newton
from dpbounds.ftrl.strongly_convex.programs import Grid
from simulators.engine import Experiment
from simulators.ftrl import Loss, StronglyConvexLoss, stationary_settings, strongly_convex
from verify.checks import Case, Level

MECHANISMS = ("DP-SGD", "nu-DP-FTRL", "damped anti-PGD")
# rho = 1/2 makes N = G^2 gamma^2 / (2 rho) = gamma^2.
RHO = 0.5
# Curvatures among which the worst quadratic is sought.
CURVATURES = 200


def correlation_of(mechanism: str, eta: float, mu: float) -> ToeplitzCorrelation:
    """One of `MECHANISMS`, nu = eta mu where there is one."""
    if mechanism == "DP-SGD":
        return correlations.independent()
    return (correlations.nu if mechanism == "nu-DP-FTRL" else correlations.damped_anti_pgd)(eta * mu)


@dataclass(frozen=True)
class Distance:
    """A loss whose simulated value is |theta - theta*|^2."""

    loss: Loss

    @property
    def mu(self) -> float:
        """The loss's."""
        return self.loss.mu

    @property
    def L(self) -> float:
        """The loss's."""
        return self.loss.L

    @property
    def dimension(self) -> int:
        """The loss's."""
        return self.loss.dimension

    @property
    def minimiser(self) -> np.ndarray:
        """The loss's."""
        return self.loss.minimiser

    def suboptimality(self, theta: np.ndarray) -> np.ndarray:
        """|theta - theta*|^2."""
        return np.sum((theta - self.minimiser) ** 2, axis=-1)

    def gradient(self, theta: np.ndarray) -> np.ndarray:
        """The loss's."""
        return self.loss.gradient(theta)


def stationary_case(
    label: str,
    loss: Loss,
    correlation: ToeplitzCorrelation,
    eta: float,
    bound: Callable[[], float],
    *,
    sigma_sgd: float = 0.0,
    clip_norm: float = 1.0,
    forgotten: float = 6.0,
    averaged: float = 30.0,
    block_trials: int = 512,
    x: float = math.nan,
    group: str = "",
    level: Level = "quick",
) -> Case:
    """Time averages of F - F*, started at theta*, and what F_inf must not exceed.

    `stationary_settings` says what is left out and what is averaged, and that what remains of the start adds at most 2
    e^{-forgotten} of F_inf; long averages are hardly skewed, as the test of a mean wants them. Every F is admitted by
    Theorem 3.1 as r, with f linear in theta: f is Lipschitz, and its gradient is the noise.
    """
    settings = stationary_settings(
        loss, correlation, eta, RHO, clip_norm=clip_norm, forgotten=forgotten, averaged=averaged
    )
    problem = StronglyConvexLoss(loss=loss, sigma_sgd=sigma_sgd)
    return Case(
        label=label,
        experiment=Experiment(algorithm=strongly_convex, problem=problem, settings=settings, block_trials=block_trials),
        output="mean_loss",
        predicted=bound,
        relative_std=1.0,
        x=x,
        group=group,
        level=level,
    )


def worst_quadratic(
    correlation: ToeplitzCorrelation,
    mu: float,
    eta: float,
    *,
    L: float = 1.0,
    rho: float = RHO,
    d: int = 1,
    clip_norm: float = 1.0,
    sigma_sgd: float = 0.0,
) -> float:
    """Largest error among F = h |theta|^2 / 2, mu <= h <= L, eta h <= 1: in the time domain, ftrl Lemma C.4.

    E |theta|^2 = eta^2 (N c(x) + sigma_sgd^2) / (x (2 - x)), x = eta h, c(x) = sum_{t,s} beta_t beta_s (1 - x)^|t-s|,
    N = d clip_norm^2 gamma^2 / (2 rho).
    """
    x = np.minimum(eta * np.geomspace(mu, min(L, 1.0 / eta), CURVATURES), 1.0)
    power = d * (clip_norm * float(correlation.limiting_sensitivity())) ** 2 / (2 * rho)
    noise = power * correlation.filtered_power(x)
    return float(np.max(eta * (noise + sigma_sgd**2) / (2 * (2 - x))))


def program_value(program: Program, grid: Grid, correlation: ToeplitzCorrelation, max_lag: int) -> float:
    """The least value of a program on the nodes of a grid, d = G = 1, no gradient noise."""
    noise = Noise(correlation=correlation, rho=RHO)
    density = noise.density(np.sin(grid.omega / 2) ** 2, as_printed=program.name == "paper")
    return program.prefactor(FLOATS) * newton.solve(program, grid, density, max_lag).value


def complex_symbol(name: str) -> sympy.Expr:
    """A complex number in real and imaginary part."""
    real, imaginary = sympy.symbols(f"{name}_r {name}_i", real=True)
    return real + sympy.I * imaginary


def squared(number: sympy.Expr) -> sympy.Expr:
    """|number|^2."""
    return sympy.expand(number * sympy.conjugate(number))


def real_part(number: sympy.Expr) -> sympy.Expr:
    """Its real part."""
    return sympy.re(sympy.expand(number))


def inner_matrix(multiplier: sympy.Expr, mu: sympy.Expr, smooth: sympy.Expr) -> sympy.Matrix:
    """The matrix of ftrl (89c), d = 1."""
    other = sympy.conjugate(multiplier)
    crossed = mu * multiplier + smooth * other
    real = multiplier + other
    return sympy.Matrix([[-mu * smooth * real, crossed], [sympy.conjugate(crossed), -real]])


def hermitian(matrix: sympy.Matrix, first: sympy.Expr, second: sympy.Expr) -> sympy.Expr:
    """The form of a 2 x 2 matrix on (first, second)."""
    vector = sympy.Matrix([first, second])
    return (vector.H * matrix * vector)[0]
