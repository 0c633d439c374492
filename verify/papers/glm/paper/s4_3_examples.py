"""Theorem 19 of Section 4: the premises of the examples, and the logistic link."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import mpmath
import numpy as np
import sympy

from dpbounds.arithmetic import FLOATS, Arithmetic, digits
from dpbounds.glm import LINKS, Link, scale
from dpbounds.glm.gaussian import enclosed_mean, mean_of
from dpbounds.glm.scale import scale_slope
from verify.checks import Agreement, Fact, Inequality, Symbolic, Within
from verify.checks.domains import Real
from verify.statements.claims import Claim, Correction, Fault
from verify.statements.derivations import Derivation

LARGEST, MARGIN = 6.0, 0.22
# ||w*||_2 / sqrt p, and ||w_ols||_2 / sqrt p as stated: the standard deviations of <x, w> for x ~ N(0, I / p).
W_STAR, W_OLS = 0.25, 0.05


def quadrature(function: Any, *, weight: int = 0) -> Any:
    """E[W^weight function(W)] by Gauss-Legendre in 30 digits on pieces."""
    with mpmath.workdps(30):
        pieces = [-14, -8, -4, -2, 0, 2, 4, 8, 14]
        return mpmath.quad(lambda w: w**weight * function(w) * mpmath.npdf(w), pieces)


def means(link: str) -> Any:
    """mu of a link, spelled out."""
    if link == "boosting":
        return lambda z: mpmath.mpf("0.5") + z / (4 * mpmath.sqrt(1 + z * z / 4))
    return lambda z: 1 / (1 + mpmath.exp(-z))


def _derived(link: str) -> float:
    """||w_ols|| / sqrt p = sqrt(q) E mu'(z) = E[W mu(sqrt(q) W)] (Stein)."""
    mean = means(link)
    return float(quadrature(lambda w: mean(W_STAR * w), weight=1))


def _premise(rng: np.random.Generator, *, stated: float = W_OLS, factor: float = 1.0) -> Iterator[Fact]:
    for link in ("logistic", "boosting"):
        shipped = factor * scale.stein(link, W_STAR)
        yield Fact(f"norm of w_ols for the {link} link", shipped, stated, 1e-2, {"derived": shipped, "stated": stated})


def _premise_derived(rng: np.random.Generator, *, factor: float = 1.0) -> Iterator[Fact]:
    for link in ("logistic", "boosting"):
        shipped = factor * scale.stein(link, W_STAR)
        yield Fact(f"norm of w_ols, {link}", shipped, _derived(link), 1e-13, {link: shipped})


THM_19_A = Claim(
    id="glm/thm-19-a",
    where="Theorems 19, 20 and 26, premises",
    kind="number",
    statement=(
        "Logistic, boosting and sigmoid links, $x tilde N(0, I\\/p)$: $norm(w^*)_2 = sqrt(p)\\/4$ and "
        '$norm(w^"ols")_2 = sqrt(p)\\/20$.'
    ),
    equation="Theorem 19",
    fault=Fault(
        severity="slip",
        touches="statement",
        finding=(
            'The two premises exclude each other: Lemma 5 gives $norm(w^"ols")_2 = {derived:4} sqrt(p)$ for the '
            "logistic link at $norm(w^*)_2 = sqrt(p)\\/4$, not ${stated} sqrt(p)$."
        ),
        consequence="Nothing falls: the conclusions of the three theorems hold for either value.",
    ),
    correction=Correction(
        statement=(
            'For $norm(w^*)_2 = sqrt(p)\\/4$ Lemma 5 gives $norm(w^"ols")_2 = {logistic:3} sqrt(p)$ (logistic, '
            "sigmoid) "
            "and ${boosting:3} sqrt(p)$ (boosting)."
        ),
        ground="Stein's lemma: $norm(w^\"ols\") = norm(w^*) bb(E) Phi''(W\\/4)$, $W$ standard normal.",
        checks=(Agreement(facts=_premise_derived, impostors={"1 % off": {"facts": {"factor": 1.01}}}),),
    ),
    checks=(Agreement(facts=_premise, closed=True),),
)


