"""Appendix C.1, (47) to (52): Theorem 14 assembled."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from verify.checks import Agreement, Fact, Unbounded, Within
from verify.papers.glm.paper.sc_1_collected import collected_29
from verify.papers.glm.tools.appendix_c import CONSTANTS
from verify.papers.glm.tools.bounded_designs import SKEWED, design_of, limit_bias
from verify.statements.claims import Claim, Correction, Fault


def _powers_48(rng: np.random.Generator, *, shift: int = 0) -> Iterator[Fact]:
    """Exponents of r and kappa in (28) times ||w_ols||_inf, by logarithmic derivatives of the larger of its terms."""
    base = {name: 1e3 if name == "omega" else 1.0 for name in CONSTANTS}
    for name, power in (("r", 3), ("kappa", 6), ("G", 3), ("varrho", 2)):
        sides = [collected_29(**{**base, name: value})[0] for value in (1e3, 1e4)]
        yield Fact(f"power of {name}", math.log10(sides[1] / sides[0]), power + shift, 1e-3)


def _dropped(rng: np.random.Generator, power: int = 3) -> Iterator[Within]:
    """The exact bias over omega^power / sqrt p at omega = 1 / p, skewed Poisson regression: it stays what it is."""
    small, large = _over_power(power)
    yield Within("the ratio at p = 256 over that at p = 16", large / small, 0.0, 2.0)


def _over_power(power: int) -> tuple[float, float]:
    """At p = 16 and 256."""
    small, large = (
        limit_bias(design_of(SKEWED, p), np.full(p, 1 / p), link="poisson") * p**power * math.sqrt(p) for p in (16, 256)
    )
    return small, large


def _radii_48(m: Any, s: Any) -> Any:
    """(28) times the bound of Lemma 12 for w_ols, over (48), at r = s, all else 1."""
    return 16 * s**2 * (1 + 16 * s) / s**2


def _reduced_48(m: Any, x: Any) -> Any:
    """The quotient itself."""
    return 16 * (x + 16)


def _printed_48(rng: np.random.Generator) -> Iterator[Fact]:
    base = {name: 1e3 if name == "omega" else 1.0 for name in CONSTANTS}
    for name, power in (("r", 2), ("kappa", 7)):
        sides = [collected_29(**{**base, name: value})[0] for value in (1e3, 1e4)]
        derived = math.log10(sides[1] / sides[0])
        small, large = _over_power(3)
        numbers = {"printed": float(power), "derived": derived, "small": small, "large": large, "few": 16, "many": 256}
        yield Fact(f"power of {name} in (48)", float(power), derived, 1e-2, numbers)


EQ_47 = Claim(
    id="glm/eq-47",
    where="(47)-(52)",
    kind="identity",
    statement=(
        "Theorem 14 assembled;",
        (
            "the second term is $O(M^(-1) r^2 kappa^7 c_Phi G^3 rho_2 rho_infinity^2 norm(w^*)_infinity^3 max{1, "
            r"norm(w^*)_infinity} max{1, 1\/c_Phi}\/sqrt(p))$ (48)."
        ),
    ),
    equation="(48)",
    fault=Fault(
        severity="substantive",
        touches="proof",
        finding=(
            '(48) prints $r^{printed:1}$ where (28) times $norm(w^"ols")_infinity$ gives $r^{derived:1}$, and '
            "$kappa^7$ for $kappa^6$, as in (29). (50) then drops the third term of (47), the bias of Lemma 12: for "
            "Poisson regression, skewed coordinates and $norm(w^*)_infinity = 1\\/p$ the exact bias over what (50) "
            "leaves of it, all constants 1, is ${small:2}$ at $p = {few}$ and ${large:2}$ at $p = {many}$."
        ),
        consequence=(
            "The third term of (7) is too small where $norm(w^*)_infinity$ is, in Theorems 14 and 25; (9) has the "
            "right power. $r$ and $kappa$ are $O(1)$ in Theorem 14."
        ),
    ),
    correction=Correction(
        statement=(
            "The second term is that of (29), with $r^3 kappa^6$;",
            (
                r"the third, $2^4 c_Phi G r kappa^3 sqrt(rho_2) rho_infinity norm(w^*)_infinity^2\/sqrt(p)$, stays in "
                "(50)."
            ),
        ),
        ground="The product of (28) and Lemma 12; Lemma 12.",
        checks=(
            Agreement(decides="a", facts=_powers_48, impostors={"one power more": {"facts": {"shift": 1}}}),
            Agreement(
                decides="b", facts=partial(_dropped, power=2), impostors={"one power more": {"facts": {"power": 3}}}
            ),
        ),
    ),
    checks=(
        Agreement(decides="b", facts=_printed_48),
        Unbounded(decides="b", quotient=_radii_48, reduced=_reduced_48),
        Agreement(decides="a", facts=_dropped),
    ),
)
