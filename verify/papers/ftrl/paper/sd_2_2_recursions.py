"""Appendix D.2.2: what follows on the events of Proposition D.5."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import sympy

from dpbounds.ftrl import correlations, finite_time
from verify.checks import Agreement, Fact, Inequality, Search, Symbolic
from verify.checks.domains import Real
from verify.checks.impostors import Times
from verify.papers.ftrl.tools.second_moments import wide
from verify.statements.claims import Claim, Correction, Fault
from verify.statements.derivations import Derivation

Sides = tuple[np.ndarray, np.ndarray]
CONDITIONS = "$ell = log(T\\/p)$, $eta <= (C R^2 ell)^(-1)$ and the events named."

# --- Proposition D.6 ---


def _contraction(sign: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """Q = I - eta x x^T has eigenvalues 1 and 1 - eta ||x||^2; with eta ||x||^2 = 1 / (1 + s) none is negative and no
    norm grows.
    """
    x, v = sympy.Matrix(sympy.symbols("x0:3", real=True)), sympy.Matrix(sympy.symbols("v0:3", real=True))
    eta, k = sympy.symbols("eta k", positive=True)
    norm = (x.T * x)[0]
    Q = sympy.eye(3) - eta * x * x.T
    yield "eigenvalues of Q", sympy.det(Q - k * sympy.eye(3)) - (1 - k) ** 2 * (1 - sign * eta * norm - k)
    lost = (v.T * v)[0] - (v.T * Q * Q * v)[0]
    yield "||v||^2 - ||Q v||^2", lost - eta * (x.T * v)[0] ** 2 * (2 - sign * eta * norm)


CONTRACTION = Symbolic(residuals=_contraction, impostors={"sign": {"residuals": {"sign": -1}}})

PROP_D_6 = Claim(
    id="ftrl/prop-d.6",
    where="Proposition D.6, (74)",
    page=41,
    equation="(74)",
    kind="inequality",
    statement="$0 prec.eq Q_t prec.eq I$ and $norm(hat(theta)_t) <= norm(theta'_0)$.",
    hypotheses=f"{CONDITIONS} They give $eta norm(x_t)^2 <= 1$.",
    setting="$d = 3$, which shows every product of entries.",
    checks=(CONTRACTION,),
)

# --- Proposition D.7 ---

# d = 1, x = +-1, xi_0 = sigma, T = 2, p = 1/2, eta = 1/(C l), l = log 4: ||theta^s_1||^2 and the printed bound.
UNSCALED = Inequality(
    smaller=lambda m, C, sigma: m.power(sigma / (C * m.log(m.number(4))), 2),
    larger=lambda m, C, sigma: m.power(m.log(m.number(4)), 2),
    box={"C": Real(4.0, 1e6, "log"), "sigma": Real(1.0, 1e8, "log")},
)


def _telescopes(sign: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """I - Q^2 - eta x x^T = eta (1 - eta ||x||^2) x x^T >= 0: so P (x x^T) P^T <= (P P^T - P Q Q P^T) / eta."""
    x, eta = sympy.Matrix(sympy.symbols("x0:3", real=True)), sympy.symbols("eta", positive=True)
    Q, outer = sympy.eye(3) - eta * x * x.T, x * x.T
    rest = eta * (1 - sign * eta * (x.T * x)[0])
    yield "I - Q^2 - eta x x^T", sympy.eye(3) - Q * Q - eta * outer - rest * outer


def _inputs(angles: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """sqrt(eta) x_t, norms at most 1: (n, T, 2)."""
    return lengths[..., None] * np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def _residual_response(angles: np.ndarray, lengths: np.ndarray) -> Sides:
    """eta Tr Sigma^sgd_T and d = 2, T = 6 inputs."""
    x = _inputs(angles, lengths)
    total, pushed = np.zeros(len(x)), np.zeros((len(x), 0, 2))
    for t in range(x.shape[1]):
        moved = pushed - np.sum(pushed * x[:, t, None], axis=-1, keepdims=True) * x[:, t, None]
        pushed = np.concatenate([moved, x[:, t, None]], axis=1)
        total = np.sum(pushed**2, axis=(1, 2))
    return total, np.full(len(x), 2.0)


PATHS = {"angles": (Real(0.0, np.pi), 6), "lengths": (Real(0.0, 1.0), 6)}

PROP_D_7 = Claim(
    id="ftrl/prop-d.7",
    where="Proposition D.7",
    page=41,
    kind="inequality",
    statement="On $E_1$, $E_1^s$, $E_2^s$: $norm(theta^s_t)^2 <= C eta R^2\\/mu dot.c ell^3$.",
    hypotheses=CONDITIONS,
    checks=(UNSCALED,),
    fault=Fault(
        severity="slip",
        touches="statement",
        finding=(
            "Proposition D.7 leaves out $sigma_s^2$: with $d = 1$, $x = plus.minus 1$, $xi_0 = sigma_s = {sigma}$, "
            "$T = 2$, $p = 1\\/2$, $C = {C}$, $eta = 1\\/(C ell)$ one has $norm(theta^s_1)^2 = {smaller}$, the bound "
            "is ${larger}$."
        ),
        consequence="Theorem D.4 uses it with the factor $sigma_s^2$, and stands in this point.",
    ),
    correction=Correction(
        statement=(
            "On $E_1$ and $E_1^s$, $norm(theta^s_t)^2 <= C eta sigma_s^2 d ell <= C eta sigma_s^2 R^2\\/mu dot.c ell$: "
            "two logarithms less, and without $E_2^s$."
        ),
        ground="$Sigma^s_t prec.eq I\\/eta$ telescopes, as $eta x x^top prec.eq I - Q^2$.",
        checks=(
            Symbolic(residuals=_telescopes, impostors={"sign": {"residuals": {"sign": -1}}}),
            Search(
                sides=_residual_response,
                box=PATHS,
                extremal=lambda: [{"angles": np.pi / 2 * np.arange(6), "lengths": np.ones(6)}],
                vectorised=True,
                impostors={"0.95 d": {"sides": Times(1, 0.95)}},
                role="control",
            ),
        ),
        derivation=Derivation(
            text=(
                "On $E_1$, $eta norm(x_t)^2 <= 1$, and by the check $eta x_t x_t^top prec.eq I - Q_t^2$. If $eta "
                "Sigma^s_t prec.eq I$, then $eta Sigma^s_(t + 1) = Q_t (eta Sigma^s_t) Q_t + eta x_t x_t^top prec.eq "
                'Q_t^2 + I - Q_t^2 = I$, so $op("Tr") Sigma^s_t <= d\\/eta$ for all $t$. $E_1^s$ is $norm(theta^s_t)^2 '
                '<= C eta^2 sigma_s^2 op("Tr") Sigma^s_t ell$, and $d mu <= op("Tr") H <= R^2$.'
            ),
            lemmas=("induction", "Loewner monotony", "Jensen"),
        ),
    ),
)

# --- Proposition D.8 ---


def noise_responses(Q: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """Tr U_{t,tau} for tau = 0 ... T - 1 at t = T, from Q_1 ... Q_{T-1} of shape (n, T - 1, 2, 2)."""
    traces, last = [], beta.shape[1] - 1
    for tau in range(beta.shape[1]):
        V = wide(beta[:, 0]) * np.eye(2)
        for k in range(1, tau + 1):
            V = wide(beta[:, k]) * np.eye(2) + Q[:, last - tau + k - 1] @ V
        traces.append(np.sum(V**2, axis=(1, 2)))
    return np.stack(traces, axis=1)


def weighted_sums(beta: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """sum_{k<=tau} |beta_k| (1 - rate)^{(tau-k)/2} for every tau."""
    sums, total = [], np.zeros(len(beta))
    for weight in np.abs(beta).T:
        total = np.sqrt(1 - rate) * total + weight
        sums.append(total)
    return np.stack(sums, axis=1)


def _noise_response(angles, lengths, beta, mu, share, log_p) -> Sides:
    """Tr Sigma^dp_T at T = 6 against the bound that E_2^dp (squared) gives with nu = share eta mu, beta_0 = 1; p is
    lowered until the event occurs.
    """
    x, beta = _inputs(angles, lengths)[:, 1:], np.concatenate([np.ones((len(mu), 1)), beta], axis=1)
    U = noise_responses(np.eye(2) - x[..., :, None] * x[..., None, :], beta)
    T = beta.shape[1]
    sums = weighted_sums(beta, mu)
    p = np.minimum(np.exp(log_p), np.min(T**2 * 2 * sums**2 / np.maximum(U, 1e-300), axis=1))
    nu = share * mu
    absolute = np.abs(beta).sum(axis=1)
    constant = np.sum(np.abs(beta) * (1 - nu[:, None]) ** (-np.arange(T) / 2), axis=1)
    remembered = (2 + np.log(T**2 * constant**2 / (p * absolute**2))) / nu
    return U.sum(axis=1), 2 * absolute**2 * remembered


def _tail_sum(ends: int = 2) -> Iterator[tuple[str, sympy.Expr]]:
    """(2 + log K)/nu less log K/nu + 1 + 1/nu, nu = 1/(1 + t)."""
    log_K, t = sympy.symbols("l t", positive=True)
    nu = 1 / (1 + t)
    yield "$(2 + log K)\\/nu$", (ends + log_K) / nu - (log_K / nu + 1 + 1 / nu)


def _noise_part(rng: np.random.Generator) -> Iterator[Fact]:
    """The corrected bound with p / 6 for p and C = 4, as `iterate_bound` has it for noise alone: weights 1 and 1/2 with
    59 zeros between, and those of nu-DP-FTRL.
    """
    spectrum, p, ell = np.array([1.0, 0.5]), 0.5, np.log(6e5 / 0.5)
    eta = 1 / (16 * ell)
    rate = eta / 2
    later = correlations.from_coefficients([1.0, *[0.0] * 59, 0.5])
    for correlation, absolute, constant in (
        (later, 1.5, 1 + 0.5 * (1 - rate) ** -30),
        (correlations.nu(rate), 2 - rate**0.5, 2 - (1 - (1 - rate) ** 0.5) ** 0.5),
    ):
        remembered = (2 + np.log(1e10 * constant**2 / (p / 6 * absolute**2))) / rate
        stated = 4 * eta**2 * 0.3 * 2 * absolute**2 * ell * remembered
        horizon = finite_time.Horizon(eigenvalues=spectrum, steps=100_000, failure=p, R_squared=4.0)
        bound = finite_time.iterate_bound(correlation, horizon, eta, noise_variance=0.3)
        yield Fact(f"noise alone, {correlation.name}", float(bound), stated, 1e-12)
    alone = finite_time.Horizon(eigenvalues=spectrum, steps=1, failure=p, sigma_sgd=3.0, R_squared=4.0)
    found = finite_time.gradient_bound(correlations.independent(), alone, 1e-30, noise_variance=0.0)
    tails = 3.0 * np.sqrt(4 * 1.5 * np.log(12.0) * 2 * np.log(24.0))
    yield Fact("gradients of residuals alone", float(found), float(tails), 1e-12)


RESPONSES = {
    **PATHS,
    "beta": (Real(-1.0, 1.0), 5),
    "mu": Real(1e-3, 0.99, "log"),
    "share": Real(0.01, 1.0, "log"),
    "log_p": Real(-20.0, 0.0),
}

PROP_D_8 = Claim(
    id="ftrl/prop-d.8",
    where="Proposition D.8",
    page=42,
    kind="inequality",
    statement="On $E_1$, $E_1^d$, $E_2^d$: $norm(theta^s_t)^2 <= C eta R^2\\/mu dot.c ell^3$.",
    hypotheses=CONDITIONS,
    checks=(UNSCALED,),
    fault=Fault(
        severity="slip",
        touches="statement",
        finding=(
            "Proposition D.8 repeats the display of Proposition D.7 for $theta^s$, of which its events say nothing: "
            "with $d = 1$, $x = plus.minus 1$, $xi_0 = {sigma}$, $T = 2$, $p = 1\\/2$, $C = {C}$ one has "
            "$norm(theta^s_1)^2 = {smaller} > {larger}$."
        ),
        consequence="Its proof bounds $theta^d$, and Theorem D.4 uses that.",
    ),
    correction=Correction(
        statement=(
            "On $E_1$, $E_1^d$ and $E_2^d$ (with the square), $norm(theta^d_t)^2 <= C eta^2 sigma_w^2 d "
            "norm(beta)_1^2\\/nu dot.c (2 + log(T^2 D^2\\/(p norm(beta)_1^2))) ell$, $D$ the constant of half-expo "
            "decay with parameter $nu <= eta mu$."
        ),
        ground=(
            r'The sum over $tau$ of $min{{norm(beta)_1^2, T^2\/p dot.c D^2 (1 - nu)^tau}}$ bounds $op("Tr") '
            r"Sigma^d_t\/d$."
        ),
        checks=(
            Symbolic(nonnegative=_tail_sum, impostors={"1 + log K": {"nonnegative": {"ends": 1}}}),
            Agreement(facts=_noise_part, impostors={"1e-9 off": {"facts": Times(1 + 1e-9)}}, role="control"),
            Search(
                sides=_noise_response,
                box=RESPONSES,
                vectorised=True,
                impostors={"a tenth": {"sides": Times(1, 0.1)}},
                role="control",
            ),
        ),
        derivation=Derivation(
            text=(
                '$op("Tr") Sigma^d_t = sum_(tau < t) op("Tr") U_(t, tau)$. On $E_1$ each is at most $d norm(beta)_1^2$ '
                "(`ftrl/lem-d.10-b`), and on $E_2^d$, with $1 - eta mu <= 1 - nu$ and half-expo decay, at most $T^2 "
                "d\\/p dot D^2 (1 - nu)^tau$: $d norm(beta)_1^2$ times $min{1, K (1 - nu)^tau}$, $K = T^2 D^2\\/(p "
                "norm(beta)_1^2) >= 1$. With $n$ the next whole number after $log K\\/(-log(1 - nu))$ the sum is at "
                "most $n + K (1 - nu)^n\\/nu <= log K\\/nu + 1 + 1\\/nu <= (2 + log K)\\/nu$, as $-log(1 - nu) >= nu$, "
                "for every $nu$ in $(0, 1)$ and $K$ (check). $E_1^d$ is $norm(theta^d_t)^2 <= C "
                'eta^2 sigma_w^2 op("Tr") Sigma^d_t ell$.'
            ),
            lemmas=("geometric series",),
        ),
    ),
)
