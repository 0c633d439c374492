"""Appendix E, the steps of the proof of Theorem E.1: multiplier inequality, change of variables, spectrum of the noise.

theta* = 0 throughout. Transforms are X(omega) = sum_t x_t e^{-i omega t}: with the other sign (92) would have e^{-i
omega}.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import sympy

from verify.checks import Agreement, Fact, Search, Symbolic
from verify.claims import Claim, Correction
from verify.domains import Real, Whole
from verify.ftrl.claims.strongly_convex_runs import complex_symbol, real_part

# --- (91): the multiplier inequality ---

L = 2.0
POINTS, KNOT = 4, 0.5
# More than twice the longest difference of times plus the longest lag: sums over these frequencies are integrals.
FREQUENCIES = 16
LAGS = np.array([-2, -1, 1, 2])
# sum_k a_k a_k^T = I: the Hessian of sum_k |a_k|^2 F_k(<a_k, theta> / |a_k|) is between mu I and L I.
ANGLES = 2 * np.pi / 3 * np.arange(3)
DIRECTIONS = np.sqrt(2 / 3) * np.stack([np.cos(ANGLES), np.sin(ANGLES)], axis=1)


def _least_form(rng: np.random.Generator) -> Iterator[Fact]:
    """Sequences of one and of two whole numbers, the smallest first: the first that makes (91) negative.

    F = theta^2 / 2 for theta > 0 and theta^2 for theta < 0, so mu = 1 and L = 2; lambda_1 = lambda_-1 = lambda_0 / 2.
    """
    for points in (1, 2):
        thetas = sorted(itertools.product((-2, -1, 1, 2), repeat=points), key=_size)
        first = next((theta for theta in thetas if _by_hand(theta) < 0), thetas[0])
        where = f"mu = 1, L = 2, theta = {first}, g = {tuple(map(_kinked, first))}, lambda_1 = lambda_-1 = 1/2"
        yield Fact(f"{where}: integral / (2 pi), or 0 if it is not negative", min(_by_hand(first), 0), 0, 0)


def _size(theta: Sequence[int]) -> tuple[int, int]:
    return sum(map(abs, theta)), -theta[0]


def _kinked(theta: int) -> int:
    return theta if theta > 0 else 2 * theta


def _by_hand(theta: Sequence[int]) -> int:
    """(91) over 2 pi for Lambda = 1 + cos(omega): the matrix at 1 on theta and g at times t and t, and t and t + 1."""
    gradient = [_kinked(x) for x in theta]
    total = 0
    for lag in (0, 1):
        for t in range(len(theta) - lag):
            x, y, g, h = theta[t], theta[t + lag], gradient[t], gradient[t + lag]
            total += -4 * x * y + 3 * (x * h + y * g) - 2 * g * h
    return total


def _profile(x: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """Integral from 0 to x of a slope that is constant between the knots -1/2, 0 and 1/2; slopes of shape (n, 4)."""
    first, second, third, fourth = np.moveaxis(slopes[:, None, :], -1, 0)
    right = third * np.clip(x, 0.0, KNOT) + fourth * np.maximum(x - KNOT, 0.0)
    left = second * np.clip(-x, 0.0, KNOT) + first * np.maximum(-x - KNOT, 0.0)
    return right - left


def _gradients(mu: np.ndarray, theta: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """grad F at theta of shape (n, POINTS, 2)."""
    total = mu[:, None, None] * theta
    shares = slopes.reshape(len(slopes), len(DIRECTIONS), 4)
    for direction, share in zip(DIRECTIONS, np.moveaxis(shares, 1, 0), strict=True):
        length = np.linalg.norm(direction)
        along = _profile(theta @ direction / length, share) * length
        total = total + (L - mu[:, None, None]) * along[..., None] * direction
    return total


def _form(mu: np.ndarray, multiplier: np.ndarray, theta: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """(1 / 2 pi) times the integral in (91), its matrix entry by entry."""
    first, second = (np.fft.fft(x, FREQUENCIES, axis=1) for x in (theta, gradient))
    mu = mu[:, None]
    real = 2 * np.real(multiplier)
    crossed = np.real((mu * multiplier + L * np.conj(multiplier)) * np.sum(first.conj() * second, axis=-1))
    squares = [np.sum(np.abs(x) ** 2, axis=-1) for x in (first, second)]
    return np.mean(-mu * L * real * squares[0] + 2 * crossed - real * squares[1], axis=1)


def _constraint(
    mu: np.ndarray, theta: np.ndarray, slopes: np.ndarray, lags: np.ndarray, *, sign: int = -1, most: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """(91) for Lambda = 1 + `sign` times the other lags, whose sum is at most `most`: minus those lags' part, and the
    rest.
    """
    sequence = theta.reshape(len(mu), POINTS, 2)
    gradient = _gradients(mu, sequence, slopes)
    weights = most * lags / np.maximum(lags.sum(axis=1, keepdims=True), 1.0)
    waves = np.exp(-2j * np.pi * np.outer(LAGS, np.arange(FREQUENCIES)) / FREQUENCIES)
    alone = np.ones((len(mu), FREQUENCIES))
    return -_form(mu, sign * (weights @ waves), sequence, gradient), _form(mu, alone, sequence, gradient)


SEQUENCES = {
    "mu": Real(0.02, 1.9, "log"),
    "theta": (Real(-2.0, 2.0), POINTS * 2),
    "slopes": (Real(0.0, 1.0), 4 * len(DIRECTIONS)),
    "lags": (Real(0.0, 1.0), len(LAGS)),
}


def _tight() -> Iterator[dict[str, Any]]:
    """An equality: curvature L up to theta = (0, 1 / sqrt(3)), mu from there on; twice that point, then the point.

    There q = 0 at the second point and p is the same at both, so <p_1, q_1> + <p_2, q_2> = <p_2, q_1>.
    """
    at = KNOT / np.sin(ANGLES[1])
    slopes = np.array([[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 0.0]])
    path = np.array([[0.0, 2 * at], [0.0, at], [0.0, 0.0], [0.0, 0.0]])
    yield {"mu": 0.5, "theta": path.ravel(), "slopes": slopes.ravel(), "lags": np.array([0.0, 0.0, 1.0, 0.0])}


def _zames_falb(slip: int = 0) -> Iterator[tuple[str, sympy.Expr]]:
    """phi = F - F* - mu |theta|^2 / 2 is convex and l-smooth, l = L - mu, with gradient p = g - mu theta.

    So phi_s >= phi_t + <p_t, theta_s - theta_t> + |p_s - p_t|^2 / (2 l). With q = L theta - g = l theta - p this is
    <p_t, q_t - q_s> >= h_t - h_s for h = l phi - |p|^2 / 2; summed over all t with s = t - tau the right side is 0. Lag
    tau adds lambda_tau (<p_t, q_t> - <p_t, q_{t - tau}>) >= 0, and what is left of lambda_0 adds <p_t, q_t> >= 0: s at
    theta*, and phi >= |p|^2 / (2 l).
    """
    ell = sympy.Symbol("l", positive=True)
    phi_s, phi_t, p_s, p_t, theta_s, theta_t = sympy.symbols("phi_s phi_t p_s p_t theta_s theta_t", real=True)
    q_s, q_t = ell * theta_s - p_s, ell * theta_t - p_t
    interpolation = phi_s - phi_t - p_t * (theta_s - theta_t) - (p_s - p_t) ** 2 / (2 * ell)
    h_s, h_t = (ell * phi - p**2 / 2 for phi, p in ((phi_s, p_s), (phi_t, p_t)))
    yield "two points", p_t * (q_t - q_s) - (h_t - h_s) - ell * interpolation
    at_minimum = interpolation.subs({phi_s: 0, p_s: 0, theta_s: 0})
    yield "one point", p_t * q_t - ell * at_minimum - (ell * phi_t - p_t**2 / 2)
    theta, gradient, multiplier = complex_symbol("Theta"), complex_symbol("G"), complex_symbol("Lambda")
    mu, smooth = sympy.symbols("mu L", positive=True)
    p, q = gradient - mu * theta, smooth * theta - gradient
    product = 2 * (1 + slip) * real_part(multiplier * sympy.conjugate(p) * q)
    yield "the form of (91) is 2 Re[Lambda P* Q]", product - _hermitian(_inner(multiplier, mu, smooth), theta, gradient)


# --- (92): from gradients to noise ---


def _inner(multiplier: sympy.Expr, mu: sympy.Expr, smooth: sympy.Expr) -> sympy.Matrix:
    """The matrix (89c), d = 1."""
    other = sympy.conjugate(multiplier)
    crossed = mu * multiplier + smooth * other
    real = multiplier + other
    return sympy.Matrix([[-mu * smooth * real, crossed], [sympy.conjugate(crossed), -real]])


def _hermitian(matrix: sympy.Matrix, first: sympy.Expr, second: sympy.Expr) -> sympy.Expr:
    vector = sympy.Matrix([first, second])
    return (vector.H * matrix * vector)[0]


def _to_noise(advance: int = 1, power: int = 2) -> Iterator[tuple[str, sympy.Expr]]:
    """A sequence of three points and the noise that drives it; then the two forms for any Theta, Z and Lambda.

    `advance` is the sign of the exponent in e^{i omega}, `power` that of eta in front of (91).
    """
    eta, mu, smooth = sympy.symbols("eta mu L", positive=True)
    wave = sympy.Symbol("w", nonzero=True)
    thetas, gradients = ([0, *sympy.symbols(f"{name}_0:3", real=True), 0] for name in ("theta", "g"))
    noise = [(now - then) / eta - g for now, then, g in zip(thetas, thetas[1:], gradients, strict=False)]
    transforms = [sum(x * wave ** (1 - t) for t, x in enumerate(values)) for values in (thetas, gradients, noise)]
    yield "G", transforms[1] - ((1 - wave**advance) / eta * transforms[0] - transforms[2])
    theta, drive, multiplier, w = (complex_symbol(name) for name in ("Theta", "Z", "Lambda", "w"))
    outer = sympy.Matrix([[eta, 0], [1 - w, -eta]])
    inner = _inner(multiplier, mu, smooth)
    printed = _hermitian(outer.H * inner * outer, theta, drive)
    yield "M_lambda", printed - eta**power * _hermitian(inner, theta, (1 - w) / eta * theta - drive)


# --- the spectrum of the noise ---


def _printed_spectrum(
    clip_norm: np.ndarray, rho: np.ndarray, d: np.ndarray, sigma_sgd: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Exact and printed for B = 1: independent draws of variance G^2 / (2 rho) per coordinate, |w^| = sigma_sgd."""
    return d * clip_norm**2 / (2 * rho) + sigma_sgd**2, 2 * d * (1 / rho + sigma_sgd**2)


