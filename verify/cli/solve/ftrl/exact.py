"""`dpbounds solve ftrl`: which problem is meant, and the two that are solved exactly."""

from __future__ import annotations

import importlib
import itertools
import json
from argparse import Namespace
from collections.abc import Iterator
from typing import Any

import numpy as np

from dpbounds import DomainError
from dpbounds.errors import vector
from dpbounds.ftrl import correlations, mean_estimation
from dpbounds.ftrl import linear_regression as regression
from verify.cli.console import print_json, print_table
from verify.cli.solve.files import check_target, write
from verify.cli.solve.ftrl.mechanisms import check_coefficients, condition_number, fixed_correlation
from verify.store import strict

Row = dict[str, Any]

# Options that mean nothing elsewhere.
SPECTRUM = ("decay", "eigenvalues")
STRONGLY_CONVEX = ("program", "certify", "adversarial", "L", "max_lag", "nodes", "plot")


def run(arguments: Namespace) -> int:
    """One row per problem, learning rate, budget and mechanism."""
    problem = _problem(arguments)
    check_coefficients(arguments)
    check_target("save", arguments.save)
    check_target("plot", arguments.plot)
    if problem == "strongly-convex":
        return importlib.import_module("verify.cli.solve.ftrl.strongly_convex").run(arguments)
    rows = list(_mean_rows(arguments) if problem == "mean-estimation" else _regression_rows(arguments))
    if arguments.save:
        write("save", arguments.save, (json.dumps(strict(rows), indent=1, allow_nan=False) + "\n").encode())
    if arguments.json:
        print_json(rows)
        return 0
    print_table(rows, list(rows[0]))
    print(f"\nsuboptimality: {regression.CONVENTION}; rho: zCDP, zero-out adjacency; gamma: sensitivity in clip norms.")
    if arguments.problem is None:
        print("problem: linear-regression; for all strongly convex, smooth losses of these kappa add --program f.")
    return 0


def _problem(arguments: Namespace) -> str:
    """As --problem says, else from the options that only bounds for strongly convex losses have."""
    if arguments.check is not None:
        raise DomainError("check", arguments.check, "given without a topic", "the file itself says what it bounds")
    convex = arguments.program is not None or arguments.certify
    problem = arguments.problem or ("strongly-convex" if convex else "linear-regression")
    foreign, home = (
        (SPECTRUM, "linear-regression")
        if problem == "strongly-convex"
        else (STRONGLY_CONVEX, "strongly-convex (which --program and --certify choose)")
    )
    for name in foreign:
        value = getattr(arguments, name)
        if value is not None and value is not False:
            raise DomainError(name, value, f"left out with --problem {problem}", f"it belongs to {home}")
    return problem


def _mean_rows(arguments: Namespace) -> Iterator[Row]:
    options = {"clip_norm": arguments.clip_norm, "sigma_sgd": arguments.sigma_sgd}
    for eta, rho, mechanism in itertools.product(arguments.eta, arguments.rho, arguments.mechanism):
        correlation = _correlation(mechanism, np.ones(1), eta, arguments, mean=True)
        value = mean_estimation.stationary_variance(correlation, eta, rho, **options)
        best = mean_estimation.optimal_variance(eta, rho, **options)
        yield {
            "mechanism": mechanism,
            "eta": eta,
            "rho": rho,
            "nu": getattr(correlation, "nu", None),
            "gamma": float(correlation.limiting_sensitivity()),
            "suboptimality": value / 2.0,
            "kind": value.kind,
            "over_optimum": value / best,
        }


def _regression_rows(arguments: Namespace) -> Iterator[Row]:
    options = {"clip_norm": arguments.clip_norm, "sigma_sgd": arguments.sigma_sgd}
    for (kappa, spectrum), (eta, rho) in itertools.product(
        _spectra(arguments), itertools.product(arguments.eta, arguments.rho)
    ):
        optimum = regression.optimal_suboptimality(spectrum, eta, rho, **options)
        for mechanism in arguments.mechanism:
            row = {
                "mechanism": mechanism,
                "kappa": kappa,
                "d": len(spectrum),
                "d_eff": regression.effective_dimension(spectrum),
            }
            row |= {
                "eta": eta,
                "rho": rho,
                "nu": None,
                "gamma": None,
                "suboptimality": float(optimum),
                "kind": optimum.kind,
            }
            row |= {
                "lower": float(regression.lower_bound(spectrum, eta, rho, **options)),
                "upper": None,
                "over_optimum": 1.0,
            }
            if mechanism != "optimal":
                row |= _exact(_correlation(mechanism, spectrum, eta, arguments), spectrum, eta, rho, options)
                row["over_optimum"] = row["suboptimality"] / optimum
            yield row


def _exact(
    correlation: correlations.ToeplitzCorrelation, spectrum: np.ndarray, eta: float, rho: float, options: Row
) -> Row:
    """The exact value and the bounds that hold for every input law with the same fourth moments."""
    value = regression.suboptimality(correlation, spectrum, eta, rho, **options)
    lower, upper = regression.trace_bounds(correlation, spectrum, eta, rho, **options)
    return {
        "nu": getattr(correlation, "nu", None),
        "gamma": float(correlation.limiting_sensitivity()),
        "suboptimality": float(value),
        "kind": value.kind,
        "lower": float(lower),
        "upper": float(upper),
    }


def _spectra(arguments: Namespace) -> list[tuple[float, np.ndarray]]:
    """(kappa, eigenvalues) pairs from whichever option describes them."""
    given = [name for name in ("kappa", "decay", "eigenvalues") if getattr(arguments, name) is not None]
    if len(given) != 1:
        shown = " and ".join(f"--{name}" for name in given) or "none"
        raise DomainError("spectrum", shown, "exactly one of --kappa, --decay, --eigenvalues")
    dimension = 2 if arguments.dimension is None else arguments.dimension
    if arguments.eigenvalues is not None:
        spectra = [vector("eigenvalues", arguments.eigenvalues, above=0.0)]
    elif arguments.decay is not None:
        spectra = [regression.power_law(dimension, arguments.decay)]
    else:
        spectra = [_geometric(kappa, dimension) for kappa in arguments.kappa]
    return [(float(spectrum.max() / spectrum.min()), spectrum) for spectrum in spectra]


def _geometric(kappa: float, dimension: int) -> np.ndarray:
    if condition_number(kappa) > 1 and dimension < 2:
        raise DomainError("dimension", dimension, "at least 2 with --kappa", "one eigenvalue has condition number 1")
    return np.geomspace(1.0, 1.0 / kappa, dimension)


def _correlation(
    mechanism: str, spectrum: np.ndarray, eta: float, arguments: Namespace, *, mean: bool = False
) -> correlations.ToeplitzCorrelation:
    if mean and mechanism in ("optimal", "best-nu"):
        return mean_estimation.optimal_correlation(eta)
    if mechanism == "best-nu":
        return correlations.nu(regression.best_nu(spectrum, eta)[0])
    return fixed_correlation(mechanism, arguments, eta * float(spectrum.min()))