def _size(order: int, link: str) -> Any:
    """|mu^(order)(z)|."""
    return lambda m, z: m.absolute(LINKS[link].derivative(m, z, order))


def bounded(link: str, order: int, bound: str) -> Inequality:
    """|mu^(order)| <= bound on [-60, 60]; beyond, every term of it decreases."""
    return Inequality(
        smaller=_size(order, link),
        larger=lambda m, z: m.number(bound) + 0 * z,
        box={"z": Real(-60.0, 60.0)},
        evaluations=2000,
    )


def _attained(link: str, *, factor: float = 1.0) -> Iterator[Fact]:
    """The suprema that are shipped: values on a fine grid reach them and never exceed them."""
    z = np.linspace(-40.0, 40.0, 800_001)
    shown = LINKS[link]
    for order, values in enumerate((shown.slope(z), shown.curvature(z), shown.third(z))):
        shipped, found = factor * shown.suprema[order], float(np.abs(values).max())
        numbers = {f"supremum_{order + 1}": shipped}
        yield Fact(f"sup |derivative {order + 1}| of {link}", shipped, found, 1e-7, numbers)


def attained_facts(rng: np.random.Generator, *, links: tuple[str, ...], factor: float = 1.0) -> Iterator[Fact]:
    """The suprema of several links."""
    for link in links:
        yield from _attained(link, factor=factor)