def _paths(d: int, steps: int) -> Iterator[tuple[list[list[Fraction]], list[Fraction]]]:
    """All equally likely runs: zeta_t = w_t - w_{t-1} / 2 + w^_t and |w^_t|^2 of every step.

    Draws +-1; gradient errors of size 1 / (1 + theta_1^2) along a random signed axis; F kinked with curvatures 1 and 2,
    eta = 1/2.
    """
    axes = [tuple(Fraction(sign) if i == j else Fraction(0) for j in range(d)) for i in range(d) for sign in (1, -1)]
    choices = list(itertools.product(itertools.product((Fraction(1), Fraction(-1)), repeat=d), axes))
    for path in itertools.product(choices, repeat=steps):
        theta, before = [Fraction(1, 3)] * d, [Fraction(0)] * d
        noises, squares = [], []
        for draw, axis in path:
            size = 1 / (1 + theta[0] ** 2)
            zeta = [w - b / 2 + size * a for w, b, a in zip(draw, before, axis, strict=True)]
            noises.append(zeta)
            squares.append(size**2)
            theta = [x - ((1 if x > 0 else 2) * x + z) / 2 for x, z in zip(theta, zeta, strict=True)]
            before = list(draw)
        yield noises, squares


def _spectrum_facts(rng: np.random.Generator, *, doubled: int = 1, per_coordinate: bool = False) -> Iterator[Fact]:
    """E <zeta_s, zeta_t>, the transform of the spectrum summed over directions, by enumeration in fractions.

    Against d sum_tau beta_{s-tau} beta_{t-tau} + E |w^_t|^2 [s = t].
    """
    beta = [Fraction(1), Fraction(-1, 2)]
    for d, steps in ((1, 4), (2, 2)):
        runs = list(_paths(d, steps))
        for s, t in itertools.combinations_with_replacement(range(steps), 2):
            products = [_dot(noises[s], noises[t]) for noises, _ in runs]
            lagged = [beta[s - k] * beta[t - k] for k in range(steps) if 0 <= s - k < 2 and 0 <= t - k < 2]
            errors = Fraction(sum(squares[t] for _, squares in runs), len(runs)) if s == t else Fraction(0)
            stated = doubled * (d * sum(lagged, Fraction(0)) + errors * (d if per_coordinate else 1))
            yield Fact(f"E <zeta_{s}, zeta_{t}>, d = {d}", Fraction(sum(products), len(runs)), stated, 0)
            yield Fact(f"E |w^_{t}|^2 <= 1, d = {d}", bool(errors <= 1), True, 0)


