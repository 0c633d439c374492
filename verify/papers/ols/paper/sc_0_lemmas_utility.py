"""Appendix C, Lemmas 4 to 7: algebra of the ridge and of the sketched step, and the events of Definition 2."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import sympy
from scipy import integrate, special

from simulators.ols import hessian_step
from verify.checks import Agreement, Event, Fact, Frequency, Inequality, Rate, Search, Symbolic, Times, Unbounded
from verify.checks.domains import Real
from verify.papers.ols.tools.forms import data, scalar, square
from verify.papers.ols.tools.sketched import spectra_runs
from verify.statements.claims import Claim, Correction, Fault
from verify.statements.derivations import Derivation

# --- Lemma 4: the ridge's bias ---


def _ridge_identity(share: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """In the eigenbasis every direction stands for itself: lambda of A'A, beta of A'b; directions with lambda = 0 have
    theta* = theta_a = 0.
    """
    lam, beta, a = sympy.symbols("lambda beta a", positive=True)
    theta, ridge = beta / lam, beta / (lam + a)
    parts = a * ridge**2 + share * lam * (ridge - theta) ** 2 + (lam + a) * (ridge - theta) ** 2
    yield "a theta*² less the three terms", a * theta**2 - parts


def _ridge_bias(rng: np.random.Generator) -> Iterator[Fact]:
    """Whole matrices, A of full and of less rank."""
    for n, d, rank, a in ((6, 3, 3, 0.7), (5, 4, 2, 3.0), (3, 1, 1, 0.1), (4, 6, 3, 1.3)):
        A = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d))
        b = rng.standard_normal(n)
        theta = np.linalg.pinv(A) @ b
        ridge = np.linalg.solve(A.T @ A + a * np.eye(d), A.T @ b)
        gap = ridge - theta
        terms = a * ridge @ ridge + gap @ A.T @ A @ gap + gap @ (A.T @ A + a * np.eye(d)) @ gap
        yield Fact(f"n = {n}, d = {d}, rank {rank}", a * theta @ theta, terms, 1e-9)


LEM_4 = Claim(
    id="ols/lem-4",
    where="Lemma 4",
    equation="Lemma 4",
    kind="identity",
    statement=(
        "With $theta_a = theta^*(A, b; a)$, $a > 0$: $a norm(theta^*)^2 = a norm(theta_a)^2 + norm(theta_a - "
        "theta^*)_(A^top A)^2 + norm(theta_a - theta^*)_(A^top A + a I)^2$, so $norm(theta_a - theta^*)_(A^top A + a "
        "I)^2 <= a norm(theta^*)^2$."
    ),
    remark="For singular $A$ with the fit of least norm; sharper, the last norm is $a^2 norm(theta^*)_(M^(-1))^2$.",
    checks=(
        Symbolic(residuals=_ridge_identity, impostors={"without the middle term": {"residuals": {"share": 0}}}),
        Agreement(facts=_ridge_bias, impostors={"1 % off": {"facts": Times(1.01)}}, role="control"),
    ),
    derivation=Derivation(
        text=(
            "In an eigenbasis of $A^top A$ both sides are sums over its directions, $theta^*$ of least norm and "
            "$theta_a$ having the coordinates $beta_i\\/lambda_i$ and $beta_i\\/(lambda_i + a)$, $beta = A^top b$, "
            "both 0 where $lambda_i = 0$; the identity holds in each. The last norm is one of three terms, none of "
            "them negative."
        ),
        lemmas=("spectral theorem",),
    ),
)

# --- Lemma 5: the minimiser ---


def _printed_minimiser(rng: np.random.Generator) -> Iterator[Fact]:
    """A = 1, B = (1, 1)', k = 2, b = 1, v = u = 0: the objective is theta²/2 - theta."""
    gram, k, right = 2.0, 2.0, 1.0
    yield Fact("(20) against the minimiser of (21), A = b = 1, B = (1, 1)'", right / (k * gram), k * right / gram)


def _minimiser(power: int = 1) -> Iterator[tuple[Any, ...]]:
    """The gradient of (21) at v + k^power G^-1 r, G = A'B'BA, r = A'(b - Av) + u, d = 1, 2, 3; and, for all sizes, (21)
    at v + w with r = G f/k is the square of BA (w - k^(power - 1) f) less that of BA f, over 2k.
    """
    k = sympy.Symbol("k", positive=True)
    rows, _, change, best, *_ = data()
    objective = square(rows * change) / (2 * k) - change.T * rows.T * rows * best / k
    least = square(rows * (change - k ** (power - 1) * best)) - square(rows * best)
    yield "a square, all sizes", scalar(objective - least / (2 * k))
    for d in (1, 2, 3):
        G = sympy.Matrix(d, d, lambda i, j: sympy.Symbol(f"g{min(i, j)}{max(i, j)}"))
        r = sympy.Matrix(sympy.symbols(f"r0:{d}"))
        yield f"gradient, d = {d}", G * (k**power * G.LUsolve(r)) / k, r


