"""Appendix C: Lemmas 1 to 3, Rényi divergences of the sketch and of Gaussian noise, and their conversion."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import sympy

from dpbounds import arithmetic
from dpbounds.arithmetic import FLOATS
from dpbounds.ols import sketch
from dpbounds.privacy import gaussian_epsilon, rdp_epsilon, rdp_of_zcdp, zcdp_of_gaussian
from verify.checks import Agreement, Fact, Identity, Inequality, Search, Symbolic, Times
from verify.checks.domains import Real, Whole
from verify.papers.ols.tools.divergences import renyi_of_gaussians, renyi_of_rows, rows_delta
from verify.papers.ols.tools.symbols import SYMBOLS
from verify.statements.claims import Claim
from verify.statements.derivations import Derivation

# --- Lemma 1 ---


def _pair(entries: np.ndarray, record: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Covariances with and without a record of norm at most 1, lambda_min with it = level > 1; d = 3."""
    root = entries.reshape(3, 3)
    gram = root @ root.T
    record = record / max(1.0, float(np.linalg.norm(record)))
    with_record = gram + np.outer(record, record)
    with_record += (level - np.linalg.eigvalsh(with_record)[0]) * np.eye(3)
    return with_record, with_record - np.outer(record, record)


def _divergence(entries, record, level, order, k, forwards, factor: float = 1.0) -> tuple[float, float]:
    """Rényi divergence of the explicit pair, in one direction, against phi at gamma = lambda_min."""
    first, second = _pair(np.asarray(entries), np.asarray(record), level)
    alpha = 1 + (order - 1) / order * (level - 1) * 0.999
    pair = (first, second) if forwards > 0.5 else (second, first)
    return renyi_of_rows(alpha, int(k), *pair), factor * float(sketch.renyi(alpha, int(k), level))


def _along_the_bottom() -> Iterator[dict[str, Any]]:
    """x a unit vector along the bottom eigenvector, which makes the leverage 1/gamma."""
    for level, order in ((3.0, 1.5), (40.0, 8.0), (1.2, 3.0)):
        entries = [0.0, 0, 0, 0, 5, 0, 0, 0, 7]
        yield {"entries": entries, "record": [1.0, 0, 0], "level": level, "order": order, "k": 7, "forwards": 1.0}


def _of_variances(order: Any, first: Any, second: Any) -> Any:
    """The Rényi divergence of N(0, first) from N(0, second), by the integral of p^order q^(1 - order)."""
    precision = order / first + (1 - order) / second
    logarithms = order * sympy.log(first) + (1 - order) * sympy.log(second) + sympy.log(precision)
    return -logarithms / (2 * (order - 1))


