"""Appendix F.3: concentration of quadratic forms."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import sympy
from scipy import special

from verify.checks import Agreement, Holds, Search, Symbolic
from verify.checks.domains import Real, Whole
from verify.checks.impostors import Times
from verify.statements.claims import Claim
from verify.statements.derivations import Derivation

Sides = tuple[np.ndarray, np.ndarray]


# --- Property F.5 ---


def _series(order_four: str = "1/24") -> Iterator[tuple[Any, ...]]:
    """exp(l^2 v/2) - E e^{l X} = -m3 l^3/6 + (3 v^2 - m4) l^4/24 + ...: nonnegative for both signs of small l only if
    m3 = 0, and then only if m4 <= 3 v^2.
    """
    step, v, m3, m4 = sympy.symbols("l v m3 m4", real=True)
    moments = (1, 0, v, m3, m4)
    generating = sum(moment * step**k / sympy.factorial(k) for k, moment in enumerate(moments))
    excess = sympy.series(sympy.exp(step**2 * v / 2), step, 0, 5).removeO() - generating
    coefficients = [sympy.expand(excess).coeff(step, k) for k in range(5)]
    for k, expected in enumerate((0, 0, 0, -m3 / 6, sympy.Rational(order_four) * (3 * v**2 - m4))):
        yield f"coefficient of l^{k}", coefficients[k], expected


def _known_laws(rng: np.random.Generator, fourth: float = 3.0) -> Iterator[Holds]:
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
        moments = f"third moment {p @ x**3:.3g}, fourth {p @ x**4:.4g}"
        label = f"{name}: {'' if strict else 'not '}strictly sub-Gaussian, with moments that this allows ({moments})"
        yield Holds(label, entailed)


PROP_F_5 = Claim(
    id="ftrl/prop-f.5",
    where="Property F.5",
    page=55,
    kind="inequality",
    statement=(
        "If $X$ is strictly sub-Gaussian with mean 0 and variance $sigma^2$: $EE X^3 = 0$, $EE X^4 <= 3 sigma^4$."
    ),
    hypotheses="$EE e^(lambda X) <= e^(lambda^2 sigma^2\\/2)$ for all $lambda$.",
    checks=(
        Symbolic(residuals=_series, impostors={"1/12 at order four": {"residuals": {"order_four": "1/12"}}}),
        Agreement(facts=_known_laws, impostors={"2.5 in place of 3": {"facts": {"fourth": 2.5}}}, role="control"),
    ),
    derivation=Derivation(
        text=(
            "$EE e^(lambda X)$ is finite for every $lambda$, so that it has its power series, and $e^(lambda^2 "
            "sigma^2\\/2) - EE e^(lambda X) >= 0$ is $-EE X^3 lambda^3\\/6 + (3 sigma^4 - EE X^4) lambda^4\\/24$ up "
            "to higher order by the check. For small $lambda$ of both signs this is not negative only if $EE X^3 = "
            "0$, and then only if $EE X^4 <= 3 sigma^4$."
        ),
    ),
)

# --- Lemma F.6 ---

# For variance proxy 1 and A symmetric; N = ||A||, F = ||A||_F, l the argument of moment generating functions.
# 1. Zero diagonal: xi^T O xi is affine in each entry, and E e^{s xi_j} <= e^{s^2/2} = E e^{s g_j}: entry by entry, xi
#    may be replaced by a standard Gaussian g. There log E e^{l g^T O g} = -1/2 sum_i log(1 - 2 l o_i) is at most
#    l^2 F^2 / (1 - 4 l N), as sum_i o_i = 0, ||O||_F <= F and ||O|| <= 2 N.
# 2. Diagonal: E e^{s xi^2} <= (1 - 2 s)^{-1/2}, by E_g e^{sqrt(2 s) g xi} = e^{s xi^2}. With s = 1/4 the terms from the
#    second order on give log E e^{x (xi^2 - E xi^2)} <= 16 (sqrt 2 - 1) x^2 for x <= 1/4, all negative x included.
# 3. Cauchy-Schwarz joins them: log E e^{l (q - E q)} <= K l^2 F^2 for l <= 1 / (16 N), K = 32 (sqrt 2 - 1) + 4 < 35/2.
# 4. Chernoff's bound at l = t / (2 K F^2), or at 1 / (16 N) if that is less: c = 1/70.
DIAGONAL = 16 * (np.sqrt(2.0) - 1.0)
C_INVERSE = 70


def _dominated(p: np.ndarray, skew: np.ndarray, O: np.ndarray, size: np.ndarray, factor: float = 1.0) -> Sides:
    """Step 1: log E e^{xi^T O xi} against factor times that of a Gaussian; four entries of the law of `_three_points`,
    ||O|| = size / 2.
    """
    x, probability = _three_points(p, skew)
    index = np.array(list(itertools.product(range(3), repeat=4)))
    entries, weights = x[:, index], probability[:, index].prod(axis=2)
    raw = O.reshape(-1, 4, 4)
    matrix = (raw + raw.transpose(0, 2, 1)) * (1.0 - np.eye(4))
    matrix *= (size / 2.0 / np.maximum(np.linalg.norm(matrix, 2, axis=(1, 2)), 1e-300))[:, None, None]
    forms = np.einsum("nki,nij,nkj->nk", entries, matrix, entries)
    gaussian = -0.5 * np.sum(np.log1p(-2.0 * np.linalg.eigvalsh(matrix)), axis=1)
    return np.asarray(special.logsumexp(forms, b=weights, axis=1)), factor * gaussian


def _squares(p: np.ndarray, skew: np.ndarray, step: np.ndarray, factor: float = 1.0) -> Sides:
    """Step 2: log E e^{x (xi^2 - E xi^2)} over x^2, x = step, against the constant."""
    x, probability = _three_points(p, skew)
    squares = x**2
    mean = np.sum(probability * squares, axis=1)
    value = special.logsumexp(step[:, None] * (squares - mean[:, None]), b=probability, axis=1)
    return value / step**2, np.full(len(p), factor * DIAGONAL)


def _three_points(p: np.ndarray, skew: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values and probabilities of 0 (1 - p), a and -b (p in all, mean 0, b / a = skew), scaled to variance proxy 1."""
    points = np.stack([np.zeros_like(p), np.ones_like(p), -skew], axis=1)
    weights = np.stack([1.0 - p, p * skew / (1.0 + skew), p / (1.0 + skew)], axis=1)
    grid = np.concatenate([-np.logspace(2, -3, 80), np.logspace(-3, 2, 80)])
    generating = np.asarray(special.logsumexp(grid[None, :, None] * points[:, None], b=weights[:, None], axis=2))
    return points / np.sqrt(np.max(2.0 * generating / grid**2, axis=1))[:, None], weights


