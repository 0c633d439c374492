"""Definition 23 and Appendices D.1, D.2: Stein's lemma and zero-bias laws."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import sympy
from scipy.special import roots_legendre

from dpbounds.glm import LINKS, TwoPointDesign, least_squares, scale
from verify.checks import Agreement, Fact, Symbolic, Within
from verify.statements.claims import Claim
from verify.statements.derivations import Derivation

# Skewed and symmetric coordinates of variance 1: (high, low, probability of high).
COORDINATES = ((1.0, -1.0, 0.5), (2.0, -0.5, 0.2), (3.0, -1.0 / 3.0, 0.1))


def _zero_bias(rng: np.random.Generator, *, factor: float = 1.0) -> Iterator[Fact]:
    """Density sigma^{-2} E[z 1{z > u}]: E[z g(z)] = sigma^2 E g'(z*) for monomials; uniform for two points, N for N."""
    for high, low, share in COORDINATES:
        variance = share * high**2 + (1 - share) * low**2
        for k in range(1, 7):
            left = share * high ** (k + 1) + (1 - share) * low ** (k + 1)
            right = factor * variance * (high**k - low**k) / (high - low)  # z* uniform on [low, high]
            yield Fact(f"two points ({high:.3g}, {low:.3g}), z^{k}", left, right)
    for k in range(1, 7):
        half = 1.0  # uniform on [-1, 1]: density of z* is 3 (1 - u^2) / 4
        left = 0.0 if (k + 1) % 2 else half / (k + 2)
        power = k - 1
        right = 0.0 if power % 2 else factor / 3 * k * 3 / 4 * 2 * (1 / (power + 1) - 1 / (power + 3))
        yield Fact(f"uniform, z^{k}", left, right)
    for k in (2, 4, 6):
        left = math.prod(range(k - 1, 0, -2))
        yield Fact(f"normal, z^{k - 1}", left, factor * (k - 1) * math.prod(range(k - 3, 0, -2)))


def _uniform_between(power: int = 1) -> Iterator[tuple[str, sympy.Expr, sympy.Expr]]:
    """E z^{k+1} of the law on h and -l of mean 0 against h l times the mean of k u^{k-1} on [-l, h]."""
    h, l = sympy.symbols("h l", positive=True)
    for k in range(1, 7):
        left = l / (h + l) * h ** (k + 1) + h / (h + l) * (-l) ** (k + 1)
        yield f"$z^{k}$", left, (h * l) ** power * (h**k - (-l) ** k) / (h + l)


TWO_POINTS = Symbolic(residuals=_uniform_between, impostors={"sigma^4": {"residuals": {"power": 2}}})
ZERO_BIAS = (
    "$z^*$ has the density $sigma^(-2) bb(E) z bold(1)(z > u)$, which is not negative, as $bb(E) z bold(1)(z <= u)$ is "
    "its negative: $bb(E) z (g(z) - g(0)) = integral g'(u) bb(E) z (bold(1)(z > u) - bold(1)(u < 0)) dif u = sigma^2 "
    "bb(E) g'(z^*)$, and $g(v) = v$ gives it the mass 1 (for two points it is uniform between them, as checked for "
    "monomials). "
)

DEF_23 = Claim(
    id="glm/def-23",
    where="Definition 23",
    kind="identity",
    statement=(
        (
            "Mean 0, variance $sigma^2$: there is $z^*$ with $bb(E)[z g(z)] = sigma^2 bb(E)[g'(z^*)]$ for all "
            "differentiable $g$;"
        ),
        "for Gaussian $z$, $z^* = z$ in law.",
    ),
    equation="Definition 23",
    checks=(
        TWO_POINTS.deciding("ab"),
        Agreement(decides="ab", facts=_zero_bias, impostors={"1 % off": {"facts": {"factor": 1.01}}}, role="control"),
    ),
    derivation=Derivation(
        text="(a) " + ZERO_BIAS + "(b) $bb(E) z bold(1)(z > u)$ is $sigma^2$ times the density of a normal $z$ at $u$.",
        lemmas=("linearity", "Stein"),
    ),
)

