"""Appendix A.2 and footnote 2: what zero-concentrated privacy means, and what (epsilon, delta) it implies."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import sympy
from scipy.special import logsumexp

from dpbounds.privacy import (
    Conversion,
    gaussian_epsilon,
    rdp_delta,
    rdp_epsilon,
    rdp_of_zcdp,
    zcdp_delta,
    zcdp_epsilon,
    zcdp_rho,
)
from dpbounds.privacy.rdp import epsilon_at
from dpbounds.privacy.zcdp import bun_steinke_epsilon
from verify.checks import Agreement, Fact, Inequality, Search, Symbolic, Times
from verify.checks.domains import Real
from verify.statements.claims import Claim, Correction, Fault
from verify.statements.derivations import Derivation

# --- mechanisms with three outcomes ---

ORDERS = 1.0 + np.geomspace(1e-3, 1e3, 100)


def _law_pair(logits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two laws on three points from six logits a row."""
    weights = np.exp(logits.reshape(-1, 2, 3))
    laws = weights / weights.sum(axis=-1, keepdims=True)
    return laws[:, 0], laws[:, 1]


def _divergences(p: np.ndarray, q: np.ndarray, orders: np.ndarray) -> np.ndarray:
    """D_alpha(p || q), rows of laws by orders: the same for every row, or a column of one per row."""
    exponents = np.log(q)[:, None] + orders[..., None] * np.log(p / q)[:, None]
    return logsumexp(exponents, axis=-1) / (orders - 1)


