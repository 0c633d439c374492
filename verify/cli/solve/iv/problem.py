"""What `dpbounds solve iv` is asked of a population: every argument in its range before anything is computed."""

from __future__ import annotations

import csv
import io
import json
import math
from argparse import Namespace
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from dpbounds import DomainError
from dpbounds.errors import positive, within
from dpbounds.iv import (
    Constants,
    Design,
    Moments,
    Question,
    Spectrum,
    experiment_step_sizes,
    spectrum,
    theorem_step_limits,
)
from dpbounds.iv.answers import MOST
from dpbounds.iv.general import General
from dpbounds.iv.isotropic import Isotropic
from dpbounds.iv.moments import finite_array
from dpbounds.iv.noiseless import StepSizes, step_size_limits
from verify.cli.solve.files import read
from verify.cli.solve.iv.budgets import budgets

SIZES = ("gamma1", "gamma2", "sigma_z", "tau")
MATRIX = "a file with {} rows of {} numbers, as JSON lists or as CSV without a header"
# Instruments whose covariance can be given.
MOST_CORRELATED = 200
# Entries of a Theta that is written out.
LARGEST_THETA = 1_000_000
# Singular values of Theta below this share of the largest are rounding.
LEAST_SHARE = 1e-11


def question(arguments: Namespace) -> Question:
    """`DomainError` names the first argument that is out of its range, or that is missing or of no use."""
    for name in ("n", "p", "q"):
        if getattr(arguments, name) is None:
            raise DomainError(name, "nothing", "given", "or --csv FILE for a data set")
    for name in ("instruments", "regressors", "outcome", "scale"):
        if getattr(arguments, name):
            raise DomainError(name, getattr(arguments, name), "left out without --csv")
    check_sizes(arguments)
    theta = _theta(arguments)
    covariance = _covariance(arguments)
    return _isotropic(arguments, theta) if covariance is None else _general(arguments, theta, covariance)


def parameters(arguments: Namespace) -> tuple[np.ndarray, np.ndarray]:
    """Theta (q, p) and beta (p,) as they are given."""
    theta = _theta(arguments)
    _, _, basis = np.linalg.svd(theta, full_matrices=False)
    whole = np.zeros((arguments.q, arguments.p))
    whole[: len(theta)] = theta
    return whole, _beta(arguments, basis)


def _isotropic(arguments: Namespace, theta: np.ndarray) -> Question:
    """In the singular basis of Theta."""
    _, singular_values, basis = np.linalg.svd(theta, full_matrices=False)
    constants = constants_of(arguments)
    design = _design(arguments, singular_values)
    steps = _step_sizes(arguments, spectrum(design, constants))
    beta = basis @ _beta(arguments, basis)
    population = Isotropic(singular_values=singular_values, beta=beta, q=arguments.q, **steps._asdict())
    return Question(design=design, population=population, constants=constants, **rest(arguments))


def _general(arguments: Namespace, theta: np.ndarray, covariance: np.ndarray) -> Question:
    """Moments of the population; the design is that of whitened instruments."""
    _, _, basis = np.linalg.svd(theta, full_matrices=False)
    drift = covariance @ theta
    moments = Moments(A=covariance, G=drift, b=drift @ _beta(arguments, basis), n=arguments.n)
    population = General(moments=moments, **step_sizes_for(arguments, moments)._asdict())
    design = _design(arguments, population.singular_values)
    return Question(design=design, population=population, constants=constants_of(arguments), **rest(arguments))


def _design(arguments: Namespace, singular_values: np.ndarray) -> Design:
    return Design(
        n=arguments.n,
        p=arguments.p,
        q=arguments.q,
        theta_norm=float(singular_values[0]),
        theta_least=float(singular_values[-1]),
        **{name: getattr(arguments, name) for name in ("sigma_z", "sigma_2", "tau")},
    )


def rest(arguments: Namespace) -> dict[str, Any]:
    """What a question has besides design, population and constants."""
    rho1, rho2, calibration = budgets(arguments)
    own = {name: getattr(arguments, name) for name in ("gamma1", "gamma2", "sigma_1", "delta", "adjacency")}
    return {**own, "rho1": rho1, "rho2": rho2, "calibration": calibration}


def step_sizes_for(arguments: Namespace, moments: Moments) -> StepSizes:
    """Those given, below 2 / lambda_max; else half of (3): 1 / lambda_max(A) and 2 / (2 h_max + h_min), h of H."""
    h = np.linalg.eigvalsh(moments.hessian)
    limits = step_size_limits(moments)
    chosen = {"eta": limits.eta / 2, "alpha": 2 / (2 * float(h[-1]) + float(h[0]))}
    for name, matrix in (("eta", "Cov z"), ("alpha", "Theta' Cov(z) Theta")):
        value, limit = getattr(arguments, name), getattr(limits, name)
        if value is not None and not positive(name, value) < limit:
            raise DomainError(name, value, f"below 2 / lambda_max({matrix}) = {limit:.6g}", "the stage diverges")
        chosen[name] = chosen[name] if value is None else float(value)
    return StepSizes(**chosen)


def check_sizes(arguments: Namespace) -> None:
    """Counts and scales of a population."""
    p, q = arguments.p, arguments.q
    _whole("p", p, 1)
    _whole("q", q, p, f"p = {p}: 2SLS needs as many instruments as regressors")
    _whole("n", arguments.n, q, f"q = {q}: with fewer records than instruments Z'Z is singular")
    check_run(arguments)