def _dot(first: Sequence[Fraction], second: Sequence[Fraction]) -> Fraction:
    return sum((x * y for x, y in zip(first, second, strict=True)), Fraction(0))


CLAIMS = (
    Claim(
        id="ftrl/eq-91",
        where="App. E, (91)",
        kind="inequality",
        statement=(
            "For $g = nabla F(theta)$ and multipliers $lambda_t >= 0$ with $sum_t lambda_t <= 2 lambda_0$, $integral "
            "vec(Theta, G)^* tilde(M)_lambda vec(Theta, G) dif omega >= 0$."
        ),
        hypotheses="$Lambda = sum_t lambda_t e^(-i omega t)$, $theta^star = 0$, sequences of finite energy.",
        checks=(Agreement(facts=_least_form),),
        correction=Correction(
            statement=(
                "for $Lambda = lambda_0 - sum_(t != 0) lambda_t e^(-i omega t)$: the multipliers at other lags enter "
                "with a minus sign (Zames and Falb). Plus signs need an even $F$. The counterexample by hand: $F = "
                "theta^2$ for $theta < 0$ and $theta^2 \\/ 2$ for $theta > 0$, $theta = (1, -1)$, $g = (1, -2)$, "
                "$lambda_0 = 1$, $lambda_1 = lambda_(-1) = 1 \\/ 2$; the integral over $2 pi$ is $-1$."
            ),
            checks=(
                Symbolic(
                    residuals=_zames_falb,
                    impostors={"twice the form": {"residuals": lambda: _zames_falb(slip=1)}},
                ),
                Search(
                    sides=_constraint,
                    box=SEQUENCES,
                    extremal=_tight,
                    vectorised=True,
                    evaluations={"quick": 20_000, "full": 500_000},
                    impostors={
                        "plus signs": {"sides": lambda **point: _constraint(**point, sign=1)},
                        "sum up to 1.01 lambda_0": {"sides": lambda **point: _constraint(**point, most=1.01)},
                    },
                ),
            ),
        ),
    ),
    Claim(
        id="ftrl/eq-92",
        where="App. E, (92)",
        kind="identity",
        statement=(
            "$theta_(t+1) = theta_t - eta (g_t + zeta_t)$ gives $G = (1 - e^(i omega)) / eta Theta - Z$, and (91) "
            "times $eta^2$ becomes $integral vec(Theta, Z)^* M_lambda vec(Theta, Z) dif omega >= 0$."
        ),
        hypotheses="Transforms $sum_t x_t e^(-i omega t)$.",
        checks=(
            Symbolic(
                residuals=_to_noise,
                impostors={
                    "e^(-i omega)": {"residuals": lambda: _to_noise(advance=-1)},
                    "(91) times eta": {"residuals": lambda: _to_noise(power=1)},
                },
            ),
        ),
    ),
    Claim(
        id="ftrl/e-cs",
        where="App. E, below (92)",
        kind="inequality",
        statement=(
            "By the Cauchy-Schwarz inequality the spectral density of $zeta = B w + hat(w)$ is at most $2 d (abs(B)^2 "
            "rho^(-1) gamma_oo^2 + sigma_s^2)$."
        ),
        hypotheses=(
            "Summed over directions; $w_t$ Gaussian with covariance $G^2 gamma_oo^2 \\/ (2 rho) I$, $norm(hat(w)_t) <= "
            "sigma_s$, $EE[hat(w)_t | theta_t] = 0$ with $z_t$ fresh."
        ),
        checks=(
            Search(
                sides=_printed_spectrum,
                box={
                    "clip_norm": Real(0.1, 10.0, "log"),
                    "rho": Real(0.01, 10.0, "log"),
                    "d": Whole(1, 100, "log"),
                    "sigma_sgd": Real(0.0, 3.0),
                },
                extremal=lambda: iter([{"clip_norm": 3.0, "rho": 1.0, "d": 1.0, "sigma_sgd": 0.0}]),
                vectorised=True,
            ),
        ),
        correction=Correction(
            statement=(
                "it is $d G^2 gamma_oo^2 \\/ (2 rho) abs(B)^2$ plus a constant of at most $sigma_s^2$: $hat(w)_t$ is "
                "uncorrelated with all draws and with itself at other times, so nothing is doubled, and its norm "
                "already counts all directions. $G^2$ is missing; with it the printed bound is four times too large "
                "for the noise of privacy and $2 d$ times for that of the gradients."
            ),
            checks=(
                Agreement(
                    facts=_spectrum_facts,
                    impostors={
                        "doubled": {"facts": lambda rng: _spectrum_facts(rng, doubled=2)},
                        "d times the gradient noise": {"facts": lambda rng: _spectrum_facts(rng, per_coordinate=True)},
                    },
                ),
            ),
        ),
    ),
)
