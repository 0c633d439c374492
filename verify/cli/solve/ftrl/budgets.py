"""Privacy budgets of `dpbounds solve ftrl`: as zCDP or as (epsilon, delta), and what is said of them."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from typing import NamedTuple

from dpbounds import DomainError, privacy
from dpbounds.errors import within

DEFAULT_RHO = 0.5


class Budget(NamedTuple):
    """The same privacy of one Gaussian mechanism in two ways; `epsilon` is None where rho is outside its range."""

    rho: float
    epsilon: float | None
    delta: float


def budgets(arguments: Namespace) -> list[Budget]:
    """Those of --rho, or of --epsilon with --delta; `DomainError` for both or for numbers outside their ranges."""
    delta = within("delta", arguments.delta, "[1e-300, 1)")
    if arguments.epsilon is None:
        given = [DEFAULT_RHO] if arguments.rho is None else arguments.rho
        return [Budget(rho, epsilon_of(rho, delta), delta) for rho in given]
    if arguments.rho is not None:
        raise DomainError("epsilon", arguments.epsilon, "left out with --rho", "give one of the two")
    # The least noise for (epsilon, delta) is that of a Gaussian mechanism, whose rho says it as well.
    rhos = [float(privacy.zcdp_of_gaussian(privacy.gaussian_mu(epsilon, delta))) for epsilon in arguments.epsilon]
    return [Budget(rho, epsilon, delta) for rho, epsilon in zip(rhos, arguments.epsilon, strict=True)]


def epsilon_of(rho: float, delta: float) -> float | None:
    """Exact for the noise that costs rho; None for a rho that the accountant does not have (the theory may)."""
    try:
        return float(privacy.gaussian_epsilon(privacy.gaussian_of_zcdp(rho), delta))
    except DomainError:
        return None


def sentences(given: Sequence[Budget]) -> list[str]:
    """What every table says of privacy."""
    each = sorted(set(given))
    shown = [f"rho = {one.rho:.6g} is epsilon = {_plain(one.epsilon)}" for one in each]
    listed = ", ".join(shown) if len(shown) <= 3 else f"{shown[0]}, ..., {shown[-1]}"
    return [
        f"Privacy: rho is zCDP, zero-out adjacency; {listed} at delta = {each[0].delta:g}. It holds for one pass over "
        "the data, each record in one step; k passes cost up to k^2 rho."
    ]


def _plain(epsilon: float | None) -> str:
    return "beyond its range" if epsilon is None else f"{epsilon:.4g}"
