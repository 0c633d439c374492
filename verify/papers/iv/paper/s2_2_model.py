"""Section 2.2: the linear model, two-stage least squares, and when there is one solution."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from typing import Any, Literal

import numpy as np
import sympy

from dpbounds.iv import Moments
from simulators.engine import Arrays, Experiment, Streams
from simulators.iv import LinearModel
from verify.checks import Agreement, Case, Fact, Means, MonteCarlo, Symbolic
from verify.papers.iv.tools.rationals import TwoStage, projection, rank
from verify.papers.iv.tools.reference import Records, rational_records
from verify.statements.claims import Claim, Correction, Fault
from verify.statements.derivations import Derivation

# --- (1) ---


def _substitution(sign: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """(1) for any p and q, letters that do not commute; a row is what is turned: x' = z' Theta + e_2', x' beta = y -
    e_1.
    """
    z, theta, beta, e2, e1 = sympy.symbols("z Theta beta e_2 e_1", commutative=False)
    x = z * theta + e2
    yield "y", x * beta + e1 - z * theta * beta - sign * e2 * beta - e1


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """A model, and whether its records are drawn or its moments alone."""

    model: LinearModel
    records: bool


def simulated_moments(problem: Drawn, settings: None, streams: Streams, trials: int) -> Arrays:
    """What tells the law of A, Z'E_2 and Z'E_1, per data set.

    `determinant` of nA, `entry` A_{12}; `first` and `outcome`, squares of Z'E_2 and Z'E_1 along the first instrument
    over n, `crossed` their product; `fourth` mean fourth power of the first instrument, of records.
    """
    model = problem.model
    if problem.records:
        records = model.records(streams.data, trials)
        sample = records.moments
    else:
        records, sample = None, model.moments(streams.data, trials)
    first, outcome = sample.G - sample.A @ model.theta, sample.b - sample.G @ model.beta
    fourth = np.zeros(trials) if records is None else (records.instruments[:, 0] ** 4).mean(axis=1)
    return {
        "determinant": np.linalg.det(model.n * sample.A),
        "entry": sample.A[:, 0, 1],
        "first": model.n * first[:, 0, 0] ** 2,
        "outcome": model.n * outcome[:, 0] ** 2,
        "crossed": model.n * first[:, 0, 0] * outcome[:, 0],
        "fourth": fourth,
    }


def _generated() -> list[Case]:
    """n = 6, q = 3, p = 2, correlated instruments S and errors C: E det(nA) = n!/(n - q)! det S for normals, E A = S,
    E (Z'E)_1 (Z'E)_1' / n = S_{11} C.
    """
    S = np.array([[1.0, 0.4, 0.1], [0.4, 1.5, -0.3], [0.1, -0.3, 0.8]])
    C = np.array([[1.2, 0.3, 0.5], [0.3, 0.9, -0.2], [0.5, -0.2, 0.7]])
    cases = []
    kinds: tuple[tuple[Literal["gaussian", "sign"], bool], ...] = (
        ("gaussian", True),
        ("gaussian", False),
        ("sign", True),
    )
    for instruments, records in kinds:
        model = LinearModel(
            n=6,
            beta=np.array([0.7, -0.4]),
            theta=np.array([[1.0, 0.2], [-0.3, 0.8], [0.5, 0.5]]),
            error_covariance=C,
            instrument_covariance=S,
            instruments=instruments,
        )
        run = Experiment(
            algorithm=simulated_moments, problem=Drawn(model=model, records=records), settings=None, block_trials=4000
        )
        stated = {"entry": (S[0, 1], 2.0), "first": (S[0, 0] * C[0, 0], 2.6)}
        stated |= {"outcome": (S[0, 0] * C[2, 2], 2.6), "crossed": (S[0, 0] * C[0, 2], 3.6)}
        if instruments == "gaussian":
            stated["determinant"] = (120 * float(np.linalg.det(S)), 3.0)
        if records:
            stated["fourth"] = (3.0 if instruments == "gaussian" else 1.0, 2.6)
        name = f"{instruments}, {'records' if records else 'moments'}"
        cases += [
            Case(
                label=f"{output}, {name}",
                experiment=run,
                output=output,
                predicted=partial(float, value),
                relative_std=deviation,
            )
            for output, (value, deviation) in stated.items()
        ]
    return cases


MODEL_1 = Claim(
    id="iv/model-1",
    where="Section 2.2",
    page=4,
    equation="(1)",
    kind="identity",
    statement=(
        "$y = beta^top x + epsilon_1$ and $x = Theta^top z + epsilon_2$ give $y = z^top Theta beta + epsilon_2^top "
        "beta + epsilon_1$."
    ),
    setting="The data that are simulated have the moments of (1), drawn as records and as moments.",
    remark="Section 4.1 exchanges the names of the two errors; (1) counts.",
    checks=(
        Symbolic(residuals=_substitution, impostors={"other sign": {"residuals": {"sign": -1}}}),
        MonteCarlo(
            means=Means(cases=_generated),
            role="control",
            resolution={"quick": 0.25, "full": 0.05},
            impostors={"40 % more": {"scale": 1.4}},
        ),
    ),
    derivation=Derivation(text="The identity is proved for any $p$ and $q$, with letters that do not commute."),
)

# --- Definition 2.3, in exact rationals ---

SIZES = ((5, 2, 1), (5, 3, 2), (6, 2, 2), (7, 4, 2), (8, 3, 3))  # n, q, p


def _data_sets(rng: np.random.Generator) -> Iterator[tuple[str, TwoStage]]:
    """Integer data sets with Z'Z invertible and Z'X of rank p, q > p and q = p."""
    for n, q, p in SIZES:
        yield f"n = {n}, q = {q}, p = {p}", TwoStage(rational_records(rng, n, q, p))


def _projection_form(rng: np.random.Generator, *, projected: bool = True) -> Iterator[Fact]:
    """(X'PX) beta = X'PY with P from an orthogonal basis of the columns of Z."""
    for label, solved in _data_sets(rng):
        Z, X, Y = solved.records
        left = X.T @ projection(Z) if projected else X.T
        yield Fact(label, left @ X @ solved.beta_hat, left @ Y, 0)


def _shipped(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact]:
    """The moments and estimators of the theory against the rationals."""
    for label, solved in _data_sets(rng):
        moments, p = Moments.of(*solved.records.floats()), solved.records.X.shape[1]
        exact = {
            "theta_hat": solved.theta_hat,
            "beta_hat": solved.beta_hat,
            "hessian": solved.theta_hat.T @ solved.A @ solved.theta_hat,
        }
        for name, value in exact.items():
            yield Fact(f"{name}, {label}", getattr(moments, name), factor * np.asarray(value, dtype=float), 1e-10)
        residual = np.asarray(solved.records.Z.T @ solved.r / solved.n, dtype=float)
        yield Fact(f"residual, {label}", moments.residual + 1.0, residual + 1.0, 1e-10)
        yield Fact(f"p, q, n, {label}", [moments.p, moments.q, moments.n], [p, len(solved.A), solved.n], 0)


def _two_forms(*, projected: bool = True) -> Iterator[tuple[Any, ...]]:
    """Both factors of the two forms, matrices of any size as letters that do not commute; W = Z'Z, symmetric."""
    W, XZ, ZX, ZY = sympy.symbols("W XZ ZX ZY", commutative=False)
    turned = XZ * W**-1  # theta_hat'
    for name, other in (("X", ZX), ("Y", ZY)):
        left = turned * W * (W**-1 * other) if name == "X" else turned * other
        yield name, left, XZ * (W**-1 if projected else 1) * other


DEF_2_3 = Claim(
    id="iv/def-2.3",
    where="Definition 2.3, App. E.7",
    page=4,
    kind="identity",
    statement=(
        "$hat(beta) = (hat(Theta)^top Z^top Z hat(Theta))^(-1) hat(Theta)^top Z^top Y = (X^top P_Z X)^(-1) X^top P_Z "
        "Y$ with $hat(Theta) = (Z^top Z)^(-1) Z^top X$."
    ),
    hypotheses="Wherever the inverses exist.",
    setting="Exact rationals on integer data sets, $q > p$ and $q = p$; the functions of this package against them.",
    checks=(
        Symbolic(residuals=_two_forms, impostors={"no projection": {"residuals": {"projected": False}}}),
        Agreement(facts=_projection_form, role="control", impostors={"no projection": {"facts": {"projected": False}}}),
        Agreement(facts=_shipped, role="control", impostors={"1e-9 off": {"facts": {"factor": 1 + 1e-9}}}),
    ),
    derivation=Derivation(
        text=(
            "$hat(Theta)^top Z^top Z hat(Theta) = X^top P_Z X$ and $hat(Theta)^top Z^top Y = X^top P_Z Y$, $P_Z = Z "
            "(Z^top Z)^(-1) Z^top$, are proved for matrices of any size, with letters that do not commute."
        ),
    ),
)

# --- Assumption 1: when (2) has one solution ---


def _small_data_sets(rng: np.random.Generator) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Z of every rank: each seventh Z (3 x 2) with each X (3 x 1) of entries -1, 0, 1; then 4 x 2 ones, q = p = 2."""
    designs = np.array(list(product((-1, 0, 1), repeat=6))).reshape(-1, 3, 2)
    regressors = [np.array(x, dtype=object)[:, None] for x in product((-1, 0, 1), repeat=3)]
    yield from product(designs[::7].astype(object), regressors)
    for _ in range(100):
        Z, X = (rng.integers(-1, 2, size=(4, 2)).astype(object) for _ in range(2))
        yield Z, X


# X = (z_1 + u_1, z_1 + u_2) with u_1, u_2 orthogonal to Z: q = 3 > p = 2, both of full rank, Z'X of rank 1.
UNIDENTIFIED = Records(
    np.eye(5, 3, dtype=int).astype(object),
    np.array([[1, 1], [0, 0], [0, 0], [1, 0], [0, 1]], dtype=object),
    np.array([3, 1, 2, 0, 1], dtype=object),
)
SHOWN = "Z = (e1, e2, e3), X = (e1 + e4, e1 + e5), Y = (3, 1, 2, 0, 1) in R^5"


@cache
def _projection(rows: tuple[tuple[int, ...], ...]) -> np.ndarray:
    """Kept, since each Z is tried with every X."""
    return projection(np.array(rows, dtype=object))


def _uniqueness_as_printed(rng: np.random.Generator) -> Iterator[Fact]:
    """The objective depends on beta_1 + beta_2 alone, though Z and X have full rank and x is correlated with z."""
    Z, X, Y = UNIDENTIFIED
    fitted = projection(Z) @ X
    values = [sum((Y - fitted @ np.array(beta)) ** 2) for beta in ([1, 2], [2, 1], [3, 0])]
    ranks = {"rank_of_Z": rank(Z), "rank_of_X": rank(X), "rank_of_product": rank(Z.T @ X)}
    label = f"{SHOWN}: minimisers of (2) among (1, 2), (2, 1), (3, 0)"
    yield Fact(label, values.count(min(values)), 1, 0, {**ranks, "value": float(values[0]) / len(Y)})


def _uniqueness_corrected(
    rng: np.random.Generator,
    *,
    stated: Callable[[np.ndarray, np.ndarray], bool] = lambda Z, X: rank(Z.T @ X) == X.shape[1],
) -> Iterator[Fact]:
    """The objective |Y - P_Z X beta|^2/n has one minimiser exactly if P_Z X has rank p; P_Z by Gram-Schmidt."""
    sets = list(_small_data_sets(rng))
    unique = [rank(_projection(tuple(map(tuple, Z))) @ X) == X.shape[1] for Z, X in sets]
    label = f"{len(sets)} data sets, n = 3, q = 2, p = 1 and n = 4, q = p = 2: unique exactly if Z'X has rank p"
    yield Fact(label, unique, [stated(Z, X) for Z, X in sets], 0)


_UNIQUE = Agreement(
    facts=_uniqueness_corrected,
    impostors={
        "rank of Z and X": {"facts": {"stated": lambda Z, X: rank(Z) == Z.shape[1] and rank(X) == X.shape[1]}},
        "Z'Z invertible too": {"facts": {"stated": lambda Z, X: rank(Z) == Z.shape[1] and rank(Z.T @ X) == X.shape[1]}},
    },
)


def _parabola(share: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """|Y - F (beta + t v)|^2 along a line, F = P_Z X, by its products: its second derivative in t is 2 |F v|^2, and
    with F v = 0 it does not depend on t. Y'Y, Y'F v, ... as letters.
    """
    t, yy, yf, yv, ff, fv, vv = sympy.symbols("t yy yf yv ff fv vv")
    along = yy - 2 * (yf + t * yv) + ff + 2 * t * fv + t**2 * vv
    curvature: sympy.Expr = sympy.diff(along, t, 2)  # type: ignore[assignment]
    yield "second derivative", curvature - 2 * share * vv
    still: sympy.Expr = sympy.diff(along.subs({yv: 0, fv: 0, vv: 0}), t)  # type: ignore[assignment]
    yield "constant where F v = 0", still


_PARABOLA = Symbolic(residuals=_parabola, impostors={"twice that": {"residuals": {"share": 2}}})
_RANKS = (
    "Along $beta + t v$ the objective of (2) is a parabola in $t$ of second derivative $2/n norm(P_Z X v)^2$, and "
    "constant where $P_Z X v = 0$, $P_Z$ the projection on the columns of $Z$. $P_Z u = 0$ exactly if $u$ is "
    "orthogonal to these columns, $Z^top u = 0$, whatever the rank of $Z$; so there is no such $v != 0$ exactly if "
    "$Z^top X$ has rank $p$. "
)

ASS_1_UNIQUE = Claim(
    id="iv/ass-1-unique",
    where="Assumption 1 and below",
    page=4,
    kind="identity",
    statement="Condition (i), $q > p$ and full rank of $Z$ and $X$, ensures that (2) has one solution $hat(beta)$.",
    hypotheses='Condition (ii), $op("Corr")(z, x) != 0$, may be had as well: it is read as "not the zero matrix".',
    checks=(Agreement(facts=_uniqueness_as_printed, closed=True),),
    fault=Fault(
        severity="hypothesis",
        touches="statement",
        finding=(
            "Assumption 1 is said to ensure one solution of (2); for $Z = (e_1, e_2, e_3)$, $X = (e_1 + e_4, e_1 + "
            "e_5)$, $Y = (3, 1, 2, 0, 1)^top$ in $RR^5$ both have full rank, $x$ is correlated with $z$, and every "
            "$beta$ with $beta_1 + beta_2 = 3$ attains the minimum ${value}$ of (2): $Z^top X$ has rank "
            "${rank_of_product}$."
        ),
        consequence=(
            "The 2SLS estimator that Theorem 3.1 compares with need not exist under Assumption 1. Under Theorem 3.1's "
            "own condition, $underline(gamma) > 0$ with high probability, it does, and nothing else changes."
        ),
    ),
    correction=Correction(
        statement=(
            (
                "The solution $hat(beta)$ of (2) is unique if and only if $Z^top X$ has rank $p$, whatever the rank of "
                "$Z$: every regressor needs an instrument of its own."
            ),
            "$q = p$ is enough.",
        ),
        ground="The objective has Hessian $2/n X^top P_Z X$, of rank $p$ exactly if $Z^top X$ has rank $p$.",
        checks=(_UNIQUE.deciding("ab").as_control(), _PARABOLA.deciding("ab")),
        derivation=Derivation(
            text=_RANKS + "A minimiser exists, as a least squares problem has one; it is the only one exactly if the "
            "objective is strictly convex along every line. $Z^top X$ has $q$ rows and $p$ columns and can have rank "
            "$p$ as soon as $q >= p$, as $Z = X$ of full rank shows.",
        ),
    ),
)

# --- (2) ---


def _closed_form_at_unidentified(rng: np.random.Generator) -> Iterator[Fact]:
    Z, X, _ = UNIDENTIFIED
    fitted = projection(Z) @ X
    yield Fact(f"{SHOWN}: rank of the 2 x 2 matrix that 2SLS inverts", rank(fitted.T @ fitted), 2, 0)


def _first_order(rng: np.random.Generator, *, one_stage: bool = False) -> Iterator[Fact]:
    """Gradients of both levels vanish, and every move of beta raises the outer objective: its Hessian is definite."""
    for label, solved in _data_sets(rng):
        Z, X, Y = solved.records
        beta = TwoStage(Records(X, X, Y)).beta_hat if one_stage else solved.beta_hat
        fitted = Z @ solved.theta_hat
        yield Fact(f"{label}: inner gradient", Z.T @ (fitted - X), 0 * solved.theta_hat, 0)
        yield Fact(f"{label}: outer gradient", fitted.T @ (fitted @ beta - Y), 0 * beta, 0)
        yield Fact(f"{label}: rank of the outer Hessian", rank(fitted.T @ fitted), X.shape[1], 0)


EQ_2 = Claim(
    id="iv/eq-2",
    where="Section 2.2",
    page=4,
    equation="(2)",
    kind="identity",
    statement="The two-level problem (2) has a closed-form solution, 2SLS.",
    hypotheses="Assumption 1 (i) as printed: $q > p$, $Z$ and $X$ of full rank.",
    checks=(Agreement(facts=_closed_form_at_unidentified, closed=True),),
    fault=Fault(
        severity="slip",
        touches="text",
        finding=(
            "On the data that Assumption 1 admits wrongly the $2 times 2$ matrix $hat(Theta)^top Z^top Z hat(Theta)$, "
            "which the closed form inverts, has rank ${observed}$."
        ),
        consequence="The closed form holds wherever (2) has one solution.",
        root="iv/ass-1-unique",
    ),
    correction=Correction(
        statement=(
            (
                "The two-level problem (2) has the closed-form solution of Definition 2.3 if and only if $Z^top Z$ is "
                "invertible and $Z^top X$ has rank $p$;"
            ),
            "the rank of $X$ then follows, and $q = p$ is enough.",
        ),
        ground="The first-order conditions of both levels use no other rank.",
        checks=(
            Agreement(
                decides="a",
                facts=_first_order,
                impostors={"one stage": {"facts": {"one_stage": True}}},
                role="control",
            ),
            _UNIQUE.deciding("ab").as_control(),
            Symbolic(
                decides="a", residuals=_two_forms, impostors={"no projection": {"residuals": {"projected": False}}}
            ),
            _PARABOLA.deciding("ab"),
        ),
        derivation=Derivation(
            text="Definition 2.3 inverts $Z^top Z$, and $hat(Theta)^top Z^top Z hat(Theta) = X^top P_Z X$, which the "
            "first check has for any size. " + _RANKS + "That is when $X^top P_Z X$ is invertible, and the gradient "
            "of the outer objective then vanishes at $hat(beta)$ alone, that of the inner one at $hat(Theta)$. $X v = "
            "0$ gives $Z^top X v = 0$, so $X$ has rank $p$ too, and nothing asks for $q > p$.",
        ),
    ),
)
