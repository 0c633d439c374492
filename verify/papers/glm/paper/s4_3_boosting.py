"""Theorem 20 of Section 4, Theorem 26 of Section 5: the boosting and the sigmoid link."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import sympy

from dpbounds.glm import LINKS, scale
from verify.checks import Agreement, Fact, Holds, Symbolic, Within
from verify.papers.glm.paper.s4_3_examples import (
    ROOT,
    STEEP,
    above,
    attained_facts,
    high,
    means,
    quadrature,
    roots,
    slopes,
    steep,
)
from verify.statements.claims import Claim, Correction, Fault
from verify.statements.derivations import Derivation

_diff: Any = sympy.diff
_Z = sympy.Symbol("z", real=True)
_OFF = {"1 % off": {"facts": {"factor": 1.01}}}
_U = 1 + _Z**2 / 4
_PHI = _Z / 2 + sympy.sqrt(_U)


def _printed_derivatives(order: int) -> sympy.Expr:
    """As Appendix C.5 prints them, the second and the third."""
    return {
        2: _U ** sympy.Rational(-3, 2) / 4,
        3: sympy.Rational(-3, 16) * _Z * _U ** sympy.Rational(-5, 2),
    }[order]


def _derivative_facts(rng: np.random.Generator) -> Iterator[Fact]:
    """As printed, and as the correction proves it."""
    for z in (2.0, -0.5, 3.0):
        u = 1 + z * z / 4
        printed, true = 3 / 64 * (5 * z * z / u**2 - 4) / u**1.25, 3 / 16 * (z * z - 1) / u**3.5
        yield Fact(f"fourth derivative at z = {z:g}", printed, true, 1e-12, {"z": z, "printed": printed, "true": true})


def _remainders(fourth: str = "-7/2", factor: int = 3) -> Iterator[tuple[str, sympy.Expr]]:
    corrected = sympy.Rational(factor, 16) * (_Z**2 - 1) * _U ** sympy.Rational(fourth)
    for order, value in ((2, _printed_derivatives(2)), (3, _printed_derivatives(3)), (4, corrected)):
        yield f"derivative {order}", _diff(_PHI, _Z, order) - value


def _shipped_boosting(rng: np.random.Generator, *, factor: float = 1.0) -> Iterator[Fact]:
    z = np.array([-2.5, -0.3, 0.0, 1.7])
    values = (
        LINKS["boosting"].mean(z),
        LINKS["boosting"].slope(z),
        LINKS["boosting"].curvature(z),
        LINKS["boosting"].third(z),
    )
    for order, shown in enumerate(values, start=1):
        true = [float(_diff(_PHI, _Z, order).subs(_Z, point)) for point in z]
        yield Fact(f"shipped derivative {order}", factor * shown, true, 1e-13)


THM_20_A = Claim(
    id="glm/thm-20-a",
    where="Theorem 20, C.5",
    kind="identity",
    statement=(
        "Boosting: $Phi'' = 1\\/4 (1 + z^2\\/4)^(-3\\/2)$, $Phi''' = -3\\/16 z (1 + z^2\\/4)^(-5\\/2)$, $Phi'''' = "
        "3\\/64 (5 z^2 (1 + z^2\\/4)^(-2) - 4)\\/(1 + z^2\\/4)^(5\\/4)$."
    ),
    equation="C.5",
    fault=Fault(
        severity="slip",
        touches="proof",
        finding="The fourth derivative printed in C.5 is ${printed:4}$ at $z = {z}$, the true one ${true:4}$.",
        consequence="The bounds that are drawn from it hold: $abs(Phi'''') <= 3\\/16$ for both.",
    ),
    correction=Correction(
        statement=(
            "$Phi'' = 1\\/4 (1 + z^2\\/4)^(-3\\/2)$, $Phi''' = -3\\/16 z (1 + z^2\\/4)^(-5\\/2)$, $Phi'''' = 3\\/16 "
            "(z^2 - 1) (1 + z^2\\/4)^(-7\\/2)$."
        ),
        ground="Differentiation.",
        checks=(
            Symbolic(residuals=_remainders, impostors={"2/16": {"residuals": {"factor": 2}}}),
            Agreement(facts=_shipped_boosting, impostors={"1 % off": {"facts": {"factor": 1.01}}}, role="control"),
        ),
        derivation=Derivation(text="The three are derivatives of $z\\/2 + sqrt(1 + z^2\\/4)$, as identities in $z$."),
    ),
    checks=(Agreement(facts=_derivative_facts, closed=True),),
)


def _cumulants(rng: np.random.Generator) -> Iterator[Within]:
    """Any law has fourth cumulant >= -2 times the squared variance: E X^4 >= (E X^2)^2."""
    second, fourth = (float(_diff(_PHI, _Z, order).subs(_Z, 0)) for order in (2, 4))
    least = -2 * second**2
    yield Within("the fourth cumulant", fourth, least, numbers={"fourth": fourth, "least": least})


def _as_loss(rng: np.random.Generator, *, shift: float = 0.0) -> Iterator[Fact | Holds]:
    """As a mean function: Phi' in (0, 1), increasing; with Bernoulli labels of mean Phi'(z), w* solves (1)."""
    z = np.linspace(-1e3, 1e3, 4001)
    link = LINKS["boosting"]
    mean = link.mean(z) + shift
    yield Holds("0 < Phi' < 1", bool(np.all((mean > 0) & (mean < 1))))
    yield Holds("Phi' increases", bool(np.all(np.diff(mean) > 0)))
    yield Fact("ends", [link.mean(-1e9) + shift, link.mean(1e9) + shift], link.ends, 1e-8)
    for q in (0.1, 4.0):
        left = float(quadrature(lambda w, t=q**0.5: means("boosting")(t * w), weight=1))
        yield Fact(f"E[W y] = sqrt(q) E mu'(z), q = {q:g}", scale.stein(link, math.sqrt(q)) + shift, left, 1e-13)


THM_20_B = Claim(
    id="glm/thm-20-b",
    where="Theorem 20",
    kind="inequality",
    statement=(
        "$Phi(z) = z\\/2 + sqrt(1 + z^2\\/4)$ is a function of model (1), the cumulant function of an exponential "
        "family."
    ),
    equation="Theorem 20",
    fault=Fault(
        severity="slip",
        touches="statement",
        finding=(
            "No law has these cumulants: at $0$ the second is $1\\/4$ and the fourth ${fourth}$, below ${least}$, the "
            "least that $bb(E) X^4 >= (bb(E) X^2)^2$ allows."
        ),
        consequence=(
            "There is no model (1) for this $Phi$; as a loss with labels in $[0, 1]$ of mean $Phi'(z)$ everything else "
            "said about it holds."
        ),
    ),
    correction=Correction(
        statement=(
            "$Phi$ is convex with $0 < Phi' < 1$: for labels in $[0, 1]$ with $bb(E)[y|x] = Phi'(chevron.l x, w^* "
            "chevron.r)$, $w^*$ minimises (1) and Lemma 5 holds."
        ),
        ground="The gradient of (1) is $bb(E)[x (Phi'(chevron.l x, w chevron.r) - y)]$.",
        checks=(Agreement(facts=_as_loss, impostors={"mean shifted by 0.01": {"facts": {"shift": 0.01}}}),),
    ),
    checks=(Agreement(facts=_cumulants, closed=True),),
)


def _lipschitz(*, power: int = 5) -> Iterator[tuple[str, sympy.Expr]]:
    """v = z^2: (1 + v / 4)^5 - v, which is positive where |Phi'''| <= 3/16, and (1 + v / 4)^3 - 1."""
    v = sympy.Symbol("v", positive=True)
    yield "(1 + v / 4)^5 - v", (1 + v / 4) ** power - v
    yield "(1 + v / 4)^3 - 1", (1 + v / 4) ** 3 - 1


THM_20_C = Claim(
    id="glm/thm-20-c",
    where="Theorem 20",
    kind="inequality",
    statement=(
        r"Boosting: $abs(Phi'') <= 1\/4$, $Phi''$ is $3\/16$-Lipschitz;",
        "$f(6) > 1.22$;",
        "$f' >= 0.1$ on $[0, 6]$;",
        "$c_Phi < 6$.",
    ),
    hypotheses="Premises of Theorem 19",
    equation="Theorem 20",
    remark="$Phi''$ is ${supremum_2:4}$-Lipschitz; $c_Phi = {constant:5}$.",
    checks=(
        Symbolic(
            decides="a",
            residuals=_remainders,
            nonnegative=_lipschitz,
            impostors={"the cube for the fifth power": {"nonnegative": {"power": 3}}},
        ),
        high("boosting").deciding("bcd"),
        steep("boosting", "0.1").deciding("c"),
        *(
            Agreement(decides=clause, facts=facts, impostors=impostors, role="control")
            for clause, facts, impostors in (
                ("a", partial(attained_facts, links=("boosting",)), _OFF),
                ("b", partial(above, links=("boosting",)), {"c = 4.9": {"facts": {"largest": 4.9}}}),
                ("c", partial(slopes, links=("boosting",)), _OFF),
                ("d", partial(roots, links=("boosting",)), _OFF),
            )
        ),
    ),
    derivation=Derivation(
        text="(a) $Phi'' = 1\\/4 (1 + z^2\\/4)^(-3\\/2)$ and $abs(Phi''') = 3\\/16 abs(z) (1 + z^2\\/4)^(-5\\/2) <= "
        "3\\/16$, since $z^2 <= (1 + z^2\\/4)^5$. (b), (c) " + STEEP.text + " $f(6) = 6 bb(E) mu'(6 s W)$ with $6 s$ "
        "from $3\\/10$ to $3\\/8$, where $bb(E) mu' > 1.22\\/6$. (d) " + ROOT.text,
        lemmas=("mean value theorem", "Stein"),
    ),
)

