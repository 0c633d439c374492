"""Appendix C.2, parts 1 and 2: Noisy-FTRL as a sum of linear time-invariant systems, and their transfer functions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import sympy

from verify.checks import Agreement, Fact, Symbolic
from verify.statements.claims import Claim
from verify.statements.derivations import Derivation

# --- Property C.7: the decomposition ---


def _induction(sign: int = 1) -> Iterator[tuple[str, sympy.MatrixBase]]:
    """One step of (36), d = 2, m = 0 ... 3: the parts after it add up to the step (30) of their sum before it."""
    x, noise = sympy.Matrix(sympy.symbols("x0:2")), sympy.Matrix(sympy.symbols("n0:2"))
    eta, xi, h = sympy.symbols("eta xi h")
    H, X = sympy.Matrix([[2, h], [h, 1]]), x * x.T
    fresh = eta * xi * x - eta * noise
    parts = [sympy.Matrix(sympy.symbols(f"p{r}_0:2")) for r in range(4)]
    delta = sympy.Matrix(sympy.symbols("d0:2"))
    for m in range(4):
        after = [(sympy.eye(2) - eta * H) * parts[0] + fresh]
        for r in range(1, m + 1):
            after.append((sympy.eye(2) - eta * H) * parts[r] + sign * eta * (H - X) * parts[r - 1])
        remainder = (sympy.eye(2) - eta * X) * delta + sign * eta * (H - X) * parts[m]
        total = sum(parts[1 : m + 1], parts[0]) + delta
        yield f"m = {m}", sum(after[1:], after[0]) + remainder - (sympy.eye(2) - eta * X) * total - fresh


PROP_C_7 = Claim(
    id="ftrl/prop-c.7",
    where="App. C.2.1, Property C.7",
    page=23,
    kind="identity",
    statement=(
        "The sequences of (36), which replace $x_t x_t^top$ by $H$ and feed the difference into the next one, give "
        "$theta'_t = sum_(r <= m) theta^((r))_t + delta^((m))_t$."
    ),
    hypotheses="Started from $theta^((0)) = theta'$ and 0 otherwise.",
    checks=(Symbolic(residuals=_induction, impostors={"sign of H - x x^T": {"residuals": {"sign": -1}}}),),
)

# --- Property C.8 ---


def _steady_state(sign: int = -1) -> Iterator[tuple[str, sympy.MatrixBase]]:
    """u_t = e^{i omega t} e_j gives z_t = e^{i omega t} G e_j; w = e^{i omega}, any symmetric 2 x 2 matrix H."""
    w, eta, a, b, c = sympy.symbols("w eta a b c")
    H = sympy.Matrix([[a, b], [b, c]])
    G = sign * eta * ((1 - w) * sympy.eye(2) - eta * H).inv()
    yield "G e^{i omega} - (I - eta H) G - eta I", w * G - (sympy.eye(2) - eta * H) * G - eta * sympy.eye(2)
    value = sympy.Symbol("lambda")
    gain = sign * eta / ((1 - w) - eta * value)
    yield "in the direction of an eigenvalue", sympy.Matrix([w * gain - (1 - eta * value) * gain - eta])


def _response(H: np.ndarray, eta: float, push: np.ndarray, omega: float) -> np.ndarray:
    """sum_t z_t e^{-i omega t} of z_{t+1} = (I - eta H) z_t + push_t from z_0 = 0, as App. F.1 transforms."""
    z, total = np.zeros(len(H)), np.zeros(len(H), dtype=complex)
    for t in range(1, 3000):
        z = z - eta * H @ z + (push[t - 1] if t <= len(push) else 0.0)
        total += np.exp(-1j * omega * t) * z
    return total


def _complex(label: str, observed: np.ndarray, printed: np.ndarray) -> Fact:
    """Real parts, then imaginary parts."""
    seen, stated = (np.concatenate([np.real(part).ravel(), np.imag(part).ravel()]) for part in (observed, printed))
    return Fact(label, seen, stated, 1e-10)


def _impulse_in_data(rng: np.random.Generator, sign: int = 1) -> Iterator[Fact]:
    """Response to a unit impulse in each component of u, and decay from a unit vector without input."""
    for H, eta in ((np.array([[1.0]]), 0.5), (np.array([[1.0, 0.3], [0.3, 0.4]]), 0.8)):
        for omega in (0.0, 1.0, -2.5):
            d = len(H)
            printed = -eta * np.linalg.inv((1 - np.exp(sign * 1j * omega)) * np.eye(d) - eta * H)
            columns = [_response(H, eta, eta * np.eye(d)[j][None], omega) for j in range(d)]
            yield _complex(f"G({omega:g}), d = {d}, eta = {eta}", np.array(columns).T, printed)
        decay = np.linalg.matrix_power(np.eye(len(H)) - eta * H, 3000)
        yield Fact(f"state after 3000 steps without input, d = {len(H)}", np.abs(decay).max(), 0.0, 1e-12)


PROP_C_8 = Claim(
    id="ftrl/prop-c.8",
    where="App. C.2.2, Property C.8",
    page=24,
    kind="identity",
    statement=(
        "$z_(t+1) = (I - eta H) z_t + eta u_t$ has the transfer function $-eta M_omega = -eta ((1 - e^(i omega)) I - "
        "eta H)^(-1)$ and is asymptotically stable."
    ),
    hypotheses="$0 prec eta H prec I$; transforms $sum_t z_t e^(-i omega t)$ as in App. F.1.",
    checks=(
        Symbolic(residuals=_steady_state, impostors={"+ eta M": {"residuals": {"sign": 1}}}),
        Agreement(facts=_impulse_in_data, impostors={"e^(-i omega) in M": {"facts": {"sign": -1}}}, role="control"),
    ),
    derivation=Derivation(
        text=(
            "For $u_t = e^(i omega t) v$ the recursion keeps $z_t = e^(i omega t) G v$ if $(e^(i omega) I - (I - eta "
            "H)) G = eta I$, which is $G = -eta M_omega$: in every dimension, since it is in each direction of an "
            "eigenbasis of $H$, and for any matrix of two. With $0 prec eta H prec I$ all eigenvalues of $I - eta H$ "
            "lie in $(0, 1)$: without input $z_t = (I - eta H)^t z_0 -> 0$."
        ),
        lemmas=("spectral theorem",),
    ),
)

# --- Property C.9 ---


def _impulse_in_noise(rng: np.random.Generator, sign: int = -1) -> Iterator[Fact]:
    """Response to a unit impulse in w, with B(omega) = sum_t beta_t e^{sign i omega t} in the printed G'."""
    H, eta, omega = np.array([[1.0]]), 0.5, np.pi / 2
    yield _noise_gain("d = 1, lambda = 1, eta = 1/2, beta = (1, 1)", H, eta, np.array([1.0, 1.0]), omega, sign)
    for beta in (np.array([1.0, -0.5, 0.25]), rng.standard_normal(5)):
        H = np.array([[1.0, 0.3], [0.3, 0.4]])
        yield _noise_gain(f"d = 2, {len(beta)} weights", H, 0.8, beta, 1.0, sign)


