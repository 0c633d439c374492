"""Mechanisms of `dpbounds solve ftrl` by name."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path

from dpbounds import DomainError
from dpbounds.ftrl.correlations import ToeplitzCorrelation
from dpbounds.ftrl.mechanisms import Mechanism, named_correlation
from verify.cli.files import read


def fixed_correlation(mechanism: Mechanism, arguments: Namespace, decay: float) -> ToeplitzCorrelation:
    """The correlation of a mechanism that needs no search; `decay` is the smallest eta lambda_j, the usual damping."""
    weights = _coefficients(arguments.coefficients) if mechanism == "coefficients" else ()
    return named_correlation(mechanism, decay, damping=arguments.nu, weights=weights)


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
