"""Appendix C, Lemmas 8 to 11: what holds on the events of Definition 2."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import sympy
from scipy import special

from verify.checks import Search, Symbolic
from verify.checks.domains import Real, Whole
from verify.papers.ols.tools.sketched import inside
from verify.statements.claims import Claim
from verify.statements.derivations import Derivation

# --- Lemma 8: the length of Gaussian vectors ---


def _length_tail(d, rho, logs: float = 4.0):
    """P(||xi||² > threshold) against rho²."""
    threshold = (np.sqrt(2 * d) + np.sqrt(logs * np.log(1 / rho))) ** 2
    return special.chdtrc(d, threshold), rho**2


def _chernoff(order: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """At x = d (1 + s)², u = (1 - d/x)/2: -u x - (d/2) log(1 - 2u) is -d s²/2 - d (s - log(1 + s)); and the derivative
    of s - log(1 + s) is s/(1 + s).
    """
    d, s = sympy.symbols("d s", positive=True)
    x = d * (1 + s) ** 2
    u = (1 - d / x) / 2
    exponent = -u * x - d / 2 * sympy.expand_log(sympy.log(sympy.factor(1 - 2 * u)))
    yield "the exponent", sympy.simplify(exponent + d * s**2 / 2 + order * d * (s - sympy.log(1 + s)))
    slope: Any = sympy.diff(s - sympy.log(1 + s), s)
    yield "the derivative", sympy.simplify(slope - s / (1 + s))


LEM_8 = Claim(
    id="ols/lem-8",
    where="Lemma 8, (25), (28), (88)",
    equation="Lemma 8",
    kind="inequality",
    statement=(
        "$P(norm(xi)^2 <= (sqrt(2 d) + sqrt(4 log(1\\/rho.alt)))^2) >= 1 - rho.alt^2$ for $xi tilde N(0, I_d)$."
    ),
    hypotheses="$rho.alt in (0, 1]$.",
    remark="Doubling $d$ is not needed: $(sqrt(d) + sqrt(4 log(1\\/rho.alt)))^2$ has the same probability, by (88).",
    checks=(
        Symbolic(residuals=_chernoff, impostors={"twice the logarithm": {"residuals": {"order": 2}}}),
        Search(
            sides=_length_tail,
            box={"d": Whole(1, 10**4, "log"), "rho": Real(1e-12, 1.0, "log")},
            extremal=lambda: [{"d": 1.0, "rho": 1e-12}],
            vectorised=True,
            impostors={"2 log(1/rho)": {"sides": {"logs": 2.0}}},
            role="control",
        ),
    ),
    derivation=Derivation(
        text=(
            "$norm(xi)^2$ is a sum of $d$ squares $g^2$ with $bb(E) e^(u g^2) = (1 - 2 u)^(-1\\/2)$, $u < 1\\/2$. At "
            "$x = d (1 + s)^2$ and $u = (1 - d\\/x)\\/2$: $log PP(norm(xi)^2 >= x) <= -u x - d/2 log(1 - 2 u) = -d "
            "s^2\\/2 - d (s - log(1 + s)) <= -d s^2\\/2$, since $s - log(1 + s)$ is 0 at 0 and grows. With $d s^2 = 4 "
            "log(1\\/rho.alt)$ that is $PP(norm(xi) >= sqrt(d) + sqrt(4 log(1\\/rho.alt))) <= rho.alt^2$, and $sqrt(d) "
            "<= sqrt(2 d)$."
        ),
        lemmas=("independence", "Markov", "monotony"),
    ),
)

# --- the spectrum of a sketch within the events ---


def _inverses(side: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """For v from 1 - c to 1 + c, c = chi/2 = 1/(1 + s) below 1: h = c/(1 - c) = chi/(2 - chi) less 1/v - 1, v = 1 - c +
    t, and less 1 - 1/v, v = (1 + c)/(1 + t); `side` is where the interval begins.
    """
    s, t = sympy.symbols("s t", positive=True)
    c = 1 / (1 + s)
    h = c / (1 - c)
    yield "h - (1/v - 1)", h - (1 / (1 - side * c + t) - 1)
    yield "h - (1 - 1/v)", h - (1 - (1 + t) / (1 + c))
    yield "1/v - 1/(1 + c)", (1 + t) / (1 + c) - 1 / (1 + c)


INVERSES = Symbolic(nonnegative=_inverses, impostors={"from 1 - chi on": {"nonnegative": {"side": 2}}})
SPECTRUM = (
    "Let $A = U R$, $U$ with orthonormal columns and $R$ invertible, $A^top A = R^top R$, as the step needs. "
    "$cal(A)_1$ for $u = U w$ says that $V = 1/k U^top B^top B U$ differs from $I$ by at most $chi\\/2$ in norm. So "
    "its eigenvalues $v$ are in $[1 - chi\\/2, 1 + chi\\/2]$, $1\\/(1 + chi\\/2) <= 1\\/v <= 1\\/(1 - chi\\/2)$ and "
    "$abs(1 - 1\\/v) <= h = chi\\/(2 - chi)$. "
)

# --- Lemma 9: one step without noise ---


def _contraction(chi, places, angle, start, share: float = 1.0):
    """||(I - V^-1) e||² for V inside the events, in coordinates where A'A = I, against chi² ||e||²."""
    V = inside(chi, places, angle)
    after = np.linalg.solve(V, start[:, :, None])[:, :, 0]
    return ((start - after) ** 2).sum(axis=1), share * chi**2 * (start**2).sum(axis=1)