def _hanson_wright(c_inverse: int = C_INVERSE) -> Iterator[tuple[str, sympy.Expr]]:
    """The inequalities of the four steps; f(x) = x + x^2 / (1 - 2 |x|) + log(1 - 2 x) / 2 is 0 at 0, f' x >= 0."""
    u, K, F, N, x = sympy.symbols("u K F N x", positive=True)
    f = x + x**2 / (1 - 2 * x) + sympy.log(1 - 2 * x) / 2
    yield "step 1, x = 1 / (2 (1 + u)) > 0", sympy.simplify(sympy.diff(f, x)).subs(x, 1 / (2 * (1 + u)))
    f = -x + x**2 / (1 - 2 * x) + sympy.log(1 + 2 * x) / 2
    yield "step 1, x < 0", sympy.simplify(sympy.diff(f, x)).subs(x, 1 / (2 * (1 + u)))
    for k in range(2, 6):
        yield f"step 2, x = s / (1 + u): order {k}", 1 / (1 + u) ** 2 - 1 / (1 + u) ** k
    root = sympy.Rational(17, 12)  # above that of 2
    yield "17/12 > sqrt 2", root**2 - 2
    joined = (4 * 16 * (root - 1) + 4 / (1 - 8 * sympy.Rational(1, 16))) / 2
    yield "step 3, K < 35/2", sympy.Rational(35, 2) - joined
    yield "step 4, 1 / (4 K) >= c", 1 / (4 * sympy.Rational(35, 2)) - sympy.Rational(1, c_inverse)
    step = 1 / (16 * N)
    t = 2 * K * F**2 * step * (1 + u)
    yield "step 4, l = 1 / (16 N): exponent at least t / (32 N)", step * t - K * step**2 * F**2 - t / (32 * N)
    yield "1 / 32 >= c", sympy.Rational(1, 32) - sympy.Rational(1, c_inverse)


