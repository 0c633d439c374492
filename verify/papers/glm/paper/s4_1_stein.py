"""(1), Lemmas 5 and 6, Theorem 21: the scale that Stein's lemma gives, and the radius of Gaussian records."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import mpmath
import numpy as np
import sympy
from scipy import stats

from dpbounds import DomainError
from dpbounds.glm import LINKS, bounds, privacy, scale
from verify.checks import Agreement, Fact, Holds, Search, Symbolic
from verify.checks.domains import Real
from verify.statements.claims import Claim
from verify.statements.derivations import Derivation

# Typed as a number or a tuple.
_quad: Any = mpmath.quad


_OFF = {"1 % off": {"facts": {"factor": 1.01}}}


# --- (1) ---

PHI: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "logistic": lambda z: np.logaddexp(0.0, z),
    "boosting": lambda z: z / 2 + np.sqrt(1 + z * z / 4),
    "poisson": np.exp,
}


def _plane() -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Hermite points of N(0, Sigma) in the plane and their weights."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    weights = weights / weights.sum()
    grid = np.array(list(itertools.product(nodes, nodes)))
    return grid @ np.linalg.cholesky(np.array([[1.3, 0.4], [0.4, 0.7]])).T, np.outer(weights, weights).ravel()


def _stationary(rng: np.random.Generator, *, factor: float = 1.0) -> Iterator[Fact | Holds]:
    """The objective's gradient, by differences, is E[x (mu(<x, w>) - mu(z))]: 0 at w*, with a positive Hessian."""
    x, mass = _plane()
    w_star = np.array([0.6, -0.5])
    for name, phi in PHI.items():
        link = LINKS[name]
        y = factor * link.mean(x @ w_star)

        def objective(w: np.ndarray, phi: Any = phi, y: np.ndarray = y) -> float:
            return float(mass @ (phi(x @ w) - y * (x @ w)))

        step = 1e-5
        for w in (w_star, np.array([0.1, 0.3])):
            shift = np.eye(2) * step
            numeric = [(objective(w + e) - objective(w - e)) / (2 * step) for e in shift]
            stated = x.T @ (mass * (link.mean(x @ w) - link.mean(x @ w_star)))
            yield Fact(f"{name}: gradient at {w.tolist()}", np.array(numeric) + 1.0, stated + 1.0, 1e-8)
        hessian = (x.T * (mass * link.slope(x @ w_star))) @ x
        yield Holds(f"{name}: Hessian is positive definite", bool(np.linalg.eigvalsh(hessian)[0] > 0))


EQ_1 = Claim(
    id="glm/eq-1",
    where="(1)",
    kind="identity",
    statement=(
        '$w^* = op("argmin")_w bb(E)[Phi(chevron.l x, w chevron.r) - y chevron.l x, w chevron.r]$ is the parameter '
        "of $p(y|psi) = e^(psi y - Phi(psi)) h(y)$, $psi = chevron.l x, w^* chevron.r$, $y in [0, 1]$."
    ),
    equation="(1)",
    remark=(
        "$y in [0, 1]$ fits the logistic link; Poisson labels are unbounded, and the boosting $Phi$ has no such "
        "family (Theorem 20)."
    ),
    checks=(Agreement(facts=_stationary, impostors=_OFF),),
)


# --- Lemma 5 ---


def _fixed_points(rng: np.random.Generator, *, links: tuple[str, ...], factor: float = 1.0) -> Iterator[Fact | Holds]:
    """E[W mu(t W)] = t E mu'(t W) by independent quadrature, and the root that is shipped."""
    mean = {
        "logistic": lambda z: 1 / (1 + mpmath.exp(-z)),
        "boosting": lambda z: mpmath.mpf("0.5") + z / (4 * mpmath.sqrt(1 + z * z / 4)),
        "poisson": mpmath.exp,
        "cubic": lambda z: z**3 / 3,
        "softplus": lambda z: mpmath.log1p(mpmath.exp(-z)),
        "sigmoid": lambda z: 1 / (1 + mpmath.exp(-z)),
    }
    for name, mu in ((name, mean[name]) for name in links):
        for q in (0.25, 25.0):
            t = math.sqrt(q)
            with mpmath.workdps(25):
                pieces = [-20, -8, -4, -2, 0, 2, 4, 8, 12, 20]
                left = float(_quad(lambda w, t=t, mu=mu: w * mu(t * w) * mpmath.npdf(w), pieces))
            shown = factor * float(scale.constant(name, q))
            yield Fact(f"{name}, q = {q:g}", shown, t / left, 1e-11)
            if abs(left) < 0.999 * scale.supremum(name):
                covariance = np.array([[2.0, 0.3], [0.3, 0.5]])
                w = np.array([1.0, -0.7])
                w *= t / math.sqrt(float(w @ covariance @ w))
                root = factor * float(scale.root(name, left / t * w, covariance))
                yield Fact(f"{name}, q = {q:g}: root at w_ols = w* / c", root, t / left, 1e-8)
    for name in (name for name in links if math.isfinite(scale.supremum(name))):
        for s, exists in ((0.3989, True), (0.3990, False)):
            try:
                found = scale.inverse(name, s) > 0
            except DomainError:
                found = False
            if name == "logistic" or not exists:
                verb = "exists" if exists else "does not exist"
                yield Holds(f"{name}: a root at s = {s} {verb}", found is exists)
        h = [scale.stein(name, t) for t in np.linspace(0.01, 30.0, 200)]
        yield Holds(f"{name}: h increases, so one fixed point", bool(np.all(np.diff(h) > 0)))
    yield Fact("supremum", factor * scale.supremum("logistic"), 1 / math.sqrt(2 * math.pi))


