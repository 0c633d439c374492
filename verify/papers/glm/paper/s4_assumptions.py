"""Assumptions 2 to 6: links and designs that meet them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import numpy as np

from dpbounds.glm import LINKS, bias, scale, sign_design
from dpbounds.glm.gaussian import slope_means
from verify.checks import Agreement, Fact, Holds, Within
from verify.statements.claims import Claim

# --- Assumptions 2 to 6: the root ---


def _roots(
    rng: np.random.Generator, *, gaussian: bool, links: tuple[str, ...], factor: float = 1.0
) -> Iterator[Fact | Within | Holds]:
    """f(0) = 0, f(c-bar) >= 1 + tau, f' >= M on [0, c-bar]: one root below c-bar, for Gaussian x the scale itself."""
    for name in links:
        link = LINKS[name]
        if gaussian:
            q = 0.25
            c = abs(float(scale.constant(link, q)))
            s = math.sqrt(q) / c
            grid = np.linspace(1e-3, 2.0 * c, 200)
            values = np.array([size * abs(slope_means(link, (size * s) ** 2)[0]) for size in grid])
            expected = c
        else:
            w = np.array([0.9, 0.5, -0.7, 0.3])
            design = sign_design(4)
            shown = bias(link, w, design)
            expected = abs(shown.root)
            grid = np.linspace(1e-3, 2.0 * expected, 200)
            values = np.array(
                [g * abs(design.mean_of(lambda z, g=g, mu=link: mu.slope(mu.sign * g * z), shown.w_ols)) for g in grid]
            )
        slopes = np.diff(values) / np.diff(grid)
        yield Holds(f"{name}: f' >= M > 0", bool(slopes.min() > 0))
        yield Within(f"{name}: f(c-bar) at c-bar = 2 c", float(values[-1]), 1.05)
        first = int(np.argmax(values >= 1.0))
        root = np.interp(1.0, values[first - 1 : first + 1], grid[first - 1 : first + 1])
        yield Fact(f"{name}: the root", factor * float(root), expected, 5e-3)


def _assumption(
    claim: str, where: str, statement: str, links: tuple[str, ...], *, gaussian: bool, remark: str
) -> Claim:
    return Claim(
        id=claim,
        where=where,
        kind="inequality",
        statement=statement,
        equation=where,
        setting=(
            "$bb(E) z^2 = 1\\/4$ for Gaussian records, $x_j = plus.minus 1\\/4$, $p = 4$ otherwise; $overline(c)$ "
            "twice the scale."
        ),
        remark=remark,
        checks=(
            Agreement(
                facts=partial(_roots, gaussian=gaussian, links=links),
                impostors={"2 % off": {"facts": {"factor": 1.02}}},
            ),
        ),
    )


_LIPSCHITZ = "The proofs and the examples use that $Phi''$, not $Phi'''$, is $G$-Lipschitz. "


ASSUMP_2 = _assumption(
    "glm/assump-2",
    "Assumption 2",
    "$abs(Phi'') <= L$, $Phi'''$ $G$-Lipschitz, $f(overline(c)) >= 1 + tau$, $abs(f') >= M > 0$ on $[0, "
    "overline(c)]$: they ensure a root of $f - 1$ and $hat(c) -> c_Phi$.",
    ("logistic", "boosting"),
    gaussian=True,
    remark=_LIPSCHITZ + "Met by logistic and boosting; Poisson has no $L$.",
)


ASSUMP_3 = _assumption(
    "glm/assump-3",
    "Assumption 3",
    "$abs(Phi'') <= L$, $Phi'''$ $G$-Lipschitz, $f(overline(c)) >= 1 + tau$ with $w^\"ols\"$ of Lemma 12, $abs(f') >= "
    "M$ on $[0, max{overline(c), c_Phi}]$.",
    ("logistic", "boosting"),
    gaussian=False,
    remark=_LIPSCHITZ,
)


ASSUMP_4 = _assumption(
    "glm/assump-4",
    "Assumption 4",
    "$sup_(norm(w - Sigma^(1\\/2) w^\"ols\") <= 1) norm(Phi''(chevron.l x, w chevron.r))_psi_2 <= kappa_g$, $Phi'''$ "
    "$G$-Lipschitz, and the conditions on $f$ of Assumption 3.",
    ("logistic", "boosting", "poisson"),
    gaussian=False,
    remark=_LIPSCHITZ + "The ball is one for $v = Sigma^(-1\\/2) x$, not for $x$. Met by Poisson for bounded $x$.",
)


ASSUMP_5 = _assumption(
    "glm/assump-5",
    "Assumption 5",
    "$abs(f') <= L$, $f''$ $G$-Lipschitz, $cal(l)(overline(c)) >= 1 + tau$, $abs(cal(l)') >= M$ on $[0, overline(c)]$.",
    ("sigmoid",),
    gaussian=True,
    remark="Met by the sigmoid; the cubic has no $L$, softplus has $f' < 0$ and a negative scale.",
)


ASSUMP_6 = _assumption(
    "glm/assump-6",
    "Assumption 6",
    'As Assumption 5 with $w^"ols"$ of Theorem 24 and $abs(cal(l)\') >= M$ on $[0, max{overline(c), c_f}]$.',
    ("sigmoid", "softplus"),
    gaussian=False,
    remark="For softplus with negative scales; the cubic has no $L$ on the line, but one on the range of $z$.",
)
