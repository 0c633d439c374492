"""Appendix F.1 to F.3: linear time-invariant systems, the covariance of SGD, concentration of quadratic forms.

The elliptic integrals are in `appendix_f_integrals`, the other lemmas in `appendix_f_helpers`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import sympy
from scipy import special
from scipy.linalg import solve_discrete_lyapunov

from verify.checks import Agreement, Fact, Search, Symbolic
from verify.claims import Claim
from verify.domains import Real, Whole
from verify.ftrl.claims.regression_lower import INPUTS, planar

# The constant of Remark F.7.
GAUSSIAN_CONSTANT = Fraction(1457, 10_000)


# --- Theorem F.2 ---


def _white_input(rng: np.random.Generator, *, conjugate: bool = True) -> Iterator[Fact]:
    """Random stable state-space systems: covariance from the Lyapunov equation, integral on 4096 nodes, sum of
    impulse responses.
    """
    for states, inputs, outputs in ((1, 1, 1), (3, 2, 2), (5, 3, 2)):
        A = rng.standard_normal((states, states))
        A *= 0.95 / np.abs(np.linalg.eigvals(A)).max()
        B, C = rng.standard_normal((states, inputs)), rng.standard_normal((outputs, states))
        root = rng.standard_normal((inputs, inputs))
        Sigma = root @ root.T
        # x_{t+1} = A x_t + B u_t, y_t = C x_t
        expected = C @ solve_discrete_lyapunov(A, B @ Sigma @ B.T) @ C.T
        z = np.exp(1j * 2 * np.pi * np.arange(4096) / 4096)[:, None, None]
        transfer = C @ np.linalg.solve(z * np.eye(states) - A, np.broadcast_to(B + 0j, (4096, *B.shape)))
        adjoint = transfer.conj() if conjugate else transfer
        integral = np.real(np.mean(transfer @ Sigma @ adjoint.transpose(0, 2, 1), axis=0))
        size = f"{states} states, {inputs} inputs, {outputs} outputs"
        yield Fact(f"integral, {size}", integral, expected, 1e-9)
        responses = np.array([C @ np.linalg.matrix_power(A, k) @ B for k in range(800)])
        summed = np.einsum("kij,jl,kml->im", responses, Sigma, responses)
        yield Fact(f"sum over impulse responses, {size}", summed, expected, 1e-9)


# --- Theorem F.3 ---


def _stationary_variance(points, ratio, share, factor: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Largest eigenvalue of lim E[delta delta^T] for zeta of covariance H (sigma = 1), against the bound."""
    laws = planar(points, ratio, share)
    S = laws.covariance(laws.eta[:, None] ** 2 * laws.eigenvalues)
    return np.linalg.eigvalsh(S)[:, -1], factor * laws.eta / (1 - share)


def _induction(factor: str = "1") -> Iterator[tuple[str, sympy.Expr]]:
    """E[delta delta^T] <= c I at t gives it at t + 1: the excess is eta H (c (2 - eta R^2) - eta sigma^2) at least.

    E[Q c I Q] + eta^2 sigma^2 H = c (I - 2 eta H + eta^2 E[||x||^2 x x^T]) + eta^2 sigma^2 H with the fourth moment at
    most R^2 H; eta R^2 = 1/(1 + t).
    """
    t, eta, variance = sympy.symbols("t eta variance", positive=True)
    product = 1 / (1 + t)
    c = sympy.Rational(factor) * eta * variance / (1 - product)
    yield "c (2 - eta R^2) - eta sigma^2 >= 0", c * (2 - product) - eta * variance
    yield "c >= 0 (t = 0)", c


# --- Property F.5 ---


def _series(order_four: str = "1/24") -> Iterator[tuple[str, sympy.Expr]]:
    """exp(l^2 v/2) - E e^{l X} = -m3 l^3/6 + (3 v^2 - m4) l^4/24 + ...: nonnegative for both signs of small l only if
    m3 = 0, and then only if m4 <= 3 v^2.
    """
    step, v, m3, m4 = sympy.symbols("l v m3 m4", real=True)
    moments = (1, 0, v, m3, m4)
    generating = sum(moment * step**k / sympy.factorial(k) for k, moment in enumerate(moments))
    excess = sympy.series(sympy.exp(step**2 * v / 2), step, 0, 5).removeO() - generating
    coefficients = [sympy.expand(excess).coeff(step, k) for k in range(5)]
    for k, expected in enumerate((0, 0, 0, -m3 / 6, sympy.Rational(order_four) * (3 * v**2 - m4))):
        yield f"coefficient of l^{k}", coefficients[k] - expected