def _unit_bounds(*, top: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """With e^z = u > 0: top - Phi'' and top -+ Phi'''."""
    u = sympy.Symbol("u", positive=True)
    second, third = u / (1 + u) ** 2, (u - u**2) / (1 + u) ** 3
    yield "1 - Phi''", top - second
    yield "1 - Phi'''", top - third
    yield "1 + Phi'''", top + third


def _derivatives() -> Iterator[tuple[Any, ...]]:
    """Those of log(1 + e^z)."""
    z = sympy.Symbol("z", real=True)
    u: Any = sympy.exp(z)
    printed = {2: u / (1 + u) ** 2, 3: (u - u**2) / (1 + u) ** 3}
    for order, value in printed.items():
        derivative: Any = sympy.diff(sympy.log(1 + u), z, order)
        yield f"derivative {order}", derivative, value


THM_19_B = Claim(
    id="glm/thm-19-b",
    where="Theorem 19",
    kind="inequality",
    statement="Logistic: $abs(Phi'') <= 1$ and $Phi''$ is 1-Lipschitz.",
    equation="Theorem 19",
    remark="Sharp: $abs(Phi'') <= 1\\/4$, $abs(Phi''') <= 1\\/(6 sqrt(3))$.",
    checks=(
        Symbolic(residuals=_derivatives, nonnegative=_unit_bounds, impostors={"0 for 1": {"nonnegative": {"top": 0}}}),
        bounded("logistic", 1, "1").as_control(),
        bounded("logistic", 2, "1").as_control(),
        Agreement(
            facts=partial(attained_facts, links=("logistic", "sigmoid", "softplus")),
            impostors={"suprema 1 % off": {"facts": {"factor": 1.01}}},
            role="control",
        ),
    ),
    derivation=Derivation(
        text=(
            "$Phi'' > 0$, $1 - Phi''$ and $1 plus.minus Phi'''$ are quotients of polynomials in $u = e^z > 0$ without "
            "negative coefficients, so $abs(Phi'') <= 1$ and $abs(Phi''') <= 1$ for every $z$, and $Phi''$ is "
            "1-Lipschitz."
        ),
        lemmas=("mean value theorem",),
    ),
)


def scale_function(m: Arithmetic, link: Link, c: float, s: float) -> Any:
    """f(c) = c E mu'(c s W), for floats or as a ball."""
    return c * enclosed_mean(link, m.number(c * s) ** 2)


def above(rng: np.random.Generator, *, links: tuple[str, ...], largest: float = LARGEST) -> Iterator[Fact | Within]:
    """f(6) > 1.22 by balls, with w_ols as stated and as derived, and f(6) by quadrature of W mu."""
    for name in links:
        mean, link = means(name), LINKS[name]
        for s in (W_OLS, scale.stein(link, W_STAR)):
            with digits(30) as m:
                value = scale_function(m, link, largest, s)
                yield Within(f"{name}: lower end of f(6) at norm {s:.4f}", float(value.lower()), 1 + MARGIN)
                shipped = float(value.mid())
            oracle = float(quadrature(lambda w, t=LARGEST * s, mu=mean: mu(t * w), weight=1)) / s
            numbers = {"stated" if s == W_OLS else "derived": shipped}
            yield Fact(f"{name}: f(6) at norm {s:.4f}", shipped, oracle, 1e-12, numbers=numbers)


def roots(rng: np.random.Generator, *, links: tuple[str, ...], factor: float = 1.0) -> Iterator[Fact | Within]:
    """c_Phi enclosed to 1e-12, below 6, the root of f at the derived w_ols."""
    for name in links:
        c = scale.constant(name, W_STAR**2, certified=True)
        assert c.enclosure is not None
        yield Within(f"{name}: upper end of c", c.enclosure[1], 0.0, LARGEST)
        yield Within(f"{name}: width of the enclosure", c.enclosure[1] - c.enclosure[0], 0.0, 1e-12)
        numbers = {"constant": float(c)}
        yield Fact(f"{name}: c", factor * float(c), W_STAR / _derived(name), 1e-13, numbers=numbers)
        w_ols = np.array([_derived(name), 0.0])
        yield Fact(f"{name}: root of f", float(scale.root(name, w_ols, np.eye(2))), W_STAR / _derived(name), 1e-11)


def _mean_slope(m: Arithmetic, link: Link, t: Any) -> Any:
    """E mu'(t W)."""
    if m.name == "floats":
        return np.array([float(mean_of(link.slope, value**2)) for value in np.ravel(t)]).reshape(np.shape(t))
    return enclosed_mean(link, m.number(t) ** 2)


def high(link: str) -> Inequality:
    """E mu'(t W) > 1.22 / 6 for t = 1 / 4, and for t = 6 s with s from 1 / 20 to 1 / 16."""
    return Inequality(
        smaller=lambda m, t: m.number("61/300") + 0 * t,
        larger=lambda m, t: _mean_slope(m, LINKS[link], t),
        box={"t": Real(0.25, LARGEST / 16)},
        evaluations=300,
        impostors={"0.245": {"smaller": lambda m, t: m.number("0.245") + 0 * t}},
    )


_SIZES = (
    '$norm(w^"ols") = s sqrt(p)$ with $s = 1\\/20$ as stated, or $s = bb(E) mu\'(W\\/4)\\/4$ by Stein, where $1\\/20 < '
    "1.22\\/24 < s <= 1\\/16$ by $bb(E) mu'(W\\/4) > 1.22\\/6$ and $mu' <= 1\\/4$. "
)
REACH = Derivation(
    text=_SIZES + "So $f(6) = 6 bb(E) mu'(6 s W)$ with $6 s$ from $3\\/10$ to $3\\/8$, where $bb(E) mu' > 1.22\\/6$.",
    lemmas=("Stein",),
)
STEEP = Derivation(
    text=_SIZES + "$f(c) = c bb(E) mu'(c s W) = bb(E) W mu(c s W)\\/s$, so $f'(c) = bb(E) W^2 mu'(c s W)$, which is "
    "bounded for $c s$ from 0 to $6\\/16$.",
    lemmas=("Stein",),
)
ROOT = Derivation(
    text="$c = 1\\/bb(E) mu'(chevron.l x, w^* chevron.r)$ and $chevron.l x, w^* chevron.r tilde cal(N)(0, 1\\/16)$, so "
    "$c < 6\\/1.22$.",
    lemmas=("Stein",),
)

THM_19_C = Claim(
    id="glm/thm-19-c",
    where="Theorem 19",
    kind="inequality",
    statement="Logistic, $overline(c) = 6$, $tau = 0.22$: $f(overline(c)) > 1 + tau$.",
    hypotheses="Premises of Theorem 19",
    equation="Theorem 19",
    setting='$norm(w^"ols")$ as stated and as Lemma 5 has it; printed with $f(c)$, read as in Theorem 20.',
    remark="$f(6) = {stated}$ and ${derived}$.",
    checks=(
        high("logistic"),
        Agreement(
            facts=partial(above, links=("logistic",)),
            impostors={"c = 4.9": {"facts": {"largest": 4.9}}},
            role="control",
        ),
    ),
    derivation=REACH,
)


def steep(link: str, least: str) -> Inequality:
    """f'(c) = E[W^2 mu'(c s W)] >= least for c in [0, 6], s up to 1 / 16 (both readings), certified."""
    return Inequality(
        smaller=lambda m, t: m.number(least) + 0 * t,
        larger=lambda m, t: scale_slope(m, LINKS[link], t),
        box={"t": Real(0.0, LARGEST / 16)},
        evaluations=300,
        impostors={"least slope 0.24": {"smaller": lambda m, t: m.number("0.24") + 0 * t}},
    )


def slopes(rng: np.random.Generator, *, links: tuple[str, ...], factor: float = 1.0) -> Iterator[Fact]:
    """f' by two formulas: E[W^2 mu'(tW)], and the derivative of E[W mu(tW)]. Its least values are at c = 6."""
    for name in links:
        mean = means(name)
        for label, s in (("stated", W_OLS), ("derived", _derived(name))):
            shipped = factor * float(scale_slope(FLOATS, LINKS[name], LARGEST * s))
            slope = LINKS[name].slope
            oracle = quadrature(lambda w, t=LARGEST * s, slope=slope: float(slope(float(t * w))), weight=2)
            yield Fact(f"{name}: f'(6) at norm {s:.4f}", shipped, float(oracle), 1e-9, {label: shipped})
        for t in (0.1, 0.3, 2.0):
            with mpmath.workdps(30):
                step = mpmath.mpf(10) ** -7
                ends = [quadrature(lambda w, u=u, mu=mean: mu(u * w), weight=1) for u in (t + step, t - step)]
                oracle = (ends[0] - ends[1]) / (2 * step)
            yield Fact(f"{name}: h'({t})", factor * float(scale_slope(FLOATS, LINKS[name], t)), float(oracle), 1e-12)


THM_19_D = Claim(
    id="glm/thm-19-d",
    where="Theorem 19, C.4",
    kind="inequality",
    statement=(
        "Logistic: $f' >= M = 0.1$ on $[0, 6]$;",
        "the proof says $0.19$.",
    ),
    equation="Theorem 19",
    remark='Both hold; the least value is $f\'(6) = {stated:3}$, with the derived $norm(w^"ols")$ ${derived:3}$.',
    checks=(
        high("logistic").deciding("ab"),
        steep("logistic", "0.1").deciding("a"),
        steep("logistic", "0.19").deciding("b"),
        Agreement(
            decides="ab",
            facts=partial(slopes, links=("logistic",)),
            impostors={"1 % off": {"facts": {"factor": 1.01}}},
            role="control",
        ),
    ),
    derivation=STEEP,
)

THM_19_E = Claim(
    id="glm/thm-19-e",
    where="Theorem 19",
    kind="inequality",
    statement="Logistic: $c_Phi < overline(c) = 6$.",
    equation="Theorem 19",
    remark="$c_Phi = {constant:5}$.",
    checks=(
        high("logistic"),
        Agreement(
            facts=partial(roots, links=("logistic",)),
            impostors={"1 % off": {"facts": {"factor": 1.01}}},
            role="control",
        ),
    ),
    derivation=ROOT,
)