def check_run(arguments: Namespace) -> None:
    """What a population and a data set have in common."""
    for steps in arguments.T or []:
        _whole("T", steps, 1)
    for name in SIZES:
        if getattr(arguments, name) is not None:
            within(name, getattr(arguments, name), "[1e-12, 1e12]")
    for name in ("sigma_1", "sigma_2"):
        within(name, getattr(arguments, name), "[0, 1e12]")
    within("delta", arguments.delta, "[1e-300, 1)")


def _whole(name: str, value: int, least: int, why: str = "") -> None:
    if not least <= value <= MOST[name]:
        raise DomainError(name, value, f"a whole number from {least} to {MOST[name]}", f"least is {why}" * bool(why))


def constants_of(arguments: Namespace) -> Constants:
    """delta = psi = 0 unless asked otherwise: with unit constants psi exceeds sigma_min in most settings of use."""
    names = [field.name for field in fields(Constants)]
    values = {"concentration": 0.0, "product": 0.0}
    for text in arguments.constant or []:
        name, _, number = text.partition("=")
        if name not in names:
            raise DomainError("constant", text, f"NAME=VALUE with NAME one of {', '.join(names)}")
        try:
            value = float(number)
        except ValueError:
            raise DomainError(f"constant {name}", number, "a real number") from None
        values[name] = within(f"constant {name}", value, "[0, 1e12]")
    return Constants(**values)


def _step_sizes(arguments: Namespace, bounds: Spectrum) -> StepSizes:
    """Those given must be in the range of eq. (3), which the theorem asks for."""
    limits = dict(zip(("eta", "alpha"), theorem_step_limits(bounds), strict=True))
    formulas = {"eta": "2 / (1 + delta)²", "alpha": "4 / (2 gamma-upper + gamma-lower)"}
    chosen = experiment_step_sizes(bounds)._asdict()
    for name, limit in limits.items():
        value = getattr(arguments, name)
        if value is not None and not positive(name, value) < limit:
            raise DomainError(name, value, f"below {formulas[name]} = {limit:.6g}", "iv eq. (3)")
        chosen[name] = float(chosen[name] if value is None else value)
    return StepSizes(**chosen)


def _theta(arguments: Namespace) -> np.ndarray:
    """Theta (q, p): the matrix given, or the singular values given over zeros."""
    p, q, given = arguments.p, arguments.q, arguments.singular_values
    if arguments.theta is None:
        values = [1.0] if given is None else [within("singular_values", value, "[1e-12, 1e12]") for value in given]
        if len(values) not in (1, p):
            raise DomainError("singular_values", f"{len(values)} numbers", f"one number or p = {p}")
        if q * p > LARGEST_THETA:
            q = p  # rows of zeros, which the singular basis leaves out
        return np.eye(q, p) * np.broadcast_to(values, p)
    if given is not None:
        raise DomainError("singular_values", given, "left out with --theta", "the matrix has its own")
    theta = _matrix("theta", arguments.theta, q, p)
    values = np.linalg.svd(theta, compute_uv=False)
    if not values[-1] > LEAST_SHARE * values[0]:
        found = f"a matrix with least singular value {values[-1]:.3g}"
        raise DomainError("theta", found, f"of rank p = {p}", "each regressor needs an instrument of its own")
    return theta


def _covariance(arguments: Namespace) -> np.ndarray | None:
    """Cov z, None for the identity."""
    file, q = arguments.instrument_covariance, arguments.q
    if file is None:
        return None
    if q > MOST_CORRELATED:
        raise DomainError("q", q, f"at most {MOST_CORRELATED} with --instrument-covariance")
    matrix = _matrix("instrument_covariance", file, q, q)
    if not np.allclose(matrix, matrix.T, rtol=1e-9, atol=0.0):
        raise DomainError("instrument_covariance", Path(file), "a symmetric matrix")
    return (matrix + matrix.T) / 2


def _matrix(option: str, file: str, rows: int, columns: int) -> np.ndarray:
    """The numbers of the file, all finite and the largest in the range of --singular-values."""
    allowed = MATRIX.format(rows, columns)
    text = read(option, file, allowed)
    try:
        found = _json_rows(text) if file.lower().endswith(".json") else _csv_rows(text)
        matrix = finite_array(option, found, 2)
    except (ValueError, OverflowError, RecursionError, csv.Error) as error:
        raise DomainError(option, Path(file), allowed, " ".join(str(error).split())) from None
    if matrix.shape != (rows, columns):
        held = f"it holds {matrix.shape[0]} rows of {matrix.shape[1]}"
        raise DomainError(option, Path(file), allowed, held)
    within(option, float(np.abs(matrix).max()), "[1e-12, 1e12]", "the largest entry")
    return matrix


def _json_rows(text: str) -> list[list[float]]:
    rows = json.loads(text)
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise ValueError("no list of lists")
    if not all(type(entry) in (int, float) for row in rows for entry in row):
        raise ValueError("an entry is not a number")
    return [[float(entry) for entry in row] for row in rows]


def _csv_rows(text: str) -> list[list[float]]:
    """Empty lines are left out, as at the end of a file."""
    return [[float(entry) for entry in row] for row in csv.reader(io.StringIO(text)) if row]


def _beta(arguments: Namespace, basis: np.ndarray) -> np.ndarray:
    p, given = arguments.p, arguments.beta
    if given is None:
        return basis.T @ np.full(p, 1 / math.sqrt(p))
    if len(given) != p:
        raise DomainError("beta", f"{len(given)} numbers", f"p = {p} numbers")
    return np.array([within(f"beta[{i}]", value, "[-1e12, 1e12]") for i, value in enumerate(given)])
