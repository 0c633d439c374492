"""Appendix C.2.3: stationary covariances of the systems whose sum Noisy-FTRL is."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import sympy

from verify.checks import Agreement, Fact, Symbolic, Times
from verify.checks.domains import Whole
from verify.papers.ftrl.paper.sc_1_operators import KERNEL
from verify.papers.ftrl.tools import input_laws, second_moments
from verify.papers.ftrl.tools.input_laws import diagonal, largest_eigenvalue
from verify.papers.ftrl.tools.law_searches import Sides, attacks
from verify.papers.ftrl.tools.second_moments import Systems
from verify.statements.claims import Claim
from verify.statements.derivations import Derivation

EIGENVALUES = (1.0, 0.4, 0.1)
C_2 = "Assumption C.2, $0 < eta < 1\\/R^2$, $sigma_w^2 = G^2 gamma_oo^2 \\/ (2 rho)$."


def _noise_bound(system: Systems) -> np.ndarray:
    """The diagonal of a I + c H^{-1/2} P_beta H^{-1/2}, a and c the two variances."""
    return system.residual[:, None] + system.noise[:, None] * system.powers() / system.laws.eigenvalues


def _total(system: Systems) -> np.ndarray:
    """sigma_s^2 + C_kurt sigma_w^2 <beta, T beta> / R^2."""
    power = system.powers().sum(axis=1)
    return system.residual + system.laws.kurtosis_constant() * system.noise * power / system.laws.r_squared()


def _at_level(system: Systems, level: np.ndarray) -> np.ndarray:
    """S^(level)."""
    every = np.array(list(islice(system.levels(), int(level.max()) + 1)))
    return every[level, np.arange(len(level))]


# --- the steps of the proofs ---


def _summed(times: str = "1") -> Iterator[tuple[str, sympy.Expr]]:
    """eta less eta^2 lambda sum_k (1 - x)^{2 k}, x = eta lambda = 1/(1 + t)."""
    eta, t = sympy.symbols("eta t", positive=True)
    x = 1 / (1 + t)
    yield "$eta - eta^2 lambda\\/(1 - (1 - x)^2)$", sympy.Rational(times) * eta - eta * x / (1 - (1 - x) ** 2)


def _centred(sign: int = -1) -> Iterator[tuple[Any, ...]]:
    """E[(H - X) S (H - X)] = E[X S X] - H S H for X = x x^T, two points of the plane."""
    p = sympy.Symbol("p")
    laws = [(p, sympy.Matrix(sympy.symbols("x0:2"))), (1 - p, sympy.Matrix(sympy.symbols("y0:2")))]
    squares = [(weight, x * x.T) for weight, x in laws]
    S = sympy.Matrix(2, 2, sympy.symbols("s t t u"))
    H = sum((weight * X for weight, X in squares), sympy.zeros(2, 2))
    left = sum((weight * (H - X) * S * (H - X) for weight, X in squares), sympy.zeros(2, 2))
    moments = sum((weight * X * S * X for weight, X in squares), sympy.zeros(2, 2))
    yield "$EE (H - x x^top) S (H - x x^top)$", left, moments + sign * H * S * H


def _supersolution(times: str = "1") -> Iterator[tuple[str, sympy.Expr]]:
    """k eta (2 - eta R^2) - eta^2 c in front of H, k = eta c / (1 - eta R^2), eta R^2 = 1/(1 + t)."""
    eta, c, t = sympy.symbols("eta c t", positive=True)
    s = 1 / (1 + t)
    k = sympy.Rational(times) * eta * c / (1 - s)
    yield "$k eta (2 - eta R^2) - eta^2 c$", k * eta * (2 - s) - eta**2 * c


SUMMED = Symbolic(nonnegative=_summed, impostors={"half of it": {"nonnegative": {"times": "1/2"}}})
CENTRED = Symbolic(residuals=_centred, impostors={"+ H S H": {"residuals": {"sign": 1}}})
SUPERSOLUTION = Symbolic(nonnegative=_supersolution, impostors={"a quarter": {"nonnegative": {"times": "1/4"}}})
WHITE = (
    "$x_t$ is independent of $theta^((r - 1))_t$ and of all that came before, so $EE zeta_t zeta_s^top = 0$ for $s < "
    "t$, and with $S = EE theta^((r - 1))_t theta^((r - 1) top)_t$ the covariance is $EE[x x^top S x x^top] - H S H$ "
    "(check on $H - x x^top$), at most $EE[x x^top S x x^top]$, which grows with $S$; by (A3) it is at most $a R^2 H + "
    'b C_"kurt" op("Tr")[P_beta] H = c H$. '
)
LEVEL = (
    "$theta^((r))$ is driven by white noise of covariance at most $c H$: $EE theta^((r))_t theta^((r) top)_t = eta^2 "
    "sum_k (I - eta H)^k EE zeta zeta^top (I - eta H)^k prec.eq eta^2 c sum_k (I - eta H)^(2 k) H prec.eq eta c I$, "
    "the last in an eigenbasis of $H$, for every $t$. "
)

# --- Proposition C.10 ---


def _base(system: Systems) -> Sides:
    """Diagonal on both sides."""
    level = next(system.levels())
    ratio = np.einsum("njj->nj", level) / (system.eta[:, None] * _noise_bound(system))
    return ratio.max(axis=1), np.ones(len(ratio))


PROP_C_10 = Claim(
    id="ftrl/prop-c.10",
    where="App. C.2.3, Proposition C.10",
    page=25,
    kind="inequality",
    statement=(
        "$EE theta^((0))_t theta^((0) top)_t$ is the same for all $t$ and $prec.eq eta sigma_s^2 I + eta sigma_w^2 "
        "H^(-1\\/2) P_beta H^(-1\\/2)$."
    ),
    hypotheses=C_2,
    checks=(KERNEL, SUMMED, *attacks(_base, 1.03)),
    derivation=Derivation(
        text=(
            "Inputs and draws run from $-oo$ with the same laws, and $xi_t$, $w_t$ are independent of mean 0: in an "
            "eigenbasis of $H$, $x = eta lambda_j$, the second moment is the same for all $t$ and diagonal, at most "
            "$eta^2 sigma_s^2 lambda_j sum_k (1 - x)^(2 k)$ plus $eta^2 sigma_w^2$ times the mean over the circle of "
            "$abs(B)^2\\/abs(1 - x - e^(i omega))^2$, which is $chevron.l beta, T_j beta chevron.r\\/(x (2 - x))$, "
            "since $q^abs(k)$, $q = 1 - x$, has the transform of the first check. Both are bounded by the second: $eta "
            "sigma_s^2$, and $eta sigma_w^2 chevron.l beta, T_j beta chevron.r\\/lambda_j$, the $j$-th entry of $eta "
            "sigma_w^2 H^(-1\\/2) P_beta H^(-1\\/2)$."
        ),
        lemmas=("independence", "geometric series", "Parseval", "spectral theorem"),
    ),
)

# --- Proposition C.11 ---


def _higher(system: Systems, level: np.ndarray) -> Sides:
    bound = system.eta * (system.eta * system.laws.r_squared()) ** level * _total(system)
    return largest_eigenvalue(_at_level(system, level)), bound


def _blocks(rng: np.random.Generator) -> Iterator[Fact]:
    """The joint second moments of all sequences, past draws included: the sequences are uncorrelated, add up to theta',
    and have the second moments of the recursion that the searches use.
    """
    for law in input_laws.examples(EIGENVALUES):
        eta, beta = 0.6 / law.r_squared()[0], (1.0, -0.7, 0.2)
        joint = second_moments.decomposition(law, eta, beta, 0.3, 0.5, 2)
        system = second_moments.system(law, eta, beta, 0.3, 0.5)
        levels = list(islice(system.levels(), 3))
        recursion = np.concatenate([*levels, system.remainder(levels[-1])])
        yield Fact(f"diagonal blocks, {law.name}", np.einsum("rrij->rij", joint), recursion, 1e-11)
        off_diagonal = joint * (1 - np.eye(4))[:, :, None, None]
        yield Fact(f"other blocks, {law.name}", np.abs(off_diagonal).max(), 0.0, 1e-11)
        whole = second_moments.stationary(law, eta, beta, 0.3, 0.5)
        yield Fact(f"sum of all blocks, {law.name}", joint.sum(axis=(0, 1)), whole, 1e-11)


PROP_C_11 = Claim(
    id="ftrl/prop-c.11",
    where="App. C.2.3, Proposition C.11",
    page=25,
    kind="inequality",
    statement=(
        '$EE theta^((r))_0 theta^((r) top)_0 prec.eq eta (eta R^2)^r (sigma_s^2 + C_"kurt" sigma_w^2 chevron.l beta, T '
        "beta chevron.r \\/ R^2) I$ for $r >= 1$."
    ),
    hypotheses="As Proposition C.10.",
    remark="The right side, printed without a matrix, is read as a multiple of $I$.",
    checks=(
        KERNEL,
        CENTRED,
        SUMMED,
        *attacks(_higher, 2.2, levels=Whole(1, 12)),
        Agreement(facts=_blocks, impostors={"1 % more": {"facts": Times(1.01)}}, role="control"),
    ),
    derivation=Derivation(
        text=(
            "At $r = 1$ Lemma C.12 applies with $a = eta sigma_s^2$, $b = eta sigma_w^2$ of Proposition C.10 "
            '(`ftrl/prop-c.10`): the bound is $eta c I$ with $c = eta R^2 (sigma_s^2 + C_"kurt" sigma_w^2 chevron.l '
            "beta, T beta chevron.r\\/R^2)$. From $r$ to $r + 1$ it applies with $b = 0$ and $a$ the bound at $r$, "
            "which gains the factor $eta R^2$. " + WHITE + LEVEL
        ),
        lemmas=("induction", "independence", "Loewner monotony", "geometric series", "spectral theorem"),
    ),
)

# --- Lemma C.12 ---


def _white_noise(system: Systems) -> Sides:
    """(a): the covariance grows with that of theta^(r-1), so the hypothesis with equality is the worst."""
    covariance = system.laws.fluctuation(diagonal(_noise_bound(system)))
    root = np.sqrt(system.laws.eigenvalues)
    return largest_eigenvalue(covariance / (root[:, :, None] * root[:, None, :])), (
        system.laws.r_squared() * _total(system)
    )


def _next_level(system: Systems) -> Sides:
    """(b), from the same worst case."""
    x = system.x
    decay = x[:, :, None] + x[:, None, :] - x[:, :, None] * x[:, None, :]
    added = system.laws.fluctuation(diagonal(_noise_bound(system)))
    after = system.eta[:, None, None] ** 2 * added / decay
    return largest_eigenvalue(after), system.eta * system.laws.r_squared() * _total(system)


def _histories(rng: np.random.Generator, centre: float = 1.0) -> Iterator[Fact]:
    """Means over all 24^3 histories of three steps: x in {e_1, e_2, -e_1 - e_2}, signs xi, w in {+-e_1, +-e_2}."""
    inputs = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    draws = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    eta, beta, H = 0.3, (1.0, -0.6, 0.4), inputs.T @ inputs / 3
    choices = np.indices((3, 2, 4) * 3).reshape(9, -1)
    x = [inputs[choices[3 * t]] for t in range(3)]
    w = [draws[choices[3 * t + 2]] for t in range(3)]
    parts, zeta = np.zeros((2, len(w[0]), 2)), []
    for t in range(3):
        zeta.append([centre * part @ H - x[t] * np.sum(x[t] * part, axis=1)[:, None] for part in parts])
        noise = sum(b * w[t - k] for k, b in enumerate(beta[: t + 1]))
        fresh = (2.0 * choices[3 * t + 1] - 1.0)[:, None] * x[t] - noise
        parts = parts - eta * parts @ H + eta * np.stack([fresh, zeta[t][0]])
    for r in (1, 2):
        for t, s in ((1, 0), (2, 0), (2, 1)):
            cross = zeta[t][r - 1].T @ zeta[s][r - 1] / len(x[0])
            yield Fact(f"E zeta^({r})_{t} zeta^({r})_{s}", np.abs(cross).max(), 0.0, 1e-12)
        yield Fact(f"E zeta^({r})_2", np.abs(zeta[2][r - 1].mean(axis=0)).max(), 0.0, 1e-12)


LEM_C_12A = Claim(
    id="ftrl/lem-c.12a",
    where="App. C.2.3, Lemma C.12 (a)",
    page=25,
    kind="inequality",
    statement=(
        "If $EE theta^((r-1))_t theta^((r-1) top)_t prec.eq a I + b H^(-1\\/2) P_beta H^(-1\\/2)$, then $zeta^((r))_t "
        '= (H - x_t x_t^top) theta^((r-1))_t$ is white with covariance $prec.eq (a R^2 + b C_"kurt" chevron.l beta, T '
        "beta chevron.r) H$."
    ),
    hypotheses="As Proposition C.10.",
    checks=(
        CENTRED,
        *attacks(_white_noise, 1.02),
        Agreement(facts=_histories, impostors={"- x x^T without H": {"facts": {"centre": 0.0}}}, role="control"),
    ),
    derivation=Derivation(
        text=WHITE + '$op("Tr") P_beta = chevron.l beta, T beta chevron.r$ (`ftrl/eq-34`).',
        lemmas=("independence", "Loewner monotony"),
    ),
)

LEM_C_12B = Claim(
    id="ftrl/lem-c.12b",
    where="App. C.2.3, Lemma C.12 (b)",
    page=25,
    kind="inequality",
    statement=(
        'Then $EE theta^((r))_t theta^((r) top)_t$ is the same for all $t$ and $prec.eq eta (a R^2 + b C_"kurt" '
        "chevron.l beta, T beta chevron.r) I$."
    ),
    hypotheses="As Lemma C.12 (a).",
    checks=(CENTRED, SUMMED, *attacks(_next_level, 1.4)),
    derivation=Derivation(
        text=WHITE + LEVEL, lemmas=("independence", "Loewner monotony", "geometric series", "spectral theorem")
    ),
)

# --- Proposition C.13 ---


def _remainder(system: Systems, level: np.ndarray) -> Sides:
    """The last line of the proof."""
    product = system.eta * system.laws.r_squared()
    bound = system.eta / (1.0 - product) * product ** (level + 1) * _total(system)
    return largest_eigenvalue(system.remainder(_at_level(system, level))), bound


PROP_C_13 = Claim(
    id="ftrl/prop-c.13",
    where="App. C.2.3, Proposition C.13",
    page=26,
    kind="inequality",
    statement=(
        '$0 prec.eq EE delta^((m))_t delta^((m) top)_t prec.eq eta/(1 - eta R^2) (eta R^2)^(m+1) (sigma_s^2 + C_"kurt" '
        "sigma_w^2 chevron.l beta, T beta chevron.r \\/ R^2) I -> 0$ as $m -> oo$."
    ),
    hypotheses="As Proposition C.10.",
    checks=(
        CENTRED,
        SUPERSOLUTION,
        *attacks(_remainder, 4.1, levels=Whole(0, 12)),
        Agreement(facts=_blocks, impostors={"1 % more": {"facts": Times(1.01)}}, role="control"),
    ),
    derivation=Derivation(
        text=(
            "$delta^((m))_(t + 1) = Q_t delta^((m))_t + eta zeta_t$ with $Q_t = I - eta x_t x_t^top$, $zeta_t = (H - "
            "x_t x_t^top) theta^((m))_t$. By induction over $t$ and the levels the $EE theta^((m))_t theta^((r) "
            "top)_t$, $r < m$, the $EE delta^((m))_t theta^((r) top)_t$, $r <= m$, and those of both with $w_s^top$ "
            "(with $theta^((m))$ for $m >= 1$) are 0: $x_t$ is independent of what came before, $H - x_t x_t^top$ and "
            "$xi_t$ have mean 0. So the second moment is $S' = EE Q S Q + eta^2 EE zeta zeta^top$, and $EE zeta "
            'zeta^top prec.eq c H$ with $c = eta R^2 (eta R^2)^m (sigma_s^2 + C_"kurt" sigma_w^2 chevron.l beta, T '
            "beta chevron.r\\/R^2)$ (`ftrl/lem-c.12a`, `ftrl/prop-c.10`, `ftrl/prop-c.11`). $S prec.eq k I$, $k = eta "
            "c\\/(1 - eta R^2)$, is kept: $EE Q^2 prec.eq I - eta (2 - eta R^2) H$ by (A3), so $k I$ loses at least $k "
            "eta (2 - eta R^2) H$ in a step, and gains at most $eta^2 c H$, no more than that by the second check. "
            "$(eta R^2)^(m + 1) -> 0$."
        ),
        lemmas=("induction", "independence", "Loewner monotony"),
    ),
)
