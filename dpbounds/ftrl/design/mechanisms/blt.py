"""Buffered linear Toeplitz: C = 1 + sum_i omega_i (phi_i^{t-1}), noise in memory of a few vectors.

With buffers b_i(0) = 0 the noise u = C^{-1} w runs as

    u_t = w_t - sum_i omega_i b_i(t),    b_i(t+1) = phi_i b_i(t) + u_t,

so that b(t+1) = A b(t) + 1 w_t with A = diag(phi) - 1 omega^T: the inverse is a BLT again, with the eigenvalues of A as
decays. It is stable (C is minimum phase) iff these lie inside the unit disc.

>>> Blt((0.5,), (0.25,)).inverse_coefficients(4).tolist()
[1.0, 0.25, 0.125, 0.0625]
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import typed
from dpbounds.arithmetic import FLOATS, Arithmetic
from dpbounds.circle.polynomials import Fraction, exact, in_sine
from dpbounds.errors import DomainError, listed, vector
from dpbounds.ftrl.correlations.base import ToeplitzCorrelation, decay_rates, horizon
from dpbounds.ftrl.design.gram import Chains
from dpbounds.ftrl.design.mechanisms.moments import buffered_noise_power
from dpbounds.values import Value

if TYPE_CHECKING:
    from dpbounds.ftrl.design.objective import Objective

# Steps whose weights one product of matrices gives.
STRIDE = 256
MOST_BUFFERS = 64


@typed
@dataclass(frozen=True)
class Blt(ToeplitzCorrelation):
    """C with c_0 = 1, c_t = sum_i output_scale_i buf_decay_i^{t-1}; the noise is B w, B = C^{-1}.

    Decays in [0, 1), scales of either sign. Raises `DomainError` for others, lengths that differ, and coefficients that
    are not minimum phase.
    """

    buf_decay: tuple[float, ...]
    output_scale: tuple[float, ...]
    label: str = ""

    def __post_init__(self) -> None:
        for name in ("buf_decay", "output_scale"):
            given = listed(name, getattr(self, name))
            object.__setattr__(self, name, tuple(vector(name, given).tolist()) if given else ())
        if len(self.buf_decay) != len(self.output_scale):
            raise DomainError("output_scale", f"{len(self.output_scale)} numbers", f"one per buffer, {self.buffers}")
        if self.buffers > MOST_BUFFERS:
            raise DomainError("buf_decay", f"{self.buffers} numbers", f"at most {MOST_BUFFERS} buffers")
        for decay in self.buf_decay:
            if not 0 <= decay < 1:
                raise DomainError("buf_decay", decay, "in the interval [0, 1)")
        radius = float(np.abs(np.linalg.eigvals(self.transition)).max(initial=0.0))
        if not radius < 1:
            raise DomainError(
                "output_scale",
                list(self.output_scale),
                "minimum phase (no zero of 1 + sum omega z / (1 - phi z) in the closed unit disc)",
                f"its noise grows like {radius:.6g}^t; take smaller scales",
            )

    @property
    def buffers(self) -> int:
        """How many vectors the noise keeps."""
        return len(self.buf_decay)

    @property
    def name(self) -> str:
        """What tables and plots call it."""
        return self.label or f"BLT ({self.buffers} buffers)"

    @property
    def transition(self) -> Float[np.ndarray, "m m"]:
        """A = diag(phi) - 1 omega^T."""
        return np.diag(self.buf_decay) - np.asarray(self.output_scale)[None, :] * np.ones((self.buffers, 1))

    def coefficients(self, T: int) -> Float[np.ndarray, " T"]:
        """beta_0 = 1, beta_t = -omega^T A^{t-1} 1."""
        return _impulse_response(self.transition, -np.asarray(self.output_scale), horizon(T))

    def inverse_coefficients(self, T: int) -> Float[np.ndarray, " T"]:
        """c_0 = 1, c_t = sum_i omega_i phi_i^{t-1}."""
        return _impulse_response(np.diag(self.buf_decay), np.asarray(self.output_scale), horizon(T))

    def inverse(self) -> Blt:
        """The BLT whose C is this one's B, where its decays are real and at least 0; `DomainError` elsewhere."""
        eigenvalues, vectors = np.linalg.eig(self.transition.T)
        decays, left = np.real(eigenvalues), np.real(vectors)
        if not (np.isreal(eigenvalues).all() and (decays >= 0).all()):
            raise DomainError("buf_decay", list(self.buf_decay), "such that the inverse has real decays in [0, 1)")
        # -omega^T A^{t-1} 1 with left eigenvectors v_i of A: 1 = sum_i (right eigenvectors) (v_i^T 1).
        right = np.linalg.inv(left).T
        scales = -(np.asarray(self.output_scale) @ right) * left.sum(axis=0)
        return Blt(tuple(decays.tolist()), tuple(scales.tolist()))

    @typed
    def spectral_density(self, m: Arithmetic, s: Any) -> Any:
        """|B|^2 = |P|^2 / |Q|^2 with P = prod (1 - phi_i z), Q = P C."""
        if m is FLOATS:
            return self.power_spectrum(2.0 * np.arcsin(np.sqrt(s)))
        return self._fraction.at(m.number(s))

    def power_spectrum(self, omega: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
        """1 / |1 + sum_i omega_i e^{i omega} / (1 - phi_i e^{i omega})|^2, digits kept for phi near 1."""
        omega = np.asarray(omega, dtype=float)
        z = np.exp(1j * omega)
        away = 2.0 * np.sin(omega / 2.0) ** 2 - 1j * np.sin(omega)  # 1 - z
        total = np.ones_like(z)
        for decay, scale in zip(self.buf_decay, self.output_scale, strict=True):
            total = total + scale * z / (away + (1.0 - decay) * z)
        return 1.0 / np.abs(total) ** 2

    @property
    def degree(self) -> int:
        """Number of buffers."""
        return max(1, self.buffers)

    @cached_property
    def _fraction(self) -> Fraction:
        from flint import fmpq_poly

        above = fmpq_poly([1])
        for decay in self.buf_decay:
            above *= fmpq_poly([1, -exact(decay)])
        below = above
        for i, scale in enumerate(self.output_scale):
            term = fmpq_poly([0, exact(scale)])
            for decay in (*self.buf_decay[:i], *self.buf_decay[i + 1 :]):
                term *= fmpq_poly([1, -exact(decay)])
            below = below + term
        return Fraction(numerator=_squared_modulus(above), denominator=_squared_modulus(below))

    def limiting_sensitivity(self) -> Value:
        """gamma_inf^2 = 1 + sum_ij omega_i omega_j / (1 - phi_i phi_j)."""
        import flint

        with flint.ctx.workprec(256):
            total = flint.arb(1)
            for first, left in zip(self.buf_decay, self.output_scale, strict=True):
                for second, right in zip(self.buf_decay, self.output_scale, strict=True):
                    total += flint.arb(left) * flint.arb(right) / (1 - flint.arb(first) * flint.arb(second))
            root = total.sqrt()
            low, high = float(root.lower()), float(root.upper())
        enclosure = (np.nextafter(low, 0.0), np.nextafter(high, np.inf))
        return Value(float(root), kind="exact", source="ftrl eq. (26)", enclosure=enclosure)

    def filtered_power(self, decay: Float[np.ndarray, " d"]) -> Float[np.ndarray, " d"]:
        """c(x) of a sum of exponentials: x (2 - x) times the stationary variance of theta <- (1 - x) theta + u, joint
        with that of the buffers.
        """
        x = decay_rates(decay)
        A, omega, m = self.transition, np.asarray(self.output_scale), self.buffers
        if m == 0:
            return np.ones_like(x)
        unit = np.ones(m)
        P = np.linalg.solve(np.eye(m * m) - np.kron(A, A), np.ones(m * m)).reshape(m, m)
        source = unit - A @ P @ omega  # E u b(t+1)
        variance = 1.0 + omega @ P @ omega
        power = np.empty_like(x)
        for index, rate in enumerate(x):
            # K = E theta(t+1) b(t+1) = (1 - x) A K + source.
            K = np.linalg.solve(np.eye(m) - (1.0 - rate) * A, source)
            power[index] = variance - 2.0 * (1.0 - rate) * (omega @ K)
        return power

    def noise_power(self, objective: Objective) -> float:
        """tr(G B B^T), exactly, by the joint second moments of buffers and iterate: O(T d buffers)."""
        ones = np.ones(objective.steps)
        return self.scaled_noise_power(objective.chains, before=ones, after=ones)

    def scaled_noise_power(
        self, chains: Chains, *, before: Float[np.ndarray, " T"], after: Float[np.ndarray, " T"]
    ) -> float:
        """tr(G B B^T) for this filter between two scalings: B = diag(after) L(beta) diag(before)."""
        outlet = np.asarray(self.output_scale, dtype=float)
        return buffered_noise_power(self.transition, outlet, chains, before=before, after=after)


def _impulse_response(transition: np.ndarray, outlet: np.ndarray, T: int) -> np.ndarray:
    """1 and outlet^T transition^{t-1} 1, a stride of steps per product of matrices."""
    response = np.zeros(T)
    response[0] = 1.0
    if len(outlet) == 0 or T == 1:
        return response
    stride = min(STRIDE, T - 1)
    rows = [outlet]
    for _ in range(stride - 1):
        rows.append(rows[-1] @ transition)
    observe, jump = np.array(rows), np.linalg.matrix_power(transition, stride)
    state = np.ones(len(outlet))
    for start in range(1, T, stride):
        part = response[start : start + stride]
        part[:] = (observe @ state)[: len(part)]
        state = jump @ state
    return response


def _squared_modulus(polynomial: Any) -> Any:
    """|p(e^{i omega})|^2 as a polynomial in s = sin^2(omega / 2)."""
    coefficients = polynomial.coeffs()
    lags = {
        lag: sum((a * b for a, b in zip(coefficients[lag:], coefficients, strict=False)), 0 * coefficients[0])
        * (2 if lag else 1)
        for lag in range(len(coefficients))
    }
    return in_sine(lags)
