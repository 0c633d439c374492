"""Appendix C.1.2: Steps 1 and 2 of the proof of Theorem 1 item 2, up to the augmented data (53)."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import sympy

from simulators.ols import mixing_noise
from verify.checks import Agreement, Fact, Search, Symbolic, Times, Within
from verify.checks.domains import Real
from verify.papers.ols.tools.noise_draws import DRAWS, released_noise
from verify.statements.claims import Claim, Correction, Fault
from verify.statements.derivations import Derivation

# --- Step 1: the union of the events ---


def _union(quarter: int = 4) -> Iterator[tuple[str, sympy.Expr]]:
    """varrho less the shares of (46)-(48), T = 1 + s, varrho = 1/(1 + u); and 1/2 e^(-tau²/2) at tau of the theorem."""
    s, u = sympy.symbols("s u", positive=True)
    T, rho = 1 + s, 1 / (1 + u)
    noise = T * (rho / (2 * T)) ** 2
    yield "varrho - (varrho/4 + T (varrho/2T)² + T varrho/4T)", rho - rho / quarter - noise - T * rho / (4 * T)
    yield "T (varrho/2T)² <= varrho/2", rho / 2 - noise
    yield "(1/2) varrho/4 <= varrho/4", rho / 4 - rho / 8


THM_1_UNION = Claim(
    id="ols/thm-1-union",
    where="App. C.1.2, (49)-(52)",
    equation="(49)-(52)",
    kind="identity",
    statement="$1 - rho.alt\\/4 - T (rho.alt \\/ (2 T))^2 - rho.alt\\/4 >= 1 - rho.alt$.",
    hypotheses="$T >= 1$, $rho.alt <= 1$.",
    checks=(Symbolic(nonnegative=_union, impostors={"all of it for the eigenvalue": {"nonnegative": {"quarter": 1}}}),),
)

# --- the condition number ---


def _least(gap, gamma, z, tau, lam):
    """max{gamma, lambda} against lambda + eta², where the released eigenvalue is at most lambda (z <= tau)."""
    noise = released_noise(lam, gamma, tau, 0.2 * gamma, np.minimum(z, tau))
    return np.maximum(gamma, lam), lam + gap * noise


def _condition(rng: np.random.Generator) -> Iterator[Fact]:
    """lambda_min = 1, lambda_max = 5, gamma = 3, tau = 1, noise 1 on the eigenvalue, z = 0: eta² = 3, psi = 2."""
    noise = float(mixing_noise(1.0, 1.0, 3.0, 1.0, 1.0, np.array([0.0]))[0])
    least, largest, psi = 1.0, 5.0, 2.0
    found, stated = (largest + noise) / (least + noise), (largest + psi) / (least + psi)
    yield Fact(
        "kappa(M) against kappa(psi), lambda = 1 to 5, gamma = 3, z = 0", found, stated, numbers={"noise": noise}
    )


def _on_the_event(more: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """lambda + eta² - gamma at eta² = gamma - released, lambda = released + b; kappa(psi) - kappa(eta²) at eta² = psi +
    e, lambda_max = lambda + f.
    """
    released, gamma, b, lam, psi, e, f = sympy.symbols("l gamma b lambda psi e f", positive=True)
    noise = gamma - released
    yield "lambda + eta² - gamma", (released + b) + more * noise - gamma
    eta = psi + more * e
    yield "kappa(psi) - kappa(eta²)", (lam + f + psi) / (lam + psi) - (lam + f + eta) / (lam + eta)


def _conditions(lam, ratio, gamma, tau, z, share: float = 1.0):
    """kappa(M) against kappa(psi) on the event z <= tau."""
    noise = released_noise(lam, gamma, tau, 0.3 * gamma, np.minimum(z, tau))
    psi = np.maximum(gamma - lam, 0.0)
    return (lam * ratio + noise) / (lam + noise), share * (lam * ratio + psi) / (lam + psi)


THM_1_LMIN = Claim(
    id="ols/thm-1-lmin",
    where="App. C.1.2, Step 2, (78)",
    equation="(78), after (53)",
    kind="inequality",
    statement=(
        "On ${tilde(lambda) <= lambda^X}$, $lambda^X + eta^2 >= max{gamma, lambda^X}$;",
        "$kappa(M) = kappa^X (eta^2) = kappa^X (psi)$.",
    ),
    checks=(
        Agreement(decides="b", facts=_condition, closed=True),
        Search(
            decides="a",
            sides=lambda **p: _least(1.0, **p),
            box=DRAWS,
            evaluations=2000,
            vectorised=True,
            impostors={"half the noise": {"sides": lambda **p: _least(0.5, **p)}},
        ),
    ),
    fault=Fault(
        severity="slip",
        touches="proof",
        finding=(
            "Step 2 has $kappa^X (eta^2) = kappa^X (psi)$, $psi = max{{0, gamma - lambda^X}}$, but $eta^2 = gamma - "
            "tilde(lambda) > psi$ where $tilde(lambda) < lambda^X$: for eigenvalues 1 and 5, $gamma = 3$, $tau = 1$, "
            "noise 1 on the eigenvalue and $z = 0$, $eta^2 = {noise}$ and $kappa(M) = {observed}$, $kappa^X (psi) = "
            "{predicted}$."
        ),
        consequence="Nothing: on the event $kappa(M) <= kappa^X (psi)$, which is what is used.",
    ),
    correction=Correction(
        statement=(
            "On ${{tilde(lambda) <= lambda^X}}$, $lambda^X + eta^2 >= max{{gamma, lambda^X}}$ and $kappa(M) = kappa^X "
            "(eta^2) <= kappa^X (psi)$."
        ),
        ground="$eta^2 >= psi$ there, and $kappa^X$ decreases.",
        checks=(
            Search(
                sides=_conditions,
                box={**DRAWS, "ratio": Real(1.0, 1000.0, "log")},
                evaluations=2000,
                vectorised=True,
                impostors={"5 % less": {"sides": Times(1, 0.95)}},
                role="control",
            ),
            Search(
                sides=lambda **p: _least(1.0, **p),
                box=DRAWS,
                evaluations=2000,
                vectorised=True,
                impostors={"half the noise": {"sides": lambda **p: _least(0.5, **p)}},
                role="control",
            ),
            Symbolic(nonnegative=_on_the_event, impostors={"less noise": {"nonnegative": {"more": -1}}}),
        ),
        derivation=Derivation(
            text=(
                "$eta^2 = max{gamma - tilde(lambda), 0}$ and $tilde(lambda) <= lambda^X$ give $eta^2 >= psi$ and "
                "$lambda^X + eta^2 >= max{gamma, lambda^X}$; the eigenvalues of $M$ are those of $X^top X$ and "
                "$eta^2$, and $(lambda_max + x)\\/(lambda^X + x)$ does not grow in $x$."
            ),
            lemmas=("spectral theorem",),
        ),
    ),
)

# --- Step 2: the augmented data, (53) ---


def _augmented(rng: np.random.Generator) -> Iterator[Fact | Within]:
    """Copies of the identity under X: Gram matrix of the rows that are sketched, gradient, and the rows' lengths; for a
    whole eta² and, with shorter copies, for any.
    """
    X = rng.uniform(-1, 1, (5, 3)) / math.sqrt(3)
    Y, theta = rng.uniform(-1, 1, 5), rng.standard_normal(3)
    for noise in (3.0, 2.5):
        copies = math.ceil(noise)
        size = math.sqrt(noise / copies)
        stacked = np.vstack([X, *[size * np.eye(3)] * copies])
        outcomes = np.concatenate([Y, np.zeros(3 * copies)])
        # Rows of (S, xi_1, ...) stacked are N(0, stacked'stacked), those of S X + eta xi N(0, X'X + eta² I).
        yield Fact(
            f"covariance of a sketched row, eta² = {noise}", stacked.T @ stacked, X.T @ X + noise * np.eye(3), 1e-12
        )
        gradient = X.T @ (Y - X @ theta) - noise * theta
        yield Fact(f"gradient, eta² = {noise}", stacked.T @ (outcomes - stacked @ theta), gradient, 1e-12)
        fit = np.linalg.lstsq(stacked, outcomes)[0]
        yield Fact(f"fit, eta² = {noise}", fit, np.linalg.solve(X.T @ X + noise * np.eye(3), X.T @ Y), 1e-10)
        longest = float(np.linalg.norm(stacked, axis=1).max())
        yield Within(f"longest row, eta² = {noise}", longest, most=1 + 1e-12)


def _copies(share: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """Gram matrix and gradient of X over m copies of e/sqrt(m) I_d with outcomes 0, d = 2, three records, any m, e."""
    m, e = sympy.symbols("m e", positive=True)
    X = sympy.Matrix(3, 2, lambda i, j: sympy.Symbol(f"x{i}{j}"))
    Y, theta = (sympy.Matrix(sympy.symbols(f"{name}0:{size}")) for name, size in (("y", 3), ("t", 2)))
    block = e / sympy.sqrt(m) * sympy.eye(2)
    gram = X.T * X + share * m * block.T * block
    yield "Gram matrix", gram - (X.T * X + e**2 * sympy.eye(2))
    gradient = X.T * (Y - X * theta) - share * m * block.T * block * theta
    yield "gradient", gradient - (X.T * (Y - X * theta) - e**2 * theta)


EQ_53 = Claim(
    id="ols/eq53",
    where="App. C.1.2, (53), (66)",
    equation="(53)",
    kind="identity",
    statement=(
        "Without clipping line 8 of Algorithm 1 is the step on $overline(X) = (X^top, I_d, dots, I_d)^top$, "
        "$overline(Y) = (Y^top, 0, dots, 0)^top$, $I_d$ repeated $eta^2$ times with independent sketch blocks."
    ),
    remark=(
        "In law, and for whole $eta^2$; for others $ceil(eta^2)$ copies of $eta \\/ sqrt(ceil(eta^2)) I_d$ do the "
        "same, with rows of length at most 1. The one block $eta I_d$ of (66) has rows too long for Lemma 11."
    ),
    checks=(
        Symbolic(residuals=_copies, impostors={"twice as many copies": {"residuals": {"share": 2}}}),
        Agreement(facts=_augmented, impostors={"1 % off": {"facts": Times(1.01)}}, role="control"),
    ),
    derivation=Derivation(
        text=(
            "Line 8 takes of the data the rows $S X + eta xi$ and $X^top (Y - X hat(theta)) - eta^2 hat(theta)$. For "
            "$m = eta^2$ copies, $S$ and the $m$ blocks of the sketch independent and standard normal, the rows of the "
            "sketch of $overline(X)$ are independent and normal with the covariance $X^top X + eta^2 I_d$, as those of "
            "$S X + eta xi$ are; and $overline(X)^top (overline(Y) - overline(X) hat(theta))$ is that gradient, copy "
            "by copy, for every $n$ and $d$."
        ),
        lemmas=("independence",),
    ),
)
