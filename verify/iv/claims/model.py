"""Section 2.2: the linear model, two-stage least squares, and what the assumptions do and do not give."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np
import sympy
from scipy.optimize import root_scalar
from scipy.special import gammaln, log_ndtr, ndtr

from simulators.engine import Experiment
from simulators.iv import Settings, synthetic_model, two_stage_descent
from verify.checks import Agreement, Event, Fact, Frequency, Rate, Search, Symbolic
from verify.claims import Claim, Correction
from verify.domains import Real, Whole

# --- the model ---


def _substitution(sign: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """(1) with p = 2, q = 3, all entries symbols."""
    z, theta = sympy.Matrix(sympy.symbols("z:3")), sympy.Matrix(3, 2, sympy.symbols("theta:6"))
    beta, e2, e1 = sympy.Matrix(sympy.symbols("beta:2")), sympy.Matrix(sympy.symbols("e:2")), sympy.Symbol("f")
    x = theta.T * z + e2
    y = (beta.T * x)[0] + e1
    yield "y", y - (z.T * theta * beta)[0] - sign * (e2.T * beta)[0] - e1


# --- (2) and 2SLS in exact rationals ---

# X = (z_1 + u_1, z_1 + u_2) with u_1, u_2 orthogonal to Z: q = 3 > p = 2, both of full rank, Z'X of rank 1.
UNIDENTIFIED = (
    sympy.Matrix(5, 3, lambda i, j: int(i == j)),
    sympy.Matrix([[1, 1], [0, 0], [0, 0], [1, 0], [0, 1]]),
    sympy.Matrix([3, 1, 2, 0, 1]),
)


def _two_stage(Z: sympy.Matrix, X: sympy.Matrix, Y: sympy.Matrix) -> tuple[sympy.Matrix, sympy.Matrix]:
    """Theta_hat and beta_hat as Def. 2.3 has them."""
    theta = (Z.T * Z).inv() * Z.T * X
    return theta, (theta.T * Z.T * Z * theta).inv() * theta.T * Z.T * Y


def _data_sets(rng: np.random.Generator) -> Iterator[tuple[str, sympy.Matrix, sympy.Matrix, sympy.Matrix]]:
    """Integer data sets with Z'Z invertible and Z'X of rank p, q > p and q = p."""
    for n, q, p in ((4, 2, 1), (5, 3, 2), (6, 2, 2), (7, 4, 2), (8, 3, 3)):
        Z, X, Y = (sympy.Matrix(rng.integers(-3, 4, size=(n, k)).tolist()) for k in (q, p, 1))
        if Z.rank() == q and (Z.T * X).rank() == p:
            yield f"n = {n}, q = {q}, p = {p}", Z, X, Y


def _first_order(rng: np.random.Generator, *, one_stage: bool = False) -> Iterator[Fact]:
    """Gradients of both levels vanish, and every move of beta raises the outer objective: its Hessian is definite."""
    for label, Z, X, Y in _data_sets(rng):
        theta, beta = _two_stage(Z, X, Y)
        if one_stage:
            _, beta = _two_stage(X, X, Y)
        fitted = Z * theta
        yield Fact(f"{label}: inner gradient", (Z.T * (fitted - X)).flat(), [0] * (Z.cols * X.cols), 0)
        yield Fact(f"{label}: outer gradient", (fitted.T * (fitted * beta - Y)).flat(), [0] * X.cols, 0)
        yield Fact(f"{label}: outer Hessian positive definite", bool((fitted.T * fitted).is_positive_definite), True, 0)


def _closed_form_at_unidentified(rng: np.random.Generator) -> Iterator[Fact]:
    Z, X, _ = UNIDENTIFIED
    theta = (Z.T * Z).inv() * Z.T * X
    shown = "Z = (e1, e2, e3), X = (e1 + e4, e1 + e5) in R^5"
    yield Fact(f"{shown}: rank of Z and of X", [Z.rank(), X.rank()], [3, 2], 0)
    yield Fact(f"{shown}: rank of the 2 x 2 matrix that 2SLS inverts", (theta.T * Z.T * Z * theta).rank(), 2, 0)


def _projection_form(rng: np.random.Generator, *, projected: bool = True) -> Iterator[Fact]:
    """(X'PX)^{-1} X'PY, P the projection onto the columns of Z from an orthogonal basis of theirs."""
    for label, Z, X, Y in _data_sets(rng):
        basis = sympy.GramSchmidt([Z.col(j) for j in range(Z.cols)])
        parts = [column * column.T / column.dot(column) for column in basis]
        P = sum(parts, sympy.zeros(Z.rows)) if projected else sympy.eye(Z.rows)
        predicted = (X.T * P * X).LUsolve(X.T * P * Y)
        yield Fact(label, _two_stage(Z, X, Y)[1].flat(), predicted.flat(), 0)


# --- Assumption 1 ---


def _small_data_sets() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """All Z (3 x 2, full rank) and X (3 x 1, not 0) with entries -1, 0, 1: condition (i) with q = 2 > p = 1."""
    designs = np.array(list(product((-1, 0, 1), repeat=6))).reshape(-1, 3, 2)
    for Z in designs[::7]:
        if np.linalg.matrix_rank(Z) == 2:
            yield from ((Z, np.array(x)) for x in product((-1, 0, 1), repeat=3) if any(x))


def _curvature(Z: np.ndarray, x: np.ndarray) -> Fraction:
    """n times the second derivative of beta -> min in (2): x'Z adj(Z'Z) Z'x / det(Z'Z), 0 if every beta is optimal."""
    (a, b), (_, d) = (Z.T @ Z).tolist()
    g, h = (Z.T @ x).tolist()
    return Fraction(d * g * g - 2 * b * g * h + a * h * h, a * d - b * b)


def _uniqueness_as_printed(rng: np.random.Generator) -> Iterator[Fact]:
    Z, x = np.array([[1, 0], [0, 1], [0, 0]]), np.array([0, 0, 1])
    yield Fact("condition (i) at Z = (e1, e2), X = e3 in R^3: (2) has one solution", _curvature(Z, x) > 0, True, 0)


def _uniqueness_with_correlation(rng: np.random.Generator) -> Iterator[Fact]:
    """At `UNIDENTIFIED` the objective depends on beta_1 + beta_2 alone, though x is correlated with z."""
    Z, X, Y = UNIDENTIFIED
    fitted = Z * (Z.T * Z).inv() * Z.T * X
    rests = [Y - fitted * sympy.Matrix(beta) for beta in ([1, 2], [2, 1], [3, 0])]
    label = "Z = (e1, e2, e3), X = (e1 + e4, e1 + e5), Y = (3, 1, 2, 0, 1): minimisers among (1, 2), (2, 1), (3, 0)"
    yield Fact(label, [rest.dot(rest) for rest in rests].count(6), 1, 0)


def _uniqueness_corrected(rng: np.random.Generator, *, ranks_of_data: bool = False) -> Iterator[Fact]:
    """Unique exactly where Z'X is not 0 (p = 1), by the curvature of the objective; then q = p and larger ones."""
    sets = list(_small_data_sets())
    unique = [_curvature(Z, x) > 0 for Z, x in sets]
    stated = [True if ranks_of_data else bool(np.any(Z.T @ x)) for Z, x in sets]
    yield Fact(f"{len(sets)} data sets with n = 3, q = 2, p = 1: unique exactly if Z'X has rank 1", unique, stated, 0)
    found, rule = [], []
    for _ in range(60):
        Z, X = (sympy.Matrix(rng.integers(-1, 2, size=(4, 2)).tolist()) for _ in range(2))
        if Z.rank() == X.rank() == 2:
            fitted = Z * (Z.T * Z).inv() * Z.T * X
            found.append(bool((fitted.T * fitted).det() > 0))
            rule.append(True if ranks_of_data else (Z.T * X).rank() == 2)
    yield Fact(f"{len(found)} data sets with n = 4, q = p = 2: unique exactly if Z'X has rank 2", found, rule, 0)


