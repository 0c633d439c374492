"""First-order methods as linear systems around the gradient.

A method is xi_{t+1} = A xi_t + B (grad F(y_t) + w_t), y_t = C xi_t, with the output x_t = O xi_t that is judged; every
coordinate of theta has its own copy of the state, and w_t is the noise. zeta = e^{i omega} is the forward shift: for
F = (h / 2) |theta|^2 the output is x = O (zeta - A - h B C)^{-1} B w.

The methods here keep the pair (iterate, last step) rather than two iterates: small steps then are small numbers, not
small differences.

>>> method = heavy_ball(eta=0.1, momentum=0.5)
>>> method.B.tolist(), round(method.rate(0.1, 1.0), 6)
([-0.1, -0.1], 0.020426)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from jaxtyping import Complex, Float

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, choice, count, positive, real, real_array, vector, within

# Largest state of a method, and curvatures between mu and L at which `rate` looks, equally far apart in the logarithm.
LARGEST_STATE, CURVATURES = 12, 200
# How exactly A and the outputs have to keep a constant iterate that sees no gradient, relative to their sizes.
FIXED = 1e-9


@typed
@dataclass(frozen=True, kw_only=True, eq=False)
class LinearMethod:
    """xi_{t+1} = A xi_t + B (grad F(y_t) + w_t), y_t = C xi_t, output x_t = O xi_t with O = `row`.

    - `A`: n x n; `B`, `C`, `row`: n numbers; `iterate`: the row that `output("x")` selects, by default `row`;
    - `name`: what tables call it.

    Raises `DomainError` for other shapes, entries that are not finite, n above 12, and unless there is a state xi with
    A xi = xi and C xi = O xi = 1: a method that stands still where the gradient is 0, and only there, with y and x
    both at that point.
    """

    A: Float[np.ndarray, "n n"]
    B: Float[np.ndarray, " n"]
    C: Float[np.ndarray, " n"]
    row: Float[np.ndarray, " n"]
    iterate: Float[np.ndarray, " n"] | None = None
    name: str = "method"

    def __post_init__(self) -> None:
        A = real_array("A", self.A)
        if A.ndim != 2 or A.shape[0] != A.shape[1] or A.size == 0:
            raise DomainError("A", f"an array of shape {A.shape}", "a square matrix")
        if count("the size of A", len(A), most=LARGEST_STATE) and not np.isfinite(A).all():
            raise DomainError("A", A.tolist(), "a matrix of finite numbers")
        object.__setattr__(self, "A", A)
        for name in ("B", "C", "row", "iterate"):
            given = getattr(self, name)
            found = vector(name, self.row if given is None else given)
            if len(found) != len(A):
                raise DomainError(name, f"{len(found)} numbers", f"{len(A)} numbers, the size of A")
            object.__setattr__(self, name, found)
        self._fixed_point()

    def _fixed_point(self) -> None:
        """Refuse what does not stand still at a point, or leaves it without a gradient, or does not see it."""
        n, ones = len(self.A), np.array([1.0, 1.0])
        system = np.vstack([self.A - np.eye(n), self.C, self.row])
        wanted = np.concatenate([np.zeros(n), ones])
        state = np.linalg.lstsq(system, wanted, rcond=None)[0]
        left = np.abs(system @ state - wanted)
        allowed = "a method with A xi = xi, C xi = row xi = 1 for some state xi"
        if not np.all(left <= FIXED * (1.0 + np.abs(system) @ np.abs(state))):
            raise DomainError("A, C, row", "matrices", allowed, "it must stand still at theta* where the gradient is 0")

    @property
    def gain(self) -> float:
        """G_1 = C B: how the point where the gradient is taken answers to the noise one step before."""
        return float(self.C @ self.B)

    @property
    def sees_output(self) -> bool:
        """Whether the gradient is taken at the output."""
        return bool(np.array_equal(self.C, self.row))

    def output(self, which: Literal["x", "y"]) -> LinearMethod:
        """The same method, judged at its iterate x or at the point y where the gradient is taken."""
        row = self.C if choice("which", which, ("x", "y")) == "y" else self.iterate
        return replace(self, row=row)

    def averaged(self, *, decay: float) -> LinearMethod:
        """Judged at the exponential average a_t = decay a_{t-1} + (1 - decay) x_t of the outputs, 0 < decay < 1."""
        a, n = within("decay", decay, "(0, 1)", "the average of m iterates forgets like decay = 1 - 1 / m"), len(self.A)
        A = np.zeros((n + 1, n + 1))
        A[:n, :n], A[n, :n], A[n, n] = self.A, (1.0 - a) * self.row, a
        extended = (np.concatenate([row, [0.0]]) for row in (self.B, self.C))
        return LinearMethod(
            A=A,
            **dict(zip("BC", extended, strict=True)),
            row=A[n],
            name=f"{self.name}, averaged ({a:g})",
        )

    def closed(self, h: float) -> Float[np.ndarray, "n n"]:
        """A + h B C: the method on F = (h / 2) |theta|^2."""
        return self.A + real("h", h) * np.outer(self.B, self.C)

    def transfer(self, h: float, omega: Float[np.ndarray, " frequencies"]) -> Complex[np.ndarray, " frequencies"]:
        """X / W at zeta = e^{i omega} on F = (h / 2) |theta|^2: O (zeta - A - h B C)^{-1} B."""
        zeta = np.exp(1j * vector("omega", omega))
        matrices = zeta[:, None, None] * np.eye(len(self.A)) - self.closed(h)
        return (
            np.linalg.solve(matrices, np.broadcast_to(self.B[:, None], (len(zeta), len(self.A), 1)))[..., 0] @ self.row
        )

    def rate(self, mu: float, L: float) -> float:
        """1 - the largest spectral radius of A + h B C over mu <= h <= L: how fast the slowest quadratic is forgotten.

        An estimate: the largest over 200 curvatures. Negative for a method that diverges at one of them.
        """
        low, high = positive("mu", mu), positive("L", L)
        if high < low:
            raise DomainError("mu", low, f"at most L = {high:g}")
        curvatures = np.geomspace(low, high, CURVATURES) if high > low else np.array([low])
        curvatures[0], curvatures[-1] = low, high
        loops = self.A + curvatures[:, None, None] * np.outer(self.B, self.C)
        return 1.0 - float(np.abs(np.linalg.eigvals(loops)).max())


@typed
def check_converges(method: LinearMethod, mu: float, L: float) -> None:
    """`DomainError` for a method that diverges on a quadratic with curvature from mu to L, as far as `rate` sees."""
    rate = method.rate(mu, L)
    if not rate > 0:
        allowed = "a method that converges on every quadratic with curvature from mu to L"
        raise DomainError(
            "method", f"{method.name}, of spectral radius {1.0 - rate:.6g}", allowed, "take smaller steps"
        )


def _two_steps(eta: float, b: float, g: float, d: float, name: str) -> LinearMethod:
    """xi' = xi + s', s' = b s - eta (grad + w), y = xi + g s, x = xi + d s: s is the last step of xi."""
    row = np.array([1.0, d])
    return LinearMethod(
        A=np.array([[1.0, b], [0.0, b]]), B=np.array([-eta, -eta]), C=np.array([1.0, g]), row=row, name=name
    )


