"""Theorem 3.1: its conditions (3), (5), (6) and its parameters (4)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import sympy

from dpbounds import arithmetic
from dpbounds.iv import (
    Constants,
    Design,
    Spectrum,
    TwoStageBudget,
    clip_norm,
    noise_scales,
    spectrum,
    theorem_rates,
    theorem_step_limits,
)
from dpbounds.iv import conditions as hypotheses_of
from verify.checks import Agreement, Fact, Inequality, Rate, Search, Symbolic, Times
from verify.checks.audit import gaussian_zcdp
from verify.checks.domains import Real
from verify.papers.iv.paper.sc_3_horizons import LOGARITHM
from verify.papers.iv.tools.ideal import IdealSetup
from verify.papers.iv.tools.setups import POPULATION
from verify.statements.claims import Claim
from verify.statements.derivations import Derivation

# --- (3) ---


def _within_reach(lower_weight: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """|1 - x| < 1 if 0 < x < 2: delta = 1 / (1 + v) or 0, step sizes the limits over 1 + s, gamma-upper = g + w."""
    s, v, g, w = sympy.symbols("s v g w", positive=True)
    for delta in (1 / (1 + v), sympy.Integer(0)):
        for upper in (g + w, g):
            bounds: Any = Spectrum(delta, 0, lower_weight * g, upper, valid=True)  # type: ignore[arg-type]
            eta, alpha = (limit / (1 + s) for limit in theorem_step_limits(bounds))
            for end in (1 - delta, 1 + delta):
                yield f"0 < eta ({end})^2", eta * end**2
                yield f"eta ({end})^2 < 2", 2 - eta * end**2
            for end in (g, 2 * upper + g):
                yield f"alpha ({end}) / 2 > 0", alpha * end / 2
                yield f"alpha ({end}) / 2 < 2", 2 - alpha * end / 2


def _bounds_at(delta: float, lower: float, ratio: float) -> Any:
    return Spectrum(delta, 0.0, lower, ratio * lower, valid=True)  # type: ignore[arg-type]


def _rates_below(delta, lower, ratio, eta_share, alpha_share):
    """The larger of kappa_Theta and kappa_beta against 1."""
    bounds = _bounds_at(delta, lower, ratio)
    limits = theorem_step_limits(bounds)
    rates = theorem_rates(bounds, eta_share * limits.eta, alpha_share * limits.alpha)
    return max(rates.theta, rates.beta), 1.0


def _rates_by_hand(rng: np.random.Generator) -> Iterator[Fact]:
    """Both ends of each interval: 1 at the limits of (3), and each branch of the maxima somewhere in between."""
    bounds = _bounds_at(0.5, 1.0, 4.0)  # limits 8/9 and 4/9
    for eta, alpha, stated in (
        (8 / 9, 0.2, (1.0, 0.9, 1.0)),
        (0.4, 4 / 9, (0.9, 1.0, 1.0)),
        (0.4, 0.2, (0.9, 0.9, 0.9)),
        (0.8, 0.4, (0.8, 0.8, 0.8)),
        (0.8, 0.2, (0.8, 0.9, 0.9)),
    ):
        found = theorem_rates(bounds, eta, alpha)
        yield Fact(
            f"kappa_Theta, kappa_beta, kappa at eta = {eta:.3g}, alpha = {alpha:.3g}", list(found), stated, 1e-12
        )


EQ_3 = Claim(
    id="iv/eq-3",
    where="Theorem 3.1; (14), Lemma D.4",
    page=6,
    equation="(3)",
    kind="inequality",
    statement=(
        "$0 < eta < 2 / (1 + delta)^2$ and $0 < alpha < 4 / (2 overline(gamma) + underline(gamma))$ give $kappa_Theta "
        "< 1$ and $kappa_beta < 1$."
    ),
    hypotheses="$0 <= delta < 1$, $0 < underline(gamma) <= overline(gamma)$.",
    remark="Lemma D.4 also admits $delta = 1$, where $kappa_Theta >= 1$.",
    checks=(
        Symbolic(
            nonnegative=_within_reach,
            impostors={"alpha below 4 over twice the upper end": {"nonnegative": {"lower_weight": 0}}},
        ),
        Search(
            sides=_rates_below,
            role="control",
            box={
                "delta": Real(0.0, 0.999),
                "lower": Real(1e-6, 1e6, "log"),
                "ratio": Real(1.0, 1e6, "log"),
                "eta_share": Real(0.01, 0.999),
                "alpha_share": Real(0.01, 0.999),
            },
            evaluations=3000,
            impostors={"below 0.99": {"sides": Times(1, 0.99)}},
        ),
        Agreement(facts=_rates_by_hand, role="control", impostors={"1e-9 off": {"facts": Times(1 + 1e-9)}}),
    ),
    derivation=Derivation(
        text=(
            "By (10) $kappa_Theta$ and $kappa_beta$ are maxima of $abs(1 - x)$ over $x = eta (1 plus.minus delta)^2$ "
            "and over $x = alpha underline(gamma)\\/2$, $alpha (overline(gamma) + underline(gamma)\\/2)$. Under (3) "
            "all four $x$ and $2 - x$ are proved to be quotients of polynomials with nonnegative coefficients in "
            "positive variables, not 0, so that $0 < x < 2$."
        ),
    ),
)

# --- (4), (5), (6) in the settings of the figures ---

SETTINGS = {
    "Fig. 3a, n = 500": IdealSetup(500, 20, 5, 5, 1, 9),
    "Fig. 3a, n = 5000": IdealSetup(5000, 20, 5, 5, 9, 1),
    "Fig. 3b, n = 500": IdealSetup(500, 20, 50, 50, 1, 9),
    "Fig. 3b, n = 5000": IdealSetup(5000, 20, 50, 50, 9, 1),
    "Fig. 4a, rho_1 = 0.1": IdealSetup(1000, 1280, 5, 5, 0.1, 1000),
    "Fig. 4a, rho_1 = 10": IdealSetup(1000, 1280, 5, 5, 10, 1000),
    "Fig. 4b, rho_2 = 0.1": IdealSetup(1000, 1280, 5, 5, 1000, 0.1),
    "Fig. 6, rho_2 = 1": IdealSetup(1000, 1000, 5, 5, 1, 1),
    "Fig. 7, 8": IdealSetup(2000, 20, 5, 5, 5, 5),
    "p = q = 20, n = 5000": IdealSetup(5000, 20, 20, 20, 5, 5),
    "Fig. 5": IdealSetup(8065, 20, 1, 1, 1, 1),
    "Fig. 10": IdealSetup(8065, 20, 1, 1, 0.1, 0.1),
    "Fig. 12, rho = 1": IdealSetup(2191, 15, 1, 4, 1, 1),
}


def _clip_norms(rng: np.random.Generator, power: int = 2) -> Iterator[Fact]:
    """gamma per unit c_0, to 50 digits."""
    with arithmetic.digits(50) as m:
        for label, setting in SETTINGS.items():
            size = m.number(setting.n * setting.T)
            exact = float(m.power(m.sqrt(m.number(setting.q)) + m.sqrt(5 + m.log(size)), power))
            yield Fact(f"{label}, T = {setting.T}: gamma = {exact:.4g} c_0", setting.clip_norm, exact, 1e-13)
    thrice = clip_norm(SETTINGS["Fig. 5"].design, 20, Constants(clipping=3.0))
    yield Fact("gamma for c_0 = 3 over that for 1", float(thrice) / SETTINGS["Fig. 5"].clip_norm, 3.0, 1e-12)


def _spent(rng: np.random.Generator, factor: float = 2.0) -> Iterator[Fact]:
    """Exact zCDP of T Gaussian releases that a record moves by 2 gamma / n each, against half the stage's budget."""
    for label, setting in SETTINGS.items():
        if setting.T > 20:
            continue
        for stage, scale, rho in zip((1, 2), setting.noise, (setting.rho1, setting.rho2), strict=True):
            shift = np.full(setting.T, factor * setting.clip_norm / setting.n)
            spent = gaussian_zcdp(shift, scale**2 * np.eye(setting.T))
            yield Fact(f"{label}: lambda_{stage} = {scale:.4g} c_0 spends rho_{stage} / 2", spent, rho / 2)


