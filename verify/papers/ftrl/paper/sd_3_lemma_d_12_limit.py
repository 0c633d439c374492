"""Appendix D.3: the trace of the covariance in Lemma D.12, and its limit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import sympy

from verify.checks import Agreement, Fact, Symbolic
from verify.checks.impostors import Times
from verify.papers.ftrl.paper.sd_3_lemma_d_12 import ASSUMED, MONOTONE, SEARCHED
from verify.papers.ftrl.paper.sf_6_helpers import SYMBOL
from verify.papers.ftrl.tools import input_laws, second_moments
from verify.papers.ftrl.tools.planar_systems import STEPS, Sides, nearest, searched, started, trace
from verify.statements.claims import Claim
from verify.statements.derivations import Derivation


def _unrolled(start: int = 0) -> Iterator[tuple[str, sympy.Expr]]:
    """Tr S_{t+1} <= (1 - eta mu) Tr S_t + forcing keeps Tr S_t at or below forcing / (eta mu), from 0 on."""
    eta, mu, noise, power, inverse, r2, residual = sympy.symbols("eta mu N b h r s", positive=True)
    forcing = 2 * eta * noise * power * inverse + eta**2 * r2 * residual  # Lemma F.17: sum_j (2 - x_j) / x_j
    bound = (2 * noise * power * inverse + eta * r2 * residual) / mu
    yield "induction", bound - (1 - eta * mu) * bound - forcing + start


def _weights_form(lost: int = 0) -> Iterator[tuple[str, sympy.Expr]]:
    """(2 - x) / x <= 2 / x, the forcing of one direction by Lemma F.17 with c = 1 - x."""
    x = sympy.symbols("x", positive=True)
    yield "2 / x - (1 + c) / (1 - c)", (2 - lost) / x - (2 - x) / x


def _mean_square(first: int = 2) -> Iterator[tuple[str, sympy.Expr]]:
    """E Q^2 = I - 2 eta H + eta^2 M <= (1 - eta mu) I: h = <v, H v> = mu + g, <v, M v> = R^2 h - s, eta R^2 = 1/(1 +
    t). Likewise Tr P S <= (1 - eta mu) Tr S.
    """
    eta, mu, g, s, t = sympy.symbols("eta mu g s t", positive=True)
    h = mu + g
    second = eta / (1 + t) * h - eta**2 * s
    yield "(1 - eta mu) - <v, E Q^2 v>", (1 - eta * mu) - (1 - first * eta * h + second)


CONTRACTS = Symbolic(nonnegative=_mean_square, impostors={"I - eta H": {"nonnegative": {"first": 1}}})
UNROLLS = Symbolic(
    residuals=_unrolled,
    nonnegative=_weights_form,
    impostors={"forcing + 1": {"residuals": {"start": 1}}, "1/x": {"nonnegative": {"lost": 1}}},
)


def _trace_bound(**law: np.ndarray) -> Sides:
    """Tr S_t at t = 30 and in the limit, from theta*."""
    batch, start = started(law)
    last = list(batch.trajectory(0.0 * start, STEPS))[-1]
    traces = np.array([trace(last), trace(batch.second_moments())])
    power, inverse = np.sum(batch.beta**2, axis=1), np.sum(1.0 / batch.laws.eigenvalues, axis=1)
    residual = batch.eta * batch.laws.r_squared() * batch.residual
    bound = (2.0 * batch.noise * power * inverse + residual) / batch.laws.eigenvalues.min(axis=1)
    return nearest(traces, np.broadcast_to(bound, traces.shape))


LEM_D_12_TR = Claim(
    id="ftrl/lem-d.12-tr",
    where="Lemma D.12, last display of the proof",
    page=48,
    kind="inequality",
    statement=(
        '$op("Tr") S_t <= 1\\/mu dot.c (2 sigma_w^2 norm(beta)_2^2 op("Tr")[H^(-1)] + eta R^2 sigma_s^2)$ for all $t$.'
    ),
    hypotheses=ASSUMED,
    setting=f"The three steps of the proof, with Lemma F.17. {SEARCHED}",
    checks=(CONTRACTS, UNROLLS, SYMBOL, searched(_trace_bound, a_third=Times(1, 0.3)).as_control()),
    derivation=Derivation(
        text=(
            "$EE theta'_t times.o w_tau = -eta sigma_w^2 sum_(s = tau)^(t - 1) beta_(s - tau) (I - eta H)^(t - 1 - "
            's)$ gives (83). Its trace is at most $(1 - eta mu) op("Tr") S_t$ (first check), plus $eta^2 sigma_s^2 '
            'op("Tr") H <= eta^2 R^2 sigma_s^2$, plus $eta^2 sigma_w^2 sum_j sum_(tau, k) beta_tau beta_k (1 - '
            "x_j)^abs(tau - k)$, $x_j = eta lambda_j$, which is at most $eta^2 sigma_w^2 norm(beta)_2^2 sum_j (2 - "
            'x_j)\\/x_j <= 2 eta sigma_w^2 norm(beta)_2^2 op("Tr")[H^(-1)]$ (third check with $c = 1 - x_j$, summed '
            "by Parseval). From $S_0 = 0$ the stated bound is kept (second check)."
        ),
        lemmas=("independence", "geometric series", "Parseval", "Loewner monotony", "induction"),
    ),
)


def _limits(rng: np.random.Generator) -> Iterator[Fact]:
    """S_t at large t: the solution of the stationary equation, from any start; and for 3000 slowly falling weights."""
    for law in input_laws.examples((1.0, 0.3)):
        eta = 1.0 / float(law.r_squared()[0])
        for beta in ((1.0,), (1.0, -0.9), (0.5, 1.0, 0.7)):
            limit = second_moments.stationary(law, eta, beta, 0.7, 0.2)
            for start in (np.zeros(2), np.array([3.0, -2.0])):
                S = second_moments.trajectory(law, eta, beta, 0.7, 0.2, 400, start)
                yield Fact(f"S_400, {law.name} inputs, beta = {beta}, start {start}", S[-1], limit, 1e-10)
    slow = (1.0 + np.arange(3000)) ** -0.6
    yield Fact("S_6000, d = 1, signs, weights (1 + k)^(-0.6)", _line(slow, 6000), _line_limit(slow), 1e-8)


def _line(beta: np.ndarray, steps: int) -> float:
    """d = 1, signs, eta = 1/2: theta_{t+1} = theta_t / 2 - w~_t / 2; the squared responses to each draw add up."""
    responses = np.convolve(0.5 * beta, 0.5 ** np.arange(60))[:steps]
    return float(np.sum(responses**2))


def _line_limit(beta: np.ndarray) -> float:
    """The same from the autocorrelation of beta: eta^2 / (1 - 1/4) sum_k r_|k| 2^{-|k|}."""
    sums = [float(beta[lag:] @ beta[: len(beta) - lag]) * 0.5**lag * (2 if lag else 1) for lag in range(60)]
    return 0.25 / 0.75 * sum(sums)


LIMITS = Agreement(facts=_limits, impostors={"1e-7 off": {"facts": Times(1 + 1e-7)}})

LEM_D_12_B = Claim(
    id="ftrl/lem-d.12-b",
    where="Lemma D.12(b)",
    page=45,
    kind="inequality",
    statement="$S_t$ converges.",
    hypotheses=ASSUMED,
    setting="It increases by (a) and its trace is bounded; the limit is computed at $eta = 1\\/R^2$ for four laws.",
    checks=(CONTRACTS, UNROLLS, SYMBOL, MONOTONE, LIMITS.as_control()),
    derivation=Derivation(
        text=(
            "$theta'_(t + 1)$ is the sum of the responses to $(x_s, xi_s, w_s)$, $1 <= s <= t$, which has the law of "
            "$theta'_t$, and of those to $xi_0 x_0$ and $w_0$, which are centred and uncorrelated with it and with "
            'one another: $S_t prec.eq S_(t + 1)$. As $op("Tr") S_t$ is bounded by the last display '
            "(ftrl/lem-d.12-tr, by the three checks), every $chevron.l v, S_t v chevron.r$ increases and is bounded, "
            "so that it converges, and with them all entries of $S_t$."
        ),
        lemmas=("independence", "Loewner monotony"),
    ),
)