def _minimiser_shipped(rng: np.random.Generator) -> Iterator[Fact]:
    """The step of the simulators against a descent-free check: the gradient of (21) vanishes there."""
    for d, k in ((1, 3), (3, 7)):
        BA, v, right = rng.standard_normal((k, d)), rng.standard_normal(d), rng.standard_normal(d)
        found = hessian_step(v, BA.T @ BA, right, k)
        yield Fact(f"gradient of (21), d = {d}, k = {k}", BA.T @ (BA @ (found - v)) / k, right, 1e-10)


LEM_5 = Claim(
    id="ols/lem-5",
    where="Lemma 5, (20), (21)",
    equation="(20)",
    kind="identity",
    statement=(
        "$v + 1/k (A^top B^top B A)^(-1) (A^top (b - A v) + u)$ minimises $1/(2 k) norm(B A (theta - v))^2 - theta^top "
        "(A^top (b - A v) + u)$ over $theta$."
    ),
    hypotheses="$A^top B^top B A succ 0$.",
    checks=(Agreement(facts=_printed_minimiser, closed=True),),
    fault=Fault(
        severity="slip",
        touches="statement",
        finding=(
            "(20) has $1/k (A^top B^top B A)^(-1)$ where the minimiser of (21) has $k (A^top B^top B A)^(-1)$: for "
            "$A = b = 1$, $B = (1, 1)^top$, $v = u = 0$ the minimiser is ${predicted}$, (20) gives ${observed}$."
        ),
        consequence="Nothing: line 8 of Algorithm 1 and all uses of the lemma have $(1/k A^top B^top B A)^(-1)$.",
    ),
    correction=Correction(
        statement=(
            "If $A^top B^top B A succ 0$, $v + (1/k A^top B^top B A)^(-1) (A^top (b - A v) + u)$ minimises $1/(2 k) "
            "norm(B A (theta - v))^2 - theta^top (A^top (b - A v) + u)$ over $theta$."
        ),
        ground="The gradient of the convex objective vanishes there.",
        checks=(
            Symbolic(residuals=_minimiser, impostors={"as printed": {"residuals": {"power": -1}}}),
            Agreement(facts=_minimiser_shipped, impostors={"1 % off": {"facts": Times(1.01)}}, role="control"),
        ),
        derivation=Derivation(
            text=(
                "With $H = 1/k A^top B^top B A succ 0$, $r = A^top (b - A v) + u$ and $w = theta - v$ the objective is "
                "$1/2 w^top H w - w^top r = 1/2 norm(w - H^(-1) r)_H^2$ up to what is free of $theta$, for every $d$ "
                "and $k$: least at $w = H^(-1) r$ alone, where the gradient vanishes."
            ),
        ),
    ),
)

# --- Lemma 6: a recursion ---