EQ_4 = Claim(
    id="iv/eq-4",
    where="Theorem 3.1",
    page=6,
    equation="(4)",
    kind="number",
    statement=(
        "$gamma_1 = gamma_2 = c_0 (sqrt(q) + sqrt(tau + log(n T)))^2$ and $lambda_i = (2 gamma_i)/n sqrt(T\\/rho_i)$."
    ),
    setting="Evaluated in the figures' settings, $tau = 5$, per unit of $c_0$, which the paper does not give.",
    checks=(
        Agreement(facts=_clip_norms, impostors={"cube": {"facts": {"power": 3}}}),
        Agreement(facts=_spent, impostors={"sensitivity gamma / n": {"facts": {"factor": 1.0}}}),
    ),
)


def _limits(rng: np.random.Generator, names: tuple[str, ...], exponent: int = 6) -> Iterator[Fact]:
    """Right-hand sides with constant 1 and epsilon = 0, and with other constants, to 50 digits."""
    none = spectrum(SETTINGS["Fig. 5"].design, POPULATION)
    for constants in (Constants(), Constants(sample_size=2.0, horizon=3.0, epsilon=0.25)):
        for label, setting in SETTINGS.items():
            budget = TwoStageBudget(rho1=setting.rho1, rho2=setting.rho2)
            found = hypotheses_of(
                setting.design, none, budget, eta=1.0, alpha=1.0, steps=setting.T, constants=constants
            )
            for condition in (condition for condition in found if condition.name in names):
                exact = _limit(setting, condition.name, exponent, constants)
                compared = setting.T if condition.name == "(5)" else setting.n
                met = compared <= exact if condition.name == "(5)" else compared >= exact
                said = f"compares {compared} with {exact:.4g}: {'met' if met else 'not met'}"
                at = "" if constants == Constants() else ", c_1 = 2, constant 3 and epsilon = 1/4 in (5)"
                yield Fact(f"{label}{at}: {condition.name} {said}", condition.limit, exact, 1e-13)
                yield Fact(f"{label}{at}: {condition.name}", [condition.value, condition.met], [compared, met], 0)


