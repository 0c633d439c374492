"""Section 2.1, footnote 2 and Definition A.1: privacy notions, their conversion and composition."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from itertools import product

import numpy as np
import sympy
from scipy.special import ndtr

from dpbounds.iv import epsilons
from dpbounds.privacy import Conversion, gaussian_delta, zcdp_epsilon
from verify.checks import Agreement, Fact, Holds, Search, Symbolic, Times
from verify.checks.domains import Real
from verify.papers.iv.tools.finite_laws import ORDERS, divergences, laws, log_sum, relative_entropy, zcdp
from verify.statements.claims import Claim
from verify.statements.derivations import Derivation

# --- Definition 2.1 ---


def _best_events(rng: np.random.Generator, *, singletons: bool = False) -> Iterator[Fact]:
    """sup_S {P(S) - e^eps P'(S)}: over all events of a law on six points, and over unions of cells of the line."""
    p, q = rng.dirichlet(np.ones(6), size=2)
    events = np.eye(6) if singletons else np.array(list(product((0, 1), repeat=6)))
    for epsilon in (0.0, 0.3, 1.0):
        gains = p - math.exp(epsilon) * q
        label = f"six points, epsilon = {epsilon}: largest P(S) - e^epsilon P'(S), against the sum of positive parts"
        yield Fact(label, (events @ gains).max(), np.maximum(gains, 0).sum(), 1e-12)
    edges = np.concatenate([[-np.inf], np.linspace(-12, 14, 200_001), [np.inf]])
    for mu, epsilon in ((1.0, 0.5), (0.3, 0.2), (2.0, 3.0)):
        gains = np.diff(ndtr(edges - mu)) - math.exp(epsilon) * np.diff(ndtr(edges))
        best = gains.max() if singletons else gains[gains > 0].sum()
        label = f"N(0, 1) against N({mu}, 1), epsilon = {epsilon}: best union of 200 000 cells"
        yield Fact(label, best, float(gaussian_delta(mu, epsilon)), 1e-6)


DEF_2_1 = Claim(
    id="iv/def-2.1",
    where="Definition 2.1",
    page=3,
    kind="privacy",
    statement=(
        (
            '$(epsilon, delta)$-DP: $op("Pr")[M(D) in S] <= e^epsilon op("Pr")[M(D\') in S] + delta$ for all '
            "neighbours and events $S$;"
        ),
        "so the least $delta$ is $sup_S {P(S) - e^epsilon P'(S)} = integral (p - e^epsilon p')_+$.",
    ),
    hypotheses="Neighbours differ in one record; both orders of a pair count.",
    checks=(
        Agreement(
            decides="ab", facts=_best_events, impostors={"single outcomes only": {"facts": {"singletons": True}}}
        ),
    ),
)

# --- Definition 2.2 ---


def _gaussian_divergence(parts: int = 2) -> Iterator[tuple[str, sympy.Expr]]:
    """Completing the square in p^alpha q^{1 - alpha} for N(0, lambda^2) against N(Delta, lambda^2); the square then
    integrates to 1.
    """
    x, shift = sympy.symbols("x Delta", real=True)
    alpha, scale = sympy.symbols("alpha lambda", positive=True)
    exponent = -(alpha * x**2 + (1 - alpha) * (x - shift) ** 2) / (2 * scale**2)
    stated = alpha * shift**2 / (parts * scale**2)
    square = -((x - (1 - alpha) * shift) ** 2) / (2 * scale**2)
    yield "exponent = square + (alpha - 1) D_alpha", exponent - square - (alpha - 1) * stated


def _entropy_below(logits, order):
    """KL <= D_alpha for alpha > 1, so that KL <= rho alpha for every alpha > 1, hence KL <= rho."""
    p, q = laws(logits, 2).swapaxes(0, 1)
    orders = 1 + order
    divergence = log_sum(np.log(q) + orders[:, None] * np.log(p / q)) / order
    entropy = relative_entropy(p, q)
    return np.where(entropy > 1e-6, entropy, 0.0), np.maximum(divergence, 0.0)  # rounding rules below


DEF_2_2 = Claim(
    id="iv/def-2.2",
    where="Definition 2.2",
    page=3,
    kind="privacy",
    statement=(
        "$rho$-zCDP: $D_alpha (M(D) || M(D')) <= rho alpha$ for all $alpha > 1$;",
        (
            r"for a Gaussian mechanism $D_alpha = alpha Delta^2 \/ (2 lambda^2)$, and a pair with relative entropy "
            "above $rho$ excludes it."
        ),
    ),
    checks=(
        Symbolic(
            decides="ab", residuals=_gaussian_divergence, impostors={"without the half": {"residuals": {"parts": 1}}}
        ),
        Search(
            decides="b",
            sides=_entropy_below,
            role="control",
            box={"logits": (Real(-6.0, 6.0), 6), "order": Real(1e-4, 1e3, "log")},
            vectorised=True,
            impostors={"2 % above the relative entropy": {"sides": Times(1.02, 1)}},
        ),
    ),
    derivation=Derivation(
        text=(
            "The first clause defines. For normal laws whose means are $Delta$ apart the exponent of $p^alpha q^(1 - "
            "alpha)$ along the shift is proved to be a square, which integrates to 1, and $(alpha - 1) alpha Delta^2 "
            "\\/ (2 lambda^2)$. And $(alpha - 1) D_alpha = log EE_p (p\\/q)^(alpha - 1) >= (alpha - 1) EE_p "
            "log(p\\/q)$, so that a relative entropy above $rho$ is above $rho alpha$, hence $D_alpha > rho alpha$, "
            "for some $alpha > 1$."
        ),
        lemmas=("Jensen",),
    ),
)

# --- Definition A.1 ---


def _derivative_at_one(flip: bool = False) -> Iterator[tuple[str, sympy.Expr]]:
    """log sum p^alpha q^{1 - alpha} is 0 at alpha = 1, so D_alpha tends to its derivative there."""
    alpha = sympy.symbols("alpha", positive=True)
    s, t, u = sympy.symbols("s t u", positive=True)
    p, q = ((1 / (1 + s), s / (1 + s)), (1 / (1 + t * u), t * u / (1 + t * u)))
    total = sympy.Add(*(a**alpha * b ** (1 - alpha) for a, b in zip(p, q, strict=True)))
    left, right = (q, p) if flip else (p, q)
    entropy = sympy.Add(*(a * sympy.log(a / b) for a, b in zip(left, right, strict=True)))
    limit = sympy.diff(sympy.log(total), alpha).subs(alpha, 1)
    yield "Bernoulli pairs: limit is KL", sympy.expand_log(limit - entropy, force=True)


def _ends(rng: np.random.Generator) -> Iterator[Fact]:
    """Both ends on a Bernoulli pair, and a Gaussian pair by summation over a fine grid."""
    p, q = np.array([0.7, 0.3]), np.array([0.2, 0.8])
    near_one, near_infinity = divergences(p, q, np.array([1 + 1e-6, 1e8]))
    yield Fact("Bernoulli(0.7) against (0.2): alpha near 1", near_one, relative_entropy(p, q), 1e-5)
    yield Fact("Bernoulli(0.7) against (0.2): large alpha", near_infinity, math.log(0.7 / 0.2), 1e-6)
    x, mu = np.linspace(-60, 60, 40_001), 0.8
    step = x[1] - x[0]
    log_p, log_q = (-((x - centre) ** 2) / 2 - math.log(2 * math.pi) / 2 for centre in (0.0, mu))
    entropy = step * np.sum(np.exp(log_p) * (log_p - log_q))
    for alpha, least in ((1.001, entropy), (1.000001, entropy), (40.0, None)):
        divergence = float(log_sum(alpha * log_p + (1 - alpha) * log_q)) + math.log(step)
        predicted = alpha * mu**2 / 2 if least is None else least
        label = f"N(0, 1) against N(0.8, 1), alpha = {alpha}, against {'KL' if least is not None else 'alpha mu^2 / 2'}"
        yield Fact(label, divergence / (alpha - 1), predicted, 2 * (alpha - 1) if least is not None else 1e-9)


# k up to here: what is left of the sums is below rounding.
LARGEST = 80


def _light_tails(rng: np.random.Generator, squares: int = 1) -> Iterator[Fact | Holds]:
    """P_k = 2^-k against Q_k proportional to 2^-k e^{-k^2}, k >= 1: the relative entropy is E k^2 + log E e^{-k^2}, E
    k^2 = 6 under P; the terms of the sum behind D_alpha grow from some k on, for alpha - 1 as small as one likes.
    """
    k = np.arange(1.0, LARGEST)
    log_p = -k * math.log(2)
    log_q = log_p - squares * k**2 - float(log_sum(log_p - squares * k**2))
    entropy = float(np.sum(np.exp(log_p) * (log_p - log_q)))
    stated = 6 + math.log(math.fsum(2.0**-j * math.exp(-(j**2)) for j in range(1, LARGEST)))
    yield Fact("P_k = 2^-k against 2^-k e^(-k^2): relative entropy", entropy, stated, 1e-9, {"entropy": entropy})
    for order in (1.1, 2.0):
        late = (order * log_p + (1 - order) * log_q)[k >= 1 / (order - 1)]
        label = f"the terms of D_alpha at alpha = {order} grow from k = {1 / (order - 1):.0f} on"
        yield Holds(label, bool((np.diff(late) > 0).all()))


def _between_ends(logits, order):
    """D_alpha <= log max p/q <= D_alpha + log(1 / p_m) / (alpha - 1), p_m the probability where the maximum is."""
    p, q = laws(logits, 2).swapaxes(0, 1)
    ratio = np.log(p / q)
    weight = np.take_along_axis(p, ratio.argmax(axis=1)[:, None], axis=1)[:, 0]
    divergence = log_sum(np.log(q) + (1 + order[:, None]) * ratio) / order
    return np.abs(ratio.max(axis=1) - divergence), -np.log(weight) / order + 1e-9


DEF_A_1 = Claim(
    id="iv/def-a.1",
    where="Definition A.1",
    page=14,
    kind="identity",
    statement=(
        "For $P << Q$ and $alpha > 1$: $D_alpha (P || Q)$ tends to the relative entropy as $alpha -> 1$ and to the "
        "logarithm of the essential supremum of $dif P \\/ dif Q$ as $alpha -> oo$."
    ),
    remark=(
        "The limit at 1 is taken where $D_alpha < oo$ for some $alpha > 1$, as zCDP grants. Without that it fails: "
        "$P_k = 2^(-k)$ against $Q_k$ proportional to $2^(-k) e^(-k^2)$ has relative entropy ${entropy:2}$ and "
        "$D_alpha = oo$ for every $alpha > 1$."
    ),
    checks=(
        Symbolic(residuals=_derivative_at_one, impostors={"arguments exchanged": {"residuals": {"flip": True}}}),
        Agreement(facts=_ends, impostors={"1 % off": {"facts": Times(1.01)}}),
        Agreement(facts=_light_tails, impostors={"e^(-2 k^2)": {"facts": {"squares": 2}}}),
        Search(
            sides=_between_ends,
            box={"logits": (Real(-6.0, 6.0), 6), "order": Real(1.0, 1e6, "log")},
            vectorised=True,
            impostors={"10 % closer": {"sides": Times(1.1, 1)}},
        ),
    ),
)

# --- conversion ---


def _conversion_proof(factor: int = 2) -> Iterator[tuple[str, sympy.Expr]]:
    """delta(eps) = E (1 - e^{eps - L})_+ <= E e^{(alpha - 1)(L - eps)} <= e^{(alpha - 1)(rho alpha - eps)}, L the
    privacy loss under P, as (1 - e^{-u})_+ <= e^{(alpha - 1) u}; the exponent is least at alpha = (eps / rho + 1) / 2,
    which is 1 + sqrt(l / rho) with l = log(1 / delta), and then equals -l. Here rho = r^2, l = m^2.
    """
    r, m, a = sympy.symbols("r m a", positive=True)
    epsilon = r**2 + factor * r * m
    exponent = (a - 1) * (r**2 * a - epsilon)
    best = 1 + m / r
    yield "best order", sympy.diff(exponent, a).subs(a, best)
    yield "exponent there is log delta", exponent.subs(a, best) + m**2


def _printed_formula(rng: np.random.Generator) -> Iterator[Fact]:
    """What is shipped against the formula as it stands, in fractions of 50 digits."""
    for rho, delta in (("0.1", "1e-5"), ("3", "0.01"), ("1000", "1e-12")):
        exact = sympy.Rational(rho) + 2 * sympy.sqrt(sympy.Rational(rho) * sympy.log(1 / sympy.Rational(delta)))
        found = float(epsilons(float(rho), float(delta)).printed)
        yield Fact(f"rho + 2 sqrt(rho log(1/delta)) at {rho}, {delta}", found, float(exact.evalf(50)), 1e-14)


def _normal_conversion(rho, delta):
    """Exact epsilon of a Gaussian mechanism and the printed one."""
    found = epsilons(rho, delta)
    return float(found.gaussian), float(found.printed)


def _best_conversion(rho, delta):
    """Exact epsilon of a Gaussian mechanism and the best over all orders."""
    found = epsilons(rho, delta)
    return float(found.gaussian), float(found.best)


def _three_points(logits, delta, method: Conversion = "bun-steinke", share: float = 1.0):
    """Least delta at the epsilon that the conversion gives, both ways, against delta; three outcomes."""
    p, q = laws(logits, 2).swapaxes(0, 1)
    pairs = zip(np.maximum(zcdp(p, q), 1e-12), delta, strict=True)
    epsilon = share * np.array([zcdp_epsilon(float(rho), float(level), method) for rho, level in pairs])
    scale = np.exp(np.minimum(epsilon, 700.0))[:, None]
    return np.maximum(np.maximum(p - scale * q, 0).sum(axis=1), np.maximum(q - scale * p, 0).sum(axis=1)), delta


_BUDGETS = {"rho": Real(1e-3, 1e3, "log"), "delta": Real(1e-12, 0.1, "log")}
_OUTCOMES = {"logits": (Real(-6.0, 6.0), 6), "delta": Real(1e-6, 0.1, "log")}

CONV_BS = Claim(
    id="iv/conv-bs",
    where="Section 2.1 (Bun-Steinke, Prop. 1.3)",
    page=3,
    kind="inequality",
    statement="$rho$-zCDP implies $(rho + 2 sqrt(rho log(1\\/delta)), delta)$-DP.",
    setting=(
        "Proved for every mechanism by optimising $e^((alpha - 1)(rho alpha - epsilon))$ over $alpha$; compared with "
        "the exact $epsilon(delta)$ of Gaussian mechanisms, $10^(-3) <= rho <= 10^3$, $10^(-12) <= delta <= 0.1$, and "
        "with mechanisms of three outcomes; so is the best conversion of one Rényi order."
    ),
    checks=(
        Symbolic(residuals=_conversion_proof, impostors={"1 in place of 2": {"residuals": {"factor": 1}}}),
        Agreement(facts=_printed_formula, role="control", impostors={"1e-12 off": {"facts": Times(1 + 1e-12)}}),
        Search(
            role="control",
            sides=_normal_conversion,
            box=_BUDGETS,
            evaluations=1500,
            impostors={"0.9 of epsilon": {"sides": Times(1, 0.9)}},
        ),
        Search(
            role="control",
            sides=_best_conversion,
            box=_BUDGETS,
            evaluations=1500,
            impostors={"0.95 of epsilon": {"sides": Times(1, 0.95)}},
        ),
        Search(
            role="control",
            sides=_three_points,
            box=_OUTCOMES,
            vectorised=True,
            evaluations=3000,
            impostors={"0.7 of epsilon": {"sides": {"share": 0.7}}},
        ),
        Search(
            role="control",
            sides=partial(_three_points, method="renyi"),
            box=_OUTCOMES,
            vectorised=True,
            evaluations=3000,
            impostors={"0.7 of epsilon": {"sides": {"share": 0.7}}},
        ),
    ),
    derivation=Derivation(
        text=(
            "With $L$ the logarithm of the density ratio, $delta (epsilon) = EE (1 - e^(epsilon - L))_+ <= EE "
            "e^((alpha - 1) (L - epsilon)) = e^((alpha - 1) (D_alpha - epsilon)) <= e^((alpha - 1) (rho alpha - "
            "epsilon))$ for every $alpha > 1$, since $(1 - e^(-u))_+ <= 1 <= e^((alpha - 1) u)$ for $u >= 0$ and the "
            "left side is 0 for $u < 0$. At $epsilon$ as stated and $alpha = 1 + sqrt(log(1\\/delta) \\/ rho)$ the "
            "exponent is proved to be $log delta$; and $P(S) - e^epsilon P'(S) <= delta (epsilon)$ for every event."
        ),
        lemmas=("Markov",),
    ),
)

# --- composition ---


def _adaptive(logits):
    """The second mechanism depends on the outcome of the first: joint cost against rho_1 + max rho_2 over its forms."""
    drawn = laws(logits, 8)
    first, second = (drawn[:, 0], drawn[:, 1]), (drawn[:, 2:5], drawn[:, 5:8])
    joint = [(a[:, :, None] * b).reshape(len(drawn), 9) for a, b in zip(first, second, strict=True)]
    some = ORDERS[::2]
    costs = [(divergences(p, q, some) / some).max(axis=-1) for p, q in (joint, joint[::-1])]
    return np.maximum(*costs), zcdp(*first) + zcdp(*second).max(axis=1)


def _gaussian_chain(rng: np.random.Generator) -> Iterator[Fact]:
    """x ~ N(0, 1) or N(mu, 1), then y ~ N(0, 1) or N(nu sign(sin 3x), 1): the whole plane by summation, against the
    sum of the costs mu^2 / 2 and nu^2 / 2.
    """
    mu, nu = 0.9, 1.3
    x, y = np.linspace(-30, 30, 241)[:, None], np.linspace(-30, 30, 241)[None, :]
    shift = nu * np.sign(np.sin(3 * x) + 1e-12)
    log_p, log_q = -(x**2 + y**2) / 2, -((x - mu) ** 2 + (y - shift) ** 2) / 2
    area = (x[1, 0] - x[0, 0]) ** 2
    for alpha in (1.5, 2.0, 5.0):
        total = float(log_sum((alpha * log_p + (1 - alpha) * log_q).ravel())) + math.log(area / (2 * math.pi))
        label = f"D_alpha / alpha of both releases at alpha = {alpha}"
        yield Fact(label, total / (alpha - 1) / alpha, (mu**2 + nu**2) / 2, 1e-9)


def _two_releases(order: int = 2) -> Iterator[tuple[str, sympy.Expr, sympy.Expr]]:
    """sum p^a q^(1-a) of the pair is that of the first, each term times that of the second given it: a = 2, 2 x 2."""
    total = split = sympy.Integer(0)
    for i in range(2):
        p, q = sympy.symbols(f"p{i} q{i}", positive=True)
        given = [sympy.symbols(f"p{i}{j} q{i}{j}", positive=True) for j in range(2)]
        total += sum((p * a) ** 2 / (q * b) for a, b in given)
        split += p**order / q ** (order - 1) * sum(a**2 / b for a, b in given)
    yield "$sum p^2\\/q$", total, split


CONV_COMPOSE = Claim(
    id="iv/conv-compose",
    where="Sections 2.1, 2.2",
    page=3,
    kind="privacy",
    statement="zCDP parameters add under composition: stages with $rho_1$ and $rho_2$ give $(rho_1 + rho_2)$-zCDP.",
    hypotheses="The second stage may be chosen by the output of the first, and its budget is spent given that output.",
    setting="Pairs of mechanisms with three outcomes each; equality for Gaussian mechanisms.",
    checks=(
        Symbolic(residuals=_two_releases, impostors={"order 3": {"residuals": {"order": 3}}}),
        Search(
            role="control",
            sides=_adaptive,
            box={"logits": (Real(-5.0, 5.0), 24)},
            vectorised=True,
            extremal=lambda: [{"logits": [0.2, 0.0, -0.2, 0.0, 0.2, 0.0] * 4}],
            impostors={"2 % less": {"sides": Times(1, 0.98)}},
        ),
        Agreement(facts=_gaussian_chain, role="control", impostors={"5 % less": {"facts": Times(0.95)}}),
    ),
    derivation=Derivation(
        text=(
            "$e^((alpha - 1) D_alpha) = EE_Q (dif P\\/dif Q)^alpha$ of both releases is the mean over the first of its "
            "own $(dif P_1\\/dif Q_1)^alpha$ times that of the second given it (the check has order 2, two outcomes "
            "each), which is at most $e^((alpha - 1) rho_2 alpha)$ whatever came first: at most $e^((alpha - 1) (rho_1 "
            "+ rho_2) alpha)$ for every $alpha > 1$."
        ),
        lemmas=("total expectation",),
    ),
)