def _noise_gain(label: str, H: np.ndarray, eta: float, beta: np.ndarray, omega: float, sign: int) -> Fact:
    d = len(H)
    B = np.sum(beta * np.exp(sign * 1j * omega * np.arange(len(beta))))
    printed = eta * B * np.linalg.inv((1 - np.exp(1j * omega)) * np.eye(d) - eta * H)
    columns = [_response(H, eta, -eta * np.outer(beta, np.eye(d)[j]), omega) for j in range(d)]
    return _complex(f"G'({omega:.4g}), {label}", np.array(columns).T, printed)


def _steady_noise(sign: int = -1) -> Iterator[tuple[str, sympy.Expr, sympy.Expr]]:
    """w_t = e^{i omega t} gives z_t = e^{i omega t} G'; w = e^{i omega}, four weights, one direction."""
    w, eta, value = sympy.symbols("w eta lambda")
    beta = sympy.symbols("b0:4")
    spectrum = sum((b * w ** (sign * k) for k, b in enumerate(beta)), sympy.Integer(0))
    gain = eta * spectrum / (1 - w - eta * value)
    pushed = sum((b / w**k for k, b in enumerate(beta)), sympy.Integer(0))
    yield "$e^(i omega) G'$", w * gain, (1 - eta * value) * gain - eta * pushed


STEADY_NOISE = Symbolic(residuals=_steady_noise, impostors={"the sign of (27)": {"residuals": {"sign": 1}}})

PROP_C_9 = Claim(
    id="ftrl/prop-c.9",
    where="App. C.2.2, Property C.9",
    page=24,
    kind="identity",
    statement=(
        "With the further input $-eta sum_tau beta_tau w_(t - tau)$ the transfer function is $[-eta M_omega, eta "
        "B(omega) M_omega]$."
    ),
    hypotheses="As Property C.8.",
    remark=(
        "With $B(omega) = sum_t beta_t e^(-i omega t)$, the transform of App. F.1 to which $M_omega$ belongs; (27) has "
        "the other sign, with which $overline(B(omega))$ stands in its place. Only $abs(B)^2$ is used later."
    ),
    checks=(
        Symbolic(residuals=_steady_state, impostors={"+ eta M": {"residuals": {"sign": 1}}}),
        STEADY_NOISE,
        Agreement(facts=_impulse_in_noise, impostors={"the sign of (27)": {"facts": {"sign": 1}}}, role="control"),
    ),
    derivation=Derivation(
        text=(
            "For $w_t = e^(i omega t) v$ the further input is $-eta e^(i omega t) B(omega) v$, $B(omega) = sum_tau "
            "beta_tau e^(-i omega tau)$, which is $u_t = -B(omega) e^(i omega t) v$ in Property C.8: $z_t = e^(i omega "
            "t) eta B(omega) M_omega v$, in each direction of an eigenbasis of $H$ (second check, four weights)."
        ),
        lemmas=("spectral theorem", "linearity"),
    ),
)