# --- D.1: Stein's lemma ---


def _gradients(*, sign: int = -1) -> Iterator[tuple[str, sympy.Expr]]:
    x, y, a, b, c = sympy.symbols("x y a b c", real=True)
    matrix = sympy.Matrix([[a, b], [b, c]])
    inverse = matrix.inv()
    point = sympy.Matrix([x, y])
    density = sympy.exp(-(point.T * inverse * point)[0] / 2)
    for k, variable in enumerate((x, y)):
        stated = sign * (inverse * point)[k] * density
        yield f"component {k + 1}", sympy.simplify((sympy.diff(density, variable) - stated) / density)


def _stein(rng: np.random.Generator, *, factor: float = 1.0) -> Iterator[Fact]:
    """Sigma^{-1} E[x f(z)] by Gauss-Hermite in two dimensions against E f'(z) w."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    weights = weights / weights.sum()
    grid, mass = np.array(list(itertools.product(nodes, nodes))), np.outer(weights, weights).ravel()
    covariance = np.array([[1.3, 0.4], [0.4, 0.7]])
    w = np.array([0.6, -0.9])
    x = grid @ np.linalg.cholesky(covariance).T
    for name in ("sigmoid", "cubic", "softplus", "logistic"):
        link = LINKS[name]
        left = np.linalg.solve(covariance, x.T @ (mass * link.mean(x @ w)))
        q = float(w @ covariance @ w)
        yield Fact(f"{name}: w_ols", left, factor * w / float(scale.constant(link, q)), 1e-10)


D1 = Claim(
    id="glm/d1",
    where="D.1",
    kind="identity",
    statement=(
        "$nabla_x phi.alt(x; Sigma) = -Sigma^(-1) x phi.alt$ and integration by parts: $bb(E)[x f(z)] = Sigma w^* "
        "bb(E) f'(z)$."
    ),
    equation="D.1",
    checks=(
        Symbolic(residuals=_gradients, impostors={"other sign": {"residuals": {"sign": 1}}}),
        Agreement(facts=_stein, impostors={"1 % off": {"facts": {"factor": 1.01}}}, role="control"),
    ),
    derivation=Derivation(
        text=(
            "$log phi.alt = -x^top Sigma^(-1) x\\/2$ and a constant, and a quadratic form with a symmetric matrix has "
            "the gradient $-Sigma^(-1) x$, for every $p$. So $Sigma^(-1) bb(E)[x f(z)] = -integral f(chevron.l x, w^* "
            "chevron.r) nabla phi.alt = integral phi.alt nabla f(chevron.l x, w^* chevron.r) = w^* bb(E) f'(z)$."
        ),
        lemmas=("Stein",),
    ),
)

# --- D.2: the least squares direction by zero-bias laws ---


def _by_zero_bias(link: str, w: np.ndarray, high: float, low: float, share: float) -> np.ndarray:
    """D w with D_jj = E f'(v_j* w_j + V_j): v_j* uniform on [low, high] (Legendre), V_j by enumeration."""
    nodes, weights = roots_legendre(40)
    uniform, mass = (low + high) / 2 + (high - low) / 2 * nodes, weights / 2
    result = np.empty(len(w))
    for j in range(len(w)):
        rest = np.delete(w, j)
        outcomes = np.array(list(itertools.product([high, low], repeat=len(rest))))
        chance = np.where(outcomes == high, share, 1 - share).prod(axis=1)
        z = (outcomes @ rest)[:, None] + uniform * w[j]
        result[j] = w[j] * float(chance @ (LINKS[link].slope(z) @ mass))
    return result