def _known_laws(rng: np.random.Generator, fourth: float = 3.0) -> Iterator[Fact]:
    """Does log E e^{l X} <= l^2/2 on a grid of l entail E X^3 = 0 and E X^4 <= `fourth`, X of variance 1?"""
    step = np.concatenate([-np.logspace(-2, 1.3, 60), np.logspace(-2, 1.3, 60)])
    laws = [
        ("skewed, 2 and -1/2", np.array([2.0, -0.5]), np.array([0.2, 0.8])),
        ("three points, P(X = 0) = 4/5", np.array([-1.0, 0.0, 1.0]), np.array([0.1, 0.8, 0.1])),
        ("three points, P(X = 0) = 3/5", np.array([-1.0, 0.0, 1.0]), np.array([0.2, 0.6, 0.2])),
        ("signs", np.array([-1.0, 1.0]), np.array([0.5, 0.5])),
    ]
    laws += [(f"Beta({s}, {s})", *special.roots_gegenbauer(80, s - 0.5)) for s in (0.2, 1, 2, 20)]
    for name, points, weights in laws:
        p = weights / weights.sum()
        x = points / np.sqrt(p @ points**2)
        generating = np.asarray(special.logsumexp(np.outer(step, x), b=p, axis=1))
        strict = bool(np.all(generating <= step**2 / 2 * (1 + 1e-9)))
        entailed = bool(not strict or (abs(p @ x**3) < 1e-9 and p @ x**4 <= fourth + 1e-9))
        label = f"{name}: {'' if strict else 'not '}strictly sub-Gaussian, moments {p @ x**3:.3g} and {p @ x**4:.4g}"
        yield Fact(label, entailed, True, 0)


# --- Lemma F.6 and Remark F.7 ---


def _chaos(p: np.ndarray, A: np.ndarray, c: float = 1 / 8) -> tuple[np.ndarray, np.ndarray]:
    """c against the smallest -log P(q - E q >= t) / min{t^2/||A||_F^2, t/||A||} over all t, exactly.

    Four independent entries +-M (probability p/2 each) or 0, M such that their variance proxy is 1.
    """
    grid = np.logspace(-3, 2, 120)
    proxy = np.max(2 * np.log1p(p[:, None] * (np.cosh(grid) - 1)) / grid**2, axis=1)
    signs = np.array(list(itertools.product((-1, 0, 1), repeat=4)))
    hits = np.sum(signs != 0, axis=1)
    probabilities = (p[:, None] / 2) ** hits * (1 - p[:, None]) ** (4 - hits)
    matrices = A.reshape(-1, 4, 4) / proxy[:, None, None]
    q = np.einsum("ki,nij,kj->nk", signs, matrices, signs)
    order = np.argsort(-q, axis=1)
    tail = np.minimum(np.cumsum(np.take_along_axis(probabilities, order, axis=1), axis=1), 1.0)
    t = np.take_along_axis(q, order, axis=1) - np.sum(q * probabilities, axis=1, keepdims=True)
    norm = np.linalg.norm(matrices, 2, axis=(1, 2))[:, None] + 1e-300
    frobenius = np.linalg.norm(matrices, axis=(1, 2))[:, None] + 1e-300
    with np.errstate(divide="ignore", invalid="ignore"):
        exponent = -np.log(tail) / np.minimum(t**2 / frobenius**2, t / norm)
    worst = np.min(np.where((t > 1e-9 * norm) & (tail > 0), exponent, 1e3), axis=1)
    return np.full(len(p), c), worst


def _quantile(slack: str = "0") -> Iterator[tuple[str, sympy.Expr]]:
    """The second part from the first: t = F sqrt(L/c) + N L/c for L = log(1/rho) > 1, N = ||A|| <= F = ||A||_F <= Tr A.

    C = 1 + c^{-1/2} + 1/c and C' = 2 C; c = r^2, L = (1 + p)^2.
    """
    r, p, N, f, g = sympy.symbols("r p N f g", positive=True)
    F, L = N * (1 + f), (1 + p) ** 2
    trace, C = F * (1 + g), 1 + 1 / r + 1 / r**2 - sympy.Rational(slack)
    t = F * (1 + p) / r + N * L / r**2
    yield "t^2/F^2 >= L/c", t**2 / F**2 - L / r**2
    yield "t/||A|| >= L/c", t / N - L / r**2
    yield "Tr A + t <= C (Tr A sqrt L + ||A|| L)", C * (trace * (1 + p) + N * L) - trace - t
    yield "C (Tr A sqrt L + ||A|| L) <= 2 C Tr A L", 2 * C * trace * L - C * (trace * (1 + p) + N * L)