LEM_5 = Claim(
    id="glm/lem-5",
    where="Lemma 5",
    kind="identity",
    statement=(
        '$x tilde cal(N)(0, Sigma)$: $w^* = c_Phi w^"ols"$ with $c_Phi$ the fixed point of $zeta |-> 1\\/bb(E) '
        "Phi''(zeta chevron.l x, w^\"ols\" chevron.r)$."
    ),
    hypotheses="$bb(E) Phi'' != 0$",
    equation="Lemma 5",
    remark=(
        "For $Phi'' > 0$ it is the only one, and one exists for $norm(Sigma^(1\\/2) w^\"ols\") < (Phi'(infinity) - "
        "Phi'(-infinity))\\/sqrt(2 pi)$ only."
    ),
    checks=(Agreement(facts=partial(_fixed_points, links=("logistic", "boosting", "poisson")), impostors=_OFF),),
)


THM_21 = Claim(
    id="glm/thm-21",
    where="Theorem 21, D.1",
    kind="identity",
    statement=(
        'Gaussian $x$: $w^* = c_f w^"ols"$, $c_f$ the fixed point of $zeta |-> 1\\/bb(E) f\'(zeta chevron.l x, '
        'w^"ols" chevron.r)$.'
    ),
    hypotheses="$bb(E) f' != 0$",
    equation="Theorem 21",
    remark="For links that are not monotone there may be several fixed points; $c_f$ is one of them.",
    checks=(Agreement(facts=partial(_fixed_points, links=("cubic", "softplus", "sigmoid")), impostors=_OFF),),
)


# --- Lemma 6 and the radius ---


def _chi_square(p: float, t: float, *, factor: float = 1.0) -> tuple[float, float]:
    size = round(p)
    bound = factor * float(bounds.norm_quantile(np.ones(size), t))
    return float(stats.chi2.sf(bound, size)), math.exp(-t)


def _ellipse(ratio: float, t: float, *, factor: float = 1.0) -> tuple[float, float]:
    """p = 2, eigenvalues 1 and `ratio`: P = mean over angles of exp(-b / (2 (cos^2 + ratio sin^2)))."""
    bound = factor * float(bounds.norm_quantile(np.array([1.0, ratio]), t))
    angle = (np.arange(4000) + 0.5) * math.pi / 4000
    return float(np.mean(np.exp(-bound / (2 * (np.cos(angle) ** 2 + ratio * np.sin(angle) ** 2))))), math.exp(-t)


def _chernoff(*, power: int = 2) -> Iterator[tuple[Any, ...]]:
    """The derivative of u^2 / (1 - 2 u) - (-log(1 - 2 u) / 2 - u) is 2 u^2 / (1 - 2 u)^2, and the exponent at lambda =
    s / (1 + c s) is -t, where s = sqrt(t / v), so t = v s^2 and the threshold 2 sqrt(v t) + c t is 2 v s + c v s^2.
    """
    u, s, c, v = sympy.symbols("u s c v", positive=True)
    gap: Any = sympy.diff(u**2 / (1 - 2 * u) + sympy.log(1 - 2 * u) / 2 + u, u)
    yield "derivative", gap, 2 * u**power / (1 - 2 * u) ** 2
    at = s / (1 + c * s)
    yield "exponent", at**2 * v / (1 - c * at) - at * (2 * v * s + c * v * s**2) + v * s**2