@typed
def gradient_descent(*, eta: float) -> LinearMethod:
    """theta_{t+1} = theta_t - eta (grad F(theta_t) + w_t); `DomainError` unless eta > 0."""
    eta = positive("eta", eta)
    one = np.array([1.0])
    return LinearMethod(A=np.array([[1.0]]), B=-eta * one, C=one, row=one, name="gradient descent")


@typed
def heavy_ball(*, eta: float, momentum: float) -> LinearMethod:
    """theta_{t+1} = theta_t + b (theta_t - theta_{t-1}) - eta (grad F(theta_t) + w_t), b = `momentum` in [0, 1)."""
    return _two_steps(positive("eta", eta), within("momentum", momentum, "[0, 1)"), 0.0, 0.0, "heavy ball")


@typed
def nesterov(*, eta: float, momentum: float) -> LinearMethod:
    """y_t = theta_t + b (theta_t - theta_{t-1}), theta_{t+1} = y_t - eta (grad F(y_t) + w_t), judged at theta.

    b = `momentum` in [0, 1). `output("y")` judges the point where the gradient is taken.
    """
    b = within("momentum", momentum, "[0, 1)")
    return _two_steps(positive("eta", eta), b, b, 0.0, "Nesterov")


@typed
def triple_momentum(*, eta: float, b: float, g: float, d: float) -> LinearMethod:
    """xi_{t+1} = xi_t + b s_t - eta (grad F(y_t) + w_t), y_t = xi_t + g s_t, judged at x_t = xi_t + d s_t, for s_t =
    xi_t - xi_{t-1} and b in [0, 1) (Van Scoy, Freeman and Lynch 2018).
    """
    return _two_steps(positive("eta", eta), within("b", b, "[0, 1)"), real("g", g), real("d", d), "triple momentum")


