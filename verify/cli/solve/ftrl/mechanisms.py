"""Mechanisms of `dpbounds solve ftrl` by name."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np

from dpbounds import DomainError
from dpbounds.ftrl.correlations import Correlation, ToeplitzCorrelation, from_matrix
from dpbounds.ftrl.mechanisms import Mechanism, named_correlation
from verify.cli.files import read

WEIGHTS = "a file with a JSON list of numbers beta_0, beta_1, ..."
ROWS = f"{WEIGHTS}, or of as many rows as --horizon has steps"


def fixed_correlation(mechanism: Mechanism, arguments: Namespace, decay: float) -> ToeplitzCorrelation:
    """The correlation of a mechanism that needs no search; `decay` is the smallest eta lambda_j, the usual damping."""
    weights = _coefficients(arguments.coefficients) if mechanism == "coefficients" else ()
    return named_correlation(mechanism, decay, damping=arguments.nu, weights=weights)


def finite_correlation(mechanism: Mechanism, arguments: Namespace, decay: float, T: int) -> Correlation:
    """The same for T steps, where the file may hold the rows of a T x T matrix."""
    if mechanism != "coefficients" or not _is_matrix(content := _content(arguments.coefficients, ROWS)):
        return fixed_correlation(mechanism, arguments, decay)
    if len(content) != T or any(len(row) != T for row in content):
        allowed = f"{T} rows of {T} numbers each, the steps of --horizon"
        raise DomainError("coefficients", Path(arguments.coefficients), allowed)
    return from_matrix(np.array(content, dtype=float), name="coefficients")


def check_coefficients(arguments: Namespace) -> None:
    """The file and the mechanism of that name come together."""
    asked, given = "coefficients" in arguments.mechanism, arguments.coefficients is not None
    if asked and not given:
        raise DomainError("coefficients", None, "a file, for --mechanism coefficients")
    if given and not asked:
        raise DomainError("coefficients", arguments.coefficients, "left out without --mechanism coefficients")


def _coefficients(file: str) -> list[float]:
    content = _content(file, WEIGHTS)
    if not _are_numbers(content):
        raise DomainError("coefficients", Path(file), WEIGHTS)
    return content


def _content(file: str, allowed: str) -> Any:
    try:
        return json.loads(read("coefficients", file, allowed))
    except (ValueError, RecursionError) as error:
        raise DomainError("coefficients", Path(file), allowed, str(error)) from None


def _is_matrix(content: Any) -> bool:
    return isinstance(content, list) and bool(content) and all(_are_numbers(row) for row in content)


def _are_numbers(content: Any) -> bool:
    return isinstance(content, list) and all(type(weight) in (int, float) for weight in content)