def _chernoff(c: Fraction = GAUSSIAN_CONSTANT) -> Iterator[tuple[str, sympy.Expr]]:
    """Remark F.7 for every A, ||A|| = 1, t = F^2 tau with F = ||A||_F >= 1.

    log E e^{l a (z^2 - 1)} = -log(1 - 2 l a)/2 - l a is at most a^2 times its value at a = 1 (both vanish at l = 0; the
    derivatives compare), so that -log P >= F^2 (tau - log(1 + tau))/2, and log(1 + tau) <= tau (6 + tau)/(6 + 4 tau).
    """
    u, v, tau = sympy.symbols("u v tau", positive=True)
    step, a = 1 / (2 * (1 + u)), 1 - v
    yield "derivatives, l < 1/2, a <= 1", 1 / (1 - 2 * step) - 1 / (1 - 2 * step * a)
    pade = tau * (6 + tau) / (6 + 4 * tau)
    yield "derivative of the bound for log(1 + tau)", sympy.diff(pade, tau) - 1 / (1 + tau)
    constant = sympy.Rational(c.numerator, c.denominator)
    exponent = (tau - pade) / 2
    yield "exponent >= c tau^2, tau <= 1", (exponent - constant * tau**2).subs(tau, 1 / (1 + u))
    yield "exponent >= c tau, tau >= 1", (exponent - constant * tau).subs(tau, 1 + u)
    yield "8 - 1/c", sympy.sympify(8 - 1 / constant)
    yield "16 - (1 + c^(-1/2) + 1/c)", sympy.sympify((15 - 1 / constant) ** 2 - 1 / constant)


def _optimal_step() -> Iterator[tuple[str, sympy.Expr]]:
    """The exponent at l = tau / (2 (1 + tau))."""
    tau = sympy.Symbol("tau", positive=True)
    step = tau / (2 * (1 + tau))
    value = step * tau + sympy.log(1 - 2 * step) / 2 + step
    yield "(tau - log(1 + tau))/2", sympy.expand_log(sympy.simplify(value - (tau - sympy.log(1 + tau)) / 2), force=True)


def _two_weights(a: np.ndarray, b: np.ndarray, threshold: np.ndarray) -> np.ndarray:
    """-log P(a X^2 + b Y^2 > threshold): in polar coordinates the square of the radius is exponential; 256 angles."""
    angle = np.pi * (np.arange(256) + 0.5) / 256
    weight = a[:, None] * np.cos(angle) ** 2 + b[:, None] * np.sin(angle) ** 2
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        exponent = -threshold[:, None] / (2 * weight)
        above = special.logsumexp(np.where(weight > 0, exponent, -np.inf), axis=1) - np.log(256)
        below = np.log(np.mean(np.where(weight < 0, -np.expm1(np.minimum(exponent, 0.0)), 1.0), axis=1))
    return np.minimum(-np.where(threshold > 0, above, below), 1e300)


def _gaussian_pair(sign, b, t, c=float(GAUSSIAN_CONSTANT)) -> tuple[np.ndarray, np.ndarray]:
    """c min{t^2/||A||_F^2, t/||A||} against the exact exponent, A = diag(+-1, b)."""
    a = np.where(sign > 0, 1.0, -1.0)
    return c * np.minimum(t**2 / (1 + b**2), t), _two_weights(a, b, a + b + t)


def _equal_weights(n, tau, sign, c=float(GAUSSIAN_CONSTANT)) -> tuple[np.ndarray, np.ndarray]:
    """The same for A = sign * I in dimension n, t = n tau: tails of chi-squared."""
    with np.errstate(divide="ignore"):
        above = np.log(special.gammaincc(n / 2, n * (1 + tau) / 2))
        below = np.log(special.gammainc(n / 2, n * np.maximum(1 - tau, 0.0) / 2))
    exponent = -np.where(sign > 0, above, below)
    return c * n * np.minimum(tau**2, tau), np.minimum(exponent, 1e300)


def _gaussian_quantile(b, failure, C: float = 8.0) -> tuple[np.ndarray, np.ndarray]:
    """log(1/rho) against the exact exponent at C (Tr A sqrt L + ||A|| L) and at 2 C Tr A L, whichever is smaller, A =
    diag(1, b).
    """
    L, a, trace = -np.log(failure), np.ones_like(b), 1 + b
    first = _two_weights(a, b, C * (trace * np.sqrt(L) + L))
    return L, np.minimum(first, _two_weights(a, b, 2 * C * trace * L))