def standard_triple_momentum(mu: float, L: float) -> LinearMethod:
    """`triple_momentum` with its authors' parameters: rho = 1 - (mu / L)^{1/2}, eta = (1 + rho) / L, b = rho^2 / (2 -
    rho), g = rho^2 / ((1 + rho) (2 - rho)), d = rho^2 / (1 - rho^2). Raises `DomainError` unless 0 < mu < L.
    """
    low, high = positive("mu", mu), positive("L", L)
    if not low < high:
        raise DomainError("mu", low, f"below L = {high:g}", "for mu = L take gradient descent with eta = 1 / L")
    rho = 1.0 - math.sqrt(low / high)
    square = rho * rho
    return triple_momentum(
        eta=(1.0 + rho) / high,
        b=square / (2.0 - rho),
        g=square / ((1.0 + rho) * (2.0 - rho)),
        d=square / (1.0 - square),
    )


MethodName = Literal["gd", "heavy-ball", "nesterov", "triple"]


def named_method(name: MethodName, *, eta: float, mu: float, momentum: float | None = None) -> LinearMethod:
    """A method by name at the step eta, with `momentum` or, without it, the usual one for the curvature mu.

    Heavy ball: (1 - (eta mu)^{1/2})^2, critical damping at mu. Nesterov: (1 - (eta mu)^{1/2}) / (1 + (eta mu)^{1/2}).
    Triple momentum: the standard one for the L with (1 + rho) / L = eta, so that it takes no other momentum; nor does
    gradient descent. Raises `DomainError` for a momentum that is not taken, and unless 0 < eta mu < 1.
    """
    choice("name", name, get_args(MethodName))
    slow = positive("eta", eta) * positive("mu", mu)
    if not slow < 1:
        raise DomainError("eta", eta, f"below 1 / mu = {1 / mu:g}")
    if name in ("gd", "triple"):
        if momentum is not None:
            raise DomainError("momentum", momentum, f"left out for {name}", "it belongs to heavy-ball and nesterov")
        return gradient_descent(eta=eta) if name == "gd" else _triple_at(eta, mu)
    root = math.sqrt(slow)
    if name == "heavy-ball":
        return heavy_ball(eta=eta, momentum=(1.0 - root) ** 2 if momentum is None else momentum)
    return nesterov(eta=eta, momentum=(1.0 - root) / (1.0 + root) if momentum is None else momentum)


def _triple_at(eta: float, mu: float) -> LinearMethod:
    """rho = 1 - (mu eta / (1 + rho))^{1/2}, whose right side moves by less than half as much as rho."""
    rho = 1.0
    for _ in range(60):
        rho = 1.0 - math.sqrt(mu * eta / (1.0 + rho))
    return standard_triple_momentum(mu, (1.0 + rho) / eta)
