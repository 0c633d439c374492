"""Budgets of `dpbounds solve iv`: one for each stage, or one for both, split for the least error."""

from __future__ import annotations

import math
from argparse import Namespace
from dataclasses import replace
from typing import NamedTuple

from dpbounds import DomainError
from dpbounds.errors import within
from dpbounds.iv import Calibration, Question
from dpbounds.privacy import zcdp_rho

ALLOWED, NO_NOISE = "[1e-12, 1e12]", "inf stands for no noise"
# Shares of the first stage that a split may give.
LEAST_SHARE, EVEN = 0.02, 0.5


class Budgets(NamedTuple):
    """zCDP budgets of the two stages, and how noise is calibrated to them."""

    rho1: float
    rho2: float
    calibration: Calibration


def budgets(arguments: Namespace) -> Budgets:
    """As given for each stage, or the total in equal parts; `DomainError` unless one of the ways is taken."""
    within("delta", arguments.delta, "[1e-300, 1)")
    by_stage = {name: getattr(arguments, name) for name in ("rho1", "rho2")}
    given = [name for name in ("rho1", "rho2", "rho", "epsilon") if getattr(arguments, name) is not None]
    if given == ["rho1", "rho2"]:
        rho1, rho2 = (_checked(name, value) for name, value in by_stage.items())
        return Budgets(rho1, rho2, arguments.calibration or "paper")
    if given not in (["rho"], ["epsilon"]):
        found = ", ".join(f"--{name}" for name in given) or "nothing"
        raise DomainError("budget", found, "--rho1 and --rho2, or --rho, or --epsilon with --delta")
    total = total_budget(arguments)
    return Budgets(EVEN * total, EVEN * total, arguments.calibration or "tight")


def total_budget(arguments: Namespace) -> float:
    """rho, or that of (epsilon, delta): exact, since all iterates together are a Gaussian release."""
    if arguments.rho is not None:
        return _checked("rho", arguments.rho)
    return float(zcdp_rho(within("epsilon", arguments.epsilon, "[1e-6, 1e6]"), arguments.delta, "gaussian"))


def is_total(arguments: Namespace) -> bool:
    """Whether one budget is given for both stages."""
    return arguments.rho is not None or arguments.epsilon is not None


def split(question: Question, share: float | None) -> Question:
    """The same question with this share of rho1 + rho2 for the first stage, and at least 2 % for each."""
    total = question.rho1 + question.rho2
    if share is None or math.isinf(total):
        return question
    share = min(max(share, LEAST_SHARE), 1 - LEAST_SHARE)
    return replace(question, rho1=share * total, rho2=(1 - share) * total)


def _checked(name: str, value: float) -> float:
    return value if value == math.inf else within(name, value, ALLOWED, NO_NOISE)
