"""`dpbounds solve ftrl`."""

from __future__ import annotations

import itertools
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dpbounds import DomainError
from dpbounds.errors import positive, vector
from dpbounds.ftrl import correlations, mean_estimation
from dpbounds.ftrl import linear_regression as regression
from verify.cli.console import print_json, print_table
from verify.store import write_json

Row = dict[str, Any]


def run(arguments: Namespace) -> int:
    """One row per problem, learning rate, budget and mechanism."""
    rows = list(_mean_rows(arguments) if arguments.problem == "mean-estimation" else _regression_rows(arguments))
    if arguments.save:
        write_json(Path(arguments.save), rows)
    if arguments.json:
        print_json(rows)
    else:
        print_table(rows, list(rows[0]))
        print(
            f"\nsuboptimality: {regression.CONVENTION}; rho: zCDP, zero-out adjacency; gamma: sensitivity in "
            f"clip norms."
        )
    return 0


def _mean_rows(arguments: Namespace) -> Iterator[Row]:
    options = {"clip_norm": arguments.clip_norm, "sigma_sgd": arguments.sigma_sgd}
    for eta, rho, mechanism in itertools.product(arguments.eta, arguments.rho, arguments.mechanism):
        correlation = _correlation(mechanism, np.ones(1), eta, arguments.nu, mean=True)
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
                row |= _exact(_correlation(mechanism, spectrum, eta, arguments.nu), spectrum, eta, rho, options)
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
    if arguments.eigenvalues is not None:
        spectra = [vector("eigenvalues", arguments.eigenvalues, above=0.0)]
    elif arguments.decay is not None:
        spectra = [regression.power_law(arguments.dimension, arguments.decay)]
    else:
        spectra = [_geometric(kappa, arguments.dimension) for kappa in arguments.kappa]
    return [(float(spectrum.max() / spectrum.min()), spectrum) for spectrum in spectra]


def _geometric(kappa: float, dimension: int) -> np.ndarray:
    if positive("kappa", kappa) < 1:
        raise DomainError("kappa", kappa, "a condition number of at least 1")
    if dimension < 2 and kappa > 1:
        raise DomainError("dimension", dimension, "at least 2 with --kappa", "one eigenvalue has condition number 1")
    return np.geomspace(1.0, 1.0 / kappa, dimension)


def _correlation(
    mechanism: str, spectrum: np.ndarray, eta: float, nu: float | None, *, mean: bool = False
) -> correlations.ToeplitzCorrelation:
    damping = eta * spectrum.min() if nu is None else nu
    if mean and mechanism in ("optimal", "best-nu"):
        return mean_estimation.optimal_correlation(eta)
    makers = {
        "sgd": correlations.independent,
        "nu": lambda: correlations.nu(damping),
        "best-nu": lambda: correlations.nu(regression.best_nu(spectrum, eta)[0]),
        "optimal-counting": correlations.optimal_counting,
        "anti-pgd": correlations.anti_pgd,
        "damped-anti-pgd": lambda: correlations.damped_anti_pgd(damping),
    }
    return makers[mechanism]()