def _directions(rng: np.random.Generator, *, factor: float = 1.0) -> Iterator[Fact]:
    w = np.array([0.9, -0.4, 0.4, 0.2, 1.5])
    for high, low, share in COORDINATES:
        for size in (1.0, 0.3):
            design = TwoPointDesign(p=5, high=size * high, low=size * low, probability=share)
            for link in ("sigmoid", "cubic", "softplus"):
                exact = least_squares(link, w, design)
                zero_bias = _by_zero_bias(link, w, size * high, size * low, share)
                yield Fact(f"{link}, ({high:.3g}, {low:.3g}) times {size:g}", exact, factor * zero_bias, 1e-12)


D2_ZB = Claim(
    id="glm/d2-zb",
    where="D.2",
    kind="identity",
    statement=(
        '$w^"ols" = Sigma^(-1\\/2) cal(D) Sigma^(1\\/2) w^*$, $cal(D)$ diagonal, $cal(D)_(j j) = bb(E) f\'((v_j^* - '
        "v_j) hat(w)_j^* + chevron.l v, hat(w)^* chevron.r)$."
    ),
    hypotheses="Assumption 1",
    equation="D.2",
    setting="Independent two-point coordinates, $p = 5$.",
    checks=(
        TWO_POINTS,
        Agreement(facts=_directions, impostors={"1 % off": {"facts": {"factor": 1.01}}}, role="control"),
    ),
    derivation=Derivation(
        text=(
            "With $x = Sigma^(1\\/2) v$, $hat(w)^* = Sigma^(1\\/2) w^*$, Definition 23 for $g(v_j) = f(v_j hat(w)_j^* "
            "+ r)$ given the rest $r = sum_(k != j) hat(w)_k^* v_k$, of which mean and variance 1 of $v_j$ do not "
            "depend (Assumption 1), and the mean over it: $bb(E) v_j f(chevron.l v, hat(w)^* chevron.r) = hat(w)_j^* "
            "cal(D)_(j j)$. So "
            '$w^"ols" = Sigma^(-1) Sigma^(1\\/2) bb(E) v f = Sigma^(-1\\/2) cal(D) hat(w)^*$. ' + ZERO_BIAS
        ),
        lemmas=("total expectation", "linearity"),
    ),
)


MOMENT = (
    "Definition 23 for $g(v) = v abs(v)\\/2$, given $sum_(k != j) hat(w)_k^* v_k$, and the mean over it: $bb(E) "
    "abs(v_j^*) = bb(E) abs(v_j)^3\\/2$. With $bb(E) v_j^2 = 1$ one has $bb(E) abs(v_j) <= 1 <= bb(E) abs(v_j)^3$, so "
    "$bb(E) abs(v_j^* - v_j) <= bb(E) abs(v_j^*) + bb(E) abs(v_j) <= 1.5 bb(E) abs(v_j)^3 <= 1.5 (sqrt(3) kappa)^3 <= "
    "8 kappa^3$, the third step by Definition 1 at $m = 3$. $cal(D)_(j j)$ and $1\\/c_f = bb(E) f'(chevron.l v, "
    "hat(w)^* chevron.r)$, $hat(w)^* = Sigma^(1\\/2) w^*$, differ by at most $G abs(hat(w)_j^*) bb(E) abs(v_j^* - "
    "v_j)$. "
)


def _couplings(rng: np.random.Generator, *, third: float = 1.5, constant: float = 8.0) -> Iterator[Within]:
    """E|v* - v| for independent v*, v, the dearest coupling tried, against 1.5 E|v|^3 and 8 kappa^3."""
    for high, low, share in COORDINATES:
        cubes = share * high**3 + (1 - share) * abs(low) ** 3
        spread = sum(
            chance * ((high - value) ** 2 + (value - low) ** 2) / (2 * (high - low))
            for value, chance in ((high, share), (low, 1 - share))
        )
        orders = np.linspace(1.0, 60.0, 2000)
        moments = share * high**orders + (1 - share) * abs(low) ** orders
        kappa = float(np.max(moments ** (1 / orders) / np.sqrt(orders)))
        label = f"two points ({high:.3g}, {low:.3g})"
        yield Within(f"{label}: E|v* - v| over E|v|^3", spread / cubes, 0.0, third)
        yield Within(f"{label}: 1.5 E|v|^3 over kappa^3", 1.5 * cubes / kappa**3, 0.0, constant)
    product = 1.5 * 3**1.5
    yield Within("1.5 3^(3/2)", product, 0.0, constant, numbers={"product": product})