def _printed_step(least: int = 2) -> Iterator[tuple[str, sympy.Expr]]:
    """chi (1 - chi) - chi/2, chi = 1/(2 (1 + t)) at most 1/2."""
    t = sympy.Symbol("t", positive=True)
    chi = 1 / (least * (1 + t))
    yield "chi - (chi/2)/(1 - chi)", chi * (1 - chi) - chi / 2
    yield "chi - chi/(2 - chi)", chi - chi / (2 - chi)


LEM_9 = Claim(
    id="ols/lem-9",
    where="Lemma 9, (30)",
    equation="Lemma 9",
    kind="inequality",
    statement=(
        "For $chi <= 1\\/2$ and $B in cal(A)_1 inter cal(A)_2$: $norm(hat(theta)(A, b, B, theta_0, 0) - "
        "theta^*)_(A^top A)^2 <= chi^2 norm(theta_0 - theta^*)_(A^top A)^2$, by $(chi\\/2)/(1 - chi) <= chi$."
    ),
    remark=(
        "With the step of (21), not the $1\\/k$ of (20). The sharp factor is $(chi \\/ (2 - chi))^2$, for all $chi <= "
        "1$: at $chi = 1\\/2$ less than half of $chi^2$."
    ),
    checks=(
        Symbolic(nonnegative=_printed_step, impostors={"for chi up to 1": {"nonnegative": {"least": 1}}}),
        Search(
            sides=_contraction,
            box={
                "chi": Real(0.01, 0.5),
                "places": (Real(-1.0, 1.0), 2),
                "angle": Real(0.0, math.pi),
                "start": (Real(-1.0, 1.0), 2),
            },
            extremal=lambda: [{"chi": 0.5, "places": [-1.0, -1.0], "angle": 0.0, "start": [1.0, 0.0]}],
            vectorised=True,
            impostors={"0.4 chi²": {"sides": {"share": 0.4}}},
            role="control",
        ),
        INVERSES,
    ),
    derivation=Derivation(
        text=SPECTRUM + "The step is $hat(theta) = theta_0 - (1/k A^top B^top B A)^(-1) A^top A (theta_0 - theta^*)$, "
        "so $f = R (theta - theta^*)$, whose norm is that of the statement, becomes $(I - V^(-1)) f$, and "
        "$norm((I - V^(-1)) f) <= h norm(f)$ with $h <= (chi\\/2)\\/(1 - chi) <= chi$ for $chi <= 1\\/2$.",
        lemmas=("Rayleigh", "spectral theorem"),
    ),
)

# --- Lemma 10: the sketched inverse ---


def _sandwich(mix, A, v, upper: float = 1.0):
    """The worst of (31) and (32) over their right sides, for B = sqrt(k) (Q + noise), k = 5, n = 4, d = 2, with the chi
    that B has on col(A); 0 where that is above 1.
    """
    Q = np.linalg.qr(np.vander(np.arange(1.0, 6.0), 4) / 50)[0]
    B = math.sqrt(5) * (Q + 0.2 * mix.reshape(5, 4))
    A = A.reshape(4, 2) + np.eye(4, 2)
    gram = A.T @ A
    sketched = A.T @ B.T @ B @ A / 5
    root = np.linalg.cholesky(gram)
    spectrum = np.linalg.eigvalsh(np.linalg.solve(root, np.linalg.solve(root, sketched).T))
    chi = 2 * max(spectrum[-1] - 1, 1 - spectrum[0])
    if chi > 1 or np.linalg.eigvalsh(gram)[0] < 1e-6 or not v.any():
        return 0.0, 1.0
    inverse = np.linalg.eigvalsh(root.T @ np.linalg.solve(sketched, root))
    moved = np.linalg.solve(sketched, v)
    bound = upper * (v @ v) / (1 - chi / 2) ** 2 / np.linalg.eigvalsh(gram)[0]
    ratios = (inverse[-1] * (1 - chi / 2) / upper, 1 / (1 + chi / 2) / inverse[0], moved @ gram @ moved / bound)
    return max(ratios), 1.0


