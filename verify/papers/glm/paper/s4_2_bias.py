"""Section 4.2 and Theorem 24: least squares is nearly proportional to w* for bounded designs, and how nearly."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import sympy

from dpbounds import DomainError
from dpbounds.glm import LINKS, Link, TwoPointDesign, bias, least_squares, sign_design
from dpbounds.glm.bounds import bias_bound
from verify.checks import Agreement, Fact, Search, Symbolic, Unbounded, Within
from verify.checks.domains import Real
from verify.papers.glm.paper.sd_zero_bias import COUPLED, MOMENT
from verify.papers.glm.paper.sd_zero_bias_norms import NORM, ROOT_NORM
from verify.papers.glm.tools.bounded_designs import SKEWED, SYMMETRIC, design_of
from verify.statements.claims import Claim, Correction, Fault
from verify.statements.derivations import Derivation


def norm_of(shape: tuple[float, float, float], p: int) -> float:
    """The sub-Gaussian norm of v = Sigma^{-1/2} x along a coordinate: a lower bound of kappa."""
    high, low, share = shape
    deviation = math.sqrt(share * high**2 + (1 - share) * low**2)
    orders = np.linspace(1.0, 60.0, 600)
    moments = share * (high / deviation) ** orders + (1 - share) * (abs(low) / deviation) ** orders
    return float(np.max(moments ** (1 / orders) / np.sqrt(orders)))


def _bias_sides(
    w: np.ndarray, radius: float, skewed: float, *, link: str, constant: float = 16.0
) -> tuple[float, float]:
    """(||w* / c - w_ols||_inf exactly, 16 G r kappa^3 varrho omega^2 / sqrt p), G the supremum of |mu''| on the
    range of z, kappa at its least: the bound at its smallest.
    """
    shape = SKEWED if skewed > 0.5 else SYMMETRIC
    p = len(w)
    design, omega = design_of(shape, p, radius), float(np.abs(w).max())
    reach = np.linspace(-radius * omega, radius * omega, 201)
    lipschitz = float(np.abs(LINKS[link].curvature(reach)).max())
    kappa = norm_of(shape, p)
    # Less what rounding may leave of a bias of 0.
    exact = max(float(np.abs(bias_free(LINKS[link], w, design)).max()) - 1e-12, 0.0)
    return exact, float(bias_bound(omega, 1.0, p=p, lipschitz=lipschitz, radius=radius, kappa=kappa, constant=constant))


def bias_free(link: Link, w: np.ndarray, design: TwoPointDesign) -> np.ndarray:
    """w* / c - w_ols by enumeration of all 2^p records, without groups."""
    x = np.array(list(itertools.product([design.high, design.low], repeat=design.p)))
    chance = np.where(x == design.high, design.probability, 1 - design.probability).prod(axis=1)
    z = x @ w
    direction = np.linalg.solve((x.T * chance) @ x, x.T @ (chance * link.mean(z)))
    return w * float(chance @ link.slope(z)) - direction


def _shipped(rng: np.random.Generator, *, factor: float = 1.0) -> Iterator[Fact]:
    """`bias` and its parts against plain enumeration; p = 256 by closed forms."""
    w = np.array([0.9, 0.9, -0.4, 0.2, 0.2, 0.2])
    for name, shape in itertools.product(("logistic", "poisson", "sigmoid", "softplus"), (SYMMETRIC, SKEWED)):
        design, link = design_of(shape, 6, 2.0), LINKS[name]
        shown = bias(link, w, design)
        yield Fact(f"{name}: stein", factor * (shown.stein + w), bias_free(link, w, design) + w, 1e-13)
        root = shown.root
        value = root * design.mean_of(lambda z, c=root, mu=link: mu.slope(c * z), shown.w_ols)
        yield Fact(f"{name}: root", factor * value, 1.0, 1e-11)
        yield Fact(f"{name}: limit", factor * shown.limit, root * least_squares(link, w, design) - w, 1e-12)
    flat = np.full(256, 1 / 16)
    poisson, cubic = (bias(name, flat, sign_design(256)) for name in ("poisson", "cubic"))
    tanh = 256 * math.tanh(1 / 16 / 256)
    yield Fact("Poisson: c w_ols = p tanh(w / p)", factor * poisson.constant * poisson.w_ols[0], tanh, 1e-12)
    ratio = (1 - 2 / (3 * 256)) ** (1 / 3)
    yield Fact("cubic: limit w (1 - 2 / (3 p))^(1/3)", factor * (cubic.limit[0] + 1 / 16), ratio / 16, 1e-11)
    softplus = bias("softplus", np.array([0.5, -2.0]), sign_design(2))
    yield Fact("softplus: w_ols = -w / 2, no bias", factor * softplus.w_ols, np.array([-0.25, 1.0]), 1e-14)


def _searched(link: str) -> Search:
    return Search(
        sides=lambda w, radius, skewed, **changed: _bias_sides(w, radius, skewed, link=link, **changed),
        box={"w": (Real(-3.0, 3.0), 4), "radius": Real(0.1, 4.0), "skewed": Real(0.0, 1.0)},
        extremal=lambda: ({"w": np.array([3.0, 0.0, 0.0, 0.0]), "radius": 4.0, "skewed": 1.0},),
        evaluations=600,
        impostors={"0.002 in place of 16": {"sides": {"constant": 0.002}}},
    )


STEPS = Derivation(
    text=(
        "Given $R = sum_(k != j) hat(w)_k^* v_k$ the coordinate $v_j$ has mean 0 and variance 1, by Assumption 1 "
        "(iii), so $bb(E)[v_j f(v_j hat(w)_j^* + R)] = hat(w)_j^* cal(D)_(j j)$ and $w^(upright(o l s)) = "
        "Sigma^(-1\\/2) bb(E)[v f] = Sigma^(-1\\/2) cal(D) Sigma^(1\\/2) w^*$ (D.2; $f = Phi'$ in Lemma 12). "
        + MOMENT
        + NORM
        + "So $norm(w^*\\/c - w^(upright(o l s)))_infinity <= norm(B^(-1))_infinity dot 8 G kappa^3 norm(B "
        "w^*)_infinity dot norm(B w^*)_infinity <= 8 G kappa^3 norm(B^(-1))_infinity norm(B)_infinity^2 "
        "norm(w^*)_infinity^2$. Here $norm(B)_infinity <= 2 r sqrt(rho_2\\/p)$, and $norm(B^(-1))_infinity "
        "norm(B)_infinity <= 4 rho_infinity$: $norm(B^(-1))_infinity <= norm(B)_infinity norm(Sigma^(-1))_infinity$ "
        "and $norm(B)_infinity^2 <= 4 max_i B_(i i)^2 <= 4 norm(Sigma)_infinity$. The constant of $O$ is $2^6$."
    ),
    lemmas=("total expectation", "Jensen", "triangle inequality", "Rayleigh", "submultiplicativity"),
)

_SHIPPED = Agreement(facts=_shipped, impostors={"1 % off": {"facts": {"factor": 1.01}}})

LEM_12 = Claim(
    id="glm/lem-12",
    where="Lemma 12",
    kind="inequality",
    statement=(
        '$norm(w^*\\/c_Phi - w^"ols")_infinity <= O(G r kappa^3 sqrt(rho_2) rho_infinity '
        "norm(w^*)_infinity^2\\/sqrt(p))$."
    ),
    hypotheses="Assumption 1; $Phi''$ is $G$-Lipschitz; $bb(E) Phi''(z) != 0$",
    equation="(5)",
    setting=(
        "Independent two-point coordinates, symmetric and skewed, $p = 4$, the smallest $G$ and $kappa$ that they "
        "allow."
    ),
    remark=(
        "Not sharp in $p$: for equal weights it is $O(p^(-2))$ for symmetric coordinates and $O(p^(-1))$ for skewed "
        "ones. The proofs have the constant $2^4$, which is what the searches try; derived is $2^6$."
    ),
    checks=(
        _searched("logistic").as_control(),
        _searched("boosting").as_control(),
        _SHIPPED.as_control(),
        COUPLED,
        ROOT_NORM,
    ),
    derivation=STEPS,
)

THM_24 = Claim(
    id="glm/thm-24",
    where="Theorem 24",
    kind="inequality",
    statement=(
        '$norm(w^*\\/c_f - w^"ols")_infinity <= O(G r kappa^3 sqrt(rho_2) rho_infinity '
        "norm(w^*)_infinity^2\\/sqrt(p))$."
    ),
    hypotheses="Assumption 1; $f'$ is $G$-Lipschitz (on the range of $z$)",
    equation="Theorem 24",
    setting="As for Lemma 12, with sigmoid, cubic and softplus.",
    remark='For softplus $w^"ols" = -w^*\\/2$ exactly in symmetric designs.',
    checks=(
        *(_searched(link).as_control() for link in ("sigmoid", "cubic", "softplus")),
        _SHIPPED.as_control(),
        COUPLED,
        ROOT_NORM,
    ),
    derivation=STEPS,
)

# --- the root in place of c_Phi ---


def _replaced(rng: np.random.Generator, *, factor: float = 1.0) -> Iterator[Fact | Within]:
    """c_Phi and the root of f = 1 at p = 8, all kinds of w*: they differ by less than the bias allows. Not for the
    cubic at w* = e_1: mu = z^3 and z = +-1 / p give w_ols = 1 / p^2 and the root p^2 3^{-1/3}.
    """
    p = 8
    kinds = {
        "dense": np.full(p, 1 / math.sqrt(p)),
        "uneven": np.geomspace(1.0, 0.1, p),
        "sparse": np.r_[1.0, np.zeros(p - 1)],
    }
    for kind, w in kinds.items():
        for name in ("logistic", "boosting", "poisson", "sigmoid"):
            shown = bias(name, w, sign_design(p))
            c, root = shown.constant, factor * shown.root
            yield Within(f"{name}, {kind}: root over c_Phi", root / c, 0.99, 1.01)
            yield Within(
                f"{name}, {kind}: largest entry of the limit", float(np.abs(root * shown.w_ols - w).max()), 0.0, 0.01
            )
    for p in (4, 8):
        shown = bias("cubic", np.r_[1.0, np.zeros(p - 1)], sign_design(p))
        limit = factor * shown.root * float(shown.w_ols[0])
        expected = 3 ** (-1 / 3)
        yield Fact(f"cubic at e_1, p = {p}: entry of the limit", limit, expected, 1e-9, {"off": 100 * (1 - expected)})


SEC42_CBAR = Claim(
    id="glm/sec4.2-cbar",
    where="after Lemma 12",
    kind="number",
    statement='$w^*$ and $w^"ols"$ being close, $overline(c)_Phi$, the root of $f = 1$, can replace $c_Phi$.',
    equation="after (5)",
    setting="Bernoulli $plus.minus 1\\/p$, $p = 8$, dense, uneven and sparse $w^*$ with entries up to 1.",
    remark=(
        "Within 1 % for the links that meet the assumptions. Not for the cubic at $w^* = e_1$: its first entry "
        "becomes $3^(-1\\/3)$, ${off:2}$ % too small, for every $p$."
    ),
    checks=(Agreement(facts=_replaced, impostors={"2 % off": {"facts": {"factor": 1.02}}}), _SHIPPED),
)

# --- how fast the bias falls ---


# Probabilities of the higher value: symmetric, skewed, and of kurtosis 3, where the leading terms vanish.
SHARES = (0.5, 0.4, (3 - math.sqrt(3)) / 6, 0.2, 0.05)


def _limits(rng: np.random.Generator, *, shift: float = 0.0, links: tuple[str, ...] = ()) -> Iterator[Fact]:
    """p^power times the exact bias at w* = 1, taken to p = infinity from 512 and 1024; x_j = v_j / p, abs(v_j) <= 1."""
    for link, power, shares in (
        ("logistic", 2, SHARES),
        ("poisson", 1, SHARES),
        ("poisson", 2, SHARES[:1]),
        ("cubic", 1, SHARES),
    ):
        if link in links:
            found, stated = [], []
            for share in shares:
                shape = (math.sqrt((1 - share) / share), -math.sqrt(share / (1 - share)), share)
                ends = [p**power * float(bias(link, np.ones(p), design_of(shape, p)).limit[0]) for p in (512, 1024)]
                found.append(2 * ends[1] - ends[0])
                stated.append(_leading(link, power, design_of(shape, 1)) + shift)
            yield Fact(f"{link}: p^{power} times the bias, each share", found, stated, 1e-3)


def _leading(link: str, power: int, one: TwoPointDesign) -> float:
    """From sigma^2, E v^3 and the kurtosis of v."""
    high, low, share = one.high, one.low, one.probability
    third, fourth = (share * high**k + (1 - share) * low**k for k in (3, 4))
    bent = fourth / one.variance**2 / 3 - 1
    if link == "poisson":
        return third / (2 * one.variance) if power == 1 else bent * one.variance / 2
    return -bent * one.variance / 4 if link == "logistic" else bent / 3


def _of_links(*links: str) -> Agreement:
    return Agreement(facts=partial(_limits, links=links), impostors={"0.01 off": {"facts": {"shift": 0.01}}})


def _omega(rng: np.random.Generator) -> Iterator[Within]:
    """Omega(1 / sqrt p): p^(1/2) times the bias stays above some constant."""
    small, large = (
        math.sqrt(p) * float(np.abs(bias("logistic", np.full(p, 1.0), sign_design(p)).limit).max()) for p in (16, 1024)
    )
    numbers = {"small": small, "large": large, "few": 16, "many": 1024}
    label = "sqrt(p) times the bias, at p = 1024 over that at 16"
    yield Within(label, large / small, 0.1, numbers=numbers)


def _below_omega(m: Any, s: Any) -> Any:
    """1 / sqrt p over a bound of the bias in Poisson regression, x_j = +-1 / p, p = s, w* = 1: w_ols = a in every
    coordinate, a = p sinh(1 / p) cosh(1 / p)^{p - 1}, the limit t solves t cosh(t / p)^p = a, so that t lies between
    p tanh(1 / p) and 1.
    """
    tangent = -m.expm1(-2 / s) / (1 + m.exp(-2 / s))
    return 1 / (m.sqrt(s) * (1 - s * tangent))


def _reduced_omega(m: Any, x: Any) -> Any:
    """A lower bound: tanh x >= x - x^3 / 3."""
    return m.number(3)


CONCL_BIAS = Claim(
    id="glm/concl-bias",
    where="Conclusion",
    kind="inequality",
    statement="Sub-Gaussian case: the estimator is biased, with error $Omega(1\\/sqrt(p))$.",
    equation="Conclusion",
    fault=Fault(
        severity="hypothesis",
        touches="text",
        finding=(
            "Theorem 14 gives an upper bound $O(1\\/sqrt(p))$ on the bias, not a lower one: for logistic regression, "
            "$x_j = plus.minus 1\\/p$ and $w^* = bold(1)$, $sqrt(p)$ times the bias is ${small:2}$ at $p = {few}$ and "
            "${large:2}$ at $p = {many}$."
        ),
        consequence="The algorithms are better than they are said to be: the error floor is far below the noise.",
    ),
    correction=Correction(
        statement=(
            (
                r"For $w^* = bold(1)$ and independent $x_j = v_j\/p$ of one two-point law, variance $sigma^2$ and "
                r"kurtosis $k$ of $v$, $p^2$ times the bias tends to $(1 - k\/3) sigma^2\/4$ for logistic regression;"
            ),
            (
                r"for Poisson regression $p$ times the bias tends to $bb(E) v^3\/(2 sigma^2)$, and for signs $p^2$ "
                r"times it to $-1\/3$;"
            ),
            r"for the cubic $p$ times the bias tends to $(k\/3 - 1)\/3$.",
        ),
        ground=(
            '$w^"ols"_j = w_j bb(E) mu\'(V_j + w_j u\\/p)$, $u$ uniform on the range of $v$, with $bb(E) u = bb(E) '
            "v^3\\/(2 sigma^2)$, $bb(E) u^2 = k sigma^2\\/3$, to the first order that does not vanish."
        ),
        checks=(
            _of_links("logistic").deciding("a"),
            _of_links("poisson").deciding("b"),
            _of_links("cubic").deciding("c"),
            _SHIPPED.deciding("abc"),
        ),
    ),
    checks=(
        Agreement(facts=_omega),
        Unbounded(quotient=_below_omega, reduced=_reduced_omega, power=Fraction(3, 2)),
    ),
)

# --- (28): the distance of the two scales ---


def _scales(w: np.ndarray, radius: float, skewed: float, *, factor: float = 1.0, power: int = 2) -> tuple[float, float]:
    """M |root - c_Phi| against c_Phi^2 G r ||w_ols c_Phi - w*||_inf / c_Phi: the first line of (28) with its factors,
    M the least slope of c -> c E mu'(c <x, w_ols>) between the two.
    """
    link = LINKS["logistic"]
    design = design_of(SKEWED if skewed > 0.5 else SYMMETRIC, len(w), radius)
    try:
        shown = bias(link, w, design)
    except DomainError:  # no root: Assumption 3 does not hold
        return 0.0, 0.0
    c, root = shown.constant, shown.root
    grid = np.linspace(min(c, root), max(c, root), 3)
    slopes = [
        design.mean_of(lambda z, s=s: link.slope(s * z) + s * z * link.curvature(s * z), shown.w_ols) for s in grid
    ]
    distance = float(np.abs(c * shown.w_ols - w).max())
    return min(slopes) * abs(root - c), factor * c ** (power - 1) * link.suprema[1] * radius * distance


def _power_of_scale(rng: np.random.Generator) -> Iterator[Fact]:
    """c G r ||c w_ols - w*|| with ||w_ols - w* / c|| <= 16 G r kappa^3 ... inserted: the power of c."""
    c, G, r, bound = sympy.symbols("c G r bound", positive=True)
    inserted = c * G * r * (c * 16 * G * r * bound)
    example = bias("logistic", np.ones(4), sign_design(4)).constant
    yield Fact("power of c_Phi", 1, sympy.Poly(inserted, c).degree(), 0, {"c": example})


def _inserted(*, power: int = 2) -> Iterator[tuple[str, sympy.Expr]]:
    """c G r ||c w_ols - w*|| with ||w_ols - w*/c|| <= L G r b, L the constant of Lemma 12."""
    c, G, r, L, b = sympy.symbols("c G r L b", positive=True)
    yield "(28)", c * G * r * (c * (L * G * r * b)) - L * c**power * G**2 * r**2 * b


EQ_28 = Claim(
    id="glm/eq-28",
    where="(28)",
    kind="inequality",
    statement=(
        "$abs(overline(c)_Phi - c_Phi) <= 16 M^(-1) c_Phi G^2 r^2 kappa^3 sqrt(rho_2) rho_infinity "
        "norm(w^*)_infinity^2\\/sqrt(p)$."
    ),
    hypotheses="Assumptions 1 and 3",
    equation="(28)",
    setting="Logistic link, two-point designs, $p = 4$.",
    fault=Fault(
        severity="slip",
        touches="proof",
        finding=(
            'From $M abs(overline(c)_Phi - c_Phi) <= c_Phi G r norm(c_Phi w^"ols" - w^*)_infinity$ and Lemma 12, '
            "which "
            'bounds $norm(w^"ols" - w^*\\/c_Phi)_infinity$, follows $c_Phi^2$, not $c_Phi$: for $c_Phi = {c}$ a '
            "factor "
            "${c}$ is lost."
        ),
        consequence="Theorems 14 and 17 assume $1\\/c_Phi = O(1)$, not $c_Phi = O(1)$: their constants need both.",
    ),
    correction=Correction(
        statement=(
            "$abs(overline(c)_Phi - c_Phi) <= 2^6 M^(-1) c_Phi^2 G^2 r^2 kappa^3 sqrt(rho_2) rho_infinity "
            "norm(w^*)_infinity^2\\/sqrt(p)$."
        ),
        ground='$c_Phi w^"ols" - w^* = c_Phi (w^"ols" - w^*\\/c_Phi)$; $2^6$ is the constant derived for Lemma 12.',
        checks=(
            Search(
                sides=_scales,
                box={"w": (Real(-3.0, 3.0), 4), "radius": Real(0.5, 4.0), "skewed": Real(0.0, 1.0)},
                evaluations=30,
                impostors={"a hundredth": {"sides": {"factor": 0.01}}, "c^1": {"sides": {"power": 1}}},
                role="control",
            ),
            Symbolic(residuals=_inserted, impostors={"as printed": {"residuals": {"power": 1}}}),
            COUPLED,
            ROOT_NORM,
        ),
        derivation=Derivation(
            text=(
                "With $f(c) = c bb(E) Phi''(c chevron.l x, w^\"ols\" chevron.r)$, $f(overline(c)_Phi) = 1 = c_Phi "
                "bb(E) Phi''(chevron.l x, w^* chevron.r)$, so $M abs(overline(c)_Phi - c_Phi) <= abs(f(c_Phi) - 1) <= "
                'c_Phi G bb(E) abs(x^top (c_Phi w^"ols" - w^*)) <= c_Phi G r norm(c_Phi w^"ols" - '
                "w^*)_infinity$, $M$ the least slope of $f$ between the two (Assumption 3) and $norm(x)_1 <= r$. The "
                "norm is $c_Phi$ times that of Lemma 12. " + STEPS.text
            ),
            lemmas=("mean value theorem", "Hölder", *STEPS.lemmas),
        ),
    ),
    checks=(Agreement(facts=_power_of_scale, closed=True),),
)