def _diagonal(rng: np.random.Generator, *, constant: float = 8.0) -> Iterator[Within]:
    """|D_jj - E f'(z)| over G kappa^3 max|w_j| size: independent coordinates, D_jj by zero-bias laws, kappa = 1 for
    signs; small and large w, all weight on one coordinate or equal on all.
    """
    high, low, share = COORDINATES[0]
    for link, size, w in itertools.product(
        ("sigmoid", "softplus", "cubic"), (0.1, 1.0), (np.ones(5), np.r_[2.0, np.zeros(4)], np.r_[0.1, np.ones(4)])
    ):
        design = TwoPointDesign(p=5, high=size * high, low=size * low, probability=share)
        mean = design.mean_of(LINKS[link].slope, w)
        kept = w != 0
        diagonal = _by_zero_bias(link, w, size * high, size * low, share)[kept] / w[kept]
        reach = size * float(np.abs(w).sum())
        lipschitz = float(np.abs(LINKS[link].curvature(np.linspace(-reach, reach, 2001))).max())
        ratio = float(np.abs(diagonal - mean).max()) / (lipschitz * size * float(np.abs(w).max()))
        label = f"{link}, size {size:g}, w from {w[0]:g} to {w[-1]:g}"
        yield Within(f"{label}: |D_jj - E f'| over G max|w|, kappa = 1", ratio, 0.0, constant)


def _largest(*, constant: int = 8) -> Iterator[tuple[str, sympy.Expr]]:
    """The square of 8 less that of 1.5 3^(3/2)."""
    yield "8^2 - (1.5 3^(3/2))^2", sympy.Integer(constant) ** 2 - sympy.Rational(9, 4) * 27


def _antiderivative(*, share: int = 2) -> Iterator[tuple[Any, ...]]:
    """g(v) = v |v| / 2 has g' = |v|, on either side of 0: E |v*| = E v g(v) = E |v|^3 / 2."""
    v = sympy.Symbol("v", positive=True)
    for sign in (1, -1):
        derivative: Any = sympy.diff(sign * v**2 / share, v)
        yield f"side {sign}", derivative, sign * v


COUPLED = Symbolic(
    residuals=_antiderivative,
    nonnegative=_largest,
    impostors={"7 for 8": {"nonnegative": {"constant": 7}}, "v |v| / 3": {"residuals": {"share": 3}}},
)


D2_MOMENT = Claim(
    id="glm/d2-moment",
    where="D.2",
    kind="inequality",
    statement=(
        "$bb(E) abs(v_j^* - v_j) <= 1.5 bb(E) abs(v_j)^3 <= 8 kappa^3$;",
        r"hence $abs(cal(D)_(j j) - 1\/c_f) <= 8 G kappa^3 norm(Sigma^(1\/2) w^*)_infinity$.",
    ),
    equation="D.2",
    remark=(
        "Any coupling: $bb(E) abs(v^*) = bb(E) abs(v)^3\\/2$, and $bb(E) abs(v) <= 1 <= bb(E) abs(v)^3$ for variance "
        "1; $1.5 dot 3^(3\\/2) = {product:3}$."
    ),
    checks=(
        Agreement(
            decides="a",
            facts=_couplings,
            impostors={"0.3 E|v|^3": {"facts": {"third": 0.3}}, "7.7 kappa^3": {"facts": {"constant": 7.7}}},
            role="control",
        ),
        Agreement(
            decides="b", facts=_diagonal, impostors={"a thirtieth": {"facts": {"constant": 0.25}}}, role="control"
        ),
        COUPLED.deciding("ab"),
    ),
    derivation=Derivation(text=MOMENT, lemmas=("triangle inequality", "Jensen", "total expectation")),
)