LEM_10 = Claim(
    id="ols/lem-10",
    where="Lemma 10, (31), (32), (89)-(101)",
    equation="Lemma 10",
    kind="inequality",
    statement=(
        "For $B in cal(A)_1$ and $A^top A succ 0$: $1/(1 + chi\\/2) (A^top A)^(-1) prec.eq (1/k (B A)^top B A)^(-1) "
        "prec.eq 1/(1 - chi\\/2) (A^top A)^(-1)$ and $k^2 norm(((B A)^top B A)^(-1) v)_(A^top A)^2 <= norm(v)^2 \\/ "
        "((1 - chi\\/2)^2 lambda_min (A^top A))$."
    ),
    remark='(92) prints $I_n$ where $A^top A$ is meant; of $cal(A)_1$ only $u in op("col")(A)$ is used.',
    checks=(
        Search(
            sides=_sandwich,
            box={"mix": (Real(-1.0, 1.0), 20), "A": (Real(-0.5, 0.5), 8), "v": (Real(-1.0, 1.0), 2)},
            evaluations=1500,
            impostors={"half": {"sides": {"upper": 0.5}}},
            role="control",
        ),
        INVERSES,
    ),
    derivation=Derivation(
        text=SPECTRUM + "$(1/k (B A)^top B A)^(-1) = R^(-1) V^(-1) R^(-top)$, and $(A^top A)^(-1) = R^(-1) R^(-top)$: "
        "the first chain is that of the $1\\/v$, conjugated. The left side of the second is $norm(V^(-1) R^(-top) "
        "v)^2 <= (1 - chi\\/2)^(-2) norm(R^(-top) v)^2$, and $norm(R^(-top) v)^2 = v^top (A^top A)^(-1) v <= "
        "norm(v)^2\\/lambda_min (A^top A)$.",
        lemmas=("Rayleigh", "spectral theorem", "Loewner monotony"),
    ),
)

# --- Lemma 11: residuals along the run ---

STEPS = 6


def _residuals(X, Y, chi, sigma, places, angles, noise, bound: float = 1.0):
    """The largest residual of steps 0 to 6 over (34), n = 4, d = 2, w = 1; V_t and v_t inside the events. 0 where the
    hypothesis fails.
    """
    X = X.reshape(-1, 4, 2)
    X = X / np.maximum(np.linalg.norm(X, axis=2, keepdims=True), 1.0)
    M = X.transpose(0, 2, 1) @ X
    spectrum, basis = np.linalg.eigh(M)
    spectrum = np.maximum(spectrum, 1e-12)
    root = basis * np.sqrt(spectrum)[:, None, :] @ basis.transpose(0, 2, 1)
    theta_star = np.linalg.solve(M + 1e-14 * np.eye(2), np.einsum("nij,ni->nj", X, Y)[:, :, None])[:, :, 0]
    condition = np.sqrt(spectrum[:, 1] / spectrum[:, 0])
    g = chi * condition / (2 - chi)
    theta, worst = np.zeros_like(theta_star), np.zeros(len(chi))
    size = np.linalg.norm(theta_star, axis=1)
    for t in range(STEPS + 1):
        residual = np.abs(Y - np.einsum("nij,nj->ni", X, theta)).max(axis=1)
        spread = 2 * sigma / (2 - chi * (1 + condition)) / spectrum[:, 0]
        stated = np.abs(Y).max(axis=1) + (1 + g**t) * size + bound * spread
        worst = np.maximum(worst, residual / stated)
        if t == STEPS:
            break
        V = inside(chi, places[:, 2 * t : 2 * t + 2], angles[:, t])
        direction = np.stack([np.cos(noise[:, t]), np.sin(noise[:, t])], axis=1)
        gradient = np.einsum("nij,ni->nj", X, Y - np.einsum("nij,nj->ni", X, theta)) + sigma[:, None] * direction
        theta = theta + np.linalg.solve(root @ V @ root, gradient[:, :, None])[:, :, 0]
    return np.where((g < 0.99) & (spectrum[:, 0] > 1e-6), worst, 0.0), np.ones(len(chi))