def _recursion_step(power: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """c times the bound at T, and e, against the bound at T + 1; q = c^T."""
    c, e, a, q = sympy.symbols("c e a_0 q", positive=True)

    def bound(decay: sympy.Expr) -> sympy.Expr:
        return e / (1 - c) ** power + a * decay

    yield "the step from T to T + 1", c * bound(q) + e - bound(c * q)


def _recursion(c, e, start, shares, fixed: float = 1.0):
    """The last of twelve terms with a_{t+1} = share_t (c a_t + e), and the bound."""
    value = start
    for t in range(12):
        value = shares[:, t] * (c * value + e)
    return value, fixed * e / (1 - c) + start * c**12


LEM_6 = Claim(
    id="ols/lem-6",
    where="Lemma 6, (22), (86), (87)",
    equation="Lemma 6",
    kind="inequality",
    statement="$a_(t+1) <= c a_t + e$, $0 < c < 1$, $e > 0$, $a_0 >= 0$ imply $a_T <= e/(1 - c) + a_0 c^T$.",
    checks=(
        Symbolic(residuals=_recursion_step, impostors={"e for e/(1-c)": {"residuals": {"power": 0}}}),
        Search(
            sides=_recursion,
            box={
                "c": Real(0.01, 0.999),
                "e": Real(0.01, 10.0, "log"),
                "start": Real(0.0, 10.0),
                "shares": (Real(0.5, 1.0), 12),
            },
            extremal=lambda: [{"c": 0.5, "e": 1.0, "start": 0.0, "shares": np.ones(12)}],
            vectorised=True,
            impostors={"0.9 e/(1-c)": {"sides": {"fixed": 0.9}}},
            role="control",
        ),
    ),
    derivation=Derivation(
        text=(
            "At $T = 0$ the bound is $a_0$ and what is positive, and if it holds at $T$ then $a_(T + 1) <= c a_T + e "
            "<= e\\/(1 - c) + a_0 c^(T + 1)$, by $c > 0$."
        ),
        lemmas=("induction",),
    ),
)

# --- Lemma 7: the events ---


def _event_chance(k: int, n: int) -> float:
    """At most this has A_1 for A = e_1, chi = 1, u free in R^n: the supremum is ||B'beta/k - e_1||, beta the first
    column, at least ||B_2'beta||/k with B_2 the n - 1 others; its square is chi²_k chi²_(n-1) / k² in law.
    """

    def integrand(x: float) -> float:
        log_density = (k / 2) * (x - math.log(2)) - math.exp(x) / 2 - special.gammaln(k / 2)
        return math.exp(log_density) * special.gammainc((n - 1) / 2, k**2 / 4 / math.exp(x) / 2)

    middle = math.log(k)
    return integrate.quad(integrand, middle - 12, middle + 2, points=[middle - 2, middle - 1, middle], limit=200)[0]


# Rows of the exhibit; and of the correction: c_0, c_2, and x over chi of Davidson and Szarek.
FEWEST, MOST = 4, 256
C0, C2, ROOM = 80, "0.006", "0.2247"


def _chances(decades: float) -> Iterator[tuple[str, float]]:
    """With n = 2k, k = FEWEST to MOST."""
    k = round(FEWEST * (MOST / FEWEST) ** (decades / 8))
    yield "$n = 2 k$, $d = 1$, $chi = 1$", _event_chance(k, 2 * k)


def _events(factor: float = 1.0) -> list[Event]:
    """A_1 with u in col(A), and A_2; c_1 = 2."""
    events = []
    for k, d, chi in ((2000, 1, 0.5), (600, 5, 1.0), (4000, 3, 0.4)):

        def occurs(arrays: Any, chi=chi * factor) -> np.ndarray:
            reach = np.maximum(arrays["largest"] - 1, 1 - arrays["least"])
            return (reach <= chi / 2) & (arrays["least"] >= 1 - chi)

        events.append(
            Event(
                label=f"k = {k}, d = {d}, chi = {chi}",
                experiment=spectra_runs(k, d),
                occurs=occurs,
                at_least=1 - 2 * math.exp(-float(C2) * k * chi**2),
            )
        )
    return events


def _failure_of_events(logk, d, chi, rate: float = float(C2)):
    """The chance left out, by the chi-square law at d = 1 (exact there), against c_1 exp(-c_2 k chi²) where k chi² >=
    c_0 d; d = 1 only.
    """
    k = np.maximum(np.exp(logk), C0 * d / chi**2)
    upper = special.chdtrc(k, k * (1 + chi / 2)) + special.chdtr(k, k * (1 - chi / 2))
    return upper, 2 * np.exp(-rate * k * chi**2)


def _room(m, chi):
    return m.number(ROOM) * chi


# The room that (1 + x)² leaves below 1 + chi/2; and what is left of it for t, at c_0, in units of chi² and so for every
# chi.
EIGENVALUES = Inequality(
    smaller=_room,
    larger=lambda m, chi: m.sqrt(1 + chi / 2) - 1,
    box={"chi": Real(1e-4, 1.0, "log")},
    impostors={"0.23": {"smaller": Times("2300/2247")}},
)
TAILS = Inequality(
    smaller=lambda m, chi: m.number(C2) * chi**2,
    larger=lambda m, chi: (m.number(ROOM) - 1 / m.sqrt(m.number(C0))) ** 2 / 2 * chi**2,
    box={"chi": Real(0.01, 1.0)},
    impostors={"0.0065": {"smaller": Times("65/60")}},
)
EVENTS = Derivation(
    text=(
        '$B U$, $U$ an orthonormal basis of $op("col")(A)$, $r$ its rank, has independent standard normal entries, '
        "so the eigenvalues of $V = 1/k U^top B^top B U$ are within $(1 plus.minus x)^2$, $x = (sqrt(r) + "
        "t)\\/sqrt(k)$, but for $2 e^(-t^2\\/2)$. With $k chi^2 >= 80 r$ and $t = sqrt(k) (0.2247 - 1\\/sqrt(80)) chi$ "
        "one has $x <= 0.2247 chi$ and $t^2\\/2 >= 0.006 k chi^2$. $sqrt(1 + chi\\/2) - 1$ is concave in $chi$, 0 at 0 "
        "and above $0.2247$ at 1, so $(1 + x)^2 <= 1 + chi\\/2$, and $(1 - x)^2 >= 1 - 2 x >= 1 - chi\\/2$: this is "
        "$cal(A)_1$ with $u = U w$, $A v = U w'$, and $cal(A)_2$ follows."
    ),
    lemmas=("Davidson and Szarek", "concavity"),
)


def _not_in_the_event(m: Any, s: Any) -> Any:
    """At most the chance that A_1 fails over e^-k, k = 16 s, n = 2 k, d = chi = 1: chi²_k chi²_(n-1) <= k²/4 needs one
    of them to be at most k/2, which each is with a chance of at most (e^(1/2)/2)^(k/2), by Chernoff.
    """
    k = 16 * s
    return (1 - 2 * m.exp(k / 2 * (m.number("1/2") - m.log(m.number(2))))) * m.exp(k)


def _reduced_event(m: Any, x: Any) -> Any:
    """The first factor is least at s = 1, and e^k is at least 16 s."""
    return 16 * (1 - 2 * m.exp(8 * (m.number("1/2") - m.log(m.number(2))))) + 0 * x


LEM_7 = Claim(
    id="ols/lem-7",
    where="Definition 2, Lemma 7, (23)-(27)",
    equation="(23), (26)",
    kind="mc-rate",
    statement=(
        'For $S tilde N(0, I_(k times n))$ and $k chi^2 >= c_0 op("rank")(A)$, $chi in (0, 1]$: $P(S in cal(A)_1 inter '
        "cal(A)_2) >= 1 - c_1 e^(-c_2 k chi^2)$, with $cal(A)_1$: $sup_(u in RR^n, v) abs(u^top (1/k B^top B - I_n) A "
        "v) \\/ (norm(u) norm(A v)) <= chi\\/2$ and $cal(A)_2$: $inf_v norm(B A v)^2 \\/ (k norm(A v)^2) >= 1 - chi$."
    ),
    checks=(
        Rate(ratios=_chances, relation="lower", extents=(1.0, 2.0, 4.0, 8.0), per_extent=2),
        Unbounded(quotient=_not_in_the_event, reduced=_reduced_event),
    ),
    fault=Fault(
        severity="hypothesis",
        touches="statement",
        finding=(
            "(23) takes the supremum over all $u in RR^n$, where it is at least $sqrt((n - d)\\/k)$ up to a factor near"
            " 1, whatever $chi$: for $d = 1$, $chi = 1$, $n = 2 k$ the event has probability at most ${first:2}$ at $k"
            " = {fewest}$ and at most ${last:2}$ at $k = {most}$, where $1 - c_1 e^(-c_2 k chi^2)$ tends to 1."
        ),
        consequence=(
            "As stated, the event behind Theorem 1 item 2 all but never occurs for $n >> k$; but every use has $u in "
            'op("col")(A)$, and with that in (23) Lemmas 9 to 11 and the theorem\'s proof stand.'
        ),
    ),
    correction=Correction(
        statement=(
            'With the supremum of $cal(A)_1$ over $u in op("col")(A)$: for $k chi^2 >= {c0} op("rank")(A)$, $chi in '
            "(0, "
            "1]$, $P(S in cal(A)_1 inter cal(A)_2) >= 1 - 2 e^(-{c2} k chi^2)$."
        ),
        ground=(
            "$cal(A)_1$ says that $1/k U^top B^top B U$ has eigenvalues in $[1 - chi\\/2, 1 + chi\\/2]$, $U$ an "
            "orthonormal basis, and implies $cal(A)_2$; by Davidson and Szarek these are in $(1 plus.minus x)^2$, $x = "
            "(sqrt(r) + t) \\/ sqrt(k)$, but for $2 e^(-t^2\\/2)$, and $x = {room} chi$ will do."
        ),
        checks=(
            EIGENVALUES,
            TAILS,
            Search(
                sides=_failure_of_events,
                box={"logk": Real(math.log(C0), math.log(1e5)), "d": Real(1.0, 1.0), "chi": Real(0.05, 1.0, "log")},
                vectorised=True,
                impostors={"c_2 = 0.1": {"sides": {"rate": 0.1}}},
                role="control",
            ),
            Frequency(
                events=_events,
                trials={"quick": 4_000, "full": 40_000},
                impostors={"chi / 8": {"events": {"factor": 0.125}}},
                role="control",
            ),
        ),
        derivation=EVENTS,
    ),
    given={"fewest": FEWEST, "most": MOST, "c0": C0, "c2": C2, "room": ROOM},
)