def _exponents(power: int = 2) -> Iterator[tuple[Any, ...]]:
    """The mixture of step 2 as a square under the Gaussian integral, s = r^2 / 2, and the exponent of step 4 at its
    optimum.
    """
    g, r, xi, t, K, F = sympy.symbols("g r xi t K F", positive=True)
    completed = r * g * xi - g**2 / 2 + (g - r * xi) ** 2 / 2
    yield "E_g e^{r g xi} = e^{r^2 xi^2 / 2}", completed, r**2 / 2 * xi**power
    step = t / (2 * K * F**2)
    yield "step 4, l = t / (2 K F^2)", step * t - K * step**2 * F**2, t**2 / (4 * K * F**2)


def _chaos(p: np.ndarray, skew: np.ndarray, A: np.ndarray, c: float = 1 / C_INVERSE) -> Sides:
    """c against the smallest -log P(q - E q >= t) / min{t^2/||A||_F^2, t/||A||} over all t, exactly, four entries."""
    x, probability = _three_points(p, skew)
    index = np.array(list(itertools.product(range(3), repeat=4)))
    entries, weights = x[:, index], probability[:, index].prod(axis=2)
    matrices = A.reshape(-1, 4, 4)
    q = np.einsum("nki,nij,nkj->nk", entries, matrices, entries)
    order = np.argsort(-q, axis=1)
    tail = np.minimum(np.cumsum(np.take_along_axis(weights, order, axis=1), axis=1), 1.0)
    t = np.take_along_axis(q, order, axis=1) - np.sum(q * weights, axis=1, keepdims=True)
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


LAW = {"p": Real(1e-3, 1.0, "log"), "skew": Real(0.1, 10.0, "log")}

