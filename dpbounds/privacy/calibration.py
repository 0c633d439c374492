"""Noise for a privacy budget and the budget of a noise, with the adjacency always named.

One released matrix mechanism C G + W: each row of G is clipped to norm clip_norm, W has standard deviation
noise_multiplier * clip_norm, and the largest column norm of C is `sensitivity` (γ_T(B) for C = B^{-1}; 1 for one
released row). Two neighbouring inputs differ in one row, which moves by sensitivity_factor * clip_norm, so

    mu = sensitivity_factor * sensitivity / noise_multiplier,    rho = mu²/2

(ftrl Thm 1.1 and App. A.1, where the factor is 1).

>>> noise = noise_multiplier(adjacency="replace-one", rho=0.5, sensitivity=2.0)
>>> float(noise), round(float(budget(noise, adjacency="replace-one", sensitivity=2.0)), 12)
(4.0, 0.5)
"""

from __future__ import annotations

from typing import Literal

from dpbounds.errors import DomainError, choice, positive, within
from dpbounds.privacy.gaussian import MU_RANGE, gaussian_delta, gaussian_epsilon, gaussian_mu
from dpbounds.privacy.zcdp import gaussian_of_zcdp, zcdp_of_gaussian
from dpbounds.values import Value

Adjacency = Literal["zero-out", "add-remove", "replace-one"]

_FACTORS = {"zero-out": 1.0, "add-remove": 1.0, "replace-one": 2.0}


def sensitivity_factor(adjacency: Adjacency) -> float:
    """How many clip norms one unit's row moves: 1 for zero-out and add-remove, 2 for replace-one.

    Zero-out sets one row to 0; add-remove adds or drops one row and leaves the others where they are; replace-one
    exchanges it for any other clipped row, in the worst case its negative. Source: Ponomareva et al. 2023,
    Sec. 2.1.1; ftrl App. A.2 (zero-out). Raises `DomainError` for any other adjacency.
    """
    return _FACTORS[choice("adjacency", adjacency, _FACTORS)]


def noise_multiplier(
    *,
    adjacency: Adjacency,
    rho: float | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    sensitivity: float = 1.0,
) -> Value:
    """Least noise standard deviation, in clip norms, for a budget: either `rho`, or `epsilon` with `delta`.

    mu = sqrt(2 rho), or the exact `gaussian_mu`; the noise is factor * sensitivity / mu. For rho this is
    σ_dp² = γ_T(B)²/(2ρ) of ftrl Thm 1.1; for (epsilon, delta) Balle & Wang 2018, Thm 8. Raises `DomainError` for
    any other combination, an unknown adjacency, or numbers outside their ranges.
    """
    mu = _mu_of_budget(rho, epsilon, delta)
    multiplier = sensitivity_factor(adjacency) * positive("sensitivity", sensitivity) / mu
    source = "ftrl Thm 1.1" if epsilon is None else mu.source
    return Value(multiplier, kind="exact", source=source, convention=f"in clip norms, {adjacency}")


def budget(
    noise_multiplier: float,
    *,
    adjacency: Adjacency,
    epsilon: float | None = None,
    delta: float | None = None,
    sensitivity: float = 1.0,
) -> Value:
    """What a noise costs: the least rho; or, given `delta`, the least epsilon; or, given `epsilon`, the least delta.

    `noise_multiplier` is the noise standard deviation in clip norms. The inverse of `noise_multiplier(...)`; exact,
    by ftrl Thm 1.1 or Balle & Wang 2018, Thm 8. Raises `DomainError` if both `epsilon` and `delta` are given, for
    an unknown adjacency, or for numbers outside their ranges.
    """
    if epsilon is not None and delta is not None:
        raise DomainError("epsilon", epsilon, "None when delta is given", "give one, get the other")
    factor = sensitivity_factor(adjacency) * positive("sensitivity", sensitivity)
    ratio = factor / positive("noise_multiplier", noise_multiplier)
    mu = within("factor * sensitivity / noise_multiplier", ratio, MU_RANGE)
    if delta is not None:
        cost, name = gaussian_epsilon(mu, delta), "epsilon"
    elif epsilon is not None:
        cost, name = gaussian_delta(mu, epsilon), "delta"
    else:
        cost, name = zcdp_of_gaussian(mu), "rho"
    return Value(cost, kind="exact", source=cost.source, convention=f"{name}, {adjacency}")


def _mu_of_budget(rho: float | None, epsilon: float | None, delta: float | None) -> Value:
    if rho is not None and epsilon is None and delta is None:
        return gaussian_of_zcdp(rho)
    if rho is None and epsilon is not None and delta is not None:
        return gaussian_mu(epsilon, delta)
    raise DomainError("(rho, epsilon, delta)", (rho, epsilon, delta), "rho alone, or epsilon and delta together")