LEM_6 = Claim(
    id="glm/lem-6",
    where="Lemma 6",
    kind="inequality",
    statement=(
        '$x tilde cal(N)(0, Sigma)$, all $t > 0$: $P(norm(x)^2 >= op("Tr") Sigma + 2 sqrt(t op("Tr") Sigma^2) + 2 '
        "t norm(Sigma)) <= e^(-t)$."
    ),
    equation="(2)",
    setting="$Sigma = I$ by the incomplete gamma function, $p = 2$ with two eigenvalues by quadrature.",
    checks=(
        Search(
            sides=_chi_square,
            box={"p": Real(1.0, 200.0), "t": Real(0.01, 50.0, "log")},
            evaluations=2000,
            impostors={"15 % less": {"sides": {"factor": 0.85}}},
            role="control",
        ),
        Search(
            sides=_ellipse,
            box={"ratio": Real(1e-3, 1.0, "log"), "t": Real(0.01, 50.0, "log")},
            evaluations=600,
            impostors={"25 % less": {"sides": {"factor": 0.75}}},
            role="control",
        ),
        Symbolic(residuals=_chernoff, impostors={"u for u^2": {"residuals": {"power": 1}}}),
    ),
    derivation=Derivation(
        text=(
            "$norm(x)^2 = sum_i lambda_i g_i^2$ with independent standard normal $g_i$. For $0 <= u < 1\\/2$: $log "
            "bb(E) e^(u (g^2 - 1)) = -1\\/2 log(1 - 2 u) - u <= u^2\\/(1 - 2 u)$, equal at 0 and then with the larger "
            'derivative. With $v = op("Tr") Sigma^2$, $c = 2 norm(Sigma)$ and $lambda < 1\\/c$, the sum over '
            '$u = lambda lambda_i$ is $log bb(E) e^(lambda (norm(x)^2 - op("Tr") Sigma)) <= lambda^2 v\\/(1 - c '
            "lambda)$. At $lambda = s\\/(1 + c s)$, $s = sqrt(t\\/v)$, that less $lambda (2 sqrt(v t) + c t)$ is $-t$."
        ),
        lemmas=("spectral theorem", "independence", "monotony", "Markov"),
    ),
)


def _radius(p: float, failure: float, n: float, *, factor: float = 1.0) -> tuple[float, float]:
    """(P(some of n records is beyond the radius), failure), Sigma = I."""
    size, records = round(p), max(round(n), 1)
    bound = (factor * privacy.radius(1.0, size, records, failure)) ** 2
    return float(-np.expm1(records * np.log1p(-stats.chi2.sf(bound, size)))), failure


def _room(*, factor: int = 5) -> Iterator[tuple[str, sympy.Expr]]:
    """5 p t - p - 2 sqrt(p t) - 2 t for p = (1 + a)^2, t = (1 + b)^2."""
    a, b = sympy.symbols("a b", positive=True)
    yield (
        "5 p t - (p + 2 sqrt(p t) + 2 t)",
        (factor * ((1 + a) * (1 + b)) ** 2 - (1 + a) ** 2 - 2 * (1 + a) * (1 + b) - 2 * (1 + b) ** 2),
    )


SEC41_RADIUS = Claim(
    id="glm/sec4.1-radius",
    where="after Lemma 6",
    kind="inequality",
    statement=(
        r"With probability $1 - zeta$, $norm(x) <= sqrt(5 p norm(Sigma) log(1\/zeta))$ for a fixed $x$;",
        r"and $norm(x_i) <= sqrt(5 p norm(Sigma) log(n\/zeta))$ for the sample.",
    ),
    equation="after (2)",
    hypotheses="$zeta <= 1\\/e$",
    setting="$Sigma = I$, $p$ to 200, $n$ to $10^6$.",
    remark=(
        "For $zeta <= 1\\/e$ (for $p >= 2$ not at $zeta$ next to 1); the sample's radius needs no more for $n >= 3$. "
        "Far from sharp: $p log$ where $p + log$ would do."
    ),
    checks=(
        Search(
            decides="ab",
            sides=_radius,
            box={"p": Real(1.0, 200.0), "failure": Real(1e-12, math.exp(-1.0), "log"), "n": Real(1.0, 1e6, "log")},
            extremal=lambda: ({"p": 200.0, "failure": math.exp(-1.0), "n": 1.0}, {"p": 1.0, "failure": 0.3, "n": 1.0}),
            evaluations=1500,
            impostors={"half the radius": {"sides": {"factor": 0.5}}},
            role="control",
        ),
        Symbolic(decides="ab", nonnegative=_room, impostors={"4 for 5": {"nonnegative": {"factor": 4}}}),
    ),
    derivation=Derivation(
        text=(
            'Lemma 6 at $t = log(1\\/zeta) >= 1$, with $op("Tr") Sigma <= p norm(Sigma)$ and $op("Tr") Sigma^2 <= p '
            "norm(Sigma)^2$: $norm(x)^2 <= norm(Sigma) (p + 2 sqrt(p t) + 2 t) <= 5 p t norm(Sigma)$ with probability "
            "$1 - zeta$. For the sample the same at $zeta\\/n$, record by record."
        ),
        lemmas=("spectral theorem", "union bound"),
    ),
)