LEM_F_6 = Claim(
    id="ftrl/lem-f.6",
    where="Lemma F.6",
    page=55,
    kind="inequality",
    statement=(
        (
            "$P(q - EE q > t) <= exp(-c min{t^2/(sigma^4 norm(A)_F^2), t/(sigma^2 norm(A)_2)})$ for $q = chevron.l xi, "
            "A xi chevron.r$;"
        ),
        (
            'for $A$ positive semidefinite and $rho < 1/3$, with probability $1 - rho$: $q <= C sigma^2 (op("Tr") A '
            'sqrt(log(1\\/rho)) + norm(A)_2 log(1\\/rho)) <= C\' sigma^2 op("Tr") A log(1\\/rho)$.'
        ),
    ),
    hypotheses="$xi_j$ independent, mean 0, sub-Gaussian of proxy $sigma^2$; $c, C, C'$ universal.",
    setting=(
        "Proved with $c = 1\\/70$, $C = 1 + c^(-1\\/2) + 1\\/c$, $C' = 2 C$; the bounds on generating functions and "
        "the lemma itself also searched over three-point laws."
    ),
    checks=(
        Symbolic(
            decides="ab",
            residuals=_exponents,
            nonnegative=_hanson_wright,
            impostors={"c = 1/60": {"nonnegative": {"c_inverse": 60}}, "xi^3": {"residuals": {"power": 3}}},
        ),
        Search(
            decides="a",
            sides=_dominated,
            box={**LAW, "O": (Real(-1.0, 1.0), 16), "size": Real(1e-2, 0.99)},
            vectorised=True,
            evaluations={"quick": 1_500, "full": 30_000},
            impostors={"0.9 of the Gaussian": {"sides": Times(1, 0.9)}},
            role="control",
        ),
        Search(
            decides="b",
            sides=_squares,
            box={**LAW, "step": Real(-3.0, 0.25)},
            vectorised=True,
            evaluations={"quick": 1_500, "full": 30_000},
            impostors={"a tenth": {"sides": Times(1, 0.1)}},
            role="control",
        ),
        Search(
            decides="a",
            sides=_chaos,
            box={**LAW, "A": (Real(-1.0, 1.0), 16)},
            vectorised=True,
            evaluations={"quick": 1_500, "full": 30_000},
            impostors={"c = 1": {"sides": {"c": 1.0}}},
            role="control",
        ),
        Symbolic(decides="b", nonnegative=_quantile, impostors={"C smaller by 1": {"nonnegative": {"slack": "1"}}}),
    ),
    derivation=Derivation(
        text=(
            "Let $sigma = 1$, $A$ symmetric, $N = norm(A)_2$, $F = norm(A)_F$. Without its diagonal $xi^top O xi$ is "
            "affine in each entry and $EE e^(s xi_j) <= e^(s^2\\/2)$, so entry by entry $xi$ may be replaced by "
            "standard normal $g$; $log EE e^(l g^top O g) = -1/2 sum_i log(1 - 2 l o_i) <= l^2 F^2\\/(1 - 4 l N)$ by "
            "step 1, since $sum_i o_i = 0$, $norm(O)_F <= F$, $norm(O) <= 2 N$. For the diagonal $EE e^(s xi^2) <= (1 "
            "- 2 s)^(-1\\/2)$ by $EE_g e^(sqrt(2 s) g xi) = e^(s xi^2)$, and at $s = 1\\/4$ the terms of the series "
            "from the second order on give $log EE e^(x (xi^2 - EE xi^2)) <= 16 (sqrt(2) - 1) x^2$ for $x <= 1\\/4$, "
            "as $(4 x)^k <= (4 x)^2$. Joined by Cauchy and Schwarz, $log EE e^(l (q - EE q)) <= K l^2 F^2$ for $l <= "
            "1\\/(16 N)$, $K < 35\\/2$, and Chernoff's bound at $l = t\\/(2 K F^2)$, or at $1\\/(16 N)$ if that is "
            "less, gives $c = 1\\/70$. (b) At $t = F sqrt(L\\/c) + N L\\/c$, $L = log(1\\/rho) > 1$, both terms of the "
            'minimum are at least $L\\/c$, and $EE q <= sigma^2 op("Tr") A$.'
        ),
        lemmas=("Cauchy-Schwarz", "Markov", "independence", "total expectation", "monotony"),
    ),
)

# --- Remark F.7 ---

GAUSSIAN_CONSTANT = Fraction(1457, 10_000)


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


def _quantile_step(times: int = 2) -> Iterator[tuple[Any, ...]]:
    """l t - l^2 F^2 / (1 - 2 l N) at t = 2 F sqrt L + `times` N L, l = sqrt L / (F + 2 N sqrt L), L = q^2."""
    N, F, q = sympy.symbols("N F q", positive=True)
    step = q / (F + 2 * N * q)
    yield "the exponent is $L$", step * (2 * F * q + times * N * q**2) - step**2 * F**2 / (1 - 2 * step * N), q**2


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


def _gaussian_pair(sign, b, t, c=float(GAUSSIAN_CONSTANT)) -> Sides:
    """c min{t^2/||A||_F^2, t/||A||} against the exact exponent, A = diag(+-1, b)."""
    a = np.where(sign > 0, 1.0, -1.0)
    return c * np.minimum(t**2 / (1 + b**2), t), _two_weights(a, b, a + b + t)