def _zcdp(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Upper bound on sup_{alpha > 1} D_alpha / alpha both ways: D grows with alpha, so D at the next order over this
    one.
    """
    below, worst = np.concatenate([[1.0], ORDERS[:-1]]), np.zeros(len(p))
    for first, second in ((p, q), (q, p)):
        beyond = np.log(first / second).max(axis=1) / ORDERS[-1]
        worst = np.maximum(worst, np.maximum((_divergences(first, second, ORDERS) / below).max(axis=1), beyond))
    return worst


def _hockey_stick(p: np.ndarray, q: np.ndarray, epsilon: np.ndarray) -> np.ndarray:
    """The least delta for this epsilon, both ways."""
    scale = np.exp(np.minimum(epsilon, 700.0))[:, None]
    return np.maximum(np.maximum(p - scale * q, 0).sum(axis=1), np.maximum(q - scale * p, 0).sum(axis=1))


# --- footnote 2 ---


def _bun_steinke_proof(factor: int = 2) -> Iterator[tuple[str, sympy.Expr]]:
    """delta <= e^{(alpha - 1)(rho alpha - epsilon)} for every alpha > 1, as (1 - e^{-u})_+ <= e^{(alpha - 1) u} for all
    u; at alpha = 1 + sqrt(l / rho), l = log(1 / delta), the exponent is -l. Here rho = r^2 and l = q^2.
    """
    r, q = sympy.symbols("r q", positive=True)
    alpha, epsilon = 1 + q / r, r**2 + factor * r * q
    yield "exponent at the best order is log delta", (alpha - 1) * (r**2 * alpha - epsilon) + q**2


def _normal_bun_steinke(rho: float, delta: float) -> tuple[float, float]:
    return float(gaussian_epsilon(np.sqrt(2 * rho), delta)), float(zcdp_epsilon(rho, delta, "bun-steinke"))


def _three_points(logits: np.ndarray, delta: np.ndarray, factor: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Least delta at the printed epsilon, against delta, for a mechanism with three outcomes."""
    p, q = _law_pair(logits)
    return _hockey_stick(p, q, factor * bun_steinke_epsilon(_zcdp(p, q), -np.log(delta))), delta


def _there_and_back(method: Conversion) -> Iterator[Fact]:
    """rho, epsilon and delta from one another."""
    for rho in (1e-3, 0.1, 3.0):
        for delta in (1e-9, 1e-3, 0.4):
            epsilon = zcdp_epsilon(rho, delta, method)
            if epsilon > 0:
                yield Fact(f"{method}: rho = {rho}, delta = {delta}", zcdp_rho(epsilon, delta, method), rho, 1e-9)
                yield Fact(f"{method}: delta = {delta}, rho = {rho}", zcdp_delta(rho, epsilon, method), delta, 1e-8)


def _bun_steinke(rng: np.random.Generator) -> Iterator[Fact]:
    """The shipped conversions: as printed, and inverse to one another."""
    for rho, delta in ((0.01, 1e-6), (2.0, 0.1)):
        stated = rho + 2 * np.sqrt(rho * np.log(1 / delta))
        yield Fact(f"epsilon at rho = {rho}", zcdp_epsilon(rho, delta, "bun-steinke"), stated, 1e-14)
    yield from _there_and_back("bun-steinke")


FN_2 = Claim(
    id="ftrl/fn-2",
    where="footnote 2 (Bun-Steinke, Prop. 1.3)",
    page=2,
    kind="privacy",
    statement="$rho$-zCDP implies $(rho + 2 sqrt(rho log(1 \\/ delta)), delta)$-DP.",
    setting=(
        "Proved from the divergences; compared with the exact $epsilon(delta)$ of Gaussian mechanisms and with "
        "mechanisms of three outcomes."
    ),
    checks=(
        Symbolic(residuals=_bun_steinke_proof, impostors={"1 in place of 2": {"residuals": {"factor": 1}}}),
        Search(
            sides=_normal_bun_steinke,
            box={"rho": Real(1e-3, 10.0, "log"), "delta": Real(1e-10, 1e-2, "log")},
            evaluations=2_000,
            impostors={"10 % less": {"sides": Times(1, 0.9)}},
            role="control",
        ),
        Search(
            sides=_three_points,
            box={"logits": (Real(-6.0, 6.0), 6), "delta": Real(1e-6, 0.5, "log")},
            vectorised=True,
            evaluations={"quick": 2_000, "full": 20_000},
            impostors={"half of epsilon": {"sides": {"factor": 0.5}}},
            role="control",
        ),
        Agreement(facts=_bun_steinke, impostors={"1 % off": {"facts": Times(1.01)}}, role="control"),
    ),
    derivation=Derivation(
        text=(
            "With $Z = log(p\\/q)$ every event $S$ has $p(S) - e^epsilon q(S) <= EE_p (1 - e^(epsilon - Z))_+$, and "
            "$(1 - e^(-u))_+ <= e^((alpha - 1) u)$ for all $u$ and $alpha > 1$: for $u <= 0$ the left side is 0, for "
            "$u > 0$ it is below 1 and the right above. So $delta <= EE_p e^((alpha - 1) (Z - epsilon)) = e^((alpha - "
            "1) (D_alpha - epsilon)) <= e^((alpha - 1) (rho alpha - epsilon))$; at $alpha = 1 + "
            "sqrt(log(1\\/delta)\\/rho)$ and the printed $epsilon$ the exponent is $log delta$."
        ),
        lemmas=("linearity",),
    ),
)

# --- last display ---


def _renyi_constant(factor: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """log((1 - y) y^b), y = e^{-u}, b = alpha - 1, is concave with its only stationary point at y = 1 - 1 / alpha; with
    that constant in front the exponent reaches log delta exactly at the printed epsilon.
    """
    y, b, rho, l = sympy.symbols("y b rho l", positive=True)
    log_of = sympy.log(1 - y) + b * sympy.log(y)
    best = b / (1 + b)
    yield "stationary point", sympy.diff(log_of, y).subs(y, best)
    yield "concave", sympy.diff(log_of, y, 2) + 1 / (1 - y) ** 2 + b / y**2
    alpha = 1 + b
    epsilon = rho * alpha + (l - factor * sympy.log(alpha)) / b + sympy.log(best)
    constant = -sympy.log(alpha) + b * sympy.log(best)
    yield "exponent is log delta", sympy.expand_log(b * (rho * alpha - epsilon) + constant + l, force=True)


def _normal_renyi(rho: float, delta: float, excess: float) -> tuple[float, float]:
    exact = float(gaussian_epsilon(np.sqrt(2 * rho), delta))
    return exact, float(epsilon_at(rho * (1 + excess), excess, -np.log(delta)))


def _three_points_renyi(
    logits: np.ndarray, delta: np.ndarray, excess: np.ndarray, shift: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    p, q = _law_pair(logits)
    epsilon = epsilon_at(_zcdp(p, q) * (1 + excess), excess, -np.log(delta))
    return _hockey_stick(p, q, epsilon - shift), delta


def _least_renyi(rng: np.random.Generator) -> Iterator[Fact]:
    """The shipped conversions: the printed expression at given orders, and its infimum over all, by a fine grid."""
    orders = np.array([1.2, 3.0, 40.0])
    for rho, delta in ((0.01, 1e-6), (2.0, 0.1), (0.3, 1e-3)):
        printed = rho * orders + np.log(1 / (orders * delta)) / (orders - 1) + np.log(1 - 1 / orders)
        given = rdp_of_zcdp(rho, orders)
        epsilon = rdp_epsilon(orders, given, delta)
        yield Fact(f"epsilon from three orders, rho = {rho}", epsilon, max(printed.min(), 0.0), 1e-13)
        if epsilon > 0:
            yield Fact(f"delta back from them, rho = {rho}", rdp_delta(orders, given, epsilon), delta, 1e-12)
        alpha = 1 + np.geomspace(1e-2, 1e4, 200_001)
        least = (rho * alpha + np.log(1 / (alpha * delta)) / (alpha - 1) + np.log1p(-1 / alpha)).min()
        yield Fact(f"infimum, rho = {rho}", zcdp_epsilon(rho, delta), max(least, 0.0), 1e-9)
    yield Fact("no epsilon is needed", rdp_epsilon([2.0], [1e-3], 0.9), 0.0, 0)
    yield from _extreme_renyi()
    yield from _there_and_back("renyi")


def _extreme_renyi() -> Iterator[Fact]:
    """Budgets large and next to nothing: the infimum by a fine grid, delta of 1, none, and no epsilon."""
    excess = np.geomspace(1e-6, 1e2, 200_001)
    for rho, delta in ((1e4, 0.5), (40.0, 0.9), (0.3, 1e-250)):
        least = (rho * (1 + excess) - np.log((1 + excess) * delta) / excess - np.log1p(1 / excess)).min()
        yield Fact(f"infimum, rho = {rho:g}", zcdp_epsilon(rho, delta), least, 1e-9)
    for rho, epsilon in ((100.0, 110.0), (30.0, 20.0), (4.0, 1.0), (0.3, 2.0)):
        logs = excess * (rho * (1 + excess) - epsilon - np.log1p(1 / excess)) - np.log1p(excess)
        yield Fact(f"infimum, rho = {rho:g}, epsilon = {epsilon:g}", zcdp_delta(rho, epsilon), np.exp(logs.min()), 2e-8)
    yield Fact("all is spent", [zcdp_delta(1e4, 1.0), zcdp_delta(5e7, 1e3)], [1.0, 1.0], 1e-12)
    yield Fact("next to nothing is spent", zcdp_delta(1e-20, 1.0), 5e-324, 0)
    spent = [zcdp_epsilon(1e-90, delta) for delta in np.linspace(0.01, 0.99, 33).tolist()]
    yield Fact("and needs no epsilon", spent, [0.0] * 33, 0)


A_2_CONV = Claim(
    id="ftrl/a.2-conv",
    where="App. A.2, last display",
    page=15,
    kind="privacy",
    statement=(
        "$rho$-zCDP implies $(epsilon_delta, delta)$-DP with $epsilon_delta <= inf_(alpha > 1) {rho alpha + "
        "1/(alpha - 1) log(1 / (alpha delta)) + log(1 - alpha^(-1))}$."
    ),
    setting="Every order is tried, so that the infimum is covered; laws as for footnote 2.",
    checks=(
        Symbolic(residuals=_renyi_constant, impostors={"log alpha twice": {"residuals": {"factor": 2}}}),
        Search(
            sides=_normal_renyi,
            box={
                "rho": Real(1e-3, 10.0, "log"),
                "delta": Real(1e-10, 1e-2, "log"),
                "excess": Real(1e-2, 1e3, "log"),
            },
            evaluations=2_000,
            impostors={"20 % less": {"sides": Times(1, 0.8)}},
            role="control",
        ),
        Search(
            sides=_three_points_renyi,
            box={
                "logits": (Real(-6.0, 6.0), 6),
                "delta": Real(1e-6, 0.5, "log"),
                "excess": Real(1e-2, 1e2, "log"),
            },
            vectorised=True,
            impostors={"epsilon less by 0.05": {"sides": {"shift": 0.05}}},
            role="control",
        ),
        Agreement(facts=_least_renyi, impostors={"1 % off": {"facts": Times(1.01)}}, role="control"),
    ),
    derivation=Derivation(
        text=(
            "With $Z = log(p\\/q)$ and $b = alpha - 1 > 0$ every event $S$ has $p(S) - e^epsilon q(S) <= EE_p (1 - "
            "e^(epsilon - Z))_+$, and $(1 - e^(-u))_+ <= c e^(b u)$ for all $u$ with $c = max_(0 < y < 1) (1 - y) "
            "y^b$, reached at $y = b\\/(1 + b)$ since $log((1 - y) y^b)$ is concave with this one stationary point. "
            "So $delta <= c e^(b (D_alpha - epsilon)) <= c e^(b (rho alpha - epsilon))$, which is $delta$ at the "
            "printed $epsilon$ of the order $alpha$. This holds for every $alpha > 1$, and for the infimum since "
            "$EE_p (1 - e^(epsilon - Z))_+$ is continuous in $epsilon$."
        ),
        lemmas=("linearity",),
    ),
)

# --- the definition of zCDP ---


def _randomised_response(m, alpha):
    """D_alpha / alpha of a bit told truthfully with probability e / (1 + e): from sum_i p_i^alpha q_i^{1 - alpha}."""
    total = (alpha - 1) + m.log1p(m.exp(1 - 2 * alpha)) - m.log1p(m.exp(-1))
    return total / (alpha * (alpha - 1))


def _relative_entropy(m):
    """D_1 = tanh(1/2), the limit of D_alpha / alpha at 1."""
    return (m.exp(1) - 1) / (m.exp(1) + 1)


def _second_derivative(m, excess):
    """g = (alpha - 1) (alpha D_1 - D_alpha) vanishes with its slope at alpha = 1, and its second derivative rises in
    alpha, so g is at least (alpha - 1)^2 / 2 times this, the second derivative at alpha = 1.
    """
    u = m.exp(-1 + 0 * excess)
    return 2 * _relative_entropy(m) - 4 * u / m.power(1 + u, 2)


def _low_orders(logits, order, factor: float = 2.0):
    """D_alpha / alpha at an order below 1, against `factor` times the larger relative entropy, which is at most rho."""
    p, q = _law_pair(logits)
    entropies = np.maximum(np.sum(p * np.log(p / q), axis=1), np.sum(q * np.log(q / p), axis=1))
    below = _divergences(p, q, order[:, None])[:, 0]
    return np.where(entropies > 1e-9, below / order, 0.0), factor * entropies  # rounding rules below


def _gaussian_orders(rng: np.random.Generator) -> Iterator[Fact]:
    """D_alpha of N(0, 1) against N(mu, 1) by summation over a fine grid."""
    x = np.linspace(-60, 60, 40_001)
    for mu in (0.1, 1.0):
        for alpha in (0.01, 0.5, 0.9, 1.1, 2.0, 10.0):
            exponent = -alpha * x**2 / 2 - (1 - alpha) * (x - mu) ** 2 / 2
            total = np.sum(np.exp(exponent)) * (x[1] - x[0]) / np.sqrt(2 * np.pi)
            label = f"D_alpha at alpha = {alpha}, mu = {mu}"
            yield Fact(label, np.log(total) / (alpha - 1), alpha * mu**2 / 2, 1e-8)


A_2_ZCDP = Claim(
    id="ftrl/a.2-zcdp",
    where="App. A.2",
    page=15,
    kind="privacy",
    statement="$rho$-zCDP (Bun and Steinke) asks $D_alpha (P_0 || P_1) <= rho alpha$ for all $alpha in (0, oo)$.",
    setting=(
        "A bit told truthfully with probability $e \\/ (1 + e)$: over the orders $alpha > 1$ its least $rho$ is the "
        "relative entropy $tanh(1 \\/ 2)$."
    ),
    checks=(
        Inequality(
            smaller=_randomised_response,
            larger=lambda m, alpha: _relative_entropy(m),
            box={"alpha": Real(0.1, 0.9)},
            certify=False,
        ),
    ),
    fault=Fault(
        severity="slip",
        touches="text",
        finding=(
            "Appendix A.2 quantifies over all $alpha in (0, oo)$, Bun and Steinke over $alpha > 1$: a bit told "
            "truthfully with probability $e \\/ (1 + e)$ is $rho$-zCDP for $rho = tanh(1 \\/ 2) = {larger}$, yet "
            "$D_alpha \\/ alpha = {smaller}$ at $alpha = {alpha}$."
        ),
        consequence="Nothing: every mechanism of the paper is Gaussian, where all orders hold with the same $rho$.",
    ),
    correction=Correction(
        statement=(
            "$rho$-zCDP (Bun and Steinke) asks $D_alpha (P_0 || P_1) <= rho alpha$ for all $alpha in (1, oo)$.",
            (
                "The orders $alpha <= 1$ then hold with $2 rho$ in place of $rho$ (a sharp factor), and with $rho$ "
                "itself for Gaussian laws."
            ),
        ),
        ground="$D_alpha$ increases in $alpha$ and $(1 - alpha) D_alpha (P || Q) = alpha D_(1 - alpha) (Q || P)$.",
        checks=(
            Inequality(
                decides="a",
                smaller=lambda m, excess: _randomised_response(m, 1 + excess),
                larger=lambda m, excess: _relative_entropy(m),
                box={"excess": Real(1e-6, 1e6, "log")},
                certificate=_second_derivative,
                factor=lambda m, excess: excess / (2 * (1 + excess)),
                impostors={
                    "orders below 1 too": {"smaller": lambda m, excess: _randomised_response(m, excess / (1 + excess))}
                },
            ),
            Search(
                decides="b",
                sides=_low_orders,
                box={"logits": (Real(-20.0, 20.0), 6), "order": Real(1e-3, 0.999)},
                extremal=lambda: [{"logits": [k, 0.0, -99.0, 0.0, k, -99.0], "order": 0.5} for k in (1.0, 100.0)],
                vectorised=True,
                impostors={"1.9 rho": {"sides": {"factor": 1.9}}},
            ),
            Agreement(decides="b", facts=_gaussian_orders, impostors={"1 % off": {"facts": Times(1.01)}}),
        ),
    ),
)