THM_26 = Claim(
    id="glm/thm-26",
    where="Theorem 26, D.5",
    kind="inequality",
    statement="Sigmoid link: $cal(l)(6) > 1.22$, $cal(l)' >= 0.1$ on $[0, 6]$, $c_f <= 6$.",
    hypotheses="Premises of Theorem 19",
    equation="Theorem 26",
    remark=(
        "$f' $ is $Phi''$ of the logistic link. Model (10) wants $norm(w^*)_2 <= 1$, so $p <= 4^2$ here; the example "
        "is "
        "Gaussian, so it belongs to Theorem 22 and not to Theorem 25, which D.5 names."
    ),
    checks=(
        high("sigmoid"),
        steep("sigmoid", "0.1"),
        Agreement(
            facts=partial(above, links=("sigmoid",)), impostors={"c = 4.9": {"facts": {"largest": 4.9}}}, role="control"
        ),
        Agreement(facts=partial(roots, links=("sigmoid",)), impostors=_OFF, role="control"),
    ),
    derivation=Derivation(
        text=STEEP.text + " $f(6) = 6 bb(E) mu'(6 s W)$ with $6 s$ from $3\\/10$ to $3\\/8$, where $bb(E) mu' > "
        "1.22\\/6$; here $f$ is the $cal(l)$ of the statement and $mu$ its $f$. " + ROOT.text,
        lemmas=("Stein",),
    ),
)