def _equal_weights(n, tau, sign, c=float(GAUSSIAN_CONSTANT)) -> Sides:
    """The same for A = sign * I in dimension n, t = n tau: tails of chi-squared."""
    with np.errstate(divide="ignore"):
        above = np.log(special.gammaincc(n / 2, n * (1 + tau) / 2))
        below = np.log(special.gammainc(n / 2, n * np.maximum(1 - tau, 0.0) / 2))
    exponent = -np.where(sign > 0, above, below)
    return c * n * np.minimum(tau**2, tau), np.minimum(exponent, 1e300)


def _gaussian_quantile(b, failure, C: float = 8.0) -> Sides:
    """log(1/rho) against the exact exponent at C (Tr A sqrt L + ||A|| L) and at 2 C Tr A L, whichever is smaller, A =
    diag(1, b).
    """
    L, a, trace = -np.log(failure), np.ones_like(b), 1 + b
    first = _two_weights(a, b, C * (trace * np.sqrt(L) + L))
    return L, np.minimum(first, _two_weights(a, b, 2 * C * trace * L))


REM_F_7 = Claim(
    id="ftrl/rem-f.7",
    where="Remark F.7",
    page=56,
    kind="number",
    statement="In Lemma F.6 for Gaussian $xi$: $c approx 0.1457 >= 1\\/8$, $C <= 8$, $C' <= 16$.",
    remark=(
        "Read as: the lemma holds with these. The largest $c$ is $(1 - log 2)\\/2 > 0.1457$, by Chernoff's bound "
        "and by equal weights in high dimension."
    ),
    checks=(
        Symbolic(
            residuals=_optimal_step,
            nonnegative=_chernoff,
            impostors={"c = 0.16": {"nonnegative": {"c": Fraction(4, 25)}}},
        ),
        Symbolic(residuals=_quantile_step, impostors={"N L": {"residuals": {"times": 1}}}),
        Symbolic(nonnegative=_hanson_wright, impostors={"c = 1/60": {"nonnegative": {"c_inverse": 60}}}),
        Search(
            sides=_equal_weights,
            box={"n": Whole(1, 3_000, "log"), "tau": Real(1e-3, 10.0, "log"), "sign": Real(-1.0, 1.0)},
            vectorised=True,
            impostors={"c = 0.16": {"sides": {"c": 0.16}}},
            role="control",
        ),
        Search(
            sides=_gaussian_pair,
            box={"sign": Real(-1.0, 1.0), "b": Real(-1.0, 1.0), "t": Real(1e-2, 50.0, "log")},
            vectorised=True,
            impostors={"c = 0.6": {"sides": {"c": 0.6}}},
            role="control",
        ),
        Search(
            sides=_gaussian_quantile,
            box={"b": Real(1e-9, 1.0, "log"), "failure": Real(1e-12, 1 / 3, "log")},
            vectorised=True,
            impostors={"C = 1/2": {"sides": {"C": 0.5}}},
            role="control",
        ),
    ),
    derivation=Derivation(
        text=(
            "Let $N = norm(A) = 1$, $F = norm(A)_F >= 1$. With eigenvalues $a_j$ the logarithm of $EE e^(l (q - EE "
            "q))$ is the sum of $-1/2 log(1 - 2 l a_j) - l a_j$, each at most $a_j^2$ times its value at $a = 1$; at "
            "$l = tau\\/(2 (1 + tau))$, $t = F^2 tau$, the exponent is at least $F^2 (tau - log(1 + tau))\\/2$, at "
            "least $c F^2 min{tau^2, tau} >= c min{t^2\\/F^2, t}$ with $c = 0.1457 >= 1\\/8$ (first check). For $A >= "
            '0$ the sum is also at most $l^2 F^2\\/(1 - 2 l N)$ (step 1 of the third), so $q <= op("Tr") A + 2 F '
            'sqrt(L) + 2 N L$ but for $e^(-L) = rho$ (second check), where $F <= op("Tr") A$ and $L > 1$: at most 3 '
            'times $op("Tr") A sqrt(L) + N L$, and 6 times $op("Tr") A L$.'
        ),
        lemmas=("Markov", "independence", "monotony"),
    ),
)
