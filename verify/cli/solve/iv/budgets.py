"""The budget that `dpbounds solve iv` is given: one for each stage, or one for both."""

from __future__ import annotations

import math
from argparse import Namespace

from dpbounds import DomainError
from dpbounds.errors import within
from dpbounds.iv import TwoStageBudget
from dpbounds.privacy import zcdp_rho

ALLOWED, NO_NOISE = "[1e-12, 1e12]", "inf stands for no noise"


def budget(arguments: Namespace) -> TwoStageBudget:
    """As given for each stage, or the total in equal parts; `DomainError` unless one of the ways is taken."""
    within("delta", arguments.delta, "[1e-300, 1)")
    norms = {
        name: within(name, value, ALLOWED)
        for name in ("gamma1", "gamma2")
        if (value := getattr(arguments, name)) is not None
    }
    ways = [name for name in ("rho1", "rho2", "rho", "epsilon") if getattr(arguments, name) is not None]
    if ways == ["rho1", "rho2"]:
        rhos = {name: _checked(name, getattr(arguments, name)) for name in ways}
        return TwoStageBudget(
            **rhos, **norms, adjacency=arguments.adjacency, calibration=arguments.calibration or "paper"
        )
    if ways not in (["rho"], ["epsilon"]):
        shown = ", ".join(f"--{name}" for name in ways) or "nothing"
        raise DomainError("budget", shown, "--rho1 and --rho2, or --rho, or --epsilon with --delta")
    return TwoStageBudget.even(
        total_budget(arguments), **norms, adjacency=arguments.adjacency, calibration=arguments.calibration or "tight"
    )


def total_budget(arguments: Namespace) -> float:
    """rho, or that of (epsilon, delta): exact, since all iterates together are a Gaussian release."""
    if arguments.rho is not None:
        return _checked("rho", arguments.rho)
    return float(zcdp_rho(within("epsilon", arguments.epsilon, "[1e-6, 1e6]"), arguments.delta, "gaussian"))


def is_total(arguments: Namespace) -> bool:
    """Whether one budget is given for both stages, to be split for the least error."""
    return arguments.rho is not None or arguments.epsilon is not None


def _checked(name: str, value: float) -> float:
    return value if value == math.inf else within(name, value, ALLOWED, NO_NOISE)
