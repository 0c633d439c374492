"""The frequency-domain programs that bound the stationary error for strongly convex losses.

F is mu-strongly convex and L-smooth, theta_{t+1} = theta_t - eta (grad F(theta_t) + noise), S the noise's spectrum per
direction summed over directions. With w = e^{i omega}, z = 1 - w, u = z - eta mu, v = z - eta L, every program bounds
F_inf = lim E F(theta_t) - F* by

    (1 / 2 pi) int S psi,   psi = eta^2 (|c|^2 - a b) / D,   D = 2 Re[c conj(u) v] - a |u|^2 - b |v|^2,

minimised over multipliers with D > 0 on the whole circle; c = Lambda + a. `f` (a = L/2, b = mu/2) comes from F - F* <=
a |p|^2 + 2 a <p, q> + b |q|^2 over (L - mu)^2 for p = grad F - mu theta, q = L theta - grad F; `theta` (a = b = L/2)
bounds (L/2) E |theta|^2; both add the integral quadratic constraint int 2 Re[Lambda conj(P) Q] >= 0 for Lambda =
lambda_0 - sum_{t != 0} lambda_t w^t, lambda_t >= 0, sum_{t != 0} lambda_t <= lambda_0 (Zames and Falb; multipliers here
are those of the paper times (L - mu)^2, and for `theta` times L / 2 besides). `causal` is `f` for draws that are
independent of the past, where a loss cannot know the noise that is to come (`dpbounds.ftrl.strongly_convex.causal`).
`paper` is ftrl eq. (10) with (90) as
printed: plus signs in Lambda, and the printed prefactor; it is not a bound.

>>> program = Program(name="f", mu=0.5, L=1.0, eta=1.0)
>>> program.a, program.b, squared_distance(np.array([np.pi]), 0.5).tolist()
(0.5, 0.25, [2.25])
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Float
from numpy.polynomial.legendre import leggauss

from dpbounds.arguments import typed
from dpbounds.arithmetic import Arithmetic
from dpbounds.errors import DomainError, choice, positive, within

ProgramName = Literal["causal", "f", "theta", "paper"]

# Doubles resolve nothing slower than this eta mu, and no larger L / mu than its inverse.
SLOWEST = 1e-12
# Nodes in a panel, growth of the panels towards higher frequencies, and the frequency up to which they grow.
PANEL, GROWTH, FINE = 16, 3.0, 0.15


@dataclass(frozen=True, kw_only=True)
class Program:
    """A program for given constants: 0 < mu <= L and 0 < eta < 2 / L.

    Raises `DomainError` outside, and for L outside [1e-50, 1e50], L / mu above 1e12 or eta mu below 1e-12, where
    floating point has too few digits.
    """

    name: ProgramName
    mu: float
    L: float
    eta: float

    def __post_init__(self) -> None:
        choice("program", self.name, get_args(ProgramName))
        for name in ("mu", "L", "eta"):
            object.__setattr__(self, name, positive(name, getattr(self, name)))
        if within("L", self.L, "[1e-50, 1e50]", "choose other units") < self.mu:
            raise DomainError("mu", self.mu, f"at most L = {self.L:g}")
        if self.mu < SLOWEST * self.L:
            raise DomainError("mu", self.mu, f"at least {SLOWEST:g} L = {SLOWEST * self.L:g}")
        if not self.eta * self.L < 2:
            raise DomainError("eta", self.eta, f"below 2 / L = {2 / self.L:g}", "gradient descent diverges above")
        if self.eta * self.mu < SLOWEST:
            raise DomainError("eta", self.eta, f"at least {SLOWEST:g} / mu = {SLOWEST / self.mu:g}")

    @property
    def kappa(self) -> float:
        """L / mu, the condition number."""
        return self.L / self.mu

    @property
    def of_f(self) -> bool:
        """Whether it starts from F - F* itself."""
        return self.name in ("causal", "f")

    @property
    def a(self) -> float:
        """Weight of |u|^2."""
        return self.L / 2.0

    @property
    def b(self) -> float:
        """Weight of |v|^2."""
        return self.mu / 2.0 if self.of_f else self.L / 2.0

    @property
    def slope(self) -> float:
        """Coefficient of |z|^2 in 2 a Re[conj(u) v] - a |u|^2 - b |v|^2, by |z - x|^2 = |z|^2 (1 - x) + x^2."""
        return (self.a - self.b) * (1.0 - self.eta * self.L)

    @property
    def level(self) -> float:
        """The rest of it, eta^2 ((a - b) L^2 - a (L - mu)^2) without cancellation."""
        gap = self.L - self.mu
        return self.eta**2 * self.L * gap * (self.mu if self.of_f else -gap) / 2.0

    @property
    def sign(self) -> int:
        """Sign of the multipliers at nonzero lags in Lambda."""
        return 1 if self.name == "paper" else -1

    @typed
    def prefactor(self, m: Arithmetic) -> Any:
        """Of the integral: ftrl eq. (10) as printed is 2 eta^2 times the program `theta` with its signs changed."""
        return 2 * m.number(self.eta) ** 2 if self.name == "paper" else m.number(1)


def least_curvature(L: float, kappa: float) -> float:
    """mu = L / kappa. Raises `DomainError` unless L > 0 and kappa >= 1."""
    if positive("kappa", kappa) < 1:
        raise DomainError("kappa", kappa, "a condition number of at least 1")
    return positive("L", L) / float(kappa)


@dataclass(frozen=True, kw_only=True, eq=False)
class Grid:
    """Frequencies in (0, pi) with weights that count both halves of the circle, graded towards 0."""

    omega: Float[np.ndarray, " nodes"]
    weights: Float[np.ndarray, " nodes"]

    @classmethod
    @lru_cache(maxsize=16)
    def graded(cls, program: Program, max_lag: int, least: int = 0, *, pieces: int = 1) -> Grid:
        """Gauss-Legendre panels: geometric from far below eta mu, then uniform and fine enough for `max_lag`; next to
        pi geometric again if 2 - eta L is small.

        At least `least` nodes, and every panel cut into `pieces`. The integrands change at eta mu, at pi - (2 - eta L)
        and, through the multipliers, over 1 / max_lag.
        """
        rest = 2.0 - program.eta * program.L
        low_edges, high_edges = _geometric(program.eta * program.mu), _geometric(rest) if rest < FINE else []
        start, end = low_edges[-1], np.pi - max(high_edges, default=0.0)
        panels = int(np.ceil((end - start) / min(0.3, 20.0 / (2 * max_lag + 8))))
        panels = max(panels, int(np.ceil(least / PANEL)) - len(low_edges))
        edges = [0.0, *low_edges, *np.linspace(start, end, panels + 1)[1:]]
        edges += [np.pi - edge for edge in high_edges[-2::-1]] + ([np.pi] if high_edges else [])
        if pieces > 1:
            edges = np.interp(np.arange(pieces * (len(edges) - 1) + 1) / pieces, np.arange(len(edges)), edges)
        points, weights = _panel()
        low, high = np.array(edges[:-1])[:, None], np.array(edges[1:])[:, None]
        half = (high - low) / 2.0
        grid = cls(omega=((low + high) / 2.0 + half * points).ravel(), weights=(2.0 * half * weights).ravel())
        grid.omega.flags.writeable = grid.weights.flags.writeable = False  # kept for the next call
        return grid

    @cached_property
    def s(self) -> Float[np.ndarray, " nodes"]:
        """sin^2(omega / 2)."""
        return np.sin(self.omega / 2.0) ** 2

    @cached_property
    def _quadratics(self) -> dict[Program, Quadratics]:
        return {}

    def quadratics(self, program: Program, max_lag: int) -> Quadratics:
        """`Quadratics.on` these frequencies: computed once for the most lags, fewer are its first columns."""
        known = self._quadratics.get(program)
        if known is None or known.max_lag < max_lag:
            known = self._quadratics[program] = Quadratics.on(program, self.omega, max_lag)
        return known if known.max_lag == max_lag else known.first(max_lag)

    def mean(self, values: Float[np.ndarray, " nodes"]) -> float:
        """(1 / 2 pi) int over the circle."""
        return float(self.weights @ values) / (2.0 * np.pi)

    @classmethod
    def uniform(cls, nodes: int) -> Grid:
        """The paper's: `nodes` equal steps of the circle from 0 on, folded to [0, pi]."""
        omega = np.arange(nodes // 2 + 1) * (2.0 * np.pi / nodes)
        weights = np.full(len(omega), 4.0 * np.pi / nodes)
        weights[0] /= 2.0
        if nodes % 2 == 0:
            weights[-1] /= 2.0
        return cls(omega=omega, weights=weights)


@cache
def _panel() -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre nodes and weights on [-1, 1]."""
    return leggauss(PANEL)


def _product(omega: Any, x: float, y: float) -> Any:
    """Re conj(z - x) (z - y) for z = 1 - e^{i omega}, without cancellation at 0 and, where x or y is near 2, at pi."""
    middle = (x + y) / 2.0
    if middle <= 1.0:
        return 4.0 * np.sin(omega / 2.0) ** 2 * (1.0 - middle) + x * y
    return 4.0 * np.cos(omega / 2.0) ** 2 * (middle - 1.0) + (2.0 - x) * (2.0 - y)


def squared_distance(omega: Float[np.ndarray, " n"], x: Any) -> Float[np.ndarray, "*shape n"]:
    """|1 - x - e^{i omega}|^2 for x in (0, 2), a number or a column of numbers."""
    if np.ndim(x) == 0:
        return _product(omega, float(x), float(x))
    column, low = np.asarray(x)[:, 0], np.asarray(x)[:, 0] <= 1.0
    found = np.empty((len(column), len(omega)))
    found[low] = np.multiply.outer(4.0 * (1.0 - column[low]), np.sin(omega / 2.0) ** 2)
    found[~low] = np.multiply.outer(4.0 * (column[~low] - 1.0), np.cos(omega / 2.0) ** 2)
    found += (np.where(low, column, 2.0 - column) ** 2)[:, None]
    return found


def _geometric(scale: float) -> list[float]:
    """Distances from an end of the circle, from far below a scale up to `FINE`."""
    first = min(1e-2 * scale, 1e-3)
    return (first * GROWTH ** np.arange(np.ceil(np.log(FINE / first) / np.log(GROWTH)))).tolist()


@dataclass(frozen=True, kw_only=True)
class Quadratics:
    """A program's D, |c|^2 - a b and psi on given frequencies, as functions of the multipliers.

    Multipliers are nonnegative numbers (margin, lambda_1, ..., lambda_T, lambda_{-1}, ..., lambda_{-T}) with margin =
    lambda_0 - sum_{t != 0} lambda_t. Re Lambda = margin + sum_t (lambda_t + lambda_{-t}) (1 -+ cos(t omega)) then adds
    up positive terms: at small eta mu the optimum has Re Lambda(0) far below lambda_0.
    """

    program: Program
    omega: np.ndarray
    cosines: np.ndarray
    sines: np.ndarray
    product_real: np.ndarray
    product_imag: np.ndarray
    constant: np.ndarray
    half: np.ndarray
    sine: np.ndarray

    @classmethod
    def on(cls, program: Program, omega: np.ndarray, max_lag: int) -> Quadratics:
        """The design: conj(u) v in real and imaginary part, and what of D does not depend on the multipliers."""
        mu, L, eta = program.mu, program.L, program.eta
        angles = np.outer(omega, np.arange(1, max_lag + 1))
        versines = 2.0 * (np.sin(angles / 2.0) if program.sign < 0 else np.cos(angles / 2.0)) ** 2
        half, sine = 2.0 * np.sin(omega / 2.0) ** 2, np.sin(omega)  # Re z = |z|^2 / 2 and Im z = -sin(omega)
        return cls(
            program=program,
            omega=omega,
            cosines=np.column_stack([np.ones_like(omega), versines]),
            sines=program.sign * np.sin(angles),
            product_real=_product(omega, eta * mu, eta * L),
            product_imag=-eta * (L - mu) * sine,
            constant=2.0 * half * program.slope + program.level,
            half=half,
            sine=sine,
        )

    @property
    def max_lag(self) -> int:
        """T."""
        return self.sines.shape[1]

    def first(self, max_lag: int) -> Quadratics:
        """The same with lags up to `max_lag` only."""
        cosines, sines = (np.ascontiguousarray(x) for x in (self.cosines[:, : max_lag + 1], self.sines[:, :max_lag]))
        return replace(self, cosines=cosines, sines=sines)

    def parts(self, multipliers: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Re Lambda, Im Lambda, |c|^2 - a b and D."""
        forward, backward = multipliers[1 : self.max_lag + 1], multipliers[self.max_lag + 1 :]
        real = self.cosines @ np.concatenate([multipliers[:1], forward + backward])
        imaginary = self.sines @ (forward - backward)
        a, b = self.program.a, self.program.b
        numerator = real * (real + 2.0 * a) + a * (a - b) + imaginary**2
        denominator = 2.0 * (self.product_real * real - self.product_imag * imaginary) + self.constant
        return real, imaginary, numerator, denominator

    def psi(self, multipliers: np.ndarray) -> np.ndarray:
        """psi, inf where D is not positive."""
        _, _, numerator, denominator = self.parts(multipliers)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(denominator > 0, self.program.eta**2 * numerator / denominator, np.inf)