def _one_direction(*, square: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """At leverage r, phi at gamma = 1/r is the divergence of variance 1 from 1 - r; the derivatives by r of it and of
    the other direction, and both at 0.
    """
    h, r = sympy.symbols("h r", positive=True)
    order = 1 + h
    with_record: Any = _of_variances(order, sympy.Integer(1), 1 - r)
    without: Any = _of_variances(order, 1 - r, sympy.Integer(1))
    phi: Any = sketch.printed_renyi(SYMBOLS, order, sympy.Integer(1), 1 / r)
    rise = order * r**square / (2 * (1 - r) * (1 - order * r))
    yield "phi less the divergence", sympy.diff(phi - with_record, r)
    yield "phi is 0 at r = 0", phi.subs(r, 0)
    yield "the divergence is 0 at r = 0", sympy.simplify(with_record.subs(r, 0))
    yield "its derivative", sympy.diff(phi, r) - rise
    yield "derivative of the other", sympy.diff(without, r) - order * r / (2 * (1 - r) * (1 + h * r))
    yield "the other is 0 at r = 0", sympy.simplify(without.subs(r, 0))


def _rises(*, sign: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """Both derivatives, and the first less the second, over order r / (2 (1 - r)), at r = 1/(1 + h + g)."""
    h, g = sympy.symbols("h g", positive=True)
    r = 1 / (1 + h + g)
    first, second = 1 / (1 - (1 + h) * r), 1 / (1 + sign * h * r)
    yield "derivative of phi", first
    yield "of the other direction", second
    yield "phi grows faster", first - second


def _shipped(rng: np.random.Generator) -> Iterator[Fact]:
    """phi as shipped against (19) as printed, in 100 digits, for orders near 1, in between and near gamma."""
    for k, gamma in ((1, 1.5), (3, 2.6), (40, 100.0), (1000, 1e7)):
        for share in (1e-7, 0.3, 0.999):
            order = 1 + share * (gamma - 1)
            with arithmetic.digits(100) as m:
                printed = float(sketch.printed_renyi(m, m.number(order), k, m.number(gamma)))
            yield Fact(f"phi({order:g}; {k}, {gamma:g})", sketch.renyi(order, k, gamma), printed, 1e-11)


LEM_1 = Claim(
    id="ols/lem-1",
    where="Lemma 1, (19)",
    equation="(19)",
    kind="privacy",
    statement=(
        "For $lambda_min (A) >= overline(lambda)$, $S X + sigma xi$ is $(alpha, phi(alpha; k, gamma))$-RDP for $alpha "
        "in (1, gamma)$, $gamma = sigma^2 + overline(lambda)$."
    ),
    hypotheses="$norm(x_i) <= 1$.",
    remark=(
        "Exactly that, where the larger of the two data sets has $lambda_min = overline(lambda)$ and the record lies "
        "along its bottom eigenvector; if the smaller one has, $gamma + 1$ may take the place of $gamma$."
    ),
    checks=(
        Search(
            sides=_divergence,
            box={
                "entries": (Real(-3.0, 3.0), 9),
                "record": (Real(-1.0, 1.0), 3),
                "level": Real(1.05, 1e3, "log"),
                "order": Real(1.01, 50.0, "log"),
                "k": Whole(1, 50, "log"),
                "forwards": Real(0.0, 1.0),
            },
            extremal=_along_the_bottom,
            evaluations=1500,
            impostors={"2 % less": {"sides": {"factor": 0.98}}},
            role="control",
        ),
        Agreement(facts=_shipped, impostors={"1e-9 off": {"facts": Times(1 + 1e-9)}}, role="control"),
        Symbolic(
            residuals=_one_direction,
            nonnegative=_rises,
            impostors={
                "r² in the derivative": {"residuals": {"square": 2}},
                "a reciprocal that is not positive": {"nonnegative": {"sign": -3}},
            },
        ),
    ),
    derivation=Derivation(
        text=(
            "The $k$ rows are independent $cal(N)(0, Sigma)$, $Sigma = X^top X + sigma^2 I >= gamma I$ for both data "
            "sets. With the record $x$ it is $Sigma_1$, without it $Sigma_0 = Sigma_1 - x x^top$, and in the "
            "coordinates of $Sigma_1^(-1\\/2)$ they are $I$ and $I - u u^top$, $r = norm(u)^2 = x^top Sigma_1^(-1) x "
            "<= 1\\/gamma$: all directions agree but one, of variances 1 and $1 - r$. For centred normal densities "
            "$integral p^alpha q^(1 - alpha) = v_p^(-alpha\\/2) v_q^((alpha - 1)\\/2) (alpha\\/v_p + (1 - "
            "alpha)\\/v_q)^(-1\\/2)$, so $k$ rows have the divergence $phi(alpha; k, 1\\/r)$ of the set with the "
            "record from the other. Both directions are 0 at $r = 0$ and grow with $r < 1\\/alpha$, this one faster: "
            "both are at most $phi(alpha; k, gamma)$."
        ),
        lemmas=("spectral theorem", "Rayleigh", "independence", "monotony"),
    ),
)

# --- the bound behind (18) ---


def _phi(m, share, k, gamma):
    """phi at order = 1 + share (2 gamma / 5 - 1)."""
    return sketch.printed_renyi(m, 1 + share * (2 * gamma / 5 - 1), k, gamma)


def _truncated(m, share, k, gamma, factor="1"):
    return m.number(factor) * k * (1 + share * (2 * gamma / 5 - 1)) / (2 * gamma**2)


def _series(m, s):
    """sum_j s^{j-2} (j - 1)/j = 1/(1 - s) + (log(1 - s) + s)/s²: at least phi 2 gamma²/(k order), s = order/gamma.

    phi 2 gamma² / (k order) is sum_j gamma^{2-j} (1 + order + ... + order^{j-2}) / j, and each bracket has j - 1 terms
    of at most order^{j-2}.
    """
    return 1 / (1 - s) + (m.log(1 - s) + s) / s**2


LEM_1_TCDP = Claim(
    id="ols/lem-1-tcdp",
    where="behind (18)",
    kind="inequality",
    statement="$phi(alpha; k, gamma) <= k alpha\\/(2 gamma^2)$ for $1 < alpha <= 2 gamma\\/5$, $gamma > 5\\/2$.",
    remark=(
        "Sharp within 3 % as $gamma -> oo$ at $alpha = 2 gamma\\/5$; for $alpha << gamma$ it is $k alpha\\/(4 "
        "gamma^2)$."
    ),
    checks=(
        Inequality(
            smaller=_phi,
            larger=_truncated,
            box={"share": Real(1e-3, 1.0, "log"), "k": Whole(1, 2000, "log"), "gamma": Real(2.6, 1e4, "log")},
            certify=False,
            evaluations=4000,
            impostors={"5 % less": {"larger": {"factor": "0.95"}}},
            role="control",
        ),
        Inequality(
            smaller=_series,
            larger=lambda m, s: m.number(1) + 0 * s,
            box={"s": Real(1e-3, 0.4)},
            impostors={"5 % more": {"smaller": Times("1.05")}},
        ),
    ),
    derivation=Derivation(
        text=(
            "By $log(1 - x) = -sum_j x^j\\/j$, $phi dot 2 gamma^2\\/(k alpha) = sum_(j >= 2) gamma^(2 - j) (1 + alpha "
            "+ dots + alpha^(j - 2))\\/j$, where the bracket has $j - 1$ terms of at most $alpha^(j - 2)$: at most "
            "$sum_(j >= 2) (1 - 1\\/j) s^(j - 2) = 1\\/(1 - s) + (log(1 - s) + s)\\/s^2$ at $s = alpha\\/gamma$, whose "
            "terms grow with $s$ and which is below 1 at $s = 2\\/5$, for every $k$ and $gamma$."
        ),
        lemmas=("geometric series",),
    ),
)

# --- Lemma 2 ---


def _gaussian_orders(rng: np.random.Generator) -> Iterator[Fact]:
    """alpha b² / (2 sigma²) as shipped, against quadrature of the two densities."""
    for b, sigma in ((1.0, 1.0), (0.3, 1.5), (2.0, 0.8)):
        orders = np.array([1.05, 1.5, 2.0, 4.0])
        shipped = rdp_of_zcdp(float(zcdp_of_gaussian(b / sigma)), orders)
        yield Fact(f"b = {b}, sigma = {sigma}", shipped, [renyi_of_gaussians(a, b / sigma) for a in orders], 1e-9)


def _completed(*, power: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """The exponent of p^alpha q^(1 - alpha), p and q of means b and 0, and the square that it is up to a constant."""
    x, b, alpha, sigma = sympy.symbols("x b alpha sigma", positive=True)
    exponent = alpha * (x - b) ** 2 + (1 - alpha) * x**2
    square = (x - alpha * b) ** 2 - alpha**power * (alpha - 1) * b**2
    yield "the square completed", sympy.expand(exponent - square)
    yield "the divergence", alpha * (alpha - 1) * b**2 / (2 * sigma**2) / (alpha - 1) - alpha * b**2 / (2 * sigma**2)


LEM_2 = Claim(
    id="ols/lem-2",
    where="Lemma 2",
    kind="privacy",
    statement="$f(X) + sigma xi$ with sensitivity $b$ is $(alpha, alpha b^2\\/(2 sigma^2))$-RDP for every $alpha > 1$.",
    remark="With equality for two data sets whose $f$ is $b$ apart.",
    checks=(
        Symbolic(residuals=_completed, impostors={"alpha squared": {"residuals": {"power": 2}}}),
        Agreement(facts=_gaussian_orders, impostors={"1 % off": {"facts": Times(1.01)}}, role="control"),
    ),
    derivation=Derivation(
        text=(
            "Two neighbours' outputs are $cal(N)(f, sigma^2 I)$ and $cal(N)(f', sigma^2 I)$, with $norm(f - f') <= b$: "
            "they differ along one direction, in which the exponents of $p^alpha q^(1 - alpha)$ are those of a normal "
            "density times $e^(alpha (alpha - 1) norm(f - f')^2\\/(2 sigma^2))$."
        ),
        lemmas=("Rényi divergence of normal laws",),
    ),
)

# --- Lemma 3 ---


def _bracket(m, order, log_inverse_delta):
    """log(1 - 1/alpha) - log(alpha delta)/(alpha - 1), as Lemma 3 has it."""
    return m.log(1 - 1 / order) + (log_inverse_delta - m.log(order)) / (order - 1)


def _shipped_conversion(m, order, log_inverse_delta):
    return sketch.conversion(m, order, log_inverse_delta)


def _gaussian_profile(order: float, mu: float, delta: float, factor: float = 1.0) -> tuple[float, float]:
    """Exact epsilon of the Gaussian mechanism against the conversion of one order."""
    converted = order * mu**2 / 2 + float(sketch.conversion(FLOATS, order, -math.log(delta)))
    return float(gaussian_epsilon(mu, delta)), max(factor * converted, 0.0)


def _best_orders() -> Iterator[dict[str, float]]:
    for mu, delta in ((0.5, 1e-6), (2.0, 0.01), (0.1, 0.1)):
        orders = 1 + np.geomspace(0.01, 300, 400)
        converted = orders * mu**2 / 2 + sketch.conversion(FLOATS, orders, -math.log(delta))
        yield {"order": float(orders[np.argmin(converted)]), "mu": mu, "delta": delta}


def _sketch_profile(share: float, k: float, gamma: float, delta: float, factor: float = 1.0) -> tuple[float, float]:
    """Exact delta of the rows at the converted epsilon, against delta, in logarithms."""
    order = 1 + share * (gamma - 1)
    converted = float(sketch.renyi(order, int(k), gamma)) + float(sketch.conversion(FLOATS, order, -math.log(delta)))
    if converted < 0:
        return 0.0, 1.0
    return math.exp(sketch.exact_log_delta(factor * converted, int(k), 1 / gamma) - math.log(delta)), 1.0


def _best_of_all(rng: np.random.Generator) -> Iterator[Fact]:
    """The shipped minimum over orders against a scan that shares only Lemma 3's bracket, and delta by chi² tails."""
    for gamma, k, delta in ((30.0, 12, 1e-5), (200.0, 300, 1e-8), (6.0, 5, 0.01)):
        orders = 1 + np.geomspace(1e-3, 0.9999 * (gamma - 1), 200_001)
        scanned = float(np.min(sketch.renyi(orders, k, gamma) + _bracket(FLOATS, orders, -math.log(delta))))
        yield Fact(f"gamma = {gamma:g}, k = {k}", sketch.renyi_epsilon(gamma, k, delta), scanned, 1e-7)
        listed = rdp_epsilon(orders, sketch.renyi(orders, k, gamma), delta)
        yield Fact(f"gamma = {gamma:g}, k = {k}, from a list of orders", listed, scanned, 1e-12)
        yield Fact(
            f"delta there, gamma = {gamma:g}, k = {k}",
            sketch.exact_delta(scanned, k, 1 / gamma),
            rows_delta(scanned, k, 1 / gamma, record_first=True),
            1e-9,
        )


def _best_split(*, power: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """log((1 - y) y^(alpha - 1)) is stationary at y = 1 - 1/alpha; its value and the order's epsilon make up log
    delta.
    """
    h, y, l = sympy.symbols("h y l", positive=True)
    alpha = 1 + h
    gain: Any = sympy.log(1 - y) + (alpha - 1) * sympy.log(y)
    yield "stationary", sympy.diff(gain, y).subs(y, h**power / alpha)
    value = -sympy.log(alpha) + h * (sympy.log(h) - sympy.log(alpha))
    spent = sympy.expand_log(sketch.conversion(SYMBOLS, alpha, l), force=True)
    ratio = sympy.log(h) - sympy.log(alpha)
    yield "log delta", sympy.expand((value - h * spent.replace(sympy.log(1 - 1 / alpha), ratio)) + l)


def _brackets(*, share: int = 3) -> Iterator[tuple[str, sympy.Expr]]:
    """(17) at delta/3, (36) and (39) at delta/4 as printed, against log(1 - 1/alpha) - log(alpha delta')/(alpha -
    1).
    """
    h, delta = sympy.symbols("h delta", positive=True)
    alpha = 1 + h
    last = sympy.log(1 - 1 / alpha)
    for label, printed, parts in (("(17)", 3, share), ("(36), (39)", 4, 4)):
        bracket = (sympy.log(printed / delta) + h * last - sympy.log(alpha)) / h
        lemma = last - sympy.log(alpha * delta / parts) / h
        yield label, sympy.simplify(sympy.expand_log(sympy.expand(h * (bracket - lemma)), force=True))


LEM_3 = Claim(
    id="ols/lem-3",
    where="Lemma 3",
    kind="privacy",
    statement=(
        (
            "$(alpha, epsilon(alpha))$-RDP implies $(epsilon_(upright(D P)), delta)$-DP, $epsilon_(upright(D P)) = "
            r"epsilon(alpha) + log(1 - 1\/alpha) - log(alpha delta)\/(alpha - 1)$;"
        ),
        "the brackets of (17), (36), (39) are this.",
    ),
    checks=(
        Symbolic(
            decides="ab",
            residuals=lambda: (*_best_split(), *_brackets()),
            impostors={
                "another y": {"residuals": lambda: _best_split(power=2)},
                "delta/2 in (17)": {"residuals": lambda: _brackets(share=2)},
            },
        ),
        Identity(
            role="control",
            decides="a",
            left=_shipped_conversion,
            right=_bracket,
            box={"order": Real(1.01, 1e3, "log"), "log_inverse_delta": Real(0.1, 100.0, "log")},
            impostors={"1 % off": {"left": Times("1.01")}},
        ),
        Search(
            decides="a",
            sides=_gaussian_profile,
            box={"order": Real(1.01, 300.0, "log"), "mu": Real(0.01, 5.0, "log"), "delta": Real(1e-10, 0.3, "log")},
            extremal=_best_orders,
            evaluations=1000,
            role="control",
            impostors={"a fifth less": {"sides": {"factor": 0.8}}},
        ),
        Search(
            decides="b",
            sides=_sketch_profile,
            box={
                "share": Real(1e-4, 0.99, "log"),
                "k": Whole(1, 300, "log"),
                "gamma": Real(1.5, 1e4, "log"),
                "delta": Real(1e-10, 0.3, "log"),
            },
            evaluations=500,
            impostors={"a third less": {"sides": {"factor": 0.67}}},
            role="control",
        ),
        Agreement(decides="b", facts=_best_of_all, impostors={"1e-3 off": {"facts": Times(1.001)}}, role="control"),
    ),
    derivation=Derivation(
        text=(
            "(a) With $Z = log(d P\\/d Q)$ the least $delta$ at $epsilon$ is $bb(E)_P (1 - e^(epsilon - Z))_+$, and "
            "$bb(E)_P e^((alpha - 1) (Z - epsilon)) <= e^((alpha - 1) (epsilon(alpha) - epsilon))$. For $0 < y < 1$, "
            "$(1 - y) y^(alpha - 1)$ is largest at $y = 1 - 1\\/alpha$, so $(1 - e^(epsilon - Z))_+ <= 1/alpha (1 - "
            "1\\/alpha)^(alpha - 1) e^((alpha - 1) (Z - epsilon))$, whose mean is at most $delta$ at "
            "$epsilon_(upright(D P))$. (b) The three are it at $delta\\/3$, $delta\\/4$ and $delta\\/4$."
        ),
        lemmas=("monotony", "linearity"),
    ),
)
