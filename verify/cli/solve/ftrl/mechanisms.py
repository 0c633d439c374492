"""Mechanisms of `dpbounds solve ftrl` by name."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path

from dpbounds import DomainError
from dpbounds.errors import within
from dpbounds.ftrl import correlations
from verify.cli.files import read


def fixed_correlation(mechanism: str, arguments: Namespace, decay: float) -> correlations.ToeplitzCorrelation:
    """The correlation of a mechanism that needs no search; `decay` is the smallest eta lambda_j, the usual damping."""

    def damping() -> float:
        return within("nu", decay if arguments.nu is None else arguments.nu, "(0, 1]", "choose it with --nu")

    makers = {
        "sgd": correlations.independent,
        "nu": lambda: correlations.nu(damping()),
        "optimal-counting": correlations.optimal_counting,
        "anti-pgd": correlations.anti_pgd,
        "damped-anti-pgd": lambda: correlations.damped_anti_pgd(damping()),
        "coefficients": lambda: correlations.from_coefficients(_coefficients(arguments.coefficients)),
    }
    return makers[mechanism]()


def check_coefficients(arguments: Namespace) -> None:
    """The file and the mechanism of that name come together."""
    asked, given = "coefficients" in arguments.mechanism, arguments.coefficients is not None
    if asked and not given:
        raise DomainError("coefficients", None, "a file, for --mechanism coefficients")
    if given and not asked:
        raise DomainError("coefficients", arguments.coefficients, "left out without --mechanism coefficients")


def _coefficients(file: str) -> list[float]:
    allowed = "a file with a JSON list of numbers beta_0, beta_1, ..."
    text = read("coefficients", file, allowed)
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DomainError("coefficients", Path(file), allowed, str(error)) from None
    if not isinstance(content, list) or not all(type(weight) in (int, float) for weight in content):
        raise DomainError("coefficients", Path(file), allowed)
    return content