CLAIMS = (
    Claim(
        id="ftrl/thm-f.2",
        where="Theorem F.2",
        kind="mc-equality",
        statement="$EE[y_t times.o y_t] = 1/(2 pi) integral G(omega) Sigma G(omega)^* dif omega$.",
        hypotheses="Asymptotically stable LTI system, white input of covariance $Sigma$.",
        checks=(
            Agreement(
                facts=_white_input,
                impostors={"transpose in place of adjoint": {"facts": lambda rng: _white_input(rng, conjugate=False)}},
            ),
        ),
    ),
    Claim(
        id="ftrl/thm-f.3",
        where="Theorem F.3",
        kind="inequality",
        statement=(
            "$delta_(t+1) = (I - eta x_t times.o x_t) delta_t + eta zeta_t$ from $delta_0 = 0$: $EE[delta_t times.o "
            "delta_t] prec.eq (eta sigma^2)/(1 - eta R^2) I$."
        ),
        hypotheses=(
            "$EE[zeta_t times.o zeta_t] prec.eq sigma^2 H$, $eta R^2 < 1$, the pairs $(x_t, zeta_t)$ independent over "
            "$t$. The same proof gives $2 - eta R^2$ in the denominator, which is attained in $d = 1$."
        ),
        checks=(
            Symbolic(nonnegative=_induction, impostors={"a third": {"nonnegative": lambda: _induction("1/3")}}),
            Search(
                sides=_stationary_variance,
                box=INPUTS,
                vectorised=True,
                impostors={"0.45 of the bound": {"sides": lambda **p: _stationary_variance(**p, factor=0.45)}},
            ),
        ),
    ),
    Claim(
        id="ftrl/prop-f.5",
        where="Property F.5",
        kind="inequality",
        statement=(
            "If $X$ is strictly sub-Gaussian with mean 0 and variance $sigma^2$: $EE X^3 = 0$, $EE X^4 <= 3 sigma^4$."
        ),
        hypotheses="$EE e^(lambda X) <= e^(lambda^2 sigma^2\\/2)$ for all $lambda$.",
        checks=(
            Symbolic(residuals=_series, impostors={"1/12 at order four": {"residuals": lambda: _series("1/12")}}),
            Agreement(facts=_known_laws, impostors={"2.5 in place of 3": {"facts": lambda rng: _known_laws(rng, 2.5)}}),
        ),
    ),
    Claim(
        id="ftrl/lem-f.6",
        where="Lemma F.6",
        kind="mc-rate",
        statement=(
            "$P(q - EE q > t) <= exp(-c min{t^2/(sigma^4 norm(A)_F^2), t/(sigma^2 norm(A)_2)})$ for $q = chevron.l xi, "
            "A xi chevron.r$; for $A$ positive semidefinite and $rho < 1/3$, with probability $1 - rho$: $q <= C "
            'sigma^2 (op("Tr") A sqrt(log(1\\/rho)) + norm(A)_2 log(1\\/rho)) <= C\' sigma^2 op("Tr") A '
            "log(1\\/rho)$."
        ),
        hypotheses=(
            "$xi_j$ independent, mean 0, sub-Gaussian of proxy $sigma^2$; $c, C, C'$ universal. Checked with $c = "
            "1\\/8$ on exact laws, and for the second part $C = 1 + c^(-1\\/2) + 1\\/c$, $C' = 2 C$ proved."
        ),
        checks=(
            Search(
                sides=_chaos,
                box={"p": Real(1e-3, 1.0, "log"), "A": (Real(-1.0, 1.0), 16)},
                vectorised=True,
                impostors={"c = 1": {"sides": lambda p, A: _chaos(p, A, 1.0)}},
            ),
            Symbolic(nonnegative=_quantile, impostors={"C smaller by 1": {"nonnegative": lambda: _quantile("1")}}),
        ),
    ),
    Claim(
        id="ftrl/rem-f.7",
        where="Remark F.7",
        kind="number",
        statement="In Lemma F.6 for Gaussian $xi$: $c approx 0.1457 >= 1\\/8$, $C <= 8$, $C' <= 16$.",
        hypotheses=(
            "Read as: the lemma holds with these. The largest $c$ is $(1 - log 2)\\/2 = 0.1534$, by Chernoff's bound "
            "and by equal weights in high dimension."
        ),
        checks=(
            Symbolic(
                residuals=_optimal_step,
                nonnegative=_chernoff,
                impostors={"c = 0.16": {"nonnegative": lambda: _chernoff(Fraction(4, 25))}},
            ),
            Search(
                sides=_equal_weights,
                box={"n": Whole(1, 3_000, "log"), "tau": Real(1e-3, 10.0, "log"), "sign": Real(-1.0, 1.0)},
                vectorised=True,
                impostors={"c = 0.16": {"sides": lambda **p: _equal_weights(**p, c=0.16)}},
            ),
            Search(
                sides=_gaussian_pair,
                box={"sign": Real(-1.0, 1.0), "b": Real(-1.0, 1.0), "t": Real(1e-2, 50.0, "log")},
                vectorised=True,
                impostors={"c = 0.6": {"sides": lambda **p: _gaussian_pair(**p, c=0.6)}},
            ),
            Search(
                sides=_gaussian_quantile,
                box={"b": Real(1e-9, 1.0, "log"), "failure": Real(1e-12, 1 / 3, "log")},
                vectorised=True,
                impostors={"C = 1/2": {"sides": lambda **p: _gaussian_quantile(**p, C=0.5)}},
            ),
        ),
    ),
)