# --- Assumption 2 ---


def _dependent_errors(decades: float) -> Iterator[tuple[str, float]]:
    """z = +-1 and e_2 = z / 2: Z'E_2 = n / 2 for every sample, over sigma_z sigma_2 sqrt(n) with sigma_2 = 1/2."""
    yield "e_2 = z / 2, z = 1 or -1", math.sqrt(10.0**decades)


def _least_proxy(proxy: sympy.Expr | int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """E e^{u z} - e^{u^2 s / 2} = (1 - s) u^2 / 2 + O(u^3) for unit variance: s = sigma_z^2 < 1 fails at small u."""
    u, third = sympy.symbols("u m_3", real=True)
    difference = 1 + u**2 / 2 + third * u**3 / 6 - sympy.series(sympy.exp(u**2 * proxy / 2), u, 0, 4).removeO()
    yield "coefficient of u^2 at sigma_z = 1", sympy.expand(difference).coeff(u, 2)


def _log_tail_of_products(n: float, s: float) -> float:
    """log P(|sum_i z_i e_i| > s) for independent standard normals: given z it is N(0, |z|^2), |z|^2 chi-squared."""
    half = min(6.0, 14.0 * math.sqrt(2.0 / n))
    x = math.log(n) + np.linspace(-half, half, 401)
    density = n / 2 * (x - math.log(2)) - np.exp(x) / 2 - gammaln(n / 2) + math.log(x[1] - x[0])
    return float(np.logaddexp.reduce(density + math.log(2) + log_ndtr(-s * np.exp(-x / 2))))


def _log_tail_of_signs(n: float, s: float) -> float:
    """log of 2 e^{-s^2 / (2n)} >= P(|S| > s), S a sum of n signs: z = +-1 and e_2 = z times an independent sign."""
    return math.log(2) - s**2 / (2 * n)


def _concentration(n, tau, constant: float = 2.0):
    """tau against minus the log probability that |Z'E_2| exceeds 2 sqrt(n) (tau + log 2), p = q = 1, unit scales."""
    level = constant * math.sqrt(n) * (tau + math.log(2))
    return float(tau), -max(_log_tail_of_products(n, level), _log_tail_of_signs(n, level))


# --- the bound announced for 2SLS ---

CORRELATION = 0.5
MEDIAN_TAU = math.log(8)  # 1 - 4 e^{-tau} = 1/2


def _ratio_tail(s: float, centre: float) -> float:
    """P(|N_1| > s |centre + N_2|) for standard normals with correlation 1/2, by summation over N_2."""
    u = np.linspace(-12, 12, 601)
    level, spread = s * np.abs(centre + u), math.sqrt(1 - CORRELATION**2)
    tails = ndtr(-(level - CORRELATION * u) / spread) + ndtr(-(level + CORRELATION * u) / spread)
    return float(np.sum(np.exp(-(u**2) / 2) * tails) * (u[1] - u[0]) / math.sqrt(2 * math.pi))


def _weak_instrument(decades: float) -> Iterator[tuple[str, float]]:
    """z = +-1, Theta = 1, e_2 = -(1 - c) z + w, c = n^{-1/2}: beta_hat - beta = N_1 / (c sqrt(n) + N_2), whose median
    does not move with n; over (tau + log q) / sqrt(n) at tau = log 8.
    """
    n = 10.0 ** (2 + decades)
    median = root_scalar(lambda s: _ratio_tail(s, 1.0) - 0.5, bracket=(1e-3, 1e3)).root
    yield "median error over the bound", float(median) * math.sqrt(n) / MEDIAN_TAU


def _strong_instrument(tau, excess, constant: float = 1.0):
    """tau - log 4 against minus the log probability that |beta_hat - beta| exceeds constant tau / sqrt(n), n = excess
    (4 tau)^2, with e_2 = w uncorrelated with z: beta_hat - beta = N_1 / (sqrt(n) + N_2).
    """
    root = 4 * tau * math.sqrt(excess)
    probability = _ratio_tail(constant * tau / root, root)
    return tau - math.log(4), -math.log(max(probability, 1e-300))


def _within(constant: float, tau: float, q: int, n: int, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
    return arrays["two_stage_error"] <= constant * math.sqrt(q / n) * (tau + math.log(q))


def _rate_events(constant: float = 1.0, tau: float = 3.0) -> list[Event]:
    """||beta_hat - beta|| on the data of Section 4.1 against constant sqrt(q) (tau + log q) / sqrt(n)."""
    settings, events = Settings(steps=1, eta=1.0, alpha=0.01), []
    for p, q, n in ((5, 5, 2000), (2, 10, 2000), (5, 5, 20_000)):
        problem = synthetic_model(n=n, p=p, q=q, r=p, parameter_seed=0)
        run = Experiment(algorithm=two_stage_descent, problem=problem, settings=settings, block_trials=1000)
        occurs = partial(_within, constant, tau, q, n)
        label, at_least = f"p = {p}, q = {q}, n = {n}", 1 - 4 * math.exp(-tau)
        events.append(Event(label=label, experiment=run, occurs=occurs, at_least=at_least))
    return events


CLAIMS = (
    Claim(
        id="iv/model-1",
        where="(1)",
        kind="identity",
        statement=(
            "$y = beta^T x + epsilon_1$ and $x = Theta^T z + epsilon_2$ give $y = z^T Theta beta + epsilon_2^T beta + "
            "epsilon_1$."
        ),
        hypotheses="Section 4.1 exchanges the names of the two errors; (1) counts.",
        checks=(Symbolic(residuals=_substitution, impostors={"other sign": {"residuals": lambda: _substitution(-1)}}),),
    ),
    Claim(
        id="iv/eq-2",
        where="(2)",
        kind="identity",
        statement="The two-level problem (2) has a closed-form solution, 2SLS.",
        hypotheses="Assumption 1 (i) as printed: $q > p$, $Z$ and $X$ of full rank.",
        checks=(Agreement(facts=_closed_form_at_unidentified),),
        correction=Correction(
            statement=(
                "it does if and only if $Z^T Z$ is invertible and $Z^T X$ has rank $p$; the rank of $X$ then follows, "
                "and $q = p$ is enough. The first-order conditions of both levels use no other rank."
            ),
            checks=(
                Agreement(
                    facts=_first_order,
                    impostors={"one stage": {"facts": lambda rng: _first_order(rng, one_stage=True)}},
                ),
                Agreement(
                    facts=_uniqueness_corrected,
                    impostors={
                        "rank of Z and X": {"facts": lambda rng: _uniqueness_corrected(rng, ranks_of_data=True)}
                    },
                ),
            ),
        ),
    ),
    Claim(
        id="iv/def-2.3",
        where="Definition 2.3, App. E.7",
        kind="identity",
        statement=(
            "$hat(beta) = (hat(Theta)^T Z^T Z hat(Theta))^(-1) hat(Theta)^T Z^T Y = (X^T P_Z X)^(-1) X^T P_Z Y$ with "
            "$hat(Theta) = (Z^T Z)^(-1) Z^T X$."
        ),
        hypotheses="Wherever the inverses exist; exact rationals, $q > p$ and $q = p$.",
        checks=(
            Agreement(
                facts=_projection_form,
                impostors={"no projection": {"facts": lambda rng: _projection_form(rng, projected=False)}},
            ),
        ),
    ),
    Claim(
        id="iv/ass-1-unique",
        where="Assumption 1 and below",
        kind="identity",
        statement="Condition (i), $q > p$ and full rank of $Z$ and $X$, ensures that (2) has a unique solution $beta$.",
        hypotheses='Decided for (i) alone and for (i) with (ii), $op("Corr")(z, x) != 0$ read as: not the zero matrix.',
        checks=(Agreement(facts=_uniqueness_as_printed), Agreement(facts=_uniqueness_with_correlation)),
        correction=Correction(
            statement=(
                "the solution is unique if and only if $Z^T Z$ is invertible and $Z^T X$ has rank $p$: every regressor "
                "needs an instrument of its own."
            ),
            checks=(
                Agreement(
                    facts=_uniqueness_corrected,
                    impostors={
                        "rank of Z and X": {"facts": lambda rng: _uniqueness_corrected(rng, ranks_of_data=True)}
                    },
                ),
            ),
        ),
    ),
    Claim(
        id="iv/ass-2",
        where="Assumption 2 and below",
        kind="inequality",
        statement=(
            "(i) $EE z = 0$, $EE z z^T = I$ and $EE e^(u chevron.l z, v chevron.r) <= e^(u^2 sigma_z^2 norm(v)^2 \\/ "
            "2)$ for some $sigma_z > 0$, (ii) mean-zero sub-Gaussian $epsilon_1, epsilon_2$: then $Z^T cal(E)_1 \\/ "
            "n$ and $Z^T cal(E)_2 \\/ n$ concentrate, with $norm(Z^T cal(E)_2) = O(sqrt(n))$ as in Lemma D.3."
        ),
        hypotheses="All joint laws that Assumptions 1 and 2 admit: nothing is said about $z$ and $epsilon_2$ together.",
        checks=(Rate(ratios=_dependent_errors, relation="upper"),),
        correction=Correction(
            statement=(
                "with $EE z epsilon_2^T = 0$ besides, which need not be independence; else $Z^T cal(E)_2 \\/ n$ tends "
                "to $EE z epsilon_2^T$. Isotropy leaves only $sigma_z >= 1$. For $p = q = 1$, Gaussian and two-point "
                "laws, $c_0 = 2$ serves."
            ),
            checks=(
                Search(
                    sides=_concentration,
                    box={"n": Whole(1, 100_000, "log"), "tau": Real(0.1, 20.0)},
                    impostors={"c_0 = 0.9": {"sides": lambda n, tau: _concentration(n, tau, 0.9)}},
                ),
                Symbolic(
                    residuals=_least_proxy,
                    impostors={"sigma_z^2 = 0.9": {"residuals": lambda: _least_proxy(sympy.Rational(9, 10))}},
                ),
            ),
        ),
    ),
    Claim(
        id="iv/d7-announce",
        where="end of Section 2.2",
        kind="mc-rate",
        statement=(
            "These conditions give a non-asymptotic bound on $norm(hat(beta) - beta)$, Lemma D.7: $O(sqrt(q) (tau + "
            "log q) \\/ sqrt(n))$ with probability $1 - 4 e^(-tau)$ for $n >= C_1 p q (tau + log(p q))^2$."
        ),
        hypotheses=(
            "Constants depend on $beta, Theta, sigma_z, sigma_1, sigma_2$ alone. Tried at $tau = log 8$ (the median) "
            "on $z = plus.minus 1$, $Theta = 1$, $epsilon_2 = -(1 - c) z + w$, $c = n^(-1\\/2)$, $w$ and $epsilon_1$ "
            "normal with correlation 1/2."
        ),
        checks=(Rate(ratios=_weak_instrument, relation="upper"),),
        correction=Correction(
            statement=(
                "with $EE z epsilon_2^T = 0$ besides; otherwise $Theta$ does not control the strength of the "
                "instrument. Constants 1 and $C_1 = 16$ serve for $p = q = 1$, constant 1 for the data of Section 4.1."
            ),
            checks=(
                Search(
                    sides=_strong_instrument,
                    box={"tau": Real(1.4, 20.0), "excess": Real(1.0, 1e6, "log")},
                    impostors={"0.3 of the bound": {"sides": lambda tau, excess: _strong_instrument(tau, excess, 0.3)}},
                ),
                Frequency(
                    events=_rate_events,
                    impostors={"a twentieth of the bound": {"events": lambda: _rate_events(0.05)}},
                ),
            ),
        ),
    ),
)