def _limit(setting: IdealSetup, name: str, exponent: int, constants: Constants) -> float:
    with arithmetic.digits(50) as m:
        n, p, q, T = (m.number(value) for value in (setting.n, setting.p, setting.q, setting.T))
        rho1, least = m.number(setting.rho1), m.number(min(setting.rho1, setting.rho2))
        c1, horizon = m.number(constants.sample_size), m.number(constants.horizon)
        Q = m.sqrt(q) + m.sqrt(m.number(5))
        sides = {
            "(5)": horizon * rho1 * m.exp((2 - m.number(constants.epsilon)) * m.log(n)) / (p * Q**exponent),
            "Lemma D.1": c1 * Q ** (exponent // 2) * m.sqrt(T / least),
            "(6) dimension": c1 * p * q * (5 + m.log(p * q)) ** 2,
            "(6) privacy": c1 * Q ** (exponent // 2) / m.sqrt(least),
        }
        return float(sides[name])


def _first_stage_noise(decades: float, epsilon: float = 0.25) -> Iterator[tuple[str, float]]:
    """mu of (18) at the largest T that (5) allows with constant 1, c_0 = 1, in every direction of n, p, q, tau."""
    size = 10.0 ** (decades / 4)
    many = 10.0**40
    for label, n, p, q, tau in (
        ("n", 10.0 ** (3 + decades), 1.0, 1.0, 5.0),
        ("n, p = q = 50", 10.0 ** (6 + decades), 50.0, 50.0, 5.0),
        ("n with q = n^(1/4)", 10.0 ** (3 + decades), 1.0, size, 5.0),
        ("q at p = 1", many, 1.0, size, 5.0),
        ("p = q", many, size, size, 5.0),
        ("tau", many, 1.0, 1.0, 5.0 * size),
    ):
        design = Design(n=round(n), p=round(p), q=round(q), theta_norm=1.0, theta_least=1.0, tau=tau)
        steps = round(n ** (2 - epsilon) / (design.p * design.Q**6))
        gamma = float(clip_norm(design, steps))
        lambda1 = float(noise_scales(TwoStageBudget.equal(1.0, gamma), design.n, steps).lambda1)
        yield label, lambda1 * math.sqrt(design.p) * (math.sqrt(design.q) + math.sqrt(math.log(design.p) + tau))


def _reach_side(m, q, tau):
    """sqrt(q) + sqrt(log p + tau), the factor of sqrt(p) in mu, at its largest: p = q."""
    return m.sqrt(q) + m.sqrt(m.log(q) + tau)


def _twice_Q(m, q, tau, factor="1.5"):
    return m.number(factor) * (m.sqrt(q) + m.sqrt(tau))


def _union_proof(more: int = 0) -> Iterator[tuple[str, sympy.Expr]]:
    """sqrt(q) + sqrt(tau + L) <= Q (1 + sqrt(L)) for q >= 1 (q = (1 + v)², tau = t², L = l²): squares of the part
    beyond sqrt(q), sqrt(tau + L) <= t + l (1 + v + t).
    """
    v, t, l = sympy.symbols("v t l", positive=True)
    yield "(t + l (1 + v + t))² - (t² + l²)", (t + l * (1 + v + t)) ** 2 - t**2 - (1 + more) * l**2


EQ_5 = Claim(
    id="iv/eq-5",
    where="Theorem 3.1; (23)",
    page=6,
    equation="(5)",
    kind="number",
    statement=(
        "$T lt.tilde rho_1 n^(2 - epsilon) / (p (sqrt(q) + sqrt(tau))^6)$ keeps the first-stage noise $mu(tau)$ of "
        "(18) bounded."
    ),
    hypotheses="$epsilon > 0$, fixed budgets.",
    setting=(
        "The right side with constant 1 in the figures' settings, beside the condition of Lemma D.1. Boundedness is "
        "proved: $mu <= 3 c_0 (1 + sqrt(L))^2 n^(-epsilon\\/2)$ with $L = log(n T)$, for all $p <= q$ and $tau >= 1$, "
        "from the two inequalities checked; and followed in every direction."
    ),
    remark="Not for $epsilon = 0$: $mu$ would grow with the logarithm of the clip norm.",
    checks=(
        Agreement(
            facts=partial(_limits, names=("(5)", "Lemma D.1")),
            role="control",
            impostors={"fourth power": {"facts": {"exponent": 4}}},
        ),
        LOGARITHM,
        Inequality(
            smaller=_reach_side,
            larger=_twice_Q,
            role="control",
            box={"q": Real(1.0, 1e12, "log"), "tau": Real(1.0, 1e6, "log")},
            impostors={"constant 1": {"larger": {"factor": "1"}}},
        ),
        Symbolic(nonnegative=_union_proof, impostors={"2 log(nT)": {"nonnegative": {"more": 1}}}),
        Rate(
            ratios=_first_stage_noise,
            role="control",
            relation="upper",
            extents=(4.0, 8.0, 16.0, 32.0),
            impostors={"epsilon = 0": {"ratios": {"epsilon": 0.0}}},
        ),
    ),
    derivation=Derivation(
        text=(
            "With $Q = sqrt(q) + sqrt(tau)$ and $log p <= log q <= 0.61^2 q$ (iv/eq-24) $mu <= 2 dot 1.61 gamma_1\\/n "
            "sqrt(T p\\/rho_1) Q$ up to a constant, and (5) makes $sqrt(T p\\/rho_1) Q^3$ at most a constant times "
            "$n^(1 - epsilon\\/2)$. The clip norm over $c_0$ is at most $Q^2 (1 + sqrt(L))^2$, $L = log(n T)$, as is "
            "proved of its root. So $mu$ is at most a constant times $(1 + sqrt(L))^2 n^(-epsilon\\/2)$ with $T$ at "
            "most a constant times $n^2$, which is bounded."
        ),
        lemmas=("monotony",),
    ),
)


def _delta_side(m, q, tau):
    """Q, the numerator of delta / (C_0 sigma_z^2)."""
    return m.sqrt(q) + m.sqrt(tau)


def _dimension_side(m, q, tau, factor="2.01"):
    """sqrt(q) (tau + log q), below sqrt(n / c_1) by (6); p = 1 is the worst."""
    return m.number(factor) * m.sqrt(q) * (tau + m.log(q))


def _product_side(m, size, tau):
    """The numerator of psi, over sqrt(pq)."""
    return tau + m.log(2 * size)


def _lambda_side(m, size, tau, factor="1.7"):
    return m.number(factor) * (tau + m.log(size))


def _small(factor: int = 2) -> Iterator[tuple[str, sympy.Expr]]:
    """sqrt(q) + sqrt(tau) <= 2 sqrt(q) tau and Lambda + log 2 <= (1 + log 2) Lambda: sqrt(q) = 1 + a, sqrt(tau) = 1 +
    b, Lambda = 1 + c.
    """
    a, b, c = sympy.symbols("a b c", positive=True)
    yield "2 sqrt(q) tau - Q", sympy.expand(factor * (1 + a) * (1 + b) ** 2 - (1 + a) - (1 + b))
    yield "(1 + log 2) Lambda - Lambda - log 2", sympy.expand(sympy.log(2) * (1 + c) - sympy.log(2))


EQ_6 = Claim(
    id="iv/eq-6",
    where="Theorem 3.1",
    page=6,
    equation="(6)",
    kind="number",
    statement=(
        "$n >= c_1 max{p q Lambda^2, Q^3 \\/ sqrt(rho_min)}$ makes $delta$ and $psi$ as small as one likes by the "
        "choice of $c_1$."
    ),
    hypotheses="$tau >= 1$.",
    setting=(
        "Evaluated with $c_1 = 1$, $tau = 5$ in the figures' settings: of these only $p = q = 5$ with $n >= 1689$ and "
        "the real data sets meet it. The implication by $delta <= 2.01 C_0 sigma_z^2 \\/ sqrt(c_1)$ and $tau + log(2 p "
        "q) <= 1.7 Lambda$."
    ),
    checks=(
        Agreement(
            facts=partial(_limits, names=("(6) dimension", "(6) privacy")),
            role="control",
            impostors={"Q^2 for Q^3": {"facts": {"exponent": 4}}},
        ),
        Symbolic(nonnegative=_small, impostors={"half of it": {"nonnegative": {"factor": 1}}}),
        Inequality(
            smaller=_delta_side,
            role="control",
            larger=_dimension_side,
            box={"q": Real(1.0, 1e12, "log"), "tau": Real(1.0, 1e6, "log")},
            impostors={"constant 1.9": {"larger": {"factor": "1.9"}}},
        ),
        Inequality(
            smaller=_product_side,
            role="control",
            larger=_lambda_side,
            box={"size": Real(1.0, 1e24, "log"), "tau": Real(1.0, 1e6, "log")},
            impostors={"constant 1.6": {"larger": {"factor": "1.6"}}},
        ),
    ),
    derivation=Derivation(
        text=(
            "By (6) $sqrt(n) >= sqrt(c_1 p q) Lambda$. $Q = sqrt(q) + sqrt(tau)$ is proved to be at most $2 sqrt(q) "
            "tau <= 2 sqrt(p q) Lambda$, so that $delta = C_0 sigma_z^2 Q\\/sqrt(n) <= 2 C_0 sigma_z^2\\/sqrt(c_1)$; "
            "and $tau + log(2 p q) <= (1 + log 2) Lambda$ as $Lambda >= 1$, so that $psi <= (1 + log 2) c_0 sigma_z "
            "sigma_2 \\/ (sqrt(c_1) (1 - delta)^2)$."
        ),
    ),
)
