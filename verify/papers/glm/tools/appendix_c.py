"""What the collected bounds of Appendix C are made of: their constants, and Lemma 12 for w_ols."""

from __future__ import annotations

from dpbounds.glm import bounds
from verify.checks.domains import Real

CONSTANTS = {
    "G": Real(1.0, 10.0, "log"),
    "r": Real(1.0, 10.0, "log"),
    "kappa": Real(1.0, 10.0, "log"),
    "varrho": Real(1.0, 10.0, "log"),
    "omega": Real(1e-4, 1e2, "log"),
    "c": Real(1e-2, 1e2, "log"),
    "p": Real(1.0, 1e4, "log"),
}


def w_ols_bound(G: float, r: float, kappa: float, varrho: float, omega: float, c: float, p: float) -> float:
    """||w_ols||_inf <= omega (1 / c + 16 G r kappa^3 varrho omega / sqrt p), Lemma 12."""
    stein = float(bounds.bias_bound(omega, varrho, p=max(round(p), 1), lipschitz=G, radius=r, kappa=kappa))
    return omega / c + stein
