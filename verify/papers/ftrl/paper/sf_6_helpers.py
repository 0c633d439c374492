"""Appendix F.6: helper results, Lemmas F.17 to F.20."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import sympy

from verify.checks import Agreement, Fact, Search, Symbolic
from verify.checks.domains import Real, Whole
from verify.papers.ftrl.tools.input_laws import PLANAR, planar
from verify.papers.ftrl.tools.second_moments import Systems
from verify.statements.claims import Claim, Correction, Fault
from verify.statements.derivations import Derivation

Sides = tuple[np.ndarray, np.ndarray]

# --- Lemma F.17 ---


def _geometric_form(beta: np.ndarray, c: np.ndarray, plus: float = 1.0) -> Sides:
    """The double sum for twelve weights against (1 + c)/(1 - c) times the sum of squares."""
    lags = np.abs(np.subtract.outer(np.arange(12), np.arange(12)))
    form = np.einsum("nt,ns,nts->n", beta, beta, c[:, None, None] ** lags)
    return form, (1 + plus * c) / (1 - c) * np.sum(beta**2, axis=1)


def _symbol(numerator: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """The form is the mean of |B|^2 (1 - c^2)/|1 - c e^{i omega}|^2, whose second factor is largest at omega = 0; c =
    1/(1 + t), sin^2(omega/2) = p/(p + q).
    """
    t, p, q = sympy.symbols("t p q", positive=True)
    c, s = 1 / (1 + t), p / (p + q)
    yield "(1 + c)/(1 - c) - symbol", (1 + numerator * c) / (1 - c) - (1 - c**2) / ((1 - c) ** 2 + 4 * c * s)


SYMBOL = Symbolic(nonnegative=_symbol, impostors={"1/(1 - c)": {"nonnegative": {"numerator": 0}}})

LEM_F_17 = Claim(
    id="ftrl/lem-f.17",
    where="Lemma F.17",
    page=58,
    kind="inequality",
    statement="$sum_(t, tau) beta_t beta_tau c^abs(t - tau) <= (1 + c)/(1 - c) norm(beta)_2^2$ for $0 <= c < 1$.",
    checks=(
        SYMBOL,
        Search(
            sides=_geometric_form,
            box={"beta": (Real(-1.0, 1.0), 12), "c": Real(0.0, 0.999)},
            extremal=lambda: [{"beta": np.ones(12), "c": 0.1}],
            vectorised=True,
            impostors={"1/(1 - c)": {"sides": {"plus": 0.0}}},
            role="control",
        ),
    ),
    derivation=Derivation(
        text=(
            "$sum_k c^abs(k) e^(i k omega) = (1 - c^2) \\/ abs(1 - c e^(i omega))^2$, so that the double sum is the "
            "mean over the circle of $abs(B)^2$ times this, which is at most $(1 + c)\\/(1 - c)$ for $0 < c < 1$ by "
            "the check; the mean of $abs(B)^2$ is $norm(beta)_2^2$. At $c = 0$ both sides are equal."
        ),
        lemmas=("geometric series", "Parseval"),
    ),
)

# --- Lemma F.18 ---


def _without_expectation(rng: np.random.Generator) -> Iterator[Fact]:
    """The lemma as printed, for one x, and the first line of its proof, d = 1."""
    eta, M = 0.5, 1.0
    label = "x = 0 or +-sqrt 2 (1/2, 1/4, 1/4), H = 1, R^2 = 2, eta = 1/2, M = 1: the left side at x = 0, if above"
    stated = (1 - eta) * M
    yield Fact(label, max((1 - eta * 0.0) ** 2 * M, stated), stated)
    eta, M = 0.5, 2.0
    line = M - 2 * eta * M * M + eta**2 * M
    label = "x = +-1, H = R^2 = 1, eta = 1/2, M = 2: the left side against the first line of the proof, if above"
    yield Fact(label, max((1 - eta) ** 2 * M, line), line)


def _contraction(fraction, factor, times: float = 1.0, **law) -> Sides:
    """E Tr[(I - eta x x^T) M (I - eta x x^T)], M = L L^T, against (1 - eta mu) Tr M; eta = fraction / R^2."""
    laws = planar(**law)
    still = np.zeros_like(fraction)
    systems = Systems(laws, fraction / laws.r_squared(), still[:, None], still, still)
    L = factor.reshape(-1, 2, 2)
    M = L @ L.transpose(0, 2, 1)
    bound = (1 - times * systems.x.min(axis=1)) * np.trace(M, axis1=1, axis2=2)
    return np.trace(systems.after_step(M), axis1=1, axis2=2), bound


def _trace_steps(first: int = 2) -> Iterator[tuple[str, sympy.Expr]]:
    """Tr M - 2 eta Tr[HM] + eta^2 R^2 Tr[HM] <= (1 - eta mu) Tr M: Tr[HM] = mu Tr M + g, eta R^2 = 1/(1 + t)."""
    eta, t, mu, trace, g = sympy.symbols("eta t mu trace g", positive=True)
    crossed = mu * trace + g
    yield "right less left", (1 - eta * mu) * trace - (trace - first * eta * crossed + eta / (1 + t) * crossed)


TRACE_STEPS = Symbolic(nonnegative=_trace_steps, impostors={"one Tr[HM]": {"nonnegative": {"first": 1}}})

LEM_F_18 = Claim(
    id="ftrl/lem-f.18",
    where="Lemma F.18",
    page=59,
    kind="inequality",
    statement=(
        '$op("Tr")[(I - eta x times.o x) M (I - eta x times.o x)] <= (1 - eta mu) op("Tr")[M]$;',
        'the left side is at most $op("Tr")[M] - 2 eta op("Tr")[M M] + eta^2 op("Tr")[EE[norm(x)^2 x times.o x] M]$.',
    ),
    hypotheses="$M$ positive semidefinite, $eta <= 1\\/R^2$.",
    checks=(Agreement(decides="ab", facts=_without_expectation, closed=True),),
    fault=Fault(
        severity="slip",
        touches="statement",
        finding=(
            "Lemma F.18 states for every $x$ what holds in expectation: with $x = 0$ possible, $H = 1$, $R^2 = 2$, "
            "$eta = 1\\/2$, $M = 1$ its left side is ${observed}$, its right side ${predicted}$; and its proof has "
            '$op("Tr")[M M]$ for $op("Tr")[H M]$.'
        ),
        consequence="Nothing falls with it: it is used in expectation only.",
    ),
    correction=Correction(
        statement=(
            (
                r'For $eta <= 1\/R^2$ and positive semidefinite $M$, $EE op("Tr")[(I - eta x times.o x) M (I - eta x '
                'times.o x)] <= (1 - eta mu) op("Tr")[M]$;'
            ),
            (
                'the left side is at most $op("Tr")[M] - 2 eta op("Tr")[H M] + eta^2 op("Tr")[EE[norm(x)^2 x times.o '
                "x] M]$."
            ),
        ),
        ground='$op("Tr")[EE[norm(x)^2 x times.o x] M] <= R^2 op("Tr")[H M]$ and $op("Tr")[H M] >= mu op("Tr")[M]$.',
        checks=(
            TRACE_STEPS.deciding("ab"),
            Search(
                decides="a",
                sides=_contraction,
                box={**PLANAR, "fraction": Real(1e-3, 1.0), "factor": (Real(-1.0, 1.0), 4)},
                vectorised=True,
                impostors={"1 - 2.1 eta mu": {"sides": {"times": 2.1}}},
                role="control",
            ),
        ),
        derivation=Derivation(
            text=(
                'The product multiplied out, its expected trace is $op("Tr") M - 2 eta op("Tr")[H M] + eta^2 '
                'op("Tr")[EE[norm(x)^2 x x^top] M]$, (b). With $EE[norm(x)^2 x x^top] prec.eq R^2 H$ and $op("Tr")[H '
                'M] >= mu op("Tr") M$ this is at most $(1 - eta mu) op("Tr") M$ for $eta R^2 <= 1$ by the check, (a).'
            ),
            lemmas=("linearity", "Rayleigh", "Loewner monotony"),
        ),
    ),
)

# --- Lemma F.19 ---


def _product_trace(entries: np.ndarray, bound: float = 3.0) -> Sides:
    """|Tr[A_1 A_2 A_3 A_4]| in d = 3: symmetric parts of the entries with their spectra cut to [0, 1]."""
    raw = entries.reshape(-1, 4, 3, 3)
    values, vectors = np.linalg.eigh((raw + raw.swapaxes(2, 3)) / 2)
    A = np.einsum("nkij,nkj,nklj->nkil", vectors, np.clip(values, 0, 1), vectors)
    trace = np.einsum("nab,nbc,ncd,nda->n", A[:, 0], A[:, 1], A[:, 2], A[:, 3])
    return np.abs(trace), np.full(len(raw), bound)


def _nuclear_norm(rng: np.random.Generator, *, dimension: bool) -> Iterator[Fact]:
    for d in (2, 5):
        norm = float(np.sum(np.linalg.svd(np.eye(d), compute_uv=False)))
        yield Fact(f"Schatten 1-norm of A_1 = I, d = {d}", norm, float(d) if dimension else 1.0)


def _in_an_eigenbasis(sign: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """1 -+ a b for an eigenvalue a = 1/(1 + s) of A_1 and an entry b = -+1/(1 + t) on the diagonal of the others'
    product.
    """
    s, t = sympy.symbols("s t", positive=True)
    for side in (1, -1):
        yield f"1 - ({side}) a b", 1 - side * (1 + s) ** -sign / (1 + t)


def _trace_of_identity(share: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    d = sympy.Symbol("d", integer=True, positive=True)
    identity: Any = sympy.Trace(sympy.Identity(d)).doit()
    yield "Tr I - d", identity - d**share


TRACES = Search(
    sides=_product_trace,
    box={"entries": (Real(-2.0, 2.0), 36)},
    extremal=lambda: [{"entries": np.tile(np.eye(3).ravel(), 4)}],
    vectorised=True,
    impostors={"1 in place of d": {"sides": {"bound": 1.0}}},
)

LEM_F_19 = Claim(
    id="ftrl/lem-f.19",
    where="Lemma F.19",
    page=59,
    kind="inequality",
    statement=(
        '$abs(op("Tr")[A_1 dots.c A_k]) <= d$ for $0 prec.eq A_i prec.eq I$;',
        'in the proof $norm(A_1)_(S_1) = op("Tr")[A_1] <= op("Tr")[I] = 1$.',
    ),
    checks=(
        TRACES.deciding("a"),
        Agreement(decides="b", facts=lambda rng: _nuclear_norm(rng, dimension=False), closed=True),
    ),
    fault=Fault(
        severity="slip",
        touches="proof",
        finding=(
            'The proof of Lemma F.19 ends with $op("Tr")[I] = 1$; the trace is $d$: for $d = 2$, $A_1 = I$ it is '
            "${observed}$."
        ),
        consequence="The lemma itself is right, and its bound $d$ is what the corrected line gives.",
        exhibit=1,
    ),
    correction=Correction(
        statement=(
            '$abs(op("Tr")[A_1 dots.c A_k]) <= d$ for $0 prec.eq A_i prec.eq I$;',
            'in the proof $norm(A_1)_(S_1) = op("Tr")[A_1] <= op("Tr")[I] = d$.',
        ),
        ground="Hölder's inequality for Schatten norms; equality for $A_i = I$.",
        checks=(
            TRACES.deciding("a").as_control(),
            Agreement(
                decides="b",
                facts=lambda rng: _nuclear_norm(rng, dimension=True),
                impostors={"as printed": {"facts": lambda rng: _nuclear_norm(rng, dimension=False)}},
                role="control",
            ),
            Symbolic(
                decides="a",
                nonnegative=_in_an_eigenbasis,
                impostors={"an eigenvalue beyond 1": {"nonnegative": {"sign": -1}}},
            ),
            Symbolic(decides="b", residuals=_trace_of_identity, impostors={"1": {"residuals": {"share": 0}}}),
        ),
        derivation=Derivation(
            text=(
                'In an eigenbasis of $A_1$, of eigenvalues $a_i$ in $[0, 1]$, $op("Tr")[A_1 B] = sum_i a_i b_(i i)$ '
                "with $B = A_2 dots.c A_k$ and $abs(b_(i i)) <= norm(B) <= 1$: $d$ terms of at most 1 each, for every "
                '$k$ and $d$. The singular values of $A_1 >= 0$ are the $a_i$, so $norm(A_1)_(S_1) = op("Tr")[A_1] <= '
                'op("Tr")[I] '
                "= d$."
            ),
            lemmas=("spectral theorem", "submultiplicativity"),
        ),
    ),
)

# --- Lemma F.20 ---


def _f(tau: Any, t: Any, a: Any, rho: Any) -> Any:
    return tau + np.exp(-a * tau) / (rho * a) * (tau < t - 1)


def _least(rng: np.random.Generator) -> Iterator[Fact]:
    """f(tau-hat) against the minimum as printed."""
    for t, a, rho in ((10, 0.5, 0.5), (2, 0.5, 0.5), (3, 0.5, 0.5)):
        tau, m = min(t - 1, np.log(1 / rho) / a), (1 + np.log(1 / rho)) / a
        yield Fact(f"f(tau-hat) at t = {t}, a = {a}, rho = {rho}", float(_f(tau, t, a, rho)), min(t - 1, m), 1e-12)


def _at_most_m(t: np.ndarray, a: np.ndarray, rho: np.ndarray, one: float = 1.0) -> Sides:
    """How far f(tau-hat) exceeds m, f(tau-hat rounded up) exceeds m + 1, and f(least choice) exceeds min{t - 1, m}."""
    star, m = np.log(1 / rho) / a, (one + np.log(1 / rho)) / a
    choice = np.where(t - 1 <= m, t - 1, star)
    excess = [
        _f(np.minimum(t - 1, star), t, a, rho) / m,
        _f(np.minimum(t - 1, np.ceil(star)), t, a, rho) / (m + 1),
        (1 + _f(choice, t, a, rho)) / (1 + np.minimum(t - 1, m)),
    ]
    return np.max(excess, axis=0), np.ones_like(a)


def _minimum(sign: int = 1) -> Iterator[tuple[Any, ...]]:
    """f at tau* = log(1/rho)/a below t - 1, and the derivative of its convex part there."""
    tau, a, log = sympy.symbols("tau a log", positive=True)
    value = tau + sympy.exp(log - a * tau) / a
    yield "f(tau*) = (1 + log(1/rho))/a", value.subs(tau, log / a), (sign + log) / a
    yield "f'(tau*) = 0", sympy.diff(value, tau).subs(tau, log / a)


LEM_F_20 = Claim(
    id="ftrl/lem-f.20",
    where="Lemma F.20",
    page=59,
    kind="identity",
    statement=(
        "For $f(tau) = tau + 1/(rho a) e^(-a tau) bold(1)(tau < t - 1)$, $m = (1 + log(1\\/rho)) \\/ a$ and "
        "$hat(tau) = min{t - 1, log(1\\/rho) \\/ a}$: $f(hat(tau)) = min{t - 1, m} <= m$."
    ),
    hypotheses="$t >= 1$ an integer, $a > 0$, $0 < rho < 1$.",
    checks=(Agreement(facts=_least, closed=True),),
    fault=Fault(
        severity="slip",
        touches="statement",
        finding=(
            "Lemma F.20 prints $f(hat(tau)) = min{{t - 1, m}}$, which fails where $log(1\\/rho) < a (t - 1) < 1 + "
            "log(1\\/rho)$: at $t = 3$, $a = rho = 1\\/2$ it is ${observed}$ for ${predicted}$."
        ),
        consequence="The bound $f(hat(tau)) <= m$, all that the paper uses, stands.",
    ),
    correction=Correction(
        statement=(
            (
                r"For $f(tau) = tau + 1/(rho a) e^(-a tau) bold(1)(tau < t - 1)$, $m = (1 + log(1\/rho)) \/ a$ and "
                r"$hat(tau) = min{{t - 1, log(1\/rho) \/ a}}$: $f(hat(tau)) <= m$, and $<= m + 1$ with $hat(tau)$ "
                "rounded up to a whole number, as the uses need it;"
            ),
            (
                r"$min_tau f = min{{t - 1, m}}$ is attained at $t - 1$ if $t - 1 <= m$ and at $log(1\/rho) \/ a$ "
                "otherwise."
            ),
        ),
        ground="The convex part of $f$ is least, with value $m$, at $log(1\\/rho) \\/ a$.",
        checks=(
            Symbolic(decides="ab", residuals=_minimum, impostors={"sign": {"residuals": {"sign": -1}}}),
            Search(
                decides="a",
                sides=_at_most_m,
                box={
                    "t": Whole(1, 1000, "log"),
                    "a": Real(1e-4, 10.0, "log"),
                    "rho": Real(1e-9, 0.999, "log"),
                },
                vectorised=True,
                impostors={"m without its 1": {"sides": {"one": 0.0}}},
                role="control",
            ),
        ),
        derivation=Derivation(
            text=(
                "Below $t - 1$, $f$ is linear plus a convex exponential, with derivative 0 and value $m$ at $tau^star "
                "= log(1\\/rho)\\/a$ (check), so that $f >= m$ there; from $t - 1$ on $f(tau) = tau >= t - 1$. If $t "
                "- 1 <= tau^star$, $f(hat(tau)) = t - 1 <= tau^star <= m$, else $f(hat(tau)) = m$; rounded up, "
                "$hat(tau)$ is $t - 1 <= tau^star + 1$, or $tau <= tau^star + 1$ with $e^(-a tau) <= rho$, so that $f "
                "<= tau^star + 1 + 1\\/a = m + 1$. For (b), $f(t - 1) = t - 1$ if $t - 1 <= m$, and else $tau^star < "
                "m < t - 1$ with $f(tau^star) = m$."
            ),
            lemmas=("monotony", "concavity"),
        ),
    ),
)