def _constants_of_34(twice: int = 2) -> Iterator[tuple[str, sympy.Expr]]:
    """The noise terms of (117) and (34), kappa = s²."""
    chi, s = sympy.symbols("chi s", positive=True)
    printed = 1 / (1 - chi * s / (2 - chi)) / (1 - chi / 2)
    yield "(117) - (34)", printed - twice / (2 - chi * (1 + s))


def _alternating() -> list[dict[str, Any]]:
    """X = I, Y = 0, V = (1 - chi/2) I and noise along one axis, to and fro."""
    return [
        {
            "X": [1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0],
            "Y": [0.0] * 4,
            "chi": 0.5,
            "sigma": 1.0,
            "places": [-1.0] * (2 * STEPS),
            "angles": [0.0] * STEPS,
            "noise": [0.0, math.pi] * (STEPS // 2),
        }
    ]


LEM_11 = Claim(
    id="ols/lem-11",
    where="Lemma 11, (34), (106)-(117)",
    equation="Lemma 11",
    kind="inequality",
    statement=(
        "For $M = X^top X$, $g = chi sqrt(kappa(M)) \\/ (2 - chi) < 1$, $B_t in cal(A)_1 inter cal(A)_2$, $v_t in "
        "cal(A)_3 (rho.alt \\/ (2 T), d)$ and the recursion (33): $norm(Y - X hat(theta)_t)_oo <= C_Y + (1 + g^t) "
        "norm(theta^*) + (2 sigma)/(2 - chi (1 + sqrt(kappa(M)))) dot w_T \\/ lambda_min (M)$."
    ),
    hypotheses="$norm(x_i) <= 1$, $abs(y_i) <= C_Y$.",
    remark=(
        "Step (e) cites Lemma 9, whose factor is $chi$; the $chi \\/ (2 - chi)$ that it needs follows from (31). "
        "Without signal the bound is attained in the limit $t -> oo$."
    ),
    checks=(
        Symbolic(residuals=_constants_of_34, impostors={"sigma for 2 sigma": {"residuals": {"twice": 1}}}),
        Search(
            sides=_residuals,
            box={
                "X": (Real(-1.0, 1.0), 8),
                "Y": (Real(-1.0, 1.0), 4),
                "chi": Real(0.01, 1.0),
                "sigma": Real(0.01, 100.0, "log"),
                "places": (Real(-1.0, 1.0), 2 * STEPS),
                "angles": (Real(0.0, math.pi), STEPS),
                "noise": (Real(0.0, 2 * math.pi), STEPS),
            },
            extremal=_alternating,
            vectorised=True,
            evaluations=4000,
            impostors={"5 % less noise": {"sides": {"bound": 0.95}}},
            role="control",
        ),
        INVERSES,
    ),
    derivation=Derivation(
        text=SPECTRUM + "With $A = X$, $f_t = R (hat(theta)_t - theta^*)$ the recursion is $f_(t + 1) = (I - V_t^(-1)) "
        "f_t + sigma V_t^(-1) R^(-top) v_t$, so $norm(f_(t + 1)) <= h norm(f_t) + sigma w_T\\/((1 - chi\\/2) "
        "sqrt(lambda_min))$, and by Lemma 6 $norm(f_t) <= h^t norm(f_0) + sigma w_T\\/((1 - chi\\/2) (1 - h) "
        "sqrt(lambda_min))$ with $norm(f_0) <= sqrt(lambda_max) norm(theta^*)$. As $norm(hat(theta)_t - theta^*) <= "
        "norm(f_t)\\/sqrt(lambda_min)$, $h^t sqrt(kappa) <= g^t$ for $t >= 1$ and $h <= g$, the residual of record $i$ "
        "is at most $abs(y_i) + norm(theta^*) + g^t norm(theta^*) + sigma w_T\\/((1 - chi\\/2) (1 - g) lambda_min)$, "
        "and $1\\/((1 - chi\\/2) (1 - g)) = 2\\/(2 - chi (1 + sqrt(kappa)))$. At $t = 0$ it is $abs(y_i) <= C_Y$.",
        lemmas=("Rayleigh", "spectral theorem", "triangle inequality", "Cauchy-Schwarz", "submultiplicativity"),
    ),
)
